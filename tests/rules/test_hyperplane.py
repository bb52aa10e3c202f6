"""Hyperplanes against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import HalfSpace, Hyperplane
from clearmargin.rules.hyperplane import linear_scores

small = st.integers(-1000, 1000).map(lambda k: k / 16)


def rows(n):
    return st.lists(st.lists(small, min_size=n, max_size=n), min_size=1, max_size=5)


@given(st.lists(small, min_size=3, max_size=3), small, rows(3))
def test_the_decision_is_the_exact_sum_where_floats_can_hold_it(coef, intercept, X):
    plane = Hyperplane(coef, intercept)
    weights, constant = plane.exact()
    exact = [
        sum((w * Fraction(x) for w, x in zip(weights, row, strict=True)), constant) for row in X
    ]
    assert plane.decision(X).tolist() == [float(v) for v in exact]
    assert plane.side(1).contains(X).tolist() == [v > 0 for v in exact]
    assert plane.side(-1).contains(X).tolist() == [v <= 0 for v in exact]


@given(
    st.lists(small, min_size=2, max_size=2),
    small,
    st.lists(st.sampled_from([0.25, 0.5, -2.0, 8.0]), min_size=2, max_size=2),
    st.lists(small, min_size=2, max_size=2),
    rows(2),
)
def test_a_plane_pulled_back_says_of_x_what_it_said_of_the_scaled_x(coef, c, scale, shift, X):
    plane = Hyperplane(coef, c)
    scaled = np.array(X) * scale + shift
    assert plane.pull_back(scale, shift).decision(X) == pytest.approx(
        plane.decision(scaled), abs=1e-6
    )


def test_one_scale_serves_all_features_and_the_shift_is_zero_by_default():
    assert Hyperplane([1.0, 2.0], 3.0).pull_back(2.0) == Hyperplane([2.0, 4.0], 3.0)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), small)
def test_fractions_hold_the_floats_without_rounding(coef, intercept):
    plane = Hyperplane(coef, intercept)
    weights, constant = plane.exact()
    assert [float(w) for w in weights] == plane.coef.tolist()
    assert float(constant) == plane.intercept
    assert plane.active == tuple(j for j, w in enumerate(coef) if w != 0)


def test_a_row_without_a_value_that_counts_is_on_neither_side():
    plane = Hyperplane([1.0, 0.0], 0.0)
    X = [[np.nan, 0.0], [0.0, np.nan]]
    # A column without weight does not matter, whatever is in it.
    assert plane.side(1).contains(X).tolist() == [False, False]
    assert plane.side(-1).contains(X).tolist() == [False, True]


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 90))
def test_a_row_gets_the_same_bits_alone_and_among_others_in_any_layout(seed, m, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-6, 6, n)
    coef = rng.normal(size=n) * rng.choice([0.0, 1.0], n, p=[0.2, 0.8])
    scores = linear_scores(X, coef, 0.1)
    alone = [linear_scores(row[None], coef, 0.1)[0] for row in X]
    repeated = linear_scores(np.tile(X, (9, 1)), coef, 0.1)[:m]
    layouts = (
        linear_scores(np.asfortranarray(X), coef, 0.1),
        linear_scores(X[::-1], coef, 0.1)[::-1],
    )
    for others in (alone, repeated, *layouts):
        assert scores.tolist() == list(others)
    # The order of additions is that of the columns.
    for row, score in zip(X, scores, strict=True):
        total = None
        for x, w in zip(row.tolist(), coef.tolist(), strict=True):
            if w:
                total = x * w if total is None else total + x * w
        assert score == (0.1 if total is None else total + 0.1)


def test_ties_belong_to_the_negative_side():
    plane = Hyperplane([1.0], -2.0)
    assert plane.side(-1).is_closed
    assert not plane.side(1).is_closed
    assert plane.side(-1).contains([[2.0]]).tolist() == [True]
    assert plane.side(1).contains([[2.0]]).tolist() == [False]
    assert repr(plane.side(1)) == "HalfSpace(Hyperplane([1.0], -2.0), 1)"


@pytest.mark.parametrize(
    ("coef", "intercept", "message"),
    [
        ([], 0.0, r"are one row of numbers, not shape \(0,\)"),
        ([[1.0]], 0.0, r"are one row of numbers, not shape \(1, 1\)"),
        (1.0, 0.0, r"are one row of numbers, not shape \(\)"),
        ([np.nan], 0.0, "the weights of a hyperplane must not be NaN"),
        ([np.inf], 0.0, "must be finite"),
        ([1.0], np.inf, "must be finite"),
        ([1.0], np.nan, "the intercept of a hyperplane must not be NaN"),
        ([1.0], None, "the intercept of a hyperplane must be a number, not None"),
        (["a"], 0.0, "the weights of a hyperplane must be numbers"),
    ],
)
def test_a_bad_hyperplane_is_refused(coef, intercept, message):
    with pytest.raises(InvalidValueError, match=message):
        Hyperplane(coef, intercept)


@pytest.mark.parametrize("sign", [0, 2, "1", None])
def test_a_side_is_1_or_minus_1(sign):
    with pytest.raises(InvalidValueError, match=r"sign must be 1 .* or -1 .*, not"):
        Hyperplane([1.0], 0.0).side(sign)


def test_a_half_space_needs_a_hyperplane():
    with pytest.raises(InvalidValueError, match="made by a Hyperplane, not by list"):
        HalfSpace([1.0], 1)


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(DataError, match="X has 1 columns, but 2 features are expected"):
        Hyperplane([1.0, 2.0], 0.0).decision([[1.0]])
    with pytest.raises(InvalidValueError, match=r"scale has shape \(3,\), but \(2,\) is needed"):
        Hyperplane([1.0, 2.0], 0.0).pull_back([1.0, 1.0, 1.0])


def test_a_score_beyond_all_floats_is_infinite_without_a_warning():
    plane = Hyperplane([1.6e308, 1.6e308], 0.0)
    assert plane.decision([[1.0, 1.0]]).tolist() == [np.inf]
    assert plane.decision(np.ones((5, 2))).tolist() == [np.inf] * 5
