"""Naive Bayes with kernel densities: against the formula, against scikit-learn's KernelDensity, and its checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.neighbors import KernelDensity

from polymargin import KernelDensityNB


@pytest.fixture
def data(rng):
    y = np.repeat([0, 1, 2], [20, 30, 10])
    X = rng.standard_normal((60, 3)) + y[:, None] * [1.0, -0.5, 0.0]
    X[:, 1] = X[:, 1].round(1)  # repeated values
    return X, np.array(["a", "b", "c"])[y], rng.standard_normal((15, 3))


def test_the_formula(data):
    X, y, Z = data
    model = KernelDensityNB(bandwidth=0.4).fit(X, y)
    for c, label in enumerate(model.classes_):
        rows = X[y == label]
        density = norm.pdf(Z[:, None], loc=rows, scale=0.4).mean(axis=1)  # (points, features)
        expected = np.log(len(rows) / len(X)) + np.log(density).sum(axis=1)
        assert np.allclose(model.predict_joint_log_proba(Z)[:, c], expected)
    assert np.allclose(model.predict_proba(Z).sum(axis=1), 1)
    assert np.array_equal(model.predict(Z), model.classes_[model.predict_proba(Z).argmax(axis=1)])


def test_scikit_learns_density_with_silvermans_widths(data):
    X, y, Z = data
    model = KernelDensityNB().fit(X, y)
    for c, label in enumerate(model.classes_):
        rows = X[y == label]
        h = 1.06 * rows.std(axis=0) * len(rows) ** -0.2
        assert np.allclose(model.bandwidth_[c], h)
        parts = [KernelDensity(bandwidth=h[j], rtol=1e-10).fit(rows[:, [j]]).score_samples(Z[:, [j]]) for j in range(3)]
        expected = np.log(len(rows) / len(X)) + np.sum(parts, axis=0)
        assert np.allclose(model.predict_joint_log_proba(Z)[:, c], expected, atol=1e-8)


def test_far_points_have_finite_scores(data):
    X, y, _ = data
    score = KernelDensityNB(bandwidth=1e-3).fit(X, y).predict_joint_log_proba(np.full((1, 3), 1e4))
    assert np.all(np.isfinite(score)) and len(np.unique(score)) == 3


def test_weights_priors_and_sparse_rows(data):
    X, y, Z = data
    plain = KernelDensityNB().fit(X, y)
    weight = np.ones(len(y))
    weight[:7], weight[25] = 2, 0
    again = np.concatenate([X, X[:7]]), np.concatenate([y, y[:7]])
    repeated = KernelDensityNB().fit(np.delete(again[0], 25, axis=0), np.delete(again[1], 25))
    weighted = KernelDensityNB().fit(X, y, sample_weight=weight)
    assert np.allclose(weighted.predict_joint_log_proba(Z), repeated.predict_joint_log_proba(Z))
    assert not np.allclose(weighted.predict_joint_log_proba(Z), plain.predict_joint_log_proba(Z))
    sparse = KernelDensityNB().fit(sp.csr_matrix(X), y)
    assert np.allclose(sparse.predict_joint_log_proba(sp.csr_matrix(Z)), plain.predict_joint_log_proba(Z))
    even = KernelDensityNB(priors=[1 / 3] * 3).fit(X, y)
    shift = even.predict_joint_log_proba(Z) - plain.predict_joint_log_proba(Z)
    assert np.allclose(shift, np.log(1 / 3) - np.log(plain.class_prior_))


def test_a_constant_feature_and_blocks(data, monkeypatch):
    X, y, Z = data
    X[:, 2] = 5.0
    Z[:, 2] = 5.0
    model = KernelDensityNB().fit(X, y)
    score = model.predict_joint_log_proba(Z)
    assert np.all(np.isfinite(score))
    monkeypatch.setattr("polymargin.smoothing.kernel_density.VALUES_AT_ONCE", 7)
    assert np.allclose(model.predict_joint_log_proba(Z), score)


@pytest.mark.parametrize("bad", [dict(bandwidth=0.0), dict(bandwidth="scot"), dict(priors=[0.5, 0.6, 0.1])])
def test_bad_parameters(bad, data):
    X, y, _ = data
    with pytest.raises(ValueError, match="expected"):
        KernelDensityNB(**bad).fit(X, y)
