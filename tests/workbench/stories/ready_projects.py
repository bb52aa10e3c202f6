"""Projects that were made once, and are copied for each story."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tests.workbench.server_client import PATIENCE, Client, Workbench

from clearmargin.workbench.project_file import ProjectFile


def wait_for_result(client: Client, home: str, kind: str) -> None:
    """Wait until work on the newest version has left its result."""
    deadline = time.monotonic() + PATIENCE
    while client.get(f"{home}/results/{kind}").json()["found"] is None:
        assert time.monotonic() < deadline, f"{kind} takes too long"
        time.sleep(0.02)


def copied(served: Workbench, file: Path) -> str:
    """Put a copy of a project into the folder that is served; give its address."""
    ready = served.folder / f"{file.parent.name}-{file.name}"
    if not ready.exists():
        shutil.copy(file, ready)
    served.client.get("/")
    with ProjectFile.open(ready, writing=False) as opened:
        made = served.client.post_form("/duplicates", {"project": opened.id})
    assert made.status == 303, made.text
    return str(made.header("location"))
