"""Two models on a table: rows that flip, and the exact paired test against counting all outcomes."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from clearmargin import parse_rules
from clearmargin.compare import compare_models
from clearmargin.compare.model_changes import paired_p_value
from clearmargin.exceptions import DataError

LABELS = st.lists(st.tuples(*[st.sampled_from(["a", "b", None])] * 2, st.sampled_from("ab")))


@pytest.mark.parametrize("better", range(4))
@pytest.mark.parametrize("worse", range(4))
def test_the_p_value_is_that_of_all_coin_throws_counted_one_by_one(better, worse):
    throws = list(product([0, 1], repeat=better + worse))
    as_uneven = [t for t in throws if abs(2 * sum(t) - len(t)) >= abs(better - worse)]
    assert paired_p_value(better, worse) == pytest.approx(
        float(Fraction(len(as_uneven), len(throws)))
    )


@given(LABELS)
def test_flips_and_counts_are_those_of_the_rows(rows):
    if not rows:
        return
    before, after, truth = (list(column) for column in zip(*rows, strict=True))
    found = compare_models(before, after, np.zeros((len(rows), 1)), truth)
    assert [flip.row for flip in found.flips] == [
        k for k, (one, other, _) in enumerate(rows) if one != other
    ]
    assert found.right == (
        sum(one == true for one, _, true in rows),
        sum(other == true for _, other, true in rows),
    )
    assert found.right[1] - found.right[0] == found.better - found.worse
    assert found.silent == (before.count(None), after.count(None))
    back = compare_models(after, before, np.zeros((len(rows), 1)), truth)
    assert (back.better, back.worse, back.p_value) == (found.worse, found.better, found.p_value)
    assert json.loads(json.dumps(found.to_dict()))["flips"] == [f.to_dict() for f in found.flips]


def test_models_rules_and_predictions_are_compared_with_each_other():
    X = pd.DataFrame({"age": [20, 40, 60, 80]}, index=["ann", "bob", "cleo", "dan"])
    y = ["well", "ill", "ill", "ill"]
    model = LogisticRegression().fit(X, y)
    rules = parse_rules("age >= 70 => ill\nage <= 30 => well")
    found = compare_models(rules, model, X, y)
    assert [(f.row, f.before, f.after, f.effect) for f in found.flips] == [
        (1, None, "ill", "better"),
        (2, None, "ill", "better"),
    ]
    assert str(found).splitlines() == [
        "2 of 4 rows get another class: 2 better, 0 worse.",
        "Right on 2 of 4 rows before, on 4 now (exact paired test: p = 0.5).",
        f"  {found.names[0]}  no class -> ill   better",
        f"  {found.names[1]}  no class -> ill   better",
    ]
    assert not compare_models(model, model.predict(X), X).flips


def test_without_true_classes_flips_are_only_counted():
    found = compare_models(["a", "b"], ["b", "b"], [[1], [2]])
    assert (found.right, found.p_value, found.flips[0].effect) == (None, None, "unknown")
    assert str(found).splitlines()[0] == "1 of 2 rows get another class."


@pytest.mark.parametrize(
    ("old", "y", "message"),
    [
        (["a"], None, "old has 1 classes, and X 2 rows; each row needs one"),
        (["a", "b"], ["a"], "y has 1 classes, and X 2 rows"),
        ("rules", None, "old must be a fitted model, rules, or one class for each row, not str"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(old, y, message):
    with pytest.raises(DataError, match=message):
        compare_models(old, ["a", "b"], [[1], [2]], y)
