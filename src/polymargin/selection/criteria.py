r"""Radius-margin criteria for multiclass machines and their gradients (Wang, Xue and Chan 2008).

With K + I/C in place of K (squared hinge, C/2 sum xi^2), a pair of classes i, j has the margin 1/||w_ij|| (eq. 3), and
the classes have enclosing balls (eq. 2), R_ij of a pair and R_c of all:

    I   = sum_{i<j} c_ij R_ij^2 ||w_ij||^2                              (eq. 15)
    II  = R_c^2 / sum_{i<j} c_ij P_i P_j / ||w_ij||^2                   (eq. 26, 27)

c_ij are costs (1 if not given), P_i the shares of the classes. With u = ln C, v_t = ln g_t, a and b the solutions,
s = +1, -1 the two classes:

    dR^2/du    = -(1 - b'b) / C             d||w||^2/du    = a'a / C
    dR^2/dv_t  = g_t sum_ij b_i b_j (x_it - x_jt)^2 k_ij
    d||w||^2/dv_t = g_t sum_ij a_i a_j s_i s_j (x_it - x_jt)^2 k_ij

A criterion is a function of all ||w||^2 and R^2, so its gradient needs one such double sum, with the weights
S = sum_p (df/d||w_p||^2 a_p a_p' + df/dR_p^2 b_p b_p').
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core, kernels
from ..fitting.examples import segments_of
from .distances import rbf, squared_distances

MAX_STEPS = 10_000_000  # of one inner problem
SERIAL_ROWS = 300  # rows


def criterion_one(w2: np.ndarray, R2: np.ndarray, cost: np.ndarray, share: np.ndarray) -> tuple:
    """Value, and its derivatives by ||w||^2 and R^2 of every pair."""
    return float(cost @ (R2 * w2)), cost * R2, cost * w2


def criterion_two(w2: np.ndarray, R2: np.ndarray, cost: np.ndarray, share: np.ndarray) -> tuple:
    """Value, and its derivatives by ||w||^2 of every pair and by the one R^2."""
    margin = float(cost * share @ (1 / w2))
    return float(R2[0] / margin), R2[0] / margin**2 * cost * share / w2**2, np.array([1 / margin])


# name -> the criterion as a function of ||w||^2 and R^2, and whether every pair has its own ball (else one for all)
CRITERIA = {"I": (criterion_one, True), "II": (criterion_two, False)}


@dataclass(frozen=True)
class CriterionForm:
    """A criterion without its rows."""

    criterion: str  # "I" or "II"
    ellipsoidal: bool = False  # whether gamma has one number per feature
    costs: np.ndarray | None = None  # (T, T), of confusing two classes; only c_ij + c_ji matters
    tol: float = 1e-4  # of the inner problems, relative to the margin and to R^2


class Criterion:
    """A criterion on one set of rows, at any C and gamma: each evaluation starts from the solutions of the last one.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Classes 0 .. T - 1, each of them there.
    weight : ndarray of shape (n,)
        Positive weights of the rows: 2 is a repeated row.
    form : CriterionForm
    n_threads : int

    After a call, `w2` and `R2` are ||w||^2 of every pair and R^2 of every ball.
    """

    def __init__(self, X: Any, y: np.ndarray, weight: np.ndarray, form: CriterionForm, n_threads: int = 1) -> None:
        n_threads = 1 if len(y) <= SERIAL_ROWS else n_threads  # waking threads would cost more than they save
        order = np.argsort(y, kind="stable")
        T = int(y.max()) + 1
        self.function, each_pair = CRITERIA[form.criterion]
        self.pairs = np.array(list(combinations(range(T), 2)), dtype=np.int64)
        i, j = self.pairs.T
        self.cost = np.ones(len(i)) if form.costs is None else 0.5 * (form.costs[i, j] + form.costs[j, i])
        share = np.bincount(y, weight) / weight.sum()
        self.share = share[i] * share[j]
        balls = list(self.pairs) if each_pair else [np.arange(T)]
        problems = [(pair, True) for pair in self.pairs] + [(ball, False) for ball in balls]
        self.inner = _core.InnerProblems(segments_of(y, T), problems, 1 / weight[order], n_threads)
        self.ellipsoidal, self.tol, self.n_threads = form.ellipsoidal, form.tol, n_threads
        self.D: np.ndarray | Any = None  # squared distances: spherical only
        X = X[order]
        if form.ellipsoidal:
            X = X.toarray() if sp.issparse(X) else X
            self.X = np.ascontiguousarray(X - X.mean(axis=0), dtype=np.float64)
        else:
            self.D = squared_distances(X)
        self.n, self.d = X.shape
        self.K = np.empty((self.n, self.n))  # room for kernel values
        self.deadline = np.inf
        self.status = "solved"

    def parameters(self, point: np.ndarray) -> tuple[float, Any]:
        """C and gamma (or all gammas) of a point (ln C, ln gamma, ...)."""
        return float(np.exp(point[0])), np.exp(point[1:]) if self.ellipsoidal else float(np.exp(point[1]))

    def __call__(self, C: float, gamma: Any) -> tuple[float, np.ndarray]:
        """The criterion and its gradient by ln C and by ln gamma (or by every ln gamma_t).

        Where an inner problem was stopped, `status` says so and the numbers are those of the points reached.
        """
        ridge, m = 1 / C, len(self.pairs)
        if self.ellipsoidal:
            kernel = kernels.Kernel("rbf", np.asarray(gamma, dtype=np.float64)).record()
            _core.fill_gram(self.X, kernel, np.arange(self.n), self.K, self.n_threads)
        else:
            rbf(self.D, gamma, self.K, self.n_threads)
        left = self.deadline - time.monotonic()
        out = self.inner.solve(self.K, ridge, self.tol, MAX_STEPS, max(left, 0.0))
        self.status, self.n_steps = out["status"], out["n_steps"]
        q, squares = out["minimum"], out["squares"]
        self.w2, self.R2 = w2, R2 = 4 / q[:m], 1 + ridge - q[m:]
        value, by_w2, by_R2 = self.function(w2, R2, self.cost, self.share)
        # a = 2 z / q, so a_i a_j is z_i z_j w2 / q.
        weight = np.concatenate([by_w2 * w2 / q[:m], by_R2])
        by_u = ridge * (weight[:m] @ squares[:m] - by_R2 @ (1 - squares[m:]))
        if not self.ellipsoidal:
            return value, np.array([by_u, gamma * self.inner.weighted_sum(self.K, self.D, weight)])
        by_v = gamma * self.inner.feature_sums(self.K, self.X, weight)
        return value, np.concatenate([[by_u], by_v])


def criterion_of(search: Any, X: Any, y: Any, sample_weight: Any = None) -> Criterion:
    """The function that a RadiusMarginSearch would minimize on these rows."""
    return search._problem(X, y, sample_weight)[0]
