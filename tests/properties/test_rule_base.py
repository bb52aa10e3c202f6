"""What everything that gives rules has in common, why a row is not covered, and budgets."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

from clearmargin import (
    LPSVC,
    RuleExtractor,
    SupportVectorRules,
    SurrogateRules,
    SVMTreeClassifier,
    explain,
    parse_rules,
)
from clearmargin.exceptions import DataError, InvalidValueError

IRIS = load_iris()
X, Y = IRIS.data[50:, 1:3], IRIS.target_names[IRIS.target[50:]]
GIVERS = {"planes": RuleExtractor(LogisticRegression(max_iter=1000), max_rules=3),
    "kernel": SupportVectorRules(max_rules=3, fallback="estimator"),
    "surrogate": SurrogateRules(n_generated=200, min_coverage=20, fallback="estimator"),
    "tree": SVMTreeClassifier(C=0.1, max_layers=None)}  # fmt: skip


@pytest.fixture(scope="module", params=GIVERS)
def giver(request):
    return clone(GIVERS[request.param]).fit(X, Y)


def failing(region, point):
    """How many conditions of a box of numbers a point fails."""
    return sum(value not in region.interval(j) for j, value in enumerate(point))


def test_givers_of_rules_explain_rows_that_are_covered_and_rows_that_are_not(giver):
    model = getattr(giver, "estimator_", giver)
    rows = np.vstack([X[::3], np.random.default_rng(0).uniform(1.0, 8.0, (60, 2))])
    covers, which, predicted = giver.covers(rows), giver.which(rows), model.predict(rows)
    answers = giver.why(rows)
    for k, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        held = [r for r, rule in enumerate(giver.rules_) if rule.region.contains(row[None])[0]]
        assert np.flatnonzero(covers[k]).tolist() == held
        assert which[k] == (held[0] if held else -1)
        assert answer.is_covered == bool(held)
        if held:
            assert (answer.rule, answer.label) == (held[0], giver.rules_[held[0]].label)
        else:
            # The nearest rule of the predicted class has the fewest conditions that fail.
            assert answer.label == predicted[k]
            own = [(failing(rule.region, row), r) for r, rule in enumerate(giver.rules_)
                   if rule.label == predicted[k]]  # fmt: skip
            assert (len(answer.failed), answer.rule) == min(own)
            assert answer.n_conditions == giver.rules_[answer.rule].n_conditions
        assert json.loads(json.dumps(answer.to_dict()))["text"] == str(answer)


def test_givers_of_rules_explain_cases_with_the_class_they_predict(giver):
    rows = X[giver.which(X) >= 0][::5]
    for x, label, told in zip(rows, giver.predict(rows), giver.explain_many(rows), strict=True):
        assert told.label == told.rule.label == label
        assert told.rule.region.contains(x[None])[0]


def test_class_shares_are_laplace_estimates_of_the_first_rule_that_covers():
    for model in (SurrogateRules(SVC(), n_generated=100), SVMTreeClassifier()):
        model.fit(IRIS.data[::2, :3], IRIS.target[::2])
        rows, shares = IRIS.data[1::2, :3], model.class_shares(IRIS.data[1::2, :3])
        for x, share in zip(rows, shares, strict=True):
            rule = next((r for r in model.rules_ if r.region.contains(x[None])[0]), None)
            own = 1 / 3 if rule is None else (rule.stats.correct + 1) / (rule.stats.covered + 3)
            label = 0 if rule is None else rule.label
            expected = [own if c == label else (1 - own) / 2 for c in model.classes_]
            assert share.tolist() == pytest.approx(expected)


def test_explain_of_kernels_and_forests_says_how_the_rule_came_about():
    rules = SupportVectorRules(max_rules=1, fallback="estimator").fit(X, Y)
    bare = int(np.argmax(rules.which(X) < 0))
    enough = rules.explain(X[bare])
    assert (enough.kind, enough.rule.proof) == ("sufficient", "proved")
    same = explain(rules.estimator_, X[bare], X, guarantee="proved")
    assert enough.rule.region == same.rule.region
    assert rules.explain(X[int(np.argmax(rules.which(X) >= 0))]).kind == "rule"
    table = pd.DataFrame(X, columns=["width", "length"])
    nearest = SupportVectorRules(max_rules=1).fit(table, Y)
    told = nearest.explain({"length": X[bare, 1], "width": X[bare, 0]})
    assert (told.kind, told.label) == ("nearest", nearest.predict(table.iloc[[bare]])[0])
    assert told == nearest.explain(table.iloc[bare]) == nearest.explain_many(table)[bare]
    forest = SurrogateRules(RandomForestClassifier(n_estimators=3, random_state=0), min_coverage=20)
    forest = forest.set_params(fallback="abstain").fit(X, Y)
    assert np.isnan(forest.explain(X[int(np.argmax(forest.which(X) >= 0))]).margin)
    lone = X[int(np.argmax(forest.which(X) < 0))]
    with pytest.raises(InvalidValueError, match="fallback"):
        forest.explain(lone)
    with pytest.raises(DataError, match="explain_many"):
        nearest.explain(table)


@pytest.mark.parametrize("model", [
    RuleExtractor(LPSVC()), RuleExtractor(LPSVC(), criterion="coverage", disjoint=False),
    SupportVectorRules(SVC()), SVMTreeClassifier(),
], ids=lambda m: type(m).__name__ + str(getattr(m, "disjoint", "")))  # fmt: skip
def test_budget_of_rules_keeps_those_that_cover_most_and_says_what_others_would_add(model):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(150, 4))
    z = Z[:, 0] * Z[:, 1] + Z[:, 2] + 0.3 * rng.normal(size=150) > 0
    few, whole = (clone(model).set_params(max_rules=k).fit(Z, z) for k in (3, None))
    assert len(few.rules_) == few.budget_.kept <= 3
    assert all(rule in list(whole.rules_) for rule in few.rules_)
    assert {rule.label for rule in few.rules_} == {rule.label for rule in whole.rules_}
    assert few.budget_.covered == pytest.approx((few.which(Z) >= 0).sum(), abs=4)
    assert few.budget_.found == len(whole.rules_) == whole.budget_.kept
    assert few.budget_.covered_by_all == whole.budget_.covered
    assert (whole.budget_.more, few.budget_.more) == (0, few.budget_.found - few.budget_.kept)
    # A rule has evidence by the exact binomial test, or is the only one of its class.
    for label in (False, True):
        own = [rule.stats for rule in whole.rules_ if rule.label == label]
        tails = [binom.sf(s.correct - 1, s.covered, (z == label).mean()) for s in own]
        if isinstance(model, RuleExtractor) and len(own) > 1:
            assert max(tails) <= 0.05


def linear(**options):
    """Ill from a bmi of 30 on, where the colour matters little."""
    rng = np.random.default_rng(0)
    bmi = rng.uniform(20.0, 40.0, 80).round(1)
    table = pd.DataFrame({"bmi": bmi, "colour": np.where(rng.random(80) < 0.5, "red", "blue")})
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), ("passthrough", ["bmi"])
    )
    model = make_pipeline(encoder, LogisticRegression(C=100.0))
    return RuleExtractor(model, **options).fit(table, np.where(bmi > 30.0, "ill", "well"))


def reason(extractor, **case):
    (row,) = extractor.why(pd.DataFrame({k: [v] for k, v in case.items()}))
    return row.status, row.failed[0].values if row.failed else None


def test_why_names_ranges_categories_and_missing_values():
    declared = linear(bounds={"bmi": (10, 60)})
    assert reason(declared, bmi=70.0, colour="red") == ("outside", (("bmi", 70.0),))
    unknown = reason(linear(), bmi=39.0, colour="mauve")
    assert unknown == ("outside", (("colour", "mauve"),))
    assert reason(linear(), bmi=np.nan, colour="red") == ("nearest", (("bmi", None),))
    assert reason(linear(), bmi=39.0, colour="red") == ("covered", None)


def test_why_of_a_rule_set_names_the_first_rule_or_the_nearest():
    rules = parse_rules("a >= 3 and b >= 3 and c = 0 => yes\na >= 3 and b < 1 and c = 2 => no")
    first, near, far = rules.why([[4, 4, 0], [4, 0, 1], [np.nan, 0, 0]])
    assert (first.status, first.rule, near.status, near.rule) == ("covered", 0, "nearest", 1)
    assert (near.failed[0].values, far.rule, far.n_conditions) == ((("c", 1.0),), 0, 3)
    assert json.loads(json.dumps(near.to_dict()))["text"] == str(near)
