"""The minimum enclosing ball in the space of a kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core, kernels
from ..files.records import NAMES, stored
from ..fitting.callbacks import CALLER, CallbackSupportMixin, with_callbacks
from ..fitting.checks import canonical, check_rows, check_sample_weight
from ..fitting.estimator import Estimator
from ..fitting.examples import Examples
from ..fitting.frame import WHAT_TO_DO, Frame
from ..fitting.parameters import KERNEL, NONE, POSITIVE, RUN, Function, Infinity, Name, Number, check_parameters
from ..fitting.resources import budget, threads
from ..fitting.scales import column_moments, warn_if_badly_scaled
from ..fitting.state import whole
from ..training.certificates import core_error
from .options import core_limits
from .record import BALL, check_ball
from .search import Form
from .whole import learn

CONSTRAINTS = {
    "sample_size": (NONE, Number("a positive integer", least=1, integer=True)),
    "max_core": (Number("a positive integer", least=1, integer=True),),
    "C": (POSITIVE, Infinity("infinity for a ball around all rows")),
    **{name: rule for name, rule in {**KERNEL, **RUN}.items() if name != "class_weight"},
    # The distance of a new row needs k(x, x), which a precomputed matrix does not hold.
    "kernel": (
        Name(kernels.BY_NAME),
        Function("a callable k(X, Z) that returns shape (len(X), len(Z))"),
    ),
}
EXACT_CENTER = 4096  # core vectors up to which the length of the center is recomputed
BLOCK = 4096  # rows scored at a time


MORE = "raise max_iter, max_core or time_limit, scale the columns of X, or accept a larger tol"
ADVICE = dict.fromkeys(WHAT_TO_DO, MORE)


@stored(CONSTRAINTS, BALL, NAMES, check_ball)
class EnclosingBall(CallbackSupportMixin, OutlierMixin, Estimator):
    r"""Smallest ball around the data in the space of a kernel, as an outlier detector.

    .. math:: \min_{c, t, \xi}\; t + \tfrac{C}{4} \sum_i \omega_i \xi_i^2, \qquad
        \|\phi(x_i) - c\|^2 \le t + \xi_i, \qquad R = \sqrt{\max(t, 0)}

    Its dual, with :math:`c = \sum_i \alpha_i \phi(x_i)`, is the problem of core vector machines [1]_:
    :math:`\max_\alpha \sum_i \alpha_i k(x_i, x_i) - \alpha^\top (K + \mathrm{diag}(1 / (C \omega))) \alpha`,
    :math:`\alpha \ge 0`, :math:`\sum_i \alpha_i = 1`. With `C = inf` no training row lies outside, and t is
    R^2; with a small C t may be negative: then the ball is a point. A row is an outlier if it lies outside of the ball
    or on its sphere.

    Small data (a Gram matrix within 64 MB) are solved as a whole; on more rows a core set grows, as in
    :class:`CoreVectorSVC`, until a pass over all rows certifies the gap.

    Parameters
    ----------
    C : float, default=inf
        Price of rows outside of the ball; without a limit there are none.
    tol : float, default=1e-3
        Largest relative duality gap.
    sample_size : int, default=59
        Random rows looked at for every eight core vectors before all rows are; None looks at all rows at once.
    max_core : int, default=20_000
        Largest number of core vectors.
    kernel, gamma, degree, coef0
        The kernel, as in :class:`JointSVC`, without "precomputed".
    max_iter, time_limit, memory, n_jobs, warm_start, random_state, verbose
        Limits and resources, as in :class:`CoreVectorSVC`; `warm_start` is not used.

    Attributes
    ----------
    radius_ : float
        R. Without slack it is the largest distance of a training row from the center.
    support_ : ndarray of shape (n_SV,)
        Training rows with a positive coefficient.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These rows.
    dual_coef_ : ndarray of shape (n_SV,)
        :math:`\alpha`: the center is the mean of the support vectors with these weights.
    offset_ : float
        :math:`-R^2` and a little for rounding: `decision_function` is `score_samples` less this.
    primal_objective_, dual_objective_, duality_gap_ : float
        Upper and lower bound on the minimum above, and their relative difference.
    status_, n_iter_, core_size_path_, n_kernel_evals_, fit_seconds_, gamma_, n_features_in_, feature_names_in_
        As in :class:`CoreVectorSVC`.

    See Also
    --------
    CoreVectorSVC : the classifier made of such balls.

    References
    ----------
    .. [1] S. Asharaf, M. N. Murty and S. K. Shevade, "Multiclass core vector machine", ICML 2007: eq. 1 to 3.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin import EnclosingBall
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [1.0, -0.8]])
    >>> ball = EnclosingBall(kernel="linear").fit(X)
    >>> round(ball.radius_, 3), ball.support_
    (1.0, array([0, 1]))
    >>> ball.predict([[1.0, 0.9], [1.0, 1.1]])
    array([ 1, -1])
    """

    def __init__(
        self,
        C: float = np.inf,
        *,
        tol: float = 1e-3,
        sample_size: int | None = 59,
        max_core: int = 20_000,
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_iter: int = 10_000_000,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.tol = tol
        self.sample_size = sample_size
        self.max_core = max_core
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EnclosingBall:
        """Find the ball.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; float32 and float64 arrays in C order, memory maps and CSR matrices are used without a copy.
        y : None
            Not used.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows; 0 removes a row.

        Returns
        -------
        self : EnclosingBall
            The fitted ball. Ctrl-C leaves the model reached so far, with `status_ = "interrupted"`, and is raised
            again; a fit that fails leaves the former ball.
        """
        begin = time.perf_counter()
        check_parameters(self, CONSTRAINTS)
        how = dict(accept_sparse="csr", accept_large_sparse=True, dtype=[np.float64, np.float32], order="C")
        X = canonical(validate_data(self, X, **how))
        sample_weight = check_sample_weight(sample_weight, X.shape[0])
        rows = np.flatnonzero(sample_weight)
        self.gamma_ = None
        if kernels.kind(self.kernel) not in ("precomputed", "callable"):
            mean, variance = column_moments(X, sample_weight)
            gamma = self.gamma_ = kernels.resolve_gamma(self.kernel, self.gamma, mean, variance, X.shape[1])
            name, gammas = type(self).__name__, gamma if np.ndim(gamma) else None
            warn_if_badly_scaled(X, variance, gammas, name, stacklevel=CALLER + 1)
        near = self._moved(X, rows)
        form = self._form(near, rows)
        kernels.check_values(near, rows, form.record(near, near))
        same = np.zeros(len(rows), dtype=np.int64)
        examples = Examples(near, rows, same, 1, sample_weight[rows], form.record(near, near))
        with Frame(self, begin, dict(X=X, y=y, metadata={"sample_weight": sample_weight}), ADVICE) as frame:
            fit = learn(form, examples, core_limits(self, frame))
            model, primal, rho = fit.certified()
            order = np.argsort(model.rows.index)
            self.support_, self.dual_coef_ = rows[model.rows.index[order]], model.alpha[order]
            self.support_vectors_ = X[self.support_]
            # In the solver's gradient kernel values are rounded beside the ridge, which may be far larger.
            few = len(self.support_) <= EXACT_CENTER
            self._square = float(self.dual_coef_ @ self._projections(self.support_vectors_)) if few else model.square
            self.radius_ = float(np.sqrt(max(model.square - 2 * rho, 0.0)))
            # Rows on the sphere count as outside, and rounding must not decide about them.
            self.offset_ = -(self.radius_**2 - 4 * form.error - 1e-9 * fit.kappa)
            self.status_, self.n_iter_, self.duality_gap_ = fit.status, int(fit.n_iter), float(fit.gap)
            self.primal_objective_, self.dual_objective_ = float(primal), float(model.dual)
            self.core_size_path_, self.n_kernel_evals_ = list(fit.path), int(fit.evaluations)
            if self._hides_slacks(near[self.support_], form.record(near, near), float(self.C * sample_weight.sum())):
                self.status_, self.duality_gap_ = "stalled" if fit.status == "solved" else fit.status, float("inf")
            frame.interrupted, frame.indefinite = fit.signalled, fit.indefinite
        return self

    def _moved(self, X: Any, rows: np.ndarray) -> Any:
        """Linear rows far from the origin, without their mean: a ball moves with its rows, and products of such
        rows have no digits left for their distances. Where there is no room for a copy, the rows themselves."""
        copied = 8 * X.shape[0] * X.shape[1]
        if self.kernel != "linear" or not kernels.is_far(X, rows) or copied > 0.25 * budget(self.memory, 4 * copied):
            return X
        return X - X[rows].mean(axis=0, dtype=np.float64)

    def _form(self, X: Any, rows: np.ndarray) -> Form:
        ridge = 1 / float(self.C)
        form = Form(kernels.Kernel.of(self), 0.0, 1, 1.0, 0.0, ridge, ball=True, threads=threads(self.n_jobs))
        return form.rounded(X[kernels.some_of(rows)], self.tol)

    def score_samples(self, X: Any) -> np.ndarray:
        """Minus the squared distances from the center.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            :math:`-\\|\\phi(x) - c\\|^2`.
        """
        check_is_fitted(self)
        X = check_rows(self, X, fit=False, precomputed=False)
        if self.kernel == "linear" and not sp.issparse(X) and not sp.issparse(self.support_vectors_):
            # Squares of differences keep their digits far from the origin.
            center, blocks = self.dual_coef_ @ self.support_vectors_.astype(np.float64), range(0, len(X), BLOCK)
            return np.concatenate([-np.square(X[at : at + BLOCK] - center).sum(axis=1) for at in blocks])
        return 2 * self._projections(X) - self._plain_form().diagonal(X) - self._square

    def _plain_form(self) -> Form:
        return Form(kernels.Kernel.of(self), 0.0, 1, 1.0, 0.0, 0.0)

    def _hides_slacks(self, vectors: Any, record: dict[str, Any], slope: float) -> bool:
        """Whether rounding of kernel values, times C, is more than the ball is about. A hard ball has no slacks, and a
        ball around one point no radius to lose."""
        if not np.isfinite(slope) or len(self.support_) < 2:
            return False
        size = abs(self.primal_objective_)
        return core_error(vectors, record, self.dual_coef_, size, slope) > 0

    def _projections(self, X: Any) -> np.ndarray:
        """<phi(x), c>."""
        vectors, n = self.support_vectors_, len(self.dual_coef_)
        f = _core.scores(
            kernels.as_data(X), kernels.as_data(vectors), self._plain_form().record(X, vectors), np.arange(n),
            np.array([0, n]), self.dual_coef_, np.zeros(1), "float64", threads(self.n_jobs),
        )  # fmt: skip
        return f[:, 0]

    def decision_function(self, X: Any) -> np.ndarray:
        """:math:`R^2` less the squared distances from the center: negative for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Positive inside of the ball.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for rows inside of the ball, -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        inside : ndarray of shape (n_samples,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
