"""A rule with linear conditions as a small decision tree that comes close to it, for people who read trees.

A premise is sampled in three ways, a third each: all over the domain of the model, in and around the smallest box that
holds the premise, and in the premise itself; the rows of the data come on top. Conditions on one feature become the
first questions of the tree, as they are. Below them, a tree of scikit-learn learns which points satisfy the conditions
on several features, and its thresholds are rounded. How well the finished tree agrees with the premise is then measured
on sampled points that it has not seen, and on the rows of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.assess import tight_intervals
from clearmargin.advice.encoding import Premise
from clearmargin.advice.fitted import FittedAdvice
from clearmargin.advice.frame import Frame
from clearmargin.advice.outcome import Verdict
from clearmargin.advice.tree import RuleTree, fit_tree
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.rule import Label

__all__ = ["RuleTrees", "rule_trees"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Of the width of the box around a premise, sampled on either side of it as well.
_AROUND = 0.25
# A premise may fill so little of its box that points in it are rare; this often we try again.
_MOST_TRIES = 40


@dataclass(frozen=True, slots=True)
class RuleTrees:
    """A rule before and after training, each as a small decision tree.

    Parameters
    ----------
    name : str
        What the rule is called.
    label : str, int, float or bool
        Its class.
    verdict : str
        What became of it.
    before, after : RuleTree
        The trees. Of a rejected rule, `after` is the last form in which it still had points.
    text_before, text_after : str
        The rule itself in the rule language.

    Examples
    --------
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0], [35.0], [50.0], [60.0]]
    >>> model = AdviceSVC("x0 >= 31 => ill", lam=10.0).fit(X, ["well", "ill", "ill", "ill"])
    >>> trees = rule_trees(model, X=X)
    >>> trees.verdict, trees.before.root == trees.after.root
    ('kept', True)
    """

    name: str
    label: Label
    verdict: Verdict
    before: RuleTree
    after: RuleTree
    text_before: str
    text_after: str

    def __str__(self) -> str:
        return "\n".join(
            [
                f"before  {self.text_before}",
                str(self.before),
                f"after   {self.text_after}  ({self.verdict})",
                str(self.after),
            ]
        )


def rule_trees(
    model: Any,
    rule: str | int = 0,
    X: Any = None,
    *,
    max_depth: int = 3,
    n_samples: int = 3000,
    random_state: int | None = 0,
) -> RuleTrees:
    """Say a rule, as it was given and as it was refined, as two small decision trees.

    Parameters
    ----------
    model : AdviceSVC
        Fitted.
    rule : str or int, default 0
        Name of the rule, or its position in `outcome_`.
    X : data frame or array-like of shape (m, n)
        The rows that the model was trained with; their ranges say where cases live.
    max_depth : int, default 3
        Most questions one after the other that stand for conditions on several features. Conditions on one feature
        are asked before those, exactly as they are.
    n_samples : int, default 3000
        Number of points to learn a tree from, besides the rows of X; as many measure how well it agrees.
    random_state : int or None, default 0
        Seed of the samples; with None each call has its own.

    Returns
    -------
    RuleTrees
        Both trees; print them. Each says how well it agrees with its rule.

    Examples
    --------
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0, 0.1], [35.0, 0.7], [50.0, 0.4], [60.0, 0.9]]
    >>> model = AdviceSVC("x0 >= 31 and x1 >= 0.5 => ill").fit(X, ["well", "ill", "well", "ill"])
    >>> print(rule_trees(model, X=X).after)
    x0 >= 31?
      yes: x1 >= 0.5?
        yes: ill
        no: silent
      no: silent
    agrees with the rule on 100 % of the points in it and 100 % of those outside
    """
    for what, count, least in (("max_depth", max_depth, 1), ("n_samples", n_samples, 30)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
            raise InvalidValueError(f"{what} must be a whole number from {least}, not {count!r}")
    if X is None:
        raise InvalidValueError(
            "rule_trees needs X, the rows the model was trained with: their ranges say where to look"
        )
    advice = FittedAdvice.of(model, X)
    k = advice.find(rule)
    frame = Frame.around(advice.columns, advice.before, advice.points, scale="range", bounds="data")
    outcome = advice.outcome[k]
    trees = [
        _tree_of(premise, advice, frame, outcome.after.label, max_depth, n_samples, random_state)
        for premise in (advice.before[k], advice.after[k])
    ]
    return RuleTrees(
        name=advice.name_of(k),
        label=outcome.after.label,
        verdict=outcome.verdict,
        before=trees[0],
        after=trees[1],
        text_before=outcome.text_before,
        text_after=outcome.text_after,
    )


def _tree_of(
    premise: Premise,
    advice: FittedAdvice,
    frame: Frame,
    label: Label,
    max_depth: int,
    n_samples: int,
    random_state: int | None,
) -> RuleTree:
    rng = np.random.default_rng(random_state)
    assert advice.points is not None
    learned, unseen = (
        np.concatenate([_sample(premise, frame, n_samples, rng), advice.points]) for _ in range(2)
    )
    return fit_tree(premise, advice.names, label, learned, unseen, max_depth)


def _sample(premise: Premise, frame: Frame, count: int, rng: np.random.Generator) -> FloatArray:
    """Points all over the domain, around the premise, and in it, as far as any are found."""
    third = count // 3
    low, high = _box_around(premise, frame)
    width = _AROUND * (high - low)
    inner, outer = np.maximum(low - width, frame.lower), np.minimum(high + width, frame.upper)
    found = np.empty((0, len(low)))
    for _ in range(_MOST_TRIES):
        tried = _uniform(low, high, frame, count, rng)
        found = np.concatenate([found, tried[premise.covers(tried)]])
        if len(found) >= third:
            break
    return np.concatenate(
        [
            _uniform(frame.lower, frame.upper, frame, count - 2 * third, rng),
            _uniform(inner, outer, frame, third, rng),
            found[:third],
        ]
    )


def _box_around(premise: Premise, frame: Frame) -> tuple[FloatArray, FloatArray]:
    """The smallest box in the domain that holds the premise; the domain, where it misses that."""
    used = np.flatnonzero((premise.D != 0).any(axis=0))
    low, high = frame.lower.copy(), frame.upper.copy()
    tight = tight_intervals(premise, frame, used)
    inside = np.clip(tight, frame.lower[used], frame.upper[used])
    # Solvers are right to 1e-7 or so of the range; a little wider is no less true.
    slack = 1e-6 * frame.unit[used]
    if (inside[0] <= inside[1] + slack).all():
        low[used] = np.maximum(inside[0] - slack, low[used])
        high[used] = np.minimum(inside[1] + slack, high[used])
    return low, high


def _uniform(
    low: FloatArray, high: FloatArray, frame: Frame, count: int, rng: np.random.Generator
) -> FloatArray:
    """Uniform points of a box; of the columns of a category exactly one is 1."""
    points: FloatArray = rng.uniform(low, high, (count, len(low)))
    for group in frame.groups:
        chosen = rng.integers(len(group), size=count)
        points[:, list(group)] = np.arange(len(group)) == chosen[:, None]
    return points
