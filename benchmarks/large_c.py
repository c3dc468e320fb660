"""Overlapping rows and large C, which is what grid searches meet: python -m benchmarks.large_c [sets...] [--quick]

Every machine on every set at C = 1, 64, 4096 and 32768, beside scikit-learn's SVC; RBF kernel, gamma = 1 / features,
standardized rows, tol = 1e-3 for all. Sets:

    n-d-T       n rows of T Gaussians in d dimensions, means N(0, 1 / d) in every dimension: classes overlap
    satimage, vehicle, yeast, glass     training rows, where POLYMARGIN_DATA has them

Each machine has a process of its own and runs from small C to large. A fit is ended after --limit processor seconds,
and the machine is not run at larger C. These fits count as --limit seconds, so that ratios with ">" and "<" are bounds.
Ratios are of processor seconds: SVC's by ours, and the largest C's by the smallest one's.

The last table is a search over these C and four gammas on one set: KernelSearchCV of PairwiseSVC, and GridSearchCV of
SVC in one process, so that its processor seconds are counted; k processes take a k-th of its wall seconds at best.
"""

import argparse
import json

import numpy as np
from rich.console import Console
from rich.table import Table

from polymargin.datasets import DatasetNotFound

from . import datasets
from .limited import chosen, end_with_children, fits, header, timed

COSTS = (1.0, 64.0, 4096.0, 32768.0)
LARGE = 4096.0
AHEAD, GROWTH = 20, 10  # SVC's seconds by ours at large C, at least; seconds at the largest C by those at 1, at most
SETS = ("300-2-2", "1000-4-5", "2000-10-3", "5000-20-10", "glass", "vehicle", "yeast", "satimage")
QUICK = ("300-2-2", "600-4-5", "glass")
FOLDS = 3
console = Console(width=max(170, Console().width))


def rows(name, seed=0):
    """Standardized rows, labels and gamma of a set."""
    if "-" in name:
        n, d, T = map(int, name.split("-"))
        rng = np.random.default_rng([seed, n, d, T])
        y = np.arange(n) % T
        X = rng.normal(0, d**-0.5, (T, d))[y] + rng.standard_normal((n, d))
    else:
        D = datasets.stored(name, -1, True)
        X, y = D.X_train, D.y_train
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1), y, 1 / X.shape[1]


# ---- who takes part ----


def joint(machine, C, gamma):
    from polymargin import JointSVC

    return JointSVC(machine, C=C, gamma=gamma)


def reduction(name, C, gamma):
    import polymargin

    return getattr(polymargin, name)(C, gamma=gamma)


def svc(C, gamma):
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, cache_size=1000)


def kernel_search(grid):
    from polymargin import KernelSearchCV, PairwiseSVC

    return KernelSearchCV(PairwiseSVC(), **grid, cv=FOLDS)


def grid_search(grid):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    return GridSearchCV(SVC(), grid, cv=FOLDS)


PEER = "SVC"
MACHINES = {
    PEER: svc,
    "PairwiseSVC": lambda C, gamma: reduction("PairwiseSVC", C, gamma),
    "OneVsRestSVC": lambda C, gamma: reduction("OneVsRestSVC", C, gamma),
    "kesler": lambda C, gamma: joint("kesler", C, gamma),
    "crammer-singer": lambda C, gamma: joint("crammer-singer", C, gamma),
    "scatter": lambda C, gamma: joint("scatter", C, gamma),
}
SEARCHES = {"GridSearchCV": grid_search, "KernelSearchCV": kernel_search}


def measure(name, machine, limit):
    """In the child: a line of JSON per C, or one for a search."""
    X, y, gamma = rows(name)
    warm, labels, _ = rows("60-2-2")
    if machine in SEARCHES:
        build = SEARCHES[machine]
        build(dict(C=[1.0], gamma=[1.0])).fit(warm, labels)
        grid = dict(C=list(COSTS), gamma=[gamma * 4.0**k for k in (-2, -1, 0, 1)])
        wall, cpu, model = timed(lambda: build(grid).fit(X, y), limit, most=1)
        print(json.dumps(dict(wall=wall, cpu=cpu, score=model.best_score_, best=str(model.best_params_))), flush=True)
        return
    build = MACHINES[machine]
    build(1.0, 1.0).fit(warm, labels)  # loads the library and starts its threads
    for C in COSTS:
        wall, cpu, model = timed(lambda C=C: build(C, gamma).fit(X, y), limit)
        facts = dict(C=C, wall=wall, cpu=cpu, score=float(model.score(X, y)), status=getattr(model, "status_", ""))
        facts["gap"] = float(getattr(model, "duality_gap_", np.nan))
        print(json.dumps(facts), flush=True)


# ---- what is shown ----


def ratio(above, below):
    """Processor seconds of one fit by those of another: a text with its sign of a bound, and the number."""
    if not above or not below or (above["stopped"] and below["stopped"]):
        return "-", None
    number = above["cpu"] / below["cpu"]
    return f"{'>' if above['stopped'] else '<' if below['stopped'] else ''}{number:.3g}", number


def below(text, number):
    """Whether we are seen to be less than AHEAD; a peer that was ended may have needed any time."""
    return number is not None and number < AHEAD and not text.startswith(">")


