"""Columns of a table to the numbers that a kernel needs.

A column of numbers loses its mean and is divided by a scale; empty cells become the median, and a second feature says
where they were. Words become features of 0 and 1, a date its day and, as words, what else it tells. Sparse matrices are
divided by the largest value of each column, so that zeros stay zeros.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..files.readers import counted
from ..files.records import NAMES, stored
from ..fitting.checks import canonical, check_sample_weight
from ..fitting.parameters import NONE, Kind, Name, Number, check_parameters
from ..fitting.state import whole
from .cells import frame, is_table
from .columns import LEFT_OUT, Column, ReadTable, plan, read
from .features import flag_names, flags, number_names, numbers
from .grid import take
from .record import ENCODER, check_encoder

COLUMNS = (NONE, Kind("a dict from names of columns to kinds", (dict,)))
CONSTRAINTS = {
    "scaling": (Name(("column", "common")),),
    "max_categories": (Number("a positive integer", least=1, integer=True),),
    "columns": COLUMNS,
}


@stored(CONSTRAINTS, ENCODER, NAMES, check_encoder)
class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Numbers, words, dates and gaps as one matrix of floats.

    The columns of a table (a data frame of pandas, Polars or PyArrow, or an array of objects) are looked at one by one.
    Text is read as numbers or dates if all of its cells are such, in whatever notation. Words that repeat become
    categories; of cells that differ, the words inside are taken if some of them repeat. What is the same in all rows,
    differs in almost all of them, or only numbers them is left out. A matrix of numbers is numbers throughout.

    Parameters
    ----------
    scaling : {"column", "common"}, default="column"
        Divide numbers by their own standard deviation, or all by one number, the root of their mean variance,
        which keeps the proportions of columns with one unit, such as the pixels of images.
    max_categories : int, default=50
        A column of words keeps this many, the most frequent ones; other words count as one.
    columns : dict, default=None
        Kinds of columns by name, instead of what is found: "number", "category", "date", "text" or "ignore".

    Attributes
    ----------
    columns_ : list of dict
        A record per column: `name`, `used_as`, `reason`, `missing`, `features` (see AutoSVC).
    numeric_, categorical_, left_out_ : ndarray of int
        Numbers of the columns that are numbers, categories and nothing; the others are dates and text.
    median_, mean_, scale_ : ndarray of shape (n_numbers,)
        What fills empty cells of the features that are numbers, and what is subtracted and divided by.
    gaps_ : ndarray of int
        Which of these had empty cells in `fit`.
    categories_ : list of ndarray of str
        The words of every categorical column.
    kinds_, reasons_, formats_, words_, rest_, missing_
        The plan, one entry per column (empty lists for a matrix): `polymargin.auto.columns.Column`.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    Examples
    --------
    >>> import pandas as pd
    >>> from polymargin.auto.tables import ColumnEncoder
    >>> table = pd.DataFrame({"size": ["1,5", None, "3,0"], "color": ["red", "blue", "red"], "made in": ["EU"] * 3})
    >>> encoder = ColumnEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is missing', 'color = blue', 'color = red']
    >>> encoder.columns_[0]["reason"], encoder.columns_[2]["reason"]
    ('decimal comma', 'the same in all rows')
    """

    def __init__(self, scaling: str = "column", max_categories: int = 50, columns: Any = None) -> None:
        self.scaling = scaling
        self.max_categories = max_categories
        self.columns = columns

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ColumnEncoder:
        """Learn what the columns are, scales and words.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows; None and NaN are empty cells.
        y : ignored
        sample_weight : float or array-like of shape (n_samples,), default=None
            How often rows count in medians, means and scales; those with 0 are left out.

        Returns
        -------
        self : ColumnEncoder
        """
        check_parameters(self, CONSTRAINTS)
        X = _checked(self, X, reset=True)
        weight = check_sample_weight(sample_weight, len(X) if isinstance(X, ReadTable) else X.shape[0])
        if not weight.all():
            X, weight = take(X, np.flatnonzero(weight)), weight[weight > 0]
        X = planned(X, self.columns, self.max_categories)
        self._keep_plan(X)
        if sp.issparse(X):
            self.gaps_ = np.zeros(0, dtype=np.int64)
            self.median_ = self.mean_ = np.zeros(X.shape[1])
            self.scale_ = self._scale(np.abs(X).max(axis=0).toarray().ravel() ** 2)
            return self
        values = numbers(X) if isinstance(X, ReadTable) else X
        empty = np.isnan(values)
        self.gaps_ = np.flatnonzero(empty.any(axis=0))
        self.median_ = np.zeros(values.shape[1])
        for k in np.flatnonzero(~empty.all(axis=0)):
            self.median_[k] = median(values[~empty[:, k], k], weight[~empty[:, k]])
        values = np.where(empty, self.median_, values)
        self.mean_, squares = moments(
            values, weight, number_names(X.plan) if isinstance(X, ReadTable) else self._names()
        )
        self.scale_ = self._scale(squares)
        return self

    def _keep_plan(self, X: Any) -> None:
        plan = X.plan if isinstance(X, ReadTable) else []
        self.kinds_ = [column.used_as for column in plan]
        self.reasons_ = [column.reason for column in plan]
        self.formats_ = [column.format for column in plan]
        self.words_ = [column.words for column in plan]
        self.rest_ = np.array([column.rest for column in plan], dtype=bool)
        if isinstance(X, ReadTable):
            self.missing_ = X.missing
            self.n_features_in_ = len(plan)
            if X.named:
                self.feature_names_in_ = np.array([column.name for column in plan], dtype=object)
        else:
            self.missing_ = np.zeros(X.shape[1], dtype=np.int64) if sp.issparse(X) else np.isnan(X).sum(axis=0)

    def _plan(self) -> list[Column]:
        parts = (self.kinds_, self.reasons_, self.formats_, self.words_, self.rest_.tolist())
        return [Column(str(name), *rest) for name, *rest in zip(self._names()[: len(self.kinds_)], *parts, strict=True)]

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])

    def _columns_used_as(self, kind: str) -> np.ndarray:
        return np.array([j for j, k in enumerate(self.kinds_) if k == kind], dtype=np.int64)

    @property
    def numeric_(self) -> np.ndarray:
        return self._columns_used_as("number") if self.kinds_ else np.arange(self.n_features_in_)

    @property
    def categorical_(self) -> np.ndarray:
        return self._columns_used_as("category")

    @property
    def left_out_(self) -> np.ndarray:
        return self._columns_used_as(LEFT_OUT)

    @property
    def categories_(self) -> list[np.ndarray]:
        return [self.words_[j] for j in self.categorical_]

    @property
    def columns_(self) -> list[dict[str, Any]]:
        check_is_fitted(self)
        names, plan = self._names(), self._plan()
        if not plan:
            flagged = set(self.gaps_.tolist())
            plan = [Column(str(name), "number") for name in names]
            features = [1 + (j in flagged) for j in range(len(plan))]
        else:
            gaps = [number_names(plan)[k] for k in self.gaps_]
            features = [len(flag_names(c)) + len(number_names([c])) + gaps.count(c.name) for c in plan]
        return [
            {"name": c.name, "used_as": c.used_as, "reason": c.reason, "missing": int(missing), "features": int(n)}
            for c, missing, n in zip(plan, self.missing_, features, strict=True)
        ]

    def _scale(self, squares: np.ndarray) -> np.ndarray:
        if self.scaling == "common" and len(squares):
            squares = np.full_like(squares, squares.mean())
        scale = np.sqrt(squares)
        floor = 10 * np.finfo(np.float64).eps * np.abs(self.mean_)
        return np.where(scale > floor, scale, 1.0)

    def transform(self, X: Any) -> Any:
        """Rows as floats.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the columns of `fit`.

        Returns
        -------
        Z : ndarray or CSR matrix of shape (n_samples, n_features_out)
            Numbers, then where their gaps were, then a feature per word.
        """
        check_is_fitted(self)
        X = _checked(self, X, reset=False)
        if sp.issparse(X):
            return canonical(sp.csr_array(X.multiply(1 / self.scale_)))
        if not isinstance(X, ReadTable) and self.kinds_:
            X = read(X, self._plan())
        values = numbers(X) if isinstance(X, ReadTable) else X
        empty = np.isnan(values)
        parts = [(np.where(empty, self.median_, values) - self.mean_) / self.scale_, empty[:, self.gaps_]]
        if isinstance(X, ReadTable):
            parts += [flags(c, v) for c, v in zip(X.plan, X.columns, strict=True) if len(c.words)]
        return np.hstack(parts).astype(np.float64)

    @property
    def _n_features_out(self) -> int:
        return len(self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X; None takes `feature_names_in_`, or x0, x1, ...

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = self._names() if input_features is None else input_features
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), "
                f"got {len(names)}"
            )
        plan = [replace(column, name=str(name)) for column, name in zip(self._plan(), names, strict=False)]
        out = number_names(plan) if plan else list(names)
        out += [f"{out[k]} is missing" for k in self.gaps_]
        out += [name for column in plan for name in flag_names(column)]
        return np.array(out, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def moments(values: np.ndarray, weight: np.ndarray, names: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of columns; a variance that overflows would make its column vanish."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.average(values, axis=0, weights=weight)
        squares = np.average((values - mean) ** 2, axis=0, weights=weight)
    if not np.all(np.isfinite(squares)):
        k = int(np.argmin(np.isfinite(squares)))
        raise ValueError(
            f"expected numbers below 1e150 in column {str(names[k])!r}, got {np.abs(values[:, k]).max():.3g}; divide "
            f"them by a power of ten, or leave the column out with columns={{...: 'ignore'}} (--drop)"
        )
    return mean, squares


def median(values: np.ndarray, weight: np.ndarray) -> float:
    """The middle one of numbers, or the mean of the two in the middle, if each is there as often as its weight says."""
    if np.ptp(weight) == 0:
        return float(np.median(values))
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    middle = values[order][np.searchsorted(below, below[-1] / 2, side="left")]
    return float((middle + values[order][np.searchsorted(below, below[-1] / 2, side="right")]) / 2)


def planned(X: Any, wishes: Any = None, most: int = 50) -> Any:
    """A table with the plan for its columns, read; a matrix as it is."""
    if isinstance(X, ReadTable):
        return X
    if not is_table(X):
        if wishes:
            raise ValueError(
                f"expected X to be a table for columns={wishes!r}, got a matrix of numbers; pass a data frame"
            )
        return X
    named = hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns)
    names = [str(name) for name in X.columns] if named else [f"x{j}" for j in range(X.shape[1])]
    columns, missing = plan(X, names, wishes, most)
    assumed = getattr(X, "attrs", {}).get("remarks", {})  # by the reader of a file
    columns = [c if c.reason else replace(c, reason=assumed.get(c.name, "")) for c in columns]
    if all(column.used_as == LEFT_OUT for column in columns):
        shown = "; ".join(f"{c.name}: {c.reason}" for c in columns[:5])
        raise ValueError(
            f"expected at least one column that tells the rows apart, got none ({shown}); say what kind one is with "
            f"columns={{...}} (--as)"
        )
    return read(X, columns, named, missing)


def checked_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X after scikit-learn's checks of the number and the names of its columns; a table of pandas stays what it is."""
    X = frame(X)
    if hasattr(X, "iloc"):
        if X.ndim == 1:
            raise ValueError("Expected 2D array, got 1D array instead: a single column; pass X.to_frame()")
        if min(X.shape) < 1:
            raise ValueError(f"expected X to have rows and columns, got shape {X.shape}; is the table empty?")
        twice = X.columns[X.columns.duplicated()]
        if len(twice):
            raise ValueError(f"expected different column names, got {twice[0]!r} twice; rename one")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False)


def _checked(encoder: ColumnEncoder, X: Any, *, reset: bool) -> Any:
    """A table as it is, or a matrix as float64 or CSR; only finite numbers and gaps."""
    if isinstance(X, ReadTable):
        return X
    X = checked_table(encoder, X, reset=reset)
    if is_table(X):
        return X
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: expected X to hold real numbers or words, got complex numbers")
    X = X.astype(np.float64, copy=False)
    _check_finite(X)
    return X


def _check_finite(X: Any) -> None:
    """No infinity in a matrix, and no gaps either if it is sparse."""
    if sp.issparse(X):
        wrong = np.flatnonzero(~np.isfinite(X.data))
        places = np.column_stack([np.searchsorted(X.indptr, wrong, side="right") - 1, X.indices[wrong]])
        found = "NaN" if len(wrong) and np.isnan(X.data[wrong[0]]) else "infinity"
    else:
        places, found = np.argwhere(np.isinf(X)), "infinity"
    if len(places):
        raise ValueError(
            f"expected X to be finite, got {found} in row {places[0, 0]}, column {places[0, 1]} "
            f"({counted(len(places), 'such value')}); correct these values first"
        )
