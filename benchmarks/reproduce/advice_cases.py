"""Data with expert rules: where the advice benchmarks draw their cases from, and how advice is spoilt on purpose."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clearmargin.datasets import load_cleveland, load_pima
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.language import parse_rules
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet

__all__ = [
    "CORRUPTIONS",
    "PIMA_ADVICE",
    "Advised",
    "Draw",
    "advised",
    "corrupted",
    "error",
    "mean_and_se",
    "quiet",
    "vote",
]

FloatArray = NDArray[np.float64]
Labels = NDArray[np.object_]

# Diabetes Rules 1 to 6 of Kunapuli, Maclin and Shavlik (NIPS 2011 and its poster).
PIMA_ADVICE = """
R1: glucose <= 126 => tested_negative
R2: glucose >= 126 and glucose <= 140 and bmi <= 30 => tested_negative
R3: glucose >= 126 and glucose <= 140 and bmi >= 30 => tested_positive
R4: glucose >= 140 => tested_positive
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""
# Clinical rules of thumb about coronary disease.
CLEVELAND_ADVICE = """
`ST depression with exercise angina`: exang >= 0.5 and oldpeak >= 1 => disease
`narrowed vessel`: ca >= 1 => disease
`reversible perfusion defect`: thal_7 >= 0.5 => disease
`symptoms, no exercise angina`: cp_4 <= 0.5 and exang <= 0.5 => no_disease
`good capacity, no ST change`: thalach >= 150 and oldpeak <= 1 => no_disease
`clean vessels, normal perfusion`: ca <= 0 and thal_3 >= 0.5 => no_disease
"""
LINEAR_ADVICE = """
x0 >= 0.5 and x1 >= 0 => yes
x0 <= -0.5 and x1 <= 0 => no
x2 <= -1 and x0 >= 0 => yes
x2 >= 1 and x0 <= 0 => no
x1 >= 1 => yes
x1 <= -1 => no
"""
CURVED_ADVICE = """
x0 >= 0 and x1 >= 0 => yes
x0 <= 0 and x1 <= 0 => no
x2 >= 1 => yes
x2 <= -1 => no
"""
CORRUPTIONS = ("all classes flipped", "half flipped", "bounds + 1 sd", "bounds - 1 sd", "other variables")  # fmt: skip
# Categories of Cleveland that are codes without an order.
_CODES = ["cp", "restecg", "slope", "thal"]
# With fewer points of a class, cross-validation has nothing to choose by.
_LEAST = 2
_SMALLEST = 10
_EXPECTED = (
    "the advice deserves a look",
    "refinement was still improving",
    "the plane is constant",
)


@dataclass(frozen=True, slots=True)
class Draw:
    """Points to train on, in random order, and points to test on."""

    X: pd.DataFrame
    y: Labels
    X_test: pd.DataFrame
    y_test: Labels


@dataclass(frozen=True, slots=True)
class Advised:
    """Data with advice: `draw(run)` gives another draw for each run; `reference` is what ranges are taken from."""

    name: str
    rules: RuleSet
    reference: pd.DataFrame
    draw: Callable[[int], Draw]
    largest: int


@contextmanager
def quiet() -> Iterator[None]:
    """Silence what is expected here: rules that overlap, refinement stopped early, and planes without weights."""
    with warnings.catch_warnings():
        for start in _EXPECTED:
            warnings.filterwarnings("ignore", message=start, category=ClearmarginWarning)
        yield


@cache
def advised(name: str) -> Advised:
    """The data sets by name: pima, cleveland, linear, curved."""
    if name == "pima":
        X, y = load_pima(return_X_y=True)
        return _from_table("Pima", PIMA_ADVICE, X, y, 1, test=412)
    if name == "cleveland":
        X, y = load_cleveland("disease", return_X_y=True)
        X = pd.get_dummies(X.astype(dict.fromkeys(_CODES, int)), columns=_CODES, dtype=float)
        return _from_table("Cleveland", CLEVELAND_ADVICE, X, y, 2, test=97)
    if name == "linear":
        return _from_law("Synthetic, linear", LINEAR_ADVICE, linear_law, 3)
    return _from_law("Synthetic, curved", CURVED_ADVICE, curved_law, 4)


def _from_table(
    name: str, advice: str, X: pd.DataFrame, y: pd.Series, seed: int, test: int
) -> Advised:
    labels = np.asarray(y, dtype=object)

    def draw(run: int) -> Draw:
        rng = np.random.default_rng([seed, run])
        while True:
            order = rng.permutation(len(X))
            held, rest = order[:test], order[test:]
            if _has_both(labels[rest]):
                return Draw(X.iloc[rest], labels[rest], X.iloc[held], labels[held])

    return Advised(name, _rules(advice, X, labels), X, draw, len(X) - test)


Law = Callable[[np.random.Generator, int], tuple[FloatArray, NDArray[np.bool_]]]


