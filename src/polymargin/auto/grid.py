"""The grid that AutoSVC searches, the rows it searches on, and the point it chooses."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from ..selection.search_cv import KernelSearchCV

PATTERN_C = 2.0 ** np.arange(-2, 13, 2)
PATTERN_GAMMA = 2.0 ** np.arange(-8, 7, 2)  # times 1 / (number of columns)
FEW_PAIRS = 40  # so many pairs of classes never take long
REPEATED_ROWS = 2000  # smaller data sets are cut into folds up to three times, until this many rows were tested


def steadiest(results: Any) -> dict[str, float]:
    """C and gamma with the best score; of ties, which are many where rows are few, the one with the best neighbors."""
    score = {
        (float(p["C"]), float(p["gamma"])): s
        for p, s in zip(results["params"], results["mean_test_score"], strict=True)
    }
    C, gamma = (np.unique([key[k] for key in score]) for k in (0, 1))
    F = np.array([[score[c, g] for g in gamma] for c in C])
    F = np.where(np.isnan(F), np.nanmin(F), F)
    wide, w = np.pad(F, 2, constant_values=F.min()), (1, 2, 3, 2, 1)  # points beyond the edge count as the worst
    near: Any = sum(w[i] * w[j] * wide[i : i + len(C), j : j + len(gamma)] for i in range(5) for j in range(5))
    i, j = np.unravel_index(np.argmax(np.where(F.max() - 1e-12 <= F, near, -np.inf)), F.shape)
    return {"C": float(C[i]), "gamma": float(gamma[j])}


@dataclass(frozen=True)
class Folds:
    """How rows are cut into folds, `times` times; once if rows of one of the `groups` must not be separated.

    `splits`, if there are any, are what was asked for instead.
    """

    cv: int
    seed: Any
    times: int = 1
    groups: Any = None
    splits: Any = None

    def of(self, Z: Any, y: np.ndarray) -> Any:
        if self.splits:
            return self.splits
        most = max(2, min(self.cv, int(np.unique(y, return_counts=True)[1].max())))  # rare classes miss some of them
        if self.groups is None:
            return RepeatedStratifiedKFold(n_splits=most, n_repeats=self.times, random_state=self.seed)
        return together(most, y, self.groups, self.seed)


def together(folds: int, y: np.ndarray, groups: np.ndarray, seed: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that separate no group, at most one per group; those without two classes to train on are left out."""
    most = min(folds, len(np.unique(groups)))
    if most < 2:
        return []
    cut = StratifiedGroupKFold(most, shuffle=True, random_state=seed)
    splits = quietly(list, cut.split(y, y, groups))
    return [(train, test) for train, test in splits if len(test) and len(np.unique(y[train])) > 1]


@dataclass(frozen=True)
class Grid:
    """Values of C and gamma to compare by cross-validation within some seconds."""

    C: np.ndarray
    gamma: np.ndarray
    folds: Folds
    seconds: float = np.inf
    verbose: int = 0

    def search(self, machine: Any, Z: Any, y: np.ndarray, weight: Any = None) -> KernelSearchCV | None:
        """From the middle of the grid outward; points that were not reached have no score. None if all are such."""
        begin = time.monotonic()
        found = KernelSearchCV(
            machine, C=self.C, gamma=middle_first(self.gamma), cv=self.folds.of(Z, y), refit=False,
            n_jobs=machine.n_jobs, memory=machine.memory, verbose=self.verbose,
            time_limit=None if np.isinf(self.seconds) else max(self.seconds, 0.1),
        )  # fmt: skip
        try:
            quietly(found.fit, Z, y, sample_weight=weight)
        except ValueError as error:
            if "ran out of time" not in str(error):
                raise
            return None
        found.search_seconds_ = time.monotonic() - begin
        return found


