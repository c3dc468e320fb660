"""Many fits on one Gram matrix: training sets are index sets on it, and C runs along a path of warm starts.

Rows are sorted by class. A row that a fit leaves out has weight 0 (or, for binary machines by code, the bounds 0), so
no part of the matrix is ever copied, and scores of the other rows are read off the same matrix.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from .. import _core, kernels
from ..fitting.checks import class_weights
from ..fitting.examples import segments_of
from ..fitting.scales import column_moments
from ..machines import LOSSES
from ..reductions.code_machines import CodeClassifier, code_of, decision_by
from ..reductions.columns import Code, n_columns
from ..training.decisions import winners
from ..training.expansions import KernelExpansion
from .best_estimator import tuned_names
from .distances import rbf, squared_distances


class Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose scores on these rows are known already: per class, or one for two classes."""

    def __init__(self, classes: np.ndarray, S: np.ndarray) -> None:
        self.classes_, self.S = classes, S

    def decision_function(self, X: Any) -> np.ndarray:
        return self.S

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[winners(self.S)]

    def score(self, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
        return float(np.average(self.predict(X) == y, weights=sample_weight))


def along_a_path(machine: Any, n_threads: int) -> Any:
    """A copy that starts every fit from the last one, on so many threads, if it has these parameters."""
    wanted = dict(warm_start=True, n_jobs=n_threads)
    has = machine.get_params(deep=False)
    return clone(machine).set_params(**{name: value for name, value in wanted.items() if name in has})


class GramFolds:
    """The rows of one search, and the Gram matrix of the current gamma.

    Parameters
    ----------
    machine : estimator
        With parameters C, gamma and kernel.
    X : {ndarray, sparse matrix} of shape (n, d)
        All rows.
    y : ndarray of shape (n,)
        Labels.
    weight : ndarray of shape (n,)
        Weights of the rows.
    n_threads : int
    splits : list of (train, test)
        Inside a class, rows are sorted by the fold that tests them, so that folds are ranges of rows.
    """

    def __init__(self, machine: Any, X: Any, y: np.ndarray, weight: np.ndarray, n_threads: int, splits: list) -> None:
        self.machine, self.n_threads = machine, n_threads
        tested = np.full(len(y), len(splits))
        for k, (_, test) in reversed(list(enumerate(splits))):
            tested[test] = k
        classes, index = np.unique(y, return_inverse=True)
        self.order = np.lexsort((tested, index))
        self.classes, self.index = classes, index[self.order]
        self.X, self.y, self.weight = X[self.order], y[self.order], weight[self.order]
        self.n = len(y)
        self.place = np.empty(self.n, dtype=np.int64)
        self.place[self.order] = np.arange(self.n)
        self.settings = machine.get_params(deep=False)
        self.kernel = self.settings["kernel"]
        self.D: np.ndarray | Any = squared_distances(self.X) if self.kernel == "rbf" else None
        self.K = np.empty((self.n, self.n))
        self.code: Code | None = None

    def gamma(self, gamma: Any, train: np.ndarray) -> Any:
        """The number that a gamma means when training on these rows."""
        if not isinstance(gamma, str):
            return gamma
        mean, variance = column_moments(self.X[train], self.weight[train])
        return kernels.resolve_gamma(self.kernel, gamma, mean, variance, self.X.shape[1])

    def set_gamma(self, gamma: Any) -> None:
        """Fill the Gram matrix."""
        if self.kernel == "rbf" and np.ndim(gamma) == 0:
            rbf(self.D, gamma, self.K, self.n_threads)
        elif self.kernel == "precomputed":
            self.K[:] = self.X[:, self.order]
        else:
            numbers = {name: self.settings[name] for name in ("degree", "coef0") if name in self.settings}
            record = kernels.Kernel(self.kernel, gamma, **numbers).record(self.X, self.X)
            _core.fill_gram(kernels.as_data(self.X), record, np.arange(self.n), self.K, self.n_threads)

    def by_code(self, train: np.ndarray, n_scores: int = 0, memory: float = np.inf) -> bool:
        """Whether the machine consists of binary ones by code, the training rows have all classes, and the code and so
        many scores of every column fit the memory."""
        if not isinstance(self.machine, CodeClassifier) or len(np.unique(self.index[train])) < len(self.classes):
            return False
        return n_columns(self.columns()) * (8.0 * n_scores + len(self.classes)) <= memory

    def columns(self) -> Code:
        """The code; a random one is drawn once."""
        if self.code is None:
            self.code = code_of(self.machine, len(self.classes))
        return self.code

    def code_scores(self, Cs: list, trains: list, rows: list, time_limit: float) -> tuple[list, np.ndarray, str]:
        """Binary machines by code, all folds and all C at once.

        Returns, for every fold, the scores of its `rows` with shape (n_C, n_rows, ...), the seconds with
        shape (n_folds, n_C) and a status.
        """
        machine = self.machine
        decision = decision_by(machine, self.columns(), len(self.classes))
        code = np.ascontiguousarray(decision.code, dtype=np.int8)
        segments = segments_of(self.index, len(self.classes))
        weights = []
        for train in trains:
            w, y = self.weight[train], self.index[train]
            weights.append(w * class_weights(machine.class_weight, self.classes, y, w)[y])
        out = _core.code_paths(
            self.K, segments, code, trains, weights, rows, np.array(Cs), LOSSES[machine.loss].ridge,
            float(machine.tol), int(machine.max_iter), float(time_limit), self.n_threads,
        )  # fmt: skip
        F = out["F"].reshape(code.shape[1], -1).T
        S = decision(F)
        S = S.reshape(len(Cs), -1, *S.shape[1:])
        ends = np.cumsum([len(r) for r in rows])
        return np.split(S, ends[:-1], axis=1), out["seconds"].reshape(len(trains), len(Cs)), out["status"]

    def path(self, Cs: list, train: np.ndarray, n_threads: int) -> Iterator[tuple[float, Callable]]:
        """Any machine: the matrix, or the part of it for other libraries' machines, as a precomputed kernel.

        For each C, the seconds and `scored(rows)`: the fitted estimator, and what it takes as X for these rows.
        """
        machine = along_a_path(self.machine, n_threads).set_params(kernel="precomputed")
        # Our machines ignore rows of weight 0. SVC drops them and then mistakes one row of a precomputed kernel for
        # another.
        whole = isinstance(machine, KernelExpansion)
        weight = np.zeros(self.n)
        weight[train] = self.weight[train]
        weights = {}
        if not whole and np.any(self.weight != 1):
            weights = dict(sample_weight=self.weight[train])
        part, y = (None, None) if whole else (self.K[np.ix_(train, train)], self.y[train])
        for C in Cs:
            begin = time.perf_counter()
            machine.set_params(C=C)
            if whole:
                machine.fit(self.K, self.y, sample_weight=weight)
            else:
                machine.fit(part, y, **weights)
            seconds = time.perf_counter() - begin

            def scored(rows: np.ndarray) -> tuple[Any, np.ndarray]:
                return machine, self.K[rows] if whole else self.K[np.ix_(rows, train)]

            yield seconds, scored


class RowFolds:
    """The same on the rows themselves: for machines without a kernel, for matrices too large for the memory, for rows
    that a fold has more than once, and for scores that need the machine and the rows themselves."""

    def __init__(self, machine: Any, X: Any, y: np.ndarray, weight: np.ndarray, n_threads: int, splits: list) -> None:
        self.machine, self.X, self.y, self.weight = machine, X, y, weight
        self.order = self.place = np.arange(len(y))
        self.pairwise = get_tags(machine).input_tags.pairwise
        self.value: Any = None

    def gamma(self, gamma: Any, train: np.ndarray) -> Any:
        return gamma

    def set_gamma(self, gamma: Any) -> None:
        self.value = gamma

    def by_code(self, train: np.ndarray, n_scores: int = 0, memory: float = np.inf) -> bool:
        return False

    def path(self, Cs: list, train: np.ndarray, n_threads: int) -> Iterator[tuple[float, Callable]]:
        machine = along_a_path(self.machine, n_threads)
        C_name, gamma_name = tuned_names(machine)
        machine.set_params(**{gamma_name: self.value})
        weights = {}
        if has_fit_parameter(machine, "sample_weight") and np.any(self.weight != 1):
            weights = dict(sample_weight=self.weight[train])
        X, y = self.rows(train, train), self.y[train]
        for C in Cs:
            begin = time.perf_counter()
            machine.set_params(**{C_name: C}).fit(X, y, **weights)
            yield time.perf_counter() - begin, lambda rows: (machine, self.rows(rows, train))

    def rows(self, rows: np.ndarray, train: np.ndarray) -> Any:
        return self.X[np.ix_(rows, train)] if self.pairwise else self.X[rows]
