"""Times of day and lengths of time as hours: 13:45, 7:45:30 pm, 9 am, 2h 50m, 1 day 3 hours."""

from __future__ import annotations

import re

import numpy as np

HOURS = "number: hours"  # the name of the format
LONGEST = 40  # no such cell is longer
CLOCK = re.compile(
    r"(?P<h>\d{1,3}):(?P<m>[0-5]\d)(:(?P<s>[0-5]\d))?|"
    r"(?P<h12>\d{1,2})(:(?P<m12>[0-5]\d))?(:(?P<s12>[0-5]\d))? ?(?P<half>[ap])\.?m\.?"
)
LASTING = re.compile(
    r"(?=\d)((?P<d>\d+) ?d(ays?)?)? ?((?P<h>\d+) ?h(rs?|ours?)?)? ?((?P<m>\d+) ?m(in(ute)?s?)?)? ?"
    r"((?P<s>\d+) ?s(ec(ond)?s?)?)?"
)
LENGTHS = {"d": 24.0, "h": 1.0, "m": 1 / 60, "s": 1 / 3600}


def are_times(cells: np.ndarray) -> bool:
    """Whether all cells are times; numbers of one unit (90 min) are left to those who look for units."""
    if not len(cells) or any(np.isnan(hours(c)) for c in cells):
        return False
    lasting = [found for c in cells if (found := _fullmatch(LASTING, c))]
    return not lasting or len({k for found in lasting for k, v in found.groupdict().items() if v}) > 1


def hours(cell: str) -> float:
    """A cell as hours, or NaN."""
    if found := _fullmatch(CLOCK, cell):
        if found["half"] is None:
            return int(found["h"]) + int(found["m"]) / 60 + int(found["s"] or 0) / 3600
        if not 1 <= int(found["h12"]) <= 12:
            return np.nan
        whole = int(found["h12"]) % 12 + 12 * (found["half"] == "p")
        return whole + int(found["m12"] or 0) / 60 + int(found["s12"] or 0) / 3600
    if found := _fullmatch(LASTING, cell):
        return sum(int(found[unit] or 0) * length for unit, length in LENGTHS.items())
    return np.nan


def _fullmatch(pattern: re.Pattern[str], cell: str) -> re.Match[str] | None:
    return pattern.fullmatch(cell.strip().casefold()) if len(cell) <= LONGEST else None
