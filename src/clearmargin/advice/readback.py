"""Refined rows back into rules that people can read, in their units and with few digits.

The expert's variable keeps its coefficient in a row that was turned; coefficients that make no difference within the
domain are dropped, and numbers are rounded. Whatever that changes is made up for on the right-hand side, so that within
the domain the rule that is read is a part of the one that was found, or, where that would lose a training point which
the rule just touches, the other way round. As many digits are kept as it takes to cover the same training points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clearmargin.advice.advice_reading import column_of
from clearmargin.advice.encoding import Columns, Premise
from clearmargin.advice.frame import Frame
from clearmargin.rules import Box, CategorySets, FeatureSpace, Polyhedron, Rule
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.rule import Region
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["ReadRows", "extended_space", "is_changed", "over_features", "read_rows", "refined_rule"]


# Changes of a row, in the scale of the frame, below which it counts as unchanged; interior point solvers leave 1e-6.
_UNCHANGED = 1e-5
# Digits of coefficients and whether to round inwards, as they are tried. Right-hand sides get so many steps within the
# range of the expert's variable.
_ROUNDINGS = tuple((digits, inwards) for digits in (3, 4, 6, 8) for inwards in (True, False))
# Digits that a solver gets right.
_ALL_DIGITS = 10


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The numeric conditions of a refined premise, in the user's units and over the columns of the model.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Left-hand sides.
    b : ndarray of shape (k,)
        Right-hand sides.
    strict : ndarray of bool of shape (k,)
        Which rows are strict.
    changed : ndarray of bool of shape (k,)
        Which rows differ from those of the advice.
    turned : ndarray of bool of shape (k,)
        Which rows have other coefficients than the advice.
    """

    A: FloatArray
    b: FloatArray
    strict: BoolArray
    changed: BoolArray
    turned: BoolArray


def read_rows(
    premise: Premise, frame: Frame, F: FloatArray, f: FloatArray, X: FloatArray
) -> ReadRows:
    """Write refined rows in the user's units, with as few digits as do not lose a point.

    Parameters
    ----------
    premise : Premise
        The premise as it was given, in the user's units.
    frame : Frame
        Domain and scale.
    F, f : ndarray of shape (k, n) and (k,)
        Changes of its numeric rows, in the scale of the frame.
    X : ndarray of shape (m, n)
        Training points.

    Returns
    -------
    ReadRows
        Rows that did not change are exactly those of the premise.
    """
    D, d = frame.scaled_rows(premise.D[premise.own], premise.d[premise.own])
    inside = (frame.scaled(X) @ (D - F).T <= d - f + 1e-9)[:, is_changed(F, f)].all(axis=1)
    rows = _read(premise, frame, F, f, _ALL_DIGITS, inwards=False)
    for digits, inwards in _ROUNDINGS:
        short = _read(premise, frame, F, f, digits, inwards=inwards)
        left = X @ short.A.T
        covered = (left <= short.b)[:, short.changed].all(axis=1)
        if (covered == inside).all():
            return short
    return rows


def is_changed(F: FloatArray, f: FloatArray) -> BoolArray:
    """Which rows changed by more than solvers leave behind."""
    turned: BoolArray = np.any(np.abs(F) > _UNCHANGED, axis=1)
    return np.asarray(turned | (np.abs(f) > _UNCHANGED))


