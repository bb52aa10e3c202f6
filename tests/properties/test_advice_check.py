"""What a check of advice finds, beside corners in fractions, plain counting over rows, and a fit's own warnings."""

from __future__ import annotations

import json
import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.planar import inner_point, is_inside, relation, rows_of

from clearmargin import AdviceSVC, Box, FeatureSpace, Polyhedron, Rule, RuleSet, check_advice
from clearmargin import parse_rules as parse
from clearmargin.advice import AdviceChecker
from clearmargin.datasets import load_pima
from clearmargin.exceptions import ClearmarginError

BOUND = st.integers(-3, 3).map(float)
GRID = np.stack(np.meshgrid(*[np.arange(-4, 4.25, 0.25)] * 2), -1).reshape(-1, 2)
SPACE = FeatureSpace(["x", "y"])


@st.composite
def regions(draw):
    """Boxes and polyhedra over two features, with many ties among their bounds; some are empty."""
    if draw(st.booleans()):
        sides = [sorted(draw(st.tuples(BOUND, BOUND))) for _ in range(2)]
        sides = [side if draw(st.booleans()) else [-np.inf, side[1]] for side in sides]
        flags = draw(st.lists(st.booleans(), min_size=4, max_size=4))
        box = Box([s[0] for s in sides], [s[1] for s in sides], flags[:2], flags[2:])
        return Box(box.lower, box.upper) if box.is_empty else box
    weight = st.integers(-2, 2).map(float)
    row = st.tuples(st.tuples(weight, weight).filter(any), BOUND, st.booleans())
    rows = draw(st.lists(row, min_size=1, max_size=3))
    return Polyhedron([a for a, *_ in rows], [b for _, b, _ in rows], [s for *_, s in rows])


def kinds(report, *wanted):
    return [(f.kind, f.rules) for f in report.findings if not wanted or f.kind in wanted]


def is_rule(region):
    """Whether a rule takes it: bounds that contradict each other are refused at once."""
    return isinstance(region, Box) or not (region.has_unit_rows and region.to_box().is_empty)


@given(regions().filter(is_rule), regions().filter(is_rule))
@settings(max_examples=100)
def test_how_premises_lie_to_each_other_is_decided_exactly(a, b):
    one, other = rows_of(a), rows_of(b)
    empty = [k for k, rows in enumerate((one, other)) if inner_point(rows) is None]
    against = check_advice(RuleSet([Rule(a, "p"), Rule(b, "q")], SPACE))
    assert kinds(against, "empty") == [("empty", (k,)) for k in empty]
    lie = "apart" if empty else relation(one, other)
    assert kinds(against, "touch", "overlap") == ([] if lie == "apart" else [(lie, (0, 1))])
    assert against.ok == (lie != "overlap" and not empty)
    with_rows = check_advice(RuleSet([Rule(a, "p"), Rule(b, "q")], SPACE), GRID)
    both = a.contains(GRID) & b.contains(GRID)
    for clash in with_rows.findings:
        if clash.kind in ("touch", "overlap"):
            region = parse(f"{clash.region} => p", space=SPACE)[0].region
            assert (region.contains(GRID) == both).all()
            assert (clash.rows, clash.severity == "error") == (both.sum(), both.any())
            assert clash.kind == ("overlap" if both.any() else lie)
    assert both.any() <= any(f.kind == "overlap" for f in with_rows.findings)
    agreed = check_advice(RuleSet([Rule(a, "p"), Rule(b, "p")], SPACE))
    inside = [] if empty else [is_inside(one, other), is_inside(other, one)]
    expected = {(True, True): [("duplicate", (1, 0))], (True, False): [("redundant", (0, 1))]}
    expected[False, True] = [("redundant", (1, 0))]
    assert kinds(agreed, "duplicate", "redundant") == expected.get(tuple(inside), [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("feature n: integer\nn < 4 => a\nn > 3 => b", []),
        ("feature n: integer\nn <= 3 => a\n3 <= n < 4 => b", [("overlap", (0, 1))]),
        ("feature n: integer\n3 < n < 4 => a", [("empty", (0,))]),
        ("feature n: integer in [0, 9]\nn >= 12 => a", [("outside", (0,))]),
        ("feature n: in [0, 5]\nfeature m\nn + 2*m >= 1 and n >= 6 => a\nn + m <= 9 and n > 5 => b",
         [("outside", (0,)), ("outside", (1,))]),
        ("c in {r, g} => a\nc in {g, b} => b", [("overlap", (0, 1))]),
        ("c = r => a\nc = g => b", []),
        ("c in {r, g} => a\nc = r => a", [("redundant", (1, 0))]),
        ("x + y <= 1 and c = r => a\nx >= 0 and c = g => b", []),
        ("c = r and x <= 1 => a\nc in {r, g} and x >= 1 => b", [("touch", (0, 1))]),
        ("true => a\ntrue => b", [("overlap", (0, 1))]),
        ("x + y <= 1 and x + y >= 2 => a\nx >= 0 => b\ntrue => a", [("empty", (0,)), ("overlap", (1, 2))]),
        ("x <= 3 => a\nx >= 3 => a", []),
    ],
)  # fmt: skip
def test_whole_numbers_categories_and_declared_ranges_are_looked_at(text, found):
    assert kinds(check_advice(text)) == found


RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.integers(0, 6, 60), "b": RNG.integers(0, 6, 60).astype(float)})
X["colour"] = RNG.choice(["red", "blue"], 60)
Y = np.where(X["a"] + X["b"] > 5, "p", "q")
LINES = [
    "a >= 3 => p",
    "a <= 3 => q",
    "small: a <= 2 and b < 4 => q",
    "b >= 2 and colour = red => p [weight 2]",
    "colour in {blue} and a > 1 => q",
    "a + b >= 7 => p",
    "sum: a + b <= 7 and b >= 1 => q",
    "2*a + b >= 9 and a <= 2 => p",
    "a > 3 and a + b < 2 => q",
    "b >= 50 => p",
    "2 <= b <= 2 and a = 3 => p",
    "3.2 <= b <= 3.4 => p",
    "true => p",
]
ABOUT = FeatureSpace(["a", "b", "colour"], categories={"colour": ["red", "blue"]})


def check_counts(report, covered, classes):
    """Statistics, findings about rows, and the vote are those of plain loops over the rows."""
    rules = report.rules
    for k, (rule, stats) in enumerate(zip(rules, report.stats, strict=True)):
        rows = [i for i in range(len(covered)) if covered[i, k]]
        right = sum(classes[i] == rule.label for i in rows)
        assert (stats.rows, stats.covered, stats.correct) == (len(covered), len(rows), right)
        found = {f.kind: f for f in report.findings if f.rules == (k,)}
        settled = found.keys() & {"empty", "outside"}
        assert ("uncovered" in found) == (not rows and not settled)
        of_class, every = classes.count(rule.label), len(classes)
        kind = "mostly-wrong" if 2 * right < len(rows) else None
        kind = kind or ("below-base-rate" if right * every < of_class * len(rows) else None)
        kind = None if settled or not rows else kind
        assert found.keys() & {"mostly-wrong", "below-base-rate"} == ({kind} if kind else set())
        if kind:
            assert found[kind].severity == ("warning" if len(rows) >= 10 else "note")
            wrong = [i for i in rows if classes[i] != rule.label]
            assert found[kind].positions.tolist() == wrong
    for finding in report.findings:
        if finding.kind == "overlap":
            i, j = finding.rules
            shared = [k for k in range(len(covered)) if covered[k, i] and covered[k, j]]
            assert finding.positions.tolist() == shared == finding.to_dict()["positions"]
            assert dict(finding.counts) == {c: sum(classes[k] == c for k in shared) for c in "pq"}
    votes = [Counter() for _ in covered]
    for i, k in np.argwhere(covered):
        votes[i][rules[k].label] += rules[k].weight
    tied = [[c for c in vote if vote[c] == max(vote.values())] for vote in votes]
    frequent = sorted("pq", key=lambda c: (-classes.count(c), c))
    said = [next((c for c in frequent if c in each), None) for each in tied]
    vote = report.vote
    assert vote.stats.covered == sum(map(bool, votes))
    assert vote.stats.correct == sum(a == b for a, b in zip(said, classes, strict=True))
    assert vote.overlaps == (covered.sum(axis=1) > 1).sum()
    assert vote.clashes == sum(len(each) > 1 for each in votes)
    assert vote.ties == sum(len(each) > 1 for each in tied)


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6), st.integers(3, 60))
@settings(max_examples=40)
def test_rows_are_counted_as_plain_loops_count_them(lines, m):
    rules = parse("\n".join(lines), ABOUT, ["p", "q"])
    classes = ["p", "q", *Y[2:m]]
    report = check_advice(rules, X[:m], classes)
    check_counts(report, rules.covers(X[:m]), classes)
    unlabelled = check_advice(rules, X[:m])
    assert [s.covered for s in unlabelled.stats] == [s.covered for s in report.stats]
    assert all(f.counts == ((None, f.rows),) for f in unlabelled.findings if f.counts)


