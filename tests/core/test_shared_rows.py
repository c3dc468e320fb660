"""Kernel values that the machines of a fit share: computed once, whether the matrix is held or rows are cached."""

from collections import Counter

import numpy as np
import pytest
from data_sets import blobs
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from polymargin import OneVsRestSVC, OutputCodeSVC, PairwiseSVC, _core
from polymargin.reductions.output_codes import design

SIZES, GAMMA = [400, 350, 450, 300], 0.5
N = sum(SIZES)
ROW = 8 * N  # bytes at a tolerance that needs float64; the cache has a third of the memory
SCHEMES = [OneVsRestSVC(), OutputCodeSVC(code="dense", random_state=0), OutputCodeSVC(code="sparse", random_state=0)]
schemes = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: getattr(s, "code", "rest"))


def data(spread=0.3):
    return blobs(SIZES, 3, seed=4, spread=spread)


def fitted(scheme, X, y, **parameters):
    run = dict(gamma=GAMMA, C=3.0, tol=1e-6) | parameters
    model = type(scheme)(**scheme.get_params()).set_params(**run).fit(X, y)
    assert model.status_ == "solved" and model.kkt_violation_ <= model.tol
    return model


@schemes
def test_a_matrix_that_fits_is_computed_once(scheme):
    """By halves, and with its diagonal, whatever the number of columns."""
    X, y = data()
    assert fitted(scheme, X, y, memory="1GB").n_kernel_evals_ == N * (N + 1) // 2


@pytest.mark.parametrize("memory", [600 * ROW, 330 * ROW])
@schemes
def test_cached_rows_give_the_machines_of_a_held_matrix(scheme, memory):
    """The smaller memory holds 110 rows, fewer than the machines need, so that rows go and come back."""
    X, y = data(spread=0.7)
    held, cached = (fitted(scheme, X, y, memory=m, tol=5e-6) for m in ("1GB", memory))
    assert len(held.support_) > 240
    np.testing.assert_allclose(cached._raw_scores(X), held._raw_scores(X), atol=2e-4)
    assert cached.primal_objective_ == pytest.approx(held.primal_objective_, rel=1e-5)
    assert cached.dual_objective_ == pytest.approx(held.dual_objective_, rel=1e-5)


def test_active_sets_smaller_than_the_support():
    """The squared hinge has support vectors all over: an active set holds 350 rows of 1,200, some of either sign."""
    X, y = data(spread=0.9)
    held, cached = (
        fitted(OneVsRestSVC(), X, y, loss="squared_hinge", C=0.3, memory=m, tol=5e-6) for m in ("1GB", 330 * ROW)
    )
    assert len(held.support_) > 1100
    np.testing.assert_allclose(cached.decision_function(X), held.decision_function(X), atol=1e-3)


def test_cached_rows_give_scikit_learns_machines():
    X, y = data(spread=0.7)
    weight = np.where(np.arange(N) % 3 == 0, 2.0, 0.5)
    ours = OneVsRestSVC(3.0, gamma=GAMMA, tol=5e-6, memory=600 * ROW).fit(X, y)
    peer = OneVsRestClassifier(SVC(C=3.0, gamma=GAMMA, tol=1e-6)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=2e-4)
    ours.fit(X, y, weight)
    for c, f in enumerate(ours.decision_function(X).T):
        svc = SVC(C=3.0, gamma=GAMMA, tol=1e-6).fit(X, y == c, weight)
        np.testing.assert_allclose(f, svc.decision_function(X), atol=2e-4)


