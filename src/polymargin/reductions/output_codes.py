"""Error-correcting output codes: their design, their decoding, and the machine that uses them.

A code M has a row per class and a column per binary machine. Allwein, Schapire and Singer (2000): a row of scores f is
decoded to the class c whose row is closest, sum_l loss(M[c, l] f_l) being smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..files.records import NAMES, stored
from ..fitting.parameters import Array, Name
from ..training.decisions import DECODINGS
from .code_machines import BINARY, CodeClassifier
from .code_machines import CONSTRAINTS as COMMON
from .record import COLUMNS, check_columns

N_CODES = 250  # random codes; the best one is used
LISTED = 4  # times the number of columns needed: where no more distinct ones exist, all are listed
# Entries, drawn with equal probability, and columns per bit of a class's number.
KINDS = {"dense": ((-1, 1), 10), "sparse": ((-1, 0, 0, 1), 15)}


def two_sided(code: np.ndarray) -> np.ndarray:
    """Which columns have both signs."""
    return np.logical_and((code > 0).any(axis=0), (code < 0).any(axis=0))


def distinct(code: np.ndarray) -> np.ndarray:
    """The numbers of the two-sided columns, increasing; of equal or opposite ones only the first."""
    M = code.astype(np.float32)
    n = np.abs(M).sum(axis=0)
    twins = np.abs(M.T @ M) == np.maximum(n, n[:, None])  # only equal or opposite columns reach this product
    return np.flatnonzero(two_sided(code) & ~np.triu(twins, 1).any(axis=0))


def least_distance(code: np.ndarray) -> float:
    """The smallest distance of two rows, sum_l (1 - M[c, l] M[d, l]) / 2."""
    M = code.astype(np.float32)  # sums of this few entries are exact
    products = M @ M.T
    np.fill_diagonal(products, -np.inf)
    return float(M.shape[1] - products.max()) / 2


def every_column(n_classes: int, values: tuple[int, ...]) -> np.ndarray:
    """All two-sided columns; of opposite ones only the first."""
    code = np.stack(np.meshgrid(*[values] * n_classes, indexing="ij")).reshape(n_classes, -1).astype(np.int8)
    return code[:, distinct(code)]


def design(kind: str, n_classes: int, random_state: Any) -> np.ndarray:
    """A random code: "dense" has ceil(10 log2 T) columns of +-1, "sparse" ceil(15 log2 T) with 0 half of the time.

    No column is one-sided, equal to another one or opposite to it; of many codes the one with the largest smallest
    distance is taken, and of these the one in which the classes have the most equal numbers of entries: a class with
    more zeros than others loses to them, because a zero costs as much as a score of 0. Where there are no more distinct
    columns than that, the code is all of them.
    """
    if isinstance(random_state, int):
        return designed(kind, n_classes, random_state).copy()
    T = n_classes
    if T == 2:
        return BINARY.copy()
    entries, per_bit = KINDS[kind]
    n_columns = int(np.ceil(per_bit * np.log2(T)))
    n_distinct = 2 ** (T - 1) - 1 if kind == "dense" else (3**T - 2 ** (T + 1) + 1) // 2
    pool = every_column(T, tuple(sorted(set(entries)))) if n_distinct <= LISTED * n_columns else None
    if pool is not None and n_distinct <= n_columns:
        return pool
    rng = check_random_state(random_state)
    best, best_rank = np.zeros((T, 0), dtype=np.int8), (-1.0, 0)
    for _ in range(max(1, min(N_CODES, 2 * 10**8 // (T * T * n_columns)))):
        code = draw(rng, pool, T, n_columns, entries)
        distance = least_distance(code) if code.any(axis=1).all() else -0.5  # a class in no column is a last resort
        rank = distance, -int(np.ptp(np.count_nonzero(code, axis=1)))
        if rank > best_rank:
            best, best_rank = code, rank
    return best


@lru_cache(maxsize=64)
def designed(kind: str, n_classes: int, seed: int) -> np.ndarray:
    """The code of a seed, cached: drawing it takes longer than fitting a hundred rows."""
    return design(kind, n_classes, np.random.RandomState(seed))


def draw(rng: Any, pool: np.ndarray | None, T: int, n_columns: int, entries: tuple[int, ...]) -> np.ndarray:
    """Distinct columns with independent entries; where few columns exist, chosen from all of them as often."""
    if pool is not None:
        odds = np.prod([[entries.count(m) for m in row] for row in pool.tolist()], axis=0)
        return pool[:, np.sort(rng.choice(pool.shape[1], n_columns, replace=False, p=odds / odds.sum()))]
    code = np.zeros((T, 0), dtype=np.int8)
    while code.shape[1] < n_columns:
        more = np.array(entries, dtype=np.int8)[rng.randint(len(entries), size=(T, n_columns))]
        code = np.concatenate([code, more], axis=1)
        code = code[:, distinct(code)]
    return code[:, :n_columns]


def check_code(code: Any, n_classes: int) -> np.ndarray:
    """A given code as int8 of shape (n_classes, n_columns); of equal or opposite columns only the first."""
    M = np.asarray(code)
    if M.ndim != 2 or M.shape[0] != n_classes or M.shape[1] == 0:
        raise ValueError(
            f"expected code to have one row per class and at least one column, shape ({n_classes}, n_columns), got "
            f"shape {M.shape}; give the rows in the order of classes_"
        )
    if M.dtype.kind not in "iuf" or not np.isin(M, (-1, 0, 1)).all():
        raise ValueError("expected code to have the entries -1, 0 and 1, got other values; round or recode them")
    M = M.astype(np.int8)
    if not two_sided(M).all():
        found = int(np.argmin(two_sided(M)))
        raise ValueError(
            f"expected code to have 1 and -1 in every column, got only one of them in column {found}; drop it"
        )
    if len(np.unique(M, axis=0)) < n_classes:
        raise ValueError("expected code to have a different row for every class, got two equal rows; add columns")
    return M[:, distinct(M)]


CONSTRAINTS = {
    **COMMON,
    "code": (Name(("dense", "sparse")), Array("an array of -1, 0 and 1")),
    "decoding": (Name(tuple(DECODINGS)),),
}


@stored(CONSTRAINTS, COLUMNS, NAMES, check_columns)
class OutputCodeSVC(CodeClassifier):
    r"""Kernel support vector machine with one binary machine per column of an error-correcting output code.

    In column l a class is on the side 1, on the side -1 or, where the code has 0, absent. The machine of a column is

    .. math:: \min_{w, b}\; \tfrac12 \|w\|^2 + C \sum_i \omega_i\, \ell(\xi_i), \quad
        M_{y_i l} (\langle w, \phi(x_i) \rangle + b) \ge 1 - \xi_i

    and the class whose row of the code is closest to the scores wins [1]_. All machines share their kernel values and
    run in parallel.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against the margin; infinity is the hard margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        :math:`\ell(\xi)` is :math:`\xi` or :math:`\xi^2 / 2` (a ridge 1/C on the kernel matrix).
    code : {"dense", "sparse"} or array-like of shape (n_classes, n_columns), default="dense"
        "dense": ceil(10 log2 n_classes) random columns of 1 and -1; "sparse": ceil(15 log2 n_classes) columns with 0
        half of the time; the best of many random codes, or all distinct columns where fewer exist. An array has
        the entries -1, 0 and 1; of equal or opposite columns the first is used.
    decoding : {"exp", "hinge", "hamming"}, default="exp"
        The distance of scores f to a row of the code: the sum over the columns of :math:`e^{-M f}`,
        :math:`(1 - M f)_+` or :math:`(1 - M\, \mathrm{sign} f) / 2`. Class scores are minus the distance (minus its
        logarithm for "exp"; "hamming" has a tie-break from the scores of less than half a step).
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
        Seed of the random code.
    verbose : int, default=0
        1 shows a progress bar (rich, on a terminal) or a log line every five seconds, 2 a line for every report of the
        solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    code_ : ndarray of shape (n_classes, n_columns)
        What each class is in each machine: 1, -1, or 0 for not at all.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors of any machine, increasing.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These rows; empty for `kernel="precomputed"`.
    n_support_ : ndarray of shape (n_classes,)
        Rows of each class with a coefficient above 1e-6 of its upper bound (squared hinge: of the largest coefficient).
    dual_coef_ : sparse CSR array of shape (n_columns, n_SV)
        Coefficients, label times dual variable.
    intercept_ : ndarray of shape (n_columns,)
        Biases; where an interval of them is optimal (small C, balanced weights), its middle.
    coef_ : ndarray of shape (n_columns, n_features)
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
    PairwiseSVC, OneVsRestSVC : codes with names of their own.

    References
    ----------
    .. [1] E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing multiclass to binary: a unifying approach for margin
       classifiers", JMLR 1, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from polymargin import OutputCodeSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OutputCodeSVC(C=10, random_state=0).fit(X[:1000], y[:1000])
    >>> model.code_.shape, bool(model.score(X[1000:], y[1000:]) > 0.9)
    ((10, 34), True)
    """

    _constraints = CONSTRAINTS

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        code: Any = "dense",
        decoding: str = "exp",
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
        self.code = code
        self.decoding = decoding
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
        if isinstance(self.code, str):
            return design(self.code, n_classes, self.random_state)
        return check_code(self.code, n_classes)

    def code_decision_function(self, X: Any) -> np.ndarray:
        """Scores of the machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_columns)
            In the order of the columns of `code_`; a positive score is for the classes with 1.
        """
        return self._raw_scores(X)

    def _is_own(self, code: np.ndarray, n_classes: int) -> bool:
        return np.array_equal(code, check_code(code, n_classes))

    def _class_error(self, doubt: float) -> float:
        return np.inf  # a loss of scores may jump

    def _rule(self) -> str:
        return self.decoding
