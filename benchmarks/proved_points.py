"""Proved points that a model or exact arithmetic contradicts: `python -m benchmarks.proved_points [points]`.

Rules of scaled pipelines over columns with offsets up to 1e15. In each rule that is called proved, points are drawn
all over and next to the corner that is nearest to the plane, a few digits of the last place from it. The model's own
`predict` has to give the class of the rule, and so has the score of the numbers that the pipeline stores, added up
in fractions where floating point is not clear.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC

from clearmargin import RuleExtractor
from clearmargin.rules.value import BoolArray, FloatArray

OFFSETS = (0.0, 1e6, 1e9, 1e12, 1e13, 1e14, 1e15)
SCALERS = (StandardScaler, RobustScaler, MinMaxScaler, None)
# Closer than this, in units of the sum of the sizes of the terms, floating point is not asked.
CLEAR = 1e-9


def problem(seed: int) -> tuple[FloatArray, BoolArray, Any]:
    """A table whose columns have offsets, and a model of it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    scale = 10.0 ** rng.uniform(-1.0, 3.0, n)
    X = rng.normal(size=(120, n)) * scale
    y = (X / scale) @ rng.normal(size=n) + 0.3 * rng.normal(size=120) > 0
    X = X + rng.choice(OFFSETS, n)
    if seed % 3 == 0:
        X = np.round(X)
    models = (LogisticRegression(max_iter=300), RidgeClassifier(), SVC(kernel="linear"))
    steps = [SCALERS[seed % len(SCALERS)], models[seed % len(models)]]
    made = [step() if isinstance(step, type) else step for step in steps if step is not None]
    if steps[0] is None:
        # Without a scaler a model cannot be trained at such offsets, but a plane can be moved there.
        model = RidgeClassifier().fit(X - X.mean(axis=0), y)
        model.intercept_ = model.intercept_ - model.coef_ @ X.mean(axis=0)
        return X, y, model
    return X, y, make_pipeline(*made).fit(X, y)


def points_in(
    box: Any, positive: bool, extractor: Any, rng: np.random.Generator, many: int
) -> FloatArray:
    """Floats in a box within the ranges seen: anywhere, and some digits from its corners."""
    space = extractor.space_
    lower = np.maximum(box.lower, space.lower - (space.upper - space.lower))
    upper = np.minimum(box.upper, space.upper + (space.upper - space.lower))
    anywhere = lower + rng.random((many, len(lower))) * (upper - lower)
    rising = (extractor.hyperplane_.coef > 0) == positive
    # The corner that is nearest to the plane, at times another one.
    other = rng.random((many, len(lower))) < 0.1
    ends = np.where(rising ^ other, lower, upper)
    digits = rng.integers(0, 4, ends.shape) * np.spacing(np.abs(ends))
    near = np.where(ends == lower, ends + digits, ends - digits)
    found = np.vstack([anywhere, near])
    inside: FloatArray = found[box.contains(found)]
    return inside


def exact_classes(model: Any, X: FloatArray) -> BoolArray:
    """On which side rows are for the numbers that a model stores, in exact arithmetic."""
    scaler, last = (None, model) if not hasattr(model, "steps") else (model[0], model[-1])
    mean, width, shift = _affine(scaler, X.shape[1])
    w, b = np.ravel(last.coef_), float(np.ravel(last.intercept_)[0])
    Z = (X - mean) / width + shift
    scores = Z @ w + b
    size = np.abs(Z) @ np.abs(w) + abs(b) + ((np.abs(X) + np.abs(mean)) / np.abs(width)) @ np.abs(w)
    positive = np.asarray(scores > 0)
    for k in np.flatnonzero(np.abs(scores) <= CLEAR * size):
        total = Fraction(b)
        for x, m, s, t, weight in zip(
            X[k].tolist(), mean.tolist(), width.tolist(), shift.tolist(), w.tolist(), strict=True
        ):
            z = (Fraction(x) - Fraction(m)) / Fraction(s) + Fraction(t)
            total += Fraction(weight) * z
        positive[k] = total > 0
    return positive


def _affine(scaler: Any, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, width and shift of (x - mean) / width + shift."""
    nothing = np.zeros(n)
    if scaler is None:
        return nothing, np.ones(n), nothing
    if isinstance(scaler, MinMaxScaler):
        # x * scale + min, with the factor as it is stored: judged by itself below.
        return nothing, 1.0 / scaler.scale_, scaler.min_
    return (scaler.mean_ if hasattr(scaler, "mean_") else scaler.center_), scaler.scale_, nothing


def runs(wanted: int) -> Iterator[tuple[int, int, int, int]]:
    """For each model the points drawn, those that predict and that exact arithmetic contradict, and its rules."""
    drawn = seed = 0
    while drawn < wanted:
        X, y, model = problem(seed)
        last = model[-1] if hasattr(model, "steps") else model
        if not np.any(last.coef_):  # a table whose digits are all gone
            seed += 1
            continue
        criterion = "coverage" if seed % 5 == 4 else "volume"
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            extractor = RuleExtractor(
                model, criterion=criterion, min_coverage=2, max_rules=None, progress=False
            ).fit(X, y)
        wrong = false = count = 0
        for rule in extractor.rules_:
            P = points_in(rule.region, bool(rule.label), extractor, rng, 500)
            count += len(P)
            wrong += int(np.count_nonzero(model.predict(P) != rule.label))
            if not (hasattr(model, "steps") and isinstance(model[0], MinMaxScaler)):
                false += int(np.count_nonzero(exact_classes(model, P) != rule.label))
        drawn += count
        seed += 1
        yield count, wrong, false, len(extractor.rules_)


def main() -> None:
    """Print the totals."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    total = np.zeros(4, dtype=int)
    models = 0
    for run in runs(wanted):
        total += run
        models += 1
    print(
        f"{total[0]} proved points of {total[3]} rules of {models} models: "
        f"{total[1]} contradicted by predict, {total[2]} by exact arithmetic"
    )


if __name__ == "__main__":
    main()
