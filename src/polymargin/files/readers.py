"""Files of rows: CSV and TSV, Parquet, svmlight (LIBSVM), NPZ.

`read(path, target)` returns X, a data frame or matrix, and y. Whatever is wrong with a file is said in one sentence
with the line or column it is in.
"""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..fitting.parameters import nearest
from .dialects import date_format, no_dates, no_numbers, number_format
from .text_files import PACKED, ReadError, check_lines, encoding_of, is_number, opened

__all__ = ["LabeledRows", "ReadError", "read"]

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "<NA>", "NaT")
ERRORS = ("#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!")  # of spreadsheets: empty as well
EMPTY = frozenset((*MISSING, *ERRORS))
NUMBERS = 0.9  # a column with at least this share of numbers or dates is meant to hold nothing else
DECIMAL_COMMA = r"\s*[+-]?\d+(,\d+)?\s*"
# A compressed file may decompress to this many bytes, or to this many times its size if that is more.
UNFOLDED, RATIO = 1 << 26, 200
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
FEATURES = 1 << 25  # of svmlight rows, or as many as the file has bytes
ISO_DATE = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"


class LabeledRows(NamedTuple):
    """X: a pandas DataFrame (CSV, Parquet), a CSR matrix (svmlight) or an array (NPZ); y: labels, or None."""

    X: Any
    y: np.ndarray | None


