"""How a fit runs: warm starts, statuses, progress, callbacks, threads and memory."""

import logging
import os
import warnings

import joblib
import numpy as np
import pytest
import threadpoolctl
from clocks import assert_within
from compare import assert_same_scores
from data_sets import blobs, endless, iris
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymargin import JointSVC, PairwiseSVC
from polymargin.fitting import progress, resources

EXACT = dict(tol=1e-9)


# --- running ----------------------------------------------------------------------------------------------------------


def hard(n=400, seed=0):
    """Classes that overlap: many bounded support vectors, many steps."""
    return blobs([n // 4] * 4, 5, seed=seed, spread=2.0)


def test_warm_start_goes_on():
    X, y = hard()
    whole = JointSVC("scatter", C=100.0).fit(X, y)
    model = JointSVC("scatter", C=100.0, max_iter=max(1, whole.n_iter_ // 2), warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    half = model.dual_objective_
    assert half < whole.dual_objective_
    model.set_params(max_iter=10_000_000).fit(X, y)
    assert model.status_ == "solved" and model.dual_objective_ > half
    assert model.primal_objective_ == pytest.approx(whole.primal_objective_, rel=1e-2)
    assert model.fit(X, y).n_iter_ <= max(2, whole.n_iter_ // 4)


@pytest.mark.parametrize(("nu", "intercept"), [(None, "none"), (0.3, "none"), (0.3, "exact"), (None, "exact")])
def test_warm_start_from_another_problem(nu, intercept):
    X, y = hard()
    model = JointSVC("scatter", nu=nu, intercept=intercept, warm_start=True, **EXACT).fit(X, y)
    other = X + 0.1 * X[::-1]
    cold = JointSVC("scatter", nu=nu, intercept=intercept, C=3.0, **EXACT)
    assert_same_scores(
        model.set_params(C=3.0).fit(other, y, np.arange(400) % 3), cold.fit(other, y, np.arange(400) % 3), X
    )
    assert_same_scores(model.fit(X[:-1], y[:-1]), cold.fit(X[:-1], y[:-1]), X)  # another number of rows: a cold start


@pytest.mark.parametrize(
    ("status", "parameters", "advice"),
    [
        ("max_iter", dict(C=1e4, max_iter=2), "raise max_iter"),
        ("time_limit", dict(C=1e4, time_limit=1e-9), "raise time_limit"),
        ("stalled", dict(tol=1e-300), "accept a larger tol"),
    ],
)
def test_not_solved_is_a_warning(status, parameters, advice):
    X, y = hard(100)
    model = JointSVC(**({"machine": "scatter"} | parameters))
    with pytest.warns(ConvergenceWarning, match=f"(?s)JointSVC ended with status '{status}'.*{advice}") as caught:
        model.fit(X, y)
    assert model.status_ == status
    assert caught[0].filename == __file__
    assert model.predict(X).shape == (100,)
    assert np.isfinite(model.duality_gap_) or model.duality_gap_ == np.inf


@pytest.mark.parametrize(
    "parameters",
    [
        dict(machine="crammer-singer"),
        dict(machine="kesler"),
        dict(machine="crammer-singer", kernel="linear"),
        dict(machine="kesler", solver="smo"),
    ],
    ids=str,
)
def test_time_limit_with_many_classes(parameters):
    """A second over the limit at most, in processor time, though every pass over all variables takes a while."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 20)), np.arange(4000) % 2000
    machine = JointSVC(C=100.0, time_limit=0.4, tol=1e-6, n_jobs=1, **parameters)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        assert_within(1.4, lambda: machine.fit(X, y))


@pytest.mark.parametrize("limit", [0.01, 1.0])
@pytest.mark.parametrize("machine", ["crammer-singer", "kesler"])
def test_time_limit_with_twenty_million_variables(machine, limit):
    """Some of the rows come first; their machine becomes one of all rows in less than the second that is allowed.

    So it does where there was no time for a step, which on a busy machine may be so after a second, too.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_000, 3)), np.arange(10_000) % 2000
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = assert_within(1.0 + limit, lambda: JointSVC(machine, time_limit=limit, n_jobs=1).fit(X, y))
    assert (len(model.support_) > 0) == (model.n_iter_ > 0)
    assert model.dual_coef_.shape == (2000, len(model.support_))


@pytest.mark.filterwarnings("ignore:.*time_limit:sklearn.exceptions.ConvergenceWarning")
def test_powers_of_a_large_degree_are_quick():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 20)), np.arange(4000) % 2000
    machine = JointSVC("scatter", kernel="poly", degree=10**6, gamma=1e-7, coef0=1.0, intercept="exact", n_jobs=1)
    machine.set_params(C=100.0, time_limit=1.0, tol=1e-6)
    assert_within(2.0, lambda: machine.fit(X, y))


@pytest.mark.parametrize("solver", ["smo", "ksk", "mdm"])
def test_solved_is_within_the_tolerance(solver):
    X, y = hard(100)
    loss = "hinge" if solver == "smo" else "squared_hinge"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = JointSVC("kesler", solver=solver, loss=loss, tol=0.05).fit(X, y)
    reached = model.kkt_violation_ if solver == "smo" else model.duality_gap_
    assert (model.status_ == "solved") == (reached <= model.tol)


@pytest.mark.parametrize("parameters", [dict(n_jobs=1), dict(n_jobs=2), dict(memory="1MB"), dict(memory=10**7)])
def test_threads_and_memory_change_nothing(parameters):
    X, y = hard(1200)
    assert_same_scores(JointSVC("scatter", **EXACT).fit(X, y), JointSVC("scatter", **EXACT, **parameters).fit(X, y), X)


def test_verbose_lines(capsys, caplog):
    X, y = hard(1000)
    JointSVC("scatter", C=10.0, tol=1e-6, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("polymargin: ") for line in lines) and "status 'solved'" in lines[-1]
    with caplog.at_level(logging.INFO, logger="polymargin"):
        JointSVC("scatter", verbose=1).fit(X, y)
    assert "status 'solved'" in caplog.messages[-1]
    assert capsys.readouterr() == ("", "")
    JointSVC("scatter").fit(X, y)
    assert capsys.readouterr() == ("", "")


EVENT = dict(n_iter=1000, violation=0.1, dual=1.0, seconds=6.0)


def test_progress_bar(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    X, y = iris()
    JointSVC("scatter", verbose=1).fit(X, y)
    with progress.Progress(JointSVC("scatter"), 1e-3, 1, {}) as shown:
        assert shown.shown.bar is not None
        shares = []
        for violation in (1.0, 0.1, 0.5, 0.01, 1e-3, 1e-9):
            assert not shown({**EVENT, "violation": violation})
            shares.append(shown.done)
    assert_allclose(shares, [0, 1 / 3, 1 / 3, 2 / 3, 1, 1], atol=1e-12)


def test_a_long_fit_is_announced(caplog, monkeypatch):
    X, y = iris()
    with caplog.at_level(logging.INFO, logger="polymargin"):
        JointSVC("scatter").fit(X, y)
        assert not caplog.messages
        monkeypatch.setattr(progress, "LONG", 0.0)
        JointSVC("scatter", n_jobs=2).fit(X, y)
    (line,) = caplog.messages
    assert (
        "fitting 150 rows x 4 columns in 3 classes will take about 0 s, more with a large C, and 0.0 GB" in line
        and "2 threads" in line
    )
    seconds, size = progress.estimate(10**6, 50, "rbf", 2, 10**9)
    assert seconds > 600 and size == 10**9
    assert progress.duration(40) == "40 s" and progress.duration(600) == "10 min" and progress.duration(9000) == "2.5 h"


class Watch:
    """A scikit-learn callback that counts what it hears and asks to stop after some steps."""

    def __init__(self, steps=None, error=None):
        self.steps, self.error, self.heard, self.model = steps, error, [], None

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.heard.append("begin " + context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.heard.append("end " + context.task_name)
        if context.task_name == "fit":
            self.model, self.data = fitted_estimator, (X, y, metadata)
        elif self.error:
            raise self.error
        return self.steps is not None and self.heard.count("end steps") >= self.steps


def test_callbacks():
    pytest.importorskip("sklearn.callback")
    X, y = iris()
    watch = Watch()
    model = JointSVC("scatter").set_callbacks(watch).fit(X, y)
    assert watch.heard[:2] == ["setup", "begin fit"] and watch.heard[-2:] == ["end fit", "teardown"]
    assert_array_equal(watch.model.predict(X), model.predict(X))
    assert watch.data[0].shape == X.shape and len(watch.data[2]["sample_weight"]) == 150


def test_a_callback_can_stop_the_fit():
    pytest.importorskip("sklearn.callback")
    model, X, y = endless(JointSVC("scatter"))
    watch = Watch(steps=2)
    with pytest.warns(ConvergenceWarning, match="interrupted.*warm_start=True"):
        model.set_callbacks(watch).fit(X, y)
    assert model.status_ == "interrupted"  # not "time_limit"
    assert watch.heard.count("end steps") == 2 and watch.heard[-1] == "teardown"
    assert model.score(X, y) > 0.3


def test_who_has_stopped_a_fit_is_not_asked_again():
    """Solvers may have more to tell before they end."""
    pytest.importorskip("sklearn.callback")
    X, y = iris()
    watch = Watch(steps=2)
    model = JointSVC("scatter").set_callbacks(watch)
    with progress.Progress(model, 1e-3, 0, dict(X=X, y=y, metadata={})) as told:
        assert [told(EVENT) for _ in range(4)] == [False, True, True, True]
    assert watch.heard.count("end steps") == 2


def test_an_error_in_a_callback_is_raised_after_the_model_is_there():
    pytest.importorskip("sklearn.callback")
    model, X, y = endless(JointSVC("scatter"))
    with pytest.raises(ZeroDivisionError):
        model.set_callbacks(Watch(error=ZeroDivisionError())).fit(X, y)
    assert model.status_ == "interrupted" and len(model.predict(X)) == len(X)


def test_scikit_learns_progress_bar_and_monitor():
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    X, y = iris()
    JointSVC("scatter").set_callbacks(callback.ProgressBar()).fit(X, y)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = JointSVC("scatter").set_callbacks(monitor).fit(X, y)
    assert monitor.get_logs().data[-1]["accuracy"] == model.score(X, y)
    search = GridSearchCV(make_pipeline(StandardScaler(), JointSVC("scatter")), {"jointsvc__C": [1, 10]}, cv=2)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, y)


# --- resources --------------------------------------------------------------------------------------------------------


def test_nothing_is_asked_for_little_work(monkeypatch):
    X, y = iris()
    large = np.repeat(X, 12, axis=0), np.repeat(y, 12)

    class Asked(Exception):
        pass

    def ask(*_):
        raise Asked

    monkeypatch.setattr(resources.joblib, "cpu_count", ask)
    monkeypatch.setattr(resources, "free_memory", ask)
    for machine in (PairwiseSVC(), JointSVC("scatter"), JointSVC("scatter"), PairwiseSVC(n_jobs=-1)):
        assert machine.fit(X, y).predict(X).shape == y.shape
        with pytest.raises(Asked):
            machine.fit(*large)
    with pytest.raises(Asked):
        machine.predict(np.repeat(X, 200, axis=0))
    with pytest.raises(ValueError, match="expected memory to be"):
        PairwiseSVC(memory="a lot").fit(X, y)


def test_threads(monkeypatch):
    cores = joblib.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert resources.threads(3) == 3
    assert resources.threads(-1) == cores
    assert resources.threads(-2) == max(1, cores - 1)
    with threadpoolctl.threadpool_limits(1, user_api="openmp"):
        assert resources.threads(None) == 1
        assert resources.threads(2) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert resources.threads(None) == 1


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_workers_have_one_thread_and_fit(backend):
    X, y = iris()
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(resources.threads)(None) for _ in range(3))
        search = GridSearchCV(make_pipeline(StandardScaler(), JointSVC("scatter")), {"jointsvc__C": [0.1, 10]}, cv=3)
        search.fit(X, y)
    assert found == [1, 1, 1] and search.best_score_ > 0.93


def test_memory():
    free = resources.free_memory()
    assert 10**7 < free < 10**14
    assert resources.budget("auto") == pytest.approx(free / 2, rel=0.2)
    for text, size in [
        ("512MB", 512e6),
        ("2GB", 2e9),
        ("1.5 GiB", 1.5 * 2**30),
        ("2000 kb", 2e6),
        ("3g", 3e9),
        ("5000000", 5e6),
    ]:
        assert resources.budget(text) == size
    assert resources.budget(10**9) == 10**9
    assert os.path.exists("/proc/meminfo") is False or resources.system_memory() > 0
