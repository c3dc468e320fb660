"""What a fit claims where double precision, or the kernel, leaves nothing to claim."""

import warnings
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from margin_oracles import Joint
from oracles import laplacian
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from polymargin import CoreVectorSVC, EnclosingBall, JointSVC, OneVsRestSVC, PairwiseSVC
from polymargin.training import certificates
from polymargin.training.expansions import weights
from polymargin.training.runs import Values, in_precision


def fit(est, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return est.fit(X, y)


@pytest.mark.parametrize(
    "form",
    [
        dict(loss="hinge", intercept="none"),
        dict(loss="squared_hinge", intercept="none"),
        dict(loss="squared_hinge", intercept="none", nu=0.5),
        dict(loss="hinge", intercept="exact"),
    ],
)
def test_two_equal_rows_far_away(form):
    """All scores are equal. Both rows lack the whole margin at w = 0, which is the optimum: P = D = 2, 1 or -1/2."""
    best = 2.0 if form["loss"] == "hinge" else -0.5 if "nu" in form else 1.0
    est = fit(JointSVC("scatter", kernel="linear", **form), np.full((2, 3), 1e9), [0, 1])
    if est.status_ == "solved":
        assert est.primal_objective_ == pytest.approx(best)
        assert est.dual_objective_ == pytest.approx(best)
    else:  # kernel values of 3e18 are known up to 400
        assert est.duality_gap_ == np.inf
        assert est.kkt_violation_ > est.tol


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("reduction", [PairwiseSVC, OneVsRestSVC])
@pytest.mark.parametrize("distance", [1e4, 1e6, 1e8])
def test_reductions_do_not_notice_where_the_origin_is(reduction, loss, distance, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = np.round(1024 * (rng.normal(size=(60, 4)) + np.eye(3, 4)[y])) / 1024  # moving them is exact
    near = reduction(kernel="linear", loss=loss).fit(X, y)
    away = reduction(kernel="linear", loss=loss).fit(X + distance, y)
    assert away.status_ == "solved"
    # Both are within their gaps of the optimum, and |w - w*|^2 / 2 is at most the gap; the bias is free.
    gaps = [max(m.primal_objective_ - m.dual_objective_, 0) for m in (near, away)]
    assert away.primal_objective_ == pytest.approx(near.primal_objective_, rel=1e-6, abs=sum(gaps))
    assert away.dual_objective_ == pytest.approx(near.dual_objective_, rel=1e-6, abs=sum(gaps))
    error = np.sqrt(2 * np.array(gaps)).sum() * np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    # A score is <w, x> + bias in float64, four products of about |w| times the distance.
    atol = 2e-6 + 64 * np.finfo(float).eps * distance * np.abs(near.coef_).sum(axis=1).max()
    there, here = away._raw_scores(X + distance), near._raw_scores(X)
    np.testing.assert_allclose(there - there.mean(axis=0), here - here.mean(axis=0), atol=10 * atol + 2 * error)


def test_values_without_digits_are_not_solved():
    """Kernel values of 1e25: a score of 1 is their rounding error."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 1)), 3) + 16384.0
    est = fit(PairwiseSVC(kernel="poly", degree=6, gamma=1.0), X, np.arange(40) % 2)
    assert est.status_ != "solved"
    assert est.duality_gap_ == np.inf


@pytest.mark.parametrize("estimator", [JointSVC, PairwiseSVC, CoreVectorSVC, EnclosingBall])
@pytest.mark.parametrize("kernel", [dict(coef0=1e200), dict(gamma=1e200), dict(degree=400, coef0=1e5)])
def test_kernel_values_that_overflow_are_refused(estimator, kernel, rng):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="expected finite kernel values, got .* lower gamma, degree or coef0"):
        estimator(kernel="poly", **kernel).fit(X, y)


@pytest.mark.parametrize("estimator", [JointSVC("ovr", intercept="none"), OneVsRestSVC()])
def test_squared_hinge_without_a_minimum_is_refused_or_finite(estimator):
    """The dual of the squared hinge, sum a + (1 - 1/C) sum a^2 / 2, grows without end."""
    K = -np.eye(8)
    est = estimator.set_params(kernel="precomputed", loss="squared_hinge", C=1e6, max_iter=20_000)
    try:
        fit(est, K, np.arange(8) % 2)
    except ValueError as error:
        assert "no minimum" in str(error)
    else:
        assert np.all(np.isfinite(est.decision_function(K)))
        assert est.duality_gap_ == np.inf


@pytest.mark.parametrize(("square", "match"), [(-1.0, "has no minimum"), (0.5, None)])
def test_exact_intercepts_of_the_squared_hinge_and_the_sign_of_a_square(square, match):
    """a'(Q + 1/C)a of every point has the sign of the kernel; where it is negative the dual has no bound."""
    K, y = square * np.eye(8), np.arange(8) % 2
    est = JointSVC("scatter", intercept="exact", loss="squared_hinge", kernel="precomputed", C=1e6)
    if match:
        with pytest.raises(ValueError, match=match):
            est.fit(K, y)
    else:  # alpha = 1 / (square / 2 + 1 / C) for each row
        assert est.fit(K, y).dual_objective_ == pytest.approx(8 / 2 / (square / 2 + 1e-6), rel=1e-9)


@pytest.mark.parametrize("solver", ["mdm", "ksk"])
def test_min_norm_solvers_stay_feasible_with_indefinite_kernels(solver):
    K = -np.eye(10)
    est = fit(
        JointSVC("kesler", loss="squared_hinge", solver=solver, kernel="precomputed", C=1e3), K, np.arange(10) % 2
    )
    B = np.zeros((2, 10))
    B[:, est.support_] = est.dual_coef_
    assert np.all(B[1 - np.arange(10) % 2, np.arange(10)] <= 0)
    assert np.all(np.isfinite(B))
    assert est.status_ != "solved" or est.duality_gap_ == np.inf


def test_core_sets_state_the_primal_without_what_float32_may_hide(seed):
    """The allowance for rounded values decides when growth ends. At tol = 0.01 it is 1e-4 of this value."""
    rng = np.random.default_rng(seed)
    y = np.arange(90) % 7
    X = np.eye(7, 12)[y] + rng.normal(size=(90, 12))
    est = fit(CoreVectorSVC(C=8.0, gamma=0.2, epsilon=6e-4, random_state=0), X, y)
    K = np.exp(-0.2 * cdist(X, X, "sqeuclidean"))
    a = np.zeros(90)
    a[est.support_] = est.dual_coef_.toarray().sum(axis=0)
    s = (np.where(y[:, None] == y, 1.0, -1 / 6) * K) @ a
    primal = a @ s - 2 * est.rho_ + 8.0 * np.sum(np.maximum(est.rho_ - s, 0) ** 2)
    assert est.primal_objective_ == pytest.approx(primal, rel=2e-6)  # twice what a last pass may leave


@pytest.mark.parametrize("machine", ["llw", "adm", "ats", "atm"])
def test_stopped_fits_far_away_state_the_values_of_their_weights(machine, seed):
    """Weights of rows at 1e6 are what is left of coefficients that cancel, summed in extended precision."""
    rng = np.random.default_rng(seed)
    C, y = 1000.0, np.arange(60) % 3
    X = 1e6 + rng.normal(size=(3, 4))[y] + rng.normal(size=(60, 4))
    est = fit(JointSVC(machine, kernel="linear", intercept="none", C=C, max_iter=20_000), X, y)
    W = est.coef_.astype(np.longdouble)
    F = X.astype(np.longdouble) @ W.T
    own = y[:, None] == np.arange(3)
    slack = np.maximum(np.where(own, 1 - F if machine in ("ats", "atm") else 0, 1 + F), 0)
    primal = (W**2).sum() / 2 + C * (slack.sum() if machine in ("llw", "ats") else slack.max(axis=1).sum())
    weights = np.finfo(np.longdouble).eps * (abs(est.dual_coef_) @ abs(est.support_vectors_ - 1e6)).max() * len(y)
    rounding = 8 * np.finfo(float).eps * abs(est.coef_).max() + 2 * float(weights)
    assert est.primal_objective_ == pytest.approx(float(primal), abs=C * slack.size * 4 * 1e6 * rounding)


def test_core_sets_that_stop_early_report_their_own_primal(seed):
    """The ball test ends the growth while some rows are far outside: the best rho is then far from the core set's."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 4
    X = 3 * np.eye(4, 6)[y] + rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.3)
    est = fit(CoreVectorSVC(C=50.0, kernel="linear", epsilon=0.2, random_state=0, tol=1e-6), X, y)
    M = np.where(y[:, None] == y, 1.0, -1 / 3)
    a = np.zeros(60)
    a[est.support_] = est.dual_coef_.toarray().sum(axis=0)
    s = (M * (X @ X.T)) @ a
    primal = a @ s - 2 * est.rho_ + 50.0 * np.sum(np.maximum(est.rho_ - s, 0) ** 2)
    assert est.primal_objective_ == pytest.approx(primal, rel=1e-5)


def test_core_vectors_far_from_the_origin_claim_nothing():
    """Kernel values of 1e12 and objectives of 0.02: the digits that are left do not show whether a fit is solved."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(108, 22)), rng.integers(0, 2, 108)
    near = CoreVectorSVC(kernel="linear", tol=1e-3, time_limit=20).fit(X, y)
    assert near.status_ == "solved" and near.duality_gap_ <= near.tol
    with pytest.warns(ConvergenceWarning):
        far = CoreVectorSVC(kernel="linear", tol=1e-3, time_limit=20, intercept="regularized").fit(X + 2.6e5, y)
    assert far.status_ != "solved" and far.duality_gap_ == np.inf


@pytest.mark.parametrize("n", [30, 3000])
def test_rounding_of_core_vector_scores_is_within_what_is_said(n, rng):
    """However many rows share the coefficients, and far from the origin, where values have few digits left."""
    X, alpha = 1e4 + rng.normal(size=(n, 3)), rng.uniform(size=n)
    alpha /= alpha.sum()
    exact = X.astype(np.longdouble) @ X.T.astype(np.longdouble)
    rounding = np.abs((X @ X.T - exact) @ alpha.astype(np.longdouble)).max()
    assert rounding <= certificates.core_error(X, {"kind": "linear"}, alpha, size=0.0)


@pytest.mark.parametrize("slope, hidden", [(0.0, False), (1e5, False), (1e9, True)])
def test_squared_slacks_of_core_vectors_multiply_rounding(slope, hidden):
    """An error e of a score is e itself beside the value, and slope e^2 / 2 where it is squared."""
    X, alpha = np.full((2, 1), 1e4), np.array([0.5, 0.5])  # k = 1e8, e about 1e-7
    assert (certificates.core_error(X, {"kind": "linear"}, alpha, size=1.0, slope=slope) > 0) == hidden


def test_gaps_are_relative_at_every_scale():
    gap = certificates.relative_gap
    for scale in (2.0**-900, 2.0**-10, 1.0, 8.0, 2.0**900):  # exact in binary
        assert gap(scale, 0.75 * scale) == gap(-0.75 * scale, -scale) == 0.25
        assert gap(scale, -scale) == 2.0 and gap(scale, scale) == 0.0
        assert gap(scale, np.inf) == gap(np.nan, scale) == np.inf
        assert gap(0.5 * scale, scale) == 0.0  # no dual value is above a primal one, except for rounding
    assert gap(0.0, 0.0) == 0.0


@pytest.mark.parametrize("machine, slacks", [("crammer-singer", 1), ("kesler", 4), ("llw", 4), ("adm", 1)])
def test_a_row_loses_by_every_slack_it_has(machine, slacks, rng, monkeypatch):
    """A score that is wrong by e changes the losses of a row by up to C e for each of its slacks, one or T of them."""
    seen = []
    monkeypatch.setattr(certificates, "hiding_error", lambda e, claim: seen.append(claim) or 0.0)
    JointSVC(machine, kernel="linear", C=3.0).fit(rng.normal(size=(40, 2)), np.arange(40) % 4)
    np.testing.assert_allclose(seen[-1].slopes, 3.0 * slacks)


def test_the_machine_of_some_rows_proves_nothing(seed):
    """A fit stopped at the smaller problem it begins with has variables beyond the bounds: these prove nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 3000)
    X = rng.normal(size=(4, 20))[y] + rng.normal(size=(3000, 20)) + 1e6
    model = JointSVC("llw", kernel="linear", intercept="none", max_iter=6000, time_limit=20.0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    B = model.dual_coef_
    largest = (B[y[model.support_], np.arange(B.shape[1])] - B).max()
    assert largest > 1.5 * model.C and model.dual_objective_ == -np.inf and model.duality_gap_ == np.inf


@pytest.mark.parametrize(("machine", "C"), [("crammer-singer", 6e3), ("kesler", 5e4), ("atm", 6e3)])
def test_small_problems_have_small_gaps(seed, machine, C):
    """Slacks of a thousandth, which the tolerance allows, are most of the primal value here."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 7, 90)
    X = 0.5 * rng.normal(size=(7, 10))[y] + rng.normal(size=(90, 10))
    model = JointSVC(machine, C=C, gamma=1.0).fit(X, y)
    assert model.status_ == "solved"
    assert model.duality_gap_ <= 0.01


@pytest.mark.parametrize("machine", ["scatter", "crammer-singer", "kesler", "ats"])
def test_a_large_c_times_the_rounding_of_scores_is_no_part_of_the_primal(machine, rng):
    """No variable is at C: the slacks are rounding of float32 values, which C makes percents of the value."""
    X, y, C = rng.normal(size=(2100, 4)), rng.integers(0, 3, 2100), 6e4
    est = JointSVC(machine, C=C, kernel="laplacian", gamma=0.4, intercept="none", tol=0.01).fit(X, y)
    assert est.status_ == "solved"
    K, B = laplacian(X, X, 0.4), np.zeros((3, len(y)))
    B[:, est.support_] = est.dual_coef_.toarray() if machine == "scatter" else est.dual_coef_
    if machine == "scatter":
        B -= B.mean(axis=0)
        F = K @ B.T
        value = (B.T * F).sum() / 2 + C * np.maximum(1 - F[np.arange(len(y)), y], 0).sum()
    else:
        value = Joint(machine, K, y, C=C).value(B)
    assert est.primal_objective_ == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("status, kept", [("solved", 1), ("stalled", 1), ("time_limit", 0)])
def test_float64_values_without_time_leave_what_float32_values_found(status, kept):
    found = [dict(status="solved", dual=2.0, alpha=0), dict(status=status, dual=1.0, alpha=1)]
    left = iter(found)
    out = in_precision(lambda dtype, begin: next(left), Values("float32", 1.0), 0, lambda out: 0, lambda out: 1.1)
    assert out == found[kept] | {"status": status}


def test_no_margin_is_seen_through_the_rounding_of_given_values(rng):
    """A float32 Gram matrix of rank 4: its rounding is a landscape of its own, where steps would not end."""
    Z, y = rng.normal(size=(80, 4)).astype(np.float32), rng.integers(0, 2, 80)
    est = fit(JointSVC("scatter", nu=0.5, intercept="exact", kernel="precomputed", max_iter=100_000), Z @ Z.T, y)
    assert est.status_ == "no_margin"


def test_weights_of_coefficients_that_cancel(rng):
    """At large C they may be as small as the rounding of their terms in float64."""
    X = 1e4 * rng.normal(size=(30, 5))
    B = 1e4 * rng.normal(size=(3, 30))
    B -= B @ X @ np.linalg.solve(X.T @ X, X.T)
    exact = [[float(sum(map(mul, map(Fraction, row), map(Fraction, column)))) for column in X.T] for row in B]
    rounding = np.finfo(np.longdouble).eps * float((abs(B) @ abs(X)).max())
    np.testing.assert_allclose(weights(X, B), exact, rtol=0, atol=len(X) * rounding)
