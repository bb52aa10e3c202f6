"""Tables block by block: the same rows as when they are read whole, and a sample that does not depend on the blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.tables import blocks
from clearmargin.tables.blocks import (
    Block,
    TableBlocks,
    WholeTableNeeded,
    has_more_rows,
    read_blocks,
)
from clearmargin.tables.files import ReadOptions, read_file
from clearmargin.tables.survey import class_values, survey


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 60),
    cut=st.integers(1, 60),
    max_rows=st.integers(1, 70),
    seed=st.integers(0, 5),
)
def test_the_sample_does_not_depend_on_the_blocks(rows, cut, max_rows, seed):
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(rows, 3)).round(1), rng.integers(0, 2, rows)
    parts = [Block(X[k : k + cut], codes[k : k + cut], ["n", "p"]) for k in range(0, rows, cut)]
    whole, found = survey([Block(X, codes, ["n", "p"])], max_rows), survey(parts, max_rows)
    assert np.array_equal(found.X, whole.X)
    assert np.array_equal(found.codes, whole.codes)
    assert (found.n_rows_of, found.n_rows) == (whole.n_rows_of, rows)
    assert min(rows, max_rows) <= len(found.X) <= max_rows + 6
    assert np.array_equal(found.X.min(axis=0), X.min(axis=0))
    assert np.array_equal(found.X.max(axis=0), X.max(axis=0))
    if max_rows >= rows:
        assert np.array_equal(found.X, X)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2_000)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 70)


def frame_of(m=500):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=m), "n": rng.integers(0, 9, m)})
    frame["word"] = rng.choice(["x", "y, z", 'q"q'], m)
    frame["y"] = rng.choice(["well", "ill"], m)
    return frame


FORMS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "feather": lambda frame, path: frame.to_feather(path),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("small_blocks")
def test_blocks_hold_all_rows_in_order(form, tmp_path):
    frame = frame_of()
    FORMS[form](frame, tmp_path / "t")
    table = TableBlocks(tmp_path / "t", ["n", "a"], "y")
    read = list(table.blocks())
    assert len(read) > 3
    assert all(block.X.flags.f_contiguous for block in read)
    assert np.array_equal(np.concatenate([block.X for block in read]), frame[["n", "a"]])
    labels = [block.classes[code] for block in read for code in block.codes]
    assert labels == frame["y"].tolist()
    again = np.concatenate([block.X for block in table.blocks(only=["a"])])
    assert np.array_equal(again, frame[["a"]].assign(n=0.0)[["n", "a"]])
    assert has_more_rows(tmp_path / "t", 498)
    assert not has_more_rows(tmp_path / "t", 500)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("column", "row", "value"),
    [("a", 400, None), ("a", 400, np.inf), ("n", 400, 2**53 + 1), ("y", 400, None)],
)
@pytest.mark.usefixtures("small_blocks")
def test_what_only_the_whole_table_tells_is_not_guessed(form, column, row, value, tmp_path):
    frame = frame_of().astype({"n": object})
    frame.loc[row, column] = value
    frame = frame.astype({"n": np.int64})
    FORMS[form](frame, tmp_path / "t")
    table = TableBlocks(tmp_path / "t", ["a", "n"], "y")
    with pytest.raises(WholeTableNeeded):
        class_values(table, list(survey(table.blocks(), 10).n_rows_of))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a,y\n1,u\n", {"categories": ["a"]}),
        ("a,y\n1,u\n", {"drop": ["y"]}),
        ("a,y\n1,u\n", {"drop": ["zz"]}),
        ("a,y\n1,u\n", {"encoding": "latin-1"}),
        ("a,y\n1,u\n", {"separator": "xy"}),
        ("b,y\n1,u\n", {}),
        ("a,a,y\n1,1,u\n", {}),
        ("a,y,\n1,u,\n", {}),
        ("a,y\nx,u\n", {}),
        ("a,y\n1,u,3\n", {}),
        ("", {}),
    ],
)
def test_tables_that_do_not_fit_are_left_to_the_reader_of_whole_tables(text, options, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(WholeTableNeeded):
        TableBlocks(tmp_path / "t.csv", ["a"], "y", ReadOptions(**options))


@pytest.mark.parametrize(
    "late",
    ["x,w,u", "1,7,u", "1,w", '1,w,"u', '1,w,u"', "1,\0,u", ",,", "1,w,\udcff", "1,,NA", "?,?,?"],
)
@pytest.mark.usefixtures("small_blocks")
def test_surprises_that_come_late_are_met(late, tmp_path):
    lines = ["a,word,y", *["1.5,w,u"] * 1_000, late, *["2,w,v"] * 1_000]
    (tmp_path / "t.csv").write_text("\n".join(lines), errors="surrogateescape")

    def read():
        table = TableBlocks(tmp_path / "t.csv", ["a"], "y")
        return class_values(table, list(survey(table.blocks(), 10).n_rows_of))

    with pytest.raises(WholeTableNeeded):
        read()


def test_a_file_that_is_packed_or_missing_is_not_counted(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(b"\x1f\x8b" + b"\n" * 100)
    assert not has_more_rows(tmp_path / "t.csv.gz", 5)
    assert not has_more_rows(tmp_path / "none.csv", 5)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + b"\n" * 100)
    assert not has_more_rows(tmp_path / "cut.parquet", 5)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_of_empty_lines_are_passed_over(tmp_path):
    rows = ["1.5,w,u", "2,w,v"] * 300
    lines = ["a,word,y", *rows, *[","] * 3_000, *rows]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    found = survey(TableBlocks(tmp_path / "t.csv", ["a"], "y").blocks(), 10)
    assert found.n_rows_of == {"u": 600, "v": 600}


@pytest.mark.parametrize(
    "column",
    [
        {"y": [0.5, 1.5]},
        {"a": ["x", "z"]},
        {"day": pd.to_datetime(["2024-01-01", "2024-01-02"])},
        None,
    ],
    ids=["classes that are no integers", "text", "dates", "damage"],
)
def test_stored_tables_with_more_than_numbers_are_left_to_the_reader_of_whole_tables(
    column, tmp_path
):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "y": ["u", "v"]}).assign(**column or {}).to_parquet(path)
    if column is None:
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(WholeTableNeeded):
        TableBlocks(path, ["a"], "y")


@pytest.mark.parametrize("texts", [["1,5", "2,5"], ["1.5", "2"], ["1", "x"], ["1", f"{2**60}"]])
def test_classes_that_are_no_plain_whole_numbers_are_not_guessed(texts, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,u\n")
    with pytest.raises(WholeTableNeeded):
        class_values(TableBlocks(tmp_path / "t.csv", ["a"], "y"), texts)


def test_a_table_without_rows_or_with_a_class_for_every_row_is_no_task():
    with pytest.raises(WholeTableNeeded):
        survey([], 10)
    m = 2_000
    with pytest.raises(WholeTableNeeded):
        survey([Block(np.zeros((m, 1)), np.arange(m), [str(k) for k in range(m)])], 10)


def with_missing_values():
    frame = frame_of()
    frame.loc[::7, "a"] = np.nan
    frame.loc[::11, "word"] = None
    frame["code"] = frame["n"] % 3
    return frame


@pytest.mark.parametrize("form", FORMS)
def test_blocks_have_the_values_of_the_whole_table(form, small_blocks, tmp_path):
    FORMS[form](with_missing_values(), tmp_path / "t")
    options = ReadOptions(categories=["code"], drop=["y"], na=["x"] if form == "csv" else ())
    whole = read_file(tmp_path / "t", options).columns
    parts = list(read_blocks(tmp_path / "t", options))
    assert len(parts) > 4
    assert list(whole) == ["a", "n", "word", "code"]
    for name, values in whole.items():
        found = np.concatenate([part.columns[name] for part in parts])
        assert (found.dtype == object) == (values.dtype == object)
        np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("change", "form"),
    [
        (
            lambda frame: frame.assign(
                n=frame["n"].astype(object).mask(frame.index == 400, "many")
            ),
            "csv",
        ),
        (lambda frame: frame.assign(word=frame["word"].mask(frame.index == 400, "7")), "csv"),
        (lambda frame: frame.rename(columns={"word": ""}), "csv"),
        (lambda frame: frame.assign(n=frame["n"] + 2**60), "csv"),
        (lambda frame: frame.assign(n=frame["n"] + 2**60), "parquet"),
        (lambda frame: frame.assign(day=pd.Timestamp(2024, 1, 1)), "feather"),
    ],
)
def test_what_deserves_a_word_needs_the_whole_table(change, form, small_blocks, tmp_path):
    FORMS[form](change(frame_of()), tmp_path / "t")
    with pytest.raises(WholeTableNeeded):
        list(read_blocks(tmp_path / "t"))
