"""Class separability, the single-machine bound, scores of features, and the picture of a criterion."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import blobs, iris, wine
from oracles import rbf
from scipy.stats import ks_2samp, pearsonr
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import cross_val_score

from polymargin import (
    CriterionDisplay,
    JointSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    class_separability,
    fisher_score,
    kolmogorov_smirnov_score,
    pearson_score,
    single_machine_bound,
)


def test_traces_of_scatter():
    X, y = wine()
    found = class_separability(X, y, gamma=0.1)
    assert found.between == pytest.approx(24.640160491, rel=1e-9)  # the project's oracle 20
    assert found.between + found.within == pytest.approx(found.total, rel=1e-12)
    K, n = rbf(X, X, 0.1), len(y)
    assert found.total == pytest.approx(np.trace(K) - K.sum() / n, rel=1e-10)
    assert class_separability(sp.csr_array(X), y, gamma=0.1) == pytest.approx(found, rel=1e-9)
    assert class_separability(K, y, kernel="precomputed") == pytest.approx(found, rel=1e-9)


def test_linear_traces_are_those_of_the_scatter_matrices():
    X, y = blobs([700, 600, 5], 3, seed=0)
    found = class_separability(X, y, kernel="linear")
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    assert found.within == pytest.approx(((X - means[y]) ** 2).sum(), rel=1e-9)
    assert found.between == pytest.approx(((means[y] - X.mean(axis=0)) ** 2).sum(), rel=1e-9)
    assert 0 < found.ratio < 1


@pytest.mark.parametrize("n_per_class", [[8, 10], [6, 7, 9]])
def test_single_machine_bound(n_per_class):
    X, y = blobs(n_per_class, 2, seed=1)
    C, gamma, n, T = 2.0, 0.5, len(y), len(n_per_class)
    K = rbf(X, X, gamma)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(n))
    W, b = cp.Variable((n, T)), cp.Variable(T)
    F = root @ W + np.ones((n, 1)) @ cp.reshape(b, (1, T), order="C")
    others = [(i, m) for i in range(n) for m in range(T) if m != y[i]]
    xi = cp.hstack([cp.pos(1 - F[i, y[i]] + F[i, m]) for i, m in others])
    problem = 0.5 * (cp.sum_squares(W) + cp.sum_squares(b)) + C / 4 * cp.sum_squares(xi)
    cp.Problem(cp.Minimize(problem)).solve(solver="CLARABEL")
    w = sum(np.sum((W.value[:, i] - W.value[:, j]) ** 2) for i in range(T) for j in range(i))
    beta = cp.Variable(n, nonneg=True)
    ridged = np.linalg.cholesky(K + np.eye(n) / C)
    ball = cp.Problem(cp.Minimize(cp.sum_squares(ridged.T @ beta)), [cp.sum(beta) == 1]).solve(solver="CLARABEL")
    expected = (1 + 1 / C - ball) * (w + C * np.sum(xi.value**2))
    assert single_machine_bound(X, y, C=C, gamma=gamma) == pytest.approx(expected, rel=1e-4)


def test_feature_scores_of_two_classes(rng):
    X, y = rng.normal(size=(60, 4)).round(1), np.arange(60) % 2
    X[:, 1] += 2 * y
    a, b = X[y == 0], X[y == 1]
    np.testing.assert_allclose(
        kolmogorov_smirnov_score(X, y), [ks_2samp(a[:, t], b[:, t]).statistic for t in range(4)], rtol=1e-12
    )
    np.testing.assert_allclose(pearson_score(X, y), [abs(pearsonr(X[:, t], y)[0]) for t in range(4)], rtol=1e-10)
    np.testing.assert_allclose(fisher_score(X, y), (a.mean(0) - b.mean(0)) ** 2 / 2 / (a.var(0) + b.var(0)), rtol=1e-10)


@pytest.mark.parametrize("score", [fisher_score, pearson_score, kolmogorov_smirnov_score])
def test_feature_scores_find_the_useful_ones(score, rng):
    y = np.array(list("abc"))[np.arange(90) % 3]
    X = rng.normal(size=(90, 8))
    X[:, 5] += 3 * (np.arange(90) % 3)
    X[:, 2] = 1.0
    scores = score(X, y)
    assert scores.shape == (8,) and np.argmax(scores) == 5 and scores[2] == 0
    assert SelectKBest(score, k=1).fit(X, y).get_support()[5]
    with pytest.raises(ValueError, match="at least 2 classes"):
        score(X, np.zeros(90))


def test_picture_of_a_criterion():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    X, y = iris()
    search = RadiusMarginSearch(PairwiseSVC(), cv=None).fit(X, y)
    display = CriterionDisplay.from_search(search, X, y, n_points=4, cv=3)
    assert len(display.surfaces_) == len(display.axes_) == 2
    assert display.values.shape == display.errors.shape == (4, 4)
    assert display.values.min() >= search.best_criterion_ * (1 - 1e-6)
    np.testing.assert_allclose(display.lines_[0].get_xdata()[0], 0.0)
    corner = PairwiseSVC(C=np.exp(display.log_C[0]), gamma=np.exp(display.log_gamma[3]))
    assert display.errors[3, 0] == pytest.approx(1 - cross_val_score(corner, X, y, cv=3).mean(), abs=0.03)
    search = RadiusMarginSearch(JointSVC("scatter"), kernel="ellipsoidal", cv=None).fit(X, y)
    display = CriterionDisplay.from_search(search, X, y)
    assert len(display.lines_[0].get_ydata()) == search.n_evaluations_
    plt.close("all")


def test_the_surface_is_that_of_the_search(rng):
    """With the weights of rows and classes and on the rows that the search saw: the path lies on it."""
    X, y = wine()
    weight = rng.integers(0, 3, len(y)).astype(float)
    machine = PairwiseSVC(class_weight={0: 9.0, 1: 1.0, 2: 1.0})
    search = RadiusMarginSearch(machine, max_samples=60, random_state=0, cv=None, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        search.fit(X, y, sample_weight=weight)
    display = CriterionDisplay.from_search(search, X, y, sample_weight=weight, n_points=2, margin=0.0)
    ends = {tuple(np.log(list(step["params"].values()))): step["value"] for step in search.criterion_path_}
    met = [
        (value, ends[u, v])
        for v, row in zip(display.log_gamma, display.values, strict=True)
        for u, value in zip(display.log_C, row, strict=True)
        if (u, v) in ends
    ]
    assert met
    np.testing.assert_allclose(*zip(*met, strict=True), rtol=1e-6)
