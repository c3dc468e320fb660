"""Dense, sparse, float32, precomputed, callable: one model whatever the form of the data, and no copies."""

import gc
import weakref

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from compare import assert_same_scores
from data_sets import blobs, wine
from numpy.testing import assert_allclose, assert_array_equal

import polymargin.joint
from polymargin import JointSVC
from polymargin.fitting.scales import unit_rows

EXACT = dict(tol=1e-9)


# --- input formats ----------------------------------------------------------------------------------------------------


def csr64(X):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X):
    X = sp.csr_array(X)
    for i in range(X.shape[0]):
        s = slice(X.indptr[i], X.indptr[i + 1])
        X.data[s], X.indices[s] = X.data[s][::-1].copy(), X.indices[s][::-1].copy()
    return sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("kernel", oracles.DEFINITE)
@pytest.mark.parametrize(
    "form",
    [
        sp.csr_array,
        sp.csr_matrix,
        sp.csc_array,
        sp.coo_matrix,
        csr64,
        unsorted,
        np.asfortranarray,
        read_only,
        np.ndarray.tolist,
    ],
)
def test_formats_give_one_model(form, kernel):
    X, y = wine()
    X = np.where(X > 0, X, 0.0)
    given = form(X)
    before = given.copy() if sp.issparse(given) else None
    plain, other = (
        JointSVC("scatter", kernel=kernel, **EXACT).fit(X, y),
        JointSVC("scatter", kernel=kernel, **EXACT).fit(given, y),
    )
    assert_same_scores(plain, other, X)
    assert_allclose(plain.decision_function(given), plain.decision_function(X), atol=1e-9)
    assert_allclose(other.decision_function(given), other.decision_function(X), atol=1e-9)
    if before is not None:
        assert sp.issparse(other.support_vectors_) and other.support_vectors_.format == "csr"
        assert_array_equal(given.data, before.data)


def test_float32_stays_float32():
    X, y = wine()
    model = JointSVC("scatter", **EXACT).fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    assert model.decision_function(X[:3]).dtype == np.float64
    assert_same_scores(model, JointSVC("scatter", **EXACT).fit(X, y), X, 1e-4)
    assert JointSVC("scatter").fit((8 * X).astype(np.int8), y).support_vectors_.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_are_not_copied_and_not_kept(dtype, monkeypatch):
    X, y = wine()
    X = X.astype(dtype)
    seen = []
    solve = polymargin.joint.solve
    monkeypatch.setattr(polymargin.joint, "solve", lambda f, e, *rest: (seen.append(e.X), solve(f, e, *rest))[1])
    model = JointSVC("scatter").fit(X, y)
    assert np.shares_memory(seen[0], X)
    assert not np.shares_memory(model.support_vectors_, X)
    gone = weakref.ref(X)
    del X, seen[:]
    gc.collect()
    assert gone() is None


def test_precomputed_and_callable_kernels_are_the_kernel():
    X, y = wine()
    w = np.arange(len(y)) % 3.0
    model = JointSVC("scatter", gamma=0.1, **EXACT).fit(X, y, w)
    called = JointSVC("scatter", kernel=lambda A, B: oracles.rbf(A, B, 0.1), **EXACT).fit(X, y, w)
    given = JointSVC("scatter", kernel="precomputed", **EXACT).fit(oracles.rbf(X, X, 0.1), y, w)
    assert_same_scores(model, called, X)
    assert_allclose(model.decision_function(X), given.decision_function(oracles.rbf(X, X, 0.1)), atol=1e-6)
    assert given.support_vectors_.size == 0
    assert given.__sklearn_tags__().input_tags.pairwise and not model.__sklearn_tags__().input_tags.pairwise
    sparse = JointSVC("scatter", kernel=lambda A, B: oracles.rbf(A.toarray(), B.toarray(), 0.1), **EXACT).fit(
        sp.csr_array(X), y, w
    )
    assert_same_scores(model, sparse, sp.csr_array(X))


def test_scores_do_not_depend_on_the_batch():
    X, y = blobs([700, 700, 700], 20, seed=3, spread=4.0)
    for dtype in (np.float32, np.float64):
        model = JointSVC("scatter").fit(X.astype(dtype), y)
        assert model._score_type == "float32"
        F = model.decision_function(X)
        assert_array_equal(F[17:18], model.decision_function(X[17:18]))
        assert_array_equal(F[5:300], model.set_params(n_jobs=1).decision_function(X[5:300]))
        assert_array_equal(model.classes_[F.argmax(axis=1)], model.predict(X))
        exact = oracles.linear(np.exp(-model.gamma_ * sq_distances(X, X[model.support_])), model.dual_coef_.toarray())
        assert_allclose(F, exact, atol=1e-4)
    assert JointSVC("scatter", tol=1e-6).fit(X, y)._score_type == "float64"


def sq_distances(X, Z):
    return np.maximum((X**2).sum(axis=1)[:, None] - 2 * X @ Z.T + (Z**2).sum(axis=1), 0)


# --- warnings about the data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_badly_scaled_columns(form):
    X, y = wine()
    X[:, 3] *= 1e5
    scaler = "StandardScaler" if form is np.asarray else "MaxAbsScaler"
    with pytest.warns(
        UserWarning, match=rf"Column 3 of X is \d+ times larger.*make_pipeline\({scaler}\(\), JointSVC"
    ) as caught:
        JointSVC("scatter", C=1e-3).fit(form(X), y)
    assert caught[0].filename == __file__
    gamma = np.full(13, 0.1)
    gamma[3] = 1e-11
    JointSVC("scatter", gamma=gamma).fit(form(X), y)  # the ellipsoid undoes it: no warning


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_flags_and_constants_are_not_badly_scaled(form, rng):
    y = np.arange(400) % 2
    X = np.zeros((400, 9))
    X[np.arange(8) * 50, np.arange(8)] = 1e-4  # rare flags
    X[:, 8] = rng.normal(size=400)
    assert JointSVC("scatter").fit(form(X), y).status_ == "solved"  # and a warning would be an error


@pytest.mark.parametrize("kernel", oracles.DEFINITE)
def test_csr_without_values(kernel):
    X, y = sp.csr_array((6, 3)), np.arange(6) % 2
    sparse, dense = (JointSVC("scatter", kernel=kernel, coef0=1.0).fit(Z, y) for Z in (X, X.toarray()))
    assert sparse.gamma_ == dense.gamma_
    assert sparse.status_ == dense.status_ and sparse.primal_objective_ == dense.primal_objective_
    assert_array_equal(sparse.decision_function(X), dense.decision_function(X.toarray()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_tiny_rows_have_unit_length_too(dtype, form):
    """scikit-learn's normalize leaves rows as they are whose length is below some eps."""
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [-6e-8, 8e-8], [3e-17, 0.0], [1.0, 0.0]], dtype=dtype)
    unit = unit_rows(form(rows))
    assert unit.dtype == dtype
    unit = unit.toarray() if sp.issparse(unit) else unit
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0], [-0.6, 0.8], [1, 0], [1, 0]], rtol=1e-6)
