"""Advice before and after training over two features, and a rule as two trees."""

from __future__ import annotations

import dataclasses

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from sklearn.exceptions import NotFittedError

from clearmargin import LPSVC, AdviceSVC, parse_rules
from clearmargin.advice import AdviceOutcome
from clearmargin.datasets import load_pima
from clearmargin.drawing.canvas import class_colours
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.plot import AdviceDisplay, RuleTreesDisplay, plot_advice, plot_rule_trees

# Some of the advice here clashes, or speaks of what the data do not have, on purpose.
pytestmark = [
    pytest.mark.usefixtures("no_screen"),
    pytest.mark.filterwarnings("ignore:the advice deserves a look"),
    pytest.mark.filterwarnings("ignore:the plane is constant"),
]

TOY = "S1: x1 >= 0 and x2 >= 0 => plus\nS2: x1 <= 0 and x2 <= 0 => minus"
METHODS = [None, "translate", "slp", "sqp", "trust"]
R6 = "R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive"


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-4, 6, (200, 2)), columns=["x1", "x2"])
    return X, np.where(X["x1"] + X["x2"] > 2, "plus", "minus")


@pytest.fixture(scope="module")
def translated(toy):
    return AdviceSVC(TOY, refine="translate", nu=0.1).fit(*toy)


@pytest.fixture(scope="module")
def patients():
    X, y = load_pima(return_X_y=True)
    X, y = X[:100], y[:100]
    text = f"{R6}\nR4: glucose >= 140 => tested_positive\nR1: glucose <= 126 => tested_negative"
    return AdviceSVC(text, refine="translate", nu=0.1).fit(X, y), X, y


def corners(polygon):
    """Corners of a polygon as a set."""
    return {tuple(corner) for corner in polygon.round(9).tolist()}


def patches(display, gid):
    return [patch for patch in display.ax_.patches if patch.get_gid() == gid]


def lines(display, gid):
    found = [c for c in display.ax_.collections if c.get_gid() == gid]
    return np.array([segment for c in found for segment in c.get_segments()])


def key_of(display):
    return [t.get_text() for t in display.ax_.get_legend().get_texts() if t.get_text()]


def test_polygons_are_the_premises_before_and_after_cut_at_the_frame(toy, translated):
    display = plot_advice(translated, *toy)
    left, right, bottom, top = (round(x, 9) for x in display.extent)
    first, second = display.regions
    moved = translated.refined_[0].region.lower[1]
    assert 2 < moved < 3.5
    assert corners(first.given) == {(0, 0), (right, 0), (right, top), (0, top)}
    after = {(0, moved), (right, moved), (right, top), (0, top)}
    assert corners(first.refined) == after
    assert (first.name, first.label, first.verdict) == ("S1", "plus", "refined")
    assert corners(second.given) == {(left, bottom), (0, bottom), (0, 0), (left, 0)}
    assert corners(second.refined) == corners(second.given)
    assert second.verdict == "kept"


def test_a_slanted_premise_is_cut_where_it_leaves_the_frame(toy):
    X, y = toy
    display = plot_advice(AdviceSVC("x1 + 2*x2 >= 4 => plus").fit(X, y), X, y)
    left, right, _, top = display.extent
    crossing = [(left, (4 - left) / 2), (right, (4 - right) / 2)]
    expected = np.array([*crossing, (left, top), (right, top)])
    assert corners(display.regions[0].given) == corners(expected)


def test_the_frame_holds_the_data_and_all_bounds(toy):
    X, y = toy
    display = plot_advice(AdviceSVC("x1 >= 9 => plus").fit(X, y), X, y)
    left, right, bottom, top = display.extent
    assert left < X["x1"].min()
    assert right > 9
    assert bottom < X["x2"].min() < X["x2"].max() < top
    assert display.ax_.get_xlim() == (left, right)
    assert display.ax_.get_ylim() == (bottom, top)


def test_what_is_drawn_are_the_polygons(toy, translated):
    display = plot_advice(translated, *toy)
    for gid, field in (("given", "given"), ("refined", "refined")):
        found = patches(display, gid)
        for patch, region in zip(found, display.regions, strict=True):
            np.testing.assert_array_equal(patch.get_xy()[:-1], getattr(region, field))


