"""Every plot function: texts are legible whatever the names, what is drawn was computed, bad input is refused."""

import functools
import io
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Polygon, Rectangle
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.oracles.drawn_rules import card_of_cells

import clearmargin
from clearmargin import (
    AdviceSVC,
    Box,
    FeatureSpace,
    Rule,
    RuleExtractor,
    RuleSet,
    RuleStats,
    parse_rules,
    plot,
)
from clearmargin.datasets import load_pima
from clearmargin.exceptions import ClearmarginError, MissingDependencyError
from clearmargin.points import LinearTerm, Scorecard
from clearmargin.svm_trees import Layer, Leaf, SVMTree

pytestmark = [
    pytest.mark.usefixtures("no_screen"),
    pytest.mark.filterwarnings("ignore:the advice deserves"),
    pytest.mark.filterwarnings("ignore:the plane"),
]
STEMS = ("mean $x_1$ of glucose ", "worst_value_", "Resting blood pressure ", "serum.chol")


def named(length, count, start=0):
    """Names of a length, of several words or of one, that differ at their end."""
    return [f"{(STEMS[(start + k) % 4] * 5)[: length - 2]}{k:02d}" for k in range(count)]


@functools.cache
def table(length, count):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(100.0, 30.0, (120, count)).round(1), columns=named(length, count))
    return X, np.where(X.iloc[:, 0] + X.iloc[:, 1] > 200.0, *named(length, 2, start=2))


@functools.cache
def rules_of(length, count):
    """As many rules as features: bounds with open and closed ends, categories, gaps and counts."""
    X, y = table(length, count)
    rng, classes = np.random.default_rng(1), sorted(set(y))
    kinds = named(length, 12, start=1)
    space = FeatureSpace([*X, "kind"], categories={"kind": kinds}, units={X.columns[0]: "mg/$l$"})
    rules = []
    for k in range(count):
        lower, upper = np.sort(rng.uniform(X.min(), X.max(), (2, count)), axis=0)
        closed = rng.random((2, count + 1)) < 0.5
        some = {count: range(k + 1)} if k % 2 else {}
        box = Box([*lower, -np.inf], [*upper, np.inf], *closed, sets=some)
        stats = RuleStats(rows=100_000, covered=90_000 - k, correct=89_000 - k)
        rules.append(Rule(box, classes[k % 2], name="rule " * k or None, stats=stats))
    return RuleSet(rules, space, classes), X.assign(kind=kinds[0]), y


@functools.cache
def advised(length, count):
    X, y = table(length, count)
    high, low = named(length, 2, start=2)
    pair = [f"`{name}`" for name in X.columns[:2]]
    lines = [
        f"R{k}: {pair[0]} >= {100 + 3 * k} and {pair[1]} >= {110 - 2 * k} => `{high}`"
        if k % 2
        else f"R{k}: {pair[0]} <= {100 - 3 * k} and {pair[1]} <= {80 + 2 * k} => `{low}`"
        for k in range(1, count + 1)
    ]
    return AdviceSVC("\n".join(lines), refine="translate", nu=0.1).fit(X, y), X, y


@functools.cache
def contrasted(length, count):
    X, y = table(length, count)
    kinds = np.resize(named(length, 25, start=1), 120)
    X = X.assign(kind=kinds, gone=np.where(X.index % 3, np.nan, X.index % 4))
    return clearmargin.RankContrast(max_size=1, top=0.2, bottom=0.2).fit(X, y)


def card_of(length, count):
    """A card with proof, its first feature with categories."""
    kinds = [named(length, 3, start=1), *[None] * (count - 1)]
    ends = np.linspace(0.0, 9.5, count - 1), np.linspace(100.0, 912.25, count - 1)
    space = FeatureSpace(
        named(length, count), [-np.inf, *ends[0]], [np.inf, *ends[1]], categories=kinds
    )
    cells = [(0, [0, 1], 0, 0), (0, [2], 120, 121)]
    for j in range(1, count):
        low, high = space.lower[j], space.upper[j]
        cells += [(j, (low, 50.5, "left"), 0, 699), (j, (50.5, high), 700, 1500)]
    return card_of_cells(cells, (900, 1200), space, named(length, 2, start=2))


