"""What the columns of a table are: numbers, categories, dates, text, or nothing that tells rows apart.

`plan` looks at the columns of a table and decides, without looking at labels; `read` turns their cells into numbers and
words as the plan says. Both ways in are the same for files, pandas, Polars and PyArrow.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..files.dialects import (
    Format,
    codes,
    date_format,
    is_blank,
    no_dates,
    no_numbers,
    number_format,
    reader,
    settled,
    several_formats,
)
from ..fitting.parameters import nearest
from .cells import Numbers, Words, cells_of, typed, unread

KINDS = ("number", "category", "date", "text", "ignore")
LEFT_OUT = "left out"
COMPACT = {"date: %Y": 4, "date: %Y%m%d": 8}  # days as whole numbers, and their lengths; only if asked for
MONTHS = np.array(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], dtype=object)
WEEKDAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], dtype=object)
DAY, YEAR = 86_400.0, 365.25 * 86_400
CHANCE = 1e-3  # whole numbers that differ more than chance explains, by this probability, number the rows,
YEARS = (1800, 2100)  # numbers in this range may be years, of which a yearly table has one per row
ALIKE = 0.02  # if not more than this share of them are equal to others
FEW_WORDS = 10  # a column with so few words keeps them all; of others, those in enough rows
COVERED = 0.5  # words in enough rows must cover this share of the rows, or else the cells are split
STRANGERS = 10  # new words are no accident in so many cells
CLOSED = 0.9  # where they cover this share, the words are a list that is complete: rare ones are used too


@dataclass(frozen=True)
class Column:
    """What becomes of one column.

    `format` is how its text is read, `words` are the features of 0 and 1: whole cells of a category, words in a text,
    months and weekdays of a date. `rest` is a feature more: other words of a category, the hour of a date.
    """

    name: str
    used_as: str
    reason: str = ""
    format: str = ""
    words: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=object))
    rest: bool = False


@dataclass(frozen=True)
class ReadTable:
    """A table that was read: an array of floats (NaN: empty; dates in seconds) or Words per column, None if unused."""

    plan: list[Column]
    columns: list[Any]
    named: bool
    missing: np.ndarray

    def __len__(self) -> int:
        return next(len(c) for c in self.columns if c is not None)

    def __getitem__(self, rows: Any) -> ReadTable:
        return ReadTable(self.plan, [None if c is None else c[rows] for c in self.columns], self.named, self.missing)


def read(table: Any, plan: list[Column], named: bool = False, missing: Any = ()) -> ReadTable:
    """The cells of a table as its plan says."""
    columns = [_read(column, cells) for column, cells in zip(plan, cells_of(table), strict=True)]
    return ReadTable(plan, columns, named, np.asarray(missing))


def _read(column: Column, cells: Any) -> Any:
    if column.used_as == LEFT_OUT:
        return None
    found = typed(cells, column.name)
    if column.used_as == "category":
        _tell_strangers(column, found.words())
    if column.used_as in ("category", "text"):
        return found.words()
    if isinstance(found, Words) or column.format in COMPACT:
        return _numbers(found.words(), column)
    return found.values


def _tell_strangers(column: Column, cells: Words) -> None:
    """Words that are new in most cells are spelled in another way, more likely than not; without them a column is mute.

    Where rare words were not told apart in fit, new ones are expected.
    """
    known, codes = np.isin(cells.known.astype(str), column.words.astype(str)), cells.present_codes()
    new = int(np.count_nonzero(~known[codes]))
    if new > (len(codes) - 1 if column.rest else len(codes) / 2) and len(codes) >= STRANGERS:
        first, words = cells.known[codes[~known[codes]][0]], ", ".join(map(repr, column.words[:3].tolist()))
        warnings.warn(
            f"expected words in column {column.name!r} as in fit ({words}{', ...' * (len(column.words) > 3)}), got "
            f"{str(first)!r} and such in {new} of {len(codes)} cells, which tell nothing; spell them as in fit",
            stacklevel=2,
        )


def _numbers(cells: Words, column: Column) -> np.ndarray:
    """Text as numbers in the format of the column; where there was no text in fit, in any that fits all cells.

    A cell that cannot be read is an error among numbers, but may be expected where all were text: it counts as empty.
    """
    form, cells = column.format, cells.without(is_blank)
    if not form:
        guess = (number_format if column.used_as == "number" else date_format)(cells.present())
        form = guess.name if guess is not None else "number: 1,234.5" if column.used_as == "number" else "date: ISO8601"
    values = reader(form)(cells.known)
    if np.isnan(values).any():
        wrong = cells.known[np.isnan(values)]
        wrong = wrong[np.isin(wrong, cells.present())]
        said = f"expected {column.used_as}s in column {column.name!r} as in fit, got {wrong[0] if len(wrong) else ''!r}"
        if len(wrong) and not column.format:
            raise ValueError(f"{said}; correct it, or leave it empty")
        if len(wrong):
            present = cells.present_codes()
            bad = int(np.isnan(values)[present].sum())
            others = f" ({bad} such cells of {len(present)})" if bad > 1 else ""
            advice = "write the column as in fit" if 2 * bad > len(present) > 1 else "correct it if it is a typo"
            warnings.warn(f"{said}{others}, which count{'s' * (bad == 1)} as empty; {advice}", stacklevel=2)
    return np.append(values, np.nan)[cells.codes]


# --- the plan ---


def plan(table: Any, names: list[str], wishes: Mapping[str, str] | None, most: int) -> tuple[list[Column], np.ndarray]:
    """A plan for every column, and how many of its cells are empty; `most` is the number of words that a column keeps.

    Formats that are certain in one column decide in others that can be read in two ways.
    """
    wishes = _checked(wishes or {}, names)
    cells = [
        unread(c) if wishes.get(name) == "ignore" else typed(c, name)
        for c, name in zip(cells_of(table), names, strict=True)
    ]
    kept = [
        None if wishes.get(name) in ("category", "text", "ignore") else c for c, name in zip(cells, names, strict=True)
    ]
    forms = _formats(kept)
    cells = [
        c.without(is_blank) if isinstance(c, Words) and f is not None else c for c, f in zip(cells, forms, strict=True)
    ]
    found = [_decided(name, c, form, wishes.get(name), most) for name, c, form in zip(names, cells, forms, strict=True)]
    return found, np.array([c.missing() for c in cells], dtype=np.int64)


def _checked(wishes: Mapping[str, str], names: list[str]) -> Mapping[str, str]:
    for name, kind in wishes.items():
        if name not in names:
            shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
            raise ValueError(
                f"expected columns to name columns of X, got {name!r}{nearest(name, names) or f'; they are {shown}'}"
            )
        if kind not in KINDS:
            raise ValueError(f"expected columns[{name!r}] to be one of {', '.join(KINDS)}, got {kind!r}")
    return wishes


def _formats(cells: list[Any]) -> list[Format | None]:
    text = [c.present() if isinstance(c, Words) and not c.categorical else np.zeros(0, dtype=object) for c in cells]
    found = [number_format(t) or date_format(t) if len(t) else None for t in text]
    sure = [f.name for f in found if f is not None and settled(f)]
    number = next(("number: 1.234,5" for n in sure if n.startswith("number: 1.234,5")), "")
    day = next((n.removeprefix("date: ") for n in sure if n[:8] in ("date: %d", "date: %m") and "%d" in n), "")
    return [
        f if f is None or settled(f) else (number_format(t, number) or date_format(t, day))
        for f, t in zip(found, text, strict=True)
    ]


def _decided(name: str, cells: Numbers | Words, form: Format | None, wish: str | None, most: int) -> Column:
    if wish == "ignore":
        return Column(name, LEFT_OUT, "as asked")
    if wish is not None:
        return _asked(name, cells, form, wish, most)
    if isinstance(cells, Numbers):
        return _measured(name, "date" if cells.dates else "number", cells.values, Format(""))
    if form is None:
        return _words(name, cells, most)
    if codes(cells.present()):
        found = _words(name, cells, most)
        if found.used_as == "category":
            said = "zeros in front: codes, not numbers"
            return replace(found, reason=", ".join(filter(None, (said, found.reason))))
    kind = form.name.partition(":")[0]
    return _measured(name, kind, _numbers(cells, Column(name, kind, format=form.name)), form)


def _measured(name: str, kind: str, values: np.ndarray, form: Format, asked: bool = False) -> Column:
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return Column(name, LEFT_OUT, "every cell is empty")
    if not asked:
        if present.min() == present.max() and len(present) == len(values):
            digits = " in the 15 digits that are read" if np.abs(present[0]) > 2**53 else ""
            return Column(name, LEFT_OUT, f"the same in all rows{digits}")
        if kind == "number" and numbers_rows(present):
            low, high = f"{present.min():.0f}", f"{present.max():.0f}"
            return Column(name, LEFT_OUT, f"whole numbers from {low} to {high} that only number the rows")
    if kind == "number":
        return Column(name, kind, form.doubt, form.name)
    words, hours = date_words(present)
    return Column(name, kind, form.doubt, form.name, words, rest=hours)


def _asked(name: str, cells: Numbers | Words, form: Format | None, wish: str, most: int) -> Column:
    words = cells.words()
    if wish in ("category", "text"):
        found = _split(name, words, most) if wish == "text" else _whole(name, words, most, least=1)
        if not len(found.words):
            raise ValueError(
                f"expected words that repeat in column {name!r}, to be used as {wish}, got none; leave the column out"
            )
        return found
    if isinstance(cells, Numbers) and (cells.dates or wish == "number"):
        return _measured(name, wish, cells.values, Format(""), asked=True)
    if isinstance(cells, Numbers) or form is None or not form.name.startswith(wish):
        form = (number_format if wish == "number" else date_format)(words.present())
        form = form or (_compact(words.present()) if wish == "date" else None)
    if form is None:
        raise ValueError(
            f"expected {wish}s in column {name!r}, as asked, got cells such as {words.known[0]!r}; correct them, or "
            f"use the column as category or text"
        )
    return _measured(name, wish, _numbers(words, Column(name, wish, format=form.name)), form, asked=True)


def _compact(cells: np.ndarray) -> Format | None:
    """Years and days that are written as whole numbers: 2024, 20240301."""
    for form, length in COMPACT.items():
        if len(cells) and all(len(c) == length for c in cells) and not np.isnan(reader(form)(cells)).any():
            return Format(form)
    return None


def numbers_rows(values: np.ndarray) -> bool:
    """Whether whole numbers differ more than chance explains, so that they must have been given to the rows.

    Of n numbers drawn from a range of s, n^2 / (2 s) pairs are equal by chance, a Poisson number; drawn unevenly, more.
    Row numbers, shuffled or thinned by a split, have no equal pairs and a short range.
    """
    from scipy.stats import poisson

    n = len(values)
    if n < 10 or np.abs(values).max() > 2**53 or np.any(values != np.round(values)):
        return False
    if YEARS[0] <= values.min() and values.max() <= YEARS[1]:
        return False
    equal = n - len(np.unique(values))
    return equal <= ALIKE * n and bool(poisson.cdf(equal, n**2 / (2 * (np.ptp(values) + 1))) < CHANCE)


def date_words(seconds: np.ndarray) -> tuple[np.ndarray, bool]:
    """What dates tell beyond their day: months over more than a year, weekdays of some weeks; whether hours."""
    days = np.floor(seconds / DAY)
    months, weekdays = (np.unique(found) for found in calendar(seconds))
    words = [*MONTHS[months]] if np.ptp(seconds) > YEAR and len(months) > 1 else []
    monthly = len(np.unique(days.astype("datetime64[D]").astype("datetime64[M]"))) == len(np.unique(days))
    words += [*WEEKDAYS[weekdays]] if np.ptp(days) >= 14 and not monthly and len(weekdays) > 1 else []
    return np.array(words, dtype=object), bool(np.any(seconds != days * DAY))


def calendar(seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Months and weekdays, counted from 0."""
    days = np.floor(seconds / DAY).astype("datetime64[D]")
    return days.astype("datetime64[M]").astype(np.int64) % 12, (days.astype(np.int64) + 3) % 7


