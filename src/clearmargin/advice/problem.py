"""Rules, data and frame put together as the problem that the programs solve, and its parts by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.advice_svm import AdviceProblem, BoxPremises, Premises
from clearmargin.advice.encoding import Premise
from clearmargin.advice.frame import Frame
from clearmargin.advice.premise_geometry import is_void

__all__ = ["FramedAdvice"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Rows = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class FramedAdvice:
    """Premises in the scale of a frame, with the domain around each.

    Parameters
    ----------
    frame : Frame
        Domain and scale.
    premises : tuple of Premise
        The premises in the user's units.
    rows : tuple of (ndarray, ndarray)
        For each premise, its rows in the scale of the frame, of unit norm: first its own, then those of the domain.
    outside : ndarray of bool of shape (r,)
        Which premises have no point of the domain; they count without it.
    empty : ndarray of bool of shape (r,)
        Which premises have no point at all; they count for nothing.
    """

    frame: Frame
    premises: tuple[Premise, ...]
    rows: tuple[Rows, ...]
    outside: BoolArray
    empty: BoolArray

    @classmethod
    def within(cls, frame: Frame, premises: Sequence[Premise]) -> FramedAdvice:
        """Scale premises and put the domain around them."""
        around = frame.scaled_rows(*frame.domain_rows())
        rows: list[Rows] = []
        outside, empty = np.zeros((2, len(premises)), dtype=np.bool_)
        for i, premise in enumerate(premises):
            alone = frame.scaled_rows(premise.D, premise.d)
            bounded = np.concatenate([alone[0], around[0]]), np.concatenate([alone[1], around[1]])
            if is_void(*bounded):
                empty[i] = is_void(*alone)
                outside[i] = not empty[i]
            rows.append(alone if outside[i] else bounded)
        return cls(frame, tuple(premises), tuple(rows), outside, empty)

    def __len__(self) -> int:
        return len(self.premises)

    def own(self, i: int) -> BoolArray:
        """Which rows of a premise may be refined."""
        mine = self.premises[i].own
        rest = len(self.rows[i][1]) - len(mine)
        return np.concatenate([mine, np.zeros(rest, dtype=np.bool_)])

    def problem(
        self,
        X: FloatArray,
        y: FloatArray,
        cost: FloatArray,
        sign: FloatArray,
        advice_cost: FloatArray,
        *,
        compact: bool,
    ) -> tuple[AdviceProblem, BoolArray]:
        """Make the problem of all premises that are not empty.

        Parameters
        ----------
        X : ndarray of shape (m, n)
            Scaled points; there may be none.
        y, cost : ndarray of shape (m,)
            Their signs and costs.
        sign, advice_cost : ndarray of shape (r,)
            Signs and costs of the premises.
        compact : bool
            Whether premises that are boxes may take their compact form, which cannot be refined.

        Returns
        -------
        problem : AdviceProblem
            General premises and boxes, each in their order.
        is_box : ndarray of bool of shape (r,)
            Which premises are boxes.
        """
        boxes = [self._box(i) if compact and not self.empty[i] else None for i in range(len(self))]
        is_box = np.array([box is not None for box in boxes], dtype=np.bool_)
        general = np.flatnonzero(~is_box & ~self.empty)
        n = self.frame.n_columns
        sides = np.array([box for box in boxes if box is not None]).reshape(-1, 2, n)
        low, high = sides[:, 0], sides[:, 1]
        problem = AdviceProblem(
            X,
            y,
            cost,
            Premises.stack(
                [self.rows[i] for i in general],
                sign[general],
                advice_cost[general],
                [self.own(int(i)) for i in general] or None,
                n_features=n,
            ),
            BoxPremises((low + high) / 2, (high - low) / 2, sign[is_box], advice_cost[is_box]),
        )
        return problem, is_box

    def only(self, chosen: Sequence[int]) -> FramedAdvice:
        """Keep some of the premises."""
        index = list(chosen)
        return FramedAdvice(
            self.frame,
            tuple(self.premises[i] for i in index),
            tuple(self.rows[i] for i in index),
            self.outside[index],
            self.empty[index],
        )

    def _box(self, i: int) -> tuple[FloatArray, FloatArray] | None:
        """The bounds of a premise that is a box within [-1, 1], else None."""
        D, d = self.rows[i]
        if (np.count_nonzero(D, axis=1) != 1).any():
            return None
        n = D.shape[1]
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        column = np.abs(D).argmax(axis=1)
        is_upper = D[np.arange(len(d)), column] > 0
        np.minimum.at(high, column[is_upper], d[is_upper])
        np.maximum.at(low, column[~is_upper], -d[~is_upper])
        # Beyond [-1, 1] errors in the weights would be cheaper than those of the margin (see `advice_svm`).
        if max(float(np.abs(low).max()), float(np.abs(high).max())) > 1.0 + 1e-9:
            return None
        return np.minimum(low, high), high
