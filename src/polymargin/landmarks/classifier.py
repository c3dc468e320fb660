"""Machines in the space of landmark rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..core_vectors.distributed import source_of
from ..core_vectors.sources import opened
from ..files.records import NAMES, stored
from ..fitting.callbacks import with_callbacks
from ..fitting.checks import check_rows, check_sample_weight
from ..fitting.state import whole
from .kept import partial_rows
from .model import CONSTRAINTS, LandmarkModel
from .record import LANDMARKS, check_landmarks


def learns_in_parts(model: Any) -> bool:
    """Whether `partial_fit` is there: not for a precomputed kernel."""
    return model.kernel != "precomputed"


@stored(CONSTRAINTS, LANDMARKS, (*NAMES, "n_seen_"), check_landmarks)
class LandmarkSVC(LandmarkModel):
    r"""Any joint machine in the space of some landmark rows: for many rows, whose classes may overlap.

    The scores are sums over m landmarks :math:`z_l` instead of all rows,

    .. math:: f_c(x) = \sum_l B_{cl}\, k(z_l, x) + b_c

    and B and b minimize the problem of :class:`JointSVC` with the regularized intercept among all such scores. With
    landmarks for all rows it is that problem; `residual_` says how much of the feature vectors fewer leave out. Time
    and memory are those of n m kernel values and some six passes over them, however many rows are support vectors:
    with overlapping classes these are most of all rows, and exact training takes time like n squared.

    The gap of the restricted problem is certified: every pass over the rows computes the primal value of a model and
    the value of a point of the dual.

    Parameters
    ----------
    machine : {"crammer-singer", "kesler", "ovr", "llw", "adm", "ats", "atm", "reinforced", "scatter"}, \
            default="crammer-singer"
        The problem, as in :class:`JointSVC`.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Scatter, kesler and ovr have both.
    C : float, default=1.0
        Weight of the losses.
    n_landmarks : "auto" or int, default="auto"
        "auto" takes all rows if they are up to 2,048; else it begins with 128 (512 up to 20,000 rows) and doubles their
        number until rows that were held out gain nothing from it beyond their noise, an eighth of all rows would be
        landmarks (exact training is quicker then), or `time_limit` leaves no time for more. Landmarks that others span,
        up to rounding, are left out.
    landmarks : {"auto", "uniform", "k-means++", "cholesky"} or array-like of shape (n_landmarks, n_features), \
            default="auto"
        How they are chosen from a sample of the rows in which rare classes have more than their share: at random, by
        distances in the space of the kernel ("auto"), or by pivots of a Cholesky decomposition that are drawn; or the
        landmarks themselves.
    kernel : {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel values, of shape (n_X, n_Z).
    gamma : {"scale", "auto"}, float or array-like of shape (n_features,), default="scale"
        "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features. One number per feature is the ellipsoidal RBF.
    degree, coef0
        Of the polynomial and the sigmoid kernel, as in :class:`JointSVC`.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of a class; "balanced" gives all classes the same total weight.
    tol : float, default=1e-2
        Largest relative duality gap.
    max_iter : int, default=10_000
        Largest number of passes over the rows, or over parts of them. Up to 4,096 rows are solved exactly, by the
        engine of :class:`JointSVC`; a thousand of its steps count as a pass.
    time_limit : float, default=None
        Seconds after which no pass begins, nor one that would end later. Where not even a first step fits in, the model
        is the rule of the nearest class mean, and its gap infinite.
    memory : "auto", int or str, default="auto"
        Memory for kernel values, as in :class:`JointSVC`: those that do not fit are recomputed in every pass.
    n_jobs, verbose
        As in :class:`JointSVC`.
    warm_start : bool, default=False
        Take the landmarks of the last fit, if there is one with as many features.
    random_state : int or NumPy random generator, default=None
        Seed of the landmarks and parts; None means 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    landmarks_, support_vectors_ : {ndarray, sparse matrix} of shape (n_landmarks, n_features)
        The landmarks; empty for `kernel="precomputed"`.
    support_ : ndarray of shape (n_landmarks,)
        Their numbers among the training rows, or in the array that was given; increasing.
    n_support_ : ndarray of shape (n_classes,)
        Landmarks of each class; of given ones, those whose largest coefficient is that of the class.
    dual_coef_ : ndarray of shape (n_classes, n_landmarks)
        B.
    intercept_ : ndarray of shape (n_classes,)
        b.
    residual_ : float
        The mean of k(x, x) less its projection on the span of the landmarks, over the rows or a sample of 4,096.
    primal_objective_, dual_objective_, duality_gap_ : float
        Value of the problem at the model, a lower bound on its minimum over all B and b, and their relative difference.
    status_ : {"solved", "max_iter", "time_limit", "stalled", "interrupted"}
        Why the fit ended; "solved" is said only of a certified gap of at most `tol`.
    n_iter_ : int
        Passes over the rows, or over parts of them; see `max_iter`.
    n_seen_ : int
        Rows that `partial_fit` has seen.
    traffic_ : dict
        On Dask: passes over the data, and bytes sent to the workers and received from them.
    kkt_violation_, n_kernel_evals_, fit_seconds_, gamma_, shape_fit_, n_features_in_, feature_names_in_
        As in :class:`JointSVC`; `kkt_violation_` is the gap.

    See Also
    --------
    CoreVectorSVC : many rows whose classes can be told apart.
    JointSVC : all rows, exactly.

    References
    ----------
    .. [1] C. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from polymargin import LandmarkSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LandmarkSVC(C=10, n_landmarks=200).fit(X, y)
    >>> model.status_, bool(model.duality_gap_ <= 1e-2), bool(model.score(X, y) > 0.98)
    ('solved', True, True)
    """

    def __init__(
        self,
        machine: str = "crammer-singer",
        *,
        loss: str = "hinge",
        C: float = 1.0,
        n_landmarks: str | int = "auto",
        landmarks: Any = "auto",
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Mapping | str | None = None,
        tol: float = 1e-2,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.machine = machine
        self.loss = loss
        self.C = C
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
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

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LandmarkSVC:
        """Learn the coefficients of the landmarks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), Dask collection, path(s) or chunks
            Rows; float32 and float64 arrays in C order, memory maps and CSR matrices are used without a copy. Or the
            path of a NumPy file, or paths of Parquet files or of a folder of them; or an iterable of chunks (X, y) or
            (X, y, sample_weight), or a function that returns one, which is passed over several times (an iterator,
            which cannot, is passed once, as by `partial_fit`). Or a Dask array or data frame, whose partitions stay
            where they are. For `kernel="precomputed"`, kernel values of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,), Dask collection or str
            Labels; the path of a NumPy file of them; the name of their column for Parquet files and Dask data frames;
            None with chunks.
        sample_weight : float, array-like of shape (n_samples,) or Dask collection, default=None
            Weights of the rows: 2 is the same as a repeated row, 0 the same as a removed one.

        Returns
        -------
        self : LandmarkSVC
            The fitted machine. Ctrl-C leaves the model reached so far, with `status_ = "interrupted"`, and is
            raised again; a fit that fails leaves the previous model.
        """
        begin = time.perf_counter()
        self._check()
        X, y = opened(X, y)
        last = self._last_landmarks() if self.warm_start else None
        if y is None and isinstance(X, Iterator):
            return self._fit_once(begin, X)
        source = source_of(self, X, y, sample_weight, in_blocks=self._is_mapped(X, y))
        if source is not None:
            return self._fit_source(begin, *source, last)
        X, y = check_rows(self, X, y, fit=True, precomputed=self.kernel == "precomputed")
        self.__dict__.pop("_kept", None)
        return self._fit(begin, X, y, check_sample_weight(sample_weight, len(y)), last)

    @available_if(learns_in_parts)
    @partial(whole, anew=False)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> LandmarkSVC:
        """Learn from more rows: the model is that of `fit` on all rows so far, in whatever parts they came.

        They are kept for it, as long as they take no more than half of `memory`; beyond that, a random sample of them
        with weights that make up for the others. The machine itself holds them: a model file does not.

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

        Returns
        -------
        self : LandmarkSVC
            The fitted machine.
        """
        begin = time.perf_counter()
        self._check()
        self._kept = kept = partial_rows(self, X, y, sample_weight, classes)
        self.n_seen_ = kept.n_seen
        present = len(np.unique(kept.y))
        if present < 2:
            raise ValueError(
                f"partial_fit: expected rows of at least 2 classes, got 1 class in n_samples={len(kept.y)} rows; "
                "begin with rows of several classes"
            )
        return self._fit(begin, kept.X, kept.y, kept.weight, None, kept)
