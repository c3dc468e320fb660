"""KernelSearchCV against GridSearchCV on the same folds, its contract, and scikit-learn's checks."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from data_sets import blobs, digits200, iris, wine
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polymargin import (
    CoreVectorSVC,
    JointSVC,
    KernelSearchCV,
    OneVsRestSVC,
    OutputCodeSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    _core,
)

CS, GAMMAS = [0.3, 3.0, 300.0], [0.02, 0.3]
MACHINES = [
    PairwiseSVC(),
    PairwiseSVC(decision="dag"),
    PairwiseSVC(loss="squared_hinge", class_weight="balanced"),
    OneVsRestSVC(),
    OutputCodeSVC(random_state=0),
    OutputCodeSVC(code="sparse", decoding="hinge", random_state=1),
    JointSVC("scatter"),
    JointSVC("kesler"),
    JointSVC("crammer-singer"),
    JointSVC("scatter", loss="squared_hinge", intercept="exact"),
]


def assert_same_search(ours, theirs, per_fold=0.0):
    """The same table, up to `per_fold` in single scores, and the same choice."""
    for key, values in theirs.cv_results_.items():
        assert key in ours.cv_results_, key
        if key.startswith(("split", "mean_test", "mean_train", "std_test")):
            np.testing.assert_allclose(ours.cv_results_[key], values, atol=per_fold + 1e-12, err_msg=key)
        elif key == "params":
            assert ours.cv_results_[key] == values
    if per_fold == 0:
        for key in ("rank_test_score", "best_index_", "best_params_"):
            found, expected = (r.cv_results_.get(key, getattr(r, key, None)) for r in (ours, theirs))
            np.testing.assert_equal(found, expected)
        assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_scores_of_grid_search(machine):
    X, y = digits200()
    machine = clone(machine).set_params(tol=1e-6)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    theirs = GridSearchCV(machine, {"C": CS, "gamma": GAMMAS}, cv=cv, return_train_score=True).fit(X, y)
    ours = KernelSearchCV(machine, C=CS, gamma=GAMMAS, cv=cv, return_train_score=True).fit(X, y)
    assert_same_search(ours, theirs)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("machine", [CoreVectorSVC(tol=1e-4), SVC(), OneVsRestClassifier(SVC())], ids=str)
def test_other_estimators(machine):
    X, y = wine()
    names = ("estimator__C", "estimator__gamma") if isinstance(machine, OneVsRestClassifier) else ("C", "gamma")
    theirs = GridSearchCV(machine, dict(zip(names, ([0.3, 3.0], [0.1, 1.0]), strict=True)), cv=3).fit(X, y)
    ours = KernelSearchCV(machine, C=[0.3, 3.0], gamma=[0.1, 1.0], cv=3).fit(X, y)
    assert_same_search(ours, theirs, per_fold=0.02 if isinstance(machine, CoreVectorSVC) else 0.0)


def test_the_default_tolerance_rarely_matters():
    X, y = digits200()
    theirs = GridSearchCV(PairwiseSVC(), {"C": CS, "gamma": GAMMAS}, cv=4).fit(X, y)
    assert_same_search(
        KernelSearchCV(PairwiseSVC(), C=CS, gamma=GAMMAS, cv=4).fit(X, y), theirs
    )  # few rows are solved to rounding
    X, y = make_classification(330, 6, n_informative=4, n_classes=3, flip_y=0.15, random_state=0)
    theirs = GridSearchCV(PairwiseSVC(), {"C": CS, "gamma": GAMMAS}, cv=5).fit(X, y)
    assert_same_search(KernelSearchCV(PairwiseSVC(), C=CS, gamma=GAMMAS, cv=5).fit(X, y), theirs, per_fold=1.01 / 66)


@pytest.mark.parametrize("machine", [PairwiseSVC(), OneVsRestSVC()], ids=str)
def test_few_rows_are_solved_to_rounding(machine):
    """As in single fits, so that scores do not depend on the way to the solution."""
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, flip_y=0.15, random_state=0)
    grid = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [0.001, 0.01, 0.1, 1.0]}
    theirs = GridSearchCV(clone(machine).set_params(tol=1e-9), grid, cv=3).fit(X, y)
    assert_same_search(KernelSearchCV(machine, **grid, cv=3).fit(X, y), theirs)


@pytest.mark.parametrize("machine", [PairwiseSVC(tol=1e-6), JointSVC("scatter", tol=1e-6)], ids=["pairs", "joint"])
def test_steps_of_a_pipeline_see_training_rows_only(machine):
    X, y = wine()
    X = X * np.geomspace(1, 100, X.shape[1])
    model = make_pipeline(StandardScaler(), machine)
    name = type(machine).__name__.lower()
    theirs = GridSearchCV(model, {f"{name}__C": [1.0, 10.0], f"{name}__gamma": [0.03, "scale"]}, cv=3).fit(X, y)
    ours = KernelSearchCV(model, C=[1.0, 10.0], gamma=[0.03, "scale"], cv=3).fit(X, y)
    assert_same_search(ours, theirs)
    assert ours.best_estimator_.predict(X).shape == y.shape


def test_weights_and_groups(rng, seed):
    X, y = blobs([25, 35, 40], 3, seed=seed, spread=1.0)
    weight, groups = rng.integers(0, 3, len(y)).astype(float), rng.integers(0, 5, len(y))
    for machine in (PairwiseSVC(tol=1e-7), JointSVC("scatter", tol=1e-7)):
        grid = dict(C=[0.1, 1.0], gamma=[0.1, 1.0])
        theirs = GridSearchCV(machine, grid, cv=GroupKFold(3)).fit(X, y, groups=groups, sample_weight=weight)
        ours = KernelSearchCV(machine, **grid, cv=GroupKFold(3)).fit(X, y, groups=groups, sample_weight=weight)
        assert_same_search(ours, theirs)


def test_weights_go_where_they_are_taken(rng):
    """Through a pipeline, with metadata routing, from cross_validate; and an estimator that takes none is named."""
    X, y = wine()
    weight, groups = rng.integers(1, 4, len(y)).astype(float), np.arange(len(y)) % 6
    grid = dict(C=[1.0, 10.0], gamma=[0.01, 0.1])
    model = make_pipeline(StandardScaler(), PairwiseSVC(tol=1e-7))
    plain = KernelSearchCV(model, **grid, cv=3).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            PairwiseSVC(tol=1e-7).set_fit_request(sample_weight=True),
        )
        routed = KernelSearchCV(asking, **grid, cv=3).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(routed.decision_function(X), plain.decision_function(X))
        for search in (KernelSearchCV(PairwiseSVC(), **grid, cv=GroupKFold(3)), RadiusMarginSearch(PairwiseSVC())):
            search.set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=True)
            search.set_params(cv=GroupKFold(3))
            given = {"sample_weight": weight, "groups": groups}
            found = cross_validate(search, X, y, params=given, cv=GroupKFold(2), error_score="raise")
            assert np.all(found["test_score"] > 0.8)
    for search in (KernelSearchCV, RadiusMarginSearch):
        with pytest.raises(ValueError, match="got OneVsRestClassifier; leave the weights out"):
            search(OneVsRestClassifier(SVC())).fit(X, y, sample_weight=weight)


def test_weights_reach_the_steps_that_request_them(rng):
    """In the folds as in the last fit."""
    X, y = wine()
    weight = rng.integers(0, 2, len(y)) * 5.0 + 0.01
    grid = dict(C=[1.0, 10.0], gamma=[0.01, 0.1])
    with sklearn.config_context(enable_metadata_routing=True):
        X = X * np.where(weight > 1, 1.0, 30.0)[:, None]  # light rows are large, and would rule an unweighted scale
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            PairwiseSVC(tol=1e-7).set_fit_request(sample_weight=True),
        )
        accuracy = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        names = {f"pairwisesvc__{name}": values for name, values in grid.items()}
        theirs = GridSearchCV(model, names, cv=3, scoring=accuracy).fit(X, y, sample_weight=weight)
        assert_same_search(
            KernelSearchCV(model, **grid, cv=3, scoring=accuracy).fit(X, y, sample_weight=weight), theirs
        )
        Z = model[:-1].fit_transform(X, y, sample_weight=weight)
        found = RadiusMarginSearch(model, cv=None).fit(X, y, sample_weight=weight)
        plain = RadiusMarginSearch(PairwiseSVC().set_fit_request(sample_weight=True), cv=None)
        assert found.best_criterion_ == pytest.approx(plain.fit(Z, y, sample_weight=weight).best_criterion_, rel=1e-9)


@pytest.mark.parametrize("machine", [PairwiseSVC(tol=1e-7), JointSVC("scatter", tol=1e-7)], ids=["pairs", "joint"])
def test_rows_that_a_fold_has_twice(machine, rng):
    X, y = blobs([25, 35, 40], 3, seed=4, spread=1.0)
    grid = dict(C=[0.1, 1.0], gamma=[0.1, 1.0])
    cv = [(rng.integers(0, 60, 80), rng.integers(60, 100, 50)) for _ in range(2)]
    cv.append((np.arange(50).tolist(), np.arange(50, 100).tolist()))
    cv = [(np.concatenate([train, [0, 30, 70]]).astype(int), test) for train, test in cv]
    assert_same_search(KernelSearchCV(machine, **grid, cv=cv).fit(X, y), GridSearchCV(machine, grid, cv=cv).fit(X, y))


def test_scores_that_look_at_more_than_predictions():
    """A function of one's own gets the machine, fitted on its training rows, and the test rows."""
    X, y = wine()
    grid = dict(C=[0.1, 1.0], gamma=[0.1, 1.0])

    def sparsity(model, Z, labels):
        assert Z.shape == (len(labels), X.shape[1])
        return -len(model.support_) + float(Z[:, 0].mean()) + model.score(Z, labels)

    scores = {"own": sparsity, "accuracy": "accuracy"}
    for scoring, refit in ((sparsity, True), (scores, "own")):
        theirs = GridSearchCV(PairwiseSVC(tol=1e-8), grid, cv=3, scoring=scoring, refit=refit).fit(X, y)
        ours = KernelSearchCV(PairwiseSVC(tol=1e-8), **grid, cv=3, scoring=scoring, refit=refit).fit(X, y)
        assert_same_search(ours, theirs)
    with pytest.raises(AttributeError, match="^PairwiseSVC has none .* predict_proba"):
        KernelSearchCV(PairwiseSVC(), **grid, cv=3, scoring="roc_auc_ovr").fit(X, y)


