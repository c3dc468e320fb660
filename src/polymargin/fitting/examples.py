"""What a machine is trained on: rows with classes, weights and a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import check_classes, check_rows, check_sample_weight, class_weights
from .labels import check_known, check_labels

COPIED_ROWS = 4096  # rows copied at a time


def segments_of(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Where each class begins among rows that are sorted by class, and the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(y, minlength=n_classes))]).astype(np.int64)


@dataclass(frozen=True)
class Examples:
    """The rows ``X[rows]`` with class indices ``y`` of ``n_classes`` and positive weights; ``kernel`` is its record.

    The compiled solvers want them class by class: in the ``order``, which has ``segments``.
    """

    X: Any
    rows: np.ndarray
    y: np.ndarray
    n_classes: int
    weight: np.ndarray
    kernel: dict[str, Any]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def order(self) -> np.ndarray:
        return np.argsort(self.y, kind="stable")

    @cached_property
    def segments(self) -> np.ndarray:
        """Where each class begins in `order`, and the end."""
        return segments_of(self.y, self.n_classes)

    @property
    def sorted_rows(self) -> np.ndarray:
        return np.ascontiguousarray(self.rows[self.order], dtype=np.int64)


@dataclass(frozen=True)
class TrainingSet:
    """Checked input of `fit`: the rows with a positive weight are `rows`, and `y` are their class indices.

    ``plain`` are the weights that were passed, ``weight`` those times the weights of the classes.
    """

    X: Any
    labels: np.ndarray
    sample_weight: np.ndarray
    rows: np.ndarray
    classes: np.ndarray
    y: np.ndarray
    plain: np.ndarray
    weight: np.ndarray

    @property
    def data(self) -> dict[str, Any]:
        """The data in the form that callbacks expect."""
        return dict(X=self.X, y=self.labels, metadata={"sample_weight": self.sample_weight})

    @property
    def width(self) -> float:
        """Numbers in a row."""
        return self.X.nnz / self.X.shape[0] if sp.issparse(self.X) else float(self.X.shape[1])

    def examples(self, kernel: dict[str, Any], X: Any = None) -> Examples:
        """The examples with a kernel and, optionally, with shifted rows in place of X."""
        return Examples(self.X if X is None else X, self.rows, self.y, len(self.classes), self.weight, kernel)


def training_set(estimator: Any, X: Any, y: Any, sample_weight: Any, precomputed: bool = False) -> TrainingSet:
    """X, y and weights as `fit` was given them, checked."""
    X, y = check_rows(estimator, X, y, fit=True, precomputed=precomputed)
    sample_weight = check_sample_weight(sample_weight, len(y))
    rows = np.flatnonzero(sample_weight)
    classes, index = check_classes(y, rows)
    plain = sample_weight[rows]
    weight = plain * class_weights(estimator.class_weight, classes, index, plain)[index]
    return TrainingSet(X, y, sample_weight, rows, classes, index, plain, weight)


def partial_set(
    estimator: Any, given: tuple[Any, Any, Any], classes: Any, known: np.ndarray | None, grows: bool = False
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """X, labels, weights and all classes: what `partial_fit` was given, (X, y, sample_weight), checked.

    `known` are the classes of the calls before, None in the first one, which may declare them; `grows`: more may come.
    """
    X, y, sample_weight = given
    if known is None:
        X, y = check_rows(estimator, X, y, fit=True, precomputed=False)
        classes = np.unique(y if classes is None else np.asarray(classes))
        if len(classes) < 2 and not grows:
            raise ValueError(
                f"expected at least 2 classes in partial_fit, got 1 class ({classes[0]!r}); declare all of them in the "
                f"first call with classes="
            )
    else:
        check_labels(y)
        X, y = check_rows(estimator, X, fit=False, precomputed=False), np.asarray(y)
        classes = np.union1d(known, y) if grows else known
    weight = check_sample_weight(sample_weight, X.shape[0])
    if y.shape != (X.shape[0],):
        raise ValueError(f"expected y to hold one label per row, shape ({X.shape[0]},), got shape {y.shape}")
    check_known(classes, y)
    return X, y, weight, classes
