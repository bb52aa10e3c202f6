"""Rules and sets of rules against loops, pandas and hand counts; values that never change; feature spaces."""

import copy
import dataclasses
import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from tests.oracles.exact import covered_rows, first_true
from tests.oracles.values import INF, NAN, edges, finite, labels, rule_sets

from clearmargin import (
    Box,
    FeatureSpace,
    Hyperplane,
    Interval,
    Polyhedron,
    Rule,
    RuleScores,
    RuleSet,
    RuleStats,
)
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import rules_schema

SPACE = FeatureSpace(["age", "bmi", "smoker"], [0, -INF, -INF], [120, INF, INF], [True, False, False],
    {"smoker": ["no", "ex", "yes"]}, {"age": "years"})  # fmt: skip
OLD = Rule(Box([60, -INF, -INF], [80, 30.1, INF], True, [True, False, True], {2: [1, 2]}), "ill", name="old",
    weight=2.5, origin="extracted", proof="proved", stats=RuleStats(100, 40, 39, 40))  # fmt: skip
WEDGE = Rule(Polyhedron([[0.5, 1.0, 0.0], [0.0, -1.0, 0.0]], [40, 0], [False, True]), "well")
RULES = RuleSet(
    [OLD, WEDGE, Rule(Box.unbounded(3), "ill", origin="refined")], SPACE, ["well", "ill"]
)
VALIDATOR = jsonschema.Draft202012Validator(rules_schema())


VALUES = [Interval(0, 1), OLD.region, WEDGE.region, Hyperplane([1.0, -2.0, 0.0], 0.25),
    Hyperplane([1.0, -2.0, 0.0], 0.25).side(-1), SPACE, OLD, RULES, RuleStats(9, 5, 4, 5),
    RuleScores(RuleStats(9, 5), (RuleStats(9, 5),), 0)]  # fmt: skip


def arrays_in(value):
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        for item in held if isinstance(held, tuple) else (held,):
            if isinstance(item, np.ndarray):
                yield item
            elif dataclasses.is_dataclass(item):
                yield from arrays_in(item)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_value_that_travelled_is_the_same_and_cannot_be_changed(value):
    for arrived in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert (arrived, hash(arrived), repr(arrived)) == (value, hash(value), repr(value))
        for array in arrays_in(arrived):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
    assert [value == other for other in VALUES].count(True) == 1
    assert value != repr(value)


def test_value_of_minus_zero_is_that_of_zero():
    for make, field in ((lambda z: Interval(z, 1), "low"), (lambda z: Box([z, 0], [1, 1]), "lower"),
        (lambda z: Polyhedron([[1.0, z]], [z]), "b"), (lambda z: Hyperplane([1.0, z], z), "coef"),
        (lambda z: FeatureSpace(["a", "b"], [z, 0], [1, 1]), "lower")):  # fmt: skip
        assert make(-0.0) == make(0.0)
        assert hash(make(-0.0)) == hash(make(0.0))
        assert not np.signbit(getattr(make(-0.0), field)).any()


def test_value_does_not_see_later_changes_of_the_arrays_it_was_made_of():
    mine, flags = np.array([1.0, 2.0]), np.array([True, False])
    makes = [lambda a, f: Box(a, a + 1, f, f), lambda a, f: Polyhedron(a.reshape(1, -1), [1.0], f[:1]), lambda a,
        f: Hyperplane(a, 0.0), lambda a, f: FeatureSpace(["a", "b"], a, a + 1, f)]  # fmt: skip
    values = [make(mine, flags) for make in makes]
    mine[:], flags[:] = 7.0, [False, True]
    again = np.array([1.0, 2.0]), np.array([True, False])
    assert values == [make(*again) for make in makes]


def test_value_takes_numbers_of_any_kind_and_nothing_else():
    mixed = [1, np.float32(0.5), Fraction(1, 4), Decimal("0.125"), True]
    assert Hyperplane(mixed, np.int8(3)).coef.tolist() == [1.0, 0.5, 0.25, 0.125, 1.0]
    dates = np.array(["2020-01-01"], dtype="M8[D]")
    for wrong in (["1", "2"], [1.0, "2"], dates, [1j], [[1.0], [1.0, 2.0]], [10**400], [0.0, NAN]):
        with pytest.raises(InvalidValueError, match="weights"):
            Hyperplane(wrong, 0.0)
    for wrong in ("1", b"1", None, [1.0, 2.0], 10**400, 1j, NAN):
        with pytest.raises(InvalidValueError, match="intercept"):
            Hyperplane([1.0], wrong)


