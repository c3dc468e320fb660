"""What model files hold of searches, and what must be true of a loaded one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring

from ..files.kinds import NUMBERS, FiniteArray, Labels
from ..files.records import ANY, COUNT, NOT_NEGATIVE, Fitted
from ..fitting.parameters import BOOL, NONE, Kind, Name, Number
from .grid_run import parameter_columns

DICT = Kind("a dict", (dict,))
ESTIMATOR = Kind("an estimator", (BaseEstimator,))
FOLDS = (NONE, Number("an integer >= 2", least=2, integer=True))  # a splitter is code
SCORES = Kind("names of scores", (str, list, tuple, dict, type(None)))


def check_search(model: Any) -> str | None:
    """The best parameters must be parameters of the estimator, and the estimator fitted with them has the classes."""
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
    model.cv_results_ = table | parameter_columns(params)
    model.scorer_ = check_scoring(model.estimator, scoring=model.scoring)


class Path(Kind):
    """A list of dicts: the steps that a search took."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(step, dict) for step in value)


FOUND = {"classes_": (Labels("T"),), "best_params_": (DICT,)}
SEARCH_PARAMETERS = {"estimator": (ESTIMATOR,), "cv": FOLDS, "scoring": (SCORES,)}
SEARCH = {
    **FOUND,
    "n_splits_": (COUNT,),
    "status_": (Name(("solved", "time_limit", "interrupted")),),
    "multimetric_": (BOOL,),
    "best_index_": (COUNT,),
    "best_score_": (ANY,),
    "best_estimator_": (Fitted(),),
    "refit_time_": (NOT_NEGATIVE,),
    "cv_results_": (DICT,),
}
DESCENT_PARAMETERS = {"estimator": (ESTIMATOR,), "cv": FOLDS}
DESCENT = {
    **FOUND,
    "best_criterion_": (ANY,),
    "status_": (Name(("solved", "max_iter", "time_limit", "interrupted")),),
    "criterion_path_": (Path("a list of dicts", (list,)),),
    "n_evaluations_": (COUNT,),
    "n_iter_": (COUNT,),
    "search_seconds_": (NOT_NEGATIVE,),
    "feature_weights_": (FiniteArray(("d",), least=0.0),),
    "ranking_": (FiniteArray(("d",), ("int64",), least=1),),
    "cv_scores_": (DICT,),
    "best_estimator_": (Fitted(),),
}
