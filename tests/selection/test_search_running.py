"""Searches that are stopped: what they keep, and how they go on."""

import inspect

import numpy as np
import pytest
from clocks import assert_within
from ctrl_c import CtrlC, interrupted_program, posix
from data_sets import blobs, digits200, wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymargin import JointSVC, KernelSearchCV, OneVsRestSVC, PairwiseSVC, RadiusMarginSearch
from polymargin.fitting.progress import STOP, Stopped
from polymargin.selection.criteria import Criterion
from polymargin.selection.gram_folds import GramFolds
from polymargin.selection.grid_run import GridRun
from polymargin.selection.search_cv import OutOfTime

GRID = dict(C=[0.1, 1.0, 10.0], gamma=[0.01, 0.03, 0.1, 0.3])


class Stops:
    """Ctrl-C when the n-th Gram matrix is wanted; counts how many were."""

    def __init__(self, monkeypatch, n):
        self.seen, self.n = 0, n

        def set_gamma(engine, gamma, _call=GramFolds.set_gamma):
            self.seen += 1
            if self.seen == self.n:
                raise KeyboardInterrupt
            return _call(engine, gamma)

        monkeypatch.setattr(GramFolds, "set_gamma", set_gamma)


@pytest.mark.parametrize("machine", [PairwiseSVC(tol=1e-6), JointSVC("scatter", tol=1e-6)], ids=["pairs", "joint"])
@pytest.mark.parametrize("strategy", ["grid", "coarse-to-fine", "halving"])
def test_an_interrupted_search_goes_on(machine, strategy, monkeypatch):
    X, y = digits200()
    settings = dict(**GRID, cv=3, strategy=strategy, return_train_score=True)
    whole = KernelSearchCV(machine, **settings).fit(X, y)
    stops = Stops(monkeypatch, 3)
    search = KernelSearchCV(machine, **settings)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.status_ == "interrupted"
    done = ~np.isnan(search.cv_results_["mean_test_score"])
    assert 0 < done.sum() < len(done)
    assert search.best_score_ == np.nanmax(search.cv_results_["mean_test_score"])
    assert search.predict(X).shape == y.shape
    search.set_params(warm_start=True).fit(X, y)
    assert search.status_ == "solved" and search.best_params_ == whole.best_params_
    for key in ("mean_test_score", "mean_train_score", "rank_test_score", "iter", "n_resources"):
        if key in whole.cv_results_:
            np.testing.assert_array_equal(search.cv_results_[key], whole.cv_results_[key])
    n_gammas = stops.seen
    KernelSearchCV(machine, **settings).fit(X, y)
    assert n_gammas == (stops.seen - n_gammas) + 1  # only the one that was stopped at was asked for twice


def test_what_is_finished_is_not_done_again(monkeypatch):
    X, y = wine()
    stops = Stops(monkeypatch, 0)
    search = KernelSearchCV(PairwiseSVC(), **GRID, cv=3, warm_start=True).fit(X, y)
    assert stops.seen == 4
    first = search.cv_results_
    search.fit(X, y)
    assert stops.seen == 4 and search.status_ == "solved"
    np.testing.assert_array_equal(search.cv_results_["mean_fit_time"], first["mean_fit_time"])
    search.set_params(gamma=[0.3, 1.0]).fit(X, y)  # another grid: one gamma of it is new
    assert stops.seen == 5
    at = [first["params"].index(p) for p in search.cv_results_["params"] if p["gamma"] == 0.3]
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"][::2], first["mean_test_score"][at])
    search.set_params(C=[1.0, 10.0, 30.0]).fit(X, y)  # one C of it is new
    times = dict(zip(map(str, search.cv_results_["params"]), search.cv_results_["mean_fit_time"], strict=True))
    assert stops.seen == 7 and times["{'C': 10.0, 'gamma': 0.3}"] == first["mean_fit_time"][first["params"].index(
        {"C": 10.0, "gamma": 0.3}
    )]  # fmt: skip
    search.fit(X[::-1], y[::-1])  # other rows, other folds, another machine, another score: nothing is kept
    assert stops.seen == 9
    search.set_params(cv=4).fit(X[::-1], y[::-1])
    assert stops.seen == 11
    search.set_params(estimator__loss="squared_hinge").fit(X[::-1], y[::-1])
    assert stops.seen == 13
    search.set_params(scoring=["accuracy", "f1_macro"], refit="f1_macro").fit(X[::-1], y[::-1])
    assert stops.seen == 15 and search.multimetric_
    assert search.fit(X[::-1], y[::-1]).multimetric_ and stops.seen == 15


