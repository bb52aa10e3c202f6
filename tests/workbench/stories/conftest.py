"""A browser, the real command, tabs that are watched, a project about loans, and what people do on the pages."""

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright
from tests.workbench.serving import PATIENCE, Client, command
from tools.find_browser import find_browser

expect.set_options(timeout=1000 * PATIENCE)

# Nothing but what is asked for leaves the machine.
ARGUMENTS = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
REPORT = "addEventListener('securitypolicyviolation', (e) => reportPolicy(e.violatedDirective + ' ' + e.blockedURI))"
WINDOW = {"width": 1380, "height": 900}


AXE = Axe()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LIGHT = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": TAGS}}
# In the dark only colours are others.
DARK = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
CREDIT_TASK = {
    "target": "outcome", "positive": "default", "missing": "impute", "drop": ["loan"],
    "actions": {"debt_ratio": {"direction": "down", "cost": 10}, "income": {"direction": "up"}},
    "units": {"income": "EUR"},
}  # fmt: skip


def credit_csv(rows: int = 300, seed: int = 7) -> str:
    """Loans: numbers, categories, missing values, and whether they were paid back."""
    rng = np.random.default_rng(seed)
    income = np.round(rng.gamma(4.0, 900.0, rows), 0).astype(int)
    age, debt = rng.integers(19, 76, rows), np.round(rng.beta(2, 4, rows), 3)
    late = rng.poisson(0.8, rows)
    home = rng.choice(["rent", "own", "family"], rows, p=[0.5, 0.35, 0.15])
    risk = 4.5 * (debt - 0.33) + 0.9 * late - 0.0008 * (income - 3500) - 0.8 * (home == "own")
    label = np.where(risk - 0.45 + rng.normal(0, 0.35, rows) > 0, "default", "paid")
    loan = [f"L{k:04d}" for k in range(rows)]
    table = pd.DataFrame({"loan": loan, "income": income, "age": age, "debt_ratio": debt})
    table = table.assign(late=late, home=home, outcome=label)
    gaps = rng.random((rows, 2)) < [0.04, 0.02]
    table.loc[gaps[:, 0], "debt_ratio"], table.loc[gaps[:, 1], "home"] = np.nan, None
    return table.to_csv(index=False)


def complaints(page: Page) -> list[str]:
    """What axe-core finds on a page in either theme."""
    found = []
    for theme, options in (("light", LIGHT), ("dark", DARK)):
        page.emulate_media(color_scheme=theme)
        for violation in AXE.run(page, options=options).response["violations"]:
            places = [node["target"] for node in violation["nodes"]]
            found.append(f"{theme}: {violation['id']}, {violation['help']}: {places}")
    page.emulate_media(color_scheme="light")
    return found


def write(page: Page, text: str) -> None:
    """Put a text into the editor, in place of what was there, and wait until it was checked."""
    page.locator("#text").fill(text)
    checked(page)


def checked(page: Page) -> None:
    """Wait until the cards are those of what stands in the editor."""
    page.locator("#bench:is([data-judged=checked], [data-judged=yes])").wait_for(state="attached")


def judged(page: Page) -> None:
    """Wait until what stands in the editor was judged, and what would change is known."""
    page.locator("#bench[data-judged=yes]").wait_for(state="attached")


def trained(page: Page) -> None:
    """Wait until the machine of the newest version is there."""
    page.locator("#machine-now").get_by_text(re.compile(r"^now (a plane|\d+ rules)")).wait_for()
    judged(page)


def card(page: Page, rule: int) -> Locator:
    """The card of a rule on the right."""
    return page.locator(f'#bars .rule-card[data-place="{rule}"]')


def handle(page: Page, rule: int, feature: str, side: str) -> Locator:
    """The end of an interval, as the slider that it is."""
    word = {"low": "lower", "high": "upper"}[side]
    return card(page, rule).get_by_role("slider", name=f"{word} bound of {feature} in")


def take_hold(page: Page, slider: Locator) -> tuple[float, float]:
    """Press the button of the mouse over the end of an interval, and again where the page moved meanwhile."""
    for _ in range(5):
        # Into the middle, away from the line at the bottom that stays in view; to hover waits until it is at rest.
        slider.evaluate("(element) => element.scrollIntoView({ block: 'center' })")
        slider.hover()
        box = slider.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        if slider.evaluate("(element) => element === document.activeElement"):
            break
        page.mouse.up()
    else:
        raise AssertionError(f"{slider} cannot be taken hold of")
    return x, y


def pull(page: Page, slider: Locator, by: float) -> None:
    """Pull the end of an interval by so many pixels, let it go, and wait until it was checked."""
    x, y = take_hold(page, slider)
    page.mouse.move(x + by, y + 5, steps=4)
    page.mouse.up()
    checked(page)


