"""Run the benchmarks: python -m benchmarks.run [names...] [--fast] [--out results.csv]

Every pair of a data set and a solver runs in a process of its own, one after another, with a time limit: a peer that
does not finish is a result ("stopped"), not a hang. The tables show each ratio beside both accuracies; the last one
says which targets are reached. Rows are appended to the CSV with the date, the versions and the processor.
"""

import argparse
import csv
import datetime
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from polymargin.datasets import DatasetNotFound

from . import datasets, objective, solvers
from .objective import OURS, TARGETS

FULL = (
    *("digits", "satimage", "usps", "letter"),
    *("circle-10", "circle-100", "circle-1000", "circle-10000", "tight-1000"),
    *("checker-10", "checker-100", "checker-1000", "checker-10000", "steps"),
)
FAST = ("digits", "circle-100", "checker-100", "steps")
TUNED = ("digits", "satimage", "usps", "letter", "circle-100", "tight-300", "checker-100")
STEP_CLASSES = (2, 10, 100, 1000)
# Importing the libraries and making the data happen before the clock of a solver starts.
START_UP = 15

console = Console(width=max(120, Console().width))


# ---- one process per measurement -----------------------------------------------------------------


def report(facts):
    print(json.dumps(facts), flush=True)


def measure_one(name, solver_name):
    """In the child: fit and predict one solver on one data set."""
    solver = solvers.SOLVERS[solver_name]
    C, gamma = solvers.chosen(solver, name)
    D = datasets.load(name)
    objective.evaluate(solver.build(C, gamma), D, solver.dtype, report)


def measure_steps():
    """In the child: seconds per step on the same rows for 2 to 1,000 classes.

    A fit has a fixed part (kernel values) and steps, and the number of steps depends on the labels. So all fits are
    stopped after the same number of steps, the smallest number that any of them needs, and take turns, so that a busy
    machine slows all alike.
    """
    import numpy as np

    sets = {T: datasets.load(f"rows-{T}") for T in STEP_CLASSES}
    X = {T: np.ascontiguousarray(D.X_train, dtype="float32") for T, D in sets.items()}
    build = solvers.SOLVERS[OURS].build
    C, gamma = solvers.CHOSEN["rows"][OURS]
    own = {T: int(build(C, gamma).fit(X[T], D.y_train).n_iter_) for T, D in sets.items()}
    same = min(own.values())
    per_step = {T: [] for T in sets}
    for _ in range(5):
        for T, D in sets.items():
            model = build(C, gamma).set_params(max_iter=same).fit(X[T], D.y_train)
            per_step[T].append(model.fit_seconds_ / model.n_iter_)
    for T in sets:
        report({f"own_steps_{T}": own[T], f"steps_{T}": same, f"seconds_per_step_{T}": float(np.median(per_step[T]))})


