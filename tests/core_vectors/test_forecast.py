"""Core sets that will not stay small: forecast, said, and ended with a model that can be used."""

import numpy as np
import pytest
from core_oracles import core_matrix, core_primal
from data_sets import blobs
from oracles import rbf
from sklearn.exceptions import ConvergenceWarning

from polymargin import CoreVectorSVC, load_model, save_model
from polymargin.core_vectors import forecast, growth, options, whole

N = 2000


@pytest.fixture
def small(monkeypatch):
    """Some hundred core vectors are many."""
    monkeypatch.setattr(options, "SMALL_GRAM", 0)
    monkeypatch.setattr(forecast, "ENOUGH", 64)
    monkeypatch.setattr(growth, "SAMPLED_ROWS", 500)


def overlapping(seed, n=N):
    """Three classes of which two thirds can be told apart."""
    y = np.random.default_rng(seed).integers(0, 3, n)
    return np.random.default_rng(seed + 1).normal(size=(n, 2)) + np.eye(3)[y][:, :2] * 1.5, y


@pytest.mark.parametrize("slope", [0.0, 0.5, 2.0])
def test_a_line_in_logarithms_is_followed_to_its_end(slope):
    """V(m) = 1e5 (m / 100)^-s meets V = m at (1e5 100^s)^(1 / (1 + s))."""
    seen = forecast.Forecast()
    for m in (100, 300, 600, 1200, 2400):
        seen.see(m, 1e5 * (m / 100) ** -slope)
    assert seen.end == pytest.approx(max((1e5 * 100**slope) ** (1 / (1 + slope)), 2400))
    assert seen.hopeless(20_000) == (slope == 0.0)


def test_one_look_is_not_enough():
    seen = forecast.Forecast()
    assert seen.end is None and not seen.hopeless(1)
    seen.see(1000, 1e6)
    assert seen.end is None
    seen.see(2000, 1e6)
    assert seen.end == pytest.approx(1e6) and not seen.hopeless(20_000)
    seen.see(3000, 10.0)  # they are all in
    assert seen.end == 3000 and not seen.hopeless(20_000)


def looks(*seen):
    """The forecast after core vectors and rows outside, pair by pair."""
    found = forecast.Forecast()
    for core, outside in seen:
        found.see(core, outside)
    return found


def test_what_a_forecast_is_based_on():
    """A core set of 512, half of enough, and one that is smaller by a factor of 1.5, the last such one; rows outside
    that become more are as bad as ones that stay."""
    assert looks((300, 1e5), (511, 1e5)).end is None and looks((300, 1e5), (512, 1e5)).end == pytest.approx(1e5)
    assert looks((1000, 1e5), (1499, 1e5)).end is None and looks((1000, 1e5), (1500, 1e5)).end == pytest.approx(1e5)
    assert looks((100, 1e6), (1000, 1e5), (2000, 1e5)).end == pytest.approx(1e5)
    assert looks((1000, 1e4), (2000, 4e4)).end == pytest.approx(4e4)
    assert looks((1000, 1e4), (2000, 0.0)).end == 2000


def test_when_a_core_set_is_hopeless():
    """By two forecasts, with as many core vectors as allowed, or 1,024."""
    twice = looks((1000, 9e4), (1500, 9e4), (2400, 9e4))
    assert twice.hopeless(59_999) and not twice.hopeless(60_000)
    assert twice.hopeless(89_999, beyond=1.0) and not twice.hopeless(90_000, beyond=1.0)
    assert not looks((1000, 9e4), (1500, 9e4)).hopeless(10_000)
    assert not looks((1000, 9e4), (1500, 10.0), (2400, 9e4)).hopeless(10_000)
    assert looks((1000, 9e4), (1500, 10.0), (2400, 9e4), (4000, 9e4)).hopeless(10_000)
    few = looks((300, 9e4), (600, 9e4), (900, 9e4))
    assert few.hopeless(900) and not few.hopeless(901)
    for core in (1023, 1024):
        assert looks((300, 9e4), (600, 9e4), (core, 9e4)).hopeless(2000) == (core == 1024)
    assert [forecast.dense(n) for n in (100, 4000, 4004, 8000)] == [1000, 1000, 1001, 2000]


