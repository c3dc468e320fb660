"""`python -m polymargin.demo`: the scatter machine and scikit-learn's SVC on handwritten digits, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from . import JointSVC, __version__

# One setting for all machines: a compromise, not tuned for each of them.
PARAMETERS = dict(C=10, gamma=0.5)
MACHINES = {
    "scatter, hinge": JointSVC(**PARAMETERS),
    "scatter, squared hinge": JointSVC(loss="squared_hinge", **PARAMETERS),
    "scatter, logistic": JointSVC(loss="logistic", **PARAMETERS),
    "scatter, exact intercept": JointSVC(intercept="exact", **PARAMETERS),
    "scikit-learn SVC": SVC(**PARAMETERS),
}
NEXT = """
What to try next
  JointSVC(nu=0.1)                  at most a tenth of the rows in the margin
  JointSVC(class_weight="balanced") rare classes count as much as frequent ones
  JointSVC(kernel="laplacian")      linear, poly, ..., or a function of your own
  JointSVC(time_limit=60)           stops in time and reports the gap
  GridSearchCV(JointSVC(), ...)     searches, pipelines and pickles work
Read docs/index.md for what the numbers mean; run make test to see them checked."""


def best_of(k: int, work: Callable[[], Any]) -> tuple[Any, float]:
    """The last result and the shortest time of k runs."""
    seconds = []
    for _ in range(k):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return result, min(seconds)


def main(console: Console | None = None) -> None:
    console = console or Console()
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, test_size=0.5, stratify=y, random_state=0)
    table = Table(
        title=f"polymargin {__version__} on digits: {len(y)} training rows, {len(y_test)} test rows, 10 classes",
        caption="RBF kernel, C = {C}, gamma = {gamma} for all, not tuned for each; times\n"
        "are the best of 3 runs, gap is the certified relative duality gap".format(**PARAMETERS),
    )
    table.add_column("machine", no_wrap=True)
    for name in ("test\naccuracy", "support\nvectors", "fit\nseconds", "predict\nseconds", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, machine in MACHINES.items():
        model, fit_seconds = best_of(3, lambda m=machine: m.fit(X, y))
        predicted, predict_seconds = best_of(3, lambda m=model: m.predict(X_test))
        gap = f"{model.duality_gap_:.0e}" if isinstance(model, JointSVC) else "-"
        accuracy, n_support = (predicted == y_test).mean(), sum(model.n_support_)
        table.add_row(name, f"{accuracy:.4f}", str(n_support), f"{fit_seconds:.4f}", f"{predict_seconds:.4f}", gap)
    console.print(table)
    console.print(NEXT, markup=False, highlight=False)


if __name__ == "__main__":
    main()
