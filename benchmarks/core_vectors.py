"""Core vector machines on many rows: python -m benchmarks.core_vectors [reach|paper|growth|memory|disk|real ...]

    reach   Synth 2 (ten Gaussians, 1,000,000 x 5) at a certified gap of 5 %; with --peers also Nystroem + SGD and
            oneDAL's SVC, in the same run (minutes)
    paper   Tables 2 and 3 of the paper with its nu and epsilon, beside the printed figures
    growth  seconds from 10,000 to 10,000,000 rows of the same Gaussians, the slope in logarithms, and the picture
    memory  memory that a fit of 10,000,000 x 5 rows in memory takes beyond the data
    disk    memory and seconds of a fit of 50,000,000 x 5 rows in a file (1 GB, in a temporary folder)
    real    ridge at most 1: shuttle, KDD Cup 99, Covertype, MNIST; certified gap, accuracy beside an exact machine and
            beside random cores of the same size (needs POLYMARGIN_DATA); `search` shows how C and gamma were chosen
    picture, table    the picture of `growth` and the tables of `real` again, from the stored rows

Rows are appended to --out with the date, the processor and the versions. Seconds are wall time; `cpu` is the processor
time of the process, which a busy machine changes less.
"""

import argparse
import csv
import datetime
import multiprocessing
import os
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from polymargin import CoreVectorSVC

from .run import machine

FIELDS = (
    *("date", "entry", "dataset", "n", "solver", "parameters", "seconds", "cpu", "predict_seconds", "accuracy"),
    *("balanced", "recall", "core", "gap", "status", "note", "cores", "versions"),
)
# Tables 2 and 3 of the paper: core vectors, seconds to train, accuracy in per cent, of its MCVM.
PRINTED = {"synth1": (291, 10, 98.912), "synth2": (322, 29, 98.814), "kddcup99": (187, 202, 91.671)}
PAPER = {
    "synth1": dict(gamma=0.075, epsilon=1.5e-3, nu=9e-3),
    "synth2": dict(gamma=0.1, epsilon=7e-4, nu=9e-3),
    "kddcup99": dict(gamma=10.0, epsilon=5e-3, nu=5e-3),
}
HELD_OUT = ", held out"
SYNTH = dict(C=10.0, gamma=0.1, tol=0.05)
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)


# ---- data ----


def gaussians(n, n_test, seed, X=None, y=None):
    """Ten unit-variance Gaussians in 5 dimensions whose means lie on a sphere of radius 6; X and y may be files."""
    means = np.random.default_rng(77).normal(size=(10, 5))
    means *= 6 / np.linalg.norm(means, axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    X = np.empty((n + n_test, 5), dtype=np.float32) if X is None else X
    y = np.empty(n + n_test, dtype=np.int64) if y is None else y
    y[:] = rng.integers(0, 10, n + n_test)
    for at in range(0, n + n_test, 1 << 20):
        part = y[at : at + (1 << 20)]
        X[at : at + len(part)] = means[part] + rng.normal(size=(len(part), 5))
    return X[:n], y[:n], X[n:], y[n:]


def real(name):
    """A real data set, scaled as its entry says; "... held out": a tenth of its training rows for test rows."""
    if name.endswith(HELD_OUT):
        X, y, *_ = real(name.removesuffix(HELD_OUT))
        X, Xt, y, yt = train_test_split(X, y, test_size=0.1, stratify=y, random_state=0)
        return X, y, Xt, yt
    with np.load(Path(os.environ["POLYMARGIN_DATA"]) / f"{name}.npz", allow_pickle=False) as archive:
        X, y, Xt, yt = (archive[k] for k in ("X_train", "y_train", "X_test", "y_test"))
    X, Xt = X.astype(np.float32), Xt.astype(np.float32)
    if name == "kddcup99_10pct":  # as in the paper: by the maxima
        scale = np.maximum(X.max(axis=0), 1e-12)
        return X / scale, y, Xt / scale, yt
    if name == "mnist":
        return X / 255, y, Xt / 255, yt
    mean, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-6)
    return (X - mean) / spread, y, (Xt - mean) / spread, yt


# ---- measuring ----


def measured(entry, dataset, data, model, note="", solver="CoreVectorSVC", parameters=None):
    """The row of one fit, and what it predicts."""
    X, y, Xt, yt = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin, cpu = time.perf_counter(), time.process_time()
        model.fit(X, y)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        begin = time.perf_counter()
        predicted = model.predict(Xt)
        predict_seconds = time.perf_counter() - begin
    row = dict(
        entry=entry, dataset=dataset, n=len(y), solver=solver, parameters=parameters or "", seconds=round(seconds, 3),
        cpu=round(cpu, 3), predict_seconds=round(predict_seconds, 3), note=note,
        accuracy=round(float(np.mean(predicted == yt)), 5),
    )  # fmt: skip
    if hasattr(model, "duality_gap_"):
        row.update(core=len(model.support_), gap=f"{model.duality_gap_:.3g}", status=model.status_)
    print({k: v for k, v in row.items() if v != ""}, flush=True)
    return row, predicted


