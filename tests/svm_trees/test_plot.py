"""Trees of support vector machines."""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgba
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVC
from clearmargin.datasets import load_ionosphere
from clearmargin.drawing.canvas import class_colours
from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import SVMTreeDisplay, plot_svm_tree
from clearmargin.svm_trees import Layer, Leaf, SVMTree, SVMTreeClassifier
from clearmargin.svm_trees.plot import CELL

pytestmark = pytest.mark.usefixtures("no_screen")


@pytest.fixture(scope="module")
def uneven():
    """A tree of two unequal, overlapping classes, with leaves of both kinds."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1.5, (168, 2)), rng.normal([-2.5, 0.5], 0.7, (16, 2))])
    y = np.repeat(["common", "rare"], [168, 16])
    return SVMTreeClassifier(random_state=0).fit(X, y)


def small_tree(classes=("a", "b", "c"), names=("x", "y", "z")):
    """Two layers; a leaf of one class, one with a machine, one of what was left."""
    first = Layer(
        [[0.0, 0.0, 0.0], [4.0, 1.0, 0.0], [8.0, 0.0, 2.0]],
        [(30, 0, 0), (5, 5, 0), (2, 1, 1)],
        [
            Leaf("pure", 0, [30, 0, 0]),
            Leaf("svm", 0, [5, 5, 0], [(0, 1)], [[1.0, 0.0, 0.0]], [4.0], 2),
            None,
        ],
    )
    second = Layer([[8.0, 0.0, 2.0]], [(2, 1, 1)], [Leaf("residual", 0, [2, 1, 1])])
    return SVMTree([first, second], [0.0] * 3, [8.0, 1.0, 2.0], names, classes)


def cells(display, *kinds):
    return [cell for cell in display.layout_.cells if cell.kind in kinds]


def leaves(display):
    return cells(display, "pure", "svm", "residual")


def words(display):
    return [text.get_text() for text in display.ax_.texts]


def patches(display, kind):
    return [patch for patch in display.ax_.patches if patch.get_gid() == kind]


def test_there_is_a_row_for_each_layer_and_a_cell_for_each_leaf(uneven):
    tree, display = uneven.tree_, plot_svm_tree(uneven)
    rows = cells(display, "layer")
    assert [cell.lines[0] for cell in rows] == [f"layer {t + 1}" for t in range(len(tree.layers))]
    assert [sum(cell.counts) for cell in rows] == [layer.size for layer in tree.layers]
    found = leaves(display)
    assert [cell.kind for cell in found] == [leaf.kind for leaf in tree.leaves]
    assert [cell.counts for cell in found] == [leaf.counts for leaf in tree.leaves]
    heights = [cell.y for cell in rows]
    assert heights == sorted(heights)
    for cell, number in zip(found, range(tree.n_leaves), strict=True):
        assert cell.lines[1].startswith(f"leaf {number}, {sum(cell.counts)} point")
        layer = np.searchsorted(np.cumsum([x.n_leaves for x in tree.layers]), number, side="right")
        row = np.searchsorted(heights, cell.y + 1e-9) - 1
        assert row == layer


def test_cells_do_not_overlap_and_are_inside(uneven):
    display = plot_svm_tree(uneven)
    for one, other in itertools.combinations(display.layout_.cells, 2):
        across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
        assert across <= 0 or abs(one.y - other.y) >= CELL
    for cell in display.layout_.cells:
        assert cell.x > 0
        assert cell.x + cell.width < display.layout_.width
        assert cell.y + CELL < display.layout_.height
    assert display.figure_.get_size_inches() == pytest.approx(
        [display.layout_.width, display.layout_.height]
    )


def test_bars_show_the_shares_of_the_classes():
    display = SVMTreeDisplay(tree=small_tree()).plot()
    last = leaves(display)[-1]
    colours = class_colours(["a", "b", "c"])
    bars = [bar for bar in patches(display, "bar") if last.x <= bar.get_x() < last.x + last.width]
    bars = [bar for bar in bars if last.y < bar.get_y() < last.y + CELL]
    assert [to_hex(bar.get_facecolor()).upper() for bar in bars] == list(colours.values())
    widths = np.array([bar.get_width() for bar in bars])
    np.testing.assert_allclose(widths / widths.sum(), [0.5, 0.25, 0.25])


def test_a_single_point_of_a_class_is_seen_in_a_bar():
    layer = Layer([[0.0]], [(5000, 1)], [Leaf("residual", 0, [5000, 1])])
    display = SVMTreeDisplay(tree=SVMTree([layer], [0.0], [1.0], ["x"], ["a", "b"])).plot()
    (cell,) = leaves(display)
    _, one = [bar for bar in patches(display, "bar") if bar.get_x() > cell.x]
    assert 0.02 < one.get_width() < 0.05
    assert one.get_bbox().x1 < cell.x + cell.width


def test_leaves_look_like_what_they_say():
    display = SVMTreeDisplay(tree=small_tree()).plot()
    a, b, _ = class_colours(["a", "b", "c"]).values()
    assert [cell.lines[0] for cell in leaves(display)] == ["a", "SVM: a | b", "a"]
    (pure,), (svm,), rest = (patches(display, kind) for kind in ("pure", "svm", "residual"))
    assert pure.get_linestyle() == svm.get_linestyle() == "solid"
    assert rest[0].get_linestyle() != "solid"
    stripes = [p for p in patches(display, "says") if svm.get_x() <= p.get_x() < svm.get_bbox().x1]
    stripes = [p for p in stripes if p.get_y() == svm.get_y()]
    assert [p.get_facecolor() for p in stripes] == [to_rgba(a, 0.25), to_rgba(b, 0.25)]


def test_the_key_explains_what_occurs_and_nothing_else(uneven):
    machine, left_over = "a machine decides between classes", "what could not be cut any further"
    said = words(SVMTreeDisplay(tree=small_tree()).plot())
    assert machine in said
    assert left_over in said
    said = words(plot_svm_tree(uneven))
    assert machine in said
    assert left_over not in said
    plain = SVMTreeClassifier(random_state=0).fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1])
    assert machine not in words(plot_svm_tree(plain))


def test_rows_say_in_which_features_their_centres_differ_most(uneven):
    said = words(SVMTreeDisplay(tree=small_tree()).plot())
    assert "centres differ most in x, y" in said
    assert not [word for word in words(plot_svm_tree(uneven)) if "differ" in word], "two features"


@pytest.mark.parametrize(("length", "order"), [(10, "breadth"), (40, "breadth"), (40, "depth")])
def test_texts_are_legible_with_names_of_any_length(length, order, check_legible):
    X, y = load_ionosphere(return_X_y=True)
    names = [f"{k:02d} {'a feature with a long long long name $x_1$'}"[:length] for k in range(34)]
    kinds = [f"{k} {'a class that has a rather long name, too'}"[:length] for k in "gb"]
    frame = pd.DataFrame(np.asarray(X)[:60], columns=names)
    labels = np.where(np.asarray(y)[:60] == np.asarray(y)[0], *kinds)
    model = SVMTreeClassifier(order=order, random_state=0).fit(frame, labels)
    display = plot_svm_tree(model)
    check_legible(display.figure_)
    assert {*kinds} <= {*words(display)}, "names are told in full"


def test_classes_that_look_alike_when_cut_are_numbered(check_legible):
    alike = [f"a class with a name of forty letters, {k}, that end the same" for k in "abc"]
    display = SVMTreeDisplay(tree=small_tree(alike)).plot()
    assert leaves(display)[0].lines[0] == "class 1"
    assert f"class 3: {alike[2]}" in words(display)
    check_legible(display.figure_)
    ends = [f"a class with a name of forty characters: {k}" for k in "abc"]
    other = SVMTreeDisplay(tree=small_tree(ends)).plot()
    assert leaves(other)[0].lines[0].endswith("a"), "what ends differently is told apart"
    named = SVMTreeDisplay(tree=small_tree(["class 1", "class 2", "class 3"])).plot()
    assert "class 1" in words(named)
    assert not [word for word in words(named) if "class 1:" in word]


def test_more_leaves_than_wanted_are_counted_and_the_largest_drawn(uneven, check_legible):
    tree = uneven.tree_
    display = plot_svm_tree(uneven, max_leaves=10)
    assert len(leaves(display)) == 10
    assert display.layout_.n_hidden == tree.n_leaves - 10
    drawn = {int(cell.lines[1].split()[1].rstrip(",")) for cell in leaves(display)}
    left = sum(leaf.size for k, leaf in enumerate(tree.leaves) if k not in drawn)
    assert f"{tree.n_leaves - 10} leaves with {left} points not drawn" in words(display)
    bounds = np.cumsum([layer.n_leaves for layer in tree.layers])
    cut = int(np.searchsorted(bounds, 10))
    own = range(bounds[cut - 1] if cut else 0, bounds[cut])
    sizes = {k: tree.leaves[k].size for k in own}
    hidden = [sizes[k] for k in own if k not in drawn]
    assert min(sizes[k] for k in own if k in drawn) >= max(hidden, default=0)
    check_legible(display.figure_)


def test_more_layers_than_wanted_are_left_out(uneven):
    display = plot_svm_tree(uneven, max_layers=2)
    assert len(cells(display, "layer")) == 2
    first = sum(layer.n_leaves for layer in uneven.tree_.layers[:2])
    assert display.layout_.n_hidden == uneven.n_leaves_ - first
    assert plot_svm_tree(uneven).layout_.n_hidden == 0


def test_one_leaf_that_is_not_drawn_is_one_leaf():
    display = SVMTreeDisplay(tree=small_tree()).plot(max_layers=1)
    assert "1 leaf with 4 points not drawn" in words(display)


def test_it_draws_into_axes_of_the_user(uneven, check_legible):
    figure, ax = plt.subplots(figsize=(5, 40))
    display = plot_svm_tree(uneven, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    box = ax.get_window_extent()
    assert display.layout_.width == pytest.approx(box.width / figure.dpi)
    check_legible(figure)


def test_axes_too_narrow_for_a_cell_hold_one_beside_the_other():
    _, ax = plt.subplots(figsize=(1, 5))
    display = SVMTreeDisplay(tree=small_tree()).plot(ax)
    assert len({cell.x for cell in leaves(display)}) == 1


def test_many_classes_and_a_dark_background(check_legible):
    X, y = load_iris(return_X_y=True)
    with plt.style.context("dark_background"):
        display = plot_svm_tree(SVMTreeClassifier(C=100.0, tol=0.1, scale=1).fit(X, y))
        check_legible(display.figure_)
        assert to_hex(display.ax_.texts[0].get_color()) == "#ffffff"
        (rim, *_) = patches(display, "layer")
        assert to_hex(rim.get_edgecolor()) == "#ffffff"
    assert len(patches(display, "key")) >= 3


def test_drawing_again_gives_the_same(uneven):
    display = plot_svm_tree(uneven)
    before = display.layout_.cells
    assert display.plot().layout_.cells == before


def test_what_cannot_be_drawn_is_named(uneven):
    with pytest.raises(InvalidValueError, match="fitted SVMTreeClassifier, not LPSVC"):
        plot_svm_tree(LPSVC())
    with pytest.raises(InvalidValueError, match="of a pipeline give the last step"):
        plot_svm_tree(make_pipeline(StandardScaler(), SVMTreeClassifier()))
    with pytest.raises(NotFittedError):
        plot_svm_tree(SVMTreeClassifier())
    with pytest.raises(InvalidValueError, match="tree must be an SVMTree, not SVMTreeClassifier"):
        SVMTreeDisplay(tree=uneven)
    with pytest.raises(InvalidValueError, match=r"max_leaves must be .* 0"):
        plot_svm_tree(uneven, max_leaves=0)
    with pytest.raises(InvalidValueError, match=r"max_layers must be .* 1.5"):
        plot_svm_tree(uneven, max_layers=1.5)
    with pytest.raises(InvalidValueError, match="ax must be matplotlib Axes"):
        plot_svm_tree(uneven, ax=3)
