"""The compiled core shows its plan: subjects are folders, and what includes what goes one way."""

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[1] / "core"
# Each may include what stands before it.
ORDER = [
    "base",
    "simd",
    "kernels",
    "dual",
    "margins",
    "codes",
    "core_set",
    "criteria",
    "scores",
    "manifold",
    "bindings",
]
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def includes():
    """(file, included file) for every include of a file of the core, both as paths inside it."""
    for path in sorted(CORE.rglob("*")):
        if path.suffix in (".hpp", ".cpp", ".inl"):
            for name in INCLUDE.findall(path.read_text()):
                here = path.parent / name
                yield path.relative_to(CORE), (here if here.exists() else CORE / name).relative_to(CORE)


@pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources of the core")
def test_every_file_of_the_core_has_a_subject():
    files = {path.relative_to(CORE) for path in CORE.rglob("*") if path.is_file()}
    assert {path.parts[0] for path in files} == set(ORDER)
    assert all(len(path.parts) == 2 for path in files)


@pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources of the core")
def test_includes_go_one_way():
    arrows = list(includes())
    assert len(arrows) > 200
    assert all((CORE / to).exists() for _, to in arrows)
    upward = [f"{a} -> {b}" for a, b in arrows if ORDER.index(b.parts[0]) > ORDER.index(a.parts[0])]
    assert not upward
    below = {}
    for a, b in arrows:
        below.setdefault(a, set()).add(b)

    def visit(path, way):
        assert path not in way, " -> ".join(map(str, [*way, path]))
        if path not in seen:
            for to in below.get(path, ()):
                visit(to, [*way, path])
            seen.add(path)

    seen = set()
    for path in below:
        visit(path, [])


@pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources of the core")
def test_only_bindings_know_python():
    for path in CORE.rglob("*"):
        if path.is_file() and path.parent.name != "bindings":
            assert not re.search(r"nanobind|Python\.h|PyErr", path.read_text()), path