def keep(page: Page, why: str) -> None:
    """Keep the rules as a version, and wait until its machine is trained."""
    page.locator("#keep").click()
    page.get_by_label("Why?").fill(why)
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.locator("#news")).to_contain_text("Kept as version")
    trained(page)


def text_of(page: Page) -> str:
    return page.locator("#text").input_value()


def go_to(page: Page, name: str) -> None:
    """Open another page of the project by its tab."""
    tabs = page.get_by_role("navigation", name="Pages of this project")
    link = tabs.get_by_role("link", name=name, exact=True)
    link.click()
    expect(link).to_have_attribute("aria-current", "page")


def tab_to(page: Page, wanted: Locator, most: int = 90) -> None:
    """Press the tabulator until something has the focus."""
    expect(wanted).to_be_visible()
    for _ in range(most):
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} is not reached by the tabulator")


def cases_announced(page: Page) -> str:
    """How many cases change, as the page of rules says."""
    said = re.search(r"(\d+) cases? change", page.locator("#change").inner_text())
    assert said is not None
    return said[1]


def fits(page: Page) -> bool:
    """Whether no part of the page has to be pushed aside."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def frame_of(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


@dataclass
class Tabs:
    """Tabs on a workbench, each in a context as a browser of its own would be, and all under watch.

    To open a context takes as long as many a story, so that those of one story are used again by the next.
    """

    browser: Browser
    client: Client
    # What no page may do, and messages of the browser that a story brings about on purpose.
    said: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    idle: list[Page] = field(default_factory=list)
    used: list[Page] = field(default_factory=list)
    special: list[BrowserContext] = field(default_factory=list)

    def context(self, **options: Any) -> BrowserContext:
        address = f"http://127.0.0.1:{self.client.port}"
        made = self.browser.new_context(base_url=address, **{"viewport": WINDOW, **options})
        made.set_default_timeout(1000 * PATIENCE)
        ours = (f"{address}/", "data:", "blob:")
        made.on("request", lambda r: r.url.startswith(ours) or self.said.append(r.url))
        made.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        made.on("weberror", lambda found: self.said.append(str(found.error)))
        if options.get("java_script_enabled", True):
            made.expose_function("reportPolicy", self.report)
            made.add_init_script(REPORT)
        if self.client.cookie:
            name, _, value = self.client.cookie.partition("=")
            made.add_cookies([{"name": name, "value": value, "url": address, "sameSite": "Strict"}])
        return made

    def report(self, violation: str) -> None:
        self.said.append(violation)

    def open(self, address: str = "/", **options: Any) -> Page:
        """Open a page in a context that no other page of the story has."""
        if options:
            self.special.append(self.context(**options))
            page = self.special[-1].new_page()
        else:
            page = self.idle.pop() if self.idle else self.context().new_page()
            self.used.append(page)
        page.goto(address)
        return page

    def check(self) -> None:
        """No request left the machine, the console is empty, and the policy was never offended."""
        found = [text for text in self.said if not any(re.search(k, text) for k in self.expected)]
        assert not found, "\n".join(found)

    def end_story(self) -> None:
        """Look at what was watched, and leave everything as the next story wants to find it."""
        try:
            self.check()
        finally:
            self.said.clear()
            self.expected.clear()
            while self.used:
                page = self.used.pop()
                page.evaluate("sessionStorage.clear()")
                page.goto("about:blank")
                self.idle.append(page)
            while self.special:
                self.special.pop().close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all stories; closed after them, since other tests need the event loop."""
    is_root = sys.platform == "linux" and os.geteuid() == 0
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=find_browser(), args=[*ARGUMENTS, *["--no-sandbox"] * is_root]
        )
        yield started
        started.close()


@pytest.fixture(scope="package")
def client(tmp_path_factory) -> Iterator[Client]:
    """The real command over a folder that all stories share; it seals the same rows in every run."""
    with command("--folder", tmp_path_factory.mktemp("stories"), seed=5) as running:
        running.let_in()
        yield running.client


@pytest.fixture(scope="package")
def all_tabs(browser, client) -> Tabs:
    return Tabs(browser, client)


@pytest.fixture
def tabs(all_tabs) -> Iterator[Tabs]:
    yield all_tabs
    all_tabs.end_story()


@pytest.fixture(scope="package")
def credit_home(client) -> str:
    return client.project("credit.csv", credit_csv().encode(), CREDIT_TASK)


@pytest.fixture
def credit(client, credit_home) -> Callable[[], str]:
    """Makes projects about loans, each with a trained machine and no rules; gives the address of one."""
    return lambda: client.duplicate(credit_home)
