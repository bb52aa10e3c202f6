"""Columns for the browser: decoded as it decodes them, they are the points of the rows."""

from __future__ import annotations

import json
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workbench.benches import keep_trained, open_project, opened_task, patients

from clearmargin.workbench.bench import Version
from clearmargin.workbench.columns import column_block, column_digest, feature_facts
from clearmargin.workbench.rule_judgement import RuleJudge

# As counting.js has them.
TYPES = {"<f8": np.float64, "<i4": np.int32, "|u1": np.uint8}
TASK = {"target": "state", "missing": "impute", "positive": "ill", "units": {"age": "years"}}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    table = patients(90, seed=7, gaps=True)
    table["\N{GRINNING FACE} \N{HEBREW LETTER ALEF}"] = np.arange(90)[::-1] % 50
    with open_project(tmp_path_factory.mktemp("columns"), table, task=TASK) as opened:
        yield opened


def decoded(block: bytes):
    """Read a block as the browser does: views into one buffer, which must begin at multiples of their size."""
    (length,) = struct.unpack_from("<I", block)
    header = json.loads(block[4 : 4 + length].decode("utf-8"), parse_constant=pytest.fail)
    start = 4 + length
    assert start % 8 == 0
    arrays = {}
    for entry in header["arrays"]:
        kind = np.dtype(TYPES[entry["type"]])
        place = start + entry["offset"]
        assert place % kind.itemsize == 0
        assert place + entry["n"] * kind.itemsize <= len(block)
        arrays[entry["name"]] = np.frombuffer(block, kind, entry["n"], place)
    return header, arrays


def test_a_block_holds_the_rows_as_the_server_has_them(bench):
    version = bench.version()
    header, arrays = decoded(column_block(version))
    opened = version.opened
    assert header["rows"] == len(opened.codes)
    assert header["classes"] == ["well", "ill"]
    assert [f["name"] for f in header["features"]] == list(opened.space.names)
    for j in range(len(opened.space)):
        assert arrays[f"x{j}"].tobytes() == np.ascontiguousarray(opened.points[:, j]).tobytes()
    assert arrays["truth"].tolist() == opened.codes.tolist()
    assert arrays["row"].tolist() == opened.rows.tolist()
    assert arrays["machine"].tolist() == version.judge.predictions.codes.tolist()
    assert arrays["score"].tolist() == version.judge.predictions.scores.tolist()


def test_no_sealed_row_is_in_a_block(bench):
    _, arrays = decoded(column_block(bench.version()))
    sealed = set((bench.table.sealed_rows + 1).tolist())
    assert sealed
    assert not sealed & set(arrays["row"].tolist())


def test_before_a_machine_is_trained_a_block_has_none():
    opened = opened_task(patients(30), "state")
    version = Version(None, opened, RuleJudge(opened), None, None, None, False)
    _, arrays = decoded(column_block(version))
    assert "machine" not in arrays
    assert "score" not in arrays


def test_another_machine_or_task_has_another_name(bench):
    first = column_digest(bench.version())
    assert first == column_digest(bench.version(1))
    keep_trained(bench, "points", "")
    second = column_digest(bench.version())
    bench.restore(1, why="back", base=2)
    assert column_digest(bench.version()) == first != second
    bench.set_task({**TASK, "positive": "well"})
    assert column_digest(bench.version()) not in (first, second)


def test_features_are_described_for_people(bench):
    facts = {fact["name"]: fact for fact in feature_facts(bench.version(1))}
    assert facts["age"]["unit"] == "years"
    assert facts["age"]["integer"]
    assert facts["colour"]["categories"] == ["blue", "green", "red"]
    assert "edges" not in facts["colour"]
    assert facts["dose"]["categories"] is None


VALUES = st.lists(
    st.one_of(
        st.integers(-5, 60).map(float),
        st.floats(-1e6, 1e6),
        st.sampled_from([1e9, -1e9, 1e308, -1e308]),
    ),
    min_size=6,
    max_size=40,
)


@given(values=VALUES)
def test_every_value_has_a_bar(values):
    x = np.array(values)
    y = np.array((["a", "b"] * len(values))[: len(values)], dtype=object)
    opened = opened_task({"x": x, "z": np.arange(len(x)) % 3, "y": y}, "y")
    version = Version(None, opened, RuleJudge(opened), None, None, None, False)
    facts = feature_facts(version)[0]
    edges = facts["edges"]
    assert all(a < b for a, b in pairwise(edges))
    assert edges[0] <= x.min()
    assert x.max() <= edges[-1]
    assert 2 <= len(edges) <= 42
    if facts["integer"] and max(values) - min(values) < 40:
        # Each whole number has a bar of its own.
        assert len(edges) == max(values) - min(values) + 2


def test_far_values_do_not_push_all_others_into_one_bar():
    x = np.append(np.linspace(0, 1, 300), [1e6, 2e6]).round(3)
    y = np.array(["a", "b"] * 151, dtype=object)
    opened = opened_task({"x": x, "y": y}, "y")
    version = Version(None, opened, RuleJudge(opened), None, None, None, False)
    counts, _ = np.histogram(x, feature_facts(version)[0]["edges"])
    assert counts.max() < 50
    assert counts.sum() == len(x)
