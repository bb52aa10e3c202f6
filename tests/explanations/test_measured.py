"""Measured explanations are counted on rows that had no part in the search, and say what they are worth."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from clearmargin import FeatureSpace, explain, explain_many
from clearmargin.exceptions import DataError
from clearmargin.explanations.condition_search import RequestedPrecision
from clearmargin.explanations.measured import MeasuredRows, row_keys
from clearmargin.rule_base.explanation import lowest_share
from clearmargin.tables.table import Table


class Remembers:
    """A model that gives every row of a table a class by chance, always the same one."""

    def __init__(self, share=0.5):
        self.share = share

    def predict(self, X):
        points = np.asarray(X, dtype=float)
        space = FeatureSpace([f"x{j}" for j in range(points.shape[1])])
        return np.where(row_keys(space, points) < np.uint64(self.share * 2**64), "a", "b")


def step_table(m=600):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, m),
            "pay": rng.normal(3000.0, 800.0, m),
            "home": rng.choice(["own", "rent", "none"], m),
        }
    )
    return frame, np.where((frame.age >= 50) & (frame.home == "own"), "yes", "no")


class Steps:
    """A model that is two conditions."""

    def predict(self, X):
        return np.where((X["age"] >= 50) & (X["home"] == "own"), "yes", "no")


def test_two_conditions_that_are_the_model_are_found():
    X, y = step_table()
    case = X[y == "yes"].iloc[0]
    why = explain(Steps(), case, X)
    assert (why.guarantee, why.kind, why.label) == ("measured", "measured", "yes")
    assert [why.space.names[j] for j in why.rule.region.bounded] == ["age", "home"]
    assert why.precision == 1.0
    assert why.rule.stats.covered >= 20
    assert "home is own" in why.text
    assert "rows not used to find it (at least" in why.text


def test_what_is_counted_had_no_part_in_the_search():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = DecisionTreeClassifier(random_state=0).fit(X, X[:, 0] > 0)
    rows = MeasuredRows.of(model, Table.read(X))
    kept = {tuple(row) for row in rows.points}
    bins_of_kept = {tuple(row) for row in rows.search.bins_of(rows.points)}
    assert 60 <= len(kept) <= 75
    # The rows of the search come first, sorted by their keys; none of them was kept.
    searched = {tuple(row) for row in X} - kept
    assert len(searched) + len(kept) == 300
    assert len(rows.search.codes) == 6 * len(searched)
    assert bins_of_kept


def test_noise_is_not_sold_as_a_rule():
    X = np.random.default_rng(1).normal(size=(400, 5))
    model = Remembers()
    many = explain_many(model, X[:12], X)
    covered = sum(each.rule.stats.covered for each in many)
    agreed = sum(each.rule.stats.agreed for each in many)
    # Whatever is found, it is true of about half of the rows, and that is what is said.
    assert covered > 0
    assert agreed / covered < 0.75
    assert all(
        "not reached" in each.text or each.precision < 0.9 or each.rule.stats.covered < 20
        for each in many
    )


def test_the_bound_holds_as_often_as_it_says():
    rng = np.random.default_rng(2)
    share, rows = 0.9, 60
    hits = rng.binomial(rows, share, 2000)
    assert np.mean([lowest_share(int(h), rows) <= share for h in hits]) >= 0.94


@pytest.mark.parametrize(("hits", "rows"), [(214, 217), (20, 20), (0, 7), (13, 40)])
def test_the_bound_is_the_exact_binomial_one(hits, rows):
    from scipy.stats import binomtest

    exact = binomtest(hits, rows).proportion_ci(0.9, method="exact").low
    assert lowest_share(hits, rows) == pytest.approx(exact, abs=1e-9)


def test_neither_the_order_of_rows_nor_of_columns_in_the_case_matters():
    X, _ = step_table(400)
    model = Steps()
    case = X.iloc[3]
    turned = X.iloc[np.random.default_rng(0).permutation(len(X))].reset_index(drop=True)
    first, second = explain(model, case, X), explain(model, case[::-1], turned)
    assert first.rule.region == second.rule.region
    assert first.text == second.text


def test_one_case_gets_the_same_explanation_alone_as_among_others():
    X, _ = step_table(400)
    many = explain_many(Steps(), X.iloc[:6], X)
    assert [each.text for each in many] == [explain(Steps(), X.iloc[k], X).text for k in range(6)]


def test_missing_values_are_conditions():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=800), "b": rng.normal(size=800)})
    y = X.a.gt(-1).to_numpy()
    X.loc[rng.random(800) < 0.3, "a"] = np.nan
    y = np.where(X.a.isna(), "unknown", np.where(y, "high", "low"))
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, y)
    case = X[X.a.isna()].iloc[0]
    why = explain(model, case, X)
    assert why.rule.region.missing == (0,)
    assert "a is missing" in why.text
    assert why.precision == 1.0


def test_few_rows_are_said_to_be_few():
    X, y = step_table(60)
    why = explain(Steps(), X[y == "yes"].iloc[0], X)
    assert "too few to tell" in why.text
    assert "at least" not in why.text.split("then yes.")[1]


def test_a_rare_class_and_a_class_that_no_row_has():
    X, _ = step_table(1000)
    rare = X[(X.age >= 80) & (X.home == "own")].index
    assert 0 < len(rare) < 60
    why = explain(Steps(), X.loc[rare[0]], X)
    assert why.label == "yes"
    without = X[X.age < 50]
    with pytest.raises(DataError, match=r"predicts 'yes' for none of the .* rows of the search"):
        explain(Steps(), X.loc[rare[0]], without)


def test_a_constant_model_needs_no_condition():
    X, y = step_table(200)
    model = DummyClassifier().fit(X, y)
    why = explain(model, X.iloc[0], X)
    assert why.n_conditions == 0
    assert "always, then no" in why.text


def test_whole_numbers_and_large_offsets_stay_readable():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"t": 1.7e9 + rng.integers(0, 10_000_000, 500), "n": rng.integers(0, 9, 500)})
    model = DecisionTreeClassifier(max_depth=1).fit(X, X.t > 1.705e9)
    why = explain(model, X.iloc[0], X)
    (j,) = why.rule.region.bounded
    interval = why.rule.region.interval(j)
    assert X.t.iloc[0] in interval
    assert all(end == int(end) for end in (interval.low, interval.high) if np.isfinite(end))


def test_a_case_with_an_unknown_category_is_explained_by_the_others():
    X, _ = step_table(600)
    case = {"age": 30, "pay": 3000.0, "home": "boat"}
    why = explain(Steps(), case, X)
    assert why.label == "no"
    assert 2 not in why.rule.region.bounded


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-9, 9), st.sampled_from([0.0, 1.0, np.nan])), min_size=1, max_size=9
    )
)
def test_keys_depend_on_values_alone(rows):
    points = np.array(rows)
    space = FeatureSpace(["x", "c"], categories={"c": ["u", "v"]})
    other = FeatureSpace(["x", "c"], categories={"c": ["t", "u", "v"]})
    keys = row_keys(space, points)
    shifted = points + np.array([0.0, 1.0])
    assert (keys == row_keys(other, shifted)).all()
    assert (keys[::-1] == row_keys(space, points[::-1])).all()


def test_wanted_precision_is_met_on_the_rows_of_the_search():
    X, _ = step_table(900)
    rows = MeasuredRows.of(Steps(), Table.read(X))
    for k in range(10):
        _, found = rows.explain(
            rows.points[k], rows.labels[rows.codes[k]], RequestedPrecision.of(0.9)
        )
        if found.is_enough:
            assert found.agreed >= 0.9 * (found.agreed + found.others)
