"""The rule language: text and rules, places and mistakes, words for people."""

import math
import pickle
import re
import time
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.values import INF, NAN, any_names, boxes, edges, finite, polyhedra, rule_sets

from clearmargin import (
    Box,
    FeatureSpace,
    Interval,
    Polyhedron,
    Rule,
    RuleSet,
    RuleStats,
    format_rules,
    parse_rules,
)
from clearmargin.exceptions import InvalidValueError, RuleSyntaxError
from clearmargin.language import (
    describe_rules,
    read_rule_text,
    rules_frame,
    rules_html,
)

MANY = settings(max_examples=60)
number = (
    edges | finite | st.integers(-50, 50).map(float) | st.sampled_from([1e16, 1e22, 2.0**53 + 2])
)
any_rules = rule_sets(3, number, any_names, st.sampled_from([-3.0, -1.0, 0.0, 1.0]) | number)


@MANY
@given(any_rules, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]))
def test_parse_rules_reads_what_format_rules_wrote_bit_for_bit(rules, line_end, mark):
    text = format_rules(rules)
    again = parse_rules(mark + text.replace("\n", line_end))
    assert again == rules == parse_rules(text, space=rules.space, classes=rules.classes)
    assert [type(label) for label in again.classes] == [type(label) for label in rules.classes]
    assert format_rules(again) == text
    assert all(char.isprintable() or char == "\n" for char in text)
    text.encode("utf-8")
    for box in (rule.region for rule in again if isinstance(rule.region, Box)):
        checked = Box(box.lower, box.upper, box.lower_closed, box.upper_closed, box.sets)
        assert box & Box.unbounded(box.n_features) == checked & box
        assert not any(a.flags.writeable for a in (box.lower, box.upper_closed))


WORDS = "x y 3 -2.5 1e5 <= < >= > = == != ≤ + - * and or not in true false => : , [ ] { } ( weight feature classes"
MORE = "unit|integer|inf|#|`|\\|is|missing|fill|if|then|`a b`|\n|\x0c|{a, b}|[weight 2]|=> a|x > 3|x is missing|c = red"
PIECES = [*WORDS.split(), *MORE.split("|")]
texts = st.one_of(st.text(st.characters(exclude_categories=())), st.text("xy `\\#:,.=<>*+-[]{}\n1e25andortruein_"),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))  # fmt: skip


@st.composite
def damaged_texts(draw):
    rules = draw(rule_sets(2, edges, any_names))
    text = format_rules(rules)
    for _ in range(draw(st.integers(1, 3))):
        at, removed = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        text = text[:at] + draw(st.sampled_from(["", *PIECES])) + text[at + removed :]
    return text, draw(st.sampled_from([(None, None), (rules.space, rules.classes)]))


@settings(max_examples=200)
@given(texts.map(lambda text: (text, (None, None))) | damaged_texts())
def test_parse_rules_of_any_text_gives_rules_or_a_syntax_error_with_its_place(case):
    text, known = case
    written = read_rule_text(text, *known)
    assert all(0 <= mistake.offset <= len(text) for mistake in written.mistakes)
    if written.mistakes:
        with pytest.raises(RuleSyntaxError) as caught:
            parse_rules(text, *known)
        error = caught.value
        assert error.line >= 1
        assert 1 <= error.column <= len(error.source) + 1
        assert len(str(error)) < 2000
        assert str(error) in {str(each) for each in written.mistakes}
    else:
        rules = parse_rules(text, *known)
        assert written.rules == rules == parse_rules(format_rules(rules))


def as_python(premise):
    premise = re.sub(r"(\w+) is missing", r"\1 != \1", premise)
    premise = re.sub(r"(\w+) is not missing", r"\1 == \1", premise)
    premise = re.sub(r"in \{(.*?)\}", lambda m: "in " + repr(tuple(m[1].split(", "))), premise)
    premise = re.sub(r"(\w+) = ([a-z]+)", r'\1 == "\2"', premise)
    return "True" if premise == "true" else re.sub(r"(?<![<>=!])=(?!=)", "==", premise)


