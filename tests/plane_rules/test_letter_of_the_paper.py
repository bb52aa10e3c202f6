"""The letter of the paper: `order` and `bounds="class"` beside Algorithm 4.1, written once more in plain fractions.

Fung, Sandilya and Rao (KDD 2005), eqs. 5-7 and 13-18. What the paper leaves open is closed as the errata do: clipped
components stay clipped, boxes are closed where they end with the domain, and only correct points are to be covered.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from clearmargin import LPSVC, RuleExtractor, RuleSet, load_model, save_model
from clearmargin.datasets import load_wbc
from clearmargin.export import to_python
from clearmargin.plane_rules import search
from clearmargin.plane_rules.side import Side
from clearmargin.plane_rules.volume_corner import volume_corner
from clearmargin.rules import Box, Hyperplane

LETTER = {"criterion": "volume", "tighten": False, "min_coverage": 1, "max_rules": None}
# By weight the features of a child tie in fractions, all that spent the same on the box before, and rounding decides.
DEPTHS = {"natural": 20, "weight": 2}


def largest_corner(weights):
    """Eqs. 13-15 on the unit cube: the y* with the largest product and weights'y* = 1."""
    n = len(weights)
    clipped = {i for i in range(n) if weights[i] == 0}
    while len(clipped) < n:
        # In fractions from the start: 1 / 3 of whole numbers is a float.
        share = (Fraction(1) - sum(weights[i] for i in clipped)) / (n - len(clipped))
        beyond = {i for i in range(n) if i not in clipped and share / weights[i] > 1}
        if not beyond:
            return [Fraction(1) if i in clipped else share / weights[i] for i in range(n)]
        clipped |= beyond
    return [Fraction(1)] * n


class ByTheBook:
    """Algorithm 4.1 on the side a'z < g with a > 0; regions are lists of (near, far, far belongs to it)."""

    def __init__(self, a, g, points, order):
        self.a, self.g, self.order = a, g, order
        self.points = dict(enumerate(points))
        self.problems, self.rules = 0, []

    def run(self, region, depth=0):
        if depth == DEPTHS[self.order] or not self.inside(region):
            return self
        self.problems += 1
        near = [low for low, _, _ in region]
        width = [high - low for low, high, _ in region]
        slack = self.g - sum(w * z for w, z in zip(self.a, near, strict=True))
        costs = [w * d for w, d in zip(self.a, width, strict=True)]
        y = largest_corner([cost / slack for cost in costs])
        corner = [low + part * d for low, part, d in zip(near, y, width, strict=True)]
        rule = [
            (low, c, closed and part == 1)
            for (low, _, closed), c, part in zip(region, corner, y, strict=True)
        ]
        covered = self.inside(rule)
        if covered:
            self.rules.append(sorted(covered))
        for j in covered:
            del self.points[j]
        features = list(range(len(costs)))
        if self.order == "weight":
            features.sort(key=lambda i: -costs[i])
        for place, k in enumerate(features):
            before = features[:place]
            child = [rule[i] if i in before else region[i] for i in range(len(features))]
            child[k] = (corner[k], region[k][1], region[k][2])
            if y[k] < 1:
                self.run(child, depth + 1)
        return self

    def inside(self, region):
        return [
            j
            for j, point in self.points.items()
            if all(
                low <= z < high or (closed and z == high)
                for z, (low, high, closed) in zip(point, region, strict=True)
            )
        ]


def by_the_book(coef, intercept, sign, X, lower, upper, order):
    """Number of problems, and the points of each rule, of the class on a side; within given ranges."""
    a = [Fraction(float(w)) * -sign for w in coef]
    g = Fraction(float(intercept)) * sign
    turn = [1 if w > 0 else -1 for w in a]
    points = [
        [t * Fraction(float(x)) for t, x in zip(turn, row, strict=True)] for row in np.asarray(X)
    ]
    region = []
    for t, low, high in zip(turn, lower, upper, strict=True):
        ends = sorted((t * Fraction(float(low)), t * Fraction(float(high))))
        region.append((*ends, True))
    found = ByTheBook([abs(w) for w in a], g, points, order).run(region)
    return found.problems, sorted(found.rules)


def random_plane(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    X = rng.normal(size=(int(rng.integers(8, 40)), n))
    coef = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-1, 1, n)
    # No point within rounding of the plane, where fractions and floats may differ.
    heights = np.sort(X @ coef)
    k = int(rng.integers(1, len(heights)))
    return X, coef, -float(heights[k - 1] + heights[k]) / 2


