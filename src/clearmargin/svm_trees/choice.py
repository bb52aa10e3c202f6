"""Choose the cost and the number of layers of a tree by cross-validation on its training data.

First the machine: with each cost one is trained on all rows of the training parts, as a tree of one leaf, and
judged on the others. Costs are `COSTS` divided by the mean variance of the scaled columns, so that they mean the same
whatever the shape of the columns: on columns of unit variance the costs would be `COSTS` themselves. Then the number of
layers, with this machine: trees grow side by side in all training parts, layer by layer, and what is in no leaf yet is
one leaf with the machine. One layer is the machine by itself, so that a tree is grown only where cutting helps on rows
that it was not grown from: growth stops when `PATIENCE` more layers have not helped.

Rows are judged by the weights of their classes, with balanced weights, or a loss counted over the rarest class, by the
mean of the classes' accuracies. Several layers are preferred to one only if the gain
is larger than twice its standard error over the parts: the best of many numbers of layers may be so by chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.svm_trees.grow import Growth, LocalSVM, grow_in_steps
from clearmargin.svm_trees.svm_tree import SVMTree, TrainingRange

# Chosen on tuning tables with a rare class.
COSTS = (0.03, 0.3, 3.0)
PATIENCE = 3
# Standard errors by which several layers have to be better than one.
_EVIDENCE = 2.0
_FOLDS = 5


def relative_costs(points: FloatArray) -> tuple[float, ...]:
    """Give the costs to choose from for some training points."""
    variances = TrainingRange.from_points(points).scale(points).var(axis=0)
    spread = float(variances[variances > 0].mean()) if variances.any() else 1.0
    return tuple(cost / spread for cost in COSTS)


def choose_machine(
    points: FloatArray,
    codes: IntArray,
    growth: Growth,
    machines: Sequence[LocalSVM],
    weights: FloatArray,
) -> LocalSVM:
    """Choose the machine that is best by itself."""
    if len(machines) == 1:
        return machines[0]
    grown = [replace(growth, svm=svm) for svm in machines]
    table = np.array([next(_scores(points, codes, weights, growth)) for growth in grown])
    return machines[int(table.mean(axis=1).argmax())]


def choose_layers(
    points: FloatArray, codes: IntArray, growth: Growth, weights: FloatArray
) -> int | None:
    """Choose the maximum number of layers."""
    table: list[FloatArray] = []
    best, is_complete = 0, False
    for step, scores in enumerate(_scores(points, codes, weights, growth)):
        table.append(scores)
        if table[step].mean() > table[best].mean():
            best = step
        elif step - best >= PATIENCE:
            break
    else:
        is_complete = best == len(table) - 1
    gains = table[best] - table[0]
    if not best or gains.mean() <= _EVIDENCE * gains.std(ddof=1) / np.sqrt(len(gains)):
        return 1
    return None if is_complete else best + 1


def _parts(codes: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Split rows into those that a tree is grown from and those that it is judged on, several times."""
    counts = np.bincount(codes)
    if counts.max() < 2:  # nothing can be left out
        every = np.arange(len(codes))
        return [(every, every)] * 2
    folds = max(2, min(_FOLDS, int(counts.min())))
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # A class of a single row is in one part only.
        warnings.simplefilter("ignore", UserWarning)
        return list(split.split(codes[:, None], codes))


def _scores(
    points: FloatArray, codes: IntArray, weights: FloatArray, growth: Growth
) -> Iterator[FloatArray]:
    """Yield the share of unseen weight that the tree of each part is right about, with one layer, two, and so on."""
    parts = _parts(codes)
    growing = [
        grow_in_steps(points[rows], codes[rows], growth, np.random.RandomState(0), weights[rows])
        for rows, _ in parts
    ]
    names = [str(j) for j in range(points.shape[1])]
    classes = range(int(codes.max()) + 1)
    trees: list[SVMTree | None] = [None] * len(parts)
    while True:
        grown = [next(steps, None) for steps in growing]
        if not any(grown):
            return
        scores = []
        for k, (new, (_, judge)) in enumerate(zip(grown, parts, strict=True)):
            if new:
                layers, frame = new
                trees[k] = SVMTree(layers, frame.low, frame.width, names, classes)
            tree, truth = trees[k], codes[judge]
            assert tree is not None  # each part has a tree of one layer
            costs = growth.svm.costs(truth) * weights[judge]
            if growth.loss == "minority":
                costs = costs / np.bincount(codes, weights=weights)[truth]
            right = tree.decide(points[judge]) == truth
            scores.append(float(costs[right].sum() / costs.sum()))
        yield np.array(scores)
