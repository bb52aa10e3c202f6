"""The tree of support vector machines as a value: layers of cells, some of which are leaves.

A layer is a set of centres; a point belongs to the nearest one. Where that cell is a leaf, the leaf decides; otherwise
the point goes on to the next layer. All cells of the last layer are leaves. Centres, planes, support vectors and
widths are in the user's units.

**Cells** around centres: which centre is nearest is decided by the same inequalities that rules print. Distances are
Euclidean after each feature is divided by its width, the range of the training data. A point x is nearer to centre j
than to centre k exactly when it lies on j's side of their bisector,

    a'x <= b,   a_l = (u_kl - u_jl) / width_l^2,   b = a'(u_j + u_k) / 2,                                (row j, k)

here divided by the largest weight, so that one weight is 1 or -1. On the bisector itself the first centre wins: row
(j, k) is strict where k < j. The cell of j is the set of points that satisfy all its rows *as evaluated in floating
point, from left to right*, which is how a `Polyhedron` evaluates them. Row (k, j) is row (j, k) with all signs
changed, to the last bit, so no point is in two cells. A point within rounding of several bisectors may be in none;
callers have to say where such points go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.models.kernel_function import KernelFunction, KernelKind
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, as_points, float_array

__all__ = [
    "Layer",
    "Leaf",
    "LeafKernel",
    "SVMTree",
    "TrainingRange",
    "bisectors",
    "draw_tree",
    "left_sides",
    "nearest_cells",
]


Kind = Literal["pure", "svm", "residual"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LeafKernel(Value):
    """The kernel functions of a leaf: sums of kernels around support vectors, of columns scaled to the training range.

    Parameters
    ----------
    kind : {"linear", "poly", "rbf", "sigmoid"}
        The kernel, as in `KernelFunction`.
    vectors : array-like of shape (s, n)
        Support vectors, in the user's units.
    coefs, intercepts : array-like of shape (s, q) and (q,)
        What each support vector counts in each function, and what is added.
    low, width : array-like of shape (n,)
        Least value and range of each feature in the training data, as of the tree.
    gamma, coef0 : float
        Constants of the kernel.
    degree : int, default 3
        Degree of a polynomial kernel.

    Examples
    --------
    >>> bump = LeafKernel("rbf", [[4.0]], [[1.0]], [-0.5], low=[0.0], width=[8.0], gamma=1.0)
    >>> bump.values(np.array([[4.0], [12.0]])).round(3)
    array([[ 0.5  ],
           [-0.132]])
    """

    kind: KernelKind
    vectors: FloatArray
    coefs: FloatArray
    intercepts: FloatArray
    low: FloatArray
    width: FloatArray
    gamma: float
    coef0: float
    degree: int

    def __init__(
        self,
        kind: KernelKind,
        vectors: ArrayLike,
        coefs: ArrayLike,
        intercepts: ArrayLike,
        low: ArrayLike,
        width: ArrayLike,
        gamma: float = 1.0,
        coef0: float = 0.0,
        degree: int = 3,
    ):
        rows, added = float_array(vectors, "support vectors"), float_array(intercepts, "intercepts")
        n = rows.shape[1]
        self._set(
            kind=kind,
            vectors=rows,
            coefs=float_array(coefs, "coefficients", shape=(len(rows), len(added))),
            intercepts=added,
            low=float_array(low, "low", shape=(n,)),
            width=float_array(width, "width", shape=(n,)),
            gamma=float(gamma),
            coef0=float(coef0),
            degree=int(degree),
        )

    @property
    def frame(self) -> TrainingRange:
        """How the columns are scaled."""
        return TrainingRange(self.low, self.width)

    def function(self) -> KernelFunction:
        """Give the functions over scaled columns."""
        return KernelFunction(
            self.kind,
            self.frame.scale(self.vectors),
            self.coefs,
            self.intercepts,
            self.gamma,
            self.coef0,
            self.degree,
        )

    def values(self, points: FloatArray) -> FloatArray:
        """Give the values of all functions at points in the user's units."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.function().values(self.frame.scale(points))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Leaf(Value):
    """A cell that decides: one class, a support vector machine, or a one-class machine.

    Parameters
    ----------
    kind : {"pure", "svm", "residual"}
        Points of one class; a machine that is good enough; whatever could not be cut any further.
    label : int
        The class (its position among the classes) where no machine has a winner: the most frequent one.
    counts : sequence of int
        Number of training points of each class.
    pairs : iterable of pairs of int, optional
        The classes between which machines decide; none for a leaf that always predicts `label`.
    normals, offsets : array-like of shape (p, n) and (p,), optional
        For each pair: the second class wins where normal'x > offset, the first elsewhere.
    n_support : int, default 0
        Number of support vectors of the machines between classes.
    kernel : LeafKernel, optional
        Instead of planes a function for each pair: the second class wins where it is positive. In a leaf without
        pairs it is the one function of a one-class machine, negative at outliers.
    outlier : int, optional
        What a leaf of one class predicts at outliers of its one-class machine; `label` like everywhere else if not
        given.

    Examples
    --------
    >>> leaf = Leaf("svm", 0, [1, 1], pairs=[(0, 1)], normals=[[1.0, 0.0]], offsets=[3.0], n_support=2)
    >>> leaf.decide(np.array([[3.0, 9.0], [3.5, 9.0]]))
    array([0, 1])
    """

    kind: Kind
    label: int
    counts: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    normals: FloatArray
    offsets: FloatArray
    n_support: int
    kernel: LeafKernel | None
    outlier: int | None

    def __init__(
        self,
        kind: Kind,
        label: int,
        counts: Sequence[int],
        pairs: Iterable[Iterable[int]] = (),
        normals: ArrayLike | None = None,
        offsets: ArrayLike = (),
        n_support: int = 0,
        kernel: LeafKernel | None = None,
        outlier: int | None = None,
    ):
        rivals = tuple((int(i), int(j)) for i, j in pairs)
        rows = float_array(np.empty((0, 0)) if normals is None else normals, "the normals")
        planes = 0 if kernel is not None else len(rivals)
        if len(rows) != planes:
            raise InvalidValueError(f"{planes} pairs of classes, but {len(rows)} planes")
        if kernel is not None and len(kernel.intercepts) != (len(rivals) or 1):
            raise InvalidValueError(
                f"{len(rivals)} pairs of classes, but {len(kernel.intercepts)} kernel functions"
            )
        if outlier is not None and (kernel is None or rivals):
            raise InvalidValueError("only a one-class machine has outliers to predict a class of")
        self._set(
            kind=kind,
            label=int(label),
            counts=tuple(int(count) for count in counts),
            pairs=rivals,
            normals=rows,
            offsets=float_array(offsets, "the offsets", shape=(planes,)),
            n_support=int(n_support),
            kernel=kernel,
            outlier=None if outlier is None else int(outlier),
        )

    @property
    def size(self) -> int:
        """Number of training points."""
        return sum(self.counts)

    @property
    def is_constant(self) -> bool:
        """Whether the leaf predicts one class everywhere in its cell."""
        return not self.pairs and self.outlier is None

    @property
    def is_linear(self) -> bool:
        """Whether planes are all that the leaf decides by."""
        return self.is_constant or self.kernel is None

    def decide(self, points: FloatArray) -> IntArray:
        """Give the class (its position) of each point: the one that wins all its duels, else `label`."""
        predicted = np.full(len(points), self.label, dtype=np.intp)
        if self.outlier is not None and self.kernel is not None:
            predicted[self.kernel.values(points)[:, 0] < 0] = self.outlier
        if not self.pairs:
            return predicted
        second = self._second_wins(points)
        for rival in sorted({code for pair in self.pairs for code in pair}):
            wins = [
                won if rival == pair[1] else ~won
                for pair, won in zip(self.pairs, second, strict=True)
                if rival in pair
            ]
            predicted[np.logical_and.reduce(wins)] = rival
        return predicted

    def _second_wins(self, points: FloatArray) -> list[BoolArray]:
        """Tell for each pair where its second class wins."""
        if self.kernel is not None:
            return list((self.kernel.values(points) > 0).T)
        with np.errstate(over="ignore"):
            return [
                left_sides(normal, points) > offset
                for normal, offset in zip(self.normals, self.offsets, strict=True)
            ]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Layer(Value):
    """Centres, and for each whether its cell is a leaf.

    Parameters
    ----------
    centres : array-like of shape (K, n)
        The centres in the user's units.
    counts : sequence of sequences of int
        For each cell the number of training points of each class.
    leaves : iterable of Leaf or None
        For each cell its leaf; None where points go on to the next layer.

    Examples
    --------
    >>> layer = Layer([[0.0], [1.0]], [(3, 0), (2, 2)], [Leaf("pure", 0, [3, 0]), None])
    >>> layer.n_leaves, layer.size
    (1, 7)
    """

    centres: FloatArray
    counts: tuple[tuple[int, ...], ...]
    leaves: tuple[Leaf | None, ...]

    def __init__(
        self,
        centres: ArrayLike,
        counts: Iterable[Iterable[int]],
        leaves: Iterable[Leaf | None],
    ):
        places, cells = float_array(centres, "the centres of a layer"), tuple(leaves)
        table = tuple(tuple(int(c) for c in row) for row in counts)
        if not len(places) == len(cells) == len(table):
            raise InvalidValueError(
                f"{len(places)} centres, {len(table)} rows of counts and {len(cells)} cells in one layer"
            )
        self._set(centres=places, counts=table, leaves=cells)

    @property
    def n_leaves(self) -> int:
        """Number of cells that are leaves."""
        return sum(leaf is not None for leaf in self.leaves)

    @property
    def size(self) -> int:
        """Number of training points that come to this layer and lie in a cell."""
        return sum(map(sum, self.counts))


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class SVMTree(Value):
    """A decision list of cells with support vector machines in some of them.

    Parameters
    ----------
    layers : iterable of Layer
        The layers, first one first; all cells of the last one are leaves.
    low, width : array-like of shape (n,)
        Least value and range of each feature in the training data; the width of a feature that does not vary is
        infinite.
    names : iterable of str
        Names of the features.
    classes : iterable of labels
        The classes.

    Examples
    --------
    >>> layer = Layer([[0.0], [4.0]], [(3, 0), (0, 2)], [Leaf("pure", 0, [3, 0]), Leaf("pure", 1, [0, 2])])
    >>> tree = SVMTree([layer], low=[0.0], width=[4.0], names=["size"], classes=["small", "large"])
    >>> tree.apply([[1.0], [2.0], [3.0]])
    array([0, 0, 1])
    >>> print(tree)
    SVM tree: 1 layer, 2 leaves (2 of one class), 5 training points, 0 support vectors
    layer 1, 5 points, nearest of 2 centres:
      leaf 0 near size = 0: 3 of small => small
      leaf 1 near size = 4: 2 of large => large
    """

    layers: tuple[Layer, ...]
    low: FloatArray
    width: FloatArray
    names: tuple[str, ...]
    classes: tuple[Label, ...]

    def __init__(
        self,
        layers: Iterable[Layer],
        low: ArrayLike,
        width: ArrayLike,
        names: Iterable[str],
        classes: Iterable[object],
    ):
        parts, called = tuple(layers), tuple(str(name) for name in names)
        if not parts or None in parts[-1].leaves:
            raise InvalidValueError("all cells of the last layer of a tree must be leaves")
        self._set(
            layers=parts,
            low=float_array(low, "low", shape=(len(called),)),
            width=float_array(width, "width", shape=(len(called),)),
            names=called,
            classes=tuple(as_label(label) for label in classes),
        )

    @property
    def frame(self) -> TrainingRange:
        """How the training data were scaled."""
        return TrainingRange(self.low, self.width)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """All leaves, layer by layer; their positions are what `apply` gives."""
        return tuple(leaf for layer in self.layers for leaf in layer.leaves if leaf is not None)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return sum(layer.n_leaves for layer in self.layers)

    @property
    def n_support_vectors(self) -> int:
        """Number of support vectors of all machines between classes; those of one-class machines do not count."""
        return sum(leaf.n_support for leaf in self.leaves)

    def apply(self, X: ArrayLike) -> IntArray:
        """Give the leaf to which each row comes.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The rows, in the user's units.

        Returns
        -------
        ndarray of int of shape (m,)
            Positions in `leaves`.
        """
        points = as_points(X, len(self.names))
        # What no cell of the last layer takes (by rounding) belongs to its last one.
        found = np.full(len(points), self.n_leaves - 1, dtype=np.intp)
        pending, start = np.arange(len(points)), 0
        for layer in self.layers:
            is_leaf = np.array([leaf is not None for leaf in layer.leaves])
            cells = nearest_cells(points[pending], layer.centres, self.frame)
            done = (cells >= 0) & is_leaf[cells]
            found[pending[done]] = start + (np.cumsum(is_leaf) - 1)[cells[done]]
            pending, start = pending[~done], start + layer.n_leaves
        return found

    def decide(self, X: ArrayLike) -> IntArray:
        """Give the class (its position in `classes`) of each row.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The rows, in the user's units.

        Returns
        -------
        ndarray of int of shape (m,)
            Positions in `classes`.
        """
        points, leaves = as_points(X, len(self.names)), self.leaves
        found = self.apply(points)
        predicted: IntArray = np.array([leaf.label for leaf in leaves], dtype=np.intp)[found]
        order = np.argsort(found, kind="stable")
        bounds = np.searchsorted(found[order], np.arange(len(leaves) + 1))
        for number, leaf in enumerate(leaves):
            rows = order[bounds[number] : bounds[number + 1]]
            if len(rows) and not leaf.is_constant:
                predicted[rows] = leaf.decide(points[rows])
        return predicted

    def to_text(self, names: Sequence[str] | None = None) -> str:
        """Draw the tree: layers, cells, sizes for each class, and what leaves predict.

        Parameters
        ----------
        names : sequence of str, optional
            Other names for the features.

        Returns
        -------
        str
            One line a leaf. Numbers are rounded to four digits; the tree itself is exact.
        """
        return draw_tree(self, self.names if names is None else names)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return (
            f"<SVMTree of {len(self.layers)} layers with {self.n_leaves} leaves over "
            f"{len(self.names)} features, classes {self.classes}>"
        )


