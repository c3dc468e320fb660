"""The values that parameters may take: constraints as data.

Every message is one sentence: what was expected, what came instead, what to do.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..kernels import KERNELS

SYNONYMS = {"gaussian": "rbf", "polynomial": "poly", "l1": "hinge", "l2": "squared_hinge", "bias": "exact"}


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def nearest(name: str, names: Iterable[str]) -> str:
    """Advice for an unknown name: the name that was probably meant."""
    names = tuple(names)
    meant = SYNONYMS.get(name.lower())
    if meant not in names:
        meant = next(iter(difflib.get_close_matches(name.lower(), names, 1, cutoff=0.4)), None)
    return f'; did you mean "{meant}"?' if meant else ""


# A constraint says what it expects and whether it accepts a value. A parameter has a tuple of them: one must accept.


@dataclass(frozen=True)
class Name:
    """One of a few strings."""

    names: tuple[str, ...]

    @property
    def expected(self) -> str:
        return f"one of {quoted(self.names)}" if len(self.names) > 1 else quoted(self.names)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.names


@dataclass(frozen=True)
class Number:
    """A finite number in an interval; `above` is an open end, `least` and `most` are closed ones."""

    expected: str
    above: float = -math.inf
    least: float = -math.inf
    most: float = math.inf
    integer: bool = False
    zero: bool = True

    def accepts(self, value: Any) -> bool:
        kind: type[Any] = Integral if self.integer else Real
        if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
            return False
        try:
            finite = math.isfinite(value)
        except OverflowError:  # an integer too large for a float
            return False
        return (
            finite
            and (not self.integer or abs(value) < 2**63)  # as the core counts
            and self.least <= value <= self.most
            and value > self.above
            and (value != 0 or self.zero)
        )


@dataclass(frozen=True)
class Infinity:
    """Infinity, for parameters where it is meaningful."""

    expected: str

    def accepts(self, value: Any) -> bool:
        return isinstance(value, float | np.floating) and value == math.inf


@dataclass(frozen=True)
class Kind:
    """Any instance of some types."""

    expected: str
    types: tuple[type, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.types)


@dataclass(frozen=True)
class Array:
    """A list, tuple or range, or what NumPy can make an array of: a data frame, a series."""

    expected: str

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list | tuple | range) or (
            hasattr(value, "__array__") and not isinstance(value, np.generic)
        )


@dataclass(frozen=True)
class Function:
    """Anything that can be called."""

    expected: str

    def accepts(self, value: Any) -> bool:
        return callable(value)


NONE = Kind("None", (type(None),))
BOOL = Kind("True or False", (bool, np.bool_))
POSITIVE = Number("a positive number", above=0.0)
PENALTY = (POSITIVE, Infinity("infinity for a hard margin"))

KERNEL = {
    "kernel": (Name(KERNELS), Function("a callable k(X, Z) that returns shape (len(X), len(Z))")),
    "gamma": (
        Name(("scale", "auto")),
        POSITIVE,
        Array("an array with one number per feature"),
    ),
    "degree": (Number("a positive integer", least=1, most=2**31 - 1, integer=True),),
    "coef0": (Number("a finite number"),),
}
RUN = {
    "class_weight": (NONE, Name(("balanced",)), Kind("a dict {class: weight}", (Mapping,))),
    "tol": (POSITIVE,),
    "max_iter": (Number("a positive integer", least=1, integer=True),),
    "time_limit": (NONE, Number("a positive number of seconds", above=0.0)),
    "memory": (Number("a number of bytes >= 1000000", least=1e6), Kind('"auto" or a string such as "512MB"', (str,))),
    "n_jobs": (NONE, Number("an integer other than 0", most=2**31 - 1, integer=True, zero=False)),
    "warm_start": (BOOL,),
    "random_state": (
        NONE,
        Kind("an integer or a NumPy random generator", (Integral, np.random.RandomState, np.random.Generator)),
    ),
    "verbose": (BOOL, Number("an integer >= 0", least=0, integer=True)),
}


def check_parameters(estimator: Any, constraints: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise ValueError for the first parameter that none of its constraints accepts."""
    for parameter, allowed in constraints.items():
        value = getattr(estimator, parameter)
        if any(c.accepts(value) for c in allowed):
            continue
        advice = ""
        if isinstance(value, str):
            advice = nearest(value, [name for c in allowed if isinstance(c, Name) for name in c.names])
        elif isinstance(value, Integral) and int(value) >= 2**31:
            advice = "; it is too large"
        expected = ", or ".join(c.expected for c in allowed)
        raise ValueError(f"{type(estimator).__name__}: expected {parameter} to be {expected}, got {value!r}{advice}")


def check_offered(parameter: str, value: str, offered: Iterable[str], machine: str) -> None:
    """Raise ValueError when a machine does not offer a known loss, intercept or solver."""
    offered = tuple(offered)
    if value not in offered:
        raise ValueError(
            f'expected {parameter} to be one of {quoted(offered)} with machine="{machine}", got "{value}"; '
            f"use one of those, or another machine"
        )


def check_solver(solver: str, loss: str, expected: str | None) -> None:
    """Raise ValueError when a solver is for the dual of another loss; None means that any loss will do."""
    if expected not in (None, loss):
        raise ValueError(
            f'expected loss="{expected}" with solver="{solver}", got loss="{loss}"; change one of them, '
            f'or use solver="auto"'
        )
