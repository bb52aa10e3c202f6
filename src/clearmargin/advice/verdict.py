"""The outcome of training, rule by rule: rows read back, worst cases, statistics, verdicts.

**Refined rows become rules that people can read**, in their units and with few digits. The expert's variable keeps its
coefficient in a row that was turned; coefficients that make no difference within the domain are dropped, and numbers
are rounded. Whatever that changes is made up for on the right-hand side, so that within the domain the rule that is
read is a part of the one that was found, or, where that would lose a training point which the rule just touches, the
other way round. As many digits are kept as it takes to cover the same training points.

**The worst possible case of a premise** says whether the plane gives the class everywhere in it. Over a box it is a
closed form (`Domain.minimum`). Over linear conditions it is a linear program, with whole numbers where the columns have
them. What is *proved* never rests on a solver: it is decided in rational arithmetic, for all points that the rows
leave, the possible ones among them. `Possible` is what can be, over the columns of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.advice_reading import AdviceCase, Columns, Premise, column_of, encode_rule
from clearmargin.advice.all_rows import Question, count_rows
from clearmargin.advice.outcome import (
    AdviceOutcome,
    ConditionChange,
    RuleOutcome,
    Standing,
    Verdict,
    rule_text,
)
from clearmargin.advice.premise_geometry import is_void, worst_margin
from clearmargin.advice.train import UNCHANGED, Frame, Training, declared_ranges, is_changed
from clearmargin.language.printer import Phrases
from clearmargin.rules import (
    Box,
    CategorySets,
    Domain,
    FeatureSpace,
    Interval,
    Polyhedron,
    Rule,
    RuleSet,
    RuleStats,
)
from clearmargin.rules.arithmetic import exact_sign
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.rule import Region
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = [
    "Assessment",
    "Possible",
    "ReadRows",
    "assess",
    "extended_space",
    "judge",
    "over_features",
    "read_rows",
    "refined_rule",
    "tight_intervals",
]


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
    read = _read_all(case, training, possible)
    columns = _columns_of(case, read)
    space = columns.space
    has_changed = any(rows.changed.any() for rows in read)
    medians = np.median(case.points, axis=0) if has_changed and len(case.points) else frame.center
    after = [
        refined_rule(before, rows, columns) for before, rows in zip(case.rules, read, strict=True)
    ]
    premises = [encode_rule(rule, columns) for rule in after]
    worst = [
        assess(premise, frame, possible, training.w, training.b, sign)
        for premise, sign in zip(premises, case.sign, strict=True)
    ]
    counted = _count(case, training, premises, worst)
    outcomes = []
    for i, before in enumerate(case.rules):
        found, (then, now, near) = worst[i], counted[i]
        is_out = bool(training.framed.empty[i] or training.rejected[i])
        standing = None if is_out else _standing(found, now)
        changed = bool(read[i].changed.any())
        intervals = _intervals(case, i, read[i], premises[i], training, possible, after[i])
        outcomes.append(
            RuleOutcome(
                before=_with(before, then),
                after=_with(after[i], now, proved=found.is_proved and standing == "proved"),
                verdict=_verdict(training, i, changed, standing, now),
                standing=standing,
                margin=found.margin,
                slack=float(training.slack[i]),
                witness=None
                if found.witness is None
                else possible.seen.name_values(
                    found.witness, np.flatnonzero(_looked_at(training, premises[i])).tolist()
                ),
                witness_score=found.score,
                near=near,
                floor=found.floor if found.is_proved else None,
                stuck=_is_stuck(case, training, i, changed),
                unmoved=training.change_cost is not None and not changed,
                change_cost=None
                if training.change_cost is None
                else float(training.change_cost[i]),
                changes=tuple(_changes(case.premises[i], read[i], frame, columns, medians)),
                intervals=intervals,
                text_before=rule_text(before, case.rules.space),
                text_after=rule_text(after[i], space),
                text_intervals="" if intervals is None else rule_text(intervals, case.rules.space),
            )
        )
    counting = [o.after for o in outcomes if o.verdict not in ("rejected", "empty")]
    return AdviceOutcome(tuple(outcomes)), RuleSet(counting, space, case.rules.classes)


def _read_all(case: AdviceCase, training: Training, possible: Possible) -> list[ReadRows]:
    """Write the rows of all premises as they are now."""
    frame = training.framed.frame
    return [
        _to_values(_without(read_rows(premise, frame, F, f, case.points), dropped), possible)
        for premise, F, f, dropped in zip(
            case.premises, training.F, training.f, training.dropped, strict=True
        )
    ]


def _columns_of(case: AdviceCase, read: Sequence[ReadRows]) -> Columns:
    """Return the columns of the features of the rules as they are now, which may speak of more than before."""
    touched = np.zeros(len(case.columns.names), dtype=np.bool_)
    for rows in read:
        touched |= (rows.A[rows.changed] != 0).any(axis=0)
    space = case.columns.space if case.by_position else extended_space(case.columns, touched)
    return Columns.match(space, case.columns.names, case.binary, case.by_position)


def _without(rows: ReadRows, dropped: NDArray[np.bool_]) -> ReadRows:
    """Clear rows that extension made superfluous; they count as changed."""
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
    """Check whether refinement left a rule as it was because no bound of it has to do with its lowest score.

    The multiplier of a row is what the lowest score gains when the row moves. It is zero for a row that the plane does
    not pull at: its features have no weight, or one that speaks for the class. Changes enter the program in products
    with these multipliers, so that nothing moves the row.
    """
    costs, is_out = training.change_cost, training.framed.empty[i] or training.rejected[i]
    if costs is None or np.isinf(costs[i]) or changed or is_out:
        return False
    premise = case.premises[i]
    pulls = premise.D[premise.numeric_rows] @ (case.sign[i] * training.w)
    return not (pulls < 0).any()


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


def _looked_at(training: Training, premise: Premise) -> BoolArray:
    """Return which columns premise or model look at."""
    return np.asarray((training.w != 0) | (premise.D != 0).any(axis=0))


def _count(
    case: AdviceCase,
    training: Training,
    premises: Sequence[Premise],
    worst: Sequence[Assessment],
) -> list[tuple[RuleStats | None, RuleStats | None, int | None]]:
    """Count how each rule does on the training points, before and after, and those like its worst case.

    Statistics are rows, those covered, those of the class and those that the model gives the class. A point is like the
    worst case if it is near it in all columns that premise or model look at.
    """
    if not len(case.points):
        return [(None, None, None)] * len(premises)
    frame = training.framed.frame
    width = frame.upper - frame.lower
    reach = _NEAR * np.where(np.isfinite(width), width, 2.0 * frame.unit)
    reach[[j for group in frame.groups for j in group]] = 0.0
    questions = [
        Question((before, after), sign, found.witness, reach, _looked_at(training, after))
        for before, after, sign, found in zip(
            case.premises, premises, case.sign.tolist(), worst, strict=True
        )
    ]
    m = len(case.points) if case.rows is None else case.rows.n_rows
    return [
        (
            RuleStats(m, *then),
            RuleStats(m, *now),
            None if found.witness is None else near,
        )
        for ((then, now), near), found in zip(
            count_rows(case.blocks(), training.w, training.b, questions), worst, strict=True
        )
    ]


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


def _changes(
    premise: Premise, rows: ReadRows, frame: Frame, columns: Columns, medians: FloatArray
) -> Iterator[ConditionChange]:
    """Yield each condition that changed, before and after."""
    D, _ = frame.scaled_rows(premise.D[premise.numeric_rows], premise.d[premise.numeric_rows])
    phrases = Phrases(columns.space)
    before, after = (over_features(A, columns) for A in (premise.D[premise.numeric_rows], rows.A))
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
    """Return the bound on one variable, the others at their medians."""
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
    """Return the tightest intervals on the features of the rule, where some condition was turned."""
    if not (rows.turned & rows.A.any(axis=1)).any():
        return None
    frame, before = training.framed.frame, case.premises[i]
    used = np.flatnonzero((before.D[before.numeric_rows] != 0).any(axis=0))
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
    if not bounds:
        return None  # without a domain, turned conditions may leave every feature any value
    box = Box.from_intervals(bounds, len(case.columns.space), after.region.sets)
    return Rule(box, after.label, name=after.name, weight=after.weight, origin="refined")


def _outwards(low: float, high: float, unit: float) -> tuple[float, float]:
    """Write bounds with as few digits as a thousandth of the range needs, never narrower."""
    digits = int(np.ceil(-np.log10(unit / 500)))
    scale = 10.0**digits
    return float(np.floor(low * scale) / scale), float(np.ceil(high * scale) / scale)


# Digits of coefficients and whether to round inwards, as they are tried. Right-hand sides get so many steps within the
# range of the expert's variable.
_ROUNDINGS = tuple((digits, inwards) for digits in (3, 4, 6, 8) for inwards in (True, False))
# Digits that a solver gets right.
_ALL_DIGITS = 10


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The numeric conditions of a refined premise, in the user's units and over the columns of the model.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Left-hand sides.
    b : ndarray of shape (k,)
        Right-hand sides.
    strict : ndarray of bool of shape (k,)
        Which rows are strict.
    changed : ndarray of bool of shape (k,)
        Which rows differ from those of the advice.
    turned : ndarray of bool of shape (k,)
        Which rows have other coefficients than the advice.
    """

    A: FloatArray
    b: FloatArray
    strict: BoolArray
    changed: BoolArray
    turned: BoolArray


