"""Passes over the rows of a landmark machine that are in memory."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..fitting.limits import Limits
from ..kernels import as_data
from .choice import Basis
from .newton import FEWEST, ROWS, Curved, Losses, Point, expanded, moments

PART = 8  # of the rows, at most, stand for the curvature of all where these are few
FLAT = 1e-6  # of the mean curvature: rows with less have no part in a Newton step
STEP_NUMBERS, ROW_BYTES = 18.0, 40.0  # bytes, measured: per kernel value of a Newton step, per row
STEP, WORK = 1 << 16, 1 << 32  # examples between two looks at the clock, and these times landmarks and classes, at most
TILE = 256  # the core's: steps are multiples of it
STEP_PASSES = 6.0  # that a Newton step takes besides its own, if the curvature is that of all rows


@dataclass(frozen=True)
class Strong:
    """Rows X[rows] with class indices y and strengths: C times their weights."""

    X: Any
    rows: np.ndarray
    y: np.ndarray
    strength: np.ndarray


class HeldRows:
    """Rows in memory, and their landmarks."""

    def __init__(self, e: Strong, basis: Basis, losses: Losses, limits: Limits) -> None:
        self.y, self.strength, self.L, self.losses, self.seed = e.y, e.strength, basis.L, losses, limits.seed
        self.n = len(e.y)
        self.core = _core.LandmarkRows(
            as_data(e.X), as_data(basis.Z), basis.kernel(basis.Z, e.X), basis.at,
            np.ascontiguousarray(e.rows, dtype=np.int64), e.y, e.strength, dtype=basis.dtype,
            memory=max(limits.memory - self.step_bytes(), 1.0), n_jobs=limits.threads, **losses.core(),
        )  # fmt: skip

    def most_curved(self) -> int:
        """About how many rows stand for the curvature of all."""
        n, m = len(self.y), len(self.L)
        return max(min(FEWEST, n // PART), ROWS * m)

    def step_bytes(self) -> float:
        """What a Newton step takes besides kernel values of all rows: its own, their products, arrays of n numbers."""
        n, m = len(self.y), len(self.L)
        return STEP_NUMBERS * m * min(n, self.most_curved()) + ROW_BYTES * n

    def sums(self, W: np.ndarray, s: float, run: Any) -> Point:
        """P, S, V at W."""
        U, b = expanded(self.L, W)
        n, T, m = len(self.y), len(W), len(self.L)
        curvature = np.zeros(n, dtype=np.float32)
        total, G, g = np.zeros(3), np.zeros(T * m), np.zeros(T)
        step, begin = max(TILE, min(STEP, WORK // (T * m) // TILE * TILE)), time.monotonic()
        for at in range(0, n, step):
            if at:
                run.tell((time.monotonic() - begin) * (n - at) / at)
            end = min(at + step, n)
            part = self.core.sums(at, end, U, b, s, curvature[at:end])
            total += (part["loss"], part["smooth"], part["linear"])
            G += part["G"]
            g += part["g"]
        return point_of(self.L, W, total, G, g, curvature)

    def effort(self) -> float:
        """What a Newton step takes, in passes."""
        return 1 + STEP_PASSES * min(1.0, self.most_curved() / len(self.y))

    def curved(self, point: Point, s: float, damping: float = 0.0, factor: Any = None) -> Curved:
        """Rows that stand for the curvature at a point: all, or enough of them, the more curved the likelier."""
        n = len(self.y)
        weight = point.curvature + (self.losses.n_classes * damping * self.strength).astype(np.float32)
        share = drawn_shares(weight, self.most_curved())
        at = np.flatnonzero(np.random.default_rng(self.seed).random(n, dtype=np.float32) < share)
        at = at if len(at) else np.arange(min(n, FEWEST))
        share = np.maximum(share, np.float32(1e-30))
        K, a = self.core.some(at, *expanded(self.L, point.W), s)
        return Curved(self.L, K, self.y[at], a, self.strength[at], share[at], self.losses, s, damping, factor)


def point_of(
    L: np.ndarray, W: np.ndarray, total: np.ndarray, G: np.ndarray, g: np.ndarray, curvature: np.ndarray | None = None
) -> Point:
    """What sums over all rows say of W: `total` are those of losses, smooth losses and linear parts."""
    half = 0.5 * float(np.vdot(W, W))
    V = moments(L, G.reshape(len(W), -1), g)
    return Point(W, half + total[0], half + total[1], total[2], V, curvature)


def drawn_shares(weight: np.ndarray, most: int) -> np.ndarray:
    """Probabilities that follow the weights, with about the sum `most`, at most 1; 0 where there is next to none."""
    total = float(weight.sum(dtype=np.float64))
    if not total > 0:
        return np.ones(len(weight), dtype=np.float32)
    curved = weight > FLAT * total / len(weight)
    if np.count_nonzero(curved) <= most:
        return curved.astype(np.float32)
    share = np.minimum(weight * (most / total), 1.0)
    cut, free = most - float(share.sum(dtype=np.float64)), float(share[share < 1].sum(dtype=np.float64))
    if free > 0.01 * cut:  # what was cut off goes to the others
        share = np.minimum(share * (1 + cut / free), 1.0)
    return share.astype(np.float32)
