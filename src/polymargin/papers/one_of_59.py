"""The multiclass core vector machine step by step as Asharaf et al. (2007) print it, section 4.3.

The core set begins with one random row of each class. In every step 59 random rows are drawn, and the one farthest from
the center of the ball around the core set joins it. If none of the 59 lies outside (1 + epsilon) times the
radius, all rows are looked at: the farthest joins, or the search ends. Unlike CoreVectorSVC, which takes 59 rows for
every eight core vectors and keeps no row without weight, this is a reference to compare with.

The ball of a core set is min_a a'Qa over the simplex, Q = <v_y, v_y'> k(x, x') + [i = j] nu n, whose diagonal is one
number: a = s Q^-1 1 where no entry of it is negative, a problem of nonnegative least squares where one is.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

SAMPLE = 59
BLOCK = 20_000  # rows of a pass over all of them


class OneOf59:
    """Fitted by one farthest row of 59 per step; predicts the class of the largest <v_c, W phi(x)>."""

    def __init__(self, nu: float, epsilon: float, gamma: float, random_state: int = 0) -> None:
        self.nu, self.epsilon, self.gamma, self.random_state = nu, epsilon, gamma, random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> OneOf59:
        rng = np.random.default_rng(self.random_state)
        self.classes_, index = np.unique(y, return_inverse=True)
        self.core_ = [int(rng.choice(np.flatnonzero(index == c))) for c in range(len(self.classes_))]
        self.X_, self.index_, self.ridge_ = X, index, self.nu * len(y)
        ball = Ball(self.products(self.core_, self.core_) + self.ridge_ * np.eye(len(self.core_)))
        while True:
            drawn = np.setdiff1d(rng.integers(len(y), size=SAMPLE), self.core_)
            nearness = self.products(drawn, self.core_) @ ball.weights if len(drawn) else np.array([np.inf])
            if not ball.outside(nearness.min(), self.epsilon):
                drawn = np.setdiff1d(np.arange(len(y)), self.core_)
                parts = np.array_split(drawn, len(drawn) // BLOCK + 1)
                nearness = np.concatenate([self.products(part, self.core_) @ ball.weights for part in parts])
                if not ball.outside(nearness.min(), self.epsilon):
                    break
            new = int(drawn[nearness.argmin()])
            ball.join(self.products([new], self.core_)[0])
            self.core_.append(new)
        self.status_ = "epsilon"
        self.dual_coef_, self.n_support_ = ball.weights, np.bincount(index[self.core_])
        return self

    def products(self, rows: np.ndarray | list[int], core: list[int]) -> np.ndarray:
        """Q between rows and core vectors, without the ridge."""
        other = -1 / (len(self.classes_) - 1)
        same = self.index_[rows][:, None] == self.index_[core]
        return np.where(same, 1.0, other) * np.exp(-self.gamma * cdist(self.X_[rows], self.X_[core], "sqeuclidean"))

    def predict(self, X: np.ndarray) -> np.ndarray:
        T, core = len(self.classes_), self.core_
        codes = np.where(np.eye(T, dtype=bool), 1.0, -1 / (T - 1))[self.index_[core]] * self.dual_coef_[:, None]
        parts = np.array_split(X, len(X) // BLOCK + 1)
        scores = [np.exp(-self.gamma * cdist(part, self.X_[core], "sqeuclidean")) @ codes for part in parts]
        return self.classes_[np.concatenate(scores).argmax(axis=1)]

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean(self.predict(X) == y))


class Ball:
    """The ball of a core set that grows by one row at a time; Q = LL' is kept as its factor."""

    def __init__(self, Q: np.ndarray) -> None:
        self.diagonal, self.size = Q[0, 0], len(Q)
        self.factor = np.zeros((4 * self.size, 4 * self.size))
        self.factor[: self.size, : self.size] = np.linalg.cholesky(Q)
        self.solve()

    def join(self, q: np.ndarray) -> None:
        """A row whose products with the core set are q."""
        n = self.size
        if n == len(self.factor):
            self.factor = np.pad(self.factor, (0, n))
        row = solve_triangular(self.factor[:n, :n], q, lower=True)
        self.factor[n, :n], self.factor[n, n] = row, np.sqrt(self.diagonal - row @ row)
        self.size = n + 1
        self.solve()

    def solve(self) -> None:
        L = self.factor[: self.size, : self.size]
        half = solve_triangular(L, np.ones(self.size), lower=True)
        a = solve_triangular(L.T, half, lower=False)
        if a.min() < 0:
            a = nnls(L.T, half)[0]
        self.weights = a / a.sum()
        self.value = float(np.sum((L.T @ self.weights) ** 2))  # a'Qa, the squared length of the center

    def outside(self, nearness: float, epsilon: float) -> bool:
        """Whether a row whose product with the center is given lies outside of (1 + epsilon) times the radius."""
        radius = self.diagonal - self.value
        return self.diagonal - 2 * nearness + self.value > (1 + epsilon) ** 2 * radius
