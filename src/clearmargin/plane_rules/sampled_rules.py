"""Rules of a linear model over a table too large to be held: extracted on a sample, proved, and counted on all rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

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
from clearmargin.rules.space import seen_ranges
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.blocks import Block, TableBlocks, WholeTableNeeded
from clearmargin.tables.survey import Survey

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes

__all__ = ["SampledRules", "count_rules", "extract_from_blocks", "n_sampled"]

# Values of the features used, in the sample. More rows give rules that cover hardly more of all rows, and the search
# for them takes longer, the more so the more features there are.
SAMPLE_VALUES = 30_000


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


def extract_from_blocks(
    model: Planes,
    table: TableBlocks,
    found: Survey,
    labels: Mapping[str, Label],
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
    table : TableBlocks
        All rows.
    found : Survey
        The sample.
    labels : mapping from str to label
        The class of the model that each text of the target stands for.
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
    codes = {label: k for k, label in enumerate(model.classes_.tolist())}
    class_of = {text: codes[label] for text, label in labels.items()}
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
        thorough=len(found.X) == found.n_rows,
    )
    true = np.array([class_of[text] for text in found.n_rows_of])[found.codes]
    with task("extraction", len(codes), "rules", show=progress):
        extraction = _extract_on_sample(model, found, true, options, assume_ranges)
    # Rules of two classes look at no other feature than the plane does; those of three may.
    needed = {*model.features_used, *_named_by(extraction.rules)}
    try:
        # Threads of linear algebra would wait in a loop for products too small to share, beside those that read.
        with threadpool_limits(1, "blas"):
            return _count_on_all(extraction, table, needed, class_of, model, found, limits)
    except (WholeTableNeeded, KeyError) as error:
        raise DataError(f"{table.name} changed while it was read; try again") from error


def _extract_on_sample(
    model: Planes, found: Survey, true: IntArray, options: ExtractionOptions, assume_ranges: bool
) -> Extraction:
    low, high, integer = seen_ranges(list(found.X.T))
    seen = FeatureSpace(model.space.names, low, high, integer, units=model.space.units)
    space = seen.with_fill(model.space.fill)
    surface = model.surface(space)
    check_surface(surface, options)
    declared = np.full((2, len(space)), assume_ranges)
    data = LabelledPoints(found.X, true, model.predict_codes(found.X))
    warn_of_dense_plane(surface, space, data, options)
    return extract_rules(surface, space, declared, data, options)


def _limits(
    found: Survey, min_coverage: MinCoverage, max_rules: int | None
) -> tuple[_Limits, MinCoverage]:
    """Return the limits of rules, counted in all rows, and how many rows of the sample a rule needs."""
    if min_coverage == "auto" and len(found.X) == found.n_rows:
        return _Limits(1, "auto", max_rules), "auto"
    least = max(2, found.n_rows // 1000) if min_coverage == "auto" else min_coverage
    sampled = max(1, math.floor(least * len(found.X) / found.n_rows))
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
    table: TableBlocks,
    needed: Collection[str],
    class_of: Mapping[str, int],
    model: Planes,
    found: Survey,
    limits: _Limits,
) -> SampledRules:
    """Put the counts of all rows in the place of those of the sample; rules of too few rows are dropped."""
    rules, classes = extraction.rules, model.classes_.tolist()
    predicted_by = np.array([classes.index(rule.label) for rule in rules], dtype=np.intp)
    counts, points = count_rules(rules, table.blocks(needed), class_of, model)
    if sum(found.n_rows_of.values()) != counts.n_rows:
        raise WholeTableNeeded
    n_of_class = np.bincount(
        list(class_of.values()),
        weights=[found.n_rows_of[text] for text in class_of],
        minlength=len(classes),
    )
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
        extraction.budget.is_complete and len(found.X) == found.n_rows,
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
    rules: RuleSet, blocks: Iterable[Block], class_of: Mapping[str, int], model: Planes
) -> tuple[RuleCounts, IntArray]:
    """Count the rows under each rule, block by block, and for each class the rows that the model predicts right.

    Parameters
    ----------
    rules : RuleSet
        Rules that do not meet, so that no row is under two of them.
    blocks : iterable of Block
        The rows.
    class_of : mapping from str to int
        The place among the classes of the model of each text that stands for one.
    model : Planes
        The model.

    Returns
    -------
    counts : RuleCounts
        Of the rules.
    right : ndarray of shape (n_classes,)
        How many rows of each class the model predicts right.
    """
    classes = model.classes_.tolist()
    predicted_by = np.array([classes.index(rule.label) for rule in rules], dtype=np.intp)
    counts = np.zeros((4, len(rules)), dtype=np.int64)
    points = np.zeros(len(classes), dtype=np.int64)
    of_classes = np.zeros((len(rules) + 1, len(classes)), dtype=np.int64)
    n_rows = 0
    for X, places, texts in blocks:
        n_rows += len(X)
        true = np.array([class_of[text] for text in texts])[places]
        predicted = model.predict_codes(X)
        points += np.bincount(true[true == predicted], minlength=len(classes))
        # Rules of a class do not meet, and those of two classes lie on different sides.
        which = rules.which(X)
        # No rule, -1, is the last row.
        cells = (which % len(of_classes)) * len(classes) + true
        of_classes += np.bincount(cells, minlength=of_classes.size).reshape(of_classes.shape)
        by_rule = predicted_by[which] if len(rules) else which
        right, same, under = true == by_rule, predicted == by_rule, which >= 0
        for j, mask in enumerate((under, under & right, under & same, under & right & same)):
            counts[j] += np.bincount(which[mask], minlength=len(rules))
    return RuleCounts(n_rows, counts, of_classes), points


def _named_by(rules: RuleSet) -> set[str]:
    boxes = [rule.region for rule in rules if isinstance(rule.region, Box)]
    return {rules.space.names[j] for box in boxes for j in box.bounded}
