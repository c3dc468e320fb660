"""All columns of a code in one call of the compiled solver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core, kernels
from ..fitting.examples import Examples
from ..fitting.limits import Limits
from ..fitting.progress import Stopped
from ..machines import Loss
from ..training import few_points
from ..training.equal_rows import merged
from ..training.pair_codes import AllPairs, pair_code
from ..training.runs import in_precision, scrutiny, value_type

MOST_FEATURES = 256  # of rows whose weights a column's sum may not move
SUM_FIRST = 1e6  # weight of the sum beside theirs
FLOAT64_COLUMN = 512  # rows whose kernel values are float64 in any case
Start = tuple[sp.csr_array, np.ndarray]
Out = dict[str, Any]
Code = np.ndarray | AllPairs
Which = slice | np.ndarray  # columns of a code; of millions all are a slice, which copies nothing


def n_columns(code: Code) -> int:
    """Of an int8 code with a row per class, or of pairs of classes."""
    return len(code) if code.dtype == np.int64 else code.shape[1]  # type: ignore[union-attr]


def solve_columns(
    code: Code, form: Loss, strength: np.ndarray, e: Examples, limits: Limits, start: Start | None = None
) -> dict[str, Any]:
    """Solve all columns; ``strength`` is the factor on the loss of each row. Coefficients come back in their order.

    ``code`` is int8 with a row per class, or int64 pairs of classes. ``start`` are coefficients with a row per column
    of the code and a column per row of X, and biases. Equal rows are trained as one.
    """
    begin = None if start is None else (start[0][:, e.rows], start[1])
    if (one := merged(e)) is None:
        return in_order(solve_rows(code, form, strength, e, limits, begin), len(e))
    total = one.sums(strength)
    if n_columns(code) <= few_points.MOST_BINARY:
        exact = few_points.solve_columns(signs(code, e.n_classes), form, one, strength, limits)
        if exact is not None:
            return exact
    if begin is not None:
        begin = begin[0] @ one.indicator, begin[1]
    out = solve_rows(code, form, total, one.examples, limits, begin)
    upper = strength if form.box and not form.ridge else None
    return in_order(out | one.shared_columns(out["indptr"], out["indices"], out["values"], upper), len(e))


def in_order(out: Out, n: int) -> Out:
    """The same with increasing indices in every column."""
    B = matrix(out, n)
    B.sort_indices()
    return out | {"indptr": B.indptr, "indices": B.indices, "values": B.data}


def solve_rows(
    code: Code, form: Loss, strength: np.ndarray, e: Examples, limits: Limits, start: Start | None
) -> dict[str, Any]:
    """The same, row by row; the columns of ``start`` are the rows of the examples."""
    upper, ridge = bounds(form, strength)
    order = e.order
    begin = None if start is None else (start[0][:, order], start[1])
    values = value_type(e, strength, limits.tol, FLOAT64_COLUMN)

    def stop(n_iter: int, violation: float, dual: float, seconds: float) -> bool:
        event = {"n_iter": n_iter, "violation": violation, "dual": dual, "seconds": seconds}
        ended = limits.progress is not None and bool(limits.progress(event))
        # The search that the fit is part of has no use for its model, and to pack millions of columns takes seconds.
        if ended and isinstance(error := getattr(limits.progress, "error", None), Stopped):
            raise error
        return ended

    def attempt(dtype: str, task: tuple[Which, Start | None]) -> Out:
        which, begin = task
        core = _core.CodeSolver(
            kernels.as_data(e.X), e.kernel, e.sorted_rows, e.segments, dtype, float(limits.memory), limits.threads
        )
        some = code[which] if code.dtype == np.int64 else code[:, which]
        out = core.solve(
            "all pairs" if isinstance(some, AllPairs) else np.ascontiguousarray(some), upper[order], ridge[order],
            arrays(begin, which), limits.tol, limits.max_iter, limits.left(),
            None if limits.progress is None else stop,
        )  # fmt: skip
        return out | {"evaluations": core.evaluations, "which": which}

    def norms(out: Out) -> np.ndarray:
        share = values.share[order[out["indices"]]]
        norm = np.sqrt(matrix(out | {"values": (share * out["values"]) ** 2}, len(e)).sum(axis=1))
        slopes = matrix(out | {"values": strength[order[out["indices"]]]}, len(e)).sum(axis=1)
        return norm * scrutiny(slopes, out["primal"], limits.tol, form.ridge)

    def point(out: Out) -> tuple[Which, Start | None]:
        if out["status"] != "solved":
            return out["which"], (matrix(out, len(e)), out["bias"])
        # With a ridge, Newton's method from the start is quicker than steps.
        hidden = np.flatnonzero(values.error * norms(out) > 1)
        return hidden, begin if form.ridge else (matrix(out, len(e)), out["bias"])

    def largest(out: Out) -> float:
        return float(norms(out).max(initial=0.0))

    task = slice(None), begin
    out = in_precision(attempt, values, task, point, largest, lambda first, later: joined(first, later, len(e)))
    return out | {"indices": order.astype(out["indptr"].dtype)[out["indices"]]}  # of one type, or SciPy copies them


def matrix(out: Out, n: int) -> sp.csr_array:
    """The coefficients that the core has found, a row per column of the code."""
    return sp.csr_array((out["values"], out["indices"], out["indptr"]), shape=(len(out["bias"]), n))


def arrays(begin: Start | None, which: Which) -> tuple | None:
    """A start of these columns, as the core takes it."""
    if begin is None:
        return None
    b = begin[0][which]
    b.sort_indices()
    return b.indptr.astype(np.int64), b.indices.astype(np.int64), b.data, begin[1][which]


def joined(first: Out, later: Out, n: int) -> Out:
    """What was found `first`, with those columns of it that were solved once more as they were `later`."""
    which = later["which"]
    out = first | {name: later[name] for name in ("status", "signalled")}
    out |= {name: first[name] + later[name] for name in ("n_iter", "evaluations")}
    # A limit may have left it no time. Where it is solved, float32 values may have promised more than there is.
    if later["status"] != "solved" and later["dual"].sum() < first["dual"][which].sum():
        return out
    again = np.arange(len(first["bias"]))[which]
    for name, at in {"bias": again, "dual": again[later["begun"]], "primal": again[later["begun"]]}.items():
        out[name] = first[name].copy()
        out[name][again] = 0.0
        out[name][at] = later[name]
    others = np.setdiff1d(np.arange(len(first["bias"])), again)
    B = sp.vstack([matrix(first, n)[others], matrix(later, n)], format="csr")[np.argsort(np.r_[others, again])]
    violation = later["violation"] if len(others) == 0 else max(first["violation"], later["violation"])
    out |= {"indptr": B.indptr, "indices": B.indices, "values": B.data}
    return out | {"violation": violation, "not_begun": later["not_begun"], "rest": later["rest"]}


def signs(code: Code, n_classes: int) -> np.ndarray:
    """The entry of each class in each column, (columns, n_classes)."""
    code = np.asarray(code)
    return pair_code(code, n_classes).T if code.dtype == np.int64 else code.T


def bounds(form: Loss, strength: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Upper bounds and ridge of the variables."""
    n = len(strength)
    return strength if form.box else np.full(n, np.inf), 1 / strength if form.ridge else np.zeros(n)


