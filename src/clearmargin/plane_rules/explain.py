"""Explain predictions of a linear classifier by boxes around the cases, on which it predicts nothing else.

In oriented coordinates (`side`), with a case z and the slack s = g - a'z that it has left:

largest
    near faces at the end of the domain, far corner c on the plane with z <= c <= far, of maximal volume: every feature
    spends a_i (c_i - near_i) = clip(t, a_i (z_i - near_i), a_i (far_i - near_i)), which is water-filling with lower
    bounds. The case lies on a face as often as not, which is why this box explains little (Fung, Sandilya and Rao,
    KDD 2005, section 7).
central
    far faces beyond the case by shares of s that make the volume beyond it maximal,
    a_i (c_i - z_i) = min(t, a_i (far_i - z_i)); near faces at the end of the domain, since nothing is gained by moving
    them in.
sufficient
    the fewest features that force the class, whatever the others are within their ranges (`sufficient_reasons.py`).
normal
    the corner at the foot of the normal from the case to the plane, z + s a / a'a, and the opposite one, as the paper
    has it. It depends on the units of the features and is narrowest where a feature matters least.

All spend a billionth less than they could, so that exact arithmetic finds the boxes inside. A class among three or
more is bounded by several planes; there `central_in_polytope` shares the slack of each plane equally among its
features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.models.surface import Surface
from clearmargin.plane_rules.proof import is_inside_all, needed_ends, retreat
from clearmargin.plane_rules.side import Region, Side
from clearmargin.plane_rules.sufficient_reasons import Reasons, ReasonSearch, fill_by_levels
from clearmargin.plane_rules.volume_corner import deepest_corner, volume_corner
from clearmargin.rule_base.distillation import Distillation
from clearmargin.rule_base.explanation import (
    Explanation,
    case_values,
    imputed_values,
    weighted_confidence,
)
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rule_base.simplify import shorten_bounds, to_user_box, without_idle_ends
from clearmargin.rules import Box, FeatureSpace, HalfSpace, Rule, RuleSet
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.rule import Proof
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = [
    "Explainer",
    "Explanations",
    "central_boxes",
    "central_in_polytope",
    "largest_boxes",
    "normal_boxes",
    "on_demand_box",
]


KINDS = ("rule", "on_demand", "largest", "central", "sufficient")
METRICS = ("volume", "normal")


_CHUNK = 256


_SHY = 1.0 - 1e-9


# The distance to the plane shrinks by at least 1 - 1/k with each cut; this is far beyond where digits end.
_DEEPEST = 500


Batch = tuple[FloatArray, FloatArray]


class Explanations(Sequence[Explanation]):
    """Explanations of many cases, made when they are looked at.

    Parameters
    ----------
    explainer : Explainer
        Makes them.
    kind : str
        What kind of box.
    boxes : tuple of ndarray or None
        Lower and upper bounds over the encoded columns, a row a case; None where rules are used.
    cases : ndarray
        The encoded cases.
    codes : ndarray of int
        What the surface predicts.
    which : ndarray of int
        The rule that covers each case, -1 where none does.
    predicted : ndarray of int
        What the model predicts.
    reasons : Reasons, optional
        The fewest features that force each class, where these are asked for.
    """

    def __init__(
        self,
        explainer: Explainer,
        kind: str,
        boxes: tuple[FloatArray, FloatArray] | None,
        cases: FloatArray,
        codes: IntArray,
        which: IntArray,
        predicted: IntArray,
        reasons: Reasons | None = None,
    ):
        self._explainer = explainer
        self._reasons = reasons
        self._kind = kind
        self._boxes = boxes
        self._cases = cases
        self._codes = codes
        self._which = which
        self._predicted = predicted
        self._missing: BoolArray | None = None
        self.parts = explainer.parts(cases, codes, *self._bounds())
        self.weigh(None)

    def __len__(self) -> int:
        return len(self._cases)

    def weigh(self, weights: Mapping[str, float] | None) -> None:
        """Set how much the parts count in the confidence; None for all the same."""
        self.confidence: FloatArray = weighted_confidence(self.parts, weights)
        self._weights = dict(weights or {})

    def note_missing(self, missing: BoolArray) -> None:
        """Remember which values of the user's table were missing, so that explanations say what was imputed."""
        self._missing = missing if missing.any() else None

    def _imputed(self, k: int) -> tuple[tuple[str, float | str], ...]:
        if self._missing is None:
            return ()
        return imputed_values(self._explainer.space, self._missing[k])

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Explanation]: ...
    def __getitem__(self, index: int | slice) -> Explanation | list[Explanation]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        k = range(len(self))[index]
        lower, upper = self._bounds()
        code = int(self._codes[k])
        if self._reasons is None:
            kind, rule = self._explainer.rule_for(
                self._kind, int(self._which[k]), code, lower[k], upper[k], self._cases[k]
            )
        else:
            kind, rule = self._kind, self._explainer.reason_rule(self._reasons, k, code)
        return Explanation(
            kind,
            rule,
            rule.label,
            self._explainer.margin(self._cases[k], code),
            float(self.confidence[k]),
            {name: float(values[k]) for name, values in self.parts.items()},
            self._explainer.space,
            self._imputed(k),
            case_values(self._explainer.surface, self._cases[k]),
            self._weights,
            self._explainer.stands_in(code, int(self._predicted[k])),
            is_fewest=None if self._reasons is None else bool(self._reasons.is_fewest[k]),
        )

    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        if self._boxes is None:
            self._boxes = self._explainer.rule_bounds(self._cases, self._codes, self._which)
        return self._boxes