def test_hatches_are_upright_for_the_positive_class_and_slanted_for_the_other(toy, translated):
    display = plot_advice(translated, *toy)
    colours = class_colours(["minus", "plus"])
    plus, minus = patches(display, "refined")
    assert set(plus.get_hatch()) == {"|"}
    assert set(minus.get_hatch()) == {"/"}
    assert plus.get_edgecolor() == to_rgba(colours["plus"])
    assert all(not patch.get_hatch() for patch in patches(display, "given"))
    assert patches(display, "given")[0].get_facecolor()[:3] == to_rgba(colours["plus"])[:3]


def test_no_outline_is_drawn_where_a_premise_has_no_bound(toy, translated):
    display = plot_advice(translated, *toy)
    frame = np.array(display.extent)
    for collection in display.ax_.collections:
        if collection.get_zorder() == 1.7:
            for (x0, y0), (x1, y1) in collection.get_segments():
                assert not (x0 == x1 and x0 in frame[:2])
                assert not (y0 == y1 and y0 in frame[2:])


def test_the_plane_is_solid_and_the_margins_dashed_where_scores_are_one(toy, translated):
    display = plot_advice(translated, *toy)
    (plane,) = lines(display, "plane")
    margins = lines(display, "margin")
    decide = translated.hyperplane_.decision
    np.testing.assert_allclose(decide(plane), 0.0, atol=1e-9)
    assert sorted(decide(margins.reshape(4, 2)).round(9).tolist()) == [-1, -1, 1, 1]
    dashes = {c.get_gid(): c.get_linestyle()[0][1] for c in display.ax_.collections if c.get_gid()}
    assert dashes["plane"] is None
    assert dashes["margin"] is not None


@pytest.mark.parametrize("method", METHODS)
def test_the_heading_says_in_words_what_is_shown_and_the_verdicts(toy, method, check_legible):
    X, y = toy
    model = AdviceSVC(TOY, refine=method, nu=0.1).fit(X, y)
    display = plot_advice(model, X, y)
    words = {
        None: "Advice as it was given\n",
        "translate": "Advice before and after: bounds shifted\n",
    }
    title = display.ax_.get_title(loc="left")
    assert title.startswith(
        words.get(method, "Advice before and after: bounds shifted and turned\n")
    )
    assert "SVM" not in title
    first, second = model.outcome_
    assert f"S1 {first.verdict} ({first.standing}), S2 {second.verdict}" in title
    check_legible(display.figure_)


def test_nothing_is_hatched_where_nothing_could_change(toy):
    X, y = toy
    display = plot_advice(AdviceSVC(TOY).fit(X, y), X, y)
    assert [region.refined for region in display.regions] == [None, None]
    assert not patches(display, "refined")
    assert not any(text.startswith("after") for text in key_of(display))
    extended = plot_advice(AdviceSVC(TOY, extend=True).fit(X, y), X, y)
    assert len(patches(extended, "refined")) == 2
    assert extended.heading.startswith("Advice before and after: extended as far as the model")


def test_the_key_explains_everything_that_is_seen(toy, translated):
    assert key_of(plot_advice(translated, *toy)) == [
        "data: minus",
        "as given: minus",
        "after: minus",
        "plane (score 0)",
        "data: plus",
        "as given: plus",
        "after: plus",
        "margins (±1)",
    ]
    assert not any(text.startswith("data") for text in key_of(plot_advice(translated, toy[0])))


@pytest.mark.parametrize("verdict", ["rejected", "empty"])
def test_rules_that_count_no_more_are_noted_in_the_key(toy, verdict):
    X, y = toy
    model = AdviceSVC(TOY, refine="translate", nu=0.1).fit(X, y)
    first, second = model.outcome_
    model.outcome_ = AdviceOutcome((dataclasses.replace(first, verdict=verdict), second))
    display = plot_advice(model, X, y)
    assert display.regions[0].refined is None
    assert f"S1 {verdict}: counts no more" in key_of(display)
    assert len(patches(display, "refined")) == 1


def test_points_are_drawn_by_class(toy, translated):
    X, y = toy
    display = plot_advice(translated, X, y)
    drawn = [c.get_offsets() for c in display.ax_.collections if len(c.get_offsets()) > 1]
    np.testing.assert_array_equal(drawn[0], X[y == "minus"])
    np.testing.assert_array_equal(drawn[1], X[y == "plus"])


