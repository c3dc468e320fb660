"""Finished cells on disk: one JSON file each, in a folder per table."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..files.whole_files import write_text

FOLDER: ContextVar[Path | None] = ContextVar("folder of the run", default=None)


def versions() -> dict[str, str]:
    """What a stored result was computed with."""
    packages = {name: version(name) for name in ("polymargin", "scikit-learn", "numpy", "scipy")}
    return {**packages, "python": platform.python_version(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}


def path_of(folder: Path, row: str, column: str) -> Path:
    """The file of a cell."""
    return folder / (re.sub(r"[^\w.-]+", "_", f"{row}--{column}") + ".json")


def keep(folder: Path, row: str, column: str, result: dict, seconds: float | None = None) -> None:
    """Store a finished cell; the file appears only when it is complete."""
    path = path_of(folder, row, column)
    if seconds is None:
        seconds = json.loads(path.read_text("utf-8"))["seconds"]
    record = dict(row=row, column=column, result=result, seconds=seconds, date=str(date.today()), **versions())
    write_text(json.dumps(record, indent=1, default=float), path)


def finished(folder: Path) -> dict[tuple[str, str], dict]:
    """The stored cells: {(row, column): {measure: value}}."""
    records: list[dict[str, Any]] = [json.loads(p.read_text("utf-8")) for p in sorted(folder.glob("*.json"))]
    return {(r["row"], r["column"]): r["result"] for r in records}


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """A run whose finished cells are in the folder."""
    token = FOLDER.set(folder)
    try:
        yield
    finally:
        FOLDER.reset(token)


def recalled(key: str) -> dict[tuple[str, str], dict]:
    """The finished cells of another table or figure of the current run; none outside a run."""
    folder = FOLDER.get()
    return {} if folder is None else finished(folder / key)
