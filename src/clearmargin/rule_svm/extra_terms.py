"""Columns beside the rules of a table, and the way back: linear terms in the user's units, experts' rules by name.

*Linear terms.* A numeric column counts in units of its standard deviation from its mean, which is what a missing value
counts as; a categorical column is a 0/1 column for each category. Priced like rules (``linear=True``) each is chosen or
not; as a free plane (``linear="free"``) all of them are in from the start and none counts as a rule.

*Experts' rules.* Each is a column of one sign: a rule for a class may only speak for it. All of them together, with
their weights, are one more column, the rules' vote, which is in from the start: where the rules are right a few rows
suffice to see it, and where they are wrong its sign leaves it no weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearmargin.rule_base.rule_features import MatchedRules
from clearmargin.rule_svm.rule_lp import FixedColumns
from clearmargin.rule_svm.selection import ExtraColumns
from clearmargin.rule_svm.training_rows import TrainingRows
from clearmargin.rule_svm.weighted_rules import LinearTerm
from clearmargin.rules import Box, FeatureSpace, Polyhedron, Rule
from clearmargin.rules.rule import Label, Region
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["ExpertColumns", "LinearColumns", "join_columns"]

# The price of a column of a free plane in the linear program: the least there is.
_FREE = 0.01
# Columns that vary by a smaller share of their largest number are constant but for rounding.
_LEAST_SCALE = 1e-12


@dataclass(frozen=True, slots=True)
class LinearColumns:
    """Standardised columns of a table.

    Parameters
    ----------
    space : FeatureSpace
        The features.
    feature : ndarray of int of shape (q,)
        The feature of each column.
    code : ndarray of int of shape (q,)
        The category of each column; -1 for a number.
    centre, scale : ndarray of shape (q,)
        What is subtracted and divided by.
    is_free : bool
        Whether the columns are a plane that is not counted.
    """

    space: FeatureSpace
    feature: IntArray
    code: IntArray
    centre: FloatArray
    scale: FloatArray
    is_free: bool

    @classmethod
    def of_table(
        cls, space: FeatureSpace, table: FloatArray, weight: FloatArray, *, is_free: bool
    ) -> LinearColumns:
        """Standardise the columns of a table; those that are constant are left out."""
        found: list[tuple[int, int, float, float]] = []
        for j, column in enumerate(table.T):
            categories = space.categories[j]
            if categories is not None:
                present = np.unique(column[column >= 0]).astype(np.intp).tolist()
                found += [(j, code, 0.0, 1.0) for code in present if len(present) > 1]
                continue
            known = ~np.isnan(column)
            if not known.any():
                continue
            share = weight[known] / weight[known].sum()
            # In a unit in which no square overflows or vanishes; as a power of two it changes no digit.
            unit = math.ldexp(1.0, math.frexp(float(np.abs(column[known]).max()))[1] - 1)
            centre = float(share @ (column[known] / unit))
            scale = float(np.sqrt(share @ (column[known] / unit - centre) ** 2))
            if scale > _LEAST_SCALE:
                found.append((j, -1, centre * unit, scale * unit))
        feature, code, centres, scales = zip(*found, strict=True) if found else ((), (), (), ())
        return cls(
            space,
            np.array(feature, dtype=np.intp),
            np.array(code, dtype=np.intp),
            np.array(centres, dtype=np.float64),
            np.array(scales, dtype=np.float64),
            is_free,
        )

    def values(self, table: FloatArray) -> FloatArray:
        """Give the columns of rows."""
        columns = table[:, self.feature]
        numbers = np.where(np.isnan(columns), 0.0, (columns - self.centre) / self.scale)
        return np.where(self.code >= 0, (columns == self.code).astype(np.float64), numbers)

    def candidates(self, table: FloatArray, monotone: IntArray | None) -> ExtraColumns:
        """Give them as columns to choose from."""
        q = len(self.feature)
        signs = self.signs(monotone)
        return ExtraColumns(self.values(table), np.ones(q), signs, np.full(q, self.is_free))

    def signs(self, monotone: IntArray | None) -> IntArray:
        """Give the direction of each column."""
        if monotone is None:
            return np.zeros(len(self.feature), dtype=np.intp)
        return np.where(self.code < 0, monotone[self.feature], 0)

    def terms(self, weights: FloatArray) -> tuple[list[LinearTerm], FloatArray]:
        """Give the terms in the user's units for weights of shape (K, q), and what they add to the intercepts."""
        terms, shift = [], np.zeros(len(weights))
        single = len(weights) == 1
        for j in np.unique(self.feature[(weights != 0.0).any(axis=0)]).tolist():
            at = np.flatnonzero(self.feature == j)
            if self.code[at[0]] < 0:
                coef = weights[:, at[0]] / self.scale[at[0]]
                centre = float(self.centre[at[0]])
                shift -= coef * centre
                terms.append(LinearTerm(j, coef[0] if single else coef, centre))
                continue
            categories = self.space.categories[j]
            assert categories is not None
            table = np.zeros((len(weights), len(categories)))
            table[:, self.code[at]] = weights[:, at]
            terms.append(LinearTerm(j, table[0] if single else table))
        return terms, shift

    def fixed(self, table: FloatArray, monotone: IntArray | None) -> FixedColumns:
        """Give them as columns of the linear program."""
        price = np.full(len(self.feature), _FREE if self.is_free else 1.0)
        return FixedColumns(self.values(table), price, self.signs(monotone))


