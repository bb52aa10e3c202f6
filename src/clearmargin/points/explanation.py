"""Explain one case of a scorecard: what adds up to its score, and which single changes give it another class.

On a card, what adds up are features, each with the points of the cell of its value; else the rules that hold, and the
linear terms. A change is of the value of one feature and leaves the others as they are. All of them are tried: each
cell of values that rules tell apart, each category, and where a linear term makes the score cross the threshold within
a cell. What is said of a change is what the scorecard predicts of the changed case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clearmargin.language.lexer import quote
from clearmargin.language.printer import Phrases, format_label, format_number
from clearmargin.language.words import number_text
from clearmargin.points.cells import Cell, card_range, range_text, single_feature, value_cells
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules import Box, Polyhedron
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray
from clearmargin.tables.table import case_table

# As many changes as are read; `flips` has all of them.
_SHOWN_FLIPS = 8
# Where a score crosses the threshold is found but for rounding, so that floats around it are tried, too.
_STEPS = (0, 1, 2, 3, 5, 8, 16, 64, 1024)
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What adds to the score of a case.

    Parameters
    ----------
    text : str
        The value of a feature, the premise of a rule that holds, a linear term, or where the score starts.
    points : float
        What it adds: towards the second of two classes, else towards the class that is predicted, less what it adds to
        the next one.
    rule : int or None
        The number of the rule, from 1; None for what is no single rule.
    feature : str or None
        The feature; None for rules on several of them.
    proof : (int, int) or None
        Of a card with proof columns: what the feature adds at least, and at most.

    Examples
    --------
    >>> Contribution("bmi >= 30", 2.0, 1, "bmi").points
    2.0
    """

    text: str
    points: float
    rule: int | None = None
    feature: str | None = None
    proof: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Flip:
    """Another value of one feature with which the case would be of another class.

    Parameters
    ----------
    feature : str
        The feature.
    text : str
        What would have to hold, in the rule language.
    before, after : float, str or None
        The value, and the nearest one that changes the class; None where it is missing.
    label : str, int, float or bool
        The class with it.
    score : float
        The score with it, as the explanation gives it.

    Examples
    --------
    >>> Flip("bmi", "bmi < 30", 31.5, 29.9, "well", -0.5).text
    'bmi < 30'
    """

    feature: str
    text: str
    before: float | str | None
    after: float | str
    label: Label
    score: float


