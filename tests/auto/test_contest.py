"""AutoSVC on many rows: machines are tried on samples, what they will take is said, the best in time is taken."""

import time
import warnings

import numpy as np
import pytest

from polymargin import AutoSVC, LandmarkSVC, PairwiseSVC, load_model, save_model
from polymargin.auto import calibration, classifier, contest, task, tuning
from polymargin.auto.contest import Prospect, Trial, chosen, growth
from polymargin.report.facts import facts


@pytest.fixture
def many(monkeypatch):
    """Seven hundred rows are many, and no fit is quick."""
    monkeypatch.setattr("polymargin.auto.classifier.MANY_ROWS", 700)
    monkeypatch.setattr("polymargin.auto.task.MANY_ROWS", 700)
    monkeypatch.setattr(contest, "LAST_ROWS", 600)
    monkeypatch.setattr(contest, "LANDMARKS", (400, 400))
    monkeypatch.setattr(contest, "LONG", 0.0)


def overlapping(n, seed):
    y = np.random.default_rng(seed).integers(0, 3, n)
    return np.random.default_rng(seed + 1).normal(size=(n, 4)) + 1.5 * np.eye(3)[y] @ np.eye(3, 4), y


def prospect(name, seconds, right):
    return Prospect(name, seconds, 0.0, float(np.mean(right)), 1.0, right, 1.0)


def test_the_quickest_that_is_as_good_in_time():
    right = np.arange(400) < 360
    worse, alike = np.arange(400) < 320, np.roll(right, 3)
    exact, core, landmarks = (
        prospect("pairwise", 50.0, right), prospect("core-vector", 20.0, worse), prospect("landmarks", 5.0, alike),
    )  # fmt: skip
    assert chosen([exact, core], 100.0) is exact  # 40 of 400 rows are no chance
    assert chosen([exact, core, landmarks], 100.0) is landmarks
    assert chosen([exact, core], 30.0) is exact  # on fewer rows it is still better
    assert chosen([prospect("pairwise", 50.0, alike), landmarks], 1.0) is landmarks  # no time: the quickest
    stopped = prospect("landmarks", 5.0, np.zeros(400, dtype=bool))  # a trial that its time limit ended
    assert chosen([exact, stopped], 30.0) is exact is chosen([exact, stopped], 1.0)
    assert chosen([exact, prospect("core-vector", np.inf, right)], 1.0) is exact


def test_support_vectors_grow_with_a_power_of_the_rows():
    def trial(m, support):
        return Trial(m, 1.0, np.ones(1, dtype=bool), support, False)

    assert growth(trial(1000, 300), trial(4000, 1200)) == pytest.approx(1)
    assert growth(trial(1000, 300), trial(4000, 600)) == pytest.approx(0.5)
    assert growth(trial(1000, 300), trial(4000, 200)) == 0


@pytest.mark.parametrize("best", ["pairwise", "core-vector", "landmarks"])
def test_what_was_foretold_is_said_and_taken(many, best, monkeypatch, tmp_path, seed):
    X, y = overlapping(1200, seed)
    monkeypatch.setattr(contest, "chosen", lambda found, seconds: next(p for p in found if p.name == best))
    model = AutoSVC(C=1.0, gamma=0.2).fit(X, y)
    text = " ".join(model.explain_choices_)
    assert all(f"{name} " in text for name in contest.NAMES.values()) and "Expected for 1200" in text
    assert "announced" in text and model.announced_seconds_ > 0
    assert type(model.machine_) is {"pairwise": PairwiseSVC, "landmarks": LandmarkSVC}.get(best, type(model.machine_))
    assert model.machine_.shape_fit_[0] == 1200
    P = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    save_model(model, tmp_path / "m.pm")
    again = load_model(tmp_path / "m.pm")
    np.testing.assert_array_equal(again.predict_proba(X), P)
    assert again.announced_seconds_ == model.announced_seconds_


def test_sums_of_the_forecast(many, monkeypatch, seed):
    """Times are those of the trials times powers of the rows; landmarks grow like n, others as support vectors do."""
    X, y = overlapping(1200, seed)
    seen = {}
    prospects = contest.Contest.prospect

    def kept(self, name, trial, b):
        seen[name] = trial, b, prospects(self, name, trial, b)
        return seen[name][2]

    monkeypatch.setattr(contest.Contest, "prospect", kept)
    AutoSVC(C=1.0, gamma=0.2).fit(X, y)
    for name, (trial, b, found) in seen.items():
        power = 1 if name == "landmarks" else 1 + b
        assert found.seconds == pytest.approx(trial.seconds * (1200 / trial.m) ** power)
        assert 0.4 < found.accuracy <= 1
    assert set(seen) == {"pairwise", "core-vector", "landmarks"} and 0.5 < seen["pairwise"][1] <= 1


