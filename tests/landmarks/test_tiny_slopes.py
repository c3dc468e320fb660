"""Slopes of losses far from a kink, below the normal float32 numbers."""

import numpy as np

from polymargin import _core


def slope_of_a_pass(exponent):
    """Toward the landmarks, of rows whose variables are all about e^exponent."""
    n, m = 256, 64
    rows = _core.LandmarkRows(
        np.zeros((n, 1)), np.zeros((m, 1)), {"kind": "rbf", "gamma": 1.0}, np.arange(m), np.arange(n),
        np.zeros(n, dtype=np.int64), np.ones(n), classes=4, reference="own", own_target=0.0, others=True, capped=False,
        square=0.0, dtype="float32", memory=1e6, n_jobs=1,
    )  # fmt: skip
    b = np.array([0.0, *3 * [exponent - 1.0]])  # 1 + f_c - f_y
    return rows.sums(0, n, np.zeros(4 * m), b, 1.0, np.zeros(n, dtype=np.float32))["G"]


def test_slopes_below_the_normal_numbers_count_as_zero():
    """Processors multiply by float32 numbers of 1e-38 to 1e-45 many times as slowly as by others, or by zero."""
    assert np.all(slope_of_a_pass(-80.0) != 0)
    assert np.all(slope_of_a_pass(-95.0) == 0)
