"""The tree of support vector machines as a value: layers of cells, some of which are leaves.

A layer is a set of centres; a point belongs to the nearest one. Where that cell is a leaf, the leaf decides; otherwise
the point goes on to the next layer. All cells of the last layer are leaves. Centres, planes, support vectors and
widths are in the user's units.

Which centre is nearest is decided after each feature is divided by its width, the range of the training data; of
centres that are equally near the first one wins, where rounding leaves a doubt by sums from left to right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.language.words import counted
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray, IntArray, Value, as_points, float_array

Kind = Literal["pure", "svm", "residual"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Leaf(Value):
    """A cell that decides: one class, or linear support vector machines between pairs of classes.

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

    def __init__(
        self,
        kind: Kind,
        label: int,
        counts: Sequence[int],
        pairs: Iterable[Iterable[int]] = (),
        normals: ArrayLike | None = None,
        offsets: ArrayLike = (),
        n_support: int = 0,
    ):
        rivals = tuple((int(i), int(j)) for i, j in pairs)
        rows = float_array(np.empty((0, 0)) if normals is None else normals, "the normals")
        if len(rows) != len(rivals):
            raise InvalidValueError(f"{len(rivals)} pairs of classes, but {len(rows)} planes")
        self._set(
            kind=kind,
            label=int(label),
            counts=tuple(int(count) for count in counts),
            pairs=rivals,
            normals=rows,
            offsets=float_array(offsets, "the offsets", shape=(len(rivals),)),
            n_support=int(n_support),
        )

    @property
    def size(self) -> int:
        """Number of training points."""
        return sum(self.counts)

    @property
    def is_constant(self) -> bool:
        """Whether the leaf predicts one class everywhere in its cell."""
        return not self.pairs

    def decide(self, points: FloatArray) -> IntArray:
        """Give the class (its position) of each point: the one that wins all its duels, else `label`."""
        predicted = np.full(len(points), self.label, dtype=np.intp)
        if not self.pairs:
            return predicted
        with np.errstate(over="ignore"):
            second = [
                left_sides(normal, points) > offset
                for normal, offset in zip(self.normals, self.offsets, strict=True)
            ]
        for rival in sorted({code for pair in self.pairs for code in pair}):
            wins = [
                won if rival == pair[1] else ~won
                for pair, won in zip(self.pairs, second, strict=True)
                if rival in pair
            ]
            predicted[np.logical_and.reduce(wins)] = rival
        return predicted

    def scores(self, points: FloatArray, width: FloatArray, n_classes: int) -> FloatArray:
        """Give for each point and class by how much the class wins its closest duel; the class predicted is highest.

        Planes count by distances where each feature ranges from 0 to 1; a class that the leaf predicts without a duel
        has 1, and one that is not in it -1.
        """
        predicted, rows = self.decide(points), np.arange(len(points))
        table = np.full((len(points), n_classes), -1.0)
        if not self.pairs:
            table[rows, predicted] = 1.0
            return table
        scaled = self.normals * np.where(np.isfinite(width), width, 0.0)
        size = np.sqrt((scaled**2).sum(axis=1))
        excess = [left_sides(normal, points) for normal in self.normals] - self.offsets[:, None]
        second = (excess / np.where(size > 0, size, 1.0)[:, None]).T
        table[:, sorted({code for pair in self.pairs for code in pair})] = np.inf
        for column, (low, high) in zip(second.T, self.pairs, strict=True):
            table[:, high] = np.minimum(table[:, high], column)
            table[:, low] = np.minimum(table[:, low], -column)
        # Where none wins all its duels the most frequent class is predicted.
        table[rows, predicted] = np.maximum(table[rows, predicted], 0.0)
        return table


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
        """Number of support vectors of all machines."""
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
        found = np.zeros(len(points), dtype=np.intp)
        pending, start = np.arange(len(points)), 0
        for layer in self.layers:
            is_leaf = np.array([leaf is not None for leaf in layer.leaves])
            cells = nearest_cells(points[pending], layer.centres, self.frame)
            done = is_leaf[cells]
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
        points = as_points(X, len(self.names))
        predicted = np.empty(len(points), dtype=np.intp)
        for leaf, rows in self._by_leaf(points):
            predicted[rows] = leaf.decide(points[rows])
        return predicted

    def scores(self, X: ArrayLike) -> FloatArray:
        """Give for each row and class how clearly its leaf decides for the class; see `Leaf.scores`.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The rows, in the user's units.

        Returns
        -------
        ndarray of shape (m, n_classes)
            The class that `decide` gives has the highest score.
        """
        points = as_points(X, len(self.names))
        table = np.empty((len(points), len(self.classes)))
        for leaf, rows in self._by_leaf(points):
            table[rows] = leaf.scores(points[rows], self.width, len(self.classes))
        return table

    def _by_leaf(self, points: FloatArray) -> Iterator[tuple[Leaf, IntArray]]:
        found = self.apply(points)
        order = np.argsort(found, kind="stable")
        bounds = np.searchsorted(found[order], np.arange(self.n_leaves + 1))
        for leaf, start, stop in zip(self.leaves, bounds[:-1], bounds[1:], strict=True):
            if start < stop:
                yield leaf, order[start:stop]

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
    """Where the training data lie: least value and width of each feature."""

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


def left_sides(A: FloatArray, points: FloatArray) -> FloatArray:
    """Evaluate a'x for pairs of a row and a point, from left to right: a sum that depends on no other row."""
    total: FloatArray = A[..., 0] * points[..., 0]
    for feature in range(1, points.shape[-1]):
        total = total + A[..., feature] * points[..., feature]
    return total


