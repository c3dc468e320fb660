"""Every public estimator comes back from every format, and does what it did before."""

import functools
import pickle

import numpy as np
import pytest
from data_sets import blobs
from model_files import Crafted, set_at
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polymargin
from polymargin import load_model, save_model
from polymargin.files.records import RECORDS

X, y = blobs([14, 11, 12], 4, seed=5)
Z = X + 0.1
PUBLIC = {
    name: getattr(polymargin, name)
    for name in polymargin.__all__
    if isinstance(getattr(polymargin, name), type) and issubclass(getattr(polymargin, name), BaseEstimator)
}
SEARCH = dict(estimator=make_pipeline(StandardScaler(), polymargin.PairwiseSVC()))
PARAMETERS = {  # of those that need some, or have more to keep with some
    "AutoSVC": [dict(C=1.0, gamma=0.3), dict(machine="kesler", C=1.0)],
    "CoreVectorSVC": [{}, dict(scheme="pairwise")],
    "GRNNRegressor": [{}, dict(spread=0.5)],
    "KernelDensityNB": [{}, dict(bandwidth=0.5, priors=[0.2, 0.3, 0.5])],
    "KernelSearchCV": [
        dict(SEARCH, C=[1.0, 10.0], gamma=[0.1, 1.0], cv=3),
        dict(SEARCH, C=[1.0], gamma=["scale", 0.2], cv=3, scoring=["accuracy", "f1_macro"], refit="f1_macro"),
        dict(SEARCH, C=[1.0, 2.0], gamma=[0.1], cv=3, refit=False),
        dict(SEARCH, C=[1.0, 2.0, 4.0], gamma=[0.1], cv=2, strategy="halving"),
    ],
    "RadiusMarginSearch": [
        dict(SEARCH, max_iter=50),
        dict(estimator=polymargin.JointSVC("scatter"), kernel="ellipsoidal", penalty=0.1, max_iter=100),
    ],
    "SupervisedIsomap": [dict(n_neighbors=5)],
}
CASES = [(name, given) for name in PUBLIC for given in PARAMETERS.get(name, [{}])]
ignores = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:The criterion misleads")


def by_file(model, folder):
    return load_model(save_model(model, folder / "model.pm"))


def by_mapped_file(model, folder):
    return load_model(save_model(model, folder / "model.pm"), mmap=True)


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def by_skops(model, folder):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(model)
    return skops.loads(data, trusted=skops.get_untrusted_types(data=data))


def answers(model):
    """All that a model says about rows."""
    names = ("decision_function", "predict", "predict_proba", "transform", "score_samples")
    return {name: getattr(model, name)(Z) for name in names if hasattr(model, name)}


def equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ma.MaskedArray):
        return isinstance(b, np.ma.MaskedArray) and equal(a.tolist(), b.tolist())
    if isinstance(a, np.ndarray) and a.dtype.kind == "f":
        return np.array_equal(a, b, equal_nan=True)
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


def test_every_public_estimator_has_a_record():
    assert len(PUBLIC) > 10
    assert {
        name for name, known in PUBLIC.items() if name not in RECORDS or RECORDS[name].estimator is not known
    } == set()


@functools.cache
def fitted(case):
    name, given = CASES[case]
    return PUBLIC[name](**given).fit(X, y)


WARM = {"_left", "_B"}  # what only a warm start needs is not in a file


@ignores
@pytest.mark.parametrize("way", [by_file, by_mapped_file, by_pickle, by_skops])
@pytest.mark.parametrize("name, given", CASES, ids=[name for name, _ in CASES])
def test_every_estimator_comes_back(name, given, way, tmp_path):
    model = fitted(CASES.index((name, given)))
    found = way(model, tmp_path)
    assert type(found) is type(model) and repr(found) == repr(model)
    assert vars(found).keys() | WARM == vars(model).keys() | WARM
    if not hasattr(model, "best_params_") or hasattr(model, "best_estimator_"):
        expected = answers(model)
        assert expected
        for what, values in answers(found).items():
            assert_array_equal(values, expected[what])
    for what in ("cv_results_", "best_params_", "criterion_path_", "classes_"):
        assert equal(getattr(model, what, None), getattr(found, what, None)), what


