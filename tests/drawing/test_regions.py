"""Rectangles of rules over two features."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from clearmargin import FeatureSpace, RuleExtractor, RuleSet, parse_rules
from clearmargin.drawing.canvas import class_polygons, clip
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.plot import RegionsDisplay, plot_regions

HALF_OPEN = parse_rules("2 <= x < 4 and y < 3 => a\n4 <= x <= 6 and 1 < y <= 3 => a\nx > 7 => b")


def rectangles_in(ax):
    patches = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    return np.array(
        [[*patch.get_bbox().intervalx, *patch.get_bbox().intervaly] for patch in patches]
    )


def faces(ax, kind):
    collections = [c for c in ax.collections if c.get_gid() == kind]
    return np.array([segment for c in collections for segment in c.get_segments()])


def numbers_in(ax):
    return [int(text.get_text()) for text in ax.texts]


def clipped(rules, names, ax):
    pair = [rules.space.index(name) for name in names]
    lower = np.array([rule.region.lower[pair] for rule in rules])
    upper = np.array([rule.region.upper[pair] for rule in rules])
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    low, high = np.maximum(lower, [left, bottom]), np.minimum(upper, [right, top])
    return np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1)


def test_each_rule_is_one_rectangle_clipped_to_the_axes(plane):
    extractor, _, _ = plane
    display = RegionsDisplay.from_estimator(extractor)
    expected = clipped(extractor.rules_, ("dose", "bmi"), display.ax_)
    np.testing.assert_allclose(rectangles_in(display.ax_), expected, rtol=1e-12)
    np.testing.assert_array_equal(display.rectangles, expected)


def test_projected_rectangles_are_the_bounds_of_the_two_features(wbc):
    extractor, _, _ = wbc
    names = ("bare_nuclei", "clump_thickness")
    display = plot_regions(extractor, features=names)
    expected = clipped(extractor.rules_, names, display.ax_)
    np.testing.assert_allclose(rectangles_in(display.ax_), expected, rtol=1e-12)


def test_the_line_is_where_the_model_is_undecided(plane):
    extractor, _, _ = plane
    display = plot_regions(extractor)
    (line,) = faces(display.ax_, "boundary")
    np.testing.assert_allclose(extractor.hyperplane_.decision(line), 0.0, atol=1e-9)


def test_the_sides_of_the_classes_fill_the_axes_and_agree_with_the_model(plane):
    extractor, X, _ = plane
    display = plot_regions(extractor)
    areas = []
    for k, polygon in enumerate(display.polygons):
        x, y = polygon.T
        areas.append(abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2)
        middle = X.iloc[:1].assign(dose=polygon[:, 0].mean(), bmi=polygon[:, 1].mean())
        assert extractor.estimator_.predict(middle)[0] == extractor.classes_[k]
    left, right, bottom, top = display.extent
    assert sum(areas) == pytest.approx((right - left) * (top - bottom))


def test_three_classes_are_three_polygons_with_their_boundaries():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [5, 0], [0, 5]])
    y = np.repeat([0, 1, 2], 30)
    X = centres[y] + rng.normal(size=(90, 2))
    display = plot_regions(RuleExtractor(LogisticRegression()).fit(X, y), X, y)
    assert len(display.polygons) == 3
    assert len(faces(display.ax_, "boundary")) >= 3


def test_a_line_is_drawn_only_if_no_other_feature_has_a_weight(wbc, mixed):
    for (extractor, _, _), names in (
        (wbc, ("bare_nuclei", "clump_thickness")),
        (mixed, ("age", "bmi")),
    ):
        display = plot_regions(extractor, features=names)
        assert display.polygons is None
        assert not len(faces(display.ax_, "boundary"))


def test_closed_faces_are_solid_and_open_ones_dashed():
    display = plot_regions(HALF_OPEN)
    _, right, bottom, _ = display.extent
    solid, dashed = faces(display.ax_, "closed faces"), faces(display.ax_, "open faces")
    assert [[2, bottom], [2, 3]] in solid.tolist()
    assert [[4, bottom], [4, 3]] in dashed.tolist()
    assert [[4, 1], [6, 1]] in dashed.tolist()
    assert len(solid) == 4
    assert len(dashed) == 4
    dashes = {
        str(c.get_linestyle()[0][1])
        for c in display.ax_.collections
        if c.get_gid() == "closed faces"
    }
    assert dashes == {"None"}
    assert not (dashed[:, :, 0] == right).all(axis=1).any(), "no face where there is no bound"


def test_the_key_explains_strokes_only_where_they_differ(plane):
    extractor, _, _ = plane
    both = [t.get_text() for t in plot_regions(HALF_OPEN).ax_.get_legend().get_texts()]
    assert both == ["a", "b", "face in the rule", "face not in the rule"]
    closed = [t.get_text() for t in plot_regions(extractor).ax_.get_legend().get_texts()]
    assert closed == ["ill", "well", "model"]


def test_numbers_stand_inside_their_rectangles_and_never_overlap(plane, wbc, check_legible):
    wide = plot_regions(plane[0])
    projected = plot_regions(wbc[0], features=("bare_nuclei", "clump_thickness"))
    for display in (wide, projected):
        check_legible(display.figure_)
        assert numbers_in(display.ax_)
        for text in display.ax_.texts:
            left, right, bottom, top = display.rectangles[int(text.get_text()) - 1]
            x, y = text.get_position()
            assert left < x < right
            assert bottom < y < top
    assert not plot_regions(plane[0], show_numbers=False).ax_.texts


def test_points_have_a_colour_and_a_shape_for_each_class(plane):
    extractor, X, y = plane
    with_classes = plot_regions(extractor, X, y)
    clouds = [c for c in with_classes.ax_.collections if c.get_gid() is None]
    assert sum(len(c.get_offsets()) for c in clouds) == len(X)
    assert len({tuple(c.get_facecolor()[0]) for c in clouds}) == 2
    assert len({c.get_paths()[0].vertices.tobytes() for c in clouds}) == 2
    (plain,) = [c for c in plot_regions(extractor, X).ax_.collections if c.get_gid() is None]
    assert len(plain.get_offsets()) == len(X)


def test_points_outside_of_the_range_of_the_rules_widen_the_axes():
    display = RegionsDisplay.from_rules(HALF_OPEN, [[100.0, 2.0]], ["a"])
    assert display.ax_.get_xlim()[1] > 100


def test_the_title_says_what_is_projected_away(plane, wbc, mixed):
    names = ("bare_nuclei", "clump_thickness")
    many = plot_regions(wbc[0], features=names).ax_.get_title(loc="left")
    assert many == "Projected: the rules have conditions on 3 other features"
    one = plot_regions(mixed[0], features=("age", "bmi")).ax_.get_title(loc="left")
    assert one == "Projected: the rules have conditions on 1 other feature"
    assert plot_regions(plane[0]).ax_.get_title(loc="left") == ""


def test_names_are_shown_letter_by_letter_with_their_units(check_legible):
    space = FeatureSpace(["$x_1$", "b_{2}^$"], [0, 0], [9, 9], units={"$x_1$": "mg/$l$"})
    display = plot_regions(parse_rules("`$x_1$` < 3 and `b_{2}^$` > 2 => `$a_b$`", space=space))
    assert display.ax_.get_xlabel() == "$x_1$ (mg/$l$)"
    assert display.ax_.get_ylabel() == "b_{2}^$"
    written = [
        display.ax_.xaxis.label,
        display.ax_.yaxis.label,
        *display.ax_.get_legend().get_texts(),
    ]
    assert not any(text.get_parse_math() for text in written)
    check_legible(display.figure_)


@pytest.mark.parametrize("joint", ["_", " ", "x"])
def test_long_names_are_wrapped_and_stay_off_the_axes(joint, check_legible):
    names = [joint.join([f"measurement{k}"] * 12) for k in range(2)]
    rules = RuleSet.from_text("2 <= x < 4 and y < 3 => a\nx >= 5 => b")
    space = FeatureSpace(names, [0, 0], [9, 9])
    display = plot_regions(RuleSet(rules, space, ["a", "b"]))
    check_legible(display.figure_)
    frame = display.ax_.get_window_extent()
    assert "\n" in display.ax_.get_xlabel()
    assert display.ax_.xaxis.label.get_window_extent().y1 <= frame.y0
    assert display.ax_.yaxis.label.get_window_extent().x1 <= frame.x0


def test_a_model_that_never_changes_its_mind_in_the_drawing_has_one_side(plane):
    extractor, _, _ = plane
    surface = extractor.surface_
    empty, full = class_polygons(surface, (0, 1), (0.0, 1.0, 0.0, 1.0))
    assert len(empty) == 0
    np.testing.assert_array_equal(full, [[0, 0], [1, 0], [1, 1], [0, 1]])
    display = RegionsDisplay(
        rules=HALF_OPEN,
        features=("x", "y"),
        extent=(0.0, 9.0, 0.0, 9.0),
        polygons=(empty, 9 * full),
    )
    assert not len(faces(display.plot().ax_, "boundary"))


def test_numbers_without_any_room_left_are_not_written():
    crowd = parse_rules("\n".join(["x < 2 and y < 3 => a"] * 9))
    assert len(numbers_in(plot_regions(crowd).ax_)) == 5


def test_a_key_too_wide_for_the_axes_is_put_into_one_column(check_legible):
    labels = ["a very long name of a class " + "x" * k for k in range(30, 34)]
    rules = parse_rules("\n".join(f"x > {k} and y > {k} => `{c}`" for k, c in enumerate(labels)))
    check_legible(plot_regions(rules).figure_)


def test_axes_that_are_given_are_drawn_in():
    import matplotlib.pyplot as plt

    figure = plt.figure()
    left, _ = figure.subfigures(1, 2)
    ax = left.subplots()
    display = plot_regions(HALF_OPEN, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is left
    assert isinstance(display.plot().ax_, Axes)
    assert display.ax_ is not ax


def test_the_same_rules_give_the_same_picture(plane):
    pictures = []
    for _ in range(2):
        figure = plot_regions(*plane).figure_
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba()))
    np.testing.assert_array_equal(*pictures)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            None,
            r"over 9 features; name the two to draw, as in features=\(name, name\), out of 'clump",
        ),
        (("bare_nuclei",), "two different names, not"),
        (("bare_nuclei", "bare_nuclei"), "two different names, not"),
        ("bare_nuclei", "two different names, not 'bare_nuclei'"),
    ],
)
def test_two_features_have_to_be_named(wbc, features, message):
    with pytest.raises(InvalidValueError, match=message):
        plot_regions(wbc[0], features=features)


def test_an_unknown_feature_is_answered_by_the_nearest(wbc):
    with pytest.raises(DataError, match="did you mean 'bare_nuclei'"):
        plot_regions(wbc[0], features=("bare_nucleus", "mitoses"))


def test_categories_have_no_axis(mixed):
    with pytest.raises(
        InvalidValueError, match="'smoker' has categories; only features of numbers"
    ):
        plot_regions(mixed[0], features=("age", "smoker"))


def test_what_cannot_be_drawn_is_refused_with_a_reason(plane):
    with pytest.raises(InvalidValueError, match="no rules to draw: the set is empty"):
        plot_regions(HALF_OPEN[:0])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        plot_regions(RuleExtractor())
    with pytest.raises(InvalidValueError, match="for a RuleSet there is from_rules"):
        RegionsDisplay.from_estimator(HALF_OPEN)
    with pytest.raises(InvalidValueError, match="rules must be a RuleSet, not list"):
        RegionsDisplay.from_rules(list(HALF_OPEN))
    with pytest.raises(InvalidValueError, match="LogisticRegression has no rules_ to draw"):
        plot_regions(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(InvalidValueError, match="a linear condition is no rectangle"):
        plot_regions(parse_rules("x + y <= 3 => a"))
    with pytest.raises(InvalidValueError, match="ax must be matplotlib Axes or None, not str"):
        plot_regions(HALF_OPEN, ax="here")
    with pytest.raises(InvalidValueError, match="y was given without X"):
        plot_regions(plane[0], y=plane[2])
    with pytest.raises(DataError, match=r"y has shape \(3,\); one class for each of 200 rows"):
        plot_regions(plane[0], plane[1], plane[2][:3])


def test_a_polygon_on_the_wrong_side_is_clipped_away():
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert clip(triangle, np.array([1.0, 0.0]), -2.0).shape == (0, 2)
    np.testing.assert_array_equal(clip(triangle, np.array([1.0, 0.0]), 2.0), triangle)
