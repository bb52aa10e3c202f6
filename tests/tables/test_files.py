"""Files in any sane dialect of CSV, Parquet and Feather, against pandas and Python's own reader of CSV."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from clearmargin.exceptions import DataError
from clearmargin.tables import csv_text, files
from clearmargin.tables.csv_text import CsvText, WholeTableNeeded
from clearmargin.tables.files import ReadOptions, names_in, read_file
from clearmargin.tables.typed_columns import MISSING, find_decimal_mark, is_number


def read(path, **options) -> pd.DataFrame:
    return pd.DataFrame(read_file(path, ReadOptions(**options)).columns)


def read_text(text: str | bytes, **options):
    """Read the text of a CSV file called a.csv."""
    content = text.encode() if isinstance(text, str) else text
    chosen = ReadOptions(**options)
    return files._read_csv(files.open_csv(files.FileBytes("a.csv", content), chosen), chosen)


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
    columns = read_text(text, separator=separator, decimal=marks["decimal"]).columns
    assert columns["n"].tolist() == frame["n"].tolist()
    assert columns["real value"].tolist() == frame["real value"].tolist()
    assert columns["t"].tolist() == frame["t"].tolist()


@given(tables(), st.sampled_from(",;\t|"))
@settings(max_examples=30)
def test_the_separator_is_found(frame, separator):
    frame["t"] = frame["t"].str.replace(r"[^abc]", "", regex=True)
    text = frame.to_csv(index=False, sep=separator)
    assert CsvText("a.csv", lambda: io.BytesIO(text.encode())).separator == separator


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=5))
@settings(max_examples=30)
def test_numbers_are_read_to_the_last_digit(values):
    text = "a,b\n" + "".join(f"{value!r},x\n" for value in values)
    assert read_text(text).columns["a"].tolist() == values


def test_long_numbers_are_rounded_once():
    rng = np.random.default_rng(0)
    digits = ["".join(map(str, rng.integers(0, 10, 40))) for _ in range(2_000)]
    texts = [f"-{d[:k]}.{d[k:]}e{k - 20}" for k, d in enumerate(digits[:40], 1)]
    texts += [f"0.{d}" for d in digits] + ["9007199254740993e-8", "5e-324", "2.5e-324"]
    column = read_text("a,b\n" + "".join(f"{text},x\n" for text in texts)).columns["a"]
    assert column.tolist() == [float(text) for text in texts]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"a,b\n1,x\n2.5,y\n", {}),
        (b"\xef\xbb\xbfa,b\n1,x\n2.5,y\n", {}),
        (b"\xef\xbb\xbfa,b\n1,x\n2.5,y\n", {"encoding": "UTF-8"}),
        (b"a;b\n1;x\n2,5;y\n", {}),
        (b"a;b\n1;x\n2.5;y\n", {}),
        (b"a\tb\n1\tx\n2.5\ty\n", {}),
        (b"a|b\n1|x\n2.5|y\n", {}),
        (b"a#b\n1#x\n2.5#y\n", {"separator": "#"}),
        (b"a;b\n1,0;x\n2,5;y\n", {"separator": "semicolon", "decimal": ","}),
        (b'"a","b"\n"1","x"\n"2.5","y"\n', {}),
        (b"a, b\n1, x\n2.5, y\n", {}),
        (b"a,b\r\n\r\n1,x\r\n2.5,y\r\n\r\n", {}),
        (b"a,b\r1,x\r2.5,y", {}),
        (b",a,b\n0,1,x\n1,2.5,y\n", {}),
        (b"a,b,\n1,x,\n2.5,y,\n", {}),
        ("a,b\n1,x\n2.5,y\n".encode("utf-16"), {}),
        (gzip.compress(b"a,b\n1,x\n2.5,y\n", mtime=0), {}),
    ],
)
def test_dialects_say_the_same(tmp_path, content, options):
    (tmp_path / "a.csv").write_bytes(content)
    frame = read(tmp_path / "a.csv", **options)
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["a"].tolist() == [1.0, 2.5]
    assert frame["b"].tolist() == ["x", "y"]


def test_other_encodings_are_read_when_they_are_named(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe,ort\n1,Köln\n2,Ulm\n".encode("cp1252"))
    frame = read(tmp_path / "a.csv", encoding="cp1252")
    assert frame["ort"].tolist() == ["Köln", "Ulm"]
    with pytest.raises(DataError, match="is not utf-8 text: line 1 has the byte 0xf6"):
        read(tmp_path / "a.csv")


def test_missing_values_have_many_names(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n?,NA\n,n/a\nNaN,None\n-9,null\n5,y\n")
    frame = read(tmp_path / "a.csv", na=["-9"])
    assert frame["a"].isna().tolist() == [False, True, True, True, True, False]
    # None is an answer, not a missing value.
    assert frame["b"].isna().tolist() == [False, True, True, False, True, False]


def test_whole_numbers_stay_whole_and_texts_that_look_like_numbers_are_codes_on_request(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n1,007,1e3\n2,008,2\n")
    frame = read(tmp_path / "a.csv", categories=["b"])
    assert frame["a"].dtype == np.int64
    assert frame["b"].tolist() == ["007", "008"]
    assert frame["c"].tolist() == [1000, 2]


def test_words_that_python_takes_for_numbers_are_texts():
    columns = read_text("a,b\n1_000,inf\n2_000,nan_\n").columns
    assert columns["a"].tolist() == ["1_000", "2_000"]
    assert columns["b"].tolist() == ["inf", "nan_"]


def test_a_column_with_few_numbers_is_categorical():
    columns = read_text("a,b\n1,x\nred,x\nblue,y\n").columns
    assert columns["a"].tolist() == ["1", "red", "blue"]


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
    csv_file = CsvText("a.csv", lambda: io.BytesIO(text.encode()))
    assert find_decimal_mark(csv_file, csv_file.read_texts()) == mark


def test_a_ragged_line_is_named_as_an_editor_counts():
    text = 'a,b\n"two\nlines",1\n\nx,2,3\n'
    with pytest.raises(DataError, match=r"a\.csv, line 5: 3 values, but there are 2 column names"):
        read_text(text)


def test_text_in_pieces_of_any_encoding_says_where_it_breaks():
    with pytest.raises(DataError, match="line 3 has the byte 0xff"):
        read_text(b"a,b\n1,2\n\xff,3\n")


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_stored_tables_keep_numbers_texts_and_missing_values(tmp_path, form):
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
    getattr(frame, f"to_{form}")(tmp_path / f"a.{form}")
    found = read(tmp_path / f"a.{form}", categories=["n"])
    assert found["n"].tolist() == ["1", "2", "3"]
    assert found["maybe"].isna().tolist() == [False, True, False]
    assert found["maybe"][2] == 3.0
    assert found["x"].dtype == np.float64
    assert found["t"].isna().tolist() == [False, True, False]
    assert found["yes"].tolist() == ["True", "False", "True"]
    assert found["kind"].tolist() == ["u", "v", "u"]


def test_stored_days_and_lists_are_refused_and_decimals_are_numbers(tmp_path):
    days = [dt.date(2024, 1, 31), dt.date(2023, 1, 31)]
    table = pa.table(
        {
            "n": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
            "day": pa.array(days),
            "all": pa.array([[1, 2], [3]]),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"'day' of .* holds dates or times; .* drop='day'"):
        read(tmp_path / "a.parquet", drop=["all"])
    with pytest.raises(DataError, match=r"'all' of .* several values a row \(list<.* drop='all'"):
        read(tmp_path / "a.parquet", drop=["day"])
    found = read_file(tmp_path / "a.parquet", ReadOptions(drop=["all"], time="day")).columns
    assert found["day"].tolist() == days
    assert np.array_equal(found["n"], [1.5, np.nan], equal_nan=True)
    parquet.write_table(table[:0], tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has column names and no rows"):
        read(tmp_path / "b.parquet")


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_stored_tables_with_dates_or_damage_are_refused(tmp_path, form):
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"]), "n": [1, 2]})
    getattr(frame, f"to_{form}")(tmp_path / f"a.{form}")
    with pytest.raises(DataError, match=r"'day' of .* holds dates or times; .* drop='day'"):
        read(tmp_path / f"a.{form}")
    assert read(tmp_path / f"a.{form}", time="day")["day"].tolist() == frame["day"].tolist()
    (tmp_path / f"b.{form}").write_bytes((tmp_path / f"a.{form}").read_bytes()[:100])
    with pytest.raises(DataError, match=f"is a damaged {form.capitalize()} file"):
        read(tmp_path / f"b.{form}")


def test_names_may_have_commas():
    assert names_in(["a, b", "a,c"], ["a, b", "a", "c"]) == ["a, b", "a", "c"]


def test_a_large_table_is_read_as_pandas_reads_it():
    text = "a,b,c,d,e\n" + "".join(
        f"{k},{k / 7:.4f},x{k % 5},{k % 3},{-k}\n" for k in range(20_000)
    )
    columns = read_text(text).columns
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
    (note,) = read_file(path, ReadOptions(drop=["key"])).notes
    assert "column 'id' of" in note
    assert "integers above 2^53 (" in note
    assert "9007199254740993), and 2 of them are rounded" in note
    # What the note advises: as categories, all are kept apart.
    table = read_file(path, ReadOptions(categories=["id"], drop=["key"]))
    assert not table.notes
    assert table.columns["id"].tolist() == [
        "9007199254740993",
        "9007199254740995",
        "9007199254740994",
    ]


def test_large_numbers_that_are_no_integers_are_not_noted():
    assert not read_text("x,y\n1e300,a\n9007199254740993.5,b\n").notes


def test_a_column_that_is_dropped_may_hold_anything(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,1\n2,2\n3,stray\n")
    assert read(tmp_path / "t.csv", drop=["b"]).columns.tolist() == ["a"]
    frame = pd.DataFrame({"a": [1, 2], "b": pd.date_range("2024-01-01", periods=2)})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", drop=["b"]).columns.tolist() == ["a"]


CELLS = [
    "1",
    "2.5",
    "-3",
    "+4",
    "007",
    " 5",
    "1e5",
    ".5",
    "12345678901234567890",
    "",
    "?",
    "NA",
    " NA",
    "x",
    "red",
]
CELLS += [
    "inf",
    "Nan",
    "1_000",
    "1,5",
    "a b",
    "1\xa0",
    '"x"',
    '"x,y"',
    '"a""b"',
    '""',
    '"a\nb"',
    ' "q"',
    'a"b',
    '"1"',
]
BROKEN = ['"', '"x"y', "1,2", '"q" ']


def read_by_hand(text: str, separator: str) -> dict[str, list]:
    """What a file holds, value by value: the rules of reading as they would be told to somebody."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True
    )
    records = [[value.strip() for value in row] for row in reader]
    header, *rows = [record for record in records if any(record)]
    if not rows or any(len(row) != len(header) for row in rows):
        raise csv.Error
    columns = {}
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        known = [value for value in column if value not in MISSING]
        numbers = [value for value in known if is_number(value, ".")]
        if numbers != known and 2 * len(numbers) > len(known):
            raise csv.Error
        read = float if numbers == known else str
        columns[name] = [None if value in MISSING else read(value) for value in column]
    return columns


