"""Many fits on one Gram matrix: training sets are index sets on it, and C runs along a path of warm starts.

Rows are sorted by class. A row that a fit leaves out has weight 0 (or, for binary machines by code, the bounds 0), so
no part of the matrix is ever copied, and scores of the other rows are read off the same matrix.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from . import _core, kernels
from .best_estimator import tuned_names
from .checks import class_weights, column_moments
from .code_machines import CodeClassifier
from .distances import rbf, squared_distances
from .machines import LOSSES

PADDING = 16  # values after the matrix that vector code may read


class Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose class scores on the rows at hand are known already."""

    def __init__(self, model: CodeClassifier, F: np.ndarray) -> None:
        self.model, self.F = model, F
        self.classes_ = model.classes_

    def decision_function(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2 and self.F.shape[1] == 1:
            return self.F[:, 0] * float(self.model.code_[1, 0])
        S = self.model._decide(self.F)
        return S[:, 1] - S[:, 0] if len(self.classes_) == 2 else S

    def predict(self, X: Any) -> np.ndarray:
        S = self.decision_function(X)
        return self.classes_[(S > 0).astype(int) if S.ndim == 1 else S.argmax(axis=1)]

    def score(self, X: Any, y: np.ndarray) -> float:
        return float(np.mean(self.predict(X) == y))


class GramFolds:
    """The rows of one search, and the Gram matrix of the gamma in turn.

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
        For Gram matrices.
    """

    def __init__(self, machine: Any, X: Any, y: np.ndarray, weight: np.ndarray, n_threads: int) -> None:
        self.machine, self.n_threads = machine, n_threads
        self.order = np.argsort(y, kind="stable")
        self.X, self.y, self.weight = X[self.order], y[self.order], weight[self.order]
        self.n = len(y)
        self.place = np.empty(self.n, dtype=np.int64)
        self.place[self.order] = np.arange(self.n)
        self.settings = machine.get_params(deep=False)
        self.kernel = self.settings["kernel"]
        self.D = squared_distances(self.X) if self.kernel == "rbf" else None
        self.values = np.zeros(self.n**2 + PADDING)
        self.K = self.values[: self.n**2].reshape(self.n, self.n)

    def gamma(self, gamma: Any, train: np.ndarray) -> Any:
        """What a gamma stands for when these rows are trained on."""
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
            record = kernels.record(
                self.kernel, gamma, self.settings.get("degree", 3), self.settings.get("coef0", 0.0), self.X, self.X
            )
            self.K[:] = _core.gram(kernels.as_data(self.X), record, np.arange(self.n), "float64", self.n_threads)

    def path(self, Cs: np.ndarray, train: np.ndarray, n_threads: int, stop: Callable) -> Iterator[tuple[float, Any]]:
        """Fit on some rows at each C: yields the seconds and `scored(rows)`, a fitted estimator and what it takes as X.

        `train` are increasing places in the sorted order.
        """
        if isinstance(self.machine, CodeClassifier) and len(np.unique(self.y[train])) == len(np.unique(self.y)):
            return self._code_path(Cs, train, n_threads, stop)
        return self._precomputed_path(Cs, train, n_threads)

    def _code_path(self, Cs, train, n_threads, stop):
        """Binary machines by code: all columns by one solver, which holds the matrix."""
        machine = clone(self.machine)
        classes, index = np.unique(self.y, return_inverse=True)
        machine.classes_, machine.code_ = classes, machine._code(len(classes))
        segments = np.concatenate([[0], np.cumsum(np.bincount(index))]).astype(np.int64)
        core = _core.CodeSolver.held(self.values, segments, n_threads)
        w = self.weight[train]
        weight = np.zeros(self.n)
        weight[train] = w * class_weights(machine.class_weight, classes, index[train], w)[index[train]]
        form, used, start = LOSSES[machine.loss], weight > 0, None
        code = np.ascontiguousarray(machine.code_)
        limit = np.inf if machine.time_limit is None else machine.time_limit
        for C in Cs:
            begin = time.perf_counter()
            upper = C * weight if form.box else np.where(used, np.inf, 0.0)
            ridge = np.divide(1 / C, weight, out=np.zeros(self.n), where=used) if form.ridge else np.zeros(self.n)
            out = core.solve(code, upper, ridge, start, machine.tol, machine.max_iter, limit, lambda *_: stop())
            if stop():
                return
            if out["status"] != "solved":
                warnings.warn(
                    f"A fit at C={C:g} ended with status {out['status']!r}.", ConvergenceWarning, stacklevel=2
                )
            start = out["indptr"], out["indices"], out["values"]
            seconds = time.perf_counter() - begin

            def scored(rows, out=out, start=start):
                return Scored(machine, core.scores(*start, out["bias"], rows)), None

            yield seconds, scored

    def _precomputed_path(self, Cs, train, n_threads):
        """Any machine: the matrix as a precomputed kernel, and weight 0 for rows that are left out."""
        machine = clone(self.machine).set_params(kernel="precomputed")
        if "warm_start" in self.settings:
            machine.set_params(warm_start=True)
        if "n_jobs" in self.settings:
            machine.set_params(n_jobs=n_threads)
        weighted = has_fit_parameter(machine, "sample_weight")
        weight = np.zeros(self.n)
        weight[train] = self.weight[train]
        for C in Cs:
            begin = time.perf_counter()
            machine.set_params(C=C)
            if weighted:
                machine.fit(self.K, self.y, sample_weight=weight)
            else:
                machine.fit(self.K[np.ix_(train, train)], self.y[train])
            seconds = time.perf_counter() - begin

            def scored(rows):
                return machine, self.K[rows] if weighted else self.K[np.ix_(rows, train)]

            yield seconds, scored


class RowFolds:
    """The same on the rows themselves, for machines without a kernel matrix and for matrices too large for the memory."""

    def __init__(self, machine: Any, X: Any, y: np.ndarray, weight: np.ndarray, n_threads: int) -> None:
        self.machine, self.X, self.y, self.weight = machine, X, y, weight
        self.order = self.place = np.arange(len(y))
        self.settings = machine.get_params(deep=True)
        self.value: Any = None

    def gamma(self, gamma: Any, train: np.ndarray) -> Any:
        return gamma

    def set_gamma(self, gamma: Any) -> None:
        self.value = gamma

    def path(self, Cs, train, n_threads, stop):
        machine = clone(self.machine)
        C_name, gamma_name = tuned_names(machine)
        machine.set_params(**{gamma_name: self.value})
        if "warm_start" in self.settings:
            machine.set_params(warm_start=True)
        if "n_jobs" in self.settings:
            machine.set_params(n_jobs=n_threads)
        weights = {}
        if has_fit_parameter(machine, "sample_weight") and np.any(self.weight != 1):
            weights = dict(sample_weight=self.weight[train])
        X, y = self.X[train], self.y[train]
        for C in Cs:
            begin = time.perf_counter()
            machine.set_params(**{C_name: C}).fit(X, y, **weights)
            yield time.perf_counter() - begin, lambda rows: (machine, self.X[rows])
