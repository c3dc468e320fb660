"""Two-class core vector machines, one per pair of classes: the baseline of the paper (Tsang et al. 2005, its eq. 4)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .certificates import relative_gap
from .core_options import run_options, seed_of
from .core_set import Growth, learn
from .progress import Progress
from .reductions import all_pairs
from .state import keep

SEVERITY = ("solved", "epsilon", "stalled", "max_iter", "time_limit", "interrupted")


def fit_pairs(
    model: Any, begin: float, X: Any, rows: np.ndarray, y: np.ndarray, weight: np.ndarray, data: dict, small: float
) -> tuple[Growth, Progress]:
    """Fit every pair of the classes on its own rows; the worst of their reports is the report of all.

    `dual_coef_` has a row per pair and a column per support vector of any pair; a pair's score is positive for its
    first class.
    """
    pairs, fits = all_pairs(len(model.classes_)), []
    with Progress(model, model.tol, model.verbose, data) as bar:
        run = run_options(model, begin, bar, epsilon=model.epsilon)
        deadline = run["deadline"]
        for k, (a, b) in enumerate(pairs):
            now = time.monotonic()
            run["deadline"] = now + (deadline - now) / (len(pairs) - k)  # an even share of what is left
            own = np.flatnonzero((y == a) | (y == b))
            label = (y[own] == b).astype(np.int64)
            some = X[rows[own[:: max(1, len(own) // 1024)]]]
            form = model._form(2, model.gamma_, weight[own].sum(), some)
            fit = learn(form, X, rows[own], label, weight[own], seed_of(model.random_state), run, None, small)
            core = fit.certified()[0]
            core.rows.index = own[core.rows.index]
            fits.append(fit)
            if fit.signalled or fit.status == "interrupted":
                break
            if k + 1 < len(pairs) and time.monotonic() > deadline:
                fit.status = "time_limit"
                break
        worst = max(fits, key=lambda fit: SEVERITY.index(fit.status))
        worst.indefinite = any(fit.indefinite for fit in fits)
        set_pairs(model, fits, pairs, X, rows, y)
        if worst.indefinite:
            model.duality_gap_ = np.inf
        model.status_ = worst.status
        model.fit_seconds_ = time.perf_counter() - begin
        keep(model)
        bar.end(f"polymargin: {model._summary()}")
    return worst, bar


def set_pairs(model: Any, fits: list[Growth], pairs: np.ndarray, X: Any, rows: np.ndarray, y: np.ndarray) -> None:
    cores = [fit.certified() for fit in fits]
    used = np.unique(np.concatenate([core.rows.index for core, _, _ in cores]))
    B, intercept = np.zeros((len(pairs), len(used))), np.zeros(len(pairs))
    for k, (core, _, _) in enumerate(cores):
        signed = np.where(core.rows.y == 0, core.alpha, -core.alpha)
        B[k, np.searchsorted(used, core.rows.index)] = signed
        intercept[k] = signed.sum() if model.intercept == "regularised" else 0.0
    vars(model).pop("_kept", None)  # core vectors of a joint machine, of an earlier fit
    model.pairs_ = pairs
    model.rho_ = float(min(rho for _, _, rho in cores))
    model.n_iter_ = int(sum(fit.n_iter for fit in fits))
    if len(fits) == len(pairs):
        model.primal_objective_ = float(sum(primal for _, primal, _ in cores))
        model.dual_objective_ = float(sum(core.dual for core, _, _ in cores))
        model.duality_gap_ = float(relative_gap(model.primal_objective_, model.dual_objective_))
        model.kkt_violation_ = float(max(fit.gap for fit in fits))
    else:  # nothing is known of the pairs that were not begun
        model.primal_objective_ = model.duality_gap_ = model.kkt_violation_ = float("inf")
        model.dual_objective_ = -float("inf")
    model.radius_ = float(max(np.sqrt(max(f.kappa + c.dual, 0.0)) for f, (c, _, _) in zip(fits, cores, strict=True)))
    model.core_size_path_ = [len(core.alpha) for core, _, _ in cores]
    model.n_kernel_evals_ = int(sum(fit.evaluations for fit in fits))
    model._set_prototypes(X, rows[used], y[used], np.ones(len(used)), intercept, B)
    model.core_indices_ = model.support_
    model.n_support_ = np.bincount(y[used], minlength=len(model.classes_)).astype(np.int32)
