"""The families of `honest_values` beside joint machines: reductions, core vectors, balls, structured machines."""

import numpy as np

from .honest_values import SIGMAS, coefficients, full_scores, mixtures, noise, total


class Columns:
    """Binary machines with bias by the columns of a code; `point` is b = label times variable, (columns, n)."""

    zero_sums, bounds = True, True

    def __init__(self, f):
        self.f, self.code = f, np.asarray(f.model.code_, dtype=f.real)
        self.S = self.code[f.y]  # (n, columns): label of the row in each machine, 0 where it takes no part
        self.point = coefficients(f, self.code.shape[1])
        self.bias = np.asarray(f.model.intercept_, dtype=f.real)
        self.u = (f.weight * f.p["C"])[:, None] * np.abs(self.S)
        self.squared = f.p["loss"] == "squared_hinge"
        self.noise = noise(f, self.point, f.K)
        self.reduced = np.abs(self.point).T
        self.unit = 1.0

    def outputs(self, b):
        """Those of the model come from its weights, if it has some: far from the origin sums of b lose more digits."""
        weights = getattr(self.f.model, "coef_", None)
        if weights is None or b is not self.point:
            return self.f.K @ b.T
        return self.f.X[self.f.on] @ weights.T.astype(self.f.real)

    def short(self, b):
        F = self.outputs(b)
        return np.where(self.S != 0, np.maximum(1 - self.S * (F + self.bias), 0), 0), F

    def primal(self, b):
        xi, F = self.short(b)
        return total((b.T * F).sum() / 2, (self.u * (xi**2 / 2 if self.squared else xi)).sum())

    def slope(self):
        return self.u * (self.short(self.point)[0] + self.noise) if self.squared else self.u

    def dual(self, b):
        extra = 0.0
        if self.squared:
            extra = -np.divide(b.T**2, 2 * self.u, out=np.zeros_like(b.T), where=self.u > 0).sum()
        return total((self.S * b.T).sum(), -(b.T * (self.f.K @ b.T)).sum() / 2, extra)

    def infeasible(self):
        a = np.where(self.S != 0, self.S * self.point.T, -np.abs(self.point.T))  # no row of another machine
        out = [-a.min(), np.abs(self.point.sum(axis=1)).max() / max(1, len(a)) ** 0.5]
        if not self.squared:
            out.append((a - self.u).max())
        return float(max(out) / max(np.abs(a).max(), 1e-300))

    def constants(self):
        return 0.0

    def violation(self):
        b, S, u = self.point.T, self.S, self.u
        G = self.f.K @ b + self.bias - S
        a = S * b
        if self.squared:
            G = G + np.divide(b, u, out=np.zeros_like(b), where=u > 0)
            low, high = a <= 1e-12 * np.abs(b).max(), np.zeros_like(a, dtype=bool)
        else:
            low, high = a <= 1e-9 * u, a >= u * (1 - 1e-9)
        on = S != 0
        grow = on & np.where(S > 0, ~high, ~low)
        fall = on & np.where(S > 0, ~low, ~high)
        return float(max(np.where(grow, -G, 0).max(), np.where(fall, G, 0).max(), 0.0))

    def others(self, rng):
        a = (self.u if not self.squared else np.abs(self.S) * np.abs(self.point).max()) * (
            rng.random(self.S.shape) < 0.5
        )
        plus, minus = (a * (self.S > 0)).sum(axis=0), (a * (self.S < 0)).sum(axis=0)
        least = np.minimum(plus, minus)
        ratio = np.where(self.S > 0, least / np.maximum(plus, 1e-300), least / np.maximum(minus, 1e-300))
        return mixtures(self.point, (a * ratio * self.S).T)

    def scores(self):
        return full_scores(self.f, self.point)


