"""A Dask collection as partitions: the same rows, in the same order, read where they are."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from clearmargin.dask import collection as module
from clearmargin.dask.collection import DaskTable, HeldBlocks
from clearmargin.dask.engine import TASKS_PER_THREAD, Here, find_engine
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.tables.partitions import Block, row_keys

FEATURES = ["a", "b", "c", "d"]


def column(part, name):
    return part.values(name).tolist()


def table_of(frame, npartitions=5, **options):
    whole = dd.from_pandas(frame, npartitions=npartitions)
    return DaskTable(whole[FEATURES], whole["y"], **options)


def values(block: Block) -> Block:
    return block


def joined(blocks) -> Block:
    parts = blocks.map(values)
    return Block(
        np.concatenate([part.X for part in parts]),
        *(np.concatenate([part[k] for part in parts]) for k in (1, 2, 3)),
    )


@pytest.mark.parametrize("npartitions", [1, 3, 40])
def test_partitions_hold_the_rows_of_the_collection_in_their_order(frame, npartitions):
    table = table_of(frame, npartitions)
    assert table.shape == (600, 4)
    found = [value for part in table.map(column, common=("c",)) for value in part]
    assert found == frame["c"].tolist()


def test_arguments_of_one_partition_reach_that_partition(frame):
    table = table_of(frame, 11)
    answers = table.map(
        lambda part, k, text: (k, text, len(part.rows)), [(k,) for k in range(11)], ("t",)
    )
    assert answers == [(k, "t", length) for k, length in enumerate(table.lengths)]


def test_small_partitions_share_a_task(frame):
    class Counting(Here):
        n_threads, most = 2, 0

        def submit(self, f, calls):
            Counting.most = max(Counting.most, len(calls))
            return super().submit(f, calls)

    table = table_of(frame, 50)
    table._engine = Counting("synchronous")
    table._groups = module._grouped(50, TASKS_PER_THREAD * 2)
    assert len(table.survey().classes) == 2
    assert Counting.most == 8


@pytest.mark.parametrize(("n", "most"), [(1, 8), (7, 8), (8, 8), (50, 8), (51, 8)])
def test_groups_are_neighbours_and_leave_nothing_out(n, most):
    groups = module._grouped(n, most)
    assert [k for group in groups for k in group] == list(range(n))
    assert len(groups) == min(n, most)
    sizes = {len(group) for group in groups}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_blocks_are_the_same_held_or_read_again(frame, monkeypatch, share):
    monkeypatch.setattr(module, "_TABLE_SHARE", share)
    table = table_of(frame, 6)
    survey = table.survey()
    blocks = table.blocks(survey.two_classes(), (1.0, 2.0))
    assert isinstance(blocks, HeldBlocks) == bool(share)
    whole = joined(blocks)
    assert np.array_equal(whole.X, frame[FEATURES].to_numpy())
    assert np.array_equal(whole.y, np.where(frame["y"] == "yes", 1.0, -1.0))
    assert np.array_equal(whole.cost, np.where(frame["y"] == "yes", 2.0, 1.0))
    assert np.array_equal(whole.rows, np.arange(600))
    assert all(part.X.flags.f_contiguous for part in blocks.map(values))


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("is_here", [False, True])
def test_a_sample_is_the_rows_with_small_keys_wherever_it_is_held(
    frame, monkeypatch, is_held, is_here
):
    monkeypatch.setattr(module, "_TABLE_SHARE", float(is_held))
    monkeypatch.setattr(module, "_HERE_BYTES", 1 << 20 if is_here else 0)
    table = table_of(frame, 6)
    blocks = table.blocks(table.survey().two_classes())
    rows = np.flatnonzero(row_keys(np.arange(600)) < 0.3)
    sample = blocks.sample(0.3)
    whole = joined(sample)
    assert isinstance(sample, HeldBlocks) != is_here
    assert np.array_equal(whole.rows, rows)
    assert np.array_equal(whole.X, frame[FEATURES].to_numpy()[rows])
    smaller = joined(sample.sample(0.1))
    assert np.array_equal(smaller.rows, np.flatnonzero(row_keys(np.arange(600)) < 0.1))
    assert [
        int(row) for part in table.sample(0.1).parts for row in part.rows
    ] == smaller.rows.tolist()


def test_rows_without_weight_are_left_out_and_sums_of_weights_are_exact(frame):
    whole = dd.from_pandas(frame, npartitions=4)
    table = DaskTable(whole[FEATURES], whole["y"], whole["w"])
    survey = table.survey()
    expected = [frame["w"][frame["y"] == label].sum() for label in ("no", "yes")]
    assert survey.class_weights.tolist() == expected
    block = joined(table.blocks(survey.two_classes()))
    assert np.array_equal(block.rows, np.flatnonzero(frame["w"] > 0))
    assert np.array_equal(block.cost, frame["w"][frame["w"] > 0])


def test_a_collection_is_read_once_for_survey_and_blocks(frame):
    reads = []

    def note(part):
        reads.append(len(part))
        return part

    whole = dd.from_pandas(frame, npartitions=3).map_partitions(note, meta=frame.iloc[:0])
    reads.clear()
    table = DaskTable(whole[FEATURES], whole["y"])
    blocks = table.blocks(table.survey().two_classes())
    blocks.map(values)
    blocks.map(values)
    # Beside the first partition, which tells how large the table is.
    assert sorted(reads) == [200] * 4


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64", "object", "category", "U3"])
def test_classes_have_the_type_that_they_have_in_memory(frame, dtype):
    from clearmargin import ProximalSVC
    from clearmargin.dask import ProximalSVC as DaskProximalSVC

    is_yes = (frame["y"] == "yes").to_numpy()
    if dtype == "U3":
        y = frame["y"].to_numpy().astype("U3")
        labels = da.from_array(y, chunks=200)
        X = da.from_array(frame[FEATURES].to_numpy(), chunks=(200, 2))
        table = frame[FEATURES].to_numpy()
    else:
        y = frame["y"] if dtype in ("object", "category") else pd.Series(is_yes)
        y = y.astype(dtype)
        whole = dd.from_pandas(frame[FEATURES].assign(label=y), npartitions=3)
        X, labels, table = whole[FEATURES], whole["label"], frame[FEATURES]
    there = DaskProximalSVC().fit(X, labels)
    here = ProximalSVC().fit(table, y)
    assert there.classes_.dtype == here.classes_.dtype
    assert there.classes_.tolist() == here.classes_.tolist()
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
    assert np.array_equal(there.predict(X).compute(), here.predict(table))


def test_partitions_of_one_class_or_without_rows_are_no_trouble(frame):
    ordered = frame.sort_values("y", ignore_index=True)
    whole = dd.from_pandas(ordered, npartitions=6)
    some = whole[whole["y"] != "no"]  # the first partitions have no rows now
    assert 0 in DaskTable(some[FEATURES], some["y"]).lengths
    both = dd.concat([some, whole[whole["y"] == "no"]], interleave_partitions=True)
    table = DaskTable(both[FEATURES], both["y"])
    survey = table.survey()
    assert survey.class_counts.sum() == 600
    assert sum(len(part.y) for part in table.blocks(survey.two_classes()).map(values)) == 600


def spoilt(frame, change, number=2):
    """A collection with one partition that is not as the collection says."""

    def spoil(part, partition_info=None):
        is_it = partition_info is not None and partition_info["number"] == number
        return change(part) if is_it else part

    return dd.from_pandas(frame, npartitions=4).map_partitions(
        spoil, meta=frame.iloc[:0], enforce_metadata=False
    )


BAD = {
    "a missing column": (lambda part: part.drop(columns="b"), r"partition 2 .*cannot be read.*'b'"),
    "a missing value": (
        lambda part: part.assign(b=np.nan),
        r"NaN in partition 2, row 1, column 'b'; 150 such",
    ),
    "an infinity": (
        lambda part: part.assign(b=np.inf),
        r"infinity \(inf\) in partition 2, row 1, column 'b'",
    ),
    "texts": (
        lambda part: part.assign(b="high"),
        r"column 'b' holds numbers \(partition 0, row 1: .*\) and texts \(partition 2, row 1: 'high'\)",
    ),
    "dates": (
        lambda part: part.assign(b=pd.Timestamp("2026-01-01")),
        r"partition 2 .*column 'b' holds dates",
    ),
    "a third class": (
        lambda part: part.assign(y="perhaps"),
        r"'perhaps' is in 150 row\(s\), the first of them partition 2, row 1",
    ),
    "no class": (
        lambda part: part.assign(y=None),
        r"missing in 150 row\(s\), the first of them partition 2, row 1",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_with_a_partition_is_said_with_its_number(frame, what):
    from clearmargin.dask import ProximalSVC

    change, message = BAD[what]
    whole = spoilt(frame, change)
    with pytest.raises(DataError, match=message):
        ProximalSVC().fit(whole[FEATURES], whole["y"])


def test_labels_and_weights_come_in_the_same_partitions(frame):
    whole = dd.from_pandas(frame, npartitions=4)
    X, y = whole[FEATURES], whole["y"]
    with pytest.raises(DataError, match="X has 4 partitions and y has 3"):
        DaskTable(X, y.partitions[:3])
    with pytest.raises(DataError, match=r"y must be a Dask series .* not Series"):
        DaskTable(X, frame["y"])
    with pytest.raises(DataError, match="sample_weight must be a Dask series"):
        DaskTable(X, y, frame["w"].to_numpy())
    with pytest.raises(DataError, match=r"X must be a Dask data frame .* not DataFrame"):
        DaskTable(frame[FEATURES], y)
    with pytest.raises(DataError, match=r"not Array of 1 dimension"):
        DaskTable(da.ones(3), y)
    with pytest.raises(DataError, match="X has 6 rows but y has 5"):
        DaskTable(da.ones((6, 2), chunks=3), da.ones(5))
    other = dd.from_pandas(frame["y"].iloc[:590], npartitions=4)
    with pytest.raises(DataError, match=r"partition 0 .* X has 150 rows and 'y' has 1"):
        DaskTable(X, other).survey()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "sample_weight is negative, -1 in one row"),
        (np.nan, "no finite number in partition 0, row 1"),
        (0.0, "zero for all points of class 'no'"),
    ],
)
def test_weights_are_numbers_and_leave_both_classes(frame, weight, message):
    from clearmargin.dask import ProximalSVC

    whole = dd.from_pandas(frame.assign(w=weight), npartitions=2)
    with pytest.raises(DataError, match=message):
        ProximalSVC().fit(whole[FEATURES], whole["y"], whole["w"])


def test_without_rows_there_is_nothing_to_learn(frame):
    whole = dd.from_pandas(frame, npartitions=2)
    none = whole[whole["a"] > 100]
    with pytest.raises(DataError, match="no rows"):
        DaskTable(none[FEATURES], none["y"]).survey()


def test_the_target_may_be_called_like_a_feature(frame):
    whole = dd.from_pandas(frame, npartitions=2)
    table = DaskTable(whole[FEATURES], (whole["a"] > 0).astype("int64"))
    assert table.target == "a_"
    assert table.survey().columns["a"].high == frame["a"].max()


def test_threads_run_where_there_is_no_client_and_the_setting_of_dask_counts():
    assert isinstance(find_engine(), Here)
    with dask.config.set(scheduler="synchronous"):
        assert find_engine()._scheduler == "synchronous"
    with pytest.raises(InvalidValueError, match=r"client must be a dask\.distributed"):
        find_engine("tcp://somewhere:8786")


@pytest.mark.filterwarnings("ignore")  # of what Dask calls in pandas
def test_small_files_are_no_other_partitions_for_labels_than_for_features(frame, tmp_path):
    for k in range(5):
        frame[k * 120 : (k + 1) * 120].to_parquet(tmp_path / f"{k}.parquet")
    whole = dd.read_parquet(tmp_path)
    scaled = whole[FEATURES].map_partitions(lambda part: 2.0 * part)
    table = DaskTable(scaled, whole["y"])
    assert table.lengths == (120,) * 5
    labels = [label for part in table.map(column, common=(table.target,)) for label in part]
    assert labels == frame["y"].tolist()
