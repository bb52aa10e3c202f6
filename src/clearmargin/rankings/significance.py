"""Tests of properties: p-values, intervals and corrections on counts, shuffled ends, and held-out labels.

Of T examples at the top of a ranking tp have a property, of B at the bottom fp have it; N = T + B. ::

    leverage = (tp B - fp T) / N^2 = T B / N^2 (tp / T - fp / B)

Small p-values say that a property separates Top from Bottom of *this ranking*. A ranking learned from pure noise has
such properties too, because the weights of the model made them; what they have to do with the *label* is another
question, which only labels can answer (`held_out_p`).

Shuffling who is Top and who is Bottom tells what leverage chance reaches in a ranking; it says nothing about the
label, for the weights of a model separate its ends whatever it was trained on. Labels held out tell that. The area
under the curve of a property needs no ends at all.

**Held-out labels.** A ranking is made of the same attributes as the properties, so that its top and its bottom differ
in some of them whatever the labels are: on labels that are pure noise, a quarter of fifty attributes pass every test of
top against bottom, and ranks of held-out rows are no better. Only labels can tell. So one half of the rows is ranked
and searched for candidates, and each candidate is tested on the labels of the other half, in the direction that it
announced; then the halves change places. Holm's correction counts all candidates of a half, and a factor of two that
there are two halves. Other folds than halves are treated in the same way, with a factor of their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import hypergeom, rankdata

from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rule_base.leverage_search import Found
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.splitting import Folds

__all__ = [
    "Counts",
    "Explore",
    "Items",
    "ShuffledThreshold",
    "auc_of_property",
    "benjamini_hochberg",
    "count_candidates",
    "cover",
    "fisher",
    "held_out_p",
    "held_out_test",
    "holm",
    "leverage",
    "leverage_interval",
    "shuffled_threshold",
]


# Products of two counts are compared as integers: 64 bits whatever the platform calls an int.
Counts = NDArray[np.int64]
Items = tuple[int, ...]


def leverage(tp: ArrayLike, fp: ArrayLike, n_top: ArrayLike, n_bottom: ArrayLike) -> FloatArray:
    """Compute the leverage of properties towards Top; that towards Bottom is its negative.

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
    """Compute Fisher's exact test, one-sided: how often chance alone gives a leverage this large.

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
    """Compute a confidence interval of the leverage, for groups of these sizes.

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
    """Compute Holm's adjusted p-values: declaring those <= a keeps the chance of any false one at a.

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
    """Compute q-values of Benjamini and Hochberg: of those <= a, a share a is false on average.

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
    for name, count, all_name, every in (
        ("tp", tp, "n_top", n_top),
        ("fp", fp, "n_bottom", n_bottom),
    ):
        wrong = (count < 0) | (count > every)
        if wrong.any():
            raise InvalidValueError(
                f"{name} is {count[wrong][0]} where {all_name} is {every[wrong][0]}; "
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


@dataclass(frozen=True, slots=True, eq=False)
class ShuffledThreshold:
    """The least leverage that chance does not reach, from shuffles of who is Top and who is Bottom.

    Parameters
    ----------
    value : float
        Halfway from `quantile` to the next leverage that can occur, so that `>` and `>=`, and the last digit,
        do not matter. Use this as MinLev.
    quantile : float
        The quantile of the maxima itself. Leverages *equal* to it do not pass, and on small groups many are.
    maxima : ndarray of shape (n_shuffles,)
        The largest absolute leverage of each shuffle, in order.

    Examples
    --------
    >>> ShuffledThreshold(0.0825, 0.08, np.array([0.07, 0.08])).value
    0.0825
    """

    value: float
    quantile: float
    maxima: FloatArray


def shuffled_threshold(
    best: Callable[[BoolArray], float],
    n_top: int,
    n_bottom: int,
    *,
    n_shuffles: int = 199,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> ShuffledThreshold:
    """Find the MinLev that no property of a random Top and Bottom reaches, with probability `level`.

    Parameters
    ----------
    best : callable
        `best(in_top)` is the largest absolute leverage over all candidates when the examples of Top and Bottom together
        are divided by the boolean array `in_top` of shape (n_top + n_bottom,).
    n_top, n_bottom : int
        Sizes of Top and Bottom.
    n_shuffles : int, default=199
        How many random divisions to try; level * (n_shuffles + 1) should be a whole number.
    level : float, default=0.95
        The probability.
    random_state : int, Generator or None, default=None
        Where chance comes from.

    Returns
    -------
    ShuffledThreshold
        Its `value` is the threshold.

    Examples
    --------
    >>> from clearmargin.rankings.significance import leverage
    >>> has = np.arange(100) % 2 == 0
    >>> def best(in_top):
    ...     return abs(float(leverage((has & in_top).sum(), (has & ~in_top).sum(), 50, 50)))
    >>> found = shuffled_threshold(best, 50, 50, random_state=0)
    >>> found.value
    0.0525
    """
    if n_top < 1 or n_bottom < 1:
        raise InvalidValueError(
            f"Top has {n_top} and Bottom {n_bottom} examples; each needs at least 1 to be shuffled"
        )
    if not 0 < level < 1:
        raise InvalidValueError(
            f"level is {level}; it is a probability between 0 and 1, such as 0.95"
        )
    share = Fraction(repr(float(level)))  # the decimal it reads as
    position = math.ceil(share * (n_shuffles + 1))  # of the order statistics, counted from 1
    if not 1 <= position <= n_shuffles:
        needed = math.ceil(share / (1 - share))
        raise InvalidValueError(
            f"{n_shuffles} shuffles cannot say what happens in {level:g} of all cases; take at least {needed}"
        )
    rng = np.random.default_rng(random_state)
    division = np.arange(n_top + n_bottom) < n_top
    maxima = np.sort([float(best(rng.permutation(division))) for _ in range(n_shuffles)])
    if not (np.isfinite(maxima).all() and maxima[0] >= 0):
        raise InvalidValueError(
            "best(in_top) gave a value that is negative or no number; it has to be the largest |leverage|"
        )
    quantile = float(maxima[position - 1])
    # N^2 times a leverage, tp |B| - fp |T|, is a multiple of this.
    step, square = math.gcd(n_top, n_bottom), (n_top + n_bottom) ** 2
    steps = round(quantile * square / step)
    return ShuffledThreshold((2 * steps + 1) * step / (2 * square), quantile, maxima)


def held_out_test(side_is_top: ArrayLike, covered: ArrayLike, y_positive: ArrayLike) -> FloatArray:
    """Test on labels that nobody has looked at whether properties keep what they announce.

    Fisher's exact test of property against label, one-sided: a property of Top should have more positives than the
    rest, one of Bottom fewer. The candidates must have been found on other rows; correct for their number by `holm`.

    Parameters
    ----------
    side_is_top : array-like of bool, shape (p,)
        Which side each candidate was found for.
    covered : array-like of bool, shape (p, m)
        Which held-out rows have the property.
    y_positive : array-like of bool, shape (m,)
        Their labels.

    Returns
    -------
    ndarray of shape (p,)
        p-values; 1 when all labels are the same.

    Examples
    --------
    >>> y = np.array([True] * 5 + [False] * 5)
    >>> held_out_test([True, False], [y, y], y).round(4).tolist()
    [0.004, 1.0]
    """
    masks, labels = _checked_masks(covered, "covered"), np.asarray(y_positive)
    top = np.asarray(side_is_top, dtype=np.bool_)
    if labels.dtype != np.bool_ or labels.shape != masks.shape[1:]:
        raise InvalidValueError(
            f"y_positive has shape {labels.shape} and type {labels.dtype}; "
            f"give True (positive) or False for each of the {masks.shape[1]} rows of covered"
        )
    if top.shape != masks.shape[:1]:
        raise InvalidValueError(
            f"side_is_top has shape {top.shape}; give one side for each of the {len(masks)} properties"
        )
    n_positive = int(np.count_nonzero(labels))
    positive = np.count_nonzero(masks[:, labels], axis=1)
    negative = np.count_nonzero(masks, axis=1) - positive
    return fisher(positive, negative, n_positive, len(labels) - n_positive, np.where(top, 1, -1))


def auc_of_property(masks: ArrayLike, score: ArrayLike) -> FloatArray:
    """Return how often an example with the property stands above one without it, in the whole ranking.

    The statistic of Mann and Whitney divided by its maximum; it needs no choice of Top and Bottom.

    Parameters
    ----------
    masks : array-like of bool, shape (p, n)
        Which examples have the property.
    score : array-like of shape (n,)
        What the examples are ranked by, the largest at the top. Equal scores count half.

    Returns
    -------
    ndarray of shape (p,)
        1 when all examples with the property stand above all others, 1/2 without any tendency, nan when all
        examples or none have the property.

    Examples
    --------
    >>> auc_of_property([[True, True, False, False], [True, False, False, True]], [4.0, 3.0, 2.0, 2.0])
    array([1.   , 0.625])
    """
    has, values = _checked_masks(masks, "masks"), np.asarray(score, dtype=np.float64)
    if values.shape != has.shape[1:] or np.isnan(values).any():
        raise InvalidValueError(
            f"score has shape {values.shape} or holds nan; give a number for each of the {has.shape[1]} examples"
        )
    rank = np.broadcast_to(np.asarray(rankdata(values), dtype=np.float64), has.shape)
    n_with = np.count_nonzero(has, axis=1)
    pairs = n_with * (has.shape[1] - n_with)
    above = np.sum(rank, axis=1, where=has) - n_with * (n_with + 1) / 2
    auc = np.full(len(has), np.nan)
    np.divide(above, pairs, out=auc, where=pairs > 0)
    return auc


def _checked_masks(masks: ArrayLike, name: str) -> BoolArray:
    array = np.asarray(masks)
    if array.ndim != 2 or array.dtype != np.bool_:
        raise InvalidValueError(
            f"{name} has shape {array.shape} and type {array.dtype}; "
            "give one row of True and False for each property"
        )
    return array


class Explore(Protocol):
    """Ranks some rows by their labels, and judges the ranking by other rows."""

    def __call__(self, train: IntArray, test: IntArray) -> tuple[Found, BoolArray, float]:
        """Give candidates that set the ends of the training rows apart, which end each speaks of, and an area.

        The area is that under the ROC curve of the ranking on the test rows; NaN where these have one label only.
        """


def held_out_p(
    table: PropertyTable, is_positive: BoolArray, explore: Explore, folds: Folds
) -> tuple[dict[tuple[Items, bool], float], FloatArray]:
    """Test the candidates of the training part of each fold on the labels of its test part.

    Parameters
    ----------
    table : PropertyTable
        The properties of all rows; their bins know no labels.
    is_positive : ndarray of bool of shape (m,)
        The labels.
    explore : callable
        Ranks some rows and gives the candidates that set their ends apart, and which end each speaks of.
    folds : Folds
        Training and test parts.

    Returns
    -------
    p : dict
        For each candidate, as its items and whether it speaks of the top, its corrected p-value.
    auc : ndarray of shape (k,)
        For each fold, the area under the ROC curve on its test part.
    """
    best: dict[tuple[Items, bool], float] = {}
    areas = []
    for train, test in folds.pairs:
        found, is_top, auc = explore(train, test)
        areas.append(auc)
        if not len(found):
            continue
        covered = cover(table, found, test)
        p = holm(held_out_test(is_top, covered, is_positive[test]))
        for items, side, value in zip(
            found.items.tolist(), is_top.tolist(), p.tolist(), strict=True
        ):
            key = tuple(i for i in items if i >= 0), side
            best[key] = min(best.get(key, 1.0), len(folds) * value)
    return best, np.array(areas)


def cover(table: PropertyTable, found: Found, rows: IntArray) -> BoolArray:
    """Return which of some rows have each conjunction, one row of the answer each."""
    masks = np.vstack([table.masks[:, rows], np.ones((1, len(rows)), dtype=np.bool_)])
    covered = masks[found.items[:, 0]]
    for j in range(1, found.items.shape[1]):
        covered &= masks[found.items[:, j]]  # -1 is the row of ones
    return covered
