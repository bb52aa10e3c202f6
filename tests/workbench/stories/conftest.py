"""A browser that tells of every request, message and report, and projects that are ready to be worked on."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    expect,
    sync_playwright,
)
from tests.workbench.server_client import PATIENCE, Workbench, running_workbench
from tests.workbench.stories.tables import credit_csv
from tools.find_browser import find_browser

from clearmargin.workbench import projects
from clearmargin.workbench.guard import Access
from clearmargin.workbench.project_file import ProjectFile

expect.set_options(timeout=1000 * PATIENCE)

# Nothing but what is asked for leaves the machine.
ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
REPORT = "addEventListener('securitypolicyviolation', (e) => reportPolicy(e.violatedDirective + ' ' + e.blockedURI))"


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


@dataclass
class Watch:
    """What pages did that no page may do."""

    port: int
    elsewhere: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    # Messages of the browser that a story brings about on purpose.
    expected: list[str] = field(default_factory=list)

    def request(self, request: Request) -> None:
        if not request.url.startswith((f"http://127.0.0.1:{self.port}/", "data:", "blob:")):
            self.elsewhere.append(request.url)

    def console(self, message: ConsoleMessage) -> None:
        self.said.append(f"{message.type}: {message.text}")

    def policy(self, report: str) -> None:
        self.reports.append(report)

    def error(self, error: Error) -> None:
        self.said.append(str(error))

    def check(self) -> None:
        """No request left the machine, the console is empty, and the policy was never offended."""
        surprises = [
            text for text in self.said if not any(re.search(known, text) for known in self.expected)
        ]
        assert (self.elsewhere, surprises, self.reports) == ([], [], [])


class Tabs:
    """Contexts of the browser, each under watch, and with the cookie of a workbench where its access is known."""

    def __init__(self, browser: Browser, port: int, access: Access | None = None):
        self.browser, self.port, self.access = browser, port, access
        self.watch = Watch(port)
        self.contexts: list[BrowserContext] = []

    def context(self, **options: Any) -> BrowserContext:
        """Make a context, as a browser of its own would be."""
        given = {"viewport": {"width": 1380, "height": 900}, **options}
        address = f"http://127.0.0.1:{self.port}"
        made = self.browser.new_context(base_url=address, **given)
        self.contexts.append(made)
        made.set_default_timeout(1000 * PATIENCE)
        made.on("request", self.watch.request)
        made.on("console", self.watch.console)
        made.on("weberror", lambda found: self.watch.error(found.error))
        if given.get("java_script_enabled", True):
            made.expose_function("reportPolicy", self.watch.policy)
            made.add_init_script(REPORT)
        if self.access is not None:
            cookie = {"name": self.access.cookie, "value": self.access.session, "url": address}
            made.add_cookies([{**cookie, "sameSite": "Strict", "httpOnly": True}])
        return made

    def open(self, address: str = "/", **options: Any) -> Page:
        """Open a page in a context of its own."""
        page = self.context(**options).new_page()
        page.goto(address)
        return page

    def close(self) -> None:
        """Close all, and look at what was watched."""
        for context in self.contexts:
            context.close()
        self.watch.check()


@pytest.fixture
def tabs(browser, served) -> Iterator[Tabs]:
    """Opens tabs on the workbench of the module; in the end nothing may have left the machine or been complained of."""
    made = Tabs(browser, served.port, served.access)
    yield made
    made.close()


@pytest.fixture(scope="package")
def credit_file(tmp_path_factory) -> Path:
    """A project about loans, whose first machine is trained."""
    folder = tmp_path_factory.mktemp("ready")
    with running_workbench(folder) as running:
        client = running.client
        made = client.upload("/projects", "credit.csv", credit_csv().encode())
        home = (made.header("location") or "").removesuffix("/data")
        task = {"target": "outcome", "positive": "default", "missing": "impute", "drop": ["loan"]}
        assert client.post_json(f"{home}/task", {"settings": task}).status == 200
        deadline = time.monotonic() + PATIENCE
        while client.get(f"{home}/results/outcome").json()["found"] is None:
            assert time.monotonic() < deadline, "the first machine is not trained"
            time.sleep(0.02)
    (path,) = folder.glob("*.clearmargin")
    return path


@pytest.fixture
def credit(served, credit_file) -> Callable[[], str]:
    """Makes projects about loans, each with a trained machine and no rules; gives the address of one."""

    def make() -> str:
        ready = served.folder / credit_file.name
        if not ready.exists():
            shutil.copy(credit_file, ready)
        client = served.client
        client.get("/")
        with ProjectFile.open(credit_file, writing=False) as file:
            made = client.post_form("/duplicates", {"project": file.id})
        assert made.status == 303, made.text
        return str(made.header("location"))

    return make
