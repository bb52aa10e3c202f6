"""How much a leverage can be trusted: tests, intervals and corrections on counts.

Of |T| examples at the top of a ranking tp have a property, of |B| at the bottom fp have it; N = |T| + |B|.

    leverage = (tp |B| - fp |T|) / N^2 = |T||B|/N^2 (tp/|T| - fp/|B|)

Small p-values say that a property separates Top from Bottom of *this ranking*. A ranking learned from pure noise has
such properties too, because the model's own weights made them; what they have to do with the *label* is another
question, see `held_out_test` in `evidence.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import hypergeom

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import FloatArray

__all__ = [
    "Counts",
    "benjamini_hochberg",
    "count_candidates",
    "fisher",
    "holm",
    "leverage",
    "leverage_interval",
]

# Products of two counts are compared as integers: 64 bits whatever the platform calls an int.
Counts = NDArray[np.int64]


def leverage(tp: ArrayLike, fp: ArrayLike, n_top: ArrayLike, n_bottom: ArrayLike) -> FloatArray:
    """Leverage of properties towards Top; that towards Bottom is its negative.

    Parameters
    ----------
    tp, fp : array-like of int
        How many examples of Top and of Bottom have the property.
    n_top, n_bottom : array-like of int
        Sizes of Top and Bottom.

    Returns
    -------
    ndarray of float
        Between -1/4 and 1/4, in the common shape of the arguments.

    Examples
    --------
    >>> leverage([67, 35], [1, 35], 70, 70).round(3).tolist()
    [0.236, 0.0]
    """
    tp, fp, n_top, n_bottom = _checked(tp, fp, n_top, n_bottom)
    if np.any((n_top < 1) | (n_bottom < 1)):
        raise InvalidValueError(
            "leverage compares two groups, but Top or Bottom is empty; take at least one example each"
        )
    return np.asarray((tp * n_bottom - fp * n_top) / (n_top + n_bottom) ** 2)


def fisher(
    tp: ArrayLike,
    fp: ArrayLike,
    n_top: ArrayLike,
    n_bottom: ArrayLike,
    side: ArrayLike | None = None,
) -> FloatArray:
    """Fisher's exact test, one-sided: how often chance alone gives a leverage this large.

    Parameters
    ----------
    tp, fp : array-like of int
        How many examples of Top and of Bottom have the property.
    n_top, n_bottom : array-like of int
        Sizes of Top and Bottom; with an empty group there is nothing to test and p is 1.
    side : array-like of {-1, 0, 1}, optional
        +1 tests for more in Top, -1 for more in Bottom, 0 for nothing (p is 1). The sign of the leverage when not
        given.

    Returns
    -------
    ndarray of float
        P(X >= tp) for Top, where X of the tp + fp examples with the property fall in Top by chance. Exact to
        about 14 digits in the far tail up to N = 100,000, 10 digits beyond, and 0 below the smallest float.

    Notes
    -----
    Without `side` the data choose the direction, and a property passes at level a in 2a of all cases. Properties of
    both sides tested together are 2 tests each: say so in `n_tests` of `holm`.

    Examples
    --------
    >>> print(fisher([67, 8, 7], [1, 2, 7], [70, 10, 10], [70, 10, 10]))
    [4.32534007e-35 1.15070688e-02 1.00000000e+00]
    """
    tp, fp, n_top, n_bottom = _checked(tp, fp, n_top, n_bottom)
    towards = np.sign(tp * n_bottom - fp * n_top) if side is None else _checked_side(side)
    inside, group = np.where(towards > 0, tp, fp), np.where(towards > 0, n_top, n_bottom)
    testable = (n_top > 0) & (n_bottom > 0) & (towards != 0)
    tail = hypergeom.sf(inside - 1, np.maximum(n_top + n_bottom, 1), group, tp + fp)
    return np.where(testable, tail, 1.0)


def leverage_interval(
    tp: ArrayLike, fp: ArrayLike, n_top: ArrayLike, n_bottom: ArrayLike, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Confidence interval of the leverage, for groups of these sizes.

    Newcombe's hybrid score interval of the difference of two proportions (method 10 of Newcombe, Statistics in
    Medicine 17, 1998, 873-890), which joins the Wilson intervals of both, times ``|T||B|/N^2``.

    Parameters
    ----------
    tp, fp : array-like of int
        How many examples of Top and of Bottom have the property.
    n_top, n_bottom : array-like of int
        Sizes of Top and Bottom.
    level : float, default=0.95
        How often the interval should hold the truth.

    Returns
    -------
    lower, upper : ndarray of float
        The ends of the intervals.

    Examples
    --------
    >>> lower, upper = leverage_interval([24], [2], 27, 27)
    >>> lower.round(3), upper.round(3)
    (array([0.146]), array([0.226]))
    """
    tp, fp, n_top, n_bottom = _checked(tp, fp, n_top, n_bottom)
    centre = leverage(tp, fp, n_top, n_bottom)
    z = float(ndtri((1 + _checked_level(level)) / 2))
    top, bottom = tp / n_top, fp / n_bottom
    top_low, top_high = _wilson(tp, n_top, z)
    bottom_low, bottom_high = _wilson(fp, n_bottom, z)
    scale = n_top * n_bottom / (n_top + n_bottom) ** 2
    lower = centre - scale * np.hypot(top - top_low, bottom_high - bottom)
    upper = centre + scale * np.hypot(top_high - top, bottom - bottom_low)
    return np.maximum(lower, -scale), np.minimum(upper, scale)


