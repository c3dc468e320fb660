"""From a row of the table of machines to a quadratic program, and from its solution to a certified model.

    min  1/2 a'Qa - g'a + sum_i phi_i(a_i)     Q[i, j] = M(y_i, y_j) (k(x_i, x_j) + b0) + [i == j] r_i     0 <= a <= u

in the C form without further constraints, in the nu form with the sum of a fixed (T in all, or pi_c T in every class c
where the machine has an exact intercept). Inside this module the variables are sorted by class. Two classes take a
shorter way (`two_classes`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..fitting.examples import COPIED_ROWS, Examples
from ..fitting.limits import Limits
from ..kernels import as_data, is_far, value_error
from .certificates import EPS, squares
from .class_sums import Qp, exact_c_form, nu_form
from .problem import Formulation, Solution
from .runs import NO_MARGIN, Out, Run, in_precision, scrutiny, value_type
from .starting_points import start
from .two_classes import is_signed, signed_form


def solve(f: Formulation, e: Examples, limits: Limits, alpha0: np.ndarray | None = None) -> Solution:
    """Train a machine with one variable per example, from `alpha0` if there is one."""
    T, exact = e.n_classes, f.intercept == "exact"
    same, other = f.machine.label_kernel(T)
    signed = is_signed(f, T)
    # Equal class sums: the coefficients of w_c - wbar sum to zero, so shifting all rows changes no score.
    equal = exact and np.ptp(shares(f, T)) == 0
    kernel = f.kernel(e.kernel)
    kernel = {**kernel, "centered": bool(equal and kernel["kind"] == "linear" and is_far(e.X, e.rows))}
    e = replace(e, kernel=kernel)
    order = e.order
    strength = f.strength(e.weight[order], T)
    k = squares(e.X, e.rows, kernel)
    largest = 0.0 if k is None or kernel["centered"] else same * float(k.max(initial=0.0))
    least_margin = EPS * T * (same if k is None else largest)  # scores weigh kernel values by a, whose sum is T
    if f.nu is not None and kernel["kind"] == "precomputed":
        least_margin = max(least_margin, min(value_error(e.X, "precomputed") * T, NO_MARGIN) * largest)
    q = program(f, strength, e.segments)
    check_nu(f, e)

    run = Run(limits, f.nu is not None and not f.form.entropy, largest, least_margin)

    def attempt(dtype: str, begin: np.ndarray | None) -> Out:
        run.use(lambda: _core.DualSolver(
            as_data(e.X), kernel, e.sorted_rows, e.segments, same, same if signed else other, dtype,
            float(limits.memory), limits.threads,
        ))  # fmt: skip
        if signed:
            return signed_form(run, q, begin, exact)
        if f.nu is not None:
            return nu_form(run, q, begin, T, shares(f, T) if exact else None)
        if exact:
            return exact_c_form(run, q, begin, T, shares(f, T))
        return run.solve(q, start(q, begin)) | {"b": np.zeros(T), "rho": 1.0, "extra": 0.0}

    begin = None if alpha0 is None else np.asarray(alpha0, dtype=np.float64)[order]

    def norm(out: Out) -> float:
        a = out["alpha"]
        size = max(abs(out["primal"]), abs(out["dual"]), 0.0 if f.nu is None else T * out["rho"])
        slopes = a.sum() if f.form.entropy else strength @ (a > 0)
        unit = 1.0 if f.nu is None else run.unit(out)
        return float(np.linalg.norm(a) / unit * scrutiny(slopes, size, limits.tol, f.form.ridge))

    def point(out: Out) -> np.ndarray | None:  # with a ridge, Newton's method from the start is quicker than steps
        return begin if f.form.ridge and out["status"] == "solved" else out["alpha"]

    out = in_precision(attempt, value_type(e, strength, limits.tol), begin, point, norm)
    if out["status"] == "no_margin" and f.nu is None:
        out["status"] = "stalled"
    alpha, b = np.empty(len(e)), out["b"]
    alpha[order] = out["alpha"]
    if kernel["centered"]:
        b = b - moved_back(e, out["alpha"], run.core.center)
    if f.intercept == "regularized":
        b = np.add.reduceat(out["alpha"], e.segments[:-1])
    return Solution(
        alpha=alpha, intercept=b, rho=out["rho"], status=out["status"], signalled=run.signalled, n_iter=run.n_iter,
        primal_objective=out["primal"], dual_objective=out["dual"], kkt_violation=out["violation"] + abs(out["extra"]),
        n_kernel_evals=run.evaluations, centered=kernel["centered"],
    )  # fmt: skip


def program(f: Formulation, strength: np.ndarray, segments: np.ndarray) -> Qp:
    n, form = len(strength), f.form
    return Qp(
        linear=np.full(n, form.target if f.nu is None else 0.0),
        upper=strength.copy() if form.box else np.full(n, np.inf),
        ridge=1 / strength if form.ridge else np.zeros(n),
        segments=segments,
        entropy=form.entropy,
    )


def shares(f: Formulation, T: int) -> np.ndarray:
    """pi_c, the share of each class in the sum of all variables."""
    return np.full(T, 1 / T) if f.priors is None else np.asarray(f.priors, dtype=np.float64)


def check_nu(f: Formulation, e: Examples) -> None:
    """Is there a point inside the box with these sums? An infinite box always has one."""
    if f.nu is None or not f.form.box:
        return
    highest, exact = 1.0, f.intercept == "exact"
    if exact:
        share = np.bincount(e.y, e.weight, e.n_classes) / e.weight.sum()
        highest = float(np.min(share / shares(f, e.n_classes)))
    if f.nu > highest * (1 + 1e-12) or (f.form.entropy and f.nu >= highest):
        edge = "below" if f.form.entropy else "at most"
        cause = " (T times the share of the smallest class)" if exact and f.priors is None else ""
        raise ValueError(
            f"expected nu to be positive and {edge} {highest:.6g}{cause} for these data, got {f.nu:g}, which is "
            "infeasible; lower nu, or use the C form (nu=None)"
        )


def moved_back(e: Examples, a: np.ndarray, center: np.ndarray) -> np.ndarray:
    """<w_c - wbar, center>: what the scores of the rows as they are have more than those of the centered rows.

    The coefficients of w_c - wbar sum to zero except for rounding, which counts as well: the rows may be far away.
    """
    X, rows, segments = e.X, e.rows[e.order], e.segments
    W = np.zeros((len(segments) - 1, len(center)))
    label = np.repeat(np.arange(len(W)), np.diff(segments))
    used = np.flatnonzero(a)
    for some in np.split(used, range(COPIED_ROWS, len(used), COPIED_ROWS)):
        places = (label[some], np.arange(len(some)))
        W += sp.csr_array((a[some], places), shape=(len(W), len(some))) @ (X[rows[some]] - center)
    usual = math.fsum(a) / len(W)
    W += np.multiply.outer([math.fsum((*part, -usual)) for part in np.split(a, segments[1:-1])], center)
    return (W - W.mean(axis=0)) @ center
