"""The cancers of Table II of Pang and Kasabov (IJCNN 2008): the data, a hundred genes, and tests of all methods."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.reproduce.svm_tree_methods import (
    Answer,
    linear_svm,
    machine_answer,
    machine_answers,
    polynomial_svm,
    tree_answers,
)

__all__ = [
    "FILES",
    "FOLDS",
    "METHODS",
    "QUICK_METHODS",
    "GeneSet",
    "Measures",
    "choose_genes",
    "data_folder",
    "evaluate",
    "filled",
    "load_sets",
]

N_GENES, FOLDS = 100, 10


# Files, and the number of rows that come first and are the training part of the original study, where that is known.
FILES: dict[str, tuple[str, int | None]] = {
    "lymphoma": ("gene_lymphoma_shipp.csv.gz", None),
    "leukaemia": ("gene_leukemia_golub.csv.gz", 38),
    "CNS": ("gene_cns_pomeroy.csv", None),
    "colon": ("gene_colon_alon.csv", None),
    "breast": ("gene_breast_vantveer.csv.gz", 78),
    "lung": ("gene_lung_gordon.csv.gz", None),
}
METHODS = (
    "linear SVM",
    "polynomial SVM",
    "SVM-Rule, to the letter",
    "SVM-Rule, tuned",
    "SVMT = exact rules",
    "r-SVMT as published",
    "r-SVMT, simplified",
    "SVMT as published",
    "SVMT as published, strict",
    "r-SVMT as published, pairs",
    "SVMT, minority",
    "r-SVMT, minority, simplified",
)
QUICK_METHODS = ("linear SVM", "polynomial SVM", "SVMT = exact rules")
Array = NDArray[Any]
Measures = dict[str, dict[str, float]]


@dataclass(frozen=True)
class GeneSet:
    """Expressions of genes, the classes of the patients, and how many of the first ones are for training, if said."""

    name: str
    X: NDArray[np.float64]
    y: Array
    n_train: int | None = None

    @property
    def n_tested(self) -> int:
        """Number of patients that a repeat tests."""
        return len(self.y) - (self.n_train or 0)

    def parts(self, repeat: int) -> list[tuple[Array, Array]]:
        """Training and test rows: the split of the study, or ten folds that differ from repeat to repeat."""
        if self.n_train is not None:
            rows = np.arange(len(self.y))
            return [(rows[: self.n_train], rows[self.n_train :])]
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
        return list(folds.split(self.X, self.y))


def data_folder() -> Path:
    """Where gene files are looked for: CLEARMARGIN_DATA, else shared/data beside the repository."""
    given = os.environ.get("CLEARMARGIN_DATA")
    return Path(given) if given else Path(__file__).parents[3] / "shared" / "data"


def load_sets(folder: Path, names: Sequence[str] = tuple(FILES)) -> tuple[list[GeneSet], list[str]]:
    """The sets that are at hand, and the files of those that are not."""
    found, missing = [], []
    for name in names:
        file, n_train = FILES[name]
        if (folder / file).exists():
            frame = pd.read_csv(folder / file)
            y = frame.pop("target").to_numpy(dtype=str)
            found.append(GeneSet(name, frame.to_numpy(dtype=np.float64), y, n_train))
        else:
            missing.append(file)
    return found, missing


def choose_genes(
    X: NDArray[np.float64], y: Array, count: int = N_GENES, *, pooled: bool = False
) -> NDArray[np.intp]:
    """The genes with the largest t statistic between two classes, Welch's or Student's (pooled)."""
    first = y == y[0]
    n, m = np.count_nonzero(first), np.count_nonzero(~first)
    a, b = X[first].var(axis=0, ddof=1), X[~first].var(axis=0, ddof=1)
    shared = ((n - 1) * a + (m - 1) * b) / (n + m - 2)
    squared = shared * (1 / n + 1 / m) if pooled else a / n + b / m
    gap = np.abs(X[first].mean(axis=0) - X[~first].mean(axis=0))
    # A gene that does not vary tells nothing.
    score = np.where(squared > 0, gap / np.sqrt(np.where(squared > 0, squared, 1.0)), 0.0)
    return np.argsort(-score, kind="stable")[:count]


def filled(
    train: NDArray[np.float64], test: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Put the mean of the training part where a value is missing; 0 where a gene has none at all."""
    gaps = np.isnan(train)
    known = np.maximum(np.count_nonzero(~gaps, axis=0), 1)
    mean = np.where(gaps, 0.0, train).sum(axis=0) / known
    return np.where(gaps, mean, train), np.where(np.isnan(test), mean, test)


def evaluate(data: GeneSet, repeat: int, *, pooled: bool = False, quick: bool = False) -> Measures:
    """Accuracy over all tested patients of one repeat, and rules and support vectors averaged over its folds."""
    right: dict[str, list[bool]] = {}
    sizes: dict[str, list[tuple[int, int]]] = {}
    for rows, tested in data.parts(repeat):
        train, test = filled(data.X[rows], data.X[tested])
        genes = choose_genes(train, data.y[rows], pooled=pooled)
        answers = _answers(train[:, genes], data.y[rows], test[:, genes], repeat, quick)
        for name, answer in answers.items():
            right.setdefault(name, []).extend(answer.labels == data.y[tested])
            sizes.setdefault(name, []).append((answer.rules or 0, answer.vectors))
    means = {name: np.mean(counts, axis=0) for name, counts in sizes.items()}
    return {
        name: {
            "accuracy": 100 * float(np.mean(right[name])),
            "rules": float(means[name][0]),
            "vectors": float(means[name][1]),
            "rules in all folds": float(sum(rules for rules, _ in sizes[name])),
            "vectors in all folds": float(sum(vectors for _, vectors in sizes[name])),
        }
        for name in right
    }


def _answers(X: Array, y: Array, test: Array, seed: int, quick: bool) -> dict[str, Answer]:
    found = {"linear SVM": machine_answer(linear_svm(), X, y, test)}
    if quick:
        found["polynomial SVM"] = machine_answer(polynomial_svm(), X, y, test)
        found["SVMT = exact rules"] = tree_answers(X, y, test, seed, rules=False)["tree"]
        return found
    machine = machine_answers(polynomial_svm(), X, y, test)
    tree = tree_answers(X, y, test, seed)
    rare = tree_answers(X, y, test, seed, published=False, loss="minority")
    return found | {
        "polynomial SVM": machine["machine"],
        "SVM-Rule, to the letter": machine["letter"],
        "SVM-Rule, tuned": machine["tuned"],
        # By its rules, which is what the next table counts.
        "SVMT = exact rules": tree["exact"],
        "r-SVMT as published": tree["published"],
        "r-SVMT, simplified": tree["simplified"],
        "SVMT as published": tree["published tree"],
        "SVMT as published, strict": tree["strict"],
        "r-SVMT as published, pairs": tree["pairs"],
        "SVMT, minority": rare["exact"],
        "r-SVMT, minority, simplified": rare["simplified"],
    }
