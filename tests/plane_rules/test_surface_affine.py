"""Affine maps compose as matrices do."""

from __future__ import annotations

import numpy as np

from clearmargin.models.affine import AffineMap


def test_an_affine_map_of_maps_is_the_map_of_the_mapped():
    rng = np.random.default_rng(1)
    first = AffineMap.linear(rng.normal(size=(3, 4)), rng.normal(size=3))
    second = AffineMap.stack([AffineMap.diagonal([1.0, 2.0], 1.0), AffineMap.selection([2, 0], 3)])
    X = rng.normal(size=(5, 4))
    both = second.after(first)
    assert (both.n_in, both.n_out) == (4, 4)
    np.testing.assert_allclose(both.apply(X), second.apply(first.apply(X)), rtol=1e-12)
    weights = rng.normal(size=4)
    np.testing.assert_allclose(
        both.pull_back(weights, 0.5).decision(X), both.apply(X) @ weights + 0.5, rtol=1e-12
    )
