"""One-versus-one and one-versus-rest: their binary machines, their votes, and what scikit-learn's SVC does."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import blobs, digits, iris, wine
from oracles import factor, rbf, solve
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from polymargin import OneVsRestSVC, OutputCodeSVC, PairwiseSVC, _core
from polymargin.training.pair_codes import all_pairs, dag, pair_code, votes

# --- the binary machines ---


def binary_optimum(K, y, C, loss, weight):
    """(value, w'phi(x_i) + b for all rows) of the binary machine, by a conic solver."""
    Phi = factor(K)
    w, b = cp.Variable(Phi.shape[1]), cp.Variable()
    xi = cp.pos(1 - cp.multiply(y, Phi @ w + b))
    penalty = weight @ xi if loss == "hinge" else 0.5 * (weight @ cp.square(xi))
    value = solve(cp.Minimize(0.5 * cp.sum_squares(w) + C * penalty), [])
    return value, Phi @ w.value + b.value


def test_contradictory_rows_with_kernel_values_beside_which_the_ridge_is_rounding():
    """One pair of equal rows: w = 0, alpha = C = 1 each, whatever k is. k + 1 is k in float64."""
    model = OneVsRestSVC(kernel="linear", loss="squared_hinge").fit([[1e9], [1e9]], [0, 1])
    assert model.status_ == "solved"
    np.testing.assert_allclose(model.dual_coef_.toarray(), [[-1, 1]])
    np.testing.assert_allclose([model.primal_objective_, model.dual_objective_], 1)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("Scheme", [PairwiseSVC, OneVsRestSVC, OutputCodeSVC])
def test_every_binary_machine_is_optimal(Scheme, loss, rng):
    X, y = blobs([14, 9, 17], 3, seed=1)
    weight = rng.uniform(0.3, 2, len(y))
    model = Scheme(C=3.0, gamma=0.4, loss=loss, tol=1e-8).fit(X, y, weight)
    F, total = model._raw_scores(X), 0.0
    for column, f in zip(model.code_.T, F.T, strict=True):
        rows = column[y] != 0
        K = rbf(X[rows], X[rows], gamma=0.4)
        value, scores = binary_optimum(K, column[y][rows], 3.0, loss, weight[rows])
        np.testing.assert_allclose(f[rows], scores, atol=2e-5)
        total += value
    assert model.primal_objective_ == pytest.approx(total, rel=1e-6)
    assert model.dual_objective_ == pytest.approx(total, rel=1e-6)
    assert model.duality_gap_ < 1e-6 and model.status_ == "solved"


def test_squared_hinge_is_a_ridge():
    """The squared hinge is the separable hinge on the kernel matrix K + I/C."""
    X, y = wine()
    K = rbf(X, X, 0.3)
    a = PairwiseSVC(2.0, loss="squared_hinge", kernel="precomputed", tol=1e-8).fit(K, y)
    b = SVC(C=1e10, kernel="precomputed", tol=1e-8, decision_function_shape="ovo").fit(K + np.eye(len(y)) / 2.0, y)
    np.testing.assert_allclose(a.pair_decision_function(K), b.decision_function(K), atol=1e-5)


# --- scikit-learn's SVC ---


def assert_like_svc(ours, svc, X, atol=1e-4):
    """Values of all pairs; votes and labels of the rows in which none is so near to zero that its sign is rounding."""
    pairs = svc.set_params(decision_function_shape="ovo").decision_function(X)
    found = ours.pair_decision_function(X)
    np.testing.assert_allclose(found, pairs, atol=atol)
    decided = ((found > 0) == (pairs > 0)).reshape(len(X), -1).all(axis=1)
    assert decided.mean() > 0.9
    X = X[decided]
    svc.set_params(decision_function_shape="ovr", break_ties=True)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=atol)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))


CASES = [
    (wine, dict(C=5.0, gamma=0.3)),
    (iris, dict(C=100.0, gamma=1.0)),
    (iris, dict(C=1.0, kernel="linear")),
    (wine, dict(C=0.5, kernel="poly", gamma=0.5, coef0=1.0)),
    (wine, dict(C=0.5, kernel="sigmoid", gamma=0.01)),
    (iris, dict(class_weight={0: 0.5, 2: 3.0})),
    (wine, dict(class_weight="balanced", gamma="auto")),
    (digits, dict(C=10.0, gamma=0.02)),
]


@pytest.mark.filterwarnings("ignore:kernel='sigmoid' is indefinite")
@pytest.mark.parametrize("data, parameters", CASES)
def test_it_is_scikit_learns_svc(data, parameters):
    X, y = data()
    ours = PairwiseSVC(**parameters, tol=1e-6).fit(X[::2], y[::2])
    svc = SVC(**parameters, tol=1e-8, decision_function_shape="ovo").fit(X[::2], y[::2])
    assert_like_svc(ours, svc, X)
    np.testing.assert_array_equal(ours.n_support_, svc.n_support_)


