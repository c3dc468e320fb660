"""The hardest and the easiest rows, as images or as a table (figures 10 to 13 of the scatter paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .displays import TITLE, check_image_shape, classes_of_support, names_of_features, panels
from .lettering import fold, sizes
from .sensitivity import dense, own_weights

MOST_COLUMNS = 8  # features in a table
CELL, SMALL = 9, 8  # font sizes in a table and over images


class SupportVectorDisplay:
    """The hardest or easiest rows, as a gallery of images or as a table (figures 10 to 13 of the scatter paper).

    Parameters
    ----------
    rows : ndarray of shape (n, n_features)
        The rows to show, in their order.
    labels : ndarray of shape (n,)
        Their classes.
    values : ndarray of shape (n,)
        Their weights, or margins.
    title : str, default=""
        Over the picture.
    feature_names : array-like of shape (n_features,), default=None
        Over the columns of the table.
    image_shape : tuple of int, default=None
        (height, width) of the image that a row is; None makes a table.

    Attributes
    ----------
    figure_, axes_ : Figure, ndarray of Axes
        One axes per image, or the one of the table.
    images_ : list
        The images.
    table_ : Table or None
        The table.

    See Also
    --------
    WeightDisplay : the weights of all rows.

    References
    ----------
    .. [1] R. Jenssen, M. Kloft, A. Zien, S. Sonnenburg and K.-R. Müller, "A scatter-based prototype framework and
       multi-class extension of support vector machines", PLoS ONE 7(10), e42947, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC, SupportVectorDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> SupportVectorDisplay.from_estimator(JointSVC().fit(X, y)).table_ is not None
    True
    """

    def __init__(
        self,
        rows: Any,
        labels: Any,
        values: Any,
        *,
        title: str = "",
        feature_names: Any = None,
        image_shape: Any = None,
    ) -> None:
        self.rows, self.labels, self.values = rows, labels, values
        self.title, self.feature_names, self.image_shape = title, feature_names, image_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        which: str = "hardest",
        n: int | None = None,
        feature_names: Any = None,
        image_shape: Any = None,
        ax: Any = None,
    ) -> SupportVectorDisplay:
        """The support vectors with the largest weights, or the rows of X with the largest margins.

        Parameters
        ----------
        estimator : fitted classifier, or Pipeline that ends with one
            The machine. Its hardest rows need no X; those of reductions need y, the labels of the training rows.
        X, y : array-like of shape (n_samples, n_features) and (n_samples,), default=None
            Rows and classes to choose the easiest from: the best of each class in turn, by how far the own score is
            above the best other one.
        which : {"hardest", "easiest"}, default="hardest"
            What to show.
        n : int, default=None
            How many: 49 images or 10 table rows if None.
        feature_names, image_shape, ax
            As above; ax is one axes, or one per image.

        Returns
        -------
        display : SupportVectorDisplay
            The picture, drawn.
        """
        if which not in ("hardest", "easiest"):
            raise ValueError(f'expected which to be "hardest" or "easiest", got {which!r}')
        n = n if n is not None else 49 if image_shape else 10
        while hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        steps = estimator[:-1] if hasattr(estimator, "steps") else None
        model = estimator[-1] if hasattr(estimator, "steps") else estimator
        check_is_fitted(model)
        if which == "hardest":
            rows, labels, values = hardest(model, y, n)
            rows = steps.inverse_transform(rows) if steps is not None and len(steps) else rows
        else:
            rows, labels, values = easiest(estimator, X, y, n)
        rows = dense(rows)
        names = names_of_features(model if steps is None else None, feature_names, rows.shape[1])
        title = "largest weights" if which == "hardest" else "largest margins"
        display = cls(rows, labels, values, title=title, feature_names=names, image_shape=image_shape)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> SupportVectorDisplay:
        """Draw the gallery or the table."""
        self.images_: list[Any] = []
        self.table_: Any = None
        check_image_shape(self.image_shape, self.rows.shape[1])
        if self.image_shape:
            self._draw_gallery(ax)
        else:
            self._draw_table(ax)
        return self

    def _draw_gallery(self, ax: Any) -> None:
        labels = [fold(label, 1.4, SMALL) for label in self.labels]
        room = sizes(labels or [""], SMALL).max(axis=0)
        size, above = (max(0.9, room[0] + 0.15), 0.95 + room[1]), room[1] + 0.1
        self.figure_, self.axes_ = panels(ax, max(1, len(self.rows)), size, above=above, head=0.4)
        for axes, row, label in zip(self.axes_, self.rows, labels, strict=False):
            self.images_.append(axes.imshow(row.reshape(self.image_shape), cmap="gray_r"))
            axes.set_title(label, fontsize=SMALL, pad=2)
            axes.set_axis_off()
        if ax is None:
            self.figure_.suptitle(self.title, fontsize=11)

    def _draw_table(self, ax: Any) -> None:
        d = self.rows.shape[1]
        shown, more = np.arange(min(d, MOST_COLUMNS)), ["..."] if d > MOST_COLUMNS else []
        names = names_of_features(None, self.feature_names, d)[shown]
        head = ["class", self.title.removeprefix("largest ").rstrip("s") or "value", *names, *more]
        cells = [
            [label, f"{value:.3g}", *(f"{v:.3g}" for v in row[shown]), *more]
            for row, label, value in zip(self.rows, self.labels, self.values, strict=True)
        ]
        text = [[fold(cell, 1.5, CELL) for cell in line] for line in [head, *(cells or [[""] * len(head)])]]
        room = np.array([sizes(line, CELL) for line in text]) + [0.2, 0.1]
        wide, high = room[:, :, 0].max(axis=0), room[:, :, 1].max(axis=1)
        self.figure_, self.axes_ = panels(ax, 1, (wide.sum() + 0.3, high.sum() + 0.7))
        axes = self.axes_[0]
        axes.set_axis_off()
        axes.set_title(self.title, fontsize=TITLE)
        self.figure_.draw_without_rendering()  # so that the axes know their place
        box = axes.get_window_extent()
        fit = min(1.0, box.width / self.figure_.dpi / wide.sum(), box.height / self.figure_.dpi / high.sum())
        self.table_ = axes.table(
            text[1:], colLabels=text[0], colWidths=fit * wide * self.figure_.dpi / box.width, loc="upper center"
        )
        self.table_.auto_set_font_size(False)
        self.table_.set_fontsize(fit * CELL)
        for (i, _), cell in self.table_.get_celld().items():
            cell.set_height(fit * high[i] * self.figure_.dpi / box.height)
            cell.PAD = 0.04


def hardest(model: Any, y: Any, n: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """The n support vectors with the largest weights, their labels and weights; y are labels of all training rows."""
    if model.kernel == "precomputed":
        raise ValueError(
            'expected a machine that keeps its support vectors, got kernel="precomputed", which keeps none'
        )
    weights = own_weights(model)
    order = np.argsort(-weights, kind="stable")[:n]
    if y is not None and len(y) == model.shape_fit_[0]:
        labels = np.asarray(y)[model.support_[order]]
    else:
        labels = model.classes_[classes_of_support(model)[order]]
    return model.support_vectors_[order], labels, weights[order]


def easiest(estimator: Any, X: Any, y: Any, n: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """The n rows with the largest margins, the classes taking turns; their labels and margins."""
    if X is None or y is None:
        raise ValueError('expected the rows X and their classes y with which="easiest", got none; pass both')
    X, y = X.tocsr() if sp.issparse(X) else np.asarray(X), np.asarray(y)
    margins = margins_of(estimator, X, np.searchsorted(estimator.classes_, y))
    order = in_turn(margins, y)[:n]
    return X[order], y[order], margins[order]


def margins_of(estimator: Any, X: Any, index: np.ndarray) -> np.ndarray:
    """Own score minus the best other one; `index` is the class of every row."""
    F = estimator.decision_function(X)
    F = np.column_stack([-F, F]) if F.ndim == 1 else F.copy()
    own = F[np.arange(len(F)), index]
    F[np.arange(len(F)), index] = -np.inf
    return own - F.max(axis=1)


def in_turn(margins: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows in the order: the largest margin of each class, the second largest of each class, ..."""
    order = np.lexsort((-margins, y))
    first = np.searchsorted(y[order], y[order])
    return order[np.argsort(np.arange(len(y)) - first, kind="stable")]
