"""A rule as a small decision tree: exact where it can be, honest where it cannot."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from clearmargin import LPSVC, AdviceSVC, parse_rules
from clearmargin.advice import RuleTree, TreeLeaf, TreeTest, rule_trees
from clearmargin.exceptions import InvalidValueError

# Some of the advice here clashes, or speaks of what the data do not have, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:the advice deserves a look")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 150).astype(float),
            "bmi": rng.normal(28, 5, 150).round(1),
            "dose": rng.uniform(0, 2, 150).round(3),
        }
    )
    return X, np.where(X["age"] / 20 + X["bmi"] / 10 > 5.3, "ill", "well")


def everywhere(X, rows=5000, seed=1):
    """Points all over the range of a table, and its rows."""
    rng = np.random.default_rng(seed)
    points = pd.DataFrame(
        rng.uniform(X.min(), X.max(), (rows, X.shape[1])), columns=list(X.columns)
    )
    return pd.concat([points, X], ignore_index=True)


@pytest.mark.parametrize(
    "text",
    [
        "age >= 31 => ill",
        "age >= 31 and dose >= 0.527 => ill",
        "25 <= bmi < 30 and age > 40 and dose <= 1.9 => ill",
        "18 <= age <= 79 and bmi >= 44 => ill",
        "age >= 200 => ill",
    ],
)
@pytest.mark.parametrize("max_depth", [1, 4])
def test_plain_bounds_are_reproduced_exactly(data, text, max_depth):
    X, y = data
    model = AdviceSVC(text).fit(X, y)
    tree = rule_trees(model, 0, X, max_depth=max_depth).before
    points = everywhere(X)
    rules = model.advice_
    expected = rules[0].region.contains(rules.space.read(points))
    np.testing.assert_array_equal(tree.covers(points), expected)
    on_bounds = everywhere(X).assign(age=31.0, dose=0.527, bmi=30.0)
    expected = rules[0].region.contains(rules.space.read(on_bounds))
    np.testing.assert_array_equal(tree.covers(on_bounds), expected)
    assert tree.fidelity == 1.0


def test_the_questions_of_an_interval_are_its_bounds(data):
    X, y = data
    model = AdviceSVC("25 <= bmi < 30 => ill").fit(X, y)
    silent = TreeLeaf(None)
    upper = TreeTest("bmi", "<", 30.0, TreeLeaf("ill"), silent)
    assert rule_trees(model, 0, X).before == RuleTree(
        TreeTest("bmi", ">=", 25.0, upper, silent), 1.0, 1.0, 1.0
    )


def test_a_turned_condition_is_approached_the_better_the_deeper_the_tree(data):
    X, y = data
    model = AdviceSVC("L: age + 2*bmi >= 110 and dose >= 0.5 => ill").fit(X, y)
    trees = [rule_trees(model, "L", X, max_depth=depth).before for depth in (1, 3, 6)]
    fidelities = [tree.fidelity for tree in trees]
    assert fidelities == sorted(fidelities)
    assert fidelities[0] > 0.7
    assert fidelities[2] > 0.95
    assert [tree.root.text for tree in trees] == ["dose >= 0.5"] * 3
    assert [tree.depth for tree in trees] == [2, 4, 7]


def test_fidelity_is_what_fresh_points_of_the_same_kind_find(data):
    X, y = data
    model = AdviceSVC("age + 2*bmi >= 110 => ill").fit(X, y)
    tree = rule_trees(model, 0, X, n_samples=20_000).before
    points = everywhere(X, 20_000)
    inside = (points["age"] + 2 * points["bmi"] >= 110).to_numpy()
    said = tree.covers(points)
    # The sample looks closer at the premise than this one does; both shares are of the same thing.
    assert said[inside].mean() == pytest.approx(tree.fidelity_inside, abs=0.05)
    assert (~said[~inside]).mean() == pytest.approx(tree.fidelity_outside, abs=0.05)


def test_thresholds_have_few_digits(data):
    X, y = data
    tree = rule_trees(AdviceSVC("age + 2*bmi >= 110 => ill").fit(X, y), 0, X).before
    nodes, thresholds = [tree.root], []
    while nodes:
        node = nodes.pop()
        if isinstance(node, TreeTest):
            thresholds.append(node.threshold)
            nodes += [node.yes, node.no]
    assert len(thresholds) > 2
    assert all(len(repr(t).replace(".", "")) <= 4 for t in thresholds), thresholds


def test_the_same_seed_gives_the_same_trees(data):
    X, y = data
    model = AdviceSVC("age + 2*bmi >= 110 => ill", refine="translate", nu=0.1).fit(X, y)
    assert rule_trees(model, 0, X) == rule_trees(model, 0, X)
    one, other = (rule_trees(model, 0, X, random_state=seed).before for seed in (1, 2))
    assert one != other
    assert abs(one.fidelity - other.fidelity) < 0.05


def test_before_and_after_are_the_rule_before_and_after(toy):
    X, y = toy
    text = "S1: x1 >= 0 and x2 >= 0 => plus\nS2: x1 <= 0 and x2 <= 0 => minus"
    model = AdviceSVC(text, refine="translate", nu=0.1).fit(X, y)
    trees = rule_trees(model, "S1", X)
    points = everywhere(X)
    for tree, rule in ((trees.before, model.advice_[0]), (trees.after, model.refined_[0])):
        expected = rule.region.contains(points.to_numpy())
        np.testing.assert_array_equal(tree.covers(points), expected)
    assert (trees.name, trees.label, trees.verdict) == ("S1", "plus", "refined")
    kept = rule_trees(model, 1, X)
    assert kept.verdict == "kept"
    assert kept.before == kept.after


def test_both_trees_can_be_printed(data):
    X, y = data
    model = AdviceSVC("age >= 31 => ill").fit(X, y)
    trees = rule_trees(model, X=X)
    half = (
        "age >= 31?\n  yes: ill\n  no: silent\n"
        "agrees with the rule on 100 % of the points in it and 100 % of those outside"
    )
    before, verdict = "age >= 31 => ill", trees.verdict
    assert str(trees) == f"before  {before}\n{half}\nafter   {before}  ({verdict})\n{half}"


def test_almost_all_is_not_called_all():
    leaf = TreeLeaf("ill")
    tree = RuleTree(leaf, 0.99999, 0.99999, 0.00001)
    assert tree.agreement == (
        "agrees with the rule on 99.9 % of the points in it and 0.1 % of those outside"
    )


def test_a_rule_that_no_point_satisfies_is_silent_everywhere(data):
    X, y = data
    text = "void: age + bmi >= 90 and age + bmi <= 80 => ill\nage >= 31 => ill"
    trees = rule_trees(AdviceSVC(text).fit(X, y), "void", X)
    assert trees.verdict == "empty"
    assert trees.before.root == TreeLeaf(None)
    assert math.isnan(trees.before.fidelity_inside)
    assert str(trees.before) == "silent\nnone of the points tried is in it"


def test_a_premise_in_a_far_corner_is_found(data):
    X, y = data
    wide = X.assign(**{f"f{k}": np.linspace(0, 1, len(X)) for k in range(4)})
    text = "f0 + f1 + f2 + f3 >= 3.7 => ill"
    tree = rule_trees(AdviceSVC(text).fit(wide, y), 0, wide).before
    assert tree.fidelity_inside > 0.7
    assert tree.depth > 1


def test_conditions_on_categories_are_asked_of_their_columns(data):
    X, y = data
    smoker = np.resize(["no", "ex", "yes"], len(X))
    table = pd.get_dummies(X[["age"]].assign(smoker=smoker), dtype=float)
    # A number that is called like a category is none.
    table["smoker_years"] = np.linspace(0, 40, len(X))
    model = AdviceSVC("smoker = yes and age >= 31 => ill").fit(table, y)
    tree = rule_trees(model, 0, table).before
    asked = table["smoker_yes"].eq(1) & table["age"].ge(31)
    np.testing.assert_array_equal(tree.covers(table), asked)
    assert "smoker_years" not in str(tree)


def test_rules_over_an_array_are_read_by_position(data):
    X, y = data
    rules = parse_rules("feature a\nfeature b\nfeature c\nb >= 30 => ill")
    model = AdviceSVC(rules).fit(X.to_numpy(), y)
    assert rule_trees(model, 0, X.to_numpy()).before.root.text == "b >= 30"


def test_values_cannot_be_changed(data):
    X, y = data
    trees = rule_trees(AdviceSVC("age >= 31 => ill").fit(X, y), 0, X)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trees.before.root.threshold = 3.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "S3"}, "unknown rule 'S3'; known are 'S1'"),
        ({"rule": 2}, "rule must be a name or a position from 0 to 0, not 2"),
        ({"rule": 1.5}, "rule must be a name or a position, not 1.5"),
        ({"max_depth": 0}, "max_depth must be a whole number from 1, not 0"),
        ({"n_samples": 2.5}, "n_samples must be a whole number from 30, not 2.5"),
        ({"X": None}, "rule_trees needs X, the rows the model was trained with"),
    ],
)
def test_bad_input_is_explained(data, arguments, message):
    X, y = data
    model = AdviceSVC("S1: age >= 31 => ill").fit(X, y)
    with pytest.raises(InvalidValueError, match=message):
        rule_trees(model, **{"X": X, **arguments})


def test_other_models_and_unfitted_ones_are_refused(data):
    X, y = data
    with pytest.raises(NotFittedError, match="not fitted"):
        rule_trees(AdviceSVC("age >= 31 => ill"), 0, X)
    with pytest.raises(InvalidValueError, match="a fitted AdviceSVC is needed, not LPSVC"):
        rule_trees(LPSVC().fit(X, y), 0, X)
    with pytest.raises(InvalidValueError, match="fitted without advice"):
        rule_trees(AdviceSVC().fit(X, y), 0, X)
