"""What stands beside the papers' own figures: reference algorithms, other rules, and the store that results go to."""

import csv
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from polymargin import JointSVC, PairwiseSVC
from polymargin.papers import (
    core_vector,
    criteria,
    criteria_checks,
    exhibits,
    kesler,
    scatter,
    scatter_figures,
    scatter_galleries,
)
from polymargin.papers.exhibit import as_good, compare
from polymargin.papers.one_of_59 import Ball, OneOf59
from polymargin.papers.prior_scatter import PriorScatter
from polymargin.papers.protocol import coarse_to_fine
from polymargin.papers.store import finished, keep, path_of, running


def exhibit(key):
    return next(e for e in exhibits() if e.key == key)


def blobs(rng, sizes, width=1.0):
    y = np.repeat(np.arange(len(sizes)), sizes)
    centers = 3 * np.eye(3)[: len(sizes), :2] if len(sizes) < 3 else np.array([[0, 0], [3, 0], [0, 3]])
    return centers[y] + width * rng.standard_normal((len(y), 2)), y


def test_equal_priors_give_the_scatter_machine(rng):
    X, y = blobs(rng, (12, 20, 30))
    K = rbf_kernel(X, gamma=0.4)
    model = JointSVC("scatter", C=2.0, intercept="none", kernel="precomputed", tol=1e-8).fit(K, y)
    ours = PriorScatter(2.0, np.full(3, 1 / 3)).fit(K, y)
    np.testing.assert_allclose(
        ours.coef_.sum(axis=1)[model.support_], model.dual_coef_.toarray().sum(axis=0), atol=1e-3
    )
    assert np.mean(ours.predict(K) == model.predict(K)) > 0.98  # a row at a tie, at most


def test_priors_in_the_mean_solve_their_own_problem(rng):
    """No direction inside the box lowers b'Qb / 2 - sum b."""
    X, y = blobs(rng, (8, 20, 40))
    K, P, C = rbf_kernel(X, gamma=0.4), np.array([8, 20, 40]) / 68, 3.0
    coef = PriorScatter(C, P).fit(K, y).coef_
    b = coef[np.arange(len(y)), y] * P[y]
    assert b.min() >= 0 and b.max() <= C / 3 + 1e-12
    slope = (K * ((y[:, None] == y) / P[y] - 1)) @ b - 1
    free = (b > 1e-9) & (b < C / 3 - 1e-9)
    assert np.abs(slope[free]).max(initial=0) < 1e-3
    assert slope[b <= 1e-9].min(initial=0) > -1e-3 and slope[b >= C / 3 - 1e-9].max(initial=0) < 1e-3


def test_one_of_59_ends_when_no_row_is_outside(rng):
    X, y = blobs(rng, (200, 150, 120))
    nu, epsilon, gamma = 0.02, 0.01, 0.3
    model = OneOf59(nu, epsilon, gamma).fit(X, y)
    code = np.where(y[:, None] == y, 1.0, -0.5)
    Q = code * rbf_kernel(X, gamma=gamma) + nu * len(y) * np.eye(len(y))
    a = np.zeros(len(y))
    a[model.core_] = model.dual_coef_
    assert a.min() >= 0 and np.isclose(a.sum(), 1) and len(set(model.core_)) == len(model.core_)
    distance = Q[0, 0] - 2 * Q @ a + a @ Q @ a
    inner = distance[model.core_][model.dual_coef_ > 0]
    np.testing.assert_allclose(inner, inner[0], rtol=1e-9)  # core vectors with weight lie on the sphere
    assert distance.max() <= (1 + epsilon) ** 2 * inner[0] * (1 + 1e-9)
    assert len(model.core_) < len(y) and model.score(X, y) > 0.8


