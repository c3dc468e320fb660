"""Supervised Isomap against a plain O(n^3) version, scikit-learn's Isomap and the reference eigenvalues."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from data_sets import blobs, digits, iris, toy12
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial.distance import cdist
from sklearn.manifold import Isomap
from sklearn.manifold import trustworthiness as trust_of
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from polymargin import StructuredSVC, SupervisedIsomap, _core
from polymargin.manifold import classical_scaling as scaling
from polymargin.manifold import graphs


def naive_dissimilarity(X, y, alpha, gamma=None, S=None, inside=False):
    d2 = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    if alpha is None:
        return np.sqrt(d2)
    gamma = gamma or np.sqrt(d2)[np.triu_indices(len(X), 1)].mean()
    power = np.minimum(d2 / gamma, 500)
    between = np.sqrt(np.exp(power) - alpha) if inside else np.exp(power / 2) - alpha
    if S is not None:
        between = S[y[:, None], y[None, :]] * between
    return np.where(y[:, None] == y[None, :], np.sqrt(1 - np.exp(-d2 / gamma)), between)


def naive_isomap(D, m, k=None, radius=None):
    """Eigenvalues, path lengths and the number of components, by Floyd and a full eigenvalue decomposition."""
    n = len(D)
    W = np.full((n, n), np.inf)
    for i in range(n):
        near = (
            [j for j in np.argsort(D[i]) if j != i][:k] if k else [j for j in range(n) if j != i and D[i, j] <= radius]
        )
        W[i, near] = D[i, near]
    W = np.minimum(W, W.T)
    had = 0
    while True:
        count, part = connected_components(np.isfinite(W), directed=False)
        had = had or count
        if count == 1:
            break
        i, j = np.unravel_index(np.argmin(np.where(part[:, None] != part[None, :], D, np.inf)), D.shape)
        W[i, j] = W[j, i] = D[i, j]
    np.fill_diagonal(W, 0)
    for via in range(n):
        W = np.minimum(W, W[:, [via]] + W[[via], :])
    J = np.eye(n) - 1 / n
    return np.linalg.eigvalsh(-0.5 * J @ W**2 @ J)[::-1][:m], W, had


def same_distances(a, b, **tolerance):
    """Coordinates are unique up to signs (and turns, where eigenvalues meet): compare their distances."""
    from scipy.spatial.distance import pdist

    np.testing.assert_allclose(pdist(a), pdist(b), **tolerance)


@pytest.mark.parametrize(
    "data, k, gamma, parts, values",
    [
        (toy12, 4, 2.647224946, 1, (11.080207, 3.719547, 0.498606)),
        (iris, 10, 1.289585215, 2, (303.261470, 14.185142, 5.234683)),
    ],
)
def test_reference_eigenvalues(data, k, gamma, parts, values):
    model = SupervisedIsomap(n_components=3, n_neighbors=k).fit(*data())
    assert model.gamma_ == pytest.approx(gamma, rel=1e-9)
    assert model.n_graph_components_ == parts
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-6)
    np.testing.assert_allclose((model.embedding_**2).sum(axis=0), values, atol=1e-6)


@pytest.fixture(params=["at once", "in blocks", "in blocks, float32"])
def way(request, monkeypatch):
    if request.param != "at once":
        monkeypatch.setattr(graphs, "ALL_AT_ONCE", 0)
    if request.param.endswith("float32"):
        monkeypatch.setattr(graphs, "DOUBLE", 0.0)


@pytest.mark.parametrize("alpha, offset", [(None, "outside"), (0.0, "outside"), (0.65, "outside"), (0.65, "inside")])
@pytest.mark.parametrize("neighbors", [dict(n_neighbors=4), dict(radius=0.9)], ids=str)
def test_equals_the_plain_version(way, alpha, offset, neighbors, rng):
    X, y = blobs([70, 60, 50], 5, seed=int(rng.integers(99)))
    model = SupervisedIsomap(n_components=4, alpha=alpha, offset=offset, **neighbors).fit(X, y)
    D = naive_dissimilarity(X, y, alpha, inside=offset == "inside")
    values, W, parts = naive_isomap(D, 4, neighbors.get("n_neighbors"), neighbors.get("radius"))
    assert model.n_graph_components_ == parts
    np.testing.assert_allclose(model.dist_matrix_, W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-6)


@pytest.mark.parametrize("offset", ["outside", "inside"])
def test_class_distances(way, offset, rng):
    X, y = blobs([40, 40, 40], 4, seed=1)
    S = np.array([[0, 1, 6.0], [1, 0, 0.3], [6, 0.3, 0]])
    model = SupervisedIsomap(n_components=2, n_neighbors=5, class_distances=S, gamma=2.0, offset=offset).fit(X, y)
    _, W, _ = naive_isomap(naive_dissimilarity(X, y, 0.65, 2.0, S, offset == "inside"), 2, 5)
    np.testing.assert_allclose(model.dist_matrix_, W, rtol=1e-6)

    def apart(model, a, b):
        return np.linalg.norm(model.embedding_[y == a].mean(axis=0) - model.embedding_[y == b].mean(axis=0))

    plain = SupervisedIsomap(n_components=2, n_neighbors=5, gamma=2.0, offset=offset).fit(X, y)
    assert apart(model, 0, 2) / apart(model, 1, 2) > 2 * apart(plain, 0, 2) / apart(plain, 1, 2)
    frame = SupervisedIsomap(n_components=2, n_neighbors=5, class_distances=pd.DataFrame(S), gamma=2.0, offset=offset)
    np.testing.assert_array_equal(frame.fit(X, y).embedding_, model.embedding_)
    for bad, message in ((np.ones((2, 2)), "shape"), (np.triu(S), "symmetric"), (-S, "positive off the diagonal")):
        with pytest.raises(ValueError, match=message):
            SupervisedIsomap(class_distances=bad).fit(X, y)


@pytest.mark.parametrize("n", [150, 1200])
def test_plain_isomap_is_scikit_learns(n):
    X, _ = blobs([n // 3] * 3, 6, seed=0)  # distances of digits are equal too often
    ours = SupervisedIsomap(n_components=3, n_neighbors=8, alpha=None, n_landmarks=None).fit(X)
    theirs = Isomap(n_components=3, n_neighbors=8).fit(X)
    assert ours.n_graph_components_ == 1
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-5, atol=1e-9)
    size = np.abs(ours.embedding_).max()
    np.testing.assert_allclose(np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-4 * size)


def test_shortest_paths_are_dijkstras(rng):
    n = 300
    i, j = rng.integers(n, size=(2, 900))
    for lengths in (
        rng.uniform(0, 1, 900),
        np.exp(rng.normal(0, 20, 900)),
        rng.integers(0, 3, 900).astype(float),
        np.zeros(900),
    ):
        graph = graphs.undirected(n, i[i != j], j[i != j], lengths[i != j])
        ours = graphs.shortest_paths(graph, np.arange(n), 2)
        full = np.full((n, n), np.inf)
        rows = np.repeat(np.arange(n), np.diff(graph.indptr))
        full[rows, graph.indices] = graph.data
        np.fill_diagonal(full, 0)
        theirs = np.array(full)
        for via in range(n):
            theirs = np.minimum(theirs, theirs[:, [via]] + theirs[[via], :])
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        if np.all(graph.data > 0):
            np.testing.assert_allclose(ours, dijkstra(sp.csr_matrix(graph), directed=False), rtol=1e-12)


def naive_nearest(D, k, radius, group, label):
    """Neighbors by D, and the nearest of another class, of every row."""
    D = np.where(group[:, None] == group, np.inf, D)
    order = np.argsort(D, axis=1, kind="stable")
    near = [row[:k] if k else row[D[i, row] <= radius] for i, row in enumerate(order)]
    between = np.where(label[:, None] == label, np.inf, D)
    return near, between.min(axis=1)


@pytest.mark.parametrize(
    "d, n, k, radius, dtype, inside",
    [
        (3, 2100, 7, 0.0, "float32", True),
        (3, 2100, 0, 0.9, "float64", False),
        (700, 1300, 7, 0.0, "float32", False),
        (700, 1300, 7, 0.0, "float64", True),
    ],
)
def test_search_from_both_ends_of_a_distance(d, n, k, radius, dtype, inside, rng):
    """Many blocks, some of them cut short; all rows, whose distances are computed once, and some rows."""
    X, label = rng.normal(size=(n, d)) * np.sqrt(3 / d), rng.integers(4, size=n)
    X[label == 0] += 1
    group = np.where(rng.uniform(size=n) < 0.5, np.arange(n), n + label)
    D = naive_dissimilarity_of(X, label, inside)
    near, other_D = naive_nearest(D, k, radius, group, label)
    order = np.argsort(label, kind="stable")
    # Squared distances from float32 products are certain to some eps of the squared norms.
    rtol = 1e-9 if dtype == "float64" else 1e-5 + 4 * np.finfo(np.float32).eps * np.sum(X**2, axis=1).max()
    told = []
    mixed = rng.permutation(n)
    for queries, threads in [(np.arange(n), (1, 2)), (mixed, (2,)), (mixed[: n // 3], (1,))]:
        for n_jobs in threads:
            indptr, j, length, found, found_D = _core.nearest(
                X, order, label, group, queries, k, radius, True, 2.0, 0.65, inside, 4, np.zeros(0), told.append,
                dtype, n_jobs,
            )  # fmt: skip
            i = np.repeat(queries, np.diff(indptr))
            np.testing.assert_allclose(length, D[i, j], rtol=1e-9)  # also after a search in float32
            want = np.concatenate([near[i] for i in queries])
            np.testing.assert_array_equal(indptr[1:], np.cumsum([len(near[i]) for i in queries]))
            np.testing.assert_allclose(length, D[i, want], rtol=rtol)
            np.testing.assert_allclose(found_D, D[queries, found], rtol=1e-9)
            np.testing.assert_allclose(found_D, other_D[queries], rtol=rtol)
    assert told[-1] == 1.0


def naive_dissimilarity_of(X, y, inside):
    d2 = cdist(X, X, "sqeuclidean")
    between = np.sqrt(np.exp(d2 / 2) - 0.65) if inside else np.exp(d2 / 4) - 0.65
    return np.where(y[:, None] == y, np.sqrt(-np.expm1(-d2 / 2)), between)


def test_core_refuses_bad_graphs():
    indptr, indices, sources = np.array([0, 1, 2]), np.array([1, 0], dtype=np.int32), np.array([0])
    for bad in (
        (indptr, np.array([1, 5], dtype=np.int32), np.ones(2)),
        (indptr, indices, -np.ones(2)),
        (indptr[:2], indices, np.ones(2)),
    ):
        with pytest.raises(ValueError):
            _core.shortest_paths(*bad, sources)


def test_components_are_joined_by_a_spanning_tree():
    """Three heaps on a line: the far one is joined to its neighbor only."""
    X = np.concatenate([c + np.linspace(0, 0.2, 6) for c in (0.0, 3.0, 7.0)])[:, None]
    model = SupervisedIsomap(n_components=1, n_neighbors=2, alpha=None).fit(X)
    assert model.n_graph_components_ == 3
    np.testing.assert_allclose(model.dist_matrix_, np.abs(X - X.T), atol=1e-9)
    np.testing.assert_allclose(np.abs(model.embedding_ - model.embedding_[0]), np.abs(X - X[0]), atol=1e-7)


@pytest.mark.parametrize("share", [1, 16, 1000])
def test_many_components_are_joined_by_a_spanning_tree(way, share, monkeypatch, rng):
    """Classes in pieces, pieces of several classes: the same edges as Kruskal's on all pairs."""
    monkeypatch.setattr(graphs, "SEARCHED_SHARE", share)
    centers = rng.normal(size=(30, 3)) * 3
    X = np.repeat(centers, 6, axis=0) + 0.1 * rng.normal(size=(180, 3))
    for y in (np.repeat(rng.integers(5, size=30), 6), rng.integers(2, size=180), np.repeat(np.arange(30), 6)):
        D = graphs.Dissimilarity(y, 4.0, 0.65)
        search = graphs.NeighborSearch(X, D, 2)
        graph, had = graphs.joined(search(np.arange(180), 3), search)
        _, W, parts = naive_isomap(naive_dissimilarity(X, y, 0.65, 4.0), 1, 3)
        assert had == parts > 4
        np.testing.assert_allclose(graphs.shortest_paths(graph, np.arange(180), 1), W, rtol=1e-6)


