"""What a fitted JointSVC is: attributes, scores, gamma, weights, and its place among other tools."""

import copy
import doctest
import pickle

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from compare import assert_same_scores
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
from polymargin import JointSVC, kernels
from polymargin.fitting import scales
from polymargin.training.problem import Coefficients

EXACT = dict(tol=1e-9)


# --- the model that the attributes describe ---------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["none", "exact", "regularized"])
@pytest.mark.parametrize("nu", [None, 0.3])
@pytest.mark.parametrize("kernel", sorted(oracles.KERNELS))
def test_scores_are_the_expansion(kernel, nu, intercept):
    X, y = wine()
    options = dict(gamma=0.3, degree=2, coef0=0.5)
    model = JointSVC("scatter", kernel=kernel, nu=nu, intercept=intercept, max_iter=20_000, **options)
    try:
        model.fit(X, y)
    except ConvergenceWarning:  # the sigmoid kernel need not be positive definite
        assert kernel == "sigmoid"
        return
    K = oracles.kernel_values(kernel, X, X[model.support_], **options)
    assert_allclose(model.decision_function(X), K @ model.dual_coef_.toarray().T + model.intercept_, atol=1e-10)
    assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


def test_attributes():
    X, y = wine()
    names = np.array(["b", "c", "a"])[y]
    model = JointSVC("scatter", C=0.5).fit(X, names)
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
    assert model.duality_gap_ == pytest.approx(
        (model.primal_objective_ - model.dual_objective_) / model.primal_objective_, abs=1e-12
    )
    assert 0 <= model.kkt_violation_ <= model.tol
    assert model.n_iter_ >= 1 and model.n_kernel_evals_ > 0 and model.fit_seconds_ > 0 and model.rho_ == 1
    assert not hasattr(model, "coef_")


