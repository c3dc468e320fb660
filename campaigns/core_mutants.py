"""Mutation testing of the compiled core: one line of it is broken at a time, and the nearest tests must notice.

    python -m campaigns.core_mutants 10 [--seed 1] [--files dual/levels.hpp margins] [--seconds 600] [--count]

Comparisons, signs, numbers and conditions are changed and statements deleted, in a copy of the sources that is built
for each, which takes seconds. What does not compile is not counted. A mutant that no test notices has survived: it is
printed with its line. Some only change the speed.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .mutants import HOME, LOADED, Tally, arguments, noticed

# Files of the core, and the tests that are nearest to them, quickest first.
NEAREST = {
    "dual/factor": "core/test_faces.py",
    "dual/face": "core/test_faces.py core/test_engine.py",
    "dual/newton": "core/test_newton.py core/test_engine.py",
    "dual/landmark_model": "core/test_newton.py core/test_engine.py",
    "dual/": "core/test_faces.py core/test_engine.py core/test_shared_rows.py training/test_certificates.py "
    "training/test_scatter.py",
    "codes/": "reductions/test_output_codes.py reductions/test_column_values.py reductions/test_biases.py "
    "core/test_shared_rows.py reductions/test_reductions.py",
    "margins/kesler": "training/test_kesler_solvers.py",
    "margins/linear": "training/test_linear.py structured/test_structured.py",
    "margins/": "core/test_faces.py core/test_engine.py training/test_certificates.py training/test_machines.py",
}
CHANGES = [
    (r"(?<= )<(?= )", "<="), (r"(?<= )<=(?= )", "<"), (r"(?<= )>(?= )", ">="), (r"(?<= )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="), (r"(?<= )!=(?= )", "=="), (r"(?<= )&&(?= )", "||"), (r"(?<= )\|\|(?= )", "&&"),
    (r"(?<= )\+(?= )", "-"), (r"(?<= )-(?= )", "+"), (r"(?<= )\*(?= )", "/"), (r"(?<= )\+=(?= )", "-="),
    (r"std::max", "std::min"), (r"std::min", "std::max"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"\b0\.5\b", "0.6"), (r"\b1\b(?!\.)", "2"), (r"\bif \((?!constexpr)", "if (!"),
]  # fmt: skip


def code(line: str) -> str:
    """A line without its comment; nothing of preprocessor lines, constants' types and templates."""
    text = line.split("//")[0]
    return "" if re.match(r"\s*(#|template|using|struct|class|static_assert)", text) else text


def mutants(text: str) -> list[tuple[int, str, str]]:
    """(line, what it was and is, the whole file) for every mutant of a file."""
    lines, found = text.split("\n"), []
    for k, line in enumerate(lines):
        body = code(line)
        others = [body[: m.start()] + new + body[m.end() :] for old, new in CHANGES for m in re.finditer(old, body)]
        if re.fullmatch(r"\s+[\w.\[\]>-]+ [-+*]?= .*;\s*|\s+\w+\(.*\);\s*", body):
            others.append("")
        for other in dict.fromkeys(others):
            changed = "\n".join([*lines[:k], other + line[len(body) :], *lines[k + 1 :]])
            found.append((k + 1, f"{body.strip()[:100]}  ->  {other.strip()[:100] or 'nothing'}", changed))
    return found


def installed(folder: Path) -> None:
    """The copy in a folder without a mutant: the package is then in its `site`."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--upgrade"]
    command += ["--target", str(folder / "site"), "-C", f"build-dir={folder / 'build'}", str(folder)]
    subprocess.run(command, check=True)


def built(folder: Path) -> bool:
    """Whether a mutant compiles; its module is then in the `site`."""
    if subprocess.run(["cmake", "--build", "build", "--target", "_core"], cwd=folder, capture_output=True).returncode:
        return False
    for module in (folder / "build").glob("_core*.so"):
        shutil.copy(module, folder / "site" / "polymargin")
    return True


def main() -> int:
    given = arguments(["dual", "margins", "codes"])
    os.chdir(HOME)
    for name in LOADED:
        importlib.import_module(name)
    core, every = HOME / "core", []
    for name in given.files:
        for path in sorted((core / name).glob("*.?pp")) if (core / name).is_dir() else [core / name]:
            every += [(str(path.relative_to(core)), *mutant) for mutant in mutants(path.read_text())]
    chosen, tally = np.random.default_rng(given.seed).permutation(len(every)), Tally("core mutants", given)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for part in ("core", "src"):
            shutil.copytree(HOME / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "docs").mkdir()
        for part in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "docs/package_index.py"):
            shutil.copy(HOME / part, folder / part)
        installed(folder)
        for name, line, told, text in (every[k] for k in chosen):
            if tally.full():
                break
            (folder / "core" / name).write_text(text)
            nearest = next(tests for start, tests in NEAREST.items() if name.startswith(start))
            if built(folder):
                unseen = not noticed(folder / "site", [f"tests/{test}" for test in nearest.split()])
                tally.add(name, line, told, "survived" if unseen else None)
            shutil.copy(core / name, folder / "core" / name)
    tally.close(len(every))
    return 0


if __name__ == "__main__":
    sys.exit(main())
