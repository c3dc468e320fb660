"""What model files hold of core vectors and of balls, and what must be true of a loaded one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..files.kinds import FiniteArray, NumberList, rows_of_data
from ..files.records import COUNT, FINITE, INPUT, NOT_NEGATIVE, REPORT
from ..fitting.parameters import NONE
from ..training.pair_codes import are_all_pairs
from ..training.record import PROTOTYPES, check_gamma, check_kernel
from .search import Rows

CORE = {"core_size_path_": (NumberList(),), "radius_": (NOT_NEGATIVE,)}
CORE_VECTORS = {
    **PROTOTYPES,
    "dual_coef_": (FiniteArray(("T", "S"), sparse=True), FiniteArray(("L", "S"))),
    "intercept_": (FiniteArray(("T",)), FiniteArray(("L",))),
    "_coef": (NONE, FiniteArray(("T", "d")), FiniteArray(("L", "d"))),
    "core_indices_": (FiniteArray(("S",), ("int64",), least=0),),
    "pairs_": (FiniteArray(("L", 2), ("int64",), least=0),),
    "n_seen_": (COUNT,),
    "kept_weight": (FiniteArray(("S",), least=0.0),),
    **REPORT,
    **CORE,
    "rho_": (FINITE,),
}
BALL = {
    **INPUT,
    "support_": (FiniteArray(("S",), ("int64",), least=0),),
    "support_vectors_": (rows_of_data("S"),),
    "dual_coef_": (FiniteArray(("S",), least=0.0),),
    "gamma_": PROTOTYPES["gamma_"],
    "_square": (FINITE,),
    "offset_": (FINITE,),
    **CORE,
    **{name: rule for name, rule in REPORT.items() if name != "kkt_violation_"},
}


def check_core(model: Any) -> str | None:
    """The parts of a core vector machine must fit together, with positive coefficients, one per core vector."""
    if wrong := check_kernel(model):
        return wrong
    B, T = model.dual_coef_, len(model.classes_)
    if model.scheme == "pairwise":
        if sp.issparse(B) or not are_all_pairs(getattr(model, "pairs_", None), T) or len(B) != len(model.pairs_):
            return "pairs that are not those of its classes"
        return None if len(model.intercept_) == len(B) else "intercepts that do not go with the pairs"
    if not sp.issparse(B) or np.any(np.bincount(B.indices, minlength=B.shape[1]) != 1) or np.any(B.data <= 0):
        return "coefficients other than a positive one per core vector"
    if B.shape[0] != T or len(model.intercept_) != T or hasattr(model, "pairs_"):
        return "coefficients that do not go with the classes"
    return "more support vectors than coefficients" if np.any(model.n_support_ > np.diff(B.indptr)) else None


def restore_core(model: Any, values: dict[str, Any]) -> None:
    """What `partial_fit` continues from: the core vectors with their weights and coefficients."""
    if "kept_weight" in values:
        given, B = model.kernel == "precomputed", model.dual_coef_.tocsc()
        rows = (model.support_, None if given else model.support_vectors_, B.indices.astype(np.int64))
        model._kept = (Rows(*rows, values["kept_weight"]), B.data)


def check_ball(model: Any) -> str | None:
    """The weights of a ball's core vectors are positive and sum to 1."""
    if wrong := check_gamma(model):
        return wrong
    return "weights that do not sum to 1" if abs(model.dual_coef_.sum() - 1) > 1e-6 else None