def test_the_same_solution_at_the_same_tolerance():
    X, y = digits()
    ours, svc = PairwiseSVC(10.0, gamma=0.02).fit(X, y), SVC(C=10.0, gamma=0.02).fit(X, y)
    assert ours.kkt_violation_ <= 1e-3
    assert abs(len(ours.support_) - len(svc.support_)) <= 5
    assert abs(ours.n_iter_ - svc.n_iter_.sum()) < 0.1 * ours.n_iter_


def test_weights_of_rows_are_scikit_learns(rng):
    X, y = wine()
    w = rng.uniform(0.2, 3, len(y))
    ours = PairwiseSVC(2.0, gamma=0.3, tol=1e-7).fit(X, y, w)
    assert_like_svc(ours, SVC(C=2.0, gamma=0.3, tol=1e-8).fit(X, y, w), X)


def test_weights_act_as_c_and_as_repetitions(rng):
    X, y = wine()
    for Scheme in (PairwiseSVC, OneVsRestSVC):
        model = Scheme(gamma=0.3, tol=1e-8)
        F = model.fit(X, y, np.full(len(y), 4.0))._raw_scores(X)
        np.testing.assert_allclose(model.set_params(C=4.0).fit(X, y)._raw_scores(X), F, atol=1e-6)
        times = rng.integers(0, 3, len(y))
        F = model.set_params(C=1.0).fit(X, y, times)._raw_scores(X)
        repeated = np.repeat(np.arange(len(y)), times)
        np.testing.assert_allclose(model.fit(X[repeated], y[repeated])._raw_scores(X), F, atol=1e-6)


@pytest.mark.parametrize("parameters", [dict(gamma=0.05), dict(kernel="linear"), dict(kernel="laplacian", gamma=0.1)])
def test_sparse_precomputed_and_callable_are_dense(parameters):
    X, y = digits()
    X, y, Z = X[:500], y[:500], X[500:600]
    model = PairwiseSVC(3.0, tol=1e-8, **parameters).fit(X, y)
    F = model.pair_decision_function(Z)
    same = PairwiseSVC(3.0, tol=1e-8, **parameters).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(same.pair_decision_function(sp.csr_matrix(Z)), F, atol=1e-6)
    kernel = model.kernel
    rows, cols, more = np.arange(500), np.arange(500), np.arange(100)
    record = dict(kind=kernel, gamma=parameters.get("gamma", 1.0))
    K, KZ = _core.kernel_block(X, X, record, rows, cols), _core.kernel_block(Z, X, record, more, cols)
    given = PairwiseSVC(3.0, tol=1e-8, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.pair_decision_function(KZ), F, atol=1e-6)
    called = PairwiseSVC(
        3.0,
        tol=1e-8,
        kernel=lambda A, B: _core.kernel_block(A, B, record, np.arange(len(A)), np.arange(len(B))),
    ).fit(X, y)
    np.testing.assert_allclose(called.pair_decision_function(Z), F, atol=1e-6)


def test_two_classes_are_one_machine():
    X, y = wine()
    X, y = X[y < 2], np.array(["b", "a"])[y[y < 2]]
    svc = SVC(C=2.0, gamma=0.3, tol=1e-8).fit(X, y)
    for Scheme in (PairwiseSVC, OneVsRestSVC, OutputCodeSVC):
        model = Scheme(2.0, gamma=0.3, tol=1e-7).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-5)
        np.testing.assert_array_equal(model.predict(X), svc.predict(X))
        assert model.code_.tolist() == [[-1], [1]]


def test_linear_machines_have_weights():
    X, y = wine()
    for Scheme in (PairwiseSVC, OneVsRestSVC):
        model = Scheme(kernel="linear").fit(X, y)
        F = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(model._raw_scores(X), F, atol=1e-9)
        np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-9)
    svc = SVC(kernel="linear", tol=1e-8).fit(X, y)
    model = PairwiseSVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, svc.coef_, atol=1e-5)


@pytest.mark.parametrize("Scheme", [PairwiseSVC, OneVsRestSVC, OutputCodeSVC])
def test_tiny_classes(Scheme):
    """A class of one row, and of no more than two rows each."""
    X = np.array([[0.0, 0], [4, 0], [4, 1], [0, 4], [0, 5], [9, 9]])
    y = np.array([7, 1, 1, 3, 3, 5])
    model = Scheme(10.0, gamma=0.1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.n_support_.sum() == len(model.support_) and model.n_support_.shape == (4,)


def test_equal_rows_of_different_classes():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 6, axis=0)
    y = np.tile([0, 1, 2], 4)
    for Scheme in (PairwiseSVC, OneVsRestSVC, OutputCodeSVC):
        model = Scheme(1.0, gamma=1.0).fit(X, y)
        assert model.status_ == "solved" and np.all(np.isfinite(model.decision_function(X)))


