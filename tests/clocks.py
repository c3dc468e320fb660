"""Limits on time, judged by processor time: the machine may be busy with other things."""

import os
import time

TRIES = 3
SLOWER = float(os.environ.get("POLYMARGIN_SLOWER", 1))  # how much a core is that looks for faults while it runs


def assert_within(seconds, work):
    """What `work()` returns, which takes at most this many seconds of processor time.

    Cores that are shared make work look longer than it is, never shorter: the shortest of a few tries counts.
    """
    spent = []
    while len(spent) < TRIES:
        begin = time.process_time()
        result = work()
        spent.append(time.process_time() - begin)
        if spent[-1] < SLOWER * seconds:
            return result
    raise AssertionError(f"expected at most {seconds:g} s of processor time, got {min(spent):.2f} s at best")
