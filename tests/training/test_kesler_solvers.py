"""The named solvers of the Kesler machine: against the listed optima, a conic solver, each other, and in every use."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import DATA, blobs
from margin_oracles import Joint
from oracle_values import JOINT_ROWS
from oracles import linear, rbf
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from polymargin import JointSVC
from polymargin.machines import KESLER_SOLVERS

SOLVERS = list(KESLER_SOLVERS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)
MANY = 300  # rows: more than are carried on to rounding error, so that the tolerance itself is what ends a fit


def fit(solver, X, y, weights=None, **params):
    """ "auto+smo" is the default solver on the loss of "smo"."""
    name, _, loss_of = solver.partition("+")
    params = dict(gamma=0.4, tol=1e-4) | params
    loss = KESLER_SOLVERS[loss_of or name]
    return JointSVC("kesler", loss=loss, solver=name, **params).fit(X, y, sample_weight=weights)


def coefficients(est, n):
    B = np.zeros((len(est.classes_), n))
    B[:, est.support_] = est.dual_coef_
    return B


def problem(est, X, y, weights=None):
    K = rbf(X, X, est.gamma) if est.kernel == "rbf" else linear(X, X)
    intercept = "regularized" if est.intercept == "auto" else est.intercept
    return Joint("kesler", K, y, loss=est.loss, C=est.C, intercept=intercept, weights=weights)


def assert_certified(est, X, y, weights=None):
    """The figures are those of the model by the naive formulas; "solved" means what tol means for the solver."""
    p, B = problem(est, X, y, weights), coefficients(est, len(y))
    P, D = est.primal_objective_, est.dual_objective_
    assert pytest.approx(p.value(B), rel=1e-8) == P
    a = -np.where(np.eye(p.T, dtype=bool)[:, y], 0, B)
    assert a.min() >= 0
    F = p.K @ B.T
    ridge = 1 / (2 * p.u) if p.squared else np.zeros_like(p.u)
    assert pytest.approx(a.sum() - np.sum(B.T * F) / 2 - (ridge * (a**2).sum(axis=0)).sum() / 2, rel=1e-8) == D
    top = np.full_like(p.u, np.inf) if p.squared else p.u
    assert np.all(a <= top)
    g = p.slacks(F).T - ridge * a  # the gain rate of every variable
    rest = ~np.eye(p.T, dtype=bool)[:, y]
    violation = np.max(np.maximum(np.where(a < top, g, 0), np.where(a > 0, -g, 0))[rest])
    assert pytest.approx(violation, rel=1e-5, abs=1e-9) == est.kkt_violation_
    if est.status_ == "solved":
        assert (est.kkt_violation_ if est.solver in ("auto", "smo") else est.duality_gap_) <= est.tol


LISTED = [
    pytest.param(row, solver, id=f"{row['id']}-{solver}")
    for row in JOINT_ROWS
    for solver, loss in KESLER_SOLVERS.items()
    if row["id"].startswith("fh/") and row["loss"] == loss
]


@pytest.mark.parametrize("row, solver", LISTED)
def test_listed_optima(row, solver):
    X, y = DATA[row["data"]]()
    # The gap of "ksk" falls like 1 / steps; the steps to rounding error that small problems get come after it.
    est = fit(solver, X, y, C=row["C"], gamma=row["gamma"], tol=1e-2 if solver == "ksk" else 1e-9)
    assert est.status_ == "solved"
    assert est.primal_objective_ == pytest.approx(row["value"], rel=1e-8)
    assert est.dual_objective_ == pytest.approx(row["value"], rel=1e-8)
    assert_certified(est, X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("intercept", ["none", "regularized"])
@every_solver
def test_random_optimum(seed, solver, intercept, kernel):
    """Two to seven classes with weights against the conic solver."""
    case = [seed, *map(ord, solver + intercept + kernel)]
    rng = np.random.default_rng(case)
    for _ in range(3):
        T, d = int(rng.integers(2, 8)), int(rng.integers(2, 5))
        X, y = blobs(rng.integers(2, 9, size=T), d, [*case, 1], spread=rng.choice([0.3, 0.7, 1.5]))
        w = rng.choice([0.5, 1.0, 2.5], size=len(y))
        C = float(rng.choice([0.1, 1.0, 10.0]))
        est = fit(solver, X, y, w, intercept=intercept, kernel=kernel, C=C, tol=1e-2)
        p = problem(est, X, y, w)
        best = p.primal()
        assert est.status_ == "solved"
        assert_certified(est, X, y, w)
        # Most of these problems are carried on to rounding error, some only as far as their gap says. The primal is
        # 1-strongly convex, so what it is above its minimum bounds the error of every score.
        excess = max(est.primal_objective_ - est.dual_objective_, 1e-8 * best.value)
        assert est.duality_gap_ < 1e-3
        assert best.value * (1 - 1e-8) <= est.primal_objective_ <= best.value + excess
        f = est.decision_function(X)
        scores = best.scores[:, 1] - best.scores[:, 0] if T == 2 else best.scores
        error = np.abs(f - scores) if T == 2 else np.abs(f - scores).max(axis=1)
        assert np.all(error <= 2 * np.sqrt(excess * np.diag(p.K)) + 1e-6)


@pytest.fixture(scope="module")
def crowd():
    X, y = blobs([90, 40, 100, MANY - 230], 3, seed=3, spread=0.5)
    return X, y, np.random.default_rng(4).normal(size=(50, 3))


@every_solver
def test_tolerance_ends_a_fit_and_warm_starts_go_on(crowd, solver):
    X, y, Z = crowd
    best = fit(f"auto+{solver}", X, y, tol=1e-8)
    loose, tight = (1e-1, 1e-2) if solver == "ksk" else (1e-2, 1e-5)
    est = fit(solver, X, y, tol=loose, warm_start=True)
    assert est.status_ == "solved"
    assert_certified(est, X, y)
    assert est.dual_objective_ <= best.primal_objective_ and est.primal_objective_ >= best.dual_objective_
    first = est.n_iter_
    assert est.fit(X, y).n_iter_ <= 40 < first  # nothing is left to do but to look
    est.set_params(tol=tight).fit(X, y)
    cold = fit(solver, X, y, tol=tight)
    assert 0 < est.n_iter_ < cold.n_iter_
    for model in (est, cold):
        assert model.status_ == "solved"
        assert_certified(model, X, y)
        assert model.primal_objective_ == pytest.approx(best.primal_objective_, rel=2 * tight)
        # 1/2 |w - w*|^2 is at most the gap, and k + 1 is at most 2.
        worst = np.sqrt(4 * (model.primal_objective_ - best.dual_objective_)) + 1e-6
        assert np.abs(model.decision_function(Z) - best.decision_function(Z)).max() <= worst
    assert_certified(est.set_params(C=0.3).fit(X, y), X, y)


def test_mdm_needs_far_fewer_steps_than_ksk(crowd):
    X, y, _ = crowd
    ksk, mdm = (fit(solver, X, y, tol=1e-2) for solver in ("ksk", "mdm"))
    assert 10 * mdm.n_iter_ < ksk.n_iter_
    # Nothing ever leaves the point of ksk again.
    assert ksk.n_support_.sum() >= mdm.n_support_.sum()


@every_solver
def test_formats_order_threads_and_memory_change_nothing(solver):
    X, y = blobs([9, 14, 7, 12, 10], 3, seed=5)
    X = np.where(np.abs(X) < 0.4, 0, X)
    Z = np.random.default_rng(6).normal(size=(40, 3))
    f = fit(f"auto+{solver}", X, y).decision_function(Z)
    est = fit(solver, X, y, tol=1e-2)
    K = fit(solver, rbf(X, X, 0.4), y, kernel="precomputed", tol=1e-2)
    for model in (
        est,
        fit(solver, sp.csr_array(X), y, tol=1e-2),
        fit(solver, X.astype(np.float32), y, n_jobs=2, memory="1MB", tol=1e-2),
        fit(solver, X[::-1], y[::-1], tol=1e-2),
        fit(solver, X, y, kernel=lambda A, B: rbf(A, B, 0.4), tol=1e-2),
    ):
        np.testing.assert_allclose(model.decision_function(Z), f, atol=2e-5)
    np.testing.assert_allclose(K.decision_function(rbf(Z, X, 0.4)), f, atol=2e-5)
    other = fit(solver, X, (y + 2) % 5, tol=1e-2).decision_function(Z)
    np.testing.assert_allclose(other[:, (np.arange(5) + 2) % 5], f, atol=2e-5)


@every_solver
def test_weights_are_repetitions(solver):
    X, y = blobs([9, 14, 7], 3, seed=5)
    w = np.random.default_rng(0).integers(0, 4, size=len(y))
    w[np.unique(y, return_index=True)[1]] = 1
    one, many = fit(solver, X, y, w, tol=1e-2), fit(solver, np.repeat(X, w, axis=0), np.repeat(y, w), tol=1e-2)
    np.testing.assert_allclose(one.decision_function(X), many.decision_function(X), atol=1e-6)


@every_solver
def test_float32_rows_and_few_of_them_kept(solver):
    """More than 2,048 rows are float32, and a budget of 1 MB holds 120 of their kernel rows."""
    X, y = blobs([700] * 3, 3, seed=1, spread=0.3)
    tol = 1e-1 if solver == "ksk" else 1e-3
    est, best = fit(solver, X, y, tol=tol, memory="1MB"), fit(f"auto+{solver}", X, y, tol=1e-3)
    assert est.status_ == "solved"
    assert est.dual_objective_ <= best.primal_objective_ * (1 + 1e-4)
    assert est.primal_objective_ == pytest.approx(best.primal_objective_, rel=tol)
    assert np.mean(est.predict(X) == best.predict(X)) > 0.98


@pytest.mark.parametrize("limit, status", [(dict(max_iter=30), "max_iter"), (dict(time_limit=1e-9), "time_limit")])
@every_solver
def test_limits(crowd, solver, limit, status):
    X, y, _ = crowd
    with pytest.warns(ConvergenceWarning, match=status):
        est = fit(solver, X, y, tol=1e-9, **limit)
    assert est.status_ == status
    assert_certified(est, X, y)


@pytest.mark.parametrize("solver, loss", [("smo", "squared_hinge"), ("ksk", "hinge"), ("mdm", "hinge")])
def test_a_solver_has_one_loss(solver, loss):
    X, y = DATA["toy12"]()
    with pytest.raises(ValueError, match=f'expected loss="{KESLER_SOLVERS[solver]}" with solver="{solver}", got loss'):
        JointSVC("kesler", solver=solver, loss=loss).fit(X, y)


@every_solver
@pytest.mark.parametrize("machine", ["scatter", "crammer-singer", "ovr"])
def test_only_kesler_has_them(machine, solver):
    X, y = DATA["toy12"]()
    with pytest.raises(ValueError, match=f'expected solver to be .* with machine="{machine}", got "{solver}"'):
        JointSVC(machine, solver=solver).fit(X, y)


@every_solver
def test_rows_that_are_alike(solver):
    """The same row in two classes, and many times: the nearest point is then not unique in its variables."""
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 6, axis=0)
    y = np.tile([0, 1, 2], 6)
    est = fit(solver, X, y, tol=1e-2)
    assert est.status_ == "solved"
    assert est.primal_objective_ == pytest.approx(problem(est, X, y).primal().value, rel=1e-6)


def first_steps(solver, K, y, C, n_steps):
    """The dual value after this many steps of the plain algorithm, on the matrix of all variables."""
    i, m = (part.ravel() for part in np.meshgrid(np.arange(len(y)), np.arange(y.max() + 1), indexing="ij"))
    i, m = i[m != y[i]], m[m != y[i]]
    Q = (K[i][:, i] + 1) * (
        (y[i][:, None] == y[i]) * 1 + (m[:, None] == m) - (y[i][:, None] == m) - (m[:, None] == y[i])
    )
    if solver == "smo":
        a = np.zeros(len(i))
        for _ in range(n_steps):
            g = 1 - Q @ a
            v = np.where(g > 0, np.where(a < C, g, 0), np.where(a > 0, -g, 0))
            t = np.argmax(v**2 / np.diag(Q))
            a[t] = np.clip(a[t] + g[t] / Q[t, t], 0, C)
        return a.sum() - a @ Q @ a / 2
    Q = Q + np.eye(len(i)) / (2 * C)
    a = np.eye(len(i))[np.argmin(np.diag(Q))]
    for _ in range(n_steps):
        h = Q @ a
        t = np.argmin(h)
        if solver == "ksk":  # the nearest point of the segment to vertex t
            s = np.clip((a @ h - h[t]) / (a @ h - 2 * h[t] + Q[t, t]), 0, 1)
            a = (1 - s) * a + s * np.eye(len(i))[t]
        else:
            slope, bend = h - h[t], np.maximum(Q[t, t] + np.diag(Q) - 2 * Q[t], 1e-12)
            s = np.minimum(slope / bend, a)
            j = np.argmax(s * (slope - s * bend / 2))
            a[t], a[j] = a[t] + s[j], a[j] - s[j]
    return 1 / (2 * a @ Q @ a)


@every_solver
def test_steps_are_those_of_the_plain_algorithm(solver):
    X, y = blobs([9, 14, 7, 12], 3, seed=7, spread=0.8)
    X *= np.linspace(0.5, 1.5, len(y))[:, None]  # linear kernel: no two variables alike, so there are no ties
    for n_steps in (1, 2, 7, 60):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            est = fit(solver, X, y, kernel="linear", C=0.2, tol=1e-12, max_iter=n_steps)
        assert est.n_iter_ == n_steps
        assert est.dual_objective_ == pytest.approx(first_steps(solver, linear(X, X), y, 0.2, n_steps), rel=1e-9)


def test_a_limit_that_ends_polishing_away_from_the_tolerance_is_named():
    """The steps after the first solved point may raise the violation again; that was said to be rounding."""
    X, y = load_iris(return_X_y=True)
    model = JointSVC("kesler", solver="smo", gamma=0.5, tol=0.05)
    for steps in range(60, 110):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(max_iter=steps).fit(X[::3], y[::3])
        assert model.status_ == ("solved" if model.kkt_violation_ <= 0.05 else "max_iter")