@st.composite
def messy_texts(draw) -> tuple[str, str]:
    """Lines of values, of which most columns are numbers or texts, and some lines are odd."""
    separator = draw(st.sampled_from(",|\t"))
    k = draw(st.integers(1, 3))
    kinds = [draw(st.sampled_from([CELLS[:8], CELLS[:13], CELLS, CELLS[13:]])) for _ in range(k)]
    odd = draw(st.sampled_from([[], [], ["", "  ", separator * (k - 1), separator * 5, *BROKEN]]))
    lines = [separator.join(f"c{j}" for j in range(k))]
    for _ in range(draw(st.integers(1, 6))):
        whole = separator.join(draw(st.sampled_from(kind)) for kind in kinds)
        lines.append(draw(st.sampled_from([*odd, whole, whole, whole])))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return end.join([*lines, ""]), separator


@given(messy_texts(), st.integers(0, 3), st.sampled_from([64, 1 << 20]))
@settings(max_examples=150, deadline=None)
def test_what_is_read_is_what_the_rules_of_reading_say(case, rows_tried, block):
    text, separator = case
    with pytest.MonkeyPatch.context() as patch:
        # Few rows to guess from, and blocks that end anywhere, make surprises come late.
        patch.setattr(files, "_ROWS_TRIED", rows_tried)
        patch.setattr(csv_text, "_BLOCK", block)
        try:
            expected = read_by_hand(text, separator)
        except csv.Error:
            with pytest.raises(DataError):
                read_text(text, separator=separator)
            return
        found = read_text(text, separator=separator).columns
    assert {
        name: [None if pd.isna(value) else value for value in column.tolist()]
        for name, column in found.items()
    } == expected


