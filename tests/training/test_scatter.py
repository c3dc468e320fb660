"""The scatter machine against the reference optima, its limits and its identities."""

import warnings

import numpy as np
import pytest
from data_sets import DATA, blobs, small
from oracle_values import PRINTED_16, ROWS
from oracles import DEFINITE, KERNELS, binary_svc, rbf
from scatter_model import (
    FORMS,
    INTERCEPTS,
    LOSSES,
    alphas,
    assert_honest,
    assert_same_model,
    centered,
    every_config,
    fit,
    name,
    problem,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, NuSVC

from polymargin import JointSVC

# Reference optima


@pytest.mark.parametrize("tol, rel", [(1e-6, 1e-6), (1e-9, 1e-8)])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_listed_optima(row, tol, rel):
    X, y = DATA[row["data"]]()
    params = {k: row[k] for k in ("loss", "gamma", "C", "nu", "intercept") if k in row}
    est = fit(X, y, tol=tol, **params)
    value = -row["value"] if "nu" in row else row["value"]
    assert est.status_ == "solved"
    assert est.primal_objective_ == pytest.approx(value, rel=rel)
    assert est.dual_objective_ == pytest.approx(value, rel=rel)
    assert_honest(est, X, y, optimum=value)
    if "rho" in row:
        assert est.rho_ == pytest.approx(row["rho"], abs=1e-5)
    if "b" in row:
        np.testing.assert_allclose(est.intercept_, row["b"], atol=1e-5)
    if "sum_alpha" in row:
        assert est.dual_coef_.sum() == pytest.approx(row["sum_alpha"], rel=1e-5)
    if "nSV" in row and tol < 1e-8:
        assert est.n_support_.sum() == row["nSV"]


@every_config
def test_optimum_and_scores_of_new_rows(params):
    """Value, training scores, b and rho against the conic solver; scores of new rows by the naive expansion."""
    X, y, Z = small()
    est = fit(X, y, **params)
    p = problem(est, X, y)
    P, D = p.primal(), p.dual()
    assert est.primal_objective_ == pytest.approx(P.value, rel=1e-8)
    assert est.dual_objective_ == pytest.approx(D.value, rel=1e-8)
    np.testing.assert_allclose(centered(est, X), P.scores + P.b - P.b.mean(), atol=1e-5)
    if p.exact:
        np.testing.assert_allclose(est.intercept_, P.b, atol=1e-5)
    if "nu" in params:
        assert est.rho_ == pytest.approx(P.rho, abs=1e-5)
    F = rbf(Z, X, 0.4) @ (alphas(est, y)[:, None] * p.E) + est.intercept_
    np.testing.assert_allclose(est.decision_function(Z), F, atol=1e-9)
    np.testing.assert_array_equal(est.predict(Z), np.argmax(F, axis=1))
    assert_honest(est, X, y, optimum=P.value)


@pytest.mark.parametrize("params", FORMS, ids=name)
def test_priors(params):
    X, y, _ = small()
    priors = np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    for loss in LOSSES:
        est = fit(X, y, loss=loss, intercept="exact", priors=priors, **params)
        P = problem(est, X, y).primal()
        assert est.primal_objective_ == pytest.approx(P.value, rel=1e-8)
        np.testing.assert_allclose(est.intercept_, P.b, atol=1e-5)
        np.testing.assert_allclose(centered(est, X), P.scores + P.b - P.b.mean(), atol=1e-5)
        sums = est.dual_coef_.sum(axis=1).ravel()
        np.testing.assert_allclose(sums / sums.sum(), priors, rtol=1e-9)
        assert_honest(est, X, y, optimum=P.value)


def test_exact_intercept_between_two_counts():
    """A class whose support vectors are all at the bound leaves its multiplier an interval: rho jumps over 0 there."""
    random = np.random.default_rng(44)
    n = int(random.integers(20, 140))
    X, y = random.normal(size=(n, 3)), random.integers(0, 3, n)
    X[y == 1] += 0.5
    est = fit(X, y, C=1.0, gamma=1.0, intercept="exact", tol=1e-4)
    assert est.status_ == "solved"
    P = problem(est, X, y).primal()
    assert est.primal_objective_ == pytest.approx(P.value, rel=1e-8)
    assert est.dual_objective_ == pytest.approx(P.value, rel=1e-8)
    # The case that is meant; next to a bound is not on it: the gradient of such a row is 0.016 from the multiplier.
    assert set(alphas(est, y)[y == 1]) == {0.0, 1.0}
    assert_honest(est, X, y, optimum=P.value)


def test_exact_intercept_with_a_full_class():
    """Small C, more rows than are solved to the last digit: all rows of the smallest class are at the bound."""
    random = np.random.default_rng(1)
    X, y = random.normal(size=(373, 3)), np.repeat([0, 1, 2], [112, 138, 123])
    X[y == 1] += 0.8
    for gamma in (0.05, 1.0):
        est = fit(X, y, C=0.1, gamma=gamma, intercept="exact", tol=1e-3)
        assert est.status_ == "solved"
        assert est.kkt_violation_ <= 1e-3
        assert est.duality_gap_ < 1e-5
        assert_honest(est, X, y)


def test_equal_priors_are_the_default():
    X, y, Z = small()
    a, b = (fit(X, y, nu=0.3, intercept="exact", priors=pi) for pi in (None, np.full(5, 0.2)))
    assert_same_model(a, b, Z)


# Honest figures where the solver stops early: more rows than it solves to the last digit in one piece


@pytest.fixture(scope="module")
def crowd():
    return blobs(np.arange(15, 45, 2), 4, seed=3, spread=0.5)


@every_config
def test_honest_at_loose_tolerance(crowd, params):
    """The optimum lies between the primal and the dual value of a tighter fit, both by the naive formulas."""
    X, y = crowd
    tight = fit(X, y, **(params | dict(tol=1e-5)))
    assert_honest(tight, X, y)
    optimum = (tight.dual_objective_ + tight.primal_objective_) / 2
    assert tight.duality_gap_ < 1e-4
    seen = []
    for tol in (0.3, 1e-1, 1e-2):
        est = fit(X, y, **(params | dict(tol=tol)))
        assert est.status_ == "solved"
        assert_honest(est, X, y, optimum=optimum, slack=tight.duality_gap_)
        seen.append(est.duality_gap_)
    assert seen[0] > 3 * tight.duality_gap_  # else nothing was stopped early and nothing tested


@every_config
def test_tight_tolerance_in_many_pieces(crowd, params):
    X, y = crowd
    est = fit(X, y, **(params | dict(tol=1e-8)))
    assert est.status_ == "solved"
    assert est.duality_gap_ < 1e-6
    assert_honest(est, X, y)


@every_config
def test_weights_are_honest(params):
    X, y, _ = small()
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.5], size=len(y))
    for tol in (1e-1, 1e-9):
        est = fit(X, y, w, tol=tol, **params)
        assert_honest(est, X, y, w, optimum=problem(est, X, y, w).dual().value)


