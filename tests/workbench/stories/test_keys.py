"""Keys that lead everywhere, a page that works without scripts, and the watch that all stories are under."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.workbench.stories.driving import judged, text_of, trained
from tests.workbench.stories.watched_tabs import Tabs

RULE = "late: late >= 2 => default"


def test_keys_lead_to_all_pages_and_are_listed(tabs, credit):
    page = tabs.open(f"{credit()}/rules")
    trained(page)
    for key, name in ((1, "Data"), (3, "Cases"), (4, "History"), (5, "Export"), (2, "Rules")):
        page.keyboard.press(f"Alt+{key}")
        expect(page.locator("h1")).to_have_text(name)
        page.wait_for_load_state()
    # A question mark in the text is a question mark.
    page.locator("#text").press("Shift+?")
    expect(page.locator("#keys")).to_be_hidden()
    page.locator("#text").press("Control+z")
    page.locator("#text").blur()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    expect(page.locator("#keys dt")).to_have_count(8)
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_training_is_started_by_keys_and_cancelled_by_a_button(tabs, credit):
    page = tabs.open(f"{credit()}/rules")
    trained(page)
    page.get_by_label("Machine", exact=True).select_option("columns")
    page.locator("#text").fill(RULE)
    page.keyboard.press("Control+s")
    page.keyboard.type("rules with points")
    page.keyboard.press("Enter")
    work = page.locator("#jobs .job")
    work.wait_for()
    page.get_by_role("button", name="cancel").click()
    expect(work).to_have_count(0)
    expect(page.locator("#machine-now")).to_have_text(re.compile("^in training; before it"))
    page.keyboard.press("Control+Enter")
    expect(page.locator("#machine-now")).to_have_text(re.compile("^now .* rules with points"))
    judged(page)


def test_without_scripts_rules_are_kept_by_a_plain_form(tabs, credit):
    tabs.watch.expected.append(r"^error: Failed to load resource: .* 422")
    home = credit()
    page = tabs.open(f"{home}/rules", java_script_enabled=False)
    page.get_by_role("textbox", name="Your rules").fill(f"\n# by hand\n{RULE}\n")
    page.get_by_role("textbox", name="Why?").fill("the old way")
    page.get_by_role("button", name="Keep as v2").click()
    expect(page.locator(".head-version")).to_contain_text("v2")
    # The text is as it was sent, an empty line at its head included.
    assert text_of(page) == f"\n# by hand\n{RULE}\n"
    page.get_by_role("link", name="History").click()
    expect(page.locator("#v2")).to_contain_text("the old way")
    page.goto(f"{home}/rules")
    page.get_by_role("textbox", name="Your rules").fill("lat >= 2 => default")
    page.get_by_role("button", name="Keep as v3").click()
    expect(page.locator("main")).to_contain_text("did you mean 'late'?")
    page.get_by_role("link", name="Back to the project").click()
    assert text_of(page) == f"\n# by hand\n{RULE}\n"
    page.get_by_role("link", name="Cases").click()
    page.get_by_label("covered by").select_option("late")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("table.cases tbody tr").first).to_contain_text("late: default")


# What no page may do, and a word of the complaint.
DEEDS = {
    "console.log('psst')": "psst",
    "setTimeout(() => { throw new Error('oops') })": "oops",
    "fetch('http://127.0.0.1:9/elsewhere').catch(() => 0)": "elsewhere",
    "document.body.append(Object.assign(document.createElement('script'), {text: '1'}))": "script",
    "void Object.assign(new Image(), {src: 'http://127.0.0.1:9/spy.png'})": "spy",
}


def test_the_watch_sees_what_no_page_may_do(browser, served):
    tabs = Tabs(browser, served.port, served.access)
    page = tabs.open("/")
    for deed, complaint in DEEDS.items():
        tabs.watch.check()
        page.evaluate(deed)
        page.wait_for_timeout(100)
        with pytest.raises(AssertionError, match=complaint):
            tabs.watch.check()
        tabs.watch.forget()
    tabs.close()
