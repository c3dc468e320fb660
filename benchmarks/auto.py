"""AutoSVC against a searched SVC: python -m benchmarks.auto [names] [--rows 2000] [--out results.csv]

The peer is GridSearchCV over 8 x 8 values of C and gamma with five folds on both cores, SVC behind a StandardScaler:
what a careful person would write. Both see the same training rows, at most `--rows` of them, as stored, and the same
test rows. AutoSVC is to be within half a point of it on every set, on average not below it, and faster.
"""

import argparse
import csv
import datetime
import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polymargin import AutoSVC
from polymargin.datasets import DatasetNotFound, load

from .run import machine

NAMES = (
    "iris", "wine", "glass", "thyroid", "vowel", "segment", "satimage", "dna", "usps", "car", "dermatology", "ecoli",
    "yeast", "zoo", "vehicle", "isolet", "letter", "optdigits", "pendigits", "covtype_15k", "shuttle", "toy",
)  # fmt: skip
C = 2.0 ** np.arange(-2, 13, 2)
GAMMA = 2.0 ** np.arange(-8, 7, 2)  # times 1 / d


def rows_of(name, most):
    D = load(name)
    if D.X_test is None:
        y, counts = np.unique(D.y_train, return_counts=True)
        keep = ~np.isin(D.y_train, y[counts < 2])
        parts = train_test_split(
            D.X_train[keep], D.y_train[keep], test_size=0.3, random_state=0, stratify=D.y_train[keep]
        )
        X, X_test, y, y_test = parts
    else:
        X, y, X_test, y_test = D.X_train, D.y_train, D.X_test, D.y_test
    if len(y) > most:
        some = np.random.default_rng(0).permutation(len(y))[:most]
        X, y = X[some], y[some]
    return np.asarray(X, dtype=float), y, np.asarray(X_test, dtype=float), y_test


def searched(X, y):
    folds = max(2, min(5, int(np.unique(y, return_counts=True)[1].min())))
    pipe = make_pipeline(SimpleImputer(), StandardScaler(), SVC())
    grid = {"svc__C": C, "svc__gamma": GAMMA / X.shape[1]}
    return GridSearchCV(pipe, grid, cv=StratifiedKFold(folds, shuffle=True, random_state=0), n_jobs=-1).fit(X, y)


def compared(name, most):
    X, y, X_test, y_test = rows_of(name, most)
    found = {"dataset": name, "n": len(y), "n_test": len(y_test), "d": X.shape[1], "classes": len(np.unique(y))}
    for who, fit in (("auto", lambda: AutoSVC().fit(X, y)), ("grid", lambda: searched(X, y))):
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit()
        found[f"{who}_seconds"] = time.perf_counter() - begin
        found[f"{who}_accuracy"] = float((model.predict(X_test) == y_test).mean())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"out of {', '.join(NAMES)}")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--out")
    given = parser.parse_args()
    console = Console()
    table = Table("data set", "rows", "accuracy", "of the grid", "difference", "seconds", "times faster")
    records = []
    for name in given.names or NAMES:
        try:
            r = compared(name, given.rows)
        except DatasetNotFound as reason:
            console.print(f"{name}: {reason}")
            continue
        records.append(r)
        console.print({k: round(v, 4) if isinstance(v, float) else v for k, v in r.items()})
        table.add_row(
            name, str(r["n"]), f"{r['auto_accuracy']:.4f}", f"{r['grid_accuracy']:.4f}",
            f"{100 * (r['auto_accuracy'] - r['grid_accuracy']):+.2f}", f"{r['auto_seconds']:.2f}",
            f"{r['grid_seconds'] / r['auto_seconds']:.1f}",
        )  # fmt: skip
    if not records:
        return
    console.print(table)
    gain = np.mean([r["auto_accuracy"] - r["grid_accuracy"] for r in records])
    console.print(f"mean difference: {100 * gain:+.2f} points")
    if given.out:
        about = machine()
        with open(given.out, "w", newline="") as file:
            writer = csv.DictWriter(file, ["date", *records[0], *about])
            writer.writeheader()
            for r in records:
                writer.writerow({"date": datetime.date.today(), **r, **about})


if __name__ == "__main__":
    main()
