"""Text files of rows: how their bytes stand for characters, and whether every line has its fields."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SEPARATORS = ",;\t"
LOOKED_AT = 1000  # rows in which zeros in front of numbers are looked for
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


class ReadError(ValueError):
    """A file that cannot be used: what was expected, what came instead, and where."""


def encoding_of(path: Path) -> str:
    """UTF-16 by its byte order mark or by its zeros, UTF-8 if the whole file is, else what Windows calls ANSI."""
    with PACKED.get(path.suffix.lower(), open)(path, "rb") as file:
        head = file.read(4096)
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if b"\0" in head:
            even, odd = head[::2].count(0), head[1::2].count(0)
            return "utf-16-le" if odd > even else "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while head:
                decoder.decode(head)
                head = file.read(1 << 20)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def opened(path: Path, encoding: str = "utf-8-sig") -> Any:
    return PACKED.get(path.suffix.lower(), open)(path, "rt", encoding=encoding, newline="")


class Lines(NamedTuple):
    """A text file before its cells are read; `padded` columns have whole numbers with zeros in front of them."""

    separator: str
    names: list[str]
    n_lines: int
    padded: set[str]


def check_lines(path: Path, encoding: str) -> Lines:
    """What the lines of a file hold; every row must have as many fields as there are names.

    pandas silently pads short rows, so a file that lost a comma would train on shifted columns.
    """
    with opened(path, encoding) as file:
        head = file.readline()
        separator = max(SEPARATORS, key=head.count)
    with opened(path, encoding) as file:
        lines = csv.reader(file, delimiter=separator, strict=True)
        names, n_lines = None, 0
        padded: set[str] = set()
        for fields in _fields(path, lines):
            if not fields:
                continue
            if names is None:
                names = [name.strip() for name in fields]
                _check_names(path, names)
                continue
            n_lines += 1
            if n_lines <= LOOKED_AT:
                padded.update(name for name, f in zip(names, fields, strict=False) if f[:1] == "0" and f[1:].isdigit())
            if len(fields) != len(names):
                raise ReadError(
                    f"{path}, line {lines.line_num}: expected {len(names)} fields as in the header, got "
                    f"{len(fields)}; look for a missing or an extra {_spoken(separator)}, or an open quote"
                )
    if names is None:
        raise ReadError(f"{path}: expected a header line, got only blank lines")
    return Lines(separator, names, n_lines, padded)


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
    if all(is_number(name) for name in names):
        raise ReadError(
            f"{path}: expected column names in the first line, got only numbers ({', '.join(names[:3])}...); "
            f"add a header line"
        )


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
