"""Every rule lies on its side and no two rules of a class meet: in fractions, on random planes of all kinds.

With the profile "quick" 300 planes are tried, with "full" 10,000.
"""

import warnings

import numpy as np
import pytest
from hypothesis import settings
from tests.oracles import exact_side

from clearmargin import RuleExtractor
from clearmargin.exceptions import ClearmarginWarning

QUICK, FULL = 300, 10_000
PLANES = FULL if settings.default.max_examples >= 1_000 else QUICK
BATCHES = 10
CRITERIA = ["volume", "coverage", "coverage-lp", "volume", "coverage-lp", "coverage"]
CLASSES = {"below": -1, "above": 1}


def points(rng, kind, m, n):
    X = rng.normal(size=(m, n))
    match kind:
        case "integers":
            X = rng.integers(0, 6, size=(m, n)).astype(float)
        case "on the bounds":
            X = rng.choice([0.0, 1.0], size=(m, n))
        case "duplicates":
            X = np.repeat(X, 2, axis=0)
        case "constant column":
            X[:, rng.integers(n)] = rng.normal()
        case "some integers":
            X[:, 0] = np.round(3 * X[:, 0])
        case "offset":
            X += 1e9
        case "scales":
            X *= 10.0 ** rng.uniform(-6, 6, size=n)
        case "ties":
            X = np.round(X, 1)
    return X


KINDS = ["plain", "integers", "on the bounds", "duplicates", "constant column", "some integers", "offset", "scales",
    "ties", "sparse weights", "near the plane"]  # fmt: skip


def plane(rng, kind, X):
    n = X.shape[1]
    coef = rng.choice([-1.0, 1.0], size=n) * 10.0 ** rng.uniform(-3, 3, size=n)
    if kind == "sparse weights":
        coef[1:][rng.random(n - 1) < 0.5] = 0.0
    heights = X @ coef
    # Through the middle, through a point, or past all of them.
    level = rng.choice([np.median(heights), heights[0], heights.min(), heights.max()])
    return coef, -float(level)


def move_to_the_plane(rng, X, coef, intercept):
    """Put every other point within about 1e-12 of the plane, or on it."""
    j = int(np.argmax(np.abs(coef)))
    for row in X[::2]:
        row[j] -= (row @ coef + intercept + rng.choice([-1e-12, 0.0, 1e-12])) / coef[j]


def parameters(rng, seed, n):
    criterion = CRITERIA[seed % len(CRITERIA)]
    return {"criterion": criterion, "tighten": bool(rng.random() < 0.5),
        "disjoint": bool(rng.random() < 0.85),
        "max_conditions": int(rng.integers(1, n + 1)) if rng.random() < 0.2 else None,
        "max_rules": int(rng.integers(1, 5)) if rng.random() < 0.2 else None, "min_coverage": int(rng.integers(1, 4)),
        "max_depth": int(rng.choice([1, 3, 20]))}  # fmt: skip


def case(seed):
    """Points, a plane, bounds and parameters."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n = int(rng.integers(2, 13))
    chosen = parameters(rng, seed, n)
    most = 16 if chosen["criterion"] == "coverage" else 40
    X = points(rng, kind, int(rng.integers(2, most)), n)[:most]
    coef, intercept = plane(rng, kind, X)
    if kind == "near the plane" or seed % 5 == 0:
        move_to_the_plane(rng, X, coef, intercept)
    bounds = "data"
    if seed % 4 == 1:
        more = rng.choice([0.0, 1.0, 10.0]), rng.choice([0.0, 1.0])
        bounds = X.min(axis=0) - more[0], X.max(axis=0) + more[1]
        if seed % 8 == 5:  # declared for some features only
            silent = rng.random(n) < 0.5
            bounds = np.where(silent, -np.inf, bounds[0]), np.where(silent, np.inf, bounds[1])
    return X, coef, intercept, bounds, chosen


def check_rules(extractor, coef, intercept, bounds, chosen):
    declared = None if isinstance(bounds, str) else bounds
    for label, sign in CLASSES.items():
        boxes = [rule.region for rule in extractor.rules_ if rule.label == label]
        for box in boxes:
            assert exact_side.lies_on_side(box, coef, intercept, sign, declared), box
        if chosen["disjoint"]:
            assert not exact_side.meeting_pairs(boxes)
        if chosen["max_rules"] is not None:
            assert len(boxes) <= chosen["max_rules"]
        if chosen["max_conditions"] is not None:
            low, high = extractor.space_.lower, extractor.space_.upper
            assert all(inner_bounds(box, low, high) <= chosen["max_conditions"] for box in boxes)
    assert all(rule.proof == "proved" for rule in extractor.rules_)


def inner_bounds(box, low, high):
    """Features with a bound inside their range; where the range itself has to be said, that is no choice."""
    return int(((box.lower > low) | (box.upper < high)).sum())


def check_counts(extractor, X, y, said, chosen):
    for label in CLASSES:
        wanted = (said == label) & (y == label)
        covered = np.zeros(len(X), dtype=bool)
        for rule in (r for r in extractor.rules_ if r.label == label):
            inside = np.array([exact_side.holds(rule.region, row) for row in X])
            covered |= inside
            assert rule.stats.rows == len(X)
            assert rule.stats.covered == inside.sum()
            assert rule.stats.correct == (inside & (y == label)).sum()
            assert rule.stats.agreed == (inside & (said == label)).sum()
            assert (inside & wanted).sum() >= chosen["min_coverage"]
        trace = extractor.trace_[label]
        assert trace.points == wanted.sum()
        assert trace.covered == (covered & wanted).sum()
        assert trace.kept == sum(rule.label == label for rule in extractor.rules_)


def examine(seed):
    X, coef, intercept, bounds, chosen = case(seed)
    model = exact_side.given(X, coef, intercept)
    y = exact_side.sides(X, coef, intercept)
    with warnings.catch_warnings():
        # More than eight features are doubtful, and a search of few seconds may be too short.
        warnings.simplefilter("ignore", ClearmarginWarning)
        extractor = RuleExtractor(model, bounds=bounds, **chosen).fit(X, y)
    np.testing.assert_array_equal(extractor.hyperplane_.coef, coef)
    check_rules(extractor, coef, intercept, bounds, chosen)
    check_counts(extractor, X, y, model.predict(X), chosen)


# Ten tests of 30 planes: some 0.5 s each.
@pytest.mark.parametrize("batch", range(BATCHES))
def test_rules_of_random_planes_are_sound_and_disjoint(batch):
    for seed in range(batch, PLANES, BATCHES):
        try:
            examine(seed)
        except Exception as error:
            error.add_note(f"plane {seed}")
            raise


def test_points_that_rounding_puts_on_the_wrong_side_are_not_promised_a_rule():
    # f is a positive fraction and a float zero: the model says below, exact arithmetic above.
    X = np.array([[0.1, 0.2], [0.0, 0.0], [0.0, 0.1], [1.0, 1.0], [1.0, 0.9]])
    coef, intercept = [1.0, 1.0], -(0.1 + 0.2)
    model, y = exact_side.given(X, coef, intercept), exact_side.sides(X, coef, intercept)
    extractor = RuleExtractor(model, min_coverage=1).fit(X, y)
    chosen = {"disjoint": True, "max_rules": None, "max_conditions": None, "min_coverage": 1}
    check_rules(extractor, coef, intercept, "data", chosen)
    check_counts(extractor, X, y, model.predict(X), chosen)
