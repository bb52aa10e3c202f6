"""What is printed reads back as the same rules, bit for bit, and means what it says."""

from __future__ import annotations

import math
import re

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language import describe_rules, format_rules, parse_rules, rules_frame, rules_html
from clearmargin.rules import Box, FeatureSpace, Interval, Polyhedron, Rule, RuleSet

LARGEST = 1.7976931348623157e308
TRICKY = [
    *("and", "OR", "not", "In", "true", "False", "inf", "nan", "weight", "unit", "integer"),
    *(
        "feature",
        "classes",
        "1",
        "-5",
        "1e3",
        "a.b",
        "a.",
        ".a",
        "a b",
        "`",
        "``",
        "\\",
        "\\`",
        "\\u0041",
    ),
    *(
        "a\nb",
        "a\rb",
        "a\tb",
        "#",
        "=>",
        "x: y",
        "\ud800",
        "\udfff\ud800",
        "\U0001f600",
        "\u2028",
        "\x0b",
    ),
    *(
        "é",
        "e\u0301",
        "naïve",
        "日本",
        "٣",
        "²",
        "\x00",
        "\ufeff",
        "\xa0",
        "_",
        "İn",
        " ",
        "'",
        '"',
        "{a}",
    ),
]


def anything(min_size: int = 1) -> st.SearchStrategy[str]:
    every_character = st.characters(exclude_categories=())
    return st.one_of(
        st.sampled_from(TRICKY),
        st.sampled_from("abcdefgh"),
        st.text(every_character, min_size=min_size, max_size=5),
        st.text("ab`\\ \n\r\t#:,.=<>*+-[]{}\u2028é5_uU0", min_size=min_size, max_size=6),
    )


NUMBERS = st.one_of(
    st.integers(-50, 50).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [5e-324, -5e-324, 2.2250738585072014e-308, LARGEST, -LARGEST, 0.1, 1e16, 1e22, 2.0**53 + 2]
    ),
)
LABELS = st.one_of(
    anything(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)


@st.composite
def spaces(draw: st.DrawFn) -> FeatureSpace:
    names = draw(st.lists(anything(), unique=True, max_size=4))
    n = len(names)
    categories = draw(
        st.lists(
            st.none() | st.lists(anything(0), unique=True, min_size=1, max_size=4),
            min_size=n,
            max_size=n,
        )
    )
    if draw(st.booleans()):
        return FeatureSpace(names, categories=categories)
    fill = [
        draw(st.none() | (NUMBERS if kinds is None else st.sampled_from(kinds)))
        for kinds in categories
    ]
    ends = draw(st.lists(st.tuples(NUMBERS, NUMBERS).map(sorted), min_size=n, max_size=n))
    free = draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=n, max_size=n))
    return FeatureSpace(
        names,
        [-math.inf if no_low else low for (low, _), (no_low, _) in zip(ends, free, strict=True)],
        [math.inf if no_high else high for (_, high), (_, no_high) in zip(ends, free, strict=True)],
        np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool),
        categories,
        draw(st.lists(st.none() | anything(0), min_size=n, max_size=n)),
        fill,
    )


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    low, high = sorted(draw(st.tuples(NUMBERS, NUMBERS)))
    if draw(st.booleans()):
        return Interval(low, low, closed="both")
    flags = (True, True) if low == high else draw(st.tuples(st.booleans(), st.booleans()))
    side = draw(st.sampled_from(["both", "low", "high"]))
    low = -math.inf if side == "high" else low
    high = math.inf if side == "low" else high
    return Interval.from_flags(low, high, *flags)


@st.composite
def missing_conditions(
    draw: st.DrawFn, space: FeatureSpace, used: set[int]
) -> dict[str, list[int]]:
    """Of the features without other condition, some that must be missing, and some that must not."""
    said = {j: draw(st.sampled_from([None, None, True, False])) for j in range(len(space))}
    return {
        "missing": [j for j in said if said[j] is True and j not in used and space.fill[j] is None],
        "known": [j for j in said if said[j] is False],
    }


