"""Damaged files: every way to change a model file or a table ends in the documented error, or in a model that predicts.

    python tests/fuzz_files.py --models 20000 --tables 5000 [--seed 1] [--keep folder]

A worker process with a bounded address space changes files of every kind (bytes, values of the description, headers and
numbers of arrays, the archive; cells, separators, compression), reads them and predicts. What it finds is printed, one
line each: another error than the documented one, a crash, memory or time out of proportion to the file, scores that are
not finite. The k-th change of a seed is always the same, so `--models 1 --first k` repeats it.
"""

import argparse
import bz2
import faulthandler
import gzip
import json
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from fuzz_changes import changed_model, changed_table, pick

ROOM = 1 << 30  # bytes of address space beside what the libraries take
GROWTH = 1 << 27  # bytes that a file of some kilobytes may take
SECONDS = 20  # of processor time for one file, of which a sound one needs some milliseconds

# --- sound files ------------------------------------------------------------------------------------------------------


def training_data():
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], [8, 7, 9])
    return rng.normal(size=(24, 4)) + 2 * y[:, None], y


def write_models(folder: Path) -> None:
    """A file of every kind of model."""
    import pandas as pd
    import scipy.sparse as sp
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    import polymargin as pm

    X, y = training_data()
    words = np.array(["ash", "oak", "willow"])[y]
    frame = pd.DataFrame(X, columns=list("abcd"))
    table = frame.assign(tree=np.array(["red", "green"])[y % 2])
    pair = make_pipeline(StandardScaler(), pm.PairwiseSVC())
    models = [
        *(pm.JointSVC(machine).fit(X, y) for machine in ("scatter", "kesler", "crammer-singer", "llw", "ovr")),
        pm.JointSVC("scatter", nu=0.2).fit(X, words),
        pm.JointSVC("scatter", kernel="linear").fit(X, words.astype(object)),
        pm.JointSVC("scatter", kernel="poly", coef0=1.0).fit(sp.csr_array(X), y),
        pm.JointSVC("scatter", kernel="laplacian", gamma=0.1).fit(frame, words),
        pm.JointSVC("scatter", kernel="sigmoid", gamma=0.01).fit(X.astype(np.float32), y > 0),
        pm.JointSVC("scatter", gamma=[0.1, 0.2, 0.0, 0.3], class_weight={0: 2.0, 1: 1.0, 2: 1.0}).fit(X, y),
        pm.PairwiseSVC().fit(X, words),
        pm.PairwiseSVC(decision="dag", kernel="linear").fit(X, y),
        pm.OneVsRestSVC(kernel="cosine").fit(X, y),
        pm.OutputCodeSVC(random_state=0).fit(X, y),
        pm.CoreVectorSVC().fit(X, y),
        pm.CoreVectorSVC(scheme="pairwise", kernel="linear", normalize=True).fit(X, y),
        pm.EnclosingBall().fit(X),
        pm.StructuredSVC(loss_matrix=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]).fit(X, y),
        pm.GRNNRegressor().fit(X, y),
        pm.GRNNRegressor(n_neighbors=5, interpolate=True).fit(X, X[:, :2]),
        pm.SupervisedIsomap(n_neighbors=5).fit(X, y),
        pm.KernelDensityNB().fit(X, words),
        pm.AutoSVC(C=1.0, gamma=0.3).fit(table, words),
        make_pipeline(StandardScaler(), pm.JointSVC("scatter")).fit(X, y),
        make_pipeline(MinMaxScaler((-1, 1)), MaxAbsScaler(), "passthrough", pm.JointSVC("scatter")).fit(X, y),
        pm.KernelSearchCV(pair, C=[1.0, 10.0], gamma=[0.1, 1.0], cv=3).fit(X, y),
        pm.RadiusMarginSearch(pm.JointSVC("scatter"), max_iter=5).fit(X, y),
    ]
    for k, model in enumerate(models):
        pm.save_model(model, folder / f"{k:02d}-{type(model).__name__}.pm")


def write_tables(folder: Path) -> None:
    """A file for every reader, in the dialects it knows."""
    import pandas as pd
    from sklearn.datasets import dump_svmlight_file

    X, y = training_data()
    frame = pd.DataFrame(X.round(3), columns=list("abcd"))
    frame["day"] = [f"2021-04-{k + 1:02d}" for k in range(len(y))]
    frame["tree"], frame["y"] = np.array(["ash", 'oa"k, old', "wil\nlow"])[y], y
    texts = {
        "comma.csv": frame.to_csv(index=False),
        "row numbers.tsv": frame.to_csv(sep="\t"),
        "decimal commas.csv": "\ufeff" + frame.to_csv(sep=";", decimal=",", index=False),
        "gaps.txt": frame.assign(a=frame["a"].where(y > 0)).to_csv(index=False, lineterminator="\r\n"),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    (folder / "packed.csv.gz").write_bytes(gzip.compress(texts["comma.csv"].encode()))
    (folder / "packed.csv.bz2").write_bytes(bz2.compress(texts["comma.csv"].encode()))
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)
    (folder / "rows.svm.gz").write_bytes(gzip.compress((folder / "rows.svm").read_bytes()))
    np.savez(folder / "rows.npz", X=X, y=y)
    np.savez_compressed(folder / "packed.npz", X=X.astype(np.float32), y=np.array(["ash", "oak", "elm"])[y])
    for compression in ("none", "snappy", "gzip"):
        frame.to_parquet(folder / f"{compression}.parquet", compression=None if compression == "none" else compression)


# --- what must hold ---------------------------------------------------------------------------------------------------


