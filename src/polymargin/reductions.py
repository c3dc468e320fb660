"""One-versus-one and one-versus-rest: many binary machines on shared kernel values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from .checks import Name
from .code_machines import BINARY, CONSTRAINTS, CodeClassifier


def all_pairs(n_classes: int) -> np.ndarray:
    """The pairs (a, b), a < b, in the order (0, 1), (0, 2), ...; for two classes the second comes first."""
    if n_classes == 2:
        return np.array([[1, 0]])
    # Written in place: triu_indices would take a second for millions of pairs.
    pairs, at = np.empty((n_classes * (n_classes - 1) // 2, 2), dtype=np.int64), 0
    for a in range(n_classes - 1):
        end = at + n_classes - 1 - a
        pairs[at:end, 0], pairs[at:end, 1], at = a, np.arange(a + 1, n_classes), end
    return pairs


def are_all_pairs(pairs: np.ndarray | None, T: int) -> bool:
    """Whether these are the pairs of T classes; a file may name far more classes than it has pairs."""
    return pairs is not None and pairs.shape == (T * (T - 1) // 2, 2) and np.array_equal(pairs, all_pairs(T))


def pair_code(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """One column per pair: +1 for its first class, -1 for its second."""
    code, column = np.zeros((n_classes, len(pairs)), dtype=np.int8), np.arange(len(pairs))
    code[pairs[:, 0], column], code[pairs[:, 1], column] = 1, -1
    return code


def votes(F: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the pairs (a < b) plus s / (3 (|s| + 1)), s a class's sum of scores: less than half a vote."""
    total, s = np.zeros((len(F), n_classes)), np.zeros((len(F), n_classes))
    for f, (a, b) in zip(F.T, all_pairs(n_classes), strict=True):
        total[:, a] += f > 0
        total[:, b] += f <= 0
        s[:, a] += f
        s[:, b] -= f
    return total + s / (3 * (np.abs(s) + 1))


