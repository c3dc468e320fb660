"""Commands about polymargin itself: bench, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def bench() -> None:
    """Compare with scikit-learn's SVC on this machine, on bundled data."""
    from .demo import compare

    compare()


def demo(
    to: Annotated[Path, typer.Option("--out", "-o", help="HTML file for the report")] = Path("report.html"),
) -> None:
    """Train on handwritten digits next to scikit-learn's SVC, and write a report."""
    from .demo import main

    main(to)
