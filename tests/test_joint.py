"""What a JointSVC promises besides the optimum: attributes, input formats, weights, warm starts, statuses, messages."""

import copy
import doctest
import gc
import logging
import os
import pickle
import weakref

import joblib
import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import threadpoolctl
from data_sets import blobs, iris, iris12, wine
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight

import polymargin.joint
from polymargin import JointSVC, checks, kernels, progress, resources

EXACT = dict(tol=1e-9)


def same_scores(a, b, X, rtol=1e-6):
    F, G = a.decision_function(X), b.decision_function(X)
    assert_allclose(F, G, rtol=0, atol=rtol * np.abs(F).max())


# --- the model that the attributes describe -------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["none", "exact", "regularised"])
@pytest.mark.parametrize("nu", [None, 0.3])
@pytest.mark.parametrize("kernel", sorted(oracles.KERNELS))
def test_scores_are_the_expansion(kernel, nu, intercept):
    X, y = wine()
    model = JointSVC(kernel=kernel, gamma=0.3, nu=nu, intercept=intercept, coef0=0.5, degree=2, max_iter=20_000)
    parameters = dict(gamma=0.3) if kernel in kernels.HAS_GAMMA else {}
    if kernel in ("poly", "sigmoid"):
        parameters["coef0"] = 0.5
    if kernel == "poly":
        parameters["degree"] = 2
    try:
        model.fit(X, y)
    except ConvergenceWarning:  # the sigmoid kernel need not be positive definite
        assert kernel == "sigmoid"
        return
    K = oracles.KERNELS[kernel](X, X[model.support_], **parameters)
    assert_allclose(model.decision_function(X), K @ model.dual_coef_.toarray().T + model.intercept_, atol=1e-10)
    assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


def test_attributes():
    X, y = wine()
    names = np.array(["b", "c", "a"])[y]
    model = JointSVC(C=0.5).fit(X, names)
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert model.status_ == "solved"
    assert np.all(np.diff(model.support_) > 0)
    assert_array_equal(model.support_vectors_, X[model.support_])
    alpha = model.dual_coef_
    assert sp.issparse(alpha) and alpha.format == "csr" and alpha.shape == (3, len(model.support_))
    own = np.searchsorted(model.classes_, names[model.support_])
    assert_array_equal(alpha.toarray() > 0, np.arange(3)[:, None] == own)
    assert alpha.max() <= 0.5
    counted = alpha.toarray().sum(axis=0) > 1e-6 * 0.5
    assert_array_equal(model.n_support_, np.bincount(own[counted], minlength=3))
    assert model.n_support_.dtype == np.int32
    assert_array_equal(model.intercept_, np.zeros(3))
    assert model.shape_fit_ == X.shape and model.n_features_in_ == X.shape[1]
    assert model.dual_objective_ <= model.primal_objective_ * (1 + 1e-12)
    assert model.duality_gap_ == pytest.approx((model.primal_objective_ - model.dual_objective_) / model.primal_objective_, abs=1e-12)
    assert 0 <= model.kkt_violation_ <= model.tol
    assert model.n_iter_ >= 1 and model.n_kernel_evals_ > 0 and model.fit_seconds_ > 0 and model.rho_ == 1
    assert not hasattr(model, "coef_")


