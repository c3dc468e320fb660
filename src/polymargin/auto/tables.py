"""Columns of a table to the numbers that a kernel needs.

A numeric column loses its mean and is divided by a scale; empty cells become the median, and a second column says where
they were. A column of words becomes one column of 0 and 1 per word. Sparse matrices are divided by the largest value of
each column, so that zeros stay zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..files.records import NAMES, stored
from ..fitting.checks import canonical
from ..fitting.parameters import Name, Number, check_parameters
from ..fitting.state import whole
from .record import ENCODER, check_encoder

CONSTRAINTS = {
    "scaling": (Name(("column", "common")),),
    "max_categories": (Number("a positive integer", least=1, integer=True),),
}


@stored(CONSTRAINTS, ENCODER, NAMES, check_encoder)
class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Numeric and categorical columns, with gaps, as one matrix of floats.

    Parameters
    ----------
    scaling : {"column", "common"}, default="column"
        Divide numeric columns by their own standard deviation, or all by one number, the root of their mean variance,
        which keeps the proportions of columns with one unit, such as the pixels of images.
    max_categories : int, default=50
        A column of words keeps this many, the most frequent ones; other words have 0 in all of them. A column in which
        all words differ, such as a name, carries no information and is left out.

    Attributes
    ----------
    numeric_, categorical_, left_out_ : ndarray of int
        Numbers of the columns of each kind.
    gaps_ : ndarray of int
        Numeric columns with empty cells in `fit`.
    median_, mean_, scale_ : ndarray of shape (len(numeric_),)
        What fills empty cells, and what is subtracted and divided by.
    categories_ : list of ndarray of str
        The words of every categorical column.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    Examples
    --------
    >>> import pandas as pd
    >>> from polymargin.auto.tables import ColumnEncoder
    >>> table = pd.DataFrame({"size": [1.0, None, 3.0], "color": ["red", "blue", "red"]})
    >>> ColumnEncoder().fit(table).get_feature_names_out().tolist()
    ['size', 'size is missing', 'color = blue', 'color = red']
    """

    def __init__(self, scaling: str = "column", max_categories: int = 50) -> None:
        self.scaling = scaling
        self.max_categories = max_categories

    @whole
    def fit(self, X: Any, y: Any = None) -> ColumnEncoder:
        """Learn scales and words.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows; None and NaN are empty cells.
        y : ignored

        Returns
        -------
        self : ColumnEncoder
        """
        check_parameters(self, CONSTRAINTS)
        X = _checked(self, X, reset=True)
        d = X.shape[1]
        words = np.zeros(d, dtype=bool) if sp.issparse(X) or X.dtype != object else _are_words(X)
        self.categories_, kept = [], []
        for j in np.flatnonzero(words):
            column = X[:, j]
            present, counts = np.unique(column[~_empty(column)].astype(str), return_counts=True)
            if len(present) < 2 or (counts.max() == 1 and len(present) > 2):
                continue
            often = np.sort(np.argsort(-counts, kind="stable")[: self.max_categories])
            self.categories_.append(present[often])
            kept.append(j)
        self.missing_ = np.zeros(d, dtype=np.int64) if sp.issparse(X) else np.array([_empty(c).sum() for c in X.T])
        self.numeric_, self.categorical_ = np.flatnonzero(~words), np.array(kept, dtype=np.int64)
        self.left_out_ = np.setdiff1d(np.flatnonzero(words), self.categorical_)
        if sp.issparse(X):
            self.gaps_ = np.zeros(0, dtype=np.int64)
            self.median_ = self.mean_ = np.zeros(d)
            size = np.abs(X).max(axis=0).toarray().ravel()
            self.scale_ = self._scale(size**2)
            return self
        numbers = _numbers(self, X)
        empty = np.isnan(numbers)
        self.gaps_ = self.numeric_[empty.any(axis=0)]
        self.median_ = np.zeros(len(self.numeric_))
        for k in np.flatnonzero(~empty.all(axis=0)):
            self.median_[k] = np.median(numbers[~empty[:, k], k])
        numbers = np.where(empty, self.median_, numbers)
        self.mean_ = numbers.mean(axis=0)
        self.scale_ = self._scale(np.mean((numbers - self.mean_) ** 2, axis=0))
        return self

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
            Numeric columns, then where their gaps were, then a column per word.
        """
        check_is_fitted(self)
        X = _checked(self, X, reset=False)
        if sp.issparse(X):
            return canonical(sp.csr_array(X.multiply(1 / self.scale_)))
        numbers = _numbers(self, X)
        empty = np.isnan(numbers)
        gaps = empty[:, np.searchsorted(self.numeric_, self.gaps_)]
        numbers = (np.where(empty, self.median_, numbers) - self.mean_) / self.scale_
        flags = []
        for j, known in zip(self.categorical_, self.categories_, strict=True):
            column = np.where(_empty(X[:, j]), "", X[:, j].astype(str))
            flags.append(column[:, None] == known)
        return np.hstack([numbers, gaps, *flags]).astype(np.float64)

    @property
    def columns_(self) -> list[dict[str, Any]]:
        check_is_fitted(self)
        words = {int(j): len(known) for j, known in zip(self.categorical_, self.categories_, strict=True)}
        found = []
        for j in range(self.n_features_in_):
            used = "category" if j in words else "left out" if j in self.left_out_ else "number"
            reason = "every word differs, or there is one" if used == "left out" else ""
            n = {"category": words.get(j, 0), "left out": 0, "number": 1 + int(j in self.gaps_)}[used]
            name, missing = str(_name(self, j)), int(self.missing_[j])
            found.append({"name": name, "used_as": used, "reason": reason, "missing": missing, "features": n})
        return found

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
        names = input_features
        if names is None:
            names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        elif len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), "
                f"got {len(names)}"
            )
        out = [names[j] for j in self.numeric_]
        out += [f"{names[j]} is missing" for j in self.gaps_]
        out += [
            f"{names[j]} = {word}"
            for j, known in zip(self.categorical_, self.categories_, strict=True)
            for word in known
        ]
        return np.asarray(out, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _checked(encoder: ColumnEncoder, X: Any, *, reset: bool) -> Any:
    """X as float64 if all columns are numbers, as objects if some are words, or CSR; only finite numbers and gaps."""
    how = dict(reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    X = validate_data(encoder, plain(X), **how)
    if sp.issparse(X) or X.dtype.kind in "fiub":
        X = X.astype(np.float64, copy=False)
        values = X.data if sp.issparse(X) else X
        if np.isinf(values).any() or (sp.issparse(X) and np.isnan(values).any()):
            raise ValueError(
                "expected X to be finite, got infinity or, in a sparse matrix, NaN; correct these values first"
            )
        return X
    if X.dtype.kind == "M":
        return X.astype("datetime64[s]").astype(np.float64)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: expected X to hold real numbers or words, got complex numbers")
    return X.astype(object)


def plain(X: Any) -> Any:
    """A data frame with dates as seconds and without its own kind of missing values; anything else as it is."""
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return X
    if not hasattr(X, "select_dtypes"):  # polars, pyarrow
        X = X.to_pandas()
    dates = X.select_dtypes(["datetime", "datetimetz"]).columns
    if len(dates):
        X = X.copy()
        for name in dates:
            seconds = X[name].dt.tz_localize(None).astype("datetime64[s]")
            X[name] = np.where(seconds.isna(), np.nan, seconds.astype("int64"))
    if any(str(t) in ("category", "string", "str", "object") for t in X.dtypes):
        X = X.astype(object)
    return X


def _empty(column: np.ndarray) -> np.ndarray:
    """Where None, NaN or pandas.NA stand in an array of objects."""
    return np.array([v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in column], dtype=bool)


def _are_words(X: np.ndarray) -> np.ndarray:
    return np.array([any(isinstance(v, str) for v in column) for column in X.T], dtype=bool)


def _numbers(encoder: ColumnEncoder, X: np.ndarray) -> np.ndarray:
    numbers = X[:, encoder.numeric_]
    if numbers.dtype != object:
        return numbers
    numbers = np.where(np.array([_empty(column) for column in numbers.T]).T.reshape(numbers.shape), np.nan, numbers)
    try:
        numbers = numbers.astype(np.float64)
    except (TypeError, ValueError):
        for j, column in zip(encoder.numeric_, numbers.T, strict=True):
            found = next((v for v in column if isinstance(v, str)), None)
            if found is not None:
                raise ValueError(
                    f"expected numbers in column {_name(encoder, j)!r} as in fit, got {found!r}; "
                    f"correct it, or leave it empty"
                ) from None
        raise
    if np.isinf(numbers).any():
        j = encoder.numeric_[np.isinf(numbers).any(axis=0)][0]
        raise ValueError(f"expected finite numbers in column {_name(encoder, j)!r}, got infinity; correct it first")
    return numbers


def _name(encoder: ColumnEncoder, j: int | np.integer) -> Any:
    return getattr(encoder, "feature_names_in_", range(encoder.n_features_in_))[j]
