"""Binary machines that are the columns of a code matrix M in {-1, 0, 1}, one row per class, on shared kernel values.

Column l is a binary machine with bias on the rows of the classes c with M[c, l] != 0, whose labels are M[c, l]:

    min  1/2 ||w||^2 + C sum_i omega_i xi_i     or with the squared hinge  + C/2 sum_i omega_i xi_i^2
    f_l(x) = sum_i b_i k(x_i, x) + bias_l,      b = label times dual variable

One-versus-one has a column of two entries for each pair of classes, one-versus-rest a column without zeros for each
class, and error-correcting output codes any columns at all. A scheme is thus a code and a rule that makes class scores
of the f_l; training, storage and scoring are the same for all.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import _core, kernels
from ..fitting.callbacks import CallbackSupportMixin, with_callbacks
from ..fitting.checks import check_rows
from ..fitting.examples import Examples, training_set
from ..fitting.frame import Frame
from ..fitting.parameters import KERNEL, PENALTY, RUN, Name, check_parameters
from ..fitting.progress import announce
from ..fitting.resources import fit_resources, threads
from ..fitting.state import whole
from ..machines import LOSSES
from ..training.certificates import Claim, claim_less, hiding_error, relative_gap, rounding_matters
from ..training.decisions import Decision, winners
from ..training.equal_rows import distinct
from ..training.expansions import LARGEST_BLOCK, LARGEST_COEF, KernelExpansion, decided
from ..training.hard_margin import finite_C, not_separable
from ..training.pair_codes import AllPairs
from .columns import Code, balance, bounds, n_columns, solve_columns

CONSTRAINTS = {"C": PENALTY, "loss": (Name(("hinge", "squared_hinge")),), **KERNEL, **RUN}
BINARY = np.array([[-1], [1]], dtype=np.int8)  # two classes: whatever the scheme, one machine, positive for the second


def code_of(machine: CodeClassifier, n_classes: int) -> Code:
    """The code that a fit of a scheme would have."""
    return clone(machine)._code(n_classes)


def decision_by(machine: CodeClassifier, code: Code, n_classes: int) -> Decision:
    """What scores of the columns of such a code stand for."""
    return machine._decision(code, n_classes)


class CodeClassifier(CallbackSupportMixin, KernelExpansion):
    """A scheme: a subclass has parameters, `_code(n_classes)` and `_rule()`, a name of `decisions.RULES`.

    `_is_own(code, n_classes)` says whether a code from a file is one that the scheme could have (pairs are compared
    with all pairs). A code is int8 with a row per class, int64 pairs of classes, (first, second) for the entries 1 and
    -1, or `AllPairs`.
    """

    _constraints = CONSTRAINTS

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CodeClassifier:
        """Train all binary machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; float32 and float64 arrays in C order and CSR matrices are used without a copy. For
            `kernel="precomputed"`, kernel values of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Factors on C, row by row: 2 is the same as a repeated row, 0 the same as a removed one.

        Returns
        -------
        self
            The fitted machine. Ctrl-C leaves the model reached so far, with `status_ = "interrupted"`, and is
            raised again; a fit that fails leaves the previous model.
        """
        begin = time.perf_counter()
        check_parameters(self, self._constraints)
        given = training_set(self, X, y, sample_weight, precomputed=self.kernel == "precomputed")
        X, rows = given.X, given.rows
        n_threads, memory = fit_resources(self, X)
        code = self._code(len(given.classes))
        gamma = self._gamma(X, given.sample_weight)
        start = self._last_columns(X.shape[0], code)
        announce(given, kernels.kind(self.kernel), n_threads, memory, self.verbose)
        kernel = kernels.Kernel(self.kernel, gamma, self.degree, self.coef0).record(X, X)
        kernels.check_values(X, rows, kernel)
        form, strength = LOSSES[self.loss], finite_C(self.C, X, rows, given.weight, kernel) * given.weight
        with Frame(self, begin, given.data) as frame:
            center = self._center(X, rows, code, memory)
            if center is not None and start is not None:
                start = start[0], start[1] + self._along(center)
            examples = given.examples(kernel, None if center is None else X - center)
            out = solve_columns(code, form, strength, examples, frame.limits(n_threads, memory), start)
            kernels.check_solution(self.kernel, out["values"], out["bias"])
            if center is not None:
                balance(out, bounds(form, strength)[0], examples.X[examples.rows])
            self.classes_, self.gamma_, self.shape_fit_ = given.classes, gamma, X.shape
            self._set_columns(X, rows, code, out)
            if center is not None:
                self.intercept_ = self.intercept_ - self._along(center)
            self._set_report(out, given.labels[self.support_], strength[np.searchsorted(rows, self.support_)])
            claim_less(self, self._hidden(examples, out, strength))
            frame.indefinite = kernels.indefinite(X, rows, kernel, zero_sums=True)
            frame.interrupted = out["signalled"]
            if np.inf == self.C:
                slack, alpha = self.tol if form.ridge else None, np.abs(out["values"])
                frame.remark = not_separable(alpha, strength[out["indices"]], 1, slack)
            if out["not_begun"]:
                frame.note = f", and {out['not_begun']:,} of {len(out['bias']):,} machines not started"
        return self

    # --- the fitted model ---

    @property
    def code_(self) -> np.ndarray:
        """What each class is in each machine: 1, -1, or 0 for not at all."""
        check_is_fitted(self)
        return np.asarray(self._columns)

    def _set_columns(self, X: Any, rows: np.ndarray, code: Code, out: dict[str, Any]) -> None:
        is_used = np.zeros(len(rows), dtype=bool)
        is_used[out["indices"]] = True
        used, place = np.flatnonzero(is_used), (np.cumsum(is_used) - 1).astype(out["indptr"].dtype)
        number = place[out["indices"]]
        self.support_ = rows[used]
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else X[self.support_]
        self.dual_coef_ = sp.csr_array((out["values"], number, out["indptr"]), shape=(len(out["bias"]), len(used)))
        self.intercept_ = out["bias"]
        self._columns = code
        self.rho_ = 1.0
        self._coef = self._weights() if self._has_weights() else None
        self._score_type = self._arithmetic()

    def _center(self, X: Any, rows: np.ndarray, code: Code, memory: float) -> np.ndarray | None:
        """The mean of linear rows that are far from the origin, where there is room for a copy without it.

        Coefficients sum to zero: no score notices that all rows are moved, except for its bias.
        """
        fits = 8 * X.shape[1] * n_columns(code) <= LARGEST_COEF and 8 * X.shape[0] * X.shape[1] <= 0.25 * memory
        if self.kernel != "linear" or not fits or not kernels.is_far(X, rows):
            return None
        return X[rows].mean(axis=0, dtype=np.float64)

    def _along(self, center: np.ndarray) -> np.ndarray:
        """<w, center> of every column: what its scores lose when the center is taken off all rows.

        The weights are those that scores are made of: their coefficients sum to zero except for rounding, which counts
        where the center is far away.
        """
        W = self._weights() if self._coef is None else self._coef
        return np.asarray(W @ center.astype(np.longdouble), dtype=np.float64)

    def _set_report(self, out: dict[str, Any], y: np.ndarray, strength: np.ndarray) -> None:
        largest = np.zeros(len(y))
        np.maximum.at(largest, self.dual_coef_.indices, np.abs(self.dual_coef_.data))
        box = strength if self.loss == "hinge" and np.isfinite(self.C) else largest.max(initial=0.0)
        counted = np.searchsorted(self.classes_, y[largest > 1e-6 * box])
        self.n_support_ = np.bincount(counted, minlength=len(self.classes_)).astype(np.int32)
        self.status_ = str(out["status"])
        self.n_iter_ = int(out["n_iter"])
        self.primal_objective_ = primal = float(out["primal"].sum()) + out["rest"]
        self.dual_objective_ = dual = float(out["dual"].sum())
        self.duality_gap_ = relative_gap(primal, dual)
        self.kkt_violation_ = float(out["violation"])
        self.n_kernel_evals_ = int(out["evaluations"])

    def _hidden(self, e: Examples, out: dict[str, Any], strength: np.ndarray) -> float:
        """The error of a score where rounding hides what is claimed, or 0."""
        if not rounding_matters(e.kernel):
            return 0.0
        B = sp.csr_array((out["values"], out["indices"], out["indptr"]), shape=(len(out["bias"]), len(e)))
        size = max(abs(self.primal_objective_), abs(self.dual_objective_))
        uses = np.bincount(out["indices"], minlength=len(e))  # machines in which a row has a coefficient
        return hiding_error(e, Claim(B, uses * strength, self.loss == "squared_hinge", size))

    def _last_columns(self, n: int, code: Code) -> tuple[sp.csr_array, np.ndarray] | None:
        """Coefficients over all n rows and biases of the last fit, if that had this code and as many rows."""
        if not self.warm_start or not hasattr(self, "_columns") or self.shape_fit_[0] != n:
            return None
        all_pairs = isinstance(code, AllPairs)
        if not (len(code) == len(self._columns) if all_pairs else np.array_equal(code, self._columns)):
            return None
        last = self.dual_coef_
        b = sp.csr_array((last.data, self.support_[last.indices], last.indptr), shape=(last.shape[0], n))
        return b, self.intercept_

    # --- scores ---

    def _model(self, X: Any, dtype: str | None = None) -> dict[str, Any]:
        """The arguments of the core's scores of columns for checked rows, in the model's arithmetic or another."""
        model, vectors = self.dual_coef_, self.support_vectors_
        if self._cancels():
            vectors, sums = distinct(vectors, model.toarray())
            model = sp.csr_array(sums)
        order = np.arange(model.shape[1])
        indptr, indices, values = model.indptr, model.indices, model.data
        if self.kernel == "precomputed":
            vectors, order = None, self.support_
        elif self._coef is not None:  # linear columns have one vector each
            vectors, order = self._coef, np.arange(len(self._coef))
            indptr, indices, values = np.arange(len(order) + 1), order, np.ones(len(order))
        elif len(order) == 0:  # a fit that was stopped at once: the core wants a row, though it will not look at it
            vectors = np.zeros((1, X.shape[1]))
        return dict(
            Z=kernels.as_data(X),
            SV=kernels.as_data(vectors),
            kernel=kernels.Kernel.of(self).record(X, vectors),
            sv_rows=np.ascontiguousarray(order, dtype=np.int64),
            indptr=indptr.astype(np.int64),
            indices=indices.astype(np.int64),
            values=np.asarray(values, dtype=np.float64),
            bias=self.intercept_,
            dtype=dtype or self._score_type,
            n_jobs=threads(self.n_jobs, X.shape[0] * (len(order) * (X.shape[1] + 16.0) + len(values))),
        )

    def _has_weights(self) -> bool:
        return super()._has_weights() and self.dual_coef_.shape[0] <= 4 * len(self.support_)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return check_rows(self, X, fit=False, precomputed=self.kernel == "precomputed")

    def _rule(self) -> str:
        return "largest"

    def _decision(self, columns: Code | None = None, n_classes: int = 0) -> Decision:
        """Of the fitted code, or of another one for this many classes."""
        if columns is None:
            columns, n_classes = self._columns, len(self.classes_)
        return Decision(n_classes, columns, self._rule())

    def _raw_scores(self, X: Any) -> np.ndarray:
        return _core.code_scores(**self._model(self._checked(X)))

    def _class_scores(self, X: Any, dtype: str | None = None, doubt: float = 0.0) -> np.ndarray:
        """Scores of the classes for checked rows, some rows at a time so that scores of columns stay few."""
        step, decide = max(64, LARGEST_BLOCK // len(self.intercept_)), self._decision()
        some = (X[at : at + step] for at in range(0, X.shape[0], step))
        parts = [decide(_core.code_scores(**self._model(rows, dtype))) for rows in some]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes_)))

    def _scores(self, X: Any, dtype: str | None = None, doubt: float = 0.0) -> np.ndarray:
        """What `decision_function` returns, for checked rows."""
        if len(self.classes_) > 2:
            return self._class_scores(X, dtype, doubt)
        return self._decision()(_core.code_scores(**self._model(X, dtype)))

    def _class_error(self, doubt: float) -> float:
        """What an error of this size in the scores of columns is in those of classes."""
        return doubt

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score; for `kernel="precomputed"`, kernel values of shape (n_samples, n_samples_fit).

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; for two classes of shape (n_samples,), positive for `classes_[1]`.
        """
        return self._scores(self._checked(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes with the largest score; of equal ones the first in `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify; for `kernel="precomputed"`, kernel values of shape (n_samples, n_samples_fit).

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, of the type that was passed to `fit`.
        """
        X = self._checked(X)
        doubt = self._doubt(X.shape[0])
        error = doubt if len(self.classes_) == 2 else self._class_error(doubt)
        S = decided(X, doubt if error < np.inf else 0.0, error, lambda some, dtype: self._scores(some, dtype, doubt))
        return self.classes_[winners(S)]
