"""What people do on the pages, in the words of the stories."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

TRAINED = re.compile(r"^now (a plane|\d+ rules)")


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
    page.locator("#machine-now").get_by_text(TRAINED).wait_for()
    judged(page)


def card(page: Page, rule: int) -> Locator:
    """The card of a rule on the right."""
    return page.locator(f'#bars .rule-card[data-place="{rule}"]')


def handle(page: Page, rule: int, feature: str, side: str) -> Locator:
    """The end of an interval, as the slider that it is."""
    word = {"low": "lower", "high": "upper"}[side]
    return card(page, rule).get_by_role("slider", name=f"{word} bound of {feature} in")


def take_hold(page: Page, slider: Locator) -> tuple[float, float]:
    """Press the button of the mouse over the end of an interval."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
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
    tabs.get_by_role("link", name=name, exact=True).click()
    expect(tabs.get_by_role("link", name=name, exact=True)).to_have_attribute(
        "aria-current", "page"
    )
