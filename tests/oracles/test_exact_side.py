"""The oracle is right: it agrees with all corners of a box and with points drawn from it."""

from itertools import pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import exact_side

from clearmargin.rules import Box

numbers = st.integers(-8, 8).map(lambda k: k / 4)


@st.composite
def boxes(draw, n):
    ends = [sorted((draw(numbers), draw(numbers))) for _ in range(n)]
    flags = draw(st.lists(st.booleans(), min_size=2 * n, max_size=2 * n))
    return Box([e[0] for e in ends], [e[1] for e in ends], flags[:n], flags[n:])


@given(st.integers(1, 4), st.data())
def test_a_closed_box_is_on_a_side_when_all_its_corners_are(n, data):
    coef = data.draw(st.lists(numbers, min_size=n, max_size=n))
    intercept = data.draw(numbers)
    box = data.draw(boxes(n))
    closed = Box(box.lower, box.upper)
    for sign in (1, -1):
        values = [
            sign * exact_side.value(coef, intercept, corner)
            for corner in product(*zip(box.lower, box.upper, strict=True))
        ]
        expected = all(v > 0 if sign > 0 else v >= 0 for v in values)
        assert exact_side.lies_on_side(closed, coef, intercept, sign) == expected


@given(st.integers(1, 4), st.data())
def test_no_point_of_a_box_on_a_side_is_on_the_other(n, data):
    coef = data.draw(st.lists(numbers, min_size=n, max_size=n))
    intercept = data.draw(numbers)
    box = data.draw(boxes(n))
    shares = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n))
    )
    point = box.lower + shares * (box.upper - box.lower)
    for sign in (1, -1):
        inside = exact_side.lies_on_side(box, coef, intercept, sign)
        if inside and exact_side.holds(box, point):
            score = sign * exact_side.value(coef, intercept, point)
            assert score > 0 or (sign < 0 and score == 0)


@given(st.integers(1, 4), st.data())
def test_boxes_meet_when_they_hold_the_same_point(n, data):
    first, second = data.draw(boxes(n)), data.draw(boxes(n))
    # Ends, and middles between neighbouring ends, are representatives of everything that can happen.
    grid = []
    for j in range(n):
        ends = sorted(
            {
                *(float(b.lower[j]) for b in (first, second)),
                *(float(b.upper[j]) for b in (first, second)),
            }
        )
        grid.append(ends + [(a + b) / 2 for a, b in pairwise(ends)])
    common = any(exact_side.holds(first, p) and exact_side.holds(second, p) for p in product(*grid))
    assert exact_side.meet(first, second) == common
