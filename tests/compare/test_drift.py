"""Drift of rules on a new table: intervals, tests and their correction against first principles."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, hypergeom, norm

from clearmargin import RuleStats, parse_rules
from clearmargin.compare import check_drift
from clearmargin.compare.drift import holm
from clearmargin.exceptions import DataError, InvalidValueError

RULE = parse_rules("age >= 60 => ill")


def table(covered, right, rows):
    """A table with so many rows under the rule, so many of them right."""
    ages = [70] * covered + [30] * (rows - covered)
    return {"age": ages}, ["ill"] * right + ["well"] * (rows - right)


def drift(covered, right, rows, **options):
    return check_drift(RULE, *table(covered, right, rows), **options).rules[0]


def _tail(law, count, total, tail):
    return lambda p: law(count, total, p) - tail


def test_clopper_pearson_intervals_are_where_the_binomial_tails_are():
    for count, total, level in [(3, 10, 0.95), (40, 60, 0.9), (1, 200, 0.99)]:
        figure = drift(total, count, total, confidence=level).precision
        tail = (1 - level) / 2
        low = brentq(_tail(binom.sf, count - 1, total, tail), 1e-9, 1 - 1e-9)
        high = brentq(_tail(binom.cdf, count, total, tail), 1e-9, 1 - 1e-9)
        assert (figure.low, figure.high) == pytest.approx((low, high), rel=1e-6)
    assert drift(5, 0, 5).precision.low == 0.0
    assert drift(5, 5, 5).precision.high == 1.0


def test_wilson_intervals_are_those_of_the_formula():
    figure = drift(40, 30, 80, interval="wilson").precision
    z, n, p = norm.ppf(0.975), 40, 30 / 40
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert (figure.low, figure.high) == pytest.approx((middle - half, middle + half))


def test_a_change_is_tested_by_all_tables_that_are_as_unlikely():
    found = drift(12, 8, 30, before=[RuleStats(90, 60, 57)])
    law = hypergeom(12 + 60, 8 + 57, 12)  # right ones among the twelve, if all 72 are alike
    chances = law.pmf(np.arange(13))
    expected = chances[chances <= law.pmf(8) * (1 + 1e-7)].sum()
    assert found.precision.p_value == pytest.approx(expected)


def test_holm_is_bonferroni_in_every_set_of_hypotheses():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 5):
        p = rng.random(size) ** 3
        sets = [s for k in range(1, size + 1) for s in itertools.combinations(range(size), k)]
        expected = [
            min(1.0, max(len(s) * min(p[list(s)]) for s in sets if i in s)) for i in range(size)
        ]
        assert holm(p.tolist()) == pytest.approx(expected)
    assert holm([]) == []


@pytest.mark.parametrize(
    ("covered", "right", "rows", "verdict"),
    [
        (80, 76, 200, "no change shown"),
        (80, 40, 200, "less often right"),
        (20, 19, 200, "covers less"),
        (150, 142, 200, "covers more"),
        (20, 5, 200, "covers less, less often right"),
        (0, 0, 200, "covers no row"),
    ],
)
def test_verdicts_say_what_has_changed(covered, right, rows, verdict):
    assert drift(covered, right, rows, before=[RuleStats(400, 160, 152)]).verdict == verdict


def test_chance_alone_is_seldom_called_a_drift():
    rng = np.random.default_rng(3)
    rules = parse_rules("x >= 0.5 => a\nx < 0.2 => b\n0.2 <= x < 0.5 => a")
    alarms = 0
    for _ in range(40):
        tables = []
        for _ in range(2):
            x = rng.random(60)
            tables.append(({"x": x}, np.where(rng.random(60) < 0.7, "a", "b")))
        before = rules.score(*tables[0]).rules
        alarms += bool(check_drift(rules, *tables[1], before=before).drifted)
    assert alarms <= 6  # 5 % of 40 are 2; more than 6 has a chance below 1 %


def test_figures_are_taken_from_the_rules_and_told_in_words():
    report = check_drift(RULE, *table(4, 3, 10))
    assert report.rules[0].verdict == "no figures before"
    assert "no figures from before" in str(report)
    before = [RuleStats(200, 80, 76)]
    text = str(check_drift(RULE, *table(40, 10, 100), before=before))
    assert "covers  40 of 100 (40 %, between 30.3 % and 50.3 %); before 80 of 200 (40 %)" in text
    assert "less often right" in text
    assert "corrected by Holm for all 2 comparisons" in text


def test_without_classes_only_coverage_is_checked():
    report = check_drift(RULE, {"age": [70, 30]}, before=[RuleStats(10, 5, 5)])
    assert report.rules[0].precision is None
    assert report.n_tests == 1
    assert report.to_dict()["rules"][0]["precision"] is None
    assert "right   " not in str(report)


def test_of_a_rule_that_covers_nothing_nothing_is_said_to_have_changed():
    (found,) = check_drift(
        RULE, {"age": [30] * 9}, ["well"] * 9, before=[RuleStats(10, 5, 5)]
    ).rules
    assert (found.coverage.change, found.precision.change) == ("down", None)
    text = str(check_drift(RULE, {"age": [30] * 9}, ["well"] * 9, before=[RuleStats(10, 5, 5)]))
    assert "right   no rows" in text
    (found,) = check_drift(RULE, *table(4, 3, 10), before=[RuleStats(10, 0, 0)]).rules
    assert (found.coverage.change, found.precision.change) == ("up", None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.5}, "confidence must be between 0 and 1, not 1.5"),
        ({"interval": "wald"}, "interval must be 'clopper-pearson' or 'wilson', not 'wald'"),
        ({"before": []}, "there are 1 rules, and old figures of 0"),
    ],
)
def test_what_cannot_be_checked_is_refused(options, message):
    with pytest.raises(InvalidValueError, match=message):
        check_drift(RULE, {"age": [70]}, ["ill"], **options)


def test_a_table_without_rows_is_refused():
    with pytest.raises(DataError, match="no rows"):
        check_drift(RULE, np.empty((0, 1)), [])
