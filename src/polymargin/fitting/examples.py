"""What a machine is trained on: rows with classes, weights and a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import check_classes, check_rows, check_sample_weight, class_weights

COPIED_ROWS = 4096  # rows copied at a time


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
        return np.concatenate([[0], np.cumsum(np.bincount(self.y, minlength=self.n_classes))]).astype(np.int64)

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
