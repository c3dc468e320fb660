"""LandmarkSVC: the optimum of the restricted problem, what it proves, and the same model whatever the form of the data.

The restricted problem is that of explicit features: with K_nm and K_mm by naive kernels, its Gram matrix is
K_nm K_mm^+ K_mn, and the conic solver of the oracles takes it from there.
"""

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import threadpoolctl
from ctrl_c import CtrlC, posix
from data_sets import overlapping
from margin_oracles import Joint
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from polymargin import JointSVC, LandmarkSVC, _core
from polymargin.fitting import blas
from polymargin.fitting.limits import Limits
from polymargin.landmarks import choice, passes, training
from polymargin.landmarks.newton import Curved, Losses, Newton, Point
from polymargin.machines import MACHINES

SQUARED = [m for m in MACHINES if "squared_hinge" in MACHINES[m].losses]
PROBLEMS = [(m, "hinge") for m in MACHINES] + [(m, "squared_hinge") for m in SQUARED]


def restricted(X, Z, gamma):
    """The Gram matrix of the rows' projections on the span of the landmarks."""
    K = oracles.rbf(X, Z, gamma)
    return K @ np.linalg.pinv(oracles.rbf(Z, Z, gamma), rcond=1e-13, hermitian=True) @ K.T


def optimum(machine, loss, K, y, C, weights=None):
    if machine == "scatter":
        return oracles.Scatter(K + 1, y, loss=loss, C=C, weights=weights).primal().value
    return Joint(machine, K, y, loss=loss, C=C, intercept="regularized", weights=weights).primal().value


def primal_of(model, X, y, C, weights=None):
    """The problem's value at a fitted model, from its public attributes."""
    B, Z, T = model.dual_coef_, model.landmarks_, len(model.classes_)
    F = oracles.rbf(X, Z, model.gamma_) @ B.T + model.intercept_
    i, w = np.arange(len(y)), np.ones(len(y)) if weights is None else weights
    half = 0.5 * (np.sum(B @ oracles.rbf(Z, Z, model.gamma_) * B) + np.sum(model.intercept_**2))
    if model.machine == "scatter":
        slack = np.maximum(1 - (F[i, y] - F.mean(axis=1)), 0)
        return half + C * w @ (slack**2 / 2 if model.loss == "squared_hinge" else slack)
    joint = Joint(model.machine, np.zeros((1, 1)), y, loss=model.loss, C=C, weights=w)
    if joint.centered:
        F = F - F.mean(axis=1, keepdims=True)
    xi = np.maximum(joint.slacks(F), 0)
    loss = xi.max(axis=1) if joint.largest else (joint.square * xi**2 if joint.squared else xi).sum(axis=1)
    assert T == joint.T
    return half + joint.u @ loss


