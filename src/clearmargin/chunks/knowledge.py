"""The rules of all chunks as the knowledge sets of one 1-norm support vector machine.

Data: boxes B_i with signs z_i and evidence e_i, and, where there are any, rows x_j with signs y_j that stand for c_j
rows each; N is the number of rows of all chunks. Variables: weights w, intercept b, errors zeta_i and xi_j::

    minimise    ||w||_1 + (mu / N) (sum_i e_i zeta_i + sum_j c_j xi_j)
    subject to  z_i (w'x + b) + zeta_i >= 1  for all x in B_i
                y_j (w'x_j + b) + xi_j >= 1
                zeta, xi >= 0

This is the knowledge-based SVM (`advice_svm`) with features scaled to [-1, 1] over the ranges of all chunks. Its
optimum is found exactly and rounded once, so that it does not depend on the order of chunks and rows.

**As published** (Fung, Sandilya and Rao, KDD 2005, section 7) B_i is the box of the rule, as wide as all chunks in
every feature that the rule does not mention, and every rule has the same weight. **Ours**: B_i lies within the ranges
of the chunk that it comes from, and in the features that the rule does not mention it is the mean of the rows that the
rule covers. For chunks choose different features, and a rule that has to hold whatever the others are forbids them any
weight, so that w = 0 is optimal. The evidence e_i is the number of rows that the rule is right on minus those that it
is wrong on. Features that no rule mentions get no weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.advice.advice_svm import (
    AdviceProblem,
    BoxPremises,
    Premises,
    scaled_costs,
    solve_advice,
)
from clearmargin.advice.train import Frame
from clearmargin.chunks.chunk_summary import ChunkRules, ChunkSummary
from clearmargin.rules import Box
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["Knowledge", "LocalRows"]


@dataclass(frozen=True, slots=True)
class LocalRows:
    """Rows that are at hand as they are, beside what chunks tell.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.
    codes : ndarray of int of shape (m,)
        Their classes, 0 or 1.
    """

    X: FloatArray
    codes: IntArray


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Boxes and rows of all chunks in one frame, ready to be trained on at any cost.

    Parameters
    ----------
    frame : Frame
        The scale of the features that some rule mentions.
    features : ndarray of int
        Which features these are.
    n_features : int
        Number of all features.
    problem : AdviceProblem
        Boxes and rows, with costs for mu = 1.
    default : float
        The intercept where there is nothing to train on: the sign of the commoner class.

    Examples
    --------
    >>> from clearmargin import Box, FeatureSpace, Rule, RuleSet, RuleStats
    >>> space, stats = FeatureSpace(["age"], [20], [80]), RuleStats(9, covered=3, correct=3)
    >>> rules = [Rule(Box([20], [40]), "young", stats=stats), Rule(Box([60], [80]), "old", stats=stats)]
    >>> chunk = ChunkRules(RuleSet(rules, space, ["young", "old"]), [[30.0], [70.0]], [5, 4])
    >>> Knowledge.of(ChunkSummary([chunk]), "old").plane(1_000.0).round(9).tolist()
    [0.1, -5.0]
    """

    frame: Frame
    features: IntArray
    n_features: int
    problem: AdviceProblem
    default: float

    @classmethod
    def of(
        cls,
        summary: ChunkSummary,
        positive: Label,
        local: LocalRows | None = None,
        *,
        published: bool = False,
    ) -> Knowledge:
        """Put what chunks tell, and rows that are at hand, into one frame.

        Parameters
        ----------
        summary : ChunkSummary
            The chunks.
        positive : label
            The class on the positive side.
        local : LocalRows, optional
            Rows at hand.
        published : bool, default False
            Whether the boxes and weights are those of the paper.

        Returns
        -------
        Knowledge
            The problem.
        """
        space = summary.space
        local = (
            LocalRows(np.zeros((0, len(space))), np.zeros(0, np.intp)) if local is None else local
        )
        mentioned = {j for rule in summary.rules for j in rule.region.bounded}
        features = np.array(sorted(mentioned), dtype=np.intp)
        lower = np.minimum(space.lower, local.X.min(axis=0, initial=np.inf))[features]
        upper = np.maximum(space.upper, local.X.max(axis=0, initial=-np.inf))[features]
        unit = upper / 2 - lower / 2
        unit[unit == 0] = 1.0  # a feature that never varies
        frame = Frame(lower, upper, lower / 2 + upper / 2, unit, ())
        total = summary.n_rows + len(local.codes)
        boxes = _boxes(summary, positive, (space.lower, space.upper), published=published)
        points, signs, weights = _points(summary, positive, local)
        low, high = (frame.scaled(side[:, features]) for side in boxes[:2])
        premises = BoxPremises((low + high) / 2, (high - low) / 2, boxes[2], boxes[3] / total)
        problem = AdviceProblem(
            frame.scaled(points[:, features]),
            signs,
            weights / total,
            Premises.stack([], [], [], n_features=len(features)),
            premises,
        )
        of_positive = summary.counts.get(positive, 0) + int(local.codes.sum())
        default = 1.0 if 2 * of_positive > total else -1.0
        return cls(frame, features, len(space), problem, default)

    def plane(self, mu: float) -> FloatArray:
        """Train at a cost.

        Parameters
        ----------
        mu : float
            The cost of the errors of all rows together.

        Returns
        -------
        ndarray of shape (n + 1,)
            Weights in the user's units and, last, the intercept.
        """
        plane = np.zeros(self.n_features + 1)
        plane[-1] = self.default
        if len(self.features) and (len(self.problem.boxes) or len(self.problem.y)):
            found = solve_advice(scaled_costs(self.problem, mu, mu))
            plane[self.features], plane[-1] = self.frame.user_plane(found.w, found.b)
        return plane


