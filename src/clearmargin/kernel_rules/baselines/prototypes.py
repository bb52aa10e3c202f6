"""Rules from prototypes of the classes and the support vectors around them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from clearmargin.exceptions import DataError
from clearmargin.kernel_rules.baselines.ellipsoids import Ellipsoid
from clearmargin.kernel_rules.baselines.prototype_regions import Region, need_partition, span_region
from clearmargin.kernel_rules.baselines.support_rows import RangeScale, usable_support
from clearmargin.rule_base.base import KernelRules
from clearmargin.rule_base.box_selection import tidy_boxes
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes, SupportVectors
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.validation import check_choice, check_whole

__all__ = ["PrototypeRules"]


class PrototypeRules(KernelRules):
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
        Whether rules follow what the model says or the labels.
    min_coverage : int, default 1
        Regions that cover fewer training points are left out.
    max_rules : int, optional
        Most rules of each class.
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
    ellipsoids_ : tuple of Ellipsoid
        The ellipsoids over the numbers that the table is read as, the surest first.
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

    def __init__(
        self,
        estimator: Any = None,
        *,
        by: str = "model",
        min_coverage: int = 1,
        max_rules: int | None = None,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("shape", self.shape, ("interval", "ellipsoid"))
        check_whole("k_max", self.k_max, 1)
        check_whole("max_iter", self.max_iter, 1)

    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        support = usable_support(task, X, trained_here=self._trained_here, by=self.by)
        self.n_iter_ = 0
        regions: list[Region] = []
        for code in np.unique(task.codes):
            regions += self._class_regions(task, support, int(code))
        self.ellipsoids_, self._ellipsoid_codes = self._choose_ellipsoids(task, regions)
        codes = np.array([region.code for region in regions], dtype=np.intp)
        boxes = Boxes.from_bounds([r.lower for r in regions], [r.upper for r in regions])
        return tidy_boxes(task, boxes, codes, shorten=self.shorten)

    def _class_regions(
        self, task: ExtractionTask, support: SupportVectors, code: int
    ) -> list[Region]:
        scale = RangeScale.of(task.points)
        data = task.points[task.codes == code]
        own = support.points[support.codes == code]
        regions: list[Region] = []
        k, rounds = 1, 0
        while len(data):
            rounds += 1
            centres, homes = _k_means(scale.shares(data), k, task.random)
            near = _nearest(scale.shares(own), centres)
            spanned = []
            for c, centre in enumerate(centres):
                # A prototype without support vectors is that of points in the midst of the class.
                around = own[near == c] if (near == c).any() else data[homes == c]
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
        self, task: ExtractionTask, regions: list[Region]
    ) -> tuple[tuple[Ellipsoid, ...], IntArray]:
        """The ellipsoids with enough points, the surest first, as rules are ordered."""
        inside = np.array([region.ellipsoid.contains(task.points) for region in regions])
        codes = np.array([region.code for region in regions], dtype=np.intp)
        covered = inside.sum(axis=1)
        right = (inside & (task.codes == codes[:, None])).sum(axis=1)
        sure = (right + 1.0) / (covered + len(task.classes))
        stay = np.zeros(len(codes), dtype=np.bool_)
        for code in np.unique(codes):
            members = np.flatnonzero((codes == code) & (covered >= self.min_coverage))
            stay[members[np.argsort(-right[members], kind="stable")][: self.max_rules]] = True
        if self.shape == "ellipsoid" and not stay.any():
            raise DataError(
                f"no ellipsoid covers {self.min_coverage} training points (the fullest covers "
                f"{covered.max()}); lower min_coverage"
            )
        order = [r for r in np.lexsort((-covered, -sure)) if stay[r]]
        return tuple(regions[r].ellipsoid for r in order), codes[order]

    def _decide(self, X: Any) -> tuple[IntArray, IntArray]:
        if self.shape == "interval":
            return super()._decide(X)
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
        gaps = [
            np.linalg.norm((points - ellipsoid.centre) / unit, axis=1)
            * (1.0 - 1.0 / np.maximum(ellipsoid.distance(points), 1.0))
            for ellipsoid in self.ellipsoids_
        ]
        return np.asarray(np.argmin(gaps, axis=0), dtype=np.intp)


def _nearest(points: FloatArray, centres: FloatArray) -> IntArray:
    return np.asarray(cdist(points, centres).argmin(axis=1), dtype=np.intp)


def _k_means(
    points: FloatArray, k: int, random: np.random.RandomState
) -> tuple[FloatArray, IntArray]:
    """Centres and the cluster of each point; never more clusters than distinct points."""
    k = min(k, len(np.unique(points, axis=0)))
    with warnings.catch_warnings():
        # Points that differ by rounding alone may end in the same place.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(k, n_init=3, random_state=random).fit(points)
    return means.cluster_centers_, means.labels_.astype(np.intp)
