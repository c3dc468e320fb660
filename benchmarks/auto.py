"""AutoSVC against a searched SVC: python -m benchmarks.auto [names] [--splits 5] [--seed 0] [--rows 2000] [--out FILE]

The peer is GridSearchCV over 8 x 8 values of C and gamma with five folds on both cores, SVC behind a StandardScaler:
what a careful person would write. Both see the same training rows, as stored, and the same test rows. AutoSVC is to be
within half a point of it on every set, on average not below it, and faster.

A set without official test rows is split five times or more, 30 % of every class for the test, until 500 rows were
tested, so that one row does not decide; the table has the mean of the differences and the standard deviation of that
mean. `--seed 100` numbers the splits from 100, so that all rows are drawn again: official test rows are then mixed with
the others and as many are drawn again. On sets with many rows the search takes hours or days. There the column `peer`
says what was done instead:

    searched            GridSearchCV ran
    equal scores        KernelSearchCV(PairwiseSVC), whose scores are those of GridSearchCV, made the choice on all
                        training rows, and SVC was fitted there; the time is that of SVC at four points of the grid, one
                        fold each, times 80 (64 points x 5 folds / 4), divided by the cores
    equal scores, m     the same, choice and times on m training rows (the same share of every class), the times
    rows                multiplied by (n / m)^2 as kernel values are, and PairwiseSVC fitted on all rows in SVC's place

Results are written as they come; a run that is started again with the same --out continues where the last one ended. A
time is nan where the machine was too busy to take one.
"""

import argparse
import csv
import datetime
import os
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polymargin import AutoSVC, KernelSearchCV, PairwiseSVC
from polymargin.datasets import DatasetNotFound, load

from .run import machine

SMALL = (
    *("zoo", "iris", "wine", "glass", "thyroid", "ecoli", "dermatology", "toy", "vowel", "vehicle"),
    *("yeast", "car", "segment", "dna"),
)
LARGE = (
    *("optdigits", "satimage", "pendigits", "usps", "isolet", "covtype_15k", "letter"),
    *("shuttle", "mnist", "kddcup99_10pct"),
)
C = 2.0 ** np.arange(-2, 13, 2)
GAMMA = 2.0 ** np.arange(-8, 7, 2)  # times 1 / d
TESTED = 500  # test rows in all splits of a small set
SEARCHED = 2000  # training rows up to which GridSearchCV runs
CHOICE = 16_000  # rows up to which the choice of the grid is computed on all of them
SOME = 5000  # rows that it is computed on beyond
TIMED = ((2, 2), (2, 5), (5, 2), (5, 5))  # the middle of each quarter of the grid
FIELDS = (
    *("date", "dataset", "split", "n", "n_test", "d", "classes", "auto_seconds", "auto_accuracy", "auto_choice"),
    *("grid_seconds", "grid_accuracy", "grid_choice", "peer", "cpu", "cores", "versions"),
)


def rows_of(name, split, most):
    """Training and test rows; split 0 of a set with official test rows is the official one."""
    D = load(name)
    X, y, X_test, y_test = D.X_train, D.y_train, D.X_test, D.y_test
    if X_test is None or split:
        share = 0.3
        if X_test is not None:
            share, X, y = len(y_test), np.vstack([X, X_test]), np.concatenate([y, y_test])
        values, counts = np.unique(y, return_counts=True)
        keep = ~np.isin(y, values[counts < 2])
        X, X_test, y, y_test = train_test_split(X[keep], y[keep], test_size=share, random_state=split, stratify=y[keep])
    if most and len(y) > most:
        some = np.random.default_rng(split).permutation(len(y))[:most]
        X, y = X[some], y[some]
    return np.asarray(X, dtype=float), y, np.asarray(X_test, dtype=float), y_test


def pipeline(machine):
    return make_pipeline(SimpleImputer(), StandardScaler(), machine)


def searched(X, y, folds, split):
    grid = {"svc__C": C, "svc__gamma": GAMMA / X.shape[1]}
    search = GridSearchCV(pipeline(SVC()), grid, cv=folds, n_jobs=-1).fit(X, y)
    return search, search.best_params_, None, "searched"


def some_of(y, most, split):
    """The same share of every class, at least five rows where it has them."""
    if len(y) <= CHOICE:
        return np.arange(len(y))
    rng = np.random.default_rng(split)
    parts = [np.flatnonzero(y == c) for c in np.unique(y)]
    return np.sort(np.concatenate([rng.permutation(p)[: max(5, round(most * len(p) / len(y)))] for p in parts]))


