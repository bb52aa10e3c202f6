"""What rule text means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError, RuleSyntaxError
from clearmargin.language import format_rules, parse_rules
from clearmargin.rules import Box, FeatureSpace, Interval, Polyhedron, Rule, RuleSet


def region_of(premise: str, space: FeatureSpace | None = None) -> Box | Polyhedron:
    return parse_rules(f"{premise} => a", space=space)[0].region


class TestThePublicExamples:
    """Each line of the published example means what stands beside it."""

    def test_a_comment_and_a_blank_line_say_nothing(self):
        assert parse_rules("# comment\n\n   \t# another => one\n") == RuleSet(
            [], FeatureSpace([]), []
        )

    def test_a_name_before_a_colon_names_the_rule(self):
        rules = parse_rules("obese_high: bmi >= 30 and glucose >= 126 => diabetes")
        assert (rules[0].name, rules[0].label) == ("obese_high", "diabetes")
        assert rules.covers([[30, 126], [29.9, 126], [30, 125]])[:, 0].tolist() == [
            True,
            False,
            False,
        ]

    def test_a_chain_bounds_on_both_sides_and_brackets_hold_the_weight(self):
        rules = parse_rules("126 <= glucose <= 140 and bmi < 30 => healthy  [weight 2]")
        assert rules[0].weight == 2
        points = [[126, 29], [140, 29], [141, 29], [130, 30]]
        assert rules.covers(points)[:, 0].tolist() == [True, True, False, False]

    def test_linear_combinations_make_polyhedra(self):
        rules = parse_rules("0.5*age + bmi <= 40 => healthy")
        assert rules[0].region == Polyhedron([[0.5, 1.0]], [40.0])
        assert rules.covers([[20, 30], [20, 30.1]])[:, 0].tolist() == [True, False]

    def test_backquotes_hold_any_name_and_equality_names_a_category(self):
        rules = parse_rules("`worst area` < 880.5 and colour = red => malignant")
        assert rules.space == FeatureSpace(["worst area", "colour"], categories={"colour": ["red"]})
        assert rules.covers([[880, 0], [880.5, 0], [880, -1]])[:, 0].tolist() == [
            True,
            False,
            False,
        ]

    def test_in_names_several_categories(self):
        rules = parse_rules("smoker in {yes, ex} => `at risk`")
        assert rules.classes == ("at risk",)
        assert rules.space.categories == (("yes", "ex"),)
        assert rules.covers([[0], [1], [-1]])[:, 0].tolist() == [True, True, False]

    def test_true_is_no_condition(self):
        rules = parse_rules("true => benign", space=FeatureSpace(["x"]))
        assert rules[0].region == Box.unbounded(1)

    def test_not_is_the_other_one_of_two_classes(self):
        text = "glucose <= 126 => not diabetes"
        assert parse_rules(text, classes=["healthy", "diabetes"])[0].label == "healthy"
        assert parse_rules(f"classes: diabetes, well\n{text}")[0].label == "well"
        assert parse_rules(f"{text}\nglucose > 126 => well")[0].label == "well"


@pytest.mark.parametrize(
    ("premise", "interval"),
    [
        ("x >= 3", Interval(3, np.inf)),
        ("x > 3", Interval(3, np.inf, "neither")),
        ("3 < x", Interval(3, np.inf, "neither")),
        ("x ≤ 3", Interval(-np.inf, 3, "both")),
        ("x < 3", Interval(-np.inf, 3)),
        ("3 > x", Interval(-np.inf, 3)),
        ("x = 3", Interval(3, 3, "both")),
        ("3 == x", Interval(3, 3, "both")),
        ("3 <= x < 5", Interval(3, 5)),
        ("5 ≥ x > 3", Interval(3, 5, "right")),
        ("-x <= -3", Interval(3, np.inf)),
        ("x >= - 3", Interval(-3, np.inf)),
        ("x >= +3", Interval(3, np.inf)),
        ("x - 1 >= 2", Interval(3, np.inf)),
        ("2 <= x - 1 < 4", Interval(3, 5)),
        ("2*x - x <= 3", Interval(-np.inf, 3, "both")),
        ("x + 2*y <= 3 + 2*y", Interval(-np.inf, 3, "both")),
        ("x >= 3 and x >= 2", Interval(3, np.inf)),
        ("x >= 3 and x > 3", Interval(3, np.inf, "neither")),
        ("x <= 3 AND x < 3", Interval(-np.inf, 3)),
        ("x > .5 and x < 5.", Interval(0.5, 5, "neither")),
        ("x > 1E-2", Interval(0.01, np.inf, "neither")),
        ("x >= 0.000", Interval(0, np.inf)),
        ("x <= -0", Interval(-np.inf, 0, "both")),
    ],
)
def test_a_condition_on_one_feature_bounds_it(premise, interval):
    region = region_of(premise, FeatureSpace(["x", "y"]))
    assert region == Box.from_intervals({0: interval}, 2)


PLAIN = [
    "x >= -0",
    "-0 < x",
    "x > -1e308",
    "x < 2 + 3",
    "-x < 0",
    "x = 1",
    "-1 < x <= 3",
    "2*x <= 0*y + 2*x + y",
]


@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=4), st.booleans())
def test_a_box_from_text_is_as_good_as_one_that_was_checked(conditions, with_category):
    premise = " and ".join([*conditions, *(["c in {red, blue}"] if with_category else [])])
    try:
        box = region_of(premise)
    except RuleSyntaxError:
        return
    if isinstance(box, Box):
        assert box == Box(box.lower, box.upper, box.lower_closed, box.upper_closed, box.sets)
        for array in (box.lower, box.upper, box.lower_closed, box.upper_closed):
            assert not array.flags.writeable
            assert array.base is None or not array.base.flags.writeable


@pytest.mark.parametrize(
    ("premise", "A", "b", "strict"),
    [
        ("x + y <= 3", [[1, 1]], [3], [False]),
        ("x + y >= 3", [[-1, -1]], [-3], [False]),
        ("3 < x + y", [[-1, -1]], [-3], [True]),
        ("2*x <= 6", [[2, 0]], [6], [False]),
        ("x*2 <= 6", [[2, 0]], [6], [False]),
        ("x <= y", [[1, -1]], [0], [False]),
        ("x + 1 < 2*y - 3", [[1, -2]], [-4], [True]),
        ("1 <= x + y < 3", [[-1, -1], [1, 1]], [-1, 3], [False, True]),
        ("3 > x + y >= 1", [[-1, -1], [1, 1]], [-1, 3], [False, True]),
        ("x - y = 4", [[-1, 1], [1, -1]], [-4, 4], [False, False]),
        ("1 <= x <= y <= 5", [[-1, 0], [1, -1], [0, 1]], [-1, 0, 5], [False] * 3),
        ("x = 4 and x + y < 3", [[-1, 0], [1, 0], [1, 1]], [-4, 4, 3], [False, False, True]),
        (
            "y < 7 and 1 < x <= 4 and x + y < 3",
            [[0, 1], [-1, 0], [1, 0], [1, 1]],
            [7, -1, 4, 3],
            [1, 1, 0, 1],
        ),
        ("- x - - y <= 3", [[-1, 1]], [3], [False]),
        ("x + y + x <= 3", [[2, 1]], [3], [False]),
    ],
)
def test_a_linear_condition_makes_rows_in_the_order_written(premise, A, b, strict):
    region = region_of(premise, FeatureSpace(["x", "y"]))
    assert region == Polyhedron(A, b, np.array(strict, dtype=bool))


def test_bounds_that_contradict_each_other_beside_a_linear_condition_are_kept():
    # Whether inequalities leave anything takes a proof, which reading does not attempt.
    assert isinstance(region_of("x >= 3 and x < 3 and x + y < 1"), Polyhedron)


class TestNamesOnBothSidesOfAnEquality:
    def test_without_a_space_the_right_one_is_a_category(self):
        assert parse_rules("a = b => c").space == FeatureSpace(["a"], categories={"a": ["b"]})

    def test_even_if_a_feature_is_called_like_the_category(self):
        rules = parse_rules("red > 3 and colour = red => c")
        assert rules.space == FeatureSpace(["red", "colour"], categories={"colour": ["red"]})

    def test_two_numbers_elsewhere_are_two_numbers_here(self):
        rules = parse_rules("a = b => c\na > 3 and b > 2 => c")
        assert rules[0].region == Polyhedron([[-1, 1], [1, -1]], [0, 0])

    def test_a_known_space_decides(self):
        assert region_of("a = b", FeatureSpace(["a", "b"])) == Polyhedron(
            [[-1, 1], [1, -1]], [0, 0]
        )
        space = FeatureSpace(["a", "b"], categories={"a": ["b", "c"]})
        assert region_of("a = b", space) == Box.from_intervals({}, 2, {0: [0]})

    def test_true_and_false_after_an_equality_are_categories(self):
        rules = parse_rules("smoker = True => a\nsmoker in {false} => b")
        assert rules.space.categories == (("True", "false"),)

    def test_a_category_may_have_an_empty_name(self):
        assert parse_rules("c = `` => a").space.categories == (("",),)


def test_a_bare_number_is_the_category_of_exactly_that_spelling():
    space = FeatureSpace(["c"], categories={"c": ["5", "-5", "5.0"]})
    assert region_of("c = 5", space).sets[0] == {0}
    assert region_of("c==  -5", space).sets[0] == {1}
    assert region_of("c in {5.0, 5}", space).sets[0] == {0, 2}
    with pytest.raises(RuleSyntaxError, match="line 1, column 5: unknown category '05' of 'c'"):
        region_of("c = 05", space)
    assert parse_rules("c in {5, `5`} => a").space.categories == (("5",),)


def test_sets_of_the_same_feature_are_intersected():
    space = FeatureSpace(["c"], categories={"c": ["r", "g", "b"]})
    assert region_of("c in {r, g, r} and c in {g, b}", space).sets[0] == {1}


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("ill", "ill"),
        ("`at risk`", "at risk"),
        ("1", 1),
        ("-1", -1),
        ("+1", 1),
        ("007", 7),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        ("-.5", -0.5),
        ("true", True),
        ("FALSE", False),
        ("`true`", "true"),
        ("`1`", "1"),
        ("inf", "inf"),
    ],
)
def test_a_class_has_the_type_in_which_it_is_written(written, label):
    said = parse_rules(f"x > 3 => {written}").classes[0]
    assert (said, type(said)) == (label, type(label))


def test_a_class_takes_the_type_that_the_caller_gives_it():
    labels = parse_rules("x > 3 => 1\nx < 1 => not 1", classes=np.array([0.0, 1.0]))
    assert [type(rule.label) for rule in labels] == [float, float]
    assert [rule.label for rule in labels] == [1.0, 0.0]


class TestDeclarations:
    TEXT = (
        "CLASSES: benign, 1, `a b`\n"
        "feature age: integer in [20, 80] unit years\n"
        "feature colour: in {red, `5`, 6, true}\n"
        "feature `worst area`: unit `mm²` in [0, +inf]  # mm²\n"
        "feature feature: in [-Inf, 3]\n"
        "feature classes\n"
    )
    SPACE = FeatureSpace(
        ["age", "colour", "worst area", "feature", "classes"],
        [20, -np.inf, 0, -np.inf, -np.inf],
        [80, np.inf, np.inf, 3, np.inf],
        [True, False, False, False, False],
        {"colour": ["red", "5", "6", "true"]},
        {"age": "years", "worst area": "mm²"},
    )

    def test_they_say_what_features_and_classes_there_are(self):
        rules = parse_rules(self.TEXT)
        assert rules == RuleSet([], self.SPACE, ["benign", 1, "a b"])

    def test_they_may_stand_anywhere(self):
        rules = parse_rules("feature < 3 => 1\n" + self.TEXT + "classes: classes >= 2 => `a b`\n")
        assert [rule.name for rule in rules] == [None, "classes"]
        assert [rule.region.bounded for rule in rules] == [(3,), (4,)]

    def test_a_space_that_is_given_wins(self):
        space = FeatureSpace([*self.SPACE.names, "more"])
        rules = parse_rules(
            self.TEXT + "more > age => 2", space=space, classes=[1, "a b", "benign", 2]
        )
        assert rules.space == space
        assert rules.classes == (1, "a b", "benign", 2)

    def test_they_are_printed_only_where_they_are_needed(self):
        text = "feature x: unit m\nx > 3 => a\n"
        assert format_rules(parse_rules(text)) == text
        assert format_rules(parse_rules("feature x\nclasses: a\nx > 3 => a\n")) == "x > 3 => a\n"
        assert (
            format_rules(parse_rules("classes: b, a\nx > 3 => a\n"))
            == "classes: b, a\nx > 3 => a\n"
        )
        assert (
            format_rules(parse_rules("feature y\nfeature x\nx > 3 => a"))
            == "feature y\nfeature x\nx > 3 => a\n"
        )

    def test_categories_with_a_range_and_whole_numbers_survive(self):
        space = FeatureSpace(["c"], [0], [1], True, {"c": ["a", "b"]})
        text = format_rules(RuleSet([], space, []))
        assert text == "feature c: integer in [0, 1] in {a, b}\n"
        assert parse_rules(text).space == space


def test_only_line_feeds_and_carriage_returns_end_a_line():
    rules = parse_rules("x\x0b>\x0c3\u2028=>\x85a\x1c# c\u2029y => b\r\nx < 3 => b\rx = 3 => c\n")
    assert rules.classes == ("a", "b", "c")


def test_numbers_are_printed_with_the_fewest_digits_that_read_back():
    numbers = [30.0, 0.1, 1e16, 1e22, 5e-324, 1.7976931348623157e308, 2.0**53 + 2, 123456789.0]
    text = "".join(f"x >= {value!r} => a\n" for value in numbers)
    printed = [line.split()[2] for line in format_rules(parse_rules(text)).splitlines()]
    assert printed == [
        *("30", "0.1", "1e+16", "1e+22", "5e-324", "1.7976931348623157e+308"),
        *("9007199254740994", "123456789"),
    ]


def test_a_polyhedron_is_printed_as_people_write_it():
    space = FeatureSpace(["age", "body mass", "c"], categories={"c": ["r", "g"]})
    rows = [[-0.5, 1, 0], [-1, -1, 0], [1, 1, 0], [0, -1, 0], [0, 1, 0], [1, 0, 0]]
    region = Polyhedron(
        rows, [3, -1, 2, -4, 4, 7], [False, True, False, False, False, True], {2: [0, 1]}
    )
    text = format_rules(RuleSet([Rule(region, "a")], space))
    assert text == (
        "0.5*age - `body mass` >= -3 and 1 < age + `body mass` <= 2 and `body mass` = 4 "
        "and age < 7 and c in {r, g} => a\n"
    )
    assert parse_rules(text)[0].region == region


def test_only_rules_can_be_printed():
    with pytest.raises(TypeError, match="a RuleSet is needed, not str"):
        format_rules("x > 3 => a")


def test_classes_given_twice_are_refused():
    with pytest.raises(InvalidValueError, match="classes must differ"):
        parse_rules("x > 3 => a", classes=["a", "a"])


def test_a_row_with_the_limit_zero_is_written_without_a_sign():
    rules = parse_rules("a - 2*b >= 0 and a + b <= 0 => p")
    assert rules.to_text() == "a - 2*b >= 0 and a + b <= 0 => p\n"
