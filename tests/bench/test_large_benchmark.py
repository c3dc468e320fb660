"""Many overlapping rows: the benchmark prints and stores what it measured."""

import csv

import numpy as np
import pytest

large = pytest.importorskip("benchmarks.large")


def test_it_prints_and_stores(in_process, tmp_path, capsys):
    in_process(large)
    out = tmp_path / "large.csv"
    large.main(["--rows", "700", "--solvers", "landmarks,nystroem-sgd", "--out", str(out)])
    text = capsys.readouterr().out
    assert "gaussians, 700 rows" in text and "nystroem-sgd" in text
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["n"], r["solver"]) for r in rows] == [("700", "landmarks"), ("700", "nystroem-sgd")]
    assert all(float(r["cpu"]) > 0 and float(r["accuracy"]) > 0.7 and r["simd"] for r in rows)


def test_sets_of_any_size(real_data):
    """Rows beyond those that there are: resampled, and moved by a little."""
    real_data("covtype_15k")
    X, y, test, labels, gamma, bayes = large.rows("covtype_15k", 20_000)
    assert len(y) == 20_000 and len(np.unique(X, axis=0)) == 20_000 and bayes is None and gamma > 0
    assert X.shape[1] == test.shape[1] and len(labels) == len(test)
