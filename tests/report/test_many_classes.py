"""Reports on many classes with few rows each, on wide tables, dates and letters from right to left."""

import warnings

import numpy as np
import pandas as pd
import pytest

from polymargin import AutoSVC
from polymargin.report import write_report
from polymargin.report.facts import facts, kinds_of_columns

NAMES_ABOVE = """[...document.querySelectorAll('.confusion thead th')].map(cell => {
    const range = document.createRange()
    range.selectNodeContents(cell)
    const box = range.getBoundingClientRect()
    return [box.left, box.right]
})"""  # left and right ends of the words themselves


@pytest.fixture(scope="module")
def few_rows():
    """A model of 40 classes with long names, and two new rows of each."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 40
    X = pd.DataFrame(rng.normal(size=(240, 3)) + 9 * rng.normal(size=(40, 3))[y], columns=list("abc"))
    X["when"] = pd.date_range("2020-01-01", periods=240, tz="UTC")
    X.loc[::9, "when"] = pd.NaT
    y = np.array([f"class number {c} of a long list of classes" for c in y])
    return AutoSVC("pairwise", C=10.0, gamma=0.1).fit(X[:160], y[:160]), X[160:], y[160:]


def test_few_rows_per_class_are_no_regression(few_rows):
    """scikit-learn suspects numbers where there are more than half as many classes as rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = facts(*few_rows, title="t", source="s")
    assert len(found["embedding"]["points"]) == 80


def test_days_have_no_hours(few_rows):
    cells = {row["cells"][3] for row in facts(*few_rows, title="t", source="s")["hardest"]["rows"]}
    assert "" in cells and all(len(cell) in (0, 10) for cell in cells)


def test_thousands_of_columns():
    assert kinds_of_columns(["number"] * 2000 + ["left out"]) == "2,000 of numbers, 1 left out"


def test_long_names_of_many_classes_have_room_on_paper(few_rows, browser, tmp_path):
    """Names of 40 letters take at most two lines: one column of classes then, two columns of short names."""
    page = browser.new_page(viewport={"width": 680, "height": 900})
    page.emulate_media(media="print")
    page.goto(write_report(*few_rows, tmp_path / "r.html").as_uri())
    heights = page.evaluate(
        "[...document.querySelectorAll('.classes tbody tr')].map(r => r.getBoundingClientRect().height)"
    )
    line = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.classes td')).lineHeight)")
    assert len(heights) == 40 and max(heights) < 2.6 * line
    page.close()


def test_names_above_a_matrix_are_apart_and_charts_are_printed_whole(browser, tmp_path):
    """Names a little wider than their cells; few bars and the facts of the run are not parted by a new page."""
    X, y = np.arange(24.0)[:, None], np.repeat(["blue", "green", "black"], 8)
    model = AutoSVC(C=10.0, gamma=0.1, calibrate=False).fit(X, y)
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(write_report(model, X, y, tmp_path / "r.html").as_uri())
    assert "“<bdi>black</bdi>”, one of the largest of 3 classes, were" in page.locator(".figures").inner_html()
    boxes = np.array(page.evaluate(NAMES_ABOVE))
    assert len(boxes) == 3 and np.all(boxes[1:, 0] - boxes[:-1, 1] > 6)  # more than a blank
    page.emulate_media(media="print")
    for chart in (".counts", "dl"):
        kept = page.locator(chart).locator("xpath=ancestor::*[contains(@class, 'keep')]")
        assert kept.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
    page.close()


@pytest.fixture(scope="module")
def departments(tmp_path_factory):
    """A page about 25 classes with names of 43 letters, whose features have small shares."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 25
    X = rng.normal(size=(150, 3)) + 6 * rng.normal(size=(25, 3))[y]
    labels = np.array([f"Department of Applied Science, section no. {c:02d}" for c in y])
    model = AutoSVC("pairwise", C=10.0, gamma=0.1, calibrate=False).fit(X[:100], labels[:100])
    return write_report(model, X[100:], labels[100:], tmp_path_factory.mktemp("departments") / "r.html").as_uri()


def test_long_names_of_a_matrix_keep_their_words_on_a_phone(departments, browser):
    """A column of single letters would be a page long for every class."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(departments)
    heights = page.evaluate(
        "[...document.querySelectorAll('.confusion tbody tr')].map(r => r.getBoundingClientRect().height)"
    )
    assert len(heights) == 25 and max(heights) < 100
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_numbers_stand_for_names_that_would_fill_the_picture(departments, browser):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(departments)
    assert sorted(map(int, page.locator("#labels text").all_text_contents())) == list(range(1, 26))
    assert page.locator("#filter label").nth(6).inner_text() == "7. Department of Applied Science, section no. 06"
    page.locator("#filter button").nth(1).click()  # none
    page.locator("#filter input").nth(6).check()  # one name has room
    assert "Department of Applied" in page.locator("#labels text").text_content()
    assert page.locator("#filter label").nth(6).inner_text() == "Department of Applied Science, section no. 06"
    page.close()


