"""The same problems by all their names as rows grow: python -m benchmarks.growth [two] [five] [--rows 5000,10000]

two     two Gaussians in nine dimensions, means one deviation either side of zero in one of them: about 38 % of the rows
        are support vectors. Machines without intercept (crammer-singer and kesler at C/2, scatter at 2C) solve one
        problem; machines with one (scatter exact at 2C, PairwiseSVC, OneVsRestSVC, oneDAL, scikit-learn) another
five    five overlapping classes in nine dimensions: means N(0, 0.8^2), unit spread. Only one-versus-one machines are
        the same problem there

C = 10, gamma = 0.05, float32 (scikit-learn computes in float64). The squared hinge and CoreVectorSVC (tol = 0.05) are
problems of their own. Each machine has a process of its own and runs from few rows to many; after a fit of more than
--most processor seconds it is not run at more rows, and --limit ends a fit. The dual values of the same problem,
brought to one scale, must agree to 1 %, and the accuracies to 1 point: otherwise the row says so. Slopes are those of
processor seconds in logarithms between successive numbers of rows.
"""

import argparse
import csv
import datetime
import json
import math
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from .limited import chosen, end_with_children, fits, header, sized, timed

C, GAMMA, D, TEST = 10.0, 0.05, 9, 5000
ROWS = (5_000, 10_000, 20_000, 40_000, 80_000)
STEEPEST, APART, AHEAD = 2.2, 1.5, 3.0  # slope; slowest by fastest of our names; times oneDAL
console = Console(width=max(150, Console().width))


def problem(name, n, seed=0):
    """n training rows and TEST rows; the means and the test rows are the same for every n."""
    rng = np.random.default_rng([seed, 9])
    means = np.outer([-1.0, 1.0], np.eye(D)[0]) if name == "two" else rng.normal(0, 0.8, (5, D))
    draws = []
    for size in (TEST, n):
        y = rng.integers(len(means), size=size)
        draws.append(((means[y] + rng.standard_normal((size, D))).astype(np.float32), y))
    (X_test, y_test), (X, y) = draws
    return X, y, X_test, y_test


# ---- who takes part: (estimator, problem with two classes, problem with five, factor of the dual value) ----


def joint(machine, factor, intercept="none"):
    from polymargin import JointSVC

    return JointSVC(machine, C=factor * C, gamma=GAMMA, intercept=intercept)


def reduction(name, **options):
    import polymargin

    return getattr(polymargin, name)(C, gamma=GAMMA, **options)


def onedal():
    from sklearnex.svm import SVC

    return SVC(C=C, gamma=GAMMA, cache_size=1000)


def sklearn():
    from sklearn.svm import SVC

    return SVC(C=C, gamma=GAMMA, cache_size=1000)


PEERS = ("oneDAL float32", "scikit-learn")
MACHINES = {
    "crammer-singer": (lambda: joint("crammer-singer", 0.5), "no bias", None, 2.0),
    "kesler": (lambda: joint("kesler", 0.5), "no bias", None, 2.0),
    "scatter": (lambda: joint("scatter", 2), "no bias", None, 0.5),
    "scatter exact": (lambda: joint("scatter", 2, "exact"), "bias", None, 0.5),
    "PairwiseSVC": (lambda: reduction("PairwiseSVC"), "bias", "pairs", 1.0),
    "OneVsRestSVC": (lambda: reduction("OneVsRestSVC"), "bias", None, 1.0),
    "pairs squared": (lambda: reduction("PairwiseSVC", loss="squared_hinge"), None, None, 1.0),
    "CoreVectorSVC": (lambda: reduction("CoreVectorSVC", tol=0.05), None, None, 1.0),
    PEERS[0]: (onedal, "bias", "pairs", 1.0),
    PEERS[1]: (sklearn, "bias", "pairs", 1.0),
}


def same(name, machine):
    return MACHINES[machine][1 if name == "two" else 2]


