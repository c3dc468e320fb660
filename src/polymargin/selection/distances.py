"""Squared distances, computed once, and the Gram matrices that any number of gammas make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..fitting.scales import too_large


def squared_distances(X: Any) -> np.ndarray:
    """All ||x_i - x_j||^2, shape (n, n), in float64; dense rows are centered first, which keeps digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            X = X.astype(np.float64)
            D = (X @ X.T).toarray()
        else:
            X = np.asarray(X, dtype=np.float64)
            X = X - X.mean(axis=0)
            D = X @ X.T
    norms = D.diagonal().copy()
    if not np.all(norms < np.finfo(float).max / 4):
        raise too_large(np.abs(X).max(), "X")
    D *= -2
    D += norms[:, None]
    D += norms
    np.maximum(D, 0, out=D)
    np.fill_diagonal(D, 0)
    return D


def rbf(D: np.ndarray, gamma: float, out: np.ndarray, n_threads: int) -> np.ndarray:
    """exp(-gamma D) in `out`."""
    _core.rbf_of_distances(D, float(gamma), out, n_threads)
    return out
