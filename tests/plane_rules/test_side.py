"""One side of a plane in oriented coordinates: nothing is lost and nothing is rounded on the way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.plane_rules.side import Corner, FoundBox, Region, Side
from clearmargin.rules import Box, Hyperplane

weights = st.lists(
    st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False), min_size=1, max_size=6
).filter(any)


@st.composite
def planes(draw):
    coef = draw(weights)
    return Hyperplane(coef, draw(st.floats(-1e6, 1e6))), draw(st.sampled_from([1, -1]))


@st.composite
def boxes(draw, n):
    ends = [sorted(draw(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2))) for _ in range(n)]
    flags = draw(st.lists(st.booleans(), min_size=2 * n, max_size=2 * n))
    return Box([e[0] for e in ends], [e[1] for e in ends], flags[:n], flags[n:])


@given(planes(), st.data())
def test_the_slack_is_how_far_a_point_is_inside(plane_and_sign, data):
    plane, sign = plane_and_sign
    side = Side.of(plane.side(sign))
    x = np.array(
        data.draw(
            st.lists(st.floats(-1e3, 1e3), min_size=len(plane.coef), max_size=len(plane.coef))
        )
    )
    (z,) = side.orient(x[None])
    exact = sum(
        (Fraction(a) * Fraction(b) for a, b in zip(side.a.tolist(), z.tolist(), strict=True)),
        Fraction(0),
    )
    score = sum(
        (Fraction(w) * Fraction(v) for w, v in zip(plane.coef.tolist(), x.tolist(), strict=True)),
        Fraction(plane.intercept),
    )
    # g - a'z is |f| on the own side: exactly, because only signs were changed.
    assert Fraction(side.g) - exact == sign * score
    size = float(np.abs(side.a * z).sum()) + abs(side.g)
    assert side.slack(z) == pytest.approx(float(sign * score), abs=1e-14 * size + 1e-300)
    assert (side.a > 0).all()
    assert side.is_closed == (sign < 0)


@given(planes(), st.data())
def test_a_box_comes_back_from_its_region(plane_and_sign, data):
    plane, sign = plane_and_sign
    side = Side.of(plane.side(sign))
    box = data.draw(boxes(len(plane.coef)))
    region = side.region(box)
    back = side.box(region)
    active = np.flatnonzero(plane.coef)
    for name in ("lower", "upper", "lower_closed", "upper_closed"):
        np.testing.assert_array_equal(getattr(back, name)[active], getattr(box, name)[active])
    idle = np.flatnonzero(plane.coef == 0)
    assert np.isinf(back.lower[idle]).all()
    assert np.isinf(back.upper[idle]).all()
    # The near corner is the deepest point of the box, the far one the shallowest.
    assert (region.near <= region.far).all()
    found = FoundBox(region.near, region.far, region.near_closed, region.far_closed, np.arange(0))
    assert side.box(found) == back


@given(planes(), st.data())
def test_admits_agrees_with_fractions(plane_and_sign, data):
    plane, sign = plane_and_sign
    side = Side.of(plane.side(sign))
    k = len(side.a)
    far = np.array(data.draw(st.lists(st.floats(-1e3, 1e3), min_size=k, max_size=k)))
    closed = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    total = sum(
        (Fraction(a) * Fraction(b) for a, b in zip(side.a.tolist(), far.tolist(), strict=True)),
        -Fraction(side.g),
    )
    touches = bool(closed.all())
    expected = total < 0 or (total == 0 and (side.is_closed or not touches))
    assert side.admits(Corner(far, closed)) == expected


def test_a_corner_on_the_plane_is_admitted_where_the_plane_belongs_to_the_side_or_a_face_is_open():
    plane = Hyperplane([1.0, 2.0], -3.0)
    corner = np.array([1.0, 1.0])
    for sign, closed, expected in [
        (-1, [True, True], True),
        (1, [True, True], False),
        (1, [True, False], True),
    ]:
        side = Side.of(plane.side(sign))
        far = corner * side.signs
        assert side.admits(Corner(far, np.array(closed))) is expected


def test_a_corner_holds_points_below_its_faces_and_on_those_that_belong_to_it():
    corner = Corner(np.array([1.0, 2.0]), np.array([True, False]))
    Z = np.array([[1.0, 1.9], [1.0, 2.0], [1.1, 0.0], [-5.0, -5.0]])
    np.testing.assert_array_equal(
        corner.holds(Z), [[True, True], [True, False], [False, True], [True, True]]
    )


def test_features_without_weight_drop_out():
    side = Side.of(Hyperplane([0.0, -2.0, 0.0, 5.0], 1.0).side(-1))
    np.testing.assert_array_equal(side.features, [1, 3])
    np.testing.assert_array_equal(side.signs, [-1.0, 1.0])
    region = side.region(Box([0.0] * 4, [1.0] * 4))
    assert isinstance(region, Region)
    np.testing.assert_array_equal(region.near, [-1.0, 0.0])
    np.testing.assert_array_equal(region.far, [0.0, 1.0])


@pytest.mark.parametrize("far", [0.0, -1.0, 1.5, 5e-324, -5e-324, np.finfo(float).max])
def test_a_closed_face_belongs_to_the_rule_and_the_next_number_does_not(far):
    with np.errstate(over="ignore"):  # after the largest float comes inf
        around = np.nextafter(far, [[-np.inf], [far], [np.inf]])
    for closed in (True, False):
        corner = Corner(np.array([far]), np.array([closed]))
        assert corner.holds(around)[:, 0].tolist() == [True, closed, False]
