"""What a structured machine needs of its outputs, for classes and for a user's own joint feature map.

A machine scores an output z of x by <w, Psi(x, z)>. Per row, with delta the loss of z in place of y:

    margin rescaling   xi = max over z of  delta(y, z) - <w, Psi(x, y) - Psi(x, z)>
    slack rescaling    xi = max over z of  delta(y, z) (1 - <w, Psi(x, y) - Psi(x, z)>)

Either is a cut b - <g, w> with b = delta(y, z) and g = s (Psi(x, y) - Psi(x, z)), s = 1 or delta(y, z).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

SCORES_AT_ONCE = 1 << 20  # scores at a time, so that no array of rows and classes is built


class JointMap(Protocol):
    """A user's own outputs: pass an object with these methods as `StructuredSVC(joint_map=...)`.

    X and y reach it as they were passed to `fit`; w is an array of shape (size,), size the width of `features`.
    """

    def features(self, X: Any, y: Any) -> np.ndarray:
        """Psi(x_i, y_i) for every i, of shape (n, size)."""

    def loss(self, y: Any, z: Any) -> np.ndarray:
        """delta(y_i, z_i) >= 0 for every i, 0 where they are equal."""

    def most_violated(self, X: Any, y: Any, w: np.ndarray, rescaling: str) -> Any:
        """For every i the output with the largest loss as above; y_i itself has the loss 0."""

    def predict(self, X: Any, w: np.ndarray) -> Any:
        """For every i the output with the largest score."""


def largest_square(X: Any) -> float:
    """The largest squared length of a row, with a column of ones."""
    squares = X.power(2).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return 1.0 + float(np.max(squares))


def with_ones(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_array(sp.hstack((X, np.ones((X.shape[0], 1)))))
    return np.column_stack((X, np.ones(len(X), dtype=X.dtype)))


@dataclass
class Classes:
    """Outputs that are classes: Psi(x, c) is x in the place of class c, a block of zeros in all others."""

    X: Any  # with a column of ones for a regularized intercept
    y: np.ndarray
    loss: np.ndarray  # delta, shape (n_classes, n_classes)
    rescaling: str

    @property
    def size(self) -> int:
        return len(self.loss) * self.X.shape[1]

    def look(self, w: np.ndarray) -> tuple[np.ndarray, Any]:
        """xi of every row, and its most violated class, delta and s."""
        W, step = w.reshape(len(self.loss), -1), max(1, SCORES_AT_ONCE // len(self.loss))
        parts = [self._look(self.X[at : at + step], self.y[at : at + step], W) for at in range(0, len(self.y), step)]
        xi, *found = (np.concatenate(part) for part in zip(*parts, strict=True))
        return xi, tuple(found)

    def _look(self, X: Any, y: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, ...]:
        i, F, delta = np.arange(len(y)), np.asarray(X @ W.T), self.loss[y]
        F -= F[i, y][:, None]
        H = delta * (1 + F) if self.rescaling == "slack" else delta + F
        z = np.argmax(H, axis=1)
        xi = np.maximum(H[i, z], 0.0)
        b = np.where(xi > 0, delta[i, z], 0.0)
        return xi, z, b, np.where(xi > 0, b if self.rescaling == "slack" else 1.0, 0.0)

    def summed(self, found: Any, weight: np.ndarray) -> tuple[np.ndarray, float]:
        """The cuts of all rows, weighted and added up."""
        z, b, s = found
        n, T = len(self.y), len(self.loss)
        signs = sp.csr_array(
            (np.concatenate((weight * s, -weight * s)), (np.concatenate((self.y, z)), np.tile(np.arange(n), 2))),
            shape=(T, n),
        )
        g = signs @ self.X
        return (g.toarray() if sp.issparse(g) else g).ravel(), float(weight @ b)

    def single(self, found: Any, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cuts of some rows, one after another."""
        z, b, s = (part[which] for part in found)
        rows = self.X[which]
        rows = (rows.toarray() if sp.issparse(rows) else rows) * s[:, None]
        g = np.zeros((len(which), len(self.loss), self.X.shape[1]))
        k = np.arange(len(which))
        g[k, self.y[which]] += rows
        g[k, z] -= rows
        return g.reshape(len(which), self.size), b


@dataclass
class Mapped:
    """Outputs of a user's own joint map."""

    map: JointMap
    X: Any
    y: Any
    rescaling: str

    def __post_init__(self) -> None:
        self.own = self.map.features(self.X, self.y)
        self.size = self.own.shape[1]

    def look(self, w: np.ndarray) -> tuple[np.ndarray, Any]:
        z = self.map.most_violated(self.X, self.y, w, self.rescaling)
        b = np.asarray(self.map.loss(self.y, z), dtype=np.float64)
        if np.any(b < 0) or b.shape != (self.own.shape[0],):
            raise ValueError(
                f"expected joint_map.loss to return numbers >= 0 of shape ({self.own.shape[0]},), got shape "
                f"{b.shape} and a least value of {b.min():g}"
            )
        gap = self.own - self.map.features(self.X, z)
        gap = gap.toarray() if sp.issparse(gap) else np.asarray(gap, dtype=np.float64)
        s = b if self.rescaling == "slack" else np.ones(len(b))
        xi = b - s * (gap @ w)
        used = xi > 0
        return np.where(used, xi, 0.0), (gap * (s * used)[:, None], b * used)

    def summed(self, found: Any, weight: np.ndarray) -> tuple[np.ndarray, float]:
        g, b = found
        return weight @ g, float(weight @ b)

    def single(self, found: Any, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g, b = found
        return g[which], b[which]


def one_slack(outputs: Any, weight: np.ndarray) -> Any:
    """The oracle whose only group is the weighted sum over the rows."""

    def oracle(w: np.ndarray) -> tuple:
        xi, found = outputs.look(w)

        def cuts(_: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            g, b = outputs.summed(found, weight)
            return g[None, :], np.array([b])

        return np.array([weight @ xi]), np.zeros(1, dtype=np.int64), cuts

    return oracle


def n_slack(outputs: Any) -> Any:
    """The oracle with a group per row."""

    def oracle(w: np.ndarray) -> tuple:
        xi, found = outputs.look(w)
        return xi, np.flatnonzero(xi > 0), lambda which: outputs.single(found, which)

    return oracle