def test_landmarks_come_close():
    X, y = digits()
    X, y = X[:900], y[:900]
    for alpha in (None, 0.65):
        exact = SupervisedIsomap(n_components=3, alpha=alpha, n_landmarks=None, spread=1.0).fit(X, y)
        some = SupervisedIsomap(n_components=3, alpha=alpha, n_landmarks=150, spread=1.0).fit(X, y)
        assert some.dist_matrix_.shape == (150, 900) and len(some.landmarks_) == 150
        np.testing.assert_allclose(some.dist_matrix_, exact.dist_matrix_[some.landmarks_], rtol=1e-9)
        from_exact = scaling.residual_variance(exact.dist_matrix_, np.arange(900), some.embedding_)
        assert from_exact < exact.residual_variance_ + 0.02
        np.testing.assert_allclose(some.eigenvalues_, exact.eigenvalues_, rtol=0.3)


def test_all_rows_as_landmarks_are_exact():
    X, y = iris()
    exact = SupervisedIsomap(n_components=2).fit(X, y)
    values, z = scaling.from_landmarks(exact.dist_matrix_, np.arange(150), 2)
    same_distances(z, exact.embedding_, atol=1e-6)
    np.testing.assert_allclose(values, exact.eigenvalues_, rtol=1e-6)


def test_new_rows():
    X, y = iris()
    X = np.unique(np.column_stack((X, y)), axis=0)
    X, y = X[:, :4], X[:, 4]
    model = SupervisedIsomap().fit(X[::2], y[::2])
    np.testing.assert_allclose(model.transform(X[::2]), model.fit_transform(X[::2], y[::2]), atol=1e-12)
    assert KNeighborsClassifier(3).fit(model.embedding_, y[::2]).score(model.transform(X[1::2]), y[1::2]) > 0.9
    # Two classes at one place: the mean of their coordinates.
    both = SupervisedIsomap(n_neighbors=5).fit(np.vstack((X, X[:1])), np.append(y, 2 - y[0]))
    np.testing.assert_allclose(both.transform(X[:1])[0], both.embedding_[[0, -1]].mean(axis=0), atol=1e-9)


