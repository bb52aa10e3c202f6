"""Rule sets, weighted rules and cards with hostile names, and rows that stand on every bound of them."""

import itertools
import math

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from clearmargin.language import parse_rules
from clearmargin.points import LinearTerm, Proof, Scorecard
from clearmargin.rules import Box, FeatureSpace, Interval, Polyhedron, Rule, RuleSet

LARGEST = float(np.finfo(np.float64).max)
HOSTILE = (
    'a"b', "it's", "x'; DROP TABLE source; --", "select", "back`quote", "back\\slash", "two\nlines", "tab\t!",
    "{} {0} %s $1 ?1 :p @x", "row", "x1", "class", "ünï cødé 日本 \U0001f600", "[x]", "<b>&amp;</b>", "=1+1",
    "prediction_", '"""', "_number", "float", " ", "sum1", "1", "a|b", "~~x~~ *y* $z$", "NULL", "#N/A",
)  # fmt: skip
NUMBERS = (
    -2.0, -1.0, 0.0, 0.1, 0.3, 1.0, 30.5, 208.3528664670403, 1e-7, 25.34217322269396, 9.816658338180532e-294,
    2.0**53, 2.0**60 + 2.0**10, math.nextafter(0.3, 0), 5e-324, -5e-324, 2.2250738585072009e-308, 1e308,
    LARGEST, -LARGEST,
)  # fmt: skip
UNKNOWN = "no such category"

texts = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=6
)
numbers = st.sampled_from(NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
labels = st.one_of(st.lists(texts, min_size=1, max_size=3, unique=True),
    st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=3, unique=True),
    st.lists(numbers, min_size=1, max_size=3, unique=True), st.just([False, True]),
    st.just(["well", 1, 0.5]))  # fmt: skip


@st.composite
def spaces(draw):
    fold = lambda name: name.strip().casefold()
    names = draw(st.lists(texts, min_size=1, max_size=4, unique_by=fold))
    kinds = st.lists(texts, min_size=1, max_size=4, unique_by=lambda kind: kind.rstrip(" "))
    # The first feature measures something, so that a weighted sum finds a variable.
    categories = [draw(st.none() | kinds) if j else None for j in range(len(names))]
    known = [numbers if kinds is None else st.sampled_from(kinds) for kinds in categories]
    fill = [draw(values) if draw(st.integers(0, 3)) == 0 else None for values in known]
    return FeatureSpace(names, categories=categories, fill=fill)


def missing_conditions(draw, space, used):
    """Of the features without another condition, some that must be missing and some that must not."""
    free = [j for j in range(len(space)) if j not in used and draw(st.integers(0, 2)) == 0]
    absent = [j for j in free if space.fill[j] is None and draw(st.booleans())]
    return {"missing": absent, "known": [j for j in free if j not in absent]}


@st.composite
def regions(draw, space):
    codes = {j: st.integers(0, len(kinds) - 1) for j, kinds in enumerate(space.categories) if kinds}
    sets = {
        j: draw(st.lists(each, min_size=1, unique=True))
        for j, each in codes.items()
        if draw(st.booleans())
    }
    measured = [j for j, kinds in enumerate(space.categories) if kinds is None]
    if draw(st.integers(0, 2)) == 0:
        weights = st.sampled_from([-3.0, -1.0, 0.0, 0.1, 0.3, 1.0, 1e-7, 1e200])
        A = np.zeros((draw(st.integers(1, 2)), len(space)))
        A[:, measured] = [[draw(weights) for _ in measured] for _ in A]
        A[~A.any(axis=1), 0] = 0.7
        b = [draw(st.sampled_from([-1.0, 0.0, 0.3, 0.1 + 0.2, 7.0])) for _ in A]
        more = missing_conditions(draw, space, {*sets, *np.flatnonzero(A.any(axis=0)).tolist()})
        region = Polyhedron(A, b, [draw(st.booleans()) for _ in A], sets, **more)
        if not (region.has_unit_rows and region.to_box().is_empty):
            return region
    intervals = {}
    for j in measured:
        low, high = sorted([draw(numbers), draw(numbers)])
        closed = draw(st.sampled_from(["left", "right", "both", "neither"]))
        if draw(st.integers(0, 2)):
            interval = Interval(-math.inf if draw(st.integers(0, 3)) == 0 else low,
                math.inf if draw(st.integers(0, 3)) == 0 else high, closed)  # fmt: skip
            intervals[j] = Interval(low, high, "both") if interval.is_empty else interval
    more = missing_conditions(draw, space, {*sets, *intervals})
    return Box.from_intervals(intervals, len(space), sets, **more)


@st.composite
def rule_sets(draw):
    space = draw(spaces())
    classes = draw(labels)
    drawn = [draw(regions(space)) for _ in range(draw(st.integers(1, 4)))]
    return RuleSet([Rule(each, draw(st.sampled_from(classes))) for each in drawn], space, classes)


