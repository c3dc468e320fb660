"""What may be passed in: the checks of X, y and weights that estimators share.

Every message is one sentence: what was expected, what came instead, what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from .labels import check_labels

PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


def check_rows(estimator: Any, X: Any, y: Any = None, *, fit: bool, precomputed: bool) -> Any:
    """X as the core reads it: float32 or float64, rows contiguous, or CSR with sorted indices; copied only if needed.

    With `fit`, also y as a 1-D array of labels. A callable kernel may have rows of any kind: these become one column of
    objects.
    """
    if getattr(estimator, "_any_rows", False) and callable(estimator.kernel) and is_list_of_things(X):
        return checked_things(estimator, X, y, fit)
    if is_plain(estimator, X, y, fit):
        X = np.ascontiguousarray(X)
    else:
        X, y = converted(estimator, X, y, fit, precomputed)
    if not fit:
        return canonical(X)
    estimator.n_features_in_ = X.shape[1]
    if precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(
            f'expected a square X of shape (n_samples, n_samples) in fit with kernel="precomputed", got '
            f"{X.shape}; pass the kernel values between all training rows"
        )
    return canonical(X), y


def is_plain(estimator: Any, X: Any, y: Any, fit: bool) -> bool:
    """Whether scikit-learn's checks would return X, apart from its order, and y unchanged and without a warning.

    This takes a tenth of the time of those checks, which take longer than everything else in a fit of 100 rows.
    """
    if not (type(X) is np.ndarray and X.ndim == 2 and X.dtype in PLAIN and X.size):
        return False
    if hasattr(estimator, "feature_names_in_"):  # X without names deserves a warning
        return False
    if fit:
        if not (type(y) is np.ndarray and y.dtype.kind in "biuU" and y.shape == X.shape[:1]):
            return False
        if len(y) > 20 and len(np.unique(y)) > len(y) // 2:  # a regression problem? scikit-learn warns
            return False
    elif X.shape[1] != getattr(estimator, "n_features_in_", None):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X.sum()))


def converted(estimator: Any, X: Any, y: Any, fit: bool, precomputed: bool) -> tuple[Any, Any]:
    """X and y after scikit-learn's checks, which also set or compare the number and the names of the features."""
    how = dict(
        accept_sparse=False if precomputed else "csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
        order="C",
    )
    try:
        if not fit:
            return validate_data(estimator, X, reset=False, **how), None
        check_labels(y)
        X, y = validate_data(estimator, X, y, **how)
    except ValueError as error:
        raise plainer(error, "X") from None
    check_classification_targets(y)
    return X, y


def plainer(error: ValueError, what: str) -> ValueError:
    """scikit-learn's remarks on words, and on numbers that are not finite, with what to do about them."""
    text = str(error)
    if "could not convert string to float" in text:
        return ValueError(
            f"expected {what} to hold numbers, got words ({text}); use AutoSVC, which reads tables with words, or "
            f"encode them first, for example with make_pipeline(OneHotEncoder(), ...)"
        )
    if "Input X contains" not in text:
        return error
    found = text.splitlines()[0].removeprefix("Input X contains ").rstrip(".")
    return ValueError(
        f"expected {what} to be finite, got {found}; drop such rows, or fill the gaps first, "
        f"for example with make_pipeline(SimpleImputer(), ...)"
    )


def check_numbers(X: Any, what: str) -> Any:
    """Rows as the core reads them, of which the names of features do not matter; `what` they are in errors."""
    try:
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X")
    except ValueError as error:
        raise plainer(error, what) from None
    return canonical(X)


def is_list_of_things(X: Any) -> bool:
    """Whether each row of X is a single object that is neither a number nor a row of numbers, such as text."""
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], str | bytes)
    return getattr(X, "ndim", 2) == 1 and np.asarray(X).dtype.kind in "OUST"


