"""The scatter machine on random problems against the conic solver: loss x form x intercept, everything else drawn."""

from itertools import product

import numpy as np
import pytest
from cvxpy.error import SolverError
from data_sets import blobs
from hypothesis import Phase, assume, event, given, reject, settings
from hypothesis import strategies as st
from oracles import Unproven
from scatter_model import alphas, assert_honest, centered, logit_rounding, problem, rho_of

from polymargin import JointSVC

LOSSES = ["hinge", "squared_hinge", "logistic"]
FORMS = ["C", "nu"]
INTERCEPTS = ["none", "regularized", "exact"]
KERNELS = [
    dict(kernel="rbf", gamma=0.3),
    dict(kernel="rbf", gamma=3.0),
    dict(kernel="linear"),
    dict(kernel="poly", gamma=0.5, degree=2, coef0=1.0),
]
MACHINES = list(product(LOSSES, FORMS, INTERCEPTS))
# The conic solver is slow, so a failing draw is shown as it is, not shrunk.
few = settings(max_examples=6, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
# Draws have up to twelve classes of one row.
pytestmark = pytest.mark.filterwarnings("ignore:The number of unique classes is greater")
every_machine = pytest.mark.parametrize("loss, form, intercept", MACHINES)


@st.composite
def problems(draw, form, intercept, seed):
    """X, y, weights and parameters. Whole-number features make ties and equal rows, also across classes."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=12))
    sizes[0] += 2
    seed = [seed, draw(st.integers(0, 10**6))]
    X, y = blobs(sizes, draw(st.integers(1, 4)), seed, spread=draw(st.sampled_from([0.2, 0.7, 1.5])))
    rng, T, n = np.random.default_rng([*seed, 1]), len(sizes), len(y)
    if draw(st.sampled_from([False, False, False, True])):
        X = np.round(2 * X)
    weights = draw(st.sampled_from(["one", "some", "any"]))
    w = dict(one=None, some=rng.choice([0.5, 1.0, 2.0], n), any=rng.uniform(0.1, 3.0, n))[weights]
    pi = rng.dirichlet(np.full(T, 5.0)) if intercept == "exact" and draw(st.booleans()) else None
    params = draw(st.sampled_from(KERNELS)) | dict(intercept=intercept, priors=pi)
    if form == "C":
        params["C"] = draw(st.sampled_from([0.01, 0.3, 1.0, 10.0, 100.0]))
    else:
        W = np.bincount(y, w)
        top = np.min(W / W.sum() / (1 / T if pi is None else pi)) if intercept == "exact" else 1.0
        params["nu"] = min(1.0, top) * draw(st.sampled_from([0.02, 0.2, 0.5, 0.8, 0.98]))
    return X, y, w, params


def solve_both(est, X, y, w):
    """The problem and its optimum by the conic solver.

    A draw is dropped where the solver fails, is not accurate or its own two answers differ, and where a nu form has no
    margin (overlapping classes, rho = 0): a tolerance relative to rho has no meaning there.
    """
    p = problem(est, X, y, w)
    try:
        P, D = p.primal(), p.dual()
    except (SolverError, Unproven):
        reject()
    assume(abs(P.value - D.value) < 1e-8 * abs(P.value))
    assume(P.rho is None or p.loss == "logistic" or P.rho > 1e-3)
    return p, P


def check_figures(est, p, best, X, y, w):
    """The figures and the scores of a fit, wherever it has ended, beside the optimum."""
    assert_honest(est, X, y, w, optimum=best.value)
    # The primal is 1-strongly convex in v, so its suboptimality bounds the error of every score.
    error = np.abs(p.scores(alphas(est, y)) - best.scores).max(axis=1)
    excess = max(est.primal_objective_ - best.value, 0) + 1e-8 * abs(best.value)
    assert np.all(error <= np.sqrt(2 * excess * np.diag(p.K)) + 1e-7)
    # The scores that users see are those of the model.
    own = p.scores(alphas(est, y)) + (est.intercept_ if p.exact else 0)
    np.testing.assert_allclose(
        centered(est, X), own - own.mean(axis=1, keepdims=True), atol=1e-9 * (1 + np.abs(own).max())
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_machine
@few
@given(data=st.data())
def test_random_optimum(seed, loss, form, intercept, data):
    """The optimum, and honest figures of a fit that was stopped on the way to it."""
    X, y, w, params = data.draw(problems(form, intercept, seed))
    est = JointSVC("scatter", loss=loss, tol=1e-8, **params)
    p, best = solve_both(est, X, y, w)
    event(f"{p.T} classes")
    check_figures(est.fit(X, y, sample_weight=w), p, best, X, y, w)
    # Steps end where the logit of a nearly full variable is not known to tol.
    rounding = logit_rounding(p, alphas(est, y), rho_of(est)) if loss == "logistic" else 0.0
    assert est.status_ == "solved" or est.kkt_violation_ <= rounding
    assert est.primal_objective_ == pytest.approx(best.value, rel=1e-6)
    assert est.dual_objective_ == pytest.approx(best.value, rel=1e-6)
    est.set_params(tol=1e-3, max_iter=data.draw(st.sampled_from([1, 3, 10, 30, 100])))
    check_figures(est.fit(X, y, sample_weight=w), p, best, X, y, w)


def test_an_uneven_jump():
    """A draw whose rho(lam) jumps from -0.006 to 0.24, along whose lower side secants creep."""
    X = np.array(
        [
            [-1.42690108, 1.26579511, -2.02776457, -2.85009048], [-0.74566729, 0.73154116, -0.46022297, 0.47557479],
            [1.66043552, -3.15635789, 0.11656962, -3.13546761], [2.35689294, -3.99033456, -1.40579649, 2.21518307],
            [-0.19228785, 0.29478072, -1.5204253, -3.67896597], [1.22674847, -0.62000707, 0.66192785, -2.86931924],
            [3.04920871, 0.40463116, -0.28878476, 0.86913129], [0.14719709, 0.45045239, 0.08368439, 2.54679226],
            [-0.28089218, -0.50824057, -0.24061134, -1.01750264],
        ]
    )  # fmt: skip
    y = np.array([0, 2, 1, 1, 0, 1, 2, 2, 0])
    w = np.array([1.248053, 1.841422, 2.605892, 1.762781, 1.611355, 0.316463, 1.218195, 1.120862, 1.245861])
    priors = np.array([0.4064869, 0.31129145, 0.28222165])
    est = JointSVC("scatter", kernel="linear", intercept="exact", priors=priors, C=0.3, tol=1e-8)
    assert_honest(est.fit(X, y, sample_weight=w), X, y, w)
    assert est.status_ == "solved" and est.duality_gap_ < 1e-8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [3, 10])
def test_stopped_before_there_is_a_margin(max_iter):
    """Draws where rho is still negative: the variables get a scale of their own, and so does the violation."""
    X = np.array([-1.0, 0, 4, -3, 0, -8, -4, 0, 2, -5, 5])[:, None]
    y = np.array([0, 1, 1, 2, 0, 0, 1, 2, 1, 1, 2])
    w = np.array([2.4995523, 0.93339826, 1.4019972, 2.71946261, 1.04181083, 2.67921771, 1.88741803, 2.10779556,
                  0.32789515, 0.13238672, 1.86680504])  # fmt: skip
    kernel = dict(kernel="poly", gamma=0.5, degree=2, coef0=1.0)
    est = JointSVC("scatter", loss="squared_hinge", intercept="exact", C=100.0, max_iter=max_iter, **kernel)
    assert_honest(est.fit(X, y, sample_weight=w), X, y, w)
