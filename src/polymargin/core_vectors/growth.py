"""Growing core sets: core vector machines and enclosing balls on rows that may be anywhere.

    min over a   a'Qa - 2 h'a      Q[i, j] = M(y_i, y_j) (k(x_i, x_j) + b0) + [i == j] r / w_i      a >= 0, sum a = 1

is solved on a small working set, by the solver of the joint machines. Its value D = 2 h'a - a'Qa bounds the optimum
from below. With the scores s_i = sum_j a_j M(y_i, y_j) (k_ij + b0) - h_i of all rows, the primal at the same model,

    P = min over rho   ||w||^2 - 2 rho + sum_i (w_i / r) (rho - s_i)_+^2

bounds it from above: the gap P - D is certified. One pass over the data finds P, and the rows whose s is smallest, the
farthest ones from the center of the ball, which join the working set. Before the first pass the working set grows on
random samples, as the paper does it. Small problems are solved as a whole (whole.py), and so are those in memory whose
core set turns out to be a large part of the rows. Where the core set is seen not to stay small (forecast.py), the
answer is the machine on a random sample of the rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import kernels
from ..fitting.limits import Ended
from ..fitting.progress import duration
from ..training.certificates import relative_gap
from ..training.runs import FLOAT64_ROWS
from .forecast import FORETOLD, Forecast, dense
from .options import CoreLimits
from .search import Draw, Form, Found, Model, Rows, Search, Source, by_class, draw, joined
from .sources import Arrays

POOL = 50_000  # rows that samples are drawn from
LEAST_RADIUS = 1e-9  # square radius of a ball, in parts of k(x, x), below which it is a point
FIRST_GAP = 0.05  # relative gap of the first working sets
FINEST = 1e-13  # relative gap of the working set beyond which rounding decides
ROW_BYTES = 512 << 20  # kernel rows kept by the solver of the working set
PASS_SECONDS = 2.0  # seconds that a pass may take after an interruption
FINER = 3  # most passes that measure P of the last model exactly
SAMPLED_ROWS = 4096  # rows that stand in for all where the core set would become too large
GRACE = 0.5  # and beyond the time limit, if it is the first one


@dataclass
class Growth:
    """One fit: the working set, and the best certified model so far."""

    form: Form
    kappa: float  # the largest Q[i, i]
    limits: CoreLimits
    counts: np.ndarray  # rows of every class
    may_be_whole: bool = False  # whether the caller can solve all rows at once: the status is then "dense"
    # None until `run` has begun, and the last two until the first `solve`.
    working: Rows | Any = None
    alpha: np.ndarray | Any = None
    model: Model | Any = None
    gradient: np.ndarray | Any = None
    best: tuple[Model, float, float] | None = None  # model, P, rho
    finer: Search | None = None  # which would measure P of the best model better, or None: it is exact
    gap: float = np.inf
    tol: float = 0.0  # relative gap of the working set, smaller from round to round
    status: str = "solved"
    signalled: bool = False
    indefinite: bool = False  # the kernel is, on core vectors or on all rows: there is no certificate
    n_iter: int = 0
    n_rounds: int = 0
    evaluations: int = 0
    path: list[int] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    rate: float = 0.0  # rows per second of the last pass
    reading: float = 0.0  # seconds of a pass that does next to nothing
    pace: float = 0.0  # seconds of a kernel value, on samples
    solving: float = 0.0  # seconds of the last problem on the working set
    forecast: Forecast = field(default_factory=Forecast)

    def __post_init__(self) -> None:
        if not np.isfinite(self.kappa):
            raise ValueError(f"expected finite kernel values, got k(x, x) = {self.kappa:g}; {kernels.OVERFLOW}")

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def run(self, source: Source, start: Rows, alpha: np.ndarray, pool: Rows) -> Growth:
        """Grow, then settle what is left to settle. Ctrl-C or a limit may end each step; the next ones still run."""
        self.working, self.alpha = start, alpha
        steps = iter([self.rounds, self.settle, self.last_pass, self.look_back])
        while True:
            try:
                for step in steps:  # inside the `try`, because Python may deliver Ctrl-C between two of them
                    step(source, pool)
                return self
            except KeyboardInterrupt:
                if self.model is None:
                    raise
                self.status, self.signalled = "interrupted", True
            except Ended as end:
                self.status = end.args[0]

    def rounds(self, source: Source, pool: Rows) -> None:
        """Solves the working set and passes over the rows by turns, until the gap is small enough."""
        least, finer = 0.4 * self.limits.tol, 1.0
        self.tol = max(least, FIRST_GAP)
        self.solve(self.tol)
        if self.limits.sample_size is not None:
            self.sample(pool)
        while True:
            search = self.searching()
            found = self.search(source, search)
            if self.judge(search, found):
                break
            if len(self.model.alpha) >= self.limits.max_core:
                raise Ended("max_iter")
            self.foresee(found.outside)
            self.tol = max(least, min(self.tol, 0.1 * self.gap))
            if len(found.rows):
                self.add(found.rows)
            else:  # all violators are in the working set: its solution must be finer
                finer *= 0.1
            if finer * self.tol < FINEST:
                raise Ended("stalled")
            self.solve(finer * self.tol)

    def look_back(self, source: Source, pool: Rows) -> None:
        if self.status != "dense":
            X = self.certified()[0].rows.X
            self.doubt(X, np.arange(X.shape[0]))

    def doubt(self, X: Any, rows: np.ndarray) -> None:
        """Withdraw the certificate if the kernel turns out to be indefinite on these rows."""
        kernel = self.form.record(X, X)
        if self.status != "interrupted" and kernels.indefinite(X, rows, kernel, zero_sums=self.form.ball):
            self.indefinite, self.gap = True, np.inf
            self.status = "stalled" if self.status in ("solved", "epsilon") else self.status

    def seconds_of_a_pass(self) -> float:
        """An estimate from the pass that drew the samples and from what scoring samples cost."""
        return self.reading + self.pace * self.n * len(self.model.alpha)

    def left(self) -> float:
        """Seconds to the time limit; before the first pass, to the last moment to begin it, not before half of them."""
        first = self.best is None and self.model is not None
        reserved = min(self.seconds_of_a_pass(), 0.5 * (self.limits.deadline - self.began)) if first else 0.0
        return self.limits.deadline - time.monotonic() - reserved

    def last_pass(self, source: Source, pool: Rows) -> None:
        """If there is time: a certificate for a fit that ended before its first pass, or an exact one.

        A pass finds P among values of rho that were guessed before it; a smaller rho leaves an upper bound.
        """
        left = self.limits.deadline + GRACE - time.monotonic()
        allowed = {"interrupted": PASS_SECONDS, "time_limit": left, "large_core": left, "dense": -np.inf}
        if self.best and not self.finer or self.seconds_of_a_pass() > allowed.get(self.status, np.inf):
            return
        before = self.status
        try:
            if self.best is None:
                self.judge(search := self.searching(), self.search(source, search, certify=True))
            for _ in range(FINER):
                if self.finer is None:
                    break
                primal, rho, self.finer = self.finer.primal(self.search(source, self.finer, certify=True))
                model = self.certified()[0]
                self.best, self.gap = (model, primal, rho), relative_gap(primal, model.dual)
                self.status = "solved" if self.gap <= self.limits.tol else self.status
        except Ended:  # a callback asked to stop, or the pass took far too long
            pass
        finally:
            if before == "interrupted":
                self.status = before

    def certified(self) -> tuple[Model, float, float]:
        """The best model with its P and rho. Before the first pass over the data, |s| <= kappa is all that is known."""
        if self.best is not None:
            return self.best
        primal = self.model.square + 2 * self.kappa
        self.gap = relative_gap(primal, self.model.dual)
        return self.model, primal, -self.kappa

    # -- the working set --

    def solve(self, tol: float) -> None:
        """Solve the problem on the working set to a relative gap of tol."""
        w, form, begin = self.working, self.form, time.monotonic()
        if self.limits.epsilon is not None and self.model is not None:  # half of what the ball test allows
            tol = max(tol, min(0.5, self.limits.epsilon * self.square_radius() / max(abs(self.model.dual), 1e-300)))
        linear, ridge = form.linear(w.X), form.ridge / w.weight
        order, segments = by_class(w.y, form.n_classes)
        exact = form.widened() if len(w) <= FLOAT64_ROWS else form  # then D is known to the last digits
        core = exact.solver(w.X, order, segments, min(self.limits.memory, ROW_BYTES))
        out = core.solve(
            linear[order], np.full(len(w), np.inf), ridge[order], "total", False, self.alpha[order],
            *self.violation(tol), max(self.limits.max_iter - self.n_iter, 0), max(self.left(), 0.0),
            self._asked if self.limits.progress else None,
        )  # fmt: skip
        self.solving = time.monotonic() - begin
        self.n_iter += out["n_iter"]
        self.evaluations += core.evaluations
        self.alpha, self.gradient = np.empty(len(w)), np.empty(len(w))
        self.alpha[order], self.gradient[order] = out["alpha"], out["gradient"]
        a, used = self.alpha, np.flatnonzero(self.alpha > 0)
        a[used] /= a[used].sum()
        square = float(a @ self.gradient + a @ linear - a**2 @ ridge)
        mean, lowest = float(a @ self.gradient), float(self.gradient.min())
        self.model = Model(w[used], a[used], float(a @ linear) - mean, square, mean, lowest)
        if 4 * form.error > 0.05 * self.limits.tol * abs(self.model.dual):  # too much for the certificate
            self.form = form.widened()
            return self.solve(tol)
        self.path.append(len(used))
        self.n_rounds += 1
        if out["signalled"]:
            raise KeyboardInterrupt
        if out["status"] not in ("solved", "stalled"):
            raise Ended(out["status"])
        self.tell()
        if self.may_be_whole and len(used) > dense(self.n):
            raise Ended("dense")

    def violation(self, tol: float) -> tuple[float, bool]:
        """The violation that leaves a relative gap of at most tol, and whether it is relative to the margin a'g.

        The gap is 2 (a'g - min g) / |D|. Without h the margin is |D|; with it, the last D is a lower bound.
        """
        if not self.form.ball:
            return 0.5 * tol, True
        return 0.5 * tol * max(self.model.dual if self.model else 0.0, LEAST_RADIUS * self.kappa), False

    def add(self, rows: Rows) -> None:
        self.working = joined([self.working, rows])
        self.alpha = np.concatenate([self.alpha, np.zeros(len(rows))])

    def room(self) -> int:
        """How many rows may join at once: the core set doubles at most."""
        return max(64, self.form.n_classes, len(self.model.alpha))

    def bound(self) -> float:
        """Rows with a smaller score are to join: those outside of the ball of radius (1 + epsilon) R, or violators."""
        if self.limits.epsilon is None:
            return self.model.lowest
        return -self.model.dual - (self.limits.epsilon + 0.5 * self.limits.epsilon**2) * self.square_radius()

    def square_radius(self) -> float:
        """R^2 of the ball in the space of Q: the largest Q[i, i] less a'Qa."""
        return max(self.kappa + self.model.dual, 0.0)

    def sample(self, pool: Rows) -> None:
        """Grow on random rows: `sample_size` of them for every eight core vectors, the farthest join."""
        at, quiet, few = 0, 0, self.limits.sample_size or len(pool)
        while at < len(pool) and quiet < 2 and len(self.model.alpha) < self.limits.max_core and self.left() > 0:
            size = few * max(1, len(self.model.alpha) // 8)
            batch = pool[at : at + size]
            at += size
            batch = batch[~np.isin(batch.index, self.working.index)]
            if not len(batch):
                continue
            begin, cost = time.monotonic(), len(batch) * len(self.model.alpha)
            s = self.model.scores(self.form, batch.X, batch.y)
            pace, self.evaluations = (time.monotonic() - begin) / cost, self.evaluations + cost
            self.pace = min(self.pace or pace, pace)  # a few values, or a busy machine, make it look slow
            out = np.flatnonzero(s < self.bound())
            quiet = 0 if len(out) else quiet + 1
            here, outside = (np.bincount(y, minlength=self.form.n_classes) for y in (batch.y, batch.y[out]))
            self.foresee(float(np.sum(self.counts * outside / np.maximum(here, 1))))
            if len(out):
                out = out[np.lexsort((s[out], batch.y[out]))]
                starts = np.searchsorted(batch.y[out], np.arange(self.form.n_classes))
                rank = np.arange(len(out)) - starts[batch.y[out]]  # in its class, the farthest first
                self.add(batch[out[np.argsort(rank, kind="stable")[: self.room()]]])
                self.solve(self.tol)

    def foresee(self, outside: float) -> None:
        """Stop if the number of rows outside shows that the core set will not stay small."""
        self.forecast.see(len(self.model.alpha), outside)
        if self.may_be_whole and self.forecast.hopeless(dense(self.n), FORETOLD):
            raise Ended("dense")
        looked_for = self.limits.epsilon is None and not self.form.ball  # the ball test keeps core sets small
        if looked_for and self.n > self.limits.max_core and self.forecast.hopeless(self.limits.max_core):
            self.tell()
            raise Ended("large_core")

    def settle(self, source: Source, pool: Rows) -> None:
        """Instead of a core set that is too large: a random sample, since the farthest rows are mostly mislabeled."""
        if self.status != "large_core":
            return
        first, before = pool[: np.count_nonzero(self.counts)], (self.model, self.working, self.alpha)
        try:
            some_of = Draw(self.form, self.limits.seed, np.full(len(self.counts), SAMPLED_ROWS / self.n))
            some = joined([first, *(rows for rows, _, _ in source.map(some_of))])
            some = some[np.sort(np.unique(some.index, return_index=True)[1])]
            self.working, self.alpha = some, np.zeros(len(some))
            self.alpha[: len(first)] = 1 / len(first)
            self.solve(self.tol)
        finally:  # Ctrl-C may come before there is a solution
            if self.model is before[0]:
                _, self.working, self.alpha = before
            else:
                self.best, self.gap, self.finer = None, np.inf, None

    # -- all rows --

    def searching(self) -> Search:
        """The next search. The optimal rho is at most the largest g of a core vector: those alone lack 1 there."""
        high = float(self.gradient[self.alpha[: len(self.gradient)] > 0].max())
        high += 1e-6 * abs(high)
        low = high - 2 * max(abs(self.model.dual), 1e-9 * self.kappa)
        known = np.sort(self.working.index)
        return Search(self.form, self.model, low, high, self.bound(), self.room(), known)

    def search(self, source: Source, search: Search, certify: bool = False) -> Found:
        found: Found | Any = None  # of the parts so far; every source has one
        begin, last = time.monotonic(), 0.0
        end = self.limits.deadline + (GRACE if certify or self.best is None else 0.0)
        for part in source.map(search):
            found = part if found is None else search.merged(found, part)
            self.evaluations += part.n * len(self.model.alpha)
            now = time.monotonic()
            self.rate = found.n / max(now - begin, 1e-9)
            if now > end and self.status in ("solved", "time_limit", "large_core"):
                raise Ended("time_limit")
            if certify:
                continue
            if now - last > 0.1:
                last = now
                self.tell()
        self.pace = self.pace or 1 / (self.rate * len(self.model.alpha))
        return found

    def judge(self, search: Search, found: Found) -> bool:
        """Keep the model if its certificate is the best; whether this is the end."""
        primal, rho, finer = search.primal(found)
        gap = relative_gap(primal, self.model.dual)
        best = (self.model, primal, rho)
        if gap < self.gap or self.best is None:
            self.best, self.gap, self.finer = best, gap, finer
        self.tell()
        if gap <= self.limits.tol:
            self.status = "solved"
            return True
        if self.limits.epsilon is not None and not len(found.rows) and self.status == "solved":
            self.best, self.gap, self.finer, self.status = best, gap, finer, "epsilon"
            return True
        if time.monotonic() > self.limits.deadline and self.status == "solved":
            raise Ended("time_limit")
        return False

    # -- reports --

    def tell(self) -> None:
        if self.limits.progress and self.limits.progress(self.event()):
            raise Ended("interrupted")

    def _asked(self, n_iter: int, violation: float, dual: float, seconds: float) -> bool:
        return self.limits.progress is not None and bool(self.limits.progress(self.event()))

    def estimate(self) -> str:
        """Core vectors and time in the end. Each of the last rounds doubles both a pass and the core set, squared."""
        core = max(len(self.model.alpha), 1)
        end = max(self.forecast.end or 0.0, core)
        seconds = 2 * (self.reading + self.pace * self.n * end) + 4 / 3 * self.solving * (end / core) ** 2
        return f"about {end:,.0f} core vectors and {duration(seconds)}"

    def note(self) -> str:
        if self.status != "large_core":
            return ""
        return f", trained on a sample of {len(self.working):,} rows because all would take {self.estimate()}"

    def event(self) -> dict[str, Any]:
        core = len(self.model.alpha) if self.model else 0
        text = f"round {self.n_rounds}  core {core:,}  gap {self.gap:.2g}"
        if self.rate:
            text += f"  {self.rate:,.0f} rows/s"
        if self.forecast.end:
            text += f"  to the end {self.estimate()}"
        now = time.monotonic()
        return {"n_iter": self.n_iter, "violation": self.gap, "seconds": now - self.began, "text": text}


def grow(
    source: Source,
    form: Form,
    counts: np.ndarray,
    limits: CoreLimits,
    alpha: np.ndarray | None = None,
    may_be_whole: bool = False,
) -> Growth:
    """Grow a core set on the rows of a source with this many of each class; `alpha` are coefficients to start from."""
    per_class = 1 if limits.sample_size is None else max(1, -(-POOL // len(counts)))
    begin = time.monotonic()
    pool, kappa = draw(source, form, counts, per_class, limits.seed)
    reading = time.monotonic() - begin
    present = np.count_nonzero(counts)
    first, start = pool[:present], np.full(present, 1 / present)
    if alpha is not None and isinstance(source, Arrays):  # coefficients are of rows in memory
        used = np.flatnonzero(alpha)
        weight = np.ones(len(used)) if source.weight is None else source.weight[used]
        first, start = Rows(used, source.X[used], source.y[used], weight), alpha[used]
    fit = Growth(form, kappa, limits, counts, may_be_whole=may_be_whole, reading=reading)
    return fit.run(source, first, start, pool)
