"""Naive Bayes with kernel densities: the baseline of Jenssen et al. (2012), table 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..files.records import NAMES, stored
from ..fitting.checks import check_classes, check_priors, check_rows, check_sample_weight
from ..fitting.estimator import Estimator
from ..fitting.parameters import NONE, POSITIVE, Array, Name, check_parameters
from ..fitting.scales import column_moments
from ..fitting.state import whole
from .record import DENSITY, check_density

CONSTRAINTS = {
    "bandwidth": (Name(("silverman",)), POSITIVE),
    "priors": (NONE, Array("an array with one number per class")),
}
VALUES_AT_ONCE = 4_000_000  # kernel values held at once


@stored(CONSTRAINTS, DENSITY, NAMES, check_density)
class KernelDensityNB(ClassifierMixin, Estimator):
    r"""Naive Bayes classifier whose densities of single features are sums of Gaussian kernels [1]_.

    .. math:: \log p(c \mid x) = \log \pi_c + \sum_j \log \frac{1}{W_c} \sum_{i: y_i = c} \omega_i\,
              \frac{1}{\sqrt{2 \pi} h} \exp\Bigl(-\frac{(x_j - x_{ij})^2}{2 h^2}\Bigr) + \text{const}

    Jenssen et al. [2]_ take one width h for all features and classes, that of the RBF kernel:
    :math:`\gamma = 1 / (2 h^2)`.

    Parameters
    ----------
    bandwidth : "silverman" or float, default="silverman"
        The width h. "silverman" is :math:`1.06\, s\, n_c^{-1/5}` for each feature and class, s the standard deviation
        of the feature in the class [1]_.
    priors : array-like of shape (n_classes,), default=None
        The class probabilities :math:`\pi_c`; None means the share of each class in the training data.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        The class probabilities.
    bandwidth_ : ndarray of shape (n_classes, n_features)
        The widths.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    See Also
    --------
    GRNNRegressor : means with the same kernel.

    References
    ----------
    .. [1] B. W. Silverman, "Density estimation for statistics and data analysis", Chapman and Hall, 1986, eq. 3.28.
    .. [2] R. Jenssen et al., "A scatter-based prototype framework and multi-class extension of support vector
       machines", PLoS ONE 7(10), e42947, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import KernelDensityNB
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelDensityNB().fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(self, bandwidth: float | str = "silverman", *, priors: Any = None):
        self.bandwidth = bandwidth
        self.priors = priors

    @whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelDensityNB:
        """Keep the values of every feature and class, and choose the widths.

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
        self : KernelDensityNB
            The fitted classifier.
        """
        check_parameters(self, CONSTRAINTS)
        X, y = check_rows(self, X, y, fit=True, precomputed=False)
        weight = check_sample_weight(sample_weight, len(y))
        rows = np.flatnonzero(weight)
        self.classes_, y = check_classes(y, rows)
        X, weight = X[rows], weight[rows]
        total = np.bincount(y, weights=weight)
        priors = check_priors(self.priors, len(total))
        self.class_prior_ = total / total.sum() if priors is None else priors
        self.bandwidth_ = self._bandwidth(X, y, weight, total)
        members = [np.flatnonzero(y == c) for c in range(len(total))]
        # Equal values are stored once, with their share of the weight: many features have few distinct values.
        values, shares = [], []
        for column in columns(X):
            for c, rows in enumerate(members):
                different, index = np.unique(column[rows], return_inverse=True)
                values.append(different)
                shares.append(np.bincount(index, weights=weight[rows]) / total[c])
        # Feature by feature, in each class by class; `_bounds` says where they begin and end.
        self._values, self._shares = np.concatenate(values), np.concatenate(shares)
        self._bounds = np.cumsum([0, *map(len, values)], dtype=np.int64)
        return self

    def _bandwidth(self, X: Any, y: np.ndarray, weight: np.ndarray, total: np.ndarray) -> np.ndarray:
        n_classes, d = len(total), X.shape[1]
        if self.bandwidth != "silverman":
            return np.full((n_classes, d), float(self.bandwidth))
        moments = [column_moments(X[y == c], weight[y == c])[1] for c in range(n_classes)]
        h = 1.06 * np.sqrt(moments) * total[:, None] ** -0.2
        # A feature that is constant in a class gets a narrow kernel, as in scikit-learn's GaussianNB.
        largest = np.sqrt(column_moments(X, weight)[1].max())
        return np.maximum(h, 1e-5 * (largest if largest > 0 else 1.0))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """:math:`\\log \\pi_c + \\sum_j \\log p(x_j \\mid c)` of every row and class."""
        check_is_fitted(self)
        X = check_rows(self, X, fit=False, precomputed=False)
        score = np.tile(np.log(self.class_prior_), (X.shape[0], 1))
        bounds = iter(zip(self._bounds, self._bounds[1:], strict=False))
        for column, h in zip(columns(X), self.bandwidth_.T, strict=True):
            points, index = np.unique(column, return_inverse=True)
            for c in range(len(h)):
                here = slice(*next(bounds))
                score[:, c] += log_density(points, self._values[here], self._shares[here], h[c])[index]
        return score

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities, of shape (n_samples, n_classes)."""
        score = self.predict_joint_log_proba(X)
        return score - logsumexp(score, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, of shape (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row."""
        score = self.predict_joint_log_proba(X)
        return self.classes_[np.argmax(score, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def columns(X: Any) -> Iterator[np.ndarray]:
    """The columns as dense float64 arrays, one by one."""
    X = X.tocsc() if sp.issparse(X) else X
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j]
        yield column.astype(np.float64)


def log_density(points: np.ndarray, values: np.ndarray, share: np.ndarray, h: float) -> np.ndarray:
    """log sum_i share_i N(point; value_i, h^2), in blocks of points.

    The nearest value is taken out of the sum, so that it is neither 0 nor infinite however far a point lies.
    """
    log = np.empty(len(points))
    step = max(1, VALUES_AT_ONCE // len(values))
    for at in range(0, len(points), step):
        z = (points[at : at + step, None] - values) / h
        np.square(z, out=z)
        nearest = z.min(axis=1)
        z -= nearest[:, None]
        z *= -0.5
        log[at : at + step] = np.log(np.exp(z, out=z) @ share) - 0.5 * nearest
    return log - np.log(h) - 0.5 * np.log(2 * np.pi)
