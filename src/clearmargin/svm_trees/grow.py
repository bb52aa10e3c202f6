"""Grow a tree of support vector machines: cut, keep the cells that are good enough, pool the rest, cut again.

Algorithm 1 of Pang and Kasabov (2008), with its misprints resolved: a cell is a leaf when all its points are of one
class or when the loss of its support vector machine is *at most* `tol`; only leaves are taken out; the points of
all other cells are pooled and cut anew. The scale stays after a success and is refined after a cut without a leaf,
which leaves no trace. "breadth" keeps all leaves of a cut, "depth" only the largest. It always ends: the finest cut
has every distinct point in a cell of its own, and what is no leaf even then (equal points of different classes)
becomes one residual leaf. A rest of one class is one leaf, too.

**The machine of a cell** (`fit_duels`). Each pair of classes in the cell gets a C-SVM. A linear one is fitted to scaled
points *less their mean*: libsvm keeps the kernel in single precision, and on a small cell away from the origin the sign
of its decision function would be noise. A class that wins all its duels is the answer; where none does (three classes
or more, each beaten by another) it is the class of the largest weight in the cell. An error on a point of class c costs
C times the weight of c, the same weight in all cells; the loss of a cell is the weight of its errors divided by that
of its points. So the losses of cells, added up, are the loss of the tree: with balanced weights, the mean of the
classes' errors. Without weights a point weighs 1. A leaf of one class predicts it everywhere, as the paper does in
practice; its one-class SVM (equation 4) serves the rules alone (`node_rules`).

Lemma. Let all points of a cell lie within R of some point, and let the points of two classes there weigh v_min <=
v_max. If 4 C v_min R^2 < 1, then |w| <= 2 C v_min R (the multipliers of both classes have the same sum, at most C
v_min), so f varies by less than 1 over the points of the cell. (a) If v_min < v_max, some point of the heavier class
has a multiplier below its bound, hence y f >= 1 there, and the machine predicts the heavier class at all of them. (b)
If v_min = v_max, all multipliers are at their bounds C_i, w = sum C_i y_i x_i, and the intercept is any value between
bounds; libsvm takes their middle. So on small cells the loss of the machine is known without fitting it.

**Ways to cut** scaled points into cells: K-means, the evolving clustering method (ECM), every point by itself. A
partition is known by its centres alone; a point belongs to the nearest one. The scale says how fine it is. For K-means
it is the number of centres: start at 2, then ceil(1.5 K) (K + 1 in the paper). For ECM it is the distance threshold
Dthr: start at 0.9, take 0.1 away, and halve it below 0.1, where nothing is left to take away. Both end with every
distinct point as a centre of its own; there is nothing finer, so that whoever refines the scale comes to an end.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import ThreadpoolController

from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.svm_tree import (
    Layer,
    Leaf,
    TrainingRange,
    left_sides,
    nearest_cells,
)


@dataclass(frozen=True, slots=True)
class LocalSVM:
    """How the machines of cells are trained, on data scaled to [0, 1]."""

    C: float
    weights: tuple[float, ...] | None = None

    def masses(self, counts: IntArray | FloatArray) -> FloatArray:
        """Give what so many points of each class weigh."""
        return np.asarray(counts * (1.0 if self.weights is None else np.array(self.weights)))

    def costs(self, codes: IntArray) -> FloatArray:
        """Give what a point of each class weighs."""
        return np.ones(len(codes)) if self.weights is None else np.array(self.weights)[codes]


@dataclass(frozen=True, slots=True)
class Growth:
    """How a tree is to grow."""

    partition: Partition
    order: Literal["breadth", "depth"]
    tol: float
    svm: LocalSVM
    loss: Literal["all", "minority"] = "all"
    min_leaf: int = 1
    max_layers: int | None = None


def grow(
    points: FloatArray,
    codes: IntArray,
    growth: Growth,
    rng: np.random.RandomState,
    weights: FloatArray | None = None,
    copies: IntArray | None = None,
) -> tuple[list[Layer], IntArray, TrainingRange]:
    """Grow the layers of a tree."""
    growing = _Growing(points, codes, growth, rng, weights, copies)
    while len(growing.rest):
        growing.add_layer()
    return growing.layers, growing.membership, growing.frame


def grow_in_steps(
    points: FloatArray,
    codes: IntArray,
    growth: Growth,
    rng: np.random.RandomState,
    weights: FloatArray | None = None,
) -> Iterator[tuple[list[Layer], TrainingRange]]:
    """Yield the tree with at most one layer, with at most two, and so on until it needs no more."""
    growing = _Growing(points, codes, growth, rng, weights)
    while len(growing.rest):
        cut = growing.whole()
        yield [*growing.layers, cut.layer({0: growing.last_leaf(cut)})], growing.frame
        growing.add_layer()
    yield growing.layers, growing.frame


@dataclass(frozen=True, slots=True)
class _Cut:
    """Some points, the centres they were cut by, the cell of each, rows and weights by class."""

    members: IntArray
    centres: FloatArray
    cells: IntArray
    counts: IntArray
    weights: FloatArray
    is_finest: bool

    @property
    def n_cells(self) -> int:
        return len(self.centres)

    @property
    def sizes(self) -> FloatArray:
        """What the points of each cell weigh."""
        return np.asarray(self.weights.sum(axis=1))

    def cell_members(self) -> list[IntArray]:
        """Return the points of each cell."""
        order = np.argsort(self.cells, kind="stable")
        bounds = np.searchsorted(self.cells[order], np.arange(self.n_cells + 1))
        return [self.members[order[a:b]] for a, b in pairwise(bounds)]

    def squared_radii(self, scaled: FloatArray) -> FloatArray:
        """Return for each cell the largest squared distance of a point from the mean, on scaled data."""
        cells, points = self.cells, scaled[self.members]
        squared, sizes = np.zeros(len(cells)), np.bincount(cells, minlength=self.n_cells)
        for feature in points.T:
            mean = np.bincount(cells, weights=feature, minlength=self.n_cells) / sizes
            squared += (feature - mean[cells]) ** 2
        radii = np.zeros(self.n_cells)
        np.maximum.at(radii, cells, squared)
        return radii

    def layer(self, leaves: dict[int, Leaf]) -> Layer:
        """Return the cut as a layer of the tree."""
        cells = [leaves.get(cell) for cell in range(self.n_cells)]
        return Layer(self.centres, self.counts.tolist(), cells)


class _Growing:
    """The layers so far, the leaf of each training point (-1: none yet), and the points that are in no leaf."""

    def __init__(
        self,
        points: FloatArray,
        codes: IntArray,
        growth: Growth,
        rng: np.random.RandomState,
        weights: FloatArray | None = None,
        copies: IntArray | None = None,
    ):
        self.points, self.codes, self.growth, self.rng = points, codes, growth, rng
        ones = np.ones(len(points), dtype=np.intp)
        self.weights = ones.astype(np.float64) if weights is None else weights
        self.copies = ones if copies is None else copies
        self.frame = TrainingRange.from_points(points)
        self.n_classes = int(codes.max()) + 1
        self.totals = np.bincount(codes, weights=self.weights)
        self.rarest = int(np.argmin(self.totals))
        # Equal points have the same number.
        self.numbers = np.unique(self.frame.scale(points), axis=0, return_inverse=True)[1].ravel()
        self.partition = growth.partition
        self.layers: list[Layer] = []
        self.membership: IntArray = np.full(len(points), -1, dtype=np.intp)
        self.rest: IntArray = np.arange(len(points))
        self.n_leaves = 0

    def add_layer(self) -> None:
        """Cut the rest, finer and finer until some cell is a leaf; one leaf where it is of one class, or the last."""
        most, rest = self.growth.max_layers, self.rest
        is_finest = most is not None and len(self.layers) >= most - 1
        is_finest |= bool((self.codes[rest] == self.codes[rest[0]]).all())
        leaves: dict[int, Leaf] = {}
        while not (leaves or is_finest):
            cut = self._cut_finer()
            leaves, is_finest = self.good_leaves(cut), cut.is_finest
            if not leaves:
                self.partition = self.partition.refined()
        if not leaves:
            cut = self.whole()
            leaves = {0: self.last_leaf(cut)}
        self.layers.append(cut.layer(leaves))
        numbers = np.full(cut.n_cells, -1, dtype=np.intp)
        numbers[sorted(leaves)] = self.n_leaves + np.arange(len(leaves))
        self.membership[rest] = numbers[cut.cells]
        self.rest = rest[self.membership[rest] < 0]
        self.n_leaves += len(leaves)

    def _cut_finer(self) -> _Cut:
        """Cut the rest at the present scale, or at the finest there is."""
        rest, frame = self.rest, self.frame
        distinct = np.sort(np.unique(self.numbers[rest], return_index=True)[1])
        scaled = frame.scale(self.points[rest])
        centres = self.partition.centres(scaled, len(distinct), self.rng, self.weights[rest])
        del scaled  # of wide tables it is large
        places = self.points[rest[distinct]] if centres is None else frame.restore(centres)
        cells = nearest_cells(self.points[rest], places, frame)
        used = np.unique(cells)
        if len(used) < len(places):
            # ECM may leave a centre without points. What was nearest to another one still is.
            places = places[used]
            cells = nearest_cells(self.points[rest], places, frame)
        return self._cut(places, cells, centres is None)

    def whole(self) -> _Cut:
        """Put all of the rest in one cell."""
        place = self.frame.restore(self.frame.scale(self.points[self.rest]).mean(axis=0))[None, :]
        return self._cut(place, np.zeros(len(self.rest), dtype=np.intp), True)

    def _cut(self, places: FloatArray, cells: IntArray, is_finest: bool) -> _Cut:
        keys = cells * self.n_classes + self.codes[self.rest]
        table = np.zeros((2, len(places) * self.n_classes))
        for row, values in zip(table, (self.weights, self.copies), strict=True):
            np.add.at(row, keys, values[self.rest])
        weights, counts = table.reshape(2, len(places), self.n_classes)
        # No finer cut has a cell of `min_leaf` points when this one has none.
        is_finest |= bool(weights.sum(axis=1).max(initial=0.0) < self.growth.min_leaf)
        return _Cut(self.rest, places, cells, counts.astype(np.intp), weights, is_finest)

    def good_leaves(self, cut: _Cut) -> dict[int, Leaf]:
        """Return the cells that become leaves: all good ones, or the largest of them."""
        sizes = cut.sizes
        open_cells = (sizes >= self.growth.min_leaf) & ~self._cannot_be_leaf(cut)
        order = np.argsort(-sizes, kind="stable")
        found: dict[int, Leaf] = {}
        members = cut.cell_members()
        for cell in order[open_cells[order]].tolist():
            leaf = self._leaf(members[cell], cut.counts[cell], cut.weights[cell])
            if leaf is not None:
                found[cell] = leaf
                if self.growth.order == "depth":
                    break
        return found

    def _leaf(self, members: IntArray, counts: IntArray, weights: FloatArray) -> Leaf | None:
        """Return the leaf of a cell if it is good enough."""
        is_pure = np.count_nonzero(counts) == 1
        if self.growth.svm.weights is not None:
            shares = self.totals / self.totals.sum()
            heaviest = int(self.growth.svm.masses(weights + shares).argmax())
            if not counts[heaviest]:
                return Leaf("pure" if is_pure else "svm", heaviest, counts.tolist())
        if is_pure:
            return Leaf("pure", int(counts.argmax()), counts.tolist())
        leaf = self._machine("svm", members, counts, weights)
        return leaf if self._loss(leaf, members) <= self.growth.tol else None

    def last_leaf(self, cut: _Cut) -> Leaf:
        """Return the one leaf of what is left: its class, else a machine if it beats the heaviest class."""
        (counts,), (weights,) = cut.counts, cut.weights
        if np.count_nonzero(counts) == 1:
            return Leaf("pure", int(counts.argmax()), counts.tolist())
        heaviest = int(self.growth.svm.masses(weights).argmax())
        constant = Leaf("residual", heaviest, counts.tolist())
        machine = self._machine("residual", cut.members, counts, weights)
        better = self._loss(machine, cut.members) < self._loss(constant, cut.members)
        return machine if better else constant

    def _machine(
        self,
        kind: Literal["svm", "residual"],
        members: IntArray,
        counts: IntArray,
        weights: FloatArray,
    ) -> Leaf:
        svm = self.growth.svm
        duels = fit_duels(
            self.points[members], self.codes[members], self.frame, svm, self.weights[members]
        )
        return Leaf(
            kind,
            int(svm.masses(weights).argmax()),
            counts.tolist(),
            duels.pairs.tolist(),
            duels.normals,
            duels.offsets,
            len(duels.support),
        )

    def _loss(self, leaf: Leaf, members: IntArray) -> float:
        truth = self.codes[members]
        wrong = leaf.decide(self.points[members]) != truth
        if self.growth.loss == "minority" and (truth == self.rarest).any():
            costs = self.weights[members] * (truth == self.rarest)
        else:
            costs = self.weights[members] * self.growth.svm.costs(truth)
        return float(costs[wrong].sum() / costs.sum())

    def _cannot_be_leaf(self, cut: _Cut) -> BoolArray:
        """Find cells in which the machine is known to predict the heaviest class, with too large a loss."""
        svm = self.growth.svm
        masses = svm.masses(cut.weights)
        ordered = np.sort(masses, axis=1)
        top, second = ordered[:, -1], ordered[:, -2]
        if not second.any():
            return np.zeros(cut.n_cells, dtype=np.bool_)
        loss = 1 - top / masses.sum(axis=1)
        if self.growth.loss == "minority":
            rare = masses[:, self.rarest]
            loss = np.where(rare == 0, loss, rare < top)
        radii = cut.squared_radii(self.frame.scale(self.points))
        settled = is_settled(second, radii, svm.C)
        # Weights that are equal but for rounding are a draw, and rounding of the loss refuses nothing.
        heavier = second < top * (1 - _DRAW)
        beyond = loss > self.growth.tol + (0.0 if svm.weights is None else _DRAW)
        return np.asarray((second > 0) & heavier & settled & beyond, dtype=np.bool_)


# The lemma says 1; libsvm's stopping tolerance of 0.001 asks for a little room.
_SMALL = 0.99
# Weights of two classes that differ by a smaller share are equal: weights have rounding, numbers of points do not.
_DRAW = 1e-9
# With so many times as many columns as points, products of points are computed before training.
_WIDE = 5


class Duels(NamedTuple):
    """Decisions between pairs of classes, as planes in the user's units, and the support vectors of all of them."""

    pairs: IntArray
    normals: FloatArray
    offsets: FloatArray
    support: IntArray


