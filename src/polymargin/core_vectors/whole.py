"""Examples in memory: solved at once if they are few or most are core vectors, else by growing a core set."""

from __future__ import annotations

import numpy as np

from .. import _core, kernels
from ..fitting.examples import Examples
from ..training.certificates import relative_gap
from .growth import FINEST, Growth, grow
from .options import CoreLimits
from .search import Form, Model, Rows, best_rho
from .sources import Arrays

EXACT = 1e-6  # tolerance of a small problem, in parts of the margin
FIRST_TOL = 0.1  # of a large one; its gap is far smaller, as most of its variables are within that of their places
ROUNDING_SHARE = 0.25  # of the tolerance, that rounding of kernel values may take
DRIFT_SHARE = 0.01  # of the tolerance, that rounding of steps may take
EPS = float(np.finfo(np.float64).eps)
MOST_AT_ONCE = 50_000  # of which all may become core vectors unless `max_core` is given: half a minute on two cores
PAIR_BYTES = 2.0  # half of a matrix in float32
PAIR_SECONDS = 2e-8  # for each pair of rows, within which such a problem is solved


def learn(form: Form, e: Examples, limits: CoreLimits, alpha: np.ndarray | None = None) -> Growth:
    """Solve the problem on examples.

    The ball test is a matter of core sets, and a precomputed matrix is there already.
    """
    if form.kernel.name == "precomputed" or (8 * len(e) ** 2 <= limits.small and limits.epsilon is None):
        return small(form, e, limits, alpha)
    used = e.X if len(e) == e.X.shape[0] else e.X[e.rows]
    source = Arrays(used, e.y, None if np.all(e.weight == 1) else e.weight)
    may_be_whole = (
        limits.epsilon is None and has_free_scale(form) and (limits.max_core >= len(e) or bearable(limits, len(e)))
    )
    fit = grow(source, form, np.bincount(e.y, minlength=form.n_classes), limits, alpha, may_be_whole)
    return solve_whole(fit, e, alpha, FIRST_TOL) if fit.status == "dense" else fit


def bearable(limits: CoreLimits, n: int) -> bool:
    """Whether n rows may be solved at once although more than `max_core` of them may be core vectors.

    Where classes overlap, the machine of a sample is worse and takes hardly less time.
    """
    fits = PAIR_BYTES * n**2 <= limits.memory and PAIR_SECONDS * n**2 <= limits.left()
    return not limits.bounded and n <= MOST_AT_ONCE and fits


def has_free_scale(form: Form) -> bool:
    """Whether the sum of the coefficients may be left free: a'Qa over the simplex and 1/2 a'Qa - sum a over all a >= 0
    have the same solution up to its scale, and the second form can start at zero."""
    return form.ridge > 0 and not form.ball


def small(form: Form, e: Examples, limits: CoreLimits, alpha: np.ndarray | None) -> Growth:
    """In float64, to the optimum."""
    diagonal = _core.diagonal(kernels.as_data(e.X), form.record(e.X, e.X), e.sorted_rows, "float64")
    kappa = float((form.same * diagonal + (form.ridge / e.weight)[e.order]).max())
    fit = Growth(form.widened(), kappa, limits, np.diff(e.segments))
    if alpha is None:
        counts = np.diff(e.segments)
        alpha = np.zeros(len(e))
        alpha[e.order[e.segments[:-1][counts > 0]]] = 1 / np.count_nonzero(counts)
    fit.model = Model(Rows(e.order, None, e.y, e.weight), alpha[e.order], 0.0, 0.0, 0.0, 0.0)
    return solve_whole(fit, e, alpha, min(0.1 * limits.tol, EXACT))


