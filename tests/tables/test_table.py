"""Columns of tables of all kinds, read as numbers or as categories."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from clearmargin.exceptions import DataError
from clearmargin.rules.space import category_name
from clearmargin.tables.table import Column, Table

NAN = np.nan
NUMBERS = {
    "list": [1, 2.5, None],
    "float": np.array([1.0, 2.5, NAN]),
    "float32": np.array([1.0, 2.5, NAN], dtype=np.float32),
    "object": np.array([1, 2.5, None], dtype=object),
    "object with NA": np.array([1, 2.5, pd.NA], dtype=object),
    "decimals": np.array([Decimal(1), Decimal("2.5"), Decimal("nan")], dtype=object),
    "fractions": np.array([Fraction(1), Fraction(5, 2), NAN], dtype=object),
    "pandas": pd.Series([1, 2.5, None]),
    "pandas Float64": pd.Series([1, 2.5, None], dtype="Float64"),
    "pandas object": pd.Series([1, 2.5, None], dtype=object),
    "pandas arrow": pd.Series([1, 2.5, None], dtype="float64[pyarrow]"),
    "polars": pl.Series([1.0, 2.5, None]),
    "polars decimal": pl.Series([Decimal(1), Decimal("2.5"), None]),
}
WHOLE = {
    "bool": np.array([True, False]),
    "int8": np.array([1, 0], dtype=np.int8),
    "uint64": np.array([1, 0], dtype=np.uint64),
    "pandas Int64": pd.Series([1, 0], dtype="Int64"),
    "pandas boolean": pd.Series([True, False], dtype="boolean"),
    "objects": np.array([True, np.bool_(False)], dtype=object),
    "polars": pl.Series([True, False]),
}
TEXTS = {
    "list": ["b", None, "a"],
    "numpy": np.array(["b", None, "a"], dtype=object),
    "pandas str": pd.Series(["b", None, "a"], dtype="str"),
    "pandas string": pd.Series(["b", None, "a"], dtype="string"),
    "pandas object": pd.Series(["b", NAN, "a"], dtype=object),
    "pandas categorical": pd.Series(["b", None, "a"], dtype="category"),
    "polars": pl.Series(["b", None, "a"]),
    "polars categorical": pl.Series(["b", None, "a"], dtype=pl.Categorical),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_read_from_any_kind_of_column(kind):
    column = Column("x", NUMBERS[kind])
    assert column.is_numeric
    np.testing.assert_array_equal(column.numbers(), [1.0, 2.5, NAN])


@pytest.mark.parametrize("kind", WHOLE)
def test_flags_and_whole_numbers_are_numbers(kind):
    column = Column("x", WHOLE[kind])
    assert column.is_numeric
    assert column.numbers().tolist() == [1.0, 0.0]
    assert column.numbers().dtype == np.float64


@pytest.mark.parametrize("flags", [pd.array([True, None], "boolean"), pl.Series([True, None])])
def test_a_missing_flag_is_nan(flags):
    np.testing.assert_array_equal(Column("x", flags).numbers(), [1.0, NAN])


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_are_categories_and_missing_ones_are_nan(kind):
    column = Column("x", TEXTS[kind])
    assert not column.is_numeric
    assert column.categories == ("a", "b")
    np.testing.assert_array_equal(column.codes(("a", "b")), [1.0, NAN, 0.0])
    np.testing.assert_array_equal(column.codes(("c", "a")), [-1.0, NAN, 1.0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["lo", None], categories=["lo", "mid", "hi"])),
        pd.Series(pd.Categorical(["lo", None], categories=["lo", "mid", "hi"], ordered=True)),
        pd.Categorical(["lo", None], categories=["lo", "mid", "hi"]),
        pl.Series(["lo", None], dtype=pl.Enum(["lo", "mid", "hi"])),
    ],
)
def test_declared_categories_keep_their_order_also_where_unused(column):
    assert Column("x", column).categories == ("lo", "mid", "hi")
    np.testing.assert_array_equal(Column("x", column).codes(("lo", "mid", "hi")), [0.0, NAN])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical([3, 1, None], categories=[3, 1])),
        pd.Series([3, 1, None]),
        pd.Series([3, 1, None], dtype="Int64"),
        pd.Series(["3", "1", None]),
        pl.Series([3, 1, None]),
        np.array([3.0, 1.0, NAN]),
    ],
)
def test_numbers_that_are_categories_are_found_however_they_are_stored(column):
    np.testing.assert_array_equal(Column("x", column).codes(("3", "1")), [0.0, 1.0, NAN])


def test_numbers_declared_as_categories_are_no_numbers():
    column = Column("x", pd.Series(pd.Categorical([3, 1, None], categories=[3, 1])))
    assert not column.is_numeric
    assert column.categories == ("3", "1")


def test_a_text_that_reads_like_a_number_names_a_thing():
    assert not Column("x", ["3", "4"]).is_numeric
    assert not Column("x", np.array(["3", "4"])).is_numeric
    assert Column("x", np.array([3, "4"], dtype=object)).categories == ("3", "4")


@pytest.mark.parametrize("empty", [[], np.array([], dtype="U3"), pd.Series([], dtype="str")])
def test_a_column_without_rows_counts_as_numbers(empty):
    column = Column("x", empty)
    assert column.is_numeric
    assert column.numbers().tolist() == []
    assert column.codes(("a",)).tolist() == []


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ([1.0, None, "abc"], 2, "'abc'"),
        (np.array([1.0, "3"], dtype=object), 1, "'3'"),
        (pd.Series(["7", "8"]), 0, "'7'"),
        (np.array(["u", "v"]), 0, "'u'"),
        (pl.Series([None, "x"]), 1, "'x'"),
        (np.array([2, b"x"], dtype=object), 1, "b'x'"),
    ],
)
def test_a_text_among_numbers_is_named_with_its_row(column, row, value):
    source = np.array(column, dtype=object) if isinstance(column, list) else column
    with pytest.raises(
        DataError, match=rf"column 'age', row {row + 1}: .*{value}.* is not a number"
    ):
        Column("age", source).numbers()


@pytest.mark.parametrize(
    "dates",
    [
        pd.Series(pd.to_datetime(["2020-01-01", None])),
        pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")),
        pd.Series(pd.to_timedelta([1], unit="s")),
        pd.Series([dt.date(2020, 1, 1)], dtype=object),
        pl.Series([dt.date(2020, 1, 1), None]),
        pl.Series([dt.datetime(2020, 1, 1)]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.array([None, dt.timedelta(1)], dtype=object),
    ],
)
def test_dates_are_refused_with_advice(dates):
    with pytest.raises(DataError, match=r"column 'when' holds dates or times .*into numbers first"):
        Column("when", dates)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series([[1], [2]]), "column 'x', row 1: .* is neither a number nor a text"),
        (pd.Series([1, {"a": 2}]), r"column 'x', row 2: \{'a': 2\} is neither a number nor a text"),
        (pd.Series([(1, 2)]), r"row 1: \(1, 2\) is neither a number nor a text"),
        (np.array([1j]), "column 'x' holds complex128 values, no numbers"),
        (np.array([1j], dtype=object), "row 1: 1j is neither a number nor a text"),
    ],
)
def test_things_are_refused(column, message):
    with pytest.raises(DataError, match=message):
        Column("x", column)


def test_categories_have_names():
    assert [category_name(v) for v in (3, 3.0, np.float64(3), 2.5, True, "a")] == [
        *("3", "3", "3", "2.5", "True", "a")
    ]


def test_keys_of_columns_are_found_by_their_text():
    assert Table.read(pd.DataFrame([[1, 2]], columns=[0, "b"])).keys == {"0": 0, "b": "b"}
    assert Table.read(pl.DataFrame({"a": [1]})).keys == {"a": "a"}
    assert Table.read(np.zeros((1, 2))).keys == {"x0": 0, "x1": 1}


@pytest.mark.parametrize("names", [["a", "a"], [1, "1"]])
def test_two_columns_of_one_name_are_refused(names):
    with pytest.raises(DataError, match=r"two columns of the table are called '.'; rename one"):
        Table.read(pd.DataFrame([[1, 2]], columns=names))


def test_numbers_beside_texts_stay_numbers():
    table = Table.read([[1, "a"], [2, "b"]])
    assert [column.values.tolist() for column in table.columns] == [[1, 2], ["a", "b"]]
    assert Table.read([[1, 2]]).column("x0").values.dtype == np.int64
