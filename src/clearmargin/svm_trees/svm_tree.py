"""The tree of support vector machines as a value: layers of cells, some of which are leaves.

A layer is a set of centres; a point belongs to the nearest one (see `cells.py` for what that means to the last bit).
Where that cell is a leaf, the leaf decides; otherwise the point goes on to the next layer. All cells of the last
layer are leaves. Centres, planes and widths are in the user's units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray, IntArray, Value, as_points, float_array
from clearmargin.svm_trees.cells import Frame, left_sides, nearest_cells

__all__ = ["Layer", "Leaf", "SVMTree"]

Kind = Literal["pure", "svm", "residual"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Leaf(Value):
    """A cell that decides: one class, or a linear support vector machine.

    Parameters
    ----------
    kind : {"pure", "svm", "residual"}
        Points of one class; a machine that is good enough; whatever could not be cut any further.
    label : int
        The class (its position among the classes) where no machine has a winner: the most frequent one.
    counts : sequence of int
        Number of training points of each class.
    pairs : iterable of pairs of int, optional
        The classes between which machines decide; none for a leaf that always says `label`.
    normals, offsets : array-like of shape (p, n) and (p,), optional
        For each pair: the second class wins where normal'x > offset, the first elsewhere.
    n_support : int, default 0
        Number of support vectors.

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

    def decide(self, points: FloatArray) -> IntArray:
        """Give the class (its position) of each point: the one that wins all its duels, else `label`."""
        said = np.full(len(points), self.label, dtype=np.intp)
        if not self.pairs:
            return said
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
            said[np.logical_and.reduce(wins)] = rival
        return said


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
    """A decision list of cells with linear support vector machines in some of them.

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
    def frame(self) -> Frame:
        """How the training data were scaled."""
        return Frame(self.low, self.width)

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
        """Number of support vectors of all leaves; of a leaf of one class there are none."""
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
        said: IntArray = np.array([leaf.label for leaf in leaves], dtype=np.intp)[found]
        order = np.argsort(found, kind="stable")
        bounds = np.searchsorted(found[order], np.arange(len(leaves) + 1))
        for number, leaf in enumerate(leaves):
            rows = order[bounds[number] : bounds[number + 1]]
            if leaf.pairs and len(rows):
                said[rows] = leaf.decide(points[rows])
        return said

    def to_text(self, names: Sequence[str] | None = None) -> str:
        """Draw the tree: layers, cells, sizes for each class, and what leaves say.

        Parameters
        ----------
        names : sequence of str, optional
            Other names for the features.

        Returns
        -------
        str
            One line a leaf. Numbers are rounded to four digits; the tree itself is exact.
        """
        from clearmargin.svm_trees.drawing import draw_tree

        return draw_tree(self, self.names if names is None else names)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return (
            f"<SVMTree of {len(self.layers)} layers with {self.n_leaves} leaves over "
            f"{len(self.names)} features, classes {self.classes}>"
        )
