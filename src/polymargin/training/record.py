"""What model files hold of prototypes, and what must be true of a loaded model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..files.kinds import FiniteArray, Labels, Sizes, largest_square, rows_of_data
from ..files.records import FINITE, INPUT, REPORT
from ..fitting.parameters import NONE, POSITIVE, Name
from ..kernels import HAS_GAMMA, resolve_gamma
from ..machines import MACHINES

PROTOTYPES = {
    **INPUT,
    "shape_fit_": (Sizes(("n", "d")),),
    "classes_": (Labels("T"),),
    "support_": (FiniteArray(("S",), ("int64",), least=0, below="n", increasing=True),),
    "support_vectors_": (rows_of_data("S"), FiniteArray((0, 0))),
    "dual_coef_": (FiniteArray(("T", "S"), sparse=True),),
    "intercept_": (FiniteArray(("T",)),),
    "n_support_": (FiniteArray(("T",), ("int32", "int64"), least=0),),
    "gamma_": (NONE, POSITIVE, FiniteArray(("d",), least=0.0)),
    "_coef": (NONE, FiniteArray(("T", "d"))),
    "_score_type": (Name(("float32", "float64")),),
}
JOINT = {**PROTOTYPES, **REPORT, "rho_": (FINITE,)}


def check_gamma(model: Any) -> str | None:
    """There must be a gamma where the kernel has one, and the parameter must be one that `fit` takes."""
    if (model.gamma_ is None) != (model.kernel not in HAS_GAMMA):
        return "a gamma that does not go with the kernel"
    if np.ndim(model.gamma_) and model.kernel != "rbf":
        return "one gamma per feature for a kernel other than rbf"
    if not isinstance(model.gamma, str):
        resolve_gamma(model.kernel, model.gamma, None, None, model.n_features_in_)
    if model.kernel == "poly":
        most = np.log(model.gamma_ * largest_square(model.support_vectors_) + abs(model.coef0) + 1)
        return None if model.degree * most < np.log(np.finfo(np.float64).max) else "kernel values that are not finite"
    return None


def check_kernel(model: Any) -> str | None:
    """The kernel's parts must fit together."""
    if (model.kernel == "precomputed") != (model.support_vectors_.shape == (0, 0)) and len(model.support_):
        return "support vectors that do not go with the kernel"
    if wrong := check_gamma(model):
        return wrong
    if model._coef is not None and model.kernel != "linear":
        return "weight vectors of a kernel that is not linear"
    return None


def check_joint(model: Any) -> str | None:
    """The parts of a joint machine must fit together, and the coefficients must be a point of its dual."""
    B, machine = model.dual_coef_, MACHINES[model.machine]
    if wrong := check_kernel(model):
        return wrong
    if sp.issparse(B) == bool(machine.margins):
        return "coefficients that are not those of the machine"
    counts = np.diff(B.indptr) if sp.issparse(B) else np.full(len(model.classes_), B.shape[1])
    if np.any(model.n_support_ > counts):
        return "more support vectors than coefficients"
    if sp.issparse(B):
        if np.any(np.bincount(B.indices, minlength=B.shape[1]) != 1) or np.any(B.data <= 0):
            return "coefficients other than a positive one per support vector"
    elif machine.margins.reference != "none":
        # The margin vectors of these machines sum to zero, and so do their coefficients.
        sums = np.abs(B.sum(axis=0))
        if np.any(sums > 1e-6 * (1 + np.abs(B).max(initial=0.0))):
            return "coefficients that do not sum to zero over the classes"
    if model.nu is not None and sp.issparse(B) and B.nnz and model.status_ != "interrupted":
        total, T = float(B.sum()), len(model.classes_)
        if abs(total - T) > 1e-6 * T:
            return f"coefficients with the sum {total:g} instead of {T}"
    return None
