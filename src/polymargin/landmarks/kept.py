"""The rows that `partial_fit` has seen: all of them or, beyond the memory that they may take, a random sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..fitting.checks import canonical, check_rows, check_sample_weight
from ..fitting.labels import check_labels, index_among
from ..fitting.limits import seed_of
from ..fitting.resources import budget


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
    if last is None:
        X, y = check_rows(model, X, y, fit=True, precomputed=False)
        classes = np.unique(y if classes is None else np.asarray(classes))
        if len(classes) < 2 and not grows:
            raise ValueError(
                f"partial_fit: expected at least 2 classes, got 1 class ({classes[0]!r}); declare all of them in "
                "the first call with classes="
            )
    else:
        check_labels(y)
        X, y, classes = check_rows(model, X, fit=False, precomputed=False), np.asarray(y), last.classes
        classes = np.union1d(classes, y) if grows else classes
    weight = check_sample_weight(sample_weight, X.shape[0])
    if y.shape != (X.shape[0],):
        raise ValueError(f"expected y to hold one label per row, shape ({X.shape[0]},), got shape {y.shape}")
    index_among(classes, y)
    used = np.flatnonzero(weight)
    X, y, weight, total = X[used], y[used], weight[used], float(weight.sum())
    seen = 0 if last is None else last.n_seen
    number = np.random.default_rng([seed_of(model.random_state), seen]).random(len(y))
    if last is not None:
        X, y = stacked(last.X, X), np.concatenate([last.y, y])
        weight, number = np.concatenate([last.own, weight]), np.concatenate([last.number, number])
        total += last.seen_weight
    return thinned(Kept(X, y, weight, weight, number, classes, seen + len(used), total), budget(model.memory) / 2)


def stacked(A: Any, B: Any) -> Any:
    if sp.issparse(A) != sp.issparse(B):
        A, B = (M if sp.issparse(M) else sp.csr_array(M) for M in (A, B))
    return canonical(sp.vstack([A, B], format="csr")) if sp.issparse(A) else np.concatenate([A, B])


def thinned(kept: Kept, most: float) -> Kept:
    """The rows with the smallest numbers, as many as the memory allows; their weights make up for those left out."""
    X = kept.X
    size = (X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes) / max(X.shape[0], 1)
    n = int(most // max(size, 1))
    if n < X.shape[0]:
        some = np.sort(np.argpartition(kept.number, n)[:n])
        kept.X, kept.y, kept.own, kept.number = X[some], kept.y[some], kept.own[some], kept.number[some]
    kept.weight = kept.own * (kept.seen_weight / kept.own.sum())
    return kept