def read_rows(
    premise: Premise, frame: Frame, F: FloatArray, f: FloatArray, X: FloatArray
) -> ReadRows:
    """Write refined rows in the user's units, with as few digits as do not lose a point.

    Parameters
    ----------
    premise : Premise
        The premise as it was given, in the user's units.
    frame : Frame
        Domain and scale.
    F, f : ndarray of shape (k, n) and (k,)
        Changes of its numeric rows, in the scale of the frame.
    X : ndarray of shape (m, n)
        Training points.

    Returns
    -------
    ReadRows
        Rows that did not change are exactly those of the premise.
    """
    if not is_changed(F, f).any():
        return _read(premise, frame, F, f, _ALL_DIGITS, inwards=False)
    D, d = frame.scaled_rows(premise.D[premise.numeric_rows], premise.d[premise.numeric_rows])
    inside = (frame.scaled(X) @ (D - F).T <= d - f + 1e-9)[:, is_changed(F, f)].all(axis=1)
    rows = _read(premise, frame, F, f, _ALL_DIGITS, inwards=False)
    for digits, inwards in _ROUNDINGS:
        short = _read(premise, frame, F, f, digits, inwards=inwards)
        left = X @ short.A.T
        covered = (left <= short.b)[:, short.changed].all(axis=1)
        if (covered == inside).all():
            return short
    return rows


