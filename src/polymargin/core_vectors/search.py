"""What one pass over the data does with a block of rows: draw samples, score, look for the farthest rows.

A pass is `source.map(function)`: the function takes a `Block` of rows and returns little. Nothing here knows whether
the blocks come from memory, from files or live on other machines, and nothing depends on where a block begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .. import _core, kernels
from ..fitting.checks import stacked
from ..fitting.examples import segments_of
from ..training.runs import FLOAT64_ROWS

EDGES = 4096  # values of rho among which the primal is minimized
NEGLIGIBLE = 1e-6  # relative error of P that counts as none
EXACT_VALUES = 1e8  # kernel values, well under a second


@dataclass
class Block:
    """Some rows of the data in their order: class indices y, positive weights (None: 1), the first row's number."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    first: int


class Source(Protocol):
    def map(self, function: Callable[[Block], Any]) -> Iterable[Any]: ...


@dataclass
class Rows:
    """Rows copied from the data, and their numbers there."""

    index: np.ndarray
    X: Any
    y: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, which: Any) -> Rows:
        return Rows(self.index[which], self.X[which], self.y[which], self.weight[which])

    @classmethod
    def of(cls, block: Block, which: np.ndarray) -> Rows:
        weight = np.ones(len(which)) if block.weight is None else block.weight[which]
        return cls(block.first + which, block.X[which], block.y[which], weight)


def joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    columns = zip(*((p.index, p.y, p.weight) for p in parts), strict=True)
    index, y, weight = (np.concatenate(column) for column in columns)
    return Rows(index, stacked([p.X for p in parts]), y, weight)


def by_class(y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The order of rows by class, and where each class begins there."""
    return np.argsort(y, kind="stable").astype(np.int64), segments_of(y, n_classes)


@dataclass(frozen=True)
class Form:
    """The problem without its rows: kernel, label kernel, ridge, and whether h is k(x, x) / 2 (a ball) or 0."""

    kernel: kernels.Kernel
    offset: float
    n_classes: int
    same: float
    other: float
    ridge: float
    ball: bool = False
    threads: int = 1
    error: float = 0.0  # of a kernel value in float32; 0: use float64

    @property
    def dtype(self) -> str:
        return "float32" if self.error > 0 else "float64"

    def rounded(self, some: Any, tol: float) -> Form:
        """The same with float32 kernel values, where they are bounded and, on some rows, exact enough for tol."""
        if self.kernel.name not in kernels.BOUNDED:
            return self
        error = kernels.float32_error(some, np.arange(some.shape[0]), self.record(some, some))
        return replace(self, error=error) if error < 1e-4 * tol else self

    def widened(self) -> Form:
        """The same with float64 kernel values."""
        return replace(self, error=0.0)

    def record(self, A: Any, B: Any) -> dict[str, Any]:
        # A and B may be any part of the data.
        return self.kernel.record(A, B, False) | {"offset": self.offset}

    def solver(self, X: Any, rows: np.ndarray, segments: np.ndarray, memory: float) -> Any:
        """Of the problem on these rows of X, sorted by class."""
        return _core.DualSolver(
            kernels.as_data(X), self.record(X, X), rows, segments, self.same, self.other, self.dtype, float(memory),
            self.threads,
        )  # fmt: skip

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) + b0."""
        n = X.shape[0]
        if self.kernel.name in kernels.UNIT_DIAGONAL:
            return np.full(n, 1.0 + self.offset)
        return _core.diagonal(kernels.as_data(X), self.record(X, X), np.arange(n), self.dtype)

    def largest(self, block: Block) -> float:
        """The largest Q[i, i] of a block, for which the smallest weight has the largest ridge."""
        if not len(block.y):
            return 0.0
        if self.kernel.name in kernels.UNIT_DIAGONAL:
            most = 1.0 + self.offset
        else:
            most = max(self.diagonal(block.X[at : at + 4096]).max() for at in range(0, len(block.y), 4096))
        light = 1.0 if block.weight is None else block.weight.min()
        return float(self.same * most + self.ridge / light)

    def linear(self, X: Any) -> np.ndarray:
        return 0.5 * self.diagonal(X) if self.ball else np.zeros(X.shape[0])


@dataclass
class Model:
    """A point of the problem: core vectors with positive coefficients that sum to 1."""

    rows: Rows
    alpha: np.ndarray
    dual: float  # D
    square: float  # ||w||^2
    mean: float  # a'g, g = Qa - h
    lowest: float  # the smallest component of g on the working set

    def scores(self, form: Form, X: Any, y: np.ndarray) -> np.ndarray:
        """s of these rows."""
        order, segments = by_class(self.rows.y, form.n_classes)
        s = _core.own_scores(
            kernels.as_data(X), kernels.as_data(self.rows.X), form.record(X, self.rows.X), order,
            segments, self.alpha[order], np.zeros(form.n_classes), y, form.same, form.other,
            form.dtype, form.threads,
        )  # fmt: skip
        return s - form.linear(X) if form.ball else s


# ---- what a pass does with a block ----


def hashed(index: np.ndarray, seed: int) -> np.ndarray:
    """A random number in [0, 1) for each row, from its number alone (SplitMix64): the same wherever the row is."""
    return mixed(index.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % (1 << 64))) / 2.0**64


