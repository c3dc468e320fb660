"""Pairs of classes: their order, their code, and the rules that turn all pairs' scores into one decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class AllPairs:
    """What `all_pairs(n_classes)` returns, made where it is looked at: of 5,000 classes it takes 200 MB."""

    n_classes: int
    dtype: ClassVar[np.dtype] = np.dtype(np.int64)

    def __len__(self) -> int:
        return self.n_classes * (self.n_classes - 1) // 2

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return all_pairs(self.n_classes).astype(self.dtype if dtype is None else dtype, copy=False)

    def __getitem__(self, which: Any) -> AllPairs | np.ndarray:
        everything = isinstance(which, slice) and which == slice(None)
        return self if everything else all_pairs(self.n_classes)[which]


def all_pairs(n_classes: int) -> np.ndarray:
    """The pairs (a, b), a < b, in the order (0, 1), (0, 2), ...; for two classes the second comes first."""
    if n_classes == 2:
        return np.array([[1, 0]])
    # Written in place: triu_indices would take a second for millions of pairs.
    pairs, at = np.empty((n_classes * (n_classes - 1) // 2, 2), dtype=np.int64), 0
    for a in range(n_classes - 1):
        end = at + n_classes - 1 - a
        pairs[at:end, 0], pairs[at:end, 1], at = a, np.arange(a + 1, n_classes), end
    return pairs


def are_all_pairs(pairs: np.ndarray | None, T: int) -> bool:
    """Whether these are the pairs of T classes; a file may name far more classes than it has pairs."""
    return pairs is not None and pairs.shape == (T * (T - 1) // 2, 2) and np.array_equal(pairs, all_pairs(T))


def pair_code(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """One column per pair: +1 for its first class, -1 for its second."""
    code, column = np.zeros((n_classes, len(pairs)), dtype=np.int8), np.arange(len(pairs))
    code[pairs[:, 0], column], code[pairs[:, 1], column] = 1, -1
    return code


def votes(F: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the pairs (a < b) plus s / (3 (|s| + 1)), s a class's sum of scores: less than half a vote."""
    total, s = np.zeros((len(F), n_classes)), np.zeros((len(F), n_classes))
    for f, (a, b) in zip(F.T, all_pairs(n_classes), strict=True):
        total[:, a] += f > 0
        total[:, b] += f <= 0
        s[:, a] += f
        s[:, b] -= f
    return total + s / (3 * (np.abs(s) + 1))


def dag(F: np.ndarray, n_classes: int) -> np.ndarray:
    """The last class left when, again and again, the first and the last remaining class meet and the loser leaves."""
    first, last = np.zeros(len(F), dtype=int), np.full(len(F), n_classes - 1)
    number, row = np.zeros((n_classes, n_classes), dtype=int), np.arange(len(F))
    number[tuple(all_pairs(n_classes).T)] = np.arange(F.shape[1])
    for _ in range(n_classes - 1):
        won = F[row, number[first, last]] > 0
        first, last = np.where(won, first, first + 1), np.where(won, last - 1, last)
    return first