def _read(
    premise: Premise, frame: Frame, F: FloatArray, f: FloatArray, digits: int, *, inwards: bool
) -> ReadRows:
    A, b, strict = (
        premise.D[premise.numeric_rows],
        premise.d[premise.numeric_rows],
        premise.strict[premise.numeric_rows],
    )
    A, b, strict = A.copy(), b.copy(), strict.copy()
    D, d = frame.scaled_rows(A, b)
    turned: BoolArray = np.any(np.abs(F) > UNCHANGED, axis=1)
    changed = is_changed(F, f)
    for r in np.flatnonzero(changed):
        expert = int(np.abs(D[r]).argmax())
        turn = np.where(np.abs(F[r]) > UNCHANGED, F[r], 0.0)
        row, limit = frame.user_rows((D[r] - turn)[None], (d[r] - f[r])[None])
        # The expert's variable keeps the coefficient it had, if it has any left.
        factor = A[r, expert] / row[0, expert] if row[0, expert] * A[r, expert] > 0 else 1.0
        found, bound = row[0] * factor, float(limit[0] * factor)
        if not turned[r]:
            found = A[r]
        short, b[r] = _short_row(found, bound, frame, expert, digits, inwards=inwards)
        turned[r] = not np.array_equal(short, A[r])
        A[r], strict[r] = short, False
    return ReadRows(A, b, strict, changed, turned)


