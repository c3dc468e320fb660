"""Scores and their largest by the core, against sums over naive kernels; what blocks and scores refuse."""

import numpy as np
import pytest
from kernel_blocks import KINDS, TOLERANCE, block, csr, kernel_of, make, naive

from polymargin import _core


def model(rng, sizes, d, density=1.0):
    total = int(sum(sizes))
    SV = make(rng, total + 5, d, density=density)
    sv_rows = rng.permutation(total + 5)[:total].astype(np.int64)
    segments = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return SV, sv_rows, segments, rng.standard_normal(total), rng.standard_normal(len(sizes))


def naive_scores(K, segments, alpha, intercept):
    return np.stack([K[:, a:b] @ alpha[a:b] for a, b in zip(segments[:-1], segments[1:], strict=True)], 1) + intercept


@pytest.mark.parametrize(
    "sizes",
    [[0], [1], [0, 3, 0], [5, 700, 1, 260], [300, 300], [3] * 1000],
    ids=["empty", "one", "gaps", "uneven", "two", "thousand"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores(rng, sizes, dtype):
    SV, sv_rows, segments, alpha, intercept = model(rng, sizes, 4)
    kernel = dict(kind="rbf", gamma=1.5)
    for m in (1, 33, 600):
        Z = make(rng, m, 4)
        arguments = (Z, SV, kernel, sv_rows, segments, alpha, intercept, dtype)
        expected = naive_scores(naive(Z, SV[sv_rows], **kernel), segments, alpha, intercept)
        F = _core.scores(*arguments, 1)
        np.testing.assert_allclose(F, expected, atol=50 * TOLERANCE[dtype])
        np.testing.assert_array_equal(_core.scores(*arguments, 3), F)
        np.testing.assert_array_equal(_core.argmax_scores(*arguments, 2), F.argmax(1))
        if m > 1:
            np.testing.assert_array_equal(_core.scores(Z[7:20], *arguments[1:], 2), F[7:20])


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_csr_rows(rng, kind):
    SV, sv_rows, segments, alpha, intercept = model(rng, [4, 9, 70], 12, density=0.4)
    Z = make(rng, 90, 12, density=0.4)
    expected = naive_scores(naive(Z, SV[sv_rows], **kernel_of(kind)), segments, alpha, intercept)
    for left, right in [(Z, SV), (csr(Z), csr(SV, np.int64)), (csr(Z), SV), (Z, csr(SV))]:
        arguments = (left, right, kernel_of(kind), sv_rows, segments, alpha, intercept, "float64", 2)
        np.testing.assert_allclose(_core.scores(*arguments), expected, atol=1e-11)
        np.testing.assert_array_equal(_core.argmax_scores(*arguments), expected.argmax(1))


def test_scores_of_given_matrices_and_callables(rng):
    K = rng.random((330, 400))
    _, _, segments, alpha, intercept = model(rng, [100, 2, 200], 2)
    columns = rng.permutation(400)[:302].astype(np.int64)
    expected = naive_scores(K[:, columns], segments, alpha, intercept)
    rest = (columns, segments, alpha, intercept, "float64", 2)
    np.testing.assert_allclose(_core.scores(K, None, dict(kind="precomputed"), *rest), expected, atol=1e-12)
    np.testing.assert_array_equal(_core.argmax_scores(K, None, dict(kind="precomputed"), *rest), expected.argmax(1))
    Z, SV = np.zeros((330, 1)), np.zeros((400, 1))
    kernel = dict(kind="callable", call=lambda rows, cols: K[np.ix_(rows, cols)])
    np.testing.assert_allclose(_core.scores(Z, SV, kernel, *rest), expected, atol=1e-12)


def test_equal_scores_go_to_the_smaller_class(rng):
    Z = make(rng, 40, 2)
    segments, sv_rows = np.array([0, 1, 2, 3]), np.array([2, 0, 0])
    SV = np.array([[0.0, 0.0], [9.0, 9.0], [1e3, 1e3]])
    labels = _core.argmax_scores(Z, SV, dict(kind="rbf"), sv_rows, segments, np.ones(3), np.zeros(3), "float32", 1)
    np.testing.assert_array_equal(labels, 1)


def test_bad_arguments_are_refused(rng):
    X = make(rng, 6, 3)
    good = np.arange(6)
    linear = dict(kind="linear")
    with pytest.raises(ValueError, match="same number of features"):
        block(X, X[:, :2], linear)
    with pytest.raises(ValueError, match="2 dimensions"):
        block(X[0], X, linear, rows=[0], cols=[0])
    with pytest.raises(ValueError, match="float32 or float64"):
        block(X.astype(int), X, linear)
    with pytest.raises(ValueError, match="C-contiguous"):
        block(np.asfortranarray(X), X, linear)
    with pytest.raises(ValueError, match=r"rows must lie in \[0, 6\)"):
        block(X, X, linear, rows=[6])
    with pytest.raises(ValueError, match="cols must lie"):
        block(X, X, linear, cols=[-1])
    with pytest.raises(ValueError, match="unknown kernel"):
        block(X, X, dict(kind="cubic"))
    with pytest.raises(ValueError, match="one gamma per feature"):
        block(X, X, dict(kind="rbf", gammas=np.ones(2)))
    with pytest.raises(ValueError, match="gamma"):
        block(X, X, dict(kind="rbf", gamma=-1.0))
    values, indices, indptr, d = csr(X)
    for bad in [
        (values, indices[::-1].copy(), indptr, d),
        (values, indices, indptr, 2),
        (values, indices, indptr + 1, d),
        (values, indices.astype(np.int64), indptr, d),
        (values[:-1], indices, indptr, d),
    ]:
        with pytest.raises(ValueError, match="CSR"):
            _core.gram(bad, linear, good)
    with pytest.raises(ValueError, match="segments"):
        _core.scores(X, X, linear, good, np.array([0, 4]), np.ones(6), np.zeros(1))
    with pytest.raises(ValueError, match="alpha"):
        _core.scores(X, X, linear, good, np.array([0, 6]), np.ones(5), np.zeros(1))
