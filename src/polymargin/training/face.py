"""The end of `interior`: which variables rest at bounds is known, the others are solved for in extended precision.

Scores follow from the variables as they are returned, F = K S, S the sums of long doubles: the variables are 1e12 and
more, S is of order one. A correction of the variables is a small number, for which float64 is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from .interior import Inside, Program, Real, ScoreSystem, interior_point, noise

ROUNDS = 30  # most rounds in which variables enter and leave
CORRECTIONS = 4  # of the other variables, each smaller than the last by about the precision of float64
KNOWN = 1e-10  # a margin is violated if it falls short by more
PLAIN_BOUND = 1e8  # bound times k(x, x)
LOGISTIC_STEPS = 100  # of the logistic loss
NO_GAIN = 1e-14  # gain of a step relative to the value
LEAST_STEP = 1e-12  # shortest step


@dataclass
class Exact:
    """Variables in extended precision, constants, and the number of steps."""

    a: np.ndarray
    b: np.ndarray
    n_iter: int

    def scores(self, p: Program) -> np.ndarray:
        return p.K @ p.coefficients(self.a).astype(np.float64)


def solve(p: Program, go_on: Callable[[int, float, float], bool]) -> Exact:
    if p.entropy:
        return logistic(p, go_on)
    if p.ridge is not None:
        return ridged(p, *interior_point(p, go_on))
    scale = min(1.0, PLAIN_BOUND / (float(p.u.max()) * float(np.abs(p.K).max())))
    x, n_iter = interior_point(replace(p, u=scale * p.u), go_on)
    return bounded(p, x, scale, n_iter)


# --- the hinge: variables at 0, rows that are full, and others ---


def bounded(p: Program, x: Inside, scale: float, n_iter: int) -> Exact:
    """From the point x of the program with bounds that are multiplied by `scale`.

    The bounds that the optimum rests at are the same for all large multiples, and at moderate ones plainer to see.
    """
    used, full = x.a / (scale * p.u)[p.row] > x.s, x.room / (scale * p.u) < x.xi
    found, known = Exact(x.exact / scale, x.b, n_iter), max(KNOWN, 8 * noise(p, p.u))
    for _ in range(ROUNDS):
        lone = full[p.row] & used & (p.rows(used.astype(float))[p.row] == 1)
        found.a[~used], found.a[lone] = 0, p.u[p.row[lone]]
        loss = solve_free(p, found, used & ~lone, full)
        margin = p.margins(found.scores(p), found.b)
        loss[p.row[lone]] = (p.g - margin)[lone]
        short = p.g - margin - np.where(full, loss, 0.0)[p.row]
        negative, over = used & (found.a < 0), ~full & (p.rows(found.a) > p.u)
        wanted, gained = ~used & (short > known), full & (loss < -known)
        if not (negative.any() or over.any() or wanted.any() or gained.any()):
            break
        used, full = (used & ~negative) | wanted, (full | over) & ~gained
    found.a = np.maximum(found.a, 0)
    return found


def solve_free(p: Program, found: Exact, free: np.ndarray, full: np.ndarray) -> np.ndarray:
    """Margins of free variables as they should be, sums of full rows at their bounds; returns the losses of rows."""
    f, loss = np.flatnonzero(free), np.zeros(len(p.u))
    tied = np.unique(p.row[f][full[p.row[f]]])
    n, q = len(f), p.E.shape[1]
    tie = (p.row[f][:, None] == tied).astype(float)
    side = np.concatenate([p.E[f], tie], axis=1)
    H = (p.v[f] @ p.v[f].T) * p.K[np.ix_(p.point[f], p.point[f])]
    A = np.block([[H, side], [side.T, np.zeros((side.shape[1],) * 2)]])
    for _ in range(CORRECTIONS):
        margin = p.margins(found.scores(p), found.b)
        room = (p.u.astype(Real) - p.rows(found.a))[tied]
        right = [(p.g - margin)[f] - loss[p.row[f]] * full[p.row[f]], -(p.E.T @ found.a), room]
        d = np.linalg.lstsq(A, np.concatenate(right).astype(np.float64), rcond=1e-13)[0]
        found.a[f] += d[:n]
        found.b = found.b + d[n : n + q]
        loss[tied] += d[n + q :]
    return loss


# --- losses with curvature: every used variable follows its margin ---


def ridged(p: Program, x: Inside, n_iter: int) -> Exact:
    ridge = np.asarray(p.ridge)
    used = x.a * ridge > x.s
    found, known = Exact(x.exact.copy(), x.b, n_iter), max(KNOWN, 8 * noise(p, x.a))
    for _ in range(ROUNDS):
        found.a[~used] = 0
        weight = np.where(used, 1 / ridge, 0.0)
        system = ScoreSystem(p, weight)

        def short(found: Exact) -> np.ndarray:
            return p.g - p.margins(found.scores(p), found.b) - ridge * found.a.astype(np.float64)

        for _ in range(CORRECTIONS):
            correct(p, found, weight, short(found), system)
        negative, wanted = used & (found.a < 0), ~used & (short(found) > known)
        if not (negative.any() or wanted.any()):
            break
        used = (used & ~negative) | wanted
    found.a = np.maximum(found.a, 0)
    return found


def correct(p: Program, found: Exact, weight: np.ndarray, short: np.ndarray, system: ScoreSystem) -> None:
    """A step to where every variable has grown by its weight times what its margin is still short by."""
    da = weight * short
    dF, db = system.solve(p.coefficients(da), p.E.T @ da + np.asarray(p.E.T @ found.a, dtype=np.float64))
    found.a += weight * (short - p.margins(dF, db))
    found.b = found.b + db


def logistic(p: Program, go_on: Callable[[int, float, float], bool]) -> Exact:
    """u ln(1 + exp(-margin)): Newton's method on scores, then corrections of the variables."""
    u, F, b = p.u[p.row].astype(np.float64), np.zeros((len(p.K), p.v.shape[1])), np.zeros(p.E.shape[1])

    def value(F: np.ndarray, b: np.ndarray) -> float:
        return float(0.5 * np.sum(F * (p.inverse @ F)) + u @ np.logaddexp(0, -p.margins(F, b)))

    now = value(F, b)
    for step in range(LOGISTIC_STEPS):
        a = u * expit(-p.margins(F, b))
        right = p.coefficients(a) - p.inverse @ F, p.E.T @ a
        dF, db = ScoreSystem(p, a * (1 - a / u)).solve(*right)
        gain, t = float(np.sum(right[0] * dF) + right[1] @ db), 1.0
        while (then := value(F + t * dF, b + t * db)) > now and t > LEAST_STEP and gain > NO_GAIN * now:
            t *= 0.5
        F, b, now = F + t * dF, b + t * db, then
        if gain <= NO_GAIN * now or not go_on(step, gain / float(u.max()), now):
            break
    found = Exact((u * expit(-p.margins(F, b))).astype(Real), b, step + 1)
    for _ in range(CORRECTIONS):
        weight = (found.a * (1 - found.a / u)).astype(np.float64)
        logit = np.log(found.a / (u - found.a)).astype(np.float64)
        correct(p, found, weight, -p.margins(found.scores(p), found.b) - logit, ScoreSystem(p, weight))
        found.a = np.clip(found.a, 1e-300, u * (1 - Real(1e-18)))
    return found
