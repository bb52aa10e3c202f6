"""Everybody can use the pages: axe-core finds nothing to complain of, in the light and in the dark."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.workbench.stories.complaints import complaints
from tests.workbench.stories.driving import judged, trained, write


def test_every_page_can_be_used_by_everybody(tabs, worked):
    page = tabs.open("/")
    found = {}
    for address in (
        *("data", "data?target=home", "cases", "cases?which=wrong", "contrast", "history"),
        *("export", "export?subject=machine&form=python", "revisions/3", "revisions/2/against/3"),
    ):
        page.goto(f"{worked}/{address}")
        found[address] = complaints(page)
    assert {address: texts for address, texts in found.items() if texts} == {}


def test_the_start_page_and_refusals_can_be_used_by_everybody(tabs, worked):
    tabs.watch.expected.append(r"^error: Failed to load resource: .* (404|422)")
    page = tabs.open("/")
    assert complaints(page) == []
    for address in ("/nowhere", f"{worked}/cases/99999", f"{worked}/cases?which=odd"):
        page.goto(address)
        expect(page.get_by_role("heading")).to_be_visible()
        assert complaints(page) == []


def test_a_case_can_be_used_by_everybody(tabs, worked):
    page = tabs.open(f"{worked}/cases")
    page.locator("table.cases tbody a").first.click()
    expect(page.locator("#make-rule")).to_be_visible()
    page.get_by_role("button", name="find the cheapest change").click()
    expect(page.locator("#recourse-answer")).to_contain_text(re.compile(r"\w+ \w+ \w+"))
    assert complaints(page) == []


def test_the_page_of_rules_can_be_used_by_everybody_whatever_is_open(tabs, worked):
    page = tabs.open(f"{worked}/rules")
    trained(page)
    assert complaints(page) == []
    write(page, "incom <= 3 => paid\nage <= 30 => paid\nage >= 28 => default\n")
    page.keyboard.press("Control+Space")
    assert complaints(page) == []
    page.get_by_role("tab", name="The machine's rules").click()
    expect(page.locator("#machine-rules article").first).to_be_visible()
    assert complaints(page) == []
    page.reload()
    judged(page)
    write(page, "age <= 30 => paid\n")
    page.keyboard.press("Control+s")
    expect(page.locator("#keep-dialog")).to_be_visible()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keys").click()
    expect(page.locator("#keys")).to_be_visible()
    assert complaints(page) == []


def test_suggestions_can_be_used_by_everybody(tabs, worked):
    page = tabs.open(f"{worked}/rules")
    trained(page)
    page.get_by_role("tab", name="Refined").click()
    expect(page.locator("#refined .suggestion").first).to_be_visible()
    assert complaints(page) == []
