"""Indefinite kernels: a fit says so, and certifies nothing."""

import numpy as np
import pytest
from data_sets import iris
from sklearn.exceptions import ConvergenceWarning

from polymargin import (
    CoreVectorSVC,
    EnclosingBall,
    JointSVC,
    PairwiseSVC,
)


def test_indefinite_kernels_have_no_certificate(seed):
    """Another feasible point may beat the dual value; where the kernel is definite nothing is said."""
    X, y = iris()
    noise = np.random.default_rng(seed).normal(size=(len(y), len(y)))
    sigmoid = dict(kernel="sigmoid", gamma=1.0, coef0=-1.0)
    models = [
        JointSVC("scatter"),
        JointSVC("crammer-singer"),
        PairwiseSVC(),
        CoreVectorSVC(),
        CoreVectorSVC(scheme="pairwise"),
    ]
    Z = X - X.mean(axis=0)
    for model, settings, data in [
        *((m, dict(kernel="precomputed"), noise + noise.T) for m in models),
        *((m, sigmoid, Z) for m in [*models, CoreVectorSVC(epsilon=1e-3), EnclosingBall()]),
        (JointSVC("scatter"), dict(kernel=lambda A, B: -np.abs(A[:, None] - B).sum(axis=2)), Z),
    ]:
        with pytest.warns(ConvergenceWarning, match="is indefinite on these rows, so the problem is not convex"):
            model.set_params(**settings).fit(data, y)
        assert model.duality_gap_ == np.inf
        assert model.status_ == "stalled" or not isinstance(model, CoreVectorSVC | EnclosingBall)
    for model, kernel in [
        *((m, "precomputed") for m in models),
        # With a bias only differences count, for which minus a distance is definite.
        (PairwiseSVC(), lambda A, B: -np.abs(A[:, None] - B).sum(axis=2)),
        (JointSVC("scatter", intercept="exact"), lambda A, B: -np.abs(A[:, None] - B).sum(axis=2)),
    ]:
        rounded = (Z @ Z.T).astype(np.float32) if kernel == "precomputed" else Z
        assert model.set_params(kernel=kernel).fit(rounded, y).duality_gap_ < 0.02


@pytest.mark.parametrize("constant", [1.0, 1e6])
def test_a_constant_part_hides_no_indefinite_kernel(constant, seed):
    """A curvature of -1e-6 beside a constant part counts, since coefficients may be large; rounding does not count."""
    r = np.random.default_rng(seed)
    X, y, v = r.normal(size=(120, 4)), r.integers(0, 2, 120), r.normal(size=120)
    definite = constant * (1 + 1e-3 * X @ X.T)
    bent = definite - 1e-6 * constant * np.outer(v, v) / (v @ v)
    number = np.arange(len(y), dtype=float)[:, None]

    def look_up(A, B):
        return bent[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]

    sigmoid = dict(kernel="sigmoid", gamma=1e-4, coef0=0.7)  # tanh(c + s): the part in s^2 is negative
    for model in (JointSVC("kesler", intercept="regularized"), JointSVC("scatter"), PairwiseSVC(), CoreVectorSVC()):
        model.set_params(C=1 / constant)
        for K in (definite, definite.astype(np.float32)):
            assert np.isfinite(model.set_params(kernel="precomputed").fit(K, y).duality_gap_)
        for settings, data in [(dict(kernel="precomputed"), bent), (dict(kernel=look_up), number), (sigmoid, X)]:
            with pytest.warns(ConvergenceWarning, match="is indefinite on these rows"):
                assert model.set_params(**settings).fit(data, y).duality_gap_ == np.inf
