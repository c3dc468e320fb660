"""Model selection by the gradient of a radius-margin criterion."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..files.records import stored
from ..fitting.callbacks import CALLER, Parts, with_callbacks
from ..fitting.checks import check_classes, check_rows, check_sample_weight, class_weights
from ..fitting.parameters import BOOL, NONE, POSITIVE, RUN, Array, Kind, Name, Number, check_parameters
from ..fitting.resources import budget, threads
from ..fitting.state import keep, whole
from .best_estimator import BestEstimator, requests_weights, tuned_names
from .criteria import CRITERIA, Criterion, CriterionForm
from .descent import Rules, descend_from, starting_points
from .record import DESCENT, DESCENT_PARAMETERS, check_search
from .search_cv import KernelSearchCV, OutOfTime

CONSTRAINTS = {
    "criterion": (Name(tuple(CRITERIA)),),
    "kernel": (Name(("spherical", "ellipsoidal")),),
    "costs": (NONE, Array("an array of shape (n_classes, n_classes)")),
    "penalty": (Number("a number >= 0", least=0.0),),
    "inner_tol": (POSITIVE,),
    "n_starts": (Number("a positive integer", least=1, integer=True),),
    "max_samples": (NONE, Number("an integer >= 2", least=2, integer=True)),
    "cv": (NONE, Number("an integer >= 2", least=2, integer=True), Kind("a splitter or splits", (object,))),
    "refit": (BOOL,),
    **{name: RUN[name] for name in ("max_iter", "tol", "time_limit", "memory", "n_jobs", "warm_start")},
    **{name: RUN[name] for name in ("random_state", "verbose")},
}

WHAT_TO_DO = {
    "max_iter": "raise max_iter; warm_start=True continues from here",
    "time_limit": "raise time_limit, or lower max_samples; warm_start=True continues from here",
    "interrupted": "the parameters are the best so far; warm_start=True continues from here",
}


@stored({**CONSTRAINTS, **DESCENT_PARAMETERS}, DESCENT, ("best_estimator_",), check_search)
class RadiusMarginSearch(BestEstimator):
    r"""Find C and gamma of an RBF machine by minimizing a radius-margin criterion.

    One solved problem per pair of classes gives the criterion and its gradient, so some ten evaluations take the place
    of a grid of cross-validations, also with one gamma per feature [1]_:

    .. math::

        \text{I} = \sum_{i<j} c_{ij} R_{ij}^2 \|w_{ij}\|^2, \qquad
        \text{II} = R^2 \Big/ \sum_{i<j} c_{ij} P_i P_j / \|w_{ij}\|^2

    :math:`1 / \|w_{ij}\|` is the margin between two classes with squared hinge, :math:`R_{ij}` and :math:`R` the radii
    of the balls around their rows and around all rows, :math:`P_i` the shares of the classes. The logarithm of the
    criterion is minimized over ln C and ln gamma by L-BFGS-B with the paper's two stopping rules. The parameters serve
    every multiclass scheme; C is tuned for the squared hinge, so for a hinge machine it is a guide.

    Scale the features first: to [-1, 1] as in the paper, or by a pipeline around the estimator.

    Parameters
    ----------
    estimator : classifier with parameters C and gamma, or a pipeline that ends in one
        The search begins at its C, and at gamma = 1 / (2 n_features) unless its gamma is a number (or, for
        "ellipsoidal", an array).
    criterion : {"I", "II"}, default="I"
    kernel : {"spherical", "ellipsoidal"}, default="spherical"
        One gamma, or one per feature.
    costs : array-like of shape (n_classes, n_classes), default=None
        Costs of confusing two classes, in the order of the sorted labels; only c_ij + c_ji matters.
    penalty : float, default=0.0
        :math:`\lambda` in :math:`\lambda \sum_t (v_t - \bar v)^2`, :math:`v_t = \ln \gamma_t`, added to the logarithm
        of the criterion: with few rows and many features, pulls the gammas toward a common value.
    tol : float, default=1e-5
        Relative change of the criterion in an iteration that ends the search.
    inner_tol : float, default=1e-4
        Accuracy of the margins and radii.
    max_iter : int, default=200
        Largest number of iterations of the optimizer.
    n_starts : int, default=2
        Searches with a gamma per feature, where the criterion has local minima: from the starting point, and from 4,
        16, ... times its gammas. The best of them wins. One gamma needs one search.
    max_samples : int, default=None
        Rows that the criterion sees, drawn at random in each class; None means as many as fit into memory.
    cv : int, splitter or iterable, default=5
        Folds of a final check: the best point against two with a larger C. A much worse score gives a warning. None
        leaves the check out.
    refit : bool, default=True
        Whether to fit `best_estimator_` on all rows.
    time_limit : float, default=None
        Seconds for everything: the search stops after three quarters of them, and the best estimator is fitted and
        checked in the rest.
    memory : "auto", int or str, default="auto"
        Memory for kernel values.
    n_jobs : int, default=None
        Threads.
    warm_start : bool, default=False
        Continue from the best point of the last fit.
    random_state : int, default=None
        Seed of the rows drawn where there are more than `max_samples`.
    verbose : int, default=0
        1 shows criterion and parameters while the search runs, 2 a line for every evaluation.

    Attributes
    ----------
    best_params_ : dict
        C and gamma, under the names that `estimator.set_params` takes.
    best_estimator_ : estimator
        Fitted with them on all rows.
    best_criterion_ : float
        The criterion there.
    criterion_path_ : list of dict
        Every evaluation: `value`, `grad_norm`, `params` (C and gamma), `seconds` since the beginning, `iteration`.
    n_evaluations_, n_iter_ : int
        Evaluations and iterations.
    feature_weights_ : ndarray of shape (n_features,)
        The gamma of each feature.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature by that, 1 for the largest gamma.
    cv_scores_ : dict
        Mean scores of the final check: "found", and "10 C", "30 C, gamma / 10".
    status_ : {"solved", "max_iter", "time_limit", "interrupted"}
        Why the search stopped.
    classes_ : ndarray of shape (n_classes,)
        Labels.

    See Also
    --------
    KernelSearchCV : by cross-validation.
    CriterionDisplay : its path.

    References
    ----------
    .. [1] L. Wang, P. Xue and K. L. Chan, "Two criteria for model selection in multiclass support vector machines",
       IEEE Trans. SMC B 38(6), 1432-1448, 2008: eq. 15, 16 and 26 to 29.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from polymargin import JointSVC, RadiusMarginSearch
    >>> X, y = load_wine(return_X_y=True)
    >>> search = RadiusMarginSearch(make_pipeline(MinMaxScaler((-1, 1)), JointSVC())).fit(X, y)
    >>> {name: round(value, 1) for name, value in search.best_params_.items()}
    {'jointsvc__C': 3.5, 'jointsvc__gamma': 0.4}
    """

    _left: list[Any]  # what a warm start continues: points to begin at, and the best of those before them

    def __init__(
        self,
        estimator: Any,
        *,
        criterion: str = "I",
        kernel: str = "spherical",
        costs: Any = None,
        penalty: float = 0.0,
        tol: float = 1e-5,
        inner_tol: float = 1e-4,
        max_iter: int = 200,
        n_starts: int = 2,
        max_samples: int | None = None,
        cv: Any = 5,
        refit: bool = True,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.criterion = criterion
        self.kernel = kernel
        self.costs = costs
        self.penalty = penalty
        self.tol = tol
        self.inner_tol = inner_tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.max_samples = max_samples
        self.cv = cv
        self.refit = refit
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> RadiusMarginSearch:
        """Search, check the best point, and fit the estimator there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: 2 is the same as a repeated row, 0 the same as a removed one. The steps of a pipeline
            before the machine get them where metadata routing is enabled and they request them.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter of the final check.

        Returns
        -------
        self : RadiusMarginSearch
            The fitted search. Ctrl-C leaves it fitted at the best point so far and is raised again.
        """
        begin = time.monotonic()
        check_parameters(self, CONSTRAINTS)
        names, fit_weights = tuned_names(self.estimator), self._fit_weights(sample_weight)
        criterion, labels, classes, index = self._problem(X, y, sample_weight)
        deadline = begin + (np.inf if self.time_limit is None else self.time_limit)
        # The best estimator needs time as well.
        criterion.deadline = begin + (deadline - begin) * (0.75 if self.refit else 1.0)
        told = Parts(self, dict(X=X, y=y, metadata={"sample_weight": sample_weight}))
        rules = Rules(self.tol, self.max_iter, self.penalty, self.verbose, told)
        found, *self._left = descend_from(criterion, rules=rules, **self._starts(criterion.d, names))
        self.best_params_ = dict(zip(names, criterion.parameters(found.point), strict=True))
        self.best_criterion_, self.status_ = found.value, found.status
        self.criterion_path_, self.n_evaluations_ = found.path, len(found.path)
        self.n_iter_ = found.path[-1]["iteration"] if found.path else 0
        self.search_seconds_ = time.monotonic() - begin
        self.classes_ = classes
        self.feature_weights_ = np.broadcast_to(np.exp(found.point[1:]), criterion.d).copy()
        self.ranking_ = np.empty(criterion.d, dtype=np.int64)
        self.ranking_[np.argsort(-self.feature_weights_, kind="stable")] = np.arange(1, criterion.d + 1)
        del criterion  # the memory of its matrices is for the fits that follow
        self.cv_scores_: dict[str, float] = {}
        interrupted = self.status_ == "interrupted" and not told.ended
        if self.refit:
            interrupted |= self._fit_best(told, fit_weights, max(deadline - time.monotonic(), 0.05))
        keep(self)
        if interrupted:
            raise KeyboardInterrupt
        if self.status_ == "solved" and self.cv is not None:
            given, left = dict(sample_weight=sample_weight, groups=groups), deadline - time.monotonic()
            try:
                self._guard(X, labels, index, names, given, left)
            except KeyboardInterrupt:
                self.status_ = "interrupted"
                raise
        if self.status_ != "solved":
            warnings.warn(
                f"RadiusMarginSearch ended with status {self.status_!r} after {self.n_iter_} iterations and "
                f"{self.n_evaluations_} evaluations: {WHAT_TO_DO[self.status_]}.",
                ConvergenceWarning,
                stacklevel=CALLER,
            )
        told.end()
        return self

    # --- before the search ---

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[Criterion, np.ndarray, np.ndarray, np.ndarray]:
        """The criterion on the rows that it sees, the labels, the classes, and the class of every row of weight > 0."""
        Z, labels = self._features(X, y, sample_weight)
        weight = check_sample_weight(sample_weight, len(labels))
        rows = np.flatnonzero(weight)
        classes, index = check_classes(labels, rows)
        weight = weight[rows]
        class_weight = self.estimator.get_params(deep=True).get(tuned_names(self.estimator)[0][:-1] + "class_weight")
        weight = weight * class_weights(class_weight, classes, index, weight)[index]
        least = np.sort(np.bincount(index, weight))[:2].sum()
        if least < 1:  # R^2 would be negative
            raise ValueError(
                f"expected sample_weight to count rows, 1 or more in any two classes, got a sum of {least:.3g} "
                f"in two of them; multiply the weights, for example by n_samples / sample_weight.sum()"
            )
        few = self._sample(index)
        form = CriterionForm(self.criterion, self.kernel == "ellipsoidal", self._costs(len(classes)), self.inner_tol)
        criterion = Criterion(Z[rows[few]], index[few], weight[few], form, threads(self.n_jobs))
        return criterion, labels, classes, index

    def _features(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, np.ndarray]:
        """The rows as the kernel machine sees them, after the other steps of a pipeline, and the labels."""
        machine = self.estimator
        if isinstance(machine, Pipeline):
            if len(machine) > 1:
                steps = clone(machine[:-1])
                asked = sample_weight is not None and requests_weights(steps)
                X = steps.fit_transform(X, y, **({"sample_weight": sample_weight} if asked else {}))
            machine = machine[-1]
        settings = machine.get_params(deep=False)
        kernel = settings.get("kernel", "rbf")
        if kernel != "rbf":
            raise ValueError(f'expected an estimator with kernel="rbf", whose gamma is tuned, got kernel={kernel!r}')
        if settings.get("nu") is not None:
            raise ValueError(f"expected an estimator with nu=None, the form with C, got nu={settings['nu']!r}")
        return check_rows(clone(machine), X, y, fit=True, precomputed=False)

    def _costs(self, n_classes: int) -> np.ndarray | None:
        if self.costs is None:
            return None
        costs = check_array(self.costs, dtype=np.float64, input_name="costs")
        if costs.shape != (n_classes, n_classes):
            raise ValueError(f"expected costs to have shape ({n_classes}, {n_classes}), got shape {costs.shape}")
        off = costs[~np.eye(n_classes, dtype=bool)]
        if np.any(off < 0) or not np.any(off > 0):
            raise ValueError(f"expected costs to be >= 0, some of them > 0, got {off.min():g} to {off.max():g}")
        return costs

    def _sample(self, y: np.ndarray) -> np.ndarray:
        """The rows that the criterion sees: all, or as many of each class as the limits leave."""
        n, per_value = len(y), 11 if self.kernel == "ellipsoidal" else 19  # including what the solvers need
        most = max(2 * (y.max() + 1), int(np.sqrt(budget(self.memory) / per_value)))
        if self.max_samples is not None:
            most = min(most, self.max_samples)
        elif n > most:
            warnings.warn(
                f"The criterion sees {most:,} of {n:,} rows, as many as fit into memory: raise memory, or set "
                f"max_samples to choose the number yourself.",
                UserWarning,
                stacklevel=CALLER + 2,
            )
        if n <= most:
            return np.arange(n)
        seed = self.random_state
        random = seed if isinstance(seed, np.random.Generator) else check_random_state(seed)
        counts = np.bincount(y)
        take = np.minimum(counts, np.maximum(2, (counts * (most / n)).astype(int)))
        chosen = [random.choice(np.flatnonzero(y == c), k, replace=False) for c, k in enumerate(take)]
        return np.sort(np.concatenate(chosen))

    def _starts(self, d: int, names: tuple[str, str]) -> dict[str, Any]:
        """Points of ln C and ln gamma (or every ln gamma_t) to begin at, or where the last fit was stopped."""
        size = d if self.kernel == "ellipsoidal" else 1
        if self.warm_start and hasattr(self, "_left") and self._left[0][0].shape == (1 + size,):
            return dict(starts=self._left[0], earlier=self._left[1], path=self.criterion_path_)
        settings = self.estimator.get_params(deep=True)
        C, gamma = (settings[name] for name in names)
        if isinstance(gamma, str) or (np.ndim(gamma) and self.kernel == "spherical"):
            gamma = 1 / (2 * d)
        n = self.n_starts if self.kernel == "ellipsoidal" else 1
        return dict(starts=starting_points(C, gamma, size, n), earlier=None, path=[])

    # --- after the search ---

    def _guard(self, X: Any, y: np.ndarray, index: np.ndarray, names: tuple, given: dict, seconds: float) -> None:
        """Scores of the best point and of two with larger C: the criterion fails where one of these is much better."""
        smallest = np.bincount(index).min()
        folds = min(self.cv, smallest) if isinstance(self.cv, int) else self.cv
        if folds == 1:
            return
        C, gamma = (self.best_params_[name] for name in names)
        check = KernelSearchCV(
            self.estimator, C=[C, 10 * C, 30 * C], gamma=[gamma, gamma / 10], cv=folds, refit=False,
            memory=self.memory, n_jobs=self.n_jobs, time_limit=None if np.isinf(seconds) else max(seconds, 1e-3),
        )  # fmt: skip
        with warnings.catch_warnings(), suppress(OutOfTime):
            warnings.simplefilter("ignore", ConvergenceWarning)
            check.fit(X, y, **given)
        if getattr(check, "status_", "time_limit") == "time_limit":  # no verdict, and no time left
            self.status_ = "time_limit"
            return
        scores = check.cv_results_["mean_test_score"]
        self.cv_scores_ = {"found": float(scores[0]), "10 C": float(scores[2]), "30 C, gamma / 10": float(scores[5])}
        found = self.cv_scores_["found"]
        other = max(self.cv_scores_, key=self.cv_scores_.__getitem__)
        better = self.cv_scores_[other]
        if better - found > 2 * np.sqrt(max(better * (1 - better), 1 / len(y)) / len(y)):
            scarce = f", and the smallest class has {smallest} rows" if smallest < 20 else ""
            warnings.warn(
                f"The criterion misleads on these data: its point scores {found:.3f} in cross-validation, but "
                f"{other} scores {better:.3f}{scarce}; try the other criterion, penalty > 0 for an ellipsoidal "
                f"kernel, or KernelSearchCV.",
                UserWarning,
                stacklevel=CALLER + 1,
            )

    def get_support(self, k: int, indices: bool = False) -> np.ndarray:
        """The k features with the largest gamma.

        Parameters
        ----------
        k : int
            How many.
        indices : bool, default=False
            Whether to return their numbers, best first, instead of a mask.

        Returns
        -------
        support : ndarray
            A mask of shape (n_features,), or k numbers.
        """
        check_is_fitted(self, "ranking_")
        return np.argsort(self.ranking_)[:k] if indices else self.ranking_ <= k
