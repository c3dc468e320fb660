"""Run the experiments of the papers cell by cell, keep what is finished, and compare it with what is printed."""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from ..datasets import DatasetNotFound
from ..files.whole_files import whole_file, write_text
from ..fitting.parameters import nearest
from ..inspection.displays import pyplot
from . import (
    core_vector,
    criteria_checks,
    criteria_figures,
    criteria_tables,
    isomap,
    kesler,
    report,
    scatter_checks,
    scatter_galleries,
    scatter_tables,
)
from .exhibit import Exhibit, LeftOut, compare
from .store import finished, keep, running

PAPERS = {
    "scatter": scatter_tables.EXHIBITS + scatter_checks.EXHIBITS + scatter_galleries.FIGURES,
    "kesler": kesler.EXHIBITS,
    "criteria": criteria_tables.EXHIBITS + criteria_checks.EXHIBITS + criteria_figures.EXHIBITS,
    "core-vector": core_vector.EXHIBITS,
    "isomap": isomap.EXHIBITS,
}


DPI = 150


def exhibits(paper: str | None = None, table: int | None = None, figure: int | None = None) -> list[Exhibit]:
    """The selected tables and figures: of one paper or of all, one of them or all."""
    if paper is not None and paper not in PAPERS:
        raise ValueError(f"expected a paper among {', '.join(PAPERS)}, got {paper!r}{nearest(paper, PAPERS)}")
    if table is not None and figure is not None:
        raise ValueError("expected a table or a figure, got both; ask for one of them")
    chosen = [e for name, all_of in PAPERS.items() if paper in (None, name) for e in all_of]
    if table is None and figure is None:
        return chosen
    name = f"table {table}" if table is not None else f"figure {figure}"
    found = [e for e in chosen if e.name == name]
    if not found:
        known = ", ".join(f"{e.paper} {e.name}" for e in chosen)
        raise ValueError(f"expected one of {known}, got {name}")
    return found


def reproduce(
    paper: str | None = None,
    *,
    table: int | None = None,
    figure: int | None = None,
    fast: bool = False,
    times: bool = False,
    out: str | os.PathLike = "papers-rerun",
    console: Console | None = None,
) -> list[dict]:
    """Rerun tables and figures of the papers and put the results beside the printed ones.

    Finished cells are kept in `out`, so that an interrupted run continues where it stopped; the terminal shows a table,
    and `out` gets a CSV file per table, a picture per figure (delete it to have it drawn again) and one HTML page.

    Parameters
    ----------
    paper : {"scatter", "kesler", "criteria", "core-vector", "isomap"}, default=None
        None means all of them.
    table, figure : int, default=None
        The number of one table or figure; without them, all of the paper.
    fast : bool, default=False
        A reduced grid, for a first look and for tests; its results are kept apart.
    times : bool, default=False
        Compute nothing new; measure the running times of the finished cells again.
    out : path, default="papers-rerun"
        Folder of the results.
    console : rich.console.Console, default=None
        Where tables are printed.

    Returns
    -------
    list of dict
        One record per cell: paper, exhibit, row, column, measure, printed, printed_sd, ours, ours_sd, difference,
        as_good (None where not judged), own (whether the column is the paper's own method) and note.
    """
    chosen = exhibits(paper, table, figure)
    console = console or Console(width=max(120, Console().width))
    folder = Path(out) / ("fast" if fast else "full")
    records = []
    with running(folder):
        for exhibit in chosen:
            results = run(exhibit, folder / exhibit.key, fast, times, console)
            if exhibit.draw:
                picture(exhibit, folder, fast, console)
            if not exhibit.printed:
                continue
            cells = compare(exhibit, results)
            report.show(exhibit, cells, console)
            report.write_csv(folder / f"{exhibit.key}.csv", cells)
            records += cells
    page = folder / "index.html"
    pages = [(e, compare(e, finished(folder / e.key)), folder / f"{e.key}.png") for e in exhibits()]
    write_text(report.html(pages, fast), page)
    console.print(f"Results: {page}")
    return records


def run(exhibit: Exhibit, folder: Path, fast: bool, times: bool, console: Console) -> dict[tuple[str, str], dict]:
    """All cells of a table or figure: those on disk as they are, the others computed and kept one by one.

    Running times come last, so that the methods of a row are timed one after the other.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = finished(folder)
    places = exhibit.places(fast)
    for number, (row, column) in enumerate(places, 1):
        if (row, column) in results or times:
            continue
        begin = time.perf_counter()
        try:
            result = exhibit.compute(row, column, fast)
        except (DatasetNotFound, LeftOut) as reason:
            console.print(f"{exhibit.key}, {row}, {column}: left out, {reason}", highlight=False)
            continue
        seconds = time.perf_counter() - begin
        keep(folder, row, column, result, seconds)
        console.print(f"{exhibit.key} {number}/{len(places)}: {row}, {column} ({seconds:.1f} s)", highlight=False)
    results = finished(folder)
    for row, column in places if exhibit.clock else []:
        result = results.get((row, column))
        if result is None or ("clocked" in result and not times):
            continue
        clocked = exhibit.clock(row, column, fast, result)
        keep(folder, row, column, result | clocked | {"clocked": True})
    return finished(folder)


def picture(exhibit: Exhibit, folder: Path, fast: bool, console: Console) -> None:
    """Draw a figure, unless it is there already."""
    path = folder / f"{exhibit.key}.png"
    if path.exists():
        return
    if find_spec("matplotlib") is None:
        console.print(f"{exhibit.key}: not drawn, matplotlib is missing: pip install 'polymargin[report]'")
        return
    try:
        figure = exhibit.draw(fast)
    except (DatasetNotFound, LeftOut) as reason:
        console.print(f"{exhibit.key}: not drawn, {reason}", highlight=False)
        return
    with whole_file(path) as part:
        figure.savefig(part, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": None})
    pyplot().close(figure)
    console.print(f"{exhibit.key}: drawn to {path}", highlight=False)
