"""Evidence beyond counts: against shuffles of the ends, on labels held out, and over the whole ranking.

Shuffling who is Top and who is Bottom tells what leverage chance reaches in a ranking; it says nothing about the
label, for the weights of a model separate its ends whatever it was trained on. Labels held out tell that. The area
under the curve of a property needs no ends at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings.significance import fisher
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["ShuffledThreshold", "auc_of_property", "held_out_test", "shuffled_threshold"]


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
    """How often an example with the property stands above one without it, in the whole ranking.

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
