"""The linear structured multiclass machine: any loss between classes, or any outputs at all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import joint_maps, kernels, linear, margins
from .certificates import relative_gap
from .checks import (
    NONE,
    POSITIVE,
    RUN,
    Array,
    Name,
    check_classes,
    check_parameters,
    check_rows,
    check_sample_weight,
    class_weights,
)
from .cutting_planes import Answer, minimise
from .machines import MACHINES
from .progress import CALLER, WHAT_TO_DO, CallbackSupportMixin, Progress, with_callbacks
from .prototypes import weights
from .resources import budget, threads
from .state import keep, whole

CONSTRAINTS = {
    "C": (POSITIVE,),
    "loss_matrix": (NONE, Array("an array of shape (n_classes, n_classes)")),
    "rescaling": (Name(("margin", "slack")),),
    "algorithm": (Name(("auto", "one-slack", "n-slack")),),
    "intercept": (Name(("auto", "none", "regularised")),),
    "scaling": (Name(("unit", "svm-multiclass")),),
    **{name: RUN[name] for name in RUN if name != "memory"},
}
OWN = MACHINES["crammer-singer"].margins
FEW = 5000  # numbers in all rows, times classes, up to which the problem is solved to rounding: it costs nothing
ROUNDING = 1e-9  # violation that is called so in the sweeps, in units of the largest loss
COARSE = 0.1  # largest violation at the end of the first attempt, in units of the largest loss
TIGHTEN = 0.2  # of it for the next attempt, until the gap is small enough: a small gap often comes long before


class StructuredSVC(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    r"""Linear structured support vector machine: a loss of its own for every pair of classes.

    With the scores :math:`f_c(x) = \langle w_c, x \rangle + b_c` and the loss :math:`\Delta(y, c)` of predicting c for
    y:

    .. math::

        \min_w\; & \tfrac12 \sum_c \left( \|w_c\|^2 + b_c^2 \right) + C \sum_i \omega_i\, \xi_i \\
        \text{margin rescaling:}\quad & \xi_i = \max_c\; \Delta(y_i, c) - f_{y_i}(x_i) + f_c(x_i) \\
        \text{slack rescaling:}\quad & \xi_i = \max_c\; \Delta(y_i, c) \left( 1 - f_{y_i}(x_i) + f_c(x_i) \right)

    Both bound the loss of the prediction. With :math:`\Delta = 1` for all wrong classes both are Crammer and Singer's
    machine, the one that [3]_ trains on the coordinates of a supervised Isomap (eq. 1 and 2).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    loss_matrix : array-like of shape (n_classes, n_classes), default=None
        :math:`\Delta`, row y and column c in the order of `classes_`, with zeros on the diagonal: costs, or distances
        in a tree of classes. None is 1 for all wrong classes.
    rescaling : {"margin", "slack"}, default="margin"
        What the loss scales.
    algorithm : {"auto", "one-slack", "n-slack"}, default="auto"
        Cutting planes with one slack [2]_ or one slack per row [1]_. "auto" is exact steps on one row after the other
        for margin rescaling, and for slack rescaling where all wrong classes have the same loss: in weight space, or
        on kernel values where that is faster. Otherwise, and for a `joint_map`, it is "one-slack".
    intercept : {"auto", "none", "regularised"}, default="auto"
        "regularised" adds a column of ones to X; "auto" is "regularised". Not used with a `joint_map`.
    scaling : {"unit", "svm-multiclass"}, default="unit"
        "svm-multiclass" is the scale of Joachims' SVM-multiclass: the loss times 100, and C divided by the number of
        rows (the sum of weights). It has no intercept: pass `intercept="none"` to reproduce its figures.
    joint_map : object, default=None
        A joint feature map of your own, with its loss and its argmax: see `polymargin.joint_maps.JointMap`. X and y are
        then passed on as they are, and may be any sequences; `loss_matrix` and `class_weight` are not used.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of a class.
    tol : float, default=1e-3
        Relative duality gap to reach; very small problems are solved to rounding.
    max_iter : int, default=10_000
        Largest number of rounds of cutting planes, or of sweeps: as many steps as there are rows.
    time_limit : float, default=None
        Seconds after which the solver stops.
    n_jobs : int, default=None
        Threads, as in `JointSVC`.
    warm_start : bool, default=False
        Start from the last fit: for "auto" from its dual solution (the rows must be the same in number and order,
        another C or loss is welcome), for cutting planes from its weights.
    random_state : int, default=None
        Order of the rows in the sweeps; None is always the same.
    verbose : int, default=0
        1 shows progress, 2 a line for every report of the solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted; not there with a `joint_map`.
    coef_ : ndarray of shape (n_classes, n_features)
        :math:`w_c`; with a `joint_map` the weights, of shape (size,).
    intercept_ : ndarray of shape (n_classes,)
        :math:`b_c`.
    loss_matrix_ : ndarray of shape (n_classes, n_classes)
        :math:`\Delta`, scaled.
    status_ : {"solved", "max_iter", "time_limit", "stalled", "interrupted"}
        Why the solver stopped.
    n_iter_, n_cuts_ : int
        Rounds or sweeps, and cuts in hand at the end.
    primal_objective_, dual_objective_, duality_gap_ : float
        Value of the problem above, the lower bound on its minimum, and their relative difference.
    gap_path_ : list of float
        The gap after every round of cutting planes; it never grows.
    fit_seconds_ : float
        Duration of `fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    References
    ----------
    .. [1] I. Tsochantaridis, T. Joachims, T. Hofmann and Y. Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005.
    .. [2] T. Joachims, T. Finley and C.-N. Yu, "Cutting-plane training of structural SVMs", Machine Learning 77, 2009.
    .. [3] C. Silva and B. Ribeiro, "Improving visualization, scalability and performance of multiclass problems with
       SVM manifold learning", ICANNGA 2009, LNCS 5495.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import StructuredSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> costs = [[0, 1, 1], [1, 0, 5], [1, 1, 0]]  # to take a versicolor for a virginica is bad
    >>> model = StructuredSVC(loss_matrix=costs).fit(X, y)
    >>> model.status_, model.predict(X[[0, 60, 120]])
    ('solved', array([0, 1, 2]))
    """

    def __init__(
        self,
        C: float = 1.0,
        loss_matrix: Any = None,
        rescaling: str = "margin",
        algorithm: str = "auto",
        *,
        intercept: str = "auto",
        scaling: str = "unit",
        joint_map: Any = None,
        class_weight: Mapping | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.loss_matrix = loss_matrix
        self.rescaling = rescaling
        self.algorithm = algorithm
        self.intercept = intercept
        self.scaling = scaling
        self.joint_map = joint_map
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuredSVC:
        """Learn the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows: 2 is the same as a repeated row, 0 the same as a removed one.

        Returns
        -------
        self : StructuredSVC
            The fitted machine. Ctrl-C leaves it fitted as far as it came, with `status_ = "interrupted"`, and is
            raised again; a fit that fails leaves the former model.
        """
        begin = time.perf_counter()
        check_parameters(self, CONSTRAINTS)
        if self.joint_map is None:
            X, y = check_rows(self, X, y, fit=True, precomputed=False)
        elif len(X) != len(y) or len(y) == 0:
            raise ValueError(f"X and y expected the same length > 0, and found {len(X)} and {len(y)}")
        sample_weight = check_sample_weight(sample_weight, len(y))
        data = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        with Progress(self, self.tol, self.verbose, data) as progress:
            told = progress if progress.wanted else None
            answer = (self._fit_classes if self.joint_map is None else self._fit_map)(X, y, sample_weight, told)
            self._report(answer)
            self.fit_seconds_ = time.perf_counter() - begin
            keep(self)
            progress.end(f"polymargin: {self._summary()}")
        error = answer.error or progress.error
        if error is not None:
            raise error
        if self.status_ != "solved":
            warnings.warn(f"{self._summary()}: {WHAT_TO_DO[self.status_]}.", ConvergenceWarning, stacklevel=CALLER)
        return self

    def _strength(self, weight: np.ndarray, total: float) -> np.ndarray:
        return weight * (self.C / total if self.scaling == "svm-multiclass" else self.C)

    def _fit_classes(self, X: Any, y: np.ndarray, sample_weight: np.ndarray, progress: Any) -> Answer:
        rows = np.flatnonzero(sample_weight)
        classes, label = check_classes(y, rows)
        loss = self._loss(len(classes))
        plain = sample_weight[rows]
        weight = plain * class_weights(self.class_weight, classes, label, plain)[label]
        strength = self._strength(weight, plain.sum())
        ones = self.intercept != "none"
        w, B = self._last(len(classes), X.shape[1], len(y)) if self.warm_start else (None, None)
        self._B = None
        if self.algorithm == "auto" and (self.rescaling == "margin" or common(loss) is not None):
            B = None if B is None else B[:, rows]
            answer, W, B = self._steps(X, rows, label, loss, strength, ones, B, progress)
            if self.warm_start:
                self._B = np.zeros((len(classes), len(y)))
                self._B[:, rows] = B
        else:
            some = X if len(rows) == len(y) else X[rows]
            outputs = joint_maps.Classes(joint_maps.with_ones(some) if ones else some, label, loss, self.rescaling)
            w = None if w is None else (w if ones else w[:, :-1]).ravel()
            answer = self._cut(outputs, strength, w, progress)
            W = answer.w.reshape(len(classes), -1)
        self.classes_, self.loss_matrix_ = classes, loss
        self.coef_ = np.ascontiguousarray(W[:, : X.shape[1]])
        self.intercept_ = W[:, -1].copy() if ones else np.zeros(len(classes))
        return answer

    def _fit_map(self, X: Any, y: Any, sample_weight: np.ndarray, progress: Any) -> Answer:
        strength = self._strength(sample_weight, sample_weight.sum())
        if self.scaling == "svm-multiclass":
            raise ValueError('a joint_map expected scaling="unit", and found "svm-multiclass": scale its loss instead')
        outputs = joint_maps.Mapped(self.joint_map, X, y, self.rescaling)
        last = getattr(self, "coef_", None)
        start = last if self.warm_start and last is not None and last.shape == (outputs.size,) else None
        answer = self._cut(outputs, strength, start, progress)
        self.coef_ = answer.w
        return answer

    def _last(self, n_classes: int, n_features: int, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Weights with intercepts, and B, of the last fit, as far as their shapes agree with this one."""
        W, B = getattr(self, "coef_", None), getattr(self, "_B", None)
        W = np.column_stack((W, self.intercept_)) if np.shape(W) == (n_classes, n_features) else None
        return W, B if np.shape(B) == (n_classes, n) else None

    def _cut(self, outputs: Any, strength: np.ndarray, start: np.ndarray | None, progress: Any) -> Answer:
        """Cutting planes; with one slack its cap is 1 and the examples' weights are in the cut."""
        if self.algorithm == "n-slack":
            oracle, caps = joint_maps.n_slack(outputs), strength
        else:
            oracle, caps = joint_maps.one_slack(outputs, strength), np.ones(1)
        limits = dict(tol=self.tol, max_iter=self.max_iter, time_limit=self.time_limit)
        polish = outputs.size * len(strength) <= FEW
        return minimise(oracle, outputs.size, caps, **limits, start=start, progress=progress, polish=polish)

    def _steps(self, X, rows, label, loss, strength, ones, start, progress) -> tuple[Answer, np.ndarray, np.ndarray]:
        """Exact steps on rows, at smaller and smaller tolerances until the gap is small enough: also the weights and B.

        Where all losses are one number c, slack rescaling is the machine of margin 1 with the strengths c C, and margin
        rescaling has c times the weights of that with C / c. It may be solved on kernel values, which is far faster
        where rows are long, or nearly all of them are far from the margin.
        """
        begin, n, memory, level = time.monotonic(), len(label), budget("auto"), common(loss)
        given = strength, loss
        size = level if level is not None and self.rescaling == "margin" else 1.0
        if level is not None:
            strength, loss = strength * (level / size**2), loss / level
        shared = dict(X=X, rows=rows, y=label, n_classes=len(loss), intercept="regularised" if ones else "none")
        shared |= dict(threads=threads(self.n_jobs), random_state=self.random_state, progress=progress)
        within = strength.sum() * joint_maps.largest_square(X) < 1  # no score reaches a margin: a few sweeps do
        if level is None or within or linear.pays(X, n, len(loss), memory):
            exact = dict(largest=True, upper=strength, ridge=np.zeros(n), target=loss)
            solve, sweep = partial(linear.solve, **shared, **exact), 1
        else:
            exact = dict(kernel=kernels.record("linear", None, 1, 0.0), loss="hinge", C=1.0, weight=strength)
            machine = MACHINES["crammer-singer"]
            solve, sweep = partial(margins.solve, machine, **shared, **exact, solver="auto", memory=memory), n
        tol, n_iter, B, tiny = COARSE * loss.max(), 0, start, X.shape[1] * n * len(loss) <= FEW
        while True:
            left = None if self.time_limit is None else max(self.time_limit - (time.monotonic() - begin), 0.0)
            D = np.zeros((n, len(loss))) if B is None else margins.rows_of_prototypes(OWN, B / size, label, strength)
            at = dict(D=D) if sweep == 1 else dict(B0=D.T)
            s = solve(tol=tol, max_iter=(self.max_iter - n_iter) * sweep, time_limit=left, **at)
            B, n_iter = size * s.B, n_iter + -(-s.n_iter // sweep)
            done = s.duality_gap <= self.tol and (tol < ROUNDING * loss.max() or not tiny)
            if s.status != "solved" or done or n_iter >= self.max_iter:
                break
            tol *= TIGHTEN
        W = size * (weights(X[rows], s.B) if s.weights is None else s.weights)
        W = np.column_stack((W, size * s.intercept)) if ones else W
        values, gap = (size**2 * s.primal_objective, size**2 * s.dual_objective), s.duality_gap
        if s.weights is None:  # what the weights that the model keeps are worth
            some = joint_maps.with_ones(X[rows]) if ones else X[rows]
            outputs = joint_maps.Classes(some, label, given[1], self.rescaling)
            values = float(0.5 * np.sum(W**2) + given[0] @ outputs.look(W)[0]), values[1]
            gap = relative_gap(*values)
        status = "solved" if gap <= self.tol and s.status != "interrupted" else s.status
        if status == "solved" and gap > self.tol:
            status = "max_iter" if n_iter >= self.max_iter else "stalled"
        return Answer(W.ravel(), status, n_iter, *values, [gap], 0, KeyboardInterrupt() if s.signalled else None), W, B

    def _loss(self, n_classes: int) -> np.ndarray:
        if self.loss_matrix is None:
            loss = 1.0 - np.eye(n_classes)
        else:
            loss = np.array(self.loss_matrix, dtype=np.float64)
            if loss.shape != (n_classes, n_classes):
                raise ValueError(
                    f"loss_matrix expected shape ({n_classes}, {n_classes}), a row and a column per class in the "
                    f"order of classes_, and found shape {loss.shape}"
                )
            if not np.all(np.isfinite(loss) & (loss >= 0)) or np.any(np.diag(loss)) or not np.any(loss):
                raise ValueError(
                    "loss_matrix expected finite numbers >= 0, zeros on the diagonal and something else off it, and "
                    "found others: entry [y, c] is the loss of predicting c for y"
                )
        return 100.0 * loss if self.scaling == "svm-multiclass" else loss

    def _report(self, answer: Answer) -> None:
        self.status_, self.n_iter_, self.n_cuts_ = answer.status, int(answer.n_iter), int(answer.n_cuts)
        self.primal_objective_, self.dual_objective_ = answer.primal_objective, answer.dual_objective
        self.gap_path_ = answer.gap_path
        self.duality_gap_ = float(answer.gap_path[-1]) if answer.gap_path else float("inf")

    def _summary(self) -> str:
        return (
            f"StructuredSVC ended with status {self.status_!r} after {self.n_iter_:,} rounds and "
            f"{self.fit_seconds_:.3g} s, with a duality gap of {self.duality_gap_:.1e} (tol={self.tol:g})"
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes, shape (n_samples, n_classes); for two classes `f_1 - f_0`, shape (n_samples,)."""
        check_is_fitted(self)
        if self.joint_map is not None:
            raise AttributeError("a joint_map has no scores of classes: use predict")
        X = check_rows(self, X, fit=False, precomputed=False)
        F = np.asarray(X @ self.coef_.T) + self.intercept_
        return F[:, 1] - F[:, 0] if len(self.classes_) == 2 else F

    def predict(self, X: Any) -> np.ndarray:
        """Outputs with the largest score; of equal ones the first in `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with a `joint_map` whatever that takes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, or what the `joint_map` returns.
        """
        check_is_fitted(self)
        if self.joint_map is not None:
            return self.joint_map.predict(X, self.coef_)
        F = self.decision_function(X)
        return self.classes_[(F > 0).astype(int) if F.ndim == 1 else np.argmax(F, axis=1)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def common(loss: np.ndarray) -> float | None:
    """The loss of every wrong class, if that is one number."""
    others = loss[~np.eye(len(loss), dtype=bool)]
    return float(others[0]) if np.all(others == others[0]) else None
