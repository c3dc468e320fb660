"""All free variables at once (core/dual/face.hpp): large C, several sums, margins per class with caps."""

import numpy as np
import pytest
from margin_oracles import TABLE, Joint
from oracles import rbf

from polymargin import JointSVC, PairwiseSVC, _core
from polymargin.machines import MACHINES


def overlapping(n, seed, d=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + 0.5 * (2 * y - 1)[:, None] * (np.arange(d) == 0), y


@pytest.mark.parametrize("gamma", [0.02, 0.25])
@pytest.mark.parametrize("C", [1e3, 1e5])
def test_steps_do_not_grow_with_C(C, gamma, seed):
    """Pair steps alone take millions here; the conditions are those of the model, recomputed."""
    X, y = overlapping(400, seed)
    model = PairwiseSVC(C=C, gamma=gamma, tol=1e-5).fit(X, y)
    assert model.status_ == "solved" and model.n_iter_ < 100 * len(y)
    sign, z = 2.0 * y - 1, np.zeros(len(y))
    z[model.support_] = model.dual_coef_.toarray()[0]
    assert abs(z.sum()) < 1e-9 * np.abs(z).sum()
    assert np.all(z * sign >= 0) and np.all(z * sign <= C)
    g = rbf(X, X, gamma) @ z - sign
    low, high = np.where(sign > 0, 0, -C), np.where(sign > 0, C, 0)
    assert g[z > low].max() - g[z < high].min() < 2e-5
    assert model.duality_gap_ < 1e-6


@pytest.mark.parametrize("intercept", ["none", "exact"])
def test_scatter_at_large_C(intercept, seed):
    X, y = overlapping(300, seed)
    model = JointSVC("scatter", C=1e4, gamma=0.1, intercept=intercept, tol=1e-5).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ < 1e-5


def test_more_free_rows_than_a_working_set_has(seed):
    """They are solved together to rounding, which leaves no gap that comes from the tolerance."""
    rng = np.random.default_rng(seed)
    y = np.arange(2000) % 3
    X = rng.normal(0, 0.3, (3, 10))[y] + rng.normal(size=(2000, 10))
    model = JointSVC("scatter", C=2.0**15, gamma=0.1).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ < 1e-6
    assert len(model.support_) > 768


@pytest.mark.parametrize("n_groups", [1, 3, 20])
@pytest.mark.parametrize("m, decades, most", [(120, 3, 200_000), (240, 4, 2_000)])
def test_sums_and_optimum_of_dense_programs(m, decades, most, n_groups, seed):
    """min 1/2 a'Qa - p'a over boxes and sums, condition number 1e6 or 1e8: no feasible way goes down by more than tol.

    Where bounds are far from each other many variables leave the factor at once, and pair steps alone, which take over
    from a factor that has lost its accuracy, would need a hundred times as many steps as are allowed.
    """
    for k in range(4):
        rng = np.random.default_rng([seed, k])
        A = rng.normal(size=(m, m)) * np.logspace(0, -decades, m)
        Q, p, upper = np.ascontiguousarray(A @ A.T), rng.normal(size=m), 10.0 ** rng.uniform(0, 4, m)
        offsets = np.linspace(0, m, n_groups + 1).astype(np.int64)
        start = 0.3 * upper
        a = _core.solve_qp(Q, p, upper, offsets, start, 1e-8, most)
        assert np.all(a >= 0) and np.all(a <= upper)
        g = Q @ a - p
        for first, last in zip(offsets[:-1], offsets[1:], strict=True):
            part = slice(first, last)
            assert a[part].sum() == pytest.approx(start[part].sum(), rel=1e-11)
            grow, fall = a[part] < upper[part], a[part] > 0
            # Rounding of g: entries of Q a of the size of |Q| |a|, to 16 digits.
            noise = 1e-15 * float((np.abs(Q) @ a).max())
            assert g[part][fall].max(initial=-np.inf) - g[part][grow].min(initial=np.inf) <= 1e-8 + 4 * noise


@pytest.mark.parametrize("draw", [45, 77, 157, 257, 381])
def test_many_sums_beside_a_singular_matrix(draw):
    """Sixty sums of a few cuts each, and seven weights: multipliers of all sums at once would have no digits.

    These are all cuts of rows with two binary labels, where pair steps leave violations of up to 7e-4.
    """
    X = np.random.default_rng(draw).normal(size=(60, 3))
    y = np.column_stack((X[:, 0] > 0, X[:, 0] + X[:, 1] > 0))
    outputs = np.array([(0, 0), (0, 1), (1, 0), (1, 1), (1, 1)])

    def features(labels):
        first, second = 2.0 * labels.T - 1
        return np.column_stack((X * first[:, None], X * second[:, None], first * second))

    delta = (y[:, None, :] != outputs).sum(axis=2).astype(float)
    delta[:, 4] = 0  # what is left of a sum
    others = np.stack([features(np.tile(z, (60, 1))) for z in outputs], axis=1)
    G = (delta[:, :, None] * (features(y)[:, None, :] - others)).reshape(300, 7)
    Q, start = np.einsum("id,jd->ij", G, G), np.tile([0.0, 0, 0, 0, 1], 60)
    a = _core.solve_qp(Q, delta.ravel(), np.ones(300), np.arange(0, 301, 5), start, 1e-9, 20_000)
    assert np.all(a >= 0)
    np.testing.assert_allclose(a.reshape(60, 5).sum(axis=1), 1, rtol=1e-11)
    g = (Q @ a - delta.ravel()).reshape(60, 5)
    grow, fall = a.reshape(60, 5) < 1, a.reshape(60, 5) > 0
    assert np.max(np.where(fall, g, -np.inf).max(axis=1) - np.where(grow, g, np.inf).min(axis=1)) < 2e-9


@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("below", [0.003, 0.03])
def test_indefinite_programs_end_at_feasible_points(below, n_groups, seed):
    """Where the factor of the free variables breaks off there is no face to go down, but boxes and sums hold.

    Variables are set free several at a time, so that it breaks off between two of them as well; `make sanitize`
    sees whether anything then reads past its end.
    """
    m = 120
    for k in range(10):
        rng = np.random.default_rng([seed, k])
        A = rng.normal(size=(m, m)) * np.logspace(0, -3, m)
        Q, p = np.ascontiguousarray(A @ A.T) - below * np.eye(m), rng.normal(size=m)
        upper = rng.uniform(1, 1e4, m) * 10.0 ** -(k % 4)
        offsets = np.linspace(0, m, n_groups + 1).astype(np.int64)
        start = 0.3 * upper * (rng.uniform(size=m) < 0.5)
        a = _core.solve_qp(Q, p, upper, offsets, start, 1e-8, 20_000)
        assert np.all(a >= 0) and np.all(a <= upper)
        np.testing.assert_allclose(np.add.reduceat(a, offsets[:-1]), np.add.reduceat(start, offsets[:-1]), rtol=1e-11)
        assert (a @ Q - 2 * p) @ a < (start @ Q - 2 * p) @ start


def several(n, seed, T=4):
    """Overlapping classes, and every tenth row twice with another label: kernel values that are singular."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % T
    X = 0.7 * rng.normal(size=(T, 2))[y] + rng.normal(size=(n, 2))
    X[::10] = X[1::10]
    return X, y


@pytest.mark.parametrize("C", [1e4, 1e6])
@pytest.mark.parametrize("machine", TABLE)
def test_margins_at_large_C(machine, C):
    """The optimum of an independent solver; a step on one example at a time would take tens of thousands."""
    X, y = several(60, 3)
    model = JointSVC(machine, C=C, gamma=0.5, tol=1e-5).fit(X, y)
    kind = MACHINES[machine].intercepts[0]
    best = Joint(machine, rbf(X, X, 0.5), y, C=C, intercept=kind).primal().value
    assert model.status_ == "solved" and model.n_iter_ < 200 * len(y)
    assert model.duality_gap_ < 1e-6
    assert model.dual_objective_ == pytest.approx(best, rel=1e-5)
    B = np.zeros((4, len(y)))
    B[:, model.support_] = model.dual_coef_
    assert Joint(machine, rbf(X, X, 0.5), y, C=C, intercept=kind).value(B) == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("machine", ["kesler", "crammer-singer"])
def test_steps_of_margins_do_not_grow_with_C(machine, seed):
    X, y = several(300, [1, seed])
    n_iter = [JointSVC(machine, C=C, gamma=0.5).fit(X, y).n_iter_ for C in (1e2, 1e4, 1e6)]
    assert max(n_iter) < 20 * len(y)


def test_caps_hold_on_a_face(seed):
    """An example at its cap passes size from class to class: the sum is the cap and no size negative."""
    X, y = several(200, [2, seed])
    C = 50.0
    model = JointSVC("crammer-singer", C=C, gamma=0.5, tol=1e-8, intercept="none").fit(X, y)
    assert model.status_ == "solved"
    B = np.zeros((4, len(y)))
    B[:, model.support_] = model.dual_coef_
    own, others = B[y, np.arange(len(y))], np.where(np.eye(4, dtype=bool)[y].T, 0, B)
    assert np.all(others <= 0) and np.all(own <= C * (1 + 1e-12))
    several_free = ((others < 0).sum(axis=0) > 1) & (own > C * (1 - 1e-12))
    assert several_free.sum() > 5  # else this shows nothing
    F = rbf(X, X, 0.5) @ B.T
    for i in np.flatnonzero(several_free):
        assert np.ptp(F[i, others[:, i] < 0]) < 1e-7


@pytest.mark.parametrize("machine", TABLE)
def test_rounding_that_hides_the_last_digits_ends_no_face(machine):
    """Kernel values of 1e8: no residual is 1e-12, and steps on rows alone would take millions."""
    r = np.random.RandomState(0)
    X, y = r.normal(loc=100, size=(100, 2)), r.randint(0, 2, 100)
    model = JointSVC(machine, kernel="poly", degree=2, coef0=1.0, max_iter=20_000).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ < 1e-6


@pytest.mark.parametrize(
    "machine, dtype",
    [("llw", "float32"), ("adm", "float64"), ("atm", "float32"), ("reinforced", "float64")],
)
def test_more_free_variables_than_a_factor_holds(machine, dtype, seed):
    """Scores that sum to zero, by splitting: steps on rows alone would take 25,000. The proof is weak duality."""
    n, T, C, rng = 400, 10, 100.0, np.random.default_rng([4, seed])
    y = np.arange(n) * T // n
    X = 0.7 * rng.normal(size=(T, 8))[y] + rng.normal(size=(n, 8))
    margins = MACHINES[machine].margins
    own_target = margins.own_target(T) if margins.own_target else 0.0
    core = _core.MarginSolver(
        X, {"kind": "rbf", "gamma": 0.1}, np.arange(n), y, T, "mean", float(own_target), margins.capped, dtype, 1e9, 1
    )  # fmt: skip
    out = core.solve(np.full(n, C), np.zeros(n), np.zeros(n * T), "auto", 1e-3, 5000, np.inf, None)
    b = out["alpha"].reshape(T, n)
    assert out["status"] == "solved"
    assert np.sum((b != 0) & (np.abs(b) < C)) > 2048  # else this shows nothing
    own = np.arange(T)[:, None] == y
    assert np.all(np.where(own, b, 0) >= 0) and np.all(np.where(own, 0, b) <= 0)
    assert np.all(np.abs(b).sum(axis=0) <= C * (1 + 1e-12)) if margins.capped else np.all(np.abs(b) <= C)
    assert own_target or not b[own].any()
    K, B = rbf(X, X, 0.1), b - b.mean(axis=0)
    dual = np.sum(b * np.where(own, own_target, -1)) - np.sum(B * (B @ K)) / 2
    primal = Joint(machine, K, y, C=C).value(B)
    assert dual <= primal * (1 + 1e-9) and primal - dual < 1e-3 * primal
