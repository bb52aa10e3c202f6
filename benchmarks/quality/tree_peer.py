"""The peer that everybody has: a decision tree of scikit-learn that learns what the machine predicts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import Answer

__all__ = ["TREES", "leaves", "rules_of", "tree_answers"]

TREES: dict[str, dict[str, int]] = {
    "scikit-learn tree, depth 3": {"max_depth": 3},
    "scikit-learn tree, 7 leaves": {"max_leaf_nodes": 7},
    "scikit-learn tree, 16 leaves": {"max_leaf_nodes": 16},
}


def leaves(tree: DecisionTreeClassifier) -> list[int]:
    """The number of bounds of each leaf; leaves side by side of one class count as one."""
    return rules_of(tree)[0]


def rules_of(tree: DecisionTreeClassifier) -> tuple[list[int], NDArray[np.intp]]:
    """The number of bounds of each rule, and for each node the rule it is a leaf of (-1 for one that is split).

    A rule is a leaf, or leaves side by side of one class together.
    """
    structure = tree.tree_
    says: NDArray[np.intp] = structure.value[:, 0, :].argmax(axis=1)
    sizes: list[int] = []
    rule_of = np.full(structure.node_count, -1, dtype=np.intp)

    def note(nodes: list[int], bounds: int) -> None:
        rule_of[nodes] = len(sizes)
        sizes.append(bounds)

    def walk(node: int, path: frozenset[tuple[int, bool]]) -> tuple[int, list[int]] | None:
        """The class and the leaves of the part below a node where it has one class; the caller then notes the rule."""
        left, right = structure.children_left[node], structure.children_right[node]
        if left < 0:
            return int(says[node]), [node]
        feature = int(structure.feature[node])
        sides = path | {(feature, False)}, path | {(feature, True)}
        first, second = walk(left, sides[0]), walk(right, sides[1])
        if first is not None and second is not None and first[0] == second[0]:
            return first[0], first[1] + second[1]
        # Parts of one class that cannot be merged any further are rules.
        for part, side in zip((first, second), sides, strict=True):
            if part is not None:
                note(part[1], len(side))
        return None

    whole = walk(0, frozenset())
    if whole is not None:
        note(whole[1], 0)
    return sizes, rule_of


def tree_answers(fold: Fold) -> dict[str, Answer]:
    """What the trees say on the held-out rows.

    The score of a row is that of our own rules: the share of the second class among the training rows that the same
    rule decides, with one row of each class added.
    """
    found = {}
    for name, options in TREES.items():
        start = time.process_time()
        tree: Any = DecisionTreeClassifier(random_state=fold.seed, **options)
        tree.fit(fold.X_train, fold.predicted_train)
        seconds = time.process_time() - start
        sizes, rule_of = rules_of(tree)
        decides = rule_of[tree.apply(fold.X_train)]
        counts = np.bincount(decides, minlength=len(sizes)) + 2.0
        ones = np.bincount(decides, fold.predicted_train, minlength=len(sizes)) + 1.0
        found[name] = Answer(
            tree.predict(fold.X_test),
            np.ones(len(fold.X_test), dtype=np.bool_),
            len(sizes),
            sum(sizes),
            seconds,
            score=(ones / counts)[rule_of[tree.apply(fold.X_test)]],
            overlap=0.0,
        )
    return found
