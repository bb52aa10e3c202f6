"""How far the first boxes of many planes are from the largest ones: `python -m benchmarks.box_volumes`.

Three counts of boxes that have less than half of the volume that water-filling promises: first boxes below random
planes with weights over eight decades, all boxes of an extraction by volume on the unscaled Pima table, and all
corners that point coverage polishes there. Water-filling is done by bisection on its level, apart from the package.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_pima
from clearmargin.plane_rules import coverage_corner, volume_corner
from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.rules import Box, Hyperplane
from clearmargin.rules.value import FloatArray

PLANES, HALVINGS = 700, 200


def filled(low: FloatArray, high: FloatArray, budget: float) -> FloatArray:
    """Water-filling by bisection on the logarithm of its level."""
    if high.sum() <= budget:
        return high
    bottom, top = -745.0, math.log(max(budget, 5e-324)) + 1.0
    for _ in range(HALVINGS):
        level = (bottom + top) / 2.0
        if np.clip(math.exp(level), low, high).sum() <= budget:
            bottom = level
        else:
            top = level
    return np.asarray(np.clip(math.exp(bottom), low, high))


def shortfall(side: Side, region: Region, corner: Corner, spent: FloatArray) -> float:
    """How much larger the logarithm of the volume could be."""
    width = corner.far - region.near
    best = np.minimum(spent / side.a, region.far - region.near)
    counted = best > 0
    if (width[counted] <= 0).any():
        return math.inf
    return float(np.log(best[counted] / width[counted]).sum())


def first_boxes() -> list[float]:
    """The shortfall of the first box below each of some random planes, in columns with offsets."""
    found = []
    for seed in range(PLANES):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        coef = 10.0 ** rng.uniform(-4.0, 4.0, n) * rng.choice([-1.0, 1.0], n)
        lower = rng.normal(size=n) * 10.0 ** rng.uniform(0.0, 4.0, n)
        upper = lower + 10.0 ** rng.uniform(-2.0, 2.0, n)
        between = lower + rng.random(n) * (upper - lower)
        side = Side.of(Hyperplane(coef, -float(coef @ between)).side(-1))
        region = side.region(Box(lower, upper))
        if side.slack(region.near) <= 0:
            continue
        corner = volume_corner.volume_corner(side, region, region.near[None])
        ends = side.a * (region.far - region.near)
        spent = filled(np.zeros(n), ends, side.slack(region.near))
        found.append(shortfall(side, region, corner, spent))
    return found


def on_pima(criterion: str) -> list[float]:
    """The shortfall of all corners that an extraction on the unscaled table computes."""
    found: list[float] = []
    original = volume_corner.corner_at

    def watched(side: Side, region: Region, spent: FloatArray, at_end: Any) -> Corner | None:
        corner = original(side, region, spent, at_end)
        if corner is None:
            found.append(math.inf)
        else:
            found.append(shortfall(side, region, corner, spent))
        return corner

    X, y = load_pima(return_X_y=True)
    places: list[Any] = [volume_corner, coverage_corner]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in places:
            place.corner_at = watched
        try:
            for nu in (0.1, 1.0, 10.0, 100.0):
                RuleExtractor(
                    LPSVC(nu=nu),
                    criterion=criterion,
                    min_coverage=2,
                    max_rules=None,
                    progress=False,
                ).fit(X, y)
        finally:
            for place in places:
                place.corner_at = original
    return found


def main() -> None:
    """Print the three counts."""
    runs: list[tuple[str, Callable[[], list[float]]]] = [
        ("first boxes, weights over eight decades", first_boxes),
        ("Pima by volume", lambda: on_pima("volume")),
        ("Pima by coverage", lambda: on_pima("coverage")),
    ]
    for name, run in runs:
        short = np.array(run())
        small, far = np.count_nonzero(short > math.log(2.0)), np.count_nonzero(short > 1e-6)
        print(f"{name}: {small} of {len(short)} below half, {far} off by more than 1e-6")


if __name__ == "__main__":
    main()
