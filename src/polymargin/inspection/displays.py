"""Pictures of fitted machines, in scikit-learn's pattern: `from_estimator`, `plot(ax=...)`, artists as attributes.

matplotlib is imported when something is drawn; `pip install "polymargin[report]"` installs it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .sensitivity import best_of, dense, has_prototypes, last_step, own_weights, score_names, sensitivity_map

MOST_BARS = 30  # features with bars of their own
MOST_COLUMNS = 8  # features in a table
MOST_POINTS = 2000  # rows in a picture of the plane


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            'expected matplotlib for displays, got none; install it with pip install "polymargin[report]"'
        ) from None
    return plt


def panels(ax: Any, n: int, size: tuple[float, float], **how: Any) -> tuple[Any, np.ndarray]:
    """A figure and n axes in it, in rows of nearly equal length: new ones, given ones, or one divided into a grid."""
    plt = pyplot()
    if isinstance(ax, np.ndarray | list | tuple):
        axes = np.asarray(ax, dtype=object).ravel()
        if len(axes) < n:
            raise ValueError(
                f"expected ax to hold {n} axes, one per panel, got {len(axes)}; pass more, or one to divide"
            )
        return axes[0].figure, axes[:n]
    if ax is not None and n == 1:
        return ax.figure, np.array([ax])
    columns = n if n <= 4 else int(np.ceil(np.sqrt(n)))
    rows = -(-n // columns)
    if ax is None:
        figure = plt.figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        grid = figure.add_gridspec(rows, columns, **how)
    else:
        ax.set_axis_off()
        figure, grid = ax.figure, ax.get_subplotspec().subgridspec(rows, columns, **how)
    return figure, np.array([figure.add_subplot(grid[k // columns, k % columns]) for k in range(n)])


def colors(n: int) -> np.ndarray:
    """n distinguishable colors."""
    plt = pyplot()
    return plt.get_cmap("tab10")(np.arange(n)) if n <= 10 else plt.get_cmap("turbo")(np.linspace(0.02, 0.98, n))


def names_of_features(model: Any, names: Any, d: int) -> np.ndarray:
    """The given names, or those of the training data, or x0, x1, ..."""
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        return np.array([f"x{j}" for j in range(d)])
    if len(names) != d:
        raise ValueError(f"expected feature_names to hold {d} names, one per feature, got {len(names)}")
    return np.asarray(names)


def check_image_shape(image_shape: Any, d: int) -> None:
    if image_shape is not None and (len(image_shape) != 2 or int(np.prod(image_shape)) != d):
        raise ValueError(
            f"expected image_shape to be (height, width) with height * width = {d}, the number of features, got "
            f"{image_shape!r}"
        )


def classes_of_support(model: Any) -> np.ndarray:
    """The number of every support vector's own class: the one in whose score its coefficient is largest."""
    B = model.dual_coef_
    code = model._decision().code
    if code is not None:  # the class whose sign in the code is that of the coefficients; there may be several
        agreement = code @ B
        best = agreement.max(axis=0)
        if np.any((agreement == best).sum(axis=0) > 1):
            raise ValueError(
                "expected y, the labels of the training rows, for the classes of a reduction's support vectors, got "
                "none; pass X and y"
            )
        return agreement.argmax(axis=0)
    return np.asarray(B.tocsc().indices if sp.issparse(B) else B.argmax(axis=0))


