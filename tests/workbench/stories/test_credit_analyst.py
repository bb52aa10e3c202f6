"""A credit analyst, from the upload to the SQL in the bank's database; once with a mouse and once without."""

from __future__ import annotations

import io
import json
import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from playwright.sync_api import Page, expect
from tests.workbench.stories.driving import (
    card,
    go_to,
    handle,
    judged,
    keep,
    pull,
    take_hold,
    text_of,
    trained,
)
from tests.workbench.stories.tables import credit_csv

from clearmargin.rules import RuleSet

RULES_OF_THUMB = "bad_payer: late >= 4 => default\nrich: income >= 7000 => paid\n"


@pytest.fixture
def table(tmp_path) -> Path:
    """What the analyst has on disk."""
    path = tmp_path / "loans of spring.csv"
    path.write_text(credit_csv(), encoding="utf-8")
    return path


def test_a_credit_analyst_bends_rules_by_mouse_and_takes_them_away_as_sql(tabs, table, tmp_path):
    page = tabs.open()
    page.get_by_label("A table").set_input_files(table)
    page.get_by_role("button", name="Make a project", exact=True).click()

    expect(page.get_by_role("heading", name="Data")).to_be_visible()
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
    judged(page)
    expect(page.locator("#change")).to_have_text(re.compile(r"(\d+) cases? changes?, \d+ better"))
    see_the_cases_that_change(page)

    page.locator("#text").press("Control+End")
    page.keyboard.type(RULES_OF_THUMB)
    expect(page.locator("#bars .rule-card")).to_have_count(3)
    keep(page, "the bureau counts <b>old</b> debts twice")
    expect(page.locator(".head-version")).to_contain_text("v2")
    ask_the_data(page)
    keep(page, "what the data say of income")
    take_away(page, table, tmp_path)


def see_numbers_move_with_the_hand(page: Page) -> None:
    """While a bound is pulled, text and counts follow; with Escape nothing has happened."""
    before, counted = text_of(page), card(page, 0).locator(".counts").inner_text()
    x, y = take_hold(page, handle(page, 0, "debt_ratio", "low"))
    page.mouse.move(x - 60, y, steps=3)
    expect(card(page, 0).locator(".counts")).not_to_have_text(counted)
    shown = page.locator("#layer").text_content() or ""
    assert shown.strip("\u200b\n") != before.strip("\n")
    assert re.sub(r"debt_ratio >= [\d.]+", "", shown.strip("\u200b\n")) == re.sub(
        r"debt_ratio >= [\d.]+", "", before.strip("\n")
    )
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(card(page, 0).locator(".counts")).to_have_text(counted)
    judged(page)
    assert text_of(page) == before


def see_the_cases_that_change(page: Page) -> None:
    """The list has as many cases as were announced, and the way back leads to the same text."""
    written = text_of(page)
    said = re.search(r"(\d+) cases? change", page.locator("#change").inner_text())
    assert said is not None
    page.get_by_role("link", name="show the cases").click()
    expect(page.get_by_role("heading", name="Cases")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="case")).to_contain_text(f"{said[1]} case")
    page.locator("table.cases tbody a").first.click()
    expect(page.get_by_role("heading", name=re.compile("Case "))).to_be_visible()
    expect(page.locator("#explanation")).to_contain_text("The case is")
    go_to(page, "Rules")
    judged(page)
    assert text_of(page) == written


def ask_the_data(page: Page) -> None:
    """Of what the data suggest, accept the first and reject the second."""
    page.get_by_role("tab", name="Refined").click()
    page.get_by_role("button", name="Ask the data about your rules").click()
    suggested = page.locator("#refined .suggestion")
    expect(suggested.nth(1)).to_be_visible()
    n, before = suggested.count(), text_of(page)
    why = suggested.first.inner_text()
    suggested.first.get_by_role("button", name="accept").click()
    expect(suggested).to_have_count(n - 1)
    judged(page)
    after = text_of(page)
    assert after != before
    named = re.search(r"(\w+) ([<>]=) ([\d.]+) instead of ([\d.]+)", why)
    assert named is not None, why
    assert after == before.replace(named[4], named[3])
    suggested.first.get_by_role("button", name="reject").click()
    expect(suggested).to_have_count(n - 2)
    assert text_of(page) == after
    page.get_by_role("tab", name="What the data say").click()