def test_score_is_the_one_that_was_asked_for(rng):
    X, y = wine()
    weight = rng.integers(1, 4, len(y)).astype(float)
    grid = dict(C=[0.01], gamma=[1.0])  # a poor machine: the scores differ
    for scoring, refit in (("f1_macro", True), (["accuracy", "f1_macro"], "f1_macro"), (None, True)):
        theirs = GridSearchCV(PairwiseSVC(), grid, cv=3, scoring=scoring, refit=refit).fit(X, y)
        ours = KernelSearchCV(PairwiseSVC(), **grid, cv=3, scoring=scoring, refit=refit).fit(X, y)
        assert ours.score(X, y) == theirs.score(X, y)
    assert ours.score(X, y, sample_weight=weight) == pytest.approx(
        accuracy_score(y, ours.predict(X), sample_weight=weight)
    )


def test_splits_of_one_class_are_named():
    X, y = blobs([30, 30], 3, seed=1)[0], np.repeat([0, 1], 30)
    with pytest.raises(ValueError, match=r"at least 2 classes, got \[0\] in split 1; use a splitter"):
        KernelSearchCV(PairwiseSVC(), C=range(1, 3), gamma=[1.0], cv=[([0, 40], [1]), ([0, 1, 2], [40])]).fit(X, y)


