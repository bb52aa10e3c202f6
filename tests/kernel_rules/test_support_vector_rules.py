"""Rules around support vectors: what each phase promises, and what the rules predict in the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.svm import SVC, NuSVC

from clearmargin.kernel_rules.crossings import nearest_crossings
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.models.kernel_machine import read_machine
from clearmargin.rule_base.shaping import tune
from clearmargin.rules import RuleSet

from .support_vector_cases import scaled

RAW = {"anchors": "support", "prune": False, "cover": False, "shorten": False}
ALL = {"min_coverage": 1, "max_rules": None}
KERNELS = {
    "linear": SVC(kernel="linear"),
    "square": SVC(kernel="poly", degree=2, coef0=1.0),
    "rbf": SVC(gamma=0.5, C=5.0),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.1),
    "nu": NuSVC(nu=0.3),
}


def inside(rules: RuleSet, X: np.ndarray) -> np.ndarray:
    """Which rules hold which rows, one by one."""
    return np.array([rule.region.contains(X) for rule in rules])


# --- the boxes of the nearest crossings


def test_every_support_vector_on_its_side_is_in_a_box(two_classes):
    X, y = two_classes
    rules = SupportVectorRules(scaled(SVC(gamma=0.5, C=5.0)), tune=False, **RAW, **ALL)
    rules.fit(X, y)
    support = rules.estimator_[-1].support_
    said = rules.estimator_.predict(X[support])
    covers = inside(rules.rules_, X[support])
    labels = np.array([rule.label for rule in rules.rules_])
    assert (covers & (labels[:, None] == said)).any(axis=0).all()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_the_model_says_one_class_along_each_axis_of_an_untuned_box(kernel, two_classes):
    X, y = two_classes
    rules = SupportVectorRules(scaled(kernel), tune=False, **RAW).fit(X, y)
    support = X[rules.estimator_[-1].support_]
    covers = inside(rules.rules_, support)
    steps = np.linspace(0.0, 1.0, 23)[1:-1]
    anchored = 0
    for rule, held in zip(rules.rules_, covers, strict=True):
        box = rule.region
        low = np.where(np.isfinite(box.lower), box.lower, X.min(axis=0))
        high = np.where(np.isfinite(box.upper), box.upper, X.max(axis=0))
        # Which of the support vectors inside was the anchor is not said; for one of them all axes are of the class.
        lines = np.tile(support[held][:, None, None], (1, len(low), len(steps), 1))
        for j in range(len(low)):
            lines[:, j, :, j] = low[j] + steps * (high[j] - low[j])
        said = rules.estimator_.predict(lines.reshape(-1, len(low))).reshape(len(lines), -1)
        anchored += (said == rule.label).all(axis=1).any()
    assert anchored == len(rules.rules_) > 0


def test_each_end_of_an_untuned_box_is_at_a_crossing_or_at_none(two_classes):
    X, y = two_classes
    model = scaled(SVC(gamma=0.5, C=5.0)).fit(X, y)
    machine = read_machine(model, X)
    rules = SupportVectorRules(model, tune=False, **RAW).fit(X, y)
    vectors = machine.function.vectors
    Z = machine.to_machine(X)
    found = nearest_crossings(machine.function, vectors, Z.min(axis=0), Z.max(axis=0))
    lower = np.sort(((found.below - machine.shift) / machine.scale).ravel())
    # Bounds were rounded inwards, by a hundredth of the range at most.
    reach = X.max(axis=0) - X.min(axis=0)
    for rule in rules.rules_:
        ends = rule.region.lower
        for j in np.flatnonzero(np.isfinite(ends)):
            assert np.abs(lower - ends[j]).min() <= reach[j] / 50


# --- tuning, pruning, covering, shortening


@pytest.mark.parametrize("anchors", ["support", "all"])
@pytest.mark.parametrize("by", ["model", "labels"])
def test_no_training_point_of_another_class_is_in_a_tuned_box(anchors, by, two_classes):
    X, y = two_classes
    y = np.where(
        np.arange(len(y)) % 17 == 0, "outer", y
    )  # so that the labels are not what the model predicts
    rules = SupportVectorRules(scaled(SVC()), anchors=anchors, by=by).fit(X, y)
    word = rules.estimator_.predict(X) if by == "model" else y
    for rule, held in zip(rules.rules_, inside(rules.rules_, X), strict=True):
        assert (word[held] == rule.label).all()
        assert held.any()


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["rbf", "poly", "linear"]))
@settings(max_examples=12)
def test_tuned_rules_say_what_the_model_says_on_what_they_cover(seed, n_classes, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)).round(1)
    y = np.arange(40) % n_classes
    y[X[:, 0] > 0.3] = 0
    rules = SupportVectorRules(scaled(SVC(kernel=kernel, C=10.0))).fit(X, y)
    which = rules.which(X)
    said = rules.estimator_.predict(X)
    assert (rules.predict(X)[which >= 0] == said[which >= 0]).all()


def test_all_anchors_cover_every_point_whose_class_wins_all_duels(two_classes, three_classes):
    for X, y in (two_classes, three_classes):
        model = scaled(SVC()).fit(X, y)
        few = SupportVectorRules(model, anchors="support").fit(X, y)
        every = SupportVectorRules(model, anchors="all").fit(X, y)
        machine = read_machine(model, X)
        Z = machine.to_machine(X)
        wins = [(machine.region(k).values(Z) > 0).all(axis=1) for k in range(len(machine.classes))]
        # Only a point that coincides with one of another class may stay out, and here is none.
        assert (every.which(X)[np.any(wins, axis=0)] >= 0).all()
        assert (few.which(X) >= 0).mean() <= (every.which(X) >= 0).mean()
        assert every.score(X, model.predict(X)) == 1.0


def test_pruned_boxes_hold_no_subset_of_each_other(two_classes):
    X, y = two_classes
    rules = SupportVectorRules(scaled(SVC()), cover=False).fit(X, y)
    covers = inside(rules.rules_, X)
    labels = [rule.label for rule in rules.rules_]
    for i in range(len(covers)):
        for j in range(len(covers)):
            if i != j and labels[i] == labels[j]:
                assert (covers[i] & ~covers[j]).any()


def test_each_switch_leaves_its_phase_out(two_classes):
    X, y = two_classes
    model = scaled(SVC()).fit(X, y)

    def fitted(**switches):
        return SupportVectorRules(model, anchors="support", **ALL, **switches).fit(X, y).rules_

    whole = fitted()
    unpruned = fitted(prune=False, cover=False)
    pruned = fitted(cover=False)
    covered = fitted(prune=False)
    assert len(unpruned) > len(pruned) >= len(whole)
    # Without pruning a greedy cover still leaves out what adds nothing.
    assert len(covered) < len(unpruned)
    for rules in (pruned, whole, covered):
        assert (rules.which(X) >= 0).tolist() == (unpruned.which(X) >= 0).tolist()
    conditions = [
        sum(len(rule.region.bounded) for rule in r) / len(r) for r in (whole, fitted(shorten=False))
    ]
    assert conditions[0] < conditions[1]
    said = model.predict(X)
    untuned = fitted(tune=False)
    mistaken = [(said[rule.region.contains(X)] != rule.label).any() for rule in untuned]
    assert any(mistaken)


def test_coverage_and_number_of_rules_are_limited(two_classes):
    X, y = two_classes
    model = scaled(SVC()).fit(X, y)
    full = SupportVectorRules(model, min_coverage=5).fit(X, y)
    assert (inside(full.rules_, X).sum(axis=1) >= 5).all()
    two = SupportVectorRules(model, max_rules=2).fit(X, y).rules_
    assert all(sum(rule.label == c for rule in two) <= 2 for c in ("inner", "outer"))
    with pytest.raises(
        ValueError, match=r"no rule covers 1000 training points .* lower min_coverage"
    ):
        SupportVectorRules(model, min_coverage=1000).fit(X, y)


def test_rules_stand_in_the_order_of_their_laplace_precision(two_classes):
    X, y = two_classes
    rules = SupportVectorRules(scaled(SVC()), tune=False, anchors="support").fit(X, y)
    said = rules.estimator_.predict(X)
    sure = []
    for rule, held in zip(rules.rules_, inside(rules.rules_, X), strict=True):
        sure.append(((said[held] == rule.label).sum() + 1) / (held.sum() + 2))
        assert rule.stats.rows == len(X)
        assert rule.stats.covered == held.sum()
        assert rule.stats.correct == (y[held] == rule.label).sum()
        assert rule.stats.agreed == (said[held] == rule.label).sum()
        assert rule.proof == "observed"
        assert rule.origin == "extracted"
    assert (np.diff(sure) <= 1e-12).all()


# --- prediction


def test_the_rules_alone_predict_the_same(two_classes, three_classes):
    for X, y in (two_classes, three_classes):
        fresh = np.vstack([X, X * 1.3 - 0.2, X[::-1] * 0.7])
        rules = SupportVectorRules(scaled(SVC()), fallback=y[0]).fit(X, y)
        assert rules.predict(fresh).tolist() == rules.rules_.predict(fresh, default=y[0]).tolist()
        silent = clone(rules).set_params(fallback="abstain").fit(X, y)
        assert silent.predict(fresh).tolist() == silent.rules_.predict(fresh).tolist()


def test_uncovered_rows_go_to_the_fallback(two_classes):
    X, y = two_classes
    model = scaled(SVC()).fit(X, y)
    fresh = X + np.random.default_rng(0).normal(size=X.shape) * X.std(axis=0)
    common = {"anchors": "support", "max_rules": 1}
    nearest = SupportVectorRules(model, **common).fit(X, y)
    bare = nearest.which(fresh) < 0
    assert bare.any()
    by_model = SupportVectorRules(model, fallback="estimator", **common).fit(X, y)
    assert (by_model.predict(fresh)[bare] == model.predict(fresh)[bare]).all()
    silent = SupportVectorRules(model, fallback="abstain", **common).fit(X, y)
    assert all(answer is None for answer in silent.predict(fresh)[bare])
    fixed = SupportVectorRules(model, fallback="outer", **common).fit(X, y)
    assert (fixed.predict(fresh)[bare] == "outer").all()
    for rules in (by_model, silent, fixed):
        assert (rules.predict(fresh)[~bare] == nearest.predict(fresh)[~bare]).all()


def brute_force_nearest(rules: SupportVectorRules, X: np.ndarray, reach: np.ndarray) -> list:
    """The class of the box at the least distance, counted rule by rule in shares of the ranges."""
    distances = [
        np.sqrt(
            ((np.maximum(0, np.maximum(r.region.lower - X, X - r.region.upper)) / reach) ** 2).sum(
                axis=1
            )
        )
        for r in rules.rules_
    ]
    return [rules.rules_[int(k)].label for k in np.argmin(distances, axis=0)]


def test_the_nearest_box_decides_where_none_covers(two_classes, three_classes):
    for X, y in (two_classes, three_classes):
        rules = SupportVectorRules(scaled(SVC()), anchors="support", max_rules=3).fit(X, y)
        rng = np.random.default_rng(1)
        fresh = rng.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, (300, X.shape[1]))
        bare = rules.which(fresh) < 0
        assert bare.sum() > 10
        wanted = brute_force_nearest(rules, fresh[bare], X.max(axis=0) - X.min(axis=0))
        assert rules.predict(fresh)[bare].tolist() == wanted


def test_a_gap_has_no_nearest_rule(two_classes):
    X, y = two_classes
    rules = SupportVectorRules(scaled(SVC())).fit(X, y)
    gap = X[:3].copy()
    gap[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 2 has a missing value .* column 'x2'"):
        rules.predict(gap)
    silent = SupportVectorRules(scaled(SVC()), fallback="abstain").fit(X, y)
    assert silent.predict(gap)[1] is None


def test_of_many_points_some_shape_the_boxes_and_all_are_counted(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "in", "out")
    svm = SVC().fit(X, y)
    sizes = []

    def noted(boxes, anchors, points, *rest):
        sizes.append(len(points))
        return tune(boxes, anchors, points, *rest)

    monkeypatch.setattr("clearmargin.kernel_rules.support_vector_rules._MOST_POINTS", 250)
    monkeypatch.setattr("clearmargin.kernel_rules.support_vector_rules.tune", noted)
    rules = SupportVectorRules(svm).fit(X, y).rules_
    # Work grows with the points that boxes are compared with: the sample, and at most the two ends of each column.
    assert all(250 <= size <= 260 for size in sizes)
    inside = rules.covers(X)
    for k, rule in enumerate(rules):
        assert rule.stats.rows == 600
        assert rule.stats.covered == inside[:, k].sum()
        assert rule.stats.correct == (inside[:, k] & (y == rule.label)).sum()
    order = rng.permutation(600)
    shuffled = SupportVectorRules(svm).fit(X[order], y[order]).rules_
    assert shuffled == rules
