"""Whether the functions of a kernel machine are all positive on a box: branch and bound with proofs.

A box is *proved* when `lower_bounds` finds every function above 0 on it, *refuted* by one point where a function is
proved to be below 0. Otherwise each coordinate along which all functions still open go one way is set to the end
where they are lowest, the box is cut in half across the coordinate that adds most to the gap of its bound, and the
parts are looked at, lowest bound first, many at a time. Functions proved on a box are not asked about in its parts.
Points where bounds are lowest are tried as witnesses; whenever the work has doubled the best of them starts a descent.

What touches 0 can be neither: such boxes end as *unknown*, when nodes or time are used up or nothing is left to cut.

**Witnesses** (`hunt`), points of a box where a function is negative: descent within the box from several starts: from z
towards the corner that the gradient points away from, by the best of a few step lengths (the conditional gradient
method of Frank and Wolfe, 1956, for a function that need not be convex). Starts are the centre of the box and the
support vectors that count negatively, clipped to the box. Whatever is found is a witness only if `lower_bounds` proves
the sign at that point.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clearmargin.kernel_rules.bounds import lower_bounds
from clearmargin.kernel_rules.kernels import KERNELS
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import BoolArray, FloatArray

# Boxes looked at together: as many as keep one array of boxes, support vectors and columns in the caches.
_BLOCK = 1 << 18
_MIN_BOXES, _MAX_BOXES = 8, 256
_DESCENT = 10


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What is known about a box."""

    status: Literal["proved", "refuted", "unknown"]
    witness: FloatArray | None
    nodes: int
    bound: float


def decide(
    function: KernelFunction,
    lower: FloatArray,
    upper: FloatArray,
    *,
    max_nodes: int,
    time_limit: float | None = None,
) -> Verdict:
    """Decide whether all functions are positive everywhere on a box."""
    end = np.inf if time_limit is None else time.process_time() + time_limit
    # What overflows has no bound, and is no witness.
    with np.errstate(over="ignore", invalid="ignore"):
        return _Search(function, lower, upper).run(max_nodes, end)


@dataclass(frozen=True, slots=True, eq=False)
class _Nodes:
    """Boxes (B): their ends, the functions open on them (B, q), and the lowest bound of those."""

    lower: FloatArray
    upper: FloatArray
    is_open: BoolArray
    bound: FloatArray
    # log of the factor that a negative bound may lose on the way back to the first box.
    factor: FloatArray

    def __len__(self) -> int:
        return len(self.bound)

    def parts(self) -> tuple[FloatArray, FloatArray, BoolArray, FloatArray, FloatArray]:
        return self.lower, self.upper, self.is_open, self.bound, self.factor

    def take(self, rows: NDArray[Any]) -> _Nodes:
        return _Nodes(*(part[rows] for part in self.parts()))

    def lowest(self) -> float:
        """Return the lowest bound, of sides of boxes as of the boxes they are sides of."""
        restored = np.where(self.bound < 0.0, self.bound * np.exp(self.factor), self.bound)
        return float(restored.min(initial=np.inf))


def _join(*nodes: _Nodes) -> _Nodes:
    return _Nodes(*(np.concatenate(parts) for parts in zip(*(n.parts() for n in nodes), strict=True)))  # fmt: skip


