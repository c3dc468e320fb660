"""The structured machine against a conic solver, the reference optima, and itself by other ways."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from clocks import assert_within
from data_sets import blobs, iris, wine
from oracles import solve
from sklearn.exceptions import ConvergenceWarning

from polymargin import JointSVC, StructuredSVC
from polymargin.fitting.limits import Limits
from polymargin.structured.cutting_planes import minimize
from polymargin.structured.joint_maps import Classes, one_slack

COSTS = np.array([[0, 1, 2], [3, 0, 1], [0.5, 4, 0]])


def conic_optimum(X, y, C, loss, rescaling, weight):
    """The problem of StructuredSVC as it is written down."""
    n, T = len(y), len(loss)
    W, xi = cp.Variable((T, X.shape[1])), cp.Variable(n, nonneg=True)
    F = X @ W.T
    constraints = []
    for c in range(T):
        i = np.flatnonzero(y != c)
        gap = cp.sum(cp.multiply(X[i], W[y[i]] - W[np.full(len(i), c)]), axis=1)
        delta = loss[y[i], c]
        constraints.append(xi[i] >= (cp.multiply(delta, 1 - gap) if rescaling == "slack" else delta - gap))
    assert F.shape == (n, T)
    return solve(cp.Minimize(0.5 * cp.sum_squares(W) + C * weight @ xi), constraints)


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("algorithm", ["auto", "one-slack", "n-slack"])
def test_crammer_singer_reference(algorithm, C):
    optimum = {"iris": {0.1: 6.791442558, 1.0: 26.759726219}, "wine": {0.1: 3.875935484, 1.0: 10.872399444}}
    for name, data in (("iris", iris), ("wine", wine)):
        model = StructuredSVC(C, algorithm=algorithm, tol=1e-7).fit(*data())
        assert model.status_ == "solved"
        assert model.primal_objective_ == pytest.approx(optimum[name][C], rel=2e-7)
        assert model.dual_objective_ == pytest.approx(optimum[name][C], rel=2e-7)


def test_svm_multiclass_scaling():
    for data, value, unit in ((iris, 189372.533, 18.937253314), (wine, 67102.844, 6.710284426)):
        X, y = data()
        model = StructuredSVC(5000, scaling="svm-multiclass", intercept="none", tol=1e-8).fit(X, y)
        assert model.primal_objective_ == pytest.approx(value, rel=1e-7)
        plain = StructuredSVC(5000 / (100 * len(y)), intercept="none", tol=1e-8).fit(X, y)
        assert plain.primal_objective_ == pytest.approx(unit, rel=1e-7)
        np.testing.assert_allclose(model.coef_, 100 * plain.coef_, atol=1e-2)


def test_rows_of_zeros():
    """All scores are zero, every row has a loss of one, and no variable has a curvature."""
    y = np.arange(201) % 3
    model = StructuredSVC(0.3, intercept="none", tol=1e-6).fit(np.zeros((201, 1)), y)
    assert model.status_ == "solved" and not model.coef_.any()
    np.testing.assert_allclose([model.primal_objective_, model.dual_objective_], 0.3 * 201)


def test_a_small_program_may_take_many_steps():
    """Many more cuts than weights, nearly equal ones among them: 20,000 steps of the program leave a gap of 2e-6."""
    rng = np.random.default_rng(31446)
    X, y = blobs([9, 14, 7], 3, seed=int(rng.integers(99)), spread=1.0)
    model = StructuredSVC(0.7, COSTS, "slack", "n-slack", tol=1e-6).fit(X, y, rng.uniform(0.2, 2.0, len(y)))
    assert model.status_ == "solved" and model.duality_gap_ <= 1e-6


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("algorithm", ["auto", "one-slack", "n-slack"])
def test_costs_against_a_conic_solver(rescaling, algorithm, rng):
    X, y = blobs([9, 14, 7], 3, seed=int(rng.integers(99)), spread=1.0)
    weight = rng.uniform(0.2, 2.0, len(y))
    tol = 1e-6
    model = StructuredSVC(0.7, COSTS, rescaling, algorithm, tol=tol).fit(X, y, weight)
    ones = np.column_stack((X, np.ones(len(y))))
    optimum = conic_optimum(ones, y, 0.7, COSTS, rescaling, weight)
    assert model.dual_objective_ <= optimum * (1 + 1e-8) and optimum <= model.primal_objective_ * (1 + 1e-8)
    assert model.primal_objective_ == pytest.approx(optimum, rel=tol)
    F = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(F, model.decision_function(X))
    delta = COSTS[y]
    gap = F[np.arange(len(y)), y][:, None] - F
    xi = np.maximum((delta * (1 - gap) if rescaling == "slack" else np.where(delta > 0, delta - gap, 0)).max(axis=1), 0)
    value = 0.5 * (model.coef_**2).sum() + 0.5 * (model.intercept_**2).sum() + 0.7 * weight @ xi
    assert value == pytest.approx(model.primal_objective_, rel=1e-6)


def test_zero_one_loss_is_the_joint_machine():
    X, y = wine()
    joint = JointSVC("crammer-singer", kernel="linear", intercept="regularized", C=0.5, tol=1e-7).fit(X, y)
    for rescaling in ("margin", "slack"):
        model = StructuredSVC(0.5, rescaling=rescaling, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), joint.decision_function(X), atol=2e-3)
        assert model.primal_objective_ == pytest.approx(joint.dual_objective_, rel=1e-6)


@pytest.mark.parametrize("algorithm", ["one-slack", "n-slack"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_the_gap_never_grows(algorithm, rescaling):
    X, y = blobs([20, 20, 20, 20], 5, seed=3, spread=1.5)
    model = StructuredSVC(3.0, rescaling=rescaling, algorithm=algorithm, tol=1e-4).fit(X, y)
    assert len(model.gap_path_) > 2 and np.all(np.diff(model.gap_path_) <= 0)
    assert model.duality_gap_ == model.gap_path_[-1] <= 1e-4


def test_cuts_lie_below_the_loss(rng):
    """Every cut bounds the loss from below everywhere and meets it where it was made."""
    X, y = blobs([8, 8, 8], 4, seed=1)
    for rescaling in ("margin", "slack"):
        oracle = one_slack(Classes(X, y, COSTS, rescaling), np.ones(len(y)))
        w, v = rng.normal(size=(2, 12))
        xi, group, cuts = oracle(w)
        g, b = cuts(group)
        assert xi[0] == pytest.approx(b[0] - g[0] @ w)
        assert oracle(v)[0][0] >= b[0] - g[0] @ v - 1e-12


def test_dear_mistakes_are_avoided():
    X, y = blobs([200, 200, 200], 2, seed=5, spread=1.2)
    costs = np.array([[0, 1, 1], [10, 0, 10], [1, 1, 0]])
    plain, dear = StructuredSVC().fit(X, y), StructuredSVC(loss_matrix=costs).fit(X, y)
    missed = [np.mean(model.predict(X)[y == 1] != 1) for model in (plain, dear)]
    assert missed[1] < missed[0]
    cost = [costs[y, model.predict(X)].mean() for model in (plain, dear)]
    assert cost[1] < cost[0]


class Chain:
    """Two binary labels per row with a reward for equal ones: a joint map whose outputs are not a list of classes."""

    outputs = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])

    def features(self, X, y):
        signs = 2.0 * np.asarray(y) - 1
        return np.column_stack((X * signs[:, :1], X * signs[:, 1:], signs[:, 0] * signs[:, 1]))

    def loss(self, y, z):
        return (np.asarray(y) != np.asarray(z)).sum(axis=1)

    def scores(self, X, w):
        return np.column_stack([self.features(X, np.tile(z, (len(X), 1))) @ w for z in self.outputs])

    def most_violated(self, X, y, w, rescaling):
        F = self.scores(X, w) - (self.features(X, y) @ w)[:, None]
        delta = (np.asarray(y)[:, None, :] != self.outputs).sum(axis=2)
        return self.outputs[np.argmax(delta * (1 + F) if rescaling == "slack" else delta + F, axis=1)]

    def predict(self, X, w):
        return self.outputs[np.argmax(self.scores(X, w), axis=1)]


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_joint_map(rescaling, rng):
    """Objectives agree within tol. Nearly equal cuts leave rare draws some 1e-6 from the optimum."""
    tol = 1e-5
    X = rng.normal(size=(60, 3))
    y = np.column_stack((X[:, 0] > 0, X[:, 0] + X[:, 1] > 0)).astype(int)
    values = []
    for algorithm in ("auto", "n-slack"):
        model = StructuredSVC(1.0, rescaling=rescaling, algorithm=algorithm, joint_map=Chain(), tol=tol).fit(X, y)
        assert (model.predict(X) == y).mean() > 0.9 and model.status_ == "solved"
        values.append(model.primal_objective_)
    assert values[0] == pytest.approx(values[1], rel=tol)
    w, xi = cp.Variable(7), cp.Variable(60, nonneg=True)
    own, constraints = Chain().features(X, y), []
    for z in Chain.outputs:
        other = np.tile(z, (60, 1))
        delta, gap = Chain().loss(y, other), (own - Chain().features(X, other)) @ w
        constraints.append(xi >= (cp.multiply(delta, 1 - gap) if rescaling == "slack" else delta - gap))
    assert values[0] == pytest.approx(solve(cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(xi)), constraints), rel=tol)


def test_nearly_equal_cuts():
    """A draw whose small program takes more steps than one round has: it goes on as long as the gap falls."""
    X = np.random.default_rng(3297).normal(size=(60, 3))
    y = np.column_stack((X[:, 0] > 0, X[:, 0] + X[:, 1] > 0)).astype(int)
    model = StructuredSVC(rescaling="slack", algorithm="n-slack", joint_map=Chain(), tol=1e-7).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ <= 1e-7


def test_formats_agree():
    X, y = blobs([20, 20, 20], 6, seed=2)
    for rescaling in ("margin", "slack"):
        model = StructuredSVC(rescaling=rescaling, tol=1e-8).fit(X, y)
        for other in (sp.csr_array(X), sp.csr_matrix(X), X.astype(np.float32)):
            again = StructuredSVC(rescaling=rescaling, tol=1e-8).fit(other, y)
            np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-3)
            assert np.mean(again.predict(other) == model.predict(X)) > 0.95


def test_bad_input():
    X, y = iris()
    for parameters, message in (
        (dict(loss_matrix=np.ones((2, 2))), "expected loss_matrix to have shape"),
        (dict(loss_matrix=np.ones((3, 3))), "zeros on the diagonal"),
        (dict(loss_matrix=-COSTS), ">= 0"),
        (dict(rescaling="both"), "rescaling"),
        (dict(joint_map=Chain(), scaling="svm-multiclass"), "unit"),
    ):
        with pytest.raises(ValueError, match=message):
            StructuredSVC(**parameters).fit(X, np.column_stack((y, y)) if "joint_map" in parameters else y)


@pytest.mark.parametrize("algorithm", ["auto", "one-slack"])
def test_limits_leave_a_model(algorithm):
    X, y = blobs([100, 100, 100], 8, seed=0, spread=3.0)
    with pytest.warns(Warning, match="max_iter"):
        model = StructuredSVC(100.0, algorithm=algorithm, max_iter=2, tol=1e-9).fit(X, y)
    assert model.status_ == "max_iter" and len(model.predict(X)) == 300
    assert model.primal_objective_ >= model.dual_objective_


@pytest.mark.parametrize("costs", [None, 3.0 * (1 - np.eye(3)), COSTS], ids=["0/1", "one number", "costs"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("in_weights", [False, True])
def test_every_way_has_the_same_optimum(costs, rescaling, in_weights, monkeypatch, rng):
    """Steps on kernel values, steps in weight space, cutting planes; rows without weight and others with more."""
    monkeypatch.setattr("polymargin.training.linear.pays", lambda *_: in_weights)
    X, y = blobs([25, 25, 25], 3, seed=7, spread=2.0)
    weight = rng.integers(0, 3, size=75).astype(float)
    one = StructuredSVC(0.3, costs, rescaling, "one-slack", tol=1e-5).fit(X, y, weight)
    steps = StructuredSVC(0.3, costs, rescaling, tol=1e-5).fit(X, y, weight)
    assert (steps.n_cuts_ == 0) == (rescaling == "margin" or costs is not COSTS)
    assert steps.primal_objective_ == pytest.approx(one.primal_objective_, rel=1e-4)
    assert steps.dual_objective_ == pytest.approx(one.dual_objective_, rel=1e-4)
    np.testing.assert_allclose(steps.decision_function(X), one.decision_function(X), atol=0.1)


@pytest.mark.parametrize("costs", [None, 3.0 * (1 - np.eye(3)), COSTS], ids=["0/1", "one number", "costs"])
@pytest.mark.parametrize("in_weights", [False, True])
@pytest.mark.parametrize("intercept", ["none", "regularized"])
def test_warm_start(costs, in_weights, intercept, monkeypatch):
    monkeypatch.setattr("polymargin.training.linear.pays", lambda *_: in_weights)
    X, y = blobs([100, 100, 100], 8, seed=0, spread=3.0)
    cold = StructuredSVC(1.0, costs, intercept=intercept).fit(X, y)
    model = StructuredSVC(1.0, costs, intercept=intercept, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ <= 2 < cold.n_iter_ and model.status_ == "solved"
    for C in (0.5, 2.0):  # the last point is made feasible for a smaller C, and is so for a larger one
        again, fresh = model.set_params(C=C).fit(X, y), StructuredSVC(C, costs, intercept=intercept).fit(X, y)
        assert again.status_ == "solved"
        assert again.primal_objective_ == pytest.approx(fresh.primal_objective_, rel=2e-3)
    turned = model.fit(X, (y + 1) % 3)  # a point of other labels is made feasible too
    fresh = StructuredSVC(2.0, costs, intercept=intercept).fit(X, (y + 1) % 3)
    assert turned.primal_objective_ == pytest.approx(fresh.primal_objective_, rel=2e-3)
    assert turned.dual_objective_ == pytest.approx(fresh.dual_objective_, rel=2e-3)
    other = model.fit(X[:-3], (y[:-3] + 1) % 3)  # other rows, other labels: it starts over, and is right
    fresh = StructuredSVC(2.0, costs, intercept=intercept).fit(X[:-3], (y[:-3] + 1) % 3)
    assert other.primal_objective_ == pytest.approx(fresh.primal_objective_, rel=2e-3)


@pytest.mark.parametrize("algorithm", ["one-slack", "n-slack"])
def test_warm_start_of_cutting_planes(algorithm):
    X, y = blobs([30, 30, 30], 4, seed=0, spread=2.0)
    model = StructuredSVC(1.0, COSTS, "slack", algorithm, warm_start=True).fit(X, y)
    best = model.primal_objective_
    model.set_params(max_iter=1)
    with pytest.warns(Warning, match="max_iter"):
        assert model.fit(X, y).primal_objective_ == pytest.approx(best, rel=1e-9)  # where the last one ended
    # The best point of a run is no worse than its first; how many rounds the new cuts take follows rounding.
    model.set_params(max_iter=10_000).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ <= model.tol
    assert model.primal_objective_ <= best * (1 + 1e-9)
    y = np.column_stack((X[:, 0] > 0, X[:, 0] + X[:, 1] > 0)).astype(int)
    mapped = StructuredSVC(joint_map=Chain(), warm_start=True).fit(X, y)
    best = mapped.primal_objective_
    with pytest.warns(Warning, match="max_iter"):
        assert mapped.set_params(max_iter=1).fit(X, y).primal_objective_ == pytest.approx(best, rel=1e-9)


def test_interruption_leaves_the_best_point():
    calls = []

    def oracle(w):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        cut = np.sign([[3 - w[0]]]), np.array([3 * np.sign(3 - w[0])])
        return np.array([abs(3 - w[0])]), np.zeros(1, dtype=int), lambda _: cut

    answer = minimize(oracle, 1, np.array([1.0]), Limits(tol=1e-30, max_iter=100))
    assert answer.status == "interrupted" or answer.status == "solved"
    assert np.isfinite(answer.primal_objective)


def test_a_sweep_is_as_many_steps_as_there_are_rows():
    """Where few rows are left to step on, sweeps over these alone are not what max_iter counts."""
    X, y = iris()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    loss = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    auto, cuts = (StructuredSVC(C=1000.0, loss_matrix=loss, algorithm=a).fit(X, y) for a in ("auto", "one-slack"))
    assert auto.status_ == "solved" and auto.n_iter_ <= auto.max_iter
    assert auto.primal_objective_ == pytest.approx(cuts.primal_objective_, rel=1e-5)


@pytest.mark.parametrize(("algorithm", "megabytes"), [("n-slack", 200), ("one-slack", 200), ("auto", 750)])
def test_a_time_limit_holds_with_many_classes(algorithm, megabytes):
    """To hand out memory takes the system longer than the limit: the cuts of all rows were 8 GB, and an array of all
    scores is 160 MB, of which cutting planes make none and steps on rows no copies of zeros."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_000, 50)), np.arange(10_000) % 2000
    model = StructuredSVC(100.0, algorithm=algorithm, tol=1e-6, time_limit=0.1)
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        assert_within(1.1, lambda: model.fit(X, y))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < megabytes * 1e6 and model.coef_.shape == (2000, 50)


def test_some_of_the_cuts_of_a_round_are_enough(monkeypatch):
    """The worst of them, as many as there is room for: more rounds find the same machine."""
    X, y = blobs([20, 20, 20], 3, seed=2, spread=1.5)
    whole = StructuredSVC(3.0, algorithm="n-slack", tol=1e-8).fit(X, y)
    monkeypatch.setattr("polymargin.structured.cutting_planes.NUMBERS", 2 * 3 * 4)
    monkeypatch.setattr("polymargin.structured.joint_maps.SCORES_AT_ONCE", 21)
    few = StructuredSVC(3.0, algorithm="n-slack", tol=1e-8).fit(X, y)
    assert few.status_ == whole.status_ == "solved" and few.n_iter_ > whole.n_iter_
    np.testing.assert_allclose(few.coef_, whole.coef_, atol=1e-4)
