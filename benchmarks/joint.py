"""Joint machines with a margin per class: python -m benchmarks.joint [text] [rbf] [memory] [--out results.csv]

text    linear Crammer-Singer on `text-20` against LIBLINEAR's. Both run at a ladder of tolerances; the primal of every
        model is computed here, the same way for both, and compared with the best dual value that is known. Shown are
        the seconds each needs for the same suboptimality.
memory  what the fit of `text-20` adds to the memory of the process at its peak, in multiples of the data.
rbf     kesler and crammer-singer against scikit-learn's SVC (one-versus-one LIBSVM) and one-vs-rest LIBSVM on satimage,
        usps and letter, all with the C and gamma of the pairwise machine (letter also with C = 1).

All solvers take turns in one process. Seconds are the median of the runs; run nothing else meanwhile. "cpu" is the
processor time of all threads, which a busy machine disturbs less.
"""

import argparse
import csv
import datetime
import re
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from . import datasets, solvers
from .run import machine

console = Console(width=130)
LADDER = {"polymargin": (0.3, 0.1, 0.03, 0.01, 0.001), "liblinear": (0.3, 0.1, 0.03, 0.01, 0.001)}
GAPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
RBF = (("satimage", None), ("usps", None), ("letter", 1.0), ("letter", None))


def seconds_of(model, X, y, runs):
    """Median wall and processor seconds of a fit."""
    wall, cpu = [], []
    for _ in range(runs):
        start = time.perf_counter(), time.process_time()
        model.fit(X, y)
        wall.append(time.perf_counter() - start[0])
        cpu.append(time.process_time() - start[1])
    return statistics.median(wall), statistics.median(cpu)


def crammer_singer(W, X, y, C):
    """1/2 sum_c |w_c|^2 + C sum_i max_m (1 - [m == y] + f_m - f_y)."""
    F = X @ W.T
    at = np.arange(len(y)), y
    margins = 1 + F - F[at][:, None]
    margins[at] = 0
    return 0.5 * np.sum(W**2) + C * margins.max(axis=1).sum()


def linear_models(C):
    from sklearn.svm import LinearSVC

    from polymargin import JointSVC

    cs = dict(multi_class="crammer_singer", fit_intercept=False, max_iter=100_000, random_state=0)
    return {
        "polymargin": lambda tol: JointSVC("crammer-singer", kernel="linear", C=C, tol=tol),
        "liblinear": lambda tol: LinearSVC(C=C, tol=tol, **cs),
    }


def text(rows, runs, costs=(0.1, 1.0)):
    D = datasets.load("text-20")
    X, y = D.X_train, D.y_train
    for C in costs:
        build, found, bound = linear_models(C), {}, -np.inf
        for name, tols in LADDER.items():
            for tol in tols:
                model = build[name](tol)
                wall, cpu = seconds_of(model, X, y, runs)
                bound = max(bound, getattr(model, "dual_objective_", -np.inf))
                accuracy = float(np.mean(model.predict(D.X_test) == D.y_test))
                found.setdefault(name, []).append([tol, wall, cpu, crammer_singer(model.coef_, X, y, C), accuracy])
        table = Table(title=f"text-20, crammer-singer, linear, C={C:g}", title_justify="left")
        for column in ("solver", "tol", "fit s", "cpu s", "suboptimality", "accuracy"):
            table.add_column(column, justify="right")
        for name, steps in found.items():
            for step in steps:
                step[3] = step[3] / bound - 1
                table.add_row(
                    name, f"{step[0]:g}", f"{step[1]:.2f}", f"{step[2]:.2f}", f"{step[3]:.1e}", f"{step[4]:.4f}"
                )
                keys = ("tol", "fit_seconds", "cpu_seconds", "suboptimality", "accuracy")
                rows.append({"dataset": "text-20", "solver": name, "C": C, **dict(zip(keys, step, strict=True))})
        console.print(table)
        for gap in GAPS:
            reached = {s: [t for t in steps if t[3] <= gap] for s, steps in found.items()}
            if all(reached.values()):
                wall, cpu = (
                    min(t[k] for t in reached["liblinear"]) / min(t[k] for t in reached["polymargin"]) for k in (1, 2)
                )
                console.print(f"to {gap:g}: {wall:.2f} times as fast as LIBLINEAR (cpu: {cpu:.2f})")
        console.print()


