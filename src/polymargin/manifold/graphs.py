"""Graphs of nearest rows: dissimilarities that know the classes, joined components, lengths of shortest paths.

    D = sqrt(1 - exp(-d^2 / gamma))                      within a class
    D = S[a, b] (exp(d^2 / (2 gamma)) - alpha)           between the classes a and b

This is Silva and Ribeiro (2009), eq. 3, with its second line as in Geng, Zhan and Zhou (2005): as printed, it is
sqrt(exp(-d^2 / gamma) - alpha), which decreases with distance and has no value for nearly all pairs of real data. With
`inside` only the sign of its exponent is corrected: D = S[a, b] sqrt(exp(d^2 / gamma) - alpha). Without classes D = d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from .. import _core, kernels
from ..smoothing.grnn import DISTANCE_BYTES, evenly, squared_distances

TOO_FAR = (
    "expected rows at finite distances, got some whose squared distances overflow; scale the "
    "features, for example with StandardScaler"
)
ALL_PAIRS = 4000  # rows up to which the mean distance is that of all pairs; beyond, of 400 rows with all rows
SOME_ROWS = 400
ALL_AT_ONCE = 1000  # rows up to which all dissimilarities are computed at once
DOUBLE = 2e9  # multiply-adds of one pass over all pairs up to which distances are computed in float64
SEARCHED_SHARE = 16  # one round of joining searches about 1 / 16 of all rows again
LARGEST_POWER = 500.0  # of d^2 / gamma, as in core/manifold/neighbors.cpp


@dataclass
class Dissimilarity:
    """D as above; `label` is every row's class index, None for D = d."""

    label: np.ndarray | None = None
    gamma: float = 1.0
    alpha: float = 0.0
    inside: bool = False  # alpha is inside the root
    scale: np.ndarray | None = None  # S, shape (n_classes, n_classes)

    def __call__(self, d2: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """D of pairs of rows with squared distances d2."""
        if self.label is None:
            return np.sqrt(d2)
        a, b = self.label[i], self.label[j]
        S = 1.0 if self.scale is None else self.scale[a, b]
        power = np.minimum(d2 / self.gamma, LARGEST_POWER)
        between = np.sqrt(np.exp(power) - self.alpha) if self.inside else np.exp(0.5 * power) - self.alpha
        return np.where(a == b, np.sqrt(-np.expm1(-d2 / self.gamma)), S * between)


def mean_distance(X: Any, n_threads: int) -> float:
    """Mean Euclidean distance of two different rows."""
    n = X.shape[0]
    some = evenly(n, n if n <= ALL_PAIRS else SOME_ROWS)
    dtype = "float64" if n * len(some) * X.shape[1] < DOUBLE else "float32"
    total = 0.0
    step = max(1, DISTANCE_BYTES // (8 * n))
    for at in range(0, len(some), step):
        d2 = squared_distances(X, X, some[at : at + step], np.arange(n), dtype, n_threads)
        total += float(np.sqrt(d2, out=d2).sum(axis=1).sum(dtype=np.float64))
    if not np.isfinite(total):
        raise ValueError(TOO_FAR)
    return total / (len(some) * (n - 1))


@dataclass
class Edges:
    """Edges from the rows i to the rows j, and the nearest row of another class for every query (-1: there is none)."""

    i: np.ndarray
    j: np.ndarray
    length: np.ndarray
    other: np.ndarray
    other_length: np.ndarray


@dataclass
class NeighborSearch:
    """Nearest rows under a dissimilarity."""

    X: Any
    D: Dissimilarity
    n_threads: int

    def __call__(
        self,
        queries: np.ndarray,
        k: int,
        radius: float = 0.0,
        group: np.ndarray | None = None,
        tell: Callable[[float], None] | None = None,
    ) -> Edges:
        """Edges from each query to its k nearest rows outside its group, or within the radius (k = 0)."""
        n, d = self.X.shape
        if n <= ALL_AT_ONCE and not sp.issparse(self.X):
            return self.small(queries, k, radius, group)
        width = self.X.nnz / n if sp.issparse(self.X) else d
        dtype = "float64" if float(n) * len(queries) * (width + 16) < DOUBLE else "float32"
        edges = self.edges(queries, k, radius, group, dtype, tell)
        if dtype == "float32" and self.rounding > 1e-3 * self.nearest(edges.i, edges.j):
            return self.edges(queries, k, radius, group, "float64", tell)  # rows close together and far from the rest
        return edges

    @cached_property
    def rounding(self) -> float:
        """About the largest error of a squared distance in float32."""
        return kernels.float32_error(self.X, np.arange(self.X.shape[0]), {"kind": "rbf", "gamma": 1.0, "gammas": None})

    def nearest(self, i: np.ndarray, j: np.ndarray) -> float:
        """The median of some neighbors' squared distances."""
        some = evenly(len(i), 1000)
        gap = self.X[i[some]].astype(np.float64) - self.X[j[some]].astype(np.float64)
        squares = gap.power(2).sum(axis=1) if sp.issparse(gap) else np.square(gap).sum(axis=1)
        return float(np.median(np.asarray(squares))) if len(some) else np.inf

    def small(self, queries: np.ndarray, k: int, radius: float, group: np.ndarray | None) -> Edges:
        """All of D at once, from squared differences; which of equally near rows is taken is up to NumPy."""
        rows = np.arange(len(self.X))
        D = self.D(cdist(self.X[queries], self.X, "sqeuclidean"), queries[:, None], rows[None, :])
        D[queries[:, None] == rows if group is None else group[queries][:, None] == group] = np.inf
        if k == 0:
            i, j = np.nonzero(radius >= D)
        else:
            i, j = np.repeat(np.arange(len(queries)), k), np.argpartition(D, k - 1, axis=1)[:, :k].ravel()
            i, j = i[np.isfinite(D[i, j])], j[np.isfinite(D[i, j])]
        length = D[i, j]
        if self.D.label is None:
            other, other_length = np.full(len(queries), -1), np.full(len(queries), np.inf)
        else:
            D[self.D.label[queries][:, None] == self.D.label] = np.inf
            other, other_length = D.argmin(axis=1), D.min(axis=1)
            other[np.isinf(other_length)] = -1
        return Edges(queries[i], j, length, other, other_length)

    def edges(
        self, queries: np.ndarray, k: int, radius: float, group: np.ndarray | None, dtype: str, tell: Callable | None
    ) -> Edges:
        n, D = self.X.shape[0], self.D
        label = np.zeros(n, dtype=np.int64) if D.label is None else D.label
        order = np.argsort(label, kind="stable")
        scale = np.zeros(0) if D.scale is None else np.ascontiguousarray(D.scale, dtype=np.float64).ravel()
        group = np.zeros(0, dtype=np.int64) if group is None else group.astype(np.int64)
        n_classes = int(label.max()) + 1 if D.scale is None else len(D.scale)
        queries = np.ascontiguousarray(queries, dtype=np.int64)
        indptr, *found = _core.nearest(
            kernels.as_data(self.X), order, label, group, queries, int(k), float(radius), D.label is not None,
            float(D.gamma), float(D.alpha), D.inside, n_classes, scale, tell, dtype, self.n_threads,
        )  # fmt: skip
        return Edges(np.repeat(queries, np.diff(indptr)), *found)


def undirected(n: int, i: np.ndarray, j: np.ndarray, length: np.ndarray) -> sp.csr_array:
    """Both directions of every edge, once; edges of length 0 are kept."""
    low, high = np.minimum(i, j).astype(np.int64), np.maximum(i, j).astype(np.int64)
    _, first = np.unique(low * n + high, return_index=True)
    low, high, length = low[first], high[first], length[first]
    rows, cols = np.concatenate((low, high)), np.concatenate((high, low))
    order = np.lexsort((cols, rows))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
    return sp.csr_array((np.tile(length, 2)[order], cols[order].astype(np.int32), indptr), shape=(n, n))


def joined(edges: Edges, search: NeighborSearch) -> tuple[sp.csr_array, int]:
    """The graph of the edges of all rows, with its components joined by the edges of a minimum spanning tree, and how
    many components it had.

    Boruvka's rounds: components take their cheapest edge to another one. Every row has a lower bound on its own
    cheapest edge, which stays valid while components grow, so only rows whose bound is below the cheapest edge
    known so far are searched again; and a component that would need many searches may wait for another round. A row's
    bound is the nearest row of another class once its component has all of its class, as is usual at the start.
    """
    n = search.X.shape[0]
    graph = undirected(n, edges.i, edges.j, edges.length)
    label = np.zeros(n, dtype=np.int64) if search.D.label is None else search.D.label
    target, bound = np.full(n, -1), np.zeros(n)
    np.maximum.at(bound, edges.i, edges.length)  # all nearer rows are neighbors, so of this component
    # connected_components drops stored zeros, and so would lose the edges between equal rows.
    pattern = sp.csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)
    had, component = connected_components(pattern, directed=False)
    count, tree = had, []
    while count > 1:
        pieces = np.bincount(np.unique(label * count + component) // count)  # of every class
        news = (pieces[label] == 1) & (edges.other_length > bound)
        target[news], bound[news] = edges.other[news], edges.other_length[news]
        known = (target >= 0) & (component[target] != component)
        cheapest = np.full(count, np.inf)
        np.minimum.at(cheapest, component[known], bound[known])
        asked = ~known & (bound < cheapest[component])
        looks = np.bincount(component[asked], minlength=count)
        by_looks = np.argsort(looks, kind="stable")[:-1]  # one may always wait
        taken = by_looks[(np.cumsum(looks[by_looks]) <= n / SEARCHED_SHARE) | (np.arange(count - 1) == 0)]
        queries = np.flatnonzero(asked & np.isin(component, taken))
        if len(queries):
            found = search(queries, 1, group=component)
            target[found.i], bound[found.i] = found.j, found.length
            known[found.i] = True
        i = np.flatnonzero(known & np.isin(component, taken))
        i = i[np.lexsort((target[i], i, bound[i]))]
        i = i[np.unique(component[i], return_index=True)[1]]
        if not len(i):
            raise ValueError(TOO_FAR)
        tree.append((i, target[i], bound[i]))
        ends = component[i], component[target[i]]
        count, merged = connected_components(sp.coo_array((np.ones(len(i)), ends), (count, count)), directed=False)
        component = merged[component]
    if tree:
        graph = undirected(
            n, *(np.concatenate(parts) for parts in zip((edges.i, edges.j, edges.length), *tree, strict=True))
        )
    return graph, had


def shortest_paths(
    graph: sp.csr_array, sources: np.ndarray, n_threads: int, tell: Callable[[float], None] | None = None
) -> np.ndarray:
    """Lengths of the shortest paths, shape (len(sources), n)."""
    out = np.empty((len(sources), graph.shape[0]))
    edges = graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data
    step = max(64, int(2e8 / (graph.nnz + 20 * graph.shape[0])))
    for at in range(0, len(sources), step):
        some = np.ascontiguousarray(sources[at : at + step], dtype=np.int64)
        out[at : at + step] = _core.shortest_paths(*edges, some, n_threads)
        if tell:
            tell((at + len(some)) / len(sources))
    return out
