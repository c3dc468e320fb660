"""Supervised Isomap: coordinates that keep the path lengths of a graph whose edges know the classes."""

from __future__ import annotations

import math
import time
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..files.records import NAMES, stored
from ..fitting.checks import check_rows
from ..fitting.estimator import Estimator
from ..fitting.parameters import NONE, POSITIVE, RUN, Array, Name, Number, check_parameters
from ..fitting.progress import LINES_EVERY, LONG, MULTIPLY_ADDS, duration, say
from ..fitting.resources import budget, threads
from ..fitting.state import keep, whole
from ..smoothing.grnn import GRNNRegressor, averaged
from . import classical_scaling as scaling
from . import graphs
from .record import ISOMAP, check_isomap

COUNT = Number("a positive integer", least=1, integer=True)
CONSTRAINTS = {
    "n_components": (COUNT,),
    "n_neighbors": (COUNT,),
    "radius": (NONE, POSITIVE),
    "alpha": (NONE, Number("a number in [0, 1)", least=0.0, most=math.nextafter(1.0, 0.0))),
    "offset": (Name(("outside", "inside")),),
    "gamma": (POSITIVE, Name(("mean",))),
    "class_distances": (NONE, Array("an array of shape (n_classes, n_classes)")),
    "spread": (POSITIVE, Name(("auto",))),
    "n_landmarks": (NONE, Name(("auto",)), Number("an integer >= 2", least=2, integer=True)),
    **{name: RUN[name] for name in ("memory", "n_jobs", "random_state", "verbose")},
}
ALL_PATHS = 4000  # rows up to which n_landmarks="auto" takes all rows


