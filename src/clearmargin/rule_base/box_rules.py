"""Rules from boxes of any model: what a search for boxes works on, what it finds, and the rules made of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.rule_base.budget import MinCoverage, RuleBudget, choose_rules, have_evidence
from clearmargin.rule_base.simplify import shorten_bounds, to_user_box
from clearmargin.rule_base.training import LabelledPoints, class_codes, taken_by
from clearmargin.rules import Box, Rule, RuleSet, RuleStats
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Decoding, Encoding
from clearmargin.tables.row_order import sample_classes


@dataclass(frozen=True, slots=True, eq=False)
class ExtractionTask(LabelledPoints):
    """The training points, and the model to ask about others."""

    model: Any
    encoding: Encoding
    table: Decoding
    classes: tuple[Label, ...]
    codes: IntArray
    random: np.random.RandomState

    @property
    def lower(self) -> FloatArray:
        """Where the training points begin, column by column."""
        return np.asarray(self.points.min(axis=0))

    @property
    def upper(self) -> FloatArray:
        """Where the training points end."""
        return np.asarray(self.points.max(axis=0))

    def sampled(self, n_rows: int) -> ExtractionTask:
        """Keep about so many rows, drawn by their values, and those at the ends of columns, so that ranges stay."""
        if len(self.points) <= n_rows:
            return self
        ends = [self.points.argmin(axis=0), self.points.argmax(axis=0)]
        drawn = sample_classes(self.points, self.codes, n_rows)
        rows = np.unique(np.concatenate([drawn, *ends]))
        return replace(
            self,
            points=self.points[rows],
            true=self.true[rows],
            predicted=self.predicted[rows],
            codes=self.codes[rows],
        )

    def ask(self, points: FloatArray) -> IntArray:
        """Ask the model for the classes of encoded rows."""
        if not len(points):
            return np.empty(0, dtype=np.intp)
        with warnings.catch_warnings():
            # Names that only the table or only the model has change nothing here.
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            answers = self.model.predict(taken_by(self.model, self.table.make(points)))
        return class_codes(answers, self.classes)


@dataclass(frozen=True, slots=True, eq=False)
class FoundBoxes:
    """Boxes over the encoded columns, each with its class."""

    boxes: Box
    codes: IntArray
    proved: BoolArray

    @classmethod
    def observed(cls, boxes: Box, codes: IntArray) -> FoundBoxes:
        """Take boxes without proof."""
        return cls(boxes, codes, np.zeros(len(codes), dtype=np.bool_))


class RuleBoxes(NamedTuple):
    """Rules, and the boxes over encoded columns that they stand for."""

    rules: RuleSet
    boxes: Box
    codes: IntArray
    places: IntArray
    budget: RuleBudget


def make_rules(
    task: ExtractionTask,
    found: FoundBoxes,
    min_coverage: MinCoverage,
    max_rules: int | None,
    *,
    weights: FloatArray | None = None,
) -> RuleBoxes:
    """Make rules of boxes: bounds of few digits, the rule with the highest precision first."""
    covers = found.boxes.contains(task.points)
    rightly = covers & (task.codes == found.codes[:, None])
    right, covered = rightly.sum(axis=1), covers.sum(axis=1)
    enough, stay = choose_boxes(
        task, covers, found.codes, found.boxes.n_conditions, min_coverage, max_rules
    )
    if not stay.any():
        most = int(covered.max()) if len(covered) else 0
        raise DataError(
            f"no rule covers {min_coverage} training points (the box with the largest coverage covers {most}); lower "
            "min_coverage"
        )
    order = _by_precision(right, covered, len(task.classes))
    if weights is not None:
        order = _by_precision(rightly @ weights, covers @ weights, len(task.classes))
    rules, boxes, codes, places = [], [], [], []
    for r in order[stay[order]]:
        box = shorten_bounds(found.boxes[r], task.encoding.columns, task.points[covers[r]])
        region = to_user_box(box, task.encoding)
        if region is None:
            continue
        code = int(found.codes[r])
        rows = covers[r]
        stats = RuleStats(
            rows=len(task.points),
            covered=int(covered[r]),
            correct=int(np.count_nonzero(task.true[rows] == code)),
            agreed=int(np.count_nonzero(task.predicted[rows] == code)),
        )
        proof = "proved" if found.proved[r] else "observed"
        rules.append(
            Rule(region, task.classes[code], origin="extracted", proof=proof, stats=stats)  # type: ignore[arg-type]
        )
        boxes.append(box)
        codes.append(code)
        places.append(r)
    return RuleBoxes(
        RuleSet(rules, task.encoding.space, task.classes),
        Box.stack(boxes, len(task.encoding.columns)),
        np.array(codes, dtype=np.intp),
        np.array(places, dtype=np.intp),
        count_budget(covers, enough, stay, max_rules),
    )


def choose_boxes(
    task: ExtractionTask,
    covers: BoolArray,
    codes: IntArray,
    lengths: IntArray,
    min_coverage: MinCoverage,
    max_rules: int | None,
) -> tuple[BoolArray, BoolArray]:
    """Choose regions that cover enough training points and, of these, those that cover most."""
    rightly = covers & (task.codes == codes[:, None])
    counts = np.bincount(task.codes, minlength=len(task.classes))
    enough = have_evidence(
        covers.sum(axis=1), rightly.sum(axis=1), codes, counts / counts.sum(), min_coverage
    )
    usable = np.flatnonzero(enough)
    rows = [np.flatnonzero(rightly[r]) for r in usable]
    chosen = np.zeros(len(codes), dtype=np.bool_)
    chosen[usable[choose_rules(rows, codes[usable], max_rules, lengths=lengths[usable])]] = True
    return enough, chosen


def count_budget(
    covers: BoolArray, enough: BoolArray, chosen: BoolArray, max_rules: int | None
) -> RuleBudget:
    """Count what the chosen regions cover, and what all with enough points would."""
    return RuleBudget(
        max_rules,
        covers.shape[1],
        int(np.count_nonzero(chosen)),
        int(np.count_nonzero(covers[chosen].any(axis=0))),
        int(np.count_nonzero(enough)),
        int(np.count_nonzero(covers[enough].any(axis=0))),
    )


def _by_precision(
    right: FloatArray | IntArray, covered: FloatArray | IntArray, classes: int
) -> IntArray:
    """Return the order of rules: by Laplace precision, of equal ones the one with the larger coverage first."""
    return np.lexsort((-covered, -(right + 1.0) / (covered + classes)))