def _short_row(
    row: FloatArray, limit: float, frame: Frame, expert: int, digits: int, *, inwards: bool
) -> tuple[FloatArray, float]:
    """Round a row so that, within the domain, it demands no less than before; or, outwards, no more."""
    reach = np.abs(row) * frame.unit
    others = np.arange(len(row)) != expert
    short = np.where(reach > 10.0 ** (1 - digits) * reach[expert], row, 0.0)
    short[others] = [float(f"{x:.{digits}g}") for x in short[others]]
    dropped = row - short
    gone = dropped != 0  # elsewhere nothing is lost, whether there are bounds or not
    ends = np.where((dropped > 0) == inwards, frame.upper, frame.lower)[gone]
    lost = float((dropped[gone] * ends).sum())
    if not math.isfinite(lost):  # no bounds to make up for anything within
        short, lost = row, 0.0
    # What a solver means by 0.1019999999998 is 0.102, which may be the value of a case that must not be lost.
    bound = float(f"{limit - lost:.{_ALL_DIGITS}g}")
    step = math.floor(math.log10(2.0 * reach[expert])) - digits
    size = math.floor(math.log10(abs(bound))) if bound else 0
    round_it = round_down if inwards else round_up
    return short, round_it(bound, min(max(1, size - step + 1), 17))


def extended_space(columns: Columns, touched: BoolArray) -> FeatureSpace:
    """Return the features of the advice, and after them the columns that refinement brought in.

    Parameters
    ----------
    columns : Columns
        The columns of each feature of the advice.
    touched : ndarray of bool of shape (n,)
        Which columns the refined rows speak of.

    Returns
    -------
    FeatureSpace
        The same space where nothing new came in.
    """
    space = columns.space
    names = [columns.names[j] for j in np.flatnonzero(touched) if j not in columns.numbers.values()]
    # The prefix of a step says nothing to people, as long as the name alone is clear.
    bare = [name.partition("__")[2] for name in names]
    new = [
        short
        if short and short not in space.names and column_of(short, columns.names) is not None
        else name
        for short, name in zip(bare, names, strict=True)
    ]
    if not new:
        return space
    more = len(new)
    return FeatureSpace(
        [*space.names, *new],
        np.concatenate([space.lower, np.full(more, -np.inf)]),
        np.concatenate([space.upper, np.full(more, np.inf)]),
        np.concatenate([space.integer, np.zeros(more, dtype=np.bool_)]),
        [*space.categories, *[None] * more],
        [*space.units, *[None] * more],
    )


def over_features(A: FloatArray, columns: Columns) -> FloatArray:
    """Give the coefficients of the columns as those of the features.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Coefficients of the columns.
    columns : Columns
        The columns of each feature; every column with a coefficient is one of them.

    Returns
    -------
    ndarray of shape (k, n_features)
        Coefficients of the features.
    """
    moved = np.zeros((len(A), len(columns.space)))
    for feature, column in columns.numbers.items():
        moved[:, feature] = A[:, column]
    return moved


def refined_rule(before: Rule, rows: ReadRows, columns: Columns) -> Rule:
    """Make the refined rule.

    Parameters
    ----------
    before : Rule
        The rule as it was given.
    rows : ReadRows
        Its refined conditions.
    columns : Columns
        The columns of each feature; the first features are those of the advice.

    Returns
    -------
    Rule
        The rule itself where nothing changed and the space is its own.
    """
    n_features = len(columns.space)
    if not rows.changed.any() and n_features == before.n_features:
        return before
    is_condition = rows.A.any(axis=1)
    region: Region
    if is_condition.any():
        A = over_features(rows.A[is_condition], columns)
        region = Polyhedron(A, rows.b[is_condition], rows.strict[is_condition], before.region.sets)
    else:
        region = Box.from_intervals({}, n_features, CategorySets(before.region.sets.allowed))
    return Rule(
        region,
        before.label,
        name=before.name,
        weight=before.weight,
        origin="refined" if rows.changed.any() else before.origin,
    )


# Values with more significant digits than this are shortened for people, to as few as leave the case in its place.
_READABLE, _FEW_DIGITS = 6, (4, 6)
# What a solver leaves of a whole number, and how far inside a strict row a case lies, in the scale of the frame: far
# more, so that the one is never taken for the other.
_WHOLE, _INSIDE = 1e-7, 1e-5


