"""Forms of a program whose variables have prescribed sums: the nu forms, and the C form with an exact intercept.

The multipliers of the sums are the constants of the model: rho, or r_c = rho - b_c with sum_c pi_c b_c = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from .certificates import EPS
from .runs import NO_MARGIN, Out, Run
from .starting_points import start, start_with_sums

MAX_ROOT_STEPS = 80
SLOW = 4  # slow steps after which a search for a root becomes one for a jump
FINEST_ROOT = 1e-14  # relative precision of the class sums lam


@dataclass
class Qp:
    """g, u, r, and the sums that the variables of each group must have (None: no constraint); l is 0 unless given."""

    linear: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    segments: np.ndarray
    entropy: bool
    sum: str = "none"
    sums: np.ndarray | None = None
    lower: np.ndarray | None = None

    @property
    def groups(self) -> np.ndarray:
        return self.segments if self.sum == "per_class" else self.segments[[0, -1]]


def nu_form(run: Run, q: Qp, begin: Any, T: int, shares: np.ndarray | None) -> Out:
    """sum a = T, or pi_c T in every class; the multipliers are rho, or r_c = rho - b_c with sum_c pi_c b_c = 0."""
    cap = np.where(np.isfinite(q.upper), q.upper, np.divide(1, q.ridge, out=np.ones_like(q.ridge), where=q.ridge > 0))
    sums = np.array([float(T)]) if shares is None else shares * T
    q = replace(q, sum="total" if shares is None else "per_class", sums=sums)
    if not np.all(np.isfinite(q.upper)):
        # An infinite box takes any sum: let one row in each group hold what is missing.
        cap = np.maximum(cap, np.repeat(sums, np.diff(q.groups)))
    out = solve_margin(run, q, start_with_sums(q, begin, cap))
    r = np.asarray(out["multiplier"])
    rho = float(r[0]) if shares is None else float(shares @ r)
    b = np.zeros(T) if shares is None else rho - r
    if run.relative:  # the violation in the unit of tol; there is none where the margin is no larger than rounding
        seen = rho > run.least_margin
        if out["status"] == "solved" and not (seen and out["violation"] <= run.limits.tol * rho):
            # a ridge leaves a margin, except for rounding
            out["status"] = "stalled" if np.any(q.ridge) else "no_margin"
        elif rho > 0:
            out["violation"] /= rho
    return out | {"rho": rho, "b": b, "extra": 0.0}


def solve_margin(run: Run, q: Qp, alpha: np.ndarray) -> Out:
    """Minimize q; first only to where a margin shows, if the kernel values have fewer digits than the tolerance asks
    for where there is none: steps along their rounding would not end."""
    shows = run.least_margin / max(NO_MARGIN * run.largest, 1e-300)  # the core takes no margin for smaller than this
    if run.relative and run.limits.tol < shows < 1 and not np.any(q.ridge):
        out = run.solve(q, alpha, tol=shows, gap=np.inf)  # which is never small where there is no margin
        if out["status"] != "solved" or np.mean(out["multiplier"]) <= 2 * run.least_margin:
            return out
        alpha = out["alpha"]
    return run.solve(q, alpha)


def exact_c_form(run: Run, q: Qp, begin: Any, T: int, shares: np.ndarray) -> Out:
    """The C form with class biases: every class sum is lam pi_c T with lam free, and sum_c pi_c r_c = 0 at the end."""
    if not np.all(np.isfinite(q.upper)):
        return scaled(run, q, begin, T, shares)
    return Root(run, replace(q, sum="per_class"), T, shares).solve(begin)


def scaled(run: Run, q: Qp, begin: Any, T: int, shares: np.ndarray) -> Out:
    """The squared hinge is homogeneous: solve once with lam = 1 and no target, then scale so that rho becomes 1.

    A point a whose multipliers give no scale has a best one of its own, the maximum of t sum a - t^2/2 a'Ha. Where
    rounding hides the sign of a'Ha it is 0, and where that is negative the dual has no bound: a endless.
    """
    run.relative = True
    out = nu_form(run, replace(q, linear=np.zeros_like(q.linear)), begin, T, shares)
    scale = 1 / out["rho"] if out["rho"] > 0 else 0.0
    if scale == 0:
        total, square = float(out["alpha"].sum()), float(out["alpha"] @ out["gradient"])
        error = EPS * max(run.largest, 1.0) * total**2
        if square < -error:
            return out | {"alpha": np.full_like(out["alpha"], np.inf), "status": "endless"}
        scale = total / square if square > error else 0.0
        out["violation"] = scale * out["violation"] + abs(1 - scale * out["rho"])  # within classes, and of their mean
    alpha, s = out["alpha"] * scale, (out["gradient"] - q.ridge * out["alpha"]) * scale
    b = out["b"] * scale
    primal, dual = objectives(q, alpha, s, b)
    return out | {"alpha": alpha, "b": b, "rho": 1.0, "primal": primal, "dual": dual}


@dataclass
class Bracket:
    """A root of an increasing function by secants between a point on either side of it (Illinois).

    Over a jump of it secants creep along the lower side: where they do not halve the distance, it is halved.
    """

    most: float
    low: tuple[float, float] | None = None  # (lam, rho)
    high: tuple[float, float] | None = None
    side: int = 0  # of the last point
    stride: float = 0.01
    width: float = np.inf  # of the bracket, which steps should halve
    slow: int = 0  # steps that did not halve it

    def next(self, lam: float, rho: float) -> float | None:
        """Where to look after a value; None where nothing is left between the two points."""
        side, stays = (1 if rho > 0 else -1), self.side
        self.side = side
        if side > 0:
            self.high = (lam, rho)
            self.low = halved(self.low) if stays == side else self.low
        else:
            self.low = (lam, rho)
            self.high = halved(self.high) if stays == side else self.high
        if self.low and self.high:
            (a, f), (b, g) = self.low, self.high
            if b - a <= FINEST_ROOT * b:
                return None
            if self.slow < SLOW:
                halved_it = b - a <= 0.5 * self.width
                self.width, self.slow = (b - a, 0) if halved_it else (self.width, self.slow + 1)
            return (a * g - b * f) / (g - f) if self.slow < SLOW else 0.5 * (a + b)
        step, self.stride = self.stride, min(2 * self.stride, 0.5)
        return min(lam * (1 - side * step), self.most)


def halved(end: tuple[float, float] | None) -> tuple[float, float] | None:
    """Keeps either end of the bracket from staying in place forever."""
    return end and (end[0], 0.5 * end[1])


class Root:
    """lam is the root of the increasing function rho(lam) = sum_c pi_c r_c(lam), each point solved from the last."""

    def __init__(self, run: Run, q: Qp, T: int, shares: np.ndarray) -> None:
        self.run, self.q, self.shares, self.unit = run, q, shares, shares * T
        self.room = np.add.reduceat(q.upper, q.segments[:-1])
        ceiling = float(np.min(self.room / self.unit))
        # At the ceiling some class is full, and its multiplier may grow without bound.
        self.most = ceiling * (1 - 1e-9) if q.entropy else ceiling
        self.goal = 1e-12 if len(q.upper) <= 256 else 0.5 * run.limits.tol
        self.finest = 0.25 * run.limits.tol

    def solve(self, begin: Any) -> Out:
        out, ends = self.search(self.first(begin))
        if out["status"] == "solved" and out["violation"] > self.finest:  # exact enough for a sign, not for the answer
            out = self.at(out["lam"], out["alpha"], 0.0)
        return self.ended(*self.multipliers(out, ends))

    def at(self, lam: float, begin: Any, last: float) -> Out:
        """The optimum for class sums lam pi_c T, exact enough for the sign of rho to be certain."""
        q, tol = replace(self.q, sums=lam * self.unit), max(self.finest, 0.05 * abs(last))
        while True:
            out = self.run.solve(q, start_with_sums(q, begin, q.upper), tol=tol)
            r = np.asarray(out["multiplier"])
            out |= {"lam": lam, "r": r, "rho": float(self.shares @ r)}
            if out["status"] != "solved" or tol <= self.finest or abs(out["rho"]) > 3 * tol:
                return out
            begin, tol = out["alpha"], max(self.finest, min(0.2 * tol, 0.2 * abs(out["rho"])))

    def first(self, begin: Any) -> Out:
        """At the mean of the class sums that the machine without an intercept has."""
        q, most = self.q, self.most
        free = self.run.solve(replace(q, sum="none"), start(q, begin), tol=max(self.run.limits.tol, 0.1))
        guess = np.add.reduceat(free["alpha"], q.segments[:-1]) @ self.shares
        return self.at(min(max(guess, 1e-3 * most), (0.999 if q.entropy else 1.0) * most), free["alpha"], 1.0)

    def search(self, out: Out) -> tuple[Out, dict[int, Out]]:
        """The last point, and the last one on either side of the root."""
        bracket, ends = Bracket(self.most), {}
        for _ in range(MAX_ROOT_STEPS):
            lam, rho = out["lam"], out["rho"]
            if out["status"] != "solved" or abs(rho) <= self.goal or (rho < 0 and lam >= self.most):
                break
            ends[1 if rho > 0 else -1] = out
            lam = bracket.next(lam, rho)
            if lam is None:
                break
            out = self.at(lam, out["alpha"], rho)
        return out, ends

    def multipliers(self, out: Out, ends: dict[int, Out]) -> tuple[Out, np.ndarray, float]:
        """r and rho of a point; a full class, or one without a free row, may choose its own from an interval."""
        r, rho = out["r"].copy(), out["rho"]
        if rho < 0 and out["lam"] >= self.most:
            full = self.room <= out["lam"] * self.unit * (1 + 1e-8)
            r[full] -= rho / self.shares[full].sum()
            return out, r, 0.0
        if abs(rho) <= self.goal or len(ends) < 2:
            return out, r, rho
        if self.q.entropy:
            return self.between_floats(out, ends[-1], ends[1])
        low, high = (self.at(end["lam"], end["alpha"], 0.0) for end in (ends[-1], ends[1]))
        return self.at_the_jump(out, low, high)

    def at_the_jump(self, out: Out, low: Out, high: Out) -> tuple[Out, np.ndarray, float]:
        """Multipliers with rho = 0 where rho(lam) jumps over it: a class without a free row leaves its own an interval.

        The two ends of the intervals are the multipliers on either side. The last lam is the place of the jump but for
        rounding, which leaves one row of such a class just off its bound: a free row, with a gradient far from its
        multiplier. The row belongs on the bound. The solution stays `out` where another would be no better.
        """
        q, r, rho = replace(self.q, sums=out["lam"] * self.unit), out["r"], out["rho"]
        if not low["rho"] < 0 < high["rho"]:
            return out, r, rho
        size, near = np.diff(q.segments), 1e-9 * q.upper
        on = np.where(out["alpha"] < near, 0.0, np.where(out["alpha"] > q.upper - near, q.upper, out["alpha"]))
        free = np.logical_or.reduceat((on > 0) & (on < q.upper), q.segments[:-1])
        there = self.run.solve(q, np.where(np.repeat(free, size), out["alpha"], on), tol=self.finest)
        t = low["rho"] / (low["rho"] - high["rho"])
        between = low["r"] + t * (high["r"] - low["r"])
        excess = there["gradient"] - np.repeat(between, size)
        above, below = excess[there["alpha"] > 0], -excess[there["alpha"] < q.upper]
        violation = max(above.max(initial=0.0), 0.0) + max(below.max(initial=0.0), 0.0)
        if violation >= out["violation"] + abs(rho):
            return out, r, rho
        return there | {"violation": violation}, between, 0.0

    def between_floats(self, out: Out, low: Out, high: Out) -> tuple[Out, np.ndarray, float]:
        """Multipliers with rho = 0 where the floats lam have none: the logits of a nearly full class jump there.

        Each alpha takes the logit that the multipliers between those of the two sides ask for, as far as that is no
        further away than lam is known; beyond, it is a violation. The solution stays `out` where another would be no
        better.
        """
        q, t = self.q, low["rho"] / (low["rho"] - high["rho"])
        between = low["r"] + t * (high["r"] - low["r"])
        asked = np.repeat(between, np.diff(q.segments)) - out["gradient"]
        alpha = q.upper * expit(asked)
        near = np.abs(alpha - out["alpha"]) <= FINEST_ROOT * q.upper
        alpha = np.where(near, alpha, out["alpha"])
        off = np.where(near, 0.0, np.abs(logit(out["alpha"] / q.upper) - asked))
        violation = max(out["violation"], float(off.max(initial=0.0)))
        if violation >= out["violation"] + abs(out["rho"]):
            return out, out["r"], out["rho"]
        return out | {"alpha": alpha, "violation": violation}, between, 0.0

    def ended(self, out: Out, r: np.ndarray, rho: float) -> Out:
        q, b = self.q, rho - r
        s = out["gradient"] + q.linear - q.ridge * out["alpha"]
        primal, dual = objectives(q, out["alpha"], s, b)
        good = out["violation"] + abs(rho) <= self.run.limits.tol
        if out["status"] == "solved" and not good:
            out["status"] = "stalled"
        elif good and out["status"] in ("max_iter", "time_limit"):  # a limit ended the search for a better root
            out["status"] = "solved"
        return out | {"b": b, "rho": 1.0, "primal": primal, "dual": dual, "extra": rho}


def objectives(q: Qp, a: np.ndarray, s: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Primal at w, b and dual at a in the C form; s are the scores of the own class against the mean, without b."""
    short = q.linear - s - np.repeat(b, np.diff(q.segments))
    if q.entropy:
        loss = q.upper @ np.logaddexp(0, short)
        inside = (a > 0) & (a < q.upper)
        p = a[inside] / q.upper[inside]
        entropy = q.upper[inside] @ (p * np.log(p) + (1 - p) * np.log1p(-p))
    else:
        short, entropy = np.maximum(short, 0), 0.0
        loss = q.upper @ short if np.all(np.isfinite(q.upper)) else 0.5 * np.sum(short**2 / q.ridge)
    return float(0.5 * a @ s + loss), float(q.linear @ a - 0.5 * a @ (s + q.ridge * a) - entropy)