@dataclass(frozen=True, slots=True)
class ExpertColumns:
    """Experts' rules over the features of a table.

    Parameters
    ----------
    rules : tuple of Rule
        The rules, with statistics on the training rows.
    covers : ndarray of bool of shape (m, r)
        Which training rows each covers.
    sign : ndarray of int of shape (r,)
        1 for a rule for the second class, -1 for one for the first.
    price : float
        Price of their weights.
    """

    rules: tuple[Rule, ...]
    covers: BoolArray
    sign: IntArray
    price: float

    @classmethod
    def of(
        cls,
        matched: MatchedRules,
        covers: BoolArray,
        space: FeatureSpace,
        rows: TrainingRows,
        classes: Sequence[Label],
        price: float,
    ) -> ExpertColumns:
        """Put matched rules over the features of the table."""
        rules, sign = [], []
        for r, rule in enumerate(matched.rules):
            code = classes.index(rule.label)
            stats = rows.stats(covers[:, r], code)
            region = _lifted(rule.region, matched, space)
            options = {"name": rule.name, "weight": rule.weight, "origin": "expert"}
            rules.append(Rule(region, rule.label, stats=stats, **options))  # type: ignore[arg-type]
            sign.append(1 if code == 1 else -1)
        return cls(tuple(rules), covers, np.array(sign, dtype=np.intp), price)

    @property
    def votes(self) -> FloatArray:
        """What each rule adds to the vote."""
        return np.array([rule.weight for rule in self.rules]) * self.sign

    def candidates(self, *, with_vote: bool) -> ExtraColumns:
        """Give the rules, and then their vote, as columns to choose from."""
        values = self.covers.astype(np.float64)
        price, sign = np.full(len(self.rules), self.price), self.sign
        fixed = np.zeros(len(self.rules), dtype=np.bool_)
        if with_vote:
            values = np.column_stack([values, values @ self.votes])
            price, sign = np.append(price, self.price), np.append(sign, 1)
            fixed = np.append(fixed, True)
        return ExtraColumns(values, price, sign, fixed)

    def fixed(self) -> FixedColumns:
        """Give the rules as columns of the linear program."""
        return FixedColumns(
            self.covers.astype(np.float64), np.full(len(self.rules), self.price), self.sign
        )


def _lifted(region: Region, matched: MatchedRules, space: FeatureSpace) -> Region:
    """Put a region over the features that rules name among all features of a table."""
    at, n = matched.positions, len(space)
    sets = {
        at[j]: _translated(codes, matched.rules.space.categories[j], space.categories[at[j]])
        for j, codes in region.sets.allowed
    }
    missing, known = [at[j] for j in region.missing], [at[j] for j in region.known]
    if isinstance(region, Polyhedron):
        A = np.zeros((len(region.b), n))
        A[:, list(at)] = region.A
        return Polyhedron(A, region.b, region.strict, sets, missing, known)
    intervals = {at[j]: region.interval(j) for j in region.bounded if region.has_bounds(j)}
    return Box.from_intervals(intervals, n, sets, missing, known)


def _translated(
    codes: Sequence[int], named: tuple[str, ...] | None, categories: tuple[str, ...] | None
) -> list[int]:
    """Translate the codes of categories by their names; those that no training row has are left out."""
    if named is None or categories is None:
        return list(codes)
    return [categories.index(named[code]) for code in codes if named[code] in categories]


def join_columns(parts: Sequence[ExtraColumns], m: int) -> ExtraColumns:
    """Put columns of several kinds beside each other."""
    parts = [ExtraColumns.none(m), *parts]
    return ExtraColumns(
        np.column_stack([part.values for part in parts]),
        np.concatenate([part.price for part in parts]),
        np.concatenate([part.sign for part in parts]),
        np.concatenate([part.is_fixed for part in parts]),
    )


def with_categories(space: FeatureSpace, matched: MatchedRules) -> FeatureSpace:
    """Add the categories that rules name to those that a table has, after them."""
    named = dict(zip(matched.positions, matched.rules.space.categories, strict=True))
    categories = [
        known if known is None else tuple(dict.fromkeys([*known, *(named.get(j) or ())]))
        for j, known in enumerate(space.categories)
    ]
    return FeatureSpace(
        space.names, space.lower, space.upper, space.integer, categories, space.units, space.fill
    )
