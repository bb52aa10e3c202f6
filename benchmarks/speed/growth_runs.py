"""The calls whose growth is measured: each function prepares one of some size and hands back what is timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC

from benchmarks.speed.foundation import rule_text
from benchmarks.speed.lpsvm import clouds
from clearmargin.advice import AdviceSVC
from clearmargin.kernel_rules import SupportVectorRules, certify, grow_box
from clearmargin.language import parse_rules
from clearmargin.lp_svm import LPSVC
from clearmargin.plane_rules import RuleExtractor
from clearmargin.rankings import RankContrast
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet
from clearmargin.svm_trees import SVMTreeClassifier

Array = NDArray[np.float64]
# Most boxes that a proof looks at, and that a step of growth looks at.
LOOKS, STEP = 100, 20
Run = Callable[[], object]


def _names(n: int) -> list[str]:
    return [f"x{j}" for j in range(n)]


# Rules of a plane.


def _plane(m: int, n: int) -> tuple[Array, Array, LPSVC]:
    """Points in the unit box, a plane with all features through the middle of them, and what it says."""
    rng = np.random.default_rng(0)
    X = rng.beta(2.0, 5.0, size=(m, n))
    w = np.where(np.arange(n) % 2, -1.0, 1.0) * rng.uniform(0.5, 1.5, size=n)
    model = LPSVC(1.0).fit(X[:50], np.arange(50) % 2)
    model.coef_, model.intercept_ = w[None], np.array([-float(np.median(X @ w))])
    return X, model.predict(X), model


def extract(m: int, n: int, rules: int) -> Run:
    """Extract rules from a plane over so many points."""
    X, y, model = _plane(m, n)
    extractor = RuleExtractor(model, max_rules=rules)
    return lambda: extractor.fit(X, y)


def explain(n: int, rules: int) -> Run:
    """Explain one case by rules that are there."""
    X, y, model = _plane(5_000, n)
    extractor = RuleExtractor(model, max_rules=rules).fit(X, y)
    return lambda: extractor.explain(X[0])


# Rules applied and read.


def _rules(n_rules: int, n: int = 10) -> RuleSet:
    rng = np.random.default_rng(0)
    low, high = np.sort(rng.normal(scale=1.5, size=(2, n_rules, n)), axis=0)
    free = rng.random((n_rules, n)) < 0.5
    low, high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
    rules = [Rule(Box(a, b), str(k % 2)) for k, (a, b) in enumerate(zip(low, high, strict=True))]
    return RuleSet(rules, FeatureSpace(_names(n)))


def covers(m: int, n_rules: int) -> Run:
    """Tell which rules cover which rows."""
    rules, X = _rules(n_rules), np.random.default_rng(1).normal(size=(m, 10))
    return lambda: rules.covers(X)


def predict(m: int, n_rules: int) -> Run:
    """Predict by the first rule that fires."""
    rules, X = _rules(n_rules), np.random.default_rng(1).normal(size=(m, 10))
    return lambda: rules.predict(X, default="0")


def parse(n_rules: int) -> Run:
    """Read so many rules."""
    text = rule_text(n_rules)
    return lambda: parse_rules(text)


# Training.


def lpsvc(m: int, n: int) -> Run:
    """Train a sparse plane."""
    X, y = clouds(m, n)
    model = LPSVC(30.0 / m)
    return lambda: model.fit(X, y)


def advice(m: int, n_rules: int) -> Run:
    """Train with rules of three bounds that are right about the direction of each feature."""
    X, y = clouds(m, 10)
    slope = np.sign(np.random.default_rng(0).normal(size=10))
    frame = pd.DataFrame(X, columns=_names(10))
    labels = np.where(y > 0, "yes", "no")
    rng = np.random.default_rng(1)
    lines = []
    for k in range(n_rules):
        wanted = 1.0 if k % 2 else -1.0
        parts = [
            f"x{j} {'>=' if wanted * slope[j] > 0 else '<='} {rng.normal():.6f}"
            for j in rng.choice(10, size=3, replace=False)
        ]
        lines.append(f"{' and '.join(parts)} => {'yes' if k % 2 else 'no'}")
    model = AdviceSVC("\n".join(lines), lam=100.0 / m)
    return lambda: model.fit(frame, labels)


def tree(m: int) -> Run:
    """Grow a tree of local machines on a curved boundary with noise."""
    rng = np.random.default_rng(0)
    X = rng.random((m, 5))
    y = np.where(np.sin(6.0 * X[:, 0]) + X[:, 1] > 1.0 + 0.2 * rng.normal(size=m), "in", "out")
    model = SVMTreeClassifier(random_state=0)
    return lambda: model.fit(X, y)


def contrast(m: int, n: int) -> Run:
    """Contrast the ends of a ranking; attributes have two values, which are two properties each."""
    rng = np.random.default_rng(0)
    X = (rng.random((m, n // 2)) < 0.5).astype(np.float64)
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=m) > 2.5, "in", "out")
    frame = pd.DataFrame(X, columns=_names(n // 2))
    contrast = RankContrast(top=0.2, bottom=0.2)
    return lambda: contrast.fit(frame, y)


# Kernel machines.


def _machine(vectors: int, n: int) -> tuple[Array, Array, Any]:
    """Make a machine whose classes are two halves of one cloud; C is so small that every point is a support vector.

    The width is the gamma="scale" of scikit-learn for such points.
    """
    rng = np.random.default_rng(0)
    X = rng.random((vectors, n))
    score = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=vectors)
    y = np.where(score > np.median(score), 1, 0)
    model = SVC(C=1e-3, gamma=12.0 / n).fit(X, y)
    assert len(model.support_) == vectors
    return X, y, model


def _inside(n: int) -> Array:
    """A point well inside the class 1: the first two features decide."""
    return np.where(np.arange(n) < 2, 0.85, 0.5)


def support_vector_rules(vectors: int, n: int) -> Run:
    """Extract rules from a trained machine."""
    X, y, model = _machine(vectors, n)
    extractor = SupportVectorRules(model)
    return lambda: extractor.fit(X, y)


def certify_box(vectors: int, n: int) -> Run:
    """Prove a box around a point of a class that reaches close to the surface, so that one bound does not settle it."""
    _, _, model = _machine(vectors, n)
    x = _inside(n)
    safe, reached = 0.0, 0.5
    for _ in range(8):
        half = (safe + reached) / 2
        refuted = certify(model, Box(x - half, x + half), 1, budget=LOOKS).status == "refuted"
        safe, reached = (safe, half) if refuted else (half, reached)
    box = Box(x - safe, x + safe)
    return lambda: certify(model, box, 1, budget=LOOKS)


def grow(vectors: int, n: int) -> Run:
    """Grow a proved box around a case."""
    X, _, model = _machine(vectors, n)
    x = _inside(n)
    space = FeatureSpace.from_data(X)
    return lambda: grow_box(model, x, space=space, budget=STEP)
