"""The tree as rules: an ordered list of polyhedra that says exactly what the tree says.

Each leaf gives a rule for each class that it can say. Premises are the bisectors between its centre and the other
centres of its layer, less those that follow from the others, and the inequalities of its machine. The rules stand
in the order of the layers, and the first rule that covers a row decides: cells of different layers overlap, so a
rule of a later layer by itself is not what the tree says everywhere in its region. The very last leaf takes
whatever no rule before it took; its rules do without bisectors, so that the list covers every row.

Tree and rules evaluate the same rows with the same numbers in the same order, and so agree to the last bit, also on
the bisectors themselves. (A dropped row follows with so much room to spare that rounding takes it away only hundreds of
training ranges from the data. Where features are so far from zero, compared with their range, that it could happen
nearer, no row is dropped.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, FeatureSpace, Polyhedron, Rule, RuleSet
from clearmargin.rules.rule import Label, Proof, Region, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.cells import Frame, bisectors
from clearmargin.svm_trees.redundancy import is_implied, is_void, needed_rows
from clearmargin.svm_trees.svm_tree import Layer, Leaf, SVMTree

__all__ = ["exact_rules"]

# A row is dropped with a room of 1e-6 (`redundancy`); rounding near the data must be far below that.
_ROOM = 1e-9


def exact_rules(
    tree: SVMTree,
    space: FeatureSpace | None = None,
    classes: Iterable[Label] | None = None,
    *,
    data: tuple[FloatArray, IntArray] | None = None,
) -> RuleSet:
    """Write a tree as an ordered list of rules that agrees with it on every row.

    Rules of the first layer are marked as proved: no rule stands before them that could take a row away, and they
    are what the tree evaluates. Later rules hold only where no earlier one does, and are marked as observed.

    Parameters
    ----------
    tree : SVMTree
        The tree.
    space : FeatureSpace, optional
        The features; by default the names of the tree.
    classes : iterable of labels, optional
        What to call the classes, in the order of the tree; by default as the tree does.
    data : (points, codes), optional
        Rows and the positions of their classes, to count how each rule does by itself.

    Returns
    -------
    RuleSet
        The rules; the first that covers a row decides, and some rule covers each row.

    Examples
    --------
    >>> layer = Layer([[0.0], [4.0]], [(3, 0), (0, 2)], [Leaf("pure", 0, [3, 0]), Leaf("pure", 1, [0, 2])])
    >>> tree = SVMTree([layer], low=[0.0], width=[4.0], names=["size"], classes=["small", "large"])
    >>> print(exact_rules(tree), end="")
    leaf_0: size <= 2 => small
    leaf_1: true => large
    """
    features = FeatureSpace(tree.names) if space is None else space
    labels = tree.classes if classes is None else tuple(as_label(c) for c in classes)
    if len(labels) != len(tree.classes):
        raise InvalidValueError(
            f"the tree has {len(tree.classes)} classes, but {len(labels)} labels were given for them"
        )
    rules = [
        Rule(region, labels[code], origin="extracted", proof=proof, name=f"leaf_{number}")
        for number, proof, code, rows in _premises(tree)
        if (region := _region(rows)) is not None
    ]
    listed = RuleSet(rules, features, labels)
    return listed if data is None else _counted(listed, tree, *data)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Inequalities in the user's units."""

    A: FloatArray
    b: FloatArray
    strict: BoolArray

    def and_also(self, other: _Rows) -> _Rows:
        return _Rows(
            np.vstack([self.A, other.A]),
            np.append(self.b, other.b),
            np.append(self.strict, other.strict),
        )

    @classmethod
    def none(cls, n_features: int) -> _Rows:
        return cls(np.empty((0, n_features)), np.empty(0), np.empty(0, dtype=np.bool_))


def _premises(tree: SVMTree) -> Iterator[tuple[int, Proof, int, _Rows]]:
    """For each rule: the number of its leaf, how sure it is, the class and the premise."""
    number, last = 0, tree.n_leaves - 1
    for t, layer in enumerate(tree.layers):
        for cell, leaf in enumerate(layer.leaves):
            if leaf is None:
                continue
            rows, V = _Rows.none(len(tree.names)), np.empty((0, len(tree.names)))
            if number < last:
                rows, V = _cell(layer, cell, tree.frame)
            # The last leaf has no bisectors, so other leaves of its layer lie in its region.
            alone = t == 0 and (number < last or tree.n_leaves == 1)
            for code, extra in _answers(leaf, layer.centres[cell], V, tree.frame):
                yield number, "proved" if alone else "observed", code, rows.and_also(extra)
            number += 1