@dataclass(frozen=True, slots=True)
class ProvedCase:
    """What proof columns say of a case.

    Parameters
    ----------
    is_proved : bool
        Whether they prove the class.
    at_least, at_most : int
        The sums of both columns; 0 for a case outside.
    limits : pair of int
        Up to the first number the points at most prove the first class, from the second one on the points at least
        prove the second class.
    outside : tuple of str
        Values of the case of which nothing is proved.

    Examples
    --------
    >>> ProvedCase(True, 5, 9, (2, 4)).is_proved
    True
    """

    is_proved: bool
    at_least: int
    at_most: int
    limits: tuple[int, int]
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PointsExplanation:
    """Why a scorecard predicts a class for a case.

    Parameters
    ----------
    label : str, int, float or bool
        The class.
    score : float
        With two classes the score of the second; else the lead of the class over the next one.
    threshold : float
        With two classes the second begins above it; else 0.
    against : str, int, float or bool
        The other of two classes, or the next one of more.
    parts : tuple of Contribution
        What adds up to the score; the largest first.
    flips : tuple of Flip
        Single changes that would change the class, in the order of the features.
    n_rules : int
        How many rules there are.
    is_binary : bool, default True
        Whether there are two classes.
    proof : ProvedCase, optional
        What proof columns say.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 and age > 9 => ill" + chr(10) + "age < 40 => well", classes=["well", "ill"])
    >>> print(explain_points(Scorecard(rules, [2.0, -1.5], -1.0), {"bmi": 32.0, "age": 30.0}))
    well: the score is -0.5, not more than 0; 2 of 2 rules hold
      +2    bmi >= 30 and age > 9
      -1.5  age < 40
      -1    at the start
    One change that would make it another class:
      age >= 40 (now 30): ill, score 1
    """

    label: Label
    score: float
    threshold: float
    against: Label
    parts: tuple[Contribution, ...]
    flips: tuple[Flip, ...]
    n_rules: int
    is_binary: bool = True
    proof: ProvedCase | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The explanation in lines for people."""
        if self.proof is not None:
            return "\n".join([self._proof_text(self.proof), *map(self._proof_line, self.parts)])
        rules = {part.rule for part in self.parts} - {None}
        held = f"; {len(rules)} of {self.n_rules} rules hold" if rules or self.start == 0.0 else ""
        shown = [part for part in self.parts if rules or part.feature is not None]
        wide = max((len(_signed(part.points)) for part in shown), default=0)
        lines = [f"{format_label(self.label)}: {self._decision(is_card=not rules)}{held}"]
        lines += [f"  {_signed(part.points).ljust(wide)}  {part.text}" for part in shown]
        if not self.flips:
            return "\n".join([*lines, "No change of a single feature would make it another class."])
        lines.append("One change that would make it another class:")
        lines += [f"  {self._flip_text(flip)}" for flip in self.flips[:_SHOWN_FLIPS]]
        if len(self.flips) > _SHOWN_FLIPS:
            lines.append(f"  and {len(self.flips) - _SHOWN_FLIPS} more")
        return "\n".join(lines)

    @property
    def start(self) -> float:
        """Where the score starts before anything of the case is added."""
        return sum(part.points for part in self.parts if part.rule is None and part.feature is None)

    def _decision(self, *, is_card: bool) -> str:
        if not self.is_binary:
            return f"{number_text(self.score)} points more than {format_label(self.against)}"
        # On a card the sum of its points decides.
        start = self.start if is_card else 0.0
        score, limit = number_text(self.score - start), number_text(self.threshold - start)
        side = "more" if self.score > self.threshold else "not more"
        return (
            f"{score} points, {side} than {limit}"
            if is_card
            else f"the score is {score}, {side} than {limit}"
        )

    def _flip_text(self, flip: Flip) -> str:
        now = flip.before
        said = "missing" if now is None else now if isinstance(now, str) else format_number(now)
        score = f", score {number_text(flip.score)}" if self.is_binary else ""
        return f"{flip.text} (now {said}): {format_label(flip.label)}{score}"

    def _proof_text(self, proof: ProvedCase) -> str:
        few, many = proof.limits
        low, high, label = _count(proof.at_least), _count(proof.at_most), format_label(self.label)
        if proof.outside:
            return f"{label}, not proved: {', '.join(proof.outside)}"
        if not proof.is_proved:
            return f"{label}, not proved: {proof.at_least} to {high}, between {few} and {many}"
        if proof.at_least >= many:
            return f"{label} is proved: at least {low}, and {many} are enough"
        return f"{label} is proved: at most {high}, and up to {few} are enough"

    def _proof_line(self, part: Contribution) -> str:
        low, high = part.proof or (0, 0)
        return f"  {_count(low) if low == high else f'{low} to {_count(high)}'}  {part.text}"

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, ready for JSON.

        Returns
        -------
        dict
            Everything that the explanation says, and its text.
        """
        found = {
            "class": self.label,
            "score": self.score,
            "threshold": self.threshold,
            "against": self.against,
            "rules": self.n_rules,
            "parts": [asdict(part) for part in self.parts],
            "flips": [asdict(flip) for flip in self.flips],
            "text": self.text,
        }
        return found if self.proof is None else {**found, "proof": asdict(self.proof)}


def explain_points(card: Scorecard, case: Any, predicted: Label | None = None) -> PointsExplanation:
    """Say what adds up to the score of a case; `predicted` is what a model says where no class is proved."""
    point = card.space.read(case_table(case, card.space.names))[0]
    scores = np.atleast_1d(card.decision_function(point[None])).reshape(-1)
    code, rival, score = _decide(card, scores)
    proof, label = None, card.classes[code]
    if card.proof is not None:
        low, high, inside = (int(found[0]) for found in card.totals(point[None]))
        limits = card.proof.limits
        is_proved = bool(inside and (low >= limits[1] or high <= limits[0]))
        proof = ProvedCase(is_proved, low, high, limits, tuple(_outside(card, point)))
        if not is_proved and predicted is not None:
            label, rival = predicted, 1 - card.classes.index(predicted)
    direction = np.ones(1)
    if not card.is_binary:
        direction = np.zeros(len(card.classes))
        direction[code], direction[rival] = 1.0, -1.0
    parts = _features(card, point) if card.is_card else _addends(card, point, direction)
    return PointsExplanation(
        label,
        score,
        card.threshold,
        card.classes[rival],
        tuple(sorted(parts, key=lambda part: -abs(part.points))),
        () if proof is not None else tuple(_flips(card, point, code)),
        len(card.rules),
        card.is_binary,
        proof,
    )


def _decide(card: Scorecard, scores: FloatArray) -> tuple[int, int, float]:
    """Return the class, the next one, and the score of two classes, or the lead over the next one."""
    if card.is_binary:
        label = int(scores[0] > card.threshold)
        return label, 1 - label, float(scores[0])
    label = int(scores.argmax())
    rival = int(np.where(np.arange(len(scores)) == label, -np.inf, scores).argmax())
    return label, rival, float(scores[label] - scores[rival])


