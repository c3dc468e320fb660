"""What a beginner calls first: scale the columns, choose a machine, tune it, train it, calibrate it.

Every choice follows a rule that is written down here once; `explain_choices_` says in words what was chosen and why.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import auto_grid as grids
from .auto_grid import sample_of, take
from .checks import NONE, POSITIVE, RUN, Name, Number, check_classes, check_parameters
from .columns import ColumnEncoder, _plain
from .core_vector import CoreVectorSVC
from .joint import JointSVC
from .machines import MACHINES
from .probabilities import confidence, softmax, temperature, unseen
from .progress import logger
from .reductions import OneVsRestSVC, PairwiseSVC
from .resources import peak_memory

MANY_CLASSES = 100  # beyond, one-versus-one has more pairs than a joint machine has rows to gain by them
MANY_ROWS = 100_000  # beyond, a core set of rows is enough, and all that memory allows
FIRST_ROWS = 1000  # the scaling and the region of C and gamma are chosen on so many, or on all of up to twice as many
TUNING_ROWS = 8000  # their neighbours on so many
CALIBRATION_ROWS = 4000
LAST_ROWS = 20_000  # and last the neighbours of the best on so many

REDUCTIONS = {"pairwise": PairwiseSVC, "one-vs-rest": OneVsRestSVC, "core-vector": CoreVectorSVC}

CONSTRAINTS = {
    "machine": (Name(("auto", *REDUCTIONS, *MACHINES)),),
    "C": (Name(("auto",)), POSITIVE),
    "gamma": (Name(("auto", "scale")), POSITIVE),
    "cv": (Number("an integer >= 2", least=2, integer=True),),
    "calibrate": RUN["warm_start"],
    "random_state": (NONE, Number("an integer >= 0", least=0, integer=True)),
    **{name: RUN[name] for name in ("class_weight", "time_limit", "memory", "n_jobs", "verbose")},
}


def machine_named(name: str, **parameters: Any) -> Any:
    """The estimator of a name: one of REDUCTIONS, or a machine of JointSVC."""
    return REDUCTIONS[name](**parameters) if name in REDUCTIONS else JointSVC(name, **parameters)


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
        A number is taken as it is; gamma counts in the scaled columns.
    cv : int, default=5
        Folds for tuning.
    calibrate : bool, default=True
        Fit the temperature of the probabilities on held-out folds.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of a class.
    time_limit : float, default=None
        Seconds for everything; a short limit means fewer rows in tuning.
    memory : "auto", int or str, default="auto"
        Memory for kernel values.
    n_jobs : int, default=None
        Threads; None is all cores.
    random_state : int, default=0
        Seed of the samples and folds.
    verbose : int, default=0
        1 logs every choice as it is made.

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
    temperature_ : float
        What scores are divided by before they become probabilities.
    explain_choices_ : list of str
        What was chosen, and why.
    feature_names_out_ : ndarray of str
        Names of the columns that the machine sees.
    fit_seconds_ : float
        Duration of `fit`.
    peak_memory_ : int
        The most bytes of memory that the process has held up to the end of `fit`, 0 where the system does not tell.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

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
        table = _plain(X)
        X, y = validate_data(
            self, table, y, accept_sparse="csr", dtype=None, ensure_all_finite=False, ensure_min_samples=2
        )
        X = table if hasattr(table, "columns") else X
        check_classification_targets(y)
        self.classes_, index = check_classes(y, np.arange(len(y)))
        deadline = begin + (np.inf if self.time_limit is None else self.time_limit)
        rng = np.random.default_rng(self.random_state)
        self.explain_choices_: list[str] = []

        name = self._choose_machine(len(y), len(self.classes_))
        sample = sample_of(index, TUNING_ROWS, rng)
        self.encoder_ = ColumnEncoder().fit(X)
        self.best_params_ = {"C": 10.0, "gamma": 1.0 / max(self.encoder_.transform(take(X, [0])).shape[1], 1)}
        self.cv_score_, interrupted = None, False
        try:
            self._tune(name, X, index, sample, deadline, rng)
        except KeyboardInterrupt:
            interrupted = True
            self._say(f"Tuning was interrupted: the model is trained on {len(sample)} rows with the best so far.")
        rows = sample if interrupted else np.arange(len(y))
        self.machine_ = self._machine(name, **self.best_params_, deadline=deadline)
        self.temperature_ = 1.0
        try:
            self.machine_.fit(self.encoder_.transform(take(X, rows)), y[rows])
            if self.calibrate and not interrupted:
                self._calibrate(X, y, sample, deadline, rng)
        finally:
            self.feature_names_out_ = self.encoder_.get_feature_names_out()
            self.fit_seconds_, self.peak_memory_ = time.monotonic() - begin, peak_memory()
        if interrupted:
            raise KeyboardInterrupt
        return self

    # --- the choices ---

    def _say(self, line: str) -> None:
        self.explain_choices_.append(line)
        if self.verbose:
            logger.info("AutoSVC: %s", line)

    def _choose_machine(self, n: int, T: int) -> str:
        if self.machine != "auto":
            self._say(f"Machine: {self.machine}, as asked.")
            return self.machine
        if n > MANY_ROWS:
            self._say(f"Machine: core vectors, because {n} rows are more than {MANY_ROWS}: few of them decide.")
            return "core-vector"
        if T > MANY_CLASSES:
            self._say(
                f"Machine: scatter, because {T} classes are more than {MANY_CLASSES}: its cost does not grow with them."
            )
            return "scatter"
        pairs = f"{T * (T - 1) // 2} pairs" if T > 2 else "1 pair"
        self._say(f"Machine: one-versus-one, because {pairs} of classes and {n} rows are few enough for it.")
        return "pairwise"

    def _machine(self, name: str, C: float, gamma: Any, deadline: float = np.inf) -> Any:
        left = deadline - time.monotonic()
        run = dict(
            class_weight=self.class_weight, memory=self.memory, n_jobs=self.n_jobs,
            time_limit=None if np.isinf(left) else max(left, 0.1),
        )  # fmt: skip
        if name == "core-vector":
            run["random_state"] = self.random_state
        return machine_named(name, C=C, gamma=gamma, **run)

    def _tune(self, name: str, X: Any, index: np.ndarray, sample: np.ndarray, deadline: float, rng: Any) -> None:
        """The scaling and a first point on few rows, then its neighbours on more and more rows."""
        begin = time.monotonic()
        few = FIRST_ROWS if len(sample) > 2 * FIRST_ROWS else len(sample)
        first = self._some(index, sample, few, rng)
        if len(np.unique(index[first])) < 2:
            self._say("C and gamma: the usual ones, because no two classes have two rows each to tune with.")
            return
        tried = {}
        for scaling in ("column", "common"):
            encoder = ColumnEncoder(scaling).fit(X)
            Z = encoder.transform(take(X, first))
            tried[scaling] = (self._search(name, Z, index[first], *self._grid(Z.shape[1]), deadline), encoder)
            if sp.issparse(Z) or np.allclose(encoder.scale_, encoder.scale_[:1]):
                break
            if time.monotonic() - begin > 0.25 * (deadline - begin):
                break
        scaling, why = grids.choose_scaling({name: found for name, (found, _) in tried.items()}, len(first))
        found, self.encoder_ = tried[scaling]
        if len(tried) == 1 and np.allclose(self.encoder_.scale_, self.encoder_.scale_[:1]):
            why = "one factor for all columns, which are equally wide"
        self._say(f"Scaling: {why}.")
        self._keep(found)
        grid, rows = self._grid(Z.shape[1]), first
        room = 0.5 * max(deadline - time.monotonic(), 0.0)
        ratio = np.sqrt(room / max(found.search_seconds_, 1e-3)) if np.isfinite(room) else np.inf
        larger = int(min(len(sample), len(first) * ratio))
        if larger > 1.5 * len(first):
            rows = self._some(index, sample, larger, rng)
            near = [grids.around(v, self.best_params_[k], 2) for k, v in zip(("C", "gamma"), grid, strict=True)]
            self._keep(self._search(name, self.encoder_.transform(take(X, rows)), index[rows], *near, deadline))
        C, gamma, score = self.best_params_["C"], self.best_params_["gamma"], self.cv_score_
        self._say(
            f"C = {C:.4g} and gamma = {gamma:.4g}: the best of the grid, accuracy {score:.4f} in {self.cv} folds of "
            f"{len(rows)} rows."
        )
        if len(rows) == len(sample) < len(index) and max(map(len, grid)) > 1:
            self._climb(name, X, index, grid, deadline, rng)

    def _some(self, index: np.ndarray, sample: np.ndarray, most: int, rng: Any) -> np.ndarray:
        """At most so many rows of a sample, without classes that have one row."""
        some = sample[np.sort(rng.permutation(len(sample))[:most])] if len(sample) > most else sample
        return some[np.bincount(index[some])[index[some]] >= 2]

    def _grid(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        C = grids.PATTERN_C if self.C == "auto" else np.array([float(self.C)])
        return C, grids.PATTERN_GAMMA / d if self.gamma in ("auto", "scale") else np.array([float(self.gamma)])

    def _search(self, name: str, Z: Any, index: np.ndarray, C: Any, gamma: Any, deadline: float) -> Any:
        limit = (deadline - time.monotonic()) / 3
        return grids.search(self._machine(name, 1.0, 1.0), Z, index, C, gamma, self.cv, self.random_state, limit)

    def _keep(self, found: Any) -> None:
        self.best_params_ = grids.steadiest(found.cv_results_)
        self.cv_score_ = float(found.best_score_)

    def _climb(self, name: str, X: Any, index: np.ndarray, grid: tuple, deadline: float, rng: Any) -> None:
        """Neighbours of the point on a fifth of many rows, trained on the others: more rows bear a larger gamma."""
        rows = sample_of(index, LAST_ROWS, rng)
        held = rng.permutation(len(rows)) < len(rows) // 5
        parts = [(self.encoder_.transform(take(X, rows[part])), index[rows[part]]) for part in (~held, held)]
        end = time.monotonic() + (deadline - time.monotonic()) / 3
        right = grids.held_out(lambda C, gamma: self._machine(name, C, gamma, end), *parts, end)
        start = self.best_params_["C"], self.best_params_["gamma"]
        (C, gamma), score, tried = grids.climb(right, *grid, start)
        if tried:
            self.best_params_, self.cv_score_ = {"C": C, "gamma": gamma}, score
            self._say(
                f"C = {C:.4g} and gamma = {gamma:.4g}: the best of {tried} neighbours, accuracy {score:.4f} on "
                f"{held.sum()} rows held out of {len(rows)}."
            )

    # --- probabilities ---

    def _calibrate(self, X: Any, y: np.ndarray, sample: np.ndarray, deadline: float, rng: Any) -> None:
        """The temperature with the largest likelihood of rows that the machine had not seen."""
        index = np.searchsorted(self.classes_, y)
        rows = self._some(index, sample, CALIBRATION_ROWS, rng)
        if len(rows) < 10 or len(np.unique(index[rows])) < len(self.classes_) or time.monotonic() > deadline:
            self._say("Probabilities: not calibrated, because the rows or the time were too few.")
            return
        folds = max(2, min(5, int(np.bincount(index[rows]).min())))
        splits = StratifiedKFold(folds, shuffle=True, random_state=self.random_state).split(rows, y[rows])
        Z = self.encoder_.transform(take(X, rows))
        self.temperature_ = temperature(*unseen(self.machine_, Z, y[rows], splits))
        self._say(f"Probabilities: scores divided by {self.temperature_:.3g}, fitted on {len(rows)} held-out rows.")

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
        table = _plain(X)
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
        return softmax(confidence(self.machine_, Z) / self.temperature_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fit_seconds_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
