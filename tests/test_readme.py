"""What the documents print must run: Python blocks, make targets, docstring examples and the demo."""

import ast
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path
from urllib.parse import unquote

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
def test_python_blocks_run(document, code, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that they write
    for version in re.findall(r"needs scikit-learn ([\d.]+)$", code, re.MULTILINE):
        pytest.importorskip("sklearn", minversion=version)
    exec(compile(code, document, "exec"), {"__name__": "__main__"})
    # A comment after a print is what it prints.
    said = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert not said or capsys.readouterr().out.splitlines() == said


def test_the_commands_of_ten_minutes_print_what_the_page_says(tmp_path, monkeypatch):
    """Up to seconds and the width of the terminal; a line of dots stands for lines that are left out."""
    page = "docs/ten-minutes.md"
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(page, "python")[0], page, "exec"), {"__name__": "__main__"})
    printed = []
    for command in "".join(blocks(page, "sh")).splitlines():
        run = [sys.executable, "-m", *command.split()]
        printed.append(subprocess.run(run, check=True, capture_output=True, text=True).stdout)

    def plain(text):
        return re.sub(r"in [\d.]+ s\.", "in some s.", " ".join(text.split()))

    shown = [part for text in blocks(page, "text") for part in re.split(r"^  \.\.\.$", text, flags=re.MULTILINE)]
    assert len(shown) >= 6
    for part in shown:
        assert plain(part) in plain("".join(printed))


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


def targets(text):
    """What a text links to and shows."""
    return re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text) + re.findall(r'<img[^>]*src="([^"]+)"', text)


@pytest.mark.parametrize("document", [*DOCUMENTS, "CHANGELOG.md", "benchmarks/README.md"])
def test_links_and_pictures_exist(document):
    text, missing = (ROOT / document).read_text(), []
    for target in targets(text):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        file = re.sub(r"^gallery/(\w+)\.rst$", made_from, file)
        path = (ROOT / document).parent / file if file else ROOT / document
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path.read_text())):
            missing.append(target)
    assert not missing, f"{document} links to what does not exist: {missing}"


def test_the_package_index_shows_the_readme_with_links_that_work_there():
    """In the metadata of the built package: they are those of the repository, at the tag of the release."""
    shown = metadata("polymargin").json["description"].strip()
    at_tag = re.compile(rf"https://github\.com/polymargin/polymargin/(blob|raw)/v{re.escape(polymargin.__version__)}/")
    assert all(re.match(r"https://|#", target) for target in targets(shown))
    assert all("/raw/" in target for target in re.findall(r"!\[[^\]]*\]\((\S+)\)", shown) if at_tag.match(target))
    assert at_tag.sub("", shown) == (ROOT / "README.md").read_text().strip()


def test_badges_are_true():
    """What they show is what they say, and what the package declares."""
    package = metadata("polymargin")
    pythons = re.findall(r"Python :: (3\.\d+)$", "\n".join(package.get_all("Classifier")), re.MULTILINE)
    facts = {"license": package["License-Expression"], "Python": f"{pythons[0]} to {pythons[-1]}"}
    badges = re.findall(r"!\[(.*): (.*)\]\(https://img.shields.io/badge/(.*)-blue\)", (ROOT / "README.md").read_text())
    assert {name: fact for name, fact, _ in badges} == facts
    for name, fact, shown in badges:
        assert unquote(shown) == f"{name}-{fact.replace('-', '--')}"


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
