"""Measures beside the radius-margin criteria: separability of classes, and a bound for one joint machine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _core, kernels
from ..fitting.checks import check_classes, check_rows
from ..fitting.resources import threads
from ..fitting.scales import column_moments
from ..joint import JointSVC
from .criteria import Criterion, CriterionForm

KERNEL_ROWS = 1024  # rows of kernel values at a time


class Separability(NamedTuple):
    """Traces of the scatter matrices in feature space."""

    between: float
    within: float
    total: float

    @property
    def ratio(self) -> float:
        """Between over total: 0 where the class means coincide, 1 where every class is a point."""
        return self.between / self.total if self.total > 0 else 0.0


def class_separability(
    X: Any,
    y: Any,
    *,
    kernel: Any = "rbf",
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    n_jobs: int | None = None,
) -> Separability:
    r"""Scatter of the classes in the kernel's feature space (Wang, Xue and Chan 2008, eq. 19 to 21).

    .. math::

        \mathrm{tr} S_B = \sum_i \frac{\Sigma(K_{ii})}{n_i} - \frac{\Sigma(K)}{n}, \quad
        \mathrm{tr} S_W = \mathrm{tr} K - \sum_i \frac{\Sigma(K_{ii})}{n_i}, \quad
        \mathrm{tr} S_T = \mathrm{tr} K - \frac{\Sigma(K)}{n}

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    kernel, gamma, degree, coef0
        As for `JointSVC`.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    separability : Separability
        `between`, `within`, `total`, the three traces; its `ratio` is between / total.

    See Also
    --------
    single_machine_bound : a bound instead of traces.

    References
    ----------
    .. [1] L. Wang, P. Xue and K. L. Chan, "Two criteria for model selection in multiclass support vector machines",
       IEEE Transactions on Systems, Man, and Cybernetics B 38(6), 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import class_separability
    >>> X, y = load_iris(return_X_y=True)
    >>> round(float(class_separability(X, y, gamma=0.5).ratio), 2)
    0.51
    """
    model = JointSVC("scatter", kernel=kernel)
    X, y = check_rows(model, X, y, fit=True, precomputed=kernel == "precomputed")
    n, n_threads = len(y), threads(n_jobs)
    classes, index = check_classes(y, np.arange(n))
    mean, variance = (None, None)
    if kernels.kind(kernel) not in ("precomputed", "callable"):
        mean, variance = column_moments(X, np.ones(n))
    value = kernels.resolve_gamma(kernel, gamma, mean, variance, X.shape[1])
    record = kernels.Kernel(kernel, value, degree, coef0).record(X, X)
    rows, data = np.arange(n), kernels.as_data(X)
    order, counts = np.argsort(index, kind="stable"), np.bincount(index)
    own, every = np.zeros(len(classes)), 0.0
    segments = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for at in range(0, n, KERNEL_ROWS):
        some = rows[at : at + KERNEL_ROWS]
        sums = np.add.reduceat(
            _core.kernel_block(data, data, record, some, order, "float64", n_threads), segments, axis=1
        )
        every += sums.sum()
        own += np.bincount(index[some], sums[np.arange(len(some)), index[some]], len(classes))
    trace = float(_core.diagonal(data, record, rows, "float64").sum())
    inside = float((own / counts).sum())
    return Separability(inside - float(every) / n, trace - inside, trace - float(every) / n)


def single_machine_bound(X: Any, y: Any, *, C: float = 1.0, gamma: float, n_jobs: int | None = None) -> float:
    r"""Radius-margin bound of one joint machine for all classes, up to a constant (eq. 17).

    .. math:: R^2 \sum_{i<j} \|w_i - w_j\|^2

    :math:`w_i` are the prototypes of the Weston-Watkins machine with squared hinge, :math:`R` is the radius of the ball
    around all rows. As in criteria I and II the slacks belong to the margins: K + I/C takes the place of K in R, and
    :math:`C \sum \xi^2` is added to the sum. The machine's own C is C/4, with which two classes are the binary machine.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    C : float, default=1.0
        Weight of the slacks.
    gamma : float
        Of the RBF kernel.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    bound : float
        The product of squared radius and squared norms.

    See Also
    --------
    RadiusMarginSearch : minimizes criteria of this kind.
    class_separability : traces of scatter matrices.

    References
    ----------
    .. [1] L. Wang, P. Xue and K. L. Chan, "Two criteria for model selection in multiclass support vector machines",
       IEEE Transactions on Systems, Man, and Cybernetics B 38(6), 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import single_machine_bound
    >>> X, y = load_iris(return_X_y=True)
    >>> round(single_machine_bound(X, y, C=1.0, gamma=0.5), 1)
    53.3
    """
    model = JointSVC("kesler", loss="squared_hinge", C=C / 4, gamma=gamma, tol=1e-6, n_jobs=n_jobs).fit(X, y)
    X, y = check_rows(model, X, y, fit=True, precomputed=False)
    index = np.searchsorted(model.classes_, y)
    n, T = len(y), len(model.classes_)
    criterion = Criterion(X, index, np.ones(n), CriterionForm("II"), threads(n_jobs))
    criterion(C, gamma)
    F = model.decision_function(X)
    F = np.column_stack([-F / 2, F / 2]) if T == 2 else F  # two classes have one score, f_1 - f_0
    slack = np.maximum(1 - (F[np.arange(n), index][:, None] - F), 0)
    slack[np.arange(n), index] = 0
    # sum_{i<j} |w_i - w_j|^2 = T sum_c |w_c|^2, since the prototypes sum to zero; <w_c, .> are the scores without bias.
    norms = T * np.einsum("cs,sc->", model.dual_coef_, (F - model.intercept_)[model.support_])
    return float(criterion.R2[0] * (norms + C * np.sum(slack**2)))
