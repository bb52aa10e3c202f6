"""Changes of sign of polynomials with known roots, and how near the pieces of kernel functions are to them."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearmargin.kernel_rules.bernstein import Pieces, bracketed_roots, sign_changes
from clearmargin.kernel_rules.kernels import KERNELS, Lines
from clearmargin.models.kernel_function import KernelFunction


def power_form(roots):
    """Coefficients of the product of (u - root), exactly."""
    coefs = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *coefs]
        coefs = [a - root * b for a, b in zip(shifted, [*coefs, Fraction(0)], strict=True)]
    return coefs


def bernstein_form(coefs):
    """The same polynomial on [0, 1] in Bernstein's base, rounded once."""
    p = len(coefs) - 1
    return [
        float(sum(Fraction(comb(j, k), comb(p, k)) * coefs[k] for k in range(j + 1)))
        for j in range(p + 1)
    ]


def pieces_of(rows, edges=(0.0, 1.0)):
    coefs = np.array(rows, dtype=float)
    error = 4e-16 * np.abs(coefs).max(axis=1)
    start, end = np.full(len(rows), edges[0]), np.full(len(rows), edges[1])
    return Pieces(coefs, error, start, end, np.arange(len(rows)))


@given(st.lists(st.integers(-40, 140), min_size=1, max_size=7, unique=True), st.integers(0, 2))
def test_all_simple_roots_in_the_interval_are_found(hundredths, complex_pairs):
    roots = [Fraction(k, 100) + Fraction(1, 977) for k in hundredths]
    coefs = power_form(roots)
    for k in range(complex_pairs):  # times (u - 1/2)^2 + something: no real root
        pair = [Fraction(1, 4) + Fraction(1, 50 * (k + 1)), Fraction(-1), Fraction(1)]
        product = [Fraction(0)] * (len(coefs) + 2)
        for i, a in enumerate(coefs):
            for j, b in enumerate(pair):
                product[i + j] += a * b
        coefs = product
    found = sign_changes(pieces_of([bernstein_form(coefs)], (0.0, 1.0)))
    expected = sorted(float(r) for r in roots if 0 < r < 1)
    assert len(found.position) == len(expected)
    np.testing.assert_allclose(np.sort(found.position), expected, atol=1e-6)
    assert not len(found.doubtful)


@given(st.integers(1, 99), st.integers(4, 6))
def test_two_roots_close_together_are_told_apart(k, digits):
    first = Fraction(k, 100)
    roots = [first, first + Fraction(1, 10**digits), Fraction(-1, 3)]
    found = sign_changes(pieces_of([bernstein_form(power_form(roots))]))
    np.testing.assert_allclose(np.sort(found.position), [float(r) for r in roots[:2]], atol=1e-9)
    assert not len(found.doubtful)


def test_a_double_root_is_no_change_and_in_doubt_and_others_are_not():
    rows = [
        bernstein_form(power_form([Fraction(1, 3), Fraction(1, 3), Fraction(2, 3)])),
        bernstein_form(power_form([Fraction(1, 3), Fraction(3, 2), Fraction(2, 3)])),
    ]
    found = sign_changes(pieces_of(rows))
    assert found.owner[np.argsort(found.owner)].tolist() == [0, 1, 1]
    np.testing.assert_allclose(found.position[found.owner == 0], [2 / 3])
    assert set(found.doubtful.tolist()) == {0}


def test_a_change_from_one_piece_to_the_next_is_seen_at_their_common_end():
    coefs = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    found = sign_changes(
        Pieces(coefs, np.full(3, 1e-12), np.arange(3.0), np.arange(1.0, 4.0), np.zeros(3, int))
    )
    assert found.position.tolist() == [1.0]
    assert not len(found.doubtful)


def test_pieces_of_other_owners_do_not_meet():
    coefs = np.array([[-1.0, -2.0], [1.0, 2.0]])
    found = sign_changes(
        Pieces(coefs, np.full(2, 1e-12), np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.arange(2))
    )
    assert not len(found.position)


def test_a_touch_at_the_common_end_of_pieces_is_in_doubt():
    coefs = np.array([[2.0, 1e-13], [1e-13, 2.0]])
    found = sign_changes(
        Pieces(coefs, np.full(2, 1e-12), np.arange(2.0), np.arange(1.0, 3.0), np.zeros(2, int))
    )
    assert not len(found.position)
    assert found.doubtful.tolist() == [0]


def test_a_slope_of_zero_does_not_stop_the_search():
    roots = bracketed_roots(
        lambda k, t: (np.sign(t - 0.7), np.zeros_like(t)), np.zeros(2), np.ones(2), np.ones(2, bool)
    )
    np.testing.assert_allclose(roots, 0.7, atol=1e-15)
    falling = bracketed_roots(
        lambda k, t: (0.5 - t**3, -3 * t**2), np.zeros(1), np.ones(1), np.zeros(1, bool)
    )
    np.testing.assert_allclose(falling, 0.5 ** (1 / 3), rtol=1e-15)


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf"])
@given(seed=st.integers(0, 10**6))
@example(seed=285)  # coordinates far from the centre in widths of the kernel
@example(seed=38764)  # middles of cells that are rounded far from the centre
@settings(max_examples=20)
def test_the_pieces_are_as_near_to_the_function_as_they_say(kind, seed):
    rng = np.random.default_rng(seed)
    s, n, q = (int(rng.integers(1, high)) for high in (40, 5, 4))
    gamma = 10.0 ** rng.uniform(-2, 3 if kind == "rbf" else 0)
    S, coefs = rng.random((s, n)), rng.normal(size=(s, q)) * 10.0 ** rng.uniform(-2, 2)
    function = KernelFunction(kind, S, coefs, rng.normal(size=q), gamma, 0.5, int(seed % 7))
    anchors, axes = rng.random((3, n)), rng.permutation(n)
    low, high = np.full(n, -0.2), np.full(n, 1.3)
    pieces = Pieces.join(list(KERNELS[kind].pieces(function, Lines(anchors, axes, low, high))))
    assert set(pieces.owner.tolist()) == set(range(3 * n * q))
    for k in rng.integers(len(pieces.owner), size=40):
        line, column = divmod(int(pieces.owner[k]), q)
        anchor, axis = anchors[line // n], axes[line % n]
        t = np.linspace(pieces.start[k], pieces.end[k], 23)
        points = np.repeat(anchor[None], len(t), axis=0)
        points[:, axis] = t
        # In long doubles, so that what differs is the piece.
        Z, V = points.astype(np.longdouble), S.astype(np.longdouble)
        if kind == "rbf":
            K = np.exp(-np.longdouble(gamma) * ((Z[:, None] - V) ** 2).sum(axis=2))
        else:
            K = (Z[:, None] * V).sum(axis=2)
            K = K if kind == "linear" else (gamma * K + 0.5) ** function.degree
        exact = (K * coefs[:, column]).sum(axis=1) + function.intercepts[column]
        u = (t.astype(np.longdouble) - pieces.start[k]) / (pieces.end[k] - pieces.start[k])
        p = pieces.coefs.shape[1] - 1
        value = sum(
            c * comb(p, j) * u**j * (1 - u) ** (p - j) for j, c in enumerate(pieces.coefs[k])
        )
        assert (np.abs(value - exact) <= pieces.error[k]).all()
