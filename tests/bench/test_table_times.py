"""The benchmark of AutoSVC's time: peers that do not end, and what counts as missed."""

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("resource", reason="no limits of processor time")
from benchmarks import table_times


def busy():
    while True:
        time.process_time()


def test_a_peer_is_ended_or_answers():
    assert table_times.within(1, busy) is None
    assert table_times.within(60, max, 2, 3) == 3


ROW = dict(
    table="t", n=700, n_test=300, used=700, auto=0.8, auto_seconds=2.0, grid=0.8, grid_seconds=4.0, grid_ended=True
)


@pytest.mark.parametrize(
    "change, missed",
    [({}, False), (dict(auto_seconds=4.1), True), (dict(auto=0.75), True), (dict(auto=0.76), False),
     (dict(grid=None, grid_ended=False), False), (dict(grid=None, grid_seconds=1.0), True)],
)  # fmt: skip
def test_slower_or_less_accurate_is_missed(change, missed):
    """The standard error of .8 in 300 rows is .023."""
    line, bad = table_times.verdict({**ROW, **change})
    assert bad == missed and ("at least" in line) == (not {**ROW, **change}["grid_ended"])


def test_rows_that_were_used_are_those_that_the_model_tells():
    told = SimpleNamespace(explain_choices_=["Machine: ...", "Rows: trained on 701 of 37758, because time_limit ..."])
    assert table_times.used(told, 37758) == 701
    assert table_times.used(SimpleNamespace(explain_choices_=[]), 99) == 99
