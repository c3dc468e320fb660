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

GAMMA = 0.05
# C from 5-fold cross-validation on the training half.
MACHINES = {
    "scatter, hinge": JointSVC(C=10, gamma=GAMMA),
    "scatter, squared hinge": JointSVC(loss="squared_hinge", C=10, gamma=GAMMA),
    "scatter, logistic": JointSVC(loss="logistic", C=10, gamma=GAMMA),
    "scatter, exact intercept": JointSVC(intercept="exact", C=10, gamma=GAMMA),
    "scikit-learn SVC": SVC(C=10, gamma=GAMMA),
}
NEXT = """\
What to try next
  JointSVC(nu=0.1)                        nu bounds the share of rows inside the margin, and needs no search over C
  JointSVC(class_weight="balanced")       rare classes count as much as frequent ones; fit(X, y, sample_weight) too
  JointSVC(kernel="poly", coef0=1)        other kernels: linear, cosine, laplacian, sigmoid, precomputed, your own function
  GridSearchCV(JointSVC(), {"C": ...})    it is a scikit-learn estimator: searches, pipelines and pickles work
  make test, docs/index.md                what the numbers mean, and that they are right"""


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
        caption=f"RBF kernel, gamma = {GAMMA}; times are the best of 3 runs, gap is the certified relative duality gap",
    )
    table.add_column("machine", no_wrap=True)
    for name in ("test accuracy", "support vectors", "fit seconds", "predict seconds", "gap"):
        table.add_column(name, justify="right")
    for name, machine in MACHINES.items():
        model, fit_seconds = best_of(3, lambda m=machine: m.fit(X, y))
        predicted, predict_seconds = best_of(3, lambda m=model: m.predict(X_test))
        gap = f"{model.duality_gap_:.0e}" if isinstance(model, JointSVC) else "not given"
        accuracy, n_support = (predicted == y_test).mean(), sum(model.n_support_)
        table.add_row(name, f"{accuracy:.4f}", str(n_support), f"{fit_seconds:.4f}", f"{predict_seconds:.4f}", gap)
    console.print(table)
    console.print(NEXT, markup=False, highlight=False)


if __name__ == "__main__":
    main()
