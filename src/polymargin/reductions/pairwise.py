"""One-versus-one: a binary machine for every pair of classes, all on shared kernel values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..files.records import NAMES, stored
from ..fitting.parameters import Name
from ..training.decisions import raised
from ..training.pair_codes import AllPairs, all_pairs, pair_code
from .code_machines import CONSTRAINTS as COMMON
from .code_machines import CodeClassifier
from .columns import Code
from .record import COLUMNS, PAIRS, check_coefficients, restore_pairs

CONSTRAINTS = {**COMMON, "decision": (Name(("max-wins", "dag")),)}


@stored(CONSTRAINTS, COLUMNS, NAMES, check_coefficients, PAIRS, restore_pairs)
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
        Weight of the losses against the margin; infinity is the hard margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        :math:`\ell(\xi)` is :math:`\xi` or :math:`\xi^2 / 2` (a ridge 1/C on the kernel matrix).
    decision : {"max-wins", "dag"}, default="max-wins"
        "max-wins": every pair gives a vote. "dag" [1]_: of the remaining classes, the first and the last meet and
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
        Threads; None means all cores, within OMP_NUM_THREADS and threadpoolctl's limits, and 1 in a joblib
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

    See Also
    --------
    OneVsRestSVC, OutputCodeSVC : other codes.
    JointSVC : one problem for all classes.
    sklearn.svm.SVC : the same machines.

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
    >>> model.pair_decision_function(X[:1]).shape, model.pairs_.tolist()
    ((1, 3), [[0, 1], [0, 2], [1, 2]])
    """

    _constraints = CONSTRAINTS

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

    def _code(self, n_classes: int) -> Code:
        return AllPairs(n_classes) if n_classes > 2 else all_pairs(n_classes)

    @property
    def pairs_(self) -> np.ndarray:
        """The classes of each pair, numbers into `classes_`: a positive score is for the first."""
        check_is_fitted(self)
        return np.asarray(self._columns)

    @property
    def code_(self) -> np.ndarray:
        """The pairs as a code of shape (n_classes, n_pairs): 1 for the first class of a pair, -1 for the second."""
        return pair_code(self.pairs_, len(self.classes_))

    def pair_decision_function(self, X: Any) -> np.ndarray:
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
        return self._raw_scores(X)

    def _rule(self) -> str:
        return self.decision

    def _class_error(self, doubt: float) -> float:
        """Votes in doubt are NaN; the tie-break of the others changes by a third of its sum of scores at most."""
        return doubt * (len(self.classes_) - 1) / 3

    def _class_scores(self, X: Any, dtype: str | None = None, doubt: float = 0.0) -> np.ndarray:
        model, T = self._model(X, dtype), len(self.classes_)
        S = _core.pair_votes(**model, classes=T, doubt=doubt if dtype == "float32" else 0.0)
        return raised(S, _core.dag_winners(**model, classes=T)) if self.decision == "dag" else S

    def predict(self, X: Any) -> np.ndarray:
        if self.decision == "dag" and hasattr(self, "classes_") and len(self.classes_) > 2:
            model = self._model(self._checked(X))
            return self.classes_[_core.dag_winners(**model, classes=len(self.classes_))]
        return super().predict(X)

    predict.__doc__ = CodeClassifier.predict.__doc__
