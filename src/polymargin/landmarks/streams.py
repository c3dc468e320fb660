"""Rows that come in blocks: from files, from chunks, or from the workers of a cluster.

A sample of the rows, in memory, chooses the landmarks, trains the start and stands for the curvature of all; what the
losses and slopes of all rows are, passes over the source tell. A row is in the sample by its number, whatever block or
partition it comes in, and sums over blocks depend on these only by rounding.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from .. import _core, kernels
from ..core_vectors.search import Block, Rows, hashed, joined
from ..core_vectors.sources import Facts
from ..fitting.resources import row_bytes
from .choice import Basis
from .newton import Curved, Losses, Point, expanded
from .passes import HeldRows, Strong, point_of
from .training import Fit, LandmarkTask, finish_from, train

SAMPLE = 100_000  # rows, if they are no more than a quarter of the memory
CURVED, WIDEST = 16, 0.5  # curved rows per landmark that the sample shall have, and the s that is large enough


class Quiet:
    """A run without limits."""

    def tell(self, seconds: float) -> None:
        pass


QUIET = Quiet()


@dataclass
class StreamForm:
    """What a block's sums are made with, plain enough to travel."""

    kernel: kernels.Kernel
    losses: Losses
    C: float
    dtype: str
    Z: Any = None
    at: np.ndarray | Any = None
    threads: int = 1

    def record(self, A: Any, B: Any) -> dict[str, Any]:
        return self.kernel.record(A, B, False)


@dataclass
class RowDraw:
    """The rows of a block whose numbers are in the sample."""

    form: StreamForm
    share: float
    seed: int

    def __call__(self, block: Block) -> Rows:
        index = np.arange(block.first, block.first + len(block.y))
        return Rows.of(block, np.flatnonzero(hashed(index, self.seed) < self.share))

    def merged(self, a: Rows, b: Rows) -> Rows:
        return joined([a, b])


@dataclass
class Sums:
    """Loss, smooth loss and linear part; G and g; rows and kernel values."""

    total: np.ndarray
    G: np.ndarray
    g: np.ndarray
    n: int


@dataclass
class BlockSums:
    """The sums of a block at the coefficients U and b."""

    form: StreamForm
    U: np.ndarray
    b: np.ndarray
    s: float

    def __call__(self, block: Block) -> Sums:
        f, n = self.form, len(block.y)
        strength = np.full(n, f.C) if block.weight is None else f.C * block.weight
        core = _core.LandmarkRows(
            kernels.as_data(block.X), kernels.as_data(f.Z), f.record(f.Z, block.X), f.at, np.arange(n), block.y,
            strength, dtype=f.dtype, memory=1e6, n_jobs=f.threads, **f.losses.core(),
        )  # fmt: skip
        part = core.sums(0, n, self.U, self.b, self.s, np.zeros(n, dtype=np.float32))
        return Sums(np.array([part["loss"], part["smooth"], part["linear"]]), part["G"], part["g"], n)

    def merged(self, a: Sums, b: Sums) -> Sums:
        return Sums(a.total + b.total, a.G + b.G, a.g + b.g, a.n + b.n)


class SourceRows:
    """All rows of a source, as Newton steps see them; the sample has the curvature."""

    def __init__(self, source: Any, n: int, form: StreamForm, basis: Basis, sample: HeldRows) -> None:
        self.source, self.n, self.L, self.sample = source, n, basis.L, sample
        self.form = replace(form, Z=basis.Z, at=basis.at, dtype=basis.dtype)
        self.evaluations = 0

    def sums(self, W: np.ndarray, s: float, run: Any) -> Point:
        function = BlockSums(self.form, *expanded(self.L, W), s)
        found: list[Sums] = []
        begin = time.monotonic()
        for part in self.source.map(function):
            found = [function.merged(found[0], part)] if found else [part]
            run.tell((time.monotonic() - begin) * (self.n / max(found[0].n, 1) - 1))
        self.evaluations += found[0].n * len(self.L)
        return point_of(self.L, W, found[0].total, found[0].G, found[0].g)

    def effort(self) -> float:
        """What a Newton step takes, in passes: the sample's are short."""
        return 1.0

    def curved(self, point: Point, s: float, damping: float = 0.0, factor: Any = None) -> Curved:
        """By the sample; where too few of its rows are within s of a kink, those within more, as dense as these."""
        wide = s
        while True:
            there = self.sample.sums(point.W, wide, QUIET)
            w = there.curvature.astype(np.float64)
            if wide >= WIDEST or w.sum() ** 2 >= CURVED * (len(self.L) + 1) * (w**2).sum():
                found = self.sample.curved(there, wide, damping, factor)
                found.s = s  # the stage that it serves
                return found
            wide = min(2 * wide, WIDEST)


def train_source(task: LandmarkTask, source: Any, facts: Facts, form: StreamForm, how: Any, n_landmarks: Any) -> Fit:
    """The task, whose rows are still missing, on all rows of a source, of which the facts are known."""
    n, most = facts.n, int(min(SAMPLE, max(task.limits.memory / 4 / row_bytes(facts.some), 4096)))
    draw = RowDraw(form, most / n, task.limits.seed)
    parts = [rows for rows in source.map(draw) if len(rows)]
    rows = reduce(draw.merged, parts)
    rows = rows[np.argsort(rows.index)]
    task.X, task.rows, task.y = rows.X, np.arange(len(rows)), rows.y
    scale = 1.0 if len(rows) == n else n / len(rows)
    task.weight, task.numbers, task.sampled = rows.weight * scale, rows.index, len(rows) < n
    fit = train(task, how, n_landmarks)
    if fit.signalled or len(rows) == n:
        return fit
    rows_held = Strong(task.X, task.rows, task.y, task.f.C * task.weight)
    limits = replace(task.limits, memory=task.limits.memory / 2)

    def rows_of(basis: Basis) -> SourceRows:
        return SourceRows(source, n, form, basis, HeldRows(rows_held, basis, task.losses, limits))

    finish_from(task, fit, rows_of)
    return fit
