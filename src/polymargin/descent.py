"""Minimise a radius-margin criterion over ln C and ln gamma.

The logarithm of the criterion, plus penalty sum_t (v_t - mean v)^2 over v_t = ln gamma_t, goes to L-BFGS-B with both
stopping rules of the paper: a relative change of the criterion of at most `tol` in an iteration, or more than ten
evaluations in one. A long step early on can end on a plateau, so the optimiser works inside a box and starts again
where it meets its wall.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .criteria import Criterion
from .progress import rich_bar, say

REACH = 14.0  # ln C and ln gamma stay this close to 0 and to the starting point: a factor of a million
STRIDE = 4.0  # and this close to the point where the optimiser was started last: the criteria have plateaus
MAX_LINE_SEARCH = 10


@dataclass
class Found:
    """The best point, the criterion there, every evaluation, why the search ended, and the penalised logarithm."""

    point: np.ndarray
    value: float
    path: list[dict]
    status: str = "max_iter"
    least: float = np.inf


class Ended(Exception):
    """Ends the optimiser from inside an evaluation."""


def descend(
    criterion: Criterion,
    start: np.ndarray,
    *,
    penalty: float,
    tol: float,
    max_iter: int,
    verbose: int,
    path: list[dict],
) -> Found:
    """Minimise from `start`; `path` holds the evaluations of a search that this one goes on with."""
    begin, before = time.monotonic(), path[-1]["seconds"] if path else 0.0
    found = Found(start, np.nan, list(path))
    best, last = np.inf, None
    iteration, in_iteration = path[-1]["iteration"] if path else 0, 0

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, in_iteration
        C, gamma = criterion.parameters(point)
        value, gradient = criterion(C, gamma)
        if criterion.status in ("interrupted", "time_limit"):
            found.status = criterion.status
            raise Ended
        away = point[1:] - point[1:].mean()
        f, slope = np.log(value) + penalty * (away @ away), gradient / value
        slope[1:] += 2 * penalty * away
        seconds, norm = before + time.monotonic() - begin, float(np.linalg.norm(gradient))
        found.path.append(
            dict(value=value, grad_norm=norm, params=dict(C=C, gamma=gamma), seconds=seconds, iteration=iteration)
        )
        if f < best:
            found.least = best = f
            found.point, found.value = point.copy(), value
        show(found.path)
        in_iteration += 1
        if in_iteration > MAX_LINE_SEARCH + 1:
            found.status = "solved"
            raise Ended
        return f, slope

    def after_iteration(intermediate_result: Any) -> None:
        nonlocal last, iteration, in_iteration
        iteration, in_iteration = iteration + 1, 0
        found.path[-1]["iteration"] = iteration
        before, last = last, intermediate_result.fun
        if before is not None and abs(last - before) <= tol:
            found.status = "solved"
            raise StopIteration

    def minimise_near(centre: np.ndarray, n_iter: int) -> None:
        low, high = np.maximum(least, centre - STRIDE), np.minimum(most, centre + STRIDE)
        result = minimize(
            evaluate, centre, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
            callback=after_iteration,
            options=dict(maxiter=n_iter, maxfun=10**9, ftol=0.0, gtol=1e-8, maxcor=20, maxls=MAX_LINE_SEARCH),
        )  # fmt: skip
        if result.status != 1:  # no descent left, as the second rule wants it, or no gradient
            found.status = "solved"

    origin = np.concatenate([[0.0], start[1:]])
    least, most = np.minimum(origin - REACH, start), np.maximum(origin + REACH, start)
    begun = iteration
    with Shown(verbose) as show:
        try:
            while iteration < begun + max_iter:
                centre, reached, found.status = found.point, best, "max_iter"
                last = None
                minimise_near(centre, begun + max_iter - iteration)
                at_edge = (np.abs(found.point - centre) > STRIDE - 1e-3) & (found.point > least) & (found.point < most)
                if found.status == "solved" and not (at_edge.any() and best < reached - tol):
                    break
        except Ended:
            pass
        except KeyboardInterrupt:
            found.status = "interrupted"
    return found


def descend_from(
    criterion: Criterion, starts: list[np.ndarray], *, earlier: Found | None, path: list[dict], **run: Any
) -> tuple[Found, list[np.ndarray], Found | None]:
    """Minimise from each point in turn; the best counts, also against `earlier`, that of points before them.

    Returns what was found, and with which `starts` and `earlier` a search that was stopped goes on.
    """
    best = earlier
    for k, start in enumerate(starts):
        found = descend(criterion, start, path=path, **run)
        path, before = found.path, best
        best = found if best is None or found.least < best.least else best
        if found.status in ("interrupted", "time_limit"):
            return replace(best, path=path, status=found.status), [found.point, *starts[k + 1 :]], before
    return replace(best, path=path), [best.point], None


def starting_points(C: float, gamma: Any, size: int, n: int) -> list[np.ndarray]:
    """ln C and `size` times ln gamma; further ones have larger gammas: with one per feature there are local minima."""
    gamma = np.maximum(np.broadcast_to(np.asarray(gamma, dtype=np.float64), size), np.finfo(float).tiny)
    start, larger = np.log(np.concatenate([[C], gamma])), np.r_[0.0, np.full(size, np.log(4.0))]
    return [start + k * larger for k in range(n)]


class Shown:
    """What a verbose search shows: a bar with the last criterion and parameters on a terminal, else log lines."""

    def __init__(self, verbose: int) -> None:
        self.verbose, self.bar, self.last = int(verbose), None, 0.0

    def __enter__(self) -> Shown:
        if self.verbose and sys.stderr.isatty():
            self.bar = rich_bar()
        if self.bar:
            self.bar.start()
            self.task = self.bar.add_task("RadiusMarginSearch", total=None, detail="")
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar:
            self.bar.stop()

    def __call__(self, path: list[dict]) -> None:
        if not self.verbose:
            return
        now = path[-1]
        C, gamma = now["params"].values()
        width = f"gamma {gamma:.4g}" if np.ndim(gamma) == 0 else f"gamma {gamma.min():.3g} to {gamma.max():.3g}"
        text = f"evaluation {len(path)}  criterion {now['value']:.6g}  C {C:.4g}  {width}"
        if self.bar:
            self.bar.update(self.task, detail=text)
        elif self.verbose > 1 or now["seconds"] - self.last >= 5:
            self.last = now["seconds"]
            say(f"polymargin: {now['seconds']:.1f} s  {text}", self.verbose)
