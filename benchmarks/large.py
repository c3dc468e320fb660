"""Many rows whose classes overlap: LandmarkSVC and AutoSVC beside what others have for them.

Four Gaussians in nine dimensions (means N(0, 0.8^2), unit spread, Bayes about 84.4 %), gamma = 0.05; the same with
other distances of the means; covtype_15k (with more rows than it has: resampled, with a twentieth of the spread of each
column as jitter), mnist, kddcup99_10pct, shuttle and letter where the data are there. A row of the table is a fit in a
process of its own: wall and processor seconds of `fit` alone, memory that it took, accuracy on rows of their own.
AutoSVC, which tunes C and gamma besides, tells the seconds that it announced and what it foretold of every machine.

    python -m benchmarks.large                       # 150,000 rows of the Gaussians
    python -m benchmarks.large --rows 150_000,1_000_000 --solvers landmarks
    python -m benchmarks.large --sets all --solvers landmarks,auto
    python -m benchmarks.large --disk 50_000_000     # rows in a file, passed over in blocks
    python -m benchmarks.large --dask                # a cluster of two processes on this machine
    python -m benchmarks.large --rows 20_000 --solvers landmarks,eigenpro    # pip install --no-deps scikit-learn-extra

The figures to reach: accuracy within 0.2 points of Bayes, 20 times faster than Nystroem(500) + SGD at no less accuracy,
a million rows under 20 seconds on two cores, a slope of at most 1.1 in the number of rows; AutoSVC within half a point
of the best entry and at most twice the time that it announced.
"""

import argparse
import csv
import datetime
import importlib.util
import json
import math
import multiprocessing
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from polymargin.fitting.resources import peak_memory

from .limited import chosen, end_with_children, fits, header, sized, timed

GAMMA, TEST = 0.05, 20_000
SPREADS = {"gaussians": 0.8} | {f"gaussians-{spread:g}": spread for spread in (0.4, 0.6, 1.2, 2.0, 4.0)}
REAL = ("covtype_15k", "mnist", "kddcup99_10pct", "shuttle", "letter")
JITTER = 0.05  # of the spread of a column, for rows beyond those that there are
OURS, PEER = "landmarks", "nystroem-sgd"
console = Console(width=150)


def rows(name, n):
    """Training rows, test rows, gamma, and the accuracy of Bayes where it is known."""
    if name in SPREADS:
        rng, T = np.random.default_rng(1), 4
        M = rng.normal(size=(T, 9)) * SPREADS[name]
        y = rng.integers(0, T, n + TEST)
        X = (M[y] + rng.normal(size=(n + TEST, 9))).astype(np.float32)
        test = X[n:]
        bayes = float((((test[:, None] - M) ** 2).sum(-1).argmin(1) == y[n:]).mean())
        return X[:n], y[:n], test, y[n:], GAMMA, bayes
    from polymargin.datasets import load

    data = load(name)
    X, y = data.X_train, data.y_train
    if data.X_test is not None:
        test, labels = data.X_test, data.y_test
    else:
        order = np.random.default_rng(0).permutation(len(y))
        held, rest = order[: len(y) // 5], order[len(y) // 5 :]
        X, y, test, labels = X[rest], y[rest], X[held], y[held]
    mean, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)
    if name == "mnist":
        mean, spread = 0.0, float(X.std()) or 1.0
    X, test = (((A - mean) / spread).astype(np.float32) for A in (X, test))
    gamma, rng = 1 / (X.shape[1] * float(X.var())), np.random.default_rng(0)
    if name == "covtype_15k" and n > len(y):
        again = rng.integers(0, len(y), n)
        X, y = X[again] + JITTER * rng.normal(size=(n, X.shape[1])).astype(np.float32), y[again]
    some = rng.permutation(len(y))[:n]
    return X[some], y[some], test[:TEST], labels[:TEST], gamma, None


def landmarks(gamma, **how):
    from polymargin import LandmarkSVC

    return LandmarkSVC(gamma=gamma, **how)


def nystroem(gamma, last):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    machine = SGDClassifier(random_state=0) if last == "sgd" else LinearSVC(random_state=0)
    return make_pipeline(Nystroem(gamma=gamma, n_components=500, random_state=0), machine)


def boosting(_):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def onedal(gamma):
    from sklearnex.svm import SVC

    return SVC(C=1.0, gamma=gamma)


