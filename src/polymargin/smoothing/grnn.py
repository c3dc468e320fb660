"""The general regression neural network (Specht 1991): a mean of the training targets, weighted by closeness.

    z(x) = sum_j w_j g_j(x) z_j / sum_j w_j g_j(x),      g_j(x) = exp(-ln 2 d(x, x_j)^2 / spread^2)

The closeness is 1/2 at a distance of one spread, as in Matlab's newgrnn. Far from all training rows every g_j(x)
underflows and the ratio is 0/0; with the smallest squared distance subtracted first, the largest term is 1 and the
ratio is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core, kernels
from ..files.records import NAMES, stored
from ..fitting.checks import canonical, check_rows, check_sample_weight
from ..fitting.estimator import Estimator
from ..fitting.parameters import BOOL, NONE, POSITIVE, RUN, Name, Number, check_parameters
from ..fitting.resources import budget, threads
from ..fitting.scales import check_squares
from ..fitting.state import keep, whole
from .record import GRNN, check_grnn

CONSTRAINTS = {
    "spread": (POSITIVE, Name(("auto",))),
    "n_neighbors": (NONE, Number("a positive integer", least=1, integer=True)),
    "interpolate": (BOOL,),
    **{name: RUN[name] for name in ("memory", "n_jobs")},
}
LEFT_OUT_ROWS = 200  # rows whose leave-one-out error chooses the spread; of more rows, a sample of this size
SPREAD_RATIO = 1.25  # ratio of neighboring spreads that are tried
LARGE = 1 << 21  # numbers in the training rows beyond which float32 arithmetic pays
DISTANCE_BYTES = 1 << 25  # bytes of distances at a time
SQUARED = {"kind": "sqeuclidean"}


def squared_distances(A: Any, B: Any, rows: np.ndarray, cols: np.ndarray, dtype: str, n_threads: int) -> np.ndarray:
    """Squared Euclidean distances of shape (len(rows), len(cols)); exactly 0 between equal rows."""
    parts = (kernels.as_data(A), kernels.as_data(B), SQUARED, rows.astype(np.int64), cols.astype(np.int64))
    return _core.kernel_block(*parts, dtype, n_threads)


def value_type(multiply_adds: float) -> str:
    """Type of the arithmetic where float32 is accurate enough: float32 if it saves time."""
    return "float64" if multiply_adds < 2e8 else "float32"


def evenly(n: int, most: int) -> np.ndarray:
    """All of n rows, or `most` of them, evenly spaced."""
    return np.arange(n) if n <= most else (np.arange(most) * n) // most


def rate(spread: float) -> float:
    """ln 2 / spread^2; where the square underflows or overflows, only the nearest rows count, or all alike."""
    return math.log(2) / max(spread * spread, 1e-300)


def smooth(closer: np.ndarray, spread: float, weight: np.ndarray, z: np.ndarray) -> np.ndarray:
    """z(x) from closer[j, x] = d(x, nearest)^2 - d(x, x_j)^2, shape (n_train, m); -infinity leaves row j out."""
    g = closer * closer.dtype.type(rate(spread))
    np.exp(g, out=g)
    sums = g.T @ np.column_stack((z * weight[:, None], weight)).astype(g.dtype, copy=False)
    return sums[:, :-1] / sums[:, -1:]


@dataclass
class SpreadSearch:
    """The spreads that "auto" tried, their mean squared errors, the best one, and Ctrl-C if that ended the search."""

    spread: float
    tried: np.ndarray
    errors: np.ndarray
    stop: KeyboardInterrupt | None = None


def leave_one_out(X: Any, z: np.ndarray, weight: np.ndarray, n_threads: int) -> SpreadSearch:
    """The spread with the smallest leave-one-out squared error.

    Duplicates of a row are left out with it, so that a weight of 2 is the same as a repeated row.
    """
    some = evenly(len(z), LEFT_OUT_ROWS)
    d2 = squared_distances(X, X, np.arange(len(z)), some, value_type(len(z) * len(some) * X.shape[1]), n_threads)
    d2[d2 == 0] = np.inf
    nearest, farthest = d2.min(axis=0), np.where(np.isfinite(d2), d2, 0).max(axis=0)
    has = np.isfinite(nearest)
    some, d2, nearest, farthest = some[has], d2[:, has], nearest[has], farthest[has]
    if len(some) == 0:  # all rows are equal
        return SpreadSearch(1.0, np.ones(1), np.zeros(1))
    w = weight[some] / weight[some].sum()
    typical = math.exp(w @ np.log(nearest) / 2)
    low, high = 0.2 * typical, 2 * math.exp(w @ np.log(farthest) / 2)
    grid = np.geomspace(low, high, min(60, 4 + int(math.log(high / low) / math.log(SPREAD_RATIO))))
    error = np.full(len(grid), np.inf)
    closer = np.subtract(nearest, d2, out=d2)

    def measure(which: np.ndarray) -> int:
        for k in which:
            error[k] = w @ np.square(smooth(closer, grid[k], weight, z) - z[some]).sum(axis=1)
        return int(np.argmin(error))

    stop = None
    try:
        best = measure(np.arange(0, len(grid), 3))  # every third, then those around the best
        measure(np.setdiff1d(np.arange(best - 2, best + 3).clip(0, len(grid) - 1), np.arange(0, len(grid), 3)))
    except KeyboardInterrupt as signal:
        stop = signal
    tried = np.isfinite(error)
    return SpreadSearch(float(grid[np.argmin(error)]) if tried.any() else typical, grid[tried], error[tried], stop)


@stored(CONSTRAINTS, GRNN, (*NAMES, "spreads_", "errors_"), check_grnn)
class GRNNRegressor(RegressorMixin, Estimator):
    r"""General regression neural network: the kernel-weighted mean of the training targets.

    .. math:: z(x) = \frac{\sum_j \omega_j g_j(x) z_j}{\sum_j \omega_j g_j(x)}, \qquad
        g_j(x) = \exp\left(-\ln 2\, \frac{\|x - x_j\|^2}{\text{spread}^2}\right)

    computed in the log domain, so that it is defined far from all training rows: there it is the nearest row's target.

    Parameters
    ----------
    spread : "auto" or float, default="auto"
        Distance at which a training row counts half as much as one at distance 0 (the spread of Matlab's `newgrnn`).
        "auto" minimizes the leave-one-out squared error of the training targets (of 200 rows if there are more).
    n_neighbors : int, default=None
        Number of nearest training rows in the sums (a row of weight 2 counts as two); None means all.
    interpolate : bool, default=False
        Whether a row that equals training rows gets their mean target, without the smoothing by other rows.
    memory : "auto", int or str, default="auto"
        Memory for distances: bytes, or a string such as "512MB".
    n_jobs : int, default=None
        Threads, as in `JointSVC`.

    Attributes
    ----------
    spread_ : float
        The spread.
    spreads_, errors_ : ndarray of shape (n_tried,)
        Spreads that "auto" tried, and their leave-one-out mean squared errors.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    See Also
    --------
    SupervisedIsomap : places new rows with it.
    KernelDensityNB : densities instead of means.

    References
    ----------
    .. [1] D. Specht, "A general regression neural network", IEEE Transactions on Neural Networks 2(6), 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from polymargin import GRNNRegressor
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = GRNNRegressor().fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    def __init__(
        self,
        spread: float | str = "auto",
        *,
        n_neighbors: int | None = None,
        interpolate: bool = False,
        memory: str | int = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.spread = spread
        self.n_neighbors = n_neighbors
        self.interpolate = interpolate
        self.memory = memory
        self.n_jobs = n_jobs

    @whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GRNNRegressor:
        """Keep the training rows and choose the spread.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows: 2 is the same as a repeated row, 0 the same as a removed one.

        Returns
        -------
        self : GRNNRegressor
            Ctrl-C during the choice of the spread leaves it fitted, with the best one so far, and is raised again.
        """
        check_parameters(self, CONSTRAINTS)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            multi_output=True,
            y_numeric=True,
        )
        check_squares(X)
        weight = check_sample_weight(sample_weight, len(y))
        used = np.flatnonzero(weight)
        self._X, self._weight = canonical(X[used] if len(used) < len(y) else X), weight[used]
        self._y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)[used]
        self._one_output = np.ndim(y) == 1
        n_threads = threads(self.n_jobs)
        if self.spread == "auto":
            search = leave_one_out(self._X, self._y, self._weight, n_threads)
        else:
            search = SpreadSearch(float(self.spread), np.zeros(0), np.zeros(0))
        self.spread_, self.spreads_, self.errors_ = search.spread, search.tried, search.errors
        self._score_type = self._arithmetic()
        keep(self)
        if search.stop is not None:
            raise search.stop
        return self

    def _arithmetic(self) -> str:
        """float32 where there are many numbers and its error in a squared distance is small against spread^2."""
        n, d = self._X.shape
        if n * d < LARGE:
            return "float64"
        error = kernels.float32_error(self._X, np.arange(n), {"kind": "rbf", "gamma": 1.0, "gammas": None})
        return "float32" if error < 1e-3 * math.log(2) / rate(self.spread_) else "float64"

    def predict(self, X: Any) -> np.ndarray:
        """Weighted means of the training targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            As the targets in `fit`.
        """
        check_is_fitted(self)
        X = check_rows(self, X, fit=False, precomputed=False)
        n, m = len(self._y), check_squares(X, least=0.0).shape[0]
        step = max(1, int(min(DISTANCE_BYTES, budget(self.memory) / 4) / (8 * n)))
        z = np.empty((m, self._y.shape[1]))
        for at in range(0, m, step):
            cols = np.arange(at, min(at + step, m))
            d2 = squared_distances(self._X, X, np.arange(n), cols, self._score_type, threads(self.n_jobs))
            z[cols] = self._means(d2)
        return z[:, 0] if self._one_output else z

    def _means(self, d2: np.ndarray) -> np.ndarray:
        """z(x) for a block of squared distances of shape (n_train, m)."""
        equal = np.flatnonzero((d2 == 0).any(axis=0)) if self.interpolate else ()
        if len(equal):
            at = (d2[:, equal] == 0) * self._weight[:, None]
            means = (at.T @ self._y) / at.sum(axis=0)[:, None]
        if self.n_neighbors is None:
            z = smooth(np.subtract(d2.min(axis=0), d2, out=d2), self.spread_, self._weight, self._y)
        else:
            z = self._truncated(d2.T, self.n_neighbors)
        if len(equal):
            z[equal] = means
        return z

    def _truncated(self, d2: np.ndarray, k: int) -> np.ndarray:
        """The same from the nearest rows whose weights add up to k, the last one counted in part."""
        if np.all(self._weight == 1) and k < d2.shape[1]:
            near = np.argpartition(d2, k - 1, axis=1)[:, :k]
        else:
            near = np.argsort(d2, axis=1, kind="stable")
        weight = self._weight[near]
        weight = np.clip(k - (np.cumsum(weight, axis=1) - weight), 0.0, weight)
        d2 = np.take_along_axis(d2, near, axis=1).astype(np.float64)
        g = np.exp((d2.min(axis=1)[:, None] - d2) * rate(self.spread_)) * weight
        return np.einsum("mk,mko->mo", g, self._y[near]) / g.sum(axis=1)[:, None]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "spread_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


@dataclass(frozen=True)
class Averaged:
    """What a fitted network averages: training rows, their targets (a column each) and weights."""

    X: Any
    y: np.ndarray
    weight: np.ndarray
    one_output: bool  # targets were a vector


def averaged(model: GRNNRegressor) -> Averaged:
    return Averaged(model._X, model._y, model._weight, model._one_output)
