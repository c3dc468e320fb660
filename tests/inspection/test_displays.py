"""Displays: what is drawn is what the machine says, in the axes that were given; and the gallery of examples."""

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from data_sets import blobs, iris
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymargin import (
    AutoSVC,
    JointSVC,
    KernelSearchCV,
    OneVsRestSVC,
    PairwiseSVC,
    PrototypeDisplay,
    SensitivityDisplay,
    SupportVectorDisplay,
    WeightDisplay,
    sensitivity_map,
)

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def fitted():
    X, y = iris()
    return JointSVC("scatter", C=5.0).fit(X, y), X, y


def example(name):
    """What an example of the gallery leaves behind: its names."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


# --- sensitivities ----------------------------------------------------------------------------------------------------


def test_bars_are_the_maps(fitted):
    model, X, y = fitted
    display = SensitivityDisplay.from_estimator(model, X, y, feature_names=["a", "b", "c", "d"])
    lengths = [[bar.get_width() for bar in bars] for bars in display.bars_]
    assert_allclose(lengths, sensitivity_map(model, X, y))
    assert [axes.get_title() for axes in display.axes_] == ["class 0", "class 1", "class 2"]
    assert [t.get_text() for t in display.axes_[0].get_yticklabels()] == ["a", "b", "c", "d"]
    assert np.all(np.diff([bar.get_y() for bar in display.bars_[0]]) > 0) and display.axes_[0].yaxis_inverted()
    mean = SensitivityDisplay.from_estimator(model, X, of="mean", ax=plt.subplots()[1])
    assert_allclose([bar.get_width() for bar in mean.bars_[0]], sensitivity_map(model, X, of="mean"))


def test_images_are_the_maps(seed):
    X, y = blobs([20, 20, 20], 12, seed)
    model = JointSVC("scatter").fit(X, y)
    display = SensitivityDisplay.from_estimator(model, X, y, image_shape=(3, 4))
    found = [image.get_array() for image in display.images_]
    assert_allclose(found, sensitivity_map(model, X, y).reshape(3, 3, 4))
    with pytest.raises(ValueError, match="height \\* width = 12"):
        SensitivityDisplay.from_estimator(model, X, y, image_shape=(4, 4))


def test_of_many_features_the_strongest_are_shown(rng):
    maps = rng.random((2, 100))
    display = SensitivityDisplay(maps, ["a", "b"]).plot()
    shown = [int(t.get_text()[1:]) for t in display.axes_[0].get_yticklabels()]
    assert len(shown) == 30 and shown == sorted(shown)
    assert set(shown) == set(np.argsort(-maps.max(axis=0))[:30])
    assert_allclose([bar.get_width() for bar in display.bars_[1]], maps[1, shown])
    assert len(SensitivityDisplay(maps, ["a", "b"], top=5).plot().bars_[0]) == 5


def test_a_class_without_a_map_is_drawn_empty():
    display = SensitivityDisplay([[0.1, 0.2], [np.nan, np.nan]], ["a", "b"]).plot()
    display.figure_.canvas.draw()
    lengths = [[bar.get_width() for bar in bars] for bars in display.bars_]
    assert_allclose(lengths[0], [0.1, 0.2])
    assert not np.nansum(lengths[1])


def test_axes_are_used_as_given(fitted):
    model, X, y = fitted
    figure, axes = plt.subplots(1, 3)
    display = SensitivityDisplay.from_estimator(model, X, y, ax=axes)
    assert display.figure_ is figure and list(display.axes_) == list(axes)
    figure, ax = plt.subplots()
    divided = SensitivityDisplay.from_estimator(model, X, y, ax=ax)
    assert divided.figure_ is figure and len(figure.axes) == 4
    with pytest.raises(ValueError, match="expected ax to hold 3 axes"):
        SensitivityDisplay.from_estimator(model, X, y, ax=axes[:2])
    with pytest.raises(ValueError, match="expected feature_names to hold 4 names"):
        SensitivityDisplay.from_estimator(model, X, y, feature_names=["a"])


# --- support vectors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["scatter", "kesler", "ovr"])
def test_the_hardest_are_the_heaviest(machine, seed):
    X, y = blobs([20, 20, 20], 12, seed, spread=1.5)
    model = JointSVC(machine).fit(X, y)
    display = SupportVectorDisplay.from_estimator(model, image_shape=(3, 4), n=9)
    B = sp.csr_array(model.dual_coef_).toarray()
    weight = B[y[model.support_], np.arange(B.shape[1])]
    assert_allclose(display.values, np.sort(weight)[::-1][:9])
    rows = np.array([np.flatnonzero((row == X).all(axis=1))[0] for row in display.rows])
    assert_array_equal(display.labels, y[rows])
    assert_array_equal([i.get_array().ravel() for i in display.images_], X[rows])
    assert [axes.get_title() for axes in display.axes_] == [str(c) for c in y[rows]]


def test_the_easiest_have_the_largest_margins_class_by_class(fitted):
    model, X, y = fitted
    display = SupportVectorDisplay.from_estimator(model, X, y, which="easiest", n=7)
    assert_array_equal(display.labels, [0, 1, 2, 0, 1, 2, 0])
    F = model.decision_function(X)
    margin = F[np.arange(len(y)), y] - np.where(np.arange(3) == y[:, None], -np.inf, F).max(axis=1)
    for c in range(3):
        best = np.sort(margin[y == c])[::-1]
        assert_allclose(display.values[display.labels == c], best[: (display.labels == c).sum()])


def test_table_rows_when_there_are_no_images(fitted):
    model, *_ = fitted
    display = SupportVectorDisplay.from_estimator(model, n=5)
    cells = display.table_.get_celld()
    assert len({row for row, _ in cells}) == 6  # a head and five rows
    assert cells[1, 0].get_text().get_text() == str(display.labels[0])
    assert cells[1, 2].get_text().get_text() == f"{display.rows[0, 0]:.3g}"
    assert not display.images_


def test_pipelines_show_the_features_that_went_in(seed):
    X, y = blobs([20, 20], 4, seed)
    X = X * 100 + 7
    pipeline = make_pipeline(StandardScaler(), JointSVC("scatter")).fit(X, y)
    display = SupportVectorDisplay.from_estimator(pipeline)
    assert all(np.isclose(X, row).all(axis=1).any() for row in display.rows)


def test_support_vector_errors(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="expected the rows X"):
        SupportVectorDisplay.from_estimator(model, which="easiest")
    with pytest.raises(ValueError, match='expected which to be "hardest" or "easiest"'):
        SupportVectorDisplay.from_estimator(model, which="best")
    with pytest.raises(ValueError, match="precomputed"):
        SupportVectorDisplay.from_estimator(JointSVC("scatter", kernel="precomputed").fit(X @ X.T, y))


# --- weights ----------------------------------------------------------------------------------------------------------


def test_weights_fall_from_the_largest_to_zero(fitted):
    model, _, y = fitted
    (line,) = WeightDisplay.from_estimator(model).lines_
    curve = line.get_ydata()
    assert len(curve) == len(y) and np.all(np.diff(curve) <= 0)
    assert_allclose(curve[: len(model.support_)], np.sort(model.dual_coef_.data)[::-1])
    assert np.all(curve[len(model.support_) :] == 0)


def test_margin_machines_have_a_curve_per_class(fitted):
    _, X, y = fitted
    model = JointSVC("crammer-singer").fit(X, y)
    display = WeightDisplay.from_estimator(model, ax=plt.subplots()[1])
    assert len(display.lines_) == 3
    assert_allclose(display.lines_[1].get_ydata().sum(), np.abs(model.dual_coef_[1]).sum())


def test_searches_show_their_best_estimator(seed):
    X, y = blobs([20, 20, 25], 4, seed=seed)
    search = KernelSearchCV(make_pipeline(StandardScaler(), JointSVC("scatter")), C=[1.0], gamma=[0.1], cv=2).fit(X, y)
    best = search.best_estimator_
    assert_array_equal(
        WeightDisplay.from_estimator(search, X, y).weights[0], WeightDisplay.from_estimator(best).weights[0]
    )
    assert_allclose(
        SupportVectorDisplay.from_estimator(search, X, y).rows, SupportVectorDisplay.from_estimator(best, X, y).rows
    )
    assert_allclose(
        PrototypeDisplay.from_estimator(search, X, y).prototypes, PrototypeDisplay.from_estimator(best, X, y).prototypes
    )


def test_auto_shows_its_machine(seed):
    X, y = blobs([20, 20, 25], 4, seed=seed)
    auto = AutoSVC("scatter", C=1.0, gamma=0.1, calibrate=False).fit(X, y)
    inside = auto.machine_
    assert_array_equal(WeightDisplay.from_estimator(auto).weights[0], WeightDisplay.from_estimator(inside).weights[0])
    expected = PrototypeDisplay.from_estimator(inside, auto.encoder_.transform(X), y).prototypes
    assert_allclose(PrototypeDisplay.from_estimator(auto, X, y).prototypes, expected)


def test_reductions(fitted):
    _, X, y = fitted
    pairs = PairwiseSVC().fit(X, y)
    assert len(WeightDisplay.from_estimator(pairs).lines_) == 3
    titles = [axes.get_title() for axes in SensitivityDisplay.from_estimator(pairs, X, y).axes_]
    assert titles == ["0 or 1", "0 or 2", "1 or 2"]
    hardest = SupportVectorDisplay.from_estimator(pairs)
    assert_array_equal(hardest.labels, SupportVectorDisplay.from_estimator(pairs, X, y).labels)
    with pytest.raises(ValueError, match="pass X and y"):
        SupportVectorDisplay.from_estimator(OneVsRestSVC().fit(X, y))
    with pytest.raises(ValueError, match="use JointSVC"):
        PrototypeDisplay.from_estimator(pairs, X, y)


# --- prototypes -------------------------------------------------------------------------------------------------------


def test_prototypes_in_the_plane_are_weighted_means(seed):
    X, y = blobs([20, 20, 20], 2, seed)
    model = JointSVC("scatter", kernel="linear").fit(X, y)
    display = PrototypeDisplay.from_estimator(model, X, y)
    B = model.dual_coef_.toarray()
    expected = B @ model.support_vectors_ / B.sum(axis=1, keepdims=True)
    assert_allclose(display.prototypes_.get_offsets(), expected)
    assert_allclose(display.mean_.get_offsets()[0], expected.mean(axis=0))
    assert_allclose(display.points_.get_offsets(), X)
    assert_allclose(display.support_.get_offsets(), model.support_vectors_)
    assert len(display.arrows_) == 3


@pytest.mark.parametrize("machine", ["scatter", "kesler"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", oracles.linear])
def test_projection_keeps_the_distances_of_three_prototypes(kernel, machine, seed):
    """Three prototypes lie in a plane: their distances in the kernel's space are those of the picture."""
    X, y = blobs([20, 15, 18], 5, seed)
    model = JointSVC(machine, kernel=kernel, gamma=0.2).fit(X, y)
    display = PrototypeDisplay.from_estimator(model, X, y)
    B = sp.csr_array(model.dual_coef_).toarray()
    Z, own = model.support_vectors_, y[model.support_]
    P = np.where(np.arange(3)[:, None] == own, B[own, np.arange(len(own))], 0)
    P = P / P.sum(axis=1, keepdims=True)
    K = oracles.rbf(Z, Z, 0.2) if kernel == "rbf" else oracles.linear(Z, Z)
    G = P @ K @ P.T
    m = display.prototypes
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert_allclose(np.sum((m[a] - m[b]) ** 2), G[a, a] + G[b, b] - 2 * G[a, b], rtol=1e-8)
    # Prototypes are means of support vectors in the picture too, and their own mean is its origin.
    assert_allclose(P @ display.support, m, atol=1e-8)
    assert_allclose(m.mean(axis=0), 0, atol=1e-8)