@functools.cache
def compared(length, count):
    X, y = table(length, count)
    trees = [clearmargin.SurrogateRules(DecisionTreeClassifier(max_depth=k)) for k in (1, 4)]
    rules = [*trees, RuleExtractor(fallback="estimator"), RuleExtractor(min_coverage=500)]
    extractors = dict(zip(named(length, 4), rules, strict=True))
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return clearmargin.compare_extractors(model, X, y, cv=3, extractors=extractors)


@functools.cache
def grown(length, count):
    return clearmargin.SVMTreeClassifier(random_state=0).fit(*table(length, count))


def first_two(X):
    return {"features": tuple(X.columns[:2])}


def weighted_of(length, count):
    rules = rules_of(length, count)[0][:4]
    return Scorecard(rules, np.linspace(-2.0, 1.5, len(rules)), 0.3)


DRAW = {
    "plot_rules": lambda *size: plot.plot_rules(rules_of(*size)[0]),
    "plot_regions": lambda *size: plot.plot_regions(*(r := rules_of(*size)), **first_two(r[1])),
    "plot_coverage": lambda *size: plot.plot_coverage(*rules_of(*size)),
    "plot_advice": lambda *size: plot.plot_advice(advised(*size)[0]),
    "plot_leverage": lambda *size: plot.plot_leverage(contrasted(*size)),
    "plot_rank_histograms": lambda *size: plot.plot_rank_histograms(contrasted(*size)),
    "plot_rank_roc": lambda *size: plot.plot_rank_roc(contrasted(*size)),
    "plot_svm_tree": lambda *size: plot.plot_svm_tree(grown(*size)),
    "plot_points": lambda *size: plot.plot_points(weighted_of(*size)),
    "plot_card": lambda *size: plot.plot_card(card_of(*size)),
    "plot_extractors": lambda *size: plot.plot_extractors(compared(*size)),
}


@pytest.mark.parametrize(("length", "count"), [(10, 3), (40, 12)])
@pytest.mark.parametrize("name", DRAW)
def test_texts_are_inside_do_not_overlap_and_are_no_formulas(
    name, length, count, check_legible, texts_of
):
    assert set(DRAW) == {each for each in plot.__all__ if each.startswith("plot_")}
    with plt.style.context("default" if length == 10 else "dark_background"):
        drawn = DRAW[name](length, count)
        drawn = drawn[0] if isinstance(drawn, list) else drawn
        figure = getattr(drawn, "figure_", None) or drawn.figure
        check_legible(figure)
        assert not any(t.get_parse_math() for t, _ in texts_of(figure) if "x_1" in t.get_text())
        if length == 10:
            target = io.BytesIO()
            figure.savefig(target, format="svg")
            assert b"<image" not in target.getvalue()


