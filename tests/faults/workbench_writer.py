"""A process that writes to project files as fast as it can, says what is committed, and waits to be killed."""

import hashlib
import itertools
import json
import os
import random
import sys
import threading
from pathlib import Path

from tests.seams import ProjectFile
from tests.workbench.project_files import add_version


def say(*words):
    # One call and below 4 kB: such a line is never cut.
    os.write(1, (json.dumps(words) + "\n").encode())


def keep_versions(file, seed):
    draw = random.Random(seed)
    for k in itertools.count():
        number, digest = add_version(file, f"age >= {k} => ill\n" * draw.randint(0, 200), f"{k}")
        say("revision", number, digest)


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
    say("open")
    for work in (keep_versions, type_drafts, run_jobs):
        threading.Thread(target=work, args=(file, seed)).start()


def create(folder, seed):
    say("open")
    for k in itertools.count():
        path = Path(folder, f"{seed}-{k}.clearmargin")
        ProjectFile.create(path, name=f"{seed}-{k}", made_by="child").close()
        say("made", path.name)


if __name__ == "__main__":
    {"write": write, "create": create}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
