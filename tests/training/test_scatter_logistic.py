"""The scatter machine with the logistic loss: its variables are inside their bounds, by less than numbers show."""

import numpy as np
import pytest
from data_sets import blobs
from scatter_model import assert_honest

from polymargin import JointSVC


def with_logits_beyond_all_numbers(draw, **options):
    """Kernel values of 1e11 part the logits of a pair so far that no number holds one share or their quotient."""
    X, y = blobs([21, 21, 21, 21], 26, seed=draw)
    est = JointSVC("scatter", loss="logistic", nu=0.3, kernel="poly", gamma=8e-4, coef0=0.0, **options)
    return est.fit(X * 20 + 500, y)


@pytest.mark.parametrize("draw", [0, 20, 145, 227])
def test_logits_beyond_all_numbers(draw, seed):
    est = with_logits_beyond_all_numbers(seed + draw)
    assert est.status_ == "solved" and np.all(np.isfinite(est.dual_coef_.data))


@pytest.mark.parametrize("draw", [1110, 4664, 31564])
def test_full_rows_do_not_trade_their_logits(draw):
    """A full row with a logit beyond all numbers seems to gain by a step that no number shows, and then back again."""
    assert with_logits_beyond_all_numbers(draw, max_iter=20_000).status_ == "solved"


@pytest.mark.parametrize("number", [40, 232, 268])
def test_logistic_variables_near_their_bounds_move_together(number):
    """Steep kernels: logits of hundreds, and pairs that are equal except for rounding while others are not."""
    r = np.random.default_rng(number)
    y = np.arange(30) % 3
    X, w = 4 * r.normal(size=(3, 3))[y] + r.normal(size=(30, 3)), r.choice([0.5, 1, 2], 30)
    kernel = dict(kernel="poly", gamma=0.5, degree=2, coef0=1.0)
    est = JointSVC("scatter", loss="logistic", nu=0.5, intercept="none", tol=1e-8, **kernel).fit(X, y, sample_weight=w)
    assert est.status_ == "solved" and est.duality_gap_ < 1e-12 and est.n_iter_ < 10_000


@pytest.mark.parametrize("number", [6, 103, 156])
def test_logistic_intercepts_between_two_floats(number):
    """A class that is full up to 1e-9: the next float of its sum changes its multiplier by more than tol."""
    r = np.random.default_rng(number)
    y = np.r_[np.arange(9), r.integers(1, 9, 9)]
    X, w = r.normal(size=(18, 2)), r.uniform(0.1, 3, 18)
    est = JointSVC("scatter", loss="logistic", gamma=0.5, C=0.01, intercept="exact", tol=1e-8).fit(
        X, y, sample_weight=w
    )
    assert est.status_ == "solved"
    assert_honest(est, X, y, w)
