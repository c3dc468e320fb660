"""The report, opened in a real browser."""

from itertools import product
from string import ascii_uppercase
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from data_sets import blobs
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from polymargin import AutoSVC, JointSVC
from polymargin.report import write_report
from polymargin.report.facts import calibration_facts, end_of, facts, run_facts, score_facts, seen_in_training, wilson


@pytest.fixture(scope="module")
def model():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return AutoSVC().fit(X[::2], y[::2]), X[1::2], y[1::2].to_numpy()


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(*model, path, title="Wine <b>&", source="the other half")


def test_facts_agree_with_the_model(model):
    auto, X, y = model
    f = facts(auto, X, y, title="t", source="s")
    M = np.array(f["scores"]["confusion"])
    assert M.sum() == len(y) and M.trace() / len(y) == pytest.approx(auto.score(X, y))
    assert f["data"]["rows"] == len(y) and f["data"]["columns"] == 13
    assert f["choices"] == auto.explain_choices_
    assert len(f["embedding"]["points"]) == len(y)
    assert {p["held"] for p in f["embedding"]["points"]} == {True, False}
    shares = [v["share"] for v in f["sensitivity"]["features"]]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1)
    P = auto.predict_proba(X)
    own = P[np.arange(len(y)), np.searchsorted(auto.classes_, y)]
    assert [r["row"] for r in f["hardest"]["rows"]] == np.argsort(own, kind="stable")[:20].tolist()


def test_calibration_counts():
    P = np.tile([[0.95, 0.05], [0.95, 0.05], [0.4, 0.6], [0.45, 0.55]], (20, 1))
    c = calibration_facts(P, np.tile([0, 1, 1, 1], 20), np.array([0, 1]))
    assert sum(b["rows"] for b in c["bins"]) == 80
    said = {round(b["said"], 3): b["was"] for b in c["bins"]}
    assert said == {0.95: 0.5, 0.6: 1.0, 0.55: 1.0} or said == {0.95: 0.5, 0.575: 1.0}
    assert c["error"] == pytest.approx((0.9 + 0.4 + 0.45) / 4)
    assert all(b["interval"][0] <= b["was"] <= b["interval"][1] for b in c["bins"])


def test_rare_probabilities_are_joined(rng):
    """No zigzag of tiny groups: each has ten rows, if there are that many, and together they have all."""
    for n in (1, 9, 10, 11, 35, 300):
        top = rng.beta(6, 1, n) / 2 + 0.5
        P, y = np.column_stack([top, 1 - top]), rng.integers(0, 2, n)
        bins = calibration_facts(P, y, np.array([0, 1]))["bins"]
        assert sum(b["rows"] for b in bins) == n and min(b["rows"] for b in bins) >= min(n, 10)
        assert np.all(np.diff([b["said"] for b in bins]) > 0)


def test_wilson_is_the_set_of_shares_that_are_not_rejected():
    """The ends solve |share - p| = z sqrt(p (1 - p) / n)."""
    for right, n in ((0, 7), (3, 10), (99, 100), (60, 60)):
        for end in wilson(right, n):
            assert abs(right / n - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / n), abs=1e-9)


def test_the_baseline_is_the_largest_class_of_these_rows():
    scores = score_facts(
        np.array(["b", "b", "b", "a", "c"]), np.array(["a", "b", "c", "a", "c"]), np.array(["a", "b", "c"])
    )
    assert scores["baseline"] == {"class": "b", "accuracy": pytest.approx(3 / 5), "ties": False}
    assert score_facts(np.array([*"aab"]), np.array([*"bbb"]), np.array([*"ab"]))["baseline"]["ties"] is False
    assert score_facts(np.array([*"ab"]), np.array([*"bb"]), np.array([*"ab"]))["baseline"]["ties"] is True
    assert scores["confusions"] == [
        {"class": "b", "predicted": "a", "rows": 1, "of": 3},
        {"class": "b", "predicted": "c", "rows": 1, "of": 3},
    ]


def test_training_rows_are_recognized(model, rng):
    auto, X, y = model
    wine = load_wine(as_frame=True).frame.drop(columns="target")
    assert seen_in_training(auto.machine_, auto.encode(X)) == ""
    assert seen_in_training(auto.machine_, auto.encode(wine[::2])) == "The model was trained on these rows."
    assert "100% are among these rows" in seen_in_training(auto.machine_, auto.encode(wine))
    shuffled = wine[::2].sample(frac=1, random_state=0)
    assert seen_in_training(auto.machine_, auto.encode(shuffled)) == "The model was trained on these rows."
    sparse = csr_array(rng.integers(0, 2, size=(60, 40)) * rng.random((60, 40)))
    machine = JointSVC("scatter", C=0.1).fit(sparse[:30], np.arange(30) % 2)
    assert seen_in_training(machine, sparse[:30]) and not seen_in_training(machine, sparse[30:])


