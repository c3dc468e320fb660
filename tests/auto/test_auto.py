"""AutoSVC: scaling, choices, tuning, probabilities."""

import time
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clocks import assert_within
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from polymargin import AutoSVC, CoreVectorSVC, JointSVC, KernelSearchCV, PairwiseSVC, load_model, save_model
from polymargin.auto import grid as auto_grid
from polymargin.auto.grid import (
    Folds,
    Grid,
    around,
    choose_scaling,
    climb,
    middle_first,
    repeats,
    sample_of,
    steadiest,
)
from polymargin.auto.probabilities import (
    closest,
    decided,
    evidence,
    fitted,
    margins,
    probabilities,
    softmax,
)
from polymargin.auto.task import MANY_CLASSES, REDUCTIONS, Task, machine_named
from polymargin.auto.tuning import PROBE_ROWS, Tuning
from polymargin.machines import MACHINES


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return AutoSVC().fit(X[::2], y[::2]), X[1::2], y[1::2].to_numpy()


def test_a_data_frame_with_words_and_gaps():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X["strong"] = np.where(X["alcohol"] > 13, "yes", "no")
    X.loc[::7, "ash"] = np.nan
    X["name"] = [f"wine {i}" for i in range(len(X))]
    labels = np.array(["a", "b", "c"])[y]
    model = AutoSVC().fit(X[::2], labels[::2])
    assert model.score(X[1::2], labels[1::2]) > 0.93
    assert "ash is missing" in model.feature_names_out_ and "strong = yes" in model.feature_names_out_
    assert not any("wine 0" in str(name) for name in model.feature_names_out_)


def test_the_largest_probability_is_predicted(wine):
    model, X, y = wine
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("name", [*REDUCTIONS, *MACHINES])
def test_probabilities_of_every_machine(name):
    X, y = load_iris(return_X_y=True)
    machine = machine_named(name, C=1.0, gamma=0.5).fit(X[::2], y[::2])
    for t, w in ((0.1, 0.0), (1.0, 0.5)):
        P = probabilities(machine, X[1::2], margins(machine), t, w)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(machine.classes_[P.argmax(axis=1)], machine.predict(X[1::2]))


def test_pairs_with_the_odds_of_the_classes_give_their_probabilities(seed):
    """The first term: pairs that say ln(P_a / P_b) are coupled to P itself."""
    rng = np.random.default_rng(seed)
    machine = PairwiseSVC(C=1.0, gamma=0.5).fit(rng.normal(size=(40, 2)), np.arange(40) % 5)
    P = rng.dirichlet(np.ones(5), size=30) + 1e-6
    P /= P.sum(axis=1, keepdims=True)
    a, b = machine.pairs_.T
    S = closest(3.0 * np.log(P[:, a] / P[:, b]), machine.code_, 3.0)
    np.testing.assert_allclose(softmax(S, axis=1), P, atol=1e-10)


def test_the_evidence_of_all_pairs_is_a_sum_of_log_odds():
    X, y = load_iris(return_X_y=True)
    machine = PairwiseSVC(C=1.0, gamma=0.5).fit(X[::2], y[::2])
    f, winner = decided(machine, X[1::2])  # pairs (0, 1), (0, 2), (1, 2), positive for the first
    np.testing.assert_array_equal(winner, machine.decision_function(X[1::2]).argmax(axis=1))
    p = 1 / (1 + np.exp(-2 * f))
    odds = np.log(np.column_stack([p[:, 0] * p[:, 1], (1 - p[:, 0]) * p[:, 2], (1 - p[:, 1]) * (1 - p[:, 2])]))
    np.testing.assert_allclose(evidence(f, machine.code_), odds, atol=1e-8)


def test_two_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = AutoSVC().fit(X[::2], y[::2])
    P = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(P[:, 1] > 0.5, model.decision_function(X) > 0)