# Entries of a table of distances that are held at a time.
_TABLE = 2_000_000


@dataclass(frozen=True, slots=True)
class TrainingRange:
    """Where the training data lie: least value and width of each feature.

    Parameters
    ----------
    low, width : ndarray of shape (n,)
        Least value and range; the width is infinite for a feature that does not vary, which so counts nothing.

    Examples
    --------
    >>> frame = TrainingRange.from_points(np.array([[0.0, 5.0], [4.0, 5.0]]))
    >>> frame.scale(np.array([[1.0, 7.0]]))
    array([[0.25, 0.  ]])
    """

    low: FloatArray
    width: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray) -> TrainingRange:
        """Measure some points."""
        low, high = points.min(axis=0), points.max(axis=0)
        with np.errstate(
            over="ignore"
        ):  # a range beyond the floats is infinite, and so counts nothing
            width = high - low
        # The inverse of a width below this one is no float.
        return cls(low, np.where(width > 1e-300, width, np.inf))

    def scale(self, points: FloatArray) -> FloatArray:
        """Bring points to [0, 1] by the training range."""
        with np.errstate(over="ignore"):
            return np.asarray((points - self.low) / self.width)

    def restore(self, scaled: FloatArray) -> FloatArray:
        """Bring scaled points back to the user's units; a feature that does not vary has its one value."""
        varying = np.isfinite(self.width)
        return np.asarray(self.low + scaled * np.where(varying, self.width, 0.0))


