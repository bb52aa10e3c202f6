r"""The proof that no feature is worth its weight: multipliers for w = 0, by a few sums over all rows.

Where all weights are zero, all points of the heavier class H lie on the margin together (b is 1 or -1), and no window
tells them apart: a rare class, a small nu, columns of very different scale. But a proof needs no vertex. Any
multipliers will do that are at their costs in the lighter class L, within their bounds in H, and satisfy ::

    sum_H u_i = sum_L c_i,        |sum_L c_i x_ij - sum_H u_i x_ij| <= lambda

for then they are worth 2 sum_L c_i, which is the objective of w = 0. Those of the form ``u_i = c_i s(a + z_i'v)``, with
the logistic function s and standardised columns z, are found by Newton's method on the smooth convex function ::

    Phi(a, v) = sum_H c_i log(1 + exp(a + z_i'v)) - sum_L c_i (a + z_i'v) + sum_j A_j h(v_j)

with ``A_j = 0.99 lambda / sd_j`` and ``h(t) = sqrt(t^2 + d^2)``, whose slope is below 1. At its minimum the balance
holds and every |...| is at most 0.99 lambda. Each step needs n + 2 sums and a matrix of second moments, so that no rows
are held anywhere. The steps are taken on a sample first. A minimum that runs away means that w = 0 is not optimal, or
nearly so.

What is checked in the end are the multipliers as they were computed, scaled to balance, with bounds on the rounding of
all sums. Of several optimal planes w = 0 is the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from clearmargin.rules.value import FloatArray
from clearmargin.tables.partitions import Block

_EPS = float(np.finfo(np.float64).eps)
# The share of the penalty that slopes may use, which leaves the rest to rounding and to unfinished steps.
_USED = 0.99
# How round the corner of |v| is; tilts are of order 1.
_ROUND = 0.05
# Rows whose sums are made at a time.
_CHUNK = 1 << 14
# Beyond this the minimum runs away.
_FARTHEST = 200.0


class LogisticMultipliers(NamedTuple):
    """Multipliers of a form: those of the heavier class are their costs times s(a + z'v)."""

    heavy: float
    a: float
    v: FloatArray
    centre: FloatArray
    scale: FloatArray


class MultiplierSums(NamedTuple):
    """Sums over the rows of partitions."""

    light: FloatArray
    weighted: FloatArray
    moments: FloatArray
    loss: float
    largest: float

    @classmethod
    def together(cls, answers: list[MultiplierSums]) -> MultiplierSums:
        """Add up the answers of partitions."""
        light, weighted, moments, loss, largest = zip(*answers, strict=True)
        return cls(
            np.sum(light, axis=0),
            np.sum(weighted, axis=0),
            np.sum(moments, axis=0),
            math.fsum(loss),
            max(largest),
        )


def multiplier_sums(block: Block, scaling: Any, trial: LogisticMultipliers) -> MultiplierSums:
    """Add up what a step needs of a block."""
    rows = scaling.rows(block)
    starts = range(0, max(1, len(rows.y)), _CHUNK)
    found = [_chunk_sums(rows.take(slice(k, k + _CHUNK)), trial) for k in starts]
    return found[0] if len(found) == 1 else MultiplierSums.together(found)


def _chunk_sums(rows: Block, trial: LogisticMultipliers) -> MultiplierSums:
    is_heavy = rows.y == trial.heavy
    size = rows.X.shape[1] + 1
    if not trial.heavy:
        # All at their costs: the difference of the classes is all that matters.
        Z = _standardised(rows, trial)
        signed = Z.T @ (rows.y * rows.cost)
        zero = np.zeros(size)
        return MultiplierSums(signed, zero, np.zeros((size, size)), 0.0, 1.0)
    light, heavy = rows.take(~is_heavy), rows.take(is_heavy)
    Z = _standardised(heavy, trial)
    score = Z[:, 1:] @ trial.v + trial.a
    share = expit(score)
    u = heavy.cost * share
    return MultiplierSums(
        _standardised(light, trial).T @ light.cost,
        Z.T @ u,
        (Z * (u * (1.0 - share))[:, None]).T @ Z,
        float(heavy.cost @ np.logaddexp(0.0, score)),
        float(share.max(initial=0.0)),
    )


def _standardised(rows: Block, trial: LogisticMultipliers) -> FloatArray:
    """Return rows (1, z)."""
    Z = np.ones((len(rows.y), rows.X.shape[1] + 1))
    np.subtract(rows.X, trial.centre, out=Z[:, 1:])
    Z[:, 1:] /= trial.scale
    return Z


def prove_zero(
    ask: Callable[[LogisticMultipliers], MultiplierSums],
    start: LogisticMultipliers,
    penalty: float,
    costs: FloatArray,
    n_rows: int,
    reach: FloatArray,
    most: int,
) -> tuple[LogisticMultipliers, bool]:
    """Search multipliers that prove w = 0."""
    allowed = _USED * penalty / start.scale
    step, least = np.zeros(len(start.v) + 1), math.inf
    for _ in range(most):
        trial = start._replace(a=start.a + float(step[0]), v=start.v + step[1:])
        sums = ask(trial)
        if _is_proof(sums, trial, penalty, costs, n_rows, reach):
            return trial, True
        if not start.heavy:
            break
        corner = np.sqrt(trial.v**2 + _ROUND**2)
        linear = sums.light[0] * trial.a + float(sums.light[1:] @ trial.v)
        value = float(sums.loss - linear + allowed @ corner)
        if value > least + 1e-12 * abs(least):
            step /= 2.0  # too far
            continue
        start, least = trial, value
        # A step of Newton's method.
        gradient = sums.weighted - sums.light
        gradient[1:] += allowed * start.v / corner
        matrix = sums.moments + np.diag(np.append(0.0, allowed * _ROUND**2 / corner**3))
        # A ridge of rounding, for columns that are constant.
        matrix += np.diag(1e-12 * matrix.diagonal() + 1e-300)
        step = np.asarray(-np.linalg.lstsq(matrix, gradient)[0], dtype=np.float64)
        if not np.abs(start.v + step[1:]).max(initial=0.0) < _FARTHEST:
            break
    return start, False


def _is_proof(
    sums: MultiplierSums,
    trial: LogisticMultipliers,
    penalty: float,
    costs: FloatArray,
    m: int,
    reach: FloatArray,
) -> bool:
    """Check multipliers, those of the heavier class scaled to balance, with bounds on all rounding."""
    n = len(reach)
    # Magnitudes of z, and what rounding of z and of sums of m terms may add up to, relative to the costs.
    size = (reach + np.abs(trial.centre)) / trial.scale
    rounding = (m + n + 16) * _EPS
    if not trial.heavy:
        slope, total, balance = sums.light[1:], float(costs[0]) + float(costs[1]), sums.light[0]
    else:
        light, mass = float(costs[int(trial.heavy < 0)]), float(sums.weighted[0])
        if mass <= 0.0 or light <= 0.0:
            return False
        times = light / mass
        if times * sums.largest > 1.0 - 2.0 * rounding:
            return False
        slope, total, balance = sums.light[1:] - times * sums.weighted[1:], 2.0 * light, 0.0
    # In units of x, where the centre counts as far as the classes are out of balance.
    error = 4.0 * rounding * total * size * trial.scale
    moved = np.abs(slope) * trial.scale + abs(balance) * np.abs(trial.centre)
    return bool((moved + error <= penalty).all())