@dataclass(frozen=True, slots=True)
class Assessment:
    """How a plane does on a premise.

    Parameters
    ----------
    margin : float
        The lowest score on the side of the class over the possible cases, as the data show them; -inf where there is
        none, inf where no case is possible.
    witness : ndarray of shape (n,) or None
        A possible case with that score or, where strict bounds leave it out, with one near it; in the user's units.
    score : float
        The score of the witness on the side of the class; NaN where there is none.
    holds : bool
        Whether the plane gives the class to all possible cases of the premise, as the data show them.
    is_proved : bool
        Whether it gives the class to all cases that the declarations allow, beyond what the data show.
    floor : float
        The lowest score on the side of the class over those; -inf where there is none.
    """

    margin: float
    witness: FloatArray | None
    score: float
    holds: bool
    is_proved: bool
    floor: float


@dataclass(frozen=True, slots=True)
class _Side:
    """The side of a plane that belongs to a class: sign * (w'x + b) > 0, or >= 0 for the negative one."""

    w: FloatArray
    b: float
    sign: float

    def score(self, x: FloatArray) -> float:
        return float(self.sign * (x @ self.w + self.b))

    def is_wrong(self, x: FloatArray) -> bool:
        """Check whether a case gets another class, exactly."""
        found = exact_sign(self.w, x, self.b) * self.sign
        return found < 0 or (found == 0 and self.sign > 0)


def assess(
    premise: Premise, frame: Frame, possible: Possible, w: FloatArray, b: float, sign: float
) -> Assessment:
    """Find the worst possible case of a premise, and decide whether the class is given everywhere.

    Parameters
    ----------
    premise : Premise
        The premise, in the user's units.
    frame : Frame
        The scale.
    possible : Possible
        What can be; a premise beyond the ranges seen counts without them.
    w : ndarray of shape (n,)
        Weights, in the user's units.
    b : float
        Intercept.
    sign : float
        1.0 for the positive class, -1.0 for the other.

    Returns
    -------
    Assessment
        What holds is decided in rational arithmetic for the plane and the bounds as they are, tolerance none.
    """
    side = _Side(w, b, sign)
    if (np.count_nonzero(premise.D, axis=1) == 1).all():
        return _assess_box(
            Polyhedron(premise.D, premise.d, premise.strict).to_box(), possible, side
        )
    return _assess_rows(premise, frame, possible, side)


def _assess_box(box: Box, possible: Possible, side: _Side) -> Assessment:
    near = _middle(possible.seen)
    seen = possible.seen.is_possible(box, seen=True)
    found = possible.seen.minimum(
        side.w * side.sign, side.b * side.sign, within=box, seen=seen, near=near
    )
    if found is None:
        return Assessment(np.inf, None, np.nan, True, True, np.inf)
    beyond = possible.declared.minimum(side.w * side.sign, side.b * side.sign, within=box)
    is_proved = beyond is None or _is_on_side(beyond.value, beyond.is_attained, side)
    witness = (
        None if found.point is None else _short_witness(found.point, box, possible, side, seen)
    )
    return Assessment(
        float(found.value),
        witness,
        np.nan if witness is None else side.score(witness),
        _is_on_side(found.value, found.is_attained, side),
        is_proved,
        np.inf if beyond is None else float(beyond.value),
    )


def _is_on_side(lowest: object, is_attained: bool, side: _Side) -> bool:
    zero = lowest == 0 and (side.sign < 0 or not is_attained)
    return bool(lowest > 0 or zero)  # type: ignore[operator]


def _middle(domain: Domain) -> FloatArray:
    """Return values for columns that nothing asks about."""
    low, high = domain.space.lower, domain.space.upper
    known = np.isfinite(low) & np.isfinite(high)
    return np.where(known, np.where(known, low, 0.0) / 2 + np.where(known, high, 0.0) / 2, 0.0)


def _short_witness(
    x: FloatArray, region: Box | Premise, possible: Possible, side: _Side, seen: bool
) -> FloatArray:
    """Return a case with values of few digits, as long as it is possible, in the premise, and as wrong as before."""
    was_wrong, score = side.is_wrong(x), side.score(x)
    for digits in _FEW_DIGITS:
        short = np.array([_shortened(value, digits) for value in x.tolist()])
        is_near = abs(side.score(short) - score) <= 0.01 * (1.0 + abs(score))
        if (
            is_near
            and side.is_wrong(short) == was_wrong
            and _is_case(short, region, possible, seen)
        ):
            return short
    return x


