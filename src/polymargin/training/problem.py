"""The records that training begins and ends with: what is minimized, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..machines import LOSSES, Loss, Machine
from .certificates import relative_gap


@dataclass(frozen=True)
class Formulation:
    """A row of the table of machines with its parameters; `intercept` is what "auto" stands for, never "auto"."""

    machine: Machine
    loss: str = "hinge"
    C: float = 1.0
    intercept: str = "none"
    nu: float | None = None
    priors: np.ndarray | None = None
    solver: str = "auto"

    @property
    def form(self) -> Loss:
        return LOSSES[self.loss]

    def strength(self, weight: np.ndarray, n_classes: int) -> np.ndarray:
        """The factor on the loss of each row."""
        return weight * (self.C if self.nu is None else n_classes / (self.nu * weight.sum()))

    def kernel(self, kernel: dict[str, Any]) -> dict[str, Any]:
        """The record of the kernel that the machine sees: a regularized intercept is k + 1."""
        return {**kernel, "offset": 1.0} if self.intercept == "regularized" else kernel


@dataclass(kw_only=True)
class Coefficients:
    """What scores are made of: the dual variables in the caller's row order, and the model's constants.

    A machine with margins per class has coefficients ``B`` of shape (n_classes, n), and alpha is the largest variable
    of each row; one trained in weight space has its ``weights`` (n_classes, n_features) as well.
    """

    alpha: np.ndarray
    intercept: np.ndarray
    B: np.ndarray | Any = None
    weights: np.ndarray | None = None


@dataclass(kw_only=True)
class Solution(Coefficients):
    """What a fit returns: the coefficients, and how it went."""

    rho: float
    status: str
    signalled: bool
    n_iter: int
    primal_objective: float
    dual_objective: float
    kkt_violation: float
    n_kernel_evals: int
    centered: bool = False  # the rows were, so that rounding was relative to their spread

    @property
    def duality_gap(self) -> float:
        """(primal - dual) / max(|primal|, |dual|)."""
        return relative_gap(self.primal_objective, self.dual_objective)
