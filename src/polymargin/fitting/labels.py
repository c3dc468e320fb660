"""Checks of labels that are to become classes."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def check_labels(y: Any) -> None:
    """Raise ValueError for labels without an order: gaps, or types that do not compare."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "fO" or labels.ndim == 0 or labels.size != len(labels):
        return
    labels = labels.ravel()
    gaps = np.flatnonzero(np.isnan(labels) if labels.dtype.kind == "f" else [is_gap(label) for label in labels])
    if len(gaps):
        gap = "NaN" if labels.dtype.kind == "f" else repr(labels[gaps[0]])
        raise ValueError(
            f"expected y to hold a label in every row, got {gap} in row {gaps[0]}; drop such rows, or give them a "
            f"label of their own"
        )
    if labels.dtype != object:
        return
    kinds = {type(label).__name__: isinstance(label, Real | np.bool_) for label in labels}
    if len(kinds) > 1 and not all(kinds.values()):
        raise ValueError(
            f"expected y to hold labels of one type, got {' and '.join(sorted(kinds))}; convert them, for example with "
            f"np.array([str(label) for label in y])"
        )


def check_known(classes: np.ndarray, y: np.ndarray) -> None:
    """Raise ValueError for a label in `partial_fit` that is not among the sorted classes."""
    try:
        index = np.searchsorted(classes, y)
        strange = np.broadcast_to(classes[np.minimum(index, len(classes) - 1)] != y, y.shape)
    except TypeError:  # labels of another type, which do not compare
        strange = np.ones(y.shape, dtype=bool)
    if np.any(strange):
        raise ValueError(
            f"expected labels among {classes[:10].tolist()} in partial_fit, got {y[strange][0]!r}; declare all "
            "classes in the first call with classes="
        )


def is_gap(label: Any) -> bool:
    """None, NaN or the NA of data frames, whose comparison with itself is neither true nor false."""
    return label is None or type(label).__name__ == "NAType" or (isinstance(label, Real) and label != label)