class Counted:
    """The kernel as a callable that counts how often each whole row is computed, and what else is computed."""

    def __init__(self, X, fails_after=10**9):
        self.X, self.rows, self.others, self.left = X, Counter(), 0, fails_after

    def __call__(self, A, B):
        self.left -= 1
        if self.left < 0:
            raise ZeroDivisionError("in the kernel")
        if len(B) == N:
            self.rows.update(a.tobytes() for a in A)
        else:
            self.others += len(A) * len(B)
        return np.exp(-GAMMA * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


@schemes
def test_a_cached_row_is_computed_once(scheme):
    X, y = data()
    kernel = Counted(X)
    model = fitted(scheme, X, y, kernel=kernel, tol=5e-6, memory=1200 * ROW)
    assert set(kernel.rows.values()) == {1}
    assert len(model.support_) <= len(kernel.rows) < N  # every support vector, and not all others
    kernel = Counted(X)
    fitted(scheme, X, y, kernel=kernel, tol=5e-6, memory=120 * ROW)
    assert max(kernel.rows.values()) > 1  # a test that could not fail would not count


def test_an_error_of_the_kernel_ends_the_fit():
    X, y = data()
    for calls in (3, 10, 30):
        with pytest.raises(ZeroDivisionError, match="in the kernel"):
            fitted(OneVsRestSVC(), X, y, kernel=Counted(X, calls), memory=400 * ROW)


def solver(X, y, memory, n_jobs):
    order = np.argsort(y, kind="stable")
    segments = np.concatenate([[0], np.cumsum(np.bincount(y))])
    kernel = {"kind": "rbf", "gamma": GAMMA}
    return _core.CodeSolver(X, kernel, order, segments, "float64", float(memory), n_jobs)


def test_threads_change_nothing():
    """As many values are computed by four threads as by one, for the same machines."""
    X, y = data()
    code = np.ascontiguousarray(design("dense", 4, 0))
    counts, duals = [], []
    for n_jobs in (1, 4, 4):
        core = solver(X, y, 1400 * ROW, n_jobs)
        out = core.solve(code, np.full(N, 3.0), np.zeros(N), None, 1e-4, 10**7, np.inf, None)
        assert out["status"] == "solved"
        counts.append(core.evaluations), duals.append(out["dual"])
    assert len(set(counts)) == 1
    np.testing.assert_allclose(duals, np.broadcast_to(duals[0], np.shape(duals)), rtol=1e-12)


def test_columns_where_few_rows_fit():
    X, y = data(spread=0.9)
    code = np.ascontiguousarray(design("dense", 4, 0))
    box, run = (np.full(N, 3.0), np.zeros(N)), (10**7, np.inf, None)
    whole = solver(X, y, 1e9, 1).solve(code, *box, None, 1e-5, *run)
    core = solver(X, y, 700 * ROW, 4)
    out = core.solve(code, *box, None, 1e-5, *run)
    np.testing.assert_allclose(out["dual"], whole["dual"], rtol=1e-5)
    again = core.solve(code, *box, (out["indptr"], out["indices"], out["values"]), 1e-4, *run)
    assert again["n_iter"] == 0


def test_one_solver_solves_code_after_code():
    """Kernel rows that one code has left serve the next one."""
    X, y = data()
    code, run = np.ascontiguousarray(design("dense", 4, 0)), (np.full(N, 3.0), np.zeros(N), None, 1e-5, 10**7, np.inf)
    core = solver(X, y, 1400 * ROW, 8)
    whole = solver(X, y, 1e9, 1).solve(code, *run, None)
    for some in (code, code[:, :1], code[:, :2]):
        out = core.solve(np.ascontiguousarray(some), *run, None)
        np.testing.assert_allclose(out["dual"], whole["dual"][: some.shape[1]], rtol=1e-5)


def test_one_pair_of_many_rows_uses_all_threads():
    X, y = blobs([3300, 3200], 3, seed=5, spread=0.5)
    models = [PairwiseSVC(gamma=GAMMA, n_jobs=k, memory="60MB").fit(X, y) for k in (1, 3)]
    np.testing.assert_array_equal(models[0].decision_function(X[:200]), models[1].decision_function(X[:200]))
    assert models[0].n_kernel_evals_ == models[1].n_kernel_evals_ < 0.4 * len(y) ** 2
