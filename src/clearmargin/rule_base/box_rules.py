"""Rules from boxes of any model: what a search for boxes works on, what it finds, and the rules made of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.fitted import innermost
from clearmargin.models.kernel_machine import read_machine
from clearmargin.rule_base.budget import MinCoverage, RuleBudget, choose_rules, have_evidence
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rule_base.row_coverage import DropOption, DroppedBox
from clearmargin.rule_base.simplify import drop_boxes, shorten_bounds, to_user_box
from clearmargin.rule_base.training import class_codes, taken_by
from clearmargin.rules import Rule, RuleSet, RuleStats
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Decoding, Encoding
from clearmargin.tables.row_order import sample_classes

__all__ = [
    "ExtractionTask",
    "FoundBoxes",
    "RuleBoxes",
    "SupportVectors",
    "choose_boxes",
    "count_budget",
    "make_rules",
    "read_support",
]


@dataclass(frozen=True, slots=True, eq=False)
class SupportVectors:
    """The support vectors of a machine as encoded rows.

    Parameters
    ----------
    points : ndarray of shape (s, n)
        Encoded rows.
    codes : ndarray of int of shape (s,)
        The class of each, as trained.
    """

    points: FloatArray
    codes: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class ExtractionTask(LabelledPoints):
    """The training points, and the model to ask about others.

    Parameters
    ----------
    points, true, predicted : ndarray
        The training rows without missing values, as for `LabelledPoints`.
    model : fitted classifier
        The model.
    encoding : Encoding
        The table as columns of numbers.
    table : Decoding
        The way back.
    classes : tuple of labels
        The classes.
    codes : ndarray of int of shape (m,)
        The class that rules should give each row: the predicted class, or the label.
    random : numpy.random.RandomState
        Where chance comes from.
    """

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
        """Ask the model for the classes of encoded rows.

        Parameters
        ----------
        points : ndarray of shape (k, n)
            Encoded rows.

        Returns
        -------
        ndarray of int of shape (k,)
            Positions of classes.
        """
        if not len(points):
            return np.empty(0, dtype=np.intp)
        with warnings.catch_warnings():
            # Names that only the table or only the model has change nothing here.
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            answers = self.model.predict(taken_by(self.model, self.table.make(points)))
        return class_codes(answers, self.classes)


@dataclass(frozen=True, slots=True, eq=False)
class FoundBoxes:
    """Boxes over the encoded columns, each with its class.

    Parameters
    ----------
    boxes : Boxes
        The boxes.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    proved : ndarray of bool of shape (r,)
        Whether the model was proved to give this class everywhere in the box.
    """

    boxes: Boxes
    codes: IntArray
    proved: BoolArray

    @classmethod
    def observed(cls, boxes: Boxes, codes: IntArray) -> FoundBoxes:
        """Take boxes without proof."""
        return cls(boxes, codes, np.zeros(len(codes), dtype=np.bool_))


def read_support(task: ExtractionTask, X: Any, *, trained_here: bool) -> SupportVectors:
    """Give the support vectors of a model as encoded rows.

    Parameters
    ----------
    task : ExtractionTask
        What is known; its encoding is that of the table by itself.
    X : data frame or array-like of shape (m, n)
        The training table.
    trained_here : bool
        Whether the model was trained on this table, so that its support vectors are rows of it.

    Returns
    -------
    SupportVectors
        The support vectors.
    """
    machine = innermost(task.model)
    if not hasattr(machine, "support_vectors_"):
        raise InvalidValueError(
            f"{type(machine).__name__} has no support vectors; SurrogateRules(method='train') takes any classifier"
        )
    if getattr(machine, "kernel", None) == "precomputed":
        read_machine(task.model, X)  # says what is wrong with it
    if trained_here:
        rows = np.asarray(machine.support_, dtype=np.intp)
        points = task.encoding.encode(X)[rows]
        codes = np.repeat(np.arange(len(machine.classes_)), machine.n_support_)
        return SupportVectors(points, codes.astype(np.intp))
    try:
        kernel_machine = read_machine(task.model, X)
    except (InvalidValueError, NotFittedError) as error:
        raise InvalidValueError(
            f"the support vectors of the fitted model cannot be carried back to the table: {error}. "
            "Pass the model unfitted: it is then trained here, and its support vectors are rows of the table"
        ) from None
    middle = np.median(kernel_machine.encoding.encode(X), axis=0)
    vectors = kernel_machine.support_points(middle)
    # The machine's own encoding may order categories otherwise than the table's.
    user = Decoding.of(X, kernel_machine.encoding).make(vectors)
    return SupportVectors(task.encoding.encode(user), kernel_machine.support_codes)


class RuleBoxes(NamedTuple):
    """Rules, and the boxes over encoded columns that they stand for.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    boxes : Boxes
        Their boxes over the encoded columns, in the same order.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    places : ndarray of int of shape (r,)
        Their positions among the boxes that were found.
    dropped : tuple of DroppedBox
        Boxes that gave no rule.
    budget : RuleBudget
        What the rules cover, and what all that were found would.
    """

    rules: RuleSet
    boxes: Boxes
    codes: IntArray
    places: IntArray
    dropped: tuple[DroppedBox, ...]
    budget: RuleBudget


def make_rules(
    task: ExtractionTask,
    found: FoundBoxes,
    min_coverage: MinCoverage,
    max_rules: int | None,
    *,
    weights: FloatArray | None = None,
) -> RuleBoxes:
    """Make rules of boxes: bounds of few digits, the rule with the highest precision first.

    Rules of different classes may overlap, and the first rule that covers a case decides. So they stand in the order
    of their Laplace precision, (right + 1) / (covered + classes), on the training points, and of equal ones
    the one with the larger coverage first.

    Parameters
    ----------
    task : ExtractionTask
        The training points and their classes.
    found : FoundBoxes
        The boxes.
    min_coverage : int or "auto"
        Boxes that cover fewer training points are left out; with "auto" those that cannot be told from chance.
    max_rules : int or None
        Maximum number of rules in all classes together; then those that cover most stay.
    weights : ndarray of shape (m,), optional
        What each training point counts where rules are put in order; 1 when not given.

    Returns
    -------
    RuleBoxes
        Rules and boxes.
    """
    covers = found.boxes.masks(task.points)
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
        Boxes.of(boxes, len(task.encoding.columns)),
        np.array(codes, dtype=np.intp),
        np.array(places, dtype=np.intp),
        tuple(_dropped(task, found, stay, ~enough)),
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
    """Choose regions that cover enough training points and, of these, those that cover most.

    Parameters
    ----------
    task : ExtractionTask
        The training points and their classes.
    covers : ndarray of bool of shape (r, m)
        The points in each region.
    codes, lengths : ndarray of int of shape (r,)
        Its class, and its number of conditions.
    min_coverage : int or "auto"
        As for `make_rules`.
    max_rules : int or None
        As for `make_rules`.

    Returns
    -------
    enough, chosen : ndarray of bool of shape (r,)
        Which cover enough points, and which are chosen.
    """
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


def _dropped(
    task: ExtractionTask, found: FoundBoxes, stay: BoolArray, few: BoolArray
) -> Iterator[DroppedBox]:
    """Yield the boxes that gave no rule, over the user's features."""
    for r in np.flatnonzero(~stay).tolist():
        option: DropOption = "min_coverage" if few[r] else "max_rules"
        label = task.classes[int(found.codes[r])]
        yield from drop_boxes([found.boxes[r]], task.encoding, label, option)


def _by_precision(
    right: FloatArray | IntArray, covered: FloatArray | IntArray, classes: int
) -> IntArray:
    """Return the order of rules: by Laplace precision, of equal ones the one with the larger coverage first."""
    return np.lexsort((-covered, -(right + 1.0) / (covered + classes)))
