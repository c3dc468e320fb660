"""Primal and dual values of a fitted model, as plainly as the design states them, from its public attributes alone.

Everything is computed in np.longdouble (float64 on many rows that are not far from the origin) with a naive kernel that
takes differences before squares. Each class below is one family of machines. It has

    point             the dual variables, as far as `dual_coef_` gives them
    primal(point)     (value, sum of the sizes of its terms) at the scores of these variables and the model's constants
    dual(point)       the same for the dual
    infeasible()      how far the point is outside of its bounds and sums, relative to the largest variable
    violation()       of the optimality conditions, None where the variables cannot be told from the coefficients
    others(rng)       other feasible points: none of them may beat a bound that is claimed
    scores()          decision values of all rows, by the definition
    noise             (n, columns): what rounding of kernel values justifies in a score
    zero_sums         whether the variables have fixed sums, so that only differences of feature vectors count
    bounds            whether a stopped fit has the best dual value of its way, or an upper bound as its primal one
"""

import math
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from polymargin.fitting import scales

MANY = 1000  # rows beyond which plain float64 is used if rows are near the origin
LOWEST = float(np.exp(-35))  # of the box; three roundings of it
SIGMAS = 8.0  # rounding errors add up like independent ones; this many standard deviations


def kernel_matrix(kernel, X, Z, gamma, degree, coef0, real=np.longdouble):
    X, Z = np.asarray(X, dtype=real), np.asarray(Z, dtype=real)
    if kernel in ("rbf", "laplacian"):
        D = np.zeros((len(X), len(Z)), dtype=real)
        for t in range(X.shape[1]):
            gap = X[:, t, None] - Z[None, :, t]
            D += (gamma[t] if np.ndim(gamma) else gamma) * (gap**2 if kernel == "rbf" else np.abs(gap))
        return np.exp(-D)
    if kernel == "cosine":
        X, Z = (M / np.where((s := np.sqrt((M**2).sum(axis=1))) > 0, s, 1)[:, None] for M in (X, Z))
    P = X @ Z.T
    return {
        "linear": lambda: P,
        "cosine": lambda: P,
        "poly": lambda: (gamma * P + coef0) ** degree,
        "sigmoid": lambda: np.tanh(gamma * P + coef0),
    }[kernel]()


def scale_gamma(X, weight):
    """1 / (d var), weights counting as repetitions; 1 where all entries are equal."""
    w = np.asarray(weight, dtype=np.longdouble)
    mean = (w @ X).sum() / (w.sum() * X.shape[1])
    var = (w @ (X - mean) ** 2).sum() / (w.sum() * X.shape[1])
    return 1 / (X.shape[1] * var) if var > (4 * np.finfo(float).eps * abs(mean)) ** 2 else 1.0


