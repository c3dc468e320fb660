"""Supervised Isomap, paper 5: python -m benchmarks.isomap [toy isolet isolet-all control reach mnist] [--out file]

    toy, isolet   table 2 of Silva and Ribeiro (2009): 300 rows to 10 dimensions, 2,500 balanced rows to 200 (means of
                  five draws), with the printed figures, and beside them the nearest neighbor and tuned linear and RBF
                  machines on the features themselves
    isolet-all    the same on all 6,238 training rows (with landmarks)
    control       real and shuffled labels: training and held-out accuracy
    reach         all of ISOLET against scikit-learn's Isomap at the same neighbors: exact, and with landmarks
    mnist         60,000 x 784 with landmarks: seconds and memory

Errors are percentages of the test rows: of all rows; averaged over classes, (false positives + false negatives) / rows;
and the averaged F1. A tuned machine has the best point of a small grid by three-fold cross-validation on training rows
of the first draw (1,500 of them where there are more).
"""

import argparse
import csv
import datetime
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.manifold import Isomap
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from polymargin import EmbeddingDisplay, JointSVC, KernelSearchCV, PairwiseSVC, StructuredSVC, SupervisedIsomap
from polymargin.datasets import DatasetNotFound, load
from polymargin.manifold import classical_scaling as scaling
from polymargin.papers.isomap import DIMENSIONS as PAPER_DIMENSIONS
from polymargin.papers.isomap import DRAWS
from polymargin.papers.isomap import rows as balanced

from .run import machine as this_computer

NAMES = ("toy", "isolet", "isolet-all", "control", "reach", "mnist")
# Printed: global error, average error and average F1, for the SVM and for the framework.
PRINTED = {
    "toy": ((48.65, 13.90, 11.49), (38.55, 10.67, 34.46)),
    "isolet": ((19.63, 1.51, 79.15), (12.44, 0.96, 87.44)),
}
DIMENSIONS = {name.lower(): m for name, m in PAPER_DIMENSIONS.items()}
FIELDS = (
    "date",
    "part",
    "what",
    "error",
    "average_error",
    "average_f1",
    "train",
    "seconds",
    "ratio",
    "note",
    "cpu",
    "versions",
)
console = Console(width=140)


def rows_of(name, draw=0):
    """Training and test rows and labels; "isolet" has 2,500 training rows with 96 or 97 of every letter."""
    if name == "isolet":
        X, y, X_test, y_test = balanced("ISOLET", False, draw)
    else:
        data = load(name.removesuffix("-all"))
        X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    return np.ascontiguousarray(X, dtype=np.float64), y, np.ascontiguousarray(X_test, dtype=np.float64), y_test


def errors(y, guess):
    """Global error, average error per class, average F1, in per cent."""
    classes = np.unique(y)
    wrong = np.mean([np.mean((y == c) != (guess == c)) for c in classes])
    f1 = f1_score(y, guess, labels=classes, average="macro", zero_division=0)
    return 100 * np.mean(y != guess), 100 * wrong, 100 * f1


