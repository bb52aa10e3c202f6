"""Texts for people, what export refuses, and what the written forms have in common."""

import enum
import html
import math
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sklearn.linear_model import LogisticRegression
from tests.oracles import drawn_rules as drawn
from tests.oracles.engines import run_python

import clearmargin as cm
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import export, to_json, to_markdown, to_python, to_sql, to_text
from clearmargin.points import Scorecard
from clearmargin.rules import Box

WRITERS = (to_sql, to_python, to_json, to_text, to_markdown)


def known_rules():
    """Rules about which everything is known."""
    stats = cm.RuleStats(rows=200, covered=50, correct=49, agreed=50)
    first = cm.Rule(Box([30.0], [40.0], True, False), "ill", name="obese", weight=2, proof="proved")
    second = cm.Rule(Box([0.0], [20.0]), "well", origin="extracted", proof="observed", stats=stats)
    return cm.RuleSet([first, second], cm.FeatureSpace(["body_mass"]))


def premises(rules):
    """Premise and class of each rule as the rule language prints them, without names of rules."""
    bare = cm.RuleSet([cm.Rule(r.region, r.label) for r in rules], rules.space, rules.classes)
    lines = bare.to_text().splitlines()[-len(rules) :]
    return [tuple(line.rsplit(" => ", 1)) for line in lines]


