"""The campaigns find what they look for; some hundred damaged files and strange calls (`make fuzz` has more)."""

import ast
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from data_sets import blobs

from polymargin import JointSVC, save_model

interrupts = pytest.importorskip("campaigns.interrupts")
kills = pytest.importorskip("campaigns.kills")
mutants = pytest.importorskip("campaigns.mutants")
core_mutants = pytest.importorskip("campaigns.core_mutants")
counts = pytest.importorskip("campaigns.counts")
EQUIVALENT = pytest.importorskip("campaigns.equivalent").EQUIVALENT
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the worker bounds its memory as Linux does")


@linux
def test_nothing_does_harm(seed, monkeypatch, capsys):
    fuzz = pytest.importorskip("campaigns.fuzz")
    kinds, number = ("models", "tables", "calls"), 20
    monkeypatch.setattr(sys, "argv", ["fuzz", "--kinds", *kinds, "--number", str(number), "--seed", str(seed)])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "COLUMNS"):  # set for its workers
        monkeypatch.setenv(name, "1")
    code, said = fuzz.main(), capsys.readouterr().out
    assert code == 0, said
    assert all(f"{kind}: {number} executions" in said for kind in kinds)


def test_names_with_half_a_character_are_tried(tmp_path, seed):
    """A file may have them, as JSON does; a model that has them predicts."""
    files = pytest.importorskip("campaigns.files")
    X, y = blobs([10, 10], 4, seed=seed)
    frame = pd.DataFrame(X, columns=pd.Index(["\ud800", "b", "c", "d"], dtype=object))
    assert files.try_model(save_model(JointSVC().fit(frame, y), tmp_path / "half.pm"), mmap=False) is None


def test_a_mixed_model_is_found(seed, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "fitting"))
    X, y = blobs([10, 10], 3, seed=seed)
    Z, _ = blobs([30, 30], 4, seed=seed)
    model = JointSVC().fit(X, y)
    before, expected = dict(vars(model)), model.predict(X)
    assert interrupts.whole(model, before, expected, X, Z) is None
    model.intercept_ = model.intercept_ + 1.0
    assert "AssertionError" in interrupts.whole(model, before, expected, X, Z)
    model.n_features_in_ = 4
    assert interrupts.whole(model, before, expected, X, Z)
    fresh = JointSVC()
    unfitted = dict(vars(fresh))
    assert interrupts.whole(fresh, unfitted, None, X, Z) is None
    assert "status_ is 'solved'" in interrupts.whole(fresh.fit(Z, [0, 1] * 30), unfitted, None, X, Z)
    full = fresh.decision_function(Z[:50])  # the answer of a whole fit
    assert interrupts.whole(fresh, unfitted, None, X, Z, full) is None
    assert interrupts.whole(fresh, unfitted, None, X, Z, full + 1e-9) is None  # solved, and polished less
    assert interrupts.whole(fresh, unfitted, None, X, Z, full + 2 * fresh.tol)


