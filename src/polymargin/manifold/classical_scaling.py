"""Multidimensional scaling of path lengths, classical or from landmarks, and how well a picture preserves them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist

from ..smoothing.grnn import evenly, squared_distances, value_type

DENSE = 200  # rows up to which all eigenvalues are computed at once
ROWS_PER_EIGENVALUE = 50  # rows per eigenvalue up to which a dense solver is faster than Lanczos iterations
MEASURED_ROWS = 200  # rows that the two measures of quality look at, each against all rows
NEIGHBORS = 5  # of trustworthiness, as in scikit-learn


def centered(D: np.ndarray) -> np.ndarray:
    """B = -1/2 J D^2 J, J = I - 11'/n: dot products of points with the distances D, if such points exist."""
    B = np.square(D)
    rows, cols = B.mean(axis=1), B.mean(axis=0)
    B -= rows[:, None]
    B -= cols[None, :]
    B += rows.mean()
    B *= -0.5
    return B


def largest_eigenvalues(B: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The m largest positive eigenvalues, decreasing, and their vectors, each with its largest entry positive."""
    n = len(B)
    m = min(m, n)
    if n <= DENSE or ROWS_PER_EIGENVALUE * m > n:
        values, vectors = eigh(B, subset_by_index=[n - m, n - 1])
    else:
        values, vectors = eigsh(B, m, which="LA", v0=np.random.default_rng(0).normal(size=n), ncv=max(2 * m + 1, 20))
    order = np.argsort(-values)
    values, vectors = values[order], vectors[:, order]
    keep = max(1, int(np.sum(values > 1e-12 * max(values[0], 0.0))))
    values, vectors = np.maximum(values[:keep], 0.0), vectors[:, :keep]
    return values, vectors * signs(vectors)


def signs(vectors: np.ndarray) -> np.ndarray:
    top = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])]
    return np.where(top < 0, -1.0, 1.0)


def classical(D: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and coordinates, shape (n, m), from all path lengths D, shape (n, n)."""
    values, vectors = largest_eigenvalues(centered(D), m)
    return values, vectors * np.sqrt(values)


def from_landmarks(D: np.ndarray, landmarks: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The same from the path lengths of some rows to all, shape (n_landmarks, n) (de Silva and Tenenbaum 2004).

    Landmarks are scaled classically; any point has the coordinates that the squared lengths to the landmarks imply,
    -1/2 L^(-1/2) V' d^2 up to a constant. Finally the points are centered and rotated to their principal axes.
    """
    values, vectors = largest_eigenvalues(centered(D[:, landmarks]), m)
    safe = np.where(values > 0, values, 1.0)
    z = np.square(D).T @ (vectors * (-0.5 / np.sqrt(safe)))
    z -= z.mean(axis=0)
    values, axes = eigh(z.T @ z)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    z = z @ axes
    return values, z * signs(z)


def negative_share(D: np.ndarray) -> float:
    """Share of the negative eigenvalues in the sum of absolute values: 0 where D are distances in some space."""
    values = eigvalsh(centered(D))
    return float(-values[values < 0].sum() / max(np.abs(values).sum(), 1e-300))


def residual_variance(D: np.ndarray, rows: np.ndarray, z: np.ndarray) -> float:
    """1 - r^2, r the correlation of path lengths, D[r] from row rows[r] to all, with distances of the coordinates z."""
    some = evenly(len(rows), MEASURED_ROWS)
    lengths, distances = D[some], cdist(z[rows[some]], z)
    lengths, distances = lengths - lengths.mean(), distances - distances.mean()
    a, b = np.linalg.norm(lengths), np.linalg.norm(distances)
    return float(1 - np.vdot(lengths / a, distances / b) ** 2) if a > 0 and b > 0 else 0.0


def trustworthiness(X: Any, z: np.ndarray, n_threads: int) -> float:
    """1 minus the penalty for neighbors in z that are no neighbors in X, by their rank there (Venna and Kaski 2001)."""
    n = len(z)
    k = min(NEIGHBORS, (n - 1) // 2)
    if k < 1:
        return 1.0
    penalty = 0.0
    some = evenly(n, MEASURED_ROWS)
    dtype = value_type(n * len(some) * X.shape[1])
    for rows in np.array_split(some, 1 + len(some) * n // (1 << 22)):
        d2 = squared_distances(X, X, rows, np.arange(n), dtype, n_threads)
        close = cdist(z[rows], z)
        own = np.arange(len(rows)), rows
        d2[own], close[own] = -1.0, -1.0
        near = np.argpartition(close, k, axis=1)[:, : k + 1]
        near_d2 = np.take_along_axis(d2, near, axis=1)
        for c in range(k + 1):
            rank = (d2 < near_d2[:, [c]]).sum(axis=1)  # the row itself is before all: the nearest other has rank 1
            penalty += np.maximum(rank - k, 0).sum()
    return float(1 - penalty * 2 / (len(some) * k * (2 * n - 3 * k - 1)))
