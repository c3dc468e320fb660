"""How AutoSVC's probabilities are fitted: to rows that a machine had not seen, after training on about as many."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ..landmarks import LandmarkSVC
from .grid import quietly, sample_of, together
from .probabilities import fitted, unseen
from .tuning import LAST_ROWS, Tuning

CALIBRATION_ROWS = 4000
CALIBRATION_VALUES = 2_000_000  # values of pairs; with many classes a row has many
FEWEST_ROWS = 10
UNFITTED = 1.0, 0.0


def calibrated(tuning: Tuning, trained: Any) -> tuple[float, float]:
    """Temperature and weight of the evidence for a trained machine."""
    index, n_classes = tuning.index, len(tuning.task.classes)
    most = min(LAST_ROWS, trained.shape_fit_[0])
    if np.isfinite(tuning.deadline):
        most = min(most, trained.shape_fit_[0] * np.sqrt(tuning.left() / (5 * max(trained.fit_seconds_, 1e-3))))
    rows = sample_of(index, int(most), tuning.rng)
    rows = rows[np.bincount(index[rows])[index[rows]] >= 2]
    why, splits = "", []
    if tuning.left() == 0:
        why = "there was no time left"
    elif len(rows) < FEWEST_ROWS:
        why = f"that takes {FEWEST_ROWS} rows of classes with at least two, and there are {len(rows)}"
    elif not (splits := splits_of(tuning, rows)):
        why = "no split has all classes in its training rows"
    if why:
        tuning.tell(f"Probabilities: not calibrated, because {why}.")
        return UNFITTED
    pairs = n_classes * (n_classes - 1) // 2
    tested = max(500, min(CALIBRATION_ROWS, CALIBRATION_VALUES // pairs))
    splits = splits[: max(1, -(-tested * len(splits) // len(rows)))]
    Z, y, weight = tuning.encoded(rows)
    machine = tuning.task.machine(**tuning.params, y=y, seconds=np.inf)
    if isinstance(machine, LandmarkSVC):  # as many as the machine has
        machine.set_params(n_landmarks=len(trained.support_))
    F, at, code = quietly(unseen, machine, (Z, y, weight), splits, tuning.task.end())
    at = at[:tested]
    found = fitted(F[:tested], np.searchsorted(np.unique(y), y[at]), code, weight[at])
    scores = "scores of the pairs of classes" if code is not None else "class scores"
    tuning.tell(
        f"Probabilities: from the {scores}, with a temperature of {found[0]:.3g} fitted to {len(at)} training rows, "
        f"each held out in turn."
    )
    return found


def splits_of(tuning: Tuning, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Splits of some rows with all of their classes in the training part: values of fewer pairs say nothing."""
    y, given, seed = tuning.y[rows], tuning.task.rows, tuning.seed
    splits = given.splits_of(rows)
    if splits is None:
        folds = max(2, min(5, int(np.unique(y, return_counts=True)[1].max())))
        groups = None if given.groups is None else given.groups[rows]
        if groups is None:
            splits = quietly(list, StratifiedKFold(folds, shuffle=True, random_state=seed).split(rows, y))
        else:
            splits = together(folds, y, groups, seed)
    n_classes = len(np.unique(y))
    return [(a, b) for a, b in splits if len(b) and len(np.unique(y[a])) == n_classes > 1]
