"""Tables of rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from clearmargin import Box, FeatureSpace, Rule, RuleExtractor, RuleSet, RuleStats, parse_rules
from clearmargin.drawing.canvas import fit_line, short_number, text_width, wrap
from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import RegionsDisplay, RulesDisplay, plot_rules

ODD = parse_rules(
    "2 <= x < 4 => a\nx = 3 => b\nx > 5 => a\ntrue => b", space=FeatureSpace(["x"], [0], [10])
)


def words(display):
    return [text.get_text() for text in display.ax_.texts]


def marks(display, kind):
    """Ends of bars or squares: places in inches from the upper left corner."""
    found = [c.get_offsets() for c in display.ax_.collections if c.get_gid() == kind]
    return np.concatenate([np.empty((0, 2)), *found])


def bars(display):
    (found,) = [c for c in display.ax_.collections if c.get_gid() == "intervals"]
    return found.get_segments()


def on_scale(display, column, value):
    start, end = display.layout_.columns[column].scale
    low, high = display.columns[column].low, display.columns[column].high
    return start + (value - low) / (high - low) * (end - start)


def named_rules(name_length, n_features=6, n_rules=15):
    """Rules over features with names of some length, with all that a table can hold."""
    stems = ["mean", "worst_value", "a", "standard deviation", "x.y", "compact"]
    names = [
        "".join(itertools.islice(itertools.cycle(f"{stem} of {k}_"), name_length))[:-1] + str(k)
        for k, stem in zip(range(n_features), itertools.cycle(stems), strict=False)
    ]
    rng = np.random.default_rng(0)
    space = FeatureSpace(names, np.full(n_features, -1e4), np.full(n_features, 1e4))
    rules = []
    for k in range(n_rules):
        lower, upper = np.sort(rng.normal(size=(2, n_features)) * 1000, axis=0)
        free = rng.random((2, n_features)) < 0.3
        lower[free[0]], upper[free[1]] = -np.inf, np.inf
        flags = rng.random((2, n_features)) < 0.5
        stats = RuleStats(rows=100_000, covered=90_000 - k, correct=89_000 - k)
        rules.append(Rule(Box(lower, upper, *flags), ["no", "yes"][k % 2], stats=stats))
    return RuleSet(rules, space, ["no", "yes"])


def test_there_is_a_column_for_each_feature_that_occurs_and_a_row_for_each_rule(wbc):
    extractor, _, _ = wbc
    display = RulesDisplay.from_estimator(extractor)
    occurring = sorted({j for rule in extractor.rules_ for j in rule.region.bounded})
    assert [column.feature for column in display.columns] == occurring
    assert len(display.layout_.rows) == len(extractor.rules_) + 1
    assert len(bars(display)) == sum(len(rule.region.bounded) for rule in extractor.rules_)


def test_cells_say_bounds_classes_and_coverage(wbc):
    display = plot_rules(wbc[0])
    assert {"≤ 8", "4 to 5", "benign", "427 of 683, 98.3 % right"} <= {*words(display)}


def test_bars_start_and_end_where_the_bounds_are():
    display = plot_rules(ODD)
    closed, hollow = marks(display, "in"), marks(display, "out")
    np.testing.assert_allclose(closed[:, 0], [on_scale(display, 0, x) for x in (2, 3, 3)])
    np.testing.assert_allclose(hollow[:, 0], [on_scale(display, 0, x) for x in (4, 5)])
    first, second = bars(display)
    assert first[0, 0] == pytest.approx(on_scale(display, 0, 2))
    assert on_scale(display, 0, 3.4) < first[1, 0] < on_scale(display, 0, 4), "up to the hollow end"
    assert second[0, 0] > on_scale(display, 0, 5)


def test_no_bound_is_an_arrow_beyond_the_scale():
    display = plot_rules(ODD)
    (arrow,) = marks(display, "right")
    assert arrow[0] > on_scale(display, 0, 10)
    assert not len(marks(display, "left"))


def test_hollow_ends_are_explained_where_there_are_some(wbc):
    remark = "Hollow end: the bound itself is not in the rule"
    assert remark in words(plot_rules(ODD))
    assert remark not in words(plot_rules(wbc[0]))


def test_whole_numbers_are_drawn_and_said_from_one_to_the_other():
    space = FeatureSpace(["n"], [0], [10], integer=True)
    display = plot_rules(parse_rules("2.5 < n < 7 => a\n3 < n < 3.5 => b", space=space))
    assert "3 to 6" in words(display)
    assert "(3, 3.5)" in words(display), "no whole number is in it"
    np.testing.assert_allclose(
        marks(display, "in")[:, 0], [on_scale(display, 0, x) for x in (3, 6)]
    )


def test_numbers_are_rounded_inwards_to_the_digits_wanted():
    rules = parse_rules("1.23456 <= x <= 7.65432 => a")
    assert "1.24 to 7.65" in words(plot_rules(rules))
    assert "1.3 to 7.6" in words(plot_rules(rules, digits=2))


def test_large_whole_numbers_are_not_rounded():
    space = FeatureSpace(["n"], [0], [1e18], integer=True)
    rules = parse_rules("n <= 123456 => a\nn >= 100000000000000000 => b", space=space)
    assert {"≤ 123456", "≥ 1e+17"} <= {*words(plot_rules(rules))}


def test_categories_are_squares_with_names_filled_if_allowed(mixed):
    extractor, _, _ = mixed
    display = plot_rules(extractor, max_rules=100)
    rules = [rule for rule in extractor.rules_ if 1 in rule.region.sets]
    allowed = sum(len(rule.region.sets[1]) for rule in rules)
    assert len(marks(display, "in square")) == allowed
    assert len(marks(display, "out square")) == 3 * len(rules) - allowed
    assert words(display).count("smoker") == 1
    assert words(display).count("yes") == len(rules)


def test_many_categories_become_a_strip_with_the_names_of_those_allowed(check_legible):
    kinds = [f"country number {k}" for k in range(24)]
    rules = RuleSet(
        [
            Rule(Box([-np.inf], [np.inf], sets={0: [1, 7]}), "a"),
            Rule(Box([-np.inf], [np.inf], sets={0: range(23)}), "b"),
        ],
        FeatureSpace(["country"], categories=[kinds]),
    )
    display = plot_rules(rules)
    assert len(marks(display, "in square")) == 25
    assert "country number 1, country number 7" in words(display)
    assert any(word.endswith("…") for word in words(display))
    check_legible(display.figure_)


def test_linear_conditions_have_a_column_of_their_own(check_legible):
    display = plot_rules(
        parse_rules("0.5*age + bmi <= 40 and age >= 18 => a\nage < 18 => b\ntrue => b")
    )
    assert {"linear conditions", "0.5*age + bmi <= 40", "age >= 18"} <= {*words(display)}
    check_legible(display.figure_)


def test_names_of_rules_stand_beside_their_numbers():
    assert "1  obese" in words(plot_rules(parse_rules("obese: bmi >= 30 => ill")))


def test_rules_without_conditions_or_counts_still_have_a_row(check_legible):
    display = plot_rules(parse_rules("true => a"))
    assert words(display) == ["class", "1", "a"]
    check_legible(display.figure_)


def test_counts_without_classes_say_nothing_about_being_right():
    rule = Rule(Box([1.0], [2.0]), "a", stats=RuleStats(rows=10, covered=4))
    assert "4 of 10" in words(plot_rules(RuleSet([rule], FeatureSpace(["x"]))))


def test_of_many_rules_those_that_cover_most_are_shown_in_their_order():
    rules = named_rules(10, n_rules=40)
    assert plot_rules(rules, max_rules=12).shown == list(range(12))
    turned = RuleSet(reversed(list(rules)), rules.space, rules.classes)
    display = plot_rules(turned, max_rules=12)
    assert display.shown == list(range(28, 40))
    assert any(word.startswith("12 of 40 rules shown") for word in words(display))
    assert "40" in words(display), "rules keep their numbers"


def test_of_many_rules_without_counts_the_first_are_shown():
    display = plot_rules(ODD, max_rules=2)
    assert display.shown == [0, 1]
    assert any(word.startswith("2 of 4 rules shown, the first ones") for word in words(display))


@pytest.mark.parametrize("length", [2, 10, 40, 90])
def test_tables_are_legible_whatever_the_length_of_names(length, check_legible):
    check_legible(plot_rules(named_rules(length)).figure_)


def test_tables_of_real_rules_are_legible(wbc, mixed, check_legible):
    for extractor, _, _ in (wbc, mixed):
        check_legible(plot_rules(extractor).figure_)


def test_long_heads_stay_above_the_rows_and_in_their_columns(texts_of):
    display = plot_rules(named_rules(40))
    boxes = {id(text): box for text, box in texts_of(display.figure_)}
    dpi = display.figure_.dpi
    top = display.figure_.bbox.y1 - display.layout_.rows[0] * dpi
    for place in display.layout_.columns:
        assert len(place.head) > 1
        for text in display.ax_.texts:
            if text.get_text() in place.head and text.get_position()[0] == place.left:
                assert boxes[id(text)].y0 >= top
                assert boxes[id(text)].x1 <= (place.right + 0.05) * dpi


def test_long_classes_and_rule_names_are_cut(check_legible):
    rules = RuleSet(
        [Rule(Box([1.0], [2.0]), "class " * 20, name="rule " * 20), Rule(Box([1.0], [2.0]), "b")],
        FeatureSpace(["x"]),
    )
    display = plot_rules(rules)
    assert sum("…" in word for word in words(display)) == 2
    check_legible(display.figure_)


def test_names_are_no_formulas():
    space = FeatureSpace(["$x_1$"], units=["$m^2$"])
    display = plot_rules(parse_rules("`$x_1$` < 3 => `$c_1$`", space=space))
    assert {"$x_1$", "($m^2$)", "$c_1$"} <= {*words(display)}
    assert not any(text.get_parse_math() or text.get_usetex() for text in display.ax_.texts)


def test_text_and_lines_follow_the_style_of_dark_figures():
    import matplotlib.pyplot as plt

    with plt.style.context("dark_background"):
        display = plot_rules(ODD)
    assert {text.get_color() for text in display.ax_.texts if text.get_text() not in "ab"} == {
        "white"
    }
    assert display.ax_.lines[0].get_color() == "white"


def test_a_table_can_be_drawn_into_axes_and_again():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    before = ax.get_position().bounds
    display = RulesDisplay.from_rules(ODD, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.get_position().bounds == before
    size = display.plot().figure_.get_size_inches()
    np.testing.assert_allclose(size, [display.layout_.width, display.layout_.height])


def test_what_cannot_be_drawn_is_refused_with_a_reason():
    with pytest.raises(InvalidValueError, match="no rules to draw: the set is empty"):
        plot_rules(ODD[:0])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        plot_rules(RuleExtractor())
    with pytest.raises(InvalidValueError, match="takes a fitted estimator with rules, not str"):
        plot_rules("x < 3 => a")
    with pytest.raises(InvalidValueError, match="max_rules must be a whole number from 1, not 0"):
        plot_rules(ODD, max_rules=0)
    with pytest.raises(InvalidValueError, match=r"digits must be a whole number from 1, not 2\.5"):
        plot_rules(ODD, digits=2.5)


def test_texts_are_wrapped_at_words_then_underscores_then_anywhere():
    assert wrap("mean radius", 0.8) == ["mean radius"]
    assert wrap("mean radius of nucleus", 0.8) == ["mean radius", "of nucleus"]
    assert wrap("uniformity_of_cell_size", 0.9) == ["uniformity_of_", "cell_size"]
    assert "".join(wrap("x" * 40, 0.8)) == "x" * 40
    assert all(text_width(line) <= 0.8 for line in wrap("x" * 40, 0.8))
    assert wrap("0.25*x + 3.5*y", 0.6)[0] == "0.25*x +"


def test_texts_too_long_for_all_lines_are_cut_in_the_middle_of_the_last():
    lines = wrap("word " * 40 + "end", 0.8, max_lines=2)
    assert len(lines) == 2
    assert lines[-1].startswith("word")
    assert "…" in lines[-1]
    assert lines[-1].endswith("end")
    assert fit_line("one, two, three, four", 0.8, keep_end=False).endswith("…")
    assert fit_line("short", 2.0) == "short"
    assert text_width(fit_line("long " * 30, 1.0)) <= 1.0


@pytest.mark.parametrize(
    ("x", "text"), [(0.0526, "0.0526"), (1234.4, "1234"), (-1e6, "-1000000"), (10.0, "10")]
)
def test_ends_of_scales_are_short(x, text):
    assert short_number(x) == text


def test_conditions_on_missing_values_are_written_without_a_bar():
    rules = parse_rules("age is missing and bmi > 3 => a\nage > 3 and bmi is not missing => b")
    display = RulesDisplay.from_rules(rules)
    written = {text.get_text() for text in display.ax_.texts}
    assert {"missing", "not missing"} <= written
    with pytest.raises(InvalidValueError, match="'age' is missing, and these have no place"):
        RegionsDisplay.from_rules(rules, features=("age", "bmi"))
