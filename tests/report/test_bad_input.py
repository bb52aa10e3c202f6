"""Bad input: the message says what is wrong, where, and what to do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

from clearmargin import LPSVC, AdviceSVC, RankContrast, RuleExtractor
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.report import report


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (object(), "report takes a RuleExtractor, a linear classifier .*; not object"),
        (RuleExtractor, "not the class RuleExtractor"),
        (LinearRegression(), "LinearRegression has no rules and is no classifier"),
        (RandomForestClassifier(n_estimators=2), "RandomForestClassifier is not linear"),
    ],
)
def test_a_model_without_rules_is_refused(data, model, message):
    with pytest.raises(InvalidValueError, match=message):
        report(model, *data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cases": -1}, "cases must be a whole number from 0, not -1"),
        ({"cases": 1.5}, "cases must be a whole number from 0, not 1.5"),
        ({"cv": 1}, "cv must be a whole number from 2, .* not 1"),
        ({"cv": "five"}, "cv must be .*, not 'five'"),
        ({"contrast": LPSVC()}, "contrast must be a RankContrast, not LPSVC"),
        ({"advice": 5}, "advice must be a fitted AdviceSVC, .* not int"),
        ({"advice": AdviceSVC()}, "AdviceSVC is not fitted; fit it first"),
    ],
)
def test_an_option_that_cannot_be_is_refused(data, options, message):
    with pytest.raises(InvalidValueError, match=message):
        report(LPSVC(), *data, **{"cv": None, **options})


def test_a_model_that_is_not_fitted_needs_classes(data):
    X, _ = data
    with pytest.raises(
        DataError, match=r"LPSVC is not fitted and there is no y .* pass y, or fit it"
    ):
        report(LPSVC(), X)
    with pytest.raises(DataError, match="the contrast is not fitted and there is no y"):
        report(RankContrast(), X)


def test_each_row_needs_one_class(data):
    X, y = data
    with pytest.raises(DataError, match=r"X has 90 rows and y has shape \(89,\)"):
        report(LPSVC(), X, y[1:])


def test_a_class_that_the_model_does_not_know_is_named(data):
    X, y = data
    model = RuleExtractor(LPSVC(nu=1.0)).fit(X, y)
    other = np.where(np.arange(90) == 7, "dead", y)
    with pytest.raises(DataError, match=r"y holds 'dead', which is no class .* 'ill', 'well'"):
        report(model, X, other)


def test_a_contrast_of_other_rows_is_refused(data):
    X, y = data
    contrast = RankContrast(max_size=1, top=0.2, bottom=0.2).fit(X, y)
    with pytest.raises(DataError, match="fitted to 90 rows and X has 80"):
        report(LPSVC(), X[:80], y[:80], contrast=contrast, cv=None)
    with pytest.raises(InvalidValueError, match="a RankContrast already; leave contrast out"):
        report(contrast, X, y, contrast=contrast)


def test_a_table_without_rows_is_refused(data):
    X, y = data
    with pytest.raises(InvalidValueError, match="X has no rows"):
        report(LPSVC(), X[:0], y[:0])
