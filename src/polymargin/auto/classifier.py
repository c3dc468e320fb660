"""What a beginner calls first: scale the columns, choose a machine, tune it, train it, calibrate it.

Every choice follows one rule, written here; `explain_choices_` says in words what was chosen and why.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..files.records import NAMES, stored
from ..fitting.checks import check_classes
from ..fitting.labels import check_labels
from ..fitting.parameters import NONE, POSITIVE, RUN, Name, Number, check_parameters
from ..fitting.resources import peak_memory
from ..fitting.state import keep, whole
from ..machines import MACHINES
from .grid import quietly, sample_of
from .probabilities import fitted, margins, probabilities, unseen
from .record import AUTO, check_auto
from .tables import plain
from .task import REDUCTIONS, Task
from .tuning import LAST_ROWS, PROBE_ROWS, Tuning

CALIBRATION_ROWS = 4000
CALIBRATION_VALUES = 2_000_000  # values of pairs; with many classes a row has many

CONSTRAINTS = {
    "machine": (Name(("auto", *REDUCTIONS, *MACHINES)),),
    "C": (Name(("auto",)), POSITIVE),
    "gamma": (Name(("auto", "scale")), POSITIVE),
    "cv": (Number("an integer >= 2", least=2, integer=True),),
    "calibrate": RUN["warm_start"],
    "random_state": (NONE, Number("an integer >= 0", least=0, integer=True)),
    **{name: RUN[name] for name in ("class_weight", "time_limit", "memory", "n_jobs", "verbose")},
}


@stored(CONSTRAINTS, AUTO, (*NAMES, "peak_memory_"), check_auto)
class AutoSVC(ClassifierMixin, BaseEstimator):
    """Support vector machine that needs no settings.

    Takes a data frame with numbers, words and gaps, or a matrix. The columns are scaled (both ways of `ColumnEncoder`
    are tried), C and the width of the RBF kernel are tuned by exact cross-validation, the machine is trained on all
    rows, and its scores are turned into probabilities whose largest belongs to the predicted class.

    Parameters
    ----------
    machine : {"auto", "pairwise", "one-vs-rest", "core-vector"} or a machine of JointSVC, default="auto"
        "auto" is "pairwise" up to 100 classes, "scatter" beyond, and "core-vector" for more than 100,000 rows.
    C, gamma : float or "auto", default="auto"
        A number is used as it is; gamma refers to the scaled columns.
    cv : int, default=5
        Folds for tuning.
    calibrate : bool, default=True
        Fit the temperature of the probabilities on held-out folds.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of a class.
    time_limit : float, default=None
        Seconds for everything. A short limit means fewer rows in tuning and, if necessary, in training.
    memory : "auto", int or str, default="auto"
        Memory for kernel values.
    n_jobs : int, default=None
        Threads; None is all cores.
    random_state : int, default=0
        Seed of the samples and folds.
    verbose : int, default=0
        1 prints every choice as it is made and shows the progress of long steps.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    encoder_ : ColumnEncoder
        From columns to numbers.
    machine_ : estimator
        The trained machine.
    best_params_ : dict
        C and gamma.
    cv_score_ : float
        Accuracy in cross-validation at `best_params_`, for more than 8,000 rows on a fifth of them that was held out;
        None if nothing was tuned.
    temperature_, evidence_weight_ : float
        What scores are divided by before they become probabilities; for one-versus-one, how much all pairs of a class
        count besides the closest one (t and w in `polymargin.probabilities`).
    margins_ : ndarray of shape (1,) or (n_pairs,)
        The units of the scores there: 1, except for core vectors.
    explain_choices_ : list of str
        What was chosen, and why.
    feature_names_out_ : ndarray of str
        Names of the columns that the machine sees.
    fit_seconds_ : float
        Duration of `fit`.
    peak_memory_ : int
        The most bytes of memory that the process has held up to the end of `fit`, 0 where the system does not say.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    See Also
    --------
    KernelSearchCV : exact cross-validation over a grid of your own.
    JointSVC, PairwiseSVC : the machines themselves.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from polymargin import AutoSVC
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = AutoSVC().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(
        self,
        machine: str = "auto",
        *,
        C: Any = "auto",
        gamma: Any = "auto",
        cv: int = 5,
        calibrate: bool = True,
        class_weight: Any = None,
        time_limit: float | None = None,
        memory: Any = "auto",
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: int = 0,
    ) -> None:
        self.machine = machine
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @whole
    def fit(self, X: Any, y: Any) -> AutoSVC:
        """Choose, tune, train and calibrate.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows of numbers and words; None and NaN are gaps.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : AutoSVC
            The fitted model. Ctrl-C while it is tuned leaves a model with the best parameters so far, trained on the
            tuning rows, and is raised again.
        """
        begin = time.monotonic()
        check_parameters(self, CONSTRAINTS)
        check_labels(y)
        table = plain(X)
        X, y = validate_data(
            self, table, y, accept_sparse="csr", dtype=None, ensure_all_finite=False, ensure_min_samples=2
        )
        X = table if hasattr(table, "columns") else X
        check_classification_targets(y)
        self.classes_, index = check_classes(y, np.arange(len(y)))
        deadline = begin + (np.inf if self.time_limit is None else self.time_limit)
        task = Task(self, X, y, index, self.classes_, deadline)
        self.explain_choices_, tuning = task.choices, Tuning(task)
        interrupted = False
        try:
            tuning.run()
        except KeyboardInterrupt:
            interrupted = True
            task.tell(f"Tuning was interrupted: trained on {len(tuning.sample)} rows with the best so far.")
        rows = self._last_rows(tuning, interrupted)
        self.encoder_, self.best_params_, self.cv_score_ = tuning.encoder, tuning.params, tuning.score
        self.margins_, self.temperature_, self.evidence_weight_ = np.ones(1), 1.0, 0.0
        Z, labels = tuning.encoded(rows)
        self.machine_ = task.machine(**self.best_params_, y=y, seconds=task.left(), verbose=self.verbose)
        try:
            self.machine_.fit(Z, labels)
            if self.calibrate and not interrupted:
                self._calibrate(tuning)
        except KeyboardInterrupt:
            if not hasattr(self.machine_, "status_"):
                raise
            interrupted = True
        self.margins_ = margins(self.machine_)
        self.feature_names_out_ = self.encoder_.get_feature_names_out()
        self.fit_seconds_, self.peak_memory_ = time.monotonic() - begin, peak_memory()
        if interrupted:
            keep(self)
            raise KeyboardInterrupt
        return self

    def _last_rows(self, tuning: Tuning, interrupted: bool) -> np.ndarray:
        """The rows to train on: all, unless there is no time for them."""
        n = len(tuning.index)
        if interrupted:
            return tuning.sample
        most = tuning.rows_within(tuning.left() / 2)
        if n <= most:
            return np.arange(n)
        rows = sample_of(tuning.index, int(max(most, PROBE_ROWS, 10 * len(self.classes_))), tuning.rng)
        tuning.tell(f"Rows: trained on {len(rows)} of {n}, because time_limit leaves {tuning.left():.1f} s.")
        return rows

    # --- probabilities ---

    def _calibrate(self, tuning: Tuning) -> None:
        """Fit the probabilities on rows that the machine had not seen, after training on about as many as it has."""
        trained = self.machine_.shape_fit_[0]
        most = min(LAST_ROWS, trained)
        if np.isfinite(tuning.deadline):
            most = min(most, trained * np.sqrt(tuning.left() / (5 * max(self.machine_.fit_seconds_, 1e-3))))
        rows = sample_of(tuning.index, int(most), tuning.rng)
        rows = rows[np.bincount(tuning.index[rows])[tuning.index[rows]] >= 2]
        if tuning.left() == 0 or len(rows) < 10 or len(np.unique(tuning.index[rows])) < 2:
            tuning.tell("Probabilities: not calibrated, because there were too few rows or too little time.")
            return
        pairs = len(self.classes_) * (len(self.classes_) - 1) // 2
        tested = max(500, min(CALIBRATION_ROWS, CALIBRATION_VALUES // pairs))
        Z, y = tuning.encoded(rows)
        folds = max(2, min(5, int(np.unique(y, return_counts=True)[1].max())))
        splits = StratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        splits = quietly(list, splits.split(rows, y))[: max(1, -(-tested * folds // len(rows)))]
        machine = tuning.task.machine(**self.best_params_, y=y, seconds=np.inf)
        F, at, code = quietly(unseen, machine, Z, y, splits, tuning.deadline)
        self.temperature_, self.evidence_weight_ = fitted(F[:tested], at[:tested], code)
        scores = "values of pairs" if code is not None else "scores"
        tuning.tell(f"Probabilities: {scores} divided by {self.temperature_:.3g}, fitted on {len(at)} held-out rows.")

    # --- use ---

    def encode(self, X: Any) -> Any:
        """The columns that the machine sees, as `ColumnEncoder.transform`.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows with the columns of `fit`.

        Returns
        -------
        Z : ndarray or CSR matrix
        """
        check_is_fitted(self, "machine_")
        table = plain(X)
        checked = validate_data(self, table, accept_sparse="csr", dtype=None, ensure_all_finite=False, reset=False)
        return self.encoder_.transform(table if hasattr(table, "columns") else checked)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the machine.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        Z = self.encode(X)
        return self.machine_.decision_function(Z)

    def predict(self, X: Any) -> np.ndarray:
        """Classes.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        Z = self.encode(X)
        return self.machine_.predict(Z)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; the largest is that of `predict`.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        Z = self.encode(X)
        return probabilities(self.machine_, Z, self.margins_, self.temperature_, self.evidence_weight_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fit_seconds_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
