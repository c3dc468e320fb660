"""What float32 kernel values are said to be off by, row by row, beside what they are off by."""

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_blocks import block

from polymargin import kernels
from polymargin.fitting.examples import Examples
from polymargin.training.runs import value_type

RADII = (1.0, 5.0, 30.0)  # beyond gamma |x|^2 = 256 the core takes differences of rows, which are exact
KERNELS = {
    "few features": (dict(kind="rbf", gamma=0.1), 12, False),
    "many features": (dict(kind="rbf", gamma=0.1), 30, False),
    "one gamma per feature": (dict(kind="rbf", gammas=np.linspace(0.01, 0.2, 30)), 30, False),
    "sparse": (dict(kind="rbf", gamma=0.1), 12, True),
    "laplacian": (dict(kind="laplacian", gamma=0.1), 12, False),
    "sparse, laplacian": (dict(kind="laplacian", gamma=0.1), 12, True),
    "linear": (dict(kind="linear"), 30, False),
    "poly": (dict(kind="poly", gamma=0.1, coef0=1.0, degree=2), 30, False),
}


def pairs_of_rows(d, rng):
    """Rows on three spheres, each with a neighbor: a pair far from all others has values of its own kernel only."""
    X = rng.normal(size=(300, d))
    X *= np.repeat(RADII, 100)[:, None] / np.linalg.norm(X, axis=1, keepdims=True)
    near = X + 0.3 * rng.normal(size=X.shape) / np.sqrt(d)
    return np.stack([X, near], axis=1).reshape(600, d).astype(np.float32).astype(float)


@pytest.mark.parametrize("name", KERNELS)
def test_errors_by_row(name, rng):
    """Values are off by at most what rounding the d products of three sums allows, in units of the errors of the two
    rows; and of a hundred pairs on a sphere some are off by a hundredth of what is said of them."""
    given, d, sparse = KERNELS[name]
    kernel = dict(kind="rbf", gamma=1.0, gammas=None, degree=3, coef0=0.0, offset=0.0) | given
    dense = pairs_of_rows(d, rng)
    X = sp.csr_array(dense) if sparse else dense
    errors = kernels.float32_errors(X, np.arange(600), kernel)
    data = kernels.as_data(X)
    off = np.abs(block(data, data, kernel, "float32") - block(data, data, kernel, "float64"))
    assert errors.shape == (600,)
    assert np.all(off <= 2 * (d + 2) * np.sqrt(np.outer(errors, errors)))
    for k in range(len(RADII)):
        part = slice(200 * k, 200 * (k + 1))
        assert off[part, part].max() >= 0.01 * errors[part].max()


def test_a_few_heavy_rows_are_left_to_float32(rng):
    """The type is that of nearly all rows; where one in a hundred has larger errors than the tolerance, float64."""
    X = np.zeros((3000, 30))
    X[:, :3] = rng.normal(size=(3000, 3))
    record, rows, one = kernels.Kernel("rbf", 1.0).record(), np.arange(3000), np.ones(3000)
    for far, dtype in ((10, "float32"), (60, "float64")):
        Z = X.copy()
        Z[:far, 5] = 1e3 * rng.choice([-1, 1], size=far)  # eps gamma |z|^2 is 0.1
        values = value_type(Examples(Z, rows, rows % 2, 2, one, record), one, 1e-3)
        assert values.dtype == dtype
        if dtype == "float32":
            assert values.error * values.share[:far].min() > 50  # a coefficient of 1 hides 50 times the tolerance there
            assert values.error * values.share[far:].max() < 1