def test_a_loaded_search_scores_and_goes_on(tmp_path):
    search = polymargin.KernelSearchCV(**CASES[[name for name, _ in CASES].index("KernelSearchCV")][1]).fit(X, y)
    found = by_file(search, tmp_path)
    assert found.score(X, y) == search.score(X, y)
    assert equal(found.fit(X, y).best_params_, search.best_params_)


# --- crafted files ----------------------------------------------------------------------------------------------------

SEARCHED = dict(estimator=polymargin.PairwiseSVC(), C=[1.0, 10.0], gamma=[0.1], cv=3)
CHANGES = {
    "shares": ("KernelDensityNB", lambda f: f.change("_shares", lambda s: 2 * s)),
    "priors": ("KernelDensityNB", lambda f: f.change("class_prior_", lambda p: p / 2)),
    "bounds": ("KernelDensityNB", lambda f: f.change("_bounds", lambda b: b[:-1])),
    "first bound": ("KernelDensityNB", lambda f: f.change("_bounds", set_at(0, 1))),
    "last bound": ("KernelDensityNB", lambda f: f.change("_bounds", set_at(-1, 10_000))),
    "bandwidth": ("KernelDensityNB", lambda f: f.change("bandwidth_", set_at((0, 0), 0.0))),
    "unfitted": ("KernelDensityNB", lambda f: f.fitted.clear() or f.members.clear()),
    "other parameters": ("KernelSearchCV", lambda f: f.fitted.update(best_params_={"dict": [["tree", 1]]})),
    "other classes": ("KernelSearchCV", lambda f: f.fitted.update(classes_={"labels": ["<U1", list("abc")]})),
    "no table": ("KernelSearchCV", lambda f: f.fitted.update(cv_results_={"dict": []})),
    "place in the table": ("KernelSearchCV", lambda f: f.fitted.update(best_index_=2)),
    "columns of the table": (
        "KernelSearchCV",
        lambda f: f.fitted["cv_results_"]["dict"].append(["more", 1]),
    ),
    "unknown score": ("KernelSearchCV", lambda f: f.parameters.update(scoring="taste")),
    "unfitted best": (
        "KernelSearchCV",
        lambda f: f.fitted["best_estimator_"]["estimator"].__setitem__(2, {}),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_files_are_refused(change, tmp_path):
    name, how = CHANGES[change]
    crafted = Crafted(PUBLIC[name](**(SEARCHED if name == "KernelSearchCV" else {})).fit(X, y), tmp_path / "model.pm")
    crafted.save(tmp_path / "model.pm")
    load_model(tmp_path / "model.pm")
    how(crafted)
    crafted.save(tmp_path / "model.pm")
    with pytest.raises(ValueError, match="model.pm: expected a sound polymargin model file, got"):
        load_model(tmp_path / "model.pm")


def test_data_frames_and_ranges_as_parameters(tmp_path):
    pd = pytest.importorskip("pandas")
    S = np.full((3, 3), 2.0)
    model = polymargin.SupervisedIsomap(n_neighbors=5, class_distances=pd.DataFrame(S)).fit(X, y)
    back = by_file(model, tmp_path)
    assert_array_equal(back.class_distances, S)
    assert_array_equal(back.transform(Z), model.transform(Z))
    search = polymargin.KernelSearchCV(polymargin.PairwiseSVC(), C=pd.Series([1.0, 2.0]), gamma=range(1, 3), cv=3).fit(
        X, y
    )
    back = by_file(search, tmp_path)
    assert list(back.C) == [1.0, 2.0] and list(back.gamma) == [1, 2]
    assert_array_equal(back.predict(Z), search.predict(Z))
