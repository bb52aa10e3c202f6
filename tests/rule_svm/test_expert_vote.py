"""The vote of an expert's rules beside the machine: how far it is believed, and that the average is still rules."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from clearmargin import RuleSVC, parse_rules

OPTIONS = {"certify": False, "progress": False}


def table(m, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(m, 5)), columns=list("abcde"))
    y = np.where(X["a"] + X["b"] + noise * rng.normal(size=m) > 0, "yes", "no")
    return X, y


RIGHT = "both: a > 0 and b > 0 => yes\nnone: a <= 0 and b <= 0 => no"
SWAPPED = "both: a > 0 and b > 0 => no\nnone: a <= 0 and b <= 0 => yes"


def test_with_few_cases_right_rules_are_believed_and_help():
    X, y = table(20, seed=3, noise=0.7)
    new, labels = table(2000, seed=1)
    plain = RuleSVC(**OPTIONS).fit(X, y)
    advised = RuleSVC(rules=RIGHT, **OPTIONS).fit(X, y)
    assert advised.vote_share_ > 0.5
    assert plain.vote_share_ == 0.0
    assert advised.outcome_.verdicts == ("kept", "kept")
    assert advised.score(new, labels) > plain.score(new, labels) + 0.03
    assert len(advised.rules_) <= 15


def test_with_many_cases_the_data_speak():
    X, y = table(600, noise=0.3)
    assert RuleSVC(rules=RIGHT, **OPTIONS).fit(X, y).vote_share_ == 0.0


@pytest.mark.parametrize("size", [20, 60])
def test_rules_that_are_wrong_more_often_than_right_are_set_aside(size):
    X, y = table(size)
    model = RuleSVC(rules=SWAPPED, **OPTIONS).fit(X, y)
    assert model.vote_share_ == 0.0
    assert model.outcome_.verdicts == ("ignored", "ignored")
    assert (model.predict(X) == RuleSVC(**OPTIONS).fit(X, y).predict(X)).all()


def test_the_share_is_what_the_formula_says():
    X, y = table(30, noise=1.0)
    model = RuleSVC(rules=RIGHT, **OPTIONS).fit(X, y)
    vote = parse_rules(RIGHT).covers(X) @ np.array([1.0, -1.0])
    sign = np.where(y == "yes", 1.0, -1.0)
    more = np.sign(sign.sum())
    wrong = (np.where(vote == 0, more, vote) != sign).sum()
    prior = 1 / (1 + (30 / 100) ** 2)
    a = prior * math.exp(-wrong / 2)
    b = (1 - prior) * math.exp(-30 * (1 - model.cv_score_) / 2)
    assert model.vote_share_ == pytest.approx(a / (a + b), abs=6e-4)


def test_the_average_has_whole_points_a_cap_and_no_dependence_on_the_order_of_rows():
    X, y = table(40, noise=0.7)
    model = RuleSVC(6, rules=RIGHT, points=True, **OPTIONS).fit(X, y)
    assert len(model.rules_) <= 6
    assert (model.weights_ == np.rint(model.weights_)).all()
    again = RuleSVC(6, rules=RIGHT, points=True, **OPTIONS).fit(X[::-1], y[::-1])
    assert again.weighted_rules_ == model.weighted_rules_
    probability = model.predict_proba(X)[:, 1]
    assert np.corrcoef(probability, y == "yes")[0, 1] > 0.5
    free = RuleSVC(6, rules=RIGHT, linear="free", **OPTIONS).fit(X, y)
    assert free.vote_share_ > 0.1
    assert free.score(X, y) > 0.7


def test_without_room_for_all_rules_there_is_no_vote():
    X, y = table(30)
    model = RuleSVC(1, rules=RIGHT, **OPTIONS).fit(X, y)
    assert model.vote_share_ == 0.0
    assert len(model.rules_) <= 1
    assert RuleSVC(None, rules=RIGHT, C=0.3, progress=False).fit(X, y).vote_share_ == 0.0


def test_without_folds_the_vote_counts_as_much_as_beforehand():
    X = pd.DataFrame({"a": [1.0, -1.0, 2.0], "b": [1.0, -2.0, 2.0]})
    model = RuleSVC(rules=RIGHT, **OPTIONS).fit(X, ["yes", "no", "yes"])
    assert model.vote_share_ == pytest.approx(1 / (1 + (3 / 100) ** 2), abs=1e-3)