def test_rows_that_repeat_prove_nothing(rng):
    """Eight different rows: those of any two samples are the same."""
    X = rng.integers(0, 2, size=(400, 3)).astype(float)
    y = (X[:, 0] + (rng.random(400) < 0.2)) % 2
    auto = AutoSVC(C=1.0, gamma=0.5).fit(X[:200], y[:200])
    assert seen_in_training(auto.machine_, auto.encode(X[200:])) == ""


def test_a_solved_fit_says_what_is_proven(model):
    machine = model[0].machine_
    said = end_of(machine)
    assert said.startswith("solved: ") and "tol = 0.001" in said and "% of the best possible" in said
    unknown = SimpleNamespace(status_="time_limit", duality_gap_=np.inf, tol=1e-3)
    assert end_of(unknown) == "ended before it was solved, by the time limit"


def test_a_class_that_is_not_there():
    s = score_facts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 1, 2]))
    assert s["accuracy"] == pytest.approx(2 / 3)
    assert s["table"][2]["rows"] == 0
    assert s["macro F1"] == pytest.approx(np.mean([2 / 3, 2 / 3]))


def test_columns_by_kind_and_a_class_without_rows(rng, tmp_path):
    """Dates and text are counted too; where a class has no rows, its scores are unknown, not 0."""
    y = np.arange(60) % 3
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 60), unit="D")
    X = pd.DataFrame({"a": y + 0.1 * rng.normal(size=60), "day": days, "one": "x"})
    model = AutoSVC(C=1.0, gamma=0.5, calibrate=False).fit(X, y)
    text = write_report(model, X[y < 2], y[y < 2], tmp_path / "r.html").read_text()
    assert "3 columns: 1 of numbers, 1 of dates, 1 left out." in text
    assert '<td class="words">2</td><td>–</td><td>–</td><td>–</td><td>0</td>' in text


def test_nothing_is_loaded_and_names_are_escaped(page):
    text = page.read_text()
    assert "Wine &lt;b&gt;&amp;" in text
    for word in ("http://", "https://", "src=", "@import", "url("):
        assert word not in text.replace("http://www.w3.org/2000/svg", "")


def test_words_gaps_and_odd_names(tmp_path):
    X, y = load_iris(return_X_y=True)
    X = pd.DataFrame(X, columns=["<script>", "b", "c", "d"]).assign(word=np.where(X[:, 0] > 5.8, "long", None))
    X.iloc[::9, 1] = np.nan
    labels = np.array(["</script>", "é 'x'", "z"])[y]
    text = write_report(AutoSVC(C=10, gamma=0.2).fit(X, labels), X, labels, tmp_path / "r.html").read_text()
    assert text.count("</script>") == 1


@pytest.fixture
def tab(browser, page, request):
    tab = browser.new_page(color_scheme=getattr(request, "param", "light"))
    faults = []
    tab.on("console", lambda m: faults.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda e: faults.append(str(e)))
    tab.on("request", lambda r: faults.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    tab.goto(page.as_uri())
    yield tab
    tab.close()
    assert faults == []


def test_hover_and_filter(tab):
    points = tab.locator("#points use")
    n = points.count()
    assert n > 50
    tip = tab.locator("#tip")
    assert not tip.is_visible()
    points.nth(n - 1).hover(force=True)
    assert tip.is_visible() and tip.inner_text().startswith("row ")
    first = tab.locator("#filter input").first
    first.uncheck()
    assert tab.locator('#points use[data-c="0"]').first.is_hidden()
    assert tab.locator('#points use[data-c="1"]').first.is_visible()
    assert tab.locator("#labels text").count() == 2
    tab.get_by_role("button", name="None").click()
    assert tab.locator("#labels text").count() == 0
    tab.get_by_role("button", name="All").click()
    assert tab.locator("#labels text").count() == 3


def test_keyboard(tab):
    tab.locator("#plane").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#tip").inner_text().startswith("row ")
    said = tab.locator("#tip").inner_text()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#tip").inner_text() != said


@pytest.mark.parametrize("tab", ["light", "dark"], indirect=True)
def test_theme_button(tab):
    color = "getComputedStyle(document.body).backgroundColor"
    before = tab.evaluate(color)
    tab.locator("#theme").click()
    assert tab.evaluate(color) != before


def test_nothing_sticks_out(tab):
    for width in (1200, 390):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_keys_go_to_both_ends_and_leave(tab):
    tab.locator("#plane").focus()
    tip = tab.locator("#tip")
    seen = []
    for key in ("Home", "ArrowLeft", "End", "ArrowRight"):
        tab.keyboard.press(key)
        seen.append(tip.inner_text())
    assert seen[0] == seen[3] != seen[1] == seen[2]  # round the corner and back
    tab.keyboard.press("Escape")
    assert not tip.is_visible()


def test_all_controls_are_reached_by_tab(tab):
    reached = []
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("(e => e.id || e.textContent || e.value)(document.activeElement)"))
    for wanted in ("Data", "Run", "theme", "All", "None", "plane"):
        assert wanted in reached
    tab.locator("#filter input").first.focus()
    tab.keyboard.press("Space")
    assert tab.locator("#labels text").count() == 2


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """A report on 26 classes."""
    X, y = blobs([12] * 26, 4, seed=0, spread=1.0)
    model = AutoSVC(C=10.0, gamma=0.1).fit(X, np.array(list(ascii_uppercase))[y])
    return write_report(model, X, model.predict(X), tmp_path_factory.mktemp("letters") / "letters.html")


