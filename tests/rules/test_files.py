"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from clearmargin.exceptions import FileInTheWayError, InvalidValueError
from clearmargin.rules import file_writing
from clearmargin.rules.file_writing import write_bytes_atomically, write_text_atomically

pytestmark = pytest.mark.posix
WORDS = "rule α => β\nnext\r\n"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "rules.json"


def only(folder):
    return sorted(p.name for p in folder.iterdir())


def fail(error):
    def raise_it(*_, **__):
        raise error

    return raise_it


def test_the_text_arrives_as_utf_8_without_any_change(target):
    assert write_text_atomically(target, WORDS) == target
    assert target.read_bytes() == WORDS.encode("utf-8")
    assert only(target.parent) == ["rules.json"]


def test_a_path_may_be_given_as_text(target):
    assert write_text_atomically(str(target), "a") == target


def test_an_existing_file_is_left_alone(target):
    target.write_text("old")
    with pytest.raises(FileInTheWayError, match=r"rules.json exists already; pass overwrite=True"):
        write_text_atomically(target, "new")
    assert target.read_text() == "old"
    assert only(target.parent) == ["rules.json"]


def test_an_existing_file_is_replaced_when_told_so(target):
    target.write_text("old and longer")
    write_text_atomically(target, "new", overwrite=True)
    assert target.read_text() == "new"
    assert only(target.parent) == ["rules.json"]


def test_a_file_that_appears_in_between_wins(target, monkeypatch):
    flush = os.fsync

    def appear(descriptor):
        flush(descriptor)
        target.write_text("theirs")

    monkeypatch.setattr(os, "fsync", appear)
    with pytest.raises(FileInTheWayError, match="exists already"):
        write_text_atomically(target, "mine")
    assert target.read_text() == "theirs"
    assert only(target.parent) == ["rules.json"]


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("fsync", OSError(28, "No space left on device")),
        ("fsync", KeyboardInterrupt("stopped")),
        ("replace", PermissionError(13, "Permission denied")),
    ],
)
def test_a_failure_leaves_the_old_content_and_no_rubbish(
    target, monkeypatch, overwrite, where, error
):
    if overwrite:
        target.write_text("old")
    if where == "fsync":
        monkeypatch.setattr(os, "fsync", fail(error))
    else:
        monkeypatch.setattr(Path, "replace", fail(error))
        monkeypatch.setattr(Path, "hardlink_to", fail(error))
    with pytest.raises(type(error), match=r"No space|stopped|Permission denied"):
        write_text_atomically(target, "new", overwrite=overwrite)
    assert only(target.parent) == (["rules.json"] if overwrite else [])
    if overwrite:
        assert target.read_text() == "old"


def test_a_text_that_cannot_be_encoded_leaves_nothing_behind(target):
    with pytest.raises(
        InvalidValueError, match=r"rules.json cannot be written: .* \(\\ud800, one of a"
    ):
        write_text_atomically(target, "half a character: \ud800")
    assert only(target.parent) == []


def test_a_file_system_without_hard_links_is_good_enough(target, monkeypatch):
    monkeypatch.setattr(Path, "hardlink_to", fail(OSError(95, "Operation not supported")))
    write_text_atomically(target, "new")
    assert target.read_text() == "new"
    assert only(target.parent) == ["rules.json"]


def test_a_system_without_locks_and_owners_is_good_enough(target, monkeypatch):
    monkeypatch.setattr(file_writing, "fcntl", None)
    monkeypatch.delattr(os, "chown")
    target.write_text("old")
    target.chmod(0o640)
    leftover = target.with_name(".0123456789abcdef.part")
    leftover.write_text("half")
    os.utime(leftover, (1e9, 1e9))
    write_text_atomically(target, "new", overwrite=True)
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o640)
    assert only(target.parent) == ["rules.json"]


def test_a_folder_that_may_not_be_listed_is_good_enough(target, monkeypatch):
    monkeypatch.setattr(Path, "iterdir", fail(PermissionError(13, "Permission denied")))
    assert write_text_atomically(target, "new").read_text() == "new"


