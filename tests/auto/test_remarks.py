"""Remarks on classes and groups, hints for users of SVC, and splits that keep groups together."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

from polymargin import (
    AutoSVC,
    EnclosingBall,
    JointSVC,
    KernelSearchCV,
    PairwiseSVC,
    StructuredSVC,
    load_model,
    save_model,
)
from polymargin.auto import grid
from polymargin.auto.remarks import on_classes, on_groups, on_predictions
from polymargin.auto.tables import planned


def test_rare_and_uneven_classes():
    rare = on_classes(np.repeat([0, 1, 2], [40, 30, 1]), np.array(["a", "b", "c"]))
    assert len(rare) == 1 and rare[0].startswith("class 'c' has one or two rows")
    uneven = on_classes(np.repeat([0, 1], [95, 5]), np.array(["no", "yes"]))
    assert len(uneven) == 1 and "95.0% of the rows are 'no'" in uneven[0]
    assert not on_classes(np.repeat([0, 1], [50, 40]), np.arange(2))
    index = counts = np.arange(3)
    assert "class '2' is never predicted" in on_predictions(np.array([0, 1, 1]), np.arange(3), index, counts + 3)[0]
    assert not on_predictions(np.array([0, 1, 1]), np.arange(3), index, counts)  # two rows: said already
    assert not on_predictions(np.arange(3), np.arange(3), index, counts + 3)


def test_labels_that_are_amounts():
    prices = np.arange(30) * 7
    said = on_classes(np.repeat(np.arange(30), 3), prices)
    assert len(said) == 1 and "the labels are 30 whole numbers from 0 to 203. If they are amounts" in said[0]
    for names in (np.arange(1, 31), prices.astype(str), prices[:20]):  # numbers of classes, words, few
        assert not on_classes(np.repeat(np.arange(len(names)), 3), names)


def test_an_accuracy_below_the_largest_class(rng):
    """Columns of noise are said to be such; weights count, and weights of classes ask for something else."""
    y, X = np.repeat([0, 1], [30, 20]), rng.normal(size=(50, 2))
    fixed = dict(C=1e-6, gamma=1e-6)  # all rows are predicted as the larger class
    remark = "Remark: the accuracy in cross-validation is not above that of always predicting '{}' ({}): these columns"
    said = " ".join(AutoSVC(**fixed).fit(X, y).explain_choices_)
    assert remark.format(0, "0.6000") in said
    said = " ".join(AutoSVC(**fixed).fit(X, y, sample_weight=1.0 + y).explain_choices_)
    assert remark.format(1, "0.5714") in said
    for model in (
        AutoSVC(**fixed, class_weight="balanced").fit(X, y),
        AutoSVC(C=1, gamma=1).fit(X + 9 * y[:, None], y),
    ):
        assert "always predicting" not in " ".join(model.explain_choices_)


@pytest.mark.parametrize(
    ("weights", "said"),
    [(None, "try class_weight='balanced' (--balanced)."), ({"no": 2.0}, "try other weights"), ("balanced", "")],
)
def test_advice_is_not_what_was_done_already(weights, said):
    classes, index = np.array(["no", "yes"]), np.repeat([0, 1], [95, 5])
    uneven = on_classes(index, classes, weights)[0]
    never = on_predictions(np.full(100, "no"), classes, index, np.array([95, 5]), weights)[0]
    for line in (uneven, never):
        assert said in line and ("try" in line) == bool(said) and line.endswith(".")


def test_remarks_are_below_the_choices(rng):
    y = np.repeat([0, 1, 2], [30, 30, 1])
    said = AutoSVC(C=1.0, gamma=0.1).fit(rng.normal(size=(61, 2)) + y[:, None], y).explain_choices_
    assert said[-1].startswith("Remark: ") and said[-2].startswith("Probabilities: ")


@pytest.mark.parametrize(
    ("rows", "limit", "why"),
    [
        ((4, 1), None, "that takes 10 rows of classes with at least two, and there are 4"),
        ((40, 40), 1e-9, "there was no time left"),
    ],
)
def test_why_probabilities_are_not_calibrated(rng, rows, limit, why):
    y = np.repeat(np.arange(2), rows)
    model = AutoSVC(C=1.0, gamma=0.1, time_limit=limit).fit(rng.normal(size=(len(y), 2)), y)
    assert f"Probabilities: not calibrated, because {why}." in model.explain_choices_


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["size"], "the one column of numbers by its standard deviation"),
        (["color"], "none, for no column has numbers"),
        (["size", "color"], "the one column of numbers by its standard deviation"),
    ],
)
def test_scaling_is_said_as_it_was_done(rng, columns, said):
    y = np.arange(40) % 2
    table = pd.DataFrame({"size": rng.normal(size=40) + y, "color": np.where(rng.random(40) < 0.3, "red", "blue")})
    assert f"Scaling: {said}." in AutoSVC(C=1.0, gamma=0.1).fit(table[columns], y).explain_choices_


def test_only_parameters_that_are_used_are_said_to_be_asked_for(rng):
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + y[:, None]
    for asked, said in (
        (dict(gamma=0.1, kernel="linear"), "C = {C:.4g}: the best"),
        (dict(C=2.0, kernel="linear"), "C = 2: as asked"),
        (dict(gamma=0.125), "C = {C:.4g} and gamma = 0.125 (gamma as asked): the best"),
    ):
        model = AutoSVC(**asked, calibrate=False).fit(X, y)
        assert any(line.startswith(said.format(**model.best_params_)) for line in model.explain_choices_)


def test_sparse_columns_are_said_to_keep_zeros(rng):
    X, y = sp.random_array((40, 5), density=0.4, rng=rng, format="csr"), np.arange(40) % 2
    model = AutoSVC(C=1.0, gamma=0.1).fit(X, y)
    assert "Scaling: every column by its largest value, so that zeros stay zeros." in model.explain_choices_
    np.testing.assert_allclose(model.encode(X).max(axis=0).toarray(), 1.0)


def test_classes_that_look_alike():
    names = np.array(["Blue", "blue ", "BLUE", "red", "re\u0301d", "r\u00e9d"])
    said = on_classes(np.repeat(np.arange(6), 9), names)
    assert len(said) == 1 and "'Blue' and 'blue ' and 'BLUE'" in said[0] and "'red'" not in said[0]
    assert said[0].count(";") == 1  # the accent that is a letter of its own and the one that is not
    assert on_classes(np.repeat([0, 1], 9), np.array([0, 1])) == []


def test_a_machine_that_was_chosen_does_not_tell_to_choose_another(rng):
    X, y = rng.normal(size=(505, 2)), np.arange(505) % 101
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = AutoSVC(C=10.0, gamma=1.0, calibrate=False).fit(X, y)
    assert [line for line in model.explain_choices_ if "the classes overlap, and scatter does not" in line]
    with pytest.warns(UserWarning, match="the classes overlap"):  # the one that was asked for does
        AutoSVC("scatter", C=10.0, gamma=1.0, calibrate=False).fit(X, y)


def test_groups_of_one_class(rng):
    patient, index = np.repeat(np.arange(40), 5), np.repeat(np.arange(40) % 2, 5)
    table = planned(pd.DataFrame({"patient": patient, "ward": rng.integers(0, 30, 200), "a": rng.normal(size=200)}))
    said = on_groups(table, index, np.arange(2))
    assert len(said) == 1 and "rows with the same 'patient' have the same class (40 groups of rows)" in said[0]


def test_steps_of_a_search_do_not_warn(rng):
    """The scatter machine remarks on overlap: once, of the last fit, and not at every point of a grid."""
    y = np.arange(360) % 12
    X = rng.normal(size=(360, 2)) + 2 * rng.normal(size=(12, 2))[y]
    with pytest.warns(UserWarning, match="does not tell overlapping classes apart") as said:
        KernelSearchCV(JointSVC("scatter"), C=[0.25, 1.0], gamma=[0.1, 1.0], cv=3).fit(X, y)
    assert len([w for w in said if "overlapping" in str(w.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grid.quietly(JointSVC("scatter", gamma=0.1).fit, X, y)


def test_groups_stay_together(rng, monkeypatch):
    seen = []
    search = grid.KernelSearchCV
    monkeypatch.setattr(grid, "KernelSearchCV", lambda *a, **k: seen.append(k["cv"]) or search(*a, **k))
    groups, y = np.repeat(np.arange(20), 4), np.repeat(np.arange(20) % 2, 4)
    model = AutoSVC(C=1.0, gamma=0.5).fit(rng.normal(size=(80, 2)) + y[:, None], y, groups=groups)
    assert seen and all(not set(groups[a]) & set(groups[b]) for cv in seen for a, b in cv)
    assert model.cv_score_ is not None
    with pytest.raises(ValueError, match="expected groups to hold at least 2 different values"):
        AutoSVC().fit(rng.normal(size=(8, 2)), np.arange(8) % 2, groups=np.ones(8))


def test_a_table_with_everything_survives_a_file(rng, tmp_path):
    n = 60
    y = np.arange(n) % 2
    X = pd.DataFrame(
        {
            "price": [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in 2000 * y + 900 * rng.random(n)],
            "day": [
                f"{d:02d}.0{1 + m}.2024" for d, m in zip(rng.integers(1, 29, n), rng.integers(0, 9, n), strict=True)
            ],
            "word": rng.choice(["u", "v"], n),
            "id": np.arange(n),
        }
    )
    model = AutoSVC(C=1.0, gamma=0.1, calibrate=False, columns={"word": "category"}).fit(X, y)
    save_model(model, tmp_path / "m.pm")
    again = load_model(tmp_path / "m.pm")
    assert again.columns_ == model.columns_ and again.columns_[3]["used_as"] == "left out"
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_hints_for_users_of_svc():
    for estimator in (PairwiseSVC, JointSVC):
        with pytest.raises(TypeError, match="has no parameter probability: use AutoSVC.*CalibratedClassifierCV"):
            estimator(probability=True)
        with pytest.raises(TypeError, match='has no parameter cache_size: memory="512MB"'):
            estimator(cache_size=200)
        assert not hasattr(estimator(), "predict_proba")
        for method in ("predict_proba", "predict_log_proba"):
            with pytest.raises(AttributeError, match=f"has no {method}: use AutoSVC"):
                getattr(estimator(), method)
    with pytest.raises(TypeError, match="predict_proba is always there"):
        AutoSVC(probability=True)
    with pytest.raises(ValueError, match="expected X to hold numbers, got words.*AutoSVC"):
        PairwiseSVC().fit([["a", "b"], ["c", "d"]], [0, 1])
    with pytest.raises(ValueError, match=r"got 1 class \(1\)"):
        PairwiseSVC().fit(np.eye(3), [1, 1, 1])
    X, y = load_wine(return_X_y=True)
    for machine in (PairwiseSVC(), StructuredSVC(max_iter=2), EnclosingBall(C=1.0)):
        with pytest.warns(UserWarning, match="Column 12 of X is 388 times larger in scale") as told:
            machine.fit(X, y)
        assert told[0].filename == __file__
