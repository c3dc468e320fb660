"""Every mutant of a module whose tests call its functions themselves, in one process: hundreds in a minute.

    python -m campaigns.unit_mutants 10000 [--files training/runs.py] [--count]

A mutant takes the place of the module's functions, in the module. Tests that reach them by the module's name see it,
fits of estimators may not: what survives here is tried again by `campaigns.mutants`.
"""

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from .mutants import HOME, PACKAGE, Tally, arguments, mutants

SECONDS = 20  # of processor time for the tests of one mutant: who runs on has been noticed
UNITS = {
    "training/certificates.py": "training/test_claims.py training/test_certificates.py",
    "training/runs.py": "training/test_claims.py",
    "training/starting_points.py": "training/test_parts.py",
    "training/priors.py": "training/test_parts.py",
    "training/hard_margin.py": "training/test_parts.py",
    "training/pair_codes.py": "training/test_parts.py",
    "training/decisions.py": "training/test_parts.py",
    "training/problem.py": "training/test_parts.py",
    "training/interior.py": "training/test_interior.py",
    "training/class_sums.py": "training/test_class_sums.py training/test_parts.py",
    "core_vectors/forecast.py": "core_vectors/test_forecast.py",
}
# Of tests that are nearest to a module, those that call its functions.
CHOSEN = {
    "training/test_certificates.py": "gaps or slacks or rounding_of_core",
    "core_vectors/test_forecast.py": "line_in or one_look or based_on or hopeless",
}


@contextlib.contextmanager
def silence() -> Iterator[None]:
    kept, silent = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    try:
        yield
    finally:
        for stream, former in enumerate(kept, 1):
            os.dup2(former, stream)
            os.close(former)
        os.close(silent)


def too_long(*_):
    raise TimeoutError


def noticed(module: ModuleType, text: str | None, tests: str) -> bool:
    """Whether tests fail where a module has the functions of another text."""
    former = dict(vars(module))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        if text is not None:
            exec(compile(text, str(module.__file__), "exec"), vars(module))
        for test in tests.split():
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", CHOSEN.get(test, "")]
            with silence():
                if pytest.main([*options, f"tests/{test}"]):
                    return True
        return False
    except (Exception, SystemExit):  # of the module itself
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        vars(module).clear()
        vars(module).update(former)


def main() -> int:
    given, every = arguments(list(UNITS)), []
    os.chdir(HOME)
    signal.signal(signal.SIGPROF, too_long)
    for name in given.files:
        module = importlib.import_module(f"polymargin.{name[:-3].replace('/', '.')}")
        if noticed(module, None, UNITS[name]):
            print("these tests fail without a mutant:", UNITS[name])
            return 2
        every += [(module, name, *mutant) for mutant in mutants(PACKAGE / name)]
    tally, order = Tally("mutants, unit tests", given), np.random.default_rng(given.seed).permutation(len(every))
    for module, name, line, told, write in (every[k] for k in order):
        if tally.full():
            break
        tally.add(name, line, told, None if noticed(module, write(), UNITS[name]) else "survived")
    tally.close(len(every))
    return 0


if __name__ == "__main__":
    sys.exit(main())