def repeats(n: int, pairs: int = 1) -> int:
    """How often rows are cut into folds: with few rows, the best of 64 points depends on luck in the folds.

    Many pairs of classes with a few rows each take too long for that.
    """
    return int(np.clip(REPEATED_ROWS // n, 1, 3)) if pairs <= max(FEW_PAIRS, n // 5) else 1


def fewer(C: np.ndarray, n: int, pairs: int) -> np.ndarray:
    """Every second or fourth value of C where n rows are in so many pairs of classes that these take the time."""
    step = 1 if pairs <= max(FEW_PAIRS, n // 2) else 2 if pairs <= 2 * n else 4
    return C[step // 2 :: step] if len(C) > step else C


def quietly(fit: Callable, *data: Any, **more: Any) -> Any:
    """Run a fit that is one step of many without its warnings: the last fit repeats those that are true of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit(*data, **more)


def middle_first(values: np.ndarray) -> np.ndarray:
    """Sorted values in the order of their distance from the middle one."""
    return values[np.argsort(np.abs(np.arange(len(values)) - len(values) // 2), kind="stable")]


def standard_error(accuracy: float, n: float) -> float:
    """The standard error of an accuracy on n rows; that of one wrong row if none was wrong."""
    return float(np.sqrt(max(accuracy * (1 - accuracy), (1 - 1 / n) / n) / n))


def choose_scaling(found: dict[str, KernelSearchCV], n: int, counted: float | None = None) -> tuple[str, str]:
    """The scaling after searches on n rows, which stand for the `counted` ones, and the reason.

    Scaling each column by itself is the rule; the exception has to be better by more than one standard error.
    """
    if len(found) < 2:
        return next(iter(found)), "every column by its own standard deviation"
    column, common = (found[name].best_score_ for name in ("column", "common"))
    error = standard_error(column, counted or n)
    folds = found["column"].n_splits_
    figures = f"{column:.4f} with one factor per column, {common:.4f} with one for all, in {folds} folds of {n} rows"
    if common - column > error:
        return "common", f"one factor for all columns, by the accuracies in cross-validation: {figures}"
    why = f"; a gain within the standard error of {error:.4f} may be luck" if common > column else ""
    return "column", f"every column by its own standard deviation, after cross-validation: {figures}{why}"


def around(values: np.ndarray, value: float, steps: int) -> np.ndarray:
    """A value of a sorted list and its neighbors, this many `steps` on each side."""
    at = int(np.argmin(np.abs(np.log(values / value))))
    return values[max(0, at - steps) : at + steps + 1]


def climb(
    right: Callable[[float, float], np.ndarray | None], C: np.ndarray, gamma: np.ndarray, start: tuple[float, float]
) -> tuple[tuple[float, float], float, int]:
    """From a point of the grid to a better neighbor as long as there is one: the point, its accuracy, points tried.

    `right(C, gamma)` says of every held-out row whether it is classified correctly, by 1, or by its weight, and 0; None
    if there is no time left. A neighbor is better if it wins more rows than it loses by more than chance explains: the
    root of their number, or of the sum of their squared weights.
    """
    seen: dict[tuple[int, int], np.ndarray | None] = {}

    def tried(at: tuple[int, int]) -> np.ndarray | None:
        if at not in seen:
            seen[at] = right(C[at[0]], gamma[at[1]])
        return seen[at]

    c, g = (int(np.argmin(np.abs(np.log(v / x)))) for v, x in zip((C, gamma), start, strict=True))
    at = c, g
    best, moved = tried(at), True
    while moved and best is not None:
        here, moved = at, False
        for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            near = (here[0] + i, here[1] + j)
            if not (0 <= near[0] < len(C) and 0 <= near[1] < len(gamma)):
                continue
            found = tried(near)
            if found is None:
                moved = False
                break
            if found.sum() - best.sum() > root_of_changes(found, best):
                at, best, moved = near, found, True
    score = np.nan if best is None else float(best.mean())
    return (float(C[at[0]]), float(gamma[at[1]])), score, sum(found is not None for found in seen.values())


def root_of_changes(one: np.ndarray, other: np.ndarray) -> float:
    """What chance makes of the difference of two sums of rows that are right, or of their weights."""
    return float(np.sqrt(np.sum((one.astype(float) - other) ** 2)))


def sample_of(index: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most `most` rows, the same share of every class and at least two of each that has two."""
    if len(index) <= most:
        return np.arange(len(index))
    picked = []
    for c in range(index.max() + 1):
        rows = np.flatnonzero(index == c)
        picked.append(rng.permutation(rows)[: max(2, round(most * len(rows) / len(index)))])
    return np.sort(np.concatenate(picked))


def take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
