"""Core vector machines on Dask: every pass runs on the partitions where they live, and only candidate rows travel.

A pass sends one object to the workers (the core vectors and their coefficients) and gets back, per partition, the
moments of the shortfalls and a few rows. The driver solves the problem on the working set. Partitions are never
gathered; one that is lost with its worker is rebuilt by Dask from its origin, and since a block's result depends only
on its rows, the model is the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from .search import Block
from .sources import Coding, Facts, checked, mapped, stream_of


def is_dask(X: Any) -> bool:
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


@dataclass
class Partitions:
    """Rows in the partitions of a Dask collection; `parts` are delayed pairs or triples (X, y, sample_weight)."""

    parts: list[Any]
    firsts: list[int] = field(default_factory=list)
    coding: Coding | Any = None
    # Bytes, pickled: what a pass sends (once to every worker involved) and what comes back.
    traffic: dict[str, int] = field(default_factory=lambda: {"passes": 0, "sent": 0, "received": 0})

    def compute(self, function: Callable, arguments: list[tuple]) -> list[Any]:
        """function(part, *arguments) for every partition, where the partition is."""
        import dask

        shared = dask.delayed(function, pure=False)  # one object for all tasks, not a copy in each
        tasks = [dask.delayed(answer)(shared, p, *a) for p, a in zip(self.parts, arguments, strict=True)]
        try:
            answers = dask.compute(*tasks)
        except Exception as error:
            if type(error).__module__.split(".")[0] != "distributed":  # what is wrong is in a partition
                raise
            raise RuntimeError(
                f"expected the Dask cluster to work until the fit has ended, got {type(error).__name__}; look for a "
                f"closed scheduler or workers out of memory in its log, and fit again on a cluster that lasts"
            ) from error
        self.traffic["passes"] += 1
        self.traffic["sent"] += len(pickle.dumps(function)) * n_workers()
        self.traffic["received"] += sum(map(len, answers))
        return [pickle.loads(a) for a in answers]

    def facts(self) -> Facts:
        found = self.compute(part_facts, [(k == 0,) for k in range(len(self.parts))])
        sizes = [0 if f is None else f.n for f in found]
        self.firsts = np.concatenate(([0], np.cumsum(sizes)[:-1])).tolist()
        found = [f for f in found if f is not None]
        if not found:
            raise ValueError("expected X to have at least one row, got only empty partitions")
        some = next((f.some for f in found if f.some.shape[0]), found[0].some)
        return replace(reduce(Facts.merged, found), some=some)

    def map(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        task = OnPartition(function, self.coding)
        for results in self.compute(task, [(first,) for first in self.firsts]):
            yield from results


def answer(function: Callable, part: tuple, *arguments: Any) -> bytes:
    return pickle.dumps(function(part, *arguments))


def part_facts(part: tuple, keep: bool) -> Facts | None:
    """The facts of a partition; one of them keeps some rows."""
    X, y, weight = rows_of(part)
    if not len(y):
        return None
    facts = Facts.of(X, y, weight)
    return facts if keep else replace(facts, some=facts.some[:1])


def rows_of(part: tuple) -> tuple[Any, np.ndarray, np.ndarray]:
    """Arrays of a partition: from a data frame, or from arrays that Dask may hold in lists of blocks."""
    X, *rest = part
    if isinstance(X, str):  # ("target", frame)
        frame = rest[0]
        X, rest = frame.drop(columns=X), [frame[X]]
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    if X.shape[0] == 0:
        return X, np.empty(0), np.empty(0)
    return checked((np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X, *map(np.asarray, rest)))


@dataclass
class OnPartition:
    """A function of blocks applied to all blocks of a partition, with their results merged if it can merge."""

    function: Callable[[Block], Any]
    coding: Coding

    def __call__(self, part: tuple, first: int) -> list[Any]:
        X, y, weight = rows_of(part)
        if not len(y):
            return []
        function: Any = self.function
        if (threads := worker_threads()) is not None:
            function = replace(function, form=replace(function.form, threads=threads))
        results = list(self.coding(X, y, weight, first).map(function))
        merge = getattr(function, "merged", None)
        return [reduce(merge, results)] if merge else results


def worker_threads() -> int | None:
    """Threads of the Dask worker that this runs on."""
    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        return None


def n_workers() -> int:
    try:
        from distributed import get_client

        return max(1, len(get_client().scheduler_info(n_workers=-1)["workers"]))
    except (ImportError, ValueError):
        return 1


def source_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any, in_blocks: bool
) -> tuple[Any, Facts, list[str] | None] | None:
    """Rows that are not an array: their source, what a first pass learns about them, and the names of their columns.

    None for an array. `in_blocks`: a memory map, which is read in blocks unless there are weights.
    """
    if is_dask(X):
        return distributed_source(estimator, X, y, sample_weight)
    stream = stream_of(X, y)
    if stream is None and in_blocks and sample_weight is None:
        stream = mapped(X, np.asarray(y))
    return None if stream is None else (stream, stream.facts(), stream.names)


def distributed_source(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Partitions, Facts, list[str] | None]:
    """A Dask array or data frame as a source, with what a first pass learns about it."""
    frame = hasattr(X, "columns")
    target = y if frame and isinstance(y, str) else None
    names = [str(c) for c in X.columns if c != target] if frame else None
    parts = with_target(X, target, sample_weight) if target is not None else side_by_side(X, y, sample_weight)
    source = Partitions(parts)
    estimator.traffic_ = source.traffic
    return source, source.facts(), names


def with_target(frame: Any, target: str, sample_weight: Any) -> list[Any]:
    """The partitions of a data frame, one of whose columns holds the labels."""
    import dask

    if target not in frame.columns:
        raise ValueError(f"expected y to be the name of a column, one of {list(frame.columns)[:10]}, got {target!r}")
    if sample_weight is not None:
        raise ValueError(
            "expected sample_weight to be None where y is the name of a column, got weights; pass y as a series"
        )
    return [dask.delayed(tuple)([target, part]) for part in frame.to_delayed()]


def side_by_side(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """The partitions of rows, labels and weights, which must be cut alike."""
    import dask

    if not hasattr(X, "columns"):
        if X.ndim != 2:
            raise ValueError(f"expected X to have 2 dimensions, got {X.ndim}")
        X = X.rechunk({1: -1})
    columns = [list(np.ravel(X.to_delayed()))]
    for other in (y, sample_weight):
        if other is None:
            continue
        if not is_dask(other):
            raise ValueError("expected y and sample_weight to be Dask collections with the partitions of X, got arrays")
        if hasattr(other, "rechunk") and hasattr(X, "chunks") and not np.isnan(X.shape[0]):
            other = other.rechunk((X.chunks[0],))
        columns.append(list(np.ravel(other.to_delayed())))
    if len({len(c) for c in columns}) > 1:
        raise ValueError(
            f"expected X, y and sample_weight to have the same partitions, got {[len(c) for c in columns]} of "
            "them; rechunk or repartition them alike"
        )
    if len(columns) < 2:
        raise ValueError("expected y to be a Dask collection of labels or the name of a column, got None")
    return [dask.delayed(tuple)(list(part)) for part in zip(*columns, strict=True)]
