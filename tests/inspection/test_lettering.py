"""Every picture can be read with long names, few and many classes, few and many features; and the ruler itself."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from legible import assert_legible, drawn_texts, faults, letters

from polymargin import (
    CriterionDisplay,
    EmbeddingDisplay,
    PrototypeDisplay,
    SensitivityDisplay,
    SupportVectorDisplay,
    WeightDisplay,
)
from polymargin.files.whole_files import write_figure
from polymargin.inspection.lettering import fold, free_places, size
from polymargin.report.pictures import comparison_picture, feature_picture

LONG = "chinstrap penguin (Pygoscelis antarctica) of the Biscoe and the Dream islands, for $5 to $10"


def long_names(n):
    """Different names of 8 to 80 letters, some of one long word, one that matplotlib would hide."""
    names = [f"{k} {LONG[: 8 + 17 * k % 80]}" for k in range(n)]
    names[-1] = "_" + names[-1].replace(" ", "")
    return np.array(names)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [LONG, LONG.replace(" ", ""), "a", "", "two\nlines", "iiiiii WWWWWWWWWWWWWWWW"])
def test_names_are_folded_not_cut(name):
    text = fold(name, 1.0, 9)
    assert letters(text) == letters(name)
    assert size(text, 9)[0] <= 1.0


def test_free_places_are_inside_apart_and_off_the_marks(rng):
    room = np.array([[0.0, 0.0], [400.0, 300.0]])
    middles = rng.uniform(100, 200, size=(12, 2))
    boxes = np.column_stack((rng.uniform(20, 90, 12), np.full(12, 14.0)))
    marks = rng.normal(150, 30, size=(300, 2))
    at = free_places(middles, boxes, marks, room)
    assert np.all(at - boxes / 2 >= -1e-9) and np.all(at + boxes / 2 <= room[1] + 1e-9)
    apart = np.abs(at[:, None] - at[None]) - (boxes[:, None] + boxes[None]) / 2
    assert np.all((apart >= -1e-9).any(axis=2) | np.eye(12, dtype=bool))

    def covered(places):
        return sum((np.abs(marks - p) < b / 2).all(axis=1).sum() for p, b in zip(places, boxes, strict=True))

    assert covered(at) < covered(middles) / 4
    assert free_places(middles, boxes * 10, marks, room) is None


def test_the_ruler_finds_what_cannot_be_read():
    figure, (left, right) = plt.subplots(1, 2)
    left.text(0.5, 0.5, "one")
    left.text(0.5, 0.5, "two")
    left.text(1.5, 0.5, "three")
    right.set_title("a title that is far too long for its axes and its figure " * 3)
    told = " ".join(faults(figure, drawn_texts(figure)))
    for words in ("'one' is on 'two'", "'three' leaves its axes", "'three' is on the axes", "leaves the figure"):
        assert words in told
    figure = plt.figure()
    figure.add_axes((0.5, 0.5, 0.01, 0.01))
    assert "collapsed" in " ".join(faults(figure, drawn_texts(figure)))
    table = plt.figure().add_subplot().table([["far too long for a cell" * 9]], loc="upper center", colWidths=[0.1])
    table.auto_set_font_size(False)
    assert "leaves its cell" in " ".join(faults(table.axes.figure, drawn_texts(table.axes.figure)))


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n, d", [(1, 1), (2, 2000), (9, 3), (200, 1)])
def test_sensitivities(n, d, rng):
    titles = long_names(n) if n < 100 else np.array([f"class {k}" for k in range(n)])
    names = long_names(d)
    maps = rng.random((n, d))
    display = SensitivityDisplay(maps, titles, feature_names=names, top=12).plot()
    written = assert_legible(display.figure_)
    strongest = np.argsort(-maps.max(axis=0))[:12]
    assert {letters(name) for name in (*titles, *names[strongest])} <= written


@pytest.mark.parametrize("n", [2, 25])
def test_images(n, rng):
    titles = long_names(n)
    assert_legible(SensitivityDisplay(rng.random((n, 4)), titles, image_shape=(2, 2)).plot().figure_)
    display = SupportVectorDisplay(
        rng.random((n, 4)), titles, rng.random(n), title="largest weights", image_shape=(2, 2)
    )
    assert_legible(display.plot().figure_)


@pytest.mark.parametrize("d", [1, 2000])
def test_tables(d, rng):
    labels = long_names(200)[[5, 3, 199]]
    display = SupportVectorDisplay(rng.random((3, d)), labels, rng.random(3), feature_names=long_names(d)).plot()
    assert {letters(label) for label in labels} <= assert_legible(display.figure_)
    ax = plt.subplots(figsize=(3, 2), layout="constrained")[1]
    assert_legible(SupportVectorDisplay(rng.random((3, d)), labels, rng.random(3)).plot(ax=ax).figure_)


@pytest.mark.parametrize("n", [1, 2, 14, 200])
def test_weights(n, rng):
    display = WeightDisplay(rng.random((n, 4)), 9, long_names(n)).plot()
    written = assert_legible(display.figure_)
    assert n not in (2, 14) or {letters(name) for name in long_names(n)} <= written


@pytest.mark.parametrize("n, spread", [(2, 5.0), (12, 5.0), (20, 0.5), (200, 5.0)])
def test_classes_in_the_plane(n, spread, rng):
    """Names beside their classes; where there is no room for them, numbers and a key; of 200, none."""
    y = np.repeat(np.arange(n), 3)
    z = rng.normal(size=(3 * n, 2)) + (spread * rng.normal(size=(n, 2)))[y]
    names = long_names(n)
    prototypes = PrototypeDisplay(z, y, z[::9], y[::9], z[::3], names).plot()
    panels = [dict(z=z, y=y, title=LONG * 2)]
    embedding = EmbeddingDisplay(panels, np.arange(n)).plot(class_names=names)
    for figure in (prototypes.figure_, embedding.figure_):
        words = " ".join(assert_legible(figure))
        assert n == 200 or all(letters(name) in words for name in names)


def test_classes_in_space(rng):
    panels = [dict(z=rng.normal(size=(30, 3)), y=np.arange(30) % 3, title=LONG)] * 2
    display = EmbeddingDisplay(panels, np.arange(3)).plot(dimensions=3, class_names=long_names(3))
    assert {letters(name) for name in long_names(3)} <= assert_legible(display.figure_)


def test_criterion(rng):
    path = [dict(value=2.0, params=dict(C=1.0, gamma=1.0)), dict(value=1.0, params=dict(C=9.0, gamma=0.1))]
    log = np.linspace(-3, 3, 4)
    assert_legible(CriterionDisplay(path, log, log, 1 + rng.random((4, 4)), rng.random((4, 4)), "II").plot().figure_)
    assert_legible(CriterionDisplay(path).plot().figure_)


@pytest.mark.parametrize("T, d", [(2, 1), (3, 9), (200, 20)])
def test_explain_shows_what_it_was_given(T, d, rng):
    names = long_names(d)
    features = [{"name": f, "share": rng.random(), "per class": rng.random(T).tolist()} for f in names]
    figure = feature_picture(features, long_names(T).tolist())
    assert_legible(figure)
    assert len(figure.axes) == (4 if T == 3 else 1)
    assert [letters(t.get_text()) for t in figure.axes[0].get_yticklabels()] == [letters(name) for name in names]


@pytest.mark.parametrize("low, high", [(-3, 2), (-6, 5), (-1, 0.1), (-0.4, -0.3), (0.29, 0.29), (1.2, 2.9)])
def test_compare_names_few_seconds(low, high):
    """Of seconds within less than a decade every minor tick would be named, one on another."""
    found = [
        dict(machine=f"machine {k}", accuracy=0.5, spread=0.1, seconds=10.0**s, support_vectors=150)
        for k, s in enumerate(np.linspace(low, high, 13))
    ]
    figure = comparison_picture(found)
    assert_legible(figure)
    seconds = figure.axes[1]
    named = [float(t.get_text()) for t in seconds.get_xticklabels()]
    assert 2 <= len(named) <= 4 and np.allclose(named, seconds.get_xticks())
    assert seconds.get_xlim()[0] < 10.0**low and seconds.get_xlim()[1] > 10.0**high


def test_compare_stays_between_0_and_1(rng):
    names = ("pairwise", "one-vs-rest", "core-vector", "scatter", "crammer-singer", "reinforced", "kesler")
    found = [
        dict(machine=m, accuracy=a, spread=0.1, seconds=10.0 ** rng.uniform(-3, 2), support_vectors=rng.integers(9000))
        for m, a in zip(names, (1.0, 1.0, 0.99, 0.05, 0.9, 0.9, 0.9), strict=True)
    ]
    figure = comparison_picture(found)
    assert_legible(figure)
    bars = np.vstack([path.vertices[:, 0] for path in figure.axes[0].collections[0].get_paths()])
    assert bars.min() >= 0 and bars.max() <= 1
    shown = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert shown[::-1] == [*names[:3], *names[4:], "scatter"]  # by accuracy, equal ones in their order


def test_a_long_name_stays_beside_its_bar():
    """Not below the axis, where it would run into the numbers of the first panel."""
    display = SensitivityDisplay(np.ones((2, 2)), ["a", "b"], feature_names=["x", "very " * 60 + "long"]).plot()
    found = drawn_texts(display.figure_)
    floor = display.axes_[0].get_window_extent().y0
    box = next(box for text, box in found if text.get_text().startswith("very"))
    assert box.y0 >= floor - 1


def test_letters_that_no_font_has_are_said_once(tmp_path, recwarn):
    figure = SensitivityDisplay(np.ones((1, 2)), ["\U0001f98a"], feature_names=["x", "\U0001f436 y"]).plot().figure_
    write_figure(figure, tmp_path / "animals.png")
    assert [str(w.message) for w in recwarn if "Glyph" in str(w.message)] == []
    assert sum("lacks \U0001f436 \U0001f98a, drawn as boxes" in str(w.message) for w in recwarn) == 1


@pytest.mark.parametrize("slowest", [0.004, 0.3, 21.6])
def test_marks_of_a_comparison_are_inside(slowest):
    times = np.geomspace(0.004, slowest, 5)
    found = [dict(machine=f"m{k}", accuracy=0.5, spread=0.1, seconds=t, support_vectors=9) for k, t in enumerate(times)]
    figure = comparison_picture(found)
    drawn_texts(figure)
    axes = figure.axes[1]
    box, at = axes.get_window_extent(), axes.transData.transform([(t, 0) for t in times])[:, 0]
    assert at.min() - box.x0 > 5 < box.x1 - at.max()