# --- votes and graphs ---


def naive_votes(F, T):
    S = np.zeros((len(F), T))
    for i, f in enumerate(F):
        count, confidence, pair = [0] * T, [0.0] * T, 0
        for a in range(T):
            for b in range(a + 1, T):
                count[a if f[pair] > 0 else b] += 1
                confidence[a] += f[pair]
                confidence[b] -= f[pair]
                pair += 1
        S[i] = [n + s / (3 * (abs(s) + 1)) for n, s in zip(count, confidence, strict=True)]
    return S


def naive_walk(f, T):
    left = list(range(T))
    while len(left) > 1:
        a, b = left[0], left[-1]
        pair = sum(T - 1 - c for c in range(a)) + b - a - 1
        left.remove(b if f[pair] > 0 else a)
    return left[0]


def test_votes_and_walks(rng):
    for T in (3, 4, 7):
        F = rng.normal(size=(200, T * (T - 1) // 2))
        np.testing.assert_allclose(votes(F, T), naive_votes(F, T), atol=1e-12)
        np.testing.assert_array_equal(dag(F, T), [naive_walk(f, T) for f in F])
        assert np.abs(votes(F, T) - np.round(votes(F, T))).max() < 1 / 3


@pytest.mark.parametrize("parameters", [dict(gamma=0.001, C=0.05), dict(gamma=2.0, C=0.1), dict(kernel="linear")])
def test_scores_of_a_model_are_its_votes(parameters):
    X, y = digits()
    Z = X[1000:] + np.random.default_rng(0).normal(scale=0.3, size=X[1000:].shape)  # many ties
    model = PairwiseSVC(**parameters).fit(X[:1000], y[:1000])
    F, S = model.pair_decision_function(Z), model.decision_function(Z)
    np.testing.assert_allclose(S, naive_votes(F, 10), atol=1e-9)
    np.testing.assert_array_equal(model.predict(Z), S.argmax(axis=1))
    np.testing.assert_allclose(model._decision().class_scores(F), S, atol=1e-9)
    graph = PairwiseSVC(**parameters, decision="dag").fit(X[:1000], y[:1000])
    winner = [naive_walk(f, 10) for f in F]
    np.testing.assert_array_equal(graph.predict(Z), winner)
    G = graph.decision_function(Z)
    np.testing.assert_array_equal(G.argmax(axis=1), winner)
    lost = S.argmax(axis=1) != winner
    np.testing.assert_allclose(G[~lost], S[~lost], atol=1e-12)
    np.testing.assert_allclose(graph._decision().class_scores(F), G, atol=1e-9)


def test_pairs_and_code():
    X, y = iris()
    model = PairwiseSVC().fit(X, y)
    assert model.pairs_.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert model.code_.tolist() == [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    assert model.dual_coef_.shape == (3, len(model.support_)) and model.intercept_.shape == (3,)
    assert all_pairs(5).shape == (10, 2) and pair_code(all_pairs(5), 5).sum() == 0
    B = model.dual_coef_.toarray()
    K = rbf(X, X[model.support_], model.gamma_)
    np.testing.assert_allclose(K @ B.T + model.intercept_, model.pair_decision_function(X), atol=1e-9)


def test_many_classes(rng):
    """1,770 pairs of five rows each."""
    y = np.repeat(np.arange(60), 5)
    X = 3 * rng.normal(size=(60, 4))[y] + rng.normal(size=(300, 4))
    model, svc = PairwiseSVC(10.0, gamma=0.2, tol=1e-6).fit(X, y), SVC(C=10.0, gamma=0.2, tol=1e-8).fit(X, y)
    assert_like_svc(model, svc, X[:100])


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
@pytest.mark.parametrize("Scheme", [PairwiseSVC, OneVsRestSVC, OutputCodeSVC])
def test_calibrated_probabilities_agree_with_predict(Scheme, method):
    X, y = digits()
    machine = Scheme(10.0, gamma=0.02, random_state=0)  # a code is drawn
    model = clone(machine).fit(X[:1200], y[:1200])
    calibrated = CalibratedClassifierCV(machine, method=method, cv=3).fit(X[:1200], y[:1200])
    P = calibrated.predict_proba(X[1200:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    agree = calibrated.classes_[P.argmax(axis=1)] == model.predict(X[1200:])
    assert agree.mean() > 0.95
    if method == "temperature":  # one machine: a temperature never changes the order
        calibrated = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(X[1200:], y[1200:])
        np.testing.assert_array_equal(calibrated.predict(X), model.predict(X))
