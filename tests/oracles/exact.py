"""Values and rules one number at a time: fractions, plain comparisons, elimination of variables."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np


def exact_sum(weights: Iterable[float], point: Iterable[float], constant: float = 0.0) -> Fraction:
    """The real number weights.point + constant, of floats or fractions."""
    terms = (Fraction(w) * Fraction(x) for w, x in zip(weights, point, strict=True))
    return sum(terms, Fraction(constant))


def sign_of(x: Fraction) -> int:
    return (x > 0) - (x < 0)


def has_solution(A: Iterable[Any], b: Iterable[Any], strict: Iterable[Any]) -> bool:
    """Whether some real x satisfies A x <= b (< where strict), by Fourier-Motzkin elimination."""
    system = [
        (tuple(map(Fraction, row)), Fraction(limit), bool(flag))
        for row, limit, flag in zip(A, b, strict, strict=True)
    ]
    while system and system[0][0]:
        kept, lower, upper = [], [], []
        for (*rest, last), limit, flag in system:
            if last == 0:
                kept.append((tuple(rest), limit, flag))
            else:
                scaled = tuple(w / abs(last) for w in rest), limit / abs(last), flag
                (upper if last > 0 else lower).append(scaled)
        for one, a, strict_one in lower:
            for other, c, strict_other in upper:
                both = tuple(u + v for u, v in zip(one, other, strict=True))
                kept.append((both, a + c, strict_one or strict_other))
        system = list(dict.fromkeys(kept))
    return all(limit > 0 or (limit == 0 and not flag) for _, limit, flag in system)


def in_interval(interval: Any, x: Any) -> bool:
    """Compare a float or a fraction with the ends; an infinite end is no condition, NaN is in no interval."""
    if isinstance(x, float) and math.isnan(x):
        return False
    low, high = interval.low, interval.high
    above = low == -math.inf or x > low or (x == low and interval.closed in ("left", "both"))
    below = high == math.inf or x < high or (x == high and interval.closed in ("right", "both"))
    return above and below


def in_box(box: Any, row: Sequence[float]) -> bool:
    """One row, one comparison at a time."""
    for j, x in enumerate(row):
        if (j in box.missing and not math.isnan(x)) or (j in box.known and math.isnan(x)):
            return False
        if j in box.sets and x not in box.sets[j]:
            return False
        low, high = float(box.lower[j]), float(box.upper[j])
        if low > -math.inf and not (x > low or (x == low and box.lower_closed[j])):
            return False
        if high < math.inf and not (x < high or (x == high and box.upper_closed[j])):
            return False
    return True


def in_polyhedron(wedge: Any, row: Sequence[float]) -> bool:
    """One row of floats, each sum formed from left to right over the weights that are not zero."""
    if not all(math.isnan(row[j]) for j in wedge.missing):
        return False
    if any(math.isnan(row[j]) for j in wedge.known):
        return False
    for weights, limit, strict in zip(
        wedge.A.tolist(), wedge.b.tolist(), wedge.strict, strict=True
    ):
        first, *terms = (w * x for w, x in zip(weights, row, strict=True) if w)
        value = first
        for term in terms:
            value += term
        if not (value < limit if strict else value <= limit):
            return False
    return all(row[j] in wedge.sets[j] for j in wedge.sets)


def in_region(region: Any, row: Sequence[float]) -> bool:
    return in_polyhedron(region, row) if hasattr(region, "A") else in_box(region, row)


def covered_rows(regions: Sequence[Any], rows: Iterable[Sequence[float]]) -> np.ndarray:
    """One column a region; `rows` are lists of floats."""
    cells = [[in_region(region, row) for region in regions] for row in rows]
    return np.array(cells, dtype=bool).reshape(len(cells), len(regions))


def first_true(table: np.ndarray) -> list[int]:
    """For each row the first column that is true, -1 where none is."""
    return [next((k for k, hit in enumerate(row) if hit), -1) for row in table.tolist()]
