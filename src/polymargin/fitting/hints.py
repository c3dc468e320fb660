"""Hints for people who come from scikit-learn's SVC: what replaces its parameters and methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

CALIBRATED = (
    "use AutoSVC, which has calibrated predict_proba, or CalibratedClassifierCV({name}(...)) of scikit-learn; see "
    "docs/from-svc.md"
)
INSTEAD = {
    "probability": CALIBRATED,
    "cache_size": 'memory="512MB" bounds kernel values',
    "shrinking": "leave it out, the solver decides",
    "decision_function_shape": "decision_function has a column per class; pair_decision_function of PairwiseSVC is ovo",
    "break_ties": "leave it out, ties are always broken",
    "nu": 'use JointSVC("scatter", nu=...) or CoreVectorSVC(nu=...)',
    "dual": "leave it out, the solver decides",
    "multi_class": 'use JointSVC("crammer-singer") or OneVsRestSVC',
}


def hint(parameter: str, name: str) -> str:
    if parameter != "probability":
        return INSTEAD[parameter]
    return "predict_proba is always there" if name == "AutoSVC" else CALIBRATED.format(name=name)


class SVCHints:
    """Mixin: refuses parameters of SVC that an estimator lacks, and `predict_proba`, and says what to do instead."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", hinted(vars(cls)["__init__"]))  # noqa: B010  mypy forbids the assignment


def hinted(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor, with a hint for parameters of SVC that it does not have."""
    own = inspect.signature(init).parameters

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        for parameter in named:
            if parameter in INSTEAD and parameter not in own:
                name = type(self).__name__
                raise TypeError(f"{name} has no parameter {parameter}: {hint(parameter, name)}")
        init(self, *values, **named)

    return checked


class NoProbabilities(SVCHints):
    """The same for estimators without `predict_proba`."""

    @property
    def predict_proba(self) -> Any:
        raise lacking(self, "predict_proba")

    @property
    def predict_log_proba(self) -> Any:
        raise lacking(self, "predict_log_proba")


def lacking(estimator: Any, method: str) -> AttributeError:
    name = type(estimator).__name__
    return AttributeError(f"{name} has no {method}: {CALIBRATED.format(name=name)}")