def _shortened(value: float, digits: int) -> float:
    is_long = float(f"{value:.{_READABLE}g}") != value
    return float(f"{value:.{digits}g}") if is_long and not value.is_integer() else value


def _is_case(x: FloatArray, region: Box | Premise, possible: Possible, seen: bool) -> bool:
    inside = region.contains(x[None]) if isinstance(region, Box) else region.covers(x[None])
    return bool(inside[0] and possible.seen.contains(x[None], seen=seen)[0])


def _assess_rows(premise: Premise, frame: Frame, possible: Possible, side: _Side) -> Assessment:
    """Return the same for a premise with linear conditions."""
    rows = _around(premise, possible.seen, seen=True)
    seen = not is_void(*frame.scaled_rows(rows.D, rows.d))
    if not seen:
        rows = _around(premise, possible.seen, seen=False)
    margin, x = _worst(rows, frame, possible.seen, side)
    witness = None
    if x is not None:
        witness = _repaired(x, premise, rows, frame, possible, side, seen)
    if witness is not None:
        witness = _short_witness(witness, premise, possible, side, seen)
    holds = _holds(rows, side)
    beyond = _around(premise, possible.declared, seen=False)
    is_proved = holds and _holds(beyond, side)
    return Assessment(
        float(margin),
        witness,
        np.nan if witness is None else side.score(witness),
        holds,
        is_proved,
        float(_worst(beyond, frame, possible.declared, side)[0]) if is_proved else -np.inf,
    )


def _around(premise: Premise, domain: Domain, *, seen: bool) -> Premise:
    """Return a premise with the rows of a domain, its plain bounds moved to values that columns can have."""
    plain = np.count_nonzero(premise.D, axis=1) == 1
    bounds = Polyhedron(premise.D[plain], premise.d[plain], premise.strict[plain]).to_box()
    box = Polyhedron.from_box(domain.tighten(bounds, seen=seen))
    sums = [group.columns for group in domain.groups]
    one = np.zeros((len(sums), premise.D.shape[1]))
    for k, columns in enumerate(sums):
        one[k, list(columns)] = 1.0
    D = np.concatenate([premise.D[~plain], box.A, one, -one])
    d = np.concatenate([premise.d[~plain], box.b, np.ones(len(one)), -np.ones(len(one))])
    strict = np.concatenate(
        [premise.strict[~plain], box.strict, np.zeros(2 * len(one), dtype=np.bool_)]
    )
    return Premise(D, d, np.zeros(len(d), dtype=np.bool_), strict)


def _worst(
    rows: Premise, frame: Frame, domain: Domain, side: _Side
) -> tuple[float, FloatArray | None]:
    """Return the lowest score over rows: by a linear program and, where that leaves the whole numbers, with them."""
    margin, z = worst_margin(
        *frame.scaled_rows(rows.D, rows.d), *frame.scaled_plane(side.w, side.b), side.sign
    )
    if z is None:
        return margin, None
    x = z * frame.unit + frame.center
    whole = domain.space.integer
    if (np.abs(x[whole] - np.rint(x[whole])) <= _WHOLE).all():
        x[whole] = np.rint(x[whole])
        return margin, x
    better = worst_margin(rows.D, rows.d, side.w, side.b, side.sign, whole)
    return better if better[1] is not None else (margin, None)


def _repaired(
    x: FloatArray,
    premise: Premise,
    rows: Premise,
    frame: Frame,
    possible: Possible,
    side: _Side,
    seen: bool,
) -> FloatArray | None:
    """Return the case that a solver found as one that lies in the premise exactly; None where there is none near it."""
    x = _clipped(x, rows)
    if _is_case(x, premise, possible, seen):
        return x
    # Solvers end on a row, or a little beyond it: the same program with those rows a little tighter.
    D, d = frame.scaled_rows(rows.D, rows.d)
    n_linear = int((np.count_nonzero(premise.D, axis=1) != 1).sum())
    is_inset = rows.strict | (np.arange(len(d)) < n_linear)
    tighter = Premise(*frame.user_rows(D, d - _INSIDE * is_inset), rows.numeric_rows, rows.strict)
    again = _worst(tighter, frame, possible.seen, side)[1]
    again = None if again is None else _clipped(again, rows)
    return again if again is not None and _is_case(again, premise, possible, seen) else None


