"""The site is whole: every public name, page and example has its place. `make docs` builds it."""

import ast
import inspect
import re
import runpy
from importlib.metadata import metadata
from pathlib import Path

import pytest

import polymargin
from polymargin import datasets, onnx, report

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = sorted((DOCS.parent / "examples").glob("*.py"))
PUBLIC = [name for name in polymargin.__all__ if not name.startswith("_")]


def listed(page):
    """The names under the autosummary lists of a page."""
    blocks = re.findall(r"^\.\. autosummary::\n(?: {3}.*\n|\n)*", (DOCS / page).read_text(), re.MULTILINE)
    return re.findall(r"^ {3}([\w.]+)$", "".join(blocks), re.MULTILINE)


def sections(thing):
    """Those that begin after a blank line: without it, the site has a warning instead of a section."""
    return re.findall(r"\n\n(.+)\n-{3,}$", inspect.getdoc(thing), re.MULTILINE)


def test_the_list_of_names_is_complete():
    names = listed("api.rst")
    assert len(names) == len(set(names))
    more = {
        *(f"datasets.{name}" for name in datasets.__all__ if name != "NAMES"),
        *(f"onnx.{name}" for name in onnx.__all__),
        *(f"report.{name}" for name in report.__all__ if name != "facts"),
    }
    assert set(names) == {*PUBLIC, *more}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    """In its docstring, with what else to look at and where it is from; a display in the gallery, too."""
    source = set() if name in ("save_model", "load_model") else {"References"}  # the file format is our own
    assert {"Parameters", "See Also", "Examples"} | source <= set(sections(getattr(polymargin, name)))
    if name.endswith("Display"):
        assert any(re.search(rf"\b{name}\b", path.read_text()) for path in EXAMPLES), f"{name} is in no example"


def test_names_of_the_subpackages_have_examples():
    for package, hidden in ((datasets, ("NAMES",)), (onnx, ()), (report, ("facts",))):
        for name in set(package.__all__) - set(hidden):
            of_a_paper = {"References"} if name.startswith("make_") and name != "make_clusters" else set()
            assert {"See Also", "Examples"} | of_a_paper <= set(sections(getattr(package, name))), name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_short_and_draw(path):
    """A title, what there is to see, fewer than 60 lines, a picture that is shown."""
    text = path.read_text()
    assert len(text.splitlines()) < 60
    title, line, blank, *prose = ast.get_docstring(ast.parse(text)).split("\n")
    assert len(line) == len(title) and set(line) == {"="} and not blank and len(prose) >= 2
    assert text.endswith("plt.show()\n")


def test_the_gallery_is_a_gallery():
    """Every example has its place in its order."""
    assert len(EXAMPLES) >= 15
    order = re.search(r"^EXAMPLES = (\[.*?\])", (DOCS / "conf.py").read_text(), re.MULTILINE | re.DOTALL)[1]
    assert sorted(ast.literal_eval(order)) == [path.stem for path in EXAMPLES]


def test_every_page_is_in_the_table_of_contents():
    entries = {"index"}
    for page in [*DOCS.glob("*.md"), *DOCS.glob("*.rst")]:
        text = page.read_text()
        blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        blocks += re.findall(r"^\.\. toctree::\n((?: {3}.*\n|\n)*)", text, re.MULTILINE)
        entries.update(re.findall(r"^ *(?:\w+ <)?([\w/-]+)>?$", "".join(blocks), re.MULTILINE))
    pages = {page.stem for pattern in ("*.md", "*.rst") for page in DOCS.glob(pattern)}
    assert pages == entries - {"gallery/index"}


def test_the_start_page_links_to_what_exists():
    text = (DOCS / "index.rst").read_text()
    for target in re.findall(r":link: (\S+)", text):
        folder, _, name = target.rpartition("/")
        if folder == "gallery":
            assert name == "index" or (DOCS.parent / "examples" / f"{name}.py").exists(), target
        else:
            assert any((DOCS / f"{target}{ending}").exists() for ending in (".md", ".rst")), target
    pictures = re.findall(r":img-top: (\S+)", text)
    assert len(pictures) >= 5 and all((DOCS / picture).exists() for picture in pictures)