def test_temperature_has_the_largest_likelihood(seed):
    rng = np.random.default_rng(seed)
    F = 3 * rng.normal(size=(500, 4))
    at = np.array([rng.choice(4, p=p) for p in softmax(F / 2.0, axis=1)])
    t, w = fitted(F, at, None)
    assert 1.5 < t < 2.7 and w == 0
    best = log_loss(at, softmax(F / t, axis=1), labels=range(4))
    assert all(best <= log_loss(at, softmax(F / (t * factor), axis=1), labels=range(4)) for factor in (0.9, 1.1))


@pytest.mark.parametrize("t, w", [(0.25, 0.0), (0.5, 0.7)])
def test_pairs_are_calibrated_as_coupled_probabilities(t, w, seed):
    """Labels that are drawn from coupled probabilities give their temperature and weight back."""
    rng = np.random.default_rng(seed)
    code = PairwiseSVC(C=1.0, gamma=0.5).fit(rng.normal(size=(40, 2)), np.arange(40) % 6).code_
    f = rng.normal(size=(3000, 6)) @ code + 0.3 * rng.normal(size=(3000, 15))
    P = softmax(closest(f, code, t) + w * evidence(f, code), axis=1)
    at = np.array([rng.choice(6, p=p) for p in P])
    found = fitted(f, at, code)
    again = softmax(closest(f, code, found[0]) + found[1] * evidence(f, code), axis=1)
    assert log_loss(at, again) <= log_loss(at, P) + 1e-4
    assert np.abs(again - P).mean() < 0.01
    if w == 0:
        assert found[0] == pytest.approx(t, rel=0.15) and found[1] < 0.2


def test_rows_that_are_all_right_are_no_proof_of_certainty():
    F = np.eye(3)[np.arange(30) % 3]
    P = softmax(F / fitted(F, np.arange(30) % 3, None)[0], axis=1)
    assert 0.95 < P.max(axis=1).min() < 0.98  # one of 32 taken for wrong


