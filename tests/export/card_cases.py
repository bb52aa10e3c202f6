"""A card with proof for the tests of its exports, and rows around its cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clearmargin import CertifiedScorecard, FeatureSpace
from clearmargin.rules import Polyhedron
from clearmargin.scorecards import CertifiedFeature


def make_card(relations=True, classes=("well", "ill"), job='it"s'):
    space = FeatureSpace(
        ["age", "job's", "rate", "idle"],
        [20.0, -np.inf, 0.1, 0.0],
        [80.0, np.inf, 0.9, 1.0],
        [True, False, False, False],
        [None, ["clerk", job, "smith", "a|b"], None, None],
        fill=[45.0, "smith", None, None],
    )
    parts = [
        CertifiedFeature(0, [0, 5, 3], [4, 9, 3], cuts=[50.0], missing=2),
        CertifiedFeature(1, [0, 6], [0, 7], sets=[[0, 2], [1, 3]], missing=0),
        CertifiedFeature(2, [0, 2, 4], [2, 4, 5], cuts=[0.3, 0.7]),
        CertifiedFeature(3, [0], [0], cuts=[]),
    ]
    tied = Polyhedron([[1.0, 0.0, 10.0, 0.0]], [86.5]) if relations else None
    return CertifiedScorecard(parts, (7, 12), space, classes, tied)


def rows_around(card, seed, m=60):
    """Rows at the ends of cells, beside them and beyond, with missing values and unknown categories."""
    rng = np.random.default_rng(seed)
    columns = {}
    for j, name in enumerate(card.space.names):
        known = card.space.categories[j]
        if known is not None:
            choice = [*known, *known, *known, None, "queen"]
            columns[name] = [choice[k] for k in rng.integers(0, len(choice), size=m)]
            continue
        low, high = card.space.lower[j], card.space.upper[j]
        part = next(part for part in card.features if part.feature == j)
        ends = np.array([low, high, *part.cuts])
        beside = [np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf), ends - 1]
        inner = np.round(rng.uniform(low, high, size=60), 0 if card.space.integer[j] else 2)
        choice = np.concatenate([ends, ends, *beside, inner, [np.nan, np.inf]])
        columns[name] = rng.choice(choice, size=m).tolist()
    frame = pd.DataFrame(columns)
    names = card.space.names
    return frame, [
        dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
