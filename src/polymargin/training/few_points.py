"""Few points with rows of several classes each, and a C so large that rounding hides what the variables add up to.

Such rows contradict each other: their variables grow with C while the scores they make together stay of order one. The
interior point method (`interior`, `face`) is exact there. Its variables, one for each margin of equal rows, are then
given to the rows so that the sums over all rows of a point are those of the solution beyond the rounding of a single
coefficient; what is claimed is computed from the coefficients as they are returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import _core
from ..fitting.blas import one_thread
from ..fitting.limits import Limits
from ..kernels import UNIT_DIAGONAL, as_data
from ..machines import Loss
from . import face
from .certificates import EPS
from .equal_rows import Merged, groups
from .interior import Program, Real, summed
from .problem import Formulation, Solution
from .runs import Out

DEFINITE = ("rbf", "laplacian", "cosine", "linear", "poly")  # positive definite kernels
LARGE, LARGE_LOGISTIC = 1e10, 1e3  # C k(x, x) up to which the engine does well
MOST_SCORES, MOST_MARGINS = 400, 2000  # points times classes, and rows times margins
MOST_BINARY = 64
AT_BOUND = 1 - 1e-10


@dataclass(frozen=True)
class Cells:
    """The points: rows ``one.examples`` belong to them as ``point`` says.

    The losses of all rows have the factors ``upper``, those of equal rows together ``strength``: exact sums, so that
    equal rows at their bounds are so together.
    """

    one: Merged
    point: np.ndarray
    K: np.ndarray
    upper: np.ndarray

    @cached_property
    def strength(self) -> np.ndarray:
        return summed(len(self.one.first), self.one.group, self.upper.astype(Real))


def cells(one: Merged, upper: np.ndarray, n_scores: int, entropy: bool) -> Cells | None:
    """The cells of a problem with n_scores scores at a point; None if the method does not suit it."""
    e = one.examples
    large = LARGE_LOGISTIC if entropy else LARGE
    if e.kernel["kind"] not in DEFINITE or len(e) * n_scores > MOST_MARGINS:
        return None
    if e.kernel["kind"] in UNIT_DIAGONAL and upper.sum() * (1 + e.kernel["offset"]) < large:
        return None
    first, point = groups(e.X, e.rows, np.zeros_like(e.y))
    if len(first) == len(e) or len(first) * n_scores > MOST_SCORES:
        return None
    rows = np.ascontiguousarray(e.rows[first], dtype=np.int64)
    K = _core.gram(as_data(e.X), e.kernel, rows)
    at = Cells(one, point, np.asarray(K), upper)
    return at if np.all(np.isfinite(K)) and at.strength.max() * np.abs(K).max() >= large else None


def solve(f: Formulation, one: Merged, limits: Limits) -> Solution | None:
    """The solution for all rows; None if another method should be used."""
    e = replace(one.examples, kernel=f.kernel(one.examples.kernel))
    if f.nu is not None:
        return None
    at = cells(replace(one, examples=e), f.strength(one.weight, e.n_classes), e.n_classes, f.form.entropy)
    if at is None:
        return None
    p = program(f, at)
    found = within(p, limits)
    return None if found is None else solution(f, SharedRows(at, p, found, f.machine.margins is not None), limits.tol)


def within(p: Program, limits: Limits) -> face.Exact | None:
    """The optimum, unless a limit or the caller ends the search."""
    ended = False

    def go_on(n_iter: int, violation: float, dual: float) -> bool:
        nonlocal ended
        event = {"n_iter": n_iter, "violation": violation, "dual": dual, "seconds": 0.0}
        told = limits.progress is not None and limits.progress(event)
        ended = told or n_iter >= limits.max_iter or limits.left() <= 0
        return not ended

    try:
        with one_thread(), np.errstate(all="ignore"):
            found = face.solve(p, go_on)
    except (FloatingPointError, np.linalg.LinAlgError):
        return None
    return None if ended or not np.all(np.isfinite(found.a)) else found


def program(f: Formulation, at: Cells) -> Program:
    """The margins that the machine asks for, row by row."""
    e, T, m = at.one.examples, at.one.examples.n_classes, len(at.one.examples)
    V, g = directions(f, T)
    n = V.shape[1]  # margins of a row
    capped = bool(f.machine.margins and f.machine.margins.capped)
    row = np.repeat(np.arange(m), n) if capped else np.arange(m * n)
    strength = np.repeat(at.strength, n)
    square = 2 * f.machine.margins.square if f.machine.margins else 1.0
    E = np.zeros((m * n, 0))
    if f.intercept == "exact":  # constants with sum_c pi_c b_c = 0
        E = basis(f, T)[e.y]
    return Program(
        K=at.K, point=np.repeat(at.point, n), V=V[e.y].reshape(m * n, T), E=E, g=g[e.y].ravel(), row=row,
        u=at.strength if capped else strength, entropy=f.form.entropy,
        ridge=(1 / (square * strength)).astype(np.float64) if f.form.ridge else None,
    )  # fmt: skip


def basis(f: Formulation, T: int) -> np.ndarray:
    pi = np.full(T, 1 / T) if f.priors is None else np.asarray(f.priors, dtype=np.float64)
    return np.linalg.svd(pi[None, :])[2][1:].T


def directions(f: Formulation, T: int) -> tuple[np.ndarray, np.ndarray]:
    """V, (T, n, T), and g, (T, n): the margins of a row of each class."""
    unit, margins = np.eye(T, dtype=Real), f.machine.margins
    if margins is None:
        return (unit - Real(1) / T)[:, None, :], np.full((T, 1), f.form.target)
    own = unit if margins.reference == "own" else np.full((T, T), Real(margins.reference == "mean") / T)
    V, g, target = [], [], margins.own_target
    for y in range(T):
        rivals = [m for m in range(T) if m != y]
        first = [] if target is None else [y]
        V.append([unit[y] - own[y] if m == y else own[y] - unit[m] for m in first + rivals])
        g.append([float(target(T)) if m == y and target else 1.0 for m in first + rivals])
    return np.array(V), np.array(g, dtype=np.float64)


class SharedRows:
    """What the variables of equal rows are, row by row, and what they prove; ``expanded``: kept as coefficients B."""

    def __init__(self, at: Cells, p: Program, found: face.Exact, expanded: bool) -> None:
        self.at, self.p, self.b, self.n_iter, self.group = at, p, found.b, found.n_iter, at.one.group
        self.upper = at.upper
        self.capped = len(p.u) < len(p.row)
        sums = self.of_rows(found.a)
        self.a = self.filled(sums) if p.ridge is None and not p.entropy else self.proportional(sums)
        if not expanded:
            self.a = self.rounded(sums).astype(Real)
        self.B, S = self.coefficients(expanded)
        F = p.K @ (S := S.astype(np.float64))
        self.short = self.of_rows(p.g - p.margins(F, self.b))[self.group]
        self.square = 0.5 * float(np.sum(S * F))

    def of_rows(self, values: np.ndarray) -> np.ndarray:
        """Of margins, a row of the array for each row of the program."""
        return values.reshape(len(self.at.strength), -1, *values.shape[1:])

    def filled(self, sums: np.ndarray) -> np.ndarray:
        """Row after row up to its bound: these are exact, and of a difference of large sums one small rest remains."""
        end, begin = sums, np.zeros_like(sums)
        if self.capped:  # margins that share a bound come one after another
            end = np.cumsum(sums, axis=1)
            begin = end - sums
        a, parts = np.empty((len(self.group), sums.shape[1]), dtype=Real), np.cumsum(np.bincount(self.group))[:-1]
        for g, rows in enumerate(np.split(np.argsort(self.group, kind="stable"), parts)):
            upper = self.upper[rows, None].astype(Real)
            high = np.cumsum(upper, axis=0)
            a[rows] = np.clip(np.minimum(end[g], high) - np.maximum(begin[g], high - upper), 0, upper)
        return a

    def proportional(self, sums: np.ndarray) -> np.ndarray:
        """To bounds, as losses with curvature ask."""
        return sums[self.group] * (self.upper / self.at.strength[self.group])[:, None]

    def rounded(self, sums: np.ndarray) -> np.ndarray:
        """As variables are kept; without bounds to rest at, the first row of a group has what is left of its sum."""
        a = self.a.astype(np.float64)
        if self.p.ridge is not None or self.p.entropy:
            a[self.at.one.first] += (sums - summed(len(sums), self.group, a.astype(Real))).astype(np.float64)
        return np.maximum(a, 0)

    def coefficients(self, rounded: bool) -> tuple[np.ndarray, np.ndarray]:
        """B, (rows, T), and S, what it adds up to at the points.

        Rounding of B is taken off one row of each point, that with the smallest coefficients, and what this row cannot
        hold is left to the next point.
        """
        point, P = self.at.point[self.group], len(self.at.K)
        B = np.einsum("nk,nkt->nt", self.a, self.of_rows(self.p.V)[self.group])
        exact = summed(P, point, B)
        if not rounded:
            return B, exact
        B = B.astype(np.float64)
        size = np.where(self.a.max(axis=1) > 0, np.abs(B).max(axis=1), np.inf)
        turn = np.lexsort((size, point))
        S, left = summed(P, point, B.astype(Real)), np.zeros(B.shape[1], dtype=Real)
        for p, least in enumerate(turn[np.searchsorted(point[turn], np.arange(P))]):
            left += exact[p] - S[p]
            before = B[least].astype(Real)
            B[least] += left.astype(np.float64)
            S[p] += B[least] - before
            left -= B[least] - before
        return B, S

    def violation(self) -> float:
        """The largest violation of the optimality conditions over all rows."""
        a, u, short = self.a, self.upper[:, None], self.short
        if self.p.entropy:
            return float(np.abs(short - np.log(a / (u - a))).max())
        if self.p.ridge is not None:
            short, u = short - a * self.ridge, np.full(1, np.inf)
        down = np.where(a > 0, -short, -np.inf)
        if not self.capped:
            return float(np.maximum(np.where(a < u, short, 0.0), down).max())
        up, down = np.maximum(short.max(axis=1), 0.0), down.max(axis=1)
        return float(np.where(a.sum(axis=1) >= AT_BOUND * self.upper, up + down, np.maximum(up, down)).max())

    def status(self, tol: float) -> str | None:
        """None where it is not even what the coefficients' own rounding leaves."""
        violation, rounding = self.violation(), EPS * float(np.linalg.norm(self.a)) * float(np.abs(self.p.K).max())
        return "solved" if violation <= tol else "stalled" if violation <= rounding else None

    @property
    def ridge(self) -> np.ndarray:
        """Of every variable: equal rows have the ridge of their sum between them."""
        return self.of_rows(np.asarray(self.p.ridge))[self.group] / self.at.one.share[:, None]

    def values(self) -> tuple[float, float]:
        """The primal and dual values."""
        a, u, slack = self.a, self.upper[:, None], np.maximum(self.short, 0)
        if self.p.entropy:
            loss, conjugate = u * np.logaddexp(0, self.short), a * np.log(a / u) + (u - a) * np.log1p(-a / u)
        elif self.p.ridge is not None:
            loss, conjugate = 0.5 * slack**2 / self.ridge, 0.5 * self.ridge * a**2
        else:
            loss, conjugate = u * (slack.max(axis=1, keepdims=True) if self.capped else slack), np.zeros(1)
        linear = float(np.sum(self.of_rows(self.p.g)[self.group] * a))
        return self.square + float(loss.sum()), linear - self.square - float(conjugate.sum())


