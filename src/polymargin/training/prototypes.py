"""Machines with class prototypes, weighted sets of support vectors.

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

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .. import _core, kernels
from ..fitting.examples import segments_of
from ..fitting.resources import threads
from .equal_rows import distinct
from .expansions import LARGEST_BLOCK, MANY_ROWS, KernelExpansion, decided, weights
from .problem import Coefficients

# Whether classes overlap is judged on some rows and scores of fits with enough of them, by the share of these rows
# whose own score beats the mean and not the best.
ENOUGH, OVERLAP_ROWS, OVERLAP_VALUES, OVERLAP = 200, 1000, 1 << 20, 0.15
SHARED = 1e4  # times what weights of two classes differ by


class PrototypeClassifier(KernelExpansion):
    """A machine with a score per class: how its model is kept, and how scores and predictions are made of it."""

    def _set_prototypes(self, X: Any, rows: np.ndarray, y: np.ndarray, found: Coefficients) -> None:
        """Keep the rows of X with alpha > 0; `y` and the coefficients belong to `rows`.

        With weights, no scores need support vectors: X itself is kept, without a copy.
        """
        used = np.flatnonzero(found.alpha > 0)
        order = np.argsort(y[used], kind="stable")
        n_classes = len(self.classes_)
        segments = segments_of(y[used], n_classes)
        self.support_ = rows[used]
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = X[self.support_] if found.weights is None else X
        if found.B is None:
            self.dual_coef_ = sp.csr_array((found.alpha[used][order], order, segments), shape=(n_classes, len(used)))
        else:
            self.dual_coef_ = found.B if len(used) == found.B.shape[1] else np.take(found.B, used, axis=1)
        self.intercept_ = np.array(found.intercept, dtype=np.float64)
        self._coef = self._weights() if found.weights is None and self._has_weights() else found.weights
        self._score_type = self._arithmetic()

    def _expansion(self, X: Any) -> dict[str, Any]:
        """The arguments of the core's `scores` and `argmax_scores` for the rows X."""
        check_is_fitted(self)
        return self._arguments(self._rows(X))

    def _arguments(self, X: Any) -> dict[str, Any]:
        """The same for rows that are as kernels take them."""
        model, intercept = self.dual_coef_, self.intercept_
        vectors = self._vectors
        if not sp.issparse(model):
            vectors, model = distinct(vectors, model) if self._cancels() else (vectors, model)
        elif len(self.classes_) == 2 and self._cancels():  # only the difference of the two scores is asked for
            both = model.toarray()
            vectors, model = distinct(vectors, both - both.mean(axis=0))
            if getattr(self, "intercept", None) == "regularized":
                intercept = model.sum(axis=1)
        if sp.issparse(model):
            alpha, order, segments = model.data, model.indices, model.indptr
        else:  # no segments: every support vector has a coefficient for every class
            alpha, order, segments = model.ravel(), np.arange(model.shape[1]), np.zeros(0)
        if self.kernel == "precomputed":
            vectors, order = None, self.support_[order]
        elif self._coef is not None:  # a linear machine has one vector per class
            vectors, alpha = self._apart(self._coef), np.ones(len(self._coef))
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
            intercept=intercept,
            dtype=self._score_type,
            n_jobs=threads(self.n_jobs, X.shape[0] * (len(order) + 1) * (X.shape[1] + 16.0)),
        )

    def _apart(self, W: np.ndarray) -> np.ndarray:
        """Weights as scores are made of them: of two classes without what both share, if that hides the difference."""
        if len(self.classes_) != 2 or not sp.issparse(self.dual_coef_):
            return W
        mean = W.mean(axis=0)
        if np.abs(mean).max() <= SHARED * np.abs(W - mean).max():
            return W
        both = self.dual_coef_.toarray()
        return weights(self.support_vectors_, both - both.mean(axis=0))

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
            f'not tell overlapping classes apart; use machine="crammer-singer" of JointSVC, or of LandmarkSVC for many '
            f"rows, or PairwiseSVC"
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

    def _raw_scores(self, X: Any) -> np.ndarray:
        """f_l for all rows of `dual_coef_`, shape (n_samples, n_scores)."""
        return _core.scores(**self._expansion(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes with the largest score; of equal ones the first in `classes_`.

        Scores are compared as they are computed: a large array of shape (n_samples, n_classes) is never built.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify; for `kernel="precomputed"`, kernel values of shape (n_samples, n_samples_fit).

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, of the type that was passed to `fit`.
        """
        check_is_fitted(self)
        X = self._rows(X)
        if not (doubt := self._doubt(X.shape[0])):
            return self.classes_[_core.argmax_scores(**self._arguments(X))]

        def scores(some: Any, dtype: str | None) -> np.ndarray:
            return _core.scores(**self._arguments(some) | {"dtype": dtype})

        step = max(MANY_ROWS, LARGEST_BLOCK // len(self.classes_))
        parts = (decided(X[at : at + step], doubt, doubt, scores) for at in range(0, X.shape[0], step))
        return self.classes_[np.concatenate([S.argmax(axis=1) for S in parts])]