def _features(card: Scorecard, point: FloatArray) -> Iterator[Contribution]:
    """List what each feature adds on a card, above the least that it can add; and where the score starts."""
    held, least = card.rules.covers(point[None])[0], card.least_points()
    own = np.array([single_feature(rule) for rule in card.rules])
    shown = {line.name for line in card.card()}
    for j, low in least.items():
        inside = held & (own == j)
        points = float(card.weights[inside].sum()) - low
        proof = None
        if card.proof is not None and held[own == j].any() and card.space.names[j] in shown:
            proof = tuple(int(c[inside].sum()) for c in (card.proof.at_least, card.proof.at_most))
        if points or proof is not None:
            text, name = value_text(card, j, float(point[j])), card.space.names[j]
            yield Contribution(text, points, None, name, proof)  # type: ignore[arg-type]
    start = float(card.intercept) + sum(least.values())
    if start and card.proof is None:
        yield Contribution("at the start", start)


def _addends(card: Scorecard, point: FloatArray, direction: FloatArray) -> Iterator[Contribution]:
    """List what adds to the scores, weighed by the direction asked for; nothing is left out but zeros."""
    phrases, names = Phrases(card.space), card.space.names
    start = float(direction @ np.atleast_1d(card.intercept))
    if start:
        yield Contribution("at the start", start)
    for term in card.linear:
        added = float(direction @ term.of(point[[term.feature]])[0])
        if added:
            text = value_text(card, term.feature, float(point[term.feature]))
            if math.isnan(point[term.feature]) and term.fill is not None:
                text += f", and counts as {format_number(term.fill)}"
            yield Contribution(text, added, None, names[term.feature])
    held = card.rules.covers(point[None])[0]
    weights = direction @ np.atleast_2d(card.weights)
    for r in np.flatnonzero(held).tolist():
        j = single_feature(card.rules[r])
        text, name = phrases.premise(card.rules[r]), None if j is None else names[j]
        yield Contribution(text, float(weights[r]), r + 1, name)


def value_text(card: Scorecard, j: int, value: float) -> str:
    """Write the value of a feature of a case."""
    name, categories = quote(card.space.names[j]), card.space.categories[j]
    if math.isnan(value):
        return f"{name} is missing"
    if categories is None:
        return f"{name} = {format_number(value)}"
    return f"{name} = {quote(categories[int(value)])}" if value >= 0 else f"{name} is unknown"


def _outside(card: Scorecard, point: FloatArray) -> Iterator[str]:
    """Say which values of a case are in no cell of a card with proof."""
    held = card.rules.covers(point[None])[0]
    cells: dict[int, list[int]] = {}
    for r, rule in enumerate(card.rules):
        cells.setdefault(single_feature(rule) or 0, []).append(r)
    for j, own in cells.items():
        if held[own].any():
            continue
        text, value = value_text(card, j, float(point[j])), float(point[j])
        if math.isnan(value) or card.space.categories[j] is not None:
            yield text
            continue
        low, high = card_range((card.rules[r] for r in own), j)
        yield f"{text} is not within {range_text(low, high)}"


# A value of a feature to try: the feature, the value, and on which side of the case it is.
_Candidate = tuple[int, float, int]


def _flips(card: Scorecard, point: FloatArray, label: int) -> Iterator[Flip]:
    """Try all values of one feature at a time; give the nearest on each side that changes the class."""
    used = {j for rule in card.rules for j in rule.region.bounded}
    counting = sorted(used | {term.feature for term in card.linear})
    candidates = [c for j in counting for c in _candidates(card, point, j)]
    if not candidates:
        return
    changed = np.repeat(point[None], len(candidates), axis=0)
    features, values, _ = zip(*candidates, strict=True)
    changed[np.arange(len(candidates)), features] = values
    scores = np.asarray(card.decision_function(changed)).reshape(len(candidates), -1)
    seen: set[tuple[int, int]] = set()
    for (j, value, side), row in zip(candidates, scores, strict=True):
        new, _, score = _decide(card, row)
        if new == label or (side and (j, side) in seen):
            continue
        seen.add((j, side))
        before, categories = float(point[j]), card.space.categories[j]
        now: float | str | None = None if math.isnan(before) else before
        after: float | str = value
        text = value_text(card, j, value)
        if categories is not None:
            now, after = categories[int(before)] if before >= 0 else None, categories[int(value)]
        elif now is not None:
            bound = _bound_text(value, side, bool(card.space.integer[j]))
            text = f"{quote(card.space.names[j])} {bound}"
        yield Flip(card.space.names[j], text, now, after, card.classes[new], score)


