"""Which rows become landmarks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from polymargin.landmarks import choice


@pytest.mark.parametrize("how", ["k-means++", "cholesky"])
def test_landmarks_drawn_together_know_of_each_other(how, seed):
    """Rows of one clump are the same in the space of the kernel: no clump is taken twice before all are taken."""
    clump = np.random.default_rng(seed).permutation(np.repeat(np.arange(60), 7))
    K = (clump[:, None] == clump).astype(float)
    drawn = choice.Choice(how, len(K), lambda at: K[at], K.diagonal(), np.random.default_rng(seed))
    assert_array_equal(np.sort(clump[drawn.grow(60)]), np.arange(60))
    assert len(drawn.grow(61)) == 60  # nothing is left


def test_candidates_are_counted_once(seed):
    """However often a row is repeated: more of them than can be candidates."""
    rng = np.random.default_rng(seed)
    y, mark, times = rng.integers(0, 3, 3000), rng.random(3000), rng.integers(1, 6, 3000)
    more = np.repeat(np.arange(3000), times)
    once = choice.candidates(y, times.astype(float), mark, 500)
    repeated = choice.candidates(y[more], np.ones(len(more)), mark[more], 500)
    assert len(once) == 500
    assert_array_equal(mark[once], mark[more][repeated])
    assert len(choice.candidates(y[more], np.ones(len(more)), mark[more], 4000)) == 3000
