"""What the data and the machine say of rules that are being written: counts, cases against them, and proofs.

Three kinds of yes are told apart. *Proved*: the machine gives the class of the rule everywhere in its premise, decided
in exact arithmetic. *Seen*: on all covered cases, but not everywhere; the worst corner is named. *Contradicted*: by so
many covered cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clearmargin.advice import AdviceReport
from clearmargin.advice.advice_check import Finding
from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language import read_rule_text
from clearmargin.language.lexer import Source
from clearmargin.language.printer import format_number, format_rule
from clearmargin.language.prose import plain
from clearmargin.language.rule_text import RuleText, WrittenRule
from clearmargin.language.syntax import Bound, Condition, Missing, RuleNode
from clearmargin.language.words import counted, listed
from clearmargin.models.planes import Planes
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.rule import Region, Rule
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import column_encoding
from clearmargin.workbench.project_table import OpenTask

# Cases named beside a rule; the page of cases has all of them.
_MOST_NAMED = 8
_MOST_POSITIONS = 200
# Pairs of rules grow with the square of their number, and nobody reads thousands of findings.
_MOST_CHECKED, _MOST_FINDINGS = 200, 200
Yes = Literal["proved", "within ranges", "seen", "contradicted", "uncovered"]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What a machine predicts for the open rows."""

    codes: IntArray
    scores: FloatArray
    planes: Planes | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the machine agrees with a rule."""

    kind: Yes
    text: str
    witness: dict[str, float | str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {"kind": self.kind, "text": self.text, "witness": self.witness}


def read_rules(text: str, opened: OpenTask) -> RuleText:
    """Read rule text to its end, whatever mistakes there are."""
    written = read_rule_text(text, opened.space, opened.classes)
    asking = {
        k: (*rule.region.missing, *rule.region.known)
        for k, rule in enumerate(written.rules)
        if rule.region.missing or rule.region.known
    }
    if not asking:
        return written
    kept = [k for k in range(len(written.rules)) if k not in asking]
    number: dict[int | None, int] = {k: place for place, k in enumerate(kept)}
    found = [
        _asks_for_missing(text, one.node, opened.space.names[asking[one.position][0]])
        for one in written.written
        if one.position in asking
    ]
    return RuleText(
        tuple(WrittenRule(one.node, number.get(one.position)) for one in written.written),
        RuleSet([written.rules[k] for k in kept], written.rules.space, written.rules.classes),
        tuple(sorted((*written.mistakes, *found), key=lambda error: error.offset or 0)),
    )


def _asks_for_missing(text: str, node: RuleNode, feature: str) -> RuleSyntaxError:
    """Say where a rule asks whether a value is missing."""
    message = f"nobody's {feature!r} is missing here: gaps were filled, or such rows left out; leave the condition out"
    asking = [c for c in node.conditions if isinstance(c, Missing) and c.feature.text == feature]
    start, end = (asking[0].start, asking[0].end) if asking else node.premise
    return Source(text).error(message, start, end)


def mistake_facts(error: RuleSyntaxError) -> dict[str, Any]:
    """Give a mistake in a text as plain data for JSON."""
    start = error.offset or 0
    line_end = start - error.column + 1 + len(error.source)
    return {
        "from": start,
        "to": min(start + error.length, line_end),
        "line": error.line,
        "column": error.column,
        "message": error.problem,
        "fix": error.fix,
    }


def _condition_facts(condition: Condition) -> dict[str, Any]:
    """Give the place of a condition, and the numbers in it that are bounds."""
    bounds = []
    if isinstance(condition, Bound):
        ends = (
            ("low", condition.low, condition.low_is_open, condition.low_place),
            ("high", condition.high, condition.high_is_open, condition.high_place),
        )
        bounds = [
            {
                "feature": condition.feature.text,
                "side": side,
                "value": value,
                "open": is_open,
                "from": place[0],
                "to": place[1],
            }
            for side, value, is_open, place in ends
            if place is not None
        ]
    return {
        "from": condition.start,
        "to": condition.end,
        "features": condition.features,
        "bounds": bounds,
    }


class RuleJudge:
    """Judges rule text on the open rows of a project and their predictions."""

    def __init__(self, opened: OpenTask, predictions: Predictions | None = None):
        self.opened, self.predictions = opened, predictions
        self._worst: dict[tuple[Region, int], tuple[bool, bool, dict[str, float | str] | None]] = {}

    def read(self, text: str) -> RuleText:
        """Read rule text to its end, whatever mistakes there are."""
        return read_rules(text, self.opened)

    def judge(self, text: str | RuleText) -> dict[str, Any]:
        """Judge a text."""
        written = self.read(text) if isinstance(text, str) else text
        nodes = [
            (place, one.node)
            for place, one in enumerate(written.written)
            if one.position is not None
        ]
        answer: dict[str, Any] = {
            "errors": [mistake_facts(mistake) for mistake in written.mistakes],
            "rules": [],
            "findings": [],
            "more_findings": 0,
            "vote": None,
        }
        if not len(written.rules):
            return answer
        is_checked = len(written.rules) <= _MOST_CHECKED
        report = self.opened.checker.check(written.rules) if is_checked else None
        covered = written.rules.covers(self.opened.points)
        answer["rules"] = [
            self._rule(written.rules, k, covered[:, k], node, place)
            for k, (place, node) in enumerate(nodes)
        ]
        if report is None:
            answer["findings"] = [_unchecked(len(written.rules))]
            return answer
        answer["findings"] = [
            self._finding(f, [node for _, node in nodes]) for f in report.findings[:_MOST_FINDINGS]
        ]
        answer["more_findings"] = max(len(report.findings) - _MOST_FINDINGS, 0) + report.more
        answer["vote"] = _vote(report)
        return answer

    def _rule(
        self,
        rules: RuleSet,
        k: int,
        covered: BoolArray,
        node: RuleNode,
        place: int,
    ) -> dict[str, Any]:
        rule, opened = rules[k], self.opened
        code = opened.classes.index(rule.label) if rule.label in opened.classes else -1
        rows = np.flatnonzero(covered)
        against = rows[opened.codes[rows] != code]
        answer: dict[str, Any] = {
            "place": place,
            "from": node.start,
            "to": node.end,
            "premise": list(node.premise),
            "class_span": [node.label.start, node.label.end],
            "name": rule.name,
            "label": plain(rule.label),
            "code": code,
            "weight": rule.weight,
            "text": format_rule(rule, rules.space),
            "conditions": [_condition_facts(condition) for condition in node.conditions],
            "box": box_facts(rule, rules),
            "covered": len(rows),
            "right": len(rows) - len(against),
            "rows": len(covered),
            "against": self._named(against),
            "against_count": len(against),
            "agreed": None,
            "disagree": [],
            "disagree_count": 0,
            "standing": None,
        }
        if self.predictions is not None:
            others = rows[self.predictions.codes[rows] != code]
            answer["agreed"] = len(rows) - len(others)
            answer["disagree"] = self._named(others)
            answer["disagree_count"] = len(others)
            answer["standing"] = self.standing(rule, rules, len(rows), len(others)).to_dict()
        return answer

    def _named(self, positions: IntArray) -> list[int]:
        """Give row numbers, those nearest to the boundary first."""
        if self.predictions is not None:
            nearness = np.abs(self.predictions.scores[positions])
            positions = positions[np.argsort(nearness, kind="stable")]
        return [int(row) for row in self.opened.rows[positions[:_MOST_NAMED]]]

    def standing(self, rule: Rule, rules: RuleSet, n_covered: int, n_against: int) -> Standing:
        """Say how far the machine agrees with a rule: proved, seen, contradicted."""
        label = plain(rule.label)
        worst = self._worst_case(rule, rules)
        cases = counted(n_covered, "covered case")
        if worst is not None and worst[0]:
            return Standing("proved", f"proved: the machine says {label} everywhere in the premise")
        if worst is not None and worst[1]:
            return Standing(
                "within ranges",
                f"proved within the ranges of your table; beyond them the machine may not say {label}",
            )
        witness = None if worst is None else worst[2]
        corner = f" at {_case_text(witness)}" if witness else ""
        if n_against:
            return Standing(
                "contradicted",
                f"contradicted: the machine gives another class to {n_against} of {cases}",
                witness,
            )
        if not n_covered:
            return Standing(
                "uncovered", f"no case of your table is in the premise{corner}", witness
            )
        unproved = (
            f"not proved: the machine would not say {label}{corner}; nobody of your table is there"
            if witness
            else "not proved for this kind of machine"
        )
        return Standing("seen", f"seen on all {cases}, {unproved}", witness)

    def _worst_case(
        self, rule: Rule, rules: RuleSet
    ) -> tuple[bool, bool, dict[str, float | str] | None] | None:
        """Decide whether a plane gives the class everywhere, and within the ranges; if not, find where it does not."""
        planes = None if self.predictions is None else self.predictions.planes
        region = rule.region
        if planes is None or not isinstance(region, Box) or region.missing:
            return None
        if planes.space.names != rules.space.names or rule.label not in planes.rules.classes:
            return None
        sign = 1 if rule.label == planes.rules.classes[1] else -1
        key = (region, sign)
        if key not in self._worst:
            self._worst[key] = self._decide(planes, region, sign)
        return self._worst[key]

    def _decide(
        self, planes: Planes, region: Box, sign: int
    ) -> tuple[bool, bool, dict[str, float | str] | None]:
        space = self.opened.space
        encoding = column_encoding(space)
        declared = np.array(
            [[name in self.opened.settings.ranges for name in space.names]] * 2, dtype=np.bool_
        )
        domain = encoding.domain(declared=declared)
        box = encoding.encoded_box(region)
        coef, intercept = sign * planes.coef_[0], sign * float(planes.intercept_[0])
        near = np.nan_to_num(np.nanmedian(encoding.spread(self.opened.points), axis=0))
        everywhere = domain.minimum(coef, intercept, within=box)
        within = domain.minimum(coef, intercept, within=box, seen=True, near=near)
        is_proved = everywhere is None or _is_on_side(
            everywhere.value, everywhere.is_attained, sign
        )
        if within is None:
            return is_proved, is_proved, None
        is_within = _is_on_side(within.value, within.is_attained, sign)
        witness = None
        if not is_within and within.point is not None:
            # Only what the machine looks at, or the rule speaks of, is worth naming.
            told = np.flatnonzero(planes.coef_[0]).tolist()
            told += [k for k, s in enumerate(encoding.sources) if s.feature in region.bounded]
            witness = domain.name_values(within.point, told)
        return is_proved, is_within, witness

    def _finding(self, finding: Finding, nodes: Sequence[RuleNode]) -> dict[str, Any]:
        positions = finding.positions if finding.bits is not None else np.empty(0, dtype=np.intp)
        return {
            "severity": finding.severity,
            "kind": finding.kind,
            "message": finding.message,
            "region": finding.region,
            "spans": [[nodes[k].start, nodes[k].end] for k in finding.rules],
            "rules": list(finding.rules),
            "rows": self.opened.rows[positions[:_MOST_POSITIONS]].tolist(),
            "count": len(positions),
        }


def _unchecked(n_rules: int) -> dict[str, Any]:
    """Say that so many rules are counted, but not compared with each other."""
    return {
        "severity": "note",
        "kind": "unchecked",
        "message": f"{n_rules:,} rules are counted one by one; whether they contradict each other is looked for among "
        f"at most {_MOST_CHECKED}",
        "region": None,
        "spans": [],
        "rules": [],
        "rows": [],
        "count": 0,
    }


def _is_on_side(lowest: Any, is_attained: bool, sign: int) -> bool:
    # A score of exactly 0 gets the first class.
    return bool(lowest > 0 or (lowest == 0 and (sign < 0 or not is_attained)))


def _case_text(witness: dict[str, float | str]) -> str:
    pairs = [
        f"{name} = {value if isinstance(value, str) else format_number(value)}"
        for name, value in witness.items()
    ]
    return listed(pairs, 6)


def _vote(report: AdviceReport) -> dict[str, Any] | None:
    vote = report.vote
    return None if vote is None else {**vote.to_dict(), "text": str(vote)}


def box_facts(rule: Rule, rules: RuleSet) -> dict[str, Any] | None:
    """Give the premise of a rule as the browser counts it; None for linear conditions, which the server counts."""
    box = rule.region
    if not isinstance(box, Box):
        return None
    facts: dict[str, Any] = {}
    for j in box.bounded:
        if j in box.missing:
            facts[str(j)] = {"missing": True}
        elif j in box.sets:
            facts[str(j)] = {"codes": sorted(box.sets[j])}
        elif box.has_bounds(j):
            interval = box.interval(j)
            facts[str(j)] = {
                "low": interval.low if math.isfinite(interval.low) else None,
                "high": interval.high if math.isfinite(interval.high) else None,
                "low_open": math.isfinite(interval.low) and not interval.low_closed,
                "high_open": math.isfinite(interval.high) and not interval.high_closed,
            }
        else:
            facts[str(j)] = {"known": True}
    return facts