def test_a_trial_without_time_is_not_chance(many, monkeypatch, seed):
    """Landmarks that their share of time cuts off are judged by what they reached, and that is a model."""
    monkeypatch.setattr("polymargin.landmarks.training.SMALL", 0)
    monkeypatch.setattr("polymargin.landmarks.training.ALL", 0)
    tried, named, seen = contest.Contest.tried, task.machine_named, {}

    def hurried(name, **parameters):
        return named(name, **parameters | ({"time_limit": 1e-6} if name == "landmarks" else {}))

    def kept(self, name, *given):
        seen[name] = tried(self, name, *given)
        return seen[name]

    monkeypatch.setattr(task, "machine_named", hurried)
    monkeypatch.setattr(contest.Contest, "tried", kept)
    y = np.random.default_rng(seed).integers(0, 20, 1200)
    X = np.random.default_rng(seed + 1).normal(size=(1200, 20)) + 5 * np.eye(20)[y]
    AutoSVC(C=1.0, gamma=0.05).fit(X, y)
    assert seen["landmarks"].right.mean() > 0.5  # chance is 1 / 20


def test_quick_exact_machines_are_tried_alone(many, monkeypatch, seed):
    monkeypatch.setattr(contest, "LONG", 1e9)
    model = AutoSVC(C=1.0, gamma=0.2).fit(*overlapping(1000, seed))
    assert isinstance(model.machine_, PairwiseSVC) and "landmarks" not in " ".join(model.explain_choices_)


def test_landmarks_as_asked(seed):
    """Tuned by exact pairs, calibrated with as many landmarks, in the report."""
    X, y = overlapping(400, seed)
    model = AutoSVC("landmarks").fit(X, y)
    assert isinstance(model.machine_, LandmarkSVC) and model.score(X, y) > 0.5 and model.temperature_ != 1
    assert model.announced_seconds_ is None
    assert "LandmarkSVC" in facts(model, X, y, title="", source="")["run"]["machine"]


@pytest.mark.parametrize("bounded", [True, False])
def test_neighbors_are_tried_as_long_as_was_said(many, bounded, monkeypatch, seed):
    """Where machines are chosen by their time no neighbor begins after twice the time that was said: here, none."""
    for name, value in dict(MANY_ROWS=700 if bounded else 10_000, TUNING_ROWS=300, LAST_ROWS=400).items():
        monkeypatch.setattr(tuning, name, value)
    monkeypatch.setattr(tuning, "NEIGHBORS_TRIED", 0)
    monkeypatch.setattr(tuning, "CLIMB", 0.0)
    model = AutoSVC(C=1.0, scaling="column", cv=2, calibrate=False).fit(*overlapping(800, seed))
    assert any("the best of 1 neighbors" in said for said in model.explain_choices_) == bounded


def test_more_than_ten_thousand_rows_are_announced(seed):
    """What other machines would take is not tried: pairs are quick."""
    y = np.random.default_rng(seed).integers(0, 3, 10_500)
    X = np.random.default_rng(seed + 1).normal(size=(len(y), 2)) + 20 * np.eye(3)[y][:, :2]
    model = AutoSVC(C=1.0, gamma=0.1, cv=2, scaling="column", calibrate=False).fit(X, y)
    assert model.announced_seconds_ > 0 and isinstance(model.machine_, PairwiseSVC)
    assert any("Expected for 10500: exact pairs" in said for said in model.explain_choices_)


@pytest.fixture(params=["pairwise", "landmarks"])
def taken(many, monkeypatch, request):
    """The machine that the contest takes."""
    name = request.param
    monkeypatch.setattr(contest, "chosen", lambda found, seconds: next(p for p in found if p.name == name))
    return name