@pytest.mark.parametrize("machine", [PairwiseSVC, JointSVC])
def test_a_given_matrix_beyond_the_memory(machine):
    X, y = blobs([100, 100, 100], 3, seed=1, spread=1.0)
    K = X @ X.T
    a, b = (
        KernelSearchCV(machine(kernel="precomputed", tol=1e-8), C=[0.1, 1.0], cv=3, memory=memory).fit(K, y)
        for memory in ("auto", "1MB")
    )
    assert_same_search(b, a)


@pytest.mark.parametrize("cv", [ShuffleSplit(3, test_size=0.4, random_state=0), LeaveOneGroupOut()], ids=str)
def test_splits_that_overlap_or_leave_a_class_out(cv):
    X, y = iris()
    some = np.r_[0:30, 50:80, 100:130]
    X, y = X[some], y[some]
    groups = np.where(y == 2, 2, np.arange(90) % 2)  # the last class is a group of its own
    for machine in (PairwiseSVC(tol=1e-7), JointSVC("scatter", tol=1e-7)):
        grid = dict(C=[0.5, 50.0], gamma=[0.3])
        given = dict(groups=groups) if isinstance(cv, LeaveOneGroupOut) else {}
        theirs = GridSearchCV(machine, grid, cv=cv).fit(X, y, **given)
        assert_same_search(KernelSearchCV(machine, **grid, cv=cv).fit(X, y, **given), theirs)


