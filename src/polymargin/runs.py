"""The compiled solver of a problem, run within what is left of the caller's limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .certificates import EPS

NO_MARGIN = 1e-6  # of the largest Q[i, i]
TRIES = 2  # gradients that are made anew where rounding is large


@dataclass
class Run:
    """One compiled solver with its kernel rows, and what is left of the caller's limits."""

    core: object
    tol: float
    relative: bool
    max_iter: int
    deadline: float
    progress: Callable | None
    largest: float = 0.0  # Q[i, i], where kernel values have no bound
    n_iter: int = 0
    signalled: bool = False
    stopped: str | None = None  # why an earlier solve ended before its time: nothing more is to be done

    def solve(self, q: Any, alpha: np.ndarray, *, tol: float | None = None) -> dict:
        """Minimise a `dual._Qp`, from alpha.

        Where rounding is large, and it may have been larger on the way than it is at the end, "solved" is said only
        if a gradient that is made anew says so, too.
        """
        tol = self.tol if tol is None else tol
        problem = dict(linear=q.linear, upper=q.upper, ridge=q.ridge, sum=q.sum, entropy=q.entropy)
        problem |= dict(tol=tol, relative=self.relative)
        out = self.call(**problem, alpha=alpha)
        for _ in range(TRIES):
            if out["status"] != "solved" or self.error(q) <= tol * self.unit(out):
                return out
            left = max(self.left(), 1.0)
            fresh = self.core.solve(**problem, alpha=out["alpha"], max_iter=0, time_limit=left, stop=None)
            out |= {name: fresh[name] for name in ("gradient", "multiplier", "primal", "dual", "violation")}
            if out["violation"] <= tol * self.unit(out):
                return out
            out = self.call(**problem, alpha=out["alpha"])
        return out | {"status": "stalled"} if out["status"] == "solved" else out

    def unit(self, out: dict) -> float:
        """What the tolerance is relative to: the margin, or the smallest one that the core knows."""
        return max(float(np.mean(out["multiplier"])), NO_MARGIN * self.largest) if self.relative else 1.0

    def error(self, q: Any) -> float:
        """Of a score, by rounding, anywhere in the feasible set; the squared hinge's variables are up to 1 / ridge."""
        reach = np.where(np.isfinite(q.upper), q.upper, 1 / np.maximum(q.ridge, 1e-300))
        if q.sums is not None:
            reach = np.minimum(reach, q.sums.max())
        return EPS * self.largest * float(np.linalg.norm(reach)) if self.largest else 0.0

    def left(self) -> float:
        """Seconds to the deadline."""
        return max(self.deadline - time.monotonic(), 0.0)

    def call(self, **problem) -> dict:
        """One solve of the core, within what is left of the limits."""
        out = self.core.solve(
            **problem,
            max_iter=max(self.max_iter - self.n_iter, 0),
            time_limit=0.0 if self.stopped else self.left(),
            stop=self._report(),
        )
        self.n_iter += out["n_iter"]
        self.signalled |= out["signalled"]
        if out["status"] not in ("solved", "stalled"):
            self.stopped = self.stopped or out["status"]
            out["status"] = self.stopped
        return out

    def _report(self) -> Callable | None:
        if self.progress is None:
            return None
        begun = self.n_iter

        def report(n_iter: int, violation: float, dual: float, seconds: float) -> bool:
            event = {"n_iter": begun + n_iter, "violation": violation, "dual": dual, "seconds": seconds}
            return bool(self.progress(event))

        return report