def solve_whole(fit: Growth, e: Examples, alpha: np.ndarray | None, tol: float) -> Growth:
    """Solve the problem on all examples at once, from `alpha` or from zero, until the gap is small enough.

    The rows of the model are numbered from 0 in ``e.rows``.
    """
    scaled = alpha is not None  # the sum is 1
    begin = np.zeros(len(e)) if alpha is None else alpha[e.order]
    fit.status = "solved"
    while True:
        begin, tol = refine(fit, e, begin, scaled, tol)
        coarse = fit.gap > fit.limits.tol or 4 * fit.form.error > ROUNDING_SHARE * fit.limits.tol * abs(fit.model.dual)
        if not (fit.form.error > 0 and coarse and fit.status in ("solved", "stalled")):
            break
        fit.form = fit.form.widened()
    if fit.gap <= fit.limits.tol and fit.status != "interrupted":  # a limit may end the polishing of a solution
        fit.status = "solved"
    elif fit.status == "solved":
        fit.status = "stalled"
    fit.path.append(len(fit.model.alpha))
    fit.doubt(e.X, e.rows)
    return fit


def refine(fit: Growth, e: Examples, begin: np.ndarray, scaled: bool, tol: float) -> tuple[np.ndarray, float]:
    """Solve to tol, then finer and finer until the gap is small enough, with the kernel values of the fit's form.

    Returns the point, in the order of the classes, and the tolerance it was solved to.
    """
    solver = fit.form.solver(e.X, e.sorted_rows, e.segments, fit.limits.memory)
    ridge = (fit.form.ridge / e.weight)[e.order]
    linear, upper = linear_term(fit.form, e, scaled), np.full(len(e), np.inf)
    while True:
        out = solver.solve(
            linear, upper, ridge, "total" if scaled else "none", False, begin, tol, scaled,
            max(fit.limits.max_iter - fit.n_iter, 0), fit.limits.left(),
            fit._asked if fit.limits.progress else None,
        )  # fmt: skip
        begin, fit.n_iter, fit.signalled = out["alpha"], fit.n_iter + out["n_iter"], out["signalled"]
        fit.status = out["status"]
        # A stop on the way leaves the machine of some rows without scores: the core set's own is proven at least.
        if begin.any() and (scaled or np.isfinite(out["primal"])):
            judge(fit, e, begin, out["gradient"] if scaled else out["gradient"] + linear, ridge)
        if fit.status != "solved" or fit.gap <= fit.limits.tol or tol < FINEST:
            fit.evaluations += int(solver.evaluations)
            return begin, tol
        tol *= 0.01


def linear_term(form: Form, e: Examples, scaled: bool) -> np.ndarray:
    if not form.ball:
        return np.full(len(e), 0.0 if scaled else 1.0)
    return 0.5 * _core.diagonal(kernels.as_data(e.X), form.record(e.X, e.X), e.sorted_rows, "float64")


def judge(fit: Growth, e: Examples, alpha: np.ndarray, gradient: np.ndarray, ridge: np.ndarray) -> None:
    """The model of a point in the order of the classes, and its certificate; `gradient` is Qa - h."""
    form, total = fit.form, alpha.sum()
    a, g, linear = alpha / total, gradient / total, linear_term(form, e, True)
    used = np.flatnonzero(a > 0)
    at, given = e.order[used], form.kernel.name == "precomputed"
    core = Rows(at, None if given else e.X[e.rows[at]], e.y[at], e.weight[at])
    drift = EPS * fit.kappa * np.sqrt(fit.n_iter)  # of scores that steps have added up
    if not given and drift > DRIFT_SHARE * fit.limits.tol * abs(a @ (linear - g)):
        g = Model(core, a[used], 0.0, 0.0, 0.0, 0.0).scores(form, e.X[e.sorted_rows], e.y[e.order]) + ridge * a
    s = g - ridge * a
    square, dual = float(a @ (s + linear)), float(a @ (linear - g))
    rho = best_rho(s, ridge)
    short = np.maximum(rho - s, 0)
    primal = square + 4 * form.error - 2 * rho + float(np.sum(short**2 / ridge) if form.ridge > 0 else 0.0)
    fit.model = Model(core, a[used], dual, square, float(a @ g), float(g.min()))
    fit.best, fit.gap = (fit.model, primal, rho), relative_gap(primal, dual)
