"""One-versus-rest: a binary machine for every class, all on shared kernel values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..files.records import NAMES, stored
from .code_machines import BINARY, CONSTRAINTS, CodeClassifier
from .record import COLUMNS, check_columns


@stored(CONSTRAINTS, COLUMNS, NAMES, check_columns)
class OneVsRestSVC(CodeClassifier):
    r"""Kernel support vector machine with one binary machine per class, the class against all others.

    .. math:: \min_{w_c, b_c}\; \tfrac12 \|w_c\|^2 + C \sum_i \omega_i\, \ell(\xi_{ic}), \quad
        \pm (\langle w_c, \phi(x_i) \rangle + b_c) \ge 1 - \xi_{ic},

    the sign + for the rows of class c. The class with the largest score wins. All machines share their kernel values
    and run in parallel; two classes need one machine.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against the margin; infinity is the hard margin.
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

    See Also
    --------
    PairwiseSVC, OutputCodeSVC : other codes.
    JointSVC : `machine="ovr"` has the same problems without a free bias.

    References
    ----------
    .. [1] R. Rifkin and A. Klautau, "In defense of one-vs-all classification", JMLR 5, 2004.

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

    def _is_own(self, code: np.ndarray, n_classes: int) -> bool:
        width = 1 if n_classes == 2 else n_classes
        return code.shape == (n_classes, width) and np.array_equal(code, self._code(n_classes))
