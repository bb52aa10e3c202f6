"""Working on parts ahead of those that look at them."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.cli import read_ahead as module
from clearmargin.cli.read_ahead import read_ahead


@given(st.lists(st.integers(), max_size=12))
def test_all_parts_come_once_and_in_order(parts):
    assert list(read_ahead(str, iter(parts))) == [str(part) for part in parts]


def test_what_goes_wrong_is_raised_where_the_part_would_come():
    ahead = read_ahead(lambda k: 6 // k, iter([1, 2, 0, 3]))
    assert [next(ahead), next(ahead)] == [6, 3]
    with pytest.raises(ZeroDivisionError):
        next(ahead)
    assert list(ahead) == []


def test_what_goes_wrong_in_cutting_parts_is_raised_too():
    def parts():
        yield from range(20)
        raise OSError("the disk is gone")

    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        seen.extend(read_ahead(str, parts()))


def test_parts_are_worked_on_before_they_are_asked_for_but_not_all_of_them(monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORKERS", 1)
    taken = []
    began = threading.Event()

    def parts():
        for k in range(5):
            taken.append(k)
            yield k

    ahead = read_ahead(lambda k: (began.set(), k)[1], parts())
    assert began.wait(5)
    assert taken == [0]
    assert next(ahead) == 0
    assert taken == [0, 1]
    ahead.close()
    assert taken == [0, 1]
