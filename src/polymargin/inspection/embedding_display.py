"""Pictures of many classes: before and after an embedding, training and held-out rows, real and shuffled labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .displays import pyplot
from .lettering import FEW_NAMES, fold, legend_beside, write_names

# Okabe and Ito's colors, which color-blind readers can tell apart; yellow is too light on white.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")


class EmbeddingDisplay:
    """Scatter plot of coordinates with the name of every class at its middle.

    A class has a color and a marker of its own (7 colors that color-blind readers can tell apart, 8 markers: 56 classes
    look different), and its name stands at the median of its rows. Make one with `from_estimator`, `from_data` or
    `from_permuted`, then call `plot`.

    Parameters
    ----------
    panels : list of dict
        One per picture: `z` of shape (n, 2 or 3), `y` of shape (n,), `title`. Pictures with the same `space`, a name,
        have the same limits.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of colors.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.
    axes_ : list of matplotlib Axes
        One per panel; `ax_` is the first.
    points_, names_ : list of list of artists
        The scatter of every class, and its name, for each panel.

    See Also
    --------
    SupervisedIsomap : the map that it draws.

    References
    ----------
    .. [1] C. Silva and B. Ribeiro, "Improving visualization, scalability and performance of multiclass problems with
       SVM manifold learning", ICANNGA 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import EmbeddingDisplay, SupervisedIsomap
    >>> X, y = load_iris(return_X_y=True)
    >>> display = EmbeddingDisplay.from_estimator(SupervisedIsomap().fit(X, y), X, y)
    >>> [str(name) for name in display.classes]
    ['0', '1', '2']
    """

    accuracies_: dict[str, tuple[float, float]]

    def __init__(self, panels: list[dict[str, Any]], classes: np.ndarray) -> None:
        self.panels = panels
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        before: bool = True,
        dimensions: int = 2,
        ax: Any = None,
        **plot: Any,
    ) -> EmbeddingDisplay:
        """Draw rows before (two or three principal components) and after a fitted transformer, held-out rows last.

        Parameters
        ----------
        estimator : fitted transformer
            For example a `SupervisedIsomap`, or a pipeline that ends in one.
        X, y : rows and labels that it was fitted to
        X_test, y_test : rows and labels that it has not seen, default=None
            Their picture is the one to believe.
        before : bool, default=True
            Whether to show X itself first.
        dimensions : {2, 3}, default=2
            Coordinates drawn.
        ax : list of matplotlib Axes, default=None
            Where to draw, an axes per panel; None makes a figure.
        **plot : passed on to `plot`

        Returns
        -------
        display : EmbeddingDisplay
        """
        check_is_fitted(estimator)
        y = np.asarray(y)
        panels = []
        if before:
            panels.append(dict(z=principal(X, dimensions), y=y, title="principal components"))
        panels.append(dict(z=estimator.transform(X), y=y, title="embedding: training rows", space="embedding"))
        if X_test is not None:
            z_test, title = estimator.transform(X_test), "embedding: held-out rows"
            panels.append(dict(z=z_test, y=np.asarray(y_test), title=title, space="embedding"))
        return cls(panels, np.unique(y)).plot(dimensions=dimensions, ax=ax, **plot)

    @classmethod
    def from_data(
        cls, z: Any, y: Any, *, title: str = "", dimensions: int = 2, ax: Any = None, **plot: Any
    ) -> EmbeddingDisplay:
        """Draw given coordinates."""
        y = np.asarray(y)
        return cls([dict(z=np.asarray(z), y=y, title=title)], np.unique(y)).plot(dimensions=dimensions, ax=ax, **plot)

    @classmethod
    def from_permuted(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        random_state: Any = 0,
        dimensions: int = 2,
        ax: Any = None,
        **plot: Any,
    ) -> EmbeddingDisplay:
        """The control: the estimator fitted to real and to shuffled labels, on training and on held-out rows.

        A supervised embedding may separate shuffled labels too, on the rows it has seen. Held-out rows show it: the
        titles give the accuracy of the nearest training row's label in all coordinates of the embedding.

        Parameters
        ----------
        estimator : transformer
            It is cloned, and fitted twice.
        X, y, X_test, y_test : training and held-out rows and labels
        random_state : int, default=0
            Shuffles the labels.
        dimensions, ax, **plot
            As in `from_estimator`; four panels.

        Returns
        -------
        display : EmbeddingDisplay
            With `accuracies_`, {"real": (training, held-out), "shuffled": (training, held-out)}; a training row's own
            label does not count.
        """
        y, y_test = np.asarray(y), np.asarray(y_test)
        panels, accuracies = [], {}
        for name, label in (("real", y), ("shuffled", check_random_state(random_state).permutation(y))):
            model = clone(estimator).fit(X, label)
            z, z_test = model.transform(X), model.transform(X_test)
            nearest = KNeighborsClassifier(1).fit(z, label)
            own = label[nearest.kneighbors(None, return_distance=False)[:, 0]]
            accuracies[name] = float(np.mean(own == label)), float(nearest.score(z_test, y_test))
            for part, points, of, at in (("training", z, label, 0), ("held-out", z_test, y_test, 1)):
                title = f"{name} labels, {part} rows\nnearest row's label right: {accuracies[name][at]:.0%}"
                panels.append(dict(z=points, y=of, title=title, space=name))
        display = cls(panels, np.unique(y))
        display.accuracies_ = accuracies
        return display.plot(dimensions=dimensions, ax=ax, **plot)

    def plot(
        self,
        ax: Any = None,
        *,
        dimensions: int = 2,
        size: float | None = None,
        names: bool = True,
        class_names: Any = None,
    ) -> EmbeddingDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes or list of them, default=None
            One per panel, three-dimensional ones for `dimensions=3`; None makes a figure.
        dimensions : {2, 3}, default=2
            Coordinates drawn.
        size : float, default=None
            Area of a marker; None means smaller ones for more rows.
        names : bool, default=True
            Whether to write the classes' names on the picture (up to 40 classes).
        class_names : array-like of shape (n_classes,), default=None
            Names to write instead of the labels.

        Returns
        -------
        self : EmbeddingDisplay
        """
        if dimensions not in (2, 3):
            raise ValueError(f"expected dimensions to be 2 or 3, got {dimensions!r}")
        self.axes_ = self._axes(ax, dimensions)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        shown = self.classes if class_names is None else class_names
        self.points_: list[list[Any]] = []
        self.names_: list[list[Any]] = [[] for _ in self.panels]
        drawn = []
        for axes, panel in zip(self.axes_, self.panels, strict=True):
            z = np.asarray(panel["z"], dtype=float)
            z = np.column_stack((z, np.zeros((len(z), max(0, dimensions - z.shape[1])))))[:, :dimensions]
            drawn.append(z)
            self.points_.append(self._scatter(axes, z, panel["y"], shown, size))
            axes.set_title(fold(panel["title"], 5.5, 10), fontsize=10)
            axes.set_xticks([])
            axes.set_yticks([])
            if dimensions == 3:
                axes.set_zticks([])
        self._share_limits("xyz"[:dimensions])
        if names and len(self.classes) <= FEW_NAMES:
            self._name_classes(drawn, [str(name) for name in shown], dimensions, grows=ax is None)
        return self

    def _share_limits(self, sides: str) -> None:
        """Panels of one space show the same part of it, so that places in them can be compared."""
        for space in {panel["space"] for panel in self.panels if "space" in panel}:
            shown = [ax for ax, panel in zip(self.axes_, self.panels, strict=True) if panel.get("space") == space]
            for side in sides:
                limits = np.array([getattr(ax, f"get_{side}lim")() for ax in shown])
                for ax in shown:
                    getattr(ax, f"set_{side}lim")(limits[:, 0].min(), limits[:, 1].max())

    def _scatter(self, axes: Any, z: np.ndarray, y: np.ndarray, names: Any, size: float | None) -> list[Any]:
        """The marks, a color and a shape per class."""
        area = size or float(np.clip(20000 / len(z), 4, 36))
        look: dict[str, Any] = dict(s=area, alpha=0.6, linewidths=0, rasterized=len(z) > 5000)
        shapes = [MARKERS[(c + c // (len(COLORS) * len(MARKERS))) % len(MARKERS)] for c in range(len(self.classes))]
        return [
            axes.scatter(*z[y == label].T, c=COLORS[c % len(COLORS)], marker=shapes[c], label=str(names[c]), **look)
            for c, label in enumerate(self.classes)
        ]

    def _name_classes(self, drawn: list[np.ndarray], names: Any, dimensions: int, *, grows: bool) -> None:
        """Write the names at the medians of the classes; if they do not fit into every panel, numbers with a key.

        Panels in space have only the key, because names would move with the view.
        """
        written = (
            [self._write(axes, z, panel, names) for axes, z, panel in self._panels(drawn)] if dimensions == 2 else []
        )
        if not all(written) or not written:
            for text in (text for texts in written for text in texts):
                text.remove()
            numbers = [f"{c + 1}" for c in range(len(names))]
            key = names if dimensions == 3 else [f"{k}  {name}" for k, name in zip(numbers, names, strict=True)]
            legend = legend_beside(self.axes_[-1], self.points_[-1], key, grows=grows, markerscale=2.0)
            written = [legend.get_texts()] * len(drawn)
            if dimensions == 2:
                written = [self._write(axes, z, panel, numbers) for axes, z, panel in self._panels(drawn)]
        self.names_ = written

    def _panels(self, drawn: list[np.ndarray]) -> Any:
        return zip(self.axes_, drawn, self.panels, strict=True)

    def _write(self, axes: Any, z: np.ndarray, panel: dict[str, Any], names: Any) -> list[Any]:
        there = [c for c, label in enumerate(self.classes) if np.any(panel["y"] == label)]
        middles = np.array([np.median(z[panel["y"] == self.classes[c]], axis=0) for c in there])
        colors = [COLORS[c % len(COLORS)] for c in there]
        return write_names(axes, middles, [names[c] for c in there], colors, z)

    def _axes(self, ax: Any, dimensions: int) -> list[Any]:
        if ax is None:
            plt = pyplot()
            columns = 2 if len(self.panels) == 4 else len(self.panels)
            rows = -(-len(self.panels) // columns)
            figure = plt.figure(figsize=(6 * columns, 5.8 * rows), layout="constrained")
            kind = dict(projection="3d") if dimensions == 3 else {}
            return [figure.add_subplot(rows, columns, i + 1, **kind) for i in range(len(self.panels))]
        axes = list(np.ravel(ax))
        if len(axes) != len(self.panels):
            raise ValueError(f"expected ax to hold {len(self.panels)} axes, one per panel, got {len(axes)}")
        return axes


def principal(X: Any, dimensions: int) -> np.ndarray:
    """The first principal components, as many as there are up to `dimensions`."""
    k = min(dimensions, X.shape[1] if hasattr(X, "shape") else len(X[0]), len(X) if not sp.issparse(X) else X.shape[0])
    if sp.issparse(X) and k < X.shape[1]:
        return TruncatedSVD(k, random_state=0).fit_transform(X)
    return PCA(k, random_state=0).fit_transform(X.toarray() if sp.issparse(X) else np.asarray(X))
