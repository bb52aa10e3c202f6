"""Texts for people and documents, and the one door to all formats."""

from __future__ import annotations

import html
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from clearmargin import FeatureSpace, Rule, RuleSet, RuleStats, parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import export, to_json, to_latex, to_markdown, to_text
from clearmargin.export.formats import FORMATS
from clearmargin.export.readable import _LATEX
from clearmargin.language.prose import rule_rows
from clearmargin.rules import Box


@pytest.fixture(scope="module")
def known():
    """Rules about which everything is known."""
    stats = RuleStats(rows=200, covered=50, correct=49, agreed=50)
    first = Rule(Box([30.0], [40.0], True, False), "ill", name="obese", weight=2, proof="proved")
    second = Rule(Box([0.0], [20.0]), "well", origin="extracted", proof="observed", stats=stats)
    return RuleSet([first, second], FeatureSpace(["body_mass"]))


# JSON


@settings(max_examples=20)
@given(data=st.data())
def test_json_reads_back_as_the_same_rules(data, draw):
    rules = data.draw(draw.rule_sets())
    for indent in (1, None):
        assert RuleSet.from_dict(json.loads(to_json(rules, indent=indent))) == rules


def test_json_is_what_is_saved(known, tmp_path):
    path = known.save(tmp_path / "rules.json")
    assert path.read_text(encoding="utf-8") == to_json(known)


# The outline


def read_outline(text):
    """Premise and class of each rule in an outline, read from the top."""
    path, found = [], []
    for line in text.splitlines():
        if not line.startswith("|"):
            assert re.match("missing .* counts as ", line)
            continue
        bars, _, said = line.partition("|--- ")
        depth = len(bars) // 4
        assert bars == "|   " * depth
        path = [*path[:depth], said]
        if said.startswith("class: "):
            found.append((" and ".join(path[:-1]) or "true", said.removeprefix("class: ")))
    return found


@settings(max_examples=20)
@given(data=st.data())
def test_the_outline_says_every_rule_in_order(data, draw):
    rules = data.draw(draw.rule_sets())
    lines = rules.to_text().splitlines()[-len(rules) :]
    expected = [tuple(line.rsplit(" => ", 1)) for line in lines]
    assert read_outline(to_text(rules)) == expected


def test_neighbours_share_their_first_conditions():
    rules = parse_rules("x > 3 and y > 1 => a\nx > 3 and y < 0 => b\nx > 3 => c\ntrue => a")
    assert to_text(rules, default="b") == (
        "|--- x > 3\n"
        "|   |--- y > 1\n"
        "|   |   |--- class: a\n"
        "|   |--- y < 0\n"
        "|   |   |--- class: b\n"
        "|   |--- class: c\n"
        "|--- class: a\n"
        "|--- otherwise\n"
        "|   |--- class: b\n"
    )


def test_no_rules_have_an_empty_outline():
    assert to_text(RuleSet([], FeatureSpace(["x"]))) == ""


# Tables


def read_markdown(text):
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in page.split("<tr>")]
    return [[html.unescape(cell) for cell in row] for row in rows[1:]], page


def test_a_markdown_table_shows_what_is_known(known):
    assert to_markdown(known).splitlines() == [
        "| # | name | premise | class | weight | covers | right | proof |",
        "|---|---|---|---|---|---|---|---|",
        r"| 1 | obese | 30 &lt;= body\_mass &lt; 40 | ill | 2 |  |  | proved |",
        r"| 2 |  | 0 &lt;= body\_mass &lt;= 20 | well | 1 | 50 of 200 | 98 % | observed |",
    ]


@settings(max_examples=20)
@given(data=st.data())
def test_markdown_shows_names_as_they_are(data, draw):
    rules = data.draw(draw.rule_sets())
    (_, *rows), page = read_markdown(to_markdown(rules))
    assert [row[1] for row in rows] == [row.premise for row in rule_rows(rules)]
    assert not re.findall(r"<(?!/?(?:table|thead|tbody|tr|th|td|p)\b)", page)


