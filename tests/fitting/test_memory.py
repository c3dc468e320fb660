"""Searches stay within their memory, measured as the growth of a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, re, warnings
from pathlib import Path
import numpy as np
from polymargin import JointSVC, KernelSearchCV, OneVsRestSVC, PairwiseSVC, RadiusMarginSearch

warnings.simplefilter("ignore")

def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

n = 3000
r = np.random.default_rng(0)
y = r.integers(0, 3, n)
centers, noise = r.normal(size=(3, 10))[y], r.normal(size=(n, 10))
apart, mixed, fits = centers + noise, centers / 10 + noise, 0
for machine in (PairwiseSVC(), OneVsRestSVC(), JointSVC("crammer-singer"), JointSVC("scatter")):
    for search in (
        KernelSearchCV(machine, C=[1, 10] if type(machine) is PairwiseSVC else [10], gamma=[0.1, 0.5]),
        RadiusMarginSearch(machine, max_iter=3),
        RadiusMarginSearch(machine, kernel="ellipsoidal", max_iter=2),
    ):
        search.set_params(memory="50MB", n_jobs=2)
        if "Radius" in type(search).__name__ and type(machine) is not PairwiseSVC:
            continue  # the criterion knows no machine
        X, fits = mixed if fits % 2 else apart, fits + 1
        search.fit(X[:600], y[:600])  # threads, code and what libraries keep
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts over
        before = kilobytes("VmRSS")
        search.fit(X, y)
        print(f"{(kilobytes('VmHWM') - before) / 1000:.1f} MB: {search}")
"""


def peak_can_be_reset():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return sys.platform == "linux"


@pytest.mark.skipif(not peak_can_be_reset(), reason="the system does not tell the peak of a part of a run")
def test_searches_keep_to_their_memory():
    """On classes that are apart and on classes that overlap, in turn."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    sizes = [float(line.split()[0]) for line in lines if " MB: " in line]
    assert len(sizes) == 6
    assert max(sizes) <= 55, run.stdout
