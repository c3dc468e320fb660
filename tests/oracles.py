"""Slow and plain reference solutions, independent of the library: kernels, and the scatter machine by a conic solver.

The scatter machine, with T classes, prototypes v_c that sum to zero, and s_i = <v_{y_i}, phi(x_i)> + b_{y_i}:

    min  1/2 sum_c ||v_c||^2 - [nu form] T rho + sum_i u_i loss(m - s_i)

    C form    u_i = C w_i,                 m = 1 (logistic: 0)
    nu form   u_i = w_i T / (nu sum w),    m = rho, a variable
    loss(z)   hinge max(0, z),  squared hinge max(0, z)^2 / 2,  logistic ln(1 + e^z)
    b         exact intercept: free with sum_c pi_c b_c = 0;   regularized: K + 1 takes the place of K;   else 0

Its dual, with Q_ij = ([y_i = y_j] - 1/T) k_ij:

    max  [C form, not logistic] 1'a - 1/2 a'Qa - sum_i r(a_i, u_i)

    r(a, u)   hinge 0, 0 <= a <= u;  squared hinge a^2 / (2u), 0 <= a;
              logistic a ln(a/u) + (u - a) ln(1 - a/u), 0 <= a <= u
    sums      nu form: 1'a = T;
              exact intercept: the sum over class c is pi_c T (nu form), lambda pi_c T, lambda free (C form)
"""

import inspect
import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

# Kernels: gamma is a number, or one number per feature for rbf.


class Unproven(RuntimeError):
    """The reference is not accurate enough to judge by: the conic solver failed, and polishing did not mend it."""


