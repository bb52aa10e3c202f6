from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.svm_trees.grow import EcmPartition, KMeansPartition, ecm_centres


def ecm_by_the_letter(points, threshold):
    """The steps of Kasabov and Song, one point after the other."""
    norm = math.sqrt(points.shape[1])
    centres, radii = [points[0].copy()], [0.0]
    for x in points[1:]:
        distance = [float(np.linalg.norm(x - c)) / norm for c in centres]
        if any(d <= r for d, r in zip(distance, radii, strict=True)):
            continue
        reach = [d + r for d, r in zip(distance, radii, strict=True)]
        a = reach.index(min(reach))
        if reach[a] > 2 * threshold:
            centres.append(x.copy())
            radii.append(0.0)
        else:
            radii[a] = reach[a] / 2
            centres[a] = x + (centres[a] - x) * radii[a] / distance[a]
    return np.array(centres), np.array(radii)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.01, 0.9), st.integers(1, 700))
def test_ecm_does_what_its_steps_say(seed, n, threshold, m):
    points = np.random.default_rng(seed).random((m, n))
    centres, radii = ecm_centres(points, threshold)
    expected = ecm_by_the_letter(points, threshold)
    assert centres.shape == expected[0].shape
    np.testing.assert_allclose(centres, expected[0], atol=1e-12)
    np.testing.assert_allclose(radii, expected[1], atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.9))
def test_no_cluster_is_wider_than_the_threshold_and_each_point_is_in_one(seed, threshold):
    points = np.random.default_rng(seed).random((300, 2))
    centres, radii = ecm_centres(points, threshold)
    assert (radii <= threshold * (1 + 1e-12)).all()
    distances = np.sqrt(((points[:, None] - centres) ** 2).sum(axis=2) / 2)
    assert (distances <= radii + 1e-12).any(axis=1).all()


def test_equal_points_are_one_cluster():
    centres, radii = ecm_centres(np.full((600, 3), 0.25), 0.1)
    assert centres.tolist() == [[0.25, 0.25, 0.25]]
    assert radii.tolist() == [0.0]


def test_the_scale_of_ecm_falls_by_a_tenth_and_is_halved_where_nothing_would_be_left():
    scales, partition = [], EcmPartition(0.9)
    for _ in range(12):
        scales.append(partition.scale)
        partition = partition.refined()
    assert scales[:9] == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    assert scales[9:] == [0.05, 0.025, 0.0125]


def test_the_scale_of_k_means_grows_by_half():
    scales, partition = [], KMeansPartition(2)
    for _ in range(6):
        scales.append(partition.scale)
        partition = partition.refined()
    assert scales == [2, 3, 5, 8, 12, 18]
    assert KMeansPartition(1).refined().scale == 2


def test_no_partition_is_finer_than_single_points():
    points = np.array([[0.0], [0.0], [0.5], [1.0]])
    rng = np.random.RandomState(0)
    assert KMeansPartition(3).centres(points, 3, rng) is None
    assert len(KMeansPartition(2).centres(points, 3, rng)) == 2
    assert EcmPartition(1e-4).centres(points, 3) is None
    assert EcmPartition(0.01).centres(points, 3) is None
    assert len(EcmPartition(0.3).centres(points, 3)) == 2


def test_k_means_finds_the_groups_and_no_fewer_when_points_nearly_coincide():
    groups = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 50, axis=0)
    points = groups + np.random.default_rng(0).normal(0, 0.01, groups.shape)
    centres = KMeansPartition(3).centres(points, len(points), np.random.RandomState(0))
    found = centres[np.lexsort(centres.round(1).T)]
    np.testing.assert_allclose(found, [[0, 0], [1, 0], [0, 1]], atol=0.01)
    # Points that differ in the last bit may end in one cluster; that is no reason for a warning.
    twins = np.array([[0.5], [np.nextafter(0.5, 1)], [0.0], [1.0]])
    assert len(KMeansPartition(3).centres(twins, 4, np.random.RandomState(0))) == 3


@pytest.mark.parametrize("m", [255, 256, 257, 513])
def test_blocks_of_points_leave_no_seam(m):
    points = np.random.default_rng(m).random((m, 2))
    np.testing.assert_allclose(
        ecm_centres(points, 0.07)[0], ecm_by_the_letter(points, 0.07)[0], atol=1e-12
    )
