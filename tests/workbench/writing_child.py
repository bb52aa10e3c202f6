"""A process that writes to projects as fast as it can, says what is committed, and waits to be killed.

Each line of its output is written after the write that it names has returned: that one must never be lost.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import sys
import threading
from pathlib import Path

from clearmargin.workbench import project_file
from clearmargin.workbench.history import History
from clearmargin.workbench.project_file import ProjectFile, read_migrations

SECOND_STEP = (
    "CREATE TABLE colour (name TEXT); ALTER TABLE note ADD COLUMN colour TEXT; "
    "INSERT INTO colour SELECT text FROM revision;"
)


def later_migrations():
    return [*read_migrations(), (2, SECOND_STEP)]


def say(*words):
    # One call and below 4 kB: such a line is never cut.
    os.write(1, (json.dumps(words) + "\n").encode())


def keep_versions(file, seed):
    history = History(file)
    draw = random.Random(seed)
    for k in itertools.count():
        head = history.head
        base = None if head is None else head.id
        if base is not None and draw.random() < 0.2:
            made = history.restore(draw.randint(1, base), why=f"{k}", author="child", base=base)
        else:
            text = f"age >= {k} => ill\n" * draw.randint(0, 200)
            made = history.keep(text, why=f"{k}", author="child", base=base, task=1, settings={})
        say("revision", made.id, made.hash)


def type_drafts(file, seed):
    for k in itertools.count():
        serial = seed * 1_000_000 + k
        file.put_draft("tab", None, f"{serial}")
        say("draft", serial)
        event = file.add_event("child", "typed", {"serial": serial})
        say("event", event.id, event.hash)


def run_jobs(file, seed):
    for k in itertools.count():
        job = file.add_job("train", {"seed": seed, "k": k})
        file.update_job(job.id, state="running", progress=0.5)
        file.update_job(job.id, state="done", progress=1.0)
        say("job", job.id)
        note = file.add_note(1, k, "child", f"{seed} {k}")
        say("note", note.id, note.text)
        if k % 5 == 0:
            content = random.Random(k).randbytes(30_000)
            source = file.add_source(f"{k}", content, reading={}, rows=1, columns=1)
            say("source", source.id, hashlib.sha256(content).hexdigest())


def write(path, seed):
    file = ProjectFile.open(path)
    if History(file).head is None:
        History(file).keep("", why="a start", author="child", base=None, task=1, settings={})
    say("open")
    for work in (keep_versions, type_drafts, run_jobs):
        threading.Thread(target=work, args=(file, seed)).start()


def create(folder, seed):
    say("open")
    for k in itertools.count():
        path = Path(folder, f"{seed}-{k}.clearmargin")
        ProjectFile.create(path, name=f"{seed}-{k}", made_by="child").close()
        say("made", path.name)


def migrate(folder, seed):
    project_file.read_migrations = later_migrations
    say("open")
    for path in sorted(Path(folder).glob(f"{seed}-*.clearmargin")):
        ProjectFile.open(path).close()
        say("migrated", path.name)


if __name__ == "__main__":
    {"write": write, "create": create, "migrate": migrate}[sys.argv[1]](
        sys.argv[2], int(sys.argv[3])
    )
