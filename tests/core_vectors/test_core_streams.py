"""Core vectors on rows that come in blocks: memory maps, chunks, Parquet files, partial_fit; and pairs of classes."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from core_oracles import assert_same_optimum, core_matrix, core_optimum
from data_sets import DATA, blobs
from oracles import rbf
from sklearn.exceptions import ConvergenceWarning

from polymargin import CoreVectorSVC
from polymargin.core_vectors import growth as core_set
from polymargin.core_vectors import options
from polymargin.core_vectors import sources as batches


@pytest.fixture
def growing(monkeypatch):
    monkeypatch.setattr(options, "SMALL_GRAM", 0)


@pytest.fixture
def data(seed):
    return blobs([700, 500, 300], 4, seed=seed)


def chunks(X, y, sizes=(100, 1, 399, 1000)):
    at = np.concatenate(([0], np.cumsum(sizes)))
    return [(X[a:b], y[a:b]) for a, b in zip(at[:-1], at[1:], strict=True)]


OPTIONS = dict(C=10.0, gamma=0.5, tol=1e-8, random_state=3)


@pytest.mark.parametrize("sparse", [False, True])
def test_chunks_are_the_whole(growing, data, sparse):
    X, y = data
    whole = CoreVectorSVC(**OPTIONS).fit(sp.csr_matrix(X) if sparse else X, y)
    parts = chunks(X, y)
    if sparse:
        parts = [(sp.csr_matrix(A), b) for A, b in parts]
    assert_same_optimum(CoreVectorSVC(**OPTIONS).fit(parts), whole, X)
    assert_same_optimum(CoreVectorSVC(**OPTIONS).fit(lambda: iter(parts)), whole, X)


def test_blocks_are_the_whole(growing, data, monkeypatch):
    X, y = data
    whole = CoreVectorSVC(**OPTIONS).fit(X, y)
    monkeypatch.setattr(batches, "rows_in_block", lambda X: 77)
    assert_same_optimum(CoreVectorSVC(**OPTIONS).fit(X, y), whole, X)


def test_a_first_pass_finds_the_default_gamma_and_string_labels(growing, data):
    X, y = data
    names = np.array(["ant", "bee", "cat"])[y]
    whole = CoreVectorSVC(C=10.0, class_weight="balanced").fit(X, names)
    stream = CoreVectorSVC(C=10.0, class_weight="balanced").fit(chunks(X, names))
    assert stream.gamma_ == pytest.approx(whole.gamma_, rel=1e-12)
    np.testing.assert_array_equal(stream.classes_, whole.classes_)
    np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X), atol=1e-6)
    assert set(stream.predict(X[:9])) <= set(names)


def test_weights_in_chunks(growing, data, seed):
    X, y = data
    w = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    whole = CoreVectorSVC(**OPTIONS).fit(X, y, sample_weight=w)
    parts = [(X[:800], y[:800], w[:800]), (X[800:], y[800:], w[800:])]
    assert_same_optimum(CoreVectorSVC(**OPTIONS).fit(parts), whole, X)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}], ids=str)
def test_weights_of_classes_in_chunks(growing, data, class_weight):
    X, y = data
    keep = (y != y[0]) | (np.arange(len(y)) % 3 == 0)  # classes of different sizes
    X, y = X[keep], np.searchsorted(np.unique(y), y[keep])
    whole = CoreVectorSVC(**OPTIONS, class_weight=class_weight).fit(X, y)
    parts = [(X[:800], y[:800]), (X[800:], y[800:])]
    assert_same_optimum(CoreVectorSVC(**OPTIONS, class_weight=class_weight).fit(parts), whole, X)


def test_parquet_files(growing, data, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = data
    for k, (A, b) in enumerate(chunks(X, y)):
        frame = pd.DataFrame(A, columns=["p", "q", "r", "s"])
        frame.insert(2, "kind", b)
        frame.to_parquet(tmp_path / f"part{k}.parquet")
    table = pd.DataFrame(X, columns=["p", "q", "r", "s"])
    files = CoreVectorSVC(**OPTIONS).fit(tmp_path, "kind")
    assert_same_optimum(files, CoreVectorSVC(**OPTIONS).fit(table, y), table)
    assert list(files.feature_names_in_) == ["p", "q", "r", "s"]
    with pytest.raises(ValueError, match="name of a column"):
        CoreVectorSVC().fit(tmp_path, "no such column")
    with pytest.raises(ValueError, match="target column"):
        CoreVectorSVC().fit([tmp_path / "part0.parquet"])


def test_a_memory_map_is_read_in_blocks(tmp_path, seed, monkeypatch):
    """The fit of a mapped file holds a few blocks, the labels and the sample, not the rows."""
    n, d = 60_000, 128
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    mapped = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(n, d))
    mapped[:] = rng.normal(size=(3, d))[y] + rng.normal(size=(n, d))
    mapped.flush()
    X = np.memmap(tmp_path / "rows", dtype=np.float32, mode="r", shape=(n, d))
    monkeypatch.setattr(batches, "BLOCK_BYTES", 1 << 18)
    monkeypatch.setattr(core_set, "POOL", 1000)
    CoreVectorSVC(C=10.0, tol=0.1).fit(X[:5000], y[:5000])  # what is made once does not count
    tracemalloc.start()
    model = CoreVectorSVC(C=10.0, tol=0.1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.status_ == "solved" and model.score(X[:5000], y[:5000]) > 0.95
    assert peak < X.nbytes / 3, "of 31 MB"


def test_a_memory_map_needs_nothing_as_long_as_the_data(tmp_path, seed, monkeypatch):
    """No weights, row numbers or class indices of all rows: labels stay in their file, too."""
    n = 300_000
    X = np.memmap(tmp_path / "rows", np.float32, "w+", shape=(n, 2))
    y = np.memmap(tmp_path / "labels", np.int8, "w+", shape=(n,))
    rng = np.random.default_rng(seed)
    y[:] = rng.integers(0, 3, n)
    X[:] = np.array([[0, 0], [6, 0], [0, 6]])[y] + rng.normal(size=(n, 2))
    monkeypatch.setattr(batches, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(core_set, "POOL", 1000)
    options = dict(C=10.0, tol=1e-3, random_state=3)
    whole = CoreVectorSVC(**options).fit(np.asarray(X), np.asarray(y))
    tracemalloc.start()
    model = CoreVectorSVC(**options).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_same_optimum(model, whole, X[:5000])
    assert model.shape_fit_ == (n, 2) and model.n_features_in_ == 2 and peak < 4 * n


def test_a_memory_map_that_is_an_array(tmp_path, data, seed):
    """Weights, pairs and wrong labels are dealt with as in memory."""
    X, y = data
    mapped = np.memmap(tmp_path / "rows", np.float64, "w+", shape=(6000, 4))
    mapped[:] = np.tile(X, (4, 1)) + np.random.default_rng(seed).normal(0, 0.01, (6000, 4))
    y = np.tile(y, 4)
    w = np.arange(6000) % 3
    for more, weight in [(dict(scheme="pairwise"), None), ({}, w)]:
        a, b = (CoreVectorSVC(**OPTIONS, **more).fit(Z, y, weight) for Z in (mapped, np.asarray(mapped)))
        np.testing.assert_array_equal(a.support_, b.support_)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CoreVectorSVC().fit(mapped, np.append(y, 0))


def test_the_first_pass_keeps_no_chunk(seed):
    rng = np.random.default_rng(seed)

    def chunks():
        for _ in range(20):
            y = rng.integers(0, 2, 20_000)
            yield rng.normal(size=(20_000, 8)) + y[:, None], y

    tracemalloc.start()
    facts = batches.Stream(chunks).facts()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert facts.n == 400_000 and facts.counts.sum() == 400_000
    assert peak < 10e6, "of 26 MB"


def test_bad_chunks():
    X, y = DATA["iris"]()
    for bad, word in [
        ([], "at least one chunk"),
        ([(X, y[:5])], "one label per row"),
        ([X[0, 0]], "expected a chunk to be"),
    ]:
        with pytest.raises(ValueError, match=word):
            CoreVectorSVC().fit(lambda bad=bad: iter(bad))
    with pytest.raises(ValueError, match="features"):
        CoreVectorSVC().fit([(X, y), (X[:, :2], y)])
    with pytest.raises(ValueError, match="joint"):
        CoreVectorSVC(scheme="pairwise").fit([(X, y)])


# ---- partial_fit ----


def in_batches(X, y):
    """A machine that saw the rows in ten batches, its a'Qa over all rows, and the machine of all rows at once."""
    model = CoreVectorSVC(C=10.0, gamma=0.5, tol=1e-3)
    for k in range(0, len(y), 150):
        model.partial_fit(X[k : k + 150], y[k : k + 150], classes=[0, 1, 2])
        assert model.status_ == "solved" and model.n_seen_ == min(k + 150, len(y))
    a = np.zeros(len(y))
    a[model.support_[model.dual_coef_.indices]] = model.dual_coef_.data
    assert a.sum() == pytest.approx(1) and a.min() >= 0
    return model, a @ core_matrix(rbf(X, X, 0.5), y, 0.1) @ a, CoreVectorSVC(C=10.0, gamma=0.5, tol=1e-6).fit(X, y)


