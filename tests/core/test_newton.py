"""Newton's method for the squared hinge on many rows gives the engine's own solution, and obeys limits and memory."""

import time
import warnings

import numpy as np
import pytest
from clocks import assert_within
from sklearn.exceptions import ConvergenceWarning

from polymargin import JointSVC, PairwiseSVC

ROWS = 6_500  # a few more than the size from which on it is used
LITTLE = "40MB"  # no room for the kernel values of all support vectors ...
ALONE = dict(memory=LITTLE, time_limit=1e6)  # ... nor time to compute them again and again: working sets alone
PRODUCTS = 450  # at most, where one product with the kernel matrix is a step; pair steps are thousands


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=ROWS)
    X = rng.standard_normal((ROWS, 9))
    X[:, 0] += 2 * y - 1
    return X, y


def pairs(C=10.0, **options):
    return PairwiseSVC(C, loss="squared_hinge", gamma=0.05, **options)


def scatter(C=10.0, **options):
    return JointSVC("scatter", C=C, loss="squared_hinge", gamma=0.05, intercept="none", **options)


@pytest.fixture(scope="module")
def hard(overlapping):
    """A machine at a large C, where pair steps are many, and its processor seconds."""
    begun = time.process_time()
    model = pairs(100.0, tol=1e-6, n_jobs=1).fit(*overlapping)
    return model, time.process_time() - begun


def assert_same_as_working_sets(build, X, y, tol=1e-5, **fit):
    newton = build(tol=tol).fit(X, y, **fit)
    engine = build(tol=tol, **ALONE).fit(X, y, **fit)
    assert newton.n_iter_ < PRODUCTS < engine.n_iter_  # each went its own way
    for model in (newton, engine):
        assert model.status_ == "solved"
        assert model.kkt_violation_ <= tol
        assert abs(model.duality_gap_) <= 1e-6
    assert newton.dual_objective_ == pytest.approx(engine.dual_objective_, rel=1e-6)
    scores, others = newton.decision_function(X[:500]), engine.decision_function(X[:500])
    np.testing.assert_allclose(scores, others, atol=20 * tol * max(1, np.abs(others).max()))
    return newton


@pytest.mark.parametrize("build, C", [(pairs, 0.01), (scatter, 1.0)])
def test_any_C(overlapping, build, C):
    assert_same_as_working_sets(lambda **options: build(C, **options), *overlapping)


@pytest.mark.parametrize("build, memory", [(pairs, LITTLE), (scatter, "25MB")])
def test_values_that_are_not_held_are_the_same(overlapping, build, memory):
    X, y = overlapping
    X = X.astype(np.float32)
    held, computed = build().fit(X, y), build(memory=memory).fit(X, y)
    assert held.n_iter_ == computed.n_iter_ < PRODUCTS
    np.testing.assert_array_equal(held.dual_coef_.toarray(), computed.dual_coef_.toarray())


def test_large_C(hard):
    """The certificate must do."""
    model, _ = hard
    assert model.status_ == "solved"
    assert model.kkt_violation_ <= 1e-6
    assert abs(model.duality_gap_) <= 1e-8


@pytest.mark.parametrize("build, C, dtype", [(pairs, 0.1, np.float64), (scatter, 1.0, np.float32)])
def test_weights(overlapping, build, C, dtype):
    X, y = overlapping
    w = np.random.default_rng(1).uniform(0.1, 5, ROWS)
    w[::40] = 0
    model = assert_same_as_working_sets(lambda **o: build(C, **o), X.astype(dtype), y, sample_weight=w)
    assert not np.isin(model.support_, np.arange(0, ROWS, 40)).any()


def test_certificate_is_true(overlapping):
    """Primal and dual values, from kernel values in float64."""
    X, y = overlapping
    model = pairs().fit(X.astype(np.float32), y)
    X = X.astype(np.float32).astype(float)
    sv, b, s = X[model.support_], model.dual_coef_.toarray().ravel(), 2.0 * y - 1
    squares = np.sum(X**2, axis=1)[:, None] + np.sum(sv**2, axis=1) - 2 * X @ sv.T
    Kb = np.exp(-0.05 * np.maximum(squares, 0)) @ b
    sign = 1 if np.corrcoef(Kb, s)[0, 1] > 0 else -1
    Kb, b = sign * Kb, sign * b
    f = Kb + sign * model.intercept_[0]
    square = b @ Kb[model.support_]
    primal = 0.5 * square + 5.0 * np.sum(np.maximum(1 - s * f, 0) ** 2)
    dual = np.abs(b).sum() - 0.5 * square - 0.05 * b @ b
    assert abs(b.sum()) <= 1e-6 * np.abs(b).sum()
    assert primal == pytest.approx(model.primal_objective_, rel=1e-6)
    assert dual == pytest.approx(model.dual_objective_, rel=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_time_limit(overlapping, hard, share):
    """Scores get worse at times on the way, so that a stop promises no accuracy: what it proves must be true."""
    (X, y), (whole, seconds) = overlapping, hard
    limit = share * seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = assert_within(2 * limit + 1, lambda: pairs(100.0, tol=1e-6, time_limit=limit, n_jobs=1).fit(X, y))
    assert model.status_ in ("time_limit", "solved")
    assert model.dual_objective_ <= whole.primal_objective_ * (1 + 1e-6)
    assert model.primal_objective_ >= whole.dual_objective_ * (1 - 1e-6)
    assert np.mean(model.predict(X) == y) > 0.6


def test_max_iter(overlapping):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = pairs(max_iter=6).fit(*overlapping)
    assert model.n_iter_ <= 12
    assert model.dual_objective_ <= model.primal_objective_ < np.inf  # far too few steps for a good machine


def test_any_number_of_threads(overlapping):
    X, y = overlapping
    one, two = (pairs(n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_.toarray(), two.dual_coef_.toarray())
