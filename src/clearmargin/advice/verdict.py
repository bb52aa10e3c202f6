"""The outcome of training, rule by rule: counts, proofs and counterexamples.

**The worst possible case of a premise** says whether the plane gives the class everywhere in it. Over a box it is a
closed form (`Domain.minimum`). Over linear conditions it is a linear program, with whole numbers where the columns have
them. What is *proved* never rests on a solver: it is decided in rational arithmetic, for all points that the rows
leave, the possible ones among them. `Possible` is what can be, over the columns of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clearmargin.advice.cases import Cases, Premise, narrowed
from clearmargin.advice.frame import Frame
from clearmargin.advice.outcome import AdviceOutcome, RuleOutcome, rule_text
from clearmargin.advice.premise_geometry import worst_margin
from clearmargin.advice.refined_rows import refined_rule
from clearmargin.advice.train import Training
from clearmargin.language.printer import format_label
from clearmargin.rules import Domain, FeatureSpace, Hyperplane, Polyhedron, RuleSet, RuleStats
from clearmargin.rules.arithmetic import exact_sign
from clearmargin.rules.rule import Proof
from clearmargin.rules.value import BoolArray, FloatArray


def judge(case: Cases, training: Training) -> tuple[AdviceOutcome, RuleSet]:
    """Say what became of each rule, and give the rules that count."""
    plane = Hyperplane(training.w, training.b)
    predicted = np.where(plane.decision(case.points) > 0, 1.0, -1.0)
    problem, constant = _constant_problem(case, training, predicted)
    possible = Possible.of(case, training.frame)
    afters, outcomes = [], []
    for rule, tried in zip(case.rules, training.rules, strict=True):
        after = rule if tried.rows is None else refined_rule(rule, tried.rows, case.encoding)
        found = assess(tried.now, training, possible, tried.sign)
        proves = tried.counts and constant != tried.sign
        stats = _stats(case, predicted, tried.now, tried.sign)
        proof: Proof | None = "proved" if found.holds_beyond and proves else None
        afters.append(replace(after, proof=proof, stats=stats))
        outcomes.append((found, proves))
    now = narrowed(RuleSet(afters, case.rules.space, case.rules.classes), case.given.space)
    rows = []
    for k, (tried, (found, proves)) in enumerate(zip(training.rules, outcomes, strict=True)):
        before = case.given[k]
        stats = _stats(case, predicted, tried.given, tried.sign)
        looked_at = np.flatnonzero((training.w != 0) | (tried.now.D != 0).any(axis=0)).tolist()
        rows.append(
            RuleOutcome(
                before=replace(before, proof=None, stats=stats),
                after=now[k],
                verdict=tried.verdict,
                trust=round(tried.trust, 3),
                proved=found.holds and proves,
                margin=found.margin,
                counterexample=None
                if found.counterexample is None or tried.verdict == "empty"
                else possible.seen.name_values(
                    _near_a_case(found.counterexample, tried.now, case, training, tried.sign),
                    looked_at,
                ),
                problems=tuple(tried.problems),
                text_before=rule_text(before, case.given.space),
                text_after=rule_text(now[k], now.space),
            )
        )
    counting = [row.after for row, tried in zip(rows, training.rules, strict=True) if tried.counts]
    return AdviceOutcome(tuple(rows), problem), RuleSet(counting, now.space, case.rules.classes)


def _stats(case: Cases, predicted: FloatArray, premise: Premise, sign: float) -> RuleStats:
    """Count the training cases that a premise covers, those of the class, and those to which the model gives it."""
    covered = premise.covers(case.points)
    right, agreed = (int((covered & (of == sign)).sum()) for of in (case.y, predicted))
    return RuleStats(len(case.points), int(covered.sum()), right, agreed)


def _constant_problem(case: Cases, training: Training, predicted: FloatArray) -> tuple[str, float]:
    """Say so where a model with advice gives one class to all training cases, though these have two; and its sign."""
    is_flat = not training.w.any()
    if not len(case.rules) or not (is_flat or (np.ptp(predicted) == 0 and np.ptp(case.y) > 0)):
        return "", 0.0
    sign = float(predicted[0])
    label = format_label(case.classes.tolist()[int(sign > 0)])
    what, which = ("constant", "case") if is_flat else ("nearly constant", "training case")
    return (
        f"the plane is {what}: every {which} gets {label}. Data and advice, or rules of different classes that touch "
        "or overlap, pull in different directions. What helps: where='cases', a smaller mu or a larger lam, rules "
        "that leave each other room (check_advice says which do not), or RuleSVC(rules=...)"
    ), sign


@dataclass(frozen=True, slots=True)
class Assessment:
    """How a plane does on a premise: its lowest score there, and a case that can exist and gets another class."""

    margin: float
    holds: bool
    holds_beyond: bool
    counterexample: FloatArray | None


@dataclass(frozen=True, slots=True)
class Possible:
    """The cases that can exist: as far as they are declared, and with what the data show."""

    declared: Domain
    seen: Domain

    @classmethod
    def of(cls, case: Cases, frame: Frame) -> Possible:
        """Find what can be."""
        columns, groups = case.encoding.columns, case.encoding.domain().groups
        feature = [source.feature for source in case.encoding.sources]
        lower, upper = case.declared
        if any(rule.origin == "extracted" for rule in case.rules):
            number = np.array([source.code is None for source in case.encoding.sources])
            lower, upper = np.where(number, -np.inf, lower), np.where(number, np.inf, upper)
        # Data beyond a declared range speak against the declaration.
        low = np.where(frame.lower >= lower, lower, -np.inf)
        high = np.where(frame.upper <= upper, upper, np.inf)
        known = Domain(
            FeatureSpace(columns.names, low, high, case.rules.space.integer[feature]),
            np.isfinite(low),
            np.isfinite(high),
            groups,
        )
        seen = FeatureSpace(columns.names, frame.lower, frame.upper, columns.integer)
        return cls(known, Domain(seen, groups=groups))


def assess(premise: Premise, training: Training, possible: Possible, sign: float) -> Assessment:
    """Find the worst possible case of a premise, and decide whether the class is given everywhere."""
    w, b = training.w * sign, training.b * sign
    flat = Polyhedron(premise.D, premise.d, premise.strict)
    counterexample: FloatArray | None
    if (np.count_nonzero(premise.D, axis=1) == 1).all():
        box = flat.to_box()
        domain = possible.seen
        known = np.isfinite(domain.space.lower) & np.isfinite(domain.space.upper)
        ends = np.where(known, [domain.space.lower, domain.space.upper], 0.0)
        middle = ends[0] / 2 + ends[1] / 2
        is_seen = domain.is_possible(box, seen=True)
        found = domain.minimum(w, b, within=box, seen=is_seen, near=middle)
        if found is None:
            return Assessment(np.inf, True, True, None)
        beyond = possible.declared.minimum(w, b, within=box)
        holds, holds_beyond = (
            each is None
            or bool(each.value > 0 or (each.value == 0 and (sign < 0 or not each.is_attained)))
            for each in (found, beyond)
        )
        margin, counterexample = float(found.value), found.point
    else:
        rows, domain = _around(premise, possible.seen), possible.seen
        frame = training.frame
        margin, z = worst_margin(
            *frame.scaled_rows(rows.D, rows.d), *frame.scaled_plane(training.w, training.b), sign
        )
        counterexample = None if z is None else z * frame.unit + frame.center
        whole, ranges = domain.space.integer, [domain.space.lower, domain.space.upper]
        # Over endless ranges a mixed-integer program may take any time, and stops at no limit.
        if whole.any() and np.isfinite(margin) and np.isfinite(ranges).all():
            better = worst_margin(rows.D, rows.d, training.w, training.b, sign, whole)
            margin, counterexample = better if better[1] is not None else (margin, counterexample)
        holds = _holds(rows, w, b, sign)
        holds_beyond = holds and _holds(_around(premise, possible.declared), w, b, sign)
        if counterexample is not None and not premise.covers(counterexample[None])[0]:
            counterexample = None
    if counterexample is not None and not _is_wrong(counterexample, training, sign):
        counterexample = None
    return Assessment(float(margin), holds, holds_beyond, counterexample)


def _is_wrong(x: FloatArray, training: Training, sign: float) -> bool:
    """Check whether a case gets another class, exactly."""
    side = exact_sign(training.w, x, training.b) * sign
    return side < 0 or (side == 0 and sign > 0)


def _near_a_case(
    worst: FloatArray, premise: Premise, case: Cases, training: Training, sign: float
) -> FloatArray:
    """Move the covered case of the lowest score to the worst one, feature by feature, until it gets another class."""
    inside = np.unique(case.points[premise.covers(case.points)], axis=0)
    if not len(inside):
        return worst
    near = inside[np.argmin(sign * (inside @ training.w))].copy()
    feature = np.arange(len(near))
    for group in training.frame.groups:
        feature[list(group)] = group[0]
    for j in np.argsort(np.bincount(feature, sign * training.w * (worst - near))):
        if _is_wrong(near, training, sign):
            break
        near[feature == j] = worst[feature == j]
    return near if premise.covers(near[None])[0] and _is_wrong(near, training, sign) else worst


def _around(premise: Premise, domain: Domain) -> Premise:
    """Return a premise with the rows of a domain, its plain bounds moved to values that columns can have."""
    plain = np.count_nonzero(premise.D, axis=1) == 1
    bounds = Polyhedron(premise.D[plain], premise.d[plain], premise.strict[plain]).to_box()
    box = Polyhedron.from_box(domain.tighten(bounds, seen=domain.is_possible(bounds, seen=True)))
    one = np.zeros((len(domain.groups), premise.D.shape[1]))
    for k, group in enumerate(domain.groups):
        one[k, list(group.columns)] = 1.0
    D = np.concatenate([premise.D[~plain], box.A, one, -one])
    d = np.concatenate([premise.d[~plain], box.b, np.ones(len(one)), -np.ones(len(one))])
    closed = np.zeros(2 * len(one), dtype=np.bool_)
    strict = np.concatenate([premise.strict[~plain], box.strict, closed])
    return Premise(D, d, np.zeros(len(d), dtype=np.bool_), strict)


def _holds(rows: Premise, w: FloatArray, b: float, sign: float) -> bool:
    """Check whether no point of the rows is on the other side; the plane itself belongs to the negative class."""
    if not w.any():
        return b > 0 or (b == 0 and sign < 0)
    used = w != 0
    touching: BoolArray = np.zeros(len(rows.d), dtype=np.bool_)
    while True:  # columns that are tied to the plane by some row, directly or through others
        touching = (rows.D[:, used] != 0).any(axis=1)
        more = used | (rows.D[touching] != 0).any(axis=0)
        if (more == used).all():
            break
        used = more
    other = np.concatenate([rows.D[touching][:, used], w[used][None]])
    strict = np.append(rows.strict[touching], sign < 0)
    return Polyhedron(other, np.append(rows.d[touching], -b), strict).is_empty()
