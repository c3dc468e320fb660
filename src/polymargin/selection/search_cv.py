"""Exact cross-validation over C and gamma that computes distances once and each Gram matrix once."""

from __future__ import annotations

import time
import warnings
from numbers import Real
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as rows_of
from sklearn.utils.validation import check_is_fitted

from ..files.records import stored
from ..fitting.callbacks import CALLER, Parts, with_callbacks
from ..fitting.checks import check_classes, check_rows, check_sample_weight
from ..fitting.parameters import BOOL, NONE, RUN, Array, Function, Kind, Name, Number, check_parameters
from ..fitting.scales import column_moments
from ..fitting.state import keep, whole
from ..kernels import HAS_GAMMA, resolve_gamma
from .best_estimator import BestEstimator, last_step, requests_weights, tuned_names
from .grid_run import GridRun
from .record import SEARCH, SEARCH_PARAMETERS, check_search, restore_results, without_parameters

GRID = Array("a list of values")
CONSTRAINTS = {
    "C": (NONE, GRID),
    "gamma": (NONE, GRID),
    "strategy": (Name(("grid", "coarse-to-fine", "halving")),),
    "factor": (Number("a number > 1", above=1.0),),
    "refit": (BOOL, Kind("the name of a score", (str,)), Function("a function of cv_results_")),
    "return_train_score": (BOOL,),
    **{name: RUN[name] for name in ("time_limit", "memory", "n_jobs", "warm_start", "verbose")},
}


ENDED = {"time_limit": "reached its time limit", "interrupted": "was ended by a callback"}


class OutOfTime(ValueError):
    """No point of a grid was evaluated within the time limit."""


