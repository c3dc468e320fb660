"""The linear structured multiclass machine: any loss between classes, or any outputs at all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import kernels
from ..files.records import NAMES, stored
from ..fitting.callbacks import CALLER, CallbackSupportMixin, with_callbacks
from ..fitting.checks import check_rows, check_sample_weight
from ..fitting.estimator import Estimator
from ..fitting.examples import TrainingSet, training_set
from ..fitting.frame import Frame
from ..fitting.hints import NoProbabilities
from ..fitting.limits import Limits
from ..fitting.parameters import NONE, POSITIVE, RUN, Array, Name, check_parameters
from ..fitting.resources import budget, threads
from ..fitting.scales import column_moments, warn_if_badly_scaled
from ..fitting.state import whole
from ..training.decisions import Decision, winners
from . import joint_maps
from .cutting_planes import Answer, minimize
from .record import STRUCTURED
from .row_steps import SMALL_PROBLEM, ClassLosses, Steps

CONSTRAINTS = {
    "C": (POSITIVE,),
    "loss_matrix": (NONE, Array("an array of shape (n_classes, n_classes)")),
    "rescaling": (Name(("margin", "slack")),),
    "algorithm": (Name(("auto", "one-slack", "n-slack")),),
    "intercept": (Name(("auto", "none", "regularized")),),
    "scaling": (Name(("unit", "svm-multiclass")),),
    **{name: RUN[name] for name in RUN if name != "memory"},
}


@stored({**CONSTRAINTS, "joint_map": (NONE,)}, STRUCTURED, NAMES)
class StructuredSVC(NoProbabilities, CallbackSupportMixin, ClassifierMixin, Estimator):
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
        in a tree of classes. None means 1 for all wrong classes.
    rescaling : {"margin", "slack"}, default="margin"
        What the loss scales.
    algorithm : {"auto", "one-slack", "n-slack"}, default="auto"
        Cutting planes with one slack [2]_ or one slack per row [1]_. "auto" is exact steps on one row after the other
        for margin rescaling, and for slack rescaling where all wrong classes have the same loss: in weight space, or
        on kernel values where that is faster. Otherwise, and for a `joint_map`, it is "one-slack".
    intercept : {"auto", "none", "regularized"}, default="auto"
        "regularized" adds a column of ones to X; "auto" is "regularized". Not used with a `joint_map`.
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
        Order of the rows in the sweeps; None means always the same.
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
        Rounds or sweeps, and the number of cuts at the end.
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

    See Also
    --------
    JointSVC : equal losses, with kernels.

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
            The fitted machine. Ctrl-C leaves the model reached so far, with `status_ = "interrupted"`, and is
            raised again; a fit that fails leaves the previous model.
        """
        begin = time.perf_counter()
        check_parameters(self, CONSTRAINTS)
        given = None
        if self.joint_map is None:
            given = training_set(self, X, y, sample_weight)
            data = given.data
        else:
            if len(X) != len(y) or len(y) == 0:
                raise ValueError(f"expected X and y to have the same positive length, got {len(X)} and {len(y)}")
            sample_weight = check_sample_weight(sample_weight, len(y))
            data = dict(X=X, y=y, metadata={"sample_weight": sample_weight})
        with Frame(self, begin, data) as frame:
            limits = frame.limits(threads(self.n_jobs), budget("auto"))
            answer = self._fit_map(X, y, sample_weight, limits) if given is None else self._fit_classes(given, limits)
            self._report(answer)
            frame.interrupted = answer.error is not None
        return self

    def _strength(self, weight: np.ndarray, total: float) -> np.ndarray:
        return weight * (self.C / total if self.scaling == "svm-multiclass" else self.C)

    def _fit_classes(self, given: TrainingSet, limits: Limits) -> Answer:
        X, rows, classes = given.X, given.rows, given.classes
        variance = column_moments(X, given.sample_weight)[1]
        warn_if_badly_scaled(X, variance, None, type(self).__name__, stacklevel=CALLER + 2)
        losses = ClassLosses(self._loss(len(classes)), self.rescaling, self.intercept != "none")
        w, B = self._last(len(classes), X.shape[1], X.shape[0]) if self.warm_start else (None, None)
        self._B = None
        examples = replace(given.examples(kernels.LINEAR), weight=self._strength(given.weight, given.plain.sum()))
        if self.algorithm == "auto" and (self.rescaling == "margin" or losses.level is not None):
            answer, W, B = Steps(losses, examples, limits).solve(None if B is None else B[:, rows])
            if self.warm_start:
                self._B = np.zeros((len(classes), X.shape[0]))
                self._B[:, rows] = B
        else:
            some = X if len(rows) == X.shape[0] else X[rows]
            some = joint_maps.with_ones(some) if losses.ones else some
            w = None if w is None else (w if losses.ones else w[:, :-1]).ravel()
            outputs = joint_maps.Classes(some, given.y, losses.loss, self.rescaling)
            answer = self._cut(outputs, examples.weight, w, limits)
            W = answer.w.reshape(len(classes), -1)
        self.classes_, self.loss_matrix_ = classes, losses.loss
        self.coef_ = np.ascontiguousarray(W[:, : X.shape[1]])
        self.intercept_ = W[:, -1].copy() if losses.ones else np.zeros(len(classes))
        return answer

    def _fit_map(self, X: Any, y: Any, sample_weight: np.ndarray, limits: Limits) -> Answer:
        strength = self._strength(sample_weight, sample_weight.sum())
        if self.scaling == "svm-multiclass":
            raise ValueError('expected scaling="unit" with a joint_map, got "svm-multiclass"; scale its loss instead')
        outputs = joint_maps.Mapped(self.joint_map, X, y, self.rescaling)
        last = getattr(self, "coef_", None)
        start = last if self.warm_start and last is not None and last.shape == (outputs.size,) else None
        answer = self._cut(outputs, strength, start, limits)
        self.coef_ = answer.w
        return answer

    def _last(self, n_classes: int, n_features: int, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Weights with intercepts, and B, of the last fit, as far as their shapes agree with this one."""
        W: Any = getattr(self, "coef_", None)
        B: Any = getattr(self, "_B", None)
        W = np.column_stack((W, self.intercept_)) if np.shape(W) == (n_classes, n_features) else None
        return W, B if np.shape(B) == (n_classes, n) else None

    def _cut(self, outputs: Any, strength: np.ndarray, start: np.ndarray | None, limits: Limits) -> Answer:
        """Cutting planes; with one slack its cap is 1 and the examples' weights are in the cut."""
        if self.algorithm == "n-slack":
            oracle, caps = joint_maps.n_slack(outputs), strength
        else:
            oracle, caps = joint_maps.one_slack(outputs, strength), np.ones(1)
        return minimize(oracle, outputs.size, caps, limits, start, polish=outputs.size * len(strength) <= SMALL_PROBLEM)

    def _loss(self, n_classes: int) -> np.ndarray:
        if self.loss_matrix is None:
            loss = 1.0 - np.eye(n_classes)
        else:
            loss = np.array(self.loss_matrix, dtype=np.float64)
            if loss.shape != (n_classes, n_classes):
                raise ValueError(
                    f"expected loss_matrix to have shape ({n_classes}, {n_classes}), a row and a column per class in "
                    f"the order of classes_, got shape {loss.shape}"
                )
            if not np.all(np.isfinite(loss) & (loss >= 0)) or np.any(np.diag(loss)) or not np.any(loss):
                raise ValueError(
                    "expected loss_matrix to be finite and >= 0, with zeros on the diagonal and some other number "
                    "off it, got other values; entry [y, c] is the loss of predicting c for y"
                )
        return 100.0 * loss if self.scaling == "svm-multiclass" else loss

    def _report(self, answer: Answer) -> None:
        self.status_, self.n_iter_, self.n_cuts_ = answer.status, int(answer.n_iter), int(answer.n_cuts)
        self.primal_objective_, self.dual_objective_ = answer.primal_objective, answer.dual_objective
        self.gap_path_ = answer.gap_path
        self.duality_gap_ = float(answer.gap_path[-1]) if answer.gap_path else float("inf")

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes, shape (n_samples, n_classes); for two classes `f_1 - f_0`, shape (n_samples,)."""
        check_is_fitted(self)
        if self.joint_map is not None:
            raise AttributeError("a joint_map has no scores of classes; use predict")
        X = check_rows(self, X, fit=False, precomputed=False)
        return self._decision()(np.asarray(X @ self.coef_.T) + self.intercept_)

    def _decision(self) -> Decision:
        return Decision(len(self.classes_))

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
        return self.classes_[winners(self.decision_function(X))]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
