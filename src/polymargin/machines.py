"""The table of machines: what tells one joint machine from another.

A machine requires margins of each row. Its margin vectors V decide how two rows meet in the dual,
``Q[(i, p), (j, q)] = <V[y_i, p], V[y_j, q]> k(x_i, x_j)``, and what the class prototypes are,
``B[i] = sum_p alpha[i, p] V[y_i, p]``. A new machine is a new row of `MACHINES`; nothing else in the package knows
machines by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Loss:
    """How a loss of strength c (C times the weight of the row) enters the dual.

    ``box``: the variable is bounded by c. ``ridge``: 1/c is added to its diagonal element. ``entropy``: the dual term
    of the logistic loss keeps it inside the box. ``target``: the required margin in the C form.
    """

    box: bool
    ridge: bool = False
    entropy: bool = False
    target: float = 1.0


LOSSES = {
    "hinge": Loss(box=True),
    "squared_hinge": Loss(box=False, ridge=True),
    "logistic": Loss(box=True, entropy=True, target=0.0),
}

# The solvers of paper 2 (Franc and Hlavac 2002), and the loss whose dual each one solves.
KESLER_SOLVERS = {"smo": "hinge", "ksk": "squared_hinge", "mdm": "squared_hinge"}


@dataclass(frozen=True)
class Margins:
    """A machine with a margin per row and class: every score against a reference.

    For a row of class y, the scores f_m of the other classes should lie one below the reference, and where the
    machine has a target for it, f_y above it: V[y, m] = ref - e_m and V[y, y] = e_y - ref.

    ``reference``: "own" is f_y, "mean" the mean score of all classes (so that they sum to zero), "none" is 0.
    ``own_target(T)``: the margin of f_y over the reference; None: there is no such margin.
    ``capped``: the loss of a row is its largest slack, not the sum of all; its variables then have a sum of at most c.
    ``square``: the squared hinge is C square xi^2.
    """

    reference: str
    own_target: Callable[[int], float] | None = None
    capped: bool = False
    square: float = 0.5


@dataclass(frozen=True)
class Machine:
    """One row of the table.

    Machines with one variable per row have ``label_kernel(T)``, the two values of <V[y], V[y']> for T classes:
    equal and different labels; the others have ``margins``. ``losses``, ``intercepts`` and ``solvers`` are what
    the machine offers. The first intercept is what "auto" means, unless the kernel is linear and the machine has one
    for that: without a constant the hyperplanes of all classes meet in the origin.
    """

    losses: tuple[str, ...] = ("hinge",)
    intercepts: tuple[str, ...] = ("none", "regularized")
    linear_intercept: str | None = None
    label_kernel: Callable[[int], tuple[float, float]] | Any = None
    margins: Margins | Any = None
    solvers: tuple[str, ...] = ("auto",)
    nu: bool = False
    priors: bool = False

    def auto_intercept(self, kernel: object) -> str:
        return self.linear_intercept if self.linear_intercept and kernel == "linear" else self.intercepts[0]

    @property
    def binary_scale(self) -> float:
        """Two classes: this times f_1 - f_0 is the decision value of the binary machine with margin 1."""
        return 1.0 if self.margins and self.margins.reference == "own" else 0.5


# Where every class has a hyperplane of its own, a constant in it never harms and serves the linear kernel; scores that
# sum to zero are better without (docs/choosing-a-machine.md has the figures).
SERVES = ("regularized", "none")

MACHINES = {
    # V[y] = e_y - 1/T: each row scores better under its own class than under the mean of all (Jenssen et al. 2012).
    "scatter": Machine(
        label_kernel=lambda T: (1 - 1 / T, -1 / T),
        losses=("hinge", "squared_hinge", "logistic"),
        intercepts=("none", "exact", "regularized"),
        linear_intercept="exact",
        nu=True,
        priors=True,
    ),
    # V[y, m] = e_y - e_m: the own class above every other one (Weston and Watkins 1999, Franc and Hlavac 2002).
    "kesler": Machine(
        margins=Margins("own", square=1.0),
        losses=("hinge", "squared_hinge"),
        intercepts=SERVES,
        solvers=("auto", *KESLER_SOLVERS),
    ),
    # The same with the largest slack only (Crammer and Singer 2001).
    "crammer-singer": Machine(margins=Margins("own", capped=True), intercepts=SERVES),
    # Scores that sum to zero, the other classes at -1 or below (Lee, Lin and Wahba 2004), or the worst of them.
    "llw": Machine(margins=Margins("mean")),
    "adm": Machine(margins=Margins("mean", capped=True)),
    # The own class at 1 or above as well (Dogan, Glasmachers and Igel 2016), or at T - 1 (Liu and Yuan 2011).
    "ats": Machine(margins=Margins("mean", own_target=lambda T: 1.0)),
    "atm": Machine(margins=Margins("mean", own_target=lambda T: 1.0, capped=True)),
    "reinforced": Machine(margins=Margins("mean", own_target=lambda T: T - 1.0)),
    # Each class against the rest, T machines that share their kernel rows.
    "ovr": Machine(
        margins=Margins("none", own_target=lambda T: 1.0), losses=("hinge", "squared_hinge"), intercepts=SERVES
    ),
}