@stored(
    {**CONSTRAINTS, **SEARCH_PARAMETERS},
    SEARCH,
    ("best_params_", "best_index_", "best_score_", "best_estimator_", "refit_time_"),
    check_search,
    {"cv_results_": without_parameters},
    restore_results,
)
class KernelSearchCV(BestEstimator):
    """Cross-validation of a kernel machine over a grid of C and gamma, with the scores of `GridSearchCV`.

    Squared distances are computed once, the Gram matrix of each gamma once; folds are index sets on it, C runs along a
    path on which every fit starts from the last, and scores are read off the same matrix. Folds run in parallel.

    Parameters
    ----------
    estimator : classifier with parameters C, gamma and kernel, or a pipeline that ends in one
        The steps before it are fitted on each training set; distances are then computed per fold.
    C : array-like, default=None
        Values of C. None means 0.1, 1, 10, 100, 1000.
    gamma : array-like, default=None
        Values of gamma: numbers, "scale", "auto", or arrays with one number per feature. None means five values around
        "scale", a factor of 5 apart; for kernels without gamma, the estimator's own.
    cv : int, splitter or iterable, default=5
        Folds, stratified if a number.
    scoring : str, callable, list, tuple or dict, default=None
        Score or scores, as for `GridSearchCV`; None means accuracy. Where one is a function of your own (not made by
        `make_scorer`), every fit uses its own rows, so that the function gets them and the fitted machine.
    refit : bool, str or callable, default=True
        Whether to fit `best_estimator_` on all rows; with several scores the name of the one that decides, or a
        function from `cv_results_` to the best index.
    strategy : {"grid", "coarse-to-fine", "halving"}, default="grid"
        "grid" evaluates all points. "coarse-to-fine" begins with about four values of each parameter and halves the
        distance around the best point. "halving" begins with all points on few rows of each training set and keeps the
        best in every round, on `factor` times the rows.
    factor : float, default=3.0
        Of "halving".
    return_train_score : bool, default=False
        Whether `cv_results_` has scores on the training sets too.
    time_limit : float, default=None
        Seconds after which no further fit begins; what was not evaluated has the score NaN.
    memory : "auto", int or str, default="auto"
        Memory for distances and kernel values; if they do not fit, every fit computes its own.
    n_jobs : int, default=None
        Threads.
    warm_start : bool, default=False
        Continue the last fit: what it has evaluated on the same rows and folds, before a time limit, Ctrl-C or a
        change of the grid, is not evaluated again.
    verbose : int, default=0
        1 shows progress and the best point so far, 2 a line for every gamma.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As of `GridSearchCV`; "halving" adds `iter` and `n_resources`.
    best_params_, best_score_, best_index_, best_estimator_, refit_time_, scorer_, n_splits_, multimetric_
        As of `GridSearchCV`.
    status_ : {"solved", "time_limit", "interrupted"}
        Whether all points were evaluated; those that were not have the score NaN.
    classes_ : ndarray of shape (n_classes,)
        Labels.

    See Also
    --------
    RadiusMarginSearch : by a gradient instead of a grid.
    AutoSVC : chooses the grid too.

    References
    ----------
    .. [1] K. Jamieson and A. Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
       AISTATS 2016: the strategy "halving".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import KernelSearchCV, PairwiseSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelSearchCV(PairwiseSVC(), C=[0.1, 1, 10], gamma=[0.01, 0.1, 1]).fit(X, y)
    >>> search.best_params_, round(search.best_score_, 3)
    ({'C': 1.0, 'gamma': 0.1}, 0.98)
    """

    _kept: tuple[Any, list]  # what a warm start continues: the key of rows and folds, and the table

    def __init__(
        self,
        estimator: Any,
        *,
        C: Any = None,
        gamma: Any = None,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        strategy: str = "grid",
        factor: float = 3.0,
        return_train_score: bool = False,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.strategy = strategy
        self.factor = factor
        self.return_train_score = return_train_score
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, groups: Any = None) -> KernelSearchCV:
        """Evaluate the grid and fit the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in training and in scores. The steps of a pipeline before the machine get them where
            metadata routing is enabled and they request them.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.

        Returns
        -------
        self : KernelSearchCV
            The fitted search. Ctrl-C leaves it fitted at the best point so far and is raised again.
        """
        begin = time.monotonic()
        check_parameters(self, CONSTRAINTS)
        names, fit_weights = tuned_names(self.estimator), self._fit_weights(sample_weight)
        steps = self.estimator[:-1] if isinstance(self.estimator, Pipeline) and len(self.estimator) > 1 else None
        machine = last_step(self.estimator)
        asked = steps is not None and sample_weight is not None and requests_weights(steps)
        first = clone(steps).fit_transform(X, y, **(fit_weights if asked else {})) if steps else X
        Z, labels = check_rows(clone(machine), first, y, fit=True, precomputed=_kernel(machine) == "precomputed")
        weight = check_sample_weight(sample_weight, len(labels))
        self.classes_ = check_classes(labels, np.flatnonzero(weight))[0]
        self.scorer_ = check_scoring(self.estimator, scoring=self.scoring)
        splits = list(check_cv(self.cv, labels, classifier=True).split(X, labels, groups))
        self.n_splits_ = len(splits)
        self._check_splits(labels, weight, splits)
        grid = self._grid(machine, Z, weight)
        before = []
        if self.warm_start and hasattr(self, "_kept") and self._kept[0] == self._key(Z, labels, weight, splits):
            before = self._kept[1]
        told = Parts(self, dict(X=X, y=y, metadata={"sample_weight": sample_weight}))
        run = GridRun(told, labels, weight, splits, begin, before)
        if steps:
            given = weight if asked else None
            parts = [(_transformed(steps, X, labels, train, given), [k]) for k, (train, _) in enumerate(splits)]
        else:
            parts = [(Z, list(range(len(splits))))]
        self._evaluate(run, parts, grid)
        self.status_ = run.status
        if self.warm_start or self.status_ != "solved":
            self._kept = self._key(Z, labels, weight, splits), run.table
        if self.status_ == "interrupted" and not run.table:
            raise KeyboardInterrupt
        self.cv_results_ = run.results(names, grid)
        if self.status_ == "interrupted" and run.leader() is None:
            self._keep_results()
            raise KeyboardInterrupt
        self._choose(run)
        interrupted = self.status_ == "interrupted" and not told.ended
        if self.refit is not False:
            began = time.perf_counter()
            interrupted |= self._fit_best(told, fit_weights)
            self.refit_time_ = time.perf_counter() - began
        keep(self)
        if interrupted:
            raise KeyboardInterrupt
        self._warn(run)
        told.end()
        return self

    def _evaluate(self, run: GridRun, parts: list, grid: tuple) -> None:
        with run, warnings.catch_warnings():
            # A warning about overlapping classes at every point of the grid does not help; the refit repeats it.
            warnings.filterwarnings("ignore", ".*does not tell overlapping classes apart", UserWarning)
            try:
                if self.strategy == "grid":
                    run.evaluate(parts, [(C, g) for C in range(len(grid[0])) for g in range(len(grid[1]))], grid)
                elif self.strategy == "halving":
                    run.halve(parts, grid, self.factor)
                else:
                    run.refine(parts, grid)
            except KeyboardInterrupt:
                run.status = "interrupted"

    def _warn(self, run: GridRun) -> None:
        if run.unsolved:
            warnings.warn(
                f"Some fits of KernelSearchCV ended with status {sorted(run.unsolved)[0]!r}: scale the columns of X "
                f"(StandardScaler), or leave the largest values of C out.",
                ConvergenceWarning,
                stacklevel=CALLER + 1,
            )
        if self.status_ != "solved":
            warnings.warn(
                f"KernelSearchCV {ENDED[self.status_]} before all points were evaluated: raise time_limit, use "
                'strategy="halving", or continue from here with warm_start=True.',
                ConvergenceWarning,
                stacklevel=CALLER + 1,
            )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of `best_estimator_` by `scoring`; of several, by the one that `refit` names.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The score; of several without a name in `refit`, a dict of all.
        """
        check_is_fitted(self, "best_estimator_")
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        score = self.scorer_(self.best_estimator_, X, y, **weights)
        return score[self.refit] if isinstance(score, dict) and isinstance(self.refit, str) else score

    def _check_splits(self, y: np.ndarray, weight: np.ndarray, splits: list) -> None:
        for k, (train, _) in enumerate(splits):
            found = np.unique(y[train][weight[train] > 0])
            if len(found) < 2:
                raise ValueError(
                    f"expected cv to give training sets of at least 2 classes, got {found.tolist()} in split {k}; "
                    f"use a splitter that mixes the classes, for example StratifiedKFold"
                )

    def _grid(self, machine: Any, X: Any, weight: np.ndarray) -> tuple[list, list]:
        """The values of C and of gamma."""
        Cs = [0.1, 1.0, 10.0, 100.0, 1000.0] if self.C is None else list(self.C)
        settings = machine.get_params(deep=False)
        gammas = self.gamma
        if gammas is None and settings.get("kernel", "rbf") in HAS_GAMMA:
            scale = resolve_gamma(settings.get("kernel", "rbf"), "scale", *column_moments(X, weight), X.shape[1])
            gammas = [scale * 5.0**k for k in range(-2, 3)]
        elif gammas is None:
            gammas = [settings.get("gamma", "scale")]
        for name, values in (("C", Cs), ("gamma", gammas)):
            bad = [v for v in values if isinstance(v, Real) and not 0 < float(v) < np.inf]
            if len(values) == 0 or bad or (name == "C" and not all(isinstance(v, Real) for v in values)):
                raise ValueError(f"expected {name} to be a list of positive numbers, got {list(values)[:5]!r}")
        number = [float(v) if isinstance(v, Real) else v for v in gammas]
        return [float(v) for v in Cs], number

    def _key(self, *data: Any) -> tuple[str, str]:
        """What must be equal for a fit to continue another one: the rows and folds, and what is fitted and scored."""
        return joblib.hash(data), str((self.estimator.get_params(), self.scoring, self.return_train_score))

    def _choose(self, run: GridRun) -> None:
        self.multimetric_ = run.multimetric
        by = self.refit if isinstance(self.refit, str) else "score"
        if callable(self.refit):
            self.best_index_ = int(self.refit(self.cv_results_))
        elif f"mean_test_{by}" in self.cv_results_:
            means = self.cv_results_[f"mean_test_{by}"]
            if np.isnan(means).all():
                raise OutOfTime("KernelSearchCV ran out of time before any point was evaluated: raise time_limit")
            last = np.ones(len(means), dtype=bool)
            if "iter" in self.cv_results_:
                rounds = self.cv_results_["iter"]
                last = rounds == rounds[~np.isnan(means)].max()
            self.best_index_ = int(np.nanargmax(np.where(last, means, np.nan)))
        elif self.refit is False:
            return
        else:
            raise ValueError(f"expected refit to be the name of one of several scores, got {self.refit!r}")
        if f"mean_test_{by}" in self.cv_results_:
            self.best_score_ = float(self.cv_results_[f"mean_test_{by}"][self.best_index_])
        self.best_params_ = self.cv_results_["params"][self.best_index_]


def _kernel(machine: Any) -> Any:
    return machine.get_params(deep=False).get("kernel")


def _transformed(steps: Any, X: Any, y: np.ndarray, train: np.ndarray, weight: np.ndarray | None) -> Any:
    """All rows, by the steps of a pipeline fitted on the training rows."""
    given = {} if weight is None else {"sample_weight": weight[train]}
    return clone(steps).fit(rows_of(X, train), y[train], **given).transform(X)