def eigenpro(gamma):
    """EigenProClassifier of scikit-learn-extra, from its file alone.

    What is compiled of that package is for NumPy 1, and two functions that the file calls have renamed an argument.
    """
    package = importlib.util.find_spec("sklearn_extra")
    file = Path(package.origin).parent / "kernel_methods" / "_eigenpro.py"
    spec = importlib.util.spec_from_file_location("eigenpro", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    checks, eigh = module.check_X_y, module.eigh
    module.check_X_y = lambda *data, force_all_finite=True, **how: checks(*data, **how)
    module.eigh = lambda A, eigvals: eigh(A, subset_by_index=eigvals)
    return module.EigenProClassifier(gamma=gamma, random_state=0)


def pairs(gamma):
    from polymargin import PairwiseSVC

    return PairwiseSVC(C=1.0, gamma=gamma)


def auto(_):
    from polymargin import AutoSVC

    return AutoSVC()


SOLVERS = {
    OURS: landmarks,
    "auto": auto,
    "landmarks-500": lambda gamma: landmarks(gamma, n_landmarks=500),
    "landmarks-1e-3": lambda gamma: landmarks(gamma, tol=1e-3),
    PEER: lambda gamma: nystroem(gamma, "sgd"),
    "nystroem-linear": lambda gamma: nystroem(gamma, "linear"),
    "boosting": boosting,
    "eigenpro": eigenpro,
    "onedal": onedal,
    "pairwise": pairs,
}
DEFAULT = (OURS, "landmarks-500", "auto", PEER, "nystroem-linear", "boosting", "onedal")


def measure(name, n, solver, limit):
    """In the child: one line of JSON."""
    X, y, test, labels, gamma, bayes = rows(name, n)
    some = np.random.default_rng(0).permutation(len(y))[:600]
    SOLVERS[solver](gamma).fit(X[some], y[some])  # loads the library and starts its threads
    held = peak_memory()
    wall, cpu, model = timed(lambda: SOLVERS[solver](gamma).fit(X, y), limit, most=1)
    facts = dict(n=len(y), wall=wall, cpu=cpu, memory=(peak_memory() - held) / 1e9, bayes=bayes)
    facts["accuracy"] = float(np.mean(model.predict(test) == labels))
    facts["announced"] = getattr(model, "announced_seconds_", None)
    if hasattr(model, "explain_choices_"):
        facts["note"] = f"{type(model.machine_).__name__}, {model.machine_.status_}"
        facts["forecast"] = next((said for said in model.explain_choices_ if "Expected for" in said), "")
    if hasattr(model, "residual_"):
        facts["note"] = f"{len(model.support_)} landmarks, gap {model.duality_gap_:.1e}, {model.status_}"
    print(json.dumps(facts), flush=True)


def fill(folder, n):
    """Rows of the Gaussians as files, float32, made in blocks."""
    rng, T = np.random.default_rng(1), 4
    M = rng.normal(size=(T, 9)) * SPREADS["gaussians"]
    X = np.lib.format.open_memmap(Path(folder) / "X.npy", "w+", np.float32, (n, 9))
    y = np.lib.format.open_memmap(Path(folder) / "y.npy", "w+", np.int8, (n,))
    for at in range(0, n, 1 << 20):
        part = slice(at, min(at + (1 << 20), n))
        y[part] = rng.integers(0, T, part.stop - at)
        X[part] = M[y[part]] + rng.normal(size=(part.stop - at, 9))


def disk(n, memory):
    """A fit that passes over rows in a file in bounded memory; another process has made them."""
    from polymargin import LandmarkSVC

    with tempfile.TemporaryDirectory() as folder:
        maker = multiprocessing.get_context("spawn").Process(target=fill, args=(folder, n))
        maker.start()
        maker.join()
        X, y = (np.load(Path(folder) / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
        held = peak_memory()
        wall, cpu, model = timed(lambda: LandmarkSVC(gamma=GAMMA, memory=memory).fit(X, np.asarray(y)), 1e6, most=1)
        grown = (peak_memory() - held) / 1e9
        console.print(f"{n:,} rows on disk: {wall:.1f} s, {cpu:.1f} processor seconds, {grown:.2f} GB more")
        gap = f"gap {model.duality_gap_:.1e}, residual {model.residual_:.2g}, {model.status_}"
        console.print(f"{len(model.support_)} landmarks, {model.n_iter_} passes, {gap}")


def dask():
    """The same Gaussians in the partitions of a cluster of two processes, beside one fit here."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    from polymargin import LandmarkSVC

    X, y, test, labels, gamma, _ = rows("gaussians", 150_000)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster):
        parts = da.from_array(X, chunks=(30_000, -1)).persist(), da.from_array(y, chunks=30_000).persist()
        for where, (A, b) in (("here", (X, y)), ("two processes", parts)):
            wall, _, model = timed(lambda A=A, b=b: LandmarkSVC(gamma=gamma).fit(A, b), 1e6, most=1)
            right = float(np.mean(model.predict(test) == labels))
            console.print(f"{where}: {wall:.1f} s, {right:.4f}, gap {model.duality_gap_:.1e}, {model.status_}")


FIELDS = (
    *("date", "set", "n", "solver", "wall", "announced", "cpu", "memory", "accuracy", "bayes", "note", "forecast"),
    *("processor", "cores", "simd", "threads", "versions"),
)


def keeper(path, here):
    """A function that appends rows to a file, if there is one to append to."""

    def keep(row):
        if path is None:
            return
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            if new:
                writer.writeheader()
            writer.writerow({**here, **row})

    return keep


def show(name, n, solvers, limit, keep):
    """The table of a set; returns the seconds of ours. `keep` takes the rows of the table."""
    table = Table(title=f"{name}, {n:,} rows", title_justify="left")
    columns = ("solver", "wall s", "announced", "processor s", "ratio to ours", "memory GB", "accuracy", "Bayes", "")
    for column in columns:
        table.add_column(column, justify="left" if column in ("solver", "") else "right", no_wrap=bool(column))
    ours, forecasts = None, []
    for solver in solvers:
        given, reason = fits("large", [name, n, solver, "--limit", limit], 1, limit)
        if not given:
            table.add_row(solver, *["-"] * 7, reason or "")
            keep(dict(set=name, n=n, solver=solver, note=reason))
            continue
        run = given[0]
        keep(dict(set=name, solver=solver, **run))
        ours = run if solver == OURS else ours
        ratio = f"{run['cpu'] / ours['cpu']:.3g}" if ours else "-"
        bayes = "-" if run["bayes"] is None else f"{run['bayes']:.4f}"
        announced = "-" if run["announced"] is None else f"{run['announced']:.1f}"
        table.add_row(
            solver, f"{run['wall']:.2f}", announced, f"{run['cpu']:.2f}", ratio, f"{run['memory']:.2f}",
            f"{run['accuracy']:.4f}", bayes, run.get("note", ""),
        )  # fmt: skip
        if run.get("forecast"):
            forecasts.append(run["forecast"])
    console.print(table, *forecasts, sep="\n")
    return ours and ours["cpu"]


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__.splitlines()[0])
    parser.add_argument("--child", nargs=3, metavar=("SET", "ROWS", "SOLVER"), help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=sized, default=[150_000], help="numbers of rows")
    parser.add_argument("--sets", default="gaussians", help=f"all, or some of {', '.join((*SPREADS, *REAL))}")
    parser.add_argument("--solvers", default=",".join(DEFAULT), help=f"some of {', '.join(SOLVERS)}")
    parser.add_argument("--limit", type=float, default=900.0, help="processor seconds of a fit")
    parser.add_argument("--out", type=Path, help="a CSV file that the rows are appended to")
    parser.add_argument("--dask", action="store_true", help="a cluster of two processes, instead")
    parser.add_argument("--disk", type=lambda n: int(n.replace("_", "")), help="rows on disk, instead")
    parser.add_argument("--memory", default="500MB", help="of the fit on disk")
    arguments = parser.parse_args(argv)
    if arguments.child:
        name, n, solver = arguments.child
        return measure(name, int(n), solver, arguments.limit)
    line, here = header()
    console.print(line)
    if arguments.dask:
        return dask()
    if arguments.disk:
        return disk(arguments.disk, arguments.memory)
    here["date"], here["processor"] = datetime.date.today(), here.pop("cpu")
    keep = keeper(arguments.out, here)
    for name in chosen(parser, "" if arguments.sets == "all" else arguments.sets, (*SPREADS, *REAL)):
        solvers = chosen(parser, arguments.solvers, SOLVERS)
        cpu = {n: show(name, n, solvers, arguments.limit, keep) for n in arguments.rows}
        sizes = [n for n in arguments.rows if cpu[n]]
        for a, b in zip(sizes, sizes[1:], strict=False):
            console.print(f"slope from {a:,} to {b:,} rows: {math.log(cpu[b] / cpu[a]) / math.log(b / a):.2f}")
    return None


if __name__ == "__main__":
    end_with_children()
    main()
