"""A table or figure of a paper as data: what is printed, how each cell is computed again, and when ours is as good."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Place = tuple[str, str, str]  # row, column, measure
Value = tuple[float | Any, float | None]  # a mean and its standard deviation; None: not printed

NEAR = "methods near cross-validation"
# What a measure is compared by. "low", "high": as good when not worse than printed by more than the printed standard
# deviation, or one point where none is printed. "ratio": seconds, compared as ratio to the reference column of the
# same row and run; as good when our ratio is not above the printed one. "info": shown, not judged.
MEASURES = {
    "error [%]": "low",
    "accuracy [%]": "high",
    "F1 [%]": "high",
    "train [s]": "ratio",
    "test [s]": "ratio",
    "train + test [s]": "ratio",
    "test error [%]": "info",
    "test accuracy [%]": "info",
    "balanced accuracy [%]": "info",
    NEAR: "info",
    "support vectors": "info",
    "iterations": "info",
    "evaluations": "info",
    "correlation": "info",
    "value": "info",
}
POINT = 1.0


class LeftOut(Exception):
    """A cell that is not computed, with the reason."""


@dataclass(frozen=True)
class Exhibit:
    """A table or figure.

    ``printed`` maps (row, column, measure) to (value, standard deviation or None). ``compute(row, column, fast)``
    returns our values, {measure: value or (value, deviation)}, for all measures of that place at once; after all of
    them ``clock(row, column, fast, result)`` adds the running times, with the methods of a row one after the other.
    ``own``: the columns that are the paper's own method. ``reference``: the column that times are divided by.
    ``fast_rows``: the rows of a fast run (None: all). ``draw(fast)`` draws a figure of the paper again; one that prints
    no number has a picture and no cells. ``decided``: what the paper leaves open and how it is decided here.
    ``reasons``: (row, column, measure) or (row, column) -> why ours is worse than printed, after a look. ``safe``:
    row -> why its cells could hardly have been worse than printed.
    """

    paper: str
    name: str  # "table 2", "figure 7"
    title: str
    where: str
    printed: Mapping[Place, Value] = field(default_factory=dict)
    compute: Callable[[str, str, bool], dict] | Any = None
    own: tuple[str, ...] = ()
    clock: Callable[[str, str, bool, dict], dict] | Any = None
    reference: str | None = None
    fast_rows: tuple[str, ...] | None = None
    draw: Callable[[bool], Figure] | Any = None
    decided: tuple[str, ...] = ()
    reasons: Mapping[tuple, str] = field(default_factory=dict)
    safe: Mapping[str, str] = field(default_factory=dict)

    def places(self, fast: bool = False) -> list[tuple[str, str]]:
        """The (row, column) pairs, in the printed order: each is one computation."""
        rows = self.fast_rows if fast else None
        return list(dict.fromkeys((row, column) for row, column, _ in self.printed if rows is None or row in rows))

    @property
    def key(self) -> str:
        return f"{self.paper}-{self.name.replace(' ', '-').lower()}"


def exhibits_of(paper: str, place: str) -> Callable[..., Exhibit]:
    """`exhibit(name, title, where, **parts)` of one paper; `where` it is printed there, by default under its name."""

    def exhibit(name: str, title: str, where: str = "", **parts: Any) -> Exhibit:
        return Exhibit(paper=paper, name=name, title=title, where=place + (where or name), **parts)

    return exhibit


def unprinted(rows: Iterable[str], columns: Iterable[str], *measures: str) -> dict[Place, Value]:
    """Cells for which the paper prints no number."""
    return dict.fromkeys(product(rows, columns, measures), (None, None))


def rows_of(printed: Mapping[Place, Value]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row for row, _, _ in printed))


def columns_of(printed: Mapping[Place, Value]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column for _, column, _ in printed))


def new_figure(rows: int = 1, columns: int = 1, width: float = 4.0, height: float = 3.4, **how: Any) -> tuple[Any, Any]:
    """A figure with a grid of axes, each of this size in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **how)


def pair(value: float | Value) -> Value:
    return (value[0], value[1]) if isinstance(value, tuple | list) else (value, None)


# What stands behind a printed deviation: ten folds, a hundred halves.
REPEATS = {"scatter": 10, "criteria": 100}
HALF = POINT / 2