@given(
    st.lists(st.lists(st.sampled_from(LINES), min_size=1, max_size=6), min_size=1, max_size=4),
    st.sampled_from(["text", "rules", "no data"]),
)
def test_advice_that_is_being_written_is_checked_as_from_scratch(edits, way):
    data = () if way == "no data" else (X, Y)
    checker = AdviceChecker(*data)
    for lines in edits:
        text = "\n".join(lines)
        advice = text if way == "text" else parse(text, ABOUT, ["p", "q"])
        assert checker.check(advice) == check_advice(advice, *data)


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))
def test_a_fit_warns_of_what_a_check_finds_serious(lines):
    text = "\n".join(lines)
    found = check_advice(text, X, Y).findings
    serious = [f for f in found if f.kind in ("empty", "overlap", "outside")]
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        AdviceSVC(text).fit(X, Y)
    said = [str(each.message) for each in met if "check_advice(" in str(each.message)]
    said = [text for text in said if "plane" not in text.splitlines()[0]]
    assert len(said) == bool(serious)
    assert all(each.filename == __file__ for each in met)
    if said:
        assert said[0].count("\n- ") == min(len(serious), 6)
        assert (
            any(serious[0].message.split(" where ")[0] in text for text in said) or len(serious) > 5
        )


def test_a_row_without_a_value_is_covered_by_no_rule():
    missing = X.assign(b=np.where(X["a"] > 3, np.nan, X["b"]))
    (stats,) = check_advice("b >= 0 => p", missing, Y).stats
    assert stats.covered == missing["b"].notna().sum()


