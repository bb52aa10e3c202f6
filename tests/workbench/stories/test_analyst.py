"""A credit analyst, from the upload to the SQL in the bank's database."""

import json
import re
import sqlite3
from contextlib import closing

from playwright.sync_api import Page, expect
from tests.oracles.engines import run_duckdb
from tests.workbench.stories.conftest import (
    card,
    cases_announced,
    credit_csv,
    frame_of,
    go_to,
    handle,
    judged,
    keep,
    pull,
    take_hold,
    text_of,
    trained,
)

from clearmargin.rules import RuleSet

RULES_OF_THUMB = "bad_payer: late >= 3 => default\nrich: income >= 6000 => paid\n"
RATIO = r"debt_ratio >= [\d.]+"


def test_a_credit_analyst_bends_rules_by_mouse_and_takes_them_away_as_sql(tabs):
    page = tabs.open()
    table = {"name": "loans of spring.csv", "mimeType": "text/csv", "buffer": credit_csv().encode()}
    page.get_by_label("A table").set_input_files(table)
    page.get_by_role("button", name="Make a project", exact=True).click()
    expect(page.locator("main")).to_contain_text("are sealed")
    page.get_by_label("Target").select_option("outcome")
    page.get_by_label("default").check()
    page.get_by_label("fill with the median").check()
    page.get_by_role("button", name="Train the first machine").click()
    trained(page)
    page.get_by_role("tab", name="The machine's rules").click()
    page.get_by_role("button", name="Extract the machine's rules").click()
    found = page.locator("#machine-rules article")
    expect(found.first).to_contain_text("proved")
    wanted = found.filter(has_text=re.compile("debt_ratio >= .*=> default"))
    wanted.first.get_by_role("button", name="take it over").click()
    page.get_by_role("tab", name="What the data say").click()
    expect(card(page, 0)).to_contain_text("proved")
    judged(page)
    see_numbers_move_with_the_hand(page)
    pull(page, handle(page, 0, "debt_ratio", "low"), -90)
    pull(page, handle(page, 0, "income", "high"), 60)
    page.locator("#text").press("Control+End")
    page.keyboard.type(RULES_OF_THUMB)
    expect(page.locator("#bars .rule-card")).to_have_count(3)
    judged(page)
    expect(page.locator("#change")).to_have_text(re.compile(r"(\d+) cases? changes?, \d+ better"))
    see_the_cases_that_change(page)
    keep(page, "the bureau counts <b>old</b> debts twice")
    ask_the_data(page)
    take_away(page)


def see_numbers_move_with_the_hand(page: Page) -> None:
    """While a bound is pulled, text and counts follow; with Escape nothing has happened."""
    before, counts = text_of(page), card(page, 0).locator(".counts")
    counted = counts.inner_text()
    x, y = take_hold(page, handle(page, 0, "debt_ratio", "low"))
    page.mouse.move(x - 60, y, steps=3)
    expect(counts).not_to_have_text(counted)
    shown = (page.locator("#layer").text_content() or "").strip("\u200b\n")
    assert shown != before.strip("\n")
    assert re.sub(RATIO, "", shown) == re.sub(RATIO, "", before.strip("\n"))
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(counts).to_have_text(counted)
    judged(page)
    assert text_of(page) == before


def see_the_cases_that_change(page: Page) -> None:
    """The list has as many cases as were announced, and the way back leads to the same text."""
    written, announced = text_of(page), cases_announced(page)
    page.get_by_role("link", name="show the cases").click()
    expect(page.get_by_role("status").filter(has_text="case")).to_contain_text(f"{announced} case")
    page.locator("table.cases tbody a").first.click()
    expect(page.locator("#explanation")).to_contain_text("The case is")
    go_to(page, "Rules")
    judged(page)
    assert text_of(page) == written


def ask_the_data(page: Page) -> None:
    """Of what the data suggest, accept the first, and take it back: files are those of what is kept."""
    page.get_by_role("tab", name="Refined").click()
    page.get_by_role("button", name="Ask the data about your rules").click()
    suggested = page.locator("#refined .suggestion")
    expect(suggested.nth(1)).to_be_visible()
    n, before, why = suggested.count(), text_of(page), suggested.first.inner_text()
    suggested.first.get_by_role("button", name="accept").click()
    expect(suggested).to_have_count(n - 1)
    judged(page)
    named = re.search(r"(\w+) ([<>]=) ([\d.]+) instead of ([\d.]+)", why)
    assert named is not None, why
    after = text_of(page)
    assert before != after == before.replace(named[4], named[3])
    suggested.first.get_by_role("button", name="reject").click()
    expect(suggested).to_have_count(n - 2)
    assert text_of(page) == after


def take_away(page: Page) -> None:
    """The files say of every loan what the rules say."""
    go_to(page, "Export")
    files = {}
    for form in ("SQL for SQLite", "SQL for DuckDB", "JSON"):
        with page.expect_download() as waiting:
            page.get_by_role("row", name=form, exact=False).get_by_role("link").last.click()
        files[form] = waiting.value.path().read_text("utf-8")
    rules = RuleSet.from_dict(json.loads(files["JSON"]))
    frame = frame_of(credit_csv())[list(rules.space.names)]
    wanted = rules.predict(frame).tolist()
    assert {"default", None} <= set(wanted)
    with closing(sqlite3.connect(":memory:")) as database:
        frame.to_sql("loans", database, index=False)
        query = f"SELECT {files['SQL for SQLite']} FROM loans ORDER BY rowid"
        assert [row[0] for row in database.execute(query)] == wanted
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert run_duckdb(rules.space, records, files["SQL for DuckDB"]) == wanted