def test_hostile_names_do_not_become_markup(hostile_rules):
    (_, *rows), page = read_markdown(to_markdown(hostile_rules))
    assert [row[2] for row in rows] == [row.premise for row in rule_rows(hostile_rules)]
    assert "<b>" not in page


def read_latex(cell):
    """The text that LaTeX would set, from what is known about each command."""
    names = {written: letter for letter, written in _LATEX.items()}
    names |= {r"$\leq$": "<=", r"$\geq$": ">="}
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    assert not re.search(r"[#$%&_{}\\~^]", re.sub(pattern, "", cell)), cell
    return re.sub(pattern, lambda match: names[match[0]], cell)


@settings(max_examples=20)
@given(data=st.data())
def test_latex_holds_the_premise_and_no_command_of_the_user(data, draw):
    rules = data.draw(draw.rule_sets())
    table, _, below = to_latex(rules).partition("\\end{tabular}\n")
    assert not below or read_latex(below.strip()).startswith("A missing value counts as: ")
    lines = table.splitlines()[4:-1]
    for line, row in zip(lines, rule_rows(rules), strict=True):
        assert line.endswith(r" \\")
        _, premise, _ = re.split(r"(?<!\\) ?&", line.removesuffix(r" \\"))
        assert read_latex(premise.removeprefix(" ")) == row.premise


def test_a_latex_table_shows_what_is_known(known):
    assert to_latex(known, width="5cm").splitlines() == [
        r"\begin{tabular}{rlp{5cm}lrrrl}",
        r"\hline",
        r"\# & name & premise & class & weight & covers & right & proof \\",
        r"\hline",
        r"1 & obese & 30 $\leq$ body\_mass $<$ 40 & ill & 2 &  &  & proved \\",
        r"2 &  & 0 $\leq$ body\_mass $\leq$ 20 & well & 1 & 50 of 200 & 98 \% & observed \\",
        r"\hline",
        r"\end{tabular}",
    ]


# One door


@pytest.mark.parametrize("to", FORMATS)
def test_the_door_leads_to_every_format(to, known):
    assert export(known, to) == FORMATS[to](known)
    assert export(known, to).strip()


def test_options_are_passed_on(known):
    assert "ELSE 'ill'" in export(known, default="ill", dialect="sqlite")


@pytest.mark.parametrize(
    ("to", "options", "message"),
    [
        ("sqll", {}, "cannot be exported to 'sqll'; did you mean 'sql'"),
        (None, {}, "cannot be exported to None; known are 'sql', 'python'"),
        ("xlsx", {}, r"'xlsx' is a file, not a text: use to_xlsx\(rules, path\)"),
        ("sql", {"dialekt": "ansi"}, "'sql' has no option 'dialekt'; did you mean 'dialect'"),
        ("rules", {"default": "ill"}, "the format 'rules' has no option 'default'"),
        ("text", {"default": "il"}, "default='il' is no class of the rules; did you mean 'ill'"),
    ],
)
def test_what_is_not_known_is_refused(known, to, options, message):
    with pytest.raises(InvalidValueError, match=message):
        export(known, to, **options)


@pytest.mark.parametrize("to", FORMATS)
def test_what_is_no_rule_set_is_refused(to):
    with pytest.raises(TypeError, match="a RuleSet is needed, not list"):
        export([], to)


def test_texts_and_tables_say_conditions_on_missing_values_and_what_is_filled(gappy_rules):
    outline, table, latex = (write(gappy_rules) for write in (to_text, to_markdown, to_latex))
    assert "|--- age is missing" in outline
    assert outline.endswith("missing bmi counts as 32.5\nmissing smoker counts as yes\n")
    assert "age is missing and job is missing" in table
    assert table.endswith("\n\nA missing value counts as: bmi 32.5, smoker yes.\n")
    assert latex.endswith("\\end{tabular}\n\nA missing value counts as: bmi 32.5, smoker yes.\n")
    assert json.loads(to_json(gappy_rules))["version"] == 2
    assert parse_rules(export(gappy_rules, to="rules")) == gappy_rules
