"""Defaults that serve: what a newcomer gets from `JointSVC()` and the others is not worse than scikit-learn's SVC."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polymargin import AutoSVC, CoreVectorSVC, JointSVC, LandmarkSVC, OneVsRestSVC, PairwiseSVC
from polymargin.machines import MACHINES

SETS = {"iris": load_iris, "wine": load_wine, "digits": load_digits, "cancer": load_breast_cancer}
POINT = 0.01


def accuracy(estimator, name, folds=5):
    """Mean over folds of the scaled set; of the digits 600 rows, which have fewer constant columns than all."""
    X, y = SETS[name](return_X_y=True)
    X, y = X[:600], y[:600]
    estimator = estimator if isinstance(estimator, AutoSVC) else make_pipeline(StandardScaler(), estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # AutoSVC says when a class is rare
        return cross_val_score(estimator, X, y, cv=StratifiedKFold(folds, shuffle=True, random_state=0)).mean()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_not_below_svc(name, kernel):
    """A joint machine has a hyperplane per class, not per pair: of ten classes one-versus-rest is the measure."""
    svc = accuracy(SVC(kernel=kernel), name)
    rest = accuracy(OneVsRestClassifier(SVC(kernel=kernel)), name)
    assert accuracy(PairwiseSVC(kernel=kernel), name) >= svc - POINT
    assert accuracy(OneVsRestSVC(kernel=kernel), name) >= rest - 1e-9
    joint = accuracy(JointSVC(kernel=kernel), name)
    assert joint >= (min(svc, rest) if kernel == "linear" and name == "digits" else svc) - POINT


@pytest.mark.parametrize("name", SETS)
def test_auto_is_not_below_svc(name):
    folds = 5 if name == "wine" else 3  # every fold is a search of its own; a point is one or two rows of wine
    assert accuracy(AutoSVC(random_state=0), name, folds) >= accuracy(SVC(), name, folds) - POINT


def test_intercept_auto_is_what_the_table_says():
    X, y = load_iris(return_X_y=True)
    for name, machine in MACHINES.items():
        for kernel in ("linear", "rbf"):
            auto = JointSVC(name, kernel=kernel, C=0.1).fit(X, y)
            named = JointSVC(name, kernel=kernel, C=0.1, intercept=machine.auto_intercept(kernel)).fit(X, y)
            np.testing.assert_array_equal(auto.decision_function(X), named.decision_function(X))
    assert JointSVC().machine == "crammer-singer"
    assert MACHINES["scatter"].auto_intercept("linear") == "exact"


def overlapping(n):
    """Four Gaussians in nine dimensions; the best rule is right for about 84 % of the rows."""
    r = np.random.default_rng(0)
    centers, y = r.normal(0, 0.8, (4, 9)), r.integers(0, 4, n)
    return centers[y] + r.normal(size=(n, 9)), y


SEES_NO_OVERLAP = [
    JointSVC("scatter", gamma=0.05), CoreVectorSVC(gamma=0.05), LandmarkSVC("scatter", gamma=0.05, n_landmarks=100),
]  # fmt: skip


@pytest.mark.parametrize("model", SEES_NO_OVERLAP, ids=str)
def test_machines_that_do_not_see_overlap_say_so(model):
    X, y = overlapping(1000)
    with pytest.warns(UserWarning, match="the classes overlap.*crammer-singer"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, (y > 1).astype(int))  # two classes are a binary machine
        model.fit(X + 20 * y[:, None], y)  # far apart
        JointSVC(gamma=0.05).fit(X, y)
