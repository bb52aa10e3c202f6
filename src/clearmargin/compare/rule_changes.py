"""What differs between two sets of rules: rules in common, changed, gone and new, and a case that is decided otherwise.

All is exact. Every bound of every rule cuts its feature into pieces: points and open intervals between them, one piece
for each category, and one for a missing value. Within a piece no condition changes, so that a rule is a set of pieces
for each feature, kept as the bits of a whole number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.printer import Phrases, format_label
from clearmargin.rules import Box, FeatureSpace, Interval, Rule, RuleSet
from clearmargin.rules.rule import Label

# Cells that the search for a case decided otherwise may look at; some microseconds each.
_MAX_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class ChangedRule:
    """A rule that is in both sets with other conditions."""

    old: int
    new: int
    conditions: tuple[tuple[str, str | None, str | None], ...]
    relation: Literal["wider", "narrower", "moved"]


@dataclass(frozen=True, slots=True)
class RuleComparison:
    r"""The difference of two sets of rules.

    Parameters
    ----------
    old, new : RuleSet
        The sets.
    common : tuple of (int, int)
        Places of rules that are the same: they cover the same cases and give them the same class.
    changed : tuple of ChangedRule
        Pairs of rules with other conditions.
    gone, added : tuple of int
        Places of old rules without a new one, and of new rules without an old one.
    decisions : {"same", "different", "unknown"}
        Whether the first rule that covers a case gives it the same class in both sets, for every possible case.
    witness : dict or None
        A case that is decided otherwise, by feature; features that do not matter are left out, None is missing.
    labels : tuple of (label or None, label or None) or None
        What the two sets give the witness; None where no rule covers it.

    See Also
    --------
    check_drift : Whether rules do on a new table what they did before.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> old = parse_rules("age >= 60 => ill\nbmi < 25 => well")
    >>> new = parse_rules("age >= 55 => ill\nbmi < 25 => well")
    >>> found = compare_rules(old, new)
    >>> found.common, found.changed[0].relation, found.changed[0].conditions
    (((1, 1),), 'wider', (('age', 'age >= 60', 'age >= 55'),))
    >>> found.decisions, found.witness, found.labels
    ('different', {'age': 55.0, 'bmi': 24.0}, ('well', 'ill'))
    """

    old: RuleSet
    new: RuleSet
    common: tuple[tuple[int, int], ...]
    changed: tuple[ChangedRule, ...]
    gone: tuple[int, ...]
    added: tuple[int, ...]
    decisions: Literal["same", "different", "unknown"]
    witness: dict[str, Any] | None = None
    labels: tuple[Label | None, Label | None] | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        before, after = _texts(self.old), _texts(self.new)
        yield (
            f"{len(self.old)} old and {len(self.new)} new rules: {len(self.common)} in common, "
            f"{len(self.changed)} changed, {len(self.gone)} gone, {len(self.added)} new."
        )
        for change in self.changed:
            words = {"wider": "is wider", "narrower": "is narrower", "moved": "has moved"}
            yield f"  changed  {before[change.old]}"
            yield f"      now  {after[change.new]}  ({words[change.relation]})"
        yield from (f"  gone     {before[k]}" for k in self.gone)
        yield from (f"  new      {after[k]}" for k in self.added)
        yield self.verdict

    @property
    def verdict(self) -> str:
        """Whether both sets decide alike, in a sentence."""
        if self.decisions == "same":
            return "Proved: in every case the first rule that applies gives the same class in both, or none applies."
        if self.witness is None or self.labels is None:
            return "Whether both decide all cases alike is not known: there are linear conditions, or too many rules."
        case = ", ".join(
            f"{name} {'missing' if value is None else f'= {_shown(value)}'}"
            for name, value in self.witness.items()
        )
        predicted = [
            "no rule applies" if label is None else format_label(label) for label in self.labels
        ]
        return f"They differ, for example, on {case or 'every case'}: {predicted[0]} before, {predicted[1]} now."

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data for JSON."""
        before, after = _texts(self.old), _texts(self.new)
        return {
            "old_rules": len(self.old),
            "new_rules": len(self.new),
            "common": [{"old": i + 1, "new": j + 1, "rule": after[j]} for i, j in self.common],
            "changed": [
                {
                    "old": change.old + 1,
                    "new": change.new + 1,
                    "before": before[change.old],
                    "after": after[change.new],
                    "relation": change.relation,
                    "conditions": [
                        {"feature": name, "before": one, "after": other}
                        for name, one, other in change.conditions
                    ],
                }
                for change in self.changed
            ],
            "gone": [{"old": k + 1, "rule": before[k]} for k in self.gone],
            "added": [{"new": k + 1, "rule": after[k]} for k in self.added],
            "decisions": self.decisions,
            "witness": self.witness,
            "witness_classes": None if self.labels is None else list(self.labels),
        }


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _texts(rules: RuleSet) -> list[str]:
    phrases = Phrases(rules.space)
    names = [f"{rule.name}: " if rule.name else "" for rule in rules]
    return [
        f"{name}{phrases.premise(rule)} => {format_label(rule.label)}"
        for name, rule in zip(names, rules, strict=True)
    ]


