"""The rows that AutoSVC is fitted to, and how they are split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..fitting.checks import class_weights
from ..fitting.parameters import Kind
from .grid import Folds, take, together


class Splits(Kind):
    """Lists of splits, and what makes them."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) or (hasattr(value, "split") and not isinstance(value, str))


@dataclass(frozen=True)
class WeightedRows:
    """X with labels y; a row counts as often as its weight says.

    Rows of one of the `groups`, if there are any, are never on both sides of a split; `splits` are those that were
    asked for, if any were. In accuracies a row counts `factor` times as much, by the weight of its class.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray
    groups: np.ndarray | None = None
    splits: list[tuple[np.ndarray, np.ndarray]] | None = None
    factor: np.ndarray | None = None

    def with_class_weights(self, class_weight: Any, classes: np.ndarray, index: np.ndarray) -> WeightedRows:
        if class_weight is None:
            return self
        return replace(self, factor=class_weights(class_weight, classes, index, self.weight)[index])

    def with_splits(self, cv: Any) -> WeightedRows:
        """With those of a splitter or a list; folds by number are made for every sample anew."""
        if isinstance(cv, Integral):
            return self
        rows = np.arange(len(self.y))
        found = check_cv(cv).split(np.zeros(len(rows)), self.y, self.groups)
        asked = replace(self, splits=[(rows[train], rows[test]) for train, test in found])
        if not asked.splits_of(np.flatnonzero(self.weight)):
            raise ValueError("expected cv to give training sets of at least 2 classes and rows to test, got none")
        return asked

    def positive(self) -> WeightedRows:
        """Those that count at all."""
        rows = np.flatnonzero(self.weight)
        return self if len(rows) == len(self.y) else self.some(rows)

    def some(self, rows: np.ndarray) -> WeightedRows:
        groups = None if self.groups is None else self.groups[rows]
        factor = None if self.factor is None else self.factor[rows]
        return WeightedRows(take(self.X, rows), self.y[rows], self.weight[rows], groups, self.splits_of(rows), factor)

    def splits_of(self, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """What `splits` are for some rows; those that leave nothing to learn or to test are left out."""
        if self.splits is None:
            return None
        at, y = np.full(len(self.y), -1), self.y[rows]
        at[rows] = np.arange(len(rows))
        both = [(at[train], at[test]) for train, test in self.splits]
        both = [(train[train >= 0], test[test >= 0]) for train, test in both]
        return [(train, test) for train, test in both if len(test) and len(np.unique(y[train])) > 1]

    def folds(self, rows: np.ndarray, cv: Any, seed: Any, times: int = 1) -> Folds:
        """How some rows are split, `times` times if nothing was asked for."""
        groups = None if self.groups is None else self.groups[rows]
        return Folds(int(cv) if isinstance(cv, Integral) else 5, seed, times, groups, self.splits_of(rows))

    def held_out(self, rows: np.ndarray, seed: Any, rng: np.random.Generator) -> np.ndarray:
        """About a fifth of some rows, as an array of bool."""
        if splits := self.splits_of(rows):
            return np.isin(np.arange(len(rows)), splits[0][1])
        held = rng.permutation(len(rows)) < len(rows) // 5
        if self.groups is None:
            return held
        splits = together(5, self.y[rows], self.groups[rows], seed)
        return np.isin(np.arange(len(rows)), splits[0][1]) if splits else held

    def hits(self, predicted: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Which rows are predicted correctly: 0 or their weights, whose mean is 1, so that this mean is an accuracy."""
        weight = self.in_scores(rows)
        return (predicted == self.y[rows]) * (weight / weight.mean())

    def counted(self, rows: np.ndarray) -> float:
        """How many rows some rows stand for; weights that sum to less are shares, and unequal classes tell less."""
        weight = self.weight[rows]
        factor = np.ones(len(rows)) if self.factor is None else self.factor[rows]
        even = (weight @ factor) ** 2 / (weight.sum() * (weight @ factor**2))  # 1 for equal factors
        return max(float(weight.sum()), float(len(rows))) * float(even)

    def in_scores(self, rows: np.ndarray) -> np.ndarray:
        """How much rows count in accuracies."""
        return self.weight[rows] if self.factor is None else self.weight[rows] * self.factor[rows]

    @property
    def measure(self) -> str:
        """What their accuracies are called."""
        return "accuracy" if self.factor is None else "weighted accuracy"


def checked_groups(groups: Any, y: np.ndarray) -> np.ndarray | None:
    if groups is None:
        return None
    groups = column_or_1d(groups)
    check_consistent_length(groups, y)
    empty = sum(g is None or g != g for g in groups.tolist())
    if empty:
        raise ValueError(f"expected a group in every row, got {empty} without one; fill them in, or remove the rows")
    found = np.unique(groups, return_inverse=True)[1]
    if found.max() < 1:
        raise ValueError("expected groups to hold at least 2 different values, got 1; leave them out")
    return found
