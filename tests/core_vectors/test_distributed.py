"""Core vectors on a Dask cluster of worker processes."""

import asyncio
import os
import signal
import threading
import time

import numpy as np
import pytest
from core_oracles import assert_same_optimum
from data_sets import blobs
from sklearn.base import clone

from polymargin import CoreVectorSVC
from polymargin.core_vectors import options

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

# Warnings of a cluster that starts, loses workers and ends are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")

OPTIONS = dict(C=10.0, gamma=0.5, tol=1e-8, random_state=5)


@pytest.fixture
def data(seed, monkeypatch):
    """Rows, and the model of one machine on them, grown as a core set."""
    monkeypatch.setattr(options, "SMALL_GRAM", 0)
    X, y = blobs([900, 700, 400], 4, seed=seed)
    return X, y, CoreVectorSVC(**OPTIONS).fit(X, y)


def test_arrays(client, data):
    X, y, alone = data
    A, b = da.from_array(X, chunks=(300, 2)), da.from_array(y, chunks=500)
    model = CoreVectorSVC(**OPTIONS).fit(A, b)
    assert_same_optimum(model, alone, X)
    labels = A.rechunk({1: -1}).map_blocks(model.predict, dtype=y.dtype, drop_axis=1).compute()
    np.testing.assert_array_equal(labels, model.predict(X))


def test_weights_and_strings(client, data, seed):
    X, y, _ = data
    w, names = np.random.default_rng(seed).uniform(0.5, 2, len(y)), np.array(["ant", "bee", "cat"])[y]
    machine = CoreVectorSVC(C=10.0, tol=1e-8, class_weight="balanced")
    alone = clone(machine).fit(X, names, sample_weight=w)
    many = (da.from_array(v, chunks=700) for v in (names, w))
    model = machine.fit(da.from_array(X, chunks=(700, -1)), *many)
    assert model.gamma_ == pytest.approx(alone.gamma_, rel=1e-12)
    assert_same_optimum(model, alone, X)


def pid():
    return os.getpid()


def slowly(part, done):
    """Rows that take a moment to make until a worker is dead, so that it dies in the middle of a fit."""
    import time

    if not done.exists():
        time.sleep(0.05)
    return part


def test_a_worker_killed_in_mid_fit_changes_nothing(client, data, tmp_path):
    X, y, alone = data
    done = tmp_path / "done"
    A = da.from_array(X, chunks=(250, -1)).map_blocks(slowly, done=done, dtype=X.dtype)
    killed = []

    def kill(victim):
        os.kill(victim, signal.SIGKILL)
        done.touch()

    class Kill(CoreVectorSVC):
        """Kills a worker between two passes, while the others hold tasks."""

        def _form(self, *arguments):
            victims = list(client.run(pid).values())
            client.loop.call_later(0.3, kill, victims[0])
            killed.append(victims[0])
            return super()._form(*arguments)

    model = Kill(**OPTIONS).fit(A, da.from_array(y, chunks=250))
    assert killed and killed[0] not in client.run(pid).values()
    assert_same_optimum(model, alone, X)


def test_a_worker_that_the_network_has_lost(client, data, tmp_path, monkeypatch):
    """Its connections stay open and say nothing, as those of a stopped process do; the others do its work.

    The scheduler gives a silent worker five minutes. Here it gives two seconds.
    """
    X, y, alone = data
    done = tmp_path / "done"
    scheduler = client.cluster.scheduler
    monkeypatch.setattr(distributed.scheduler, "heartbeat_interval", lambda n: 0.2)
    monkeypatch.setattr(scheduler, "worker_ttl", 2.0)
    stopped = []

    async def look():
        while not done.exists():
            await asyncio.sleep(0.2)
            await scheduler.check_worker_ttl()
            if stopped and stopped[0] not in [nanny.pid for nanny in client.cluster.workers.values()]:
                done.touch()

    class Stop(CoreVectorSVC):
        """Stops a worker between two passes."""

        def _form(self, *arguments):
            stopped.append(next(iter(client.run(pid).values())))
            os.kill(stopped[0], signal.SIGSTOP)
            client.loop.add_callback(look)
            return super()._form(*arguments)

    A = da.from_array(X, chunks=(250, -1)).map_blocks(slowly, done=done, dtype=X.dtype)
    model = Stop(**OPTIONS).fit(A, da.from_array(y, chunks=250))
    assert done.exists() and stopped[0] not in client.run(pid).values()
    assert_same_optimum(model, alone, X)


def hungry(rows, fed, always, block_id=None):
    """First rows that take more and more memory to make: until there is a file that says `fed`, or always."""
    import time

    import numpy as np

    held, hungry = [], block_id[0] == 0 and (always or not fed.exists())
    if hungry:
        fed.touch()
    while hungry and len(held) < 100:
        held.append(np.ones(1 << 22))  # 32 MB
        time.sleep(0.02)
    return rows


