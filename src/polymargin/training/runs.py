"""The compiled solver of a problem, run within what is left of the caller's limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..fitting.examples import Examples
from ..fitting.limits import Limits
from ..kernels import float32_errors
from .certificates import EPS, MOST_ROUNDING

Out = dict[str, Any]  # what a compiled solver returns, by name

NO_MARGIN = 1e-6  # of the largest Q[i, i]
TRIES = 2  # gradients recomputed where rounding is large
FLOAT64_ROWS = 2048  # up to this many rows kernel values are float64: they are cheap, and the smallest fits are exact
HEAVY = 0.01  # share of the rows that may have larger errors than the tolerance
FLOAT32_TOL = 1e-5  # float32 rows cannot serve a smaller tolerance


@dataclass(frozen=True)
class Values:
    """Type of the kernel values; the error of a score whose coefficients have norm 1, in units of the tolerance.

    That is where coefficients are at the rows whose values have the largest errors. ``share`` is what the error of each
    row is of those.
    """

    dtype: str
    error: float = 0.0
    share: np.ndarray = field(default_factory=lambda: np.zeros(0))


def value_type(examples: Examples, strength: np.ndarray, tol: float, few: int = FLOAT64_ROWS) -> Values:
    """float64 for up to `few` rows.

    A variable may be as large as its strength; times the error of a float32 value this must stay below the tolerance.
    A few rows may be heavy, as those that many equal ones were merged into: whether they have such variables shows
    when they are solved for (`in_precision`).
    """
    e = examples
    if len(e) <= few or tol < FLOAT32_TOL:
        return Values("float64")
    errors = float32_errors(e.X, e.rows, e.kernel)
    largest = max(float(errors.max()), 1e-300)
    if np.quantile(errors * strength, 1 - HEAVY) > tol:
        return Values("float64")
    return Values("float32", largest / tol, errors / largest)


def scrutiny(slopes: Any, size: Any, tol: float, squared: bool) -> Any:
    """How much less than the tolerance of a score the losses allow: where C is large, errors of a thousandth, times C,
    may be more than a thousandth of the primal value. `slopes` is the sum of the factors of the losses that count."""
    share = slopes / np.maximum(size, 1e-300)
    return np.maximum(tol * (np.sqrt(2 * share) if squared else share) / MOST_ROUNDING, 1.0)


def better(first: Out, later: Out) -> Out:
    """What was found `later`, unless a limit left that no time."""
    if later["status"] in ("solved", "stalled") or later["dual"] >= first["dual"]:
        return later
    return first | {"status": later["status"]}


def in_precision(
    attempt: Callable[[str, Any], Out],
    values: Values,
    begin: Any,
    point: Callable[[Out], Any],
    norm: Callable[[Out], float],
    join: Callable[[Out, Out], Out] = better,
) -> Out:
    """What `attempt(dtype, begin)` finds; float64 values go on from its `point` where float32 ones do not serve.

    They stall, or hide from the solver more of a score than the tolerance: errors of values are independent, so that
    they add up to one times the `norm` of the coefficients, which counts by the `scrutiny` of their losses.
    """
    out = attempt(values.dtype, begin)
    if values.dtype == "float64":
        return out
    hidden = out["status"] == "solved" and values.error * norm(out) > 1
    if not (hidden or out["status"] == "stalled"):
        return out
    return join(out, attempt("float64", point(out)))


@dataclass
class Run:
    """A compiled solver with its kernel rows, one at a time, and what is left of the caller's limits."""

    limits: Limits
    relative: bool = False
    largest: float = 0.0  # Q[i, i], where kernel values have no bound
    least_margin: float = 0.0  # a smaller rho is no more than rounding
    core: Any = None
    earlier: int = 0  # kernel values of solvers before this one
    n_iter: int = 0
    signalled: bool = False
    stopped: str | None = None  # why an earlier solve ended before its time: nothing more is to be done

    def use(self, make: Callable[[], Any]) -> Any:
        """Another solver, for which the kernel rows of the last one make room."""
        self.earlier, self.core = self.evaluations, None
        self.core = make()
        return self.core

    @property
    def evaluations(self) -> int:
        """Kernel values that were computed."""
        return self.earlier + (0 if self.core is None else int(self.core.evaluations))

    def solve(self, q: Any, alpha: np.ndarray, *, tol: float | None = None, gap: float | None = None) -> Out:
        """Minimize a `dual._Qp`, from alpha.

        Where rounding is large, and it may have been larger on the way than it is at the end, "solved" is said only
        if a recomputed gradient says so, too.
        """
        tol = self.limits.tol if tol is None else tol
        problem = dict(linear=q.linear, upper=q.upper, ridge=q.ridge, sum=q.sum, entropy=q.entropy)
        problem |= dict(lower=q.lower, tol=tol, relative=self.relative)
        problem |= {} if gap is None else {"gap": gap}  # the largest that is accepted
        out = self.call(**problem, alpha=alpha)
        for _ in range(TRIES):
            if out["status"] != "solved" or self.error(q) <= tol * self.unit(out):
                return out
            out |= self.recomputed(**problem, alpha=out["alpha"])
            if out["violation"] <= tol * self.unit(out):
                return out
            out = self.call(**problem, alpha=out["alpha"])
        return out | {"status": "stalled"} if out["status"] == "solved" else out

    def recomputed(self, **problem: Any) -> Out:
        """What a point proves by scores computed anew: every step has added its rounding to those of a solver."""
        fresh = self.core.solve(**problem, max_iter=0, time_limit=max(self.limits.left(), 1.0), stop=None)
        return {name: fresh[name] for name in ("gradient", "multiplier", "primal", "dual", "violation")}

    def unit(self, out: Out) -> float:
        """What the tolerance is relative to: the margin, or the smallest one that the core knows."""
        return max(float(np.mean(out["multiplier"])), NO_MARGIN * self.largest) if self.relative else 1.0

    def error(self, q: Any) -> float:
        """Of a score, by rounding, anywhere in the feasible set; the squared hinge's variables are up to 1 / ridge."""
        reach = q.upper if q.lower is None else np.maximum(q.upper, -q.lower)
        reach = np.where(np.isfinite(reach), reach, 1 / np.maximum(q.ridge, 1e-300))
        if q.sums is not None:
            reach = np.minimum(reach, q.sums.max())
        return EPS * self.largest * float(np.linalg.norm(reach)) if self.largest else 0.0

    def call(self, **problem: Any) -> Out:
        """One solve of the core, within what is left of the limits."""
        out = self.core.solve(
            **problem,
            max_iter=max(self.limits.max_iter - self.n_iter, 0),
            time_limit=0.0 if self.stopped else self.limits.left(),
            stop=self._report(),
        )
        self.n_iter += out["n_iter"]
        self.signalled |= out["signalled"]
        if out["status"] not in ("solved", "stalled"):
            self.stopped = self.stopped or out["status"]
            out["status"] = self.stopped
        return out

    def _report(self) -> Callable[[int, float, float, float], bool] | None:
        progress, begun = self.limits.progress, self.n_iter
        if progress is None:
            return None

        def report(n_iter: int, violation: float, dual: float, seconds: float) -> bool:
            event = {"n_iter": begun + n_iter, "violation": violation, "dual": dual, "seconds": seconds}
            return bool(progress(event))

        return report
