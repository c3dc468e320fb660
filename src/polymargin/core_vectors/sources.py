"""Where the rows of a core-set fit come from: arrays (in memory or mapped from a file), Parquet files, or chunks.

A source has `map(function)`, which gives `function` one block of rows after another. Rows are numbered in the order in
which they come, and every pass sees the same rows in the same order, so no more than a block is ever held.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .. import kernels
from ..fitting.checks import canonical, check_classes, check_numbers, check_sample_weight, class_weights
from ..fitting.labels import check_labels
from ..fitting.resources import row_bytes
from ..fitting.scales import column_moments
from .search import Block

BLOCK_BYTES = 32 << 20
PARQUET_ROWS = 1 << 16
SOME = 1024  # rows kept to decide about the arithmetic


def rows_in_block(X: Any) -> int:
    """Rows of a block of some megabytes at most, and few enough to look at the clock after each."""
    return int(np.clip(BLOCK_BYTES // max(row_bytes(X), 1), 1024, 1 << 14))


@dataclass
class Arrays:
    """Rows of an array or a CSR matrix, numbered from `first`; `y` are class indices."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    first: int = 0

    def map(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        step = rows_in_block(self.X)
        for at in range(0, len(self.y), step):
            part = slice(at, at + step)
            weight = None if self.weight is None else self.weight[part]
            yield function(Block(self.X[part], self.y[part], weight, self.first + at))


def checked(chunk: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """X, y and weights of one chunk (X, y) or (X, y, sample_weight), rows of weight 0 left out."""
    try:
        X, y, *weight = chunk
    except (TypeError, ValueError):
        raise ValueError(
            f"expected a chunk to be (X, y) or (X, y, sample_weight), got {type(chunk).__name__}"
        ) from None
    X = check_numbers(X, "X of every chunk")
    check_labels(y)
    y = np.asarray(y)
    check_classification_targets(y)
    if y.shape != X.shape[:1]:
        raise ValueError(f"expected y of a chunk to have one label per row, shape ({X.shape[0]},), got shape {y.shape}")
    weight = check_sample_weight(weight[0] if weight else None, len(y))
    used = weight > 0
    return (X, y, weight) if used.all() else (canonical(X[used]), y[used], weight[used])


@dataclass
class Facts:
    """What a first pass over the data learns."""

    n: int
    labels: np.ndarray
    counts: np.ndarray  # rows of each label
    weights: np.ndarray  # and their total weight
    mean: np.ndarray
    variance: np.ndarray
    some: Any  # rows

    @classmethod
    def of(cls, X: Any, y: np.ndarray, weight: np.ndarray) -> Facts:
        labels, index, counts = np.unique(y, return_inverse=True, return_counts=True)
        moments = column_moments(X, weight)
        some = X[: min(SOME, len(y))].copy()  # a view would keep the whole chunk
        return cls(len(y), labels, counts, np.bincount(index, weight), *moments, some)

    def merged(self, other: Facts) -> Facts:
        labels = np.union1d(self.labels, other.labels)
        counts, weights = np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels))
        for part in (self, other):
            at = np.searchsorted(labels, part.labels)
            counts[at] += part.counts
            weights[at] += part.weights
        a, b = self.weights.sum(), other.weights.sum()
        gap = other.mean - self.mean
        mean = self.mean + gap * (b / (a + b))
        variance = (a * self.variance + b * other.variance + gap**2 * (a * b / (a + b))) / (a + b)
        return Facts(self.n + other.n, labels, counts, weights, mean, variance, self.some)


@dataclass(frozen=True)
class Coding:
    """What becomes of a chunk: class indices in place of its labels, class weights in its weights, `change`d rows."""

    labels: np.ndarray
    factor: np.ndarray  # weights of the classes
    change: Callable[[Any], Any] | None = None

    def __call__(self, X: Any, y: np.ndarray, weight: np.ndarray, first: int) -> Arrays:
        index = np.searchsorted(self.labels, y).astype(np.int64)
        weight = weight * self.factor[index]
        return Arrays(self.change(X) if self.change else X, index, None if np.all(weight == 1) else weight, first)


