"""Applying many rules to many rows: RuleSet.covers beside pandas.query, rule by rule."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.page import Section, Table, best_time
from clearmargin.core import Box, FeatureSpace, Rule, RuleSet

N_RULES, N_FEATURES = 200, 10


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


def as_queries(rules: RuleSet) -> list[str]:
    """The same rules as expressions for pandas."""
    queries = []
    for rule in rules:
        box = rule.region
        assert isinstance(box, Box)
        parts = [f"{float(box.lower[j])!r} <= x{j} < {float(box.upper[j])!r}" for j in box.bounded]
        queries.append(" and ".join(parts))
    return queries


def measure(rows: int) -> list[str]:
    """One row of the table."""
    rules = random_rules()
    X = np.random.default_rng(1).normal(size=(rows, N_FEATURES))
    frame = pd.DataFrame(X, columns=list(rules.space.names))
    queries = as_queries(rules)
    covered = rules.covers(X)
    by_query = np.stack([np.asarray(frame.eval(query)) for query in queries], axis=1)
    assert (covered == by_query).all()
    ours = best_time(lambda: rules.covers(X), 5)
    frames = best_time(lambda: rules.covers(frame), 5)
    theirs = best_time(lambda: [frame.query(query) for query in queries], 1)
    return [
        f"{rows:,}",
        f"{ours:.3f}",
        f"{frames:.3f}",
        f"{theirs:.2f}",
        f"**{theirs / ours:.0f}**",
    ]


def section() -> Section:
    """The table over numbers of rows."""
    header = ["rows", "covers(array) s", "covers(frame) s", "pandas.query s", "query / covers"]
    return Section(
        "Applying rules",
        f"Which of {N_RULES} rules over {N_FEATURES} features cover which rows? `RuleSet.covers` beside "
        "`pandas.query`, rule by rule; the answers are the same, cell by cell.",
        Table(header, [measure(rows) for rows in (10_000, 100_000)]),
        "`covers` looks every value up once for each feature, however many rules there are.",
    )
