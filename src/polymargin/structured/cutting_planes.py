"""Cutting planes for machines whose loss is a maximum over many outputs.

    min over w   P(w) = 1/2 |w|^2 + sum_g C_g xi_g(w),      xi_g(w) = max(0, max over the cuts of group g of b - <g, w>)

There are too many cuts to list, but an oracle finds the most violated ones at any w. For those found so far, the dual

    max over a >= 0   b'a - 1/2 |sum_k a_k g_k|^2,      the sum over the cuts of group g at most C_g

is a lower bound on the minimum, and its w = sum_k a_k g_k the next point. One group with summed cuts is the one-slack
form (Joachims, Finley and Yu 2009), a group per row the n-slack form (Tsochantaridis et al. 2005).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import _core
from ..fitting.limits import Limits
from ..training.certificates import relative_gap

UNUSED_ROUNDS = 50  # rounds after which an unused cut is dropped
ROUNDING_GAP = 1e-15  # relative gap that is rounding error
PROGRAM_STEPS = 20_000, 200_000  # of the small quadratic program in one round, and where they are too few
GAINED = 0.99  # a round must shrink the gap below this share of it, or there is no other
NEXT_GAP = 0.01  # share of the gap that a round aims to leave
POLISH = 30  # most rounds of polishing
WASTED_ROUNDS = 4  # most of these rounds that may fail to halve the gap
MOST_CUTS, NUMBERS = 1024, 1 << 22  # of one round, and in them: those of all rows and classes would fill any memory
# oracle(w) -> (xi, group, cuts): the loss of every group, the groups with a cut that is tight at w, and a function that
# gives the vectors and offsets of those of some groups
Oracle = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]]]


@dataclass
class Answer:
    w: np.ndarray
    status: str
    n_iter: int
    primal_objective: float
    dual_objective: float
    gap_path: list[float]
    n_cuts: int
    error: BaseException | None = None


@dataclass
class Cuts:
    """The cuts found so far, sorted by group, and their dual variables."""

    caps: np.ndarray
    size: int
    vectors: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = np.zeros((0, self.size))
        self.offsets, self.a, self.Q = np.zeros(0), np.zeros(0), np.zeros((0, 0))
        self.group, self.idle = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)

    @property
    def w(self) -> np.ndarray:
        return self.a @ self.vectors

    def dual(self, w: np.ndarray) -> float:
        return float(self.offsets @ self.a - 0.5 * w @ w)

    def slack(self, w: np.ndarray) -> np.ndarray:
        """xi of every group, from the cuts found so far."""
        xi = np.zeros(len(self.caps))
        np.maximum.at(xi, self.group, self.offsets - self.vectors @ w)
        return xi

    def add(self, group: np.ndarray, vectors: np.ndarray, offsets: np.ndarray) -> None:
        used = self.idle <= UNUSED_ROUNDS
        keep = np.flatnonzero(used)
        products = vectors @ self.vectors[keep].T
        Q = np.block([[self.Q[np.ix_(keep, keep)], products.T], [products, vectors @ vectors.T]])
        parts = (
            (self.vectors, vectors),
            (self.offsets, offsets),
            (self.group, group),
            (self.a, np.zeros(len(group))),
            (self.idle, np.zeros(len(group), dtype=np.int64)),
        )
        arrays = [np.concatenate((old[keep], new)) for old, new in parts]
        order = np.argsort(arrays[2], kind="stable")
        self.vectors, self.offsets, self.group, self.a, self.idle = (x[order] for x in arrays)
        self.Q = Q[np.ix_(order, order)]

    def solve(self, tol: float, steps: int) -> None:
        """The dual on these cuts. Each group gets an extra variable without a cut that takes up what its cap leaves."""
        groups, first = np.unique(self.group, return_index=True)
        m, k = len(self.group), len(groups)
        rest = np.append(first[1:], m) + np.arange(k)  # where the extra variable of each group goes: at its end
        ours = np.setdiff1d(np.arange(m + k), rest)
        caps = self.caps[groups]
        a, linear, upper, Q = np.zeros(m + k), np.zeros(m + k), np.zeros(m + k), np.zeros((m + k, m + k))
        a[ours], linear[ours], upper[ours], upper[rest] = self.a, self.offsets, self.caps[self.group], caps
        a[rest] = np.maximum(caps - np.bincount(np.searchsorted(groups, self.group), self.a, k), 0.0)
        Q[np.ix_(ours, ours)] = self.Q
        offsets = np.append(first + np.arange(k), m + k)
        self.a = _core.solve_qp(Q, linear, upper, offsets, a, tol, steps)[ours]
        self.idle = np.where(self.a > 0, 0, self.idle + 1)


def minimize(
    oracle: Oracle, size: int, caps: np.ndarray, limits: Limits, start: np.ndarray | None = None, polish: bool = False
) -> Answer:
    """Add cuts until (P(best w) - dual) / max(|P|, |dual|) <= tol. The gap never grows from one round to the next.

    The first cuts are those at `start`, by default 0. Cuts of another problem would not bound this one.

    With `polish`, until rounding leaves nothing to gain: w then depends on the problem alone, not on the path to it.
    """
    tol, goal = limits.tol, min(limits.tol, ROUNDING_GAP) if polish else limits.tol
    begin = time.monotonic()
    cuts = Cuts(np.asarray(caps, dtype=np.float64), size)
    best, best_w, lower = np.inf, np.zeros(size), 0.0  # no dual value is below that of no cuts
    path: list[float] = []
    exact, error, polished, idle = 0.1, None, 0, 0
    n_iter, steps, status = 0, PROGRAM_STEPS[0], "solved"
    try:
        while True:
            w = cuts.w if n_iter or start is None else start
            xi, group, tight = oracle(w)
            primal, dual = 0.5 * w @ w + float(cuts.caps @ xi), cuts.dual(w)
            if primal < best:
                best, best_w = primal, w
            lower = max(lower, dual)
            path.append(relative_gap(best, lower))
            n_iter += 1
            seconds = time.monotonic() - begin
            polished += path[-1] <= tol
            idle += polished > 1 and path[-1] > 0.5 * path[-2]
            if path[-1] <= goal or polished > POLISH or idle > WASTED_ROUNDS:
                break
            event = dict(n_iter=n_iter, violation=path[-1], primal=best, dual=lower, seconds=seconds)
            if n_iter >= limits.max_iter or limits.left() <= 0:
                status = "max_iter" if n_iter >= limits.max_iter else "time_limit"
                break
            if limits.progress is not None and limits.progress(event):
                status = "interrupted"
                break
            missing = xi[group] - cuts.slack(w)[group]
            new = group[missing > 1e-13 * xi[group]]
            if len(new) > (most := max(1, min(MOST_CUTS, NUMBERS // size))):
                new = np.sort(group[np.argpartition(-missing, most)[:most]])
            if len(new) == 0:  # no cut is missing: the small program is not solved well enough
                if exact < 1e-12 and path[-1] > GAINED * path[-2]:
                    if steps == PROGRAM_STEPS[1]:
                        status = "stalled"
                        break
                    steps = PROGRAM_STEPS[1]
                exact = max(1e-2 * exact, 1e-13)
            else:
                cuts.add(new, *tight(new))
            wanted = min(max(goal, NEXT_GAP * path[-1]), tol)  # cuts are still missing: more exact would be wasted
            cuts.solve(exact * wanted * max(best, 1e-300) / cuts.caps.sum(), steps)
    except KeyboardInterrupt as stop:  # the model is the best so far
        status, error = "interrupted", stop
    if path and path[-1] <= tol and status != "interrupted":
        status = "solved"
    return Answer(best_w, status, n_iter, float(best), float(lower), path, len(cuts.a), error)
