"""Steps of the interior point method solve the equations they stand for; a shift of far rows is exact to rounding."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from test_claims import linear_examples

from polymargin import kernels
from polymargin.training import dual, equal_rows, face, few_points, interior

ROWS = np.array([0, 0, 1, 1, 1, 2, 3, 3])  # of eight margins
POINTS = np.array([0, 0, 1, 1, 1, 0, 2, 2])


def program(rng, squared, T=3):
    """With a point inside: E'a = 0 for some a that the bounds leave room for."""
    A, a = rng.normal(size=(3, 3)), rng.uniform(0.1, 0.3, 8)
    V, E = rng.normal(size=(8, T)), rng.normal(size=(8, 2))
    E -= np.outer(a, a @ E) / (a @ a)
    u = rng.uniform(1, 2, 4).astype(interior.Real)
    ridge = rng.uniform(0.5, 1, 8) if squared else None
    real = V.astype(interior.Real)
    return interior.Program(A @ A.T + np.eye(3), POINTS, real, E, rng.uniform(0.5, 1.5, 8), ROWS, u, ridge)


def inside(rng, p):
    """A point that satisfies no equation."""
    a, s = rng.uniform(0.1, 1, 8).astype(interior.Real), rng.uniform(0.1, 1, 8)
    room, xi = rng.uniform(0.1, 1, 4), rng.uniform(0.1, 1, 4)
    if p.ridge is not None:
        room, xi = np.ones(4), np.zeros(4)
    return interior.Inside(rng.normal(size=(3, 3)), rng.normal(size=2), a, room, s, xi)


@pytest.mark.parametrize("squared", [False, True])
def test_a_step_solves_the_equations(squared, rng):
    p = program(rng, squared)
    x = inside(rng, p)
    ridge = np.zeros(8) if p.ridge is None else p.ridge
    off = p.g - p.margins(x.F, x.b) - x.xi[ROWS] + x.s - ridge * x.a
    products, loss = rng.normal(size=8), 0 * x.xi if squared else rng.normal(size=4)
    d = interior.InsideSteps(p, x, off).solve(products, loss)
    close = dict(rtol=0, atol=1e-8)
    np.testing.assert_allclose(p.margins(d.F, d.b) + d.xi[ROWS] - d.s + ridge * d.a, off, **close)
    np.testing.assert_allclose(d.F - p.K @ p.coefficients(d.a), -x.missing(p), **close)
    np.testing.assert_allclose(p.E.T @ (x.a + d.a), 0, **close)
    np.testing.assert_allclose(x.s * d.a + x.a * d.s, products, **close)
    np.testing.assert_allclose(x.xi * d.room + x.room * d.xi, loss, **close)
    np.testing.assert_allclose(d.room, 0 if squared else -np.bincount(ROWS, d.a), **close)


def test_what_a_program_adds_up(rng):
    """Margins, coefficients, sums of rows and pairs of margins of a row, one by one."""
    p = program(rng, squared=False)
    F, b, a = rng.normal(size=(3, 3)), rng.normal(size=2), rng.normal(size=8)
    S, sums = np.zeros((3, 3)), np.zeros(4)
    for v in range(8):
        assert p.margins(F, b)[v] == pytest.approx(float(p.v[v] @ F[POINTS[v]] + p.E[v] @ b))
        S[POINTS[v]] += a[v] * p.v[v]
        sums[ROWS[v]] += a[v]
    np.testing.assert_allclose(p.coefficients(a), S, rtol=1e-13)
    np.testing.assert_allclose(p.rows(a), sums, rtol=1e-13)
    assert p.coefficients(a).dtype == np.float64 and p.coefficients(a.astype(interior.Real)).dtype == interior.Real
    pairs = sorted(zip(*(part.tolist() for part in p.pairs), strict=True))
    assert pairs == [(0, 1), (2, 3), (2, 4), (3, 4), (6, 7)]
    np.testing.assert_allclose(p.inverse @ p.K, np.eye(3), atol=1e-10)
    assert interior.noise(p, np.array([2.0, 5.0])) == pytest.approx(interior.NOISE * 5 * np.abs(p.K).max())


def test_how_far_a_step_reaches():
    zero = np.zeros((1, 1)), np.zeros(1)
    x = interior.Inside(*zero, np.array([1.0, 2.0]), np.array([3.0]), np.array([4.0, 5.0]), np.array([6.0]))
    assert x.products == 4 + 10 + 18
    for k, (name, at) in enumerate([("exact", 1), ("room", 0), ("s", 0), ("xi", 0)]):
        by = interior.Inside(*zero, np.zeros(2), np.ones(1), np.zeros(2), np.ones(1))
        getattr(by, name)[at] = -8.0
        assert x.reach(by) == getattr(x, name)[at] / 8, k
        moved = x.moved(by, 0.25)
        assert getattr(moved, name)[at] == getattr(x, name)[at] - 2 and moved.F is not x.F
    assert x.reach(x) == np.inf


@pytest.mark.parametrize("squared", [False, True])
def test_it_begins_inside(squared, rng):
    p = program(rng, squared)
    x = interior.begin(p)
    assert np.all(x.F == 0) and np.all(x.b == 0) and np.all(x.s == 1)
    if squared:
        np.testing.assert_allclose(x.a, 0.5 / p.ridge, rtol=1e-15)
        assert np.all(x.room == 1) and np.all(x.xi == 0)
    else:  # a row's margins and its room are all alike, and sum to the bound
        np.testing.assert_allclose(x.room + p.rows(x.a), p.u.astype(float), rtol=1e-13)
        np.testing.assert_allclose(x.a, x.room[ROWS], rtol=1e-15)
        assert np.all(x.xi == 1)


