"""A radius-margin criterion over C and gamma with the path of the optimizer (figures 2, 4, 5 and 6 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..selection.criteria import Criterion, criterion_of
from ..selection.search_cv import KernelSearchCV
from .displays import panels


class CriterionDisplay:
    """The surface of a criterion over ln C and ln gamma, the optimizer's path on it, and the cross-validation error.

    Without a surface (an ellipsoidal kernel has no plane to draw), the criterion at every evaluation is drawn instead.

    Parameters
    ----------
    path : list of dict
        `criterion_path_` of a fitted `RadiusMarginSearch`.
    log_C, log_gamma : ndarray of shape (n_C,) and (n_gamma,), optional
        Where the surface was computed.
    values : ndarray of shape (n_gamma, n_C), optional
        The criterion there.
    errors : ndarray of shape (n_gamma, n_C), optional
        The error of cross-validation there.
    criterion : str, default="I"
        Its name.

    Attributes
    ----------
    figure_, axes_ : Figure, ndarray of Axes
        Where the picture is.
    surfaces_ : list of QuadContourSet
        Criterion, and error if there is one.
    lines_ : list of Line2D
        The path, on each surface.

    See Also
    --------
    RadiusMarginSearch : the search that it draws.

    References
    ----------
    .. [1] L. Wang, P. Xue and K. L. Chan, "Two criteria for model selection in multiclass support vector machines",
       IEEE Transactions on Systems, Man, and Cybernetics B 38(6), 2008: figures 2 and 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import CriterionDisplay, PairwiseSVC, RadiusMarginSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RadiusMarginSearch(PairwiseSVC(), cv=None).fit(X, y)
    >>> len(CriterionDisplay.from_search(search, X, y, n_points=5).surfaces_)
    1
    """

    def __init__(
        self,
        path: list[dict],
        log_C: Any = None,
        log_gamma: Any = None,
        values: Any = None,
        errors: Any = None,
        criterion: str = "I",
    ) -> None:
        self.path, self.log_C, self.log_gamma = path, log_C, log_gamma
        self.values, self.errors, self.criterion = values, errors, criterion

    @classmethod
    def from_search(
        cls,
        search: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        n_points: int = 15,
        margin: float = 2.0,
        cv: Any = None,
        ax: Any = None,
    ) -> CriterionDisplay:
        """Compute and draw the surface around the path of a fitted search.

        Parameters
        ----------
        search : RadiusMarginSearch
            A fitted search.
        X, y : array-like
            The rows and labels it was fitted on.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights it was fitted with.
        n_points : int, default=15
            Values of C and of gamma.
        margin : float, default=2.0
            How far the surface goes beyond the path, in ln C and ln gamma.
        cv : int, splitter or iterable, default=None
            Folds of the error beside the criterion; None leaves it out.
        ax : Axes or array of Axes, default=None
            Where to draw.

        Returns
        -------
        display : CriterionDisplay
            The picture, drawn.
        """
        check_is_fitted(search, "criterion_path_")
        if search.kernel == "ellipsoidal":
            return cls(search.criterion_path_, criterion=search.criterion).plot(ax)
        steps = np.log([list(step["params"].values()) for step in search.criterion_path_])
        low, high = steps.min(axis=0) - margin, steps.max(axis=0) + margin
        log_C, log_gamma = (np.linspace(a, b, n_points) for a, b in zip(low, high, strict=True))
        at = criterion_of(search, X, y, sample_weight)
        values, errors = criterion_surface(at, log_C, log_gamma), None
        if cv is not None:
            model = clone(search.estimator).set_params(**search.best_params_)
            grid = KernelSearchCV(
                model, C=np.exp(log_C), gamma=np.exp(log_gamma), cv=cv, refit=False, n_jobs=search.n_jobs
            ).fit(X, y, sample_weight=sample_weight)
            errors = error_surface(grid)
        return cls(search.criterion_path_, log_C, log_gamma, values, errors, search.criterion).plot(ax)

    def plot(self, ax: Any = None) -> CriterionDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or array of Axes, default=None
            Where to draw; one is divided if there are two panels.

        Returns
        -------
        self : CriterionDisplay
            With the figure, the axes and what is in them.
        """
        if self.values is None:
            self.figure_, self.axes_ = panels(ax, 1, (5.0, 4.0))
            self.surfaces_: list[Any] = []
            self.lines_ = self.axes_[0].plot([step["value"] for step in self.path], "o-", markersize=3)
            self.axes_[0].set(xlabel="evaluation", ylabel=f"criterion {self.criterion}", yscale="log")
            return self
        shown = [(np.log10(self.values), f"log10 of criterion {self.criterion}")]
        if self.errors is not None:
            shown.append((self.errors, "cross-validation error"))
        self.figure_, self.axes_ = panels(ax, len(shown), (5.0, 4.0))
        steps = np.log([list(step["params"].values()) for step in self.path])
        self.surfaces_, self.lines_ = [], []
        for axes, (surface, title) in zip(self.axes_, shown, strict=True):
            self.surfaces_.append(axes.contourf(self.log_C, self.log_gamma, surface, levels=20))
            self.figure_.colorbar(self.surfaces_[-1], ax=axes)
            self.lines_ += axes.plot(*steps.T, "o-", color="white", markersize=3, linewidth=1)
            axes.plot(*steps[np.argmin([step["value"] for step in self.path])], "*", color="red", markersize=10)
            axes.set(xlabel="ln C", ylabel="ln gamma", title=title)
        return self


def criterion_surface(at: Criterion, log_C: np.ndarray, log_gamma: np.ndarray) -> np.ndarray:
    """A criterion at all points of a grid, (n_gamma, n_C)."""
    return np.array([[at(np.exp(u), np.exp(v))[0] for u in log_C] for v in log_gamma])


def error_surface(search: KernelSearchCV) -> np.ndarray:
    """The errors that a search has found at all points of its grid, (n_gamma, n_C)."""
    scores = search.cv_results_["mean_test_score"]
    return 1 - scores.reshape(len(search.C), len(search.gamma)).T  # C changes slowest
