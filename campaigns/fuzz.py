"""Fuzzing: changed files, strange calls of the compiled module and strange command lines, none of which may do harm.

    python -m campaigns.fuzz --seconds 60 [--kinds models tables calls commands] [--seed 1] [--keep folder] [--count]

A worker process with a bounded address space tries one after the other. What it finds is printed, one line each:
another error than the documented one, a crash, memory or time out of proportion, results that are not finite. The k-th
draw of a seed is always the same, so `--number 1 --first k` repeats it. Where atheris is installed (`pip install
polymargin[fuzz]`), half of the time of model files and tables goes to changes by coverage; `--plain` leaves them out.
"""

import argparse
import faulthandler
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from . import counts
from .calls import Calls
from .commands import Commands
from .files import READERS, Models, Tables, Trial

ROOM = 1 << 30  # bytes of address space beside what the libraries take
GROWTH = 1 << 27  # bytes that a file of some kilobytes may take
OFTEN = 16  # executions between two looks at the memory, which take longer than some of them
SECONDS = 20  # of processor time for one execution, of which a sound one needs some milliseconds
KINDS = {"models": Models, "tables": Tables, "calls": Calls, "commands": Commands}
GUIDED = ("models", "tables")


class TooLong(BaseException):
    """Raised by the alarm."""


def too_long(*_):
    raise TooLong


class Watch:
    """Ends this process, with a traceback, where the alarm finds compiled code that does not return; sees memory.

    Processor time counts: a process that others crowd out, or that is paused, is not slow. One that waits for ever
    takes none, and has far longer.
    """

    armed, peak, executions = -np.inf, 0, 0

    @classmethod
    def grown(cls) -> int:
        """Bytes by which the peak has grown since the last look; 0 if it is not time for one."""
        cls.executions += 1
        if cls.executions % OFTEN:
            return 0
        before, cls.peak = cls.peak, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return cls.peak - before

    @classmethod
    def arm(cls) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 3 * SECONDS)
        if time.monotonic() - cls.armed > SECONDS:  # it starts a thread, which takes milliseconds
            faulthandler.dump_traceback_later(60 * SECONDS, exit=True)
            cls.armed = time.monotonic()


def bound() -> None:
    """Bound the address space of this process, and let the alarm raise an error."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    signal.signal(signal.SIGPROF, too_long)
    faulthandler.register(signal.SIGVTALRM, chain=True)  # the default comes after it: the process ends
    Watch.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def tried(trial: Trial) -> str | None:
    """What is wrong with one execution."""
    Watch.arm()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        found = trial.run()
    except TooLong:
        found = f"more than {SECONDS} seconds"
    except Exception as error:
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if (grown := Watch.grown()) > GROWTH and found is None:
        return f"{grown >> 20} MB of memory, for this one or one of the {OFTEN - 1} before"
    return found


def scratch_folder() -> tempfile.TemporaryDirectory:
    """In memory where that is possible: every execution writes a file."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def work(kind: str, folder: Path, given: argparse.Namespace) -> None:
    """Count every execution before it begins, print {"at": k, "found": ...} if it fails, and DONE at the end."""
    counter = mmap.mmap(given.counter, 8)
    with scratch_folder() as scratch:
        drawn = KINDS[kind](folder, Path(scratch))
        drawn.warm()
        bound()
        end = time.monotonic() + given.seconds
        for k in range(given.first, given.first + given.number):
            if time.monotonic() > end:
                break
            trial = drawn.draw(np.random.default_rng([given.seed, k]), k)
            counter[:] = (k + 1).to_bytes(8, "little")
            if found := tried(trial):
                print(json.dumps({"at": k, "name": trial.name, "found": found}), flush=True)
                if given.keep:
                    (given.keep / f"{k}-{Path(trial.name).name}").write_bytes(trial.content)
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print("DONE", flush=True)


def run(kind: str, folder: Path, given: argparse.Namespace) -> tuple[int, list[dict]]:
    """How many executions there were, and all findings; a worker that dies is one, and another continues after it."""
    found: list[dict] = []
    first, last, end = given.first, given.first + given.number, time.monotonic() + given.seconds
    with tempfile.TemporaryFile() as file:
        file.write(first.to_bytes(8, "little"))
        file.flush()
        counter = mmap.mmap(file.fileno(), 8)
        while first < last and time.monotonic() < end:
            options = {"worker": kind, "folder": folder, "seed": given.seed, "first": first, "number": last - first}
            options |= {"seconds": end - time.monotonic(), "counter": file.fileno()}
            options |= {"keep": given.keep} if given.keep else {}
            words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
            command = [sys.executable, "-m", "campaigns.fuzz", *words]
            home, shared = Path(__file__).parents[1], [file.fileno()]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=home, pass_fds=shared) as worker:
                done = False
                for line in worker.stdout or ():
                    done = line == "DONE\n"
                    if not done:
                        found.append(json.loads(line))
                        print(kind, line.strip(), flush=True)
            first = int.from_bytes(counter[:], "little")
            if done:
                break
            found.append({"at": first - 1, "found": f"the process ended with {worker.returncode}"})
            print(kind, json.dumps(found[-1]), flush=True)
    return first - given.first, found


def count(kind: str, given: argparse.Namespace, executions: int, found: list[dict]) -> None:
    """Add a run to counts.json, the readers of tables apart; executions by coverage are not repeatable, nor counted."""
    parts = list(READERS) if kind == "tables" else [kind]
    for k, part in enumerate(parts):
        findings = sum(line.get("at", -1) >= 0 and line["at"] % len(parts) == k for line in found)
        trials = (executions + len(parts) - 1 - k) // len(parts)
        counts.add(f"fuzz {kind}", part, trials, findings, given.seed, given.first)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seconds", type=float, default=1e6, help="for each kind")
    parser.add_argument("--number", type=int, default=10**9, help="of executions of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--keep", type=Path, help="folder for what failed")
    parser.add_argument("--plain", action="store_true", help="without the guidance of coverage")
    parser.add_argument("--count", action="store_true", help="add the numbers to campaigns/counts.json")
    parser.add_argument("--worker", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--counter", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.worker:
        faulthandler.enable()
        work(given.worker, given.folder, given)
        return 0
    if given.keep:
        given.keep = given.keep.resolve()
        given.keep.mkdir(parents=True, exist_ok=True)
    # A search in as many threads as there are processors would not be the same twice, nor bounded alike everywhere.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "120"}
    repeatable = given.number < 10**9 or given.plain
    failures, seconds_each = 0, given.seconds
    for kind in given.kinds:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            KINDS[kind].write(Path(folder))
            begin, coverage = time.monotonic(), ""
            executions, found = 0, []
            if kind in GUIDED and not repeatable and find_spec("atheris"):
                from . import guided

                given.seconds /= 2
                executions, found, edges = guided.run(kind, Path(folder), given)
                coverage = f"; {executions:,} of them by coverage, with {edges} branches of the package reached"
            others = run(kind, Path(folder), given)
            executions, found = executions + others[0], found + others[1]
            given.seconds = seconds_each
        seconds = time.monotonic() - begin
        print(f"{kind}: {executions:,} executions in {seconds:.0f} s, {len(found)} findings{coverage}", flush=True)
        if given.count:
            count(kind, given, others[0], found)
        failures += len(found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
