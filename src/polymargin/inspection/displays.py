"""Pictures of fitted machines, in scikit-learn's pattern: `from_estimator`, `plot(ax=...)`, artists as attributes.

matplotlib is imported when something is drawn; `pip install "polymargin[report]"` installs it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..training.decisions import decision_of
from .lettering import LEADING, fold, legend_beside, sizes
from .sensitivity import has_prototypes, machine_in, score_names, sensitivity_map

MOST_BARS = 30  # features with bars of their own
MOST_PANELS = 24  # with a color bar each, or bars; more maps share one picture or go without
MOST_CURVES = 30  # with a legend: more colors than that look alike
MOST_POINTS = 2000  # rows in a picture of the plane
NAME = 8.5  # font size of the names of features
TITLE = 10
LINE = LEADING * NAME / 72  # inches


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            'expected matplotlib for displays, got none; install it with pip install "polymargin[report]"'
        ) from None
    return plt


def panels(
    ax: Any, n: int, size: tuple[float, float], *, margin: float = 0.0, above: float = 0.3, head: float = 0.0
) -> tuple[Any, np.ndarray]:
    """A figure and n axes in it, in rows of nearly equal length: new ones, given ones, or one divided into a grid.

    In inches: `size` is that of a panel, of which its title takes `above`; `margin` is more width for the first panel
    of each row, `head` more height for the figure. Many panels have fixed places, because a layout that measures all
    their texts takes seconds.
    """
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
    # More than four are laid out so that the picture is about half as wide again as it is high.
    columns = n if n <= 4 else min(n, int(np.ceil(np.sqrt(1.5 * n * size[1] / size[0]))))
    rows = -(-n // columns)
    if ax is None:
        many, high = n > MOST_PANELS, size[1] * rows + head
        figure = plt.figure(figsize=(size[0] * columns + margin, high), layout=None if many else "constrained")
        between = dict(wspace=0.1, hspace=above / (size[1] - above), left=0.0, right=1.0, bottom=0.0)
        between["top"] = 1 - (above + head) / high
        grid = figure.add_gridspec(rows, columns, **(between if many else {}))
    else:
        ax.set_axis_off()
        figure, grid = ax.figure, ax.get_subplotspec().subgridspec(rows, columns)
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
    code = decision_of(model).code
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
        Beside the bars.
    image_shape : tuple of int, default=None
        (height, width) of the image that a row is; None draws bars.
    top : int, default=30
        Of more features those with bars that matter most to any map, in the order of the features.

    Attributes
    ----------
    figure_, axes_ : Figure, ndarray of Axes
        One axes per map.
    bars_, images_ : list
        The artists: bars, from the first feature at the top to the last, or images. More than 24 maps without
        `image_shape` are one image, a line per map and a column per feature.

    See Also
    --------
    sensitivity_map : what it draws.

    References
    ----------
    .. [1] R. Jenssen, M. Kloft, A. Zien, S. Sonnenburg and K.-R. Müller, "A scatter-based prototype framework and
       multi-class extension of support vector machines", PLoS ONE 7(10), e42947, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC, SensitivityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> len(SensitivityDisplay.from_estimator(JointSVC().fit(X, y), X, y).bars_)
    3
    """

    def __init__(
        self,
        sensitivities: Any,
        titles: Any,
        *,
        feature_names: Any = None,
        image_shape: Any = None,
        top: int = MOST_BARS,
    ) -> None:
        self.sensitivities = np.atleast_2d(sensitivities)
        self.titles = list(titles)
        self.feature_names = feature_names
        self.image_shape = image_shape
        self.top = top

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
        top: int = MOST_BARS,
        ax: Any = None,
    ) -> SensitivityDisplay:
        """Compute the maps of a fitted machine, see `sensitivity_map`, and draw them."""
        maps = sensitivity_map(estimator, X, y, of=of, sample_weight=sample_weight)
        model, _ = machine_in(estimator)
        titles = ["all classes"] if of == "mean" else score_names(model)
        if feature_names is None:  # AutoSVC names the columns that it made
            feature_names = getattr(estimator, "feature_names_out_", None)
        names = names_of_features(model, feature_names, maps.shape[-1])
        return cls(maps, titles, feature_names=names, image_shape=image_shape, top=top).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> SensitivityDisplay:
        """Draw the maps into new axes, one given axes, or one each."""
        n, d = self.sensitivities.shape
        check_image_shape(self.image_shape, d)
        self.bars_: list[Any] = []
        self.images_: list[Any] = []
        if self.image_shape:
            self._draw_images(ax)
            return self
        strength = np.nan_to_num(self.sensitivities).max(axis=0)
        shown = np.sort(np.argsort(-strength, kind="stable")[: self.top])
        names = [fold(name, 3.0, NAME) for name in names_of_features(None, self.feature_names, d)[shown]]
        if n > MOST_PANELS and not isinstance(ax, np.ndarray | list | tuple):
            self._draw_heat(ax, shown, names)
        else:
            self._draw_bars(ax, shown, names)
        return self

    def _draw_images(self, ax: Any) -> None:
        """An image per map; more than 24 go without color bars."""
        titles = [fold(title, 2.0, TITLE) for title in self.titles]
        above = 0.2 + max(title.count("\n") + 1 for title in titles) * LEADING * TITLE / 72
        few = len(titles) <= MOST_PANELS
        self.figure_, self.axes_ = panels(ax, len(titles), (3.2 if few else 2.4, 2.4 + above), above=above)
        for axes, values, title in zip(self.axes_, self.sensitivities, titles, strict=True):
            axes.set_title(title, fontsize=TITLE)
            self.images_.append(axes.imshow(values.reshape(self.image_shape), cmap="viridis", vmin=0))
            axes.set_xticks([])
            axes.set_yticks([])
            if few:
                self.figure_.colorbar(self.images_[-1], ax=axes, shrink=0.85)

    def _draw_bars(self, ax: Any, shown: np.ndarray, names: list[str]) -> None:
        titles = [fold(title, 2.4, TITLE) for title in self.titles]
        lines = np.array([1.2 + name.count("\n") for name in names])
        at = np.cumsum(lines) - lines / 2
        high = 0.9 + max(title.count("\n") for title in titles) * LEADING * TITLE / 72 + lines.sum() * LINE
        margin = sizes(names, NAME)[:, 0].max()
        self.figure_, self.axes_ = panels(ax, len(titles), (2.8, max(1.6, high)), margin=margin)
        for axes, values, title in zip(self.axes_, self.sensitivities, titles, strict=True):
            axes.set_title(title, fontsize=TITLE)
            self.bars_.append(axes.barh(at, values[shown], height=0.8))
            place = axes.get_subplotspec()
            named = place is None or place.is_first_col()  # the names of a row of panels stand beside its first one
            axes.set_yticks(at, names if named else [""] * len(names), fontsize=NAME)
            axes.set_ylim(at[-1] + max(0.8, lines[-1] / 2), at[0] - max(0.8, lines[0] / 2))
            axes.set_xlim(left=0)
            axes.locator_params(axis="x", nbins=3)
            axes.set_xlabel("sensitivity")

    def _draw_heat(self, ax: Any, shown: np.ndarray, names: list[str]) -> None:
        """One image of many maps, a line each: hundreds of panels of bars could not be compared."""
        titles = [fold(title, 3.0, NAME) for title in self.titles]
        high, wide = (np.array([1.3 + name.count("\n") for name in words]) * LINE for words in (titles, names))
        room = sizes(titles, NAME)[:, 0].max(), sizes(names, NAME)[:, 0].max()
        size = (max(2.0, wide.sum()) + room[0] + 1.5, high.sum() + room[1] + 0.4)
        self.figure_, self.axes_ = panels(ax, 1, size)
        edges = [np.concatenate([[0.0], np.cumsum(lengths)]) for lengths in (wide, high)]
        self.images_ = [self.axes_[0].pcolormesh(*edges, self.sensitivities[:, shown], cmap="viridis", vmin=0)]
        self.axes_[0].set_ylim(edges[1][-1], 0)
        self.axes_[0].set_yticks(edges[1][1:] - high / 2, titles, fontsize=NAME)
        self.axes_[0].set_xticks(edges[0][1:] - wide / 2, names, fontsize=NAME, rotation=90)
        self.axes_[0].xaxis.tick_top()
        bar = dict(fraction=0.15 / size[0], shrink=min(1.0, 4.0 / size[1]), aspect=20, anchor=(0.0, 1.0))
        self.figure_.colorbar(self.images_[0], ax=self.axes_[0], label="sensitivity", **bar)


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

    See Also
    --------
    SupportVectorDisplay : the rows of largest weight themselves.

    References
    ----------
    .. [1] R. Jenssen, M. Kloft, A. Zien, S. Sonnenburg and K.-R. Müller, "A scatter-based prototype framework and
       multi-class extension of support vector machines", PLoS ONE 7(10), e42947, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC, WeightDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> len(WeightDisplay.from_estimator(JointSVC("scatter").fit(X, y)).lines_)
    1
    """

    def __init__(self, weights: Any, n_rows: int, labels: Any) -> None:
        self.weights, self.n_rows, self.labels = weights, n_rows, labels

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> WeightDisplay:
        """Read the weights of a fitted machine, or of the one in a pipeline or search, and draw them.

        X and y are not used.
        """
        model, _ = machine_in(estimator)
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
        if 1 < len(self.weights) <= MOST_CURVES:
            legend_beside(self.ax_, self.lines_, self.labels, grows=ax is None)
        elif len(self.weights) > 1:
            self.ax_.set_title(f"{len(self.weights)} binary machines", fontsize=TITLE)
        return self
