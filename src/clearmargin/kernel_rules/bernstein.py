"""Where polynomials change sign, many at a time and none forgotten.

On an interval a polynomial of degree p is f(u) = sum_j beta_j C(p, j) u^j (1 - u)^(p - j), 0 <= u <= 1. The
coefficients beta enclose it: where all have one sign there is no root, and where their signs change once there is
exactly one (Descartes' rule in the form of Bernstein). Neither says anything? Then the interval is halved, which
takes averages of the coefficients and hence loses nothing to rounding (de Casteljau).

Each polynomial comes with an error: it stands for any function within that distance. A coefficient that is not larger
has no sign. An interval where no coefficient has a sign cannot be decided: the function may touch zero there or cross
it twice. Such an interval is doubtful; every other answer holds for every function within the error, but for crossings
among values that are not larger than it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["EPS", "Pieces", "SignChanges", "bracketed_roots", "changes_in_lots", "sign_changes"]

EPS = float(np.finfo(np.float64).eps)
# Nothing that floats can tell apart is left after so many halvings.
_HALVINGS = 60
_NEWTON_STEPS = 100
# Coefficients that are searched at once: enough to be quick, 32 MB of them.
_LOT = 1 << 22

_Signs = NDArray[np.int8]
Evaluate = Callable[[IntArray, FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Polynomials of one degree in Bernstein form, each on its interval.

    Parameters
    ----------
    coefs : ndarray of shape (k, p + 1)
        Bernstein coefficients.
    error : ndarray of shape (k,)
        How far the function may be from the polynomial, and the coefficients from the true ones.
    start, end : ndarray of shape (k,)
        The intervals.
    owner : ndarray of shape (k,)
        Whose pieces they are; the intervals of an owner adjoin.
    """

    coefs: FloatArray
    error: FloatArray
    start: FloatArray
    end: FloatArray
    owner: IntArray

    @classmethod
    def join(cls, parts: Sequence[Pieces]) -> Pieces:
        """Return all pieces of some lots."""
        return cls(
            np.concatenate([part.coefs for part in parts]),
            np.concatenate([part.error for part in parts]),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.owner for part in parts]),
        )

    def where(self, chosen: BoolArray) -> Pieces:
        """Select some of the pieces."""
        return Pieces(
            self.coefs[chosen],
            self.error[chosen],
            self.start[chosen],
            self.end[chosen],
            self.owner[chosen],
        )

    def halved(self) -> Pieces:
        """Return both halves of each."""
        both = _halving(self.coefs.shape[1] - 1)
        left, right = self.coefs @ both[0], self.coefs @ both[1]
        middle = 0.5 * (self.start + self.end)
        error = self.error + 4.0 * EPS * np.abs(self.coefs).max(axis=1, initial=0.0)
        return Pieces(
            np.concatenate([left, right]),
            np.concatenate([error, error]),
            np.concatenate([self.start, middle]),
            np.concatenate([middle, self.end]),
            np.concatenate([self.owner, self.owner]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SignChanges:
    """Where functions change sign.

    Parameters
    ----------
    owner : ndarray of shape (c,)
        Whose change it is.
    position : ndarray of shape (c,)
        Where.
    doubtful : ndarray of shape (d,)
        Owners with an interval that could not be decided; one may be named several times.
    """

    owner: IntArray
    position: FloatArray
    doubtful: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Settled:
    """Intervals whose signs at both ends are known; touches says where the value at an end is within the error."""

    owner: IntArray
    start: FloatArray
    end: FloatArray
    left: IntArray
    right: IntArray
    touches_left: BoolArray
    touches_right: BoolArray


def changes_in_lots(parts: Iterable[Pieces]) -> Iterator[SignChanges]:
    """Find every change of sign of many functions, in lots that are large enough to be quick.

    Parameters
    ----------
    parts : iterable of Pieces
        The functions; all pieces of an owner are in one part.

    Yields
    ------
    SignChanges
        One for each lot.
    """
    lot: list[Pieces] = []
    size = 0
    for pieces in parts:
        lot.append(pieces)
        size += pieces.coefs.size
        if size >= _LOT:
            yield sign_changes(_finite(Pieces.join(lot)))
            lot, size = [], 0
    if lot:
        yield sign_changes(_finite(Pieces.join(lot)))


def _finite(pieces: Pieces) -> Pieces:
    if not (np.isfinite(pieces.coefs).all() and np.isfinite(pieces.error).all()):
        raise InvalidValueError(
            "the values of the kernel function along a line are too large for floats; scale the columns first"
        )
    return pieces


def sign_changes(pieces: Pieces) -> SignChanges:
    """Find every change of sign of each owner's function, over all of its pieces.

    A zero at the outer end of an owner's first or last piece is no change of sign, nor is one that is only touched.

    Parameters
    ----------
    pieces : Pieces
        The functions.

    Returns
    -------
    SignChanges
        In no special order.

    Examples
    --------
    >>> parabola = Pieces(np.array([[3.0, -5.0, 3.0]]), np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1, int))
    >>> sign_changes(parabola).position.round(3)
    array([0.25, 0.75])
    """
    settled, changes, doubtful = [], [], []
    for _ in range(_HALVINGS):
        signs = (pieces.coefs > pieces.error[:, None]).astype(np.int8)
        signs -= pieces.coefs < -pieces.error[:, None]
        is_single, is_crossed = _find_single_changes(signs)
        known = is_single | is_crossed
        settled.append(_settle(pieces.where(known), signs[known]))
        changes.append(pieces.where(is_crossed))
        is_flat = ~signs.any(axis=1)
        doubtful.append(pieces.owner[is_flat])
        pieces = pieces.where(~known & ~is_flat)
        if not len(pieces.owner):
            break
        pieces = pieces.halved()
    doubtful.append(pieces.owner)
    inner = Pieces.join(changes)
    between = _between(settled)
    u = bracketed_roots(
        lambda k, u: _evaluate(inner.coefs[k], u),
        np.zeros(len(inner.owner)),
        np.ones(len(inner.owner)),
        inner.coefs[:, -1] > 0,
    )
    return SignChanges(
        np.concatenate([inner.owner, between.owner]),
        np.concatenate([inner.start + u * (inner.end - inner.start), between.position]),
        np.concatenate([*doubtful, between.doubtful]),
    )


def _find_single_changes(signs: _Signs) -> tuple[BoolArray, BoolArray]:
    """Tell which rows have one sign, at most the outermost unknown; which change once, at most one between unknown."""
    first, last = signs[:, 0], signs[:, -1]
    width = signs.shape[1]
    total = np.abs(signs.sum(axis=1, dtype=np.intp))
    is_single = (total > 0) & (total == width - (first == 0) - (last == 0))
    opposite = np.flatnonzero(first * last < 0)
    candidates = signs[opposite]
    unknown = (candidates == 0).sum(axis=1)
    is_crossed = np.zeros(len(signs), dtype=bool)
    is_crossed[opposite] = (unknown <= 1) & (np.abs(np.diff(candidates, axis=1)).sum(axis=1) == 2)
    return is_single, is_crossed


def _settle(pieces: Pieces, signs: _Signs) -> _Settled:
    total = np.sign(signs.sum(axis=1, dtype=np.intp))
    first, last = signs[:, 0], signs[:, -1]
    return _Settled(
        pieces.owner,
        pieces.start,
        pieces.end,
        np.where(first == 0, total, first),
        np.where(last == 0, total, last),
        first == 0,
        last == 0,
    )


def _between(parts: Sequence[_Settled]) -> SignChanges:
    """Find the changes between neighbouring intervals: at their common end, or in what could not be decided."""
    owner = np.concatenate([part.owner for part in parts])
    start = np.concatenate([part.start for part in parts])
    order = np.lexsort((start, owner))
    owner, start = owner[order], start[order]
    end = np.concatenate([part.end for part in parts])[order]
    left = np.concatenate([part.left for part in parts])[order]
    right = np.concatenate([part.right for part in parts])[order]
    touches_left = np.concatenate([part.touches_left for part in parts])[order]
    touches_right = np.concatenate([part.touches_right for part in parts])[order]
    same = owner[1:] == owner[:-1]
    k = np.flatnonzero(same & (right[:-1] != left[1:]))
    # From both sides the function comes down to zero, as far as can be seen: a touch, or two crossings.
    touched = same & (right[:-1] == left[1:]) & touches_right[:-1] & touches_left[1:]
    return SignChanges(owner[k], 0.5 * (end[k] + start[k + 1]), owner[:-1][touched])


def bracketed_roots(
    evaluate: Evaluate, low: FloatArray, high: FloatArray, rising: BoolArray
) -> FloatArray:
    """Find the root in each bracket by Newton's method, with bisection where a step would leave the bracket.

    Parameters
    ----------
    evaluate : callable
        Gives values and slopes of the functions at the positions in the first argument, at the arguments in the second.
    low, high : ndarray of shape (k,)
        Ends of the brackets; the signs of the functions there differ.
    rising : ndarray of bool, shape (k,)
        Whether the sign changes from minus to plus.

    Returns
    -------
    ndarray of shape (k,)
        Roots, to the last digits of the bracket's ends.

    Examples
    --------
    >>> square = lambda k, t: (t**2 - 2.0, 2.0 * t)
    >>> bracketed_roots(square, np.zeros(1), np.full(1, 9.0), np.ones(1, bool)).round(6)
    array([1.414214])
    """
    low, high = low.copy(), high.copy()
    tolerance = 2.0 * EPS * np.maximum(np.abs(low), np.abs(high))
    u = 0.5 * (low + high)
    sign = np.where(rising, 1.0, -1.0)
    k = np.arange(len(u))
    for _ in range(_NEWTON_STEPS):
        if not len(k):
            break
        value, slope = evaluate(k, u[k])
        below = value * sign[k] < 0
        low[k[below]] = u[k[below]]
        high[k[~below]] = u[k[~below]]
        flat = slope == 0
        step = u[k] - np.where(flat, np.inf, value) / np.where(flat, 1.0, slope)
        inside = (step > low[k]) & (step < high[k])
        following = np.where(inside, step, 0.5 * (low[k] + high[k]))
        moved = np.abs(following - u[k])
        u[k] = np.where(value == 0, u[k], following)
        k = k[(value != 0) & (moved > tolerance[k])]
    return u


def _evaluate(coefs: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Evaluate polynomials in Bernstein form and their slopes, each at its argument."""
    p = coefs.shape[1] - 1
    powers, others = _powers(u, p), _powers(1.0 - u, p)[:, ::-1]
    value = (coefs * (powers * others) * _binomials(p)).sum(axis=1)
    lower = powers[:, :-1] * others[:, 1:] * _binomials(p - 1)
    return value, p * (np.diff(coefs, axis=1) * lower).sum(axis=1)


def _powers(u: FloatArray, p: int) -> FloatArray:
    found = np.ones((len(u), p + 1))
    found[:, 1:] = u[:, None]
    return np.asarray(np.cumprod(found, axis=1))


def _binomials(p: int) -> FloatArray:
    return np.array([float(comb(p, j)) for j in range(p + 1)])


@lru_cache(maxsize=64)
def _halving(p: int) -> FloatArray:
    """Make two matrices: coefficients times them are those of the left and the right half."""
    left = np.array([[comb(j, i) * 0.5**j for j in range(p + 1)] for i in range(p + 1)])
    return np.stack([left, left[::-1, ::-1]])
