"""A credit analyst, from the upload to the SQL in the bank's database; once with a mouse and once without."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from clearmargin.rules import RuleSet
from playwright.sync_api import Page, expect
from tests.workbench.stories.driving import (
    card,
    handle,
    judged,
    keep,
    pull,
    take_hold,
    text_of,
    trained,
)
from tests.workbench.stories.tables import credit_csv

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
    page.get_by_role("link", name="Rules").click()
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
    page.get_by_role("link", name="Export").click()
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
