"""The rows that `partial_fit` has seen: all of them or, beyond the memory that they may take, a random sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fitting.checks import stacked
from ..fitting.examples import partial_set
from ..fitting.limits import seed_of
from ..fitting.resources import budget, row_bytes


@dataclass
class Kept:
    """Rows with labels and weights, and a random number each by which they stay."""

    X: Any
    y: np.ndarray
    weight: np.ndarray
    own: np.ndarray  # the weights as they came
    number: np.ndarray
    classes: np.ndarray
    n_seen: int
    seen_weight: float


def partial_rows(model: Any, X: Any, y: Any, sample_weight: Any, classes: Any = None, grows: bool = False) -> Kept:
    """What was kept so far and these rows; `grows`: new classes may come."""
    last = getattr(model, "_kept", None)
    if last is None and hasattr(model, "n_seen_"):
        raise ValueError(
            "partial_fit: expected the rows of earlier calls, got a model from a file, which holds none; continue with "
            "the model itself, or begin with a clone of it"
        )
    known = None if last is None else last.classes
    X, y, weight, classes = partial_set(model, (X, y, sample_weight), classes, known, grows)
    used = np.flatnonzero(weight)
    X, y, weight, total = X[used], y[used], weight[used], float(weight.sum())
    seen = 0 if last is None else last.n_seen
    number = np.random.default_rng([seed_of(model.random_state), seen]).random(len(y))
    if last is not None:
        X, y = stacked([last.X, X]), np.concatenate([last.y, y])
        weight, number = np.concatenate([last.own, weight]), np.concatenate([last.number, number])
        total += last.seen_weight
    return thinned(Kept(X, y, weight, weight, number, classes, seen + len(used), total), budget(model.memory) / 2)


def thinned(kept: Kept, most: float) -> Kept:
    """The rows with the smallest numbers, as many as the memory allows; their weights make up for those left out."""
    X = kept.X
    n = int(most // max(row_bytes(X), 1))
    if n < X.shape[0]:
        some = np.sort(np.argpartition(kept.number, n)[:n])
        kept.X, kept.y, kept.own, kept.number = X[some], kept.y[some], kept.own[some], kept.number[some]
    kept.weight = kept.own * (kept.seen_weight / kept.own.sum())
    return kept
