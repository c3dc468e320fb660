"""What two models must have in common, whatever their coefficients."""

import numpy as np
from numpy.testing import assert_allclose


def assert_same_scores(a, b, X, rtol=1e-6):
    """Equal decision values, relative to the largest."""
    F, G = a.decision_function(X), b.decision_function(X)
    assert_allclose(F, G, rtol=0, atol=rtol * np.abs(F).max())
