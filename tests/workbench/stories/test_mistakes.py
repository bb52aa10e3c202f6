"""Whoever makes mistakes is told where and what, and how to go on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.workbench.stories.driving import (
    card,
    checked,
    handle,
    keep,
    pull,
    take_hold,
    text_of,
    trained,
    write,
)
from tests.workbench.stories.ready_projects import copied
from tests.workbench.stories.watched_tabs import Tabs

# A line, the part of it that is marked, and what is said.
MISTAKES = [
    ("incom <= 3000 => paid", "incom", "unknown feature 'incom'; did you mean 'income'?"),
    ("age <= 30 => payed", "payed", "unknown class 'payed'; did you mean 'paid'?"),
    ("home in {own, rnt} => paid", "rnt", "unknown category 'rnt' of 'home'"),
    ("income <= => paid", "=>", "expected a feature or a number"),
    ("home <= 3 => paid", "home", "'home' has categories"),
    ("=> paid", "=>", "nothing before '=>'"),
    ("income >= 9000 and income <= 3 => paid", "income <= 3", "the conditions contradict"),
    ("income ! 3 => paid", "!", "unexpected character"),
    ("age <= 40 or late >= 2 => default", "or", "a premise has no 'or'"),
    ("late >= 1 =>", ">", "no class after '=>'"),
]
TEXT = "\n".join(["# rules of the branch", *(line for line, _, _ in MISTAKES)])


@pytest.fixture(scope="module")
def shared(browser, served, credit_file) -> Iterator[tuple[Tabs, Page]]:
    """One page on which all but those who keep something write."""
    tabs = Tabs(browser, served.port, served.access)
    page = tabs.open(f"{copied(served, credit_file)}/rules")
    trained(page)
    yield tabs, page
    tabs.close()


@pytest.fixture
def page(shared) -> Iterator[Page]:
    tabs, opened = shared
    yield opened
    tabs.watch.check()
    if "/rules" not in opened.url:
        opened.go_back()


def test_every_mistake_is_told_at_its_place_and_mended_by_the_offered_word(page):
    write(page, TEXT)
    told = page.locator("#mistakes .mistake")
    expect(told).to_have_count(len(MISTAKES))
    marked = page.locator("#layer .squiggle")
    assert marked.all_inner_texts() == [part for _, part, _ in MISTAKES]
    for k, (_, _, message) in enumerate(MISTAKES):
        expect(told.nth(k)).to_contain_text(f"line {k + 2}: ")
        expect(told.nth(k)).to_contain_text(message)

    for word, wrong in (("income", "incom "), ("paid", "payed"), ("rent", "rnt")):
        page.get_by_role("button", name=f"write {word}").first.click()
        checked(page)
        assert wrong not in text_of(page)
    expect(told).to_have_count(len(MISTAKES) - 3)
    expect(page.locator("#bars .rule-card")).to_have_count(3)
    # What is wrong in other lines is no reason to be silent about the right ones.
    expect(card(page, 0).locator(".counts")).to_contain_text("% right")


def test_f8_leads_from_mistake_to_mistake_and_round(page):
    write(page, "incom <= 3 => paid\nlate >= 1 => defalt\n")
    chosen = (
        "() => { const t = document.getElementById('text');"
        " return t.value.slice(t.selectionStart, t.selectionEnd) }"
    )
    page.locator("#text").press("Control+Home")
    found = []
    for key in ("F8", "F8", "Shift+F8", "Shift+F8"):
        page.keyboard.press(key)
        found.append(page.evaluate(chosen))
    assert found == ["defalt", "incom", "defalt", "incom"]


def test_rules_with_mistakes_are_not_kept_and_the_first_one_is_shown(tabs, credit):
    page = tabs.open(f"{credit()}/rules")
    trained(page)
    write(page, "age <= 30 => paid\nincom <= 3000 => paid\n")
    page.keyboard.press("Control+s")
    expect(page.locator("#news")).to_contain_text("Mend the mistakes first")
    expect(page.locator("#keep-dialog")).to_be_hidden()
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type("income")
    checked(page)
    keep(page, "mended")
    expect(page.locator(".head-version")).to_contain_text("v2")


def test_a_contradiction_is_counted_while_a_bound_is_pulled_and_told_when_it_is_let_go(page):
    write(page, "low: debt_ratio <= 0.2 => paid\nhigh: debt_ratio >= 0.6 => default\n")
    expect(page.locator("#findings .error")).to_have_count(0)
    x, y = take_hold(page, handle(page, 1, "debt_ratio", "low"))
    page.mouse.move(x - 200, y, steps=5)
    expect(card(page, 1).locator(".counts")).to_contain_text("also in low")
    both = re.search(r"(\d+) also in low", card(page, 1).locator(".counts").inner_text())
    assert both is not None
    page.mouse.up()
    checked(page)
    finding = page.locator("#findings .error")
    expect(finding).to_contain_text("low")
    expect(finding).to_contain_text("high")
    expect(finding).to_contain_text(re.compile(rf"\b{both[1]} (rows|cases)"))
    expect(page.locator("#layer .wavy").first).to_be_attached()
    page.get_by_role("link", name=re.compile(r"^case \d+")).first.click()
    expect(page.get_by_role("heading", name=re.compile(r"Case \d+"))).to_be_visible()


def test_what_a_bound_has_written_is_taken_back_by_the_keys_of_the_editor(page):
    first = "low: debt_ratio <= 0.2 and age >= 30 => paid\n"
    write(page, first)
    pull(page, handle(page, 0, "debt_ratio", "high"), 80)
    second = text_of(page)
    assert second != first
    pull(page, handle(page, 0, "age", "low"), 60)
    assert text_of(page) != second
    # Once from the bound itself, once from the editor: each pull is one step.
    expect(handle(page, 0, "age", "low")).to_be_focused()
    page.keyboard.press("Control+z")
    checked(page)
    assert text_of(page) == second
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.press("Control+z")
    checked(page)
    assert text_of(page) == first
    expect(handle(page, 0, "debt_ratio", "high")).to_have_attribute("aria-valuenow", "0.2")
    page.keyboard.press("Control+Shift+z")
    checked(page)
    assert text_of(page) == second


def test_a_bound_stays_under_the_hand_at_any_width(page):
    write(page, "debt_ratio <= 0.3 => paid\n")
    for width in (1380, 1000, 700):
        page.set_viewport_size({"width": width, "height": 900})
        slider = handle(page, 0, "debt_ratio", "high")
        x, y = take_hold(page, slider)
        page.mouse.move(x + 50, y, steps=2)
        box = slider.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] / 2 == pytest.approx(x + 50, abs=4)
        page.keyboard.press("Escape")
        page.mouse.up()
        checked(page)
    page.set_viewport_size({"width": 1380, "height": 900})


def test_a_click_on_a_bound_moves_nothing_and_no_end_passes_the_other(page):
    text = "band: 25 <= age <= 40 => paid\n"
    write(page, text)
    take_hold(page, handle(page, 0, "age", "high"))
    page.mouse.up()
    checked(page)
    assert text_of(page) == text
    pull(page, handle(page, 0, "age", "low"), 250)
    assert text_of(page) in ("band: 40 <= age <= 40 => paid\n", "band: age = 40 => paid\n")
    expect(card(page, 0).locator(".condition-words")).to_have_text(re.compile("40"))


def test_completions_come_by_keys_and_go_where_they_belong(page):
    write(page, "")
    page.keyboard.type("deb")
    page.keyboard.press("Control+Space")
    offered = page.locator("#candidates [role=option]")
    expect(offered.first).to_contain_text("debt_ratio")
    page.keyboard.press("Enter")
    page.keyboard.type(" >= 0.5 => ")
    page.keyboard.press("Control+Space")
    expect(offered).to_have_text(["paid class", "default class", "not keyword"])
    expect(page.locator("#text")).to_have_attribute("aria-activedescendant", "candidate-0")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#text")).to_have_attribute("aria-activedescendant", "candidate-1")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(page.locator("#candidates")).to_be_hidden()
    page.keyboard.press("Control+Space")
    expect(offered.nth(1)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    checked(page)
    assert re.fullmatch(r"debt_ratio >= 0\.5 => (default|paid)", text_of(page).strip())
    expect(card(page, 0)).to_be_visible()


def test_cards_and_findings_number_rules_alike_also_after_a_line_with_a_mistake(page):
    write(page, "incom <= 3 => paid\nage <= 30 => paid\n")
    expect(page.locator("#findings .warning").first).to_contain_text("rule 1 is right on")
    expect(page.locator("#bars .rule-card h3")).to_have_text([re.compile("rule 1")])
