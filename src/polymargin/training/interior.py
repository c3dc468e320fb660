"""A program on few points by an interior point method: for variables so large that only their sums matter.

P points with kernel values K, S (P, T) coefficients at the points, F = KS their scores, b free constants:

    min over S, b   1/2 tr S'KS + sum_r u_r xi_r,    V_v F[point_v] + E_v b >= g_v - xi_r    v the margins of the row r
    max over a      g'a - 1/2 tr S'KS,    S[p] = sum of a_v V_v at p,    a >= 0,  sum of a over r <= u_r,  E'a = 0

with squared slacks, xi_v^2 / (2 ridge_v), there are no upper bounds. Where a point has rows of several classes and u is
1e12, the optimum has variables of that size whose sums S are of order one: rounding of the variables hides S, but
slacks and scores are as exact as ever. So the steps are solved for in scores alone, from s a = mu, s the excess of a
margin over its slack, and xi (u - sum a) = mu. They end when it is plain which variables rest at bounds; `face` then
solves for the others, as small changes, from sums in extended precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

Real = np.longdouble
NOISE = 8 * float(np.finfo(Real).eps)  # rounding error of a sum of terms of size one

MOST_INSIDE_STEPS = 60
IDLE_STEPS = 8  # most steps that may fail to halve mu
GAP = 1e-9  # n mu, of the square in the objective, or
LEAST_GAP = 1e-20  # of the losses, if that is more
NEAR, NEARLY = 1e-11, 1e-6  # what is left of the equations for slacks, and of those for scores, of the losses
RANK = 1e-13  # of the largest eigenvalue of K
JITTERS = (1e-15, 1e-12)  # on a diagonal of ones
INSIDE = 0.99  # share of the way to the nearest bound that a step takes
SHORT = 0.2  # step
CENTERING = 3  # power of the share of mu that a full affine step would leave


def summed(n: int, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of values by index, in the type of the values."""
    out = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
    np.add.at(out, index, values)
    return out


