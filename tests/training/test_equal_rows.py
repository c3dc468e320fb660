"""Equal rows are trained as one, and few points whose rows contradict each other are solved whatever C."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import polymargin
from polymargin import JointSVC, OneVsRestSVC, PairwiseSVC
from polymargin.fitting.examples import Examples
from polymargin.machines import MACHINES
from polymargin.training import equal_rows, solve

honest_problems = pytest.importorskip("benchmarks.honest_problems")
honest_checks = pytest.importorskip("benchmarks.honest_checks")

LARGE = 1e12


def contradictory(seed, n_classes, n=240, points=12):
    """Some points, each many times and with any labels."""
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(points, 4))
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return P[rng.integers(0, points, n)], y


def fitted(model, X, y, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **given)


def examples(X, y, kernel="rbf"):
    n = X.shape[0]
    return Examples(X, np.arange(n), y, int(y.max()) + 1, np.ones(n), {"kind": kernel})


def false_claims(model, X, y, weight=None):
    params = model.get_params() | dict(time_limit=60.0)
    recipe = dict(shift=None, kernel="rbf")
    problem = honest_problems.Problem(0, type(model).__name__, params, recipe, X, X, y, weight)
    return honest_checks.Checks(problem, model, 0.0, 0.0).found


# --- which rows are one ---


def test_columns_are_shared_out(seed):
    rng = np.random.default_rng(seed)
    X, y = contradictory(seed, 3)
    weight = rng.uniform(0.5, 2, len(y))
    one = equal_rows.merged(Examples(X, np.arange(len(y)), y, 3, weight, {"kind": "rbf"}))
    B = sp.random_array((5, len(one.first)), density=0.4, format="csr", rng=rng)
    parts = one.shared_columns(B.indptr, B.indices, B.data)
    shared = sp.csr_array((parts["values"], parts["indices"], parts["indptr"]), shape=(5, len(y)))
    np.testing.assert_array_equal(shared.toarray(), one.shared_out(B.toarray()))


def test_columns_fill_one_row_after_the_other(seed):
    rng = np.random.default_rng(seed)
    X, y = contradictory(seed, 3)
    upper = rng.uniform(0.5, 2, len(y))
    one = equal_rows.merged(Examples(X, np.arange(len(y)), y, 3, upper, {"kind": "rbf"}))
    total = one.sums(upper)
    B = sp.csr_array(rng.choice([-1.0, 1.0], (5, 1)) * rng.choice([0, 0.01, 0.3, 0.9, 1], (5, len(total))) * total)
    parts = one.shared_columns(B.indptr, B.indices, B.data, upper)
    filled = sp.csr_array((parts["values"], parts["indices"], parts["indptr"]), shape=(5, len(y))).toarray()
    np.testing.assert_allclose(one.sums(filled), B.toarray(), rtol=1e-11)
    assert np.all(np.abs(filled) <= upper)
    inside = (filled != 0) & (np.abs(filled) < (1 - 1e-11) * upper)
    assert one.sums(inside).max() == 1


@pytest.mark.parametrize("Scheme", [PairwiseSVC, OneVsRestSVC])
def test_few_of_equal_rows_are_support_vectors(seed, Scheme):
    """As few as their sum of coefficients needs; the squared hinge needs all of them."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    once, squared = (Scheme(0.7, gamma=0.5, loss=loss).fit(X, y) for loss in ("hinge", "squared_hinge"))
    B = np.zeros((len(once.dual_coef_.toarray()), len(y)))
    B[:, once.support_] = np.abs(once.dual_coef_.toarray())
    groups = B.reshape(len(B), 60, 5)
    np.testing.assert_array_equal(
        np.count_nonzero(groups, axis=2), np.ceil(groups.sum(axis=2) / 0.7 - 1e-9).astype(int)
    )
    assert once.status_ == "solved" and not false_claims(once, X, y)
    assert len(squared.support_) % 5 == 0