def test_26_classes_fit_on_the_screen(browser, letters):
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    tab.goto(letters.as_uri())
    assert tab.locator(".confusion tbody tr").count() == 26
    wide = "(e => [e.scrollWidth, e.parentElement.clientWidth])(document.querySelector('.confusion'))"
    table, room = tab.evaluate(wide)
    assert table <= room
    marks = tab.locator("#filter label use").evaluate_all(
        "a => a.map(e => e.getAttribute('href') + e.getAttribute('fill'))"
    )
    assert len(set(marks)) == 26
    boxes = [tab.locator(f"#scores table >> nth={k}").bounding_box() for k in range(2)]
    assert boxes[1]["x"] > boxes[0]["x"] + boxes[0]["width"] and boxes[1]["y"] == boxes[0]["y"]  # beside each other
    gray = "getComputedStyle(document.querySelector(`#points use[fill='var(--gray)']`)).fill"
    shades = [(tab.emulate_media(color_scheme=scheme), tab.evaluate(gray))[1] for scheme in ("light", "dark")]
    assert shades == ["rgb(91, 91, 91)", "rgb(180, 180, 180)"]
    tab.emulate_media(media="print", color_scheme="light")
    assert tab.locator(
        "#filter label"
    ).first.is_visible()  # the key to the marks is printed, what cannot be used is not
    assert not tab.locator("#filter input").first.is_visible() and not tab.locator("#filter button").first.is_visible()
    tab.emulate_media(media="screen")
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    box = tab.locator("#plane").bounding_box()
    for mark in tab.locator("#points use").all()[::25]:
        at = mark.bounding_box()
        assert box["x"] - 5 <= at["x"] <= box["x"] + box["width"] + 5
        assert box["y"] - 5 <= at["y"] <= box["y"] + box["height"] + 5
    tab.close()


def test_numbers_of_the_machine_are_short(model):
    """Seventeen digits of gamma do not fit on the line of a phone."""
    machine = clone(model[0].machine_).set_params(C=1 / 3, gamma=np.array([2 / 9, 1e-7 / 3]))
    said = run_facts(SimpleNamespace(machine_=machine, fit_seconds_=1.0))["machine"]
    assert "C=0.3333," in said and "0.2222" in said and "3.333e-08" in said


def test_run_facts_have_the_memory(model):
    run = facts(*model, title="", source="")["run"]
    assert run["memory to tune and train"].endswith("MB at most, the whole process")
    assert 1 < float(run["memory for this report"].split()[0]) < 1e5


# --- long names, few and many classes, phones and paper ---------------------------------------------------------------


LONG = "chinstrap penguin (Pygoscelis antarctica)"
# Every visible text of the page outside of what scrolls, with its box.
STICKS_OUT = """width => [...document.querySelectorAll('main *, header *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && box.right > width + 1 && !e.closest('.scroll:has(.confusion)');
}).map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"""
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"  # names follow their size
HEIGHTS = """() => { const e = document.querySelector('.classes').parentElement;  // as it is, in one column, in two
return ['', 'auto', '7.5cm'].map(c => { e.style.columns = c; const h = e.getBoundingClientRect().height;
e.style.columns = ''; return h; }); }"""
LABELS = """[...document.querySelectorAll('#labels text')].map(
  e => (b => [b.x, b.y, b.x + b.width, b.y + b.height])(e.getBBox()))"""


