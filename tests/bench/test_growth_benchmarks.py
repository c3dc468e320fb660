"""The benchmarks of growth with rows and of large C: the same problems by all names, limits, tables, what is missed."""

import csv

import pytest

growth = pytest.importorskip("benchmarks.growth")
large_c = pytest.importorskip("benchmarks.large_c")
limited = pytest.importorskip("benchmarks.limited")


@pytest.mark.parametrize("name", ["two", "five"])
def test_names_of_the_same_problem_have_one_value(name, seed):
    X, y, *_ = growth.problem(name, 300, seed)
    values = {}
    for machine, (build, *_, factor) in growth.MACHINES.items():
        kind = growth.same(name, machine)
        if kind is None or machine == growth.PEERS[0]:
            continue
        model = build().fit(X, y)
        ours = hasattr(model, "dual_objective_")
        value = factor * model.dual_objective_ if ours else growth.pairs_value(model, X)
        values.setdefault(kind, []).append(value)
    assert {k: len(v) for k, v in values.items()} == ({"no bias": 3, "bias": 4} if name == "two" else {"pairs": 2})
    for found in values.values():
        assert found == pytest.approx([found[0]] * len(found), rel=2e-3)


def test_growth_prints_stores_and_draws(tmp_path, in_process, capsys):
    pytest.importorskip("matplotlib")
    in_process(growth)
    growth.main(["two", "--rows", "100,200", "--machines", "PairwiseSVC,scikit-learn", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "100" in out and "slopes" in out and "demands by wall seconds" in out and "threads" in out
    assert all(f"│ {machine}" in out for machine in ("PairwiseSVC", "scikit-learn")) and "differs" not in out
    with (tmp_path / "growth.csv").open(newline="") as f:
        rows = list(csv.DictReader(f))
    assert [int(r["n"]) for r in rows] == [100, 200] * 2 and all(float(r["cpu"]) > 0 for r in rows)
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


def run(n, seconds, value=1.0, accuracy=0.9):
    return {"n": n, "wall": seconds, "cpu": seconds, "value": value, "accuracy": accuracy}


def test_growth_says_what_is_missed():
    results = {
        "kesler": [run(10_000, 1.0), run(20_000, 4.0)],
        "scatter": [run(10_000, 1.2), run(20_000, 6.4)],
        "PairwiseSVC": [run(10_000, 1.0), run(20_000, 0.9)],
        "oneDAL float32": [run(10_000, 3.0), run(20_000, 12.0)],
    }
    assert growth.slopes(results["kesler"]) == pytest.approx([2.0])
    missed = list(growth.verdicts("two", results, "cpu"))
    assert missed == [
        "scatter: slope 2.42 from 10,000 to 20,000 rows",
        "PairwiseSVC: slope -0.15 from 10,000 to 20,000 rows",
        "scatter: 2.50 times as fast as oneDAL float32 at 10,000 rows",
        "kesler: 4.4 times the fastest of our names at 20,000 rows",
        "scatter: 7.1 times the fastest of our names at 20,000 rows",
        "scatter: 1.88 times as fast as oneDAL float32 at 20,000 rows",
    ]
    assert growth.checked("two", results) == {}
    results["scatter"][1]["value"] = 0.98
    results["oneDAL float32"][0]["accuracy"] = 0.88
    assert sorted(growth.checked("two", results)) == ["oneDAL float32", "scatter"]


@pytest.mark.skipif(limited.TIMER is None, reason="no clock that ends a process")
def test_a_fit_is_ended_and_those_before_it_are_kept():
    options = ["two", "scikit-learn", "--rows", "200,20000", "--limit", 0.3]
    found, reason = limited.fits("growth", options, 2, 10)
    assert [r["n"] for r in found] == [200] and reason == "stopped"


def test_errors_of_a_child_are_told():
    found, reason = limited.fits("no_such_benchmark", [], 1, 10)
    assert found == [] and "No module named benchmarks.no_such_benchmark" in reason


def test_large_c_prints_its_tables(in_process, capsys):
    in_process(large_c)
    large_c.main(["90-2-3", "--machines", "SVC,PairwiseSVC,scatter", "--limit", "60", "--search", "60-2-2"])
    out = capsys.readouterr().out
    assert "90 rows, 2 features, 3 classes" in out and "C = 32768" in out and "demands by processor seconds" in out
    assert all(f"│ {machine}" in out for machine in ("SVC", "PairwiseSVC", "scatter", "GridSearchCV", "KernelSearchCV"))
    assert "60-2-2: KernelSearchCV is" in out and "│ -" not in out


def test_fits_that_were_ended_are_bounds():
    def spent(cpu, stopped=False):
        return {"cpu": cpu, "stopped": stopped}

    assert large_c.ratio(spent(6.0), spent(2.0)) == ("3", 3.0)
    assert large_c.ratio(spent(10.0, True), spent(1.0)) == (">10", 10.0) and not large_c.below(">10", 10.0)
    assert large_c.ratio(spent(1.0), spent(10.0, True)) == ("<0.1", 0.1) and large_c.below("<0.1", 0.1)
    assert large_c.ratio(spent(9.0, True), spent(9.0, True)) == large_c.ratio(None, spent(1.0)) == ("-", None)
