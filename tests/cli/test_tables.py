"""Tables in any sane dialect of CSV, against pandas' own reader; and what becomes of their columns."""

from __future__ import annotations

import argparse
import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.cli.console import Console
from clearmargin.cli.csv_text import read_text_table
from clearmargin.cli.inputs import read_task
from clearmargin.cli.options import TABLE, TASK, add_options
from clearmargin.cli.source import Source, read_text
from clearmargin.cli.table import names_in, read_table
from clearmargin.cli.typed_columns import Reading, find_decimal_mark, read_columns
from clearmargin.exceptions import DataError

pytestmark = pytest.mark.usefixtures("no_folds")


def options(names, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, *names)
    return parser.parse_args(list(words))


def read(path, *words: str) -> pd.DataFrame:
    arguments = options(("DATA", *TABLE), str(path), *words)
    return read_table(arguments, Console(quiet=True)).frame


letters = st.text(st.sampled_from("abc ,;\t|\"'äß\n.-"), min_size=1, max_size=6)
numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 4))
wholes = st.integers(-1000, 1000)


@st.composite
def tables(draw) -> pd.DataFrame:
    """A column of whole numbers, one of broken ones, one of texts."""
    rows = draw(st.integers(2, 6))
    column = lambda values: draw(st.lists(values, min_size=rows, max_size=rows))
    texts = [f"x{text.strip()}x" for text in column(letters)]
    return pd.DataFrame(
        {"n": column(wholes), "real value": [x + 0.5 for x in column(wholes)], "t": texts}
    )


@given(tables(), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
@settings(max_examples=30)
def test_what_pandas_writes_is_read_as_it_was(frame, separator, end, quoted):
    comma = separator == ";"
    # A writer that ends lines by \r leaves \n in a text unquoted, and nobody could tell the two apart.
    quoting = csv.QUOTE_ALL if quoted or end == "\r" else csv.QUOTE_MINIMAL
    marks = {"sep": separator, "decimal": "," if comma else ".", "lineterminator": end}
    text = frame.to_csv(index=False, quoting=quoting, **marks)
    table = read_text_table(text, "a.csv", separator)
    columns = read_columns(table, Reading(decimal=marks["decimal"]))
    assert columns["n"].tolist() == frame["n"].tolist()
    assert columns["real value"].tolist() == frame["real value"].tolist()
    assert columns["t"].tolist() == frame["t"].tolist()


@given(tables(), st.sampled_from(",;\t|"))
@settings(max_examples=30)
def test_the_separator_is_found(frame, separator):
    frame["t"] = frame["t"].str.replace(r"[^abc]", "", regex=True)
    text = frame.to_csv(index=False, sep=separator)
    assert read_text_table(text, "a.csv").separator == separator


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=5))
@settings(max_examples=30)
def test_numbers_are_read_to_the_last_digit(values):
    text = "a,b\n" + "".join(f"{value!r},x\n" for value in values)
    column = read_columns(read_text_table(text, "a.csv"), Reading())["a"]
    assert column.tolist() == values


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,x\n2.5,y\n", ()),
        (b"\xef\xbb\xbfa,b\n1,x\n2.5,y\n", ()),
        (b"\xef\xbb\xbfa,b\n1,x\n2.5,y\n", ("--encoding", "UTF-8")),
        (b"a;b\n1;x\n2,5;y\n", ()),
        (b"a;b\n1;x\n2.5;y\n", ()),
        (b"a\tb\n1\tx\n2.5\ty\n", ()),
        (b"a|b\n1|x\n2.5|y\n", ()),
        (b"a#b\n1#x\n2.5#y\n", ("--separator", "#")),
        (b"a;b\n1,0;x\n2,5;y\n", ("--separator", "semicolon", "--decimal", ",")),
        (b'"a","b"\n"1","x"\n"2.5","y"\n', ()),
        (b"a, b\n1, x\n2.5, y\n", ()),
        (b"a,b\r\n\r\n1,x\r\n2.5,y\r\n\r\n", ()),
        (b"a,b\r1,x\r2.5,y", ()),
        (b",a,b\n0,1,x\n1,2.5,y\n", ()),
        (b"a,b,\n1,x,\n2.5,y,\n", ()),
        ("a,b\n1,x\n2.5,y\n".encode("utf-16"), ()),
        (gzip.compress(b"a,b\n1,x\n2.5,y\n", mtime=0), ()),
    ],
)
def test_dialects_say_the_same(tmp_path, content, words):
    (tmp_path / "a.csv").write_bytes(content)
    frame = read(tmp_path / "a.csv", *words)
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["a"].tolist() == [1.0, 2.5]
    assert frame["b"].tolist() == ["x", "y"]