class _Search:
    """One box under decision."""

    def __init__(self, function: KernelFunction, lower: FloatArray, upper: FloatArray):
        self.function, self.lower, self.upper = function, lower, upper
        all_open = np.ones((1, function.n_functions), dtype=np.bool_)
        self.waiting = _Nodes(lower[None], upper[None], all_open, np.array([-np.inf]), np.zeros(1))
        self.nodes = 0
        # The lowest bound among what is proved, and among boxes that cannot be cut.
        self.proved, self.stuck = np.inf, np.inf
        self.next_descent = 1

    def run(self, max_nodes: int, end: float) -> Verdict:
        at_once = min(max(_BLOCK // max(1, self.function.vectors.size), _MIN_BOXES), _MAX_BOXES)
        while len(self.waiting):
            count = min(at_once, max_nodes - self.nodes)
            if count <= 0 or (self.nodes and time.process_time() > end):
                return self._verdict("unknown", None)
            witness = self._look_at(self._lowest(count))
            if witness is not None:
                return self._verdict("refuted", witness)
        # What overflows is stuck at minus infinity.
        return self._verdict("unknown" if self.stuck < np.inf else "proved", None)

    def _lowest(self, count: int) -> _Nodes:
        """Take the boxes with the lowest bounds out of those that wait."""
        order = np.arange(len(self.waiting))
        if count < len(order):
            order = np.argpartition(self.waiting.bound, count - 1)
        taken, self.waiting = self.waiting.take(order[:count]), self.waiting.take(order[count:])
        return taken

    def _look_at(self, nodes: _Nodes) -> FloatArray | None:
        """Bound boxes, cut those that stay open; a witness ends the search."""
        bounds = lower_bounds(self.function, nodes.lower, nodes.upper, requested=nodes.is_open)
        self.nodes += len(nodes)
        is_done = nodes.is_open & (bounds.value > 0.0)
        self.proved = min(self.proved, float(bounds.value[is_done].min(initial=np.inf)))
        is_open = nodes.is_open & ~is_done
        rows = np.flatnonzero(is_open.any(axis=1))
        if not len(rows):
            return None
        witness = self._witness(bounds.minoriser[rows])
        if witness is None:
            lowest = np.where(is_open, bounds.value, np.inf).min(axis=1)
            left = _Nodes(nodes.lower, nodes.upper, is_open, lowest, nodes.factor).take(rows)
            self._branch(left, bounds.gap[rows], bounds.direction[rows])
        return witness

    def _witness(self, points: FloatArray) -> FloatArray | None:
        """Try points, and now and then go down from the best."""
        function = self.function
        values = function.values(points)
        witness = confirm(function, points[(values < 0.0).any(axis=1)])
        if witness is not None or self.nodes < self.next_descent:
            return witness
        if self.next_descent == 1:
            witness = hunt(function, self.lower, self.upper)
        self.next_descent = 2 * self.nodes
        row, k = np.unravel_index(int(values.argmin()), values.shape)
        if witness is None:
            ends = self.lower, self.upper
            found, value = descend(function, int(k), points[[row]], *ends, rounds=_DESCENT)
            witness = confirm(function, found[value < 0.0])
        return witness

    def _branch(self, nodes: _Nodes, gap: FloatArray, direction: NDArray[np.int8]) -> None:
        """Fix what is monotone, and cut across the coordinate with the largest gap."""
        lower = np.where(direction < 0, nodes.upper, nodes.lower)
        upper = np.where(direction > 0, nodes.lower, nodes.upper)
        factor = nodes.factor
        rate = KERNELS[self.function.kind].growth_rate(self.function)
        if rate:
            # growth f is monotone, not f: going back along a coordinate fixed here, exp(g v^2) is lost at most.
            # A little more than that, for rounding.
            fixed = (direction != 0) * (nodes.upper / 2.0 - nodes.lower / 2.0)
            factor = factor + 1.000001 * rate * (fixed * fixed).sum(axis=1)
        middle = lower / 2.0 + upper / 2.0
        can_cut = (lower < middle) & (middle < upper)
        gap = np.where(can_cut, gap, 0.0)
        # Without any gap the bound is off by rounding alone; the widest side is as good as another.
        gap = np.where(gap.any(axis=1, keepdims=True), gap, can_cut * (middle - lower))
        cut = np.arange(len(lower)), gap.argmax(axis=1)
        sides = _Nodes(lower, upper, nodes.is_open, nodes.bound, factor)
        left_upper, right_lower = upper.copy(), lower.copy()
        left_upper[cut], right_lower[cut] = middle[cut], middle[cut]
        whole = ~np.asarray(can_cut.any(axis=1))
        # A side without width stays where it was; asked again, it would answer the same until all nodes are used.
        moved = whole & np.asarray(((direction != 0) & (nodes.lower < nodes.upper)).any(axis=1))
        self.stuck = min(self.stuck, sides.take(whole & ~moved).lowest())
        self.waiting = _join(
            self.waiting,
            sides.take(moved),
            replace(sides, upper=left_upper).take(~whole),
            replace(sides, lower=right_lower).take(~whole),
        )

    def _verdict(
        self, status: Literal["proved", "refuted", "unknown"], witness: FloatArray | None
    ) -> Verdict:
        bound = min(self.proved, self.stuck, self.waiting.lowest())
        return Verdict(status, witness, self.nodes, -np.inf if status == "refuted" else bound)


# Shares of the way to the corner, tried at once.
_STEPS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01])
_ROUNDS = 30
_STARTS = 16
# A descent that gains less, relative to what is left to go, has arrived.
_GAIN = 1e-3


def descend(
    function: KernelFunction,
    k: int,
    starts: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    rounds: int = _ROUNDS,
) -> tuple[FloatArray, FloatArray]:
    """Go down from all starts at once; stop when one is below 0, or nothing moves."""
    points, values = starts, function.values(starts)[:, k]
    for _ in range(rounds):
        if bool((values < 0.0).any()):
            break
        corners = np.where(
            KERNELS[function.kind].gradients(function, k, points) > 0.0, lower, upper
        )
        tried = points + _STEPS[:, None, None] * (corners - points)
        # Rounding may step over a side.
        tried = np.clip(tried, lower, upper)
        found = function.values(tried.reshape(-1, tried.shape[2]))[:, k].reshape(len(_STEPS), -1)
        best = found.argmin(axis=0)
        places = np.arange(len(points))
        reached = found[best, places]
        better = reached < values
        gained = values - reached > _GAIN * np.abs(values)
        points = np.where(better[:, None], tried[best, places], points)
        values = np.where(better, reached, values)
        if not bool(gained.any()):
            break
    return points, values


def confirm(function: KernelFunction, points: FloatArray) -> FloatArray | None:
    """Give the first point where a function is negative beyond all errors of rounding."""
    if not len(points):
        return None
    q = range(function.n_functions)
    negated = function.take(q, [-1 for _ in q])
    proved = np.flatnonzero((lower_bounds(negated, points, points).value > 0.0).any(axis=1))
    return points[proved[0]] if len(proved) else None


def hunt(function: KernelFunction, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
    """Look for a point of a box where a function is negative."""
    middle = np.clip(lower / 2.0 + upper / 2.0, lower, upper)
    for k in range(function.n_functions):
        against = function.coefs[:, k] < 0.0
        starts = np.vstack([middle, np.clip(function.vectors[against], lower, upper)])
        order = np.argsort(function.values(starts)[:, k], kind="stable")[:_STARTS]
        starts = starts[np.union1d(order, [0])]
        points, values = descend(function, k, starts, lower, upper)
        witness = confirm(function, points[values < 0.0])
        if witness is not None:
            return witness
    return None
