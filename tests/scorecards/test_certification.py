"""A card with proof against exact fractions, corner by corner, and against the machine at points in its cells."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

from clearmargin.datasets import load_cleveland, load_wbc
from clearmargin.exceptions import (
    ClearmarginWarning,
    DataError,
    InvalidValueError,
    NotLinearError,
)
from clearmargin.rules import Domain, FeatureSpace
from clearmargin.scorecards import CertifiedScorecard, ScoreRules


def _plane(X, coef, intercept):
    """A machine with given numbers."""
    y = np.arange(len(X)) % 2
    machine = LinearSVC(max_iter=1, tol=1e9).fit(X, y)
    machine.coef_, machine.intercept_ = np.array([coef], dtype=float), np.array([intercept])
    return machine, y


def _card(machine, X, y, **options) -> CertifiedScorecard:
    options = {"max_rules": 6, "n_generated": 50, **options}
    card = ScoreRules(machine, certify=True, **options).fit(X, y).scorecard_
    assert isinstance(card, CertifiedScorecard)
    return card


def _mixed(m: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, size=m),
            "job": rng.choice(["clerk", "farmer", "king", "smith"], size=m),
            "income": rng.normal(30.0, 9.0, size=m).round(2),
            "debt": rng.gamma(2.0, 3.0, size=m),
        }
    )
    score = X["age"] / 10 + 3 * (X["job"] == "smith") - X["income"] / 9 + X["debt"] / 4
    return X, np.where(score > score.median(), "yes", "no")


def _encode(numbers=("age", "income", "debt"), impute=False):
    number_steps = make_pipeline(SimpleImputer(), StandardScaler()) if impute else StandardScaler()
    return make_column_transformer(
        (number_steps, list(numbers)), (OneHotEncoder(handle_unknown="ignore"), ["job"])
    )


def _points_in_cells(card: CertifiedScorecard, m: int, seed: int = 0) -> np.ndarray:
    """Rows of numbers and codes inside of cells: at their ends, just beside them, and between."""
    rng = np.random.default_rng(seed)
    rows = np.empty((m, len(card.space)))
    for part in card.features:
        if part.cuts is None:
            rows[:, part.feature] = rng.choice([c for cell in part.sets for c in cell], size=m)
            continue
        low, high = card.space.lower[part.feature], card.space.upper[part.feature]
        ends = np.array([e for cell in part.ends(card.space) for e in cell[:2]])
        at = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
        inner = rng.uniform(low, high, size=m)
        values = np.where(rng.random(m) < 0.5, rng.choice(at, size=m), inner)
        if card.space.integer[part.feature]:
            values = np.rint(values)
        rows[:, part.feature] = np.clip(values, low, high)
    return rows


# Exact fractions, corner by corner.


def _exact_range(card, machine, cells) -> tuple[Fraction, Fraction]:
    """The lowest and the highest score over a box of cells, by brute force over its corners."""
    corners = product(
        *[card.features[k].ends(card.space)[cell][:2] for k, cell in enumerate(cells)]
    )
    weights = [Fraction(float(machine.coef_[0, part.feature])) for part in card.features]
    scores = [
        Fraction(float(machine.intercept_[0]))
        + sum((w * Fraction(x) for w, x in zip(weights, corner, strict=True)), Fraction(0))
        for corner in corners
    ]
    return min(scores), max(scores)


@given(
    coef=st.lists(st.floats(-9, 9).filter(lambda w: abs(w) > 1e-3), min_size=1, max_size=3),
    intercept=st.floats(-9, 9),
    whole=st.booleans(),
    cuts=st.integers(1, 5),
)
def test_what_the_points_prove_is_what_exact_fractions_prove(coef, intercept, whole, cuts):
    rng = np.random.default_rng(0)
    X = rng.uniform(-5, 5, size=(30, len(coef)))
    X = np.rint(X) if whole else X
    machine, y = _plane(X, coef, intercept)
    card = _card(machine, X, y, max_rules=cuts)
    unit, n = Fraction(card.unit), len(card.features) + 1
    for cells in product(*[range(part.n_cells) for part in card.features]):
        low, high = _exact_range(card, machine, cells)
        inside = [
            [part.ends(card.space)[c][0] for part, c in zip(card.features, cells, strict=True)]
        ]
        row = np.zeros((1, X.shape[1]))
        row[0, [part.feature for part in card.features]] = inside[0]
        (proved,) = card.prove(row).tolist()
        # Sound: no box of cells is proved that the plane meets.
        assert proved != 1 or low > 0
        assert proved != 0 or high <= 0
        # Tight: rounding outwards costs less than one point a feature and one for the threshold.
        assert proved == 1 or low <= n * unit
        assert proved == 0 or high > -n * unit


def test_ties_on_a_plane_of_whole_numbers_go_to_the_first_class_with_proof():
    X = np.array(list(product(range(5), repeat=2)), dtype=float)
    machine, y = _plane(X, [1.0, -1.0], 0.0)
    card = _card(machine, X, y, max_rules=8)
    expected = np.where(X[:, 0] > X[:, 1], 1, 0)
    assert card.prove(X).tolist() == expected.tolist() == machine.predict(X).tolist()


def test_a_machine_that_gives_ties_to_the_second_class_is_read_as_it_decides():
    X = np.arange(-3.0, 4.0)[:, None]
    machine = SVC(kernel="linear", C=100.0).fit([[-1.0], [1.0]], [0, 1])
    card = _card(machine, X, np.arange(7) % 2, max_rules=6)
    proved = card.prove(X)
    known = np.array([label is not None for label in proved])
    assert known.sum() >= 6
    assert (proved[known] == machine.predict(X)[known]).all()


def test_a_sum_in_floats_that_is_wrong_at_zero_proves_nothing_wrong():
    # 0.1 * 3 - 0.3 is 5.6e-17 in floats, and so the machine says the second class where the numbers are on the plane.
    X = np.array(list(product(range(5), repeat=2)), dtype=float)
    machine, y = _plane(X, [0.1, -0.3], 0.0)
    card = _card(machine, X, y, max_rules=8)
    proved = card.prove(X)
    known = np.array([label is not None for label in proved])
    assert (proved[known] == machine.predict(X)[known]).all()
    on_plane = X[:, 0] == 3 * X[:, 1]
    assert not known[on_plane].any()
    assert known[~on_plane].all()


# The machine at points inside of cells.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_point_inside_of_proved_cells_contradicts_the_machine(dtype):
    X, y = load_cleveland(return_X_y=True)
    X = X.to_numpy(dtype=dtype)
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    card = _card(machine, X, y, max_rules=40)
    rows = _points_in_cells(card, 20_000).astype(dtype)
    proved = card.prove(rows)
    known = np.array([label is not None for label in proved])
    assert known.mean() > 0.2
    assert (proved[known] == machine.predict(rows)[known]).all()


def test_no_point_with_categories_contradicts_the_machine():
    X, y = _mixed()
    machine = make_pipeline(_encode(), LinearSVC(random_state=0)).fit(X, y)
    card = _card(machine, X, y, max_rules=30)
    rows = _points_in_cells(card, 5_000)
    frame = pd.DataFrame(rows, columns=list(X))
    frame["job"] = np.array(card.space.categories[1])[rows[:, 1].astype(int)]
    proved = card.prove(frame)
    known = np.array([label is not None for label in proved])
    assert known.mean() > 0.5
    assert (proved[known] == machine.predict(frame)[known]).all()
    shuffled = frame[["debt", "job", "income", "age"]]
    assert (card.prove(shuffled) == proved).all()


@settings(max_examples=8)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-6, 1.0, 1e9]))
def test_offsets_and_units_of_columns_do_not_shake_the_proof(seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * scale + np.array([0.0, 1e6, -3.0]) * scale
    y = X[:, 0] + X[:, 1] > np.median(X[:, 0] + X[:, 1])
    machine = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    card = _card(machine, X, y, max_rules=12)
    rows = _points_in_cells(card, 300, seed)
    proved = card.prove(rows)
    known = np.array([label is not None for label in proved])
    assert (proved[known] == machine.predict(rows)[known]).all()


# Categories, whole numbers, missing values, domains.


def test_cells_of_whole_numbers_end_at_whole_numbers_and_between_them_nothing_is_proved():
    X = np.arange(20.0)[:, None]
    machine, y = _plane(X, [1.0], -9.5)
    card = _card(machine, X, y, max_rules=1)
    (part,) = card.features
    assert [cell[:2] for cell in part.ends(card.space)] == [(0.0, 9.0), (10.0, 19.0)]
    assert card.prove([[9.0], [9.5], [10.0]]).tolist() == [0, None, 1]


def test_a_category_alone_has_no_width_and_each_is_in_one_set():
    X, y = _mixed()
    machine = make_pipeline(_encode(), LinearSVC(random_state=0)).fit(X, y)
    card = _card(machine, X, y, max_rules=60)
    (job,) = [part for part in card.features if part.cuts is None]
    assert sorted(code for cell in job.sets for code in cell) == [0, 1, 2, 3]
    assert all(len(cell) == 1 for cell in job.sets)
    assert (job.at_most - job.at_least <= 1).all()


def test_an_imputed_missing_value_has_a_cell_of_its_own_where_values_are_missing():
    X, y = _mixed(200)
    X["age"] = X["age"].astype(float).where(np.arange(200) % 5 != 0)
    machine = make_pipeline(_encode(impute=True), LinearSVC(random_state=0)).fit(X, y)
    rules = ScoreRules(machine, max_rules=40, certify=True, n_generated=50).fit(X, y)
    card = rules.scorecard_
    age = next(part for part in card.features if card.space.names[part.feature] == "age")
    assert age.missing == age.n_cells
    assert age.at_most[-1] - age.at_least[-1] <= 1
    assert ("age", "missing") in [line[:2] for line in card.lines()]
    # The mean is no whole number, the ages are.
    assert all(float(c).is_integer() for c in age.cuts)
    proved = card.prove(X)
    known = np.array([label is not None for label in proved])
    missing = X["age"].isna().to_numpy()
    assert known[missing].mean() > 0.5
    assert (proved[known] == machine.predict(X)[known]).all()
    assert "age is missing" in str(rules.explain(X.iloc[0]))
    # Where no value was missing in training, a missing value is in the cell of the imputed one.
    income = next(part for part in card.features if card.space.names[part.feature] == "income")
    assert income.missing is not None
    assert income.missing < income.n_cells
    gaps = X.assign(income=np.nan)
    proved = card.prove(gaps)
    known = np.array([label is not None for label in proved])
    assert (proved[known] == machine.predict(gaps)[known]).all()


def test_a_single_case_without_its_category_is_explained():
    X, y = _mixed()
    X.loc[::4, "job"] = None
    rules = ScoreRules(make_pipeline(_encode(), LinearSVC(random_state=0)), certify=True).fit(X, y)
    told = rules.explain(X.iloc[0])
    assert told.outside == ("job is missing",)
    assert told.label == rules.predict(X.iloc[[0]])[0]


def test_nothing_is_proved_of_missing_values_that_nothing_imputes_nor_outside_of_the_ranges():
    X, y = _mixed()
    machine = make_pipeline(_encode(), LinearSVC(random_state=0)).fit(X, y)
    rules = ScoreRules(machine, max_rules=40, certify=True, n_generated=50).fit(X, y)
    card = rules.scorecard_
    rows = X[[label is not None for label in card.prove(X)]].iloc[:5]
    for column, value in (("age", np.nan), ("age", 81), ("income", np.inf), ("debt", -1e9)):
        assert card.prove(rows.assign(**{column: value})).tolist() == [None] * 5
    for value in ("queen", None):
        assert card.prove(rows.assign(job=value)).tolist() == [None] * 5
    far = rows.assign(age=100)
    assert (rules.predict(far) == machine.predict(far)).all()
    assert "age 100 is not within 20 to 79" in str(rules.explain(far.iloc[0]))
    assert "job has a category that the machine does not know" in str(
        rules.explain(rows.assign(job="queen").iloc[0])
    )


def test_declared_ranges_and_relations_are_what_the_card_speaks_of():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"low": rng.uniform(40, 90, 120), "high": rng.uniform(90, 180, 120)})
    X["idle"] = 1.0
    y = (X["low"] + X["high"] > 200).to_numpy()
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X[["low", "high"]], y)
    X = X[["low", "high"]]
    wide = _card(machine, X, y, max_rules=20, bounds={"low": (0, 150), "high": (0, 300)})
    assert wide.space.upper.tolist() == [150.0, 300.0]
    assert wide.prove([[120.0, 280.0]]).tolist() == [True]
    assert wide.prove([[151.0, 280.0]]).tolist() == [None]
    domain = Domain(
        FeatureSpace(["low", "high"], [0, 0], [150, 300]), True, True, (), "low <= high"
    )
    tied = _card(machine, X, y, max_rules=20, bounds=domain)
    assert tied.prove([[120.0, 280.0]]).tolist() == [True]
    assert tied.prove([[149.0, 140.0]]).tolist() == [None]
    assert "low - high <= 0" in str(tied)
    assert "not low - high <= 0" in str(tied.explain([149.0, 140.0]))
    assert CertifiedScorecard.from_dict(tied.to_dict()) == tied


def test_no_case_has_two_categories_of_a_declared_group():
    X = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 6, dtype=float)
    machine, y = _plane(X, [2.0, -1.0, 1.0], 0.0)
    domain = Domain(FeatureSpace(["x0", "x1", "x2"]), groups={"job": {"a": 0, "b": 1, "c": 2}})
    card = _card(machine, X, y, max_rules=9, bounds=domain)
    assert card.prove(X[:3]).tolist() == [1, 0, 1]
    assert card.prove([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]).tolist() == [None, None]
    tied = _card(machine, X, y, max_rules=9, bounds=domain.with_relations("x0 <= x2"))
    assert tied.prove(X[:3]).tolist() == [None, 0, 1]


def test_a_declared_range_counts_where_the_machine_has_no_weight():
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    machine, y = _plane(X, [1.0, 0.0], -9.5)
    free = _card(machine, X, y)
    assert free.prove([[15.0, 7.0]]).tolist() == [1]
    bound = _card(machine, X, y, bounds={"x1": (0, 2)})
    assert bound.prove([[15.0, 7.0], [15.0, 2.0]]).tolist() == [None, 1]


# The estimator.


def test_predict_gives_what_is_proved_and_asks_the_machine_between():
    X, y = load_wbc(return_X_y=True)
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X[::2], y[::2])
    rules = ScoreRules(machine, max_rules=10, certify=True).fit(X[::2], y[::2])
    proved = rules.scorecard_.prove(X)
    known = np.array([label is not None for label in proved])
    assert 0.5 < known.mean() < 1.0
    assert rules.proved_ == pytest.approx(known[::2].mean())
    assert (rules.predict(X) == machine.predict(X)).all()
    assert rules.fidelity_ == 1.0
    assert 0.0 <= rules.rounding_loss_ <= 0.01
    assert rules.scorecard_.n_rules <= 10
    assert ((rules.decision_function(X) > 0) == (machine.decision_function(X) > 0)).all()


def test_a_missing_value_is_refused_by_a_machine_that_takes_none_even_without_a_weight():
    X, y = load_wbc(return_X_y=True)
    rules = ScoreRules(certify=True, n_generated=50).fit(X, y)
    idle = next(
        j for j in range(9) if j not in {part.feature for part in rules.scorecard_.features}
    )
    gappy = X.astype(float)
    gappy.iloc[0, idle] = np.nan
    assert rules.scorecard_.prove(gappy)[0] == rules.scorecard_.prove(X)[0] is not None
    with pytest.raises(ValueError, match="NaN"):
        rules.predict(gappy)


def test_where_no_sparse_plane_beats_a_constant_one_the_default_is_a_dense_machine():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1], [20, 10])
    with pytest.warns(ClearmarginWarning, match="beats a constant one"):
        rules = ScoreRules(certify=True, n_generated=50).fit(X, y)
    assert type(rules.estimator_[-1]).__name__ == "LinearSVC"
    assert len(rules.scorecard_.features) == 2


def test_more_cuts_prove_more():
    X, y = load_cleveland(return_X_y=True)
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    shares = [
        ScoreRules(machine, max_rules=n, certify=True, n_generated=50).fit(X, y).proved_
        for n in (5, 20, 60)
    ]
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.9


def test_the_card_of_a_distilled_plane_says_its_fidelity_first():
    X, y = make_classification(200, 12, n_informative=6, random_state=0)
    machine = LogisticRegression().fit(X, y)
    options = {"max_rules": 20, "certify": True, "n_generated": 50}
    rules = ScoreRules(machine, max_features=4, **options).fit(X, y)
    card = rules.scorecard_
    assert len(card.features) <= 4
    first = str(card).split("proved")[0].replace("\n", " ")
    assert f"{100 * rules.distillation_.fidelity:.1f} %" in first
    assert "distilled" in first
    proved = card.prove(X)
    known = np.array([label is not None for label in proved])
    plane = rules.distillation_.plane
    assert (proved[known] == (plane.decision(X) > 0)[known]).all()
    predicted = rules.predict(X)
    assert (predicted[~known] == machine.predict(X)[~known]).all()
    assert rules.fidelity_ == pytest.approx((predicted == machine.predict(X)).mean())
    assert not hasattr(rules, "decision_function")
    whole = ScoreRules(machine, certify=True, max_features=12).fit(X, y)
    assert whole.distillation_ is None
    assert whole.scorecard_.about == ""


def test_a_card_does_not_depend_on_the_order_of_the_rows():
    X, y = load_cleveland(return_X_y=True)
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = (
        ScoreRules(machine, certify=True, n_generated=99).fit(X.iloc[rows], y.iloc[rows]).scorecard_
        for rows in (np.arange(len(X)), order)
    )
    assert one == other


def test_a_constant_machine_is_proved_everywhere():
    X = np.arange(6.0)[:, None]
    machine, y = _plane(X, [0.0], 2.0)
    rules = ScoreRules(machine, certify=True).fit(X, y)
    assert rules.scorecard_.prove([[1.0], [99.0]]).tolist() == [1, 1]
    assert rules.scorecard_.lines() == []


def test_a_fitted_card_can_be_pickled():
    X, y = _mixed()
    rules = ScoreRules(make_pipeline(_encode(), LinearSVC(random_state=0)), certify=True).fit(X, y)
    copied = pickle.loads(pickle.dumps(rules))
    assert copied.scorecard_ == rules.scorecard_
    assert (copied.predict(X) == rules.predict(X)).all()


def test_a_million_rows_are_proved_in_seconds():
    X, y = load_wbc(return_X_y=True)
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    card = _card(machine, X.to_numpy(dtype=float), y, max_rules=20)
    rows = np.tile(X.to_numpy(dtype=float), (1_000_000 // len(X) + 1, 1))
    proved = card.prove(rows)
    assert len(proved) > 1_000_000
    assert (proved[: len(X)] == card.prove(X)).all()


# Bad input.


@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        RandomForestClassifier(3),
        make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=500)),
    ],
)
def test_a_machine_that_is_not_linear_is_refused_with_what_to_use_instead(machine):
    X, y = make_classification(40, 4, random_state=0)
    with pytest.raises(
        NotLinearError, match=r"needs a linear machine\. ScoreRules\(certify=False\)"
    ):
        ScoreRules(machine, certify=True).fit(X, y)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_features": 3}, r"ScoreRules\(certify=True, max_features=3\)"),
        ({"bounds": (0, 1)}, "bounds are for cards with proof"),
        ({"certify": True, "max_features": 0}, "max_features"),
        ({"certify": True, "bounds": "all"}, "bounds must be 'data'"),
        ({"certify": True, "bounds": {"y": (0, 1)}}, "bounds for unknown feature 'y'"),
    ],
)
def test_options_that_make_no_sense_are_named(options, said):
    X, y = make_classification(40, 4, random_state=0)
    with pytest.raises(InvalidValueError, match=said):
        ScoreRules(LinearSVC(), **options).fit(X, y)


def test_relations_that_no_row_can_satisfy_are_refused():
    X, y = make_classification(40, 2, n_redundant=0, random_state=0)
    names = FeatureSpace(["x0", "x1"])
    with pytest.raises(DataError, match="no case satisfies the relations"):
        ScoreRules(LinearSVC(), certify=True, bounds=Domain(names, relations="x0 >= 99")).fit(X, y)


def test_large_values_and_small_weights_have_a_unit():
    X = np.linspace(-1e150, 1e150, 30)[:, None]
    machine, y = _plane(X, [1e-150], 0.0)
    card = _card(machine, X, y, max_rules=3)
    assert math.isfinite(card.unit)
    assert card.prove([[9e149], [-9e149]]).tolist() == [1, 0]


def test_nothing_is_proved_without_a_category_where_only_its_absence_has_a_weight():
    X, y = _mixed()
    X.loc[::3, "job"] = None
    machine = make_pipeline(_encode(), LinearSVC(random_state=0)).fit(X, y)
    *_, missing = machine[0].get_feature_names_out()
    assert missing.endswith(("None", "nan"))
    # As a 1-norm leaves it: the jobs have no weight, and not to have one has much.
    machine[-1].coef_[0, 3:7], machine[-1].coef_[0, 7] = 0.0, 5.0
    card = _card(machine, X, y, max_rules=20)
    proved, predicted = card.prove(X), machine.predict(X)
    assert not proved[X["job"].isna()].any()
    known = np.array([label is not None for label in proved])
    assert known.sum() > 30
    assert (proved[known] == predicted[known]).all()
    assert card.conditions() == "Proved where, besides, job is a known category."


def test_a_column_without_any_value_that_has_a_weight_leaves_nothing_to_prove():
    X, y = _mixed()
    X["job"] = pd.Series([None] * len(X), dtype=object)
    machine = make_pipeline(_encode(), LinearSVC(random_state=0)).fit(X, y)
    for job in (X["job"], pd.Categorical(X["job"], categories=["clerk"])):
        with pytest.raises(DataError, match="every row of X has a missing value"):
            ScoreRules(machine, certify=True).fit(X.assign(job=job), y)


def test_an_infinity_is_named_and_not_the_texts_that_the_machine_encodes():
    X, y = _mixed()
    X.loc[3, "income"] = np.inf
    with pytest.raises(DataError, match=r"infinity .* in row 4, column 'income'"):
        ScoreRules(make_pipeline(_encode(), LinearSVC(random_state=0)), certify=True).fit(X, y)
