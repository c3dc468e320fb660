"""The general regression network against its formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import iris

from polymargin import GRNNRegressor
from polymargin.smoothing import grnn


def naive(X, z, Z, spread, weight=1.0):
    d2 = ((Z[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    g = np.exp(-np.log(2) * d2 / spread**2) * weight
    return g @ z / g.sum(axis=1, keepdims=True)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(60, 4)), rng.normal(size=(60, 3)), rng.normal(size=(25, 4))


@pytest.mark.parametrize("spread", [0.5, 1.0, 5.0])
def test_formula(rows, spread, rng):
    X, z, Z = rows
    weight = rng.uniform(0.1, 3, 60)
    model = GRNNRegressor(spread).fit(X, z, weight)
    np.testing.assert_allclose(model.predict(Z), naive(X, z, Z, spread, weight), rtol=1e-9, atol=1e-12)
    one = GRNNRegressor(spread).fit(X, z[:, 0]).predict(Z)
    assert one.shape == (25,)
    np.testing.assert_allclose(one, naive(X, z, Z, spread)[:, 0], rtol=1e-9, atol=1e-12)


def test_half_at_one_spread():
    model = GRNNRegressor(2.0).fit([[0.0], [3.0]], [0.0, 1.0])
    assert model.predict([[1.0]])[0] == pytest.approx(0.5 / (0.5**0.25 + 0.5))


def test_far_away_it_is_the_nearest_row(rows):
    X, z, _ = rows
    far = 1e4 * np.ones((1, 4))
    nearest = np.argmin(((X - far) ** 2).sum(axis=1))
    np.testing.assert_allclose(GRNNRegressor(0.01).fit(X, z).predict(far), z[[nearest]])


@pytest.mark.parametrize("weighted", [False, True])
def test_automatic_spread_is_the_best_of_those_tried(weighted, rng):
    X, _ = iris()
    X = np.unique(X, axis=0)
    z = np.column_stack((np.sin(3 * X[:, 0]), X[:, 1] ** 2))
    weight = rng.uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    model = GRNNRegressor().fit(X, z, weight)

    def error(spread):
        keep = ~np.eye(len(X), dtype=bool)
        missing = [
            ((naive(X[keep[i]], z[keep[i]], X[[i]], spread, weight[keep[i]])[0] - z[i]) ** 2).sum()
            for i in range(len(X))
        ]
        return np.average(missing, weights=weight)

    k = int(np.argmin(model.errors_))
    assert model.spread_ == model.spreads_[k] and 0 < k < len(model.errors_) - 1
    for at in (k - 1, k, k + 1):
        assert model.errors_[at] == pytest.approx(error(model.spreads_[at]), rel=1e-8)


def test_interpolation_at_training_rows(rows):
    X, z, Z = rows
    X, z = np.vstack((X, X[:1])), np.vstack((z, z[1:2]))
    exact, smooth = (GRNNRegressor(2.0, interpolate=i).fit(X, z) for i in (True, False))
    np.testing.assert_allclose(exact.predict(X[1:-1]), z[1:-1], atol=1e-12)
    np.testing.assert_allclose(exact.predict(X[:1]), (z[:1] + z[-1:]) / 2, atol=1e-12)
    np.testing.assert_allclose(exact.predict(Z), smooth.predict(Z), atol=1e-12)
    assert np.abs(smooth.predict(X[1:-1]) - z[1:-1]).max() > 0.1


def test_truncation(rows):
    X, z, Z = rows
    d2 = ((Z[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    for k in (1, 7, 60, 100):
        near = np.argsort(d2, axis=1)[:, :k]
        model = GRNNRegressor(1.0, n_neighbors=k).fit(X, z)
        want = [naive(X[near[i]], z[near[i]], Z[[i]], 1.0)[0] for i in range(len(Z))]
        np.testing.assert_allclose(model.predict(Z), want, rtol=1e-9)


def test_formats_and_blocks_agree(rows, monkeypatch):
    X, z, Z = rows
    want = GRNNRegressor(1.0).fit(X, z).predict(Z)
    np.testing.assert_allclose(GRNNRegressor(1.0).fit(sp.csr_array(X), z).predict(sp.csr_array(Z)), want, rtol=1e-9)
    np.testing.assert_allclose(
        GRNNRegressor(1.0).fit(X.astype("f"), z).predict(Z.astype("f")), want, rtol=1e-4, atol=1e-5
    )
    monkeypatch.setattr("polymargin.smoothing.grnn.DISTANCE_BYTES", 8 * 60 * 4)
    np.testing.assert_allclose(GRNNRegressor(1.0, n_jobs=1).fit(X, z).predict(Z), want, rtol=1e-12)
    monkeypatch.setattr("polymargin.smoothing.grnn.LARGE", 1)
    np.testing.assert_allclose(GRNNRegressor(1.0).fit(X, z).predict(Z), want, rtol=1e-4, atol=1e-5)


def test_equal_rows_have_a_spread():
    model = GRNNRegressor().fit(np.ones((5, 2)), np.arange(5.0))
    assert model.predict([[1.0, 1.0], [3.0, 3.0]]) == pytest.approx([2.0, 2.0])


def test_numbers_whose_squares_overflow(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    with pytest.raises(ValueError, match="squares are finite"):
        GRNNRegressor().fit(1e200 * X, y)
    model = GRNNRegressor().fit(X, y)
    with pytest.raises(ValueError, match="squares are finite"):
        model.predict(1e200 * X)
    assert np.all(np.isfinite(model.predict(1e100 * X)))


@pytest.mark.parametrize("neighbors", [None, 5])
def test_spreads_whose_square_is_no_number(rng, neighbors):
    """A spread of 1e-200 leaves the nearest row alone, one of 1e200 weighs all alike."""
    X, z, new = rng.normal(size=(30, 2)), rng.normal(size=30), rng.normal(size=(10, 2))
    nearest = np.argmin(np.linalg.norm(new[:, None] - X, axis=2), axis=1)
    tiny = GRNNRegressor(spread=1e-200, n_neighbors=neighbors).fit(X, z)
    np.testing.assert_allclose(tiny.predict(new), z[nearest])
    if neighbors is None:
        np.testing.assert_allclose(GRNNRegressor(spread=1e200).fit(X, z).predict(new), z.mean(), rtol=1e-12)


def test_distances_stay_within_the_memory(rng, monkeypatch):
    """A quarter of the budget holds a block of them, whatever the number of rows."""
    X, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    sizes, distances = [], grnn.squared_distances

    def seen(*arguments):
        found = distances(*arguments)
        sizes.append(found.nbytes)
        return found

    model = GRNNRegressor(1.0, memory="1MB").fit(X, y)
    monkeypatch.setattr(grnn, "squared_distances", seen)
    model.predict(rng.normal(size=(900, 3)))
    assert len(sizes) > 1 and max(sizes) <= 2.5e5 + 8 * len(X)


@pytest.mark.parametrize("k", [1, 3, 4, 200])
def test_weights_among_neighbors_are_repeated_rows(k, rng):
    """The last of the neighbors is counted in part, and rows beyond it not at all."""
    X, y, Z = rng.normal(size=(40, 2)), rng.normal(size=40), rng.normal(size=(30, 2))
    times = rng.integers(0, 4, size=40)
    model = GRNNRegressor(3.0, n_neighbors=k).fit(X, y, sample_weight=times)
    repeated = GRNNRegressor(3.0, n_neighbors=k).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(model.predict(Z), repeated.predict(Z), rtol=1e-9, atol=1e-12)
