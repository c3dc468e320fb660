"""What is claimed of a fit, and what a solver is asked for, in numbers small enough to know them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from polymargin import kernels
from polymargin.fitting.examples import COPIED_ROWS, Examples
from polymargin.fitting.limits import Limits
from polymargin.machines import MACHINES
from polymargin.training import certificates, runs
from polymargin.training.class_sums import Qp

EPS = 8 * 2.0**-52
LITTLE = 1e-6  # of a bound, to both of its sides


def about(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def linear_examples(X, y=None):
    n = X.shape[0]
    y = np.arange(n) % 2 if y is None else y
    return Examples(X, np.arange(n), y, 2, np.ones(n), kernels.Kernel("linear").record())


# --- certificates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [1 - LITTLE, 1 + LITTLE])
def test_squared_losses_hide_what_may_change_them_by_a_thousandth(part, rng):
    """sum s ((xi + e)^2 - xi^2) / 2 is largest, for errors of one norm, where e = t xi: then it is (2t + t^2) P."""
    s, xi = rng.uniform(1, 3, 7), rng.uniform(1, 2, 7)
    P = float(s @ xi**2 / 2)
    t = (np.sqrt(1 + 4 * part * 5e-4) - 1) / 2  # 2t + 2t^2, which is what is said, is this part of a thousandth
    claim = certificates.Claim(None, s, squared=True, size=P)
    assert claim.is_hidden(t * xi, s) == (part > 1)
    change = float(s @ ((xi + t * xi) ** 2 - xi**2) / 2)
    assert change <= 1e-3 * P * part and change >= 0.999 * 1e-3 * P * part


@pytest.mark.parametrize("part", [1 - LITTLE, 1 + LITTLE])
def test_losses_hide_what_may_change_them_by_a_thousandth(part, rng):
    s, e = rng.uniform(1, 3, 7), rng.uniform(1, 2, 7)
    claim = certificates.Claim(None, s, squared=False, size=float(s @ e) / 1e-3 / part)
    assert claim.is_hidden(e, s) == (part > 1)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("part", [1 - LITTLE, 1 + LITTLE])
def test_the_rounding_of_a_margin_of_one_hides_nothing(part, squared):
    """1 - f has an error of eps however small f is."""
    s = np.array([2.0, 5.0, 1.0])
    claim = certificates.Claim(None, s, squared, size=0.0)
    assert claim.is_hidden(np.full(3, part * EPS), s) == (part > 1)


@pytest.mark.parametrize("sparse", [False, True])
def test_errors_of_scores_are_those_of_the_longest_coefficients(sparse):
    """eps sqrt(k_ii sum_j k_jj b_j^2), of the row with the largest k_ii and the column with the largest sum."""
    e = linear_examples(np.array([[2.0, 0.0], [0.0, 3.0], [6.0, 0.0]]))  # k = 4, 9, 36
    B = np.array([[1.0, 0.0, 0.5], [-1.0, 2.0, 0.0]])  # sums of 4 + 9 and 4 + 36
    claim = certificates.Claim(sp.csr_array(B) if sparse else B, np.ones(3), False, size=1e-300)
    assert certificates.hiding_error(e, claim) == about(EPS * np.sqrt(36 * 40))
    assert certificates.hiding_error(e, certificates.Claim(B, np.ones(3), False, size=1.0)) == 0.0
    few = Examples(e.X[:0], np.arange(0), np.arange(0), 2, np.ones(0), e.kernel)
    assert certificates.hiding_error(few, certificates.Claim(B[:, :0], np.ones(0), False, 0.0)) == 0.0
    bounded = Examples(e.X, e.rows, e.y, 2, e.weight, kernels.Kernel("rbf", 1.0).record())
    assert certificates.hiding_error(bounded, claim) == 0.0  # values of at most 1 have errors of eps


def test_rows_without_a_coefficient_have_no_loss():
    e = linear_examples(np.array([[20.0], [1e3], [1e6]]))
    B = np.array([[0.5, 0.0, 0.0]])  # errors of eps times 200, 1e4 and 1e7
    for size, hidden in ((EPS * 2.2e5, False), (EPS * 1.8e5, True)):
        assert (certificates.hiding_error(e, certificates.Claim(B, np.ones(3), False, size)) > 0) == hidden


@pytest.mark.parametrize("n", [3, COPIED_ROWS + 1])
def test_scores_of_weights_have_the_errors_of_their_own_products(n):
    """Coefficients of 1e8 that cancel to weights of 1e-3: the rows, whose last one is the longest, have errors of
    eps |x| |w| if scores are <w, x>."""
    X = np.full((n, 2), 0.5)
    X[-1] = 3.0, -1.0
    e = linear_examples(X)
    B = np.full((1, n), 1e8)
    W = np.array([[-2e-3, 1e-3], [1e-3, 1e-3], [0.0, 0.0]])  # the largest of each column, 2e-3 and 1e-3, count
    error = EPS * (3 * 2e-3 + 1e-3)
    total = EPS * (0.5 * 3e-3 * (n - 1)) + error
    for part, W_of in itertools.product((0.9, 1.1), (None, W)):
        # the rounding of 1 - f, which hides nothing, is as large for rows with slopes of 1
        claim = certificates.Claim(B, np.full(n, 1.0), False, total / 1e-3 / part, W_of)
        found = certificates.hiding_error(e, claim)
        if W_of is None:
            assert found > 1e3 * error
        else:
            assert found == 0.0
    heavy = certificates.Claim(1e8 * B, np.r_[np.zeros(n - 1), 1.0], False, 0.0, 1e6 * W)
    assert certificates.hiding_error(e, heavy) == about(1e6 * error)


def test_coefficients_may_be_small():
    e = linear_examples(np.array([[1e3], [2e3]]))
    claim = certificates.Claim(np.array([[1e-5, 0.0]]), np.ones(2), False, size=0.0)  # 2e3 (1e3 1e-5) = 20
    assert certificates.hiding_error(e, claim) == about(EPS * 20)


def test_what_is_claimed_of_a_joint_machine(monkeypatch):
    seen = []
    monkeypatch.setattr(certificates, "hiding_error", lambda e, claim: seen.append(claim) or 0.25)

    def claim(machine, B=None, **facts):
        fit = dict(machine=machine, classes_=range(4), loss="hinge", nu=None, primal_objective_=3.0, rho_=2.0)
        fit |= dict(dual_objective_=-5.0, status_="solved", duality_gap_=0.01, _coef="weights") | facts
        solution = SimpleNamespace(alpha=np.array([1.0, 2.0]), B=B)
        assert certificates.joint_error(SimpleNamespace(**fit), None, solution, np.array([3.0])) == 0.25
        return seen[-1]

    assert claim("scatter").B.tolist() == [[1.0, 2.0]] and claim("kesler", B="B").B == "B"
    assert claim("scatter").slopes == claim("scatter", loss="squared_hinge").slopes == [3.0]
    assert claim("crammer-singer").slopes == [3.0] and claim("kesler").slopes == [12.0]  # T slacks
    for machine in ("kesler", "ovr"):  # C xi^2, and C xi^2 / 2
        square = MACHINES[machine].margins.square
        assert claim(machine, loss="squared_hinge").slopes == [12.0 * 2 * square]
    assert claim("kesler", loss="squared_hinge").squared and not claim("kesler").squared
    assert [claim("scatter", primal_objective_=p).size for p in (3.0, 6.0, -7.0)] == [5.0, 6.0, 7.0]
    assert claim("scatter", primal_objective_=0.1, dual_objective_=0.2).size == 0.2
    assert claim("scatter", nu=0.1).size == 8.0  # T rho
    for status, gap, W in (("solved", 0.01, "weights"), ("solved", 0.02, None), ("stalled", 0.02, "weights")):
        assert claim("kesler", status_=status, duality_gap_=gap).W == W


def test_what_a_fit_claims_where_rounding_hides_the_truth():
    for status, later in (("solved", "stalled"), ("time_limit", "time_limit")):
        fit = SimpleNamespace(status_=status, duality_gap_=0.1, kkt_violation_=1e-3)
        certificates.claim_less(fit, 0.0)
        assert (fit.status_, fit.duality_gap_, fit.kkt_violation_) == (status, 0.1, 1e-3)
        certificates.claim_less(fit, 0.5)
        assert (fit.status_, fit.duality_gap_, fit.kkt_violation_) == (later, np.inf, 0.5)


def test_rounding_of_core_vectors_beside_their_value():
    X, alpha = np.array([[3.0], [4.0]]), np.array([0.6, 0.4])
    record = kernels.Kernel("linear").record()
    error = EPS * np.sqrt(16 * (9 * 0.36 + 16 * 0.16))
    for part in (1 - LITTLE, 1 + LITTLE):
        found = certificates.core_error(X, record, alpha, error / 1e-3 / part)
        assert found == (about(error) if part > 1 else 0.0)
    assert certificates.core_error(X, kernels.Kernel("rbf", 1.0).record(), alpha, 0.0) == 0.0
    assert certificates.core_error(X[:0], record, alpha[:0], 0.0) == 0.0


# --- runs -------------------------------------------------------------------------------------------------------------


def test_float64_values_where_they_are_cheap_or_needed(rng):
    X = rng.normal(size=(40, 20))
    e = Examples(X, np.arange(40), np.arange(40) % 2, 2, np.ones(40), kernels.Kernel("rbf", 0.01).record())
    one = np.ones(40)
    assert runs.value_type(e, one, 1e-3).dtype == "float64"  # 40 rows are few
    assert runs.value_type(e, one, 1e-3, few=40).dtype == "float64"
    values = runs.value_type(e, one, 1e-3, few=39)
    errors = kernels.float32_errors(X, e.rows, e.kernel)
    assert values.dtype == "float32" and values.error == about(errors.max() / 1e-3)
    np.testing.assert_allclose(values.share, errors / errors.max())
    assert runs.value_type(e, one, 0.99e-5, few=39).dtype == "float64"
    assert runs.value_type(e, one, 1e-5, few=39).dtype == "float32"
    assert runs.value_type(e, 1e-3 / errors * (1 + LITTLE), 1e-3, few=39).dtype == "float64"
    assert runs.value_type(e, 1e-3 / errors * (1 - LITTLE), 1e-3, few=39).dtype == "float32"
    heavy = np.where(one.cumsum() == 1, 1e9, one)  # one row of 200 may have larger errors, one of 40 may not
    assert runs.value_type(e, heavy, 1e-3, few=39).dtype == "float64"
    many = Examples(X, np.arange(200) % 40, np.arange(200) % 2, 2, np.ones(200), e.kernel)
    assert runs.value_type(many, np.r_[1e9, np.ones(199)], 1e-3, few=39).dtype == "float32"


def test_losses_of_large_factors_are_scrutinized():
    """An error of tol of every score is slopes tol, or sqrt(2 slopes / P) tol of a squared one, relative to P; more
    than a thousandth is too much."""
    assert runs.scrutiny(50.0, 2.0, 1e-2, squared=False) == about(50 / 2 * 1e-2 / 1e-3)
    assert runs.scrutiny(50.0, 2.0, 1e-2, squared=True) == about(np.sqrt(2 * 50 / 2) * 1e-2 / 1e-3)
    assert runs.scrutiny(0.5, 2.0, 1e-3, squared=False) == 1.0
    assert runs.scrutiny(0.5, 0.1, 1e-3, squared=False) == about(5.0)
    assert runs.scrutiny(0.0, 0.0, 1e-3, squared=False) == 1.0
    np.testing.assert_allclose(runs.scrutiny(np.array([4.0, 0.1]), np.array([2.0, 1.0]), 1e-3, False), [2.0, 1.0])


def test_the_better_of_two_solutions():
    first = {"status": "solved", "dual": 2.0, "alpha": 1}
    for status in ("solved", "stalled"):
        assert runs.better(first, later := {"status": status, "dual": 1.0}) is later
    assert runs.better(first, later := {"status": "time_limit", "dual": 2.0}) is later
    assert runs.better(first, {"status": "time_limit", "dual": 1.9}) == first | {"status": "time_limit"}


@pytest.mark.parametrize(
    "dtype, status, norm, tried",
    [
        ("float64", "stalled", 9.0, ["float64"]),
        ("float32", "solved", 0.49, ["float32"]),
        ("float32", "solved", 0.51, ["float32", "float64"]),
        ("float32", "stalled", 0.0, ["float32", "float64"]),
        ("float32", "max_iter", 9.0, ["float32"]),
    ],
)
def test_float64_values_go_on_where_float32_ones_do_not_serve(dtype, status, norm, tried):
    """An error of 2 units of the tolerance, times the norm, may be up to one unit."""
    seen = []

    def attempt(dtype, begin):
        seen.append((dtype, begin))
        return {"status": status, "dual": 1.0, "alpha": "end"}

    runs.in_precision(attempt, runs.Values(dtype, 2.0), "begin", lambda out: out["alpha"], lambda out: norm)
    assert seen == list(zip(tried, ["begin", "end"], strict=False))


class Core:
    """A compiled solver that returns what it is told to, one after the other, and remembers what it was asked."""

    evaluations = 7

    def __init__(self, *outs):
        self.outs, self.asked = list(outs), []

    def solve(self, **problem):
        self.asked.append(problem)
        out = dict(status="solved", n_iter=10, signalled=False, alpha=len(self.asked), multiplier=[2.0], gradient=0.0,
                   primal=1.0, dual=1.0, violation=0.0)  # fmt: skip
        return out | self.outs.pop(0)


def program(upper=1.0, **fields):
    return Qp(np.ones(2), np.full(2, upper), np.zeros(2), np.array([0, 1, 2]), entropy=False, **fields)


def test_a_run_is_within_what_is_left_of_its_limits():
    core = Core({}, {"status": "max_iter", "signalled": True}, {"status": "time_limit"}, {})
    run = runs.Run(Limits(1e-3, max_iter=25), core=core)
    seen = [run.call()["status"] for _ in range(4)]
    assert seen == ["solved", "max_iter", "max_iter", "solved"]  # why it ended is why it ended first
    assert [asked["max_iter"] for asked in core.asked] == [25, 15, 5, 0]
    assert [asked["time_limit"] for asked in core.asked] == [np.inf, np.inf, 0.0, 0.0]
    assert run.n_iter == 40 and run.signalled and run.evaluations == 7
    run.use(lambda: Core())
    assert run.evaluations == 14 and runs.Run(Limits(1e-3, 1)).evaluations == 0


def test_progress_counts_the_steps_of_all_solvers():
    events = []
    run = runs.Run(Limits(1e-3, 99, progress=lambda event: events.append(event) or len(events) > 1), n_iter=30)
    report = run._report()
    assert [report(5, 0.1, 0.2, 0.3), report(6, 0.1, 0.2, 0.3)] == [False, True]
    assert events[0] == {"n_iter": 35, "violation": 0.1, "dual": 0.2, "seconds": 0.3}
    assert runs.Run(Limits(1e-3, 99))._report() is None


def test_the_error_of_a_score_anywhere_in_the_feasible_set():
    run = runs.Run(Limits(1e-3, 1), largest=5.0)
    assert run.error(program(3.0)) == about(EPS * 5 * np.sqrt(18))
    assert run.error(program(3.0, lower=np.array([-4.0, 0.0]))) == about(EPS * 5 * 5)
    assert run.error(program(3.0, sums=np.array([0.5, 1.0]))) == about(EPS * 5 * np.sqrt(2))
    squared = program(np.inf)
    squared.ridge[:] = 0.25
    assert run.error(squared) == about(EPS * 5 * np.sqrt(32))
    assert runs.Run(Limits(1e-3, 1)).error(program(3.0)) == 0.0


def test_the_unit_of_the_tolerance():
    run = runs.Run(Limits(1e-3, 1), relative=True, largest=1e7)
    assert run.unit({"multiplier": [20.0, 40.0]}) == 30.0
    assert run.unit({"multiplier": [-1.0]}) == about(10.0)  # 1e-6 of the largest
    assert runs.Run(Limits(1e-3, 1), largest=1e7).unit({"multiplier": [20.0]}) == 1.0


@pytest.mark.parametrize(
    "violations, status, calls",
    [([0.0], "solved", 2), ([1.0, 0.0], "solved", 4), ([1.0, 1.0], "stalled", 5)],
)
def test_solved_is_said_if_a_recomputed_gradient_says_so(violations, status, calls):
    """Rounding of 1e10 eps is much more than the tolerance; two solutions are looked at."""
    outs = [out for v in violations for out in ({}, {"violation": v})] + [{}]
    core = Core(*outs)
    run = runs.Run(Limits(1e-9, 99), largest=1e10, core=core)
    assert run.solve(program(), np.zeros(2))["status"] == status
    assert len(core.asked) == calls
    assert [asked["max_iter"] == 0 for asked in core.asked] == [k % 2 == 1 for k in range(calls)]
    assert all("gap" not in asked and asked["tol"] == 1e-9 for asked in core.asked)
    assert all(asked["alpha"] == k for k, asked in list(enumerate(core.asked))[1::2])


def test_a_run_without_rounding_is_not_looked_at_again():
    core = Core({})
    runs.Run(Limits(1e-9, 99), core=core).solve(program(), np.zeros(2), tol=1e-4, gap=0.1)
    assert len(core.asked) == 1 and core.asked[0]["tol"] == 1e-4 and core.asked[0]["gap"] == 0.1
    stopped = Core({"status": "max_iter"})
    run = runs.Run(Limits(1e-9, 99), largest=1e10, core=stopped)
    assert run.solve(program(), np.zeros(2))["status"] == "max_iter" and len(stopped.asked) == 1
    exact = Core({}, {"violation": 2e-9})  # relative to the margin, which is 2
    run = runs.Run(Limits(1e-9, 99, deadline=0.0), relative=True, largest=2e6, core=exact)  # an error of 5e-9
    assert run.solve(program(), np.zeros(2))["status"] == "solved" and len(exact.asked) == 2
    assert [asked["time_limit"] for asked in exact.asked] == [0.0, 1.0]  # a second for what is claimed
    small = Core({})
    run = runs.Run(Limits(1e-9, 99), relative=True, largest=0.5e6, core=small)  # an error of 1.3e-9 beside 2e-9
    assert run.solve(program(), np.zeros(2))["status"] == "solved" and len(small.asked) == 1
