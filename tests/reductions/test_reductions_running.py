"""How reductions run: many rows, memory, threads, limits, interruptions and warm starts give the same machines."""

import numpy as np
import pytest
from clocks import SLOWER, assert_within
from ctrl_c import CtrlC, posix
from data_sets import blobs, digits, endless, wine
from oracles import rbf
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from polymargin import OneVsRestSVC, OutputCodeSVC, PairwiseSVC, _core
from polymargin.papers.criteria import half
from polymargin.training.pair_codes import all_pairs, pair_code

SCHEMES = [PairwiseSVC(), OneVsRestSVC(), OutputCodeSVC(code="sparse", random_state=0)]
schemes = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)


def columns(scheme, X, y, Z, **parameters):
    model = type(scheme)(**scheme.get_params()).set_params(**parameters).fit(X, y)
    assert model.status_ == "solved" and model.kkt_violation_ <= model.tol
    return model, model._raw_scores(Z)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@schemes
def test_threads_memory_and_order(scheme, loss, rng):
    """600 rows of float64 are 2.9 MB: with 1 MB the machines of many classes work on active sets."""
    X, y = digits()
    X, y, Z = X[:600], y[:600], X[600:700]
    run = dict(gamma=0.05, C=5.0, tol=1e-7, loss=loss)
    model, F = columns(scheme, X, y, Z, n_jobs=1, **run)
    for other in (dict(n_jobs=2), dict(n_jobs=1, memory="1MB"), dict(n_jobs=2, memory=1 << 20)):
        again, G = columns(scheme, X, y, Z, **other, **run)
        np.testing.assert_allclose(G, F, atol=1e-5)
        assert again.primal_objective_ == pytest.approx(model.primal_objective_, rel=1e-6)
        assert again.dual_objective_ == pytest.approx(model.dual_objective_, rel=1e-6)
    order = rng.permutation(len(y))
    np.testing.assert_allclose(columns(scheme, X[order], y[order], Z, **run)[1], F, atol=1e-5)