def text_of(parameters):
    return " ".join(f"{k}={v}" for k, v in parameters.items())


def ours(entry, dataset, data, note="", **parameters):
    return measured(entry, dataset, data, CoreVectorSVC(**parameters), note, parameters=text_of(parameters))


class Memory:
    """The largest anonymous memory (RssAnon: no mapped files) of this process, looked at every 10 ms."""

    def __enter__(self):
        self.before = self.peak = self.now()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def watch(self):
        while not self.done.wait(0.01):
            self.peak = max(self.peak, self.now())

    @staticmethod
    def now():
        line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("RssAnon"))
        return 1024 * int(line.split()[1])


# ---- entries ----


def synth(args):
    """The parameters on the Gaussians."""
    return SYNTH if args.tol is None else {**SYNTH, "tol": args.tol}


def reach(args):
    data = gaussians(args.n or 1_000_000, 200_000, seed=4)
    rows = [ours("reach", "synth2", data, **synth(args))[0]]
    if args.peers:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import SGDClassifier
        from sklearn.pipeline import make_pipeline

        model = make_pipeline(Nystroem(gamma=0.2, n_components=300, random_state=0), SGDClassifier(random_state=0))
        rows.append(measured("reach", "synth2", data, model, solver="Nystroem 300 + SGD", parameters="gamma=0.2")[0])
        try:
            from sklearnex.svm import SVC
        except ImportError:
            print("oneDAL is not installed: pip install scikit-learn-intelex")
        else:
            model = SVC(C=1.0, gamma=0.2)
            rows.append(measured("reach", "synth2", data, model, solver="oneDAL SVC", parameters="C=1 gamma=0.2")[0])
        for row in rows[1:]:
            row["note"] = f"{row['seconds'] / rows[0]['seconds']:.1f} times the seconds of CoreVectorSVC"
            print(f"{row['solver']}: {row['note']}")
    return rows


def paper(_):
    rows = []
    for name, n, n_test, seed in (("synth1", 100_000, 25_000, 3), ("synth2", 1_000_000, 200_000, 4)):
        data = gaussians(n, n_test, seed)
        for code, intercept in (("simplex", "none"), ("printed", "regularized")):
            core, seconds, accuracy = PRINTED[name]
            note = f"printed: {core} core vectors, {seconds} s, {accuracy} %"
            rows.append(ours("paper", name, data, note, code=code, intercept=intercept, **PAPER[name])[0])
    if "POLYMARGIN_DATA" in os.environ:
        core, seconds, accuracy = PRINTED["kddcup99"]
        note = f"printed (4,898,431 rows): {core} core vectors, {seconds} s, {accuracy} %"
        data = real("kddcup99_10pct")
        for code, intercept in (("simplex", "none"), ("printed", "regularized")):
            rows.append(ours("paper", "kddcup99", data, note, code=code, intercept=intercept, **PAPER["kddcup99"])[0])
        for name, gamma in (("shuttle", 1.0), ("mnist", 0.02)):
            rows.append(ours("paper", name, real(name), nu=9e-3, epsilon=1e-3, gamma=gamma)[0])
    return rows


def growth(args):
    rows = []
    for n in SIZES:
        if n <= (args.n or SIZES[-1]):
            rows.append(ours("growth", "synth", gaussians(n, 20_000, seed=4), **synth(args))[0])
    rows[-1]["note"] = "; ".join(f"{what} grow like n^{slope(rows, what):.2f}" for what in ("seconds", "cpu"))
    print(rows[-1]["note"])
    return rows


def slope(rows, what="seconds"):
    """The exponent p of seconds proportional to n^p: the straight line in logarithms."""
    n, t = (np.log([float(r[key]) for r in rows]) for key in ("n", what))
    return np.polyfit(n, t, 1)[0]


def memory(args):
    X, y, Xt, yt = gaussians(args.n or 10_000_000, 20_000, seed=4)
    with Memory() as used:
        row, _ = ours("memory", "synth", (X, y, Xt, yt), **synth(args))
    extra, most = used.peak - used.before, 1.5 * X.nbytes + (512 << 20)
    row["note"] = (
        f"data {X.nbytes / 1e6:.0f} MB (float32) and labels {y.nbytes / 1e6:.0f} MB, extra {extra / 1e6:.0f} MB "
        f"of at most {most / 1e6:.0f} MB"
    )
    print(row["note"])
    return [row]


