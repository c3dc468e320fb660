"""Which kernel values the columns of a code compute, in which type, and what joins a second solve of some of them."""

import math

import numpy as np
import pytest
from data_sets import blobs
from oracles import rbf
from sklearn.base import clone

from polymargin import OneVsRestSVC, PairwiseSVC, _core
from polymargin.reductions.columns import joined, matrix
from polymargin.training.certificates import MOST_ROUNDING


@pytest.mark.parametrize("sizes", [[900, 3000, 40, 2500], [2500, 900, 3000], [3000, 2500]])
def test_few_kernel_values_where_few_rows_are_support_vectors(sizes):
    """The pair of 3,000 and 2,500 rows, whatever its place, is probed, and not all of its values are computed."""
    X, y = blobs(sizes, 4, seed=0, spread=0.2)
    model = PairwiseSVC(10.0, gamma=0.1).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ < 0.01
    assert len(model.support_) < 0.05 * len(y)
    assert model.n_kernel_evals_ < 0.25 * 5500**2
    exact = PairwiseSVC(10.0, gamma=0.1, tol=1e-6).fit(X, y)
    assert model.dual_objective_ == pytest.approx(exact.dual_objective_, rel=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [4, 130])
def test_rows_made_when_they_are_needed_give_the_same_model(dtype, d):
    """Pairs of 800 rows with few support vectors; a kernel matrix that is given has all its values.

    Rows of 130 features are made several at a time.
    """
    X, y = blobs([400, 450, 350], 4, seed=0, spread=0.3)
    X = np.tile(X, (1, (d + 3) // 4))[:, :d].astype(dtype) / np.sqrt(d / 4)
    some = PairwiseSVC(10.0, gamma=0.1).fit(X, y)
    assert some.status_ == "solved" and some.n_kernel_evals_ < 0.25 * len(y) ** 2
    whole = PairwiseSVC(10.0, kernel="precomputed").fit(rbf(X, X, 0.1), y)
    assert some.dual_objective_ == pytest.approx(whole.dual_objective_, rel=2e-3)
    f, g = some.pair_decision_function(X), whole.pair_decision_function(rbf(X, X, 0.1))
    np.testing.assert_allclose(f, g, atol=0.01)  # ten times the tolerance


@pytest.mark.parametrize(("sizes", "spread", "memory"), [([6500, 100, 90], 0.5, "auto"), ([3000] * 3, 2.0, "20MB")])
def test_large_pairs_side_by_side_are_the_same_machines(sizes, spread, memory):
    """Pairs of 6,000 rows and more, one after the other by one thread, or each by a thread of its own."""
    X, y = blobs(sizes, 3, seed=0, spread=spread)
    machine = PairwiseSVC(10.0, gamma=0.2, memory=memory)
    one, two = (clone(machine).set_params(n_jobs=n).fit(X.astype(np.float32), y) for n in (1, 2))
    assert one.status_ == two.status_ == "solved"
    np.testing.assert_array_equal(one.dual_coef_.toarray(), two.dual_coef_.toarray())
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_rows_that_are_heavy_and_unused_are_no_reason_for_float64(monkeypatch):
    """5,000 equal rows are one of 5,000 times the strength, which it does not use up."""
    X, y = blobs([1500, 1500], 4, seed=0, spread=0.2)
    X, y = np.concatenate([X, np.repeat(X[:1], 5000, axis=0)]), np.concatenate([y, np.repeat(y[:1], 5000)])
    types, solver = [], _core.CodeSolver

    def noted(X, kernel, rows, segments, dtype, *more):
        types.append(dtype)
        return solver(X, kernel, rows, segments, dtype, *more)

    monkeypatch.setattr(_core, "CodeSolver", noted)
    model = PairwiseSVC(10.0, gamma=0.1).fit(X.astype(np.float32), y)
    assert types == ["float32"] and model.status_ == "solved"


def test_columns_that_were_not_begun_again_keep_their_places():
    """Two of three columns were solved again, the second of them not even begun: it has its bias and no values."""
    first = dict(status="solved", bias=np.full(3, 5.0), dual=np.full(3, 1.0), primal=np.full(3, 2.0), violation=0.1)
    first |= dict(indptr=np.arange(4), indices=np.arange(3), values=np.full(3, 7.0), n_iter=1, evaluations=1)
    later = dict(status="time_limit", bias=np.array([1.0, -1.0]), dual=np.array([9.0]), primal=np.array([9.5]))
    later |= dict(begun=np.array([0]), which=np.array([0, 2]), violation=2.0, not_begun=1, rest=4.0, signalled=False)
    later |= dict(indptr=np.array([0, 1, 1]), indices=np.array([2]), values=np.array([3.0]), n_iter=1, evaluations=1)
    out = joined(first, later, 3)
    np.testing.assert_array_equal(out["bias"], [1, 5, -1])
    np.testing.assert_array_equal(out["dual"], [9, 1, 0])
    np.testing.assert_array_equal(out["primal"], [9.5, 2, 0])
    np.testing.assert_array_equal(matrix(out, 3).toarray(), [[0, 0, 3], [0, 7, 0], [0, 0, 0]])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_only_columns_that_float32_hides_are_solved_again(loss, rng):
    """Classes 0 and 2 overlap, so that their pair has many coefficients at C; the other pairs have few and small."""
    y = np.repeat(np.arange(3), 300)
    X = (np.array([[0.0, 0.0], [9.0, 0.0], [0.3, 0.3]])[y] + rng.normal(size=(900, 2))).astype(np.float32)
    model = PairwiseSVC(4000.0, gamma=0.3, loss=loss).fit(X, y)
    for pair, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
        some = np.flatnonzero((y == a) | (y == b))
        exact = PairwiseSVC(4000.0, gamma=0.3, loss=loss, tol=1e-6).fit(X[some].astype(np.float64), y[some] == a)
        coefficient = np.zeros(len(y))
        coefficient[model.support_] = model.dual_coef_[[pair]].toarray()[0]
        assert np.all(coefficient[(y != a) & (y != b)] == 0)
        c, K = coefficient[some], rbf(X[some], X[some], 0.3)
        value = np.abs(c).sum() - 0.5 * c @ K @ c - (loss == "squared_hinge") * 0.5 * (c @ c) / 4000
        assert value == pytest.approx(exact.dual_objective_, rel=1e-3)
        f, g = K @ c + model.intercept_[pair], exact._raw_scores(X[some])[:, 0]
        assert np.mean(np.abs(f - g)) < 0.02 * np.std(g)


@pytest.mark.parametrize("model", [OneVsRestSVC(loss="squared_hinge"), OneVsRestSVC(), PairwiseSVC()], ids=str)
def test_far_rows_have_coefficients_with_a_sum_of_zero(model, rng):
    """Rows at 7e8: a sum of 1e-14, times that, would move all weights, and scores by much more than the tolerance."""
    y = np.arange(180) % 4
    X = 7e8 * rng.choice([-1.0, 1.0], 12) + 3000 * rng.normal(size=(180, 12))
    model.set_params(C=45.0, kernel="linear").fit(X, y)
    assert model.status_ == "solved"
    for row in model.dual_coef_:
        assert math.fsum(row.data) == 0
    signs, primal = model.code_[y].T if type(model) is PairwiseSVC else model.code_.T[:, y], 0.0
    for w, b, sign in zip(model.coef_.astype(np.longdouble), model.intercept_, signs, strict=True):
        slack = np.maximum(1 - sign * (X.astype(np.longdouble) @ w + b), 0)[sign != 0]
        primal += 0.5 * w @ w + (45 * slack.sum() if model.loss == "hinge" else 22.5 * slack @ slack)
    assert float(primal) == pytest.approx(model.primal_objective_, rel=MOST_ROUNDING)
