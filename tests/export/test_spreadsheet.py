"""The spreadsheet: read back by another program, whole or not at all, and never a formula."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import zipfile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import FeatureSpace, Polyhedron, Rule, RuleSet, RuleStats, parse_rules
from clearmargin.exceptions import (
    FileInTheWayError,
    InvalidValueError,
    MissingDependencyError,
)
from clearmargin.export import to_xlsx
from clearmargin.export.spreadsheet import sheet_names
from clearmargin.rules import Box

SMALL = parse_rules("x > 3 => a\nx <= 3 => b")


def read(path):
    """Each sheet as a list of rows, mappings from title to cell."""
    book = openpyxl.load_workbook(path)
    sheets = {}
    for sheet in book:
        titles, *rows = sheet.iter_rows()
        names = [cell.value for cell in titles]
        assert len(set(names)) == len(names)
        sheets[sheet.title] = [dict(zip(names, row, strict=True)) for row in rows]
    return sheets


def values(row):
    return {title: cell.value for title, cell in row.items() if cell.value is not None}


def test_a_sheet_for_each_class_and_a_row_for_each_rule(tmp_path):
    space = FeatureSpace(["bmi", "age", "class"], categories={"class": ["I", "II", "=3"]})
    inf = math.inf
    stats = RuleStats(rows=200, covered=50, correct=49)
    rules = RuleSet(
        [
            Rule(
                Box([30.5, -inf, -inf], [inf, 60, inf], False, True, {2: [1, 2]}),
                "ill",
                stats=stats,
            ),
            Rule(Box.unbounded(3), "well", name="=HYPERLINK(0)", weight=2.5, proof="proved"),
            Rule(Polyhedron([[0.5, 2, 0]], [7.0], sets={2: [0]}), "ill", origin="refined"),
        ],
        space,
        ["well", "ill", "never"],
    )
    sheets = read(to_xlsx(rules, tmp_path / "rules.xlsx"))
    assert list(sheets) == ["well", "ill", "never"]
    assert sheets["never"] == []
    first, third = sheets["ill"]
    assert values(first) == {
        "rule": 1,
        "premise": "bmi > 30.5 and age <= 60 and class in {II, `=3`}",
        "class": "ill",
        "bmi low": 30.5,
        "age high": 60,
        "class in": "II, `=3`",
        "rows": 200,
        "covered": 50,
        "correct": 49,
        "coverage": 0.25,
        "precision": 0.98,
        "weight": 1,
        "origin": "expert",
    }
    assert first["bmi low"].number_format == '"> "General'
    assert first["age high"].number_format == '"≤ "General'
    assert values(third)["sums"] == "0.5*bmi + 2*age <= 7"
    assert values(third)["class in"] == "I"
    (second,) = sheets["well"]
    assert second["name"].value == "=HYPERLINK(0)"
    assert second["name"].data_type == "s"
    assert values(second)["premise"] == "true"
    assert values(second)["proof"] == "proved"


def test_hostile_texts_are_no_formulas(hostile_rules, tmp_path):
    path = to_xlsx(hostile_rules, tmp_path / "rules.xlsx")
    sheets = read(path)
    cells = [cell for rows in sheets.values() for row in rows for cell in row.values()]
    assert {cell.data_type for cell in cells} == {"s", "n"}
    rows = sorted((row for rows in sheets.values() for row in rows), key=lambda r: r["rule"].value)
    assert [row["rule"].value for row in rows] == list(range(1, len(hostile_rules) + 1))
    lines = hostile_rules.to_text().splitlines()[-len(rows) :]
    for row, line, rule in zip(rows, lines, hostile_rules, strict=True):
        assert row["premise"].value in line
        assert row["class"].value == rule.label
    with zipfile.ZipFile(path) as parts:
        assert not [p for p in parts.namelist() if b"<f>" in parts.read(p)]


def test_letters_that_xml_cannot_hold_are_kept(tmp_path):
    rules = RuleSet([Rule(Box([0.0], [1.0]), "a\x01b", name="n\x02")], FeatureSpace(["x\x03"]))
    ((row,),) = read(to_xlsx(rules, tmp_path / "r.xlsx")).values()
    # So the format writes them; Excel shows the letters again, openpyxl does not.
    assert row["class"].value == "a_x0001_b"
    assert row["name"].value == "n_x0002_"
    assert "x\\u0003" in row["premise"].value


@given(
    st.lists(st.text(min_size=1) | st.sampled_from(["a" * 40, "A" * 40, "History"]), unique=True)
)
def test_sheets_have_names_that_excel_accepts(classes):
    names = sheet_names(classes)
    assert len({name.casefold() for name in names}) == len(classes)
    for name in names:
        assert 1 <= len(name.encode("utf-16-le")) // 2 <= 31
        assert not set(name) & set("[]:*?/\\")
        assert not name.startswith("'")
        assert not name.endswith("'")
        assert name.casefold() != "history"


def test_an_existing_file_is_left_alone(tmp_path):
    path = tmp_path / "rules.xlsx"
    path.write_bytes(b"mine")
    with pytest.raises(FileInTheWayError, match="pass overwrite=True"):
        to_xlsx(SMALL, path)
    assert path.read_bytes() == b"mine"
    to_xlsx(SMALL, path, overwrite=True)
    assert list(read(path)) == ["a", "b"]
    assert [p.name for p in tmp_path.iterdir()] == ["rules.xlsx"]


def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path, monkeypatch):
    path = tmp_path / "rules.xlsx"
    flush = os.fsync

    def somebody_else(descriptor):
        path.write_bytes(b"theirs")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", somebody_else)
    with pytest.raises(FileInTheWayError, match="exists already"):
        to_xlsx(SMALL, path)
    assert path.read_bytes() == b"theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["rules.xlsx"]


def test_a_disk_that_fills_up_leaves_nothing(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        to_xlsx(SMALL, tmp_path / "rules.xlsx")
    assert [p.name for p in tmp_path.iterdir()] == []


def test_a_file_system_without_links_will_do(tmp_path, monkeypatch):
    def no_links(target, source):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(type(tmp_path), "hardlink_to", no_links)
    assert list(read(to_xlsx(SMALL, tmp_path / "rules.xlsx"))) == ["a", "b"]
    assert [p.name for p in tmp_path.iterdir()] == ["rules.xlsx"]


def test_places_where_no_file_can_be_are_refused(tmp_path):
    with pytest.raises(InvalidValueError, match=r"ends in \.xlsx"):
        to_xlsx(SMALL, tmp_path / "rules.xls")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        to_xlsx(SMALL, tmp_path / "nowhere" / "rules.xlsx")
    (tmp_path / "folder.xlsx").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        to_xlsx(SMALL, tmp_path / "folder.xlsx")


def test_what_does_not_fit_is_refused(tmp_path):
    long = RuleSet([Rule(Box([0.0], [1.0]), "a", name="n" * 40_000)], FeatureSpace(["x"]))
    with pytest.raises(InvalidValueError, match="does not fit into a cell"):
        to_xlsx(long, tmp_path / "rules.xlsx")
    n = 8200
    wide = RuleSet(
        [Rule(Box([0.0] * n, [1.0] * n), "a")], FeatureSpace([f"x{j}" for j in range(n)])
    )
    with pytest.raises(InvalidValueError, match=r"16\d\d\d columns is larger than"):
        to_xlsx(wide, tmp_path / "rules.xlsx")
    with pytest.raises(InvalidValueError, match="the rule set has no classes"):
        to_xlsx(RuleSet([], FeatureSpace(["x"])), tmp_path / "rules.xlsx")
    assert [p.name for p in tmp_path.iterdir()] == []


def test_the_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingDependencyError, match=r"pip install clearmargin\[xlsx\]"):
        to_xlsx(SMALL, tmp_path / "rules.xlsx")


def test_importing_the_exports_loads_nothing_heavy():
    code = "import clearmargin.export, sys; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in out.stdout.split()}
    assert not loaded & {"pandas", "sklearn", "scipy", "matplotlib", "xlsxwriter", "duckdb"}


def test_missing_values_have_columns_and_filled_ones_a_sheet(gappy_rules, tmp_path):
    book = openpyxl.load_workbook(to_xlsx(gappy_rules, tmp_path / "gaps.xlsx"))
    assert book.sheetnames == ["refer", "ask", "ill", "well", "missing values"]
    head, row = ([cell.value for cell in line] for line in book["refer"].iter_rows())
    told = dict(zip(head, row, strict=True))
    assert (told["age missing"], told["job missing"]) == ("yes", "no")
    assert told["bmi low"] == 32
    rows = [[cell.value for cell in line] for line in book["missing values"].iter_rows()]
    assert rows[1:] == [["bmi", 32.5], ["smoker", "yes"]]
