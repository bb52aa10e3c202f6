"""A real cluster of two processes: the same bits as in memory, also when a worker dies in the middle of a task."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from distributed import Client, LocalCluster

from clearmargin import LPSVC, AdviceSVC
from clearmargin import dask as on_dask
from clearmargin.dask import collection as module
from clearmargin.dask.collection import DaskTable
from clearmargin.dask.engine import Cluster, Here, find_engine
from clearmargin.exceptions import DataError, InvalidValueError

FEATURES = ["a", "b", "c", "d"]
# Rows enough for a sample before the whole table, and for rows far from the margin.
M = 50_000


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # any free port: the usual one may be taken
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(M, 4)).astype(np.float32)
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * rng.normal(size=M) > 0
    return X, y


@pytest.fixture(scope="module")
def in_memory(arrays):
    X, y = arrays
    return LPSVC(nu=0.01).fit(X.astype(np.float64), y)


def chunked(arrays, rows):
    X, y = arrays
    return da.from_array(X, chunks=(rows, 4)), da.from_array(y, chunks=rows)


def assert_same(found, expected):
    assert np.array_equal(found.coef_, expected.coef_)
    assert np.array_equal(found.intercept_, expected.intercept_)
    assert found.objective_ == expected.objective_


def test_the_plane_is_the_same_to_the_bit_on_processes_and_threads(client, arrays, in_memory):
    assert isinstance(find_engine(), Cluster)
    assert_same(on_dask.LPSVC(nu=0.01).fit(*chunked(arrays, 3_712)), in_memory)
    assert_same(on_dask.LPSVC(nu=0.01, client=client).fit(*chunked(arrays, 25_000)), in_memory)
    with dask.config.set(scheduler="threads"):
        assert isinstance(find_engine(), Here)
        assert_same(on_dask.LPSVC(nu=0.01).fit(*chunked(arrays, 3_712)), in_memory)


def test_a_collection_that_is_held_on_the_cluster_is_taken_from_there(client, arrays, in_memory):
    X, y = chunked(arrays, 6_000)
    frame = dd.from_dask_array(X, columns=FEATURES).assign(y=dd.from_dask_array(y)).persist()
    model = on_dask.LPSVC(nu=0.01).fit(frame[FEATURES], frame["y"])
    assert DaskTable(frame[FEATURES], frame["y"])._are_futures
    assert_same(model, in_memory)
    table = frame.compute()
    local = model.to_local()
    assert model.score(frame[FEATURES], frame["y"]) == local.score(table[FEATURES], table["y"])


def reading(chunk, flag, n):
    """Read a partition, and kill the worker at the n-th reading, once."""
    mine = Path(flag) / str(len(list(Path(flag).iterdir())))
    mine.touch()
    if mine.name == str(n):
        (Path(flag) / "killed").touch()
        os._exit(1)
    return chunk


@pytest.mark.parametrize("share", [0.3, 0.0], ids=["held", "read again"])
def test_a_worker_killed_inside_a_task_costs_only_its_blocks(
    client, arrays, in_memory, tmp_path, monkeypatch, share
):
    monkeypatch.setattr(module, "_TABLE_SHARE", share)
    X, y = chunked(arrays, 12_500)
    # Of a table that is read again in each pass the worker dies in a later one.
    spoilt = X.map_blocks(reading, str(tmp_path), 3 if share else 11, dtype=X.dtype)
    assert_same(on_dask.LPSVC(nu=0.01).fit(spoilt, y), in_memory)
    assert (tmp_path / "killed").exists()


@pytest.mark.posix
def test_a_worker_lost_between_passes_costs_only_its_blocks(client, arrays):
    table = DaskTable(*chunked(arrays, 12_500))
    blocks = table.blocks(table.survey().two_classes())
    before = blocks.map(block_sum)
    victim = sorted(client.nthreads())[0]
    os.kill(client.run(os.getpid, workers=[victim])[victim], signal.SIGKILL)
    assert blocks.map(block_sum) == before


def block_sum(block):
    return float(block.X.sum()) + float(block.rows.sum())


def test_errors_of_a_worker_are_those_of_the_first_partition_that_has_one(client, frame):
    whole = dd.from_pandas(frame, npartitions=4)
    spoilt = whole.map_partitions(
        lambda part: part.drop(columns="b"), meta=frame.iloc[:0], enforce_metadata=False
    )
    with pytest.raises(DataError, match=r"partition 0 .*cannot be read.*'b'"):
        on_dask.ProximalSVC().fit(spoilt[FEATURES], spoilt["y"])


def test_a_client_is_synchronous(client):
    class Asynchronous:
        asynchronous = True

        def submit(self) -> None: ...

    with pytest.raises(InvalidValueError, match="not asynchronous"):
        find_engine(Asynchronous())
    assert find_engine(client).memory > 0


def test_a_driver_that_was_stopped_goes_on_where_it_was(
    client, arrays, in_memory, tmp_path, monkeypatch
):
    passes = []

    def counted(self, *arguments, **options):
        passes.append(1)
        if len(passes) == stop_at:
            raise KeyboardInterrupt
        return run(self, *arguments, **options)

    run = module.HeldBlocks.map
    monkeypatch.setattr(module.HeldBlocks, "map", counted)
    stop_at = 0
    path = tmp_path / "state.json"
    model = on_dask.LPSVC(nu=0.01, checkpoint=path)
    assert_same(model.fit(*chunked(arrays, 12_500)), in_memory)
    n_passes, stop_at = len(passes), len(passes)
    passes.clear()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*chunked(arrays, 12_500))
    assert path.exists()
    stop_at = 0
    passes.clear()
    assert_same(model.fit(*chunked(arrays, 3_712)), in_memory)
    assert len(passes) <= n_passes
    assert not path.exists()


def test_advice_stays_with_the_driver_and_rows_with_the_cluster(client, arrays):
    X, y = arrays
    options = {"advice": "x0 >= 1 and x1 <= 0 => True", "lam": 0.01}
    here = AdviceSVC(**options).fit(X.astype(np.float64), y)
    there = on_dask.AdviceSVC(**options).fit(*chunked(arrays, 6_000))
    assert_same(there, here)
    assert there.outcome_[0].after.stats == here.outcome_[0].after.stats