def is_settled(smaller: FloatArray, squared_radius: FloatArray, C: float) -> BoolArray:
    """Tell for cells whether the lemma applies: smaller weight of two classes, squared radius."""
    return np.asarray(4 * C * smaller * squared_radius < _SMALL)


def fit_duels(
    points: FloatArray,
    codes: IntArray,
    frame: TrainingRange,
    svm: LocalSVM,
    weights: FloatArray | None = None,
) -> Duels:
    """Fit the machines of a cell."""
    present = np.unique(codes)
    first, second = np.triu_indices(len(present), 1)
    pairs = np.column_stack([present[first], present[second]])
    normals, offsets = np.zeros((len(pairs), points.shape[1])), np.zeros(len(pairs))
    is_support = np.zeros(len(points), dtype=np.bool_)
    scaled, costs = frame.scale(points), svm.C * svm.costs(codes)
    if weights is not None:
        costs = costs * weights
    for p, (negative, positive) in enumerate(pairs):
        members = np.flatnonzero((codes == negative) | (codes == positive))
        is_positive = codes[members] == positive
        mean = scaled[members].mean(axis=0)
        w, intercept, support = fit_pair(scaled[members] - mean, is_positive, costs[members])
        normals[p], offsets[p] = _in_units(w, intercept, mean, frame)
        is_support[members[support]] = True
    return Duels(pairs, normals, offsets, np.flatnonzero(is_support))


