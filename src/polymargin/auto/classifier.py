"""What a beginner calls first: scale the columns, choose a machine, tune it, train it, calibrate it.

Every choice follows one rule, written here; `explain_choices_` says in words what was chosen and why.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from ..files.records import NAMES, stored
from ..fitting.callbacks import CallbackSupportMixin, Parts, with_callbacks
from ..fitting.checks import check_classes, check_sample_weight
from ..fitting.estimator import Estimator
from ..fitting.hints import SVCHints
from ..fitting.labels import check_labels
from ..fitting.parameters import NONE, POSITIVE, RUN, Name, Number, check_parameters
from ..fitting.progress import duration
from ..fitting.resources import peak_memory
from ..fitting.state import keep, whole
from ..kernels import BY_NAME
from ..machines import MACHINES
from . import remarks
from .calibration import calibrated
from .cells import frame
from .contest import Contest, settled
from .grid import sample_of
from .probabilities import margins, probabilities
from .record import AUTO, check_auto
from .rows import Splits, WeightedRows, checked_groups
from .tables import COLUMNS, checked_table, planned
from .task import MANY_ROWS, REDUCTIONS, SEEDS, Task
from .tuning import PROBE_ROWS, Tuning

REMARKED_ROWS = 2000  # predicted once more, to see which classes never are

CONSTRAINTS = {
    "machine": (Name(("auto", *REDUCTIONS, *MACHINES)),),
    "C": (Name(("auto",)), POSITIVE),
    "gamma": (Name(("auto", "scale")), POSITIVE),
    "cv": (Number("an integer >= 2", least=2, integer=True), Splits("a splitter", (list, tuple))),
    "calibrate": RUN["warm_start"],
    "columns": COLUMNS,
    "kernel": (Name(BY_NAME),),
    "scaling": (Name(("auto", "column", "common")),),
    "random_state": (NONE, Number("an integer from 0 to 4294967295", least=0, most=SEEDS - 1, integer=True)),
    **{name: RUN[name] for name in ("class_weight", "time_limit", "memory", "n_jobs", "verbose")},
}


@stored(CONSTRAINTS, AUTO, (*NAMES, "peak_memory_", "announced_seconds_"), check_auto)
class AutoSVC(CallbackSupportMixin, SVCHints, ClassifierMixin, Estimator):
    """Support vector machine that needs no settings.

    Takes a data frame with numbers, words and gaps, or a matrix. The columns are scaled (both ways of `ColumnEncoder`
    are tried), C and the width of the RBF kernel are tuned by exact cross-validation, the machine is trained on all
    rows, and its scores are turned into probabilities whose largest belongs to the predicted class.

    Parameters
    ----------
    machine : {"auto", "pairwise", "one-vs-rest", "core-vector", "landmarks"} or a machine of JointSVC, default="auto"
        "auto" is "pairwise" up to 100 classes, "scatter" beyond. For more than 10,000 rows it is tried on samples
        against "core-vector" and "landmarks": the best that ends within a time limit, or within ten minutes where there
        is none, is taken, on fewer rows if need be.
    C, gamma : float or "auto", default="auto"
        A number is used as it is; gamma refers to the scaled columns.
    cv : int, splitter or list of pairs of index arrays, default=5
        Folds for tuning and for `calibrate`, stratified if a number. Others have the `groups` of `fit`.
    calibrate : bool, default=True
        Fit the temperature of the probabilities on held-out folds.
    columns : dict, default=None
        Kinds of columns by name where the kind that is found is wrong: "number", "category", "date", "text" or
        "ignore", for example `{"zip": "category", "note": "ignore"}`.
    kernel : {"rbf", "laplacian", "linear", "cosine", "poly", "sigmoid"}, default="rbf"
        Kernel of the machine. Those without a gamma are tuned in C alone.
    scaling : {"auto", "column", "common"}, default="auto"
        How numbers are scaled (`ColumnEncoder`); "auto" tries both.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of a class, in training and in the accuracies by which C, gamma and the
        machine are chosen.
    time_limit : float, default=None
        Seconds for everything. A short limit means fewer rows in tuning and, if necessary, in training.
    memory : "auto", int or str, default="auto"
        Memory for kernel values.
    n_jobs : int, default=None
        Threads; None means all cores.
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
        None if nothing was tuned. With `class_weight`, rows count in it as their classes weigh.
    temperature_, evidence_weight_ : float
        What scores are divided by before they become probabilities; for one-versus-one, how much all pairs of a class
        count besides the closest one (t and w in `polymargin.probabilities`).
    margins_ : ndarray of shape (1,) or (n_pairs,)
        The units of the scores there: 1, except for core vectors.
    explain_choices_ : list of str
        What was chosen, and why.
    feature_names_out_ : ndarray of str
        Names of the columns that the machine sees.
    columns_ : list of dict
        A record per column of X: `name`, `used_as` ("number", "category", "date", "text" or "left out"), `reason` (why
        it is left out, or what was assumed when it was read; "" if there is nothing to say), `missing` (empty cells in
        `fit`) and `features` (how many of `feature_names_out_` come from it).
    fit_seconds_ : float
        Duration of `fit`.
    announced_seconds_ : float or None
        What it said before it trained on more than 10,000 rows.
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

    References
    ----------
    .. [1] D. Price, S. Knerr, L. Personnaz and G. Dreyfus, "Pairwise neural network classifiers with probabilistic
       outputs", NIPS 7, 1994: from pairs of classes to probabilities.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017: the
       temperature.

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
        columns: Any = None,
        kernel: str = "rbf",
        scaling: str = "auto",
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
        self.columns = columns
        self.kernel = kernel
        self.scaling = scaling
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> AutoSVC:
        """Choose, tune, train and calibrate.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows of numbers and words; None and NaN are gaps.
        y : array-like of shape (n_samples,)
            Labels.
        groups : array-like of shape (n_samples,), default=None
            Rows with the same value are never on both sides of a split when C, gamma and probabilities are fitted.
        sample_weight : float or array-like of shape (n_samples,), default=None
            How often rows count, in scales, training, accuracies and probabilities: 2 is the same as a repeated row, 0
            the same as a removed one. What columns are used as depends on the rows alone.

        Returns
        -------
        self : AutoSVC
            The fitted model. Ctrl-C while it is tuned leaves a model with the best parameters so far, trained on the
            tuning rows, and is raised again.
        """
        begin = time.monotonic()
        check_parameters(self, CONSTRAINTS)
        told = Parts(self, dict(X=X, y=y, metadata={"sample_weight": sample_weight}))
        rows = self._checked(X, y, groups, sample_weight)
        self.classes_, index = check_classes(rows.y, np.arange(len(rows.y)))
        rows = rows.with_class_weights(self.class_weight, self.classes_, index)
        deadline = begin + (np.inf if self.time_limit is None else self.time_limit)
        task = Task(self, rows, index, self.classes_, deadline)
        task.tell_asked()
        self.explain_choices_, tuning, interrupted = task.choices, Tuning(task), False
        try:
            tuning.run()
            if self.machine == "auto" and len(index) > MANY_ROWS:
                Contest(tuning).run()
        except KeyboardInterrupt:
            interrupted = True
        if interrupted or told("tuning"):
            why = "Tuning was interrupted" if interrupted else "A callback asked to stop"
            task.tell(f"{why}: trained on {len(tuning.sample)} rows with the best so far.")
        last_rows = self._last_rows(tuning, interrupted or told.ended)
        self.encoder_, self.best_params_, self.cv_score_ = tuning.encoder, tuning.params, tuning.score
        self.margins_, self.temperature_, self.evidence_weight_ = np.ones(1), 1.0, 0.0
        Z, labels, weight = tuning.encoded(last_rows)
        seconds = task.last_seconds()
        last = self.machine_ = task.machine(**self.best_params_, y=rows.y, seconds=seconds, verbose=self.verbose)
        try:
            with told.of(last, "training"), remarks.overheard(task):
                self.machine_ = settled(tuning, last.fit(Z, labels, sample_weight=weight))
            self._remark(task, Z, labels)
            if self.calibrate and not (interrupted or told.ended):
                self.temperature_, self.evidence_weight_ = calibrated(tuning, self.machine_)
                told("calibration")
        except KeyboardInterrupt:
            if not hasattr(last, "status_"):
                raise
            interrupted = True
        self.margins_ = margins(self.machine_)
        self.feature_names_out_ = self.encoder_.get_feature_names_out()
        self.fit_seconds_, self.peak_memory_ = time.monotonic() - begin, peak_memory()
        self.announced_seconds_ = task.announced
        if task.announced is not None:
            task.tell(
                f"Took {duration(self.fit_seconds_)}, announced {duration(task.announced)}; training "
                f"{duration(last.fit_seconds_)}, expected {duration(task.training)}."
            )
        task.choices.sort(key=remarks.is_remark)  # after the choices, which they are not
        if interrupted:
            keep(self)
            raise KeyboardInterrupt
        told.end()
        return self

    def _checked(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> WeightedRows:
        """Rows that count, after scikit-learn's checks; a table is read, once for all that follows."""
        check_labels(y)
        X = frame(X)
        if hasattr(X, "iloc"):
            X, y = checked_table(self, X, reset=True), column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            if len(y) < 2:
                raise ValueError(f"expected at least 2 rows, got n_samples={len(y)}; add rows")
        else:
            how = dict(accept_sparse="csr", dtype=None, ensure_all_finite=False, ensure_min_samples=2)
            X, y = validate_data(self, X, y, **how)
        check_classification_targets(y)
        given = WeightedRows(X, y, check_sample_weight(sample_weight, len(y)), checked_groups(groups, y))
        rows = given.with_splits(self.cv).positive()
        return replace(rows, X=planned(rows.X, self.columns))

    def _last_rows(self, tuning: Tuning, interrupted: bool) -> np.ndarray:
        """The rows to train on: all, unless there is no time for them."""
        n = len(tuning.index)
        if interrupted:
            return tuning.sample
        most = tuning.rows_within(min(tuning.left() / 2, tuning.longest))
        if n <= most:
            return np.arange(n)
        rows = sample_of(tuning.index, int(max(most, PROBE_ROWS, 10 * len(self.classes_))), tuning.rng)
        why = f"all would take longer than {duration(tuning.longest)}; a time_limit= may be longer"
        if np.isfinite(tuning.deadline):
            why = f"time_limit leaves {tuning.left():.1f} s"
        tuning.tell(f"Rows: trained on {len(rows)} of {n}, because {why}.")
        return rows

    def _remark(self, task: Task, Z: Any, y: np.ndarray) -> None:
        """What to know about rows and labels before trusting a score."""
        some = sample_of(np.searchsorted(self.classes_, y), REMARKED_ROWS, np.random.default_rng(0))
        said = remarks.on_classes(task.index, self.classes_, self.class_weight)
        if self.class_weight is None:  # weights are a wish for something other than accuracy
            said += remarks.on_score(self.cv_score_, task.rows, task.index, self.classes_)
        said += remarks.on_groups(task.rows.X, task.index, self.classes_)
        said += remarks.on_lone_groups(task.rows.groups, task.index, self.classes_)
        index = np.searchsorted(self.classes_, y[some])
        counts = np.bincount(task.index, minlength=len(self.classes_))
        predicted = self.machine_.predict(Z[some])
        said += remarks.on_predictions(predicted, self.classes_, index, counts, self.class_weight)
        for line in said:
            task.tell(f"{remarks.REMARK}{line}")

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
        return self.encoder_.transform(checked_table(self, X, reset=False))

    @property
    def columns_(self) -> list[dict[str, Any]]:
        check_is_fitted(self, "machine_")
        return self.encoder_.columns_

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