def _cell(layer: Layer, cell: int, frame: Frame) -> tuple[_Rows, FloatArray]:
    """The bisectors that a cell needs, and the same rows as V z <= 1 around its centre on scaled data."""
    others = np.delete(np.arange(len(layer.centres)), cell)
    scaled = frame.scale(layer.centres)
    steps = scaled[others] - scaled[cell]
    squared = (steps**2).sum(axis=1)
    apart = squared > 0  # an equal centre further down takes nothing away
    others, V = others[apart], 2 * steps[apart] / squared[apart, None]
    if _noise(layer.centres, squared[apart], frame) < _ROOM:
        needed = needed_rows(V)
        others, V = others[needed], V[needed]
    else:
        V = V[:0]  # nothing follows from no rows
    A, b = bisectors(layer.centres, frame.width, np.full(len(others), cell), others)
    return _Rows(A, b, others < cell), V


def _noise(centres: FloatArray, squared: FloatArray, frame: Frame) -> float:
    """Error of the evaluation of a row near the data, relative to its right-hand side around the centre.

    A row is a sum of n products; its weights grow with the distance to the other centre, the right-hand side with the
    square of it, so that the nearest centre has the largest relative error.
    """
    reach = np.abs(centres).max(axis=0) + np.abs(frame.low)
    magnitude = float((reach / frame.width).sum())
    eps = float(np.finfo(np.float64).eps)
    return 4 * (len(reach) + 4) * eps * magnitude / math.sqrt(squared.min(initial=math.inf))


def _answers(
    leaf: Leaf, centre: FloatArray, V: FloatArray, frame: Frame
) -> Iterator[tuple[int, _Rows]]:
    """The classes that a leaf can say within its cell, and what its machine asks for."""
    none = _Rows.none(len(centre))
    if not leaf.pairs:
        yield leaf.label, none
        return
    for code in sorted({code for pair in leaf.pairs for code in pair}):
        duels = [
            (normal, offset, code == second)
            for (first, second), normal, offset in zip(
                leaf.pairs, leaf.normals, leaf.offsets, strict=True
            )
            if code in (first, second)
        ]
        rows = _winning(duels, centre, V, frame)
        if rows is not None:
            yield code, rows
    if len(leaf.pairs) > 1:
        yield leaf.label, none  # no class wins all its duels


def _winning(
    duels: list[tuple[FloatArray, float, bool]], centre: FloatArray, V: FloatArray, frame: Frame
) -> _Rows | None:
    """The inequalities under which a class wins all its duels; None if it cannot within the cell."""
    rows = _Rows.none(len(centre))
    for normal, offset, is_second in duels:
        if not normal.any():
            if (offset < 0) != is_second:
                return None
            continue
        side = _side(normal, offset, is_second)
        if not _follows(side, centre, V, frame):
            rows = rows.and_also(side)
    A, b = _around(rows, centre, frame)
    return None if is_void(np.vstack([V, A]), np.append(np.ones(len(V)), b)) else rows


def _side(normal: FloatArray, offset: float, is_second: bool) -> _Rows:
    """The side of a plane on which the second class wins (normal'x > offset), or the other one."""
    sign = -1.0 if is_second else 1.0
    return _Rows(sign * normal[None, :], np.array([sign * offset]), np.array([is_second]))


def _follows(row: _Rows, centre: FloatArray, V: FloatArray, frame: Frame) -> bool:
    """Whether a row holds all over the cell, with room to spare."""
    (weights,), (limit,) = _around(row, centre, frame)
    # A row that the centre itself does not satisfy does not follow.
    return bool(limit > 0) and is_implied(V, weights / limit)


def _around(rows: _Rows, centre: FloatArray, frame: Frame) -> tuple[FloatArray, FloatArray]:
    """Write rows for scaled data around a centre."""
    widths = np.where(np.isfinite(frame.width), frame.width, 0.0)
    return rows.A * widths, rows.b - rows.A @ centre


def _region(rows: _Rows) -> Region | None:
    """The polyhedron of some rows, a box where it is one; None where that is empty."""
    if not len(rows.b):
        return Box.from_intervals({}, rows.A.shape[1])
    region = Polyhedron(rows.A, rows.b, rows.strict)
    # Intervals that only touch, at a point that neither has to itself, are too close to be found void before.
    return None if region.has_unit_rows and region.to_box().is_empty else region


def _counted(rules: RuleSet, tree: SVMTree, points: FloatArray, codes: IntArray) -> RuleSet:
    """The same rules with what they cover, each by itself, and how often data and tree agree with them."""
    names = np.array(rules.classes, dtype=object)
    scores = rules.score(points, names[codes], names[tree.decide(points)])
    counted = [
        Rule(
            rule.region,
            rule.label,
            name=rule.name,
            origin=rule.origin,
            proof=rule.proof,
            stats=stats,
        )
        for rule, stats in zip(rules, scores.rules, strict=True)
    ]
    return RuleSet(counted, rules.space, rules.classes)
