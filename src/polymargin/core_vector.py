"""The multiclass core vector machine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize as to_unit_length

from . import kernels
from .batches import Arrays
from .checks import (
    BOOL,
    KERNEL,
    NONE,
    POSITIVE,
    RUN,
    Name,
    Number,
    check_classes,
    check_parameters,
    check_rows,
    check_sample_weight,
    class_weights,
    column_moments,
    warn_if_badly_scaled,
)
from .core_search import Form
from .core_set import SMALL_GRAM, Growth, exact, grow, run_options, seed_of
from .progress import CALLER, CallbackSupportMixin, Progress, with_callbacks
from .prototypes import PrototypeClassifier
from .resources import threads

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
    "intercept": (Name(("none", "regularised")),),
    "scheme": (Name(("joint", "pairwise")),),
    "sample_size": (NONE, Number("an integer >= 1", least=1, integer=True)),
    "max_core": (Number("an integer >= 1", least=1, integer=True),),
    "normalize": (BOOL,),
    **KERNEL,
    **RUN,
}
WHAT_TO_DO = {
    "max_iter": "raise max_iter or max_core, raise C or lower nu (a large ridge makes every row a core vector), or "
    "accept a larger tol; warm_start=True goes on from here",
    "time_limit": "raise time_limit, give more threads, or accept a larger tol; warm_start=True goes on from here",
    "stalled": "rounding leaves nothing to gain: scale the columns of X (StandardScaler), lower C or accept a larger "
    "tol",
    "interrupted": "the model is the best so far; warm_start=True goes on from here",
    "epsilon": "the paper's ball test ended the fit before the gap reached tol: lower epsilon, or leave it None to "
    "stop on the gap alone",
}


class CoreVectorSVC(CallbackSupportMixin, PrototypeClassifier):
    r"""DOC"""

    def __init__(
        self,
        C: float = 1.0,
        *,
        nu: float | None = None,
        tol: float = 1e-2,
        epsilon: float | None = None,
        code: str = "simplex",
        intercept: str = "none",
        scheme: str = "joint",
        sample_size: int | None = 59,
        max_core: int = 20_000,
        normalize: bool = False,
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Mapping | str | None = None,
        max_iter: int = 10_000_000,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.nu = nu
        self.tol = tol
        self.epsilon = epsilon
        self.code = code
        self.intercept = intercept
        self.scheme = scheme
        self.sample_size = sample_size
        self.max_core = max_core
        self.normalize = normalize
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CoreVectorSVC:
        """FITDOC"""
        begin = time.perf_counter()
        self._check()
        X, y = check_rows(self, X, y, fit=True, precomputed=self.kernel == "precomputed")
        sample_weight = check_sample_weight(sample_weight, len(y))
        rows = np.flatnonzero(sample_weight)
        classes, y_used = check_classes(y, rows)
        plain = sample_weight[rows]
        weight = plain * class_weights(self.class_weight, classes, y_used, plain)[y_used]
        gamma = self._gamma(X, sample_weight)
        X = self._unit(X)
        form = self._form(len(classes), gamma, weight.sum(), X, rows)
        with Progress(self, self.tol, self.verbose, dict(X=X, y=y, metadata={"sample_weight": sample_weight})) as bar:
            run = run_options(self, begin, bar, epsilon=self.epsilon)
            whole = self.kernel == "precomputed" or (8 * len(rows) ** 2 <= SMALL_GRAM and self.epsilon is None)
            start = self._last_dual(rows, len(y)) if self.warm_start else None
            if whole:
                fit, alpha = exact(form, X, rows, y_used, weight, start, **run)
            else:
                even = weight.min() == weight.max() == 1.0
                used = X if len(rows) == len(y) else X[rows]
                source = Arrays(used, y_used, None if even else weight)
                counts = np.bincount(y_used, minlength=len(classes))
                fit = grow(source, form, counts, seed_of(self.random_state), run, start)
            self.classes_, self.gamma_, self.shape_fit_ = classes, gamma, X.shape
            self._set_report(fit)
            if whole:
                self._set_prototypes(X, rows, y_used, alpha, self._intercepts(y_used, alpha))
                self.n_support_ = counted(y_used, alpha, len(classes))
            else:
                self._set_core(fit, rows)
            self.core_indices_ = self.support_
            self.fit_seconds_ = time.perf_counter() - begin
            bar.end(f"polymargin: {self._summary()}")
        return self._finished(fit, bar)

    # ---- steps of a fit ----

    def _check(self) -> None:
        check_parameters(self, CONSTRAINTS)
        if self.normalize and kernels.kind(self.kernel) in ("precomputed", "callable"):
            raise ValueError(
                f"normalize=True expected a kernel of rows, and found kernel={self.kernel!r}: scale the rows yourself"
            )

    def _unit(self, X: Any) -> Any:
        """Rows of unit length, if they are asked for."""
        return to_unit_length(X) if self.normalize else X

    def _rows(self, X: Any) -> Any:
        return self._unit(super()._rows(X))

    def _gamma(self, X: Any, sample_weight: np.ndarray) -> Any:
        """The kernel's gamma; on the way the columns are looked at, and bad scaling is warned about."""
        if kernels.kind(self.kernel) in ("precomputed", "callable"):
            return None
        mean, variance = column_moments(X, sample_weight)
        gamma = kernels.resolve_gamma(self.kernel, self.gamma, mean, variance, X.shape[1])
        if not self.normalize:
            warn_if_badly_scaled(X, variance, gamma if np.ndim(gamma) else None, stacklevel=CALLER + 2)
        return gamma

    def _form(self, n_classes: int, gamma: Any, total: float, X: Any, rows: np.ndarray) -> Form:
        """The problem on rows of this total weight; some of the rows decide on the arithmetic."""
        if self.code == "printed" and n_classes == 2:
            raise ValueError(
                'code="printed" expected at least 3 classes, and found 2, for which its two label vectors are equal: '
                'use code="simplex"'
            )
        same, other = CODES[self.code](n_classes)
        ridge = 1 / self.C if self.nu is None else self.nu * total
        offset = 1.0 if self.intercept == "regularised" else 0.0
        form = Form(
            self.kernel, gamma, int(self.degree), float(self.coef0), offset, n_classes, same, other, float(ridge),
            threads=threads(self.n_jobs),
        )  # fmt: skip
        some = rows[:: max(1, len(rows) // 1024)]
        if self.kernel == "precomputed":
            return form
        largest = float(np.abs(form.diagonal(X[some])).max())
        if self.nu is not None and ridge > 10 * largest:
            warnings.warn(
                f"the ridge nu * n = {ridge:.3g} is {ridge / largest:.0f} times k(x, x): the optimum is close to a "
                f"plain class mean with every row a core vector, and the ball test is passed by few rows of any kind; "
                f"use C, or a nu of about {largest / total:.1g}",
                UserWarning,
                stacklevel=CALLER + 2,
            )
        error = kernels.float32_error(X, some, form.record(X, X)) if self.kernel in kernels.BOUNDED else np.inf
        return replace(form, error=error) if error < 1e-4 * self.tol else form

    def _last_dual(self, rows: np.ndarray, n: int) -> np.ndarray | None:
        """The coefficients of the last fit on the used rows, if that had n rows."""
        if getattr(self, "shape_fit_", (None,))[0] != n or not hasattr(self, "dual_coef_"):
            return None
        start = np.zeros(n)
        start[self.support_[self.dual_coef_.indices]] = self.dual_coef_.data
        total = start[rows].sum()
        return start[rows] / total if total > 0 else None

    # ---- what a fit leaves ----

    def _set_report(self, fit: Growth) -> None:
        model, primal, rho = fit.certified()
        self.rho_, self.status_, self.n_iter_ = float(rho), fit.status, int(fit.n_iter)
        self.primal_objective_, self.dual_objective_ = float(primal), float(model.dual)
        self.duality_gap_ = self.kkt_violation_ = float(fit.gap)
        self.radius_ = float(np.sqrt(max(fit.kappa + model.dual, 0.0)))
        self.core_size_path_ = list(fit.path)
        self.n_kernel_evals_ = int(fit.evaluations)

    def _set_core(self, fit: Growth, rows: np.ndarray | None) -> None:
        """The prototypes from the core vectors of the best model, in the order of their rows."""
        model = fit.certified()[0]
        order = np.argsort(model.rows.index, kind="stable")
        core, alpha = model.rows[order], model.alpha[order]
        self._set_prototypes(core.X, np.arange(len(core)), core.y, alpha, self._intercepts(core.y, alpha))
        self.support_ = core.index if rows is None else rows[core.index]
        self.n_support_ = counted(core.y, alpha, len(self.classes_))

    def _intercepts(self, y: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        if self.intercept == "none":
            return np.zeros(len(self.classes_))
        return np.bincount(y, alpha, len(self.classes_))

    def _binary_scale(self) -> float:
        return 1.0

    def _summary(self) -> str:
        return (
            f"{type(self).__name__} ended with status {self.status_!r} after {len(self.core_size_path_)} rounds and "
            f"{self.fit_seconds_:.3g} s, with {self.core_size_path_[-1] if self.core_size_path_ else 0:,} core vectors "
            f"and a duality gap of {self.duality_gap_:.1e} (tol={self.tol:g})"
        )

    def _finished(self, fit: Growth, bar: Progress) -> CoreVectorSVC:
        if fit.signalled:
            raise KeyboardInterrupt
        if bar.error is not None:
            raise bar.error
        if self.status_ not in ("solved", "epsilon"):
            warnings.warn(f"{self._summary()}: {WHAT_TO_DO[self.status_]}.", ConvergenceWarning, stacklevel=CALLER + 1)
        return self


def counted(y: np.ndarray, alpha: np.ndarray, n_classes: int) -> np.ndarray:
    """Rows of each class whose coefficient is not negligible."""
    return np.bincount(y[alpha > 1e-6 * alpha.max()], minlength=n_classes).astype(np.int32)
