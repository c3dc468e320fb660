"""`polymargin`: train, use, explain and compare models from files, without writing Python.

Exit codes: 0 done, 1 the data or the model cannot be used (one sentence says why), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer
from rich.markup import escape

from .. import __version__
from ..papers.command import reproduce
from ..readers import ReadError
from . import data, model, more
from .terminal import Refusal, complain, err

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Multiclass support vector machines from files.")
for command in (
    model.fit, model.predict, model.evaluate, model.explain, model.report, data.tune, data.embed, data.compare,
    reproduce, more.bench, more.demo,
):  # fmt: skip
    app.command()(command)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="print the version and stop")] = False) -> None:
    if version:
        print(f"polymargin {__version__}")
        raise typer.Exit(0)


def note(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as a sentence: where in the library it came from helps nobody here."""
    err.print(f"[yellow]polymargin:[/] {escape(str(message))}", soft_wrap=True)


def main() -> None:
    """The console script: every expected fault ends in one sentence and an exit code, never in a traceback."""
    warnings.showwarning = note
    try:
        code = app(standalone_mode=False)  # a command that ends early gives its exit code back
        raise SystemExit(code or 0)
    except typer.Abort:
        raise SystemExit(130) from None
    except KeyboardInterrupt:
        err.print("interrupted")
        raise SystemExit(130) from None
    except (Refusal, ReadError, ValueError, ImportError) as error:
        complain(str(error))
        raise SystemExit(1) from None
    except OSError as error:
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        advice = " (free some space, or write to another disk)" if error.errno == 28 else ""
        complain(what + advice)
        raise SystemExit(1) from None
    except Exception as error:  # usage errors come as exceptions of click, which typer carries inside
        if not hasattr(error, "exit_code"):
            raise
        error.show()
        raise SystemExit(error.exit_code) from None
