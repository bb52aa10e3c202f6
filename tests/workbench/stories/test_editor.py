"""Whoever makes mistakes is told where and what, and how to go on; what a bar counts is what rules cover."""

import pytest
from playwright.sync_api import Page, expect
from tests.workbench.stories.conftest import (
    checked,
    credit_csv,
    frame_of,
    handle,
    pull,
    text_of,
    trained,
    write,
)

from clearmargin import load_model, parse_rules

# A line, the part of it that is marked, and what the message names.
MISTAKES = [
    ("incom <= 3000 => paid", "incom", "'income'"), ("age <= 30 => payed", "payed", "'paid'"),
    ("home in {own, rnt} => paid", "rnt", "'home'"), ("income <= => paid", "=>", "number"),
    ("home <= 3 => paid", "home", "categories"),
    ("income >= 9000 and income <= 3 => paid", "income <= 3", "contradict"),
    ("age <= 40 or late >= 2 => default", "or", "'or'"), ("late >= 1 =>", ">", "class"),
]  # fmt: skip
TEXT = "\n".join(["# rules of the branch", *(line for line, _, _ in MISTAKES)])


@pytest.fixture
def page(tabs, credit_home) -> Page:
    opened = tabs.open(f"{credit_home}/rules")
    trained(opened)
    return opened


def test_every_mistake_is_told_at_its_place_and_mended_by_the_offered_word(page):
    write(page, TEXT)
    told = page.locator("#mistakes .mistake")
    expect(told).to_have_count(len(MISTAKES))
    marked = page.locator("#layer .squiggle").all_inner_texts()
    assert marked == [part for _, part, _ in MISTAKES]
    for k, (_, _, named) in enumerate(MISTAKES):
        expect(told.nth(k)).to_contain_text(f"line {k + 2}: ")
        expect(told.nth(k)).to_contain_text(named)
    page.keyboard.press("Control+s")
    expect(page.locator("#keep-dialog")).to_be_hidden()
    for word, wrong in (("income", "incom "), ("paid", "payed"), ("rent", "rnt")):
        page.get_by_role("button", name=f"write {word}").first.click()
        checked(page)
        assert wrong not in text_of(page)
    expect(told).to_have_count(len(MISTAKES) - 3)
    # What is wrong in other lines is no reason to be silent about the right ones.
    expect(page.locator("#bars .rule-card")).to_have_count(3)
    write(page, "incom <= 3 => paid\nlate >= 1 => defalt\n")
    page.locator("#text").press("Control+Home")
    chosen = "(t) => t.value.slice(t.selectionStart, t.selectionEnd)"
    for key, wanted in (("F8", "defalt"), ("F8", "incom"), ("Shift+F8", "defalt")):
        page.keyboard.press(key)
        assert page.locator("#text").evaluate(chosen) == wanted


def test_what_a_bound_has_written_is_taken_back_and_no_end_passes_the_other(page):
    first = "low: debt_ratio <= 0.2 and age >= 30 => paid\n"
    write(page, first)
    pull(page, handle(page, 0, "debt_ratio", "high"), 80)
    second = text_of(page)
    pull(page, handle(page, 0, "age", "low"), 60)
    assert len({first, second, text_of(page)}) == 3
    # Each pull is one step.
    for key, wanted in (("Control+z", second), ("Control+z", first), ("Control+Shift+z", second)):
        page.keyboard.press(key)
        checked(page)
        assert text_of(page) == wanted
    write(page, "band: 25 <= age <= 40 => paid\n")
    pull(page, handle(page, 0, "age", "low"), 250)
    assert text_of(page) in ("band: 40 <= age <= 40 => paid\n", "band: age = 40 => paid\n")


# The columns and boxes that the page draws, counted by its own script.
COUNT = """async ([home, text]) => {
    const script = document.querySelector("script[type=module]").src;
    const module = await import(script.replace(/[^/]*$/, "counting.js"));
    const columns = new module.Columns(await (await fetch(home + "/columns/any")).arrayBuffer());
    const body = { method: "POST", headers: { "Content-Type": "application/json" } };
    const asked = await fetch(home + "/check", { ...body, body: JSON.stringify({ text }) });
    return (await asked.json()).rules.map((rule) => [
        Array.from(module.covered(columns, rule.box)), module.count(columns, rule.box, 1).covered,
    ]);
}"""
PREMISES = """
age >= 40; age > 40; age <= 40; age < 40; age = 40; 30 <= age < 50; income > 3000.5; debt_ratio >= 0.333
debt_ratio <= 0.2 and late >= 1; home = own; home in {own, rent}; home in {family} and 20 < age <= 70
"""


def test_the_browser_counts_as_the_rules_do(page, client, credit_home, tmp_path):
    texts = [text.strip() for text in PREMISES.replace("\n", ";").split(";") if text.strip()]
    said = page.evaluate(COUNT, [credit_home, "\n".join(f"{text} => default" for text in texts)])
    cases = frame_of(client.get(f"{credit_home}/export/cases").text)
    table = frame_of(credit_csv()).iloc[cases["row"] - 1]
    path = tmp_path / "model.json"
    path.write_bytes(client.get(f"{credit_home}/export/model").body)
    table = table.fillna(load_model(path).fill)
    for text, (inside, count) in zip(texts, said, strict=True):
        rules = parse_rules(f"{text} => default")
        covered = rules.covers(table[list(rules.space.names)])[:, 0]
        assert inside == covered.astype(int).tolist(), text
        assert count == covered.sum()