@pytest.fixture(scope="module", params=[2, 200])
def long_names(request, tmp_path_factory):
    """A report with names of 45 letters, words without blanks, columns left out, on rows of the training set."""
    T = request.param
    centers = np.array(list(product(range(3), repeat=5)), dtype=float)[:T]
    y = np.repeat(np.arange(T), 4)
    X = 4 * centers[y] + np.random.default_rng(0).normal(0, 0.2, size=(len(y), 5))
    X = pd.DataFrame(X, columns=[f"{k} bill length of the {LONG}, in millimeters" for k in range(5)])
    labels = np.array([f"{k} {LONG}" if k % 2 else f"{k}{LONG}".replace(" ", "") for k in range(T)])[y]
    labels[:2] = labels[5]

    class Told(AutoSVC):
        columns_ = [
            {"name": LONG, "used_as": "left out", "reason": "the same in all rows", "missing": 7, "features": 0},
            {"name": "x", "used_as": "category", "reason": "", "missing": 0, "features": 12},
        ]

    auto = Told(machine="scatter", C=10.0, gamma=1.0, calibrate=False).fit(X, labels)
    path = tmp_path_factory.mktemp("long") / "long.html"
    return T, write_report(auto, X, labels, path, title=LONG.replace(" ", "_") * 3, source="")


def test_long_names_stay_on_screen_phone_and_paper(browser, long_names):
    T, page = long_names
    tab = browser.new_page()
    tab.goto(page.as_uri())
    for width, media in ((1200, "screen"), (390, "screen"), (680, "print")):  # 680: A4 without its margins
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(media=media)
        tab.evaluate(DRAWN)
        assert tab.evaluate(STICKS_OUT, width) == []
        boxes = np.array(tab.evaluate(LABELS)).reshape(-1, 4)
        assert len(boxes) == (2 if T == 2 else 0)
        if T > 2 and media == "print":  # one column or two, whichever is shorter
            heights = tab.evaluate(HEIGHTS)
            assert heights[0] == min(heights)
        assert T > 2 or (boxes[:, :2].min() >= 0 and boxes[:, 2].max() <= 1000 and boxes[:, 3].max() <= 640)
    tab.emulate_media(media="screen")
    tab.set_viewport_size({"width": 1200, "height": 900})
    assert tab.evaluate("document.documentElement.scrollHeight") < 9000
    assert tab.locator("#columns tbody tr").count() == 2 and "12 features" in tab.locator("#columns").inner_text()
    assert "too optimistic" in tab.locator("#seen").inner_text()
    if T == 2:
        assert tab.locator(".confusion thead").bounding_box()["height"] < 60
    tab.close()


def test_bars_have_one_scale(browser, long_names):
    """Lengths are proportional to the counts, whatever the names are."""
    tab = browser.new_page()
    tab.goto(long_names[1].as_uri())
    rows = tab.evaluate(
        "[...document.querySelectorAll('.counts li')].map("
        "  e => [+e.children[1].textContent, e.querySelector('.share').offsetWidth])"
    )
    counts, lengths = np.array(rows, dtype=float).T
    assert len(set(counts)) > 1 and lengths.min() > 20
    np.testing.assert_allclose(lengths / lengths.max(), counts / counts.max(), atol=0.02)
    tab.close()


def test_names_in_the_picture_are_apart(browser, letters):
    """26 names: none on another one, none outside."""
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    tab.goto(letters.as_uri())
    boxes = np.array(tab.evaluate(LABELS))
    assert len(boxes) == 26
    low, high = np.maximum(boxes[:, None, :2], boxes[None, :, :2]), np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    assert np.all(((high - low).min(axis=2) <= 0.1) | np.eye(26, dtype=bool))
    assert boxes.min() >= 0 and boxes[:, 2].max() <= 1000 and boxes[:, 3].max() <= 640
    tab.close()


def test_a_chart_is_printed_with_its_heading(browser, page):
    tab = browser.new_page()
    tab.goto(page.as_uri())
    tab.emulate_media(media="print")
    for chart in (".chart", "#plane"):
        kept = tab.locator(chart).locator("xpath=ancestor::*[contains(@class, 'keep')]")
        assert kept.locator("h2").count() == 1 and kept.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
    tab.close()


def test_a_paragraph_is_printed_whole(browser, page):
    """Else a heading stands at the foot of a page with half of what explains it."""
    tab = browser.new_page()
    tab.goto(page.as_uri())
    tab.emulate_media(media="print")
    style = "a => a.map(e => getComputedStyle(e).breakInside + getComputedStyle(e).breakAfter)"
    assert set(tab.locator("section > p").evaluate_all(style)) == {"avoidavoid"}
    tab.close()