class Clock:
    """A clock for AutoSVC's tasks, on which a fit takes as long as it is told."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


def test_no_step_goes_beyond_twice_the_announced_time(taken, monkeypatch, seed):
    """Trials take ten seconds each; the last fit and the one for probabilities share twice what was announced."""
    clock, limits, deadlines, named, unseen = Clock(), [], [], task.machine_named, calibration.unseen
    for module in (task, contest, tuning):
        monkeypatch.setattr(module, "time", clock)

    def timed(name, **given):
        limits.append(given["time_limit"])
        clock.now += 10.0
        return named(name, **given | {"time_limit": None})

    def kept(machine, data, splits, deadline):
        deadlines.append(deadline)
        return unseen(machine, data, splits)

    monkeypatch.setattr(task, "machine_named", timed)
    monkeypatch.setattr(calibration, "unseen", kept)
    model = AutoSVC(C=1.0, gamma=0.2).fit(*overlapping(1200, seed))
    announced, began = model.announced_seconds_, clock.now - 20.0  # the last two fits
    assert 0 < limits[-2] < 2 * announced - began
    assert deadlines == [2 * announced] and announced > task.SOON


@pytest.mark.parametrize("better", [True, False])
def test_a_last_fit_without_time_falls_back_on_the_sample(taken, better, monkeypatch, seed):
    """If that is the better model; either way it is said, and the probabilities are those of the model."""
    fits, named, settled = [], task.machine_named, classifier.settled

    def kept(name, **given):
        fits.append(named(name, **given))
        return fits[-1]

    def stopped(tuned, machine):
        machine.status_ = "time_limit"
        if better:
            monkeypatch.setattr(machine, "predict", lambda Z: np.full(len(Z), 0), raising=False)
        else:
            monkeypatch.setattr(tuned.task.spare, "predict", lambda Z: np.full(len(Z), 0), raising=False)
        return settled(tuned, machine)

    monkeypatch.setattr(task, "machine_named", kept)
    monkeypatch.setattr(classifier, "settled", stopped)
    X, y = overlapping(1200, seed)
    model = AutoSVC(C=1.0, gamma=0.2).fit(X, y)
    (said,) = (line for line in model.explain_choices_ if line.startswith("Training: stopped after"))
    rows = model.machine_.shape_fit_[0]
    assert (rows < 1200) == better and f" {rows} rows: of " in said and "twice the announced time" in said
    assert f'machine="{taken}"' in said and model.machine_ in fits and np.mean(model.predict(X) == y) > 0.5
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


def test_probabilities_have_what_is_left_of_twice_the_announced_time(taken, monkeypatch, seed):
    """They come from a fit on a sample, which may take longer than that on all rows."""
    deadlines, unseen = [], calibration.unseen

    def kept(machine, data, splits, deadline):
        deadlines.append(deadline)
        return unseen(machine, data, splits, deadline)

    monkeypatch.setattr(calibration, "unseen", kept)
    begin = time.monotonic()
    model = AutoSVC(C=1.0, gamma=0.2).fit(*overlapping(1200, seed))
    most = model.announced_seconds_ + max(model.announced_seconds_, task.SOON)
    assert begin + most <= deadlines[0] <= time.monotonic() + most


def test_landmarks_end_when_patience_does(many, monkeypatch, seed):
    """Without a time limit they are announced, and have, no more seconds than any machine may take."""
    monkeypatch.setattr(contest, "PATIENCE", 1e-3)
    monkeypatch.setattr(task, "PATIENCE", 1e-3)
    found, limits, named = {}, [], task.machine_named
    prospects = contest.Contest.prospect
    monkeypatch.setattr(
        contest.Contest, "prospect", lambda self, name, *rest: found.setdefault(name, prospects(self, name, *rest))
    )
    monkeypatch.setattr(contest, "chosen", lambda found, seconds: found[-1])
    monkeypatch.setattr(task, "machine_named", lambda name, **given: limits.append(given) or named(name, **given))
    X, y = overlapping(1200, seed)
    with warnings.catch_warnings(action="ignore"):  # some end there, some before
        model = AutoSVC(C=1.0, gamma=0.2, calibrate=False).fit(X, y)
    assert isinstance(model.machine_, LandmarkSVC) and found["landmarks"].seconds == 1e-3 < found["pairwise"].seconds
    assert limits[-1]["time_limit"] == 0.1  # the least that a machine has
    limits.clear()
    AutoSVC("landmarks", C=1.0, gamma=0.2, calibrate=False).fit(X, y)
    assert limits[-1]["time_limit"] is None


def test_fewer_rows_where_all_take_too_long(many, monkeypatch, seed):
    """Without a time limit, too: exact pairs, if they are the best, are trained on as many as ten minutes allow."""
    monkeypatch.setattr(contest, "PATIENCE", 1e-9)
    monkeypatch.setattr(contest, "chosen", lambda found, seconds: found[0])
    model = AutoSVC(C=1.0, gamma=0.2, calibrate=False).fit(*overlapping(1200, seed))
    assert isinstance(model.machine_, PairwiseSVC) and model.machine_.shape_fit_[0] < 400
    assert any("of 1200, because all would take longer" in said for said in model.explain_choices_)
    assert model.explain_choices_[-1].endswith("expected 0 s.")
