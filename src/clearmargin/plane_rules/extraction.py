"""The rules of a surface, over points that are encoded already: what `RuleExtractor` does after reading its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearmargin.models.surface import Surface
from clearmargin.plane_rules.class_rules import ClassBoxes, ExtractionOptions, boxes_of_class
from clearmargin.plane_rules.trace import Trace
from clearmargin.plane_rules.whole_numbers import share_whole_numbers
from clearmargin.rule_base.feature_ranges import declared_limits, encoded_domain
from clearmargin.rule_base.translate import to_user_box
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet, RuleStats
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["Extraction", "LabelledPoints", "extract_rules"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPoints:
    """Points without gaps, with their classes and what the model says of them.

    Parameters
    ----------
    points : ndarray of shape (m, n_encoded)
        Over the encoded columns.
    true, said : ndarray of int of shape (m,)
        Positions of classes among all classes.
    """

    points: FloatArray
    true: IntArray
    said: IntArray

    def are_right(self, k: int) -> BoolArray:
        """Which points belong to a class and are said to."""
        return np.asarray((self.said == k) & (self.true == k))


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """Rules, and what is known of them.

    Parameters
    ----------
    rules : RuleSet
        The rules of all classes, the fullest of each class first.
    boxes : tuple of Box
        Their boxes over the encoded columns.
    trace : dict from class to Trace
        What was found and what it cost.
    origins : tuple
        For each class and rule the boxes as they were found, before whole numbers, few digits and merging.
    columns : FeatureSpace
        The encoded columns with the ranges used.
    limits : Box
        Where columns can be taken to live without saying so.
    """

    rules: RuleSet
    boxes: tuple[Box, ...]
    trace: dict[Label, Trace]
    origins: tuple[tuple[tuple[Box, ...], ...], ...]
    columns: FeatureSpace
    limits: Box


def extract_rules(
    surface: Surface,
    space: FeatureSpace,
    declared: BoolArray,
    data: LabelledPoints,
    options: ExtractionOptions,
) -> Extraction:
    """Find, simplify and prove the rules of all classes.

    Parameters
    ----------
    surface : Surface
        The planes.
    space : FeatureSpace
        The user's features with the ranges to use.
    declared : ndarray of bool of shape (2, n)
        Which lower and upper ends of these ranges the user declared.
    data : LabelledPoints
        The points to cover.
    options : ExtractionOptions
        How.

    Returns
    -------
    Extraction
        Rules and what is known of them.

    Examples
    --------
    >>> from clearmargin.rules import Hyperplane
    >>> from clearmargin.models.duel import Duel
    >>> from clearmargin.tables.encoding import Source
    >>> space, age = FeatureSpace(["age"], [20.0], [80.0]), np.array([[20.0], [30.0], [70.0], [80.0]])
    >>> plane = (Duel(1, 0, Hyperplane([1.0], -50.0)),)
    >>> surface = Surface(space, (Source(0, None),), space, ("young", "old"), plane, True)
    >>> data = LabelledPoints(age, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    >>> options = ExtractionOptions("volume", 20, 1, None, True, None, True)
    >>> len(extract_rules(surface, space, np.zeros((2, 1), dtype=bool), data, options).rules)
    2
    """
    columns = encoded_domain(surface, space, data.points)
    limits = declared_limits(surface, columns, declared)
    found = [
        _boxes(surface, k, columns, limits, data, options) for k in range(len(surface.classes))
    ]
    found = share_whole_numbers(
        found,
        surface.guards(),
        columns,
        limits,
        data.points,
        [data.are_right(k) for k in range(len(surface.classes))],
        disjoint=options.disjoint,
    )
    rules, boxes, trace = _rules(surface, found, data)
    return Extraction(
        RuleSet(rules, space, surface.classes),
        tuple(boxes),
        trace,
        tuple(result.origins for result in found),
        columns,
        limits,
    )


def _boxes(
    surface: Surface,
    k: int,
    columns: FeatureSpace,
    limits: Box,
    data: LabelledPoints,
    options: ExtractionOptions,
) -> ClassBoxes:
    """The boxes of a class, and the rows in them."""
    halfspaces, guards = surface.regions()[k], surface.guards()[k]
    held = np.ones(len(data.points), dtype=np.bool_)
    reach = np.maximum(np.abs(columns.lower), np.abs(columns.upper))
    for halfspace in halfspaces:
        held &= halfspace.contains_exactly(data.points, reach)
    domain = Box(columns.lower, columns.upper)
    for guard in guards:
        rows = np.flatnonzero(held)
        held[rows] = guard.holds(data.points[rows], domain)
    wanted = data.are_right(k)
    return boxes_of_class(halfspaces, columns, limits, data.points, held, wanted, options, guards)


def _rules(
    surface: Surface, found: Sequence[ClassBoxes], data: LabelledPoints
) -> tuple[list[Rule], list[Box], dict[Label, Trace]]:
    """Turn boxes into rules and count what they cover."""
    rules: list[Rule] = []
    boxes: list[Box] = []
    trace: dict[Label, Trace] = {}
    for k, result in enumerate(found):
        label, kept = surface.classes[k], 0
        covered = np.zeros(len(data.points), dtype=np.bool_)
        for box, rows in zip(result.boxes, result.rows, strict=True):
            user_box = to_user_box(box, surface)
            if user_box is None:
                continue
            stats = RuleStats(
                rows=len(data.points),
                covered=len(rows),
                correct=int(np.count_nonzero(data.true[rows] == k)),
                agreed=int(np.count_nonzero(data.said[rows] == k)),
            )
            rules.append(Rule(user_box, label, origin="extracted", proof="proved", stats=stats))
            boxes.append(box)
            covered[rows] = True
            kept += 1
        trace[label] = Trace(
            result.wanted,
            result.problems,
            result.found,
            kept,
            int(np.count_nonzero(covered & data.are_right(k))),
            result.seconds,
            result.unlimited,
            int(np.count_nonzero(data.true == k)),
        )
    return rules, boxes, trace