ROWS = pd.DataFrame({"age": [20, 30, 40, 50], "colour": ["red", "blue", "red", "green"]})
CLASSES = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("advice", "data", "found"),
    [
        ("agee >= 30 => b\nage >= 40 => b", (ROWS, CLASSES), [("unknown-feature", "error", "age")]),
        ("colour >= 3 => a", (ROWS, CLASSES), [("unknown-feature", "error", "categories")]),
        ("age >= 40 => c", (ROWS, CLASSES), [("unknown-class", "error", "'b'")]),
        ("x0 >= 1 => `1`", ([[1.0], [2.0]], [0, 1]), [("unknown-class", "error", "int")]),
        ("age >= 45 => b", (ROWS, ["a"] * 4), [("unknown-class", "warning", "'b'")]),
        ("colour in {red, grren} => b", (ROWS, ["b"] * 4), [("unknown-category", "warning", "'green'")]),
        ("age >= 100 => b", (ROWS, CLASSES), [("outside", "warning", "age >= 100")]),
        ("age < 20 => b", (ROWS, CLASSES), [("outside", "warning", "age < 20")]),
        ("2*age <= 39 => b", (ROWS, CLASSES), [("outside", "warning", "2*age")]),
        ("x0 + x1 >= 5 and x0 <= 2.5 => a", ([[0.0, 0], [4, 2]], ["a", "b"]), [("outside", "warning", "")]),
        ("age >= 45 => b", (np.arange(8.0).reshape(4, 2), CLASSES), [("unknown-feature", "error", "'x0'")]),
    ],
)  # fmt: skip
def test_what_the_data_do_not_have_is_found_and_the_rest_is_read(advice, data, found):
    report = check_advice(parse(advice), *data)
    assert [(f.kind, f.severity) for f in report.findings] == [(k, s) for k, s, _ in found]
    for finding, (_, _, word) in zip(report.findings, found, strict=True):
        assert word in finding.message
    assert report.ok == (report.findings[0].severity != "error")
    assert (report.stats[0] is None) == (report.findings[0].kind == "unknown-feature")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((3,), "advice"), (("none.rules",), "none.rules"), (("x0 > 1 => a", None, [1]), "X"),
        (("x0 > 1 => a", [[1.0]], ["a", "b"]), "y"), (("x0 > 1 => a", [[1.0], [2.0]], ["a", None]), "row 2"),
        (("x0 > 1 => a", np.zeros((0, 1)), []), "empty"), (("x0 > 1 => a", [1.0, 2.0]), "X"),
        (("agee >= 30 => b", ROWS, CLASSES), "line 1, column 1"),
        (("colour = red and agee <= 3 => a", ROWS, CLASSES), "column 18"),
        (("age >= 30 => a\nage >= 30 => c", ROWS, CLASSES), "line 2, column 14"),
        (("age >= 30 and age <= 20 => a", ROWS, CLASSES), "'age'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name_or_place(arguments, named):
    with pytest.raises(ClearmarginError, match=named):
        check_advice(*arguments)


def test_advice_comes_from_files_by_name_or_by_position(tmp_path):
    rules = parse("age >= 30 => b\nage <= 40 => a")
    for name in ("advice.json", "advice.rules"):
        rules.save(tmp_path / name)
        report = check_advice(tmp_path / name, ROWS, CLASSES)
        assert report.findings == check_advice(rules, ROWS, CLASSES).findings
    (tmp_path / "bad.rules").write_text("age >= 30 => zzz")
    with pytest.raises(ClearmarginError, match=r"bad\.rules"):
        check_advice(str(tmp_path / "bad.rules"), ROWS, CLASSES)
    pairs = np.array([[30.0, 1.0], [40.0, 2.0]])
    assert check_advice(parse("age >= 35 => a\nsize >= 0 => a"), pairs).stats[0].covered == 1
    assert check_advice("x1 >= 2 => a", pairs).stats[0].covered == 1


def test_a_report_is_a_value_with_text_table_and_plain_data():
    evil = "<script>alert(1)</script>"
    rules = parse(f"`{evil}`: a >= 3 => p\na <= 3 => q\nb >= 50 => p", ABOUT, ["p", "q"])
    report = check_advice(rules, X, Y)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert [f["severity"] for f in data["findings"]] == [f.severity for f in report.findings]
    assert [len(report.errors), len(report.warnings), len(report.notes)] == [1, 2, 0]
    assert (data["ok"], data["rules"][2]["accuracy"]) == (False, None)
    assert data["vote"]["ties"] == report.vote.ties
    frame = report.to_frame()
    assert frame["kind"].tolist() == [f.kind for f in report.findings]
    assert frame["rows"].tolist()[0] == report.errors[0].rows
    html = report._repr_html_()
    assert "<script" not in html
    assert "&lt;script" in html
    assert pickle.loads(pickle.dumps(report)) == report
    assert hash(report) == hash(check_advice(rules, X, Y))
    assert str(report).count("\n") > len(report.findings)
    nothing = check_advice(RuleSet([], FeatureSpace(["x"])), [[1.0]], ["a"])
    assert (nothing.findings, nothing.vote, len(nothing.to_frame())) == ((), None, 0)
    many = check_advice("\n".join(f"x >= {k} => {'ab'[k % 2]}" for k in range(20)))
    assert len(many.errors) == 100 == len(many.to_frame()[many.to_frame()["kind"] == "overlap"])
    assert len(str(many).splitlines()) < len(many.findings)


def test_the_six_rules_for_pima_are_as_the_paper_needs_them():
    """The rules of Kunapuli, Maclin and Shavlik: how often each is right, where they clash, and how well they vote."""
    X, y = load_pima(return_X_y=True)
    report = check_advice(
        """
        R1: glucose <= 126 => tested_negative
        R2: 126 <= glucose <= 140 and bmi <= 30 => tested_negative
        R3: 126 <= glucose <= 140 and bmi >= 30 => tested_positive
        R4: glucose >= 140 => tested_positive
        R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
        R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
        """,
        X,
        y,
    )
    precision = [stats.accuracy for stats in report.stats]
    assert np.round(precision, 2).tolist() == [0.80, 0.85, 0.58, 0.69, 0.82, 0.59]
    overlapping = {rules for kind, rules in kinds(report, "overlap")}
    assert overlapping == {(0, 2), (0, 5), (1, 3), (1, 5), (2, 4), (3, 4)}
    assert kinds(report, "touch") == [("touch", (1, 2)), ("touch", (4, 5))]
    assert (report.vote.coverage, round(1 - report.vote.accuracy, 4)) == (1.0, 0.2435)
