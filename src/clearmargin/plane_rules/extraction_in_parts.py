"""Count the rules of a `RuleExtractor` on all rows of a table in partitions, of which they were found on a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clearmargin.rule_base.training import class_codes
from clearmargin.rules import Rule, RuleSet, RuleStats
from clearmargin.rules.value import IntArray
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.table_part import TablePart

if TYPE_CHECKING:
    from clearmargin.plane_rules.extractor import RuleExtractor

__all__ = ["PartCounts", "count_in_parts", "put_counts"]


@dataclass(frozen=True, slots=True)
class PartCounts:
    """Numbers of rows, of a partition or of all.

    Parameters
    ----------
    n_rows : int
        Rows that rules can be made of: without missing values that the model does not impute.
    of_rules : ndarray of int of shape (3, n_rules)
        For each rule the rows covered, of these with its class, and where the model agrees.
    of_classes : ndarray of int of shape (3, n_classes)
        For each class its rows, those that the model predicts right, and of these the ones that a rule of it covers.
    covered : int
        Rows that any rule covers.
    """

    n_rows: int
    of_rules: IntArray
    of_classes: IntArray
    covered: int


def count_in_parts(extractor: RuleExtractor, parts: TableParts) -> PartCounts:
    """Count the rules on all rows, in one pass.

    Parameters
    ----------
    extractor : RuleExtractor
        With its rules.
    parts : TableParts
        All rows.

    Returns
    -------
    PartCounts
        Of all rows.
    """
    found = parts.map(_count_part, common=(extractor, parts.names, parts.target))
    return PartCounts(
        sum(each.n_rows for each in found),
        np.sum([each.of_rules for each in found], axis=0),
        np.sum([each.of_classes for each in found], axis=0),
        sum(each.covered for each in found),
    )


def _count_part(
    part: TablePart, extractor: RuleExtractor, names: tuple[str, ...], target: str
) -> PartCounts:
    n_rules, n_classes = len(extractor.rules_), len(extractor.classes_)
    table = part.table(names)
    if not len(part.rows):
        return PartCounts(0, np.zeros((3, n_rules), int), np.zeros((3, n_classes), int), 0)
    data, known = extractor._known_points(table, part.values(target))
    covers = extractor.covers(table if known.all() else table.take(known))
    classes = class_codes([rule.label for rule in extractor.rules_], extractor.classes_)
    right, same = data.true[:, None] == classes, data.predicted[:, None] == classes
    of_rules = [np.count_nonzero(m, axis=0) for m in (covers, covers & right, covers & same)]
    of_classes = np.zeros((3, n_classes), dtype=np.intp)
    for k in range(n_classes):
        is_right = (data.true == k) & (data.predicted == k)
        by_own = covers[:, classes == k].any(axis=1)
        of_classes[:, k] = [
            np.count_nonzero(m) for m in (data.true == k, is_right, is_right & by_own)
        ]
    return PartCounts(
        len(data.true), np.array(of_rules), of_classes, int(np.count_nonzero(covers.any(axis=1)))
    )


def put_counts(extractor: RuleExtractor, counts: PartCounts) -> None:
    """Put the counts of all rows in the place of those of the sample."""
    rules = extractor.rules_
    extractor.rules_ = RuleSet(
        [
            Rule(
                rule.region,
                rule.label,
                origin="extracted",
                proof=rule.proof,
                stats=RuleStats(counts.n_rows, *counts.of_rules[:, k].tolist()),
            )
            for k, rule in enumerate(rules)
        ],
        rules.space,
        rules.classes,
    )
    for k, (label, trace) in enumerate(extractor.trace_.items()):
        members, points, covered = counts.of_classes[:, k].tolist()
        extractor.trace_[label] = replace(trace, points=points, covered=covered, members=members)
    known = extractor.budget_
    share = known.covered_by_all / max(1, known.rows)
    extractor.budget_ = replace(
        known,
        rows=counts.n_rows,
        covered=counts.covered,
        # Of rules that were not kept only the share of the sample is known.
        covered_by_all=max(counts.covered, round(share * counts.n_rows))
        if known.more
        else counts.covered,
        is_complete=known.is_complete and known.rows == counts.n_rows,
    )
