"""Rules over a Domain with relations: larger, true for every possible case, and proved again when they are loaded."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import Box, Domain, FeatureSpace, Hyperplane, RuleExtractor
from clearmargin.exceptions import FileDamagedError, InvalidValueError, UncertifiedWarning
from clearmargin.models import load_model, model_schema, save_model
from clearmargin.models.score_error import Guard, direct_error
from clearmargin.plane_rules.relation_growth import proves_over

jsonschema = pytest.importorskip("jsonschema")
pd = pytest.importorskip("pandas")

SPACE = FeatureSpace(["diastolic", "systolic", "age"])
ORDERED = Domain(SPACE, relations="diastolic <= systolic")


def blood_pressure(n=300, seed=0):
    rng = np.random.default_rng(seed)
    systolic = rng.normal(125, 18, n).round()
    diastolic = (systolic * rng.uniform(0.5, 0.98, n)).round()
    X = pd.DataFrame({"diastolic": diastolic, "systolic": systolic, "age": rng.integers(20, 80, n)})
    score = 0.5 * X.diastolic + X.systolic + 0.3 * X.age + rng.normal(0, 6, n)
    return X, np.where(score > 205, "high", "low")


X, Y = blood_pressure()


@pytest.fixture(scope="module")
def fitted():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    return {
        name: RuleExtractor(model, bounds=bounds).fit(X, Y)
        for name, bounds in {"data": "data", "domain": ORDERED}.items()
    }


def random_cases(box, rng, n=2000):
    """Cases of a box, many of them at its ends, that satisfy the relation."""
    low = np.where(np.isfinite(box.lower), box.lower, [20.0, 20.0, 0.0])
    high = np.where(np.isfinite(box.upper), box.upper, [400.0, 400.0, 120.0])
    cases = rng.uniform(low, np.maximum(low, high), (n, 3))
    ends = rng.random((n, 3))
    cases = np.where(ends < 0.2, low, np.where(ends > 0.8, high, cases))
    tie = rng.random(n) < 0.3
    cases[tie, 1] = cases[tie, 0]
    return cases[box.contains(cases) & (cases[:, 0] <= cases[:, 1])]


def test_rules_over_a_domain_are_larger_and_hold_for_every_possible_case(fitted):
    rng = np.random.default_rng(1)
    bare, related = fitted["data"], fitted["domain"]
    assert all(related.coverage_[label] >= bare.coverage_[label] for label in ("high", "low"))
    assert sum(related.coverage_.values()) > sum(bare.coverage_.values())
    model, beyond = related.estimator_, 0
    for rule in related.rules_:
        cases = pd.DataFrame(random_cases(rule.region, rng), columns=X.columns)
        assert (model.predict(cases) == rule.label).all()
        # The corner nearest to the plane alone would not prove all of them.
        plane = related.hyperplane_
        side = plane.side(1 if rule.label == related.classes_[1] else -1)
        beyond += not rule.region.is_inside(side)
        assert related.domain_.is_inside(rule.region, side)
    assert beyond > 0
    regions = [rule.region for rule in related.rules_ if rule.label == "low"]
    assert all(a.intersect(b).is_empty for k, a in enumerate(regions) for b in regions[:k])


def test_a_row_that_does_not_satisfy_the_relations_is_covered_by_no_rule(fitted):
    related = fitted["domain"]
    rows = X.iloc[:50].copy()
    rows["diastolic"] = rows["systolic"] + 1
    assert (related.which(rows) == -1).all()
    assert (related.predict(rows) == related.estimator_.predict(rows)).all()
    assert (related.which(X) >= 0).mean() > 0.8


def test_training_rows_beyond_the_relations_are_refused():
    with pytest.raises(
        InvalidValueError,
        match=r"relations cut off training points: \d+ of 300 rows .*diastolic = ",
    ):
        RuleExtractor(bounds=Domain(SPACE, relations="diastolic <= 60")).fit(X, Y)
    other = Domain(FeatureSpace(["diastolic", "sistolic"]), relations="diastolic <= sistolic")
    with pytest.raises(InvalidValueError, match="unknown feature 'sistolic'; did you mean 'systol"):
        RuleExtractor(bounds=other).fit(X, Y)


def test_relations_are_saved_and_proofs_checked_over_them(fitted, tmp_path):
    path = save_model(fitted["domain"], tmp_path / "model.json")
    document = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator(model_schema()).validate(document)
    assert (document["version"], document["relations"]) == (2, ["diastolic - systolic <= 0"])
    assert (
        json.loads(save_model(fitted["data"], tmp_path / "bare.json").read_text())["version"] == 1
    )
    loaded = load_model(path)
    assert loaded.relations == ORDERED.relations
    assert all(rule.proof == "proved" for rule in loaded.rules)
    assert load_model(save_model(loaded, tmp_path / "again.json")).relations == loaded.relations
    del document["relations"]
    path.write_text(json.dumps(document))
    with pytest.warns(UncertifiedWarning, match="rules are marked as proved in the file"):
        load_model(path)
    document["relations"] = ["diastolic <= sistolic"]
    path.write_text(json.dumps(document))
    with pytest.raises(
        FileDamagedError, match=r"json: 'relations': line 1, column 14: .*did you mean 'sy"
    ):
        load_model(path)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_what_is_proved_over_relations_is_right_at_the_worst_case_beyond_rounding(seed):
    rng = np.random.default_rng(seed)
    coef, intercept = rng.normal(size=3), float(rng.normal())
    plane = Hyperplane(coef, intercept)
    guard = Guard(plane.side(int(rng.choice([-1, 1]))), direct_error(plane))
    ends = np.sort(rng.choice([-np.inf, -2.0, -0.5, 0.0, 0.3, 1.0, np.inf], (2, 3)), axis=0)
    ends[0][ends[0] == np.inf], ends[1][ends[1] == -np.inf] = 0.0, 2.0
    box = Box(*ends)
    space = FeatureSpace(["a", "b", "c"], [-3.0] * 3, [3.0] * 3)
    declared = rng.random(3) < 0.5
    domain = Domain(space, declared, declared, relations="a <= b and b + c <= 1.5")
    lowest = domain.minimum(
        guard.halfspace.sign * coef, guard.halfspace.sign * intercept, within=box
    )
    if proves_over(guard, box, domain):
        assert lowest is None or lowest.value > 0
    else:
        # What is not proved is wrong, or within rounding of it, or has no end that rounding could be bounded by.
        open_columns = domain.tighten(box)
        endless = np.isinf(open_columns.lower) & np.isinf(open_columns.upper)
        assert lowest.value <= Fraction(1, 10**12) or endless.any()