@pytest.mark.parametrize("scheme", ["joint", "pairwise"])
def test_overlap_ends_early_with_a_model(small, scheme, tmp_path, seed):
    X, y = overlapping(seed)
    model = CoreVectorSVC(C=1.0, gamma=0.3, scheme=scheme, max_core=400)
    with pytest.warns(ConvergenceWarning, match=r"large_core.* sample of .* core vectors and .*use LandmarkSVC"):
        model.fit(X, y)
    assert model.status_ == "large_core" and model.duality_gap_ > model.tol
    wide = CoreVectorSVC(C=1.0, gamma=0.3, scheme=scheme, max_core=N).fit(X, y)
    assert wide.status_ == "solved" and len(wide.support_) > 400
    assert model.score(X, y) > wide.score(X, y) - 0.05
    save_model(model, tmp_path / "m.pm")
    assert load_model(tmp_path / "m.pm").status_ == "large_core"


def test_all_at_once_where_no_number_is_given(small, monkeypatch, seed):
    """More core vectors than the default allows, as memory, time and the number of rows do."""
    monkeypatch.setattr(options, "MOST_CORE", 400)
    monkeypatch.setattr(forecast, "MANY", 250)
    X, y = overlapping(seed)
    model = CoreVectorSVC(C=1.0, gamma=0.3).fit(X, y)
    assert model.status_ == "solved" and len(model.support_) > 400
    monkeypatch.setattr(whole, "PAIR_SECONDS", 1.0)
    for params, rows in ((dict(memory="1MB"), N), (dict(time_limit=1000.0), N), ({}, N - 1)):
        monkeypatch.setattr(whole, "MOST_AT_ONCE", rows)
        with pytest.warns(ConvergenceWarning, match="large_core"):
            CoreVectorSVC(C=1.0, gamma=0.3, **params).fit(X, y)


def test_what_will_be_dense_is_solved_at_once(small, monkeypatch, seed):
    """As soon as it is foretold: no core set comes near the size from which on that is done in any case."""
    monkeypatch.setattr(forecast, "MANY", 600)
    X, y = overlapping(seed)
    *grown, last = CoreVectorSVC(C=1.0, gamma=0.3, max_core=N).fit(X, y).core_size_path_
    assert max(grown) <= 600 < last


def test_the_sample_is_certified_on_all_rows(small, seed):
    X, y = overlapping(seed)
    with pytest.warns(ConvergenceWarning, match="large_core"):
        model = CoreVectorSVC(C=1.0, gamma=0.3, max_core=400).fit(X, y)
    alpha = np.zeros(N)
    alpha[model.support_[model.dual_coef_.indices]] = model.dual_coef_.data
    assert model.primal_objective_ == pytest.approx(core_primal(alpha, core_matrix(rbf(X, X, 0.3), y, 1.0), 1.0), 1e-3)


@pytest.mark.parametrize("sample_size", [59, None])
def test_small_cores_are_left_alone(small, sample_size, seed):
    X, y = blobs([700, 700, 700], 3, seed=seed, spread=0.3)
    model = CoreVectorSVC(C=1.0, gamma=0.3, max_core=1000, sample_size=sample_size, tol=0.05).fit(X, y)
    assert model.status_ == "solved"


def test_rows_in_chunks_and_the_report(small, capfd, seed):
    X, y = overlapping(seed)
    with pytest.warns(ConvergenceWarning, match="use LandmarkSVC"):
        model = CoreVectorSVC(C=1.0, gamma=0.3, max_core=400, verbose=2).fit([(X[:700], y[:700]), (X[700:], y[700:])])
    assert model.status_ == "large_core" and "to the end about" in capfd.readouterr().err
    with pytest.warns(ConvergenceWarning):
        whole = CoreVectorSVC(C=1.0, gamma=0.3, max_core=400).fit(X, y)
    np.testing.assert_array_equal(model.support_, whole.support_)


def test_ctrl_c_while_the_sample_is_drawn(small, monkeypatch, seed):
    X, y = overlapping(seed)

    def interrupted(self, block):
        if self.limit.max() < 1:  # not the first draw, which takes every row of such small classes
            raise KeyboardInterrupt
        return call(self, block)

    call = growth.Draw.__call__
    monkeypatch.setattr(growth.Draw, "__call__", interrupted)
    model = CoreVectorSVC(C=1.0, gamma=0.3, max_core=400)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.status_ == "interrupted" and np.isfinite(model.decision_function(X)).all()


def test_ctrl_c_after_the_last_pass(small, monkeypatch, seed):
    """Python may deliver it where nothing is computed any more: the model is kept all the same."""
    X, y = overlapping(seed)
    pressed = []

    def interrupted(self, *_):
        pressed.append(self.status)
        raise KeyboardInterrupt

    monkeypatch.setattr(growth.Growth, "doubt", interrupted)
    model = CoreVectorSVC(C=1.0, gamma=0.3, max_core=400)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert pressed == ["large_core"] and model.status_ == "interrupted" and model.score(X, y) > 0.5