# Small C, where every row of the smallest class is at its bound


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1e4])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_extreme_C(loss, intercept, C):
    X, y = blobs([2, 14, 5], 3, seed=8, spread=0.3 if C > 1 else 0.8)
    est = fit(X, y, loss=loss, intercept=intercept, C=C, tol=1e-7)
    D = problem(est, X, y).dual()
    assert est.status_ == "solved"
    assert est.primal_objective_ == pytest.approx(D.value, rel=1e-6)
    assert_honest(est, X, y, optimum=D.value)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(
    "params",  # the hinge's nu form has no margin here: test_no_margin
    [
        dict(loss=loss, **form)
        for loss in LOSSES
        for form in (dict(C=1.0), dict(nu=0.5), dict(nu=0.02))
        if loss != "hinge" or "nu" not in form
    ],
    ids=name,
)
def test_large_kernel_values(params, intercept):
    """Columns far from unit scale and classes that overlap: k is 400 and more, most alphas are next to a bound."""
    X = np.round(20 * np.random.default_rng(3).normal(size=(20, 2)))
    y = np.arange(20) % 2
    est = fit(X, y, kernel="linear", intercept=intercept, tol=1e-3, max_iter=1_000_000, **params)
    D = problem(est, X, y).dual()
    assert est.status_ == "solved"
    assert_honest(est, X, y, optimum=D.value, slack=1e-7)