def test_two_classes_and_missing_ones(seed):
    X, y = blobs([20, 15], 5, seed)
    display = PrototypeDisplay.from_estimator(JointSVC("scatter").fit(X, y), sp.csr_array(X), y)
    assert np.isfinite(display.points).all()
    with pytest.raises(ValueError, match="precomputed"):
        PrototypeDisplay.from_estimator(JointSVC("scatter", kernel="precomputed").fit(X @ X.T, y), X @ X.T, y)


def test_many_rows_are_thinned_out(seed):
    X, y = blobs([3000, 2500], 2, seed)
    model = JointSVC("scatter", kernel="linear").fit(X[:200], y[:200])
    assert len(PrototypeDisplay.from_estimator(model, X, y).points) <= 2000


# --- matplotlib, examples ---------------------------------------------------------------------------------------------


def test_without_matplotlib_the_message_says_what_to_install(fitted, monkeypatch):
    model, X, y = fitted
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "polymargin\[report\]"'):
        SensitivityDisplay.from_estimator(model, X, y)


def test_toy_example_ranks_the_features_that_decide(seed, capsys):
    """Figure 17: dimensions 1 to 3 decide, 4 and 5 do not."""
    toy = example("sensitivity_toy")
    said = capsys.readouterr().out
    assert "accuracy on new rows: 1.0" in said
    assert set(said.split("most sensitive first: ")[1].split(", ")[:3]) == {"x1", "x2", "x3"}
    X, y = toy["toy"](seed)
    model = JointSVC("scatter", C=10, gamma=0.1).fit(X, y)
    total, classes = sensitivity_map(model, X, of="mean"), sensitivity_map(model, X, y).mean(axis=0)
    assert total[:3].min() > 2 * total[3:].max()
    assert classes[:3].min() > classes[3:].max()
    shown = plt.figure(1).axes[3].collections[0].get_offsets()[:, 1]  # figure 16
    assert np.all(shown == toy["X"][:, 3])


