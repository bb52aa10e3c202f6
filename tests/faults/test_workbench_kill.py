"""A process killed between two writes loses nothing that it has said to be written, and breaks nothing else.

`CLEARMARGIN_KILLS=200` kills 200 times instead of 4.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.seams import ProjectFile
from tests.workbench.project_files import add_version, new_project

pytestmark = pytest.mark.posix

KILLS = int(os.environ.get("CLEARMARGIN_KILLS", "4"))
COLUMN = {"revision": "hash", "event": "hash", "note": "text", "source": "sha256"}


def said_before_it_was_killed(act, target, seed, seconds, *, wait=True):
    """Start a process, kill it, and return what it has said; the time counts from its first word or from its start."""
    command = [sys.executable, "-m", "tests.faults.workbench_writer", act, str(target), str(seed)]
    pipe = subprocess.PIPE
    home = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=home, stdout=pipe, stderr=pipe, bufsize=0) as process:
        first = process.stdout.readline() if wait else b""
        try:
            rest, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            rest, errors = process.communicate()
    assert not errors, errors.decode()
    return [json.loads(line) for line in (first + rest).splitlines()]


# Each kill takes the start of a process, 0.2 s.
def test_kill_between_two_writes_loses_no_acknowledged_write(tmp_path):
    draw = random.Random()
    rows, jobs, last_draft = {name: {} for name in COLUMN}, set(), -1
    with new_project(tmp_path) as file:
        path = file.path
        add_version(file, "")
    for kill in range(KILLS):
        # One of four dies while it starts, opens the file and mends what the one before has left.
        wait = kill % 4 != 3
        for what, *rest in said_before_it_was_killed(
            "write", path, kill, draw.uniform(0.0, 0.2), wait=wait
        ):
            if what == "draft":
                last_draft = max(last_draft, rest[0])
            elif what == "job":
                jobs.add(rest[0])
            elif what != "open":
                rows[what][rest[0]] = rest[1]
        with ProjectFile.open(path) as file:
            assert file.verify() == [], kill
            for table, told in rows.items():
                found = dict(map(tuple, file.rows(f"SELECT id, {COLUMN[table]} FROM {table}")))
                assert told.items() <= found.items(), kill
            states = {job.id: job.state for job in file.jobs(limit=10**6)}
            assert all(states[number] == "done" for number in jobs)
            assert set(states.values()) <= {"done", "stopped"}
            if last_draft >= 0:
                assert int(file.draft("tab").text) >= last_draft
    with ProjectFile.open(path) as file:
        for number, digest in rows["source"].items():
            assert hashlib.sha256(file.source_bytes(number)).hexdigest() == digest
    assert len(rows["revision"]) + len(rows["event"]) > 0
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_kill_while_projects_are_made_leaves_whole_ones(tmp_path):
    draw = random.Random()
    for kill in range(max(2, KILLS // 4)):
        lines = said_before_it_was_killed("create", tmp_path, kill, draw.uniform(0.0, 0.15))
        made = {names[0] for what, *names in lines if what == "made"}
        there = {path.name for path in tmp_path.glob(f"{kill}-*.clearmargin")}
        assert made <= there
        assert len(there) <= len(made) + 1
        for name in there:
            with ProjectFile.open(tmp_path / name) as file:
                assert f"{file.name}.clearmargin" == name
                assert file.verify() == []
