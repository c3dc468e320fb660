"""One self-contained HTML page about a fitted model and labeled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..files.whole_files import write_text
from .facts import facts

__all__ = ["facts", "write_report"]

# Eight colors that people with any kind of color vision can tell apart (Okabe and Ito 2008), times four shapes; gray is
# lighter on a dark page.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C6D1F", "var(--gray)")
SHAPES = ("circle", "square", "triangle", "diamond")


def write_report(
    model: Any, X: Any, y: np.ndarray, path: str | Path, *, title: str = "polymargin report", source: str = ""
) -> Path:
    """Write the page.

    Parameters
    ----------
    model : AutoSVC
        A fitted model.
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        Rows, ideally ones that the model has not seen; if it has, the page says that its scores are too optimistic.
    y : array-like of shape (n_samples,)
        Their labels.
    path : str or Path
        The HTML file; it needs no network and no other file.
    title, source : str
        The page's heading, and where the rows come from.

    Returns
    -------
    path : Path
        The file that was written. It appears only when it is complete.

    See Also
    --------
    polymargin.AutoSVC : the model that it is about.

    Examples
    --------
    >>> from polymargin.report import write_report
    >>> write_report(model, X_test, y_test, "report.html")  # doctest: +SKIP
    """
    return write_text(render(facts(model, X, y, title=title, source=source)), path)


def render(content: dict[str, Any]) -> str:
    """The page as a string."""
    try:
        from jinja2 import Environment, PackageLoader, select_autoescape
    except ImportError:
        raise ImportError("a report needs the package jinja2: pip install polymargin[report]") from None
    environment = Environment(
        loader=PackageLoader("polymargin.report", "."), autoescape=select_autoescape(["html"]), trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    marks = [(COLORS[c % 8], SHAPES[c // 8 % 4]) for c in range(len(content["names"]))]
    return environment.get_template("page.html").render(**content, marks=marks)