def test_regularised_intercept_is_the_class_sum():
    X, y = iris()
    model = JointSVC(intercept="regularised").fit(X, y)
    assert_allclose(model.intercept_, model.dual_coef_.sum(axis=1))
    same_scores(model, JointSVC(kernel=lambda A, B: oracles.rbf(A, B, model.gamma_) + 1).fit(X, y), X, 1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_two_classes_have_one_score(loss):
    X, y = iris12()
    model = JointSVC(loss=loss, intercept="exact").fit(X, y)
    F = oracles.rbf(X, X[model.support_], model.gamma_) @ model.dual_coef_.toarray().T + model.intercept_
    score = model.decision_function(X)
    assert score.shape == (len(X),)
    assert_allclose(score, (F[:, 1] - F[:, 0]) / 2, atol=1e-10)
    assert_array_equal(model.predict(X), model.classes_[(score > 0).astype(int)])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("intercept", ["none", "exact", "regularised"])
def test_linear_weights(form, intercept, monkeypatch):
    X, y = wine()
    model = JointSVC(kernel="linear", intercept=intercept).fit(form(X), y)
    assert isinstance(model.coef_, np.ndarray) and model.coef_.shape == (3, X.shape[1])
    assert_allclose(model.coef_, model.dual_coef_.toarray() @ X[model.support_], atol=1e-12)
    assert_allclose(model.decision_function(form(X)), X @ model.coef_.T + model.intercept_, atol=1e-10)
    monkeypatch.setattr("polymargin.prototypes.LARGEST_COEF", 0)  # too large to keep: the support vectors give the same scores
    again = JointSVC(kernel="linear", intercept=intercept).fit(form(X), y)
    assert again._coef is None
    assert_allclose(again.coef_, model.coef_)
    same_scores(model, again, form(X), 1e-10)


def test_no_support_vectors_give_the_intercepts():
    X, y = iris()
    model = JointSVC().fit(X, y)
    model._set_prototypes(X, np.arange(150), y, np.zeros(150), np.arange(3.0))
    assert_array_equal(model.decision_function(X[:2]), [[0, 1, 2]] * 2)
    assert_array_equal(model.predict(X[:2]), [2, 2])


# --- input formats --------------------------------------------------------------------------------------------------------


def csr64(X):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X):
    X = sp.csr_array(X)
    for i in range(X.shape[0]):
        s = slice(X.indptr[i], X.indptr[i + 1])
        X.data[s], X.indices[s] = X.data[s][::-1].copy(), X.indices[s][::-1].copy()
    return sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "cosine", "poly"])
@pytest.mark.parametrize(
    "form", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_matrix, csr64, unsorted, np.asfortranarray, read_only, np.ndarray.tolist]
)
def test_formats_give_one_model(form, kernel):
    X, y = wine()
    X = np.where(X > 0, X, 0.0)
    given = form(X)
    before = given.copy() if sp.issparse(given) else None
    plain, other = JointSVC(kernel=kernel, **EXACT).fit(X, y), JointSVC(kernel=kernel, **EXACT).fit(given, y)
    same_scores(plain, other, X)
    assert_allclose(plain.decision_function(given), plain.decision_function(X), atol=1e-9)
    assert_allclose(other.decision_function(given), other.decision_function(X), atol=1e-9)
    if before is not None:
        assert sp.issparse(other.support_vectors_) and other.support_vectors_.format == "csr"
        assert_array_equal(given.data, before.data)


def test_float32_stays_float32():
    X, y = wine()
    model = JointSVC(**EXACT).fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    assert model.decision_function(X[:3]).dtype == np.float64
    same_scores(model, JointSVC(**EXACT).fit(X, y), X, 1e-4)
    assert JointSVC().fit((8 * X).astype(np.int8), y).support_vectors_.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_are_not_copied_and_not_kept(dtype, monkeypatch):
    X, y = wine()
    X = X.astype(dtype)
    seen = []
    solve = polymargin.joint.dual.solve
    monkeypatch.setattr(polymargin.joint.dual, "solve", lambda machine, X, *a, **k: (seen.append(X), solve(machine, X, *a, **k))[1])
    model = JointSVC().fit(X, y)
    assert np.shares_memory(seen[0], X)
    assert not np.shares_memory(model.support_vectors_, X)
    gone = weakref.ref(X)
    del X, seen[:]
    gc.collect()
    assert gone() is None


def test_precomputed_and_callable_kernels_are_the_kernel():
    X, y = wine()
    w = np.arange(len(y)) % 3.0
    model = JointSVC(gamma=0.1, **EXACT).fit(X, y, w)
    called = JointSVC(kernel=lambda A, B: oracles.rbf(A, B, 0.1), **EXACT).fit(X, y, w)
    given = JointSVC(kernel="precomputed", **EXACT).fit(oracles.rbf(X, X, 0.1), y, w)
    same_scores(model, called, X)
    assert_allclose(model.decision_function(X), given.decision_function(oracles.rbf(X, X, 0.1)), atol=1e-6)
    assert given.support_vectors_.size == 0
    assert given.__sklearn_tags__().input_tags.pairwise and not model.__sklearn_tags__().input_tags.pairwise
    sparse = JointSVC(kernel=lambda A, B: oracles.rbf(A.toarray(), B.toarray(), 0.1), **EXACT).fit(sp.csr_array(X), y, w)
    same_scores(model, sparse, sp.csr_array(X))


