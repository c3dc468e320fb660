"""Problems that are solved in stages (a sample, an active set, float32 rows), and rows where float32 does not serve."""

import numpy as np
import pytest
from data_sets import blobs

from polymargin import JointSVC, PairwiseSVC, _core, kernels


def assert_optimal(model, X, y, C, tol):
    """The optimality conditions of the hinge in the C form, from the public scores alone."""
    F = model.decision_function(X)
    own = F[np.arange(len(y)), np.searchsorted(model.classes_, y)] - F.mean(axis=1)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.asarray(model.dual_coef_.sum(axis=0)).ravel()
    assert own[alpha < C].min() >= 1 - tol
    assert own[alpha > 0].max() <= 1 + tol


@pytest.mark.parametrize("memory", ["auto", "20MB"])
@pytest.mark.parametrize("spread", [0.4, 1.0], ids=["apart", "overlapping"])
def test_stages_end_at_the_optimum(memory, spread):
    X, y = blobs([3000, 4000, 2500, 500], 3, seed=5, spread=spread)
    model = JointSVC("scatter", C=2.0, gamma=0.5, memory=memory).fit(X, y)
    assert model.status_ == "solved" and model.kkt_violation_ <= model.tol
    assert_optimal(model, X, y, 2.0, 1.2e-3)
    assert 0 <= model.duality_gap_ < 0.05


def test_a_few_support_vectors_need_a_few_rows():
    X, y = blobs([5000] * 3, 3, seed=2, spread=0.3)
    model = JointSVC("scatter", C=1.0, gamma=0.3).fit(X, y)
    assert len(model.support_) < 1000
    assert model.n_kernel_evals_ < 0.25 * len(y) ** 2


@pytest.mark.parametrize("C", [0.01, 0.1])
def test_rows_without_a_say_stay_out(C):
    """A few rows against thousands that are far from everything: all of these have the same score, the bias."""
    X, y = 3 * np.arange(9000.0)[:, None], np.arange(9000) < 5
    X[y, 0] /= 30
    model = PairwiseSVC(C=C, gamma=5.0).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ < 0.01 and model.intercept_ == pytest.approx(-1, abs=1e-3)
    assert len(model.support_) < 2000


@pytest.mark.parametrize(
    "options", [dict(nu=0.5), dict(C=1.0, intercept="exact"), dict(C=1.0, loss="squared_hinge")], ids=str
)
def test_other_forms_on_many_rows(options):
    X, y = blobs([1500, 1000, 700], 3, seed=7, spread=1.0)
    coarse = JointSVC("scatter", gamma=0.5, **options).fit(X, y)
    fine = JointSVC("scatter", gamma=0.5, tol=1e-6, **options).fit(X, y)
    assert coarse.status_ == fine.status_ == "solved"
    span = coarse.primal_objective_ - coarse.dual_objective_
    slack = 1e-5 * abs(fine.dual_objective_)
    assert coarse.dual_objective_ <= fine.primal_objective_ + slack
    assert fine.dual_objective_ <= coarse.primal_objective_ + slack
    assert span <= 0.05 * abs(fine.dual_objective_)


@pytest.mark.parametrize("d", [2, 16])
def test_float32_values_are_exact_far_from_the_origin(d):
    """On a ring no shift of the origin helps; differences of few features are squared directly."""
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    X = np.zeros((400, d), dtype=np.float32)
    X[:, :2] = 5000 * np.column_stack([np.cos(angle), np.sin(angle)])
    rows = np.arange(400)
    kernel = kernels.Kernel("rbf", 1e-4).record()
    exact = np.exp(-1e-4 * ((X[:, None].astype(float) - X[None]) ** 2).sum(axis=2))
    K = _core.kernel_block(X, X, kernel, rows, rows, "float32", 1)
    np.testing.assert_allclose(K, exact, rtol=1e-4, atol=1e-7)


def test_rows_far_from_the_origin_are_not_left_to_float32():
    rng = np.random.default_rng(3)
    center = 3000 * np.linalg.qr(rng.normal(size=(20, 20)))[0][:3]
    y = np.repeat([0, 1, 2], 900)
    X = (center[y] + rng.normal(size=(2700, 20))).astype(np.float32)
    record = kernels.Kernel("rbf", 0.05).record()
    assert kernels.float32_error(X, np.arange(len(X)), record) > 1e-3
    assert kernels.float32_error(X - center[y].astype(np.float32), np.arange(len(X)), record) < 1e-5
    coarse, fine = (JointSVC("scatter", C=1.0, gamma=0.05, tol=tol).fit(X, y) for tol in (1e-3, 1e-6))
    np.testing.assert_allclose(coarse.decision_function(X[::50]), fine.decision_function(X[::50]), atol=0.02)