def tuned(search, X, y):
    """The machine with the best parameters of a search on some rows, and these as text."""
    some = train_test_split(X, y, train_size=1500, random_state=0)[::2] if len(y) > 1500 else (X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        best = search.fit(*some).best_params_
    return clone(search.estimator).set_params(**best), " ".join(f"{k}={v:g}" for k, v in best.items())


def machines(m, X):
    """What table 2 compares: estimators, and searches."""
    baseline = dict(scaling="svm-multiclass", intercept="none")
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scale = 1 / (X.shape[1] * X.var())
    rbf = dict(C=[1.0, 10.0, 100.0], gamma=[0.1 * scale, 0.3 * scale, scale, 3 * scale], cv=folds, refit=False)
    return {
        # At so small a c nearly nothing of the objective is the weights'.
        "SVM-multiclass, c = 0.01": StructuredSVC(0.01, **baseline, tol=1e-7),
        "SVM-multiclass, c = 5000": StructuredSVC(5000, **baseline),
        "framework, spread 0.95": make_pipeline(SupervisedIsomap(n_components=m, spread=0.95), StructuredSVC()),
        "framework, spread 0.95, offset inside": make_pipeline(
            SupervisedIsomap(n_components=m, spread=0.95, offset="inside"), StructuredSVC()
        ),
        "framework, spread auto": make_pipeline(SupervisedIsomap(n_components=m), StructuredSVC()),
        "nearest neighbor": KNeighborsClassifier(1),
        "linear, tuned": GridSearchCV(StructuredSVC(), {"C": [0.001, 0.01, 0.1, 1.0]}, cv=folds, refit=False),
        "one-vs-one RBF, tuned": KernelSearchCV(PairwiseSVC(), **rbf),
        "crammer-singer RBF, tuned": KernelSearchCV(JointSVC("crammer-singer"), **rbf),
        "scatter RBF, tuned": KernelSearchCV(JointSVC("scatter"), **rbf),
    }


def table2(name):
    base = name.removesuffix("-all")
    for what, printed in zip(("SVM, as printed", "framework, as printed"), PRINTED[base], strict=True):
        yield dict(what=what, figures=printed, train=300 if base == "toy" else 2500)
    draws = [rows_of(name, draw) for draw in range(DRAWS if name == "isolet" else 1)]
    for what, machine in machines(DIMENSIONS[base], draws[0][0]).items():
        note, found, begin = "", [], time.perf_counter()
        if hasattr(machine, "cv"):
            machine, note = tuned(machine, *draws[0][:2])
        for X, y, X_test, y_test in draws:
            model = clone(machine).fit(X, y)
            found.append(errors(y_test, model.predict(X_test)))
        if what.endswith("auto"):
            note = f"spread {model[0].grnn_.spread_:.3g}, {model[0].n_components_} dimensions"
        if len(found) > 1:
            note = f"{note} errors {', '.join(f'{error:.2f}' for error, _, _ in found)}".strip()
        seconds = time.perf_counter() - begin
        yield dict(what=what, figures=tuple(np.mean(found, axis=0)), train=len(y), seconds=seconds, note=note)


def control():
    """Held-out accuracy under real and under shuffled labels, in 2 and in 25 dimensions."""
    X, y, X_test, y_test = rows_of("isolet")
    for m in (2, 25):
        display = EmbeddingDisplay.from_permuted(SupervisedIsomap(n_components=m), X, y, X_test, y_test)
        for name, (seen, held) in display.accuracies_.items():
            yield dict(
                what=f"{name} labels, {m} dimensions", train=len(y), note=f"training {seen:.3f}, held-out {held:.3f}"
            )


def reach():
    X, y, _, _ = rows_of("isolet-all")
    k = 10
    SupervisedIsomap(alpha=None).fit(X[:500])  # threads and BLAS are awake
    begin = time.perf_counter()
    peer = Isomap(n_neighbors=k).fit(X)
    seconds = time.perf_counter() - begin
    variance = scaling.residual_variance(peer.dist_matrix_, np.arange(len(y)), peer.embedding_)
    yield dict(
        what="scikit-learn Isomap", train=len(y), seconds=seconds, ratio=1.0, note=f"residual variance {variance:.4f}"
    )
    for what, alpha, landmarks in (
        ("plain, exact", None, None),
        ("plain, landmarks", None, "auto"),
        ("supervised, exact", 0.65, None),
        ("supervised, landmarks", 0.65, "auto"),
    ):
        begin = time.perf_counter()
        model = SupervisedIsomap(n_neighbors=k, alpha=alpha, n_landmarks=landmarks).fit(X, y)
        took = time.perf_counter() - begin
        if landmarks is None:
            exact = model.dist_matrix_
        variance = scaling.residual_variance(exact, np.arange(len(y)), model.embedding_)
        note = f"residual variance {variance:.4f} from all paths, {len(model.landmarks_)} landmarks"
        yield dict(what=what, train=len(y), seconds=took, ratio=seconds / took, note=note)


def mnist():
    data = load("mnist")
    X, X_test = (np.ascontiguousarray(part, dtype=np.float32) / 255 for part in (data.X_train, data.X_test))
    begin = time.perf_counter()
    model = SupervisedIsomap(n_components=10, verbose=1).fit(X, data.y_train)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    guess = KNeighborsClassifier(1).fit(model.embedding_, data.y_train).predict(model.transform(X_test))
    note = f"{len(model.landmarks_)} landmarks, residual variance {model.residual_variance_:.3f}, peak {peak:.1f} GB"
    yield dict(
        what="MNIST, 10 dimensions", train=len(X), seconds=seconds, figures=errors(data.y_test, guess), note=note
    )


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.isomap", description="supervised Isomap, paper 5")
    parser.add_argument("names", nargs="*", help=f"of {' '.join(NAMES)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("isomap.csv"), help="CSV that rows are appended to")
    args = parser.parse_args()
    here = this_computer()
    for name in args.names or NAMES:
        part = {"control": control, "reach": reach, "mnist": mnist}.get(name) or (lambda name=name: table2(name))
        table = Table(title=name)
        for column in ("", "error %", "average error %", "average F1", "rows", "seconds", "times faster", ""):
            table.add_column(column, justify="left" if not column else "right")
        new = not args.out.exists()
        try:
            for row in part():
                figures = row.pop("figures", None) or ("", "", "")
                row |= dict(zip(("error", "average_error", "average_f1"), figures, strict=True))
                shown = [f"{v:.2f}" if isinstance(v, float) else str(v) for v in (row.get(f, "") for f in FIELDS[3:9])]
                table.add_row(row["what"], *shown, row.get("note", ""))
                with args.out.open("a", newline="") as f:
                    writer = csv.DictWriter(f, FIELDS, extrasaction="ignore")
                    if new:
                        writer.writeheader()
                    new = False
                    writer.writerow({"date": datetime.date.today().isoformat(), "part": name, **row, **here})
        except DatasetNotFound as reason:
            console.print(f"{name}: skipped, {reason}")
            continue
        console.print(table)


if __name__ == "__main__":
    main()
