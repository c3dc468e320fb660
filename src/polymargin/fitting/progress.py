"""What a fit says while it runs: an estimate before a long one, then a bar or log lines.

The solver calls a `Progress` about ten times a second with n_iter, violation, seconds and the objectives it knows;
True asks it to stop. Log lines go to the logger "polymargin" at level INFO; a verbose fit whose logger would swallow
them writes to stderr instead.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .callbacks import Parts
from .resources import gram_bytes

logger = logging.getLogger("polymargin")

# Whether the search that a fit is part of wants it to end. Signals reach only the main thread, and its fits may be in
# others.
STOP: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


class Stopped(Exception):
    """Raised in a fit that its search has stopped."""


LONG = 10.0  # seconds: a fit expected to take longer is announced
LINES_EVERY = 5.0  # seconds between log lines
# Rates of one thread, for estimates: multiply-adds of a kernel block, kernel functions, bytes read in a pass over a
# gradient.
MULTIPLY_ADDS, FUNCTIONS, BYTES = 1.2e10, 4e8, 4e9


def say(line: str, verbose: int) -> None:
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(line)
    elif verbose:
        print(line, file=sys.stderr)


def estimate(n: int, width: float, kind: str, threads: int, memory: int) -> tuple[float, float]:
    """Seconds and bytes that n rows of `width` numbers will take, to a factor of about three.

    The Gram matrix is computed once if it fits. If not, a third of the rows are taken for support vectors whose kernel
    rows are computed three times each. About one step per row reads one kernel row.
    """
    gram = gram_bytes(n)
    fits = gram <= memory
    values = 0.5 * n * n if fits else 1.0 * n * n
    per_value = 0.0 if kind == "precomputed" else width / MULTIPLY_ADDS + 1 / FUNCTIONS
    seconds = (values * per_value + 4.0 * n * n / BYTES) / threads
    return seconds, 0.0 if kind == "precomputed" else min(gram, memory)


def announce(given: Any, kind: str, threads: int, memory: int, verbose: int) -> None:
    """Before a long fit, one line with its time and memory; `given` is what `examples.training_set` makes."""
    n, d, n_classes = len(given.rows), given.X.shape[1], len(given.classes)
    seconds, size = estimate(n, given.width, kind, threads, memory)
    if kind != "callable" and seconds < LONG:
        return
    if kind == "callable" and n < 5000:
        return
    time = (
        "a time that depends on the callable kernel"
        if kind == "callable"
        else f"about {duration(seconds)}, more with a large C,"
    )
    say(
        f"polymargin: fitting {n:,} rows x {d:,} columns in {n_classes:,} classes will take {time} and "
        f"{size / 1e9:.1f} GB of kernel values on {threads} thread{'s' if threads > 1 else ''}; time_limit= bounds it",
        verbose,
    )


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Shown:
    """What a verbose run shows: a bar with a text on a terminal, where rich is installed, else log lines.

    1 is a line every five seconds, 2 one for every call. `total=None` is a bar whose end is not known.
    """

    def __init__(self, name: str, verbose: int, total: float | None = 1.0) -> None:
        self.name, self.verbose, self.total = name, int(verbose), total
        self.bar: Any = None
        self.last_line = 0.0

    def __enter__(self) -> Shown:
        self.bar = rich_bar() if self.verbose and sys.stderr.isatty() else None
        if self.bar:
            self.bar.start()
            self.task = self.bar.add_task(self.name, total=self.total, detail="")
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar:
            self.bar.stop()

    def __call__(self, text: str, seconds: float, done: float | None = None) -> None:
        if self.bar:
            self.bar.update(self.task, completed=done, detail=text)
        elif self.verbose > 1 or (self.verbose and seconds - self.last_line >= LINES_EVERY):
            self.last_line = seconds
            say(f"polymargin: {seconds:.1f} s  {text}", self.verbose)

    def complete(self) -> None:
        if self.bar:
            self.bar.update(self.task, completed=self.total)


class Progress:
    """Shows one fit and asks its callbacks whether to go on.

    An exception in a callback, or Ctrl-C while one runs, stops the solver and is kept in `error`, so that the model is
    there before it is raised again.
    """

    def __init__(self, estimator: Any, tol: float, verbose: int, data: dict[str, Any]) -> None:
        self.estimator, self.tol, self.verbose = estimator, tol, int(verbose)
        self.error: BaseException | None = None
        self.shown = Shown(type(estimator).__name__, verbose)
        self.first: float | None = None
        self.done, self.stopped = 0.0, False
        self.stop = STOP.get()
        self.parts = Parts(estimator, data)

    @property
    def wanted(self) -> bool:
        return bool(self.verbose or self.stop or getattr(self.estimator, "_skl_callbacks", None))

    def __enter__(self) -> Progress:
        self.shown.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self.shown.__exit__()

    def __call__(self, event: dict[str, Any]) -> bool:
        """Whether to stop. Solvers may report again before they do; callbacks are then not asked a second time."""
        if not self.stopped:
            try:
                if self.stop and self.stop():
                    raise Stopped
                self.show(event)
                self.stopped = self.parts("steps")
            except BaseException as error:
                self.error, self.stopped = error, True
        return self.stopped

    def show(self, event: dict[str, Any]) -> None:
        if not self.verbose:
            return
        violation = event["violation"]
        text = event.get("text") or f"step {event['n_iter']:,}  violation {violation:.1e}"
        text += "".join(f"  {name} {event[name]:.6g}" for name in ("primal", "dual", "gap") if name in event)
        self.shown(text, event["seconds"], self.share(violation))

    def share(self, violation: float) -> float:
        """How far the violation has fallen toward tol on a log scale; never decreases."""
        if math.isfinite(violation) and violation > 0:
            self.first = max(self.first or violation, violation, 1.001 * self.tol)
            self.done = max(self.done, min(1.0, math.log(self.first / violation) / math.log(self.first / self.tol)))
        return self.done

    def end(self, line: str) -> None:
        """The fit is over and the estimator is fitted."""
        if self.estimator.status_ == "solved":
            self.shown.complete()
        if self.verbose:
            say(line, self.verbose)
        self.parts.end()


def rich_bar() -> Any:
    """A progress bar on stderr, or None without rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    return Bar(*columns, console=Console(stderr=True))
