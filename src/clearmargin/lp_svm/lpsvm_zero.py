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
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from clearmargin.lp_svm.lpsvm import FloatArray, LPSVMData, LPSVMSolution
from clearmargin.lp_svm.lpsvm_blocks import Census, View
from clearmargin.tables.partitions import Block

_EPS = float(np.finfo(np.float64).eps)
# The share of the penalty that slopes may use, which leaves the rest to rounding and to unfinished steps.
_USED = 0.99
# How round the corner of |v| is; tilts are of order 1.
_ROUND = 0.05
# Steps on a sample, and on all rows, where the start is that of the sample.
MOST_SAMPLE_STEPS, MOST_STEPS = 40, 6
# Rows whose sums are made at a time.
_CHUNK = 1 << 14
# Beyond this the minimum runs away.
_FARTHEST = 200.0


class Tilt(NamedTuple):
    """Multipliers of a form: those of the heavier class are their costs times s(a + z'v)."""

    heavy: float
    a: float
    v: FloatArray
    centre: FloatArray
    scale: FloatArray


class TiltSums(NamedTuple):
    """Sums over the rows of partitions."""

    light: FloatArray
    tilted: FloatArray
    moments: FloatArray
    loss: float
    largest: float

    @classmethod
    def together(cls, answers: list[TiltSums]) -> TiltSums:
        """Add up the answers of partitions."""
        light, tilted, moments, loss, largest = zip(*answers, strict=True)
        return cls(
            np.sum(light, axis=0),
            np.sum(tilted, axis=0),
            np.sum(moments, axis=0),
            math.fsum(loss),
            max(largest),
        )


def tilt_sums(block: Block, view: View, tilt: Tilt) -> TiltSums:
    """Add up what a step needs of a block."""
    rows = view.rows(block)
    starts = range(0, max(1, len(rows.y)), _CHUNK)
    found = [_chunk_sums(rows.take(slice(k, k + _CHUNK)), tilt) for k in starts]
    return found[0] if len(found) == 1 else TiltSums.together(found)


def _chunk_sums(rows: Block, tilt: Tilt) -> TiltSums:
    is_heavy = rows.y == tilt.heavy
    size = rows.X.shape[1] + 1
    if not tilt.heavy:
        # All at their costs: the difference of the classes is all that matters.
        Z = _standardised(rows, tilt)
        signed = Z.T @ (rows.y * rows.cost)
        zero = np.zeros(size)
        return TiltSums(signed, zero, np.zeros((size, size)), 0.0, 1.0)
    light, heavy = rows.take(~is_heavy), rows.take(is_heavy)
    Z = _standardised(heavy, tilt)
    score = Z[:, 1:] @ tilt.v + tilt.a
    share = expit(score)
    u = heavy.cost * share
    return TiltSums(
        _standardised(light, tilt).T @ light.cost,
        Z.T @ u,
        (Z * (u * (1.0 - share))[:, None]).T @ Z,
        float(heavy.cost @ np.logaddexp(0.0, score)),
        float(share.max(initial=0.0)),
    )


def _standardised(rows: Block, tilt: Tilt) -> FloatArray:
    """Return rows (1, z)."""
    Z = np.ones((len(rows.y), rows.X.shape[1] + 1))
    np.subtract(rows.X, tilt.centre, out=Z[:, 1:])
    Z[:, 1:] /= tilt.scale
    return Z


def prove_zero(
    ask: Callable[[Tilt], TiltSums],
    tilt: Tilt,
    problem: LPSVMData,
    census: Census,
    reach: FloatArray,
    most: int,
) -> tuple[Tilt, bool]:
    """Search multipliers that prove w = 0."""
    allowed = _USED * problem.penalty / tilt.scale
    step, least = np.zeros(len(tilt.v) + 1), math.inf
    for _ in range(most):
        trial = tilt._replace(a=tilt.a + float(step[0]), v=tilt.v + step[1:])
        sums = ask(trial)
        if _is_proof(sums, trial, problem.penalty, census, reach):
            return trial, True
        if not tilt.heavy:
            break
        value = _value(sums, trial, allowed)
        if value > least + 1e-12 * abs(least):
            step /= 2.0  # too far
            continue
        tilt, least = trial, value
        step = _newton_step(sums, tilt, allowed)
        if not np.abs(tilt.v + step[1:]).max(initial=0.0) < _FARTHEST:
            break
    return tilt, False


def _value(sums: TiltSums, tilt: Tilt, allowed: FloatArray) -> float:
    corner = np.sqrt(tilt.v**2 + _ROUND**2)
    linear = sums.light[0] * tilt.a + float(sums.light[1:] @ tilt.v)
    return float(sums.loss - linear + allowed @ corner)


def _newton_step(sums: TiltSums, tilt: Tilt, allowed: FloatArray) -> FloatArray:
    corner = np.sqrt(tilt.v**2 + _ROUND**2)
    gradient = sums.tilted - sums.light
    gradient[1:] += allowed * tilt.v / corner
    matrix = sums.moments + np.diag(np.append(0.0, allowed * _ROUND**2 / corner**3))
    # A ridge of rounding, for columns that are constant.
    matrix += np.diag(1e-12 * matrix.diagonal() + 1e-300)
    return np.asarray(-np.linalg.lstsq(matrix, gradient)[0], dtype=np.float64)


def _is_proof(
    sums: TiltSums, tilt: Tilt, penalty: float, census: Census, reach: FloatArray
) -> bool:
    """Check the multipliers of a tilt, those of the heavier class scaled to balance, with bounds on all rounding."""
    m, n = int(census.counts.sum()), len(reach)
    costs = [float(c) for c in census.cost]
    # Magnitudes of z, and what rounding of z and of sums of m terms may add up to, relative to the costs.
    size = (reach + np.abs(tilt.centre)) / tilt.scale
    rounding = (m + n + 16) * _EPS
    if not tilt.heavy:
        slope, total, balance = sums.light[1:], sum(costs), sums.light[0]
    else:
        light, mass = costs[int(tilt.heavy < 0)], float(sums.tilted[0])
        if mass <= 0.0 or light <= 0.0:
            return False
        times = light / mass
        if times * sums.largest > 1.0 - 2.0 * rounding:
            return False
        slope, total, balance = sums.light[1:] - times * sums.tilted[1:], 2.0 * light, 0.0
    # In units of x, where the centre counts as far as the classes are out of balance.
    error = 4.0 * rounding * total * size * tilt.scale
    moved = np.abs(slope) * tilt.scale + abs(balance) * np.abs(tilt.centre)
    return bool((moved + error <= penalty).all())


def zero_plane(problem: LPSVMData, census: Census, n_iter: int) -> LPSVMSolution:
    """Return the plane without weights, where it is proved; of several intercepts the one nearest to zero."""
    negative, positive = census.cost.tolist()
    b, value = 0.0, negative + positive
    if problem.fit_intercept and negative != positive:
        b, value = (1.0, 2 * negative) if positive > negative else (-1.0, 2 * positive)
    w = np.zeros(len(census.low))
    return LPSVMSolution(w, b, np.zeros(0), value, value, 4.0 * _EPS, n_iter)
