"""Pictures of embeddings: what they show, and where names stand."""

import matplotlib
import numpy as np
import pytest
from data_sets import digits, iris
from legible import assert_legible
from scipy.sparse import csr_array

from polymargin import EmbeddingDisplay, SupervisedIsomap

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_before_after_and_held_out():
    X, y = iris()
    names = np.array(["setosa", "versicolor", "virginica"])
    model = SupervisedIsomap(n_components=3).fit(X[::2], names[y[::2]])
    for dimensions in (2, 3):
        display = EmbeddingDisplay.from_estimator(
            model, X[::2], names[y[::2]], X_test=X[1::2], y_test=names[y[1::2]], dimensions=dimensions
        )
        assert len(display.axes_) == 3 and display.ax_.figure is display.figure_
        assert [len(points) for points in display.points_] == [3, 3, 3]
        assert [text.get_text() for text in display.names_[2]] == list(names)
        before, fitted, held = ([getattr(ax, f"get_{s}lim")() for s in "xyz"[:dimensions]] for ax in display.axes_)
        assert fitted == held != before  # places in an embedding can be compared
        display.figure_.canvas.draw()
    flat = EmbeddingDisplay.from_estimator(model, X[::2], names[y[::2]], before=False)
    shown = np.vstack([points.get_offsets() for points in flat.points_[0]])
    np.testing.assert_allclose(np.sort(shown[:, 0]), np.sort(model.embedding_[:, 0]), atol=1e-6)


def test_drawing_into_given_axes():
    import matplotlib.pyplot as plt

    X, y = iris()
    _, ax = plt.subplots()
    display = EmbeddingDisplay.from_data(X, y, ax=ax, class_names=["a", "b", "c"])
    assert display.ax_ is ax and display.names_[0][1].get_text() == "b"
    with pytest.raises(ValueError, match="axes, one per panel"):
        display.plot(ax=[ax, ax])
    with pytest.raises(ValueError, match="2 or 3"):
        display.plot(dimensions=4)
    one = SupervisedIsomap(n_components=1, alpha=None).fit(csr_array(X))
    assert EmbeddingDisplay.from_estimator(one, csr_array(X), y).points_


def test_shuffled_labels_beside_real_ones():
    X, y = digits()
    display = EmbeddingDisplay.from_permuted(SupervisedIsomap(n_components=9), X[:400], y[:400], X[400:700], y[400:700])
    real, shuffled = display.accuracies_["real"], display.accuracies_["shuffled"]
    assert real[1] > 0.8 > 0.3 > shuffled[1] and shuffled[0] > 2 * shuffled[1]
    assert len(display.axes_) == 4 and f"{shuffled[1]:.0%}" in display.axes_[3].get_title()


def test_classes_look_different_and_names_do_not_overlap(rng):
    z, y = rng.normal(size=(260, 2)), np.arange(260) % 26
    display = EmbeddingDisplay.from_data(z, y)
    looks = {(tuple(p.get_facecolor()[0]), p.get_paths()[0].vertices.tobytes()) for p in display.points_[0]}
    assert len(looks) == 26
    assert_legible(display.figure_)
    assert sorted(text.get_text() for text in display.names_[0]) == sorted(map(str, range(26)))
