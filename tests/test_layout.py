"""Core and package show their plan: subjects are folders, and what includes or imports what goes one way."""

import ast
import functools
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
    "landmarks",
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


def cycle(arrows):
    """The first way that leads back to where it began, if there is one."""
    below, done = {}, set()
    for a, b in arrows:
        below.setdefault(a, set()).add(b)

    def visit(node, way):
        if node in way:
            return " -> ".join(map(str, [*way, node]))
        if node in done:
            return None
        found = next(filter(None, (visit(to, [*way, node]) for to in sorted(below.get(node, ())))), None)
        done.add(node)
        return found

    return next(filter(None, (visit(node, []) for node in sorted(below))), None)


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
    assert not cycle(arrows)


@pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources of the core")
def test_only_bindings_know_python():
    for path in CORE.rglob("*"):
        if path.is_file() and path.parent.name != "bindings":
            assert not re.search(r"nanobind|Python\.h|PyErr", path.read_text()), path


@pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources of the core")
def test_files_of_the_core_can_be_read():
    for path in CORE.glob("*/*"):
        lines = path.read_text().split("\n")
        assert len(lines) <= 600, path
        assert not [at for at, line in enumerate(lines, 1) if len(line) > 120], path


@pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources of the core")
def test_the_plan_names_every_file_of_the_core():
    plan = (CORE.parent / "CONTRIBUTING.md").read_text().partition("    core/ ")[2].partition("    src/polymargin/ ")[0]
    named = set(re.findall(r"\w+", plan))
    assert {path.parent.name for path in CORE.glob("*/*")} <= named
    assert {path.stem for path in CORE.glob("*/*") if path.parent.name != "bindings"} <= named


PACKAGE = Path(__file__).parents[1] / "src" / "polymargin"
# Each may import what stands before it; `_core` is the compiled module.
SUBJECTS = [
    "_core",
    "version",
    "datasets",
    "machines",
    "kernels",
    "fitting",
    "files",
    "training",
    "joint",
    "reductions",
    "core_vectors",
    "landmarks",
    "structured",
    "smoothing",
    "manifold",
    "selection",
    "inspection",
    "auto",
    "onnx",
    "report",
    "papers",
    "cli",
]


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


def module_name(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__").removesuffix("__init__")


def imports():
    """(module, imported module, name or None) for every import inside the package, lazy ones too."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or not path.stem.startswith("__")]
    modules = {module_name(path) for path in paths} | {"_core"}
    for path in paths:
        here = list(path.relative_to(PACKAGE).parts[:-1])
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = [*here[: len(here) - node.level + 1], *(node.module.split(".") if node.module else [])]
                for name in (alias.name for alias in node.names):
                    whole = ".".join([*base, name])
                    yield module_name(path), *((whole, None) if whole in modules else (".".join(base), name))
            elif isinstance(node, ast.ImportFrom | ast.Import):
                names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                assert not any(name.split(".")[0] == "polymargin" for name in names), f"{path}: import relatively"


def needs_package():
    return pytest.mark.skipif(not PACKAGE.is_dir(), reason="needs the sources of the package")


@needs_package()
def test_every_module_of_the_package_has_a_subject():
    tops = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert tops - {"__init__", "__main__"} == set(SUBJECTS) - {"_core"}
    for folder in (path.parent for path in PACKAGE.glob("*/__init__.py")):
        told = ast.get_docstring(parsed(folder / "__init__.py"))
        said = told.partition(">>>")[0].split("\n") if told else []
        assert 1 <= len(said) <= 8, f"{folder.name}/__init__.py says in few lines what it is for"


@needs_package()
def test_imports_go_one_way():
    arrows = [(a, b) for a, b, _ in imports()]
    assert len(arrows) > 300
    assert not [a for a, b in arrows if not b], "polymargin/__init__.py is for users: import from the subject"
    upward = [f"{a} -> {b}" for a, b in arrows if SUBJECTS.index(b.split(".")[0]) > SUBJECTS.index(a.split(".")[0])]
    assert not upward
    assert not cycle((a, b) for a, b in arrows if a != b)


def trees():
    """(subject, path, syntax tree) of every module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).parts[0].removesuffix(".py"), path, parsed(path)


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