def test_pairs_that_make_their_own_blocks():
    """3,000 rows of float64 are more than is held whatever the code: every pair makes its own block."""
    X, y = blobs([900, 700, 800, 600], 4, seed=3, spread=0.7)
    model, F = columns(PairwiseSVC(), X, y, X, gamma=0.5, tol=1e-6)
    assert model.n_kernel_evals_ <= 0.51 * len(y) ** 2 + 1000
    svc = SVC(gamma=0.5, tol=1e-7, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(F, svc.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_active_sets_of_many_rows(loss):
    """A pair of more than 6,144 rows works on an active set, and computes a small part of the kernel matrix."""
    X, y = blobs([3300, 3200], 3, seed=5, spread=0.5)
    K_cost = len(y) ** 2
    model, f = columns(PairwiseSVC(), X, y, X[:500], gamma=0.5, tol=1e-4, loss=loss)
    whole, g = columns(OneVsRestSVC(), X.astype(np.float64), y, X[:500], gamma=0.5, tol=1e-6, loss=loss, memory="2GB")
    assert whole.n_kernel_evals_ < 0.6 * K_cost
    if loss == "hinge":
        assert model.n_kernel_evals_ < 0.4 * K_cost
        svc = SVC(gamma=0.5, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(f[:, 0], svc.decision_function(X[:500]), atol=2e-3)
    np.testing.assert_allclose(f, g, atol=2e-3)
    assert model.duality_gap_ < 1e-3


def test_float32_values_serve_the_default_tolerance():
    X, y = blobs([800, 800, 800], 4, seed=2, spread=0.9)
    a = PairwiseSVC(5.0, gamma=0.3).fit(X, y)
    b = PairwiseSVC(5.0, gamma=0.3, tol=1e-6).fit(X, y)
    assert a.dual_objective_ <= b.primal_objective_ and a.primal_objective_ >= b.dual_objective_
    assert a.primal_objective_ == pytest.approx(b.primal_objective_, rel=1e-2)
    assert np.abs(a.pair_decision_function(X) - b.pair_decision_function(X)).max() < 0.05


@schemes
def test_max_iter_and_warm_start(scheme):
    X, y = blobs([150] * 4, 5, seed=0, spread=2.0)
    whole = type(scheme)(**scheme.get_params()).set_params(C=100.0).fit(X, y)
    model = type(scheme)(**scheme.get_params()).set_params(C=100.0, max_iter=20, warm_start=True)
    with pytest.warns(ConvergenceWarning, match=f"{type(scheme).__name__}.*max_iter.*raise max_iter"):
        model.fit(X, y)
    half = model.dual_objective_
    assert model.status_ == "max_iter" and half < whole.dual_objective_ and model.kkt_violation_ > model.tol
    model.set_params(max_iter=10_000_000).fit(X, y)
    assert model.status_ == "solved" and model.dual_objective_ > half
    assert model.primal_objective_ == pytest.approx(whole.primal_objective_, rel=1e-2)
    assert model.fit(X, y).n_iter_ <= whole.n_iter_ // 4


def test_warm_start_from_another_c():
    X, y = wine()
    model = PairwiseSVC(10.0, gamma=0.3, tol=1e-8, warm_start=True).fit(X, y)
    warm = model.set_params(C=1.0).fit(X, y).pair_decision_function(X)
    np.testing.assert_allclose(
        warm, PairwiseSVC(1.0, gamma=0.3, tol=1e-8).fit(X, y).pair_decision_function(X), atol=1e-6
    )


@schemes
def test_time_limit_is_kept(scheme):
    model, X, y = endless(clone(scheme), n_jobs=2, time_limit=0.5)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert model.fit_seconds_ > 0.2 and model.status_ == "time_limit"  # some of it is kept for scores
    assert model.decision_function(X[:5]).shape == (5, 3)


@posix
@pytest.mark.parametrize(
    "scheme, parameters",
    [
        *((scheme, {}) for scheme in SCHEMES),
        (SCHEMES[0], dict(memory="1MB")),
        (SCHEMES[1], dict(n_jobs=1)),
        (SCHEMES[2], dict(memory="1MB", n_jobs=1)),
    ],
    ids=lambda s: str(s) if isinstance(s, dict) else type(s).__name__,
)
def test_ctrl_c(scheme, parameters):
    model, X, y = endless(clone(scheme), **{"n_jobs": 2, **parameters})
    with CtrlC(0.3) as ctrl_c, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert ctrl_c.delay < 2.0
    assert model.status_ == "interrupted" and model.kkt_violation_ > model.tol
    F = model.decision_function(X[:50])
    assert F.shape == (50, 3) and np.all(np.isfinite(F)) and len(model.predict(X[:5])) == 5


@posix
def test_ctrl_c_while_the_kernel_matrix_is_made():
    X, y = blobs([7000] * 3, 600, seed=0, spread=3.0)
    model = OneVsRestSVC(time_limit=60.0, n_jobs=1, memory="4GB")
    with CtrlC(1.0) as ctrl_c, pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert ctrl_c.delay < 1.0
    assert model.status_ == "interrupted" and len(model.predict(X[:5])) == 5


# --- the core on a given matrix ---


def code_solver(K, y):
    segments = np.concatenate([[0], np.cumsum(np.bincount(y))])
    return _core.CodeSolver(K, {"kind": "precomputed"}, np.arange(len(y)), segments, "float64", 1e8, 1)


def test_rows_without_a_bound_are_absent(rng):
    """Rows with upper = 0 count as absent."""
    X, y = wine()
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    n, K = len(y), rbf(X, X, 0.3)
    test = rng.permutation(n)[:40]
    upper = np.full(n, 2.0)
    upper[test] = 0
    core = code_solver(K, y)
    limits = dict(tol=1e-8, max_iter=10**7, time_limit=np.inf, stop=None)
    out = core.solve(pair_code(all_pairs(3), 3), upper, np.zeros(n), None, **limits)
    F = K[test] @ csr_matrix((out["values"], out["indices"], out["indptr"]), shape=(3, n)).T + out["bias"]
    train = np.setdiff1d(np.arange(n), test)
    model = PairwiseSVC(2.0, kernel="precomputed", tol=1e-8).fit(K[np.ix_(train, train)], y[train])
    np.testing.assert_allclose(F, model.pair_decision_function(K[np.ix_(test, train)]), atol=1e-6)
    assert out["primal"].sum() == pytest.approx(model.primal_objective_, rel=1e-6)
    again = core.solve(
        pair_code(all_pairs(3), 3), upper, np.zeros(n), (out["indptr"], out["indices"], out["values"]), **limits
    )
    assert again["n_iter"] <= out["n_iter"] // 10


@pytest.mark.parametrize("sign", [1, -1])
def test_a_side_that_takes_no_part(sign):
    """Rows of one label only: no coefficient, and the bias alone gives them that label with a margin of one."""
    X, y = wine()
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    core = code_solver(rbf(X, X, 0.3), y)
    upper = np.where(y == 0, 2.0, 0.0)
    code = np.array([[sign], [-sign], [-sign]], np.int8)
    out = core.solve(code, upper, np.zeros(len(y)), None, 1e-6, 1000, np.inf, None)
    assert out["status"] == "solved" and len(out["values"]) == 0
    assert out["bias"].tolist() == [sign] and out["primal"].tolist() == [0]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (np.zeros((2, 1), np.int8), "a row per class"),
        (np.full((3, 1), 2, np.int8), "entries -1, 0 and 1"),
        (np.array([[0, 3]]), "must lie in"),
        (np.array([[1, 1]]), "two classes"),
        (np.zeros((3, 2)), "int8 matrix"),
        ("pairs", "int8 matrix"),
    ],
)
def test_codes_that_the_core_refuses(code, message):
    core = code_solver(np.eye(6), np.repeat(np.arange(3), 2))
    with pytest.raises((ValueError, IndexError), match=message):
        core.solve(code, np.ones(6), np.zeros(6), None, 1e-3, 100, np.inf, None)


def test_a_gradient_computed_anew_may_leave_nothing_to_do(real_data):
    """Here all eight gradients of a pair are equal to the last bit after they are recomputed: no pair to step on."""
    real_data("zoo")
    X, y, *_ = half("Zoo", 42)
    gamma = np.zeros(16)
    gamma[[1, 3, 8]] = 1.6610594543684525, 2.341175769847215, 1.8914363906681482
    gamma[[0, 2, 4, 5]] = 1.651356771913124e-06, 1.2702829644888713e-05, 2.015730319713887e-06, 1.254607824067112e-06
    gamma[[6, 7, 9, 10]] = 1.609437995786589e-06, 1.2702658336914805e-05, 5.390557850758267e-07, 2.598527247198653e-08
    gamma[11:14] = 0.0005699749411290196, 2.7914874890651984e-06, 0.0004842119357253637
    gamma[14:] = 2.0178894279106736e-05, 2.598527247198653e-08
    model = PairwiseSVC(41819.650112380434, gamma=gamma, loss="squared_hinge", n_jobs=1).fit(X, y)
    assert model.status_ == "solved" and model.kkt_violation_ < 1e-9


# --- what a limit leaves ---


def overlapping(n=12_000):
    """Four classes; an SVM has an accuracy of about 0.75, the best of all rules little more."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 4
    return 1.3 * np.eye(4, 6)[y] * np.sqrt(2) + rng.normal(size=(n, 6)), y


def check_stopped(model, X, y, Z, z, status, accuracy):
    with pytest.warns(ConvergenceWarning, match=status):
        model.fit(X, y)
    assert model.status_ == status and model.kkt_violation_ > model.tol
    assert 0 <= model.dual_objective_ <= model.primal_objective_ < np.inf and 0 < model.duality_gap_ <= 1
    assert model.score(Z, z) > accuracy


@pytest.mark.parametrize(
    "scheme, memory",
    [*((scheme, "auto") for scheme in SCHEMES), (SCHEMES[0], "20MB"), (SCHEMES[1], "3MB"), (SCHEMES[2], "20MB")],
    ids=lambda s: s if isinstance(s, str) else type(s).__name__,
)
def test_a_limit_leaves_a_model_of_use(scheme, memory):
    """Whether kernel values are held, in blocks or in rows. C is so large that all machines would take minutes."""
    X, y = overlapping()
    model = type(scheme)(**scheme.get_params()).set_params(C=1e4, tol=1e-6, memory=memory, n_jobs=2)
    limited = type(scheme)(**model.get_params()).set_params(time_limit=0.5)
    # How far half a second leads depends on who else is at work, and 2,000 steps on rounding: better than chance, which
    # is 0.25 with a standard error of 0.01 on these rows.
    check_stopped(limited, X[:-2000], y[:-2000], X[-2000:], y[-2000:], "time_limit", 0.3)
    model.set_params(max_iter=2000)
    check_stopped(model, X[:-2000], y[:-2000], X[-2000:], y[-2000:], "max_iter", 0.35)


@schemes
def test_primal_of_a_stopped_fit_is_its_value_or_a_bound(scheme):
    X, y = overlapping(6000)
    model = type(scheme)(**scheme.get_params()).set_params(C=1000.0, tol=1e-9, memory="3MB", time_limit=0.3)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    F, value = model._raw_scores(X), 0.0
    for column, b in enumerate(model.dual_coef_.toarray()):
        label, f = model.code_[y, column].astype(float), F[:, column]
        value += 0.5 * b @ (f[model.support_] - model.intercept_[column])
        value += 1000 * np.maximum(1 - label * f, 0)[label != 0].sum()
    # Scores are sums of float32 kernel values.
    assert model.dual_objective_ <= value <= model.primal_objective_ * (1 + 1e-4) < np.inf


def test_every_column_is_begun_before_any_is_done():
    """Eight machines, each of which takes longer than all have."""
    X, y = overlapping(6000)
    y = y + 4 * (np.arange(len(y)) // 4 % 2)
    model = OneVsRestSVC(C=1e5, tol=1e-9, memory="3MB", time_limit=2.0 * SLOWER, n_jobs=2)
    with pytest.warns(ConvergenceWarning, match="time_limit") as record:
        model.fit(X, y)
    assert "not started" not in str(record[0].message)
    assert np.all(np.diff(model.dual_coef_.indptr) > 0)


def test_no_time_at_all():
    """Finite objectives, the number of machines that were not started, and votes that favor no class."""
    X, y = blobs([3] * 60, 5, seed=0, spread=1.0)
    model = PairwiseSVC(time_limit=1e-6)
    with pytest.warns(ConvergenceWarning, match="of 1,770 machines not started"):
        model.fit(X, y)
    idle = np.diff(model.dual_coef_.indptr) == 0
    assert model.status_ == "time_limit" and idle.sum() > 1500 and set(model.intercept_[idle]) == {-1.0, 1.0}
    assert 2 * 3 * idle.sum() <= model.primal_objective_ <= 2 * 3 * 1770
    won = model.intercept_[idle] @ model.code_[:, idle].T  # votes for a class minus votes against it
    assert np.abs(won).max() < np.sqrt(59)  # the standard deviation if the 59 pairs of a class tossed coins
    last = PairwiseSVC(warm_start=True).fit(X, y)
    scores = last.decision_function(X)
    with pytest.warns(ConvergenceWarning, match="not started"):
        last.set_params(time_limit=1e-6).fit(X, y)
    # The few machines that were started go on to rounding, less than tol away.
    np.testing.assert_allclose(last.decision_function(X), scores, atol=1e-3)
    assert 0 <= last.dual_objective_ <= last.primal_objective_ < np.inf


@pytest.mark.parametrize("n_classes", [3, 4, 60])
def test_all_pairs_need_no_list(n_classes, rng):
    """Pairs that the core counts are those of `all_pairs`, and models of both are the same to the last bit."""
    y = np.repeat(np.arange(n_classes), 2)
    X, ones = rng.normal(size=(len(y), 4)), np.ones(len(y))
    kernel = {"kind": "rbf", "gamma": 0.5}
    core = _core.CodeSolver(X, kernel, np.arange(len(y)), np.arange(0, len(y) + 1, 2), "float64", 1e8, 1)
    listed, counted = (
        core.solve(code, ones, 0 * ones, None, 1e-3, 1000, np.inf, None) for code in (all_pairs(n_classes), "all pairs")
    )
    for name in ("indptr", "indices", "values", "bias", "primal", "dual"):
        np.testing.assert_array_equal(counted[name], listed[name], err_msg=name)


@pytest.mark.parametrize("repeated", [False, True])
def test_a_time_limit_with_millions_of_pairs(repeated):
    """12.5 million pairs. A model of them, of which next to none was begun, is made in less than the second by which a
    limit may be exceeded. Equal rows are merged, which may not make a matrix of pairs and classes."""
    X, y = blobs([1] * 5000, 8, seed=0)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    if not repeated:
        X += np.random.default_rng(0).normal(size=X.shape)
    with pytest.warns(ConvergenceWarning, match="not started"):
        model = assert_within(1.1, lambda: PairwiseSVC(time_limit=0.1, n_jobs=1).fit(X, y))
    assert len(model.intercept_) == len(model.pairs_) == 12_497_500
    assert np.isfinite(model.primal_objective_)
    assert model.predict(X[:3]).shape == (3,)


def test_a_large_c_times_the_rounding_of_scores_is_no_part_of_the_primal(rng):
    """No coefficient is at C: the slacks are rounding of float32 values, which C makes one percent of the value."""
    X, y, C = rng.normal(size=(600, 4)), rng.integers(0, 2, 600), 2e4
    model = PairwiseSVC(C, kernel="laplacian", gamma=0.4, tol=0.01).fit(X, y)
    assert model.status_ == "solved"
    b = np.zeros(len(y))
    b[model.support_] = model.dual_coef_.toarray()[0]
    f = np.exp(-0.4 * cdist(X, X, "cityblock")) @ b
    slack = np.maximum(1 - (2 * y - 1) * (f + model.intercept_[0]), 0)
    assert model.primal_objective_ == pytest.approx(0.5 * b @ f + C * slack.sum(), rel=1e-3)