def compare_rules(
    old: RuleSet, new: RuleSet, space: FeatureSpace | None = None, *, max_cells: int = _MAX_CELLS
) -> RuleComparison:
    """Compare two sets of rules, rule by rule and in what they decide.

    Features are matched by name, whatever their order. Two rules are the same if they cover the same cases and give
    the same class: of whole numbers, ``x > 3`` is ``x >= 4``. Of the others, a rule is paired with one of the same name
    and class, else with the one of the same class whose conditions are most alike, if both cover some case and have a
    feature in common.

    Parameters
    ----------
    old, new : RuleSet
        The sets.
    space : FeatureSpace, optional
        Ranges and whole numbers that cases are known to have; by default anything is possible, and features take
        whole numbers where both sets say so.
    max_cells : int, default 200,000
        How many parts of the space the search for a case decided otherwise may look at.

    Returns
    -------
    RuleComparison
        What differs. With linear conditions, only rules that are equal as values are called the same, and whether
        decisions are is not known.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("age >= 60 => ill")
    >>> print(compare_rules(rules, rules))
    1 old and 1 new rules: 1 in common, 0 changed, 0 gone, 0 new.
    Proved: in every case the first rule that applies gives the same class in both, or none applies.
    """
    axes = _axes(old, new, space)
    masks = [_masks(rules, axes) for rules in (old, new)]
    common = _common(old, new, masks)
    left = [
        [k for k in range(len(rules)) if k not in {pair[side] for pair in common}]
        for side, rules in enumerate((old, new))
    ]
    changed = _changed(old, new, masks, left, axes)
    gone = tuple(k for k in left[0] if k not in {change.old for change in changed})
    added = tuple(k for k in left[1] if k not in {change.new for change in changed})
    if any(mask is None for side in masks for mask in side):
        return RuleComparison(old, new, common, changed, gone, added, "unknown")
    sides = [_Side(rules, side) for rules, side in zip((old, new), masks, strict=True)]
    status, cell = _search(sides, axes, max_cells)
    witness = None if cell is None else _witness(cell, axes)
    labels = None if cell is None else (_first(sides[0], cell), _first(sides[1], cell))
    return RuleComparison(old, new, common, changed, gone, added, status, witness, labels)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One feature: its pieces, each with a value in it; the last piece is a missing value (None)."""

    name: str
    values: tuple[Any, ...]

    @property
    def every(self) -> int:
        return (1 << len(self.values)) - 1


Mask = tuple[int, ...]


def _axes(old: RuleSet, new: RuleSet, space: FeatureSpace | None) -> list[_Axis]:
    names = list(dict.fromkeys((*old.space.names, *new.space.names)))
    return [_axis(name, old, new, space) for name in names]


def _axis(name: str, old: RuleSet, new: RuleSet, space: FeatureSpace | None) -> _Axis:
    places = [r.space.index(name) if name in r.space.names else None for r in (old, new)]
    sides = [(r, j) for r, j in zip((old, new), places, strict=True) if j is not None]
    categories = [r.space.categories[j] for r, j in sides]
    fills = [
        None if j is None else r.space.fill[j] for r, j in zip((old, new), places, strict=True)
    ]
    if any(known is not None for known in categories):
        if any(known is None for known in categories):
            raise InvalidValueError(
                f"feature {name!r} has categories in one set of rules and numbers in the other; they cannot be compared"
            )
        values: list[Any] = list(
            dict.fromkeys(text for known in categories for text in known or ())
        )
    else:
        cuts = {float(v) for v in fills if v is not None}
        for rules, j in sides:
            cuts |= _cuts(rules, j)
        is_whole = all(bool(r.space.integer[j]) for r, j in sides)
        values = _pieces(sorted(cuts), is_whole, _range(name, space))
    return _Axis(name, (*values, None))


def _cuts(rules: RuleSet, j: int) -> set[float]:
    found: set[float] = set()
    for rule in rules:
        if isinstance(rule.region, Box) and rule.region.has_bounds(j):
            interval = rule.region.interval(j)
            found |= {bound for bound in (interval.low, interval.high) if math.isfinite(bound)}
    return found


def _range(name: str, space: FeatureSpace | None) -> tuple[float, float, bool]:
    if space is None or name not in space.names:
        return -math.inf, math.inf, False
    j = space.index(name)
    return float(space.lower[j]), float(space.upper[j]), bool(space.integer[j])


def _pieces(cuts: list[float], is_whole: bool, known: tuple[float, float, bool]) -> list[float]:
    """Return a value in each piece that can hold a case: cuts themselves, and the open intervals between them."""
    low, high, declared_whole = known
    whole = is_whole or declared_whole
    values = []
    ends = [-math.inf, *cuts, math.inf]
    for k, (left, right) in enumerate(pairwise(ends)):
        if k and low <= left <= high and (not whole or left.is_integer()):
            values.append(left)
        inside = _value_between(left, right, low, high, whole)
        if inside is not None:
            values.append(inside)
    return values


def _value_between(left: float, right: float, low: float, high: float, whole: bool) -> float | None:
    """Return a value strictly between two cuts and within the range, the plainest one; None if there is none."""
    first = left if left >= low else np.nextafter(low, -math.inf)
    last = right if right <= high else np.nextafter(high, math.inf)
    if math.isinf(first) and math.isinf(last):
        return 0.0
    if whole:
        smallest = math.floor(first) + 1 if math.isfinite(first) else math.ceil(last) - 1
        return float(smallest) if first < smallest < last else None
    if math.isinf(first):
        return float(min(last - 1.0, np.nextafter(last, -math.inf)))
    if math.isinf(last):
        return float(max(first + 1.0, np.nextafter(first, math.inf)))
    middle = first + (last - first) / 2
    return float(middle) if first < middle < last else None


def _masks(rules: RuleSet, axes: Sequence[_Axis]) -> list[Mask | None]:
    side_of = {name: j for j, name in enumerate(rules.space.names)}
    return [_mask(rule, rules.space, side_of, axes) for rule in rules]


def _mask(
    rule: Rule, space: FeatureSpace, places: dict[str, int], axes: Sequence[_Axis]
) -> Mask | None:
    """Return for each feature the pieces in which the rule applies; None for a rule with linear conditions."""
    box = rule.region
    if not isinstance(box, Box):
        return None
    found = []
    for axis in axes:
        j = places.get(axis.name)
        bits = axis.every
        if j is not None:
            fill = space.fill[j]
            bits = sum(
                1 << p
                for p, value in enumerate(axis.values)
                if _applies(box, space, j, fill if value is None else value)
            )
        found.append(bits)
    return tuple(found)


def _applies(box: Box, space: FeatureSpace, j: int, value: Any) -> bool:
    """Check whether the condition on one feature holds for a value; None is a missing one."""
    if value is None:
        free = not box.has_bounds(j) and j not in box.sets and j not in box.known
        return j in box.missing or free
    if j in box.missing:
        return False
    categories = space.categories[j]
    if categories is not None:
        return j not in box.sets or (value in categories and categories.index(value) in box.sets[j])
    return float(value) in box.interval(j) if box.has_bounds(j) else True


def _common(
    old: RuleSet, new: RuleSet, masks: Sequence[Sequence[Mask | None]]
) -> tuple[tuple[int, int], ...]:
    """Find pairs of equal rules, each rule in one pair at most."""
    places: dict[tuple[Any, Label], list[int]] = {}
    for j, (rule, mask) in enumerate(zip(new, masks[1], strict=True)):
        places.setdefault((_key(rule, mask), rule.label), []).append(j)
    pairs = []
    for i, (rule, mask) in enumerate(zip(old, masks[0], strict=True)):
        waiting = places.get((_key(rule, mask), rule.label))
        if waiting:
            pairs.append((i, waiting.pop(0)))
    return tuple(pairs)


def _key(rule: Rule, mask: Mask | None) -> Any:
    return mask if mask is not None else repr(rule.region)


def _changed(
    old: RuleSet,
    new: RuleSet,
    masks: Sequence[Sequence[Mask | None]],
    left: Sequence[Sequence[int]],
    axes: Sequence[_Axis],
) -> tuple[ChangedRule, ...]:
    """Pair the rules that are not the same, those of the same name first, then the most alike."""
    ranked = []
    for i in left[0]:
        for j in left[1]:
            one, other = masks[0][i], masks[1][j]
            if old[i].label != new[j].label or one is None or other is None:
                continue
            same_name = old[i].name is not None and old[i].name == new[j].name
            alike = _likeness(one, other, axes)
            if same_name or alike > 0.0:
                ranked.append((not same_name, -alike, i, j))
    taken: tuple[set[int], set[int]] = (set(), set())
    changes = []
    for _, _, i, j in sorted(ranked):
        if i in taken[0] or j in taken[1]:
            continue
        taken[0].add(i)
        taken[1].add(j)
        changes.append(_change(old, new, i, j, masks, axes))
    return tuple(sorted(changes, key=lambda change: change.old))


def _likeness(one: Mask, other: Mask, axes: Sequence[_Axis]) -> float:
    """Average over the features with a condition of the share of pieces in common; 0 for rules that cannot meet."""
    shares = []
    together = False
    for axis, a, b in zip(axes, one, other, strict=True):
        if not a & b:
            return 0.0
        if a != axis.every or b != axis.every:
            shares.append((a & b).bit_count() / (a | b).bit_count())
            together |= axis.every not in (a, b)
    return sum(shares) / len(shares) if together else 0.0


def _change(
    old: RuleSet,
    new: RuleSet,
    i: int,
    j: int,
    masks: Sequence[Sequence[Mask | None]],
    axes: Sequence[_Axis],
) -> ChangedRule:
    one, other = masks[0][i], masks[1][j]
    assert one is not None
    assert other is not None
    conditions = tuple(
        (axis.name, _condition(old, i, axis.name), _condition(new, j, axis.name))
        for axis, a, b in zip(axes, one, other, strict=True)
        if a != b
    )
    relation: Literal["wider", "narrower", "moved"] = "moved"
    if all(a & b == a for a, b in zip(one, other, strict=True)):
        relation = "wider"
    elif all(a & b == b for a, b in zip(one, other, strict=True)):
        relation = "narrower"
    return ChangedRule(i, j, conditions, relation)


def _condition(rules: RuleSet, k: int, name: str) -> str | None:
    """Return the condition of a rule on one feature, in the rule language."""
    if name not in rules.space.names:
        return None
    j = rules.space.index(name)
    box = rules[k].region
    assert isinstance(box, Box)
    intervals: dict[int, Interval] = {j: box.interval(j)} if box.has_bounds(j) else {}
    sets = {j: box.sets[j]} if j in box.sets else None
    missing, known = ({j} & {*listed} for listed in (box.missing, box.known))
    if not (intervals or sets or missing or known):
        return None
    alone = Box.from_intervals(intervals, box.n_features, sets, missing=missing, known=known)
    return Phrases(rules.space).premise(Rule(alone, rules[k].label))


@dataclass(frozen=True, slots=True)
class _Side:
    """One set of rules as masks, in their order."""

    rules: RuleSet
    masks: Sequence[Mask | None]


def _search(
    sides: Sequence[_Side], axes: Sequence[_Axis], most: int
) -> tuple[Literal["same", "different", "unknown"], Mask | None]:
    """Look for a cell that the first rules of both sides decide otherwise, cutting cells along conditions."""
    cells = [(tuple(axis.every for axis in axes), (0, 0))]
    for _ in range(most):
        if not cells:
            return "same", None
        cell, start = cells.pop()
        heads = [_head(side, cell, k) for side, k in zip(sides, start, strict=True)]
        cut = next((head for head in heads if not head.is_decided), None)
        if cut is None:
            if heads[0].label != heads[1].label:
                return "different", cell
            continue
        assert cut.mask is not None
        feature = next(f for f, (c, m) in enumerate(zip(cell, cut.mask, strict=True)) if c & m != c)
        going_on = (heads[0].place, heads[1].place)
        parts = (cell[feature] & ~cut.mask[feature], cell[feature] & cut.mask[feature])
        cells += [((*cell[:feature], part, *cell[feature + 1 :]), going_on) for part in parts]
    return "unknown", None


@dataclass(frozen=True, slots=True)
class _Head:
    """The first rule that meets a cell: whether it covers all of it, or none meets it."""

    place: int
    mask: Mask | None
    label: Label | None
    is_decided: bool


def _head(side: _Side, cell: Mask, start: int) -> _Head:
    for k in range(start, len(side.masks)):
        mask = side.masks[k]
        assert mask is not None
        if all(c & m for c, m in zip(cell, mask, strict=True)):
            covers = all(c & m == c for c, m in zip(cell, mask, strict=True))
            return _Head(k, mask, side.rules[k].label, covers)
    return _Head(len(side.masks), None, None, True)


def _first(side: _Side, cell: Mask) -> Label | None:
    return _head(side, cell, 0).label


def _witness(cell: Mask, axes: Sequence[_Axis]) -> dict[str, Any]:
    """Return a case in a cell, by the features that matter; a value is missing only where it must be."""
    case = {}
    for axis, bits in zip(axes, cell, strict=True):
        if bits == axis.every:
            continue
        places = [p for p in range(len(axis.values)) if bits >> p & 1]
        case[axis.name] = axis.values[places[0]]
    return case