def test_names_of_30_letters_take_one_line_in_two_columns_on_paper(few_rows, browser, tmp_path):
    model, X, y = few_rows
    short = np.array([name.replace("of a long list of classes", "among the many") for name in model.classes_])
    assert max(map(len, short)) == 30
    model = AutoSVC("pairwise", C=10.0, gamma=0.1, calibrate=False)
    labels = short[np.searchsorted(few_rows[0].classes_, y)]
    page = browser.new_page(viewport={"width": 680, "height": 900})
    page.emulate_media(media="print")
    page.goto(write_report(model.fit(X, labels), X, labels, tmp_path / "r.html").as_uri())
    boxes = "a => a.map(r => (b => [b.x, b.height])(r.getBoundingClientRect()))"
    at, heights = np.array(page.locator(".classes tbody tr").evaluate_all(boxes)).T
    line = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.classes td')).lineHeight)")
    assert len(np.unique(at.round())) == 2 and heights.max() < 1.8 * line
    page.close()


def test_shares_of_many_features_have_digits_that_differ(browser, tmp_path):
    """Of 300 features none has a percent."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 300)) + rng.normal(size=(3, 300))[y]
    model = AutoSVC(C=1.0, gamma=1e-3, calibrate=False).fit(X, y)
    page = browser.new_page()
    page.goto(write_report(model, X, y, tmp_path / "r.html").as_uri())
    cells = page.locator("#features tbody td:nth-child(n + 4)").all_inner_texts()
    assert len(cells) == 60 and max(map(float, cells)) < 10 and len(set(cells)) > 8
    page.close()


def test_letters_from_right_to_left_leave_numbers_alone(browser, tmp_path):
    """A minus sign in front of a number stays there, whatever is written before it."""
    X = pd.DataFrame({"\u05d2\u05d3": -np.arange(1.0, 21), "\u05d0\u05d1": ["\u05d4", "\u05d5"] * 10})
    y = np.array(["\u05d6", "\u05d7"])[np.arange(20) // 10]
    model = AutoSVC(C=1.0, gamma=0.5, columns={"\u05d2\u05d3": "number"}).fit(X, y)
    tab = browser.new_page()
    tab.goto(write_report(model, X, y, tmp_path / "r.html").as_uri())
    apart = "e => { const a = e.querySelectorAll('bdi'); return [a.length, a[0].getBoundingClientRect().x, "
    apart += "a[1].getBoundingClientRect().x, a[2].getBoundingClientRect().x]; }"
    count, name, number, other = tab.locator(".values td.left").first.evaluate(apart)
    assert count == 4 and name < number < other
    tab.close()


@pytest.fixture(scope="module")
def short_names(tmp_path_factory):
    """Seven classes with names that stand above columns, one of them from right to left, and long feature names."""
    rng = np.random.default_rng(0)
    names = np.array(["2seater", "compact", "midsize", "minivan", "pickup", "subcompact", "قطة"])
    y = np.arange(84) % 7
    X = pd.DataFrame(rng.normal(size=(84, 2)) + 9 * rng.normal(size=(7, 2))[y], columns=["manufacturer = dodge", "hwy"])
    model = AutoSVC(C=10.0, gamma=0.1, calibrate=False).fit(X, names[y])
    X, y = X[:20], y[:20]  # as many as the hardest rows
    return write_report(model, X, names[y], tmp_path_factory.mktemp("short") / "short.html")


def test_tables_stay_within_a_phone(short_names, browser):
    """Names above narrow columns stand upright there; words of the usual lengths are not broken."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(short_names.as_uri())
    cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    label = page.locator("#hardest td.words", has_text="subcompact").first
    line = label.evaluate("e => parseFloat(getComputedStyle(e).lineHeight)")
    assert label.bounding_box()["height"] < 1.9 * line
    page.close()


def test_names_from_right_to_left_stay_beside_their_numbers(few_rows, browser, tmp_path):
    """In "1: name; 2: name", a name of Arabic letters would otherwise swap places with the 2."""
    page = browser.new_page()
    model, X, y = few_rows
    names = np.array(["قطة صغيرة جدا جدا", "كلب كبير جدا جدا", "third"])
    arabic = AutoSVC(C=1.0, gamma=0.1).fit(X, names[np.arange(80) % 3])
    page.goto(write_report(arabic, X, arabic.predict(X), tmp_path / "r.html").as_uri())
    assert page.locator("#features p.soft bdi").count() == 3
    assert page.locator(".confusion th bdi").count() == 3 and page.locator("#filter label bdi").count() == 3
    page.close()