@given(st.integers(0, 10**6), st.sampled_from(["natural", "weight"]), st.booleans())
def test_problems_and_rules_are_those_of_the_algorithm_in_fractions(oracle, seed, order, by_class):
    X, coef, intercept = random_plane(seed)
    y = oracle.sides(X, coef, intercept)
    # Some rows have the other label: they are not to be covered, and do not widen the ranges of a class.
    y = np.where(np.arange(len(y)) % 5 == 4, y[::-1], y)
    model = oracle.given(X, coef, intercept)
    bounds = "class" if by_class else "data"
    extractor = RuleExtractor(
        model, order=order, bounds=bounds, max_depth=DEPTHS[order], **LETTER
    ).fit(X, y)
    for label, sign in (("below", -1), ("above", 1)):
        right = X[(model.predict(X) == label) & (y == label)]
        seen = right if by_class else X
        if not len(right):
            assert extractor.trace_[label].problems == 0
            continue
        lower, upper = seen.min(axis=0), seen.max(axis=0)
        problems, rules = by_the_book(coef, intercept, sign, right, lower, upper, order)
        trace = extractor.trace_[label]
        assert (trace.problems, trace.found) == (problems, len(rules))
        assert trace.covered == sum(map(len, rules))
        # The same points together, box by box.
        side = Side.of(Hyperplane(coef, intercept).side(sign))
        domain, Z = side.region(Box(lower, upper)), side.orient(right)
        found = search.extract_boxes(
            side, domain, Z, volume_corner, max_depth=DEPTHS[order], tighten=False, order=order
        )
        assert sorted(sorted(box.points.tolist()) for box in found.boxes) == rules


def test_the_two_orders_and_the_two_ranges_differ(oracle):
    X, y = load_wbc(return_X_y=True, as_frame=False)
    svm = LPSVC(0.0025).fit(X, y)
    met = {}
    for order in ("weight", "natural"):
        for bounds in ("data", "class"):
            made = RuleExtractor(svm, order=order, bounds=bounds, **LETTER).fit(X, y)
            met[order, bounds] = tuple(trace.problems for trace in made.trace_.values())
    assert len(set(met.values())) == 4


@pytest.mark.parametrize("order", ["natural", "weight"])
def test_searches_in_natural_order_draw_their_starts_alone(monkeypatch, order):
    X, coef, intercept = random_plane(3)
    side = Side.of(Hyperplane(coef, intercept).side(-1))
    domain = side.region(Box(X.min(axis=0), X.max(axis=0)))
    cutting_order, met = search._cutting_order, set()

    def recorded(*arguments):
        cuts = cutting_order(*arguments)
        met.add(tuple(cuts.tolist()))
        return cuts

    monkeypatch.setattr(search, "_cutting_order", recorded)
    found = search.search_coverage(
        side,
        domain,
        side.orient(X[X @ coef + intercept < 0]),
        max_depth=5,
        min_coverage=1,
        max_rules=None,
        tighten=True,
        order=order,
    )
    assert found.boxes
    assert (met == {tuple(range(len(coef)))}) == (order == "natural")


def whole_numbers():
    return *load_wbc(return_X_y=True), LPSVC(0.01)


def categories():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 150), "dose": rng.normal(size=150)})
    frame["home"] = rng.choice(["own", "rent", "parents"], 150)
    worth = frame["home"].map({"own": 1.0, "rent": -0.8, "parents": -0.3})
    answer = np.where(worth + frame["dose"] + (frame["age"] - 50) / 20 > 0, "yes", "no")
    # In the class "no" nobody owns a home: the range of a category is not narrowed to 0.
    keep = ~((frame["home"] == "own") & (answer == "no"))
    encoder = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    return frame[keep], answer[keep], make_pipeline(encoder, LogisticRegression(C=100))


def three_classes():
    return *load_iris(return_X_y=True, as_frame=True), OneVsRestClassifier(LPSVC(1.0))


@pytest.mark.parametrize("order", ["natural", "weight"])
@pytest.mark.parametrize("table", [whole_numbers, categories, three_classes])
def test_rules_within_class_ranges_are_proved_disjoint_and_exported(oracle, tmp_path, table, order):
    X, y, model = table()
    extractor = RuleExtractor(model, bounds="class", order=order).fit(X, y)
    rules, predicted = extractor.rules_, extractor.estimator_.predict(X)
    assert len(rules) >= len(np.unique(y))
    assert all(rule.proof == "proved" for rule in rules)
    for label in rules.classes:
        boxes = [rule.region for rule in rules if rule.label == label]
        if not any(box.sets for box in boxes):
            assert not oracle.meeting_pairs(boxes)
    assert (rules.covers(X).sum(axis=1) <= 1).all()
    assert rules.score(X, y, model=extractor.estimator_).fidelity == 1.0
    fired = rules.predict(X, default=None)
    assert (fired[rules.which(X) >= 0] == predicted[rules.which(X) >= 0]).all()
    # Explanations hold their case, and what is said of coverage is what the rules do.
    cases = X.iloc[::17]
    for k, told in enumerate(extractor.explain_many(cases)):
        assert RuleSet([told.rule], rules.space, rules.classes).covers(cases.iloc[[k]])[0, 0]
    covered = [row.status == "covered" for row in extractor.explain_coverage(cases)]
    assert covered == (extractor.which(cases) >= 0).tolist()
    # Text, Python, JSON and a saved model say the same.
    assert RuleSet.from_text(rules.to_text()) == rules
    assert RuleSet.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    scope = {}
    exec(to_python(rules), scope)
    for k in range(0, len(X), 17):
        row = {name: X[name].iloc[k] for name in X.columns}
        assert scope["predict_row"](row) == fired[k]
    save_model(extractor, tmp_path / "m.json")
    saved = load_model(tmp_path / "m.json")
    assert saved.rules[:] == rules[:]
    assert (saved.predict(X) == predicted).all()