def test_sets_of_a_box_take_codes_in_any_order_and_refuse_others():
    value = Box.from_intervals({}, 4, {np.int64(3): [2.0, 1.0, 2.0], 0: {1}}).sets
    assert value == {0: {1}, 3: {1, 2}}
    with pytest.raises(TypeError):
        value[0] = frozenset()
    for wrong in (-1, 0.5, NAN, INF, "red", None):
        for sets in ({0: [wrong]}, {wrong: [0]}):
            with pytest.raises(InvalidValueError, match="whole numbers"):
                Box.from_intervals({}, 4, sets)


@given(st.tuples(*[st.integers(0, 50)] * 4))
def test_rule_stats_shares_are_quotients_of_the_counts(counts):
    agreed, correct, covered, rows = sorted(counts)
    stats = RuleStats(np.int64(rows), covered, np.uint8(correct), agreed)
    for share, part, whole in [(stats.coverage, covered, rows), (stats.accuracy, correct, covered),
            (stats.fidelity, agreed, covered)]:  # fmt: skip
        assert share == (part / whole if whole else pytest.approx(NAN, nan_ok=True))
    plain = json.loads(json.dumps(stats.to_dict()))
    assert [plain[name] for name in ("rows", "covered", "correct")] == [rows, covered, correct]
    assert (plain["accuracy"] is None) is (covered == 0)
    assert math.isnan(RuleStats(10, 5).accuracy)
    told = json.loads(json.dumps(RuleScores(stats, [stats], np.int64(0)).to_dict()))
    assert told == {"total": plain, "rules": [plain], "overlaps": 0}


def test_rule_label_becomes_a_plain_value():
    for given_label, label in [(np.str_("ill"), "ill"), (np.uint8(1), 1), (np.float32(1.5), 1.5),
        (np.bool_(False), False), (-(2**80), -(2**80)), (2**1000 - 1, 2**1000 - 1)]:  # fmt: skip
        found = Rule(Box([0.0], [1.0]), given_label).label
        assert (found, type(found)) == (label, type(label))


def test_rule_prints_itself_with_the_names_of_its_set():
    box = Box([30.0, -INF, -INF], [60.0, INF, 2.0], sets={1: {0, 2}})
    assert str(Rule(box, "ill")) == "30 <= x0 <= 60 and x1 in {`0`, `2`} and x2 <= 2 => ill"
    first = RuleSet([Rule(Box([30.0], [60.0]), "ill")], FeatureSpace(["<b>"]))
    second = RuleSet(first, FeatureSpace(["age"]))
    assert (str(first[0]), str(second[0])) == ("30 <= `<b>` <= 60 => ill", "30 <= age <= 60 => ill")
    assert "<b>" not in first[0]._repr_html_()
    assert str(pickle.loads(pickle.dumps(second))[0]) == str(second[0])


@given(data=st.data())
def test_rule_set_lets_the_first_covering_rule_decide(data):
    rules = data.draw(rule_sets())
    n = len(rules.space)
    value = edges | st.sampled_from([NAN, INF, -INF, 2.0])
    X = np.array(data.draw(st.lists(st.lists(value, min_size=n, max_size=n), max_size=8))).reshape(
        -1, n
    )
    fills = np.array([rules.space.fill_code(j) for j in range(n)], dtype=float)
    filled = np.where(np.isnan(X), fills, X).tolist()
    covered = covered_rows([rule.region for rule in rules], filled)
    np.testing.assert_array_equal(rules.covers(X), covered)
    first = first_true(covered)
    assert rules.which(X).tolist() == first
    for default in (None, data.draw(labels)):
        said = [default if r < 0 else rules[r].label for r in first]
        assert rules.predict(X, default=default).tolist() == said


