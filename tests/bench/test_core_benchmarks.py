"""The benchmarks of core vectors: what they draw, store and show. And how the paper's SVM gets repeated rows."""

import argparse
import csv

import numpy as np
import pytest

from polymargin.papers.core_vector import build, fitted, trained

core_vectors = pytest.importorskip("benchmarks.core_vectors")
core_vector_sets = pytest.importorskip("benchmarks.core_vector_sets")


def test_random_rows_of_classes_alike(seed):
    y = np.repeat([5, 7, 9], [1000, 3, 200])
    rows = core_vector_sets.alike(y, 103, np.random.default_rng(seed))
    assert len(set(rows)) == 103 and np.bincount(y[rows])[[5, 7, 9]].tolist() == [50, 3, 50]
    assert not np.array_equal(rows, core_vector_sets.alike(y, 103, np.random.default_rng(seed + 1)))


def test_the_slope_is_the_exponent():
    rows = [{"n": n, "seconds": 3e-5 * n**0.8} for n in (100, 1000, 5000)]
    assert core_vectors.slope(rows) == pytest.approx(0.8)


def test_the_picture_shows_the_last_run(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    args = argparse.Namespace(out=tmp_path / "rows.csv", picture=tmp_path / "new" / "growth.png")
    for date, power in (("one", 2.0), ("two", 1.0)):
        for n in (100, 1000, 10_000):
            row = dict(date=date, entry="growth", n=n, seconds=1e-3 * n**power)
            core_vectors.keep(args.out, row)
    core_vectors.keep(args.out, dict(date="three", entry="disk", n=5, seconds=1))
    core_vectors.picture(args)
    assert "slope 1.00" in capsys.readouterr().out and args.picture.read_bytes().startswith(b"\x89PNG")


def test_rows_in_a_file(tmp_path):
    rows = core_vectors.disk(argparse.Namespace(n=30_000, folder=tmp_path, tol=0.03))
    assert (
        rows[0]["parameters"] == "C=10.0 gamma=0.1 tol=0.03"
        and rows[0]["status"] == "solved"
        and rows[0]["n"] == 30_000
        and rows[0]["accuracy"] > 0.98
    )
    assert "anonymous memory" in rows[0]["note"] and not list(tmp_path.iterdir())


def test_memory_is_seen():
    with core_vectors.Memory() as used:
        some = np.ones(100_000_000 // 8)
        for _ in range(1000):
            if used.peak - used.before > 80e6 or used.done.wait(0.01):
                break
    assert some[0] == 1 and 80e6 < used.peak - used.before < 150e6


def test_real_rows_and_their_tables(tmp_path, monkeypatch, seed):
    """Four machines and their peer on a small set; the tables show the last run of each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 900)
    X = rng.normal(size=(3, 4))[y] * 3 + rng.normal(size=(900, 4))
    parameters = dict(scheme="joint", C=10.0, gamma=0.2, tol=0.05)
    monkeypatch.setattr(core_vector_sets, "real", lambda name: (X[:600], y[:600], X[600:], y[600:]))
    monkeypatch.setattr(core_vector_sets, "SETS", {"kddcup99_10pct": [parameters]})
    out = tmp_path / "rows.csv"
    for row in core_vector_sets.compared():
        core_vectors.keep(out, row)
    rows = core_vectors.stored(out, "real")
    assert [r["solver"] for r in rows[:4]] == list(core_vector_sets.LIKE) and len(rows) == 5
    assert float(rows[1]["gap"]) <= core_vector_sets.EXACT and rows[2]["n"] == rows[0]["core"]
    assert len(rows[0]["recall"].split()) == 3
    text = core_vector_sets.tables([*rows, {**rows[1], "accuracy": "0.125"}])
    assert "12.50 (" in text and "| normal |" in text and "| probe |" in text
    assert core_vector_sets.tables(rows[:1]).splitlines()[2].endswith("|  |  |  |  |")
    page = tmp_path / "page.md"
    for old in ("", "an older table"):
        page.write_text(f"Before.\n{old.join(core_vectors.MARKS)}\nAfter.\n", "utf-8")
        core_vectors.table(argparse.Namespace(out=out, page=page))
        assert page.read_text("utf-8").startswith("Before.\n<!--") and page.read_text("utf-8").endswith("-->\nAfter.\n")
        assert "| normal |" in page.read_text("utf-8") and "older" not in page.read_text("utf-8")
    with out.open(newline="") as f:
        assert next(csv.reader(f)) == list(core_vectors.FIELDS)


@pytest.mark.parametrize("order", ["C", "F"])
def test_distinct_rows_with_counts_are_the_same_svm(order, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 400)
    X = np.asarray(np.round(np.eye(3)[y] + rng.normal(0, 0.6, (400, 3))), dtype=np.float32, order=order)
    model, plain = trained("Intrusion", "SVM", X, y), fitted(build("Intrusion", "SVM"), X, y)
    assert model.shape_fit_[0] < 250 and plain.shape_fit_[0] == 400
    assert model.dual_objective_ == pytest.approx(plain.dual_objective_, rel=1e-3)
    np.testing.assert_allclose(model.pair_decision_function(X), plain.pair_decision_function(X), atol=2e-2)
