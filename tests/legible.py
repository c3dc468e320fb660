"""Whether a picture can be read: the boxes of all texts that are drawn, measured."""

from unittest.mock import patch

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

SLACK = 1.0  # pixels: boxes are rounded
SMALLEST = 40  # pixels of a side of axes


def drawn_texts(figure):
    """(Text, box in pixels) of everything that is written when the figure is drawn."""
    found, draw = [], Text.draw

    def recorded(text, renderer, *more, **options):
        draw(text, renderer, *more, **options)
        if text.get_visible() and text.get_text().strip():
            found.append((text, Text.get_window_extent(text, renderer)))

    canvas = FigureCanvasAgg(figure)
    with patch.object(Text, "draw", recorded):
        canvas.draw()
    return found


def overlap(a, b):
    """How far two boxes reach into each other, in pixels; at most 0 if they do not."""
    return min(min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0))


def inside(a, b):
    return a.x0 >= b.x0 - SLACK and a.y0 >= b.y0 - SLACK and a.x1 <= b.x1 + SLACK and a.y1 <= b.y1 + SLACK


def faults(figure, found):
    """What cannot be read of the texts found in the figure, in words."""
    told = [f"{t.get_text()!r} leaves the figure" for t, box in found if not inside(box, figure.bbox)]
    boxes = np.array([box.extents for _, box in found]).reshape(-1, 4)
    low, high = np.maximum(boxes[:, None, :2], boxes[None, :, :2]), np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    for i, j in np.argwhere((high - low).min(axis=2) > SLACK):
        if i < j:
            told.append(f"{found[i][0].get_text()!r} is on {found[j][0].get_text()!r}")
    box_of = {id(text): box for text, box in found}
    for axes in figure.axes:
        around = axes.get_window_extent()
        if min(around.width, around.height) < SMALLEST and axes.get_label() != "<colorbar>":
            told.append(f"axes {axes.get_title()!r} have collapsed to {around.width:.0f} x {around.height:.0f} pixels")
        own = {id(text) for text in axes.texts}
        told += [
            f"{t.get_text()!r} leaves its axes"
            for t in axes.texts
            if id(t) in box_of and not inside(box_of[id(t)], around)
        ]
        cells = [cell for table in axes.tables for cell in table.get_celld().values()]
        legend = axes.get_legend()
        own |= {id(cell.get_text()) for cell in cells} | {id(t) for t in (legend.findobj(Text) if legend else ())}
        told += [
            f"{t.get_text()!r} is on the axes {axes.get_title()!r}"
            for t, box in found
            if id(t) not in own and axes.name != "3d" and overlap(box, around) > SLACK
        ]
        told += [
            f"{cell.get_text().get_text()!r} leaves its cell"
            for cell in cells
            if id(cell.get_text()) in box_of and not inside(box_of[id(cell.get_text())], cell.get_window_extent())
        ]
    return told


def assert_legible(figure):
    """No text outside the figure, its axes or its cell, none on another text or on a plot; no collapsed axes.

    Returns all that is written, without blanks: names are broken into lines.
    """
    found = drawn_texts(figure)
    assert faults(figure, found) == []
    return {letters(text.get_text()) for text, _ in found}


def letters(text):
    """A text without the breaks and signs that fitting it into a picture adds."""
    return text.replace("\\$", "$").replace("\n", "").replace(" ", "")
