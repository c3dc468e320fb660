"""The machines with a margin per class: reference optima, limits and symmetries, for every row of the table."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import DATA, blobs, small
from margin_oracles import TABLE, Joint
from oracle_values import JOINT_ROWS
from oracles import binary_svc, linear, rbf
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from polymargin import JointSVC, _core
from polymargin.fitting.examples import Examples
from polymargin.fitting.limits import Limits
from polymargin.kernels import Kernel, as_data
from polymargin.machines import MACHINES, Machine
from polymargin.training.problem import Formulation
from polymargin.training.solve import solve

MACHINE_LOSSES = [(m, loss) for m in TABLE for loss in MACHINES[m].losses]
every_machine = pytest.mark.parametrize("machine, loss", MACHINE_LOSSES)
every_intercept = pytest.mark.parametrize("intercept", ["none", "regularized"])


def fit(machine, X, y, weights=None, **params):
    return JointSVC(machine, **(dict(gamma=0.4, tol=1e-9) | params)).fit(X, y, sample_weight=weights)


def coefficients(est, n):
    """B of all n training rows."""
    assert est.dual_coef_.shape == (len(est.classes_), len(est.support_))
    B = np.zeros((len(est.classes_), n))
    B[:, est.support_] = est.dual_coef_
    return B


def problem(est, X, y, weights=None, K=None):
    if K is None:
        K = rbf(X, X, est.gamma) if est.kernel == "rbf" else linear(X, X)
    intercept = MACHINES[est.machine].intercepts[0] if est.intercept == "auto" else est.intercept
    return Joint(est.machine, K, y, loss=est.loss, C=est.C, intercept=intercept, weights=weights)


def assert_honest(est, X, y, weights=None, optimum=None, K=None):
    """The reported figures are those of the returned model by the naive formulas, and bound the optimum."""
    p, B = problem(est, X, y, weights, K), coefficients(est, len(y))
    P, D = est.primal_objective_, est.dual_objective_
    assert pytest.approx(p.value(B), rel=1e-8) == P
    assert pytest.approx(max(P - D, 0) / max(abs(P), abs(D)), rel=1e-6, abs=1e-11) == est.duality_gap_
    assert P + 1e-9 * abs(P) >= D
    if p.centered:
        np.testing.assert_allclose(B.sum(axis=0), 0, atol=1e-12 * (1 + np.abs(B).max()))
    if optimum is not None:
        slack = 1e-8 * abs(optimum)
        assert D - slack <= optimum <= P + slack
    assert est.status_ != "solved" or est.kkt_violation_ <= est.tol


def assert_same_scores(a, b, Z, atol=2e-6, columns=slice(None)):
    assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=1e-7)
    np.testing.assert_allclose(a.decision_function(Z)[..., columns], b.decision_function(Z), atol=atol)


# Reference optima


@pytest.mark.parametrize("tol, rel", [(1e-6, 1e-6), (1e-9, 1e-8)])
@pytest.mark.parametrize("row", JOINT_ROWS, ids=lambda row: row["id"])
def test_listed_optima(row, tol, rel):
    X, y = DATA[row["data"]]()
    est = fit(y=y, X=X, tol=tol, **{k: row[k] for k in row if k not in ("id", "data", "value", "min_norm")})
    assert est.status_ == "solved"
    assert est.primal_objective_ == pytest.approx(row["value"], rel=rel)
    assert est.dual_objective_ == pytest.approx(row["value"], rel=rel)
    assert_honest(est, X, y)
    if "min_norm" in row:  # objective = 1 / (2 norm^2)
        assert 1 / (2 * est.dual_objective_) == pytest.approx(row["min_norm"], rel=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@every_intercept
@every_machine
def test_random_optimum(seed, machine, loss, intercept, kernel):
    """Three to eight classes with weights: objective, scores of training rows, scores of new rows."""
    case = [seed, *map(ord, machine + loss + intercept + kernel)]
    rng = np.random.default_rng(case)
    for _ in range(2):
        T, d = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        X, y = blobs(rng.integers(2, 9, size=T), d, [*case, 1], spread=rng.choice([0.3, 0.7, 1.5]))
        w = rng.choice([0.5, 1.0, 2.5], size=len(y))
        C = float(rng.choice([0.1, 1.0, 10.0]))
        est = fit(machine, X, y, w, loss=loss, intercept=intercept, kernel=kernel, C=C)
        p = problem(est, X, y, w)
        best = p.primal()
        assert est.status_ == "solved"
        assert est.primal_objective_ == pytest.approx(best.value, rel=1e-7)
        assert est.dual_objective_ == pytest.approx(best.value, rel=1e-7)
        assert_honest(est, X, y, w, optimum=best.value)
        # The primal is 1-strongly convex in w, so its suboptimality bounds the error of every score.
        error = np.abs(est.decision_function(X) - best.scores).max(axis=1)
        assert np.all(error <= np.sqrt(2e-7 * abs(best.value) * np.diag(p.K)) + 1e-6)
        Z = rng.normal(size=(30, d))
        K = rbf(Z, X, 0.4) if kernel == "rbf" else linear(Z, X)
        F = K @ coefficients(est, len(y)).T + est.intercept_
        np.testing.assert_allclose(est.decision_function(Z), F, atol=1e-9 * (1 + np.abs(F).max()))
        chosen = F[np.arange(len(Z)), est.predict(Z)]  # scores may be equal except for rounding
        np.testing.assert_allclose(chosen, F.max(axis=1), atol=1e-9 * (1 + np.abs(F).max()))


@pytest.mark.parametrize("machine", TABLE)
def test_extreme_C(machine):
    X, y = blobs([2, 14, 5], 3, seed=8, spread=0.4)
    for C in (1e-4, 1e-2, 1e3):
        est = fit(machine, X, y, C=C, tol=1e-7)
        best = problem(est, X, y).primal()
        assert est.status_ == "solved"
        assert est.primal_objective_ == pytest.approx(best.value, rel=1e-6)


@every_machine
def test_free_variables_move_together(machine, loss):
    """A wide kernel and a large C: steps on single examples alone would take up to 300 per row."""
    X, y = blobs([110, 100, 90], 3, seed=4, spread=0.8)
    est = fit(machine, X, y, loss=loss, gamma=0.02, C=300.0, tol=1e-4)
    assert est.status_ == "solved" and est.duality_gap_ < 1e-5
    assert est.n_iter_ < 60 * len(y)
    assert_honest(est, X, y)
    for max_iter in (3400, 3500):  # they have just moved when the fit ends
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            early = fit(machine, X, y, loss=loss, gamma=0.02, C=300.0, tol=1e-4, max_iter=max_iter)
        assert_honest(early, X, y, optimum=0.5 * (est.primal_objective_ + est.dual_objective_))
        B, own = coefficients(early, len(y)), (y, np.arange(len(y)))
        most = {"crammer-singer": B[own], "adm": 3 * B[own], "kesler": -B}.get(machine, 0)  # sizes of dual variables
        assert loss != "hinge" or np.max(most) <= 300 * (1 + 1e-9)


# Limits


@every_intercept
@pytest.mark.parametrize("machine", TABLE)
def test_two_classes_are_the_binary_svc(machine, intercept):
    X, y = blobs([25, 18], 3, seed=2, spread=1.0)
    est = fit(machine, X, np.array(["no", "yes"])[y], C=1.5, intercept=intercept)
    f = est.decision_function(X)
    assert f.shape == (len(y),)
    K = rbf(X, X, 0.4) + (intercept == "regularized")
    np.testing.assert_allclose(f, binary_svc(K, 2 * y - 1, 1.5 * Joint(machine, K, y).binary_C, bias=False), atol=1e-5)
    np.testing.assert_array_equal(est.predict(X), np.where(f > 0, "yes", "no"))


def test_ovr_is_one_binary_svc_per_class():
    X, y, _ = small()
    est = fit("ovr", X, y, C=2.0, intercept="none")
    for c in range(5):
        f = binary_svc(rbf(X, X, 0.4), np.where(y == c, 1, -1), 2.0, bias=False)
        np.testing.assert_allclose(est.decision_function(X)[:, c], f, atol=1e-5)


def test_linear_crammer_singer_is_liblinears():
    X, y = DATA["iris"]()
    est = fit("crammer-singer", X, y, kernel="linear", C=0.7, tol=1e-8, intercept="none")
    other = LinearSVC(multi_class="crammer_singer", C=0.7, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(est.coef_, other.coef_, atol=1e-5)


FIVE_POINTS = np.array([(-1.0, -1), (1, -1), (0, 1), (0, 2), (0, 99)]), np.array([0, 1, 2, 2, 2])


@pytest.mark.parametrize("machine", TABLE)
def test_five_points(machine):
    """Linear, C 1/2, one row a hundred times longer than the others: the differences of the prototypes."""
    X, y = FIVE_POINTS
    est = fit(machine, X, y, kernel="linear", C=0.5, intercept="none")
    best = Joint(machine, linear(X, X), y, C=0.5).primal()
    F = est.decision_function(np.eye(2))
    W = np.linalg.lstsq(X, best.scores, rcond=None)[0]
    np.testing.assert_allclose(F - F[:, :1], W - W[:, :1], atol=1e-5)
    np.testing.assert_allclose(F, est.coef_.T, atol=1e-12)


# Symmetries


@every_machine
def test_formats_threads_and_order_change_nothing(machine, loss):
    X, y, Z = small()
    X = np.where(np.abs(X) < 0.4, 0, X)
    est = fit(machine, X, y, loss=loss)
    assert_same_scores(est, fit(machine, sp.csr_array(X), y, loss=loss), Z)
    assert_same_scores(est, fit(machine, X, y, loss=loss, n_jobs=2, memory="1MB"), Z)
    assert_same_scores(est, fit(machine, X[::-1], y[::-1], loss=loss), Z)
    assert_same_scores(fit(machine, X, (y + 2) % 5, loss=loss), est, Z, columns=(np.arange(5) + 2) % 5)
    K = fit(machine, rbf(X, X, 0.4), y, loss=loss, kernel="precomputed")
    np.testing.assert_allclose(K.decision_function(rbf(Z, X, 0.4)), est.decision_function(Z), atol=2e-6)


@every_machine
def test_weights_are_repetitions(machine, loss):
    X, y, Z = small()
    w = np.random.default_rng(0).integers(0, 4, size=len(y))
    w[np.unique(y, return_index=True)[1]] = 1
    assert_same_scores(
        fit(machine, X, y, w, loss=loss), fit(machine, np.repeat(X, w, axis=0), np.repeat(y, w), loss=loss), Z
    )


# Running


@pytest.fixture(scope="module")
def crowd():
    """Rows, labels and kernel values."""
    X, y = blobs(np.arange(120, 420, 60), 4, seed=3, spread=0.7)
    return X, y, rbf(X, X, 0.4)


@every_machine
def test_honest_at_loose_tolerance_and_warm_starts(crowd, machine, loss):
    """More rows than one working set holds, so rows leave the active set and come back."""
    X, y, K = crowd
    est = fit(machine, X, y, loss=loss, tol=1e-3, C=1.0, warm_start=True)
    assert est.status_ == "solved" and est.duality_gap_ < 1e-2
    assert_honest(est, X, y, K=K)
    optimum, cold = est.primal_objective_, est.n_iter_
    for tol in (0.3, 3e-2):
        loose = fit(machine, X, y, loss=loss, tol=tol, C=1.0)
        assert loose.status_ == "solved"
        assert_honest(loose, X, y, K=K)
        assert loose.dual_objective_ <= optimum
        assert loose.primal_objective_ >= est.dual_objective_
    est.fit(X, y)
    assert est.n_iter_ <= cold // 4
    assert est.primal_objective_ == pytest.approx(optimum, rel=1e-2)
    est.set_params(C=0.3).fit(X, y)
    other = fit(machine, X, y, loss=loss, tol=1e-3, C=0.3)
    assert est.primal_objective_ == pytest.approx(other.primal_objective_, rel=1e-2)
    assert_honest(est, X, y, K=K)


@pytest.mark.parametrize("limit, status", [(dict(max_iter=50), "max_iter"), (dict(time_limit=1e-9), "time_limit")])
@pytest.mark.parametrize("machine", ["kesler", "atm"])
def test_limits(crowd, machine, limit, status):
    X, y, K = crowd
    with pytest.warns(ConvergenceWarning, match=status):
        est = fit(machine, X, y, **limit)
    assert est.status_ == status
    assert_honest(est, X, y, K=K)


def test_large_problem_in_stages():
    """More rows than the first sample, in float32, with a cache that is too small."""
    X, y = blobs([1680] * 5, 4, seed=1, spread=0.5)
    est = fit("kesler", X, y, tol=1e-3)
    less = fit("kesler", X, y, tol=1e-3, memory="20MB")
    for model in (est, less):
        assert model.status_ == "solved" and model.duality_gap_ < 1e-2
        F = rbf_scores(model, X)
        slack = np.maximum(1 + F - F[np.arange(len(y)), y][:, None], 0)
        slack[np.arange(len(y)), y] = 0
        W2 = np.sum(model.dual_coef_.T * F[model.support_])
        assert model.primal_objective_ == pytest.approx(W2 / 2 + slack.sum(), rel=1e-4)


def rbf_scores(model, X):
    S = X[model.support_]
    out = [np.exp(-0.4 * cdist(x, S, "sqeuclidean")) @ model.dual_coef_.T for x in np.array_split(X, 30)]
    return np.vstack(out) + model.intercept_


def test_attributes():
    X, y, _ = small()
    est = fit("kesler", X, y, C=0.5)
    a = -np.where(np.eye(5, dtype=bool)[:, y], 0, coefficients(est, len(y)))
    assert a.min() >= 0 and a.max() <= 0.5
    assert est.n_support_.sum() == np.count_nonzero(a.max(axis=0) > 0.5e-6)
    np.testing.assert_allclose(est.intercept_, est.dual_coef_.sum(axis=1), atol=1e-12)
    with pytest.raises(ValueError, match='expected loss to be .* with machine="llw"'):
        fit("llw", X, y, loss="logistic")
    with pytest.raises(ValueError, match='expected nu=None with machine="kesler"'):
        fit("kesler", X, y, nu=0.5)


@pytest.mark.parametrize("machine", ["kesler", "ats"])
def test_what_rounds_to_its_bound_still_moves(machine):
    """A start within the float32 rounding error of the bounds, which are the solution where C is small."""
    X, y, _ = small()
    C, row = 1e-3, MACHINES[machine].margins
    order = np.argsort(y, kind="stable")
    core = _core.MarginSolver(
        as_data(X), Kernel("rbf", 0.4).record(X, X), order, y[order], 5, row.reference,
        0.0 if row.own_target is None else row.own_target(5), row.capped, "float32", 1e8, 1,
    )  # fmt: skip
    own = np.arange(5)[:, None] == y[order]
    at_bound = np.where(own, 0.0 if row.own_target is None else C, -C)
    out = core.solve(
        np.full(len(y), C), np.zeros(len(y)), (1 - 1e-9) * at_bound.ravel(), "auto", 1e-3, 10**6, np.inf, None
    )
    assert out["status"] == "solved" and out["violation"] <= 1e-3
    np.testing.assert_array_equal(out["alpha"].reshape(5, -1), at_bound)


@pytest.mark.parametrize("machine", ["crammer-singer", "adm", "atm"])
@pytest.mark.parametrize("C", [1e-8, 1e-13, 1e-20])
def test_a_cap_far_below_the_coefficients_that_the_margins_ask_for(machine, C):
    """No score comes near its margin, so every example is at its cap and the dual value is C for each of them."""
    X, y = blobs([20, 20, 20], 3, 0)
    est = fit(machine, X, y, C=C, tol=1e-6)
    assert est.status_ == "solved" and est.n_iter_ < 100 * len(y)
    np.testing.assert_allclose(est.dual_objective_, C * len(y), rtol=1e-5)


def test_a_new_machine_is_a_row_of_the_table():
    """Maximum-margin regression (Szedmak and Shawe-Taylor): simplex codes of unit length instead of e_y - 1/T.

    Its label kernel is T / (T - 1) times that of scatter, and so is its dual at (T - 1) / T of the C.
    """
    X, y, _ = small()
    T = 5
    mmr = Machine(label_kernel=lambda T: (1.0, -1 / (T - 1)))
    scatter = fit("scatter", X, y, C=2.0)
    e = Examples(X, np.arange(len(y)), y, T, np.ones(len(y)), Kernel("rbf", 0.4).record())
    out = solve(Formulation(mmr, C=2.0 * (T - 1) / T), e, Limits(tol=1e-9, max_iter=10**7))
    assert out.status == "solved" and out.duality_gap < 1e-8
    alpha = np.zeros(len(y))
    alpha[scatter.support_[scatter.dual_coef_.indices]] = scatter.dual_coef_.data
    np.testing.assert_allclose(out.alpha * T / (T - 1), alpha, atol=1e-6)
