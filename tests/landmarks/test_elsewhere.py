"""LandmarkSVC on a cluster of worker processes, and in a search."""

import os
import signal

import numpy as np
import pytest
from data_sets import blobs
from sklearn.model_selection import StratifiedKFold, cross_val_score

from polymargin import KernelSearchCV, LandmarkSVC
from polymargin.landmarks import streams

OPTIONS = dict(n_landmarks=20, gamma=0.3, tol=1e-3)


def pid():
    return os.getpid()


@pytest.mark.filterwarnings("ignore")  # of a cluster that starts, loses workers and ends
@pytest.mark.parametrize("killed", [False, True])
def test_a_cluster_and_a_killed_worker_change_nothing(killed, client, monkeypatch, seed):
    """Data frames in partitions, of which a worker that dies between two passes takes some along."""
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    X, y = blobs([2000] * 3, 3, seed, 0.9)
    monkeypatch.setattr(streams, "SAMPLE", 2000)
    alone = LandmarkSVC(**OPTIONS).fit([(X[:2500], y[:2500]), (X[2500:], y[2500:])])
    victims, curved = [], streams.SourceRows.curved

    def killing(self, *arguments):
        if killed and not victims:
            victims.append(next(iter(client.run(pid).values())))
            os.kill(victims[0], signal.SIGKILL)
        return curved(self, *arguments)

    monkeypatch.setattr(streams.SourceRows, "curved", killing)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y), npartitions=7)
    model = LandmarkSVC(**OPTIONS).fit(frame, "y")
    assert len(victims) == killed and not set(victims) & set(client.run(pid).values())
    assert model.status_ == alone.status_ == "solved"
    np.testing.assert_array_equal(model.support_, alone.support_)
    # Both are within tol of the same optimum.
    np.testing.assert_allclose(model.primal_objective_, alone.primal_objective_, rtol=2.1e-3)
    assert model.dual_objective_ <= alone.primal_objective_ and alone.dual_objective_ <= model.primal_objective_


def test_a_search_scores_what_is_fitted(seed):
    """All rows are landmarks: of fewer, a search, which knows rows by their number, makes another draw than a fit."""
    X, y = blobs([40] * 3, 3, seed, 0.9)
    folds = StratifiedKFold(3)
    search = KernelSearchCV(LandmarkSVC(), C=[0.1, 10.0], gamma=[0.1, 1.0], cv=folds).fit(X, y)
    for at, values in enumerate(search.cv_results_["params"]):
        scores = cross_val_score(LandmarkSVC(**values), X, y, cv=folds)
        # A row whose best scores are equal up to tol may go either way.
        assert search.cv_results_["mean_test_score"][at] == pytest.approx(scores.mean(), abs=1.01 / len(y))
    search.set_params(estimator=LandmarkSVC(n_landmarks=9)).fit(X, y)
    assert len(search.best_estimator_.landmarks_) == 9
    assert search.best_params_["C"] == search.best_estimator_.C
