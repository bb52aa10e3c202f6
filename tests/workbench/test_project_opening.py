"""Which files are opened as projects, by whom and by how many, and what is said of the others."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from clearmargin.exceptions import (
    ClearmarginError,
    FileDamagedError,
    FileInTheWayError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.workbench import project_file, project_lock, project_opening
from clearmargin.workbench.history import History
from clearmargin.workbench.project_file import ProjectFile, ProjectInUseError, read_migrations
from clearmargin.workbench.project_lock import ProjectLock

from .small_projects import RULES, kept_project, new_project, problems_of, with_history

SECOND_STEP = "ALTER TABLE note ADD COLUMN colour TEXT NOT NULL DEFAULT 'none';"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def without_rights():
    """A folder, and a way to be somebody who may do only what permissions say, even where tests run as root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    is_root = os.geteuid() == 0

    @contextlib.contextmanager
    def somebody():
        if is_root:
            os.setresuid(65534, 65534, 0)
        try:
            yield
        finally:
            if is_root:
                os.setresuid(0, 0, 0)

    yield folder, somebody
    folder.chmod(0o777)
    shutil.rmtree(folder)


# New files


@pytest.mark.posix
def test_a_project_and_all_that_is_beside_it_is_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        with new_project(tmp_path) as file:
            names = ["biopsies.clearmargin" + end for end in ("", "-lock", "-shm", "-wal")]
            assert names_in(tmp_path) == names
            assert {mode(tmp_path / name) for name in names} == {0o600}
            file.save_copy(tmp_path / "copy.clearmargin")
        assert mode(tmp_path / "copy.clearmargin") == 0o600
    finally:
        os.umask(before)


def test_a_closed_project_is_one_file(tmp_path):
    kept_project(tmp_path)
    assert names_in(tmp_path) == ["biopsies.clearmargin"]


def test_a_project_says_what_it_is(tmp_path):
    with new_project(tmp_path) as file:
        assert file.path == tmp_path / "biopsies.clearmargin"
        assert file.name == "biopsies"
        assert len(file.id) == 16
        assert set(file.id) <= set("0123456789abcdef")
        assert file.meta("made_by") == "the expert"
        assert file.meta("made_at").endswith("+00:00")
        assert file.meta("version") == project_file.__version__
        pragmas = {
            name: file.rows(f"PRAGMA {name}")[0][0]
            for name in ("application_id", "user_version", "journal_mode", "synchronous")
        }
        assert pragmas == {
            "application_id": int.from_bytes(b"clmw", "big"),
            "user_version": 1,
            "journal_mode": "wal",
            "synchronous": 2,
        }
        assert file.rows("PRAGMA foreign_keys")[0][0] == 1
    with new_project(tmp_path, "another") as other:
        assert other.id != file.id


@pytest.mark.parametrize("content", [b"", b"precious"])
def test_what_is_there_already_is_not_touched(tmp_path, content):
    path = tmp_path / "a.clearmargin"
    path.write_bytes(content)
    with pytest.raises(FileInTheWayError, match=r"a\.clearmargin exists already; open it, or"):
        ProjectFile.create(path, name="a", made_by="x")
    assert path.read_bytes() == content
    assert names_in(tmp_path) == ["a.clearmargin"]


@pytest.mark.posix
def test_folders_and_links_that_lead_nowhere_are_in_the_way_too(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "link"):
        with pytest.raises(FileInTheWayError, match="exists already"):
            ProjectFile.create(tmp_path / name, name="a", made_by="x")
    assert names_in(tmp_path) == ["folder", "link"]


def test_a_file_that_appears_at_the_last_moment_is_not_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "a.clearmargin"

    def lay_out(*arguments):
        project_opening.lay_out(*arguments)
        path.write_bytes(b"precious")

    monkeypatch.setattr(project_file, "lay_out", lay_out)
    with pytest.raises(FileInTheWayError, match="exists already"):
        ProjectFile.create(path, name="a", made_by="x")
    assert path.read_bytes() == b"precious"
    assert names_in(tmp_path) == ["a.clearmargin"]


def test_a_file_system_without_hard_links_is_good_enough(tmp_path, monkeypatch):
    def refuse(self, target):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    kept_project(tmp_path)
    assert names_in(tmp_path) == ["biopsies.clearmargin"]
    path = tmp_path / "a.clearmargin"

    def lay_out(*arguments):
        project_opening.lay_out(*arguments)
        path.write_bytes(b"precious")

    monkeypatch.setattr(project_file, "lay_out", lay_out)
    with pytest.raises(FileInTheWayError, match="exists already"):
        ProjectFile.create(path, name="a", made_by="x")
    assert path.read_bytes() == b"precious"


def test_a_project_needs_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        ProjectFile.create(tmp_path / "no" / "a.clearmargin", name="a", made_by="x")


