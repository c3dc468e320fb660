"""Linear machines that ask the own class to exceed every other one (kesler, crammer-singer), trained in weight space.

    w_c = sum_i B[c, i] x_i,   f_c(x) = <w_c, x> + b_c

A step on one example changes the weights of its non-zero features and costs their number times the number of classes,
however many examples there are; the kernel engine's cost grows with them. `core/margins/linear_margins.hpp` has the
problem and the method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..fitting.examples import Examples
from ..fitting.limits import Limits
from ..kernels import as_data
from .problem import Solution
from .runs import Run

WHOLE_ROWS = 1024  # up to this many rows one working set of the kernel engine holds all of them, and is more exact


def pays(X: Any, n: int, n_classes: int, memory: float) -> bool:
    """Whether weights are faster: many rows that are sparse, or short compared with a kernel row of n values."""
    sparse = sp.issparse(X) and 10 * X.nnz <= X.shape[0] * X.shape[1]
    short = 4 * X.shape[1] * n_classes <= n
    return n > WHOLE_ROWS and (sparse or short) and 8 * n_classes * X.shape[1] <= memory


@dataclass(frozen=True)
class LinearLosses:
    """sum_i upper_i max_m (or sum_m) (target[y_i, m] + f_m(x_i) - f_y(x_i))_+, the largest slack or the sum of all.

    Where ``upper`` is infinite the loss is the sum of squares of the slacks over 2 ``ridge``. ``target`` is the margin
    of class y over class m, (n_classes, n_classes), None for 1. ``intercept``: the constants are regularized weights.
    """

    upper: np.ndarray
    ridge: np.ndarray
    capped: bool
    intercept: bool
    target: np.ndarray | None = None


def solve(losses: LinearLosses, e: Examples, limits: Limits, D: np.ndarray | None = None) -> Solution:
    """Minimize 1/2 sum_c |w_c|^2 + losses.

    ``D``, (n, n_classes), is the feasible point to start from, the transpose of B; it is changed in place.
    """
    D = np.zeros((len(e), e.n_classes)) if D is None else D
    target = np.zeros(0) if losses.target is None else np.ascontiguousarray(losses.target, dtype=np.float64).ravel()
    core = _core.LinearMarginSolver(
        as_data(e.X),
        np.ascontiguousarray(e.rows, dtype=np.int64),
        np.ascontiguousarray(e.y, dtype=np.int64),
        e.n_classes,
        losses.capped,
        float(losses.intercept),
        target,
        limits.threads,
    )
    run = Run(limits, core=core)
    out = run.call(upper=losses.upper, ridge=losses.ridge, D=D, tol=limits.tol, seed=limits.seed)
    return Solution(
        alpha=-np.minimum(D.min(axis=1), 0.0), B=D.T, weights=out["weights"], intercept=out["intercept"], rho=1.0,
        status=out["status"], signalled=run.signalled, n_iter=run.n_iter, primal_objective=out["primal"],
        dual_objective=out["dual"], kkt_violation=out["violation"], n_kernel_evals=0,
    )  # fmt: skip
