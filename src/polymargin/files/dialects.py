"""Numbers and dates as people write them, read by column: -1.396,58, $1,234.00, 12.5%, 80 kg, 7:45 pm, 01.03.2024.

One cell can be read in several ways ("1,234", "01/02/2024"), a column seldom: `number_format` and `date_format` find
the way in which all of its cells can be read, and `reader` is the function that reads them in that way. A format is a
string, so that a model file can hold it: "number: 1.234,5", "number: 1,234.5 kg" or "date: %d.%m.%Y".
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .months import short_months
from .times import HOURS, are_times, hours

MONEY = r"[$€£¥₹₩₽฿]|(?:US|CA|AU|NZ|HK)\$|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|INR|BRL|R\$"
NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-])?(?:{MONEY})?(?P<inner>[+-])?(?P<digits>[\d.,' ]*\d[\d.,' ]*)(?P<power>[eE][+-]?\d+)?"
    rf"(?P<after>-)?(?:{MONEY}|(?P<percent>%))?(?P<close>\))?"  # 12- is -12 in accounts
)
# How digits are grouped, by the decimal mark; 12,34,567 is Indian. The text behind the colon of `number: 1.234,5` is
# 1234.5 written so.
GROUPED = {
    ".": re.compile(r"(?:\d+|\d{1,3}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*|\d\d?(?:,\d\d)+,\d{3})?(?:\.\d*)?"),
    ",": re.compile(r"(?:\d+|\d{1,3}(?P<group>[. '])\d{3}(?:(?P=group)\d{3})*)?(?:,\d*)?"),
}
NUMBER_FORMATS = {"number: 1,234.5": ".", "number: 1.234,5": ","}
# What stands for an empty cell among numbers and dates; among words it may be one of them.
MARKS = ("-", "--", "---", "–", "—", ".", "..", "...", "*")
BLANKS = {*MARKS, "na", "n.a.", "nil", "none", "missing", "unknown", "not available"}
# What may follow a number, the same in all cells but for its plural. Factors follow in any mixture: 950, 1.2k, 3M.
WITH_UNIT = re.compile(r"(?P<number>.*\d[.,]?)\s*(?P<unit>/ ?\d+|[^\W\d_][^\d()+-]{0,14}|[°\"'′″#*]\w?)")
FACTORS = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
SCALED = "k/M/B"
SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})

# Days by what separates them and what comes first; where two fit, the first one is taken.
DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y"),
    *("%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
    *("%B %d %Y", "%b %Y", "%B %Y", "%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
ISO = "ISO8601"
ISO_CELL = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
DATE_FORMATS = (f"date: {ISO}", *(f"date: {day}{time}" for day in DAYS for time in TIMES))
SWAPPED = {"%m/%d": "%d/%m", "%d/%m": "%m/%d", "%d-%m": "%m-%d", "%m-%d": "%d-%m"}
# What is left of a date without words, digits and blanks tells most formats apart, and reading is slow.
MARKS_OF_DATES = {name: re.sub(r"%.|\s", "", name.removeprefix("date: ")) for name in DATE_FORMATS[1:]}
LETTERS = {name.casefold() for name in (*calendar.month_name, *calendar.month_abbr, "am", "pm")}  # in dates
WORD = re.compile(r"[^\W\d_]+")
LIKE_DATE = re.compile(r"\d\D+\d")
LENGTH = 40  # no date or number is longer


class Format(NamedTuple):
    """How the cells of a column are read; `doubt` says what was assumed where they can be read in two ways."""

    name: str
    doubt: str = ""


def number_format(cells: np.ndarray, prefer: str = "") -> Format | None:
    """The format of different cells that are all numbers or blank, or None. `prefer` decides where marks do not."""
    present = filled(cells)
    found = _plain(present, prefer)
    if found is None and are_times(present):
        found = Format(HOURS, "times read as hours")
    found = found or _with_units(present, prefer)
    blank = next((c for c in cells if is_blank(c)), None)
    if found is None or blank is None:
        return found
    return Format(found.name, ", ".join(filter(None, (found.doubt, f"{blank.strip()!r} counts as empty"))))


def filled(cells: np.ndarray) -> np.ndarray:
    """Cells without those that stand for empty ones."""
    return np.array([c for c in cells if not is_blank(c)], dtype=object)


def is_blank(cell: str) -> bool:
    return cell.strip().casefold() in BLANKS


def codes(cells: np.ndarray) -> bool:
    """Whether whole numbers are codes: all of one length, which zeros in front bring about (01234, 99501)."""
    cells = filled(cells)
    lengths = {len(c) for c in cells}
    return (
        len(lengths) == 1 and min(lengths) > 2 and all(c.isdigit() for c in cells) and any(c[0] == "0" for c in cells)
    )


def _with_units(cells: np.ndarray, prefer: str) -> Format | None:
    parts = [_split(c) for c in cells]
    units = {_singular(p["unit"]) if p else "" for p in parts}
    found = _plain(np.array([p["number"] if p else c for p, c in zip(parts, cells, strict=True)], dtype=object), prefer)
    if found is None:
        return None
    if units <= {"", *FACTORS} and units not in ({"m"}, {"b"}):
        unit, said = SCALED, "k, M and B read as thousands, millions and billions"
    elif len(units) == 1:
        unit = min(p["unit"].strip() for p in parts if p)
        said = f"unit {unit!r} left out"
    else:
        return None
    return Format(f"{found.name} {unit}", ", ".join(filter(None, (found.doubt, said))))


def _split(cell: str) -> re.Match[str] | None:
    return WITH_UNIT.fullmatch(cell.strip()) if len(cell) <= LENGTH else None


def _singular(unit: str) -> str:
    unit = unit.strip().casefold()
    return unit.removesuffix("s") if len(unit) > 2 else unit


def _plain(cells: np.ndarray, prefer: str) -> Format | None:
    found = _parts(cells)
    if found is None:
        return None
    marks = [name for name, mark in NUMBER_FORMATS.items() if all(GROUPED[mark].fullmatch(p.digits) for p in found)]
    if not marks:
        return None
    said = []
    name = prefer if prefer in marks else marks[0]
    shown = {mark for part in found for mark in set(part.digits) & set(",. '")}
    if len(marks) == 2 and shown & set(",."):
        mark = next(m for m in ",." if m in shown)
        said.append(f"{mark!r} assumed to be the {'decimal' if mark == NUMBER_FORMATS[name] else 'thousands'} mark")
    elif NUMBER_FORMATS[name] == "," and "," in shown:
        said.append("decimal comma")
    elif shown - set("."):
        said.append("thousands marks left out")
    said += ["percent signs left out"] * found[0].percent
    said += ["currency signs left out"] * any(re.search(MONEY, cell) is not None for cell in cells)
    return Format(name, ", ".join(said))


def settled(found: Format | None) -> bool:
    """Whether a format leaves no doubt, so that other columns of the table can be read after it."""
    return found is not None and "assumed" not in found.doubt


class _Parts(NamedTuple):
    negative: bool
    digits: str
    power: str
    percent: bool


def _part(cell: str) -> _Parts | None:
    if len(cell) > LENGTH:  # the pattern takes the square of the length
        return None
    text = cell.translate(SPACES).strip()
    found = NUMBER.fullmatch(re.sub(r"(?<!\d) | (?!\d)", "", text))
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    negative = found["open"] is not None or "-" in (found["sign"], found["inner"], found["after"])
    return _Parts(negative, found["digits"], found["power"] or "", found["percent"] is not None)


def _parts(cells: np.ndarray) -> list[_Parts] | None:
    """The parts of numbers, if all cells are numbers, and all of them are percentages or none."""
    found: list[_Parts] = []
    for cell in cells:
        part = _part(cell)
        if part is None or (found and part.percent != found[0].percent):
            return None
        found.append(part)
    return found or None


def _number(cell: str, mark: str) -> float:
    """A cell as a number, or NaN."""
    part = _part(cell)
    if part is None or not GROUPED[mark].fullmatch(part.digits):
        return np.nan
    digits = re.sub(r"[ ']" + ("|," if mark == "." else r"|\."), "", part.digits).replace(mark, ".")
    return (-1 if part.negative else 1) * float(digits + part.power)


def date_format(cells: np.ndarray, prefer: str = "") -> Format | None:
    """The format of cells that are all dates or blank, or None; `prefer` names another column's order of the day."""
    import pandas as pd

    cells = short_months(filled(cells))
    if not len(cells) or any(len(c) > LENGTH or not re.search(r"\d", c) for c in cells):
        return None
    if all(ISO_CELL.fullmatch(c) for c in cells):
        return Format(f"date: {ISO}") if pd.to_datetime(cells, **_how(ISO)).notna().all() else None
    few = cells[:5]
    if not LETTERS.issuperset(WORD.findall(" ".join(few).casefold())):
        return None
    for name in _likely(few)[1:]:
        form = name.removeprefix("date: ")
        if pd.to_datetime(few, **_how(form)).isna().any() or pd.to_datetime(cells, **_how(form)).isna().any():
            continue
        other = SWAPPED.get(form[:5], "") + form[5:]
        if form[:5] in SWAPPED and pd.to_datetime(cells, **_how(other)).notna().all():
            form = other if prefer[:2] == other[:2] else form
            return Format(f"date: {form}", f"dates assumed to be {spoken(form)}")
        return Format(name, f"dates read as {spoken(form)}")
    return None


