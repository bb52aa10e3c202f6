"""Everybody can use the pages: by touch on a small screen, in the dark, with a reader of screens, without scripts."""

import re

import pytest
from playwright.sync_api import expect
from tests.workbench.stories.conftest import WINDOW, complaints, fits, judged, trained, write

RULE = "late: late >= 2 => default"
RULES = (
    f"{RULE}\nsolid: income >= 5000 and debt_ratio <= 0.4 => paid\n"
    "homeless: home in {family, rent} and debt_ratio >= 0.5 => default\n"
)
PAGES = ("data", "rules", "cases", "contrast", "history", "revisions/1/against/2")
PAGES += ("export?subject=machine&form=python",)


@pytest.fixture(scope="module")
def worked(client, credit_home) -> str:
    """A project with rules, everything found that can be asked for, an exam and a note."""
    home = client.duplicate(credit_home)
    client.keep(home, RULES, 1)
    for job in [client.start(home, kind) for kind in ("extract", "refine", "contrast")]:
        client.end_of(home, job)
    assert client.form(f"{home}/exam", {"author": "an auditor"}).status == 303
    row = re.findall(rf'href="{home}/cases/(\d+)"', client.page(f"{home}/cases"))[0]
    assert client.form(f"{home}/cases/{row}/notes", {"text": "called twice"}).status == 303
    return home


def test_every_page_can_be_used_by_everybody_and_fits_a_screen_of_390_pixels(tabs, worked):
    tabs.expected.append(r"^error: Failed to load resource: .* 404")
    page, found, narrow = tabs.open("/", has_touch=True), {}, []
    case = re.findall(rf'href="({worked}/cases/\d+)"', tabs.client.page(f"{worked}/cases"))[0]
    for address in ("/", *(f"{worked}/{name}" for name in PAGES), case, "/nowhere"):
        page.goto(address)
        expect(page.get_by_role("heading").first).to_be_visible()
        if address == case:
            page.get_by_role("button", name="find the cheapest change").click()
            expect(page.locator("#recourse-answer")).to_contain_text(re.compile(r"\w+ \w+ \w+"))
        if address.endswith("/rules"):
            judged(page)
        found |= {address: texts} if (texts := complaints(page)) else {}
        page.set_viewport_size({"width": 390, "height": 844})
        narrow += [] if address == "/" or fits(page) else [address]
        page.set_viewport_size(WINDOW)
    assert (found, narrow) == ({}, [])


def test_the_page_of_rules_can_be_used_by_everybody_whatever_is_open(tabs, worked):
    page = tabs.open(f"{worked}/rules")
    trained(page)
    write(page, "incom <= 3 => paid\nage <= 30 => paid\nage >= 28 => default\n")
    page.keyboard.press("Control+Space")
    assert complaints(page) == []
    for tab, wanted in (("The machine's rules", "#machine-rules article"), ("Refined", "#refined")):
        page.get_by_role("tab", name=tab).click()
        expect(page.locator(wanted).first).to_be_visible()
    assert complaints(page) == []
    write(page, "age <= 30 => paid\n")
    page.keyboard.press("Control+s")
    expect(page.locator("#keep-dialog")).to_be_visible()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keys").click()
    expect(page.locator("#keys")).to_be_visible()
    assert complaints(page) == []
