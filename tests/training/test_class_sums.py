"""The C form with an exact intercept and the nu form, with a solver that knows the optimum: the kernel is diagonal."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from polymargin.training import class_sums
from polymargin.training.class_sums import Qp

TOL = 1e-6


class Diagonal:
    """Solves min 1/2 a'(H + R)a - g'a, or with entropy, for given sums: each row by the multiplier of its group."""

    relative, least_margin, largest = False, 0.0, 1.0

    def __init__(self, h, status="solved", violation=0.0, tol=TOL):
        self.h, self.status, self.violation = h, status, violation
        self.limits, self.asked = SimpleNamespace(tol=tol), []

    def rows(self, q, r, here):
        g, u, h = q.linear[here], q.upper[here], self.h[here]
        if not q.entropy:
            return np.clip((g + r) / (h + q.ridge[here]), 0, u)
        low, high = np.zeros_like(u), u.copy()
        for _ in range(60):  # h a - g + logit(a / u) = r
            a = 0.5 * (low + high)
            below = a < u * expit(r + g - h * a)
            low, high = np.where(below, a, low), np.where(below, high, a)
        return a

    def multiplier(self, q, here, total):
        """The least one: a full group has many, and so has one without a free row."""
        if q.entropy:
            return brentq(lambda t: self.rows(q, t, here).sum() - total, -1e3, 1e3, xtol=1e-15)
        low, high = -1e3, 1e3
        total = min(total, self.rows(q, high, here).sum())
        while low < (t := 0.5 * (low + high)) < high:
            low, high = (low, t) if self.rows(q, t, here).sum() >= total else (t, high)
        return high

    def solve(self, q, begin, tol=None, gap=None):
        self.asked.append((q.sum, tol))
        assert np.all((begin >= 0) & (begin <= q.upper))
        alpha, r = np.zeros_like(q.upper), []
        for k, (i, j) in enumerate(zip(q.groups[:-1], q.groups[1:], strict=True)):
            here, t = slice(i, j), 0.0
            if q.sum != "none":
                np.testing.assert_allclose(begin[here].sum(), q.sums[k], rtol=1e-9)
                t = self.multiplier(q, here, begin[here].sum())  # as pair steps do, which keep the sum to the bit
            r.append(t)
            alpha[here] = self.rows(q, t, here)
        gradient = (self.h + q.ridge) * alpha - q.linear
        out = {"alpha": alpha, "gradient": gradient, "multiplier": np.array(r if q.sum != "none" else [])}
        return out | {"status": self.status, "violation": self.violation}


def solved_by_hand(run, q, T, shares):
    """lam with sum_c pi_c r_c = 0, and the multipliers there."""
    segments = q.segments.tolist()

    def at(lam):
        groups = zip(segments, segments[1:], strict=False)
        return np.array([run.multiplier(q, slice(i, j), lam * T * p) for (i, j), p in zip(groups, shares, strict=True)])

    room = np.add.reduceat(q.upper, q.segments[:-1])
    lam = brentq(lambda lam: shares @ at(lam), 1e-9, (room / (T * shares)).min() * (1 - 1e-9), xtol=1e-15)
    return lam, at(lam)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("shares", [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.2, 0.3]])
def test_class_sums_are_where_the_multipliers_have_the_mean_zero(entropy, shares, many, rng):
    sizes, shares = np.array([4, 3, 5]) * (22 if many else 1), np.array(shares)
    n, segments = sizes.sum(), np.cumsum([0, *sizes])
    u = rng.uniform(2, 3, n) * (1 if many else 3)
    run = Diagonal(rng.uniform(1, 2, n))
    q = Qp(rng.uniform(0.5, 1.5, n), u, np.zeros(n), segments, entropy)
    lam, r = solved_by_hand(run, q, 3, shares)
    run.asked.clear()
    out = class_sums.exact_c_form(run, q, None, 3, shares)
    assert out["status"] == "solved" and out["rho"] == 1.0
    goal = 0.5 * TOL if many else 1e-11
    assert abs(out["extra"]) <= goal
    np.testing.assert_allclose(
        np.add.reduceat(out["alpha"], segments[:-1]), lam * 3 * shares, rtol=1e-5 if many else 1e-9
    )
    np.testing.assert_allclose(out["b"], -r, atol=2 * goal + 1e-9)
    assert out["primal"] == pytest.approx(out["dual"], rel=1e-5 if many else 1e-8)
    assert run.asked[0] == ("none", 0.1) and {form for form, _ in run.asked[1:]} == {"per_class"}
    assert min(tol for _, tol in run.asked) == pytest.approx(0.25 * TOL) and len(run.asked) < 60


def test_where_the_mean_jumps_over_zero_a_class_takes_a_multiplier_between():
    """Class 0 has no free row at the class sum 1: r_0 is anything from -0.9 to -0.2, and r_1 = 0.5."""
    q = Qp(np.array([1.0, 0.2, 1.0]), np.array([1.0, 1.0, 5.0]), np.zeros(3), np.array([0, 2, 3]), False)
    out = class_sums.exact_c_form(Diagonal(np.array([0.1, 0.1, 1.5])), q, None, 2, np.array([0.5, 0.5]))
    np.testing.assert_allclose(out["alpha"], [1.0, 0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(out["b"], [0.5, -0.5], atol=1e-9)
    assert out["status"] == "solved" and out["violation"] < 1e-9 and out["extra"] == 0.0
    assert out["primal"] == pytest.approx(out["dual"], abs=1e-9)


def test_a_full_class_takes_a_larger_multiplier():
    """At the ceiling of lam: class 0 is full with r_0 = -0.95, where r_1 = -0.25; the mean is 0 with r_0 = 0.75."""
    q = Qp(np.array([1.0, 1.0]), np.array([0.5, 2.0]), np.zeros(2), np.array([0, 1, 2]), False)
    out = class_sums.exact_c_form(Diagonal(np.array([0.1, 0.5])), q, None, 2, np.array([0.25, 0.75]))
    np.testing.assert_allclose(out["alpha"], [0.5, 1.5], rtol=1e-12)
    np.testing.assert_allclose(out["b"], [-0.75, 0.25], atol=1e-12)
    assert out["status"] == "solved" and out["extra"] == 0.0


@pytest.mark.parametrize(
    "status, violation, wanted",
    [
        ("solved", 0.4 * TOL, "solved"),
        ("solved", 1.5 * TOL, "stalled"),
        ("max_iter", 0.4 * TOL, "solved"),
        ("time_limit", 0.4 * TOL, "solved"),
        ("interrupted", 0.4 * TOL, "interrupted"),
        ("max_iter", 1.5 * TOL, "max_iter"),
    ],
)
def test_only_what_is_within_the_tolerance_is_solved(status, violation, wanted):
    root = class_sums.Root(Diagonal(np.ones(2)), Qp(*np.ones((3, 2)), np.array([0, 1, 2]), False), 2, np.full(2, 0.5))
    out = {"alpha": np.zeros(2), "gradient": -np.ones(2), "status": status, "violation": violation}
    assert root.ended(out, np.zeros(2), 0.2 * TOL)["status"] == wanted
    assert root.ended(out | {"status": status, "violation": 0.4 * TOL}, np.zeros(2), -0.7 * TOL)["status"] != "solved"


def test_the_squared_hinge_is_scaled_to_a_margin_of_one(rng):
    sizes, shares = [3, 2], np.array([0.6, 0.4])
    segments, ridge = np.cumsum([0, *sizes]), rng.uniform(0.5, 1, 5)
    q = Qp(np.ones(5), np.full(5, np.inf), ridge, segments, False)
    run = Diagonal(rng.uniform(1, 2, 5))
    out = class_sums.exact_c_form(run, q, None, 2, shares)
    a, b = out["alpha"], out["b"]
    sums = np.add.reduceat(a, segments[:-1])
    np.testing.assert_allclose(sums / sums.sum(), shares, rtol=1e-9)
    np.testing.assert_allclose((run.h + ridge) * a + np.repeat(b, sizes), 1.0, rtol=1e-9)  # every row is at its slack
    assert shares @ b == pytest.approx(0, abs=1e-9) and out["rho"] == 1.0
    assert out["primal"] == pytest.approx(out["dual"], rel=1e-9)


@pytest.mark.parametrize(
    "h, wanted", [([-3.0, -3.0], "endless"), ([1e-18, 1e-18], "stalled"), ([-0.3, -0.3], "stalled")]
)
def test_a_squared_hinge_without_a_margin_has_no_scale_or_no_end(h, wanted):
    """Multipliers -1 below 0: no scale by them. a'Ha decides, unless rounding hides its sign."""

    class NoMargin(Diagonal):
        def solve(self, q, begin, tol=None, gap=None):
            alpha = np.ones(2)
            out = {"alpha": alpha, "gradient": self.h * alpha, "multiplier": np.array([-1.0, -1.0])}
            return out | {"status": "solved", "violation": 0.0}

    run = NoMargin(np.array(h))
    run.largest = 1e15 if wanted == "stalled" and h[0] < 0 else 1.0
    q = Qp(np.ones(2), np.full(2, np.inf), np.ones(2), np.array([0, 1, 2]), False)
    out = class_sums.exact_c_form(run, q, None, 2, np.full(2, 0.5))
    assert out["status"] == wanted and np.all(np.isinf(out["alpha"])) == (wanted == "endless")
    if wanted == "stalled":
        assert np.all(out["alpha"] == 0)


