"""Sensitivity maps: reference values, finite differences, and a naive map for every machine."""

import tracemalloc

import numpy as np
import oracle_values
import oracles
import pytest
import scipy.sparse as sp
from data_sets import blobs, iris
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polymargin import (
    AutoSVC,
    CoreVectorSVC,
    EnclosingBall,
    JointSVC,
    KernelSearchCV,
    OneVsRestSVC,
    OutputCodeSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    SensitivityDisplay,
    kernels,
    sensitivity_map,
)
from polymargin.inspection import sensitivity
from polymargin.machines import MACHINES

KERNELS = {
    **{kernel: dict(gamma=0.2, degree=3, coef0=0.5) for kernel in oracles.KERNELS},
    "ellipsoidal": dict(kernel="rbf", gamma=[0.1, 0.0, 0.5, 1.0]),
    "poly1": dict(kernel="poly", gamma=0.5, degree=1),
    "poly2": dict(kernel="poly", gamma=0.5, degree=2, coef0=0.5),
}


def fitted(kernel, X, y, machine="scatter", **more):
    return JointSVC(machine, **(dict(kernel=kernel, C=2.0) | KERNELS[kernel] | more)).fit(X, y)


def differences(model, X, h=1e-5):
    """Central differences of all class scores, (n, T, d)."""
    F = [(model.decision_function(X + e) - model.decision_function(X - e)) / (2 * h) for e in h * np.eye(X.shape[1])]
    return np.stack(F, axis=2)


def test_every_kernel_has_a_gradient():
    assert set(sensitivity.GRADIENTS) == set(kernels.BY_NAME)