def found(name, machine, limit):
    """{C: facts of a fit}; those that were ended, or not started for that reason, have the limit as their seconds."""
    given, reason = fits("large_c", [name, machine, "--limit", limit], len(COSTS), limit)
    ended = dict(wall=limit, cpu=limit, stopped=True, status=reason, score=None)
    runs = {C: ended for C in COSTS if reason == "stopped"} | {r["C"]: {**r, "stopped": False} for r in given}
    return runs, reason


def cell(run):
    return "-" if run is None else f"> {run['cpu']:g}" if run["stopped"] else f"{run['wall']:.3g} / {run['cpu']:.3g}"


def demands(machine, runs, peer):
    """Ratios of a machine: {C: SVC's by ours} at large C, then growth with C."""
    ahead = {C: ratio(peer.get(C), runs.get(C)) for C in COSTS if C >= LARGE}
    if machine == PEER:
        ahead = dict.fromkeys(ahead, ("", None))
    return ahead, ratio(runs.get(COSTS[-1]), runs.get(COSTS[0]))


def show(name, results, reasons):
    """The table of a set; returns a sentence for each demand that is missed."""
    X, y, gamma = rows(name)
    shape = f"{len(y):,} rows, {X.shape[1]} features, {len(np.unique(y))} classes, gamma = {gamma:.3g}"
    table = Table(title=f"{name}: {shape}; wall / processor seconds", title_justify="left")
    ahead_names = [f"SVC / it, {C:g}" for C in COSTS if C >= LARGE]
    for column in ("machine", *(f"C = {C:g}" for C in COSTS), *ahead_names, f"{COSTS[-1]:g} / 1", "accuracy", ""):
        table.add_column(column, justify="left" if column in ("machine", "") else "right", no_wrap=bool(column))
    missed = []
    for machine, runs in results.items():
        ahead, growth = demands(machine, runs, results.get(PEER, {}))
        scores = [r["score"] for r in runs.values() if r["score"] is not None]
        notes = [f"{r['status']} at {C:g}" for C, r in runs.items() if r["status"] not in ("", "solved", "stopped")]
        table.add_row(
            *(machine, *(cell(runs.get(C)) for C in COSTS), *(text for text, _ in ahead.values()), growth[0]),
            *(f"{scores[-1]:.4f}" if scores else "-", "; ".join([*notes, *filter(None, [reasons[machine]])])),
        )
        for C, (text, number) in ahead.items():
            if below(text, number):
                missed.append(f"{name}, {machine}: {text} times as fast as {PEER} at C = {C:g}")
        if machine != PEER and growth[1] is not None and growth[1] > GROWTH:
            missed.append(f"{name}, {machine}: {growth[0]} times the seconds at C = {COSTS[-1]:g} as at 1")
    console.print(table)
    return missed


def search(name, limit):
    """The table of the searches; returns a sentence if the demand is missed."""
    table = Table(title=f"{name}: {len(COSTS)} values of C, 4 of gamma, {FOLDS} folds", title_justify="left")
    for column in ("search", "wall / processor seconds", "score", "best", ""):
        table.add_column(column)
    runs = {}
    for machine in SEARCHES:
        given, reason = fits("large_c", [name, machine, "--limit", limit], 1, limit)
        if given or reason == "stopped":
            runs[machine] = {"cpu": limit, **(given[0] if given else {}), "stopped": not given}
        shown = (f"{given[0]['score']:.4f}", given[0]["best"]) if given else ("-", "-")
        table.add_row(machine, cell(runs.get(machine)), *shown, reason or "")
    console.print(table)
    text, number = ratio(*(runs.get(machine) for machine in SEARCHES))
    sentence = f"{name}: KernelSearchCV is {text} times as fast as GridSearchCV"
    console.print(f"{sentence}, by processor seconds")
    return [sentence] if below(text, number) else []


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_c", description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help=f"default: {' '.join(SETS)}")
    parser.add_argument("--machines", help=f"comma-separated; default: {', '.join(MACHINES)}")
    parser.add_argument("--limit", type=float, help="processor seconds after which a fit is ended (300; quick: 20)")
    parser.add_argument("--search", help="set of the search, or none (1000-4-5; quick: 300-2-2)")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    limit = args.limit or (20 if args.quick else 300)
    if args.child:
        return measure(*args.sets, limit)
    machines = chosen(parser, args.machines, MACHINES)
    console.print(f"{header()[0]}\n")
    missed = []
    for name in args.sets or (QUICK if args.quick else SETS):
        try:
            rows(name)
        except DatasetNotFound as reason:
            console.print(f"{name}: skipped, {reason}\n")
            continue
        results, reasons = {}, {}
        for machine in machines:
            results[machine], reasons[machine] = found(name, machine, limit)
        missed += show(name, results, reasons)
    searched = args.search or ("300-2-2" if args.quick else "1000-4-5")
    if searched != "none":
        missed += search(searched, limit * (4 if args.quick else 12))
    console.print(f"\ndemands by processor seconds: {len(missed)} missed")
    for sentence in missed:
        console.print(f"  {sentence}")


if __name__ == "__main__":
    end_with_children()
    main()