def pairs_value(model, X):
    """Sum over the pairs of classes of sum |a| - a' K a / 2, from LIBSVM's layout of the coefficients."""
    from sklearn.metrics.pairwise import rbf_kernel

    ends = np.cumsum([0, *model.n_support_])
    X, A, total = X[model.support_], np.asarray(model.dual_coef_, dtype=float), 0.0
    for i in range(len(ends) - 1):
        for j in range(i + 1, len(ends) - 1):
            of_i, of_j = np.arange(ends[i], ends[i + 1]), np.arange(ends[j], ends[j + 1])
            rows, a = np.r_[of_i, of_j], np.r_[A[j - 1, of_i], A[i, of_j]]
            rows, a = rows[a != 0], a[a != 0]
            total += np.abs(a).sum()
            for at in range(0, len(a), 2000):
                part = slice(at, at + 2000)
                total -= 0.5 * a[part] @ (rbf_kernel(X[rows[part]], X[rows], gamma=GAMMA) @ a)
    return float(total)


def measure(name, machine, sizes, most, limit):
    """In the child: a line of JSON per number of rows."""
    build, *_, factor = MACHINES[machine]
    X, y, *_ = problem(name, 200)
    build().fit(X, y)  # loads the library and starts its threads
    for n in sizes:
        X, y, X_test, y_test = problem(name, n)
        wall, cpu, model = timed(lambda X=X, y=y: build().fit(X, y), limit)
        facts = {"n": n, "wall": wall, "cpu": cpu, "support": len(model.support_)}
        facts["accuracy"] = float(np.mean(model.predict(X_test) == y_test))
        facts["status"] = getattr(model, "status_", "")
        if same(name, machine):
            value = getattr(model, "dual_objective_", None)
            facts["value"] = pairs_value(model, X) if value is None else factor * float(value)
        print(json.dumps(facts), flush=True)
        if cpu > most:
            break


# ---- what is shown ----


def slopes(runs, clock="cpu"):
    """Slopes in logarithms between successive numbers of rows."""
    return [math.log(b[clock] / a[clock]) / math.log(b["n"] / a["n"]) for a, b in zip(runs, runs[1:], strict=False)]


def at_size(results, n):
    return {machine: r for machine, runs in results.items() for r in runs if r["n"] == n}


def checked(name, results):
    """What differs where it should not: {machine: sentence}."""
    wrong = {}
    for n in sorted({r["n"] for runs in results.values() for r in runs}):
        here = at_size(results, n)
        for kind in {same(name, m) for m in here} - {None}:
            group = {m: r for m, r in here.items() if same(name, m) == kind}
            value, accuracy = (max(r[key] for r in group.values()) for key in ("value", "accuracy"))
            for m, r in group.items():
                if not (r["value"] >= 0.99 * value and r["accuracy"] >= accuracy - 0.01):
                    deficit = 1 - r["value"] / value
                    wrong[m] = f"differs at {n:,}: value {deficit:.1%} lower, accuracy {r['accuracy']:.4f}"
    return wrong


def verdicts(name, results, clock):
    """One sentence for each demand that some machine misses."""
    ours = {m: runs for m, runs in results.items() if m not in PEERS}
    for m, runs in ours.items():
        for a, b, slope in zip(runs, runs[1:], slopes(runs, clock), strict=False):
            if slope > STEEPEST or slope < 0:
                yield f"{m}: slope {slope:.2f} from {a['n']:,} to {b['n']:,} rows"
    for n in sorted({r["n"] for runs in results.values() for r in runs}):
        here = at_size(ours, n)
        # A bias should cost nothing: with and without one count together.
        names = {m: r[clock] for m, r in here.items() if same(name, m)}
        for m, seconds in names.items():
            if seconds > APART * min(names.values()):
                yield f"{m}: {seconds / min(names.values()):.1f} times the fastest of our names at {n:,} rows"
        peer = at_size(results, n).get(PEERS[0])
        for m, seconds in names.items():
            if peer and n >= 10_000 and peer[clock] < AHEAD * seconds:
                yield f"{m}: {peer[clock] / seconds:.2f} times as fast as {PEERS[0]} at {n:,} rows"


