"""The scatter machine is the same model under every change that must not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import DATA, small
from oracles import rbf
from scatter_model import LOSSES, assert_same_model, centered, every_config, fit, name


@every_config
def test_shuffled_rows(params):
    X, y, Z = small()
    order = np.random.default_rng(0).permutation(len(y))
    assert_same_model(fit(X, y, **params), fit(X[order], y[order], **params), Z)


@every_config
def test_relabeled_classes(params):
    X, y, Z = small()
    order = np.array([3, 0, 4, 2, 1])
    names = np.array(["b", "e", "d", "a", "c"])
    a, b = fit(X, y, **params), fit(X, names[y], **params)
    assert_same_model(a, b, Z, columns=order)
    np.testing.assert_array_equal(names[a.predict(Z)], b.predict(Z))
    np.testing.assert_allclose(a.intercept_[order], b.intercept_, atol=2e-6)


@every_config
def test_weight_two_is_a_repeated_row(params):
    X, y, Z = small()
    w = np.random.default_rng(0).integers(1, 4, size=len(y))
    assert_same_model(fit(X, y, w, **params), fit(np.repeat(X, w, axis=0), np.repeat(y, w), **params), Z)


@every_config
def test_weight_zero_is_a_removed_row(params):
    X, y, Z = small()
    w = np.random.default_rng(0).choice([0.0, 1.0, 1.5], size=len(y))
    a, b = fit(X, y, w, **params), fit(X[w > 0], y[w > 0], w[w > 0], **params)
    assert_same_model(a, b, Z)
    assert np.all(w[a.support_] > 0)


@every_config
def test_class_weight_multiplies_sample_weight(params):
    X, y, Z = small()
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    by_class = {0: 1.0, 1: 0.8, 2: 1.5, 3: 1.0, 4: 1.2}
    all_in_one = w * np.array([by_class[c] for c in y])
    assert_same_model(fit(X, y, w, class_weight=by_class, **params), fit(X, y, all_in_one, **params), Z)


@every_config
def test_scale_of_the_weights(params):
    """The C form knows C w only, the nu form w / sum w only."""
    X, y, Z = small()
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    scaled = params | (dict(C=params["C"] / 8) if "C" in params else {})
    assert_same_model(fit(X, y, w, **params), fit(X, y, 8 * w, **scaled), Z)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", ["none", "exact"])
def test_scale_of_the_kernel(loss, intercept):
    """k -> 4k with C -> C/4 leaves the decision values and quarters the objective."""
    X, y, Z = small()
    K, KZ = rbf(X, X, 0.4), rbf(Z, X, 0.4)
    params = dict(kernel="precomputed", loss=loss, intercept=intercept)
    a, b = fit(K, y, C=2.0, **params), fit(4 * K, y, C=0.5, **params)
    assert a.primal_objective_ / 4 == pytest.approx(b.primal_objective_, rel=1e-8)
    np.testing.assert_allclose(centered(a, KZ), centered(b, 4 * KZ), atol=2e-6)


# The same model whatever the threads, the memory and the format

BIG = [dict(C=2.0), dict(nu=0.2), dict(nu=0.2, intercept="exact"), dict(C=2.0, intercept="exact")]
BIG += [dict(nu=0.05, loss="squared_hinge"), dict(C=2.0, loss="logistic")]
on_digits = pytest.mark.parametrize("params", BIG, ids=name)


def digits():
    X, y = DATA["digits"]()
    return X[:600], y[:600], X[600:700]


@on_digits
def test_threads_and_memory(params):
    """600 rows of float64 are 2.9 MB, so one megabyte holds a third of them."""
    X, y, Z = digits()
    run = dict(gamma=0.05, tol=1e-8) | params
    a = fit(X, y, n_jobs=1, **run)
    for other in (dict(n_jobs=2), dict(n_jobs=1, memory="1MB"), dict(n_jobs=2, memory=1 << 20)):
        assert_same_model(a, fit(X, y, **other, **run), Z)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("params", [BIG[0], BIG[2], BIG[5]], ids=name)
def test_sparse_is_dense(params, form, index):
    X, y, Z = digits()
    S, SZ = form(X), form(Z)
    for A in (S, SZ):
        A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    run = dict(gamma=0.05, tol=1e-8) | params
    a, b = fit(X, y, **run), fit(S, y, **run)
    assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=1e-8)
    np.testing.assert_allclose(centered(a, Z), centered(b, SZ), atol=2e-6)
    np.testing.assert_allclose(centered(a, SZ), centered(b, Z), atol=2e-6)


@on_digits
def test_float32_input(params):
    """Rows that float32 holds exactly (digits / 16) give the model of float64; scores may be float32's."""
    X, y, Z = digits()
    run = dict(gamma=0.05, tol=1e-8) | params
    a, b = fit(X, y, **run), fit(X.astype(np.float32), y, **run)
    assert_same_model(a, b, Z, atol=2e-5)
    np.testing.assert_allclose(centered(b, Z.astype(np.float32)), centered(a, Z), atol=2e-5)
