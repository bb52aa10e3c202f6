"""Columns beside the rules of a table: linear terms in the user's units, and an expert's rules with their vote.

*Linear terms.* A numeric column counts in units of its standard deviation from its mean, which is what a missing value
counts as; a categorical column is a 0/1 column for each category. Priced like rules (``linear=True``) each is chosen or
not; as a free plane (``linear="free"``) all of them are in from the start and none counts as a rule.

*Experts' rules.* Each is a column of one sign: a rule for a class may only speak for it. All of them together, with
their weights, are one more column, the rules' vote, which is in from the start: where the rules are right a few rows
suffice to see it, and where they are wrong its sign leaves it no weight.

*The vote.* With some dozen cases no fit can know how much rules are worth, and a machine that learns their weights is
right less often than the rules by themselves. So the score of the machine, f, and the vote of the rules, v(x) = sum_r
s_r h_r(x) with s_r the weight of a rule and the sign of its class, are averaged. The average is a sum over rules, too::

    (1 - t) f(x) / rms(f) + t v(x) / k

where k is the root mean square of the number of rules that cover a row, at least 1. Where rules are silent, the machine
decides. The share t is what the vote is worth beforehand, against the machine, times what the errors of both on the
training rows say (those of the machine on rows not seen; where rules are silent, the more frequent class counts as
their vote)::

    t = a / (a + b),    a = p exp(-errors of the vote / 2),    b = (1 - p) exp(-errors of the machine / 2),
    p = 1 / (1 + (m / 100)^2)  for m cases.

A vote that is wrong more often than right, or silent on all training rows, is set aside. Constants were chosen on the
tuning tables: a worth of 50 to 200 cases and a rate of 1/4 to 1/2 make little difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language import parse_rules
from clearmargin.language.rule_source import RuleSource, read_rules
from clearmargin.points.engine import Extra
from clearmargin.points.rows import TrainingRows
from clearmargin.points.scorecard import LinearTerm
from clearmargin.rules import Box, FeatureSpace, RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.space import category_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import Table

# Columns that vary by a smaller share of their largest number are constant but for rounding.
_LEAST_SCALE = 1e-12
# The price of a unit of weight of an expert's rule; other rules cost 1.
_PRICE = 0.1
# Cases that an expert's rules are taken to be worth; so many errors more divide the belief by e; with a smaller
# share a rule would be noise.
_WORTH, _ERRORS, _LEAST_SHARE = 100.0, 2.0, 0.005


@dataclass(frozen=True, slots=True)
class LinearColumns:
    """Standardised columns of a table."""

    feature: IntArray
    code: IntArray
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of_table(cls, space: FeatureSpace, table: FloatArray, weight: FloatArray) -> LinearColumns:
        """Standardise the columns of a table; those that are constant are left out."""
        found: list[tuple[int, int, float, float]] = []
        for j, column in enumerate(table.T):
            known = ~np.isnan(column)
            if space.categories[j] is not None:
                present = np.unique(column[column >= 0]).astype(np.intp).tolist()
                found += [(j, code, 0.0, 1.0) for code in present if len(present) > 1]
            elif known.any():
                share = weight[known] / weight[known].sum()
                # In a unit in which no square overflows or vanishes; as a power of two it changes no digit.
                unit = math.ldexp(1.0, math.frexp(float(np.abs(column[known]).max()))[1] - 1)
                centre = float(share @ (column[known] / unit))
                scale = float(np.sqrt(share @ (column[known] / unit - centre) ** 2))
                if scale > _LEAST_SCALE:
                    found.append((j, -1, centre * unit, scale * unit))
        feature, code, centres, scales = np.array(found, dtype=np.float64).reshape(-1, 4).T
        return cls(feature.astype(np.intp), code.astype(np.intp), centres, scales)

    def columns(self, table: FloatArray, monotone: IntArray | None, *, is_free: bool) -> Extra:
        """Give them as columns: all in from the start, or to be chosen like rules."""
        columns, q = table[:, self.feature], len(self.feature)
        numbers = np.where(np.isnan(columns), 0.0, (columns - self.centre) / self.scale)
        values = np.where(self.code >= 0, (columns == self.code).astype(np.float64), numbers)
        directions = np.zeros(q, dtype=np.intp) if monotone is None else monotone[self.feature]
        signs = np.where(self.code < 0, directions, 0)
        return Extra(values, np.ones(q), signs, np.full(q, is_free))

    def terms(
        self, weights: FloatArray, space: FeatureSpace
    ) -> tuple[list[LinearTerm], FloatArray]:
        """Give the terms in the user's units for weights of shape (K, q), and what they add to the intercepts."""
        terms, shift = [], np.zeros(len(weights))
        for j in np.unique(self.feature[(weights != 0.0).any(axis=0)]).tolist():
            at, centre = np.flatnonzero(self.feature == j), None
            names = space.categories[j]
            if names is None:
                centre = float(self.centre[at[0]])
                coef = weights[:, at[0]] / self.scale[at[0]]
                shift -= coef * centre
            else:
                coef = np.zeros((len(weights), len(names)))
                coef[:, self.code[at]] = weights[:, at]
            terms.append(LinearTerm(j, coef[0] if len(coef) == 1 else coef, centre))
        return terms, shift


