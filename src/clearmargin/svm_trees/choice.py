"""Choose kernel, cost and number of layers of a tree by cross-validation on its training data.

First the machine: each kernel with each cost is trained on all rows of the training parts, as a tree of one leaf, and
judged on the others. Costs are `COSTS` divided by the mean variance of the scaled columns, so that they mean the same
whatever the shape of the columns: on columns of unit variance the costs would be `COSTS` themselves. Then the number of
layers, with this machine: trees grow side by side in all training parts, layer by layer, and what is in no leaf yet is
one leaf with the machine. One layer is the machine by itself, so that a tree is grown only where cutting helps on rows
that it was not grown from: growth stops when `PATIENCE` more layers have not helped.

Rows are judged by the weights of their classes, with balanced weights by the mean of the classes' accuracies. A kernel
is preferred to planes, which have exact rules, only if the gain is larger than its standard error over the parts, and
several layers to one only if it is larger than twice that: the best of many numbers of layers may be so by chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from clearmargin.models.kernel_function import KernelKind
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.svm_trees.grow import Growth, LocalSVM, Partition, grow_in_steps
from clearmargin.svm_trees.svm_tree import Layer, SVMTree, TrainingRange

__all__ = ["COSTS", "KERNELS", "choose_layers", "choose_machine", "relative_costs"]

# Chosen on the tuning tables of `benchmarks.rare_classes`: 0.3 was best for planes, less for RBF.
COSTS = (0.03, 0.3, 3.0)
KERNELS: tuple[KernelKind, ...] = ("linear", "rbf")
PATIENCE = 3
# Standard errors by which a kernel and several layers have to be better.
_KERNEL_EVIDENCE, _LAYERS_EVIDENCE = 1.0, 2.0
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows to grow a tree from, and rows to judge it on."""

    train: IntArray
    judge: IntArray


def relative_costs(points: FloatArray) -> tuple[float, ...]:
    """Give the costs to choose from for some training points.

    Examples
    --------
    >>> relative_costs(np.array([[0.0, 5.0], [1.0, 5.0]]))
    (0.12, 1.2, 12.0)
    """
    variances = TrainingRange.from_points(points).scale(points).var(axis=0)
    spread = float(variances[variances > 0].mean()) if variances.any() else 1.0
    return tuple(cost / spread for cost in COSTS)


def choose_machine(
    points: FloatArray,
    codes: IntArray,
    partition: Partition,
    growth: Growth,
    machines: Sequence[LocalSVM],
) -> LocalSVM:
    """Choose the machine that is best by itself.

    Parameters
    ----------
    points, codes, partition, growth
        As for `grow`.
    machines : sequence of LocalSVM
        What to choose from.

    Returns
    -------
    LocalSVM
        The best one; one with planes unless another one is better by more than a standard error.

    Examples
    --------
    >>> from clearmargin.svm_trees.grow import KMeansPartition
    >>> X = np.linspace(0.0, 1.0, 30)[:, None]
    >>> codes = (np.abs(X[:, 0] - 0.5) < 0.2).astype(int)
    >>> machines = [LocalSVM(10.0), LocalSVM(10.0, kind="rbf", gamma=5.0)]
    >>> choose_machine(X, codes, KMeansPartition(2), Growth("breadth", 0.02, machines[0]), machines).kind
    'rbf'
    """
    if len(machines) == 1:
        return machines[0]
    parts = _parts(codes)
    scores = []
    for svm in machines:
        trees = _forest(points, codes, parts, partition, replace(growth, svm=svm))
        scores.append(_scores(next(trees), points, codes, parts, svm))
    table = np.array(scores)
    best = int(table.mean(axis=1).argmax())
    planes = [k for k, svm in enumerate(machines) if svm.kind == "linear"]
    if planes and best not in planes:
        first = max(planes, key=lambda k: float(table[k].mean()))
        best = best if _is_better(table[best] - table[first], _KERNEL_EVIDENCE) else first
    return machines[best]


def choose_layers(
    points: FloatArray, codes: IntArray, partition: Partition, growth: Growth
) -> int | None:
    """Choose the maximum number of layers.

    Parameters
    ----------
    points, codes, partition, growth
        As for `grow`.

    Returns
    -------
    int or None
        The number; None where the best trees are those that needed no more layers.

    Examples
    --------
    >>> from clearmargin.svm_trees.grow import KMeansPartition
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> islands, line = (np.floor(X[:, 0] * 4) % 2).astype(int), (X[:, 0] > 0.5).astype(int)
    >>> growth = Growth("breadth", 0.02, LocalSVM(10.0))
    >>> [choose_layers(X, y, KMeansPartition(2), growth) == 1 for y in (islands, line)]
    [False, True]
    """
    parts = _parts(codes)
    table: list[FloatArray] = []
    best, is_complete = 0, False
    for step, trees in enumerate(_forest(points, codes, parts, partition, growth)):
        table.append(_scores(trees, points, codes, parts, growth.svm))
        if table[step].mean() > table[best].mean():
            best = step
        elif step - best >= PATIENCE:
            break
    else:
        is_complete = best == len(table) - 1
    if not best or not _is_better(table[best] - table[0], _LAYERS_EVIDENCE):
        return 1
    return None if is_complete else best + 1


def _parts(codes: IntArray) -> list[_Part]:
    folds = max(2, min(_FOLDS, int(np.bincount(codes).min())))
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # A class of a single row is in one part only.
        warnings.simplefilter("ignore", UserWarning)
        return [_Part(train, judge) for train, judge in split.split(codes[:, None], codes)]


def _forest(
    points: FloatArray,
    codes: IntArray,
    parts: Sequence[_Part],
    partition: Partition,
    growth: Growth,
) -> Iterator[list[SVMTree]]:
    """Yield the trees of all parts with at most one layer, two, ... until all of them are complete."""
    growing = [
        grow_in_steps(
            points[part.train], codes[part.train], partition, growth, np.random.RandomState(0)
        )
        for part in parts
    ]
    names = [str(j) for j in range(points.shape[1])]
    classes = range(int(codes.max()) + 1)
    latest: list[tuple[list[Layer], TrainingRange] | None] = [None] * len(parts)
    while True:
        grown = [next(steps, None) for steps in growing]
        if not any(grown):
            return
        latest = [new or old for new, old in zip(grown, latest, strict=True)]
        yield [
            SVMTree(tree[0], tree[1].low, tree[1].width, names, classes) for tree in latest if tree
        ]


def _scores(
    trees: Sequence[SVMTree],
    points: FloatArray,
    codes: IntArray,
    parts: Sequence[_Part],
    svm: LocalSVM,
) -> FloatArray:
    """Give the share of the weight of unseen rows that each tree is right about."""
    scores = []
    for tree, part in zip(trees, parts, strict=True):
        truth, costs = codes[part.judge], svm.costs(codes[part.judge])
        right = tree.decide(points[part.judge]) == truth
        scores.append(float(costs[right].sum() / costs.sum()))
    return np.array(scores)


def _is_better(gains: FloatArray, evidence: float) -> bool:
    """Whether a gain is larger than so many standard errors over the parts."""
    return bool(gains.mean() > evidence * gains.std(ddof=1) / np.sqrt(len(gains)))
