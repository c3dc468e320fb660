"""Names of months in dates, in seven languages: March 3rd, 2024, 3. März 2024, 1er févr. 2024, 3 de mayo de 2024."""

from __future__ import annotations

import calendar
import re
from functools import cache

import numpy as np

from .times import LONGEST

NAMES = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
)
KNOWN = [(name, k) for names in NAMES for k, name in enumerate(names.split(), 1)]
OTHERS = {"mrz": 3, "jänner": 1, "jän": 1, "feber": 2}  # other German names
WORD = re.compile(r"[^\W\d_]+\.?")
ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er|[.ºª])(?=,? )")
OF = re.compile(r" de(?= )")


@cache
def month(word: str) -> int | None:
    """1 to 12 if the word is, or begins, the name of one month only."""
    word = word.casefold().removesuffix(".")
    found = {k for name, k in KNOWN if name.startswith(word)} if len(word) > 2 else set()
    return OTHERS.get(word) or (found.pop() if len(found) == 1 else None)


def short_months(cells: np.ndarray) -> np.ndarray:
    """Dates with the three letters of English months and without ordinals; other cells as they are."""
    return np.array([_shortened(cell) for cell in cells], dtype=object)


def _shortened(cell: str) -> str:
    if len(cell) > LONGEST or not any(c.isalpha() for c in cell):
        return cell

    def short(word: re.Match[str]) -> str:
        k = month(word[0])
        return word[0] if k is None else calendar.month_abbr[k]

    return WORD.sub(short, OF.sub("", ORDINAL.sub("", cell)))