def test_partial_fit_is_a_feasible_point_of_the_whole(data):
    model, value, whole = in_batches(*data)
    assert value == pytest.approx(-model.dual_objective_, rel=1e-5)
    assert value >= -whole.dual_objective_ * (1 - 1e-6)


def test_partial_fit_ends_close_to_the_batch_solution():
    """How far on one set of rows: 5 % of the optimum's value; old rows are forgotten unless they are core vectors."""
    X, y = blobs([700, 500, 300], 4, seed=0)
    model, value, whole = in_batches(X, y)
    assert value <= -whole.dual_objective_ * 1.05
    assert model.score(X, y) > whole.score(X, y) - 0.05


def test_partial_fit_on_one_batch_is_fit(data):
    X, y = data
    a = CoreVectorSVC(**OPTIONS).fit(X, y)
    b = CoreVectorSVC(**OPTIONS).partial_fit(X, y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-8)


def test_an_iterator_is_passed_once(data):
    X, y = data
    once = CoreVectorSVC(**OPTIONS).fit(iter(chunks(X, y, (500, 500, 500))))
    assert once.n_seen_ == 1500 and once.score(X, y) > CoreVectorSVC(**OPTIONS).fit(X, y).score(X, y) - 0.02


def test_partial_fit_with_bad_input(data):
    X, y = data
    with pytest.raises(ValueError, match="declare"):
        CoreVectorSVC().partial_fit(X[y == 0], y[y == 0])
    model = CoreVectorSVC().partial_fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"got (np.int64\()?2"):
        model.partial_fit(X, y)
    CoreVectorSVC(nu=1e-4).partial_fit(X, y, n_total=3000)
    assert not hasattr(CoreVectorSVC(scheme="pairwise"), "partial_fit")


