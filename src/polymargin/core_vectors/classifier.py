"""The multiclass core vector machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from .. import kernels
from ..files.records import NAMES, stored
from ..fitting.callbacks import with_callbacks
from ..fitting.examples import Examples, partial_set, training_set
from ..fitting.frame import Frame
from ..fitting.scales import unit_rows
from ..fitting.state import keep, whole
from . import options
from .distributed import source_of
from .growth import grow
from .model import ADVICE, CONSTRAINTS, CoreModel
from .options import core_limits
from .pairs import fit_pairs
from .record import CORE_VECTORS, check_core, restore_core
from .search import Rows, joined
from .sources import Facts, begin_with, is_mapped, opened
from .whole import learn


def learns_in_parts(model: Any) -> bool:
    """Whether `partial_fit` is there: not for pairs, a precomputed kernel or weights that need all labels."""
    return model.scheme == "joint" and model.kernel != "precomputed" and not isinstance(model.class_weight, str)


@stored(
    CONSTRAINTS,
    CORE_VECTORS,
    (*NAMES, "pairs_", "n_seen_", "kept_weight"),
    check_core,
    {"kept_weight": lambda model: model._kept[0].weight},
    restore_core,
)
class CoreVectorSVC(CoreModel):
    r"""Multiclass core vector machine: kernel classification of millions of rows with a certified gap.

    One vector per class as label, one margin per row [1]_. With T classes, label vectors :math:`v_c`, weights
    :math:`\omega_i` and the ridge :math:`r = 1/C` (or the paper's :math:`\nu \sum_i \omega_i`):

    .. math:: \min_{W, \rho, \xi}\; \sum_c \|w_c\|^2 - 2 \rho + \frac1r \sum_i \omega_i \xi_i^2, \qquad
        \langle v_{y_i}, W \phi(x_i) \rangle \ge \rho - \xi_i

    Its dual, :math:`\min_\alpha \alpha^\top Q \alpha` over the simplex with
    :math:`Q_{ij} = \langle v_{y_i}, v_{y_j} \rangle k(x_i, x_j) + [i = j]\, r / \omega_i`, is the problem of the
    smallest ball around the rows in the space of Q. It is solved on a core set that grows: on random samples first,
    then by passes over all rows, which find the rows farthest from the ball's center. Each pass also computes the
    primal value of the model, so the gap that ends the fit is proved on all rows. Memory is the data, where they are,
    the core set squared, and some blocks.

    Small problems (a Gram matrix within 64 MB) are solved as a whole.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks: the ridge is 1/C at every size of the data. Not used when `nu` is given.
    nu : float, default=None
        The paper's form, with the ridge nu times the total weight. It grows with the data: far above k(x, x) the
        optimum is a plain class mean, which is warned about.
    tol : float, default=1e-2
        Largest relative duality gap.
    epsilon : float, default=None
        The paper's stopping rule as well: end when no row lies outside of the ball of radius :math:`(1 + \epsilon) R`,
        with `status_ = "epsilon"`. It bounds the error by :math:`\epsilon R^2`, which may be many times the optimum:
        early stopping, see `duality_gap_`.
    code : {"simplex", "printed"}, default="simplex"
        Products of different label vectors: :math:`-1/(T-1)`, or :math:`(3T-4)/(T(T-1))` as the paper prints it.
    intercept : {"none", "regularized"}, default="none"
        "regularized": k + 1 takes the place of k, as in the paper.
    scheme : {"joint", "pairwise"}, default="joint"
        "pairwise": a two-class core vector machine for every pair of classes, and votes.
    sample_size : int, default=59
        Random rows that are looked at for every eight core vectors before a pass over all rows; the classes take turns.
        None: every round looks at all rows.
    max_core : int, default=None
        Largest number of core vectors; the fit ends with status "max_iter" where it is reached. Where the core set is
        seen to grow far beyond it, as with overlapping classes, the fit ends early with status "large_core": the model
        is that of a random sample of some 4,096 rows (of each pair), and :class:`LandmarkSVC` suits the data better.
        None is 20,000, but up to 50,000 rows (of a pair) in memory are then solved all at once where memory and time
        suffice, however many of them become core vectors.
    normalize : bool, default=False
        Scale all rows to unit length first, so that k(x, x) is the same for all rows with "poly" and "sigmoid" kernels.
        It need not be: the certificate holds for every kernel, and for the ball the largest k(x, x) counts.
    kernel : {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel values, of shape (n_X, n_Z).
    gamma : {"scale", "auto"}, float or array-like of shape (n_features,), default="scale"
        "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features. One number per feature is the ellipsoidal RBF.
    degree, coef0
        Of the polynomial and the sigmoid kernel, as in :class:`JointSVC`.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of a class; "balanced" gives all classes the same total weight.
    max_iter : int, default=10_000_000
        Largest number of steps of the solver.
    time_limit : float, default=None
        Seconds after which no new round begins. The certified model is kept; if there is none yet, a last pass makes
        one.
    memory, n_jobs, verbose
        As in :class:`JointSVC`.
    warm_start : bool, default=False
        Start from the core set of the last fit, if that had as many rows.
    random_state : int or NumPy random generator, default=None
        Seed of the samples; None means 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    support_, core_indices_ : ndarray of shape (n_SV,)
        Numbers of the core vectors among the rows, increasing.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        The core vectors.
    n_support_ : ndarray of shape (n_classes,)
        Core vectors of each class with a coefficient above 1e-6 of the largest.
    dual_coef_ : sparse CSR array of shape (n_classes, n_SV)
        :math:`\alpha_i`, in the row of its class; they sum to 1. Pairs: an array with a row per pair of `pairs_`.
    intercept_ : ndarray of shape (n_classes,)
        The part of the score that comes from the 1 in k + 1.
    primal_objective_, dual_objective_, duality_gap_ : float
        Value of the problem above at the model, a lower bound on its minimum (both negative), and their relative
        difference. After `partial_fit` they refer to the core set and the rows of that call.
    radius_, rho_ : float
        R of the ball in the space of Q, and the margin.
    core_size_path_ : list of int
        Core vectors after each round.
    status_ : {"solved", "epsilon", "max_iter", "large_core", "time_limit", "stalled", "interrupted"}
        Why the fit ended; "solved" is said only of a certified gap of at most `tol`. "large_core": see `max_core`.
    n_iter_, kkt_violation_, n_kernel_evals_, fit_seconds_, gamma_, shape_fit_, n_features_in_, feature_names_in_
        As in :class:`JointSVC`; `kkt_violation_` is the gap, for pairs the largest gap of a pair.
    traffic_ : dict
        On Dask: passes over the data, and bytes sent to the workers and received from them.

    See Also
    --------
    LandmarkSVC : many rows whose classes overlap.
    EnclosingBall : the ball behind it.
    JointSVC : all rows at once.

    References
    ----------
    .. [1] S. Asharaf, M. N. Murty and S. K. Shevade, "Multiclass core vector machine", ICML 2007: eq. 7 (primal), 8 to
       11 (dual; with a product where "+" is printed between label and input kernel), 12 (distance), section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from polymargin import CoreVectorSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CoreVectorSVC(C=10).fit(X, y)
    >>> model.status_, bool(model.duality_gap_ <= 1e-2), bool(model.score(X, y) > 0.99)
    ('solved', True, True)
    """

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
        max_core: int | None = None,
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

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CoreVectorSVC:
        """Learn the class prototypes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), Dask collection, path(s) or chunks
            Rows; float32 and float64 arrays in C order, memory maps and CSR matrices are used without a copy. Or the
            path of a NumPy file, or paths of Parquet files or of a folder of them; or an iterable of chunks (X, y) or
            (X, y, sample_weight), or a function that returns one, which is passed over several times (an iterator,
            which cannot, is passed once, with `partial_fit`). Or a Dask array or data frame, whose partitions stay
            where they are. For `kernel="precomputed"`, kernel values of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,), Dask collection or str
            Labels; the path of a NumPy file of them; the name of their column for Parquet files and Dask data frames;
            None with chunks.
        sample_weight : float, array-like of shape (n_samples,) or Dask collection, default=None
            Weights of the rows: 2 is the same as a repeated row, 0 the same as a removed one.

        Returns
        -------
        self : CoreVectorSVC
            The fitted machine. Ctrl-C leaves the model reached so far, with `status_ = "interrupted"`, and is
            raised again; a fit that fails leaves the previous model.
        """
        begin = time.perf_counter()
        self._check()
        X, y = opened(X, y)
        if y is None and isinstance(X, Iterator):
            return self._fit_once(X)
        source = source_of(self, X, y, sample_weight, in_blocks=self._is_mapped(X, y))
        if source is not None:
            return self._fit_source(begin, *source)
        given = training_set(self, X, y, sample_weight, precomputed=self.kernel == "precomputed")
        rows, n = given.rows, given.X.shape[0]
        gamma = self._gamma(given.X, given.sample_weight)
        X = self._unit(given.X)
        self.classes_, self.gamma_, self.shape_fit_ = given.classes, gamma, X.shape
        examples = given.examples({}, X)
        with Frame(self, begin, given.data, ADVICE) as frame:
            limits = core_limits(self, frame, epsilon=self.epsilon)
            if self.scheme == "pairwise":
                form_of = partial(self._form, 2, gamma)
                self._set_pairs(frame, fit_pairs(form_of, examples, limits), examples)
                return self
            form = self._form(len(given.classes), gamma, given.weight.sum(), X[kernels.some_of(rows)])
            start = self._last_dual(rows, n) if self.warm_start else None
            self._set_model(frame, learn(form, examples, limits, start), rows)
            frame.remark = self._overlap(X, rows, given.y)
        return self

    def _is_mapped(self, X: Any, y: Any) -> bool:
        """Whether the rows are a file that is read in blocks. Small ones, and what needs all labels, are arrays."""
        return (
            is_mapped(X, y)
            and 8 * X.shape[0] ** 2 > options.SMALL_GRAM
            and self.scheme == "joint"
            and kernels.kind(self.kernel) != "precomputed"
            and not self.warm_start
        )

    def _fit_source(self, begin: float, source: Any, facts: Facts, names: list[str] | None) -> CoreVectorSVC:
        """Fit on rows that come in blocks: from files, from an iterable, or from the workers of a cluster."""
        if self.scheme == "pairwise" or kernels.kind(self.kernel) == "precomputed":
            raise ValueError(
                'expected scheme="joint" and a kernel of rows for rows that come in blocks, got '
                f"scheme={self.scheme!r}, kernel={self.kernel!r}; pass arrays"
            )
        begin_with(self, source, facts, names, unit_rows if self.normalize else None)
        some = self._unit(facts.some)
        form = self._form(len(self.classes_), self.gamma_, source.coding.factor @ facts.weights, some)
        with Frame(self, begin, dict(X=None, y=None, metadata={}), ADVICE, depth=1) as frame:
            self._set_model(
                frame, grow(source, form, facts.counts, core_limits(self, frame, epsilon=self.epsilon)), None
            )
        return self

    def _fit_once(self, chunks: Any) -> CoreVectorSVC:
        """An iterator that cannot be started again: the chunks one after another."""
        for name in ("dual_coef_", "n_seen_", "_kept"):
            if hasattr(self, name):
                delattr(self, name)
        try:
            for chunk in chunks:
                self.partial_fit(*chunk[:2], sample_weight=chunk[2] if len(chunk) > 2 else None)
        except KeyboardInterrupt:
            if hasattr(self, "_kept"):  # the model of the chunks before
                self.status_ = "interrupted"
                keep(self)
            raise
        return self

    @available_if(learns_in_parts)
    @partial(whole, anew=False)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, n_total: int | None = None
    ) -> CoreVectorSVC:
        """Learn from more rows: those that violate join the core set; other rows, old and new, are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, default=None
            All labels that will ever come, in the first call; None: those of the first call.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows.
        n_total : int, default=None
            With `nu`: the number of rows that will come in all, which sets the ridge; None: those that came so far.

        Returns
        -------
        self : CoreVectorSVC
            The fitted machine; its gap is certified on its core set and these rows.
        """
        begin = time.perf_counter()
        self._check()
        first = not hasattr(self, "_kept")
        known = None if first else self.classes_
        X, y, weight, self.classes_ = partial_set(self, (X, y, sample_weight), classes, known)
        index = np.searchsorted(self.classes_, y)
        if first:
            self.gamma_, self.n_seen_ = self._gamma(X, weight), 0
        rows = np.flatnonzero(weight)
        given: Any = {} if self.class_weight is None else self.class_weight
        factor = np.array([given.get(c, 1.0) for c in self.classes_.tolist()])
        new = Rows(self.n_seen_ + rows, self._unit(X)[rows], index[rows], weight[rows] * factor[index[rows]])
        seen = new if first else joined([self._kept[0], new])
        alpha = None if first else np.concatenate([self._kept[1], np.zeros(len(new))])
        form = self._form(len(self.classes_), self.gamma_, n_total or self.n_seen_ + X.shape[0], seen.X[:1024])
        examples = Examples(seen.X, np.arange(len(seen)), seen.y, len(self.classes_), seen.weight, {})
        with Frame(self, begin, dict(X=X, y=y, metadata={}), ADVICE) as frame:
            fit = learn(form, examples, core_limits(self, frame, epsilon=self.epsilon), alpha)
            self.n_seen_ += X.shape[0]
            self.shape_fit_ = (self.n_seen_, X.shape[1])
            self._set_model(frame, fit, seen.index)
        return self