def rbf(X, Z, gamma=1.0):
    return np.exp(-(gamma * (X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def linear(X, Z):
    return X @ Z.T


def poly(X, Z, gamma=1.0, degree=3, coef0=0.0):
    return (gamma * (X @ Z.T) + coef0) ** degree


def sigmoid(X, Z, gamma=1.0, coef0=0.0):
    return np.tanh(gamma * (X @ Z.T) + coef0)


def cosine(X, Z):
    nx, nz = np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1)
    return (X / np.where(nx > 0, nx, 1)[:, None]) @ (Z / np.where(nz > 0, nz, 1)[:, None]).T


def laplacian(X, Z, gamma=1.0):
    return np.exp(-gamma * np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2))


# The one list of kernels in the tests. The sigmoid kernel is indefinite on most rows: fits with it have no certificate.
KERNELS = dict(rbf=rbf, linear=linear, poly=poly, sigmoid=sigmoid, cosine=cosine, laplacian=laplacian)
DEFINITE = [name for name in KERNELS if name != "sigmoid"]


def kernel_values(kernel, X, Z, **options):
    """k between the rows of X and Z, with those of the options (gamma, degree, coef0) that the kernel has."""
    takes = inspect.signature(KERNELS[kernel]).parameters
    return KERNELS[kernel](X, Z, **{name: value for name, value in options.items() if name in takes})


def default_gamma(X, gamma):
    """What gamma = "scale" and "auto" mean in scikit-learn."""
    if not isinstance(gamma, str):
        return gamma
    return 1 / (X.shape[1] * (X.var() or 1.0)) if gamma == "scale" else 1 / X.shape[1]


def factor(K):
    """F with K = F F', from the eigenvalues above rounding."""
    e, U = np.linalg.eigh((K + K.T) / 2)
    keep = e > 1e-14 * max(e.max(), 1e-300)
    return U[:, keep] * np.sqrt(e[keep])


def solve(objective, constraints):
    """Optimal value by Clarabel, as accurate as it gets; what is lacking is left to the caller's checks."""
    problem = cp.Problem(objective, constraints)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        for tol, scaled in ((1e-11, True), (1e-11, False), (1e-9, True), (1e-9, False), (1e-8, False)):
            accuracy = dict(tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            try:
                problem.solve(solver=cp.CLARABEL, max_iter=500, equilibrate_enable=scaled, **accuracy)
                break
            except cp.error.SolverError:
                if tol == 1e-8:
                    raise
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RuntimeError(f"the reference solver ended with {problem.status!r}")
    return float(problem.value)


def sigma(z):
    return np.exp(-np.logaddexp(0, -z))


@dataclass
class Optimum:
    value: float  # of the primal at its minimum, or of the dual at its maximum: they are equal
    alpha: np.ndarray = None  # dual only
    scores: np.ndarray = None  # (n, T): <v_c, phi(x_i)>, without b; unique
    b: np.ndarray = None  # primal only; unique where every class has a free support vector
    rho: float = None  # primal only


class Scatter:
    """One problem of the module's docstring. K is the plain Gram matrix, y 0 .. T-1; rows of weight 0 take no part."""

    def __init__(self, K, y, *, loss="hinge", C=1.0, nu=None, intercept="none", priors=None, weights=None):
        self.y, self.loss, self.nu = np.asarray(y), loss, nu
        n, T = len(self.y), int(self.y.max()) + 1
        w = np.ones(n) if weights is None else np.asarray(weights, float)
        self.T, self.exact = T, intercept == "exact"
        self.K = np.asarray(K, float) + (intercept == "regularized")
        self.pi = np.full(T, 1 / T) if priors is None else np.asarray(priors, float)
        self.u = C * w if nu is None else w * T / (nu * w.sum())
        self.E = np.eye(T)[self.y]  # (n, T) indicators
        self.Q = (self.E @ self.E.T - 1 / T) * self.K
        self.on = np.flatnonzero(w > 0)

    @property
    def margin(self):
        """m of the C form."""
        return 0.0 if self.loss == "logistic" else 1.0

    @property
    def unit(self):
        """Unit of alpha, v and the objective in what the solver is given: a small C makes all three small."""
        return min(1.0, self.u[self.on].mean())

    # The conic solver's answers

    def primal(self):
        i, T = self.on, self.T
        F = factor(self.K)
        c = self.unit
        V = c * cp.Variable((T, F.shape[1]))
        b = cp.Variable(T) if self.exact else np.zeros(T)
        rho = cp.Variable() if self.nu is not None else None
        m = self.margin if rho is None else rho
        z = m - cp.sum(cp.multiply(self.E[i], F[i] @ V.T), axis=1) - self.E[i] @ b
        loss = dict(hinge=cp.pos, squared_hinge=lambda z: cp.square(cp.pos(z)) / 2, logistic=cp.logistic)[self.loss]
        objective = cp.sum_squares(V) / 2 + self.u[i] @ loss(z) - (0 if rho is None else T * rho)
        sums = [cp.sum(V, axis=0) == 0] + ([self.pi @ b == 0] if self.exact else [])
        value = c * solve(cp.Minimize(objective / c), sums)
        b, rho = b.value if self.exact else b, None if rho is None else float(rho.value)
        best = Optimum(value, scores=F @ V.value.T, b=b, rho=rho)
        if self.loss == "logistic":
            alpha = self.u * sigma(-np.sum(self.E * best.scores, axis=1) - self.E @ b + (rho or 0.0))
            alpha, best.b, best.rho = self.polished(alpha, b, rho, best.scores)
            best.scores = self.scores(alpha)
        return best

    def dual(self):
        i, u, T = self.on, self.u[self.on], self.T
        F = factor(self.Q[np.ix_(i, i)])
        c = self.unit
        a = c * cp.Variable(len(i), nonneg=True)
        value = -cp.sum_squares(F.T @ a) / 2
        if self.nu is None and self.loss != "logistic":
            value += cp.sum(a)
        if self.loss == "squared_hinge":
            value -= cp.sum(cp.multiply(0.5 / u, cp.square(a)))
        if self.loss == "logistic":
            value -= cp.sum(cp.rel_entr(a, u) + cp.rel_entr(u - a, u))
        rules = [] if self.loss == "squared_hinge" else [a / c <= u / c]
        if self.exact:
            total = T * (c * cp.Variable() if self.nu is None else 1)
            rules += [self.E[i].T @ (a / c) == self.pi * total / c]
        elif self.nu is not None:
            rules += [cp.sum(a / c) == T / c]
        best = c * solve(cp.Maximize(value / c), rules)
        alpha = np.zeros(len(self.y))
        alpha[i] = np.maximum(a.value, 0)
        if self.loss == "logistic":
            # b and rho from the rows in the middle of the box: g_i + b_{y_i} = m there.
            m, b = 0.0, np.zeros(T)
            middle = (alpha * (self.u - alpha))[:, None] * self.E
            if self.exact:
                b = -(self.gradient(alpha) @ middle) / middle.sum(axis=0)
                m = -self.pi @ b
                b += m
            elif self.nu is not None:
                m = self.gradient(alpha) @ middle.sum(axis=1) / middle.sum()
            alpha, *_ = self.polished(alpha, b, None if self.nu is None else m, self.scores(alpha))
        return Optimum(best, alpha=alpha, scores=self.scores(alpha))

    def polished(self, alpha, b, rho, scores):
        """The logistic machine by Newton's method from the conic solver's answer, which may be off by 1e-5 in scores.

        F(a, b, t) = 0 with F = (a - u sigma(m - Qa - Eb), sums of a), and t = rho (nu form) or lambda (C form).
        A rest of a - u sigma is the primal's slope in v: the primal is 1-strongly convex there, so the scores of
        row i are proven to sqrt(k_ii rest'Q rest).
        """
        i, T, E, nu = self.on, self.T, self.E[self.on], self.nu is not None
        n, Q, u, a = len(i), self.Q[np.ix_(i, i)], self.u[i], alpha[i]
        rules = E.T if self.exact else np.ones((int(nu), n))  # sums of a that are prescribed
        share = self.pi if self.exact else np.ones(len(rules))
        b, t = np.array(b, float), rho if nu else a.sum() / T
        for _ in range(50):
            p = sigma((t if nu else 0.0) - Q @ a - E @ b)
            rest, h = a - u * p, (u * p * (1 - p))[:, None]
            F = np.concatenate([rest, rules @ a - share * T * (1 if nu else t), [self.pi @ b] * self.exact])
            if np.abs(F).max() < 1e-15 * max(1, np.abs(a).max()):
                break
            columns = [np.eye(n) + h * Q] + [h * E] * self.exact + [-h if nu else 0 * h] * (nu or self.exact)
            J = np.zeros((len(F), len(F)))
            J[:n] = np.hstack(columns)
            J[n : n + len(rules), :n] = rules
            if self.exact:
                J[-1, n : n + T] = self.pi
                J[n:-1, -1] = 0 if nu else -share * T
            try:
                step = np.linalg.solve(J, F)
            except np.linalg.LinAlgError:  # no direction left; what was reached is judged below
                break
            a = a - step[:n]
            b = b - step[n : n + T] if self.exact else b
            t = t - step[-1] if nu or self.exact else t
        alpha = np.zeros(len(self.y))
        alpha[i] = a
        error = np.sqrt(max(rest @ Q @ rest, 0.0) * np.diag(self.K).max())
        moved = np.abs(self.scores(alpha) - scores).max() / (1 + np.abs(scores).max())
        if not (error < 1e-9 * (1 + np.abs(scores).max()) and moved < 1e-4):
            raise Unproven(f"the reference is proven to {error:.0e} only, {moved:.0e} from the conic solver's")
        return alpha, b, (t if nu else None)

    # Values at a given model, by the formulas above

    def scores(self, alpha, K=None):
        """<v_c, phi(x)> for the rows x of K (default: the training rows), b left out."""
        return (self.K if K is None else K) @ (alpha[:, None] * (self.E - 1 / self.T))

    def primal_value(self, alpha, b=0.0, rho=None):
        """Objective of the primal at v = v(alpha), b and rho."""
        z = (self.margin if rho is None else rho) - self.Q @ alpha - self.E @ np.broadcast_to(b, self.T)
        hinge = np.maximum(z, 0)
        loss = dict(hinge=hinge, squared_hinge=hinge**2 / 2, logistic=np.logaddexp(0, z))[self.loss]
        return alpha @ self.Q @ alpha / 2 + self.u @ loss - (0 if rho is None else self.T * rho)

    def dual_value(self, alpha):
        """Objective of the dual; feasibility is `infeasibility`'s business."""
        value = -alpha @ self.Q @ alpha / 2 + (alpha.sum() if self.nu is None and self.loss != "logistic" else 0.0)
        a, u = alpha[self.on], self.u[self.on]
        if self.loss == "squared_hinge":
            value -= (a**2 / (2 * u)).sum()
        if self.loss == "logistic":
            rest = np.maximum(u - a, 0)
            value -= sum(p @ np.log(np.where(p > 0, p / u, 1.0)) for p in (a, rest))
        return value

    def infeasibility(self, alpha):
        """The largest violation of the dual's constraints, relative to the largest alpha."""
        sums, T = self.E.T @ alpha, self.T
        out = [np.max(-alpha), 0.0]
        if self.loss != "squared_hinge":
            out += [np.max(alpha - self.u)]
        if self.exact:
            total = alpha.sum() if self.nu is None else T
            out += [np.max(np.abs(sums - self.pi * total))]
        elif self.nu is not None:
            out += [abs(alpha.sum() - T)]
        return max(out) / alpha.max()

    def gradient(self, alpha):
        """g with the optimality conditions g_i + b_{y_i} >= m where alpha_i can grow, <= m where it can shrink."""
        g, i = self.Q @ alpha, self.on
        if self.loss == "squared_hinge":
            g[i] += alpha[i] / self.u[i]
        if self.loss == "logistic":
            a, u = (
                alpha[i],
                self.u[i],
            )  # next to u the rounding of u - a hides the slope: the bound counts as in the hinge
            g[i] += np.log(np.maximum(a, 1e-300)) - np.log(np.maximum(u - a, 1e-12 * u))
        return g

    def up_low(self, alpha, near=1e-12):
        """Rows whose alpha can grow, rows whose alpha can shrink; that near to its bound alpha is at it.

        Logistic: the logit ln(a / (u - a)) of a float64 close to u, or at the end of the range of floats, where a stops
        falling with it, says nothing any more: such rows are in neither set.
        """
        on = np.isin(np.arange(len(self.y)), self.on)
        if self.loss == "logistic":
            inside = on & (alpha > 1e-300 * self.u) & (alpha < self.u * (1 - 1e-7))
            return inside, inside
        top = np.inf if self.loss == "squared_hinge" else self.u * (1 - near)
        return on & (alpha < top), on & (alpha > 0)

    def residual(self, alpha, b=0.0, rho=None):
        """The largest violation of the optimality conditions at this model, in units of the margin m."""
        d = self.gradient(alpha) + self.E @ np.broadcast_to(b, self.T) - (self.margin if rho is None else rho)
        up, low = self.up_low(alpha)
        return max(0.0, np.max(-d[up], initial=0), np.max(d[low], initial=0))

    def spread(self, alpha, near=1e-12):
        """max g over rows that can shrink - min g over rows that can grow, per sum constraint; <= 0 at the optimum."""
        g, (up, low) = self.gradient(alpha), self.up_low(alpha, near)
        groups = [self.y == c for c in range(self.T)] if self.exact else [np.ones(len(g), bool)]
        gaps = [np.max(g[q & low]) - np.min(g[q & up]) for q in groups if (q & low).any() and (q & up).any()]
        return max(0.0, *gaps) if gaps else 0.0


def binary_svc(K, s, C, bias):
    """Decision values of min 1/2 ||w||^2 + C sum max(0, 1 - s_i (<w, phi_i> + b)) for signs s; b = 0 without bias."""
    F = factor(K)
    w, b = cp.Variable(F.shape[1]), (cp.Variable() if bias else 0.0)
    f = F @ w + b
    solve(cp.Minimize(cp.sum_squares(w) / 2 + C * cp.sum(cp.pos(1 - cp.multiply(s, f)))), [])
    return f.value