def take_away(page: Page, table: Path, folder: Path) -> None:
    """The files say of every loan what the rules say."""
    go_to(page, "Export")
    page.get_by_role("button", name="Check that all forms say the same").click()
    expect(page.get_by_role("row", name="SQL for SQLite")).to_contain_text("the same answers")
    files = {}
    for form in ("SQL for SQLite", "SQL for DuckDB", "JSON"):
        with page.expect_download() as waiting:
            page.get_by_role("row", name=form, exact=False).get_by_role("link").last.click()
        files[form] = folder / waiting.value.suggested_filename
        waiting.value.save_as(files[form])
    check_files(files, table)


def check_files(files: dict[str, Path], table: Path) -> None:
    rules = RuleSet.from_dict(json.loads(files["JSON"].read_text("utf-8")))
    frame = pd.read_csv(io.StringIO(table.read_text("utf-8")))
    wanted = rules.predict(frame[list(rules.space.names)]).tolist()
    assert "default" in wanted
    assert None in wanted
    assert by_sqlite(files["SQL for SQLite"].read_text("utf-8"), frame) == wanted
    assert by_duckdb(files["SQL for DuckDB"].read_text("utf-8"), frame) == wanted


def by_sqlite(sql: str, frame: pd.DataFrame) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as database:
        frame.to_sql("loans", database, index=False)
        return [row[0] for row in database.execute(f"SELECT {sql} FROM loans ORDER BY rowid")]


def by_duckdb(sql: str, frame: pd.DataFrame) -> list[Any]:
    with closing(duckdb.connect()) as database:
        database.register("given", frame.assign(place=range(len(frame))))
        return [
            row[0] for row in database.sql(f"SELECT {sql} FROM given ORDER BY place").fetchall()
        ]


# Without a mouse: nothing but `page.keyboard` is used.


def test_a_clinician_without_a_mouse_does_the_same_by_keys(tabs, table, tmp_path):
    page = tabs.open()
    keys = page.keyboard
    with page.expect_file_chooser() as chooser:
        tab_to(page, page.get_by_label("A table"))
        keys.press("Enter")
    chooser.value.set_files(table)
    tab_to(page, page.get_by_role("button", name="Make a project", exact=True))
    keys.press("Enter")

    expect(page.get_by_role("heading", name="Data")).to_be_visible()
    tab_to(page, page.get_by_label("Target"))
    keys.press("ArrowUp")
    expect(page).to_have_url(re.compile("target=home"))
    expect(page.get_by_label("Target")).to_be_focused()
    keys.press("ArrowDown")
    expect(page).to_have_url(re.compile("target=outcome"))
    expect(page.get_by_label("Target")).to_be_focused()
    tab_to(page, page.get_by_role("radio", checked=True).first)
    keys.press("ArrowDown")
    expect(page.get_by_label("default")).to_be_checked()
    tab_to(page, page.get_by_role("button", name="Train the first machine"))
    keys.press("Enter")

    trained(page)
    tab_to(page, page.get_by_role("tab", name="What the data say"))
    keys.press("ArrowRight")
    tab_to(page, page.get_by_role("button", name="Extract the machine's rules"))
    keys.press("Enter")
    found = page.locator("#machine-rules article")
    wanted = found.filter(has_text=re.compile("debt_ratio >= .*=> default")).first
    expect(wanted).to_contain_text("proved")
    tab_to(page, wanted.get_by_role("button", name="take it over"))
    keys.press("Enter")
    expect(page.locator("#text")).to_be_focused()
    keys.type(RULES_OF_THUMB)
    tab_to(page, page.get_by_role("tab", name="The machine's rules"))
    keys.press("ArrowLeft")
    judged(page)
    move_bounds_by_keys(page)
    see_the_cases_by_keys(page)

    keys.press("Control+s")
    keys.type("the bureau counts old debts twice")
    keys.press("Enter")
    expect(page.locator("#news")).to_contain_text("Kept as version 2")
    trained(page)
    ask_the_data_by_keys(page)
    keys.press("Control+s")
    keys.type("what the data say of late payments")
    keys.press("Enter")
    expect(page.locator("#news")).to_contain_text("Kept as version 3")
    trained(page)
    take_away_by_keys(page, table, tmp_path)