@pytest.mark.parametrize("shares", [None, [0.6, 0.4]])
def test_the_nu_form_has_the_sum_of_the_classes(shares, rng):
    q = Qp(np.zeros(5), np.full(5, 0.9), np.zeros(5), np.array([0, 3, 5]), False)
    run = Diagonal(rng.uniform(1, 2, 5))
    pi = None if shares is None else np.array(shares)
    out = class_sums.nu_form(run, q, None, 2, pi)
    if pi is None:
        assert out["alpha"].sum() == pytest.approx(2, rel=1e-9) and out["b"].tolist() == [0.0, 0.0]
        free = out["alpha"] < 0.9
        np.testing.assert_allclose((run.h * out["alpha"])[free], out["rho"], rtol=1e-9)
    else:
        np.testing.assert_allclose(np.add.reduceat(out["alpha"], [0, 3]), 2 * pi, rtol=1e-9)
        r = out["multiplier"]
        assert out["rho"] == pytest.approx(pi @ r)
        np.testing.assert_allclose(out["b"], out["rho"] - r, rtol=1e-12)
        assert pi @ out["b"] == pytest.approx(0, abs=1e-12)
    assert out["extra"] == 0.0


@pytest.mark.parametrize(
    "margin, violation, ridge, least, wanted",
    [
        (0.5, 0.4 * TOL, 0.0, 0.0, "solved"),
        (0.5, 0.6 * TOL, 0.0, 0.0, "no_margin"),
        (0.5, 0.6 * TOL, 1.0, 0.0, "stalled"),
        (0.5, 0.0, 0.0, 0.5, "no_margin"),
        (-0.5, 0.0, 0.0, 0.0, "no_margin"),
    ],
)
def test_a_nu_form_is_solved_relative_to_its_margin(margin, violation, ridge, least, wanted):
    class Known(Diagonal):
        def solve(self, q, begin, tol=None, gap=None):
            out = {"alpha": np.ones(2), "gradient": np.full(2, margin), "multiplier": np.array([margin])}
            return out | {"status": "solved", "violation": violation}

    run = Known(np.ones(2))
    run.relative, run.least_margin = True, least
    q = Qp(np.zeros(2), np.ones(2), np.full(2, ridge), np.array([0, 1, 2]), False)
    out = class_sums.nu_form(run, q, None, 2, None)
    assert out["status"] == wanted
    if wanted == "solved":
        assert out["violation"] == pytest.approx(violation / margin)


def test_a_margin_that_may_be_rounding_is_looked_for_first(rng):
    """At the tolerance that shows one, and without a gap; to the end only if there is one."""
    q = Qp(np.zeros(3), np.full(3, 0.9), np.zeros(3), np.array([0, 1, 3]), False, "total", np.array([2.0]))
    begin = np.full(3, 2 / 3)
    for least, size, runs in ((1e-3, 1.0, 2), (1e-3, 1e-4, 1), (0.0, 1.0, 1)):
        run = Diagonal(np.full(3, 3.0) * size)
        run.relative, run.least_margin, run.largest = True, least, 1e6
        class_sums.solve_margin(run, q, begin)
        assert len(run.asked) == runs
        first = least / (class_sums.NO_MARGIN * 1e6)
        assert run.asked[0][1] == (pytest.approx(first) if least and TOL < first < 1 else None)