def test_quotes_may_come_late_and_go_over_blocks():
    lines = [f"{k},{k}.5,x" for k in range(40_000)]
    lines[39_000] = '7,7.5,"two\nlines, and ""more"""'
    found = read_text("\n".join(["a,b,c", *lines]), separator=",").columns
    assert len(found["a"]) == 40_000
    assert found["c"][39_000] == 'two\nlines, and "more"'
    lines[39_000] = "7,x7,x"
    with pytest.raises(DataError, match=r"a\.csv, line 39002: 'x7' in column 'b' is not a number"):
        read_text("\n".join(["a,b,c", *lines]))


def test_standard_input_is_a_file_too(monkeypatch):
    stream = io.BytesIO(gzip.compress(b"a,b\n1,x\n", mtime=0))
    monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": stream}))
    table = read_file("-")
    assert (table.name, table.columns["a"].tolist()) == ("standard input", [1])


def test_the_index_of_a_stored_data_frame_is_no_column(tmp_path):
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["u", "v"], name="row"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert list(read_file(tmp_path / "a.parquet").columns) == ["n"]


@pytest.mark.parametrize("rows", [3, 300])
def test_a_decimal_mark_that_shows_late_counts_as_an_early_one(rows):
    commas, whole = ["1,5;x"] * rows, ["1;x"] * rows
    late = "\n".join(["a;b", *whole, "2,25;x", ""])
    assert read_text(late).columns["a"][-1] == 2.25
    with pytest.raises(DataError, match=r"with a comma \(1,5\) and with a point \(2\.5\)"):
        read_text("\n".join(["a;b", *commas, "2;2.5", ""]))
    with pytest.raises(DataError, match="'1,234' may be a decimal number, or thousands"):
        read_text("\n".join(["a;b", *whole, "1,234;x", ""]))


