"""What the commands share: their options, reading and checking, printing."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..files.readers import read

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, svmlight (.svm) or NPZ file")]
ModelFile = Annotated[Path, typer.Argument(help="model written by `polymargin fit`")]
Target = Annotated[str, typer.Option("--target", "-t", help="column of the labels")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object instead of a table")]
Seed = Annotated[int, typer.Option(help="seed of samples and folds", min=0)]
TimeLimit = Annotated[float | None, typer.Option(help="seconds for everything", min=0.1)]


class Refusal(Exception):
    """A fault that the user can correct; printed as one sentence."""


def complain(message: str) -> None:
    err.print(f"[bold red]polymargin:[/] {escape(message)}", soft_wrap=True)


def say(as_json: bool, facts: dict[str, Any], *tables: Table) -> None:
    if as_json:
        print(json.dumps(facts, default=_plain))
        return
    for table in tables:
        title, table.title = table.title, None  # a title inside a table is wrapped to the width of the table
        out.print(title, soft_wrap=True)
        out.print(table)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


def table_of(title: str, *columns: str) -> Table:
    table = Table(title=escape(title))
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 else "right", overflow="fold", no_wrap=k == 0)
    return table


def labeled(path: Path, target: str | None) -> tuple[Any, np.ndarray]:
    rows = read(path, target)
    if rows.y is None:
        raise Refusal(f"{path}: expected labels, got none; name their column with --target")
    classes, counts = np.unique(rows.y, return_counts=True)
    if len(classes) < 2:
        raise Refusal(
            f"{path}: expected at least 2 classes in the target, got only {str(classes[0])!r}; is "
            f"--target the column of the labels?"
        )
    if len(classes) > 0.5 * len(rows.y) and len(rows.y) > 20:
        raise Refusal(
            f"{path}: expected classes in the target, got {len(classes)} different values in {len(rows.y)} rows; "
            f"is {target!r} a number to be predicted, or a name?"
        )
    return rows.X, rows.y


def without_counters(X: Any, path: Path) -> Any:
    """A table without columns that count its rows from 0 or 1: in a sorted file they would give the class away."""
    if not hasattr(X, "columns") or len(X) < 10:
        return X
    rows = np.arange(len(X))
    numbers = [n for n in X.columns if X[n].dtype.kind in "iuf"]
    counters = [n for n in numbers if np.array_equal(X[n], rows) or np.array_equal(X[n], rows + 1)]
    if counters and len(counters) < X.shape[1]:
        shown = ", ".join(map(repr, counters))
        err.print(
            f"[yellow]polymargin:[/] {escape(f'{path}: left out {shown}, which only counts the rows')}", soft_wrap=True
        )
        return X.drop(columns=counters)
    return X


def load(path: Path) -> Any:
    from ..files.model_file import load_model

    if not path.exists():
        raise Refusal(f"expected a model at {path}, got no file; write one with `polymargin fit`")
    model = load_model(path)
    if not hasattr(model, "encode"):
        raise Refusal(f"{path}: expected a model written by `polymargin fit`, got a {type(model).__name__}")
    return model


def columns_of(model: Any, X: Any, path: Path) -> Any:
    """The model's own columns, in its order; others, such as the target, are ignored."""
    names = getattr(model, "feature_names_in_", None)
    if hasattr(X, "columns") and names is not None:
        missing = [n for n in names if n not in X.columns]
        if missing:
            shown = ", ".join(repr(n) for n in missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise Refusal(
                f"{path}: expected the {len(names)} columns of the training data, got no {shown}; "
                f"use a file with the same columns as the one that the model was fitted on"
            )
        return X[list(names)]
    if hasattr(X, "columns") != (names is not None):
        kinds = ("a table with column names", "rows without column names (svmlight, NPZ)")
        wanted, found = kinds if names is not None else kinds[::-1]
        raise Refusal(f"{path}: expected {wanted} as in the training data, got {found}; convert the file")
    if hasattr(X, "tocsr") and X.shape[1] < model.n_features_in_:  # the last features may not occur in a few rows
        X.resize(X.shape[0], model.n_features_in_)
    if X.shape[1] != model.n_features_in_:
        raise Refusal(
            f"{path}: expected {model.n_features_in_} columns as in the training data, got {X.shape[1]}; use a "
            f"file with the same columns"
        )
    return X


def labels_of(model: Any, y: np.ndarray, path: Path) -> np.ndarray:
    """Labels in the model's type: 1 in one file may be "1" in another."""
    classes = model.classes_
    if classes.dtype.kind in "US" and y.dtype.kind not in "US":
        y = y.astype(str)
    elif classes.dtype.kind in "iuf" and y.dtype.kind in "US":
        with contextlib.suppress(ValueError):
            y = y.astype(classes.dtype)
    strangers = [str(c) for c in np.unique(y) if c not in set(classes.tolist())]
    if strangers:
        known = ", ".join(str(c) for c in classes[:8]) + (", ..." if len(classes) > 8 else "")
        raise Refusal(
            f"{path}: expected labels that the model knows ({known}), got {strangers[0]!r}; is --target the "
            f"column of the labels?"
        )
    return y


def check_folder(path: Path) -> None:
    """Refuse before doing the work, not after."""
    if path.is_dir():
        raise Refusal(f"expected a file name for --out, got the folder {path}; add a name")
    if path.exists() and not path.is_file():
        raise Refusal(f"expected a file name for --out, got the device {path}; name a file")
    if not path.resolve().parent.is_dir():
        raise Refusal(f"expected the folder {path.resolve().parent} for --out to exist, got none; create it first")
