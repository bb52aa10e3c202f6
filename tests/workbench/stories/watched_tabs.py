"""Tabs of a browser that tell of every request, message and report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Request
from tests.workbench.server_client import PATIENCE

from clearmargin.workbench.guard import Access

REPORT = "addEventListener('securitypolicyviolation', (e) => reportPolicy(e.violatedDirective + ' ' + e.blockedURI))"


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

    def forget(self) -> None:
        """Begin anew."""
        for notes in (self.elsewhere, self.said, self.reports):
            notes.clear()

    def check(self) -> None:
        """No request left the machine, the console is empty, and the policy was never offended."""
        surprises = [
            text for text in self.said if not any(re.search(known, text) for known in self.expected)
        ]
        found = [*self.elsewhere, *surprises, *self.reports]
        assert not found, "\n".join(found)


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
