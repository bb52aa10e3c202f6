"""Strategies for values of the rules: few numbers, so that bounds meet, and the edges of floats."""

import math

import numpy as np
from hypothesis import strategies as st

from clearmargin import Box, FeatureSpace, Interval, Polyhedron, Rule, RuleSet, RuleStats

INF, NAN = math.inf, math.nan
LARGEST, SMALLEST = float(np.finfo(np.float64).max), 5e-324

KNOTS = (-2.0, -1.0, 0.0, 0.1, 0.3, 1.0, 1.5)
edges = st.sampled_from(
    (*KNOTS, math.nextafter(1.0, 2), math.nextafter(0.3, 0), SMALLEST, LARGEST, -LARGEST)
)
finite = edges | st.floats(allow_nan=False, allow_infinity=False)
names = st.text(min_size=1, max_size=8)
# Words of the rule language, signs, escapes, letters of other scripts, blanks and halves of characters.
WORDS = "and OR not In true False inf nan weight unit integer feature classes 1 -5 1e3 a.b a. .a if"
SIGNS = "` `` \\ \\` \\u0041 # => x:y \ud800 \udfff\ud800 \U0001f600 é e\u0301 日本 ٣ ² \x00 \ufeff _ İn ' \" {a}"
TRICKY = [*WORDS.split(), *SIGNS.split(), "a b", "a\nb", "a\rb", "a\tb", "a, b", " ", "\u2028", "\x0b",
    "\xa0"]  # fmt: skip
any_names = st.one_of(st.sampled_from(TRICKY), st.sampled_from("abcdefgh"),
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=5),
    st.text("ab`\\ \n\r\t#:,.=<>*+-[]{}\u2028é5_uU0", min_size=1, max_size=6))  # fmt: skip


def labels_with(texts):
    """A strategy for class labels of all types."""
    numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    return texts | st.booleans() | numbers


labels = labels_with(names)


def beside(number):
    """A strategy for a number and its two neighbours."""
    return st.one_of(number, number.map(lambda x: math.nextafter(x, INF)),
        number.map(lambda x: math.nextafter(x, -INF)))  # fmt: skip


@st.composite
def intervals(draw, bounds=edges, *, can_be_empty=False):
    low, high = draw(bounds), draw(bounds)
    if not can_be_empty:
        low, high = sorted([low, high])
    low = -INF if draw(st.integers(0, 4)) == 0 else low
    high = INF if draw(st.integers(0, 4)) == 0 else high
    interval = Interval(low, high, draw(st.sampled_from(["left", "right", "both", "neither"])))
    return Interval(low, high, "both") if interval.is_empty and not can_be_empty else interval


@st.composite
def missing_conditions(draw, free):
    """Of the features without another condition, some that must be missing and some that must not, mostly none."""
    said = draw(st.lists(st.sampled_from([None, None, None, True, False]), max_size=len(free)))
    pairs = list(zip(free, said, strict=False))
    return [j for j, one in pairs if one is True], [j for j, one in pairs if one is False]


@st.composite
def boxes(draw, n, bounds=edges, sets=None, *, can_be_empty=False):
    free = [j for j in range(n) if j not in (sets or {})]
    used = draw(st.lists(st.sampled_from(free), unique=True)) if free else []
    missing, known = draw(missing_conditions([j for j in free if j not in used]))
    parts = {j: draw(intervals(bounds, can_be_empty=can_be_empty)) for j in used}
    return Box.from_intervals(parts, n, sets, missing, known)


plain_weights = st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0])


