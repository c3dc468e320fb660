"""Kernels by name and parameters, as the core takes them.

rbf         exp(-gamma ||x - z||^2), or exp(-sum_t gamma_t (x_t - z_t)^2) with one gamma per feature
linear      <x, z>                          poly       (gamma <x, z> + coef0)^degree
sigmoid     tanh(gamma <x, z> + coef0)      cosine     <x, z> / (||x|| ||z||)
laplacian   exp(-gamma ||x - z||_1)         precomputed, or any callable k(X, Z)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from scipy.linalg import lapack

from . import _core


@dataclass(frozen=True)
class Traits:
    """What is true of a kernel.

    ``bounded``: |k| <= 1. ``unit``: k(x, x) = 1 for every row. ``growing``: with the rows, so that values may overflow.
    ``definite``: positive semidefinite; poly is where coef0 >= 0.
    """

    gamma: bool = False
    bounded: bool = False
    unit: bool = False
    growing: bool = False
    definite: bool = True


TRAITS = {
    "rbf": Traits(gamma=True, bounded=True, unit=True),
    "linear": Traits(growing=True),
    "poly": Traits(gamma=True, growing=True, definite=False),
    "sigmoid": Traits(gamma=True, definite=False),
    "cosine": Traits(bounded=True),
    "laplacian": Traits(gamma=True, bounded=True, unit=True),
}
BY_NAME = tuple(TRAITS)
KERNELS = (*BY_NAME, "precomputed")
HAS_GAMMA = tuple(name for name, true in TRAITS.items() if true.gamma)
BOUNDED = tuple(name for name, true in TRAITS.items() if true.bounded)
UNIT_DIAGONAL = tuple(name for name, true in TRAITS.items() if true.unit)
GROWING = tuple(name for name, true in TRAITS.items() if true.growing)
DEFINITE = tuple(name for name, true in TRAITS.items() if true.definite)
DIRECT = 16  # features, as in core/kernels/kernel_rows.cpp
OVERFLOW = "scale the columns of X, or lower gamma, degree or coef0"
GIVEN = 1e-12  # relative error of given values: a distance from norms and products of rows 100 deviations from zero
ENDLESS = 1e100  # a coefficient of this size is on its way to infinity


def kind(kernel: str | Callable) -> str:
    return kernel if isinstance(kernel, str) else "callable"


def resolve_gamma(
    kernel: str | Callable, gamma: Any, mean: np.ndarray | Any, variance: np.ndarray | Any, d: int
) -> Any:
    """The number, or the array with one number per feature, that gamma stands for; None for kernels without gamma.

    "scale" is 1 / (d var), var the variance of all entries of X: their spread around one common mean, weights counting
    as repetitions; 1 when all entries are equal. "auto" is 1 / d.
    """
    if kind(kernel) not in HAS_GAMMA:
        return None
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / d
        center = mean.mean()
        var = float((variance + (mean - center) ** 2).mean())
        # Equal entries leave a variance of rounding size, not always zero.
        return 1.0 / (d * var) if var > (4 * np.finfo(float).eps * abs(center)) ** 2 else 1.0
    if np.ndim(gamma) == 0:
        return float(gamma)
    if kernel != "rbf":
        raise ValueError(
            f'expected kernel="rbf" with an array of gammas, one per feature, got kernel="{kernel}"; pass one number'
        )
    gammas = np.array(gamma, dtype=np.float64)
    if gammas.shape != (d,):
        raise ValueError(f"expected gamma to hold one number per feature, shape ({d},), got shape {gammas.shape}")
    if not (np.all(np.isfinite(gammas)) and np.all(gammas >= 0) and np.any(gammas > 0)):
        raise ValueError(
            f"expected gamma to hold numbers >= 0, not all of them 0, got {gammas.min():g} to {gammas.max():g}; "
            f"a gamma of 0 drops a feature"
        )
    return gammas


@dataclass(frozen=True)
class Kernel:
    """A kernel by name, or a callable, and its parameters; gamma is a number, one per feature, or None."""

    name: str | Callable
    gamma: Any = None
    degree: int = 3
    coef0: float = 0.0

    @classmethod
    def of(cls, model: Any) -> Kernel:
        """The kernel of an estimator that knows what its gamma stands for."""
        return cls(model.kernel, model.gamma_, model.degree, model.coef0)

    def record(self, A: Any = None, B: Any = None, numbered: bool = True) -> dict[str, Any]:
        """The kernel as the core takes it; A and B are the rows that a callable kernel is evaluated on.

        `numbered`: whether their row numbers are the ones that the user knows.
        """
        per_feature = np.ndim(self.gamma) == 1
        return {
            "kind": kind(self.name),
            "gamma": 1.0 if self.gamma is None or per_feature else float(self.gamma),
            "gammas": self.gamma if per_feature else None,
            "degree": int(self.degree),
            "coef0": float(self.coef0),
            "offset": 0.0,
            "call": blocks(self.name, A, B, numbered) if callable(self.name) else None,
        }


LINEAR = Kernel("linear").record()


def blocks(kernel: Callable, A: Any, B: Any, numbered: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A callable kernel on some rows of A and some of B; its values are checked here, once for all users."""

    def call(rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        K = np.ascontiguousarray(kernel(as_given(A[rows]), as_given(B[cols])), dtype=np.float64)
        if K.shape != (len(rows), len(cols)):
            raise ValueError(
                f"expected the callable kernel to return an array of shape ({len(rows)}, {len(cols)}), got "
                f"{K.shape}; return one row per row of its first argument and one column per row of its second"
            )
        if not np.isfinite(K).all():
            i, j = np.argwhere(~np.isfinite(K))[0]
            raise ValueError(
                f"expected the callable kernel to return finite numbers, got {K[i, j]} for "
                f"{named(A, rows[i], numbered)} and {named(B, cols[j], numbered)}; drop such rows, or fix the kernel"
            )
        return K

    return call


def as_given(X: Any) -> Any:
    """Rows as the user has them: things other than numbers are kept in one column of objects."""
    return X[:, 0] if X.dtype.kind == "O" else X


def named(X: Any, i: int, numbered: bool) -> str:
    """A row as a message names it: its first values and, unless it comes from a part of the data, its row number."""
    x = X[[i]].toarray()[0] if sp.issparse(X) else np.asarray(X[i])
    shown = [f"{value:g}" if isinstance(value, Real) else repr(value)[:40] for value in x[:4]]
    numbers = ", ".join(shown) + (", ..." if len(x) > 4 else "")
    return f"row {i} ({numbers})" if numbered else f"the row ({numbers})"


def indefinite(X: Any, rows: np.ndarray, kernel: dict[str, Any], zero_sums: bool = False) -> bool:
    """Whether a kernel is indefinite on a sample of these rows, beyond the rounding of its values.

    Then the problem is not convex, and no pair of primal and dual values is a certificate: a curvature that is tiny
    beside a large constant part still counts where coefficients are large. `zero_sums`: coefficients have fixed sums,
    so that only differences of feature vectors count.
    """
    kind = kernel["kind"]
    definite = kind in DEFINITE or (kind == "poly" and kernel["coef0"] >= 0)
    if definite or sklearn.get_config()["assume_finite"]:  # the user vouches for the data
        return False
    most = 256 if kind == "callable" else 1024
    some = np.ascontiguousarray(rows[:: max(1, -(-len(rows) // most))], dtype=np.int64)
    K = _core.gram(as_data(X), kernel | {"offset": 0.0}, some, "float64", 1)
    relative = value_error(K, kind)
    K += kernel["offset"]
    # Independent errors of the values have a spectral norm of 2 sqrt(n) of them. Those of the factorization are at most
    # n eps of the diagonal each, and add up likewise to about n eps.
    n, largest = len(K), float(np.abs(K).max())
    error = (4 * np.sqrt(n) * relative + 16 * n * float(np.finfo(float).eps)) * largest
    K += K.T
    if zero_sums:
        K -= K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
    K.flat[:: n + 1] += 2 * error + 1e-300
    return bool(lapack.dpotrf(K, lower=True, overwrite_a=True, clean=False)[1] > 0)


def value_error(K: np.ndarray, kind: str) -> float:
    """The relative error of kernel values: they are ours, or given and then perhaps once float32."""
    if kind not in ("precomputed", "callable"):
        return 0.0  # some eps of float64, less than a factorization adds
    with np.errstate(over="ignore"):
        single = np.array_equal(K, K.astype(np.float32))
    return float(np.finfo(np.float32).eps) if single else GIVEN


def check_values(X: Any, rows: np.ndarray, kernel: dict[str, Any]) -> None:
    """Refuse rows whose kernel values overflow."""
    if kernel["kind"] not in GROWING:
        return
    k = _core.diagonal(as_data(X), kernel, np.ascontiguousarray(rows, dtype=np.int64), "float64")
    if not np.all(np.isfinite(k)):
        i = int(np.argmin(np.isfinite(k)))
        raise ValueError(f"expected finite kernel values, got {k[i]:g} for row {rows[i]} with itself; {OVERFLOW}")


def check_solution(kernel: str | Callable, *numbers: np.ndarray) -> None:
    """Refuse a solution that diverges: the dual of a squared loss is unbounded where Q is indefinite."""
    # Millions of columns have as many biases, so no copy is made. NaN fails both comparisons.
    if not all(x.min(initial=0.0) > -ENDLESS and x.max(initial=0.0) < ENDLESS for x in numbers):
        raise ValueError(
            f"expected the problem to have a solution, got coefficients that grow without end; kernel={kernel!r} is "
            "indefinite on these rows, and the squared hinge has no minimum; use a positive semidefinite kernel, "
            "or loss='hinge'"
        )


def indefinite_advice(kernel: str | Callable) -> str:
    return (
        f"kernel={kernel!r} is indefinite on these rows, so the problem is not convex: the model is a stationary point "
        f"of it, and duality_gap_ is infinite; use a positive semidefinite kernel"
    )


def some_of(rows: np.ndarray) -> np.ndarray:
    """About a thousand of the rows, evenly spaced, to judge all of them by."""
    return rows[:: max(1, len(rows) // 1024)]


def float32_error(X: Any, rows: np.ndarray, kernel: dict[str, Any]) -> float:
    """The approximate largest error of a kernel value between rows of X when it is computed in float32."""
    return float(float32_errors(X, rows, kernel).max(initial=0.0))


def float32_errors(X: Any, rows: np.ndarray, kernel: dict[str, Any]) -> np.ndarray:
    """The approximate errors of the kernel values of some rows of X, row by row, when computed in float32.

    Rounding is relative to what is added up: squared norms, for an RBF value whose distance comes from norms and dot
    products (up to DIRECT features of dense rows the core squares differences, which is exact anywhere), and k(x, x)
    for other kernels. Only the row's own norm counts: where the other one is far larger, so is the distance, and no RBF
    value is left.
    """
    eps = float(np.finfo(np.float32).eps)
    if kernel["kind"] == "laplacian" and sp.issparse(X):  # a value is rounded before its difference is taken
        return eps * (1 + kernel["gamma"] * np.asarray(abs(X[rows]).sum(axis=1)).ravel())
    if kernel["kind"] in ("rbf", "laplacian"):
        if kernel["kind"] == "laplacian" or (X.shape[1] <= DIRECT and not sp.issparse(X)):
            return np.full(len(rows), eps)
        scale = kernel["gamma"] if kernel["gammas"] is None else kernel["gammas"]
        center = 0.0 if sp.issparse(X) else X[some_of(rows)].mean(axis=0, dtype=np.float64)
        norms, step = np.empty(len(rows)), max(64, (1 << 17) // max(1, X.shape[1]))  # rows that stay in cache
        for at in range(0, len(rows), step):
            block = X[rows[at : at + step]]
            if sp.issparse(block):
                squares = block.power(2)
                own = squares @ scale if np.ndim(scale) else scale * np.asarray(squares.sum(axis=1)).ravel()
                norms[at : at + step] = own
            else:
                block = block - center
                norms[at : at + step] = np.einsum("ij,ij->i", block, block * scale)
        return eps * (1 + norms)
    return eps * np.abs(_core.diagonal(as_data(X), kernel, rows, "float64"))


def is_far(X: Any, rows: np.ndarray) -> bool:
    """Whether dense rows have a mean that outweighs their spread; CSR rows cannot be centered."""
    if sp.issparse(X):
        return False
    some = X[some_of(rows)].astype(np.float64)
    return bool(np.sum(some.mean(axis=0) ** 2) > 100 * np.sum(some.var(axis=0)))


def as_data(X: Any) -> Any:
    """Rows as the core takes them: the array itself, or the parts of a CSR matrix.

    Of things that only a callable kernel can read, it sees how many there are.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        return np.zeros(X.shape)
    return (X.data, X.indices, X.indptr, X.shape[1]) if sp.issparse(X) else X
