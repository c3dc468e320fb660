"""Points inside the box of a quadratic program from which its solver starts; ``q`` is the program of `dual`."""

from __future__ import annotations

from typing import Any

import numpy as np

NEAR = 0.05  # relative change of a sum that few variables can bring about


def start(q: Any, begin: np.ndarray | None) -> np.ndarray:
    """A point inside the box: the caller's, else zero (hinge) or the middle (logistic)."""
    if q.entropy:
        return 0.5 * q.upper if begin is None else np.clip(begin, 1e-12 * q.upper, (1 - 1e-12) * q.upper)
    return np.zeros(len(q.upper)) if begin is None else np.clip(begin, 0, q.upper)


def start_with_sums(q: Any, begin: np.ndarray | None, cap: np.ndarray) -> np.ndarray:
    """A point inside the box whose groups have the sums ``q.sums``: close to ``begin``, or few rows at their bound."""
    groups, sums = q.groups, q.sums
    room = np.add.reduceat(cap, groups[:-1])
    if q.entropy:
        if begin is None:
            return cap * np.repeat(sums / room, np.diff(groups))
        return moved_inside(begin, cap, groups, sums)
    if begin is None:
        begin = np.zeros(len(cap))
        turn = np.lexsort((np.arange(len(cap)), rank_in(q.segments))) if len(sums) == 1 else np.arange(len(cap))
        begin[turn] = filled(cap[turn], groups, sums)
        return begin
    a = np.clip(begin, 0, cap)
    size, total = np.diff(groups), np.add.reduceat(a, groups[:-1])
    if np.all(np.abs(sums - total) <= NEAR * total):  # variables at a bound are likely right: free ones move first
        free = (a > 0) & (a < cap)
        for movable in (free, ~free):
            missing = sums - np.add.reduceat(a, groups[:-1])
            grows = np.repeat(missing > 0, size)
            change = filled(np.where(movable, np.where(grows, cap - a, a), 0.0), groups, np.abs(missing))
            a = np.clip(np.where(grows, a + change, a - change), 0, cap)
    for _ in range(50):
        total = np.add.reduceat(a, groups[:-1])
        if np.allclose(total, sums, rtol=1e-15, atol=0):
            break
        ratio = np.divide(sums, total, out=np.ones_like(sums), where=total > 0)
        a = np.minimum(a * np.repeat(ratio, np.diff(groups)), cap)
    return a + filled(cap - a, groups, np.maximum(sums - np.add.reduceat(a, groups[:-1]), 0))


def moved_inside(a: np.ndarray, u: np.ndarray, groups: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Shift the logits of each group by one number so that its sum is right: the interior point closest in entropy."""
    p = np.clip(a / u, 1e-12, 1 - 1e-12)
    t, size = np.log(p / (1 - p)), np.diff(groups)
    low, high = np.full(len(sums), -100.0), np.full(len(sums), 100.0)
    for _ in range(200):
        middle = 0.5 * (low + high)
        total = np.add.reduceat(u / (1 + np.exp(-(t + np.repeat(middle, size)))), groups[:-1])
        low, high = np.where(total < sums, middle, low), np.where(total < sums, high, middle)
    inside = u / (1 + np.exp(-(t + np.repeat(0.5 * (low + high), size))))
    inside *= np.repeat(sums / np.add.reduceat(inside, groups[:-1]), size)
    return np.minimum(inside, np.nextafter(u, 0))  # rounding may put a nearly full one on its bound, or beyond


def rank_in(segments: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... inside each class."""
    return np.arange(segments[-1]) - np.repeat(segments[:-1], np.diff(segments))


def filled(room: np.ndarray, groups: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Fill each group in order, every place up to its room, until the group has its sum."""
    before = np.cumsum(room) - room
    before -= np.repeat(before[groups[:-1]], np.diff(groups))
    return np.clip(np.repeat(sums, np.diff(groups)) - before, 0, room)