@pytest.mark.parametrize("intercept, nu_max", [("none", 1.0), ("exact", 3 * 2 / 21)])
@pytest.mark.parametrize("loss", LOSSES[:2])
def test_largest_nu(loss, intercept, nu_max):
    """At nu = 1, or T N_min / n with the exact intercept, the hinge's box leaves no choice to some class or to all."""
    X, y = blobs([2, 14, 5], 3, seed=8)
    est = fit(X, y, loss=loss, intercept=intercept, nu=nu_max, tol=1e-7)
    D = problem(est, X, y).dual()
    assert est.primal_objective_ == pytest.approx(D.value, rel=1e-6)
    assert np.all(np.isfinite(est.intercept_))


def test_no_margin():
    """The same points in every class: all prototypes are equal, the optimum is 0, and nothing is divided by it."""
    X, y = np.tile(np.eye(3), (3, 1)), np.repeat([0, 1, 2], 3)
    with pytest.warns(ConvergenceWarning, match="'no_margin'"):
        est = fit(X, y, nu=0.5, tol=1e-3)
    for figure in (est.primal_objective_, est.dual_objective_, est.duality_gap_, est.kkt_violation_, est.rho_):
        assert np.isfinite(figure)
    assert abs(est.primal_objective_) < 1e-9
    np.testing.assert_allclose(centered(est, X), 0, atol=1e-6)


@pytest.mark.parametrize("nu", np.linspace(0.02, 0.3, 15))
def test_a_margin_of_rounding_is_none(nu, seed):
    """All kernel values are tanh(1): what is left of rho is rounding, above zero or below it."""
    X, y = blobs([20, 9, 11, 17, 12], 3, seed=seed)
    est = JointSVC("scatter", nu=nu, intercept="exact", kernel="sigmoid", gamma=1e-30, coef0=1.0)
    with pytest.warns(ConvergenceWarning, match="'no_margin'"):
        est.fit(X, y)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("nu", [0.05, 0.15, 0.5])
def test_overlapping_classes_have_no_margin(nu, intercept):
    """The reduced hulls meet: the optimum is rho = 0 with equal prototypes. A larger nu parts them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.integers(0, 2, 80)
    est = JointSVC("scatter", nu=nu, intercept=intercept, kernel="linear")
    with pytest.warns(ConvergenceWarning, match="(?s)'no_margin'.*raise nu"):
        est.fit(X, y)
    assert est.status_ == "no_margin"
    assert max(abs(est.rho_), abs(est.primal_objective_), abs(est.dual_objective_), est.kkt_violation_) < 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert est.set_params(nu=0.9).fit(X, y).status_ == "solved" and est.rho_ > 0.01
        assert est.set_params(nu=nu, kernel="rbf", gamma=2.0).fit(X, y).status_ == "solved" and est.rho_ > 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_is_honest(kernel):
    X, y, _ = small()
    shape = dict(kernel=kernel, gamma=0.1, degree=2, coef0=0.5)
    for params in (dict(C=0.5, intercept="none"), dict(nu=0.5, intercept="exact")):
        if kernel not in DEFINITE:  # the figures are right, but no certificate
            with pytest.warns(ConvergenceWarning, match="indefinite"):
                est = fit(X, y, tol=1e-6, **shape, **params)
            assert est.status_ == "solved" and est.duality_gap_ == np.inf
            P, D = est.primal_objective_, est.dual_objective_
            est.duality_gap_ = (P - D) / max(abs(P), abs(D))
            assert_honest(est, X, y)
            continue
        est = fit(X, y, tol=1e-6, **shape, **params)
        assert_honest(est, X, y, optimum=problem(est, X, y).dual().value)


def test_ellipsoidal_precomputed_and_callable_kernels():
    X, y, Z = small()
    gammas = np.array([0.2, 0.0, 1.0])
    a = fit(X, y, gamma=gammas, nu=0.3)
    b = fit(rbf(X, X, gammas), y, kernel="precomputed", nu=0.3)
    c = fit(X, y, kernel=lambda A, B: rbf(A, B, gammas), nu=0.3)
    np.testing.assert_allclose(centered(a, Z), centered(b, rbf(Z, X, gammas)), atol=2e-6)
    np.testing.assert_allclose(centered(a, Z), centered(c, Z), atol=2e-6)
    assert_honest(a, X, y)


# Two classes


def two_classes():
    X, y = blobs([25, 18], 3, seed=2, spread=1.0)
    return X, np.array(["no", "yes"])[y], y


def test_two_classes_without_intercept_are_the_bias_free_svc():
    X, names, y = two_classes()
    est = fit(X, names, C=3.0)
    f = est.decision_function(X)
    assert f.shape == (len(y),)
    np.testing.assert_allclose(f, binary_svc(rbf(X, X, 0.4), 2 * y - 1, 1.5, bias=False), atol=1e-5)
    np.testing.assert_array_equal(est.predict(X), np.where(f > 0, "yes", "no"))


def test_two_classes_with_intercept_are_the_svc():
    X, names, _ = two_classes()
    est, svc = fit(X, names, C=3.0, intercept="exact"), SVC(C=1.5, gamma=0.4, tol=1e-9).fit(X, names)
    np.testing.assert_allclose(est.decision_function(X), svc.decision_function(X), atol=1e-4)


def test_two_classes_with_nu_are_the_nu_svc():
    """NuSVC divides by rho; its coefficients are +-alpha / rho."""
    X, y = DATA["iris12"]()
    est = fit(X, y, gamma=0.5, nu=0.3, intercept="exact")
    svc = NuSVC(nu=0.3, gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(est.decision_function(X) / est.rho_, svc.decision_function(X), atol=1e-4)
    coef = np.zeros(len(y))
    coef[svc.support_] = np.abs(svc.dual_coef_[0])
    np.testing.assert_allclose(alphas(est, y) / est.rho_ / 2, coef, atol=1e-4 * coef.max())


# Identities of the method


def test_scatter_of_the_prototypes():
    """sum_c ||m_c - mbar||^2 = (1/T) a'Kp a, Kp = (T - 1 or -1) o K, and the objective is minus half of it."""
    X, y, _ = small()
    est = fit(X, y, nu=0.3)
    K, alpha, T = rbf(X, X, 0.4), alphas(est, y), 5
    M = np.eye(T)[:, y] * alpha  # rows: m_c in the span of the training rows
    D = M - M.mean(axis=0)
    scatter = np.einsum("ci,ij,cj->", D, K, D)
    Kp = np.where(y[:, None] == y, T - 1, -1) * K
    assert scatter == pytest.approx(alpha @ Kp @ alpha / T, rel=1e-12)
    assert est.dual_objective_ == pytest.approx(-scatter / 2, rel=1e-10)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES[:2])
