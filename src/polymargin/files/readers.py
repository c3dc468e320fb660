"""Files of rows: CSV and TSV, Parquet, svmlight (LIBSVM), NPZ.

`read(path, target)` returns X, a data frame or matrix, and y. Whatever is wrong with a file is said in one sentence
with the line or column it is in.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import math
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..fitting.parameters import nearest

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?")
NUMBERS = 0.9  # a column with at least this share of numbers is meant to hold only numbers
SEPARATORS = ",;\t"
DECIMAL_COMMA = r"\s*[+-]?\d+(,\d+)?\s*"
# A compressed file may decompress to this many bytes, or to this many times its size if that is more.
UNFOLDED, RATIO = 1 << 26, 200
FEATURES = 1 << 25  # of svmlight rows, or as many as the file has bytes
ISO_DATE = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"


class ReadError(ValueError):
    """A file that cannot be used: what was expected, what came instead, and where."""


class LabeledRows(NamedTuple):
    """X: a pandas DataFrame (CSV, Parquet), a CSR matrix (svmlight) or an array (NPZ); y: labels, or None."""

    X: Any
    y: np.ndarray | None


def read(path: str | Path, target: str | None = None) -> LabeledRows:
    """Rows of a file; the end of its name tells its format.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv or .txt (one header line; separated by commas, semicolons or tabs, with the last two also with
        decimal commas; columns of ISO dates become dates; a first column without a name is left out), .parquet or .pq,
        .svm, .svmlight or .libsvm, .npz (arrays X and y, or X_train and y_train). Text files may end in .gz or .bz2.
    target : str, default=None
        Column of the labels. svmlight and NPZ files have their own. None: no labels are looked for in a table.

    Returns
    -------
    rows : LabeledRows
        X and y.
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
            f"rename or convert the file"
        )
    reader, expected, advice = READERS[kind]
    try:
        if path.suffix.lower() in PACKED:
            _check_unfolded(path)
        return reader(path, target)
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


def _text(path: Path) -> Any:
    return PACKED.get(path.suffix.lower(), open)(path, "rt", encoding="utf-8-sig", newline="")


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


def _read_csv(path: Path, target: str | None) -> LabeledRows:
    import pandas as pd

    try:
        separator, names, n_lines = _check_lines(path)
    except UnicodeDecodeError as error:
        raise ReadError(
            f"{path}: expected UTF-8 text, got byte {error.object[error.start]:#04x} at position {error.start}; "
            f"save the file as UTF-8"
        ) from None
    if n_lines == 0:
        raise ReadError(f"{path}: expected rows below the header line, got none")
    frame = pd.read_csv(
        path, sep=separator, encoding="utf-8-sig", na_values=list(MISSING), keep_default_na=False, low_memory=False,
        skip_blank_lines=True,
    )  # fmt: skip
    frame.columns = names
    if not names[0]:
        warnings.warn(f"{path}: the first column has no name; it is taken for row numbers and left out", stacklevel=4)
        frame = frame.drop(columns="")
    for name in frame.columns:
        if name != target and not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = _typed(frame[name], decimal_commas=separator != ",")
    return _split(path, frame, target, header=True)


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


def _check_lines(path: Path) -> tuple[str, list[str], int]:
    """Separator, column names and number of rows; every row must have as many fields as there are names.

    pandas silently pads short rows, so a file that lost a comma would train on shifted columns.
    """
    with _text(path) as file:
        head = file.readline()
        separator = max(SEPARATORS, key=head.count)
    with _text(path) as file:
        lines = csv.reader(file, delimiter=separator, strict=True)
        names, n_lines = None, 0
        for fields in _fields(path, lines):
            if not fields:
                continue
            if names is None:
                names = [name.strip() for name in fields]
                _check_names(path, names)
                continue
            n_lines += 1
            if len(fields) != len(names):
                raise ReadError(
                    f"{path}, line {lines.line_num}: expected {len(names)} fields as in the header, got "
                    f"{len(fields)}; look for a missing or an extra {_spoken(separator)}, or an open quote"
                )
    if names is None:
        raise ReadError(f"{path}: expected a header line, got only blank lines")
    return separator, names, n_lines


def _fields(path: Path, lines: Any) -> Iterator[list[str]]:
    """The rows of a CSV file; a quote that is not closed swallows the lines below it."""
    line = 1
    try:
        for fields in lines:
            yield fields
            line = lines.line_num + 1
    except csv.Error as error:
        what = 'a quote (") that is never closed' if "end of data" in str(error) else str(error)
        raise ReadError(f"{path}, line {line}: expected fields, got {what}; correct the line") from None


def _spoken(separator: str) -> str:
    return {",": "comma", ";": "semicolon", "\t": "tab"}[separator]


