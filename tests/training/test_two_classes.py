"""Two classes take a way of their own: the same machines as by the way of many classes."""

from dataclasses import replace

import numpy as np
import pytest
from data_sets import blobs
from sklearn.svm import SVC

from polymargin import JointSVC
from polymargin.machines import MACHINES, Margins
from polymargin.training import dual, two_classes
from polymargin.training.problem import Formulation

MARGINS = [(name, loss) for name, row in MACHINES.items() if row.margins for loss in row.losses]


def rows(seed=0):
    """Two overlapping classes of unequal size and weight, far enough from the origin for a constant to matter."""
    X, y = blobs([23, 41], 3, seed=seed, spread=1.5)
    return X + 0.5, y, np.random.default_rng(seed).uniform(0.2, 2.0, len(y))


def fit(machine, X, y, weights, **params):
    return JointSVC(machine, **(dict(C=2.0, gamma=0.4, tol=1e-9) | params)).fit(X, y, sample_weight=weights)


def assert_same_model(a, b, Z):
    assert a.status_ == b.status_ == "solved"
    assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=1e-7)
    assert a.dual_objective_ == pytest.approx(b.dual_objective_, rel=1e-7)
    np.testing.assert_allclose(a.decision_function(Z), b.decision_function(Z), atol=1e-6)
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-6)


@pytest.mark.parametrize("intercept", ["none", "regularized"])
@pytest.mark.parametrize("machine, loss", MARGINS)
def test_margins_of_two_classes(machine, loss, intercept, monkeypatch):
    """One variable per row, against a margin per row and class."""
    X, y, w = rows()
    short = fit(machine, X, y, w, loss=loss, intercept=intercept)
    again = fit(machine, X, y, w, loss=loss, intercept=intercept, warm_start=True).fit(X, y, sample_weight=w)
    monkeypatch.setattr(two_classes, "binary", lambda f, n_classes: None)
    long = fit(machine, X, y, w, loss=loss, intercept=intercept)
    assert_same_model(short, long, X)
    assert_same_model(again, long, X)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["none", "regularized", "exact"])
@pytest.mark.parametrize("C", [0.02, 2.0])
def test_scatter_of_two_classes(loss, intercept, C, monkeypatch):
    """Signed variables, against the label kernel and the search for the value of the class sums."""
    X, y, w = rows(1)
    short = fit("scatter", X, y, w, loss=loss, intercept=intercept, C=C)
    monkeypatch.setattr(dual, "is_signed", lambda f, n_classes: False)
    assert_same_model(short, fit("scatter", X, y, w, loss=loss, intercept=intercept, C=C), X)


def test_an_exact_intercept_goes_on_from_another_c():
    X, y, w = rows(2)
    est = fit("scatter", X, y, w, intercept="exact", C=20.0, warm_start=True)
    for C in (1.0, 50.0):
        est.set_params(C=C).fit(X, y, sample_weight=w)
        assert_same_model(est, fit("scatter", X, y, w, intercept="exact", C=C), X)
        peer = SVC(C=C / 2, gamma=0.4, tol=1e-9).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(est.decision_function(X), peer.decision_function(X), atol=1e-5)


def test_one_class_at_its_bounds():
    """Three rows against sixty: all of the small class are at their bound, and its sum is that of the other."""
    X, y = blobs([3, 60], 2, seed=4)
    est = fit("scatter", X, y, None, intercept="exact", C=0.1)
    peer = SVC(C=0.05, gamma=0.4, tol=1e-9).fit(X, y)
    assert est.status_ == "solved"
    np.testing.assert_allclose(est.decision_function(X), peer.decision_function(X), atol=1e-6)


def test_who_takes_the_short_way():
    """Not three classes, not a solver of one's own, not an own class with another target."""
    f = Formulation(MACHINES["kesler"])
    assert two_classes.binary(f, 2) and not two_classes.binary(f, 3)
    assert not two_classes.binary(replace(f, solver="smo"), 2)
    far = replace(MACHINES["ats"], margins=Margins("mean", own_target=lambda T: 2.0))
    assert not two_classes.binary(replace(f, machine=far), 2)
    scatter = Formulation(MACHINES["scatter"])
    assert two_classes.is_signed(scatter, 2) and not two_classes.is_signed(scatter, 3)
    assert not two_classes.is_signed(replace(scatter, nu=0.3), 2)
    assert not two_classes.is_signed(replace(scatter, loss="logistic"), 2)
    assert not two_classes.is_signed(replace(scatter, priors=np.array([0.3, 0.7])), 2)


def test_two_classes_far_away(seed):
    """Both weight vectors are about 1e6, their difference is about 1: the scores are products with the difference."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 8)) + y[:, None] + 3e4
    est = JointSVC("scatter", kernel="linear", intercept="exact").fit(X, y)
    B = est.dual_coef_.toarray()
    exact = X @ ((B[1] - B[0]) @ X.astype(np.longdouble)[est.support_]) + est.intercept_[1] - est.intercept_[0]
    np.testing.assert_allclose(est.decision_function(X), exact.astype(float) / 2, rtol=0, atol=1e-7)
