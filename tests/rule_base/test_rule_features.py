"""Rules as columns: what a column says, of which tables, and what a pipeline sees of it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin import RuleExtractor, RuleFeatures, RuleSet, parse_rules
from clearmargin.datasets import load_pima
from clearmargin.exceptions import DataError, InvalidValueError, RuleSyntaxError
from clearmargin.rule_base.rule_features import match_rules
from clearmargin.tables.table import Table

TEXT = """
old: age >= 50 and smoker in {yes, ex} => ill [weight 2]
age < 30 => well
grade = 3 => ill
age is missing => ill
"""
COLUMNS = {
    "age": [60.0, 20.0, None, 55.0, 40.0],
    "smoker": ["yes", "no", "ex", None, "pipe"],
    "grade": ["3", "1", "3", "2", None],
}
COVERED = [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]


# "true" names no column, so that it suits the tables of all checks.
@parametrize_with_checks(
    [RuleFeatures("true => yes"), RuleFeatures("true => yes\ntrue => no", vote=True)]
)
def test_it_is_a_transformer_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_a_column_is_one_where_all_conditions_of_its_rule_hold(make):
    table = make(COLUMNS)
    columns = RuleFeatures(TEXT).fit(table)
    assert columns.transform(table).tolist() == COVERED
    assert columns.get_feature_names_out().tolist() == [
        "old",
        "age < 30",
        "grade = `3`",
        "age is missing",
    ]


def test_rules_come_as_text_as_a_file_or_as_a_rule_set(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    rules = RuleFeatures(TEXT).fit(frame).rules_
    given = [rules, rules.save(tmp_path / "some.rules"), rules.save(tmp_path / "some.json")]
    for source in [*given, str(given[1])]:
        assert RuleFeatures(source).fit_transform(frame).tolist() == COVERED


def test_columns_of_an_array_are_x0_x1_or_stand_in_the_order_of_a_rule_set():
    X = np.array([[1.0, 5.0, np.nan], [7.0, 2.0, 3.0]])
    by_name = RuleFeatures("x2 <= 3 => a\nx0 > 5 and x2 > 1 => b").fit_transform(X)
    assert by_name.tolist() == [[0, 0], [1, 1]]
    by_position = parse_rules("p > 5 => a\nq > 2 and r is missing => b")
    assert RuleFeatures(by_position).fit_transform(X).tolist() == [[0, 1], [1, 0]]
    few = parse_rules("x2 <= 3 => a")
    assert RuleFeatures(few).fit_transform(X).tolist() == [[0], [1]]


def test_a_frame_fitted_without_names_is_read_by_position():
    X = np.array([[1.0, 5.0], [7.0, 2.0]])
    columns = RuleFeatures("x1 > 3 => a").fit(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert columns.transform(pd.DataFrame(X, columns=["a", "b"])).tolist() == [[1], [0]]


def test_a_column_that_no_rule_names_may_hold_anything():
    frame = pd.DataFrame({"age": [60, 20], "born": pd.to_datetime(["1966-01-01", "2006-01-01"])})
    assert RuleFeatures("age >= 50 => ill").fit_transform(frame).tolist() == [[1], [0]]


def test_a_category_that_the_table_lacks_covers_no_row_of_it():
    frame = pd.DataFrame({"smoker": pd.Categorical(["no", "no"]), "grade": ["1", "2"]})
    found = RuleFeatures("smoker = yes => ill\ngrade = 7 => ill").fit_transform(frame)
    assert found.tolist() == [[0, 0], [0, 0]]


def test_the_vote_adds_weights_for_one_class_and_subtracts_those_for_the_other():
    frame = pd.DataFrame(COLUMNS)
    voted = RuleFeatures(TEXT, vote=True).fit(frame)
    assert voted.transform(frame)[:, -1].tolist() == [-3, 1, -2, 0, 0]
    assert voted.get_feature_names_out()[-1] == "vote"
    turned = parse_rules("age >= 40 => 1\nage < 30 => 0 [weight 2]")
    assert RuleFeatures(turned, vote="only").fit_transform(frame).tolist()[:2] == [[1], [-2]]
    only = clone(voted).set_params(vote="only").fit(frame)
    assert only.transform(frame).tolist() == [[-3], [1], [-2], [0], [0]]
    one = RuleFeatures("age < 30 => well [weight 2]", vote="only").fit_transform(frame)
    assert one[:, 0].tolist() == [0, 2, 0, 0, 0]
    three = RuleFeatures("age < 30 => a\nage > 50 => b\ngrade = 3 => c [weight 2]", vote="only")
    assert three.fit_transform(frame).tolist()[:2] == [[0, 1, 2], [1, 0, 0]]
    assert three.get_feature_names_out().tolist() == ["vote for a", "vote for b", "vote for c"]


def test_no_two_columns_have_the_same_name():
    rules = "vote: x0 > 1 => a\nx0 > 1 => b\nx0 > 1 => a\n`x0 > 1 (2)`: x0 > 3 => a"
    columns = RuleFeatures(rules, vote=True).set_output(transform="pandas")
    frame = columns.fit_transform(pd.DataFrame({"x0": [0, 2]}))
    names = ["vote", "x0 > 1", "x0 > 1 (3)", "x0 > 1 (2)", "vote (2)"]
    assert frame.columns.tolist() == names


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3) | st.none(), min_size=3, max_size=3), min_size=1))
def test_columns_are_what_a_rule_set_covers(rows):
    rules = parse_rules(
        "a >= 1 and b < 2 => p\na + b <= c => q\nc is missing => q\n1 <= b <= 2 => p"
    )
    frame = pd.DataFrame(rows, columns=["c", "b", "a"], dtype=float)
    found = RuleFeatures(rules).fit(frame).transform(frame)
    assert (found == rules.covers(frame)).all()
    again = pickle.loads(pickle.dumps(RuleFeatures(rules.to_text()).fit(frame)))
    assert (again.transform(frame) == found).all()


def test_extracted_rules_are_features_of_another_model():
    X, y = load_pima(return_X_y=True)
    X, y = X[:200], y[:200]
    rules = RuleExtractor(max_rules=3).fit(X, y).rules_
    columns = RuleFeatures(rules).fit(X)
    assert (columns.transform(X) == rules.covers(X)).all()
    union = FeatureUnion([("table", StandardScaler()), ("rules", RuleFeatures(rules))])
    model = make_pipeline(union, LogisticRegression()).fit(X, y)
    assert model[:-1].get_feature_names_out()[-1] == f"rules__{columns.get_feature_names_out()[-1]}"
    assert model.n_features_in_ == X.shape[1]


def test_it_stands_in_a_column_transformer_beside_other_columns():
    frame = pd.DataFrame(COLUMNS).drop(columns="grade")
    beside = make_column_transformer(
        (RuleFeatures("smoker = yes => ill"), ["smoker"]),
        (FunctionTransformer(feature_names_out="one-to-one"), ["age"]),
    ).set_output(transform="pandas")
    assert beside.fit_transform(frame).columns.tolist() == [
        "rulefeatures__smoker = yes",
        "functiontransformer__age",
    ]


def test_rules_match_a_table_that_is_read_already():
    table = Table.read({"age": [60, 20], "smoker": ["yes", "no"]})
    matched = match_rules("smoker = yes and age > 30 => ill", table, classes=["ill", "well"])
    assert matched.positions == (1, 0)
    assert matched.rules.classes == ("ill", "well")
    assert matched.covers(table).tolist() == [[True], [False]]


@pytest.mark.parametrize(
    ("rules", "error", "match"),
    [
        (7, InvalidValueError, "rules must be a RuleSet, a text or the path of a file, not int"),
        ("none.rules", InvalidValueError, "there is no file 'none.rules'; a text needs a rule"),
        (
            "agee > 3 => ill",
            RuleSyntaxError,
            "column 1: unknown feature 'agee'; did you mean 'age'",
        ),
        ("age = old => ill", DataError, r"categories for 'age' \(old\), and the table has numbers"),
        ("grade >= 3 => ill", RuleSyntaxError, "grade"),
        (parse_rules("smoker = no and size > 3 => a"), DataError, "speak of 'size', and the table"),
        (RuleSet([], parse_rules("age > 3 => a").space), InvalidValueError, "no rules, and so no"),
    ],
)
def test_rules_that_do_not_suit_the_table_are_refused(rules, error, match):
    with pytest.raises(error, match=match):
        RuleFeatures(rules).fit(pd.DataFrame(COLUMNS))


def test_other_columns_and_other_words_are_refused():
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(InvalidValueError, match="vote must be one of 'only', not 'alone'"):
        RuleFeatures(TEXT, vote="alone").fit(frame)
    columns = RuleFeatures(TEXT).fit(frame)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        columns.transform(frame[["age", "smoker"]])
    with pytest.raises(ValueError, match="input_features is not equal"):
        columns.get_feature_names_out(["a", "b", "c"])
