"""The table of machines: what tells one joint machine from another.

A machine asks each example for margins. Its margin vectors V decide how two examples meet in the dual,
``Q[i, j] = <V[y_i], V[y_j]> k(x_i, x_j)``, and what the class prototypes are, ``B[i] = alpha_i V[y_i]``.
A new machine is a new row of `MACHINES`; nothing else in the package knows machines by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Loss:
    """How a loss of strength c (C times the weight of the example) enters the dual.

    ``box``: the variable is bounded by c. ``ridge``: 1/c is added to its diagonal element. ``entropy``: the dual term
    of the logistic loss keeps it inside the box. ``target``: the margin that is asked for in the C form.
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


@dataclass(frozen=True)
class Machine:
    """One row of the table.

    ``label_kernel(T)`` gives the two values of <V[y], V[y']> for T classes: equal and different labels. ``losses``,
    ``intercepts`` and ``solvers`` are what the machine offers; the first intercept is the one "auto" means.
    """

    label_kernel: Callable[[int], tuple[float, float]]
    losses: tuple[str, ...]
    intercepts: tuple[str, ...]
    solvers: tuple[str, ...] = ("auto",)
    nu: bool = False
    priors: bool = False


MACHINES = {
    # V[y] = e_y - 1/T: each example scores better under its own class than under the mean of all (Jenssen et al. 2012).
    "scatter": Machine(
        label_kernel=lambda T: (1 - 1 / T, -1 / T),
        losses=("hinge", "squared_hinge", "logistic"),
        intercepts=("none", "exact", "regularised"),
        nu=True,
        priors=True,
    ),
}
