"""Fill a class's part of the domain with boxes, whether there are points or not: the certificate of volume.

The bound of Fung, Sandilya and Rao (KDD 2005, section 5), that each step leaves at most 1 - n!/n^n of the volume, holds
only if every leftover region is opened. Here all are, the largest first, so that few boxes fill most.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.plane_rules.proof import prove, retreat
from clearmargin.plane_rules.side import FoundBox, Region, Side
from clearmargin.plane_rules.volume import Volume, clipped_volume, volume_curve
from clearmargin.plane_rules.volume_corner import volume_corner
from clearmargin.rule_base.simplify import to_user_box
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    from clearmargin.plane_rules.extractor import RuleExtractor

__all__ = ["Exploration", "explore_volume"]


@dataclass(frozen=True, slots=True)
class Exploration:
    """Boxes that fill a class's part of the domain.

    Parameters
    ----------
    rules : RuleSet
        Disjoint, proved rules, the largest regions first.
    curve : ndarray
        Share of the volume after one rule, two rules, ...
    total : Volume
        The share after all of them, as a certified interval.

    Examples
    --------
    See `explore_volume`:

    >>> Exploration.__slots__
    ('rules', 'curve', 'total')
    """

    rules: RuleSet
    curve: FloatArray
    total: Volume


def explore_volume(extractor: RuleExtractor, label: Label, max_rules: int = 100) -> Exploration:
    """Fill the part of the domain where a model of two classes predicts `label`, the largest region first.

    Parameters
    ----------
    extractor : RuleExtractor
        Fitted, on a table without categories.
    label : label
        The class.
    max_rules : int, default 100
        Number of boxes.

    Returns
    -------
    Exploration
        Rules and the share of the volume that they fill.

    Examples
    --------
    >>> from clearmargin import RuleExtractor
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = np.random.default_rng(0).random((40, 2)), np.arange(40) % 2
    >>> extractor = RuleExtractor(RidgeClassifier()).fit(X, y)
    >>> found = explore_volume(extractor, 1, max_rules=31)
    >>> len(found.rules), bool(found.total.low > 0.9)
    (31, True)
    """
    surface = extractor.surface_
    if len(surface.classes) != 2 or any(source.code is not None for source in surface.sources):
        raise InvalidValueError(
            "volume is explored for models of two classes over tables without categories"
        )
    if label not in surface.classes:
        raise InvalidValueError(f"{label!r} is none of the classes {surface.classes}")
    (halfspace,) = surface.regions()[surface.classes.index(label)]
    lower = [extractor.space_.lower[feature] for feature, _ in surface.sources]
    upper = [extractor.space_.upper[feature] for feature, _ in surface.sources]
    domain = Box(lower, upper)
    anywhere, guards = Box.unbounded(len(lower)), surface.guards()[surface.classes.index(label)]
    nobody = np.empty((0, len(lower)))
    columns = FeatureSpace(surface.columns.names, lower, upper)
    found = _explore(Side.of(halfspace), domain, max_rules)
    smaller = (retreat(box, guards, anywhere, columns, nobody) for box in found)
    boxes = [box for box in smaller if box is not None]
    prove(boxes, guards, anywhere, disjoint=True)
    curve, total = volume_curve(halfspace, domain, [[box] for box in boxes])
    user_boxes = [to_user_box(box, surface) for box in boxes]
    rules = [
        Rule(box, label, origin="extracted", proof="proved")
        for box in user_boxes
        if box is not None
    ]
    return Exploration(RuleSet(rules, extractor.space_, surface.classes), curve, total)


def _explore(side: Side, domain: Box, max_rules: int) -> Iterator[Box]:
    whole = side.region(domain)
    nobody: IntArray = np.empty(0, dtype=np.intp)
    # A plane beyond the near corner leaves nothing of the domain on this side.
    agenda = [(-1.0, 0, whole)] if side.slack(whole.near) > 0 else []
    count = found = 0
    while agenda and found < max_rules:
        _, _, region = heapq.heappop(agenda)
        corner = volume_corner(side, region, region.near[None])
        box = side.box(FoundBox(region.near, corner.far, region.near_closed, corner.closed, nobody))
        # Where floating point has no corner left, the region is too small to matter.
        if box.is_empty or not box.intersect(domain).volume() or not side.admits(corner):
            continue
        yield box
        found += 1
        far, far_closed = region.far.copy(), region.far_closed.copy()
        # Eq. 18, the dearest face first: beyond face k and within all faces before it.
        for k in np.argsort(-side.a * (region.far - region.near), kind="stable"):
            if corner.far[k] < region.far[k]:
                near, near_closed = region.near.copy(), region.near_closed.copy()
                near[k], near_closed[k] = corner.far[k], not corner.closed[k]
                child = Region(near, far.copy(), near_closed, far_closed.copy())
                volume = clipped_volume(side.a, side.g, child.near, child.far).value
                if volume > 0 and side.slack(near) > 0:
                    count += 1
                    heapq.heappush(agenda, (-volume, count, child))
            far[k], far_closed[k] = corner.far[k], corner.closed[k]
