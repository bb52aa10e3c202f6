"""The outcome of training, rule by rule: rows read back, statistics, guarantees, verdicts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.advice_case import AdviceCase
from clearmargin.advice.assess import Assessment, Possible, assess, tight_intervals
from clearmargin.advice.encoding import Columns, Premise, encode_rule
from clearmargin.advice.frame import Frame
from clearmargin.advice.outcome import (
    AdviceOutcome,
    ConditionChange,
    RuleOutcome,
    Standing,
    Verdict,
    rule_text,
)
from clearmargin.advice.readback import (
    ReadRows,
    extended_space,
    over_features,
    read_rows,
    refined_rule,
)
from clearmargin.advice.train import Training
from clearmargin.language.printer import Phrases
from clearmargin.rules import Box, Hyperplane, Interval, Rule, RuleSet, RuleStats
from clearmargin.rules.polyhedron import Polyhedron
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["judge"]


# A case is near another one if no value differs by more than this share of the range, and no category does.
_NEAR = 0.1


def judge(case: AdviceCase, training: Training) -> tuple[AdviceOutcome, RuleSet]:
    """Say what became of each rule.

    Parameters
    ----------
    case : AdviceCase
        Data and advice.
    training : Training
        What training came to.

    Returns
    -------
    outcome : AdviceOutcome
        One entry a rule.
    refined : RuleSet
        The rules that count now; those that hold everywhere are marked as proved.
    """
    frame = training.framed.frame
    possible = Possible.of(case, frame)
    read = [
        _to_values(_without(read_rows(premise, frame, F, f, case.points), dropped), possible)
        for premise, F, f, dropped in zip(
            case.premises, training.F, training.f, training.dropped, strict=True
        )
    ]
    touched = np.zeros(frame.n_columns, dtype=np.bool_)
    for rows in read:
        touched |= (rows.A[rows.changed] != 0).any(axis=0)
    space = case.columns.space if case.by_position else extended_space(case.columns, touched)
    columns = Columns.match(space, case.columns.names, case.binary, case.by_position)
    medians = np.median(case.points, axis=0) if len(case.points) else frame.center
    predicted = _predicted(case, training)
    outcomes = []
    for i, before in enumerate(case.rules):
        after = refined_rule(before, read[i], columns)
        premise = encode_rule(after, columns)
        found = assess(premise, frame, possible, training.w, training.b, case.sign[i])
        is_out = bool(training.framed.empty[i] or training.rejected[i])
        now = _stats(case, premise, i, predicted)
        standing = None if is_out else _standing(found, now)
        intervals = _intervals(case, i, read[i], premise, training, possible, after)
        seen = (training.w != 0) | (premise.D != 0).any(axis=0)
        outcomes.append(
            RuleOutcome(
                before=_with(before, _stats(case, case.premises[i], i, predicted)),
                after=_with(after, now, proved=found.is_proved and standing == "proved"),
                verdict=_verdict(training, i, bool(read[i].changed.any()), standing, now),
                standing=standing,
                margin=found.margin,
                slack=float(training.slack[i]),
                witness=None
                if found.witness is None
                else possible.seen.name_values(found.witness, np.flatnonzero(seen).tolist()),
                witness_score=found.score,
                near=_count_near(case, found.witness, seen, frame),
                floor=found.floor if found.is_proved else None,
                stuck=_is_stuck(case, training, i, bool(read[i].changed.any())),
                unmoved=training.was_tried and not read[i].changed.any(),
                changes=tuple(_changes(case.premises[i], read[i], frame, columns, medians)),
                intervals=intervals,
                text_before=rule_text(before, case.rules.space),
                text_after=rule_text(after, space),
                text_intervals="" if intervals is None else rule_text(intervals, case.rules.space),
            )
        )
    counting = [o.after for o in outcomes if o.verdict not in ("rejected", "empty")]
    return AdviceOutcome(tuple(outcomes)), RuleSet(counting, space, case.rules.classes)


def _without(rows: ReadRows, dropped: NDArray[np.bool_]) -> ReadRows:
    """Rows that extension made superfluous count as changed, and say nothing any more."""
    if not dropped.any():
        return rows
    A = np.where(dropped[:, None], 0.0, rows.A)
    return ReadRows(A, rows.b, rows.strict, rows.changed | dropped, rows.turned)


def _to_values(rows: ReadRows, possible: Possible) -> ReadRows:
    """Move bounds that changed to values that a feature can have: ``<= 2.5`` of whole numbers says ``<= 2``."""
    b = rows.b.copy()
    single = np.count_nonzero(rows.A, axis=1) == 1
    for r in np.flatnonzero(rows.changed & single):
        j = int(np.flatnonzero(rows.A[r])[0])
        if possible.seen.space.integer[j] and abs(rows.A[r, j]) == 1.0:
            b[r] = np.floor(b[r]) + 0.0  # of x >= 2.5, written as -x <= -2.5, too
    return ReadRows(rows.A, b, rows.strict, rows.changed, rows.turned)


def _is_stuck(case: AdviceCase, training: Training, i: int, changed: bool) -> bool:
    """Whether refinement left a rule as it was because no bound of it has to do with its lowest score.

    The multiplier of a row is what the lowest score gains when the row moves. It is zero for a row that the plane does
    not pull at: its features have no weight, or one that speaks for the class. Changes enter the program in products
    with these multipliers, so that nothing moves the row.
    """
    if not training.was_tried or changed or training.framed.empty[i] or training.rejected[i]:
        return False
    premise = case.premises[i]
    pulls = premise.D[premise.own] @ (case.sign[i] * training.w)
    return not (pulls < 0).any()


def _predicted(case: AdviceCase, training: Training) -> FloatArray:
    """The sign of the class that the model gives to each training point; the plane belongs to the negative one."""
    if not len(case.points):
        return np.zeros(0)
    return np.where(Hyperplane(training.w, training.b).decision(case.points) > 0, 1.0, -1.0)


def _standing(found: Assessment, stats: RuleStats | None) -> Standing:
    # A case within rounding of the plane may get another class than the proof gives it: what happens counts.
    if stats is not None and stats.agreed is not None and stats.agreed < stats.covered:
        return "contradicted"
    return "proved" if found.holds else "uncontradicted"


def _verdict(
    training: Training, i: int, changed: bool, standing: Standing | None, stats: RuleStats | None
) -> Verdict:
    if training.framed.empty[i]:
        return "empty"
    if training.rejected[i]:
        return "rejected"
    if changed:
        return "refined" if training.refined[i] else "extended"
    is_supported = stats is not None and stats.covered > 0 and standing == "uncontradicted"
    return "kept" if standing == "proved" or is_supported else "ignored"


def _stats(case: AdviceCase, premise: Premise, i: int, predicted: FloatArray) -> RuleStats | None:
    """How a premise does on the training points: covered, right, and given its class by the model."""
    if not len(case.points):
        return None
    covered = premise.covers(case.points)
    return RuleStats(
        len(covered),
        int(covered.sum()),
        int((covered & (case.y == case.sign[i])).sum()),
        int((covered & (predicted == case.sign[i])).sum()),
    )


def _with(rule: Rule, stats: RuleStats | None, *, proved: bool = False) -> Rule:
    return Rule(
        rule.region,
        rule.label,
        name=rule.name,
        weight=rule.weight,
        origin=rule.origin,
        proof="proved" if proved else None,
        stats=stats,
    )


def _count_near(
    case: AdviceCase, witness: FloatArray | None, seen: BoolArray, frame: Frame
) -> int | None:
    """How many training points are like the worst case in all columns that premise or model look at."""
    if witness is None or not len(case.points):
        return None
    width = frame.upper - frame.lower
    reach = _NEAR * np.where(np.isfinite(width), width, 2.0 * frame.unit)
    reach[[j for group in frame.groups for j in group]] = 0.0
    apart = np.abs(case.points - witness) > reach
    return int((~apart[:, seen].any(axis=1)).sum())


def _changes(
    premise: Premise, rows: ReadRows, frame: Frame, columns: Columns, medians: FloatArray
) -> Iterator[ConditionChange]:
    """Each condition that changed, before and after."""
    D, _ = frame.scaled_rows(premise.D[premise.own], premise.d[premise.own])
    phrases = Phrases(columns.space)
    before, after = (over_features(A, columns) for A in (premise.D[premise.own], rows.A))
    for r in np.flatnonzero(rows.changed):
        expert = int(np.abs(D[r]).argmax())
        is_gone = not rows.A[r].any()
        yield ConditionChange(
            feature=columns.names[expert],
            before=_condition(phrases, before[r], premise.d[r], premise.strict[r]),
            after="" if is_gone else _condition(phrases, after[r], rows.b[r], rows.strict[r]),
            bound_before=_bound(premise.D[r], premise.d[r], expert, medians),
            bound_after=np.nan if is_gone else _bound(rows.A[r], rows.b[r], expert, medians),
        )


def _condition(phrases: Phrases, row: FloatArray, limit: float, strict: bool) -> str:
    return phrases.conditions(Polyhedron(row[None], [limit], [strict]))[0]


def _bound(row: FloatArray, limit: float, expert: int, medians: FloatArray) -> float:
    """The bound on one variable, the others at their medians."""
    if row[expert] == 0:
        return float("nan")
    others = np.arange(len(row)) != expert
    return float((limit - row[others] @ medians[others]) / row[expert])


def _intervals(
    case: AdviceCase,
    i: int,
    rows: ReadRows,
    premise: Premise,
    training: Training,
    possible: Possible,
    after: Rule,
) -> Rule | None:
    """The tightest intervals on the features of the rule, where some condition was turned."""
    if not (rows.turned & rows.A.any(axis=1)).any():
        return None
    frame, before = training.framed.frame, case.premises[i]
    used = np.flatnonzero((before.D[before.own] != 0).any(axis=0))
    lower, upper = tight_intervals(premise, frame, used)
    whole = possible.seen.space.integer[used]
    slack = 1e-6 * frame.unit[used]  # the solver's tolerance
    lower = np.where(whole, np.ceil(lower - slack), lower)
    upper = np.where(whole, np.floor(upper + slack), upper)
    if (lower > upper).any():
        return None  # refined until no whole number, or less than the solver's tolerance, was left
    feature = {column: j for j, column in case.columns.numbers.items()}
    bounds = {}
    for k, column in enumerate(used.tolist()):
        # A bound at the end of the domain is none, up to the solver's tolerance.
        low = lower[k] if lower[k] > frame.lower[column] + slack[k] else -np.inf
        high = upper[k] if upper[k] < frame.upper[column] - slack[k] else np.inf
        if low > -np.inf or high < np.inf:
            bounds[feature[column]] = Interval(*_outwards(low, high, frame.unit[column]), "both")
    box = Box.from_intervals(bounds, len(case.columns.space), after.region.sets)
    return Rule(box, after.label, name=after.name, weight=after.weight, origin="refined")


def _outwards(low: float, high: float, unit: float) -> tuple[float, float]:
    """Bounds with as few digits as a thousandth of the range needs, never narrower."""
    digits = int(np.ceil(-np.log10(unit / 500)))
    scale = 10.0**digits
    return float(np.floor(low * scale) / scale), float(np.ceil(high * scale) / scale)
