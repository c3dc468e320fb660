"""What every fitted machine is: class prototypes, weighted sets of support vectors.

    f_c(x) = sum over the support vectors i of  B[c, i] k(x_i, x)  +  b_c

Machines with margins per class have a dense `dual_coef_`, B itself. With one variable per row a support vector
belongs to one class:

    f_c(x) = sum over the support vectors i of class c of  alpha_i k(x_i, x)  +  b_c

Then `dual_coef_`, a CSR matrix of shape (n_classes, n_SV) with alpha_i at [y_i, i], is the whole model beside the
support vectors: its three arrays are the alphas sorted by class, the support vectors' numbers in that order, and where
each class begins. Scores are sums over these segments, so nothing of size n_SV x n_classes is built and 10,000 classes
cost no more than two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import _core, kernels
from ..files.model_file import save_model
from ..fitting.callbacks import CALLER
from ..fitting.checks import check_rows
from ..fitting.estimator import Estimator
from ..fitting.hints import NoProbabilities
from ..fitting.resources import threads
from ..fitting.scales import column_moments, warn_if_badly_scaled
from .decisions import Decision
from .problem import Coefficients

# Where the support vectors hold few numbers, float64 costs nothing.
CHEAP = 1 << 14
# Linear machines are scored by their weight vectors up to this size, by their support vectors beyond.
LARGEST_COEF = 1 << 28
# Whether classes overlap is judged on some rows and scores of fits with enough of them, by the share of these rows
# whose own score beats the mean and not the best.
ENOUGH, OVERLAP_ROWS, OVERLAP_VALUES, OVERLAP = 200, 1000, 1 << 20, 0.15
BLOCK = 4096  # rows copied at a time


class PrototypeClassifier(NoProbabilities, ClassifierMixin, Estimator):
    """Scores and predictions of a fitted machine; a subclass has a kernel's parameters, `tol`, `n_jobs` and a `fit`."""

    _any_rows = True  # a callable kernel may have rows that are not numbers

    def _set_prototypes(self, X: Any, rows: np.ndarray, y: np.ndarray, found: Coefficients) -> None:
        """Keep the rows of X with alpha > 0; `y` and the coefficients belong to `rows`.

        With weights, no scores need support vectors: X itself is kept, without a copy.
        """
        used = np.flatnonzero(found.alpha > 0)
        order = np.argsort(y[used], kind="stable")
        n_classes = len(self.classes_)
        segments = np.concatenate(([0], np.cumsum(np.bincount(y[used], minlength=n_classes))))
        self.support_ = rows[used]
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = X[self.support_] if found.weights is None else X
        if found.B is None:
            self.dual_coef_ = sp.csr_array((found.alpha[used][order], order, segments), shape=(n_classes, len(used)))
        else:
            self.dual_coef_ = np.take(found.B, used, axis=1)
        self.intercept_ = np.array(found.intercept, dtype=np.float64)
        self._coef = self._weights() if found.weights is None and self._has_weights() else found.weights
        self._score_type = self._arithmetic()

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
        vectors = self._vectors
        if self.kernel not in kernels.BOUNDED or vectors.shape[0] * vectors.shape[1] <= CHEAP or self.tol < 1e-5:
            return "float64"
        kernel = kernels.Kernel.of(self).record()
        errors = kernels.float32_errors(vectors, np.arange(vectors.shape[0]), kernel)
        coef = self.dual_coef_
        if sp.issparse(coef):  # of millions of rows, only those with coefficients
            filled = np.flatnonzero(coef.indptr[1:] > coef.indptr[:-1])
            squares = (
                np.add.reduceat((coef.data * errors[coef.indices]) ** 2, coef.indptr[filled]) if len(filled) else 0.0
            )
        else:
            squares = coef**2 @ errors**2
        return "float64" if 10 * np.sqrt(np.max(squares)) > self.tol * abs(self.rho_) else "float32"

    def _rows(self, X: Any) -> Any:
        """The rows that a kernel is evaluated on."""
        return check_rows(self, X, fit=False, precomputed=self.kernel == "precomputed")

    def _expansion(self, X: Any) -> dict[str, Any]:
        """The arguments of the core's `scores` and `argmax_scores` for the rows X."""
        check_is_fitted(self)
        return self._arguments(self._rows(X))

    def _arguments(self, X: Any) -> dict[str, Any]:
        """The same for rows that are as kernels take them."""
        model = self.dual_coef_
        vectors = self._vectors
        if sp.issparse(model):
            alpha, order, segments = model.data, model.indices, model.indptr
        else:  # no segments: every support vector has a coefficient for every class
            alpha, order, segments = model.ravel(), np.arange(model.shape[1]), np.zeros(0)
        if self.kernel == "precomputed":
            vectors, order = None, self.support_[order]
        elif self._coef is not None:  # a linear machine has one vector per class
            vectors, alpha = self._coef, np.ones(len(self._coef))
            order, segments = np.arange(len(alpha)), np.arange(len(alpha) + 1)
        elif vectors.shape[0] == 0:  # a fit that was stopped at once: the core needs a row, though it does not read it
            vectors = np.zeros((1, X.shape[1]))
        return dict(
            Z=kernels.as_data(X),
            SV=kernels.as_data(vectors),
            kernel=kernels.Kernel.of(self).record(X, vectors),
            sv_rows=order.astype(np.int64),
            segments=segments.astype(np.int64),
            alpha=np.asarray(alpha, dtype=np.float64),
            intercept=self.intercept_,
            dtype=self._score_type,
            n_jobs=threads(self.n_jobs, X.shape[0] * (len(order) + 1) * (X.shape[1] + 16.0)),
        )

    def _overlap(self, X: Any, rows: np.ndarray, y: np.ndarray) -> str | None:
        """A remark where most of some training rows beat the mean score, as the machine asks, but not the best one.

        Two classes that overlap can both beat the mean, so nothing makes the machine tell them apart.
        """
        T = len(self.classes_)
        if T <= 2 or len(rows) < ENOUGH or self.status_ not in ("solved", "epsilon"):
            return None
        some = np.arange(0, len(rows), max(1, -(-len(rows) * T // OVERLAP_VALUES), len(rows) // OVERLAP_ROWS))
        F = _core.scores(**self._arguments(X[rows[some]]))
        own = F[np.arange(len(some)), y[some]]
        claimed, right = np.mean(own > F.mean(axis=1)), np.mean(F.argmax(axis=1) == y[some])
        if claimed - right <= OVERLAP:
            return None
        return (
            f"{claimed:.0%} of the training rows have an own score above the mean of all classes, which is what this "
            f"machine asks for, but for only {right:.0%} it is the largest: the classes overlap, and this machine does "
            f'not tell overlapping classes apart; use JointSVC(machine="crammer-singer") or PairwiseSVC'
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score; for `kernel="precomputed"`, kernel values of shape (n_samples, n_samples_fit).

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            `f_c(x)` in the order of `classes_`. For two classes, of shape (n_samples,): the value of the binary
            machine, positive for `classes_[1]`. It is `(f_1 - f_0) / 2`, or `f_1 - f_0` for machines that
            compare the own score with each other one (kesler, crammer-singer).
        """
        F = self._raw_scores(X)
        return self._decision()(F)

    def _decision(self) -> Decision:
        """What the scores of `dual_coef_` stand for."""
        raise NotImplementedError

    def _raw_scores(self, X: Any) -> np.ndarray:
        """f_l for all rows of `dual_coef_`, shape (n_samples, n_scores)."""
        return _core.scores(**self._expansion(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes with the largest score; of equal ones the first in `classes_`.

        Scores are compared as they are computed: an array of shape (n_samples, n_classes) is never built.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify; for `kernel="precomputed"`, kernel values of shape (n_samples, n_samples_fit).

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, of the type that was passed to `fit`.
        """
        best = _core.argmax_scores(**self._expansion(X))
        return self.classes_[best]

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
    """sum_i B[c, i] x_i, in extended precision: far from the origin the terms nearly cancel."""
    if sp.issparse(X):
        product = X.T.astype(np.longdouble) @ B.T.astype(np.longdouble)
        return np.ascontiguousarray((product.toarray() if sp.issparse(product) else product).T, dtype=np.float64)
    real: Any = np.float64
    coef, sums = B.T, B.astype(np.longdouble).sum(axis=1)
    center = X[:BLOCK].mean(axis=0, dtype=np.float64) if len(X) else np.zeros(X.shape[1])
    if len(X) and kernels.is_far(X, np.arange(len(X))):  # slow, but the center would multiply what is rounded
        coef, real = coef.astype(np.longdouble), np.longdouble
        sums = [math.fsum(row.data if sp.issparse(row) else row) for row in B]
    coef = coef.tocsr() if sp.issparse(coef) else coef
    W = np.multiply.outer(np.asarray(sums, dtype=np.longdouble), center)
    for at in range(0, len(X), BLOCK):
        W += coef[at : at + BLOCK].T @ (X[at : at + BLOCK].astype(real) - center)
    return np.ascontiguousarray(W, dtype=np.float64)