def test_scores_do_not_depend_on_the_batch():
    X, y = blobs([700, 700, 700], 20, seed=3, spread=4.0)
    for dtype in (np.float32, np.float64):
        model = JointSVC().fit(X.astype(dtype), y)
        assert model._score_type() == "float32"
        F = model.decision_function(X)
        assert_array_equal(F[17:18], model.decision_function(X[17:18]))
        assert_array_equal(F[5:300], model.set_params(n_jobs=1).decision_function(X[5:300]))
        assert_array_equal(model.classes_[F.argmax(axis=1)], model.predict(X))
        exact = oracles.linear(np.exp(-model.gamma_ * sq_distances(X, X[model.support_])), model.dual_coef_.toarray())
        assert_allclose(F, exact, atol=1e-4)
    assert JointSVC(tol=1e-6).fit(X, y)._score_type() == "float64"


def sq_distances(X, Z):
    return np.maximum((X**2).sum(axis=1)[:, None] - 2 * X @ Z.T + (Z**2).sum(axis=1), 0)


# --- gamma ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_gamma_scale(form):
    X, y = blobs([40, 50], 6, seed=0)
    X = 100 + X * np.arange(1, 7)
    X[:, 2] = 0
    assert JointSVC().fit(form(X), y).gamma_ == pytest.approx(1 / (6 * X.var()), rel=1e-12)
    assert JointSVC(gamma="auto").fit(form(X), y).gamma_ == pytest.approx(1 / 6)
    w = np.arange(90) % 4
    assert JointSVC().fit(form(X), y, w).gamma_ == pytest.approx(1 / (6 * X.repeat(w, axis=0).var()), rel=1e-12)
    assert JointSVC(kernel="linear").fit(form(X), y).gamma_ is None


@pytest.mark.parametrize("value", [0.0, 0.1, -7.7e11])
def test_gamma_of_equal_entries(value):
    assert JointSVC().fit(np.full((10, 3), value), [0, 1] * 5).gamma_ == 1


def test_column_moments_in_many_blocks(rng):
    X = rng.normal(1e6, 1, size=(5000, 300))
    w = rng.integers(0, 3, 5000).astype(float)
    mean, variance = checks.column_moments(X, w)
    assert_allclose(mean, np.average(X, axis=0, weights=w))
    assert_allclose(variance, np.average((X - mean) ** 2, axis=0, weights=w), rtol=1e-9)
    S = sp.random_array((5000, 300), density=0.3, rng=rng, format="csr")
    mean, variance = checks.column_moments(S, w)
    assert_allclose(mean, np.average(S.toarray(), axis=0, weights=w))
    assert_allclose(variance, np.average((S.toarray() - mean) ** 2, axis=0, weights=w))


def test_ellipsoidal_gamma_scales_the_columns():
    X, y = wine()
    g = np.linspace(0, 0.5, X.shape[1])
    model, scaled = JointSVC(gamma=g, **EXACT).fit(X, y), JointSVC(gamma=1.0, **EXACT).fit(X * np.sqrt(g), y)
    assert_allclose(model.decision_function(X), scaled.decision_function(X * np.sqrt(g)), atol=1e-6)
    assert_array_equal(JointSVC(gamma=list(g)).fit(X, y).gamma_, g)


# --- weights --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("nu", [None, 0.2])
def test_weights_are_repetitions(loss, nu, rng):
    X, y = wine()
    w = rng.integers(0, 4, len(y))
    model = JointSVC(loss=loss, nu=nu, intercept="exact", class_weight="balanced", **EXACT)
    weighted, repeated = clone(model).fit(X, y, w), clone(model).fit(X.repeat(w, axis=0), y.repeat(w))
    same_scores(weighted, repeated, X)
    assert np.all(w[weighted.support_] > 0)


def test_a_number_is_a_weight_for_all():
    X, y = iris()
    same_scores(JointSVC(**EXACT).fit(X, y, 3.0), JointSVC(C=3.0, **EXACT).fit(X, y), X)


