"""What model files hold of reductions, and what must be true of a loaded one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..files.kinds import FiniteArray
from ..files.records import FINITE, REPORT
from ..fitting.parameters import NONE
from ..training.pair_codes import are_all_pairs
from ..training.record import PROTOTYPES, check_kernel

COLUMNS = PROTOTYPES | {
    "_columns": (FiniteArray(("T", "L"), ("int8",), least=-1), FiniteArray(("L", 2), ("int64",), least=0)),
    "dual_coef_": (FiniteArray(("L", "S"), sparse=True),),
    "intercept_": (FiniteArray(("L",)),),
    "_coef": (NONE, FiniteArray(("L", "d"))),
    **REPORT,
    "rho_": (FINITE,),
}

PAIRS = {"_columns": lambda model: model.pairs_}


def restore_pairs(model: Any, values: dict[str, Any]) -> None:
    """The pairs of all classes, which the file must name in their order."""
    T = len(model.classes_)
    if not are_all_pairs(values["_columns"], T):
        raise ValueError("a code that is not one of its own")
    model._columns = model._code(T)


def check_columns(model: Any) -> str | None:
    """The code of a reduction must be valid, and so must the coefficients of its columns."""
    try:
        sound = model._is_own(model._columns, len(model.classes_))
    except ValueError:
        sound = False
    return check_coefficients(model) if sound else "a code that is not one of its own"


def check_coefficients(model: Any) -> str | None:
    """The coefficients of columns must be points of their duals."""
    if wrong := check_kernel(model):
        return wrong
    B = model.dual_coef_
    if not sp.issparse(B):
        return "coefficients that are not those of the machine"
    if np.any(model.n_support_ > B.shape[1]):
        return "more support vectors than coefficients"
    # The bias of each machine makes its coefficients sum to zero.
    size = np.asarray(abs(B).sum(axis=1)).ravel()
    if np.any(np.abs(np.asarray(B.sum(axis=1)).ravel()) > 1e-6 * (1 + size)):
        return "coefficients that do not sum to zero"
    return None