def test_measures_of_quality():
    X, y = iris()
    model = SupervisedIsomap().fit(X, y)
    assert model.trustworthiness_ == pytest.approx(trust_of(X, model.embedding_, n_neighbors=5), abs=2e-3)
    i = np.triu_indices(150)
    z = cdist(model.embedding_, model.embedding_)
    r = np.corrcoef(np.concatenate((model.dist_matrix_[i], model.dist_matrix_.T[i])), np.concatenate((z[i], z.T[i])))[
        0, 1
    ]
    assert model.residual_variance_ == pytest.approx(1 - r**2, rel=0.1)
    J = np.eye(150) - 1 / 150
    e = np.linalg.eigvalsh(-0.5 * J @ model.dist_matrix_**2 @ J)
    assert model.negative_share_ == pytest.approx(-e[e < 0].sum() / np.abs(e).sum(), rel=1e-6)


def test_the_two_lines_of_the_paper():
    X, y = digits()
    pipe = make_pipeline(SupervisedIsomap(n_components=10), StructuredSVC())
    assert pipe.fit(X[:600], y[:600]).score(X[600:1000], y[600:1000]) > 0.9


def test_shuffled_labels_separate_only_the_training_rows():
    X, y = digits()
    X, y, rest, held = X[:500], y[:500], X[500:900], y[500:900]
    shuffled = np.random.default_rng(0).permutation(y)
    fits = {"real": y, "shuffled": shuffled}
    scores = {}
    for name, label in fits.items():
        model = SupervisedIsomap(n_components=9).fit(X, label)
        knn = KNeighborsClassifier(1).fit(model.embedding_, label)
        scores[name] = knn.score(model.embedding_[:100], label[:100]), knn.score(model.transform(rest), held)
    assert scores["real"][1] > 0.8 and scores["shuffled"][0] > 0.9 and scores["shuffled"][1] < 0.3


