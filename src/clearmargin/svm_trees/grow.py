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
classes' errors. Without weights a point weighs 1.

Lemma. Let all points of a cell lie within R of some point (in the feature space of the kernel), and let the points of
two classes there weigh v_min <= v_max. If 4 C v_min R^2 < 1, then |w| <= 2 C v_min R (the multipliers of both classes
have the same sum, at most C v_min), so f varies by less than 1 over the points of the cell. (a) If v_min < v_max, some
point of the heavier class has a multiplier below its bound, hence y f >= 1 there, and the machine predicts the heavier
class at all of them. (b) If v_min = v_max, all multipliers are at their bounds C_i, w = sum C_i y_i x_i, and the
intercept is any value between bounds; libsvm takes their middle. So on small cells the loss of the machine is known
without fitting it.

**The machine of a leaf of one class** (`fit_one_class`; step 4a of the algorithm, equation 4), where asked for: a
one-class SVM with the RBF kernel and the constants of the paper's experiments, sigma = 3.5 and penalty 0.1, which we
take for nu. Read strictly, the leaf predicts the other class at outliers; simplified, as the paper does in practice, it
predicts its one class everywhere, and the support vectors serve the rules alone.

**Ways to cut** scaled points into cells: K-means, the evolving clustering method (ECM), every point by itself. A
partition is known by its centres alone; a point belongs to the nearest one. The scale says how fine it is. For K-means
it is the number of centres: start at 2, then ceil(1.5 K), or K + 1 as published. For ECM it is the distance threshold
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
from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, OneClassSVM
from threadpoolctl import ThreadpoolController

from clearmargin.models.kernel_function import KernelFunction, KernelKind
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.svm_tree import (
    Layer,
    Leaf,
    LeafKernel,
    TrainingRange,
    left_sides,
    nearest_cells,
)

__all__ = [
    "Duels",
    "EcmPartition",
    "Growth",
    "KMeansPartition",
    "LocalSVM",
    "Partition",
    "ecm_centres",
    "fit_duels",
    "fit_kernel_pair",
    "fit_one_class",
    "fit_pair",
    "grow",
    "grow_in_steps",
    "is_settled",
]


@dataclass(frozen=True, slots=True)
class LocalSVM:
    """How the machines of cells are trained, on data scaled to [0, 1].

    Parameters
    ----------
    C : float
        Cost of an error.
    weights : tuple of float, optional
        What an error on each class counts; 1 by default.
    kind : {"linear", "poly", "rbf", "sigmoid"}, default "linear"
        The kernel.
    gamma, coef0, degree : float, float and int
        Its constants.

    Examples
    --------
    >>> LocalSVM(0.1, weights=(0.5, 5.0)).masses(np.array([[20, 1]]))
    array([[10.,  5.]])
    """

    C: float
    weights: tuple[float, ...] | None = None
    kind: KernelKind = "linear"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    def masses(self, counts: IntArray | FloatArray) -> FloatArray:
        """Give what so many points of each class weigh."""
        return np.asarray(counts * (1.0 if self.weights is None else np.array(self.weights)))

    def costs(self, codes: IntArray) -> FloatArray:
        """Give what a point of each class weighs."""
        return np.ones(len(codes)) if self.weights is None else np.array(self.weights)[codes]

    def squared_radius(self, radius: FloatArray) -> FloatArray:
        """Bound the squared radius in feature space of cells with some squared radius; huge where unknown."""
        if self.kind == "linear":
            return radius
        if self.kind == "rbf":
            # |phi(x) - phi(c)|^2 = 2 - 2 k(x, c)
            return np.asarray(-2.0 * np.expm1(-self.gamma * radius))
        return np.full_like(radius, 1e100)

    def function(
        self, vectors: FloatArray, coefs: FloatArray, intercepts: FloatArray
    ) -> KernelFunction:
        """Give functions of this kernel."""
        return KernelFunction(
            self.kind, vectors, coefs, intercepts, self.gamma, self.coef0, self.degree
        )


