"""LandmarkSVC on rows that come in parts, from files and from a cluster; and its model files."""

import numpy as np
import pytest
from data_sets import overlapping
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from polymargin import CoreVectorSVC, LandmarkSVC, load_model, save_model, sensitivity_map
from polymargin.landmarks import streams


def test_partial_fit_is_fit(by_passes, seed):
    X, y = overlapping(seed=seed)
    model = LandmarkSVC(n_landmarks=20, tol=1e-6)
    for part in np.array_split(np.arange(len(y)), 4):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    whole = LandmarkSVC(n_landmarks=20, tol=1e-6).fit(X, y)
    assert model.n_seen_ == len(y)
    assert_array_equal(model.support_, whole.support_)
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)


def test_partial_fit_keeps_what_memory_allows(seed):
    X, y = overlapping(60_000, seed=seed)
    model = LandmarkSVC(n_landmarks=20, memory="1MB", gamma=0.3)
    for part in np.array_split(np.arange(len(y)), 3):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.n_seen_ == 60_000 and model._kept.X.nbytes <= 5e5
    assert_allclose(model._kept.weight.sum(), 60_000)
    # Rows of the first call and of the last are kept alike: 7,000 to 14,000 of each, five standard deviations around.
    assert np.abs(np.count_nonzero(np.isin(model._kept.X[:, 0], X[:20_000, 0])) / len(model._kept.y) - 1 / 3) < 0.02
    assert model.score(X, y) > LandmarkSVC(n_landmarks=20, gamma=0.3).fit(X, y).score(X, y) - 0.01


def test_partial_fit_refuses(tmp_path):
    X, y = overlapping()
    model = LandmarkSVC(n_landmarks=10).partial_fit(X, y)
    with pytest.raises(ValueError, match="expected labels among"):
        model.partial_fit(X, y + 1)
    assert model.n_seen_ == len(y)  # as it was
    with pytest.raises(ValueError, match="at least 2 classes"):
        LandmarkSVC().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    loaded = load_model(save_model(model, tmp_path / "m.pm"))
    with pytest.raises(ValueError, match="rows of earlier calls"):
        loaded.partial_fit(X, y)


@pytest.mark.parametrize("form", ["chunks", "function", "parquet", "iterator", "mapped", "dask"])
def test_sources(form, monkeypatch, tmp_path, seed):
    """Rows in blocks: the optimum of all rows, certified on all of them, and the same for all partitions."""
    X, y = overlapping(9000, seed=seed)
    monkeypatch.setattr(streams, "SAMPLE", 3000)
    parts = [slice(0, 1000), slice(1000, 1001), slice(1001, 9000)]
    how = dict(n_landmarks=20, gamma=0.3, tol=1e-3)
    if form == "chunks":
        fits = [LandmarkSVC(**how).fit([(X[p], y[p]) for p in some]) for some in (parts, [slice(0, 9000)])]
    elif form == "function":
        fits = [LandmarkSVC(**how).fit(lambda: ((X[p], y[p], np.full(len(y[p]), 2.0)) for p in parts))]
    elif form == "iterator":
        fits = [LandmarkSVC(**how).fit((X[p], y[p]) for p in parts)]
    elif form == "parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        for k, p in enumerate(parts):
            pandas.DataFrame(X[p], columns=["a", "b", "c"]).assign(y=y[p]).to_parquet(tmp_path / f"{k}.parquet")
        fits = [LandmarkSVC(**how).fit(tmp_path, "y")]
        assert_array_equal(fits[0].feature_names_in_, ["a", "b", "c"])
    elif form == "mapped":
        np.save(tmp_path / "X.npy", np.tile(X, (20, 1)))
        fits = [LandmarkSVC(memory="16MB", **how).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), np.tile(y, 20))]
    else:
        array = pytest.importorskip("dask.array")
        fits = [LandmarkSVC(**how).fit(array.from_array(X, (2500, 3)), array.from_array(y, 2500))]
        assert fits[0].traffic_["received"] < X.nbytes * 3
    weight = {"function": 2.0, "mapped": 20.0}.get(form, 1.0)
    for model in fits:
        exact = LandmarkSVC(C=weight, landmarks=model.landmarks_, gamma=0.3, tol=1e-5).fit(X, y)
        assert model.status_ == "solved"
        assert_allclose(model.primal_objective_, exact.primal_objective_, rtol=1.01e-3)
        assert model.dual_objective_ <= exact.primal_objective_
        assert_array_equal(model.landmarks_, np.tile(X, (20, 1))[model.support_])
        assert_array_equal(model.support_, fits[0].support_)
        assert model.shape_fit_[0] == (180_000 if form == "mapped" else 9000)


@pytest.mark.parametrize("memory", ["auto", "1MB"])
@pytest.mark.parametrize("machine", [LandmarkSVC(n_landmarks=20, gamma=0.3), CoreVectorSVC(gamma=0.3)])
def test_numpy_files_by_their_paths(machine, memory, tmp_path, seed):
    """The model is that of the maps, in blocks too: of a megabyte, rows may take a quarter."""
    X, y = overlapping(12_000, seed=seed, spread=0.1)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    machine = clone(machine).set_params(memory=memory)
    maps = (np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
    there = machine.fit(*maps).decision_function(X[:100])
    by_path = machine.fit(tmp_path / "X.npy", str(tmp_path / "y.npy")).decision_function(X[:100])
    mixed = machine.fit(str(tmp_path / "X.npy"), y).decision_function(X[:100])
    assert machine.shape_fit_ == X.shape
    assert_array_equal(by_path, there)
    assert_array_equal(mixed, there)
    with pytest.raises(ValueError, match="path of a NumPy file of them"):
        machine.fit(tmp_path / "X.npy", "y")


@pytest.mark.parametrize("machine", [LandmarkSVC(), CoreVectorSVC()])
def test_chunks_that_are_not_numbers(machine, seed):
    X, y = overlapping(seed=seed)
    for bad, message in ((np.nan, "expected X of every chunk to be finite, got NaN"), ("red", "to hold numbers, got")):
        odd = X.astype(object)
        odd[250, 1] = bad
        with pytest.raises(ValueError, match=message):
            machine.fit([(X[:200], y[:200]), (odd[200:], y[200:])])


def test_files_and_maps(tmp_path, seed):
    X, y = overlapping(seed=seed)
    for how in (dict(), dict(n_landmarks=9), dict(landmarks=X[:7]), dict(kernel="linear"), dict(machine="scatter")):
        model = LandmarkSVC(**how).fit(X, y)
        found = load_model(save_model(model, tmp_path / "m.pm"))
        assert_array_equal(found.decision_function(X), model.decision_function(X))
        assert_array_equal(found.landmarks_, model.landmarks_)
        assert found.residual_ == model.residual_
        assert sensitivity_map(model, X, y).shape == (3, 3)