def test_half_a_file_is_found(tmp_path, seed):
    model = save_model(JointSVC().fit(*blobs([10, 10], 3, seed=seed)), tmp_path / "out.pm")
    whole = {
        "a.html": b"<html>\n</html>\n",
        "b.csv": b"x,y\n1,2\n3,4\n",
        "c.json": b'{"a": 1}',
        "out.pm": model.read_bytes(),
    }
    for name, data in whole.items():
        (tmp_path / name).write_bytes(data)
        assert kills.broken(tmp_path, [name], former=True) == []
        (tmp_path / name).write_bytes(data[: len(data) // 2])
        assert len(kills.broken(tmp_path, [name], former=True)) == 1
        (tmp_path / name).unlink()
        assert kills.broken(tmp_path, [name], former=True) == [f"{name} is gone"]
        assert kills.broken(tmp_path, [name], former=False) == []


def test_cells_that_differ_are_found(tmp_path):
    """By their results; times are never the same twice."""
    folders = [tmp_path / name for name in "abc"]
    for folder, error, seconds in zip(folders, (1.0, 1.0, 2.0), (0.1, 0.2, 0.1), strict=True):
        (folder / "fast").mkdir(parents=True)
        cell = {"result": {"error [%]": error, "train [s]": seconds}, "seconds": seconds}
        (folder / "fast" / "one--ours.json").write_text(json.dumps(cell))
    a, b, c = map(kills.cells, folders)
    assert a == b == {"fast/one--ours.json": {"error [%]": 1.0}} and a != c


PROGRAM = '''
def f(a, b=1):
    """Says."""
    c = a + b if a < 2 else -a
    if c and not b:
        c *= 3
    return c
'''


def test_mutants_are_programs_that_differ(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(PROGRAM)
    found = mutants.mutants(path)
    texts = [write() for _, _, write in found]
    assert len(texts) == len(set(texts)) >= 11 and ast.unparse(ast.parse(path.read_text())) not in texts
    for text in texts:
        compile(text, "mutant", "exec")
        assert "Says." in text and "b=1" in text  # documentation and signatures are left alone


def test_a_mutant_is_shown_to_the_tests_that_run_its_statement(tmp_path):
    """Of a compound statement only the head is its own."""
    path = tmp_path / "some.py"
    path.write_text(PROGRAM)
    lines = PROGRAM.splitlines()
    for word in ("c = a", "if c", "c *=", "def f"):
        at = next(k for k, line in enumerate(lines, 1) if word in line)
        assert list(mutants.statement(path, at)) == [at]


def test_mutants_are_shown_to_tests_of_their_subject():
    """Whether files are named one by one or by folder; every file that is tried by default has tests."""
    for name in mutants.NEAREST:
        for path in mutants.sources(mutants.PACKAGE / name):
            near = mutants.nearest(path)
            assert all((mutants.HOME / test).exists() for test in near)
    for folder, test in (("core_vectors", "core_vectors/"), ("training", "training/"), ("fitting", "fitting/")):
        for path in mutants.sources(mutants.PACKAGE / folder):
            assert any(test in near for near in mutants.nearest(path))


def test_equivalent_mutants_exist():
    """One that is listed as equivalent and no longer there is one that nobody has looked at."""
    for name, told in EQUIVALENT:
        core = name.endswith("pp")
        path = (core_mutants.HOME / "core" if core else mutants.PACKAGE) / name
        found = core_mutants.mutants(path.read_text()) if core else mutants.mutants(path)
        assert told in [what for _, what, _ in found], (name, told)


def test_counts_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, "COUNTS", tmp_path / "counts.json")
    for trials, seed in ((10, 1), (30, 1), (20, 1), (5, 2)):  # the same seed tries the same again
        counts.add("fuzz models", "models", trials, 0, seed)
    counts.add("fuzz tables", "CSV", 7, 1, 1)
    found = counts.sums(json.loads(counts.COUNTS.read_text()))
    assert found["fuzz models", "models"]["trials"] == 35 and found["fuzz tables", "CSV"]["findings"] == 1


def test_mutants_of_the_core_change_one_line_of_code():
    lines = ["#include <a> // 1 < 2", "  // a < b", "  if (a < b && c) return 1;  // so > much", "  x += y;", "}"]
    found = core_mutants.mutants("\n".join(lines))
    assert {k for k, _, _ in found} == {3, 4} and len({text for _, _, text in found}) == len(found) == 6
    for k, told, text in found:
        changed = text.split("\n")
        assert changed[: k - 1] == lines[: k - 1] and changed[k:] == lines[k:] and changed[k - 1] != lines[k - 1]
        assert k == 4 or changed[2].endswith("// so > much"), told
    assert any(text.split("\n")[3] == "" for _, _, text in found)


WATCHED = """
import re, signal, time
from campaigns import fuzz
fuzz.SECONDS = 0.1
fuzz.bound()
fuzz.Watch.arm()
time.sleep(1.0)  # paused, or crowded out
print("slept", flush=True)
signal.signal(signal.SIGPROF, signal.SIG_IGN)
re.match("(a+)+$", 60 * "a" + "b")
print("returned", flush=True)
"""


@linux
def test_a_paused_worker_is_not_slow():
    """Work that does not return ends the process, with a traceback; the clock on the wall says nothing of work."""
    pytest.importorskip("campaigns.fuzz")
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, cwd=mutants.HOME, capture_output=True, text=True)
    assert done.returncode == -signal.SIGVTALRM and done.stdout == "slept\n" and "in match" in done.stderr


def test_a_mutant_reaches_those_who_imported_a_function_before(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("broken_module")
    function, cached, child = module.function, module.cached, module.Child()
    assert (function(), cached(), child.method(), child.value, child.made(), child.fixed()) == (1, 1, 1, 1, 1, 1)
    mutants.replaced(module, MODULE.replace("return 1", "return 2"))
    assert (function(), cached(), child.method(), child.value, child.made(), child.fixed()) == (2, 2, 2, 2, 2, 2)
    mutants.replaced(module, MODULE.replace("return super().method()", "return 3"))
    assert child.method() == 3


TESTS = """
from polymargin_like import some

def test_large():
    assert some.f(5) == -5

def test_other():
    assert some.g() == 1
"""
CAMPAIGN = """
import functools, sys
from pathlib import Path
import pytest
from campaigns import mutants

folder = Path(sys.argv[1])
path = folder / "polymargin" / "some.py"

def trial(session):
    from polymargin_like import some
    assert not session.near("some.py", path, 12)  # no test runs it
    for line, old, new in ((2, "-a", "a"), (2, "a < 2", "a <= 2"), (8, "return 1", "return 2")):
        text = path.read_text().replace(old, new)
        near = session.near("some.py", path, line)
        print(len(near), session.fails(near, functools.partial(mutants.replaced, some, text)))

sys.exit(pytest.main([*mutants.OPTIONS, "-s", str(folder)], plugins=[mutants.Session(folder, trial)]))
"""
SOME = """
def f(a):
    c = 0 if a < 2 else -a
    return c


def g():
    # says one
    return 1


def h():
    return 1
"""


def test_of_a_mutant_the_tests_that_run_its_line_are_run(tmp_path):
    """Collected once, before any mutant; the second one changes nothing that they see."""
    (tmp_path / "polymargin").mkdir()
    (tmp_path / "polymargin" / "some.py").write_text(SOME.lstrip("\n"))
    (tmp_path / "polymargin_like.py").write_text("from polymargin import some")
    (tmp_path / "polymargin" / "__init__.py").touch()
    (tmp_path / "test_some.py").write_text(TESTS)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), str(mutants.HOME)]))
    command = [sys.executable, "-c", CAMPAIGN, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    said = [line for line in done.stdout.splitlines() if line[:2] in ("1 ", "2 ")]
    assert said == ["1 True", "1 False", "1 True"], done.stdout + done.stderr


MODULE = """
import functools

def function():
    return 1

@functools.cache
def cached():
    return 1

class Parent:
    def method(self):
        return 1

    @property
    def value(self):
        return 1

    @classmethod
    def made(cls):
        return 1

    @staticmethod
    def fixed():
        return 1

class Child(Parent):
    def method(self):
        return super().method()
"""