def fit_pair(
    centred: FloatArray,
    positive: BoolArray,
    costs: FloatArray,
) -> tuple[FloatArray, float, IntArray]:
    """Fit a linear C-SVM of two classes to points whose mean is the origin."""
    if _is_even(positive, costs, (centred**2).sum(axis=1).max()):
        largest = costs.max()
        w = largest * ((np.where(positive, 1.0, -1.0) * (costs / largest)) @ centred)
        return w, _middle(centred @ w, positive), np.arange(len(centred))
    if centred.shape[1] > _WIDE * len(centred):
        # All products at once take a fraction of the time that libsvm takes for them.
        machine = SVC(kernel="precomputed", random_state=0)
        machine = _train(machine, centred @ centred.T, positive, costs)
        support = machine.support_.astype(np.intp)
        return machine.dual_coef_[0] @ centred[support], float(machine.intercept_[0]), support
    machine = _train(SVC(kernel="linear", random_state=0), centred, positive, costs)
    return machine.coef_[0], float(machine.intercept_[0]), machine.support_.astype(np.intp)


def _train(machine: SVC, points: FloatArray, positive: BoolArray, costs: FloatArray) -> SVC:
    """Train a machine with a cost for each point."""
    largest = float(costs.max())
    machine.C = largest
    return machine.fit(points, positive, None if costs.min() == largest else costs / largest)


