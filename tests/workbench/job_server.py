"""A server with one job, for tests that end it in rough ways.

Called as ``job_server.py PROJECT KIND FILE HOW``: makes the project, starts a job that writes its process number to the
file, and then does as `how` says: "wait" sleeps until it is interrupted or killed, "leave" returns without closing
anything, "work" waits for the end of the job and prints it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from clearmargin.workbench.events import Events
from clearmargin.workbench.jobs import Jobs
from clearmargin.workbench.project_file import ProjectFile


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(project: str, kind: str, file: str, how: str) -> None:
    opened = ProjectFile.create(project, name="a", made_by="a test")
    jobs = Jobs(opened, Events(), function="job_functions:run")
    given = {"file": file, "child": f"{file}.child"}
    job = jobs.start(kind, given)
    if how == "work":
        ended = jobs.wait(job.id)
        say(f"{ended.state} {ended.error}")
        jobs.close()
        opened.close()
        return
    while not (Path(file).exists() and Path(file).read_text(encoding="ascii")):
        time.sleep(0.01)
    if how == "leave":
        return
    try:
        say("ready")
        while True:
            jobs.wait(jobs.start("steps", {"n": 1}).id)
    except KeyboardInterrupt:
        jobs.close()
        opened.close()
        say("closed")


if __name__ == "__main__":
    main(*sys.argv[1:])
