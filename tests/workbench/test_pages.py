"""What pages show: figures and words that are true of the project, and forms that are read as they were meant."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from tests.workbench.benches import RULES, keep_trained, open_project, patients
from tests.workbench.test_project_table import as_parquet

from clearmargin.exceptions import InvalidValueError
from clearmargin.workbench import pages
from clearmargin.workbench.guard import Access
from clearmargin.workbench.pages import Asked, machine_now, read_share, read_task_form, when
from clearmargin.workbench.settings import MACHINES, TaskSettings
from clearmargin.workbench.static_files import StaticFiles

TABLE = patients(110, seed=71, gaps=True)
TASK = {
    "target": "state",
    "missing": "impute",
    "positive": "ill",
    "ranges": {"age": [0, 120]},
    "units": {"age": "years"},
    "actions": {"dose": {"direction": "up", "cost": 2.5}},
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with open_project(tmp_path_factory.mktemp("pages"), TABLE, task=TASK) as opened:
        opened.keep(RULES, why="the ward round", base=1, settings={"lam": 1.0, "mu": 1.0})
        yield opened


def page_of(bench, make, query=None, **path):
    asked = Asked(bench, Access.make(1), StaticFiles(), query or {}, path)
    return make(asked)


def text_of(page):
    """What people read: without tags, blanks as one."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def test_pages_lead_to_data_until_a_target_is_chosen(tmp_path):
    with open_project(tmp_path, patients(30)) as bench:
        for make in (
            pages.rules_page,
            pages.cases_page,
            pages.contrast_page,
            pages.export_page,
        ):
            elsewhere = page_of(bench, make)
            assert elsewhere.address == f"/p/{bench.file.id}/data"
        assert "Target" in text_of(page_of(bench, pages.data_page))
        page_of(bench, pages.history_page)


def fields_of(page):
    """The fields that a browser would send with the form of the page Data."""
    fields = {}
    for tag in re.findall(r"<input[^>]*>", page):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        kind, name = attributes.get("type", "text"), html.unescape(attributes.get("name", ""))
        if kind in ("checkbox", "radio") and " checked" not in tag:
            continue
        fields[name] = html.unescape(attributes.get("value", ""))
    for select in re.finditer(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', page, re.DOTALL):
        options = re.findall(r'<option value="([^"]*)"( selected)?', select[2])
        chosen = [value for value, is_chosen in options if is_chosen]
        if options:
            fields[html.unescape(select[1])] = html.unescape((chosen or [options[0][0]])[0])
    return fields


def test_the_form_of_the_page_data_sends_back_what_was_chosen(bench):
    fields = fields_of(page_of(bench, pages.data_page))
    read = TaskSettings.from_dict(read_task_form(fields))
    assert read == TaskSettings.from_dict(TASK)


def test_names_are_left_out_by_default(tmp_path):
    table = patients(60)
    table = {
        "id": np.arange(60),
        "name": np.array([f"n{k}" for k in range(60)], dtype=object),
        **table,
    }
    with open_project(tmp_path, table) as bench:
        read = read_task_form(fields_of(page_of(bench, pages.data_page)))
        assert read["target"] == "state"
        assert read["drop"] == ["id", "name"]
        assert bench.set_task(read).id == 1


def test_gaps_are_filled_by_default_where_there_are_some(tmp_path):
    with open_project(tmp_path, TABLE) as bench:
        read = read_task_form(fields_of(page_of(bench, pages.data_page)))
        assert read["missing"] == "impute"
        assert bench.set_task(read).id == 1


def test_columns_that_were_not_read_are_told(tmp_path):
    frame = {**patients(40), "when": pd.date_range("2024-01-01", periods=40)}
    with open_project(tmp_path, as_parquet(frame)) as bench:
        text = text_of(page_of(bench, pages.data_page))
        assert "column 'when' holds neither numbers nor texts, and is left out" in text


def test_the_page_data_is_about_the_task_of_the_newest_version(tmp_path):
    with open_project(tmp_path, patients(60), task={"target": "state"}) as bench:
        bench.jobs.start = lambda *_: None
        bench.set_task({"target": "colour", "positive": "red"})
        bench.restore(1, why="back", base=2)
        assert read_task_form(fields_of(page_of(bench, pages.data_page)))["target"] == "state"
        assert "ill" in text_of(page_of(bench, pages.rules_page))


def test_an_example_is_a_rule_that_can_be_kept(tmp_path):
    tables = {
        "plain": (patients(40), "state"),
        "numbers": ({**patients(40), "state": np.arange(40) % 2}, "state"),
        "strange": (
            {"and": np.arange(40) % 7, "y": np.array(["not ill", "it's"] * 20, dtype=object)},
            "y",
        ),
    }
    for name, (table, target) in tables.items():
        folder = tmp_path / name
        folder.mkdir()
        with open_project(folder, table, task={"target": target}) as bench:
            page = page_of(bench, pages.rules_page)
            example = html.unescape(re.search(r'placeholder="([^"]*)"', page)[1])
            told = bench.check(example)
            assert told["errors"] == []
            assert len(told["rules"]) == 1


def test_a_rule_from_elsewhere_is_added_to_the_text(bench):
    page = page_of(bench, pages.rules_page, {"add": "new: age >= 3 => ill"})
    text = html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)[1])
    assert text.strip() == f"{RULES}new: age >= 3 => ill"


