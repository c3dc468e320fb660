"""What a model file may hold: every estimator, its parameters and fitted attributes, and what each of them must be.

Loading sets nothing that is not listed here, so to keep a new estimator in files is to add its record to `RECORDS`
(a search, or a step of a pipeline: to that of search_records.py).
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

from . import (
    auto,
    columns,
    core_model,
    core_search,
    core_vector,
    enclosing_ball,
    grnn,
    joint,
    kernel_density,
    manifold,
    model_kinds,
    structured,
)
from .checks import BOOL, NONE, POSITIVE, Kind, Name, Number
from .columns import ColumnEncoder
from .kernels import HAS_GAMMA, resolve_gamma
from .machines import MACHINES
from .model_kinds import NUMBERS, Array, Fitted, Infinite, Labels, Numbers, Sizes, Strings, Words
from .output_codes import OutputCodeSVC, check_code
from .reductions import OneVsRestSVC, PairwiseSVC, are_all_pairs


@dataclass(frozen=True)
class Record:
    """An estimator: constraints on its parameters, and on its fitted attributes in the order they are checked in.

    Attributes in `optional` may be missing. `check` says what is wrong with the whole, or nothing. Where the estimator
    keeps something else than plain values, `derived` reads plain ones off it, and `restore` sets it from them.
    """

    estimator: type
    parameters: Mapping[str, tuple]
    fitted: Mapping[str, tuple] = field(default_factory=dict)
    optional: tuple[str, ...] = ("feature_names_in_",)
    check: Callable[[Any], str | None] = lambda model: None
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    restore: Callable[[Any, dict[str, Any]], None] = lambda model, values: None


INPUT = {"n_features_in_": (Sizes(("d",), scalar=True),), "feature_names_in_": (Strings("d"),)}
NOT_NEGATIVE = Number("a number >= 0", least=0.0)
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
    "fit_seconds_": (NOT_NEGATIVE,),
}
PROTOTYPES = {
    **INPUT,
    "shape_fit_": (Sizes(("n", "d")),),
    "classes_": (Labels("T"),),
    "support_": (Array(("S",), ("int64",), least=0, below="n", increasing=True),),
    "support_vectors_": (model_kinds.rows_of_data("S"), Array((0, 0))),
    "dual_coef_": (Array(("T", "S"), sparse=True),),
    "intercept_": (Array(("T",)),),
    "n_support_": (Array(("T",), ("int32", "int64"), least=0),),
    "gamma_": (NONE, POSITIVE, Array(("d",), least=0.0)),
    "_coef": (NONE, Array(("T", "d"))),
    "_score_type": (Name(("float32", "float64")),),
}


COLUMNS = PROTOTYPES | {
    "_columns": (Array(("T", "L"), ("int8",), least=-1), Array(("L", 2), ("int64",), least=0)),
    "dual_coef_": (Array(("L", "S"), sparse=True),),
    "intercept_": (Array(("L",)),),
    "_coef": (NONE, Array(("L", "d"))),
}


def check_gamma(model: Any) -> str | None:
    """There is a gamma where the kernel has one, and the parameter is one that `fit` takes."""
    if (model.gamma_ is None) != (model.kernel not in HAS_GAMMA):
        return "a gamma that does not go with the kernel"
    if np.ndim(model.gamma_) and model.kernel != "rbf":
        return "one gamma per feature for a kernel other than rbf"
    if not isinstance(model.gamma, str):
        resolve_gamma(model.kernel, model.gamma, None, None, model.n_features_in_)
    if model.kernel == "poly":
        most = np.log(model.gamma_ * model_kinds.largest_square(model.support_vectors_) + abs(model.coef0) + 1)
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
    T, code, B = len(model.classes_), model._columns, model.dual_coef_
    try:
        if isinstance(model, PairwiseSVC):
            sound = are_all_pairs(code, T)
        elif isinstance(model, OutputCodeSVC):
            sound = np.array_equal(code, check_code(code, T))
        else:
            sound = code.shape == (T, T if T > 2 else 1) and np.array_equal(code, model._code(T))
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


def check_core(model: Any) -> str | None:
    """The parts of a core vector machine must fit together, with positive coefficients, one per core vector."""
    if wrong := check_kernel(model):
        return wrong
    B, T = model.dual_coef_, len(model.classes_)
    if model.scheme == "pairwise":
        if sp.issparse(B) or not are_all_pairs(getattr(model, "pairs_", None), T) or len(B) != len(model.pairs_):
            return "pairs that are none"
        return None if len(model.intercept_) == len(B) else "intercepts that do not go with the pairs"
    if not sp.issparse(B) or np.any(np.bincount(B.indices, minlength=B.shape[1]) != 1) or np.any(B.data <= 0):
        return "coefficients other than a positive one per core vector"
    if B.shape[0] != T or len(model.intercept_) != T or hasattr(model, "pairs_"):
        return "coefficients that do not go with the classes"
    return "more support vectors than coefficients" if np.any(model.n_support_ > np.diff(B.indptr)) else None


def restore_core(model: Any, values: dict[str, Any]) -> None:
    """What `partial_fit` goes on from: the core vectors with their weights and coefficients."""
    if "kept_weight" in values:
        given, B = model.kernel == "precomputed", model.dual_coef_.tocsc()
        rows = (model.support_, None if given else model.support_vectors_, B.indices.astype(np.int64))
        model._kept = (core_search.Rows(*rows, values["kept_weight"]), B.data)


def check_ball(model: Any) -> str | None:
    """The weights of a ball's core vectors are positive and sum to 1."""
    if wrong := check_gamma(model):
        return wrong
    return "weights that do not sum to 1" if abs(model.dual_coef_.sum() - 1) > 1e-6 else None