def test_a_pipeline_goes_on(monkeypatch):
    X, y = wine()
    model = make_pipeline(StandardScaler(), OneVsRestSVC(tol=1e-6))
    whole = KernelSearchCV(model, **GRID, cv=3).fit(X, y)
    stops = Stops(monkeypatch, 6)  # in the second fold
    search = KernelSearchCV(model, **GRID, cv=3, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    # No point has all its folds yet.
    assert search.status_ == "interrupted" and not hasattr(search, "best_estimator_")
    assert not np.isnan(search.cv_results_["split0_test_score"]).any()
    search.fit(X, y)
    assert stops.seen == 13
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])


def slow_search(n, **settings):
    """A search that takes much longer than a test, with fits that do."""
    X, y = blobs([n // 3] * 3, 5, seed=0, spread=3.0)
    machine = JointSVC("kesler", tol=1e-10, max_iter=10**9)
    return KernelSearchCV(machine, C=[0.001, 1e8], gamma=[0.002], cv=2, n_jobs=2, **settings), X, y


@posix
def test_ctrl_c_ends_fits_in_other_threads():
    search, X, y = slow_search(1500, refit=False)
    with CtrlC(0.6) as ctrl_c, pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert ctrl_c.delay < 2.0
    assert search.status_ == "interrupted"
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_test_score"]), [False, True])


def test_a_time_limit_ends_fits_in_other_threads():
    search, X, y = slow_search(1500, refit=False, time_limit=1.5)

    def fit():
        """With more time where the machine is so busy that there was none for the first, quick point."""
        try:
            search.fit(X, y)
        except OutOfTime:
            search.set_params(time_limit=2 * search.time_limit).fit(X, y)

    with pytest.warns(ConvergenceWarning, match="continue from here with warm_start=True"):
        assert_within(12.0, fit)
    assert search.status_ == "time_limit"
    assert np.isnan(search.cv_results_["mean_test_score"][1])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_of_binary_machines_end_without_a_model(n_jobs, monkeypatch, rng):
    """Of 5,000 classes it would take seconds to make one that no search needs."""
    made = []
    monkeypatch.setattr(PairwiseSVC, "_set_columns", lambda *_: made.append("a model"))
    X, y = rng.standard_normal((4000, 5)), rng.integers(0, 3, 4000)
    token = STOP.set(lambda: True)
    try:
        with pytest.raises(Stopped):
            PairwiseSVC(C=1e3, tol=1e-9, n_jobs=n_jobs).fit(X, y)
    finally:
        STOP.reset(token)
    assert not made


@pytest.mark.parametrize("strategy", ["coarse-to-fine", "halving"])
def test_a_time_limit_between_rounds(strategy, monkeypatch):
    X, y = wine()
    rounds = []

    def evaluate(run, *given, _call=GridRun.evaluate, **how):
        rounds.append(_call(run, *given, **how))
        run.deadline = 0.0
        return rounds[-1]

    monkeypatch.setattr(GridRun, "evaluate", evaluate)
    grid = dict(C=np.geomspace(0.01, 100, 9), gamma=np.geomspace(0.003, 1, 7))
    search = KernelSearchCV(PairwiseSVC(), **grid, cv=3, strategy=strategy, time_limit=60.0)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        search.fit(X, y)
    assert len(rounds) == 1 and search.status_ == "time_limit" and search.best_score_ > 0.8


@pytest.mark.parametrize("stop", ["in the first", "in the second"])
def test_a_search_from_several_points_goes_on(stop, monkeypatch):
    X, y = wine()
    settings = dict(kernel="ellipsoidal", criterion="II", cv=None, warm_start=True, n_jobs=1)
    whole = RadiusMarginSearch(JointSVC("scatter"), **settings).fit(X, y)

    def second(search):
        """Evaluations at the second starting point, with four times the gammas."""
        return [k for k, step in enumerate(search.criterion_path_) if np.allclose(step["params"]["gamma"], 4 / 26)]

    assert len(second(whole)) == 1
    calls, last = [], 5 if stop == "in the first" else second(whole)[0] + 3

    def stopping(self, C, gamma, _call=Criterion.__call__):
        calls.append(C)
        if len(calls) == last + 1:
            raise KeyboardInterrupt
        return _call(self, C, gamma)

    monkeypatch.setattr(Criterion, "__call__", stopping)
    search = RadiusMarginSearch(JointSVC("scatter"), **settings)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.status_ == "interrupted" and search.n_evaluations_ == last
    assert len(second(search)) == (stop == "in the second")
    best = search.best_criterion_
    assert best == min(step["value"] for step in search.criterion_path_)
    search.fit(X, y)
    assert search.status_ == "solved" and len(second(search)) == 1 and search.n_evaluations_ > last
    assert search.best_criterion_ <= best
    assert search.best_criterion_ == pytest.approx(whole.best_criterion_, rel=0.02)


def noisy():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    return rng.normal(size=(600, 30)) + y[:, None] * np.r_[[0.5] * 5, [0.0] * 25], y


@posix
def test_ctrl_c_in_a_program():
    """A real signal to another process: the search is fitted, and continues where it was."""
    program = f"""
import numpy as np
from polymargin import JointSVC, KernelSearchCV

{inspect.getsource(noisy)}

X, y = noisy()
many = np.geomspace(1e-3, 1, 3000)
search = KernelSearchCV(JointSVC(), C=[0.1, 1.0], gamma=many, cv=3, warm_start=True)
begins(0.6)
try:
    search.fit(X, y)
except KeyboardInterrupt:
    print(search.status_, len(search.predict(X)), flush=True)
done = int(np.sum(np.isfinite(search.cv_results_["mean_test_score"])))
search.set_params(gamma=many[: done // 4 + 1]).fit(X, y)
print(search.status_, done > 0, bool(np.isfinite(search.cv_results_["mean_test_score"]).all()))
"""
    said, error, code = interrupted_program(program)
    assert code == 0, error
    assert said.splitlines() == ["interrupted 600", "solved True True"]


@posix
def test_ctrl_c_in_a_descent():
    X, y = noisy()
    search = RadiusMarginSearch(JointSVC(), kernel="ellipsoidal", warm_start=True, cv=None)
    with CtrlC(0.4), pytest.raises(KeyboardInterrupt):
        search.set_params(tol=1e-14, max_iter=10**6, inner_tol=1e-12).fit(X, y)
    assert search.status_ == "interrupted" and len(search.predict(X)) == 600
    before, value = search.n_evaluations_, search.best_criterion_
    search.set_params(tol=1e-5, inner_tol=1e-6).fit(X, y)
    assert search.status_ == "solved" and search.n_evaluations_ > before
    assert search.best_criterion_ <= value * (1 + 1e-6)


def test_a_time_limit_covers_the_refit_and_the_last_check(seed):
    """A search that is done in time, whose refit and check are not."""
    X, y = blobs([700] * 3, 10, seed=seed, spread=3.0)
    machine = JointSVC("kesler", tol=1e-10, max_iter=10**9)
    search = RadiusMarginSearch(machine, max_samples=60, time_limit=1.0, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        assert_within(2.0, lambda: search.fit(X, y))
    assert search.status_ == "time_limit" and search.score(X, y) > 0.4
    assert search.best_estimator_.get_params() == machine.set_params(**search.best_params_).get_params()


def test_the_memory_of_a_search_is_that_of_its_fits(monkeypatch):
    X, y = blobs([60] * 3, 5, seed=0)
    seen = []

    class Machine(PairwiseSVC):
        def fit(self, X, y, sample_weight=None):
            seen.append(self.memory)
            return super().fit(X, y, sample_weight)

    machine = Machine(kernel="laplacian")
    search = KernelSearchCV(machine, C=[1.0], gamma=[0.1], cv=3, n_jobs=2, memory="6MB", scoring=lambda m, X, y: 1.0)
    search.fit(X, y)
    # Two at a time, each with a third of its share for what is beside its kernel values; the last one has all.
    assert seen == [2_000_000] * 3 + [6_000_000] and search.best_estimator_.memory == "auto"


def test_scores_of_many_pairs_that_exceed_the_memory():
    """3,160 pairs with 240 scores each are 6 MB: the matrices fit, and the machines are fitted one after another."""
    X, y = blobs([3] * 80, 4, seed=0, spread=0.5)
    grid = {"C": [1.0], "gamma": [0.1]}
    ours = KernelSearchCV(PairwiseSVC(), **grid, cv=3, memory=1_000_000, refit=False).fit(X, y)
    theirs = GridSearchCV(PairwiseSVC(), grid, cv=3, refit=False).fit(X, y)
    assert not GramFolds(PairwiseSVC(), X, y, np.ones(240), 1, []).by_code(np.arange(240), 240, 1e6)
    for k in range(3):
        assert ours.cv_results_[f"split{k}_test_score"] == theirs.cv_results_[f"split{k}_test_score"]
