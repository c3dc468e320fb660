"""Minimize a radius-margin criterion over ln C and ln gamma.

The logarithm of the criterion, plus penalty sum_t (v_t - mean v)^2 over v_t = ln gamma_t, goes to L-BFGS-B with both
stopping rules of the paper: a relative change of the criterion of at most `tol` in an iteration, or more than ten
evaluations in one. A long step early on can end on a plateau, so the optimizer works inside a box and starts again
where it meets its wall.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..fitting.callbacks import Parts
from ..fitting.progress import Shown
from .criteria import Criterion
from .grid_run import short

REACH = 14.0  # ln C and ln gamma stay this close to 0 and to the starting point: a factor of a million
STRIDE = 4.0  # and this close to the point where the optimizer was started last: the criteria have plateaus
MAX_LINE_SEARCH = 10


@dataclass
class Minimum:
    """The best point, the criterion there, every evaluation, why the search ended, and the penalized logarithm."""

    point: np.ndarray
    value: float
    path: list[dict]
    status: str = "max_iter"
    least: float = np.inf


class SearchEnded(Exception):
    """Ends the optimizer from inside an evaluation."""


@dataclass(frozen=True)
class Rules:
    """When a descent ends, the weight of the penalty, how much it shows, and the callbacks that are `told` of it."""

    tol: float
    max_iter: int
    penalty: float = 0.0
    verbose: int = 0
    told: Parts | None = None


class Descent:
    """One run of the optimizer from a point, and what it has found so far."""

    def __init__(self, criterion: Criterion, start: np.ndarray, rules: Rules, path: list[dict]) -> None:
        self.criterion, self.rules = criterion, rules
        self.begin, self.before = time.monotonic(), path[-1]["seconds"] if path else 0.0
        self.found = Minimum(start, np.nan, list(path))
        self.iteration, self.in_iteration = path[-1]["iteration"] if path else 0, 0
        self.last: float | None = None  # value after the iteration before
        origin = np.concatenate([[0.0], start[1:]])
        self.low, self.high = np.minimum(origin - REACH, start), np.maximum(origin + REACH, start)

    def run(self) -> Minimum:
        found, rules, end = self.found, self.rules, self.iteration + self.rules.max_iter
        with Shown("RadiusMarginSearch", rules.verbose, total=None) as self.shown:
            try:
                while self.iteration < end:
                    center, reached, found.status = found.point, found.least, "max_iter"
                    self.minimize_near(center, end - self.iteration)
                    inside = (found.point > self.low) & (found.point < self.high)
                    at_edge = (np.abs(found.point - center) > STRIDE - 1e-3) & inside
                    if found.status == "solved" and not (at_edge.any() and found.least < reached - rules.tol):
                        break
            except SearchEnded:
                pass
            except KeyboardInterrupt:
                found.status = "interrupted"
        return found

    def minimize_near(self, center: np.ndarray, n_iter: int) -> None:
        self.last = None
        low, high = np.maximum(self.low, center - STRIDE), np.minimum(self.high, center + STRIDE)
        result = minimize(
            self.evaluate, center, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
            callback=self.after_iteration,
            options=dict(maxiter=n_iter, maxfun=10**9, ftol=0.0, gtol=1e-8, maxcor=20, maxls=MAX_LINE_SEARCH),
        )  # fmt: skip
        if result.status != 1:  # no descent left, which the second rule asks for, or no gradient
            self.found.status = "solved"

    def evaluate(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The penalized logarithm of the criterion and its gradient."""
        found, penalty = self.found, self.rules.penalty
        C, gamma = self.criterion.parameters(point)
        value, gradient = self.criterion(C, gamma)
        if self.criterion.status in ("interrupted", "time_limit"):
            found.status = self.criterion.status
            raise SearchEnded
        away = point[1:] - point[1:].mean()
        f, slope = np.log(value) + penalty * (away @ away), gradient / value
        slope[1:] += 2 * penalty * away
        step = dict(value=value, grad_norm=float(np.linalg.norm(gradient)), params=dict(C=C, gamma=gamma))
        seconds = self.before + time.monotonic() - self.begin
        found.path.append(step | dict(seconds=seconds, iteration=self.iteration))
        if f < found.least:
            found.least, found.point, found.value = f, point.copy(), value
        text = f"evaluation {len(found.path)}  criterion {value:.6g}  C {C:.4g}  gamma {short(gamma)}"
        self.shown(text, seconds)
        if self.rules.told and self.rules.told("evaluation"):
            found.status = "interrupted"
            raise SearchEnded
        self.in_iteration += 1
        if self.in_iteration > MAX_LINE_SEARCH + 1:
            found.status = "solved"
            raise SearchEnded
        return f, slope

    def after_iteration(self, intermediate_result: Any) -> None:
        self.iteration, self.in_iteration = self.iteration + 1, 0
        self.found.path[-1]["iteration"] = self.iteration
        before, self.last = self.last, intermediate_result.fun
        if before is not None and abs(self.last - before) <= self.rules.tol:
            self.found.status = "solved"
            raise StopIteration


def descend(criterion: Criterion, start: np.ndarray, rules: Rules, path: list[dict]) -> Minimum:
    """Minimize from `start`; `path` holds the evaluations of a search that this one continues."""
    return Descent(criterion, start, rules, path).run()


def descend_from(
    criterion: Criterion, starts: list[np.ndarray], rules: Rules, earlier: Minimum | None, path: list[dict]
) -> tuple[Minimum, list[np.ndarray], Minimum | None]:
    """Minimize from each point in turn; the best wins, also against `earlier`, that of points before them.

    Returns the minimum, and the `starts` and `earlier` with which a search that was stopped continues.
    """
    best: Minimum | Any = earlier
    for k, start in enumerate(starts):
        found = descend(criterion, start, rules, path)
        path, before = found.path, best
        best = found if best is None or found.least < best.least else best
        if found.status in ("interrupted", "time_limit"):
            return replace(best, path=path, status=found.status), [found.point, *starts[k + 1 :]], before
    return replace(best, path=path), [best.point], None


def starting_points(C: float, gamma: Any, size: int, n: int) -> list[np.ndarray]:
    """ln C and `size` times ln gamma; further ones have larger gammas: with one per feature there are local minima."""
    if not np.isfinite(C):
        raise ValueError(f"expected the C of the estimator, where the search begins, to be finite, got {C}")
    gamma = np.maximum(np.broadcast_to(np.asarray(gamma, dtype=np.float64), size), np.finfo(float).tiny)
    start, larger = np.log(np.concatenate([[C], gamma])), np.r_[0.0, np.full(size, np.log(4.0))]
    return [start + k * larger for k in range(n)]
