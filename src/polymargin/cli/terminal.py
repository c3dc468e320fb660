"""What the commands share: their options, reading and checking, printing."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..auto.columns import KINDS
from ..auto.task import SEEDS
from ..files.readers import LabeledRows, ReadError, counted, read
from ..files.whole_files import write_text
from ..fitting.parameters import nearest

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, svmlight (.svm) or NPZ file, or - for standard input")]
ModelFile = Annotated[Path, typer.Argument(help="model written by `polymargin fit`")]
Target = Annotated[str, typer.Option("--target", "-t", help="column of the labels")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object instead of a table")]
Seed = Annotated[int, typer.Option(help="seed of samples and folds", min=0, max=SEEDS - 1)]
TimeLimit = Annotated[float | None, typer.Option(help="seconds for everything", min=0.1)]
Drop = Annotated[list[str] | None, typer.Option(help="column to leave out (repeat for more)")]
Only = Annotated[list[str] | None, typer.Option(help="column to use; others are left out (repeat for more)")]
As = Annotated[
    list[str] | None, typer.Option("--as", help=f"kind of a column: COLUMN={'|'.join(KINDS)} (repeat for more)")
]
Jobs = Annotated[int | None, typer.Option("--n-jobs", help="threads; all cores if not given")]
Folds = Annotated[int, typer.Option(help="folds of the cross-validation", min=2, max=50)]
Groups = Annotated[str | None, typer.Option(help="column of groups; rows of one group stay together in every split")]
Balanced = Annotated[bool, typer.Option(help="give all classes the same total weight")]
Weights = Annotated[
    list[str] | None, typer.Option(help="factor on the rows of a class: CLASS=FACTOR (repeat for more)")
]
STARTS = {b"PAR1": "parquet", b"\x1f\x8b": "csv.gz", b"BZh": "csv.bz2"}  # of what standard input may hold but text
SPARSE_ROW = re.compile(rb"[-+.,\deE]+(\s+\w+:\S+)*\s*(#.*)?")
SNIFFED, SNIFFED_LINES = 1 << 16, 10  # bytes and lines of it that are looked at
SHOWN_COLUMNS = 40
SHOWN_NAMES = 8  # classes in a sentence
FIRST_COLUMNS = 5  # of more, if nothing is odd about any of them


@dataclass
class Columns:
    """What --drop, --only and --as say."""

    drop: list[str]
    only: list[str]
    kinds: dict[str, str]

    @classmethod
    def of(
        cls, drop: list[str] | None, only: list[str] | None, kinds: list[str] | None, groups: str | None = None
    ) -> Columns:
        """The column of --groups is left out anyway."""
        return cls([name for name in drop or [] if name != groups], only or [], wishes_of(kinds))

    def read_as_text(self) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind != "number"]

    def wishes(self) -> dict[str, str] | None:
        """For AutoSVC; ignored columns are dropped, so that files to be predicted need not have them."""
        return {n: k for n, k in self.kinds.items() if k != "ignore"} or None

    def words(self) -> list[str]:
        """The options again."""
        found = [("--drop", n) for n in self.drop] + [("--only", n) for n in self.only]
        return [w for pair in [*found, *(("--as", f"{n}={k}") for n, k in self.kinds.items())] for w in option(*pair)]


def option(name: str, value: str) -> list[str]:
    """An option in the words of a command line; a value that looks like an option itself is bound to its name."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


class Refusal(Exception):
    """A fault that the user can correct; printed as one sentence."""


def complain(message: str) -> None:
    err.print(f"[bold red]polymargin:[/] {escape(message)}", soft_wrap=True)


def say(as_json: bool, facts: dict[str, Any], *tables: Table) -> None:
    if as_json:
        print(json.dumps(facts, default=_plain))
        return
    for table in tables:
        first = table.columns[0]
        if max((cell_len(str(cell)) for cell in first.cells), default=0) > out.width // 2:
            first.no_wrap, first.width = False, out.width // 2  # else a long name would leave no room for the others
        title, table.title = table.title, None  # a title inside a table is wrapped to the width of the table
        out.print(title, soft_wrap=True)
        out.print(table)


def listed(lines: list[str]) -> None:
    """Lines with dots, wrapped at blanks on a screen; a file or another program gets them whole."""
    for line in lines:
        text = f"• {line}"
        if out.is_terminal:
            text = textwrap.fill(text, out.width, subsequent_indent="  ", break_long_words=False)
        out.print(escape(text), soft_wrap=True)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else str(value)


