"""What may be passed in: constraints on parameters as data, and the checks of X, y and weights that estimators share.

Every message is one sentence: what was expected, what was found, what to do.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from .kernels import KERNELS
from .labels import check_labels

PLAIN = (np.dtype(np.float64), np.dtype(np.float32))
SYNONYMS = {"gaussian": "rbf", "polynomial": "poly", "l1": "hinge", "l2": "squared_hinge", "bias": "exact"}


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def nearest(name: str, names: Iterable[str]) -> str:
    """The advice for a name that is not known: the one that was probably meant."""
    names = tuple(names)
    meant = SYNONYMS.get(name.lower())
    if meant not in names:
        meant = next(iter(difflib.get_close_matches(name.lower(), names, 1, cutoff=0.4)), None)
    return f'; did you mean "{meant}"?' if meant else ""


# A constraint says what it expects and whether it accepts a value. A parameter has a tuple of them: one must accept.


@dataclass(frozen=True)
class Name:
    """One of a few strings."""

    names: tuple[str, ...]

    @property
    def expected(self) -> str:
        return f"one of {quoted(self.names)}" if len(self.names) > 1 else quoted(self.names)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.names


@dataclass(frozen=True)
class Number:
    """A finite number in an interval; `above` is an open end, `least` and `most` are closed ones."""

    expected: str
    above: float = -math.inf
    least: float = -math.inf
    most: float = math.inf
    integer: bool = False
    zero: bool = True

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral if self.integer else Real):
            return False
        try:
            finite = math.isfinite(value)
        except OverflowError:  # an integer beyond all floats
            return False
        return (
            finite
            and (not self.integer or abs(value) < 2**63)  # as the core counts
            and self.least <= value <= self.most
            and value > self.above
            and (value != 0 or self.zero)
        )


@dataclass(frozen=True)
class Kind:
    """Any instance of some types."""

    expected: str
    types: tuple[type, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.types)


@dataclass(frozen=True)
class Array:
    """A list, tuple or range, or what NumPy can make an array of: a data frame, a series."""

    expected: str

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list | tuple | range) or (
            hasattr(value, "__array__") and not isinstance(value, np.generic)
        )


@dataclass(frozen=True)
class Function:
    """Anything that can be called."""

    expected: str

    def accepts(self, value: Any) -> bool:
        return callable(value)


NONE = Kind("None", (type(None),))
BOOL = Kind("True or False", (bool, np.bool_))
POSITIVE = Number("a number > 0", above=0.0)

KERNEL = {
    "kernel": (Name(KERNELS), Function("a callable k(X, Z) that returns shape (len(X), len(Z))")),
    "gamma": (
        Name(("scale", "auto")),
        POSITIVE,
        Array("an array with one number per feature"),
    ),
    "degree": (Number("an integer >= 1", least=1, most=2**31 - 1, integer=True),),
    "coef0": (Number("a finite number"),),
}
RUN = {
    "class_weight": (NONE, Name(("balanced",)), Kind("a dict {class: weight}", (Mapping,))),
    "tol": (POSITIVE,),
    "max_iter": (Number("an integer >= 1", least=1, integer=True),),
    "time_limit": (NONE, Number("a number of seconds > 0", above=0.0)),
    "memory": (Number("a number of bytes >= 1000000", least=1e6), Kind('"auto" or a string such as "512MB"', (str,))),
    "n_jobs": (NONE, Number("an integer other than 0", most=2**31 - 1, integer=True, zero=False)),
    "warm_start": (BOOL,),
    "random_state": (
        NONE,
        Kind("an integer or a NumPy random generator", (Integral, np.random.RandomState, np.random.Generator)),
    ),
    "verbose": (BOOL, Number("an integer >= 0", least=0, integer=True)),
}


def check_parameters(estimator: Any, constraints: Mapping[str, tuple]) -> None:
    """Raise ValueError for the first parameter that none of its constraints accepts."""
    for parameter, allowed in constraints.items():
        value = getattr(estimator, parameter)
        if any(c.accepts(value) for c in allowed):
            continue
        advice = ""
        if isinstance(value, str):
            advice = nearest(value, [name for c in allowed if isinstance(c, Name) for name in c.names])
        elif isinstance(value, Integral) and value >= 2**31:
            advice = ": it is too large"
        expected = ", or ".join(c.expected for c in allowed)
        raise ValueError(
            f"{type(estimator).__name__} expected {parameter} to be {expected}, and found {value!r}{advice}"
        )


def check_offered(parameter: str, value: str, offered: Iterable[str], machine: str) -> None:
    """Raise ValueError when a machine does not offer a known loss, intercept or solver."""
    offered = tuple(offered)
    if value not in offered:
        raise ValueError(
            f'machine="{machine}" expected {parameter} to be one of {quoted(offered)}, and found "{value}": '
            f"use one of those, or another machine"
        )


def check_solver(solver: str, loss: str, expected: str | None) -> None:
    """Raise ValueError when a solver is for the dual of another loss; None: it takes any."""
    if expected not in (None, loss):
        raise ValueError(
            f'solver="{solver}" expected loss="{expected}", and found loss="{loss}": change one of them, '
            f'or use solver="auto"'
        )


def check_rows(estimator: Any, X: Any, y: Any = None, *, fit: bool, precomputed: bool) -> Any:
    """X as the core reads it: float32 or float64, rows contiguous, or CSR with sorted indices; copied only if need be.

    With `fit`, also y as a 1-D array of labels.
    """
    if not is_plain(estimator, X, y, fit):
        X, y = converted(estimator, X, y, fit, precomputed)
    if not fit:
        return canonical(X)
    estimator.n_features_in_ = X.shape[1]
    if precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(
            f'kernel="precomputed" expected a square matrix of shape (n_samples, n_samples) in fit, and found '
            f"{X.shape}: pass the kernel values between all training rows"
        )
    return canonical(X), y


def is_plain(estimator: Any, X: Any, y: Any, fit: bool) -> bool:
    """Whether X and y are such that scikit-learn's checks would leave them as they are, without a word.

    Told in a tenth of the time of those checks, which is more than all else that 100 rows need.
    """
    if not (type(X) is np.ndarray and X.ndim == 2 and X.dtype in PLAIN and X.flags.c_contiguous and X.size):
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
    """X and y by scikit-learn's checks, which also set or compare the number and the names of the features."""
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
        if "Input X contains" not in str(error):
            raise
        found = str(error).splitlines()[0].removeprefix("Input X contains ").rstrip(".")
        raise ValueError(
            f"X expected finite numbers, and found {found}: drop such rows, or fill the gaps first, "
            f"for example with make_pipeline(SimpleImputer(), ...)"
        ) from None
    check_classification_targets(y)
    return X, y


