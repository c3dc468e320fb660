"""Enclosing balls: optima, certificates, the outlier detector's contract."""

import numpy as np
import pytest
import scipy.sparse as sp
from core_oracles import ball_optimum
from data_sets import DATA, blobs
from oracles import rbf
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from polymargin import EnclosingBall
from polymargin.core_vectors import options

# The project's list of oracles, row 10: R^2 of the ball around all rows, RBF kernel.
R2 = dict(toy12=(0.5, 0.777386002), iris=(0.5, 0.691192650), wine=(0.1, 0.545401524), digits200=(0.05, 0.443705560))


@pytest.fixture(params=["whole", "growing", "growing from all rows"])
def way(request, monkeypatch):
    """Both ways to solve it; the value is sample_size."""
    if request.param != "whole":
        monkeypatch.setattr(options, "SMALL_GRAM", 0)
    return 59 if request.param != "growing from all rows" else None


@pytest.mark.parametrize("data", R2)
def test_the_listed_radii(way, data):
    gamma, value = R2[data]
    X, _ = DATA[data]()
    ball = EnclosingBall(gamma=gamma, tol=1e-8, sample_size=way).fit(X)
    assert ball.status_ == "solved" and ball.duality_gap_ <= 1e-8
    assert ball.radius_**2 == pytest.approx(value, rel=1e-7)
    assert ball.dual_objective_ <= value * (1 + 1e-8) and value * (1 - 1e-8) <= ball.primal_objective_
    F = ball.decision_function(X)
    assert F.min() >= -1e-7  # rows on the sphere count as outside, by no more than rounding
    assert np.any(ball.predict(X) == -1) and np.mean(ball.predict(X) == 1) >= 1 - len(ball.support_) / len(X)


@pytest.mark.parametrize("C", [np.inf, 1.0, 0.05])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_against_a_conic_solver(way, kernel, C, seed):
    X, _ = blobs([50, 40], 3, seed=seed)
    K = dict(rbf=rbf(X, X, 0.3), linear=X @ X.T, poly=(0.3 * X @ X.T + 1) ** 2)[kernel]
    ball = EnclosingBall(C, kernel=kernel, gamma=0.3, degree=2, coef0=1.0, sample_size=way).fit(X)
    value = ball_optimum(K, 1 / C)[0]
    assert ball.status_ == "solved" and ball.duality_gap_ <= 1e-3
    assert ball.dual_objective_ <= value * (1 + 1e-6) and value * (1 - 1e-6) <= ball.primal_objective_
    a = np.zeros(len(X))
    a[ball.support_] = ball.dual_coef_
    distance = np.diag(K) - 2 * K @ a + a @ K @ a
    np.testing.assert_allclose(-ball.score_samples(X), distance, atol=1e-5 * distance.max())
    # The primal at this center.
    short = np.maximum(distance - ball.radius_**2, 0)
    slack = 0 if np.inf == C else C / 4 * np.sum(short**2)
    assert ball.primal_objective_ == pytest.approx(ball.radius_**2 + slack, rel=1e-4)
    if np.inf == C:
        assert np.sqrt(distance.max()) == pytest.approx(ball.radius_, rel=1e-5)
        assert ball.decision_function(X).min() >= -1e-5 * distance.max()
    elif C == 0.05:
        assert np.any(ball.predict(X) == -1)


def test_a_point_where_rows_outside_cost_next_to_nothing(way):
    """t is negative: the ball is a point, and the values are those of the problem with t in the place of R^2."""
    X, C = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), 0.01
    ball = EnclosingBall(C, kernel="linear", sample_size=way, tol=1e-9).fit(X)
    assert ball.status_ == "solved" and ball.radius_ == 0
    distance = -ball.score_samples(X)
    t = distance.mean() - 2 / (C * len(X))  # the minimum: all rows are outside
    assert t < 0
    assert ball.primal_objective_ == pytest.approx(t + C / 4 * np.sum((distance - t) ** 2), rel=1e-6)
    assert np.all(ball.predict(X) == -1)


def test_outliers(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    ball = EnclosingBall(C=0.5, kernel="linear").fit(X)
    assert np.all(ball.predict([[10.0, 0.0], [0.0, -9.0]]) == -1) and ball.predict([[0.0, 0.0]])[0] == 1
    F = ball.decision_function(X)
    np.testing.assert_allclose(F, ball.score_samples(X) - ball.offset_)
    assert 0 < np.mean(F < 0) < 0.2


def test_weights_are_repetitions_and_rows_may_be_sparse(way, seed):
    X, _ = blobs([40, 40], 3, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(X))
    sharp = dict(C=0.2, tol=1e-7, gamma=0.5, sample_size=way)
    a = EnclosingBall(**sharp).fit(sp.csr_matrix(X), sample_weight=weight)
    b = EnclosingBall(**sharp).fit(np.repeat(X, weight, axis=0))
    assert a.radius_ == pytest.approx(b.radius_, rel=1e-4)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)


def test_bad_parameters_and_limits(monkeypatch, seed):
    X, _ = blobs([200, 200], 8, seed=seed)
    for bad in (dict(C=0), dict(C="1"), dict(C=np.nan), dict(kernel="precomputed"), dict(tol=0)):
        with pytest.raises(ValueError, match="expected"):
            EnclosingBall(**bad).fit(X)
    monkeypatch.setattr(options, "SMALL_GRAM", 0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ball = EnclosingBall(gamma=1.0, max_iter=5).fit(X)
    assert ball.status_ == "max_iter" and ball.duality_gap_ > ball.tol
    assert ball.decision_function(X).min() >= -1e-5  # certified: no row is outside all the same


@pytest.mark.parametrize("draw", [0, 1])
def test_a_linear_ball_moves_with_its_rows(draw):
    """Rows at 2.5e5 are rounded to 3e-11, their products of 6e11 to 1e-4; squared distances are about 10."""
    X = np.random.default_rng(draw).normal(size=(100, 9))
    near, far = (EnclosingBall(0.02, kernel="linear", tol=1e-6).fit(Z) for Z in (X, X + 2.5e5))
    assert far.status_ == near.status_ == "solved" and far.duality_gap_ < 1e-9
    assert far.dual_objective_ == pytest.approx(near.dual_objective_, rel=1e-9)
    np.testing.assert_allclose(far.score_samples(X + 2.5e5), near.score_samples(X), rtol=1e-8)
    np.testing.assert_allclose(far.decision_function(X + 2.5e5), near.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("draw", [4, 6])
def test_values_are_not_sums_of_the_errors_of_steps(draw):
    """CSR rows stay where they are: products of 9e12 are rounded, and there are tens of thousands of steps."""
    rng = np.random.default_rng(draw)
    X, C = 1.3 * rng.normal(size=(300, 9)), 0.006
    w = np.random.default_rng(draw).choice([0, 1.0, 2.0], 300)
    with pytest.warns(ConvergenceWarning, match="stalled"):
        ball = EnclosingBall(C, kernel="linear", tol=1e-6).fit(sp.csr_array(X + 1e6), sample_weight=w)
    a = np.zeros(len(X))
    a[ball.support_] = ball.dual_coef_
    distance = np.square(X - a @ X).sum(axis=1)
    value = minimize_scalar(lambda t: t + C / 4 * np.sum(w * np.maximum(distance - t, 0) ** 2), (-100.0, 30.0)).fun
    rounding = np.finfo(float).eps * 9e12  # of k(x, x), of the rows' products with the center, and of its square
    assert ball.primal_objective_ == pytest.approx(value, abs=3 * rounding)