def test_what_pyarrow_would_take_in_silence_is_seen_wherever_blocks_end():
    """Quotes are at the ends of values, as a regular expression over the whole text says."""
    agreed = re.compile(r'(?:[^"]|(?:(?<=[,\n\r"])|(?<![\s\S]))"[^"]*"(?=[,\n\r"]|\Z))*')

    @given(st.text(st.sampled_from('a,"\nä'), max_size=9), st.integers(1, 4))
    @settings(max_examples=150)
    def check(content, size):
        text = CsvText("a.csv", lambda: io.BytesIO(b"a,b\n"), ",")
        text.has_quotes = True
        data, passed = content.encode(), b""
        with csv_text._Checked(io.BytesIO(data), text) as stream:
            try:
                while block := stream.read(size):
                    passed += block
            except csv_text._OddQuotes:
                assert not agreed.fullmatch(content)
                return
        assert agreed.fullmatch(content)
        assert passed == data

    check()


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"a,\xff\n", UnicodeDecodeError),
        (b'a,"b"', WholeTableNeeded),
    ],
)
def test_blocks_with_bytes_that_are_no_text_are_not_passed_on(content, error):
    text = CsvText("a.csv", lambda: io.BytesIO(b"a,b\n"), ",")
    with (
        csv_text._Checked(io.BytesIO(content), text) as stream,
        pytest.raises(error),
    ):
        list(iter(lambda: stream.read(2), b""))