def _boxes(
    summary: ChunkSummary,
    positive: Label,
    ranges: tuple[FloatArray, FloatArray],
    *,
    published: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Lower and upper bounds of all boxes, their signs and their evidence; boxes without evidence are left out."""
    n, count = len(ranges[0]), len(summary.rules)
    lows: list[FloatArray] = []
    highs: list[FloatArray] = []
    signs: list[float] = []
    evidence: list[float] = []
    for chunk in summary.chunks:
        weights = np.full(len(chunk.rules), summary.n_rows / max(1, count))
        if not published:
            weights = chunk.evidence.astype(np.float64)
        for k in np.flatnonzero(weights).tolist():
            lower, upper = _bounds(chunk, k, ranges, published=published)
            lows.append(lower)
            highs.append(upper)
            signs.append(1.0 if chunk.rules[k].label == positive else -1.0)
            evidence.append(float(weights[k]))
    low = np.array(lows, dtype=np.float64).reshape(-1, n)
    high = np.array(highs, dtype=np.float64).reshape(-1, n)
    return low, high, np.array(signs), np.array(evidence)


def _bounds(
    chunk: ChunkRules, k: int, ranges: tuple[FloatArray, FloatArray], *, published: bool
) -> tuple[FloatArray, FloatArray]:
    region, space = chunk.rules[k].region, chunk.rules.space
    assert isinstance(region, Box)  # of a plane
    if published:
        return np.maximum(region.lower, ranges[0]), np.minimum(region.upper, ranges[1])
    low, high = chunk.means[k].copy(), chunk.means[k].copy()
    mentioned = list(region.bounded)
    low[mentioned] = np.maximum(region.lower, space.lower)[mentioned]
    high[mentioned] = np.minimum(region.upper, space.upper)[mentioned]
    return low, high


def _points(
    summary: ChunkSummary, positive: Label, local: LocalRows
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All rows with their signs, and how many rows each of them stands for."""
    points, signs, weights = (
        [local.X],
        [np.where(local.codes == 1, 1.0, -1.0)],
        [np.ones(len(local.X))],
    )
    for chunk in summary.chunks:
        labels = [chunk.rules.classes[label] for label in chunk.labels]
        points.append(chunk.rows)
        signs.append(np.where([label == positive for label in labels], 1.0, -1.0))
        weights.append(np.full(len(labels), chunk.stands_for / max(1, len(labels))))
    return np.concatenate(points), np.concatenate(signs), np.concatenate(weights)
