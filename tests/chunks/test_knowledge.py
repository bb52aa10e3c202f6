"""The machine of the rules of all chunks, against a linear program over all corners of all boxes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin import Box, ChunkSummary, FeatureSpace, Rule, RuleSet, RuleStats
from clearmargin.chunks import ChunkRules
from clearmargin.chunks.knowledge import Knowledge, LocalRows


def best_objective(boxes, points, unit, mu):
    """The optimum, every corner of every box a constraint of its own, features scaled by their half ranges."""
    n, errors = len(unit), len(boxes) + len(points)
    cost = np.concatenate(
        [np.ones(2 * n), [0.0], mu * np.array([w for *_, w in [*boxes, *points]])]
    )
    rows = []
    for k, (low, high, sign, _) in enumerate(boxes):
        corners = product(*zip(low, high, strict=True))
        rows += [(np.array(corner), sign, k) for corner in corners]
    rows += [(x, sign, len(boxes) + j) for j, (x, sign, _) in enumerate(points)]
    A = np.zeros((len(rows), 2 * n + 1 + errors))
    for row, (x, sign, k) in zip(A, rows, strict=True):
        row[:n], row[n : 2 * n], row[2 * n] = -sign * x / unit, sign * x / unit, -sign
        row[2 * n + 1 + k] = -1.0
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * errors
    return linprog(cost, A, -np.ones(len(rows)), bounds=bounds).fun


def objective(plane, boxes, points, unit, mu):
    w, b = plane[:-1], plane[-1]
    total = np.abs(w * unit).sum()
    for low, high, sign, weight in boxes:
        worst = min(sign * (np.array(x) @ w + b) for x in product(*zip(low, high, strict=True)))
        total += mu * weight * max(0.0, 1.0 - worst)
    return total + sum(mu * c * max(0.0, 1.0 - s * (x @ w + b)) for x, s, c in points)


@st.composite
def problems(draw):
    number = st.integers(0, 40)
    rules, means = [], []
    for _ in range(draw(st.integers(2, 5))):
        low = [draw(number) / 4, draw(number) / 4]
        named = draw(st.sampled_from([(0,), (1,), (0, 1)]))
        lower = [low[j] if j in named else -np.inf for j in (0, 1)]
        upper = [low[j] + 1.5 if j in named else np.inf for j in (0, 1)]
        covered = draw(st.integers(1, 9))
        stats = RuleStats(20, covered, correct=draw(st.integers(0, covered)))
        rules.append(Rule(Box(lower, upper), draw(st.sampled_from(["no", "yes"])), stats=stats))
        means.append([draw(number) / 4, draw(number) / 4])
    rows = [[draw(number) / 4, draw(number) / 4] for _ in range(draw(st.integers(0, 2)))]
    labels = [draw(st.integers(0, 1)) for _ in rows]
    return rules, means, rows, labels


@given(problems(), st.booleans(), st.sampled_from([3.0, 300.0]))
def test_the_plane_is_the_optimum_over_all_corners(problem, published, mu):
    rules, means, rows, labels = problem
    space = FeatureSpace(["a", "b"], [0.0, 0.0], [10.0, 11.0])
    chunk = ChunkRules(
        RuleSet(rules, space, ["no", "yes"]),
        means,
        [10, 10],
        rows=rows,
        labels=labels,
        stands_for=3 * len(rows),
    )
    local = LocalRows(np.array([[2.0, 2.0], [9.0, 12.0]]), np.array([0, 1]))
    plane = Knowledge.of(ChunkSummary([chunk]), "yes", local, published=published).plane(mu)
    mentioned = sorted({j for rule in rules for j in rule.region.bounded})
    boxes = []
    for rule, mean in zip(rules, means, strict=True):
        far = ([0.0, 0.0], [10.0, 11.0]) if published else (mean, mean)
        named = rule.region.bounded
        low = [max(rule.region.lower[j], 0.0) if j in named else far[0][j] for j in (0, 1)]
        high = [
            min(rule.region.upper[j], space.upper[j]) if j in named else far[1][j] for j in (0, 1)
        ]
        net = max(0, 2 * rule.stats.correct - rule.stats.covered)
        weight = 20 / len(rules) if published else net
        sign = 1.0 if rule.label == "yes" else -1.0
        boxes.append((low, high, sign, weight / 22))
    points = [(np.array(x), 2.0 * c - 1.0, 3 / 22) for x, c in zip(rows, labels, strict=True)]
    points += [(local.X[0], -1.0, 1 / 22), (local.X[1], 1.0, 1 / 22)]
    # Own rows widen the range of b to 12; features that no rule mentions have no weight.
    unit = np.array([5.0, 6.0])
    assert plane[[j for j in (0, 1) if j not in mentioned]].tolist() == [0.0] * (2 - len(mentioned))
    kept = [([b[0][j] for j in mentioned], [b[1][j] for j in mentioned], *b[2:]) for b in boxes]
    seen = [(x[mentioned], *more) for x, *more in points]
    best = best_objective(kept, seen, unit[mentioned], mu)
    assert objective(plane, boxes, points, unit, mu) == pytest.approx(best, rel=1e-7, abs=1e-9)


def test_without_rules_and_rows_the_commoner_class_is_predicted():
    space = FeatureSpace(["a"], [0.0], [1.0])
    few = ChunkRules(RuleSet([], space, ["no", "yes"]), [], [2, 3])
    summary = ChunkSummary([few])
    assert Knowledge.of(summary, "yes").plane(10.0).tolist() == [0.0, 1.0]
    local = LocalRows(np.array([[0.0], [1.0]]), np.array([0, 0]))
    assert Knowledge.of(summary, "yes", local).plane(10.0).tolist() == [0.0, -1.0]
