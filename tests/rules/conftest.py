"""What the tests of the values share: strategies that like edges, and oracles that know nothing of the library."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from clearmargin.rules import (
    Box,
    CategorySets,
    FeatureSpace,
    Hyperplane,
    Interval,
    Polyhedron,
    Rule,
    RuleScores,
    RuleSet,
    RuleStats,
)

LARGEST = float(np.finfo(np.float64).max)
CLOSED = ("left", "right", "both", "neither")

# Few numbers, so that bounds meet; some with neighbours that differ in the last bit.
KNOTS = (-2.0, -1.0, 0.0, 0.1, 0.3, 1.0, 1.5)
EDGES = (*KNOTS, math.nextafter(1.0, 2), math.nextafter(0.3, 0), 5e-324, LARGEST, -LARGEST)

edges = st.sampled_from(EDGES)
plain_weights = st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0])
finite = edges | st.floats(allow_nan=False, allow_infinity=False)
names = st.text(min_size=1, max_size=8)
labels = st.one_of(
    names,
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def intervals(draw, bounds=edges):
    low, high = sorted([draw(bounds), draw(bounds)])
    low = -math.inf if draw(st.integers(0, 4)) == 0 else low
    high = math.inf if draw(st.integers(0, 4)) == 0 else high
    interval = Interval(low, high, draw(st.sampled_from(CLOSED)))
    return Interval(low, high, "both") if interval.is_empty else interval


@st.composite
def boxes(draw, n, bounds=edges, sets=None):
    free = [j for j in range(n) if j not in (sets or {})]
    used = draw(st.lists(st.sampled_from(free), unique=True)) if free else []
    missing, known = draw(missing_conditions([j for j in free if j not in used]))
    parts = {j: draw(intervals(bounds)) for j in used}
    return Box.from_intervals(parts, n, sets, missing, known)


@st.composite
def missing_conditions(draw, free):
    """Of the features that have no other condition, some that must be missing and some that must not, mostly none."""
    said = draw(st.lists(st.sampled_from([None, None, None, True, False]), max_size=len(free)))
    pairs = list(zip(free, said, strict=False))
    return [j for j, one in pairs if one is True], [j for j, one in pairs if one is False]


@st.composite
def polyhedra(draw, n, weights=plain_weights, sets=None):
    k = draw(st.integers(1, 3))
    A = np.array(draw(st.lists(st.lists(weights, min_size=n, max_size=n), min_size=k, max_size=k)))
    if sets:
        A[:, list(sets)] = 0.0
    void = ~A.any(axis=1)
    A[void, next(j for j in range(n) if j not in (sets or {}))] = 2.0
    b = draw(st.lists(st.sampled_from(KNOTS), min_size=k, max_size=k))
    free = [j for j in range(n) if j not in (sets or {}) and not A[:, j].any()]
    missing, known = draw(missing_conditions(free))
    strict = draw(st.lists(st.booleans(), min_size=k, max_size=k))
    return Polyhedron(A, b, strict, sets, missing, known)


@st.composite
def spaces(draw, max_features=4):
    labels_ = draw(st.lists(names, min_size=1, max_size=max_features, unique=True))
    lower, upper, categories = [], [], []
    for j in range(len(labels_)):
        ends = sorted(draw(st.tuples(finite, finite)))
        lower.append(draw(st.sampled_from([-math.inf, ends[0]])))
        upper.append(draw(st.sampled_from([math.inf, ends[1]])))
        kinds = st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True)
        # The first feature measures something, so that an inequality finds a variable.
        categories.append(draw(st.none() | kinds) if j else None)
    integer = draw(st.lists(st.booleans(), min_size=len(labels_), max_size=len(labels_)))
    units = draw(st.lists(st.none() | names, min_size=len(labels_), max_size=len(labels_)))
    fill = [
        draw(st.none() | (finite if kinds is None else st.sampled_from(kinds)))
        for kinds in categories
    ]
    return FeatureSpace(labels_, lower, upper, integer, categories, units, fill)


@st.composite
def stats(draw):
    rows = draw(st.integers(0, 1000))
    covered = draw(st.integers(0, rows))
    part = st.none() | st.integers(0, covered)
    return RuleStats(rows, covered, draw(part), draw(part))


@st.composite
def rules(draw, space, label=labels, bounds=edges):
    sets = {}
    for j, kinds in enumerate(space.categories):
        if kinds is not None and draw(st.booleans()):
            codes = st.integers(0, len(kinds) - 1)
            sets[j] = draw(st.lists(codes, min_size=1, unique=True))
    # A feature with categories takes no bounds and no weight, named or not.
    barred = {j: [0] for j, kinds in enumerate(space.categories) if kinds is not None}
    shape = draw(
        st.sampled_from([boxes(len(space), bounds, barred), polyhedra(len(space), sets=barred)])
    )
    region = draw(shape)
    # What is filled is never missing.
    missing = [j for j in region.missing if space.fill[j] is None]
    words = {"sets": sets, "missing": missing, "known": region.known}
    if isinstance(region, Box):
        region = Box(region.lower, region.upper, region.lower_closed, region.upper_closed, **words)
    else:
        region = Polyhedron(region.A, region.b, region.strict, **words)
        if region.has_unit_rows and region.to_box().is_empty:
            region = Box.from_intervals({}, len(space), sets)
    return Rule(
        region,
        draw(label),
        name=draw(st.none() | names),
        weight=draw(st.floats(0, exclude_min=True, allow_infinity=False)),
        origin=draw(st.sampled_from(["expert", "extracted", "refined"])),
        proof=draw(st.sampled_from(["proved", "observed", None])),
        stats=draw(st.none() | stats()),
    )


@st.composite
def rule_sets(draw, max_rules=4, bounds=edges):
    space = draw(spaces())
    classes = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    # 1, 1.0 and True are one label; keep the first way of writing it.
    members = draw(st.lists(rules(space, st.sampled_from(classes), bounds), max_size=max_rules))
    return RuleSet(members, space, classes)


class Draw:
    """The strategies under one name."""

    finite = staticmethod(lambda: finite)
    edges = staticmethod(lambda: edges)
    labels = staticmethod(lambda: labels)
    intervals = staticmethod(intervals)
    boxes = staticmethod(boxes)
    polyhedra = staticmethod(polyhedra)
    spaces = staticmethod(spaces)
    rules = staticmethod(rules)
    rule_sets = staticmethod(rule_sets)


@pytest.fixture(scope="session")
def draw():
    return Draw


def _has_solution(system):
    """Fourier-Motzkin elimination; each row is (weights, limit, strict) in fractions."""
    while system and system[0][0]:
        kept, lower, upper = [], [], []
        for weights, limit, strict in system:
            *rest, last = weights
            if last == 0:
                kept.append((tuple(rest), limit, strict))
            else:
                side = upper if last > 0 else lower
                side.append((tuple(w / abs(last) for w in rest), limit / abs(last), strict))
        for one, a, strict_one in lower:
            for other, b, strict_other in upper:
                both = tuple(u + v for u, v in zip(one, other, strict=True))
                kept.append((both, a + b, strict_one or strict_other))
        system = list(dict.fromkeys(kept))
    return all(limit > 0 or (limit == 0 and not strict) for _, limit, strict in system)


@pytest.fixture(scope="session")
def has_solution():
    """Whether some real x satisfies A x <= b (< where strict), by elimination of one variable after the other."""

    def decide(A, b, strict):
        rows = [tuple(Fraction(float(a)) for a in row) for row in A]
        return _has_solution(
            [(row, Fraction(float(r)), bool(s)) for row, r, s in zip(rows, b, strict, strict=True)]
        )

    return decide


@pytest.fixture(scope="session")
def samples():
    """One value of each kind, with arrays that are not trivial."""
    box = Box([0.0, -math.inf, -math.inf], [1.0, 2.5, math.inf], True, False, {2: [1, 0]})
    wedge = Polyhedron([[0.5, 1.0, 0.0], [-1.0, 0.0, 0.0]], [40.0, 0.0], [True, False], {2: [0]})
    space = FeatureSpace(
        ["age", "bmi", "smoker"],
        [0, 10, -math.inf],
        [120, 80, math.inf],
        [True, False, False],
        {"smoker": ["no", "ex"]},
        {"age": "years"},
    )
    plane = Hyperplane([1.0, -2.0, 0.0], 0.25)
    first = Rule(box, "ill", name="obese", weight=2, proof="proved", stats=RuleStats(9, 5, 4, 5))
    second = Rule(wedge, "well", origin="refined")
    return {
        "Interval": Interval(0, 1),
        "CategorySets": CategorySets({2: [0, 1]}),
        "Box": box,
        "Polyhedron": wedge,
        "Hyperplane": plane,
        "HalfSpace": plane.side(-1),
        "FeatureSpace": space,
        "Rule": first,
        "RuleSet": RuleSet([first, second], space, ["well", "ill"]),
        "RuleStats": RuleStats(9, 5, 4, 5),
        "RuleScores": RuleScores(RuleStats(9, 5), (RuleStats(9, 5),), 0),
    }


@pytest.fixture(name="rules")
def sample_rules():
    space = FeatureSpace(
        ["age", "bmi", "smoker"],
        [0, -math.inf, -math.inf],
        [120, math.inf, math.inf],
        [True, False, False],
        {"smoker": ["no", "ex", "yes"]},
        {"age": "years"},
    )
    stats = RuleStats(100, 40, 39, 40)
    return RuleSet(
        [
            Rule(
                Box(
                    [60, -math.inf, -math.inf],
                    [80, 30.1, math.inf],
                    True,
                    [True, False, True],
                    {2: [1, 2]},
                ),
                "ill",
                name="old",
                weight=2.5,
                origin="extracted",
                proof="proved",
                stats=stats,
            ),
            Rule(Polyhedron([[0.5, 1.0, 0.0], [0.0, -1.0, 0.0]], [40, 0], [False, True]), "well"),
            Rule(Box.unbounded(3), "ill", origin="refined"),
        ],
        space,
        ["well", "ill"],
    )


@pytest.fixture(name="document")
def sample_document(rules):
    return rules.to_dict()