def test_two_classes_and_other_kernels():
    X, y = wine()
    two = y < 2
    cases = [
        (X[two], y[two], PairwiseSVC(tol=1e-7)),
        (X[two], np.array(["no", "yes"])[y[two]], OneVsRestSVC(tol=1e-7)),
        (X[two], y[two], JointSVC("scatter", tol=1e-7)),
        (X, y, PairwiseSVC(kernel="laplacian", tol=1e-7)),
        (X, y, JointSVC("scatter", kernel="poly", degree=2, coef0=1.0, tol=1e-7)),
        (sp.csr_array(np.where(np.abs(X) < 0.3, 0, X)), y, PairwiseSVC(tol=1e-7)),
    ]
    for rows, labels, machine in cases:
        grid = dict(C=[0.1, 10.0], gamma=[0.05, 0.5])
        theirs = GridSearchCV(machine, grid, cv=3, scoring="balanced_accuracy").fit(rows, labels)
        assert_same_search(KernelSearchCV(machine, **grid, cv=3, scoring="balanced_accuracy").fit(rows, labels), theirs)


def test_gammas_of_every_kind():
    X, y = wine()
    gammas = [np.full(13, 0.2), np.linspace(0.01, 0.5, 13), "auto"]
    ours = KernelSearchCV(PairwiseSVC(tol=1e-7), C=[1.0], gamma=gammas, cv=3).fit(X, y)
    plain = KernelSearchCV(PairwiseSVC(tol=1e-7), C=[1.0], gamma=[0.2, 1 / 13], cv=3).fit(X, y)
    means = ours.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means[[0, 2]], plain.cv_results_["mean_test_score"])
    K = KernelSearchCV(JointSVC("scatter", kernel="linear", intercept="exact"), C=[0.1, 1.0], cv=3).fit(X, y)
    assert len(K.cv_results_["params"]) == 2 and K.best_score_ > 0.9


def test_scorings():
    X, y = iris()
    macro = make_scorer(f1_score, average="macro")
    for machine in (PairwiseSVC(), JointSVC("scatter")):
        grid = dict(C=[0.1, 1.0, 10.0], gamma=[0.1, 1.0])
        for scoring in ("f1_macro", macro, "top_k_accuracy", {"a": "accuracy", "f": macro}, ["accuracy", "f1_macro"]):
            several = not (isinstance(scoring, str) or callable(scoring))
            refit = list(scoring)[1] if several else True
            ours = KernelSearchCV(machine, **grid, cv=3, scoring=scoring, refit=refit).fit(X, y)
            theirs = GridSearchCV(machine, grid, cv=3, scoring=scoring, refit=refit).fit(X, y)
            assert ours.multimetric_ == theirs.multimetric_ == several
            name = refit if several else "score"
            np.testing.assert_allclose(
                ours.cv_results_[f"mean_test_{name}"], theirs.cv_results_[f"mean_test_{name}"], atol=0.014
            )
    chosen = KernelSearchCV(PairwiseSVC(), **grid, cv=3, refit=lambda results: 4).fit(X, y)
    assert chosen.best_index_ == 4 and chosen.best_params_ == {"C": 10.0, "gamma": 0.1}
    none = KernelSearchCV(PairwiseSVC(), **grid, cv=3, refit=False).fit(X, y)
    assert not hasattr(none, "best_estimator_") and none.best_score_ > 0.9
    with pytest.raises(ValueError, match="name of one of several scores"):
        KernelSearchCV(PairwiseSVC(), **grid, cv=3, scoring=["accuracy", "f1_macro"]).fit(X, y)


