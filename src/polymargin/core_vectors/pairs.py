"""Two-class core vector machines, one per pair of classes: the baseline of the paper (Tsang et al. 2005, its eq. 4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..fitting.examples import Examples
from ..kernels import some_of
from ..training.pair_codes import all_pairs
from ..training.problem import Coefficients
from .growth import Growth
from .options import CoreLimits
from .search import Form, Model
from .whole import learn

SEVERITY = ("solved", "epsilon", "stalled", "large_core", "max_iter", "time_limit", "interrupted")


@dataclass
class PairFits:
    """The machines of the pairs, in order, as far as they were started."""

    pairs: np.ndarray
    fits: list[Growth]

    @property
    def worst(self) -> Growth:
        """The one whose report is that of all."""
        return max(self.fits, key=lambda fit: SEVERITY.index(fit.status))

    @cached_property
    def cores(self) -> list[tuple[Model, float, float]]:
        """Model, primal value and margin of each."""
        return [fit.certified() for fit in self.fits]

    @property
    def values(self) -> tuple[float, float]:
        """Primal and dual value of all pairs together; nothing is known of a pair that was not started."""
        if len(self.fits) < len(self.pairs):
            return np.inf, -np.inf
        return float(sum(primal for _, primal, _ in self.cores)), float(sum(core.dual for core, _, _ in self.cores))

    @property
    def radius(self) -> float:
        duals = (core.dual for core, _, _ in self.cores)
        return float(max(np.sqrt(max(f.kappa + dual, 0.0)) for f, dual in zip(self.fits, duals, strict=True)))

    def coefficients(self, regularized: bool) -> tuple[np.ndarray, Coefficients]:
        """The rows that are support vectors of any pair, and a row of coefficients per pair.

        A pair's score is positive for its first class.
        """
        used = np.unique(np.concatenate([core.rows.index for core, _, _ in self.cores]))
        B, intercept = np.zeros((len(self.pairs), len(used))), np.zeros(len(self.pairs))
        for k, (core, _, _) in enumerate(self.cores):
            signed = np.where(core.rows.y == 0, core.alpha, -core.alpha)
            B[k, np.searchsorted(used, core.rows.index)] = signed
            intercept[k] = signed.sum() if regularized else 0.0
        return used, Coefficients(alpha=np.ones(len(used)), intercept=intercept, B=B)


def fit_pairs(form_of: Callable[[float, Any], Form], e: Examples, limits: CoreLimits) -> PairFits:
    """Fit every pair of the classes on its own rows; form_of(their weight, some of them) is its problem."""
    pairs, fits = all_pairs(e.n_classes), []
    for k, (a, b) in enumerate(pairs):
        now = time.monotonic()
        share = now + (limits.deadline - now) / (len(pairs) - k)  # an even share of what is left
        own = np.flatnonzero((e.y == a) | (e.y == b))
        pair = Examples(e.X, e.rows[own], (e.y[own] == b).astype(np.int64), 2, e.weight[own], e.kernel)
        form = form_of(pair.weight.sum(), e.X[some_of(pair.rows)])
        fit = learn(form, pair, replace(limits, deadline=share))
        core = fit.certified()[0]
        core.rows.index = own[core.rows.index]
        fits.append(fit)
        if fit.signalled or fit.status == "interrupted":
            break
        if k + 1 < len(pairs) and time.monotonic() > limits.deadline:
            fit.status = "time_limit"
            break
    return PairFits(pairs, fits)
