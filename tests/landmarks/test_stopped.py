"""A fit that a limit ends leaves a model that tells classes apart, not the scores 0 that it began with."""

import numpy as np
import pytest
from clocks import assert_within
from data_sets import blobs, overlapping
from sklearn.exceptions import ConvergenceWarning

from polymargin import LandmarkSVC
from polymargin.landmarks import streams, training

MANY = 20  # classes: the smooth losses begin with weights whose true losses are above those of scores 0


def rows(seed):
    return blobs([60] * MANY, 6, seed, 0.3)


@pytest.mark.parametrize("limit, most", [("max_iter", dict(max_iter=2)), ("time_limit", dict(time_limit=1e-6))])
@pytest.mark.parametrize("how", [dict(n_landmarks=100), {}], ids=["given number", "auto"])
def test_a_stopped_fit_is_not_chance(limit, most, how, by_passes, monkeypatch, seed):
    monkeypatch.setattr("polymargin.landmarks.training.ALL", 0)
    X, y = rows(seed)
    with pytest.warns(ConvergenceWarning, match=limit):
        model = LandmarkSVC(gamma=0.3, tol=1e-6, **how, **most).fit(X, y)
    assert model.status_ == limit and model.dual_objective_ < model.primal_objective_
    assert model.score(X, y) > 0.5  # chance is 1 / 20


def test_one_pass_alone_is_the_start(by_passes):
    X, y = rows(0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LandmarkSVC(n_landmarks=100, max_iter=1).fit(X, y)
    assert not model.dual_coef_.any() and model.primal_objective_ == pytest.approx(len(y))


@pytest.mark.parametrize("how", [dict(machine="scatter"), dict(n_landmarks=300)], ids=["auto", "given number"])
def test_a_time_limit_holds_with_many_classes(how):
    """One Newton step took half a minute here."""
    X, y = blobs([5] * 2000, 10, 0, 0.5)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = assert_within(1.2, lambda: LandmarkSVC(time_limit=0.2, n_jobs=1, **how).fit(X, y))
    assert model.dual_objective_ < model.primal_objective_ and model.score(X[::20], y[::20]) > 0.2


def test_class_means_where_there_is_no_time_for_a_step(by_passes, monkeypatch, seed):
    """The rule of the nearest mean in the space of the landmarks, and nothing is proved."""
    monkeypatch.setattr("polymargin.landmarks.newton.FIRST_STEP", 0.0)
    X, y = rows(seed)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LandmarkSVC(n_landmarks=100, time_limit=1e-6).fit(X, y)
    assert model.primal_objective_ == model.duality_gap_ == np.inf
    K = np.exp(-model.gamma_ * ((X[:, None] - model.landmarks_) ** 2).sum(axis=2))
    Kmm = np.exp(-model.gamma_ * ((model.landmarks_[:, None] - model.landmarks_) ** 2).sum(axis=2))
    phi = np.linalg.solve(np.linalg.cholesky(Kmm), K.T).T
    means = np.stack([phi[y == c].mean(axis=0) for c in range(MANY)])
    distance = ((phi[:, None] - means) ** 2).sum(axis=2)
    F = model.decision_function(X)
    np.testing.assert_allclose(F - F[:, :1], (distance[:, :1] - distance) / 2, atol=1e-6)


@pytest.mark.parametrize("in_chunks", [False, True])
def test_what_float32_cannot_finish_goes_on_in_float64(in_chunks, monkeypatch, seed):
    """Rounding grows with C: at 1e6 it would hide 2 % of the primal value and more."""
    monkeypatch.setattr(streams, "SAMPLE", 3000)
    X, y = overlapping(6000, seed=seed)
    data = ([(X[:4500], y[:4500]), (X[4500:], y[4500:])],) if in_chunks else (X, y)
    kinds, grow = [], training.doubled
    monkeypatch.setattr(training, "doubled", lambda fit: kinds.append(fit.basis.dtype) or grow(fit))
    model = LandmarkSVC(C=1e7, gamma=0.3, n_landmarks=50).fit(*data)
    assert model.status_ == "solved" and set(kinds) == {"float32", "float64"}
    assert LandmarkSVC(C=1.0, gamma=0.3, n_landmarks=50).fit(*data).status_ == "solved" and kinds[-1] == "float32"