def linear_law(rng: np.random.Generator, m: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Six normal variables, two correlated; a plane in four of them decides; 10 % of labels are wrong."""
    X = rng.standard_normal((m, 6))
    X[:, 1] = 0.5 * X[:, 0] + np.sqrt(0.75) * X[:, 1]
    is_yes = X @ np.array([2.0, 1.5, -1.0, 0.8, 0.0, 0.0]) > 0.3
    return X, is_yes ^ (rng.random(m) < 0.1)


def curved_law(rng: np.random.Generator, m: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Ten normal variables; a sum with a product and a square decides; 5 % of labels are wrong."""
    X = rng.standard_normal((m, 10))
    score = X[:, 0] + X[:, 1] + 0.8 * X[:, 2] + X[:, 3] * X[:, 4]
    score += 0.7 * (X[:, 5] ** 2 - 1) + 0.5 * X[:, 6]
    return X, (score > 0) ^ (rng.random(m) < 0.05)


def _from_law(name: str, advice: str, law: Law, seed: int) -> Advised:
    def sample(rng: np.random.Generator, m: int) -> tuple[pd.DataFrame, Labels]:
        X, is_yes = law(rng, m)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        return frame, np.where(is_yes, "yes", "no").astype(object)

    def draw(run: int) -> Draw:
        rng = np.random.default_rng([seed, run])
        X, y = sample(rng, 300)
        while not _has_both(y):
            X, y = sample(rng, 300)
        return Draw(X, y, *sample(rng, 2_000))

    reference, labels = sample(np.random.default_rng([seed]), 2_000)
    return Advised(name, _rules(advice, reference, labels), reference, draw, 300)


def _has_both(y: Labels) -> bool:
    _, counts = np.unique(y[:_SMALLEST], return_counts=True)
    return len(counts) == 2 and int(counts.min()) >= _LEAST


def _rules(advice: str, X: pd.DataFrame, y: Labels) -> RuleSet:
    return parse_rules(advice, space=FeatureSpace(list(X.columns)), classes=sorted(set(y)))


def vote(rules: RuleSet, X: pd.DataFrame, y_train: Labels) -> Labels:
    """The class with more votes among the rules that cover a row; where they tie, the majority of the training data."""
    signs = np.array([1.0 if rule.label == rules.classes[1] else -1.0 for rule in rules])
    votes = rules.covers(X) @ signs
    names, counts = np.unique(y_train, return_counts=True)
    said = np.full(len(X), names[np.argmax(counts)], dtype=object)
    said[votes < 0], said[votes > 0] = rules.classes
    return said


def error(said: NDArray[np.generic], y: Labels) -> float:
    """Share of wrong answers, in percent."""
    return 100.0 * float(np.mean(np.asarray(said, dtype=object) != y))


def mean_and_se(values: FloatArray) -> tuple[float, float]:
    """Mean of some runs, and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def corrupted(rules: RuleSet, how: str, reference: pd.DataFrame) -> RuleSet:
    """Spoil advice: one of CORRUPTIONS; anything else leaves it as it is."""
    first, second = rules.classes
    other = {first: second, second: first}
    boxes = [rule.region for rule in rules]
    labels = [rule.label for rule in rules]
    if how == "all classes flipped":
        labels = [other[label] for label in labels]
    elif how == "half flipped":
        labels = [other[label] if k % 2 else label for k, label in enumerate(labels)]
    elif how.startswith("bounds"):
        step = reference.to_numpy().std(axis=0) * (1.0 if "+" in how else -1.0)
        step[_is_binary(reference)] = 0.0
        boxes = [Box(box.lower + step, box.upper + step) for box in map(_as_box, boxes)]
    elif how == "other variables":
        moves = _moves(rules, _is_binary(reference))
        boxes = [_moved(_as_box(box), moves, reference.to_numpy()) for box in boxes]
    changed = [Rule(box, label) for box, label in zip(boxes, labels, strict=True)]
    return RuleSet(changed, rules.space, rules.classes)


def _as_box(region: object) -> Box:
    assert isinstance(region, Box)
    return region


def _is_binary(table: pd.DataFrame) -> NDArray[np.bool_]:
    return np.asarray(table.isin([0.0, 1.0]).all(axis=0))


def _moves(rules: RuleSet, binary: NDArray[np.bool_]) -> dict[int, int]:
    """For each feature that rules name another of its kind: one that they do not name, while there are any."""
    named = sorted({j for rule in rules for j in _as_box(rule.region).bounded})
    free = [j for j in range(len(binary)) if j not in named]
    moves: dict[int, int] = {}
    for j in named:
        kind = [k for k in free + named[::-1] if binary[k] == binary[j]]
        moves[j] = next(k for k in kind if k != j and k not in moves.values())
    return moves


def _moved(box: Box, moves: dict[int, int], X: FloatArray) -> Box:
    """The same share of rows below each bound, of the other feature."""
    lower, upper = np.full(box.n_features, -np.inf), np.full(box.n_features, np.inf)
    for j in box.bounded:
        k = moves[j]
        for bounds, ends in ((box.lower, lower), (box.upper, upper)):
            is_code = set(np.unique(X[:, j])) <= {0.0, 1.0}
            if np.isfinite(bounds[j]):
                share = np.mean(X[:, j] <= bounds[j])
                ends[k] = bounds[j] if is_code else np.quantile(X[:, k], share)
    return Box(lower, upper)
