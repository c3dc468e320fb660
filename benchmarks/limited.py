"""One machine in a process of its own: several fits one after another, each timed, each with a limit.

The limit is in processor seconds of all threads, so that a busy machine does not decide which fits are stopped. The
clock of the system ends the process, as compiled peers cannot be interrupted otherwise; the parent keeps what was
reported before.
"""

import signal
import statistics
import sys
import time

from polymargin import _core
from polymargin.fitting.resources import threads

from .run import machine, reports

TIMER = getattr(signal, "ITIMER_PROF", None)  # not on Windows: fits have no limit of their own there


def timed(call, limit, budget=0.5, most=200):
    """Median wall seconds and mean processor seconds of `call()`, and its last result.

    Short calls are repeated: the clock of the processor may be as coarse as some milliseconds, so it runs over all.
    """
    wall, begin = [], time.process_time()
    while not wall or (len(wall) < most and sum(wall) + wall[-1] <= budget):
        if TIMER is not None:
            signal.setitimer(TIMER, limit)
        start = time.perf_counter()
        result = call()
        wall.append(time.perf_counter() - start)
    cpu = (time.process_time() - begin) / len(wall)
    if TIMER is not None:
        signal.setitimer(TIMER, 0)
    return statistics.median(wall), max(cpu, 1e-6), result


def end_with_children():
    """A terminated run must not leave its child behind: SystemExit passes through the `finally` in `reports`.

    For programs only: workers that are forked later inherit it, and those of multiprocessing then outlive SIGTERM.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def fits(module, arguments, count, limit):
    """The reports of a child that makes up to `count` fits, and why there are fewer, or None."""
    # The parent's own limit is for a child that hangs without using the processor.
    found, status, reason = reports(module, [str(a) for a in arguments], 10 * count * limit)
    stopped = TIMER is not None and status == "error" and reason == f"exit code {-signal.SIGPROF}"
    if status == "stopped" or stopped:
        return found, "stopped"
    return found, reason


def header():
    """What the figures of a run depend on, in one line, and the same as facts."""
    here = machine()
    text = f"{here['cpu']}, {here['cores']} cores, {_core.simd()}, {threads(None)} threads, {here['versions']}"
    return text, {**here, "simd": _core.simd(), "threads": threads(None)}


def sized(text):
    """Comma-separated numbers of rows."""
    return sorted(int(n.replace("_", "")) for n in text.split(","))


def chosen(parser, text, known):
    """Comma-separated names, or all that are known."""
    names = text.split(",") if text else list(known)
    for name in names:
        if name not in known:
            parser.error(f"expected some of {', '.join(known)}, got {name!r}")
    return names
