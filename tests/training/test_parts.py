"""Functions that training is made of, by what they say of themselves: on numbers small enough to know the answer."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from polymargin import JointSVC, kernels
from polymargin.training import class_sums, decisions, hard_margin, pair_codes, priors, problem, starting_points
from polymargin.training import two_classes as two
from polymargin.training.class_sums import Qp

EXACTLY = dict(rtol=1e-12, atol=1e-14)


def program(rng, sizes, sums=None, entropy=False, total=False):
    n = sum(sizes)
    q = Qp(np.ones(n), rng.uniform(1, 2, n), np.zeros(n), np.cumsum([0, *sizes]), entropy)
    q.sum, q.sums = ("total" if total else "per_class"), np.asarray(sums, dtype=float)
    return q


def group_sums(a, groups):
    return np.array([a[i:j].sum() for i, j in itertools.pairwise(groups)])


# --- starting points --------------------------------------------------------------------------------------------------


def test_a_start_is_the_middle_of_the_box_or_zero():
    u = np.array([4.0, 8.0, 2.0])
    for entropy, given, wanted in (
        (True, None, u / 2),
        (False, None, np.zeros(3)),
        (False, np.array([-1.0, 3.0, 9.0]), [0, 3, 2]),
        (True, np.array([-1.0, 3.0, 9.0]), [4e-12, 3, 2 - 2e-12]),
    ):
        found = starting_points.start(SimpleNamespace(entropy=entropy, upper=u), given)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=0)


def test_groups_are_filled_in_order(rng):
    for _ in range(20):
        sizes = rng.integers(1, 5, 3)
        groups = np.cumsum([0, *sizes])
        room = rng.uniform(0, 1, groups[-1])
        sums = rng.uniform(-0.2, 1.2, 3) * group_sums(room, groups)
        wanted = np.zeros_like(room)
        for g, left in enumerate(sums):
            for k in range(groups[g], groups[g + 1]):
                wanted[k] = min(max(left, 0), room[k])
                left -= wanted[k]
        np.testing.assert_allclose(starting_points.filled(room, groups, sums), wanted, **EXACTLY)


def test_rows_have_ranks_in_their_class():
    assert starting_points.rank_in(np.array([0, 3, 4, 6])).tolist() == [0, 1, 2, 0, 0, 1]


def test_a_sum_of_all_is_filled_by_the_first_rows_of_every_class():
    """Few rows at their bound, of all classes: with only those of the first, the start would be no classifier."""
    q = Qp(np.ones(6), np.ones(6), np.zeros(6), np.array([0, 3, 5, 6]), False, "total", np.array([4.25]))
    found = starting_points.start_with_sums(q, None, q.upper)
    np.testing.assert_allclose(found, [1, 1, 0, 1, 0.25, 1], **EXACTLY)
    q.sum, q.sums = "per_class", np.array([1.5, 0.5, 0.75])
    found = starting_points.start_with_sums(q, None, q.upper)
    np.testing.assert_allclose(found, [1, 0.5, 0, 0.5, 0, 0.75], **EXACTLY)


def test_a_start_of_logistic_losses_is_the_same_share_of_every_bound(rng):
    q = program(rng, [3, 2], [2.0, 1.0], entropy=True)
    found = starting_points.start_with_sums(q, None, q.upper)
    share = q.sums / group_sums(q.upper, q.segments)
    np.testing.assert_allclose(found, q.upper * np.repeat(share, [3, 2]), **EXACTLY)


def test_logits_are_shifted_alike_within_a_group(rng):
    """Also from a point on its bounds, and far: by 30 and more."""
    q = program(rng, [4, 3, 2], [3.0, 1e-9, 2.0], entropy=True)
    begin = q.upper * np.array([0.1, 0.5, 0.9, 0.2, 0.5, 0.7, 0.6, 0.0, 1.0])
    found = starting_points.start_with_sums(q, begin, q.upper)
    np.testing.assert_allclose(group_sums(found, q.segments), q.sums, rtol=1e-13)
    assert np.all((found > 0) & (found < q.upper))
    p, before = found / q.upper, np.clip(begin / q.upper, 1e-12, 1 - 1e-12)
    shift = np.log(p / (1 - p)) - np.log(before / (1 - before))
    for rows in (slice(0, 4), slice(4, 7)):
        np.testing.assert_allclose(shift[rows], shift[rows][0], rtol=1e-9, atol=1e-9)
    far = starting_points.moved_inside(np.full(2, 1e-12), np.ones(2), np.array([0, 2]), np.array([2 - 1e-11]))
    np.testing.assert_allclose(far, 1 - 5e-12, rtol=1e-13)


def test_of_a_point_near_its_sums_free_variables_move_first(rng):
    """Sums 4 percent larger or smaller: rows at a bound stay there, unless the free ones have too little room."""
    cap, groups = np.ones(10), np.array([0, 4, 7, 10])
    begin = np.array([0.0, 1.0, 0.5, 0.25, 1.0, 0.99, 0.0, 0.0, 0.99, 0.5])
    for factor in (1.04, 0.96):
        q = Qp(np.ones(10), cap, np.zeros(10), groups, False, "per_class", group_sums(begin, groups) * factor)
        found = starting_points.start_with_sums(q, begin, cap)
        np.testing.assert_allclose(group_sums(found, groups), q.sums, **EXACTLY)
        assert found[[0, 1, 3]].tolist() == [0.0, 1.0, 0.25]  # the first free row has room for all of it
        if factor > 1:
            np.testing.assert_allclose(found[4:7], [1.0, 1.0, 1.99 * factor - 2.0], **EXACTLY)
            np.testing.assert_allclose(found[7:], [0.0, 1.0, 1.49 * factor - 1.0], **EXACTLY)
        else:
            np.testing.assert_allclose(found[4:7], [1.0, 0.99 - 1.99 * 0.04, 0.0], **EXACTLY)
            np.testing.assert_allclose(found[7:], [0.0, 0.99 - 1.49 * 0.04, 0.5], **EXACTLY)


@pytest.mark.parametrize("factor", [0.3, 0.94, 1.06, 1.5, 2.5, 3.5])
def test_a_point_far_from_its_sums_is_scaled(factor):
    """By one factor where no row meets its bound; the rest goes to those that are left, then to the first."""
    cap, groups = np.array([1.0, 2, 3, 1, 1]), np.array([0, 3, 5])
    begin = np.array([0.5, 0.5, 0.0, 0.2, 0.2])
    sums = group_sums(begin, groups) * factor
    q = Qp(np.ones(5), cap, np.zeros(5), groups, False, "per_class", sums)
    found = starting_points.start_with_sums(q, begin, cap)
    np.testing.assert_allclose(group_sums(found, groups), sums, **EXACTLY)
    wanted = {2.5: [1.0, 1.5, 0.0, 0.5, 0.5], 3.5: [1.0, 2.0, 0.5, 0.7, 0.7]}.get(factor, begin * factor)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_a_group_without_a_variable_above_zero_is_filled():
    cap, groups = np.array([1.0, 2, 1]), np.array([0, 2, 3])
    q = Qp(np.ones(3), cap, np.zeros(3), groups, False, "per_class", np.array([1.5, 0.5]))
    found = starting_points.start_with_sums(q, np.array([0.0, 0.0, 3.0]), cap)
    np.testing.assert_allclose(found, [1.0, 0.5, 0.5], **EXACTLY)


# --- priors -----------------------------------------------------------------------------------------------------------


def test_shares_of_light_classes():
    y, plain = np.array([0, 0, 1, 1, 2, 2, 2, 2]), np.ones(8)
    weight = np.array([0.1, 0.1, 1, 1, 1, 1, 1, 1])
    nu = 0.5  # the rows of class 0 hold 0.2 / (0.5 * 6.2) of the sum at most
    most = np.array([0.2, 2.0, 4.0]) / (nu * 6.2)
    found = priors.shares(nu, "hinge", y, plain, weight)
    np.testing.assert_allclose(found, [most[0], (1 - most[0]) / 2, (1 - most[0]) / 2], **EXACTLY)
    found = priors.shares(nu, "logistic", y, plain, weight)
    np.testing.assert_allclose(found, [0.999 * most[0], *[(1 - 0.999 * most[0]) / 2] * 2], **EXACTLY)
    assert priors.shares(nu, "hinge", y, plain, plain) is None  # enough for equal shares
    assert priors.shares(1.0, "hinge", np.arange(3), np.ones(3), np.ones(3)) is None  # just enough
    assert priors.shares(0.9, "hinge", y, plain, weight) is None  # so it would be without class weights


def test_a_class_that_becomes_light_by_the_share_of_another():
    """Class 1 can hold 1/3, but not half of what class 0 leaves; where nobody can hold more, all are full."""
    y, plain = np.repeat([0, 1, 2], 2), np.ones(6)
    weight = np.repeat([0.1, 0.7, 1.2], 2)
    nu = 0.99
    most = np.array([0.1, 0.7, 1.2]) / (nu * 2.0)
    assert most[1] > 1 / 3 and most[1] < (1 - most[0]) / 2
    found = priors.shares(nu, "hinge", y, plain, weight)
    np.testing.assert_allclose(found, [most[0], most[1], 1 - most[0] - most[1]], **EXACTLY)
    most = 0.999 * most
    found = priors.shares(nu, "logistic", y, plain, weight)
    np.testing.assert_allclose(found, [most[0], most[1], 1 - most[0] - most[1]], **EXACTLY)
    full = priors.shares(1.0, "logistic", y, plain, weight)  # 0.999 of all, and no class can hold the rest
    np.testing.assert_allclose(full, [0.05, 0.35, 0.6], **EXACTLY)


def test_light_classes_win_by_a_margin():
    y, weight = np.repeat([0, 1, 2], 2), np.repeat([0.1, 1.0, 1.0], 2)
    room = np.array([0.1, 1.0, 1.0]) / (0.5 * 2.1)
    pi = np.array([room[0], *[(1 - room[0]) / 2] * 2])
    b = np.array([0.9, 0.5, 0.8])
    found = SimpleNamespace(intercept=b.copy(), rho=-0.25)
    priors.lower_light(found, 0.5, y, weight, pi)
    lowered = np.array([0.25, 0.5, 0.8])
    shift = pi @ lowered
    np.testing.assert_allclose(found.intercept, lowered - shift, **EXACTLY)
    assert found.rho == pytest.approx(-0.25 - shift, rel=1e-12)
    low = SimpleNamespace(intercept=b - [2, 0, 0], rho=0.25)  # it is low enough
    priors.lower_light(low, 0.5, y, weight, pi)
    np.testing.assert_allclose(np.diff(low.intercept), np.diff(b - [2, 0, 0]), **EXACTLY)
    for shares in (np.full(3, 1 / 3) * room.min(), room):  # none is light, or all are
        same = SimpleNamespace(intercept=b.copy(), rho=0.25)
        priors.lower_light(same, 0.5, y, weight, shares)
        assert same.intercept.tolist() == b.tolist() and same.rho == 0.25


# --- hard margins -----------------------------------------------------------------------------------------------------


def test_a_hard_margin_has_a_C_far_above_its_variables():
    X, kernel = np.array([[1.0], [2.0], [4.0]]), kernels.Kernel("linear").record()
    assert hard_margin.finite_C(2.5, X, np.arange(3), np.ones(3), kernel) == 2.5
    found = hard_margin.finite_C(np.inf, X, np.arange(3), np.array([3.0, 0.5, 1.0]), kernel)
    assert found == pytest.approx(1e8 / (4.0 * 0.5))
    found = hard_margin.finite_C(np.inf, 0.1 * X, np.arange(3), np.ones(3), kernel)
    assert found == pytest.approx(1e8 / 0.04)
    assert np.isfinite(hard_margin.finite_C(np.inf, 0 * X, np.arange(3), np.ones(3), kernel))
    with pytest.raises(ValueError, match="a finite C with loss"):
        hard_margin.check_hard_margin(np.inf, "logistic")
    with pytest.raises(ValueError, match="a finite C with loss"):
        JointSVC("scatter", C=np.inf, loss="logistic").fit(X, [0, 1, 1])
    hard_margin.check_hard_margin(np.inf, "hinge")
    hard_margin.check_hard_margin(1.0, "logistic")


def test_rows_at_the_bound_of_a_hard_margin_are_remarked_on():
    strength = np.array([8.0, 4.0])
    for slack, part in ((None, 0.25), (0.5, 0.5)):  # of the strength: shared by four classes, or the slack itself
        assert hard_margin.not_separable(np.array([0.0, 4 * part]), strength, 4, slack)
        assert hard_margin.not_separable(np.array([7.9 * part, 3.9 * part]), strength, 4, slack) is None


# --- two classes ------------------------------------------------------------------------------------------------------


def test_sums_of_two_classes_are_balanced_by_the_row_with_most_room():
    q = SimpleNamespace(lower=np.array([-3.0, -1.0, 0.0, 0.0]), upper=np.array([0.0, 0.0, 1.0, 2.0]))
    z = np.array([-1.5, -0.25, 0.75, 0.5])
    found = two.balanced(z, q)
    assert math.fsum(found) == 0 and found.tolist() == [-1.0, -0.25, 0.75, 0.5] and z[0] == -1.5
    none = np.array([-3.0, 0.0, 1.0, 1.0])  # the last has room for 1, exactly what is missing: it stays
    assert two.balanced(none, q).tolist() == none.tolist()
    endless = np.array([np.inf, 0.0, 0.0, 0.0])
    assert two.balanced(endless, q) is endless


def test_only_free_sums_have_a_sign():
    base = dict(nu=None, priors=None, form=SimpleNamespace(entropy=False))
    assert two.is_signed(SimpleNamespace(**base), 2) and not two.is_signed(SimpleNamespace(**base), 3)
    for name, value in (("nu", 0.1), ("priors", [0.5, 0.5]), ("form", SimpleNamespace(entropy=True))):
        assert not two.is_signed(SimpleNamespace(**base | {name: value}), 2)


# --- sums of classes --------------------------------------------------------------------------------------------------


def test_objectives_are_those_of_the_paper(rng):
    """Sums row by row: of hinge, squared hinge and logistic losses."""
    sizes, b = [3, 2], np.array([0.3, -0.2])
    q = program(rng, sizes)
    label, s = np.repeat([0, 1], sizes), rng.normal(size=5)
    a = q.upper * np.array([0.0, 0.3, 1.0, 0.5, 0.9])
    short = [1 - s[i] - b[label[i]] for i in range(5)]
    primal = 0.5 * a @ s + sum(q.upper[i] * max(short[i], 0) for i in range(5))
    np.testing.assert_allclose(class_sums.objectives(q, a, s, b), (primal, a.sum() - 0.5 * a @ s), **EXACTLY)

    ridge = rng.uniform(1, 2, 5)
    squared = Qp(q.linear, np.full(5, np.inf), ridge, q.segments, False)
    primal = 0.5 * a @ s + sum(max(short[i], 0) ** 2 / ridge[i] / 2 for i in range(5))
    dual = a.sum() - 0.5 * a @ (s + ridge * a)
    np.testing.assert_allclose(class_sums.objectives(squared, a, s, b), (primal, dual), **EXACTLY)

    q.entropy, u = True, q.upper
    short = [q.linear[i] - s[i] - b[label[i]] for i in range(5)]
    primal = 0.5 * a @ s + sum(u[i] * math.log1p(math.exp(short[i])) for i in range(5))
    shares = [x / y for x, y in zip(a, u, strict=True) if 0 < x < y]
    inside = [y for x, y in zip(a, u, strict=True) if 0 < x < y]
    entropy = sum(y * (p * math.log(p) + (1 - p) * math.log(1 - p)) for p, y in zip(shares, inside, strict=True))
    np.testing.assert_allclose(class_sums.objectives(q, a, s, b), (primal, a.sum() - 0.5 * a @ s - entropy), **EXACTLY)


def test_a_bracket_steps_out_until_it_has_both_sides():
    bracket = class_sums.Bracket(most=1.05)
    assert bracket.next(1.0, -1.0) == pytest.approx(1.01)
    assert bracket.next(1.01, -0.9) == pytest.approx(1.01 * 1.02)
    assert bracket.next(1.0302, -0.5) == 1.05
    falling, lam = class_sums.Bracket(most=9.0), 1.0
    for stride in (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5):
        found = falling.next(lam, 1.0)
        assert found == pytest.approx(lam * (1 - stride))
        lam = found


def test_a_bracket_takes_secants_and_halves_the_end_that_stays():
    bracket = class_sums.Bracket(most=9.0)
    bracket.next(1.0, -2.0)
    assert bracket.next(2.0, 1.0) == pytest.approx(1 + 2 / 3)  # between (1, -2) and (2, 1)
    at = bracket.next(1.6, -0.5)  # between (1.6, -0.5) and (2, 1)
    assert at == pytest.approx(1.6 + 0.4 * 0.5 / 1.5)
    at = bracket.next(1.7, -0.1)  # the upper end stays: it counts half
    assert at == pytest.approx(1.7 + 0.3 * 0.1 / 0.6)
    at = bracket.next(1.9, 0.2)
    assert at == pytest.approx(1.7 + 0.2 * 0.1 / 0.3)
    at = bracket.next(1.8, 0.15)  # and the lower one
    assert at == pytest.approx(1.7 + 0.1 * 0.05 / 0.2)


def test_a_bracket_of_a_jump_is_halved_in_the_end():
    """Secants creep along one side of a jump: four steps that do not halve the bracket, then the middle."""
    bracket, taken = class_sums.Bracket(most=9.0), []
    low, high = 1.0, 2.0
    bracket.next(high, 1e6)
    at = bracket.next(low, -1e-6)
    for _ in range(60):
        taken.append((low, high, at))
        low, high = (at, high) if at < 1.75 else (low, at)
        at = bracket.next(at, -1e-6 if at < 1.75 else 1e6)
        if at is None:
            break
    middle = [a == 0.5 * (x + y) for x, y, a in taken]
    assert middle.index(True) == 4 and all(middle[4:])
    assert at is None and 0 < high - low <= 1e-14 * high and high - low > 1e-15


# --- decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [2, 3, 5])
def test_pairs_and_their_code(T):
    wanted = [(1, 0)] if T == 2 else list(itertools.combinations(range(T), 2))
    pairs = pair_codes.all_pairs(T)
    assert [tuple(p) for p in pairs.tolist()] == wanted and len(pair_codes.AllPairs(T)) == len(wanted)
    late = pair_codes.AllPairs(T)
    assert np.asarray(late).tolist() == pairs.tolist() and late[:] is late and late[0].tolist() == pairs[0].tolist()
    assert late[:1].tolist() == pairs[:1].tolist()
    assert np.asarray(late, dtype=np.int8).dtype == np.int8 and np.asarray(late).dtype == np.int64
    code = pair_codes.pair_code(pairs, T)
    for column, (a, b) in zip(code.T, wanted, strict=True):
        assert column[a] == 1 and column[b] == -1 and np.count_nonzero(column) == 2
    assert pair_codes.are_all_pairs(pairs, T) and not pair_codes.are_all_pairs(pairs, T + 1)
    assert not pair_codes.are_all_pairs(None, T) and not pair_codes.are_all_pairs(pairs[:, ::-1], T)


@pytest.mark.parametrize("T", [3, 4, 6])
def test_votes_and_eliminations_of_pairs(T, rng):
    F = rng.normal(size=(40, T * (T - 1) // 2)).round(1)  # with ties: a score of 0 is a vote for the second class
    F[0] = 0
    pairs = list(itertools.combinations(range(T), 2))
    for f, found, left in zip(F, pair_codes.votes(F, T), pair_codes.dag(F, T), strict=True):
        score, total = dict(zip(pairs, f, strict=True)), np.zeros(T)
        sums = np.zeros(T)
        for (a, b), value in score.items():
            total[a if value > 0 else b] += 1
            sums[a], sums[b] = sums[a] + value, sums[b] - value
        np.testing.assert_allclose(found, total + sums / (3 * (np.abs(sums) + 1)), rtol=1e-12, atol=1e-12)
        classes = list(range(T))
        while len(classes) > 1:
            classes.remove(classes[-1] if score[classes[0], classes[-1]] > 0 else classes[0])
        assert left == classes[0]
    with pytest.raises(ValueError, match="zip"):
        pair_codes.votes(F[:, 1:], T)


def test_decodings_are_their_sums(rng):
    M, F = rng.choice([-1, 0, 1], (4, 6)).astype(np.int8), rng.normal(size=(5, 6))
    F[0, 0] = 0.0
    every = range(5), range(4)
    found = {name: np.zeros((5, 4)) for name in decisions.DECODINGS}
    for i, c in itertools.product(*every):
        m = M[c] * F[i]
        found["exp"][i, c] = -math.log(sum(math.exp(-v) for v in m))
        found["hinge"][i, c] = -sum(max(1 - v, 0) for v in m)
        signs = sum(k * (1 if f > 0 else -1) for k, f in zip(M[c], F[i], strict=True))
        found["hamming"][i, c] = (signs - 6) / 2 + m.sum() / (6 * (abs(m.sum()) + 1))
    for name, wanted in found.items():
        decision = decisions.Decision(4, M, name)
        np.testing.assert_allclose(decision(F), wanted, rtol=1e-12, atol=1e-12)
        assert not decision.is_per_class and decision.pairs is None


def test_winners_and_those_that_are_raised():
    assert decisions.winners(np.array([-1.0, 0.0, 0.5])).tolist() == [0, 0, 1]
    assert decisions.winners(np.array([[1.0, 3.0, 2.0]])).tolist() == [1]
    S = np.array([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0], [-5.0, -2.0, -3.0]])
    found = decisions.raised(S.copy(), np.array([1, 2, 0]))
    np.testing.assert_allclose(found, [[1, 3, 2], [1, 3, 3 + 1 / 3], [1 / 3, -2, -3]], **EXACTLY)


def test_a_decision_of_two_classes():
    F, code = np.array([[2.0], [-3.0]]), np.array([[1], [-1]], dtype=np.int8)
    one = decisions.Decision(2, code)
    assert one(F).tolist() == [-2.0, 3.0] and one.class_scores(F).tolist() == [[2.0, -2.0], [-3.0, 3.0]]
    assert not one.is_per_class
    both = decisions.Decision(2, None, scale=0.5)
    assert both(np.array([[1.0, 4.0]])).tolist() == [1.5] and both.is_per_class
    rest = decisions.Decision(3, np.eye(3, dtype=np.int8))
    assert decisions.Decision(2, np.eye(2, dtype=np.int8)).is_per_class
    assert rest.is_per_class and rest.pairs is None and rest(np.ones((1, 3))).tolist() == [[1, 1, 1]]
    pairs = decisions.Decision(3, pair_codes.AllPairs(3), "max-wins")
    assert pairs.pairs.tolist() == [[0, 1], [0, 2], [1, 2]] and not pairs.is_per_class
    F = np.array([[1.0, -1.0, 1.0]])
    assert np.array_equal(pairs(F), pair_codes.votes(F, 3))
    dag = decisions.Decision(3, pair_codes.AllPairs(3), "dag")
    assert dag(F).argmax() == pair_codes.dag(F, 3)[0] == 1


# --- formulations -----------------------------------------------------------------------------------------------------


def test_strengths_and_kernels_of_a_formulation():
    w = np.array([1.0, 3.0])
    assert problem.Formulation(None, C=2.0).strength(w, 3).tolist() == [2.0, 6.0]
    assert problem.Formulation(None, nu=0.5).strength(w, 3).tolist() == [1.5, 4.5]
    assert problem.Formulation(None).kernel({"name": 1}) == {"name": 1}
    assert problem.Formulation(None, intercept="regularized").kernel({"name": 1}) == {"name": 1, "offset": 1.0}
