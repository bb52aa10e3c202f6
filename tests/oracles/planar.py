"""Conditions on two numbers, decided by the corners of what they leave, in whole fractions."""

from fractions import Fraction
from itertools import combinations

from clearmargin import Box, Polyhedron

# Far beyond each bound that the tests draw: what is not bounded is cut off here.
FAR = [((1, 0), 99, False), ((-1, 0), 99, False), ((0, 1), 99, False), ((0, -1), 99, False)]


def rows_of(region):
    """Conditions as (normal, limit, strict), with ``normal . x <= limit``, or < where it is strict."""
    flat = Polyhedron.from_box(region) if isinstance(region, Box) else region
    return [
        (tuple(map(Fraction, row)), Fraction(limit), bool(strict))
        for row, limit, strict in zip(flat.A.tolist(), flat.b.tolist(), flat.strict, strict=True)
    ]


def room(row, point):
    """How far a point is from the limit of a row; negative where it does not satisfy it."""
    (p, q), limit, _ = row
    return limit - p * point[0] - q * point[1]


def inner_point(rows):
    """A point in the relative interior of what the rows leave, the mean of its corners; None where nothing is left."""
    rows, corners = [*rows, *FAR], []
    for ((a, b), c, _), ((d, e), f, _) in combinations(rows, 2):
        if a * e != b * d:
            bottom = Fraction(a * e - b * d)
            corner = ((c * e - b * f) / bottom, (a * f - c * d) / bottom)
            if all(room(row, corner) >= 0 for row in rows):
                corners.append(corner)
    if not corners:
        return None
    # Each corner counts as often as pairs of rows meet there: that moves the mean, and not out of the interior.
    mean = tuple(sum(values) / len(corners) for values in zip(*corners, strict=True))
    return mean if all(room(row, mean) > 0 for row in rows if row[2]) else None


def is_inside(inner, outer):
    """Whether the points of one are points of the other: none is beyond a row of it."""
    return all(
        inner_point([*inner, ((-p, -q), -limit, not strict)]) is None
        for (p, q), limit, strict in outer
    )


def relation(one, other):
    """Apart; a boundary in common ("touch"); or "overlap", where interiors meet or one is inside the other."""
    point = inner_point([*one, *other])
    if point is None:
        return "apart"
    if is_inside(one, other) or is_inside(other, one):
        return "overlap"
    centres = inner_point(one), inner_point(other)
    meets = all(
        room(row, point) > 0
        for rows, centre in zip((one, other), centres, strict=True)
        for row in rows
        if room(row, centre) > 0
    )
    return "overlap" if meets else "touch"
