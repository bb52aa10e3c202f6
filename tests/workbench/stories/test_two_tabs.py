"""Two tabs on one project, and what is written in them: nothing is lost, and nobody overwrites anybody unseen."""

from playwright.sync_api import Page, expect
from tests.workbench.stories.conftest import go_to, judged, keep, text_of, trained, write

MINE = "mine: late >= 2 => default\n"
THEIRS = "theirs: age >= 60 => paid\n"


def keep_and_be_met(page: Page, why: str) -> None:
    """Keep a version, and find that somebody was quicker."""
    page.locator("#keep").click()
    page.get_by_label("Why?").fill(why)
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.locator("#stale")).to_be_visible()


def test_a_stale_tab_is_shown_both_differences_and_loses_nothing(tabs, credit):
    # What the browser itself writes when an answer is 409; the page shows what it means.
    tabs.expected.append(r"^error: Failed to load resource: .* 409 \(Conflict\)")
    address = f"{credit()}/rules"
    mine, theirs = tabs.open(address), tabs.open(address)
    trained(mine)
    trained(theirs)
    write(mine, MINE)
    write(theirs, THEIRS)
    keep(theirs, "old people pay")
    expect(mine.locator("#news")).to_contain_text("kept version 2: old people pay")
    expect(mine.locator("#keep")).to_have_text("Keep as v3 …")
    assert text_of(mine) == MINE
    keep_and_be_met(mine, "late is late")
    expect(mine.locator("#stale-mine")).to_have_text(f"+ {MINE}")
    expect(mine.locator("#stale-head")).to_have_text(f"+ {THEIRS}")
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
    # The other tab may have sent what it typed after it was kept.
    mine.locator(".drafts summary").click()
    aside = mine.locator(".drafts li").filter(has_text=MINE.strip())
    aside.get_by_role("link", name="go on with it").click()
    trained(mine)
    keep_and_be_met(mine, "late is late after all")
    mine.get_by_role("button", name="Keep mine on top of theirs").click()
    expect(mine.locator("#news")).to_contain_text("Kept as version 3")
    expect(theirs.locator("#news")).to_contain_text("kept version 3: late is late after all")
    go_to(mine, "History")
    expect(mine.locator("#v3 .went")).to_have_text(f"- {THEIRS.strip()}")
    expect(mine.locator("#v3 .came")).to_have_text(f"+ {MINE.strip()}")


def test_what_is_being_written_survives_other_pages_reloads_and_haste(tabs, credit):
    home = credit()
    page = tabs.open(f"{home}/rules")
    trained(page)
    page.locator("#text").fill(MINE)
    # At once, before anything was sent.
    page.reload()
    judged(page)
    assert text_of(page) == MINE
    page.locator("#text").fill(MINE + THEIRS)
    page.goto(f"{home}/cases")
    page.locator("table.cases tbody a").first.click()
    page.get_by_role("link", name="make a rule of this").click()
    judged(page)
    first, second, third = text_of(page).splitlines()
    assert [first, second] == (MINE + THEIRS).splitlines()
    assert "=>" in third
    # It comes once.
    page.reload()
    judged(page)
    assert text_of(page).splitlines() == [first, second, third]
    keep(page, "all three")
    page.keyboard.press("Control+s")
    page.keyboard.type("not yet")
    # A second time by habit: what was typed stays.
    page.keyboard.press("Control+s")
    expect(page.get_by_label("Why?")).to_have_value("not yet")
    page.keyboard.press("Escape")
    expect(page.locator("#keep-dialog")).to_be_hidden()
    go_to(page, "History")
    expect(page.locator(".entry")).to_have_count(2)