@pytest.mark.parametrize(("name", "made_by"), [(3, "x"), ("a", None), ("\ud800", "x")])
def test_a_project_needs_texts_for_names(tmp_path, name, made_by):
    with pytest.raises(InvalidValueError, match=r"must be a text|half of a character"):
        ProjectFile.create(tmp_path / "a.clearmargin", name=name, made_by=made_by)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["a b", "100%", "a?mode=memory", "a#b", "größe", "%41", "x&y='\""])
def test_any_name_of_a_file_will_do(tmp_path, name):
    path = kept_project(tmp_path, name)
    assert names_in(tmp_path) == [f"{name}.clearmargin"]
    assert problems_of(path) == []


# What is no project


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def other_program(path):
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE meta (key, value)")


def change(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def folder_instead(path):
    path.unlink()
    path.mkdir()


REFUSED = {
    "empty": (lambda p: p.write_bytes(b""), "it is empty"),
    "a table": (lambda p: p.write_text("age,ill\n61,yes\n" * 100), "it is no SQLite file"),
    "short": (lambda p: p.write_bytes(b"x"), "no more than 1 bytes"),
    "zeros": (lambda p: p.write_bytes(bytes(5000)), "it is no SQLite file"),
    "a folder": (folder_instead, "it is a folder"),
    "another database": (other_program, "an SQLite file of another program"),
    "cut in the first page": (lambda p: cut(p, 3000), "it is no SQLite file|is damaged"),
    "cut in the header": (lambda p: cut(p, 50), "no more than 50 bytes"),
    "without a table": (lambda p: change(p, "DROP TABLE note"), "it has no table 'note'"),
    "of no version": (lambda p: change(p, "PRAGMA user_version = 0"), "its format is 0"),
    "of a negative version": (lambda p: change(p, "PRAGMA user_version = -3"), "its format is -3"),
    "without an id": (lambda p: change(p, "DELETE FROM meta WHERE key = 'id'"), "say its id"),
    "without a name": (lambda p: change(p, "DELETE FROM meta WHERE key = 'name'"), "say its id"),
    "with a hostile id": (
        lambda p: change(p, "UPDATE meta SET value = '../../etc' WHERE key = 'id'"),
        "say its id",
    ),
    "with an id of bytes": (
        lambda p: change(p, "UPDATE meta SET value = x'ff00' WHERE key = 'id'"),
        "say its id",
    ),
    "with a text of other bytes": (
        lambda p: change(p, "UPDATE meta SET value = CAST(x'ff00' AS TEXT) WHERE key = 'name'"),
        "is damaged",
    ),
}


@pytest.mark.parametrize("writing", [True, False])
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_project_is_refused_in_words(tmp_path, case, writing):
    damage, words = REFUSED[case]
    path = kept_project(tmp_path)
    damage(path)
    with pytest.raises(FileDamagedError, match=words) as caught:
        ProjectFile.open(path, writing=writing)
    assert str(path) in str(caught.value)
    assert names_in(tmp_path) == [path.name]


def test_a_project_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no project .*a\.clearmargin"):
        ProjectFile.open(tmp_path / "a.clearmargin")
    assert names_in(tmp_path) == []


@pytest.mark.posix
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileDamagedError, match="it is no regular file"):
        ProjectFile.open(tmp_path / "pipe")