def test_the_start_page_prints_what_the_readme_does():
    """The README's example is run; the start page has the same one."""
    text, readme = (DOCS / "index.rst").read_text(), (DOCS.parent / "README.md").read_text()
    said = re.search(r"^   (\S+% of \d+ new digits are right)$", text, re.MULTILINE)[1]
    assert f"# {said}\n" in readme
    assert 'print(f"{model.score(X_test, y_test):.1%} of {len(y_test)} new digits are right")' in text


def test_the_drawing_of_the_architecture_names_what_there_is():
    """Every folder of the core and of the package, and the modules that one reads first."""
    drawing = (DOCS / "images" / "architecture.svg").read_text()
    python, core = (re.findall(r'"monospace"[^>]*>(.*?)<', part) for part in drawing.split("core (C++17)"))
    modules = {"joint", "machines.py", "kernels.py"}
    for drawn, folder, more in ((python, "src/polymargin", modules), (core, "core", set())):
        there = {path.name for path in (DOCS.parent / folder).iterdir() if path.is_dir()} - {"__pycache__"}
        assert sorted(", ".join(drawn).split(", ")) == sorted(there | more)


def test_a_reader_of_the_site_finds_the_source():
    addresses = dict(line.split(", ") for line in metadata("polymargin").get_all("Project-URL"))
    assert f"git clone {addresses['Source']} " in (DOCS / "install.md").read_text()


def test_formulas_are_set_without_a_network():
    """By a file of the site; otherwise Sphinx names an address."""
    conf = (DOCS / "conf.py").read_text()
    assert "mathjax_path = mathjax.name\n" in conf and "str(mathjax)]" in conf


# The first version of each action that needs Node 24: GitHub's runners have had no older one since September 2026.
ON_NODE_24 = {
    "actions/attest": 4,
    "actions/checkout": 5,
    "actions/deploy-pages": 5,
    "actions/download-artifact": 7,
    "actions/setup-python": 6,
    "actions/upload-artifact": 6,
    "actions/upload-pages-artifact": 5,
    "pypa/gh-action-pypi-publish": 1,  # in a container
}


@pytest.mark.parametrize("name", ["test", "wheels"])
def test_the_actions_of_workflows_are_named_by_commit(name):
    """A tag can be moved to other code; the comment says which version the commit is."""
    used = re.findall(r"uses: (.+)", (DOCS.parent / ".github" / "workflows" / f"{name}.yml").read_text())
    known = [re.fullmatch(r"([\w-]+/[\w-]+)@[0-9a-f]{40}  # v(\d+)\.\d+\.\d+", action) for action in used]
    assert known and all(known)
    assert all(int(action[2]) >= ON_NODE_24[action[1]] for action in known)


def test_notes_move_into_the_changelog(tmp_path):
    """To the end of the list of their kind, under the topmost version; a kind without a list gets one."""
    (tmp_path / "changes.d").mkdir()
    (tmp_path / "CHANGELOG.md").write_text(
        "# C\n\n## 2\n\n### Added\n\n- a\n\n### Fixed\n\n- f\n\n## 1\n\n### Added\n\n- o\n"
    )
    for name, note in {"x.added": "b\nc", "y.fixed": "g", "z.removed": "r"}.items():
        (tmp_path / "changes.d" / f"{name}.md").write_text(note + "\n")
    runpy.run_path(str(DOCS.parent / "changes.d" / "collect.py"))["main"](tmp_path)
    assert (tmp_path / "CHANGELOG.md").read_text() == (
        "# C\n\n## 2\n\n### Added\n\n- a\n- b c\n\n### Fixed\n\n- f\n- g\n\n### Removed\n\n- r\n"
        "\n## 1\n\n### Added\n\n- o\n"
    )
    assert not list((tmp_path / "changes.d").iterdir())


def test_notes_have_a_kind():
    names = [path.name for path in (DOCS.parent / "changes.d").glob("*.md") if path.name != "README.md"]
    assert all(re.fullmatch(r"[\w-]+\.(added|changed|fixed|removed)\.md", name) for name in names)
