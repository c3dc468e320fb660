"""Radius-margin criteria against a conic solver, listed values and finite differences."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import blobs, iris, wine
from oracles import rbf

from polymargin.selection.criteria import Criterion, CriterionForm
from polymargin.selection.distances import squared_distances

# The project's list of oracles 12 and 13 (C = 1, gamma = 1 / (2 d)): value, gradient by ln C and ln gamma.
LISTED = {
    ("iris", "I"): (66.12143575108215, (-17.406469, -17.314554)),
    ("iris", "II"): (38.0921112862361, (-19.289804, -17.405621)),
    ("wine", "I"): (95.01681555526102, (-30.783691, -28.802714)),
    ("wine", "II"): (90.88768600558303, (-33.45588, -31.013214)),
}


def make(X, y, criterion="I", ellipsoidal=False, weight=None, costs=None, tol=1e-7, n_threads=2):
    weight = np.ones(len(y)) if weight is None else weight
    return Criterion(X, y, weight, CriterionForm(criterion, ellipsoidal, costs, tol), n_threads)


def conic_margin(K, sign, ridge):
    """max 2 sum a - a'(ss' o (K + ridge))a with s'a = 0 (eq. 3)."""
    Q = (K + np.diag(ridge)) * np.outer(sign, sign)
    a = cp.Variable(len(sign), nonneg=True)
    root = np.linalg.cholesky(Q + 1e-13 * np.eye(len(Q)))
    problem = cp.Problem(cp.Maximize(2 * cp.sum(a) - cp.sum_squares(root.T @ a)), [sign @ a == 0])
    return problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)


def conic_radius(K, ridge, r):
    """1 + r - min b'(K + ridge)b with sum b = 1 (eq. 2)."""
    b = cp.Variable(len(K), nonneg=True)
    root = np.linalg.cholesky(K + np.diag(ridge) + 1e-13 * np.eye(len(K)))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(root.T @ b)), [cp.sum(b) == 1])
    return 1 + r - problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)


@pytest.mark.parametrize("data, criterion", LISTED)
def test_listed_values(data, criterion):
    X, y = {"iris": iris, "wine": wine}[data]()
    value, gradient = make(X, y, criterion)(1.0, 1 / (2 * X.shape[1]))
    listed, by = LISTED[data, criterion]
    assert value == pytest.approx(listed, rel=1e-9)
    np.testing.assert_allclose(gradient, by, rtol=1e-6)


def test_listed_pair():
    X, y = wine()
    two = y < 2
    pair = make(X[two], y[two])
    pair(10.0, 0.1)
    assert pair.w2[0] == pytest.approx(57.06395705, rel=1e-9)
    assert pair.R2[0] == pytest.approx(0.584039717, rel=1e-8)


@pytest.mark.parametrize("criterion", ["I", "II"])
@pytest.mark.parametrize("C, gamma", [(0.3, 0.2), (50.0, 1.5)])
def test_margins_and_radii_against_a_conic_solver(criterion, C, gamma, rng, seed):
    X, y = blobs([7, 17, 33], 3, seed=seed)
    weight = rng.choice([0.5, 1.0, 3.0], len(y))
    costs = rng.uniform(0.2, 2, (3, 3))
    K, ridge = rbf(X, X, gamma), 1 / (C * weight)
    own = make(X, y, criterion, weight=weight, costs=costs)
    value, _ = own(C, gamma)
    w2, R2, both, P = [], [], [], np.bincount(y, weight) / weight.sum()
    for i, j in combinations(range(3), 2):
        rows = np.flatnonzero((y == i) | (y == j))
        w2.append(conic_margin(K[np.ix_(rows, rows)], np.where(y[rows] == i, 1.0, -1.0), ridge[rows]))
        R2.append(conic_radius(K[np.ix_(rows, rows)], ridge[rows], 1 / C))
        both.append((costs[i, j] + costs[j, i]) / 2 * (1 if criterion == "I" else P[i] * P[j]))
    np.testing.assert_allclose(own.w2, w2, rtol=1e-7)
    if criterion == "I":
        np.testing.assert_allclose(own.R2, R2, rtol=1e-7)
        assert value == pytest.approx(np.dot(both, np.multiply(R2, w2)), rel=1e-7)
    else:
        ball = conic_radius(K, ridge, 1 / C)
        assert own.R2[0] == pytest.approx(ball, rel=1e-7)
        assert value == pytest.approx(ball / np.sum(np.divide(both, w2)), rel=1e-7)