def test_a_ball_whose_weights_would_be_negative():
    """A row with large products, near the center of the others, gets no weight."""
    Q = np.full((4, 4), 0.1) + 1.9 * np.eye(4)
    Q[3, :3] = Q[:3, 3] = 0.9
    ball = Ball(Q[:2, :2])
    ball.join(Q[2, :2])
    ball.join(Q[3, :3])
    assert np.linalg.solve(Q, np.ones(4)).min() < 0
    np.testing.assert_allclose(ball.weights, [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-12)
    assert np.isclose(ball.value, Q[0, :3].mean())
    assert ball.outside(ball.value - 0.1, 0.0) and not ball.outside(ball.value - 0.1, 0.5)


def test_the_rule_of_the_search_is_the_papers():
    assert criteria.rule("Segment", "II", "ellipsoidal") == dict(n_starts=1, max_iter=11)  # printed 10.2
    assert criteria.rule("Wine", "I", "ellipsoidal") == dict(n_starts=1, max_iter=33)
    assert criteria.rule("Wine", "I", "spherical") == {}
    assert criteria.rule("DNA", "II", "ellipsoidal") == dict(n_starts=1, max_iter=11)  # printed is a copy of table IV
    assert criteria.rule(criteria.CONSTANT, "II", "ellipsoidal") == criteria.rule("Car", "II", "ellipsoidal")


def test_the_median_of_the_halves_and_the_one_with_the_smallest_criterion(monkeypatch):
    class Found:
        def __init__(self, k):
            self.best_params_, self.best_criterion_ = dict(C=[3.0, 9.0, 1.0, 7.0, 5.0][k], gamma=float(k)), (k - 3) ** 2
            self.n_iter_ = self.n_evaluations_ = k

    halves = []
    monkeypatch.setattr(criteria, "half", lambda row, k: (halves.append(k), None))
    monkeypatch.setattr(criteria, "search", lambda *_, **__: Found(halves[-1]))
    found = criteria.searched.__wrapped__("Wine", "I", "spherical", False)
    assert found["C"] == 5.0 and found["gamma"] == 2.0
    assert found["least"] == dict(C=7.0, gamma=3.0) and found["iterations"] == 2.0


def test_every_half_has_a_code_of_its_own(monkeypatch):
    seeds = []

    class Machine:
        def set_params(self, random_state):
            seeds.append(random_state)

        def fit(self, X, y):
            return self

        def score(self, X, y):
            return 0.5

    monkeypatch.setitem(criteria.METHODS, "dense", lambda C, **p: Machine())
    monkeypatch.setitem(criteria.METHODS, "1vs1", lambda C, **p: Machine())
    assert criteria.error_of("Iris", "dense", 1.0, 0.1, 4) == (50.0, 0.0) and seeds == [0, 1, 2, 3]
    criteria.error_of("Iris", "1vs1", 1.0, 0.1, 4)
    assert seeds == [0, 1, 2, 3]


def test_car_with_a_constant_feature(monkeypatch):
    try:
        D = criteria.raw(criteria.CONSTANT)
    except Exception as reason:
        pytest.skip(str(reason))
    assert np.ptp(D.X_train, axis=0).tolist().index(0) == criteria.LUG_BOOT
    assert np.ptp(criteria.raw("Car").X_train, axis=0).min() > 0


def test_programs_of_a_model_selection(tmp_path):
    """The paper's example: 26 evaluations on Iris are 156 programs; 900 points have 2,700 without the five folds."""
    (tmp_path / "criteria-table-4").mkdir()
    keep(tmp_path / "criteria-table-4", "Iris", "I, search", {"evaluations": 26}, 0.0)
    keep(tmp_path / "criteria-table-4", "Iris", "II, search", {"evaluations": [10, None]}, 0.0)
    with running(tmp_path):
        values = {c: criteria_checks.programs("Iris", c, False)["value"] for _, c, _ in criteria_checks.LOAD_PRINTED}
    assert values["criterion I"] == 156 and values["criterion II"] == 40
    assert values["CV, one-vs-one"] == 5 * 2700 and values["GACV, single machine"] == 900
    assert values["LOO bound, dense code"] == 900 * 16 and values["LOO bound, sparse code"] == 900 * 24


def test_the_papers_solvers_are_timed_as_themselves():
    found = kesler.own_cell("iris", "M-1-SMO", True)
    clocked = kesler.own_clock("iris", "M-1-SMO", True, found)
    assert clocked["train [s]"] > 0 and clocked["status"] == ["solved"]
    assert {how.get("solver") for _, how in kesler.OWN.values()} == {"smo", "ksk", None}


def test_the_single_machine_with_the_c_of_the_criterion(monkeypatch):
    monkeypatch.setattr(criteria, "chosen", lambda *_: dict(C=3.0, gamma=0.5))
    seen = []
    monkeypatch.setitem(criteria.METHODS, "single", lambda C, **p: seen.append(C * criteria.SINGLE) or PairwiseSVC())
    found = criteria_checks.plain_single("Iris", "II, spherical", True)
    assert seen == [3.0, 3.0] and found["C"] == 3.0  # the machine's own C, on two halves


def test_segment_is_compared_with_the_criterion_of_its_row():
    printed = criteria_checks.widths_printed()
    rows = {row.split(",")[0]: row for row in criteria_checks.WIDTHS}
    assert printed[rows["I"], "dense", criteria_checks.SHOWN] == (4.94, 0.52)
    assert printed[rows["II"], "1vs1", criteria_checks.SHOWN] == (3.84, 0.45)


def test_what_depends_on_a_draw_has_five_of_them():
    assert kesler.DRAWS >= 5 and min(scatter.DRAWS.values()) >= 5 and len(core_vector.SEEDS) >= 5
    assert criteria.halves(False) == 100


def test_the_first_call_does_not_count_as_the_time_of_a_method(monkeypatch):
    """It wakes what later calls use: figure 14 had Scatter SVM with ten classes slower than with 25."""
    calls = []

    class Machine:
        def fit(self, K, y):
            calls.append("fit")
            end = time.process_time() + (0.2 if len(calls) == 1 else 0.001)
            while time.process_time() < end:
                pass

        def predict(self, K):
            return np.zeros(len(K))

    monkeypatch.setitem(scatter_galleries.METHODS, "scatter", lambda **p: Machine())
    monkeypatch.setattr(scatter_galleries, "digit_pairs", lambda T: (np.eye(2), [0, 1], np.eye(2), np.zeros(2)))
    assert scatter_galleries.measured.__wrapped__(2, "Scatter")["train"] < 0.1


def test_a_long_fit_is_timed_while_it_is_tried(monkeypatch):
    monkeypatch.setattr(scatter, "long", lambda column, T: column == "OVR")
    row = "circle, 10 classes"
    found = scatter.many_classes.__wrapped__(row, "OVR", True)
    assert found["train + test [s]"] > 0 and scatter.many_classes_clock(row, "OVR", True, found) == {}
    assert "train + test [s]" in scatter.many_classes_clock(row, "Scatter", True, dict(gamma=0.5, nu=0.5))


def test_narrow_noise_moves_the_sensitivity_to_the_useful_dimensions():
    def noise(reading):
        return sum(scatter_figures.class_shares(0)(f"dimension {j}", reading, False)["value"] for j in (4, 5))

    assert noise("narrow noise") < 30 and noise("uniform noise") > 50


@pytest.fixture
def papers(tmp_path, monkeypatch):
    papers = pytest.importorskip("benchmarks.papers")
    monkeypatch.setattr(papers, "STORE", tmp_path / "store")
    monkeypatch.setattr(papers, "PICTURES", tmp_path / "pictures")
    return papers


def test_a_run_adds_to_what_is_stored(papers, tmp_path):
    e = exhibit("kesler-table-2")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, row in ((first, "iris"), (second, "wine")):
        (folder / e.key).mkdir(parents=True)
        for column, seconds in (("one-vs-rest", 2.0), ("kesler, linear cost", 1.0)):
            result = {"error [%]": (3.0, 1.0), "train [s]": seconds, "C": 4.0, "sigma": 2.0}
            keep(folder / e.key, row, column, result, 1.0)
        papers.store(folder)
    cells = {papers.place(c): c["ours"] for c in papers.stored(e) if c["ours"] is not None}
    for row in ("iris", "wine"):
        assert cells[row, "kesler, linear cost", "error [%]"] == 3.0
        assert cells[row, "kesler, linear cost", "train time / one-vs-rest"] == 0.5
    runs = papers.stored_runs()
    assert [r["row"] for r in runs] == ["iris", "iris", "wine", "wine"]
    assert json.loads(runs[0]["parameters"]) == {"C": 4.0, "sigma": 2.0}

    third = tmp_path / "third"
    papers.fill(third)
    record = json.loads(path_of(third / e.key, "iris", "one-vs-rest").read_text("utf-8"))
    assert record["seconds"] == 1.0  # a cell whose times are measured again keeps how long it took
    assert finished(third / e.key)["iris", "one-vs-rest"]["sigma"] == 2.0  # other tables read what was chosen
    again = compare(e, finished(third / e.key))
    assert {papers.place(c): c["ours"] for c in again if c["ours"] is not None} == {
        k: v for k, v in cells.items() if "time" not in k[2]
    }
    papers.store(third)  # filled cells are no run, and take nothing away
    assert papers.stored_runs() == runs
    assert {papers.place(c): c["ours"] for c in papers.stored(e) if c["ours"] is not None} == cells


def test_pictures_keep_all_their_colors(tmp_path):
    pytest.importorskip("matplotlib")
    from PIL import Image

    from polymargin.papers.run import picture

    picture(exhibit("scatter-figure-3"), tmp_path, True, type("Silent", (), {"print": lambda *_, **__: None})())
    with Image.open(tmp_path / "scatter-figure-3.png") as image:
        assert image.mode in ("RGB", "RGBA") and round(image.info["dpi"][0]) == 150


def test_a_whole_grid_ends_at_the_first_perfect_point():
    seen = []

    def evaluate(gamma):
        seen.append(round(np.log2(gamma), 3))
        return np.full((2, 3), 100.0 if seen[-1] >= -4 else 90.0)

    kappa, c, accuracy = coarse_to_fine(evaluate, -6, 5, (0.5,))
    assert (kappa, c) == (-4, 0) and accuracy.min() == 100 and seen == [-6, -5.5, -5, -4.5, -4]


def test_support_vectors_are_means_over_draws_of_the_rows(monkeypatch):
    def drawn(name, fast, draw=0):
        X, y = make_blobs(60, centers=3, cluster_std=2.5, random_state=draw)
        return X, y, [(np.arange(40), np.arange(40, 60))]

    monkeypatch.setattr(scatter, "digit_sets", drawn)
    monkeypatch.setattr(scatter, "searched", lambda *of: {"kappa": 0.0, "C": 1.0})
    scatter.validated.cache_clear()
    try:
        cells = {row: scatter.sparsity_cell("any")(row, "Scatter", False) for row in ("0", "1", "2", "all")}
    finally:
        scatter.validated.cache_clear()
    models = []
    for draw in range(scatter.DIGIT_DRAWS):
        X, y, [(train, test)] = drawn("any", False, draw)
        model = JointSVC("scatter", C=1.0, gamma=1.0).fit(X[train], y[train])
        models.append((model.n_support_.sum(), 100 * model.score(X[test], y[test])))
    counts, accuracies = np.transpose(models)
    assert scatter.DIGIT_DRAWS >= 5 and len(set(counts)) > 1
    assert cells["all"]["support vectors"] == pytest.approx((counts.mean(), counts.std(ddof=1)))
    assert cells["all"]["accuracy [%]"] == pytest.approx((accuracies.mean(), accuracies.std(ddof=1)))
    assert sum(cells[c]["support vectors"][0] for c in "012") == pytest.approx(counts.mean())


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "paper/paper.md"])
def test_the_count_is_that_of_the_page(name):
    page = (ROOT / "docs" / "papers.md").read_text("utf-8")
    judged, as_good = re.search(r"worse than printed \| of (\d+).*?where none is printed \| (\d+)", page, re.S).groups()
    text = (ROOT / name).read_text("utf-8")
    assert re.search(rf"\b{judged} accuracies", text) and re.search(rf"\b{as_good}\b", text), f"{as_good} of {judged}"


