"""What people read about each rule: categories by name, edges explained, tables that everybody can read."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import AdviceSVC
from clearmargin.advice.facts import advice_facts
from clearmargin.advice.outcome import AdviceOutcome, ConditionChange, RuleOutcome
from clearmargin.rules import Box, Rule, RuleStats

KINDS = ("ex", "never", "now")
ADVICE = """
a: smoker = never and age >= 40 => ill
b: smoker in {ex, now} and age >= 60 => ill
c: age <= 30 => well
"""


@pytest.fixture(scope="module")
def smokers():
    rng = np.random.default_rng(0)
    age, kind = rng.uniform(20, 80, 120), rng.choice(KINDS, 120)
    X = pd.DataFrame({"age": age} | {f"smoker_{k}": (kind == k).astype(float) for k in KINDS})
    y = np.where(age + 10 * (kind == "now") + rng.normal(0, 5, 120) > 55, "ill", "well")
    return X, y


@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_the_worst_case_reads_as_categories(smokers, mu):
    X, y = smokers
    model = AdviceSVC(ADVICE, mu=mu).fit(X, y)
    first = model.outcome_[0]
    assert not first.holds
    assert dict(first.witness) == {"age": pytest.approx(40.0), "smoker": "never"}
    assert "age = 40 and smoker = never has a score of -" in first.guarantee
    assert "smoker_" not in str(model.outcome_)
    # The case that is named is one of the rule, and the model does what is said of it.
    row = pd.DataFrame([{"age": 40.0, "smoker_ex": 0.0, "smoker_never": 1.0, "smoker_now": 0.0}])
    assert model.predict(row).tolist() == ["well"]
    score = float(model.decision_function(row)[0]) * (1 if model.classes_[1] == "ill" else -1)
    assert score == pytest.approx(first.margin, abs=1e-6)


def test_a_category_is_named_where_many_are_allowed():
    X = pd.DataFrame({"s_a b": [1.0, 0, 0] * 9, "s_c": [0.0, 1, 0] * 9, "s_d": [0.0, 0, 1] * 9})
    y = ["p", "n", "p"] * 9
    outcome = AdviceSVC("s in {`a b`, c} => p\ns = d => p", mu=1e-3).fit(X, y).outcome_
    assert dict(outcome[0].witness) == {"s": "c"}
    flipped = AdviceSVC("s in {`a b`, c} => n\ns = d => p", mu=1e-3).fit(X, y).outcome_
    assert "a case with s = `a b` has" in flipped[0].guarantee


def touching(text, mu=100.0):
    X = pd.DataFrame({"x": [0.0, 0.5, 1.5, 2.0]})
    return AdviceSVC(text, mu=mu).fit(X, ["n", "n", "p", "p"]).outcome_


@pytest.mark.parametrize("mu", [1.0, 100.0, 1e4])
def test_a_rule_that_fails_on_the_plane_alone_says_so(mu):
    upper, lower = touching("x >= 1 => p\nx <= 1 => n", mu)
    assert (upper.standing, upper.holds, lower.standing) == ("uncontradicted", False, "proved")
    assert upper.summary == (
        "kept as it was, not contradicted by any of the 2 covered cases, but not proved"
    )
    assert upper.guarantee == (
        "not everywhere: a case with x = 1 lies on the plane (score 0) and does not get p; no case is near it"
    )
    assert lower.guarantee == (
        "every case in it gets n, the closest ones just on that side of the plane (score 0)"
    )


def test_an_open_edge_on_the_plane_is_no_contradiction():
    upper, lower = touching("x > 1 => p\nx <= 1 => n")
    assert upper.standing == lower.standing == "proved"
    # The same rule with its edge has a case on the plane.
    closed, _ = touching("x >= 1 => p\nx <= 1 => n")
    assert not closed.holds


def made(margin, standing="uncontradicted", verdict="ignored", witness=None, **more):
    rule = Rule(Box.from_intervals({}, 1), "p", stats=more.pop("stats", None))
    return RuleOutcome(
        before=rule,
        after=rule,
        verdict=verdict,
        standing=standing,
        margin=margin,
        slack=0.0,
        witness=witness,
        witness_score=margin,
        near=more.pop("near", None),
        floor=more.pop("floor", margin),
        stuck=False,
        changes=(),
        intervals=None,
        text_before="x >= 1 => p",
        text_after="x >= 1 => p",
    )


@given(margin=st.floats(0, 1e9), holds=st.booleans())
@settings(max_examples=60)
def test_scores_that_are_zero_up_to_rounding_are_called_zero(margin, holds):
    standing = "proved" if holds else "uncontradicted"
    text = made(margin if holds else -margin, standing, witness={"x": 1.0}).guarantee
    assert ("plane" in text) == (margin < 1e-6)
    assert "-0 " not in text
    assert not re.search(r"e-(0[7-9]|[1-9]\d)", text)
    if not holds:
        assert "a case with x = 1 " in text


@given(st.floats(1e-6, 1e9))
def test_a_guarantee_promises_no_more_than_is_true(margin):
    promised = float(re.search(r"at least (\S+)$", made(margin, "proved").guarantee).group(1))
    assert promised <= margin + 1e-6
    assert promised >= 0.98 * margin - 1e-6


def test_a_model_that_looks_at_nothing_fails_any_case():
    assert made(-1.0, witness={}).guarantee == (
        "not everywhere: any case has a score of -1 and does not get p"
    )


def test_there_are_three_words_for_how_a_rule_stands():
    covered, some = RuleStats(9, 7, 6, 7), RuleStats(9, 7, 6, 5)
    proved = made(0.5, "proved", "kept", stats=covered)
    assert proved.standing_text == "proved"
    not_proved = made(-0.5, "uncontradicted", "kept", {"x": 2.0}, stats=covered, near=0)
    assert not_proved.standing_text == (
        "not contradicted by any of the 7 covered cases, but not proved"
    )
    assert not_proved.guarantee.endswith("a score of -0.5 and does not get p; no case is near it")
    against = made(-0.5, "contradicted", "ignored", {"x": 2.0}, stats=some, near=3)
    assert against.summary == "unchanged, contradicted by 2 of the 7 covered cases"
    assert against.guarantee.startswith(
        "not everywhere: the model gives another class than p to 2 of the 7 covered cases; a case with x = 2"
    )
    assert against.guarantee.endswith("3 cases are near it")
    one = made(-0.5, "uncontradicted", "kept", {"x": 2.0}, stats=RuleStats(9, 1, 1, 1))
    assert one.standing_text == "not contradicted by the one covered case, but not proved"
    none = made(-0.5, "uncontradicted", witness={"x": 2.0}, stats=RuleStats(9, 0, 0, 0))
    assert none.summary == "unchanged, not proved"
    assert made(np.nan, None, "rejected").summary.startswith("rejected: ")


def test_what_is_not_known_about_a_rule_is_not_said():
    assert made(np.inf, "proved").guarantee == "no case can be in it"
    far = "far enough out, cases in it get another class than p"
    assert made(-np.inf).guarantee == f"not everywhere: {far}"
    against = made(-np.inf, "contradicted", "ignored", stats=RuleStats(9, 7, 6, 5)).guarantee
    assert against == (
        f"not everywhere: the model gives another class than p to 2 of the 7 covered cases, and {far}"
    )
    assert made(-0.5).guarantee == (
        "not everywhere: the lowest score is -0.5, and no possible case with it was found"
    )


def test_a_condition_that_went_and_a_part_of_an_outcome_are_values():
    change = ConditionChange("age", "age >= 3", "", 3.0, np.nan)
    assert str(change) == "age >= 3: dropped"
    outcome = AdviceOutcome((made(0.5, "proved"), made(-0.5, witness={"x": 1.0}), made(1.0)))
    assert isinstance(outcome[1:], AdviceOutcome)
    assert list(outcome[1:]) == [outcome[1], outcome[2]]


def test_a_report_draws_conditions_on_categories(smokers):
    X, y = smokers
    model = AdviceSVC(ADVICE, mu=1.0).fit(X, y)
    facts = advice_facts(model, X, y)["rules"]
    found = {c["feature"]: c for c in facts[1]["conditions"]}
    assert {c["when"] for c in facts[1]["conditions"]} == {"before"}
    assert found["smoker"]["categories"] == ["never", "ex", "now"]
    assert [found["smoker"]["categories"][k] for k in found["smoker"]["allowed"]] == ["ex", "now"]
    assert found["age"]["range"] == [X["age"].min(), X["age"].max()]


def test_a_report_draws_conditions_over_the_values_of_arrays_and_without_any():
    X = np.tile(np.arange(1.0, 9.0), 3)[:, None]
    model = AdviceSVC("x0 >= 5 => ill").fit(X, np.where(X[:, 0] > 4, "ill", "well"))
    (condition,) = advice_facts(model, X, None)["rules"][0]["conditions"]
    assert condition["range"] == [1.0, 8.0]
    text = "feature age: in [0, 90]\nage >= 30 => ill\nage < 20 => well"
    alone = AdviceSVC(text, mu=10.0).fit()
    fact = advice_facts(alone, None, None)["rules"][0]
    assert (fact["stats_before"], fact["stats_after"]) == (None, None)
    assert fact["conditions"][0]["range"] == [0.0, 90.0]


def test_a_promise_says_how_far_it_reaches():
    stats = RuleStats(9, 7, 6, 7)
    assert made(0.5, "proved", floor=None).guarantee.endswith(
        "at least 0.5"
    )  # no data, nothing seen
    local = made(0.5, "proved", stats=stats, floor=None).guarantee
    assert local.endswith("at least 0.5 (with ranges and whole numbers as in the data)")
    both = made(0.5, "proved", stats=stats, floor=0.1299).guarantee
    assert both.endswith("as in the data; beyond them, of at least 0.129)")


def test_the_cells_that_head_rows_and_columns_say_so():
    html = AdviceOutcome((made(-1.0, witness={"x": 1.0}),))._repr_html_()
    heads = re.findall(r"<th[ >][^>]*>", html)
    assert [head for head in heads if "scope=" not in head] == []
    assert html.count('scope="col"') == 5
    assert html.count('scope="row"') == 1


def test_names_in_an_outcome_cannot_become_markup():
    evil = "<script>alert(1)</script>"
    advice = f"`{evil}`: `{evil}` >= 3 => `{evil}`\nb: `{evil}` <= 1 => `a\u202eb`"
    html = AdviceSVC(advice, mu=10.0).fit().outcome_._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 4
    assert "\u202e" not in html
    assert "<code>" in html


def test_an_outcome_without_rules_says_so_in_a_notebook():
    assert AdviceOutcome(())._repr_html_() == "<p>no advice was given</p>"