def two_standard_errors(cell: Mapping[str, Any]) -> float:
    """Of the difference of our mean and the printed one; half a point where one of them has no deviation."""
    if cell["printed_sd"] is None or cell["ours_sd"] is None:
        return HALF
    return float(2 * ((cell["printed_sd"] ** 2 + cell["ours_sd"] ** 2) / REPEATS[cell["paper"]]) ** 0.5)


# From the verdict of this page to the strictest: by how much a cell may be worse than printed.
RULES: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "by at most the printed deviation, or one point where none is printed": lambda c: (
        POINT if c["printed_sd"] is None else c["printed_sd"]
    ),
    "by at most one point": lambda c: POINT,
    "by at most two standard errors of the difference, or half a point where no deviation is printed": (
        two_standard_errors
    ),
    "not at all": lambda c: 0.0,
}


def counts(cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many of the judged cells keep to each of the rules."""

    def worse(c: Mapping[str, Any]) -> float:
        return c["difference"] if MEASURES[c["measure"]] == "low" else -c["difference"]

    return {rule: sum(worse(c) <= allowed(c) + 1e-9 for c in cells) for rule, allowed in RULES.items()}


def as_good(measure: str, printed: Value, ours: float) -> bool | None:
    """Whether ours is at least as good as printed; None where a measure is not judged."""
    value, deviation = printed
    if value is None:
        return None
    tolerance = (POINT if deviation is None else deviation) + 1e-9
    return {
        "low": ours <= value + tolerance,
        "high": ours >= value - tolerance,
        "ratio": ours <= value * (1 + 1e-9),
        "info": None,
    }[MEASURES[measure]]


def compare(exhibit: Exhibit, results: Mapping[tuple[str, str], dict]) -> list[dict]:
    """One record per printed cell: printed, ours, difference, verdict. Times become ratios to the reference column.

    Cells without a result have ours = None. With a reference column, seconds of that column itself are left out.
    """
    records = []
    for (row, column, measure), printed in exhibit.printed.items():
        result = results.get((row, column), {})
        value, deviation = pair(result[measure]) if measure in result else (None, None)
        record: dict[str, Any] = dict(
            paper=exhibit.paper, exhibit=exhibit.name, row=row, column=column, measure=measure
        )
        if MEASURES[measure] == "ratio":
            if exhibit.reference is None or column == exhibit.reference:
                continue
            base = results.get((row, exhibit.reference), {})
            under = exhibit.printed.get((row, exhibit.reference, measure), (0.0, None))[0]
            if not under:
                continue
            value = value / pair(base[measure])[0] if value is not None and measure in base else None
            printed, deviation = (None if printed[0] is None else printed[0] / under, None), None
            record["measure"] = f"{measure.removesuffix(' [s]')} time / {exhibit.reference}"
        record |= dict(printed=printed[0], printed_sd=printed[1], ours=value, ours_sd=deviation)
        record["difference"] = None if value is None or printed[0] is None else value - printed[0]
        record["as_good"] = None if value is None else as_good(measure, printed, value)
        record["own"] = column in exhibit.own
        record["note"] = exhibit.reasons.get((row, column, measure), exhibit.reasons.get((row, column), ""))
        records.append(record)
    return records


def table(text: str, columns: tuple[str, ...], measures: tuple[str, ...]) -> dict[Place, Value]:
    """Read a printed table: one line per row, "name | cell | cell ...", each cell with its measures in turn.

    "97.33 ± 3.44" is a value with its deviation, "-" an empty place.
    """
    printed: dict[Place, Value] = {}
    for line in text.strip().splitlines():
        row, *cells = (part.strip() for part in line.split("|"))
        if len(cells) != len(columns):
            raise ValueError(f"expected {len(columns)} cells in the line of {row!r}, got {len(cells)}")
        for column, cell in zip(columns, cells, strict=True):
            values = cell.split(",")
            if len(values) != len(measures):
                raise ValueError(f"expected {len(measures)} values in {row!r}, {column!r}, got {cell!r}")
            for measure, value in zip(measures, values, strict=True):
                if value.strip() != "-":
                    mean, _, deviation = value.partition("±")
                    printed[row, column, measure] = (float(mean), float(deviation) if deviation else None)
    return printed