def test_C_form_is_a_scaled_nu_form(loss, intercept):
    """With t = T / (1'a): rho = t, scores t times larger, and mu = t C for the hinge, mu = C for its square."""
    X, y, Z = small()
    c = fit(X, y, loss=loss, C=2.0, intercept=intercept)
    t = 5 / c.dual_coef_.sum()
    mu = 2.0 * (t if loss == "hinge" else 1.0)
    nu = fit(X, y, loss=loss, nu=5 / (mu * len(y)), intercept=intercept)
    assert nu.rho_ == pytest.approx(t, rel=1e-5)
    np.testing.assert_allclose(centered(nu, Z), t * centered(c, Z), atol=1e-5)


def test_nu_bounds_margin_errors_and_support_vectors():
    X, y = DATA["iris"]()
    for nu in (0.05, 0.1, 0.5, 0.9):
        est = fit(X, y, gamma=0.5, nu=nu)
        s = centered(est, X)[np.arange(len(y)), y]
        assert np.mean(s < est.rho_ - 1e-6) <= nu <= len(est.support_) / len(y)
        if nu == 0.1:
            assert np.mean(s < est.rho_ - 1e-6) == pytest.approx(0.060)
            assert len(est.support_) / len(y) == pytest.approx(20 / 150)


def test_box_without_effect():
    """mu >= T: no alpha can reach the box, the model no longer depends on nu."""
    X, y, Z = small()
    assert_same_model(fit(X, y, nu=1e-3), fit(X, y, nu=1e-5), Z)


def test_printed_squared_hinge():
    """The paper's (16), with ridge 1/mu^2 on Kp, is T times our dual at the penalty T mu^2 / 2."""
    X, y = DATA["toy12"]()
    T, mu = 3, 2
    est = fit(X, y, gamma=0.5, loss="squared_hinge", nu=T / (T * mu**2 * len(y)))
    assert -T * est.dual_objective_ == pytest.approx(PRINTED_16, rel=1e-8)
    assert est.rho_ == pytest.approx(-2 * est.dual_objective_ / T, rel=1e-7)
