"""Labels by float32 scores: those of float64, also next to the border between classes."""

import numpy as np
import pytest

from polymargin import JointSVC, OneVsRestSVC, PairwiseSVC
from polymargin.training import expansions

MODELS = [
    PairwiseSVC(1000.0),
    OneVsRestSVC(1000.0),
    JointSVC("crammer-singer", C=1000.0),
    JointSVC("kesler", C=1000.0),
]


def overlapping(n_classes, seed=0, n=700, d=4):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return 0.7 * rng.normal(size=(n_classes, d))[y] + rng.normal(size=(n, d)), y


@pytest.fixture(autouse=True)
def few_support_vectors_are_dear(monkeypatch):
    monkeypatch.setattr(expansions, "CHEAP", 0)


def borders(model, X, steps=45):
    """Rows as near to where the label changes as float64 tells, by bisection between rows of different labels."""
    a, b = X[::2].copy(), X[1::2].copy()
    label = model.predict(a)
    a, b, label = (part[label != model.predict(b)] for part in (a, b, label))
    for _ in range(steps):
        middle = (a + b) / 2
        same = np.array([model.predict(row[None])[0] for row in middle]) == label
        a[same], b[~same] = middle[same], middle[~same]
    return np.concatenate([a, b])


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_labels_are_those_of_float64(model, n_classes, monkeypatch):
    X, y = overlapping(n_classes)
    model.fit(X, y)
    assert model._score_type == "float64"
    Z = np.concatenate([overlapping(n_classes, seed=1, n=600)[0], borders(model, X[:120])])
    with monkeypatch.context() as exactly:
        exactly.setattr(expansions, "MANY_ROWS", 10**9)
        expected = model.predict(Z)
    assert 0 < model._doubt(len(Z)) < 0.05
    np.testing.assert_array_equal(model.predict(Z), expected)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_few_rows_are_scored_again(model, monkeypatch):
    X, y = overlapping(5)
    model.fit(X, y)
    rows = []

    def noted(X, doubt, error, scores):
        def noting(some, dtype):
            rows.append((some.shape[0], dtype))
            return scores(some, dtype)

        return expansions.decided(X, doubt, error, noting)

    monkeypatch.setattr(f"{type(model).predict.__module__}.decided", noted, raising=False)
    monkeypatch.setattr("polymargin.reductions.code_machines.decided", noted)
    model.predict(overlapping(5, seed=1)[0])
    assert rows[0] == (700, "float32")
    assert len(rows) == 1 or (rows[1][0] < 140 and rows[1][1] == "float64")
