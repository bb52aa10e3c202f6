"""Rules from prototypes of the classes and the support vectors around them (SVM+Prototypes).

A prototype and the support vectors around it span two figures: a box, and an ellipsoid whose axes end at the support
vectors that lie farthest out. A test tells whether a region has to be cut into smaller ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines.support_rows import RangeScale, usable_support
from clearmargin.kernel_rules.box_extractor import BoxExtractor
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, SupportVectors, choose_boxes
from clearmargin.rule_base.box_selection import tidy_boxes
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage
from clearmargin.rule_base.options import Choice, Option, WholeNumber
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, as_points, float_array

__all__ = [
    "Ellipsoid",
    "PrototypeRegion",
    "PrototypeRules",
    "axes_to_vectors",
    "need_partition",
    "span_region",
]


class PrototypeRules(BoxExtractor):
    """Rules of a support vector machine by prototypes (SVM+Prototypes).

    The points of each class are clustered by k-means, beginning with one cluster. The centre of a cluster is a
    prototype; the support vectors of the class nearest to it span an ellipsoid and a box. A region that reaches into
    another class is put back, and its points are clustered again with one more prototype; the others become rules.

    Parameters
    ----------
    estimator : classifier, optional
        A support vector machine with any kernel function, bare or in a pipeline; fitted, or trained here. None is
        an `SVC` on standardised columns.
    by : {"model", "labels"}, default "model"
        Whether rules follow what the model predicts or the labels.
    min_coverage : int or "auto", default "auto"
        Rules that cover fewer training points are dropped; with "auto" those whose share of their class cannot be told
        from that among all rows, by an exact test at 5 % (5 rows of a class with half of all rows, 29 of one with nine
        in ten). A class all of whose rules lack that keeps one.
    max_rules : int or None, default 15
        Maximum number of rules in all classes together: one page. Those that cover most rows that no other one covers
        come first, and each class that has a rule gets one. None gives all; `budget_` says what they would add.
    fallback : {"nearest", "estimator", "abstain"} or class, default "nearest"
        Who decides where no rule covers a case.
    shape : {"interval", "ellipsoid"}, default "interval"
        The figure that is tested and that predicts. `rules_` are boxes in either case.
    k_max : int, default 20
        Most prototypes of a class at a time.
    max_iter : int, default 20
        Most rounds of a class; what then still reaches into other classes becomes a rule as it is.
    shorten : bool, default True
        Whether bounds that exclude no training point of another class are dropped, and boxes that then add nothing.
    random_state : int, RandomState or None, default 0
        Where k-means begins; with None elsewhere in each run.

    Attributes
    ----------
    rules_ : RuleSet
        The boxes as rules.
    budget_ : RuleBudget
        What the rules cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
    ellipsoids_ : tuple of Ellipsoid
        The ellipsoids over the numbers that the table is read as, those with the highest confidence first.
    n_iter_ : int
        The number of rounds of the class that took most.
    estimator_, classes_, n_features_in_, feature_names_in_, space_
        As usual.

    References
    ----------
    Nunez, Angulo and Catala, ESANN 2002; Neural Processing Letters 24:1-18, 2006.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> from clearmargin.kernel_rules.baselines.prototypes import PrototypeRules
    >>> X, y = load_wbc(return_X_y=True)
    >>> rules = PrototypeRules(random_state=0).fit(X, y)
    >>> bool(rules.score(X, y) > 0.9), rules.ellipsoids_[0].label
    (True, 'benign')
    """

    _options: ClassVar[Mapping[str, Option]] = {
        **BoxExtractor._options,
        "shape": Choice("interval", "ellipsoid"),
        "k_max": WholeNumber(1),
        "max_iter": WholeNumber(1),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        by: str = "model",
        min_coverage: MinCoverage = "auto",
        max_rules: int | None = DEFAULT_MAX_RULES,
        fallback: Any = "nearest",
        shape: str = "interval",
        k_max: int = 20,
        max_iter: int = 20,
        shorten: bool = True,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.by = by
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.fallback = fallback
        self.shape = shape
        self.k_max = k_max
        self.max_iter = max_iter
        self.shorten = shorten
        self.random_state = random_state

    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        support = usable_support(task, X, trained_here=self._trained_here, by=self.by)
        self.n_iter_ = 0
        regions: list[PrototypeRegion] = []
        for code in np.unique(task.codes):
            regions += self._class_regions(task, support, int(code))
        self.ellipsoids_, self._ellipsoid_codes = self._choose_ellipsoids(task, regions)
        codes = np.array([region.code for region in regions], dtype=np.intp)
        boxes = Boxes.from_bounds([r.lower for r in regions], [r.upper for r in regions])
        return tidy_boxes(task, boxes, codes, shorten=self.shorten)

    def _class_regions(
        self, task: ExtractionTask, support: SupportVectors, code: int
    ) -> list[PrototypeRegion]:
        scale = RangeScale.of(task.points)
        data = task.points[task.codes == code]
        vectors = support.points[support.codes == code]
        regions: list[PrototypeRegion] = []
        k, rounds = 1, 0
        while len(data):
            rounds += 1
            centres, homes = _k_means(scale.shares(data), k, task.random)
            near = _nearest(scale.shares(vectors), centres)
            spanned = []
            for c, centre in enumerate(centres):
                # A prototype without support vectors is that of points in the midst of the class.
                around = vectors[near == c] if (near == c).any() else data[homes == c]
                spanned.append(span_region(task, centre, around, scale, code))
            cut = need_partition(task, spanned, support, self.shape)
            if rounds == self.max_iter:
                cut[:] = False
            regions += [region for region, again in zip(spanned, cut, strict=True) if not again]
            data = data[cut[homes]]
            k = min(k + 1, self.k_max)
        self.n_iter_ = max(self.n_iter_, rounds)
        return regions

    def _choose_ellipsoids(
        self, task: ExtractionTask, regions: list[PrototypeRegion]
    ) -> tuple[tuple[Ellipsoid, ...], IntArray]:
        """Return the ellipsoids with enough points, those with the highest confidence first, as rules are ordered."""
        inside = np.array([region.ellipsoid.contains(task.points) for region in regions])
        codes = np.array([region.code for region in regions], dtype=np.intp)
        covered = inside.sum(axis=1)
        right = (inside & (task.codes == codes[:, None])).sum(axis=1)
        sure = (right + 1.0) / (covered + len(task.classes))
        same = np.zeros(len(codes), dtype=np.intp)  # an ellipsoid has no conditions to count
        _, stay = choose_boxes(task, inside, codes, same, self.min_coverage, self.max_rules)
        if self.shape == "ellipsoid" and not stay.any():
            raise DataError(
                f"no ellipsoid covers {self.min_coverage} training points (the one with the largest coverage covers "
                f"{covered.max()}); lower min_coverage"
            )
        order = [r for r in np.lexsort((-covered, -sure)) if stay[r]]
        return tuple(regions[r].ellipsoid for r in order), codes[order]

    def _check_explained_by_rules(self) -> None:
        if self.shape == "ellipsoid":
            raise InvalidValueError(
                "shape='ellipsoid' predicts by ellipsoids_, which no box of rules_ explains; kind='grown' explains "
                "what the model predicts, or take shape='interval'"
            )

    def _deciders(self, X: Any) -> tuple[IntArray, IntArray]:
        if self.shape == "interval":
            return super()._deciders(X)
        self.which(X)  # refuses what is no table of these columns
        points = self._encoding.encode(X)
        inside = np.stack([ellipsoid.contains(points) for ellipsoid in self.ellipsoids_])
        return np.where(inside.any(axis=0), inside.argmax(axis=0), -1), self._ellipsoid_codes

    def _closest(self, points: FloatArray) -> IntArray:
        if self.shape == "interval":
            return super()._closest(points)
        # How far the surface is, towards the centre and in shares of the ranges. In units of each surface itself,
        # wide ellipsoids would draw all points to them.
        unit = np.where(self._reach > 0, self._reach, np.inf)
        distances = [
            np.linalg.norm((points - ellipsoid.centre) / unit, axis=1)
            * (1.0 - 1.0 / np.maximum(ellipsoid.distance(points), 1.0))
            for ellipsoid in self.ellipsoids_
        ]
        return np.asarray(np.argmin(distances, axis=0), dtype=np.intp)


def _nearest(points: FloatArray, centres: FloatArray) -> IntArray:
    return np.asarray(cdist(points, centres).argmin(axis=1), dtype=np.intp)


def _k_means(
    points: FloatArray, k: int, random: np.random.RandomState
) -> tuple[FloatArray, IntArray]:
    """Find centres and the cluster of each point; never more clusters than distinct points."""
    k = min(k, len(np.unique(points, axis=0)))
    with warnings.catch_warnings():
        # Points that differ by rounding alone may end in the same place.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(k, n_init=3, random_state=random).fit(points)
    return means.cluster_centers_, means.labels_.astype(np.intp)


class PrototypeRegion(NamedTuple):
    """What a prototype and the support vectors nearest to it span.

    Parameters
    ----------
    ellipsoid : Ellipsoid
        The equation rule.
    lower, upper : ndarray of shape (n,)
        The interval rule: the box around the prototype and the support vectors.
    code : int
        Position of the class.

    Examples
    --------
    >>> circle = Ellipsoid([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], "a")
    >>> region = PrototypeRegion(circle, np.array([-1.0, 0.0]), np.array([1.0, 1.0]), 0)
    >>> corner = np.array([[1.0, 1.0]])
    >>> region.contains(corner, "interval"), region.contains(corner, "ellipsoid")
    (array([ True]), array([False]))
    """

    ellipsoid: Ellipsoid
    lower: FloatArray
    upper: FloatArray
    code: int

    def contains(self, points: FloatArray, shape: str) -> BoolArray:
        """Tell which points are in the figure."""
        if shape == "ellipsoid":
            return self.ellipsoid.contains(points)
        return np.asarray(((points >= self.lower) & (points <= self.upper)).all(axis=1))

    def vertices(self, shape: str) -> FloatArray:
        """Give the 2n points where axes through the prototype leave the figure."""
        if shape == "ellipsoid":
            return self.ellipsoid.vertices
        centre = self.ellipsoid.centre
        steps = (np.diag(self.lower - centre), np.diag(self.upper - centre))
        return np.vstack([centre + step for step in steps])


def span_region(
    task: ExtractionTask, centre: FloatArray, around: FloatArray, scale: RangeScale, code: int
) -> PrototypeRegion:
    """Span the figures of a prototype.

    Parameters
    ----------
    task : ExtractionTask
        The classes.
    centre : ndarray of shape (n,)
        The prototype, in shares of the ranges.
    around : ndarray of shape (s, n)
        Vectors around it, in the units of the table.
    scale : RangeScale
        The ranges.
    code : int
        Position of the class.

    Returns
    -------
    PrototypeRegion
        In the units of the table.
    """
    axes = axes_to_vectors(centre, scale.shares(around)) * scale.reach
    prototype = scale.lower + centre * scale.reach
    every = np.vstack([prototype, around])
    ellipsoid = Ellipsoid(prototype, axes, task.classes[code])
    return PrototypeRegion(ellipsoid, every.min(axis=0), every.max(axis=0), code)


def need_partition(
    task: ExtractionTask, regions: Sequence[PrototypeRegion], support: SupportVectors, shape: str
) -> BoolArray:
    """Test which regions reach into another class and should be cut.

    A region does if the model gives the prototype another class, or a vertex, or if a support vector of another
    class lies inside. A box has 2^n vertices, far from all data; its faces are looked at where the axes through the
    prototype pierce them.

    Parameters
    ----------
    task : ExtractionTask
        The model to ask.
    regions : sequence of PrototypeRegion
        The regions, at least one.
    support : SupportVectors
        All support vectors.
    shape : {"interval", "ellipsoid"}
        The figure that counts.

    Returns
    -------
    ndarray of bool of shape (r,)
        Which should be cut.
    """
    codes = np.array([region.code for region in regions])[:, None]
    asked = np.stack([[r.ellipsoid.centre, *r.vertices(shape)] for r in regions])
    predicted = task.ask(asked.reshape(-1, asked.shape[2])).reshape(len(regions), -1)
    inside = np.stack([region.contains(support.points, shape) for region in regions])
    return np.asarray(
        (predicted != codes).any(axis=1) | (inside & (support.codes != codes)).any(axis=1)
    )


# Axes shorter than this share of the longest are rounding.
_DUST = 1e-9
# Semi-axis of an ellipsoid around a single point, in shares of the ranges of the columns.
_THINNEST = 1e-6
# A point on the surface is inside, whatever rounding says.
_SURFACE = 1e-9


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Ellipsoid(Value):
    """An ellipsoid and the class that is predicted in it: an equation rule.

    Parameters
    ----------
    centre : array-like of shape (n,)
        The prototype.
    axes : array-like of shape (n, n)
        One semi-axis a row: the ellipsoid is the set of points centre + t_1 axes_1 + ... + t_n axes_n with |t| <= 1.
    label : str, int, float or bool
        The class.

    Examples
    --------
    >>> round_one = Ellipsoid([1.0, 0.0], [[2.0, 0.0], [0.0, 1.0]], "yes")
    >>> round_one.contains([[3.0, 0.0], [3.0, 0.5]])
    array([ True, False])
    >>> round_one
    Ellipsoid(centre=[1.0, 0.0], label='yes')
    """

    centre: FloatArray
    axes: FloatArray
    label: Label

    def __init__(self, centre: ArrayLike, axes: ArrayLike, label: Label):
        middle = float_array(centre, "centre of an ellipsoid")
        if middle.ndim != 1 or not len(middle):
            raise InvalidValueError(
                f"the centre of an ellipsoid is one point, not of shape {middle.shape}"
            )
        table = float_array(axes, "axes of an ellipsoid", shape=(len(middle), len(middle)))
        if not (np.isfinite(middle).all() and np.isfinite(table).all()):
            raise InvalidValueError("centre and axes of an ellipsoid must be finite")
        if np.linalg.matrix_rank(_directions(table)) < len(middle):
            raise InvalidValueError("the axes of an ellipsoid must be independent; one is flat")
        self._set(centre=middle, axes=table, label=label)

    def __repr__(self) -> str:
        return f"Ellipsoid(centre={self.centre.tolist()}, label={self.label!r})"

    def distance(self, points: ArrayLike) -> FloatArray:
        """Return how far points are from the centre, in units of the surface: 1 on it.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points.

        Returns
        -------
        ndarray of shape (m,)
            Distances, NaN for a point that is not known.
        """
        P = as_points(points, len(self.centre))
        return np.asarray(np.linalg.norm(np.linalg.solve(self.axes.T, (P - self.centre).T), axis=0))

    def contains(self, points: ArrayLike) -> BoolArray:
        """Tell for each point whether it is inside or on the surface.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points; one with a NaN is not inside.

        Returns
        -------
        ndarray of bool of shape (m,)
            Whether it is.
        """
        return self.distance(points) <= 1.0 + _SURFACE

    @property
    def vertices(self) -> FloatArray:
        """The 2n ends of the axes."""
        return np.vstack([self.centre + self.axes, self.centre - self.axes])


def _directions(axes: FloatArray) -> FloatArray:
    """Find axes of length 1: a thin ellipsoid is not a flat one."""
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    return np.asarray(axes / np.where(lengths > 0, lengths, 1.0))


def axes_to_vectors(centre: FloatArray, vectors: FloatArray) -> FloatArray:
    """Give orthogonal semi-axes that reach to the vectors farthest out.

    The first axis ends in the vector farthest from the centre. The next is what is orthogonal to the axes before of the
    vector for which that is longest, and so on: QR with column pivoting. Where vectors give no more axes, the
    missing ones have the length of the shortest found.

    Parameters
    ----------
    centre : ndarray of shape (n,)
        The centre.
    vectors : ndarray of shape (s, n)
        The vectors, in columns of comparable scale.

    Returns
    -------
    ndarray of shape (n, n)
        One semi-axis a row, the longest first.

    Examples
    --------
    >>> axes_to_vectors(np.zeros(2), np.array([[3.0, 0.0], [1.0, 2.0]])).round(6) + 0.0
    array([[3., 0.],
           [0., 2.]])
    """
    n = len(centre)
    columns = (vectors - centre).T if len(vectors) else np.zeros((n, 1))
    basis, triangle, _ = qr(columns, pivoting=True)
    signed = np.diag(triangle)
    found = np.abs(signed) > _DUST * max(np.abs(signed).max(), _THINNEST)
    lengths = np.full(n, np.abs(signed[found]).min(initial=np.inf) if found.any() else _THINNEST)
    lengths[: len(signed)][found] = signed[found]
    return np.asarray(basis.T * lengths[:, None])
