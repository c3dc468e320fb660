"""Slow and plain reference solutions of core vector machines and enclosing balls, independent of the library.

Core vectors (Asharaf, Murty and Shevade 2007), with <y, y'> = 1 for equal labels and v for different ones:

    min  a'Qa,  sum a = 1, a >= 0      Q_ij = <y_i, y_j> (k_ij + b0) + [i == j] r / w_i
    primal at a model:  ||w||^2 - 2 rho + sum_i (w_i / r) max(0, rho - s_i)^2,   s = (Q - diag(r / w)) a

Enclosing ball:  max  a'diag(K) - a'(K + diag(r / w)) a,  sum a = 1, a >= 0.
"""

import cvxpy as cp
import numpy as np
from oracles import factor, solve
from scipy.optimize import minimize_scalar


def code(name, T):
    return {"simplex": -1 / (T - 1), "printed": (3 * T - 4) / (T * (T - 1))}[name]


def label_kernel(name, y, z=None):
    T = int(y.max()) + 1
    return np.where(y[:, None] == (y if z is None else z)[None, :], 1.0, code(name, T))


def core_matrix(K, y, ridge, *, name="simplex", b0=0.0, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return label_kernel(name, y) * (K + b0) + np.diag(ridge / weight)


def core_optimum(Q):
    """min a'Qa over the simplex, and the a that attains it."""
    F = factor(Q)
    a = cp.Variable(len(Q), nonneg=True)
    value = solve(cp.Minimize(cp.sum_squares(F.T @ a)), [cp.sum(a) == 1])
    return value, np.maximum(a.value, 0)


def ball_optimum(K, ridge=0.0):
    """R^2 of the ball (less the slack's part), and the center's coefficients."""
    F = factor(K + ridge * np.eye(len(K)))
    a = cp.Variable(len(K), nonneg=True)
    value = solve(cp.Maximize(np.diag(K) @ a - cp.sum_squares(F.T @ a)), [cp.sum(a) == 1])
    return value, np.maximum(a.value, 0)


def core_primal(a, Q, ridge, weight=None):
    """The primal at the model a, minimized over rho by a line search."""
    r = ridge / (np.ones(len(a)) if weight is None else weight)
    s = Q @ a - r * a

    def value(rho):
        return a @ s - 2 * rho + np.sum(np.maximum(rho - s, 0) ** 2 / r)

    return minimize_scalar(
        value, bounds=(s.min() - 1, s.max() + r.max()), method="bounded", options={"xatol": 1e-12}
    ).fun


def assert_same_optimum(a, b, X):
    """Two core vector machines whose kernel has k(x, x) = 1 are within their duality gaps of one optimum.

    a'Qa less the optimum's value is at least ||w_a - w||^2, and at most the gap P - D of the primal and the dual at a;
    no score differs by more than w does. Which rows carry w, and with how much each, is left to rounding.
    """
    gaps = [m.primal_objective_ - m.dual_objective_ for m in (a, b)]
    assert a.status_ == b.status_ == "solved" and min(gaps) > -1e-15
    assert abs(a.dual_objective_ - b.dual_objective_) <= max(gaps) + 1e-15
    np.testing.assert_allclose(
        a.decision_function(X), b.decision_function(X), rtol=0, atol=np.sqrt(np.maximum(gaps, 0)).sum() + 1e-12
    )
