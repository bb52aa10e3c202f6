"""Conditions to regions: plain bounds make a box, anything else linear a polyhedron."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from clearmargin.core.box import Box
from clearmargin.core.categories import CategorySets
from clearmargin.core.polyhedron import Polyhedron
from clearmargin.core.rule import Region
from clearmargin.text.source import shown
from clearmargin.text.syntax import Bound, Chain, Condition, RuleNode, Sum
from clearmargin.text.vocabulary import Vocabulary

__all__ = ["make_region"]

# 2 GB of floats in one premise is an accident, and refusing it is better than the machine running out of memory.
_LARGEST_MATRIX = 2**28
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
    for condition in rule.conditions:
        choice = words.categories(condition)
        if choice is not None:
            _narrow_set(sets, choice, condition, words)
        elif isinstance(condition, Bound):
            found.append(_limits(condition, words))
        elif isinstance(condition, Chain):
            found.extend(_compare(condition, words))
    plain = [item for item in found if isinstance(item, Limits)]
    if len(plain) == len(found):
        return _make_box(plain, sets, words)
    return _make_polyhedron(rule, found, sets, words)


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


def _make_box(found: Sequence[Limits], sets: dict[int, set[int]], words: Vocabulary) -> Box:
    n = len(words.space)
    narrowed: dict[int, Limits] = {}
    for said in found:
        j = said.feature
        limits = _both(narrowed[j], said) if j in narrowed else said
        narrowed[j] = limits
        if limits.low >= limits.high and (
            limits.low > limits.high or limits.low_is_open or limits.high_is_open
        ):
            raise words.source.error(
                f"no value of {shown(words.space.names[j])} is left: the conditions contradict each other",
                limits.written.start,
                limits.written.end,
            )
    bounds, closed = np.empty((2, n)), np.empty((2, n), dtype=np.bool_)
    bounds[0], bounds[1], closed[:] = -math.inf, math.inf, True
    for j, low, high, low_is_open, high_is_open, _ in narrowed.values():
        bounds[0, j], bounds[1, j] = low + 0.0, high + 0.0  # -0.0 + 0.0 is 0.0
        closed[0, j], closed[1, j] = not low_is_open, not high_is_open
    # No bound is NaN, none is open at infinity, and a feature with categories is not compared with numbers.
    return Box._trusted(bounds, closed, CategorySets(sets) if sets else _NO_SETS)


def _both(a: Limits, b: Limits) -> Limits:
    """What both allow; of two equal bounds the open one is the narrower."""
    low, low_is_open = max((a.low, a.low_is_open), (b.low, b.low_is_open))
    high, high_is_closed = min((a.high, not a.high_is_open), (b.high, not b.high_is_open))
    return Limits(a.feature, low, high, low_is_open, not high_is_closed, b.written)


def _make_polyhedron(
    rule: RuleNode, found: Sequence[Limits | Row], sets: dict[int, set[int]], words: Vocabulary
) -> Polyhedron:
    rows = [row for item in found for row in ([item] if isinstance(item, Row) else _as_rows(item))]
    n = len(words.space)
    if len(rows) * n > _LARGEST_MATRIX:
        raise words.source.error(
            f"this premise is too large: {len(rows)} linear conditions over {n} features",
            rule.start,
            rule.end,
        )
    A = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        A[i, list(row.weights)] = list(row.weights.values())
    limits = [row.limit for row in rows]
    strict = np.array([row.is_strict for row in rows], dtype=np.bool_)
    return Polyhedron(A, limits, strict, CategorySets(sets))


def _as_rows(limits: Limits) -> Iterator[Row]:
    """Plain bounds as inequalities, the lower one first."""
    if limits.low > -math.inf:
        yield Row({limits.feature: -1.0}, -limits.low, limits.low_is_open)
    if limits.high < math.inf:
        yield Row({limits.feature: 1.0}, limits.high, limits.high_is_open)