def mixed(z: np.ndarray) -> np.ndarray:
    """The bits of 64-bit numbers, mixed so that similar numbers become unlike."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


@dataclass
class Draw:
    """Draws a random sample: the rows of every class with the smallest random numbers. Also the largest Q[i, i]."""

    form: Form
    seed: int
    limit: np.ndarray  # per class: more rows than needed have smaller numbers

    def __call__(self, block: Block) -> tuple[Rows, np.ndarray, float]:
        key = hashed(block.first + np.arange(len(block.y)), self.seed)
        which = np.flatnonzero(key < self.limit[block.y])
        return Rows.of(block, which), key[which], self.form.largest(block)


def draw(source: Source, form: Form, counts: np.ndarray, per_class: int, seed: int) -> tuple[Rows, float]:
    """A sample with up to `per_class` rows of every class, in random order and with the classes taking turns.

    With it comes the largest Q[i, i] of all rows.
    """
    limit = (per_class + 8 * np.sqrt(per_class) + 32) / np.maximum(counts, 1)
    parts = list(source.map(Draw(form, seed, limit)))
    rows, key = joined([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    order = np.lexsort((key, rows.y))
    starts = np.searchsorted(rows.y[order], np.arange(len(counts)))
    rank = np.arange(len(order)) - starts[rows.y[order]]
    order, rank = order[rank < per_class], rank[rank < per_class]
    return rows[order[np.argsort(rank, kind="stable")]], max(p[2] for p in parts)


@dataclass
class Found:
    """The result of a search: moments of the shortfalls, and the rows farthest away, the worst first."""

    moments: np.ndarray  # for every edge: sums of w / r, w s / r, w s^2 / r over the rows that end there
    lowest: float
    rows: Rows
    scores: np.ndarray
    outside: int  # how many there are
    n: int


@dataclass
class Search:
    """Scores a block, and keeps up to `count` rows with a score below `bound` that are not in the working set."""

    form: Form
    model: Model
    low: float
    high: float
    bound: float
    count: int
    known: np.ndarray

    @property
    def edges(self) -> np.ndarray:
        return np.linspace(self.low, self.high, EDGES + 1)

    def __call__(self, block: Block) -> Found:
        s = self.model.scores(self.form, block.X, block.y)
        short = np.flatnonzero(s < max(self.high, self.bound))
        v, i = s[short], block.first + short
        moments = np.zeros((3, EDGES + 2))
        if self.form.ridge > 0:
            # A row counts at the first edge that is not below its score; beyond the last edge it does not count.
            at = np.ceil((v - self.low) * (EDGES / (self.high - self.low)))
            at = np.clip(at, 0, EDGES + 1).astype(np.int64)
            strength = np.full(len(v), 1.0) if block.weight is None else block.weight[short]
            strength = strength / self.form.ridge
            for k in range(3):
                moments[k] = np.bincount(at, strength * v**k, EDGES + 2)
        fresh = np.flatnonzero((v < self.bound) & ~np.isin(i, self.known, assume_unique=True))
        outside, fresh = len(fresh), fresh[np.lexsort((i[fresh], v[fresh]))[: self.count]]
        lowest = float(s.min(initial=np.inf))
        return Found(moments, lowest, Rows.of(block, short[fresh]), v[fresh], outside, len(s))

    def merged(self, a: Found, b: Found) -> Found:
        rows, scores = joined([a.rows, b.rows]), np.concatenate([a.scores, b.scores])
        order = np.lexsort((rows.index, scores))[: self.count]
        lowest, outside = min(a.lowest, b.lowest), a.outside + b.outside
        return Found(a.moments + b.moments, lowest, rows[order], scores[order], outside, a.n + b.n)

    def primal(self, found: Found) -> tuple[float, float, Search | None]:
        """P, the rho that attains it, and a search that would measure P more exactly, if necessary.

        Rounding of kernel values, which enters P - D four times, is added to P. Where D has none and float64 values of
        all rows are cheap, the more exact search has none either.
        """
        rounding = 4 * self.form.error
        square = self.model.square + rounding
        cheap = len(self.known) <= FLOAT64_ROWS and found.n * len(self.model.alpha) <= EXACT_VALUES
        exact = replace(self, form=self.form.widened()) if cheap and rounding > 0 else None
        if self.form.ridge == 0:  # no slack: rho is the smallest score
            return square - 2 * found.lowest, found.lowest, exact
        n, s, ss = np.cumsum(found.moments[:, :-1], axis=1)
        # Rows between rho and the next edge count, too, which makes P no smaller: any rho up to an edge will do.
        edges = self.edges
        rho = np.minimum(edges, np.divide(1 + s, n, out=np.full(len(n), np.inf), where=n > 0))
        value = square - 2 * rho + np.maximum((n * rho - 2 * s) * rho + ss, 0)
        best = int(np.argmin(value))
        low, high, P = edges[best - 1] if best else found.lowest, edges[best], float(value[best])
        too_much = found.moments[0, best] * (high - rho[best]) ** 2  # at most
        # Beside its own terms, and beside the gap's unit: where D is far below, P is small beside that.
        terms = square + 2 * abs(rho[best]) + abs(P - square + 2 * rho[best])
        rough = too_much > NEGLIGIBLE * min(terms, max(abs(P), abs(self.model.dual))) and low < high
        if rough:
            exact = replace(exact or self, low=float(low) - rounding, high=float(high) + rounding)
        return P, float(rho[best]), exact


def best_rho(s: np.ndarray, ridge: np.ndarray) -> float:
    """The root of sum_i (rho - s_i)_+ / r_i = 1, where the primal is smallest; without slack the smallest s."""
    if not np.all(ridge > 0):
        return float(s.min())
    order = np.argsort(s)
    n, total = np.cumsum(1 / ridge[order]), np.cumsum(s[order] / ridge[order])
    rho = (1 + total) / n  # if the first k + 1 rows fall short
    k = int(np.argmax(np.append(rho[:-1] <= s[order][1:], True)))
    return float(rho[k])