def test_a_class_of_weight_zero_is_gone():
    X, y = iris()
    model = JointSVC(**EXACT).fit(X, y, (y > 0).astype(float))
    assert_array_equal(model.classes_, [1, 2])
    same_scores(model, JointSVC(**EXACT).fit(X[y > 0], y[y > 0]), X)
    assert model.support_.min() >= 50


def test_balanced_class_weights():
    X, y = iris()
    X, y = X[20:130], y[20:130]
    factors = dict(enumerate(compute_class_weight("balanced", classes=np.arange(3), y=y)))
    same_scores(JointSVC(class_weight="balanced", **EXACT).fit(X, y), JointSVC(class_weight=factors, **EXACT).fit(X, y), X)
    one = JointSVC(gamma=0.5, class_weight={2: 5.0}, **EXACT).fit(X, y)
    same_scores(one, JointSVC(gamma=0.5, **EXACT).fit(X, y, np.where(y == 2, 5.0, 1.0)), X)


def test_class_weights_that_break_equal_sums_act_as_priors():
    X, y = iris()
    factors = {0: 1000.0, 1: 1.0, 2: 1.0}
    model = JointSVC(nu=0.3, intercept="exact", class_weight=factors, **EXACT).fit(X, y)
    light = 0.999 * (1 / 1002) / 0.3
    priors = np.array([1 - 2 * light, light, light])
    same_scores(model, JointSVC(nu=0.3, intercept="exact", priors=priors, class_weight=factors, **EXACT).fit(X, y), X)
    assert_allclose(model.dual_coef_.sum(axis=1), 3 * priors, rtol=1e-6)
    mild = JointSVC(nu=0.3, intercept="exact", class_weight={0: 2.0}, **EXACT).fit(X, y)
    assert_allclose(mild.dual_coef_.sum(axis=1), np.ones(3), rtol=1e-6)


# --- running --------------------------------------------------------------------------------------------------------------


