"""Files are written whole or not at all."""

import io
import itertools
import os
import signal
import stat
from pathlib import Path

import pytest

from clearmargin import RuleSet, parse_rules
from clearmargin.exceptions import FileInTheWayError, InvalidValueError

pytestmark = pytest.mark.posix
RULES, OTHER = parse_rules("α > 3 => β"), parse_rules("x > 3 => a")
OLD = "classes: old\n"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "a.rules"


def only(folder):
    return sorted(p.name for p in folder.iterdir())


def fail(error):
    def raise_it(*_, **__):
        raise error

    return raise_it


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_saved_file_holds_the_text_alone_and_replaces_an_older_one_only_when_told(
    target, monkeypatch
):
    flushed, flush = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (flushed.append(1), flush(descriptor)))
    assert RULES.save(str(target)) == target
    assert target.read_bytes() == RULES.to_text().encode("utf-8")
    assert len(flushed) == 2  # the file, and its name in the folder
    with pytest.raises(FileInTheWayError, match=r"a\.rules.*overwrite"):
        OTHER.save(target)
    assert RuleSet.load(target) == RULES
    OTHER.save(target, overwrite=True)
    assert RuleSet.load(target) == OTHER
    assert only(target.parent) == ["a.rules"]


def test_saved_file_never_replaces_one_that_appeared_in_between(target, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: target.write_text(OLD))
    with pytest.raises(FileInTheWayError, match=r"a\.rules"):
        RULES.save(target)
    assert target.read_text() == OLD
    assert only(target.parent) == ["a.rules"]


def save_with_a_fault(patch, target, overwrite, nth, act):
    """Save, and do this at the n-th step that the system may fail at; tell whether there were so many."""
    count = itertools.count()

    def counted(step):
        return lambda *args, **named: act() if next(count) == nth else step(*args, **named)

    class Stream(io.FileIO):
        write, flush = counted(io.FileIO.write), counted(io.FileIO.flush)

    for name in ("chmod", "replace", "hardlink_to", "unlink"):
        patch.setattr(Path, name, counted(getattr(Path, name)))
    patch.setattr(Path, "open", counted(Stream))
    for name in ("open", "fsync", "close"):
        patch.setattr(os, name, counted(getattr(os, name)))
    try:
        RULES.save(target, overwrite=overwrite)
    finally:
        patch.undo()
    return next(count) > nth


FAULTS = [OSError(28, "No space left on device"), PermissionError(13, "Permission denied", "other"),
          KeyboardInterrupt("a.rules")]  # fmt: skip


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("error", FAULTS)
def test_saved_file_that_fails_at_the_nth_step_is_the_old_or_the_new_one(target, overwrite, error):
    failures = 0
    for nth in range(40):
        target.unlink(missing_ok=True)
        if overwrite:
            target.write_text(OLD)
        said = None
        try:
            if not save_with_a_fault(pytest.MonkeyPatch(), target, overwrite, nth, fail(error)):
                break
        except (OSError, KeyboardInterrupt) as raised:
            said = str(raised)
        found = target.read_text("utf-8") if target.exists() else ""
        assert found in {RULES.to_text(), OLD * overwrite}
        assert "a.rules" in said if said else found == RULES.to_text()
        assert only(target.parent) == ["a.rules"] * bool(found)
        failures += found != RULES.to_text()
    assert 3 <= failures < nth < 39


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_saved_file_whose_writer_is_killed_at_the_nth_step_is_the_old_or_the_new_one(target):
    found = []
    for nth in range(40):
        target.write_text(OLD)
        if (child := os.fork()) == 0:
            patch, kill = pytest.MonkeyPatch(), lambda: os.kill(os.getpid(), signal.SIGKILL)
            os._exit(0 if save_with_a_fault(patch, target, True, nth, kill) else 1)
        status = os.waitpid(child, 0)[1]
        found.append(target.read_text("utf-8"))
        if os.WIFEXITED(status):
            break
    assert set(found) == {OLD, RULES.to_text()}
    assert found == sorted(found, key=[OLD, RULES.to_text()].index)


def test_saved_file_needs_no_links_and_no_folder_flushes(tmp_path, monkeypatch):
    opened = os.open

    def refuse_folders(path, *rest, **named):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **named)

    monkeypatch.setattr(Path, "hardlink_to", fail(OSError(95, "Operation not supported")))
    monkeypatch.setattr(os, "open", refuse_folders)
    for overwrite in (False, True):
        RULES.save(tmp_path / "a.rules", overwrite=overwrite)
    monkeypatch.undo()
    assert RuleSet.load(tmp_path / "a.rules") == RULES
    assert only(tmp_path) == ["a.rules"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_saved_file_has_the_permissions_of_the_one_it_replaces_or_of_the_umask(
    target, umask, monkeypatch
):
    before = os.umask(umask)
    try:
        RULES.save(target)
    finally:
        os.umask(before)
    assert mode_of(target) == 0o666 & ~umask
    modes, flush = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda d: (modes.append(stat.S_IMODE(os.fstat(d).st_mode)), flush(d))
    )
    for mode in (0o600, 0o640, 0o755):
        target.chmod(mode)
        modes.clear()
        RULES.save(target, overwrite=True)
        # Also while it is written.
        assert (mode_of(target), modes[0]) == (mode, mode)


def test_saved_file_follows_links_and_goes_into_a_pipe_that_stays_a_pipe(tmp_path):
    real, link, pipe = (
        tmp_path / "there" / "real.rules",
        tmp_path / "a.rules",
        tmp_path / "pipe.rules",
    )
    real.parent.mkdir()
    (tmp_path / "middle").symlink_to(real)
    link.symlink_to("middle")
    for text in (None, OLD):
        if text:
            real.write_text(text)
            real.chmod(0o640)
        with pytest.raises(FileInTheWayError, match=r"a\.rules"):
            RULES.save(link)
        assert RULES.save(link, overwrite=True) == link
        assert link.is_symlink()
        assert RuleSet.load(real) == RULES
        assert not text or mode_of(real) == 0o640
        assert only(real.parent) == ["real.rules"]
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        OTHER.save(pipe)
        assert os.read(end, 100) == b"x > 3 => a\n"
    finally:
        os.close(end)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_saved_file_is_refused_where_no_file_can_be(tmp_path, monkeypatch):
    target = tmp_path / "a.rules"
    (tmp_path / "folder.rules").mkdir()
    (tmp_path / "b.rules").symlink_to("c.rules")
    (tmp_path / "c.rules").symlink_to("b.rules")
    target.write_text(OLD)
    half = parse_rules("x > 3 => a", classes=["a", "\ud800"])
    # The superuser may write anywhere, so the answer of the system is put in by hand.
    monkeypatch.setattr(os, "access", lambda *_: False)
    for rules, name, error in [
        (RULES, "folder.rules", IsADirectoryError),
        (RULES, "nowhere/a.rules", FileNotFoundError),
        (RULES, "b.rules", OSError),
        (RULES, "a.rules", PermissionError),
        (half, "half.json", InvalidValueError),
    ]:
        before = only(tmp_path)
        with pytest.raises(error, match=name):
            rules.save(tmp_path / name, overwrite=True)
        assert only(tmp_path) == before
    assert target.read_text() == OLD