@pytest.mark.parametrize("strategy", ["coarse-to-fine", "halving"])
def test_strategies(strategy):
    X, y = wine()
    grid = dict(C=np.geomspace(0.01, 1000, 11), gamma=np.geomspace(1e-3, 10, 9))
    full = KernelSearchCV(PairwiseSVC(), **grid, cv=3).fit(X, y)
    few = KernelSearchCV(PairwiseSVC(), **grid, cv=3, strategy=strategy).fit(X, y)
    assert few.best_score_ >= full.best_score_ - 0.02
    if strategy == "coarse-to-fine":
        assert len(few.cv_results_["params"]) <= 50
        assert len({tuple(p.values()) for p in few.cv_results_["params"]}) == len(few.cv_results_["params"])
    else:
        assert few.cv_results_["iter"][few.best_index_] == few.cv_results_["iter"].max() >= 1
        resources = few.cv_results_["n_resources"]
        assert resources[0] < resources[-1] and np.all(np.diff(few.cv_results_["iter"]) >= 0)
    at = full.cv_results_["params"].index(few.best_params_)
    assert few.best_score_ == pytest.approx(full.cv_results_["mean_test_score"][at], abs=1e-9)


def test_rows_instead_of_a_matrix():
    X, y = blobs([150, 150, 150], 3, seed=0, spread=1.0)
    grid = dict(C=[0.1, 1.0], gamma=[0.1, 1.0], cv=3)
    small = KernelSearchCV(PairwiseSVC(tol=1e-7), **grid, memory="1MB").fit(X, y)
    assert_same_search(small, KernelSearchCV(PairwiseSVC(tol=1e-7), **grid).fit(X, y))


def test_default_grid_and_threads():
    X, y = iris()
    one = KernelSearchCV(PairwiseSVC(), n_jobs=1).fit(X, y)
    assert len(one.cv_results_["params"]) == 25 and one.n_splits_ == 5
    assert 1 / (4 * X.var()) == pytest.approx(np.unique(one.cv_results_["param_gamma"])[2])
    assert_same_search(KernelSearchCV(PairwiseSVC(), n_jobs=3).fit(X, y), one)


def test_time_limit(monkeypatch):
    X, y = digits200()
    with pytest.raises(ValueError, match="ran out of time"):
        KernelSearchCV(PairwiseSVC(), time_limit=1e-9).fit(X, y)
    looks = itertools.count()  # at the clock: so many serve some points on any machine
    monkeypatch.setattr("polymargin.selection.grid_run.GridRun.stop", lambda run: next(looks) > 30)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        many = list(np.geomspace(0.01, 1, 3000))
        search = KernelSearchCV(JointSVC("scatter"), C=[0.1, 1.0], gamma=many, time_limit=1e9).fit(X, y)
    assert search.status_ == "time_limit" and np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_score_ > 0.2


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(C=[]), "expected C to be a list of positive numbers"),
        (dict(C=[1.0, -1.0]), "expected C to be a list of positive numbers"),
        (dict(gamma=[0.0]), "expected gamma to be a list of positive numbers"),
        (dict(strategy="random"), "strategy to be one of"),
        (dict(estimator=StandardScaler()), "expected estimator to have the parameters C and gamma"),
    ],
)
def test_bad_parameters(wrong, message):
    X, y = iris()
    with pytest.raises(ValueError, match=message):
        clone(KernelSearchCV(PairwiseSVC())).set_params(**wrong).fit(X, y)


def test_the_core_checks_its_arguments():
    K, segments, code = np.eye(4), np.array([0, 2, 4]), np.array([[1], [-1]], dtype=np.int8)
    rows, one = np.arange(4), np.ones(4)

    def call(**changes):
        given = dict(K=K, segments=segments, code=code, train=[rows], weight=[one], test=[rows], C=np.ones(1))
        run = dict(squared=False, tol=1e-3, max_iter=100, time_limit=1.0, n_jobs=1)
        return _core.code_paths(**(given | changes), **run)

    assert call()["status"] == "solved"
    for wrong in (dict(train=[rows + 1]), dict(train=[rows[::-1].copy()]), dict(weight=[one[:2]]), dict(weight=[-one])):
        with pytest.raises(ValueError):
            call(**wrong)
    for wrong in (dict(C=np.array([2.0, 1.0])), dict(segments=np.array([0, 5])), dict(test=[])):
        with pytest.raises(ValueError):
            call(**wrong)


def test_verbose(capsys):
    X, y = iris()
    KernelSearchCV(PairwiseSVC(), C=[1.0], gamma=[0.1, 0.2], verbose=2).fit(X, y)
    assert "gamma 0.2" in capsys.readouterr().err


def test_nothing_is_warned_about():
    X, y = iris()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = KernelSearchCV(OneVsRestSVC(), C=[1.0], gamma=[0.1]).fit(X, y)
    assert search.best_score_ > 0.9
