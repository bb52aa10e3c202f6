"""Every page fits into its window. With CLEARMARGIN_PICTURES=folder pictures are taken as well, to be looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.workbench.stories.driving import handle, judged, take_hold, trained

FOLDER = os.environ.get("CLEARMARGIN_PICTURES")
WIDTHS = (1380, 800)

# Elements whose text is wider than they are, or that reach beyond the window, outside of what may be scrolled.
BEYOND = """() => {
    const beyond = [];
    for (const element of document.querySelectorAll("body *")) {
        if (element.closest(".scroll, pre, .unseen, svg, dialog:not([open]), [hidden], .skip, option")) continue;
        const box = element.getBoundingClientRect();
        if (box.width && box.right > innerWidth + 1) beyond.push(element.outerHTML.slice(0, 80));
    }
    return beyond;
}"""


def rules(page: Page) -> None:
    trained(page)


def mistakes(page: Page) -> None:
    trained(page)
    page.locator("#text").fill(
        "incom <= 3 => paid\nyoung: age <= 40 => paid\nage >= 28 => default\n"
    )
    judged(page)
    page.locator("#text").press("Control+End")
    page.keyboard.type("deb")
    page.keyboard.press("Control+Space")
    expect(page.locator("#candidates")).to_be_visible()


def pulled(page: Page) -> None:
    trained(page)
    x, y = take_hold(page, handle(page, 1, "debt_ratio", "high"))
    page.mouse.move(x + 40, y, steps=2)


def machine(page: Page) -> None:
    trained(page)
    page.get_by_role("tab", name="The machine's rules").click()
    expect(page.locator("#machine-rules article").first).to_be_visible()


def refined(page: Page) -> None:
    trained(page)
    page.get_by_role("tab", name="Refined").click()
    expect(page.locator("#refined .suggestion").first).to_be_visible()


def keeping(page: Page) -> None:
    trained(page)
    page.keyboard.press("Control+s")


def keys(page: Page) -> None:
    page.get_by_role("button", name="Keys").click()


def case(page: Page) -> None:
    page.locator("table.cases tbody a").first.click()
    expect(page.locator("#make-rule")).to_be_visible()
    page.get_by_role("button", name="find the cheapest change").click()
    expect(page.locator("#recourse-answer")).to_have_text(re.compile(r"\w+ \w+ \w+"))


def nothing(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()


PAGES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "start": ("/", nothing),
    "data": ("{home}/data", nothing),
    "rules": ("{home}/rules", rules),
    "rules-mistakes": ("{home}/rules", mistakes),
    "rules-pulled": ("{home}/rules", pulled),
    "rules-machine": ("{home}/rules", machine),
    "rules-refined": ("{home}/rules", refined),
    "rules-keeping": ("{home}/rules", keeping),
    "keys": ("{home}/history", keys),
    "cases": ("{home}/cases?which=wrong&sort=boundary", nothing),
    "case": ("{home}/cases?which=wrong", case),
    "history": ("{home}/history", nothing),
    "revision": ("{home}/revisions/3", nothing),
    "difference": ("{home}/revisions/2/against/3", nothing),
    "contrast": ("{home}/contrast", nothing),
    "export": ("{home}/export?form=sql-sqlite", nothing),
    "problem": ("{home}/cases?which=odd", nothing),
}
PRINTED = ("rules", "case", "history")


def test_every_page_fits_into_its_window(tabs, worked):
    tabs.watch.expected.append(r"^error: Failed to load resource: .* 422")
    page = tabs.open("about:blank")
    beyond = {}
    for width in WIDTHS if FOLDER else WIDTHS[1:]:
        page.set_viewport_size({"width": width, "height": 900})
        for name, (address, prepare) in PAGES.items():
            page.goto(address.format(home=worked))
            prepare(page)
            beyond[name, width] = page.evaluate(BEYOND)
            if FOLDER:
                take_pictures(page, Path(FOLDER, f"{name}-{width}"), is_printed=name in PRINTED)
            tidy_up(page)
    assert {place: elements for place, elements in beyond.items() if elements} == {}


def tidy_up(page: Page) -> None:
    """Leave the page as the next one finds it: nothing held, nothing in the draft."""
    page.mouse.up()
    page.evaluate("sessionStorage.clear()")


def take_pictures(page: Page, path: Path, *, is_printed: bool) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=f"{path}-{theme}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    if is_printed:
        page.emulate_media(media="print")
        page.screenshot(path=f"{path}-print.png", full_page=True)
        page.emulate_media(media="screen")