def solution(f: Formulation, rows: SharedRows, tol: float) -> Solution | None:
    """The solution of a joint machine with what its coefficients prove; None if that is too little."""
    status, (primal, dual), e = rows.status(tol), rows.values(), rows.at.one.examples
    if status is None:
        return None
    T, y, alpha = e.n_classes, e.y[rows.group], rows.a.max(axis=1).astype(np.float64)
    b, B = np.zeros(T), rows.B.T if f.machine.margins else None
    if f.intercept == "exact":
        b = basis(f, T) @ rows.b
    elif f.intercept == "regularized":
        b = (summed(T, y, alpha.astype(Real)) if B is None else B.astype(Real).sum(axis=1)).astype(np.float64)
    return Solution(
        alpha=alpha, B=None if B is None else np.ascontiguousarray(B), intercept=b, rho=1.0, status=status,
        signalled=False, n_iter=rows.n_iter, primal_objective=primal, dual_objective=dual,
        kkt_violation=rows.violation(), n_kernel_evals=rows.p.K.size,
    )  # fmt: skip


# --- binary machines with bias ---


def solve_columns(signs: np.ndarray, form: Loss, one: Merged, strength: np.ndarray, limits: Limits) -> Out | None:
    """As `reductions.columns` does; ``signs``, (columns, n_classes), is the code, ``strength`` that of all rows."""
    at = cells(one, strength, 1, form.entropy)
    if at is None:
        return None
    found, indices, values = [], [], []
    for sign in signs:
        some, index = part(at, sign)
        rows = binary(some, sign[one.examples.y[sign[one.examples.y] != 0]], form, limits)
        if rows is None:
            return None
        b = rows.B[:, 0].astype(np.float64)
        found.append(rows)
        indices.append(index[b != 0])
        values.append(b[b != 0])
    primal, dual = np.array([rows.values() for rows in found]).T
    return {
        "values": np.concatenate(values), "indices": np.concatenate(indices),
        "indptr": np.concatenate([[0], np.cumsum([len(v) for v in values])]),
        "bias": np.array([rows.b[0] for rows in found]), "primal": primal, "dual": dual,
        "status": "solved" if all(rows.status(limits.tol) == "solved" for rows in found) else "stalled",
        "violation": max(rows.violation() for rows in found), "n_iter": sum(rows.n_iter for rows in found),
        "evaluations": at.K.size, "signalled": False, "not_begun": 0, "rest": 0.0,
    }  # fmt: skip


def binary(at: Cells, sign: np.ndarray, form: Loss, limits: Limits) -> SharedRows | None:
    """The machine with a bias whose rows have these signs."""
    y, n = sign.astype(np.float64)[:, None], len(sign)
    p = Program(
        K=at.K, point=at.point, V=y.astype(Real), E=y, g=np.ones(n), row=np.arange(n), u=at.strength,
        ridge=(1 / at.strength).astype(np.float64) if form.ridge else None,
    )  # fmt: skip
    if (best := within(p, limits)) is None:
        return None
    rows = SharedRows(at, p, best, False)
    return None if rows.status(limits.tol) is None else rows


def part(at: Cells, sign: np.ndarray) -> tuple[Cells, np.ndarray]:
    """The cells of the classes with a sign, and the numbers of their rows."""
    one = at.one
    kept = np.flatnonzero(sign[one.examples.y])
    number = np.full(len(one.first), -1)
    number[kept] = np.arange(len(kept))
    rows = np.flatnonzero(number[one.group] >= 0)
    less = replace(
        one, first=np.searchsorted(rows, one.first[kept]), group=number[one.group[rows]], share=one.share[rows]
    )
    return Cells(less, at.point[kept], at.K, at.upper[rows]), rows