def test_the_history_tells_figures_and_flips(bench):
    text = text_of(page_of(bench, pages.history_page))
    first, second = (bench.version(k).validated for k in (1, 2))
    flips = int((first.codes != second.codes).sum())
    assert f"{100 * first.accuracy:.1f} → {100 * second.accuracy:.1f} % right" in text
    assert f"{flips} case" in text
    assert "3 rules" in text
    assert "the ward round" in text


def test_remarks_and_names_are_no_rules_in_the_history(tmp_path):
    table = {"a=>b": np.arange(40) % 7, "y": np.array(["a", "b"] * 20, dtype=object)}
    with open_project(tmp_path, table, task={"target": "y"}) as bench:
        text = "# x => y\n`a=>b` >= 3 => a\n"
        bench.jobs.start = lambda *_: None
        bench.keep(text, why="w", base=1)
        assert " 1 rule " in text_of(page_of(bench, pages.history_page))


def test_the_difference_of_two_versions_is_told_both_ways(bench):
    for old, new in ((1, 2), (2, 1)):
        text = text_of(page_of(bench, pages.difference_page, r=old, s=new))
        assert "old: age >= 60 => ill" in text


def test_a_version_tells_what_became_of_its_rules(bench):
    text = text_of(page_of(bench, pages.revision_page, r=2))
    assert bench.head.hash in text
    for fact in bench.file.result(2, "model")["outcome"]:
        assert re.sub(r"\s+", " ", fact["text"]) in text


@pytest.mark.parametrize("machine", MACHINES)
def test_what_the_machine_is_now_is_said_in_words(tmp_path, machine):
    with open_project(tmp_path, patients(60), task={"target": "state"}) as bench:
        keep_trained(bench, machine, "")
        said = machine_now(bench.version())
        right = f"{100 * bench.version().validated.accuracy:.1f} % of rows not trained on"
        assert right in said
        assert ("plane" in said) == (bench.version().machine.planes is not None)
        bench.jobs.start = lambda *_: None
        bench.keep("age >= 3 => ill", why="w", base=2)
        assert machine_now(bench.version()).startswith("in training; before it")


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=7), "7 min ago"),
        (timedelta(days=3), r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"),
        (timedelta(days=-3), r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"),
    ],
)
def test_times_are_written_for_people(ago, words):
    assert re.fullmatch(words, when((datetime.now(UTC) - ago).isoformat()))
    assert when(None) == ""


@pytest.mark.parametrize(
    ("text", "share"), [("0", 0.0), ("20", 0.2), ("50", 0.5), (" 7.5 ", 0.075)]
)
def test_a_share_is_read_in_percent(text, share):
    assert read_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "a fifth", "-1", "51", "nan", "inf", "1e999"])
def test_a_share_that_cannot_be_is_refused_in_words(text):
    with pytest.raises(InvalidValueError, match="the sealed share is"):
        read_share(text)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"low:0": "0"}, "the highest age must be a number, not ''; give both ends"),
        ({"low:0": "low", "high:0": "3"}, "the lowest age must be a number, not 'low'"),
        ({"act:0": "up", "cost:0": "much"}, "the cost of age must be a number, not 'much'"),
    ],
)
def test_numbers_of_a_form_are_read_or_refused_in_words(fields, words):
    with pytest.raises(InvalidValueError, match=re.escape(words)):
        read_task_form({"target": "y", "column:0": "age", "use:0": "1", **fields})


def test_numbers_of_a_form_may_have_a_comma():
    fields = {"target": "y", "column:0": "age", "low:0": "0,5", "high:0": " 1,5 "}
    assert read_task_form(fields)["ranges"] == {"age": (0.5, 1.5)}


def test_long_forms_are_shown_by_their_first_lines(bench):
    page = page_of(bench, pages.export_page, {"form": "pmml"})
    assert re.search(r"\.\.\. and \d+ more lines", text_of(page))


def test_the_start_page_lists_troubles_beside_projects(tmp_path):
    listed = [
        {"id": "a1", "file": "a", "name": "A", "rows": 3, "columns": 2, "versions": 1, "at": None,
         "why": "so", "problem": None},
        {"id": None, "file": "b.clearmargin", "problem": "damaged"},
    ]  # fmt: skip
    page = pages.start_page(listed, Access.make(1), StaticFiles(), tmp_path)
    assert 'href="/p/a1"' in page
    assert "b.clearmargin damaged" in text_of(page)
