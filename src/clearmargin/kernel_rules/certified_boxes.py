"""Boxes of rules, shrunk until the kernel machine is proved to give their class everywhere in them."""

from __future__ import annotations

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.kernel_rules.growth import ProvedBox
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.models.kernel_machine import KernelMachine
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes
from clearmargin.rules import Box
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["prove_boxes"]

# Points that proved boxes left out start boxes of their own, at most so many times as there were boxes, and until so
# many boxes in a row have covered hardly any of them: what is left then lies along the surface, where boxes are tiny.
_MORE_STARTS = 3
_PATIENCE, _FEW = 4, 3


def prove_boxes(
    machine: KernelMachine, task: ExtractionTask, found: FoundBoxes, budget: int
) -> FoundBoxes:
    """Shrink boxes to a part that is proved; points that are lost on the way start boxes of their own.

    The part grows from the deepest training point of the box, the one with the largest decision function, towards the
    ends of the box. Boxes end with the training points, since the sign of a kernel machine far from all data says
    little, and proofs need ends.

    Parameters
    ----------
    machine : KernelMachine
        The machine.
    task : ExtractionTask
        The training points.
    found : FoundBoxes
        Boxes over the encoded columns.
    budget : int
        Most boxes that a proof may look at.

    Returns
    -------
    FoundBoxes
        Proved boxes.
    """
    functions = [machine.region(k) for k in range(len(machine.classes))]
    Z = machine.to_machine(task.points)
    depth = np.stack([function.values(Z).min(axis=1) for function in functions], axis=1)
    prover = _Prover(machine, functions, task, depth, budget)
    ends = zip(found.boxes.lower, found.boxes.upper, found.codes, strict=True)
    boxes = [prover.prove(lower, upper, int(k)) for lower, upper, k in ends]
    kept = [(box, int(k)) for box, k in zip(boxes, found.codes, strict=True) if box is not None]
    kept += _more(prover, [box for box, _ in kept], _MORE_STARTS * len(found.boxes))
    if not kept:
        raise DataError(
            f"no box could be proved with a budget of {budget} boxes a proof; raise budget, or use certify=False"
        )
    limits = np.array([box for box, _ in kept])
    # What the machine does not look at needs no bound.
    idle = np.setdiff1d(np.arange(limits.shape[2]), machine.source)
    limits[:, 0, idle], limits[:, 1, idle] = -np.inf, np.inf
    codes = np.array([k for _, k in kept], dtype=np.intp)
    return FoundBoxes(
        Boxes.from_bounds(limits[:, 0], limits[:, 1]), codes, np.ones(len(codes), dtype=np.bool_)
    )


class _Prover:
    """Grows proved boxes around training points."""

    def __init__(
        self,
        machine: KernelMachine,
        functions: list[KernelFunction],
        task: ExtractionTask,
        depth: FloatArray,
        budget: int,
    ):
        self.machine = machine
        self.functions = functions
        self.task = task
        self.depth = depth
        self.budget = budget

    def prove(self, lower: FloatArray, upper: FloatArray, k: int) -> FloatArray | None:
        """The proved part of a box around its deepest point, as its two ends; None where it holds no point."""
        task = self.task
        low, high = np.maximum(lower, task.lower), np.minimum(upper, task.upper)
        held = Box(low, high).contains(task.points)
        depth = np.where(held, self.depth[:, k], -np.inf)
        row = int(np.argmax(depth))
        return self.grow(row, k, low, high) if depth[row] > 0 else None

    def grow(self, row: int, k: int, low: FloatArray, high: FloatArray) -> FloatArray | None:
        """A proved box within limits, around a point on the side of class k; None where it is too near the surface."""
        task = self.task
        start = task.points[row]
        box = ProvedBox(self.machine, self.functions[k], start, self.budget)
        near = task.points[(self.depth[:, k] > 0) & Box(low, high).contains(task.points)]
        reach = np.where(task.upper > task.lower, task.upper - task.lower, 1.0)
        box.grow_over(near[np.argsort(np.abs((near - start) / reach).max(axis=1), kind="stable")])
        # To the end or not at all: a bound at the end of the data is one that a rule need not think about.
        box.grow_sides(low, high, steps=0)
        return np.stack([box.lower, box.upper]) if box.is_proved() else None


def _more(prover: _Prover, proved: list[FloatArray], most: int) -> list[tuple[FloatArray, int]]:
    """Boxes around points that no proved box covers, the deepest first, while they cover more than a few of these."""
    task = prover.task
    bare: BoolArray = np.ones(len(task.points), dtype=np.bool_)
    for box in proved:
        bare &= ~Box(*box).contains(task.points)
    found: list[tuple[FloatArray, int]] = []
    idle = 0
    for _ in range(most):
        score = np.where(bare[:, None], prover.depth, -np.inf)
        row, k = np.unravel_index(int(np.argmax(score)), score.shape)
        if score[row, k] <= 0 or idle == _PATIENCE:
            break
        grown = prover.grow(int(row), int(k), task.lower, task.upper)
        if grown is None:
            bare[row] = False
            idle += 1
            continue
        held = Box(*grown).contains(task.points)
        idle = 0 if np.count_nonzero(held & bare) >= _FEW else idle + 1
        bare &= ~held
        bare[row] = False
        found.append((grown, int(k)))
    return found
