"""Model files and tables: every way to change one ends in the documented error, or in what can be used.

`Models` and `Tables` are drawn by `campaigns.fuzz` and by `campaigns.guided`.
"""

import bz2
import functools
import gzip
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .changes import changed_model, changed_table

# --- sound files ------------------------------------------------------------------------------------------------------


@functools.cache
def training_data():
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], [4, 3, 5])  # few: small files are tried more often
    return rng.normal(size=(12, 4)) + 2 * y[:, None], y


@functools.lru_cache(maxsize=64)
def training_frame(names: tuple[str, ...]):
    import pandas as pd

    X = training_data()[0]
    # As objects: pandas has no strings with half a character, which a changed file may have as names.
    return pd.DataFrame(X[:, np.arange(len(names)) % 4], columns=pd.Index(names, dtype=object))


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
    frame = pd.DataFrame(X[:, :2].round(3), columns=list("ab"))
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
    (folder / "packed.csv.bz2").write_bytes(bz2.compress(texts["comma.csv"].encode(), 1))
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)
    (folder / "rows.svm.gz").write_bytes(gzip.compress((folder / "rows.svm").read_bytes()))
    np.savez(folder / "rows.npz", X=X, y=y)
    np.savez_compressed(folder / "packed.npz", X=X.astype(np.float32), y=np.array(["ash", "oak", "elm"])[y])
    for compression in ("none", "snappy", "gzip"):
        frame.to_parquet(folder / f"{compression}.parquet", compression=None if compression == "none" else compression)


# --- what must hold ---------------------------------------------------------------------------------------------------


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
        X = training_frame(tuple(names))
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


# --- drawn ------------------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """One execution: what it is about, what would repeat it, and the run that says what is wrong."""

    name: str
    content: bytes
    run: Callable[[], str | None]


class Models:
    """Model files; `folder` holds the sound ones, `scratch` is written to."""

    write = staticmethod(write_models)

    def __init__(self, folder: Path, scratch: Path):
        self.sound = {path.name: path.read_bytes() for path in sorted(folder.glob("*.pm"))}
        self.names, self.scratch = list(self.sound), scratch

    def warm(self) -> None:
        """Load what is imported late, before memory is bounded."""
        for name, data in self.sound.items():
            assert self.trial(name, data, 0).run() is None, name

    def draw(self, rng, k: int) -> Trial:
        name = self.names[k % len(self.names)]
        return self.trial(name, self.change(rng, name, self.sound[name]), int(rng.integers(256)))

    def change(self, rng, name: str, data: bytes) -> bytes:
        return changed_model(rng, data)

    def trial(self, name: str, data: bytes, flag: int) -> Trial:
        path = self.scratch / "changed.pm"

        def run() -> str | None:
            path.write_bytes(data)
            return try_model(path, mmap=bool(flag % 2))

        return Trial(name, data, run)


# The readers of tables, by the ends of their files' names.
READERS = {
    "CSV": (".csv", ".tsv", ".txt"),
    "gz and bz2": (".gz", ".bz2"),
    "svmlight": (".svm",),
    "NPZ": (".npz",),
    "Parquet": (".parquet",),
}


class Tables(Models):
    """Files of rows; the end of a name tells the reader, and readers take turns."""

    write = staticmethod(write_tables)

    def __init__(self, folder: Path, scratch: Path):
        self.sound = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix != ".pm"}
        files = [[name for name in self.sound if name.endswith(ends)] for ends in READERS.values()]
        turns = math.lcm(*map(len, files))
        self.names, self.scratch = [of[k % len(of)] for k in range(turns) for of in files], scratch

    def change(self, rng, name: str, data: bytes) -> bytes:
        return changed_table(rng, name, data)

    def trial(self, name: str, data: bytes, flag: int) -> Trial:
        path = self.scratch / name

        def run() -> str | None:
            path.write_bytes(data)
            return try_table(path, ["y", "y", None, "tree"][flag % 4])

        return Trial(name, data, run)