@pytest.fixture(scope="module")
def plane():
    """An extractor over two features, with its data."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame((rng.normal(size=(200, 2)) * [8, 3] + [50, 25]).round(1), columns=["a", "b"])
    score = X["a"] / 8 + X["b"] / 3
    y = np.where(score > score.median(), "ill", "well")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return RuleExtractor(model).fit(X, y), X, y


def segments(ax, gid):
    return [part for c in ax.collections if c.get_gid() == gid for part in c.get_segments()]


def words(drawn):
    return [text.get_text() for text in getattr(drawn, "ax_", drawn).texts]


def test_plot_rules_draws_bars_from_bound_to_bound(plane):
    space = FeatureSpace(["n", "x"], [0, 0], [10, 10], integer=[True, False])
    odd = "2 <= x < 4 => a\nx = 3 => b\nx > 5.1239 and 2.5 < n < 7 => a\ntrue => b"
    ax = plot.plot_rules(parse_rules(odd, space=space))
    start, end = max(tuple(part[:, 0]) for part in segments(ax, "scale"))
    ends = {
        kind: [x for c in ax.collections if c.get_gid() == kind for x in c.get_offsets()[:, 0]]
        for kind in ("in", "out", "right")
    }
    on_scale = [start + x / 10 * (end - start) for x in (2, 3, 3, 4, 5.1239)]
    assert set(np.round(on_scale[:3], 9)) <= set(np.round(ends["in"], 9))
    np.testing.assert_allclose(ends["out"], on_scale[3:])
    assert ends["right"][0] > end
    # Whole numbers from one to the other; bounds are rounded inwards.
    assert {"[2, 4)", "= 3", "3 to 6", "≥ 5.13"} <= set(words(ax))
    sizes = [rule.stats.covered for rule in plane[0].rules_]
    few = [int(word) for word in words(plot.plot_rules(plane[0], max_rules=2)) if word.isdigit()]
    assert few[-2:] == sorted(np.argsort(-np.array(sizes), kind="stable")[:2] + 1)
    linear = words(plot.plot_rules(parse_rules("0.5*age + bmi <= 40 and age >= 18 => a")))
    assert "0.5*age + bmi <= 40\nage >= 18" in linear


def test_plot_regions_draws_boxes_points_and_the_model(plane):
    extractor, X, y = plane
    ax = plot.plot_regions(extractor, X, y)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    drawn = [patch.get_bbox() for patch in ax.patches if isinstance(patch, Rectangle)]
    for box, rule in zip(drawn, extractor.rules_, strict=True):
        low, high = rule.region.lower, rule.region.upper
        expected = [max(low[0], left), min(high[0], right), max(low[1], bottom), min(high[1], top)]
        np.testing.assert_allclose([*box.intervalx, *box.intervaly], expected)
    (line,) = segments(ax, "boundary")
    np.testing.assert_allclose(extractor.hyperplane_.decision(line), 0.0, atol=1e-9)
    areas = []
    sides = [p.get_xy()[:-1] for p in ax.patches if isinstance(p, Polygon)]
    for label, polygon in zip(extractor.classes_, sides, strict=True):
        x, height = polygon.T
        areas.append(abs(np.dot(x, np.roll(height, 1)) - np.dot(height, np.roll(x, 1))) / 2)
        middle = pd.DataFrame([polygon.mean(axis=0)], columns=["a", "b"])
        assert extractor.estimator_.predict(middle)[0] == label
    assert sum(areas) == pytest.approx((right - left) * (top - bottom))
    clouds = [c for c in ax.collections if c.get_gid() is None]
    assert sum(len(c.get_offsets()) for c in clouds) == 200


def test_plot_coverage_draws_what_rules_cover_one_after_the_other(plane):
    extractor, X, y = plane
    counted, trained = (plot.plot_coverage(extractor, *given).lines[::2] for given in ((X, y), ()))
    for label, now, then in zip(extractor.classes_, counted, trained, strict=False):
        assert then.get_ydata()[-1] == pytest.approx(extractor.coverage_[label])
        np.testing.assert_allclose(now.get_ydata(), then.get_ydata())
    rules = parse_rules("x < 2 => a\nx >= 5 => b\nx < 3 => a")
    points, classes = [[1.0], [2.0], [4.0], [5.0], [1.5], [1.0]], [*"aaabb", "c"]
    ax = plot.plot_coverage(rules, points, classes)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0, 1 / 3, 2 / 3])
    np.testing.assert_allclose(ax.lines[2].get_ydata(), [0, 1 / 2])
    assert ax.lines[0].get_drawstyle() == "steps-post"


def test_plot_advice_draws_bounds_before_and_after():
    X = pd.DataFrame(np.random.default_rng(0).uniform(-4, 6, (200, 2)), columns=["a", "b"])
    y = np.where(X["a"] + X["b"] > 0, "plus", "minus")
    text = "S1: a >= -2 and b >= 0 => plus\nS2: a <= 0 => minus"
    model = AdviceSVC(text, refine="translate", nu=0.1).fit(X, y)
    ax = plot.plot_advice(model)
    drawn = [line.get_xdata() for line in ax.lines]
    for k, j in enumerate((0, 1, 0)):
        low, high = X.iloc[:, j].min(), X.iloc[:, j].max()
        for line, each in zip(drawn[3 * k + 1 : 3 * k + 3], ("before", "after"), strict=True):
            box = getattr(model.outcome_[k // 2], each).region
            ends = np.clip([box.lower[j], box.upper[j]], low, high)
            np.testing.assert_allclose(low + (high - low) * np.array(line), ends)
    assert any(status in ax.get_yticklabels()[0].get_text() for status in ("refined", "unchanged"))


def test_plot_points_and_plot_card_draw_each_line():
    text = (
        "feature bmi: in [15, 60]\nfeature job: in {clerk, smith}\nbmi >= 30 and job = smith => ill"
    )
    rules = parse_rules(f"{text}\nbmi < 20 => well\nbmi is missing => ill", classes=["well", "ill"])
    weighted = Scorecard(rules, [0.5, -1.5, 0.25], -0.25, [LinearTerm(0, 0.02, 25.0)])
    ax = plot.plot_points(weighted)
    np.testing.assert_allclose([b.get_width() for b in ax.patches], [-1.5, 0.9, 0.5, 0.25])
    assert len(plot.plot_points(weighted, max_lines=2).patches) == 2
    space = FeatureSpace(
        ["bmi", "job"], [20, -np.inf], [80, np.inf], categories={"job": ["a", "b"]}
    )
    cells = [(0, (20, 50, "left"), 0, 4), (0, (50, 80), 5, 9), (1, [0], 0, 0), (1, [1], 6, 7)]
    ax = plot.plot_card(card_of_cells(cells, (5, 11), space))
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert [bars[0], bars[1], bars[3]] == [(0, 4), (5, 9), (6, 7)]
    assert {"20 to < 50", "0 to 4", "5 to 9", "6 to 7", "a"} <= set(words(ax))
    plain = plot.plot_card(Scorecard(parse_rules("bmi >= 30 => b", classes=["a", "b"]), [-2], 1))
    np.testing.assert_allclose([bar.get_width() for bar in plain.patches], [2.0, 0.0], atol=0.01)
    assert {"< 30", ">= 30"} <= set(words(plain))


@pytest.fixture(scope="module")
def pima():
    return clearmargin.RankContrast().fit(*load_pima(return_X_y=True))


def test_plot_leverage_draws_the_shown_rows_of_the_table(pima):
    ax, frame = plot.plot_leverage(pima), pima.properties_
    expected = frame[frame["shown"]].sort_values("leverage", ascending=False, kind="stable")
    assert 0 < len(expected) < len(frame)
    bars = [bar for group in ax.containers for bar in group]
    np.testing.assert_array_equal([bar.get_width() for bar in bars], expected["leverage"])
    for lines in ax.collections:
        ends = np.array(lines.get_segments())[:, :, 0]
        np.testing.assert_array_equal(ends, expected[["low", "high"]])
    counts = [label.get_text() for label in ax.child_axes[0].get_yticklabels()]
    first = expected.iloc[0]
    assert counts[0].startswith(
        f"{first['top_count']}/{len(pima.top_index_)} vs {first['bottom_count']}/"
    )
    assert [text.endswith("confirmed") for text in counts] == expected["confirmed"].tolist()
    few = [bar.get_width() for bar in plot.plot_leverage(pima, most=4).patches]
    assert sorted(few) == sorted(frame[frame["shown"]]["leverage"][:4])


def test_plot_rank_histograms_draws_the_percentages_of_the_table(pima):
    axes, frame = plot.plot_rank_histograms(pima), pima.histograms_
    attributes = list(dict.fromkeys(frame["attribute"]))[:6]
    for ax, attribute in zip(axes, attributes, strict=True):
        rows = frame[frame["attribute"] == attribute]
        heights = [[bar.get_width() for bar in group] for group in ax.containers]
        np.testing.assert_array_equal(heights, rows[["top_percent", "bottom_percent"]].T)
    labels = [text.get_text() for text in axes[0].get_yticklabels()]
    assert labels == ["< 96", "[96, 109)", "[109, 125)", "[125, 147)", ">= 147"]


def test_plot_rank_roc_marks_the_rows_of_both_ends(pima):
    """Where the thick parts stop is counted by the labels of the rows."""
    X = pd.DataFrame({"a": np.repeat([0, 1, 2], 20)})
    tied = clearmargin.RankContrast(DecisionTreeClassifier(max_depth=2), top=20, bottom=20)
    y = np.repeat([0, 0, 1, 0, 1, 1], 10)
    for contrast, labels in ((pima, load_pima(return_X_y=True)[1]), (tied.fit(X, y), y)):
        lines, good = plot.plot_rank_roc(contrast).lines, np.asarray(labels) == contrast.classes_[1]
        np.testing.assert_array_equal(lines[0].get_xydata().T, contrast.roc_[:2])
        top, bottom = (
            np.array([(~good)[rows].sum() / (~good).sum(), good[rows].sum() / good.sum()])
            for rows in (contrast.top_index_, contrast.bottom_index_)
        )
        np.testing.assert_allclose(lines[1].get_xydata()[[0, -1]], [[0, 0], top], atol=1e-12)
        np.testing.assert_allclose(lines[2].get_xydata()[[0, -1]], [1 - bottom, [1, 1]], atol=1e-12)


def test_plot_svm_tree_has_a_cell_for_each_leaf_and_counts_what_is_left_out():
    tree, ax = grown(10, 3).tree_, plot.plot_svm_tree(grown(10, 3))
    cells = [p for p in ax.patches if p.get_gid() in ("pure", "svm", "residual")]
    assert [cell.get_gid() for cell in cells] == [leaf.kind for leaf in tree.leaves]
    said = [text.get_text() for text in ax.texts]
    for k, leaf in enumerate(tree.leaves):
        assert any(text.startswith(f"leaf {k}, {leaf.size} ") for text in said)
    few = plot.plot_svm_tree(tree, max_leaves=1, ax=plt.subplots()[1])
    hidden = [text.get_text() for text in few.texts if "not drawn" in text.get_text()]
    assert tree.n_leaves == 1 or hidden[0].startswith(f"{tree.n_leaves - 1} ")
    layer = Layer([[0.0]], [(5000, 1)], [Leaf("residual", 0, [5000, 1])])
    ax = plot.plot_svm_tree(SVMTree([layer], [0.0], [1.0], ["x"], ["common", "rare"]))
    # A single point of a class is seen in a bar.
    assert min(patch.get_width() for patch in ax.patches) > 0.02


RULES = parse_rules("x < 2 => a\ny >= 5 => b\nx < 3 => a")
ONE = [[1.0, 2.0]]
REFUSED = {
    "x": lambda: plot.plot_regions(parse_rules("x + y <= 3 => a"), features=("x", "z")),
    "categories": lambda: plot.plot_regions(parse_rules("x > 3 and k = b => a")),
    "max_rules": lambda: plot.plot_rules(RULES, max_rules=0), "digits": lambda: plot.plot_rules(RULES, digits=2.5),
    "str": lambda: plot.plot_rules("x < 3 => a"), "empty": lambda: plot.plot_rules(RULES[:0]),
    "features": lambda: plot.plot_regions(RULES, features=("x", "x")),
    "linear": lambda: plot.plot_regions(parse_rules("x + y <= 3 => a")),
    "missing": lambda: plot.plot_regions(parse_rules("x is missing and y > 3 => a")),
    "ax": lambda: plot.plot_regions(RULES, ax="here"), "list": lambda: plot.plot_regions(list(RULES)),
    "LogisticRegression": lambda: plot.plot_coverage(LogisticRegression().fit([[0], [1]], [0, 1])),
    "X and y": lambda: plot.plot_coverage(RULES), "y": lambda: plot.plot_coverage(RULES, ONE, ["a", "b"]),
    "no rule": lambda: plot.plot_advice(AdviceSVC().fit(*table(10, 3))),
    "LPSVC": lambda: plot.plot_advice(clearmargin.LPSVC().fit(*table(10, 3))),
    "RuleSet": lambda: plot.plot_points(RULES),
    "max_lines": lambda: plot.plot_points(Scorecard(RULES, [1, 2, 3], 0), max_lines=0),
    "no points": lambda: plot.plot_points(Scorecard(RULES, [0, 0, 0], 1.0)),
    "int": lambda: plot.plot_card(3), "ScoreRules": lambda: plot.plot_card([]),
    "dict": lambda: plot.plot_extractors({}),
    "labels": lambda: plot.plot_rank_roc(clearmargin.RankContrast(top=10,
        bottom=10).fit_ranking([[k % 7] for k in range(40)], range(40) ) ),
    "most": lambda: plot.plot_leverage(contrasted(10, 3), most=0),
    "max_leaves": lambda: plot.plot_svm_tree(grown(10, 3), max_leaves=0),
    "LPSVC tree": lambda: plot.plot_svm_tree(clearmargin.LPSVC()),
    "not fitted": lambda: plot.plot_rules(RuleExtractor()),
}  # fmt: skip


def test_what_cannot_be_drawn_is_refused_by_what_is_wrong():
    for mentioned, draw in REFUSED.items():
        with pytest.raises((ClearmarginError, NotFittedError), match=mentioned.split()[0]):
            draw()


def test_displays_draw_into_given_axes_and_again(plane):
    _, ax = plt.subplots()
    for draw, *given in (
        (plot.plot_rules, RULES),
        (plot.plot_coverage, RULES, ONE, ["a"]),
        (plot.plot_regions, RULES),
        (plot.plot_card, card_of(10, 3)),
        (plot.plot_points, Scorecard(RULES, [1, 2, 3], 0)),
    ):
        assert draw(*given, ax=ax) is ax
        assert draw(*given) is not ax


def test_without_matplotlib_the_error_names_it(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="plot"):
        plot.plot_rules(RULES)
