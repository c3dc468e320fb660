"""Error-correcting output codes: the rules of their design, their decoding, and machines with given codes."""

import numpy as np
import pytest
from data_sets import digits, iris, wine

from polymargin import OneVsRestSVC, OutputCodeSVC, PairwiseSVC
from polymargin.reductions import output_codes
from polymargin.reductions.output_codes import DECODINGS, KINDS, N_CODES, check_code, design, distinct, least_distance
from polymargin.training.decisions import Decision
from polymargin.training.pair_codes import all_pairs, pair_code


def canonical(column):
    """A column up to its sign."""
    first = column[np.flatnonzero(column)[0]]
    return tuple(int(first * m) for m in column)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("T", [2, 3, 4, 5, 6, 7, 10, 26, 60])
def test_the_rules_of_a_code(kind, T, seed):
    M = design(kind, T, seed)
    wanted = int(np.ceil((10 if kind == "dense" else 15) * np.log2(T)))
    possible = 2 ** (T - 1) - 1 if kind == "dense" else (3**T - 2 ** (T + 1) + 1) // 2
    assert M.dtype == np.int8 and M.shape == (T, min(wanted, possible) if T > 2 else 1)
    assert all(1 in column and -1 in column for column in M.T)
    assert len({canonical(column) for column in M.T}) == M.shape[1]
    assert set(np.unique(M)) <= set(KINDS[kind][0])
    assert len(np.unique(M, axis=0)) == T
    if T >= 10:
        # Hoeffding's bound at one in 1e9, whichever of the N_CODES codes is taken.
        far = np.sqrt(np.log(2e9 * N_CODES) / (2 * M.size))
        assert np.abs((M == 1).mean() - (0.5 if kind == "dense" else 0.25)) < far
        assert np.abs((M == 0).mean() - (0.0 if kind == "dense" else 0.5)) < far
    np.testing.assert_array_equal(M, design(kind, T, seed))


def test_the_best_of_many():
    rng = np.random.default_rng(5)

    def distance(M):
        return min(sum((1 - M[a] * M[b]) / 2) for a in range(len(M)) for b in range(a))

    M = design("dense", 10, 0)
    assert least_distance(M) == distance(M.astype(float))
    usual = [distance(rng.choice([-1.0, 1.0], size=M.shape)) for _ in range(50)]
    assert distance(M.astype(float)) >= max(usual)
    assert not np.array_equal(design("dense", 10, 0), design("dense", 10, 1))


def test_of_equal_distances_the_most_even_code(seed, monkeypatch):
    drawn, draw = [], output_codes.draw

    def seen(*arguments):
        drawn.append(draw(*arguments))
        return drawn[-1]

    def unevenness(M):
        return np.ptp(np.count_nonzero(M, axis=1))

    monkeypatch.setattr(output_codes, "draw", seen)
    code = design("sparse", 7, np.random.RandomState(seed))
    complete = [M for M in drawn if M.any(axis=1).all()]
    assert least_distance(code) == max(map(least_distance, complete))
    assert unevenness(code) == min(unevenness(M) for M in complete if least_distance(M) == least_distance(code))


def test_distinct_columns():
    M = np.array([[1, -1, 1, 1, 0, 1], [-1, 1, 0, 1, 1, 0], [0, 0, -1, 1, -1, -1]], dtype=np.int8)
    assert distinct(M).tolist() == [0, 2, 4]


def naive_decode(f, M, rule):
    """The distance of every class, plainly."""
    d = []
    for row in M:
        z = row * f
        if rule == "exp":
            d.append(sum(np.exp(-x) for x in z))
        elif rule == "hinge":
            d.append(sum(max(0.0, 1 - x) for x in z))
        else:
            s = float(np.sum(z))
            d.append(sum((1 - m * (1 if x > 0 else -1)) / 2 for m, x in zip(row, f, strict=True)))
            d[-1] -= s / (6 * (abs(s) + 1))
    return np.array(d)


@pytest.mark.parametrize("rule", list(DECODINGS))
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_decoding_is_the_naive_loop(rule, kind, rng):
    M = design(kind, 7, 0)
    F = rng.normal(size=(100, M.shape[1]))
    S = Decision(len(M), M, rule).class_scores(F)
    D = np.array([naive_decode(f, M, rule) for f in F])
    np.testing.assert_allclose(S, -np.log(D) if rule == "exp" else -D, atol=1e-9)
    np.testing.assert_array_equal(S.argmax(axis=1), D.argmin(axis=1))


def test_decoding_of_huge_scores():
    M = design("dense", 5, 0)
    for rule in DECODINGS:
        assert np.all(np.isfinite(Decision(len(M), M, rule).class_scores(np.array([1e5, -1e5])[:, None] * M[:2])))


@pytest.mark.parametrize("rule", list(DECODINGS))
def test_scores_of_a_model_are_decoded(rule):
    X, y = digits()
    model = OutputCodeSVC(5.0, decoding=rule, code="sparse", random_state=3).fit(X[:600], y[:600])
    F, S = model.code_decision_function(X[600:700]), model.decision_function(X[600:700])
    np.testing.assert_array_equal(S.argmax(axis=1), [naive_decode(f, model.code_, rule).argmin() for f in F])
    np.testing.assert_array_equal(model.predict(X[600:700]), S.argmax(axis=1))
    assert model.score(X[600:], y[600:]) > 0.9


def test_given_codes():
    """The pairs as a code are one-versus-one, ones against all others are one-versus-rest."""
    X, y = wine()
    given = OutputCodeSVC(2.0, gamma=0.3, code=pair_code(all_pairs(3), 3), tol=1e-8).fit(X, y)
    pairs = PairwiseSVC(2.0, gamma=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(given.code_decision_function(X), pairs.pair_decision_function(X), atol=1e-6)
    given = OutputCodeSVC(2.0, gamma=0.3, code=(2 * np.eye(3) - 1).tolist(), decoding="hinge", tol=1e-8).fit(X, y)
    rest = OneVsRestSVC(2.0, gamma=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(given.code_decision_function(X), rest.decision_function(X), atol=1e-6)


def test_repeated_columns_are_trained_once():
    M = np.array([[1, -1, 1, 1], [-1, 1, 1, -1], [-1, 1, -1, -1]])
    X, y = iris()
    model = OutputCodeSVC(code=M).fit(X, y)
    assert model.code_.tolist() == M[:, [0, 2]].tolist() and model.dual_coef_.shape[0] == 2


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([[1, -1], [1, -1]], r"one row per class.*shape \(3, n_columns\).*got shape \(2, 2\)"),
        ([1, -1, 1], "got shape"),
        ([[1, 2], [-1, 1], [0, -1]], "entries -1, 0 and 1"),
        ([["a"], ["b"], ["c"]], "entries -1, 0 and 1"),
        ([[1, 1], [-1, 1], [0, 0]], "1 and -1 in every column, got only one of them in column 1"),
        ([[1, 1], [1, 1], [-1, -1]], "a different row for every class"),
    ],
)
def test_codes_that_are_none(code, message):
    X, y = iris()
    with pytest.raises(ValueError, match=message):
        OutputCodeSVC(code=code).fit(X, y)
    with pytest.raises(ValueError, match=message):
        check_code(code, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(code="densee"), 'did you mean "dense"'),
        (dict(decoding="loss"), "expected decoding to be one of"),
        (dict(loss="logistic"), "expected loss to be one of"),
        (dict(C=0), "expected C to be a positive number"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y = iris()
    with pytest.raises(ValueError, match=message):
        OutputCodeSVC(**parameters).fit(X, y)
