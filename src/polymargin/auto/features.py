"""Features that the columns of a table become: numbers to be scaled, and 0 or 1 for words."""

from __future__ import annotations

import numpy as np

from .cells import Words
from .columns import DAY, MONTHS, WEEKDAYS, Column, ReadTable, calendar, words_in


def number_names(plan: list[Column]) -> list[str]:
    """The columns of `numbers`."""
    names = []
    for column in plan:
        if column.used_as in ("number", "date"):
            names.append(column.name)
        if column.used_as == "date" and column.rest:
            names.append(f"{column.name}: hour")
    return names


def numbers(table: ReadTable) -> np.ndarray:
    """Numbers, days of dates and their hours; NaN where a cell is empty."""
    found = []
    for column, values in zip(table.plan, table.columns, strict=True):
        if column.used_as in ("number", "date"):
            found.append(values)
        if column.used_as == "date" and column.rest:
            found.append(np.mod(values, DAY) / 3600)
    return np.column_stack(found) if found else np.zeros((len(table), 0))


def flag_names(column: Column) -> list[str]:
    """The columns of `flags`."""
    if column.used_as == "text":
        return [f'{column.name} has "{word}"' for word in column.words]
    if column.used_as == "date":
        return [f"{column.name}: {word}" for word in column.words]
    return [f"{column.name} = {word}" for word in (*column.words, *["other words"] * column.rest)]


def flags(column: Column, values: np.ndarray | Words) -> np.ndarray:
    """Which words a column has in every row, (n, number of words)."""
    if isinstance(values, Words):
        hits = _hits(column, values.known)
        return np.vstack([hits, np.zeros((1, hits.shape[1]), dtype=bool)])[values.codes]
    empty = np.isnan(values)
    months, weekdays = calendar(np.where(empty, 0.0, values))
    hits = (MONTHS[months][:, None] == column.words) | (WEEKDAYS[weekdays][:, None] == column.words)
    return hits & ~empty[:, None]


def _hits(column: Column, known: np.ndarray) -> np.ndarray:
    at = {word: k for k, word in enumerate(column.words)}
    hits = np.zeros((len(known), len(at) + (column.used_as == "category" and column.rest)), dtype=bool)
    for i, cell in enumerate(known):
        for word in words_in(cell) if column.used_as == "text" else (cell,):
            if word in at:
                hits[i, at[word]] = True
    if column.used_as == "category" and column.rest:
        hits[:, -1] = ~hits[:, :-1].any(axis=1)
    return hits