def table_of(title: str, *columns: str) -> Table:
    table = Table(title=escape(title))
    for k, column in enumerate(columns):
        words = k == 0 or column in ("used as", "remark", "matters most for")
        table.add_column(column, justify="left" if words else "right", overflow="fold", no_wrap=k == 0)
    return table


def rows_of(path: Path, target: str | None = None, text: Collection[str] = ()) -> LabeledRows:
    """The rows of a file, or of standard input."""
    if str(path) != "-":
        return read(path, target, text)
    content = sys.stdin.buffer.read()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"input.{kind_of(content)}"
        copy.write_bytes(content)
        try:
            return read(copy, target, text)
        except ReadError as error:
            raise ReadError(str(error).replace(str(copy), source(path))) from None


def source(path: Path) -> str:
    """Where rows come from, for a reader."""
    return "standard input" if str(path) == "-" else str(path)


def kind_of(content: bytes) -> str:
    """What the name of a file with this content would end in."""
    kind = next((kind for start, kind in STARTS.items() if content.startswith(start)), "")
    lines = [line for line in content[:SNIFFED].splitlines()[:SNIFFED_LINES] if line.split(b"#")[0].strip()]
    sparse = all(SPARSE_ROW.fullmatch(line) for line in lines) and any(b":" in line for line in lines)
    return kind or ("svm" if sparse else "csv")


def labeled(path: Path, target: str | None, text: Collection[str] = ()) -> tuple[Any, np.ndarray]:
    rows = rows_of(path, target, text)
    if rows.y is None:
        raise Refusal(f"{source(path)}: expected labels, got none; name their column with --target")
    classes, counts = np.unique(rows.y, return_counts=True)
    if len(classes) < 2:
        raise Refusal(
            f"{source(path)}: expected at least 2 classes in the target, got only {str(classes[0])!r}; is "
            f"--target the column of the labels?"
        )
    broken = [c for c in classes.tolist() if isinstance(c, float) and c % 1 > 0]
    if broken:
        raise Refusal(
            f"{source(path)}: expected classes in the target, got {len(classes)} different numbers, some with decimals "
            f"({broken[0]:g}); group them into classes first, write them as words if each is a class of its own, or "
            f"name another column (--target)"
        )
    if len(classes) > 0.5 * len(rows.y) and len(rows.y) > 20:
        raise Refusal(
            f"{source(path)}: expected classes in the target, got {len(classes)} different values in {len(rows.y)} "
            f"rows; if {target!r} is a number, group its values into classes first, or name another column (--target)"
        )
    return rows.X, rows.y


def wishes_of(asked: list[str] | None) -> dict[str, str]:
    """Kinds of columns from words such as zip=category."""
    found = {}
    for words in asked or []:
        name, equals, kind = words.rpartition("=")
        if not equals or kind not in KINDS:
            raise Refusal(f"expected --as to be COLUMN={'|'.join(KINDS)}, got {words!r}")
        found[name] = kind
    return found


def class_weight_of(balanced: bool, weights: list[str] | None, y: np.ndarray) -> Any:
    """What --balanced and --weights ask for."""
    if weights and balanced:
        raise Refusal("expected --weights or --balanced, got both; choose one")
    return "balanced" if balanced else weights_of(weights, y)


def weights_of(words: list[str] | None, y: np.ndarray) -> dict[Any, float] | None:
    """Factors of classes from words such as ill=5."""
    found: dict[Any, float] = {}
    classes = {str(c): c for c in np.unique(y).tolist()}
    for word in words or []:
        name, _, factor = word.rpartition("=")
        try:
            label, weight = classes[name], float(factor)
        except (KeyError, ValueError):
            raise Refusal(
                f"expected --weights to be CLASS=FACTOR with a class among {few_of(classes)}, got {word!r}"
                + ("" if name in classes else nearest(name, classes))
            ) from None
        if label in found:
            raise Refusal(f"expected --weights once for every class, got {name!r} twice; leave one out")
        found[label] = weight
    return found or None


def few_of(names: Collection[str]) -> str:
    """Names for a sentence; of many the first."""
    return ", ".join([*list(names)[:SHOWN_NAMES], *["..."] * (len(names) > SHOWN_NAMES)])


def columns_asked(X: Any, path: Path, choice: Columns) -> Any:
    """The columns that --drop and --only leave."""
    named = [*choice.drop, *choice.only, *choice.kinds]
    if named and not hasattr(X, "columns"):
        raise Refusal(
            f"{source(path)}: expected a table with column names for --drop, --only and --as, got rows without them"
        )
    for name in named:
        if name not in X.columns:
            raise Refusal(f"{source(path)}: expected a column {name!r}, got none{nearest(name, map(str, X.columns))}")
    ignored = {*choice.drop, *(name for name, kind in choice.kinds.items() if kind == "ignore")}
    if not named:
        return X
    kept = [name for name in X.columns if name not in ignored and (not choice.only or name in choice.only)]
    if not kept:
        raise Refusal(f"{source(path)}: expected columns to be left after --drop and --only, got none")
    return X[kept]


