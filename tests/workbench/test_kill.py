"""Processes are killed while they write: what they have said to be written is there, and nothing else is broken.

`CLEARMARGIN_KILLS=200` kills 200 times instead of 20.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clearmargin.workbench import project_file
from clearmargin.workbench.history import History
from clearmargin.workbench.project_file import ProjectFile

from .small_projects import kept_project, new_project, problems_of
from .writing_child import later_migrations

pytestmark = pytest.mark.posix

KILLS = int(os.environ.get("CLEARMARGIN_KILLS", "20"))
CHILD = Path(__file__).with_name("writing_child.py")


def said_before_it_was_killed(act, target, seed, seconds, *, wait=True):
    """Start a process, kill it, and return what it has said; the time counts from its start or from its first word."""
    process = subprocess.Popen(
        [sys.executable, CHILD, act, target, str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    with process:
        first = process.stdout.readline() if wait else b""
        try:
            rest, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            rest, errors = process.communicate()
    assert not errors, errors.decode()
    return [json.loads(line) for line in (first + rest).splitlines()]


class Acknowledged:
    """All that the processes have said to be written."""

    def __init__(self):
        self.rows = {name: {} for name in ("revision", "event", "note", "source")}
        self.jobs = set()
        self.draft = -1

    def hear(self, lines):
        for what, *rest in lines:
            if what == "draft":
                self.draft = max(self.draft, rest[0])
            elif what == "job":
                self.jobs.add(rest[0])
            elif what != "open":
                self.rows[what][rest[0]] = rest[1]

    def check(self, file):
        revisions = {revision.id: revision.hash for revision in History(file).all()}
        events = {event.id: event.hash for event in file.events()}
        notes = {note.id: note.text for note in file.notes()}
        assert self.rows["revision"].items() <= revisions.items()
        assert self.rows["event"].items() <= events.items()
        assert self.rows["note"].items() <= notes.items()
        jobs = {job.id: job.state for job in file.jobs(limit=1_000_000)}
        assert {jobs[number] for number in self.jobs} <= {"done"}
        assert set(jobs.values()) <= {"done", "stopped"}
        assert self.draft < 0 or int(file.draft("tab").text) >= self.draft

    def check_sources(self, file):
        for number, sha256 in self.rows["source"].items():
            assert hashlib.sha256(file.source_bytes(number)).hexdigest() == sha256

    def count(self):
        return sum(map(len, self.rows.values())) + len(self.jobs)


def test_no_acknowledged_write_is_lost_whenever_the_process_is_killed(tmp_path):
    draw = random.Random()  # other moments in each run
    heard = Acknowledged()
    with new_project(tmp_path) as file:
        path = file.path
    for kill in range(KILLS):
        # One of five dies while it starts, opens the file and mends what the one before has left.
        wait = kill % 5 != 4
        seconds = draw.uniform(0.0, 0.2)
        heard.hear(said_before_it_was_killed("write", path, kill, seconds, wait=wait))
        with ProjectFile.open(path) as file:
            assert file.verify() == [], f"after kill {kill}"
            heard.check(file)
            if kill % 10 == 9:
                heard.check_sources(file)
        if kill % 50 == 49:
            # A file that grows on and on would take ever longer to be read through.
            path.unlink()
            heard = Acknowledged()
            with new_project(tmp_path) as file:
                assert file.path == path
    if KILLS % 50:
        assert heard.count() > 0
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name}


def test_a_project_is_made_whole_or_not_at_all(tmp_path):
    draw = random.Random()
    for kill in range(max(2, KILLS // 10)):
        lines = said_before_it_was_killed("create", tmp_path, kill, draw.uniform(0.0, 0.15))
        made = {name for what, *names in lines for name in names if what == "made"}
        there = {path.name for path in tmp_path.glob(f"{kill}-*.clearmargin")}
        assert made <= there
        assert len(there) <= len(made) + 1
        for name in there:
            with ProjectFile.open(tmp_path / name) as file:
                assert f"{file.name}.clearmargin" == name
                assert file.verify() == []


def test_a_project_is_brought_up_to_date_whole_or_not_at_all(tmp_path, monkeypatch):
    draw = random.Random()
    (tmp_path / "origin").mkdir()
    origin = kept_project(tmp_path / "origin")
    monkeypatch.setattr(project_file, "read_migrations", later_migrations)
    for kill in range(max(2, KILLS // 10)):
        paths = [tmp_path / f"{kill}-{k:02}.clearmargin" for k in range(20)]
        for path in paths:
            shutil.copy(origin, path)
        lines = said_before_it_was_killed("migrate", tmp_path, kill, draw.uniform(0.0, 0.2))
        done = {name for what, *names in lines for name in names if what == "migrated"}
        for path in paths:
            is_copied = Path(f"{path}-version-1").exists()
            assert is_copied or path.name not in done
            with ProjectFile.open(path) as file:
                assert [event.what for event in file.events()].count("migrated") == 1
                assert len(file.rows("SELECT name FROM colour")) == 5
                assert file.verify() == []
    monkeypatch.undo()
    copies = list(tmp_path.glob("*-version-1"))
    assert len(copies) == len(list(tmp_path.glob("*.clearmargin")))
    assert problems_of(copies[0]) == []