@given(data=st.data())
def test_rule_set_scores_are_what_a_loop_counts(data):
    end = st.sampled_from([0.0, 1.0, 2.0])
    corners = data.draw(st.lists(st.tuples(end, end, st.sampled_from(["u", "v", 1])), max_size=4))
    space = FeatureSpace(["a", "b"])
    rules = RuleSet([Rule(Box([a, -INF], [INF, b]), label) for a, b, label in corners], space)
    row = st.tuples(end, end, st.sampled_from(["u", "v", 1, None]), st.sampled_from(["u", "v", 1]))
    rows = data.draw(st.lists(row, max_size=8))
    X = np.array([r[:2] for r in rows]).reshape(-1, 2)
    y, model = [r[2] for r in rows], np.array([r[3] for r in rows], dtype=object)
    scores = rules.score(X, y, model)
    hits = covered_rows([rule.region for rule in rules], X.tolist())

    def stats(said):
        answers = [(i, said(i)) for i in range(len(X)) if said(i) is not None]
        right = [sum(known[i] == label for i, label in answers) for known in (y, model)]
        return RuleStats(len(X), len(answers), *right)

    for r, rule in enumerate(rules):
        assert scores.rules[r] == stats(lambda i, r=r, own=rule: own.label if hits[i, r] else None)
    first = first_true(hits)
    assert scores.total == stats(lambda i: None if first[i] < 0 else rules[first[i]].label)
    assert scores.overlaps == sum(hits.sum(axis=1) > 1)


def test_rule_set_score_takes_a_classifier_or_answers_in_any_array():
    X, line = np.array([[0.0], [1.0], [2.0], [3.0]]), FeatureSpace(["x"])
    model = DecisionTreeClassifier(random_state=0).fit(X, ["a", "a", "b", "b"])
    rules = RuleSet([Rule(Box([1.0], [INF]), "b")], line, ["a", "b"])
    assert rules.score(X, model=model).total == RuleStats(4, 3, None, 2)
    everywhere = RuleSet([Rule(Box.unbounded(1), "a")], line)
    for y in (["a", "b", None], pd.Series(["a", "b", "c"], index=[7, 8, 9]), pl.Series(["a", "b", "c"]),
            pd.Series(["a", "b", None], dtype="string"), pd.Categorical(["a", "b", "c"])):  # fmt: skip
        assert everywhere.score(X[:3], y).total == RuleStats(3, 3, 1)
    for y in (["a"], [["a"], ["b"]], "ab", pd.DataFrame({"y": ["a", "b"]})):
        for name in ("y", "model"):
            with pytest.raises(DataError, match=f"{name} has shape"):
                everywhere.score(X[:2], **{name: y})


def test_rule_set_predicts_the_classes_themselves():
    regions = [Box([0.0], [1.0], True, False), Box([1.0], [2.0], True, False)]
    for two, default, kind in [
        (["a", "bc"], "d", "U"),
        ([0, 1], 1, "i"),
        ([True, False], True, "b"),
        ([0.5, 1], 0, "f"),
        (["a", 1], "b", "O"),  # as text, 1 would be "1"
        ([2**63 + 1, 1], -1, "O"),  # as floats, the first would be rounded
        (["a\0", "b"], "c", "O"),  # numpy cuts the zero off
        (["a", "b"], None, "O"),
    ]:
        members = [Rule(region, label) for region, label in zip(regions, two, strict=True)]
        rules = RuleSet(members, FeatureSpace(["x"]))
        said = rules.predict([[0.0], [1.0], [5.0]], default=default)
        assert (said.tolist(), said.dtype.kind) == ([*two, default], kind)


def test_rule_set_is_a_sequence_whose_slices_keep_features_and_classes():
    assert list(RULES) == [*RULES.rules] == [RULES[0], RULES[1], RULES[2]]
    assert (RULES[-1] is RULES.rules[2], RULES.index(RULES[2]), len(RULES)) == (True, 2, 3)
    part = RULES[1:]
    assert (part.rules, part.space, part.classes) == (RULES.rules[1:], SPACE, RULES.classes)
    assert RULES[::-1].rules == RULES.rules[::-1]
    used = RULES[:]
    used.covers([[30.0, 20.0, 1.0]])
    assert used == RULES == pickle.loads(pickle.dumps(used))
    found = RuleSet([Rule(Box.unbounded(3), label) for label in "bab"], SPACE)
    assert found.classes == ("b", "a")
    assert RuleSet(found.rules, SPACE, np.array(["a", "b"])).classes == ("a", "b")
    kept = pickle.loads(pickle.dumps(RULES))[0]
    assert (kept.origin, kept.proof, kept.stats) == (OLD.origin, OLD.proof, OLD.stats)


def everything(rules):
    """Also what does not count for equality; a file only states proofs."""
    return rules, [(r.origin, {"proved": "stated"}.get(r.proof, r.proof), r.stats) for r in rules]


