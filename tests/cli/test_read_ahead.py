"""Reading one part ahead."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.cli.read_ahead import read_ahead


@given(st.lists(st.integers(), max_size=7))
def test_all_parts_come_once_and_in_order(parts):
    assert list(read_ahead(iter(parts))) == parts


def test_what_goes_wrong_is_raised_where_the_part_would_come():
    def parts():
        yield 1
        raise OSError("the disk is gone")

    ahead = read_ahead(parts())
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def test_one_part_is_read_before_it_is_asked_for_and_no_more():
    asked = []
    read = threading.Event()

    def parts():
        for k in range(5):
            asked.append(k)
            read.set()
            yield k

    ahead = read_ahead(parts())
    assert read.wait(5)
    assert asked == [0]
    read.clear()
    assert next(ahead) == 0
    assert read.wait(5)
    assert asked == [0, 1]
    ahead.close()
    assert asked == [0, 1]