class SensitivityDisplay:
    """Sensitivity maps as bars, or as images where the features are pixels (figures 17 to 24 of the scatter paper).

    Parameters
    ----------
    sensitivities : ndarray of shape (n_maps, n_features)
        The maps, as `sensitivity_map` gives them.
    titles : list of str
        One per map.
    feature_names : array-like of shape (n_features,), default=None
        Under the bars.
    image_shape : tuple of int, default=None
        (height, width) of the image that a row is; None draws bars.

    Attributes
    ----------
    figure_, axes_ : Figure, ndarray of Axes
        One axes per map.
    bars_, images_ : list
        The artists: bars or images.
    """

    def __init__(self, sensitivities: Any, titles: Any, *, feature_names: Any = None, image_shape: Any = None) -> None:
        self.sensitivities = np.atleast_2d(sensitivities)
        self.titles = list(titles)
        self.feature_names = feature_names
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        of: str = "class",
        sample_weight: Any = None,
        feature_names: Any = None,
        image_shape: Any = None,
        ax: Any = None,
    ) -> SensitivityDisplay:
        """Compute the maps of a fitted machine, see `sensitivity_map`, and draw them."""
        maps = sensitivity_map(estimator, X, y, of=of, sample_weight=sample_weight)
        model, _ = last_step(estimator, X)
        titles = ["all classes"] if of == "mean" else score_names(model)
        if feature_names is None:  # AutoSVC names the columns that it made
            feature_names = getattr(estimator, "feature_names_out_", None)
        names = names_of_features(model, feature_names, maps.shape[-1])
        return cls(maps, titles, feature_names=names, image_shape=image_shape).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> SensitivityDisplay:
        """Draw the maps into new axes, one given axes, or one each."""
        n, d = self.sensitivities.shape
        check_image_shape(self.image_shape, d)
        self.figure_, self.axes_ = panels(ax, n, (3.2, 2.8) if self.image_shape else (4.0, 2.8))
        self.bars_, self.images_ = [], []
        names = names_of_features(None, self.feature_names, d)
        # Of many features those that matter most to any class, in the order of the features.
        strength = np.nan_to_num(self.sensitivities).max(axis=0)
        shown = np.sort(np.argsort(-strength, kind="stable")[:MOST_BARS])
        for axes, values, title in zip(self.axes_, self.sensitivities, self.titles, strict=True):
            axes.set_title(title)
            if self.image_shape:
                self.images_.append(axes.imshow(values.reshape(self.image_shape), cmap="viridis", vmin=0))
                axes.set_xticks([])
                axes.set_yticks([])
                self.figure_.colorbar(self.images_[-1], ax=axes, shrink=0.85)
            else:
                self.bars_.append(axes.bar(np.arange(len(shown)), values[shown]))
                long = len(shown) > 8 or max(map(len, names[shown].astype(str))) > 6
                axes.set_xticks(np.arange(len(shown)), names[shown], rotation=90 if long else 0)
                axes.set_ylabel("sensitivity")
                axes.set_ylim(bottom=0)
        return self


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
            Its support vectors are shown; the hardest need no X, and y, of the training rows, only for reductions.
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
        """
        if which not in ("hardest", "easiest"):
            raise ValueError(f'expected which to be "hardest" or "easiest", got {which!r}')
        n = n if n is not None else 49 if image_shape else 10
        estimator = best_of(estimator)
        steps = estimator[:-1] if hasattr(estimator, "steps") else None
        model = estimator[-1] if hasattr(estimator, "steps") else estimator
        check_is_fitted(model)
        if which == "hardest":
            if model.kernel == "precomputed":
                raise ValueError(
                    'expected a machine that keeps its support vectors, got kernel="precomputed", which keeps none'
                )
            weights = own_weights(model)
            order = np.argsort(-weights, kind="stable")[:n]
            rows, values = model.support_vectors_[order], weights[order]
            if y is not None and len(y) == model.shape_fit_[0]:
                labels = np.asarray(y)[model.support_[order]]
            else:
                labels = model.classes_[classes_of_support(model)[order]]
            rows = steps.inverse_transform(rows) if steps is not None and len(steps) else rows
            title = "largest weights"
        else:
            if X is None or y is None:
                raise ValueError('expected the rows X and their classes y with which="easiest", got none; pass both')
            X, y = X.tocsr() if sp.issparse(X) else np.asarray(X), np.asarray(y)
            margins = margins_of(estimator, X, np.searchsorted(model.classes_, y))
            order = in_turn(margins, y)[:n]
            rows, labels, values, title = X[order], y[order], margins[order], "largest margins"
        rows = dense(rows)
        names = names_of_features(model if steps is None else None, feature_names, rows.shape[1])
        display = cls(rows, labels, values, title=title, feature_names=names, image_shape=image_shape)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> SupportVectorDisplay:
        """Draw the gallery or the table."""
        self.images_, self.table_ = [], None
        check_image_shape(self.image_shape, self.rows.shape[1])
        if self.image_shape:
            self.figure_, self.axes_ = panels(ax, max(1, len(self.rows)), (0.9, 1.05))
            for axes, row, label in zip(self.axes_, self.rows, self.labels, strict=False):
                self.images_.append(axes.imshow(row.reshape(self.image_shape), cmap="gray_r"))
                axes.set_title(str(label), fontsize=8, pad=2)
                axes.set_axis_off()
            if ax is None:
                self.figure_.suptitle(self.title, fontsize=11)
            return self
        self.figure_, self.axes_ = panels(ax, 1, (9.0, 0.8 + 0.28 * len(self.rows)))
        shown = np.arange(min(self.rows.shape[1], MOST_COLUMNS))
        names = names_of_features(None, self.feature_names, self.rows.shape[1])
        more = ["..."] if len(shown) < self.rows.shape[1] else []
        head = ["class", self.title.removeprefix("largest ").rstrip("s") or "value", *map(str, names[shown]), *more]
        cells = [
            [str(label), f"{value:.3g}", *(f"{v:.3g}" for v in row[shown]), *more]
            for row, label, value in zip(self.rows, self.labels, self.values, strict=True)
        ]
        self.axes_[0].set_axis_off()
        self.axes_[0].set_title(self.title)
        self.table_ = self.axes_[0].table(cells or [[""] * len(head)], colLabels=head, loc="upper center")
        self.table_.scale(1, 1.2)
        return self


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


class WeightDisplay:
    """The weights of the training rows in decreasing order (figures 8 and 9 of the scatter paper).

    A machine with one weight per row has one curve, the others have one per row of `dual_coef_`.

    Parameters
    ----------
    weights : list of ndarray
        Positive weights, one array per curve.
    n_rows : int
        Number of training rows; those without weight are zero.
    labels : list of str
        One per curve.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Where the curves are.
    lines_ : list of Line2D
        The curves.
    """

    def __init__(self, weights: Any, n_rows: int, labels: Any) -> None:
        self.weights, self.n_rows, self.labels = weights, n_rows, labels

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> WeightDisplay:
        """Read the weights of a fitted machine, or of a pipeline's last step, and draw them; X and y are not used."""
        estimator = best_of(estimator)
        model = estimator[-1] if hasattr(estimator, "steps") else estimator
        check_is_fitted(model)
        B, n = model.dual_coef_, model.shape_fit_[0]
        if sp.issparse(B) and has_prototypes(model):
            return cls([B.data], n, ["all classes"]).plot(ax=ax)
        rows = [B.data[B.indptr[k] : B.indptr[k + 1]] for k in range(B.shape[0])] if sp.issparse(B) else list(B)
        return cls([np.abs(row) for row in rows], n, score_names(model)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> WeightDisplay:
        """Draw the curves."""
        self.figure_, (self.ax_,) = panels(ax, 1, (5.0, 3.4))
        self.lines_ = []
        for weights, label, color in zip(self.weights, self.labels, colors(len(self.weights)), strict=True):
            curve = np.zeros(self.n_rows)
            curve[: len(weights)] = np.sort(weights)[::-1]
            self.lines_ += self.ax_.plot(np.arange(1, self.n_rows + 1), curve, color=color, label=label)
        self.ax_.set_xlabel("training rows, by weight")
        self.ax_.set_ylabel("weight")
        self.ax_.set_ylim(bottom=0)
        if 1 < len(self.weights) <= 30:
            self.ax_.legend(fontsize=8, ncols=1 + len(self.weights) // 13)
        return self