def test_without_data_the_frame_is_made_up_around_the_bounds(translated):
    display = plot_advice(translated)
    left, right, bottom, top = display.extent
    assert left < 0 < right
    assert bottom < 0
    assert top > translated.refined_[0].region.lower[1]
    assert display.points is None


def test_other_features_stand_at_their_medians(patients, check_legible):
    model, X, y = patients
    display = plot_advice(model, X, y, features=("diabetes_pedigree", "age"), rules=["R6"])
    medians = X.median()
    assert display.others
    for name, value in display.others.items():
        assert value == medians[name]
    assert not {"diabetes_pedigree", "age"} & set(display.others)
    assert "Slice at the medians: " in display.heading
    assert f"glucose {medians['glucose']:g}" in display.heading
    (plane,) = lines(display, "plane")
    rows = pd.DataFrame([medians] * 2)[list(X.columns)].assign(
        diabetes_pedigree=plane[:, 0], age=plane[:, 1]
    )
    np.testing.assert_allclose(model.decision_function(rows), 0.0, atol=1e-9)
    left, bottom = display.regions[0].given.min(axis=0)
    assert (left, bottom) == (0.5, 31.0)
    check_legible(display.figure_)


def test_rules_that_miss_the_slice_are_noted(patients):
    model, X, y = patients
    display = plot_advice(model, X, y, features=("diabetes_pedigree", "age"))
    assert X["glucose"].median() < 126
    by_name = {region.name: region for region in display.regions}
    assert not len(by_name["R4"].given)
    assert "R4: not in view" in key_of(display)
    # A rule on features that stand at values inside of it is everywhere.
    left, right, bottom, top = display.extent
    assert corners(by_name["R1"].given) == corners(
        np.array([(left, bottom), (right, bottom), (right, top), (left, top)])
    )


def test_a_model_that_looks_at_neither_feature_has_no_line(patients):
    _, X, y = patients
    model = AdviceSVC("glucose >= 140 => tested_positive", lam=0.003).fit(X, y)
    names = ("skin_thickness", "pregnancies")
    columns = [list(X.columns).index(name) for name in names if name in X.columns]
    assert len(columns) == 2
    assert not model.coef_[0, columns].any()
    display = plot_advice(model, X, y, features=names)
    assert not len(lines(display, "plane"))
    assert "plane (score 0)" not in key_of(display)


def test_rules_over_an_array_keep_their_own_names(toy):
    X, y = toy
    rules = parse_rules("feature a: unit `mg`\nfeature b\na >= 0 and b >= 0 => plus")
    display = plot_advice(AdviceSVC(rules).fit(X.to_numpy(), y), X.to_numpy(), y)
    assert display.features == ("a", "b")
    assert display.ax_.get_xlabel() == "a (mg)"


