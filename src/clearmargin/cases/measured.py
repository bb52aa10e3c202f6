"""Measured explanations: conditions found on some rows and counted on others.

The rows of a table are split by what is in them, not by where they stand: each row has a key made of its values, and of
the rows that the model gives one class, those with the smallest keys, a quarter, are kept for the count. Equal rows
have equal keys, so that none is in both parts, and neither the order of the rows nor a row more changes the rest.

The search sees the other rows. A model can be asked about any row, so that for each of them it is asked about five
more, which have half of their values, drawn by chance, from another row. (Anchors draw all values but those that the
conditions are about.) So the search is far less prone to take chance for a rule; the page on the decision has figures.

What is found is counted once, on the rows that were kept; the count is reported and decides nothing. Equal rows count
as one there: a copy tells nothing that its original does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.cases.condition_search import (
    BinnedRows,
    Conjunction,
    find_conditions,
)
from clearmargin.exceptions import DataError
from clearmargin.rule_base.training import taken_by
from clearmargin.rules import FeatureSpace, Rule, RuleStats
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.row_order import value_keys
from clearmargin.tables.table import Table

# One of so many rows is kept for the count.
_KEPT = 4
# Rows drawn for each row of the search, and the most rows of a search in all: beyond, 16 bits no longer count them. Of
# very wide tables fewer are drawn, of so many values in all.
_DRAWN, _MOST_ROWS, _MOST_VALUES = 5, 4_096, 10_000_000
_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRows:
    """The rows of a table that explanations are found on, and those that they are counted on."""

    labels: tuple[Label, ...]
    search: BinnedRows
    points: FloatArray
    codes: IntArray
    keys: NDArray[np.uint64]

    @classmethod
    def of(cls, model: Any, table: Table) -> MeasuredRows:
        """Ask a model about the rows of a table, split them, and ask it about drawn ones."""
        space = table.space()
        points = table.points(space)
        labels, codes = _predicted(model, table)
        keys = value_keys(space, points)
        counted = _kept_for_count(keys, codes)
        # Sorted by their keys, rows stand in the same order however the table is sorted.
        rows = np.flatnonzero(~counted)
        rows = rows[np.argsort(keys[rows], kind="stable")][: _MOST_ROWS // 4]
        mixed = _mixed(len(rows), len(space))
        drawn = rows[mixed]
        known = {label: k for k, label in enumerate(labels)}
        names, found = _predicted(model, table.mixed(drawn)) if len(drawn) else ((), codes[:0])
        for label in names:
            known.setdefault(label, len(known))
        place = np.array([known[label] for label in names], dtype=np.intp)
        binned = BinnedRows.of(space, points[rows], codes[rows])
        both = np.concatenate([points[rows], points[drawn, np.arange(len(space))]])
        search = BinnedRows(
            space, binned.cuts, binned.bins_of(both), np.concatenate([codes[rows], place[found]])
        )
        kept, first = np.unique(keys[counted], return_index=True)
        places = np.flatnonzero(counted)[first]
        return cls(tuple(known), search, points[places], codes[places], kept)

    @property
    def space(self) -> FeatureSpace:
        """The features, with the ranges of all rows."""
        return self.search.space

    def explain(
        self,
        case: FloatArray,
        label: Label,
        precision: float,
        max_conditions: int | None = None,
    ) -> tuple[Rule, Conjunction]:
        """Find conditions around a case, and count them."""
        code = self.labels.index(label) if label in self.labels else -1
        if not (self.search.codes == code).any():
            raise DataError(
                f"the model predicts {label!r} for none of the {len(self.search.codes)} rows of the search, so that "
                "nothing can be measured; pass an X with such rows, or guarantee='proved' for a support vector machine"
            )
        if not len(self.points):
            raise DataError(
                f"X has fewer than {_KEPT} different rows of any class, so that none is left to count on and nothing "
                "can be measured; pass more rows, such as those that the model was trained on"
            )
        bins = self.search.bins_of(case[None])[0]
        found = find_conditions(self.search, bins, code, precision, max_conditions)
        box = self.search.box(found, case)
        others = self.keys != value_keys(self.space, case[None])[0]
        covered = box.contains(self.points) & others
        stats = RuleStats(
            int(others.sum()),
            int(covered.sum()),
            agreed=int(np.count_nonzero(self.codes[covered] == code)),
        )
        return Rule(box, label, origin="extracted", proof="observed", stats=stats), found


def _predicted(model: Any, table: Table) -> tuple[tuple[Label, ...], IntArray]:
    """Ask a model for the classes of rows: which there are, and the position of that of each row."""
    predicted = np.asarray(model.predict(taken_by(model, table)))
    places: dict[Label, int] = {}
    # A model that abstains predicts None, which is no class; an empty text is none, either.
    found = ("" if label is None else as_label(label) for label in predicted.tolist())
    codes = [places.setdefault(label, len(places)) for label in found]
    labels = sorted(places, key=lambda label: (str(type(label)), label))
    order = np.argsort([labels.index(label) for label in places], kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return tuple(labels), rank[np.array(codes, dtype=np.intp)]


def _kept_for_count(keys: NDArray[np.uint64], codes: IntArray) -> NDArray[np.bool_]:
    """Choose the rows that are kept for the count: a quarter of the different rows of each class."""
    kept = np.zeros(len(keys), dtype=np.bool_)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        distinct = np.unique(keys[rows])
        if len(distinct) >= _KEPT:
            kept[rows] = keys[rows] < distinct[len(distinct) // _KEPT]
    return kept


def _mixed(m: int, n: int) -> IntArray:
    """Draw rows that have half of their values from one of m rows and half from another; the row of each value."""
    rng = np.random.default_rng(_SEED)
    count = min(_DRAWN * m, _MOST_ROWS - m, max(m, _MOST_VALUES // max(n, 1)))
    first = np.arange(count) % max(m, 1)
    second = rng.integers(0, max(m, 1), count)
    return np.where(rng.random((count, n)) < 0.5, second[:, None], first[:, None])
