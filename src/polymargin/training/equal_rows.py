"""Rows that are equal in features and class, trained as one row with the sum of their weights.

Every loss is linear in the weight of its row, so the primal is the same function, and the dual of one row with the
weight of several has their variables' sum for its variable. Shared out in proportion to the weights, it is a solution
of the dual of all rows: with the same scores, inside the same bounds, the ridge's and the entropy's terms at their
least. What is left to train on is smaller, and has no rows whose variables only their sum tells apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..fitting.examples import COPIED_ROWS, Examples
from .problem import Solution

WORTH = 0.9  # merging pays if at most this share of the rows is left
ALL_LOOKED_AT = 1024  # rows; if there are more, a sample is examined first
GOLDEN = (5**0.5 - 1) / 2
LEAST_PART = 1e-12  # of a value: less is rounding
SCRAMBLE = np.uint64(0x9E3779B97F4A7C15)  # odd, and its bits have no pattern


@dataclass(frozen=True)
class Merged:
    """`examples` with one row for each of the `group`s of equal ones; ``share`` is what a row has of its group.

    ``first`` is the first row of each group, ``weight`` that of every row.
    """

    examples: Examples
    first: np.ndarray
    group: np.ndarray
    share: np.ndarray
    weight: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over each group, along the last axis."""
        out = np.zeros((len(self.first), *values.shape[:-1]))
        np.add.at(out, self.group, values.T)
        return out.T

    @property
    def indicator(self) -> sp.csr_array:
        """Membership of rows in groups, shape (rows, groups)."""
        n = len(self.group)
        return sp.csr_array((np.ones(n), self.group, np.arange(n + 1)), shape=(n, len(self.first)))

    def shared_out(self, values: np.ndarray) -> np.ndarray:
        """Each row's share of its group's values, along the last axis."""
        return values[..., self.group] * self.share

    def shared_columns(
        self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, upper: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """The same of a CSR matrix with a column per group: its parts with a column per row.

        ``upper``, where no ridge and no entropy asks for equal shares: one row after the other is filled up to its
        bound, so that the fewest are support vectors.
        """
        n_rows = np.bincount(self.group)
        size = n_rows[indices]
        end = np.cumsum(size)
        first = np.cumsum(n_rows)[indices] - end  # of the rows of each entry, in the order of their groups
        rows = np.argsort(self.group, kind="stable")[np.arange(size.sum()) + np.repeat(first, size)]
        begin, whole = np.append(0, end), np.repeat(values, size)  # where the rows of each entry begin
        if upper is None:
            return {"indptr": begin[indptr], "indices": rows, "values": whole * self.share[rows]}
        part = np.clip(np.abs(whole) - self.earlier(upper)[rows], 0.0, upper[rows])
        kept = part > LEAST_PART * np.abs(whole)
        number = np.append(0, np.cumsum(kept))[begin]
        return {"indptr": number[indptr], "indices": rows[kept], "values": np.copysign(part, whole)[kept]}

    def earlier(self, values: np.ndarray) -> np.ndarray:
        """For each row, the sum over the rows of its group that come before it."""
        order = np.argsort(self.group, kind="stable")
        before = np.cumsum(values[order], dtype=np.longdouble) - values[order]
        out = np.empty(len(values))
        out[order] = before - before[np.searchsorted(self.group[order], self.group[order])]
        return out

    def solution(self, found: Solution) -> Solution:
        """The solution for all rows."""
        B = None if found.B is None else self.shared_out(found.B)
        return replace(found, alpha=self.shared_out(found.alpha), B=B)


def merged(e: Examples) -> Merged | None:
    """The examples without repetitions; None if there are none, too few to matter, or no way to tell."""
    if e.kernel["kind"] in ("precomputed", "callable") or not seem_repeated(e):
        return None
    first, group = groups(e.X, e.rows, e.y)
    if len(first) > WORTH * len(e):
        return None
    weight = np.bincount(group, e.weight)
    one = replace(e, rows=e.rows[first], y=e.y[first], weight=weight)
    return Merged(one, first, group, e.weight / weight[group], e.weight)


def seem_repeated(e: Examples) -> bool:
    """A quick look, a hundredth of the smallest fit: at some rows, by a product with fixed numbers each.

    Among 4 sqrt(n) of n rows that all have a double there are eight pairs, in the mean.
    """
    n, X = len(e), e.X
    few = n <= ALL_LOOKED_AT
    if not few:
        some = spread(np.arange(int(4 * n**0.5))) >> np.uint64(1)
        X = X[e.rows[np.unique((some % np.uint64(n)).astype(np.int64))]]
    elif n < X.shape[0]:
        X = X[e.rows]
    with np.errstate(all="ignore"):
        mark = np.sort(X @ (np.arange(1, X.shape[1] + 1) * GOLDEN % 1).astype(X.dtype))
    distinct = 1 + np.count_nonzero(mark[1:] != mark[:-1])
    return bool(distinct <= WORTH * n if few else distinct < len(mark))


def groups(X: Any, rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each group of equal ones, increasing, and the group of each row."""
    _, first, group = np.unique(marks(X, rows, y), return_index=True, return_inverse=True)
    if len(first) == len(rows) or not are_equal(X, rows, y, first[group]):
        return np.arange(len(rows)), np.arange(len(rows))
    turn = np.argsort(first)
    return first[turn], np.argsort(turn)[group]


def marks(X: Any, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A number for each of these rows: the same for those that are equal, and for hardly any others."""
    out = np.empty(len(rows), dtype=np.uint64)
    for at in range(0, len(rows), COPIED_ROWS):
        Z = X[rows[at : at + COPIED_ROWS]]
        if sp.issparse(Z):
            terms = np.append(scrambled(Z.data, Z.indices), np.uint64(0))
            sums = np.where(np.diff(Z.indptr) > 0, np.add.reduceat(terms, Z.indptr[:-1]), np.uint64(0))
        else:
            sums = scrambled(Z, np.arange(Z.shape[1])).sum(axis=1, dtype=np.uint64)
        out[at : at + COPIED_ROWS] = sums
    return out ^ spread(y)


def spread(numbers: np.ndarray) -> np.ndarray:
    """Integers whose bits have no pattern, odd."""
    numbers = (numbers.astype(np.uint64) + np.uint64(1)) * SCRAMBLE
    return ((numbers ^ (numbers >> np.uint64(31))) * SCRAMBLE) | np.uint64(1)


def scrambled(values: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The bits of each value in a way of its column, as integers; 0 for zero, whatever its sign, stored or not."""
    kind = np.uint64 if values.dtype == np.float64 else np.uint32
    bits = (values + values.dtype.type(0)).view(kind).astype(np.uint64, copy=False)
    bits = (bits ^ (bits >> np.uint64(32))) * spread(column)
    return bits ^ (bits >> np.uint64(32))


def are_equal(X: Any, rows: np.ndarray, y: np.ndarray, other: np.ndarray) -> bool:
    """Whether every row equals the `other` row with the same mark."""
    moved = np.flatnonzero(other != np.arange(len(rows)))
    if not np.array_equal(y[moved], y[other[moved]]):
        return False
    for at in range(0, len(moved), COPIED_ROWS):
        part = moved[at : at + COPIED_ROWS]
        A, B = X[rows[part]], X[rows[other[part]]]
        if (A != B).nnz if sp.issparse(A) else not np.array_equal(A, B):
            return False
    return True


def distinct(X: Any, B: np.ndarray) -> tuple[Any, np.ndarray]:
    """Rows without repetitions, and the sums of their coefficients B, (columns, rows), which may nearly cancel."""
    first, group = groups(X, np.arange(X.shape[0]), np.zeros(X.shape[0], dtype=np.int64))
    if len(first) == len(group):
        return X, B
    sums = np.zeros((len(first), len(B)), dtype=np.longdouble)
    np.add.at(sums, group, B.T.astype(np.longdouble))
    return X[first], np.ascontiguousarray(sums.T, dtype=np.float64)
