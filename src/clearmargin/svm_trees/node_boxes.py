"""The boxes that the leaves of a tree stand for (algorithms 2 and 3 of Pang and Kasabov, IJCNN 2008).

A leaf that always says the same gives one box: the least that holds its training points. (The paper takes the least
box that holds the support vectors of a one-class machine, which is part of it; at the paper's settings it holds about
half of the points.)

A leaf with machines gives a box for each support vector s. Its class is the one that the leaf says at s, whatever its
label: a support vector beyond the surface is no example of its own class. Along axis l a duel with the plane
f(x) = a'x - t, in which that class wins at s, is lost at s_l - f(s) / a_l, below s or above it by the signs of f and
a_l. With several duels the nearest such crossing counts, without any there is no bound. As only the lines through s
are looked at, what is found may reach far beyond the cell; so it is cut to the least box that holds the training points
of the leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.cells import Frame, left_sides
from clearmargin.svm_trees.local_svm import fit_pair
from clearmargin.svm_trees.svm_tree import Leaf, SVMTree

__all__ = ["NodeBoxes", "crossing_boxes", "node_boxes", "support_rows"]


@dataclass(frozen=True, slots=True)
class NodeBoxes:
    """Boxes with their classes, and the leaves they come from.

    Parameters
    ----------
    boxes : Boxes
        The boxes, r of them.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    leaves : ndarray of int of shape (r,)
        Positions of their leaves.
    from_machine : ndarray of bool of shape (r,)
        Whether the box belongs to a support vector; the others hold all points of a leaf.
    """

    boxes: Boxes
    codes: IntArray
    leaves: IntArray
    from_machine: BoolArray

    def take(self, index: IntArray | BoolArray) -> NodeBoxes:
        """Some of them."""
        return NodeBoxes(
            self.boxes.take(index), self.codes[index], self.leaves[index], self.from_machine[index]
        )

    def with_boxes(self, boxes: Boxes) -> NodeBoxes:
        """Other boxes in the same places."""
        return NodeBoxes(boxes, self.codes, self.leaves, self.from_machine)


def node_boxes(
    tree: SVMTree, points: FloatArray, codes: IntArray, membership: IntArray, C: float
) -> NodeBoxes:
    """Give the boxes of all leaves, each box once.

    Parameters
    ----------
    tree : SVMTree
        The tree.
    points : ndarray of shape (m, n)
        Its training points.
    codes : ndarray of int of shape (m,)
        Their classes.
    membership : ndarray of int of shape (m,)
        Their leaves.
    C : float
        Cost of an error with which its machines were fitted.

    Returns
    -------
    NodeBoxes
        Boxes in the order of the leaves.

    Examples
    --------
    >>> from clearmargin.svm_trees.svm_tree import Layer
    >>> layer = Layer([[1.0], [9.0]], [(2, 0), (0, 1)], [Leaf("pure", 0, [2, 0]), Leaf("pure", 1, [0, 1])])
    >>> tree = SVMTree([layer], low=[0.0], width=[9.0], names=["size"], classes=["small", "large"])
    >>> X, codes = np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1])
    >>> node_boxes(tree, X, codes, tree.apply(X), C=0.1).boxes.upper.tolist()
    [[2.0], [9.0]]
    """
    order = np.argsort(membership, kind="stable")
    bounds = np.searchsorted(membership[order], np.arange(tree.n_leaves + 1))
    lower, upper, said, leaves, from_machine = [], [], [], [], []
    for number, (leaf, (start, stop)) in enumerate(zip(tree.leaves, pairwise(bounds), strict=True)):
        rows = order[start:stop]
        if not len(rows):
            continue
        low, high = points[rows].min(axis=0), points[rows].max(axis=0)
        if leaf.pairs:
            anchors = points[rows][support_rows(points[rows], codes[rows], tree.frame, C)]
            below, above, label = crossing_boxes(leaf, anchors)
            table = np.hstack([np.maximum(below, low), np.minimum(above, high), label[:, None]])
            table = np.unique(table, axis=0)
        else:
            table = np.concatenate([low, high, [leaf.label]])[None, :]
        n = points.shape[1]
        lower.append(table[:, :n])
        upper.append(table[:, n : 2 * n])
        said.append(table[:, -1].astype(np.intp))
        leaves.append(np.full(len(table), number, dtype=np.intp))
        from_machine.append(np.full(len(table), bool(leaf.pairs)))
    return NodeBoxes(
        Boxes.from_bounds(np.vstack(lower), np.vstack(upper)),
        np.concatenate(said),
        np.concatenate(leaves),
        np.concatenate(from_machine),
    )


def support_rows(points: FloatArray, codes: IntArray, frame: Frame, C: float) -> IntArray:
    """Find the support vectors of the machines of a leaf, which the tree counts but does not keep.

    Parameters
    ----------
    points : ndarray of shape (k, n)
        The training points of the leaf.
    codes : ndarray of int of shape (k,)
        Their classes, at least two.
    frame : Frame
        How the data are scaled.
    C : float
        Cost of an error.

    Returns
    -------
    ndarray of int
        Rows that are support vectors of the machine of some pair of classes, ascending.

    Examples
    --------
    >>> frame = Frame(np.zeros(1), np.ones(1))
    >>> X, codes = np.array([[0.0], [4.0], [6.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> support_rows(X, codes, frame, C=10.0)
    array([1, 2])
    """
    scaled = frame.scale(points)
    present = np.unique(codes)
    is_support = np.zeros(len(points), dtype=np.bool_)
    for first, second in zip(*np.triu_indices(len(present), 1), strict=True):
        members = np.flatnonzero((codes == present[first]) | (codes == present[second]))
        centred = scaled[members] - scaled[members].mean(axis=0)
        _, _, support = fit_pair(centred, codes[members] == present[second], C)
        is_support[members[support]] = True
    return np.flatnonzero(is_support)


def crossing_boxes(leaf: Leaf, anchors: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Walk from points along the axes until the class that a leaf says there loses a duel.

    Parameters
    ----------
    leaf : Leaf
        A leaf with machines.
    anchors : ndarray of shape (k, n)
        Where to start.

    Returns
    -------
    below, above : ndarray of shape (j, n)
        Where the walks end, infinite where they do not. Points at which no class wins all its duels are left out.
    codes : ndarray of int of shape (j,)
        The class at each start.

    Examples
    --------
    >>> leaf = Leaf("svm", 0, [1, 1], pairs=[(0, 1)], normals=[[1.0, 0.5]], offsets=[3.0])
    >>> crossing_boxes(leaf, np.array([[1.0, 2.0]]))
    (array([[-inf, -inf]]), array([[2., 4.]]), array([0]))
    """
    said = leaf.decide(anchors)
    below, above = np.full_like(anchors, -np.inf), np.full_like(anchors, np.inf)
    wins = np.ones(len(anchors), dtype=np.bool_)
    for (first, second), normal, offset in zip(leaf.pairs, leaf.normals, leaf.offsets, strict=True):
        rows = np.flatnonzero((said == first) | (said == second))
        # The same sum as in `decide`: its sign says who wins.
        excess = left_sides(normal, anchors[rows]) - offset
        is_second = said[rows] == second
        wins[rows] &= is_second == (excess > 0)
        axes = np.flatnonzero(normal)
        reached = anchors[np.ix_(rows, axes)] - excess[:, None] / normal[axes]
        # The first class loses where f grows, the second where it falls.
        upwards = (normal[axes] > 0) != is_second[:, None]
        block = np.ix_(rows, axes)
        above[block] = np.minimum(above[block], np.where(upwards, reached, np.inf))
        below[block] = np.maximum(below[block], np.where(upwards, -np.inf, reached))
    return below[wins], above[wins], said[wins]
