"""The project file: what is written is there again, its history can only grow, one process writes it."""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.seams import ProjectFile
from tests.workbench.project_files import (
    TABLE,
    TEXTS,
    add_version,
    changing,
    kept_project,
    new_project,
    problems_of,
)

from clearmargin.exceptions import (
    FileDamagedError,
    FileInTheWayError,
    FileTooNewError,
    InvalidValueError,
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
BODIES = st.dictionaries(WORDS, PLAIN, max_size=4)
READ = ("meta", "source", "task", "revision", "event", "result", "draft", "job", "note")


@pytest.fixture
def file(tmp_path):
    with new_project(tmp_path) as file:
        add_version(file, TEXTS[0])
        yield file


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with new_project(tmp_path_factory.mktemp("shared")) as file:
        add_version(file, TEXTS[0])
        file.rows("PRAGMA synchronous = OFF")
        yield file


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return kept_project(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def copy(kept, tmp_path):
    return shutil.copy(kept, tmp_path / "copy.clearmargin")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def all_rows(file):
    return {table: [tuple(row) for row in file.rows(f"SELECT * FROM {table}")] for table in READ}


@given(name=WORDS, body=BODIES, text=WORDS, content=st.binary(max_size=300))
def test_project_file_any_text_and_plain_data_comes_back(shared, name, body, text, content):
    wanted = json.loads(json.dumps(body))
    source = shared.add_source(name, content, reading=body, rows=np.int64(1), columns=2)
    assert shared.source() == shared.source(source.id) == source
    assert (source.name, source.reading, source.rows, source.columns) == (name, wanted, 1, 2)
    assert (source.size, source.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert shared.source_bytes(source.id) == content
    task = shared.add_task(source.id, body)
    assert shared.task() == shared.task(task.id) == task
    assert (task.source, task.body) == (source.id, wanted)
    shared.put_result(1, name, {"old": 1}, 0.1)
    shared.put_result(1, name, body, np.float64(0.2))
    assert shared.result(1, name) == shared.results(1)[name] == wanted
    assert shared.put_draft(name, 1, text) == shared.draft(name)
    assert (shared.draft(name).base, shared.draft(name).text) == (1, text)
    event = shared.add_event(name, text, body)
    assert shared.events(after=event.id - 1) == [event]
    assert (event.who, event.what, event.body) == (name, text, wanted)
    note = shared.add_note(1, np.int64(3), name, text)
    assert shared.notes(3)[-1] == shared.notes()[-1] == note
    assert (note.revision, note.row, note.author, note.text) == (1, 3, name, text)
    job = shared.update_job(shared.add_job(name, body).id, message=text, error=text)
    assert shared.job(job.id) == shared.jobs(1)[0] == job
    assert (job.kind, job.input, job.message, job.error) == (name, wanted, text, text)
    assert shared.verify() == []


# fmt: off
REFUSED = [
    ("add_source", (3, b""), {"reading": {}, "rows": 1, "columns": 1}),
    *(("add_source", ("a", b""), {"reading": {}, "rows": n, "columns": 1}) for n in ("3", 0.5, -1)),
    *(("add_task", (1, body), {}) for body in ({"x": np.int64(3)}, {"x": {1}}, {"x": 1, 2: 3}, [1])),
    *(("put_result", (1, "a", {"x": x}, 0.0), {}) for x in (float("nan"), float("inf"))),
    *(("put_result", (1, "a", {}, seconds), {}) for seconds in (float("inf"), "long")),
    ("add_task", (9, {}), {}), ("put_result", (99, "a", {}, 0.0), {}), ("add_event", ("x", "y", {"\ud800": 1}), {}),
    ("put_draft", ("tab", None, "age \udc00"), {}), ("put_draft", ("tab", 99, ""), {}), ("draft", ("\ud800",), {}),
    *(("add_note", note, {}) for note in ((99, 1, "x", "y"), (1, 2**70, "x", "y"), (1, 1, "x", b"y"))),
    ("source", (2**70,), {}), ("source", ([1],), {}), ("source_bytes", (9,), {}), ("set_meta", ("theme", b"x"), {}),
    *(("set_meta", (key, "x"), {}) for key in ("id", "made_at", "chain:event")),
    *(("update_job", (1,), {name: value}) for name, value in (
        ("kind", "x"), ("state", "asleep"), ("progress", float("nan")), ("progress", "half"), ("error", 3))),
    ("update_job", (7,), {"state": "done"}),
    *(("rows", (statement.format(table),), {}) for table in ("source", "task", "revision", "event") for statement in (
        "UPDATE {} SET at = 'now'", "UPDATE {} SET id = id + 1", "DELETE FROM {}",
        "INSERT OR REPLACE INTO {0} SELECT * FROM {0} WHERE id = 1")),
]
# fmt: on


def test_project_file_bad_value_is_refused_and_leaves_nothing(file):
    file.add_job("train", {})
    before = all_rows(file)
    for act, words, more in REFUSED:
        with pytest.raises(InvalidValueError):
            pytest.fail(f"accepted: {act} {words} {getattr(file, act)(*words, **more)}")
        assert all_rows(file) == before, (act, words)
    assert file.verify() == []


def run_together(acts):
    errors, gate = [], threading.Barrier(len(acts))

    def run(act):
        try:
            gate.wait()
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_project_file_many_threads_lose_and_mix_nothing(file):
    def work(k):
        for step in range(8):
            file.add_event(f"writer {k}", "did", {"step": step})
            file.put_draft(f"tab {k}", 1, f"{k} {step}")
            assert file.draft(f"tab {k}").text == f"{k} {step}"
            with contextlib.suppress(KeyError), file.transaction():
                file.add_event(f"writer {k}", "given up", {})
                raise KeyError(k)

    def copy():
        assert problems_of(file.save_copy(file.path.with_name("copy"))) == []

    run_together([*(lambda k=k: work(k) for k in range(6)), copy])
    events = [event for event in file.events() if event.what != "kept"]
    assert {event.what for event in events} == {"did"}
    for k in range(6):
        own = [event.body["step"] for event in events if event.who == f"writer {k}"]
        assert own == list(range(8))
    assert file.verify() == []


def test_close_while_others_write_cuts_no_transaction(file):
    began = threading.Event()

    def write():
        with contextlib.suppress(InvalidValueError):
            while True:
                with file.transaction():
                    file.add_event("x", "one", {})
                    began.set()
                    file.add_event("x", "two", {})

    run_together([write, write, lambda: began.wait() and file.close()])
    for act in (file.drafts, file.verify, lambda: file.name, lambda: file.save_copy("copy")):
        with pytest.raises(InvalidValueError, match=r"biopsies\.clearmargin"):
            act()
    with ProjectFile.open(file.path) as again:
        told = [event.what for event in again.events()][1:]
        assert told == ["one", "two"] * (len(told) // 2)
        assert again.verify() == []


@pytest.mark.posix
def test_open_second_writer_is_refused(file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file.path)
    with pytest.raises(BlockingIOError, match=str(os.getpid())):
        ProjectFile.open(link)
    with ProjectFile.open(file.path, writing=False) as reader:
        with file.transaction():
            file.put_draft("tab", None, "x")
            assert reader.drafts() == []
        assert reader.draft("tab").text == "x"
        with pytest.raises(InvalidValueError):
            reader.put_draft("tab", None, "y")
    file.close()
    Path(f"{file.path}-lock").write_text("12345\n")
    with ProjectFile.open(link) as again:
        assert again.source_bytes(1) == TABLE
    assert names_in(tmp_path) == [file.path.name, "link"]


@pytest.mark.posix
def test_create_makes_files_for_their_owner_alone_and_overwrites_nothing(tmp_path, monkeypatch):
    before = os.umask(0)
    with new_project(tmp_path, "größe?#%41'") as file:
        copy = file.save_copy(tmp_path / "copy.clearmargin", name="lung")
        os.umask(before)
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
        with ProjectFile.open(copy, writing=False) as other:
            assert (other.name, other.id == file.id) == ("lung", False)
        with pytest.raises(FileInTheWayError, match="copy"):
            file.save_copy(copy)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileInTheWayError, match="link"):
        ProjectFile.create(tmp_path / "link", name="a", made_by="x")
    with pytest.raises(FileNotFoundError):
        ProjectFile.create(tmp_path / "no" / "a", name="a", made_by="x")
    with pytest.raises(InvalidValueError):
        ProjectFile.create(tmp_path / "a", name="\ud800", made_by="x")

    def late(self, target):
        self.write_bytes(b"precious")
        raise OSError("no links here")

    # A file system without links, where somebody else was quicker.
    monkeypatch.setattr(Path, "hardlink_to", late)
    with pytest.raises(FileInTheWayError):
        ProjectFile.create(tmp_path / "a", name="a", made_by="x")
    assert (tmp_path / "a").read_bytes() == b"precious"
    assert len(names_in(tmp_path)) == 4


def sql(statement):
    def change(path):
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    return change


def instead(make):
    return lambda path: (path.unlink(), make(path))


NO_PROJECT = [
    *(lambda path, n=n: path.write_bytes(path.read_bytes()[:n]) for n in (0, 1, 50, 3000, 9000, -1) ),
    lambda path: path.write_bytes(bytes(5000)),
    *(instead(make) for make in (Path.mkdir, os.mkfifo, sql("CREATE TABLE meta (key, value)"))),
    sql("DROP TABLE note"),
    # A flipped bit in the name of a column.
    sql("ALTER TABLE event RENAME COLUMN hash TO hasi"), sql("PRAGMA user_version = 0"),
    sql("PRAGMA user_version = 7"), sql("DELETE FROM meta WHERE key = 'name'"),
    sql("UPDATE meta SET value = '../../etc' WHERE key = 'id'"),
    sql("UPDATE meta SET value = CAST(x'ff00' AS TEXT) WHERE key = 'name'"),
]  # fmt: skip


@pytest.mark.posix
@pytest.mark.parametrize("damage", NO_PROJECT)
def test_open_what_is_no_project_is_refused(copy, damage):
    damage(copy)
    for writing in (True, False):
        with pytest.raises((FileDamagedError, FileTooNewError), match=r"copy\.clearmargin"):
            ProjectFile.open(copy, writing=writing)
    assert names_in(copy.parent) == [copy.name]


# The chain of hashes: what another program changes, and what is named.
FORGERIES = [
    ("DELETE FROM revision WHERE id = 3", "version 3"), ("DELETE FROM revision WHERE id >= 4", "event 4"),
    ("DELETE FROM event WHERE id >= 5", "version 5"), ("DELETE FROM meta WHERE key = 'chain:event'", "events"),
    ("INSERT INTO note VALUES (1, 77, 0, 'x', 'then', 'y')", "note"),
    ("CREATE TRIGGER mine AFTER INSERT ON note BEGIN DELETE FROM draft; END", "mine"),
    *((f"UPDATE source SET {name} = {name} || 'x'", "source 1") for name in ("sha256", "content")),
    *((f"UPDATE task SET {name} = {name} || 'x'", "task 1") for name in ("body", "at", "hash")),
    *((f"UPDATE revision SET {name} = {name} || 'x' WHERE id = 2", "version 2") for name in ("text", "settings",
        "author", "at", "why", "kind", "hash", "previous_hash") ),
    *((f"UPDATE event SET {name} = {name} || 'x' WHERE id = 2", "event 2") for name in ("at", "who", "what", "body",
        "hash", "previous_hash") ),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "named"), FORGERIES)
def test_verify_of_a_forged_history_names_the_place(copy, statement, named):
    with changing(copy) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement)
    assert any(named in problem for problem in problems_of(copy))