# --- words ---


def _words(name: str, cells: Words, most: int) -> Column:
    """Whole cells as categories if they repeat, else the words in them, else nothing: then every row has its own."""
    n, counts = len(cells.present_codes()), cells.counts()
    u = int(np.count_nonzero(counts))
    if u == 0:
        return Column(name, LEFT_OUT, "every cell is empty")
    if u == 1 and n == len(cells):
        return Column(name, LEFT_OUT, "the same in all rows")
    if 2 * u <= max(n, 4) and u <= FEW_WORDS and counts.max() > 1:
        return _whole(name, cells, most, least=1)
    least = enough(n)
    covered = counts[counts >= least].sum()
    if covered >= COVERED * n:
        return _whole(name, cells, most, 2 if covered >= CLOSED * n else least)
    if several_formats(cells.present()):
        return Column(name, LEFT_OUT, "dates in several notations: write them all in one way")
    if mixed := _mixture("date", cells, no_dates(cells.known)):
        return Column(name, LEFT_OUT, mixed)
    if np.median([len(words_in(word)) for word in cells.present()]) > 1:
        split = _split(name, cells, most)
        if len(split.words):
            return split
    rare = "almost every row has its own" if u > 0.9 * n else "most of them are in too few rows"
    every = f"{u} different values in {n} rows: {rare}"
    return Column(name, LEFT_OUT, _mixture("number", cells, no_numbers(cells.known)) or every)


