"""From tables to properties: masks against the rules that the properties are, and columns of all kinds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError
from clearmargin.language import parse_rules
from clearmargin.rankings import make_properties
from clearmargin.rules import RuleSet

from .discretise_cases import numbers


def texts(table):
    return [each.text for each in table.properties]


def by_rules(table, X):
    """Each property by its own rule."""
    rules = [table.rule([k], 1) for k in range(len(table))]
    return RuleSet(rules, table.space, classes=[1]).covers(X).T


@st.composite
def tables(draw):
    m = draw(st.integers(1, 40))
    column = lambda values: draw(st.lists(values, min_size=m, max_size=m))
    return pd.DataFrame(
        {
            "a": column(numbers | st.just(math.nan)),
            "b": column(numbers),
            "whole": column(st.integers(-30, 30)),
            "flag": column(st.booleans()),
            "kind": pd.Categorical(
                column(st.sampled_from(["u", "v w", None])), ["v w", "u", "never"]
            ),
            "word": pd.Series(column(st.sampled_from(["x", "y", "3", None])), dtype=object),
        }
    )


options = st.fixed_dictionaries(
    {
        "bins": st.sampled_from(["quantile", "width", {"a": [-1.5, 2], "whole": [0, 7, 100]}]),
        "n_bins": st.integers(2, 7),
        "max_values": st.integers(0, 12),
    }
)


@given(tables(), options)
def test_the_properties_of_each_attribute_share_out_the_rows(X, kwargs):
    table = make_properties(X, **kwargs)
    for j in range(len(table.space)):
        masks = table.masks[table.attribute == j]
        if len(masks):
            assert len(masks) >= 2
            np.testing.assert_array_equal(masks.sum(axis=0), 1)
            assert masks.any(axis=1).all()
    quiet = {*table.constant, *dict(table.skipped)}
    heard = {table.space.names[j] for j in table.attribute}
    assert quiet | heard == set(X.columns)
    assert not quiet & heard


@given(tables(), options)
def test_each_mask_is_what_the_rule_of_the_property_covers(X, kwargs):
    table = make_properties(X, **kwargs)
    np.testing.assert_array_equal(by_rules(table, X).reshape(table.masks.shape), table.masks)


@given(tables(), options)
def test_the_text_of_a_property_reads_back_as_its_rule(X, kwargs):
    table = make_properties(X, **kwargs)
    for k, each in enumerate(table.properties):
        if each.box is not None:
            (rule,) = parse_rules(f"{each.text} => 1", space=table.space)
            assert rule == table.rule([k], 1)


@given(tables(), st.data())
def test_supervised_bins_share_out_the_rows_too(X, data):
    y = data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X)))
    if len(set(y)) < 2:
        return
    try:
        table = make_properties(X, bins="supervised", y=y, max_values=2)
    except DataError as error:
        assert "is the label itself" in str(error)  # noqa: PT017
        return
    for j in np.unique(table.attribute):
        np.testing.assert_array_equal(table.masks[table.attribute == j].sum(axis=0), 1)
    np.testing.assert_array_equal(by_rules(table, X), table.masks)


def test_on_a_complete_table_rules_and_masks_agree_row_by_row():
    X = np.random.default_rng(0).normal(size=(500, 4)).round(2)
    for bins in ("quantile", "width"):
        table = make_properties(X, bins=bins)
        rules = RuleSet([table.rule([k], 1) for k in range(len(table))], table.space)
        np.testing.assert_array_equal(rules.covers(X).T, table.masks)
        assert len(table) == 20


# Supervised bins


def test_supervised_bins_find_the_age_at_which_the_risk_changes():
    age = np.arange(20, 80, dtype=float)
    y = np.where(age < 35, "low", np.where(age < 60, "high", "low"))
    table = make_properties(np.c_[age, age % 2 + age % 3 + age % 13], bins="supervised", y=y)
    assert texts(table)[:3] == ["x0 < 35", "35 <= x0 < 60", "x0 >= 60"]
    assert table.skipped == (("x1", "no cut of its values tells the classes of y apart"),)


def test_where_no_cut_pays_only_missing_or_known_can_be_told():
    x = np.arange(40.0) % 20
    x[::5] = np.nan
    y = np.random.default_rng(1).integers(0, 2, 40)
    table = make_properties(x[:, None], bins="supervised", y=y)
    assert texts(table) == ["x0 is not missing", "x0 is missing"]
    assert [(each.box.known, each.box.missing) for each in table.properties] == [
        ((0,), ()),
        ((), (0,)),
    ]
    np.testing.assert_array_equal(table.masks, [~np.isnan(x), np.isnan(x)])
    assert table.twin().tolist() == [1, 0]


# Reading


def test_cuts_are_round_numbers_and_whole_for_whole_values():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(20, 80, 300), "dose": rng.gamma(2, 3, 300)})
    table = make_properties(X, n_bins=3)
    for low, high in pairwise(texts(table)[:3]):
        assert float(low.split()[-1]).is_integer(), (low, high)
    cut = float(table.properties[3].text.split()[-1])
    below = X["dose"][X["dose"] < cut].max()
    exact = X["dose"].sort_values().iloc[[99, 100]].tolist()
    assert below == exact[0]
    assert len(repr(cut)) <= 6


def test_few_values_flags_and_categories_give_equalities():
    X = pd.DataFrame(
        {
            "toba": [0.85, 1.25, 0.85],
            "flag": [True, False, True],
            "sex": pd.Categorical(["male", "female", None], ["male", "female"]),
            "job": ["sits", "walks", "sits"],
        }
    )
    assert texts(make_properties(X)) == [
        *("toba = 0.85", "toba = 1.25", "flag = 0", "flag = 1"),
        *("sex = male", "sex = female", "sex is missing", "job = sits", "job = walks"),
    ]


def test_given_edges_are_taken_as_they_are_and_bins_without_rows_left_out():
    table = make_properties([[1.0], [2.0], [9.0]], bins={"x0": [-math.inf, 1.37, 4, 5, math.inf]})
    assert texts(table) == ["x0 < 1.37", "1.37 <= x0 < 4", "x0 >= 5"]


def test_equal_quantiles_are_merged():
    table = make_properties(np.r_[np.zeros(90), np.arange(1, 31)][:, None])
    assert texts(table) == ["x0 < 1", "1 <= x0 < 7", "x0 >= 7"]
    assert table.masks.sum(axis=1).tolist() == [90, 6, 24]


def test_attributes_with_one_value_are_reported_and_missing_ones_are_a_property():
    X = pd.DataFrame(
        {"same": [1, 1, 1], "none": [None] * 3, "gap": [2.0, None, 2.0], "k": list("aaa")}
    )
    table = make_properties(X)
    assert table.constant == ("same", "none", "k")
    assert texts(table) == ["gap = 2", "gap is missing"]


def test_values_in_one_given_bin_are_noted():
    table = make_properties([[1.0], [2.0]], bins={"x0": [7]})
    assert table.skipped == (("x0", "all its values are in one bin; give it other edges"),)


@pytest.mark.parametrize("name", ["id", "PatientID", "case_nr", "serial no", "Index"])
def test_whole_numbers_that_all_differ_and_are_called_id_are_skipped(name):
    X = pd.DataFrame({name: range(20), "age": [30, 40] * 10})
    table = make_properties(X)
    assert table.space.names == ("age",)
    ((skipped, reason),) = table.skipped
    assert skipped == name
    assert "whole numbers that all differ" in reason
    assert len(make_properties(X, features=[name])) == 5
    assert len(make_properties(X, bins={name: [7]})) == 4


def test_texts_that_all_differ_are_skipped():
    X = pd.DataFrame({"serial": [f"15B{k}" for k in range(10)], "age": [1, 2] * 5})
    table = make_properties(X)
    assert table.skipped[0][0] == "serial"
    assert "texts that all differ; name it in features" in table.skipped[0][1]
    assert make_properties(X[["serial"]]).masks.shape == (0, 10)
    array = make_properties(X.to_numpy(dtype=object))
    assert array.skipped[0][0] == "x0"
    assert array.attribute.tolist() == [1, 1]


def test_numbers_that_all_differ_are_no_identifiers_without_the_name():
    table = make_properties(pd.DataFrame({"valid": range(20), "acid": range(20)}))
    assert table.skipped == ()


def test_columns_are_chosen_and_left_out_by_name():
    X = pd.DataFrame(
        {"day": pd.to_datetime(["2020-01-01"] * 3), "a": [1, 2, 3], "b": [1, 1, 2], "c": [0, 1, 1]}
    )
    table = make_properties(X, exclude=["day", "c"])
    assert table.space.names == ("a", "b")
    assert make_properties(X, features=["c", "a"]).space.names == ("a", "c")
    array = make_properties(X[["a", "b", "c"]].to_numpy(), features=["x2"])
    assert array.space.names == ("x0", "x1", "x2")
    assert array.attribute.tolist() == [2, 2]


def test_frames_of_all_makes_give_the_same():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    data = {"t": [5, 6, 7], "a": [1.5, None, 2.5], "k": ["u", "v", None]}
    expected = make_properties(pd.DataFrame(data), exclude=["t"])
    for X in (pl.DataFrame(data), pa.table(data)):
        assert make_properties(X, exclude=["t"]) == expected
