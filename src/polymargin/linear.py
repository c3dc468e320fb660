"""Linear machines whose own class shall exceed every other one (kesler, crammer-singer), trained in weight space.

    w_c = sum_i B[c, i] x_i,   f_c(x) = <w_c, x> + b_c

A step on one example changes the weights of its non-zero features and costs their number times the number of classes,
however many examples there are; the kernel engine's cost grows with them. `core/margins/linear_margins.hpp` has the
problem and the method.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _core
from .dual import Solution
from .kernels import as_data
from .runs import Run

FEW = 1024  # up to this many rows one working set of the kernel engine holds the whole problem, and is more exact


def pays(X: Any, n: int, n_classes: int, memory: float) -> bool:
    """Whether weights are the faster way: many rows, and these sparse or short beside a kernel row of n values."""
    sparse = sp.issparse(X) and 10 * X.nnz <= X.shape[0] * X.shape[1]
    short = 4 * X.shape[1] * n_classes <= n
    return n > FEW and (sparse or short) and 8 * n_classes * X.shape[1] <= memory


def solve(
    X: Any,
    rows: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    *,
    largest: bool,
    intercept: str,
    upper: np.ndarray,
    ridge: np.ndarray,
    tol: float,
    max_iter: int,
    time_limit: float | None,
    threads: int,
    random_state: Any = None,
    target: np.ndarray | None = None,
    D: np.ndarray | None = None,
    progress: Callable | None = None,
) -> Solution:
    """Minimise 1/2 sum_c |w_c|^2 + sum_i upper_i max_m (or sum_m) (target[y_i, m] + f_m(x_i) - f_y(x_i))_+.

    The examples are ``X[rows]`` with class indices ``y``. ``largest`` chooses the largest slack, else their sum;
    where ``upper`` is infinite the loss is the sum of squares of the slacks over 2 ``ridge``. ``target`` is the margin
    of class y over class m, (n_classes, n_classes), None for 1. ``D``, (n, n_classes), is the feasible point to start
    from, the transpose of B; it is changed in place.
    """
    start = time.monotonic()
    D = np.zeros((len(y), n_classes)) if D is None else D
    core = _core.LinearMarginSolver(
        as_data(X),
        np.ascontiguousarray(rows, dtype=np.int64),
        np.ascontiguousarray(y, dtype=np.int64),
        n_classes,
        largest,
        1.0 if intercept == "regularised" else 0.0,
        np.zeros(0) if target is None else np.ascontiguousarray(target, dtype=np.float64).ravel(),
        int(threads),
    )
    deadline = start + (np.inf if time_limit is None else time_limit)
    run = Run(core, tol, False, max_iter, deadline, progress)
    out = run.call(upper=upper, ridge=ridge, D=D, tol=tol, seed=seed_of(random_state))
    return Solution(
        alpha=-np.minimum(D.min(axis=1), 0.0), B=D.T, weights=out["weights"], intercept=out["intercept"], rho=1.0,
        status=out["status"], signalled=run.signalled, n_iter=run.n_iter, primal_objective=out["primal"],
        dual_objective=out["dual"], kkt_violation=out["violation"], n_kernel_evals=0,
        seconds=time.monotonic() - start,
    )  # fmt: skip


def seed_of(random_state: Any) -> int:
    """A seed for the core; None is always the same one, so that fits repeat."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(random_state) % 2**64
