"""Files that were made to do harm, or that something went wrong with: one sentence each, in proportion to the file."""

import gzip
import io
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from data_sets import blobs
from model_files import Crafted, assert_same_model, npy
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from polymargin import (
    AutoSVC,
    EnclosingBall,
    GRNNRegressor,
    JointSVC,
    KernelDensityNB,
    OneVsRestSVC,
    PairwiseSVC,
    load_model,
    save_model,
)
from polymargin.files.readers import ReadError, read

X, y = blobs([14, 11, 9], 4, seed=3)
REFUSED = "expected a (sound )?polymargin model file, got"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pm"


def assert_refused(path, match=REFUSED):
    """The bytes that it takes to refuse a file."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            load_model(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [9999, 999_999_999])
def test_labels_take_no_more_room_than_their_text(width, path):
    crafted = Crafted(JointSVC("scatter").fit(X, y), path)
    crafted.fitted["classes_"] = {"labels": [f"<U{width}", [f"{k:04d}" for k in range(5000)]]}
    crafted.save(path)
    assert assert_refused(path) < 100 * path.stat().st_size


@pytest.mark.parametrize("estimator", [PairwiseSVC, OneVsRestSVC])
def test_a_file_that_names_more_classes_than_it_has(estimator, path):
    crafted = Crafted(estimator().fit(X, y), path)
    crafted.members[crafted.member("n_support_")] = npy(np.zeros(6000, dtype=np.int64))
    crafted.fitted["classes_"] = {"labels": ["<U4", [f"{k:04d}" for k in range(6000)]]}
    if estimator is OneVsRestSVC:
        crafted.change("_columns", lambda code: np.ones((6000, code.shape[1]), dtype=np.int8))
    crafted.save(path)
    assert assert_refused(path, "a code that is not one of its own") < 100 * path.stat().st_size


def test_an_encoder_that_claims_many_columns(path):
    crafted = Crafted(AutoSVC(C=1.0, gamma=0.1).fit(X, y), path)
    for fitted in (crafted.fitted, crafted.fitted["encoder_"]["estimator"][2]):
        fitted["n_features_in_"] = 2**40
    crafted.save(path)
    assert assert_refused(path, "impossible missing_") < 100 * path.stat().st_size


def test_a_long_description_is_not_written(path, monkeypatch):
    monkeypatch.setattr("polymargin.files.model_file.LARGEST_JSON", 1000)
    with pytest.raises(ValueError, match="expected the description in a model file to take at most"):
        save_model(JointSVC("scatter").fit(X, y), path)


# --- models that could not predict ------------------------------------------------------------------------------------

PARAMETERS = [
    dict(n_jobs=10**30), dict(n_jobs=2**31), dict(n_jobs=1.5), dict(memory="lots"), dict(memory="0MB"),
    dict(memory=None),
    dict(degree=2.5), dict(degree=10**30), dict(gamma=-1.0), dict(gamma=[-1.0, 1.0, 1.0, 1.0]), dict(gamma=[1.0, 2.0]),
    dict(gamma=["a"]), dict(kernel="gaussian"), dict(kernel=["rbf"]), dict(max_iter=10**30), dict(max_iter=10**400),
    dict(C=10**400), dict(coef0={"float": "nan"}), dict(verbose=-1), dict(tol=0.0), dict(time_limit="1 s"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", [JointSVC, PairwiseSVC, EnclosingBall])
def test_parameters_that_no_fit_takes(estimator, path):
    crafted = Crafted(estimator().fit(X, y), path)
    sound = dict(crafted.parameters)
    for parameter in PARAMETERS:
        crafted.parameters.update(sound | parameter)
        crafted.save(path)
        with pytest.raises(ValueError, match=REFUSED):
            pytest.fail(f"accepted {parameter}: {load_model(path)}")


@pytest.mark.parametrize("parameter", [dict(n_jobs=10**30), dict(max_iter=10**30), dict(degree=2**31)])
def test_numbers_that_are_too_large_for_the_core(parameter):
    with pytest.raises(ValueError, match="expected .* got [0-9]*; it is too large"):
        JointSVC(**({"machine": "scatter"} | parameter)).fit(X, y)
    assert JointSVC("scatter", memory="9" * 400 + "TB").fit(X, y).status_ == "solved"


STEPS = {
    "not fitted": lambda steps: steps[0].__setitem__(1, {"estimator": ["StandardScaler", {}, {}]}),
    "other features": lambda steps: steps[0][1]["estimator"][2].update(n_features_in_=7),
    "range": lambda steps: steps[1][1]["estimator"][1].update(feature_range=[1, "a"]),
    "no transformer": lambda steps: steps[0].__setitem__(1, {"estimator": ["JointSVC", {}, {}]}),
    "names": lambda steps: steps[0].__setitem__(0, steps[1][0]),
}


@pytest.mark.parametrize("change", STEPS)
def test_steps_that_do_not_go_together(change, path):
    scaler = StandardScaler(with_mean=False, with_std=False)  # has no arrays
    crafted = Crafted(make_pipeline(scaler, MinMaxScaler(), JointSVC("scatter")).fit(X, y), path)
    STEPS[change]([step["tuple"] for step in crafted.parameters["steps"]])
    crafted.save(path)
    assert_refused(path, "got Pipeline with steps|an unusable estimator|impossible parameter")


@pytest.mark.parametrize(
    "model, attribute, value",
    [
        (KernelDensityNB(), "bandwidth_", 1e-320),
        (GRNNRegressor(), "_X", -1e200),
        (GRNNRegressor(), "_weight", 0.0),
        (JointSVC("scatter"), "support_vectors_", 1e200),
    ],
)
def test_numbers_that_no_score_comes_from(model, attribute, value, path):
    crafted = Crafted(model.fit(X, y), path)
    crafted.change(attribute, lambda array: np.full_like(array, value))
    crafted.save(path)
    assert_refused(path, f"impossible {attribute}")


def test_parts_that_do_not_go_together(path):
    crafted = Crafted(GRNNRegressor().fit(X, y), path)
    crafted.change("_y", lambda targets: targets[:, :0])
    crafted.save(path)
    assert_refused(path, "targets of another shape")
    crafted = Crafted(KernelDensityNB().fit(X, y), path)
    crafted.change("_values", lambda values: np.full_like(values, -1e200))
    crafted.save(path)
    assert_refused(path, "no finite squares")


@pytest.mark.parametrize("rows", [X, sp.csr_array(X)])
@pytest.mark.parametrize("parameter", [dict(coef0=1e308), dict(coef0=-1e200), dict(degree=10**6)])
def test_kernel_values_that_are_not_finite(rows, parameter, path):
    crafted = Crafted(JointSVC("scatter", kernel="poly", coef0=1.0).fit(rows, y), path)
    crafted.parameters.update(parameter)
    crafted.save(path)
    assert_refused(path, "kernel values that are not finite")


def test_names_of_an_encoder(path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    crafted = Crafted(AutoSVC(C=1.0, gamma=0.1).fit(frame, y), path)
    crafted.fitted["feature_names_in_"]["labels"][1][0] = "z"
    crafted.save(path)
    assert_refused(path, "other names")


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names, kept",
    [
        (np.array(["", "é" * 30, "\ud800 \u2028\n"]), "<U30"),
        (np.array(["a", "b", "c" * 20_000]), "<U20000"),
        (np.array(["a", "b", "c"], dtype="<U2000"), object),  # which take the room of their text
        (np.array(["1", "2 ", " 2"], dtype=object), object),
        (np.array([2**63, 2**64 - 1, 0], dtype=np.uint64), np.uint64),
    ],
    ids=["strange", "long", "wide", "objects", "large"],
)
def test_strange_labels(names, kept, path):
    model = PairwiseSVC().fit(X, names[y])
    found = load_model(save_model(model, path))
    assert_array_equal(found.predict(X), model.predict(X))
    assert found.classes_.dtype == kept and found.classes_.tolist() == model.classes_.tolist()


def test_dates_as_labels_cannot_be_kept(path):
    days = np.array(["1970-01-01", "1970-01-02", "1970-01-03"], dtype="M8[D]")
    with pytest.raises(ValueError, match=r"got ndarray in PairwiseSVC.classes_, which cannot be stored"):
        save_model(PairwiseSVC().fit(X, days[y]), path)
    assert not path.exists()


def test_one_long_word_in_a_column(path):
    words = np.array(["a", "b", "c" * 5000], dtype=object)
    frame = pd.DataFrame({"number": X[:, 0], "word": words[y]})
    model = AutoSVC(C=1.0, gamma=0.1).fit(frame, y)
    found = load_model(save_model(model, path))
    assert_array_equal(found.predict_proba(frame), model.predict_proba(frame))


# --- files that are not there, or not whole ---------------------------------------------------------------------------


def test_what_is_no_whole_file(path):
    save_model(JointSVC("scatter").fit(X, y), path)
    whole = path.read_bytes()
    for length in (1, 4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert_refused(path, "model.pm: expected a polymargin model file, got .*; save or copy the model again")
    assert_refused(path, "got a broken one, or the beginning of one")
    path.write_bytes(whole[:-100] + bytes(100))  # as when the end is not yet written
    assert_refused(path, "got a broken one, or the beginning of one")
    path.write_bytes(b"")
    assert_refused(path, "got an empty file")
    path.write_bytes(b"a,b\n1,2\n")
    assert_refused(path, "got something else")


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.pm")
    for path in (tmp_path, tmp_path / "pipe.pm"):
        assert_refused(path, "got a folder or device; name a file")
    with pytest.raises(FileNotFoundError, match="could not read the model .*no.pm, No such file.*; name a file"):
        load_model(tmp_path / "no.pm")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ReadError, match="got a device"):
        read(tmp_path / "pipe.csv")


def test_a_file_that_may_not_be_read(path):
    save_model(JointSVC("scatter").fit(X, y), path)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads everything")
    with pytest.raises(PermissionError, match="could not read the model .*; name a file that can be read"):
        load_model(path)


def test_a_disk_that_is_full_leaves_the_old_model(path):
    """A limit on the size of files stands for the end of the disk: it comes in the middle of the arrays."""
    model = JointSVC("scatter").fit(X, y)
    save_model(model, path)
    run = (
        "import resource, sys; import numpy as np; from polymargin import JointSVC, save_model\n"
        "X = np.random.default_rng(0).normal(size=(200, 50)); model = JointSVC().fit(X, np.arange(200) % 3)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))\n"
        "save_model(model, sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", run, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "could not write the model, File too large; what was at" in done.stderr.splitlines()[-1]
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert_same_model(load_model(path), model, X)


# --- tables -----------------------------------------------------------------------------------------------------------


def archive(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def test_broken_compression(tmp_path):
    packed = bytearray(gzip.compress(b"a,b,y\n" + b"1,2,u\n3,4,v\n" * 500))
    packed[20:30] = bytes(10)
    for name in ("a.csv.gz", "a.svm.gz", "a.csv.bz2", "a.svm.bz2"):
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(ReadError, match=f"{name}: expected .*, got something else or a broken one"):
            read(tmp_path / name, "y")
    good = gzip.compress(b"1 1:2\n0 1:3\n" * 100)
    (tmp_path / "a.svm.gz").write_bytes(good[:-9])
    with pytest.raises(ReadError, match="expected svmlight rows"):
        read(tmp_path / "a.svm.gz")


def test_tables_do_not_unfold_without_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("polymargin.files.readers.UNFOLDED", 1 << 20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,y\n" + b"1,2\n" * 500_000))
    (tmp_path / "a.svm.gz").write_bytes(gzip.compress(b"1 1:1\n" * 500_000))
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((500_000, 2)), y=np.zeros(500_000))
    pd.DataFrame({"a": np.zeros(500_000), "y": 1}).to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv.gz", "a.svm.gz", "a.npz", "a.parquet"):
        with pytest.raises(
            ReadError, match=f"{name}: expected data that decompress to at most 200 times the size of the file"
        ):
            read(tmp_path / name, "y")


def test_archives_that_lie(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 2)})
    rows = {"X.npy": npy(np.zeros((3, 2))), "y.npy": npy(np.arange(3))}
    lies = {
        "shape": rows | {"X.npy": header.getvalue() + bytes(48)},
        "tokens": rows | {"X.npy": b"\x93NUMPY\1\0\3\0'''" + bytes(48)},
        "cut": rows | {"X.npy": rows["X.npy"][:-1]},
        "nothing": rows | {"X.npy": b""},
    }
    for name, members in lies.items():
        with pytest.raises(
            ReadError, match="expected an NPZ archive of plain arrays, got something else or a broken one"
        ):
            read(archive(tmp_path / f"{name}.npz", members))
    with pytest.raises(ReadError, match="got an array of type complex128 in it"):
        read(archive(tmp_path / "complex.npz", rows | {"X.npy": npy(np.zeros((3, 2), dtype=complex))}))
    data = bytearray(archive(tmp_path / "method.npz", rows, zipfile.ZIP_DEFLATED).read_bytes())
    for at in [i for i in range(len(data)) if data[i : i + 4] in (b"PK\1\2", b"PK\3\4")]:
        data[at + (10 if data[at + 2] == 1 else 8)] = 99  # a method of compression that nobody knows
    (tmp_path / "method.npz").write_bytes(data)
    with pytest.raises(ReadError, match="compression method is not supported"):
        read(tmp_path / "method.npz")


def test_feature_numbers_and_labels_of_svmlight_rows(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n2 2000000000:1\n")
    with pytest.raises(ReadError, match="expected feature numbers up to 33554432, got 2000000000"):
        read(tmp_path / "a.svm")
    (tmp_path / "b.svm").write_text("1e300 1:2\n2 2:1\n")
    assert read(tmp_path / "b.svm").y.tolist() == [1e300, 2.0]


def test_equal_names_of_columns(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table([[1, 2], [3, 4]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(ReadError, match="a.parquet: expected a Parquet file, .*Multiple matches"):
        read(tmp_path / "a.parquet")