@st.composite
def polyhedra(
    draw: st.DrawFn, space: FeatureSpace, numeric: list[int], sets: dict[int, object]
) -> Polyhedron:
    n = len(space)
    rows, limits, strict = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        row = np.zeros(n)
        chosen = draw(st.lists(st.sampled_from(numeric), unique=True, min_size=1))
        for j in chosen:
            row[j] = draw(st.sampled_from([1.0, -1.0]) | NUMBERS.filter(bool))
        limit, is_strict = draw(NUMBERS), draw(st.booleans())
        rows.append(row)
        limits.append(limit)
        strict.append(is_strict)
        if draw(st.booleans()):  # the opposite side: a chain or an equality
            rows.append(-row)
            limits.append(draw(st.just(-limit) | NUMBERS))
            strict.append(draw(st.sampled_from([is_strict, not is_strict])))
    used = {*sets, *np.flatnonzero(np.any(rows, axis=0)).tolist()}
    more = draw(missing_conditions(space, used))
    region = Polyhedron(rows, limits, np.array(strict), sets, **more)
    is_box = all(np.count_nonzero(row) == 1 and set(np.abs(row)) <= {0.0, 1.0} for row in rows)
    assume(not (is_box and region.to_box().is_empty))  # a rule refuses an empty box
    return region


