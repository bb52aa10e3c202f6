"""Tables whose names and values are made to break pages, databases and spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect
from tests.workbench.stories.driving import card, go_to, handle, judged, keep, text_of, trained

from clearmargin.rules import RuleSet

NAMES = [
    "<script>alert(1)</script>",
    '"=>"',
    "=cmd()",
    "שלום עולם",
    "x" * 300,
    "\N{TEST TUBE}\N{FAMILY}",
    "a`b\\c'd",
    "__proto__",
    "constructor",
    "addEventListener",
    "and",
    "two\nlines",
    "</textarea><img src=x onerror=alert(1)>",
]


def hostile_csv(labels: list[str], rows: int = 120) -> bytes:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 40, (rows, len(NAMES)))
    score = values[:, 0] - values[:, 1] + 0.5 * values[:, 5] + rng.normal(0, 4, rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*NAMES, "=class"])
    for line, high in zip(values.tolist(), score > np.median(score), strict=True):
        writer.writerow([*line, labels[int(high)]])
    return text.getvalue().encode("utf-8")


def upload(page: Page, content: bytes, name: str = "<b>odd & name.csv") -> None:
    page.locator("#file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    page.get_by_role("button", name="Make a project", exact=True).click()
    expect(page.get_by_role("heading", name="Data")).to_be_visible()
    page.wait_for_load_state()


def plain(name: str) -> str:
    """A name without what only changes how it is laid out."""
    return re.sub(r"\s+", " ", name.replace("\N{LEFT-TO-RIGHT MARK}", ""))


def no_dialog(page: Page) -> list[str]:
    """Collect what a script of the table would show."""
    shown: list[str] = []

    def note(dialog) -> None:
        shown.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note)
    return shown


def test_names_are_names_on_every_page_and_in_every_file(tabs, served, tmp_path):
    page = tabs.open()
    # A value that is no number is refused with a status, of which the browser takes note.
    tabs.watch.expected.append(r"^error: Failed to load resource: .* 422")
    shown = no_dialog(page)
    upload(page, hostile_csv(["<i>no</i>", "=yes"]))
    shown_names = [plain(name) for name in page.locator("table.columns tbody th").all_inner_texts()]
    assert shown_names == [plain(name) for name in [*NAMES, "=class"]]
    # No name is so long that the page has to be pushed aside.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("=yes").check()
    page.get_by_role("button", name="Train the first machine").click()
    trained(page)
    write_a_rule_for_each(page)
    keep(page, "<script>alert('why')</script>")
    expect(page.locator("#bars .rule-card")).to_have_count(len(NAMES))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    home = re.sub(r"^http://[^/]*|/rules.*", "", page.url)
    look_at_a_case(page, home)
    for address in ("cases", "history", "export", "revisions/2", "revisions/1/against/2"):
        page.goto(f"{home}/{address}")
        expect(page.locator("main h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    page.goto(f"{home}/history")
    expect(page.locator("#v2")).to_contain_text("<script>alert('why')</script>")
    page.goto("/")
    expect(page.get_by_role("link", name="<b>odd & name.csv")).to_be_visible()
    assert shown == []
    check_files(served, home)


def write_a_rule_for_each(page: Page) -> None:
    """Names are taken from the list of completions, and bounds are moved by the bars."""
    page.locator("#text").focus()
    offered = page.locator("#candidates [role=option]")
    for k in range(len(NAMES)):
        page.keyboard.press("Control+Space")
        expect(offered.nth(len(NAMES) - 1)).to_be_visible()
        for _ in range(k):
            page.keyboard.press("ArrowDown")
        expect(offered.nth(k)).to_have_attribute("aria-selected", "true")
        expect(offered.nth(k)).to_be_in_viewport()
        page.keyboard.press("Enter")
        page.keyboard.type(" >= 30 => `=yes`\n")
    judged(page)
    expect(page.locator("#mistakes .mistake")).to_have_count(0)
    expect(page.locator("#bars .rule-card")).to_have_count(len(NAMES))
    for k, name in enumerate(NAMES):
        slider = card(page, k).get_by_role("slider").first
        assert slider.get_attribute("data-feature") == name
        slider.focus()
        page.keyboard.press("ArrowLeft")
    judged(page)
    expect(page.locator("#mistakes .mistake")).to_have_count(0)
    assert text_of(page).count(">= 29 => `=yes`") == len(NAMES)


def look_at_a_case(page: Page, home: str) -> None:
    page.goto(f"{home}/cases?which=disagree")
    page.goto(f"{home}/cases")
    page.locator("table.cases tbody a").first.click()
    expect(page.locator("#explanation")).to_contain_text("The case is")
    for name in ("__proto__", "constructor", NAMES[0]):
        page.get_by_label(name, exact=True).fill("39")
        expect(page.locator("#what-if-answer")).to_contain_text("With these values")
    page.get_by_label(NAMES[0], exact=True).fill("a lot")
    expect(page.locator("#what-if-answer")).to_contain_text("must be a number")
    page.get_by_role("button", name="as it was").click()
    expect(page.locator("#what-if-answer")).to_contain_text("Change a value")


def check_files(served, home: str) -> None:
    """SQL runs, JSON is read, and no spreadsheet finds a formula."""
    client = served.client
    rules = RuleSet.from_dict(json.loads(client.get(f"{home}/export/json").body))
    names = list(rules.space.names)
    assert names == NAMES
    lines = list(csv.reader(io.StringIO(client.get(f"{home}/export/cases").text)))
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "@"))]
    table = np.array(
        [[float(cell) for cell in line[-len(NAMES) :]] for line in lines[1:]], dtype=np.float64
    )
    wanted = rules.predict(table).tolist()
    sql = client.get(f"{home}/export/sql-sqlite").text
    with closing(sqlite3.connect(":memory:")) as database:
        quoted = ", ".join("`" + name.replace("`", "``") + "`" for name in names)
        database.execute(f"CREATE TABLE cases ({quoted})")
        marks = ", ".join("?" * len(names))
        database.executemany(f"INSERT INTO cases VALUES ({marks})", table.tolist())
        found = [row[0] for row in database.execute(f"SELECT {sql} FROM cases ORDER BY rowid")]
    assert found == wanted
    assert set(found) == {"=yes", None}


@pytest.mark.parametrize(
    ("labels", "as_text"),
    [(["0", "1"], False), (["1", "01"], True)],
    ids=["numbers", "texts of numbers"],
)
def test_classes_of_any_kind_are_trained_and_written(tabs, labels, as_text):
    page = tabs.open()
    frame = pd.read_csv(io.BytesIO(hostile_csv(labels)), dtype={"=class": str})
    if as_text:
        content = io.BytesIO()
        frame.to_parquet(content)
        upload(page, content.getvalue(), "classes.parquet")
    else:
        upload(page, frame.to_csv(index=False).encode(), "classes.csv")
    page.get_by_role("radio", name=re.compile(rf"^{re.escape(labels[1])}\b")).check()
    page.get_by_role("button", name="Train the first machine").click()
    trained(page)
    # The list of completions writes a class as the language wants it.
    page.locator("#text").fill("constructor >= 20 => ")
    page.keyboard.press("Control+Space")
    offered = page.locator("#candidates [role=option]").filter(has_text=f"{labels[1]}")
    expect(offered).not_to_have_count(0)
    offered.filter(has_text="class").last.dispatch_event("mousedown")
    judged(page)
    expect(page.locator("#mistakes .mistake")).to_have_count(0)
    expect(card(page, 0).locator("h3")).to_contain_text(f"⇒ {labels[1]}")
    handle(page, 0, "constructor", "low").focus()
    page.keyboard.press("ArrowRight")
    judged(page)
    assert text_of(page).startswith("constructor >= 21 => ")
    expect(page.locator("#mistakes .mistake")).to_have_count(0)
    go_to(page, "Cases")
    expect(page.locator("table.cases tbody tr")).to_have_count(50)


def test_what_is_refused_on_the_page_data_is_said_beside_what_was_chosen(tabs):
    # A refusal has its status, of which the browser takes note.
    tabs.watch.expected.append(r"^error: Failed to load resource: .* 422")
    page = tabs.open()
    upload(page, hostile_csv(["-1", ""]), "empty.csv")
    page.get_by_label("Target").select_option("=class")
    expect(page).to_have_url(re.compile("target="))
    page.wait_for_load_state()
    page.get_by_label("unit of constructor", exact=True).fill("km")
    page.get_by_role("button", name="Train the first machine").click()
    expect(page.locator("#news")).to_contain_text("has a single class, -1")
    page.get_by_label("lowest possible constructor").fill("3")
    page.get_by_role("button", name="Train the first machine").click()
    expect(page.locator("#news")).to_contain_text("the highest constructor must be a number")
    expect(page.get_by_label("unit of constructor", exact=True)).to_have_value("km")
