"""Applying many rules to many rows: RuleSet.covers beside pandas.query and numpy masks, rule by rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet

N_RULES, N_FEATURES = 200, 10
# A column, and the ends of the half-open interval that a rule allows in it.
Bound = tuple[int, float, float]


def random_rules(seed: int = 0) -> RuleSet:
    """Boxes with bounds on about half of the features."""
    rng = np.random.default_rng(seed)
    space = FeatureSpace([f"x{j}" for j in range(N_FEATURES)])
    rules = []
    for _ in range(N_RULES):
        low, high = np.sort(rng.normal(scale=1.5, size=(2, N_FEATURES)), axis=0)
        free = rng.random(N_FEATURES) < 0.5
        free[rng.integers(N_FEATURES)] = False  # pandas takes no empty expression
        low, high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
        rules.append(Rule(Box(low, high, upper_closed=False), "in"))
    return RuleSet(rules, space)


def as_bounds(rules: RuleSet) -> list[list[Bound]]:
    """The same rules as bounds on the columns that each names."""
    found = []
    for rule in rules:
        box = rule.region
        assert isinstance(box, Box)
        found.append([(int(j), float(box.lower[j]), float(box.upper[j])) for j in box.bounded])
    return found


def as_queries(rules: RuleSet) -> list[str]:
    """The same rules as expressions for pandas."""
    return [
        " and ".join(f"{low!r} <= x{j} < {high!r}" for j, low, high in bounds)
        for bounds in as_bounds(rules)
    ]


def by_masks(bounds: Sequence[Sequence[Bound]], X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rules cover which rows, by comparisons on the columns that each rule names."""
    # Columns and answers each in one piece, as someone in a hurry would lay them out.
    columns = np.ascontiguousarray(X.T)
    covered = np.ones((len(bounds), len(X)), dtype=np.bool_)
    for k, rule in enumerate(bounds):
        for j, low, high in rule:
            covered[k] &= columns[j] >= low
            covered[k] &= columns[j] < high
    return covered.T


def measure(rows: int) -> tuple[list[str], float, float, float]:
    """One row of the table, how many times faster than pandas and masks we are, and the seconds of pandas."""
    rules = random_rules()
    X = np.random.default_rng(1).normal(size=(rows, N_FEATURES))
    frame = pd.DataFrame(X, columns=list(rules.space.names))
    bounds, queries = as_bounds(rules), as_queries(rules)
    covered = rules.covers(X)
    by_query = np.stack([np.asarray(frame.eval(query)) for query in queries], axis=1)
    assert (covered == by_query).all()
    assert (covered == by_masks(bounds, X)).all()
    # What `DataFrame.query` asks before it copies the rows that fit, which is not asked for here.
    ours, frames, theirs, masks = race(
        lambda: rules.covers(X),
        lambda: rules.covers(frame),
        lambda: [frame.eval(query) for query in queries],
        lambda: by_masks(bounds, X),
        repeat=3 if rows <= 10_000 else 2,
        least=0.1,
    )
    cells = [
        f"{rows:,}",
        f"{ours:.3f}",
        f"{frames:.3f}",
        f"{theirs:.2f}",
        f"{masks:.3f}",
        f"**{theirs / frames:.0f}**",
        f"**{masks / ours:.1f}**",
    ]
    return cells, theirs / frames, masks / ours, theirs


def section(full: bool = True) -> Section:
    """The table over numbers of rows."""
    header = ["rows", "covers(array) s", "covers(frame) s", "pandas eval s", "numpy masks s"]
    header += ["eval / covers(frame)", "numpy masks / covers(array)"]
    sizes = [10_000, 30_000, *([100_000, 1_000_000] if full else [])]
    measured = {m: measure(m) for m in sizes}
    ratios = {}
    for m, (_, over_query, over_masks, _) in measured.items():
        ratios[f"eval / covers(frame) at {m:,} rows"] = Ratio(over_query)
        ratios[f"numpy masks / covers at {m:,} rows"] = Ratio(over_masks)
    _, queries, masks, seconds = zip(*measured.values(), strict=True)
    return Section(
        "Applying rules",
        f"Which of {N_RULES} rules over {N_FEATURES} features cover which rows? `RuleSet.covers` beside "
        "`DataFrame.eval`, rule by rule, which `query` asks for the rows that it copies, and beside numpy masks: a "
        "loop over the rules that compares the columns which each rule names. The answers are the same, cell by cell. "
        "Seconds of processor time.",
        Table(header, [cells for cells, *_ in measured.values()]),
        "`covers` looks every value up once for each feature, however many rules there are. For "
        f"{sizes[-1] / sizes[0]:.0f} times the rows `eval` takes {seconds[-1] / seconds[0]:.1f} times as long: "
        "on few rows it is busy with each expression more than with the rows, which numpy masks are not.",
        f"`RuleSet.covers` applies {N_RULES} rules {min(queries):.0f} to {max(queries):.0f} times as fast as "
        f"`DataFrame.eval` and {min(masks):.1f} to {max(masks):.1f} times as fast as a loop of numpy masks.",
        ratios,
    )
