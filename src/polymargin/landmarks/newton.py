r"""Machines in the space of landmarks, by Newton steps on smooth losses, with a certified gap.

With :math:`K_{mm} = L L^\top` the features of a row are phi(x) = (L^-1 k(z, x), 1), and the problem is

    min over W   P(W) = 1/2 |W|^2 + sum_i loss_i(W phi(x_i))        loss_i(f) = max over a in A_i of  a'q_i(f)

with q affine in f. An entropy of weight s makes the losses smooth, and their maximizers a are still points of the dual
of P itself (core/landmarks/landmark_pass.hpp). With -D_i the slope of loss_i in f and V = sum_i D_i phi(x_i)', a pass
over the rows gives P(W), the smooth value S(W), its gradient W - V, the dual value D = sum_i t_i'a_i - 1/2 |V|^2, and

    P(W) - D = sum_i (loss_i - a_i'q_i) + 1/2 |W - V|^2

tells how much of the gap is due to s and how much to W. So s is lowered toward what tol wants once W is good enough
for it; the first part falls like s^2, for only rows within some s of a kink have one. "Good enough" is judged by what a
step gains: |W - V|^2 is a gap's measure of W, and long after P has settled it is still large.

A Newton step needs the curvature of the losses: of some times as many rows as there are landmarks, drawn with
probabilities that follow their curvature. Conjugate gradients with the second moments of these rows as preconditioner
do the rest, so a step costs one pass over all rows and little else. What all rows said along the last steps corrects it
(limited-memory BFGS): a sample misjudges some directions. The first step after s has fallen uses the
curvature from before, which follows the path of minimizers; the new one alone overshoots. For a small s few rows are
curved, and a step that leaves these where they are may carry all others past their kinks: so every row has some
curvature besides, its strength times the damping, which falls with every step that is as good as foretold. Passes never
form L^-1 of anything with n columns: L^-T is applied to W. Many rows begin with fewer (`training.py`), so most steps
are cheap ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_blas_funcs, solve_triangular

from .. import _core
from ..fitting.limits import Ended
from ..machines import Machine
from ..training.certificates import relative_gap

FIRST = 1.0  # s at the start
LOWEST = 1e-9  # s at most so small: rounding of scores is not much less
FACTOR = 6.0  # by which s falls at most from one stage to the next
ROWS = 16  # per landmark that a Newton step looks at ...
FEWEST = 4096  # ... and at least this many
CG_STEPS, CG_TOL = 60, 0.1
FEW = 12  # steps of conjugate gradients after which a preconditioner is used again
HALVINGS = 12  # of a step
MEMORY = 8  # steps that the next is corrected by
DAMPING, AGAIN = 0.5, 0.02  # at the start, in units of C times weight, and at that of all further fits
EASED, RAISED = 4.0, 3.0  # by which damping falls after a step as good as foretold, and grows after one too long
GOOD, LONG = 0.7, 0.6  # the best step along a direction, in units of that taken, from which and up to which it was so
IDLE = 4  # steps without any gain: rounding has the last word
FIRST_STEP = 0.3  # seconds that what leads to the first step may take in any case


@dataclass(frozen=True)
class Losses:
    """A row of the table of machines and a loss, as passes and curvatures need them."""

    reference: str
    own_target: float
    others: bool
    capped: bool
    square: float  # 0: the hinge
    n_classes: int

    @classmethod
    def of(cls, machine: Machine, loss: str, n_classes: int) -> Losses:
        margins, squared = machine.margins, loss == "squared_hinge"
        if margins is None:  # one margin, of the own score above the mean one
            return cls("mean", 1.0, False, False, 0.5 if squared else 0.0, n_classes)
        own = 0.0 if margins.own_target is None else float(margins.own_target(n_classes))
        return cls(margins.reference, own, True, margins.capped, margins.square if squared else 0.0, n_classes)

    def core(self) -> dict[str, Any]:
        """As arguments of the core."""
        return dict(
            classes=self.n_classes, reference=self.reference, own_target=self.own_target, others=self.others,
            capped=self.capped, square=self.square,
        )  # fmt: skip


@dataclass
class Curved:
    """Some rows that stand for the curvature of all: kernel values (m, k), classes, variables (k, T), strengths.

    Every margin of a row has the curvature `damping` times its strength besides that of the losses. `share` are the
    probabilities with which they were drawn; `factor`, if given, that of a matrix like the Hessian.
    """

    L: np.ndarray
    K: np.ndarray
    y: np.ndarray
    a: np.ndarray
    strength: np.ndarray
    share: np.ndarray
    losses: Losses
    s: float
    damping: float = 0.0
    factor: Any = None
    steps: int = 0  # of conjugate gradients

    def __post_init__(self) -> None:
        """J, the second derivatives in the margins: scale (diag(first) - second second')."""
        losses, dtype, T = self.losses, self.K.dtype, self.losses.n_classes
        # phi' = K'L^-T, in the place of K: rows stay adjacent.
        trsm = get_blas_funcs("trsm", (self.K,))
        self.phi = trsm(1.0, self.L.astype(dtype), self.K.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
        if losses.square > 0:
            first, scale = (self.a.T != 0).astype(float), 2 * losses.square * self.strength
            second = np.zeros((0, len(self.y)))
        else:
            p, scale = self.a.T / self.strength, self.strength / self.s
            first = np.abs(p) if losses.capped else np.abs(p) * (1 - np.abs(p))
            second = p if losses.capped else np.zeros((0, len(self.y)))
        first = first + self.damping * self.strength / scale
        self.scale = (scale / self.share).astype(dtype)
        self.first, self.second = (np.ascontiguousarray(part, dtype=dtype) for part in (first, second))
        if self.factor is None:
            trace = first.sum(axis=0) - (second**2).sum(axis=0)
            whole = first.sum(axis=0) - second.sum(axis=0) ** 2
            factor = {"own": 1.0, "mean": -1.0 / T, "none": 0.0}[losses.reference]
            mean = np.maximum(trace + factor * whole, 0.0) / (T if losses.reference == "none" else T - 1)
            self.factor = self.preconditioner((mean * self.scale).astype(dtype))

    def preconditioner(self, weight: np.ndarray) -> Any:
        """The factor of I + sum_i weight_i phi_i phi_i', a block that stands for that of every class."""
        m, phi = len(self.phi), self.phi
        M = np.empty((m + 1, m + 1))
        heavy = phi * np.sqrt(weight)
        M[:m, :m] = get_blas_funcs("syrk", (heavy,))(1.0, heavy.T, trans=1, lower=1)  # the lower triangle
        M[m, :m] = phi @ weight
        M[m, m] = float(weight.sum())
        # Rounding of float32 sums must not make it indefinite.
        M.flat[:: m + 2] += 1 + 4 * np.finfo(phi.dtype).eps * M.trace()
        return cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

    def product(self, d: np.ndarray) -> np.ndarray:
        """The Hessian of the smooth problem times d, (T, m + 1)."""
        y, reference = self.y, self.losses.reference
        found = _core.curvature_product(self.phi, d, y, self.first, self.second, self.scale, reference)
        return found.reshape(d.shape)

    def direction(self, gradient: np.ndarray, until: float) -> np.ndarray:
        """The Newton direction by conjugate gradients, to a tenth of the gradient: more does not pay, nor does time."""

        def precondition(r: np.ndarray) -> np.ndarray:
            return cho_solve(self.factor, r.T, check_finite=False).T

        x, r = np.zeros_like(gradient), -gradient
        z = precondition(r)
        p, rz = z, float(np.vdot(r, z))
        first = rz
        for self.steps in range(1, CG_STEPS + 1):
            Hp = self.product(p)
            curvature = float(np.vdot(p, Hp))
            if not curvature > 0:
                break
            step = rz / curvature
            x, r = x + step * p, r - step * Hp
            z = precondition(r)
            rz, last = float(np.vdot(r, z)), rz
            if not rz > CG_TOL**2 * first or time.monotonic() > until:
                break
            p = z + rz / last * p
        return x


@dataclass
class Point:
    """What a pass finds at W: P, S, its gradient and the dual point that belongs to it."""

    W: np.ndarray
    primal: float
    smooth: float
    linear: float
    V: np.ndarray
    curvature: np.ndarray | Any = None  # of every row

    @property
    def gradient(self) -> np.ndarray:
        return self.W - self.V

    @property
    def dual(self) -> float:
        return self.linear - 0.5 * float(np.vdot(self.V, self.V))


@dataclass
class Newton:
    """One fit: where it stands, and what it has proved."""

    losses: Losses
    tol: float
    max_iter: int
    deadline: float
    report: Callable | None = None
    began: float = field(default_factory=time.monotonic)
    n_iter: int = 0  # passes
    status: str = "solved"
    signalled: bool = False
    best: Point | Any = None  # of the smallest P, but for W = 0
    proof: tuple[float, np.ndarray] | None = None  # linear part and V of the best dual point
    a_pass: float = 0.0  # seconds that the last one took
    then: float = 0.0  # passes that are to follow, in units of these
    s: float = FIRST
    t: float = 1.0  # the step that is tried first
    damping: float = DAMPING
    enough: float = 0.0  # relative decrease of a step after which no more are made, whatever the gap
    decrease: float = np.inf  # that the last step promised
    secants: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)  # steps, and changes of the gradient

    @property
    def primal(self) -> float:
        return self.best.primal if self.best else np.inf

    @property
    def usable(self) -> bool:
        """Whether the best point tells classes apart: W = 0 does not, though the first steps may have a larger P."""
        return self.best is not None and bool(self.best.W.any())

    @property
    def dual(self) -> float:
        return self.proof[0] - 0.5 * float(np.vdot(self.proof[1], self.proof[1])) if self.proof else -np.inf

    @property
    def gap(self) -> float:
        return relative_gap(self.primal, self.dual)

    def run(self, rows: Any, W: np.ndarray) -> Newton:
        """Minimize from W; `rows` has `sums(W, s, run)`, `curved(point, s, damping, factor)` and `effort()`."""
        self.rows, self.proof = rows, None
        self.best = cast(Any, None)
        try:
            self.descend(W)
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.status, self.signalled = "interrupted", True
        except Ended as end:
            self.status = end.args[0]
        if self.gap <= self.tol and self.status != "interrupted":
            self.status = "solved"
        return self

    def descend(self, W: np.ndarray) -> None:
        now, idle = self.look(W), 0
        curvature: Curved | Any = None
        while self.gap > self.tol:
            again = curvature is not None and curvature.s == self.s and curvature.steps <= FEW
            self.spare(self.rows.effort() * self.a_pass)
            curvature = self.rows.curved(now, self.s, self.damping, curvature.factor if again else None)
            now = self.lowered(now)
            before = (self.gap, now.smooth)
            now = self.step(now, curvature)
            if self.decrease <= self.enough * abs(now.primal) and self.from_s(now) <= self.goal(now):
                return
            gained = self.gap < 0.999 * before[0] or now.smooth < before[1] - 1e-9 * abs(before[1])
            idle = 0 if gained else idle + 1
            if idle >= IDLE:
                raise Ended("stalled")

    def lowered(self, now: Point) -> Point:
        """The point under the s that is right now: a smaller one once a step gains less than s costs."""
        from_s, goal = self.from_s(now), self.goal(now)
        if from_s <= goal or from_s < self.decrease or self.s <= LOWEST:
            return now
        self.secants.clear()
        self.s = max(self.s * float(np.clip(np.sqrt(goal / from_s), 1 / FACTOR, 0.7)), LOWEST)
        return self.look(now.W)

    def corrected(self, gradient: np.ndarray, curvature: Curved) -> np.ndarray:
        """The direction of some rows, corrected by what all rows said along the last steps (limited-memory BFGS)."""
        g, passed = gradient.copy(), []
        for move, change in reversed(self.secants[-MEMORY:]):
            bend = float(np.vdot(move, change))
            if bend > 0:
                share = float(np.vdot(move, g)) / bend
                g -= share * change
                passed.append((move, change, bend, share))
        left = self.left() - self.a_pass
        d = curvature.direction(g, time.monotonic() + (left if self.usable else max(left, FIRST_STEP)))
        for move, change, bend, share in reversed(passed):
            d -= (share + float(np.vdot(change, d)) / bend) * move
        return d

    def from_s(self, now: Point) -> float:
        """How much of a gap is due to s."""
        return 0.0 if self.losses.square > 0 else now.primal - now.dual - 0.5 * float(np.sum(now.gradient**2))

    def goal(self, now: Point) -> float:
        """How much may be."""
        return 0.5 * self.tol * abs(now.primal)

    def step(self, now: Point, curvature: Curved) -> Point:
        """A Newton step, shortened until the smooth value falls; where one was short, the next begins short."""
        d = self.corrected(now.gradient, curvature)
        slope, t = float(np.vdot(now.gradient, d)), self.t
        self.decrease = -0.5 * slope
        for _ in range(HALVINGS):
            new = self.look(now.W + t * d)
            bend = new.smooth - now.smooth - t * slope
            best = -0.5 * slope * t / bend if bend > 0 else 2.0  # of the parabola through both, in units of t
            if new.smooth <= now.smooth + 1e-4 * t * slope:
                self.t = min(1.0, t * float(np.clip(best, 1.0, 4.0)))
                self.damping *= 1 / EASED if best > GOOD else RAISED if best < LONG else 1.0
                self.secants.append((new.W - now.W, new.gradient - now.gradient))
                return new
            if t == self.t:
                self.damping = min(RAISED * self.damping, DAMPING)
            t *= float(np.clip(best, 0.1, 0.5))
        return now

    def look(self, W: np.ndarray) -> Point:
        """A pass, after a look at the limits."""
        if self.n_iter >= self.max_iter:
            raise Ended("max_iter")
        self.tell(self.a_pass)
        begin = time.monotonic()
        point = self.rows.sums(W, self.s, self)
        self.n_iter, self.a_pass = self.n_iter + 1, time.monotonic() - begin
        if not self.usable or point.primal < self.best.primal:
            self.best = point
        self.prove(point)
        return point

    def prove(self, point: Point) -> None:
        """The best dual point between the best so far and this one: both, and so all between, are feasible."""
        if self.proof is None:
            linear, V = 0.0, np.zeros_like(point.V)
        else:
            linear, V = self.proof
        move, gain = point.V - V, point.linear - linear
        size = float(np.vdot(move, move))
        t = float(np.clip((gain - np.vdot(V, move)) / size, 0, 1)) if size > 0 else float(gain > 0)
        self.proof = (linear + t * gain, V + t * move)

    def tell(self, seconds: float) -> None:
        """Report, and end where the caller wants it or time does not `spare` the seconds that follow."""
        if self.report and self.report(self.event()):
            raise Ended("interrupted")
        self.spare(seconds)

    def spare(self, seconds: float) -> None:
        """End where there is no time for what takes so long. No clock ends a fit before a first step that is short."""
        left = self.left()
        if seconds > (left if self.usable else max(left, FIRST_STEP)):
            raise Ended("time_limit")

    def left(self) -> float:
        """Seconds to the deadline, without the pass over all rows that follows, unless that is most of them."""
        left, last = self.deadline - time.monotonic(), self.then * self.a_pass
        return left - last if last < 0.5 * left else left

    def event(self) -> dict[str, Any]:
        text = f"pass {self.n_iter}  gap {self.gap:.2g}"
        return {"n_iter": self.n_iter, "violation": self.gap, "seconds": time.monotonic() - self.began, "text": text}


def expanded(L: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the landmarks, flat, and intercepts of weights W."""
    U = solve_triangular(L, W[:, :-1].T, lower=True, trans="T", check_finite=False).T
    return np.ascontiguousarray(U).ravel(), np.ascontiguousarray(W[:, -1])


def moments(L: np.ndarray, G: np.ndarray, g: np.ndarray) -> np.ndarray:
    """sum_i D_i phi(x_i)' from G = sum_i D_i k(z, x_i)' and g = sum_i D_i."""
    return np.column_stack([solve_triangular(L, G.astype(np.float64).T, lower=True, check_finite=False).T, g])