def test_quotes_that_come_after_the_first_block_are_read_as_early_ones(monkeypatch):
    monkeypatch.setattr(csv_text, "_BLOCK", 1 << 12)
    lines = [f"{k},x" for k in range(5_000)]
    lines[4_000] = '4000,"two\nlines, and ""more"""'
    found = read_text("\n".join(["a,c", *lines]), separator=",").columns
    assert found["a"].tolist() == list(range(5_000))
    assert found["c"][4_000] == 'two\nlines, and "more"'


def test_a_wrong_byte_far_below_is_named_with_its_line():
    lines = [b"1,x"] * 50_000
    lines[40_000] = b"1,gr\xf6sse"
    with pytest.raises(DataError, match=r"a\.csv is not utf-8 text: line 40002 has the byte 0xf6"):
        read_text(b"\n".join([b"a,b", *lines]))


def test_a_file_that_changes_while_it_is_read_is_said():
    contents = iter([b"a,b\n1,x\n"] * 2 + [b"a,b\n1,\xff\n"] + [b"a,b\n1,x\n"])
    text = CsvText("a.csv", lambda: io.BytesIO(next(contents)), ",")
    with pytest.raises(DataError, match=r"a\.csv changed while it was read; try again"):
        list(text.records())


@pytest.mark.parametrize("separator", [" ", "§", "→"])
def test_any_character_may_separate_values(separator):
    text = "a|b\n1|x\n2|y\n".replace("|", separator)
    found = read_text(text, separator=separator).columns
    assert found["a"].tolist() == [1, 2]
    assert found["b"].tolist() == ["x", "y"]


def test_the_separator_that_cuts_into_more_parts_is_taken():
    assert CsvText("a.csv", lambda: io.BytesIO(b"a,b,c;d\n1,2,3;4\n")).separator == ","
    assert CsvText("a.csv", lambda: io.BytesIO(b"a;b;c,d\n1;2;3,4\n")).separator == ";"


def test_an_encoding_that_nobody_knows_is_said():
    with pytest.raises(DataError, match="unknown encoding 'klingon'; some that exist are utf-8"):
        read_text("a,b\n1,2\n", encoding="klingon")


def test_a_csv_file_is_opened_once_for_its_head_and_once_for_the_rest(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    rows = [f"{k},{k / 8},{'no' if k % 3 else 'yes'}" for k in range(4_000)]
    path.write_text("\n".join(["n,x,smoker", *rows]) + "\n")
    opened, start = [], type(path).open
    monkeypatch.setattr(
        type(path), "open", lambda self, *given: (opened.append(self), start(self, *given))[1]
    )
    whole = read_file(path).columns
    assert opened == [path]  # all of it is the head
    monkeypatch.setattr(files, "HEAD_BYTES", 20_000)
    monkeypatch.setattr(csv_text, "_BLOCK", 20_000)
    parts = read_file(path).columns
    assert opened == [path] * 3
    assert all(parts[name].tolist() == whole[name].tolist() for name in whole)
    assert whole["n"].tolist() == list(range(4_000))


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2.5,y\n",
        "a;b\n1;x\n2,5;y\n",
        '"a", "b"\n"1", "x"\n"2.5", "y"\n',
        "a,b\n" + "1,x\n" * 50 + '2.5,"say ""x"", y"\n',
        "\n\n\n\n\n\na,b\n1,x\n2.5,y\n",
    ],
)
def test_where_the_head_ends_makes_no_difference(text, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(text)
    whole = read(tmp_path / "t.csv")
    monkeypatch.setattr(files, "HEAD_BYTES", 3)
    assert read(tmp_path / "t.csv").equals(whole)


@pytest.mark.parametrize("rest", ["3,\0\n", '"3" ,x\n3,\0\n'])
def test_bytes_that_are_no_text_are_refused_wherever_they_are(rest, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2.5,y\n" + rest)
    for size in (1 << 20, 8):
        monkeypatch.setattr(files, "HEAD_BYTES", size)
        with pytest.raises(
            DataError, match=r"t\.csv is no text; a table in CSV or Parquet is needed"
        ):
            read(tmp_path / "t.csv")
