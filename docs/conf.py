"""How the site is built: `make docs`. Pages are Markdown, the start page and the list of names reStructuredText."""

import os
import re
import sys
from importlib import import_module
from importlib.metadata import metadata
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parent))

import polymargin

project = "polymargin"
author = "the polymargin developers"
copyright = author
version = release = polymargin.__version__
addresses = dict(line.split(", ") for line in metadata("polymargin").get_all("Project-URL"))

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "changes.d"]
nitpicky = False

# Markdown
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
highlight_language = "none"  # indented blocks are commands and formulas; Python is marked as such

# Formulas are set by a script of the site's own, so that they can be read without a network.
mathjax = Path(import_module("sphinx-mathjax-offline").__file__).parent / "static" / "mathjax" / "tex-svg.js"
mathjax_path = mathjax.name

# Names and docstrings
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # types stand in the docstrings
toc_object_entries_show_parents = "hide"  # the class is the title of its page
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


def whole_pictures(conf, name):
    """No title is cut: a picture is as large as what is in it."""
    import matplotlib

    matplotlib.rcParams["savefig.bbox"] = "tight"


# Examples, in the order of the gallery: machines, many classes and rows, tuning, pictures, losses.
EXAMPLES = [
    "tie_regions",
    "pairs_against_joint",
    "nine_machines",
    "overlap",
    "prototypes",
    "many_classes",
    "text_many_classes",
    "enclosing_ball",
    "core_set_growing",
    "million_rows",
    "streaming",
    "overlap_landmarks",
    "criterion_surface",
    "pixel_gammas",
    "seeing_digits",
    "sensitivity_toy",
    "sensitivity_digits",
    "calibration",
    "costs",
    "structured_losses",
]


def gallery_order(file):
    return EXAMPLES.index(Path(file).stem)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": gallery_order,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("polymargin",),
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "min_reported_time": 0,
    "write_computation_times": False,
    "show_memory": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "copyfile_regex": r".*\.rst",
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib", whole_pictures),
    "plot_gallery": "True",
}
suppress_warnings = ["config.cache"]  # the gallery's settings hold classes

html_theme = "pydata_sphinx_theme"
html_title = "polymargin"
html_static_path = ["_static", str(mathjax)]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "github_url": addresses["Source"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": False,
}
html_sidebars = {page: [] for page in ("theory", "papers", "testing", "glossary", "contributing")}


def is_scikit_learn(app, what, name, obj, skip, options):
    """Methods that scikit-learn itself documents are left out: get_params, set_score_request and the like."""
    return skip or getattr(obj, "__module__", None) is None or obj.__module__.startswith("sklearn.")


def one_line_types(app, what, name, obj, options, lines):
    """Types that go over two lines become one; a name in a type that ends with an underscore is no link."""
    text = re.sub(r" \\\n\s+", " ", "\n".join(lines))
    for k, line in enumerate(parts := text.split("\n")):
        names, colon, kind = line.partition(" : ")
        if colon and not line.startswith(" "):
            parts[k] = names + colon + re.sub(r"_(?=[,)])", r"\\_", kind)
    lines[:] = parts


def setup(app):
    app.connect("autodoc-process-docstring", one_line_types, priority=400)  # before numpydoc
    app.connect("autodoc-skip-member", is_scikit_learn)
