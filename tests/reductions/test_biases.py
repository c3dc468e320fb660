"""The bias of a binary machine is the middle of all that are optimal, whichever way led to its coefficients."""

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from polymargin import KernelSearchCV, OneVsRestSVC, OutputCodeSVC, PairwiseSVC

schemes = pytest.mark.parametrize(
    "scheme", [PairwiseSVC(), PairwiseSVC(decision="dag"), OneVsRestSVC(), OutputCodeSVC(random_state=0)], ids=str
)
SETS = 12


def overlapping(rng, n=90):
    """Three classes of unequal sizes."""
    y = rng.permutation(np.repeat(np.arange(3), [n // 2, 3 * n // 10, n // 5]))
    return rng.normal(size=(3, 3))[y] + rng.normal(size=(n, 3)), y


def size_of_scores(y, S):
    """A number that shows differences of the scores, and not the order of the rows."""
    return float(np.sum(np.sin(3 * S + y[:, None]) * np.arange(1, S.shape[1] + 1)))


SCORING = {"accuracy": "accuracy", "scores": make_scorer(size_of_scores, response_method="decision_function")}


@pytest.mark.parametrize("weights", [None, "balanced"])
@schemes
def test_searches_find_the_scores_of_single_fits(scheme, weights, seed):
    """Small C: all variables at their bounds, for which there is an interval of biases. Large C: few of them."""
    for number, tol in product(range(SETS // 6), (1e-3, 1e-10)):
        X, y = overlapping(np.random.default_rng([seed, number]))
        machine = clone(scheme).set_params(class_weight=weights, tol=tol)
        grid = {"C": [1e-4, 0.01, 0.1, 100.0], "gamma": [0.02]}
        cv = StratifiedKFold(3, shuffle=True, random_state=number)
        theirs = GridSearchCV(machine, grid, cv=cv, scoring=SCORING, refit="accuracy").fit(X, y)
        ours = KernelSearchCV(machine, **grid, cv=cv, scoring=SCORING, refit="accuracy").fit(X, y)
        assert tol > 1e-9 or ours.best_params_ == theirs.best_params_
        for key, values in theirs.cv_results_.items():
            if key.startswith("split"):
                # So few rows are solved to less than tol, mostly to rounding: 1e-3 may turn one of 30 rows. Scores at
                # the optimum to 1e-10 differ by less than 1e-8 of C = 100, and the slope of the number is at most 9 for
                # each of 30 x 3 scores.
                accuracy = key.endswith("accuracy")
                atol = (1 / 29 if accuracy else 1e-2) if tol > 1e-9 else (1e-12 if accuracy else 1e-5)
                np.testing.assert_allclose(ours.cv_results_[key], values, atol=atol, err_msg=f"{key}, set {number}")


def best_biases(t, positive, u):
    """The ends of the interval in which sum_i u_i (y_i (t_i - bias))_+ is smallest, by trying all t."""
    y = np.where(positive, 1, -1)
    losses = np.array([np.sum(u * np.maximum(y * (t - bias), 0)) for bias in t])
    best = t[losses <= losses.min() + 1e-9 * u.sum()]
    return best.min(), best.max()


@pytest.mark.parametrize("weights", [None, "balanced"])
def test_the_middle_of_the_best_biases(weights, seed):
    """Also after a path along C, where a variable may be off its bound by rounding."""
    wide = 0
    for number in range(SETS):
        X, y = overlapping(np.random.default_rng([seed, number]))
        path = PairwiseSVC(gamma=0.02, class_weight=weights, warm_start=True)
        for C in (1e-4, 0.01, 0.1):
            cold = PairwiseSVC(C, gamma=0.02, class_weight=weights).fit(X, y)
            path.set_params(C=C).fit(X, y)
            omega = len(y) / (3 * np.bincount(y)) if weights else np.ones(3)
            for model in (cold, path):
                F = model.pair_decision_function(X)
                for column, (a, b) in enumerate(model.pairs_):
                    used = (y == a) | (y == b)
                    t = np.where(y == a, 1, -1) - (F[:, column] - model.intercept_[column])
                    low, high = best_biases(t[used], y[used] == a, C * omega[y[used]])
                    assert model.intercept_[column] == pytest.approx((low + high) / 2, abs=1e-7)
                    wide += high - low > 0.1
    assert wide >= (2 * SETS if weights else 0)


def test_libsvm_s_bias_where_its_variables_are_at_bounds(seed):
    """36 rows of weight 1 and 18 of weight 2: sums without rounding, so that none of its variables is off a bound.
    (With "balanced" one of them is off by 3e-17, and LIBSVM's bias is what that row alone wants: -0.9, not 0.)"""
    for number in range(SETS):
        rng = np.random.default_rng([seed, number])
        y = np.repeat([0, 1], [36, 18])
        X = rng.normal(size=(2, 3))[y] + rng.normal(size=(54, 3))
        machine = dict(C=2.0**-7, gamma=0.02, class_weight={0: 1, 1: 2})
        theirs, ours = SVC(**machine, tol=1e-8).fit(X, y), PairwiseSVC(**machine).fit(X, y)
        assert np.all(np.abs(theirs.dual_coef_[0]) == machine["C"] * theirs.class_weight_[y[theirs.support_]])
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-7)


def test_the_bias_of_a_stopped_fit_is_the_best_for_its_coefficients(seed):
    """Of many rows, before and after the optimum: the primal objective has no smaller value at another bias."""
    rng = np.random.default_rng(seed)
    X, y = overlapping(rng, 3000)
    X, y = X[y < 2], y[y < 2]
    for max_iter in (1, 30, 10**7):
        model = PairwiseSVC(1.0, gamma=0.3, max_iter=max_iter, memory="4MB")
        with np.errstate(all="raise"):
            model = fitted(model, X, y)
        h, sign = model.decision_function(X) - model.intercept_[0], np.where(y == 1, 1, -1)
        losses = np.maximum(1 - sign * (h + sign[:, None] - h[:, None]), 0).sum(axis=1)  # at each row's sign - h
        found = np.maximum(1 - sign * (h + model.intercept_[0]), 0).sum()
        # Scores are sums of float32 kernel values: 1e-5 of each loss.
        assert found <= losses.min() + 1e-5 * len(y)


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
