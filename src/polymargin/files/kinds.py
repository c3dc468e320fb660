"""Kinds of attributes that a model file may hold, beside the constraints on parameters in fitting/parameters.py.

`accepts` says whether a value is of the kind. Shapes are written in letters, each of which stands for one size within a
model: `sizes` holds those found so far, and `accepts` compares with them and adds new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


@dataclass(frozen=True)
class FiniteArray:
    """Finite numbers of a shape, `least` <= each <= `most`, and below the size `below`; `sparse` allows CSR as well."""

    shape: tuple[str | int, ...]
    types: tuple[str, ...] = ("float64",)
    least: float = -np.inf
    most: float = np.inf
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
        numbers: Any = value.data if sp.issparse(value) else value
        if numbers.size == 0:
            return True
        most = sizes[self.below] - 1 if self.below else self.most
        # Infinities and NaN fail one of these two.
        inside = np.isfinite(low := numbers.min()) and low >= self.least
        inside = inside and np.isfinite(high := numbers.max()) and high <= most
        return bool(inside and (not self.increasing or np.all(np.diff(numbers) > 0)))


def rows_of_data(letter: str) -> FiniteArray:
    """Rows whose squares are finite, as `fit` takes no others."""
    most = np.sqrt(np.finfo(np.float64).max)
    return FiniteArray((letter, "d"), ("float32", "float64"), least=-most, most=most, sparse=True)


def largest_square(rows: Any) -> float:
    """The largest squared norm of some rows; 0 if there are none."""
    squares = rows.astype(np.float64).multiply(rows) if sp.issparse(rows) else np.square(rows, dtype=np.float64)
    return float(np.max(squares.sum(axis=1), initial=0.0))


@dataclass(frozen=True)
class Sizes:
    """An integer, or a tuple of integers, each named by a letter."""

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
class NumberList:
    """A list of numbers."""

    expected: str = "a list of numbers"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list) and all(type(v) in (int, float) for v in value)


@dataclass(frozen=True)
class WordList:
    """A list of strings, or with `arrays` of arrays of different strings."""

    arrays: bool = False
    expected: str = "a list of strings, or of arrays of different strings"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, list):
            return False
        if not self.arrays:
            return all(isinstance(v, str) for v in value)
        known = all(isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype.kind in "UO" for v in value)
        lists = [v.tolist() for v in value] if known else []
        return known and all(len(set(v)) == len(v) and all(isinstance(w, str) for w in v) for v in lists)


@dataclass(frozen=True)
class PipelineSteps:
    """The steps of a pipeline."""

    expected: str = "a list of (name, estimator)"

    def accepts(self, value: Any, sizes: dict[str, int]) -> bool:
        if not isinstance(value, list) or not value:
            return False
        pairs = all(isinstance(s, tuple) and len(s) == 2 and isinstance(s[0], str) for s in value)
        return pairs and all(isinstance(s[1], BaseEstimator) or s[1] in (None, "passthrough") for s in value)


def is_fitted(model: BaseEstimator) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


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


def accepted(constraints: tuple[Any, ...], value: Any, sizes: dict[str, int]) -> bool:
    """Whether one of the constraints accepts a value, in view of the sizes of the same model."""
    sized = (FiniteArray, Sizes, Labels, Strings, PipelineSteps)
    return any(c.accepts(value, sizes) if isinstance(c, sized) else c.accepts(value) for c in constraints)