@MANY
@given(st.data(), st.sampled_from([None, {3: [0, 2]}, {3: [1]}]))
def test_format_rules_text_means_the_same_to_python(data, sets):
    kinds = ["red", "green", "blue"]
    space = FeatureSpace(["x", "y", "z", "colour"], categories={"colour": kinds})
    barred = sets or {3: [0, 1, 2]}
    region = data.draw(boxes(4, edges, barred) | polyhedra(4, sets=barred))
    if isinstance(region, Polyhedron) and region.has_unit_rows and region.to_box().is_empty:
        return
    rules = RuleSet([Rule(region, "a")], space)
    box = rules[0].region
    ends = [*box.lower, *box.upper] if isinstance(box, Box) else box.b
    values = [0.0, 1.0, -1.0, NAN, *(float(v) for v in ends if math.isfinite(v))]
    values += [math.nextafter(v, way) for v in values for way in (-INF, INF)]
    rng = data.draw(st.randoms(use_true_random=False))
    points = [[*rng.choices(values, k=3), rng.choice([0, 1, 2, NAN])] for _ in range(30)]
    premise = format_rules(rules).split("\n")[-2].removesuffix(" => a")
    code = compile(as_python(premise), "rule", "eval")
    for (x, y, z, c), is_covered in zip(points, rules.covers(points)[:, 0], strict=True):
        colour = c if math.isnan(c) else kinds[c]
        assert eval(code, {}, {"x": x, "y": y, "z": z, "colour": colour}) == is_covered


XY = FeatureSpace(["x", "y"])


def region_of(premise, space=None):
    return parse_rules(f"{premise} => a", space=space)[0].region


def test_parse_rules_condition_on_one_feature_bounds_it():
    for premise, interval in [("x >= 3", Interval(3, INF)), ("3 < x", Interval(3, INF, "neither")),
        ("x ≤ 3", Interval(-INF, 3, "both")), ("3 == x", Interval(3, 3, "both")), ("3 <= x < 5", Interval(3, 5)),
        ("5 ≥ x > 3", Interval(3, 5, "right")), ("-x <= -3", Interval(3, INF)), ("2 <= x - 1 < 4", Interval(3, 5)),
        ("2*x - x <= 3", Interval(-INF, 3, "both")), ("x + 2*y <= 3 + 2*y", Interval(-INF, 3, "both")),
        ("x >= 3 and x > 3", Interval(3, INF, "neither")), ("x > .5 and x < 5.", Interval(0.5, 5, "neither")),
        ("x <= -0.00", Interval(-INF, 0, "both"))]:  # fmt: skip
        assert region_of(premise, XY) == Box.from_intervals({0: interval}, 2), premise
    assert region_of("true", XY) == Box.unbounded(2)


def test_parse_rules_linear_condition_makes_rows_in_the_order_written():
    for premise, A, b, strict in [("x + y >= 3", [[-1, -1]], [-3], 0), ("x*2 <= 6", [[2, 0]], [6], 0),
        ("x + 1 < 2*y - 3", [[1, -2]], [-4], 1), ("3 > x + y >= 1", [[-1, -1], [1, 1]], [-1, 3], [0, 1]),
        ("x - y = 4", [[-1, 1], [1, -1]], [-4, 4], 0),
        ("1 <= x <= y <= 5", [[-1, 0], [1, -1], [0, 1]], [-1, 0, 5], 0),
        ("y < 7 and 1 < x and x + y < 3", [[0, 1], [-1, 0], [1, 1]], [7, -1, 3], [1, 1, 1]),
        ("- x - - y <= 3", [[-1, 1]], [3], 0),
        ("x >= 3 and x < 3 and x + y < 1", [[-1, 0], [1, 0], [1, 1]], [-3, 3, 1], [0, 1, 1])]:  # fmt: skip
        flags = np.broadcast_to(np.array(strict, dtype=bool), len(b))
        assert region_of(premise, XY) == Polyhedron(A, b, flags), premise
    space = FeatureSpace(["age", "body mass", "c"], categories={"c": ["r", "g"]})
    text = "0.5*age - `body mass` >= -3 and 1 < age + `body mass` <= 2 and `body mass` = 4 and age < 7 and c in {r, g} => a\n"  # noqa: E501
    assert format_rules(parse_rules(text, space=space)).endswith(text)