def tab_to(page: Page, wanted: Any, most: int = 90) -> None:
    """Press the tabulator until something has the focus."""
    expect(wanted).to_be_visible()
    for _ in range(most):
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} is not reached by the tabulator")


def move_bounds_by_keys(page: Page) -> None:
    """Steps, ten steps, and no bound at all; text and slider say the same."""
    keys = page.keyboard
    slider = handle(page, 0, "debt_ratio", "low")
    tab_to(page, slider)
    start = float(slider.get_attribute("aria-valuenow") or "")
    for _ in range(3):
        keys.press("Shift+ArrowLeft")
    keys.press("ArrowRight")
    judged(page)
    expect(slider).to_be_focused()
    place = float(slider.get_attribute("aria-valuenow") or "")
    step = (start - place) / 29
    assert step == pytest.approx(10.0 ** round(math.log10(step)))
    assert f"debt_ratio >= {place:g} " in text_of(page)
    slider = handle(page, 0, "income", "high")
    tab_to(page, slider)
    keys.press("End")
    judged(page)
    expect(handle(page, 0, "income", "high")).to_have_count(0)
    assert "income" not in text_of(page).splitlines()[0]


def see_the_cases_by_keys(page: Page) -> None:
    written = text_of(page)
    said = re.search(r"(\d+) cases? change", page.locator("#change").inner_text())
    assert said is not None
    tab_to(page, page.get_by_role("link", name="show the cases"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="case")).to_contain_text(f"{said[1]} case")
    tab_to(page, page.locator("table.cases tbody a").first)
    page.keyboard.press("Enter")
    expect(page.locator("#explanation")).to_contain_text("The case is")
    page.keyboard.press("Alt+2")
    judged(page)
    assert text_of(page) == written


def ask_the_data_by_keys(page: Page) -> None:
    keys = page.keyboard
    tab_to(page, page.get_by_role("tab", name="What the data say"))
    keys.press("ArrowLeft")
    tab_to(page, page.get_by_role("button", name="Ask the data about your rules"))
    keys.press("Enter")
    suggested = page.locator("#refined .suggestion")
    expect(suggested.nth(1)).to_be_visible()
    n, before = suggested.count(), text_of(page)
    tab_to(page, suggested.first.get_by_role("button", name="accept"))
    keys.press("Enter")
    expect(suggested).to_have_count(n - 1)
    judged(page)
    after = text_of(page)
    assert after != before
    # The focus is on what is next.
    expect(suggested.first.get_by_role("button", name="accept")).to_be_focused()
    keys.press("Tab")
    keys.press("Enter")
    expect(suggested).to_have_count(n - 2)
    assert text_of(page) == after


def take_away_by_keys(page: Page, table: Path, folder: Path) -> None:
    keys = page.keyboard
    keys.press("Alt+5")
    tab_to(page, page.get_by_role("button", name="Check that all forms say the same"))
    keys.press("Enter")
    expect(page.get_by_role("row", name="SQL for SQLite")).to_contain_text("the same answers")
    files = {}
    for form in ("SQL for SQLite", "SQL for DuckDB", "JSON"):
        tab_to(page, page.get_by_role("row", name=form).get_by_role("link").last)
        with page.expect_download() as waiting:
            keys.press("Enter")
        files[form] = folder / waiting.value.suggested_filename
        waiting.value.save_as(files[form])
    check_files(files, table)
