"""Weights of rows and splits in AutoSVC: a weight of 2 is a repeated row, and splits are those that were asked for."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline

from polymargin import AutoSVC, PairwiseSVC, load_model, save_model
from polymargin.auto.grid import climb
from polymargin.auto.probabilities import fitted
from polymargin.auto.rows import WeightedRows
from polymargin.auto.tables import ColumnEncoder, median


@pytest.fixture
def blobs(rng):
    """Three overlapping classes and whole weights, some of them zero."""
    y = np.arange(90) % 3
    return rng.normal(size=(90, 4)) + y[:, None], y, rng.integers(0, 4, 90)


def by_thirds(weight):
    """Splits of the rows, and of the rows that are repeated as often as their weights say."""
    third = np.arange(len(weight)) // (len(weight) // 3)
    return [list(LeaveOneGroupOut().split(g, groups=g)) for g in (third, third.repeat(weight))]


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("machine", ["pairwise", "crammer-singer"])
def test_weights_are_repeated_rows(blobs, machine, table):
    X, y, weight = blobs
    if table:
        X = pd.DataFrame(X, columns=list("abcd")).assign(color=np.where(X[:, 0] > 0, "red", "blue"))
        X.loc[::7, "a"] = np.nan
    rows = np.arange(90).repeat(weight)
    repeated = X.iloc[rows].reset_index(drop=True) if table else X[rows]
    of_rows, of_repeated = by_thirds(weight)
    model = AutoSVC(machine, cv=of_rows, C=10.0).fit(X, y, sample_weight=weight)
    other = AutoSVC(machine, cv=of_repeated, C=10.0).fit(repeated, y[rows])
    assert model.best_params_ == other.best_params_
    assert model.cv_score_ == pytest.approx(other.cv_score_, abs=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-6)


def test_rows_without_weight_are_not_looked_at(blobs):
    """Not even their words, and the folds are those of the others."""
    X, y, weight = blobs
    table = pd.DataFrame(X).add_prefix("x").assign(word=np.where(weight > 0, np.where(y > 0, "b", "a"), "z"))
    kept = weight > 0
    model, other = AutoSVC(C=1.0), AutoSVC(C=1.0)
    model.fit(table, y, sample_weight=kept.astype(float))
    other.fit(table[kept].reset_index(drop=True), y[kept])
    assert model.explain_choices_ == other.explain_choices_
    assert "word = z" not in model.feature_names_out_
    np.testing.assert_array_equal(model.decision_function(table), other.decision_function(table))


def test_weights_move_the_decision(rng):
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 2)) + y[:, None]
    plain = AutoSVC().fit(X, y)
    heavy = AutoSVC().fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0))
    assert np.mean(heavy.predict(X)) > np.mean(plain.predict(X)) + 0.1
    assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1


@pytest.mark.parametrize("size", [1e-4, 1.0])
def test_weights_that_are_shares_do_not_flatten_probabilities(size):
    F = np.array([[2.0, 0.0], [0.0, 2.0]] * 50)
    t, _ = fitted(F, np.arange(100) % 2, None, np.full(100, size))
    assert t == pytest.approx(fitted(F, np.arange(100) % 2, None)[0], rel=1e-6)


def test_chance_counts_squared_weights():
    """Two rows of weight 1 won for one of weight 3 lost; then a row of weight 9 won, for which nothing is lost."""
    before, after = np.array([0.0, 0.0, 3.0] * 10), np.array([1.0, 1.0, 0.0] * 10)
    C = np.array([1.0, 2.0])
    assert climb(lambda c, g: after if c == 2.0 else before, C, C[:1], (1.0, 1.0))[0] == (1.0, 1.0)
    assert climb(lambda c, g: before + 9.0 * (c == 2.0), C, C[:1], (1.0, 1.0))[0] == (2.0, 1.0)


def test_medians_of_repeated_numbers(rng):
    for n in range(1, 12):
        values, weight = rng.normal(size=n).round(1), rng.integers(1, 4, n)
        assert median(values, weight) == pytest.approx(np.median(values.repeat(weight)))


def test_an_encoder_takes_weights(rng):
    X, weight = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    X[rng.random((30, 3)) < 0.2] = np.nan
    found, expected = ColumnEncoder().fit(X, sample_weight=weight), ColumnEncoder().fit(X.repeat(weight, axis=0))
    for name in ("median_", "mean_", "scale_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("weight", [-np.ones(90), np.ones(3), np.zeros(90), "heavy"])
def test_weights_that_are_none(blobs, weight):
    with pytest.raises(ValueError, match=r"sample_weight|convert string"):
        AutoSVC().fit(*blobs[:2], sample_weight=weight)


def test_weights_are_routed(blobs):
    """As scikit-learn does it: through a pipeline and a cross-validation, if they are asked for."""
    X, y, weight = blobs
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(AutoSVC(C=1.0, gamma=0.1).set_fit_request(sample_weight=True, groups=True))
        model[-1].set_score_request(sample_weight=True)
        given = {"sample_weight": weight + 1.0, "groups": np.arange(90) // 5}
        assert cross_val_score(model, X, y, cv=2, params=given).shape == (2,)


# --- splits ---


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), GroupKFold(3), [(np.arange(60), np.arange(60, 90))]])
def test_splits_are_those_that_were_asked_for(blobs, cv, tmp_path):
    X, y, _ = blobs
    groups = np.arange(90) // 10
    model = AutoSVC(cv=cv).fit(X, y, groups=groups if isinstance(cv, GroupKFold) else None)
    n = 1 if isinstance(cv, list) else 3
    assert any(f"in {n} fold{'s' * (n > 1)} of 90 rows" in line for line in model.explain_choices_)
    assert model.score(X, y) > 0.5
    if isinstance(cv, list):
        save_model(model, tmp_path / "m.pm")
        np.testing.assert_array_equal(load_model(tmp_path / "m.pm").predict(X), model.predict(X))


def test_splits_without_two_classes_are_refused(blobs):
    X, y, _ = blobs
    with pytest.raises(ValueError, match="expected cv to give training sets of at least 2 classes"):
        AutoSVC(cv=[(np.flatnonzero(y == 0), np.flatnonzero(y > 0))]).fit(X, y)
    for cv in ("5", 1, 2.5):
        with pytest.raises(ValueError, match="expected cv to be an integer >= 2, or a splitter"):
            AutoSVC(cv=cv).fit(X, y)


def test_a_class_that_is_one_group(blobs):
    """It is in no training part or in no test part; what is said of the other splits is true of all classes."""
    X, y, _ = blobs
    groups = np.where(y == 2, 99, np.arange(90) // 9)
    model = AutoSVC().fit(X, y, groups=groups)
    assert model.predict_proba(X).shape == (90, 3) and "not calibrated" not in " ".join(model.explain_choices_)


def test_the_mean_of_hits_is_the_weighted_accuracy(rng):
    y, predicted, weight = rng.integers(0, 3, 50), rng.integers(0, 3, 50), rng.uniform(0.1, 3, 50)
    some = rng.permutation(50)[:30]
    hits = WeightedRows(None, y, weight).hits(predicted[some], some)
    assert hits.mean() == pytest.approx(np.average(predicted[some] == y[some], weights=weight[some]))


def test_groups_may_be_few_or_hold_whole_classes(rng):
    """As many folds as groups at most; folds without two classes to learn are left out, and the model says so."""
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    for n_groups in (2, 3):
        model = AutoSVC(C=1.0, gamma=0.5).fit(X, y, np.arange(60) * n_groups // 60)
        assert f"in {n_groups} folds of 60 rows" in " ".join(model.explain_choices_)
        assert any(line.startswith("Probabilities: from") for line in model.explain_choices_)
    said = " ".join(AutoSVC(C=1.0, gamma=0.5).fit(X, y, y).explain_choices_)
    assert "not tuned, because no split of the groups leaves two classes to train on" in said
    assert "2 classes ('0', '1') are each in one group only" in said
    said = " ".join(AutoSVC(C=1.0, gamma=0.5).fit(X, y, np.where(y, 0, 1 + np.arange(60) // 12)).explain_choices_)
    assert "class '1' is in one group only: no fold can both learn and test such a class" in said


@pytest.mark.parametrize("gap", [None, np.nan])
def test_groups_have_no_gaps(rng, gap):
    groups = np.array([gap if i % 6 == 0 else f"g{i % 5}" for i in range(30)], dtype=object)
    with pytest.raises(ValueError, match="expected a group in every row, got 5 without one; fill them in"):
        AutoSVC().fit(rng.normal(size=(30, 2)), np.arange(30) % 2, groups)


# --- weights of classes ---


def test_weights_of_classes_count_in_scores(blobs):
    """What C and gamma are chosen by is the accuracy in which rows count as their classes weigh."""
    X, y, weight = blobs
    train, test = np.arange(60), np.arange(60, 90)
    factor = {0: 1.0, 1: 5.0, 2: 0.5}
    model = AutoSVC(C=1.0, gamma=0.1, cv=[(train, test)], class_weight=factor, calibrate=False, scaling="column")
    model.fit(X, y, sample_weight=weight + 1)
    machine = PairwiseSVC(1.0, gamma=0.1, class_weight=factor)
    Z = model.encode(X)
    machine.fit(Z[train], y[train], sample_weight=weight[train] + 1)
    in_scores = (weight + 1) * np.array([factor[c] for c in y])
    assert model.cv_score_ == pytest.approx(np.average(machine.predict(Z[test]) == y[test], weights=in_scores[test]))
    assert f"weighted accuracy {model.cv_score_:.4f}" in " ".join(model.explain_choices_)


def test_balanced_weights_do_not_praise_ignorance(rng):
    """Always predicting the class that has .95 of the rows is no better than chance where classes weigh the same."""
    y = np.repeat([0, 1], [380, 20])
    model = AutoSVC(class_weight="balanced", calibrate=False).fit(rng.normal(size=(400, 2)), y)
    assert model.cv_score_ < 0.8


def test_rows_of_unequal_weights_say_less():
    """n rows with factors f are worth (sum f)^2 / sum f^2 equal ones."""
    index, weight = np.repeat([0, 1], [90, 10]), np.ones(100)
    rows = WeightedRows(None, index, weight).with_class_weights("balanced", np.arange(2), index)
    assert rows.counted(np.arange(100)) == pytest.approx(36.0)
    assert rows.with_class_weights({0: 3.0, 1: 3.0}, np.arange(2), index).counted(np.arange(100)) == pytest.approx(100)
    assert rows.hits(index, np.arange(100))[index == 1].sum() == pytest.approx(50.0)
