"""Machines with a margin per example and class: table row -> quadratic program -> prototypes.

The variables are b[c, i], c a class and i an example: -alpha for the classes that shall stay below the reference,
+alpha for the own class where the machine asks it to stay above. `core/margins/margin_problem.hpp` has the program. The
prototypes are

    B[c, i] = b[c, i] - [c == y_i] sum_d b[d, i]     reference "own"
              b[c, i] - mean_d b[d, i]               "mean"
              b[c, i]                                "none"
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core, linear
from .dual import Solution, value_type
from .kernels import as_data
from .machines import LOSSES, Machine, Margins
from .runs import Run


def solve(
    machine: Machine,
    X,
    rows: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    kernel: dict,
    *,
    loss: str,
    C: float,
    intercept: str,
    solver: str,
    weight: np.ndarray,
    tol: float,
    max_iter: int,
    time_limit: float | None,
    memory: float,
    threads: int,
    B0: np.ndarray | None = None,
    random_state: Any = None,
    progress: Callable | None = None,
) -> Solution:
    """Train on ``X[rows]`` with class indices ``y`` and positive weights; ``B0`` are the coefficients to start from."""
    start = time.monotonic()
    margins, form, strength = machine.margins, LOSSES[loss], C * weight
    upper = strength if form.box else np.full(len(y), np.inf)
    ridge = 1 / (2 * margins.square * strength) if form.ridge else np.zeros(len(y))
    in_weights = solver == "auto" and margins.reference == "own" and kernel["kind"] == "linear"
    if in_weights and linear.pays(X, len(y), n_classes, memory):
        return linear.solve(
            X, rows, y, n_classes, largest=margins.largest, intercept=intercept, upper=upper, ridge=ridge, tol=tol,
            max_iter=max_iter, time_limit=time_limit, threads=threads, random_state=random_state,
            D=None if B0 is None else rows_of_prototypes(margins, B0, y, upper), progress=progress,
        )  # fmt: skip
    order = np.argsort(y, kind="stable")
    label = np.ascontiguousarray(y[order], dtype=np.int64)
    upper, ridge = upper[order], ridge[order]
    own_target = 0.0 if margins.own_target is None else float(margins.own_target(n_classes))
    if intercept == "regularised":
        kernel = {**kernel, "offset": 1.0}

    def attempt(dtype: str, b: np.ndarray) -> tuple[Run, dict]:
        core = _core.MarginSolver(
            as_data(X), kernel, np.ascontiguousarray(rows[order], dtype=np.int64), label, n_classes, margins.reference,
            own_target, margins.largest, dtype, float(memory), int(threads),
        )  # fmt: skip
        deadline = start + (np.inf if time_limit is None else time_limit)
        run = Run(core, tol, False, max_iter, deadline, progress)
        return run, run.call(upper=upper, ridge=ridge, b=b.ravel(), solver=solver, tol=tol)

    dtype = value_type(X, rows, kernel, strength, tol)
    begin = np.zeros((n_classes, len(y))) if B0 is None else variables(margins, B0[:, order], label, upper)
    run, out = attempt(dtype, begin)
    if out["status"] == "stalled" and dtype == "float32":
        run, out = attempt("float64", out["alpha"])
    b = out["alpha"].reshape(n_classes, -1)
    alpha, B = np.empty(len(y)), np.empty_like(b)
    alpha[order] = np.maximum(b.max(axis=0), -b.min(axis=0))
    B[:, order] = prototypes(margins, b, label)
    constants = B.sum(axis=1) if intercept == "regularised" else np.zeros(n_classes)
    return Solution(
        alpha=alpha, B=B, intercept=constants, rho=1.0, status=out["status"],
        signalled=run.signalled, n_iter=run.n_iter, primal_objective=out["primal"], dual_objective=out["dual"],
        kkt_violation=out["violation"], n_kernel_evals=int(run.core.evaluations), seconds=time.monotonic() - start,
    )  # fmt: skip


def prototypes(margins: Margins, b: np.ndarray, y: np.ndarray) -> np.ndarray:
    """B of the variables b, in their place: with many classes they are large."""
    if margins.reference == "mean":
        b -= b.mean(axis=0)
    elif margins.reference == "own":
        b[y, np.arange(len(y))] -= b.sum(axis=0)
    return b


def rows_of_prototypes(margins: Margins, B: np.ndarray, y: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """B made feasible, one row per example."""
    return np.ascontiguousarray(prototypes(margins, variables(margins, B, y, upper), y).T)


def variables(margins: Margins, B: np.ndarray, y: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Variables inside the bounds whose prototypes are B, if there are such; else feasible ones close to them."""
    i, b = np.arange(len(y)), B.copy()
    if margins.reference == "own":
        b[y, i] = 0.0
    elif margins.reference == "mean":
        if margins.own_target is None:
            b -= B[y, i]
        else:  # B leaves a common shift open: the objective grows with |b|, so the largest that the bounds allow
            others = np.where(y == np.arange(len(B))[:, None], np.inf, B).min(axis=0)
            shift = np.maximum(-B[y, i], -upper - others)
            if margins.largest and len(B) > 2:
                shift = np.maximum(shift, (2 * B[y, i] - B.sum(axis=0) - upper) / (len(B) - 2))
            b += shift
    own = np.zeros_like(b, dtype=bool)
    own[y, i] = True
    b = np.where(own, np.clip(b, 0, upper if margins.own_target else 0.0), np.clip(b, -upper, 0))
    if margins.largest:
        b *= np.minimum(1.0, upper / np.maximum(np.abs(b).sum(axis=0), 1e-300))
    return b