def test_reference_values():
    X, y = iris()
    model = JointSVC("scatter", nu=0.5, gamma=0.5, tol=1e-9).fit(X, y)
    assert_allclose(sensitivity_map(model, X, y), oracle_values.SENSITIVITY, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # sigmoid is indefinite
@pytest.mark.parametrize("machine", ["scatter", "kesler"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_are_finite_differences(kernel, machine, seed):
    X, y = blobs([14, 11, 9], 4, seed)
    model = fitted(kernel, X, y, machine)
    Z = X[::3] + 0.01  # off the support vectors, where the Laplacian kernel has its kinks
    D = differences(model, Z)
    for c in range(3):
        blocks = sensitivity.gradient_blocks(model, Z, sensitivity.row_of(model.dual_coef_, c))
        G = np.concatenate([G for _, G in blocks])
        assert_allclose(G, D[:, c], rtol=1e-6, atol=1e-7 * np.abs(D).max())


@pytest.mark.parametrize("machine", MACHINES)
def test_maps_of_every_machine(machine, seed):
    X, y = blobs([14, 11, 9, 12], 3, seed)
    model = JointSVC(machine, C=2.0, gamma=0.3).fit(X, y)
    D = differences(model, X)
    naive = [np.square(D[y == c, c]).mean(axis=0) for c in range(4)]
    assert_allclose(sensitivity_map(model, X, y), naive, rtol=1e-6)
    # The mean of the prototypes that classes make of their own rows, by the plain kernel.
    B = sp.csr_array(model.dual_coef_).toarray()
    own = B[y[model.support_], np.arange(len(model.support_))]
    assert np.all(own >= 0)
    means = [
        oracles.rbf(X + e, model.support_vectors_, 0.3) @ own / 4 for e in 1e-5 * np.vstack([np.eye(3), -np.eye(3)])
    ]
    gradient = np.stack([(means[j] - means[j + 3]) / 2e-5 for j in range(3)], axis=1)
    assert_allclose(sensitivity_map(model, X, of="mean"), np.square(gradient).mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("reduction", [PairwiseSVC, OneVsRestSVC, OutputCodeSVC])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_maps_of_reductions(reduction, kernel, seed):
    """One map per binary machine, over the rows of its classes."""
    X, y = blobs([14, 11, 9, 12], 3, seed)
    model = reduction(C=2.0, kernel=kernel).fit(X, y)
    steps = 1e-5 * np.eye(3)
    D = np.stack([(model._raw_scores(X + e) - model._raw_scores(X - e)) / 2e-5 for e in steps], axis=2)
    part = np.eye(4) if reduction is OneVsRestSVC else model.code_
    naive = [np.square(D[part[y, k] != 0, k]).mean(axis=0) for k in range(D.shape[1])]
    assert_allclose(sensitivity_map(model, X, y), naive, rtol=1e-6, atol=1e-12)
    assert_allclose(sensitivity_map(model, X, y, of="mean"), np.mean(naive, axis=0), rtol=1e-6, atol=1e-12)
    assert len(sensitivity.score_names(model)) == len(naive)


def test_maps_of_core_vectors(seed):
    X, y = blobs([14, 11, 9], 3, seed)
    model = CoreVectorSVC(gamma=0.3).fit(X, y)
    D = differences(model, X)
    assert_allclose(sensitivity_map(model, X, y), [np.square(D[y == c, c]).mean(axis=0) for c in range(3)], rtol=1e-6)
    assert sensitivity_map(CoreVectorSVC(scheme="pairwise").fit(X, y), X, y).shape == (3, 3)


@pytest.mark.parametrize("reduction", [PairwiseSVC, OneVsRestSVC, OutputCodeSVC])
def test_maps_of_two_classes(reduction, seed):
    X, y = blobs([14, 11], 3, seed)
    model = reduction(gamma=0.3).fit(X, y)
    steps = 1e-5 * np.eye(3)
    D = [(model.decision_function(X + e) - model.decision_function(X - e)) / 2e-5 for e in steps]
    assert_allclose(sensitivity_map(model, X, y), [np.square(D).mean(axis=1)], rtol=1e-6)


@pytest.mark.parametrize("kernel", oracles.DEFINITE)
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_forms_of_the_data(kernel, form, seed):
    X, y = blobs([14, 11, 9], 4, seed)
    X[np.abs(X) < 0.4] = 0
    X = X.astype(np.float32).astype(np.float64)
    expected, found = fitted(kernel, X, y, tol=1e-9), fitted(kernel, form(X), y, tol=1e-9)
    for of in ("class", "mean"):
        assert_allclose(
            sensitivity_map(found, form(X), y, of=of), sensitivity_map(expected, X, y, of=of), rtol=1e-4, atol=1e-9
        )


@pytest.mark.parametrize("kernel", oracles.DEFINITE)
def test_blocks_do_not_matter(kernel, seed, monkeypatch):
    X, y = blobs([30, 25, 28], 4, seed)
    model = fitted(kernel, X, y)
    expected = sensitivity_map(model, X, y)
    monkeypatch.setattr(sensitivity, "CHUNK", 7)
    monkeypatch.setattr(sensitivity, "GRADIENT_VALUES", 50)
    assert_allclose(sensitivity_map(model, X, y), expected, rtol=1e-10)


def test_weights_are_repetitions(rng, seed):
    X, y = blobs([14, 11, 9], 4, seed)
    model = fitted("rbf", X, y)
    times = rng.integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), times)
    for of in ("class", "mean"):
        weighted = sensitivity_map(model, X, y, of=of, sample_weight=times)
        assert_allclose(weighted, sensitivity_map(model, X[again], y[again], of=of), rtol=1e-10)


def test_data_far_from_zero(seed):
    X, y = blobs([14, 11, 9], 20, seed)
    far = X + 2.0**38
    X = far - 2.0**38  # the same rows, rounded
    maps = [sensitivity_map(JointSVC("scatter", gamma=0.05, tol=1e-9).fit(Z, y), Z, y) for Z in (X, far)]
    assert_allclose(maps[1], maps[0], rtol=1e-5)


def test_predicted_classes_stand_in_for_y(seed):
    X, y = blobs([14, 11, 9], 4, seed, spread=1.5)
    model = fitted("rbf", X, y)
    assert_allclose(sensitivity_map(model, X), sensitivity_map(model, X, model.predict(X)))


def test_a_class_without_rows_has_no_map(seed):
    X, y = blobs([14, 11, 9], 4, seed)
    maps = sensitivity_map(fitted("rbf", X, y), X[y != 1], y[y != 1])
    assert np.isnan(maps[1]).all() and np.isfinite(maps[[0, 2]]).all()


def test_pipeline_gives_the_features_of_its_last_step(seed):
    X, y = blobs([14, 11, 9], 4, seed)
    X = X * [1, 10, 100, 1000]
    pipeline = make_pipeline(StandardScaler(), JointSVC("scatter")).fit(X, y)
    Z = pipeline[0].transform(X)
    assert_allclose(sensitivity_map(pipeline, X, y), sensitivity_map(pipeline[1], Z, y))


def test_searches_give_the_features_of_their_machine(seed):
    X, y = blobs([20, 20, 25], 4, seed=seed)
    grid = KernelSearchCV(PairwiseSVC(), C=[1.0], gamma=[0.1], cv=2).fit(X, y)
    assert_allclose(sensitivity_map(grid, X, y), sensitivity_map(grid.best_estimator_, X, y))
    search = RadiusMarginSearch(make_pipeline(StandardScaler(), JointSVC("scatter")), cv=None)
    outer = make_pipeline(StandardScaler(), search).fit(X, y)
    Z = search.best_estimator_[0].transform(outer[0].transform(X))
    assert_allclose(sensitivity_map(outer, X, y), sensitivity_map(search.best_estimator_[-1], Z, y))
    auto = AutoSVC(calibrate=False, random_state=0).fit(X, y)
    expected = sensitivity_map(auto.machine_, auto.encoder_.transform(X), y)
    assert_allclose(sensitivity_map(auto, X, y), expected)
    labels = [t.get_text() for t in SensitivityDisplay.from_estimator(auto, X, y).axes_[0].get_yticklabels()]
    assert labels == list(auto.feature_names_out_)
    for model, name in (
        (KernelSearchCV(JointSVC("scatter"), C=[1.0]), "KernelSearchCV"),
        (SVC(), "SVC"),
        (EnclosingBall().fit(X), "Ball"),
    ):
        with pytest.raises(ValueError, match=f"fitted kernel machine .* got .*{name}"):
            sensitivity_map(model, X, y)


def test_zero_rows_of_the_cosine_kernel(seed):
    X, y = blobs([14, 11, 9], 4, seed)
    X[:2] = 0
    assert np.isfinite(sensitivity_map(fitted("cosine", X, y), X, y)).all()


def test_memory_is_that_of_a_block(seed):
    X, y = blobs([500, 500], 200, seed, spread=3)
    model = JointSVC("scatter", C=1e-3).fit(X, y)  # all rows are support vectors
    tracemalloc.start()
    sensitivity_map(model, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(model.support_) > 900 and peak < 100e6  # n x n_SV x d would be 1600 MB


def test_errors_say_what_to_do(seed):
    X, y = blobs([14, 11, 9], 4, seed)
    model = fitted("rbf", X, y)
    with pytest.raises(ValueError, match="derivative of a Python function is not known"):
        sensitivity_map(JointSVC("scatter", kernel=oracles.linear).fit(X, y), X, y)
    with pytest.raises(ValueError, match="says nothing about the features"):
        sensitivity_map(JointSVC("scatter", kernel="precomputed").fit(X @ X.T, y), X @ X.T, y)
    with pytest.raises(ValueError, match="got StandardScaler"):
        sensitivity_map(StandardScaler().fit(X), X)
    with pytest.raises(ValueError, match='expected of to be "class" or "mean"'):
        sensitivity_map(model, X, y, of="total")
    with pytest.raises(ValueError, match=r"got 7"):
        sensitivity_map(model, X, np.where(y == 0, 7, y))
    with pytest.raises(ValueError, match="one label per row"):
        sensitivity_map(model, X, y[:5])
    with pytest.raises(ValueError, match="features"):
        sensitivity_map(model, X[:, :2], y)
    with pytest.raises(ValueError, match="not fitted"):
        sensitivity_map(JointSVC("scatter"), X, y)