class TooLong(BaseException):
    """Raised by the alarm."""


def lack_of_memory(error) -> bool:
    """Whether a documented error hides that memory ran out."""
    while error is not None:
        if isinstance(error, MemoryError) or type(error).__name__ == "ArrowMemoryError":
            return True
        error = error.__cause__ or error.__context__
    return False


def try_model(path: Path, mmap: bool) -> str | None:
    """What is wrong with the reading of a file, or with the predictions of the model in it."""
    from polymargin import load_model

    try:
        model = load_model(path, mmap=mmap)
    except ValueError as error:
        if lack_of_memory(error):
            return "out of memory"
        return None if str(error).startswith(f"{path}: expected a") else f"{type(error).__name__}: {error}"
    X = training_data()[0]
    names = getattr(model, "feature_names_in_", None)
    if hasattr(model, "encoder_") or (names is not None and len(names) <= 1000):
        import pandas as pd

        X = pd.DataFrame({name: X[:, k % 4] for k, name in enumerate(names)})
    elif not hasattr(model, "n_features_in_"):  # a search without a fitted estimator
        return None
    elif model.n_features_in_ != X.shape[1]:
        if model.n_features_in_ > 10**6:
            return None
        X = np.ones((2, model.n_features_in_))
    for method in ("decision_function", "predict", "predict_proba", "transform"):
        if not hasattr(model, method):
            continue
        found = getattr(model, method)(X)
        found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
        if len(found) != len(X):
            return f"{method} of {len(found)} rows"
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            return f"{method} is not finite"
        known = set(model.classes_.tolist()) if method == "predict" and hasattr(model, "classes_") else None
        if known and not set(found.tolist()) <= known:
            return "labels of no class"
    return None


def try_table(path: Path, target: str | None) -> str | None:
    from polymargin.files.readers import ReadError, read

    try:
        X, y = read(path, target)
    except ReadError as error:
        if lack_of_memory(error):
            return "out of memory"
        return None if str(path) in str(error) else f"no path in: {error}"
    if X.ndim != 2 if hasattr(X, "ndim") else False:
        return f"X of shape {X.shape}"
    return None if y is None or y.shape == (X.shape[0],) else "as many labels as rows expected"


def work(kind: str, folder: Path, seed: int, first: int, last: int, keep: Path | None) -> None:
    """Try the changes first ... last - 1, and print {"at": k, "found": ...} for each that fails, then DONE."""
    import polymargin.files.readers  # noqa: F401

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sources = sorted(p for p in folder.iterdir() if (p.suffix == ".pm") == (kind == "models"))
    for path in sources:  # what is imported late is loaded before memory is bounded
        assert (try_model(path, False) if kind == "models" else try_table(path, "y")) is None, path
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    signal.signal(signal.SIGPROF, lambda *_: (_ for _ in ()).throw(TooLong()))
    data = {path: path.read_bytes() for path in sources}
    with tempfile.TemporaryDirectory() as scratch:
        for k in range(first, last):
            rng = np.random.default_rng([seed, k])
            source = sources[k % len(sources)]
            path = Path(scratch) / (source.name if kind == "tables" else "changed.pm")
            old = data[source]
            new = changed_model(rng, old) if kind == "models" else changed_table(rng, source.name, old)
            path.write_bytes(new)
            print(json.dumps({"at": k}), flush=True)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                if kind == "models":
                    found = try_model(path, bool(rng.integers(2)))
                else:
                    found = try_table(path, pick(rng, ["y", "y", None, "tree"]))
            except TooLong:
                found = f"more than {SECONDS} seconds"
            except Exception as error:
                found = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            signal.setitimer(signal.ITIMER_PROF, 0)
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - peak
            if found is None and grown > GROWTH:
                found = f"{grown >> 20} MB of memory for {len(new)} bytes"
            if found is not None:
                print(json.dumps({"at": k, "source": source.name, "found": found}), flush=True)
                if keep:
                    (keep / f"{k}-{source.name}").write_bytes(new)
    print("DONE", flush=True)


def run(kind: str, folder: Path, seed: int, first: int, last: int, keep: Path | None) -> list[dict]:
    """All findings among the changes first ... last - 1; a worker that dies is one, and another continues after it."""
    found = []
    while first < last:
        command = [sys.executable, __file__, "--worker", kind, "--folder", str(folder), "--seed", str(seed)]
        command += ["--first", str(first), "--last", str(last), *(["--keep", str(keep)] if keep else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            at, done = first, False
            for line in worker.stdout:
                done = line == "DONE\n"
                if not done:
                    said = json.loads(line)
                    at = said["at"]
                    found += [said] if "found" in said else []
                    if "found" in said:
                        print(kind, line.strip(), flush=True)
        if done:
            break
        found.append({"at": at, "found": f"the process ended with {worker.returncode}"})
        print(kind, json.dumps(found[-1]), flush=True)
        first = at + 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=0, help="changes of model files")
    parser.add_argument("--tables", type=int, default=0, help="changes of tables")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first change")
    parser.add_argument("--keep", type=Path, help="folder for the files that failed")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--worker", choices=("models", "tables"), help=argparse.SUPPRESS)
    parser.add_argument("--last", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        faulthandler.enable()
        work(given.worker, given.folder, given.seed, given.first, given.last, given.keep)
        return 0
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, number, write in (("models", given.models, write_models), ("tables", given.tables, write_tables)):
            if number:
                write(Path(folder))
                found += run(kind, Path(folder), given.seed, given.first, given.first + number, given.keep)
    print(f"{given.models} model files and {given.tables} tables changed: {len(found)} failures")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
