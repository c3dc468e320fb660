"""A fit that a limit ends leaves a model that tells classes apart, not the scores 0 that it began with."""

import pytest
from data_sets import blobs
from sklearn.exceptions import ConvergenceWarning

from polymargin import LandmarkSVC

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