@st.composite
def polyhedra(draw, n, weights=plain_weights, sets=None):
    k = draw(st.integers(1, 3))
    A = np.array(draw(st.lists(st.lists(weights, min_size=n, max_size=n), min_size=k, max_size=k)))
    if sets:
        A[:, list(sets)] = 0.0
    void = ~A.any(axis=1)
    A[void, next(j for j in range(n) if j not in (sets or {}))] = 2.0
    b = np.array(draw(st.lists(st.sampled_from(KNOTS), min_size=k, max_size=k)))
    strict = draw(st.lists(st.booleans(), min_size=k, max_size=k))
    if draw(st.booleans()):  # the opposite side of a row: a chain or an equality
        A, b, strict = (
            np.vstack([A, -A[-1]]),
            [*b, draw(st.sampled_from([-b[-1], 2.0]))],
            [*strict, strict[-1]],
        )
    free = [j for j in range(n) if j not in (sets or {}) and not A[:, j].any()]
    missing, known = draw(missing_conditions(free))
    return Polyhedron(A, b, strict, sets, missing, known)


@st.composite
def spaces(draw, max_features=4, names=names):
    titles = draw(st.lists(names, min_size=1, max_size=max_features, unique=True))
    lower, upper, categories = [], [], []
    for j in range(len(titles)):
        ends = sorted(draw(st.tuples(finite, finite)))
        lower.append(draw(st.sampled_from([-INF, ends[0]])))
        upper.append(draw(st.sampled_from([INF, ends[1]])))
        kinds = st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True)
        # The first feature measures something, so that an inequality finds a variable.
        categories.append(draw(st.none() | kinds) if j else None)
    integer = draw(st.lists(st.booleans(), min_size=len(titles), max_size=len(titles)))
    units = draw(st.lists(st.none() | names, min_size=len(titles), max_size=len(titles)))
    fill = [
        draw(st.none() | (finite if kinds is None else st.sampled_from(kinds)))
        for kinds in categories
    ]
    return FeatureSpace(titles, lower, upper, integer, categories, units, fill)


@st.composite
def rule_stats(draw):
    rows = draw(st.integers(0, 1000))
    covered = draw(st.integers(0, rows))
    part = st.none() | st.integers(0, covered)
    return RuleStats(rows, covered, draw(part), draw(part))


@st.composite
def rules_over(draw, space, label=labels, bounds=edges, names=names, weights=plain_weights):
    sets = {}
    for j, kinds in enumerate(space.categories):
        if kinds is not None and draw(st.booleans()):
            codes = st.integers(0, len(kinds) - 1)
            sets[j] = draw(st.lists(codes, min_size=1, unique=True))
    # A feature with categories takes no bounds and no weight, named or not.
    barred = {j: [0] for j, kinds in enumerate(space.categories) if kinds is not None}
    shapes = [boxes(len(space), bounds, barred), polyhedra(len(space), weights, sets=barred)]
    region = draw(draw(st.sampled_from(shapes)))
    # What is filled is never missing.
    missing = [j for j in region.missing if space.fill[j] is None]
    words = {"sets": sets, "missing": missing, "known": region.known}
    if isinstance(region, Box):
        region = Box(region.lower, region.upper, region.lower_closed, region.upper_closed, **words)
    else:
        region = Polyhedron(region.A, region.b, region.strict, **words)
        if region.has_unit_rows and region.to_box().is_empty:
            region = Box.from_intervals({}, len(space), sets)
    return Rule(region, draw(label), name=draw(st.none() | names),
        weight=draw(st.floats(0, exclude_min=True, allow_infinity=False)),
        origin=draw(st.sampled_from(["expert", "extracted", "refined"])),
        proof=draw(st.sampled_from(["proved", "observed", None])), stats=draw(st.none() | rule_stats()))  # fmt: skip


@st.composite
def rule_sets(draw, max_rules=4, bounds=edges, names=names, weights=plain_weights):
    space = draw(spaces(names=names))
    # 1, 1.0 and True are one label; the first way of writing it is kept.
    classes = draw(st.lists(labels_with(names), min_size=1, max_size=3, unique=True))
    members = rules_over(space, st.sampled_from(classes), bounds, names, weights)
    members = draw(st.lists(members, max_size=max_rules))
    return RuleSet(members, space, classes)