def canonical(X: Any) -> Any:
    """CSR with sorted indices, no duplicates and one index type (the caller's matrix is left alone)."""
    if not sp.issparse(X):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != X.indptr.dtype:
        wide = np.result_type(X.indices, X.indptr)
        X = type(X)((X.data, X.indices.astype(wide), X.indptr.astype(wide)), shape=X.shape)
    return X


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Weights as float64 of shape (n,): None is 1 everywhere, a number is repeated."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, float(sample_weight))
    w = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if w.shape != (n,):
        raise ValueError(f"sample_weight expected one number per row, shape ({n},), and found shape {w.shape}")
    if np.any(w < 0):
        i = int(np.argmin(w))
        raise ValueError(
            f"sample_weight expected numbers >= 0, and found {w[i]:g} in row {i}: "
            f"a weight of 0 removes a row, none can be negative"
        )
    if not np.any(w > 0):
        raise ValueError(
            "sample_weight expected at least one weight > 0, and found all weights to be zero: no row is left to fit"
        )
    return w


def check_classes(y: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of the used rows, sorted, and every used row's index among them."""
    classes, index = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        lost = " after rows of weight zero were removed" if len(rows) < len(y) else ""
        raise ValueError(
            f"y expected at least 2 classes, and found 1 class ({classes[0]!r}) in n_samples={len(rows)} rows{lost}: "
            f"add rows of another class"
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
            f"class_weight expected the classes {known[:10]} as keys, and found {strangers[0]!r}: "
            f"use the labels as they are in y"
        )
    if not np.all(np.isfinite(factor) & (factor > 0)):
        c = int(np.argmin(np.isfinite(factor) & (factor > 0)))
        raise ValueError(
            f"class_weight expected numbers > 0, and found {factor[c]:g} for class {known[c]!r}: "
            f"to leave a class out, drop its rows or give them sample_weight 0"
        )
    return factor


def check_priors(priors: Any, intercept: str, n_classes: int) -> np.ndarray | None:
    """Class priors as float64 of shape (n_classes,) that sum to 1."""
    if priors is None:
        return None
    if intercept != "exact":
        raise ValueError(
            f'priors expected intercept="exact", whose class sums they set, and found intercept="{intercept}"'
        )
    p = np.asarray(priors, dtype=np.float64)
    if p.shape != (n_classes,):
        raise ValueError(
            f"priors expected one number per class, shape ({n_classes},), and found shape {p.shape}: "
            f"give them in the order of classes_"
        )
    if not np.all(p > 0):
        raise ValueError(f"priors expected numbers > 0, and found {p.min():g}: every class needs a positive share")
    if abs(p.sum() - 1) > 1e-6:
        raise ValueError(f"priors expected to sum to 1, and found a sum of {p.sum():g}: divide them by their sum")
    return p / p.sum()


def column_moments(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column, a weight counting as so many repetitions of a row.

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
    """What to say of numbers whose squares overflow."""
    return ValueError(
        f"X expected numbers whose squares are finite, and found {value:.3g} in {where}: "
        f"scale the data first, for example with StandardScaler"
    )


def check_squares(X: Any, least: float = 1e-150) -> Any:
    """X itself, unless squares of its numbers overflow or all of them vanish."""
    largest = float(abs(X).max()) if X.shape[0] else 0.0
    if largest > 1e150:
        raise too_large(largest, "X")
    if 0 < largest < least:
        found = f"X expected numbers whose squares do not vanish, and found none above {largest:.3g}"
        raise ValueError(f"{found}: scale the data first, for example with MinMaxScaler")
    return X


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
        m = np.zeros(d)  # found twice: the second time without the rounding errors of a long sum
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
    """Warn when one column outweighs the usual one by more than 1000 in any distance or dot product.

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
        f"so the kernel sees little else and training is slow: scale the data first, "
        f"for example with make_pipeline({scaler}, {name}(...)).",
        UserWarning,
        stacklevel=stacklevel,
    )


def outweighed(scale: np.ndarray) -> bool:
    scale = scale[scale > 0]
    if len(scale) < 2 or scale.max() <= 1000 * scale.min():
        return False
    return bool(scale.max() > 1000 * np.median(scale))