def nearest_cells(points: FloatArray, centres: FloatArray, frame: TrainingRange) -> IntArray:
    """Give for each point the nearest centre, the first of several."""
    cells = np.zeros(len(points), dtype=np.intp)
    if len(centres) == 1:
        return cells
    S = frame.scale(centres)
    # Half the squared distance, but for a term that all centres share.
    halves = (S**2).sum(axis=1) / 2
    reach = np.abs(centres).max(axis=0) + np.abs(frame.low)
    step = max(1, _TABLE // max(centres.shape))
    for start in range(0, len(points), step):
        some = points[start : start + step]
        with np.errstate(over="ignore", invalid="ignore"):
            # How far a difference of two entries of the table may be off.
            magnitude = ((np.abs(some) + reach) / frame.width).sum(axis=1)
            doubt = 16 * (points.shape[1] + 4) * np.finfo(np.float64).eps * magnitude
            Z = frame.scale(some)
            table = halves - Z @ S.T
            near = table <= (table.min(axis=1) + doubt)[:, None]
            cells[start : start + step] = near.argmax(axis=1)
            # Sums from left to right decide what rounding leaves open, and what is too far away for numbers.
            unsure = np.flatnonzero(np.count_nonzero(near, axis=1) != 1)
            squared = np.zeros((len(unsure), len(centres)))
            for z, s in zip(Z[unsure].T, S.T, strict=True):
                squared += (z[:, None] - s) ** 2
            is_open = near[unsure] | ~near[unsure].any(axis=1, keepdims=True)
            cells[start + unsure] = np.where(is_open, squared, np.inf).argmin(axis=1)
    return cells


# So many features tell where a centre is, and so many terms are shown of an inequality.
_SHOWN_PLACES, _SHOWN_TERMS = 3, 6
_KINDS: dict[Kind, str] = {
    "pure": "of one class",
    "svm": "with a machine",
    "residual": "of what was left",
}


def draw_tree(tree: SVMTree, names: Sequence[str]) -> str:
    """Draw a tree, one line a leaf."""
    if len(names) != len(tree.names):
        raise InvalidValueError(f"{len(names)} names for {len(tree.names)} features")
    labels = [plain(label) for label in tree.classes]

    def sizes(counts: Sequence[int]) -> str:
        return ", ".join(f"{n} of {label}" for label, n in zip(labels, counts, strict=True) if n)

    kinds = [leaf.kind for leaf in tree.leaves]
    listed = ", ".join(f"{kinds.count(k)} {words}" for k, words in _KINDS.items() if k in kinds)
    lines = [
        f"SVM tree: {counted(len(tree.layers), 'layer')}, {counted(tree.n_leaves, 'leaf', 'leaves')} ({listed}), "
        f"{counted(sum(leaf.size for leaf in tree.leaves), 'training point')}, "
        f"{counted(tree.n_support_vectors, 'support vector')}"
    ]
    number = 0
    for t, layer in enumerate(tree.layers, start=1):
        how = f"nearest of {len(layer.leaves)} centres" if len(layer.leaves) > 1 else "all of them"
        lines.append(f"layer {t}, {counted(layer.size, 'point')}, {how}:")
        # The features in which centres differ most say where one is.
        spread = np.ptp(layer.centres, axis=0) / tree.width
        most = np.argsort(-spread, kind="stable")[:_SHOWN_PLACES]
        shown = sorted(int(j) for j in most if spread[j] > 0)
        for centre, leaf in zip(layer.centres, layer.leaves, strict=True):
            if leaf is not None:
                place = ", ".join(f"{names[j]} = {centre[j]:.4g}" for j in shown)
                where = f" near {place}" if len(layer.leaves) > 1 else ""
                says = _say(leaf, labels, names)
                lines.append(f"  leaf {number}{where}: {sizes(leaf.counts)} => {says}")
                number += 1
        others = [c for c, leaf in zip(layer.counts, layer.leaves, strict=True) if leaf is None]
        if others:
            together = sizes([sum(column) for column in zip(*others, strict=True)])
            lines.append(f"  {counted(len(others), 'other cell')}: {together} => next layer")
    return "\n".join(lines)


def _say(leaf: Leaf, labels: Sequence[str], names: Sequence[str]) -> str:
    """Say what a leaf predicts."""
    label = labels[leaf.label]
    if not leaf.pairs:
        return label if leaf.kind == "pure" else f"{label} (most frequent)"
    duels = []
    for (first, second), normal, offset in zip(leaf.pairs, leaf.normals, leaf.offsets, strict=True):
        if not normal.any():
            duels.append(labels[second if offset < 0 else first])
            continue
        used = [int(j) for j in np.argsort(-np.abs(normal), kind="stable") if normal[j]]
        terms = ""
        for j in sorted(used[:_SHOWN_TERMS]):
            size = "" if abs(normal[j]) == 1 else f"{abs(normal[j]):.4g}*"
            terms += f" {'-' if normal[j] < 0 else '+'} {size}{names[j]}"
        more = f" + ... ({len(used) - _SHOWN_TERMS} more)" if len(used) > _SHOWN_TERMS else ""
        sums = terms.removeprefix(" + ").strip()
        duels.append(f"{labels[second]} if {sums}{more} > {offset:.4g}, else {labels[first]}")
    return "; ".join(duels) + (f"; {label} if none wins all" if len(duels) > 1 else "")
