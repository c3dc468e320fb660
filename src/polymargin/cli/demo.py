"""`polymargin demo`: machines and scikit-learn's SVC on handwritten digits side by side, then a report."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from ..auto import AutoSVC
from ..joint import JointSVC
from ..reductions import PairwiseSVC
from ..report import write_report
from ..version import __version__

# One setting for all machines: a compromise, not tuned for each of them.
PARAMETERS: dict[str, Any] = dict(C=10, gamma=0.5)
MACHINES: dict[str, Any] = {
    "scatter, hinge": JointSVC("scatter", **PARAMETERS),
    "scatter, squared hinge": JointSVC("scatter", loss="squared_hinge", **PARAMETERS),
    "scatter, logistic": JointSVC("scatter", loss="logistic", **PARAMETERS),
    "scatter, exact intercept": JointSVC("scatter", intercept="exact", **PARAMETERS),
    "one-versus-one": PairwiseSVC(**PARAMETERS),
    "scikit-learn SVC": SVC(**PARAMETERS),
}
NEXT = """
What to try next
  polymargin fit data.csv --target y   the same for your own file
  AutoSVC().fit(X, y)               scales, chooses, tunes, trains, calibrates
  JointSVC("scatter", nu=0.1)       at most a tenth of the rows in the margin
  JointSVC(class_weight="balanced") rare classes count as much as frequent ones
  JointSVC(kernel="laplacian")      linear, poly, ..., or a function of your own
  JointSVC(time_limit=60)           stops in time and reports the gap
Read docs/theory.md for what the numbers mean; run make test to see them checked."""


def best_of(k: int, work: Callable[[], Any]) -> tuple[Any, float]:
    """The last result and the shortest time of k runs."""
    seconds = []
    for _ in range(k):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return result, min(seconds)


def digits() -> list[Any]:
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, test_size=0.5, stratify=y, random_state=0)


def compare(console: Console | None = None) -> None:
    """A table of all machines above."""
    console = console or Console()
    X, X_test, y, y_test = digits()
    table = Table(
        title=f"polymargin {__version__} on digits: {len(y)} training rows, {len(y_test)} test rows, 10 classes",
        caption="RBF kernel, C = {C}, gamma = {gamma} for all, not tuned for each; times\n"
        "are the best of 3 runs, gap is the certified relative duality gap".format(**PARAMETERS),
    )
    table.add_column("machine", no_wrap=True)
    for name in ("test\naccuracy", "support\nvectors", "fit\nseconds", "predict\nseconds", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, machine in MACHINES.items():
        model, fit_seconds = best_of(3, partial(machine.fit, X, y))
        predicted, predict_seconds = best_of(3, partial(model.predict, X_test))
        gap = f"{model.duality_gap_:.0e}" if hasattr(model, "duality_gap_") else "-"
        accuracy, n_support = (predicted == y_test).mean(), sum(model.n_support_)
        table.add_row(name, f"{accuracy:.4f}", str(n_support), f"{fit_seconds:.4f}", f"{predict_seconds:.4f}", gap)
    console.print(table)


def main(path: str | Path = "report.html", console: Console | None = None) -> None:
    """The table, then a tuned model and its report at `path`."""
    console = console or Console()
    compare(console)
    X, X_test, y, y_test = digits()
    model = AutoSVC().fit(X, y)
    for line in model.explain_choices_:
        console.print(f"• {line}", highlight=False, soft_wrap=True)
    path = write_report(
        model, X_test, y_test, path, title="Handwritten digits", source="scikit-learn's digits, test half"
    )
    console.print(f"\nThe report is at {path.resolve()}: open it in a browser.", highlight=False, soft_wrap=True)
    console.print(NEXT, markup=False, highlight=False)


if __name__ == "__main__":
    main()
