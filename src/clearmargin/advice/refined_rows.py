"""Refined rows as rules that people can read, in their units and with few digits.

The expert's variable keeps its coefficient in a row that was turned; coefficients that make no difference within the
domain are dropped, and numbers are rounded. Whatever that changes is made up for on the right-hand side, so that within
the domain the rule that is read is a part of the one that was found, or, where that would lose a training point which
the rule just touches, the other way round. As many digits are kept as it takes to cover the same training points. What
is counted, proved and printed is the rule as it is read here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from clearmargin.advice.cases import Premise
from clearmargin.advice.frame import Frame
from clearmargin.rules import Polyhedron, Rule
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import Encoding

# Digits of coefficients and whether to round inwards, as they are tried. Right-hand sides get so many steps within the
# range of the expert's variable.
_ROUNDINGS = tuple((digits, inwards) for digits in (3, 4, 6, 8) for inwards in (True, False))
# Digits that a solver gets right.
_ALL_DIGITS = 10
# Changes of a row, in the scale of the frame, below which it counts as unchanged; interior point solvers leave 1e-6.
_UNCHANGED = 1e-5


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The numeric conditions of a refined premise, in the user's units and over the columns of the model."""

    A: FloatArray
    b: FloatArray
    strict: BoolArray
    changed: BoolArray

    @property
    def is_void(self) -> bool:
        """Whether plain bounds contradict each other, as ``>= 141`` and ``<= 140`` do, or a row by itself is false."""
        if (self.b[~self.A.any(axis=1)] < 0).any():
            return True
        plain = np.count_nonzero(self.A, axis=1) == 1
        return Polyhedron(self.A[plain], self.b[plain], self.strict[plain]).to_box().is_empty

    def premise(self, before: Premise) -> Premise:
        """Put the rows into the place of those of a premise."""
        own = before.numeric_rows
        D, d, strict = before.D.copy(), before.d.copy(), before.strict.copy()
        D[own], d[own], strict[own] = self.A, self.b, self.strict
        kept = D.any(axis=1)
        return Premise(D[kept], d[kept], own[kept], strict[kept])


def read_rows(
    premise: Premise, frame: Frame, F: FloatArray, f: FloatArray, X: FloatArray, whole: BoolArray
) -> ReadRows:
    """Write refined rows in the user's units, with as few digits as do not lose a point."""
    rows = _read(premise, frame, F, f, _ALL_DIGITS, inwards=False)
    if not rows.changed.any():
        return rows
    own = premise.numeric_rows
    D, d = frame.scaled_rows(premise.D[own], premise.d[own])
    inside = (frame.scaled(X) @ (D - F).T <= d - f + 1e-9)[:, rows.changed].all(axis=1)
    for digits, inwards in _ROUNDINGS:
        short = _read(premise, frame, F, f, digits, inwards=inwards)
        covered = (short.b >= X @ short.A.T)[:, short.changed].all(axis=1)
        if (covered == inside).all():
            rows = short
            break
    # ``<= 2.5`` of whole numbers says ``<= 2``; and x >= 2.5, written as -x <= -2.5, too.
    single = np.count_nonzero(rows.A, axis=1) == 1
    for r in np.flatnonzero(rows.changed & single):
        j = int(np.flatnonzero(rows.A[r])[0])
        if whole[j] and abs(rows.A[r, j]) == 1.0:
            rows.b[r] = np.floor(rows.b[r]) + 0.0
    return rows


def _read(
    premise: Premise, frame: Frame, F: FloatArray, f: FloatArray, digits: int, *, inwards: bool
) -> ReadRows:
    own = premise.numeric_rows
    A, b, strict = premise.D[own].copy(), premise.d[own].copy(), premise.strict[own].copy()
    D, d = frame.scaled_rows(A, b)
    turned: BoolArray = np.any(np.abs(F) > _UNCHANGED, axis=1)
    changed = turned | (np.abs(f) > _UNCHANGED)
    for r in np.flatnonzero(changed):
        expert = int(np.abs(D[r]).argmax())
        turn = np.where(np.abs(F[r]) > _UNCHANGED, F[r], 0.0)
        row, limit = frame.user_rows((D[r] - turn)[None], (d[r] - f[r])[None])
        # The expert's variable keeps the coefficient it had, if it has any left.
        keeps = row[0, expert] * A[r, expert] > 0
        factor = A[r, expert] / row[0, expert] if keeps else 1.0
        found, bound = row[0] * factor, float(limit[0] * factor)
        found[expert] = A[r, expert] if keeps else found[expert]
        A[r], b[r] = _short_row(
            found if turned[r] else A[r], bound, frame, expert, digits, inwards=inwards
        )
        strict[r] = False
    return ReadRows(A, b, strict, changed)


def _short_row(
    row: FloatArray, limit: float, frame: Frame, expert: int, digits: int, *, inwards: bool
) -> tuple[FloatArray, float]:
    """Round a row so that, within the domain, it demands no less than before; or, outwards, no more."""
    reach = np.abs(row) * frame.unit
    if not reach.any():  # turned until nothing was left
        return np.zeros_like(row), limit
    others = np.arange(len(row)) != expert
    short = np.where(reach > 10.0 ** (1 - digits) * reach[expert], row, 0.0)
    short[others] = [float(f"{x:.{digits}g}") for x in short[others]]
    dropped = row - short
    gone = dropped != 0  # elsewhere nothing is lost, whether there are bounds or not
    ends = np.where((dropped > 0) == inwards, frame.upper, frame.lower)[gone]
    lost = float((dropped[gone] * ends).sum())
    if not math.isfinite(lost):  # no bounds to make up for anything within
        short, lost = row, 0.0
    # What a solver means by 0.1019999999998 is 0.102, which may be the value of a case that must not be lost.
    bound = float(f"{limit - lost:.{_ALL_DIGITS}g}")
    step = math.floor(math.log10(2.0 * max(reach[expert], 1e-9 * reach.max()))) - digits
    size = math.floor(math.log10(abs(bound))) if bound else 0
    round_it = round_down if inwards else round_up
    return short, round_it(bound, min(max(1, size - step + 1), 17))


def refined_rule(before: Rule, rows: ReadRows, encoding: Encoding) -> Rule:
    """Make the rule of refined rows."""
    A = np.zeros((len(rows.b), before.n_features))
    for column, (feature, code) in enumerate(encoding.sources):
        if code is None:
            A[:, feature] = rows.A[:, column]
    kept = A.any(axis=1)
    region = Polyhedron(A[kept], rows.b[kept], rows.strict[kept], before.region.sets)
    return replace(before, region=region, origin="refined")
