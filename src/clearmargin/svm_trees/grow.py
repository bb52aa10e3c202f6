"""Growing the tree: cut, keep the cells that are good enough, pool the rest, cut again.

Algorithm 1 of Pang and Kasabov (2008), with its misprints resolved: a cell is a leaf when all its points are of one
class or when the loss of its support vector machine is *at most* `tol`; only leaves are taken out; the points of
all other cells are pooled and cut anew. The scale stays after a success and is refined after a cut without a leaf,
which leaves no trace. "breadth" keeps all leaves of a cut, "depth" only the largest. It always ends: the finest cut
has every distinct point in a cell of its own, and what is no leaf even then (equal points of different classes)
becomes one residual leaf. A rest of one class is one leaf, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.cells import Frame, nearest_cells
from clearmargin.svm_trees.local_svm import fit_duels, is_settled
from clearmargin.svm_trees.partition import Partition
from clearmargin.svm_trees.svm_tree import Layer, Leaf

__all__ = ["Growth", "grow"]


@dataclass(frozen=True, slots=True)
class Growth:
    """How a tree is to grow.

    Parameters
    ----------
    order : {"breadth", "depth"}
        Whether all good cells of a cut become leaves, or the largest one.
    tol : float
        Largest loss of a leaf.
    C : float
        Cost of an error in the machines.
    loss : {"all", "minority"}
        Share of errors among all points of a cell, or among those of the rarest class.
    min_leaf : int
        Least number of points of a leaf.
    max_layers : int or None
        Most layers, the residual one included.
    prefilter : bool
        Whether cells whose loss is known without fitting are refused unfitted. The tree is the same.
    """

    order: Literal["breadth", "depth"]
    tol: float
    C: float
    loss: Literal["all", "minority"] = "all"
    min_leaf: int = 1
    max_layers: int | None = None
    prefilter: bool = True


def grow(
    points: FloatArray,
    codes: IntArray,
    partition: Partition,
    growth: Growth,
    rng: np.random.RandomState,
) -> tuple[list[Layer], IntArray, Frame]:
    """Grow the layers of a tree.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Training points in the user's units.
    codes : ndarray of int of shape (m,)
        Their classes, 0, 1, ..., each of which occurs.
    partition : KMeansPartition or EcmPartition
        How to cut, with the scale to start from.
    growth : Growth
        All other choices.
    rng : RandomState
        Source of random numbers.

    Returns
    -------
    layers : list of Layer
        The layers.
    membership : ndarray of int of shape (m,)
        The leaf of each training point, counted over all layers.
    frame : Frame
        How the points were scaled.

    Examples
    --------
    >>> from clearmargin.svm_trees.partition import KMeansPartition
    >>> X, codes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> growth = Growth("breadth", tol=0.0, C=0.1)
    >>> layers, membership, _ = grow(X, codes, KMeansPartition(2), growth, np.random.RandomState(0))
    >>> len(layers), len(set(membership.tolist()))
    (1, 2)
    """
    task = _Task(points, codes, growth)
    layers: list[Layer] = []
    membership = np.full(len(points), -1, dtype=np.intp)
    rest, n_leaves = np.arange(len(points)), 0
    while len(rest):
        cut = None if task.is_last(rest, len(layers)) else task.cut(rest, partition, rng)
        leaves = {} if cut is None else task.good_leaves(cut)
        if cut is not None and not leaves and not cut.is_finest:
            partition = partition.refined()
            continue
        if cut is None or not leaves:
            cut = task.whole(rest)
            leaves = {0: task.last_leaf(cut)}
        layers.append(cut.layer(leaves))
        numbers = np.full(cut.n_cells + 1, -1, dtype=np.intp)  # the last entry is for "no cell"
        numbers[sorted(leaves)] = n_leaves + np.arange(len(leaves))
        membership[rest] = numbers[cut.cells]
        rest, n_leaves = rest[membership[rest] < 0], n_leaves + len(leaves)
    return layers, membership, task.frame


@dataclass(frozen=True, slots=True)
class _Cut:
    """Some points, the centres they were cut by, the cell of each (-1: in none) and the classes in each cell."""

    members: IntArray
    centres: FloatArray
    cells: IntArray
    counts: IntArray
    is_finest: bool

    @property
    def n_cells(self) -> int:
        return len(self.centres)

    @property
    def sizes(self) -> IntArray:
        return np.asarray(self.counts.sum(axis=1))

    def cell_members(self) -> list[IntArray]:
        """The points of each cell."""
        order = np.argsort(self.cells, kind="stable")
        bounds = np.searchsorted(self.cells[order], np.arange(self.n_cells + 1))
        return [self.members[order[a:b]] for a, b in pairwise(bounds)]

    def squared_radii(self, scaled: FloatArray) -> FloatArray:
        """For each cell the largest squared distance of a point from the mean, on scaled data."""
        inside = self.cells >= 0
        cells, points = self.cells[inside], scaled[self.members[inside]]
        squared = np.zeros(len(cells))
        for feature in points.T:
            mean = np.bincount(cells, weights=feature, minlength=self.n_cells) / self.sizes
            squared += (feature - mean[cells]) ** 2
        radii = np.zeros(self.n_cells)
        np.maximum.at(radii, cells, squared)
        return radii

    def layer(self, leaves: dict[int, Leaf]) -> Layer:
        """The cut as a layer of the tree."""
        cells = [leaves.get(cell) for cell in range(self.n_cells)]
        return Layer(self.centres, self.counts.tolist(), cells)


class _Task:
    """The training data and what is asked for."""

    def __init__(self, points: FloatArray, codes: IntArray, growth: Growth):
        self.points, self.codes, self.growth = points, codes, growth
        self.frame = Frame.from_points(points)
        self.scaled = self.frame.scale(points)
        self.n_classes = int(codes.max()) + 1
        self.rarest = int(np.argmin(np.bincount(codes)))
        # Equal points have the same number.
        self.numbers = np.unique(self.scaled, axis=0, return_inverse=True)[1].ravel()

    def is_last(self, rest: IntArray, n_layers: int) -> bool:
        """Whether the rest is of one class, or the budget of layers is used up."""
        most = self.growth.max_layers
        if most is not None and n_layers >= most - 1:
            return True
        return bool((self.codes[rest] == self.codes[rest[0]]).all())

    def cut(self, rest: IntArray, partition: Partition, rng: np.random.RandomState) -> _Cut:
        """Cut the rest at some scale, or at the finest there is."""
        distinct = np.sort(np.unique(self.numbers[rest], return_index=True)[1])
        centres = partition.centres(self.scaled[rest], len(distinct), rng)
        is_finest = centres is None
        places = self.points[rest[distinct]] if centres is None else self.frame.restore(centres)
        cells = nearest_cells(self.points[rest], places, self.frame)
        used = np.unique(cells[cells >= 0])
        if len(used) < len(places):
            # ECM may leave a centre without points. What was nearest to another one still is.
            places = places[used]
            cells = nearest_cells(self.points[rest], places, self.frame)
        return self._cut(rest, places, cells, is_finest)

    def whole(self, rest: IntArray) -> _Cut:
        """All of the rest in one cell."""
        place = self.frame.restore(self.scaled[rest].mean(axis=0))[None, :]
        return self._cut(rest, place, np.zeros(len(rest), dtype=np.intp), True)

    def _cut(self, rest: IntArray, places: FloatArray, cells: IntArray, is_finest: bool) -> _Cut:
        inside = cells >= 0
        keys = cells[inside] * self.n_classes + self.codes[rest[inside]]
        counts = np.bincount(keys, minlength=len(places) * self.n_classes)
        table = counts.reshape(len(places), self.n_classes)
        # No finer cut has a cell of `min_leaf` points when this one has none.
        too_small = int(table.sum(axis=1).max(initial=0)) < self.growth.min_leaf
        return _Cut(rest, places, cells, table, is_finest or too_small)

    def good_leaves(self, cut: _Cut) -> dict[int, Leaf]:
        """The cells that become leaves: all good ones, or the largest of them."""
        sizes = cut.sizes
        open_cells = (sizes >= self.growth.min_leaf) & ~self._hopeless(cut)
        order = np.argsort(-sizes, kind="stable")
        found: dict[int, Leaf] = {}
        members = cut.cell_members()
        for cell in order[open_cells[order]].tolist():
            leaf = self._leaf(members[cell], cut.counts[cell])
            if leaf is not None:
                found[cell] = leaf
                if self.growth.order == "depth":
                    break
        return found

    def _leaf(self, members: IntArray, counts: IntArray) -> Leaf | None:
        """The leaf of a cell if it is good enough."""
        if np.count_nonzero(counts) == 1:
            return Leaf("pure", int(counts.argmax()), counts.tolist())
        leaf = self._machine("svm", members, counts)
        return leaf if self._loss(leaf, members) <= self.growth.tol else None

    def last_leaf(self, cut: _Cut) -> Leaf:
        """The one leaf of what is left: its class, else a machine if it beats the most frequent class."""
        (counts,) = cut.counts
        if np.count_nonzero(counts) == 1:
            return Leaf("pure", int(counts.argmax()), counts.tolist())
        constant = Leaf("residual", int(counts.argmax()), counts.tolist())
        machine = self._machine("residual", cut.members, counts)
        better = self._loss(machine, cut.members) < self._loss(constant, cut.members)
        return machine if better else constant

    def _machine(
        self, kind: Literal["svm", "residual"], members: IntArray, counts: IntArray
    ) -> Leaf:
        duels = fit_duels(self.points[members], self.codes[members], self.frame, self.growth.C)
        return Leaf(
            kind,
            int(counts.argmax()),
            counts.tolist(),
            duels.pairs.tolist(),
            duels.normals,
            duels.offsets,
            duels.n_support,
        )

    def _loss(self, leaf: Leaf, members: IntArray) -> float:
        truth = self.codes[members]
        wrong = leaf.decide(self.points[members]) != truth
        if self.growth.loss == "minority" and (truth == self.rarest).any():
            return float(wrong[truth == self.rarest].mean())
        return float(wrong.mean())

    def _hopeless(self, cut: _Cut) -> BoolArray:
        """Cells in which the machine is known to say the most frequent class, with too large a loss.

        If one class has more points than any other and the lemma of `local_svm` holds for it and the second one, it
        holds against all others, and the class wins all its duels all over the cell.
        """
        counts, sizes = cut.counts, cut.sizes
        ordered = np.sort(counts, axis=1)
        top, second = ordered[:, -1], ordered[:, -2]
        if not self.growth.prefilter or not second.any():
            return np.zeros(cut.n_cells, dtype=np.bool_)
        loss = 1 - top / sizes
        if self.growth.loss == "minority":
            rare = counts[:, self.rarest]
            loss = np.where(rare == 0, loss, rare < top)
        settled = is_settled(second, cut.squared_radii(self.scaled), self.growth.C)
        return np.asarray(
            (second > 0) & (second < top) & settled & (loss > self.growth.tol), dtype=np.bool_
        )