def test_a_system_that_cannot_flush_folders_is_good_enough(target, monkeypatch):
    opened = os.open

    def refuse_folders(path, *rest, **named):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **named)

    monkeypatch.setattr(os, "open", refuse_folders)
    write_text_atomically(target, "new")
    assert target.read_text() == "new"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        write_text_atomically(tmp_path, "new", overwrite=True)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot be written: there is no folder .*nowhere"):
        write_text_atomically(tmp_path / "nowhere" / "rules.json", "new")


def test_a_folder_that_may_not_be_written_says_so(target, monkeypatch):
    # The superuser may write anywhere, so the refusal of the system is put in by hand.
    monkeypatch.setattr(Path, "open", fail(PermissionError(13, "Permission denied", str(target))))
    with pytest.raises(PermissionError, match=r"Permission denied.*rules.json"):
        write_text_atomically(target, "new")
    assert only(target.parent) == []


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
@pytest.mark.parametrize("overwrite", [True, False])
def test_permissions_follow_the_umask(target, umask, overwrite):
    before = os.umask(umask)
    try:
        write_text_atomically(target, "new", overwrite=overwrite)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask


def test_a_link_that_leads_nowhere_is_in_the_way(target):
    target.symlink_to(target.parent / "gone")
    with pytest.raises(FileInTheWayError, match="exists already"):
        write_text_atomically(target, "new")
    assert only(target.parent) == ["rules.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_replaced_file_keeps_its_permissions(target, mode):
    target.write_text("old")
    target.chmod(mode)
    write_text_atomically(target, "new", overwrite=True)
    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert target.read_text() == "new"


def test_a_private_file_is_private_while_it_is_written(target, monkeypatch):
    target.write_text("old")
    target.chmod(0o600)
    modes = []
    flush = os.fsync

    def look(descriptor):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_text_atomically(target, "new", overwrite=True)
    assert modes[0] == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path, exists):
    real = tmp_path / "elsewhere" / "real.json"
    real.parent.mkdir()
    if exists:
        real.write_text("old")
        real.chmod(0o640)
    (tmp_path / "middle").symlink_to(real)
    link = tmp_path / "link.json"
    link.symlink_to("middle")
    assert write_text_atomically(link, "new", overwrite=True) == link
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert not exists or stat.S_IMODE(real.stat().st_mode) == 0o640
    assert only(real.parent) == ["real.json"]
    assert only(tmp_path) == ["elsewhere", "link.json", "middle"]


def test_a_link_that_leads_to_itself_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="this link leads to itself"):
        write_text_atomically(tmp_path / "a", "new", overwrite=True)
    assert only(tmp_path) == ["a", "b"]


def test_a_write_protected_file_is_not_replaced(target, monkeypatch):
    # The superuser may write anywhere, so the answer of the system is put in by hand.
    target.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="write-protected"):
        write_text_atomically(target, "new", overwrite=True)
    assert target.read_text() == "old"


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text_atomically(pipe, "new")
        assert os.read(end, 10) == b"new"
    finally:
        os.close(end)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_leftovers_of_interrupted_writers_are_removed_and_nothing_else(tmp_path):
    import fcntl

    names = [
        ".0123456789abcdef.part",
        ".fedcba9876543210.part",
        ".00000000000000ff.part",
        "my.part",
    ]
    old, fresh, busy, other = (tmp_path / name for name in names)
    for path in (old, fresh, busy, other):
        path.write_text("half")
        if path != fresh:
            os.utime(path, (1e9, 1e9))
    with busy.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_text_atomically(tmp_path / "a.json", "new")
    assert only(tmp_path) == sorted([fresh.name, busy.name, "a.json", other.name])


def test_bytes_arrive_without_any_change(target):
    content = bytes(range(256))
    assert write_bytes_atomically(str(target), content) == target
    assert target.read_bytes() == content
    assert only(target.parent) == ["rules.json"]


def test_text_and_bytes_are_written_alike(tmp_path, monkeypatch):
    flushed = []
    flush = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (flushed.append(1), flush(descriptor)))
    for k, (write, content) in enumerate(
        [(write_text_atomically, "a"), (write_bytes_atomically, b"a")], start=1
    ):
        path = write(tmp_path / f"{k}.txt", content)
        assert path.read_bytes() == b"a"
        assert len(flushed) == 2 * k  # the file, and the name in its folder
        with pytest.raises(FileInTheWayError, match="exists already; pass overwrite=True"):
            write(path, content)
