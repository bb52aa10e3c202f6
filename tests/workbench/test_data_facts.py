"""What the page Data shows of columns, counted by plain loops over the open rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workbench.benches import patients

from clearmargin.tables.files import FileTable
from clearmargin.workbench.data_facts import class_counts, column_facts, histogram
from clearmargin.workbench.project_table import ProjectTable


def facts_of(columns, share=0.3):
    table = ProjectTable(FileTable("t", columns), share, 1)
    return table, {fact["name"]: fact for fact in column_facts(table)}


def test_columns_are_described_by_the_open_rows_alone():
    table = patients(200, seed=3, gaps=True)
    table["number"] = np.arange(200)
    table["name"] = np.array([f"n{k}" for k in range(200)], dtype=object)
    parts, facts = facts_of(table)
    open_rows = parts.open_rows.tolist()
    assert list(facts) == list(table)
    for name, fact in facts.items():
        values = [table[name][k] for k in open_rows]
        known = [v for v in values if str(v) not in ("None", "nan")]
        assert fact["rows"] == len(open_rows)
        assert fact["missing"] == len(values) - len(known)
        assert fact["distinct"] == len(set(known))
        assert sum(fact["bars"]) == len(known) or len(set(known)) > 20
        if fact["is_number"]:
            assert (fact["low"], fact["high"]) == (min(known), max(known))
        else:
            assert dict(fact["top"]) == dict(Counter(known).most_common(6)) or name == "name"
    kinds = {name: fact["kind"] for name, fact in facts.items()}
    assert kinds == {
        "colour": "categories",
        "age": "whole numbers",
        "dose": "numbers",
        "state": "categories",
        "number": "row numbers",
        "name": "names",
    }


def test_a_value_of_a_sealed_row_is_in_no_figure():
    table = patients(200, seed=3)
    parts, _ = facts_of(table)
    for name, secret in (("age", 999), ("dose", -77.5), ("colour", "secret")):
        table[name][parts.sealed_rows] = secret
    _, facts = facts_of(table)
    assert "999" not in str(facts)
    assert "77.5" not in str(facts)
    assert "secret" not in str(facts)


@pytest.mark.parametrize(
    "values",
    [
        np.full(40, np.nan),
        np.full(40, None, dtype=object),
        np.full(40, 7),
        np.array([1e300, -1e300] * 20),
        np.array([1e308, -1e308] * 20),
        np.array(["only"] * 40, dtype=object),
    ],
    ids=["gaps", "no texts", "constant", "huge", "hugest", "one text"],
)
def test_strange_columns_have_facts(values):
    _, facts = facts_of({"x": values}, share=0.0)
    fact = facts["x"]
    assert fact["missing"] in (0, 40)
    assert sum(fact["bars"]) == 40 - fact["missing"]
    assert fact["can_be_target"] == (fact["distinct"] == 2)


@given(values=st.lists(st.floats(-1e9, 1e9), max_size=60))
def test_every_value_is_in_a_bar(values):
    counts = histogram(np.array(values))
    assert sum(counts) == len(values)
    assert len(counts) <= 20


@given(values=st.lists(st.integers(-9, 9), min_size=1, max_size=60))
def test_few_whole_numbers_have_a_bar_each(values):
    counts = histogram(np.array(values))
    low, high = min(values), max(values)
    assert counts == [values.count(k) for k in range(low, high + 1)]


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        (np.array(["b", "a", "a", None], dtype=object), [("b", 1), ("a", 2)]),
        (np.array([1.0, 0.0, 1.0, np.nan]), [("0", 1), ("1", 2)]),
        (np.array([0.5, 0.25, 0.5]), [("0.25", 1), ("0.5", 2)]),
        (np.array([3, 3, 3]), [("3", 3)]),
        (np.array([np.nan, np.nan]), []),
    ],
)
def test_classes_are_counted_the_rarest_first(values, counts):
    assert class_counts(FileTable("t", {"y": values}), "y") == counts