def test_parse_rules_reads_names_categories_labels_and_weights():
    rules = parse_rules(
        "obese: bmi >= 30 and c in {yes, `5`, 5} => `at risk` [weight 2] # why\n\n# no => rule"
    )
    assert (rules[0].name, rules[0].label, rules[0].weight) == ("obese", "at risk", 2.0)
    assert rules.space == FeatureSpace(["bmi", "c"], categories={"c": ["yes", "5"]})
    for written, label in [
        ("ill", "ill"), ("1", 1), ("-1", -1), ("+1", 1), ("007", 7), ("1.0", 1.0), ("1e3", 1000.0),
        ("-.5", -0.5), ("true", True), ("FALSE", False), ("`true`", "true"), ("`1`", "1"), ("inf", "inf"),
    ]:  # fmt: skip
        said = parse_rules(f"x > 3 => {written}").classes[0]
        assert (said, type(said)) == (label, type(label))
    typed = parse_rules("x > 3 => 1\nx < 1 => not 1", classes=np.array([0.0, 1.0]))
    assert [(r.label, type(r.label)) for r in typed] == [(1.0, float), (0.0, float)]
    text = "x > 3 => not ill"
    assert parse_rules(text, classes=["well", "ill"])[0].label == "well"
    assert parse_rules(f"classes: ill, ok\n{text}")[0].label == "ok"
    assert parse_rules(f"{text}\nx < 3 => fine")[0].label == "fine"
    space = FeatureSpace(["c"], categories={"c": ["r", "g", "b"]})
    assert region_of("c in {r, g, r} and c in {g, b}", space).sets[0] == {1}
    spelled = FeatureSpace(["c"], categories={"c": ["5", "-5", "5.0"]})
    assert region_of("c = 5", spelled).sets[0] == {0}
    assert region_of("c==  -5", spelled).sets[0] == {1}
    assert parse_rules("c = `` => a\nd = True => a").space.categories == (("",), ("True",))
    later = parse_rules("c is missing => a\nc = red => b\nis is missing and x > 3 => missing")
    assert later.space.categories == (("red",), None, None)
    assert later[2].region.missing == (1,)


def test_parse_rules_name_after_an_equality_is_a_category_unless_it_is_a_number_elsewhere():
    difference = Polyhedron([[-1, 1], [1, -1]], [0, 0])
    assert parse_rules("a = b => c").space == FeatureSpace(["a"], categories={"a": ["b"]})
    assert parse_rules("red > 3 and c = red => a").space.categories == (None, ("red",))
    assert parse_rules("a = b => c\na > 3 and b > 2 => c")[0].region == difference
    assert region_of("a = b", FeatureSpace(["a", "b"])) == difference
    known = FeatureSpace(["a", "b"], categories={"a": ["b", "c"]})
    assert region_of("a = b", known) == Box.from_intervals({}, 2, {0: [0]})
    named = parse_rules("`inf` > 3 and x < `nan` => a")
    assert named.space.names == ("inf", "x", "nan")
    assert len(parse_rules("x <= inf => a", space=FeatureSpace(["x", "inf"]))) == 1