@dataclass
class Stream:
    """Chunks (X, y) or (X, y, sample_weight) that `start()` yields again for every pass.

    `facts` comes first; it finds the labels that the coding refers to.
    """

    start: Callable[[], Iterable]
    names: list[str] | None = None
    coding: Coding | Any = None

    def facts(self) -> Facts:
        facts: Facts | None = None
        for chunk in self.start():
            X, y, weight = checked(chunk)
            if not len(y):
                continue
            part = Facts.of(X, y, weight)
            if facts is not None and len(part.mean) != len(facts.mean):
                raise ValueError(
                    f"expected every chunk to have {len(facts.mean)} features, got one with {len(part.mean)}"
                )
            facts = part if facts is None else facts.merged(part)
        if facts is None:
            raise ValueError("expected at least one chunk with a row, got none; is the iterator used up?")
        return facts

    def map(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        first = 0
        for chunk in self.start():
            X, y, weight = checked(chunk)
            yield from self.coding(X, y, weight, first).map(function)
            first += len(y)


def begin_with(estimator: Any, source: Any, facts: Facts, names: list[str] | None, change: Any = None) -> None:
    """What a fit knows of a source before its first pass: classes, gamma and sizes; the source learns its coding."""
    classes, y = check_classes(facts.labels, np.arange(len(facts.labels)))
    source.coding = Coding(classes, class_weights(estimator.class_weight, classes, y, facts.weights), change)
    d = len(facts.mean)
    estimator.n_features_in_, estimator.classes_, estimator.shape_fit_ = d, classes, (facts.n, d)
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    estimator.gamma_ = kernels.resolve_gamma(estimator.kernel, estimator.gamma, facts.mean, facts.variance, d)


def is_mapped(X: Any, y: Any) -> bool:
    """Whether X is a file of rows of numbers with a label each."""
    rows = isinstance(X, np.memmap) and X.dtype in (np.float32, np.float64) and X.ndim == 2
    return rows and np.shape(y) == X.shape[:1]


def mapped(X: np.memmap, y: np.ndarray) -> Stream:
    """Rows of a memory map. Nothing as long as the data is ever allocated, not even weights or row numbers."""
    step = rows_in_block(X)
    return Stream(lambda: ((X[at : at + step], y[at : at + step]) for at in range(0, X.shape[0], step)))


def parquet(paths: Any, target: str) -> Stream:
    """The rows of Parquet files, read in batches; `target` is the column of the labels, all others are features."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'polymargin[report]'") from None
    files = [Path(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    files = [f for p in files for f in (sorted(p.glob("*.parquet")) if p.is_dir() else [p])]
    if not files:
        raise ValueError(f"expected Parquet files, got none in {paths!r}")
    columns = pq.ParquetFile(files[0]).schema_arrow.names
    if target not in columns:
        raise ValueError(f"expected y to be the name of a column, one of {columns[:10]}, got {target!r}")
    features = [c for c in columns if c != target]

    def start() -> Iterator[tuple]:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(PARQUET_ROWS):
                X = [batch.column(c).to_numpy(zero_copy_only=False) for c in features]
                yield np.column_stack(X), batch.column(target).to_numpy(zero_copy_only=False)

    return Stream(start, names=features)


def opened(X: Any, y: Any) -> tuple[Any, Any]:
    """Rows and labels, of which NumPy files, given by their paths, are memory maps."""
    if not is_numpy_file(X):
        return X, y
    if isinstance(y, str | os.PathLike) and not is_numpy_file(y):
        raise ValueError(f"expected y to be labels or the path of a NumPy file of them, as X is one, got {y!r}")
    return np.load(X, mmap_mode="r"), np.load(y, mmap_mode="r") if is_numpy_file(y) else y


def is_numpy_file(given: Any) -> bool:
    return isinstance(given, str | os.PathLike) and Path(given).suffix == ".npy"


def stream_of(X: Any, y: Any) -> Stream | None:
    """The stream that X stands for: paths of Parquet files, or an iterable of chunks; None if X is an array."""
    if isinstance(X, str | os.PathLike) or (isinstance(X, list | tuple) and X and isinstance(X[0], str | os.PathLike)):
        if not isinstance(y, str):
            raise ValueError(f"expected y to be the name of the target column in the Parquet files, got {y!r}")
        return parquet(X, y)
    if y is None and callable(X):
        return Stream(X)
    if y is None and isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "__array__"):
        return Stream(lambda: X)
    return None
