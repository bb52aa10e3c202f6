"""A plane distilled to few features, beside choices and counts that are made in another way."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.lp_svm import LPSVC
from clearmargin.models.surface import Duel, Surface, read_surface
from clearmargin.rule_base.distillation import distil
from clearmargin.rules import FeatureSpace, Hyperplane
from clearmargin.tables.encoding import Source


def plane_over(weights, intercept=0.0):
    names = [f"x{k}" for k in range(len(weights))]
    space = FeatureSpace(names)
    sources = tuple(Source(k, None) for k in range(len(weights)))
    duel = Duel(1, 0, Hyperplane(weights, intercept))
    return Surface(space, sources, space, ("no", "yes"), (duel,), is_partition=True)


def agreement(surface, plane, points):
    return np.mean((surface.hyperplane.decision(points) > 0) == (plane.decision(points) > 0))


def test_the_features_are_those_of_the_best_pair_of_all():
    weights = np.array([0.3, 2.0, -0.2, 0.1, -1.5, 0.25])
    surface = plane_over(weights, 0.2)
    points = np.random.default_rng(0).normal(size=(400, 6))
    distilled = distil(surface, points, 2)
    labels = surface.hyperplane.decision(points) > 0
    best = max(
        combinations(range(6), 2),
        key=lambda pair: LPSVC().fit(points[:, pair], labels).score(points[:, pair], labels),
    )
    assert distilled.features == tuple(f"x{k}" for k in best)
    assert distilled.plane.active == best


def test_the_fidelity_is_what_other_rows_show():
    rng = np.random.default_rng(1)
    surface = plane_over(rng.normal(size=12))
    points, others = rng.normal(size=(600, 12)), rng.normal(size=(20_000, 12))
    distilled = distil(surface, points, 5)
    assert distilled.held_out_rows == distilled.rows == 600
    assert distilled.training_fidelity == agreement(surface, distilled.plane, points)
    assert distilled.fidelity == pytest.approx(
        agreement(surface, distilled.plane, others), abs=0.03
    )


def test_neither_the_order_of_rows_nor_rows_given_twice_change_anything():
    rng = np.random.default_rng(2)
    surface, points = plane_over(rng.normal(size=9)), rng.normal(size=(200, 9))
    once = distil(surface, points, 4)
    shuffled = distil(surface, points[rng.permutation(200)], 4)
    assert shuffled.plane == once.plane
    assert shuffled.to_dict() == once.to_dict()
    twice = distil(surface, np.vstack([points, points]), 4)
    assert twice.features == once.features
    # Equal rows are held out together.
    assert twice.held_out_agreed % 2 == 0


def test_of_equal_columns_the_first_is_chosen():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(300, 6))
    points[:, 4] = points[:, 1]
    distilled = distil(plane_over([0.2, 1.0, 0.1, 0.2, 1.0, 0.3]), points, 1)
    assert distilled.features == ("x1",)


def test_a_categorical_feature_counts_once():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Ulm", "Bonn", "Kiel", "Trier"], size=400),
            "age": rng.normal(40, 10, size=400),
            "height": rng.normal(170, 8, size=400),
            "shoes": rng.choice(["brown", "black"], size=400),
        }
    )
    effect = frame["town"].map({"Ulm": 2.0, "Bonn": -2.0, "Kiel": 1.0, "Trier": -1.0})
    y = effect + (frame["age"] - 40) / 5 + rng.normal(size=400) > 0
    encoder = make_column_transformer(
        (OneHotEncoder(), ["town", "shoes"]), (StandardScaler(), ["age", "height"])
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=2_000)).fit(frame, y)
    surface = read_surface(model, frame)
    assert surface.count_features() == 4
    distilled = distil(surface, surface.encode(frame), 2)
    assert distilled.features == ("town", "age")
    assert len(distilled.plane.active) > 2
    assert distilled.fidelity > 0.9


def test_a_plane_with_few_features_stays_as_it_is():
    surface = plane_over([1.0, 0.0, -2.0], 0.5)
    distilled = distil(surface, np.random.default_rng(5).normal(size=(50, 3)), 2)
    assert distilled.plane == surface.hyperplane
    assert distilled.features == ("x0", "x2")
    assert distilled.fidelity == distilled.training_fidelity == 1.0


def test_the_units_of_the_table_make_no_difference():
    rng = np.random.default_rng(6)
    points, weights = rng.normal(size=(300, 8)), rng.normal(size=8)
    units = np.exp2(rng.integers(-20, 20, size=8))
    plain = distil(plane_over(weights), points, 3)
    other = distil(plane_over(weights / units), points * units, 3)
    assert other.features == plain.features
    np.testing.assert_allclose(other.plane.coef * units, plain.plane.coef, rtol=1e-9)


def test_rows_far_from_the_plane_do_not_choose_the_features():
    rng = np.random.default_rng(7)
    points = rng.normal(size=(500, 6))
    points[:, 5] = 0.0
    points[:3, 5] = 200.0
    surface = plane_over([1.0, -1.0, 0.1, 0.1, 0.1, 1.0])
    assert distil(surface, points, 2).features == ("x0", "x1")


def test_it_says_the_fidelity_first():
    distilled = distil(
        plane_over([1.0, 0.5, 0.1]), np.random.default_rng(8).normal(size=(100, 3)), 1
    )
    said = str(distilled)
    assert said.startswith(
        f"a plane that agrees with the model on {100 * distilled.fidelity:.1f} %"
    )
    assert said.endswith("distilled from the 3 features of the model to 1: x0")


def test_too_few_rows_to_hold_any_out_are_said():
    distilled = distil(
        plane_over([1.0, 0.5]), np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 1.0], [-3.0, 0.5]]), 1
    )
    assert distilled.held_out_rows == 0
    assert np.isnan(distilled.fidelity)
    assert distilled.to_dict()["fidelity"] is None
    assert str(distilled).startswith("a plane that agrees with the model on 4 of 4 training rows")


def test_more_than_two_classes_are_refused():
    X = np.random.default_rng(9).normal(size=(60, 4))
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, np.arange(60) % 3)
    surface = read_surface(model, X)
    with pytest.raises(InvalidValueError, match="two classes, and the model has 3"):
        distil(surface, surface.encode(X), 2)


def test_rows_of_one_class_are_refused():
    with pytest.raises(DataError, match="predicts the same class for all rows"):
        distil(plane_over([1.0, 2.0, 3.0]), np.ones((20, 3)), 2)