def test_regularized_intercept_is_the_class_sum():
    X, y = iris()
    model = JointSVC("scatter", intercept="regularized").fit(X, y)
    assert_allclose(model.intercept_, model.dual_coef_.sum(axis=1))
    assert_same_scores(
        model, JointSVC("scatter", kernel=lambda A, B: oracles.rbf(A, B, model.gamma_) + 1).fit(X, y), X, 1e-3
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_two_classes_have_one_score(loss):
    X, y = iris12()
    model = JointSVC("scatter", loss=loss, intercept="exact").fit(X, y)
    F = oracles.rbf(X, X[model.support_], model.gamma_) @ model.dual_coef_.toarray().T + model.intercept_
    score = model.decision_function(X)
    assert score.shape == (len(X),)
    assert_allclose(score, (F[:, 1] - F[:, 0]) / 2, atol=1e-10)
    assert_array_equal(model.predict(X), model.classes_[(score > 0).astype(int)])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("intercept", ["none", "exact", "regularized"])
def test_linear_weights(form, intercept, monkeypatch):
    X, y = wine()
    model = JointSVC("scatter", kernel="linear", intercept=intercept).fit(form(X), y)
    assert isinstance(model.coef_, np.ndarray) and model.coef_.shape == (3, X.shape[1])
    assert_allclose(model.coef_, model.dual_coef_.toarray() @ X[model.support_], atol=1e-12)
    assert_allclose(model.decision_function(form(X)), X @ model.coef_.T + model.intercept_, atol=1e-10)
    monkeypatch.setattr(
        "polymargin.training.expansions.LARGEST_COEF", 0
    )  # too large to keep: the support vectors give the same scores
    again = JointSVC("scatter", kernel="linear", intercept=intercept).fit(form(X), y)
    assert again._coef is None
    assert_allclose(again.coef_, model.coef_)
    assert_same_scores(model, again, form(X), 1e-10)


def test_no_support_vectors_give_the_intercepts():
    X, y = iris()
    model = JointSVC("scatter").fit(X, y)
    model._set_prototypes(X, np.arange(150), y, Coefficients(alpha=np.zeros(150), intercept=np.arange(3.0)))
    assert_array_equal(model.decision_function(X[:2]), [[0, 1, 2]] * 2)
    assert_array_equal(model.predict(X[:2]), [2, 2])


# --- gamma ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_gamma_scale(form):
    X, y = blobs([40, 50], 6, seed=0)
    X = 100 + X * np.arange(1, 7)
    X[:, 2] = 0
    assert JointSVC("scatter").fit(form(X), y).gamma_ == pytest.approx(1 / (6 * X.var()), rel=1e-12)
    assert JointSVC("scatter", gamma="auto").fit(form(X), y).gamma_ == pytest.approx(1 / 6)
    w = np.arange(90) % 4
    assert JointSVC("scatter").fit(form(X), y, w).gamma_ == pytest.approx(
        1 / (6 * X.repeat(w, axis=0).var()), rel=1e-12
    )
    assert JointSVC("scatter", kernel="linear").fit(form(X), y).gamma_ is None


@pytest.mark.parametrize("value", [0.0, 0.1, 0.055, -7.7e11])
@pytest.mark.parametrize("n", [10, 3000])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_gamma_of_equal_entries(value, n, store, rng):
    X = store(np.full((n, 3), value))
    for _ in range(20):
        weight = rng.uniform(0.1, 1, n) * (
            rng.permutation(n) < rng.integers(1, n + 1)
        )  # zero except for at least one row
        mean, variance = scales.column_moments(X, weight)
        assert kernels.resolve_gamma("rbf", "scale", mean, variance, 3) == 1
    assert n > 10 or JointSVC("scatter").fit(X, [0, 1] * 5).gamma_ == 1


def test_column_moments_in_many_blocks(rng):
    X = rng.normal(1e6, 1, size=(5000, 300))
    w = rng.integers(0, 3, 5000).astype(float)
    mean, variance = scales.column_moments(X, w)
    assert_allclose(mean, np.average(X, axis=0, weights=w))
    assert_allclose(variance, np.average((X - mean) ** 2, axis=0, weights=w), rtol=1e-9)
    S = sp.random_array((5000, 300), density=0.3, rng=rng, format="csr")
    mean, variance = scales.column_moments(S, w)
    assert_allclose(mean, np.average(S.toarray(), axis=0, weights=w))
    assert_allclose(variance, np.average((S.toarray() - mean) ** 2, axis=0, weights=w))


def test_sparse_rows_without_any_entry():
    y = np.arange(6) % 2
    model, dense = (JointSVC("scatter").fit(X, y) for X in (sp.csr_array((6, 3)), np.zeros((6, 3))))
    assert model.gamma_ == dense.gamma_ == 1
    assert model.primal_objective_ == dense.primal_objective_


def test_ellipsoidal_gamma_scales_the_columns():
    X, y = wine()
    g = np.linspace(0, 0.5, X.shape[1])
    model, scaled = (
        JointSVC("scatter", gamma=g, **EXACT).fit(X, y),
        JointSVC("scatter", gamma=1.0, **EXACT).fit(X * np.sqrt(g), y),
    )
    assert_allclose(model.decision_function(X), scaled.decision_function(X * np.sqrt(g)), atol=1e-6)
    assert_array_equal(JointSVC("scatter", gamma=list(g)).fit(X, y).gamma_, g)


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("nu", [None, 0.2])
def test_weights_are_repetitions(loss, nu, rng):
    X, y = wine()
    w = rng.integers(0, 4, len(y))
    model = JointSVC("scatter", loss=loss, nu=nu, intercept="exact", class_weight="balanced", **EXACT)
    weighted, repeated = clone(model).fit(X, y, w), clone(model).fit(X.repeat(w, axis=0), y.repeat(w))
    assert_same_scores(weighted, repeated, X)
    assert np.all(w[weighted.support_] > 0)


def test_a_number_is_a_weight_for_all():
    X, y = iris()
    assert_same_scores(JointSVC("scatter", **EXACT).fit(X, y, 3.0), JointSVC("scatter", C=3.0, **EXACT).fit(X, y), X)


def test_a_class_of_weight_zero_is_gone():
    X, y = iris()
    model = JointSVC("scatter", **EXACT).fit(X, y, (y > 0).astype(float))
    assert_array_equal(model.classes_, [1, 2])
    assert_same_scores(model, JointSVC("scatter", **EXACT).fit(X[y > 0], y[y > 0]), X)
    assert model.support_.min() >= 50


def test_balanced_class_weights():
    X, y = iris()
    X, y = X[20:130], y[20:130]
    factors = dict(enumerate(compute_class_weight("balanced", classes=np.arange(3), y=y)))
    assert_same_scores(
        JointSVC("scatter", class_weight="balanced", **EXACT).fit(X, y),
        JointSVC("scatter", class_weight=factors, **EXACT).fit(X, y),
        X,
    )
    one = JointSVC("scatter", gamma=0.5, class_weight={2: 5.0}, **EXACT).fit(X, y)
    assert_same_scores(one, JointSVC("scatter", gamma=0.5, **EXACT).fit(X, y, np.where(y == 2, 5.0, 1.0)), X)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_class_weights_that_break_equal_sums_act_as_priors(loss):
    X, y = iris()
    factors = {0: 1000.0, 1: 1.0, 2: 1.0}
    model = JointSVC("scatter", loss=loss, nu=0.3, intercept="exact", class_weight=factors, **EXACT).fit(X, y)
    light = (1 if loss == "hinge" else 0.999) * (1 / 1002) / 0.3
    priors = np.array([1 - 2 * light, light, light])
    assert_allclose(model.dual_coef_.sum(axis=1), 3 * priors, rtol=1e-6)
    assert model.intercept_ @ priors == pytest.approx(0, abs=1e-9)
    assert_array_equal(model.predict(X), np.zeros(150))
    given = JointSVC("scatter", loss=loss, nu=0.3, intercept="exact", priors=priors, class_weight=factors, **EXACT).fit(
        X, y
    )
    assert_allclose(model.dual_coef_.toarray(), given.dual_coef_.toarray(), atol=1e-6)
    mild = JointSVC("scatter", loss=loss, nu=0.3, intercept="exact", class_weight={0: 2.0}, **EXACT).fit(X, y)
    assert_allclose(mild.dual_coef_.sum(axis=1), np.ones(3), rtol=1e-6)


# --- the company of other tools ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_copies_and_pickles(kernel):
    X, y = iris()
    X = oracles.rbf(X, X) if kernel == "precomputed" else X
    model = JointSVC("scatter", kernel=kernel, intercept="exact").fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.decision_function(X), model.decision_function(X))
    assert not hasattr(clone(model), "dual_coef_")
    plain = (np.ndarray, sp.csr_array, str, int, float, tuple, bool, type(None))
    assert all(isinstance(value, plain) for value in vars(model).values())


def test_in_searches_and_calibration():
    X, y = iris()
    search = GridSearchCV(make_pipeline(StandardScaler(), JointSVC("scatter")), {"jointsvc__C": [0.1, 10]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ > 0.93
    P = CalibratedClassifierCV(JointSVC("scatter"), cv=3).fit(X, y).predict_proba(X)
    assert P.shape == (150, 3)


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, y = iris()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = JointSVC("scatter").fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


def test_many_classes_cost_no_table():
    n_classes = 2000
    X, y = blobs([2] * n_classes, 3, seed=0, spread=1e-3)
    model = JointSVC("scatter", gamma=1e4, C=10.0).fit(X, y)
    assert model.dual_coef_.shape == (n_classes, len(model.support_)) and model.dual_coef_.nnz == len(model.support_)
    assert model.score(X, y) > 0.99


@pytest.mark.parametrize("module", [polymargin.joint])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0
