"""Check that a hyperplane has weights, and not too many for boxes."""

from __future__ import annotations

import warnings

import numpy as np

from clearmargin.exceptions import ClearmarginWarning, InvalidValueError
from clearmargin.models.surface import Surface

__all__ = ["check_plane"]

# In n dimensions the largest box on a plane has n!/n^n of a corner's volume: 4 % at 5, 0.04 % at 10.
_MANY_FEATURES = 8


def check_plane(surface: Surface) -> None:
    """Refuse planes without weights, and warn of those with too many."""
    weights = np.array([duel.plane.coef for duel in surface.planes])
    if not weights.any():
        raise InvalidValueError(
            "the model's plane is constant: all weights are zero, so it says the same everywhere and there are no "
            "rules to extract; train it with less regularisation (a larger nu or C), or, if a search chose that, on "
            "features with a linear relation to the classes"
        )
    # A category is one 0/1 column for each of its values, and one condition of a rule.
    sources = np.array([source.feature for source in surface.sources])
    most = max(len(np.unique(sources[row != 0])) for row in weights)
    if most > _MANY_FEATURES:
        warnings.warn(
            f"the plane has {most} features with a weight; boxes cover little of what lies below such a plane. A "
            "sparser one gives fewer and better rules: LPSVCCV(max_features=8), which estimator=None trains",
            ClearmarginWarning,
            stacklevel=3,
        )
