"""A browser for all stories, and projects that are ready to be worked on."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.workbench.server_client import PATIENCE, Workbench, running_workbench
from tests.workbench.stories.ready_projects import copied, wait_for_result
from tests.workbench.stories.tables import credit_csv
from tests.workbench.stories.watched_tabs import Tabs
from tools.find_browser import find_browser

from clearmargin.workbench import projects
from clearmargin.workbench.project_file import ProjectFile

expect.set_options(timeout=1000 * PATIENCE)

# Nothing but what is asked for leaves the machine.
ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CREDIT_TASK = {
    "target": "outcome",
    "positive": "default",
    "missing": "impute",
    "drop": ["loan"],
    "actions": {"debt_ratio": {"direction": "down", "cost": 10}, "income": {"direction": "up"}},
    "units": {"income": "EUR"},
}
WORKED_RULES = (
    "late: late >= 3 => default\nsolid: income >= 5000 and debt_ratio <= 0.4 => paid\n"
    "homeless: home in {family, rent} and debt_ratio >= 0.5 => default\n"
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all stories that a worker tells; closed after them, since other tests need the event loop."""
    is_root = sys.platform == "linux" and os.geteuid() == 0
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=find_browser(), args=[*ARGUMENTS, *["--no-sandbox"] * is_root]
        )
        yield started
        started.close()


@pytest.fixture(scope="package", autouse=True)
def same_sample() -> Iterator[None]:
    """Seals the same rows in every run, so that a story has one course."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projects, "secrets", SimpleNamespace(randbelow=lambda _: 5))
        yield


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Workbench]:
    """The workbench over a folder that the stories of a module share."""
    with running_workbench(tmp_path_factory.mktemp("projects")) as running:
        yield running


@pytest.fixture
def tabs(browser, served) -> Iterator[Tabs]:
    """Opens tabs on the workbench of the module; in the end nothing may have left the machine or been complained of."""
    made = Tabs(browser, served.port, served.access)
    yield made
    made.close()


@pytest.fixture
def figures(request) -> Iterator[dict[str, float]]:
    """Seconds that a story has measured; written down where CLEARMARGIN_PICTURES names a folder."""
    measured: dict[str, float] = {}
    yield measured
    folder = os.environ.get("CLEARMARGIN_PICTURES")
    if folder and measured:
        lines = [f"{request.node.name}: {what} {value:.4f} s\n" for what, value in measured.items()]
        with Path(folder, "figures.txt").open("a", encoding="utf-8") as file:
            file.writelines(lines)


@pytest.fixture(scope="package")
def credit_file(tmp_path_factory) -> Path:
    """A project about loans, whose first machine is trained."""
    folder = tmp_path_factory.mktemp("ready")
    with running_workbench(folder) as running:
        client = running.client
        made = client.upload("/projects", "credit.csv", credit_csv().encode())
        home = (made.header("location") or "").removesuffix("/data")
        assert client.post_json(f"{home}/task", {"settings": CREDIT_TASK}).status == 200
        wait_for_result(client, home, "outcome")
    (path,) = folder.glob("*.clearmargin")
    return path


@pytest.fixture(scope="package")
def worked_file(credit_file, tmp_path_factory) -> Path:
    """The same after some work: two versions with rules, everything found that can be asked for, an exam, a note."""
    path = tmp_path_factory.mktemp("worked") / credit_file.name
    shutil.copy(credit_file, path)
    with ProjectFile.open(path, writing=False) as file:
        home = f"/p/{file.id}"
    with running_workbench(path.parent) as running:
        client = running.client
        client.get("/")
        for base, text in enumerate((WORKED_RULES.partition("\n")[0], WORKED_RULES), start=1):
            kept = {"text": text, "why": "what the branch knows", "base": base}
            assert client.post_json(f"{home}/revisions", kept).status == 201
            wait_for_result(client, home, "outcome")
        for kind, result in (
            ("extract", "rules"),
            ("refine", "refined"),
            ("contrast", "contrast"),
            ("exports", "exports"),
        ):
            assert client.post_json(f"{home}/jobs", {"kind": kind}).status == 202
            wait_for_result(client, home, result)
        assert client.post_form(f"{home}/exam", {"author": "an auditor"}).status == 303
        row = re.findall(rf'href="{home}/cases/(\d+)"', client.get(f"{home}/cases").text)[0]
        assert client.post_form(f"{home}/cases/{row}/notes", {"text": "called twice"}).status == 303
    return path


@pytest.fixture
def credit(served, credit_file) -> Callable[[], str]:
    """Makes projects about loans, each with a trained machine and no rules; gives the address of one."""
    return lambda: copied(served, credit_file)


@pytest.fixture
def worked(served, worked_file) -> str:
    """The address of a project that was worked on."""
    return copied(served, worked_file)