@dataclass(frozen=True, slots=True)
class Growth:
    """How a tree is to grow.

    Parameters
    ----------
    order : {"breadth", "depth"}
        Whether all good cells of a cut become leaves, or the largest one.
    tol : float
        Largest loss of a leaf.
    svm : LocalSVM
        How machines are trained.
    loss : {"all", "minority"}
        Share of errors among all points of a cell, or among those of the rarest class.
    min_leaf : int
        Minimum number of points of a leaf.
    max_layers : int or None
        Maximum number of layers, the residual one included.
    prefilter : bool
        Whether cells whose loss is known without fitting are refused unfitted. The tree is the same.
    one_class : {"simplified", "strict"} or None
        Whether leaves of one class have a one-class machine, and whether outliers are of another class.
    """

    order: Literal["breadth", "depth"]
    tol: float
    svm: LocalSVM
    loss: Literal["all", "minority"] = "all"
    min_leaf: int = 1
    max_layers: int | None = None
    prefilter: bool = True
    one_class: Literal["simplified", "strict"] | None = None


def grow(
    points: FloatArray,
    codes: IntArray,
    partition: Partition,
    growth: Growth,
    rng: np.random.RandomState,
) -> tuple[list[Layer], IntArray, TrainingRange]:
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
    frame : TrainingRange
        How the points were scaled.

    Examples
    --------
    >>> from clearmargin.svm_trees.grow import KMeansPartition
    >>> X, codes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> growth = Growth("breadth", tol=0.0, svm=LocalSVM(0.1))
    >>> layers, membership, _ = grow(X, codes, KMeansPartition(2), growth, np.random.RandomState(0))
    >>> len(layers), len(set(membership.tolist()))
    (1, 2)
    """
    growing = _Growing(points, codes, partition, growth, rng)
    while len(growing.rest):
        growing.add_layer()
    return growing.layers, growing.membership, growing.task.frame


def grow_in_steps(
    points: FloatArray,
    codes: IntArray,
    partition: Partition,
    growth: Growth,
    rng: np.random.RandomState,
) -> Iterator[tuple[list[Layer], TrainingRange]]:
    """Yield the tree with at most one layer, with at most two, and so on until it needs no more.

    Parameters
    ----------
    points, codes, partition, growth, rng
        As for `grow`; without a maximum number of layers.

    Yields
    ------
    layers : list of Layer
        The layers.
    frame : TrainingRange
        How the points were scaled.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> growth = Growth("breadth", tol=0.0, svm=LocalSVM(0.1))
    >>> trees = grow_in_steps(X, codes, KMeansPartition(2), growth, np.random.RandomState(0))
    >>> [[layer.n_leaves for layer in layers] for layers, _ in trees]
    [[1], [2]]
    """
    growing = _Growing(points, codes, partition, growth, rng)
    while len(growing.rest):
        cut = growing.task.whole(growing.rest)
        last = cut.layer({0: growing.task.last_leaf(cut)})
        yield [*growing.layers, last], growing.task.frame
        growing.add_layer()
    yield growing.layers, growing.task.frame


class _Growing:
    """The layers so far, the leaf of each training point (-1: none yet), and the points that are in no leaf."""

    def __init__(
        self,
        points: FloatArray,
        codes: IntArray,
        partition: Partition,
        growth: Growth,
        rng: np.random.RandomState,
    ):
        self.task, self.partition, self.rng = _Task(points, codes, growth), partition, rng
        self.layers: list[Layer] = []
        self.membership: IntArray = np.full(len(points), -1, dtype=np.intp)
        self.rest: IntArray = np.arange(len(points))
        self.n_leaves = 0

    def add_layer(self) -> None:
        """Cut the rest, finer and finer until some cell is a leaf."""
        cut, leaves = self._cut()
        self.layers.append(cut.layer(leaves))
        numbers = np.full(cut.n_cells + 1, -1, dtype=np.intp)  # the last entry is for "no cell"
        numbers[sorted(leaves)] = self.n_leaves + np.arange(len(leaves))
        self.membership[self.rest] = numbers[cut.cells]
        self.rest = self.rest[self.membership[self.rest] < 0]
        self.n_leaves += len(leaves)

    def _cut(self) -> tuple[_Cut, dict[int, Leaf]]:
        while not self.task.is_last(self.rest, len(self.layers)):
            cut = self.task.cut(self.rest, self.partition, self.rng)
            leaves = self.task.good_leaves(cut)
            if leaves:
                return cut, leaves
            if cut.is_finest:
                break
            self.partition = self.partition.refined()
        cut = self.task.whole(self.rest)
        return cut, {0: self.task.last_leaf(cut)}


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
        """Return the points of each cell."""
        order = np.argsort(self.cells, kind="stable")
        bounds = np.searchsorted(self.cells[order], np.arange(self.n_cells + 1))
        return [self.members[order[a:b]] for a, b in pairwise(bounds)]

    def squared_radii(self, scaled: FloatArray) -> FloatArray:
        """Return for each cell the largest squared distance of a point from the mean, on scaled data."""
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
        """Return the cut as a layer of the tree."""
        cells = [leaves.get(cell) for cell in range(self.n_cells)]
        return Layer(self.centres, self.counts.tolist(), cells)


class _Task:
    """The training data and what is asked for."""

    def __init__(self, points: FloatArray, codes: IntArray, growth: Growth):
        self.points, self.codes, self.growth = points, codes, growth
        self.frame = TrainingRange.from_points(points)
        self.scaled = self.frame.scale(points)
        self.n_classes = int(codes.max()) + 1
        self.totals = np.bincount(codes)
        self.rarest = int(np.argmin(self.totals))
        # Equal points have the same number.
        self.numbers = np.unique(self.scaled, axis=0, return_inverse=True)[1].ravel()

    def is_last(self, rest: IntArray, n_layers: int) -> bool:
        """Check whether the rest is of one class, or the budget of layers is used up."""
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
        """Put all of the rest in one cell."""
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
        """Return the cells that become leaves: all good ones, or the largest of them."""
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
        """Return the leaf of a cell if it is good enough.

        With class weights one more point is added, shared among the classes as the training data are. A class that
        weighs next to nothing so needs many points to have a cell; balanced weights change no leaf.
        """
        is_pure = np.count_nonzero(counts) == 1
        if self.growth.svm.weights is not None:
            shares = self.totals / len(self.codes)
            heaviest = int(self.growth.svm.masses(counts + shares).argmax())
            if not counts[heaviest]:
                return Leaf("pure" if is_pure else "svm", heaviest, counts.tolist())
        if is_pure:
            return self._pure(members, counts)
        leaf = self._machine("svm", members, counts)
        return leaf if self._loss(leaf, members) <= self.growth.tol else None

    def _pure(self, members: IntArray, counts: IntArray) -> Leaf:
        """Return a leaf of one class, with its one-class machine if asked for."""
        label = int(counts.argmax())
        if self.growth.one_class is None:
            return Leaf("pure", label, counts.tolist())
        kernel = fit_one_class(self.points[members], self.frame)
        outlier = None
        if self.growth.one_class == "strict":
            # Of more than two classes the largest other one.
            others = self.totals.copy()
            others[label] = -1
            outlier = int(others.argmax())
        return Leaf("pure", label, counts.tolist(), kernel=kernel, outlier=outlier)

    def last_leaf(self, cut: _Cut) -> Leaf:
        """Return the one leaf of what is left: its class, else a machine if it beats the heaviest class."""
        (counts,) = cut.counts
        if np.count_nonzero(counts) == 1:
            return self._pure(cut.members, counts)
        heaviest = int(self.growth.svm.masses(counts).argmax())
        constant = Leaf("residual", heaviest, counts.tolist())
        machine = self._machine("residual", cut.members, counts)
        better = self._loss(machine, cut.members) < self._loss(constant, cut.members)
        return machine if better else constant

    def _machine(
        self, kind: Literal["svm", "residual"], members: IntArray, counts: IntArray
    ) -> Leaf:
        svm = self.growth.svm
        duels = fit_duels(self.points[members], self.codes[members], self.frame, svm)
        is_linear = duels.kernel is None
        return Leaf(
            kind,
            int(svm.masses(counts).argmax()),
            counts.tolist(),
            duels.pairs.tolist(),
            duels.normals if is_linear else None,
            duels.offsets if is_linear else (),
            len(duels.support),
            duels.kernel,
        )

    def _loss(self, leaf: Leaf, members: IntArray) -> float:
        truth = self.codes[members]
        wrong = leaf.decide(self.points[members]) != truth
        if self.growth.loss == "minority" and (truth == self.rarest).any():
            return float(wrong[truth == self.rarest].mean())
        if self.growth.svm.weights is None:
            return float(wrong.mean())
        costs = self.growth.svm.costs(truth)
        return float(costs[wrong].sum() / costs.sum())

    def _hopeless(self, cut: _Cut) -> BoolArray:
        """Find cells in which the machine is known to predict the heaviest class, with too large a loss.

        If one class weighs more than any other and the lemma holds for it and the second one, it holds against all
        others, and the class wins all its duels all over the cell.
        """
        svm = self.growth.svm
        masses = svm.masses(cut.counts)
        ordered = np.sort(masses, axis=1)
        top, second = ordered[:, -1], ordered[:, -2]
        if not self.growth.prefilter or not second.any():
            return np.zeros(cut.n_cells, dtype=np.bool_)
        loss = 1 - top / masses.sum(axis=1)
        if self.growth.loss == "minority":
            rare = masses[:, self.rarest]
            loss = np.where(rare == 0, loss, rare < top)
        radii = svm.squared_radius(cut.squared_radii(self.scaled))
        settled = is_settled(second, radii, svm.C)
        # Weights that are equal but for rounding are a draw, and rounding of the loss refuses nothing.
        heavier = second < top * (1 - _DRAW)
        beyond = loss > self.growth.tol + (0.0 if svm.weights is None else _DRAW)
        return np.asarray((second > 0) & heavier & settled & beyond, dtype=np.bool_)


# The lemma says 1; libsvm's stopping tolerance of 0.001 asks for a little room.
_SMALL = 0.99
# Weights of two classes that differ by a smaller share are equal: weights have rounding, numbers of points do not.
_DRAW = 1e-9
# Up to so many points the radius of a cell in feature space is computed; larger cells are not small.
_FEW = 500
# The one-class machine of the paper's experiments: RBF with sigma 3.5, "the same penalty coefficient of 0.1".
_ONE_CLASS_GAMMA, _ONE_CLASS_NU = 1.0 / (2.0 * 3.5**2), 0.1
# A one-class function this far below zero, relative to its largest value, is negative and not rounding.
_OUTSIDE = 1e-9


@dataclass(frozen=True, slots=True)
class Duels:
    """Decisions between pairs of classes: planes in the user's units, or kernel functions.

    Parameters
    ----------
    pairs : ndarray of int of shape (p, 2)
        Codes of two classes each, the lower one first.
    normals : ndarray of shape (p, n)
        Weights a; the largest is 1 or -1, or all are 0 where one class wins everywhere.
    offsets : ndarray of shape (p,)
        Offsets t: the second class wins where a'x > t, the first elsewhere.
    support : ndarray of int
        Points that are support vectors of some machine, ascending.
    kernel : LeafKernel or None
        With a kernel that is not linear, its functions, one for each pair; planes are all 0 then.
    """

    pairs: IntArray
    normals: FloatArray
    offsets: FloatArray
    support: IntArray
    kernel: LeafKernel | None = None


def is_settled(smaller: FloatArray | IntArray, squared_radius: FloatArray, C: float) -> BoolArray:
    """Tell for cells whether the lemma applies: smaller weight of two classes, squared radius.

    Examples
    --------
    >>> is_settled(np.array([1, 5]), np.array([0.25, 1.0]), C=0.1)
    array([ True, False])
    """
    return np.asarray(4 * C * smaller * squared_radius < _SMALL)


def fit_duels(points: FloatArray, codes: IntArray, frame: TrainingRange, svm: LocalSVM) -> Duels:
    """Fit the machines of a cell.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Points of the cell in the user's units.
    codes : ndarray of int of shape (m,)
        Their classes, at least two different ones.
    frame : TrainingRange
        How the data are scaled.
    svm : LocalSVM
        How machines are trained.

    Returns
    -------
    Duels
        One decision for each pair of classes in the cell.

    Examples
    --------
    >>> frame = TrainingRange(np.zeros(1), np.array([10.0]))
    >>> duels = fit_duels(np.array([[2.0], [4.0]]), np.array([0, 1]), frame, LocalSVM(0.1))
    >>> duels.normals, duels.offsets
    (array([[1.]]), array([3.]))
    """
    present = np.unique(codes)
    first, second = np.triu_indices(len(present), 1)
    pairs = np.column_stack([present[first], present[second]])
    normals, offsets = np.zeros((len(pairs), points.shape[1])), np.zeros(len(pairs))
    coefs = np.zeros((len(points), len(pairs)))
    is_support = np.zeros(len(points), dtype=np.bool_)
    scaled, costs = frame.scale(points), svm.C * svm.costs(codes)
    for p, (negative, positive) in enumerate(pairs):
        members = np.flatnonzero((codes == negative) | (codes == positive))
        is_positive = codes[members] == positive
        if svm.kind == "linear":
            mean = scaled[members].mean(axis=0)
            w, intercept, support = fit_pair(scaled[members] - mean, is_positive, costs[members])
            normals[p], offsets[p] = _in_units(w, intercept, mean, frame)
        else:
            found = fit_kernel_pair(scaled[members], is_positive, costs[members], svm)
            coefs[members, p], offsets[p] = found
            support = np.flatnonzero(found[0])
        is_support[members[support]] = True
    kernel = None
    rows = np.flatnonzero(is_support)
    if svm.kind != "linear":
        constants = (svm.gamma, svm.coef0, svm.degree)
        kernel = LeafKernel(
            svm.kind, points[rows], coefs[rows], offsets, frame.low, frame.width, *constants
        )
    return Duels(pairs, normals, offsets, rows, kernel)


def fit_pair(
    centred: FloatArray,
    positive: BoolArray,
    costs: FloatArray,
) -> tuple[FloatArray, float, IntArray]:
    """Fit a linear C-SVM of two classes to points whose mean is the origin.

    Parameters
    ----------
    centred : ndarray of shape (m, n)
        Points.
    positive : ndarray of bool of shape (m,)
        Which of them are of the second class; both classes occur.
    costs : ndarray of shape (m,)
        Cost of an error at each; all points of a class have the same.

    Returns
    -------
    w : ndarray of shape (n,)
        Weights.
    intercept : float
        Intercept: the second class where w'x + intercept > 0.
    support : ndarray of int
        Indices of the support vectors.

    Examples
    --------
    >>> fit_pair(np.array([[-0.1], [0.1]]), np.array([False, True]), np.array([0.1, 0.1]))
    (array([0.02]), 0.0, array([0, 1]))
    """
    if _is_even(positive, costs, (centred**2).sum(axis=1).max()):
        largest = costs.max()
        w = largest * ((np.where(positive, 1.0, -1.0) * (costs / largest)) @ centred)
        return w, _middle(centred @ w, positive), np.arange(len(centred))
    machine = SVC(kernel="linear", **_penalties(positive, costs)).fit(centred, positive)
    return machine.coef_[0], float(machine.intercept_[0]), machine.support_.astype(np.intp)


def fit_kernel_pair(
    scaled: FloatArray, positive: BoolArray, costs: FloatArray, svm: LocalSVM
) -> tuple[FloatArray, float]:
    """Fit a C-SVM of two classes with a kernel.

    Parameters
    ----------
    scaled : ndarray of shape (m, n)
        Points.
    positive, costs
        As for `fit_pair`.
    svm : LocalSVM
        The kernel.

    Returns
    -------
    coefs : ndarray of shape (m,)
        What each point counts: the second class where the sum of coefs times kernels + intercept is positive.
    intercept : float
        Intercept.

    Examples
    --------
    >>> svm = LocalSVM(0.1, kind="rbf", gamma=1.0)
    >>> fit_kernel_pair(np.array([[0.0], [1.0]]), np.array([False, True]), np.array([0.1, 0.1]), svm)
    (array([-0.1,  0.1]), 0.0)
    """
    if len(scaled) <= _FEW:
        kernel = svm.function(scaled, np.zeros((len(scaled), 0)), np.zeros(0)).kernel(scaled)
        # Squared distances from the mean in feature space.
        squared = np.diag(kernel) - 2.0 * kernel.mean(axis=1) + kernel.mean()
        if _is_even(positive, costs, squared.max()):
            coefs = np.where(positive, 1.0, -1.0) * costs
            return coefs, _middle(kernel @ coefs, positive)
    machine = SVC(
        kernel=svm.kind,
        gamma=svm.gamma,
        coef0=svm.coef0,
        degree=svm.degree,
        **_penalties(positive, costs),
    ).fit(scaled, positive)
    coefs = np.zeros(len(scaled))
    coefs[machine.support_] = machine.dual_coef_[0]
    return coefs, float(machine.intercept_[0])


def _penalties(positive: BoolArray, costs: FloatArray) -> dict[str, Any]:
    """Give the costs of both classes as parameters of SVC."""
    ends = float(costs[~positive][0]), float(costs[positive][0])
    weights = None if ends[0] == ends[1] else {False: 1.0, True: ends[1] / ends[0]}
    return {"C": ends[0], "class_weight": weights}


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


def fit_one_class(points: FloatArray, frame: TrainingRange) -> LeafKernel:
    """Fit the one-class SVM of a leaf of one class.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Points of the leaf in the user's units.
    frame : TrainingRange
        How the data are scaled.

    Returns
    -------
    LeafKernel
        A function that is negative at outliers. At support vectors between the bounds of their multipliers it is 0,
        but for libsvm's tolerance; here none of these is an outlier.

    Examples
    --------
    >>> frame = TrainingRange(np.zeros(1), np.ones(1))
    >>> kernel = fit_one_class(np.array([[0.2], [0.4], [0.6]]), frame)
    >>> kernel.vectors.ravel(), (kernel.values(np.array([[0.1], [0.3], [0.9]]))[:, 0] < 0)
    (array([0.2, 0.6]), array([ True, False,  True]))
    """
    scaled = frame.scale(points)
    machine = OneClassSVM(kernel="rbf", gamma=_ONE_CLASS_GAMMA, nu=_ONE_CLASS_NU, tol=1e-6)
    machine.fit(scaled)
    # What subtraction left over of a multiplier of zero makes no support vector.
    is_support = machine.dual_coef_[0] > _DRAW
    rows, coefs = machine.support_[is_support], machine.dual_coef_[0][is_support]
    start = LeafKernel(
        "rbf", points[rows], coefs[:, None], [0.0], frame.low, frame.width, _ONE_CLASS_GAMMA
    )
    values = start.values(points)[:, 0]
    # Multipliers lie between 0 and 1.
    free = rows[coefs < 1 - _OUTSIDE]
    if len(free):
        rho = values[free].min()
    else:
        others = np.setdiff1d(np.arange(len(points)), rows)
        rho = (values[rows].max() + values[others].min()) / 2
    rho -= _OUTSIDE * float(coefs.sum())
    return LeafKernel(
        "rbf", points[rows], coefs[:, None], [-rho], frame.low, frame.width, _ONE_CLASS_GAMMA
    )


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
class KMeansPartition:
    """K-means with K centres (Lloyd's algorithm from one k-means++ start).

    Parameters
    ----------
    scale : int
        Number of centres.
    by_one : bool, default False
        Whether the next finer cut has one centre more, as published, instead of half as many again.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> sorted(KMeansPartition(2).centres(points, 4, np.random.RandomState(0)).ravel().round(2).tolist())
    [0.05, 0.95]
    >>> KMeansPartition(4).refined(), KMeansPartition(4, by_one=True).refined()
    (KMeansPartition(scale=6, by_one=False), KMeansPartition(scale=5, by_one=True))
    """

    scale: float
    by_one: bool = False

    def centres(
        self, points: FloatArray, n_distinct: int, rng: np.random.RandomState
    ) -> FloatArray | None:
        """Cut the points; None when this is no coarser than every distinct point by itself."""
        if self.scale >= n_distinct:
            return None
        with warnings.catch_warnings():
            # Points that differ by rounding alone may end in the same place.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Threads that wait for each other cost more than such small cuts, and add up in any order.
            with _threads().limit(limits=1, user_api="openmp"):
                means = KMeans(int(self.scale), n_init=1, random_state=rng).fit(points)
        # A mean may leave the range of its points by rounding.
        return np.asarray(np.clip(means.cluster_centers_, points.min(axis=0), points.max(axis=0)))

    def refined(self) -> KMeansPartition:
        """Return the next finer scale."""
        finer = self.scale + 1 if self.by_one else math.ceil(1.5 * self.scale)
        return KMeansPartition(finer, self.by_one)


@dataclass(frozen=True, slots=True)
class EcmPartition:
    """The evolving clustering method with threshold Dthr; the points are taken in their order.

    Parameters
    ----------
    scale : float
        Dthr, the largest radius of a cluster on data scaled to [0, 1].

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> EcmPartition(0.1).centres(points, n_distinct=4)
    array([[0.05],
           [0.95]])
    >>> EcmPartition(0.9).refined(), EcmPartition(0.1).refined()
    (EcmPartition(scale=0.8), EcmPartition(scale=0.05))
    """

    scale: float

    def centres(
        self, points: FloatArray, n_distinct: int, rng: np.random.RandomState | None = None
    ) -> FloatArray | None:
        """Cut the points; None when this is no coarser than every distinct point by itself."""
        if self.scale < _FINEST_THRESHOLD:
            return None
        centres, _ = ecm_centres(points, self.scale)
        return centres if len(centres) < n_distinct else None

    def refined(self) -> EcmPartition:
        """Return the next finer scale."""
        lower = round(self.scale - 0.1, 12)
        return EcmPartition(lower if lower > _DUST else self.scale / 2)


Partition = KMeansPartition | EcmPartition


def ecm_centres(points: FloatArray, threshold: float) -> tuple[FloatArray, FloatArray]:
    """Run the evolving clustering method once over the points (Kasabov and Song, 2002).

    Distances are Euclidean, divided by the square root of the number of features. A point inside a cluster (D_j <=
    R_j) changes nothing. Otherwise, with S_j = D_j + R_j and a = argmin S_j: if S_a > 2 Dthr the point becomes a
    new cluster of radius 0; else cluster a grows just so far that it holds the point, R_a = S_a / 2, and its centre
    moves towards it, to distance R_a. So no radius ever exceeds Dthr. The grown ball holds the old one, thus a
    point inside stays inside, and only points that change something need a step of their own.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Points scaled to [0, 1], at least one.
    threshold : float
        Dthr.

    Returns
    -------
    centres : ndarray of shape (K, n)
        Centres of the clusters in the order in which they came up.
    radii : ndarray of shape (K,)
        Their radii, at most Dthr.

    Examples
    --------
    >>> ecm_centres(np.array([[0.0], [0.2], [1.0]]), 0.1)
    (array([[0.1], [1. ]]), array([0.1, 0. ]))
    """
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
    return centres[:count].copy(), radii[:count].copy()


def _distances(points: FloatArray, centres: FloatArray, norm: float) -> FloatArray:
    total = np.zeros((len(points), len(centres)))
    for feature in range(points.shape[1]):
        total += (points[:, feature, None] - centres[None, :, feature]) ** 2
    return np.asarray(np.sqrt(total) / norm)
