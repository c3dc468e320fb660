"""Core vector machines on many rows: python -m benchmarks.core_vectors [reach|paper|growth|memory|real ...]

    reach   Synth 2 (ten Gaussians, 1,000,000 x 5) at a certified gap of 5 %, beside oneDAL's SVC and Nystroem + SGD
            (--peers runs those as well: minutes; without it only our own rows are measured)
    paper   Tables 2 and 3 of the paper with its nu and epsilon, beside the printed figures
    growth  seconds from 10,000 to 10,000,000 rows of the same Gaussians, and the slope in logarithms
    memory  peak memory of 10,000,000 x 5 rows beyond the data
    real    ridge at most 1: shuttle, KDD Cup 99, Covertype, MNIST; certified gap, accuracy beside an exact machine and
            beside a random core of the same size (needs POLYMARGIN_DATA)

Rows are appended to --out with the date, the processor and the versions. Seconds are wall time; `cpu` is the processor
time of the process, which a busy machine changes less.
"""

import argparse
import csv
import datetime
import os
import time
import warnings
from pathlib import Path

import numpy as np

from polymargin import CoreVectorSVC

from .run import machine

FIELDS = (
    *("date", "entry", "dataset", "n", "solver", "parameters", "seconds", "cpu", "predict_seconds", "accuracy"),
    *("core", "gap", "status", "note", "cores", "versions"),
)
# Tables 2 and 3 of the paper: core vectors, seconds to train, accuracy in per cent, of its MCVM.
PRINTED = {"synth1": (291, 10, 98.912), "synth2": (322, 29, 98.814), "kddcup99": (187, 202, 91.671)}
PAPER = {
    "synth1": dict(gamma=0.075, epsilon=1.5e-3, nu=9e-3),
    "synth2": dict(gamma=0.1, epsilon=7e-4, nu=9e-3),
    "kddcup99": dict(gamma=10.0, epsilon=5e-3, nu=5e-3),
}


# ---- data ----


def gaussians(n, n_test, seed):
    """Ten unit-variance Gaussians in 5 dimensions whose means lie on a sphere of radius 6."""
    means = np.random.default_rng(77).normal(size=(10, 5))
    means *= 6 / np.linalg.norm(means, axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 10, n + n_test)
    X = np.empty((n + n_test, 5), dtype=np.float32)
    for at in range(0, n + n_test, 1 << 20):
        part = y[at : at + (1 << 20)]
        X[at : at + len(part)] = means[part] + rng.normal(size=(len(part), 5))
    return X[:n], y[:n], X[n:], y[n:]


def real(name):
    """A real data set, scaled as its entry says."""
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


def ours(entry, dataset, data, note="", **parameters):
    text = " ".join(f"{k}={v}" for k, v in parameters.items())
    return measured(entry, dataset, data, CoreVectorSVC(**parameters), note, parameters=text)


# ---- entries ----


def reach(peers):
    data = gaussians(1_000_000, 200_000, seed=4)
    rows = [ours("reach", "synth2", data, C=10.0, gamma=0.1, tol=0.05)[0]]
    if peers:
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
            print(f"{row['solver']}: {row['seconds'] / rows[0]['seconds']:.1f} times our seconds")
    return rows


def paper(_):
    rows = []
    for name, n, n_test, seed in (("synth1", 100_000, 25_000, 3), ("synth2", 1_000_000, 200_000, 4)):
        data = gaussians(n, n_test, seed)
        for code, intercept in (("simplex", "none"), ("printed", "regularised")):
            core, seconds, accuracy = PRINTED[name]
            note = f"printed: {core} core vectors, {seconds} s, {accuracy} %"
            rows.append(ours("paper", name, data, note, code=code, intercept=intercept, **PAPER[name])[0])
    if "POLYMARGIN_DATA" in os.environ:
        core, seconds, accuracy = PRINTED["kddcup99"]
        note = f"printed (4,898,431 rows): {core} core vectors, {seconds} s, {accuracy} %"
        data = real("kddcup99_10pct")
        for code, intercept in (("simplex", "none"), ("printed", "regularised")):
            rows.append(ours("paper", "kddcup99", data, note, code=code, intercept=intercept, **PAPER["kddcup99"])[0])
        for name, gamma in (("shuttle", 1.0), ("mnist", 0.02)):
            rows.append(ours("paper", name, real(name), nu=9e-3, epsilon=1e-3, gamma=gamma)[0])
    return rows


