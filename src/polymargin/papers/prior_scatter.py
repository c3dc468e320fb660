"""Scatter SVM with class priors in the mean, which Jenssen et al. (2012) name after eq. 6 and leave to others.

The between-class scatter is sum_c P_c |m_c - m|^2 with m = sum_c P_c m_c; the paper goes on with equal P_c. With the
shares of the classes as P_c and prototypes m_c = sum of b_i phi(x_i) / P_c over the rows of class c, it is b'Qb,
Q_ij = k(x_i, x_j) ([y_i = y_j] / P_c - 1). The machine without bias in its C form is then

    min_b b'Qb / 2 - sum_i b_i,   0 <= b_i <= C / T,

and a row gets the class with the largest <m_c, phi(x)>. With P_c = 1/T this is JointSVC("scatter", C) without bias, and
b its dual variables divided by T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize


class PriorScatter:
    """The machine on a precomputed kernel; `priors` are P_c, in the order of the sorted labels."""

    def __init__(self, C: float, priors: np.ndarray) -> None:
        self.C, self.priors = C, np.asarray(priors)

    def fit(self, K: np.ndarray, y: np.ndarray) -> PriorScatter:
        self.classes_, index = np.unique(y, return_inverse=True)
        same = index[:, None] == index
        Q = K * (same / self.priors[index] - 1)

        def value(b: np.ndarray) -> tuple[float, np.ndarray]:
            slope = Q @ b
            return float(b @ slope / 2 - b.sum()), slope - 1

        top = self.C / len(self.classes_)
        options: Any = dict(maxiter=2000, maxfun=10**6, ftol=1e-12, gtol=1e-6)
        box: Any = [(0.0, top)] * len(y)
        found = minimize(value, np.full(len(y), top / 2), jac=True, method="L-BFGS-B", bounds=box, options=options)
        self.coef_ = found.x[:, None] * (index[:, None] == np.arange(len(self.classes_))) / self.priors
        return self

    def predict(self, K: np.ndarray) -> np.ndarray:
        return self.classes_[(K @ self.coef_).argmax(axis=1)]