class PairwiseSVC(CodeClassifier):
    r"""Kernel support vector machine with one binary machine per pair of classes (one-versus-one).

    The machine of a pair, with :math:`y_i = 1` for the rows of its first class and -1 for those of its second, is
    LIBSVM's:

    .. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + C \sum_i \omega_i\, \ell(\xi_i), \quad
        y_i (\langle w, \phi(x_i) \rangle + b) \ge 1 - \xi_i

    At the same C, gamma and tol it is the model of scikit-learn's `SVC`. All machines share their kernel values and
    run in parallel.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against the margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        :math:`\ell(\xi)` is :math:`\xi` or :math:`\xi^2 / 2` (a ridge 1/C on the kernel matrix).
    decision : {"max-wins", "dag"}, default="max-wins"
        "max-wins": every pair gives a vote. "dag" [1]_: of the classes that are left, the first and the last meet and
        the loser leaves, so a row meets n_classes - 1 pairs.
    kernel : {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel values, of shape (n_X, n_Z).
    gamma : {"scale", "auto"}, float or array-like of shape (n_features,), default="scale"
        "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features. One number per feature is the ellipsoidal RBF.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel.
    class_weight : dict or "balanced", default=None
        Factors on C for the rows of a class; "balanced" gives all classes the same total weight.
    tol : float, default=1e-3
        Largest violation of the optimality conditions of any binary machine, LIBSVM's stopping rule.
    max_iter : int, default=10_000_000
        Largest number of steps of one binary machine; ordinary data stay far below.
    time_limit : float, default=None
        Seconds after which training stops.
    memory : "auto", int or str, default="auto"
        Memory for kernel values: bytes, or a string such as "512MB"; "auto" is half of the free memory.
    n_jobs : int, default=None
        Threads. None is all cores of the process, within OMP_NUM_THREADS and threadpoolctl's limits, and 1 in a joblib
        worker; -1 is all cores.
    warm_start : bool, default=False
        Start from the solution of the last fit, if that had as many rows and classes.
    random_state : int, default=None
        Not used: nothing is random here.
    verbose : int, default=0
        1 shows a progress bar (rich, on a terminal) or a log line every five seconds, 2 a line for every report of the
        solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    pairs_ : ndarray of shape (n_pairs, 2)
        The classes of each pair, numbers into `classes_`: a positive score is for the first. (Two classes are the pair
        (1, 0), so that their one score is positive for `classes_[1]`.)
    code_ : ndarray of shape (n_classes, n_pairs)
        The same as a code: 1 for the first class of a pair, -1 for the second.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors of any machine, increasing.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These rows; empty for `kernel="precomputed"`.
    n_support_ : ndarray of shape (n_classes,)
        Rows of each class with a coefficient above 1e-6 of its upper bound (squared hinge: of the largest coefficient).
    dual_coef_ : sparse CSR array of shape (n_pairs, n_SV)
        Coefficients, label times dual variable.
    intercept_ : ndarray of shape (n_pairs,)
        Biases; where an interval of them is optimal (small C, balanced weights), its middle.
    coef_ : ndarray of shape (n_pairs, n_features)
        Weight vectors for the linear kernel.
    gamma_ : float or ndarray of shape (n_features,)
        The kernel's gamma, None for kernels without one.
    status_ : {"solved", "max_iter", "time_limit", "stalled", "interrupted"}
        Why the solver stopped: the worst of all machines.
    n_iter_ : int
        Steps of all machines.
    primal_objective_, dual_objective_, duality_gap_ : float
        Sum of the machines' objectives (after "time_limit" perhaps an upper bound on it), the best lower bound on its
        minimum that was met, and their relative difference; infinite where a kernel is seen to be indefinite, or
        rounding hides the difference.
    kkt_violation_ : float
        The largest violation of the optimality conditions.
    n_kernel_evals_ : int
        Kernel values that were computed.
    fit_seconds_ : float
        Duration of `fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    References
    ----------
    .. [1] J. C. Platt, N. Cristianini and J. Shawe-Taylor, "Large margin DAGs for multiclass classification", NIPS
       1999.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import PairwiseSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PairwiseSVC(C=10).fit(X, y)
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> model.pair_decisions_(X[:1]).shape, model.pairs_.tolist()
    ((1, 3), [[0, 1], [0, 2], [1, 2]])
    """

    _constraints = {**CONSTRAINTS, "decision": (Name(("max-wins", "dag")),)}

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        decision: str = "max-wins",
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Mapping | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.decision = decision
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _code(self, n_classes: int) -> np.ndarray:
        return all_pairs(n_classes)

    @property
    def pairs_(self) -> np.ndarray:
        """The classes of each pair, numbers into `classes_`: a positive score is for the first."""
        check_is_fitted(self)
        return self._columns

    @property
    def code_(self) -> np.ndarray:
        """The pairs as a code of shape (n_classes, n_pairs): 1 for the first class of a pair, -1 for the second."""
        return pair_code(self.pairs_, len(self.classes_))

    def pair_decisions_(self, X: Any) -> np.ndarray:
        """Scores of the pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_pairs)
            In the order of `pairs_`; a positive score is for the pair's first class.
        """
        return self._column_scores(X)

    def _decide(self, F: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 2:
            return np.column_stack([-F[:, 0], F[:, 0]])
        return self._raised(votes(F, len(self.classes_)), lambda: dag(F, len(self.classes_)))

    def _class_scores(self, X: Any) -> np.ndarray:
        model, T = self._model(X), len(self.classes_)
        return self._raised(_core.pair_votes(**model, classes=T), lambda: _core.dag_winners(**model, classes=T))

    def _raised(self, S: np.ndarray, winners: Callable[[], np.ndarray]) -> np.ndarray:
        """DAG: where the winner has not the largest score, it is raised above the rest."""
        if self.decision == "dag":
            row, w = np.arange(len(S)), winners()
            S[row, w] = np.where(S.argmax(axis=1) == w, S[row, w], S.max(axis=1, initial=0.0) + 1 / 3)
        return S

    def predict(self, X: Any) -> np.ndarray:
        if self.decision == "dag" and hasattr(self, "classes_") and len(self.classes_) > 2:
            model = self._model(self._checked(X))
            return self.classes_[_core.dag_winners(**model, classes=len(self.classes_))]
        return super().predict(X)

    predict.__doc__ = CodeClassifier.predict.__doc__


def dag(F: np.ndarray, n_classes: int) -> np.ndarray:
    """The last class left when the first and the last of those that are left meet, again and again."""
    first, last = np.zeros(len(F), dtype=int), np.full(len(F), n_classes - 1)
    number, row = np.zeros((n_classes, n_classes), dtype=int), np.arange(len(F))
    number[tuple(all_pairs(n_classes).T)] = np.arange(F.shape[1])
    for _ in range(n_classes - 1):
        won = F[row, number[first, last]] > 0
        first, last = np.where(won, first, first + 1), np.where(won, last - 1, last)
    return first


class OneVsRestSVC(CodeClassifier):
    r"""Kernel support vector machine with one binary machine per class, the class against all others.

    .. math:: \min_{w_c, b_c}\; \tfrac12 \|w_c\|^2 + C \sum_i \omega_i\, \ell(\xi_{ic}), \quad
        \pm (\langle w_c, \phi(x_i) \rangle + b_c) \ge 1 - \xi_{ic},

    the sign + for the rows of class c. The class with the largest score wins. All machines share their kernel values
    and run in parallel; two classes need one machine.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against the margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        :math:`\ell(\xi)` is :math:`\xi` or :math:`\xi^2 / 2` (a ridge 1/C on the kernel matrix).
    kernel : {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel values, of shape (n_X, n_Z).
    gamma : {"scale", "auto"}, float or array-like of shape (n_features,), default="scale"
        "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features. One number per feature is the ellipsoidal RBF.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel.
    class_weight : dict or "balanced", default=None
        Factors on C for the rows of a class; "balanced" gives all classes the same total weight.
    tol : float, default=1e-3
        Largest violation of the optimality conditions of any binary machine, LIBSVM's stopping rule.
    max_iter : int, default=10_000_000
        Largest number of steps of one binary machine; ordinary data stay far below.
    time_limit : float, default=None
        Seconds after which training stops.
    memory : "auto", int or str, default="auto"
        Memory for kernel values: bytes, or a string such as "512MB"; "auto" is half of the free memory.
    n_jobs : int, default=None
        Threads. None is all cores of the process, within OMP_NUM_THREADS and threadpoolctl's limits, and 1 in a joblib
        worker; -1 is all cores.
    warm_start : bool, default=False
        Start from the solution of the last fit, if that had as many rows and classes.
    random_state : int, default=None
        Not used: nothing is random here.
    verbose : int, default=0
        1 shows a progress bar (rich, on a terminal) or a log line every five seconds, 2 a line for every report of the
        solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    code_ : ndarray of shape (n_classes, n_machines)
        What each class is in each machine: 1, -1, or 0 for not at all.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors of any machine, increasing.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These rows; empty for `kernel="precomputed"`.
    n_support_ : ndarray of shape (n_classes,)
        Rows of each class with a coefficient above 1e-6 of its upper bound (squared hinge: of the largest coefficient).
    dual_coef_ : sparse CSR array of shape (n_machines, n_SV)
        Coefficients, label times dual variable.
    intercept_ : ndarray of shape (n_machines,)
        Biases; where an interval of them is optimal (small C, balanced weights), its middle.
    coef_ : ndarray of shape (n_machines, n_features)
        Weight vectors for the linear kernel.
    gamma_ : float or ndarray of shape (n_features,)
        The kernel's gamma, None for kernels without one.
    status_ : {"solved", "max_iter", "time_limit", "stalled", "interrupted"}
        Why the solver stopped: the worst of all machines.
    n_iter_ : int
        Steps of all machines.
    primal_objective_, dual_objective_, duality_gap_ : float
        Sum of the machines' objectives (after "time_limit" perhaps an upper bound on it), the best lower bound on its
        minimum that was met, and their relative difference; infinite where a kernel is seen to be indefinite, or
        rounding hides the difference.
    kkt_violation_ : float
        The largest violation of the optimality conditions.
    n_kernel_evals_ : int
        Kernel values that were computed.
    fit_seconds_ : float
        Duration of `fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import OneVsRestSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsRestSVC(C=10).fit(X, y)
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> model.decision_function(X[:1]).shape
    (1, 3)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Mapping | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _code(self, n_classes: int) -> np.ndarray:
        if n_classes == 2:
            return BINARY.copy()
        code = np.full((n_classes, n_classes), -1, dtype=np.int8)
        np.fill_diagonal(code, 1)
        return code

    def _decide(self, F: np.ndarray) -> np.ndarray:
        return np.column_stack([-F[:, 0], F[:, 0]]) if F.shape[1] == 1 else F
