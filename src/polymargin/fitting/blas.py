"""One thread for the small products of a Newton step.

On a machine with other work, threads of a BLAS that wait for each other a thousand times in a row take a hundred times
as long as one thread alone. The limit is the process's: fits that run side by side share one, and the last restores
what the first has found.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl

_lock = threading.Lock()
_held: list[Any] = [0, None]  # fits inside, and what to restore


@functools.cache
def _libraries() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    with _lock:
        if not _held[0]:
            _held[1] = _libraries().limit(limits=1)
        _held[0] += 1
    try:
        yield
    finally:
        with _lock:
            _held[0] -= 1
            if not _held[0]:
                _held[1].restore_original_limits()
