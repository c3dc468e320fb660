"""Comparisons as a table on the terminal, a CSV file, and a page of HTML that needs nothing else."""

from __future__ import annotations

import base64
import csv
from collections.abc import Sequence
from html import escape
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..files.whole_files import whole_file
from .exhibit import NEAR, Exhibit

FIELDS = (
    *("paper", "exhibit", "row", "column", "measure", "printed", "printed_sd", "ours", "ours_sd"),
    *("difference", "as_good", "own", "note"),
)


def number(value: float | None, deviation: float | None = None) -> str:
    """A value as it is shown: 97.33 ± 3.44, 0.0123, 1,229."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        text = f"{value:,.0f}"
    elif round(abs(value), 3) >= 1 or value == 0:
        text = f"{value:.2f}"
    else:
        text = f"{value:.3g}"
    return text if deviation is None else f"{text} ± {deviation:.2f}"


def verdict(cell: dict) -> str:
    if cell["ours"] is None:
        return "not run"
    return {True: "as good", False: "worse", None: ""}[cell["as_good"]]


def score(cells: Sequence[dict]) -> str:
    """How many of the judged cells are as good, the paper's own method first; times are counted apart."""
    parts = []
    for name, own in (("the paper's own methods", True), ("its baselines", False)):
        judged = [c for c in cells if c["own"] == own and c["as_good"] is not None and " time / " not in c["measure"]]
        if judged:
            parts.append(f"{name}: {sum(c['as_good'] for c in judged)} of {len(judged)} cells as good as printed")
    judged = [c for c in cells if " time / " in c["measure"] and c["as_good"] is not None]
    if judged:
        parts.append(f"time ratios: {sum(c['as_good'] for c in judged)} of {len(judged)} not above the printed ones")
    counted = [c for c in cells if c["measure"] == NEAR and c["ours"] is not None]
    if counted:
        ours, printed = (int(sum(c[key] for c in counted)) for key in ("ours", "printed"))
        parts.append(f"near cross-validation in {ours} of the {printed} cells where the printed error is")
    return "; ".join(parts)


def show(exhibit: Exhibit, cells: Sequence[dict], console: Console) -> None:
    """Print the comparison; a line per cell."""
    view = Table(title=f"{exhibit.paper}, {exhibit.name}: {exhibit.title}", caption=score(cells))
    for name in ("row", "column", "measure"):
        view.add_column(name)
    for name in ("printed", "ours", "difference"):
        view.add_column(name, justify="right")
    view.add_column("verdict")
    last = None
    for c in cells:
        if last not in (None, c["row"]):
            view.add_section()
        style = {True: "green", False: "red", None: ""}[c["as_good"]]
        view.add_row(
            "" if c["row"] == last else c["row"],
            c["column"],
            c["measure"],
            number(c["printed"], c["printed_sd"]),
            number(c["ours"], c["ours_sd"]),
            number(c["difference"]),
            f"[{style}]{verdict(c)}[/]" if style else verdict(c),
        )
        last = c["row"]
    console.print(view)


def write_csv(path: Path, cells: Sequence[dict]) -> None:
    with whole_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for c in cells:
            rounded = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in c.items()}
            writer.writerow(rounded)


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .2rem .7rem; border-bottom: 1px solid #ddd }
td.n { text-align: right; font-variant-numeric: tabular-nums } th { text-align: left } img { max-width: 100% }
.good { background: #e3f4e3 } .worse { background: #fbe3e0 } li, p.where { color: #555 }
"""


def rows(cells: Sequence[dict]) -> list[str]:
    """The lines of an HTML table with a row per cell."""
    head = ("row", "column", "measure", "printed", "ours", "difference", "verdict", "note")
    lines = ["<table><tr>" + "".join(f"<th>{h}</th>" for h in head) + "</tr>"]
    for c in cells:
        color = {True: "good", False: "worse", None: ""}[c["as_good"]]
        texts = [c["row"], c["column"], c["measure"]]
        figures = [number(c["printed"], c["printed_sd"]), number(c["ours"], c["ours_sd"]), number(c["difference"])]
        lines.append(
            f'<tr class="{color}">'
            + "".join(f"<td>{escape(t)}</td>" for t in texts)
            + "".join(f'<td class="n">{escape(t)}</td>' for t in figures)
            + f"<td>{verdict(c)}</td><td>{escape(c['note'])}</td></tr>"
        )
    return [*lines, "</table>"]


def html(pages: Sequence[tuple[Exhibit, Sequence[dict], Path]], fast: bool) -> str:
    """One self-contained page with all exhibits that have results or a picture, whose path comes third."""
    parts = ["<h1>The papers, rerun</h1>"]
    if fast:
        parts.append("<p>These are reduced grids (<code>--fast</code>) for a first look, not the experiment.</p>")
    for exhibit, cells, picture in pages:
        filled = any(c["ours"] is not None for c in cells)
        if not filled and not picture.exists():
            continue
        parts.append(f"<h2>{escape(exhibit.paper)}, {escape(exhibit.name)}: {escape(exhibit.title)}</h2>")
        parts.append(f'<p class="where">{escape(exhibit.where)}</p><p>{escape(score(cells))}</p>')
        if picture.exists():
            data = base64.b64encode(picture.read_bytes()).decode()
            parts.append(f'<img alt="{escape(exhibit.title)}" src="data:image/png;base64,{data}">')
        if filled:
            parts += rows(cells)
        if exhibit.decided:
            parts.append("<p>Choices and remarks:</p><ul>")
            parts += [f"<li>{escape(d)}</li>" for d in exhibit.decided]
            parts.append("</ul>")
    body = "\n".join(parts)
    title = "<title>The papers, rerun</title>"
    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8">{title}<style>{STYLE}</style>\n{body}\n</html>\n'