def bisectors(
    centres: FloatArray, width: FloatArray, j: IntArray, k: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Write "nearer to centre j than to centre k" as rows a'x <= b, for pairs of centres that differ.

    Parameters
    ----------
    centres : ndarray of shape (K, n)
        Centres in the user's units.
    width : ndarray of shape (n,)
        Width of each feature.
    j, k : ndarray of int of shape (p,)
        The pairs.

    Returns
    -------
    A : ndarray of shape (p, n)
        Left-hand sides; the largest weight of each is 1 or -1 (all are 0 where the centres do not differ).
    b : ndarray of shape (p,)
        Right-hand sides.

    Examples
    --------
    >>> centres = np.array([[0.0, 0.0], [4.0, 2.0]])
    >>> bisectors(centres, np.ones(2), np.array([0]), np.array([1]))
    (array([[1. , 0.5]]), array([2.5]))
    """
    A = (centres[k] - centres[j]) / width / width
    largest = np.abs(A).max(axis=1, initial=0.0)
    A /= np.where(largest > 0, largest, 1.0)[:, None]
    # Sums over features are formed one after the other everywhere: the order must not depend on the number of rows.
    return A, left_sides(A, (centres[j] + centres[k]) / 2)


def left_sides(A: FloatArray, points: FloatArray) -> FloatArray:
    """Evaluate a'x for pairs of a row and a point, from left to right as `Polyhedron.contains` does.

    Examples
    --------
    >>> left_sides(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([11., 17.])
    """
    total: FloatArray = A[..., 0] * points[..., 0]
    for feature in range(1, points.shape[-1]):
        total = total + A[..., feature] * points[..., feature]
    return total


def nearest_cells(points: FloatArray, centres: FloatArray, frame: TrainingRange) -> IntArray:
    """Give for each point the centre in whose cell it is, -1 where rounding leaves it in none.

    Distances from one matrix product settle nearly all points. Those that are within rounding of a bisector are
    decided by its row.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Points in the user's units.
    centres : ndarray of shape (K, n)
        Centres in the user's units.
    frame : TrainingRange
        Where the training data lie.

    Returns
    -------
    ndarray of int of shape (m,)
        Indices of centres.

    Examples
    --------
    >>> frame = TrainingRange(np.zeros(1), np.ones(1))
    >>> nearest_cells(np.array([[0.1], [0.5], [0.6]]), np.array([[0.0], [1.0]]), frame)
    array([0, 0, 1])
    """
    if len(centres) == 1:
        return np.zeros(len(points), dtype=np.intp)
    cells = np.empty(len(points), dtype=np.intp)
    step = max(1, _TABLE // len(centres))
    for start in range(0, len(points), step):
        rows = slice(start, start + step)
        cells[rows] = _nearest_block(points[rows], centres, frame)
    return cells


def _nearest_block(points: FloatArray, centres: FloatArray, frame: TrainingRange) -> IntArray:
    scaled, scaled_centres = frame.scale(points), frame.scale(centres)
    # Half the squared distance, but for a term that all centres share.
    halves = (scaled_centres**2).sum(axis=1) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        table = halves - scaled @ scaled_centres.T
        near = table <= (table.min(axis=1) + _doubt(points, centres, frame))[:, None]
    cells: IntArray = near.argmax(axis=1)
    # A point so far away that its distances are no numbers is near to none; its rows decide, too.
    unsure = np.flatnonzero(np.count_nonzero(near, axis=1) != 1)
    if len(unsure):
        candidates = near[unsure] | ~near[unsure].any(axis=1, keepdims=True)
        cells[unsure] = _duels(points[unsure], candidates, centres, frame.width)
    return cells


def _doubt(points: FloatArray, centres: FloatArray, frame: TrainingRange) -> FloatArray:
    """Return how far a difference of two entries of the table may be from what rows say, for each point.

    Both are sums of n products with |scaled centre| <= 1. Standard bounds give (n + 4) eps times the sum of the
    magnitudes for each; 16 is more than all constants together.
    """
    n = points.shape[1]
    reach = np.abs(centres).max(axis=0) + np.abs(frame.low)
    magnitude = ((np.abs(points) + reach) / frame.width).sum(axis=1)
    return np.asarray(16 * (n + 4) * np.finfo(np.float64).eps * magnitude)


def _duels(
    points: FloatArray, candidates: BoolArray, centres: FloatArray, width: FloatArray
) -> IntArray:
    """Find the candidate on whose side of all bisectors a point is, -1 where there is none."""
    champion: IntArray = candidates.argmax(axis=1)
    # If some candidate beats all others, it beats whoever is champion when its turn comes, and stays.
    for k in np.flatnonzero(candidates.any(axis=0)):
        rows = np.flatnonzero(candidates[:, k] & (champion != k))
        lost = rows[~_wins(points[rows], champion[rows], int(k), centres, width)]
        champion[lost] = k
    held = np.ones(len(points), dtype=np.bool_)
    for k in np.flatnonzero(candidates.any(axis=0)):
        rows = np.flatnonzero(candidates[:, k] & (champion != k))
        held[rows] &= _wins(points[rows], champion[rows], int(k), centres, width)
    return np.where(held, champion, -1)


def _wins(
    points: FloatArray, j: IntArray, k: int, centres: FloatArray, width: FloatArray
) -> BoolArray:
    A, b = bisectors(centres, width, j, np.full(len(j), k, dtype=np.intp))
    with np.errstate(over="ignore", invalid="ignore"):
        value = left_sides(A, points)
    return np.where(k < j, value < b, value <= b)


# So many features tell where a centre is, and so many terms are shown of an inequality.
_SHOWN_PLACES, _SHOWN_TERMS = 3, 6
_KINDS = {"pure": "of one class", "svm": "with a machine", "residual": "of what was left"}


def draw_tree(tree: SVMTree, names: Sequence[str]) -> str:
    """Draw a tree, one line a leaf.

    Parameters
    ----------
    tree : SVMTree
        The tree.
    names : sequence of str
        Names of the features.

    Returns
    -------
    str
        The drawing.
    """
    if len(names) != len(tree.names):
        raise InvalidValueError(f"{len(names)} names for {len(tree.names)} features")
    return "\n".join(_lines(tree, names))


def _lines(tree: SVMTree, names: Sequence[str]) -> Iterator[str]:
    categories: Counter[str] = Counter(leaf.kind for leaf in tree.leaves)
    listed = ", ".join(
        f"{categories[kind]} {words}" for kind, words in _KINDS.items() if categories[kind]
    )
    yield (
        f"SVM tree: {_count(len(tree.layers), 'layer')}, {_count(tree.n_leaves, 'leaf', 'leaves')} ({listed}), "
        f"{_count(sum(leaf.size for leaf in tree.leaves), 'training point')}, "
        f"{_count(tree.n_support_vectors, 'support vector')}"
    )
    number = 0
    for t, layer in enumerate(tree.layers, start=1):
        how = f"nearest of {len(layer.leaves)} centres" if len(layer.leaves) > 1 else "all of them"
        yield f"layer {t}, {_count(layer.size, 'point')}, {how}:"
        shown = _telling_features(layer.centres, tree.width)
        for centre, leaf in zip(layer.centres, layer.leaves, strict=True):
            if leaf is not None:
                place = ", ".join(f"{names[j]} = {centre[j]:.4g}" for j in shown)
                where = f" near {place}" if len(layer.leaves) > 1 else ""
                yield f"  leaf {number}{where}: {_sizes(leaf.counts, tree)} => {_say(leaf, tree, names)}"
                number += 1
        yield from _rest(layer, tree)


def _rest(layer: Layer, tree: SVMTree) -> Iterator[str]:
    others = [c for c, leaf in zip(layer.counts, layer.leaves, strict=True) if leaf is None]
    if others:
        counts = [sum(column) for column in zip(*others, strict=True)]
        yield f"  {_count(len(others), 'other cell')}: {_sizes(counts, tree)} => next layer"


def _telling_features(centres: FloatArray, width: FloatArray) -> list[int]:
    """Return the features in which the centres of a layer differ most."""
    spread = np.ptp(centres, axis=0) / width
    most = np.argsort(-spread, kind="stable")[:_SHOWN_PLACES]
    return sorted(int(j) for j in most if spread[j] > 0)


def _sizes(counts: Sequence[int], tree: SVMTree) -> str:
    labels = [plain(label) for label in tree.classes]
    return ", ".join(f"{n} of {label}" for label, n in zip(labels, counts, strict=True) if n)


def _say(leaf: Leaf, tree: SVMTree, names: Sequence[str]) -> str:
    label = plain(tree.classes[leaf.label])
    if leaf.outlier is not None:
        return f"{label}, outliers {plain(tree.classes[leaf.outlier])}"
    if not leaf.pairs:
        return label if leaf.kind == "pure" else f"{label} (most frequent)"
    if leaf.kernel is not None:
        rivals = sorted({code for pair in leaf.pairs for code in pair})
        named = " or ".join(plain(tree.classes[code]) for code in rivals)
        vectors = _count(leaf.n_support, "support vector")
        return f"{named} by a machine with kernel {leaf.kernel.kind!r} and {vectors}"
    duels = [
        _duel(normal, offset, [plain(tree.classes[code]) for code in pair], names)
        for pair, normal, offset in zip(leaf.pairs, leaf.normals, leaf.offsets, strict=True)
    ]
    last = f"; {label} if none wins all" if len(duels) > 1 else ""
    return "; ".join(duels) + last


def _duel(normal: FloatArray, offset: float, rivals: list[str], names: Sequence[str]) -> str:
    first, second = rivals
    if not normal.any():
        return second if offset < 0 else first
    used = [int(j) for j in np.argsort(-np.abs(normal), kind="stable") if normal[j]]
    terms = "".join(_term(normal[j], names[j]) for j in sorted(used[:_SHOWN_TERMS]))
    more = f" + ... ({len(used) - _SHOWN_TERMS} more)" if len(used) > _SHOWN_TERMS else ""
    return f"{second} if {terms.removeprefix(' + ').strip()}{more} > {offset:.4g}, else {first}"


def _term(weight: float, name: str) -> str:
    size = "" if abs(weight) == 1 else f"{abs(weight):.4g}*"
    return f" {'-' if weight < 0 else '+'} {size}{name}"


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
