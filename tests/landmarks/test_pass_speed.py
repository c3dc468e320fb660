"""What a pass over rows may cost, by processor time."""

import time

import numpy as np

from polymargin import _core


def seconds_of_a_pass(exponent):
    """Of rows whose variables are all e^exponent; the shortest of several."""
    n, m = 8192, 64
    rows = _core.LandmarkRows(
        np.zeros((n, 1)), np.zeros((m, 1)), {"kind": "rbf", "gamma": 1.0}, np.arange(m), np.arange(n),
        np.zeros(n, dtype=np.int64), np.ones(n), classes=4, reference="own", own_target=0.0, others=True, capped=False,
        square=0.0, dtype="float32", memory=1e6, n_jobs=1,
    )  # fmt: skip
    b = np.array([0.0, *3 * [exponent - 1.0]])  # 1 + f_c - f_y
    found = []
    for _ in range(15):
        begin = time.process_time()
        rows.sums(0, n, np.zeros(4 * m), b, 1.0, np.zeros(n, dtype=np.float32))
        found.append(time.process_time() - begin)
    return min(found)


def test_variables_below_the_normal_numbers_cost_no_more():
    """Processors multiply by such float32 numbers, about 1e-38 to 1e-45, many times as slowly as by others."""
    assert seconds_of_a_pass(-95.0) < 2 * seconds_of_a_pass(-60.0)
