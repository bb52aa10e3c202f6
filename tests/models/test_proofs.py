"""The word "proved" is never taken from a file: it is decided again, or it is said that nobody did."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin import LPSVC, Box, FeatureSpace, Rule, RuleExtractor, RuleSet
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import UncertifiedWarning
from clearmargin.models import load_model, save_model
from clearmargin.models.planes import Planes
from clearmargin.models.proofs import check_proofs


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.normal(size=200), "purpose": rng.choice(["car", "tv"], 200)})
    y = np.where(X["income"] + (X["purpose"] == "car") > 0.5, "good", "bad")
    encode = make_column_transformer((OneHotEncoder(), ["purpose"]), (StandardScaler(), ["income"]))
    return RuleExtractor(make_pipeline(encode, LPSVC(nu=1.0))).fit(X, y)


def edited(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def proofs(rules):
    return [rule.proof for rule in rules]


def test_rules_that_are_proved_are_proved_again(loans, tmp_path):
    assert set(proofs(loans.rules_)) == {"proved"}
    path = save_model(loans, tmp_path / "m.json")
    assert proofs(load_model(path).rules) == proofs(loans.rules_)


def test_a_changed_intercept_loses_the_word(loans, tmp_path):
    path = save_model(loans, tmp_path / "m.json")

    def shift(document):
        document["planes"][0]["intercept"] += 10.0

    with pytest.warns(
        UncertifiedWarning, match=r"\d of \d rules are marked as proved .* rule 1 \("
    ):
        rules = load_model(edited(path, shift)).rules
    for rule in rules:
        assert rule.proof == ("proved" if rule.label == "good" else None)


def test_a_changed_bound_loses_the_word_and_the_others_keep_it(loans, tmp_path):
    path = save_model(loans, tmp_path / "m.json")
    k = next(k for k, rule in enumerate(loans.rules_) if 0 in rule.region.bounded)

    def widen(document):
        (condition,) = (
            c for c in document["rules"]["rules"][k]["when"] if c["feature"] == "income"
        )
        for key in ("at_least", "above"):
            if key in condition:
                condition[key] = -100.0
        for key in ("at_most", "below"):
            if key in condition:
                condition[key] = 100.0

    with pytest.warns(UncertifiedWarning, match=f"1 of .* rule {k + 1} "):
        found = proofs(load_model(edited(path, widen)).rules)
    assert found == [None if j == k else "proved" for j in range(len(found))]


def test_declared_ranges_count_and_are_kept(tmp_path):
    X, y = load_wbc(return_X_y=True)
    extractor = RuleExtractor(LPSVC(nu=0.0025), bounds=(1, 10)).fit(X, y)
    path = save_model(extractor, tmp_path / "m.json")
    assert set(proofs(load_model(path).rules)) == {"proved"}

    # A file of an earlier version does not say what was declared: what needs a range is not called proved.
    def forget(document):
        del document["facts"]["declared_ranges"]

    assert set(proofs(load_model(edited(path, forget)).rules)) == {"proved", "stated"}

    # One that says that nothing was declared is wrong about rules that need a range.
    def declare_nothing(document):
        document["facts"]["declared_ranges"] = '{"lower": [], "upper": []}'

    with pytest.warns(UncertifiedWarning, match="rules are marked as proved in the file, but its"):
        found = proofs(load_model(edited(path, declare_nothing)).rules)
    assert set(found) == {"proved", None}


def test_rules_without_their_model_are_only_stated_to_be_proved(loans, tmp_path):
    path = loans.rules_.save(tmp_path / "r.json")
    rules = RuleSet.load(path)
    assert rules == loans.rules_
    assert set(proofs(rules)) == {"stated"}
    assert "proved, says its file, not checked here" in rules.describe()
    # Saving and loading again does not make it more.
    assert set(proofs(RuleSet.load(rules.save(tmp_path / "again.json")))) == {"stated"}


def lowest(weights, intercept, box, allowed):
    """By hand: the lowest score over all corners and categories, in fractions."""
    scores = []
    for corner in itertools.product(*zip(box.lower, box.upper, strict=True)):
        numbers = sum(
            (Fraction(w) * Fraction(x) for w, x in zip(weights[:2], corner, strict=True)),
            start=Fraction(intercept),
        )
        scores += [numbers + Fraction(weights[2 + code]) for code in allowed]
    return min(scores)


def test_what_is_proved_is_what_fractions_say():
    rng = np.random.default_rng(5)
    space = FeatureSpace(["a", "b", "c"], categories={"c": ["u", "v", "w"]})
    classes = ["no", "yes"]
    found = set()
    for _ in range(150):
        # Few digits, so that boxes often end exactly on the plane.
        weights, intercept = rng.integers(-4, 5, 5) / 4, float(rng.integers(-8, 9)) / 4
        ends = np.sort(rng.integers(-3, 4, (2, 2)) / 2, axis=0)
        allowed = rng.permutation(3)[: rng.integers(1, 4)].tolist()
        numbers = Box(ends[0], ends[1])
        box = Box([*ends[0], -np.inf], [*ends[1], np.inf], sets={2: allowed})
        rules = RuleSet([Rule(box, "yes", proof="stated")], space, classes)
        model = Planes(
            RuleSet([], space, classes), [weights], [intercept], facts={"declared_ranges": "[]"}
        )
        is_true = lowest(weights, intercept, numbers, allowed) > 0
        found.add(is_true)
        if is_true:
            assert check_proofs(model, rules)[0].proof == "proved"
        else:
            with pytest.warns(UncertifiedWarning, match="1 of 1 rules"):
                assert check_proofs(model, rules)[0].proof is None
    assert found == {True, False}


def test_a_rule_on_a_missing_value_stays_stated():
    space = FeatureSpace(["a"])
    rule = Rule(Box([-np.inf], [np.inf], missing=[0]), "yes", proof="stated")
    model = Planes(
        RuleSet([], space, ["no", "yes"]), [[1.0]], [0.0], facts={"declared_ranges": "[]"}
    )
    assert check_proofs(model, RuleSet([rule], space, ["no", "yes"]))[0].proof == "stated"
