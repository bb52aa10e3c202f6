"""Shape boxes against points of other classes: cut them, merge them, shorten them.

A box {x : lower <= x <= upper} over n features is also {x : u <= limit in every direction}, where the directions of a
point x are u = (x, -x) and the limits of a box are (upper, -lower). In that form every bound is an upper one, so that
cutting, dropping and moving bounds is written once and not twice. Negation is exact, so nothing is lost.

**Cutting** (`tune`), until no point of another class is inside: the tuning phase of support-vector rules.
Source: Fu, Ong, Keerthi, Hung and Goh, IJCNN 2004 (DOI 10.1109/IJCNN.2004.1379916), for the purpose; the procedure is
as follows. While a box holds a point p of another class, one of its bounds is moved to between p and the points of its
own class (or the anchor) that lie further in. In each of the 2n directions and for each foreign point there is one
such cut; all of them are counted at once. Of F foreign points and N points of the class in the box a
cut removes f and loses l, and the cut is taken that is best in f / F - l / N: few cuts and short rules; slivers that
hold by chance are given up.

Ties go to more foreign points removed, then to what leaves the box longer. Each cut removes a foreign point, so the
phase ends. In floating point a cut keeps the inner and excludes the outer number even when they are neighbours. Later
cuts may make earlier ones needless: at the end every bound is let out again as far as the foreign points allow
that it alone excludes.

A cut that helps exists unless a foreign point coincides with what has to stay. Such boxes cannot be tuned and are
dropped. A point of the class that coincides with a foreign one cannot stay in any tuned box, so it
does not count as a loss.

**Merging** (`merge_boxes`): two boxes of a class are replaced by their hull while the hull holds no foreign point that
neither of the two held. A point is in the hull when in each direction it exceeds not both limits. With one word of bits
for 64 foreign points, a pair costs 2n words a piece. The pair whose hull grows least is merged first: large hulls taken
early block others.

**Shortening** (`shorten`): keep only the bounds that foreign points make necessary, and move those outwards. A foreign
point outside a box has to violate at least one bound that is kept: a set cover over the 2n bounds. It is solved
greedily, the bound that excludes most points not yet excluded first. Among equals a bound on a feature that has one
already is taken, so that rules speak of few features, and then the one with the widest gap to the foreign points behind
it, measured in units of the range of the feature. Then bounds that turn out needless are dropped (the last taken is
looked at first), the others move half-way to the nearest foreign point that they alone exclude.

The new box contains the old one and excludes the same foreign points. Foreign points inside the old box stay inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules import Box
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Words, as_points, pack_bits


def limits_of(boxes: Box) -> FloatArray:
    """Write closed boxes as upper bounds of x and of -x, an array of shape (r, 2n)."""
    return np.hstack([boxes.upper, -boxes.lower])


def from_limits(limits: FloatArray) -> Box:
    """Undo `limits_of`."""
    n = limits.shape[1] // 2
    return Box(-limits[:, n:], limits[:, :n])


def directions(points: FloatArray) -> FloatArray:
    """Write points along 2n directions: x, then -x."""
    columns = np.ascontiguousarray(points.T)
    return np.vstack([columns, -columns])


def halfway(inner: float, outer: float) -> float:
    """Give a bound half-way from one number to a larger one that keeps the first and excludes the second."""
    middle = inner / 2 + outer / 2  # the sum of two large numbers would overflow
    return middle if inner <= middle < outer else inner


def as_finite_points(points: ArrayLike, n_features: int) -> FloatArray:
    """Read points that must all be known and finite."""
    P = as_points(points, n_features)
    bad = ~np.isfinite(P)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"points must be finite, but row {row + 1}, column 'x{column}' is {P[row, column]}; "
            "drop or impute such rows"
        )
    return P


# Two counts share a 64-bit number: foreign points above, points of the class below.
_SHIFT = 32
_SAME_CLASS = (1 << _SHIFT) - 1


def tune(
    boxes: Box,
    anchors: ArrayLike | None,
    points: ArrayLike,
    point_codes: IntArray,
    class_codes: IntArray,
) -> tuple[Box, BoolArray]:
    """Cut boxes until none holds a point of another class."""
    P = as_finite_points(points, boxes.n_features)
    fixed = None if anchors is None else directions(np.asarray(anchors, dtype=np.float64)).T
    inside = boxes.contains(P)
    limits = limits_of(boxes)
    kept = np.ones(len(boxes), dtype=np.bool_)
    U, is_contradicted = directions(P), contradicted(P, point_codes)
    for code in np.unique(class_codes):
        foreign = point_codes != code
        to_cut = np.flatnonzero((class_codes == code) & (inside & foreign).any(axis=1))
        if not len(to_cut):
            continue
        view = _ClassView.of(U, foreign, ~foreign & ~is_contradicted)
        for b in to_cut:
            cut = view.cut(limits[b], None if fixed is None else fixed[b], inside[b])
            kept[b] = cut is not None
            if cut is not None:
                limits[b] = cut
    return from_limits(limits[kept]), kept


def contradicted(P: FloatArray, codes: IntArray) -> BoolArray:
    """Tell which points coincide with a point of another class."""
    if not len(P):
        return np.zeros(0, dtype=np.bool_)
    rows = np.ascontiguousarray(P + 0.0)  # -0.0 and 0.0 are one number but not one row of bytes
    _, group = np.unique(
        rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel(), return_inverse=True
    )
    first = np.empty(group.max() + 1, dtype=np.int64)
    first[group] = codes  # the code of some point of the group
    mixed = np.zeros(len(first), dtype=np.bool_)
    mixed[group[first[group] != codes]] = True
    return np.asarray(mixed[group])


# Of so many points one is few: sorting them takes less than going through all.
_FEW = 8


@dataclass(frozen=True, slots=True)
class _ClassView:
    """The points as boxes of one class see them: of the class, foreign, and sorted along each direction."""

    U: FloatArray
    order: IntArray
    foreign: BoolArray
    same_class: BoolArray

    @classmethod
    def of(cls, U: FloatArray, foreign: BoolArray, same_class: BoolArray) -> _ClassView:
        # Foreign points go first among equals: a cut at one loses the points of the class at the same coordinate.
        index = np.concatenate([np.flatnonzero(foreign), np.flatnonzero(same_class)])
        order = index[np.argsort(U[:, index], axis=1, kind="stable")]
        return cls(U, order, foreign, same_class)

    def cut(
        self, limits: FloatArray, anchor: FloatArray | None, inside: BoolArray
    ) -> FloatArray | None:
        """Return the limits of a box after cutting, None when that is impossible."""
        alive = inside & (self.same_class | self.foreign)
        if anchor is None:
            if not (alive & self.same_class).any():
                return None
        elif (self.U[:, inside & self.foreign] == anchor[:, None]).all(axis=0).any():
            return None
        new = limits.copy()
        order = self._order_of(alive)
        spread = self._spread(limits, alive)
        # Cuts go beyond the anchor: in each direction, as many points as these are not further out than it.
        first = None if anchor is None else self._up_to(anchor, alive)
        while self.foreign[order[0]].any():
            d, position, value = self._best_cut(order, first, spread)
            same_class = order[d, :position][self.same_class[order[d, :position]]]
            # Sorted, so the last point of the class before the cut is the nearest one.
            inner = self.U[d, same_class[-1]] if len(same_class) else -np.inf
            new[d] = halfway(float(max(inner, -np.inf if anchor is None else anchor[d])), value)
            gone = order[d, position:]
            alive[gone] = False
            if first is not None and anchor is not None:
                first -= self._up_to(anchor, gone)
            order = _among(alive, order)
        return self._let_out(limits, new, anchor, inside)

    def _order_of(self, alive: BoolArray) -> IntArray:
        """Return the order of some points along each direction."""
        if _FEW * np.count_nonzero(alive) > len(alive):
            return _among(alive, self.order)
        # Few points are sorted sooner than found among all; as in `of`, foreign ones first among equals.
        index = np.concatenate(
            [np.flatnonzero(alive & self.foreign), np.flatnonzero(alive & self.same_class)]
        )
        return np.asarray(index[np.argsort(self.U[:, index], axis=1, kind="stable")])

    def _up_to(self, anchor: FloatArray, points: BoolArray | IntArray) -> IntArray:
        return np.asarray((self.U[:, points] <= anchor[:, None]).sum(axis=1, dtype=np.intp))

    def _spread(self, limits: FloatArray, alive: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Give start and length of a box along each direction, no further out than the points in it."""
        far = np.minimum(limits, self.U[:, alive].max(axis=1))
        near = -np.roll(far, len(far) // 2)
        length = far / 2 - near / 2  # halves cannot overflow
        return near, np.where(length > 0, length, 1.0)

    def _best_cut(
        self,
        order: IntArray,
        first: IntArray | None,
        spread: tuple[FloatArray, FloatArray],
    ) -> tuple[int, int, float]:
        """Return the direction, the place in its order and the coordinate at which to cut."""
        foreign = self.foreign[order]
        beyond = _from_the_end(np.where(foreign, 1 << _SHIFT, 1))
        n_foreign, n_same_class = int(beyond[0, 0]) >> _SHIFT, int(beyond[0, 0]) & _SAME_CLASS
        if first is None:  # a point of the class has to stay
            usable = foreign & (beyond & _SAME_CLASS < n_same_class)
        else:
            usable = foreign & (np.arange(order.shape[1]) >= first[:, None])
        # Of foreign points with none of the class between them the innermost removes most and loses the same.
        usable[:, 1:] &= ~usable[:, :-1].copy()
        d, position = np.nonzero(usable)
        counts = beyond[d, position]
        removed, lost = counts >> _SHIFT, counts & _SAME_CLASS
        # n_own * n_foreign times the difference of shares: whole numbers tie exactly.
        worth = removed * max(n_same_class, 1) - lost * n_foreign
        best = np.flatnonzero(worth == worth.max())
        best = best[removed[best] == removed[best].max()]
        value = self.U[d[best], order[d[best], position[best]]]
        near, length = spread
        left = (value / 2 - near[d[best]] / 2) / length[d[best]]
        k = int(np.argmax(left))
        return int(d[best[k]]), int(position[best[k]]), float(value[k])

    def _let_out(
        self, old: FloatArray, new: FloatArray, anchor: FloatArray | None, inside: BoolArray
    ) -> FloatArray:
        """Move each cut bound out as far as the foreign points allow that no other bound excludes."""
        cuts = np.flatnonzero(new < old)
        foreign, same_class = (
            self.U[cuts][:, inside & self.foreign],
            self.U[cuts][:, inside & self.same_class],
        )
        out_foreign, out_same_class = foreign > new[cuts, None], same_class > new[cuts, None]
        # First the bounds that would bring back most points of the class.
        alone = (out_same_class & (out_same_class.sum(axis=0) == 1)).sum(axis=1)
        for k in np.argsort(-alone, kind="stable"):
            d = cuts[k]
            only = foreign[k, out_foreign[k] & (out_foreign.sum(axis=0) == 1)]
            if len(only):
                value = only.min()
                inner = same_class[
                    k,
                    (np.delete(out_same_class, k, axis=0).sum(axis=0) == 0)
                    & (same_class[k] < value),
                ]
                nearest = inner.max(initial=-np.inf if anchor is None else anchor[d])
                new[d] = max(new[d], halfway(float(nearest), float(value)))
            else:
                new[d] = old[d]
            out_foreign[k], out_same_class[k] = foreign[k] > new[d], same_class[k] > new[d]
        return new


def _among(alive: BoolArray, order: IntArray) -> IntArray:
    """Return the order of the points that are left; in every direction these are equally many."""
    return order[alive[order]].reshape(len(order), -1)


def _from_the_end(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum each row from each place to its end."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]


def merge_boxes(
    boxes: Box, class_codes: IntArray, P: FloatArray, point_codes: IntArray
) -> tuple[Box, IntArray]:
    """Replace boxes of a class by their hull as long as it brings in no foreign point."""
    limits, U = limits_of(boxes), directions(P)
    far = U.max(axis=1) if len(P) else np.ones(len(U))
    kept = np.ones(len(boxes), dtype=np.bool_)
    for code in np.unique(class_codes):
        index = np.flatnonzero(class_codes == code)
        merger = _Merger.of(limits[index], U[:, point_codes != code], far)
        alive = merger.run()
        limits[index], kept[index] = merger.limits, alive
    return from_limits(limits[kept]), class_codes[kept]


# Hulls that hold no foreign point any more are left out after so many directions.
_LOOKS = 4


@dataclass(slots=True)
class _Merger:
    """Boxes of one class while they are merged."""

    limits: FloatArray
    below: Words
    inside: Words
    reach: FloatArray
    growth: FloatArray

    @classmethod
    def of(cls, limits: FloatArray, foreign: FloatArray, far: FloatArray) -> _Merger:
        k = len(limits)
        below = np.stack(
            [pack_bits(u <= limit[:, None]) for u, limit in zip(foreign, limits.T, strict=True)]
        )
        inside = np.bitwise_and.reduce(below, axis=0)
        # Bounds in units of the range of the points, and no further out than it: all features weigh the same.
        near = -np.roll(far, len(far) // 2)
        width = np.where(far > near, far / 2 - near / 2, 1.0)
        reach = np.clip((np.clip(limits, near, far) / 2 - near / 2) / width, 0.0, 1.0)
        return cls(limits.copy(), below, inside, reach, np.full((k, k), math.inf))

    def run(self) -> BoolArray:
        """Merge until no pair is left, and tell which boxes are."""
        alive = np.ones(len(self.limits), dtype=np.bool_)
        for i in range(len(alive)):
            self._compare(i, np.arange(i + 1, len(alive)))
        while True:
            # The table is symmetric, so the first of the least entries has i < j.
            i, j = divmod(int(np.argmin(self.growth)), len(alive))
            if self.growth[i, j] == math.inf:
                return alive
            for table in (self.limits, self.reach):
                np.maximum(table[i], table[j], out=table[i])
            self.below[:, i] |= self.below[:, j]
            self.inside[i] = np.bitwise_and.reduce(self.below[:, i], axis=0)
            alive[j] = False
            self.growth[j] = self.growth[:, j] = math.inf
            self._compare(i, np.flatnonzero(alive & (np.arange(len(alive)) != i)))

    def _compare(self, i: int, others: IntArray) -> None:
        """Find how much the hulls of one box with others grow."""
        if not len(others):
            return
        allowed = self._clean(i, others)
        hull = np.maximum(self.reach[i], self.reach[others])
        grown = 2 * hull.sum(axis=1) - self.reach[i].sum() - self.reach[others].sum(axis=1)
        self.growth[others, i] = self.growth[i, others] = np.where(allowed, grown, math.inf)

    def _clean(self, i: int, others: IntArray) -> BoolArray:
        """Check whether each hull holds no foreign point that neither of its two boxes held."""
        clean = np.ones(len(others), dtype=np.bool_)
        left, inside = np.arange(len(others)), ~(self.inside[i] | self.inside[others])
        # The directions in which the box excludes most come first: after a few of them most hulls are seen to be clean.
        order = np.argsort(np.bitwise_count(self.below[:, i]).sum(axis=1), kind="stable")
        for looked_at, d in enumerate(order, start=1):
            inside &= self.below[d, i] | self.below[d, others[left]]
            if looked_at % _LOOKS == 0:
                is_open = inside.any(axis=1)
                left, inside = left[is_open], inside[is_open]
        clean[left[inside.any(axis=1)]] = False
        return clean


def shorten(
    boxes: Box,
    P: FloatArray,
    point_codes: IntArray,
    class_codes: IntArray,
    lower: FloatArray | None = None,
    upper: FloatArray | None = None,
) -> Box:
    """Drop the bounds that are not needed against foreign points, and let the others out."""
    low, high = P.min(axis=0) if lower is None else lower, P.max(axis=0) if upper is None else upper
    half = high / 2 - low / 2  # the difference itself may overflow
    unit = np.tile(np.where((half > 0) & np.isfinite(half), half, 1.0), 2)
    U, limits = directions(P), limits_of(boxes)
    for code in np.unique(class_codes):
        foreign = U[:, point_codes != code]
        for b in np.flatnonzero(class_codes == code):
            limits[b] = _shortened(limits[b], foreign, unit)
    return from_limits(limits)


def _shortened(limits: FloatArray, foreign: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the limits of one box after shortening; `foreign` has shape (2n, f)."""
    out = foreign > limits[:, None]
    to_exclude = out.any(axis=0)
    out, behind = out[:, to_exclude], foreign[:, to_exclude]
    short = np.full(len(limits), math.inf)
    kept = _without_needless(_greedy(out, _distances_behind(limits, behind, out, unit)), out)
    if not kept:
        return short
    out, behind = out[kept], behind[kept]
    for k, d in enumerate(kept):
        # Never empty: no kept bound is needless, and others that move out only leave more to this one.
        only = behind[k, out[k] & (out.sum(axis=0) == 1)]
        short[d] = halfway(float(limits[d]), float(only.min()))
        out[k] = behind[k] > short[d]
    return short


def _distances_behind(
    limits: FloatArray, behind: FloatArray, out: BoolArray, unit: FloatArray
) -> FloatArray:
    """Measure from each bound to the nearest foreign point behind it."""
    nearest = np.where(out, behind, math.inf).min(axis=1, initial=math.inf)
    distances = np.zeros(len(limits))
    used = np.isfinite(nearest)
    distances[used] = (nearest[used] / 2 - limits[used] / 2) / unit[used]
    return distances


def _greedy(out: BoolArray, distances: FloatArray) -> list[int]:
    """Choose bounds that together exclude all columns of `out`, in the order in which they are taken."""
    words: Words = pack_bits(out)
    left = np.bitwise_or.reduce(words, axis=0)
    n = len(out) // 2
    taken: list[int] = []
    has_bound = np.zeros(2 * n, dtype=np.bool_)
    while left.any():
        gain = np.bitwise_count(words & left).sum(axis=1)
        best = np.flatnonzero(gain == gain.max())
        same = best[has_bound[best]]
        best = same if len(same) else best
        d = int(best[np.argmax(distances[best])])
        taken.append(d)
        has_bound[[d % n, d % n + n]] = True
        left &= ~words[d]
    return taken


def _without_needless(taken: list[int], out: BoolArray) -> list[int]:
    """Drop bounds, the last first, whose points are all excluded by others that are kept."""
    times = out[taken].sum(axis=0)
    kept = list(taken)
    for d in reversed(taken):
        if (times[out[d]] > 1).all():
            times -= out[d]
            kept.remove(d)
    return kept
