"""Model selection against grid search: python -m benchmarks.selection [digits liquid segment satimage dna toy]

digits    KernelSearchCV of PairwiseSVC and GridSearchCV of SVC with n_jobs=-1, the same 8 x 8 grid and the same five
          folds of all 1,797 rows, both with their last fit. SVC gives tied votes to the first class; scores are
          compared with those of SVC(break_ties=True), which has our rule and is not timed
liquid    the same search and liquidSVM's own five-fold selection on the same grid (C and gamma for every pair of
          classes, or for every class against the rest; no offset), where that library is installed; then both once more
          on two thirds of the rows, for an accuracy on the rest
segment, satimage, dna
          RadiusMarginSearch of PairwiseSVC, its check by cross-validation and its last fit included, and GridSearchCV
          of SVC with n_jobs=-1 on the paper's 30 x 30 grid with five folds. The latter takes hours, so its time is
          extrapolated: --sample points of the grid, drawn at random, are timed, and the sum is multiplied by
          900 / sample. Accuracy is that of a five-fold cross-validation at the chosen point (grid: the best of the
          sample).
toy       section VI-C: 52 features of which 2 are useful, criterion II, 100 splits of 300 rows; how often the two
          have the largest gammas

Both take turns in one process, ours first; every ratio is of one run. Real sets need POLYMARGIN_DATA.
"""

import argparse
import os
import sysconfig
import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold, cross_val_score, train_test_split
from sklearn.svm import SVC

from polymargin import JointSVC, KernelSearchCV, PairwiseSVC, RadiusMarginSearch

from . import datasets

console = Console(width=max(110, Console().width))
GRID = dict(C=[2.0**k for k in range(-3, 13, 2)], gamma=[2.0**k for k in range(-12, 4, 2)])
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def timed(fit):
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = fit()
    return time.perf_counter() - begin, out


def grid_on_digits(table):
    X, y = load_digits(return_X_y=True)
    X = X / 16
    timed(lambda: KernelSearchCV(PairwiseSVC(), C=[1.0], gamma=[0.1]).fit(X[:200], y[:200]))  # libraries are loaded
    ours, search = timed(lambda: KernelSearchCV(PairwiseSVC(), **GRID, cv=FOLDS).fit(X, y))
    theirs, peer = timed(lambda: GridSearchCV(SVC(), GRID, cv=FOLDS, n_jobs=-1).fit(X, y))
    _, twin = timed(lambda: GridSearchCV(SVC(break_ties=True), GRID, cv=FOLDS, n_jobs=-1, refit=False).fit(X, y))
    scores = [np.array([r.cv_results_[f"split{k}_test_score"] for k in range(5)]) for r in (search, twin)]
    equal = np.mean(np.abs(scores[0] - scores[1]) < 1e-9)
    table.add_row(
        "digits", "KernelSearchCV, 8 x 8", f"{ours:.2f}", f"{theirs:.1f}", f"{theirs / ours:.0f}",
        f"{search.best_score_:.4f}", f"{peer.best_score_:.4f}; {equal:.0%} of fold scores equal",
    )  # fmt: skip


def liquid_svm():
    """liquidSVM 1.0.1 looks for the suffix of modules under a name that Python 3.4 had."""
    sysconfig.get_config_vars()["SO"] = sysconfig.get_config_var("EXT_SUFFIX")
    import liquidSVM

    return liquidSVM


