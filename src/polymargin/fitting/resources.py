"""What a fit may use: threads and memory."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import scipy.sparse as sp
import threadpoolctl
from joblib.parallel import get_active_backend

LEAST = 64 * 10**6  # bytes that "auto" allows in any case
SERIAL = 4e6  # multiply-adds, a few tenths of a millisecond: starting threads takes as long
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@functools.cache
def openmp() -> threadpoolctl.ThreadpoolController:
    # Searching the loaded libraries takes about twenty milliseconds; asking those found takes almost nothing.
    return threadpoolctl.ThreadpoolController().select(user_api="openmp")


def threads(n_jobs: int | None, work: float = math.inf) -> int:
    """Threads to use: positive numbers as given, -1 all cores, -2 all but one, 1 if there is little `work` to share.

    None means all cores of the process (its affinity mask and container quota), fewer where OMP_NUM_THREADS or
    threadpoolctl ask for fewer, and 1 in a joblib worker, whose siblings use the other cores.
    """
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    if work < SERIAL:  # do not even look up how many there are
        return 1
    cores = joblib.cpu_count()
    if n_jobs is not None:
        return max(1, cores + 1 + int(n_jobs))
    if get_active_backend()[0].nesting_level:
        return 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    most = min(cores, int(asked)) if asked.strip().isdigit() else cores
    if most <= 1:
        return 1
    return max(1, min([most, *(lib["num_threads"] for lib in openmp().info())]))


def budget(memory: str | float, needed: float = math.inf) -> int:
    """Bytes to use: a number of them, a string such as "512MB" or "2 GiB", or "auto", half of what is free.

    Free memory is not looked up where it cannot matter, because little is `needed`.
    """
    if not isinstance(memory, str):
        return int(memory)
    if memory == "auto":
        return LEAST if needed <= LEAST else max(free_memory() // 2, LEAST)
    parts = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?i?)b?\s*", memory, re.IGNORECASE)
    if parts is None or parts[2].lower() not in UNITS:
        raise ValueError(
            f'expected memory to be "auto", a number of bytes or a string such as "512MB" or "2GB", got {memory!r}'
        )
    size = int(min(float(parts[1]) * UNITS[parts[2].lower()], sys.maxsize))
    if size < 10**6:
        raise ValueError(f'expected memory to be at least "1MB", got {memory!r}, which is {size} bytes; give more')
    return size


def fit_resources(estimator: Any, X: Any) -> tuple[int, int]:
    """Threads and bytes for a fit of the rows X: all may be support vectors, and kernel values may be kept twice."""
    n, d = X.shape
    return threads(estimator.n_jobs, 2.0 * n * n * (d + 16)), budget(estimator.memory, 4 * gram_bytes(n))


def out_of_memory(estimator: Any, X: Any, error: MemoryError) -> MemoryError:
    """The error of a fit on the rows X that ran out of memory: what it may need, and what to do."""
    n = getattr(X, "shape", (0,))[0] or (len(X) if hasattr(X, "__len__") else 0)
    said = "" if str(error) in ("", "std::bad_alloc") else f" ({error})"
    needs, advice = "", "fit fewer rows"
    if hasattr(estimator, "memory"):
        most = f"of which memory={estimator.memory!r} allows {budget(estimator.memory) / 1e9:.2g} GB at a time"
        needs = f", and all kernel values of {n:,} rows take {gram_bytes(n) / 1e9:.2g} GB, {most}"
        advice = 'pass a smaller memory, such as memory="100MB", fit fewer rows, or use CoreVectorSVC for many rows'
    return MemoryError(
        f"{type(estimator).__name__}: expected the fit to need no more memory than is free, got only "
        f"{free_memory() / 1e9:.2g} GB{said}{needs}; {advice}"
    )


def gram_bytes(n: int) -> float:
    """Bytes of a Gram matrix of n rows: float64 where it is small, else float32."""
    return 8.0 * n * n if 8 * n * n < 256e6 else 4.0 * n * n


def return_memory() -> None:
    """Let other processes, and our own next matrices, have what is free: glibc keeps blocks of less than 32 MB."""
    with suppress(OSError, TypeError, AttributeError):  # not this C library
        ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))


def peak_memory() -> int:
    """The most bytes that this process has held so far; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def free_memory() -> int:
    """Bytes that this process can still take without swapping, within its own limits and those of its container."""
    return max(0, min([system_memory(), *container_memory(), *process_memory()]))


def system_memory() -> int:
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError, AttributeError):
            continue
    return 4 * 10**9


def process_memory() -> list[int]:
    """The address space that the limits of this process (`ulimit -v`, `ulimit -d`) still allow."""
    try:
        import resource

        # Pages of: all, resident, shared, text, libraries, data and stack.
        size, _, _, _, _, data, *_ = map(int, Path("/proc/self/statm").read_text().split())
    except (ImportError, OSError, ValueError):
        return []
    used = ((resource.RLIMIT_AS, size), (resource.RLIMIT_DATA, data))
    limits = ((resource.getrlimit(limit)[0], pages) for limit, pages in used)
    return [most - pages * resource.getpagesize() for most, pages in limits if most != resource.RLIM_INFINITY]


def container_memory() -> list[int]:
    """The memory that the control groups of this process still allow: limit minus use, without the page cache."""
    left = []
    for folder, limit, use in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        for group in own_groups(Path(folder)):
            try:
                most = (group / limit).read_text().strip()
                if most == "max" or int(most) >= 2**60:
                    continue
                cache = re.search(r"^(?:total_)?inactive_file (\d+)", (group / "memory.stat").read_text(), re.MULTILINE)
                left.append(int(most) - int((group / use).read_text()) + (int(cache[1]) if cache else 0))
            except (OSError, ValueError):
                continue
    return left


def row_bytes(X: Any) -> float:
    """Bytes of a row of an array, or of one of a CSR matrix on average."""
    return (X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes) / max(X.shape[0], 1)


@functools.cache
def own_groups(mount: Path) -> list[Path]:
    """The process's control group under a mount point, and all its parents, whose limits hold as well."""
    groups = [mount]
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds in ("", "memory"):
                inside = mount / path.lstrip("/")
                groups += [inside, *(p for p in inside.parents if p.is_relative_to(mount))]
    except (OSError, ValueError):
        pass
    return list(dict.fromkeys(groups))