def test_parse_rules_declarations_say_what_there_is_and_may_stand_anywhere():
    declared = (
        "feature age: integer in [20, 80] unit years\n"
        "feature c: in {red, `5`, 6, true} fill red\n"
        "feature `worst area`: unit `mm²` in [0, +inf]  # mm²\n"
        "feature feature: in [-Inf, 3] fill 2\nfeature classes\n"
    )
    space = FeatureSpace(["age", "c", "worst area", "feature", "classes"], [20, -INF, 0, -INF, -INF],
        [80, INF, INF, 3, INF], [True, False, False, False, False], {"c": ["red", "5", "6", "true"]},
        {"age": "years", "worst area": "mm²"}, {"c": "red", "feature": 2})  # fmt: skip
    classes = "CLASSES: benign, 1, `a b`\n"
    rules = parse_rules(f"feature < 3 => 1\n{classes}{declared}classes: classes >= 2 => `a b`\n")
    assert (rules.space, rules.classes) == (space, ("benign", 1, "a b"))
    assert [(rule.name, rule.region.bounded) for rule in rules] == [(None, (3,)), ("classes", (4,))]
    wider = FeatureSpace([*space.names, "more"])
    given_ = parse_rules(classes + "more > age => 2", space=wider, classes=[1, "a b", "benign", 2])
    assert (given_.space, given_.classes) == (wider, (1, "a b", "benign", 2))
    # Printed is what no rule says.
    for text in ("feature x: unit m\nx > 3 => a\n", "classes: b, a\nx > 3 => a\n",
        "feature y\nfeature x\nx > 3 => a\n",
        "bmi >= 30 and colour in {red, blue} => ill\ntrue => well\n"):  # fmt: skip
        assert format_rules(parse_rules(text)) == text
    assert format_rules(parse_rules("feature x\nclasses: a\nx > 3 => a\n")) == "x > 3 => a\n"
    lines = parse_rules("x\x0b>\x0c3\u2028=>\x85a\x1c# c\u2029y => b\r\nx < 3 => b\rx = 3 => c\n")
    assert lines.classes == ("a", "b", "c")


# Mistakes: the marks stand around what the carets underline; without them it is the place after the end.

MISTAKES = r"""
«=>» a ¦ x > 3 ¦ x > 3 =>  # c ¦ x > 3 => at «risk» ¦ x «=>» 3 => a ¦ x > 3 => 3 «=>» a ¦ x > 3 «->» a
x > 3 => «[»weight 2] ¦ x > 3 => «1e999» ¦ x > 3 => a «]» ¦ x > 3 => a«;» y > 2 => b ¦ «in»: x > 3 => a
«``»: x > 3 => a ¦ x > 3 => a [weight «0»] ¦ x > 3 => a [«wight» 2] ¦ x > 3 «or» y > 2 => a
x > 3 «&&» y > 2 => a ¦ x > 3«,» y > 2 => a ¦ x > 3 «y» > 2 => a ¦ x > 3 and «=>» a ¦ «true» and x > 3 => a
x > «false» => a ¦ x «!=» 3 => a ¦ 3 <= x «>=» 2 => a ¦ 1 < x «=» 4 => a ¦ «3 < 4» => a ¦ x «=<» 3 => a
x > 3 and «x < 3» => a ¦ «x - x <= 3» => a ¦ «x*y» <= 3 => a ¦ 2*x«*»3 <= 3 => a ¦ 2 «x» > 3 => a
worst «area» < 880 => a ¦ «(»x) > 3 => a ¦ x«**»2 > 3 => a ¦ x > «1e308 + 1e308» => a ¦ x > «1e-999» => a
x > «1_000» => a ¦ x < «"»3" => a ¦ x «!» 3 => a ¦ «`»abc > 3 => a ¦ `a«\q»b` > 3 => a ¦ `«\u»12` > 3 => a
c in {«}» => a ¦ c in «red» => a ¦ c in {a, b «=>» a ¦ c in {-«a»} => a ¦ c in {«1»} => a
c = red and «c = blue» => a ¦ c = «red» and c > 3 => a ¦ c > 3 and «c» in {red} => a ¦ x > 3 => not «a»
«inf» >= 3 => a ¦ classes: ¦ classes: a, «a» ¦ classes: a «b» ¦ feature x: ¦ feature x: «real»
feature x: integer «integer» ¦ feature x: in «[3, 2]» ¦ feature x: in [1, 2 ¦ feature x: in {a, b, «a»}
feature x: fill «red» ¦ feature x: in {red, blue} fill «ret» ¦ x is «3» => a ¦ x is not «=>» a
«x is missing» and x <= 3 => a ¦ c = red and «c is missing» => a
"""
KNOWN = """
«glucos» > 3 => healthy|glucose ¦ 2*«Age» + glucose > 3 => healthy|age ¦ age > 3 => «diabtes»|diabetes
colour = «rod» => healthy|red ¦ colour in {red, «darkred»} => healthy|dark red ¦ «colour» >= 5 => healthy|colour
«age» in {red} => healthy|age ¦ age = «glucos» => healthy|glucose ¦ feature «bmi»|glucose
classes: healthy, «diabtes»|diabetes ¦ «age is missing» => healthy|age
"""