def facts(problem, model):
    """What all families need: kernel values between the rows of positive weight, classes, strengths, rounding."""
    p, n = problem.params, len(problem.y)
    f = SimpleNamespace(problem=problem, model=model, p=p)
    weight = np.ones(n) if problem.weight is None else np.asarray(problem.weight, float)
    f.on = np.flatnonzero(weight > 0)
    rows = np.asarray(problem.rows)
    if p.get("normalize"):
        rows = unit_rows(problem.X, rows)
    far = problem.recipe["shift"] is not None
    f.real = np.longdouble if n <= MANY or far else np.float64
    kernel, name = p.get("kernel", "linear"), problem.recipe["kernel"]
    f.gamma = getattr(model, "gamma_", None)
    if kernel == "precomputed":
        f.K_all = rows.astype(f.real)
    elif callable(kernel):
        f.K_all = np.asarray(kernel(rows, rows), dtype=f.real)
    else:
        f.K_all = kernel_matrix(kernel, rows, rows, f.gamma, p.get("degree", 3), p.get("coef0", 0.0), f.real)
    f.X = rows.astype(f.real)
    f.expected_gamma = None
    if isinstance(p.get("gamma"), str):
        f.expected_gamma = scale_gamma(np.asarray(problem.rows, dtype=np.longdouble), weight)
    classes, index = np.unique(problem.y[f.on], return_inverse=True)
    f.classes, f.y, f.T = classes, index, len(classes)
    if problem.estimator == "EnclosingBall":
        f.y, f.T = np.zeros(len(f.on), int), 1
    f.E = np.eye(f.T)[f.y]
    f.plain, factor = weight[f.on], np.ones(f.T)
    if p.get("class_weight") is not None:
        factor = (
            f.plain.sum() / (f.T * np.bincount(f.y, f.plain))
            if isinstance(p["class_weight"], str)
            else np.array([p["class_weight"][c] for c in classes.tolist()])
        )
    f.weight = (f.plain * factor[f.y]).astype(f.real)
    f.one = str(p.get("intercept", "none")).startswith("regular")
    f.K = f.K_all[np.ix_(f.on, f.on)] + (1 if f.one else 0)
    # float32 kernel values are for tolerances from 1e-5 on, and more than 512 rows or a core set that grows.
    f.single = (n > 512 or p.get("epsilon") is not None) and p["tol"] >= 1e-5
    f.eps = float(np.finfo(np.float32 if f.single else np.float64).eps)
    if kernel == "rbf":  # distances by norms and products round relative to the norms around the mean
        spread = ((f.X - f.X.mean(axis=0)) ** 2) @ np.broadcast_to(np.asarray(f.gamma, dtype=f.real), f.X.shape[1])
        f.eps *= 1 + float(spread.max())
    if kernel == "poly":  # a power of a sum: its relative error is so many times that of the sum
        f.eps *= p["degree"]
    if kernel == "laplacian" and f.single and sp.issparse(problem.X):  # values are rounded before their differences
        f.eps *= 1 + float(f.gamma) * float(np.abs(f.X).sum(axis=1).max())
    f.linear_in_float64 = name == "linear" and not f.single
    return f


def unit_rows(X, rows):
    """Rows at unit length as they are stored: in the type of X, so that each differs from x / |x| by its roundings.

    Kernel values of such rows change by as much as those of any float32 rows do when these are rounded from float64:
    the model is one of the rounded rows. How their lengths are summed up depends on the form of storage.
    """
    unit = scales.unit_rows(X if sp.issparse(X) else np.asarray(X))
    unit = unit.toarray() if sp.issparse(unit) else unit
    length = np.sqrt((rows.astype(np.longdouble) ** 2).sum(axis=1))[:, None]
    off = np.abs(unit - rows / np.where(length > 0, length, 1)).max(initial=0)
    if off > (4 + np.sqrt(rows.shape[1])) * np.finfo(unit.dtype).eps:  # of the sum, its root and the quotient
        raise ValueError(f"unit rows are off by {off:.2g}")
    return unit


def indefinite(K, zero_sums):
    """Whether a'Ka < 0 for some a (that sums to zero), beyond rounding of eigenvalues, some eps of a norm of K."""
    K = np.asarray(K, dtype=float)
    error = 4 * np.finfo(float).eps * len(K) * np.abs(K).max()
    if zero_sums:
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1)[:, None]
    return bool(np.linalg.eigvalsh((K + K.T) / 2)[0] < -error)


def has_no_minimum(problem):
    """Whether the squared hinge may have none: the kernel is indefinite on these rows."""
    p, rows = problem.params, np.asarray(problem.rows)
    if p.get("loss") != "squared_hinge" or p["kernel"] not in ("sigmoid", "precomputed"):
        return False
    weight = np.ones(len(rows)) if problem.weight is None else np.asarray(problem.weight, float)
    gamma = scale_gamma(rows.astype(np.longdouble), weight) if p.get("gamma") == "scale" else p.get("gamma")
    K = rows if p["kernel"] == "precomputed" else kernel_matrix("sigmoid", rows, rows, gamma, 3, p["coef0"])
    return indefinite(K[np.ix_(weight > 0, weight > 0)], False)


def noise(f, B, K=None):
    """Rounding that is justified in the scores of coefficients B, (rows, columns): of terms, and of sums on the way."""
    if f.linear_in_float64:  # a score is <w, x>, w a sum of rows
        X, Z = f.X if K is None else f.X[f.on], f.X[f.on]
        W = np.abs(B @ Z) + np.sqrt(B**2 @ Z**2)
        # The truth is computed about the mean of all rows, where w = 0 is not exact: so much is its own rounding.
        own = float(np.finfo(f.real).eps / f.eps * np.square(f.X).sum(axis=1).max() + f.one)
        return np.asarray(SIGMAS * f.eps * (np.abs(X) @ W.T + np.abs(B).sum(axis=1) * own), dtype=float)
    K = np.asarray(f.K_all[:, f.on] if K is None else K, dtype=float)  # an estimate needs no more, and float64 is quick
    B = np.asarray(B, dtype=float)
    if f.p.get("kernel") in ("rbf", "cosine", "laplacian"):
        return SIGMAS * f.eps * np.broadcast_to(np.sqrt((B**2).sum(axis=1)), (len(K), len(B)))
    return f.eps * (SIGMAS * np.sqrt((K**2) @ (B**2).T) + np.abs(K) @ np.abs(B).T)


