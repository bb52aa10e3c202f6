"""Whatever was changed in the history of a project by another program is found."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sqlite3
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import FileDamagedError
from clearmargin.workbench.chain import FIRST_HASH, chain_end, row_hash, unpack
from clearmargin.workbench.history import History
from clearmargin.workbench.project_file import ProjectFile

from .small_projects import TABLE, kept_project, new_project, problems_of, without_triggers

REVISION = "id parent task task_hash text settings author at why kind restores previous_hash hash"
EVENT = "id at who what body previous_hash hash"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return kept_project(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def copy(kept, tmp_path):
    return shutil.copy(kept, tmp_path / "copy.clearmargin")


def another(value):
    """A value that differs as little as can be."""
    if value is None:
        return 1
    if isinstance(value, int):
        return value + 1
    middle = len(value) // 2
    return value[:middle] + chr(ord(value[middle]) ^ 1) + value[middle + 1 :]


def test_a_file_that_was_written_by_nobody_else_has_no_problem(kept):
    assert problems_of(kept) == []


def test_the_hash_of_a_row_is_what_the_documentation_says():
    row = {"id": 1, "at": "then", "who": "é", "what": "kept", "body": "{}"}
    text = f'{FIRST_HASH}\n{{"at":"then","body":"{{}}","id":1,"what":"kept","who":"é"}}'
    assert row_hash("event", row, FIRST_HASH) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("table", "column"),
    [("revision", name) for name in REVISION.split()] + [("event", name) for name in EVENT.split()],
)
def test_a_changed_field_is_found_in_every_row(kept, tmp_path, table, column):
    with contextlib.closing(sqlite3.connect(kept)) as connection:
        rows = connection.execute(f"SELECT id, {column} FROM {table}").fetchall()
    assert len(rows) >= 5
    for number, value in rows:
        path = shutil.copy(kept, tmp_path / "copy.clearmargin")
        # A number that is taken already cannot be given twice.
        new = number + 1000 if column == "id" else another(value)
        with without_triggers(path) as connection:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (new, number))
        assert problems_of(path), (number, value)


@given(data=st.data())
def test_a_changed_byte_is_found_anywhere(kept, tmp_path_factory, data):
    table, columns = data.draw(st.sampled_from([("revision", REVISION), ("event", EVENT)]))
    column = data.draw(st.sampled_from(columns.split()))
    path = shutil.copy(kept, tmp_path_factory.mktemp("changed") / "copy.clearmargin")
    with without_triggers(path) as connection:
        query = f"SELECT id, CAST({column} AS BLOB) FROM {table} WHERE typeof({column}) = 'text'"
        rows = [row for row in connection.execute(query).fetchall() if row[1]]
        if not rows:
            return
        number, old = data.draw(st.sampled_from(rows))
        place = data.draw(st.integers(0, len(old) - 1))
        byte = data.draw(st.integers(0, 255).filter(lambda value: value != old[place]))
        new = old[:place] + bytes([byte]) + old[place + 1 :]
        query = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE id = ?"
        connection.execute(query, (new, number))
    assert problems_of(path)


def test_the_same_bytes_of_another_type_are_found(copy):
    with without_triggers(copy) as connection:
        connection.execute("UPDATE revision SET text = CAST(text AS BLOB) WHERE id = 2")
    assert problems_of(copy)[0] == "version 2 was changed"


def test_a_byte_changed_on_the_disk_is_found(kept, tmp_path):
    content = kept.read_bytes()
    for text in (b"reason 2", b"bmi < 25 => well", b'"sealed": true', b'"target": "ill"'):
        assert content.count(text) >= 1
        path = tmp_path / "copy.clearmargin"
        path.write_bytes(content.replace(text, text[:-2] + b"\xff" + text[-1:]))
        problems = problems_of(path)
        assert any("changed" in problem for problem in problems), text
        assert all(problem.isprintable() for problem in problems)


def test_swapped_rows_are_found(copy):
    with without_triggers(copy) as connection:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for old, new in ((2, 99), (3, 2), (99, 3)):
            connection.execute("UPDATE event SET id = ? WHERE id = ?", (new, old))
    problems = problems_of(copy)
    assert "event 2 does not follow the one before it: one of both was changed" in problems
    assert "event 3 was changed" in problems


def test_a_row_cut_out_of_the_middle_is_found(copy):
    with without_triggers(copy) as connection:
        connection.execute("DELETE FROM revision WHERE id = 3")
    problems = problems_of(copy)
    assert "version 3 is missing: the next one is 4" in problems
    assert "event 3 tells of version 3, which is not there" in problems


@pytest.mark.parametrize("table", ["revision", "event"])
def test_rows_cut_off_at_the_end_are_found(copy, table):
    with without_triggers(copy) as connection:
        connection.execute(f"DELETE FROM {table} WHERE id >= 5")
    assert any(
        f"the end of the {'version' if table == 'revision' else 'event'}s is not" in problem
        for problem in problems_of(copy)
    )


def test_the_last_version_cannot_be_cut_off_without_its_event(copy):
    with without_triggers(copy) as connection:
        connection.execute("DELETE FROM revision WHERE id = 5")
        digest = connection.execute("SELECT hash FROM revision WHERE id = 4").fetchone()[0]
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'chain:revision'", (chain_end(4, digest),)
        )
    assert problems_of(copy) == ["event 5 tells of version 5, which is not there"]


def test_a_version_put_in_without_an_event_is_found(copy):
    with without_triggers(copy) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM revision WHERE id = 5").fetchone())
        row |= {"id": 6, "parent": 5, "text": "age >= 0 => ill", "previous_hash": row["hash"]}
        row["hash"] = row_hash("revision", row, row["previous_hash"])
        marks = ", ".join(f":{name}" for name in row)
        connection.execute(f"INSERT INTO revision ({', '.join(row)}) VALUES ({marks})", row)
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'chain:revision'", (chain_end(6, row["hash"]),)
        )
    assert problems_of(copy) == ["version 6 is told of by no event"]


def test_a_version_written_anew_with_its_hash_is_found(copy):
    with without_triggers(copy) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM revision WHERE id = 5").fetchone())
        row["why"] = "another reason"
        digest = row_hash("revision", row, row["previous_hash"])
        connection.execute(
            "UPDATE revision SET why = 'another reason', hash = ? WHERE id = 5", (digest,)
        )
        connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'chain:revision'", (chain_end(5, digest),)
        )
    assert problems_of(copy) == ["version 5 is not the one of which event 5 tells"]


@pytest.mark.parametrize("value", [None, "6 0000", "nonsense", ""])
def test_an_end_that_is_not_noted_as_it_was_is_found(copy, value):
    with without_triggers(copy) as connection:
        if value is None:
            connection.execute("DELETE FROM meta WHERE key = 'chain:event'")
        else:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'chain:event'", (value,))
    (problem,) = problems_of(copy)
    assert problem.startswith("the end of the events is not as it was written: 6 are there")


def test_nothing_is_added_to_a_history_whose_end_was_changed(copy):
    with without_triggers(copy) as connection:
        connection.execute("DELETE FROM revision WHERE id = 5")
    with ProjectFile.open(copy) as file:
        with pytest.raises(FileDamagedError, match=r"its last revision is not the one that was"):
            History(file).keep("", why="", author="", base=4, task=1, settings={})
        assert len(History(file).all()) == 4
        assert len(file.events()) == 6


def test_a_source_with_other_bytes_is_found_and_not_given_out(copy):
    other = TABLE.replace(b"61", b"62")
    with without_triggers(copy) as connection:
        connection.execute("UPDATE source SET content = ?", (zlib.compress(other),))
    assert problems_of(copy) == [
        "source 1: its content is not the one that was stored (its SHA-256 is another one)"
    ]
    with (
        ProjectFile.open(copy) as file,
        pytest.raises(FileDamagedError, match="source 1 is not the table that was stored"),
    ):
        file.source_bytes(1)


def test_every_changed_bit_of_a_stored_source_is_found(copy):
    with ProjectFile.open(copy) as file:
        packed = file.rows("SELECT content FROM source")[0][0]
        query = "UPDATE source SET content = ?"
        with file.transaction() as connection:
            connection.execute("DROP TRIGGER source_is_not_changed")
        for bit in range(8 * len(packed)):
            new = bytearray(packed)
            new[bit // 8] ^= 1 << bit % 8
            with file.transaction() as connection:
                connection.execute(query, (bytes(new),))
            assert any("source 1" in problem for problem in file.verify()), bit
            # A few bits of what zlib writes say nothing of the table.
            with contextlib.suppress(FileDamagedError):
                assert file.source_bytes(1) == TABLE


def test_a_source_exchanged_with_its_sha256_is_found(copy):
    other = TABLE.replace(b"61", b"62")
    with without_triggers(copy) as connection:
        query = "UPDATE source SET content = ?, sha256 = ?"
        connection.execute(query, (zlib.compress(other), hashlib.sha256(other).hexdigest()))
    assert problems_of(copy) == ["source 1: it, or what is said of it, was changed"]


def test_a_source_exchanged_with_all_its_hashes_is_found_by_the_task(copy):
    other = TABLE.replace(b"61", b"62")
    with without_triggers(copy) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM source").fetchone())
        row["sha256"] = hashlib.sha256(other).hexdigest()
        row["packed"] = hashlib.sha256(zlib.compress(other)).hexdigest()
        digest = row_hash("source", row, FIRST_HASH)
        query = "UPDATE source SET content = ?, sha256 = ?, hash = ?"
        connection.execute(query, (zlib.compress(other), row["sha256"], digest))
    assert problems_of(copy) == ["task 1: it, or what is said of its source, was changed"]


def test_a_changed_task_is_found_by_itself_and_by_its_versions(copy):
    with without_triggers(copy) as connection:
        connection.execute("""UPDATE task SET body = '{"sealed": [], "target": "ill"}'""")
    assert problems_of(copy) == ["task 1: it, or what is said of its source, was changed"]
    with without_triggers(copy) as connection:
        connection.row_factory = sqlite3.Row
        row = connection.execute(
            "SELECT task.*, source.hash AS given FROM task JOIN source ON source.id = task.source"
        ).fetchone()
        connection.execute("UPDATE task SET hash = ?", (row_hash("task", row, row["given"]),))
    assert problems_of(copy) == [
        f"version {k}: its task is not the one that it was made with" for k in range(1, 6)
    ]


def test_rows_that_refer_to_nothing_are_found(copy):
    with contextlib.closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("INSERT INTO note VALUES (1, 77, 0, 'x', 'then', 'y')")
    assert problems_of(copy) == ["row 1 of note refers to a row of revision that is not there"]


def test_triggers_that_were_removed_changed_or_added_are_found(copy):
    with contextlib.closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("DROP TRIGGER event_is_not_removed")
        connection.execute("DROP TRIGGER event_is_not_changed")
        connection.execute(
            "CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event BEGIN SELECT 1; END"
        )
        connection.execute("CREATE TRIGGER mine AFTER INSERT ON note BEGIN DELETE FROM draft; END")
    assert problems_of(copy) == [
        "the trigger event_is_not_changed was changed",
        "the trigger event_is_not_removed, which protects the history, was removed",
        "the trigger mine is none of ours",
    ]


def test_damaged_pages_are_told_in_words(kept, tmp_path):
    content = bytearray(kept.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    pages = len(content) // size
    found = 0
    for page in range(1, pages):
        path = tmp_path / "copy.clearmargin"
        path.write_bytes(content[: page * size] + b"\x5a" * size + content[(page + 1) * size :])
        try:
            problems = problems_of(path)
        except FileDamagedError as error:
            problems = [str(error)]
        assert all("Traceback" not in problem for problem in problems)
        found += bool(problems)
    assert found == pages - 1


def test_a_source_that_would_fill_the_memory_is_given_up_early():
    bomb = zlib.compress(bytes(5_000_000))
    pieces = []
    with pytest.raises(FileDamagedError, match="not the 10 that were stored"):
        pieces.extend(unpack(bomb, 10))
    assert sum(map(len, pieces)) == 11
    assert sum(map(len, unpack(bomb, 5_000_000))) == 5_000_000


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b + b"x", lambda _: b""])
def test_a_source_that_is_cut_off_or_too_long_is_refused(change):
    with pytest.raises(FileDamagedError, match="not the 7 that were stored"):
        list(unpack(change(zlib.compress(b"age,ill")), 7))


def test_a_large_source_is_unpacked_in_pieces():
    content = bytes(range(256)) * 4000
    pieces = list(unpack(zlib.compress(content, 0), len(content)))
    assert b"".join(pieces) == content
    assert len(pieces) > 10


def test_the_history_can_be_checked_while_it_is_written(tmp_path):
    with new_project(tmp_path) as file:
        with file.transaction():
            file.add_event("x", "y", {})
            assert file.verify() == []
        assert file.verify() == []
        assert len(file.events()) == 1