def tell_left_out(path: Path, columns: list[dict[str, Any]]) -> None:
    for column in columns:
        if column["used_as"] == "left out":
            text = f"{source(path)}: left out {column['name']!r}: {column['reason']}"
            err.print(f"[yellow]polymargin:[/] {escape(text)}", soft_wrap=True)


def table_of_columns(columns: list[dict[str, Any]]) -> Table:
    """Used as what, left out why, missing how many; of many columns of one kind without remarks, the first."""
    table = table_of(counted(len(columns), "column"), "column", "used as", "features", "empty", "remark")
    odd = [c for c in columns if c["reason"] or c["used_as"] != "number"]
    shown = columns if len(columns) <= SHOWN_COLUMNS else odd[:SHOWN_COLUMNS] or columns[:FIRST_COLUMNS]
    for c in shown:
        empty = str(c["missing"]) if c["missing"] else ""
        table.add_row(escape(c["name"]), c["used_as"], str(c["features"] or ""), empty, escape(c["reason"]))
    if len(columns) > len(shown):
        table.add_row(f"{len(columns) - len(shown)} more", "number" if len(odd) <= len(shown) else "", "", "", "")
    return table


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
        unused = [c["name"] for c in model.columns_ if c["used_as"] == "left out"]
        X = X.assign(**{n: None for n in unused if n not in X.columns})
        missing = [n for n in names if n not in X.columns]
        if missing:
            shown = ", ".join(repr(n) for n in missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise Refusal(
                f"{source(path)}: expected the {len(names)} columns of the training data, got no {shown}; "
                f"use a file with the same columns as the one that the model was fitted on"
            )
        return X[list(names)]
    if hasattr(X, "columns") != (names is not None):
        kinds = ("a table with column names", "rows without column names (svmlight, NPZ)")
        wanted, found = kinds if names is not None else kinds[::-1]
        raise Refusal(f"{source(path)}: expected {wanted} as in the training data, got {found}; convert the file")
    if hasattr(X, "tocsr") and X.shape[1] < model.n_features_in_:  # the last features may not occur in a few rows
        X.resize(X.shape[0], model.n_features_in_)
    if X.shape[1] != model.n_features_in_:
        raise Refusal(
            f"{source(path)}: expected {model.n_features_in_} columns as in the training data, got {X.shape[1]}; use a "
            f"file with the same columns"
        )
    return X


def text_of(model: Any) -> list[str]:
    """Columns that the model reads from text: pandas would take 1.396 for a number where it means 1396."""
    encoder = model.encoder_
    kinds = zip(model.columns_, encoder.formats_, strict=False)
    return [c["name"] for c, form in kinds if form or c["used_as"] in ("category", "text")]


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
            f"{source(path)}: expected labels that the model knows ({known}), got {strangers[0]!r}; is --target the "
            f"column of the labels?"
        )
    return y


def without_groups(X: Any, path: Path, name: str | None) -> tuple[Any, Any]:
    """The table without the column of the groups, and that column."""
    if name is None:
        return X, None
    if not hasattr(X, "columns") or name not in X.columns:
        near = nearest(name, map(str, getattr(X, "columns", ())))
        raise Refusal(f"{source(path)}: expected a column {name!r} beside the target for --groups, got none{near}")
    empty = int(X[name].isna().sum())
    if empty:
        raise Refusal(
            f"{source(path)}: expected a group in every row, got {counted(empty, 'empty cell')} in column {name!r}; "
            f"fill them in, or remove the rows"
        )
    return X.drop(columns=name), X[name].astype(str).to_numpy()


def write_or_print(text: str, to: Path) -> None:
    if str(to) == "-":
        print(text, end="")
    else:
        write_text(text, to)


def check_folder(path: Path, printed: bool = False) -> None:
    """Refuse before doing the work, not after; what can be printed may go to standard output."""
    if str(path) == "-" and not printed:
        raise Refusal("expected a file name for --out, got -; only tables and reports go to standard output")
    if str(path) == "-":
        return
    if path.is_dir():
        raise Refusal(f"expected a file name for --out, got the folder {path}; add a name")
    if path.exists() and not path.is_file():
        raise Refusal(f"expected a file name for --out, got the device {path}; name a file")
    if not path.resolve().parent.is_dir():
        raise Refusal(f"expected the folder {path.resolve().parent} for --out to exist, got none; create it first")