@needs_package()
def test_private_names_stay_in_their_subject():
    """Names that are imported, and attributes of modules and objects: methods, and what `self` is given."""
    crossing = [
        f"{a} uses {b}.{name}"
        for a, b, name in imports()
        if name and is_private(name) and a.split(".")[0] != b.split(".")[0]
    ]
    owners, uses = {}, []
    for subject, path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_private(node.name):
                owners.setdefault(node.name, set()).add(subject)
            elif isinstance(node, ast.Attribute) and is_private(node.attr):
                if ast.unparse(node.value) in ("self", "cls"):
                    owners.setdefault(node.attr, set()).add(subject)
                else:
                    uses.append((subject, path, node))
    assert len(uses) > 20
    for subject, path, node in uses:
        if subject not in owners.get(node.attr, {subject}):
            crossing.append(f"{path.relative_to(PACKAGE)}:{node.lineno} uses {ast.unparse(node)}")
    assert not crossing


@needs_package()
def test_one_name_for_one_thing():
    """No two classes have the same name, nor two numbers that modules name in capitals."""
    places = {}
    for subject, path, tree in trees():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path)
            elif isinstance(node, ast.Assign) and subject != "papers" and is_number(node.value):
                places.setdefault(ast.unparse(node.targets[0]), []).append(path)
    assert len(places) > 200
    assert not {name: found for name, found in places.items() if len(found) > 1}


def is_number(node):
    """A literal, or a product, power or shift of such."""
    parts = (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    return all(
        isinstance(n, parts) or (isinstance(n, ast.Constant) and type(n.value) in (int, float)) for n in ast.walk(node)
    )


@needs_package()
def test_files_can_be_read_in_one_sitting():
    home = PACKAGE.parents[1]
    files = [
        path
        for folder in ("src", "tests", "benchmarks", "campaigns", "examples", "core")
        for path in (home / folder).rglob("*")
        if path.suffix in (".py", ".hpp", ".cpp", ".inl")
    ]
    assert len(files) > 300
    lines = {str(path.relative_to(home)): len(path.read_text().splitlines()) for path in files}
    assert not {path: n for path, n in lines.items() if n > 400}
    for _, path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                told = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
                assert node.end_lineno - node.lineno + 1 - told <= 60, f"{path.name}: {node.name}"


def exported():
    """The names that users import, from the package or from a subject."""
    for path in PACKAGE.rglob("__init__.py"):
        for node in parsed(path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                yield from ast.literal_eval(node.value)


def long_lists(tree, most):
    """(name of the function or class at the top of the module, function) where a function has more arguments."""
    for top in tree.body:
        for node in ast.walk(top):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
                if len(names - {"self", "cls"}) > most:
                    yield getattr(top, "name", ""), node.name


@needs_package()
def test_functions_take_at_most_six_arguments():
    """More are a record. What users call by keyword is exempt: exported names, and the commands of the terminal."""
    from polymargin.cli import app

    commands = {command.callback.__name__ for command in app.registered_commands}
    paths = sorted(PACKAGE.rglob("*.py"))
    found = [(path.parent.name, *where) for path in paths for where in long_lists(parsed(path), 6)]
    assert ("polymargin", "JointSVC", "__init__") in found and ("cli", "tune", "tune") in found
    free = {*exported()}
    assert not [where for where in found if where[1] not in (commands if where[0] == "cli" else free)]


@needs_package()
def test_the_map_names_every_module():
    """CONTRIBUTING.md: under every folder, each of its modules, and each file of the core."""
    text = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text()
    drawn = text[text.index("    src/polymargin/") : text.index("    tests/")]
    places = dict(re.findall(r"^      (\w+)(?:/|\.py)(.*\n(?: {20,}.*\n)*)", drawn, re.MULTILINE))
    assert list(places) == SUBJECTS[1:]
    for path in PACKAGE.glob("*/*.py"):
        if not path.stem.startswith("__"):
            assert re.search(rf"\b{path.stem}\b", places[path.parent.name]), path
    core = text[text.index("    core/") : text.index("    src/polymargin/")]
    places = dict(re.findall(r"^      (\w+)/(.*\n(?: {20,}.*\n)*)", core, re.MULTILINE))
    assert list(places) == ORDER
    for path in CORE.glob("*/*.*"):
        name = re.sub("_(base|avx2|avx512)$", "", path.stem)  # compiled once per instruction set
        assert path.parent.name == "bindings" or re.search(rf"\b{name}\b", places[path.parent.name]), path


@needs_package()
def test_the_glossary_points_at_what_is_there():
    text = (PACKAGE.parents[1] / "docs" / "glossary.md").read_text()
    names = set(re.findall(r"`([a-z_./]+(?:/|\.py|\.hpp))`", text))
    assert len(names) > 10
    places = [CORE.parent, PACKAGE, CORE / "dual"]
    assert not {name for name in names if not any((place / name).exists() for place in places)}