@st.composite
def weighted_rules(draw):
    """Rules with weights: two classes or more, linear terms or none, any threshold."""
    rules = draw(rule_sets())
    classes = draw(labels.filter(lambda found: len(found) > 1))
    members = [Rule(rule.region, draw(st.sampled_from(classes))) for rule in rules]
    points = st.sampled_from([-3.0, -0.1, 0.0, 0.1, 0.2, 0.3, 1.0, 1e-7, 7.0])
    outputs = 1 if len(classes) == 2 else len(classes)
    shape = () if outputs == 1 else (outputs,)

    def numbers_of(*size):
        count = int(np.prod(size, dtype=int))
        return np.array([draw(points) for _ in range(count)]).reshape(size)

    linear = []
    for j, (kinds, fill) in enumerate(zip(rules.space.categories, rules.space.fill, strict=True)):
        is_huge = isinstance(fill, float) and abs(fill) > 1e9
        if draw(st.integers(0, 2)) == 0 and not is_huge:
            coef = numbers_of(*shape, *(() if kinds is None else (len(kinds),)))
            linear.append(LinearTerm(j, coef, draw(points) if kinds is None else None))
    return Scorecard(RuleSet(members, rules.space, classes), numbers_of(*shape, len(members)), numbers_of(*shape),
        linear, draw(points) if outputs == 1 else 0.0)  # fmt: skip


def _pool(rules, j):
    """Values of a feature that any rule could trip over, as the codes that rules read."""
    kinds = rules.space.categories[j]
    if kinds is not None:
        return [*map(float, range(len(kinds))), -1.0, math.nan]
    bounds = {0.0, 1.0}
    for rule in rules:
        if isinstance(rule.region, Box):
            bounds |= {float(rule.region.lower[j]), float(rule.region.upper[j])}
        else:
            for row, limit in zip(rule.region.A, rule.region.b, strict=True):
                with np.errstate(over="ignore"):
                    bounds |= {float(limit / row[j])} if row[j] else set()
    around = {math.nextafter(b, end) for b in bounds for end in (b, -9e999, 9e999)}
    return [*sorted(around), -0.0, math.inf, -math.inf, math.nan, LARGEST, -LARGEST]


def _on_the_planes(rules, X, rng):
    """Rows moved onto the border of a weighted sum, and to the next floats beside it."""
    moved = []
    for rule in rules:
        if not isinstance(rule.region, Polyhedron):
            continue
        for row, limit in zip(rule.region.A, rule.region.b, strict=True):
            used = np.flatnonzero(row)
            last = rng.choice(used)
            rest = [j for j in used if j != last]
            for x in X[np.isfinite(X).all(axis=1)][:20]:
                with np.errstate(all="ignore"):
                    border = (limit - sum(row[j] * x[j] for j in rest)) / row[last]
                if math.isfinite(border):
                    for value in (border, math.nextafter(border, 9e999),
                        math.nextafter(border, -9e999)):  # fmt: skip
                        point = x.copy()
                        point[last] = value
                        moved.append(point)
    return np.array(moved).reshape(-1, X.shape[1])


def rows_around(rules, seed=0, count=120):
    """Rows of codes for `RuleSet.predict`, and the same rows as mappings from name to value for the exports."""
    rng = np.random.default_rng(seed)
    pools = [_pool(rules, j) for j in range(len(rules.space))]
    random = np.array([[rng.choice(pool) for pool in pools] for _ in range(count)])
    inside = [next((v for v in pool if math.isfinite(v)), 0.0) for pool in pools]
    stars = np.array(
        [[*inside[:j], value, *inside[j + 1 :]] for j, pool in enumerate(pools) for value in pool]
    )
    X = np.concatenate([random, stars])
    X = np.concatenate([X, _on_the_planes(rules, X, rng)])
    return X, [_named(rules.space, x) for x in X.tolist()]


def rows_of(weighted, seed=0, count=80):
    """Rows around the rules of weighted rules; numbers with a linear term are of moderate size.

    Where infinities cancel a score is no number, and languages differ in how such a one compares.
    """
    X, _ = rows_around(weighted.rules, seed, count)
    for term in weighted.linear:
        if term.fill is not None:
            X[np.abs(X[:, term.feature]) > 1e9, term.feature] = 0.75
    return X, [_named(weighted.space, x) for x in X.tolist()]


def _named(space, x):
    row = {}
    for name, kinds, value in zip(space.names, space.categories, x, strict=True):
        if kinds is None:
            row[name] = value
        elif math.isnan(value):
            row[name] = None
        else:
            row[name] = kinds[int(value)] if value >= 0 else UNKNOWN
    return row


def gappy_rules():
    """Every condition on missing values, beside columns that no rule has a condition on, and values that are filled."""
    return parse_rules(
        """
feature bmi: fill 32.5
feature age
feature smoker: in {no, yes} fill yes
feature job: in {`a job`, none}
feature unused
feature other: in {u, v}
age is missing and job is not missing and bmi > 32 => refer
age is missing and job is missing => ask
smoker = yes and age >= 60 => ill
bmi + 2*age <= 100 and smoker is not missing => well
job in {none} and age is not missing => ill
age < 30 => well
"""
    )