@dataclass(frozen=True, slots=True)
class Experts:
    """An expert's rules over the features of a table, the rows that each covers, and the sign of its class."""

    rules: RuleSet
    covers: BoolArray
    sign: IntArray

    @property
    def votes(self) -> FloatArray:
        """What each rule adds to the vote."""
        return np.array([rule.weight for rule in self.rules]) * self.sign

    @property
    def vote(self) -> FloatArray:
        """What the rules vote on each training row."""
        return np.asarray(self.covers @ self.votes)

    def columns(self, *, with_vote: bool) -> Extra:
        """Give the rules, and then their vote, as columns to choose from."""
        values, e = self.covers.astype(np.float64), len(self.rules)
        rules = Extra(values, np.full(e, _PRICE), self.sign, np.zeros(e, dtype=np.bool_))
        if not with_vote:
            return rules
        up = np.ones(1, dtype=np.intp)
        vote = Extra(self.vote[:, None], np.array([_PRICE]), up, up.astype(np.bool_))
        return Extra.join([rules, vote], len(values))

    def share(self, rows: TrainingRows, score: float) -> float:
        """Decide how far the vote is believed beside a machine with this accuracy on rows not seen."""
        vote, y = np.sign(self.vote), 2.0 * rows.target[0] - 1.0
        if not self.covers.any() or math.fsum(rows.weight * y * vote) < 0.0:
            return 0.0
        m, total = math.fsum(rows.sample_weight), math.fsum(rows.weight)
        lead = math.fsum(rows.weight * y)
        majority = np.sign(lead) if abs(lead) > 1e-9 * total else 0.0
        errors = m * math.fsum(rows.weight[np.where(vote == 0.0, majority, vote) != y]) / total
        theirs = errors if math.isnan(score) else m * (1.0 - score)
        # Only the difference counts; large numbers of errors would underflow.
        belief = math.exp(min(50.0, max(-50.0, (theirs - errors) / _ERRORS)))
        odds = belief / (m / _WORTH) ** 2
        share = round(odds / (1.0 + odds), 3)
        return share if share >= _LEAST_SHARE else 0.0

    def weights_in_average(
        self, share: float, scores: FloatArray, weight: FloatArray
    ) -> tuple[float, float]:
        """Give the factors of the machine, whose scores these are, and of the vote in their average."""
        covering = self.covers.sum(axis=1).astype(np.float64)
        # To six digits, so that no rounding decides about a digit of a weight.
        size, k = (
            float(f"{math.sqrt(math.fsum(weight * values**2) / math.fsum(weight)):.6g}")
            for values in (scores, covering)
        )
        return (1.0 - share) / (size or 1.0), share / max(1.0, k)


def read_experts(
    source: RuleSource, table: Table, rows: TrainingRows
) -> tuple[FeatureSpace, Experts]:
    """Read an expert's rules over the features of a table; give these with the categories that rules name."""
    if len(rows.classes) > 2:
        raise InvalidValueError(
            f"rules= needs two classes, and y has {len(rows.classes)}; leave the rules out, or tell one class from "
            "the rest: y == c"
        )
    classes = [as_label(label) for label in rows.classes.tolist()]
    space = rows.space

    def parse(text: str) -> RuleSet:
        named = parse_rules(text, classes=classes)
        known = dict(zip(space.names, space.categories, strict=True))
        for j, name in enumerate(named.space.names):
            if known.get(name) is not None:
                # A text cannot show that 3 in `grade = 3` is the name of a category.
                boxes = [rule.region for rule in named if isinstance(rule.region, Box)]
                ends = [box.interval(j) for box in boxes if box.has_bounds(j)]
                numbers = [category_name(end.low) for end in ends if end.low == end.high]
                found = (*(known[name] or ()), *(named.space.categories[j] or ()), *numbers)
                known[name] = tuple(dict.fromkeys(found))
        own = FeatureSpace(
            space.names,
            space.lower,
            space.upper,
            space.integer,
            [*known.values()],
            space.units,
            space.fill,
        )
        return parse_rules(text, space=own, classes=classes)

    given = read_rules(source, parse, what="rules")
    if not table.is_frame and len(given.space) == len(space):
        # The columns of an array are told by place.
        by_place = FeatureSpace(space.names, categories=given.space.categories)
        given = RuleSet(given.rules, by_place, given.classes)
    # As text, rules over other features become rules over those of the table.
    given = parse(given.to_text())
    sign = np.array([1 if rule.label == classes[1] else -1 for rule in given], dtype=np.intp)
    return given.space, Experts(given, given.covers(rows.values), sign)
