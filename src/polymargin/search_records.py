"""What a model file may hold of pipelines and searches, and of all estimators together: `RECORDS`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from . import model_records, search_cv, selection
from .checks import BOOL, NONE, Kind, Name, Number
from .columns import ColumnEncoder
from .model_kinds import NUMBERS, Array, Fitted, Labels, is_fitted
from .model_kinds import Steps as PipelineSteps
from .model_records import ANY, COUNT, FINITE, INPUT, ROOT, Record

DICT = Kind("a dict", (dict,))
ESTIMATOR = Kind("an estimator", (BaseEstimator,))
FOLDS = (NONE, Number("an integer >= 2", least=2, integer=True))  # a splitter is code
SCORES = Kind("names of scores", (str, list, tuple, dict, type(None)))
SECONDS = Number("a number >= 0", least=0.0)


def check_pipeline(model: Any) -> str | None:
    """Every step must be fitted, and read what the one before it makes."""
    model._validate_steps()
    steps = [step for _, step in model.steps if step not in (None, "passthrough")]
    if not all(map(is_fitted, steps)):
        return "steps that are not fitted"
    for step, after in itertools.pairwise(steps):
        encodes = isinstance(step, ColumnEncoder)
        made = len(step.get_feature_names_out()) if encodes else getattr(step, "_n_features_out", step.n_features_in_)
        if made != after.n_features_in_:
            return "steps that do not go together"
    return None


class Range(Kind):
    """Two numbers."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) and len(value) == 2 and all(map(FINITE.accepts, value)) and value[0] < value[1]


PER_FEATURE = Array(("d",), ("float32", "float64"))
SCALED = {
    **INPUT,
    "n_samples_seen_": (Number("a number >= 0", least=0), Array(("d",), ("int32", "int64", "float64"), least=0)),
    "scale_": (NONE, Array(("d",), ("float32", "float64"), least=ROOT)),
}
STEPS = {
    "Pipeline": Record(
        Pipeline,
        {"steps": (PipelineSteps(),), "memory": (NONE,), "verbose": (BOOL,), "transform_input": (NONE,)},
        check=check_pipeline,
    ),
    "StandardScaler": Record(
        StandardScaler,
        {"copy": (BOOL,), "with_mean": (BOOL,), "with_std": (BOOL,)},
        {**SCALED, "mean_": (NONE, PER_FEATURE), "var_": (NONE, PER_FEATURE)},
    ),
    "MinMaxScaler": Record(
        MinMaxScaler,
        {"feature_range": (Range("two numbers, the smaller first", (tuple, list)),), "copy": (BOOL,), "clip": (BOOL,)},
        {**SCALED, **dict.fromkeys(("min_", "data_min_", "data_max_", "data_range_"), (PER_FEATURE,))},
    ),
    "MaxAbsScaler": Record(MaxAbsScaler, {"copy": (BOOL,), "clip": (BOOL,)}, {**SCALED, "max_abs_": (PER_FEATURE,)}),
}
ESTIMATORS = {**model_records.RECORDS, **STEPS}
BEST = tuple(Fitted(record.estimator) for record in ESTIMATORS.values())


def check_search(model: Any) -> str | None:
    """What was found must be parameters of the estimator, and the estimator fitted with them must have the classes."""
    if not set(getattr(model, "best_params_", {})) <= set(model.estimator.get_params(deep=True)):
        return "parameters that its estimator does not have"
    if hasattr(model, "best_estimator_") and not np.array_equal(model.best_estimator_.classes_, model.classes_):
        return "an estimator with other classes"
    return None


def without_parameters(model: Any) -> dict[str, Any]:
    """`cv_results_` without the columns that `params` has already, which are masked arrays."""
    return {name: column for name, column in model.cv_results_.items() if not name.startswith("param_")}


def restore_results(model: Any, values: dict[str, Any]) -> None:
    """The table of a search, and its scorer."""
    table = values["cv_results_"]
    params = table.get("params")
    if not isinstance(params, list) or not params or not all(isinstance(p, dict) for p in params):
        raise ValueError("a table without parameters")
    columns = [column for name, column in table.items() if name != "params"]
    sound = all(isinstance(c, np.ndarray) and c.dtype.name in NUMBERS and c.shape == (len(params),) for c in columns)
    if not sound or not 0 <= getattr(model, "best_index_", 0) < len(params):
        raise ValueError("a table whose columns do not go together")
    model.cv_results_ = dict(table)
    for name in sorted(params[0]):
        column = np.empty(len(params), dtype=object)
        column[:] = [p[name] for p in params]
        number = all(isinstance(v, float) for v in column)
        model.cv_results_[f"param_{name}"] = np.ma.array(column.astype(float) if number else column)
    model.scorer_ = check_scoring(model.estimator, scoring=model.scoring)


class Steps(Kind):
    """A list of dicts: the steps that a search took."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(step, dict) for step in value)


FOUND = {"classes_": (Labels("T"),), "best_params_": (DICT,)}
RECORDS = {
    **ESTIMATORS,
    "KernelSearchCV": Record(
        search_cv.KernelSearchCV,
        {**search_cv.CONSTRAINTS, "estimator": (ESTIMATOR,), "cv": FOLDS, "scoring": (SCORES,)},
        {
            **FOUND,
            "n_splits_": (COUNT,),
            "status_": (Name(("solved", "time_limit", "interrupted")),),
            "multimetric_": (BOOL,),
            "best_index_": (COUNT,),
            "best_score_": (ANY,),
            "best_estimator_": BEST,
            "refit_time_": (SECONDS,),
            "cv_results_": (DICT,),
        },
        optional=("best_params_", "best_index_", "best_score_", "best_estimator_", "refit_time_"),
        check=check_search,
        derived={"cv_results_": without_parameters},
        restore=restore_results,
    ),
    "RadiusMarginSearch": Record(
        selection.RadiusMarginSearch,
        {**selection.CONSTRAINTS, "estimator": (ESTIMATOR,), "cv": FOLDS},
        {
            **FOUND,
            "best_criterion_": (ANY,),
            "status_": (Name(("solved", "max_iter", "time_limit", "interrupted")),),
            "criterion_path_": (Steps("a list of dicts", (list,)),),
            "n_evaluations_": (COUNT,),
            "n_iter_": (COUNT,),
            "search_seconds_": (SECONDS,),
            "feature_weights_": (Array(("d",), least=0.0),),
            "ranking_": (Array(("d",), ("int64",), least=1),),
            "cv_scores_": (DICT,),
            "best_estimator_": BEST,
        },
        optional=("best_estimator_",),
        check=check_search,
    ),
}