def test_other_encodings_are_read_when_they_are_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe,ort\n1,Köln\n2,Ulm\n".encode("cp1252"))
    frame = read(tmp_path / "a.csv", "--encoding", "cp1252")
    assert frame["ort"].tolist() == ["Köln", "Ulm"]
    with pytest.raises(DataError, match="is not utf-8 text: line 1 has the byte 0xf6"):
        read(tmp_path / "a.csv")


def test_gaps_have_many_names(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n?,NA\n,n/a\nNaN,None\n-9,null\n5,y\n")
    frame = read(tmp_path / "a.csv", "--na", "-9")
    assert frame["a"].isna().tolist() == [False, True, True, True, True, False]
    # None is an answer, not a gap.
    assert frame["b"].isna().tolist() == [False, True, True, False, True, False]


def test_whole_numbers_stay_whole_and_texts_that_look_like_numbers_are_codes_on_request(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n1,007,1e3\n2,008,2\n")
    frame = read(tmp_path / "a.csv", "--categories", "b")
    assert frame["a"].dtype == np.int64
    assert frame["b"].tolist() == ["007", "008"]
    assert frame["c"].tolist() == [1000, 2]


def test_words_that_python_takes_for_numbers_are_texts():
    table = read_text_table("a,b\n1_000,inf\n2_000,nan_\n", "a.csv")
    columns = read_columns(table, Reading())
    assert columns["a"].tolist() == ["1_000", "2_000"]
    assert columns["b"].tolist() == ["inf", "nan_"]


def test_a_column_with_few_numbers_names_things():
    table = read_text_table("a,b\n1,x\nred,x\nblue,y\n", "a.csv")
    assert read_columns(table, Reading())["a"].tolist() == ["1", "red", "blue"]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a;b\n1,5;2\n", ","),
        ("a;b\n1,234;2,5\n", ","),
        ("a;b\n1.5;2\n", "."),
        ("a;b\n1;x,y\n", "."),
        ('a,b\n"1,5",2\n', "."),
    ],
)
def test_a_decimal_comma_is_taken_where_there_is_no_doubt(text, mark):
    assert find_decimal_mark(read_text_table(text, "a.csv")) == mark


def test_a_ragged_line_is_named_as_an_editor_counts(tmp_path):
    text = 'a,b\n"two\nlines",1\n\nx,2,3\n'
    with pytest.raises(DataError, match=r"a\.csv, line 5: 3 values, but there are 2 column names"):
        read_text_table(text, "a.csv")


def test_text_in_pieces_of_any_encoding_says_where_it_breaks():
    with pytest.raises(DataError, match="line 3 has the byte 0xff"):
        read_text(Source("a.csv", b"a,b\n1,2\n\xff,3\n"), None)


def test_parquet_keeps_numbers_texts_and_gaps(tmp_path):
    frame = pd.DataFrame(
        {
            "n": [1, 2, 3],
            "maybe": pd.array([1, None, 3], dtype="Int64"),
            "x": [0.5, np.nan, 2.5],
            "t": ["a", None, "c"],
            "yes": [True, False, True],
            "kind": pd.Categorical(["u", "v", "u"]),
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet", "--categories", "n")
    assert found["n"].tolist() == ["1", "2", "3"]
    assert found["maybe"].isna().tolist() == [False, True, False]
    assert found["maybe"][2] == 3.0
    assert found["x"].dtype == np.float64
    assert found["t"].isna().tolist() == [False, True, False]
    assert found["yes"].tolist() == ["True", "False", "True"]
    assert found["kind"].tolist() == ["u", "v", "u"]


def test_parquet_with_dates_or_damage_is_refused(tmp_path):
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"]), "n": [1, 2]})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"'day' of .* holds dates or times; .* --drop 'day'"):
        read(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:100])
    with pytest.raises(DataError, match="is a damaged Parquet file"):
        read(tmp_path / "b.parquet")


def test_names_may_have_commas():
    assert names_in(["a, b", "a,c"], ["a, b", "a", "c"]) == ["a, b", "a", "c"]


def task_of(tmp_path, frame: pd.DataFrame, *words: str, console: Console | None = None):
    frame.to_csv(tmp_path / "a.csv", index=False)
    arguments = options((*TASK, "missing"), str(tmp_path / "a.csv"), "--target", "y", *words)
    return read_task(arguments, console or Console(quiet=True))


def test_columns_that_mean_nothing_are_left_out_with_a_word(tmp_path):
    m = 24
    frame = pd.DataFrame(
        {
            "row": range(100, 100 + m),
            "name": [f"n{k}" for k in range(m)],
            "empty": [None] * m,
            "measure": [(7 * k) % m for k in range(m)],
            "kind": ["a", "b"] * 12,
            "y": ["no"] * 12 + ["yes"] * 12,
        }
    )
    console = Console(quiet=True)
    task = task_of(tmp_path, frame, console=console)
    assert task.X.columns.tolist() == ["measure", "kind"]
    assert [note.split(",")[0] for note in console.notes] == [
        "column 'row' counts the rows",
        "column 'name' holds 24 different texts in 24 rows",
        "column 'empty' has no value in any row",
    ]
    kept = task_of(tmp_path, frame, "--categories", "name", "--drop", "row,empty")
    assert "name" in kept.X.columns


def test_classes_are_whole_numbers_or_texts(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5, 4.5], "y": [0, 1, 0, 1]})
    assert task_of(tmp_path, frame).y.tolist() == [0, 1, 0, 1]
    assert task_of(tmp_path, frame, "--positive", "1").positive == 1
    assert task_of(tmp_path, frame.assign(y=[0.5, 1.5, 0.5, 1.5])).counts == {"0.5": 2, "1.5": 2}
    gap = frame.assign(y=[0, None, 0, 1])
    assert task_of(tmp_path, gap, "--missing", "drop").y.tolist() == ["0", "0", "1"]


