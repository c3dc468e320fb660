"""Machines with a margin per example and class: table row -> quadratic program -> prototypes.

The variables are b[c, i], c a class and i an example: -alpha for classes that are to stay below the reference,
+alpha for the own class where the machine asks it to stay above. `core/margins/margin_problem.hpp` has the program. The
prototypes are

    B[c, i] = b[c, i] - [c == y_i] sum_d b[d, i]     reference "own"
              b[c, i] - mean_d b[d, i]               "mean"
              b[c, i]                                "none"
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import _core
from ..fitting.examples import Examples
from ..fitting.limits import Limits
from ..kernels import as_data
from ..machines import Margins
from . import dual, linear, two_classes
from .certificates import EPS, squares
from .problem import Formulation, Solution
from .runs import Out, Run, in_precision, scrutiny, value_type


def solve(f: Formulation, e: Examples, limits: Limits, B0: np.ndarray | None = None) -> Solution:
    """Train a machine with a margin per example and class, from the coefficients `B0` if there are any."""
    margins, T, strength = f.machine.margins, e.n_classes, f.strength(e.weight, e.n_classes)
    upper = strength if f.form.box else np.full(len(e), np.inf)
    ridge = 1 / (2 * margins.square * strength) if f.form.ridge else np.zeros(len(e))
    in_weights = f.solver == "auto" and margins.reference == "own" and e.kernel["kind"] == "linear"
    if in_weights and linear.pays(e.X, len(e), T, limits.memory):
        losses = linear.LinearLosses(upper, ridge, margins.capped, f.intercept == "regularized")
        return linear.solve(losses, e, limits, None if B0 is None else rows_of_prototypes(margins, B0, e.y, upper))
    if (row := two_classes.binary(f, T)) is not None:
        found = dual.solve(row.formulation(f), e, limits, row.variables(B0))
        return row.solution(found, e.y, f.intercept)
    e = replace(e, kernel=f.kernel(e.kernel))
    order = e.order
    label = np.ascontiguousarray(e.y[order], dtype=np.int64)
    k = squares(e.X, e.rows, e.kernel)
    error = 0.0 if k is None else EPS * float(k.max(initial=0.0))
    own_target = 0.0 if margins.own_target is None else float(margins.own_target(T))

    run = Run(limits)

    def attempt(dtype: str, b: np.ndarray) -> Out:
        run.use(lambda: _core.MarginSolver(
            as_data(e.X), e.kernel, e.sorted_rows, label, T, margins.reference, own_target, margins.capped, dtype,
            float(limits.memory), limits.threads,
        ))  # fmt: skip
        at = dict(upper=upper[order], ridge=ridge[order], b=b.ravel(), solver=f.solver, tol=limits.tol)
        out = run.call(**at)
        known = np.isfinite(out["dual"])  # not where a stop left the machine of some of the rows, beyond the bounds
        if f.solver == "auto" and known and error * float(np.linalg.norm(out["alpha"])) > limits.tol:
            out |= run.recomputed(**at | {"b": out["alpha"]})
            if out["status"] == "solved" and out["violation"] > limits.tol:
                out["status"] = "stalled"
        return out

    begin = np.zeros((T, len(e))) if B0 is None else variables(margins, B0[:, order], label, upper[order])

    def norm(out: Out) -> float:
        """Of the variables of a class."""
        b = out["alpha"].reshape(T, -1)
        losses = (b != 0).any(axis=0) if margins.capped else np.count_nonzero(b, axis=0)
        slopes = strength[order] @ losses * (2 * margins.square if f.form.ridge else 1.0)
        largest = float(np.linalg.norm(b, axis=1).max())
        return largest * float(scrutiny(slopes, out["primal"], limits.tol, f.form.ridge))

    out = in_precision(attempt, value_type(e, strength, limits.tol), begin, lambda out: out["alpha"], norm)
    b = out["alpha"].reshape(T, -1)
    place = np.argsort(order)
    alpha = np.maximum(b.max(axis=0), -b.min(axis=0))[place]
    B = prototypes(margins, b, label)
    for row in B:  # fresh memory for the whole of it may take longer than a short fit
        row[:] = row[place]
    return Solution(
        alpha=alpha, B=B, intercept=B.sum(axis=1) if f.intercept == "regularized" else np.zeros(T), rho=1.0,
        status=out["status"], signalled=run.signalled, n_iter=run.n_iter, primal_objective=out["primal"],
        dual_objective=out["dual"], kkt_violation=out["violation"], n_kernel_evals=run.evaluations,
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
    """Variables inside the bounds whose prototypes are B if possible, else feasible ones close to them."""
    i, b = np.arange(len(y)), B.copy()
    if margins.reference == "own":
        b[y, i] = 0.0
    elif margins.reference == "mean":
        if margins.own_target is None:
            b -= B[y, i]
        else:  # B leaves a common shift open: the objective grows with |b|, so the largest that the bounds allow
            others = np.where(y == np.arange(len(B))[:, None], np.inf, B).min(axis=0)
            shift = np.maximum(-B[y, i], -upper - others)
            if margins.capped and len(B) > 2:
                shift = np.maximum(shift, (2 * B[y, i] - B.sum(axis=0) - upper) / (len(B) - 2))
            b += shift
    own = np.zeros_like(b, dtype=bool)
    own[y, i] = True
    b = np.where(own, np.clip(b, 0, upper if margins.own_target else 0.0), np.clip(b, -upper, 0))
    if margins.capped:
        b *= np.minimum(1.0, upper / np.maximum(np.abs(b).sum(axis=0), 1e-300))
    return b
