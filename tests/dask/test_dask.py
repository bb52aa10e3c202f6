"""Dask: the same plane on real workers, of which one dies amid its work, and collections that are refused."""

import inspect
import logging
import os
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import BaseEstimator
from sklearn.svm import LinearSVC

import clearmargin
from clearmargin import LPSVC, SurrogateRules
from clearmargin import dask as on_dask
from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError

FEATURES = ["a", "b", "c", "d"]
# Rows enough for a sample before the whole table, and for rows far from the margin.
M = 50_000
RNG = np.random.default_rng(1)
X = RNG.normal(size=(M, 4)).astype(np.float32)
Y = X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * RNG.normal(size=M) > 0
FRAME = pd.DataFrame(X[:600].astype(float), columns=FEATURES).assign(
    y=np.where(Y, "yes", "no")[:600]
)


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
def in_memory():
    return LPSVC(nu=0.01).fit(X.astype(np.float64), Y)


def chunked(rows):
    return da.from_array(X, chunks=(rows, 4)), da.from_array(Y, chunks=rows)


def assert_same(found, expected):
    assert np.array_equal(found.coef_, expected.coef_)
    assert np.array_equal(found.intercept_, expected.intercept_)
    assert found.objective_ == expected.objective_


def test_plane_is_the_same_to_the_bit_on_processes_threads_and_held_rows(client, in_memory):
    assert_same(on_dask.LPSVC(nu=0.01, client=client).fit(*chunked(25_000)), in_memory)
    with dask.config.set(scheduler="threads"):
        assert_same(on_dask.LPSVC(nu=0.01).fit(*chunked(3_712)), in_memory)
    A, b = chunked(6_000)
    held = dd.from_dask_array(A, columns=FEATURES).assign(y=dd.from_dask_array(b)).persist()
    assert_same(on_dask.LPSVC(nu=0.01).fit(held[FEATURES], held["y"]), in_memory)


def reading(chunk, flag, n):
    """Read a partition, and kill the worker at the n-th reading, once."""
    mine = Path(flag) / str(len(list(Path(flag).iterdir())))
    mine.touch()
    if mine.name == str(n):
        (Path(flag) / "killed").touch()
        os._exit(1)
    return chunk


def test_worker_killed_inside_a_task_costs_only_its_blocks(client, in_memory, tmp_path):
    A, b = chunked(12_500)
    spoilt = A.map_blocks(reading, str(tmp_path), 3, dtype=A.dtype)
    assert_same(on_dask.LPSVC(nu=0.01).fit(spoilt, b), in_memory)
    assert (tmp_path / "killed").exists()


def test_parameters_are_those_of_the_class_in_memory_and_a_client():
    here = inspect.signature(LPSVC).parameters
    there = dict(inspect.signature(on_dask.LPSVC).parameters)
    assert there.pop("client").default is None
    assert list(map(str, there.values())) == list(map(str, here.values()))


class Asynchronous:
    """A client whose answers come later."""

    asynchronous = True

    def submit(self) -> None: ...


def test_client_is_a_synchronous_one():
    A, b = dd.from_pandas(FRAME[FEATURES], npartitions=2), dd.from_pandas(FRAME["y"], npartitions=2)
    for client in ("tcp://somewhere:8786", Asynchronous()):
        with pytest.raises(InvalidValueError, match=r"client|asynchronous"):
            on_dask.LPSVC(client=client).fit(A, b)


def spoil(part, partition_info=None, change=None):
    is_it = partition_info is not None and partition_info["number"] == 2
    return change(part) if is_it else part


SPOILT = [
    (lambda part: part.drop(columns="b"), "partition 2 .*'b'"),
    (lambda part: part.assign(b=np.nan), "partition 2, row 1, column 'b'"),
    (lambda part: part.assign(b=np.inf), "inf.*partition 2, row 1, column 'b'"),
    (lambda part: part.assign(b="high"), "'b'.*partition 2, row 1.*'high'"),
    (lambda part: part.assign(b=pd.Timestamp("2026-01-01")), "partition 2 .*'b'"),
    (lambda part: part.assign(y="perhaps"), "'perhaps'.*partition 2, row 1"),
    (lambda part: part.assign(y=None), "partition 2, row 1"),
]


@pytest.mark.parametrize("row", range(len(SPOILT)))
def test_what_is_wrong_with_a_partition_is_said_with_its_number(row):
    change, named = SPOILT[row]
    whole = dd.from_pandas(FRAME, npartitions=4).map_partitions(
        spoil, change=change, meta=FRAME.iloc[:0], enforce_metadata=False
    )
    with pytest.raises(DataError, match=f"(?s){named}"):
        on_dask.LPSVC().fit(whole[FEATURES], whole["y"])


def test_labels_and_weights_that_do_not_fit_are_refused():
    whole = dd.from_pandas(FRAME, npartitions=4)
    A, b = whole[FEATURES], whole["y"]
    short = dd.from_pandas(FRAME["y"].iloc[:590], npartitions=4)
    none, zero = whole[whole["a"] > 100], 0.0 * whole["a"]
    for rows, named in (
        ((A, b.partitions[:3]), "4 partitions.*3"), ((A, FRAME["y"]), "y must"),
        ((A, b, FRAME["a"].to_numpy()), "sample_weight"), ((FRAME[FEATURES], b), "X must"),
        ((da.ones(3), b), "1 dimension"), ((da.ones((6, 2), chunks=3), da.ones(5)), "6 rows.*5"),
        ((A, short), "partition 0"), ((none[FEATURES], none["y"]), "no rows"),
        *(((A, b, zero + weight), "sample_weight|zero") for weight in (-1.0, np.nan, 0.0)),
    ):  # fmt: skip
        with pytest.raises(DataError, match=named):
            on_dask.LPSVC().fit(*rows)


KINDS = [getattr(clearmargin, name) for name in clearmargin.__all__]
KINDS = [kind for kind in KINDS if isinstance(kind, type) and issubclass(kind, BaseEstimator)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_estimator_pulls_a_collection_into_memory(kind):
    whole = dd.from_pandas(FRAME, npartitions=2)
    for A in (whole[FEATURES], da.from_array(X[:600], chunks=300)):
        with pytest.raises(ClearmarginError, match=r"clearmargin\.dask\.scan"):
            kind().fit(A, FRAME["y"])
    with pytest.raises(ClearmarginError, match="y is a collection of Dask"):
        kind().fit(FRAME[FEATURES], whole["y"])


def test_rules_are_found_on_a_sample_of_a_collection_and_counted_on_workers(client):
    weight = np.where(np.arange(M) % 2, 1.0, 0.5)
    table = on_dask.scan(*chunked(9_000), da.from_array(weight, chunks=9_000), client=client)
    found = SurrogateRules(LinearSVC(), max_rules=3).fit(table)
    assert (found.n_rows_, found.n_sampled_rows_ < 10_100) == (M, True)
    counts = found.rules_.score(X.astype(float), Y, found.estimator_)
    assert [rule.stats for rule in found.rules_] == list(counts.rules)
