"""Two classes: every joint machine is a binary one, with one variable per row and the sign of its class.

With y = -1 or 1 for the two classes and z = y a, the label kernel (s, -s) becomes s for all pairs of rows:

    min  1/2 z'Qz - (y g)'z      Q[i, j] = s (k(x_i, x_j) + b0) + [i == j] r_i      z between 0 and y u

An exact intercept asks for equal class sums, which is sum z = 0: one constraint, and no search for their value. For a
machine with a margin per row and class, a row has a single rival. Where the own class is to stay above the reference as
well, both margins of a row are the same number: its two variables act by their sum, which has twice the bound where
slacks are added. Classes that do not see each other ("ovr") are one machine and its mirror image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..machines import Machine, Margins
from .class_sums import Qp
from .problem import Formulation, Solution
from .runs import Out, Run
from .starting_points import start, start_with_sums


def is_signed(f: Formulation, n_classes: int) -> bool:
    """Whether the program can be written in z: no fixed sum, no entropy, no priors."""
    return n_classes == 2 and f.nu is None and f.priors is None and not f.form.entropy


def signed_form(run: Run, q: Qp, begin: Any, exact: bool) -> Out:
    """The C form in z, brought back to a; the multiplier of sum z is the constant of class 0, minus that of class 1."""
    a = start(q, begin)
    y = np.repeat([-1.0, 1.0], np.diff(q.segments))
    if exact and begin is not None:
        least = np.add.reduceat(a, q.segments[:-1]).min()
        sums = replace(q, sum="per_class", sums=np.full(2, least))
        a = start_with_sums(sums, a, np.minimum(q.upper, a.max())) if least > 0 else np.zeros_like(a)
    signed = replace(
        q, linear=y * q.linear, lower=np.where(y > 0, 0.0, -q.upper), upper=np.where(y > 0, q.upper, 0.0),
        sum="total" if exact else "none",
    )  # fmt: skip
    out = run.solve(signed, y * a)
    z = balanced(out["alpha"], signed) if exact else out["alpha"]
    r = float(out["multiplier"][0]) if exact and len(out["multiplier"]) else 0.0
    back = {"alpha": np.abs(z), "gradient": y * out["gradient"]}
    return out | back | {"b": np.array([r, -r]), "rho": 1.0, "extra": 0.0}


def balanced(z: np.ndarray, q: Qp) -> np.ndarray:
    """z with the sum 0 to the last digit, by the variable with the most room.

    The solver centers linear rows and does not notice what rounding adds to the sum. At rows far from the origin, where
    kernel values are large, it would move all scores of the model.
    """
    if not np.isfinite(np.abs(z).sum()):  # a program without a minimum
        return z
    z, excess = z.copy(), math.fsum(z)
    room = np.minimum(z - q.lower, q.upper - z)
    k = int(np.argmax(room))
    if abs(excess) < room[k]:
        z[k] -= excess
    return z


@dataclass(frozen=True)
class Binary:
    """A machine with margins as one with a variable per row: its row of the table, and the way back.

    ``strength`` multiplies C; the prototypes of a row are ``size`` times its variable; the objective counts ``copies``
    times.
    """

    same: float
    strength: float
    size: float
    copies: int = 1

    def formulation(self, f: Formulation) -> Formulation:
        machine = Machine(label_kernel=lambda T: (self.same, -self.same))
        return replace(f, machine=machine, C=self.strength * f.C)

    def variables(self, B: np.ndarray | None) -> np.ndarray | None:
        return None if B is None else np.abs(B[0]) / self.size

    def solution(self, found: Solution, y: np.ndarray, intercept: str) -> Solution:
        B = self.size * np.where(y == np.arange(2)[:, None], found.alpha, -found.alpha)
        return replace(
            found, B=B, intercept=B.sum(axis=1) if intercept == "regularized" else np.zeros(2),
            primal_objective=self.copies * found.primal_objective, dual_objective=self.copies * found.dual_objective,
        )  # fmt: skip


def binary(f: Formulation, n_classes: int) -> Binary | None:
    """What a machine with margins is for two classes; None: for more of them, or by a solver of its own."""
    margins: Margins = f.machine.margins
    own, target = margins.own_target is not None, margins.own_target(2) if margins.own_target else 1.0
    if n_classes != 2 or f.solver != "auto" or target != 1:
        return None
    square = 2 * margins.square if f.form.ridge else 1.0
    if margins.reference == "own":
        return Binary(2.0, square, 1.0)
    if margins.reference == "mean":
        return Binary(0.5, square * (2 if own and not margins.capped else 1), 0.5)
    return Binary(1.0, square, 1.0, copies=2) if own and not margins.capped else None
