"""The benchmark of certificates: its own decision function, its attack on proved boxes, and its table."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmarks.certificate_check import Scores, contradictions, corner_rows, random_rows
from benchmarks.certificate_problems import Problem, load_problems
from benchmarks.certificates import KERNELS, Case, Plan, Row, to_section
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks import certificates
from clearmargin.kernel_rules import certify
from clearmargin.rules import Box, FeatureSpace


def rings(rows=80, seed=0):
    """Points near the middle and around it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-2, 2, (rows, 3)), columns=["a", "b", "c"])
    return X, pd.Series(np.where((X**2).sum(axis=1) < 3.5, "in", "out"))


def fitted(kernel):
    X, y = rings()
    return make_pipeline(StandardScaler(), SVC(**KERNELS[kernel])).fit(X, y), X


class Plane:
    """A linear machine at the end of a pipeline that leaves columns as they are."""

    def __init__(self, weights, intercept):
        self.coef_, self.intercept_ = np.array([weights]), np.array([intercept])

    def __getitem__(self, part):
        return self if part == -1 else SimpleNamespace(transform=lambda table: table.to_numpy())


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_decision_function_written_out_is_that_of_scikit_learn(kernel):
    model, X = fitted(kernel)
    scores = Scores(model)
    np.testing.assert_allclose(
        scores.values(scores.encode(X)), model.decision_function(X), atol=1e-9
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_slopes_are_differences_of_values(kernel):
    model, X = fitted(kernel)
    scores = Scores(model)
    Z = scores.encode(X.iloc[:5])
    slopes = scores.slopes(Z)
    for j in range(Z.shape[1]):
        step = np.zeros(Z.shape[1])
        step[j] = 1e-6
        expected = (scores.values(Z + step) - scores.values(Z - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, j], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_box_with_both_classes_is_refuted(kernel):
    model, X = fitted(kernel)
    box, space = Box(X.min(), X.max()), FeatureSpace.from_data(X)
    assert len(set(model.predict(X))) == 2
    for sign in (-1, 1):
        tried, wrong = contradictions(
            Scores(model), box, space, sign, np.random.default_rng(0), 500
        )
        assert tried > 500
        assert wrong > 0


def test_a_proved_box_is_not_refuted_and_a_little_more_is():
    model, X = fitted("rbf")
    space = FeatureSpace.from_data(X)
    small, large = (Box([-h] * 3, [h] * 3) for h in (0.4, 1.9))
    label = model.predict(pd.DataFrame([[0.0] * 3], columns=X.columns))[0]
    assert certify(model, small, label).is_proved
    sign = 1 if label == model.classes_[1] else -1
    for box, refuted in ((small, False), (large, True)):
        _, wrong = contradictions(Scores(model), box, space, sign, np.random.default_rng(0), 300)
        assert (wrong > 0) == refuted


def test_descent_finds_the_one_corner_that_random_points_miss():
    # Positive but for the corner of ones, of 2^20 corners.
    n = 20
    scores = Scores(Plane([-1.0] * n, n - 0.5))
    space = FeatureSpace([f"x{j}" for j in range(n)], np.zeros(n), np.ones(n))
    rng = np.random.default_rng(0)
    box = Box(np.zeros(n), np.ones(n))
    rows = np.vstack([random_rows(box, space, rng, 1000), corner_rows(box, space, rng)])
    assert (scores.values(rows) > 0).all()
    assert contradictions(scores, box, space, 1, np.random.default_rng(0), 1000)[1] > 0
    near = Box(np.zeros(n), np.full(n, 0.97))
    assert contradictions(scores, near, space, 1, np.random.default_rng(0), 1000)[1] == 0


def test_points_tried_lie_in_the_box():
    space = FeatureSpace(
        ["a", "b", "c", "kind"],
        [0, 0, 0, -np.inf],
        [9, 9, 9, np.inf],
        categories={"kind": ["x", "y", "z"]},
    )
    box = Box(
        [1, -np.inf, 2, -np.inf],
        [2, 5, 2, np.inf],
        upper_closed=[False, True, True, True],
        sets={3: [0, 2]},
    )
    rng = np.random.default_rng(0)
    for rows in (random_rows(box, space, rng, 200), corner_rows(box, space, rng)):
        assert box.contains(rows).all()
        assert set(rows[:, 3]) == {0.0, 2.0}
    corners = corner_rows(box, space, rng)
    # Without a lower end the box goes on for the range of the feature beyond it.
    assert sorted(set(corners[:, 1])) == [-9.0, 5.0]
    assert sorted(set(corners[:, 0])) == [1.0, np.nextafter(2.0, 1.0)]


def small_problem():
    """Names among the columns, and held-out rows beyond what training has seen."""
    X, _ = rings(120, seed=1)
    # A bent border: a plane finds some of it, kernels more.
    y = pd.Series(np.where(X["a"] + X["b"] ** 2 / 2 < 0.5, "in", "out"))
    X["kind"] = np.where(np.arange(120) % 3 == 0, "x", "y")
    X_held = X.iloc[90:].assign(a=X["a"].iloc[90:] * 2)
    return Problem("rings", X.iloc[:90], y.iloc[:90], X_held, y.iloc[90:])


def test_cases_beyond_the_training_rows_are_explained(monkeypatch):
    problem = small_problem()
    assert problem.X_held["a"].max() > problem.X["a"].max()
    monkeypatch.setattr(certificates, "load_problems", lambda names: ([problem], ["lost.csv"]))
    rows, missing = certificates.collect(Plan(cases=5, grown=0, points=200))
    assert [row.kernel for row in rows] == [certificates.LINEAR, *KERNELS]
    assert all(len(row.cases) == 5 for row in rows)
    assert sum(len(row.proved) for row in rows) > 12
    for row in rows:
        for case in row.proved:
            assert case.contradictions == 0
            assert case.tried > 200
            assert case.covers >= 1 / len(problem.X_held)
    section = to_section(rows, missing)
    assert "Left out, because the files are not there: lost.csv." in section.verdict
    assert {len(row) for row in section.table.rows} == {len(section.table.header)}


def test_boxes_that_grow_are_attacked_as_well():
    row = certificates.explain_kernel(
        small_problem(), "polynomial, degree 2", Plan(cases=1, grown=1, points=100)
    )
    (case,) = row.grown
    assert case.tried > 100
    assert case.contradictions == 0
    assert case.width >= row.cases[0].width


def test_a_contradiction_shows_on_the_page():
    box = Box([0.0], [1.0])
    good = Case(0.1, 3, box, covers=0.5, width=0.2, tried=100)
    bad = Case(0.1, 3, box, covers=0.5, width=0.2, tried=100, contradictions=2)
    none = Case(0.1, 3, refuted=True)
    section = to_section([Row("data", "rbf", 9, 0.9, [good, bad, none, none])], [])
    assert section.finding.startswith("50 % of 4 held-out cases")
    assert "2 of 200 points tried in 2 proved boxes contradict it;" in section.finding
    grown = Row("data", "rbf", 9, 0.9, [good, none], grown=[good])
    assert "2 proved boxes (1 of them by `grow_box`) contradict" in to_section([grown], []).finding
    row = dict(zip(section.table.header, section.table.rows[0], strict=True))
    assert (row["proved %"], row["refuted %"], row["contradictions"]) == ("50", "50", "2")


def test_the_finding_says_how_small_the_boxes_of_kernel_machines_are():
    def row(kernel, vectors, *shares):
        cases = [Case(0.1, 3, Box([0.0], [1.0]), covers=share, tried=10) for share in shares]
        return Row("data", kernel, vectors, 0.9, [*cases, Case(0.1, 3, refuted=True)])

    rows = [row("rbf", 9, 0.1, 0.2), row("sigmoid", 9, 0.01), row("poly", 9, 0.02), row("none", 9)]
    found = to_section([row(certificates.LINEAR, None, 0.9), *rows], []).finding
    assert found.endswith(
        "; a proved box of a kernel machine covers 1.0 to 15.0 % of the held-out rows on average, "
        "2.0 % for the median machine, the case itself among them."
    )
    alone = to_section([row(certificates.LINEAR, None, 0.9), rows[-1]], []).finding
    assert alone.endswith("proved boxes contradict it.")


def test_a_case_on_the_wrong_side_of_everything_is_refuted_not_open():
    model, X = fitted("rbf")
    space = FeatureSpace.from_data(X)
    point = X.iloc[0].to_numpy()
    label = model.predict(X.iloc[[0]])[0]
    other = next(each for each in model.classes_ if each != label)
    box, nodes, refuted = certificates._largest_proved(model, point, other, space, space)
    assert (box, refuted) == (None, True)
    assert nodes >= 6


def test_held_out_rows_have_no_unknown_category():
    X = pd.DataFrame({"a": np.arange(40.0), "kind": ["rare"] + ["x", "y", "y"] * 13})
    y = pd.Series(["p", "q"] * 20)
    problem = Problem.split("names", X, y)
    assert set(problem.X_held["kind"]) <= set(problem.X["kind"])
    assert not set(problem.X.index) & set(problem.X_held.index)


def test_sets_that_are_not_there_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("CLEARMARGIN_DATA", str(tmp_path))
    found, missing = load_problems(["Cleveland", "Spambase"])
    assert [problem.name for problem in found] == ["Cleveland"]
    assert missing == ["spambase.csv"]


def test_files_are_looked_for_in_the_folder_that_the_environment_names(monkeypatch, tmp_path):
    monkeypatch.setenv("CLEARMARGIN_DATA", str(tmp_path))
    table = pd.DataFrame({"a": np.arange(40.0), "target": ["p", "q"] * 20})
    table.to_csv(tmp_path / "spambase.csv", index=False)
    (problem,), missing = load_problems(["Spambase"])
    assert (problem.name, list(problem.X.columns), missing) == ("Spambase", ["a"], [])
    assert len(problem.X) + len(problem.X_held) == 40


def test_points_that_are_tried_have_whole_numbers_where_the_space_has_them():
    # A proof over a space with whole numbers is about these; other points were counted as contradictions.
    space = FeatureSpace(["count", "share"], [0, 0], [9, 1], integer=[True, False])
    box = Box([1.5, 0.25], [4.5, 0.75])
    rng = np.random.default_rng(0)
    for rows in (random_rows(box, space, rng, 50), corner_rows(box, space, rng)):
        assert set(rows[:, 0]) <= {2.0, 3.0, 4.0}
        assert ((rows[:, 1] >= 0.25) & (rows[:, 1] <= 0.75)).all()
