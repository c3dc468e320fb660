"""Memory, measured and limited in a process of its own: searches stay within theirs, fits within what is free."""

import subprocess
import sys
from pathlib import Path

import pytest

from polymargin.fitting import resources

SEARCHES = """
import gc, re, warnings
from pathlib import Path
import numpy as np
from polymargin import JointSVC, KernelSearchCV, LandmarkSVC, OneVsRestSVC, PairwiseSVC, RadiusMarginSearch

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
        # The C library may keep matrices of less than 32 MB that are free.
        RadiusMarginSearch(machine, kernel="ellipsoidal", max_iter=2, memory="35MB"),
        KernelSearchCV(machine, C=[1, 10] if type(machine) is PairwiseSVC else [1], gamma=[0.1, 0.5], cv=3),
        RadiusMarginSearch(machine, max_iter=3),
        RadiusMarginSearch(machine, kernel="ellipsoidal", max_iter=2),
    ):
        most = 50 if search.memory == "auto" else 35
        search.set_params(memory=f"{most}MB", n_jobs=2)
        if "Radius" in type(search).__name__ and type(machine) is not PairwiseSVC:
            continue  # the criterion knows no machine
        X, fits = mixed if fits % 2 else apart, fits + 1
        search.fit(X[:600], y[:600])  # threads, code and what libraries keep
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts over
        before = kilobytes("VmRSS")
        search.fit(X, y)
        print(f"{(kilobytes('VmHWM') - before) / 1000 / most:.2f} of the memory: {search}")

Y = np.arange(4000) % 4
Z = r.normal(size=(4000, 6)) + 0.5 * r.normal(size=(4, 6))[Y]
many = np.arange(20000) % 4
wide = r.normal(size=(4, 20))[many] + r.normal(size=(20000, 20)), many
for model, (X, labels) in (
    (JointSVC("scatter", C=100.0, tol=1e-5), (Z, Y)),
    (OneVsRestSVC(C=10.0), (Z, Y)),
    (LandmarkSVC(n_landmarks=300), (Z, Y)),
    (LandmarkSVC(n_landmarks=300), wide),
):
    few = slice(0, len(X) // 8)
    model.set_params(memory="30MB", n_jobs=1).fit(X[few], labels[few])
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    model.fit(X, labels)
    print(f"{(kilobytes('VmHWM') - before) / 1000:.1f} MB in: {model}")
"""
LIMIT = """
import resource
import numpy as np
from pathlib import Path
from polymargin import PairwiseSVC
from polymargin.fitting.resources import budget

X = np.random.default_rng(0).normal(size=(9000, 4))
y = np.arange(9000) % 2
PairwiseSVC(n_jobs=1).fit(X[:100], y[:100])
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 200 * 10**6,) * 2)
print(budget("auto"))
try:
    PairwiseSVC(memory="4GB", n_jobs=1, C=100.0).fit(X, y)
except MemoryError as error:
    print(error)
print(PairwiseSVC(memory="4MB", n_jobs=1).fit(X, y).status_)  # the process lives on
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")


def peak_can_be_reset():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return sys.platform == "linux"


@pytest.fixture(scope="module")
def said():
    """What one process says of both: its start takes longer than a search."""
    program = (SEARCHES if peak_can_be_reset() else "") + LIMIT
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.skipif(not peak_can_be_reset(), reason="the system does not tell the peak of a part of a run")
def test_searches_keep_to_their_memory(said):
    """On classes that are apart and on classes that overlap, in turn. All kernel values would take 72 MB."""
    shares = [float(line.split()[0]) for line in said if " of the memory: " in line]
    assert len(shares) == 7
    assert max(shares) <= 1.1, shares


@pytest.mark.skipif(not peak_can_be_reset(), reason="the system does not tell the peak of a part of a run")
def test_fits_keep_to_their_memory(said):
    """All values, or those of landmarks with what follows, would take more than 40 MB.

    `python -m campaigns.memory` has every other kind.
    """
    sizes = [float(line.split()[0]) for line in said if " MB in: " in line]
    assert len(sizes) == 4 and max(sizes) <= 33, said


@linux
def test_limits_of_the_process(said):
    """ "auto" stays within `ulimit -v`; a memory that does not is a MemoryError that says what to do."""
    most, error, status = said[-3:]
    assert int(most) <= 10**8
    assert error.startswith("PairwiseSVC: expected the fit to need no more memory than is free, got only 0.")
    assert "all kernel values of 9,000 rows take 0.32 GB, of which memory='4GB' allows 4 GB" in error
    assert 'pass a smaller memory, such as memory="100MB", fit fewer rows, or use CoreVectorSVC' in error
    assert status == "solved"


@pytest.mark.parametrize(
    ("mount", "limit", "use", "cache"),
    [
        ("cgroup", "memory.max", "memory.current", "inactive_file"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
def test_limits_of_containers(mount, limit, use, cache, tmp_path, monkeypatch):
    """Of both versions of control groups: what the limit leaves, with pages that hold files counted as free."""
    inner, outer = tmp_path / "outer" / "inner", tmp_path / "outer"
    inner.mkdir(parents=True)
    for group, most in ((inner, "max" if mount == "cgroup" else str(2**63 - 4096)), (outer, "500000000")):
        (group / limit).write_text(most + "\n")
        (group / use).write_text("450000000\n")
        (group / "memory.stat").write_text(f"anon 1\n{cache} 30000000\n")
    monkeypatch.setattr(resources, "own_groups", lambda at: [inner, outer] if at.name == mount else [])
    assert resources.container_memory() == [80_000_000]
    assert resources.budget("auto") == 40_000_000 or resources.budget("auto") == resources.LEAST