def test_a_project_cut_off_anywhere_is_refused_in_words(tmp_path):
    path = kept_project(tmp_path)
    content = path.read_bytes()
    for size in [*range(0, len(content), 1999), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(FileDamagedError, match=r"is not a project|is damaged"):
            ProjectFile.open(path)


@pytest.mark.posix
def test_a_file_that_may_not_be_read_is_refused_in_words(without_rights):
    folder, somebody = without_rights
    path = kept_project(folder)
    with somebody():
        path.chmod(0o000) if os.geteuid() == path.stat().st_uid else None
        with pytest.raises(PermissionError, match="may not be read by you"):
            ProjectFile.open(path, writing=False)


@pytest.mark.posix
def test_a_write_protected_file_can_be_read_and_says_why_it_cannot_be_written(without_rights):
    folder, somebody = without_rights
    path = kept_project(folder)
    path.chmod(0o444)
    folder.chmod(0o755 if os.geteuid() == 0 else 0o555)
    with somebody():
        with pytest.raises(PermissionError, match="is write-protected; change its permissions"):
            ProjectFile.open(path)
        with ProjectFile.open(path, writing=False) as file:
            assert History(file).head.text == RULES[0]
            assert file.verify() == []
    assert names_in(folder) == [path.name]


@pytest.mark.posix
def test_a_project_in_a_write_protected_folder_says_so(without_rights):
    folder, somebody = without_rights
    path = kept_project(folder)
    path.chmod(0o666)
    folder.chmod(0o755 if os.geteuid() == 0 else 0o555)
    with somebody(), pytest.raises(PermissionError, match="its folder is write-protected; copy"):
        ProjectFile.open(path)


@pytest.mark.posix
def test_a_reader_without_rights_does_not_overlook_a_log_that_it_cannot_read(without_rights):
    folder, somebody = without_rights
    with new_project(folder) as file:
        file.path.chmod(0o444)
        folder.chmod(0o755)
        with somebody(), pytest.raises(ClearmarginError, match="could not be read or written"):
            ProjectFile.open(file.path, writing=False)


# One writer, many readers


def test_a_second_writer_is_told_that_the_project_is_open(tmp_path):
    with new_project(tmp_path) as file:
        with pytest.raises(ProjectInUseError, match=rf"open for writing .*process {os.getpid()}\)"):
            ProjectFile.open(file.path)
        file.add_event("x", "goes on", {})
    with ProjectFile.open(file.path) as again:
        assert [event.what for event in again.events()] == ["goes on"]


def test_a_second_writing_process_is_told_so_too(tmp_path):
    code = (
        "import sys\n"
        "from clearmargin.workbench.project_file import ProjectFile\n"
        "ProjectFile.open(sys.argv[1], writing=False).close()\n"
        "try:\n    ProjectFile.open(sys.argv[1])\n"
        "except BlockingIOError as error:\n    print(error)\n"
    )
    with new_project(tmp_path) as file:
        out = subprocess.run(
            [sys.executable, "-c", code, file.path], capture_output=True, text=True, check=True
        )
        assert f"is open for writing already (process {os.getpid()})" in out.stdout
        # Neither reading nor trying has taken anything from the one who writes.
        file.add_event("x", "y", {})
        assert file.verify() == []


@pytest.mark.posix
def test_a_link_leads_to_the_same_lock(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    with new_project(tmp_path) as file:
        (tmp_path / "elsewhere" / "link").symlink_to(file.path)
        with pytest.raises(ProjectInUseError, match="open for writing already"):
            ProjectFile.open(tmp_path / "elsewhere" / "link")
    with ProjectFile.open(tmp_path / "elsewhere" / "link") as file:
        assert file.path == tmp_path / "elsewhere" / "link"
        assert names_in(tmp_path / "elsewhere") == ["link"]


def test_a_lock_that_was_left_behind_is_none(tmp_path):
    path = kept_project(tmp_path)
    Path(f"{path}-lock").write_text("12345\n")
    ProjectFile.open(path).close()
    assert names_in(tmp_path) == [path.name]


def test_a_lock_without_a_number_is_one_still(tmp_path):
    with new_project(tmp_path) as file:
        Path(f"{file.path}-lock").write_text("")
        with pytest.raises(ProjectInUseError, match="already; close it there first"):
            ProjectFile.open(file.path)


def test_a_lock_that_was_removed_by_its_owner_is_taken_anew(tmp_path, monkeypatch):
    # Between opening the file of the lock and locking it, the one who had it gives it back.
    project = tmp_path / "a.clearmargin"
    first = ProjectLock.take(project)
    lock = project_lock._lock

    def late(descriptor):
        first.release()
        lock(descriptor)

    monkeypatch.setattr(project_lock, "_lock", late)
    second = ProjectLock.take(project)
    monkeypatch.undo()
    with pytest.raises(ProjectInUseError, match="open for writing already"):
        ProjectLock.take(project)
    second.release()
    second.release()
    assert names_in(tmp_path) == []


def test_a_folder_without_locks_is_refused_in_words(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise OSError(37, "No locks available")

    path = kept_project(tmp_path)
    monkeypatch.setattr(project_lock, "_lock", refuse)
    with pytest.raises(OSError, match="this folder has no locks; put the project on a local disk"):
        ProjectFile.open(path)


def test_a_refused_file_can_be_opened_once_it_is_mended(tmp_path):
    path = kept_project(tmp_path)
    change(path, "PRAGMA user_version = 0")
    for _ in range(3):
        with pytest.raises(FileDamagedError, match="its format is 0"):
            ProjectFile.open(path)
    change(path, "PRAGMA user_version = 1")
    ProjectFile.open(path).close()


def test_readers_see_what_is_committed_and_write_nothing(tmp_path):
    with new_project(tmp_path) as file, ProjectFile.open(file.path, writing=False) as reader:
        with file.transaction():
            file.put_draft("tab", None, "x")
            assert reader.drafts() == []
        assert reader.draft("tab").text == "x"
        with pytest.raises(InvalidValueError, match="was opened for reading"):
            reader.put_draft("tab", None, "y")
        with pytest.raises(InvalidValueError, match="was opened for reading"):
            with_history(reader)
    assert file.id == reader.id


def test_a_reader_ends_without_a_trace(tmp_path):
    path = kept_project(tmp_path)
    content = path.read_bytes()
    assert problems_of(path) == []
    assert names_in(tmp_path) == [path.name]
    assert path.read_bytes() == content


def test_another_program_that_holds_the_file_is_named_as_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(project_opening, "_BUSY_SECONDS", 0.01)
    with new_project(tmp_path) as file:
        with contextlib.closing(sqlite3.connect(file.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ClearmarginError, match="no other program has the file open"):
                file.add_event("x", "y", {})
        file.add_event("x", "y", {})


# Versions


@pytest.fixture
def next_version(monkeypatch):
    """The clearmargin of some day, with one more step."""
    monkeypatch.setattr(
        project_file, "read_migrations", lambda: [*read_migrations(), (2, SECOND_STEP)]
    )


def test_the_steps_are_numbered_without_gaps():
    numbers = [number for number, _ in read_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("writing", [True, False])
def test_a_newer_file_is_refused_in_words(tmp_path, writing):
    path = kept_project(tmp_path)
    change(path, "PRAGMA user_version = 7")
    content = path.read_bytes()
    with pytest.raises(
        FileTooNewError, match=r"later version .*format is 7; .* up to 1\); install"
    ):
        ProjectFile.open(path, writing=writing)
    assert path.read_bytes() == content


def test_an_older_file_is_brought_up_to_date_after_a_copy(tmp_path, next_version, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(project_file, "read_migrations", read_migrations)
        path = kept_project(tmp_path)
    with pytest.raises(InvalidValueError, match=r"older version .* open it once with `clearmargin"):
        ProjectFile.open(path, writing=False)
    with ProjectFile.open(path) as file:
        assert file.rows("PRAGMA user_version")[0][0] == 2
        assert file.rows("PRAGMA foreign_keys")[0][0] == 1
        file.add_note(1, 5, "x", "seen")
        assert file.rows("SELECT colour FROM note")[0][0] == "none"
        assert file.events()[-1].what == "migrated"
        assert file.events()[-1].body["copy"] == "biopsies.clearmargin-version-1"
        assert [revision.text for revision in History(file).all()] == [*RULES, RULES[0]]
        assert file.verify() == []
    assert names_in(tmp_path) == ["biopsies.clearmargin", "biopsies.clearmargin-version-1"]
    copy = tmp_path / "biopsies.clearmargin-version-1"
    assert os.name != "posix" or mode(copy) == 0o600
    with ProjectFile.open(path) as file:
        assert len(file.events()) == 7
    assert len(names_in(tmp_path)) == 2
    monkeypatch.undo()
    assert problems_of(copy) == []


def test_an_older_copy_is_never_overwritten(tmp_path, monkeypatch):
    path = kept_project(tmp_path)
    Path(f"{path}-version-1").write_text("precious")
    monkeypatch.setattr(
        project_file, "read_migrations", lambda: [*read_migrations(), (2, SECOND_STEP)]
    )
    ProjectFile.open(path).close()
    assert Path(f"{path}-version-1").read_text() == "precious"
    assert names_in(tmp_path) == [
        path.name,
        f"{path.name}-version-1",
        f"{path.name}-version-1-2",
    ]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            f"{SECOND_STEP} DROP TABLE colours;",
            "to 2: no such table: colours; the file is as it was",
        ),
        (f"{SECOND_STEP} INSERT INTO draft VALUES ('t', 77, '', '');", "refer to others"),
        (f"{SECOND_STEP} this is no SQL", "syntax error"),
    ],
)
def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch, step, words):
    path = kept_project(tmp_path)
    with monkeypatch.context() as later:
        later.setattr(project_file, "read_migrations", lambda: [*read_migrations(), (2, step)])
        with pytest.raises(FileDamagedError, match=words):
            ProjectFile.open(path)
    assert names_in(tmp_path) == [path.name, f"{path.name}-version-1"]
    assert problems_of(path) == []
    with ProjectFile.open(path) as file:
        assert len(file.events()) == 6


def test_several_steps_are_taken_at_once(tmp_path, monkeypatch):
    path = kept_project(tmp_path)
    third = "CREATE TABLE colour (name TEXT); INSERT INTO colour VALUES ('red');"
    monkeypatch.setattr(
        project_file,
        "read_migrations",
        lambda: [*read_migrations(), (2, SECOND_STEP), (3, third)],
    )
    with ProjectFile.open(path) as file:
        assert file.rows("SELECT name FROM colour")[0][0] == "red"
        assert file.events()[-1].body["to"] == 3
        assert file.verify() == []


def test_a_new_file_has_the_newest_version(tmp_path, next_version):
    with new_project(tmp_path) as file:
        assert file.rows("PRAGMA user_version")[0][0] == 2
        assert file.events() == []
        assert file.verify() == []
    assert names_in(tmp_path) == ["biopsies.clearmargin"]