def _is_even(positive: BoolArray, costs: FloatArray, squared_radius: float) -> bool:
    """Whether case (b) of the lemma applies."""
    sums = np.array([costs[~positive].sum(), costs[positive].sum()])
    even = abs(sums[0] - sums[1]) <= _DRAW * sums.max()
    return bool(even and is_settled(sums.min(keepdims=True), np.array([squared_radius]), 1.0)[0])


def _middle(scores: FloatArray, positive: BoolArray) -> float:
    """Give the intercept of case (b): y f <= 1 for points whose multiplier is at its bound."""
    highest = (1 - scores[positive]).min()
    lowest = (-1 - scores[~positive]).max()
    return float((highest + lowest) / 2)


def _in_units(
    w: FloatArray, intercept: float, mean: FloatArray, frame: TrainingRange
) -> tuple[FloatArray, float]:
    """Write w'(z - mean) + intercept > 0 as a'x > t."""
    weights = w / frame.width
    largest = np.abs(weights).max(initial=0.0)
    if largest == 0:
        # One class wins everywhere: 0 > t or not.
        return weights, -1.0 if intercept > 0 else 1.0
    normal = weights / largest
    return normal, float(left_sides(normal, frame.restore(mean)) - intercept / largest)


# ECM looks at so many points together to find the next one that changes a cluster.
_BLOCK = 256
# Clusters narrower than a thousandth of the training range are as good as single points.
_FINEST_THRESHOLD = 1e-3
# Relative size of what repeated subtraction of 0.1 leaves behind.
_DUST = 1e-9


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


