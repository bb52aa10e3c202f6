"""Tables of all kinds, read once: columns as numbers or categories, missing values, rows by name."""

from __future__ import annotations

import datetime as dt
import re
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVC
from clearmargin.exceptions import DataError, MissingDependencyError
from clearmargin.rules.space import FeatureSpace, category_name
from clearmargin.tables.table import Column, Table, make_frame

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
    assert [column.values.tolist() for column in table.all_columns()] == [[1, 2], ["a", "b"]]
    assert Table.read([[1, 2]]).column("x0").values.dtype == np.int64


# Tables: the same rows in all forms.
ROWS = [(40, "no", 1.5), (None, "ex", 2.5), (60, None, None), (50, "no", 0.5)]
NAMES = ["age", "smoker", "dose"]
COLUMNS = {name: [row[j] for row in ROWS] for j, name in enumerate(NAMES)}
TABLES = {
    "pandas": pd.DataFrame,
    "pandas, no numpy types": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas categorical": lambda columns: pd.DataFrame(columns).astype({"smoker": "category"}),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pyarrow in chunks": lambda columns: pa.concat_tables(
        [pa.table(columns)[:1], pa.table(columns)[1:]]
    ),
    "pyarrow dictionary": lambda columns: pa.table(columns).set_column(
        1, "smoker", pa.chunked_array([columns["smoker"]]).dictionary_encode()
    ),
    "dict of columns": dict,
}
POINTS = [[40, 1, 1.5], [NAN, 0, 2.5], [60, NAN, NAN], [50, 1, 0.5]]


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_the_same_whoever_made_it(kind):
    table = Table.read(TABLES[kind](COLUMNS))
    assert (table.names, table.shape, table.is_frame) == (tuple(NAMES), (4, 3), True)
    space = table.space(units={"age": "years"})
    assert space.categories == (None, ("ex", "no"), None)
    assert (space.lower[[0, 2]].tolist(), space.upper[[0, 2]].tolist()) == ([40, 0.5], [60, 2.5])
    assert space.integer.tolist() == [True, False, False]
    np.testing.assert_array_equal(table.points(space), POINTS)
    assert table.column("smoker").written == {"ex": "ex", "no": "no"}
    assert [table.name_row(k) for k in range(2)] == ["row 1", "row 2"]


@pytest.mark.parametrize("make", [list, lambda rows: np.array(rows, dtype=object)])
def test_rows_without_names_have_columns_by_position(make):
    table = Table.read(make(ROWS))
    assert (table.names, table.is_frame) == (("x0", "x1", "x2"), False)
    np.testing.assert_array_equal(table.points(table.space()), POINTS)
    assert [column.name for column in table.columns_of(NAMES)] == NAMES
    with pytest.raises(DataError, match="X has 3 columns, but the model was fitted to 2"):
        table.columns_of(["age", "smoker"])


@given(data=st.data(), kind=st.sampled_from(sorted(TABLES)), read_before=st.booleans())
def test_some_rows_of_a_table_are_what_reading_these_rows_gives(data, kind, read_before):
    table = Table.read(TABLES[kind](COLUMNS))
    rows = np.array(data.draw(st.lists(st.integers(0, 3), max_size=5)), dtype=np.intp)
    part = np.array(
        data.draw(st.lists(st.integers(0, max(0, len(rows) - 1)), max_size=3)), dtype=np.intp
    )
    part = part if len(rows) else rows
    whole = table.space()
    table = table if read_before else Table.read(table.given)
    expected = np.array(POINTS)[rows]
    for taken, values in (
        (table.take(rows), expected),
        (table.take(rows).take(part), expected[part]),
    ):
        again = Table.read(taken.given)
        assert len(taken) == len(again) == len(values)
        for each in (taken, again):
            np.testing.assert_array_equal(each.points(whole), values)
        known = {("ex", "no")[int(code)] for code in values[:, 1] if not np.isnan(code)}
        if taken.column("smoker").declared is None:
            assert taken.column("smoker").categories == tuple(sorted(known))


