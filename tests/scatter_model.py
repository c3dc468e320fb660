"""What the tests of the scatter machine share: its variants, and a fitted one read back as the oracle's problem."""

import numpy as np
import pytest
from oracles import Scatter, default_gamma, kernel_values

from polymargin import JointSVC

LOSSES = ["hinge", "squared_hinge", "logistic"]
FORMS = [dict(C=2.0), dict(nu=0.3)]
INTERCEPTS = ["none", "regularized", "exact"]
CONFIGS = [dict(loss=loss, intercept=b, **form) for loss in LOSSES for form in FORMS for b in INTERCEPTS]


def name(params):
    return "-".join(str(v) for v in params.values())


every_config = pytest.mark.parametrize("params", CONFIGS, ids=name)


def fit(X, y, weights=None, **params):
    return JointSVC("scatter", **(dict(gamma=0.4, tol=1e-9) | params)).fit(X, y, sample_weight=weights)


def assert_same_model(a, b, Z, atol=2e-6, columns=slice(None)):
    """Equal objectives and decision values; alphas need not be unique."""
    assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=1e-7)
    np.testing.assert_allclose(centered(a, Z)[:, columns], centered(b, Z), atol=atol)


def naive_kernel(X, Z, kernel="rbf", gamma="scale", degree=3, coef0=0.0):
    """k between X and the training rows Z by the naive formulas."""
    if kernel == "precomputed":
        return X
    return kernel_values(kernel, X, Z, gamma=default_gamma(Z, gamma), degree=degree, coef0=coef0)


def problem(est, X, y, weights=None):
    """The oracle's problem with the estimator's parameters."""
    K = naive_kernel(X, X, est.kernel, est.gamma, est.degree, est.coef0)
    intercept = "none" if est.intercept == "auto" else est.intercept
    form = dict(C=est.C, nu=est.nu, intercept=intercept, priors=est.priors)
    return Scatter(K, np.unique(y, return_inverse=True)[1], loss=est.loss, weights=weights, **form)


def alphas(est, y):
    """One alpha per training row: the column of row i in dual_coef_ holds alpha_i at y_i and nothing else."""
    B = est.dual_coef_.tocsc()
    assert B.shape == (len(est.classes_), len(est.support_))
    assert np.all(np.diff(est.support_) > 0)
    B.eliminate_zeros()
    assert np.all(np.diff(B.indptr) == 1)
    np.testing.assert_array_equal(est.classes_[B.indices], np.asarray(y)[est.support_])
    alpha = np.zeros(len(y))
    alpha[est.support_] = B.data
    return alpha


def centered(est, Z):
    """f_c - fbar of the rows Z, (m, T) also for two classes."""
    F = est.decision_function(Z)
    return np.column_stack([-F, F]) if F.ndim == 1 else F - F.mean(axis=1, keepdims=True)


def rho_of(est):
    return float(est.rho_) if est.nu is not None else None


def free_b(est, p):
    """The b of the oracle's problem; the regularized intercept is part of its kernel."""
    return est.intercept_ if p.exact else 0.0


def assert_honest(est, X, y, weights=None, optimum=None, slack=1e-8):
    """The reported figures are those of the returned model by the naive formulas, and bound the true ones.

    optimum: the optimal value of the problem, where the caller knows it, to slack relative to the terms of the primal.
    """
    p, alpha, rho = problem(est, X, y, weights), alphas(est, y), rho_of(est)
    b = free_b(est, p)
    P, D = est.primal_objective_, est.dual_objective_
    size = abs(P) + alpha @ p.Q @ alpha + (0 if rho is None else p.T * abs(rho))
    assert p.infeasibility(alpha) < 1e-9
    if p.exact:
        assert abs(p.pi @ b) < 1e-9 * (1 + np.abs(b).max())
    assert pytest.approx(p.primal_value(alpha, b, rho), abs=1e-9 * size) == P
    assert pytest.approx(p.dual_value(alpha), abs=1e-9 * size) == D
    assert est.duality_gap_ == pytest.approx(max(P - D, 0) / max(abs(P), abs(D)), rel=1e-6, abs=1e-12)
    assert -1e-9 * size < P - D
    if optimum is not None:
        gap, slack = est.duality_gap_ * max(abs(P), abs(D)), slack * size
        assert optimum - slack <= P <= optimum + gap + slack
        assert optimum - gap - slack <= D <= optimum + slack
    assert_violation(est, p, alpha, b, rho)


def logit_rounding(p, alpha, rho):
    """The solver knows the logits ln(a / (u - a)); alpha has them to half an eps of u over u - a.

    In the nu form u = w T / (nu sum w) itself has three roundings, which need not be those of the oracle.
    """
    seen, _ = p.up_low(alpha)
    roundings = 1 if rho is None else 4
    return np.max(roundings * np.finfo(float).eps * p.u[seen] / (p.u - alpha)[seen], initial=0)


def assert_violation(est, p, alpha, b, rho):
    """kkt_violation_ is not smaller than the model's residual and not larger than the spread of the gradients."""
    unit = 1.0 if rho is None or p.loss == "logistic" or rho <= 0 else rho  # a fit stopped early may have no margin yet
    residual = p.residual(alpha, b, rho) / unit
    rounding, hidden = 1e-9, False
    if p.loss == "logistic":
        # Next to u, or where alpha is too small for a float, there is no logit. The oracle's sets leave such rows out,
        # the solver need not.
        rounding += logit_rounding(p, alpha, rho)
        hidden = not p.up_low(alpha)[0][p.on].all()
    assert est.kkt_violation_ >= residual - rounding
    if p.exact or rho is not None:
        most = 2 if p.exact and rho is None else 1  # two errors are added there: within the classes, and of their mean
        # Class sums may leave a variable one rounding below its bound, which the solver counts as off it.
        spread = max(p.spread(alpha), p.spread(alpha, near=0.0)) / unit
        assert hidden or est.kkt_violation_ <= most * max(spread, residual) + rounding
    else:
        assert hidden or est.kkt_violation_ <= residual + rounding
    assert est.status_ != "solved" or est.kkt_violation_ <= est.tol