def _likely(cells: np.ndarray) -> list[str]:
    """The formats that more than half of some cells can have: ISO, and those with the same marks."""
    marks = [re.sub(r"[\w\s]", "", cell) for cell in cells]
    most = max(set(marks), key=marks.count)
    return [DATE_FORMATS[0], *(name for name, own in MARKS_OF_DATES.items() if own == most)]


def no_numbers(cells: np.ndarray) -> np.ndarray:
    """Which cells are no numbers, with the decimal mark that leaves the fewest."""
    return min((np.isnan(reader(form)(cells)) for form in NUMBER_FORMATS), key=lambda wrong: int(wrong.sum()))


def no_dates(cells: np.ndarray) -> np.ndarray:
    """Which cells are no dates in the format that most of them have; all if there is none for nine tenths."""
    import pandas as pd

    few = short_months(cells[:20])
    like = [
        c for c in few if len(c) <= LENGTH and LIKE_DATE.search(c) and LETTERS.issuperset(WORD.findall(c.casefold()))
    ]
    for name in _likely(few) if len(like) >= 0.9 * len(few) else ():
        how = _how(name.removeprefix("date: "))
        if np.mean(pd.to_datetime(few, **how).notna()) >= 0.9:
            return np.asarray(pd.to_datetime(short_months(cells), **how).isna())
    return np.ones(len(cells), dtype=bool)