@given(rules=rule_sets(bounds=finite))
def test_rule_set_document_reads_back_and_fits_the_schema(rules, tmp_path_factory):
    plain = json.loads(json.dumps(rules.to_dict(), allow_nan=False))
    VALIDATOR.validate(plain)
    assert everything(RuleSet.from_dict(plain)) == everything(rules)
    kinds = [type(c) for c in rules.classes]
    assert [type(c) for c in RuleSet.from_dict(plain).classes] == kinds
    asks = any(r.region.missing or r.region.known for r in rules) or set(rules.space.fill) - {None}
    assert plain["version"] == (2 if asks else 1)
    path = rules.save(tmp_path_factory.getbasetemp() / "round-trip.json", overwrite=True)
    assert everything(RuleSet.load(path)) == everything(rules)
    path = rules.save(path.with_suffix(".rules"), overwrite=True)
    assert RuleSet.load(path) == rules


DOCUMENT = """{"format": "clearmargin-rules", "version": 1, "classes": ["well", "ill"], "features": [
    {"name": "age", "lower": 0.0, "upper": 120.0, "integer": true, "unit": "years"},
    {"name": "bmi"}, {"name": "smoker", "categories": ["no", "ex", "yes"]}
], "rules": [
    {"label": "ill", "name": "old", "weight": 2.5, "origin": "extracted", "proof": "proved",
     "stats": {"rows": 100, "covered": 40, "correct": 39, "agreed": 40},
     "when": [{"feature": "age", "at_least": 60.0, "at_most": 80.0},
              {"feature": "bmi", "below": 30.1}, {"feature": "smoker", "in": ["ex", "yes"]}]},
    {"label": "well", "origin": "expert",
     "when": [{"linear": {"age": 0.5, "bmi": 1.0}, "at_most": 40.0},
              {"linear": {"bmi": -1.0}, "below": 0.0}]},
    {"label": "ill", "origin": "refined", "when": []}
]}"""


def test_rule_set_document_of_today_is_that_of_yesterday():
    assert RULES.to_dict() == json.loads(DOCUMENT)
    assert RuleSet.from_dict(json.loads(DOCUMENT)) == RULES
    assert RuleSet.from_text(str(RULES), space=SPACE, classes=RULES.classes) == RULES
    jsonschema.Draft202012Validator.check_schema(rules_schema())


GUESSED = FeatureSpace(["age", "bmi", "smoker"], [40, 20.5, -INF], [60, 31, INF], [True, False, False],
    {"smoker": ["ex", "no"]})  # fmt: skip


@given(st.integers(0, 10**6), st.sampled_from([0, 1, 3, 20_000]))
def test_feature_space_from_data_has_the_ranges_of_the_known_values(seed, rows):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=rows), rng.integers(0, 9, rows), np.full(rows, NAN)])
    X[rng.random(X.shape) < 0.3] = NAN
    if rows > 1:
        X[-1, 1] = rng.choice([9.0, 8.5])
    space = FeatureSpace.from_data(X)
    for j, column in enumerate(X.T):
        known = column[~np.isnan(column)]
        ends = (known.min(), known.max()) if len(known) else (-INF, INF)
        assert (space.lower[j], space.upper[j]) == ends
        assert space.integer[j] == (len(known) > 0 and (known == np.round(known)).all())
    np.testing.assert_array_equal(space.read(X), X)


def test_feature_space_fill_takes_the_place_of_missing_values():
    kinds = {"job": ["sits", "walks"]}
    space = FeatureSpace(["age", "job", "bmi"], categories=kinds, fill={"age": 35, "job": "walks"})
    assert [space.fill_code(j) for j in range(3)] == [35.0, 1.0, None]
    frame = pd.DataFrame({"bmi": [NAN, 20.0], "age": [NAN, 50.0], "job": [None, "sits"]})
    array = np.array([[NAN, NAN, NAN], [50.0, 0.0, 20.0]])
    for X in (frame, array):
        np.testing.assert_array_equal(space.read(X), [[35.0, 1.0, NAN], [50.0, 0.0, 20.0]])
    assert np.isnan(array[0]).all()
    narrow = FeatureSpace(["n"], [0], [9], integer=True)
    wider = narrow.with_fill({"n": 12.5})
    assert (wider.lower[0], wider.upper[0], wider.integer[0]) == (0.0, 12.5, False)
    assert (narrow.with_fill({"n": -3}).lower[0], wider.with_fill(None).fill) == (-3.0, (None,))
    assert narrow.with_fill({"n": 3}).integer[0]
    filled = FeatureSpace(["age"], fill={"age": 35})
    assert RuleSet([Rule(Box([-INF], [INF], known=[0]), "a")], filled).covers([[NAN]]).all()


