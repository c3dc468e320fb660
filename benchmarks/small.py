"""Fits and predictions of a few hundred rows, against SVC: python -m benchmarks.small [names...] [--runs N]

Here checks, threads and system queries take longer than the mathematics. Standardized rows, C = 1, gamma = 1/d
and C = 100, gamma = 0.3/d; medians of many runs, ours and SVC's by turns, in microseconds of processor and of wall
time. `x` is SVC's time over ours.
"""

import argparse
import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.svm import SVC

from polymargin import PairwiseSVC

from .pairwise import PARAMETERS, standardized

SETS = ("iris", "wine", "zoo", "glass", "ecoli", "thyroid", "dermatology", "vowel", "vehicle", "segment")


def medians(calls, runs):
    """Median processor and wall time of each call; the calls take turns."""
    times = np.empty((runs, len(calls), 2))
    for k in range(-3, runs):  # the first ones warm up
        for j, call in enumerate(calls):
            wall, processor = time.perf_counter(), time.process_time()
            call()
            times[max(k, 0), j] = time.process_time() - processor, time.perf_counter() - wall
    return 1e6 * np.median(times, axis=0)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description="what little data cost")
    parser.add_argument("names", nargs="*", help=f"data sets; default: {' '.join(SETS)}")
    parser.add_argument("--runs", type=int, default=200, help="runs of each call (%(default)s)")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    table = Table(title="microseconds, processor / wall", title_justify="left")
    for column in ("set", "rows", "C", "fit", "SVC", "x", "predict", "SVC", "x"):
        table.add_column(column, justify="right")
    for name in args.names or SETS:
        D = standardized(name)
        X, y = D.X_train, D.y_train
        for C, share in PARAMETERS.values():
            ours, theirs = PairwiseSVC(C, gamma=share / X.shape[1]), SVC(C=C, gamma=share / X.shape[1])
            cells = []
            for calls in (
                [lambda m=m: m.fit(X, y) for m in (ours, theirs)],  # noqa: B023
                [lambda m=m: m.predict(X) for m in (ours, theirs)],  # noqa: B023
            ):
                mine, other = medians(calls, args.runs)
                cells += [f"{mine[0]:.0f} / {mine[1]:.0f}", f"{other[0]:.0f} / {other[1]:.0f}"]
                cells.append(f"{other[0] / mine[0]:.2f} / {other[1] / mine[1]:.2f}")
            table.add_row(name, str(len(y)), f"{C:g}", *cells)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