def check_place(text, line, marked, **known):
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rules(text, **known)
    error = caught.value
    found = error.source[: error.column - 1], error.source[error.column - 1 :][: error.length]
    assert error.line == line
    if "«" in marked:
        before, part = re.split("[«»]", marked)[:2]
        assert found == (before, part), marked
    else:
        assert (found[0], error.length) == (marked.partition("#")[0].rstrip(), 1), marked
    return error


def test_parse_rules_mistake_is_reported_at_its_place():
    for marked in re.split(" ¦ |\n", MISTAKES.strip()):
        line = re.sub("[«»]", "", marked)
        check_place(f"# first\r\nu > 0 => a\r{line}\n", 3, marked)
        assert read_rule_text(f"{line}\n").mistakes
    space = FeatureSpace(["age", "glucose", "colour"], categories={"colour": ["red", "dark red", "5"]},
        fill={"age": 3})  # fmt: skip
    for row in re.split(" ¦ |\n", KNOWN.strip()):
        marked, near = row.split("|")
        line = re.sub("[«»]", "", marked)
        error = check_place(line, 1, marked, space=space, classes=["healthy", "diabetes"])
        assert near in error.problem
    for text, line, marked, known in [("feature age\nag > 3 => a", 2, "«ag» > 3 => a", {}),
        ("x > 3 => b\nclasses: a", 1, "x > 3 => «b»", {}), ("classes: a\nclasses: b", 2, "«classes: b»", {}),
        ("feature x\nfeature y\nfeature `x`", 3, "feature «`x`»", {}),
        ("x > 1 => a\nx > 2 => b\nx > 3 => c\nx > 4 => not a", 4, "x > 4 => not «a»", {}),
        ("feature x: fill 3\nx is missing => a", 2, "«x is missing» => a", {}),
        ("x > 3 => 1", 1, "x > 3 => «1»", {"classes": ["1", "2"]}),
        ("a\ud800b <= 3 => x", 1, "a«\ud800»b <= 3 => x", {}),
        (f"classes: a, {2**1000}", 1, f"classes: a, «{2**1000}»", {})]:  # fmt: skip
        error = check_place(text, line, marked, **known)
        str(error).encode("utf-8")


def test_rule_syntax_error_keeps_its_place_when_pickled_and_named_after_a_file():
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rules("x > 3 => a\n\ty -> b")
    error = caught.value
    assert isinstance(error, ValueError)
    assert str(error).split("\n")[1:] == ["  \ty -> b", "  \t  ^^"]
    for again in (pickle.loads(pickle.dumps(error)), error.in_file("a.rules")):
        assert (again.line, again.column, again.offset, again.fix) == (2, 4, 14, "=>")
    assert str(error.in_file("a.rules")) == f"a.rules, {error}"


def test_language_refuses_what_is_no_text():
    for act, error, name in [(lambda: parse_rules(b"x > 3 => a"), TypeError, "text"),
        (lambda: read_rule_text(None), TypeError, "text"),
        (lambda: parse_rules("x > 3 => a", space=["x"]), TypeError, "space"),
        (lambda: parse_rules("x > 3 => a", classes="ab"), TypeError, "classes"),
        (lambda: parse_rules("x > 3 => a", classes=["a", "a"]), InvalidValueError, "classes"),
        (lambda: format_rules("x > 3 => a"), TypeError, "RuleSet"),
        (lambda: describe_rules(RULES, digits=True), InvalidValueError, "digits"),
        (lambda: describe_rules(RULES, digits=0), InvalidValueError, "digits")]:  # fmt: skip
        with pytest.raises(error, match=name):
            act()


SPACE = FeatureSpace(["age", "cell size", "colour"], [0, 1, 0], [100, 10, 1],
    categories={"colour": ["red", "dark blue"]}, units={"age": "years"})  # fmt: skip
CLASSES = ("ill", "well")
GOOD = ["age >= 30 => ill", "  small: `cell size` < 3.5 and 20 <= age <= 40.25 => well [weight 2]  # a comment",
    "colour in {red, `dark blue`} and age > -1e2 => not ill",
    "age + 2*`cell size` <= 12 and `cell size` is not missing => well", "true => ill", "# nothing but a comment",
    ""]  # fmt: skip
