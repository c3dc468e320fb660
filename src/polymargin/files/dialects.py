"""Numbers and dates as people write them, read by column: -1.396,58, $1,234.00, 12.5%, 01.03.2024, 3/31/24.

One cell can be read in several ways ("1,234", "01/02/2024"), a column seldom: `number_format` and `date_format` find
the way in which all of its cells can be read, and `reader` is the function that reads them in that way. A format is a
string, so that a model file can hold it: "number: 1.234,5" or "date: %d.%m.%Y".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

MONEY = r"[$€£¥₹₩₽฿]|(?:US|CA|AU|NZ|HK)\$|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|INR|BRL|R\$"
NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-])?(?:{MONEY})?(?P<inner>[+-])?(?P<digits>[\d.,' ]*\d[\d.,' ]*)(?P<power>[eE][+-]?\d+)?"
    rf"(?:{MONEY}|(?P<percent>%))?(?P<close>\))?"
)
# How digits are grouped, by the decimal mark. In `number: 1.234,5` the text behind the colon is 1234.5 written so.
GROUPED = {
    ".": re.compile(r"(?:\d+|\d{1,3}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*)?(?:\.\d*)?"),
    ",": re.compile(r"(?:\d+|\d{1,3}(?P<group>[. '])\d{3}(?:(?P=group)\d{3})*)?(?:,\d*)?"),
}
NUMBER_FORMATS = {"number: 1,234.5": ".", "number: 1.234,5": ","}
SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})

# Days by what separates them and what comes first; where two fit, the first one is taken.
DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y"),
    *("%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
    *("%B %d %Y", "%b %Y", "%B %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
ISO = "ISO8601"
ISO_CELL = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
DATE_FORMATS = (f"date: {ISO}", *(f"date: {day}{time}" for day in DAYS for time in TIMES))
SWAPPED = {"%m/%d": "%d/%m", "%d/%m": "%m/%d", "%d-%m": "%m-%d", "%m-%d": "%d-%m"}
LENGTH = 40  # no date or number is longer


class Format(NamedTuple):
    """How the cells of a column are read; `doubt` says what was assumed where they can be read in two ways."""

    name: str
    doubt: str = ""


def number_format(cells: np.ndarray, prefer: str = "") -> Format | None:
    """The format of different cells that are all numbers, or None. `prefer` decides where the marks do not."""
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
        said.append(f"{mark!r} taken for the {'decimal' if mark == NUMBER_FORMATS[name] else 'thousands'} mark")
    elif NUMBER_FORMATS[name] == "," and "," in shown:
        said.append("decimal comma")
    elif shown - set("."):
        said.append("thousands marks left out")
    said += ["percent signs left out"] * found[0].percent
    said += ["currency signs left out"] * any(re.search(MONEY, cell) is not None for cell in cells)
    return Format(name, ", ".join(said))


def settled(found: Format | None) -> bool:
    """Whether a format leaves no doubt, so that other columns of the table can be read after it."""
    return found is not None and "taken for" not in found.doubt


class _Parts(NamedTuple):
    negative: bool
    digits: str
    power: str
    percent: bool


def _part(cell: str) -> _Parts | None:
    text = cell.translate(SPACES).strip()
    found = NUMBER.fullmatch(re.sub(r"(?<!\d) | (?!\d)", "", text))
    if found is None or len(cell) > LENGTH or (found["open"] is None) != (found["close"] is None):
        return None
    negative = found["open"] is not None or "-" in (found["sign"], found["inner"])
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
    """The format of different cells that are all dates, or None; `prefer` names another column's order of the day."""
    import pandas as pd

    if not len(cells) or any(len(c) > LENGTH or not re.search(r"\d", c) for c in cells):
        return None
    if all(ISO_CELL.fullmatch(c) for c in cells):
        return Format(f"date: {ISO}") if pd.to_datetime(cells, **_how(ISO)).notna().all() else None
    few = cells[:5]
    for name in DATE_FORMATS[1:]:
        form = name.removeprefix("date: ")
        if pd.to_datetime(few, **_how(form)).isna().any() or pd.to_datetime(cells, **_how(form)).isna().any():
            continue
        other = SWAPPED.get(form[:5], "") + form[5:]
        if form[:5] in SWAPPED and pd.to_datetime(cells, **_how(other)).notna().all():
            first = {"%d": "day", "%m": "month"}
            form = other if prefer[:2] == other[:2] else form
            return Format(f"date: {form}", f"dates read as {spoken(form)}, taken for the {first[form[:2]]} first")
        return Format(name, f"dates read as {spoken(form)}")
    return None


def spoken(form: str) -> str:
    names = {"%Y": "year", "%y": "year", "%m": "month", "%b": "month", "%B": "month", "%d": "day", "%H": "hour"}
    names |= {"%I": "hour", "%M": "minute", "%S": "second", "%p": "am/pm"}
    return re.sub("%.", lambda found: names[found[0]], form)


def _how(form: str) -> dict[str, Any]:
    return dict(format=form, errors="coerce", utc=True)


def reader(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """The function that reads an array of text in a format: floats; dates become seconds; NaN where it cannot."""
    if name in NUMBER_FORMATS:
        mark = NUMBER_FORMATS[name]
        return lambda cells: np.array([_number(c, mark) for c in cells], dtype=np.float64)
    form = name.removeprefix("date: ")

    def seconds(cells: np.ndarray) -> np.ndarray:
        import pandas as pd

        return seconds_of(pd.to_datetime(cells, **_how(form)))

    return seconds


def seconds_of(dates: Any) -> np.ndarray:
    """Dates of pandas as seconds since 1970, NaN where there is none."""
    naive = dates.tz_localize(None) if dates.tz is not None else dates
    whole = naive.astype("datetime64[us]")
    return np.where(naive.isna(), np.nan, whole.astype("int64") / 1e6)