class Core:
    """sum_c |w_c|^2 - 2 rho + sum_i (w_i / r) (rho - s_i)_+^2 over the simplex, once or once per pair of classes."""

    unit, zero_sums, bounds = 1.0, False, False

    def __init__(self, f):
        self.f, p = f, f.p
        self.pairwise = p["scheme"] == "pairwise"
        if self.pairwise:
            self.pairs = np.asarray(f.model.pairs_)
            self.signed = coefficients(f, len(self.pairs))
            first, second = (f.E[:, self.pairs[:, k]].T for k in (0, 1))
            self.sign = (first - second).astype(f.real)  # (pairs, n)
            self.label = lambda a, k: self.sign[k] * (f.K @ (self.sign[k] * a))
        else:
            self.signed = coefficients(f, f.T)
            self.sign = np.ones((1, len(f.on)), dtype=f.real)
            other = -1 / (f.T - 1) if p["code"] == "simplex" else (3 * f.T - 4) / (f.T * (f.T - 1))
            M = np.where(f.y[:, None] == f.y, 1, f.real(other))
            self.label = lambda a, k: (M * f.K) @ a
        used = np.abs(self.sign)
        totals = used @ f.weight
        ridge = np.full(len(totals), 1 / p["C"]) if p["nu"] is None else p["nu"] * totals
        self.price = used * f.weight / ridge[:, None]  # w_i / r
        self.point = self.signed * self.sign if self.pairwise else self.signed.sum(axis=0)[None, :]  # alpha
        if self.pairwise:
            self.rho = [best_rho(self.label(a, k), self.price[k]) for k, a in enumerate(self.point)]
        else:
            self.rho = [f.real(f.model.rho_)]
        N = noise(f, self.signed, f.K)
        self.noise = N if self.pairwise else N.max(axis=1, keepdims=True) * 2
        self.reduced = 2 * self.point.T

    def primal(self, alpha):
        values = []
        for k, a in enumerate(alpha):
            s = self.label(a, k)
            values.append(total(a @ s, -2 * self.rho[k], self.price[k] @ np.maximum(self.rho[k] - s, 0) ** 2))
        return sum(v for v, _ in values), sum(s for _, s in values)

    def slope(self):
        short = [np.maximum(r - self.label(a, k), 0) for k, (a, r) in enumerate(zip(self.point, self.rho, strict=True))]
        return 2 * self.price.T * (np.array(short).T + self.noise)

    def dual(self, alpha):
        parts = [
            total(-a @ self.label(a, k), -np.divide(a**2, self.price[k], out=np.zeros_like(a), where=a != 0).sum())
            for k, a in enumerate(alpha)
        ]
        return sum(v for v, _ in parts), sum(s for _, s in parts)

    def infeasible(self):
        return float(max(-self.point.min(), np.abs(self.point.sum(axis=1) - 1).max()))

    def constants(self):
        return 0.0

    def violation(self):
        return None  # tol is the gap

    def others(self, rng):
        even = self.price / self.price.sum(axis=1, keepdims=True)
        return [0.5 * (self.point + even), even]

    def scores(self):
        f = self.f
        F = full_scores(f, self.signed)
        return F[:, 1] - F[:, 0] if f.T == 2 and not self.pairwise else F


def best_rho(s, price):
    """The root of sum_i price_i (rho - s_i)_+ = 1 over the rows that take part."""
    s, price = s[price > 0], price[price > 0]
    order = np.argsort(s)
    s, price = s[order], price[order]
    rho = (1 + np.cumsum(price * s)) / np.cumsum(price)  # if just these rows fall short
    return rho[np.argmax(np.append(rho[:-1] <= s[1:], True))]


