"""Some hundred damaged files of every kind; `python tests/fuzz_files.py --models 20000 --tables 5000` tries more."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the worker bounds its memory as Linux does")
@pytest.mark.parametrize("kind, number", [("models", 300), ("tables", 150)])
def test_damaged_files_are_refused_or_predict(kind, number, seed):
    script = Path(__file__).parents[1] / "fuzz_files.py"
    command = [sys.executable, str(script), f"--{kind}", str(number), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{number} " in done.stdout