def liquid_on_digits(table):
    X, y = load_digits(return_X_y=True)
    X, library = X / 16, liquid_svm()
    train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=0)
    widths = [g**-0.5 for g in GRID["gamma"]]  # its kernel is exp(-|x - z|^2 / width^2)

    def theirs(rows, kind):
        how = dict(gammas=widths, c_values=GRID["C"], folds=5, threads=os.cpu_count(), display=0, random_seed=1)
        return library.mcSVM(X[rows], y[rows] + 1, mcType=kind, **how)

    def ours(rows):
        return KernelSearchCV(PairwiseSVC(), **GRID, cv=FOLDS).fit(X[rows], y[rows])

    every = np.arange(len(y))
    seconds, _ = timed(lambda: ours(every))
    accuracy = ours(train).score(X[test], y[test])
    for kind in ("AvA_hinge", "OvA_hinge"):
        other, _ = timed(lambda kind=kind: theirs(every, kind))
        right = np.mean(theirs(train, kind).predict(X[test]).astype(int) - 1 == y[test])
        table.add_row(
            "digits", f"KernelSearchCV, liquidSVM {kind}", f"{seconds:.2f}", f"{other:.2f}", f"{other / seconds:.1f}",
            f"{accuracy:.4f} on new rows", f"{right:.4f} on new rows",
        )  # fmt: skip


def criterion_on(name, table, sample):
    D = datasets.load(name)
    X, y = D.X_train, D.y_train
    points = list(ParameterGrid(dict(C=np.geomspace(2**-5, 2**15, 30), gamma=np.geomspace(2**-15, 2**3, 30))))
    some = np.random.default_rng(0).choice(len(points), sample, replace=False)
    tried = [{key: [value] for key, value in points[at].items()} for at in some]
    runs = {c: timed(lambda c=c: RadiusMarginSearch(PairwiseSVC(), criterion=c).fit(X, y)) for c in ("I", "II")}
    seconds, peer = timed(lambda: GridSearchCV(SVC(), tried, cv=FOLDS, n_jobs=-1, refit=False).fit(X, y))
    theirs = seconds * len(points) / sample
    for c, (ours, search) in runs.items():
        score = cross_val_score(search.best_estimator_, X, y, cv=FOLDS).mean()
        table.add_row(
            name, f"RadiusMarginSearch, {c}, {search.n_evaluations_} evaluations", f"{ours:.2f}",
            f"{theirs:.0f} (from {sample} points, {seconds:.0f} s)", f"{theirs / ours:.0f}", f"{score:.4f}",
            f"{peer.best_score_:.4f}",
        )  # fmt: skip


def toy(table, trials=100):
    rng = np.random.default_rng(0)
    label, angle = np.arange(300) % 3, rng.uniform(0, 2 * np.pi, 300)
    radius = 1.0 + label + 0.1 * rng.normal(size=300)
    useful = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    X = np.hstack([useful, rng.normal(0, np.sqrt(20), (300, 50))])
    right, begin = 0, time.perf_counter()
    for trial in range(trials):
        half = np.random.default_rng(trial).permutation(300)[:150]
        low, high = X[half].min(axis=0), X[half].max(axis=0)
        Z = 2 * (X[half] - low) / (high - low) - 1
        search = RadiusMarginSearch(
            JointSVC("scatter", C=10), kernel="ellipsoidal", criterion="II", cv=None, refit=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right += set(search.fit(Z, label[half]).ranking_[:2]) == {1, 2}
    seconds = time.perf_counter() - begin
    table.add_row("toy", f"useful features first in {right} of {trials} trials", f"{seconds:.1f}", "", "", "", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["digits", "segment", "satimage", "dna", "toy"])
    parser.add_argument("--sample", type=int, default=9, help="points of the 30 x 30 grid that are timed")
    parser.add_argument("--trials", type=int, default=100, help="of toy")
    arguments = parser.parse_args()
    table = Table(title="model selection")
    for column in ("data", "what", "seconds", "grid search, seconds", "ratio", "accuracy", "grid search"):
        table.add_column(column)
    for name in arguments.names:
        if name == "digits":
            grid_on_digits(table)
        elif name == "liquid":
            liquid_on_digits(table)
        elif name == "toy":
            toy(table, arguments.trials)
        else:
            criterion_on(name, table, arguments.sample)
    console.print(table)


if __name__ == "__main__":
    main()
