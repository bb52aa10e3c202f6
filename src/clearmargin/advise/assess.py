"""What a plane makes of a premise: its worst score, and whether it gives the class everywhere, decided exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.advise.encoding import Premise
from clearmargin.advise.frame import Frame
from clearmargin.core import Polyhedron
from clearmargin.programs.premise_margin import is_void, worst_margin

__all__ = ["Assessment", "assess", "tight_intervals"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Assessment:
    """How a plane does on a premise.

    Parameters
    ----------
    margin : float
        The lowest score on the side of the class, edges of the premise included; -inf where there is none.
    witness : ndarray of shape (n,) or None
        Where it is taken, in the user's units.
    holds : bool
        Whether the plane gives the class all over the premise, within the domain.
    is_proved : bool
        Whether it does so beyond the domain, too.
    """

    margin: float
    witness: FloatArray | None
    holds: bool
    is_proved: bool


def assess(premise: Premise, frame: Frame, w: FloatArray, b: float, sign: float) -> Assessment:
    """Find the worst score over a premise within the domain, and decide whether the class is given everywhere.

    Parameters
    ----------
    premise : Premise
        The premise, in the user's units.
    frame : Frame
        The domain; a premise outside of it counts without it.
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
    rows = _within_domain(premise, frame)
    margin, x = worst_margin(*frame.scaled_rows(*rows), *frame.scaled_plane(w, b), sign)
    witness = None if x is None else x * frame.unit + frame.center
    holds = _holds(*rows, premise.strict, w, b, sign)
    everywhere = _of_categories(premise, frame)
    is_proved = holds and _holds(*everywhere, premise.strict, w, b, sign)
    return Assessment(float(margin), witness, holds, is_proved)


def _of_categories(premise: Premise, frame: Frame) -> tuple[FloatArray, FloatArray]:
    """The premise wherever there may be cases: beyond the domain, but with one category for each feature of those."""
    D, d = frame.domain_rows()
    grouped = [j for group in frame.groups for j in group]
    free = np.ones(D.shape[1], dtype=np.bool_)
    free[grouped] = False
    kept = ~(D[:, free] != 0).any(axis=1)
    return np.concatenate([premise.D, D[kept]]), np.concatenate([premise.d, d[kept]])


def _within_domain(premise: Premise, frame: Frame) -> tuple[FloatArray, FloatArray]:
    around = frame.domain_rows()
    rows = np.concatenate([premise.D, around[0]]), np.concatenate([premise.d, around[1]])
    return (premise.D, premise.d) if is_void(*frame.scaled_rows(*rows)) else rows


def _holds(
    D: FloatArray, d: FloatArray, open_rows: BoolArray, w: FloatArray, b: float, sign: float
) -> bool:
    """Whether no point of the premise is on the other side; the plane itself belongs to the negative class.

    The first rows are those of the premise, of which some are strict.
    """
    if not w.any():
        return (b > 0) == (sign > 0)
    used = w != 0
    touching: BoolArray = np.zeros(len(d), dtype=np.bool_)
    while True:  # columns that are tied to the plane by some row, directly or through others
        touching = (D[:, used] != 0).any(axis=1)
        more = used | (D[touching] != 0).any(axis=0)
        if (more == used).all():
            break
        used = more
    other = np.concatenate([D[touching][:, used], sign * w[used][None]])
    limits = np.append(d[touching], -sign * b)
    padded = np.append(open_rows, np.zeros(len(d) - len(open_rows), dtype=np.bool_))
    strict = np.append(padded[touching], sign < 0)
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