def test_rows_keep_their_numbers(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None, 3.5, 4.5], "y": ["u", "v", "u", "v"]})
    task = task_of(tmp_path, frame, "--missing", "drop")
    assert task.X.index.tolist() == [0, 2, 3]
    assert task.y.tolist() == ["u", "u", "v"]


def test_filled_rows_are_what_pandas_would_fill(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.5, None, 3.5, 4.5], "k": ["p", "q", "q", None], "y": ["u", "v", "u", "v"]}
    )
    task = task_of(tmp_path, frame, "--missing", "impute")
    expected = frame.drop(columns="y").fillna({"a": frame["a"].median(), "k": "q"})
    assert task.X["a"].tolist() == expected["a"].tolist()
    assert task.X["k"].tolist() == expected["k"].tolist()
    assert task.fill == {"a": 3.5, "k": "q"}


def test_a_large_table_is_read_as_pandas_reads_it():
    text = "a,b,c,d,e\n" + "".join(
        f"{k},{k / 7:.4f},x{k % 5},{k % 3},{-k}\n" for k in range(20_000)
    )
    columns = read_columns(read_text_table(text, "a.csv"), Reading())
    expected = pd.read_csv(io.StringIO(text))
    for name, values in columns.items():
        assert values.tolist() == expected[name].tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_integers_that_floats_cannot_tell_apart_are_noted(tmp_path, suffix):
    frame = pd.DataFrame(
        {"id": [2**53 + 1, 2**53 + 3, 2**53 + 2], "n": [1, 2, -(2**53)], "key": [2**62 + 1, 1, 2]}
    )
    path = tmp_path / f"t.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    console = Console(quiet=True)
    read_table(options(("DATA", *TABLE), str(path), "--drop", "key"), console)
    (note,) = console.notes
    assert "column 'id' of" in note
    assert "integers above 2^53 (" in note
    assert "9007199254740993), and 2 of them are rounded" in note
    console = Console(quiet=True)
    # What the note advises: as names, all are kept apart.
    words = (str(path), "--categories", "id", "--drop", "key")
    table = read_table(options(("DATA", *TABLE), *words), console)
    assert not console.notes
    assert table.frame["id"].tolist() == [
        "9007199254740993",
        "9007199254740995",
        "9007199254740994",
    ]


def test_large_numbers_that_are_no_integers_are_not_noted(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1e300,a\n9007199254740993.5,b\n")
    console = Console(quiet=True)
    read_table(options(("DATA", *TABLE), str(tmp_path / "t.csv")), console)
    assert not console.notes


def test_a_column_that_is_dropped_may_hold_anything(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,1\n2,2\n3,stray\n")
    assert read(tmp_path / "t.csv", "--drop", "b").columns.tolist() == ["a"]
    frame = pd.DataFrame({"a": [1, 2], "b": pd.date_range("2024-01-01", periods=2)})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", "--drop", "b").columns.tolist() == ["a"]
