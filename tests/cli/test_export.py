"""Rules in other formats: what is written, which options are for which format, and that all pages name them all."""

from __future__ import annotations

from pathlib import Path

import pytest

import clearmargin.export
from clearmargin.cli import command_options as options
from clearmargin.cli.main import command_parser
from clearmargin.export import export
from clearmargin.export.formats import FILE_FORMATS, FORMATS, format_options
from clearmargin.export.sql_dialect import DIALECTS

DOCS = Path(__file__).parents[2] / "docs"
TRAIN = ("patients.csv", "--target", "outcome", "--nu", "1", "--cv", "none")

# What is in the text of each format.
SHOWN = {
    "sql": "CASE",
    "python": "def predict_row",
    "pmml": "<PMML",
    "json": '"format": "clearmargin-rules"',
    "rules": "age >= 55 => ill",
    "text": "|--- ",
    "markdown": "| ",
    "latex": "\\begin",
}


@pytest.mark.parametrize("to", SHOWN)
def test_rules_are_exported_to_the_screen_and_to_files(clearmargin, folder, to):
    shown = clearmargin("export", "advice.rules", "--to", to).out
    assert SHOWN[to] in shown
    clearmargin("export", "advice.rules", "--to", to, "--out", "exported")
    assert (folder / "exported").read_text().rstrip("\n") == shown.rstrip("\n")


def test_options_of_an_export_are_passed_on(clearmargin, folder):
    words = ("export", "advice.rules", "--to", "sql", "--dialect", "sqlite", "--form", "view")
    shown = clearmargin(*words, "--table", "patients", "--default", "well").out
    assert "CREATE VIEW" in shown
    assert "ELSE 'well'" in shown


def test_rules_are_exported_to_a_spreadsheet_and_from_a_model(clearmargin, folder):
    clearmargin("rules", *TRAIN, "--method", "plane", "--save-model", "m.json")
    said = clearmargin("export", "m.json", "--to", "xlsx", "--out", "rules.xlsx")
    assert "written to rules.xlsx" in said.out
    assert (folder / "rules.xlsx").read_bytes().startswith(b"PK")


def test_the_formats_and_dialects_of_the_help_are_those_of_the_library():
    assert (*FORMATS, *FILE_FORMATS) == options.FORMATS
    assert tuple(DIALECTS) == options.DIALECTS
    assert set(SHOWN) == set(FORMATS)
    shown = command_parser("export").format_help()
    assert "{" + ",".join(options.FORMATS) + "}" in shown
    assert "{" + ",".join(options.DIALECTS) + "}" in shown


def test_the_pages_name_all_formats_and_dialects():
    for page in ("reference/cli.md", "how-to/export-rules.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        missing = [
            name
            for name in (*options.FORMATS, *options.DIALECTS)
            if f"`{name}`" not in text and f'`"{name}"`' not in text
        ]
        assert not missing, page
    assert [name for name in FORMATS if f'"{name}"' not in export.__doc__] == []
    listed = (DOCS / "reference/api.md").read_text(encoding="utf-8").split()
    assert [name for name in clearmargin.export.__all__ if name not in listed] == []


@pytest.mark.parametrize("to", options.FORMATS)
def test_an_option_that_a_format_lacks_is_refused_with_those_that_can_be_typed(run, folder, to):
    parser = command_parser("export")
    flags = {flag for action in parser._actions for flag in action.option_strings}
    values = {"dialect": "ansi", "form": "case", "table": "t", "view": "v", "column": "c"}
    values |= {"name": "f", "default": "ill"}
    lacked = set(values) - set(format_options(to))
    assert lacked
    for name in lacked:
        said = run(
            "export", "advice.rules", "--to", to, "--out", f"r.{to}", f"--{name}", values[name]
        )
        assert said.code == 2
        assert f"--{name} is not for the format {to}, which takes " in said.err
        named = {word.strip(",.;") for word in said.err.split() if word.startswith("--")}
        assert named <= flags
        assert {flag.removeprefix("--") for flag in named - {f"--{name}"}} == (
            set(values) & set(format_options(to))
        )
        assert not (folder / f"r.{to}").exists()


def test_a_view_is_called_as_the_user_wishes_and_needs_a_table(clearmargin, run, folder):
    words = ("export", "advice.rules", "--to", "sql", "--form", "view")
    shown = clearmargin(*words, "--table", "patients", "--view", "ill_patients").out
    assert shown.startswith('CREATE VIEW "ill_patients"')
    said = run(*words)
    assert said.code == 2
    assert "--form view is without --table, but a view needs the table" in said.err
    assert "--view v is for --form view alone" in run(*words[:4], "--view", "v").err


def test_a_class_that_is_a_number_is_named_as_text(clearmargin, folder):
    (folder / "numbers.rules").write_text("age >= 55 => 1\nage < 35 => 0\n")
    shown = clearmargin("export", "numbers.rules", "--to", "sql", "--default", "0").out
    assert "ELSE 0" in shown