@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
def test_a_worker_out_of_memory(client, data, tmp_path, monkeypatch, always):
    """Dask ends it. If that happens once the model is the same; if it happens as often as Dask tries, one sentence."""
    X, y, alone = data
    psutil = pytest.importorskip("psutil")
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0 if always else 3)
    nannies = client.cluster.workers.values()
    before = {nanny.pid for nanny in nannies}
    used = max(psutil.Process(worker).memory_info().rss for worker in before)
    for nanny in nannies:
        monkeypatch.setattr(nanny.memory_manager, "memory_limit", used + (200 << 20))
    fed = {"fed": tmp_path / "fed", "always": always}
    A = da.from_array(X, chunks=(250, -1)).map_blocks(hungry, **fed, dtype=float, meta=np.empty((0, 0)))
    model = CoreVectorSVC(**OPTIONS)
    if always:
        unfitted = dict(vars(model))
        with pytest.raises(RuntimeError, match="got KilledWorker; look for a closed scheduler or workers out"):
            model.fit(A, da.from_array(y, chunks=250))
        assert vars(model) == unfitted
    else:
        model.fit(A, da.from_array(y, chunks=250))
        assert_same_optimum(model, alone, X)
        assert before - {nanny.pid for nanny in nannies}  # else this shows nothing
    client.wait_for_workers(len(before))  # that the next test may count on


AT_WORK = threading.Event()


def slow(rows):
    AT_WORK.set()
    time.sleep(0.5)
    return rows


def test_a_cluster_that_is_closed_in_mid_fit(data):
    """One sentence, and the estimator is as before."""
    X, y, _ = data
    AT_WORK.clear()
    options = dict(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        closing = threading.Thread(target=lambda: (AT_WORK.wait(60), cluster.close()))
        closing.start()
        model = CoreVectorSVC(**OPTIONS)
        before = dict(vars(model))
        with pytest.raises(RuntimeError, match="expected the Dask cluster to work until the fit has ended"):
            model.fit(da.from_array(X, chunks=(200, -1)).map_blocks(slow, dtype=float), da.from_array(y, chunks=200))
        closing.join()
    assert vars(model) == before


def gone(rows):
    raise OSError("the file of these rows is gone")


def test_a_partition_that_raises(client, data):
    """Its own error, as it is, and the estimator is as before."""
    X, y, _ = data
    A = da.from_array(X, chunks=(250, -1)).map_blocks(gone, dtype=float, meta=np.empty((0, 0)))
    model = CoreVectorSVC(**OPTIONS)
    before = dict(vars(model))
    with pytest.raises(OSError, match="the file of these rows is gone"):
        model.fit(A, da.from_array(y, chunks=250))
    assert vars(model) == before


def test_parquet_partitions_are_never_gathered(client, data, tmp_path):
    X, y, alone = data
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(kind=y)
    for k in range(5):
        frame[400 * k : 400 * (k + 1)].to_parquet(tmp_path / f"part{k}.parquet")
    model = CoreVectorSVC(**OPTIONS).fit(dd.read_parquet(tmp_path), "kind")
    assert_same_optimum(model, alone, X)
    assert list(model.feature_names_in_) == list("pqrs")


def test_traffic_does_not_grow_with_the_rows(client, data, seed):
    """What travels: the core vectors out, candidates and moments back; ten times the rows are not ten times of that."""
    X, y, _ = data
    counted = []
    for times in (1, 10):
        rng = np.random.default_rng(seed)
        Z = np.concatenate([X] * times) + 1e-3 * rng.normal(size=(times * len(X), 4))
        A, b = da.from_array(Z, chunks=(len(Z) // 4, -1)), da.from_array(np.tile(y, times), chunks=len(Z) // 4)
        # A huge sample would be all of the rows here.
        model = CoreVectorSVC(**OPTIONS | dict(tol=0.2, sample_size=None)).fit(A, b)
        counted.append(model.traffic_["received"] + model.traffic_["sent"])
        assert model.traffic_["passes"] >= 3
    assert counted[1] < 4 * counted[0]


def test_bad_collections(data):
    X, y, _ = data
    A = da.from_array(X, chunks=(500, -1))
    with pytest.raises(ValueError, match="Dask collections"):
        CoreVectorSVC().fit(A, y)
    with pytest.raises(ValueError, match="labels"):
        CoreVectorSVC().fit(A)
    with pytest.raises(ValueError, match="name of a column"):
        CoreVectorSVC().fit(dd.from_pandas(pd.DataFrame(X), npartitions=2), "no")
