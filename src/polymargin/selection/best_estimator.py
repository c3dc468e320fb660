"""What the searches for C and gamma share: these parameters inside an estimator, and the estimator fitted with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..fitting.callbacks import CallbackSupportMixin, Parts
from ..fitting.estimator import Estimator
from ..fitting.resources import budget, return_memory
from ..fitting.state import keep
from ..training.expansions import KernelExpansion


def _has(name: str) -> Callable[[Any], bool]:
    """Whether the estimator, fitted or not, has a method."""

    def check(search: Any) -> bool:
        getattr(search.best_estimator_ if hasattr(search, "best_estimator_") else search.estimator, name)
        return True

    return check


def tuned_names(estimator: Any) -> tuple[str, str]:
    """The names of C and gamma among the parameters of an estimator, which may be inside another one."""
    names = sorted(estimator.get_params(deep=True), key=lambda name: (name.count("__"), name))
    found = []
    for wanted in ("C", "gamma"):
        match = [name for name in names if name == wanted or name.endswith(f"__{wanted}")]
        if not match:
            raise ValueError(
                f"expected estimator to have the parameters C and gamma, got {type(estimator).__name__} without "
                f"{wanted}; pass a support vector machine with the RBF kernel"
            )
        found.append(match[0])
    return found[0], found[1]


def last_step(estimator: Any) -> Any:
    """The machine: the estimator itself, or the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def requests_weights(steps: Pipeline) -> bool:
    """Whether some of the first steps of a pipeline have requested weights by metadata routing."""
    enabled = sklearn.get_config()["enable_metadata_routing"]
    return enabled and bool(steps.get_metadata_routing().consumes("fit", ["sample_weight"]))


class BestEstimator(CallbackSupportMixin, ClassifierMixin, MetaEstimatorMixin, Estimator):
    """A search over the parameters of `estimator` whose `fit` leaves `best_params_` and `best_estimator_`."""

    def _fit_weights(self, sample_weight: Any) -> dict[str, Any]:
        """Weights of the rows, under the name by which the estimator's fit takes them."""
        if sample_weight is None:
            return {}
        last = last_step(self.estimator)
        if not has_fit_parameter(last, "sample_weight"):
            raise ValueError(
                f"expected an estimator whose fit takes sample_weight, got {type(last).__name__}; leave the "
                f"weights out, or pass the machine itself"
            )
        # With metadata routing a pipeline hands on what its steps have requested.
        if last is self.estimator or sklearn.get_config()["enable_metadata_routing"]:
            return {"sample_weight": sample_weight}
        return {f"{self.estimator.steps[-1][0]}__sample_weight": sample_weight}

    def _fit_best(self, parts: Parts, fit_weights: dict[str, Any], seconds: float = np.inf) -> bool:
        """Fit `best_estimator_`; a machine of this library within the memory of the search and this many seconds.

        Ctrl-C ends the search here as well, with what it leaves of that fit; returns whether it came.
        """
        return_memory()
        interrupted = False
        best = clone(self.estimator).set_params(**self.best_params_)
        machine = last_step(best)
        own = {}
        if isinstance(machine, KernelExpansion):
            own = {name: getattr(machine, name) for name in ("memory", "time_limit")}
            limit = min(seconds, np.inf if own["time_limit"] is None else own["time_limit"])
            memory = min(budget(own["memory"]), budget(self.memory))
            machine.set_params(memory=memory, time_limit=None if np.isinf(limit) else limit)
        try:
            with parts.of(best, "refit"):
                best.fit(parts.data["X"], parts.data["y"], **fit_weights)
            if np.isfinite(seconds) and getattr(machine, "status_", "") == "time_limit":
                self.status_ = "time_limit"
        except KeyboardInterrupt:
            self.status_, interrupted = "interrupted", True
            try:
                check_is_fitted(best)
            except NotFittedError:
                self._keep_results()
                raise KeyboardInterrupt from None
        machine.set_params(**own)
        self.best_estimator_ = best
        return interrupted

    def _keep_results(self) -> None:
        """Keep the results of a search that has no model yet, unless there is a former model to go back to."""
        if "best_params_" not in self._former:
            keep(self)
        elif hasattr(self, "_kept"):
            self._former["_kept"] = self._kept  # to continue from

    @available_if(_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Labels by `best_estimator_`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores by `best_estimator_`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities by `best_estimator_`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @property
    def n_features_in_(self) -> int:
        """Number of features of `best_estimator_`."""
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Their names, if X had string column names."""
        return self.best_estimator_.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_params_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator.__sklearn_tags__().input_tags.sparse
        return tags
