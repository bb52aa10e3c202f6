"""Applying many rules to many rows: RuleSet.covers beside pandas.query, rule by rule."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
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


def measure(rows: int) -> tuple[list[str], float]:
    """One row of the table, and how many times faster we are."""
    rules = random_rules()
    X = np.random.default_rng(1).normal(size=(rows, N_FEATURES))
    frame = pd.DataFrame(X, columns=list(rules.space.names))
    queries = as_queries(rules)
    covered = rules.covers(X)
    by_query = np.stack([np.asarray(frame.eval(query)) for query in queries], axis=1)
    assert (covered == by_query).all()
    ours, frames, theirs = race(
        lambda: rules.covers(X),
        lambda: rules.covers(frame),
        lambda: [frame.query(query) for query in queries],
        repeat=3 if rows <= 10_000 else 2,
        least=0.1,
    )
    cells = [
        f"{rows:,}",
        f"{ours:.3f}",
        f"{frames:.3f}",
        f"{theirs:.2f}",
        f"**{theirs / ours:.0f}**",
    ]
    return cells, theirs / ours


def section(full: bool = True) -> Section:
    """The table over numbers of rows."""
    header = ["rows", "covers(array) s", "covers(frame) s", "pandas.query s", "query / covers"]
    measured = {m: measure(m) for m in (10_000, 30_000, *((100_000, 1_000_000) if full else ()))}
    gains = [gain for _, gain in measured.values()]
    return Section(
        "Applying rules",
        f"Which of {N_RULES} rules over {N_FEATURES} features cover which rows? `RuleSet.covers` beside "
        "`pandas.query`, rule by rule; the answers are the same, cell by cell. Seconds of processor time.",
        Table(header, [cells for cells, _ in measured.values()]),
        "`covers` looks every value up once for each feature, however many rules there are.",
        f"`RuleSet.covers` applies {N_RULES} rules {min(gains):.0f} to {max(gains):.0f} times as fast as "
        "`pandas.query`.",
        {f"query / covers at {m:,} rows": Ratio(gain) for m, (_, gain) in measured.items()},
    )
