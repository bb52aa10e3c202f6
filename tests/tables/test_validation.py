"""Labels of any type that a column can have: taken as what they are, or refused with the row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clearmargin import (
    LPSVC,
    LPSVCCV,
    AdviceSVC,
    ChunkedRuleSVC,
    RankContrast,
    RuleExtractor,
    RuleSVC,
    ScoreRules,
    SupportVectorRules,
    SVMTreeClassifier,
)
from clearmargin.exceptions import DataError
from clearmargin.tables.validation import plain_labels

X = np.column_stack([np.linspace(-1.0, 1.0, 24), np.tile([0.0, 1.0, 2.0], 8)])
IS_HIGH = X[:, 0] > 0
ESTIMATORS = [
    LPSVC(),
    AdviceSVC("x0 >= 0.5 => True"),
    ChunkedRuleSVC(),
    RankContrast(cv=None),
    RuleExtractor(LPSVC()),
    RuleSVC(max_rules=1, C=1.0, certify=False),
    ScoreRules(max_rules=2),
    SupportVectorRules(),
    SVMTreeClassifier(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    "labels",
    [IS_HIGH.astype(object), pd.Series(IS_HIGH).astype("boolean")],
    ids=["objects", "nullable"],
)
def test_booleans_are_classes_whatever_holds_them(estimator, labels):
    assert estimator.fit(X, labels).classes_.tolist() == [False, True]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_a_missing_label_is_named_by_its_row(estimator):
    lacking = IS_HIGH.astype(object)
    lacking[4] = None
    with pytest.raises(DataError, match="row 5 has no label; leave out the rows without one"):
        estimator.fit(X, lacking)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_tables_without_columns_or_with_two_of_one_name_are_refused(estimator):
    with pytest.raises(ValueError, match="0 feature"):
        estimator.fit(pd.DataFrame(index=range(24)), IS_HIGH)
    with pytest.raises(DataError, match="two columns of the table are called 'a'; rename one"):
        estimator.fit(pd.DataFrame(X, columns=["a", "a"]), IS_HIGH)


@pytest.mark.filterwarnings("ignore:no plane beats a constant one")
@pytest.mark.parametrize("size", [1e300, 1e-280, 5e-310])
def test_columns_of_any_magnitude_are_scaled_or_passed_over(size):
    table = X * [size, 1.0]
    with np.errstate(over="raise"):
        chosen = LPSVCCV(cv=3, scale=True).fit(table, IS_HIGH)
    # A weight of a column of denormal numbers is no float: that column alone can have none.
    assert chosen.score(table, IS_HIGH) == (1.0 if size != 5e-310 else 0.5)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ([1, 0], [1, 0]),
        ([1, 0.5], [1.0, 0.5]),
        ([np.int64(3), 4], [3, 4]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_numbers_among_objects_are_numbers_and_texts_stay(given, made):
    read = plain_labels(np.array(given, dtype=object))
    assert read.tolist() == made
    assert (read.dtype == object) == isinstance(made[0], str)


def test_labels_of_several_types_are_refused_with_an_example_of_each():
    with pytest.raises(DataError, match=r"True \(boolean\) and 0 \(number\).*y.astype\(str\)"):
        LPSVC().fit(X, np.array([True if high else 0 for high in IS_HIGH], dtype=object))
    as_text = np.array([True if high else 0 for high in IS_HIGH], dtype=object).astype(str)
    assert LPSVC().fit(X, as_text).classes_.tolist() == ["0", "True"]