def _check_names(path: Path, names: list[str]) -> None:
    seen = set()
    for k, name in enumerate(names):
        if not name and (k > 0 or len(names) == 1):  # tables are often written with their row numbers in front
            raise ReadError(f"{path}: expected a name for every column, got none for column {k + 1}; add one")
        if name in seen:
            raise ReadError(f"{path}: expected different column names, got {name!r} twice; rename one")
        seen.add(name)
    if all(_is_number(name) for name in names):
        raise ReadError(
            f"{path}: expected column names in the first line, got only numbers ({', '.join(names[:3])}...); "
            f"add a header line"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path, target: str | None) -> LabeledRows:
    import pandas as pd
    import pyarrow.parquet

    about = pyarrow.parquet.read_metadata(path)
    _check_proportion(path, 8 * about.num_rows * max(1, about.num_columns))
    _check_proportion(path, sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups)))
    frame = pd.read_parquet(path)
    frame.columns = [str(name) for name in frame.columns]
    return _split(path, frame, target, header=False)


def _split(path: Path, frame: Any, target: str | None, *, header: bool) -> LabeledRows:
    if len(frame) == 0:
        raise ReadError(f"{path}: expected rows, got none")
    for name in frame.columns:
        if name != target:
            _check_numbers(path, name, frame[name], header)
    if target is None:
        return LabeledRows(frame, None)
    if target not in frame.columns:
        names = list(map(repr, frame.columns))
        shown = ", ".join(names if len(names) <= 12 else [*names[:6], "...", *names[-5:]])
        raise ReadError(
            f"{path}: expected the target column {target!r}, got the columns {shown}"
            + (nearest(target, frame.columns) or "; name the one with the labels (--target)")
        )
    y = frame[target]
    missing = np.flatnonzero(y.isna().to_numpy())
    if len(missing):
        raise ReadError(
            f"{path}, {_where(missing[0], header)}: expected a label in column {target!r}, got an empty cell "
            f"({len(missing)} such rows); fill them or remove the rows"
        )
    if len(frame.columns) == 1:
        raise ReadError(f"{path}: expected columns beside the target {target!r}, got none")
    labels = _whole(y.to_numpy())
    return LabeledRows(frame.drop(columns=target), labels.astype(str) if labels.dtype == object else labels)


def _whole(labels: np.ndarray) -> np.ndarray:
    """Classes that are numbers have no decimals."""
    if labels.dtype.kind == "f" and np.all(labels == np.round(labels)) and np.abs(labels).max() < 2**53:
        return labels.astype(np.int64)
    return labels


def _check_numbers(path: Path, name: str, column: Any, header: bool) -> None:
    """A column of numbers with a few words in it has typos, which a categorical column would hide."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return
    present = column.notna().to_numpy()
    values = column.astype(object).to_numpy()
    text = [isinstance(v, str) for v in values]
    numbers = pd.to_numeric(column, errors="coerce").notna().to_numpy()
    bad = np.flatnonzero(present & ~numbers & np.asarray(text))
    if len(bad) and numbers.sum() >= NUMBERS * present.sum() and numbers.sum() > len(bad):
        raise ReadError(
            f"{path}, {_where(bad[0], header)}: expected a number in column {name!r} as in {numbers.sum()} other rows, "
            f"got {values[bad[0]]!r}; correct it, or leave the cell empty"
        )


def _where(row: int, header: bool) -> str:
    """Line of a text file if no line was blank and no quoted field has line breaks, else the row."""
    return f"line {row + 2}" if header else f"row {row + 1}"


def _read_svmlight(path: Path, target: str | None) -> LabeledRows:
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
        with _text(path) as file:
            for number, line in enumerate(file, 1):
                fields = line.split("#")[0].split()
                pairs = [f.split(":") for f in fields[1:] if not f.startswith("qid:")]
                good = all(len(p) == 2 and p[0].isdigit() and _is_number(p[1]) for p in pairs)
                if fields and not (good and all(_is_number(t) for t in fields[0].split(","))):
                    return f", line {number}"
    except UnicodeDecodeError:
        pass
    return ""


def _read_npz(path: Path, target: str | None) -> LabeledRows:
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


PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
READERS = {  # by the end of the name: the reader, what it expects, and what to do about any other file
    **dict.fromkeys((".csv", ".tsv", ".txt"), (_read_csv, "a readable text file", "write it again")),
    **dict.fromkeys((".parquet", ".pq"), (_read_parquet, "a Parquet file", "write it again")),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), (_read_svmlight, "svmlight rows", "write it again")),
    ".npz": (_read_npz, "an NPZ archive of plain arrays", "write it with numpy.savez"),
}