@stored(CONSTRAINTS, ISOMAP, (*NAMES, "classes_"), check_isomap)
class SupervisedIsomap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Low-dimensional coordinates of labeled rows that keep the lengths of paths between them.

    Rows are joined to their nearest neighbors under a dissimilarity that knows the classes ([1]_ eq. 3, its second line
    corrected after [2]_; :math:`\gamma` keeps the exponentials in bounds, :math:`\alpha` lets rows of different
    classes be closer than rows of the same one):

    .. math::

        D(x_i, x_j) = \begin{cases} \sqrt{1 - e^{-d^2/\gamma}} & y_i = y_j \\
        S_{y_i y_j} \left( e^{d^2/(2\gamma)} - \alpha \right) & y_i \ne y_j \end{cases}

    The length of the shortest path is the distance that the coordinates keep, by classical or landmark multidimensional
    scaling. Components of the graph are joined by the cheapest edges (a minimum spanning tree). New rows, whose class
    is not known, are mapped by a general regression neural network fitted to the coordinates of the training rows.

    **A picture of the training rows proves nothing**: D has seen their labels, and shuffled labels may look as well
    separated. Look at held-out rows, and at shuffled labels beside the real ones (`EmbeddingDisplay.from_permuted`).

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the coordinates.
    n_neighbors : int, default=10
        Edges of each row.
    radius : float, default=None
        Join all rows with D up to this instead; `n_neighbors` is then not used.
    alpha : float in [0, 1), default=0.65
        :math:`\alpha`; None means plain Isomap: D = d, and `y` is not used.
    offset : {"outside", "inside"}, default="outside"
        Whether :math:`\alpha` is subtracted outside the root, as above and in [2]_, or inside it,
        :math:`S \sqrt{e^{d^2/\gamma} - \alpha}`: as [1]_ prints it except for the sign of the exponent.
    gamma : "mean" or float, default="mean"
        :math:`\gamma`; "mean" is the mean distance of two rows (not squared: scale the columns first), above 4,000 rows
        that of 400 rows to all.
    class_distances : array-like of shape (n_classes, n_classes), default=None
        S, symmetric and positive off the diagonal: relations between classes, in the order of `classes_`. None means 1.
    spread : "auto" or float, default="auto"
        Spread of the network for new rows: "auto" has the smallest leave-one-out error of the coordinates of the
        training rows. 0.95 is the number of [1]_; where rows are much farther apart than that, the network takes the
        nearest row's coordinates.
    n_landmarks : "auto", int or None, default="auto"
        Rows from which paths are measured; None means all, exact, for O(n^2) memory. "auto" is all rows up to 4,000,
        beyond that the larger of 5 sqrt(n) and 10 `n_components`.
    memory : "auto", int or str, default="auto"
        Memory for path lengths: bytes, or a string such as "512MB"; "auto" is half of the free memory.
    n_jobs : int, default=None
        Threads, as in `JointSVC`.
    random_state : int, default=0
        Seed of the landmarks.
    verbose : int, default=0
        1 says what is being done.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components_)
        Coordinates of the training rows, centered, the axes in order of decreasing variance.
    n_components_ : int
        Their dimension: fewer than `n_components` where the path lengths have fewer positive eigenvalues.
    eigenvalues_ : ndarray of shape (n_components_,)
        Sums of squares of the coordinates; without landmarks the eigenvalues of classical scaling.
    negative_share_ : float
        Share of negative eigenvalues, which no coordinates can keep, in the sum of absolute values; computed on first
        access.
    dist_matrix_ : ndarray of shape (n_samples or n_landmarks, n_samples)
        Path lengths from all rows, or from the landmarks, to all rows.
    landmarks_ : ndarray of shape (n_samples or n_landmarks,)
        The rows that `dist_matrix_` starts from.
    graph_ : sparse CSR array of shape (n_samples, n_samples)
        Edges and their D.
    n_graph_components_ : int
        Components that the graph had before they were joined.
    gamma_ : float
        :math:`\gamma`.
    residual_variance_ : float
        1 - r^2, r the correlation of path lengths and distances of the coordinates (of 200 rows with all, if there are
        more); computed on first access.
    trustworthiness_ : float
        How far neighbors in the coordinates are neighbors in X, without labels; 1 is best (the same 200 rows).
        Computed on first access.
    grnn_ : GRNNRegressor
        The map for new rows.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted; absent for `alpha=None`.
    fit_seconds_ : float
        Duration of `fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    See Also
    --------
    EmbeddingDisplay : its pictures, with the control.
    GRNNRegressor : how new rows are placed.

    References
    ----------
    .. [1] C. Silva and B. Ribeiro, "Improving visualization, scalability and performance of multiclass problems with
       SVM manifold learning", ICANNGA 2009, LNCS 5495.
    .. [2] X. Geng, D. Zhan and Z. Zhou, "Supervised nonlinear dimensionality reduction for visualization and
       classification", IEEE Transactions on Systems, Man, and Cybernetics B 35(6), 2005.
    .. [3] V. de Silva and J. Tenenbaum, "Sparse multidimensional scaling using landmark points", Stanford, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import SupervisedIsomap
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SupervisedIsomap(n_neighbors=10).fit(X[::2], y[::2])
    >>> model.transform(X[1::2]).shape
    (75, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int = 10,
        *,
        radius: float | None = None,
        alpha: float | None = 0.65,
        offset: str = "outside",
        gamma: float | str = "mean",
        class_distances: Any = None,
        spread: float | str = "auto",
        n_landmarks: int | str | None = "auto",
        memory: str | int = "auto",
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.alpha = alpha
        self.offset = offset
        self.gamma = gamma
        self.class_distances = class_distances
        self.spread = spread
        self.n_landmarks = n_landmarks
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @whole
    def fit(self, X: Any, y: Any = None) -> SupervisedIsomap:
        """Find the coordinates of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, columns on comparable scales.
        y : array-like of shape (n_samples,)
            Labels; not used for `alpha=None`.

        Returns
        -------
        self : SupervisedIsomap
            Ctrl-C is raised again. Before there are coordinates it leaves the previous model, if there was one; in the
            choice of the spread it leaves the coordinates and the best spread so far.
        """
        begin = time.perf_counter()
        check_parameters(self, CONSTRAINTS)
        n_threads = threads(self.n_jobs)
        if self.alpha is None:
            y = np.zeros(_num_samples(X), dtype=int)
        X, y = check_rows(self, X, y, fit=True, precomputed=False)
        n = len(y)
        if n < 2:
            raise ValueError(f"SupervisedIsomap: expected at least 2 rows, got n_samples={n}; add rows")
        classes, label = np.unique(y, return_inverse=True)
        landmarks = self._landmarks(label.astype(np.int64))
        scale = self._scale(len(classes))
        self._announce(n, X.shape[1], len(landmarks), n_threads)

        gamma = self._gamma(X, n_threads)
        D = graphs.Dissimilarity()
        if self.alpha is not None:
            D = graphs.Dissimilarity(label.astype(np.int64), gamma, float(self.alpha), self.offset == "inside", scale)
        search = graphs.NeighborSearch(X, D, n_threads)
        graph, components = self._graph(search, n)
        lengths = graphs.shortest_paths(graph, landmarks, n_threads, self._tell("shortest paths"))
        if len(landmarks) == n:
            eigenvalues, z = scaling.classical(lengths, self.n_components)
        else:
            eigenvalues, z = scaling.from_landmarks(lengths, landmarks, self.n_components)
        grnn, stop = self._map(X, z)

        self.grnn_, self.embedding_, self.eigenvalues_ = grnn, z.astype(X.dtype, copy=False), eigenvalues
        self.n_components_ = self._n_features_out = z.shape[1]
        self.dist_matrix_, self.landmarks_, self.graph_ = lengths, landmarks, graph
        self.n_graph_components_, self.gamma_ = components, gamma
        if self.alpha is not None:
            self.classes_ = classes
        self.fit_seconds_ = time.perf_counter() - begin
        keep(self)
        if stop is not None:
            raise stop
        if self.verbose:
            say(
                f"polymargin: SupervisedIsomap took {self.fit_seconds_:.3g} s, with a residual variance of "
                f"{self.residual_variance_:.3g} and a trustworthiness of {self.trustworthiness_:.3g}",
                self.verbose,
            )
        return self

    def _graph(self, search: graphs.NeighborSearch, n: int) -> tuple[Any, int]:
        """The graph of nearest rows, in one piece, and how many pieces there were."""
        k, radius = (min(int(self.n_neighbors), n - 1), 0.0) if self.radius is None else (0, float(self.radius))
        edges = search(np.arange(n), k, radius, tell=self._tell("neighbors"))
        graph, components = graphs.joined(edges, search)
        if self.verbose:
            say(f"polymargin: joined {components:,} components of the graph", self.verbose)
        return graph, components

    def _map(self, X: Any, z: np.ndarray) -> tuple[GRNNRegressor, KeyboardInterrupt | None]:
        """The map for new rows, and Ctrl-C if that came while its spread was chosen."""
        grnn = GRNNRegressor(self.spread, interpolate=True, memory=self.memory, n_jobs=self.n_jobs)
        try:
            return grnn.fit(X, z), None
        except KeyboardInterrupt as stop:
            if not hasattr(grnn, "spread_"):
                raise
            return grnn, stop

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """`fit`, and the coordinates of the training rows, `embedding_`."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of any rows, by the network `grnn_`: labels are not needed.

        A row that equals a training row gets that row's coordinates, or the mean over such rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        z : ndarray of shape (n_samples, n_components_)
            Their coordinates.
        """
        check_is_fitted(self)
        X = check_rows(self, X, fit=False, precomputed=False)
        return self.grnn_.predict(X).astype(X.dtype, copy=False)

    # Measures of the picture are computed on first access: a fit does not need them.

    @cached_property
    def negative_share_(self) -> float:
        check_is_fitted(self)
        return scaling.negative_share(self.dist_matrix_[:, self.landmarks_])

    @cached_property
    def residual_variance_(self) -> float:
        check_is_fitted(self)
        return scaling.residual_variance(self.dist_matrix_, self.landmarks_, self.embedding_)

    @cached_property
    def trustworthiness_(self) -> float:
        check_is_fitted(self)
        return scaling.trustworthiness(averaged(self.grnn_).X, self.embedding_, threads(self.n_jobs))

    def _landmarks(self, label: np.ndarray) -> np.ndarray:
        """Rows to measure paths from: all, or a random sample with every class's share."""
        n = len(label)
        count: Any = self.n_landmarks
        if count == "auto":
            count = None if n <= ALL_PATHS else max(5 * math.isqrt(n), 10 * int(self.n_components))
        memory = budget(self.memory)
        every = count is None or count >= n
        needed = 16.0 * n * (n if every else count)
        if needed > memory and n > 1000:
            where = "between all rows" if every else f"from {count:,} landmarks"
            fewer = 'n_landmarks="auto"' if every else "a smaller n_landmarks"
            raise ValueError(
                f"expected {1e-9 * needed:.3g} GB of memory for path lengths {where}, got a budget of "
                f"{memory * 1e-9:.3g} GB; pass {fewer}, or raise memory"
            )
        if every:
            return np.arange(n)
        random = check_random_state(self.random_state).permutation(n)
        by_class = random[np.argsort(label[random], kind="stable")]
        return np.sort(by_class[(np.arange(count) * n) // count])

    def _scale(self, n_classes: int) -> np.ndarray | None:
        if self.class_distances is None or self.alpha is None:
            return None
        S = np.asarray(self.class_distances, dtype=np.float64)
        if S.shape != (n_classes, n_classes):
            raise ValueError(
                f"expected class_distances to have shape ({n_classes}, {n_classes}), a row and a column per class in "
                f"the order of classes_, got shape {S.shape}"
            )
        between = S[~np.eye(n_classes, dtype=bool)]
        if not (np.all(np.isfinite(between)) and np.all(between > 0) and np.allclose(S, S.T)):
            raise ValueError(
                "expected class_distances to be symmetric and positive off the diagonal, got other numbers; "
                "pass distances between classes"
            )
        return S

    def _gamma(self, X: Any, n_threads: int) -> float:
        if self.alpha is None:
            return 1.0
        if self.gamma != "mean":
            return float(self.gamma)
        return graphs.mean_distance(X, n_threads) or 1.0  # all rows equal: any number will do

    def _announce(self, n: int, d: int, sources: int, n_threads: int) -> None:
        # Half of all distances, in float32; about 14 ns per edge of a search for paths.
        seconds = (0.5 * n * n * d / (3 * MULTIPLY_ADDS) + 1.4e-8 * sources * n * (self.n_neighbors + 10)) / n_threads
        if seconds >= LONG:
            say(
                f"polymargin: embedding {n:,} rows x {d:,} columns from {sources:,} landmarks will take about "
                f"{duration(seconds)} and {8e-9 * n * sources:.1f} GB of path lengths on {n_threads} threads",
                self.verbose,
            )

    def _tell(self, what: str) -> Any:
        begin = last = time.perf_counter()

        def tell(share: float) -> None:
            nonlocal last
            now = time.perf_counter()
            if share == 1.0 or now - last >= LINES_EVERY:
                last = now
                say(f"polymargin: {now - begin:.1f} s  {what} {share:.0%}", self.verbose)

        return tell if self.verbose else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "grnn_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.alpha is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
