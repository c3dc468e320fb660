"""How far a solver may go: tolerance, steps, time, memory, threads, and who may stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Limits:
    """``deadline`` is a time of `time.monotonic`; ``progress`` gets the solver's state and stops it with True."""

    tol: float
    max_iter: int
    deadline: float = np.inf
    memory: float = np.inf
    threads: int = 1
    progress: Callable[[dict[str, Any]], bool] | None = None
    seed: int = 0

    def left(self) -> float:
        """Seconds to the deadline."""
        return max(self.deadline - time.monotonic(), 0.0)


class Ended(Exception):
    """Raised when a fit ends before it is solved; the argument is its status."""


def seed_of(random_state: Any) -> int:
    """A seed for the core; None means always the same one, so that fits repeat."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(random_state) % 2**64