def test_formats_agree():
    X, y = iris()
    want = SupervisedIsomap().fit(X, y)
    names = pd.DataFrame(X, columns=list("abcd"))
    model = SupervisedIsomap().set_output(transform="pandas").fit(names, y)
    out = model.transform(names)
    assert list(out.columns) == ["supervisedisomap0", "supervisedisomap1"] and list(model.feature_names_in_) == list(
        "abcd"
    )
    np.testing.assert_allclose(out.to_numpy(), want.transform(X))
    single = SupervisedIsomap().fit(X.astype(np.float32), y)
    assert single.embedding_.dtype == np.float32 and single.transform(X.astype(np.float32)).dtype == np.float32
    sparse = SupervisedIsomap().fit(sp.csr_array(X), y)
    assert sparse.eigenvalues_[0] == pytest.approx(want.eigenvalues_[0], rel=1e-2)
    for n_jobs in (1, 3):
        again = SupervisedIsomap(n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(again.dist_matrix_, want.dist_matrix_)


def test_unhappy_data():
    equal = SupervisedIsomap().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    assert np.all(np.isfinite(equal.embedding_))
    one = SupervisedIsomap(n_components=5, alpha=None).fit(np.zeros((4, 3)))
    assert one.n_components_ == 1 and not one.embedding_.any()
    huge = SupervisedIsomap(n_neighbors=3).fit(1e8 * blobs([10, 10], 3, seed=0)[0], np.arange(20) % 2)
    assert np.all(np.isfinite(huge.embedding_)) and np.all(np.isfinite(huge.dist_matrix_))
    two = SupervisedIsomap().fit([[0.0], [1.0]], ["a", "b"])
    assert two.embedding_.shape == (2, 1)
    X, y = blobs([2000, 2000], 2, seed=0)
    with pytest.raises(ValueError, match="budget"):
        SupervisedIsomap(n_landmarks=None, memory="20MB").fit(X, y)
    with pytest.raises(ValueError, match="at least 2 rows"):
        SupervisedIsomap().fit([[1.0]], [0])


def test_float32_gives_way_where_it_cannot_tell_rows_apart(monkeypatch):
    """Two heaps 1e5 apart: float32 squared distances are off by 1,000."""
    monkeypatch.setattr(graphs, "ALL_AT_ONCE", 0)
    X, _ = blobs([200], 40, seed=0)
    X[100:] += 1e5
    want = SupervisedIsomap(alpha=None, n_neighbors=5).fit(X)
    monkeypatch.setattr(graphs, "DOUBLE", 0.0)
    again = SupervisedIsomap(alpha=None, n_neighbors=5).fit(X)
    np.testing.assert_allclose(again.dist_matrix_, want.dist_matrix_, rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.65, None])
def test_distances_that_overflow_are_an_error(alpha, rng):
    X = 1e200 * rng.normal(size=(40, 3))
    with pytest.raises(ValueError, match="scale the features"):
        SupervisedIsomap(n_neighbors=5, alpha=alpha).fit(X, np.arange(40) % 2)


def test_neighbors_at_almost_the_same_distance():
    """A row that is nearer by less than the rounding of float32 is nearer."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0 + 1e-7, 0.0], [5.0, 0.0]])
    for k in range(3):
        rows = np.roll(X, k, axis=0)
        search = graphs.NeighborSearch(rows, graphs.Dissimilarity(), 1)
        edges = search.edges(np.array([k]), 1, 0.0, None, "float64", None)
        assert edges.j.tolist() == [(k + 2) % 4]