@st.composite
def regions(draw: st.DrawFn, space: FeatureSpace) -> Box | Polyhedron:
    numeric = [j for j, kinds in enumerate(space.categories) if kinds is None]
    sets = {
        j: draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1))
        for j, kinds in enumerate(space.categories)
        if kinds is not None and draw(st.booleans())
    }
    if numeric and draw(st.booleans()):
        return draw(polyhedra(space, numeric, sets))
    bounds = {j: draw(intervals()) for j in numeric if draw(st.booleans())}
    more = draw(missing_conditions(space, {*bounds, *sets}))
    return Box.from_intervals(bounds, len(space), sets, **more)


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleSet:
    space = draw(spaces())
    classes = draw(st.lists(LABELS, unique=True, min_size=1, max_size=3))
    weights = st.just(1.0) | st.floats(0, exclude_min=True, allow_infinity=False)
    rules = [
        Rule(
            draw(regions(space)),
            draw(st.sampled_from(classes)),
            name=draw(st.none() | anything()),
            weight=draw(weights),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    return RuleSet(rules, space, draw(st.sampled_from([classes, None])))


@given(rule_sets())
def test_printed_rules_read_back_as_the_same_rules(rules):
    text = format_rules(rules)
    again = parse_rules(text)
    assert again == rules
    assert [type(label) for label in again.classes] == [type(label) for label in rules.classes]
    assert [(r.name, r.weight, r.label) for r in again] == [
        (r.name, r.weight, r.label) for r in rules
    ]


@given(rule_sets())
def test_printed_rules_read_back_when_space_and_classes_are_given(rules):
    assert parse_rules(format_rules(rules), space=rules.space, classes=rules.classes) == rules


@given(rule_sets())
def test_printing_is_stable_and_is_plain_utf_8_text(rules):
    text = format_rules(rules)
    assert format_rules(parse_rules(text)) == text
    text.encode("utf-8")
    assert all(char.isprintable() or char == "\n" for char in text)


@given(rule_sets(), st.sampled_from(["\r\n", "\r"]), st.booleans())
def test_line_ends_and_a_byte_order_mark_do_not_matter(rules, line_end, with_mark):
    text = format_rules(rules).replace("\n", line_end)
    assert parse_rules("\ufeff" * with_mark + text) == rules


@given(rule_sets())
def test_every_rule_set_can_be_said_in_sentences_and_tables(rules):
    lines = describe_rules(rules).split("\n")
    used = {j for rule in rules for j in rule.region.bounded}
    filled = any(rules.space.fill[j] is not None for j in used)
    assert len(lines) == max(1, len(rules)) + filled
    assert list(rules_frame(rules)["label"]) == [rule.label for rule in rules]
    assert rules_html(rules).count("<tr>") == (len(rules) + 1 if len(rules) else 0)


def read(text: str, *known: object) -> RuleSet | RuleSyntaxError:
    try:
        return parse_rules(text, *known)
    except RuleSyntaxError as error:
        return error


def check_answer(answer: RuleSet | RuleSyntaxError) -> None:
    if isinstance(answer, RuleSet):
        assert parse_rules(format_rules(answer)) == answer
    else:
        assert 1 <= answer.column <= len(answer.source) + 1
        assert answer.line >= 1
        assert len(str(answer)) < 2000


def test_simple_rules_are_printed_without_declarations():
    text = "bmi >= 30 and colour in {red, blue} => ill\ntrue => well\n"
    assert format_rules(parse_rules(text)) == text


@given(
    st.text(st.characters(exclude_categories=()))
    | st.text("xy `\\#:,.=<>*+-[]{}\n1e25andortruein_")
)
def test_any_text_gives_rules_or_a_syntax_error(text):
    check_answer(read(text))


PIECES = [
    *(
        "x",
        "y",
        "`a b`",
        "3",
        "-2.5",
        "1e5",
        "<=",
        "<",
        ">=",
        ">",
        "=",
        "==",
        "!=",
        "≤",
        "+",
        "-",
        "*",
        "and",
        "or",
    ),
    *(
        "not",
        "in",
        "true",
        "false",
        "=>",
        ":",
        ",",
        "[",
        "]",
        "{",
        "}",
        "weight",
        "feature",
        "classes",
        "unit",
    ),
    *(
        "integer",
        "inf",
        "#",
        "\n",
        "`",
        "\\",
        "(",
        "\x0c",
        "{a, b}",
        "[weight 2]",
        "=> a",
        "x > 3",
        "x is missing",
        "c is not missing",
        "is",
        "missing",
        "fill",
        "c = red",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from(["", " "]))
def test_any_mixture_of_words_gives_rules_or_a_syntax_error(pieces, glue):
    check_answer(read(glue.join(pieces)))


@given(rule_sets(), st.randoms(use_true_random=False), st.booleans())
def test_damaged_text_gives_rules_or_a_syntax_error(rules, rng, is_known):
    text = format_rules(rules)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(3)
        piece = rng.choice(PIECES) if kind else ""
        text = text[:at] + piece + text[at + (kind != 1) * rng.randint(0, 3) :]
    known = (rules.space, rules.classes) if is_known else ()
    check_answer(read(text, *known))


# The meaning, checked by an evaluator that shares no code with the library: the text becomes Python.


def _as_python(premise: str) -> str:
    premise = re.sub(r"(\w+) is missing", r"\1 != \1", premise)
    premise = re.sub(r"(\w+) is not missing", r"\1 == \1", premise)
    premise = re.sub(r"in \{(.*?)\}", lambda m: "in " + repr(tuple(m[1].split(", "))), premise)
    premise = re.sub(r"(\w+) = ([a-z]+)", r'\1 == "\2"', premise)
    return "True" if premise == "true" else re.sub(r"(?<![<>=!])=(?!=)", "==", premise)


ORACLE_SPACE = FeatureSpace(
    ["x", "y", "z", "colour"], categories={"colour": ["red", "green", "blue"]}
)


@given(st.data())
def test_printed_rules_cover_what_they_say(data):
    rules = RuleSet([Rule(data.draw(regions(ORACLE_SPACE)), "a") for _ in range(3)], ORACLE_SPACE)
    rng = data.draw(st.randoms(use_true_random=False))
    values = [0.0, 1.0, -1.0]
    for rule in rules:
        box = rule.region
        if isinstance(box, Box):
            values += [float(v) for v in (*box.lower, *box.upper) if math.isfinite(v)]
        else:
            values += box.b.tolist()
    values += [math.nextafter(v, way) for v in values for way in (-math.inf, math.inf)]
    values += [math.nan] * len(values)
    codes = [0, 1, 2, math.nan]
    points = [[rng.choice(values) for _ in range(3)] + [rng.choice(codes)] for _ in range(40)]
    covered = rules.covers(points)
    for k, line in enumerate(parse_rules(format_rules(rules)).to_text().split("\n")[-4:-1]):
        code = compile(_as_python(line.removesuffix(" => a")), line, "eval")
        for point, is_covered in zip(points, covered[:, k], strict=True):
            x, y, z, code_of = point
            colour = code_of if math.isnan(code_of) else ["red", "green", "blue"][code_of]
            names = {"x": x, "y": y, "z": z, "colour": colour}
            assert eval(code, {}, names) == is_covered, (line, point)
