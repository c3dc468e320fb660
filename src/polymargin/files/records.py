"""What a model file may hold: every estimator, its parameters and fitted attributes, and what each of them must be.

Loading sets nothing that is not listed in `RECORDS`, and an estimator gets there by `@stored(...)` above its class.
Shapes are written in letters: a letter stands for the same size wherever it occurs in one model, for example

    n rows of the training data    d features (columns of the kernel matrix, if that was given)
    T classes                      S support vectors
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..fitting.parameters import Kind, Name, Number
from .kinds import Sizes, Strings, is_fitted


@dataclass(frozen=True)
class Record:
    """An estimator: constraints on its parameters, and on its fitted attributes in the order they are checked in.

    Attributes in `optional` may be missing. `check` says what is wrong with the whole, or nothing. Where the estimator
    keeps something other than plain values, `derived` reads plain ones off it, and `restore` sets it from them.
    """

    estimator: type[Any]
    parameters: Mapping[str, tuple[Any, ...]]
    fitted: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    check: Callable[[Any], str | None] = lambda model: None
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    restore: Callable[[Any, dict[str, Any]], None] = lambda model, values: None


RECORDS: dict[str, Record] = {}


def stored(*declared: Any, **more: Any) -> Callable[[type], type]:
    """Class decorator: models of this class can be stored in files, as the other fields of `Record` say."""

    def declare(estimator: type) -> type:
        RECORDS[estimator.__name__] = Record(estimator, *declared, **more)
        return estimator

    return declare


@dataclass(frozen=True)
class Fitted:
    """A fitted estimator with a record, of one of these names if there are any."""

    names: tuple[str, ...] = ()
    expected: str = "a fitted estimator"

    def accepts(self, value: Any) -> bool:
        name = type(value).__name__
        known = name in RECORDS and RECORDS[name].estimator is type(value)
        return known and (not self.names or name in self.names) and is_fitted(value)


NAMES = ("feature_names_in_",)  # optional wherever there are columns
INPUT = {"n_features_in_": (Sizes(("d",), scalar=True),), "feature_names_in_": (Strings("d"),)}
NOT_NEGATIVE = Number("a number >= 0", least=0.0)
COUNT = Number("an integer >= 0", least=0, integer=True)
FINITE = Number("a finite number")
ANY = Kind("a number", (int, float))  # a fit that was stopped at once has infinite ones
REPORT = {
    "status_": (Name(("solved", "max_iter", "time_limit", "stalled", "interrupted", "epsilon", "large_core")),),
    "n_iter_": (COUNT,),
    "primal_objective_": (ANY,),
    "dual_objective_": (ANY,),
    "duality_gap_": (ANY,),
    "kkt_violation_": (ANY,),
    "n_kernel_evals_": (COUNT,),
    "fit_seconds_": (NOT_NEGATIVE,),
}
ROOT = 1e-162  # no root of a positive variance is smaller, and quotients by it are finite