@dataclass(slots=True)
class Explainer:
    """What is needed to explain cases of a fitted extractor.

    Parameters
    ----------
    surface : Surface
        Planes and encoding.
    columns : FeatureSpace
        Encoded columns with their ranges.
    space : FeatureSpace
        The user's features.
    limits : Box
        The ranges that are declared, over the encoded columns.
    rules : RuleSet
        The rules.
    boxes : tuple of Box
        The same over the encoded columns.
    reference : LabelledPoints
        Training points.
    distillation : Distillation, optional
        Where the surface stands in for that of the model, how often the two agree.
    """

    surface: Surface
    columns: FeatureSpace
    space: FeatureSpace
    limits: Box
    rules: RuleSet
    boxes: tuple[Box, ...]
    reference: LabelledPoints
    distillation: Distillation | None = None

    @property
    def domain(self) -> Box:
        """Where features live."""
        return Box(self.columns.lower, self.columns.upper)

    def explain(
        self, cases: FloatArray, codes: IntArray, which: IntArray, kind: str, metric: str
    ) -> Explanations:
        """Explain encoded cases.

        Parameters
        ----------
        cases : ndarray of shape (p, n_encoded)
            The cases, without missing values.
        codes : ndarray of int of shape (p,)
            What the model predicts. A distilled plane is explained by what it predicts itself, and where the model
            predicts something else, the explanation says so.
        which : ndarray of int of shape (p,)
            The rule that covers each case, -1 where none does.
        kind : str
            One of `KINDS`.
        metric : {"volume", "normal"}
            What makes a central box central.

        Returns
        -------
        Explanations
            One for each case.
        """
        if kind not in KINDS:
            raise InvalidValueError(
                f"kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}"
            )
        if metric not in METRICS:
            raise InvalidValueError(f"metric must be 'volume' or 'normal', not {metric!r}")
        predicted = codes
        if self.distillation is not None:
            codes = (self.surface.hyperplane.decision(cases) > 0).astype(np.intp)
        if kind == "rule":
            return Explanations(self, kind, None, cases, codes, which, predicted)
        if kind == "on_demand":
            nothing = np.full(len(cases), -1)
            return Explanations(self, kind, None, cases, codes, nothing, predicted)
        if kind == "sufficient":
            search = ReasonSearch(self.surface, self.columns)
            reasons = search.find(cases, codes)
            boxes = search.encoded_bounds(reasons, cases)
            return Explanations(self, kind, boxes, cases, codes, which, predicted, reasons)
        boxes = self._around(cases, codes, kind, metric)
        return Explanations(self, kind, boxes, cases, codes, which, predicted)

    def stands_in(self, code: int, predicted: int) -> str:
        """Say how often a distilled plane agrees with the model, and whether it does on a case; nothing without one."""
        if self.distillation is None:
            return ""
        if code == predicted:
            return self.distillation.agreement
        model = plain(self.surface.classes[predicted])
        return f"{self.distillation.agreement}; here the model itself predicts {model}"

    def _around(
        self, cases: FloatArray, codes: IntArray, kind: str, metric: str
    ) -> tuple[FloatArray, FloatArray]:
        """Give bounds of boxes around cases, class by class."""
        lower, upper = cases.copy(), cases.copy()
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            halfspaces = self.surface.regions()[code]
            if len(halfspaces) > 1:
                if kind == "largest":
                    raise InvalidValueError(
                        "the largest box is defined for models of two classes; use kind='central'"
                    )
                bounds = central_in_polytope(halfspaces, self.domain, cases[rows])
            else:
                bounds = self._beside_plane(Side.of(halfspaces[0]), cases[rows], kind, metric)
            lower[rows], upper[rows] = bounds
        return lower, upper

    def _beside_plane(
        self, side: Side, cases: FloatArray, kind: str, metric: str
    ) -> tuple[FloatArray, FloatArray]:
        make = largest_boxes if kind == "largest" else central_boxes
        make = normal_boxes if kind == "central" and metric == "normal" else make
        near, far = make(side, side.region(self.domain), side.orient(cases))
        return self._bounds_of(side, cases, near, far)

    def _bounds_of(
        self, side: Side, cases: FloatArray, near: FloatArray, far: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Write faces in oriented coordinates as bounds of all columns; those without weight have the whole range."""
        lower = np.broadcast_to(self.columns.lower, cases.shape).copy()
        upper = np.broadcast_to(self.columns.upper, cases.shape).copy()
        first, second = near * side.signs, far * side.signs
        lower[:, side.features] = np.minimum(first, second)
        upper[:, side.features] = np.maximum(first, second)
        return np.minimum(lower, cases), np.maximum(upper, cases)

    def rule_bounds(
        self, cases: FloatArray, codes: IntArray, which: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Give bounds of the boxes of rules, or of boxes made on demand where no rule covers."""
        lower, upper = cases.copy(), cases.copy()
        has_rule = which >= 0
        if has_rule.any():
            inside = [box.intersect(self.domain) for box in self.boxes]
            lowers, uppers = (np.stack([getattr(b, k) for b in inside]) for k in ("lower", "upper"))
            lower[has_rule], upper[has_rule] = lowers[which[has_rule]], uppers[which[has_rule]]
        for code in np.unique(codes[~has_rule]):
            rows = np.flatnonzero(~has_rule & (codes == code))
            lower[rows], upper[rows] = self._on_demand(cases[rows], int(code))
        return lower, upper

    def _on_demand(self, cases: FloatArray, code: int) -> tuple[FloatArray, FloatArray]:
        """Give bounds of boxes made for cases, disjoint from the rules of their class that do not cover them."""
        halfspaces = self.surface.regions()[code]
        if len(halfspaces) > 1:
            return central_in_polytope(halfspaces, self.domain, cases)
        side = Side.of(halfspaces[0])
        domain, Z = side.region(self.domain), side.orient(cases)
        label = self.surface.classes[code]
        boxes = [
            box for box, rule in zip(self.boxes, self.rules, strict=True) if rule.label == label
        ]
        regions = [side.region(box) for box in boxes]
        covers = [box.contains(cases) for box in boxes]
        near, far = Z.copy(), Z.copy()
        for k, z in enumerate(Z):
            others = [region for region, has in zip(regions, covers, strict=True) if not has[k]]
            near[k], far[k] = on_demand_box(side, domain, z, others)
        return self._bounds_of(side, cases, near, far)

    def rule_for(
        self,
        kind: str,
        which: int,
        code: int,
        lower: FloatArray,
        upper: FloatArray,
        case: FloatArray,
    ) -> tuple[str, Rule]:
        """Return the rule of an explanation, and what kind it really is."""
        if kind == "rule" and which >= 0:
            return kind, self.rules[which]
        kind = "on_demand" if kind == "rule" else kind
        halfspaces = self.surface.regions()[code]
        # Whoever is outside of the declared ranges gets a box that is sound without them.
        is_within = bool(self.limits.contains(case[None])[0])
        limits = self.limits if is_within else Box.unbounded(len(case))

        columns = self._columns_for(case)
        box = shorten_bounds(Box(lower, upper), columns, case[None])
        guards = self.surface.guards()[code]
        sound = retreat(box, guards, limits, columns, case[None])
        proof: Proof = "observed" if sound is None else self._sure
        if sound is not None:
            box = sound
            short = without_idle_ends(box, columns, needed_ends(halfspaces, columns, limits))
            box = short if is_inside_all(short, guards, limits) else box
        user_box = to_user_box(box, self.surface)
        assert user_box is not None  # the case itself is in the box
        return kind, Rule(
            user_box,
            self.surface.classes[code],
            origin="extracted",
            proof=proof,
        )

    @property
    def _sure(self) -> Proof:
        """What a proof of the surface proves: something of the model, or of the plane distilled from it."""
        return "proved" if self.distillation is None else "distilled"

    def reason_rule(self, reasons: Reasons, k: int, code: int) -> Rule:
        """Return the rule of the fewest features that force the class of case k."""
        proof: Proof = self._sure if reasons.is_proved[k] else "observed"
        return Rule(reasons.box(k), self.surface.classes[code], origin="extracted", proof=proof)

    def _columns_for(self, case: FloatArray) -> FeatureSpace:
        """Return the columns, but a case may be a broken number where only whole ones were seen."""
        columns = self.columns
        whole = columns.integer & np.equal(case, np.floor(case))
        return FeatureSpace(columns.names, columns.lower, columns.upper, whole)

    def margin(self, case: FloatArray, code: int) -> float:
        """Return the score of a case for two classes, the lead of its class for more."""
        if len(self.surface.classes) == 2:
            return float(self.surface.hyperplane.decision(case[None])[0])
        return min(
            h.sign * float(h.hyperplane.decision(case[None])[0])
            for h in self.surface.regions()[code]
        )

    def parts(
        self, cases: FloatArray, codes: IntArray, lower: FloatArray, upper: FloatArray
    ) -> dict[str, Any]:
        """Return what speaks for boxes around cases, each from 0 to 1."""
        coverage, purity = self._on_data(codes, lower, upper)
        return {
            "coverage": coverage,
            "purity": purity,
            "volume": self._volumes(cases, codes, lower, upper),
            "distance": self._distances(cases, codes),
        }

    def _on_data(
        self, codes: IntArray, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        seen = self.reference
        coverage, purity = np.zeros(len(codes)), np.zeros(len(codes))
        for start in range(0, len(codes), _CHUNK):
            rows = slice(start, start + _CHUNK)
            inside = np.ones((len(codes[rows]), len(seen.points)), dtype=np.bool_)
            for j in range(lower.shape[1]):
                column = seen.points[:, j]
                inside &= (column >= lower[rows, j, None]) & (column <= upper[rows, j, None])
            coverage[rows], purity[rows] = seen.measure(inside, codes[rows])
        return coverage, purity

    def _volumes(
        self, cases: FloatArray, codes: IntArray, lower: FloatArray, upper: FloatArray
    ) -> FloatArray:
        """Measure volume as a share of the largest box with the case in it (of the domain for several planes)."""
        several = len(self.surface.classes) > 2
        if several:
            low = np.broadcast_to(self.columns.lower, cases.shape)
            high = np.broadcast_to(self.columns.upper, cases.shape)
        else:
            low, high = self._around(cases, codes, "largest", "volume")
        width = np.where(high > low, high - low, 1.0)
        common = np.where(high > low, np.minimum(upper, high) - np.maximum(lower, low), 1.0)
        return np.asarray(np.clip(np.prod(np.maximum(common, 0.0) / width, axis=1), 0.0, 1.0))

    def _distances(self, cases: FloatArray, codes: IntArray) -> FloatArray:
        """Measure slack as a share of the largest slack seen in the class."""
        distance = np.zeros(len(cases))
        for code in np.unique(codes):
            halfspaces = self.surface.regions()[code]
            rows = codes == code
            members = self.reference.points[self.reference.predicted == code]
            slack = np.min(
                [h.sign * h.hyperplane.decision(cases[rows]) for h in halfspaces], axis=0
            )
            if len(members):
                seen = np.min([h.sign * h.hyperplane.decision(members) for h in halfspaces], axis=0)
                distance[rows] = slack / max(float(seen.max()), 1e-300)
        return np.clip(distance, 0.0, 1.0)


def largest_boxes(side: Side, domain: Region, Z: FloatArray) -> Batch:
    """Find near and far faces of the largest box that contains each case."""
    # A case beyond the ends of the domain moves them out.
    start, end = np.minimum(domain.near, Z), np.maximum(domain.far, Z)
    low, high = side.a * (Z - start), side.a * (end - start)
    spent = fill_by_levels(low, high, np.maximum(side.g - linear_scores(start, side.a), 0.0) * _SHY)
    far = np.maximum(np.minimum(start + spent / side.a, end), Z)
    return start, far


def central_boxes(side: Side, domain: Region, Z: FloatArray) -> Batch:
    """Find near and far faces of a box that has each case well inside."""
    high = np.maximum(side.a * (domain.far - Z), 0.0)
    slack = np.maximum(side.g - linear_scores(Z, side.a), 0.0) * _SHY
    far = Z + fill_by_levels(np.zeros_like(Z), high, slack) / side.a
    return np.minimum(domain.near, Z), far


def normal_boxes(side: Side, domain: Region, Z: FloatArray) -> Batch:
    """Find near and far faces of the box whose corner is the foot of the normal from each case."""
    slack = np.maximum(side.g - linear_scores(Z, side.a), 0.0) * _SHY
    reach = slack[:, None] * side.a / np.square(side.a).sum()
    return Z - reach, Z + reach


def on_demand_box(side: Side, domain: Region, z: FloatArray, boxes: list[Region]) -> Batch:
    """Go on with the recursion only in the region that holds a case, until a box covers it.

    Parameters
    ----------
    side, domain
        The half-space and its domain.
    z : ndarray of shape (k,)
        The case.
    boxes : list of Region
        Boxes that do not cover it; the new one will meet none of them, but for faces.

    Returns
    -------
    near, far : ndarray of shape (k,)
        Faces of a box that contains the case; far faces are a billionth short of the corner found.
    """
    # A case beyond the ends of the domain moves them out.
    region = Region(
        np.minimum(domain.near, z),
        np.maximum(domain.far, z),
        domain.near_closed | (z <= domain.near),
        domain.far_closed | (z >= domain.far),
    )
    for box in boxes:
        region = _beside(side, region, box, z)
    for _ in range(_DEEPEST):
        corner = volume_corner(side, region, z[None])
        holds: BoolArray = corner.holds(z[None])[0]
        if holds.all():
            break
        k = _dearest(side, region, ~holds)
        near, near_closed = region.near.copy(), region.near_closed.copy()
        near[k], near_closed[k] = corner.far[k], not corner.closed[k]
        region = Region(near, region.far, near_closed, region.far_closed)
    else:
        corner = deepest_corner(side, z[None])
    far = np.where(corner.closed, corner.far, z + (corner.far - z) * _SHY)
    return region.near, far


def _beside(side: Side, region: Region, box: Region, z: FloatArray) -> Region:
    """Return the part of a region beyond one face of a box that the case is beyond."""
    beyond_far = (z > box.far) | (~box.far_closed & np.equal(z, box.far))
    beyond_near = (z < box.near) | (~box.near_closed & np.equal(z, box.near))
    near, near_closed = region.near.copy(), region.near_closed.copy()
    far, far_closed = region.far.copy(), region.far_closed.copy()
    if beyond_far.any():
        k = _dearest(side, region, beyond_far)
        if box.far[k] >= near[k]:
            near[k], near_closed[k] = box.far[k], not box.far_closed[k]
    else:
        k = _dearest(side, region, beyond_near)
        if box.near[k] <= far[k]:
            far[k], far_closed[k] = box.near[k], not box.near_closed[k]
    return Region(near, far, near_closed, far_closed)


def _dearest(side: Side, region: Region, among: BoolArray) -> int:
    dear = side.a * (region.far - region.near)
    return int(np.argmax(np.where(among, dear, -np.inf)))


def central_in_polytope(
    halfspaces: Sequence[HalfSpace], domain: Box, cases: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Give bounds of boxes with each case in the middle, inside the domain.

    Plane h leaves the slack s_h. If feature i moves by at most e_i = min_h s_h / (n_h |v_hi|), where n_h is the number
    of weights of plane h, then sum_i |v_hi| e_i <= s_h for every h, so all planes are kept.

    Parameters
    ----------
    halfspaces : sequence of HalfSpace
        What the boxes have to lie in.
    domain : Box
        Where features live.
    cases : ndarray of shape (p, n)
        The cases.

    Returns
    -------
    lower, upper : ndarray of shape (p, n)
        Bounds.
    """
    reach = np.full(cases.shape, np.inf)
    for h in halfspaces:
        weights = np.abs(h.hyperplane.coef)
        slack = np.maximum(h.sign * h.hyperplane.decision(cases), 0.0) * _SHY
        active = weights > 0
        if active.any():
            share = slack[:, None] / (active.sum() * weights[active])
            reach[:, active] = np.minimum(reach[:, active], share)
    return (
        np.minimum(np.maximum(cases - reach, domain.lower), cases),
        np.maximum(np.minimum(cases + reach, domain.upper), cases),
    )