def test_rows_taken_are_named_by_their_own_labels():
    frame = pd.DataFrame({"a": [1, "x", 3]}, index=["ann", "bob", "eve"], dtype=object)
    for table in (Table.read(frame), Table.read(frame)):
        table.column("a")
        with pytest.raises(
            DataError, match=r"column 'a', row 2 \(index 'bob'\): 'x' is not a number"
        ):
            table.take(np.array([2, 1])).column("a").numbers()
    assert (
        Table.read(frame).take(np.array([False, True, True])).name_row(1) == "row 2 (index 'eve')"
    )


class _Watched:
    """A data frame that counts how often each column is asked for."""

    def __init__(self, columns):
        self.data, self.columns, self.asked = columns, list(columns), []

    def __len__(self):
        return len(self.data[self.columns[0]])

    def __getitem__(self, key):
        self.asked.append(key)
        return np.array(self.data[key], dtype=object)


def test_a_column_is_looked_at_when_it_is_first_asked_for_and_never_again():
    frame = _Watched({**COLUMNS, "when": [dt.date(2024, 1, 1)] * 4})
    table = Table.read(frame)
    assert Table.read(table) is table
    assert frame.asked == []
    space = FeatureSpace(NAMES, categories={"smoker": ["no", "ex"]})
    for _ in range(2):
        table.points(space)
        assert table.column("smoker").categories == ("ex", "no")
        table.take(np.array([1, 3])).points(space)
        space.read(table)
    assert frame.asked == NAMES
    assert table.values("when").tolist() == [dt.date(2024, 1, 1)] * 4
    with pytest.raises(DataError, match="column 'when' holds dates"):
        table.space()


def test_numbers_of_all_columns_are_one_array():
    expected = [[1.0, 2.5], [NAN, 3.0]]
    columns = {"a": [1, None], "b": [2.5, 3.0]}
    for made in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), columns):
        np.testing.assert_array_equal(Table.read(made).numbers(), expected)
    array = np.ones((2, 2), dtype=np.float32)
    assert Table.read(array).numbers() is array
    with pytest.raises(DataError, match=r"column 'smoker' holds texts \(row 1: 'no'\)"):
        Table.read(COLUMNS).numbers()


@pytest.mark.parametrize("kind", TABLES)
def test_other_rows_are_made_in_the_form_of_the_table(kind):
    table = Table.read(TABLES[kind](COLUMNS)).select(["dose", "smoker"])
    made = table.make_like([np.array([1.0, 2.0]), np.array(["no", "ex"], dtype=object)])
    assert type(made) is type(table.given)
    again = Table.read(made)
    assert again.names == ("dose", "smoker")
    assert [column.values.tolist() for column in again.all_columns()] == [[1.0, 2.0], ["no", "ex"]]


def test_a_table_made_like_an_array_of_texts_is_one():
    made = Table.read(np.array([["a", "bcd"]])).make_like([np.array(["a"], object)] * 2)
    assert made.dtype == np.dtype("<U3")
    assert made.tolist() == [["a", "a"]]


def test_without_pandas_a_dict_of_columns_is_a_table_of_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = Table.read(COLUMNS)
    assert isinstance(table.given, pa.Table)
    np.testing.assert_array_equal(table.points(table.space()), POINTS)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a": [1, 2], "b": [1]}, "columns 'a' and 'b' of the dict have 2 and 1 values"),
        ({"a": 1}, "column 'a' of the dict must be a list of values, one a row, not 1"),
        ([1.0, 2.0], r"not of shape \(2,\); for a single row use \[row\]"),
        (sparse.eye(2).tocsr(), r"X is a sparse matrix, and rules need tables; pass X.toarray\(\)"),
    ],
)
def test_what_is_no_table_is_refused(X, message):
    with pytest.raises(DataError, match=message):
        Table.read(X)


def test_an_unknown_column_is_named_with_the_nearest():
    with pytest.raises(DataError, match="the table has no column 'smokr'; did you mean 'smoker'"):
        Table.read(COLUMNS).column("smokr")


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.ones((1, 1), dtype=np.float32), True),
        (np.ones((1, 1)), False),
        (pd.DataFrame({"a": [1.0], "b": np.float32([1])}), True),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), False),
        (pl.DataFrame({"a": np.float32([1])}), True),
        (pl.DataFrame({"a": [1.0]}), False),
        (pa.table({"a": pa.array([1.0], pa.float32())}), True),
        (pa.table({"a": [1.0]}), False),
    ],
)
def test_single_precision_is_noticed(X, expected):
    assert Table.read(X).is_single_precision == expected


