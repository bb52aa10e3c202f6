from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from clearmargin.svm_trees.grow import LocalSVM, fit_duels, fit_pair, is_settled
from clearmargin.svm_trees.svm_tree import TrainingRange

UNIT = TrainingRange(np.zeros(2), np.ones(2))


def blown_up(points, positive, C):
    """The same machine on points brought to radius 1: x -> x / R goes with C -> C R^2."""
    mean = points.mean(axis=0)
    radius = np.sqrt(((points - mean) ** 2).sum(axis=1)).max()
    machine = SVC(kernel="linear", C=C * radius**2, tol=1e-8).fit(
        (points - mean) / radius, positive
    )
    return lambda x: machine.decision_function((x - mean) / radius)


@pytest.mark.parametrize("radius", [1e-1, 1e-2, 1e-4, 1e-6])
def test_a_tiny_cell_away_from_the_origin_is_decided_by_geometry_and_not_by_noise(radius):
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(1, 4))
        points = np.array([0.7, 0.9]) + radius * rng.uniform(-0.5, 0.5, (2 * n, 2))
        codes = np.repeat([0, 1], n)
        duels = fit_duels(points, codes, UNIT, LocalSVM(0.1))
        decide = blown_up(points, codes == 1, C=0.1)
        values = (points * duels.normals[0]).sum(axis=1) - duels.offsets[0]
        clear = np.abs(decide(points)) > 1e-9 * radius**2
        assert ((values > 0) == (decide(points) > 0))[clear].all()
        assert len(duels.support) == 2 * n


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.7), st.sampled_from([0.05, 0.1, 1.0]))
def test_where_counts_differ_and_the_lemma_holds_the_machine_says_the_larger_class(seed, size, C):
    rng = np.random.default_rng(seed)
    few, many = 1, int(rng.integers(2, 12))
    points = size * rng.random((few + many, 2))
    points -= points.mean(axis=0)
    positive = np.arange(few + many) < few
    radius = (points**2).sum(axis=1).max()
    if is_settled(np.array(few), radius, C):
        w, intercept, _ = fit_pair(points, positive, np.full(len(points), C))
        assert (points @ w + intercept < 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_where_counts_are_equal_the_closed_form_is_the_machine(seed, n):
    rng = np.random.default_rng(seed)
    points = 0.5 * rng.random((2 * n, 3))
    points -= points.mean(axis=0)
    positive = rng.permutation(np.arange(2 * n) < n)
    if is_settled(np.array(n), (points**2).sum(axis=1).max(), 0.1):
        w, intercept, support = fit_pair(points, positive, np.full(len(points), 0.1))
        machine = SVC(kernel="linear", C=0.1, tol=1e-6).fit(points, positive)
        np.testing.assert_allclose(w, machine.coef_[0], atol=1e-6)
        np.testing.assert_allclose(intercept, machine.intercept_[0], atol=1e-6)
        assert len(support) == 2 * n


def test_the_plane_is_in_the_units_of_the_user():
    rng = np.random.default_rng(3)
    points = rng.uniform([100.0, -3.0], [900.0, -2.0], (60, 2))
    frame = TrainingRange.from_points(points)
    codes = (frame.scale(points) @ [1.0, 2.0] > 1.5).astype(int)
    duels = fit_duels(points, codes, frame, LocalSVM(100.0))
    machine = SVC(kernel="linear", C=100.0).fit(frame.scale(points), codes)
    ours = points @ duels.normals[0] > duels.offsets[0]
    assert (ours == machine.predict(frame.scale(points))).all()
    assert np.abs(duels.normals).max() == 1.0


def test_each_pair_of_classes_has_its_own_machine():
    points = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [0.2, 0.2]])
    duels = fit_duels(points, np.array([4, 0, 2, 0]), UNIT, LocalSVM(1.0))
    assert duels.pairs.tolist() == [[0, 2], [0, 4], [2, 4]]
    assert duels.normals.shape == (3, 2)


def test_equal_points_of_two_classes_have_no_direction():
    points = np.full((4, 2), 0.3)
    duels = fit_duels(points, np.array([0, 0, 1, 1]), UNIT, LocalSVM(0.1))
    assert not duels.normals.any()
    assert duels.offsets[0] > 0  # the first class, as on any plane
