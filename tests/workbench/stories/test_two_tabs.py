"""Two tabs on one project, and what is written in them: nothing is lost, and nobody overwrites anybody unseen."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from tests.workbench.stories.complaints import complaints
from tests.workbench.stories.driving import go_to, judged, keep, text_of, trained, write

MINE = "mine: late >= 2 => default\n"
THEIRS = "theirs: age >= 60 => paid\n"
# What the browser itself writes when an answer is 409; the page shows what it means.
CONFLICT = r"^error: Failed to load resource: .* 409 \(Conflict\)"


def keep_and_be_met(page: Page, why: str) -> None:
    """Keep a version, and find that somebody was quicker."""
    page.locator("#keep").click()
    page.get_by_label("Why?").fill(why)
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.locator("#stale")).to_be_visible()


def test_a_stale_tab_is_shown_both_differences_and_loses_nothing(tabs, credit):
    tabs.watch.expected.append(CONFLICT)
    address = f"{credit()}/rules"
    mine, theirs = tabs.open(address), tabs.open(address)
    trained(mine)
    trained(theirs)
    write(mine, MINE)
    write(theirs, THEIRS)
    keep(theirs, "old people pay")

    expect(mine.locator("#news")).to_contain_text("kept version 2: old people pay")
    expect(mine.locator("#keep")).to_have_text("Keep as v3 …")
    expect(mine.locator(".head-version")).to_contain_text("v2")
    assert text_of(mine) == MINE
    keep_and_be_met(mine, "late is late")
    expect(mine.locator("#stale-text")).to_contain_text("old people pay")
    expect(mine.locator("#stale-mine")).to_have_text(f"+ {MINE}")
    expect(mine.locator("#stale-head")).to_have_text(f"+ {THEIRS}")
    assert complaints(mine) == []

    mine.get_by_role("button", name="Go on editing").click()
    assert text_of(mine) == MINE
    keep_and_be_met(mine, "late is late")
    mine.get_by_role("button", name="Take theirs").click()
    expect(mine.locator("#news")).to_contain_text("put aside")
    judged(mine)
    assert text_of(mine) == THEIRS

    # What was put aside is among the unfinished texts, and can be kept on top of theirs.
    mine.reload()
    trained(mine)
    assert text_of(mine) == THEIRS
    mine.get_by_text("1 unfinished text of other tabs").click()
    expect(mine.locator(".drafts pre")).to_have_text(MINE)
    mine.get_by_role("link", name="go on with it").click()
    trained(mine)
    assert text_of(mine) == MINE
    keep_and_be_met(mine, "late is late after all")
    mine.get_by_role("button", name="Keep mine on top of theirs").click()
    expect(mine.locator("#news")).to_contain_text("Kept as version 3")
    expect(theirs.locator("#news")).to_contain_text("kept version 3: late is late after all")
    go_to(mine, "History")
    expect(mine.locator(".entry")).to_have_count(3)
    expect(mine.locator("#v3 .went")).to_have_text(f"- {THEIRS.strip()}")
    expect(mine.locator("#v3 .came")).to_have_text(f"+ {MINE.strip()}")


def test_what_is_being_written_survives_other_pages_reloads_and_haste(tabs, credit):
    page = tabs.open(f"{credit()}/rules")
    trained(page)
    page.locator("#text").fill(MINE)
    # At once, before anything was sent.
    page.reload()
    judged(page)
    assert text_of(page) == MINE
    page.locator("#text").fill(MINE + THEIRS)
    go_to(page, "Cases")
    expect(page.get_by_role("heading", name="Cases")).to_be_visible()
    go_to(page, "Rules")
    judged(page)
    assert text_of(page) == MINE + THEIRS
    expect(page.locator(".drafts")).to_have_count(0)
    keep(page, "both")
    go_to(page, "History")
    go_to(page, "Rules")
    trained(page)
    assert text_of(page) == MINE + THEIRS
    expect(page).to_have_url(re.compile(r"/rules$"))


def test_a_rule_made_of_a_case_comes_to_what_is_being_written_and_comes_once(tabs, credit):
    home = credit()
    page = tabs.open(f"{home}/rules")
    trained(page)
    # At once, before anything was sent.
    page.locator("#text").fill(MINE)
    page.goto(f"{home}/cases")
    page.locator("table.cases tbody a").first.click()
    page.get_by_role("link", name="make a rule of this").click()
    judged(page)
    first, second = text_of(page).splitlines()
    assert first == MINE.strip()
    assert "=>" in second
    page.locator("#text").press("Control+End")
    page.keyboard.type("# seen in a case\n")
    expect(page).to_have_url(re.compile(r"/rules\?tab=\w+$"))
    page.reload()
    judged(page)
    assert text_of(page).splitlines() == [first, second, "# seen in a case"]


def test_a_dialog_that_is_left_by_escape_keeps_nothing(tabs, credit):
    page = tabs.open(f"{credit()}/rules")
    trained(page)
    write(page, MINE)
    keep(page, "once")
    page.keyboard.press("Control+s")
    page.keyboard.type("not yet")
    # A second time by habit: what was typed stays.
    page.keyboard.press("Control+s")
    expect(page.get_by_label("Why?")).to_have_value("not yet")
    page.keyboard.press("Escape")
    expect(page.locator("#keep-dialog")).to_be_hidden()
    go_to(page, "History")
    expect(page.locator(".entry")).to_have_count(2)


def test_a_version_is_restored_as_a_new_one_and_the_sealed_sample_is_opened_on_record(tabs, credit):
    page = tabs.open(f"{credit()}/rules")
    trained(page)
    write(page, MINE)
    keep(page, "a first try")
    go_to(page, "History")
    expect(page.locator("#v2")).to_contain_text("a first try")
    page.get_by_label("Why is v1 restored?").fill("it was better")
    page.get_by_role("button", name="restore v1").click()
    expect(page.locator("#v3")).to_contain_text("Restores v1")
    page.get_by_role("link", name="compare with v2").click()
    expect(page.get_by_role("heading", name="Version 2 against 3")).to_be_visible()
    expect(page.locator(".difference .went")).to_have_text(f"- {MINE.strip()}")
    go_to(page, "Rules")
    trained(page)
    assert text_of(page) == ""
    go_to(page, "History")
    page.get_by_label("Opened by").fill("an auditor")
    page.get_by_role("button", name="Open it for v3").click()
    expect(page.locator("#v3 .exam")).to_contain_text("by an auditor")
    expect(page.locator("#v3 .exam")).to_contain_text("opening number 1")