@pytest.mark.parametrize("squared", [False, True])
def test_the_steps_end_at_the_optimum(squared, rng):
    """Slacks, variables and scores satisfy the conditions of the program, within a few dozen steps."""
    p = program(rng, squared)
    x, steps = interior.interior_point(p, lambda step, slack, value: True)
    assert steps < 25
    ridge = np.zeros(8) if p.ridge is None else p.ridge
    off = p.g - p.margins(x.F, x.b) - x.xi[ROWS] + x.s - ridge * x.a
    assert np.abs(off).max() <= interior.NEAR and x.products <= 1e-8
    np.testing.assert_allclose(x.missing(p), 0, atol=1e-6)
    np.testing.assert_allclose(p.E.T @ x.a, 0, atol=1e-6)
    if not squared:
        np.testing.assert_allclose(p.rows(x.a) + x.room, p.u.astype(float), atol=1e-6)
    seen = []
    _, few = interior.interior_point(p, lambda *said: seen.append(said) or len(seen) < 3)
    assert few == 2 and [said[0] for said in seen] == [0, 1, 2]


@pytest.mark.parametrize("entropy, large", [(True, 1e3), (False, 1e10)])
def test_equal_rows_are_solved_on_their_points_from_large_bounds_on(entropy, large):
    """Steps do well up to there; of logistic losses they have trouble much sooner."""
    X, y = np.repeat([[0.0], [1.0]], 4, axis=0), np.array([0, 0, 1, 1] * 2)
    e = replace(linear_examples(X, y), kernel=kernels.Kernel("rbf", 1.0).record())
    one = equal_rows.merged(e)
    for part in (0.5, 2.0):
        upper = np.full(len(y), part * large / 2)  # two rows of a class at each point
        assert (few_points.cells(one, upper, 2, entropy) is not None) == (part > 1)


def test_far_rows_are_moved_back_exactly(rng):
    """Sums of classes that are equal but for rounding, and rows 1e8 away: as exact fractions have it."""
    n, T, center = 9, 3, np.array([1e8, -3e8])
    X = center + rng.integers(-4, 5, size=(n, 2)).astype(float)
    y = np.repeat(np.arange(T), 3)
    a = rng.uniform(0.5, 1, n)
    a /= np.repeat([a[y == c].sum() for c in range(T)], 3)
    e = replace(linear_examples(X, y), n_classes=T)
    w = [[sum(Fraction(a[i]) * Fraction(X[i, j]) for i in range(n) if y[i] == c) for j in range(2)] for c in range(T)]
    mean = [sum(w[c][j] for c in range(T)) / T for j in range(2)]
    wanted = [float(sum((w[c][j] - mean[j]) * Fraction(center[j]) for j in range(2))) for c in range(T)]
    np.testing.assert_allclose(dual.moved_back(e, a, center), wanted, rtol=0, atol=1e-5)


def gap_of(p, a, b):
    """Primal minus dual value, summed as the program is written, and their size; and how far a is outside."""
    S = np.zeros((3, 3), dtype=interior.Real)
    for v in range(len(a)):
        S[p.point[v]] += a[v] * p.V[v]
    F = p.K @ S.astype(float)
    square, margin = float(np.sum(F * S)), np.array([p.v[v] @ F[p.point[v]] + p.E[v] @ b for v in range(len(a))])
    short, u, away = np.maximum(p.g - margin, 0), p.u.astype(float), np.abs(p.E.T @ a).max() + max(0, -a.min())
    if p.entropy:
        share = (a / p.u[p.row]).astype(float)
        entropy = float(u[p.row] @ (share * np.log(share) + (1 - share) * np.log1p(-share)))
        primal, dual = square / 2 + float(u[p.row] @ np.logaddexp(0, -margin)), -square / 2 - entropy
    elif p.ridge is not None:
        primal = square / 2 + float(np.sum(short**2 / p.ridge)) / 2
        dual = float(p.g @ a) - square / 2 - float(np.sum(p.ridge * a**2)) / 2
    else:
        primal = square / 2 + sum(u[r] * short[p.row == r].max() for r in range(len(u)))
        dual, away = float(p.g @ a) - square / 2, away + max(0, (p.rows(a) - p.u).max())
    return float(primal - dual), max(abs(primal), abs(dual)), float(away)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_primal_and_dual_value_meet(loss, C, rng):
    """Also where rows of different classes are at one point, and bounds are large."""
    p = program(rng, loss == "squared")
    if loss == "squared":
        p = replace(p, ridge=p.ridge / C)
    elif loss == "logistic":
        u = (C * rng.uniform(1, 2, 8)).astype(interior.Real)
        p = replace(p, entropy=True, g=np.zeros(8), row=np.arange(8), u=u)
    else:
        p = replace(p, u=p.u * C)
    found = face.solve(p, lambda step, slack, value: True)
    gap, size, away = gap_of(p, found.a, found.b)
    rounding = 1e-15 * float(p.u.sum()) if loss == "hinge" else 0.0  # of slacks, times their price
    assert abs(gap) <= 1e-9 * size + rounding and away <= 1e-12 * float(found.a.max()) and found.n_iter < 60
    np.testing.assert_allclose(found.scores(p), p.K @ p.coefficients(found.a).astype(float), rtol=1e-14)
