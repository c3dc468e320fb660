"""What model files hold of a landmark machine, and what must be true of a loaded one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..files.kinds import FiniteArray
from ..files.records import COUNT, FINITE, NOT_NEGATIVE, REPORT
from ..training.record import PROTOTYPES, check_kernel

LANDMARKS = {
    **PROTOTYPES,
    "support_": (FiniteArray(("S",), ("int64",), least=0, increasing=True),),
    **REPORT,
    "rho_": (FINITE,),
    "residual_": (NOT_NEGATIVE,),
    "n_seen_": (COUNT,),
}


def check_landmarks(model: Any) -> str | None:
    """The parts must fit together: at least one landmark, with a coefficient for every class."""
    try:
        model._check()
    except ValueError as error:
        return str(error)
    if wrong := check_kernel(model):
        return wrong
    if sp.issparse(model.dual_coef_) or not len(model.support_):
        return "coefficients that are not those of landmarks"
    if int(np.sum(model.n_support_)) != len(model.support_):
        return "landmarks of classes that are not counted"
    if model.kernel == "precomputed" and model.support_[-1] >= model.shape_fit_[0]:
        return "landmarks that are not among the training rows"
    return None
