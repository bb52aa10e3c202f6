"""Models and rules side by side: against counts by hand, enumeration, scipy's tests, and noise."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control, hypergeom
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import clearmargin as cm
from clearmargin.compare import check_drift, compare_extractors, compare_models, compare_rules
from clearmargin.exceptions import DataError, InvalidValueError

from ..conftest import ring


def count_by_hand(extractor, model, X, y):
    """The definitions, row by row and rule by rule."""
    rules, m, last = extractor.rules_, len(X), model.classes_[1]
    hits = [[k for k, rule in enumerate(rules) if rule.region.contains(x[None])[0]] for x in X]
    covered = [k for k in range(m) if hits[k]]
    said, model_said = extractor.predict(X), model.predict(X)
    ends = [np.concatenate([rule.region.lower, rule.region.upper]) for rule in rules]
    length = [np.isfinite(values).sum() for values in ends]
    score = np.full(m, 0.5)
    for k in covered:
        first = rules[hits[k][0]]
        share = (first.stats.correct + 1) / (first.stats.covered + 2)
        score[k] = share if first.label == last else 1 - share
    return {
        "accuracy": np.mean(said == y), "auc": roc_auc_score(y == last, score.round(12)),
        "fidelity": np.mean(said == model_said), "coverage": len(covered) / m,
        "covered_accuracy": np.mean(said[covered] == y[covered]),
        "covered_fidelity": np.mean(said[covered] == model_said[covered]), "rules": len(rules),
        "conditions": np.mean(length),
        "explanation": np.mean([length[hits[k][0]] for k in covered]),
        "overlap": np.mean([len({rules[k].label for k in found}) > 1 for found in hits]),
        "proved": np.mean([rule.proof == "proved" for rule in rules]),
    }  # fmt: skip


def test_figures_of_extractors_are_those_of_a_count_by_hand():
    X, y = ring(120, seed=3)
    machine = make_pipeline(StandardScaler(), SVC())
    extractors = {
        "tuned": cm.SupportVectorRules(),
        "silent": cm.SupportVectorRules(fallback="abstain", max_rules=1),
        "linear": cm.RuleExtractor(),
    }
    found = compare_extractors(machine, X, y, cv=3, extractors=extractors, random_state=5)
    expected = {name: [] for name in ("tuned", "silent")}
    accuracies, areas = [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=5).split(X, y):
        model = clone(machine).fit(X[train], y[train])
        accuracies.append(model.score(X[test], y[test]))
        areas.append(roc_auc_score(y[test], model.decision_function(X[test])))
        for name, folds in expected.items():
            mine = clone(extractors[name]).set_params(estimator=model).fit(X[train], y[train])
            folds.append(count_by_hand(mine, model, X[test], y[test]))
    assert found.model_accuracies == pytest.approx(accuracies)
    assert found.model_auc == pytest.approx(np.mean(areas))
    frame = found.to_frame()
    for name, folds in expected.items():
        by_hand = pd.DataFrame(folds)
        for measure, values in by_hand.items():
            assert found[name].values(measure) == pytest.approx(values.tolist()), measure
            assert frame.loc[name, measure] == pytest.approx(values.mean())
            spread = values.std() * np.sqrt(1 / 3 + 1 / 2)
            # Of shares, errors over rows count where they are larger.
            assert frame.loc[name, f"{measure}_se"] >= spread - 1e-12
    # What an extractor refuses is told, and the others go on.
    assert "NotLinearError" in frame.loc["linear", "failure"]
    assert math.isnan(frame.loc["linear", "fidelity"])
    assert "<table" in found._repr_html_()
    assert found["silent"].mean("coverage") < 1


def test_extractors_that_fit_are_compared_on_rows_held_out():
    X, y = ring(90, seed=1, n=2)
    options = {"cv": 2, "groups": np.arange(90) // 5, "random_state": 0}
    found = compare_extractors(LogisticRegression(), X, y, **options)
    again = compare_extractors(LogisticRegression().fit(X, y), X, y, **options)
    np.testing.assert_array_equal(found["linear"].folds[:, :-1], again["linear"].folds[:, :-1])
    for model, more, named in (
        *((SVR(), {}, "SVR"), (FrozenEstimator(SVC().fit(X, y)), {}, "FrozenEstimator")),
        *(
            (SVC(), {"extractors": {}}, "extractors"),
            (SVC(), {"extractors": {"it": SVC()}}, "estimator"),
        ),
        *((SVC(), {"cv": []}, "folds"), (SVC(), {"cv": 1}, "cv")),
    ):
        with pytest.raises(InvalidValueError, match=named):
            compare_extractors(model, X, y, **more)
    with pytest.raises(InvalidValueError, match="accuracy"):
        found["linear"].mean("speed")
    with pytest.raises(KeyError, match="linear"):
        found["fuzzy"]


NAMES = ["a", "b", "c"]
INTERVAL = st.builds(
    lambda ends, free, closed: cm.Interval(
        -math.inf if free == "low" else min(ends),
        math.inf if free == "high" else max(ends),
        closed=closed,
    ),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.sampled_from(["low", "high", "both"]),
    st.sampled_from(["left", "right", "both", "neither"]),
)


@st.composite
def rule_sets(draw, space):
    rules = []
    for _ in range(draw(st.integers(1, 4))):
        intervals = draw(st.dictionaries(st.sampled_from([0, 1]), INTERVAL))
        sets = draw(st.dictionaries(st.just(2), st.sampled_from([[0], [1]])))
        free = [j for j in (0, 1) if j not in intervals]
        missing = draw(st.lists(st.sampled_from(free), max_size=1)) if free else []
        box = cm.Box.from_intervals(intervals, 3, sets, missing=missing)
        if not box.is_empty:
            rules.append(cm.Rule(box, draw(st.sampled_from(["yes", "no"]))))
    return cm.RuleSet(rules, space, ["yes", "no"])


def answers(rules, frame):
    which = rules.which(frame) if len(rules) else np.full(len(frame), -1)
    return np.array(["none" if k < 0 else rules[k].label for k in which])


@given(data=st.data(), whole=st.booleans())
def test_rules_differ_exactly_where_enumeration_finds_a_case(data, whole):
    space = cm.FeatureSpace(NAMES, integer=[whole, whole, False], categories={"c": ["x", "y"]})
    numbers = [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, math.nan, *([] if whole else [0.5, 1.5, 2.5])]
    rows = itertools.product(numbers, numbers, ["x", "y", None])
    frame = pd.DataFrame(list(rows), columns=NAMES).astype({"c": object})
    old = data.draw(rule_sets(space))
    # Often close to the old ones, so that equal decisions occur, too.
    reversed_ = cm.RuleSet(old[::-1], space, old.classes)
    new = data.draw(st.one_of(rule_sets(space), st.just(reversed_)))
    found = compare_rules(old, new)
    differs = answers(old, frame) != answers(new, frame)
    assert found.decisions == ("different" if differs.any() else "same")
    if found.witness is not None:
        case = pd.DataFrame([{"a": 0.0, "b": 0.0, "c": "x", **found.witness}])[NAMES]
        case = case.astype({"a": float, "b": float, "c": object})
        one, other = (answers(rules, case)[0] for rules in (old, new))
        assert one != other
        assert ["none" if label is None else label for label in found.labels] == [one, other]
    # Rules in common cover the same cases, and no twins are left over.
    covers = [r.covers(frame) if len(r) else np.zeros((len(frame), 0)) for r in (old, new)]
    pairs = itertools.product(range(len(old)), range(len(new)))
    same = {
        (i, j)
        for i, j in pairs
        if old[i].label == new[j].label and (covers[0][:, i] == covers[1][:, j]).all()
    }
    assert set(found.common) <= same
    left_old = {*range(len(old))} - {i for i, _ in found.common}
    left_new = {*range(len(new))} - {j for _, j in found.common}
    assert not same & set(itertools.product(left_old, left_new))
    assert left_old == {c.old for c in found.changed} | set(found.gone)
    assert left_new == {c.new for c in found.changed} | set(found.added)
    for change in found.changed:
        before, after = covers[0][:, change.old], covers[1][:, change.new]
        assert (change.relation == "wider") == bool((before <= after).all())


def test_rules_are_compared_by_what_they_mean():
    def read(text, *names, **options):
        return cm.RuleSet.from_text(f"{text} => ill", cm.FeatureSpace(names, **options))

    old = read("age > 3 and bmi < 25", "age", "bmi", integer=[True, False])
    new = read("bmi < 25 and age >= 4", "bmi", "age", integer=[False, True])
    assert compare_rules(old, new).decisions == "same"
    three, four = cm.parse_rules("age > 3 => ill"), cm.parse_rules("age >= 4 => ill")
    assert 3 < compare_rules(three, four).witness["age"] < 4
    known = cm.FeatureSpace(["age"], [0], [120], integer=True)
    assert compare_rules(three, four, known).decisions == "same"
    plain, filled = read("age >= 60", "age"), read("age >= 60", "age", fill={"age": 70})
    assert compare_rules(plain, filled).witness == {"age": None}
    linear, other = (cm.parse_rules(f"0.5*age + bmi <= {k} => well") for k in (40, 41))
    assert compare_rules(linear, linear).common == ((0, 0),)
    assert compare_rules(linear, other).decisions == "unknown"
    rules = cm.parse_rules("a < 3 and b < 3 => yes\na >= 3 and b < 3 => yes")
    assert compare_rules(rules, rules[::-1], max_cells=1).decisions == "unknown"
    data = compare_rules(cm.parse_rules("low: age >= 60 => ill"), four).to_dict()
    assert data["changed"][0]["conditions"][0]["after"] == "age >= 4"
    with pytest.raises(InvalidValueError, match="smoker"):
        compare_rules(cm.parse_rules("smoker = yes => ill"), cm.parse_rules("smoker >= 1 => ill"))


RULE = cm.parse_rules("age >= 60 => ill")


def drift(covered, right, rows, **options):
    """The drift of a rule on a table with so many rows under it, so many of them right."""
    table = {"age": [70] * covered + [30] * (rows - covered)}
    truth = ["ill"] * right + ["well"] * (rows - right)
    return check_drift(RULE, table, truth, **options).rules[0]


def test_drift_intervals_and_p_values_are_those_of_scipy():
    for count, total, level in [(3, 10, 0.95), (40, 60, 0.9), (0, 5, 0.95), (200, 200, 0.99)]:
        for ours, theirs in (("clopper-pearson", "exact"), ("wilson", "wilson")):
            figure = drift(total, count, total, confidence=level, interval=ours).precision
            wanted = binomtest(count, total).proportion_ci(level, theirs)
            assert (figure.low, figure.high) == pytest.approx(tuple(wanted), abs=1e-12)
    found = drift(12, 8, 30, before=[cm.RuleStats(90, 60, 57)]).precision
    law = hypergeom(12 + 60, 8 + 57, 12)  # right ones among the twelve, if all 72 are alike
    chances = law.pmf(np.arange(13))
    assert found.p_value == pytest.approx(chances[chances <= law.pmf(8) * (1 + 1e-7)].sum())
    for covered, right, verdict in (
        (80, 76, "no change shown"),
        (80, 40, "less often right"),
        (20, 5, "covers less, less often right"),
        (150, 142, "covers more"),
    ):
        told = drift(covered, right, 200, before=[cm.RuleStats(400, 160, 152)])
        assert told.verdict == verdict
    report = check_drift(RULE, {"age": [70, 30]}, before=[cm.RuleStats(10, 5, 5)])
    assert (report.rules[0].precision, report.n_tests) == (None, 1)
    assert report.to_dict()["rules"][0]["precision"] is None
    assert "age >= 60" in str(report)
    for options, named in (
        ({"confidence": 1.5}, "confidence"),
        ({"interval": "wald"}, "interval"),
        ({"before": []}, "figures"),
    ):
        with pytest.raises(InvalidValueError, match=named):
            drift(1, 1, 2, **options)
    with pytest.raises(DataError, match="rows"):
        check_drift(RULE, np.empty((0, 1)), [])


def test_drift_is_seldom_found_where_there_is_none_and_corrected_as_holm_says():
    rng = np.random.default_rng(3)
    rules = cm.parse_rules("x >= 0.5 => a\nx < 0.2 => b\n0.2 <= x < 0.5 => a")
    alarms = 0
    for _ in range(40):
        (x, y), (new, now) = (
            (rng.random(60), np.where(rng.random(60) < 0.7, "a", "b")) for _ in range(2)
        )
        report = check_drift(rules, {"x": new}, now, before=rules.score({"x": x}, y).rules)
        alarms += bool(report.drifted)
        figures = [f for r in report.rules for f in (r.coverage, r.precision) if f.p_value]
        p, q = (np.array([getattr(f, name) for f in figures]) for name in ("p_value", "q_value"))
        # The step-down maximum of Bonferroni's bounds; Benjamini and Hochberg's are smaller.
        by_size = np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1)).clip(max=1)
        assert np.sort(q) == pytest.approx(by_size)
        assert (q >= false_discovery_control(p) - 1e-12).all()
    assert alarms <= 6  # 5 % of 40 are 2; more than 6 has a chance below 1 %


LABELS = st.tuples(*[st.sampled_from(["a", "b", None])] * 2, st.sampled_from("ab"))


@given(st.lists(LABELS, min_size=1))
def test_flips_and_the_paired_test_are_those_of_the_rows(rows):
    before, after, truth = (list(column) for column in zip(*rows, strict=True))
    X = np.zeros((len(rows), 1))
    found = compare_models(before, after, X, truth)
    wanted = [k for k, (one, other, _) in enumerate(rows) if one != other]
    assert [flip.row for flip in found.flips] == wanted
    right = [sum(a == b for a, b in zip(said, truth, strict=True)) for said in (before, after)]
    assert list(found.right) == right
    assert right[1] - right[0] == found.better - found.worse
    n = found.better + found.worse
    assert found.p_value == pytest.approx(binomtest(found.better, n).pvalue if n else 1.0)
    assert found.silent == (before.count(None), after.count(None))
    assert json.loads(json.dumps(found.to_dict()))["flips"] == [f.to_dict() for f in found.flips]


def test_models_rules_and_predictions_are_compared_with_each_other():
    X = pd.DataFrame({"age": [20, 40, 60, 80]}, index=["ann", "bob", "cleo", "dan"])
    y = ["well", "ill", "ill", "ill"]
    model = LogisticRegression().fit(X, y)
    rules = cm.parse_rules("age >= 70 => ill\nage <= 30 => well")
    found = compare_models(rules, model, X, y)
    told = [(flip.row, flip.before, flip.after, flip.effect) for flip in found.flips]
    assert told == [(1, None, "ill", "better"), (2, None, "ill", "better")]
    assert not compare_models(model, model.predict(X), X).flips
    assert compare_models(["a", "b"], ["b", "b"], [[1], [2]]).p_value is None
    for old, truth, named in (
        (["a"], None, "old"),
        (["a", "b"], ["a"], "y"),
        ("rules", None, "old"),
    ):
        with pytest.raises(DataError, match=named):
            compare_models(old, ["a", "b"], [[1], [2]], truth)
