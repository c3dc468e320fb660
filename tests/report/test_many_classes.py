"""Reports on many classes with few rows each, on wide tables and on dates."""

import warnings

import numpy as np
import pandas as pd
import pytest

from polymargin import AutoSVC
from polymargin.report import write_report
from polymargin.report.facts import facts, kinds_of_columns


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