def test_it_draws_into_given_axes_and_again(toy, translated):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 6), layout="constrained")
    display = plot_advice(translated, *toy, ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.plot(axes[1]).ax_ is axes[1]
    assert display.figure_ is figure
    assert isinstance(AdviceDisplay.from_estimator(translated).ax_, Axes)


def test_bad_input_is_explained(toy, translated, patients):
    X, y = toy
    model, P, q = patients
    with pytest.raises(InvalidValueError, match="the model has 8 features; name the two to draw"):
        plot_advice(model, P, q)
    with pytest.raises(InvalidValueError, match="give X, at the medians of which"):
        plot_advice(model, features=("age", "bmi"))
    with pytest.raises(DataError, match="unknown feature 'agge'; did you mean 'age'"):
        plot_advice(model, P, q, features=("agge", "bmi"))
    with pytest.raises(InvalidValueError, match="features must be two different names"):
        plot_advice(model, P, q, features=("age", "age"))
    with pytest.raises(InvalidValueError, match="unknown rule 'R9'"):
        plot_advice(translated, X, y, rules=["R9"])
    with pytest.raises(InvalidValueError, match="rules must be a list of names or positions"):
        plot_advice(translated, X, y, rules="S1")
    with pytest.raises(InvalidValueError, match="y was given without X"):
        plot_advice(translated, y=y)
    with pytest.raises(DataError, match="one class for each of 200 rows"):
        plot_advice(translated, X, y[:3])
    with pytest.raises(InvalidValueError, match="ax must be matplotlib Axes or None, not str"):
        plot_advice(translated, X, y, ax="here")


def test_unfitted_and_other_models_are_refused(toy):
    X, y = toy
    with pytest.raises(NotFittedError, match="not fitted"):
        plot_advice(AdviceSVC(TOY), X, y)
    with pytest.raises(InvalidValueError, match="a fitted AdviceSVC is needed, not LPSVC"):
        plot_advice(LPSVC().fit(X, y), X, y)


def test_a_category_is_no_axis(toy):
    X, y = toy
    table = X[["x1"]].assign(colour_red=np.resize([0.0, 1.0], 200))
    table["colour_blue"] = 1 - table["colour_red"]
    model = AdviceSVC("colour = red and x1 >= 1 => plus").fit(table, y)
    with pytest.raises(InvalidValueError, match="'colour_red' stands for a category"):
        plot_advice(model, table, y, features=("x1", "colour_red"))


def overlap(one, other):
    return (
        abs(one.y - other.y) < 0.01
        and abs(one.x - other.x) < (one.width + other.width) / 2
        and one is not other
    )


def test_boxes_of_trees_say_the_tree_and_never_overlap(patients, check_legible):
    _, X, y = patients
    text = f"{R6}\nL: glucose + bmi + age >= 200 and diabetes_pedigree >= 0.5 => tested_positive"
    model = AdviceSVC(text).fit(X, y)
    display = plot_rule_trees(model, X, rule="L", max_depth=4)
    for layout in display.layouts_:
        boxes = list(layout.root.walk())
        assert not any(overlap(a, b) for a in boxes for b in boxes)
        assert all(b.x - b.width / 2 >= 0 and b.x + b.width / 2 <= layout.width for b in boxes)
        for box in boxes:
            if box.children:
                yes, no = box.children
                assert yes.x < box.x < no.x
    check_legible(display.figure_)
    drawn = {patch.get_gid() for patch in display.ax_.patches}
    assert drawn == {"question", "class", "silent"}
    said = [text.get_text() for text in display.ax_.texts]
    assert "diabetes_pedigree >= 0.5" in said
    assert "tested_positive" in said
    assert any("agrees with the rule on" in text for text in said)


def test_what_became_of_the_rule_stands_above_its_tree(toy, translated):
    X, y = toy
    texts = {
        rule: [t.get_text() for t in plot_rule_trees(translated, X, rule=rule).ax_.texts]
        for rule in ("S1", "S2")
    }
    assert any(text.startswith("S1: x1 >= 0 and x2 >= 2.") for text in texts["S1"])
    assert "unchanged (kept)" in texts["S2"]
    model = AdviceSVC(TOY, refine="translate", nu=0.1).fit(X, y)
    first, second = model.outcome_
    model.outcome_ = AdviceOutcome((dataclasses.replace(first, verdict="rejected"), second))
    shown = " ".join(t.get_text() for t in plot_rule_trees(model, X).ax_.texts)
    assert "rejected; the last form that had points was" in shown
    model.outcome_ = AdviceOutcome((dataclasses.replace(first, verdict="empty"), second))
    shown = " ".join(t.get_text() for t in plot_rule_trees(model, X).ax_.texts)
    assert "set aside: no case can satisfy it" in shown


def test_long_names_are_cut_before_their_bound(toy, check_legible):
    X, y = toy
    name = "a_very_long_name_for_a_feature_that_nobody_would_want_to_read_twice"
    table = X.rename(columns={"x1": name})
    display = plot_rule_trees(AdviceSVC(f"{name} >= 2 => plus").fit(table, y), table)
    cut = [t.get_text() for t in display.ax_.texts if "…" in t.get_text()]
    assert cut
    assert all(c.startswith("a_very_") and c.endswith("_twice >= 2") for c in cut), cut
    check_legible(display.figure_)


def test_trees_are_drawn_again_and_other_values_refused(toy, translated):
    X, _ = toy
    display = RuleTreesDisplay.from_estimator(translated, X)
    assert display.plot(mpl.pyplot.figure(figsize=(9, 4)).add_subplot()).ax_ is display.ax_
    with pytest.raises(InvalidValueError, match="trees must be RuleTrees, not str"):
        RuleTreesDisplay(trees="x", classes=("minus", "plus"))
    with pytest.raises(InvalidValueError, match="unknown rule 'S7'"):
        plot_rule_trees(translated, X, rule="S7")
