"""Ctrl-C in the middle of a fit, told by processor time: the machine may be busy with other things."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from clocks import SLOWER

posix = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")


class CtrlC:
    """Sends SIGINT to this process after it worked for some seconds; `delay` is for how long it has since then.

    The system may hand a signal to any thread. Here it is never the main thread, which must find out by itself.
    """

    def __init__(self, seconds):
        self.seconds, self.pressed, self.over = seconds, None, threading.Event()
        self.thread = threading.Thread(target=self.press)

    def press(self):
        begin = time.process_time()
        while time.process_time() - begin < self.seconds:
            if self.over.wait(0.01):
                return
        self.pressed = time.process_time()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    @property
    def delay(self):
        return (time.process_time() - self.pressed) / SLOWER

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


# `begins(seconds)` in such a program: what follows is to be interrupted after this many seconds of work.
BEGINS = """
import threading, time

def begins(seconds):
    def tell(begin=time.process_time()):
        while time.process_time() - begin < seconds:
            time.sleep(0.01)
        print("at work", flush=True)
    threading.Thread(target=tell, daemon=True).start()

"""


def interrupted_program(program, *arguments, **how):
    """What a program that calls `begins` has printed after Ctrl-C, and on standard error, and its exit code."""
    run = subprocess.Popen(
        [sys.executable, "-c", BEGINS + textwrap.dedent(program), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how,
    )  # fmt: skip
    assert run.stdout.readline() == "at work\n", run.stderr.read()
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    return out, err, run.returncode