def several_formats(cells: np.ndarray) -> bool:
    """Whether all cells are dates, but in two or three formats."""
    import pandas as pd

    cells = short_months(filled(cells))
    if not len(cells) or not all(len(c) <= LENGTH and LIKE_DATE.search(c) for c in cells):
        return False
    for _ in range(3):
        few = cells[:1]
        fits = (f for f in _likely(few) if pd.to_datetime(few, **_how(f.removeprefix("date: "))).notna().all())
        rest = (cells[pd.to_datetime(cells, **_how(f.removeprefix("date: "))).isna()] for f in fits)
        cells = min(rest, key=len, default=cells)
        if not len(cells):
            return True
    return False


def spoken(form: str) -> str:
    names = {"%Y": "year", "%y": "year", "%m": "month", "%b": "month", "%B": "month", "%d": "day", "%H": "hour"}
    names |= {"%I": "hour", "%M": "minute", "%S": "second", "%p": "am/pm"}
    return re.sub("%.", lambda found: names[found[0]], form)


def _how(form: str) -> dict[str, Any]:
    return dict(format=form.replace("%B", "%b"), errors="coerce", utc=True)


def reader(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """The function that reads an array of text in a format: floats; dates become seconds; NaN where it cannot."""
    if name.startswith("number: "):
        read = hours if name == HOURS else _unit_reader(*_mark_and_unit(name))
        return lambda cells: np.array([read(c) for c in cells], dtype=np.float64)
    form = name.removeprefix("date: ")

    def seconds(cells: np.ndarray) -> np.ndarray:
        import pandas as pd

        return seconds_of(pd.to_datetime(short_months(cells), **_how(form)))

    return seconds


def readable(name: str) -> bool:
    """Whether `reader` knows a format."""
    return name in (HOURS, *DATE_FORMATS) or _mark_and_unit(name)[0] != ""


def _mark_and_unit(name: str) -> tuple[str, str]:
    base = next((known for known in NUMBER_FORMATS if name == known or name.startswith(f"{known} ")), "")
    return NUMBER_FORMATS.get(base, ""), name[len(base) + 1 :]


def _unit_reader(mark: str, unit: str) -> Callable[[str], float]:
    """Reads a cell with this unit or without one; any other unit is NaN."""
    factors = FACTORS if unit == SCALED else {_singular(unit): 1.0}

    def read(cell: str) -> float:
        plain = _number(cell, mark)
        found = _split(cell) if unit and np.isnan(plain) else None
        return (
            plain if found is None else _number(found["number"], mark) * factors.get(_singular(found["unit"]), np.nan)
        )

    return read


def seconds_of(dates: Any) -> np.ndarray:
    """Dates of pandas as seconds since 1970, NaN where there is none."""
    naive = dates.tz_localize(None) if dates.tz is not None else dates
    whole = naive.astype("datetime64[us]")
    return np.where(naive.isna(), np.nan, whole.astype("int64") / 1e6)
