"""Rules over numbers and categories, out of whole pipelines: proved ones hold in fractions and for the model itself."""

import warnings
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from clearmargin import RuleExtractor

CASES = {
    "two": (StandardScaler(), LogisticRegression(), 2, {}),
    "first dropped": (MinMaxScaler(), RidgeClassifier(), 2, {"drop": "first"}),
    "three": (StandardScaler(), LogisticRegression(), 3, {}),
    "one against rest": (MinMaxScaler(), OneVsRestClassifier(LinearSVC(random_state=0)), 4, {}),
}


def table(seed, n_classes, offset):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": np.round(rng.normal(size=150) * 20) + offset, "b": rng.normal(size=150) / 50,
        "c": rng.choice(list("uvwxyz"), 150), "d": rng.choice(["no", "yes"], 150)})  # fmt: skip
    scores = (
        rng.normal(size=(6, n_classes))[X.c.map("uvwxyz".index)]
        + rng.normal(size=n_classes) * X[["b"]].to_numpy() * 50
    )
    scores += rng.normal(size=n_classes) * (X[["a"]].to_numpy() - offset) / 20
    y = scores.argmax(axis=1)
    X.loc[rng.random(150) < 0.1, "a"] = np.nan
    return X, y


def scores_of(pipeline):
    """What each number and each category adds to each score, read from the fitted parts and from nothing of ours."""
    (_, numbers, _), (_, encoder, _) = pipeline[0].transformers_
    scaler, last = numbers[-1], pipeline[-1]
    if hasattr(scaler, "mean_"):
        steps = [(1 / F(s), -F(m) / F(s)) for m, s in zip(scaler.mean_, scaler.scale_, strict=True)]
    else:
        steps = [(F(s), F(m)) for m, s in zip(scaler.min_, scaler.scale_, strict=True)]
    parts = getattr(last, "estimators_", [last])
    rows = [
        (w, b)
        for part in parts
        for w, b in zip(np.atleast_2d(part.coef_), np.ravel(part.intercept_), strict=True)
    ]
    found = []
    for weights, constant in rows:
        left = iter(map(F, map(float, weights)))
        coef = [(w * factor, w * shift) for (factor, shift), w in zip(steps, left, strict=False)]
        tables = []
        for k, known in enumerate(encoder.categories_):
            dropped = None if encoder.drop_idx_ is None else encoder.drop_idx_[k]
            tables.append({c: F(0) if i == dropped else next(left) for i, c in enumerate(known)})
        found.append(([c for c, _ in coef], tables, F(float(constant)) + sum(s for _, s in coef)))
    return (
        found
        if len(found) > 1
        else [([F(0)] * 2, [dict.fromkeys(t, F(0)) for t in found[0][1]], F(0)), *found]
    )


def allowed(rule, space, name):
    j = space.index(name)
    known = space.categories[j]
    return [known[c] for c in sorted(rule.region.sets[j])] if j in rule.region.sets else list(known)


@pytest.mark.parametrize(
    ("criterion", "offset"), [("volume", 1.0), ("volume", 1e9), ("coverage", 1e9)]
)
@pytest.mark.parametrize("name", CASES)
def test_proved_rules_over_categories_hold_in_fractions_and_for_the_model(name, offset, criterion):
    scaler, last, n_classes, options = CASES[name]
    X, y = table(len(name), n_classes, offset)
    parts = make_pipeline(SimpleImputer(), scaler), OneHotEncoder(**options)
    model = make_pipeline(
        make_column_transformer((parts[0], ["a", "b"]), (parts[1], ["c", "d"])), last
    ).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        extractor = RuleExtractor(model, criterion=criterion, min_coverage=2).fit(X, y)
    rules, scores, rng = extractor.rules_, scores_of(model), np.random.default_rng(0)
    assert len(rules) > n_classes
    for rule in rules:
        box, sets = rule.region, [allowed(rule, rules.space, n) for n in "cd"]
        for other in set(range(len(scores))) - {int(rule.label)}:
            (w, t, b), (v, u, c) = scores[int(rule.label)], scores[other]
            worst = b - c
            for j in range(2):
                slope = w[j] - v[j]
                worst += (
                    slope * F(float((box.lower if slope > 0 else box.upper)[j])) if slope else 0
                )
            worst += sum(min(t[k][x] - u[k][x] for x in names) for k, names in enumerate(sets))
            assert worst > 0
        ends = [[e if np.isfinite(e) else f for e, f in zip(pair, (-1e12, 1e12), strict=True)]
            for pair in zip(box.lower[:2], box.upper[:2], strict=True)]  # fmt: skip
        inside = pd.DataFrame(
            {n: rng.choice(v, 200) for n, v in zip("abcd", [*ends, *sets], strict=True)}
        )
        inside = inside[box.contains(rules.space.read(inside))]
        assert not len(inside) or (model.predict(inside) == rule.label).all()
    pairs = [(p, q) for i, p in enumerate(rules) for q in rules[:i] if p.label == q.label]
    assert all(p.region.is_disjoint(q.region) for p, q in pairs)
    assert extractor.explain(X.dropna().iloc[0]).rule.region.contains(
        rules.space.read(X.dropna().iloc[:1])
    )[0]
