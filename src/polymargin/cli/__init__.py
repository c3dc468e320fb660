"""`polymargin`: train, use, explain and compare models from files, without writing Python.

Exit codes: 0 done, 1 the data or the model cannot be used (one sentence says why), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..files.readers import ReadError
from ..papers.command import reproduce
from ..version import __version__
from . import data, model, more
from .terminal import Refusal, complain, err

STOPPED = "interrupted before there was a result"


def spoken(command: Callable) -> Callable:
    """The command, with a sentence about Ctrl-C where it has none of its own; typer would end without a word."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            err.print(STOPPED)
            raise typer.Exit(130) from None

    return run


app = typer.Typer(no_args_is_help=True, add_completion=False, help="Multiclass support vector machines from files.")
for command in (
    model.fit, model.predict, model.evaluate, model.explain, model.report, data.tune, data.embed, data.compare,
    reproduce, more.bench, more.demo,
):  # fmt: skip
    app.command()(spoken(command))


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="print the version and stop")] = False) -> None:
    if version:
        print(f"polymargin {__version__}")
        raise typer.Exit(0)


def note(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as a sentence: where in the library it came from does not help here."""
    err.print(f"[yellow]polymargin:[/] {escape(str(message))}", soft_wrap=True)


def main() -> None:
    """The console script: every expected fault ends in one sentence and an exit code, never in a traceback."""
    warnings.showwarning = note
    try:
        code = app(standalone_mode=False)  # a command that ends early gives its exit code back
        raise SystemExit(code or 0)
    except (typer.Abort, KeyboardInterrupt):  # outside of a command
        err.print(STOPPED)
        raise SystemExit(130) from None
    except (Refusal, ReadError, ValueError, ImportError) as error:
        complain(str(error))
        raise SystemExit(1) from None
    except OSError as error:
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        advice = " (free some space, or write to another disk)" if error.errno == 28 else ""
        complain(what + advice)
        raise SystemExit(1) from None
    except Exception as error:  # usage errors come as exceptions of click, which typer bundles
        if not (hasattr(error, "exit_code") and hasattr(error, "show")):
            raise
        error.show()
        raise SystemExit(error.exit_code) from None