def checked_things(estimator: Any, X: Any, y: Any, fit: bool) -> Any:
    things = np.empty((len(X), 1), dtype=object)
    things[:, 0] = list(X)
    if not fit:
        return things
    estimator.n_features_in_ = 1
    check_labels(y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(things, y)
    check_classification_targets(y)
    return things, y


def canonical(X: Any) -> Any:
    """CSR with sorted indices, no duplicates and one index type (the caller's matrix is not changed)."""
    if not sp.issparse(X):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != X.indptr.dtype:
        wide = np.result_type(X.indices, X.indptr)
        X = type(X)((X.data, X.indices.astype(wide), X.indptr.astype(wide)), shape=X.shape)
    return X


def stacked(parts: Sequence[Any]) -> Any:
    """Rows of several arrays in one; CSR if any of them is."""
    if not any(map(sp.issparse, parts)):
        return np.concatenate(parts)
    return canonical(sp.vstack([X if sp.issparse(X) else sp.csr_array(X) for X in parts], format="csr"))


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Weights as float64 of shape (n,): None means 1 everywhere, a number is repeated."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, float(sample_weight))
    w = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if w.shape != (n,):
        raise ValueError(f"expected sample_weight to hold one number per row, shape ({n},), got shape {w.shape}")
    if np.any(w < 0):
        i = int(np.argmin(w))
        raise ValueError(
            f"expected sample_weight to be at least 0 everywhere, got {w[i]:g} in row {i}; "
            f"a weight of 0 removes a row, none can be negative"
        )
    if not np.any(w > 0):
        raise ValueError("expected at least one positive sample_weight, got only zeros; no row is left to fit")
    return w


def check_classes(y: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of the used rows, sorted, and every used row's index among them."""
    classes, index = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        lost = " after rows of weight zero were removed" if len(rows) < len(y) else ""
        raise ValueError(
            f"expected y to hold at least 2 classes, got 1 class ({classes.tolist()[0]!r}) in n_samples={len(rows)} "
            f"rows{lost}; add rows of another class"
        )
    return classes, index.astype(np.int64)


def class_weights(class_weight: Any, classes: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """One factor per class; "balanced" gives every class the same total weight, from weighted counts."""
    n_classes = len(classes)
    if class_weight is None:
        return np.ones(n_classes)
    if isinstance(class_weight, str):
        return weight.sum() / (n_classes * np.bincount(y, weights=weight, minlength=n_classes))
    known = classes.tolist()
    factor = np.array([class_weight.get(c, 1.0) for c in known], dtype=float)
    strangers = [c for c in class_weight if c not in known]
    if strangers and any(c not in class_weight for c in known):
        raise ValueError(
            f"expected class_weight to have the classes {known[:10]} as keys, got {strangers[0]!r}; "
            f"use the labels as they are in y"
        )
    if not np.all(np.isfinite(factor) & (factor > 0)):
        c = int(np.argmin(np.isfinite(factor) & (factor > 0)))
        raise ValueError(
            f"expected class_weight to hold positive numbers, got {factor[c]:g} for class {known[c]!r}; "
            f"to leave a class out, drop its rows or give them sample_weight 0"
        )
    return factor


def check_priors(priors: Any, n_classes: int) -> np.ndarray | None:
    """Class priors as float64 of shape (n_classes,) that sum to 1."""
    if priors is None:
        return None
    p = np.asarray(priors, dtype=np.float64)
    if p.shape != (n_classes,):
        raise ValueError(
            f"expected priors to hold one number per class, shape ({n_classes},), got shape {p.shape}; "
            f"give them in the order of classes_"
        )
    if not np.all(p > 0):
        raise ValueError(f"expected priors to be positive, got {p.min():g}; every class needs a positive share")
    if abs(p.sum() - 1) > 1e-6:
        raise ValueError(f"expected priors to sum to 1, got a sum of {p.sum():g}; divide them by their sum")
    return p / p.sum()
