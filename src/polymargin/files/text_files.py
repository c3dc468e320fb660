"""Text files of rows: how their bytes stand for characters, and whether every line has its fields."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import re
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SEPARATORS = ",;\t|"
NAMED_SEPARATOR = re.compile(r"\ufeff?\"?sep=(.)\"?\s*", re.IGNORECASE)  # a first line that Excel writes
ZEROS = 0.05  # share of zero bytes above which text is UTF-16, where each blank, digit or comma has one
LOOKED_AT = 1000  # rows in which zeros in front of numbers are looked for
SPOKEN = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
OTHERS = {  # the first bytes of files that are not text, what they are, and what to do about them
    b"PK\x03\x04": "a spreadsheet or an archive; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet; save it as CSV",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"\x1f\x8b": "a compressed file; let its name end in .gz",
    b"%PDF-": "a PDF document; save its table as CSV",
}
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


class ReadError(ValueError):
    """A file that cannot be used: what was expected, what came instead, and where."""


def encoding_of(path: Path) -> str:
    """UTF-16 by its byte order mark or by its zeros, UTF-8 if the whole file is, else what Windows calls ANSI."""
    with PACKED.get(path.suffix.lower(), open)(path, "rb") as file:
        head = file.read(4096)
        if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins like UTF-16
            return "utf-32"
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        for start, what in OTHERS.items():
            if head.startswith(start):
                raise ReadError(f"{path}: expected text, got {what}")
        even, odd = head[::2].count(0), head[1::2].count(0)
        wide, newline = ("utf-16-le", b"\n\0") if odd > even else ("utf-16-be", b"\0\n")
        one_sided = min(even, odd) < max(even, odd) / 2 and max(even, odd) > ZEROS * len(head)
        if one_sided and (newline in head or b"\n" not in head):
            return wide
        found, line, zeros, decoder = "utf-8-sig", 1, 0, codecs.getincrementaldecoder("utf-8")()
        while True:
            line += 0 if zeros else head.partition(b"\0")[0].count(b"\n")
            zeros += head.count(0)
            try:
                decoder.decode(head, final=not head)
            except UnicodeDecodeError:
                found = "cp1252"
                decoder.reset()
            if not head:
                break
            head = file.read(1 << 20)
    if zeros:
        raise ReadError(
            f"{path}, line {line}: expected text, got a zero byte ({zeros} of them in the file); save the table as CSV "
            f"again, or remove these bytes"
        )
    return found


def opened(path: Path, encoding: str = "utf-8-sig") -> Any:
    return PACKED.get(path.suffix.lower(), open)(path, "rt", encoding=encoding, newline="")


class Lines(NamedTuple):
    """A text file before its cells are read.

    `above` lines stand above the header; `numbers` are those of the lines in which rows begin, counted from 1; `padded`
    columns have whole numbers with zeros in front of them.
    """

    separator: str
    names: list[str]
    above: int
    numbers: array[int]
    padded: set[str]


def check_lines(path: Path, encoding: str) -> Lines:
    """What the lines of a file hold; every row must have as many fields as there are names.

    pandas silently pads short rows, so a file that lost a comma would train on shifted columns.
    """
    separator, above = _separator(path, encoding)
    with opened(path, encoding) as file:
        for _ in range(above):
            file.readline()
        lines = csv.reader(file, delimiter=separator, strict=True)
        names: list[str] = []
        numbers = array("q")
        padded: set[str] = set()
        for line, fields in _fields(path, lines, above):
            if not fields or (len(fields) == 1 and fields[0].isspace()):
                continue
            if not names:
                names = _names(path, fields)
                continue
            numbers.append(line)
            if len(numbers) <= LOOKED_AT:
                padded.update(name for name, f in zip(names, fields, strict=False) if f[:1] == "0" and f[1:].isdigit())
            if len(fields) < len(names) or any(field.strip() for field in fields[len(names) :]):
                raise ReadError(f"{path}, line {line}: {_miscounted(len(names), len(fields), separator)}")
    if not names:
        raise ReadError(f"{path}: expected a header line, got only blank lines")
    return Lines(separator, names, above, numbers, padded)


def _separator(path: Path, encoding: str) -> tuple[str, int]:
    """What separates fields, and how many lines stand above the header: one if the first names the separator."""
    with opened(path, encoding) as file:
        head = file.readline()
        named = NAMED_SEPARATOR.fullmatch(head)
        if named is not None and named[1] in SEPARATORS:
            return named[1], 1
        while head and not head.strip():
            head = file.readline()
    return max(SEPARATORS, key=head.count), 0


def _miscounted(expected: int, got: int, separator: str) -> str:
    said = f"expected {expected} field{'' if expected == 1 else 's'} as in the header, got {got}"
    if expected == 1:
        return f"{said}; if the first line is a title, remove it, so that the column names come first"
    return f"{said}; look for a missing or an extra {SPOKEN[separator]}, or an open quote"


def _fields(path: Path, lines: Any, above: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the numbers of their lines; an open quote would swallow all lines below it."""
    line = above + 1
    try:
        for fields in lines:
            yield line, fields
            line = above + lines.line_num + 1
    except csv.Error as error:
        what = 'a quote (") that is never closed' if "end of data" in str(error) else str(error)
        raise ReadError(f"{path}, line {line}: expected fields, got {what}; correct the line") from None


def _names(path: Path, fields: list[str]) -> list[str]:
    """Column names, without the empty ones that spreadsheets write after the last."""
    names = [name.strip() for name in fields]
    while len(names) > 1 and not names[-1]:
        names.pop()
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
    return names


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
