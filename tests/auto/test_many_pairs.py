"""Tables with many classes of a few rows each, where the pairs of classes take all the time."""

import numpy as np
import pytest

from polymargin import AutoSVC
from polymargin.auto.grid import PATTERN_C, fewer, repeats


@pytest.mark.parametrize(
    "n, pairs, values", [(150, 3, 8), (200, 45, 8), (200, 190, 4), (240, 4278, 2), (2000, 4950, 2)]
)
def test_many_pairs_try_fewer_values_of_C(n, pairs, values):
    found = fewer(PATTERN_C, n, pairs)
    assert len(found) == values and 4 in found or 1 in found
    assert fewer(np.array([7.0]), n, pairs).tolist() == [7.0]  # as asked


def test_many_pairs_are_cut_once():
    assert [repeats(200, pairs) for pairs in (1, 40, 45)] == [3, 3, 1]
    assert repeats(660, 130) == 3


def test_the_grid_has_fewer_points(rng):
    """20 classes of five rows: 190 pairs, and half of the values of C; one-versus-rest has no pairs."""
    y = np.arange(100) % 20
    X = rng.normal(size=(100, 3)) + 4 * rng.normal(size=(20, 3))[y]
    said = {m: " ".join(AutoSVC(m, calibrate=False).fit(X, y).explain_choices_) for m in ("pairwise", "one-vs-rest")}
    assert "in 5 folds of 100 rows." in said["pairwise"] and "3 x 5 folds" in said["one-vs-rest"]
