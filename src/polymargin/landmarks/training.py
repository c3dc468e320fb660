"""From rows to weights: how many landmarks, fewer rows first, then all.

A fit on many rows begins with an eighth of them, and that with an eighth of its own. Its weights are a statistical
error away from those of all rows, so the last and costly level needs few passes. The same holds for landmarks: the
first half of them, with their weights, begins a fit with all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .. import _core
from ..fitting.examples import Examples
from ..fitting.limits import Limits
from ..kernels import LINEAR, as_data
from ..training.problem import Formulation
from ..training.solve import solve
from .choice import FEWEST, POOL, Basis, Choice, candidates, marks, taken
from .newton import AGAIN, Losses, Newton, expanded, moments
from .passes import HeldRows, Strong

SMALL = 4096  # rows up to which a problem is solved exactly, by the engine of JointSVC on explicit features
STEPS = 1000  # of the engine that a pass counts for
ALL = 2048  # rows up to which all are landmarks
MOST, PART = 4096, 8  # landmarks that "auto" goes up to, and rows per landmark: with fewer, exact training is quicker
LEVEL, LEAST = 8, 4096  # how levels grow, and the smallest
LEAST_OF_LANDMARKS = 32  # rows per landmark of the smallest level
ROUGH = 1e-2  # gap of all levels but the last
LEAST_GAIN = 3e-3  # or what a step gains, of P: on fewer rows P is off by more
HELD_OUT = 20_000  # rows that compare numbers of landmarks, at most
HELD_AT_ONCE = 1024  # of them, whose kernel values stay in a cache
MANY = 64  # classes, with which to begin with more landmarks may be all that there is time for
RACE = (20_000, 100_000)  # rows that train for it, at least and at most; an eighth of all between


@dataclass
class LandmarkTask:
    """A fit: rows, and everything but the landmarks."""

    f: Formulation
    limits: Limits
    X: Any
    rows: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_classes: int
    kernel: Any  # (A, B) -> record
    given: bool  # a precomputed kernel
    dtype: str
    sampled: bool = False  # the rows are a sample of more: a start is wanted, not a solution
    numbers: np.ndarray | None = None  # of these rows among all
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.losses = Losses.of(self.f.machine, self.f.loss, self.n_classes)


@dataclass
class Fit:
    """Where a fit stands."""

    basis: Basis | Any = None
    W: np.ndarray | Any = None
    primal: float = np.inf
    dual: float = -np.inf
    gap: float = np.inf
    status: str = "solved"
    signalled: bool = False
    n_iter: int = 0
    evaluations: int = 0
    s: float | None = None
    trained: int = 0  # rows that W comes from
    pace: float = 0.0  # seconds that a pass takes, per row and landmark


def pool_of(task: LandmarkTask, how: str, most: int) -> tuple[Choice, np.ndarray]:
    """A choice of landmarks, and the used rows that it chooses from."""
    rng = np.random.default_rng(task.limits.seed)
    mark = rng.random(len(task.y)) if task.given else marks(task.X, task.rows, task.limits.seed)
    some = candidates(task.y, task.weight, mark, max(FEWEST, POOL * most))
    rows = np.ascontiguousarray(task.rows[some], dtype=np.int64)
    X, every = (task.X, rows) if task.given else (taken(task.X, rows), np.arange(len(rows)))
    data, record = as_data(X), task.kernel(X, X)

    def values(at: np.ndarray) -> np.ndarray:
        return _core.kernel_block(data, data, record, every[at], every, task.dtype, 1)

    diagonal = np.maximum(_core.diagonal(data, record, every, "float64"), 0.0)
    return Choice(how, len(rows), values, diagonal, rng), some


def train(task: LandmarkTask, how: Any, n_landmarks: Any) -> Fit:
    """Weights for landmarks that are given (a Basis) or chosen; Ctrl-C leaves what there is."""
    fit = Fit()
    try:
        if isinstance(how, Basis):
            fit.basis = how
        else:
            n = len(task.y)
            many = n if n <= ALL else min(MOST, n)
            choice, some = pool_of(task, how, min(n, many // 2 if n_landmarks == "auto" else n_landmarks))
            Z = task.X if task.given else taken(task.X, task.rows[some])
            at = task.rows[some] if task.given else np.arange(len(some))
            fit.basis = Basis(Z, task.kernel, task.dtype, None if task.given else task.rows[some])
            if n_landmarks == "auto" and n > ALL:
                race(task, fit, choice, at)
            else:
                m = n if n_landmarks == "auto" else min(n_landmarks, n)
                fit.basis = fit.basis.grown(at[m_chosen(choice, m)])
        finish(task, fit)
    except KeyboardInterrupt:
        if fit.basis is None or not len(fit.basis.at):
            raise
        fit.status, fit.signalled = "interrupted", True
    if fit.W is None:
        fit.W = np.zeros((task.n_classes, len(fit.basis.at) + 1))
    if fit.status == "time_limit" and not fit.W.any():
        class_means(task, fit)
    return fit


def class_means(task: LandmarkTask, fit: Fit) -> None:
    """The rule of the nearest class mean, where there was no time for a step: it is of use, and proves nothing."""
    basis, T = fit.basis, task.n_classes
    part = np.random.default_rng(task.limits.seed).permutation(len(task.y))[:HELD_OUT]
    size = np.bincount(task.y[part], weights=task.weight[part], minlength=T)
    G = np.zeros((T, len(basis.at)))
    for first in range(0, len(part), HELD_AT_ONCE):
        at = part[first : first + HELD_AT_ONCE]
        K = basis.values(task.X, task.rows[at], task.limits.threads, basis.dtype)
        G += csr_array((task.weight[at], (task.y[at], np.arange(len(at)))), shape=(T, len(at))) @ K.T
    means = moments(basis.L, G / np.maximum(size, 1e-300)[:, None], np.zeros(T))
    seen = size > 0
    means[:, -1] = -0.5 * np.sum(means**2, axis=1)
    means[~seen, -1] = means[seen].min()  # classes without a row in the sample
    fit.W = means - means[seen].mean(axis=0)
    fit.primal, fit.gap = np.inf, np.inf


def m_chosen(choice: Choice, m: int) -> np.ndarray:
    return np.asarray(choice.grow(m), dtype=np.int64)


def finish(task: LandmarkTask, fit: Fit) -> None:
    """All rows: exactly where they are few, else level by level."""
    n, m = len(task.y), len(fit.basis.at)
    if n <= SMALL and not task.sampled:
        return exact(task, fit)
    order = np.random.default_rng(task.limits.seed).permutation(n)
    for size in levels(n, m, fit.trained)[:-1]:
        if fit.status != "time_limit":
            descend(task, fit, order[:size])
        if fit.signalled:
            return
    descend(task, fit, None)


def levels(n: int, m: int, trained: int) -> list[int]:
    """How many rows after how many: each some times the last, from more than a fit was trained on already up to n."""
    sizes = [n]
    while sizes[0] // LEVEL >= max(LEAST, LEAST_OF_LANDMARKS * m, LEVEL * trained // 2):
        sizes.insert(0, sizes[0] // LEVEL)
    return sizes


def descend(task: LandmarkTask, fit: Fit, part: np.ndarray | None) -> None:
    """Newton steps on all rows, or on a part that stands for them, from where the fit is."""
    n, m = len(task.y), len(fit.basis.at)
    every = part is None
    part = np.arange(n) if part is None else np.sort(part)
    strength = task.f.C * task.weight[part]
    if not every:
        strength *= task.weight.sum() / task.weight[part].sum()
    rows = HeldRows(Strong(task.X, task.rows[part], task.y[part], strength), fit.basis, task.losses, task.limits)
    start = np.zeros((task.n_classes, m + 1))
    if fit.W is not None:  # landmarks that are new begin with nothing
        start[:, : fit.W.shape[1] - 1], start[:, -1] = fit.W[:, :-1], fit.W[:, -1]
    tol = task.limits.tol if every and not task.sampled else max(task.limits.tol, ROUGH)
    run = stepped(task, fit, rows, start, tol, 0.0 if every and not task.sampled else LEAST_GAIN)
    fit.trained, fit.evaluations = len(part), fit.evaluations + int(rows.core.evaluations)
    if every:
        fit.primal, fit.dual, fit.gap = run.primal, run.dual, run.gap
    if doubled(fit):
        descend(task, fit, None if every else part)


def doubled(fit: Fit) -> bool:
    """Whether rounding of float32 had the last word, as with a large C: the fit then goes on in float64."""
    if fit.status != "stalled" or fit.basis.dtype == "float64":
        return False
    fit.basis = replace(fit.basis, dtype="float64")
    return True


def stepped(task: LandmarkTask, fit: Fit, rows: Any, start: np.ndarray, tol: float, enough: float = 0.0) -> Newton:
    """Newton steps from a start, under the limits that are left."""
    run = Newton(
        task.losses, tol, task.limits.max_iter, task.limits.deadline, task.limits.progress, task.began, fit.n_iter
    )
    run.enough, run.then = enough, len(task.y) / rows.n if rows.n < len(task.y) else 0.0
    numbers = rows.n * len(fit.basis.at)
    run.a_pass = fit.pace * numbers
    if fit.s is not None:
        run.s, run.damping = fit.s, AGAIN
    run.run(rows, start)
    fit.pace = run.a_pass / numbers
    fit.n_iter, fit.s = run.n_iter, run.s
    fit.status, fit.signalled = run.status, run.signalled
    fit.W = run.best.W if run.best is not None else start
    return run


def finish_from(task: LandmarkTask, fit: Fit, rows_of: Callable[[Basis], Any]) -> None:
    """All rows of a source, from a fit on a sample of them; `rows_of` are they with landmarks."""
    fit.primal, fit.dual, fit.gap = np.inf, -np.inf, np.inf
    rows = rows_of(fit.basis)
    try:
        run = stepped(task, fit, rows, fit.W, task.limits.tol)
        fit.primal, fit.dual, fit.gap = run.primal, run.dual, run.gap
    except KeyboardInterrupt:
        fit.status, fit.signalled = "interrupted", True
    fit.evaluations += rows.evaluations
    if doubled(fit):
        finish_from(task, fit, rows_of)


def exact(task: LandmarkTask, fit: Fit) -> None:
    """Few rows: the engine of the joint machines, to a violation far below tol; on their kernel values where all are
    landmarks, else on explicit features."""
    n, basis, limits = len(task.y), fit.basis, task.limits
    every = len(basis.at) == n and (task.given or basis.numbers is not None)
    if every:
        e, held = Examples(task.X, task.rows, task.y, task.n_classes, task.weight, task.kernel(task.X, task.X)), 0
    else:
        phi = np.ascontiguousarray(basis.features(task.X, task.rows, 1).T)
        e, held = Examples(phi, np.arange(n), task.y, task.n_classes, task.weight, LINEAR), 2 * phi.nbytes
    limits = replace(limits, tol=min(1e-6, 0.1 * limits.tol), max_iter=STEPS * limits.max_iter)
    s = solve(task.f, e, replace(limits, memory=max(limits.memory - held, 0.1 * limits.memory)))
    B = s.B
    if B is None:
        B = -np.ones((task.n_classes, n)) / task.n_classes
        B[task.y, np.arange(n)] += 1
        B *= s.alpha
    if every:
        numbers = basis.at if basis.numbers is None else basis.numbers[basis.at]
        W = B[:, np.searchsorted(task.rows, numbers)] @ basis.L
    else:
        W = B @ phi
    fit.W = np.column_stack([W, B.sum(axis=1)])
    fit.primal, fit.dual, fit.gap = s.primal_objective, s.dual_objective, s.duality_gap
    fit.status, fit.signalled, fit.n_iter = s.status, s.signalled, fit.n_iter + -(-s.n_iter // STEPS)
    fit.evaluations += n * len(basis.at)
    if fit.gap <= task.limits.tol and fit.status != "interrupted":  # a limit may end the polishing of a solution
        fit.status = "solved"


def race(task: LandmarkTask, fit: Fit, choice: Choice, at: np.ndarray) -> None:
    """How many landmarks: twice as many until rows that were held out gain nothing from it beyond their noise."""
    n, rng = len(task.y), np.random.default_rng(task.limits.seed + 1)
    order = rng.permutation(n)
    held = min(n // 5, HELD_OUT)
    out, part = order[:held], order[held : held + int(np.clip(n // 8, *RACE))]
    limit, right = task.limits.deadline, None
    hurried = np.isfinite(limit) and task.n_classes > MANY
    m = 128 if n > RACE[0] or hurried else 512
    while True:
        begin = time.monotonic()
        basis, W = fit.basis, fit.W
        grown = basis.grown(at[m_chosen(choice, m)])
        if len(grown.at) == len(basis.at):
            return
        if grown.dtype != basis.dtype:
            fit.W, fit.trained = None, 0
        fit.basis = grown
        for size in levels(len(part), len(grown.at), fit.trained):
            descend(task, fit, part[:size])
            if fit.status in ("interrupted", "time_limit", "max_iter") or fit.signalled:
                return
        if time.monotonic() + 0.5 * (time.monotonic() - begin) > limit:
            return
        now = hits(task, fit, out)
        if right is not None:
            won, lost = np.count_nonzero(now & ~right), np.count_nonzero(right & ~now)
            if won - lost <= np.sqrt(won + lost):
                fit.basis, fit.W = basis, W
                return
        right, seconds = now, time.monotonic() - begin
        # All rows at the next number take some times as long as this round.
        if 2 * m > min(MOST, n if n <= SMALL else n // PART) or time.monotonic() + 12 * seconds > limit:
            return
        m *= 2


def hits(task: LandmarkTask, fit: Fit, part: np.ndarray) -> np.ndarray:
    """Which of some rows are classified right."""
    basis, right = fit.basis, np.zeros(len(part), dtype=bool)
    U, b = expanded(basis.L, fit.W)
    B = U.reshape(len(b), -1).astype(basis.dtype)
    for first in range(0, len(part), HELD_AT_ONCE):
        at = slice(first, first + HELD_AT_ONCE)
        K = basis.values(task.X, task.rows[part[at]], task.limits.threads, basis.dtype)
        right[at] = (B @ K + b[:, None]).argmax(axis=0) == task.y[part[at]]
    return right