def hard(n=400, seed=0):
    """Classes that overlap: many bounded support vectors, many steps."""
    return blobs([n // 4] * 4, 5, seed=seed, spread=2.0)


def test_warm_start_goes_on():
    X, y = hard()
    whole = JointSVC(C=100.0).fit(X, y)
    model = JointSVC(C=100.0, max_iter=max(1, whole.n_iter_ // 2), warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    half = model.dual_objective_
    assert half < whole.dual_objective_
    model.set_params(max_iter=10_000_000).fit(X, y)
    assert model.status_ == "solved" and model.dual_objective_ > half
    assert model.primal_objective_ == pytest.approx(whole.primal_objective_, rel=1e-2)
    assert model.fit(X, y).n_iter_ <= max(2, whole.n_iter_ // 4)


@pytest.mark.parametrize(("nu", "intercept"), [(None, "none"), (0.3, "none"), (0.3, "exact"), (None, "exact")])
def test_warm_start_from_another_problem(nu, intercept):
    X, y = hard()
    model = JointSVC(nu=nu, intercept=intercept, warm_start=True, **EXACT).fit(X, y)
    other = X + 0.1 * X[::-1]
    cold = JointSVC(nu=nu, intercept=intercept, C=3.0, **EXACT)
    same_scores(model.set_params(C=3.0).fit(other, y, np.arange(400) % 3), cold.fit(other, y, np.arange(400) % 3), X)
    same_scores(model.fit(X[:-1], y[:-1]), cold.fit(X[:-1], y[:-1]), X)  # another number of rows: a cold start


@pytest.mark.parametrize(
    ("status", "parameters", "advice"),
    [
        ("max_iter", dict(C=1e4, max_iter=2), "raise max_iter"),
        ("time_limit", dict(C=1e4, time_limit=1e-9), "raise time_limit"),
        ("stalled", dict(tol=1e-300), "accept a larger tol"),
    ],
)
def test_not_solved_is_a_warning(status, parameters, advice):
    X, y = hard()
    model = JointSVC(**parameters)
    with pytest.warns(ConvergenceWarning, match=f"(?s)JointSVC ended with status '{status}'.*{advice}") as caught:
        model.fit(X, y)
    assert model.status_ == status
    assert caught[0].filename == __file__
    assert model.predict(X).shape == (400,)
    assert np.isfinite(model.duality_gap_) or model.duality_gap_ == np.inf


@pytest.mark.parametrize("parameters", [dict(n_jobs=1), dict(n_jobs=2), dict(memory="1MB"), dict(memory=10**7)])
def test_threads_and_memory_change_nothing(parameters):
    X, y = hard(1200)
    same_scores(JointSVC(**EXACT).fit(X, y), JointSVC(**EXACT, **parameters).fit(X, y), X)


def test_verbose_lines(capsys, caplog):
    X, y = hard(1000)
    JointSVC(C=1e3, tol=1e-8, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("polymargin: ") for line in lines) and "status 'solved'" in lines[-1]
    with caplog.at_level(logging.INFO, logger="polymargin"):
        JointSVC(verbose=1).fit(X, y)
    assert "status 'solved'" in caplog.messages[-1]
    assert capsys.readouterr() == ("", "")
    JointSVC().fit(X, y)
    assert capsys.readouterr() == ("", "")


EVENT = dict(n_iter=1000, violation=0.1, dual=1.0, seconds=6.0)


def test_progress_bar(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    X, y = iris()
    JointSVC(verbose=1).fit(X, y)
    with progress.Progress(JointSVC(), 1e-3, 1, {}) as shown:
        assert shown.bar is not None
        shares = []
        for violation in (1.0, 0.1, 0.5, 0.01, 1e-3, 1e-9):
            assert not shown({**EVENT, "violation": violation})
            shares.append(shown.done)
    assert_allclose(shares, [0, 1 / 3, 1 / 3, 2 / 3, 1, 1], atol=1e-12)


def test_a_long_fit_is_announced(caplog, monkeypatch):
    X, y = iris()
    with caplog.at_level(logging.INFO, logger="polymargin"):
        JointSVC().fit(X, y)
        assert not caplog.messages
        monkeypatch.setattr(progress, "LONG", 0.0)
        JointSVC(n_jobs=2).fit(X, y)
    (line,) = caplog.messages
    assert "fitting 150 rows x 4 columns in 3 classes will take about 0 s and 0.0 GB" in line and "2 threads" in line
    seconds, size = progress.estimate(10**6, 50, "rbf", 2, 10**9)
    assert seconds > 600 and size == 10**9
    assert progress.duration(40) == "40 s" and progress.duration(600) == "10 min" and progress.duration(9000) == "2.5 h"


class Watch:
    """A scikit-learn callback that counts what it hears and asks to stop after some steps."""

    def __init__(self, steps=None, error=None):
        self.steps, self.error, self.heard, self.model = steps, error, [], None

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.heard.append("begin " + context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.heard.append("end " + context.task_name)
        if context.task_name == "fit":
            self.model, self.data = fitted_estimator, (X, y, metadata)
        elif self.error:
            raise self.error
        return self.steps is not None and self.heard.count("end steps") >= self.steps


def endless():
    X, y = blobs([1000, 1000, 1000], 5, seed=0, spread=3.0)
    return JointSVC(C=1e6, tol=1e-10, time_limit=60.0), X, y


def test_callbacks():
    pytest.importorskip("sklearn.callback")
    X, y = iris()
    watch = Watch()
    model = JointSVC().set_callbacks(watch).fit(X, y)
    assert watch.heard[:2] == ["setup", "begin fit"] and watch.heard[-2:] == ["end fit", "teardown"]
    assert_array_equal(watch.model.predict(X), model.predict(X))
    assert watch.data[0].shape == X.shape and len(watch.data[2]["sample_weight"]) == 150


def test_a_callback_can_stop_the_fit():
    pytest.importorskip("sklearn.callback")
    model, X, y = endless()
    watch = Watch(steps=2)
    with pytest.warns(ConvergenceWarning, match="interrupted.*warm_start=True"):
        model.set_callbacks(watch).fit(X, y)
    assert model.status_ == "interrupted" and model.fit_seconds_ < 30
    assert watch.heard.count("end steps") == 2 and watch.heard[-1] == "teardown"
    assert model.score(X, y) > 0.3


def test_an_error_in_a_callback_is_raised_after_the_model_is_there():
    pytest.importorskip("sklearn.callback")
    model, X, y = endless()
    with pytest.raises(ZeroDivisionError):
        model.set_callbacks(Watch(error=ZeroDivisionError())).fit(X, y)
    assert model.status_ == "interrupted" and len(model.predict(X)) == len(X)


def test_scikit_learns_progress_bar_and_monitor():
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    X, y = iris()
    JointSVC().set_callbacks(callback.ProgressBar()).fit(X, y)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = JointSVC().set_callbacks(monitor).fit(X, y)
    assert monitor.get_logs().data[-1]["accuracy"] == model.score(X, y)
    search = GridSearchCV(make_pipeline(StandardScaler(), JointSVC()), {"jointsvc__C": [1, 10]}, cv=2)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, y)


# --- warnings about the data ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_badly_scaled_columns(form):
    X, y = wine()
    X[:, 3] *= 1e5
    scaler = "StandardScaler" if form is np.asarray else "MaxAbsScaler"
    with pytest.warns(UserWarning, match=rf"Column 3 of X is \d+ times larger.*make_pipeline\({scaler}\(\), JointSVC") as caught:
        JointSVC(C=1e-3).fit(form(X), y)
    assert caught[0].filename == __file__
    gamma = np.full(13, 0.1)
    gamma[3] = 1e-11
    JointSVC(gamma=gamma).fit(form(X), y)  # the ellipsoid undoes it: no warning


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_flags_and_constants_are_not_badly_scaled(form, rng):
    y = np.arange(400) % 2
    X = np.zeros((400, 9))
    X[np.arange(8) * 50, np.arange(8)] = 1e-4  # rare flags
    X[:, 8] = rng.normal(size=400)
    JointSVC().fit(form(X), y)


# --- resources ------------------------------------------------------------------------------------------------------------


def test_threads(monkeypatch):
    cores = joblib.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert resources.threads(3) == 3
    assert resources.threads(-1) == cores
    assert resources.threads(-2) == max(1, cores - 1)
    with threadpoolctl.threadpool_limits(1, user_api="openmp"):
        assert resources.threads(None) == 1
        assert resources.threads(2) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert resources.threads(None) == 1


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_workers_have_one_thread(backend):
    assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(resources.threads)(None) for _ in range(3)) == [1, 1, 1]


def test_memory():
    free = resources.free_memory()
    assert 10**7 < free < 10**14
    assert resources.budget("auto") == pytest.approx(free / 2, rel=0.2)
    for text, size in [("512MB", 512e6), ("2GB", 2e9), ("1.5 GiB", 1.5 * 2**30), ("2000 kb", 2e6), ("3g", 3e9), ("5000000", 5e6)]:
        assert resources.budget(text) == size
    assert resources.budget(10**9) == 10**9
    assert os.path.exists("/proc/meminfo") is False or resources.system_memory() > 0


# --- the company of other tools -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_copies_and_pickles(kernel):
    X, y = iris()
    X = oracles.rbf(X, X) if kernel == "precomputed" else X
    model = JointSVC(kernel=kernel, intercept="exact").fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.decision_function(X), model.decision_function(X))
    assert not hasattr(clone(model), "dual_coef_")
    plain = (np.ndarray, sp.csr_array, str, int, float, tuple, bool, type(None))
    assert all(isinstance(value, plain) for value in vars(model).values())


def test_in_searches_and_calibration():
    X, y = iris()
    search = GridSearchCV(make_pipeline(StandardScaler(), JointSVC()), {"jointsvc__C": [0.1, 10]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.93
    P = CalibratedClassifierCV(JointSVC(), cv=3).fit(X, y).predict_proba(X)
    assert P.shape == (150, 3)


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, y = iris()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = JointSVC().fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


def test_many_classes_cost_no_table():
    n_classes = 2000
    X, y = blobs([2] * n_classes, 3, seed=0, spread=1e-3)
    model = JointSVC(gamma=1e4, C=10.0).fit(X, y)
    assert model.dual_coef_.shape == (n_classes, len(model.support_)) and model.dual_coef_.nnz == len(model.support_)
    assert model.score(X, y) > 0.99


@pytest.mark.parametrize("module", [polymargin.joint])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0
