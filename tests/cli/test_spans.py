"""A CSV file cut into spans of whole lines."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.cli.plain_csv import NotPlain, Span, read_span, spans_of_lines

CELLS = st.text(alphabet='ab1,"\n\r .', max_size=6)


@settings(max_examples=100)
@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=8), st.integers(40, 200))
def test_what_is_read_span_by_span_is_what_is_read_at_once(tmp_path_factory, rows, size):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["a", "b"], *rows])
    path = tmp_path_factory.mktemp("spans") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    spans = list(spans_of_lines(path, size))
    assert all(0 < span.end - span.start <= size for span in spans)
    try:
        parts = [read_span(path, span) for span in spans]
    except NotPlain:
        # Cut within quotes, which the careful reader takes.
        assert '"' in text.getvalue()
        return
    assert text.getvalue().encode() == b"a,b\n" + b"".join(parts)
    read = [row for part in parts for row in csv.reader(io.StringIO(part.decode(), newline=""))]
    whole = list(csv.reader(io.StringIO(text.getvalue(), newline="")))[1:]
    assert [row for row in read if row] == [row for row in whole if row]


def test_a_span_that_is_cut_within_quotes_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,"x\ny"\n2,z\n')
    assert read_span(path, Span(4, 12)) == b'1,"x\ny"\n'
    with pytest.raises(NotPlain):
        read_span(path, Span(4, 9))


@pytest.mark.parametrize("text", [b"a,b", b"a,b\n" + b"1" * 999 + b"\n"], ids=["header", "line"])
def test_lines_that_are_too_long_are_left_to_the_careful_reader(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    with pytest.raises(NotPlain):
        list(spans_of_lines(path, 50))


def test_zero_bytes_are_left_to_the_careful_reader(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,\0\n")
    with pytest.raises(NotPlain):
        read_span(path, Span(4, 9))


def test_a_last_line_without_an_end_counts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3,4")
    assert list(spans_of_lines(path, 6)) == [(4, 8), (8, 11)]
