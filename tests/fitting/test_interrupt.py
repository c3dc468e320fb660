"""Ctrl-C during a fit: it stops within a second, the model is there, and KeyboardInterrupt is raised again."""

import os
import signal
import time

import numpy as np
import pytest
from clocks import assert_within
from ctrl_c import CtrlC, interrupted_program, posix
from data_sets import blobs, endless
from sklearn.exceptions import NotFittedError

from polymargin import JointSVC, SupervisedIsomap
from polymargin.smoothing import grnn

pytestmark = posix


def assert_interruptible(model, X, y):
    with CtrlC(0.3) as ctrl_c, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert ctrl_c.delay < 1.0
    assert model.status_ == "interrupted"
    F = model.decision_function(X[:50])
    assert F.shape == (50, 3) and np.all(np.isfinite(F))
    assert model.kkt_violation_ > model.tol and model.n_iter_ >= 1


@pytest.mark.parametrize(
    "parameters",
    [
        dict(),
        dict(memory="1MB"),
        dict(loss="squared_hinge"),
        dict(loss="logistic"),
        dict(nu=0.1),
        dict(intercept="exact"),
        dict(verbose=2),
        dict(machine="kesler"),
        dict(machine="kesler", solver="smo"),
        dict(machine="kesler", loss="squared_hinge", solver="ksk"),
        dict(machine="atm", memory="1MB"),
    ],
    ids=str,
)
def test_ctrl_c(parameters, capfd):
    assert_interruptible(*endless(JointSVC("scatter", n_jobs=1), **parameters))


def test_ctrl_c_with_many_rows():
    X, y = blobs([8000] * 3, 200, seed=0, spread=3.0)
    model = JointSVC("scatter", time_limit=60.0, n_jobs=1, memory="4GB")
    with CtrlC(0.3) as ctrl_c, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert ctrl_c.delay < 1.0
    assert model.status_ == "interrupted" and len(model.predict(X[:5])) == 5


def test_ctrl_c_in_a_callable_kernel():
    def pressed(A, B):
        os.kill(os.getpid(), signal.SIGINT)
        return np.exp(-((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    model, X, y = endless(JointSVC("scatter", n_jobs=1), 600, kernel=pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)


def test_a_fit_goes_on_after_ctrl_c():
    model, X, y = endless(JointSVC("scatter", n_jobs=1), warm_start=True, tol=1e-3, C=1e4)
    try:
        with CtrlC(0.3):
            model.fit(X, y)
    except KeyboardInterrupt:
        assert model.status_ == "interrupted"
    before = model.dual_objective_
    with CtrlC(0.3), pytest.raises(KeyboardInterrupt):
        model.set_params(tol=1e-12, C=1e4).fit(X, y)
    assert model.dual_objective_ >= before * (1 - 1e-9)


def test_time_limit_is_kept():
    model, X, y = endless(JointSVC("scatter", n_jobs=1), time_limit=0.5)
    with pytest.warns(Warning, match="time_limit"):
        assert_within(1.5, lambda: model.fit(X, y))
    assert model.fit_seconds_ > 0.2  # some of the time is kept for the scores that the objectives need


def test_ctrl_c_before_there_are_coordinates_leaves_the_former_ones():
    X, y = blobs([8000] * 3, 300, seed=0)
    model = SupervisedIsomap(n_jobs=1).fit(X[::100], y[::100])
    before, expected = dict(vars(model)), model.transform(X[:50])
    with CtrlC(0.3) as ctrl_c, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert ctrl_c.delay < 2.0
    assert vars(model) == before
    np.testing.assert_array_equal(model.transform(X[:50]), expected)
    model = SupervisedIsomap(n_jobs=1)
    with CtrlC(0.3), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.transform(X)


@pytest.mark.parametrize("measured", [0, 2])
def test_ctrl_c_in_the_choice_of_the_spread_leaves_the_coordinates(measured, monkeypatch):
    """After this many spreads were tried; the signal is a real one."""
    X, y = blobs([40] * 3, 5, seed=0)
    calls, smooth = [], grnn.smooth

    def pressing(*arguments):
        calls.append(1)
        if len(calls) > measured:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        return smooth(*arguments)

    monkeypatch.setattr(grnn, "smooth", pressing)
    model = SupervisedIsomap(n_components=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert len(model.grnn_.spreads_) == measured and model.grnn_.spread_ > 0
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    assert model.transform(X[:7] + 0.1).shape == (7, 3) and 0 <= model.residual_variance_ <= 1
    np.testing.assert_allclose(model.embedding_, SupervisedIsomap(n_components=3).fit(X, y).embedding_)


def test_ctrl_c_in_a_program():
    said, _, code = interrupted_program("""
        import numpy as np
        from polymargin import JointSVC
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(3000, 5)), np.arange(3000) % 3
        model = JointSVC(C=1e6, tol=1e-10, time_limit=60.0)
        begins(0.8)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print(model.status_, len(model.predict(X)))
    """)
    assert said == "interrupted 3000\n" and code == 0