@pytest.mark.parametrize("machine, loss", PROBLEMS)
def test_optimum_of_every_machine(machine, loss, by_passes, seed):
    X, y = overlapping(seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    model = LandmarkSVC(machine, loss=loss, C=2.0, n_landmarks=20, gamma=0.3, tol=1e-4).fit(X, y, weights)
    assert model.status_ == "solved" and len(model.support_) == 20
    assert_array_equal(model.landmarks_, X[model.support_])
    best = optimum(machine, loss, restricted(X, model.landmarks_, 0.3), y, 2.0, weights)
    # The gap says how far both values are from the optimum, and 1e-6 is what the conic solver is worth.
    assert model.dual_objective_ <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= model.primal_objective_ <= best * (1 + 1.01e-4)
    assert_allclose(primal_of(model, X, y, 2.0, weights), model.primal_objective_, rtol=1e-7)


@pytest.mark.parametrize("machine, loss", PROBLEMS)
def test_small_problems_are_solved_exactly(machine, loss, seed):
    X, y = overlapping(120, seed=seed)
    model = LandmarkSVC(machine, loss=loss, n_landmarks=15, gamma=0.3).fit(X, y)
    best = optimum(machine, loss, restricted(X, model.landmarks_, 0.3), y, 1.0)
    assert_allclose(model.primal_objective_, best, rtol=1e-5)
    assert model.dual_objective_ <= best * (1 + 1e-6)
    assert_allclose(primal_of(model, X, y, 1.0), model.primal_objective_, rtol=1e-5)


@pytest.mark.parametrize("machine", ["crammer-singer", "kesler", "scatter", "atm"])
def test_all_rows_as_landmarks_is_the_joint_machine(machine, seed):
    X, y = overlapping(150, seed=seed)
    model = LandmarkSVC(machine, C=2.0, gamma=0.5, n_landmarks=1000).fit(X, y)
    joint = JointSVC(machine, C=2.0, gamma=0.5, intercept="regularized", tol=1e-6).fit(X, y)
    assert_allclose(model.primal_objective_, joint.primal_objective_, rtol=1e-4)
    # The problem is 1-strongly convex in W: |W - W*|^2 <= 2 (P - P*), and a score moves by no more than |phi| of that.
    error = 2 * np.sqrt(2 * 2 * joint.duality_gap_ * joint.primal_objective_) + 1e-4
    assert_allclose(model.decision_function(X), scores(joint, X), atol=2 * error)
    assert model.residual_ < 1e-9


def scores(joint, X):
    F = joint.decision_function(X)
    return F - F.mean(axis=1, keepdims=True) if joint.machine == "scatter" else F


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_gap_is_honest_at_every_limit(loss, by_passes, seed):
    """However early a fit ends, dual <= optimum <= primal."""
    X, y = overlapping(seed=seed)
    best = None
    for most in (1, 2, 4, 8, 16):
        model = LandmarkSVC("kesler", loss=loss, n_landmarks=20, gamma=0.3, tol=1e-6, max_iter=most)
        with pytest.warns(ConvergenceWarning) if most < 5 else ignoring():
            model.fit(X, y)
        assert model.n_iter_ <= most
        best = best or optimum("kesler", loss, restricted(X, model.landmarks_, 0.3), y, 1.0)
        assert model.dual_objective_ <= best * (1 + 1e-6) and model.primal_objective_ >= best * (1 - 1e-6)
        assert_allclose(primal_of(model, X, y, 1.0), model.primal_objective_, rtol=1e-7)
        gap = (model.primal_objective_ - model.dual_objective_) / model.primal_objective_
        assert_allclose(model.duality_gap_, gap, rtol=1e-9)
        assert (model.status_ == "solved") == (gap <= 1e-6)


def ignoring():
    import warnings

    return warnings.catch_warnings(action="ignore")


@pytest.mark.parametrize("machine, loss", PROBLEMS)
def test_slope_and_curvature_against_differences(machine, loss, seed):
    X, y = overlapping(90, seed=seed)
    rng, T, s = np.random.default_rng(seed), 3, 0.7
    task = dict(kernel=lambda A, B: {"kind": "rbf", "gamma": 0.3, "call": None})
    basis = choice.Basis(X[:8], **task)
    basis.grow(np.arange(8))
    losses = Losses.of(MACHINES[machine], loss, T)
    u = rng.uniform(0.5, 2, len(y))
    rows = passes.HeldRows(passes.Strong(X, np.arange(len(y)), y, u), basis, losses, Limits(1e-3, 1, memory=1e8))
    W, d = rng.normal(size=(2, T, 9))
    quiet = type("Quiet", (), {"tell": lambda self: None})()
    at, e = rows.sums(W, s, quiet), 1e-5
    ahead, behind = (rows.sums(W + t * d, s, quiet) for t in (e, -e))
    assert_allclose(np.vdot(at.gradient, d), (ahead.smooth - behind.smooth) / (2 * e), rtol=1e-6)
    found = rows.curved(at, s)
    assert isinstance(found, Curved) and len(found.y) == (len(y) if loss == "hinge" else np.count_nonzero(at.curvature))
    if loss == "hinge":  # squares have kinks in their slope
        assert_allclose(found.product(d), (ahead.gradient - behind.gradient) / (2 * e), rtol=1e-5, atol=1e-5)
        K = rng.normal(size=(2, T, 9))  # the Hessian is symmetric
        phi = np.vstack([basis.features(X, np.arange(len(y)), 1), np.ones(len(y))])
        f, damped = d @ phi, rows.curved(at, s, 0.3)
        margins = f - {"own": f[y, np.arange(len(y))], "mean": f.mean(axis=0), "none": 0.0}[losses.reference]
        assert_allclose(np.vdot(d, damped.product(d) - found.product(d)), 0.3 * u @ (margins**2).sum(axis=0), rtol=1e-9)
        assert_allclose(np.vdot(K[0], found.product(K[1])), np.vdot(K[1], found.product(K[0])), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reference", ["own", "mean", "none"])
def test_curvature_is_a_sum_over_rows(dtype, reference, seed):
    """Also over more rows than a tile has: 256."""
    rng, n, m, T = np.random.default_rng(seed), 601, 7, 5
    phi, first, second = (rng.uniform(0.5, 1, (k, n)).astype(dtype) for k in (m, T, T))
    y, scale, d = rng.integers(0, T, n), rng.uniform(0.5, 1, n).astype(dtype), rng.normal(size=(T, m + 1))

    def product(i):
        K, a, b = (np.ascontiguousarray(A[:, i]) for A in (phi, first, second))
        return _core.curvature_product(K, d, y[i], a, b, scale[i], reference) - d.ravel()

    singly = sum(product(np.array([i])) for i in range(n))
    assert_allclose(product(np.arange(n)), singly, rtol=0, atol=1e3 * np.finfo(dtype).eps * np.abs(singly).max())


def test_the_best_point_tells_classes_apart():
    """W = 0 is a start, never a model: the true losses may grow with the first step, only smooth ones must fall."""

    class Rows:
        def sums(self, W, s, run):
            return Point(W, float(values.pop(0)), 0.0, 0.0, np.zeros_like(W))

    values, weights = [3, 5, 4, 4.5, 1], [np.full((2, 3), k) for k in range(5)]
    run, best = Newton(Losses.of(MACHINES["crammer-singer"], "hinge", 2), 1e-2, 10, np.inf), []
    run.rows = Rows()
    for W in weights:
        run.look(W)
        best.append(run.best.primal)
    assert best == [3, 5, 4, 4, 1]


@pytest.mark.parametrize("how", ["uniform", "k-means++", "cholesky"])
def test_weights_are_repetitions(how, by_passes, seed):
    X, y = overlapping(seed=seed)
    times = np.random.default_rng(seed).integers(0, 4, len(y))
    more = np.repeat(np.arange(len(y)), times)
    model = LandmarkSVC(n_landmarks=20, landmarks=how, gamma=0.3, tol=1e-6, random_state=seed)
    weighted = model.fit(X, y, times).decision_function(X)
    landmarks = model.landmarks_
    repeated = model.fit(X[more], y[more]).decision_function(X)
    assert_array_equal(np.unique(landmarks, axis=0), np.unique(model.landmarks_, axis=0))
    assert_allclose(weighted, repeated, atol=4 * np.sqrt(2e-6 * model.primal_objective_))


def test_forms_of_the_data(by_passes, seed):
    X, y = overlapping(seed=seed)
    X[np.abs(X) < 0.3] = 0
    how = dict(n_landmarks=25, gamma=0.3, tol=1e-6)
    model = LandmarkSVC(**how).fit(X, y)
    sparse = LandmarkSVC(**how).fit(sp.csr_array(X), y)
    assert_array_equal(model.support_, sparse.support_)
    near = 4 * np.sqrt(2e-6 * model.primal_objective_)
    assert_allclose(sparse.decision_function(sp.csr_array(X)), model.decision_function(X), atol=near)
    gram = LandmarkSVC(kernel="precomputed", **(how | {"n_landmarks": 300})).fit(oracles.rbf(X, X, 0.3), y)
    full = LandmarkSVC(**(how | {"n_landmarks": 300})).fit(X, y)
    assert_allclose(gram.primal_objective_, full.primal_objective_, rtol=2e-6)
    called = LandmarkSVC(kernel=lambda A, B: oracles.rbf(A, B, 0.3), **how).fit(X, y)
    assert_allclose(called.primal_objective_, model.primal_objective_, rtol=2e-6)
    # Rounded rows have other marks, so the landmarks are given; a kernel value changes by some 1e-7.
    single = LandmarkSVC(**how, landmarks=model.landmarks_).fit(X.astype(np.float32), y)
    assert_allclose(single.primal_objective_, model.primal_objective_, rtol=1e-5)


@pytest.mark.parametrize("change", [dict(memory="1MB"), dict(n_jobs=3)], ids=str)
def test_memory_and_threads_change_nothing(change, by_passes, monkeypatch, seed):
    X, y = overlapping(6000, seed=seed)
    X = np.hstack([X, np.zeros((len(X), 20))])  # kernel values of few features are never kept
    how = dict(n_landmarks=60, gamma=0.3, tol=1e-3, n_jobs=1)
    model = LandmarkSVC(**how).fit(X, y)
    other = LandmarkSVC(**(how | change)).fit(X, y)
    assert_array_equal(model.dual_coef_, other.dual_coef_)
    assert (other.n_kernel_evals_ > model.n_kernel_evals_) == ("memory" in change)


def test_blocks_change_nothing_but_rounding(monkeypatch, seed):
    X, y = overlapping(6000, seed=seed)
    found = []
    for step in (256, 1 << 16):
        monkeypatch.setattr(passes, "STEP", step)
        found.append(LandmarkSVC(n_landmarks=60, gamma=0.3, tol=1e-4).fit(X, y))
    assert all(model.status_ == "solved" for model in found)
    assert_allclose(found[0].primal_objective_, found[1].primal_objective_, rtol=1e-4)


def test_many_rows_by_levels_and_float32(seed):
    """Parts of the rows first, float32 kernel values: the optimum of all rows all the same."""
    X, y = overlapping(30_000, seed=seed)
    model = LandmarkSVC(n_landmarks=30, gamma=0.3, tol=1e-3).fit(X.astype(np.float32), y)
    wide = LandmarkSVC(landmarks=model.landmarks_.astype(float), gamma=0.3, tol=9e-6).fit(X, y)
    assert model.status_ == wide.status_ == "solved"
    assert wide.dual_objective_ * (1 - 1e-5) <= model.primal_objective_ <= wide.primal_objective_ * (1 + 1.1e-3)
    assert_allclose(primal_of(model, X, y, 1.0), model.primal_objective_, rtol=1e-4)


def test_number_of_landmarks_by_itself(seed):
    """Classes that a line divides need no more than the first landmarks, those of a board do."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_500, 2))
    y = (X[:, 0] > 0).astype(int)
    model = LandmarkSVC(random_state=seed).fit(X, y)
    assert len(model.support_) <= 128 and model.score(X, y) > 0.99
    X = rng.uniform(size=(20_500, 2))
    y = np.add(*np.floor(8 * X).astype(int).T) % 2  # a board of 8 x 8 fields
    board = LandmarkSVC(gamma=128.0, C=10.0, random_state=seed).fit(X, y)
    assert len(board.support_) >= 256 and board.score(X, y) > 0.9


def test_rows_without_curvature_have_no_part(seed):
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random(5000) < 0.1, rng.uniform(0.5, 2.0, 5000), 1e-12).astype(np.float32)
    assert_array_equal(passes.drawn_shares(weight, 1000) > 0, weight > 0.1)
    assert passes.drawn_shares(weight, 100).sum() == pytest.approx(100, rel=0.02)
    assert passes.drawn_shares(np.zeros(7), 3).sum() == 7  # nothing is known


def test_an_eighth_of_the_rows_at_most(monkeypatch):
    """Where every doubling gains: exact training is quicker than with more."""

    def descend(task, fit, part):
        fit.W, fit.primal, fit.dual, fit.gap = np.zeros((task.n_classes, len(fit.basis.at) + 1)), 1.0, 1.0, 0.0

    monkeypatch.setattr(training, "descend", descend)
    monkeypatch.setattr(training, "hits", lambda task, fit, part: np.arange(len(part)) < len(fit.basis.at))
    X, y = overlapping(9000)
    for part, most in ((8, 1024), (4, 2048)):
        monkeypatch.setattr(training, "PART", part)
        assert most // 2 < len(LandmarkSVC(gamma=30.0, landmarks="uniform").fit(X, y).support_) <= most


def test_given_landmarks(seed):
    X, y = overlapping(seed=seed)
    Z = np.concatenate([X[:10], X[:3], np.zeros((1, 3))])
    model = LandmarkSVC(landmarks=Z, gamma=0.3).fit(X, y)
    assert_array_equal(np.unique(model.landmarks_, axis=0), np.unique(Z, axis=0))  # three add nothing
    assert_array_equal(model.landmarks_, Z[model.support_])
    assert model.n_support_.sum() == len(model.support_) == 11
    other = LandmarkSVC(landmarks=X[:60] + 1.0, gamma=0.3).fit(X[100:160], y[100:160])  # as many as rows
    assert_allclose(primal_of(other, X[100:160], y[100:160], 1.0), other.primal_objective_, rtol=1e-6)
    with pytest.raises(ValueError, match="expected landmarks to have 3 features, as the rows have, got 2"):
        LandmarkSVC(landmarks=Z[:, :2]).fit(X, y)
    with pytest.raises(ValueError, match="expected landmarks to be"):
        LandmarkSVC(landmarks=Z, kernel="precomputed").fit(X @ X.T, y)


def test_residual(seed):
    X, y = overlapping(seed=seed)
    model = LandmarkSVC(n_landmarks=12, gamma=0.3).fit(X, y)
    assert_allclose(model.residual_, np.mean(1 - np.diag(restricted(X, model.landmarks_, 0.3))), atol=1e-9)
    assert LandmarkSVC(n_landmarks=40, gamma=0.3).fit(X, y).residual_ < model.residual_


def test_limits(by_passes):
    X, y = overlapping(6000)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LandmarkSVC(n_landmarks=50, max_iter=1, tol=1e-6).fit(X, y)
    assert model.status_ == "max_iter" and np.isfinite(model.decision_function(X[:5])).all()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = LandmarkSVC(n_landmarks=50, time_limit=1e-6, tol=1e-9).fit(X, y)
    assert model.status_ == "time_limit" and np.isfinite(model.primal_objective_)


@posix
def test_ctrl_c_leaves_a_model():
    X, y = overlapping(200_000, d=20)
    model = LandmarkSVC(n_landmarks=1000, C=1e5, tol=1e-9, n_jobs=1, time_limit=60.0)
    with CtrlC(1.0) as ctrl_c, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert ctrl_c.delay < 4.0  # a step's products are not interrupted
    assert model.status_ == "interrupted" and np.isfinite(model.decision_function(X[:5])).all()


def test_callbacks_end_a_fit(by_passes, monkeypatch):
    from polymargin.fitting import progress

    X, y = overlapping()
    asked = []
    monkeypatch.setattr(progress.Progress, "wanted", property(lambda self: True))
    monkeypatch.setattr(progress.Progress, "__call__", lambda self, event: asked.append(event) or len(asked) > 3)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = LandmarkSVC(n_landmarks=20, tol=1e-9).fit(X, y)
    assert model.status_ == "interrupted" and len(asked) == 4 and "gap" in asked[-1]["text"]


def test_threads_of_blas_are_as_before():
    def set_to():
        return [lib["num_threads"] for lib in blas._libraries().info()]

    X, y = overlapping()
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = set_to()
        assert 2 in before
        with blas.one_thread():
            assert set(set_to()) <= {1}
            LandmarkSVC(n_landmarks=5).fit(X, y)
            assert set(set_to()) <= {1}
        assert set_to() == before


@pytest.mark.parametrize(
    "parameters, message",
    [
        (dict(machine="svm"), "machine to be one of"),
        (dict(n_landmarks=0), "n_landmarks to be"),
        (dict(landmarks="random"), "landmarks to be"),
        (dict(loss="squared_hinge"), "loss to be one of"),
        (dict(machine="scatter", loss="logistic"), "loss to be one of"),
        (dict(C=-1.0), "C to be"),
        (dict(landmarks=[[np.nan, 0.0, 0.0]]), "expected landmarks to be finite, got NaN"),
    ],
    ids=str,
)
def test_hostile_parameters(parameters, message):
    X, y = overlapping(60)
    with pytest.raises(ValueError, match=message):
        LandmarkSVC(**parameters).fit(X, y)


def test_hostile_rows(by_passes):
    X, y = overlapping(60)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="expected X to be finite"):
            LandmarkSVC().fit(np.where(X[0, 0] == X, bad, X), y)
    equal = LandmarkSVC(n_landmarks=5).fit(np.ones((60, 3)), y)  # one landmark is all there is
    assert len(equal.support_) == 1 and len(np.unique(equal.predict(X))) == 1
    nothing = LandmarkSVC(kernel="linear").fit(np.zeros((60, 3)), y)
    assert np.isfinite(nothing.decision_function(X)).all()
    far = LandmarkSVC(n_landmarks=20, gamma=0.3).fit(X + 1e6, y)
    near = LandmarkSVC(n_landmarks=20, gamma=0.3).fit(X, y)
    assert_allclose(far.primal_objective_, near.primal_objective_, rtol=0.1)


def test_wide_kernels_are_solved_in_float64(by_passes, seed):
    """Values of nearly 1: float32 takes most landmarks for spanned by the others, and stalls."""
    X, y = overlapping(6000, seed=seed)
    model = LandmarkSVC(C=256.0, gamma=1e-3, n_landmarks=40).fit(X.astype(np.float32), y)
    assert model.status_ == "solved" and len(model.support_) > 20
