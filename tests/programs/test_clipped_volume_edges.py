"""Volumes of boxes and planes that are degenerate, and of what cannot be measured."""

from __future__ import annotations

import math
import pickle

import pytest

from clearmargin.exceptions import InvalidValueError
from clearmargin.plane_rules.clipped_volume import Volume, clipped_share, clipped_volume


class TestDegenerate:
    def test_a_feature_without_weight_only_widens_the_box(self):
        assert clipped_volume([1.0, 0.0], 0.5, 0.0, [1.0, 6.0]).value == 3.0
        assert clipped_share([1.0, 0.0], 0.5, 0.0, [1.0, 6.0]).value == 0.5

    def test_a_feature_without_width_is_a_constant_of_the_share(self):
        assert clipped_volume([1.0, 2.0], 1.5, [0.0, 0.5], [1.0, 0.5]).value == 0.0
        assert clipped_share([1.0, 2.0], 1.5, [0.0, 0.5], [1.0, 0.5]).value == 0.5

    @pytest.mark.parametrize(("g", "share"), [(0.0, 0.0), (1e-300, 1.0), (-1.0, 0.0)])
    def test_a_plane_without_weights_takes_all_or_nothing(self, g, share):
        assert clipped_share([0.0, 0.0], g, 0.0, 1.0) == Volume(share, share, "exact")
        assert clipped_volume([0.0, 0.0], g, 0.0, 2.0).value == 4.0 * share

    def test_a_single_point_is_on_one_side_or_not(self):
        assert clipped_share([1.0], 2.0, [1.0], [1.0]).value == 1.0
        assert clipped_share([1.0], 1.0, [1.0], [1.0]).value == 0.0

    def test_a_plane_that_misses_the_box_takes_all_or_nothing(self):
        assert clipped_volume([1.0, -1.0], -1.0, 0.0, 1.0) == Volume(0.0, 0.0, "exact")
        assert clipped_volume([1.0, -1.0], 1.0, 0.0, 1.0) == Volume(1.0, 1.0, "exact")

    def test_no_features_at_all_are_one_point(self):
        assert clipped_volume([], 1.0, [], []).value == 1.0

    def test_an_empty_box_has_no_volume(self):
        assert clipped_volume([1.0, 1.0], 9.0, [0.0, 2.0], [1.0, 1.0]) == Volume(0.0, 0.0, "exact")

    def test_a_free_side_without_weight_makes_the_volume_infinite(self):
        free = [0.0, -math.inf], [1.0, math.inf]
        assert clipped_volume([1.0, 0.0], 0.5, *free) == Volume(math.inf, math.inf, "exact")
        assert clipped_volume([1.0, 0.0], 0.5, *free).value == math.inf
        assert clipped_volume([1.0, 0.0], -1.0, *free) == Volume(0.0, 0.0, "exact")
        assert clipped_share([1.0, 0.0], 0.5, *free).value == 0.5

    def test_a_volume_is_a_value(self):
        volume = clipped_share([1.0, 2.0, 3.0], 1.0, 0.0, 1.0)
        assert pickle.loads(pickle.dumps(volume)) == volume
        assert volume.low < volume.high  # 1/36 is no float
        assert volume.is_exact
        assert not Volume(0.1, 0.2, "bracket").is_exact


BAD = [
    (([[1.0]], 1.0, 0.0, 1.0), "one row of numbers, not shape"),
    ((["a"], 1.0, 0.0, 1.0), "the weights of the plane must be numbers"),
    (([1.0, math.nan], 1.0, 0.0, 1.0), "must not be NaN"),
    (([1.0, math.inf], 1.0, 0.0, 1.0), "must be finite"),
    (([1.0], math.inf, 0.0, 1.0), "its threshold g must be finite"),
    (([1.0], "1", 0.0, 1.0), "the threshold g must be a number"),
    (([1.0, 1.0], 1.0, [0.0], 1.0), "the lower bounds of the box has shape"),
    (([1.0, 1.0], 1.0, 0.0, [1.0] * 3), "the upper bounds of the box has shape"),
    (([0.0], 1.0, math.inf, math.inf), "cannot start at inf"),
    (
        ([1.0, -2.0], 1.0, 0.0, [1.0, math.inf]),
        "feature 1 has weight -2.0 but goes from 0.0 to inf",
    ),
    (([3.0, 0.0], 1.0, -math.inf, 1.0), "feature 0 has weight 3.0 but goes from -inf to 1.0"),
]


@pytest.mark.parametrize(("problem", "message"), BAD)
@pytest.mark.parametrize("measure", [clipped_volume, clipped_share])
def test_what_cannot_be_measured_is_refused(measure, problem, message):
    with pytest.raises(InvalidValueError, match=message):
        measure(*problem)


def test_an_empty_box_has_no_shares():
    with pytest.raises(InvalidValueError, match=r"feature 1 starts at 2\.0 and ends at 1\.0"):
        clipped_share([1.0, 1.0], 9.0, [0.0, 2.0], [1.0, 1.0])
