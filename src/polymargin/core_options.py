"""The limits and the seed of an estimator, as growing core sets take them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .progress import Progress
from .resources import budget


def run_options(estimator: Any, begin: float, bar: Progress, epsilon: float | None = None) -> dict[str, Any]:
    """The limits of an estimator that began to fit at `begin`, as `Growth` takes them."""
    limit = np.inf if estimator.time_limit is None else estimator.time_limit - (time.perf_counter() - begin)
    return dict(
        tol=float(estimator.tol),
        epsilon=epsilon,
        sample_size=estimator.sample_size,
        max_core=int(estimator.max_core),
        max_iter=int(estimator.max_iter),
        deadline=time.monotonic() + limit,
        memory=budget(estimator.memory),
        report=bar if bar.wanted else None,
    )


def seed_of(random_state: Any) -> int:
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1 << 32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    return 0 if random_state is None else int(random_state)