def test_stricter_counts_stand_beside_it():
    page, text = ((ROOT / name).read_text("utf-8") for name in ("docs/papers.md", "README.md"))
    for rule, words in (
        ("by at most one point", "by at most one point in {}"),
        ("by at most two standard errors of the difference, .*?", "by at most two standard errors in {}"),
        ("not at all", "not worse at all in {}"),
    ):
        assert words.format(re.search(rf"\| {rule} \| (\d+) \|", page)[1]) in text


def test_the_cells_that_could_hardly_fail_are_counted():
    page, text = ((ROOT / name).read_text("utf-8") for name in ("docs/papers.md", "README.md"))
    judged, open_ = map(int, re.search(r"worse than printed \| of (\d+) \| of (\d+)", page).groups())
    assert f"{judged - open_} of the {judged} could hardly" in text
    assert judged - open_ == sum(map(int, re.findall(r"\((\d+) cells\): ", page))) == page.count(")†")


def test_every_disagreement_is_on_top_of_the_page():
    """A remark in which a table or figure disagrees with its paper is listed before the papers, once."""
    papers = pytest.importorskip("benchmarks.papers")
    page = (ROOT / "docs" / "papers.md").read_text("utf-8")
    listed = page.split("## Where we disagree")[1].split("\n## ")[0]
    remarks = {remark for e in exhibits() for remark in e.decided if remark.startswith(papers.DISAGREE)}
    assert listed.count("\n- ") == len(remarks) > 5
    for e in exhibits():
        if remarks.intersection(e.decided):
            assert re.search(rf"- \*\*{papers.AUTHOR[e.paper]}, .*?\b{e.name.split()[-1]}\b", listed)