def show(name, results, reasons, sizes, clock):
    wrong = checked(name, results)
    table = Table(title=f"{name}: wall / processor seconds of a fit", title_justify="left")
    for column in ("machine", *(f"{n:,}" for n in sizes), "slopes", "SVs", "accuracy", "status", ""):
        table.add_column(column, justify="left" if column in ("machine", "") else "right")
    for machine, runs in results.items():
        cells = {r["n"]: f"{r['wall']:.3g} / {r['cpu']:.3g}" for r in runs}
        last = runs[-1] if runs else {}
        table.add_row(
            machine,
            *(cells.get(n, "-") for n in sizes),
            " ".join(f"{s:.2f}" for s in slopes(runs)),
            *((f"{last['support']:,}", f"{last['accuracy']:.4f}", last["status"]) if runs else ("-", "-", "-")),
            "; ".join(filter(None, (wrong.get(machine), reasons.get(machine)))),
        )
    console.print(table)
    missed = list(verdicts(name, results, clock))
    console.print(f"{name}, demands by {clock} seconds: {len(missed)} missed")
    for sentence in missed:
        console.print(f"  {sentence}")
    for machine, sentence in wrong.items():
        console.print(f"  {machine}: {sentence}")
    console.print()


def picture(path, everything):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6 * len(everything) + 2, 4.6), layout="constrained")
    for ax, (name, results) in zip(np.atleast_1d(figure.subplots(1, len(everything))), everything.items(), strict=True):
        for machine, runs in results.items():
            style = "k--" if machine == PEERS[0] else "k:" if machine == PEERS[1] else "o-"
            ax.loglog([r["n"] for r in runs], [r["cpu"] for r in runs], style, ms=3, label=machine)
        ax.set(xlabel="rows", ylabel="processor seconds", title=f"{name} classes, C = {C:g}, gamma = {GAMMA:g}")
        ax.grid(alpha=0.3, which="both")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    figure.savefig(path, dpi=110)
    console.print(f"drawn to {path}")


FIELDS = (
    *("date", "problem", "machine", "n", "wall", "cpu", "support", "accuracy", "status", "value"),
    *("processor", "cores", "simd", "threads", "versions"),
)


def store(path, here, everything):
    with path.open("w", newline="") as f:
        writer = csv.DictWriter(f, FIELDS)
        writer.writeheader()
        for name, results in everything.items():
            for machine, runs in results.items():
                writer.writerows({**here, "problem": name, "machine": machine, **r} for r in runs)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="problem", help="two, five; default: both")
    parser.add_argument("--rows", type=sized, default=ROWS, help="comma-separated (5,000 to 80,000)")
    parser.add_argument("--machines", help=f"comma-separated; default: {', '.join(MACHINES)}")
    parser.add_argument("--most", type=float, default=60, help="no more rows after this many processor seconds (60)")
    parser.add_argument("--limit", type=float, default=600, help="processor seconds after which a fit is ended (600)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="clock of the demands (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="1,000 and 2,000 rows")
    parser.add_argument("--out", type=Path, help="folder for growth.csv and growth.png (benchmarks/results)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    sizes = (1_000, 2_000) if args.quick else args.rows
    if args.child:
        return measure(*args.names, sizes, args.most, args.limit)
    machines = chosen(parser, args.machines, MACHINES)
    problems = chosen(parser, ",".join(args.names), ("two", "five"))
    line, here = header()
    console.print(f"{line}\n")
    here["date"], here["processor"] = datetime.datetime.now().isoformat(timespec="seconds"), here.pop("cpu")
    everything = {}
    for name in problems:
        results, reasons = {}, {}
        for machine in machines:
            rows = ",".join(map(str, sizes))
            options = [name, machine, "--rows", rows, "--most", args.most, "--limit", args.limit]
            results[machine], reasons[machine] = fits("growth", options, len(sizes), args.limit)
        everything[name] = results
        show(name, results, reasons, sizes, args.clock)
    out = args.out or Path(__file__).parent / "results"
    out.mkdir(parents=True, exist_ok=True)
    store(out / "growth.csv", here, everything)
    picture(out / "growth.png", everything)


if __name__ == "__main__":
    end_with_children()
    main()