# ---- pairs ----


@pytest.mark.parametrize("draw", [4, 6])
def test_the_primal_of_a_stopped_fit_is_exact_beside_its_own_terms(draw):
    """One round leaves the dual value a hundred times below the primal."""
    y, ridge = np.arange(2000) % 5, 500.0
    X = np.random.default_rng(draw).normal(size=(len(y), 2))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = CoreVectorSVC(1 / ridge, kernel="linear", max_iter=1, tol=1e-6, epsilon=0.004).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_.sum(axis=0)
    s = (np.where(y[:, None] == y, 1, -1 / 4) * (X @ X.T)) @ alpha
    terms = np.array([alpha @ s, -2 * model.rho_, np.sum(np.maximum(model.rho_ - s, 0) ** 2) / ridge])
    assert model.dual_objective_ < -50 * np.abs(terms).sum()
    assert model.primal_objective_ == pytest.approx(terms.sum(), abs=1e-6 * np.abs(terms).sum())


def test_pairs_are_two_class_machines(growing, data):
    X, y = data
    model = CoreVectorSVC(C=10.0, gamma=0.5, scheme="pairwise").fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ <= 1e-2
    np.testing.assert_array_equal(model.pairs_, [[0, 1], [0, 2], [1, 2]])
    total = 0.0
    for k, (a, b) in enumerate(model.pairs_):
        own = (y == a) | (y == b)
        two = CoreVectorSVC(C=10.0, gamma=0.5).fit(X[own], y[own])
        coef = model.dual_coef_[k]
        np.testing.assert_array_equal(model.support_[coef != 0], np.flatnonzero(own)[two.support_])
        total += two.dual_objective_
        K = np.exp(-0.5 * ((X[:, None] - X[model.support_][None]) ** 2).sum(axis=2))
        np.testing.assert_allclose(-(K @ coef), two.decision_function(X), atol=1e-6)
    assert model.dual_objective_ == pytest.approx(total, rel=1e-6)
    assert model.score(X, y) > 0.85 and model.decision_function(X).shape == (len(y), 3)


def test_two_classes_are_one_pair():
    X, y = DATA["iris12"]()
    pair, joint = (CoreVectorSVC(C=5.0, scheme=s, tol=1e-8).fit(X, y) for s in ("pairwise", "joint"))
    np.testing.assert_allclose(pair.decision_function(X), joint.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(pair.predict(X), joint.predict(X))
    Q = core_matrix(rbf(X, X, joint.gamma_), y, 0.2)
    assert -joint.dual_objective_ == pytest.approx(core_optimum(Q)[0], rel=1e-6)


def test_pairs_that_are_stopped(growing, data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = CoreVectorSVC(C=10.0, scheme="pairwise", max_iter=5).fit(X, y)
    assert model.status_ == "max_iter" and len(model.predict(X)) == len(y)
    P, D = model.primal_objective_, model.dual_objective_
    assert model.duality_gap_ == pytest.approx((P - D) / max(abs(P), abs(D))) and D < P
    with pytest.warns(ConvergenceWarning, match="time_limit"):  # of pairs that were not started nothing is claimed
        model = CoreVectorSVC(C=10.0, scheme="pairwise", time_limit=1e-6).fit(X, y)
    assert model.primal_objective_ == model.duality_gap_ == np.inf == -model.dual_objective_
