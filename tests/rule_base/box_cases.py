"""What the tests of boxes share: points of some classes with boxes around them, and tables of what boxes cover."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from clearmargin.rules.boxes import Boxes

INF = math.inf
SEEDS = st.integers(0, 10**6)


def world(seed):
    """Points of some classes, often tied or duplicated across classes, and boxes around some of them."""
    rng = np.random.default_rng(seed)
    m, n, r = (int(k) for k in rng.integers([1, 1, 0], [40, 5, 8]))
    kind = seed % 3
    if kind == 0:
        points = rng.normal(size=(m, n))
    elif kind == 1:
        points = rng.integers(0, 4, size=(m, n)).astype(float)
    else:  # neighbours among floats: nothing lies between them
        points = 1.0 + rng.integers(0, 4, size=(m, n)) * np.finfo(float).eps
    codes = rng.integers(0, 3, size=m)
    chosen = rng.integers(0, m, size=r)
    anchors = points[chosen]
    reach = rng.choice([0.0, 0.5, 1.0, 2.0, INF], size=(2, r, n))
    boxes = Boxes.from_bounds(anchors - reach[0], anchors + reach[1])
    return points, codes, boxes, anchors, codes[chosen]


def foreign_inside(boxes, box_codes, points, codes):
    return boxes.masks(points) & (codes[None] != np.asarray(box_codes)[:, None])


def lies_in(small, large):
    return (small.lower >= large.lower).all() and (small.upper <= large.upper).all()


def covers_of(seed, most_points=7):
    rng = np.random.default_rng(seed)
    r, m = (int(k) for k in rng.integers([0, 0], [14, most_points]))
    covers = rng.random((r, m)) < rng.choice([0.2, 0.5, 0.8])
    return covers, rng.integers(0, 2, size=r), rng.integers(1, 4, size=r)
