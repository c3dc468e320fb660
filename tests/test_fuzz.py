"""Some hundred damaged files, strange calls and command lines; `make fuzz SECONDS=600` tries more."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("campaigns")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the worker bounds its memory as Linux does")
@pytest.mark.parametrize("kind, number", [("models", 300), ("tables", 150), ("calls", 600)])
def test_nothing_does_harm(kind, number, seed):
    options = ["--kinds", kind, "--number", str(number), "--seed", str(seed)]
    command = [sys.executable, "-m", "campaigns.fuzz", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: {number} executions" in done.stdout
