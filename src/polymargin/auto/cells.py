"""The cells of a column, whatever it comes from: an array of floats with NaN for empty ones, or words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files.dialects import seconds_of

NEEDS_PANDAS = (
    "columns of words and dates, and tables of Polars and PyArrow, need the package pandas: "
    'pip install "polymargin[cli]"'
)


@dataclass(frozen=True)
class Numbers:
    """Cells as floats, NaN where a cell is empty; `dates` are seconds since 1970."""

    values: np.ndarray
    dates: bool = False

    def missing(self) -> int:
        return int(np.count_nonzero(np.isnan(self.values)))

    def words(self) -> Words:
        """The numbers as they are written."""
        present = ~np.isnan(self.values)
        known, codes = np.unique(self.values[present], return_inverse=True)
        all_codes = np.full(len(self.values), -1)
        all_codes[present] = codes
        return Words(all_codes, np.array([f"{v:.15g}" for v in known], dtype=object))


@dataclass(frozen=True)
class Words:
    """Cells as numbers of words in a list of `known` ones, -1 where a cell is empty.

    `categorical` says that the column was declared to hold categories, so that its words are not read as numbers.
    """

    codes: np.ndarray
    known: np.ndarray
    categorical: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Words:
        return Words(self.codes[rows], self.known, self.categorical)

    def present_codes(self) -> np.ndarray:
        return self.codes[self.codes >= 0]

    def counts(self) -> np.ndarray:
        return np.bincount(self.present_codes(), minlength=len(self.known))

    def present(self) -> np.ndarray:
        """The different words in the cells."""
        return self.known[np.unique(self.present_codes())]

    @staticmethod
    def of(values: Any, categorical: bool = False) -> Words:
        """Words of text without blanks around it; blank cells are empty."""
        import pandas as pd

        codes, known = pd.factorize(values)
        merged, words = pd.factorize(np.array([str(word).strip() or None for word in known], dtype=object))
        return Words(np.append(merged, -1)[codes], np.asarray(words, dtype=object), categorical)

    def without(self, blank: Callable[[str], bool]) -> Words:
        """Words of which some count as empty."""
        gone = np.array([blank(word) for word in self.known], dtype=bool)
        return Words(np.where(np.append(gone, True)[self.codes], -1, self.codes), self.known, self.categorical)

    def missing(self) -> int:
        return int(np.count_nonzero(self.codes < 0))

    def words(self) -> Words:
        return self


def is_table(X: Any) -> bool:
    """Whether X has columns of its own kinds; anything else is a matrix."""
    return hasattr(X, "iloc") or (isinstance(X, np.ndarray) and X.dtype.kind in "OUSMm" and X.ndim == 2)


def frame(X: Any) -> Any:
    """Tables of Polars and PyArrow and lists of records as tables of pandas, lists with words as arrays of objects.

    Anything else is returned as it is; NumPy would turn the numbers in a list with words into words.
    """
    listed = list(X) if isinstance(X, list | tuple) else []
    records = bool(listed) and all(isinstance(row, Mapping) for row in listed)
    if listed and all(isinstance(row, list | tuple) for row in listed):
        words = any(isinstance(cell, str) for row in listed for cell in row)
        return np.array(listed, dtype=object) if words and len(set(map(len, listed))) == 1 else X
    if not records and (hasattr(X, "iloc") or not hasattr(X, "to_pandas")):
        return X
    try:
        import pandas as pd

        return pd.DataFrame(listed) if records else X.to_pandas()
    except ImportError:
        raise ImportError(NEEDS_PANDAS) from None


def cells_of(table: Any) -> Iterator[Any]:
    if hasattr(table, "iloc"):
        return (table.iloc[:, j] for j in range(table.shape[1]))
    return iter(table.T)


def unread(cells: Any) -> Words:
    """Cells of whatever kind that nobody looks at, but for the empty ones among them."""
    import pandas as pd

    return Words(np.where(pd.isna(np.asarray(cells, dtype=object)), -1, 0), np.array(["anything"], dtype=object))


def typed(cells: Any, name: str) -> Numbers | Words:
    """Cells as numbers, or as words if some are text or the column was declared to hold categories."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(NEEDS_PANDAS) from None

    column: Any = cells if isinstance(cells, pd.Series) else pd.Series(cells)
    types = pd.api.types
    if isinstance(column.dtype, pd.CategoricalDtype):
        return Words.of(column.astype(object), categorical=True)
    if types.is_object_dtype(column.dtype):
        column = column.infer_objects()
    if types.is_complex_dtype(column.dtype):
        raise ValueError("Complex data not supported: expected X to hold real numbers or words, got complex numbers")
    if types.is_bool_dtype(column.dtype) or types.is_numeric_dtype(column.dtype):
        return Numbers(_finite(column.to_numpy(dtype=np.float64, na_value=np.nan), name))
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if types.is_datetime64_any_dtype(column.dtype):
        return Numbers(seconds_of(pd.DatetimeIndex(column)), dates=True)
    if types.is_timedelta64_dtype(column.dtype):
        return Numbers(column.dt.total_seconds().to_numpy(dtype=np.float64))
    return _of_objects(column, name)


def _of_objects(column: Any, name: str) -> Numbers | Words:
    import datetime
    import uuid

    import pandas as pd

    present = column[column.notna()]
    if any(isinstance(v, str | datetime.time | uuid.UUID) for v in present):
        return Words.of(column)
    if len(present) and all(isinstance(v, datetime.date) for v in present):
        return Numbers(seconds_of(pd.DatetimeIndex(pd.to_datetime(column, utc=True))), dates=True)
    try:
        return Numbers(_finite(column.where(column.notna(), np.nan).to_numpy(dtype=np.float64), name))
    except OverflowError:
        raise ValueError(
            f"expected numbers below 1e308 in column {name!r}, got a larger one; divide them by a power of ten, or "
            f"turn them into words if they are codes"
        ) from None
    except (TypeError, ValueError) as error:
        if "infinity" in str(error):
            raise
        kind = type(present.iloc[0]).__name__
        raise TypeError(
            f"argument must be a string or a number: expected numbers, words or dates in column {name!r}, got {kind}; "
            f"turn the cells into such, or leave the column out with columns={{{name!r}: 'ignore'}} (--drop)"
        ) from None


def _finite(values: np.ndarray, name: str) -> np.ndarray:
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        raise ValueError(
            f"expected finite numbers in column {name!r}, got infinity in row {wrong[0]}; correct it first, or leave "
            f"it empty"
        )
    return values