BAD = ["age >> 30 => ill", "agee >= 30 => ill", "age >= 30", "age >= 30 => il", "; ; ;", "colour = rde => ill",
    "age >= 3 and colour > 3 => well", "age > 30 or age < 20 => ill", "age > 30 and age < 20 => ill",
    "feature colour: fil red", "`open => ill"]  # fmt: skip


@given(st.lists(st.sampled_from([*GOOD, *BAD]), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_read_rule_text_keeps_the_lines_without_mistakes_and_the_places_in_them(lines, newline):
    text = newline.join(lines)
    written = read_rule_text(text, SPACE, CLASSES)
    assert written.rules == parse_rules(newline.join(x for x in lines if x in GOOD), SPACE, CLASSES)
    assert {m.line for m in written.mistakes} == {k for k, x in enumerate(lines, 1) if x in BAD}
    rules = [one for one in written.written if one.position is not None]
    assert [one.position for one in rules] == list(range(len(written.rules)))
    for node in (one.node for one in rules):
        assert text[node.label.start : node.label.end] in CLASSES
        for condition in node.conditions:
            assert node.start <= condition.start < condition.end <= node.end
            assert set(condition.features) <= set(SPACE.names)


def test_read_rule_text_offers_a_fix_that_mends_the_text():
    for marked, fix in [("«agee» >= 30 => ill", "age"), ("«`cell sise`» >= 3 => ill", "`cell size`"),
        ("age >= 30 «->» ill", "=>"), ("age >= 30 => «il»", "ill"), ("colour = «rde» => ill", "red"),
        ("age «=<» 30 => ill", "<="), ("age > 3«&&»age < 9 => ill", " and "),
        ("age > 3 => «`1`»", None)]:  # fmt: skip
        before, part, after = re.split("[«»]", marked)
        (mistake,) = read_rule_text(before + part + after, SPACE, CLASSES).mistakes
        found = mistake.offset, mistake.length, mistake.fix
        assert found == (len(before), len(part), fix)
        if fix is not None:
            assert not read_rule_text(before + fix + after, SPACE, CLASSES).mistakes
    assert read_rule_text("x > 3 => 1", classes=["1", "2"]).mistakes[0].fix == "`1`"
    text = "agee > 3 and 2 > 1 and colur = red and age < 9 => il"
    written = read_rule_text(text, SPACE, CLASSES)
    assert [m.fix for m in written.mistakes] == ["age", None, "colour", "ill"]
    written = read_rule_text("feature age: integr\nfeature b in [1, 2]\nage > 3 and b > 1 => ill")
    assert ([m.line for m in written.mistakes], len(written.rules)) == ([1, 2], 1)


SIDES = {
    "at least": (0, False), "more than": (0, True), "at most": (1, False), "less than": (1, True),
}  # fmt: skip


def heard(sentence):
    """The interval of x that a sentence states."""
    ends, is_open = [-INF, INF], [False, False]
    if (fixed := re.search(r"x is (-?[\d.]\S*),", sentence)) is not None:
        ends = [float(fixed[1])] * 2
    if (both := re.search(r"between (\S+) and (\S+),", sentence)) is not None:
        ends = [float(both[1]), float(both[2])]
    for words, number in re.findall(
        r"(at least|more than|at most|less than) (-?[\d.][^\s,]*)", sentence
    ):
        place, flag = SIDES[words]
        ends[place], is_open[place] = float(number), flag
    return Interval.from_flags(*ends, *(not flag for flag in is_open))


@MANY
@given(low=number, high=number, ends=st.sampled_from(["both", "left", "right"]), digits=st.integers(1, 17),
       is_whole=st.booleans())  # fmt: skip
def test_describe_rules_says_a_part_of_what_the_rule_covers(low, high, ends, digits, is_whole):
    low, high = sorted([low, high])
    exact = Interval(low, high, "both" if low == high else ends)
    space = FeatureSpace(["x"], integer=is_whole)
    rules = RuleSet([Rule(Box.from_intervals({0: exact}, 1), "a")], space)
    said = heard(describe_rules(rules, digits=digits))
    assert said & exact == said
    for value in (float(math.ceil(low)), float(math.floor(high))):
        if is_whole and digits == 17 and abs(value) < 2**53:
            assert (value in said) == (value in exact)


@given(any_rules)
def test_describe_rules_rules_frame_and_rules_html_take_every_rule(rules):
    used = {j for rule in rules for j in rule.region.bounded}
    filled = any(rules.space.fill[j] is not None for j in used)
    assert len(describe_rules(rules).split("\n")) == max(1, len(rules)) + filled
    assert list(rules_frame(rules)["label"]) == [rule.label for rule in rules]
    assert rules_html(rules).count("<tr>") == (len(rules) + 1 if len(rules) else 0)


RULES = RuleSet(
    [
        Rule(Box([0, 1], [1, 2]), "a", name="first", weight=2, origin="extracted", proof="proved",
             stats=RuleStats(435, 383, 100)),
        Rule(Box.unbounded(2), 1, proof="observed", stats=RuleStats(10, 0, 0, 0)),
        Rule(Box.unbounded(2), 1),
    ],
    FeatureSpace(["x", "y"]),
)  # fmt: skip


class Page(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.cells = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.cells += [""] if tag in {"td", "th"} else []

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.replace("\xa0", " ").rstrip()


def test_rules_frame_has_one_row_a_rule():
    frame = rules_frame(RULES)
    expected = {"premise": ["0 <= x <= 1 and 1 <= y <= 2", "true", "true"], "label": ["a", 1, 1],
        "conditions": [2, 0, 0], "proof": ["proved", "observed", None], "rows": [435, 10, pd.NA],
        "correct": [100, 0, pd.NA], "agreed": [pd.NA, 0, pd.NA]}  # fmt: skip
    pd.testing.assert_frame_equal(
        frame[list(expected)].astype(object), pd.DataFrame(expected, dtype=object)
    )
    empty = rules_frame(parse_rules(""))
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


@given(
    st.sampled_from(["<script>alert(1)</script>", "<b>", "&lt;", '"><img src=x>', "</table>"]),
    any_names,
)
def test_rules_html_names_cannot_become_markup(hostile, more):
    name = hostile + more
    rule = Rule(Box.from_intervals({}, 1, {0: [0]}), name, name=name)
    page = Page(rules_html(RuleSet([rule], FeatureSpace([name], categories=[[name]]))))
    assert set(page.tags) == {"table", "caption", "thead", "tr", "th", "tbody", "td", "code"}
    assert page.cells[-1].startswith(hostile)


# Time in proportion to the text: quadratic time would take minutes.

N = 30_000
LONG = [" and ".join(f"x{k} >= 3" for k in range(N // 16)) + " => a", " + ".join(["2*x"] * (N // 6)) + " <= 3 => a",
    "c in {" + ", ".join(f"k{k}" for k in range(N // 9)) + "} => a",
    "`" + "\\n " * (N // 3) + "`: x > 3 => a #" + "`" * N,
    "".join(f"x{k % 9} >= {k} => a\n" for k in range(N // 14))]  # fmt: skip
UNREADABLE = [
    "`" + "\\" * N, "x " * (N // 2), "1" * N, " " * N + "!", "x > 3 and " * (N // 10), "a." * (N // 2),
    "x >= 1 => a\n" * (N // 12) + "y", "c in {" + "é" * N + "9 => a",
    "".join(f"feature some_long_name_{k}\n" for k in range(N // 20)) + "some_long_name > 3 => a",
    " and ".join(f"x{k} + y{k} <= 1" for k in range(12_000)) + " => a",
]  # fmt: skip


def test_language_reads_and_writes_long_texts_in_linear_time():
    start = time.process_time()
    for text in LONG:
        rules = parse_rules(text)
        for write in (format_rules, describe_rules, RuleSet.to_dict, repr):
            assert write(rules)
    for text in UNREADABLE:
        with pytest.raises(RuleSyntaxError) as caught:
            parse_rules(text)
        assert len(str(caught.value)) < 1000
    assert time.process_time() - start < 30
