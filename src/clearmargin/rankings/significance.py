"""Tests of properties: p-values, intervals and corrections on counts, and labels that were held out.

Of T examples at the top of a ranking tp have a property, of B at the bottom fp have it; N = T + B. ::

    leverage = (tp B - fp T) / N^2 = T B / N^2 (tp / T - fp / B)

Small p-values say that a property separates Top from Bottom of *this ranking*. A ranking learned from pure noise has
such properties too, because the weights of the model made them; what they have to do with the *label* is another
question, which only labels can answer (`RankContrast._confirm`).

**Held-out labels.** A ranking is made of the same attributes as the properties, so that its top and its bottom differ
in some of them whatever the labels are: on labels that are pure noise, a quarter of fifty attributes pass every test of
top against bottom, and ranks of held-out rows are no better. Only labels can tell. So one half of the rows is ranked
and searched for candidates, and each candidate is tested on the labels of the other half, in the direction that it
announced; then the halves change places. Holm's correction counts all candidates of a half, and a factor of two that
there are two halves. Other folds than halves are treated in the same way, with a factor of their number.

A copy of a row knows its label. So equal rows are in one half, tested rows that are equal to one trained on are left
out, and of equal tested rows one counts: Fisher's test takes rows to be independent. Where a table has no more
combinations of values than rows, equal rows are no copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import false_discovery_control, hypergeom

from clearmargin.rule_base.leverage_search import Found
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Words, pack_bits

# Products of two counts are compared as integers: 64 bits whatever the platform calls an int.
Counts = NDArray[np.int64]

# What counts as unlikely, and how often an interval holds the truth.
LEVEL = 0.05
# Words that are and-ed together: what stays in cache.
_WORDS = 1 << 16


def leverage(tp: Counts, fp: Counts, n_top: int, n_bottom: int) -> FloatArray:
    """Compute the leverage of properties towards Top; that towards Bottom is its negative."""
    return np.asarray((tp * n_bottom - fp * n_top) / (n_top + n_bottom) ** 2)


def fisher(
    tp: Counts, fp: Counts, n_top: ArrayLike, n_bottom: ArrayLike, side: ArrayLike | None = None
) -> FloatArray:
    """Compute Fisher's exact test, one-sided: how often chance alone gives a leverage this large.

    `side` is 1 for more in Top, -1 for more in Bottom, 0 for nothing to test; by default the sign of the leverage, and
    then both sides have to be counted in `n_tests` of `holm`.
    """
    n_top, n_bottom = np.asarray(n_top), np.asarray(n_bottom)
    towards = np.sign(tp * n_bottom - fp * n_top) if side is None else np.asarray(side)
    inside, group = np.where(towards > 0, tp, fp), np.where(towards > 0, n_top, n_bottom)
    testable = (n_top > 0) & (n_bottom > 0) & (towards != 0)
    tail = hypergeom.sf(inside - 1, np.maximum(n_top + n_bottom, 1), group, tp + fp)
    return np.where(testable, tail, 1.0)


def leverage_interval(
    tp: Counts, fp: Counts, n_top: int, n_bottom: int
) -> tuple[FloatArray, FloatArray]:
    """Compute a 95 % interval of the leverage, for groups of these sizes.

    Newcombe's hybrid score interval of the difference of two proportions (method 10 of Newcombe, Statistics in
    Medicine 17, 1998, 873-890), which joins the Wilson intervals of both, times ``|T||B|/N^2``.
    """
    centre = leverage(tp, fp, n_top, n_bottom)
    z = float(ndtri((2 - LEVEL) / 2))
    top, bottom = tp / n_top, fp / n_bottom
    top_low, top_high = _wilson(tp, n_top, z)
    bottom_low, bottom_high = _wilson(fp, n_bottom, z)
    scale = n_top * n_bottom / (n_top + n_bottom) ** 2
    lower = centre - scale * np.hypot(top - top_low, bottom_high - bottom)
    upper = centre + scale * np.hypot(top_high - top, bottom - bottom_low)
    return np.maximum(lower, -scale), np.minimum(upper, scale)


def _wilson(x: Counts, n: int, z: float) -> tuple[FloatArray, FloatArray]:
    centre = (x + z * z / 2) / (n + z * z)
    half = z * np.sqrt(x * (n - x) / n + z * z / 4) / (n + z * z)
    return centre - half, centre + half


def holm(p: FloatArray, n_tests: int | None = None) -> FloatArray:
    """Compute Holm's adjusted p-values of some tests, of at least so many: any false one <= a has a chance of a."""
    # A float, for there may be more candidates than 64 bits can count.
    m = float(len(p) if n_tests is None else n_tests)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * (m - np.arange(len(p))))
    return np.minimum(adjusted, 1.0)