def read_outline(text):
    """Premise and class of each rule in an outline, read from the top."""
    path, found = [], []
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        bars, _, said = line.partition("|--- ")
        path = [*path[: len(bars) // 4], said]
        if said.startswith("class: "):
            found.append((" and ".join(path[:-1]) or "true", said.removeprefix("class: ")))
    return found


@given(data=st.data())
def test_to_text_has_every_rule_in_order(data):
    rules = data.draw(drawn.rule_sets())
    assert read_outline(to_text(rules)) == premises(rules)


def test_to_text_of_neighbours_shares_their_first_conditions():
    rules = cm.parse_rules("x > 3 and y > 1 => a\nx > 3 and y < 0 => b\nx > 3 => c\ntrue => a")
    lines = to_text(rules, default="b").splitlines()
    assert [line.count("|   ") for line in lines] == [0, 1, 2, 1, 2, 1, 0, 0, 1]
    assert sum("x > 3" in line for line in lines) == 1
    assert lines[-1].endswith("b")
    assert to_text(cm.RuleSet([], cm.FeatureSpace(["x"]))) == ""


def read_markdown(text):
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in page.split("<tr>")]
    return [[html.unescape(cell) for cell in row] for row in rows[1:]], page


@given(data=st.data())
def test_to_markdown_shows_names_as_they_are(data):
    rules = data.draw(drawn.rule_sets())
    (head, *rows), page = read_markdown(to_markdown(rules))
    place = head.index("premise")
    assert [row[place] for row in rows] == [premise for premise, _ in premises(rules)]
    assert not re.findall(r"<(?!/?(?:table|thead|tbody|tr|th|td|p)\b)", page)


def numbers_in(text):
    return [float(x) for x in re.findall(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w])", text)]


def test_texts_of_weighted_rules_have_all_points_and_filled_values():
    two, three = drawn.two_weighted_classes(), drawn.three_weighted_classes()
    head, *lines, below = to_text(two).splitlines()
    assert numbers_in(head) == [-4.2, 0.3]
    points = [float(line.split()[0]) for line in lines]
    assert points == [0.1, 0.2, -0.3, -1.7, 0.1, 0.3, -0.3]
    assert numbers_in(below) == [32.5]
    assert sum(line.lstrip()[0] in "+-" for line in to_text(three).splitlines()) == 10
    for weighted, count in ((two, 7), (three, 10)):
        rows, _ = read_markdown(to_markdown(weighted))
        column = [float(row[2]) for row in rows[1:]]
        assert len(column) == count


def test_texts_of_a_proved_card_have_all_lines():
    card = drawn.proof_card()
    (_, *rows), _ = read_markdown(to_markdown(card))
    assert [tuple(map(int, row[2:])) for row in rows] == [
        *((0, 4), (5, 9), (3, 3), (0, 0), (6, 7), (0, 0), (0, 2), (2, 4), (4, 5))
    ]
    assert numbers_in(to_text(card).splitlines()[0]) == [12]
    assert to_text(card, default="ill") != to_text(card)


def test_export_writes_every_format_of_whatever_decides():
    rules, X = known_rules(), np.random.default_rng(0).normal(size=(60, 2))
    found = cm.RuleExtractor(LogisticRegression()).fit(X, X[:, 0] > 0)
    model = SimpleNamespace(scorecard_=drawn.two_weighted_classes())
    assert export(rules, "rules") == rules.to_text()
    assert export(found, "rules") == export(found.rules_, "rules")
    for to, write in zip(("sql", "python", "json", "text", "markdown"), WRITERS, strict=True):
        assert export(rules, to) == write(rules)
        assert export(model, to) == export(model.scorecard_, to)
        assert export(found, to) == export(found.rules_, to)


def test_to_python_runs_where_nothing_is_installed():
    script = to_python(cm.parse_rules("x > 3 and kind = a => yes"))
    assert (script + to_python(drawn.hostile_rules())).isascii()
    script += "\nprint(predict_row({'x': 4, 'kind': 'a'}))\n"
    line = [sys.executable, "-I", "-S", "-c", script]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == "yes\n"
    assert "import" not in script


@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.ClearmarginWarning")  # rounds 2^53 + 1
def test_to_python_reads_values_of_all_kinds_as_predict_reads_them():
    space = cm.FeatureSpace(["x", "kind"], categories={"kind": ["3", "0.5", "True", "b"]})
    rules = cm.parse_rules("x <= 9007199254740992 and kind in {`3`, `0.5`} => yes", space=space)
    source = to_python(rules)
    rows, expected = [], []
    for x in (1, 1.5, True, np.float32(2), np.int64(2**53 + 1), 2**53 + 2):
        for kind in ("3", 3, 3.0, np.int8(3), 0.5, "3.0", "b", True):
            rows.append({"x": x, "kind": kind})
            frame = pd.DataFrame({"x": [x], "kind": pd.Series([kind], dtype=object)})
            expected.append(rules.predict(frame).item())
    for missing in (None, math.nan, np.float64("nan"), pd.NA):
        rows += [{"x": missing, "kind": "3"}, {"x": 1, "kind": missing}]
        expected += [None, None]
    rows.append(pd.Series({"x": 1, "kind": "3"}))
    assert run_python(source, rows) == [*expected, "yes"]
    with pytest.raises(KeyError, match="x"):
        run_python(source, [{"y": 4}])
    with pytest.raises(TypeError, match="x"):
        run_python(source, [{"x": "4", "kind": "b"}])
    far = {"x": 1, "kind": 1, "bmi": 1.0, "age": math.inf, "smoker": "no", "job": "none"}
    with pytest.raises(ValueError, match="infinity"):
        run_python(to_python(drawn.two_weighted_classes()), [far])


def test_to_python_calls_functions_and_variables_by_name():
    level = enum.IntEnum("Level", {"LOW": 1})
    rules = cm.RuleSet([cm.Rule(Box([0], [1]), level.LOW)], cm.FeatureSpace(["x"]))
    assert run_python(to_python(rules), [{"x": 0.5}]) == [1]
    source = to_python(cm.parse_rules("risk > 3 and `if` > 0 => a"), name="risk")
    asked = [{"risk": 4, "if": 1}, {"risk": 3, "if": 1}]
    assert run_python(source, asked, "risk_many") == ["a", None]
    # Columns without a condition need not be there.
    gaps = drawn.gappy_rules()
    X, rows = drawn.rows_around(gaps, count=20)
    asked = [{k: v for k, v in row.items() if k not in ("unused", "other")} for row in rows]
    assert run_python(to_python(gaps), asked) == gaps.predict(X).tolist()


def rules_over(*names, categories=None, classes=None):
    n = len(names)
    space = cm.FeatureSpace(names, categories=categories)
    sets = {j: [0] for j, kinds in enumerate(space.categories) if kinds is not None}
    low = [-math.inf if j in sets else 0.0 for j in range(n)]
    high = [math.inf if j in sets else 1.0 for j in range(n)]
    label = classes[0] if classes else "a"
    return cm.RuleSet([cm.Rule(Box(low, high, sets=sets), label)], space, classes or ["a"])


PLAIN = cm.parse_rules("x > 3 => ill\nx <= 3 => well")
EMPTY = cm.RuleSet([], cm.FeatureSpace(["x"]), ["a"])
MANY = cm.parse_rules("\n".join(f"x > {k} => b" for k in range(901)), classes=["a", "b"])
VIEW = {"form": "view", "table": "t"}
REFUSED = [
    (lambda: export(PLAIN, "sqll"), "sql"), (lambda: export(PLAIN, None), "None"),
    (lambda: export(PLAIN, "sql", dialekt="ansi"), "dialect"),
    (lambda: export(PLAIN, "rules", default="ill"), "default"),
    (lambda: export(drawn.two_weighted_classes(), "rules"), "json"),
    (lambda: export(drawn.proof_card(), "rules"), "json"), (lambda: to_sql(PLAIN, dialect="postgres"), "postgresql"),
    (lambda: to_sql(PLAIN, dialect=None), "None"), (lambda: to_sql(PLAIN, form="views"), "view"),
    (lambda: to_sql(PLAIN, form="score"), "score"), (lambda: to_sql(drawn.proof_card(), form="score"), "score"),
    (lambda: to_sql(drawn.three_weighted_classes(), form="score"), "score"),
    (lambda: to_sql(PLAIN, default="wel"), "well"), (lambda: to_sql(drawn.proof_card(), default="sick"), "sick"),
    (lambda: to_sql(drawn.two_weighted_classes(), default="ill"), "default"),
    (lambda: to_text(drawn.two_weighted_classes(), default="ill"), "default"),
    (lambda: to_sql(PLAIN, form="view"), "table"), (lambda: to_sql(PLAIN, form="view", table=("a", "")), "table"),
    (lambda: to_sql(PLAIN, form="view", table=()), "table"), (lambda: to_sql(PLAIN, **VIEW, view=""), "view"),
    (lambda: to_sql(PLAIN, **VIEW, view="t"), "'t'"), (lambda: to_sql(PLAIN, **VIEW, column="x"), "'x'"),
    (lambda: to_sql(PLAIN, **VIEW, column=["a", "b"]), "column"),
    (lambda: to_sql(PLAIN, form="view", table="t\0"), "NUL"), (lambda: to_sql(PLAIN, table="t"), "table"),
    (lambda: to_sql(PLAIN, view="t"), "view"), (lambda: to_sql(EMPTY, default="a"), "no rules"),
    (lambda: to_sql(rules_over("BMI", "bmi"), dialect="sqlite"), "BMI"),
    (lambda: to_sql(rules_over("ä" * 40 + "1", "ä" * 40 + "2"), dialect="postgresql"), "ä2"),
    (lambda: to_sql(rules_over("née", "nee"), dialect="mysql"), "née"),
    (lambda: to_sql(rules_over("x" * 65), dialect="mysql"), "64"),
    (lambda: to_sql(rules_over("age "), dialect="mysql"), "age "),
    (lambda: to_sql(rules_over("\U0001f600"), dialect="mysql"), "\U0001f600"),
    (lambda: to_sql(rules_over("\ud800")), "surrogate"),
    (lambda: to_sql(rules_over("x", "k", categories={"k": ["a\0b", "c"]})), "NUL"),
    (lambda: to_sql(rules_over("x", classes=["\ud800"])), "surrogate"),
    (lambda: to_sql(rules_over("x", classes=[1, "1"])), "1"),
    (lambda: to_sql(rules_over("k", categories=[["a", "a "]])), "'k'"),
    (lambda: to_sql(Scorecard(MANY, np.ones(901), 0.0), dialect="sqlite"), "900"),
    (lambda: to_python(EMPTY), "no rules"), (lambda: to_python(PLAIN, default="b"), "'b'"),
    *((lambda name=name: to_python(PLAIN, name=name), "name") for name in ("", "a b", "class", "_a")),
    (lambda: to_python(PLAIN, name=None), "name"),
]  # fmt: skip


def test_export_refuses_what_cannot_be_written():
    for call, named in REFUSED:
        with pytest.raises(InvalidValueError, match=re.escape(named)):
            call()
    for write in WRITERS:
        for wrong in ("x > 3 => a", []):
            with pytest.raises(TypeError, match="RuleSet"):
                write(wrong)