def _wilson(x: Counts, n: Counts, z: float) -> tuple[FloatArray, FloatArray]:
    centre = (x + z * z / 2) / (n + z * z)
    half = z * np.sqrt(x * (n - x) / n + z * z / 4) / (n + z * z)
    return centre - half, centre + half


def holm(p: ArrayLike, n_tests: int | None = None) -> FloatArray:
    """Holm's adjusted p-values: declaring those <= a keeps the chance of any false one at a.

    Parameters
    ----------
    p : array-like of shape (k,)
        p-values.
    n_tests : int, optional
        How many were tested, when not all are listed. Whatever the p-values of the others, those listed are then
        adjusted at least as much as in the full list.

    Returns
    -------
    ndarray of shape (k,)
        Adjusted p-values, at most 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist(), holm([0.01], n_tests=50).tolist()
    ([0.03, 0.06, 0.06], [0.5])
    """
    values, m = _checked_p(p, n_tests)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(values[order] * (m - np.arange(len(values))))
    return np.minimum(adjusted, 1.0)


def benjamini_hochberg(p: ArrayLike, n_tests: int | None = None) -> FloatArray:
    """q-values of Benjamini and Hochberg: of those <= a, a share a is false on average.

    Parameters
    ----------
    p : array-like of shape (k,)
        p-values.
    n_tests : int, optional
        How many were tested, when not all are listed; the q-values are then at least those of the full list.

    Returns
    -------
    ndarray of shape (k,)
        q-values, at most 1.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    values, m = _checked_p(p, n_tests)
    order = np.argsort(values, kind="stable")[::-1]
    q = np.empty_like(values)
    q[order] = np.minimum.accumulate(values[order] * (m / np.arange(len(values), 0, -1)))
    return np.minimum(q, 1.0)


def count_candidates(attribute: ArrayLike, max_size: int) -> list[int]:
    """Count the conjunctions of each size that could have been tested, never two items of one attribute.

    Parameters
    ----------
    attribute : array-like of shape (p,)
        For each item the attribute it belongs to; any values that can be compared.
    max_size : int
        The largest size.

    Returns
    -------
    list of int
        Numbers for the sizes 1 to `max_size`: elementary symmetric polynomials of the numbers of items of the
        attributes, exact however large.

    Examples
    --------
    >>> count_candidates(["sex", "sex", "age", "age", "age"], 3)
    [5, 6, 0]
    """
    if max_size < 1:
        raise InvalidValueError(f"max_size is {max_size}; a conjunction has at least 1 item")
    items = np.asarray(attribute)
    if items.ndim != 1:
        raise InvalidValueError(
            f"attribute has shape {items.shape}; give one attribute for each item, in one dimension"
        )
    sums = [1] + [0] * max_size
    for group in np.unique(items, return_counts=True)[1].tolist():
        for size in range(max_size, 0, -1):
            sums[size] += group * sums[size - 1]
    return sums[1:]


def _checked(*arrays: ArrayLike) -> tuple[Counts, Counts, Counts, Counts]:
    names = ("tp", "fp", "n_top", "n_bottom")
    counts = [_whole(name, values) for name, values in zip(names, arrays, strict=True)]
    try:
        tp, fp, n_top, n_bottom = np.broadcast_arrays(*counts)
    except ValueError as err:
        shapes = ", ".join(f"{n} {c.shape}" for n, c in zip(names, counts, strict=True))
        raise InvalidValueError(f"the shapes do not fit together: {shapes}") from err
    for name, some, all_name, every in (
        ("tp", tp, "n_top", n_top),
        ("fp", fp, "n_bottom", n_bottom),
    ):
        wrong = (some < 0) | (some > every)
        if wrong.any():
            raise InvalidValueError(
                f"{name} is {some[wrong][0]} where {all_name} is {every[wrong][0]}; "
                f"it counts examples, so it lies between 0 and {all_name}"
            )
    return tp, fp, n_top, n_bottom


def _whole(name: str, values: ArrayLike) -> Counts:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidValueError(
            f"{name} has values of type {array.dtype}; counts are whole numbers (int)"
        )
    return array.astype(np.int64)


def _checked_side(side: ArrayLike) -> Counts:
    array = np.asarray(side)
    wrong = ~np.isin(array, (-1, 0, 1))
    if wrong.any():
        raise InvalidValueError(
            f"side holds {array[wrong][0]!r}; it is 1 for Top, -1 for Bottom, 0 for neither"
        )
    return array.astype(np.int64)


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise InvalidValueError(
            f"level is {level}; it is a probability between 0 and 1, such as 0.95"
        )
    return level


def _checked_p(p: ArrayLike, n_tests: int | None) -> tuple[FloatArray, float]:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1:
        raise InvalidValueError(f"p has shape {values.shape}; give p-values in one dimension")
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        raise InvalidValueError(f"p holds {values[wrong][0]}; p-values lie between 0 and 1")
    if n_tests is not None and n_tests < len(values):
        raise InvalidValueError(
            f"n_tests is {n_tests}, but {len(values)} p-values are given; "
            "it counts all tests, listed or not"
        )
    # A float, for there may be more candidates than 64 bits can count.
    return values, float(len(values) if n_tests is None else n_tests)