def equal_scores(X, y, folds, split):
    """The choice of the grid without its search, and what the search would take."""
    some, d = some_of(y, SOME, split), X.shape[1]
    whole = len(some) == len(y)
    found = KernelSearchCV(pipeline(PairwiseSVC()), C=C, gamma=GAMMA / d, cv=folds, refit=False).fit(X[some], y[some])
    best = found.best_params_
    train, test = next(iter(folds.split(X[some], y[some])))
    seconds = 0.0
    for i, j in TIMED:
        begin = time.perf_counter()
        model = pipeline(SVC(C=C[i], gamma=GAMMA[j] / d)).fit(X[some[train]], y[some[train]])
        model.predict(X[some[test]])
        seconds += time.perf_counter() - begin
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    seconds *= len(C) * len(GAMMA) / len(TIMED) * folds.n_splits / cores * (len(y) / len(some)) ** 2
    chosen = {"C": best["pairwisesvc__C"], "gamma": best["pairwisesvc__gamma"]}
    last = SVC(**chosen) if whole else PairwiseSVC(**chosen)
    return pipeline(last).fit(X, y), best, seconds, "equal scores" if whole else f"equal scores, {len(some)} rows"


def point(parameters):
    return " ".join(f"{name.rpartition('__')[2]}={value:.4g}" for name, value in sorted(parameters.items()))


def compared(name, split, most, few, says):
    X, y, X_test, y_test = rows_of(name, split, most)
    found = {"dataset": name, "split": split, "n": len(y), "n_test": len(y_test), "d": X.shape[1]}
    found["classes"] = len(np.unique(y))
    begin = time.perf_counter()
    model = AutoSVC().fit(X, y)
    found["auto_seconds"] = time.perf_counter() - begin
    found["auto_accuracy"] = float((model.predict(X_test) == y_test).mean())
    found["auto_choice"] = f"{model.encoder_.scaling} {point(model.best_params_)}"
    says(f"{name}: AutoSVC {found['auto_accuracy']:.4f} after {found['auto_seconds']:.1f} s")
    folds = StratifiedKFold(5, shuffle=True, random_state=split)
    begin = time.perf_counter()
    model, best, seconds, found["peer"] = (searched if len(y) <= few else equal_scores)(X, y, folds, split)
    found["grid_seconds"] = seconds or time.perf_counter() - begin
    found["grid_accuracy"] = float((model.predict(X_test) == y_test).mean())
    found["grid_choice"] = point(best)
    return found


def stored(path):
    """The results in a file, by data set and split."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="") as file:
        records = {(r["dataset"], int(r["split"])): r for r in csv.DictReader(file)}
    for r in records.values():
        r.update({k: float(v) for k, v in r.items() if k.endswith(("seconds", "accuracy"))})
    return records


def store(path, record):
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow({"date": datetime.date.today(), **record, **machine()})


def show(console, records):
    table = Table(
        "data set", "rows", "splits", "accuracy", "of the grid", "difference", "seconds", "times faster", "peer"
    )
    gains = []
    for name in dict.fromkeys(name for name, _ in records):
        mine = [r for (other, _), r in records.items() if other == name]
        auto, grid = (np.array([r[f"{who}_accuracy"] for r in mine]) for who in ("auto", "grid"))
        gain = 100 * (auto - grid)
        gains.append(gain.mean())
        spread = f" ± {gain.std(ddof=1) / np.sqrt(len(gain)):.2f}" if len(gain) > 1 else ""
        seconds = sum(r["auto_seconds"] for r in mine)
        table.add_row(
            name, str(mine[0]["n"]), str(len(mine)), f"{auto.mean():.4f}", f"{grid.mean():.4f}",
            f"{gain.mean():+.2f}{spread}", f"{seconds / len(mine):.2f}",
            f"{sum(r['grid_seconds'] for r in mine) / seconds:.1f}", mine[0]["peer"],
        )  # fmt: skip
    console.print(table)
    console.print(f"mean difference: {np.mean(gains):+.2f} points; smallest: {np.min(gains):+.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"small, large, or out of {', '.join((*SMALL, *LARGE))}; none: all")
    parser.add_argument("--splits", type=int, help="of a set without official test rows")
    parser.add_argument("--seed", type=int, default=0, help="number of the first split")
    parser.add_argument("--rows", type=int, help="at most this many training rows")
    parser.add_argument(
        "--searched", type=int, default=SEARCHED, help="rows up to which GridSearchCV runs (%(default)s)"
    )
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    console = Console(width=max(120, Console().width))
    names = [
        n for name in given.names or ("small", "large") for n in {"small": SMALL, "large": LARGE}.get(name, [name])
    ]
    warnings.simplefilter("ignore")
    records = stored(given.out)
    for name in names:
        try:
            D = load(name)
            splits = given.splits or max(5, round(TESTED / (0.3 * len(D.y_train))))
            splits = 1 if D.X_test is not None and not given.seed else splits
        except DatasetNotFound as reason:
            console.print(f"{name}: {reason}")
            continue
        for split in range(given.seed, given.seed + splits):
            if (name, split) in records:
                continue
            records[name, split] = r = compared(name, split, given.rows, given.searched, console.print)
            console.print({k: round(v, 4) if isinstance(v, float) else v for k, v in r.items()})
            if given.out:
                store(given.out, r)
    if records:
        show(console, records)


if __name__ == "__main__":
    main()
