"""What is said of rules while they are written: counts by a plain loop, proofs by exact corners, the kinds of yes."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workbench.benches import opened_task, patients

from clearmargin import parse_rules
from clearmargin.models.planes import Planes
from clearmargin.rules import RuleSet
from clearmargin.workbench.rule_judgement import Predictions, RuleJudge, box_facts

CLASSES = ("well", "ill")


@cache
def some():
    """A task of patients; not a fixture, since hypothesis would write it out."""
    return opened_task(patients(120, seed=3), "state", positive="ill")


def plane(opened, coef, intercept):
    """A plane over the columns colour = blue, green, red, then age and dose; positive for ill."""
    planes = Planes(RuleSet([], opened.task.X.space(), CLASSES), [coef], [intercept])
    scores = np.ravel(planes.decision_function(opened.task.X))
    codes = opened.encode(planes.predict(opened.task.X))
    return Predictions(codes, scores, planes)


# Counts: rules as plain data, evaluated case by case.

NUMBERS = st.tuples(
    st.sampled_from(["age", "dose"]),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.one_of(st.integers(0, 90), st.sampled_from([0.25, 0.5, 0.77, 41.5])),
)
CATEGORIES = st.tuples(
    st.just("colour"),
    st.sampled_from(["=", "in"]),
    st.sampled_from([("red",), ("blue",), ("green", "blue")]),
)
SUMS = st.tuples(st.just("sum"), st.sampled_from([0.5, 1.0, -2.0]), st.integers(20, 90))
PLAIN_RULES = st.lists(
    st.tuples(
        st.lists(st.one_of(NUMBERS, CATEGORIES, SUMS), min_size=1, max_size=3),
        st.sampled_from(CLASSES),
    ),
    min_size=1,
    max_size=4,
)


def written(condition):
    feature, sign, value = condition
    if feature == "sum":
        return f"age + {sign!r}*dose <= {value}".replace("+ -", "- ")
    if feature == "colour":
        if sign == "in":
            return f"colour in {{{', '.join(value)}}}"
        return f"colour {sign} {value[0]}"
    return f"{feature} {sign} {value}"


def holds(condition, case):
    feature, sign, value = condition
    if feature == "sum":
        return case["age"] + sign * case["dose"] <= value
    if feature == "colour":
        if sign == "in":
            return case["colour"] in value
        return case["colour"] == value[0]
    there = case[feature]
    return {
        "<": there < value,
        "<=": there <= value,
        ">": there > value,
        ">=": there >= value,
        "=": there == value,
    }[sign]


@given(rules=PLAIN_RULES)
def test_counts_are_those_of_a_plain_loop(rules):
    opened = some()
    text = "\n".join(f"{' and '.join(map(written, c))} => {label}" for c, label in rules)
    predictions = plane(opened, [0, 0.5, 2.0, 0.1, -1.0], -5.0)
    answer = RuleJudge(opened, predictions).judge(text)
    cases = [opened.case(k) for k in range(len(opened.codes))]
    covered = {
        place: [k for k, case in enumerate(cases) if all(holds(c, case) for c in conditions)]
        for place, (conditions, _) in enumerate(rules)
    }
    # Only conditions that nothing can satisfy are mistakes.
    assert not any(covered[mistake["line"] - 1] for mistake in answer["errors"])
    assert len(answer["rules"]) == len(rules) - len({m["line"] for m in answer["errors"]})
    for told in answer["rules"]:
        inside, label = covered[told["place"]], rules[told["place"]][1]
        against = [k for k in inside if opened.task.y[k] != label]
        machine = [k for k in inside if CLASSES[predictions.codes[k]] != label]
        assert told["covered"] == len(inside)
        assert told["right"] == len(inside) - len(against)
        assert (told["against_count"], told["disagree_count"]) == (len(against), len(machine))
        assert told["agreed"] == len(inside) - len(machine)
        nearness = {k: abs(predictions.scores[k]) for k in inside}
        for named, found in ((told["against"], against), (told["disagree"], machine)):
            first = sorted(found, key=lambda k: nearness[k])[:8]
            assert named == [int(opened.rows[k]) for k in first]


def test_numbers_of_rows_are_those_of_the_whole_table():
    table = patients(200, seed=4)
    opened = opened_task(table, "state", share=0.3)
    answer = RuleJudge(opened).judge("age >= 70 => well")
    rows = answer["rules"][0]["against"]
    assert rows
    assert all(table["age"][row - 1] >= 70 and table["state"][row - 1] == "ill" for row in rows)


def test_the_cases_of_a_contradiction_are_named():
    opened = some()
    answer = RuleJudge(opened).judge("age >= 60 => ill\nage >= 70 => well")
    clash = next(f for f in answer["findings"] if f["rules"] == [0, 1])
    both = {
        int(row) for row, age in zip(opened.rows, opened.points[:, 1], strict=True) if age >= 70
    }
    assert set(clash["rows"]) == both
    assert clash["count"] == len(both)
    assert clash["spans"] == [[0, 16], [17, 34]]


def test_rules_with_mistakes_keep_their_places():
    opened = some()
    text = "age >= 60 => ill\nagee < 3 => ill\n# a remark\nold: age >= 70 => ill"
    answer = RuleJudge(opened).judge(text)
    assert [rule["place"] for rule in answer["rules"]] == [0, 2]
    (mistake,) = answer["errors"]
    assert text[mistake["from"] : mistake["to"]] == "agee"
    assert mistake["fix"] == "age"
    for rule in answer["rules"]:
        assert text[rule["class_span"][0] : rule["class_span"][1]] == "ill"
        assert text[rule["premise"][0] : rule["premise"][1]].startswith("age")
        bound = rule["conditions"][0]["bounds"][0]
        assert float(text[bound["from"] : bound["to"]]) == bound["value"]


@pytest.mark.parametrize(
    "text", ["", "  \n# only a remark", "age >= ", "=>", "\x00", "\U0001f600 => ill"]
)
def test_a_text_without_a_rule_has_an_answer(text):
    opened = some()
    answer = RuleJudge(opened).judge(text)
    assert answer["rules"] == []
    assert answer["findings"] == []
    assert answer["vote"] is None


def test_a_rule_that_asks_for_a_gap_is_a_mistake_at_its_place_and_the_others_are_judged():
    text = "age >= 60 => ill\nage >= 3 and dose is missing => ill\nold: age >= 70 => ill\n"
    text += "colour is not missing => well"
    judge = RuleJudge(some())
    answer = judge.judge(text)
    assert [text[e["from"] : e["to"]] for e in answer["errors"]] == [
        "dose is missing",
        "colour is not missing",
    ]
    assert [(e["line"], e["column"]) for e in answer["errors"]] == [(2, 14), (4, 1)]
    assert "gaps were filled, or such rows left out" in answer["errors"][0]["message"]
    assert [rule["place"] for rule in answer["rules"]] == [0, 2]
    assert [rule["name"] for rule in answer["rules"]] == [None, "old"]
    assert [s.rule for s in judge.read(text).statements] == [0, None, 1, None]
    assert len(judge.read(text).rules) == 2


def test_very_many_rules_are_counted_and_not_compared_with_each_other():
    text = "\n".join(f"age >= {20 + k / 8} => ill" for k in range(450))
    answer = RuleJudge(some()).judge(text)
    assert len(answer["rules"]) == 450
    (finding,) = answer["findings"]
    assert "450" in finding["message"]
    assert answer["rules"][0]["covered"] == 120


# Proofs: exact corners.


def lowest(coef, intercept, sides):
    """The lowest score over a box of sides (values, is_attained), exactly; whether it is taken; None for -infinity."""
    total, is_taken = Fraction(intercept), True
    for weight, side in zip(coef, sides, strict=True):
        if isinstance(side, list):  # one weight for each category that is allowed
            total += min(Fraction(weight[code]) for code in side)
            continue
        if not weight:
            continue
        (low, low_taken), (high, high_taken) = side
        end, taken = (low, low_taken) if weight > 0 else (high, high_taken)
        if math.isinf(end):
            return None, False
        total += Fraction(weight) * Fraction(end)
        is_taken = is_taken and taken
    return total, is_taken


def gives(label, score, is_taken):
    """Whether the class is given everywhere, where a score of 0 gets the first class."""
    if score is None:
        return False
    return score > 0 or (score == 0 and (label == "well" or not is_taken))


QUARTERS = st.integers(-8, 8).map(lambda k: k / 4)
ENDS = st.tuples(st.one_of(st.none(), QUARTERS), st.booleans())


@cache
def small():
    """All cases of a small world: colours, whole ages from -2 to 2, doses in halves."""
    cases = list(product(["blue", "green", "red"], range(-2, 3), np.arange(-2, 2.5, 0.5)))
    columns = {
        "colour": np.array([c for c, _, _ in cases], dtype=object),
        "age": np.array([a for _, a, _ in cases]),
        "dose": np.array([d for _, _, d in cases]),
        "state": np.array(["ill" if a + d > 0 else "well" for _, a, d in cases], dtype=object),
    }
    opened = opened_task(columns, "state", positive="ill")
    assert opened.space.integer.tolist() == [False, True, False]
    return opened


def side_of(bounds, is_whole):
    """The ends of an interval as values and whether they are taken; whole numbers have only whole ones."""
    (low, low_open), (high, high_open) = bounds
    if not is_whole:
        ends = [(-math.inf, False) if low is None else (low, not low_open)]
        ends.append((math.inf, False) if high is None else (high, not high_open))
        return tuple(ends)
    start = -math.inf if low is None else math.ceil(low) + (low_open and float(low).is_integer())
    stop = math.inf if high is None else math.floor(high) - (high_open and float(high).is_integer())
    return (start, True), (stop, True)


def within_ranges(side):
    (low, low_taken), (high, high_taken) = side
    if low < -2:
        low, low_taken = -2, True
    if high > 2:
        high, high_taken = 2, True
    return (low, low_taken), (high, high_taken)


def is_empty(side):
    (low, low_taken), (high, high_taken) = side
    return low > high or (low == high and not (low_taken and high_taken))


def premise(colours, age, dose):
    parts = [] if len(colours) == 3 else [f"colour in {{{', '.join(sorted(colours))}}}"]
    for name, ((low, low_open), (high, high_open)) in (("age", age), ("dose", dose)):
        if low is not None:
            parts.append(f"{name} {'>' if low_open else '>='} {low}")
        if high is not None:
            parts.append(f"{name} {'<' if high_open else '<='} {high}")
    return " and ".join(parts)


@given(
    colours=st.sets(st.sampled_from(["blue", "green", "red"]), min_size=1),
    age=st.tuples(ENDS, ENDS),
    dose=st.tuples(ENDS, ENDS),
    label=st.sampled_from(CLASSES),
    coef=st.tuples(*[st.sampled_from([0.0, 0.25, -0.5, 1.0, -1.25, 3.0])] * 5),
    intercept=QUARTERS,
)
def test_proofs_are_those_of_exact_corners(colours, age, dose, label, coef, intercept):
    text = premise(colours, age, dose)
    if not text:
        return
    sides = [[], side_of(age, True), side_of(dose, False)]
    sides[0] = sorted(["blue", "green", "red"].index(c) for c in colours)
    predictions = plane(small(), list(coef), intercept)
    judge = RuleJudge(small(), predictions)
    answer = judge.judge(f"{text} => {label}")
    if not answer["rules"] or any(map(is_empty, sides[1:])):
        return
    standing = answer["rules"][0]["standing"]
    sign = 1 if label == "ill" else -1
    weights = [[sign * w for w in coef[:3]], sign * coef[3], sign * coef[4]]
    everywhere = gives(label, *lowest(weights, sign * intercept, sides))
    inner = [sides[0], *map(within_ranges, sides[1:])]
    nobody = any(map(is_empty, inner[1:]))
    within = everywhere or nobody or gives(label, *lowest(weights, sign * intercept, inner))
    assert (standing["kind"] == "proved") == everywhere
    if not nobody:
        assert (standing["kind"] in ("proved", "within ranges")) == within
    rule = answer["rules"][0]
    if within and not nobody:
        assert rule["disagree_count"] == 0
        return
    if rule["disagree_count"]:
        assert standing["kind"] == "contradicted"
        assert f"{rule['disagree_count']} of {rule['covered']}" in standing["text"]
    witness = standing["witness"]
    if witness is not None:
        check_witness(small(), predictions, witness, f"{text} => {label}", label)


def check_witness(opened, predictions, witness, text, label):
    """A witness is a case that can be; where it is strictly inside of the premise, it gets another class."""
    case = {"colour": "blue", "age": 0, "dose": 0.0}
    named = {**case, **witness}
    assert float(named["age"]).is_integer()
    assert -2 <= named["age"] <= 2
    assert -2 <= named["dose"] <= 2
    rules = parse_rules(text, space=opened.space, classes=CLASSES)
    point = np.array([["blue", "green", "red"].index(named["colour"]), named["age"], named["dose"]])
    if set(case) <= set(witness) and rules.covers(point[None, :].astype(float))[0, 0]:
        columns = {
            "colour": np.array([named["colour"]], dtype=object),
            "age": np.array([named["age"]]),
            "dose": np.array([named["dose"]]),
        }
        assert predictions.planes.predict(columns).tolist() != [label]


# The kinds of yes, each reached.


def standing_of(opened, text, coef=(0.0, 0.0, 0.0, 1.0, 0.0), intercept=-1.5, **more):
    return RuleJudge(opened, plane(opened, list(coef), intercept)).judge(text)["rules"][0][
        "standing"
    ]


def test_a_rule_is_proved_where_nothing_beyond_it_could_change_the_class():
    told = standing_of(small(), "age >= 2 => ill")
    assert told == {
        "kind": "proved",
        "text": "proved: the machine says ill everywhere in the premise",
        "witness": None,
    }


def test_a_rule_is_proved_within_the_ranges_where_only_values_beyond_them_speak_against_it():
    told = standing_of(small(), "age >= 2 => ill", (0, 0, 0, 1.0, 0.125))
    assert told["kind"] == "within ranges"
    assert "beyond them the machine may not say ill" in told["text"]


def test_a_declared_range_makes_a_proof():
    columns = {
        name: small().table.table.columns[name] for name in ("colour", "age", "dose", "state")
    }
    declared = opened_task(columns, "state", positive="ill", ranges={"dose": (-2.0, 3.0)})
    assert standing_of(declared, "age >= 2 => ill", (0, 0, 0, 1.0, 0.125))["kind"] == "proved"
    # The declared range reaches further than the values, and that counts.
    assert standing_of(declared, "age >= 2 => ill", (0, 0, 0, 1.0, -0.2))["kind"] == "seen"


def test_a_rule_is_seen_where_a_corner_that_nobody_is_in_speaks_against_it():
    opened = some()
    # In this table nobody is at the corner of the highest age and the lowest dose.
    highest, lowest_dose = opened.space.upper[1], opened.space.lower[2]
    at = opened.points
    assert not ((at[:, 1] == highest) & (at[:, 2] == lowest_dose)).any()
    scores = at[:, 2] - 0.001 * at[:, 1]
    intercept = -(scores.min() + (lowest_dose - 0.001 * highest)) / 2
    told = standing_of(opened, "age >= 0 => ill", (0, 0, 0, -0.001, 1.0), intercept)
    assert told["kind"] == "seen"
    assert told["text"].startswith("seen on all 120 covered cases, not proved")
    assert told["text"].endswith("nobody of your table is there")
    assert told["witness"]["age"] == highest
    assert told["witness"]["dose"] == lowest_dose


def test_a_rule_is_contradicted_by_the_cases_that_get_another_class():
    told = standing_of(small(), "age >= 1 => ill")
    assert told["kind"] == "contradicted"
    assert "another class to 27 of 54 covered cases" in told["text"]
    assert told["witness"]["age"] == 1


def test_a_rule_that_covers_nobody_says_so():
    told = standing_of(small(), "dose > 1.6 and dose < 1.9 and age <= 0 => ill")
    assert told["kind"] == "uncovered"
    assert "no case of your table is in the premise" in told["text"]


def test_the_first_class_keeps_a_score_of_exactly_zero():
    flat = (0.0, 0.0, 0.0, 1.0, 0.0)
    assert standing_of(small(), "age <= 1 => well", flat, -1.0)["kind"] == "proved"
    assert standing_of(small(), "age >= 1 => ill", flat, -1.0)["kind"] == "contradicted"


def test_rules_that_are_no_boxes_are_seen_and_not_called_proved():
    told = standing_of(small(), "age + dose >= 4 => ill")
    assert told["kind"] == "seen"
    assert "not proved for this kind of machine" in told["text"]


def test_without_a_machine_nothing_is_said_of_it():
    rule = RuleJudge(small()).judge("age >= 1 => ill")["rules"][0]
    assert rule["standing"] is None
    assert rule["agreed"] is None


def test_other_machines_than_planes_have_no_proof():
    codes = (small().points[:, 1] > 0).astype(int)
    judge = RuleJudge(small(), Predictions(codes, codes - 0.5))
    assert judge.judge("age >= 1 => ill")["rules"][0]["standing"]["kind"] == "seen"
    assert judge.judge("age >= 0 => ill")["rules"][0]["standing"]["kind"] == "contradicted"


# What the browser counts by.


@given(rules=PLAIN_RULES)
def test_the_facts_of_a_box_count_like_the_rule(rules):
    opened = some()
    for conditions, label in rules:
        text = f"{' and '.join(map(written, conditions))} => {label}"
        parsed = RuleJudge(opened).read(text).rules
        if not len(parsed):
            continue
        facts = box_facts(parsed[0], parsed)
        if facts is None:
            assert any(feature == "sum" for feature, _, _ in conditions)
            continue
        counted = [
            all(fits(point, int(j), fact) for j, fact in facts.items()) for point in opened.points
        ]
        assert counted == parsed.covers(opened.points)[:, 0].tolist()


def fits(point, j, fact):
    """What counting.js does."""
    value = point[j]
    if "codes" in fact:
        return value in fact["codes"]
    if fact["low"] is not None and (
        value < fact["low"] or (fact["low_open"] and value == fact["low"])
    ):
        return False
    return not (
        fact["high"] is not None
        and (value > fact["high"] or (fact["high_open"] and value == fact["high"]))
    )


def test_facts_of_missing_and_known_values():
    rules = parse_rules("age is missing => ill\nage is not missing => well")
    assert box_facts(rules[0], rules) == {"0": {"missing": True}}
    assert box_facts(rules[1], rules) == {"0": {"known": True}}
