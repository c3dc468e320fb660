"""Names in pictures: never cut off, never on top of one another.

A name is broken into lines that fit; a figure grows by the room that its names need; names inside a picture stand where
they cover the fewest marks. Sizes are measured, in inches or points, before anything is drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..files.whole_files import quiet_fonts

FEW_NAMES = 40  # classes whose names are written in a picture
LEADING = 1.25  # a line of text in units of its font size
GRID = 48  # places across the room of a picture that are tried for a name
PER_MARK = 20.0  # points that a name moves in order to cover one mark less


@cache
def size(text: str, fontsize: float, fontweight: str = "normal") -> tuple[float, float]:
    """Width and height of a text in inches."""
    from matplotlib.text import Text

    paper = blank_paper()
    with quiet_fonts():
        box = Text(0, 0, text, fontsize=fontsize, fontweight=fontweight, figure=paper).get_window_extent()
    return box.width / paper.dpi, box.height / paper.dpi


@cache
def blank_paper() -> Any:
    """A figure that is never shown, to measure on."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    paper = Figure(figsize=(1, 1), dpi=144)
    FigureCanvasAgg(paper)
    return paper


def sizes(texts: Iterable[str], fontsize: float, fontweight: str = "normal") -> np.ndarray:
    """Width and height of every text in inches, (n, 2)."""
    return np.array([size(text, fontsize, fontweight) for text in texts]).reshape(-1, 2)


def fold(name: Any, inches: float, fontsize: float, fontweight: str = "normal") -> str:
    """The whole name in lines no wider than this, broken at blanks, or in a word that is wider itself."""
    lines = str(name).split("\n")
    text = "\n".join(lines).replace("$", r"\$")  # a dollar is a dollar, not the beginning of a formula
    widest = size(text, fontsize, fontweight)[0]
    letters = max(map(len, lines))
    while widest > inches and letters > 1:
        letters = min(letters - 1, max(1, int(letters * inches / widest) + 1))
        parts = ["\n".join(textwrap.wrap(line, letters, drop_whitespace=True)) for line in lines]
        text = "\n".join(parts).replace("$", r"\$")
        widest = size(text, fontsize, fontweight)[0]
    return text


def legend_beside(axes: Any, handles: Sequence[Any], names: Iterable[Any], *, grows: bool, **how: Any) -> Any:
    """A legend to the right of the axes, in as many columns as it needs; a figure of our own grows by its width."""
    fontsize, figure = 8, axes.figure
    labels = [fold(name, 2.2, fontsize) for name in names]
    labels = [" " + label if label.startswith("_") else label for label in labels]  # else it would be left out
    height = sizes(labels, fontsize)[:, 1].sum() * 1.5 + 0.3 * bool(how.get("title"))
    columns = max(1, int(np.ceil(height / (figure.get_figheight() - 0.5))))
    legend = axes.legend(
        handles, labels, fontsize=fontsize, title_fontsize=9, ncols=columns, loc="upper left",
        bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0, **how,
    )  # fmt: skip
    if grows:
        box = legend.get_window_extent()
        wide, high = figure.get_size_inches()
        figure.set_size_inches(wide + box.width / figure.dpi + 0.1, max(high, box.height / figure.dpi + 0.6))
    return legend


def free_places(middles: np.ndarray, boxes: np.ndarray, marks: np.ndarray, room: np.ndarray) -> np.ndarray | None:
    """Centers for names near their middles: inside the room, off one another, on as few marks as possible.

    `boxes` are the widths and heights of the names, `marks` the places of all marks, `room` the lower left and upper
    right corner; all in points. None if there is no room for all names.
    """
    shape = np.maximum(np.ceil((room[1] - room[0]) / 4).astype(int), 1)  # cells of 4 points in which marks are counted
    count = np.histogramdd(np.clip(marks, *room), bins=shape, range=list(room.T))[0]
    total = np.pad(count.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    places, taken = np.empty_like(middles), np.zeros((0, 4))
    for k in np.argsort(-boxes[:, 0], kind="stable"):  # the widest first: they are the hardest to place
        half = boxes[k] / 2
        low, high = room[0] + half, room[1] - half
        if np.any(low > high):
            return None
        grid = np.stack(np.meshgrid(*np.linspace(low, high, GRID).T, indexing="ij"), axis=-1).reshape(-1, 2)
        home = np.clip([middles[k] + [0, boxes[k, 1]], middles[k]], low, high)
        grid = np.vstack([home, grid])
        apart = np.abs(grid[:, None] - taken[None, :, :2]) >= half + taken[None, :, 2:]
        grid = grid[apart.any(axis=2).all(axis=1)]
        if not len(grid):
            return None
        first = np.clip(((grid - half - room[0]) / 4).astype(int), 0, shape)
        last = np.clip(np.ceil((grid + half - room[0]) / 4).astype(int), 0, shape)
        (a, b), (c, d) = first.T, last.T
        covered = total[c, d] - total[a, d] - total[c, b] + total[a, b]
        cost = np.linalg.norm(grid - middles[k], axis=1) + PER_MARK * covered
        places[k] = grid[np.argmin(cost)]
        taken = np.vstack([taken, [*places[k], *half]])
    return places


def write_names(axes: Any, middles: np.ndarray, names: Iterable[Any], colors: Any, marks: np.ndarray) -> list[Any]:
    """The names at free places with a line to their middles; [] if they do not fit. The view must be final."""
    from matplotlib.patheffects import withStroke

    style: dict[str, Any] = dict(fontsize=10, fontweight="bold")
    with quiet_fonts():
        axes.figure.draw_without_rendering()  # so that the axes know their place
    unit = axes.figure.dpi / 72  # pixels in a point
    texts = [fold(name, 1.6, **style) for name in names]
    at = axes.transData.transform(middles) / unit
    box = axes.get_window_extent()
    room = np.array([[box.x0, box.y0], [box.x1, box.y1]]) / unit + [[3.0], [-3.0]]
    places = free_places(at, 72 * sizes(texts, **style) + 5.0, axes.transData.transform(marks) / unit, room)
    if places is None:
        return []
    written = []
    for text, middle, move, color in zip(texts, middles, (places - at).round(2), colors, strict=True):
        line = dict(arrowstyle="-", color=color, lw=0.6, shrinkA=0, shrinkB=0)
        written.append(
            axes.annotate(
                text, middle, tuple(move), textcoords="offset points", color=color, arrowprops=line, ha="center",
                va="center", zorder=10, **style,
            )
        )  # fmt: skip
        written[-1].set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    return written
