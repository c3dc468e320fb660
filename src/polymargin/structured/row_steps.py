"""Classes with any losses between them, by exact steps on rows.

    min over w   1/2 |w|^2 + sum_i s_i max_c (L[y_i, c] + f_c(x_i) - f_y(x_i))_+          margin rescaling
                 1/2 |w|^2 + sum_i s_i max_c L[y_i, c] (1 + f_c(x_i) - f_y(x_i))_+        slack rescaling, L constant

Where all losses are one number c, slack rescaling is the machine of margin 1 with the strengths c s, and margin
rescaling has c times the weights of that with s / c. It may be solved on kernel values, which is far faster where rows
are long, or nearly all of them are far from the margin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..fitting.examples import Examples
from ..fitting.limits import Limits
from ..machines import MACHINES
from ..training import linear, margins
from ..training.certificates import relative_gap
from ..training.expansions import weights
from ..training.problem import Formulation, Solution
from . import joint_maps
from .cutting_planes import Answer

OWN = MACHINES["crammer-singer"]
SMALL_PROBLEM = 5000  # numbers in all rows times classes, up to which solving to rounding error costs almost nothing
ROUNDING = 1e-9  # violation that counts as rounding error in the sweeps, in units of the largest loss
COARSE = 0.1  # largest violation at the end of the first attempt, in units of the largest loss
TIGHTEN = 0.2  # factor for the next attempt, until the gap is small enough, which is often long before


@dataclass(frozen=True)
class ClassLosses:
    """L, how it enters, and whether a column of ones is added to the rows."""

    loss: np.ndarray
    rescaling: str
    ones: bool

    @property
    def level(self) -> float | None:
        """The loss of every wrong class, if that is one number."""
        others = self.loss[~np.eye(len(self.loss), dtype=bool)]
        return float(others[0]) if np.all(others == others[0]) else None


class Steps:
    """The machine of margin 1, or of margins `loss`, whose weights count `size` times."""

    def __init__(self, given: ClassLosses, e: Examples, limits: Limits) -> None:
        level, self.loss, strength = given.level, given.loss, e.weight
        self.size = level if level is not None and given.rescaling == "margin" else 1.0
        if level is not None:
            strength, self.loss = strength * (level / self.size**2), given.loss / level
        self.given, self.strength, self.e, self.limits = given, e.weight, replace(e, weight=strength), limits
        within = strength.sum() * joint_maps.largest_square(e.X) < 1  # no score reaches a margin: few sweeps
        self.in_weights = level is None or within or linear.pays(e.X, len(e), len(self.loss), limits.memory)
        self.sweep = 1 if self.in_weights else len(e)  # steps of the solver that count as one here

    def solve(self, B: np.ndarray | None) -> tuple[Answer, np.ndarray, np.ndarray]:
        """Steps at smaller and smaller tolerances until the gap is small enough: the answer, the weights and B."""
        e, top, limits = self.e, self.loss.max(), self.limits
        tol, n_iter, tiny = COARSE * top, 0, e.X.shape[1] * len(e) * len(self.loss) <= SMALL_PROBLEM
        while True:
            allowed = replace(limits, tol=tol, max_iter=(limits.max_iter - n_iter) * self.sweep)
            s = self.attempt(B, allowed)
            B, n_iter = self.size * s.B, n_iter + -(-s.n_iter // self.sweep)
            done = s.duality_gap <= limits.tol and (tol < ROUNDING * top or not tiny)
            if s.status != "solved" or done or n_iter >= limits.max_iter:
                return *self.answer(s, n_iter), B
            tol *= TIGHTEN

    def attempt(self, B: np.ndarray | None, limits: Limits) -> Solution:
        e = self.e
        D = None if B is None else margins.rows_of_prototypes(OWN.margins, B / self.size, e.y, e.weight)
        if self.in_weights:
            losses = linear.LinearLosses(e.weight, np.zeros(len(e)), True, self.given.ones, self.loss)
            return linear.solve(losses, e, limits, D)
        f = Formulation(OWN, intercept="regularized" if self.given.ones else "none")
        return margins.solve(f, e, limits, None if D is None else D.T)

    def answer(self, s: Solution, n_iter: int) -> tuple[Answer, np.ndarray]:
        e, given, limits = self.e, self.given, self.limits
        W = self.size * (weights(e.X[e.rows], s.B) if s.weights is None else s.weights)
        W = np.column_stack((W, self.size * s.intercept)) if given.ones else W
        values, gap = (self.size**2 * s.primal_objective, self.size**2 * s.dual_objective), s.duality_gap
        if s.weights is None:  # the objective of the weights that the model keeps
            some = joint_maps.with_ones(e.X[e.rows]) if given.ones else e.X[e.rows]
            outputs = joint_maps.Classes(some, e.y, given.loss, given.rescaling)
            values = float(0.5 * np.sum(W**2) + self.strength @ outputs.look(W)[0]), values[1]
            gap = relative_gap(*values)
        status = "solved" if gap <= limits.tol and s.status != "interrupted" else s.status
        if status == "solved" and gap > limits.tol:
            status = "max_iter" if n_iter >= limits.max_iter else "stalled"
        stop = KeyboardInterrupt() if s.signalled else None
        return Answer(W.ravel(), status, n_iter, *values, [gap], 0, stop), W
