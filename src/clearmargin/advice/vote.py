"""The vote of the rules as a plane: what advice says on the average, without any label.

Constraints read advice in the worst case: somewhere in the premise of each rule is a case at which its neighbours
disagree, and where rules overlap no plane but zero satisfies them all. On the average they say more. So reference
points are drawn, each column by itself, from the values that it has in the data, smoothed, with two more values for a
column that rules name, beyond their lowest and highest bound, so that each condition can be true and false. The rules
vote on these points, and a plain SVM learns the vote.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.case import AdviceCase
from clearmargin.advice.centred_svm import centred_path

__all__ = ["Standard", "rule_votes", "vote_plane"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Enough points that another draw changes about one prediction in a hundred.
_REFERENCES = 2_000
# The advice's plane is scaled so that the scores of reference points have this root mean square: most of them are then
# beyond the margin, as the points of an SVM are.
_ADVICE_RMS = 2.0


@dataclass(frozen=True, slots=True)
class Values:
    """Weighted values of one column, in order; a weight of 2 is the same as the value twice.

    Parameters
    ----------
    x, weight : ndarray
        Values and their weights, positive.
    """

    x: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, x: FloatArray, weight: FloatArray) -> Values:
        """Sort values; those of no weight are left out."""
        order = np.argsort(x, kind="stable")
        order = order[weight[order] > 0]
        return cls(x[order], weight[order])

    def and_also(self, extra: list[float]) -> Values:
        """These values and some more of weight 1."""
        more = np.array(extra, dtype=np.float64)
        x, weight = np.append(self.x, more), np.append(self.weight, np.ones(len(more)))
        return Values.of(x, weight)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def mean(self) -> float:
        """Weighted mean."""
        return float(self.weight @ self.x) / self.total

    @property
    def std(self) -> float:
        """Weighted standard deviation; zero where there are no values."""
        if not len(self.x):
            return 0.0
        return float(np.sqrt(self.weight @ (self.x - self.mean) ** 2 / self.total))

    def draw(self, uniform: FloatArray) -> FloatArray:
        """The values at some shares of the whole weight."""
        place = np.searchsorted(np.cumsum(self.weight), uniform * self.total, side="right")
        return self.x[np.minimum(place, len(self.x) - 1)]


@dataclass(frozen=True, slots=True)
class Standard:
    """The values that each column is taken to have, with their mean and deviation.

    Parameters
    ----------
    values : tuple of Values
        For each column, the values of the data and those that the advice brings in.
    binary : ndarray of bool of shape (n,)
        Which columns have no values but 0 and 1.
    groups : tuple of tuple of int
        Columns of which exactly one is 1.
    center, unit : ndarray of shape (n,)
        Mean and deviation in the data, or of the values where the data do not vary.
    """

    values: tuple[Values, ...]
    binary: BoolArray
    groups: tuple[tuple[int, ...], ...]
    center: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, case: AdviceCase) -> Standard:
        """Collect the values of data and advice."""
        X, n = case.points, len(case.columns.names)
        groups = tuple(tuple(group.values()) for group in case.columns.groups.values())
        grouped = {j for group in groups for j in group}
        bounds = _named_bounds(case)
        values, center, unit = [], np.zeros(n), np.ones(n)
        binary = np.zeros(n, dtype=np.bool_)
        for j in range(n):
            met = Values.of(X[:, j], case.weight)
            binary[j] = j in grouped or (
                met.total > 0
                and ((met.x == 0) | (met.x == 1)).all()
                and all(0 <= t <= 1 for t in bounds[j])
            )
            extra = [0.0, 1.0] if binary[j] else _beyond(bounds[j], met)
            values.append(met.and_also(extra))
            spread = met if met.std > 0 else values[j]
            if spread.total:
                center[j], unit[j] = spread.mean, spread.std or 1.0
        return cls(tuple(values), binary, groups, center, unit)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Points with zero mean and unit deviation."""
        return np.asarray((X - self.center) / self.unit)

    def draw(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points, each column by itself, from its smoothed values; a group takes one category for each point."""
        drawn = np.empty((count, len(self.values)))
        for j, values in enumerate(self.values):
            if not values.total:
                drawn[:, j] = 0.0
                continue
            picked = values.draw(rng.random(count))
            if not self.binary[j]:
                # Silverman's rate; the deviation stays what it was.
                h = values.total**-0.2
                noise = h * values.std * rng.standard_normal(count)
                picked = values.mean + (picked - values.mean + noise) / np.sqrt(1.0 + h * h)
            drawn[:, j] = picked
        for group in self.groups:
            share = np.array([self.values[j].mean for j in group])
            chosen = rng.choice(len(group), count, p=share / share.sum())
            drawn[:, list(group)] = np.arange(len(group)) == chosen[:, None]
        return drawn


def _named_bounds(case: AdviceCase) -> list[list[float]]:
    """For each column the bounds that rules name and declare."""
    bounds: list[list[float]] = [[] for _ in case.columns.names]
    for premise in case.premises:
        for row, limit in zip(premise.D[premise.own], premise.d[premise.own], strict=True):
            used = np.flatnonzero(row)
            if len(used) == 1:
                bounds[used[0]].append(float(limit / row[used[0]]))
    return bounds


def _beyond(bounds: list[float], met: Values) -> list[float]:
    """Two values around the bounds that rules name."""
    if not bounds:
        return []
    low, high = min(bounds), max(bounds)
    step = met.std or (high - low) or 0.25 * abs(low) or 1.0
    return [low - step, high + step]


def rule_votes(case: AdviceCase, X: FloatArray, *, silence: bool = True) -> FloatArray:
    """Add up the votes of the rules for each row, each with its weight and the sign of its class.

    Parameters
    ----------
    case : AdviceCase
        The advice.
    X : ndarray of shape (m, n)
        Rows.
    silence : bool, default True
        Whether, where all rules speak for the same class, rows that none covers are votes for the other.

    Returns
    -------
    ndarray of shape (m,)
        Positive for the second class; zero where no rule speaks or they cancel.
    """
    votes = np.zeros(len(X))
    spoken = np.zeros(len(X), dtype=np.bool_)
    for premise, sign, rule in zip(case.premises, case.sign, case.rules, strict=True):
        covered = premise.covers(X)
        votes[covered] += sign * rule.weight
        spoken |= covered
    if silence and len(case.sign) and (case.sign == case.sign[0]).all():
        votes[~spoken] = -case.sign[0]
    return votes


def vote_plane(
    case: AdviceCase, standard: Standard, rng: np.random.Generator, default: float = 0.0
) -> FloatArray | None:
    """Find the plane that says, on the average, what the rules vote.

    Parameters
    ----------
    case : AdviceCase
        The advice; labels are not looked at.
    standard : Standard
        The values of each column.
    rng : Generator
        For the reference points.
    default : float, default 0.0
        The sign of the class of points for which the rules have no verdict; with 0 these are left out.

    Returns
    -------
    ndarray of shape (n + 1,) or None
        Weights in the standard scale and, last, the intercept; None where the rules never vote for one of the classes
        or their vote has nothing to do with any plane.
    """
    points = standard.draw(rng, _REFERENCES)
    votes = np.sign(rule_votes(case, points))
    votes[votes == 0] = default
    decided = votes != 0
    used = np.zeros(points.shape[1], dtype=np.bool_)
    for premise in case.premises:
        used |= (premise.D != 0).any(axis=0)
    for group in standard.groups:
        used[list(group)] = True
    if len(np.unique(votes[decided])) < 2:
        return None
    Z = standard.scaled(points)[np.ix_(decided, used)]
    found = centred_path(Z, votes[decided], np.ones(len(Z)), [1.0])[0]
    if not np.abs(found[:-1]).max(initial=0.0) > 1e-9:
        return None
    scores = Z @ found[:-1] + found[-1]
    plane = np.zeros(points.shape[1] + 1)
    plane[np.append(used, True)] = found * (_ADVICE_RMS / np.sqrt(np.mean(scores**2)))
    return plane
