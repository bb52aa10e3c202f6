"""Rules of a linear model over a table too large to be held: extracted on a sample, proved, and counted on all rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from clearmargin.exceptions import DataError
from clearmargin.plane_rules.extraction import (
    DEFAULT_CRITERION,
    DEFAULT_ORDER,
    Extraction,
    ExtractionOptions,
    Trace,
    check_surface,
    extract_rules,
    warn_of_dense_plane,
)
from clearmargin.progress import Progress, task
from clearmargin.rule_base.budget import (
    DEFAULT_MAX_RULES,
    MinCoverage,
    RuleBudget,
    choose_rules,
    have_evidence,
)
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rule_base.rule_auc import class_shares, mean_auc
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet, RuleStats
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.csv_text import Texts
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.table import Table, column_ranges
from clearmargin.tables.table_part import TablePart

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes

__all__ = [
    "SampledRules",
    "SampledTable",
    "count_rules",
    "extract_from_parts",
    "n_sampled",
    "usable_counts",
]

# Values of the features used, in the sample. More rows give rules that cover hardly more of all rows, and the search
# for them takes longer, the more so the more features there are.
SAMPLE_VALUES = 30_000


class SampledTable(NamedTuple):
    """A table in partitions, with a sample of its rows.

    Parameters
    ----------
    parts : TableParts
        All rows.
    n_rows : int
        How many of them have a class and all values that are needed.
    sample : Table
        Some of these, with the ends of all ranges.
    true : ndarray of int
        Their classes, by their positions among those of the model.
    class_of : mapping
        The position of the class that a value of the target stands for.
    n_of_class : ndarray of int
        How many of the rows each class has.
    """

    parts: TableParts
    n_rows: int
    sample: Table
    true: IntArray
    class_of: Mapping[Any, int]
    n_of_class: IntArray

    @property
    def is_whole(self) -> bool:
        """Whether the sample is the table."""
        return len(self.sample) == self.n_rows


class SampledRules(NamedTuple):
    """Rules that were found on a sample: their figures, and those of the model, are of all rows."""

    rules: RuleSet
    trace: dict[Label, Trace]
    accuracy: float
    auc: float
    budget: RuleBudget


def n_sampled(model: Planes) -> int:
    """Return how many rows to draw for the rules of a model."""
    return SAMPLE_VALUES // max(3, len(model.features_used))


def extract_from_parts(
    model: Planes,
    found: SampledTable,
    *,
    criterion: str | None = None,
    max_rules: int | None = DEFAULT_MAX_RULES,
    max_conditions: int | None = None,
    min_coverage: MinCoverage = "auto",
    order: str | None = None,
    bounds: str | None = None,
    assume_ranges: bool = False,
    progress: Progress = "auto",
) -> SampledRules:
    """Extract rules on a sample, and count them on all rows.

    Parameters
    ----------
    model : Planes
        The model.
    found : SampledTable
        All rows, and a sample of them.
    criterion, max_rules, max_conditions, order, progress
        As for `RuleExtractor`.
    bounds : {"data", "class"}, optional
        As for `RuleExtractor`; the ranges of a class are those in the sample.
    min_coverage : int or "auto", default "auto"
        Minimum number of rows under a rule, of all rows; by default one in a thousand, and as many as tell it from
        chance.
    assume_ranges : bool, default False
        Whether the ranges seen in the data are taken for granted.

    Returns
    -------
    SampledRules
        The rules, what they cover of each class, the share of all rows on which the model is right, and the area under
        the ROC curve of the rules; and what the rules that were left out would add.
    """
    limits, sampled = _limits(found, min_coverage, max_rules)
    options = ExtractionOptions(
        criterion or DEFAULT_CRITERION,
        max_depth=20,
        min_coverage=sampled,
        max_rules=None,
        disjoint=True,
        max_conditions=max_conditions,
        tighten=True,
        order=order or DEFAULT_ORDER,
        has_class_bounds=bounds == "class",
        # Several searches find fewer rules among hundreds of rows; a sample has thousands.
        thorough=found.is_whole,
    )
    with task("extraction", len(model.classes_), "rules", show=progress):
        extraction = _extract_on_sample(model, found, options, assume_ranges)
    # Rules of two classes look at no other feature than the plane does; those of three may.
    needed = {*model.features_used, *_named_by(extraction.rules)}
    # Threads of linear algebra would wait in a loop for products too small to share, beside those that read.
    with threadpool_limits(1, "blas"):
        return _count_on_all(extraction, found, needed, model, limits)


def _extract_on_sample(
    model: Planes, found: SampledTable, options: ExtractionOptions, assume_ranges: bool
) -> Extraction:
    known = model.space
    low, high, integer = column_ranges(found.sample.columns_of(known.names), known.categories)
    seen = FeatureSpace(known.names, low, high, integer, known.categories, units=known.units)
    space = seen.with_fill(known.fill)
    surface = model.surface(space)
    check_surface(surface, options)
    declared = np.full((2, len(space)), assume_ranges) & np.isfinite([low, high])
    points = model.encoding_.encode(found.sample)
    data = LabelledPoints(points, found.true, model.predict_codes(found.sample))
    warn_of_dense_plane(surface, space, data, options)
    return extract_rules(surface, space, declared, data, options)


def _limits(
    found: SampledTable, min_coverage: MinCoverage, max_rules: int | None
) -> tuple[_Limits, MinCoverage]:
    """Return the limits of rules, counted in all rows, and how many rows of the sample a rule needs."""
    if min_coverage == "auto" and found.is_whole:
        return _Limits(1, "auto", max_rules), "auto"
    least = max(2, found.n_rows // 1000) if min_coverage == "auto" else min_coverage
    sampled = max(1, math.floor(least * len(found.sample) / found.n_rows))
    return _Limits(least, min_coverage, max_rules), sampled


class _Limits(NamedTuple):
    """How many rows a rule needs, and how many rules there may be."""

    least: int
    min_coverage: MinCoverage
    max_rules: int | None

    def apply(
        self, counts: RuleCounts, codes: IntArray, shares: FloatArray
    ) -> tuple[IntArray, IntArray]:
        """Return the rules with enough rows, and those of them that are kept."""
        covered, correct, _, hit = counts.of_rules
        enough = covered >= self.least
        if self.min_coverage == "auto":
            enough &= have_evidence(covered, correct, codes, shares, "auto")
        usable = np.flatnonzero(enough)
        # Rules do not meet: each stands for rows of its own, as many as it gets right.
        alone = [np.array([place]) for place in range(len(usable))]
        weights = hit[usable].astype(np.float64)
        return usable, usable[choose_rules(alone, codes[usable], self.max_rules, weights=weights)]


def _count_on_all(
    extraction: Extraction,
    found: SampledTable,
    needed: Collection[str],
    model: Planes,
    limits: _Limits,
) -> SampledRules:
    """Put the counts of all rows in the place of those of the sample; rules of too few rows are dropped."""
    rules, classes = extraction.rules, model.classes_.tolist()
    predicted_by = np.array([classes.index(rule.label) for rule in rules], dtype=np.intp)
    counts, points = count_rules(rules, found, model, needed)
    if counts.n_rows != found.n_rows:
        raise DataError(f"{found.parts.name} changed while it was read; try again")
    n_of_class = found.n_of_class
    covered, hit = counts.of_rules[0], counts.of_rules[3]
    usable, kept = limits.apply(counts, predicted_by, n_of_class / counts.n_rows)
    # Class by class, as they are, and those with the largest coverage first, whose order the sample may have changed.
    first = [int(np.argmax(predicted_by == predicted_by[k])) for k in kept]
    order = kept[np.lexsort((-hit[kept], first))]
    members = [_with_counts(rules[int(k)], counts, int(k)) for k in order]
    traces: dict[Label, Trace] = {}
    for label, trace in extraction.trace.items():
        code = classes.index(label)
        of_class = kept[predicted_by[kept] == code]
        # Rules of a class do not meet, so that no row is counted twice.
        traces[label] = replace(
            trace,
            points=int(points[code]),
            kept=len(of_class),
            covered=int(hit[of_class].sum()),
            members=int(n_of_class[code]),
        )
    accuracy = float(points.sum() / counts.n_rows)
    final = RuleSet(members, rules.space, rules.classes)
    dropped = np.delete(counts.of_classes, order, axis=0).sum(axis=0)
    area = _auc_of_counts(final, np.vstack([counts.of_classes[order], dropped]), classes)
    budget = RuleBudget(
        limits.max_rules,
        counts.n_rows,
        len(kept),
        # Rules do not meet, so that no row is counted twice.
        int(covered[kept].sum()),
        len(usable),
        int(covered[usable].sum()),
        extraction.budget.is_complete and found.is_whole,
    )
    return SampledRules(final, traces, accuracy, area, budget)


def _with_counts(rule: Rule, counts: RuleCounts, k: int) -> Rule:
    """Return a rule with the counts of all rows."""
    covered, correct, agreed, _ = counts.of_rules[:, k].tolist()
    stats = RuleStats(counts.n_rows, covered, correct, agreed)
    return Rule(rule.region, rule.label, origin="extracted", proof=rule.proof, stats=stats)


def _auc_of_counts(rules: RuleSet, counts: IntArray, classes: list[Label]) -> float:
    """Compute the area from the rows of each class under each rule, and under none in the last row."""
    K = len(classes)
    shares = class_shares(rules, np.append(np.arange(len(rules)), -1), classes)
    codes = np.tile(np.arange(K), len(shares))
    return mean_auc(np.repeat(shares, K, axis=0), codes, counts.ravel())


class RuleCounts(NamedTuple):
    """Numbers of rows under disjoint rules.

    Parameters
    ----------
    n_rows : int
        Rows in all.
    of_rules : ndarray of shape (4, n_rules)
        For each rule the rows covered, of these with its class, where the model agrees, and where both hold.
    of_classes : ndarray of shape (n_rules + 1, n_classes)
        For each rule, and in the last row for none, the rows of each class.
    """

    n_rows: int
    of_rules: IntArray
    of_classes: IntArray


def count_rules(
    rules: RuleSet, found: SampledTable, model: Planes, needed: Collection[str] | None = None
) -> tuple[RuleCounts, IntArray]:
    """Count the rows under each rule, partition by partition, and for each class the rows that the model gets right.

    Parameters
    ----------
    rules : RuleSet
        Rules that do not meet, so that no row is under two of them.
    found : SampledTable
        All rows.
    model : Planes
        The model.
    needed : collection of str, optional
        The features that rules and model look at, by default all.

    Returns
    -------
    counts : RuleCounts
        Of the rules.
    right : ndarray of shape (n_classes,)
        How many rows of each class the model predicts right.
    """
    names = [n for n in model.space.names if needed is None or n in needed]
    common = (rules, model, names, dict(found.class_of), found.parts.target)
    counted = found.parts.map(_count_part, common=common)
    n_rows, of_rules, of_classes, right = (sum(each) for each in zip(*counted, strict=True))
    return RuleCounts(n_rows, of_rules, of_classes), right


def _count_part(
    part: TablePart,
    rules: RuleSet,
    model: Planes,
    names: list[str],
    class_of: dict[Any, int],
    target: str,
) -> tuple[int, IntArray, IntArray, IntArray]:
    """Count the rows of a partition."""
    classes = model.classes_.tolist()
    part = part.take(usable_rows(part, model, target))
    true = target_codes(part, target, class_of)
    table = _with_idle_columns(part, model.space.names, names)
    predicted = model.predict_codes(table)
    points = np.bincount(true[true == predicted], minlength=len(classes))
    # Rules of a class do not meet, and those of two classes lie on different sides.
    which = rules.which(table)
    # No rule, -1, is the last row.
    n_cells = (len(rules) + 1) * len(classes)
    cells = (which % (len(rules) + 1)) * len(classes) + true
    of_classes = np.bincount(cells, minlength=n_cells).reshape(len(rules) + 1, len(classes))
    predicted_by = np.array([classes.index(rule.label) for rule in rules], dtype=np.intp)
    by_rule = predicted_by[which] if len(rules) else which
    right, same, under = true == by_rule, predicted == by_rule, which >= 0
    of_rules = [
        np.bincount(which[mask], minlength=len(rules))
        for mask in (under, under & right, under & same, under & right & same)
    ]
    return len(part.rows), np.array(of_rules), of_classes, points


def count_right(found: SampledTable, model: Planes, but: IntArray) -> IntArray:
    """Count the rows that a model predicts right, without some of them.

    Parameters
    ----------
    found : SampledTable
        All rows.
    model : Planes
        The model.
    but : ndarray of int
        The numbers of the rows that do not count.

    Returns
    -------
    ndarray of int of shape (2, n_classes)
        For each class the rows that are predicted right, and all rows that count.
    """
    common = (model, dict(found.class_of), found.parts.target, but)
    counts: IntArray = sum(found.parts.map(_count_right, common=common))  # type: ignore[assignment]
    return counts


def _count_right(
    part: TablePart, model: Planes, class_of: Mapping[Any, int], target: str, but: IntArray
) -> IntArray:
    part = part.take(usable_rows(part, model, target) & ~np.isin(part.rows, but))
    true, n_classes = target_codes(part, target, class_of), len(model.classes_)
    right = true[model.predict_codes(part.table(model.space.names)) == true]
    return np.array([np.bincount(codes, minlength=n_classes) for codes in (right, true)])


def usable_rows(part: TablePart, model: Planes, target: str) -> BoolArray:
    """Tell which rows have a class, and all values that the model does not impute."""
    known = ~part.is_missing(target)
    for name, fill in zip(model.space.names, model.space.fill, strict=True):
        if fill is None:
            known &= ~part.is_missing(name)
    return known


def usable_counts(parts: TableParts, model: Planes, class_of: Mapping[Any, int]) -> IntArray:
    """Count the rows of each class that have all values which the model does not impute.

    Parameters
    ----------
    parts : TableParts
        The rows, with a target.
    model : Planes
        The model.
    class_of : mapping
        The position of the class that a value of the target stands for.

    Returns
    -------
    ndarray of int of shape (n_classes,)
        Without a pass where the survey tells that no value is missing.
    """
    survey, n_classes = parts.survey(), len(model.classes_)
    needed = zip(model.space.names, model.space.fill, strict=True)
    lacking = [name for name, fill in needed if fill is None and survey.columns[name].n_missing]
    if not lacking:
        codes = [class_of[each.label] for each in survey.classes]
        counts = np.bincount(codes, weights=survey.class_counts, minlength=n_classes)
        return counts.astype(np.intp)
    return sum(parts.map(_usable_part, common=(model, class_of, parts.target)))  # type: ignore[return-value]


def _usable_part(
    part: TablePart, model: Planes, class_of: Mapping[Any, int], target: str
) -> IntArray:
    codes = target_codes(part.take(usable_rows(part, model, target)), target, class_of)
    return np.bincount(codes, minlength=len(model.classes_))


def target_codes(part: TablePart, target: str, class_of: Mapping[Any, int]) -> IntArray:
    """Give the class of each row by its position among those of the model."""
    values = part.column(target)
    try:
        if isinstance(values, Texts):
            codes = [class_of[text] for text in values.distinct] if len(values.codes) else []
            return np.array(codes, dtype=np.intp)[values.codes]
        labels, places = np.unique(values, return_inverse=True)
        return np.array([class_of[label] for label in labels.tolist()], dtype=np.intp)[
            places.ravel()
        ]
    except KeyError:
        raise DataError(f"{part.place} changed while it was read; try again") from None


def _with_idle_columns(part: TablePart, names: Collection[str], needed: Collection[str]) -> Table:
    """Give the rows as a table in which the columns that nobody looks at are zero."""
    zeros = np.zeros(len(part.rows))
    return Table.of_columns(
        {name: part.values(name) if name in needed else zeros for name in names}, part.rows
    )


def _named_by(rules: RuleSet) -> set[str]:
    boxes = [rule.region for rule in rules if isinstance(rule.region, Box)]
    return {rules.space.names[j] for box in boxes for j in box.bounded}
