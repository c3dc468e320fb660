"""Real data sets by name: from a folder of the user, from scikit-learn, or from OpenML, UCI and LIBSVM.

A folder may hold NumPy archives (`iris.npz` with X_train, y_train and, where there is a split, X_test, y_test), LIBSVM
files (`satimage.scale` and `satimage.scale.t`, packed or not) or the files of the UCI repository (`sat.trn` and
`sat.tst`). Features are given as they are stored, unscaled; categories of the UCI files become ordered integers.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets as bundled


@dataclass
class Dataset:
    """Training rows, and test rows where the set has an official split (else X_test and y_test are None).

    See Also
    --------
    load : what returns it.

    Examples
    --------
    >>> from polymargin.datasets import Dataset
    >>> Dataset("mine", X_train=[[0.0], [1.0], [2.0]], y_train=["a", "b", "b"]).n_classes
    2
    """

    name: str
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray | Any = None
    y_test: np.ndarray | Any = None
    source: str = field(default="", kw_only=True)

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y_train))


class DatasetNotFound(LookupError):
    """A data set that is not on this machine and could not be fetched; the message says which file to put where.

    See Also
    --------
    load : what raises it.

    Examples
    --------
    >>> from polymargin.datasets import DatasetNotFound, load
    >>> try:
    ...     load("my-own-set")
    ... except DatasetNotFound as error:
    ...     print(str(error)[:39])
    the data set 'my-own-set' was not found
    """


@dataclass(frozen=True)
class KnownSet:
    """What is known about a set: training and test rows, features, where to get it.

    ``uci``: its files for training and testing in the UCI repository; ``label`` and ``drop``: their label column and
    the columns that are not features. ``codes``: values of categorical columns, in order. ``libsvm``: the name there,
    where it is another one. ``openml``: the number of the set; the first ``train`` rows are for training.
    """

    train: int
    test: int
    features: int
    openml: int | None = None
    uci: tuple[str, ...] = ()
    label: int = -1
    drop: tuple[int, ...] = ()
    codes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    libsvm: str | None = None


COST = ("low", "med", "high", "vhigh")
MORE = {"more": "5", "5more": "5"}  # of doors and persons
CAR = {0: COST, 1: COST, 4: ("small", "med", "big"), 5: COST[:3]}
SOURCES = {
    "iris": KnownSet(150, 0, 4, 61, ("iris.data",)),
    "wine": KnownSet(178, 0, 13, 187, ("wine.data",), label=0),
    "glass": KnownSet(214, 0, 9, 41, ("glass.data",), drop=(0,)),
    "thyroid": KnownSet(215, 0, 5, 40682, ("new-thyroid.data",), label=0),
    "vowel": KnownSet(528, 462, 10, None, ("vowel-context.data",), drop=(0, 1, 2)),
    "segment": KnownSet(2310, 0, 19, 36, ("segment.dat",)),
    "satimage": KnownSet(4435, 2000, 36, None, ("sat.trn", "sat.tst")),
    "dna": KnownSet(2000, 1186, 180, 40670),
    "usps": KnownSet(7291, 2007, 256, 41082),
    "car": KnownSet(1728, 0, 6, None, ("car.data",), codes=CAR),
    "dermatology": KnownSet(366, 0, 34, 35, ("dermatology.data",)),
    "ecoli": KnownSet(336, 0, 7, 39, ("ecoli.data",), drop=(0,)),
    "yeast": KnownSet(1484, 0, 8, 181, ("yeast.data",), drop=(0,)),
    "zoo": KnownSet(101, 0, 16, None, ("zoo.data",), drop=(0,)),
    "vehicle": KnownSet(846, 0, 18, 54),
    "isolet": KnownSet(6238, 1559, 617, 300, ("isolet1+2+3+4.data", "isolet5.data")),
    "letter": KnownSet(15000, 5000, 16, 6, ("letter-recognition.data",), label=0),
    "mnist": KnownSet(60000, 10000, 784, 554),
    "kddcup99_10pct": KnownSet(494021, 311029, 38, None),
    "covtype": KnownSet(581012, 0, 54, None, ("covtype.data",)),
    "optdigits": KnownSet(3823, 1797, 64, None, ("optdigits.tra", "optdigits.tes")),
    "pendigits": KnownSet(7494, 3498, 16, None, ("pendigits.tra", "pendigits.tes")),
    "shuttle": KnownSet(43500, 14500, 9, 40685, ("shuttle.trn", "shuttle.tst")),
    "acoustic": KnownSet(78823, 19705, 50, None),
    "toy": KnownSet(300, 2000, 53, None, libsvm="example4"),
}
# Sets that are not taken from OpenML: the address of their files, and the checksum of their values (see `checksum`).
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
ADDRESSES = {
    "vowel": (
        UCI + "undocumented/connectionist-bench/vowel/",
        "9e5695b3dff900157aafc5a3d7562aeeef0582e016ed7d3f57d17c73b7a09dba",
    ),
    "satimage": (UCI + "statlog/satimage/", "2949f2a2693d67083c5862b9094e6dce40f2961c731442e0760dbb7506d7c49a"),
    "car": (UCI + "car/", "58e93172adcf8d0747293373c6171a176351fbb591aa7e8caf77485af31bce15"),
    "zoo": (UCI + "zoo/", "176235d552549db10221244da834d1aa72e8502f3e7629ca908881011e404907"),
    "optdigits": (UCI + "optdigits/", "b0f7038b8dd102304026d3712b029ff91d4a9a0c001555f56421754153bc95a9"),
    "pendigits": (UCI + "pendigits/", "de05dfd42e8ac94fe3c7cf10b815285b2c0cb8be9df262bc8eab269185da40ed"),
    "acoustic": ("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/vehicle/", None),
}
BUNDLED = {"iris": bundled.load_iris, "wine": bundled.load_wine, "digits": bundled.load_digits}
NAMES = (*SOURCES, *(name for name in BUNDLED if name not in SOURCES))

# Endings of LIBSVM files: training, testing.
LIBSVM = (
    *(("", ".t"), (".scale", ".scale.t"), (".scale.tr", ".scale.t"), ("_scale", "_scale.t")),
    *((".tr", ".t"), (".libsvm", ".t.libsvm"), (".svm", ".t.svm"), ("/train.dat", "/test.dat")),
)
PACKED = ("", ".bz2", ".gz")


def load(name: str, folder: str | os.PathLike | None = None) -> Dataset:
    """The data set called `name`.

    Looked for in this order: `folder` (else the folder that the environment variable POLYMARGIN_DATA names), the sets
    that come with scikit-learn, OpenML (by scikit-learn's fetcher) or the files of UCI and LIBSVM. Downloads are
    checked by a checksum and kept in scikit-learn's data folder.

    Parameters
    ----------
    name : str
        One of `NAMES`, or any other name whose file lies in the folder.
    folder : path, default=None
        Where to look for files.

    Returns
    -------
    Dataset
        With X_train, y_train, X_test and y_test; the last two are None where the set has no official split.

    See Also
    --------
    make_gaussians, make_circle : artificial sets.

    Examples
    --------
    >>> from polymargin.datasets import load
    >>> D = load("wine")
    >>> D.X_train.shape, D.n_classes
    ((178, 13), 3)
    """
    folder = folder or os.environ.get("POLYMARGIN_DATA")
    if folder is not None:
        found = _from_folder(name, Path(folder).expanduser())
        if found is not None:
            return found
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return Dataset(name, X, y, source="scikit-learn")
    known = SOURCES.get(name)
    reason = "it is not one that can be downloaded"
    if known is not None and (known.openml is not None or name in ADDRESSES or name in FETCHERS):
        try:
            return _downloaded(name, known)
        except (OSError, ValueError) as error:  # no network, a cut or a damaged file
            reason = f"downloading it failed ({error})"
    where = f"in {folder}" if folder is not None else "as POLYMARGIN_DATA names no folder"
    raise DatasetNotFound(
        f"the data set {name!r} was not found {where}, and {reason}; put {_wanted(name)} into a folder and pass it as "
        f"folder=..., or set POLYMARGIN_DATA to it"
    )


def _wanted(name: str) -> str:
    known = SOURCES.get(name)
    files = [f"{name}.npz (X_train, y_train)", f"{(known and known.libsvm) or name}.scale (LIBSVM)"]
    if known is not None and known.uci:
        files.append(" and ".join(known.uci) + " (UCI)")
    if known is not None and known.test:
        files[0] = f"{name}.npz (X_train, y_train, X_test, y_test)"
    return ", ".join(files[:-1]) + " or " + files[-1]


def _from_folder(name: str, folder: Path) -> Dataset | None:
    if not folder.is_dir():
        raise DatasetNotFound(f"expected a folder with data sets, got none at {folder}; name one that exists")
    archive = folder / f"{name}.npz"
    if archive.is_file():
        with np.load(archive, allow_pickle=False) as z:
            if not {"X_train", "y_train"} <= set(z.files):
                raise ValueError(f"expected X_train and y_train in {archive}, got {', '.join(z.files)}")
            parts = [z[key] if key in z.files else None for key in ("X_train", "y_train", "X_test", "y_test")]
        return Dataset(name, *map(_floats, parts), source=str(archive))
    return _libsvm(name, folder) or _uci(name, folder)


def _floats(part: Any) -> Any:
    """Features as floating-point numbers (float32 holds small integers exactly); labels stay as they are."""
    if part is None or part.ndim == 1 or part.dtype.kind == "f":
        return part
    return part.astype(np.float32 if part.dtype.itemsize <= 2 else np.float64)


def _libsvm(name: str, folder: Path) -> Dataset | None:
    stem = (name in SOURCES and SOURCES[name].libsvm) or name
    for train, test in LIBSVM:
        for ending in PACKED:
            path, other = folder / f"{stem}{train}{ending}", folder / f"{stem}{test}{ending}"
            if not path.is_file():
                continue
            files = [path, other] if other.is_file() else [path]
            d = SOURCES[name].features if name in SOURCES else None
            parts = bundled.load_svmlight_files([str(f) for f in files], n_features=d)
            parts = [p.toarray() if sp.issparse(p) else p for p in parts]
            return Dataset(name, *parts, source=str(path))
    return None


def _uci(name: str, folder: Path) -> Dataset | None:
    known = SOURCES.get(name)
    if known is None or not known.uci or not all((folder / f).is_file() for f in known.uci):
        return None
    parts = [part for f in known.uci for part in _table(folder / f, known)]
    if len(known.uci) == 1 and known.test:
        X, y = parts
        parts = [X[: known.train], y[: known.train], X[known.train :], y[known.train :]]
    return Dataset(name, *parts, source=str(folder / known.uci[0]))


def _table(path: Path, known: KnownSet) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of a UCI file: comma- or space-separated, ? for what is missing."""
    lines = [line.replace(",", " ").split() for line in path.read_text().splitlines() if line.strip()]
    width = len(lines[0])
    label = known.label % width
    columns = [c for c in range(width) if c != label and c not in known.drop]
    if len(columns) != known.features or any(len(line) != width for line in lines):
        raise ValueError(f"expected {known.features} features in every line of {path}; is it the UCI file?")

    def number(text: str, column: int) -> float:
        if column in known.codes:
            return float(known.codes[column].index(text))
        return np.nan if text == "?" else float(MORE.get(text, text))

    X = np.array([[number(line[c], c) for c in columns] for line in lines])
    y = np.array([line[label] for line in lines])
    try:
        return X, y.astype(float).astype(int)
    except ValueError:  # names
        return X, y


FETCHERS: dict[str, Any] = {"covtype": bundled.fetch_covtype}


def _downloaded(name: str, known: KnownSet) -> Dataset:
    if name in ADDRESSES:
        return _fetched(name, known)
    if name in FETCHERS:
        X, y = FETCHERS[name](return_X_y=True)
    else:
        with warnings.catch_warnings():
            # It warns about a broken cache before it says that there is no network.
            warnings.simplefilter("ignore", RuntimeWarning)
            X, y = bundled.fetch_openml(
                data_id=known.openml, as_frame=False, return_X_y=True, parser="liac-arff", n_retries=1
            )
    _check_size(len(X), X, known)
    split = known.train if known.test else len(y)
    test = (X[split:], y[split:]) if known.test else ()
    return Dataset(name, X[:split], y[:split], *test, source="OpenML")


def _fetched(name: str, known: KnownSet) -> Dataset:
    """From the files of UCI or LIBSVM, which are kept in scikit-learn's data folder if their values are right."""
    address, expected = ADDRESSES[name]
    folder = Path(bundled.get_data_home()) / "polymargin" / name
    folder.mkdir(parents=True, exist_ok=True)
    files = known.uci or (f"{name}.bz2", f"{name}.t.bz2")
    paths = [bundled.fetch_file(address + file, folder, n_retries=1) for file in files]
    try:
        found = _libsvm(name, folder) or _uci(name, folder)
        if found is None:
            raise ValueError("its files are not those of a data set")
        _check_size(len(found.y_train) + (0 if found.y_test is None else len(found.y_test)), found.X_train, known)
        if expected is not None and checksum(found) != expected:
            raise ValueError("the checksum of its values is not the expected one")
    except Exception as error:  # whatever a damaged file leads to
        for path in paths:
            path.unlink(missing_ok=True)
        raise ValueError(f"{address}{files[0]} is damaged or another version, and was not kept: {error}") from error
    return found


def _check_size(n: int, X: np.ndarray, known: KnownSet) -> None:
    if (n, X.shape[1]) != (known.train + known.test, known.features):
        raise ValueError(f"expected {known.train + known.test} x {known.features} values, got {n} x {X.shape[1]}")


def checksum(D: Dataset) -> str:
    """SHA-256 of the values as float32 and of the classes, numbered as they appear: the same for every file format."""
    total = hashlib.sha256()
    first: dict[Any, int] = {}
    for X, y in ((D.X_train, D.y_train), (D.X_test, D.y_test)):
        if X is not None:
            total.update(np.ascontiguousarray(X, dtype="<f4").data)
            total.update(np.array([first.setdefault(label, len(first)) for label in y], dtype="<i4").data)
    return total.hexdigest()