def check_density(model: Any) -> str | None:
    """Class probabilities sum to 1, and so do the shares of the values of every feature and class."""
    ends, total = model._bounds, np.r_[0.0, np.cumsum(model._shares)]
    if ends[0] != 0 or ends[-1] != len(model._values) or len(ends) != 1 + model.bandwidth_.size:
        return "values that do not go with its features and classes"
    if abs(model.class_prior_.sum() - 1) > 1e-6 or np.any(np.abs(np.diff(total[ends]) - 1) > 1e-6):
        return "shares that do not sum to 1"
    far = np.abs(model._values).max() / model.bandwidth_.min()
    return None if far < 1e150 else "values whose distances have no finite squares"


def check_grnn(model: Any) -> str | None:
    """There are targets, and one column of them where `predict` returns one."""
    sound = model._y.size and (model._y.shape[1] == 1 or not model._one_output)
    return None if sound else "targets of another shape"


def check_isomap(model: Any) -> str | None:
    """The map of new rows must lead from the training rows to their coordinates."""
    inside = model.grnn_.n_features_in_ == model.n_features_in_ and model.grnn_._y.shape[1] == model.n_components_
    return None if inside else "a map of new rows that does not go with the coordinates"


CORE = {"core_size_path_": (Numbers(),), "radius_": (NOT_NEGATIVE,)}
CORE_VECTORS = {
    **PROTOTYPES,
    "dual_coef_": (Array(("T", "S"), sparse=True), Array(("L", "S"))),
    "intercept_": (Array(("T",)), Array(("L",))),
    "_coef": (NONE, Array(("T", "d")), Array(("L", "d"))),
    "core_indices_": (Array(("S",), ("int64",), least=0),),
    "pairs_": (Array(("L", 2), ("int64",), least=0),),
    "n_seen_": (COUNT,),
    "kept_weight": (Array(("S",), least=0.0),),
    **REPORT,
    **CORE,
    "rho_": (FINITE,),
}
ISOMAP = {
    **INPUT,
    "embedding_": (Array(("n", "q"), ("float32", "float64")),),
    "n_components_": (Sizes(("q",), scalar=True),),
    "_n_features_out": (Sizes(("q",), scalar=True),),
    "gamma_": (NONE, POSITIVE),
    "classes_": (Array(("T",), NUMBERS), Labels("T")),
    "n_graph_components_": (COUNT,),
    "eigenvalues_": (Array(("e",)),),
    "landmarks_": (Array(("l",), ("int64",), least=0, below="n"),),
    "dist_matrix_": (Array(("l", "n"), ("float32", "float64"), least=0.0),),
    "graph_": (Array(("n", "n"), ("float32", "float64"), least=0.0, sparse=True),),
    "residual_variance_": (FINITE,),
    "trustworthiness_": (FINITE,),
    "fit_seconds_": REPORT["fit_seconds_"],
    "grnn_": (Fitted(grnn.GRNNRegressor),),
}
BALL = {
    **INPUT,
    "support_": (Array(("S",), ("int64",), least=0),),
    "support_vectors_": (model_kinds.rows_of_data("S"),),
    "dual_coef_": (Array(("S",), least=0.0),),
    "gamma_": PROTOTYPES["gamma_"],
    "_square": (FINITE,),
    "offset_": (FINITE,),
    **CORE,
    **{name: rule for name, rule in REPORT.items() if name != "kkt_violation_"},
}
STRUCTURED = {
    **INPUT,
    "classes_": (Labels("T"),),
    "coef_": (Array(("T", "d")),),
    "intercept_": (Array(("T",)),),
    "loss_matrix_": (Array(("T", "T"), least=0.0),),
    "n_cuts_": (COUNT,),
    "gap_path_": (Numbers(),),
    **{name: rule for name, rule in REPORT.items() if name not in ("kkt_violation_", "n_kernel_evals_")},
}
GRNN = {
    **INPUT,
    "_X": (model_kinds.rows_of_data("n"),),
    "_y": (Array(("n", "q")),),
    "_weight": (Array(("n",), least=np.finfo(np.float64).tiny),),
    "_one_output": (BOOL,),
    "spread_": (Number("a number whose square is one", least=1e-150, most=1e150),),
    "spreads_": (Array(("k",)),),
    "errors_": (Array(("k",)),),
    "_score_type": PROTOTYPES["_score_type"],
}
DENSITY = {
    **INPUT,
    "classes_": (Labels("T"),),
    "class_prior_": (Array(("T",), least=0.0),),
    "bandwidth_": (Array(("T", "d"), least=1e-150),),
    "_values": (Array(("V",)),),
    "_shares": (Array(("V",), least=0.0),),
    "_bounds": (Array(("B",), ("int64",), least=0, increasing=True),),
}
OPTIONAL = ("feature_names_in_",)
ROOT = 1e-162  # no root of a positive variance is smaller, and what is divided by it is finite