def read(path: str | Path, target: str | None = None, text: Collection[str] = ()) -> LabeledRows:
    """Rows of a file; the end of its name tells its format.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv or .txt (one header line; separated by commas, semicolons, tabs or vertical bars, with all but commas
        also with decimal commas; columns of ISO dates become dates, other dates and numbers stay text, which AutoSVC
        reads; a first column without a name is left out unless "" is in `text`; UTF-8, UTF-16 or Windows-1252, which is
        Latin-1), .parquet or .pq, .svm, .svmlight or .libsvm, .npz (arrays X and y, or X_train and y_train). Text files
        may end in .gz or .bz2.
    target : str, default=None
        Column of the labels. svmlight and NPZ files have their own. None: no labels are looked for in a table.
    text : collection of str, default=()
        Columns of text files whose cells are to stay as they are written.

    Returns
    -------
    rows : LabeledRows
        X and y; `X.attrs["remarks"]` of a text file says of columns what was assumed when they were read.
    """
    path = Path(path)
    if not path.exists():
        near = nearest(path.name, [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else [])
        raise ReadError(f"expected a file at {path}, got none{near}")
    if path.is_dir():
        raise ReadError(f"expected a file at {path}, got a folder; name one file in it")
    if not path.is_file():  # opening a pipe would wait for its other end
        raise ReadError(f"expected a file at {path}, got a device; write its rows to a file first")
    if path.stat().st_size == 0:
        raise ReadError(f"{path}: expected rows, got an empty file")
    suffixes = [s.lower() for s in path.suffixes]
    kind = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in (".gz", ".bz2") else (suffixes or [""])[-1]
    if kind not in READERS:
        raise ReadError(
            f"{path}: expected a name that ends in {', '.join(READERS)}, got {kind or 'no ending'!r}; "
            + ("save the sheet as CSV" if kind in SPREADSHEETS else "rename or convert the file")
        )
    load, expected, advice = READERS[kind]
    try:
        if path.suffix.lower() in PACKED:
            _check_unfolded(path)
        return load(path, target, text)
    except ReadError:
        raise
    except ImportError as error:
        raise ReadError(f"{path}: {expected} needs the package {error.name}; pip install polymargin[report]") from None
    except MemoryError as error:
        raise ReadError(f"{path}: expected rows that fit into memory, got more; split the file") from error
    except Exception as error:  # the parsers raise almost anything for a broken file
        raise ReadError(
            f"{path}: expected {expected}, got something else or a broken one ({_first_line(error)}); {advice}"
        ) from error


def _check_unfolded(path: Path) -> None:
    with PACKED[path.suffix.lower()](path) as file:
        size = 0
        while block := file.read(1 << 20):
            size += len(block)
            _check_proportion(path, size)


def _check_proportion(path: Path, size: int) -> None:
    """A few bytes can decompress to any number of bytes, which only a malicious file does."""
    if size > max(UNFOLDED, RATIO * path.stat().st_size):
        raise ReadError(
            f"{path}: expected data that decompress to at most {RATIO} times the size of the file, got more; if they "
            f"are meant to, write them without compression"
        )


def _read_csv(path: Path, target: str | None, text: Collection[str]) -> LabeledRows:
    import pandas as pd

    encoding = encoding_of(path)
    try:
        separator, names, above, numbers, padded = check_lines(path, encoding)
    except UnicodeError as error:
        raise ReadError(
            f"{path}: expected text in UTF-8, UTF-16 or Windows-1252 (Latin-1), got bytes that are none of them "
            f"({error}); save the file as UTF-8"
        ) from None
    if encoding == "cp1252":
        warnings.warn(f"{path}: not UTF-8; read as Windows-1252 (Latin-1)", stacklevel=4)
    if not len(numbers):
        raise ReadError(f"{path}: expected rows below the header line, got none")
    as_written = dict.fromkeys(padded.union(text).intersection(names), str)
    frame = pd.read_csv(
        path, sep=separator, encoding=encoding, na_values=list(EMPTY), keep_default_na=False, low_memory=False,
        skip_blank_lines=True, skiprows=above, names=names, header=0, index_col=False, dtype=as_written,
        usecols=range(len(names)),
    )  # fmt: skip
    frame = frame.apply(_without_blanks)
    lines = np.asarray(numbers) if len(numbers) == len(frame) else None
    frame, lines = _without_empty_rows(path, frame, lines, target)
    if not names[0] and "" not in text:
        warnings.warn(
            f"{path}: the first column has no name; it is assumed to hold row numbers and is left out", stacklevel=4
        )
        frame = frame.drop(columns="")
    commas = []
    for name in frame.columns:
        if name != target and name not in as_written and not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = _typed(frame[name], decimal_commas=separator != ",")
            commas += [name] * pd.api.types.is_numeric_dtype(frame[name])
    frame.attrs["remarks"] = dict.fromkeys(commas, "decimal comma")
    return _split(path, frame, target, lines)


def _without_blanks(column: Any) -> Any:
    """A column of text in which cells count as empty whatever blanks are around what says so, or in their place."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        return column
    codes, known = pd.factorize(column)
    empty = np.array([isinstance(v, str) and v.strip() in EMPTY for v in known] + [False])
    return column.mask(empty[codes]) if empty.any() else column


def _without_empty_rows(path: Path, frame: Any, lines: Any, target: str | None) -> tuple[Any, Any]:
    """Rows with a cell in them. Spreadsheets write empty ones below a table, and people leave them between blocks.

    Rows without labels are to be predicted, and predictions are in their order: empty ones inside of the table stay.
    """
    empty = frame.isna().all(axis=1).to_numpy()
    if target is None:
        empty = np.logical_and.accumulate(empty[::-1])[::-1]
    if not empty.any() or empty.all():
        return frame, lines
    warnings.warn(f"{path}: {counted(int(empty.sum()), 'empty row')} left out", stacklevel=5)
    return frame[~empty].reset_index(drop=True).infer_objects(), None if lines is None else lines[~empty]


def _typed(column: Any, *, decimal_commas: bool) -> Any:
    """Text as ISO dates or as numbers with decimal commas, if all of its cells are; else unchanged."""
    import pandas as pd

    cells = column.dropna()
    if not len(cells) or not cells.map(lambda v: isinstance(v, str)).all():
        return column
    if decimal_commas and cells.str.fullmatch(DECIMAL_COMMA).all():
        return column.str.replace(",", ".").astype(float)
    if cells.str.fullmatch(ISO_DATE).all():
        dates = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
        if dates.notna().sum() == len(cells):
            return dates
    return column


def _read_parquet(path: Path, target: str | None, text: Collection[str]) -> LabeledRows:
    import pandas as pd
    import pyarrow.parquet

    about = pyarrow.parquet.read_metadata(path)
    _check_proportion(path, 8 * about.num_rows * max(1, about.num_columns))
    _check_proportion(path, sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups)))
    frame = pd.read_parquet(path)
    frame.columns = [str(name) for name in frame.columns]
    return _split(path, frame, target, None)


def _split(path: Path, frame: Any, target: str | None, lines: Any) -> LabeledRows:
    if len(frame) == 0:
        raise ReadError(f"{path}: expected rows, got none")
    for name in frame.columns:
        if name != target:
            _check_cells(path, name, frame[name], lines)
    if target is None:
        return LabeledRows(frame, None)
    if target not in frame.columns and len(frame.columns) == 1:
        raise ReadError(
            f"{path}: expected fields separated by commas, semicolons, tabs or vertical bars, got the one column "
            f"{frame.columns[0]!r}; write the file again with one of them"
        )
    if target not in frame.columns:
        names = list(map(repr, frame.columns))
        shown = ", ".join(names if len(names) <= 12 else [*names[:6], "...", *names[-5:]])
        raise ReadError(
            f"{path}: expected the target column {target!r}, got the columns {shown}"
            + (
                (nearest(target, frame.columns) if len(target) > 1 else "")
                or "; name the one with the labels (--target)"
            )
        )
    y = _stripped(frame[target])
    missing = np.flatnonzero(y.isna().to_numpy())
    if len(missing):
        raise ReadError(
            f"{path}, {_where(missing[0], lines)}: expected a label in column {target!r}, got an empty cell "
            f"or a word for one, such as NA or None ({counted(len(missing), 'such row')}); fill it in, remove the row, "
            f"or write another word if it is a class"
        )
    if len(frame.columns) == 1:
        raise ReadError(f"{path}: expected columns beside the target {target!r}, got none")
    labels = _whole(y.to_numpy())
    return LabeledRows(frame.drop(columns=target), labels.astype(str) if labels.dtype == object else labels)


def _stripped(labels: Any) -> Any:
    """Labels without blanks around them, which nobody sees."""
    import pandas as pd

    if not (pd.api.types.is_object_dtype(labels.dtype) or pd.api.types.is_string_dtype(labels.dtype)):
        return labels
    return labels.astype(object).map(lambda v: (v.strip() or None) if isinstance(v, str) else v)


def _whole(labels: np.ndarray) -> np.ndarray:
    """Classes that are numbers have no decimals."""
    if labels.dtype.kind == "f" and np.all(labels == np.round(labels)) and np.abs(labels).max() < 2**53:
        return labels.astype(np.int64)
    return labels


def _check_cells(path: Path, name: str, column: Any, lines: Any) -> None:
    """A column of numbers or dates with a few other cells in it has typos, which a categorical column would hide."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        infinite = np.flatnonzero(np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)))
        if len(infinite):
            raise ReadError(
                f"{path}, {_where(infinite[0], lines)}: expected a finite number in column {name!r}, got "
                f"{column.iloc[infinite[0]]} ({counted(len(infinite), 'such row')}); correct it, or leave it empty"
            )
        return
    codes, known = pd.factorize(column)
    if not (pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype)):
        return
    cells = np.array([v.strip() if isinstance(v, str) else "" for v in known], dtype=object)
    words = np.array([isinstance(v, str) for v in known], dtype=bool)
    if not words.any() or number_format(cells) or date_format(cells):
        return
    for kind, faults in (("number", words & no_numbers(cells)), ("date", words & no_dates(cells))):
        wrong, present = np.append(faults, False)[codes], codes >= 0
        n_right = int((present & ~wrong).sum())
        if wrong.any() and n_right >= NUMBERS * present.sum() and n_right > wrong.sum():
            first = int(np.flatnonzero(wrong)[0])
            raise ReadError(
                f"{path}, {_where(first, lines)}: expected a {kind} in column {name!r} as in "
                f"{counted(n_right, 'other row')}, got {column.iloc[first]!r}; correct it, or leave the cell empty"
            )


