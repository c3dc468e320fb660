"""`polymargin reproduce`, as a command of its own: ``python -m polymargin.papers``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .run import PAPERS
from .run import reproduce as run_papers

app = typer.Typer(add_completion=False)


@app.command()
def reproduce(
    paper: Annotated[str | None, typer.Argument(help=f"One of {', '.join(PAPERS)}; all of them if left out.")] = None,
    table: Annotated[int | None, typer.Option(help="Number of one table.")] = None,
    figure: Annotated[int | None, typer.Option(help="Number of one figure.")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Reduced grids: minutes instead of hours.")] = False,
    times: Annotated[bool, typer.Option("--times", help="Only measure the running times again.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of the results; finished cells are kept there.")] = Path(
        "papers-rerun"
    ),
) -> None:
    """Rerun the experiments of the papers and put the results beside the printed ones."""
    try:
        run_papers(paper, table=table, figure=figure, fast=fast, times=times, out=out)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    except KeyboardInterrupt:
        typer.echo(f"Stopped; finished cells are kept in {out}; the same command continues from there.", err=True)
        raise typer.Exit(130) from None
