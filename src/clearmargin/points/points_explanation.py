"""Explain one case of weighted rules: what holds of it, what that adds up to, and which single changes flip its class.

A flip changes the value of one feature and leaves the others as they are. All of them are tried: each cell of values
that rules tell apart, each category, and where a linear term makes the score cross the threshold within a cell. What is
said of a flip is what the rules predict of the changed case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clearmargin.language.lexer import quote
from clearmargin.language.printer import Phrases, format_label, format_number
from clearmargin.language.words import number_text
from clearmargin.points.value_cells import Cell, value_cells
from clearmargin.points.weighted_rules import WeightedRules
from clearmargin.rules import Box, Polyhedron, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray
from clearmargin.tables.table import case_table

# As many flips as are read; `flips` has all of them.
_SHOWN_FLIPS = 8
# Where a score crosses the threshold is found but for rounding, so that floats around it are tried, too.
_STEPS = (0, 1, 2, 3, 5, 8, 16, 64, 1024)
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Addend:
    """What adds to the score of a case.

    Parameters
    ----------
    text : str
        The premise of a rule that holds, a category, a multiple of a number, or where the score starts.
    points : float
        What it adds: towards the second of two classes, else towards the class that is predicted, less what it adds to
        the next one.
    rule : int or None
        The number of the rule, from 1; None for what is no rule.

    Examples
    --------
    >>> Addend("bmi >= 30", 2.0, 1).points
    2.0
    """

    text: str
    points: float
    rule: int | None


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
        The value, and the nearest one that flips the class; None where it is missing.
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
class PointsExplanation:
    """Why weighted rules predict a class for a case.

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
    parts : tuple of Addend
        What adds up to the score; the largest first.
    flips : tuple of Flip
        Single changes that would change the class, in the order of the features.
    n_rules : int
        How many rules there are.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill" + chr(10) + "age < 40 => well", classes=["well", "ill"])
    >>> print(explain_points(WeightedRules(rules, [2.0, -1.5], -1.0), {"bmi": 32.0, "age": 30.0}))
    well: the score is -0.5, not more than 0; 2 of 2 rules hold
      +2    bmi >= 30
      -1.5  age < 40
      -1    at the start
    One change that would make it another class:
      age >= 40 (now 30): ill, score 1
    """

    label: Label
    score: float
    threshold: float
    against: Label
    parts: tuple[Addend, ...]
    flips: tuple[Flip, ...]
    n_rules: int
    is_binary: bool = True

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The explanation in lines for people."""
        fired = sum(part.rule is not None for part in self.parts)
        held = f"{fired} of {self.n_rules} rules hold"
        wide = max((len(_signed(part.points)) for part in self.parts), default=0)
        lines = [f"{format_label(self.label)}: {self._decision()}; {held}"]
        lines += [f"  {_signed(part.points).ljust(wide)}  {part.text}" for part in self.parts]
        if not self.flips:
            return "\n".join([*lines, "No change of a single feature would make it another class."])
        lines.append("One change that would make it another class:")
        lines += [f"  {self._flip_text(flip)}" for flip in self.flips[:_SHOWN_FLIPS]]
        if len(self.flips) > _SHOWN_FLIPS:
            lines.append(f"  and {len(self.flips) - _SHOWN_FLIPS} more")
        return "\n".join(lines)

    def _decision(self) -> str:
        if not self.is_binary:
            return f"{number_text(self.score)} points more than {format_label(self.against)}"
        side = "more" if self.score > self.threshold else "not more"
        return f"the score is {number_text(self.score)}, {side} than {number_text(self.threshold)}"

    def _flip_text(self, flip: Flip) -> str:
        now = flip.before
        said = "missing" if now is None else now if isinstance(now, str) else format_number(now)
        score = f"score {number_text(flip.score)}" if self.is_binary else ""
        return f"{flip.text} (now {said}): {format_label(flip.label)}" + (
            f", {score}" if score else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, ready for JSON."""
        return {
            "class": self.label,
            "score": self.score,
            "threshold": self.threshold,
            "against": self.against,
            "rules": self.n_rules,
            "parts": [asdict(part) for part in self.parts],
            "flips": [asdict(flip) for flip in self.flips],
            "text": self.text,
        }


def explain_points(weighted: WeightedRules, case: Any) -> PointsExplanation:
    """Say which rules hold of a case, what they add up to, and which single changes would flip its class."""
    point = weighted.space.read(case_table(case, weighted.space.names))[0]
    scores = np.atleast_2d(np.asarray(weighted.decision_function(point[None])).T).reshape(-1)
    label, rival, score = _decide(weighted, scores)
    direction = np.ones(1)
    if not weighted.is_binary:
        direction = np.zeros(len(weighted.classes))
        direction[label], direction[rival] = 1.0, -1.0
    parts = sorted(_addends(weighted, point, direction), key=lambda part: -abs(part.points))
    return PointsExplanation(
        weighted.classes[label],
        score,
        weighted.threshold,
        weighted.classes[rival],
        tuple(parts),
        tuple(_flips(weighted, point, label)),
        len(weighted.rules),
        weighted.is_binary,
    )


def _decide(weighted: WeightedRules, scores: FloatArray) -> tuple[int, int, float]:
    """Return the class, the next one, and the score of two classes, or the lead over the next one."""
    if weighted.is_binary:
        label = int(scores[0] > weighted.threshold)
        return label, 1 - label, float(scores[0])
    label = int(scores.argmax())
    others = np.where(np.arange(len(scores)) == label, -np.inf, scores)
    rival = int(others.argmax())
    return label, rival, float(scores[label] - scores[rival])


def _addends(weighted: WeightedRules, point: FloatArray, direction: FloatArray) -> Iterator[Addend]:
    """List what adds to the scores, weighed by the direction asked for; nothing is left out but zeros."""
    phrases = Phrases(weighted.space)
    start = float(direction @ np.atleast_1d(weighted.intercept))
    if start:
        yield Addend("at the start", start, None)
    for term in weighted.linear:
        added = float(direction @ term.of(point[[term.feature]])[0])
        if added:
            yield Addend(_term_text(weighted, term.feature, point, term.fill), added, None)
    held = weighted.rules.covers(point[None])[0]
    weights = direction @ np.atleast_2d(weighted.weights)
    for r in np.flatnonzero(held).tolist():
        yield Addend(phrases.premise(weighted.rules[r]), float(weights[r]), r + 1)


def _term_text(weighted: WeightedRules, feature: int, point: FloatArray, fill: float | None) -> str:
    name, value = quote(weighted.space.names[feature]), float(point[feature])
    if fill is None:
        return f"{name} = {quote((weighted.space.categories[feature] or ())[int(value)])}"
    if math.isnan(value):
        return f"{name} is missing, and counts as {format_number(fill)}"
    return f"{name} = {format_number(value)}"


# A value of a feature to try: the feature, the value, and on which side of the case it is.
_Candidate = tuple[int, float, int]


def _flips(weighted: WeightedRules, point: FloatArray, label: int) -> Iterator[Flip]:
    """Try all values of one feature at a time; give the nearest on each side that flips the class."""
    used = {j for rule in weighted.rules for j in rule.region.bounded}
    counting = sorted(used | {term.feature for term in weighted.linear})
    candidates = [c for j in counting for c in _candidates(weighted, point, j)]
    if not candidates:
        return
    changed = np.repeat(point[None], len(candidates), axis=0)
    features, values, _ = zip(*candidates, strict=True)
    changed[np.arange(len(candidates)), features] = values
    scores = np.asarray(weighted.decision_function(changed)).reshape(len(candidates), -1)
    seen: set[tuple[int, int]] = set()
    for (j, value, side), row in zip(candidates, scores, strict=True):
        new, _, score = _decide(weighted, row)
        if new == label or (side and (j, side) in seen):
            continue
        seen.add((j, side))
        yield _flip(weighted, point, (j, value, side), new, score)


def _candidates(weighted: WeightedRules, point: FloatArray, j: int) -> list[_Candidate]:
    """List values of a feature to try, on each side from the nearest to the farthest."""
    value, categories = float(point[j]), weighted.space.categories[j]
    if categories is not None:
        return [(j, float(k), 0) for k in range(len(categories)) if k != value]
    values = sorted(set(_values(weighted, point, j)))
    if math.isnan(value):
        # Nothing is near or far; the smallest value that flips stands for its cell.
        return [(j, x, 1) for x in values]
    above = [(j, x, 1) for x in values if x > value]
    return above + [(j, x, -1) for x in reversed(values) if x < value]


def _values(weighted: WeightedRules, point: FloatArray, j: int) -> Iterator[float]:
    """Yield a value of each cell of a number, and those where a score crosses another within a cell."""
    is_whole = bool(weighted.space.integer[j])
    boxes = RuleSet(
        [rule for rule in weighted.rules if _is_box(rule.region)], weighted.space, weighted.classes
    )
    cells = value_cells(boxes, j)
    for cell in cells:
        yield from (end for end in (cell.low, cell.high) if math.isfinite(end))
    if len(cells) == 1 and math.isnan(float(point[j])):
        yield 0.0
    for rule in weighted.rules:
        if isinstance(rule.region, Polyhedron) and not _is_box(rule.region):
            yield from _row_crossings(rule.region, point, j, is_whole)
    for cell in cells:
        yield from _score_crossings(weighted, point, j, cell, is_whole)


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
        yield crossing + count * step
        yield crossing - count * step


def _row_crossings(
    region: Polyhedron, point: FloatArray, j: int, is_whole: bool
) -> Iterator[float]:
    """Yield where a number reaches the bound of a weighted sum, the others being as they are."""
    for row, limit in zip(region.A, region.b.tolist(), strict=True):
        if row[j]:
            others = np.delete(row * np.where(row == 0, 0.0, point), j)
            size = abs(limit) + float(np.abs(others).sum())
            yield from _around(limit - float(others.sum()), float(row[j]), size, is_whole)


def _score_crossings(
    weighted: WeightedRules, point: FloatArray, j: int, cell: Cell, is_whole: bool
) -> Iterator[float]:
    """Yield where, within a cell, the linear term of a number makes the score cross the threshold, or another score."""
    terms = [term for term in weighted.linear if term.feature == j and term.fill is not None]
    if not terms:
        return
    coef = terms[0].coef.reshape(-1)
    changed = point.copy()
    changed[j] = inside = cell.nearest(0.0)
    rest = np.asarray(weighted.decision_function(changed[None])).reshape(-1) - coef * inside
    if weighted.is_binary:
        pairs = [(float(coef[0]), weighted.threshold - float(rest[0]))]
    else:
        k, m = np.triu_indices(len(coef), 1)
        pairs = list(zip((coef[k] - coef[m]).tolist(), (rest[m] - rest[k]).tolist(), strict=True))
    size = abs(weighted.threshold) + float(np.abs(rest).sum() + np.abs(coef * inside).sum())
    size += float(np.abs(weighted.weights).sum())
    for slope, gain in pairs:
        if slope:
            near = _around(gain, slope, size, is_whole)
            yield from (value for value in near if cell.low <= value <= cell.high)


def _flip(
    weighted: WeightedRules, point: FloatArray, candidate: _Candidate, label: int, score: float
) -> Flip:
    j, value, side = candidate
    name, before = weighted.space.names[j], float(point[j])
    categories = weighted.space.categories[j]
    if categories is not None:
        known = before >= 0  # neither missing nor unknown
        text = f"{quote(name)} = {quote(categories[int(value)])}"
        now: float | str | None = categories[int(before)] if known else None
        after: float | str = categories[int(value)]
        return Flip(name, text, now, after, weighted.classes[label], score)
    is_missing = math.isnan(before)
    text = (
        f"{quote(name)} = {format_number(value)}"
        if is_missing
        else f"{quote(name)} {_bound_text(value, side, bool(weighted.space.integer[j]))}"
    )
    return Flip(name, text, None if is_missing else before, value, weighted.classes[label], score)


def _bound_text(value: float, side: int, is_whole: bool) -> str:
    """Write the end of an interval of floats: '> 3' rather than '>= 3.0000000000000004'."""
    signs = (">=", ">") if side > 0 else ("<=", "<")
    here = format_number(value)
    beside = format_number(math.nextafter(value, -side * math.inf))
    if is_whole or len(here) <= len(beside):
        return f"{signs[0]} {here}"
    return f"{signs[1]} {beside}"


def _signed(points: float) -> str:
    text = number_text(points)
    return text if text.startswith("-") else f"+{text}"
