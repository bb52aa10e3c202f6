"""How far a computed score may be off, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.models.score_error import Guard, ScoreError, direct_error
from clearmargin.rules import Box, Hyperplane

_NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


def exact(error: ScoreError, point: np.ndarray) -> Fraction:
    terms = zip(error.coef.tolist(), point.tolist(), error.centre.tolist(), strict=False)
    return sum(
        (Fraction(w) * (Fraction(x) - Fraction(c)) for w, x, c in terms), Fraction(error.constant)
    )


@st.composite
def score_errors(draw):
    n = draw(st.integers(1, 3))
    numbers = lambda values=_NUMBERS: np.array(draw(st.lists(values, min_size=n, max_size=n)))
    size = st.floats(0.0, 1e-9)
    return ScoreError(numbers(), numbers(), draw(_NUMBERS), numbers(size), draw(size))


@given(score_errors(), score_errors(), st.lists(_NUMBERS, min_size=3, max_size=3))
def test_a_lead_is_known_as_well_as_both_scores_allow(one, other, point):
    """Both scores have a centre of their own, and may be over different numbers of features."""
    lead = one.minus(other)
    x = np.array(point)
    at = x[: len(lead.coef)]
    bound = Fraction(lead.bound(np.abs(at - lead.centre)))
    bounds = sum(
        Fraction(e.bound(np.abs(x[: len(e.coef)] - e.centre[: len(e.coef)]))) for e in (one, other)
    )
    off = abs(exact(lead, at) - (exact(one, x) - exact(other, x)))
    # What rounding may add to each of the computed scores, and what the lead itself is off by.
    assert off + bounds <= bound * (1 + Fraction(1, 10**9)) + Fraction(1, 10**300)
    assert exact(lead.negative(), at) == -exact(lead, at)


@given(score_errors())
def test_features_without_weight_change_no_score(error):
    kept = [*range(len(error.coef)), len(error.coef) + 1]
    wider = error.take(kept)
    x = np.append(np.arange(1.0, len(error.coef) + 1), 7.0)
    assert exact(wider, x) == exact(error, x[:-1])
    assert wider.bound(np.abs(x)) == error.bound(np.abs(x[:-1]))


def test_a_box_without_points_is_proved_and_one_beyond_all_floats_is_not():
    plane = Hyperplane([1e200, 1e200], 0.0)
    guard = Guard(plane.side(1), direct_error(plane))
    assert guard.proves(Box([2.0, 2.0], [1.0, 1.0]))
    assert not guard.proves(Box([1e200, -1e200], [2e200, -1e200]))
    assert guard.proves(Box([1.0, 1.0], [2.0, 2.0]))
