"""Machines without losses: C=inf asks for the margin that no row violates, as scikit-learn's SVC allows it.

The hinge is an exact penalty: from the largest dual variable of the hard margin on, no C changes the model. So it is
trained with a finite C that is far above the variables of any margin worth having, where primal and dual values are
still those of the hard margin and prove it. Where a variable reaches that bound, the classes are not separable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core, kernels

FAR = 1e8  # in units of 1 / k(x, x): margins down to a ten thousandth of the length of a row


def finite_C(C: float, X: Any, rows: np.ndarray, weight: np.ndarray, kernel: dict[str, Any]) -> float:
    """C itself, or the finite value that replaces infinity."""
    if np.isfinite(C):
        return float(C)
    lengths = _core.diagonal(kernels.as_data(X), kernel, np.ascontiguousarray(rows, dtype=np.int64), "float64")
    return FAR / (max(float(np.median(np.abs(lengths))), 1e-300) * float(weight.min()))


def check_hard_margin(C: float, loss: str) -> None:
    if loss == "logistic" and not np.isfinite(C):
        raise ValueError(
            f'expected a finite C with loss="logistic", got {C}; this loss is never zero, so that the weights would '
            f'grow without end: use loss="hinge"'
        )


def not_separable(alpha: np.ndarray, strength: np.ndarray, n_classes: int, slack: float | None) -> str | None:
    """The remark on a hard margin that rows violate, told by the largest variable of each, or None.

    The variables of a row may share their bound. That of a squared hinge has none: it is C times the `slack`.
    """
    if not np.any(alpha >= strength * (1 / n_classes if slack is None else slack)):
        return None
    return (
        "C=inf asks for a margin that no row violates, and with this kernel there is none: the model is that of a very "
        "large C; use a finite C, or a kernel that separates the classes (rbf, a larger gamma)"
    )
