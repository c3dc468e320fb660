"""The core refuses wrong arguments with a ValueError or TypeError of one sentence; it never crashes, whatever it gets.

Every call of the table below works. Then each of its arguments is spoiled in all ways that its kind allows: None, other
types and dimensions, one entry more or less, indices out of range, NaN, infinity, negative and huge numbers. Each must
be refused, except for those named in FINE. A family of calls runs in a process of its own, so that a crash is a failed
test.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

from polymargin import _core

N, D = 12, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = np.repeat(np.arange(3), 4)
ROWS, SEGMENTS = np.arange(N), np.array([0, 4, 8, 12])
RBF = {"kind": "rbf", "gamma": 0.5}
K = _core.gram(X, RBF, ROWS)
ONES, ZEROS = np.ones(N), np.zeros(N)
CODE = np.array([[1, 1], [-1, 1], [-1, -1]], np.int8)
RUN = dict(tol=1e-3, max_iter=1000, time_limit=1.0)
STORE = dict(dtype="float64", memory=1e6, n_jobs=1)
MODEL = dict(indptr=np.array([0, 1, 2, 3]), indices=np.array([0, 1, 2]), values=np.ones(3), bias=np.zeros(3))
SV = dict(Z=X, SV=X, kernel=RBF, sv_rows=ROWS, dtype="float32", n_jobs=1)
CSR = (np.ones(N), np.zeros(N, np.int64), np.arange(N + 1), D)


def solver():
    return _core.CodeSolver(X, RBF, ROWS, SEGMENTS, **STORE)


def problems():
    made = _core.InnerProblems(SEGMENTS, [(np.array([0, 1]), True), (np.array([2]), False)], ONES, 1)
    made.solve(K, 1e-3, 1e-3, 100, 10.0)
    return made


LANDMARKS = dict(
    kernel=RBF, rows=ROWS, label=Y, strength=ONES, classes=3, reference="own", own_target=0.0, others=True, capped=True,
    square=0.0, dtype="float32", memory=1e6, n_jobs=1,
)  # fmt: skip
CALLS = {
    "codes": {
        "CodeSolver": (
            lambda **a: _core.CodeSolver(**a).solve(CODE, ONES, ZEROS, None, stop=None, **RUN),
            dict(X=X, kernel=RBF, rows=ROWS, segments=SEGMENTS, **STORE),
        ),
        "CodeSolver.solve": (
            lambda **a: solver().solve(**a),
            dict(code=CODE, upper=ONES, ridge=ZEROS, start=None, stop=None, **RUN),
        ),
        "CodeSolver.solve_from": (
            lambda indptr, indices, values, **a: solver().solve(start=(indptr, indices, values), **a),
            dict(code=np.array([[0, 1], [0, 2], [1, 2]]), upper=ONES, ridge=ZEROS, stop=None, **RUN)
            | {k: MODEL[k] for k in ("indptr", "indices", "values")},
        ),
        "code_scores": (_core.code_scores, SV | MODEL),
        "pair_votes": (_core.pair_votes, SV | MODEL | {"classes": 3}),
        "dag_winners": (_core.dag_winners, SV | MODEL | {"classes": 3}),
        "code_paths": (
            lambda train, weight, test, **a: _core.code_paths(train=[train], weight=[weight], test=[test], **a),
            dict(K=K, segments=SEGMENTS, code=CODE, train=ROWS[:9], weight=ONES[:9], test=ROWS[9:], squared=False)
            | dict(C=np.array([1.0, 2.0]), n_jobs=1, **RUN),
        ),
    },
    "solvers": {
        "DualSolver": (
            lambda **a: _core.DualSolver(**a).solve(
                ONES, ONES, ZEROS, "none", False, ZEROS, relative=False, stop=None, **RUN
            ),
            dict(X=X, kernel=RBF, rows=ROWS, segments=SEGMENTS, same=1.0, other=-0.5, **STORE),
        ),
        "DualSolver.solve": (
            lambda **a: _core.DualSolver(X, RBF, ROWS, SEGMENTS, 1.0, -0.5, **STORE).solve(**a),
            dict(
                linear=ONES,
                upper=ONES,
                ridge=ZEROS,
                sum="none",
                entropy=False,
                alpha=ZEROS,
                relative=False,
                stop=None,
                lower=-ONES,
                gap=0.01,
            )  # fmt: skip
            | RUN,
        ),
        "MarginSolver": (
            lambda **a: _core.MarginSolver(**a).solve(ONES, ZEROS, np.zeros(3 * N), "auto", stop=None, **RUN),
            dict(X=X, kernel=RBF, rows=ROWS, label=Y, classes=3, reference="mean", own_target=1.0, capped=False)
            | STORE,
        ),
        "MarginSolver.solve": (
            lambda **a: _core.MarginSolver(X, RBF, ROWS, Y, 3, "own", 0.0, False, **STORE).solve(**a),
            dict(upper=ONES, ridge=ZEROS, b=np.zeros(3 * N), solver="auto", stop=None, **RUN),
        ),
        "LinearMarginSolver": (
            lambda **a: _core.LinearMarginSolver(**a).solve(ONES, ZEROS, np.zeros((N, 3)), seed=0, stop=None, **RUN),
            dict(X=X, rows=ROWS, label=Y, classes=3, capped=False, offset=1.0, target=np.ones(9), n_jobs=1),
        ),
        "LinearMarginSolver.solve": (
            lambda **a: _core.LinearMarginSolver(X, ROWS, Y, 3, False, 1.0, np.zeros(0), 1).solve(**a),
            dict(upper=ONES, ridge=ZEROS, D=np.zeros((N, 3)), seed=0, stop=None, **RUN),
        ),
        "LandmarkRows": (
            lambda **a: _core.LandmarkRows(**a).sums(
                0, N, ONES[:3].repeat(2), np.zeros(3), 0.1, np.zeros(N, np.float32)
            ),
            dict(X=X, Z=X, landmarks=ROWS[:2], **LANDMARKS),
        ),
        "LandmarkRows.sums": (
            lambda **a: _core.LandmarkRows(X=X, Z=X, landmarks=ROWS[:2], **LANDMARKS).sums(**a),
            dict(first=0, last=N, U=np.ones(6), b=np.zeros(3), smoothing=0.1, curvature=np.zeros(N, np.float32)),
        ),
        "LandmarkRows.some": (
            lambda **a: _core.LandmarkRows(X=X, Z=X, landmarks=ROWS[:2], **LANDMARKS).some(**a),
            dict(which=ROWS, U=np.ones(6), b=np.zeros(3), smoothing=0.1),
        ),
        "curvature_product": (
            _core.curvature_product,
            dict(phi=X.T.copy(), d=np.ones((3, D + 1)), label=Y, first=np.ones((3, N)), second=np.ones((3, N)))
            | dict(scale=ONES, reference="own"),
        ),
        "solve_qp": (
            _core.solve_qp,
            dict(Q=K, linear=ONES, upper=ONES, groups=SEGMENTS, alpha=np.full(N, 0.5), tol=1e-3, max_steps=100),
        ),
    },
    "kernels and scores": {
        "kernel_block": (
            _core.kernel_block,
            dict(A=X, B=X, kernel=RBF, rows=ROWS, cols=ROWS, dtype="float64", n_jobs=1),
        ),
        "csr": (
            lambda values, indices, indptr, d: _core.gram((values, indices, indptr, d), RBF, ROWS),
            dict(zip(("values", "indices", "indptr", "d"), CSR, strict=True)),
        ),
        "gram": (_core.gram, dict(A=X, kernel=RBF, rows=ROWS, dtype="float32", n_jobs=1)),
        "fill_gram": (_core.fill_gram, dict(A=X, kernel=RBF, rows=ROWS, K=np.zeros((N, N)), n_jobs=1)),
        "gram_precomputed": (
            _core.gram,
            dict(A=K, kernel={"kind": "precomputed"}, rows=ROWS, dtype="float32", n_jobs=1),
        ),
        "diagonal": (_core.diagonal, dict(A=X, kernel=RBF, rows=ROWS, dtype="float32")),
        "scores": (_core.scores, SV | dict(segments=SEGMENTS, alpha=ONES, intercept=np.zeros(3))),
        "argmax_scores": (_core.argmax_scores, SV | dict(segments=SEGMENTS, alpha=ONES, intercept=np.zeros(3))),
        "own_scores": (
            _core.own_scores,
            SV | dict(segments=SEGMENTS, alpha=ONES, intercept=np.zeros(3), labels=Y, same=1.0, other=-1.0),
        ),
    },
    "criterion and neighbors": {
        "rbf_of_distances": (_core.rbf_of_distances, dict(D=K, gamma=1.0, K=np.zeros((N, N)), n_jobs=1)),
        "InnerProblems": (
            lambda segments, classes, margin, ridge, n_jobs: _core.InnerProblems(
                segments, [(classes, margin)], ridge, n_jobs
            ),
            dict(segments=SEGMENTS, classes=np.array([0, 2]), margin=True, ridge=ONES, n_jobs=1),
        ),
        "InnerProblems.solve": (
            lambda **a: problems().solve(**a),
            dict(K=K, level=1e-3, tol=1e-3, max_steps=100, time_limit=10.0),
        ),
        "InnerProblems.weighted_sum": (lambda **a: problems().weighted_sum(**a), dict(K=K, D=K, weight=np.ones(2))),
        "InnerProblems.feature_sums": (lambda **a: problems().feature_sums(**a), dict(K=K, X=X, weight=np.ones(2))),
        "nearest": (
            _core.nearest,
            dict(X=X, order=ROWS, label=Y, group=Y, queries=ROWS, k=2, radius=1.0, supervised=True, gamma=1.0)
            | dict(alpha=0.5, inside=False, classes=3, scale=np.ones(9), dtype="float64", n_jobs=1),
        ),
        "shortest_paths": (
            _core.shortest_paths,
            dict(indptr=np.array([0, 1, 2]), indices=np.array([1, 0], np.int32), lengths=np.ones(2))
            | dict(sources=np.array([0, 1]), n_jobs=1),
        ),
    },
}

NAN, INF = float("nan"), float("inf")


def with_first(a, value):
    a = a.copy()
    a.flat[0] = value
    return a


def spoiled(value):
    """name -> value of wrong arguments in the place of `value`."""
    if isinstance(value, np.ndarray):
        out = {"none": None, "text": np.full(value.shape, "a"), "deep": value[None], "empty": value[:0]}
        out |= {"longer": np.concatenate([value, value[-1:]]), "shorter": value[:-1], "number": 1.0, "object": object()}
        if value.dtype.kind == "i":
            most = int(np.iinfo(value.dtype).max)
            return out | {
                "-1": with_first(value, -1),
                "large": with_first(value, N + 1),
                "huge": with_first(value, most),
            }
        return out | {"nan": with_first(value, NAN), "inf": with_first(value, INF), "-1": with_first(value, -1.0)}
    if isinstance(value, bool):
        return {"none": None, "text": "a"}
    if isinstance(value, int):
        return {"none": None, "text": "a", "half": 1.5, "-1": -1, "0": 0, "large": 2**31 - 1, "huge": 2**62}
    if isinstance(value, float):
        return {"none": None, "text": "a", "nan": NAN, "-1": -1.0, "inf": INF, "-inf": -INF}
    if isinstance(value, str):
        return {"none": None, "number": 1, "unknown": "unknown"}
    if isinstance(value, dict):
        changed = {
            "text gamma": {"gamma": "a"}, "nan gamma": {"gamma": NAN}, "-1 gamma": {"gamma": -1.0},
            "no kind": {"kind": None}, "other kind": {"kind": "unknown"}, "number as kind": {"kind": 3},
            "gammas": {"gammas": np.ones(D + 1)}, "text gammas": {"gammas": "a"},
            "nan gammas": {"gammas": with_first(np.ones(D), NAN)},
            "degree": {"kind": "poly", "degree": -1}, "half degree": {"kind": "poly", "degree": 0.5},
            "call": {"kind": "callable", "call": 3}, "no call": {"kind": "callable"},
        }  # fmt: skip
        return {"none": None, "list": []} | {name: RBF | change for name, change in changed.items()}
    return {"number": 1.5, "text": "a"}  # None: a start or a function that is asked


# What is no mistake: (calls, or "" for all, arguments, spoiled how).
SCORES = "code_scores pair_votes dag_winners scores argmax_scores own_scores"
SUMS = "InnerProblems.weighted_sum InnerProblems.feature_sums"
FINE = [
    ("", "X A B Z SV", "longer nan inf -1"),  # rows that nobody names; values that are passed on, though no finite ones
    ("", "K D Q lengths", "nan inf -1"),
    ("", "Z rows cols order queries sources test C", "empty longer shorter"),
    ("", "segments groups", "longer"),  # a class without rows
    ("", "n_jobs", "large"),  # as many threads as are useful
    ("", "max_iter max_steps seed k", "0 large huge"),
    ("", "tol memory upper radius", "inf"),
    ("", "time_limit", "-1 inf -inf"),
    ("", "linear alpha b target code lower", "-1"),
    ("", "scale group target", "empty"),
    ("nearest", "group", "-1 large huge"),  # names of groups
    ("DualSolver MarginSolver own_scores", "same other own_target", "-1"),
    ("DualSolver.solve", "lower", "none"),
    ("DualSolver.solve", "gap", "inf"),
    ("own_scores", "same other", "nan inf -inf"),
    ("rbf_of_distances", "gamma", "inf"),
    ("code_paths", "weight", "inf"),
    ("code_scores pair_votes dag_winners", "sv_rows", "longer shorter"),
    ("CodeSolver.solve_from", "values", "-1"),
    ("csr", "values", "nan inf -1"),
    ("csr shortest_paths", "indptr", "longer"),  # a row without values, a node without edges
    ("csr", "d", "large huge"),
    (SCORES, "values bias alpha intercept", "nan inf -1"),
    (SUMS, "weight", "nan inf -1"),
    ("LandmarkRows.sums", "first", "0"),
    ("LandmarkRows.sums LandmarkRows.some", "U", "-1"),
    ("LandmarkRows.sums", "curvature", "nan inf -1"),  # it is written
    ("curvature_product", "phi d first second scale", "nan inf -inf -1"),
    ("curvature_product", "second", "empty"),
    ("LandmarkRows.some", "which", "empty longer shorter"),  # any rows
]


def fine(name, argument, how):
    return any((not n or name in n.split()) and argument in a.split() and how in h.split() for n, a, h in FINE)


def outcomes():
    """Lines for the parent: the call before it is made, then how it ended."""
    for name, (call, arguments) in ((name, call) for calls in CALLS.values() for name, call in calls.items()):
        call(**arguments)
        for argument, value in arguments.items():
            for how, wrong in spoiled(value).items():
                print(json.dumps([name, argument, how]), flush=True)
                try:
                    call(**{**arguments, argument: wrong})
                    print(json.dumps("returned"), flush=True)
                except BaseException as error:
                    print(json.dumps([type(error).__name__, str(error)]), flush=True)


def test_no_rows_at_all():
    none, nobody = np.zeros(0, np.int64), np.zeros(2, np.int64)
    for make in (
        lambda: _core.CodeSolver(X, RBF, none, nobody, **STORE),
        lambda: _core.DualSolver(X, RBF, none, nobody, 1.0, 0.0, **STORE),
        lambda: _core.MarginSolver(X, RBF, none, none, 3, "own", 0.0, False, **STORE),
        lambda: _core.LinearMarginSolver(X, none, none, 3, False, 1.0, np.zeros(0), 1),
    ):
        with pytest.raises(ValueError, match="rows must not be empty"):
            make()


@pytest.mark.parametrize(
    "code", [np.array([[0, 1], [0, -1], [0, 0]], np.int8), np.array([[0, 1], [0, 0], [0, -1]], np.int8)]
)
@pytest.mark.parametrize("squared", [False, True])
def test_columns_without_rows(code, squared):
    """Of classes that no column names, or that have no rows: a machine that says 0, beside one that is as ever."""
    box = dict(upper=np.full(N, np.inf), ridge=ONES) if squared else dict(upper=ONES, ridge=ZEROS)
    for segments in (SEGMENTS, np.array([0, 6, 12, 12])):
        both = _core.CodeSolver(X, RBF, ROWS, segments, **STORE).solve(code, start=None, stop=None, **box, **RUN)
        assert both["indptr"][1] == 0 and both["bias"][0] == 0 and both["status"] == "solved"
        folds = dict(train=[ROWS[::2], ROWS[:0]], weight=[ONES[::2], ONES[:0]], test=[ROWS[1::2], ROWS])
        F = _core.code_paths(K, segments, code, C=ONES[:1], squared=squared, n_jobs=1, **folds, **RUN)["F"]
        assert np.isfinite(F).all() and not F[0].any() and not F[1, :, N // 2 :].any() and F[1, :, : N // 2].any()


def test_wrong_arguments_are_refused():
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"crashed with code {done.returncode} in {lines[-1:]}: {done.stderr[-500:]}"
    wrong = []
    for (name, argument, how), outcome in zip(lines[::2], lines[1::2], strict=True):
        if outcome == "returned" and not fine(name, argument, how):
            wrong.append(f"{name}: {argument} {how} was accepted")
        elif outcome != "returned" and outcome[0] not in ("ValueError", "TypeError"):
            wrong.append(f"{name}: {argument} {how} ended with {outcome[0]}: {outcome[1]}")
    assert len(lines) > 1000 and not wrong, "\n".join(wrong)


def test_every_function_is_here():
    called = {name for calls in CALLS.values() for name in calls} - {"csr", "gram_precomputed", "CodeSolver.solve_from"}
    there = {name for name in dir(_core) if not name.startswith("_")} - {"simd"}
    methods = {
        f"{name}.{method}"
        for name in there
        if isinstance(getattr(_core, name), type)
        for method, made in vars(getattr(_core, name)).items()
        if not method.startswith("_")
        and not isinstance(made, property)
        and callable(getattr(getattr(_core, name), method))
    }
    assert there | methods == called


if __name__ == "__main__":
    outcomes()


def test_sizes_whose_products_overflow():
    """(2^62 + 2)^2 is 4 in 64 bits: four entries must not pass for a pair each, and any number of features is fine."""
    huge, four = 2**62 + 2, np.ones(4)
    with pytest.raises(ValueError, match="one entry per pair of classes"):
        _core.LinearMarginSolver(X, ROWS, Y, huge, False, 1.0, four, 1)
    with pytest.raises(ValueError, match="classes x classes"):
        _core.nearest(X, ROWS, Y, Y[:0], ROWS, 2, 0.0, True, 1.0, 0.5, False, huge, four)
    with pytest.raises(ValueError, match="one column each"):
        _core.pair_votes(**SV, **MODEL, classes=huge)
    with pytest.raises((ValueError, MemoryError)):
        wide = _core.LinearMarginSolver((*CSR[:3], 2**60), ROWS, Y, 3, False, 1.0, np.zeros(0), 1)
        wide.solve(ONES, ZEROS, np.zeros((N, 3)), seed=0, stop=None, **RUN)
    narrow = _core.gram(CSR, RBF, ROWS, "float64", 2)
    np.testing.assert_array_equal(_core.gram((*CSR[:3], 2**62), RBF, ROWS, "float64", 2), narrow)
    np.testing.assert_array_equal(
        _core.kernel_block((*CSR[:3], 2**62), (*CSR[:3], 2**62), RBF, ROWS, ROWS, "float64", 2), narrow
    )