def _read(
    premise: Premise, frame: Frame, F: FloatArray, f: FloatArray, digits: int, *, inwards: bool
) -> ReadRows:
    A, b, strict = premise.D[premise.own], premise.d[premise.own], premise.strict[premise.own]
    A, b, strict = A.copy(), b.copy(), strict.copy()
    D, d = frame.scaled_rows(A, b)
    turned: BoolArray = np.any(np.abs(F) > _UNCHANGED, axis=1)
    changed = is_changed(F, f)
    for r in np.flatnonzero(changed):
        expert = int(np.abs(D[r]).argmax())
        turn = np.where(np.abs(F[r]) > _UNCHANGED, F[r], 0.0)
        row, limit = frame.user_rows((D[r] - turn)[None], (d[r] - f[r])[None])
        # The expert's variable keeps the coefficient it had, if it has any left.
        factor = A[r, expert] / row[0, expert] if row[0, expert] * A[r, expert] > 0 else 1.0
        found, bound = row[0] * factor, float(limit[0] * factor)
        if not turned[r]:
            found = A[r]
        short, b[r] = _short_row(found, bound, frame, expert, digits, inwards=inwards)
        turned[r] = not np.array_equal(short, A[r])
        A[r], strict[r] = short, False
    return ReadRows(A, b, strict, changed, turned)


def _short_row(
    row: FloatArray, limit: float, frame: Frame, expert: int, digits: int, *, inwards: bool
) -> tuple[FloatArray, float]:
    """Round a row so that, within the domain, it demands no less than before; or, outwards, no more."""
    reach = np.abs(row) * frame.unit
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
    step = math.floor(math.log10(2.0 * reach[expert])) - digits
    size = math.floor(math.log10(abs(bound))) if bound else 0
    round_it = round_down if inwards else round_up
    return short, round_it(bound, min(max(1, size - step + 1), 17))


def extended_space(columns: Columns, touched: BoolArray) -> FeatureSpace:
    """The features of the advice, and after them the columns that refinement brought in.

    Parameters
    ----------
    columns : Columns
        The columns of each feature of the advice.
    touched : ndarray of bool of shape (n,)
        Which columns the refined rows speak of.

    Returns
    -------
    FeatureSpace
        The same space where nothing new came in.
    """
    space = columns.space
    names = [columns.names[j] for j in np.flatnonzero(touched) if j not in columns.numbers.values()]
    # The prefix of a step says nothing to people, as long as the name alone is clear.
    bare = [name.partition("__")[2] for name in names]
    new = [
        short
        if short and short not in space.names and column_of(short, columns.names) is not None
        else name
        for short, name in zip(bare, names, strict=True)
    ]
    if not new:
        return space
    more = len(new)
    return FeatureSpace(
        [*space.names, *new],
        np.concatenate([space.lower, np.full(more, -np.inf)]),
        np.concatenate([space.upper, np.full(more, np.inf)]),
        np.concatenate([space.integer, np.zeros(more, dtype=np.bool_)]),
        [*space.categories, *[None] * more],
        [*space.units, *[None] * more],
    )


def over_features(A: FloatArray, columns: Columns) -> FloatArray:
    """Coefficients of the columns as those of the features.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Coefficients of the columns.
    columns : Columns
        The columns of each feature; every column with a coefficient is one of them.

    Returns
    -------
    ndarray of shape (k, n_features)
        Coefficients of the features.
    """
    moved = np.zeros((len(A), len(columns.space)))
    for feature, column in columns.numbers.items():
        moved[:, feature] = A[:, column]
    return moved


def refined_rule(before: Rule, rows: ReadRows, columns: Columns) -> Rule:
    """Make the refined rule.

    Parameters
    ----------
    before : Rule
        The rule as it was given.
    rows : ReadRows
        Its refined conditions.
    columns : Columns
        The columns of each feature; the first features are those of the advice.

    Returns
    -------
    Rule
        The rule itself where nothing changed and the space is its own.
    """
    n_features = len(columns.space)
    if not rows.changed.any() and n_features == before.n_features:
        return before
    said = rows.A.any(axis=1)
    region: Region
    if said.any():
        A = over_features(rows.A[said], columns)
        region = Polyhedron(A, rows.b[said], rows.strict[said], before.region.sets)
    else:
        region = Box.from_intervals({}, n_features, CategorySets(before.region.sets.allowed))
    return Rule(
        region,
        before.label,
        name=before.name,
        weight=before.weight,
        origin="refined" if rows.changed.any() else before.origin,
    )
