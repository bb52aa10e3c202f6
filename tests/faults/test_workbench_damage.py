"""Damaged project files and full disks: found or harmless, and never a crash."""

import contextlib
import itertools
import sqlite3

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workbench.project_files import kept_project, new_project, problems_of

from clearmargin.exceptions import ClearmarginError, FileDamagedError

CHAINED = ("source", "task", "revision", "event")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return kept_project(tmp_path_factory.mktemp("kept"))


def history_of(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [connection.execute(f"SELECT * FROM {name}").fetchall() for name in CHAINED]


@settings(max_examples=150)
@given(data=st.data())
def test_verify_with_a_flipped_bit_of_the_file_finds_it_or_nothing_is_lost(kept, data):
    content = bytearray(kept.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    path = kept.with_name("flipped.clearmargin")
    path.write_bytes(content)
    try:
        problems = problems_of(path)
    except ClearmarginError as error:
        problems = [str(error)]
    assert all(problem.encode() for problem in problems)
    if not problems:
        assert history_of(path) == history_of(kept)


def test_verify_with_a_destroyed_page_finds_it(kept, tmp_path):
    content = kept.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    path = tmp_path / "copy.clearmargin"
    for start in range(size, len(content), size):
        path.write_bytes(content[:start] + b"\x5a" * size + content[start + size :])
        with contextlib.suppress(FileDamagedError):
            assert problems_of(path), start


def test_write_that_fails_at_the_nth_page_of_a_full_disk_loses_nothing(tmp_path):
    large = np.random.default_rng(0).bytes(20_000)
    with new_project(tmp_path) as file:
        pages = file.rows("PRAGMA page_count")[0][0]
        before = file.rows("SELECT COUNT(*) FROM source")
        for more in itertools.count():
            file.rows(f"PRAGMA max_page_count = {pages + more}")
            try:
                source = file.add_source("a", large, reading={}, rows=1, columns=1)
            except ClearmarginError as error:
                said = str(error)
                assert "biopsies" in said
                assert file.rows("SELECT COUNT(*) FROM source") == before
                assert file.verify() == []
            else:
                break
        assert more >= 5
        assert (source.id, file.source_bytes(2), file.verify()) == (2, large, [])


def test_write_while_another_program_holds_the_file_is_refused(tmp_path):
    with new_project(tmp_path) as file:
        with contextlib.closing(sqlite3.connect(file.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            file.rows("PRAGMA busy_timeout = 10")
            with pytest.raises(ClearmarginError, match="biopsies"):
                file.add_event("x", "y", {})
        assert file.add_event("x", "y", {}).id == 1