def q_values(p: FloatArray, n_tests: int) -> FloatArray:
    """Compute q-values (Benjamini, Hochberg) of some of so many tests: of those <= a, a share a is false on average."""
    # The others have p-values of 1.
    q = false_discovery_control(p) * (float(n_tests) / max(1, len(p)))
    return np.minimum(q, 1.0)


def n_tests(attribute: IntArray, max_size: int) -> int:
    """Return how many properties could have been found, for either end.

    The conjunctions of each size, never two items of one attribute, are elementary symmetric polynomials of the numbers
    of items of the attributes.
    """
    sums = [1] + [0] * max_size
    for group in np.unique(attribute, return_counts=True)[1].tolist():
        for size in range(max_size, 0, -1):
            sums[size] += group * sums[size - 1]
    return 2 * sum(sums[1:])


def area_of(mask: BoolArray, ranks: FloatArray) -> float:
    """Return how often a row with a property stands above one without it, in the whole ranking; equal ones half.

    The statistic of Mann and Whitney divided by its maximum; NaN when all rows or none have the property.
    """
    n_with = int(np.count_nonzero(mask))
    pairs = n_with * (len(mask) - n_with)
    return float((ranks[mask].sum() - n_with * (n_with + 1) / 2) / pairs) if pairs else float("nan")


def add_to_their_parts(
    found: Found, in_top: BoolArray, in_bottom: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Tell which conjunctions improve on their parts, and for which that can hardly be chance.

    A part of a conjunction is what is left when one item is dropped; that of a single item is "everything". Improving
    is to have more leverage, on its side, than each part. Productive (Webb, Machine Learning 68, 2007, 1-33) is one
    that passes, for each item, Fisher's exact test among the rows that have the part: do those that also have the item
    lie more on its side? `in_top` and `in_bottom` say which rows of the ends have each single property.
    """
    n_top, n_bottom = in_top.shape[1], in_bottom.shape[1]
    product = found.top.astype(np.int64) * n_bottom - found.bottom.astype(np.int64) * n_top
    side = np.sign(product)
    improves = np.ones(len(found), dtype=np.bool_)
    largest_p = np.zeros(len(found))
    for j in range(found.items.shape[1]):
        part = found.items.copy()
        part[:, j] = -1
        tp, fp = count_rows(part, in_top), count_rows(part, in_bottom)
        is_part = found.items[:, j] >= 0
        improves &= ~is_part | (side * product > side * (tp * n_bottom - fp * n_top))
        within = fisher(found.top, found.bottom, tp, fp, side)
        largest_p = np.maximum(largest_p, np.where(is_part, within, 0.0))
    return improves, np.asarray(largest_p <= LEVEL)


def count_rows(items: IntArray, masks: BoolArray) -> Counts:
    """Count the rows that have each conjunction of items; -1 stands for none."""
    words = _packed(masks)
    step = max(1, _WORDS // max(1, words.shape[1]))
    parts = [
        np.bitwise_count(_cover(items[start : start + step], words)).sum(axis=1, dtype=np.int64)
        for start in range(0, len(items), step)
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def first_of_its_cover(found: Found, masks: BoolArray) -> BoolArray:
    """Select, of the conjunctions that the same rows have, the shortest, and of these the first."""
    is_first = np.zeros(len(found), dtype=np.bool_)
    words = _cover(found.items, _packed(masks))
    order = np.argsort((found.items >= 0).sum(axis=1), kind="stable")
    # A row as one value of many bytes: these sort faster than rows do.
    keys = np.ascontiguousarray(words[order]).view(f"V{8 * words.shape[1]}")[:, 0]
    is_first[order[np.unique(keys, return_index=True)[1]]] = True
    return is_first


def _packed(masks: BoolArray) -> Words:
    """Pack items; item -1 is one that all rows have, so that a missing item changes nothing."""
    return pack_bits(np.vstack([masks, np.ones((1, masks.shape[1]), dtype=np.bool_)]))


def _cover(items: IntArray, words: Words) -> Words:
    cover = words[items[:, 0]]
    for column in items.T[1:]:
        cover &= words[column]
    return cover
