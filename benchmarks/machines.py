"""Accuracy and time of all machines on ten data sets: python -m benchmarks.machines [names...] [--out results.csv]

Every machine is treated alike. C and gamma are the best of one small grid by three-fold cross-validation on the
training rows (on 450 of them where there are more; ties go to the smaller C, then to the smaller gamma); the machine is
then trained on all training rows, timed, and its accuracy counted on the test rows. gamma is a multiple of the one that
`gamma="scale"` means. The peer is scikit-learn's SVC, one-versus-one. A fit that is stopped after a minute counts with
the model it has by then, and its time is marked. Times are processor seconds of one thread; the limit is one of wall
seconds, so on a busy machine a fit is given less. `--limit` gives it more. `--again results.csv` takes C and gamma from
that file, and `--machines kesler,crammer-singer` leaves the others out.
"""

import argparse
import csv
import datetime
import itertools
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import SVC

from polymargin import JointSVC
from polymargin.datasets import DatasetNotFound
from polymargin.machines import MACHINES

from . import datasets, objective
from .run import machine as this_computer

SETS = ("iris", "wine", "glass", "thyroid", "vowel", "vehicle", "segment", "satimage", "dna", "pendigits")
PEER = "one-versus-one (SVC)"
GRID_C = (0.1, 1.0, 10.0, 100.0)
GRID_GAMMA = (0.3, 1.0, 3.0)
TUNING_ROWS = 450
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)
LIMIT, TUNING_LIMIT = 60.0, 2.0  # wall seconds for one fit; the best model so far is then used
FIELDS = (
    *("date", "dataset", "n", "n_test", "d", "classes", "machine", "C", "gamma", "cv_accuracy", "accuracy"),
    *("fit_seconds", "fit_cpu", "n_support", "gap", "steps", "stop", "cpu", "cores", "versions"),
)


def build(machine, C, gamma, limit=LIMIT):
    if machine == PEER:
        return SVC(C=C, gamma=gamma, cache_size=1000)
    return JointSVC(machine, C=C, gamma=gamma, time_limit=limit)


def tune(machine, D):
    """(C, gamma, validation accuracy) of the best point of the grid."""
    X, y = D.X_train, D.y_train
    if len(y) > TUNING_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=TUNING_ROWS, random_state=0, stratify=y)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    unit = 1 / (X.shape[1] * D.X_train.var())
    tried = []
    for C, gamma in itertools.product(GRID_C, GRID_GAMMA):
        right = 0
        for train, test in folds:
            model = build(machine, C, gamma * unit)
            if machine != PEER:
                model.set_params(time_limit=TUNING_LIMIT)
            right += np.sum(model.fit(X[train], y[train]).predict(X[test]) == y[test])
        tried.append((-int(right), C, gamma * unit))
    right, C, gamma = min(tried)
    return C, gamma, -right / len(y)


def measure(name, earlier, machines, limit):
    """A row per machine for one data set; `earlier` has rows with C and gamma by (data set, machine), or nothing."""
    D = datasets.load(name)
    n, d = D.X_train.shape
    shape = {"dataset": name, "n": n, "n_test": len(D.y_test), "d": d, "classes": D.n_classes}
    rows = []
    for machine in (*machines, PEER):
        known = earlier.get((name, machine))
        if known:
            C, gamma, cv = (float(known[key]) for key in ("C", "gamma", "cv_accuracy"))
        else:
            C, gamma, cv = tune(machine, D)
        facts = {}
        dtype = "float64" if machine == PEER else "float32"
        objective.evaluate(build(machine, C, gamma, limit), D, dtype, facts.update, budget=1.0)
        rows.append({**shape, "machine": machine, "C": C, "gamma": gamma, "cv_accuracy": cv, **facts})
    return rows


def print_tables(console, rows):
    """Accuracy, and training time in multiples of the peer's."""
    names = list(dict.fromkeys(r["dataset"] for r in rows))
    by = {(r["dataset"], r["machine"]): r for r in rows}
    accuracy = Table(title="accuracy on the test rows, %", title_justify="left")
    times = Table(
        title=f"processor seconds of training, multiples of {PEER}'s; + was stopped before the end",
        title_justify="left",
    )
    for table, last in ((accuracy, "mean"), (times, "median")):
        for column in ("machine", *names, last):
            table.add_column(column, justify="left" if column == "machine" else "right")
    for machine in dict.fromkeys(r["machine"] for r in rows):
        mine = [by[name, machine] for name in names]
        right = [100 * row["accuracy"] for row in mine]
        ratios = [row["fit_cpu"] / by[row["dataset"], PEER]["fit_cpu"] for row in mine]
        marks = ["" if row.get("stop", "solved") == "solved" else "+" for row in mine]
        accuracy.add_row(machine, *(f"{x:.1f}" for x in right), f"{np.mean(right):.1f}")
        shown = [f"{x:.{0 if x >= 10 else 1 if x >= 1 else 2}f}{m}" for x, m in zip(ratios, marks, strict=True)]
        times.add_row(machine, *shown, f"{np.median(ratios):.1f}")
    console.print(accuracy, times)


def print_steps(console):
    """Steps to smaller and smaller tolerances on 600 rows of five overlapping classes."""
    rng, y = np.random.default_rng(3), np.repeat(np.arange(5), 120)
    X = rng.normal(size=(5, 4))[y] + 0.7 * rng.normal(size=(600, 4))
    table = Table(title="steps, five overlapping classes", title_justify="left")
    for column in ("machine", *(f"tol={tol:g}" for tol in TOLERANCES)):
        table.add_column(column, justify="left" if column == "machine" else "right")
    for machine in MACHINES:
        fits = [JointSVC(machine, gamma=0.4, tol=tol, time_limit=60).fit(X, y) for tol in TOLERANCES]
        table.add_row(machine, *(f"{fit.n_iter_:,}{'' if fit.status_ == 'solved' else '+'}" for fit in fits))
    console.print(table)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machines", description="all machines side by side")
    parser.add_argument("names", nargs="*", help=f"data sets; default: {' '.join(SETS)}")
    parser.add_argument("--out", type=Path, default=Path("machines.csv"), help="CSV that rows are appended to")
    parser.add_argument("--again", type=Path, help="a CSV of an earlier run, whose C and gamma are used")
    parser.add_argument("--machines", default=",".join(MACHINES), help="with commas between; default: all")
    parser.add_argument("--limit", type=float, default=LIMIT, help="wall seconds for one fit")
    parser.add_argument("--steps", action="store_true", help="only count steps, on artificial rows")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the column `stop` says it
    console = Console(width=max(160, Console().width))
    if args.steps:
        return print_steps(console)
    here = {"date": datetime.datetime.now().isoformat(timespec="seconds"), **this_computer()}
    earlier = {}
    if args.again:
        with args.again.open(newline="") as f:
            earlier = {(row["dataset"], row["machine"]): row for row in csv.DictReader(f)}
    everything = []
    for name in args.names or SETS:
        try:
            rows = [{**here, **row} for row in measure(name, earlier, args.machines.split(","), args.limit)]
        except DatasetNotFound as reason:
            console.print(f"{name}: skipped, {reason}")
            continue
        console.print(f"[dim]{name} done[/dim]")
        everything += rows
        new = not args.out.exists()
        with args.out.open("a", newline="") as f:
            writer = csv.DictWriter(f, FIELDS, extrasaction="ignore")
            if new:
                writer.writeheader()
            writer.writerows(rows)
    if everything:
        print_tables(console, everything)


if __name__ == "__main__":
    main()
