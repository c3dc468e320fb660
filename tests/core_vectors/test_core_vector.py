"""The multiclass core vector machine: optima, certificates, core sets, statuses."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from clocks import assert_within
from core_oracles import core_matrix, core_optimum, core_primal
from ctrl_c import CtrlC, posix
from data_sets import DATA, blobs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import rbf
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polymargin import CoreVectorSVC
from polymargin.core_vectors import forecast, options, whole
from polymargin.core_vectors import growth as core_set
from polymargin.papers.core_vector import circle
from polymargin.papers.core_vector import core_set as core_set_of

# The project's list of oracles, rows 6 and 7: nu = 0.01, RBF, regularized intercept; the minimum of a'Qa.
GAMMA = dict(toy12=0.5, iris=0.5, wine=0.1, digits200=0.05)
OPTIMA = {
    ("simplex", "toy12"): 0.1522667194952142,
    ("simplex", "iris"): 0.14771054594899422,
    ("simplex", "wine"): 0.06319614708281453,
    ("simplex", "digits200"): 0.029861635928895982,
    ("printed", "toy12"): 1.1182708499702056,
    ("printed", "iris"): 1.2663094535148949,
    ("printed", "wine"): 1.4065628214947903,
    ("printed", "digits200"): 0.6072917678253998,
}


@pytest.fixture
def growing(monkeypatch):
    """Small problems, too, are solved by growing a core set."""
    monkeypatch.setattr(options, "SMALL_GRAM", 0)


# Rounding of float32 kernel values enters P - D four times; as much is added to P, which may then be off by both.
ROUNDING = 8 * float(np.finfo(np.float32).eps)


def dense_alpha(model, n):
    alpha = np.zeros(n)
    alpha[model.support_[model.dual_coef_.indices]] = model.dual_coef_.data
    return alpha


@pytest.mark.parametrize("code, data", OPTIMA, ids=str)
def test_the_listed_optima(code, data):
    X, y = DATA[data]()
    model = CoreVectorSVC(nu=0.01, code=code, intercept="regularized", gamma=GAMMA[data], tol=1e-8).fit(X, y)
    assert model.status_ == "solved"
    assert -model.dual_objective_ == pytest.approx(OPTIMA[code, data], rel=1e-8)
    assert -model.primal_objective_ == pytest.approx(OPTIMA[code, data], rel=1e-8)
    assert model.radius_**2 == pytest.approx(2 + 0.01 * len(y) - OPTIMA[code, data], rel=1e-8)


@pytest.mark.parametrize(
    "strength, code, intercept, sample_size",
    [
        (dict(C=0.5), "simplex", "none", 59),
        (dict(C=0.5), "printed", "regularized", None),
        (dict(C=100.0), "simplex", "regularized", 59),
        (dict(C=100.0), "printed", "none", None),
        (dict(nu=1e-3), "simplex", "none", None),
        (dict(nu=1e-3), "printed", "regularized", 59),
    ],
)
def test_a_grown_core_set_is_within_the_gap_of_a_conic_solver(growing, code, intercept, strength, sample_size, seed):
    X, y = blobs([60, 25, 40, 8], 3, seed=seed)
    ridge = 1 / strength["C"] if "C" in strength else strength["nu"] * len(y)
    Q = core_matrix(rbf(X, X, 0.4), y, ridge, name=code, b0=float(intercept == "regularized"))
    optimum = core_optimum(Q)[0]
    model = CoreVectorSVC(
        **strength, code=code, intercept=intercept, sample_size=sample_size, gamma=0.4, random_state=seed
    ).fit(X, y)
    assert model.status_ == "solved" and model.duality_gap_ <= 1e-2
    assert model.dual_objective_ <= -optimum * (1 - 1e-7) and -optimum * (1 + 1e-7) <= model.primal_objective_
    a = dense_alpha(model, len(y))
    assert a.sum() == pytest.approx(1) and a.min() >= 0
    assert a @ Q @ a == pytest.approx(-model.dual_objective_, rel=1e-6)
    # P is minimized over finitely many rho: never below the true value, and hardly above.
    best = core_primal(a, Q, ridge)
    assert best * (1 + 1e-6 * np.sign(-best)) - 1e-7 * optimum <= model.primal_objective_
    assert model.primal_objective_ <= best + 1e-4 * abs(best) + ROUNDING


@pytest.mark.parametrize("tol", [0.05, 1e-4])
@pytest.mark.parametrize("code, intercept", [("simplex", "none"), ("printed", "regularized")])
def test_rows_that_are_mostly_core_vectors_are_solved_at_once(growing, monkeypatch, code, intercept, tol, seed, rng):
    X, y = blobs([60, 25, 40, 8], 3, seed=seed)
    weight = rng.uniform(0.5, 2, len(y))
    Q = core_matrix(rbf(X, X, 0.4), y, 2.0, name=code, b0=float(intercept == "regularized"), weight=weight)
    optimum, calls, once = core_optimum(Q)[0], [], whole.solve_whole
    monkeypatch.setattr(forecast, "MANY", 20)
    monkeypatch.setattr(whole, "solve_whole", lambda *args: calls.append(1) or once(*args))
    model = CoreVectorSVC(C=0.5, code=code, intercept=intercept, gamma=0.4, tol=tol, random_state=seed)
    model.fit(X, y, sample_weight=weight)
    assert calls and model.status_ == "solved" and model.duality_gap_ <= tol
    assert model.dual_objective_ <= -optimum * (1 - 1e-7) and -optimum * (1 + 1e-7) <= model.primal_objective_
    a = dense_alpha(model, len(y))
    assert a.sum() == pytest.approx(1) and a.min() >= 0
    assert a @ Q @ a == pytest.approx(-model.dual_objective_, rel=1e-6)
    assert core_primal(a, Q, 2.0, weight) <= model.primal_objective_ + ROUNDING


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.integers(0, 10**6),
    C=st.floats(1e-2, 1e4),
    tol=st.sampled_from([0.5, 0.1, 1e-2]),
    T=st.integers(2, 5),
    gamma=st.floats(0.01, 10),
    weighted=st.booleans(),
    offset=st.booleans(),
)
def test_the_certified_gap_is_never_below_the_true_one(growing, data, C, tol, T, gamma, weighted, offset):
    rng = np.random.default_rng(data)
    n = int(rng.integers(3 * T, 60))
    X, y = rng.normal(size=(n, 2)), np.concatenate([np.arange(T), rng.integers(0, T, n - T)])
    weight = rng.uniform(0.1, 3, n) if weighted else np.ones(n)
    model = CoreVectorSVC(C=C, tol=tol, gamma=gamma, intercept="regularized" if offset else "none", sample_size=5)
    model.fit(X, y, sample_weight=weight)
    Q = core_matrix(rbf(X, X, gamma), y, 1 / C, b0=float(offset), weight=weight)
    a = dense_alpha(model, n)
    optimum, value = core_optimum(Q)[0], a @ Q @ a
    true = (core_primal(a, Q, 1 / C, weight) + value) / value
    assert model.duality_gap_ >= true - 1e-5
    assert model.duality_gap_ >= (value - optimum) / value - 1e-5
    assert model.status_ == "solved" and model.duality_gap_ <= tol


def test_both_ways_give_the_same_machine(monkeypatch, seed):
    X, y = blobs([50, 60, 40], 4, seed=seed)
    sharp = dict(C=20.0, tol=1e-8, random_state=seed)
    whole = CoreVectorSVC(**sharp).fit(X, y)
    monkeypatch.setattr(options, "SMALL_GRAM", 0)
    grown = CoreVectorSVC(**sharp).fit(X, y)
    F = whole.decision_function(X)
    np.testing.assert_allclose(grown.decision_function(X), F, atol=2e-4 * np.abs(F).max())
    assert len(grown.core_size_path_) > 1 and grown.core_size_path_[-1] == len(grown.core_indices_)


def test_weights_are_repetitions(growing, seed):
    X, y = blobs([30, 30, 30], 3, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    sharp = dict(C=5.0, tol=1e-7, gamma=0.5)
    weighted = CoreVectorSVC(**sharp).fit(X, y, sample_weight=weight)
    repeated = CoreVectorSVC(**sharp).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.dual_objective_ == pytest.approx(repeated.dual_objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)
    assert not np.any(weight[weighted.support_] == 0)


def test_sparse_rows_are_dense_rows(growing, seed):
    X, y = blobs([50, 50, 50], 6, seed=seed)
    X[np.abs(X) < 0.7] = 0
    dense, sparse = (CoreVectorSVC(C=5.0, tol=1e-6, gamma=0.3).fit(A, y) for A in (X, sp.csr_matrix(X)))
    assert sparse.dual_objective_ == pytest.approx(dense.dual_objective_, rel=1e-5)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-5)


def test_the_seed_decides_and_threads_do_not(growing, seed):
    X, y = blobs([100, 100, 100], 3, seed=seed, spread=1.0)
    a, b = (CoreVectorSVC(C=10.0, random_state=seed, n_jobs=j).fit(X, y) for j in (1, 2))
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_array_equal(a.dual_coef_.data, b.dual_coef_.data)
    # Another seed may grow the same core set, but not all of them do so by the same steps.
    others = [CoreVectorSVC(C=10.0, random_state=seed + k).fit(X, y) for k in range(1, 6)]
    assert not all(np.array_equal(a.dual_coef_.data, c.dual_coef_.data) for c in others)


def test_the_ball_test_ends_early_and_says_so(seed):
    X, y = (A[:600] for A in DATA["digits"]())
    early = CoreVectorSVC(nu=1e-3, epsilon=1e-2, gamma=0.05, random_state=seed).fit(X, y)
    late = CoreVectorSVC(nu=1e-3, gamma=0.05).fit(X, y)
    assert early.status_ == "epsilon" and late.status_ == "solved"
    assert early.duality_gap_ > early.tol and len(early.support_) < len(late.support_)
    # Every row is in the ball of radius (1 + epsilon) R.
    K, ridge = rbf(X, X, 0.05), 1e-3 * len(y)
    Q, a = core_matrix(K, y, ridge), dense_alpha(early, len(y))
    o, kappa = a @ Q @ a, 1 + ridge
    assert early.radius_**2 == pytest.approx(kappa - o, rel=1e-5)
    distance = np.sqrt(kappa + o - 2 * Q @ a)
    assert distance.max() <= (1 + 1e-2) * early.radius_ * (1 + 1e-6)


def test_a_huge_ridge_is_warned_about():
    X, y = DATA["iris"]()
    with pytest.warns(UserWarning, match=r"nu \* n = 75 .* use C"):
        CoreVectorSVC(nu=0.5, gamma=0.5).fit(X, y)


@pytest.mark.parametrize(
    "limits, status",
    [(dict(max_iter=3), "max_iter"), (dict(max_core=5), "max_iter"), (dict(time_limit=1e-6), "time_limit")],
)
def test_limits_leave_a_certified_model(growing, limits, status, seed):
    X, y = blobs([200, 200, 200], 3, seed=seed, spread=1.5)
    with pytest.warns(ConvergenceWarning, match=f"{status}.*gap"):
        model = CoreVectorSVC(C=10.0, gamma=0.5, **limits).fit(X, y)
    assert model.status_ == status and model.duality_gap_ > model.tol
    Q, a = core_matrix(rbf(X, X, 0.5), y, 0.1), dense_alpha(model, len(y))
    assert model.primal_objective_ >= core_primal(a, Q, 0.1) * (1 + 1e-6) - 1e-6
    assert len(model.predict(X)) == len(y)


def test_a_solution_is_polished_without_a_warning():
    """To rounding or to a limit; within tol it is solved in either case."""
    random = np.random.default_rng(60)
    X, y = random.normal(size=(60, 4)), random.integers(0, 4, 60)
    X[y == 1] += 0.8
    X[y == 2, 1] -= 1.5
    model = CoreVectorSVC(C=1000, kernel="linear", max_iter=100_000).fit(X, y)
    assert model.n_iter_ <= 100_000 and model.duality_gap_ <= model.tol
    assert model.status_ == "solved"


def test_a_report_can_stop_it(growing, capfd, seed):
    X, y = blobs([300, 300, 300], 3, seed=seed, spread=1.5)
    CoreVectorSVC(C=10.0, verbose=2).fit(X, y)
    lines = capfd.readouterr().err
    assert re.search(r"round \d+  core \d+  gap .*rows/s", lines) and "status 'solved'" in lines


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_goes_on_from_the_last_fit(growing, seed):
    """One step from there is no lower than where it ended, and one from nothing is far below."""
    X, y = blobs([200, 200, 200], 3, seed=seed, spread=1.5)
    model = CoreVectorSVC(C=10.0, warm_start=True, tol=1e-3).fit(X, y)
    reached = model.dual_objective_
    fresh = clone(model).set_params(max_iter=1).fit(X, y)
    model.set_params(max_iter=1).fit(X, y)
    assert model.dual_objective_ >= reached - ROUNDING > 10 * fresh.dual_objective_


def test_bad_parameters():
    X, y = DATA["iris"]()
    for bad in (dict(C=0), dict(nu=-1.0), dict(epsilon=0.0), dict(code="plus"), dict(sample_size=0), dict(tol=0)):
        with pytest.raises(ValueError, match="expected"):
            CoreVectorSVC(**bad).fit(X, y)
    with pytest.raises(ValueError, match="at least 3 classes"):
        CoreVectorSVC(code="printed").fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="normalize"):
        CoreVectorSVC(normalize=True, kernel="precomputed").fit(X @ X.T, y)


def test_unit_length(growing, seed):
    X, y = blobs([60, 60, 60], 4, seed=seed)
    options = dict(kernel="poly", gamma=1.0, degree=2, coef0=1.0, tol=1e-9)
    a = CoreVectorSVC(**options, normalize=True).fit(X, y)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    b = CoreVectorSVC(**options).fit(U, y)
    # The primal grows by ||w - w*||^2 around its minimum, so a gap bounds the error of scores; k(u, u) = (1 + 1)^2.
    gaps = [max(model.primal_objective_ - model.dual_objective_, 0) for model in (a, b)]
    bound = 2 * np.sqrt(gaps).sum() + 1e-6
    assert bound < 1e-3
    np.testing.assert_allclose(a.decision_function(3 * X), b.decision_function(U), atol=bound)
    assert a.dual_objective_ == pytest.approx(b.dual_objective_, rel=1e-6)


@pytest.mark.parametrize("scheme", ["joint", "pairwise"])
@pytest.mark.parametrize("normalize", [False, True])
def test_nothing_is_claimed_where_rounding_hides_it(scheme, normalize, rng):
    """Rows that are all alike, with kernel values of 1e24: a value is a difference of sums of them."""
    X = rng.uniform(1, 2, size=(60, 1)) if normalize else np.ones((60, 1))
    model = CoreVectorSVC(C=1e5, kernel="poly", gamma=1e8, coef0=1.0, scheme=scheme, normalize=normalize)
    with pytest.warns(ConvergenceWarning, match="rounding"):
        model.fit(X, rng.permutation(np.arange(60) % 2))
    assert model.status_ == "stalled" and model.duality_gap_ == np.inf


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_kernels_without_constant_length(growing, kernel, seed):
    X, y = blobs([40, 40, 40], 4, seed=seed)
    K = X @ X.T if kernel == "linear" else (0.5 * X @ X.T + 1) ** 2
    optimum = core_optimum(core_matrix(K, y, 0.1, b0=1.0))[0]
    model = CoreVectorSVC(C=10.0, kernel=kernel, gamma=0.5, degree=2, coef0=1.0, intercept="regularized").fit(X, y)
    assert model.dual_objective_ <= -optimum * (1 - 1e-7) <= model.primal_objective_ + 1e-6 * optimum
    assert model.duality_gap_ <= 1e-2 and model.status_ == "solved"


@posix
def test_ctrl_c_leaves_a_certified_model(seed):
    n = 300_000
    X, y = blobs([n // 3] * 3, 4, seed=seed, spread=1.5)
    model = CoreVectorSVC(C=1.0, tol=1e-4, time_limit=60.0, n_jobs=1)
    with CtrlC(0.8), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.status_ == "interrupted" and np.isfinite(model.duality_gap_) and model.duality_gap_ > model.tol
    assert model.dual_objective_ < 0 and len(model.predict(X[:50])) == 50


@pytest.mark.parametrize(
    "patience, again, tol", [(60.0, False, 1e-4), (60.0, False, 0.999), (0.0, False, 1e-4), (60.0, True, 1e-4)]
)
def test_ctrl_c_before_the_first_pass(growing, monkeypatch, patience, again, tol, seed):
    """A quick pass certifies the model; one that would take long, or is interrupted too, leaves the trivial bound."""
    X, y = blobs([60, 25, 40], 3, seed=seed)
    sample, search = core_set.Growth.sample, core_set.Growth.search

    def interrupted_sample(self, pool):
        sample(self, pool[:80])
        raise KeyboardInterrupt

    def interrupted_search(self, *args, **kwargs):
        search(self, *args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(core_set.Growth, "sample", interrupted_sample)
    monkeypatch.setattr(core_set, "PASS_SECONDS", patience)
    if again:
        monkeypatch.setattr(core_set.Growth, "search", interrupted_search)
    model = CoreVectorSVC(C=10.0, gamma=0.4, tol=tol)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.status_ == "interrupted" and model.score(X, y) > 0.5
    Q = core_matrix(rbf(X, X, 0.4), y, 0.1)
    primal = core_primal(dense_alpha(model, len(y)), Q, 0.1)
    if patience and not again:
        assert abs(model.primal_objective_ - primal) <= 1e-4 * abs(primal) + ROUNDING
    else:
        assert model.primal_objective_ >= max(primal, 0) and model.duality_gap_ > 1


def test_ctrl_c_before_there_is_a_model(growing, monkeypatch):
    X, y = DATA["iris"]()
    monkeypatch.setattr(core_set.Form, "linear", lambda self, X: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        CoreVectorSVC().fit(X, y)


def test_a_pass_after_an_interruption_is_estimated(growing, monkeypatch, seed):
    """What is compared with the patience: reading all rows, and scoring them at the pace of the samples."""
    X, y = blobs([60, 25, 40], 3, seed=seed)
    seen = []
    monkeypatch.setattr(core_set.Growth, "judge", lambda self, *_: seen.append(self) or True)
    monkeypatch.setattr(core_set.Growth, "certified", lambda self: (self.model, 0.0, 0.0))
    CoreVectorSVC(C=10.0).fit(X, y)
    growth = seen[0]
    assert growth.reading > 0 and growth.pace > 0
    scoring = growth.pace * len(y) * len(growth.model.alpha)
    assert growth.seconds_of_a_pass() == pytest.approx(growth.reading + scoring)


@pytest.mark.parametrize("name", ["shuttle"])
def test_real_rows(real_data, name):
    """At a ridge far below k(x, x): the gap is certified, and the classifier is as good as an exact machine."""
    data = real_data(name)
    X, y = data["X_train"].astype(np.float32), data["y_train"]
    mean, spread = X.mean(axis=0), X.std(axis=0)
    model = CoreVectorSVC(C=100.0, gamma=1.0).fit((X - mean) / spread, y)
    assert model.status_ == "solved" and model.duality_gap_ <= 1e-2
    assert model.score((data["X_test"] - mean) / spread, data["y_test"]) > 0.997


def test_the_figure_of_the_paper(capsys):
    X = np.random.default_rng(7).normal(size=(60, 2))
    core, ball = core_set_of(X, 0.05)
    center, radius = circle(ball)
    assert len(core) < 8 and np.linalg.norm(X - center, axis=1).max() <= 1.05 * radius * (1 + 1e-6)
    pytest.importorskip("matplotlib").use("Agg")
    path = Path(__file__).parents[2] / "examples" / "enclosing_ball.py"
    figure = runpy.run_path(str(path))["figure"]
    assert figure.axes and f"{len(core)} core vectors" in capsys.readouterr().out


@pytest.mark.parametrize("scheme", ["joint", "pairwise"])
def test_a_time_limit_holds_with_many_rows(scheme, seed):
    """Also where the first pass over all rows would take long: processor time, as the machine may be busy."""
    n, limit = 100_000, 2.0
    X, y = blobs([n // 4] * 4, 10, seed=seed, spread=3.0)
    model = CoreVectorSVC(C=10.0, time_limit=limit, n_jobs=1, scheme=scheme, max_core=n)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        assert_within(limit + 1, lambda: model.fit(X, y))
    assert model.status_ == "time_limit" and np.isfinite(model.decision_function(X[:100])).all()


@pytest.mark.parametrize("seconds", [0.0, 1e3])
def test_time_is_left_for_the_first_pass(growing, monkeypatch, seconds, seed):
    """A pass that fits certifies what there is; one that does not is left out, and the samples do not wait for it."""
    X, y = blobs([60, 25, 40], 3, seed=seed)
    monkeypatch.setattr(core_set.Growth, "seconds_of_a_pass", lambda self: seconds)

    def out_of_time(self, pool):
        raise core_set.Ended("time_limit")

    monkeypatch.setattr(core_set.Growth, "sample", out_of_time)
    model = CoreVectorSVC(C=10.0, gamma=0.4, tol=1e-4, time_limit=20.0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)
    assert model.status_ == "time_limit" and (model.primal_objective_ < 1) == (seconds == 0)