@pytest.mark.parametrize("storage", ["float64", "float32", "csr"])
def test_groups_are_equal_rows_of_a_class(seed, storage):
    X, y = contradictory(seed, 3)
    X[:, 1] = np.where(X[:, 1] < 0, -0.0, 0.0)  # one number, in two ways
    X = X.astype(np.float32 if storage == "float32" else np.float64)
    rows = sp.csr_array(X) if storage == "csr" else X
    if storage == "csr":  # zeros that are stored are no other rows
        rows.data[::7] = 0.0
        X = rows.toarray()
    one = equal_rows.merged(examples(rows, y))
    table = np.column_stack((X, y)) + 0.0
    assert len(one.first) == len(np.unique(table, axis=0))
    assert np.array_equal(table, table[one.first][one.group])
    assert np.all(np.diff(one.first) > 0)
    assert np.allclose(one.examples.weight, np.bincount(one.group))
    assert np.allclose(one.sums(one.shared_out(np.arange(1.0, 1 + len(one.first)))), np.arange(1, 1 + len(one.first)))


def test_many_rows_are_looked_at_by_a_sample(seed):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(3000, 5)), 2, axis=0)  # neighbors: a regular sample would have no pair
    assert len(equal_rows.merged(examples(X, np.repeat(rng.integers(0, 2, 3000), 2))).first) == 3000


@pytest.mark.parametrize("n", [200, 5000])
def test_nothing_to_merge(seed, n):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[1] = X[0]  # too few to matter
    assert equal_rows.merged(examples(X, np.arange(n) % 2)) is None


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_kernels_whose_rows_do_not_tell(seed, kernel):
    X, y = contradictory(seed, 2)
    assert equal_rows.merged(examples(X, y, kernel)) is None


def test_marks_that_collide_merge_nothing(seed, monkeypatch):
    X, y = contradictory(seed, 2)
    monkeypatch.setattr(equal_rows, "marks", lambda X, rows, y: np.zeros(len(rows), dtype=np.uint64))
    assert equal_rows.merged(examples(X, y)) is None