@pytest.mark.parametrize("extras", [False, True], ids=["plain", "costs, weights"])
@pytest.mark.parametrize("ellipsoidal", [False, True], ids=["spherical", "ellipsoidal"])
@pytest.mark.parametrize("criterion", ["I", "II"])
def test_gradient_is_the_finite_difference(criterion, ellipsoidal, extras, rng, seed):
    X, y = blobs([12, 20, 9, 15], 4, seed=seed)
    weight = rng.uniform(0.5, 2, len(y)) if extras else None
    costs = rng.uniform(0, 2, (4, 4)) if extras else None
    point = np.log(np.concatenate([[3.0], rng.uniform(0.1, 0.6, 4 if ellipsoidal else 1)]))
    own = make(X, y, criterion, ellipsoidal, weight, costs, tol=1e-10)

    def at(p):
        return own(np.exp(p[0]), np.exp(p[1:]) if ellipsoidal else np.exp(p[1]))

    _, gradient = at(point)
    for t in range(len(point)):
        step = np.zeros(len(point))
        step[t] = 1e-4
        difference = (at(point + step)[0] - at(point - step)[0]) / 2e-4
        assert gradient[t] == pytest.approx(difference, rel=1e-5, abs=1e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("criterion", ["I", "II"])
def test_equal_gammas_are_one_gamma(criterion):
    X, y = wine()
    value, gradient = make(X, y, criterion)(5.0, 0.2)
    for rows in (X, sp.csr_array(X)):
        other, by = make(rows, y, criterion, ellipsoidal=True)(5.0, np.full(13, 0.2))
        assert other == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose([by[0], by[1:].sum()], gradient, rtol=1e-6)


@pytest.mark.parametrize("criterion", ["I", "II"])
def test_a_weight_of_two_is_a_repeated_row(criterion, rng, seed):
    X, y = blobs([8, 11, 14], 2, seed=seed)
    weight = rng.integers(1, 4, len(y))
    times = np.repeat(np.arange(len(y)), weight)
    once = make(X, y, criterion, weight=weight.astype(float))(2.0, 0.7)
    repeated = make(X[times], y[times], criterion)(2.0, 0.7)
    assert once[0] == pytest.approx(repeated[0], rel=1e-8)
    # A component near zero is a difference of sums of the size of the others, whose rounding it has.
    np.testing.assert_allclose(once[1], repeated[1], rtol=1e-5, atol=1e-6 * np.abs(repeated[1]).max())


def test_the_path_and_the_threads_do_not_matter():
    X, y = wine()
    far = make(X, y, "II")
    far(100.0, 2.0)
    far(0.01, 0.01)
    ways = [far(1.0, 0.1), make(X, y, "II")(1.0, 0.1), make(X, y, "II", n_threads=1)(1.0, 0.1)]
    order = np.random.default_rng(0).permutation(len(y))
    ways.append(make(X[order], 2 - y[order], "II")(1.0, 0.1))
    for value, gradient in ways[1:]:
        assert value == pytest.approx(ways[0][0], rel=1e-9)
        np.testing.assert_allclose(gradient, ways[0][1], rtol=1e-5)


def test_squared_distances(rng):
    X = rng.normal(size=(20, 5)) + 1000
    naive = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(X), naive, rtol=1e-10, atol=1e-10)
    S = sp.random_array((20, 30), density=0.2, rng=rng, format="csr")
    np.testing.assert_allclose(squared_distances(S), squared_distances(S.toarray()), atol=1e-12)
    assert squared_distances(X).diagonal().max() == 0


def test_a_time_limit_is_kept():
    X, y = wine()
    late = make(X, y)
    late.deadline = 0.0
    late(1e6, 1e-3)
    assert late.status == "time_limit"
