"""One-versus-one and one-versus-rest: their binary machines, their votes, and what scikit-learn's SVC does."""

import cvxpy as cp
import numpy as np
import pytest
from data_sets import blobs, digits, iris, wine
from oracles import factor, rbf, solve
from sklearn.svm import SVC

from polymargin import OneVsRestSVC, PairwiseSVC


def binary_optimum(K, y, C, loss, weight):
    """(value, w'phi(x_i) + b for all rows) of the binary machine, by a conic solver."""
    Phi = factor(K)
    w, b = cp.Variable(Phi.shape[1]), cp.Variable()
    xi = cp.pos(1 - cp.multiply(y, Phi @ w + b))
    penalty = weight @ xi if loss == "hinge" else 0.5 * (weight @ cp.square(xi))
    value = solve(cp.Minimize(0.5 * cp.sum_squares(w) + C * penalty), [])
    return value, Phi @ w.value + b.value


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("Scheme", [PairwiseSVC, OneVsRestSVC])
def test_every_binary_machine_is_optimal(Scheme, loss, rng):
    X, y = blobs([14, 9, 17], 3, seed=1)
    weight = rng.uniform(0.3, 2, len(y))
    model = Scheme(C=3.0, gamma=0.4, loss=loss, tol=1e-8).fit(X, y, weight)
    F, total = model._column_scores(X), 0.0
    for column, f in zip(model.code_.T, F.T, strict=True):
        rows = column[y] != 0
        K = rbf(X[rows], X[rows], gamma=0.4)
        value, scores = binary_optimum(K, column[y][rows], 3.0, loss, weight[rows])
        np.testing.assert_allclose(f[rows], scores, atol=2e-5)
        total += value
    assert model.primal_objective_ == pytest.approx(total, rel=1e-6)
    assert model.dual_objective_ == pytest.approx(total, rel=1e-6)
    assert model.duality_gap_ < 1e-6 and model.status_ == "solved"


CASES = [
    (wine, dict(C=5.0, gamma=0.3)),
    (iris, dict(C=100.0, gamma=1.0)),
    (iris, dict(C=1.0, kernel="linear")),
    (wine, dict(C=0.5, kernel="poly", gamma=0.5, coef0=1.0)),
    (digits, dict(C=10.0, gamma=0.02)),
]


@pytest.mark.parametrize("data, parameters", CASES)
def test_it_is_scikit_learns_svc(data, parameters):
    X, y = data()
    ours = PairwiseSVC(**parameters, tol=1e-6).fit(X[::2], y[::2])
    svc = SVC(**parameters, tol=1e-8, decision_function_shape="ovo").fit(X[::2], y[::2])
    np.testing.assert_allclose(ours.pair_decisions_(X), svc.decision_function(X), atol=1e-4)
    svc.set_params(decision_function_shape="ovr", break_ties=True)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