def _mixture(kind: str, cells: Words, faults: np.ndarray) -> str:
    """What keeps a column from being read as numbers or dates, if at least half of its cells are such; else ""."""
    counts = cells.counts()
    right, wrong = (int(counts[which].sum()) for which in (~faults, faults))
    if not wrong:
        return f"{kind}s with and without percent signs: write them all in one way"
    if right < wrong:
        return ""
    others = f"{wrong} other cell{'' if wrong == 1 else 's'} such as {cells.known[faults & (counts > 0)][0]!r}"
    return f"{right} {kind}s and {others}: make them all {kind}s, or leave the others empty"


def enough(n: int) -> int:
    """Rows that a word must be in to be useful, in a column with many words."""
    return int(np.clip(n // 100, 3, 10))


def _whole(name: str, cells: Words, most: int, least: int) -> Column:
    counts = cells.counts()
    often = np.argsort(-counts, kind="stable")[:most]
    often = often[counts[often] >= least]
    known, u = np.sort(cells.known[often].astype(str)).astype(object), int(np.count_nonzero(counts))
    if len(known) == u:
        return Column(name, "category", words=known)
    fewest = counts[often].min()
    rare = f", in at least {fewest} rows each" if fewest > 1 else ""
    reason = f"{len(known)} of {u} words{rare}; the others count as one"
    return Column(name, "category", reason, words=known, rest=True)


def _split(name: str, cells: Words, most: int) -> Column:
    """The words inside the cells that are in enough rows, but not in all."""
    n = len(cells.present_codes())
    rows: dict[str, int] = {}
    for cell, count in zip(cells.known, cells.counts(), strict=True):
        for word in words_in(cell):
            rows[word] = rows.get(word, 0) + int(count)
    least = max(5, n // 50)
    often = sorted((w for w, k in rows.items() if least <= k < n), key=lambda w: (-rows[w], w))[:most]
    reason = f"the {len(often)} most frequent words in its cells" if len(often) > 1 else "a frequent word in its cells"
    return Column(name, "text", reason, words=np.array(sorted(often), dtype=object))


def words_in(cell: str) -> set[str]:
    return set(re.findall(r"\w\w+", cell.lower()))