class Ball:
    """t + C/4 sum_i w_i xi_i^2, |phi(x_i) - c|^2 <= t + xi_i; radius_ is the root of t, 0 where that is negative."""

    unit, zero_sums, bounds = 1.0, True, False

    def __init__(self, f):
        self.f, self.C = f, f.p["C"]
        self.point = np.zeros(len(f.on), dtype=f.real)
        self.point[np.searchsorted(f.on, f.model.support_)] = f.model.dual_coef_
        self.h = np.diag(f.K)
        own = (8 + SIGMAS * f.X.shape[1] ** 0.5 / 2) * f.eps * np.asarray(np.abs(self.h), dtype=float)  # d products
        self.noise = 2 * noise(f, self.point[None, :], f.K)[:, 0] + own
        self.reduced = 2 * self.point
        self.R2 = f.real(f.model.radius_) ** 2
        if np.isfinite(self.C) and self.R2 == 0:
            self.R2 = -best_rho(-self.distances(self.point) / 2, self.C * f.weight) * 2

    def distances(self, a):
        Ka = self.f.K @ a
        return self.h - 2 * Ka + a @ Ka

    def primal(self, a):
        out = np.maximum(self.distances(a) - self.R2, 0)
        if not np.isfinite(self.C):  # every row must be inside: what is outside by rounding belongs to R^2
            return total(self.R2, out.max())
        return total(self.R2, self.C / 4 * (self.f.weight @ out**2))

    def slope(self):
        out = np.maximum(self.distances(self.point) - self.R2, 0)
        if not np.isfinite(self.C):
            return (np.arange(len(out)) == out.argmax()).astype(float)
        return self.C / 2 * self.f.weight * (out + self.noise)

    def dual(self, a):
        ridge = -(a**2 / (self.C * self.f.weight)).sum() if np.isfinite(self.C) else 0.0
        return total(a @ self.h, -a @ self.f.K @ a, ridge)

    def infeasible(self):
        return float(max(-self.point.min(), abs(self.point.sum() - 1)))

    def constants(self):
        return 0.0

    def violation(self):
        return None

    def others(self, rng):
        even = self.f.weight / self.f.weight.sum()
        return [0.5 * (self.point + even), even]

    def scores(self):
        a, K = self.point, self.f.K_all[:, self.f.on]
        return 2 * K @ a - np.diag(self.f.K_all) - a @ self.f.K @ a


class Structured:
    """1/2 (|W|^2 + |b|^2) + C sum_i w_i max_c of Delta - f_y + f_c, or of Delta (1 - f_y + f_c); `point` is (W, b)."""

    unit, zero_sums, bounds = 1.0, False, False

    def __init__(self, f):
        self.f, p, m = f, f.p, f.model
        self.Z = np.column_stack((f.X[f.on], np.ones(len(f.on), dtype=f.real))) if f.one else f.X[f.on]
        self.all = np.column_stack((f.X, np.ones(len(f.X), dtype=f.real))) if f.one else f.X
        self.point = np.column_stack((m.coef_, m.intercept_)).astype(f.real) if f.one else m.coef_.astype(f.real)
        Delta = 1.0 - np.eye(f.T) if p["loss_matrix"] is None else np.asarray(p["loss_matrix"], float)
        by_rows = p["scaling"] == "svm-multiclass"
        self.Delta = (100 * Delta if by_rows else Delta)[f.y]
        self.u = f.weight * (p["C"] / f.plain.sum() if by_rows else p["C"])
        eps = 8 * float(np.finfo(float).eps)
        self.noise = np.asarray(eps * (np.abs(self.Z) @ np.abs(self.point).T).max(axis=1), dtype=float)
        self.reduced = np.zeros(len(self.u))

    def slack(self, W):
        F = self.Z @ W.T
        gap = F - F[self.f.E > 0][:, None]
        return self.Delta + gap if self.f.p["rescaling"] == "margin" else self.Delta * (1 + gap)

    def primal(self, W):
        return total((W**2).sum() / 2, self.u @ np.maximum(self.slack(W).max(axis=1), 0))

    def slope(self):
        return 2 * self.u * (1 if self.f.p["rescaling"] == "margin" else self.Delta.max())

    def dual(self, W):
        return None

    def infeasible(self):
        return 0.0

    def constants(self):
        return float(np.abs(self.f.model.intercept_).max()) if not self.f.one else 0.0

    def violation(self):
        return None

    def others(self, rng):
        """Multiples of the weights, and some subgradient steps from them: no primal value may be below the bound."""
        out, W = [t * self.point for t in (0.0, 0.5, 0.9, 1.1)], self.point
        for step in 0.5 ** np.arange(1, 12):
            z = self.slack(W)
            worst = z.argmax(axis=1)
            size = self.u * (z.max(axis=1) > 0)
            if self.f.p["rescaling"] == "slack":
                size = size * self.Delta[np.arange(len(worst)), worst]
            G = W + ((np.eye(self.f.T)[worst] - self.f.E) * size[:, None]).T @ self.Z
            W = W - step * G * np.sqrt((W**2).sum() / max((G**2).sum(), 1e-300))
            out.append(W)
        return out

    def scores(self):
        F = self.all @ self.point.T
        return F if self.f.T > 2 else F[:, 1] - F[:, 0]