@pytest.mark.parametrize("other", [0, 1, 3])
@pytest.mark.parametrize("differs", ["row", "label"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_one_collision_merges_nothing(monkeypatch, other, differs, storage):
    """Rows 2 and `other` have one mark, and so have rows 4 and 5, which are equal indeed."""
    X, y = np.diag(np.arange(1.0, 7.0)), np.zeros(6, dtype=np.int64)
    X[5] = X[4]
    if differs == "label":
        X[other], y[other] = X[2], 1
    mark = np.arange(6)
    mark[other], mark[5] = 2, 4
    monkeypatch.setattr(equal_rows, "marks", lambda X, rows, y: mark.astype(np.uint64))
    first, group = equal_rows.groups(storage(X), np.arange(6), y)
    assert first.tolist() == group.tolist() == list(range(6))


# --- the same machine ---

MERGED = [
    JointSVC("scatter", intercept="exact", loss="squared_hinge"),
    JointSVC("scatter", nu=0.3),
    JointSVC("scatter", loss="logistic"),
    JointSVC("crammer-singer", intercept="none"),
    JointSVC("reinforced"),
    JointSVC("kesler", loss="squared_hinge", intercept="regularized"),
    PairwiseSVC(loss="squared_hinge"),
    OneVsRestSVC(),
]


@pytest.mark.parametrize("model", MERGED, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'machine', '')}-{m.loss}")
def test_repeated_rows_are_the_rows_with_their_weights(seed, model, monkeypatch):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    i = rng.permutation(np.repeat(np.arange(40), 5))
    weight = rng.uniform(0.5, 2, len(i))
    model.set_params(tol=1e-6)
    model = fitted(model, X[i], y[i], sample_weight=weight)
    assert not false_claims(model, X[i], y[i], weight)
    few = model.decision_function(X)
    monkeypatch.setattr(equal_rows, "seem_repeated", lambda e: False)
    apart = fitted(model, X[i], y[i], sample_weight=weight)
    assert np.allclose(few, apart.decision_function(X), atol=1e-4 * np.abs(few).max())


def test_a_start_from_the_last_fit_is_merged_too(seed, monkeypatch):
    begun, solve_rows = [], solve.solve_rows
    monkeypatch.setattr(solve, "solve_rows", lambda *a: begun.append(a[3]) or solve_rows(*a))
    rng = np.random.default_rng(seed)
    X, y = np.repeat(rng.normal(size=(40, 3)), 4, axis=0), np.repeat(np.arange(40) % 3, 4)
    for model in (JointSVC("crammer-singer"), JointSVC("scatter"), PairwiseSVC()):
        cold = fitted(model.set_params(tol=1e-6), X, y).decision_function(X)
        again = fitted(model.set_params(warm_start=True), X, y)
        assert again.status_ == "solved"
        assert np.allclose(cold, again.decision_function(X), atol=1e-4)
    cold, joint, _, scatter = begun
    assert cold is None and joint.shape == (3, 40) and np.abs(joint).max() > 0
    assert scatter.shape == (40,) and scatter.max() > 0


# --- contradictory rows at a C beyond what float64 sums can hold ---


def least_losses(machine, X, y):
    """The sum of the least losses that any scores can have, point by point: what C multiplies in the end."""
    T, total = int(y.max()) + 1, 0.0
    margins, unit = MACHINES[machine].margins, np.eye(int(y.max()) + 1)
    _, point = np.unique(X, axis=0, return_inverse=True)
    point = point.ravel()
    for p in range(point.max() + 1):
        count = np.bincount(y[point == p], minlength=T)
        V, g, slack = [], [], []
        for c in np.flatnonzero(count):
            if margins is None:
                V, g, slack = [*V, unit[c] - 1 / T], [*g, 1.0], [*slack, (c, c)]
                continue
            ref = dict(own=unit[c], mean=np.full(T, 1 / T), none=np.zeros(T))[margins.reference]
            for m in range(T):
                if m == c and margins.own_target is None:
                    continue
                V.append(unit[c] - ref if m == c else ref - unit[m])
                g.append(margins.own_target(T) if m == c else 1.0)
                slack.append((c, 0 if margins.capped else m))
        names = sorted(set(slack))
        S = np.array([[s == name for name in names] for s in slack], dtype=float)
        cost = np.concatenate([np.zeros(T), [count[c] for c, _ in names]])
        found = linprog(cost, -np.hstack([V, S]), -np.array(g), bounds=[(None, None)] * T + [(0, None)] * len(names))
        total += found.fun
    return total


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("machine", MACHINES)
def test_contradictions_are_solved(seed, machine, n_classes):
    X, y = contradictory(seed, n_classes)
    model = fitted(JointSVC(machine, C=LARGE, intercept="none"), X, y)
    assert model.status_ == "solved"
    assert not false_claims(model, X, y)
    least = LARGE * least_losses(machine, X, y)
    assert least * (1 - 1e-6) <= model.primal_objective_ <= least * (1 + 1e-2)
    assert model.dual_objective_ <= least * (1 + 1e-6)
    assert model.duality_gap_ < 2e-3


@pytest.mark.parametrize("intercept", ["none", "regularized", "exact"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_contradictions_of_every_loss_and_intercept(seed, loss, intercept):
    X, y = contradictory(seed, 3)
    weight = np.random.default_rng(seed).uniform(0.5, 1.5, len(y))
    model = fitted(JointSVC("scatter", C=1e10, loss=loss, intercept=intercept), X, y, sample_weight=weight)
    assert model.status_ == "solved"
    assert not false_claims(model, X, y, weight)
    assert model.duality_gap_ < 1e-4


@pytest.mark.parametrize("name", ["PairwiseSVC", "OneVsRestSVC", "OutputCodeSVC"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_contradictions_in_columns(seed, name, loss):
    X, y = contradictory(seed, 3)
    model = fitted(getattr(polymargin, name)(C=LARGE, loss=loss), X, y)
    assert model.status_ == "solved"
    assert not false_claims(model, X, y)
    assert model.duality_gap_ < 2e-3


@pytest.mark.parametrize("model", [JointSVC("kesler"), JointSVC("ats"), OneVsRestSVC()], ids=["kesler", "ats", "ovr"])
def test_scores_of_coefficients_that_cancel(seed, model):
    """By the definition, in extended precision: the decision values are these within the tolerance."""
    X, y = contradictory(seed, 3)
    model = fitted(model.set_params(C=LARGE), X, y)
    SV = model.support_vectors_
    K = np.exp(-model.gamma_ * ((X[:30, None, :] - SV) ** 2).sum(axis=2)).astype(np.longdouble)
    B = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    F = K @ B.T.astype(np.longdouble) + model.intercept_
    assert np.abs(F - model.decision_function(X[:30])).max() < model.tol
    assert np.array_equal(model.predict(X[:30]), model.decision_function(X[:30]).argmax(axis=1))


def test_limits_hold_there_too(seed):
    X, y = contradictory(seed, 3)
    model = fitted(JointSVC("llw", C=LARGE, max_iter=2), X, y)
    assert model.status_ != "solved"
    assert np.all(np.isfinite(model.decision_function(X)))
