"""What every fitted machine is: sparse coefficients over kernel rows, and a constant for each score.

    f_l(x) = sum over the support vectors i of  B[l, i] k(x_i, x)  +  b_l

With a prototype per class l is a class (`prototypes.py`); in a reduction it is a binary machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import kernels
from ..files.model_file import save_model
from ..fitting.callbacks import CALLER
from ..fitting.checks import check_rows
from ..fitting.estimator import Estimator
from ..fitting.examples import COPIED_ROWS
from ..fitting.hints import NoProbabilities
from ..fitting.scales import column_moments, warn_if_badly_scaled
from .certificates import EPS
from .decisions import Decision

# Where the support vectors hold few numbers, float64 costs nothing.
CHEAP = 1 << 14
# Linear machines are scored by their weight vectors up to this size, by their support vectors beyond.
LARGEST_COEF = 1 << 28
LARGEST_BLOCK = 1 << 22  # scores that wait for a decision
MOST_SUMMED = 1 << 24  # coefficients
CANCELED = 1e-9  # relative error of weights that is no longer rounding of scores
# Labels of so many rows are worth a look at the errors of float32 scores, which are to be small beside the margin.
MANY_ROWS, MOST_DOUBT = 256, 0.05


def raw_scores(model: KernelExpansion, X: Any) -> np.ndarray:
    """f_l for all rows of `dual_coef_`, shape (n_samples, n_scores)."""
    return model._raw_scores(X)


def decided(X: Any, doubt: float, error: float, scores: Callable[[Any, str | None], np.ndarray]) -> np.ndarray:
    """`scores(X, type)` of which labels can be made: as in float64, though most rows have theirs in float32.

    `error` is what the doubt in f_l makes of these scores; rows whose best two are nearer, or NaN, are scored again.
    """
    if not doubt:
        return scores(X, None)
    S = scores(X, "float32")
    if S.ndim == 1:
        sure = np.abs(S) > error
    else:
        best = np.partition(S, -2, axis=1)[:, -2:]  # NaN is the largest
        sure = best[:, 1] - best[:, 0] > 2 * error
    again = np.flatnonzero(~sure)
    if len(again):
        S[again] = scores(X[again], "float64")
    return S


def kernel_rows(model: KernelExpansion, X: Any) -> Any:
    """The rows that the kernel of a fitted machine is evaluated on."""
    return model._rows(X)


class KernelExpansion(NoProbabilities, ClassifierMixin, Estimator):
    """The parts of a fitted machine; a subclass has a kernel's parameters, `tol`, `n_jobs`, a `fit` and its scores."""

    intercept_: np.ndarray
    _any_rows = True  # a callable kernel may have rows that are not numbers

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, shape (n_SV, n_features); empty for a precomputed kernel."""
        kept = self._vectors
        return kept if kept.shape[0] in (0, len(self.support_)) else kept[self.support_]

    @support_vectors_.setter
    def support_vectors_(self, rows: Any) -> None:
        self._vectors = rows  # the support vectors, or all training rows

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "_vectors": self.support_vectors_} if "_vectors" in state else state

    def _gamma(self, X: Any, sample_weight: np.ndarray) -> Any:
        """The kernel's gamma; warns about badly scaled columns on the way."""
        if kernels.kind(self.kernel) in ("precomputed", "callable"):
            return None
        mean, variance = column_moments(X, sample_weight)
        gamma = kernels.resolve_gamma(self.kernel, self.gamma, mean, variance, X.shape[1])
        warn_if_badly_scaled(X, variance, gamma if np.ndim(gamma) else None, type(self).__name__, stacklevel=CALLER + 2)
        return gamma

    def _has_weights(self) -> bool:
        return self.kernel == "linear" and 8 * len(self.intercept_) * self.n_features_in_ <= LARGEST_COEF

    def _weights(self) -> np.ndarray:
        return weights(self.support_vectors_, self.dual_coef_)

    @property
    def coef_(self) -> np.ndarray:
        """Weight vectors, shape (n_classes, n_features): scores are `X @ coef_.T + intercept_` (linear kernel only)."""
        if self.kernel != "linear":
            raise AttributeError(f"expected kernel='linear' for coef_, got kernel={self.kernel!r}")
        check_is_fitted(self)
        return self._coef if self._coef is not None else self._weights()

    def _arithmetic(self) -> str:
        """Type of the arithmetic of scores; it depends on the model and never on the batch, so a row has one score.

        Sums are always float64. float32 kernel values are enough where k is bounded and the sum of their errors over
        the support vectors stays well under the solver's own tolerance.
        """
        if not self._is_dear() or self.tol < 1e-5:
            return "float64"
        return "float64" if self._float32_error() > self.tol * abs(self.rho_) else "float32"

    def _is_dear(self) -> bool:
        """Whether float32 kernel values save time, and have errors that are known."""
        return self.kernel in kernels.BOUNDED and self._vectors.shape[0] * self._vectors.shape[1] > CHEAP

    def _float32_error(self) -> float:
        """Ten times the error that float32 kernel values make in a score; they err independently."""
        vectors, coef = self._vectors, self.dual_coef_
        kernel = kernels.Kernel.of(self).record()
        errors = kernels.float32_errors(vectors, np.arange(vectors.shape[0]), kernel)
        if sp.issparse(coef):  # of millions of rows, only those with coefficients
            filled = np.flatnonzero(coef.indptr[1:] > coef.indptr[:-1])
            squares = (
                np.add.reduceat((coef.data * errors[coef.indices]) ** 2, coef.indptr[filled]) if len(filled) else 0.0
            )
        else:
            squares = coef**2 @ errors**2
        return 10 * float(np.sqrt(np.max(squares)))

    def _doubt(self, n_rows: int) -> float:
        """Scores in float32 that differ by more than twice this are in the order of those in float64.

        Zero where labels are made of float64 scores: these are few, or float32 would leave many labels in doubt.
        """
        if self._score_type == "float32" or n_rows < MANY_ROWS or not self._is_dear():
            return 0.0
        error = self._float32_error()
        return error if error < MOST_DOUBT * abs(self.rho_) else 0.0

    def _cancels(self) -> bool:
        """Whether coefficients are so large that sums over equal rows are more than rounding only if made first.

        Rows with different labels that are equal have such coefficients where C is 1e10 or more.
        """
        B, vectors = self.dual_coef_, self._vectors
        if self.kernel == "precomputed" or self._coef is not None or B.shape[0] * B.shape[1] > MOST_SUMMED:
            return False
        largest = float(np.abs(B.data if sp.issparse(B) else B).max(initial=0.0))
        numbers = sp.issparse(vectors) or vectors.dtype.kind == "f"
        return numbers and EPS * largest * math.sqrt(B.shape[1]) > self.tol * abs(self.rho_)

    def _rows(self, X: Any) -> Any:
        """The rows that a kernel is evaluated on."""
        return check_rows(self, X, fit=False, precomputed=self.kernel == "precomputed")

    def _decision(self) -> Decision:
        """What the scores of `dual_coef_` mean."""
        raise NotImplementedError

    def _raw_scores(self, X: Any) -> np.ndarray:
        """f_l for all rows of `dual_coef_`, shape (n_samples, n_scores)."""
        raise NotImplementedError

    def save_model(self, path: Any) -> Any:
        """Write the model to a file of plain data, which `polymargin.load_model` reads; see `polymargin.save_model`."""
        return save_model(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def weights(X: Any, B: Any) -> np.ndarray:
    """sum_i B[c, i] x_i, in extended precision where the terms nearly cancel: far from the origin, and at large C."""
    if sp.issparse(X):
        product = X.T.astype(np.longdouble) @ B.T.astype(np.longdouble)
        return np.ascontiguousarray((product.toarray() if sp.issparse(product) else product).T, dtype=np.float64)
    center = X[:COPIED_ROWS].mean(axis=0, dtype=np.float64) if len(X) else np.zeros(X.shape[1])
    if not (len(X) and kernels.is_far(X, np.arange(len(X)))):
        W = summed(X, B, center, B.astype(np.longdouble).sum(axis=1), np.float64)
        squares = np.asarray((B.multiply(B) if sp.issparse(B) else B * B).sum(axis=1)).ravel()
        largest = np.einsum("ij,ij->j", X, X, dtype=np.float64).max(initial=0.0)
        if not np.any(EPS * np.sqrt(squares * largest) > CANCELED * np.abs(W).max(axis=1, initial=0.0)):
            return W
    # Slow, but rounding errors would be magnified, and most of all those that the center multiplies.
    sums = [extended_sum(row.data if sp.issparse(row) else row) for row in B]
    return summed(X, B, center, sums, np.longdouble)


def extended_sum(values: np.ndarray) -> np.longdouble:
    """The exact sum, rounded to extended precision."""
    total = math.fsum(values)
    return np.longdouble(total) + math.fsum((*values, -total))


def summed(X: np.ndarray, B: Any, center: np.ndarray, sums: Any, real: Any) -> np.ndarray:
    """sum_i B[c, i] x_i in this type; `sums` are those of B."""
    coef = B.T.astype(real).tocsr() if sp.issparse(B) else B.T.astype(real)
    W = np.multiply.outer(np.asarray(sums, dtype=np.longdouble), center)
    for at in range(0, len(X), COPIED_ROWS):
        W += coef[at : at + COPIED_ROWS].T @ (X[at : at + COPIED_ROWS].astype(real) - center)
    return np.ascontiguousarray(W, dtype=np.float64)
