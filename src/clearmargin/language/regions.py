"""Conditions to regions: plain bounds make a box, anything else linear a polyhedron."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language.source import shown
from clearmargin.language.syntax import Bound, Chain, Condition, Missing, RuleNode, Sum
from clearmargin.language.vocabulary import Vocabulary
from clearmargin.rules.box import Box, make_entries
from clearmargin.rules.categories import CategorySets
from clearmargin.rules.polyhedron import Polyhedron
from clearmargin.rules.rule import Region

__all__ = ["make_region"]

_NO_SETS = CategorySets()


class Row(NamedTuple):
    """One inequality: the weights of some features, times their values, are <= (or <) a limit."""

    weights: dict[int, float]
    limit: float
    is_strict: bool


class Limits(NamedTuple):
    """Plain bounds of one feature, and the condition that says so."""

    feature: int
    low: float
    high: float
    low_is_open: bool
    high_is_open: bool
    written: Bound | Chain


def make_region(rule: RuleNode, words: Vocabulary) -> Region:
    """Make the region of a premise.

    Parameters
    ----------
    rule : RuleNode
        The rule as written.
    words : Vocabulary
        What its names stand for.

    Returns
    -------
    Box or Polyhedron
        A box when every comparison is a plain bound; else one row for each comparison in the order
        written, a chain from low to high, and for ``=`` first >= and then <=.
    """
    found: list[Limits | Row] = []
    sets: dict[int, set[int]] = {}
    said: dict[int, Missing] = {}
    for condition in rule.conditions:
        if isinstance(condition, Missing):
            _note_missing(said, condition, words)
            continue
        choice = words.categories(condition)
        if choice is not None:
            _narrow_set(sets, choice, condition, words)
        elif isinstance(condition, Bound):
            found.append(_limits(condition, words))
        elif isinstance(condition, Chain):
            found.extend(_compare(condition, words))
    if said:
        _check_missing(said, found, sets, words)
    plain = [item for item in found if isinstance(item, Limits)]
    if len(plain) == len(found):
        return _make_box(plain, sets, said, words)
    return _make_polyhedron(rule, found, sets, said, words)


def _note_missing(said: dict[int, Missing], condition: Missing, words: Vocabulary) -> None:
    feature = words.feature(condition.feature)
    if said.setdefault(feature, condition).is_missing != condition.is_missing:
        raise _contradiction(feature, condition, words)
    if condition.is_missing and (value := words.space.fill[feature]) is not None:
        raise words.source.error(
            f"a missing {shown(words.space.names[feature])} counts as {shown(value)} here, so that it never is "
            "missing; leave out this rule, or the 'fill' in the declaration",
            condition.start,
            condition.end,
        )


def _check_missing(
    said: dict[int, Missing],
    found: Sequence[Limits | Row],
    sets: dict[int, set[int]],
    words: Vocabulary,
) -> None:
    """A value that is missing meets no other condition."""
    needed = set(sets)
    for item in found:
        needed |= {item.feature} if isinstance(item, Limits) else set(item.weights)
    for feature, condition in said.items():
        if condition.is_missing and feature in needed:
            raise _contradiction(feature, condition, words)


def _contradiction(feature: int, condition: Condition, words: Vocabulary) -> RuleSyntaxError:
    return words.source.error(
        f"no value of {shown(words.space.names[feature])} is left: the conditions contradict each other",
        condition.start,
        condition.end,
    )


def _listed(said: dict[int, Missing], is_missing: bool) -> list[int]:
    return [feature for feature, node in said.items() if node.is_missing is is_missing]


def _limits(bound: Bound, words: Vocabulary) -> Limits:
    return Limits(
        words.numeric_feature(bound.feature),
        bound.low,
        bound.high,
        bound.low_is_open,
        bound.high_is_open,
        bound,
    )


def _narrow_set(
    sets: dict[int, set[int]],
    choice: tuple[int, list[int]],
    condition: Condition,
    words: Vocabulary,
) -> None:
    feature, codes = choice
    sets[feature] = sets[feature] & set(codes) if feature in sets else set(codes)
    if not sets[feature]:
        raise words.source.error(
            f"no category of {shown(words.space.names[feature])} is left: "
            "this contradicts an earlier condition",
            condition.start,
            condition.end,
        )


def _compare(chain: Chain, words: Vocabulary) -> Iterator[Limits | Row]:
    """Read the comparisons of a chain one by one; ``=`` says >= and <=, in this order."""
    for k, sign in enumerate(chain.signs):
        weights, limit = _move_left(chain.sums[k], chain.sums[k + 1], words)
        if len(weights) == 1 and abs(next(iter(weights.values()))) == 1:
            yield _as_limits(weights, limit, sign, chain)
            continue
        if sign == "=":
            yield Row({j: -weight for j, weight in weights.items()}, -limit, False)
        yield Row(weights, limit, sign == "<")


def _as_limits(weights: dict[int, float], limit: float, sign: str, chain: Chain) -> Limits:
    ((feature, weight),) = weights.items()
    value = weight * limit
    low = value if weight < 0 or sign == "=" else -math.inf
    high = value if weight > 0 or sign == "=" else math.inf
    is_open = sign == "<"
    return Limits(feature, low, high, is_open and weight < 0, is_open and weight > 0, chain)


def _move_left(left: Sum, right: Sum, words: Vocabulary) -> tuple[dict[int, float], float]:
    """Bring all features to the left and all numbers to the right."""
    weights: dict[int, float] = {}
    for side, sign in ((left, 1.0), (right, -1.0)):
        for weight, name in side.terms:
            j = words.numeric_feature(name)
            weights[j] = weights.get(j, 0.0) + sign * weight
    limit = right.constant - left.constant
    if not all(map(math.isfinite, (limit, *weights.values()))):
        raise words.source.error(
            "the numbers of this comparison are too large", left.start, right.end
        )
    kept = {j: w for j, w in weights.items() if w}
    if not kept:
        raise words.source.error(
            "no feature is left in this comparison: the weights cancel out", left.start, right.end
        )
    return kept, limit


def _make_box(
    found: Sequence[Limits],
    sets: dict[int, set[int]],
    said: dict[int, Missing],
    words: Vocabulary,
) -> Box:
    narrowed: dict[int, Limits] = {}
    for item in found:
        j = item.feature
        limits = _both(narrowed[j], item) if j in narrowed else item
        narrowed[j] = limits
        if limits.low >= limits.high and (
            limits.low > limits.high or limits.low_is_open or limits.high_is_open
        ):
            raise _contradiction(j, limits.written, words)
    features = sorted(narrowed)
    ordered = [narrowed[j] for j in features]
    # No bound is NaN, none is open at infinity, and a feature with categories is not compared with numbers.
    entries = make_entries(
        features,
        [[item.low + 0.0 for item in ordered], [item.high + 0.0 for item in ordered]],  # no -0.0
        [[not item.low_is_open for item in ordered], [not item.high_is_open for item in ordered]],
    )
    return Box._trusted(
        len(words.space),
        entries,
        None,
        CategorySets(sets) if sets else _NO_SETS,
        _listed(said, True) if said else (),
        _listed(said, False) if said else (),
    )


def _both(a: Limits, b: Limits) -> Limits:
    """What both allow; of two equal bounds the open one is the narrower."""
    low, low_is_open = max((a.low, a.low_is_open), (b.low, b.low_is_open))
    high, high_is_closed = min((a.high, not a.high_is_open), (b.high, not b.high_is_open))
    return Limits(a.feature, low, high, low_is_open, not high_is_closed, b.written)


def _make_polyhedron(
    rule: RuleNode,
    found: Sequence[Limits | Row],
    sets: dict[int, set[int]],
    said: dict[int, Missing],
    words: Vocabulary,
) -> Polyhedron:
    rows = [row for item in found for row in ([item] if isinstance(item, Row) else _as_rows(item))]
    n = len(words.space)
    if not words.budget.take(len(rows) * n):
        raise words.source.error(
            f"this premise is too large: {len(rows)} linear conditions over {n} features take, with those before "
            f"them, more than {words.budget.gigabytes} GB; read the rules in parts, each over the features it needs",
            rule.start,
            rule.end,
        )
    A = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        A[i, list(row.weights)] = list(row.weights.values())
    limits = [row.limit for row in rows]
    strict = np.array([row.is_strict for row in rows], dtype=np.bool_)
    missing, known = _listed(said, True), _listed(said, False)
    return Polyhedron(A, limits, strict, CategorySets(sets), missing, known)


def _as_rows(limits: Limits) -> Iterator[Row]:
    """Plain bounds as inequalities, the lower one first."""
    if limits.low > -math.inf:
        yield Row({limits.feature: -1.0}, -limits.low, limits.low_is_open)
    if limits.high < math.inf:
        yield Row({limits.feature: 1.0}, limits.high, limits.high_is_open)
