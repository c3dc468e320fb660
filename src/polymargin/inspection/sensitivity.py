r"""Sensitivity maps: which features a machine's scores depend on, eq. 20 and 21 of the scatter paper.

The sensitivity of a score f to feature j is the mean square of its derivative over rows x_1 ... x_n of weights w_i:

    s_j = sum_i w_i (df/dx_j (x_i))^2 / sum_i w_i

A score is a sum over support vectors z, f(x) = sum_z beta_z k(z, x). The gradient of every kernel but the Laplacian has
the form  dk(z, x)/dx = a(z, x) z + b(z, x) x.  So the gradients at a block of rows are one matrix product:

    G = A Z + diag(t) X,      A[i,z] = beta_z a(z, x_i),      t_i = sum_z beta_z b(z, x_i)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .. import _core, kernels
from ..fitting.checks import canonical, check_sample_weight
from ..fitting.parameters import quoted
from ..fitting.resources import threads
from ..training.decisions import decision_of
from ..training.expansions import kernel_rows

CHUNK = 1024  # support vectors of a block
GRADIENT_VALUES = 1 << 20  # numbers in a block of gradients or kernel values (8 MB)


def sensitivity_map(
    estimator: Any, X: Any, y: Any = None, *, of: str = "class", sample_weight: Any = None
) -> np.ndarray:
    r"""Mean squared derivative of a fitted machine's scores with respect to every feature.

    `of="class"` is eq. 21 of [1]_: the sensitivity of the class score :math:`f_c` over the rows of class c,

    .. math:: s_{cj} = \frac{1}{n_c} \sum_{i: y_i = c} \left( \frac{\partial f_c}{\partial x_j}(x_i) \right)^2

    `of="mean"` is the same for the score of the mean prototype, :math:`\bar m = \frac1T \sum_c m_c`, over all rows.
    Here :math:`m_c = \sum_{i \in c} \alpha_i \phi(x_i)`, what the rows of class c give to their own score: the scores
    of many machines sum to zero, and so would their mean.

    Reductions have no score per class but one per binary machine. `of="class"` is then one map per machine, over the
    rows of the classes that take part in it (one-versus-rest: of the one class), and `of="mean"` is the mean of these.

    Parameters
    ----------
    estimator : fitted classifier, a search for its parameters, AutoSVC, or a Pipeline that ends with one of these
        Behind a pipeline, or in AutoSVC, the features are those that the machine sees, for example the standardized
        ones, whose sensitivities can be compared with each other; with `normalize=True`, those of the rows at unit
        length.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows over which squares are averaged, usually the training rows.
    y : array-like of shape (n_samples,), default=None
        Their classes, used by `of="class"`; None takes the predicted ones.
    of : {"class", "mean"}, default="class"
        One map per class, or one of the mean prototype.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    s : ndarray of shape (n_classes, n_features) or (n_features,)
        Sensitivities, at least 0, for `of="class"` and `of="mean"`; of reductions with more than two classes, of shape
        (n_machines, n_features), in the order of `dual_coef_`. A class or machine without rows has NaN.

    See Also
    --------
    SensitivityDisplay : the maps as bars or images.

    Notes
    -----
    The Laplacian kernel has a kink where a feature of x equals that of a support vector; the mean of the two one-sided
    derivatives is taken there. The cosine kernel has none at x = 0, which counts as 0.

    References
    ----------
    .. [1] R. Jenssen, M. Kloft, A. Zien, S. Sonnenburg and K.-R. Müller, "A scatter-based prototype framework and
       multi-class extension of support vector machines", PLoS ONE 7(10), e42947, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC, sensitivity_map
    >>> X, y = load_iris(return_X_y=True)
    >>> model = JointSVC(C=10).fit(X, y)
    >>> sensitivity_map(model, X, y).shape, sensitivity_map(model, X, of="mean").shape
    ((3, 4), (4,))
    """
    if of not in ("class", "mean"):
        raise ValueError(f'expected of to be "class" or "mean", got {of!r}')
    model, X = differentiable(estimator, X)
    X = kernel_rows(model, X)
    weight = check_sample_weight(sample_weight, X.shape[0])
    if of == "mean" and has_prototypes(model):
        return mean_square(model, X, weight, own_weights(model) / len(model.classes_))
    index = class_index(model, X, y)
    B = model.dual_coef_
    maps = np.full((B.shape[0], X.shape[1]), np.nan)
    for c in range(len(maps)):
        rows = np.flatnonzero(takes_part(model, c)[index] & (weight > 0))
        if len(rows):
            maps[c] = mean_square(model, X[rows], weight[rows], row_of(B, c))
    return np.nanmean(maps, axis=0) if of == "mean" else maps


def has_prototypes(model: Any) -> bool:
    """Whether there is a prototype per class, and no code."""
    return decision_of(model).columns is None


def takes_part(model: Any, c: int) -> np.ndarray:
    """The classes over whose rows the map of score c is a mean."""
    decision = decision_of(model)
    return np.arange(decision.n_classes) == c if decision.is_per_class else decision.code[:, c] != 0


def score_names(model: Any) -> list[str]:
    """What the rows of `dual_coef_` are the scores of."""
    decision, classes = decision_of(model), model.classes_
    if decision.is_per_class:
        return [f"class {c}" for c in classes]
    code = decision.code
    if all(np.count_nonzero(column) == 2 for column in code.T):
        return [f"{classes[column.argmax()]} or {classes[column.argmin()]}" for column in code.T]
    return [f"column {k}" for k in range(code.shape[1])]


def machine_in(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """The machine inside pipelines, searches and AutoSVC, and the rows X as it sees them."""
    while isinstance(estimator, Pipeline) or hasattr(estimator, "best_estimator_") or hasattr(estimator, "machine_"):
        if isinstance(estimator, Pipeline):
            check_is_fitted(estimator)
            X = estimator[:-1].transform(X) if len(estimator) > 1 and X is not None else X
            estimator = estimator[-1]
        elif hasattr(estimator, "machine_"):  # AutoSVC
            X = None if X is None else estimator.encoder_.transform(X)
            estimator = estimator.machine_
        else:
            estimator = estimator.best_estimator_
    return estimator, X


def differentiable(estimator: Any, X: Any) -> tuple[Any, Any]:
    """`machine_in`; raises where the scores of the machine have no known derivative."""
    estimator, X = machine_in(estimator, X)
    ours = hasattr(type(estimator), "_rows")
    kind = kernels.kind(estimator.kernel) if ours else type(estimator).__name__
    if kind not in GRADIENTS:
        why = {
            "callable": "the derivative of a Python function is not known",
            "precomputed": "a matrix of kernel values says nothing about the features behind it",
        }.get(kind, "it has no class scores that are sums over its support vectors")
        found = f'kernel="{kind}"' if kind in ("callable", "precomputed") else kind
        if hasattr(estimator, "estimator"):
            why = "it is not fitted, or it was told not to refit its best estimator"
        raise ValueError(
            f"expected a fitted kernel machine with one of the kernels {quoted(GRADIENTS)} for a sensitivity map, "
            f"got {found}; {why}"
        )
    check_is_fitted(estimator)
    return estimator, X


def class_index(model: Any, X: Any, y: Any) -> np.ndarray:
    """Every row's number in `classes_`, by y or by prediction."""
    y = model.predict(X) if y is None else np.asarray(y)
    if y.shape != (X.shape[0],):
        raise ValueError(f"expected y to hold one label per row of X, shape ({X.shape[0]},), got shape {y.shape}")
    known = np.isin(y, model.classes_)
    if not known.all():
        raise ValueError(
            f"expected y to hold labels that the machine has learned, {model.classes_[:10].tolist()}, got "
            f"{y[~known].tolist()[0]!r}; pass rows of these classes"
        )
    return np.searchsorted(model.classes_, y)


