"""The pictures that the command line writes: the features that decide, and machines beside one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inspection.displays import SensitivityDisplay, pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CLASSES = 12  # classes with a panel of their own
MOST_TICKS = 4
BLUE = "#0072B2"


def feature_picture(features: list[dict[str, Any]], classes: list[str]) -> Figure:
    """Bars of the features of `sensitivity_facts`, in their order: of all classes, then of each if they are few.

    Between two classes a feature that tells one tells the other, so that one panel is enough.
    """
    shares = np.array([[f["share"], *f["per class"]] for f in features]).T
    titles = ["all classes", *classes] if 2 < len(classes) <= MOST_CLASSES else ["all classes"]
    names = [f["name"] for f in features]
    display = SensitivityDisplay(shares[: len(titles)], titles, feature_names=names, top=len(names)).plot()
    for axes in display.axes_:  # one scale, so that panels can be compared
        axes.set(xlabel="share of the squared slopes", xlim=(0, 1.05 * max(shares[: len(titles)].max(), 1e-3)))
    return display.figure_


def few_decimals(axes: Any, values: np.ndarray) -> None:
    """At most four ticks of 1, 2 and 5 times powers of ten below a logarithmic axis, the outer ones around the values.

    Matplotlib names every minor tick of less than a decade, in powers that are longer than the gaps between them.
    """
    values = np.maximum(values, 1e-6)
    powers = 10.0 ** np.arange(np.floor(np.log10(values.min())), np.ceil(np.log10(values.max())) + 1)
    steps = np.unique(np.outer([0.2, 0.5, 1, 2, 5], powers).round(9))
    first = max(np.searchsorted(steps, values.min(), "right") - 1, 0)
    last = min(np.searchsorted(steps, values.max(), "left"), len(steps) - 1)
    ticks = steps[first : max(last, first + 1) + 1]
    if len(ticks) > MOST_TICKS:
        ticks = powers[:: -(-len(powers) // MOST_TICKS)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    low, high = min(ticks[0], values.min()), max(ticks[-1], values.max())
    room = max((high / low) ** 0.06, 1.1)  # marks and the outer numbers stay inside
    axes.set_xlim(low / room, high * room)


def comparison_picture(found: list[dict[str, Any]]) -> Figure:
    """Accuracy with the spread of the folds, time and support vectors of every machine, the most accurate on top."""
    found = sorted(found, key=lambda row: -row["accuracy"])[::-1]  # of equal ones the first on top
    at = np.arange(len(found))
    accuracy, spread, seconds, vectors = (
        np.array([row[name] for row in found], dtype=float)
        for name in ("accuracy", "spread", "seconds", "support_vectors")
    )
    figure = pyplot().figure(figsize=(9.0, 1.1 + 0.28 * len(found)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1)
    panels = figure.subplots(1, 3, sharey=True, width_ratios=(2, 1, 1))
    reach = np.vstack([np.minimum(spread, accuracy), np.minimum(spread, 1 - accuracy)])  # no accuracy is beyond 0 or 1
    panels[0].errorbar(accuracy, at, xerr=reach, fmt="o", color=BLUE, capsize=3)
    panels[0].set_yticks(at, [row["machine"] for row in found])
    panels[0].set_xlabel("accuracy, and its spread over the folds")
    panels[1].plot(seconds, at, "o", color=BLUE)
    panels[1].set(xscale="log", xlabel="seconds to train")
    few_decimals(panels[1], seconds)
    panels[2].plot(vectors, at, "o", color=BLUE)
    panels[2].set(xlabel="support vectors", xlim=(0, 1.1 * max(vectors.max(), 1)))
    for axes in panels:
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
    for axes in (panels[0], panels[2]):
        axes.locator_params(axis="x", nbins=4)
    return figure
