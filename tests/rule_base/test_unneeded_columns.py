"""Rows that lack a value on which no rule can depend take part in the extraction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin import Domain, FeatureSpace, RuleExtractor
from clearmargin.exceptions import DataError, InvalidValueError


def table(missing):
    """Two columns that decide, and one that the model drops, with values missing in some rows or all."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(10.0, 3.0, (120, 3)).round(1), columns=["a", "b", "dropped"])
    y = np.where(X.a + X.b > 20.0, "yes", "no")
    rows = slice(None) if missing == "all" else rng.choice(120, 40, replace=False)
    X.loc[X.index[rows], "dropped"] = np.nan
    return X, y


def model():
    scaler = ColumnTransformer([("scale", StandardScaler(), ["a", "b"])], remainder="drop")
    return make_pipeline(scaler, LogisticRegression())


@pytest.mark.parametrize("missing", ["some", "all"])
def test_rules_are_those_of_a_table_that_lacks_nothing(missing):
    X, y = table(missing)
    found = RuleExtractor(model()).fit(X, y)
    whole = RuleExtractor(model()).fit(X.assign(dropped=np.arange(120.0)), y)
    assert [str(rule) for rule in found.rules_] == [str(rule) for rule in whole.rules_]
    assert found.coverage_ == whole.coverage_
    assert {rule.stats.rows for rule in found.rules_} == {120}
    assert np.array_equal(found.which(X), whole.which(X))
    # A case that lacks the value is explained, too.
    row = X.index[np.flatnonzero(X.dropped.isna())[0]]
    assert found.explain(X.loc[row]).text == whole.explain(X.loc[row].fillna(1.0)).text
    assert found.explain_coverage(X)[row].status == whole.explain_coverage(X)[row].status


def test_a_declared_range_of_such_a_column_holds_what_is_put_there():
    X, y = table("all")
    found = RuleExtractor(model(), bounds={"dropped": (5, 15)}).fit(X, y)
    assert {rule.stats.rows for rule in found.rules_} == {120}


def test_a_row_that_lacks_a_value_in_a_relation_stays_out():
    X, y = table("some")
    space = FeatureSpace(["a", "b", "dropped"], [-50] * 3, [50] * 3)
    domain = Domain(space, True, True, relations="dropped <= 40 + a")
    found = RuleExtractor(model(), bounds=domain).fit(X, y)
    assert {rule.stats.rows for rule in found.rules_} == {80}
    lacking = X.dropped.isna().to_numpy()
    assert (found.which(X)[lacking] == -1).all()
    assert {row.status for row in found.explain_coverage(X[lacking])} == {"relation"}


def test_a_missing_value_that_is_a_category_of_the_model_is_needed():
    rng = np.random.default_rng(4)
    a = rng.normal(size=150).round(2)
    colour = np.array(["red", "blue", None], dtype=object)[rng.integers(0, 3, 150)]
    X = pd.DataFrame({"a": a, "colour": colour})
    y = np.where(a + 3.0 * X.colour.isna() > 1.0, "yes", "no")
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    found = RuleExtractor(make_pipeline(encoder, LogisticRegression())).fit(X, y)
    assert {rule.stats.rows for rule in found.rules_} == {int(X.colour.notna().sum())}


def test_where_a_value_that_counts_is_missing_the_column_is_named():
    X, y = table("some")
    found = RuleExtractor(model()).fit(X, y)
    with pytest.raises(DataError, match=r"missing value \(NaN\) or infinity in column 'a'"):
        found.explain(X.iloc[0].fillna(1.0) * [np.nan, 1.0, 1.0])
    # A column with a weight of zero that is not dropped is the model's to refuse.
    with pytest.raises((DataError, InvalidValueError, ValueError), match="dropped"):
        RuleExtractor(LogisticRegression()).fit(X, y)
