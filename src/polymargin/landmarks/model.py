"""What the ways to fit a landmark machine share: checks, the task from the parameters, and what a fit leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..core_vectors.sources import Facts, begin_with, checked, is_mapped
from ..fitting.blas import one_thread
from ..fitting.callbacks import CallbackSupportMixin
from ..fitting.checks import check_classes, check_numbers, class_weights
from ..fitting.frame import WHAT_TO_DO, Frame
from ..fitting.parameters import KERNEL, POSITIVE, RUN, Array, Name, Number, check_offered, check_parameters
from ..fitting.resources import budget, threads
from ..machines import MACHINES
from ..training.decisions import Decision
from ..training.problem import Coefficients, Formulation
from ..training.prototypes import PrototypeClassifier
from .choice import Basis
from .kept import Kept, partial_rows
from .newton import expanded
from .streams import StreamForm, train_source
from .training import Fit, LandmarkTask, train

CHOICES = ("auto", "uniform", "k-means++", "cholesky")
CONSTRAINTS = {
    "machine": (Name(tuple(MACHINES)),),
    "loss": (Name(("hinge", "squared_hinge")),),
    "C": (POSITIVE,),
    "n_landmarks": (Name(("auto",)), Number("an integer >= 1", least=1, integer=True)),
    "landmarks": (Name(CHOICES), Array("an array of rows")),
    **KERNEL,
    **RUN,
}
ADVICE = WHAT_TO_DO | {
    "max_iter": "raise max_iter, scale the columns of X (StandardScaler), lower C or accept a larger tol",
    "time_limit": "raise time_limit, take fewer landmarks, or accept a larger tol",
    "interrupted": "the model is the best so far",
}


class LandmarkModel(CallbackSupportMixin, PrototypeClassifier):
    """A machine with the parameters of `LandmarkSVC`."""

    _any_rows = False  # landmarks are chosen by their numbers

    def _check(self) -> None:
        check_parameters(self, CONSTRAINTS)
        losses = [loss for loss in MACHINES[self.machine].losses if loss != "logistic"]
        check_offered("loss", self.loss, losses, self.machine)
        if self.kernel == "precomputed" and not isinstance(self.landmarks, str):
            raise ValueError(
                'expected landmarks to be "auto", "uniform", "k-means++" or "cholesky" with kernel="precomputed", got '
                "an array; kernel values are known between training rows only"
            )

    def _fit(self, begin: float, X: Any, y: np.ndarray, w: np.ndarray, last: Any, kept: Kept | None = None) -> Any:
        """Fit on rows in memory."""
        rows = np.flatnonzero(w)
        if kept is None:
            classes, y_used = check_classes(y, rows)
        else:
            classes, y_used = kept.classes, np.searchsorted(kept.classes, y[rows])
        plain = w[rows]
        weight = plain * class_weights(self.class_weight, classes, y_used, plain)[y_used]
        self.classes_, self.gamma_, self.shape_fit_ = classes, self._gamma(X, w), X.shape
        kernels.check_values(X, rows, self._record(X, X))
        dtype = self._arithmetic_of(X, rows)
        data = dict(X=X, y=y, metadata={"sample_weight": w})
        with Frame(self, begin, data, ADVICE, depth=1) as frame, one_thread():
            task = self._task(frame, dtype, X, rows, y_used, weight)
            fit = train(task, self._choice(task, last), self.n_landmarks)
            self._set_model(frame, task, fit, chosen=last is None and isinstance(self.landmarks, str))
        return self

    def _fit_source(self, begin: float, source: Any, facts: Facts, names: list[str] | None, last: Any) -> Any:
        """Fit on rows that come in blocks: from files, from an iterable, or from the workers of a cluster."""
        if self.kernel == "precomputed":
            raise ValueError(
                'expected a kernel of rows for rows that come in blocks, got kernel="precomputed"; pass arrays'
            )
        begin_with(self, source, facts, names)
        some = facts.some
        dtype = "float64" if facts.n <= 4096 else self._arithmetic_of(some, np.arange(some.shape[0]), few=0)
        with Frame(self, begin, dict(X=None, y=None, metadata={}), ADVICE, depth=1) as frame, one_thread():
            task = self._task(frame, dtype)
            form = StreamForm(kernels.Kernel.of(self), task.losses, task.f.C, dtype, threads=task.limits.threads)
            how = self._choice(task, last)
            fit = train_source(task, source, facts, form, how, self.n_landmarks)
            self._set_model(frame, task, fit, chosen=last is None and isinstance(self.landmarks, str))
        return self

    def _fit_once(self, begin: float, chunks: Any) -> Any:
        """An iterator that cannot be started again: what `partial_fit` would keep of it."""
        self.__dict__.pop("_kept", None)
        for chunk in chunks:
            self._kept = partial_rows(self, *checked(chunk), grows=True)
        kept = self.__dict__.pop("_kept", None)
        if kept is None:
            raise ValueError("expected at least one chunk with a row, got none; is the iterator used up?")
        return self._fit(begin, kept.X, kept.y, kept.weight, None)

    def _is_mapped(self, X: Any, y: Any) -> bool:
        """Whether the rows are a file that is too large to make anything as long as it."""
        return is_mapped(X, y) and X.nbytes > budget(self.memory) / 4 and self.kernel != "precomputed"

    def _task(
        self, frame: Frame, dtype: str, X: Any = None, rows: Any = None, y: Any = None, weight: Any = None
    ) -> LandmarkTask:
        f = Formulation(MACHINES[self.machine], self.loss, float(self.C), "regularized")
        limits = frame.limits(threads(self.n_jobs, self.shape_fit_[0] * 1e4), budget(self.memory))
        given = self.kernel == "precomputed"
        return LandmarkTask(f, limits, X, rows, y, weight, len(self.classes_), self._record, given, dtype)

    def _record(self, A: Any, B: Any) -> dict[str, Any]:
        return kernels.Kernel.of(self).record(A, B, False)

    def _arithmetic_of(self, X: Any, rows: np.ndarray, few: int = 4096) -> str:
        """float32 kernel values where they are bounded and tol allows it: the error of a score is some times theirs."""
        if self.kernel not in kernels.BOUNDED or len(rows) <= few or self.tol < 1e-5:
            return "float64"
        error = kernels.float32_error(X, kernels.some_of(rows), self._record(X, X))
        return "float32" if error < 1e-3 * self.tol else "float64"

    def _last_landmarks(self) -> Any:
        given = self.kernel == "precomputed" or not hasattr(self, "dual_coef_")
        return None if given else self.support_vectors_

    def _choice(self, task: LandmarkTask, last: Any) -> Any:
        """How landmarks are chosen, or those that are there."""
        Z = self.landmarks if last is None else last
        if isinstance(Z, str):
            return "k-means++" if Z == "auto" else Z
        Z = check_numbers(Z, "landmarks")
        if Z.shape[1] != self.n_features_in_:
            raise ValueError(
                f"expected landmarks to have {self.n_features_in_} features, as the rows have, got {Z.shape[1]}"
            )
        return Basis(Z, task.kernel, task.dtype).grown(np.arange(Z.shape[0]))

    def _set_model(self, frame: Frame, task: LandmarkTask, fit: Fit, chosen: bool) -> None:
        """What a fit leaves; `chosen`: landmarks are among its rows."""
        frame.interrupted = fit.signalled
        U, b = expanded(fit.basis.L, fit.W)
        B, at, T = U.reshape(len(b), -1), fit.basis.at, len(self.classes_)
        numbers = at if fit.basis.numbers is None else fit.basis.numbers[at]
        order = np.argsort(numbers)
        B, numbers = np.ascontiguousarray(B[:, order]), numbers[order]
        y_of = task.y[np.searchsorted(task.rows, numbers)] if chosen else B.argmax(axis=0)
        self.rho_ = 1.0
        Z = None if self.kernel == "precomputed" else fit.basis.Z
        self._set_prototypes(Z, at[order], y_of, Coefficients(alpha=np.ones(len(order)), intercept=b, B=B))
        self.support_ = numbers if task.numbers is None or not chosen else task.numbers[numbers]
        self.n_support_ = np.bincount(y_of, minlength=T).astype(np.int32)
        self.status_, self.n_iter_ = fit.status, int(fit.n_iter)
        self.primal_objective_, self.dual_objective_ = float(fit.primal), float(fit.dual)
        self.duality_gap_ = self.kkt_violation_ = float(fit.gap)
        if self.status_ == "solved" and not self.duality_gap_ <= self.tol:
            self.status_ = "stalled"
        self.n_kernel_evals_ = int(fit.evaluations)
        rng = np.random.default_rng(task.limits.seed)
        self.residual_ = fit.basis.residual(task.X, task.rows, task.weight, rng, task.limits.threads)
        frame.remark = None if MACHINES[self.machine].margins else self._overlap(task.X, task.rows, task.y)

    @property
    def landmarks_(self) -> Any:
        """The landmarks, shape (n_landmarks, n_features); empty for a precomputed kernel."""
        return self.support_vectors_

    def _decision(self) -> Decision:
        return Decision(len(self.classes_), scale=MACHINES[self.machine].binary_scale)
