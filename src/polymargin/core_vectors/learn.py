"""From examples in memory to core vectors: all at once where they are few, else by growing a core set."""

from __future__ import annotations

import numpy as np

from .. import _core, kernels
from ..fitting.examples import Examples
from ..training.certificates import relative_gap
from .growth import Growth, grow
from .options import CoreLimits
from .search import Form, Model, Rows, best_rho
from .sources import Arrays


def learn(form: Form, e: Examples, limits: CoreLimits, alpha: np.ndarray | None = None) -> Growth:
    """Solve the problem on examples, at once if their Gram matrix is small, else by growing a core set.

    The ball test is a matter of core sets, and a precomputed matrix is there already.
    """
    if form.kernel == "precomputed" or (8 * len(e) ** 2 <= limits.small and limits.epsilon is None):
        return exact(form, e, limits, alpha)
    used = e.X if len(e) == e.X.shape[0] else e.X[e.rows]
    source = Arrays(used, e.y, None if np.all(e.weight == 1) else e.weight)
    return grow(source, form, np.bincount(e.y, minlength=form.n_classes), limits, alpha)


def exact(form: Form, e: Examples, limits: CoreLimits, alpha: np.ndarray | None) -> Growth:
    """Solve the problem on all examples at once; the rows of the model are numbered from 0 in ``e.rows``."""
    X, rows, y, weight, order, segments = e.X, e.rows, e.y, e.weight, e.order, e.segments
    counts = np.diff(segments)
    ridge = (form.ridge / weight)[order]
    diagonal = _core.diagonal(kernels.as_data(X), form.record(X, X), e.sorted_rows, "float64")
    linear = 0.5 * diagonal if form.ball else np.zeros(len(y))
    fit = Growth(form, float((form.same * diagonal + ridge).max()), limits, np.bincount(y, minlength=form.n_classes))
    if alpha is None:
        alpha = np.zeros(len(y))
        alpha[order[segments[:-1][counts > 0]]] = 1 / np.count_nonzero(counts)
    solver = _core.DualSolver(
        kernels.as_data(X), form.record(X, X), e.sorted_rows, segments, form.same,
        form.other, "float64", float(fit.limits.memory), form.threads,
    )  # fmt: skip
    a, tol, upper = alpha[order], min(0.1 * fit.limits.tol, 1e-6), np.full(len(y), np.inf)
    fit.model = Model(Rows(order, None, y, weight), a, 0.0, 0.0, 0.0, 0.0)
    while True:
        out = solver.solve(
            linear, upper, ridge, "total", False, a, tol, True, max(fit.limits.max_iter - fit.n_iter, 0),
            fit.limits.left(), fit._asked if fit.limits.progress else None,
        )  # fmt: skip
        a, fit.n_iter = out["alpha"] / out["alpha"].sum(), fit.n_iter + out["n_iter"]
        s = out["gradient"] - ridge * out["alpha"]
        square, dual = float(a @ (s + linear)), float(a @ (linear - out["gradient"]))
        rho = best_rho(s, ridge)
        short = np.maximum(rho - s, 0)
        primal = square - 2 * rho + float(np.sum(short**2 / ridge) if form.ridge > 0 else 0.0)
        gap = relative_gap(primal, dual)
        used = np.flatnonzero(a > 0)
        at = order[used]
        core = Rows(at, None if form.kernel == "precomputed" else X[rows[at]], y[at], weight[at])
        mean, lowest = float(a @ out["gradient"]), float(out["gradient"].min())
        fit.model = Model(core, a[used], dual, square, mean, lowest)
        fit.best, fit.gap, fit.path = (fit.model, primal, rho), gap, [len(used)]
        fit.status, fit.signalled = out["status"], out["signalled"]
        if fit.status != "solved" or gap <= fit.limits.tol or tol < 1e-13:
            break
        tol *= 0.01
    if gap <= fit.limits.tol and fit.status != "interrupted":  # a limit may end the polishing of a solution
        fit.status = "solved"
    elif fit.status == "solved":
        fit.status = "stalled"
    fit.evaluations = int(solver.evaluations)
    fit.doubt(X, rows)
    return fit
