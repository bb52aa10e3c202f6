"""Leverages of conjunctions and the tests of them, from their definitions: fractions, loops and SciPy."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.stats import binomtest, fisher_exact


def leverage_of(mask: np.ndarray, top: np.ndarray, bottom: np.ndarray) -> Fraction:
    """P(p, top) - P(p) P(top) among the rows of both ends."""
    n = len(top) + len(bottom)
    t, b = int(mask[top].sum()), int(mask[bottom].sum())
    return Fraction(t, n) - Fraction(t + b, n) * Fraction(len(top), n)


def conjunctions(attribute: Sequence[int], max_size: int) -> list[tuple[int, ...]]:
    """All sets of items that are never two of one attribute."""
    return [
        items
        for size in range(1, max_size + 1)
        for items in combinations(range(len(attribute)), size)
        if len({int(attribute[i]) for i in items}) == size
    ]


def fisher_tail(tp: int, fp: int, n_top: int, n_bottom: int) -> Fraction:
    """Fisher's exact test towards the side of the leverage, in whole numbers."""
    if tp * n_bottom == fp * n_top:
        return Fraction(1)
    if tp * n_bottom < fp * n_top:
        tp, fp, n_top, n_bottom = fp, tp, n_bottom, n_top
    n = tp + fp
    ways = sum(math.comb(n_top, i) * math.comb(n_bottom, n - i) for i in range(tp, n + 1))
    return Fraction(ways, math.comb(n_top + n_bottom, n))


def newcombe(tp: int, fp: int, n_top: int, n_bottom: int) -> tuple[float, float]:
    """Method 10 of Newcombe (1998) of the difference of two proportions, out of Wilson's intervals by SciPy."""
    p, q = tp / n_top, fp / n_bottom
    a, b = (
        binomtest(x, n).proportion_ci(0.95, method="wilson")
        for x, n in ((tp, n_top), (fp, n_bottom))
    )
    return (p - q - math.hypot(p - a.low, b.high - q), p - q + math.hypot(a.high - p, q - b.low))


def holm_adjusted(p: Sequence[float], n_tests: int) -> list[float]:
    """The smallest level at which the step-down procedure rejects each."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    found, level = [0.0] * len(p), 0.0
    for step, i in enumerate(order):
        level = max(level, p[i] * (n_tests - step))
        found[i] = min(1.0, level)
    return found


def q_values(p: Sequence[float], n_tests: int) -> list[float]:
    """The smallest rate at which the step-up procedure of Benjamini and Hochberg rejects each."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    return [
        min(1.0, *(p[j] * n_tests / (rank + 1) for rank, j in enumerate(order) if p[j] >= p[i]))
        for i in range(len(p))
    ]


def worst_part(masks: np.ndarray, items: Sequence[int], top, bottom) -> float:
    """The largest p of a test of one item among the rows that have all others."""
    towards = leverage_of(masks[list(items)].all(axis=0), top, bottom) > 0
    worst = 0.0
    for dropped in items:
        part = masks[[i for i in items if i != dropped]].all(axis=0)
        table = [
            [int((part & has)[rows].sum()) for rows in (top, bottom)]
            for has in (masks[dropped], ~masks[dropped])
        ]
        side = "greater" if towards else "less"
        worst = max(worst, float(fisher_exact(table, alternative=side).pvalue))
    return worst


def improves(masks: np.ndarray, items: Sequence[int], top, bottom) -> bool:
    """Whether the leverage is larger than that of every part with one item less."""
    own = leverage_of(masks[list(items)].all(axis=0), top, bottom)
    sign = 1 if own > 0 else -1
    parts = (masks[[i for i in items if i != dropped]].all(axis=0) for dropped in items)
    return all(sign * own > sign * leverage_of(part, top, bottom) for part in parts)


def share_ends(scores: Sequence[float], share: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows at both ends, equal scores in the order of the table."""
    order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
    size = max(1, int(Fraction(str(share)) * len(scores)))
    return np.array(order[:size]), np.array(order[::-1][:size])


def held_out_p_values(masks, attribute, max_size, least, folds: Iterable) -> dict:
    """Of (train, test, scores of train, labels): candidates of train, each tested on the labels of test."""
    folds, best = list(folds), {}
    for train, test, scores, ends, positive in folds:
        top, bottom = (train[rows] for rows in share_ends(scores, ends))
        candidates = []
        for items in conjunctions(attribute, max_size):
            mask = masks[list(items)].all(axis=0)
            value = leverage_of(mask, top, bottom)
            if abs(value) >= Fraction(str(least)):
                candidates.append((items, value > 0, mask))
        p = [
            fisher_exact(
                [[int((half & side).sum()) for side in (positive, ~positive)] for half in (m, ~m)],
                alternative="greater" if is_top else "less",
            ).pvalue
            for _, is_top, mask in candidates
            for m in [mask[test]]
        ]
        for (items, is_top, _), value in zip(candidates, holm_adjusted(p, len(p)), strict=True):
            best[items, is_top] = min(best.get((items, is_top), 1.0), len(folds) * value)
    return best