def growth(_):
    rows = []
    for n in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000):
        rows.append(ours("growth", "synth", gaussians(n, 20_000, seed=4), C=10.0, gamma=0.1, tol=0.05)[0])
    for what in ("seconds", "cpu"):
        slope = np.polyfit(np.log([r["n"] for r in rows]), np.log([r[what] for r in rows]), 1)[0]
        print(f"{what} grow like n^{slope:.2f}")
    rows[-1]["note"] = f"cpu grows like n^{slope:.2f}"
    return rows


def peak():
    """Peak resident memory of this process in bytes."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def memory(_):
    X, y, Xt, yt = gaussians(10_000_000, 20_000, seed=4)
    before = peak()
    row, _ = ours("memory", "synth", (X, y, Xt, yt), C=10.0, gamma=0.1, tol=0.05)
    extra, size = peak() - before, X.nbytes
    row["note"] = f"data {size / 1e6:.0f} MB (float32) and labels {y.nbytes / 1e6:.0f} MB, extra {extra / 1e6:.0f} MB"
    print(row["note"])
    return [row]


REAL = {
    "shuttle": dict(C=100.0, gamma=1.0),
    "kddcup99_10pct": dict(C=10.0, gamma=10.0),
    "covtype_15k": dict(C=10.0, gamma=0.05),
    "mnist": dict(C=10.0, gamma=0.02),
}


def random_core(model, X, y, Xt, yt):
    """Accuracy of the exact machine on as many random rows as there are core vectors."""
    rows = np.random.default_rng(0).choice(len(y), len(model.support_), replace=False)
    other = CoreVectorSVC(**{**model.get_params(), "tol": 1e-2})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.mean(other.fit(X[rows], y[rows]).predict(Xt) == yt))


def real_sets(_, names=tuple(REAL)):
    from sklearn.svm import SVC

    rows = []
    for name in names:
        X, y, Xt, yt = data = real(name)
        model = CoreVectorSVC(**REAL[name])
        text = " ".join(f"{k}={v}" for k, v in REAL[name].items())
        row, predicted = measured("real", name, data, model, parameters=text)
        share = {int(c): round(float(np.mean(predicted[yt == c] == c)), 3) for c in np.unique(yt)}
        row["note"] = f"random core {random_core(model, *data):.5f}; per class {share}"
        print(row["note"])
        rows.append(row)
        if len(y) <= 60_000:
            exact = SVC(C=10.0, gamma=REAL[name]["gamma"])
            rows.append(measured("real", name, data, exact, solver="sklearn SVC (OvO)", parameters=text)[0])
    return rows


ENTRIES = dict(reach=reach, paper=paper, growth=growth, memory=memory, real=real_sets)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core_vectors", description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", help=f"some of {', '.join(ENTRIES)}; default: reach")
    parser.add_argument("--peers", action="store_true", help="measure other libraries as well")
    parser.add_argument("--sets", help="comma-separated data sets of `real`")
    parser.add_argument("--out", type=Path, default=Path("core_vectors.csv"), help="CSV that rows are appended to")
    args = parser.parse_args()
    info = machine()
    here = {"date": datetime.datetime.now().isoformat(timespec="seconds"), **info}
    for entry in args.entries or ["reach"]:
        if entry not in ENTRIES:
            parser.error(f"unknown entry {entry!r}; expected some of {', '.join(ENTRIES)}")
        rows = real_sets(None, args.sets.split(",")) if entry == "real" and args.sets else ENTRIES[entry](args.peers)
        new = not args.out.exists()
        with args.out.open("a", newline="") as f:
            writer = csv.DictWriter(f, FIELDS, extrasaction="ignore")
            if new:
                writer.writeheader()
            writer.writerows({**here, **row} for row in rows)


if __name__ == "__main__":
    main()
