"""How far a core set may grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..fitting.frame import Frame
from ..fitting.limits import Limits
from ..fitting.resources import budget

SMALL_GRAM = 64 << 20  # bytes of a Gram matrix in float64 up to which a problem is solved as a whole


@dataclass(frozen=True)
class CoreLimits(Limits):
    """``epsilon`` is the paper's ball test, ``sample_size`` the rows that are drawn for one core vector."""

    epsilon: float | None = None
    sample_size: int | None = 59
    max_core: int = 1 << 62
    small: float = SMALL_GRAM


def core_limits(estimator: Any, frame: Frame, **more: Any) -> CoreLimits:
    """Those of an estimator in its frame."""
    limits = frame.limits(memory=budget(estimator.memory))
    own = dict(sample_size=estimator.sample_size, max_core=int(estimator.max_core), small=SMALL_GRAM)
    return CoreLimits(**vars(limits), **own, **more)
