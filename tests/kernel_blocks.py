"""Kernel blocks by the core, and the same by naive kernels."""

import numpy as np
import scipy.sparse as sp
from oracles import KERNELS, kernel_values

from polymargin import _core

KINDS = list(KERNELS)
TOLERANCE = {"float32": 4e-6, "float64": 1e-13}


def naive(A, B, *, kind, gammas=None, offset=0.0, **options):
    """The kernel matrix in float64 of a record as the core takes it."""
    options |= {} if gammas is None else {"gamma": gammas}
    return kernel_values(kind, np.asarray(A, float), np.asarray(B, float), **options) + offset


def all_rows(X):
    return np.arange(X[2].size - 1 if isinstance(X, tuple) else X.shape[0], dtype=np.int64)


def block(A, B, kernel, dtype="float64", n_jobs=1, rows=None, cols=None):
    rows = all_rows(A) if rows is None else np.asarray(rows, np.int64)
    cols = all_rows(B) if cols is None else np.asarray(cols, np.int64)
    return _core.kernel_block(A, B, kernel, rows, cols, dtype, n_jobs)


def csr(X, index=np.int32):
    S = sp.csr_array(X)
    S.sort_indices()
    return S.data, S.indices.astype(index), S.indptr.astype(index), S.shape[1]


def make(rng, n, d, dtype=np.float64, density=1.0):
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    return np.where(rng.random((n, d)) < density, X, 0).astype(dtype)


def kernel_of(kind):
    return dict(kind=kind, gamma=0.7, degree=3, coef0=0.5, offset=0.25)
