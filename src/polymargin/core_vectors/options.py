"""How far a core set may grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..fitting.frame import Frame
from ..fitting.limits import Limits
from ..fitting.resources import budget

SMALL_GRAM = 64 << 20  # bytes of a Gram matrix in float64 up to which a problem is solved as a whole
MOST_CORE = 20_000  # core vectors, where the user names no number


@dataclass(frozen=True)
class CoreLimits(Limits):
    """``epsilon`` is the paper's ball test, ``sample_size`` the rows that are drawn for one core vector."""

    epsilon: float | None = None
    sample_size: int | None = 59
    max_core: int = 1 << 62
    bounded: bool = True  # whether max_core holds where all rows at once are solved in reasonable time, too
    small: float = SMALL_GRAM


def core_limits(estimator: Any, frame: Frame, **more: Any) -> CoreLimits:
    """Those of an estimator in its frame."""
    limits = frame.limits(memory=budget(estimator.memory))
    most = estimator.max_core
    own = dict(sample_size=estimator.sample_size, max_core=int(most or MOST_CORE), bounded=most is not None)
    return CoreLimits(**vars(limits), **own, small=SMALL_GRAM, **more)
