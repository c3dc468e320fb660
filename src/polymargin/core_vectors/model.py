"""What core vector machines share in every way to fit them: the problem from the parameters, and what a fit leaves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import kernels
from ..fitting.callbacks import CALLER, CallbackSupportMixin
from ..fitting.examples import Examples
from ..fitting.frame import WHAT_TO_DO, Frame
from ..fitting.parameters import BOOL, KERNEL, NONE, POSITIVE, RUN, Name, Number, check_parameters
from ..fitting.resources import threads
from ..fitting.scales import unit_rows
from ..training.certificates import claim_less, core_error, relative_gap
from ..training.decisions import Decision, winners
from ..training.problem import Coefficients
from ..training.prototypes import PrototypeClassifier
from .growth import Growth
from .pairs import PairFits
from .search import Form, Rows

# <y, y'> of the label vectors for T classes: equal and different classes.
CODES = {
    "simplex": lambda T: (1.0, -1.0 / (T - 1)),
    "printed": lambda T: (1.0, (3.0 * T - 4) / (T * (T - 1))),
}
CONSTRAINTS = {
    "C": (POSITIVE,),
    "nu": (NONE, POSITIVE),
    "epsilon": (NONE, POSITIVE),
    "code": (Name(tuple(CODES)),),
    "intercept": (Name(("none", "regularized")),),
    "scheme": (Name(("joint", "pairwise")),),
    "sample_size": (NONE, Number("a positive integer", least=1, integer=True)),
    "max_core": (NONE, Number("a positive integer", least=1, integer=True)),
    "normalize": (BOOL,),
    **KERNEL,
    **RUN,
}
ADVICE = WHAT_TO_DO | {
    "max_iter": "raise max_iter or max_core, raise C or lower nu (a large ridge makes every row a core vector), or "
    "accept a larger tol; warm_start=True continues from here; where classes overlap use LandmarkSVC",
    "time_limit": "raise time_limit, give more threads, or accept a larger tol; warm_start=True continues from here",
    "large_core": "the classes overlap, so that the core set does not stay small; use LandmarkSVC, whose time grows "
    "only like the number of rows, or raise max_core if it is to grow all the same",
}


class CoreModel(CallbackSupportMixin, PrototypeClassifier):
    """A core vector machine with the parameters of `CoreVectorSVC`."""

    def _check(self) -> None:
        check_parameters(self, CONSTRAINTS)
        if self.normalize and kernels.kind(self.kernel) in ("precomputed", "callable"):
            raise ValueError(
                f"expected a kernel of rows with normalize=True, got kernel={self.kernel!r}; scale the rows yourself"
            )

    def _unit(self, X: Any) -> Any:
        """Rows of unit length, if they are asked for."""
        return unit_rows(X) if self.normalize else X

    def _rows(self, X: Any) -> Any:
        return self._unit(super()._rows(X))

    def _form(self, n_classes: int, gamma: Any, total: float, some: Any) -> Form:
        """The problem on rows of this total weight; some of the rows decide on the arithmetic."""
        if self.code == "printed" and n_classes == 2:
            raise ValueError(
                'expected at least 3 classes with code="printed", got 2, for which its label vectors are equal; '
                'use code="simplex"'
            )
        same, other = CODES[self.code](n_classes)
        ridge = 1 / self.C if self.nu is None else self.nu * total
        offset = 1.0 if self.intercept == "regularized" else 0.0
        form = Form(
            kernels.Kernel(self.kernel, gamma, self.degree, self.coef0), offset, n_classes, same, other, float(ridge),
            threads=threads(self.n_jobs),
        )  # fmt: skip
        if self.kernel == "precomputed":
            return form
        largest = max(float(np.abs(form.diagonal(some)).max()), 1e-300)
        if self.nu is not None and ridge > 10 * largest:
            warnings.warn(
                f"the ridge nu * n = {ridge:.3g} is {ridge / largest:.0f} times k(x, x): the optimum is close to a "
                f"plain class mean with every row a core vector, and the ball test is passed by few rows of any kind; "
                f"use C, or a nu of about {largest / total:.1g}",
                UserWarning,
                stacklevel=CALLER + 2,
            )
        return form.rounded(some, self.tol)

    def _last_dual(self, rows: np.ndarray, n: int) -> np.ndarray | None:
        """The coefficients of the last fit on the used rows, if that had n rows."""
        if getattr(self, "shape_fit_", (None,))[0] != n or not hasattr(self, "dual_coef_"):
            return None
        start = np.zeros(n)
        start[self.support_[self.dual_coef_.indices]] = self.dual_coef_.data
        total = start[rows].sum()
        return start[rows] / total if total > 0 else None

    # ---- what a fit leaves ----

    def _set_model(self, frame: Frame, fit: Growth, numbers: np.ndarray | None) -> None:
        """The prototypes from the core vectors of the best model; `numbers` are those of the rows of the fit."""
        frame.interrupted, frame.indefinite, frame.note = fit.signalled, fit.indefinite, fit.note()
        model, primal, rho = fit.certified()
        self.rho_, self.status_, self.n_iter_ = float(rho), fit.status, int(fit.n_iter)
        self.primal_objective_, self.dual_objective_ = float(primal), float(model.dual)
        self.duality_gap_ = self.kkt_violation_ = float(fit.gap)
        self.radius_ = float(np.sqrt(max(fit.kappa + model.dual, 0.0)))
        self.core_size_path_ = list(fit.path)
        self.n_kernel_evals_ = int(fit.evaluations)
        order = np.argsort(model.rows.index, kind="stable")
        given = self.kernel == "precomputed"
        core, alpha = model.rows, model.alpha[order]
        y = core.y[order]
        found = Coefficients(alpha=alpha, intercept=self._intercepts(y, alpha))
        self._set_prototypes(None if given else core.X[order], np.arange(len(order)), y, found)
        self._claim_less([fit])
        self.support_ = core.index[order] if numbers is None else numbers[core.index[order]]
        self.core_indices_, self.n_seen_ = self.support_, self.shape_fit_[0]
        self.n_support_ = np.bincount(y[alpha > 1e-6 * alpha.max()], minlength=len(self.classes_)).astype(np.int32)
        self._kept = (Rows(self.support_, None if given else core.X[order], y, core.weight[order]), alpha)

    def _set_pairs(self, frame: Frame, found: PairFits, e: Examples) -> None:
        """Scores of all pairs: `dual_coef_` has a row per pair and a column per support vector of any of them."""
        worst = found.worst
        frame.interrupted, frame.indefinite = worst.signalled, any(fit.indefinite for fit in found.fits)
        frame.note = worst.note() and f" for the worst pair{worst.note()}"
        self.__dict__.pop("_kept", None)  # core vectors of a joint machine, of an earlier fit
        self.pairs_, self.status_ = found.pairs, worst.status
        self.rho_ = float(min(rho for _, _, rho in found.cores))
        self.n_iter_ = int(sum(fit.n_iter for fit in found.fits))
        self.primal_objective_, self.dual_objective_ = found.values
        known = np.isfinite(self.primal_objective_)
        self.duality_gap_ = float(relative_gap(*found.values)) if known else np.inf
        self.kkt_violation_ = float(max(fit.gap for fit in found.fits)) if known else np.inf
        self.radius_ = found.radius
        self.core_size_path_ = [len(core.alpha) for core, _, _ in found.cores]
        self.n_kernel_evals_ = int(sum(fit.evaluations for fit in found.fits))
        used, coefficients = found.coefficients(self.intercept == "regularized")
        self._set_prototypes(e.X, e.rows[used], e.y[used], coefficients)
        self._claim_less(found.fits)
        self.core_indices_ = self.support_
        self.n_support_ = np.bincount(e.y[used], minlength=len(self.classes_)).astype(np.int32)

    def _claim_less(self, fits: list[Growth]) -> None:
        """Withdraw what is claimed of models whose values rounding hides, times the ridge's inverse in the slacks."""
        if self.kernel == "precomputed":
            return
        record = kernels.Kernel.of(self).record()
        for fit in fits:
            model, primal, _ = fit.certified()
            weight = fit.counts.sum() * float(model.rows.weight.max())
            slope = 2 * weight / fit.form.ridge if fit.form.ridge > 0 else 0.0
            claim_less(self, core_error(model.rows.X, record, model.alpha, abs(primal), slope))

    def _intercepts(self, y: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        if self.intercept == "none":
            return np.zeros(len(self.classes_))
        return np.bincount(y, alpha, len(self.classes_))

    def _decision(self) -> Decision:
        pairs = self.scheme == "pairwise"
        return Decision(len(self.classes_), *((self.pairs_, "max-wins") if pairs else ()))

    def predict(self, X: Any) -> np.ndarray:
        if self.scheme == "joint":
            return super().predict(X)
        return self.classes_[winners(self.decision_function(X))]

    predict.__doc__ = PrototypeClassifier.predict.__doc__
