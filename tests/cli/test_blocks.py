"""A CSV file cut into blocks of whole records."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.cli.plain_csv import NotPlain, blocks_of_lines

CELLS = st.text(alphabet='ab1,"\n\r .', max_size=6)


@settings(max_examples=60)
@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=8), st.integers(60, 200))
def test_blocks_hold_whole_records_and_nothing_is_lost(tmp_path_factory, rows, size):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["a", "b"], *rows])
    path = tmp_path_factory.mktemp("blocks") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    blocks = list(blocks_of_lines(path, size))
    whole = text.getvalue().encode()
    assert whole.endswith(b"".join(blocks))
    read = [row for block in blocks for row in csv.reader(io.StringIO(block.decode(), newline=""))]
    expected = list(csv.reader(io.StringIO(text.getvalue(), newline="")))[1:]
    assert [row for row in read if row] == [row for row in expected if row]


@pytest.mark.parametrize(
    "text",
    [b"", b"\n1,2\n", b'a,"b\n1,2\n', b"a,b\n1,\0\n", b'a,b\n1,"2\n3,4\n', b"a,b\n" + b"1" * 999],
    ids=["empty", "no header", "open quote above", "zero byte", "open quote", "no line end"],
)
def test_what_cannot_be_cut_is_left_to_the_careful_reader(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    with pytest.raises(NotPlain):
        list(blocks_of_lines(path, 50))


def test_a_last_line_without_an_end_counts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3,4")
    assert b"".join(blocks_of_lines(path, 5)) == b"1,2\n3,4"
