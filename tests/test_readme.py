"""What the documents print must run: Python blocks, make targets, docstring examples and the demo."""

import ast
import doctest
import importlib
import inspect
import io
import pkgutil
import re
from pathlib import Path

import pytest
from rich.console import Console

import polymargin
from polymargin.cli import demo

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


PYTHON = [(document, code) for document in DOCUMENTS for code in blocks(document, "python")]


@pytest.mark.parametrize("document, code", PYTHON, ids=[f"{d}-{i}" for i, (d, _) in enumerate(PYTHON)])
def test_python_blocks_run(document, code, capsys):
    for version in re.findall(r"needs scikit-learn ([\d.]+)$", code, re.MULTILINE):
        pytest.importorskip("sklearn", minversion=version)
    exec(compile(code, document, "exec"), {"__name__": "__main__"})
    # A comment after a print is what it prints.
    said = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert not said or capsys.readouterr().out.splitlines() == said


def test_readme_has_an_example():
    assert [d for d, _ in PYTHON].count("README.md") >= 1


@pytest.mark.parametrize("document", DOCUMENTS)
def test_make_targets_exist(document):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = (ROOT / document).read_text()
    named = set(re.findall(r"`make ([a-z]+)", text)) | set(re.findall(r"^make ([a-z]+)", text, re.MULTILINE))
    assert named <= targets, f"{document} names make targets that do not exist: {named - targets}"
    if not document.startswith("docs/"):
        assert {"demo", "test"} <= named


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_files_exist(document):
    named = re.findall(r"\b((?:core|src|docs|tests|benchmarks|examples)/[\w./-]*\w)", (ROOT / document).read_text())
    missing = {name for name in named if not (ROOT / name).exists()}
    assert not missing, f"{document} names files that do not exist: {missing}"


def anchors(text):
    """The names that headings get."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def made_from(page):
    """The source of a page of the gallery, which exists only where the site was built."""
    return "../examples/README.rst" if page[1] == "index" else f"../examples/{page[1]}.py"


@pytest.mark.parametrize("document", [*DOCUMENTS, "CHANGELOG.md", "benchmarks/README.md"])
def test_links_and_pictures_exist(document):
    text, missing = (ROOT / document).read_text(), []
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text) + re.findall(r'<img[^>]*src="([^"]+)"', text):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        file = re.sub(r"^gallery/(\w+)\.rst$", made_from, file)
        path = (ROOT / document).parent / file if file else ROOT / document
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path.read_text())):
            missing.append(target)
    assert not missing, f"{document} links to what does not exist: {missing}"


@pytest.mark.parametrize("document", [*DOCUMENTS, "benchmarks/README.md"])
def test_rows_of_tables_have_the_cells_of_their_head(document):
    text = re.sub(r"^```.*?^```", "", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    tables = re.findall(r"^\|.*\n\|[-: |]+\|\n(?:.*\S.*\n)*", text, re.MULTILINE)
    for table in tables:
        head, _, *rows = (line for line in table.splitlines() if not line.startswith("<!--"))
        for row in rows:
            assert row[0] == row[-1] == "|" and len(re.findall(r"(?<!\\)\|", row)) == head.count("|"), row


@pytest.mark.parametrize("name", [name for name in polymargin.__all__ if not name.startswith("_")])
def test_every_public_name_and_parameter_is_documented(name):
    assert any(name in (ROOT / document).read_text() for document in DOCUMENTS)
    thing = getattr(polymargin, name)
    text = inspect.getdoc(thing)
    parameters = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters
    said = {word for line in re.findall(r"^([\w, ]+)(?: :|$)", text, re.MULTILINE) for word in line.split(", ")}
    assert set(parameters) - {"self"} <= said


MODULES = [
    m.name
    for m in pkgutil.walk_packages(polymargin.__path__, "polymargin.")
    if not m.name.endswith(("_core", "__main__"))
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    if name.startswith("polymargin.onnx"):  # an extra
        pytest.importorskip("skl2onnx")
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).failed == 0


def test_demo_prints_every_machine_writes_a_report_and_says_what_to_try_next(tmp_path):
    out = io.StringIO()
    demo.main(tmp_path / "report.html", Console(file=out, width=140))
    assert "<html" in (tmp_path / "report.html").read_text()
    text = out.getvalue()
    for name in demo.MACHINES:
        accuracy = re.search(re.escape(name) + r"\s*│\s*([0-9.]+)", text)
        assert accuracy, f"no row for {name}"
        assert float(accuracy[1]) > 0.97
    assert "What to try next" in text


def test_public_names_and_types():
    assert all(hasattr(polymargin, name) for name in polymargin.__all__)
    folder = Path(polymargin.__file__).parent
    assert (folder / "py.typed").exists()
    stub = ast.parse((folder / "_core.pyi").read_text())
    assert {"pair_votes", "dag_winners"} <= {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
