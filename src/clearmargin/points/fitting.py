"""From rows to rules with points: columns are put together, chosen, weighted, rounded and calibrated.

A weight of a machine of few rules is rounded to a thousandth of the power of ten of the largest one, and the intercept
to the middle between two such multiples: what is printed is what decides, and no sum is exactly at the threshold.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.points.beside import Experts, LinearColumns
from clearmargin.points.choice import COSTS, Choice, Setting, choose_setting, settings_up_to
from clearmargin.points.engine import Column, Extra, Task
from clearmargin.points.logistic import accuracy, calibrate
from clearmargin.points.outcome import RulesOutcome
from clearmargin.points.rows import TrainingRows
from clearmargin.points.scorecard import LinearTerm, Scorecard
from clearmargin.progress import Progress
from clearmargin.rule_base.bins import Bins
from clearmargin.rules import FeatureSpace, Rule, RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.validation import read_monotone

# Columns of a free plane: the time of a fit grows with their cube, and 1,000 take half a minute.
_MOST_FREE = 1_000
# Digits of weights after those of the largest one.
_DIGITS = 3
# Largest magnitude of whole points.
_LARGEST_POINTS = 10
# Of what an average row counts, and of what all of them do: what must not decide, and what is rounding.
_NEXT_TO_NOTHING, _ROUNDING = 1e-3, 1e-9


@dataclass(slots=True)
class RuleFit:
    """A machine over rules and how it came about: what `RuleSVC` does with labels."""

    rows: TrainingRows
    space: FeatureSpace
    experts: Experts | None
    max_rules: int
    max_conditions: int
    linear: bool | str
    monotone: Mapping[str, int] | None
    points: bool
    progress: Progress
    weighted: Scorecard = field(init=False)
    calibration: FloatArray = field(init=False)
    outcome: RulesOutcome = field(init=False)
    setting: Setting = field(init=False)
    cv_score: float = math.nan
    cv_results: dict[str, Any] = field(default_factory=dict)
    vote_share: float = 0.0

    def run(self) -> RuleFit:
        """Choose rules, fit their weights, round them, and calibrate their sum."""
        rows, space, experts = self.rows, self.space, self.experts
        categorical = [
            n for n, c in zip(space.names, space.categories, strict=True) if c is not None
        ]
        monotone = read_monotone(self.monotone, space.names, categorical)
        if monotone is not None and len(rows.classes) > 2:
            raise InvalidValueError(
                f"monotone needs two classes, and y has {len(rows.classes)}: with more, no class is the upper one"
            )
        linear = LinearColumns.of_table(space, rows.values, rows.weight) if self.linear else None
        is_free = self.linear == "free"
        if linear is not None and is_free and len(linear.feature) > _MOST_FREE:
            raise DataError(
                f"linear='free' fits a plane over all {len(linear.feature):,} columns (a category is one each) in "
                f"every step, which takes too long beyond {_MOST_FREE:,}; give linear=True, which chooses among "
                "them, or leave out columns"
            )
        bins = Bins.of_table(space, rows.values)
        codes, mean = bins.codes(rows.values), float(rows.weight.mean())
        plane = [] if linear is None else [linear.columns(rows.values, monotone, is_free=is_free)]
        n_experts = 0 if experts is None else len(experts.rules)
        # All of an expert's rules have to find room for their vote.
        has_vote = 0 < n_experts <= self.max_rules
        sample, factor, folds = rows.sample()
        best: tuple[Choice | None, bool, Task] | None = None
        for with_experts in (False,) if experts is None else (True, False):
            parts = [*plane, experts.columns(with_vote=has_vote)] if with_experts and experts else plane  # fmt: skip
            task = Task(
                bins,
                codes,
                rows.target,
                rows.weight / mean,
                Extra.join(parts, len(codes.T)),
                monotone_signs(bins, monotone),
            )
            voted = with_experts and has_vote
            most = self.max_rules - (n_experts if voted else 0)
            if not folds:
                best = None, with_experts, task
                self.setting = Setting(most, COSTS[0], self.max_conditions)
                break
            tried = settings_up_to(most, self.max_conditions, least=0 if is_free or voted else 1)
            found = choose_setting(task.take(sample, factor), tried, folds, self.progress)
            if best is None or best[0] is None or found.merit > best[0].merit:
                best = found, with_experts, task
        assert best is not None
        choice, with_experts, task = best
        unseen: FloatArray | None = None
        if choice is not None:
            self.setting, self.cv_score, self.cv_results = choice.setting, choice.accuracy, choice.results  # fmt: skip
            unseen = np.full(rows.target.shape, np.nan)
            unseen[:, sample] = choice.scores
        most = self.setting.n_columns
        if has_vote and experts is not None:
            self.vote_share = experts.share(rows, self.cv_score)
            if self.vote_share and not with_experts:
                most = min(most, self.max_rules - n_experts)
        chosen = task.take(sample, factor).select(most, self.setting.max_conditions)
        design = task.design(chosen)
        weights = task.fit(design, self.setting.C)
        self.setting = Setting(most, self.setting.C / mean, self.setting.max_conditions)
        if not chosen and not self.linear and not weights[:, 1:].any():
            warnings.warn(
                "no rule tells the classes apart: all conditions hold for the same rows, or for fewer than three; the "
                "most frequent class is predicted everywhere",
                ClearmarginWarning,
                stacklevel=4,
            )
        voters = experts if with_experts and has_vote else None
        terms = _Terms.of(task, chosen, weights, linear, voters, n_experts)
        if self.vote_share and experts is not None:
            scores = (design[0] @ weights.T)[:, 0]
            rest, part = experts.weights_in_average(self.vote_share, scores, rows.weight)
            terms = _Terms(
                terms.items,
                rest * terms.rules,
                rest * terms.experts + part * experts.votes,
                rest * terms.linear,
                rest * terms.intercept,
            )
            unseen = None if unseen is None else rest * unseen + part * experts.vote
        self._round(terms, unseen, bins, codes, linear)
        return self

    def _round(
        self,
        terms: _Terms,
        unseen: FloatArray | None,
        bins: Bins,
        codes: IntArray,
        linear: LinearColumns | None,
    ) -> None:
        """Make the value out of weights of few digits, and probabilities out of scores of rows not seen."""
        rows, experts = self.rows, self.experts
        masks = [bins.mask(items, codes) for items in terms.items]
        masks += [] if experts is None else [*experts.covers.T]
        held = np.array(masks, dtype=np.bool_).reshape(len(masks), len(rows.values)).T
        weights, intercept = shortened(np.hstack([terms.rules, terms.experts]), terms.intercept)
        slope, shift = 1.0, np.zeros(len(intercept))
        if self.points and weights.any():
            whole, start = whole_points(held, weights, intercept, rows.target, rows.weight)
            slope = float((whole * weights).sum() / (weights * weights).sum())
            # Points are weights times a slope, and another intercept.
            weights, intercept, shift = whole, start, start - slope * intercept
        self.calibration = np.tile([1.0, 0.0], (len(intercept), 1))
        if unseen is not None:
            self.calibration = calibrate(unseen, rows.target, rows.sample_weight)
        self.calibration[:, 0] /= slope
        self.calibration[:, 1] -= self.calibration[:, 0] * shift
        label = as_label(rows.classes.tolist()[0])
        rules = [Rule(bins.box(items), label, origin="extracted") for items in terms.items]
        n_found = len(rules)
        rules += [] if experts is None else [replace(r, origin="expert") for r in experts.rules]
        plain, more = ([], 0.0) if linear is None else linear.terms(terms.linear, self.space)
        self.weighted = weighted_rules(
            rules, weights, intercept + more, held, rows, self.space, plain
        )
        given = rules[n_found:]
        if experts is not None:
            own = held[:, n_found:].T
            counts = [rows.stats(m, int(s > 0)) for m, s in zip(own, experts.sign, strict=True)]
            given = [replace(rule, stats=c) for rule, c in zip(given, counts, strict=True)]
        believed = np.abs(weights[0, n_found:]).tolist() if given else []
        self.outcome = RulesOutcome.of(given, believed, self.space)


@dataclass(frozen=True, slots=True)
class _Terms:
    """The weights of all that counts, for each score."""

    items: tuple[tuple[int, ...], ...]
    rules: FloatArray
    experts: FloatArray
    linear: FloatArray
    intercept: FloatArray

    @classmethod
    def of(
        cls,
        task: Task,
        chosen: Sequence[Column],
        weights: FloatArray,
        linear: LinearColumns | None,
        voters: Experts | None,
        n_experts: int,
    ) -> _Terms:
        """Sort the weights of a design, of shape (K, q), by what they belong to."""
        q = 0 if linear is None else len(linear.feature)
        plane, advice = np.zeros((len(weights), q)), np.zeros((len(weights), n_experts))
        fixed = np.flatnonzero(task.extra.is_fixed)
        free = fixed[fixed < q]
        plane[:, free] = weights[:, 1 : 1 + len(free)]
        if voters is not None:
            advice += weights[:, [len(fixed)]] * voters.votes
        rules = []
        for column, weight in zip(chosen, weights[:, 1 + len(fixed) :].T, strict=True):
            if column.extra < 0:
                rules.append(weight)
            elif column.extra < q:
                plane[:, column.extra] += weight
            else:
                advice[:, column.extra - q] += weight
        items = tuple(column.items for column in chosen if column.extra < 0)
        own = np.array(rules).reshape(len(rules), len(weights)).T
        return cls(items, own, advice, plane, weights[:, 0])


def monotone_signs(bins: Bins, monotone: IntArray | None) -> IntArray:
    """Give the sign that the weight of a rule with each condition must have; 0 for any."""
    if monotone is None:
        return np.zeros(len(bins), dtype=np.intp)
    is_number = np.array([known is None for known in bins.space.categories])[bins.feature]
    ends = np.array([len(cuts) for cuts in bins.cuts], dtype=np.intp)[bins.feature]
    side = np.where(bins.first == 0, -1, np.where(bins.last == ends, 1, 0))
    return np.where(is_number, side * monotone[bins.feature], 0)


def shortened(weights: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Round weights of rules to few digits, and intercepts to the middle between two sums that they can have."""
    largest = float(np.abs(weights).max(initial=0.0))
    if largest == 0.0:
        return weights, intercept
    digits = _DIGITS - 1 - math.floor(math.log10(largest))
    unit = 10.0**-digits
    # Through decimal text the middle is a short number as well.
    middle = [round((math.floor(b / unit) + 0.5) * unit, digits + 1) for b in intercept.tolist()]
    short = [[round(x, digits) for x in row] for row in weights.tolist()]
    return np.array(short).reshape(weights.shape), np.array(middle)