@dataclass(frozen=True)
class Program:
    """As above. `point`, `V`, `E`, `g` and `row` have an entry per margin, those of a row adjacent; `u` one per row.

    V and u are long doubles: 1/T times 1e12 must cancel, and so must sums of bounds.
    """

    K: np.ndarray
    point: np.ndarray
    V: np.ndarray
    E: np.ndarray
    g: np.ndarray
    row: np.ndarray
    u: np.ndarray
    ridge: np.ndarray | None = None
    entropy: bool = False

    @cached_property
    def v(self) -> np.ndarray:
        return self.V.astype(np.float64)

    @cached_property
    def inverse(self) -> np.ndarray:
        """Of K, about: the steps that it is used for are corrected by what K itself makes of them."""
        value, vector = np.linalg.eigh(self.K)
        return (vector / (np.maximum(value, 0) + RANK * value[-1])) @ vector.T

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """All pairs of margins of the same row."""
        size = np.bincount(self.row, minlength=len(self.u))
        at = np.cumsum(size) - size
        parts = [np.array(np.triu_indices(n, 1)) + a for n, a in zip(size, at, strict=True)]
        first, second = np.concatenate(parts, axis=1)
        return first, second

    def margins(self, F: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("vt,vt->v", self.v, F[self.point]) + self.E @ b

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        """S of the variables, in their precision."""
        V = self.V if a.dtype == Real else self.v
        return summed(len(self.K), self.point, V * a[:, None])

    def rows(self, values: np.ndarray) -> np.ndarray:
        """Sums over the margins of each row."""
        return summed(len(self.u), self.row, values)


class ScoreSystem:
    """(K^-1 + H) dF + G db = S,  G'dF + Z db = q,  where H, G and Z are the sums of `weight` over directions.

    The directions are those of the margins, then those between two margins of a row: no sum has terms that cancel. The
    unknowns are scores at points, not coordinates of K: where a weight is 1e25, a change of 1e-25 must come out right.
    """

    def __init__(self, p: Program, weight: np.ndarray) -> None:
        i, j = p.pairs if len(weight) > len(p.point) else (np.zeros(0, dtype=int),) * 2
        V, E = np.concatenate([p.v, p.v[i] - p.v[j]]), np.concatenate([p.E, p.E[i] - p.E[j]])
        at, (P, T), wV = np.concatenate([p.point, p.point[i]]), (len(p.K), V.shape[1]), weight[:, None] * V
        H, G = (summed(P, at, wV[:, :, None] * W[:, None, :]) for W in (V, E))
        A = np.einsum("pq,cd->pcqd", p.inverse, np.eye(T))
        A[np.arange(P), :, np.arange(P), :] += H
        G = G.reshape(P * T, -1)
        A = np.block([[A.reshape(P * T, P * T), G], [G.T, E.T @ (weight[:, None] * E)]])
        self.unit = np.sqrt(np.maximum(np.diag(A), np.finfo(float).tiny))
        self.A = A / self.unit[:, None] / self.unit
        self.factor = self.factorized()

    def factorized(self) -> np.ndarray:
        for jitter in JITTERS:
            try:
                return cholesky(self.A + jitter * np.eye(len(self.A)), lower=True, check_finite=False)
            except LinAlgError:
                continue
        raise FloatingPointError

    def solve(self, S: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right = np.concatenate([S.ravel(), q]) / self.unit
        x = np.zeros_like(right)
        for _ in range(3):  # what rounding and the jitter have left
            x += cho_solve((self.factor, True), right - self.A @ x, check_finite=False)
        x /= self.unit
        return x[: S.size].reshape(S.shape), x[S.size :]


@dataclass
class Inside:
    """Scores F, constants b, variables, what is left of each row's bound, and slacks: excess s and loss xi."""

    F: np.ndarray
    b: np.ndarray
    exact: np.ndarray  # the variables, long doubles
    room: np.ndarray
    s: np.ndarray
    xi: np.ndarray

    @property
    def a(self) -> np.ndarray:
        return self.exact.astype(np.float64)

    def moved(self, by: Inside, t: float) -> Inside:
        return Inside(*(v + t * d for v, d in zip(vars(self).values(), vars(by).values(), strict=True)))

    def reach(self, by: Inside) -> float:
        """The longest step along a direction that keeps everything nonnegative."""
        t = np.inf
        for name in ("a", "room", "s", "xi"):
            v, d = getattr(self, name), getattr(by, name)
            falls = d < 0
            t = min(t, float(np.min(-v[falls] / d[falls], initial=np.inf)))
        return t

    def missing(self, p: Program) -> np.ndarray:
        """F - KS."""
        return self.F - p.K @ p.coefficients(self.exact).astype(np.float64)

    @property
    def products(self) -> float:
        return float(self.s @ self.a + self.xi @ self.room)


def noise(p: Program, a: np.ndarray) -> float:
    """Of a score, where variables are as large as a."""
    return NOISE * float(a.max()) * float(np.abs(p.K).max())


def begin(p: Program) -> Inside:
    size, R = np.bincount(p.row, minlength=len(p.u)), len(p.u)
    F, b, s = np.zeros((len(p.K), p.V.shape[1])), np.zeros(p.E.shape[1]), np.ones(len(p.row))
    if p.ridge is not None:  # no bounds: rows without room and losses of their own
        return Inside(F, b, (0.5 / p.ridge).astype(Real), np.ones(R), s, np.zeros(R))
    part = (p.u / (size + 1)).astype(np.float64)
    return Inside(F, b, part[p.row].astype(Real), part, s, np.ones(R))


def interior_point(p: Program, go_on: Callable[[int, float, float], bool]) -> tuple[Inside, int]:
    """A point near the optimum, inside all bounds, and the number of steps; `go_on(steps, slack, dual)` may end it."""
    x = begin(p)
    n = len(x.s) + (len(x.xi) if p.ridge is None else 0)
    least, since, t = np.inf, 0, 1.0
    for step in range(MOST_INSIDE_STEPS):
        off = p.g - p.margins(x.F, x.b) - x.xi[p.row] + x.s
        if p.ridge is not None:
            off -= p.ridge * x.a
        mu, value = x.products / n, max(float(np.abs(p.g) @ x.a), 1e-300)
        near = float(np.abs(off).max())
        enough = max(GAP * float(np.sum(x.F * (p.inverse @ x.F))), LEAST_GAP * value)
        if n * mu <= enough and near <= NEAR and np.abs(x.missing(p)).max() <= NEARLY * value:
            break
        least, since = (mu, step) if mu <= 0.5 * least else (least, since)
        if step > since + IDLE_STEPS or not go_on(step, max(near, mu / x.a.max()), value):
            break
        try:
            system = InsideSteps(p, x, off)
        except FloatingPointError:
            break
        straight = system.solve(-x.s * x.a, -x.xi * x.room)
        reach = min(1.0, x.reach(straight))
        share, bend = (x.moved(straight, reach).products / (n * mu)) ** CENTERING, reach**2
        if t < SHORT:  # the last step met a bound at once: center first
            share, bend = 1.0, 0.0
        loss = share * mu - x.xi * x.room - bend * straight.xi * straight.room
        d = system.solve(share * mu - x.s * x.a - bend * straight.s * straight.a, loss if p.ridge is None else 0 * loss)
        t = min(1.0, INSIDE * x.reach(d))
        x = x.moved(d, t)
    return x, step


class InsideSteps:
    """Newton steps from a point: s a and xi room are to become given numbers."""

    def __init__(self, p: Program, x: Inside, off: np.ndarray) -> None:
        self.p, self.x, self.off, a = p, x, off, x.a
        self.missing, self.sums = p.inverse @ x.missing(p), np.asarray(p.E.T @ x.exact, dtype=np.float64)
        self.w = a / (x.s + (0 if p.ridge is None else p.ridge * a))
        self.all = x.room + x.xi * p.rows(self.w)
        i, j = p.pairs
        self.own = self.w * (x.room / self.all)[p.row]
        self.between = self.w[i] * self.w[j] * (x.xi / self.all)[p.row[i]]
        self.newton = ScoreSystem(p, np.concatenate([self.own, self.between]))

    def variables(self, y: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """da where the margins fall short by y."""
        i, j = self.p.pairs
        da = self.own * y - self.w * (loss / self.all)[self.p.row]
        flow = self.between * (y[i] - y[j])
        np.add.at(da, i, flow)
        np.add.at(da, j, -flow)
        return da

    def solve(self, products: np.ndarray, loss: np.ndarray) -> Inside:
        p, x = self.p, self.x
        y = self.off + products / x.a
        da = self.variables(y, loss)
        dF, db = self.newton.solve(p.coefficients(da) - self.missing, p.E.T @ da + self.sums)
        rise = p.margins(dF, db)
        y = y - rise
        da = self.variables(y, loss)
        if p.ridge is not None:
            none = np.zeros_like(x.xi)
            return Inside(dF, db, da, none, rise + p.ridge * da - self.off, none)
        dxi = (loss + x.xi * p.rows(self.w * y)) / self.all
        return Inside(dF, db, da, -p.rows(da), rise + dxi[p.row] - self.off, dxi)
