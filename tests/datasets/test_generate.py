"""Random data sets: properties, reproducibility, parameters refused."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.datasets import make_imbalanced, make_votes
from clearmargin.exceptions import InvalidValueError, MissingDependencyError

SEEDS = st.integers(0, 2**32 - 1)
IMBALANCED_FIRST_ROW = [-1.3692333381662378, 1.6755244321437794]
IMBALANCED_FIRST_LABELS = "11111121111111111111"
VOTES_FIRST_ROW = [-1, 1, 1, -1, 1, 1, 1, 1, 1, 1, 1]
VOTES_FIRST_LABELS = [1, 1, -1, -1, -1, 1, 1, -1, 1, -1]
GENERATORS = pytest.mark.parametrize("make", [make_imbalanced, make_votes])


@given(
    seed=SEEDS,
    n_samples=st.integers(1, 60),
    n_features=st.integers(1, 15),
    data=st.data(),
)
@settings(deadline=None, max_examples=50)
def test_the_label_of_votes_is_the_majority_of_the_informative_features(
    seed, n_samples, n_features, data
):
    n_informative = 2 * data.draw(st.integers(0, (n_features - 1) // 2)) + 1
    X, y = make_votes(n_samples, n_features, n_informative, random_state=seed)
    assert X.shape == (n_samples, n_features)
    assert np.isin(X, (-1.0, 1.0)).all()
    yes = (X[:, :n_informative] == 1).sum(axis=1)
    assert np.array_equal(y, np.where(2 * yes > n_informative, 1, -1))


@given(seed=SEEDS, flip=st.floats(0, 1))
@settings(deadline=None, max_examples=50)
def test_flip_turns_exactly_its_share_of_labels_and_leaves_the_votes(seed, flip):
    X, y = make_votes(200, 9, 5, random_state=seed)
    X_flipped, y_flipped = make_votes(200, 9, 5, flip=flip, random_state=seed)
    assert np.array_equal(X, X_flipped)
    assert (y != y_flipped).sum() == round(200 * flip)


def test_votes_are_fair_and_independent_by_default():
    X, y = make_votes(random_state=0)
    assert X.shape == (1000, 50)
    # Bounds of 5 standard deviations of a mean of 1000 fair votes (1 / sqrt(1000) = 0.032).
    assert np.abs(X.mean(axis=0)).max() < 0.16
    assert np.abs(np.corrcoef(X.T) - np.eye(50)).max() < 0.16
    assert abs(y.mean()) < 0.16
    correlation = X.T @ y / len(y)
    assert correlation[:11].min() > correlation[11:].max()


@given(seed=SEEDS, n_samples=st.integers(40, 400), imbalance=st.floats(1, 30))
@settings(deadline=None, max_examples=50)
def test_the_small_class_has_its_share_of_the_rows(seed, n_samples, imbalance):
    X, y = make_imbalanced(n_samples, imbalance=imbalance, random_state=seed)
    assert X.shape == (n_samples, 2)
    assert set(y) == {"class_1", "class_2"}
    small = (y == "class_2").sum()
    assert small == math.floor(n_samples / (1 + imbalance))
    assert (n_samples - small) / small >= imbalance * (1 - 1e-12)


def test_by_default_168_rows_face_16_as_the_papers_accuracy_implies():
    _, y = make_imbalanced(random_state=0)
    assert (sum(y == "class_1"), sum(y == "class_2")) == (168, 16)
    assert round(np.mean(y == "class_1"), 3) == 0.913


def test_the_clouds_lie_where_the_docstring_says():
    X, y = make_imbalanced(110_000, random_state=0)
    large, small = X[y == "class_1"], X[y == "class_2"]
    # 5 standard errors: 1.5 / sqrt(100000) = 0.005 and 0.7 / sqrt(10000) = 0.007.
    np.testing.assert_allclose(large.mean(axis=0), [0, 0], atol=0.025)
    np.testing.assert_allclose(small.mean(axis=0), [-2.5, 0.5], atol=0.035)
    np.testing.assert_allclose(large.std(axis=0), 1.5, rtol=0.02)
    np.testing.assert_allclose(small.std(axis=0), 0.7, rtol=0.05)


def test_the_rows_of_the_small_class_are_scattered():
    _, y = make_imbalanced(random_state=0)
    positions = np.flatnonzero(y == "class_2")
    assert positions.min() < 92 < positions.max()


@GENERATORS
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(make):
    X, y = make(random_state=7)
    X_again, y_again = make(random_state=7)
    X_other, _ = make(random_state=8)
    assert np.array_equal(X, X_again)
    assert np.array_equal(y, y_again)
    assert not np.array_equal(X, X_other)


@GENERATORS
def test_a_random_state_object_moves_on_from_call_to_call(make):
    state = np.random.RandomState(7)
    first, _ = make(random_state=state)
    second, _ = make(random_state=state)
    assert np.array_equal(first, make(random_state=7)[0])
    assert not np.array_equal(first, second)


def test_the_rows_of_seed_0_stay_what_they_are():
    X, y = make_imbalanced(random_state=0)
    np.testing.assert_allclose(X[0], IMBALANCED_FIRST_ROW, rtol=1e-12)
    assert "".join(label[-1] for label in y[:20]) == IMBALANCED_FIRST_LABELS
    votes, majority = make_votes(random_state=0)
    assert votes[0, :11].astype(int).tolist() == VOTES_FIRST_ROW
    assert majority[:10].tolist() == VOTES_FIRST_LABELS


@GENERATORS
def test_frames_have_named_columns_and_the_values_of_the_arrays(make):
    X, y = make(random_state=1)
    frame, target = make(random_state=1, as_frame=True)
    assert list(frame.columns) == [f"x{j}" for j in range(1, X.shape[1] + 1)]
    np.testing.assert_array_equal(frame.to_numpy(np.float64), X)
    assert target.tolist() == y.tolist()
    assert target.name == "target"


@GENERATORS
def test_a_bunch_names_the_classes_in_sorted_order_and_cites_the_paper(make):
    bunch = make(random_state=1, return_X_y=False)
    assert bunch.target_names == [str(label) for label in np.unique(bunch.target)]
    assert "Citation: " in bunch.DESCR
    assert "section" in bunch.citation
    assert bunch.frame is None
    assert set(bunch.units.values()) == {None}


@GENERATORS
def test_arrays_need_no_pandas_and_frames_do(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    X, y = make(random_state=1)
    assert len(X) == len(y)
    with pytest.raises(MissingDependencyError, match="as_frame=True needs pandas"):
        make(random_state=1, as_frame=True)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (make_votes, {"n_samples": 0}, "n_samples = 0; it must be an integer of at least 1"),
        (make_votes, {"n_samples": 2.5}, "n_samples = 2.5; it must be an integer"),
        (make_votes, {"n_samples": True}, "n_samples = True; it must be an integer"),
        (make_votes, {"n_features": "50"}, "n_features = '50'; it must be an integer"),
        (make_votes, {"n_informative": 10}, "n_informative = 10; it must be odd"),
        (make_votes, {"n_informative": -1}, "n_informative = -1; it must be an integer"),
        (make_votes, {"n_features": 9}, "n_informative = 11; .* at most n_features = 9"),
        (make_votes, {"flip": -0.1}, "flip = -0.1; it must be a finite number from 0 to 1"),
        (make_votes, {"flip": 1.5}, "flip = 1.5; it must be a finite number from 0 to 1"),
        (make_votes, {"flip": math.nan}, "flip = nan; it must be a finite number from 0 to 1"),
        (make_votes, {"flip": "some"}, "flip = 'some'; it must be a finite number"),
        (make_votes, {"flip": True}, "flip = True; it must be a finite number"),
        (make_votes, {"random_state": "a"}, "random_state = 'a'; it must be None, an integer"),
        (make_votes, {"random_state": -1}, "random_state = -1; it must be None, an integer"),
        (make_imbalanced, {"n_samples": -3}, "n_samples = -3; it must be an integer"),
        (make_imbalanced, {"n_samples": 10}, "n_samples = 10 leaves no row .* at least 11"),
        (make_imbalanced, {"imbalance": 0.5}, "imbalance = 0.5; .* finite number of at least 1"),
        (make_imbalanced, {"imbalance": math.inf}, "imbalance = inf; it must be a finite number"),
        (make_imbalanced, {"imbalance": None}, "imbalance = None; it must be a finite number"),
        (make_imbalanced, {"random_state": 1.5}, "random_state = 1.5; it must be None"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(make, parameters, message):
    with pytest.raises(InvalidValueError, match=message):
        make(**parameters)


def test_the_smallest_sizes_work():
    X, y = make_votes(1, 1, 1, random_state=0)
    assert X[0, 0] == y[0]
    _, labels = make_imbalanced(11, random_state=0)
    assert sorted(labels) == ["class_1"] * 10 + ["class_2"]