def whole_points(
    held: BoolArray,
    weights: FloatArray,
    intercept: FloatArray,
    target: FloatArray,
    row_weight: FloatArray,
    merit: Callable[[FloatArray, FloatArray, FloatArray], float] = accuracy,
) -> tuple[FloatArray, FloatArray]:
    """Round weights (K, r) to small whole numbers, and find the intercepts that suit them.

    With the weights a and r = top / max |a|, top = 1, ..., 10, the points rint(r a) are tried, for one score with the
    best threshold between two sums that occur; the choice with the highest merit wins, of equal ones that with the
    smallest points. Where some rows count next to nothing, they must not move the threshold: of thresholds that differ
    by less than a thousandth of what an average row counts, the one nearest to that of the weights is taken.
    """
    signed = np.where(target[0] > 0.5, row_weight, -row_weight)
    best: tuple[float, FloatArray, FloatArray] | None = None
    for top in range(1, _LARGEST_POINTS + 1):
        factor = top / float(np.abs(weights).max())
        points, start = np.rint(weights * factor), intercept * factor
        sums = points @ held.T.astype(np.float64)
        start = (
            np.array([-_best_threshold(sums[0], signed, -float(start[0]))])
            if len(points) == 1
            else np.rint(start)
        )
        right = merit((sums + start[:, None]) / factor, target, row_weight)
        # Sums of weights in another order differ by rounding, which must not bring larger points.
        if best is None or right > best[0] + _ROUNDING:
            best = right, points, start
    assert best is not None
    return best[1], best[2]


