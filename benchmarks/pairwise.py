"""Reductions against their peers: python -m benchmarks.pairwise [names...] [--scheme ...] [--out results.csv]

PairwiseSVC, scikit-learn's SVC, sklearnex's SVC in float64 and float32 and LIBSVM's own binding solve the same problem:
the same rows, RBF kernel, C, gamma and tolerance (1e-3). Each runs in a process of its own, one after another, with a
time limit. Times are medians where a call is short. `--scheme rest` compares OneVsRestSVC with scikit-learn's
OneVsRestClassifier of SVCs, `--scheme codes` OutputCodeSVC with its OutputCodeClassifier, a dense random code with as
many columns; `cached` there is the same fit with too little memory for the kernel matrix.

The floor of a fit is the time of the kernel values that it cannot do without, at the rate at which the core computes a
kernel matrix of some of the rows: half of the matrix, or the rows of the support vectors in full where these are fewer.
`floor x` is how many times that the fit took.

    digits, letter, pendigits, usps, mnist10k, mnist     real sets, scaled as in datasets.py; mnist10k has the first
                  10,000 rows
    classes       20,000 rows, 50 features, ten classes of make_classification (20 informative features), standardized
    gaussians     100,000 rows of ten Gaussians in 5 dimensions, centers 6 from the origin
    circle        1,000 classes on a circle, 5 rows each
    every         all sets of the folder POLYMARGIN_DATA, standardized, each as <set>:1 (C = 1, gamma = 1/d) and
                  <set>:100 (C = 100, gamma = 0.3/d), d features; of more than 15,000 rows that many are drawn;
                  of shuttle, all

The demands: training and prediction never slower than the best peer, above 5,000 training rows training 5 times and
prediction 3 times as fast; `--clock cpu` judges by processor seconds, for a busy machine.
"""

import argparse
import csv
import datetime
import functools
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_matrix

from polymargin import datasets as sources

from . import datasets, objective
from .run import machine as this_computer

# --- data: (set, C, gamma) ---


def classes():
    from sklearn.datasets import make_classification

    X, y = make_classification(
        25_000, 50, n_informative=20, n_redundant=10, n_classes=10, n_clusters_per_class=1, flip_y=0.01, random_state=2
    )
    order = np.random.default_rng(2).permutation(len(y))
    X, y = X[order], y[order]
    X = (X - X[:20_000].mean(axis=0)) / X[:20_000].std(axis=0)
    return datasets.Dataset("classes", X[:20_000], y[:20_000], X[20_000:], y[20_000:])


def gaussians():
    rng = np.random.default_rng(3)
    centers = rng.standard_normal((10, 5))
    centers *= 6 / np.linalg.norm(centers, axis=1, keepdims=True)
    y = rng.integers(10, size=125_000)
    X = centers[y] + rng.standard_normal((len(y), 5))
    return datasets.Dataset("gaussians", X[:100_000], y[:100_000], X[100_000:], y[100_000:])


def first(D, n):
    return datasets.Dataset(D.name, D.X_train[:n], D.y_train[:n], D.X_test, D.y_test)


SETS = {
    "digits": (lambda: datasets.load("digits"), 10.0, 0.02),
    "letter": (lambda: datasets.load("letter"), 10.0, 2.0),
    "pendigits": (lambda: datasets.load("pendigits"), 10.0, 1.0),
    "usps": (lambda: datasets.load("usps"), 10.0, 0.05),
    "mnist10k": (lambda: first(datasets.stored("mnist", 0, False), 10_000), 10.0, 0.02),
    "mnist": (lambda: datasets.stored("mnist", 0, False), 10.0, 0.02),
    "classes": (classes, 1.0, 0.02),
    "gaussians": (gaussians, 1.0, 0.2),
    "circle": (lambda: datasets.load("tight-1000"), 10.0, 1.0),
}


PARAMETERS = {"1": (1.0, 1.0), "100": (100.0, 0.3)}  # of <set>:<suffix>: C and gamma d
MOST_ROWS = 15_000
MANY_ROWS, AHEAD = 5_000, {"fit": 5.0, "predict": 3.0}  # times the best peer above this many rows, and 1 below


def standardized(name):
    """A set of the folder; gaps in a column are filled with its mean."""
    D = sources.load(name)
    D = datasets.parted(D, 0.3) if D.X_test is None else D
    rng, parts = np.random.default_rng(0), []
    for X, y in ((D.X_train, D.y_train), (D.X_test, D.y_test)):
        few = len(y) <= MOST_ROWS or name == "shuttle"
        some = slice(None) if few else np.sort(rng.choice(len(y), MOST_ROWS, replace=False))
        parts.append((X[some].astype(float), y[some]))
    mean, deviation = np.nanmean(parts[0][0], axis=0), np.nanstd(parts[0][0], axis=0)
    for X, _ in parts:
        X -= mean
        X /= np.where(deviation > 0, deviation, 1)
        np.nan_to_num(X, copy=False)
    return datasets.Dataset(name, *parts[0], *parts[1])


