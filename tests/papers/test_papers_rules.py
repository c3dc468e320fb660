"""How cells of the papers' tables and points of their figures are computed."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from polymargin import JointSVC
from polymargin.papers import core_vector, criteria, kesler
from polymargin.papers.criteria_figures import accepted
from polymargin.papers.scatter_galleries import digit_pairs, pair_kernel, pictures


@pytest.mark.parametrize("solver, more", [("smo", 4), ("ksk", 1)])
def test_a_solver_is_timed_until_its_tolerance_and_not_until_only_rounding_is_left(solver, more):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    loss = "hinge" if solver == "smo" else "squared_hinge"
    model = JointSVC("kesler", solver=solver, loss=loss, gamma=0.5, tol=0.01)
    exact = model.fit(X, y).n_iter_
    steps = kesler.first_solved(model, X, y).max_iter
    assert more * steps < exact
    assert model.fit(X, y).status_ == "solved"
    assert kesler.fitted(model.set_params(max_iter=steps * 3 // 4), X, y).status_ != "solved"


def test_the_point_of_an_iteration_is_the_first_with_its_number():
    """What follows with the same number are trials of the line search, which may be far off."""
    path = [dict(iteration=i, value=v) for i, v in ((0, 9.0), (1, 5.0), (1, 70.0), (2, 4.0), (2, 80.0))]
    assert {i: step["value"] for i, step in accepted(path).items()} == {0: 9.0, 1: 5.0, 2: 4.0}


@pytest.mark.parametrize("row", ["Iris", "Segment"])
def test_cross_validation_chooses_on_five_halves_of_sets_of_any_size(row, monkeypatch):
    halves = []

    def half(row, k):
        halves.append(k)
        return np.zeros((10, 2)), np.repeat([0, 1], 5), None, None

    monkeypatch.setattr(criteria, "half", half)
    monkeypatch.setattr(
        criteria, "fitted", lambda search, X, y: SimpleNamespace(best_params_=dict(C=2.0 ** halves[-1], gamma=1.0))
    )
    assert criteria.chosen_by_cv(row, "1vs1", False) == dict(C=4.0, gamma=1.0)  # the median of 1, 2, 4, 8, 16
    assert halves == [0, 1, 2, 3, 4]


def test_what_is_a_mean_over_seeds_has_a_deviation(monkeypatch):
    counts = iter(((30, 10), (30, 14), (30, 12), (28, 10), (30, 10)))
    models = [SimpleNamespace(n_support_=np.array(c), status_="epsilon", score=lambda X, y: 0.5) for c in counts]
    monkeypatch.setattr(core_vector, "rows", lambda row, fast: (None,) * 4)
    monkeypatch.setattr(core_vector, "trained", lambda row, column, X, y, seed: models[seed])
    found = core_vector.compute("Synth 1", "MCVM", False)
    totals = [40, 44, 42, 38, 40]
    assert found["support vectors"] == pytest.approx((np.mean(totals), np.std(totals, ddof=1)))
    assert found["accuracy [%]"] == (50.0, 0.0)


def test_the_kernel_matrices_are_those_of_the_pictures():
    P, y, Q, y_test = pictures(10)
    K, labels, K_test, labels_test = digit_pairs(10)
    np.testing.assert_array_equal(K, pair_kernel(P, P))
    np.testing.assert_array_equal(K_test, pair_kernel(Q, P))
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(labels_test, y_test)
    assert P.shape == (150, 2, 64) and Q.shape == (450, 2, 64)
