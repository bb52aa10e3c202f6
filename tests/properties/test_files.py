"""Tables in files: CSV in any dialect, Parquet and Feather, against Python's own reader and the rules of reading."""

import csv
import datetime as dt
import gzip
import io
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from clearmargin import LPSVC, scan
from clearmargin.exceptions import DataError

MISSING = {"", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL"}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(table) -> dict[str, list]:
    parts = table.map(lambda part: {name: part.values(name).tolist() for name in table.names})
    return {name: [v for part in parts for v in part[name]] for name in table.names}


def read(content: str | bytes, **options) -> dict[str, list]:
    Path("a.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    return values(scan("a.csv", **options))


@st.composite
def tables(draw) -> pd.DataFrame:
    """A column of whole numbers, one of floats, one of texts."""
    rows = draw(st.integers(2, 6))
    column = lambda kind: draw(st.lists(kind, min_size=rows, max_size=rows))
    texts = column(st.text(st.sampled_from("abc ,;\t|\"'äß\n.-"), min_size=1, max_size=6))
    wholes = st.integers(-1000, 1000)
    floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v or 0.5)
    return pd.DataFrame(
        {"n": column(wholes), "real value": column(floats), "t": [f"x{t.strip()}x" for t in texts]}
    )


in_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(tables(), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
@settings(in_folder, max_examples=40)
def test_scan_reads_what_pandas_writes(folder, frame, separator, end, quoted):
    # A writer that ends lines by \r leaves \n in a text unquoted, and nobody could tell the two apart.
    quoting = csv.QUOTE_ALL if quoted or end == "\r" else csv.QUOTE_MINIMAL
    mark = "," if separator == ";" else "."
    written = frame.assign(
        **{"real value": [repr(v).replace(".", mark) for v in frame["real value"]]}
    )
    text = written.to_csv(index=False, quoting=quoting, sep=separator, lineterminator=end)
    assert read(text, separator=separator, decimal=mark) == frame.to_dict("list")
    plain = written.assign(t=frame["t"].str.replace(r"[^abcx]", "", regex=True))
    found = read(plain.to_csv(index=False, sep=separator), decimal=mark)
    assert found == {**frame.to_dict("list"), "t": plain["t"].tolist()}


CELLS = ["1", "2.5", "-3", "+4", "007", " 5", "1e5", ".5", "12345678901234567890", "", "?", "NA", " NA",
    "x", "red", "inf", "Nan", "1_000", "1,5", "a b", "1\xa0", '"x"', '"x,y"', '"a""b"', '""', '"a\nb"',
    ' "q"', 'a"b', '"1"']  # fmt: skip
BROKEN = ['"', '"x"y', "1,2", '"q" ']


@st.composite
def messy_texts(draw) -> tuple[str, str]:
    """Lines of values, of which most columns are numbers or texts, and some lines are odd."""
    separator, k = draw(st.sampled_from(",|\t")), draw(st.integers(1, 3))
    kinds = [draw(st.sampled_from([CELLS[:8], CELLS[:13], CELLS, CELLS[13:]])) for _ in range(k)]
    odd = draw(st.sampled_from([[], [], ["", "  ", separator * (k - 1), separator * 5, *BROKEN]]))
    lines = [separator.join(f"c{j}" for j in range(k))]
    for _ in range(draw(st.integers(1, 6))):
        whole = separator.join(draw(st.sampled_from(kind)) for kind in kinds)
        lines.append(draw(st.sampled_from([*odd, whole, whole, whole])))
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join([*lines, ""]), separator


def read_by_hand(text: str, separator: str) -> dict[str, list]:
    """What a file holds, value by value: the rules of reading as they would be told to somebody."""
    options = {"delimiter": separator, "strict": True, "skipinitialspace": True}
    reader = csv.reader(io.StringIO(text, newline=""), **options)
    records = [[value.strip() for value in row] for row in reader]
    header, *rows = [record for record in records if any(record)]
    if not rows or any(len(row) != len(header) for row in rows):
        raise csv.Error
    columns = {}
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        known = [value for value in column if value not in MISSING]
        numbers = [value for value in known if NUMBER.fullmatch(value)]
        if numbers != known and 2 * len(numbers) > len(known):
            raise csv.Error
        as_value = float if numbers == known else str
        columns[name] = [None if value in MISSING else as_value(value) for value in column]
    return columns


@given(messy_texts(), st.sampled_from([0, 300]))
@settings(in_folder, max_examples=150)
def test_scan_reads_by_the_rules_of_reading(folder, case, rows_before):
    text, separator = case
    # Rows of numbers in front let what is odd come late; a column of them has fewer texts than numbers.
    header, end, rest = re.split("(\r\n|\n|\r)", text, maxsplit=1)
    filler = separator.join(["1"] * (header.count(separator) + 1)) + end
    text = header + end + filler * rows_before + rest
    # A column without a name makes the reader take the file as a whole.
    indexed = "\r\n".join([f"{separator}a{separator}b", f"0{separator}1{separator}x", ""])
    assert read(indexed, separator=separator) == {"a": [1], "b": ["x"]}
    try:
        expected = read_by_hand(text, separator)
    except csv.Error:
        with pytest.raises(DataError, match=r"a\.csv"):
            read(text, separator=separator)
        return
    found = read(text, separator=separator)
    assert {n: [None if pd.isna(v) else v for v in c] for n, c in found.items()} == expected


def test_numbers_are_rounded_once(folder):
    digits = ["".join(map(str, row)) for row in np.random.default_rng(0).integers(0, 10, (500, 40))]
    texts = [f"-{d[:k]}.{d[k:]}e{k - 20}" for k, d in enumerate(digits[:40], 1)]
    texts += [f"0.{d}" for d in digits] + ["9007199254740993e-8", "5e-324", "2.5e-324"]
    found = read("a,b\n" + "".join(f"{text},x\n" for text in texts))["a"]
    assert found == [float(text) for text in texts]


DIALECTS = [
    (b"a,b\n1,x\n2.5,y\n", {}), (b"\xef\xbb\xbfa,b\n1,x\n2.5,y\n", {"encoding": "UTF-8"}),
    (b"a;b\n1;x\n2,5;y\n", {}), (b"a;b\n1;x\n2.5;y\n", {}), (b"a\tb\n1\tx\n2.5\ty\n", {}),
    (b"a|b\n1|x\n2.5|y\n", {}), (b"a#b\n1#x\n2.5#y\n", {"separator": "#"}),
    ("a→b\n1→x\n2.5→y\n".encode(), {"separator": "→"}),
    (b"a;b\n1,0;x\n2,5;y\n", {"separator": "semicolon", "decimal": ","}),
    (b'"a","b"\n"1","x"\n"2.5","y"\n', {}), (b"a, b\n1, x\n2.5, y\n", {}),
    (b"a,b\r\n\r\n1,x\r\n2.5,y\r\n\r\n", {}), (b"a,b\r1,x\r2.5,y", {}), (b",a,b\n0,1,x\n1,2.5,y\n", {}),
    (b"a,b,\n1,x,\n2.5,y,\n", {}), ("a,b\n1,x\n2.5,y\n".encode("utf-16"), {}),
    (gzip.compress(b"a,b\n1,x\n2.5,y\n", mtime=0), {}),
]  # fmt: skip


def test_dialects_say_the_same(folder):
    for content, options in DIALECTS:
        assert read(content, **options) == {"a": [1.0, 2.5], "b": ["x", "y"]}, content
    assert list(read("a,b,c;d\n1,2,3;4\n")) == ["a", "b", "c;d"]
    assert read("ort\nKöln\nUlm\n".encode("cp1252"), encoding="cp1252")["ort"] == ["Köln", "Ulm"]
    assert read("a,b\n1,007\n2,008\n", categories=["b"])["b"] == ["007", "008"]
    assert read("a,b\n1,x\n-9,y\n", na=["-9"])["a"] == pytest.approx([1, np.nan], nan_ok=True)
    assert read("a,b\n1,1\n2,2\n3,stray\n", drop=["b"]) == {"a": [1, 2, 3]}
    # None is an answer, and so is what Python alone takes for a number.
    assert read("a,b\n1_000,None\n2_000,inf\n") == {"a": ["1_000", "2_000"], "b": ["None", "inf"]}
    assert read("a;b\n" + "1;x\n" * 300 + "2,25;x\n")["a"][-1] == 2.25
    assert values(scan(["a.csv", "a.csv"]))["a"][300:302] == [2.25, 1]


REFUSED = [
    ('a,b\n"two\nlines",1\n\nx,2,3\n', {}, "line 5"), (b"a,b\n1,2\n\xff,3\n", {}, "line 3.*0xff"),
    ("a,b\n1,2\n", {"encoding": "klingon"}, "klingon"), ("a,b\n1,2\n3,\0\n", {}, r"a\.csv"),
    ("a;b\n" + "1,5;x\n" * 300 + "2;2.5\n", {}, "comma"), ("a;b\n" + "1;x\n" * 300 + "1,234;x\n", {}, "1,234"),
    ("a,b\n", {}, "rows"), ("a,b\n1,2\n", {"drop": ["c"]}, "'c'"), ("a,b\n1,2\n", {"target": "z"}, "'z'"),
    ("a,b\n1,2\n", {"target": "b", "columns": ["a", "b"]}, "'b'"), ("a,b\n1,2\n", {"columns": ["bb"]}, "'b'"),
    ("a,a\n1,2\n", {}, "'a'"), ("a\n1\nx\n2\n3\n", {}, "line 3.*'x'.*'a'"),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_file_that_cannot_be_read_is_refused_by_its_place(folder, row):
    content, options, named = REFUSED[row]
    with pytest.raises(DataError, match=f"(?s){named}"):
        read(content, **options)


def test_what_comes_late_in_a_large_file_is_read_or_named(folder):
    # Seven megabytes: blocks end after one, and parts after four.
    lines = [f"{k},{k}.5,{'word' * 15}" for k in range(100_000)]
    lines[90_000] = '7,7.5,"two\nlines, and ""more"""'
    found = read("\n".join(["a,b,c", *lines]))
    assert found["a"][:3] == [0, 1, 2]
    assert (found["b"][89_999], found["c"][90_000]) == (89_999.5, 'two\nlines, and "more"')
    for odd, named in (("7,x7,x", "line 90002.*'x7'.*'b'"), ("7,7,gr\xf6n", "line 90002.*0xf6")):
        lines[90_000] = odd
        content = "\n".join(["a,b,c", *lines]).encode("latin-1")
        with pytest.raises(DataError, match=named):
            read(content)


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_stored_tables_keep_numbers_texts_and_missing_values(folder, form):
    frame = pd.DataFrame({"n": [1, 2, 3], "maybe": pd.array([1, None, 3], dtype="Int64"), "x": [0.5, np.nan, 2.5],
        "t": ["a", None, "c"], "yes": [True, False, True], "kind": pd.Categorical(["u", "v", "u"]),
        "day": pd.to_datetime(["2024-01-01", "2024-01-02", None])})  # fmt: skip
    WRITE[form](frame, f"a.{form}")
    with pytest.raises(DataError, match="'day'"):
        values(scan(f"a.{form}"))
    found = values(scan(f"a.{form}", categories=["n"], drop=["day"]))
    assert (found["n"], found["t"]) == (["1", "2", "3"], ["a", None, "c"])
    assert found["maybe"] == pytest.approx([1, np.nan, 3], nan_ok=True)
    assert found["x"] == pytest.approx([0.5, np.nan, 2.5], nan_ok=True)
    assert (found["yes"], found["kind"]) == (["True", "False", "True"], ["u", "v", "u"])
    Path(f"b.{form}").write_bytes(Path(f"a.{form}").read_bytes()[:100])
    with pytest.raises(DataError, match=f"b.{form}"):
        scan(f"b.{form}")


def test_stored_decimals_are_numbers_and_days_lists_and_no_rows_are_refused(folder):
    table = pa.table({"n": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "day": pa.array([dt.date(2024, 1, 31), dt.date(2023, 1, 31)]), "all": pa.array([[1, 2], [3]])})  # fmt: skip
    parquet.write_table(table, "a.parquet")
    parquet.write_table(table[:0], "b.parquet")
    cases = ("a", ["n", "day"], "'day'"), ("a", ["all"], "'all'"), ("b", ["n"], r"b\.parquet")
    for name, chosen, named in cases:
        with pytest.raises(DataError, match=named):
            values(scan(f"{name}.parquet", columns=chosen))
    found = values(scan("a.parquet", drop=["day", "all"]))["n"]
    assert found == pytest.approx([1.5, np.nan], nan_ok=True)
    pd.DataFrame({"n": [1, 2]}, index=pd.Index(["u", "v"], name="row")).to_parquet("c.parquet")
    assert values(scan("c.parquet")) == {"n": [1, 2]}


WRITE = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, row_group_size=70),
    "feather": lambda frame, path: frame.to_feather(path),
}


def frame_of(rows=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    frame["n"], frame["word"] = rng.integers(0, 50, rows), rng.choice(["red", "blue", None], rows)
    frame["y"] = np.where(frame["a"] > frame["b"], "ill", "well")
    frame.loc[::17, "b"] = np.nan
    return frame


def write_folder(frame, folder, form, files=3):
    cuts = np.linspace(0, len(frame), files + 1).astype(int)
    for k in range(files):
        part = frame.iloc[cuts[k] : cuts[k + 1]].reset_index(drop=True)
        WRITE[form](part, folder / f"part-{k}.{form}")


@pytest.mark.parametrize("form", WRITE)
def test_a_folder_has_the_rows_of_its_files_in_order(folder, form):
    frame = frame_of()
    write_folder(frame, folder, form)
    for table in (scan(folder, "y"), scan(f"{folder}/*.{form}", "y")):
        assert (table.names, table.shape) == (("a", "b", "n", "word"), (300, 4))
        for _ in range(2):
            found = pd.DataFrame(values(table))
            pd.testing.assert_frame_equal(found, frame.drop(columns="y"), check_dtype=False)
            labels = [v for part in table.map(lambda part: part.values("y")) for v in part]
            assert labels == frame["y"].tolist()
    chosen = scan(folder, "y", columns=["n", "a"], categories=["n"])
    assert (chosen.names, chosen.select(["a"]).names) == (("n", "a"), ("a",))
    assert values(chosen)["n"] == frame["n"].astype(str).tolist()
    # Rows are drawn by their numbers, whatever the files and their form.
    drawn = scan(folder, "y").sample_with_ends(120).rows.tolist()
    (folder / "one").mkdir()
    write_folder(frame, folder / "one", "csv", files=1)
    assert scan(folder / "one", "y").sample_with_ends(120).rows.tolist() == drawn
    assert 120 <= len(drawn) < 140


def spoiled(column, row, value):
    frame = frame_of()[["a", "n", "y"]]
    frame[column] = frame[column].astype(object if isinstance(value, str) else float)
    frame.loc[row, column] = value
    return frame


SPOILED = [
    (spoiled("a", 150, np.nan), r"part-1\.\w+, row 51, column 'a'"),
    (frame_of().drop(columns="word"), r"part-0\.\w+, row 1, column 'b'"),
    (frame_of().fillna({"b": 0.0}), "'word'"),
    (frame_of()[["a", "y"]].assign(y="ill"), "'ill'"),
    (spoiled("y", 299, "dead"), r"'dead'.*part-2\.\w+, row 100"),
    (frame_of()[["a", "y"]].assign(y=lambda f: f["y"].mask(f.index == 150)), r"part-1\.\w+, row 51"),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(SPOILED)))
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_errors_in_a_folder_name_file_row_and_column(folder, form, row):
    frame, named = SPOILED[row]
    write_folder(frame, folder, form)
    with pytest.raises(DataError, match=named):
        LPSVC().fit(scan(folder, "y"))


def test_files_that_do_not_go_together_or_are_none_are_refused(folder):
    frame = frame_of()[["a", "n", "y"]]
    write_folder(spoiled("a", 120, np.inf), folder, "parquet")
    with pytest.raises(DataError, match=r"inf.*part-1\.parquet, row 21, column 'a'"):
        LPSVC().fit(scan(folder, "y"))
    renamed = frame.rename(columns={"a": "aa"})
    for other, named in ((frame.assign(a="big"), "'big'"), (renamed, "'aa'")):
        other.to_parquet("part-2.parquet")
        frame.to_parquet("part-1.parquet")
        with pytest.raises(DataError, match=rf"part-2\.parquet.*{named}"):
            LPSVC().fit(scan(folder, "y"))
    frame[:0].to_parquet("part-2.parquet")
    assert scan(folder, "y").shape == (400, 2)  # a file without rows is passed over
    Path("empty").mkdir()
    for path, named in (("none.csv", "none.csv"), ("*.json", "json"), ("empty", "empty")):
        with pytest.raises(DataError, match=named):
            scan(path)
    table = scan("part-1.parquet")
    for call, named in ((lambda: LPSVC().fit(table), "target"), (lambda: table.select(["b"]), "'b'"),
            (lambda: LPSVC().fit(scan("part-1.parquet", "y"), [1]), "y ")):  # fmt: skip
        with pytest.raises(DataError, match=named):
            call()


def test_a_file_that_changes_between_passes_is_an_error(folder):
    # Too large to be held: it is read in every pass.
    table = pa.table({f"x{j}": np.zeros(340_000) for j in range(100)})
    parquet.write_table(table, "t.parquet", compression="zstd")
    scanned = scan("t.parquet")
    assert scanned.shape == (340_000, 100)
    parquet.write_table(table[:-1], "t.parquet", compression="zstd")
    with pytest.raises(DataError, match=r"t\.parquet"):
        values(scanned.select(["x0"]))
