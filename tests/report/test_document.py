"""The files: whole or not at all, the same each time, the same numbers in each form."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from clearmargin import LPSVC
from clearmargin.exceptions import FileInTheWayError, InvalidValueError
from clearmargin.language.words import share_text
from clearmargin.report import Report, report


def test_the_suffix_decides_the_form(reports, tmp_path):
    made = reports["plain"]
    page = made.save(tmp_path / "r.HTML")
    assert page.read_text(encoding="utf-8") == made.to_html()
    assert made.save(tmp_path / "r.md").read_text(encoding="utf-8") == made.to_markdown()
    text = made.save(str(tmp_path / "r.json")).read_text(encoding="utf-8")
    assert json.loads(text) == made.to_dict()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.HTML", "r.json", "r.md"]


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.rules"])
def test_another_suffix_is_refused(reports, tmp_path, name):
    with pytest.raises(InvalidValueError, match=r"ends in \.html, \.md or \.json"):
        reports["plain"].save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way_stays_unless_it_may_be_replaced(reports, tmp_path):
    path = tmp_path / "r.html"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(FileInTheWayError, match="overwrite=True"):
        reports["plain"].save(path)
    assert path.read_text(encoding="utf-8") == "mine"
    reports["plain"].save(path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_disk_that_fails_leaves_the_old_file(reports, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("mine", encoding="utf-8")

    def fail(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        reports["plain"].save(path, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
    assert path.read_text(encoding="utf-8") == "mine"


def test_the_same_input_gives_the_same_bytes(data, reports):
    again = report(LPSVC(nu=1.0), *data, cv=3, random_state=0)
    assert again.to_html() == reports["plain"].to_html()
    assert again.to_markdown() == reports["plain"].to_markdown()
    assert again.to_json() == reports["plain"].to_json()


def test_markdown_and_page_carry_the_numbers_of_the_summary(reports, read_page):
    summary = reports["plain"].to_dict()
    page = read_page(reports["plain"].to_html()).words
    markdown = unescape(re.sub(r"\\(.)", r"\1", reports["plain"].to_markdown()))
    for text in (page, markdown):
        for sentence in summary["learned"]:
            assert sentence in text
        for rule in summary["rules"]["list"]:
            assert f"Rule {rule['number']}: {rule['class']}" in text
            assert f"{rule['covered']:,} of {rule['rows']:,} cases" in text
            assert f"{rule['premise']} => {rule['class']}" in text
        for figure in summary["validation"]["figures"].values():
            assert share_text(figure["part"], figure["whole"]) in text
            assert f"{figure['part']:,} of {figure['whole']:,}" in text
        assert summary["reproduce"]["data"]["table_sha256"] in text
        assert summary["reproduce"]["call"].split("\n")[-1] in text


def test_tables_in_markdown_have_as_many_cells_in_every_row(reports):
    for made in reports.values():
        blocks = re.split(r"\n\n", made.to_markdown().strip())
        for block in blocks:
            lines = block.split("\n")
            if lines[0].startswith("| "):
                cells = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
                assert len(cells) == 1, block


def test_hostile_names_are_no_markup_in_markdown(reports):
    text = reports["hostile"].to_markdown()
    prose = re.sub(r"^(`{3,})\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<" not in prose
    assert not re.search(r"(?<!\\)[`*\[\]]", prose)


def test_a_notebook_shows_the_page_in_a_frame_that_runs_nothing(reports):
    made = reports["hostile"]
    text = made._repr_html_()
    assert text.startswith('<iframe title="&lt;script&gt;alert(1)&lt;/script&gt;" sandbox srcdoc="')
    inner = re.search(r'srcdoc="([^"]*)"', text)[1]
    assert unescape(inner) == made.to_html()


def test_the_summary_that_is_given_out_is_a_copy(reports):
    given = reports["plain"].to_dict()
    given["rules"]["list"].clear()
    assert reports["plain"].to_dict()["rules"]["list"]


def test_printing_says_it_in_short(reports):
    made = reports["plain"]
    assert isinstance(made, Report)
    assert str(made).split("\n") == [made.to_dict()["title"], *made.to_dict()["learned"]]
    assert repr(made) == "<Report 'Rules for ill and well': 2 rules, 90 cases>"