@dataclass(frozen=True, slots=True)
class Partition:
    """A way to cut and its scale: the number of centres for K-means, the threshold Dthr for ECM."""

    kind: Literal["kmeans", "ecm"]
    scale: float | None = None

    def centres(
        self, points: FloatArray, n_distinct: int, rng: np.random.RandomState, weights: FloatArray
    ) -> FloatArray | None:
        """Cut the points; None when this is no coarser than every distinct point by itself."""
        if self.kind == "ecm":
            threshold = 0.9 if self.scale is None else self.scale
            if threshold < _FINEST_THRESHOLD:
                return None
            found = ecm_centres(points, threshold)
            return found if len(found) < n_distinct else None
        scale = 2 if self.scale is None else int(self.scale)
        if scale >= n_distinct:
            return None
        with warnings.catch_warnings():
            # Points that differ by rounding alone may end in the same place.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Threads that wait for each other cost more than such small cuts, and add up in any order.
            with _threads().limit(limits=1, user_api="openmp"):
                means = KMeans(scale, n_init=1, random_state=rng).fit(points, sample_weight=weights)
        # A mean may leave the range of its points by rounding.
        return np.asarray(np.clip(means.cluster_centers_, points.min(axis=0), points.max(axis=0)))

    def refined(self) -> Partition:
        """Return the next finer scale."""
        if self.kind == "kmeans":
            return Partition("kmeans", math.ceil(1.5 * (self.scale or 2)))
        scale = self.scale or 0.9
        lower = round(scale - 0.1, 12)
        return Partition("ecm", lower if lower > _DUST else scale / 2)


def ecm_centres(points: FloatArray, threshold: float) -> FloatArray:
    """Run the evolving clustering method once over the points (Kasabov and Song, 2002)."""
    m, n = points.shape
    centres, radii = np.empty_like(points), np.zeros(m)
    count, norm = 0, math.sqrt(n)
    for start in range(0, m, _BLOCK):
        block = points[start : start + _BLOCK]
        table = _distances(block, centres[:count], norm)
        inside = np.asarray((table <= radii[:count]).any(axis=1))
        i = int(np.argmin(inside))
        while not inside[i]:
            point = block[i]
            changed = count
            if count:
                distances = np.sqrt(((centres[:count] - point) ** 2).sum(axis=1)) / norm
                reach = distances + radii[:count]
                a = int(np.argmin(reach))
                if reach[a] <= 2 * threshold:
                    changed = a
                    radii[a] = reach[a] / 2
                    centres[a] = point + (centres[a] - point) * (radii[a] / distances[a])
            if changed == count:
                centres[count] = point
                count += 1
            # The point itself is held now, whatever rounding says.
            inside[i] = True
            later = slice(i + 1, None)
            moved = centres[changed : changed + 1]
            inside[later] |= _distances(block[later], moved, norm)[:, 0] <= radii[changed]
            i = int(np.argmin(inside))
    return centres[:count].copy()


def _distances(points: FloatArray, centres: FloatArray, norm: float) -> FloatArray:
    total = np.zeros((len(points), len(centres)))
    for feature in range(points.shape[1]):
        total += (points[:, feature, None] - centres[None, :, feature]) ** 2
    return np.asarray(np.sqrt(total) / norm)
