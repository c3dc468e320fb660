"""What primal and dual values prove, and what rounding of kernel values leaves of it.

A score sum_j b_j k(x_i, x_j) of float64 values, |k_ij| <= sqrt(k_ii k_jj), is known up to some standard deviations of

    eps sqrt(k_ii sum_j k_jj b_j^2)

which far from the origin, or with values of 1e20, may be more than the margin. The primal value is known up to the sum
of these errors times the slopes of the losses. Where that is a large part of it, nothing tells "solved" from unsolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core, kernels
from ..fitting.examples import COPIED_ROWS, Examples
from ..machines import MACHINES

EPS = 8 * float(np.finfo(float).eps)  # eight standard deviations, or a few operations
MOST_ROUNDING = 1e-3  # largest share of the primal value that may be rounding error
MOST_GAP = 0.01  # of values that are believed where scores of coefficients are rounded and those of weights are not


def relative_gap(primal: float, dual: float) -> float:
    """(primal - dual) / max(|primal|, |dual|); infinite where one of them is unknown."""
    scale = max(abs(primal), abs(dual))
    if not np.isfinite(scale):
        return float("inf")
    return float(max(primal - dual, 0.0) / scale) if scale > 0 else 0.0


def rounding_matters(kernel: dict[str, Any]) -> bool:
    """Whether the values of a kernel have no bound."""
    return kernel["kind"] in (*kernels.GROWING, "precomputed")


def squares(X: Any, rows: np.ndarray, kernel: dict[str, Any]) -> np.ndarray | None:
    """k(x, x) of kernels whose values have no bound; None for the others, whose rounding does not matter."""
    if not rounding_matters(kernel):
        return None
    return np.abs(_core.diagonal(kernels.as_data(X), kernel | {"centered": False}, rows, "float64"))


@dataclass(frozen=True)
class Claim:
    """What a primal value is made of.

    B, (columns, n), are coefficients, dense or CSR; ``slopes``, (n,), those of the losses, or their factors where
    losses are squares; ``size`` is the primal value. W, (columns, d): scores come from these weights, not from B.
    """

    B: Any
    slopes: np.ndarray
    squared: bool
    size: float
    W: np.ndarray | None = None

    def is_hidden(self, error: np.ndarray, slopes: np.ndarray) -> bool:
        """Whether errors of scores are too large a share of the value; rounding of 1 - f itself is unavoidable."""
        if self.squared:  # sum slopes ((xi + error)^2 - xi^2) / 2, by Cauchy's inequality
            root = np.sqrt(float(slopes @ error**2))
            largest = max(MOST_ROUNDING * self.size, EPS**2 * float(slopes.sum()))
            return bool((np.sqrt(2 * self.size) + root) * root > largest)
        return float(slopes @ error) > max(MOST_ROUNDING * self.size, EPS * float(slopes.sum()))


def hiding_error(e: Examples, claim: Claim) -> float:
    """The error of a score, if it is a larger share of the primal value than a solved fit may have; else 0."""
    B, slopes = claim.B, claim.slopes
    k = squares(e.X, e.rows, e.kernel)
    if k is None or not len(k):
        return 0.0
    lengths = B.multiply(B) @ k if sp.issparse(B) else np.einsum("cj,cj,j->c", B, B, k)
    error = EPS * np.sqrt(k * float(np.max(lengths, initial=0.0)))
    if not claim.is_hidden(error, slopes):
        return 0.0
    slopes = slopes * (np.asarray(abs(B).sum(axis=0)).ravel() > 0)  # rows without a coefficient have no loss
    if claim.W is not None and claim.is_hidden(error, slopes):
        longest = np.abs(claim.W).max(axis=0)
        for at in range(0, len(e), COPIED_ROWS):
            error[at : at + COPIED_ROWS] = EPS * (abs(e.X[e.rows[at : at + COPIED_ROWS]]) @ longest)
    return float(error.max()) if claim.is_hidden(error, slopes) else 0.0


def core_error(X: Any, kernel: dict[str, Any], alpha: np.ndarray, size: float, slope: float = 0.0) -> float:
    """The same for a core vector machine with the coefficients alpha, which sum to one.

    ``slope`` is the sum of the factors of all squared slacks, which the errors of scores enter.
    """
    k = squares(X, np.arange(len(alpha)), kernel)
    if k is None or not len(k):
        return 0.0
    error = EPS * float(np.sqrt(k.max() * (k @ alpha**2)))
    slacks = Claim(None, np.array([slope]), squared=True, size=size)
    return error if error > MOST_ROUNDING * size or slacks.is_hidden(np.array([error]), slacks.slopes) else 0.0


def joint_error(est: Any, e: Examples, solution: Any, strength: np.ndarray) -> float:
    """`hiding_error` of a fitted joint machine."""
    margins, T, squared = MACHINES[est.machine].margins, len(est.classes_), est.loss == "squared_hinge"
    if margins:  # a slack per class, and squares are not halved
        strength = strength * (1 if margins.capped else T) * (2 * margins.square if squared else 1)
    B = solution.alpha[None, :] if solution.B is None else solution.B
    size = max(abs(est.primal_objective_), abs(est.dual_objective_), 0.0 if est.nu is None else T * est.rho_)
    # Weights make better scores, but values of a solved fit that are far apart were not made of them.
    W = None if est.status_ == "solved" and est.duality_gap_ > MOST_GAP else est._coef
    return hiding_error(e, Claim(B, strength, squared, size, W))


def claim_less(est: Any, error: float) -> None:
    """Withdraw the claims of a fit whose scores have an error that hides the truth."""
    if error > 0:
        est.status_ = "stalled" if est.status_ == "solved" else est.status_
        est.duality_gap_, est.kkt_violation_ = float("inf"), max(error, est.kkt_violation_)
