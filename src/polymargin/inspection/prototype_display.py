"""Class prototypes and their mean in the plane, figures 1 to 3 of the scatter paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core, kernels
from ..fitting.resources import threads
from ..training.expansions import kernel_rows
from .displays import MOST_POINTS, classes_of_support, colors, panels
from .lettering import FEW_NAMES, legend_beside, write_names
from .sensitivity import dense, has_prototypes, machine_in, own_weights


class PrototypeDisplay:
    r"""Rows, class prototypes and their mean in the plane.

    The prototype of a class is the weighted mean of its support vectors in the kernel's space. With the linear kernel
    and two features that space is the plane itself. Else the picture is the projection onto the plane through the
    prototypes' mean in which the prototypes differ most: with :math:`m_c` the prototypes and :math:`v_k` an
    eigenvector, of eigenvalue :math:`\lambda_k`, of the matrix of :math:`\langle m_b - \bar m, m_c - \bar m \rangle`,
    coordinate k of a row is

    .. math:: \frac{1}{\sqrt{\lambda_k}} \sum_c v_{kc} \langle m_c - \bar m, \phi(x) - \bar m \rangle

    Parameters
    ----------
    points, labels : ndarray of shape (n, 2) and (n,)
        Rows in the plane and their classes' numbers.
    support, support_labels : ndarray of shape (n_SV, 2) and (n_SV,)
        The same for the support vectors.
    prototypes : ndarray of shape (n_classes, 2)
        Prototypes; a class without support vectors has NaN.
    classes : ndarray of shape (n_classes,)
        Names of the classes.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Where the picture is.
    points_, support_, prototypes_, mean_ : PathCollection
        Dots of the rows, circles around support vectors, squares of the prototypes, the cross of their mean.
    arrows_ : list of Annotation
        From the mean to the prototypes.

    See Also
    --------
    JointSVC : the machine of the prototypes.
    SupportVectorDisplay : the rows that they are made of.

    References
    ----------
    .. [1] R. Jenssen, M. Kloft, A. Zien, S. Sonnenburg and K.-R. Müller, "A scatter-based prototype framework and
       multi-class extension of support vector machines", PLoS ONE 7(10), e42947, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC, PrototypeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> PrototypeDisplay.from_estimator(JointSVC("scatter").fit(X, y), X, y).prototypes.shape
    (3, 2)
    """

    def __init__(
        self, points: Any, labels: Any, support: Any, support_labels: Any, prototypes: Any, classes: Any
    ) -> None:
        self.points, self.labels = points, labels
        self.support, self.support_labels = support, support_labels
        self.prototypes, self.classes = prototypes, classes

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> PrototypeDisplay:
        """Project rows, support vectors and prototypes of a fitted machine; of many rows some are drawn."""
        estimator, X = machine_in(estimator, X)
        check_is_fitted(estimator)
        if estimator.kernel == "precomputed":
            raise ValueError(
                'expected a kernel of rows for PrototypeDisplay, got kernel="precomputed"; '
                "the plane is computed from kernel values between support vectors, which are not kept"
            )
        if not has_prototypes(estimator):
            raise ValueError(
                f"expected a machine with class prototypes for PrototypeDisplay, got {type(estimator).__name__}, "
                f"whose binary machines have none; use JointSVC"
            )
        X = kernel_rows(estimator, X)
        step = -(-X.shape[0] // MOST_POINTS)
        X, labels = X[::step], np.searchsorted(estimator.classes_, np.asarray(y))[::step]
        own = classes_of_support(estimator)
        P = mean_weights(estimator, own)
        if estimator.kernel == "linear" and X.shape[1] == 2:
            Z = dense(estimator.support_vectors_)
            points, support, prototypes = dense(X), Z, P @ Z
        else:
            points, support, prototypes = project(estimator, P, X)
        prototypes[P.sum(axis=1) == 0] = np.nan
        return cls(points, labels, support, own, prototypes, estimator.classes_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> PrototypeDisplay:
        """Draw the picture."""
        given = ax
        self.figure_, (self.ax_,) = panels(ax, 1, (5.4, 4.8))
        ax, color = self.ax_, colors(len(self.classes))
        self.points_ = ax.scatter(*self.points.T, c=color[self.labels], s=12, alpha=0.6, linewidths=0)
        self.support_ = ax.scatter(
            *self.support.T, s=45, facecolors="none", edgecolors=color[self.support_labels], linewidths=0.9
        )
        mean = np.nanmean(self.prototypes, axis=0)
        self.arrows_ = [
            ax.annotate("", xy=m, xytext=mean, arrowprops=dict(arrowstyle="->", color="0.25"))
            for m in self.prototypes
            if np.isfinite(m).all()
        ]
        style = dict(edgecolors="black", linewidths=1.2, zorder=3)
        self.prototypes_ = ax.scatter(*self.prototypes.T, c=color, marker="s", s=80, **style)
        self.mean_ = ax.scatter(*mean, c="white", marker="X", s=110, **style)
        ax.set_aspect("equal", adjustable="datalim")
        self._name_classes(color, grows=given is None)
        return self

    def _name_classes(self, color: np.ndarray, *, grows: bool) -> None:
        """Up to 10 classes have a legend. More colors look alike, so up to 40 are named beside the squares."""
        there = np.flatnonzero(np.isfinite(self.prototypes).all(axis=1))
        squares = [
            self.ax_.scatter([], [], color=[c], marker="s", edgecolors="black")
            for c in (color if len(self.classes) <= FEW_NAMES else ())
        ]
        if len(self.classes) <= 10:
            legend_beside(self.ax_, squares, self.classes, grows=grows, title="prototypes")
            return
        if len(self.classes) > FEW_NAMES:
            return
        marks = np.vstack([self.points, self.support, self.prototypes[there]])
        where = (self.ax_, self.prototypes[there])
        if not write_names(*where, self.classes[there], ["black"] * len(there), marks):
            numbers = [f"{k + 1}" for k in range(len(self.classes))]
            names = [f"{k}  {name}" for k, name in zip(numbers, self.classes, strict=True)]
            legend_beside(self.ax_, squares, names, grows=grows, title="prototypes")
            write_names(*where, np.array(numbers)[there], ["black"] * len(there), marks)


def mean_weights(model: Any, own: np.ndarray) -> np.ndarray:
    """The prototypes as weighted means of the support vectors, (n_classes, n_SV); zeros for a class without any."""
    P = np.zeros((len(model.classes_), len(own)))
    P[own, np.arange(len(own))] = own_weights(model)
    total = P.sum(axis=1, keepdims=True)
    return np.divide(P, total, where=total > 0, out=np.zeros_like(P))


def project(model: Any, P: np.ndarray, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, support vectors and prototypes in the plane in which the prototypes differ most."""
    used = P.sum(axis=1) > 0
    S = products(model, P, model.support_vectors_)  # <m_c, phi(z)>
    G = P @ S  # <m_b, m_c>
    mean = used / max(1, used.sum())
    # <m_c - mbar, m_b - mbar>
    C = np.eye(len(P))[used] - mean
    values, vectors = np.linalg.eigh(C @ G @ C.T)
    top = np.argsort(-values)[:2]
    scale = np.sqrt(np.maximum(values[top], 1e-300))
    axes = (vectors[:, top] / scale).T @ C  # the two directions, as combinations of prototypes
    axes[values[top] <= 1e-12 * max(values.max(), 1e-300)] = 0  # two classes differ in one direction only
    center = axes @ G @ mean
    return tuple(M @ axes.T - center for M in (products(model, P, X), S, G))


def products(model: Any, P: np.ndarray, X: Any) -> np.ndarray:
    """<m_c, phi(x)> for the rows of X, (n, n_classes)."""
    Z = model.support_vectors_
    kernel = kernels.Kernel.of(model).record(X, Z)
    return _core.scores(
        Z=kernels.as_data(X),
        SV=kernels.as_data(Z),
        kernel=kernel,
        sv_rows=np.arange(Z.shape[0]),
        segments=np.zeros(0, dtype=np.int64),
        alpha=P.ravel(),
        intercept=np.zeros(len(P)),
        dtype="float64",
        n_jobs=threads(model.n_jobs),
    )
