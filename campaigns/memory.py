"""Memory that fits and searches take: the measured peak beside what `memory` allows.

    python -m campaigns.memory [--megabytes 30] [--rows 4000] [--time-limit 20] [--only pairs grid]

Every estimator and search of `campaigns.interrupts` that has a `memory` is fitted in a process of its own, on rows
whose kernel values take more than twice that memory. The peak counts from the state after a fit
of some rows, which loads code and starts threads, to the largest resident size within the fit. More than ten percent
above `memory` is a finding.
"""

import argparse
import gc
import json
import os
import re
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from .interrupts import estimators, rows

ALLOWED = 1.1


def kilobytes(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1])


def measured(name: str, made: tuple, given: argparse.Namespace) -> dict:
    """Megabytes of the peak of one fit, how it ended and how long it took."""
    make, _, d = made
    X, y = rows(name, given.rows, d, "uvwz", np.random.default_rng(given.seed))
    few = slice(0, given.rows // 8)
    model = make().set_params(memory=f"{given.megabytes}MB")
    easier = {"C": 10.0, "tol": 1e-3}  # with those of the list, fits on so many rows take minutes
    model.set_params(**{key: value for key, value in easier.items() if isinstance(getattr(model, key, None), float)})
    if given.time_limit and hasattr(model, "time_limit"):  # caches are full long before the end of a slow fit
        model.set_params(time_limit=given.time_limit)
    model.fit(X[few], y[few])
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts over
    before, begin = kilobytes("VmRSS"), time.process_time()
    try:
        model.fit(X, y)
        ended = str(getattr(model, "status_", "fitted"))
    except (MemoryError, ValueError) as error:
        ended = str(error)
    peak = (kilobytes("VmHWM") - before) / 1000
    return {"peak": peak, "ended": ended, "seconds": time.process_time() - begin}


def alone(name: str, made: tuple, given: argparse.Namespace) -> dict:
    """What `measured` gives in a fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writing, json.dumps(measured(name, made, given)).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(said) if said else {"peak": np.inf, "ended": f"the process ended with {status}", "seconds": 0.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=30, help="of `memory`")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, help="seconds of each fit")
    parser.add_argument("--only", nargs="+", help="names of estimators")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    named = {name: made for name, made in estimators().items() if not given.only or name in given.only}
    chosen = {name: made for name, made in named.items() if hasattr(made[0](), "memory")}
    found = 0
    for name, made in chosen.items():
        result = alone(name, made, given)
        found += result["peak"] > ALLOWED * given.megabytes
        print(f"| {name} | {result['peak']:.1f} MB | {result['ended'][:120]} | {result['seconds']:.1f} s |", flush=True)
    what = f"{len(chosen)} kinds, memory of {given.megabytes} MB, {given.rows:,} rows"
    print(f"{what}: {found} took more than {ALLOWED:g} times that")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
