"""A tree of support vector machines walked by loops, and the machine of a cell trained by scikit-learn."""

import math
from itertools import combinations

import numpy as np
from sklearn.svm import SVC

__all__ = ["cell_of", "duel_values", "machine_answers", "walk", "winner"]


def scaled(tree, x):
    """A row where each feature ranges from 0 to 1; one that does not vary counts nothing."""
    return [(v - low) / width for v, low, width in zip(x, tree.low, tree.width, strict=True)]


def cell_of(tree, layer, x):
    """The nearest centre of a layer, None where another one is as near but for rounding."""
    z = scaled(tree, x)
    squared = [
        sum((a - b) ** 2 for a, b in zip(z, scaled(tree, c), strict=True)) for c in layer.centres
    ]
    best = int(np.argmin(squared))
    near = [d for k, d in enumerate(squared) if k != best and d - squared[best] <= 1e-9 * (1 + d)]
    return None if near else best


def walk(tree, x):
    """The number of the leaf of a row and the class it gives, None where rounding decides."""
    number = 0
    for layer in tree.layers:
        cell = cell_of(tree, layer, x)
        if cell is None:
            return None, None
        leaf = layer.leaves[cell]
        if leaf is not None:
            number += sum(other is not None for other in layer.leaves[:cell])
            return number, winner(leaf, duel_values(leaf, x))
        number += sum(other is not None for other in layer.leaves)
    raise AssertionError("all cells of the last layer are leaves")


def duel_values(leaf, x):
    """For each pair of classes a number that is positive where the second one wins."""
    return [
        sum(w * v for w, v in zip(normal, x, strict=True)) - offset
        for normal, offset in zip(leaf.normals, leaf.offsets, strict=True)
    ]


def winner(leaf, values):
    """The class that wins all its duels, else the most frequent one; None where a duel is within rounding."""
    if any(abs(value) < 1e-9 for value in values) and leaf.pairs:
        return None
    for code in sorted({code for pair in leaf.pairs for code in pair}):
        if all(
            (value > 0) == (pair[1] == code)
            for pair, value in zip(leaf.pairs, values, strict=True)
            if code in pair
        ):
            return code
    return leaf.label


def machine_answers(Z, codes, costs):
    """What the machines of a cell say of its own points, -1 where that is not clear."""
    present = sorted(set(codes.tolist()))
    wins = {code: np.ones(len(Z), dtype=bool) for code in present}
    clear = np.ones(len(Z), dtype=bool)
    for first, second in combinations(present, 2):
        own = np.isin(codes, [first, second])
        mean = Z[own].mean(axis=0)
        radius = math.sqrt(((Z[own] - mean) ** 2).sum(axis=1).max())
        if radius == 0:
            return np.full(len(Z), -1)
        # x -> x / R goes with C -> C R^2, so that small cells are no smaller than others.
        machine = SVC(C=1.0, kernel="linear", tol=1e-8, random_state=0)
        machine.fit((Z[own] - mean) / radius, codes[own] == second, costs[own] * radius**2)
        values = machine.decision_function((Z - mean) / radius)
        clear &= np.abs(values) > 0.01 * np.abs(values).max()
        wins[first] &= values <= 0
        wins[second] &= values > 0
    sums = np.bincount(codes, weights=costs)
    answers = np.full(len(Z), int(np.argmax(sums)))
    for code in present:
        answers[wins[code]] = code
    return np.where(clear, answers, -1)