def _where(row: int, lines: Any) -> str:
    """The line of a text file in which the row begins, or the row."""
    return f"row {row + 1}" if lines is None else f"line {lines[row]}"


def counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _read_svmlight(path: Path, target: str | None, text: Collection[str]) -> LabeledRows:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path))
    except Exception as error:
        where = _bad_svmlight_line(path)
        raise ReadError(
            f"{path}{where}: expected svmlight rows such as '2 1:0.5 7:1', got: {_first_line(error)}"
        ) from None
    if X.shape[0] == 0:
        raise ReadError(f"{path}: expected rows, got none")
    most = max(FEATURES, path.stat().st_size)
    if X.shape[1] > most:
        raise ReadError(f"{path}: expected feature numbers up to {most}, got {X.shape[1]}; count them from 1")
    return LabeledRows(X, _whole(y))


def _bad_svmlight_line(path: Path) -> str:
    try:
        with opened(path) as file:
            for number, line in enumerate(file, 1):
                fields = line.split("#")[0].split()
                pairs = [f.split(":") for f in fields[1:] if not f.startswith("qid:")]
                good = all(len(p) == 2 and p[0].isdigit() and is_number(p[1]) for p in pairs)
                if fields and not (good and all(is_number(t) for t in fields[0].split(","))):
                    return f", line {number}"
    except UnicodeDecodeError:
        pass
    return ""


def _read_npz(path: Path, target: str | None, text: Collection[str]) -> LabeledRows:
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        X = next((_array(path, archive, k) for k in ("X", "X_train", "data") if k in names), None)
        y = next((_array(path, archive, k) for k in (target, "y", "y_train", "target") if k in names), None)
    if X is None or X.ndim != 2:
        found = f"the arrays {', '.join(names)}" if X is None else f"X of shape {X.shape}"
        raise ReadError(f"{path}: expected an array X with 2 dimensions, got {found}")
    if y is not None and y.shape != (len(X),):
        raise ReadError(f"{path}: expected y of shape ({len(X)},), got shape {y.shape}")
    return LabeledRows(X, y)


def _array(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of an archive; NumPy allocates what the header claims before it reads the numbers."""
    info = archive.getinfo(f"{name}.npy")
    _check_proportion(path, info.file_size)
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        shape, _, dtype = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[
            version
        ](member)
        if dtype.kind not in "biufUS":
            what = "Python objects" if dtype.hasobject else f"an array of type {dtype}"
            raise ReadError(
                f"{path}: expected an NPZ archive of plain arrays, got {what} in it; write it with numpy.savez"
            )
        if math.prod(shape) * dtype.itemsize != info.file_size - member.tell():
            raise ValueError(f"the shape {shape} does not match the length of {name}")
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


READERS = {  # by the end of the name: the reader, what it expects, and what to do about any other file
    **dict.fromkeys((".csv", ".tsv", ".txt"), (_read_csv, "a readable text file", "write it again")),
    **dict.fromkeys((".parquet", ".pq"), (_read_parquet, "a Parquet file", "write it again")),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), (_read_svmlight, "svmlight rows", "write it again")),
    ".npz": (_read_npz, "an NPZ archive of plain arrays", "write it with numpy.savez"),
}