def coefficients(f, columns):
    """`dual_coef_` over all used rows, (columns, n)."""
    C = f.model.dual_coef_
    C = C.toarray() if sp.issparse(C) else np.asarray(C)
    B = np.zeros((columns, len(f.on)), dtype=f.real)
    B[:, np.searchsorted(f.on, f.model.support_)] = C
    return B


def full_scores(f, B):
    """sum_i B[c, i] k(x_i, x) + b_c for all rows that were passed, also those of weight zero."""
    b = np.asarray(f.model.intercept_, dtype=f.real)
    if f.p.get("kernel", "linear") != "linear":
        return f.K_all[:, f.on] @ B.T + b
    center = f.X.mean(axis=0)  # far from the origin, products of rows leave few digits of a score
    W = B @ (f.X[f.on] - center) + np.multiply.outer([math.fsum(row) for row in B], center)
    return (f.X - center) @ W.T + (W @ center + b)


def mixtures(point, corner):
    return [t * point for t in (0.0, 0.5, 0.9)] + [0.5 * (point + corner), corner]


def total(*terms):
    """A sum, and the sum of the sizes of its terms."""
    return sum(terms), sum(abs(t) for t in terms)


class Scatter:
    """1/2 a'Qa, Q = ([y == y'] - 1/T) k, losses of m - s_i - b_y with s = Qa."""

    def __init__(self, f):
        self.f, p = f, f.p
        B = coefficients(f, f.T)
        self.B, self.point = B, B.sum(axis=0)
        self.misplaced = float(np.abs(B[1 - f.E.T > 0]).max(initial=0.0))  # alpha_i belongs to the row of its class
        self.nu, self.loss, self.exact = p["nu"], p["loss"], p["intercept"] == "exact"
        self.zero_sums, self.bounds = self.exact, False
        self.u = f.weight * (p["C"] if self.nu is None else f.T / (self.nu * f.weight.sum()))
        self.m = f.model.rho_ if self.nu is not None else 0.0 if self.loss == "logistic" else 1.0
        self.b = np.asarray(f.model.intercept_, dtype=f.real) if self.exact else np.zeros(f.T, dtype=f.real)
        F = noise(f, B, f.K)
        self.noise = np.take_along_axis(F, f.y[:, None], 1)[:, 0] + F.mean(axis=1)
        self.reduced = self.point
        self.unit = abs(self.m) if self.nu is not None and self.loss != "logistic" else 1.0

    def s(self, a):
        F = self.f.K @ (a[:, None] * self.f.E)
        return F[np.arange(len(a)), self.f.y] - F.mean(axis=1)

    def primal(self, a):
        s = self.s(a)
        z = self.m - s - self.b[self.f.y]
        pos = np.maximum(z, 0)
        loss = dict(hinge=pos, squared_hinge=pos**2 / 2, logistic=np.logaddexp(0, z))[self.loss]
        return total(a @ s / 2, self.u @ loss, -self.f.T * self.m if self.nu is not None else 0.0)

    def slope(self):
        pos = np.maximum(self.m - self.s(self.point) - self.b[self.f.y], 0) + self.noise
        return self.u * pos if self.loss == "squared_hinge" else self.u

    def dual(self, a):
        linear = a.sum() if self.nu is None and self.loss != "logistic" else 0.0
        extra = -(a**2 / (2 * self.u)).sum() if self.loss == "squared_hinge" else 0.0
        if self.loss == "logistic":
            q = np.clip(a / self.u, 0, 1)
            extra = -sum(self.u @ np.where(v > 0, v * np.log(np.where(v > 0, v, 1)), 0) for v in (q, 1 - q))
        return total(linear, -a @ self.s(a) / 2, extra)

    def infeasible(self):
        a, out = self.point, [-self.point.min(), self.misplaced]
        if self.loss != "squared_hinge":
            out.append((a - self.u).max())
        sums = self.f.E.T @ a
        pi = self.f.p["priors"]
        if self.exact and pi is None and (self.nu is None or self.f.p["class_weight"] is None):
            pi = np.full(self.f.T, 1 / self.f.T)
        if self.exact and pi is not None:
            out.append(np.abs(sums - pi * (self.f.T if self.nu is not None else a.sum())).max())
        if self.nu is not None:
            out.append(abs(a.sum() - self.f.T))
        return float(max(out) / max(a.max(), 1e-300))

    def constants(self):
        """sum_c pi_c b_c, relative to intercepts and margin; the class sums of alpha are the pi."""
        sums, size = self.f.E.T @ self.point, np.abs(self.b) + (abs(self.m) or 1)
        return float(abs(sums @ self.b) / max(sums @ size, 1e-300)) if self.exact else 0.0

    def violation(self):
        a, u = self.point, self.u
        g = self.s(a) + self.b[self.f.y] - self.m
        if self.loss == "squared_hinge":
            g = g + a / u
            up, low = np.ones(len(a), bool), a > 0
        elif self.loss == "logistic":  # the logit of a float64 close to u says nothing any more
            inside = (a > 0) & (a < u * (1 - 1e-7))
            g = g + np.log(np.where(inside, a, 1) / np.where(inside, u - a, 1))
            # Below three roundings of u a variable is at its bound, as above. What going on to zero gains, at most a g,
            # is not lost sight of: it is part of the gap, which is compared with the claimed one.
            up, low = inside, inside & (a > LOWEST * u)
        else:
            up, low = a < u * (1 - 1e-9), a > 1e-9 * u
        return float(max((-g[up]).max(initial=0), g[low].max(initial=0))) / max(self.unit, 1e-300)

    def others(self, rng):
        f, u = self.f, self.u if self.loss != "squared_hinge" else np.full(len(self.u), self.point.max())
        if self.nu is None and not self.exact:
            corner = u * (rng.random(len(u)) < 0.5)
            return mixtures(self.point, corner) + [u * f.E[:, c] for c in range(f.T)]
        if self.nu is None:
            return mixtures(self.point, self.point)
        room, sums = f.E.T @ u, f.E.T @ self.point
        full = u * (sums / room)[f.y] if self.exact else u * f.T / u.sum()
        return [0.5 * (self.point + full), full]

    def scores(self):
        F = full_scores(self.f, self.B)
        return F if self.f.T > 2 else (F[:, 1] - F[:, 0]) / 2