def row_of(B: Any, c: int) -> np.ndarray:
    return B[[c]].toarray().ravel() if sp.issparse(B) else B[c]


def own_weights(model: Any) -> np.ndarray:
    """The coefficients of the support vectors in the score of their own class, which are their largest.

    Of a reduction: the sum of their coefficients in all binary machines, without the signs.
    """
    B = model.dual_coef_
    if not has_prototypes(model):
        return abs(B).sum(axis=0)
    return B.sum(axis=0) if sp.issparse(B) else B.max(axis=0)


def mean_square(model: Any, X: Any, weight: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """sum_i w_i (df/dx_j (x_i))^2 / sum_i w_i for every feature j, f(x) = sum_z beta_z k(z, x)."""
    total = np.zeros(X.shape[1])
    for rows, G in gradient_blocks(model, X, beta):
        total += weight[rows] @ np.square(G, out=G)
    return total / weight.sum()


def gradient_blocks(model: Any, X: Any, beta: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows of X and their gradients; nothing of size n x n_SV or n_SV x n_features is made beyond a block."""
    beta = np.asarray(beta, dtype=np.float64)
    used = np.flatnonzero(beta)
    Z = model.support_vectors_
    step = max(1, GRADIENT_VALUES // max(X.shape[1], CHUNK))
    for at in range(0, X.shape[0], step):
        rows = slice(at, min(at + step, X.shape[0]))
        G = np.zeros((rows.stop - at, X.shape[1]))
        for first in range(0, len(used), CHUNK):
            some = used[first : first + CHUNK]
            G += GRADIENTS[model.kernel](model, X[rows], Z[some].astype(np.float64), beta[some])
        yield rows, G


# What the support vectors Z of coefficients beta add to the gradients at the rows of X, (n, n_features).


def linear(model: Any, X: Any, Z: Any, beta: np.ndarray) -> np.ndarray:
    """dk/dx = z"""
    return np.broadcast_to(beta @ Z, X.shape)


def poly(model: Any, X: Any, Z: Any, beta: np.ndarray) -> np.ndarray:
    """dk/dx = degree gamma (gamma <x, z> + coef0)^(degree - 1) z"""
    if model.degree == 1:
        return model.gamma_ * linear(model, X, Z, beta)
    return (model.degree * model.gamma_ * beta * values(model, X, Z, model.degree - 1)) @ Z


def sigmoid(model: Any, X: Any, Z: Any, beta: np.ndarray) -> np.ndarray:
    """dk/dx = gamma (1 - k^2) z"""
    return (model.gamma_ * beta * (1 - values(model, X, Z) ** 2)) @ Z


def rbf(model: Any, X: Any, Z: Any, beta: np.ndarray) -> np.ndarray:
    """dk/dx = 2 gamma k (z - x)"""
    A, x = beta * values(model, X, Z), dense(X)
    if not sp.issparse(Z):  # differences around a common origin: data far from zero would cancel
        origin = Z.mean(axis=0)
        x, Z = x - origin, Z - origin
    return 2 * model.gamma_ * (A @ Z - A.sum(axis=1, keepdims=True) * x)


def cosine(model: Any, X: Any, Z: Any, beta: np.ndarray) -> np.ndarray:
    """dk/dx = z / (|x| |z|) - k x / |x|^2"""
    A, x = beta * values(model, X, Z), dense(X)
    squares = Z.multiply(Z) if sp.issparse(Z) else np.square(Z)
    b = beta * inverse(np.sqrt(np.asarray(squares.sum(axis=1)).ravel()))
    r = inverse(np.linalg.norm(x, axis=1))[:, None]
    return (b @ Z - A.sum(axis=1, keepdims=True) * r * x) * r


def laplacian(model: Any, X: Any, Z: Any, beta: np.ndarray) -> np.ndarray:
    """dk/dx_j = -gamma k sign(x_j - z_j): a pass over the block for every feature"""
    A, x, z = beta * values(model, X, Z), dense(X), dense(Z)
    signs = (np.sign(x[:, j, None] - z[:, j]) for j in range(x.shape[1]))
    return -model.gamma_ * np.stack([np.einsum("iz,iz->i", A, s) for s in signs], axis=1)


GRADIENTS: dict[str, Callable[[Any, Any, Any, np.ndarray], np.ndarray]] = {
    "rbf": rbf,
    "linear": linear,
    "poly": poly,
    "sigmoid": sigmoid,
    "cosine": cosine,
    "laplacian": laplacian,
}


def values(model: Any, X: Any, Z: Any, degree: int = 1) -> np.ndarray:
    """k between the rows of X and of Z, by the core."""
    kernel = replace(kernels.Kernel.of(model), degree=degree).record()
    rows, cols = np.arange(X.shape[0]), np.arange(Z.shape[0])
    X, Z = kernels.as_data(canonical(X)), kernels.as_data(canonical(Z))
    return _core.kernel_block(X, Z, kernel, rows, cols, "float64", threads(model.n_jobs))


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def inverse(lengths: np.ndarray) -> np.ndarray:
    return np.divide(1, lengths, where=lengths > 0, out=np.zeros(len(lengths)))
