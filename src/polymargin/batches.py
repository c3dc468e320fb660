"""Where the rows of a core-set fit come from: arrays (in memory or mapped from a file), Parquet files, or chunks.

A source has `map(function)`, which gives `function` one block of rows after another. Rows are numbered in the order in
which they come, and every pass sees the same rows in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .core_search import Block

BLOCK_BYTES = 32 << 20


def rows_in_block(X: Any) -> int:
    """Rows of a block of some megabytes."""
    n = max(X.shape[0], 1)
    size = (X.data.nbytes + X.indices.nbytes) / n if sp.issparse(X) else X.shape[1] * X.dtype.itemsize
    return int(np.clip(BLOCK_BYTES // max(size, 1), 1024, 1 << 18))


@dataclass
class Arrays:
    """Rows of an array or a CSR matrix; `y` are class indices."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None

    def map(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        step = rows_in_block(self.X)
        for at in range(0, len(self.y), step):
            part = slice(at, at + step)
            weight = None if self.weight is None else self.weight[part]
            yield function(Block(self.X[part], self.y[part], weight, at))