def problem(name):
    """(rows, C, gamma)"""
    if name in SETS:
        make, C, gamma = SETS[name]
        return make(), C, gamma
    name, _, suffix = name.partition(":")
    C, share = PARAMETERS[suffix]
    D = standardized(name)
    return D, C, share / D.X_train.shape[1]


def every():
    folder = Path(os.environ.get("POLYMARGIN_DATA", "."))
    return [f"{path.stem}:{suffix}" for path in sorted(folder.glob("*.npz")) for suffix in PARAMETERS]


# --- who takes part: (dtype of the rows, estimator) ---


def ours(C, gamma):
    from polymargin import PairwiseSVC

    return PairwiseSVC(C, gamma=gamma)


def sklearn(C, gamma):
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, cache_size=1000)


def onedal(C, gamma):
    from sklearnex.svm import SVC

    return SVC(C=C, gamma=gamma, cache_size=1000)


class Libsvm:
    def __init__(self, C, gamma):
        from libsvm import svmutil

        self.lib, self.options = svmutil, f"-q -t 2 -c {C} -g {gamma} -m 1000"

    def fit(self, X, y):
        problem = self.lib.svm_problem(np.asarray(y, dtype=float), csr_matrix(X))
        self.model = self.lib.svm_train(problem, self.lib.svm_parameter(self.options))
        self.support_ = self.model.get_sv_indices()
        return self

    def predict(self, X):
        return np.asarray(self.lib.svm_predict([], csr_matrix(X), self.model, "-q")[0])


def rest(C, gamma, **run):
    from polymargin import OneVsRestSVC

    return OneVsRestSVC(C, gamma=gamma, **run)


def sklearn_rest(C, gamma, n_jobs=1):
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(sklearn(C, gamma), n_jobs=n_jobs)


def codes(C, gamma, **run):
    from polymargin import OutputCodeSVC

    return OutputCodeSVC(C, gamma=gamma, random_state=0, **run)


class SklearnCodes:
    def __init__(self, C, gamma, n_jobs=1):
        self.svc, self.n_jobs = sklearn(C, gamma), n_jobs

    def fit(self, X, y):
        from sklearn.multiclass import OutputCodeClassifier

        T = len(np.unique(y))
        size = np.ceil(10 * np.log2(T)) / T
        self.model = OutputCodeClassifier(self.svc, code_size=size, random_state=0, n_jobs=self.n_jobs).fit(X, y)
        self.estimators_ = self.model.estimators_
        return self

    def predict(self, X):
        return self.model.predict(X)


OURS = "polymargin"
SCHEMES = {
    "pairs": {
        OURS: ("float32", ours),
        "sklearn": ("float64", sklearn),
        "onedal-32": ("float32", onedal),
        "onedal-64": ("float64", onedal),
        "libsvm": ("float64", Libsvm),
    },
    "rest": {
        OURS: ("float32", rest),
        "cached": ("float32", functools.partial(rest, memory="200MB")),
        "sklearn": ("float64", sklearn_rest),
        "sklearn-all": ("float64", functools.partial(sklearn_rest, n_jobs=-1)),
    },
    "codes": {
        OURS: ("float32", codes),
        "cached": ("float32", functools.partial(codes, memory="200MB")),
        "sklearn": ("float64", SklearnCodes),
        "sklearn-all": ("float64", functools.partial(SklearnCodes, n_jobs=-1)),
    },
}
FIELDS = (
    *("date", "dataset", "n", "n_test", "d", "classes", "scheme", "solver", "C", "gamma", "status", "reason"),
    *("fit_seconds", "fit_runs", "predict_seconds", "predict_runs", "rows_per_second", "accuracy", "n_support"),
    *("gap", "steps", "stop", "fit_cpu", "predict_cpu", "kernel_values", "floor_seconds", "cpu", "cores", "versions"),
)