# machine: (what margins are over, target of the own class, largest slack, factor of xi^2). Not read from the library: a
# wrong row there must be found.
MARGINS = {
    "kesler": ("own", None, False, 1.0),
    "crammer-singer": ("own", None, True, None),
    "llw": ("mean", None, False, None),
    "adm": ("mean", None, True, None),
    "ats": ("mean", lambda T: 1.0, False, None),
    "atm": ("mean", lambda T: 1.0, True, None),
    "reinforced": ("mean", lambda T: T - 1.0, False, None),
    "ovr": ("none", lambda T: 1.0, False, 0.5),
}


class Margins:
    """1/2 sum_c |w_c|^2 and slacks 1 + f_m - f_y, or 1 + f_m and t - f_y; `point` is B, (T, n)."""

    zero_sums, bounds = False, False

    def __init__(self, f):
        self.f, p = f, f.p
        reference, target, self.largest, self.square = MARGINS[p["machine"]]
        self.own, self.alone = reference == "own", reference == "none"
        self.target = None if target is None else target(f.T)
        self.u = f.weight * p["C"]
        self.squared = p["loss"] == "squared_hinge"
        self.point = coefficients(f, f.T)
        self.noise = 2 * noise(f, self.point, f.K).max(axis=1)
        self.reduced, self.unit = np.abs(self.point).sum(axis=0), 1.0
        # With a margin of the own class and scores that sum to zero, a common shift of the variables is not in B.
        self.shifted = self.target is not None and not self.alone and f.T > 2

    def slack(self, B):
        """target - margin, (n, T); -inf where there is no margin. Far rows cost the weights of a model fewer digits."""
        F, E = self.f.K @ B.T, self.f.E > 0
        if B is self.point and self.f.linear_in_float64 and hasattr(self.f.model, "coef_"):
            F = self.f.X[self.f.on] @ self.f.model.coef_.astype(self.f.real).T + self.f.model.intercept_
        own = F[E][:, None]
        if self.own:
            return np.where(E, -np.inf, 1 + F - own), F
        return np.where(E, -np.inf if self.target is None else self.target - F, 1 + F), F

    def primal(self, B):
        z, F = self.slack(B)
        pos = np.maximum(z, 0)
        loss = pos.max(axis=1) if self.largest else (self.square * pos**2 if self.squared else pos).sum(axis=1)
        return total((B.T * F).sum() / 2, self.u @ loss)

    def slope(self):
        if not self.squared:
            return self.u * (1 if self.largest else self.f.T)
        return self.u * 2 * self.square * (np.maximum(self.slack(self.point)[0], 0).sum(axis=1) + self.noise)

    def variables(self, B, part=0.0):
        """The dual variables, all >= 0, (n, T).

        Where B leaves a shift open it is the least (part = 0), whose dual value is the largest, to the most (part = 1).
        """
        E, u = self.f.E.T > 0, self.u
        if self.own:
            return np.where(E, 0, -B).T
        if self.alone:
            return np.where(E, B, -B).T
        own = (B * E).sum(axis=0)
        if self.target is None:
            return (own - B).T
        shift = np.maximum(-own, -u - np.where(E, np.inf, B).min(axis=0))
        if self.largest and self.f.T > 2:
            shift = np.maximum(shift, (2 * own - u) / (self.f.T - 2))
        most = np.minimum(u - own, -np.where(E, -np.inf, B).max(axis=0))
        shift = shift + part * np.maximum(most - shift, 0)
        return np.where(E, B + shift, -B - shift).T

    def dual(self, B):
        a = self.variables(B)
        E = self.f.E > 0
        linear = (a * np.where(E, self.target or 0.0, 1.0)).sum()
        ridge = -(a**2 / (4 * self.square * self.u[:, None])).sum() if self.squared else 0.0
        return total(linear, -(B.T * (self.f.K @ B.T)).sum() / 2, ridge)

    def infeasible(self):
        a, u = self.variables(self.point), self.u
        out = [-a.min()]
        if not self.squared:
            out.append((a.sum(axis=1) - u).max() if self.largest else (a - u[:, None]).max())
        if not self.alone:
            out.append(np.abs(self.point.sum(axis=0)).max())
        return float(max(out) / max(np.abs(a).max(), 1e-300))

    def constants(self):
        return 0.0

    def violation(self):
        """Of the variables that suit each row best: a shift that is open puts them at bounds at its ends only."""
        parts = (0.0,) if self.target is None or self.alone else (0.0, 0.5, 1.0)
        rows = [self.violations(self.variables(self.point, part)) for part in parts]
        return float(np.min(rows, axis=0).max(initial=0.0))

    def violations(self, a):
        u, gain = self.u, self.slack(self.point)[0]
        if self.squared:
            gain = gain - a / (2 * self.square * u[:, None])
        there = np.isfinite(gain)
        at_cap = self.largest & (a.sum(axis=1) >= u * (1 - 1e-9))
        grow = there if self.squared or self.largest else there & (a < u[:, None] * (1 - 1e-9))
        up = np.where(grow, gain, -np.inf).max(axis=1)
        down = np.where(there & (a > 1e-9 * (a.max() if self.squared else u[:, None])), -gain, -np.inf).max(axis=1)
        return np.where(at_cap, np.maximum(up, 0) + down, np.maximum(up, down))

    def others(self, rng):
        E, T, n = self.f.E.T > 0, self.f.T, len(self.u)
        top = self.u if not self.squared else np.full(n, max(float(np.abs(self.point).max()), 1e-300))
        a = top * (rng.random((T, n)) < 0.5) / (T if self.largest else 1)
        b = np.where(E, a if self.target is not None else 0.0, -a)
        reference = 0.0 if self.alone else E * b.sum(axis=0) if self.own else b.mean(axis=0)
        return mixtures(self.point, b - reference)

    def scores(self):
        F = full_scores(self.f, self.point)
        return F if self.f.T > 2 else (F[:, 1] - F[:, 0]) * (1 if self.own else 0.5)