def check_encoder(model: Any) -> str | None:
    """Every column must be of one kind, and every column of words must have some."""
    kinds = np.concatenate([model.numeric_, model.categorical_, model.left_out_])
    if len(kinds) != model.n_features_in_ or not np.array_equal(np.sort(kinds), np.arange(len(kinds))):
        return "columns of no kind or of two"
    known = np.isin(model.gaps_, model.numeric_).all() and len(model.categories_) == len(model.categorical_)
    return None if known else "gaps or words of columns that have none"


def check_auto(model: Any) -> str | None:
    """The encoder must make what the machine reads."""
    made, names = len(model.encoder_.get_feature_names_out()), len(model.feature_names_out_)
    if model.encoder_.n_features_in_ != model.n_features_in_ or model.machine_.n_features_in_ != made or made != names:
        return "an encoder that does not fit the machine"
    names = [getattr(part, "feature_names_in_", None) for part in (model, model.encoder_)]
    if not np.array_equal(model.machine_.classes_, model.classes_) or not np.array_equal(*names):
        return "a machine with other classes, or an encoder with other names"
    fits = len(model.margins_) in (1, len(model.machine_.intercept_)) and np.all(model.margins_ > 0)
    return None if fits else "margins that do not fit the machine"


def some_columns(letter: str) -> Array:
    return Array((letter,), ("int64",), least=0, below="d", increasing=True)


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
    "CoreVectorSVC": Record(
        core_vector.CoreVectorSVC,
        core_model.CONSTRAINTS,
        CORE_VECTORS,
        optional=(*OPTIONAL, "pairs_", "n_seen_", "kept_weight"),
        check=check_core,
        derived={"kept_weight": lambda model: model._kept[0].weight},
        restore=restore_core,
    ),
    "EnclosingBall": Record(
        enclosing_ball.EnclosingBall,
        {**enclosing_ball.CONSTRAINTS, "C": (POSITIVE, Infinite())},
        BALL,
        check=check_ball,
    ),
    "StructuredSVC": Record(structured.StructuredSVC, {**structured.CONSTRAINTS, "joint_map": (NONE,)}, STRUCTURED),
    "GRNNRegressor": Record(
        grnn.GRNNRegressor, grnn.CONSTRAINTS, GRNN, optional=(*OPTIONAL, "spreads_", "errors_"), check=check_grnn
    ),
    "SupervisedIsomap": Record(
        manifold.SupervisedIsomap, manifold.CONSTRAINTS, ISOMAP, optional=(*OPTIONAL, "classes_"), check=check_isomap
    ),
    "KernelDensityNB": Record(kernel_density.KernelDensityNB, kernel_density.CONSTRAINTS, DENSITY, check=check_density),
    "ColumnEncoder": Record(
        ColumnEncoder,
        columns.CONSTRAINTS,
        {
            **INPUT,
            "numeric_": (some_columns("N"),),
            "categorical_": (some_columns("K"),),
            "left_out_": (some_columns("O"),),
            "gaps_": (some_columns("G"),),
            **dict.fromkeys(("median_", "mean_"), (Array(("N",)),)),
            "scale_": (Array(("N",), least=ROOT),),
            "categories_": (Words(arrays=True),),
        },
        check=check_encoder,
    ),
    "AutoSVC": Record(
        auto.AutoSVC,
        auto.CONSTRAINTS,
        {
            **INPUT,
            "classes_": (Labels("T"),),
            "encoder_": (Fitted(ColumnEncoder),),
            "machine_": tuple(Fitted(m) for m in (joint.JointSVC, *auto.REDUCTIONS.values())),
            "best_params_": (Kind("a dict", (dict,)),),
            "cv_score_": (NONE, FINITE),
            **{"temperature_": (POSITIVE,), "evidence_weight_": (NOT_NEGATIVE,), "margins_": (Array(("M",)),)},
            "explain_choices_": (Words(),),
            "feature_names_out_": (Strings("F"),),
            **{"fit_seconds_": (NOT_NEGATIVE,), "peak_memory_": (COUNT,)},
        },
        optional=(*OPTIONAL, "peak_memory_"),
        check=check_auto,
    ),
}
