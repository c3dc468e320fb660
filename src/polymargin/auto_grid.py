"""The grid that AutoSVC searches, the rows it searches on, and the point it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

PATTERN_C = 2.0 ** np.arange(-2, 13, 2)
PATTERN_GAMMA = 2.0 ** np.arange(-8, 7, 2)  # times 1 / (number of columns)


def steadiest(results: Any) -> dict[str, float]:
    """C and gamma with the best score; of equals, which few rows have many of, the one with the best neighbours."""
    score = {
        (float(p["C"]), float(p["gamma"])): s
        for p, s in zip(results["params"], results["mean_test_score"], strict=True)
    }
    C, gamma = (np.unique([key[k] for key in score]) for k in (0, 1))
    F = np.array([[score[c, g] for g in gamma] for c in C])
    F = np.where(np.isnan(F), np.nanmin(F), F)
    near, w = np.pad(F, 2, constant_values=F.min()), (1, 2, 3, 2, 1)  # beyond the edge of the grid is no good neighbour
    near = sum(w[i] * w[j] * near[i : i + len(C), j : j + len(gamma)] for i in range(5) for j in range(5))
    i, j = np.unravel_index(np.argmax(np.where(F.max() - 1e-12 <= F, near, -np.inf)), F.shape)
    return {"C": float(C[i]), "gamma": float(gamma[j])}


def sample_of(index: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most so many rows, the same share of every class and at least two of each that has them."""
    if len(index) <= most:
        return np.arange(len(index))
    picked = []
    for c in range(index.max() + 1):
        rows = np.flatnonzero(index == c)
        picked.append(rng.permutation(rows)[: max(2, round(most * len(rows) / len(index)))])
    return np.sort(np.concatenate(picked))


def take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
