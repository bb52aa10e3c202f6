"""A table whose names and values are made to break pages, databases and spreadsheets."""

import csv
import io
import re
import sqlite3
from contextlib import closing

import numpy as np
from playwright.sync_api import Page, expect
from tests.workbench.stories.conftest import card, fits, judged, keep, text_of, trained

from clearmargin.rules import RuleSet

NAMES = [
    *(
        "</textarea><script>alert(1)</script><img src=x onerror=alert(1)>",
        '"=>" a`b\\c\'d',
        "=cmd()",
    ),
    *("שלום \N{TEST TUBE} עולם", "x" * 300, "and", "__proto__", "constructor", "two\nlines"),
]


def hostile_csv(rows: int = 80) -> bytes:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 40, (rows, len(NAMES)))
    score = values[:, 0] - values[:, 1] + 0.5 * values[:, 5] + rng.normal(0, 4, rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*NAMES, "=class"])
    for line, high in zip(values.tolist(), score > np.median(score), strict=True):
        writer.writerow([*line, "=yes" if high else "<i>no</i>"])
    return text.getvalue().encode("utf-8")


def plain(name: str) -> str:
    """A name without what only changes how it is laid out."""
    return re.sub(r"\s+", " ", name.replace("\N{LEFT-TO-RIGHT MARK}", ""))


def test_names_are_names_on_every_page_and_in_every_file(tabs, client):
    page = tabs.open()
    # A value that is no number is refused with a status, of which the browser takes note.
    tabs.expected.append(r"^error: Failed to load resource: .* 422")
    page.on("dialog", lambda dialog: tabs.said.append(dialog.message) or dialog.dismiss())
    table = {"name": "<b>odd & name.csv", "mimeType": "text/csv", "buffer": hostile_csv()}
    page.locator("#file").set_input_files(table)
    page.get_by_role("button", name="Make a project", exact=True).click()
    expect(page.get_by_role("heading", name="Data")).to_be_visible()
    page.wait_for_load_state()
    shown = [plain(name) for name in page.locator("table.columns tbody th").all_inner_texts()]
    assert shown == [plain(name) for name in [*NAMES, "=class"]]
    assert fits(page)
    # What is refused is said beside what was chosen, which stays.
    page.get_by_label("lowest possible constructor").fill("3")
    page.get_by_role("button", name="Train the first machine").click()
    expect(page.locator("#news")).to_contain_text("constructor")
    page.get_by_label("lowest possible constructor").fill("")
    page.get_by_label("=yes").check()
    page.get_by_role("button", name="Train the first machine").click()
    trained(page)
    write_a_rule_for_each(page)
    keep(page, "<script>alert('why')</script>")
    expect(page.locator("#bars .rule-card")).to_have_count(len(NAMES))
    assert fits(page)
    home = re.sub(r"^http://[^/]*|/rules.*", "", page.url)
    for address in ("cases", "history", "export", "revisions/2", "revisions/1/against/2"):
        page.goto(f"{home}/{address}")
        expect(page.locator("main h1")).to_be_visible()
        assert fits(page), address
    look_at_a_case(page, home)
    page.goto(f"{home}/history")
    expect(page.locator("#v2")).to_contain_text("<script>alert('why')</script>")
    check_files(client, home)


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
    page.goto(f"{home}/cases")
    page.locator("table.cases tbody a").first.click()
    expect(page.locator("#explanation")).to_contain_text("The case is")
    for name, value, said in (
        *((name, "39", "With these values") for name in ("__proto__", "constructor")),
        (NAMES[0], "a lot", "must be a number"),
    ):
        page.get_by_label(name, exact=True).fill(value)
        expect(page.locator("#what-if-answer")).to_contain_text(said)


def check_files(client, home: str) -> None:
    """SQL runs, JSON is read, and no spreadsheet finds a formula."""
    rules = RuleSet.from_dict(client.get(f"{home}/export/json").json())
    names = list(rules.space.names)
    assert names == NAMES
    lines = list(csv.reader(io.StringIO(client.get(f"{home}/export/cases").text)))
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "@"))]
    table = np.array([line[-len(NAMES) :] for line in lines[1:]], dtype=np.float64)
    wanted = rules.predict(table).tolist()
    assert set(wanted) == {"=yes", None}
    sql = client.get(f"{home}/export/sql-sqlite").text
    with closing(sqlite3.connect(":memory:")) as database:
        quoted = ", ".join("`" + name.replace("`", "``") + "`" for name in names)
        database.execute(f"CREATE TABLE cases ({quoted})")
        marks = ", ".join("?" * len(names))
        database.executemany(f"INSERT INTO cases VALUES ({marks})", table.tolist())
        found = [row[0] for row in database.execute(f"SELECT {sql} FROM cases ORDER BY rowid")]
    assert found == wanted
