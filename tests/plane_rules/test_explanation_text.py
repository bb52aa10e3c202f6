"""Explanations in words, whatever things are called."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import (
    LPSVC,
    Box,
    Explanation,
    FeatureSpace,
    Rule,
    RuleExtractor,
    parse_rules,
)


def explained(name, label):
    rule = Rule(Box([3.0], [8.0]), label, proof="proved")
    return Explanation("rule", rule, label, 1.5, 0.9, {"margin": 0.9}, FeatureSpace([name]))


def test_a_name_with_then_in_it_does_not_cut_the_sentence():
    text = str(explained("a, then b", "yes"))
    assert "if a, then b is between 3 and 8, then yes." in text


def test_a_class_that_cannot_be_seen_is_written_out():
    text = str(explained("x", "a\u202eb"))
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_a_rule_without_conditions_holds_always():
    rule = Rule(Box.unbounded(1), "yes", proof="proved")
    space = FeatureSpace(["x"])
    assert "always, then yes" in str(Explanation("rule", rule, "yes", 1.0, 0.9, {}, space))


@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_the_sentence_of_a_case_never_shuts_it_out(x, below, above):
    low, high = x - below, x + above
    rule = Rule(Box([low], [high]), "yes", proof="proved")
    told = Explanation(
        "central", rule, "yes", 1.0, 0.9, {}, FeatureSpace(["x"]), case=(x,)
    ).sentence
    (read,) = parse_rules(told[0].lower() + told[1:].rstrip("."))
    interval = read.region.interval(0)
    assert x in interval
    assert low <= interval.low <= interval.high <= high


def test_an_explanation_and_its_report_agree_with_the_case():
    """A box around a case near the plane is narrow: three digits of its bounds would leave the case outside."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)).round(3), columns=list("abc"))
    y = X.to_numpy() @ [1.0, -2.0, 0.5] > 0
    extractor = RuleExtractor(LPSVC(nu=10.0), max_rules=1).fit(X, y)
    for k, told in enumerate(extractor.explain_many(X, kind="on_demand")):
        assert told.case == tuple(X.iloc[k])
        (rule,) = parse_rules(
            f"{told.sentence[0].lower()}{told.sentence[1:-1]}", space=extractor.rules_.space
        )
        assert rule.region.contains(X.iloc[[k]].to_numpy()).all()
