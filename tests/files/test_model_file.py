"""Model files: the same model comes back, and nothing else is let in."""

import errno
import mmap
import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import blobs
from model_files import assert_same_model, unpack
from numpy.testing import assert_allclose, assert_array_equal
from oracles import DEFINITE
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from polymargin import (
    CoreVectorSVC,
    EnclosingBall,
    GRNNRegressor,
    JointSVC,
    OneVsRestSVC,
    OutputCodeSVC,
    PairwiseSVC,
    StructuredSVC,
    SupervisedIsomap,
    load_model,
    save_model,
)
from polymargin.machines import MACHINES

X, y = blobs([14, 11, 9], 4, seed=3)
WORDS = np.array(["ash", "oak", "willow"])

MODELS = {
    **{machine: JointSVC(machine) for machine in MACHINES},
    **{kernel: JointSVC("scatter", kernel=kernel) for kernel in DEFINITE},
    "linear margins": JointSVC("crammer-singer", kernel="linear"),
    "ellipsoidal": JointSVC("scatter", gamma=[0.1, 0.2, 0.0, 0.3], random_state=3),
    "nu": JointSVC("scatter", nu=0.2),
    "nu exact": JointSVC("scatter", nu=0.2, intercept="exact", class_weight={0: 2.0, 1: 1.0, 2: 1.0}),
    "priors": JointSVC("scatter", intercept="exact", priors=np.array([0.5, 0.25, 0.25]), loss="logistic"),
    "squared": JointSVC("scatter", loss="squared_hinge", class_weight="balanced"),
    "pairs": PairwiseSVC(),
    "dag": PairwiseSVC(decision="dag", kernel="linear", loss="squared_hinge"),
    "one versus rest": OneVsRestSVC(C=3.0),
    "dense code": OutputCodeSVC(random_state=0),
    "given code": OutputCodeSVC(code=np.array([[1, 0], [-1, 1], [0, -1]]), decoding="hamming"),
    "core": CoreVectorSVC(),
    "core unit": CoreVectorSVC(normalize=True, intercept="regularized", kernel="linear"),
    "core pairs": CoreVectorSVC(scheme="pairwise"),
    "structured": StructuredSVC(loss_matrix=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
    "standard": make_pipeline(StandardScaler(), JointSVC("scatter")),
    "minmax": make_pipeline(MinMaxScaler((-1, 1)), JointSVC("scatter")),
    "maxabs": make_pipeline(MaxAbsScaler(), "passthrough", JointSVC("scatter")),
}


# --- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back(name, path):
    model = MODELS[name].fit(X, y)
    save_model(model, path)
    for mapped in (False, True):
        found = load_model(path, mmap=mapped)
        assert_same_model(found, model, X)
        if isinstance(model, JointSVC):
            assert vars(found).keys() == vars(model).keys()


@pytest.mark.parametrize(
    "labels",
    [
        WORDS[y],
        WORDS.astype(object)[y],
        np.array([2.0, 3.0, 7.0])[y],
        y.astype(np.int8),
        y > 0,
        WORDS[np.minimum(y, 1)],
    ],
    ids=["text", "objects", "floats", "int8", "bool", "two"],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_labels_and_forms_of_the_data(labels, form, path):
    model = JointSVC("scatter").fit(form(X), labels)
    assert_same_model(load_model(save_model(model, path)), model, form(X))
    assert_same_model(load_model(path, mmap=True), model, form(X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "model, method",
    [
        (EnclosingBall(), "decision_function"),
        (EnclosingBall(C=2.0, kernel="poly"), "predict"),
        (GRNNRegressor(), "predict"),
        (GRNNRegressor(spread=0.7, n_neighbors=5), "predict"),
        (SupervisedIsomap(n_neighbors=5), "transform"),
        (SupervisedIsomap(alpha=None, n_landmarks=20), "transform"),
    ],
)
def test_other_estimators(model, method, form, path):
    model.fit(form(X), y)
    for mapped in (False, True):
        found = load_model(save_model(model, path), mmap=mapped)
        assert vars(found).keys() == vars(model).keys()
        assert_array_equal(getattr(found, method)(form(X + 0.1)), getattr(model, method)(form(X + 0.1)))


def test_streams_go_on_after_loading(path):
    half = len(y) // 2
    model = CoreVectorSVC().partial_fit(X[:half], y[:half], classes=[0, 1, 2])
    found = load_model(save_model(model, path))
    model.partial_fit(X[half:], y[half:])
    found.partial_fit(X[half:], y[half:])
    assert_allclose(found.decision_function(X), model.decision_function(X), rtol=1e-9)
    assert found.n_seen_ == len(y)


def test_data_frames_keep_their_names(path):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    model = JointSVC("scatter").fit(frame, y)
    found = load_model(save_model(model, path))
    assert_array_equal(found.feature_names_in_, model.feature_names_in_)
    assert_same_model(found, model, frame)


def test_precomputed_kernel(path):
    model = JointSVC("kesler", kernel="precomputed").fit(X @ X.T, y)
    assert_same_model(load_model(save_model(model, path)), model, X @ X.T)


@pytest.mark.parametrize("machine", ["scatter", "kesler"])
def test_a_fit_that_was_stopped(machine, path):
    with pytest.warns(ConvergenceWarning):
        model = JointSVC(machine, C=1e4, max_iter=1).fit(X, y)
    found = load_model(save_model(model, path))
    assert found.status_ == "max_iter"
    assert_same_model(found, model, X)


def test_a_loaded_model_goes_on(path):
    model = JointSVC("scatter", warm_start=True).fit(X, y)
    found = load_model(save_model(model, path), mmap=True).set_params(C=2.0).fit(X, y)
    assert found.primal_objective_ == pytest.approx(JointSVC("scatter", C=2.0).fit(X, y).primal_objective_, rel=1e-2)


def test_method_and_file_name(path):
    model = JointSVC("scatter").fit(X, y)
    assert model.save_model(str(path)) == path
    assert_same_model(load_model(str(path)), model, X)


def test_equal_models_make_equal_files(path):
    save_model(JointSVC("scatter", n_jobs=1).fit(X, y), path)
    first = unpack(path)[1]
    save_model(JointSVC("scatter", n_jobs=1).fit(X, y), path)
    assert unpack(path)[1] == first


def test_mapped_arrays_stay_in_the_file(path):
    save_model(JointSVC("scatter").fit(X, y), path)
    Z = load_model(path, mmap=True).support_vectors_
    base = Z
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap) and not Z.flags.writeable
    assert Z.ctypes.data % 64 == 0
    assert load_model(path).support_vectors_.flags.writeable


def test_pickle_and_skops(tmp_path):
    model = make_pipeline(StandardScaler(), JointSVC("scatter", gamma=0.2)).fit(X, WORDS[y])
    assert_same_model(pickle.loads(pickle.dumps(model)), model, X)
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    assert set(unknown) <= {"polymargin.joint.JointSVC", "scipy.sparse._csr.csr_array"}
    assert_same_model(skops.loads(data, trusted=unknown), model, X)


# --- what cannot be written -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, said",
    [
        (JointSVC("scatter", kernel=lambda A, B: A @ B.T), r"got function in JointSVC\(kernel=...\)"),
        (JointSVC("scatter", random_state=np.random.RandomState(0)), "got RandomState"),
        (SVC(), "got sklearn.svm._classes.SVC"),
        (make_pipeline(StandardScaler(), SVC()), "got sklearn.svm._classes.SVC"),
    ],
)
def test_models_that_cannot_be_kept(model, said, path):
    with pytest.raises(ValueError, match=said):
        save_model(model.fit(X, y), path)
    assert not list(path.parent.iterdir())


def test_an_estimator_must_be_fitted(path):
    with pytest.raises(ValueError, match="not fitted"):
        save_model(JointSVC("scatter"), path)


def test_a_full_disk_leaves_the_old_file(path, monkeypatch):
    model = JointSVC("scatter").fit(X, y)
    save_model(model, path)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left on device; what was at .* is still there") as raised:
        save_model(JointSVC("scatter", C=7.0).fit(X, y), path)
    assert raised.value.errno == errno.ENOSPC
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert_same_model(load_model(path), model, X)


def test_folders_and_devices_are_not_replaced_and_links_are_followed(tmp_path):
    model = JointSVC("scatter").fit(X, y)
    os.mkfifo(tmp_path / "pipe.pm")
    for path in (tmp_path, tmp_path / "pipe.pm"):
        with pytest.raises(ValueError, match="got the folder or device"):
            save_model(model, path)
    assert (tmp_path / "pipe.pm").is_fifo()
    (tmp_path / "link.pm").symlink_to(tmp_path / "real.pm")
    save_model(model, tmp_path / "link.pm")
    assert (tmp_path / "link.pm").is_symlink()
    assert_same_model(load_model(tmp_path / "real.pm"), model, X)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="could not write the model"):
        save_model(JointSVC("scatter").fit(X, y), tmp_path / "no" / "model.pm")
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "no.pm")
