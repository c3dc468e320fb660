"""How large a core set will become, from how many rows are outside of the ball while it grows.

With m core vectors V(m) rows of the data are outside. Where few rows decide, V falls faster than m grows; where classes
overlap it hardly falls at all, since most rows near a boundary are core vectors themselves. In logarithms V falls along
a line of which the last doubling of m tells the slope, V(m) = V_0 (m / m_0)^-s, and the growth ends about where
V(m) = m: what is outside then joins at once. Core vectors forecast before the first pass over the rows:
ten Gaussians 607 of 656, MNIST 3,190 of 3,329, KDD Cup 99 3,270 of 3,715, two overlapping Gaussians 8,031 of 12,791.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

ENOUGH = 1024  # no forecast with fewer core vectors: the slope may still become steeper
APART = 1.5  # smallest ratio of two core sizes that give a slope
BEYOND = 1.5  # a forecast of this many times the largest core is certainly out of reach
DENSE, MANY = 1 / 4, 1000  # share and number of rows: with more core vectors, solving all rows at once is faster
# The forecast must exceed that by this factor: for five overlapping classes it was 9,500, in truth 3,600.
FORETOLD = 2.4


def dense(n: int) -> int:
    """The number of core vectors of n rows above which solving all rows at once is faster."""
    return max(int(DENSE * n), MANY)


@dataclass
class Forecast:
    """`seen` are core sizes with the rows outside, as they came; `ends` what they forecast."""

    seen: list[tuple[int, float]] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    @property
    def end(self) -> float | None:
        """The expected number of core vectors at the end, or None while there is no basis for a forecast."""
        return self.ends[-1] if self.ends else None

    def see(self, core: int, outside: float) -> None:
        before = [(m, V) for m, V in self.seen if APART * m <= core]
        self.seen.append((core, outside))
        if core < ENOUGH // 2 or not before:
            return
        m, V = before[-1]
        slope = np.log(V / max(outside, 1.0)) / np.log(core / m)
        self.ends.append(core * max(outside / core, 1.0) ** (1 / (1 + max(slope, 0.0))))

    def hopeless(self, most: int, beyond: float = BEYOND) -> bool:
        """Whether, by the last two forecasts, the core set will exceed `beyond` times `most`."""
        if len(self.ends) < 2 or self.seen[-1][0] < min(ENOUGH, most):
            return False
        return min(self.ends[-2:]) > beyond * most
