"""Rankings of single features, which the paper on radius-margin criteria compares its gammas with (figure 10).

Each function takes rows and labels and returns one number per feature, larger for a better one, so each is a
`score_func` for scikit-learn's `SelectKBest`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_X_y


def fisher_score(X: Any, y: Any) -> np.ndarray:
    """Spread of the class means over the spread inside the classes, sum_c n_c (m_c - m)^2 / sum_c n_c s_c^2.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Infinite for a feature that is constant in every class but not over all, 0 for a constant one.

    See Also
    --------
    pearson_score, kolmogorov_smirnov_score : other scores.
    RadiusMarginSearch : `ranking_` by gammas.

    References
    ----------
    .. [1] L. Wang, P. Xue and K. L. Chan, "Two criteria for model selection in multiclass support vector machines",
       IEEE Transactions on Systems, Man, and Cybernetics B 38(6), 2008: section VI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import fisher_score
    >>> X, y = load_iris(return_X_y=True)
    >>> fisher_score(X, y).round(1)
    array([ 1.6,  0.7, 16.1, 13.1])
    """
    X, index, counts = _checked(X, y)
    means = np.array([X[index == c].mean(axis=0) for c in range(len(counts))])
    inside = sum(n * X[index == c].var(axis=0) for c, n in enumerate(counts))
    between = counts @ (means - X.mean(axis=0)) ** 2
    tiny = np.finfo(float).eps * np.maximum(1, np.abs(X).max(axis=0)) ** 2 * len(X)
    between, inside = np.where(between > tiny, between, 0), np.where(inside > tiny, inside, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(between > 0, between / inside, 0.0)


def pearson_score(X: Any, y: Any) -> np.ndarray:
    """Mean over the classes of the absolute correlation between a feature and the class's indicator.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1; for two classes the absolute correlation with the label. 0 for a constant feature.

    See Also
    --------
    fisher_score, kolmogorov_smirnov_score : other scores.

    References
    ----------
    .. [1] L. Wang, P. Xue and K. L. Chan, "Two criteria for model selection in multiclass support vector machines",
       IEEE Transactions on Systems, Man, and Cybernetics B 38(6), 2008: section VI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import pearson_score
    >>> X, y = load_iris(return_X_y=True)
    >>> pearson_score(X, y).round(2)
    array([0.48, 0.4 , 0.62, 0.59])
    """
    X, index, counts = _checked(X, y)
    X = X - X.mean(axis=0)
    length = np.sqrt((X**2).sum(axis=0))
    share = counts / len(X)
    dots = np.abs([X[index == c].sum(axis=0) for c in range(len(counts))])  # the indicator's mean meets a centered X
    sizes = np.sqrt(counts * (1 - share))
    return np.divide((dots / sizes[:, None]).mean(axis=0), length, out=np.zeros(X.shape[1]), where=length > 0)


def kolmogorov_smirnov_score(X: Any, y: Any) -> np.ndarray:
    """Mean over the pairs of classes of the largest difference between their distribution functions.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1.

    See Also
    --------
    fisher_score, pearson_score : other scores.

    References
    ----------
    .. [1] L. Wang, P. Xue and K. L. Chan, "Two criteria for model selection in multiclass support vector machines",
       IEEE Transactions on Systems, Man, and Cybernetics B 38(6), 2008: section VI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import kolmogorov_smirnov_score
    >>> X, y = load_iris(return_X_y=True)
    >>> kolmogorov_smirnov_score(X, y).round(2)
    array([0.72, 0.49, 0.95, 0.96])
    """
    X, index, counts = _checked(X, y)
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    last = np.ones(X.shape, dtype=bool)  # of equal values
    last[:-1] = values[1:] > values[:-1]
    labels = index[order]
    below = [np.cumsum(labels == c, axis=0) / n for c, n in enumerate(counts)]
    gaps = [np.where(last, np.abs(below[a] - below[b]), 0).max(axis=0) for a, b in combinations(range(len(counts)), 2)]
    return np.mean(gaps, axis=0)


def _checked(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = check_X_y(X, y, dtype=np.float64)
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"expected y to hold at least 2 classes, got 1 class ({classes[0]!r}); add rows of another class"
        )
    return X, index, np.bincount(index)
