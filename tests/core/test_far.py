"""Rows far from the origin: what a fit reports is true of the model it returns, in arithmetic with digits to spare."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from margin_oracles import TABLE, Joint
from sklearn.exceptions import ConvergenceWarning

from polymargin import JointSVC
from polymargin.training.expansions import weights

FORMS = [np.asarray, sp.csr_matrix]


def far(seed, distance, n=60, T=3, d=4):
    """Overlapping classes. The rows are multiples of 2^-10, so that moving them is exact."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % T
    X = np.round(1024 * (rng.normal(size=(n, d)) + 1.5 * np.eye(T, d)[y])) / 1024
    return X + distance, y


def fit(X, y, machine="scatter", **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return JointSVC(machine, **{"time_limit": 10.0, **parameters}).fit(X, y)


def coefficients(est, n):
    B = np.zeros((len(est.classes_), n), np.longdouble)
    B[:, est.support_] = est.dual_coef_.toarray() if sp.issparse(est.dual_coef_) else est.dual_coef_
    return B


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("distance", [1e4, 1e6])
@pytest.mark.parametrize("machine", TABLE)
def test_linear(machine, distance, form, seed):
    X, y = far(seed, distance)
    # Rounding leaves some of them without end: what is said of a machine is true wherever its fit is stopped.
    est = fit(form(X), y, machine, kernel="linear", intercept="none", time_limit=0.1)
    B, X = coefficients(est, len(y)), X.astype(np.longdouble)
    oracle = Joint(machine, np.eye(len(y)), y)
    if oracle.centered:  # the scores sum to zero except for the rounding of B
        B -= B.mean(axis=0)
    W = B @ X
    F = X @ W.T
    xi = np.maximum(oracle.slacks(F.astype(float)), 0)
    primal = 0.5 * np.sum(W**2) + np.sum(xi.max(axis=1) if oracle.largest else xi)
    # Weights have errors of 1e-19 times rows times coefficients where a long double has 64 bits: 1e-12 at 1e6. A score
    # multiplies that by rows again, 1e-6, or what the coefficients of a fit that was stopped make of it, and the losses
    # add up as many of these as there are slacks.
    squares = float(np.sum(X**2, axis=1).max())
    error = max(1e-6, float(np.finfo(np.longdouble).eps) * float(np.abs(B).sum(axis=1).max()) * squares)
    assert est.primal_objective_ == pytest.approx(float(primal), rel=1e-6, abs=error * xi.size)
    np.testing.assert_allclose((X @ est.coef_.T).astype(float), F.astype(float), atol=1e-5)
    if est.status_ == "solved":
        assert est.kkt_violation_ <= est.tol
    if oracle.target is not None:  # b is not a function of B then
        return
    b = B if oracle.own else B - B[y, np.arange(len(y))]
    dual = -np.sum(b[np.arange(3)[:, None] != y]) - 0.5 * np.sum(W**2)
    assert est.dual_objective_ == pytest.approx(float(dual), rel=1e-7)
    largest = max(primal, dual)
    assert est.duality_gap_ == pytest.approx(
        float((primal - dual) / largest), abs=1e-6 * (1 + xi.size / float(largest))
    )
    if est.status_ == "solved":
        assert est.duality_gap_ < 1e-2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("params", [dict(C=1.0), dict(C=1.0, loss="squared_hinge"), dict(nu=0.9)], ids=str)
def test_linear_scatter(params, form, seed):
    """With equal class sums no score depends on where the rows are: dense ones are solved anywhere."""
    near, y = far(seed, 0.0)
    here = fit(near, y, kernel="linear", intercept="exact", **params)
    assert here.status_ == "solved"
    for distance in (1e4, 1e6):
        X, _ = far(seed, distance)
        est = fit(form(X), y, kernel="linear", intercept="exact", **params)
        if form is sp.csr_matrix:  # there is no mean to subtract
            assert est.status_ != "solved" or est.primal_objective_ == pytest.approx(here.primal_objective_, rel=1e-3)
            continue
        assert est.status_ == "solved"
        assert est.primal_objective_ == pytest.approx(here.primal_objective_, rel=1e-6)
        B, X = coefficients(est, len(y)), X.astype(np.longdouble)
        F = X @ (B @ X).T + est.intercept_
        s = F[np.arange(len(y)), y] - F.mean(axis=1)
        W = B @ X
        loss = np.maximum(est.rho_ - s, 0)
        loss = np.sum(loss**2) / 2 if params.get("loss") else np.sum(loss)
        strength = 1.0 if "C" in params else 3 / (params["nu"] * len(y))
        primal = 0.5 * np.sum((W - W.mean(axis=0)) ** 2) + strength * loss - (0 if "C" in params else 3 * est.rho_)
        assert est.primal_objective_ == pytest.approx(float(primal), rel=1e-5)


@pytest.mark.parametrize("distance", [1e4, 1e6])
def test_scatter_without_intercept_never_claims_too_much(distance, seed):
    X, y = far(seed, distance, n=30)
    est = JointSVC("scatter", kernel="linear", intercept="none", max_iter=100_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est.fit(X, y)
    assert est.status_ == "solved" or any("StandardScaler" in str(w.message) for w in caught)
    B, X = coefficients(est, len(y)), X.astype(np.longdouble)
    B -= B.mean(axis=0)
    s = (X @ (B @ X).T)[np.arange(len(y)), y]
    primal = 0.5 * np.sum((B @ X) ** 2) + np.sum(np.maximum(1 - s, 0))
    if est.status_ == "solved":
        assert est.primal_objective_ == pytest.approx(float(primal), rel=1e-3)


def test_kernel_values_without_digits_are_no_solution(seed):
    """Values of 1e36 leave no digit of a score of 1."""
    X, y = far(seed, 1e6)
    est = fit(X, y, "crammer-singer", kernel="poly", gamma=1.0, time_limit=0.1)
    assert est.status_ != "solved"


@pytest.mark.parametrize("d", [4, 40])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_rbf(C, d, seed):
    """CSR and dense rows, and classes that no common mean brings to the origin."""
    near, y = far(seed, 0.0, d=d)
    there = np.where(np.arange(len(y)) % 2, 1e6, -1e6)[:, None]
    apart = np.where(there != there.T, 0.0, 1.0)
    for X, mask in ((near, 1.0), (near + 1e6, 1.0), (near + there, apart)):
        distances = np.sum((near[:, None] - near) ** 2, axis=2)
        K = np.exp(-distances / d) * mask
        for form in FORMS:
            est = fit(form(X), y, gamma=1 / d, C=C, tol=1e-6)
            B = coefficients(est, len(y)).astype(float)
            B -= B.mean(axis=0)
            s = (K @ B.T)[np.arange(len(y)), y]
            primal = 0.5 * np.sum(B * (B @ K)) + C * np.sum(np.maximum(1 - s, 0))
            # a score is certain to 1e-12 of its largest coefficient, a loss to C times that
            assert est.primal_objective_ == pytest.approx(primal, rel=1e-9, abs=1e-12 * C * np.abs(B).sum())
            assert est.status_ == "solved" and est.duality_gap_ < 1e-3


def test_weights_of_large_coefficients(seed):
    """Coefficients of 1e5 whose terms cancel: their sum, times rows at 1e5, must keep its digits."""
    rng = np.random.default_rng(seed)
    X = 1e5 + rng.normal(size=(80, 3))
    D = np.c_[X - X.mean(axis=0), np.ones(80)]
    B = 1e5 * rng.normal(size=(2, 80))
    B -= np.linalg.lstsq(D.T, D.T @ B.T)[0].T  # a sum of rows, which is next to nothing, and what is to be left of it:
    B += 1e-3 * rng.normal(size=B.shape)
    exact = np.array(
        [
            [float(sum(Fraction(b) * Fraction(x) for b, x in zip(row, column, strict=True))) for column in X.T.tolist()]
            for row in B.tolist()
        ]
    )
    rounding = np.finfo(np.longdouble).eps * len(X) * np.abs(B).sum(axis=1, keepdims=True) * np.abs(D).max()
    rounding = rounding + np.finfo(float).eps * (np.abs(exact) + np.abs(B.sum(axis=1, keepdims=True)) * 1e5)
    assert np.all(np.abs(weights(X, B) - exact) <= rounding)


def test_sums_of_two_far_classes_are_equal_to_the_last_digit(rng):
    """A sum that is off by d moves all scores by d |x|^2."""
    y = np.arange(600) % 2
    X = 3e4 + 0.3 * rng.normal(size=(600, 8)) + 0.1 * y[:, None]
    model = JointSVC("scatter", kernel="linear", intercept="exact", C=1.6).fit(X, y)
    B = model.dual_coef_.toarray()
    assert model.status_ == "solved" and len(model.support_) > 300
    assert abs(math.fsum(B[0]) - math.fsum(B[1])) <= np.spacing(np.abs(B).max())