def _clipped(x: FloatArray, rows: Premise) -> FloatArray:
    """Return a point that satisfies the plain bounds among rows exactly, where a solver does so nearly."""
    inside = x.copy()
    for row, limit in zip(rows.D, rows.d, strict=True):
        used = np.flatnonzero(row)
        if len(used) == 1:
            j, bound = int(used[0]), float(limit / row[used[0]])
            inside[j] = min(inside[j], bound) if row[j] > 0 else max(inside[j], bound)
    return inside


def _holds(rows: Premise, side: _Side) -> bool:
    """Check whether no point of the rows is on the other side; the plane itself belongs to the negative class."""
    D, d, w = rows.D, rows.d, side.w
    if not w.any():
        return (side.b > 0) == (side.sign > 0)
    used = w != 0
    touching: BoolArray = np.zeros(len(d), dtype=np.bool_)
    while True:  # columns that are tied to the plane by some row, directly or through others
        touching = (D[:, used] != 0).any(axis=1)
        more = used | (D[touching] != 0).any(axis=0)
        if (more == used).all():
            break
        used = more
    other = np.concatenate([D[touching][:, used], side.sign * w[used][None]])
    limits = np.append(d[touching], -side.sign * side.b)
    strict = np.append(rows.strict[touching], side.sign < 0)
    return Polyhedron(other, limits, strict).is_empty()


def tight_intervals(
    premise: Premise, frame: Frame, columns: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Return the tightest bounds on some columns around a premise within the domain, in the user's units.

    Parameters
    ----------
    premise : Premise
        The premise.
    frame : Frame
        Domain and scale.
    columns : ndarray of int
        The columns.

    Returns
    -------
    lower, upper : ndarray
        One bound for each column; infinite where there is none.
    """
    D, d = frame.scaled_rows(*_within_domain(premise, frame))
    lower, upper = np.empty(len(columns)), np.empty(len(columns))
    for k, j in enumerate(columns):
        unit = np.zeros(D.shape[1])
        unit[j] = 1.0
        low, high = (worst_margin(D, d, unit, 0.0, sign)[0] for sign in (1.0, -1.0))
        lower[k] = low * frame.unit[j] + frame.center[j]
        upper[k] = -high * frame.unit[j] + frame.center[j]
    return lower, upper


def _within_domain(premise: Premise, frame: Frame) -> tuple[FloatArray, FloatArray]:
    around = frame.domain_rows()
    rows = np.concatenate([premise.D, around[0]]), np.concatenate([premise.d, around[1]])
    return (premise.D, premise.d) if is_void(*frame.scaled_rows(*rows)) else rows


@dataclass(frozen=True, slots=True)
class Possible:
    """The cases that can exist: as far as they are declared, and with what the data show.

    Parameters
    ----------
    declared : Domain
        Ranges and whole numbers that the advice declares, and one category of each categorical feature. What is proved
        over it holds for all cases.
    seen : Domain
        With the domain of the frame as ranges, and whole numbers where the data have no others. What is proved over it
        holds for cases like those of the data.
    """

    declared: Domain
    seen: Domain

    @classmethod
    def of(cls, case: AdviceCase, frame: Frame) -> Possible:
        """Find what can be.

        Parameters
        ----------
        case : AdviceCase
            Data and advice.
        frame : Frame
            The domain in which premises count.

        Returns
        -------
        Possible
            Ranges that come with extracted rules were seen, not declared.
        """
        columns = case.columns
        n = len(columns.names)
        lower, upper = declared_ranges(columns)
        if any(rule.origin == "extracted" for rule in case.rules):
            lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        whole: BoolArray = np.zeros(n, dtype=np.bool_)
        for feature, column in columns.numbers.items():
            whole[column] = columns.space.integer[feature]
        met = case.whole
        names = columns.names
        # Data beyond a declared range speak against the declaration.
        low = np.where(frame.lower >= lower, lower, -np.inf)
        high = np.where(frame.upper <= upper, upper, np.inf)
        known = Domain(
            FeatureSpace(names, low, high, whole),
            np.isfinite(low),
            np.isfinite(high),
            columns.one_hot,
        )
        seen = Domain(
            FeatureSpace(names, frame.lower, frame.upper, whole | met), groups=columns.one_hot
        )
        return cls(known, seen)
