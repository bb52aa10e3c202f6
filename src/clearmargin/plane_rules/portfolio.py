"""Several searches for few boxes that cover much; the best is kept.

The recursion is greedy: the box that covers most now may leave more rules to write than a slightly smaller one.
Searches that draw their starts and the order of their cuts lead to different sets of boxes, and which of them
is best can be counted. A set is worth the share of points it covers less one hundredth for each box: a rule has to
cover one percent of its class to earn its place.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from clearmargin.plane_rules.consolidate import consolidate
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.recursion import Search, extract_boxes
from clearmargin.plane_rules.side import FloatArray, FoundBox, Region, Side
from clearmargin.progress import Watch, part

__all__ = ["RULE_PRICE", "search_coverage"]

# The share of the points that a rule has to cover to earn its place.
RULE_PRICE = 0.01
# More searches were not seen to find better sets on data of some hundred points; with many points one costs more and
# matters less.
_MOST_SEARCHES, _POINTS_IN_ALL, _PAIRS_IN_ALL = 40, 20_000, 1_200
_CONSOLIDATED = 4


def search_coverage(
    side: Side,
    domain: Region,
    Z: FloatArray,
    *,
    max_depth: int,
    min_coverage: int,
    max_rules: int | None,
    tighten: bool,
    watch: Watch | None = None,
) -> Search:
    """Run the recursion for point coverage several times and keep the best set of boxes.

    Parameters
    ----------
    side, domain, Z
        The half-space, its domain and the points, as for `extract_boxes`.
    max_depth, min_coverage, max_rules, tighten, watch
        As for `extract_boxes`.

    Returns
    -------
    Search
        The best set, boxes with few points dropped; `problems` counts those of all searches.
    """
    run = partial(
        extract_boxes,
        side,
        domain,
        Z,
        max_depth=max_depth,
        min_coverage=min_coverage,
        max_rules=max_rules,
        tighten=tighten,
    )
    pairs = len(side.a) * (len(side.a) - 1) // 2
    affordable = min(_POINTS_IN_ALL // max(1, len(Z)), _PAIRS_IN_ALL // max(1, pairs))
    more = min(_MOST_SEARCHES, affordable)
    found = [run(coverage_corner, watch=part(watch, 1 / (1 + more)))]
    # The first search shows about how many rules there will be; the others look for better ones.
    again = part(watch, 1 / (1 + more), counts=False)
    for seed in range(more):
        rng = np.random.default_rng(seed)
        found.append(run(partial(coverage_corner, rng=rng), rng=rng, watch=again))
    problems = sum(search.problems for search in found)
    found.sort(key=lambda search: -_worth(search.boxes, Z, min_coverage, max_rules))
    sets = [consolidate(side, Z, s.boxes, min_coverage) for s in found[:_CONSOLIDATED]]
    best = max(sets, key=lambda boxes: _worth(boxes, Z, min_coverage, max_rules))
    return Search(best, problems, _left_over(best, len(Z)))


def _worth(boxes: list[FoundBox], Z: FloatArray, min_coverage: int, max_rules: int | None) -> float:
    sizes = sorted(len(box.points) for box in boxes if len(box.points) >= min_coverage)[::-1]
    kept = sizes[:max_rules]
    return sum(kept) / max(1, len(Z)) - RULE_PRICE * len(kept)


def _left_over(boxes: list[FoundBox], m: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    covered = np.zeros(m, dtype=np.bool_)
    for box in boxes:
        covered[box.points] = True
    return np.flatnonzero(~covered)