def reports(module, arguments, limit):
    """Run a module of this folder with `--child` in a new process: its reports, how it ended ("ok", "stopped" or
    "error"), and the last line of an error."""
    command = [sys.executable, "-W", "ignore", "-m", f"benchmarks.{module}", "--child", *arguments]
    process = subprocess.Popen(
        command,
        cwd=Path(__file__).parent.parent,
        env=dict(os.environ, PYTHONWARNINGS="ignore"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    status, reason = "ok", None
    try:
        out, err = process.communicate(timeout=limit + START_UP)
    except subprocess.TimeoutExpired:
        status = "stopped"
    finally:
        # The group, so that worker processes of the solver end with it.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
    if status == "ok" and process.returncode:
        status = "error"
        reason = (err.strip().splitlines() or [f"exit code {process.returncode}"])[-1][:200]
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")], status, reason


def child(arguments, limit):
    """One measurement of this module in a new process: its reports, merged, and how it ended."""
    parts, status, reason = reports("run", arguments, limit)
    facts = {key: value for part in parts for key, value in part.items()}
    if status == "stopped":
        facts.update(stopped_after=limit, reason=f"stopped after {limit:g} s")
    elif status == "error":
        facts["reason"] = reason
    return {"status": status, **facts}


def why_not(solver, D):
    """The reason to skip a solver on a data set, or None."""
    T = D.n_classes
    if solver.name != OURS and T > 2000:
        return f"{T:,} classes: hours by its own scaling from 1,000"
    if solver.name == "onedal-64" and T >= 1000:
        return "onedal-32 is the faster of the two"
    return solver.missing()


def run_dataset(name, names, limit):
    """{solver name: result} for one data set."""
    D = datasets.load(name)
    n, d = D.X_train.shape
    shape = {"dataset": name, "n": n, "n_test": len(D.y_test), "d": d, "classes": D.n_classes}
    results = {}
    for solver in (solvers.SOLVERS[s] for s in names):
        C, gamma = solvers.chosen(solver, name)
        reason = why_not(solver, D)
        console.print(f"[dim]{name}: {solver.name} ...[/dim]")
        result = {"status": "skipped", "reason": reason} if reason else child([name, solver.name], limit)
        results[solver.name] = {**shape, "solver": solver.name, "C": C, "gamma": gamma, **result}
    return results


# ---- what is shown and stored --------------------------------------------------------------------


def show(value, form):
    return "-" if value is None else format(value, form)


def strongest(results, key):
    """The peer with the smallest `key` (seconds), or None."""
    peers = [r for s, r in results.items() if s != OURS and r.get(key) is not None]
    return min(peers, key=lambda r: r[key], default=None)


def print_dataset(name, results):
    first = next(iter(results.values()))
    title = f"{name}: {first['n']:,} + {first['n_test']:,} rows, {first['d']} features, {first['classes']:,} classes"
    table = Table(title=title, title_justify="left")
    for column in ("solver", "C", "gamma", "fit s", "rows/s", "accuracy", "SVs", "gap", "fit x", "predict x", ""):
        table.add_column(column, justify="left" if column in ("solver", "") else "right")
    ours = results.get(OURS, {})
    best = {measure: strongest(results, f"{measure}_seconds") for measure in ("fit", "predict")}
    for s, r in results.items():
        ratios = []
        for measure, peer in best.items():
            x = objective.ratio(measure, ours, peer or {}) if s == OURS else objective.ratio(measure, ours, r)
            mark = "*" if peer is r else ""
            ratios.append(show(x, ".3g") + mark)
        table.add_row(
            s,
            f"{r['C']:g}",
            f"{r['gamma']:g}",
            show(r.get("fit_seconds"), ".4f"),
            show(r.get("rows_per_second"), ",.0f"),
            show(r.get("accuracy"), ".4f"),
            show(r.get("n_support"), ",.0f"),
            show(r.get("gap"), ".1e"),
            *ratios,
            r.get("reason") or "",
        )
    console.print(table)
    console.print("[dim]x: scatter's advantage over that peer; in its own row over the strongest peer (*)[/dim]\n")


def print_steps(facts):
    if facts["status"] != "ok":
        console.print(f"steps: {facts['status']} ({facts['reason']})\n")
        return
    table = Table(title="steps: the same 10,000 rows, more and more classes", title_justify="left")
    for column in ("classes", "steps", "of a full fit's", "seconds per step", "against 2 classes"):
        table.add_column(column, justify="right")
    base = facts["seconds_per_step_2"]
    for T in STEP_CLASSES:
        per_step = facts[f"seconds_per_step_{T}"]
        steps, own = facts[f"steps_{T}"], facts[f"own_steps_{T}"]
        table.add_row(f"{T:,}", f"{steps:,}", f"{own:,}", f"{per_step:.3e}", f"{per_step / base:.2f}")
    console.print(table)
    console.print()


def step_facts(facts, T):
    return {"steps": facts.get(f"steps_{T}"), "seconds_per_step": facts.get(f"seconds_per_step_{T}")}


def print_targets(everything):
    table = Table(title="Targets", title_justify="left")
    for column in ("data set", "what", "verdict"):
        table.add_column(column)
    words = {True: "[green]reached[/green]", False: "[red]missed[/red]", None: "cannot say"}
    for target in TARGETS:
        if target.dataset in everything:
            reached, sentence = objective.verdict(target, everything[target.dataset])
            table.add_row(target.dataset, sentence, words[reached])
    steps = everything.get("steps", {})
    if steps.get("status") == "ok":
        x = steps["seconds_per_step_1000"] / steps["seconds_per_step_2"]
        bound = objective.STEP_RATIO
        table.add_row("steps", f"1,000 classes against 2: {x:.2f} (target at most {bound:g})", words[x <= bound])
    if table.row_count:
        console.print(table)


def machine():
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((x.split(":")[1].strip() for x in info.read_text().splitlines() if x.startswith("model name")), cpu)
    versions = {"python": platform.python_version()}
    for package in ("polymargin", "numpy", "scikit-learn", "scikit-learn-intelex"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "none"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": cpu, "cores": cores, "versions": " ".join(f"{k}={v}" for k, v in versions.items())}


FIELDS = (
    *("date", "dataset", "n", "n_test", "d", "classes", "solver", "C", "gamma", "status", "reason"),
    *("fit_seconds", "fit_runs", "predict_seconds", "predict_runs", "rows_per_second", "accuracy", "n_support", "gap"),
    *("steps", "stop", "seconds_per_step", "cpu", "cores", "versions"),
)


def store(path, rows):
    new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="") as f:
        writer = csv.DictWriter(f, FIELDS, extrasaction="ignore")
        if new:
            writer.writeheader()
        writer.writerows(rows)


# ---- the choice of C and gamma -------------------------------------------------------------------


def tune(names, kinds):
    """Print the best (C, gamma) of the grid for each data set and kind of machine, on rows that are never measured.

    Best is the highest validation accuracy; ties go to the fewest support vectors. The one-versus-one and one-vs-rest
    machines are tuned with scikit-learn (a process per core for one-vs-rest); their other implementations take the
    same values.
    """
    by_kind = {kind: s for kind, s in (("scatter", OURS), ("ovo", "ovo"), ("ovr", "ovr-all")) if s in kinds}
    for name in names:
        draws = datasets.for_tuning(name)
        for kind, solver_name in by_kind.items():
            solver = solvers.SOLVERS[solver_name]
            reason = solver.missing()
            if reason:
                console.print(f"{name} {kind}: skipped, {reason}")
                continue
            tried = []
            for gamma in solvers.GRID_GAMMA[solvers.family(name)]:
                for C in solvers.GRID_C:
                    error = support = 0.0
                    for D in draws:
                        facts = {}
                        objective.evaluate(solver.build(C, gamma), D, solver.dtype, facts.update, budget=0.0)
                        error += (1 - facts["accuracy"]) / len(draws)
                        support += facts["n_support"] / len(draws)
                    tried.append((round(error, 9), support, C, gamma))
            error, support, C, gamma = min(tried)
            found = f"C={C:g} gamma={gamma:g}, validation accuracy {1 - error:.4f}, {support:.0f} support vectors"
            console.print(f"{name} {kind}: {found}")


# ---- the command ---------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="polymargin against other libraries")
    parser.add_argument("names", nargs="*", help=f"data sets or `steps`; default: {' '.join(FULL)}")
    parser.add_argument("--fast", action="store_true", help=f"only {' '.join(FAST)}, limit 60 s")
    parser.add_argument("--out", type=Path, default=Path("results.csv"), help="CSV that rows are appended to")
    parser.add_argument("--limit", type=float, help="seconds for one solver on one data set (300)")
    parser.add_argument("--solvers", default=",".join(solvers.SOLVERS), help="comma-separated, of %(default)s")
    parser.add_argument("--tune", action="store_true", help="search C and gamma on validation rows, measure nothing")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return measure_steps() if args.names == ["steps"] else measure_one(*args.names)
    if args.tune:
        return tune(args.names or TUNED, args.solvers.split(","))
    unknown = [s for s in args.solvers.split(",") if s not in solvers.SOLVERS]
    if unknown:
        parser.error(f"unknown solver {unknown[0]!r}; expected some of {', '.join(solvers.SOLVERS)}")

    # A terminated run must not leave its child behind: SystemExit passes through the `finally` in child().
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    limit = args.limit or (60 if args.fast else 300)
    here = {"date": datetime.datetime.now().isoformat(timespec="seconds"), **machine()}
    console.print(f"{here['cpu']}, {here['cores']} cores, {here['versions']}\n")
    everything = {}
    for name in args.names or (FAST if args.fast else FULL):
        if name == "steps":
            reason = solvers.SOLVERS[OURS].missing()
            facts = {"status": "skipped", "reason": reason} if reason else child(["steps"], limit)
            everything[name] = facts
            rows = [
                {**here, **facts, "dataset": f"rows-{T}", "classes": T, "solver": OURS, **step_facts(facts, T)}
                for T in STEP_CLASSES
            ]
            print_steps(facts)
        else:
            try:
                everything[name] = run_dataset(name, args.solvers.split(","), limit)
            except DatasetNotFound as reason:
                console.print(f"{name}: skipped, {reason}\n")
                continue
            rows = [{**here, **r} for r in everything[name].values()]
            print_dataset(name, everything[name])
        store(args.out, rows)
    print_targets(everything)


if __name__ == "__main__":
    main()