def hostile_rules():
    """One rule set in which every hostile text is a feature, a category and a class."""
    n = len(HOSTILE)
    names = [*HOSTILE, "kind"]
    space = FeatureSpace(names, categories={"kind": HOSTILE})
    members = []
    for j, label in enumerate(HOSTILE):
        box = Box.from_intervals({j: Interval(j, math.inf)}, n + 1, {n: [j, (j + 1) % n]})
        members.append(Rule(box, label, name=label))
        A = np.zeros((1, n + 1))
        A[0, [j, (j + 1) % n]] = 0.1, -0.3
        members.append(Rule(Polyhedron(A, [-7.0]), HOSTILE[j - 1]))
    return RuleSet(members, space, HOSTILE)


def every_end():
    """Boxes with all kinds of ends at numbers of all kinds."""
    members = []
    for k, (low, high) in enumerate(itertools.pairwise(sorted(NUMBERS))):
        closed = ("left", "right", "both", "neither")[k % 4]
        box = Box.from_intervals({0: Interval(low, high, closed), 1: Interval(high, 9e999)}, 2)
        members.append(Rule(box, f"class {k}"))
    return RuleSet(members, FeatureSpace(["x", "y"]))


_WEIGHTED = """
feature bmi: fill 32.5
feature age
feature smoker: in {no, yes, ex}
feature job: in {`a job`, none}
bmi >= 30 and smoker in {yes, ex} => ill
age is missing => ill
age < 40 and job is not missing => well
0.5*age + bmi <= 60 => well
"""


def two_weighted_classes():
    """A threshold other than 0, linear terms of a number and of categories, and missing values everywhere."""
    rules = parse_rules(_WEIGHTED, classes=["well", "ill"])
    linear = [LinearTerm(1, 0.1, 41.7), LinearTerm(2, [0.0, 0.3, -0.3])]
    return Scorecard(rules, [0.1, 0.2, -0.3, -1.7], -4.2, linear, 0.3)


def three_weighted_classes():
    """Scores of three classes, which tie in some rows."""
    rules = parse_rules(_WEIGHTED, classes=["well", "ill", "refer"])
    weights = [[0.1, 0.2, 0.3, 0.0], [-0.1, 0.2, 0.0, 0.4], [0.7, 0.0, 0.0, -0.1]]
    linear = [LinearTerm(3, [[0.0, 0.1], [0.2, 0.0], [0.0, 0.0]])]
    return Scorecard(rules, weights, [0.1, 0.2, 0.1], linear)


def proof_card(classes=("well", "ill"), job='it"s'):
    space = FeatureSpace(["age", "job's", "rate", "idle"], [20.0, -np.inf, 0.1, 0.0], [80.0, np.inf, 0.9, 1.0],
        [True, False, False, False], [None, ["clerk", job, "smith", "a|b"], None, None],
        fill=[45.0, "smith", None, None])  # fmt: skip
    cells = [
        (0, (20.0, 49.0), 0, 4), (0, (50.0, 80.0), 5, 9), (0, None, 3, 3),
        (1, [0, 2], 0, 0), (1, [1, 3], 6, 7), (1, None, 0, 0),
        (2, (0.1, 0.3, "left"), 0, 2), (2, (0.3, 0.7, "left"), 2, 4), (2, (0.7, 0.9), 4, 5), (3, (0.0, 1.0), 0, 0),
    ]  # fmt: skip
    return card_of_cells(cells, (7, 12), space.with_fill(None), classes)


def card_of_cells(cells, limits, space, classes=("well", "ill"), **more):
    """A card with proof of cells: the feature, an interval, codes or None for missing, points at least and at most."""
    n, rules = len(space), []
    for j, what, *_ in cells:
        if what is None:
            box = Box.from_intervals({}, n, missing=[j])
        elif isinstance(what, list):
            box = Box.from_intervals({}, n, {j: what})
        else:
            box = Box.from_intervals({j: Interval(*what)}, n)
        rules.append(Rule(box, classes[1]))
    proof = Proof([cell[2] for cell in cells], [cell[3] for cell in cells], limits, **more)
    return Scorecard.of_proof(RuleSet(rules, space, classes), proof)


def rows_of_card(card, seed, m=60):
    """Rows at the ends of cells, beside them and beyond, with missing values and unknown categories."""
    rng = np.random.default_rng(seed)
    columns = {}
    for j, name in enumerate(card.space.names):
        known = card.space.categories[j]
        if known is not None:
            choice = [*known, *known, *known, None, "queen"]
            columns[name] = [choice[k] for k in rng.integers(0, len(choice), size=m)]
            continue
        low, high = card.space.lower[j], card.space.upper[j]
        boxes = [rule.region for rule in card.rules if rule.region.has_bounds(j)]
        ends = np.array([end for box in boxes for end in (box.lower[j], box.upper[j])])
        beside = [np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf), ends - 1]
        inner = np.round(rng.uniform(low, high, size=60), 0 if card.space.integer[j] else 2)
        choice = np.concatenate([ends, ends, *beside, inner, [np.nan, np.inf]])
        columns[name] = rng.choice(choice, size=m).tolist()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return pd.DataFrame(columns), rows