def test_digits_example_finds_the_pixels_inside(monkeypatch):
    """Figures 21 to 24: pixels near the boundary matter little, the maps follow the shapes of the digits."""
    monkeypatch.delenv("POLYMARGIN_DATA", raising=False)
    left = example("sensitivity_digits")
    maps = np.vstack([left["mean"].sensitivities, left["each"].sensitivities])
    side = int(np.sqrt(maps.shape[1]))
    maps = maps.reshape(4, side, side)
    edge = side // 8
    inside = maps[:, :, edge:-edge].mean(axis=(1, 2))
    outside = np.concatenate([maps[:, :, :edge], maps[:, :, -edge:]], axis=2).mean(axis=(1, 2))
    assert np.all(outside < 0.4 * inside)


def test_usps_maps_follow_the_digits(real_data):
    left = example("sensitivity_digits")
    assert (len(left["y"]), left["shape"]) == (789, (16, 16))
    zero, one, eight = left["each"].sensitivities.reshape(3, 16, 16)
    middle = np.s_[6:10, 7:9]
    assert zero[middle].mean() < 0.5 * zero.max()  # the hole of the 0
    assert one[:, 5:11].sum() > 0.8 * one.sum()  # the stroke of the 1
    assert eight[:, [0, 1, 14, 15]].mean() < 0.1 * eight.mean()  # no digit comes near the sides


def test_prototype_example():
    left = example("prototypes")
    assert len(left["plane"].arrows_) == 3 and len(left["line"].arrows_) == 4


def test_pixel_gammas_example():
    """Figures 9 and 10 of the paper on model selection: few pixels with large gammas are enough."""
    left = example("pixel_gammas")
    weights = left["search"].feature_weights_
    assert weights.shape == (64,) and np.ptp(weights) > 0
    found, chance = left["errors"]["gammas of criterion I"], left["errors"]["chance"]
    assert found[3] < 0.15 and found[3] < chance[3] and found[-1] == chance[-1]


def test_overlap_example_shows_what_scatter_does_not_see():
    """Four classes, two of them close: crammer-singer is near Bayes, scatter only where the means are far apart."""
    joint, scatter, apart = example("overlap")["found"]
    assert joint[0] > joint[1] - 0.03 and scatter[0] < scatter[1] - 0.05 and apart[0] > apart[1] - 0.01
