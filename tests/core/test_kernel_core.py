"""Kernel blocks, Gram matrices and scores of the core against three-line naive ones, by every path."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_blocks import KINDS, TOLERANCE, all_rows, block, csr, kernel_of, make, naive

from polymargin import _core


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_values_dense(rng, kind, given, dtype):
    A, B = make(rng, 45, 19, given), make(rng, 70, 19, given)
    K = block(A, B, kernel_of(kind), dtype)
    assert K.dtype == dtype
    np.testing.assert_allclose(K, naive(A, B, **kernel_of(kind)), atol=TOLERANCE[dtype])


@pytest.mark.parametrize("d", [1, 2, 5, 7, 8, 15, 16, 17, 31, 33, 100, 1023, 1025, 2500])
@pytest.mark.parametrize("kind", ["rbf", "laplacian", "cosine"])
def test_any_number_of_features(rng, kind, d):
    A, B = make(rng, 9, d), make(rng, 37, d)
    for dtype in TOLERANCE:
        np.testing.assert_allclose(
            block(A, B, kernel_of(kind), dtype), naive(A, B, **kernel_of(kind)), atol=TOLERANCE[dtype]
        )
        K = block(B, B, kernel_of(kind), dtype)
        np.testing.assert_array_equal(K, K.T)


# Around whole vectors, the rows and columns of a tile, and the features that are summed at a time.
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("d", [1, 3, 16, 17, 511, 512, 513, 1023, 1024, 1025, 1537])
def test_edges_of_tiles(rng, d, dtype):
    for m, n in ((1, 1), (1, 65), (5, 8), (6, 16), (7, 17), (13, 33), (257, 3)):
        A, B = make(rng, m, d), make(rng, n, d)
        for kind in ("linear", "rbf", "laplacian"):
            K = block(A, B, dict(kind=kind, gamma=0.7), dtype)
            np.testing.assert_allclose(K, naive(A, B, kind=kind, gamma=0.7), atol=TOLERANCE[dtype])


def usual(rng, n, d, given):
    """Rows most of whose values are the usual ones of their features (no float32 numbers); the last tenth is full."""
    full = np.arange(n) >= n - n // 10
    X = np.where(full[:, None] | (rng.random((n, d)) < 0.2), rng.standard_normal((n, d)), rng.standard_normal(d))
    return (X / np.sqrt(d)).astype(given)


@pytest.mark.parametrize(
    "d, given",
    [(17, np.float64), (40, np.float32), (95, np.float64), (97, np.float32), (784, np.float32), (1030, np.float64)],
)
def test_rows_that_share_most_of_their_values(rng, d, given):
    X, kernel = usual(rng, 600, d, given), dict(kind="rbf", gamma=0.7)
    few, full = np.arange(0, 500), np.arange(541, 600)
    for dtype in TOLERANCE:
        K = block(X, X, kernel, dtype)
        np.testing.assert_allclose(K[::50], naive(X[::50], X, **kernel), atol=TOLERANCE[dtype])
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), 1)
        # By lists, without them, and some of both: the same bits.
        for rows in (few, full, few[3:4], np.concatenate([few[:40], full])):
            np.testing.assert_array_equal(block(X, X, kernel, dtype, 2, rows, few[7:300]), K[np.ix_(rows, few[7:300])])
        np.testing.assert_array_equal(_core.gram(X, kernel, all_rows(X), dtype, 2), K)


def test_usual_values_cost_no_digits(rng):
    """Half of the rows and a few more are equal in every feature, the others far from them and near each other."""
    X = np.round(1024 * make(rng, 120, 40)) / 1024 + 1e6 * (np.arange(120) > 63)[:, None]
    X[:64] = 0.3
    K = naive(X, X, kind="rbf", gamma=1.0)
    for dtype in TOLERANCE:
        found = block(X, X, dict(kind="rbf", gamma=1.0), dtype)
        np.testing.assert_allclose(found, K, rtol=0, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 257, 530])
def test_gram_is_symmetric_and_equals_its_blocks(rng, n, kind):
    X = make(rng, n, 6)
    kernel = kernel_of(kind)
    for dtype in TOLERANCE:
        G = _core.gram(X, kernel, all_rows(X), dtype, 2)
        np.testing.assert_array_equal(G, G.T)
        np.testing.assert_array_equal(G, block(X, X, kernel, dtype))
        np.testing.assert_allclose(G, naive(X, X, **kernel), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        np.testing.assert_array_equal(_core.diagonal(X, kernel, all_rows(X), dtype), np.diag(G).astype(float))


def test_gram_of_long_rows_and_of_a_selection(rng):
    X = make(rng, 300, 1500, np.float32)
    rows = rng.permutation(300)[:290].astype(np.int64)
    G = _core.gram(X, dict(kind="rbf", gamma=0.5), rows, "float32", 2)
    np.testing.assert_array_equal(G, G.T)
    np.testing.assert_array_equal(G, block(X, X, dict(kind="rbf", gamma=0.5), "float32", rows=rows, cols=rows))
    np.testing.assert_array_equal(np.diag(G), 1)
    np.testing.assert_allclose(G[:20], naive(X[rows[:20]], X[rows], kind="rbf", gamma=0.5), atol=4e-6)


@pytest.mark.parametrize("form", ["dense", "csr", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_depends_on_its_two_rows_only(rng, kind, form):
    X = make(rng, 700, 23, density=1.0 if form == "dense" else 0.3)
    A = X if form == "dense" else csr(X)
    B = X if form != "csr" else A
    kernel = kernel_of(kind)
    for dtype in TOLERANCE:
        K = block(A, B, kernel, dtype)
        np.testing.assert_array_equal(block(A, B, kernel, dtype, n_jobs=3), K)
        rows, cols = rng.permutation(700)[:211], rng.permutation(700)[:333]
        np.testing.assert_array_equal(block(A, B, kernel, dtype, 2, rows, cols), K[np.ix_(rows, cols)])
        for r, c in rng.integers(0, 700, (20, 2)):
            assert block(A, B, kernel, dtype, 1, [r], [c]) == K[r, c]
        if form != "mixed":
            np.testing.assert_array_equal(K, K.T)
        if kind in ("rbf", "laplacian"):
            np.testing.assert_array_equal(np.diag(K), 1.25)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("given", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_csr(rng, kind, given, index):
    A, B = make(rng, 40, 30, given, 0.2), make(rng, 75, 30, given, 0.2)
    A[3] = A[-1] = B[0] = B[-1] = 0  # empty rows
    A[:, 4] = 0
    expected = naive(A, B, **kernel_of(kind))
    for dtype in TOLERANCE:
        for left, right in [(csr(A, index), csr(B, index)), (csr(A, index), B), (A, csr(B, index))]:
            np.testing.assert_allclose(block(left, right, kernel_of(kind), dtype), expected, atol=TOLERANCE[dtype])
        G = _core.gram(csr(A, index), kernel_of(kind), all_rows(A), dtype, 2)
        np.testing.assert_allclose(G, naive(A, A, **kernel_of(kind)), atol=TOLERANCE[dtype])
        np.testing.assert_array_equal(
            _core.diagonal(csr(A, index), kernel_of(kind), all_rows(A), dtype), np.diag(G).astype(float)
        )


@pytest.mark.parametrize("kind", ["rbf", "linear", "laplacian"])
def test_csr_with_very_many_features(rng, kind):
    n, d = 50, 3000
    X = make(rng, n, d, density=0.02)
    values, indices, indptr, _ = csr(X, np.int64)
    spread = values, indices * 10**7, indptr, d * 10**7
    expected = naive(X, X, kind=kind)
    np.testing.assert_allclose(block(spread, spread, dict(kind=kind)), expected, atol=1e-13)
    np.testing.assert_allclose(_core.gram(spread, dict(kind=kind), np.arange(n), "float64", 2), expected, atol=1e-13)


def test_a_thread_that_saw_other_csr_data_forgets_them(rng):
    for d in (50, 20, 5000, 30):
        X = make(rng, 30, d, density=0.3)
        np.testing.assert_allclose(block(csr(X), csr(X), dict(kind="linear")), X @ X.T, atol=1e-13)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_one_gamma_per_feature(rng, form):
    A, B = make(rng, 20, 11, density=0.6), make(rng, 50, 11, density=0.6)
    gammas = rng.random(11) * 3
    gammas[2] = 0
    left, right = (A, B) if form == "dense" else (csr(A), csr(B))
    for dtype in TOLERANCE:
        K = block(left, right, dict(kind="rbf", gammas=gammas), dtype)
        np.testing.assert_allclose(K, naive(A, B, kind="rbf", gammas=gammas), atol=TOLERANCE[dtype])


def test_arrays_with_gaps_and_read_only_ones(rng, tmp_path):
    wide = make(rng, 60, 40, np.float32)
    kernel = dict(kind="rbf", gamma=2.0)
    for X in (wide[::2], wide[:, 5:22], wide[::-1, 3:9], wide[10:11, :1], wide[:, 39:]):
        np.testing.assert_allclose(block(X, X, kernel), naive(X, X, **kernel), atol=1e-13)
    path = tmp_path / "rows.bin"
    wide.tofile(path)
    mapped = np.memmap(path, np.float32, "r", shape=wide.shape)
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(block(mapped, mapped, kernel), block(wide, wide, kernel))
    wide.flags.writeable = False
    np.testing.assert_array_equal(block(wide, wide, kernel), block(mapped, mapped, kernel))


def test_precomputed(rng):
    K = rng.random((30, 41))
    rows, cols = rng.integers(0, 30, 17), rng.integers(0, 41, 55)
    for given in (np.float32, np.float64):
        found = block(K.astype(given), K.astype(given), dict(kind="precomputed", offset=2.0), "float64", 2, rows, cols)
        np.testing.assert_array_equal(found, K.astype(given)[np.ix_(rows, cols)].astype(float) + 2)
    np.testing.assert_array_equal(_core.diagonal(K, dict(kind="precomputed"), np.arange(30)), np.diag(K))


def test_callable(rng):
    A, B = make(rng, 12, 3), make(rng, 70, 3)

    def call(rows, cols):
        return (A[rows] @ B[cols].T + 1) ** 2

    kernel = dict(kind="callable", call=call, offset=0.5)
    np.testing.assert_allclose(block(A, B, kernel, n_jobs=2), (A @ B.T + 1) ** 2 + 0.5, atol=1e-14)
    square = dict(kind="callable", call=lambda rows, cols: A[rows] @ A[cols].T)
    np.testing.assert_allclose(_core.diagonal(A, square, np.arange(12)), (A**2).sum(1), atol=1e-14)
    with pytest.raises(ZeroDivisionError):
        block(A, B, dict(kind="callable", call=lambda rows, cols: 1 / 0), n_jobs=2)
    with pytest.raises(ValueError, match=r"shape \(12, 70\)"):
        block(A, B, dict(kind="callable", call=lambda rows, cols: np.zeros((1, 2))))


def test_exp_over_its_whole_range():
    # The Laplacian of x and 0 is exp(-|x|). As CSR, since dense rows lose digits when their mean is subtracted.
    for dtype, lowest in (("float32", -87.33), ("float64", -708.39)):
        x = np.concatenate([np.linspace(0, -lowest, 40001), 2.0 ** np.arange(-40, 6)]).astype(dtype)[:, None]
        zero = csr(np.zeros((1, 1), dtype))
        expected = np.exp(-x.astype(np.longdouble))
        K = block(csr(x), zero, dict(kind="laplacian", gamma=1.0), dtype)
        assert np.all(np.abs(K - expected) <= 2 * np.spacing(expected.astype(dtype)).astype(np.longdouble))
        far = np.array([[100.0 if dtype == "float32" else 800.0], [1e4], [1e30], [np.finfo(dtype).max]], dtype)
        np.testing.assert_array_equal(block(csr(far), zero, dict(kind="laplacian"), dtype), 0)


def test_tanh_over_its_whole_range():
    x = np.concatenate([np.linspace(-20, 20, 40001), 10.0 ** np.arange(-30, 5)])
    for dtype in TOLERANCE:
        z = x.astype(dtype)[:, None]
        K = block(z, np.ones((1, 1), dtype), dict(kind="sigmoid", gamma=1.0), dtype)
        np.testing.assert_allclose(K, np.tanh(z.astype(float)), rtol=4 * np.finfo(dtype).eps)


def test_nothing_becomes_nan_where_rows_are_huge():
    X = np.array([[1e25, 0.0], [-1e25, 1.0], [0.0, 1e-30]], np.float32)
    for kind in ("rbf", "laplacian"):
        K = block(X, X, dict(kind=kind, gamma=1.0), "float32")
        assert np.isfinite(K).all()
        np.testing.assert_array_equal(K[~np.eye(3, dtype=bool)], 0)


def test_rows_far_from_the_origin(rng):
    X = make(rng, 80, 4) + 1e6
    K = naive(X, X, kind="rbf", gamma=1.0)
    np.testing.assert_allclose(block(X, X, dict(kind="rbf", gamma=1.0), "float32"), K, atol=3e-6)
    np.testing.assert_allclose(
        block(X, X, dict(kind="laplacian", gamma=1.0), "float32"), naive(X, X, kind="laplacian"), atol=3e-6
    )
    near = X.astype(np.float32)
    np.testing.assert_allclose(block(near, near, dict(kind="rbf"), "float32"), naive(near, near, kind="rbf"), atol=3e-6)
    # float32 against float64 rows of the same numbers: the same distances
    np.testing.assert_array_equal(np.diag(block(near, near.astype(float), dict(kind="rbf"), "float32")), 1)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("d", [4, 40])
def test_rows_near_each_other_and_far_from_their_mean(rng, d, dtype):
    X = np.round(1024 * make(rng, 50, d)) / 1024
    side = np.where(np.arange(50) % 2, 1e6, -1e6)[:, None]
    K = naive(X, X, kind="rbf", gamma=1.0) * (side == side.T)
    forms = [X + side, csr(X + side)] if d > 16 else [csr(X + side)]  # up to 16 features of dense rows: differences
    for A in forms:
        for B in forms:
            K_AB = block(A, B, dict(kind="rbf", gamma=1.0), dtype)
            np.testing.assert_allclose(K_AB, K, rtol=0, atol=4 * np.finfo(dtype).eps)
            np.testing.assert_array_equal(K_AB, block(B, A, dict(kind="rbf", gamma=1.0), dtype).T)


def test_extreme_parameters(rng):
    X = make(rng, 20, 3)
    np.testing.assert_allclose(
        block(X, X, dict(kind="poly", degree=10**9, gamma=1e-9, coef0=1.0)),
        np.exp(naive(X, X, kind="linear")),
        rtol=1e-6,
    )
    np.testing.assert_array_equal(block(X, X, dict(kind="rbf", gamma=0.0)), 1)
    np.testing.assert_array_equal(block(X, X, dict(kind="rbf", gamma=1e9)), np.eye(20))
    np.testing.assert_array_equal(block(X, X, dict(kind="poly", degree=0, gamma=2.0)), 1)
    np.testing.assert_allclose(
        block(X, X, dict(kind="poly", degree=7, coef0=1.0)), naive(X, X, kind="poly", degree=7, coef0=1.0)
    )


# ---- instruction sets ----


def test_the_best_instruction_set_is_chosen():
    """Of those that Linux lists; the variables are those of .ci/matrix, which choose another one."""
    info, others = Path("/proc/cpuinfo"), {"POLYMARGIN_SIMD", "POLYMARGIN_WIDE"}
    if platform.machine() != "x86_64" or not info.exists() or os.environ.keys() & others:
        pytest.skip("not known here")
    has = set(re.search(r"^flags\s*:(.*)$", info.read_text(), re.MULTILINE)[1].split())
    wide = {"avx512f", "avx512dq", "avx512vl", "avx512bw"} <= has
    assert _core.simd() == ("base" if not {"avx2", "fma"} <= has else "avx512" if wide else "avx2")


@pytest.mark.parametrize("simd", ["base", "avx2", "avx512"])
def test_every_instruction_set(simd):
    """What depends on the length of vectors, with the choice of instructions lowered; .ci/matrix runs all tests so."""
    order = ["base", "avx2", "avx512"]
    if order.index(simd) >= order.index(_core.simd()):
        pytest.skip(f"{_core.simd()} is in use already, {simd} is not below it")
    script = (
        "import sys, pytest; from polymargin import _core; assert _core.simd() == sys.argv[1]; "
        "sys.exit(pytest.main(sys.argv[2:]))"
    )
    kernels = "values_dense or number_of_features or edges_of_tiles or share_most or whole_range or test_scores"
    weights = "(test_kernel_engine and kesler-hinge)"  # linear machines, every width of a row of classes
    here = Path(__file__)
    files = [here, here.with_name("test_scores.py"), here.parents[1] / "training" / "test_linear.py"]
    options = ["-q", "-x", "-p", "no:xdist", "-p", "no:hypothesispytest", "-k", f"{kernels} or {weights}"]
    run = subprocess.run(
        [sys.executable, "-c", script, simd, *options, *map(str, files)],
        env={**os.environ, "POLYMARGIN_SIMD": simd}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
