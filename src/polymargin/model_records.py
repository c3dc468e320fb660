"""What a model file may hold: every estimator, its parameters and fitted attributes, and what each of them must be.

Loading sets nothing that is not listed here, so to keep a new estimator in files is to add its record to `RECORDS`.
Shapes are written in letters: a letter stands for the same size wherever it occurs in one model, for example

    n rows of the training data    d features (columns of the kernel matrix, if that was given)
    T classes                      S support vectors
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from . import joint
from .checks import BOOL, NONE, POSITIVE, Kind, Name, Number
from .machines import MACHINES
from .output_codes import OutputCodeSVC, check_code
from .reductions import OneVsRestSVC, PairwiseSVC

# Kinds of attributes, beside the constraints on parameters of checks.py. `accepts` compares with the sizes found so far
# and adds new ones to them.


@dataclass(frozen=True)
class Array:
    """Finite numbers of a shape, `least` <= each, and below the size `below`; `sparse` allows CSR as well."""

    shape: tuple[str | int, ...]
    types: tuple[str, ...] = ("float64",)
    least: float = -np.inf
    below: str | None = None
    increasing: bool = False
    sparse: bool = False

    @property
    def expected(self) -> str:
        return f"an array of {' or '.join(self.types)} of shape ({', '.join(map(str, self.shape))})" + (
            f", increasing, from {self.least:g} to {self.below} - 1" if self.increasing else ""
        )

    def accepts(self, value: Any, sizes: dict[str, int]) -> bool:
        allowed = (np.ndarray, sp.csr_array, sp.csr_matrix) if self.sparse else np.ndarray
        if not isinstance(value, allowed) or value.dtype.name not in self.types:
            return False
        if not fits(value.shape, self.shape, sizes):
            return False
        numbers = value.data if sp.issparse(value) else value
        if numbers.size == 0:
            return True
        most = sizes[self.below] - 1 if self.below else np.inf
        # Infinities and NaN fail one of these two.
        inside = np.isfinite(low := numbers.min()) and low >= self.least
        inside = inside and np.isfinite(high := numbers.max()) and high <= most
        return bool(inside and (not self.increasing or np.all(np.diff(numbers) > 0)))


@dataclass(frozen=True)
class Sizes:
    """An integer, or a tuple of them, that a letter each stands for."""

    letters: tuple[str, ...]
    scalar: bool = False
    expected: str = "sizes that agree with those of the other arrays"

    def accepts(self, value: Any, sizes: dict[str, int]) -> bool:
        value = (value,) if self.scalar else value
        if not isinstance(value, tuple) or not all(type(v) is int and 1 <= v < 2**62 for v in value):
            return False
        return fits(value, self.letters, sizes)


@dataclass(frozen=True)
class Labels:
    """At least two labels, sorted and different."""

    letter: str
    expected: str = "at least two labels, sorted and different"

    def accepts(self, value: Any, sizes: dict[str, int]) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < 2:
            return False
        return bool(np.all(value[:-1] < value[1:])) and fits(value.shape, (self.letter,), sizes)


@dataclass(frozen=True)
class Strings:
    """An array of strings."""

    letter: str
    expected: str = "one string per feature"

    def accepts(self, value: Any, sizes: dict[str, int]) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype != object or not fits(value.shape, (self.letter,), sizes):
            return False
        return all(isinstance(v, str) for v in value)


@dataclass(frozen=True)
class Steps:
    """The steps of a pipeline."""

    expected: str = "a list of (name, estimator)"

    def accepts(self, value: Any, sizes: dict[str, int]) -> bool:
        if not isinstance(value, list) or not value:
            return False
        pairs = all(isinstance(s, tuple) and len(s) == 2 and isinstance(s[0], str) for s in value)
        return pairs and all(isinstance(s[1], BaseEstimator) or s[1] in (None, "passthrough") for s in value)


def fits(shape: tuple[int, ...], wanted: tuple[str | int, ...], sizes: dict[str, int]) -> bool:
    """Whether a shape agrees with the sizes known so far; new ones are added if it does."""
    if len(shape) != len(wanted):
        return False
    found = dict(sizes)
    for n, w in zip(shape, wanted, strict=True):
        if n != (w if isinstance(w, int) else found.setdefault(w, n)):
            return False
    sizes.update(found)
    return True


def accepted(constraints: tuple, value: Any, sizes: dict[str, int]) -> bool:
    """Whether one of the constraints accepts a value, in view of the sizes of the same model."""
    sized = (Array, Sizes, Labels, Strings, Steps)
    return any(c.accepts(value, sizes) if isinstance(c, sized) else c.accepts(value) for c in constraints)


@dataclass(frozen=True)
class Record:
    """An estimator: constraints on its parameters, and on its fitted attributes in the order they are checked in.

    Attributes in `optional` may be missing. `check` says what is wrong with the whole, or nothing.
    """

    estimator: type
    parameters: Mapping[str, tuple]
    fitted: Mapping[str, tuple] = field(default_factory=dict)
    optional: tuple[str, ...] = ("feature_names_in_",)
    check: Callable[[Any], str | None] = lambda model: None


INPUT = {"n_features_in_": (Sizes(("d",), scalar=True),), "feature_names_in_": (Strings("d"),)}
COUNT = Number("an integer >= 0", least=0, integer=True)
FINITE = Number("a finite number")
ANY = Kind("a number", (int, float))  # of a fit that was stopped at once some are infinite
REPORT = {
    "status_": (Name(("solved", "max_iter", "time_limit", "stalled", "interrupted", "epsilon")),),
    "n_iter_": (COUNT,),
    "primal_objective_": (ANY,),
    "dual_objective_": (ANY,),
    "duality_gap_": (ANY,),
    "kkt_violation_": (ANY,),
    "n_kernel_evals_": (COUNT,),
    "fit_seconds_": (Number("a number >= 0", least=0.0),),
}
PROTOTYPES = {
    **INPUT,
    "shape_fit_": (Sizes(("n", "d")),),
    "classes_": (Labels("T"),),
    "support_": (Array(("S",), ("int64",), least=0, below="n", increasing=True),),
    "support_vectors_": (Array(("S", "d"), ("float32", "float64"), sparse=True), Array((0, 0))),
    "dual_coef_": (Array(("T", "S"), sparse=True),),
    "intercept_": (Array(("T",)),),
    "n_support_": (Array(("T",), ("int32", "int64"), least=0),),
    "gamma_": (NONE, POSITIVE, Array(("d",), least=0.0)),
    "_coef": (NONE, Array(("T", "d"))),
    "_score_type": (Name(("float32", "float64")),),
}


COLUMNS = PROTOTYPES | {
    "code_": (Array(("T", "L"), ("int8",), least=-1),),
    "dual_coef_": (Array(("L", "S"), sparse=True),),
    "intercept_": (Array(("L",)),),
    "_coef": (NONE, Array(("L", "d"))),
}


def check_kernel(model: Any) -> str | None:
    """The kernel's parts must fit together."""
    if (model.kernel == "precomputed") != (model.support_vectors_.shape == (0, 0)) and len(model.support_):
        return "support vectors that do not go with the kernel"
    if (model.gamma_ is None) != (model.kernel not in ("rbf", "poly", "sigmoid", "laplacian")):
        return "a gamma that does not go with the kernel"
    if np.ndim(model.gamma_) and model.kernel != "rbf":
        return "one gamma per feature for a kernel other than rbf"
    if model._coef is not None and model.kernel != "linear":
        return "weight vectors of a kernel that is not linear"
    return None