def disk(args):
    """Rows in a file are fitted in a process of their own, which maps the file and holds nothing else."""
    n, n_test = args.n or 50_000_000, 20_000
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        X, y = mapped_files(folder, n + n_test, "w+")
        gaussians(n, n_test, 4, X, y)
        X.flush()
        y.flush()
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            row = pool.apply(fit_from_disk, (folder, n, n_test, synth(args)))
    return [row]


def mapped_files(folder, n, mode):
    X = np.memmap(Path(folder) / "rows", np.float32, mode, shape=(n, 5))
    return X, np.memmap(Path(folder) / "labels", np.int8, mode, shape=(n,))


def fit_from_disk(folder, n, n_test, parameters):
    X, y = mapped_files(folder, n + n_test, "r")
    with Memory() as used:
        row, _ = ours("disk", "synth", (X[:n], y[:n], X[n:], y[n:]), **parameters)
    row["note"] = (
        f"file {(X.nbytes + y.nbytes) / 1e6:.0f} MB; anonymous memory of the process at most {used.peak / 1e6:.0f} MB, "
        f"{used.before / 1e6:.0f} MB before the fit"
    )
    print(row["note"])
    return row


# ---- from the stored rows ----


def stored(path, entry):
    """The rows of an entry, as text."""
    with path.open(newline="") as f:
        return [row for row in csv.DictReader(f) if row["entry"] == entry]


def picture(args):
    """The last run of `growth`, in logarithms of both axes."""
    from matplotlib.figure import Figure

    rows = stored(args.out, "growth")
    rows = [r for r in rows if r["date"] == rows[-1]["date"]]
    n, seconds = (np.array([float(r[key]) for r in rows]) for key in ("n", "seconds"))
    p = slope(rows)
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    ax = figure.subplots()
    ax.loglog(n, seconds, "o-", color="#0072b2", label="CoreVectorSVC")
    line = seconds.prod() ** (1 / len(n)) * (n / n.prod() ** (1 / len(n))) ** p
    ax.loglog(n, line, "--", color="#d55e00", label=f"slope {p:.2f}")
    ax.set(xlabel="rows", ylabel="seconds to train", title=f"Ten Gaussians in 5 dimensions, {rows[0]['parameters']}")
    ax.grid(alpha=0.3)
    ax.legend()
    args.picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.picture, dpi=110)
    print(f"slope {p:.2f}, drawn to {args.picture}")
    return []


def real_sets(args):
    from .core_vector_sets import compared

    return compared(args.sets.split(",") if args.sets else None)


def search(args):
    from .core_vector_sets import searched

    return searched(args.sets.split(",") if args.sets else None)


def table(args):
    """The tables of `real`, and in the page, if one is given, between the two marks."""
    from .core_vector_sets import tables

    text = tables(stored(args.out, "real"))
    print(text)
    if args.page:
        before, _, rest = args.page.read_text("utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        args.page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", "utf-8")
    return []


ENTRIES = dict(
    reach=reach, paper=paper, growth=growth, memory=memory, disk=disk, real=real_sets, search=search, picture=picture,
    table=table,
)  # fmt: skip
MARKS = "<!-- real: begin -->", "<!-- real: end -->"
AFTERWARDS = dict(growth=picture, real=table)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core_vectors", description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", help=f"some of {', '.join(ENTRIES)}; default: reach")
    parser.add_argument("--peers", action="store_true", help="measure other libraries as well")
    parser.add_argument("--sets", help="comma-separated data sets of `real` and `search`")
    parser.add_argument("--n", type=int, help="rows of `reach`, `memory` and `disk`, largest number of `growth`")
    parser.add_argument("--tol", type=float, help="another gap than 0.05 on the Gaussians")
    parser.add_argument("--folder", help="folder for the temporary files of `disk`")
    parser.add_argument("--out", type=Path, default=Path("core_vectors.csv"), help="CSV that rows are appended to")
    parser.add_argument("--page", type=Path, help="page that gets the tables of `real`")
    parser.add_argument("--picture", type=Path, default=Path("core-vector-growth.png"), help="picture of `growth`")
    args = parser.parse_args()
    here = {"date": datetime.datetime.now().isoformat(timespec="seconds"), **machine()}
    for entry in args.entries or ["reach"]:
        if entry not in ENTRIES:
            parser.error(f"unknown entry {entry!r}; expected some of {', '.join(ENTRIES)}")
        for row in ENTRIES[entry](args):
            keep(args.out, {**here, **row})
        if entry in AFTERWARDS:
            AFTERWARDS[entry](args)


def keep(path, row):
    new = not path.exists()
    with path.open("a", newline="") as f:
        writer = csv.DictWriter(f, FIELDS, extrasaction="ignore")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