def _candidates(card: Scorecard, point: FloatArray, j: int) -> list[_Candidate]:
    """List values of a feature to try, on each side from the nearest to the farthest."""
    value, categories = float(point[j]), card.space.categories[j]
    if categories is not None:
        return [(j, float(k), 0) for k in range(len(categories)) if k != value]
    values = sorted(set(_values(card, point, j)))
    if math.isnan(value):
        # Nothing is near or far; the smallest value that changes the class stands for its cell.
        return [(j, x, 1) for x in values]
    above = [(j, x, 1) for x in values if x > value]
    return above + [(j, x, -1) for x in reversed(values) if x < value]


def _values(card: Scorecard, point: FloatArray, j: int) -> Iterator[float]:
    """Yield a value of each cell of a number, and those where a score crosses another within a cell."""
    is_whole = bool(card.space.integer[j])
    boxes = [rule for rule in card.rules if _is_box(rule.region)]
    cells = value_cells(boxes, j, is_whole)
    for cell in cells:
        yield from (end for end in (cell.low, cell.high) if math.isfinite(end))
    if len(cells) == 1 and math.isnan(float(point[j])):
        yield 0.0
    for rule in card.rules:
        region = rule.region
        if isinstance(region, Polyhedron) and not _is_box(region):
            # Where the number reaches the bound of a weighted sum, the others being as they are.
            for row, limit in zip(region.A, region.b.tolist(), strict=True):
                if row[j]:
                    others = np.delete(row * np.where(row == 0, 0.0, point), j)
                    size = abs(limit) + float(np.abs(others).sum())
                    yield from _around(limit - float(others.sum()), float(row[j]), size, is_whole)
    for term in card.linear:
        if term.feature == j and term.fill is not None:
            coef = term.coef.reshape(-1)
            yield from _score_crossings(card, point, j, coef, cells)


def _is_box(region: Box | Polyhedron) -> bool:
    return isinstance(region, Box) or region.has_unit_rows


def _around(gain: float, slope: float, size: float, is_whole: bool) -> Iterator[float]:
    """Yield values near gain / slope, as near as rounding of a sum of terms of some size lets them be told apart."""
    crossing = gain / slope
    if not math.isfinite(crossing):
        return
    if is_whole:
        low = float(math.floor(crossing))
        yield from (low - 1.0, low, low + 1.0, low + 2.0)
        return
    # Where the exact value has few digits, rounding may have missed it.
    yield from (float(f"{crossing:.{digits}g}") for digits in (6, 9, 12, 15))
    step = max(math.ulp(crossing), _EPS * size / abs(slope))
    for count in _STEPS:
        yield from (crossing + count * step, crossing - count * step)


def _score_crossings(
    card: Scorecard, point: FloatArray, j: int, coef: FloatArray, cells: Sequence[Cell]
) -> Iterator[float]:
    """Yield where, within a cell, the linear term of a number makes the score cross the threshold, or another score."""
    for cell in cells:
        changed = point.copy()
        changed[j] = inside = cell.nearest(0.0)
        rest = np.asarray(card.decision_function(changed[None])).reshape(-1) - coef * inside
        if card.is_binary:
            pairs = [(float(coef[0]), card.threshold - float(rest[0]))]
        else:
            k, m = np.triu_indices(len(coef), 1)
            ends = (coef[k] - coef[m]).tolist(), (rest[m] - rest[k]).tolist()
            pairs = list(zip(*ends, strict=True))
        size = abs(card.threshold) + float(np.abs(rest).sum() + np.abs(coef * inside).sum())
        size += float(np.abs(card.weights).sum())
        for slope, gain in pairs:
            near = _around(gain, slope, size, bool(card.space.integer[j])) if slope else ()
            yield from (value for value in near if cell.low <= value <= cell.high)


def _bound_text(value: float, side: int, is_whole: bool) -> str:
    """Write the end of an interval of floats: '> 3' rather than '>= 3.0000000000000004'."""
    signs = (">=", ">") if side > 0 else ("<=", "<")
    here = format_number(value)
    beside = format_number(math.nextafter(value, -side * math.inf))
    if is_whole or len(here) <= len(beside):
        return f"{signs[0]} {here}"
    return f"{signs[1]} {beside}"


def _count(points: int) -> str:
    return f"{points} point" if points == 1 else f"{points} points"


def _signed(points: float) -> str:
    text = number_text(points)
    return text if text.startswith("-") else f"+{text}"
