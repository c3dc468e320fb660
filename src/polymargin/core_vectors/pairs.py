"""Two-class core vector machines, one per pair of classes: the baseline of the paper (Tsang et al. 2005, its eq. 4)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..fitting.examples import Examples
from ..fitting.frame import Frame
from ..training.certificates import relative_gap
from ..training.pair_codes import all_pairs
from ..training.problem import Coefficients
from .growth import Growth
from .options import CoreLimits
from .whole import learn

SEVERITY = ("solved", "epsilon", "stalled", "large_core", "max_iter", "time_limit", "interrupted")


def fit_pairs(model: Any, frame: Frame, e: Examples, limits: CoreLimits) -> None:
    """Fit every pair of the classes on its own rows; the worst of their reports is the report of all.

    `dual_coef_` has a row per pair and a column per support vector of any pair; a pair's score is positive for its
    first class.
    """
    pairs, fits = all_pairs(e.n_classes), []
    for k, (a, b) in enumerate(pairs):
        now = time.monotonic()
        share = now + (limits.deadline - now) / (len(pairs) - k)  # an even share of what is left
        own = np.flatnonzero((e.y == a) | (e.y == b))
        pair = Examples(e.X, e.rows[own], (e.y[own] == b).astype(np.int64), 2, e.weight[own], e.kernel)
        some = e.X[pair.rows[:: max(1, len(own) // 1024)]]
        form = model._form(2, model.gamma_, pair.weight.sum(), some)
        fit = learn(form, pair, replace(limits, deadline=share))
        core = fit.certified()[0]
        core.rows.index = own[core.rows.index]
        fits.append(fit)
        if fit.signalled or fit.status == "interrupted":
            break
        if k + 1 < len(pairs) and time.monotonic() > limits.deadline:
            fit.status = "time_limit"
            break
    worst = max(fits, key=lambda fit: SEVERITY.index(fit.status))
    set_pairs(model, fits, pairs, e.X, e.rows, e.y)
    model.status_ = worst.status
    frame.interrupted, frame.indefinite = worst.signalled, any(fit.indefinite for fit in fits)
    frame.note = worst.note() and f" for the worst pair{worst.note()}"


def set_pairs(model: Any, fits: list[Growth], pairs: np.ndarray, X: Any, rows: np.ndarray, y: np.ndarray) -> None:
    cores = [fit.certified() for fit in fits]
    used = np.unique(np.concatenate([core.rows.index for core, _, _ in cores]))
    B, intercept = np.zeros((len(pairs), len(used))), np.zeros(len(pairs))
    for k, (core, _, _) in enumerate(cores):
        signed = np.where(core.rows.y == 0, core.alpha, -core.alpha)
        B[k, np.searchsorted(used, core.rows.index)] = signed
        intercept[k] = signed.sum() if model.intercept == "regularized" else 0.0
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
    found = Coefficients(alpha=np.ones(len(used)), intercept=intercept, B=B)
    model._set_prototypes(X, rows[used], y[used], found)
    model.core_indices_ = model.support_
    model.n_support_ = np.bincount(y[used], minlength=len(model.classes_)).astype(np.int32)
