"""Fixtures that all tests share."""

import gc
import os
import signal
from pathlib import Path

# The matrices of tests are small, and threads of BLAS that wait for each other take the cores from other tests. This is
# read when NumPy is loaded, here and in the programs that tests start; .ci/matrix has a row with two threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

# What is imported and collected stays until the end: it is not searched for garbage again and again.
gc.disable()

# A shell that starts the tests in the background has Ctrl-C ignored, and many tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


FORKING = "forkserver" if os.name == "posix" else "spawn"
SEEDS = [int(seed) for seed in os.environ.get("POLYMARGIN_SEED", "0").split(",")]


# Session scope, so that Hypothesis tests may use it as well.
@pytest.fixture(scope="session", params=SEEDS if len(SEEDS) > 1 else None)
def seed(request):
    """The seed of every random test; POLYMARGIN_SEED=7 runs the suite on other random data, 7,8,9 on three of them."""
    return getattr(request, "param", SEEDS[0])


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def pytest_collection_modifyitems(items):
    """`-m seeded` runs the tests that another seed changes."""
    for item in items:
        if "seed" in item.fixturenames:
            item.add_marker("seeded")


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def client():
    """A Dask cluster of two worker processes.

    They are forked from a process that has loaded the library, which takes longer than all that they have to do.
    """
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    options = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    with dask.config.set({"distributed.worker.multiprocessing-method": FORKING}):
        preloaded = ["distributed", "dask.array", "dask.dataframe", "polymargin"]
        distributed.utils.get_mp_context().set_forkserver_preload(preloaded)
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="session")
def real_data():
    """real_data(name) loads <name>.npz from the folder POLYMARGIN_DATA; without that folder the test is skipped."""
    folder = os.environ.get("POLYMARGIN_DATA")
    if not folder:
        pytest.skip("needs real data sets: set POLYMARGIN_DATA to the folder that holds the .npz files")
    if not Path(folder).is_dir():
        pytest.skip(f"needs real data sets: POLYMARGIN_DATA is {folder!r}, which is not a folder")

    def load(name):
        with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}

    return load