def test_many_classes_are_neither_shy_nor_sure(seed):
    """Expected calibration error, with ten bins, of 26 classes and of a class with two rows."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(26, 6))
    y = rng.integers(0, 26, 3000)
    X = centers[y] + 0.45 * rng.normal(size=(3000, 6))
    y[:2] = 26
    model = AutoSVC(C=4.0, gamma=0.1).fit(X[:1500], y[:1500])
    assert any("Probabilities: from the scores of the pairs of classes" in choice for choice in model.explain_choices_)
    P, at = model.predict_proba(X[1500:]), y[1500:]
    sure, right = P.max(axis=1), P.argmax(axis=1) == at
    bins = np.minimum((10 * sure).astype(int), 9)
    error = sum(abs(np.sum(sure[bins == k] - right[bins == k])) for k in range(10)) / len(at)
    assert 0.6 < right.mean() < 0.95 and error < 0.05


def test_calibration_helps():
    X, y = load_digits(return_X_y=True)
    plain = AutoSVC(C=10, gamma=0.02, calibrate=False).fit(X[:600], y[:600])
    model = AutoSVC(C=10, gamma=0.02).fit(X[:600], y[:600])
    loss = log_loss(y[600:], model.predict_proba(X[600:]))
    assert loss < 0.2 and loss < 0.9 * log_loss(y[600:], plain.predict_proba(X[600:]))


def test_pixels_keep_their_proportions():
    X, y = load_digits(return_X_y=True)
    model = AutoSVC().fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.93
    text = " ".join(model.explain_choices_)
    assert all(word in text for word in ("Machine:", "Scaling:", "C =", "Probabilities:"))


def test_rules_of_size():
    def chosen(n, T):
        y = np.zeros(n, dtype=int)
        return Task(AutoSVC(), None, y, np.arange(T), np.inf).name

    assert chosen(1000, 10) == "pairwise"
    assert chosen(1000, MANY_CLASSES + 1) == "scatter"


def test_machine_and_parameters_as_asked():
    X, y = load_iris(return_X_y=True)
    model = AutoSVC("kesler", C=3.0, gamma=0.3).fit(X, y)
    assert isinstance(model.machine_, JointSVC) and model.machine_.machine == "kesler"
    assert model.best_params_ == {"C": 3.0, "gamma": 0.3}
    assert isinstance(AutoSVC("one-vs-rest", C=1.0, gamma=1.0).fit(X, y).machine_, REDUCTIONS["one-vs-rest"])


def test_sparse_rows(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 150)
    X = sp.random_array((150, 30), density=0.2, rng=rng, format="csr").tolil()
    X[np.arange(150), y] = 3.0
    model = AutoSVC().fit(X.tocsr(), y)
    assert model.score(X.tocsr(), y) > 0.95


def test_equal_scores_go_to_the_middle_of_the_plateau():
    C, gamma = np.arange(1.0, 6), np.arange(1.0, 6)
    params = [{"C": c, "gamma": g} for c in C for g in gamma]
    score = [1.0 if 1 < p["C"] < 5 and 1 < p["gamma"] < 5 else 0.5 for p in params]
    assert steadiest({"params": params, "mean_test_score": score}) == {"C": 3.0, "gamma": 3.0}


@pytest.mark.parametrize(
    "column, common, n, chosen",
    [(0.90, 0.92, 100, "column"), (0.90, 0.94, 100, "common"), (0.90, 0.92, 1000, "common"), (1.0, 1.0, 50, "column")],
)
def test_scaling_by_one_standard_error(column, common, n, chosen):
    found = {
        name: SimpleNamespace(best_score_=score, n_splits_=5)
        for name, score in (("column", column), ("common", common))
    }
    scaling, why = choose_scaling(found, n)
    assert scaling == chosen and f"{common:.4f} with one for all, in 5 folds of {n} rows" in why
    assert why.startswith({"column": "every column", "common": "one factor"}[chosen])
    assert ("luck" in why) == (chosen == "column" and common > column)
    assert choose_scaling({"column": found["column"]}, n)[0] == "column"


def test_few_rows_are_cut_into_folds_more_often(monkeypatch):
    """The scores that decide are the means over all cuts."""
    assert [repeats(n) for n in (20, 600, 700, 1000, 1001, 5000)] == [3, 3, 2, 2, 1, 1]
    X, y = load_wine(return_X_y=True)
    scores = []
    pick = auto_grid.steadiest
    monkeypatch.setattr(auto_grid, "steadiest", lambda r: scores.append(r["mean_test_score"]) or pick(r))
    model = AutoSVC().fit(X, y)
    assert "in 3 x 5 folds of 178 rows" in " ".join(model.explain_choices_)
    cuts = [RepeatedStratifiedKFold(n_splits=5, n_repeats=k + 1, random_state=k) for k in range(2)]
    means = [cross_val_score(PairwiseSVC(C=4.0, gamma=1 / 13), model.encode(X), y, cv=cut).mean() for cut in cuts]
    at = 8 * auto_grid.PATTERN_C.tolist().index(4.0)  # the gamma in the middle comes first
    assert (means[0] + 2 * means[1]) / 3 == pytest.approx(scores[-1][at], abs=1e-9)
    assert model.cv_score_ == scores[-1].max()


def test_neighbors():
    grid = 2.0 ** np.arange(6)
    np.testing.assert_array_equal(around(grid, 4.0, 1), [2, 4, 8])
    np.testing.assert_array_equal(around(grid, 1.0, 2), [1, 2, 4])
    np.testing.assert_array_equal(around(grid, 32.0, 2), [8, 16, 32])


def test_climbing():
    C = gamma = 2.0 ** np.arange(8)
    tried = []

    def right(c, g, top=(32.0, 8.0), rows=1000):
        """The share of right rows falls with every step from the top."""
        tried.append((c, g))
        steps = abs(np.log2(c / top[0])) + abs(np.log2(g / top[1]))
        return np.arange(rows) < rows * (0.9 - 0.05 * steps)

    point, score, n = climb(right, C, gamma, (2.0, 2.0))
    assert point == (32.0, 8.0) and score == 0.9 and n == len(tried) == len(set(tried))
    assert climb(right, C[:4], gamma, (2.0, 2.0))[0] == (8.0, 8.0)  # the edge of the grid
    # Two rows more are no reason to move if ten others were lost for it, and one if nothing was lost.
    before, after = np.zeros(100, dtype=bool), np.zeros(100, dtype=bool)
    before[:10], after[10:22] = True, True
    assert climb(lambda c, g: after if c == 16.0 else before, C, gamma[:1], (8.0, 1.0))[0] == (8.0, 1.0)
    after[:10], after[12:] = True, False
    assert climb(lambda c, g: after if c == 16.0 else before, C, gamma[:1], (8.0, 1.0))[0] == (16.0, 1.0)
    left = iter([np.zeros(9, bool), np.ones(9, bool), None])
    assert climb(lambda c, g: next(left), C, gamma, (8.0, 8.0)) == ((8.0, 16.0), 1.0, 2)  # out of time after two
    assert climb(lambda c, g: None, C, gamma, (8.0, 8.0))[2] == 0


def test_more_rows_are_asked_about_the_neighbors(monkeypatch):
    monkeypatch.setattr("polymargin.auto.tuning.FIRST_ROWS", 150)
    monkeypatch.setattr("polymargin.auto.tuning.TUNING_ROWS", 400)
    X, y = load_digits(return_X_y=True)
    model = AutoSVC().fit(X[:1200], y[:1200])
    first, last = [line for line in model.explain_choices_ if line.startswith("C =")]
    assert "in 5 folds of 4" in first and "240 rows held out of 1200" in last
    assert f"C = {model.best_params_['C']:.4g}" in last and f"accuracy {model.cv_score_:.4f}" in last
    assert model.score(X[1200:], y[1200:]) > 0.92
    asked = AutoSVC(C=10.0, gamma=0.02).fit(X[:1200], y[:1200])  # nothing to climb to
    assert asked.best_params_ == {"C": 10.0, "gamma": 0.02}


def test_core_vectors_are_tuned_as_they_will_be_used(monkeypatch):
    """The grid is searched with the same loss on shared kernel values; a class has three rows in all."""
    seen = set()
    monkeypatch.setattr("polymargin.auto.grid.KernelSearchCV", lambda m, **k: seen.add(m) or KernelSearchCV(m, **k))
    monkeypatch.setattr("polymargin.auto.tuning.FIRST_ROWS", 150)
    monkeypatch.setattr("polymargin.auto.tuning.TUNING_ROWS", 400)
    X, y = load_digits(return_X_y=True)
    X, y = X[(y < 9) | (np.cumsum(y == 9) <= 3)], y[(y < 9) | (np.cumsum(y == 9) <= 3)]
    model = AutoSVC("core-vector").fit(X[:1200], y[:1200])
    _, last = [line for line in model.explain_choices_ if line.startswith("C =")]
    assert "240 rows held out of 1200" in last
    assert all(isinstance(m, PairwiseSVC) and m.loss == "squared_hinge" for m in seen) and len(seen) == 3
    assert "fitted to" in model.explain_choices_[-1] and model.temperature_ != 1
    assert model.score(X[1200:], y[1200:]) > 0.92
    assert model.machine_.scheme == "pairwise" and len(model.margins_) == 45
    P = model.predict_proba(X[1200:])
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[1200:]))
    assert log_loss(y[1200:], P, labels=model.classes_) < 0.35


def test_values_of_core_vectors_count_in_margins():
    """Divided by them, they do not depend on the number of rows: support vectors inside the slack have 1."""
    X, y = load_iris(return_X_y=True)
    for copies in (1, 10):
        machine = CoreVectorSVC(C=1e4 / copies, gamma=0.2, scheme="pairwise", tol=1e-6)
        machine.fit(np.vstack([X] * copies), np.tile(y, copies))
        f = machine._raw_scores(X)[:, 0] / margins(machine)[0]  # classes 0 and 1 can be separated
        assert f[:50].min() == pytest.approx(1, abs=0.01) and f[50:100].max() == pytest.approx(-1, abs=0.01)


def test_a_grid_begins_in_the_middle_and_may_come_to_nothing():
    np.testing.assert_array_equal(middle_first(np.arange(8)), [4, 3, 5, 2, 6, 1, 7, 0])
    X, y = load_digits(return_X_y=True)
    grid = Grid(np.array([1.0]), np.array([0.1]), Folds(5, seed=0), seconds=1e-9)
    assert grid.search(PairwiseSVC(), X, y) is None


def test_weights_of_classes_have_their_labels():
    X, y = load_iris(return_X_y=True)
    X, labels = X[50:, :2], np.array(["a", "b"])[y[50:] - 1]
    model = AutoSVC(C=1.0, gamma=1.0, class_weight={"b": 50.0}).fit(X, labels)
    assert (model.predict(X) == "b").mean() > 0.8
    rare = np.r_[np.arange(99), 0]
    labels = np.append(labels[:99], "c")  # its one row is in no sample
    assert AutoSVC(gamma=1.0, class_weight={"c": 2.0}).fit(X[rare], labels).classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="use the labels as they are in y"):
        AutoSVC(C=1.0, gamma=1.0, class_weight={"d": 50.0}).fit(X, labels)


def test_too_little_time_means_fewer_rows(monkeypatch):
    X, y = load_digits(return_X_y=True)
    fit = PairwiseSVC.fit

    def slow(self, X, y, sample_weight):
        time.sleep(1e-6 * len(y) ** 2)  # 0.04 s for 200 rows, 3.2 s for all
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(PairwiseSVC, "fit", slow)
    model = AutoSVC(C=10.0, gamma=0.02, time_limit=1.5).fit(X, y)
    n = model.machine_.shape_fit_[0]
    assert PROBE_ROWS <= n < 1200 and f"trained on {n} of 1797" in " ".join(model.explain_choices_)
    assert model.score(X, y) > 0.85
    none = AutoSVC(time_limit=1e-3).fit(X, y)
    assert "Probabilities: not calibrated, because there was no time left." in none.explain_choices_
    assert none.score(X, y) > 0.7


def test_sample_keeps_every_class(seed):
    index = np.repeat([0, 1, 2], [5000, 40, 2])
    rows = sample_of(index, 300, np.random.default_rng(seed))
    counts = np.bincount(index[rows])
    assert len(rows) == len(set(rows)) and counts[2] == 2 and counts[1] >= 2 and counts.sum() < 330


def test_rare_classes():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:50, 50:53, 100:101]
    model = AutoSVC().fit(X[keep], y[keep])
    assert set(model.predict(X)) <= {0, 1, 2}


def test_time_limit_and_interruption(monkeypatch):
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a busy machine may not finish in time
        model = assert_within(8.0, lambda: AutoSVC(time_limit=3.0, n_jobs=1).fit(X[:800], y[:800]))
    assert model.score(X[800:], y[800:]) > 0.8
    np.testing.assert_allclose(model.predict_proba(X[:9]).sum(axis=1), 1)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Tuning, "run", stop)
    model = AutoSVC()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.score(X, y) > 0.9
    assert "interrupted" in " ".join(model.explain_choices_)


def test_files(wine, tmp_path):
    model, X, y = wine
    save_model(model, tmp_path / "m.pm")
    again = load_model(tmp_path / "m.pm")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.explain_choices_ == model.explain_choices_
    assert isinstance(again.machine_, PairwiseSVC)


def test_messages():
    X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": list("uvuv")})
    with pytest.raises(ValueError, match="at least 2 classes"):
        AutoSVC().fit(X, ["x"] * 4)
    with pytest.raises(ValueError, match='did you mean "kesler"'):
        AutoSVC("keslr").fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="expected C"):
        AutoSVC(C=-1.0).fit(X, [0, 1, 0, 1])