def test_rows_of_what_only_turns_into_an_array_are_taken_from_the_array():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.arange(6.0).reshape(3, 2)

    assert Table.read(Wrapped()).take(np.array([2])).given.tolist() == [[4.0, 5.0]]


def columns_of_a_file():
    return {
        "n": np.array([3, 1, 2, 1]),
        "x": np.array([0.5, np.nan, -1.0, 0.5]),
        "k": np.array(["b", None, "a", "b"], dtype=object),
        "none": np.array([None] * 4, dtype=object),
    }


def test_a_table_of_columns_is_read_as_a_data_frame_of_them():
    columns = columns_of_a_file()
    table, frame = Table.of_columns(columns), Table.read(pd.DataFrame(columns))
    assert len(table) == 4
    assert table.shape == frame.shape
    assert table.names == frame.names
    for name in ("n", "x", "k"):
        ours, theirs = table.column(name), frame.column(name)
        assert ours.is_numeric == theirs.is_numeric
        assert ours.categories == theirs.categories
        assert ours.is_missing.tolist() == pd.isna(columns[name]).tolist()
        assert ours.n_distinct == pd.Series(columns[name]).nunique()
        assert ours.most_frequent == pd.Series(columns[name]).mode()[0]
    assert table.column("none").n_distinct == 0
    assert table.column("none").most_frequent is None
    assert not table.column("none").has_number_type
    assert table.select(["x", "k"]).space() == frame.select(["x", "k"]).space()
    assert not table.is_single_precision
    # For models of other libraries it is a table of pyarrow.
    assert table.given.to_pydict()["k"] == ["b", None, "a", "b"]
    assert table.header.column_names == list(columns)
    assert len(table.header) == 0


def test_rows_of_a_table_of_columns_keep_their_numbers_and_columns_are_read_once(monkeypatch):
    reads = []
    start = Column.__init__
    monkeypatch.setattr(
        Column, "__init__", lambda self, *given: (reads.append(given[0]), start(self, *given))[1]
    )
    table = Table.of_columns(columns_of_a_file())
    part = table.take(np.array([False, True, True, True])).select(["x", "k"]).take(np.array([0, 2]))
    assert part.labels.tolist() == [1, 3]
    assert part.name_row(1) == "row 2 (index 3)"
    assert table.name_row(1) == "row 2"
    assert part.values("x").tolist()[1] == 0.5
    assert part.values("k").tolist() == [None, "b"]
    assert part.given.to_pydict()["k"] == [None, "b"]
    for each in (table, part, table.select(["k", "n"]), part.take(np.array([0]))):
        each.column("k").codes(("a", "b"))
    assert reads == ["k"]
    with pytest.raises(
        DataError, match=re.escape("column 'k', row 1 (index 3): 'b' is not a number")
    ):
        part.take(np.array([1, 1])).column("k").numbers()


def test_missing_values_are_filled_as_pandas_fills_them():
    columns = columns_of_a_file()
    fill = {"n": 9.0, "x": 7.0, "k": "z", "none": None}
    table = Table.of_columns(columns).take(np.array([1, 2, 3]))
    filled = table.filled(fill)
    expected = pd.DataFrame(columns).iloc[1:].fillna({"n": 9.0, "x": 7.0, "k": "z"})
    for name in ("n", "x", "k"):
        assert filled.values(name).tolist() == expected[name].tolist()
        assert filled.column(name).is_missing.sum() == 0
    assert filled.values("none").tolist() == [None] * 3
    assert filled.labels.tolist() == [1, 2, 3]
    # The table itself is as it was.
    assert table.column("x").is_missing.tolist() == [True, False, False]


def test_a_pipeline_gets_a_table_where_its_first_step_reads_tables():
    table = Table.of_columns(columns_of_a_file()).select(["n", "x"])
    assert isinstance(table.taken_by(make_pipeline(StandardScaler(), LPSVC())), pa.Table)
    assert table.taken_by(make_pipeline(LPSVC())) is table
    assert isinstance(table.taken_by(LogisticRegression()), pa.Table)


def test_without_pandas_a_frame_is_refused_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install clearmargin\[frames\]"):
        make_frame({"a": [1]})