def floor_seconds(D, gamma, n_support):
    """Seconds of min(n^2 / 2, n_support n) kernel values at the rate of the core, all threads."""
    from polymargin import _core
    from polymargin.fitting.resources import threads

    X = np.ascontiguousarray(D.X_train, dtype=np.float32)
    n = len(X)
    some = np.arange(0, n, max(1, n // 4096))[:4096]
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        _core.gram(X, {"kind": "rbf", "gamma": gamma}, some, "float32", threads(None))
        seconds.append(time.perf_counter() - start)
    return min(seconds) * min(n * n / 2, n_support * n) / (len(some) ** 2 / 2)


def measure(name, scheme, solver):
    """In the child: reports as lines of JSON."""

    def report(facts):
        print(json.dumps(facts), flush=True)

    (D, C, gamma), (dtype, build) = problem(name), SCHEMES[scheme][solver]
    n, d = D.X_train.shape
    report(dict(n=n, n_test=len(D.y_test), d=d, classes=D.n_classes, C=C, gamma=gamma))
    model = build(C, gamma)
    objective.evaluate(model, D, dtype, report)
    if hasattr(model, "n_kernel_evals_"):
        report({"kernel_values": int(model.n_kernel_evals_)})
        report({"floor_seconds": floor_seconds(D, gamma, len(model.support_))})


def child(name, scheme, solver, limit):
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.pairwise", "--child", name, scheme, solver]
    process = subprocess.Popen(
        command, cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    status, reason = "ok", None
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        status, reason = "stopped", f"stopped after {limit:g} s"
    facts = {}
    for line in out.splitlines():
        if line.startswith("{"):
            facts.update(json.loads(line))
    if status == "ok" and process.returncode:
        status, reason = "error", (err.strip().splitlines() or [f"exit code {process.returncode}"])[-1][:200]
    return {"status": status, "reason": reason, **facts}


def show(results, console):
    head = next(iter(results.values()))
    title = f"{head['dataset']}: {head.get('n', 0):,} rows, {head.get('d')} features, {head.get('classes')} classes"
    table = Table(title=title, title_justify="left")
    for column in ("solver", "fit s", "predict s", "accuracy", "SVs", "fit x", "predict x", "floor x", ""):
        table.add_column(column, justify="left" if column in ("solver", "") else "right")
    mine = results.get(OURS, {})

    def ratio(r, key):
        return f"{r[key] / mine[key]:.3g}" if r.get(key) and mine.get(key) and r is not mine else ""

    for solver, r in results.items():
        floor = r.get("floor_seconds")
        cells = [f"{r[k]:.4f}" if r.get(k) is not None else "-" for k in ("fit_seconds", "predict_seconds", "accuracy")]
        support = f"{r['n_support']:,.0f}" if r.get("n_support") is not None else "-"
        table.add_row(
            *(solver, *cells, support, ratio(r, "fit_seconds"), ratio(r, "predict_seconds")),
            *(f"{r['fit_seconds'] / floor:.2f}" if floor else "", r.get("reason") or ""),
        )
    console.print(table)


def missed(name, results, clock):
    """One sentence for each demand that is missed."""
    ours = results.get(OURS, {})
    for what, ahead in AHEAD.items():
        key = f"{what}_cpu" if clock == "cpu" else f"{what}_seconds"
        peers = {solver: r[key] for solver, r in results.items() if solver != OURS and r.get(key)}
        if not peers or not ours.get(key):
            continue
        best = min(peers, key=peers.get)
        ratio, wanted = peers[best] / ours[key], ahead if ours["n"] > MANY_ROWS else 1.0
        if ratio < wanted:
            yield f"{name}: {what} {ratio:.2f} times as fast as {best}, {wanted:g} wanted ({ours['n']:,} rows)"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairwise", description="reductions and their peers")
    parser.add_argument("names", nargs="*", help=f"data sets, every, <set>:1, <set>:100; default: {' '.join(SETS)}")
    parser.add_argument("--scheme", choices=list(SCHEMES), default="pairs", help="of %(choices)s (%(default)s)")
    parser.add_argument("--solvers", help="comma-separated; default: all of the scheme")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one solver on one set (600)")
    parser.add_argument("--out", type=Path, default=Path("pairwise.csv"), help="CSV that rows are appended to")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="clock of the demands (%(default)s)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return measure(*args.names)
    console = Console(width=120, emoji=False)
    here = {"date": datetime.datetime.now().isoformat(timespec="seconds"), **this_computer()}
    names = [one for name in args.names or SETS for one in (every() if name == "every" else [name])]
    solvers = args.solvers.split(",") if args.solvers else list(SCHEMES[args.scheme])
    if "libsvm" in solvers and importlib.util.find_spec("libsvm") is None:
        console.print("libsvm is not installed: left out")
        solvers.remove("libsvm")
    sentences = []
    for name in names:
        results = {}
        for solver in solvers:
            console.print(f"[dim]{name}: {solver} ...[/dim]")
            facts = {"dataset": name, "scheme": args.scheme, "solver": solver}
            results[solver] = {**facts, **child(name, args.scheme, solver, args.limit)}
            new = not args.out.exists()
            with args.out.open("a", newline="") as f:
                writer = csv.DictWriter(f, FIELDS, extrasaction="ignore")
                if new:
                    writer.writeheader()
                writer.writerow({**here, **results[solver]})
        show(results, console)
        sentences += missed(name, results, args.clock)
    console.print(f"demands by {args.clock} seconds: {len(sentences)} missed")
    for sentence in sentences:
        console.print(f"  {sentence}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