def balance(out: dict[str, Any], upper: np.ndarray, X: np.ndarray) -> None:
    """Make the coefficients of every column sum to exactly zero, by those off their bounds. X are the centered rows.

    A sum of 1e-12, which steps leave, is no matter near the origin; times a center that is far away it is one. What
    takes it away leaves the weights as they are, and a rounding. Then all are multiples of the last bit of the column's
    largest one: their sum is an integer.
    """
    indptr, indices, values = out["indptr"], out["indices"], out["values"].copy()
    for first, last in zip(indptr[:-1], indptr[1:], strict=True):
        z, rows = values[first:last], indices[first:last]
        total = math.fsum(z)
        room = np.maximum(np.minimum(np.abs(z), upper[rows] - np.abs(z)), 0.0)
        if total == 0 or not abs(total) < 0.1 * room.sum():
            continue
        moved = z + without_sum(total, room, X, rows)
        unit = np.ldexp(1.0, np.frexp(np.abs(z).max())[1] - 52)  # there is room for what the largest one gains
        number = np.where(room > unit, np.rint(moved / unit), np.trunc(moved / unit))
        most = np.argmax(room)
        left = math.fsum(number)
        number[most] -= left
        values[first:last] = moved if abs(left) * unit >= room[most] else number * unit
    out["values"] = values


def without_sum(total: float, room: np.ndarray, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Changes of coefficients with the sum -total that are small beside their room, and move no weight if they can."""
    change = -total / room.sum() * room
    most = np.argsort(-room)[: 4 * (X.shape[1] + 1)]
    if X.shape[1] <= MOST_FEATURES:
        scale = np.abs(X[rows]).max(initial=np.finfo(float).tiny)
        A = np.vstack([np.full(len(most), SUM_FIRST), X[rows[most]].T / scale]) * room[most]
        few = np.linalg.lstsq(A, np.r_[-SUM_FIRST * total, np.zeros(len(A) - 1)], rcond=1e-12)[0]
        if np.abs(few).max() < 0.5:
            change = np.zeros(len(room))
            change[most] = few * room[most]
    return change