def test_single_runs_named_on_the_page_exist():
    """A remark that rests on a run outside the tables names the command that repeats it, and each is named."""
    checks = pytest.importorskip("benchmarks.paper_checks")
    page = (ROOT / "docs" / "papers.md").read_text("utf-8")
    named = set(re.findall(r"`python -m benchmarks\.paper_checks (\w+)`", page))
    assert named == {check.__name__ for check in checks.CHECKS}


def test_no_remark_is_printed_twice():
    page = (ROOT / "docs" / "papers.md").read_text("utf-8")
    remarks = [line for line in page.splitlines() if line.startswith("- ")]
    assert len(remarks) == len(set(remarks))


def test_counts_in_remarks_are_those_of_the_stored_cells():
    papers = pytest.importorskip("benchmarks.papers")
    page = (ROOT / "docs" / "papers.md").read_text("utf-8")

    def cells(*names):
        found = (c for name in names for c in papers.stored(exhibit(f"criteria-{name}")) if "error" in c["measure"])
        return {(c["row"], c["column"]): c for c in found}

    def good(part):
        return sum(as_good("error [%]", (c["printed"], c["printed_sd"]), c["ours"]) for c in part.values())

    rule, two, single = cells("table-6", "table-7"), cells("two-starts"), cells("single-machine")
    smaller = sum(c["ours"] < rule[place]["ours"] for place, c in two.items())
    assert f"so are {smaller} of the {len(two)} errors; {good(two)} of them are as good as printed, and " in page
    assert f"and {good(rule)} with the rule of tables 6 and 7" in page
    scaled = {"spherical": cells("table-5"), "ellipsoidal": rule}
    closer = 0
    for (row, column), c in single.items():
        by, kernel = column.split(", ")
        before = scaled[kernel][row, f"{by}, single"]["difference"]
        closer += abs(c["difference"]) < abs(before)
    assert f"With C unscaled, {closer} of the {len(single)} cells come closer" in page
    near = papers.stored(exhibit("criteria-cross-validation"))
    ours, printed = (int(sum(c[key] for c in near)) for key in ("ours", "printed"))
    assert f"Of the {printed - ours} cells out of {printed} that are not near" in page


def test_stored_cells_have_a_run():
    """Every stored cell says when it was computed and with what."""
    store = ROOT / "benchmarks" / "results" / "papers"
    with open(store / "runs.csv", encoding="utf-8") as file:
        known = {(r["exhibit"], r["row"], r["column"]) for r in csv.DictReader(file)}
    for e in exhibits():
        if (store / f"{e.key}.csv").exists():
            with open(store / f"{e.key}.csv", encoding="utf-8") as file:
                cells = {(e.key, c["row"], c["column"]) for c in csv.DictReader(file) if c["ours"]}
            assert cells <= known, sorted(cells - known)[:3]
