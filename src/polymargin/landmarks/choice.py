"""Which rows become landmarks, and the coordinates that they span.

Candidates are a sample of the rows in which a class of n_c rows has a share like the root of n_c: a rare class is seen,
a frequent one is not forgotten. Landmarks are taken from them one after another, so that the first m of 2m are the
choice of m, and a model with m of them starts one with 2m.

Measured at equal numbers on sets with 4 to 26 classes, k-means++ in the space of the kernel and pivoted Cholesky beat
uniform draws where rows lie in clumps and equal them elsewhere; k-means++ needs one kernel value per candidate and
landmark, Cholesky as many multiply-adds as there are landmarks besides. Largest pivots first (the greedy rule) are
outliers, and worse than all others: pivots are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack, solve_triangular

from .. import _core
from ..core_vectors.search import mixed
from ..fitting.checks import canonical
from ..kernels import as_data

POOL, FEWEST = 4, 2048  # candidates per landmark, and in any case
RANK = {"float64": 1e-12, "float32": 1e-5}  # of the largest k(z, z): what is left of a landmark that adds nothing
CHOICE_ROWS = 1 << 14  # rows of which a copy is made at a time
BATCH = 32  # landmarks at most that are drawn at once
RESIDUAL_ROWS = 4096  # rows of which the residual is a mean


def marks(X: Any, rows: np.ndarray, seed: int) -> np.ndarray:
    """A random number in (0, 1) for each row, from its values alone: equal rows, in whatever order and form, have one.

    The values enter by their product with a random vector, without the last bits, which rounding decides on.
    """
    r = np.random.default_rng(seed).uniform(1.0, 2.0, X.shape[1])
    out = np.empty(len(rows))
    for at in range(0, len(rows), CHOICE_ROWS):
        product = np.asarray(X[rows[at : at + CHOICE_ROWS]] @ r, dtype=np.float64)
        mantissa, exponent = np.frexp(product)
        z = np.rint(mantissa * 2.0**36).astype(np.int64).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z ^= exponent.astype(np.uint64) * np.uint64(0xD1342543DE82EF95) + np.uint64(seed % 2**63)
        out[at : at + CHOICE_ROWS] = (mixed(z) >> np.uint64(11)) * 2.0**-53 + 2.0**-54
    return out


def candidates(y: np.ndarray, weight: np.ndarray, mark: np.ndarray, most: int) -> np.ndarray:
    """Numbers of up to `most` rows in random order, by class as above. Of equal rows there is one, and it counts once:
    a weight of 2 is a repeated row here, too."""
    total = np.bincount(y, weights=weight)
    key, size = -np.log(mark) * np.sqrt(total)[y], most
    while True:
        some = np.argpartition(key, size)[:size] if size < len(key) else np.arange(len(key))
        found = some[np.unique(key[some], return_index=True)[1]]
        if len(found) >= most or size >= len(key):
            return found[:most]
        size *= 2


class Choice:
    """Landmarks from a pool of rows, one after another; `values(at)` are the kernel values of rows `at` and all.

    A row is drawn with a probability like what is left of it, which landmarks only lessen. So several are drawn at
    once, for one block of kernel values, and each is taken with the share of it that those before it have left: this
    is the same as to draw them one by one.
    """

    def __init__(self, how: str, size: int, values: Any, diagonal: np.ndarray, rng: np.random.Generator) -> None:
        self.how, self.values, self.rng = how, values, rng
        self.diagonal, self.left = diagonal, diagonal.copy()
        self.chosen: list[int] = []
        self.F = np.zeros((size, 0))
        self.least = 1e-9 * max(float(diagonal.max(initial=0.0)), 1e-300)

    def grow(self, m: int) -> list[int]:
        """The first m landmarks, or fewer where the others add nothing."""
        if self.how == "uniform":
            self.chosen = list(range(min(m, len(self.left))))
        elif self.F.shape[1] < m and self.how == "cholesky":
            self.F = np.column_stack([self.F, np.zeros((len(self.left), m - self.F.shape[1]))])
        while len(self.chosen) < m:
            before = np.where(self.left > self.least, self.left, 0.0)
            total = np.cumsum(before)
            if not total[-1] > 0 and self.chosen:
                break
            size = min(max(1, len(self.chosen) // 4), BATCH, m - len(self.chosen))
            at = np.searchsorted(total, self.rng.random(size) * total[-1], side="right")
            at = np.minimum(at, len(total) - 1)
            for i, k, u in zip(at, self.values(at), self.rng.random(size), strict=True):
                if not self.chosen or u * before[i] < self.left[i]:
                    self.take(int(i), k)
        return self.chosen

    def take(self, i: int, k: np.ndarray) -> None:
        """Row i with kernel values k; what is left of others is their distance to the nearest landmark, or the span."""
        j = len(self.chosen)
        if self.how == "cholesky":
            k = k - self.F[:, :j] @ self.F[i, :j]
            self.F[:, j] = k / np.sqrt(self.left[i])
            self.left = self.left - self.F[:, j] ** 2
        else:
            distance = np.maximum(self.diagonal + self.diagonal[i] - 2 * k, 0.0)
            self.left = distance if not j else np.minimum(self.left, distance)
        self.left[i] = 0.0
        self.chosen.append(i)


@dataclass
class Basis:
    """Landmarks Z[at] with K_mm = L L'. `numbers`: those of the rows of Z among the training rows; None: the same."""

    Z: Any
    kernel: Any  # (A, B) -> the record of the kernel between their rows
    dtype: str = "float64"
    numbers: np.ndarray | None = None
    at: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    L: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    seen: int = 0

    def grown(self, at: np.ndarray) -> Basis:
        """A basis of the rows `at` of Z, of which the first ones are in this one.

        It is one in float64 where float32 takes rows for spanned that are not: kernels so wide that all values are
        nearly equal. The coordinates of this one are then lost.
        """
        new = replace(self)
        new.grow(at)
        if self.dtype == "float64" or len(new.at) == new.seen:
            return new
        exact = Basis(self.Z, self.kernel, "float64", self.numbers)
        exact.grow(at)
        return exact if len(exact.at) > len(new.at) else new

    def grow(self, at: np.ndarray) -> None:
        """Add the rows `at` of Z, except for those that the others span; the first ones stay where they are."""
        at = np.ascontiguousarray(at[self.seen :], dtype=np.int64)
        self.seen += len(at)
        if not len(at):
            return
        old = solve_triangular(self.L, self.block(self.at, at), lower=True) if len(self.at) else np.zeros((0, len(at)))
        S = self.block(at, at)
        S = 0.5 * (S + S.T)
        least = RANK[self.dtype] * max(float(S.diagonal().max()), 1e-300)
        S -= old.T @ old
        L, pivots, rank, _ = lapack.dpstrf(S, tol=least, lower=1)
        kept = pivots[:rank] - 1
        m, L = len(self.at), np.tril(L)[:rank, :rank]
        if m + rank == 0:  # a kernel that is 0 everywhere: one landmark, of which nothing is seen
            kept, L, rank, old = np.zeros(1, dtype=int), np.ones((1, 1)), 1, np.zeros((0, len(at)))
        whole = np.zeros((m + rank, m + rank))
        whole[:m, :m], whole[m:, :m], whole[m:, m:] = self.L, old[:, kept].T, L
        self.L, self.at = whole, np.concatenate([self.at, at[kept]])

    def block(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        Z = as_data(self.Z)
        return _core.kernel_block(Z, Z, self.kernel(self.Z, self.Z), a, b, "float64", 1)

    def values(self, X: Any, rows: np.ndarray, threads: int, dtype: str = "float64") -> np.ndarray:
        """k(z, x) of some rows, (m, rows)."""
        rows, record = np.ascontiguousarray(rows, dtype=np.int64), self.kernel(self.Z, X)
        return _core.kernel_block(as_data(self.Z), as_data(X), record, self.at, rows, dtype, threads)

    def features(self, X: Any, rows: np.ndarray, threads: int) -> np.ndarray:
        """L^-1 k(z, x) of some rows, (m, rows)."""
        return solve_triangular(self.L, self.values(X, rows, threads), lower=True, check_finite=False)

    def residual(self, X: Any, rows: np.ndarray, weight: np.ndarray, rng: np.random.Generator, threads: int) -> float:
        """The mean of k(x, x) less its projection, over all rows or a sample of them."""
        some = np.arange(len(rows))
        if len(rows) > RESIDUAL_ROWS:
            some, weight = rng.choice(len(rows), RESIDUAL_ROWS, p=weight / weight.sum()), np.ones(RESIDUAL_ROWS)
        rows = np.ascontiguousarray(rows[some], dtype=np.int64)
        own = _core.diagonal(as_data(X), self.kernel(X, X), rows, "float64")
        left = np.maximum(own - np.einsum("ij,ij->j", phi := self.features(X, rows, threads), phi), 0.0)
        return float(np.average(left, weights=weight))


def taken(X: Any, rows: np.ndarray) -> Any:
    """Some rows, as the core takes them."""
    Z = X[rows]
    return canonical(Z) if sp.issparse(Z) else np.ascontiguousarray(Z)
