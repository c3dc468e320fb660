"""The reference solutions themselves: kernels against scikit-learn, primal = dual, and the listed optima."""

import numpy as np
import pytest
from data_sets import DATA, blobs
from oracle_values import PRINTED_16, ROWS, SENSITIVITY
from oracles import KERNELS, Scatter, binary_svc, default_gamma, kernel_values, rbf
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.svm import SVC

from polymargin import kernels

LOSSES = ["hinge", "squared_hinge", "logistic"]
CASES = [  # intercept, priors, weights
    ("none", False, False),
    ("none", False, True),
    ("regularized", False, True),
    ("exact", False, False),
    ("exact", False, True),
    ("exact", True, True),
]


@pytest.mark.parametrize("name", [name for name in KERNELS if name in kernel_metrics()])
def test_naive_kernels(name):
    X, _ = blobs([5, 4], 3, seed=0)
    X[2] = 0
    options = dict(gamma=0.3, degree=2, coef0=0.5)
    expected = pairwise_kernels(X, X[:4], name, filter_params=True, **options)
    np.testing.assert_allclose(kernel_values(name, X, X[:4], **options), expected, rtol=1e-12, atol=1e-15)


def test_every_kernel_has_a_naive_one():
    assert set(KERNELS) == set(kernels.BY_NAME)


def test_naive_rbf_with_a_gamma_per_feature():
    X, _ = blobs([5, 4], 3, seed=0)
    gammas = np.array([0.2, 0.0, 1.5])
    np.testing.assert_allclose(rbf(X, X, gammas), rbf(X * np.sqrt(gammas), X * np.sqrt(gammas)), rtol=1e-13)


def test_default_gamma():
    X, y = blobs([8, 8], 3, seed=0)
    for gamma in ("scale", "auto", 0.7):
        assert default_gamma(X, gamma) == pytest.approx(SVC(gamma=gamma).fit(X, y)._gamma, rel=1e-12)


def on_bounds(p, alpha):
    """An interior-point solution with the alphas next to a bound put on it (the logistic loss has none there)."""
    if p.loss == "logistic":
        return alpha
    alpha = np.where(alpha < 1e-6 * p.u, 0, alpha)
    return np.where(alpha > (1 - 1e-6) * p.u, p.u, alpha) if p.loss == "hinge" else alpha


@pytest.mark.parametrize("intercept, priors, weights", CASES)
@pytest.mark.parametrize("form", [dict(C=0.02), dict(C=5.0), dict(nu=0.3)], ids=["C0.02", "C5", "nu0.3"])
@pytest.mark.parametrize("loss", LOSSES)
def test_primal_equals_dual(loss, form, intercept, priors, weights):
    rng = np.random.default_rng(3)
    X, y = blobs([3, 9, 5, 6], 3, seed=1)
    w = rng.choice([0.5, 1.0, 2.0, 0.0], size=len(y), p=[0.3, 0.3, 0.3, 0.1]) if weights else None
    pi = np.array([0.15, 0.35, 0.25, 0.25]) if priors else None
    p = Scatter(rbf(X, X, 0.4), y, loss=loss, intercept=intercept, priors=pi, weights=w, **form)
    P, D = p.primal(), p.dual()
    assert P.value == pytest.approx(D.value, rel=1e-8)
    np.testing.assert_allclose(P.scores, D.scores, atol=2e-6)
    # The formulas for a given model, at the two solutions put together.
    assert p.infeasibility(D.alpha) < 1e-8
    assert p.dual_value(D.alpha) == pytest.approx(P.value, rel=1e-7)
    assert p.primal_value(D.alpha, P.b, P.rho) == pytest.approx(P.value, rel=1e-6)
    a = on_bounds(p, D.alpha)
    assert p.residual(a, P.b, P.rho) < 1e-4
    if intercept == "exact" or "nu" in form:
        assert p.spread(a) < 1e-4


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_listed_optima(row):
    X, y = DATA[row["data"]]()
    p = Scatter(rbf(X, X, row["gamma"]), y, **{k: row[k] for k in ("loss", "C", "nu", "intercept") if k in row})
    D = p.dual()
    assert D.value == pytest.approx(-row["value"] if "nu" in row else row["value"], rel=1e-8)
    if "nSV" in row:
        assert np.sum(D.alpha > 1e-4 * p.u) == row["nSV"]
    if "sum_alpha" in row:
        assert D.alpha.sum() == pytest.approx(row["sum_alpha"], rel=1e-6)
    if "rho" in row and row["data"] != "digits200":  # the primal of digits200 takes a second
        P = p.primal()
        assert P.value == pytest.approx(D.value, rel=1e-8)
        assert P.rho == pytest.approx(row["rho"], abs=2e-8)
        np.testing.assert_allclose(P.b, row.get("b", np.zeros(p.T)), atol=1e-6)


def test_listed_sensitivity():
    """Mean over class c of (d/dx sum_{i in c} alpha_i k(x_i, x))^2."""
    X, y = DATA["iris"]()
    alpha = Scatter(rbf(X, X, 0.5), y, nu=0.5).dual().alpha
    for c, s in enumerate(SENSITIVITY):
        Z, a = X[y == c], alpha[y == c]
        slope = -2 * 0.5 * np.einsum("i,jid,ji->jd", a, Z[:, None] - Z[None], rbf(Z, Z, 0.5))
        np.testing.assert_allclose((slope**2).mean(axis=0), s, atol=1e-7)


def test_printed_squared_hinge():
    """The paper's (16) with its ridge 1/mu^2 is T times the dual at the penalty T mu^2 / 2."""
    X, y = DATA["toy12"]()
    T, n, mu = 3, len(y), 2
    p = Scatter(rbf(X, X, 0.5), y, loss="squared_hinge", nu=T / (T * mu**2 * n))
    assert -T * p.dual().value == pytest.approx(PRINTED_16, rel=1e-8)


@pytest.mark.parametrize("bias", [True, False])
def test_binary_reference(bias):
    """With bias it is scikit-learn's SVC; with and without it is the scatter machine of two classes at 2C."""
    X, y = blobs([12, 9], 3, seed=2, spread=1.0)
    K = rbf(X, X, 0.4)
    f = binary_svc(K, 2 * y - 1, 0.7, bias)
    P = Scatter(K, y, C=1.4, intercept="exact" if bias else "none").primal()
    np.testing.assert_allclose(f, P.scores[:, 1] + P.b[1], atol=1e-5)
    if bias:
        svc = SVC(C=0.7, kernel="precomputed", tol=1e-9).fit(K, y)
        np.testing.assert_allclose(f, svc.decision_function(K), atol=1e-5)
