"""A physician without a mouse: nothing but the keyboard is used."""

import math
import re

import pytest
from playwright.sync_api import Page, expect
from tests.workbench.stories.conftest import (
    cases_announced,
    credit_csv,
    handle,
    judged,
    tab_to,
    text_of,
    trained,
)

RULES_OF_THUMB = "debt_ratio >= 0.5 and income <= 5000 => default\nlate >= 4 => default\n"


def test_a_physician_does_everything_by_keys(tabs):
    page = tabs.open()
    keys = page.keyboard

    def choose(wanted, key="Enter"):
        tab_to(page, wanted)
        keys.press(key)

    with page.expect_file_chooser() as chooser:
        choose(page.get_by_label("A table"))
    table = {"name": "t.csv", "mimeType": "text/csv", "buffer": credit_csv().encode()}
    chooser.value.set_files(table)
    choose(page.get_by_role("button", name="Make a project", exact=True))
    choose(page.get_by_label("Target"), "ArrowUp")
    expect(page).to_have_url(re.compile("target=home"))
    expect(page.get_by_label("Target")).to_be_focused()
    keys.press("ArrowDown")
    expect(page).to_have_url(re.compile("target=outcome"))
    choose(page.get_by_role("radio", checked=True).first, "ArrowDown")
    expect(page.get_by_label("default")).to_be_checked()
    choose(page.get_by_role("button", name="Train the first machine"))
    trained(page)
    tab_to(page, page.locator("#text"))
    keys.type(RULES_OF_THUMB)
    judged(page)
    move_bounds(page)
    see_cases_and_keep(page)
    for key, name in ((4, "History"), (2, "Rules")):
        keys.press(f"Alt+{key}")
        expect(page.locator("h1")).to_have_text(name)
        page.wait_for_load_state()
    page.locator("#text").blur()
    keys.press("?")
    expect(page.locator("#keys dt")).to_have_count(8)
    keys.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def move_bounds(page: Page) -> None:
    """Steps, ten steps, and no bound at all; text and slider say the same."""
    keys = page.keyboard
    slider = handle(page, 0, "debt_ratio", "low")
    tab_to(page, slider)
    start = float(slider.get_attribute("aria-valuenow") or "")
    for key in ("Shift+ArrowLeft", "Shift+ArrowLeft", "ArrowRight"):
        keys.press(key)
    judged(page)
    expect(slider).to_be_focused()
    place = float(slider.get_attribute("aria-valuenow") or "")
    step = (start - place) / 19
    assert step == pytest.approx(10.0 ** round(math.log10(step)))
    assert f"debt_ratio >= {place:g} " in text_of(page)
    tab_to(page, handle(page, 0, "income", "high"))
    keys.press("End")
    judged(page)
    assert "income" not in text_of(page).splitlines()[0]


def see_cases_and_keep(page: Page) -> None:
    keys = page.keyboard
    written, announced = text_of(page), cases_announced(page)
    tab_to(page, page.get_by_role("link", name="show the cases"))
    keys.press("Enter")
    expect(page.get_by_role("status").filter(has_text="case")).to_contain_text(f"{announced} case")
    tab_to(page, page.locator("table.cases tbody a").first)
    keys.press("Enter")
    expect(page.locator("#explanation")).to_contain_text("The case is")
    keys.press("Alt+2")
    judged(page)
    assert text_of(page) == written
    keys.press("Control+s")
    keys.type("old debts count twice")
    keys.press("Enter")
    expect(page.locator("#news")).to_contain_text("Kept as version")
    trained(page)