BOX, BOX3, LINE = Box([0.0], [1.0]), Box.unbounded(3), FeatureSpace(["x"])
JOBS = {"names": ["age", "job"], "categories": {"job": ["sits", "walks"]}}
FREE = {"lower": [-INF] * 3, "upper": [INF] * 3}


def test_bad_rules_and_spaces_are_refused():
    for act, name in [
        (lambda: RuleStats(5, 6), "covered=6"),
        (lambda: RuleStats(5.0, 3), "rows"),
        (lambda: RuleScores(RuleStats(5, 3), (), 1.5), "overlaps"),
        *[
            (lambda label=label: Rule(BOX, label), "class label")
            for label in ("", None, NAN, INF, b"ill", ("a",), 2**1000, 1j, np.array(["ill"]))
        ],
        (lambda: Rule(Box([1.0], [0.0]), "a"), "empty"),
        (lambda: Rule(Polyhedron([[1.0], [-1.0]], [0.0, -1.0]), "a"), "empty"),
        (lambda: Rule(Box([3.0], [4.0], missing=[0]), "a"), "missing"),
        (lambda: Rule([[0, 1]], "a"), "region"),
        (lambda: Rule(BOX, "a", name=""), "name"),
        *[(lambda w=w: Rule(BOX, "a", weight=w), "weight") for w in (0, -1.0, INF, NAN, "2", None)],
        (lambda: Rule(BOX, "a", origin="guess"), "origin"),
        (lambda: Rule(BOX, "a", proof="maybe"), "proof"),
        (lambda: Rule(BOX, "a", stats={"rows": 1}), "stats"),
        (lambda: RuleSet([Rule(BOX3, "a"), Rule(BOX, "a")], SPACE), "rule 2"),
        (lambda: RuleSet([Rule(BOX, "a")], LINE, ["aa", "A"]), "'A'"),
        (lambda: RuleSet([Rule(BOX, "a")], ["x"]), "space"),
        (lambda: RuleSet([Rule(Box(**FREE, sets={2: [3]}), "a")], SPACE), "'smoker'"),
        (lambda: RuleSet([Rule(Box([-INF], [INF], missing=[0]), "a")], LINE.with_fill([3])), "'x'"),
        (lambda: RuleSet([], LINE).predict([[0.0]], default=""), "class label"),
        (lambda: RULES.save("rules.txt"), "rules.txt"),
        (lambda: FeatureSpace("ab"), "'ab'"),
        (lambda: FeatureSpace(["a", ""]), "feature 2"),
        (lambda: FeatureSpace(["a", "b", "a"]), "'a'"),
        (lambda: FeatureSpace(["a"], [2], [1]), "'a'"),
        (lambda: FeatureSpace(["a"], lower=[NAN]), "lower"),
        (lambda: FeatureSpace(["a"], integer=[1]), "integer"),
        (lambda: FeatureSpace(["a"], categories=[]), "categories"),
        (lambda: FeatureSpace(["age"], units={"agee": "y"}), "'agee'"),
        (lambda: FeatureSpace(**JOBS, fill={"job": "sit"}), "'sits'"),
        (lambda: FeatureSpace(**JOBS, fill={"age": "old"}), "'age'"),
    ]:
        with pytest.raises(InvalidValueError, match=name):
            act()


TWICE, DATES = pd.DataFrame([["x", 1]], columns=["a", "a"]), pd.to_datetime(["2020-01-01"])


def test_tables_that_do_not_fit_a_feature_space_are_refused():
    for act, name in [(lambda: FeatureSpace(["glucose"]).read(pd.DataFrame({"Glucos": [1]})), "'Glucos'"),
        (lambda: GUESSED.index("smokr"), "'smoker'"),
        (lambda: FeatureSpace(["a", "b"]).read([[1, 2], [3, "x"]]), "'b', row 2"),
        (lambda: FeatureSpace.from_data(TWICE), "'a'"),
        (lambda: FeatureSpace.from_data(pd.DataFrame({"when": DATES})), "'when'"),
        (lambda: FeatureSpace(["a", "b"]).read([[1.0]]), "2 features")]:  # fmt: skip
        with pytest.raises(DataError, match=name):
            act()
