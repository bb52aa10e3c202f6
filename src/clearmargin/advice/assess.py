"""What a plane makes of a premise: its worst possible case, and whether it gives the class everywhere.

Over a premise that is a box, the worst case is a closed form (`Domain.minimum`). Over one with linear conditions it is
a linear program, with whole numbers where the columns have them. What is *proved* never rests on a solver: it is
decided in rational arithmetic, for all points that the rows leave, the possible ones among them.

`Possible` is what can be, over the columns of a model that learns from advice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.advice_case import AdviceCase
from clearmargin.advice.encoding import Premise
from clearmargin.advice.frame import Frame, declared_ranges
from clearmargin.advice.premise_geometry import is_void, worst_margin
from clearmargin.rules import Box, Domain, FeatureSpace, Polyhedron
from clearmargin.rules.arithmetic import exact_sign
from clearmargin.rules.space import seen_ranges
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["Assessment", "Possible", "assess", "tight_intervals"]


# Values with more significant digits than this are shortened for people, to as few as leave the case in its place.
_READABLE, _FEW_DIGITS = 6, (4, 6)
# What a solver leaves of a whole number, and how far inside a strict row a case lies, in the scale of the frame: far
# more, so that the one is never taken for the other.
_WHOLE, _INSIDE = 1e-7, 1e-5


@dataclass(frozen=True, slots=True)
class Assessment:
    """How a plane does on a premise.

    Parameters
    ----------
    margin : float
        The lowest score on the side of the class over the possible cases, as the data show them; -inf where there is
        none, inf where no case is possible.
    witness : ndarray of shape (n,) or None
        A possible case with that score or, where strict bounds leave it out, with one near it; in the user's units.
    score : float
        The score of the witness on the side of the class; NaN where there is none.
    holds : bool
        Whether the plane gives the class to all possible cases of the premise, as the data show them.
    is_proved : bool
        Whether it gives the class to all cases that the declarations allow, beyond what the data show.
    floor : float
        The lowest score on the side of the class over those; -inf where there is none.
    """

    margin: float
    witness: FloatArray | None
    score: float
    holds: bool
    is_proved: bool
    floor: float


@dataclass(frozen=True, slots=True)
class _Side:
    """The side of a plane that belongs to a class: sign * (w'x + b) > 0, or >= 0 for the negative one."""

    w: FloatArray
    b: float
    sign: float

    def score(self, x: FloatArray) -> float:
        return float(self.sign * (x @ self.w + self.b))

    def is_wrong(self, x: FloatArray) -> bool:
        """Whether a case gets another class, exactly."""
        found = exact_sign(self.w, x, self.b) * self.sign
        return found < 0 or (found == 0 and self.sign > 0)


def assess(
    premise: Premise, frame: Frame, possible: Possible, w: FloatArray, b: float, sign: float
) -> Assessment:
    """Find the worst possible case of a premise, and decide whether the class is given everywhere.

    Parameters
    ----------
    premise : Premise
        The premise, in the user's units.
    frame : Frame
        The scale.
    possible : Possible
        What can be; a premise beyond the ranges seen counts without them.
    w : ndarray of shape (n,)
        Weights, in the user's units.
    b : float
        Intercept.
    sign : float
        1.0 for the positive class, -1.0 for the other.

    Returns
    -------
    Assessment
        What holds is decided in rational arithmetic for the plane and the bounds as they are, tolerance none.
    """
    side = _Side(w, b, sign)
    if (np.count_nonzero(premise.D, axis=1) == 1).all():
        return _assess_box(
            Polyhedron(premise.D, premise.d, premise.strict).to_box(), possible, side
        )
    return _assess_rows(premise, frame, possible, side)


def _assess_box(box: Box, possible: Possible, side: _Side) -> Assessment:
    near = _middle(possible.seen)
    seen = possible.seen.is_possible(box, seen=True)
    found = possible.seen.minimum(
        side.w * side.sign, side.b * side.sign, within=box, seen=seen, near=near
    )
    if found is None:
        return Assessment(np.inf, None, np.nan, True, True, np.inf)
    beyond = possible.declared.minimum(side.w * side.sign, side.b * side.sign, within=box)
    is_proved = beyond is None or _is_on_side(beyond.value, beyond.is_attained, side)
    witness = (
        None if found.point is None else _short_witness(found.point, box, possible, side, seen)
    )
    return Assessment(
        float(found.value),
        witness,
        np.nan if witness is None else side.score(witness),
        _is_on_side(found.value, found.is_attained, side),
        is_proved,
        np.inf if beyond is None else float(beyond.value),
    )


def _is_on_side(lowest: object, is_attained: bool, side: _Side) -> bool:
    zero = lowest == 0 and (side.sign < 0 or not is_attained)
    return bool(lowest > 0 or zero)  # type: ignore[operator]


def _middle(domain: Domain) -> FloatArray:
    """Values for columns that nothing asks about."""
    low, high = domain.space.lower, domain.space.upper
    known = np.isfinite(low) & np.isfinite(high)
    return np.where(known, np.where(known, low, 0.0) / 2 + np.where(known, high, 0.0) / 2, 0.0)


def _short_witness(
    x: FloatArray, region: Box | Premise, possible: Possible, side: _Side, seen: bool
) -> FloatArray:
    """A case with values of few digits, as long as it is possible, in the premise, and as wrong as before."""
    was_wrong, score = side.is_wrong(x), side.score(x)
    for digits in _FEW_DIGITS:
        short = np.array([_shortened(value, digits) for value in x.tolist()])
        is_near = abs(side.score(short) - score) <= 0.01 * (1.0 + abs(score))
        if (
            is_near
            and side.is_wrong(short) == was_wrong
            and _is_case(short, region, possible, seen)
        ):
            return short
    return x


def _shortened(value: float, digits: int) -> float:
    is_long = float(f"{value:.{_READABLE}g}") != value
    return float(f"{value:.{digits}g}") if is_long and not value.is_integer() else value


def _is_case(x: FloatArray, region: Box | Premise, possible: Possible, seen: bool) -> bool:
    inside = region.contains(x[None]) if isinstance(region, Box) else region.covers(x[None])
    return bool(inside[0] and possible.seen.contains(x[None], seen=seen)[0])


def _assess_rows(premise: Premise, frame: Frame, possible: Possible, side: _Side) -> Assessment:
    """The same for a premise with linear conditions."""
    rows = _around(premise, possible.seen, seen=True)
    seen = not is_void(*frame.scaled_rows(rows.D, rows.d))
    if not seen:
        rows = _around(premise, possible.seen, seen=False)
    margin, x = _worst(rows, frame, possible.seen, side)
    witness = None
    if x is not None:
        witness = _repaired(x, premise, rows, frame, possible, side, seen)
    if witness is not None:
        witness = _short_witness(witness, premise, possible, side, seen)
    holds = _holds(rows, side)
    beyond = _around(premise, possible.declared, seen=False)
    is_proved = holds and _holds(beyond, side)
    return Assessment(
        float(margin),
        witness,
        np.nan if witness is None else side.score(witness),
        holds,
        is_proved,
        float(_worst(beyond, frame, possible.declared, side)[0]) if is_proved else -np.inf,
    )


def _around(premise: Premise, domain: Domain, *, seen: bool) -> Premise:
    """A premise with the rows of a domain, its plain bounds moved to values that columns can have."""
    plain = np.count_nonzero(premise.D, axis=1) == 1
    bounds = Polyhedron(premise.D[plain], premise.d[plain], premise.strict[plain]).to_box()
    box = Polyhedron.from_box(domain.tighten(bounds, seen=seen))
    sums = [group.columns for group in domain.groups]
    one = np.zeros((len(sums), premise.D.shape[1]))
    for k, columns in enumerate(sums):
        one[k, list(columns)] = 1.0
    D = np.concatenate([premise.D[~plain], box.A, one, -one])
    d = np.concatenate([premise.d[~plain], box.b, np.ones(len(one)), -np.ones(len(one))])
    strict = np.concatenate(
        [premise.strict[~plain], box.strict, np.zeros(2 * len(one), dtype=np.bool_)]
    )
    return Premise(D, d, np.zeros(len(d), dtype=np.bool_), strict)


def _worst(
    rows: Premise, frame: Frame, domain: Domain, side: _Side
) -> tuple[float, FloatArray | None]:
    """The lowest score over rows: by a linear program and, where that leaves the whole numbers, with them."""
    margin, z = worst_margin(
        *frame.scaled_rows(rows.D, rows.d), *frame.scaled_plane(side.w, side.b), side.sign
    )
    if z is None:
        return margin, None
    x = z * frame.unit + frame.center
    whole = domain.space.integer
    if (np.abs(x[whole] - np.rint(x[whole])) <= _WHOLE).all():
        x[whole] = np.rint(x[whole])
        return margin, x
    better = worst_margin(rows.D, rows.d, side.w, side.b, side.sign, whole)
    return better if better[1] is not None else (margin, None)


def _repaired(
    x: FloatArray,
    premise: Premise,
    rows: Premise,
    frame: Frame,
    possible: Possible,
    side: _Side,
    seen: bool,
) -> FloatArray | None:
    """The case that a solver found as one that lies in the premise exactly; None where there is none near it."""
    x = _clipped(x, rows)
    if _is_case(x, premise, possible, seen):
        return x
    # Solvers end on a row, or a little beyond it: the same program with those rows a little tighter.
    D, d = frame.scaled_rows(rows.D, rows.d)
    n_linear = int((np.count_nonzero(premise.D, axis=1) != 1).sum())
    is_inset = rows.strict | (np.arange(len(d)) < n_linear)
    tighter = Premise(*frame.user_rows(D, d - _INSIDE * is_inset), rows.own, rows.strict)
    again = _worst(tighter, frame, possible.seen, side)[1]
    again = None if again is None else _clipped(again, rows)
    return again if again is not None and _is_case(again, premise, possible, seen) else None


def _clipped(x: FloatArray, rows: Premise) -> FloatArray:
    """A point that satisfies the plain bounds among rows exactly, where a solver does so nearly."""
    inside = x.copy()
    for row, limit in zip(rows.D, rows.d, strict=True):
        used = np.flatnonzero(row)
        if len(used) == 1:
            j, bound = int(used[0]), float(limit / row[used[0]])
            inside[j] = min(inside[j], bound) if row[j] > 0 else max(inside[j], bound)
    return inside


def _holds(rows: Premise, side: _Side) -> bool:
    """Whether no point of the rows is on the other side; the plane itself belongs to the negative class."""
    D, d, w = rows.D, rows.d, side.w
    if not w.any():
        return (side.b > 0) == (side.sign > 0)
    used = w != 0
    touching: BoolArray = np.zeros(len(d), dtype=np.bool_)
    while True:  # columns that are tied to the plane by some row, directly or through others
        touching = (D[:, used] != 0).any(axis=1)
        more = used | (D[touching] != 0).any(axis=0)
        if (more == used).all():
            break
        used = more
    other = np.concatenate([D[touching][:, used], side.sign * w[used][None]])
    limits = np.append(d[touching], -side.sign * side.b)
    strict = np.append(rows.strict[touching], side.sign < 0)
    return Polyhedron(other, limits, strict).is_empty()


def tight_intervals(
    premise: Premise, frame: Frame, columns: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """The tightest bounds on some columns around a premise within the domain, in the user's units.

    Parameters
    ----------
    premise : Premise
        The premise.
    frame : Frame
        Domain and scale.
    columns : ndarray of int
        The columns.

    Returns
    -------
    lower, upper : ndarray
        One bound for each column; infinite where there is none.
    """
    D, d = frame.scaled_rows(*_within_domain(premise, frame))
    lower, upper = np.empty(len(columns)), np.empty(len(columns))
    for k, j in enumerate(columns):
        unit = np.zeros(D.shape[1])
        unit[j] = 1.0
        low, high = (worst_margin(D, d, unit, 0.0, sign)[0] for sign in (1.0, -1.0))
        lower[k] = low * frame.unit[j] + frame.center[j]
        upper[k] = -high * frame.unit[j] + frame.center[j]
    return lower, upper


def _within_domain(premise: Premise, frame: Frame) -> tuple[FloatArray, FloatArray]:
    around = frame.domain_rows()
    rows = np.concatenate([premise.D, around[0]]), np.concatenate([premise.d, around[1]])
    return (premise.D, premise.d) if is_void(*frame.scaled_rows(*rows)) else rows


@dataclass(frozen=True, slots=True)
class Possible:
    """The cases that can exist: as far as they are declared, and with what the data show.

    Parameters
    ----------
    declared : Domain
        Ranges and whole numbers that the advice declares, and one category of each categorical feature. What is proved
        over it holds for all cases.
    seen : Domain
        With the domain of the frame as ranges, and whole numbers where the data have no others. What is proved over it
        holds for cases like those of the data.
    """

    declared: Domain
    seen: Domain

    @classmethod
    def of(cls, case: AdviceCase, frame: Frame) -> Possible:
        """Find what can be.

        Parameters
        ----------
        case : AdviceCase
            Data and advice.
        frame : Frame
            The domain in which premises count.

        Returns
        -------
        Possible
            Ranges that come with extracted rules were seen, not declared.
        """
        columns = case.columns
        n = len(columns.names)
        lower, upper = declared_ranges(columns)
        if any(rule.origin == "extracted" for rule in case.rules):
            lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        whole: BoolArray = np.zeros(n, dtype=np.bool_)
        for feature, column in columns.numbers.items():
            whole[column] = columns.space.integer[feature]
        met = seen_ranges(list(case.points.T))[2] if len(case.points) else np.zeros(n, np.bool_)
        names = columns.names
        # Data beyond a declared range speak against the declaration.
        low = np.where(frame.lower >= lower, lower, -np.inf)
        high = np.where(frame.upper <= upper, upper, np.inf)
        known = Domain(
            FeatureSpace(names, low, high, whole),
            np.isfinite(low),
            np.isfinite(high),
            columns.one_hot,
        )
        seen = Domain(
            FeatureSpace(names, frame.lower, frame.upper, whole | met), groups=columns.one_hot
        )
        return cls(known, seen)
