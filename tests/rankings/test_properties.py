"""The values: what a property says as text and as a rule is what its mask says."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from clearmargin.datasets import make_components
from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings import Property, PropertyTable, make_properties
from clearmargin.rules import Box, FeatureSpace, RuleSet

EDGES = {"length": [500, 1000, 2000, 2500], "age": [3, 10, 25]}


@pytest.fixture(scope="module")
def components():
    X, _ = make_components(return_X_y=True)
    return make_properties(X, bins=EDGES), X


def index(table, text):
    return [each.text for each in table.properties].index(text)


def test_the_components_of_the_paper_have_these_properties(components):
    table, _ = components
    shown = {
        each.text: "".join(".x"[int(has)] for has in mask)
        for each, mask in zip(table.properties, table.masks, strict=True)
    }
    assert shown == {
        "age < 3": "x..x..x...",
        "3 <= age < 10": ".x.....x..",
        "10 <= age < 25": "..x.x...x.",
        "age >= 25": ".....x...x",
        "500 <= length < 1000": "xx.xxx....",
        "1000 <= length < 2000": "..x.......",
        "2000 <= length < 2500": "......xxx.",
        "length >= 2500": ".........x",
        "manufacturer = A": "...x.xxxx.",
        "manufacturer = B": "xx..x....x",
        "manufacturer = C": "..x.......",
    }
    assert table.attribute.tolist() == [0] * 4 + [1] * 4 + [2] * 3
    assert table.space.names == ("age", "length", "manufacturer")


# Table 2 of the paper: the conjunction, how often it holds in top and in bottom.
TABLE_2 = [
    (["2000 <= length < 2500"], 0, 3),
    (["500 <= length < 1000"], 4, 1),
    (["manufacturer = A"], 1, 4),
    (["age >= 25"], 0, 2),
    (["manufacturer = A", "2000 <= length < 2500"], 0, 3),
    (["manufacturer = B", "500 <= length < 1000"], 3, 0),
    (["age < 3", "500 <= length < 1000"], 2, 0),
]


@pytest.mark.parametrize(("texts", "top", "bottom"), TABLE_2)
def test_the_masks_count_what_table_2_counts(components, texts, top, bottom):
    table, _ = components
    has = table.masks[[index(table, text) for text in texts]].all(axis=0)
    assert (has[:5].sum(), has[5:].sum()) == (top, bottom)


@pytest.mark.parametrize(("texts", "top", "bottom"), TABLE_2)
def test_the_rule_of_a_conjunction_covers_the_rows_that_have_all_its_properties(
    components, texts, top, bottom
):
    table, X = components
    items = [index(table, text) for text in texts]
    rule = table.rule(items, "top")
    assert rule.label == "top"
    assert rule.origin == "extracted"
    covered = RuleSet([rule], table.space).covers(X)[:, 0]
    np.testing.assert_array_equal(covered, table.masks[items].all(axis=0))
    assert table.text(items) == " and ".join(texts)


def test_no_property_at_all_is_true_of_every_row(components):
    table, X = components
    assert table.text([]) == "true"
    assert RuleSet([table.rule([], 1)], table.space).covers(X).all()


def test_a_conjunction_with_a_missing_value_is_a_rule_like_others():
    X = [[1.0, 0], [np.nan, 0], [2.0, 1]]
    table = make_properties(X)
    missing = index(table, "x0 is missing")
    rules = RuleSet(
        [table.rule([missing], "top"), table.rule([index(table, "x1 = 0"), missing], "top")],
        table.space,
    )
    assert rules.covers(X).tolist() == [[False, False], [True, True], [False, False]]
    assert "x0 is missing and x1 = 0 => top" in rules.to_text()
    assert table.text([index(table, "x1 = 0"), missing]) == "x1 = 0 and x0 is missing"


def test_two_values_of_one_attribute_make_no_rule(components):
    table, _ = components
    items = [index(table, "age < 3"), index(table, "age >= 25")]
    with pytest.raises(InvalidValueError, match=r"no row can have all .*: age < 3 and age >= 25;"):
        table.rule(items, "top")
    kinds = [index(table, "manufacturer = A"), index(table, "manufacturer = B")]
    with pytest.raises(InvalidValueError, match="exclude each other"):
        table.rule(kinds, "top")


@pytest.mark.parametrize("item", [-1, 11])
def test_a_property_that_is_not_there_is_an_error(components, item):
    table, _ = components
    with pytest.raises(InvalidValueError, match=f"no property {item}; the table has 11"):
        table.text([item])
    with pytest.raises(InvalidValueError, match="no property"):
        table.rule([item], "top")


def test_twins_are_the_two_values_of_a_binary_attribute():
    X = [[0, 1.0, 1], [1, np.nan, 2], [1, 1.0, 3], [0, 1.0, 3]]
    table = make_properties(X)
    assert [each.text for each in table.properties][:4] == [
        "x0 = 0",
        "x0 = 1",
        "x1 = 1",
        "x1 is missing",
    ]
    assert table.twin().tolist() == [1, 0, 3, 2, -1, -1, -1]
    for k, twin in enumerate(table.twin()):
        if twin >= 0:
            np.testing.assert_array_equal(table.masks[k], ~table.masks[twin])


def test_complements_of_different_attributes_are_no_twins():
    table = make_properties([[0, 1, 5], [1, 0, 6], [1, 0, 7]], features=["x0", "x1"])
    assert table.twin().tolist() == [1, 0, 3, 2]


def test_a_table_without_properties_has_no_twins():
    table = make_properties([[1, 2], [1, 2]])
    assert table.constant == ("x0", "x1")
    assert table.masks.shape == (0, 2)
    assert table.twin().shape == (0,)


def test_names_are_quoted_as_rules_need_it():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"worst area": [1.0, None, 2.0], "kind of": ["new one", "b", "b"]})
    table = make_properties(X)
    assert [each.text for each in table.properties] == [
        "`worst area` = 1",
        "`worst area` = 2",
        "`worst area` is missing",
        "`kind of` = b",
        "`kind of` = `new one`",
    ]


def test_a_table_is_a_value(components):
    table, X = components
    for other in (
        pickle.loads(pickle.dumps(table)),
        copy.deepcopy(table),
        make_properties(X, bins=EDGES),
    ):
        assert other == table
        assert hash(other) == hash(table)
        assert not other.masks.flags.writeable
        assert not other.attribute.flags.writeable
    assert table != make_properties(X)
    assert len(table) == 11
    assert repr(table) == "<PropertyTable of 11 properties of 3 attributes, 10 rows>"


def test_masks_are_not_copied_and_those_of_the_caller_stay_writeable():
    masks = np.array([[True, False]])
    table = PropertyTable(FeatureSpace(["a"]), (Property(0, "a in", BOX),), masks, np.array([0]))
    assert np.shares_memory(table.masks, masks)
    assert masks.flags.writeable


BOX = Box([0.0], [1.0])


@pytest.mark.parametrize(
    ("properties", "masks", "attribute", "match"),
    [
        ((Property(0, "a", BOX),), [[1, 0]], [0], r"masks must be True or False of shape \(1, m\)"),
        ((Property(0, "a", BOX),), [[True], [False]], [0], "one row a property"),
        ((Property(0, "a", BOX),), [True], [0], "one row a property"),
        ((Property(0, "a", BOX),), [[True]], [1], "the column of each property"),
        ((Property(1, "a", None),), [[True]], [1], r"property 0 \(a\) is not over the 1 features"),
        ((Property(0, "a", Box.unbounded(2)),), [[True]], [0], "is not over the 1 features"),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(properties, masks, attribute, match):
    with pytest.raises(InvalidValueError, match=match):
        PropertyTable(FeatureSpace(["a"]), properties, np.array(masks), np.array(attribute))
