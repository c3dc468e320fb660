"""Limits on time, judged by processor time: the machine may be busy with other things.

That of the program itself. What the system takes to hand out memory is no work of ours, and where a virtual machine
meets its pages for the first time, 100 MB of them take up to a third of a second.
"""

import os

TRIES = 3
SLOWER = float(os.environ.get("POLYMARGIN_SLOWER", 1))  # how much a core is that looks for faults while it runs


def processor_seconds():
    """Of this process, without the system's."""
    return os.times().user


def assert_within(seconds, work):
    """What `work()` returns, which takes at most this many seconds of processor time.

    Cores that are shared make work look longer than it is, never shorter: the shortest of a few tries counts.
    """
    spent = []
    while len(spent) < TRIES:
        begin = processor_seconds()
        result = work()
        spent.append(processor_seconds() - begin)
        if spent[-1] < SLOWER * seconds:
            return result
    raise AssertionError(f"expected at most {seconds:g} s of processor time, got {min(spent):.2f} s at best")
