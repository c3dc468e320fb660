"""How large values are: moments of columns, squares that exist, columns that outweigh others, rows at unit length."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

TINY_ROWS = 1e-3  # rows whose largest entry is below this are scaled to about 1 before their length is computed
OUTWEIGHED = 100  # a column this many times larger than the typical one dominates: 10,000 times in squares


def column_moments(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column, where a row of weight 2 counts as two rows.

    Blocks of rows are merged as in Chan, Golub and LeVeque (1979): one pass, no cancellation, no copy of the data.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = _column_moments(X, weight)
    if not np.all(np.isfinite(variance)):
        j = int(np.argmin(np.isfinite(variance)))
        raise too_large(np.abs(X[:, [j]]).max(), f"column {j} of X")
    if variance.max(initial=0.0) < 1e-300:
        check_squares(X)
    return mean, variance


def too_large(value: float, where: str) -> ValueError:
    """The error for numbers whose squares overflow."""
    return ValueError(
        f"expected X to hold numbers whose squares are finite, got {value:.3g} in {where}; "
        f"scale the data first, for example with StandardScaler"
    )


def check_squares(X: Any, least: float = 1e-150) -> Any:
    """X itself, unless squares of its numbers overflow or all of them vanish."""
    largest = float(abs(X).max()) if X.shape[0] else 0.0
    if largest > 1e150:
        raise too_large(largest, "X")
    if 0 < largest < least:
        problem = f"expected X to hold numbers whose squares do not vanish, got none above {largest:.3g}"
        raise ValueError(f"{problem}; scale the data first, for example with MinMaxScaler")
    return X


def unit_rows(X: Any) -> Any:
    """Rows of unit length; rows of zeros stay.

    scikit-learn's `normalize` takes lengths below some eps for zero: powers of two bring tiny rows near 1 first.
    """
    size = abs(X).max(axis=1)
    size = size.toarray().ravel() if sp.issparse(size) else np.asarray(size)
    tiny = np.flatnonzero((size > 0) & (size < TINY_ROWS))
    if len(tiny):
        power = np.zeros(len(size), dtype=np.int32)
        power[tiny] = -np.frexp(size[tiny])[1]
        X = X.copy() if sp.issparse(X) else np.ldexp(X, power[:, None])
        if sp.issparse(X):
            X.data = np.ldexp(X.data, np.repeat(power, np.diff(X.indptr)))
    return normalize(X)


def _column_moments(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, d = X.shape
    total, mean, spread = 0.0, np.zeros(d), np.zeros(d)
    size = max(1 << 18, d)  # numbers in a block
    step = max(1, size * n // (X.nnz + n) if sp.issparse(X) else size // d)
    for at in range(0, n, step):
        w = weight[at : at + step]
        share = w.sum()
        if share == 0:
            continue
        m = np.zeros(d)  # computed twice: the second pass removes the rounding errors of a long sum
        if sp.issparse(X):
            block = X[at : at + step]
            per_value = np.repeat(w, np.diff(block.indptr))
            absent = np.count_nonzero(w) - np.bincount(block.indices, per_value > 0, d)
            zeros = np.where(absent > 0, share - np.bincount(block.indices, per_value, d), 0.0)  # their weight
            for _ in range(2):
                rest = block.data - m[block.indices]
                m = m + (np.bincount(block.indices, per_value * rest, d) - zeros * m) / share
            s = np.bincount(block.indices, per_value * (block.data - m[block.indices]) ** 2, d) + zeros * m**2
        else:
            block = X[at : at + step].astype(np.float64)
            for _ in range(2):
                more = w @ block / share
                block -= more
                m += more
            s = w @ np.square(block, out=block)
        gap = m - mean
        spread += s + gap**2 * (total * share / (total + share))
        mean += gap * (share / (total + share))
        total += share
    return mean, spread / total


def warn_if_badly_scaled(X: Any, variance: np.ndarray, gammas: np.ndarray | None, name: str, stacklevel: int) -> None:
    """Warn when one column outweighs the usual one by more than 100 in any distance or dot product.

    Columns of two values are left out: a rare flag is small without being badly scaled. So is a rare word, which is why
    sparse columns are compared by their largest value.
    """
    factor = 1.0 if gammas is None else np.sqrt(gammas)
    scale = factor * np.sqrt(variance)
    if not outweighed(scale):
        return
    some = X[:10_000]
    if sp.issparse(X):
        peak = np.zeros(X.shape[1])
        np.maximum.at(peak, X.indices, np.abs(X.data))
        scale = np.where(scale > 0, factor * peak, 0.0)
        low, high = (m.toarray().ravel() for m in (some.min(axis=0), some.max(axis=0)))
        between = (some.data != low[some.indices]) & (some.data != high[some.indices])
        flags = (np.bincount(some.indices, between, X.shape[1]) == 0) & ((low == 0) | (high == 0))
    else:
        flags = ((some == some.min(axis=0)) | (some == some.max(axis=0))).all(axis=0)
    scale[flags] = 0
    if not outweighed(scale):
        return
    ratio = scale.max() / np.median(scale[scale > 0])
    scaler = "MaxAbsScaler()" if sp.issparse(X) else "StandardScaler()"
    warnings.warn(
        f"Column {int(np.argmax(scale))} of X is {ratio:.0f} times larger in scale than the usual column, "
        f"so the kernel sees little else and training is slow; scale the data first, "
        f"for example with make_pipeline({scaler}, {name}(...)).",
        UserWarning,
        stacklevel=stacklevel,
    )


def outweighed(scale: np.ndarray) -> bool:
    scale = scale[scale > 0]
    if len(scale) < 2 or scale.max() <= OUTWEIGHED * scale.min():
        return False
    return bool(scale.max() > OUTWEIGHED * np.median(scale))
