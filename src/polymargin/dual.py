"""From a row of the table of machines to a quadratic program, and from its solution to a certified model.

    min  1/2 a'Qa - g'a + sum_i phi_i(a_i)     Q[i, j] = M(y_i, y_j) (k(x_i, x_j) + b0) + [i == j] r_i     0 <= a <= u

in the C form without further constraints, in the nu form with the sum of a fixed (T in all, or pi_c T in every class c
where the machine has an exact intercept). Inside this module the variables are sorted by class.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from . import _core
from .certificates import relative_gap, squares
from .kernels import as_data, float32_error, is_far
from .machines import LOSSES, Loss, Machine
from .runs import Run
from .starting_points import start, start_with_sums

SMALL = 2048  # up to this many rows kernel values are float64: they are cheap, and the smallest fits are exact
FLOAT32_TOL = 1e-5  # float32 rows cannot serve a smaller tolerance
MAX_ROOT_STEPS = 60
BLOCK = 4096  # rows of which a copy is made at a time


@dataclass
class Solution:
    """What a fit returns: the dual variables in the caller's row order, the model's constants, and how it went.

    A machine with margins per class has coefficients ``B`` of shape (n_classes, n), and alpha is the largest variable
    of each row; one trained in weight space has its ``weights`` (n_classes, n_features) as well.
    """

    alpha: np.ndarray
    intercept: np.ndarray
    rho: float
    status: str
    signalled: bool
    n_iter: int
    primal_objective: float
    dual_objective: float
    kkt_violation: float
    n_kernel_evals: int
    seconds: float
    B: np.ndarray | None = None
    weights: np.ndarray | None = None
    centered: bool = False  # the rows were, so that rounding was relative to their spread

    @property
    def duality_gap(self) -> float:
        """(primal - dual) / max(|primal|, |dual|)."""
        return relative_gap(self.primal_objective, self.dual_objective)


@dataclass
class _Qp:
    """g, u, r, and the sums that the variables of each group must have (None: no constraint)."""

    linear: np.ndarray
    upper: np.ndarray
    ridge: np.ndarray
    segments: np.ndarray
    entropy: bool
    sum: str = "none"
    sums: np.ndarray | None = None

    @property
    def groups(self) -> np.ndarray:
        return self.segments if self.sum == "per_class" else self.segments[[0, -1]]


def solve(
    machine: Machine,
    X,
    rows: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    kernel: dict,
    *,
    loss: str,
    C: float,
    nu: float | None,
    intercept: str,
    priors: np.ndarray | None,
    weight: np.ndarray,
    tol: float,
    max_iter: int,
    time_limit: float | None,
    memory: float,
    threads: int,
    alpha0: np.ndarray | None = None,
    progress: Callable | None = None,
) -> Solution:
    """Train a machine with one variable per example on ``X[rows]`` with class indices ``y`` and positive weights."""
    began = time.monotonic()
    T, order = n_classes, np.argsort(y, kind="stable")
    segments = np.concatenate([[0], np.cumsum(np.bincount(y, minlength=T))]).astype(np.int64)
    same, other = machine.label_kernel(T)
    form, weight = LOSSES[loss], weight[order]
    strength = (C if nu is None else T / (nu * weight.sum())) * weight
    if intercept == "regularised":
        kernel = {**kernel, "offset": 1.0}
    # Equal class sums: the coefficients of w_c - wbar sum to zero, and no score notices that all rows are moved.
    equal = intercept == "exact" and np.ptp(_shares(priors, T)) == 0
    kernel = {**kernel, "centered": bool(equal and kernel["kind"] == "linear" and is_far(X, rows))}
    k = squares(X, rows, kernel)
    largest = 0.0 if k is None or kernel["centered"] else same * float(k.max(initial=0.0))
    problem = _qp(form, strength, segments, target=form.target if nu is None else 0.0)
    if nu is not None:
        _check_nu(nu, intercept, priors, weight, segments, form)

    def attempt(dtype: str, begin: np.ndarray | None) -> tuple[Run, dict]:
        core = _core.DualSolver(
            as_data(X), kernel, np.ascontiguousarray(rows[order], dtype=np.int64), segments, same, other, dtype,
            float(memory), int(threads),
        )  # fmt: skip
        deadline = began + (np.inf if time_limit is None else time_limit)
        run = Run(core, tol, nu is not None and not form.entropy, max_iter, deadline, progress, largest)
        if nu is None and intercept != "exact":
            out = run.solve(problem, start(problem, begin))
            return run, out | {"b": np.zeros(T), "rho": 1.0, "extra": 0.0}
        if nu is not None:
            return run, _nu_form(run, problem, begin, T, _shares(priors, T) if intercept == "exact" else None)
        return run, _exact_c_form(run, problem, begin, T, _shares(priors, T))

    begin = None if alpha0 is None else np.asarray(alpha0, dtype=np.float64)[order]
    dtype = value_type(X, rows, kernel, strength, tol)
    run, out = attempt(dtype, begin)
    if out["status"] == "stalled" and dtype == "float32":
        run, out = attempt("float64", out["alpha"])
    if out["status"] == "no_margin" and nu is None:
        out["status"] = "stalled"
    alpha = np.empty(len(rows))
    alpha[order] = out["alpha"]
    b = out["b"]
    if kernel["centered"]:
        b = b - _moved_back(X, rows[order], segments, out["alpha"], run.core.center)
    if intercept == "regularised":
        b = np.add.reduceat(out["alpha"], segments[:-1])
    return Solution(
        alpha=alpha, intercept=b, rho=out["rho"], status=out["status"], signalled=run.signalled, n_iter=run.n_iter,
        primal_objective=out["primal"], dual_objective=out["dual"], kkt_violation=out["violation"] + abs(out["extra"]),
        n_kernel_evals=int(run.core.evaluations), seconds=time.monotonic() - began, centered=kernel["centered"],
    )  # fmt: skip


def value_type(X, rows: np.ndarray, kernel: dict, strength: np.ndarray, tol: float, small: int = SMALL) -> str:
    """Type of the kernel values: float64 for up to `small` rows.

    A variable may be as large as its strength; times the error of a float32 value this must stay below the tolerance.
    """
    precise = len(rows) <= small or tol < FLOAT32_TOL or float32_error(X, rows, kernel) * strength.max() > tol
    return "float64" if precise else "float32"


def _qp(form: Loss, strength: np.ndarray, segments: np.ndarray, target: float) -> _Qp:
    n = len(strength)
    return _Qp(
        linear=np.full(n, target),
        upper=strength.copy() if form.box else np.full(n, np.inf),
        ridge=1 / strength if form.ridge else np.zeros(n),
        segments=segments,
        entropy=form.entropy,
    )


def _shares(priors: np.ndarray | None, T: int) -> np.ndarray:
    return np.full(T, 1 / T) if priors is None else np.asarray(priors, dtype=np.float64)


def _check_nu(nu, intercept, priors, weight, segments, form: Loss) -> None:
    """Is there a point inside the box with these sums? An infinite box always has one."""
    if not form.box:
        return
    highest = 1.0
    if intercept == "exact":
        share = np.add.reduceat(weight, segments[:-1]) / weight.sum()
        highest = float(np.min(share / _shares(priors, len(share))))
    if nu > highest * (1 + 1e-12) or (form.entropy and nu >= highest):
        edge = "below" if form.entropy else "at most"
        cause = " (T times the share of the smallest class)" if intercept == "exact" and priors is None else ""
        raise ValueError(
            f"nu={nu:g} is infeasible for these data: expected 0 < nu and {edge} {highest:.6g}{cause}. "
            "Lower nu, or use the C form (nu=None)."
        )


# --- the forms with sum constraints ---


def _nu_form(run: Run, q: _Qp, begin, T: int, shares: np.ndarray | None) -> dict:
    """sum a = T, or pi_c T in every class; the multipliers are rho, or r_c = rho - b_c with sum_c pi_c b_c = 0."""
    cap = np.where(np.isfinite(q.upper), q.upper, np.divide(1, q.ridge, out=np.ones_like(q.ridge), where=q.ridge > 0))
    if shares is None:
        q = replace(q, sum="total", sums=np.array([float(T)]))
    else:
        q = replace(q, sum="per_class", sums=shares * T)
    if not np.all(np.isfinite(q.upper)):
        # An infinite box takes any sum: let one row in each group hold what is missing.
        cap = np.maximum(cap, np.repeat(q.sums, np.diff(q.groups)))
    out = run.solve(q, start_with_sums(q, begin, cap))
    r = np.asarray(out["multiplier"])
    rho = float(r[0]) if shares is None else float(shares @ r)
    b = np.zeros(T) if shares is None else rho - r
    if run.relative:  # the violation in the unit of tol; there is none where the margin is no larger than rounding
        if out["status"] == "solved" and not (rho > 0 and out["violation"] <= run.tol * rho):
            out["status"] = "stalled" if np.any(q.ridge) else "no_margin"  # a ridge leaves a margin, but for rounding
        elif rho > 0:
            out["violation"] /= rho
    return out | {"rho": rho, "b": b, "extra": 0.0}


def _moved_back(X, rows: np.ndarray, segments: np.ndarray, a: np.ndarray, center: np.ndarray) -> np.ndarray:
    """<w_c - wbar, center>: what the scores of the rows as they are have more than those of the centered rows.

    The coefficients of w_c - wbar sum to zero but for rounding, which counts as well: the rows may be far away.
    """
    W = np.zeros((len(segments) - 1, len(center)))
    label = np.repeat(np.arange(len(W)), np.diff(segments))
    used = np.flatnonzero(a)
    for some in np.split(used, range(BLOCK, len(used), BLOCK)):
        places = (label[some], np.arange(len(some)))
        W += sp.csr_array((a[some], places), shape=(len(W), len(some))) @ (X[rows[some]] - center)
    usual = math.fsum(a) / len(W)
    W += np.multiply.outer([math.fsum((*part, -usual)) for part in np.split(a, segments[1:-1])], center)
    return (W - W.mean(axis=0)) @ center


def _exact_c_form(run: Run, q: _Qp, begin, T: int, shares: np.ndarray) -> dict:
    """The C form with class biases: every class sum is lam pi_c T with lam free, and sum_c pi_c r_c = 0 at the end.

    The squared hinge is homogeneous: solve once with lam = 1 and no target, then scale so that rho becomes 1. For the
    others lam is the root of the increasing function rho(lam) = sum_c pi_c r_c(lam), each point solved from the last.
    """
    if not np.all(np.isfinite(q.upper)):
        run.relative = True
        flat = replace(q, linear=np.zeros_like(q.linear))
        out = _nu_form(run, flat, begin, T, shares)
        if out["rho"] <= 0:
            return out
        scale = 1 / out["rho"]
        alpha, s = out["alpha"] * scale, (out["gradient"] - q.ridge * out["alpha"]) * scale
        b = out["b"] * scale
        primal, dual = _objectives(q, alpha, s, b)
        return out | {"alpha": alpha, "b": b, "rho": 1.0, "primal": primal, "dual": dual}

    q = replace(q, sum="per_class")
    room = np.add.reduceat(q.upper, q.segments[:-1])
    ceiling = float(np.min(room / (shares * T)))
    # At the ceiling some class is full and its multiplier may rise without end.
    most = ceiling * (1 - 1e-9) if q.entropy else ceiling
    goal = 1e-12 if len(q.upper) <= 256 else 0.5 * run.tol
    finest = 0.25 * run.tol

    def at(lam: float, begin, last: float) -> dict:
        """The optimum for class sums lam pi_c T, exact enough for the sign of rho to be certain."""
        q.sums = lam * shares * T
        tol = max(finest, 0.05 * abs(last))
        while True:
            out = run.solve(q, start_with_sums(q, begin, q.upper), tol=tol)
            r = np.asarray(out["multiplier"])
            out |= {"lam": lam, "r": r, "rho": float(shares @ r)}
            if out["status"] != "solved" or tol <= finest or abs(out["rho"]) > 3 * tol:
                return out
            begin, tol = out["alpha"], max(finest, min(0.2 * tol, 0.2 * abs(out["rho"])))

    free = run.solve(replace(q, sum="none"), start(q, begin), tol=max(run.tol, 0.1))
    guess = np.add.reduceat(free["alpha"], q.segments[:-1]) @ shares
    out = at(min(max(guess, 1e-3 * most), (0.999 if q.entropy else 1.0) * most), free["alpha"], 1.0)
    low = high = None  # (lam, rho) on either side of the root
    stride, last_side, ends = 0.01, 0, {}
    for _ in range(MAX_ROOT_STEPS):
        lam, rho = out["lam"], out["rho"]
        if out["status"] != "solved" or abs(rho) <= goal or (rho < 0 and lam >= most):
            break
        side = 1 if rho > 0 else -1
        ends[side] = out
        if side > 0:
            high = (lam, rho)
            low = (low[0], 0.5 * low[1]) if low and last_side == side else low
        else:
            low = (lam, rho)
            high = (high[0], 0.5 * high[1]) if high and last_side == side else high  # Illinois: no end rests for ever
        last_side = side
        if low and high:
            if high[0] - low[0] <= 1e-14 * high[0]:
                break
            lam = (low[0] * high[1] - high[0] * low[1]) / (high[1] - low[1])
        else:
            lam = min(lam * (1 - side * stride), most)
            stride = min(2 * stride, 0.5)
        out = at(lam, out["alpha"], rho)

    if out["status"] == "solved" and out["violation"] > finest:  # enough for a sign, not for the answer
        out = at(out["lam"], out["alpha"], 0.0)
    r, rho = out["r"].copy(), out["rho"]
    if rho < 0 and out["lam"] >= most:
        full = room <= out["lam"] * shares * T * (1 + 1e-8)
        r[full] -= rho / shares[full].sum()
        rho = 0.0
    elif abs(rho) > goal and len(ends) == 2 and not q.entropy:
        low, high = (at(end["lam"], end["alpha"], 0.0) for end in (ends[-1], ends[1]))
        out, r, rho = _at_the_jump(run, q, out, low, high)
    b = rho - r
    s = out["gradient"] + q.linear - q.ridge * out["alpha"]
    primal, dual = _objectives(q, out["alpha"], s, b)
    good = out["violation"] + abs(rho) <= run.tol
    if out["status"] == "solved" and not good:
        out["status"] = "stalled"
    elif good and out["status"] in ("max_iter", "time_limit"):  # a limit ended the search for a better root
        out["status"] = "solved"
    return out | {"b": b, "rho": 1.0, "primal": primal, "dual": dual, "extra": rho}


def _at_the_jump(run: Run, q: _Qp, out: dict, low: dict, high: dict) -> tuple[dict, np.ndarray, float]:
    """Multipliers with rho = 0 where rho(lam) jumps over it: a class without a free row leaves its own an interval.

    The two ends of the intervals are the multipliers on either side. The last lam is the place of the jump but for
    rounding, which leaves one row of such a class just off its bound: a free row, with a gradient far from its
    multiplier. The row belongs on the bound. The solution stays `out` where another would be no better.
    """
    r, rho = out["r"], out["rho"]
    if not low["rho"] < 0 < high["rho"]:
        return out, r, rho
    size, near = np.diff(q.segments), 1e-9 * q.upper
    on = np.where(out["alpha"] < near, 0.0, np.where(out["alpha"] > q.upper - near, q.upper, out["alpha"]))
    free = np.logical_or.reduceat((on > 0) & (on < q.upper), q.segments[:-1])
    there = run.solve(q, np.where(np.repeat(free, size), out["alpha"], on), tol=0.25 * run.tol)
    t = low["rho"] / (low["rho"] - high["rho"])
    between = low["r"] + t * (high["r"] - low["r"])
    excess = there["gradient"] - np.repeat(between, size)
    above, below = excess[there["alpha"] > 0], -excess[there["alpha"] < q.upper]
    violation = max(above.max(initial=0.0), 0.0) + max(below.max(initial=0.0), 0.0)
    if violation >= out["violation"] + abs(rho):
        return out, r, rho
    return there | {"violation": violation}, between, 0.0


def _objectives(q: _Qp, a: np.ndarray, s: np.ndarray, b: np.ndarray) -> tuple[float, float]:
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