def check_joint(model: Any) -> str | None:
    """The parts of a joint machine must fit together, and the coefficients must be a point of its dual."""
    try:
        model._check()
    except ValueError as error:
        return str(error)
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


def check_columns(model: Any) -> str | None:
    """The code of a reduction must be one, and the coefficients of its columns must be points of their duals."""
    if wrong := check_kernel(model):
        return wrong
    T, code, B = len(model.classes_), model.code_, model.dual_coef_
    try:
        sound = np.array_equal(code, check_code(code, T) if isinstance(model, OutputCodeSVC) else model._code(T))
    except ValueError:
        sound = False
    if not sound:
        return "a code that is none"
    if not sp.issparse(B):
        return "coefficients that are not those of the machine"
    if np.any(model.n_support_ > B.shape[1]):
        return "more support vectors than coefficients"
    # The bias of each machine asks for coefficients that sum to zero.
    size = np.asarray(abs(B).sum(axis=1)).ravel()
    if np.any(np.abs(np.asarray(B.sum(axis=1)).ravel()) > 1e-6 * (1 + size)):
        return "coefficients that do not sum to zero"
    return None


PER_FEATURE = Array(("d",), ("float32", "float64"))
SCALED = {
    **INPUT,
    "n_samples_seen_": (Number("a number >= 0", least=0), Array(("d",), ("int32", "int64", "float64"), least=0)),
    "scale_": (NONE, PER_FEATURE),
}

RECORDS = {
    "JointSVC": Record(
        joint.JointSVC, joint.CONSTRAINTS, {**PROTOTYPES, **REPORT, "rho_": (FINITE,)}, check=check_joint
    ),
    **{
        reduction.__name__: Record(
            reduction, reduction._constraints, {**COLUMNS, **REPORT, "rho_": (FINITE,)}, check=check_columns
        )
        for reduction in (PairwiseSVC, OneVsRestSVC, OutputCodeSVC)
    },
    "Pipeline": Record(
        Pipeline,
        {"steps": (Steps(),), "memory": (NONE,), "verbose": (BOOL,), "transform_input": (NONE,)},
    ),
    "StandardScaler": Record(
        StandardScaler,
        {"copy": (BOOL,), "with_mean": (BOOL,), "with_std": (BOOL,)},
        {**SCALED, "mean_": (NONE, PER_FEATURE), "var_": (NONE, PER_FEATURE)},
    ),
    "MinMaxScaler": Record(
        MinMaxScaler,
        {"feature_range": (Kind("two numbers", (tuple, list)),), "copy": (BOOL,), "clip": (BOOL,)},
        {**SCALED, **dict.fromkeys(("min_", "data_min_", "data_max_", "data_range_"), (PER_FEATURE,))},
    ),
    "MaxAbsScaler": Record(MaxAbsScaler, {"copy": (BOOL,), "clip": (BOOL,)}, {**SCALED, "max_abs_": (PER_FEATURE,)}),
}
