"""A box around a point that grows as long as a kernel machine is proved to say the same in all of it."""

from __future__ import annotations

import numpy as np

from clearmargin.kernel_rules.box_search import decide
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.models.kernel_machine import KernelMachine
from clearmargin.rules.value import FloatArray

__all__ = ["ProvedBox"]

# A box in proportion to the ranges is found to one part in 64 of them, a side to one part in 8 of what is left.
_PROPORTION_STEPS = 6
_SIDE_STEPS = 3


class ProvedBox:
    """A proved box around a point that grows.

    Parameters
    ----------
    machine : KernelMachine
        The machine.
    function : KernelFunction
        Functions that are all positive where the machine says the class of the point.
    point : ndarray of shape (n_encoded,)
        Where the box starts.
    budget : int
        Most boxes that a single proof may look at.
    """

    def __init__(
        self, machine: KernelMachine, function: KernelFunction, point: FloatArray, budget: int
    ):
        self.machine = machine
        self.function = function
        self.point = point
        self.budget = budget
        self.lower, self.upper = point.copy(), point.copy()
        self._grew = False

    def is_proved(self) -> bool:
        """Whether the box is proved: one that never grew is a point, which may be too near the surface for a proof."""
        return self._grew or self._try(self.lower, self.upper)

    def _try(self, lower: FloatArray, upper: FloatArray) -> bool:
        """Take a larger box if it is proved."""
        low, high = self.machine.box_to_machine(lower[None], upper[None])
        if decide(self.function, low[0], high[0], max_nodes=self.budget).status != "proved":
            return False
        self.lower, self.upper = lower, upper
        self._grew = True
        return True

    def grow_over(self, neighbours: FloatArray) -> None:
        """Grow over other points: the hull of the first of them, as many as can be proved.

        Parameters
        ----------
        neighbours : ndarray of shape (k, n_encoded)
            Points on the same side, the nearest first.
        """
        lower = np.minimum(np.minimum.accumulate(neighbours, axis=0), self.point)
        upper = np.maximum(np.maximum.accumulate(neighbours, axis=0), self.point)
        # The hulls of the first 1, 2, ... points lie in each other, so that bisection finds the last provable one.
        proved, refused = -1, len(neighbours)
        while refused - proved > 1:
            middle = (proved + refused) // 2
            if self._try(lower[middle], upper[middle]):
                proved = middle
            else:
                refused = middle

    def grow_in_proportion(self, lower: FloatArray, upper: FloatArray) -> None:
        """Grow on all sides at once, by bisection on the share of the way to the limits.

        Parameters
        ----------
        lower, upper : ndarray of shape (n_encoded,)
            The limits.
        """
        small, large = 0.0, 1.0
        share = 1.0
        for _ in range(_PROPORTION_STEPS + 1):
            # Rounding must not carry a side past its limit.
            grown = (
                np.maximum(lower, self.point + share * (lower - self.point)),
                np.minimum(upper, self.point + share * (upper - self.point)),
            )
            if self._try(*grown):
                small = share
                if share == 1.0:
                    return
            else:
                large = share
            share = (small + large) / 2.0

    def grow_sides(self, lower: FloatArray, upper: FloatArray, steps: int = _SIDE_STEPS) -> None:
        """Grow side by side: to the limit, or as far as bisection gets.

        Parameters
        ----------
        lower, upper : ndarray of shape (n_encoded,)
            The limits.
        steps : int, default 3
            How often a side that cannot be moved to its limit is tried in between.
        """
        for side, j in self._by_slope(lower, upper):
            start, end = (self.lower[j], lower[j]) if side < 0 else (self.upper[j], upper[j])
            if start == end:
                continue
            share, proved = 1.0, 0.0
            refused = 2.0
            for _ in range(steps + 1):
                moved = [self.lower.copy(), self.upper.copy()]
                moved[0 if side < 0 else 1][j] = start + share * (end - start)
                if self._try(moved[0], moved[1]):
                    proved = share
                    if share == 1.0:
                        break
                else:
                    refused = share
                share = (proved + refused) / 2.0

    def _by_slope(self, lower: FloatArray, upper: FloatArray) -> list[tuple[int, int]]:
        """Sides in the order of what walking along them to the limit costs the decision function."""
        sides = [(side, j) for j in np.unique(self.machine.source).tolist() for side in (-1, 1)]
        ends = np.tile(self.point, (len(sides), 1))
        for row, (side, j) in zip(ends, sides, strict=True):
            row[j] = lower[j] if side < 0 else upper[j]
        cost = -self.function.values(self.machine.to_machine(ends)).min(axis=1)
        return [sides[s] for s in np.argsort(cost, kind="stable")]