def memory(rows, runs):
    """Linux only: the peak of the resident memory can be set back before the fit."""
    D = datasets.load("text-20")
    X, y = D.X_train.copy(), D.y_train
    linear_models(1.0)["polymargin"](0.1).fit(X[:3000], y[:3000])
    data = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes

    def resident(what):
        return 1024 * int(re.search(rf"{what}:\s+(\d+)", Path("/proc/self/status").read_text())[1])

    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    model = linear_models(1.0)["polymargin"](1e-3).fit(X, y)
    growth = resident("VmHWM") - before
    console.print(f"text-20: data {data / 1e6:.1f} MB, the fit adds {growth / 1e6:.1f} MB at its peak: with the data ")
    console.print(f"{1 + growth / data:.2f} times the data ({len(model.support_):,} support vectors)\n")
    rows.append({"dataset": "text-20", "solver": "memory", "C": 1.0, "memory_ratio": 1 + growth / data})


def rbf(rows, runs):
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    from polymargin import JointSVC

    table = Table(title="RBF: seconds of fit, and the same in multiples of scikit-learn's SVC", title_justify="left")
    for column in ("data set", "C", "gamma", "solver", "fit s", "x SVC", "cpu x SVC", "x ovr", "accuracy", "gap"):
        table.add_column(column, justify="left" if column in ("data set", "solver") else "right")
    for name, C in RBF:
        try:
            D = datasets.load(name)
        except datasets.Missing as reason:
            console.print(f"{name}: skipped, {reason}")
            continue
        best_C, gamma = solvers.CHOSEN[name]["ovo"]
        C = C or best_C
        models = {
            "svc": SVC(C=C, gamma=gamma, cache_size=1000),
            "one-vs-rest": OneVsRestClassifier(SVC(C=C, gamma=gamma, cache_size=1000)),
            "kesler": JointSVC("kesler", C=C, gamma=gamma),
            "crammer-singer": JointSVC("crammer-singer", C=C, gamma=gamma),
        }
        spent = {s: seconds_of(model, D.X_train, D.y_train, runs) for s, model in models.items()}
        for s, model in models.items():
            accuracy = float(np.mean(model.predict(D.X_test) == D.y_test))
            gap = getattr(model, "duality_gap_", None)
            svc, cpu, ovr = (spent[s][k] / spent[peer][k] for k, peer in ((0, "svc"), (1, "svc"), (0, "one-vs-rest")))
            shown = f"{spent[s][0]:.3f}", f"{svc:.2f}", f"{cpu:.2f}", f"{ovr:.2f}", f"{accuracy:.4f}"
            table.add_row(name, f"{C:g}", f"{gamma:g}", s, *shown, "-" if gap is None else f"{gap:.1e}")
            facts = {"fit_seconds": spent[s][0], "cpu_seconds": spent[s][1], "times_svc": svc, "cpu_times_svc": cpu}
            facts |= {"times_ovr": ovr, "accuracy": accuracy, "gap": gap}
            rows.append({"dataset": name, "solver": s, "C": C, "gamma": gamma, **facts})
    console.print(table)


FIELDS = (
    *("date", "dataset", "solver", "C", "gamma", "tol", "fit_seconds", "cpu_seconds", "times_svc", "cpu_times_svc"),
    *("times_ovr", "suboptimality", "accuracy", "gap", "memory_ratio", "cpu", "cores", "versions"),
)
PARTS = {"text": text, "memory": memory, "rbf": rbf}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.joint", description="joint machines and their peers")
    parser.add_argument("parts", nargs="*", choices=list(PARTS), help="default: all")
    parser.add_argument("--out", type=Path, help="CSV that rows are appended to")
    parser.add_argument("--runs", type=int, default=3, help="fits of each solver (3)")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    here = {"date": datetime.datetime.now().isoformat(timespec="seconds"), **machine()}
    console.print(f"{here['cpu']}, {here['cores']} cores, {here['versions']}\n")
    rows = []
    for part in args.parts or PARTS:
        PARTS[part](rows, args.runs)
    if args.out:
        new = not args.out.exists() or args.out.stat().st_size == 0
        with args.out.open("a", newline="") as f:
            writer = csv.DictWriter(f, FIELDS)
            if new:
                writer.writeheader()
            writer.writerows({**here, **r} for r in rows)


if __name__ == "__main__":
    main()
