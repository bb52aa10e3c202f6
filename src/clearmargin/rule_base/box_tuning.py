"""The tuning phase of support-vector rules: cut boxes until no point of another class is inside.

Source: Fu, Ong, Keerthi, Hung and Goh, IJCNN 2004 (DOI 10.1109/IJCNN.2004.1379916), for the purpose; the procedure is
as follows. While a box holds a point p of another class, one of its bounds is moved to between p and the points of its
own class (or the anchor) that lie further in. In each of the 2n directions and for each foreign point there is one
such cut; all of them are counted at once. Of F foreign and N own points in the box a cut removes f and loses l, and
the cut is taken that is best in

* ``"balance"``: f / F - l / N. Few cuts and short rules; slivers that hold by chance are given up.
* ``"ratio"``: f / (l + 1), the greedy rule of weighted set cover. Most own points stay, behind many bounds.
* ``"fewest"``: -l, the literal reading: points are shaved off one by one. Longest rules.

Ties go to more foreign points removed, then to what leaves the box longer. Each cut removes a foreign point, so the
phase ends. In floating point a cut keeps the inner and excludes the outer number even when they are neighbours. Later
cuts may make earlier ones needless: at the end every bound is let out again as far as the foreign points allow
that it alone excludes.

A cut that helps exists unless a foreign point coincides with what has to stay. Such boxes cannot be tuned and are
dropped. An own point that coincides with a foreign one cannot stay in any tuned box, so it does not count as a loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.packed_boxes import (
    BoolArray,
    Codes,
    FloatArray,
    IntArray,
    PackedBoxes,
    as_codes,
    as_finite_points,
    directions,
    halfway,
)
from clearmargin.rules.value import float_array

__all__ = ["TuningCriterion", "tune"]

TuningCriterion = Literal["balance", "ratio", "fewest"]

# Two counts share a 64-bit number: foreign points above, own points below.
_SHIFT = 32
_OWN = (1 << _SHIFT) - 1


def tune(
    boxes: PackedBoxes,
    anchors: ArrayLike | None,
    points: ArrayLike,
    codes: ArrayLike,
    box_codes: ArrayLike,
    *,
    criterion: TuningCriterion = "balance",
) -> tuple[PackedBoxes, BoolArray]:
    """Cut boxes until none holds a point of another class.

    Parameters
    ----------
    boxes : PackedBoxes
        The boxes, r of them.
    anchors : array-like of shape (r, n) or None
        A point of each box that has to stay inside. Without, some point of the class of the box stays inside.
    points : array-like of shape (m, n)
        Finite points.
    codes : array-like of int of shape (m,)
        Their classes.
    box_codes : array-like of int of shape (r,)
        The class of each box.
    criterion : {"balance", "ratio", "fewest"}, default "balance"
        Which cut is taken: most foreign less own points, as shares of those in the box; most foreign points for each
        own point; or fewest own points.

    Returns
    -------
    tuned : PackedBoxes
        The boxes that could be tuned, each inside the box that it was.
    kept : ndarray of bool of shape (r,)
        Which boxes these are. The others hold a foreign point at the anchor, or (without anchors) foreign points and
        no own point apart from them.

    Examples
    --------
    >>> points, codes = [[0.0], [1.0], [2.0], [5.0]], [0, 0, 1, 0]
    >>> tuned, kept = tune(PackedBoxes([[-np.inf]], [[np.inf]]), [[0.0]], points, codes, [0])
    >>> tuned.upper.item(), kept
    (1.5, array([ True]))
    """
    if criterion not in get_args(TuningCriterion):
        allowed = ", ".join(map(repr, get_args(TuningCriterion)))
        raise InvalidValueError(f"criterion must be one of {allowed}, not {criterion!r}")
    P = as_finite_points(points, boxes.n_features)
    point_codes = as_codes(codes, len(P), "codes of points")
    own_codes = as_codes(box_codes, len(boxes), "codes of boxes")
    fixed = None if anchors is None else _anchor_limits(boxes, anchors)
    inside = boxes.contains(P)
    limits = boxes.limits
    kept = np.ones(len(boxes), dtype=np.bool_)
    U, contradicted = directions(P), _contradicted(P, point_codes)
    for code in np.unique(own_codes):
        foreign = point_codes != code
        to_cut = np.flatnonzero((own_codes == code) & (inside & foreign).any(axis=1))
        if not len(to_cut):
            continue
        view = _ClassView.of(U, foreign, ~foreign & ~contradicted, criterion)
        for b in to_cut:
            cut = view.cut(limits[b], None if fixed is None else fixed[b], inside[b])
            kept[b] = cut is not None
            if cut is not None:
                limits[b] = cut
    return PackedBoxes.from_limits(limits[kept]), kept


def _anchor_limits(boxes: PackedBoxes, anchors: ArrayLike) -> FloatArray:
    A = float_array(anchors, "anchors")
    if A.shape != boxes.lower.shape:
        raise InvalidValueError(f"anchors have shape {A.shape}, the boxes {boxes.lower.shape}")
    outside = ~((boxes.lower <= A) & (boxes.upper >= A) & np.isfinite(A)).all(axis=1)
    if outside.any():
        b = int(np.argmax(outside))
        raise InvalidValueError(
            f"the anchor of box {b} is not a point of it; boxes are grown around anchors"
        )
    return directions(A).T


def _contradicted(P: FloatArray, codes: Codes) -> BoolArray:
    """Points that coincide with a point of another class."""
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


@dataclass(frozen=True, slots=True)
class _ClassView:
    """The points as boxes of one class see them: own, foreign, and sorted along each direction."""

    U: FloatArray
    order: IntArray
    foreign: BoolArray
    own: BoolArray
    criterion: TuningCriterion

    @classmethod
    def of(
        cls, U: FloatArray, foreign: BoolArray, own: BoolArray, criterion: TuningCriterion
    ) -> _ClassView:
        # Foreign points go first among equals: a cut at one of them loses the own points at the same coordinate.
        index = np.concatenate([np.flatnonzero(foreign), np.flatnonzero(own)])
        order = index[np.argsort(U[:, index], axis=1, kind="stable")]
        return cls(U, order, foreign, own, criterion)

    def cut(
        self, limits: FloatArray, anchor: FloatArray | None, inside: BoolArray
    ) -> FloatArray | None:
        """The limits of a box after cutting, None when that is impossible."""
        alive = inside & (self.own | self.foreign)
        if anchor is None:
            if not (alive & self.own).any():
                return None
        elif (self.U[:, inside & self.foreign] == anchor[:, None]).all(axis=0).any():
            return None
        new = limits.copy()
        order = _among(alive, self.order)
        spread = self._spread(limits, alive)
        # Cuts go beyond the anchor: in each direction, as many points as these are not further out than it.
        first = None if anchor is None else self._up_to(anchor, alive)
        while self.foreign[order[0]].any():
            d, position, value = self._best_cut(order, first, spread)
            own = order[d, :position][self.own[order[d, :position]]]
            # Sorted, so the last own point before the cut is the nearest one.
            inner = self.U[d, own[-1]] if len(own) else -np.inf
            new[d] = halfway(float(max(inner, -np.inf if anchor is None else anchor[d])), value)
            gone = order[d, position:]
            alive[gone] = False
            if first is not None and anchor is not None:
                first -= self._up_to(anchor, gone)
            order = _among(alive, order)
        return self._let_out(limits, new, anchor, inside)

    def _up_to(self, anchor: FloatArray, some: BoolArray | IntArray) -> IntArray:
        return np.asarray((self.U[:, some] <= anchor[:, None]).sum(axis=1, dtype=np.intp))

    def _spread(self, limits: FloatArray, alive: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Start and length of a box along each direction, no further out than the points in it."""
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
        """The direction, the place in its order and the coordinate at which to cut."""
        foreign = self.foreign[order]
        beyond = _from_the_end(np.where(foreign, 1 << _SHIFT, 1))
        n_foreign, n_own = int(beyond[0, 0]) >> _SHIFT, int(beyond[0, 0]) & _OWN
        if first is None:  # an own point has to stay
            usable = foreign & (beyond & _OWN < n_own)
        else:
            usable = foreign & (np.arange(order.shape[1]) >= first[:, None])
        # Of foreign points with no own one between them the innermost removes most and loses the same.
        usable[:, 1:] &= ~usable[:, :-1].copy()
        d, position = np.nonzero(usable)
        counts = beyond[d, position]
        removed, lost = counts >> _SHIFT, counts & _OWN
        if self.criterion == "balance":
            # n_own * n_foreign times the difference of shares: whole numbers tie exactly.
            worth = removed * max(n_own, 1) - lost * n_foreign
        elif self.criterion == "ratio":
            worth = removed / (lost + 1)
        else:
            worth = -lost
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
        foreign, own = self.U[cuts][:, inside & self.foreign], self.U[cuts][:, inside & self.own]
        out_foreign, out_own = foreign > new[cuts, None], own > new[cuts, None]
        # First the bounds that would bring back most own points.
        alone = (out_own & (out_own.sum(axis=0) == 1)).sum(axis=1)
        for k in np.argsort(-alone, kind="stable"):
            d = cuts[k]
            only = foreign[k, out_foreign[k] & (out_foreign.sum(axis=0) == 1)]
            if len(only):
                value = only.min()
                inner = own[k, (np.delete(out_own, k, axis=0).sum(axis=0) == 0) & (own[k] < value)]
                nearest = inner.max(initial=-np.inf if anchor is None else anchor[d])
                new[d] = max(new[d], halfway(float(nearest), float(value)))
            else:
                new[d] = old[d]
            out_foreign[k], out_own[k] = foreign[k] > new[d], own[k] > new[d]
        return new


def _among(alive: BoolArray, order: IntArray) -> IntArray:
    """The order of the points that are left; in every direction these are equally many."""
    return order[alive[order]].reshape(len(order), -1)


def _from_the_end(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of each row from each place to its end."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
