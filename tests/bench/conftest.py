"""Benchmarks without the processes that they start: an import costs more than all their small fits."""

import io
import json
import signal
from contextlib import redirect_stdout

import pytest


@pytest.fixture
def in_process(monkeypatch):
    """in_process(module) has the module do what its children would do, each fit once.

    The children themselves are tested by their own names, with those of the benchmark of growth.
    """

    def prepare(module):
        timed = module.timed

        def fits(name, arguments, count, limit):
            assert module.__name__ == f"benchmarks.{name}"
            with redirect_stdout(io.StringIO()) as out:
                module.main(["--child", *map(str, arguments)])
            return [json.loads(line) for line in out.getvalue().splitlines()], None

        monkeypatch.setattr(module, "fits", fits)
        monkeypatch.setattr(module, "timed", lambda call, limit, **_: timed(call, limit, most=1))

    before = signal.getsignal(signal.SIGTERM)
    yield prepare
    assert signal.getsignal(signal.SIGTERM) is before, "workers that later tests fork would inherit this handler"