def _best_threshold(scores: FloatArray, signed: FloatArray, near: float) -> float:
    """Return the threshold with the most weight above it, what should not be there subtracted."""
    levels, place = np.unique(scores, return_inverse=True)
    above = np.bincount(place, weights=signed)[::-1].cumsum()[::-1]
    # Above all levels there is nothing.
    gains, thresholds = np.append(above, 0.0), np.append(levels - 0.5, levels[-1] + 0.5)
    best = int(np.argmax(gains))
    lost, total = gains[best] - gains, np.abs(signed).sum()
    close = lost < _NEXT_TO_NOTHING * total / len(signed)
    if (lost[close] > _ROUNDING * total).any():
        best = int(np.argmin(np.where(close, np.abs(thresholds - near), np.inf)))
    return float(thresholds[best])


def weighted_rules(
    found: Sequence[Rule],
    weights: FloatArray,
    intercept: FloatArray,
    held: BoolArray,
    rows: TrainingRows,
    space: FeatureSpace,
    linear: Sequence[LinearTerm] = (),
) -> Scorecard:
    """Make the value: rules with points, most important first, without those of no weight."""
    share = rows.sample_weight @ held / rows.sample_weight.sum()
    importance = np.abs(weights).max(axis=0, initial=0.0) * np.sqrt(share * (1.0 - share))
    used = np.flatnonzero(weights.any(axis=0))
    # Rounding must not decide about the order.
    order = used[np.lexsort([used, -importance[used].round(9)])]
    labels = [as_label(label) for label in rows.classes.tolist()]
    single = len(weights) == 1
    rules = []
    for r in order.tolist():
        code = int(weights[0, r] > 0) if single else int(weights[:, r].argmax())
        stats = rows.stats(held[:, r], code)
        rules.append(replace(found[r], label=labels[code], weight=1.0, stats=stats))
    kept = weights[:, order]
    return Scorecard(
        RuleSet(rules, space, labels),
        kept[0] if single else kept,
        intercept[0] if single else intercept,
        linear,
    )
