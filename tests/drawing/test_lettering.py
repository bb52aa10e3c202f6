"""Every display with names of 10 and of 40 characters: nothing is cut off, nothing overlaps, vectors and grey work."""

from __future__ import annotations

import functools
import io
import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from clearmargin import AdviceSVC, Box, FeatureSpace, RankContrast, Rule, RuleSet, RuleStats
from clearmargin.compare.extractors import MEASURES, ExtractorComparison, ExtractorFigures
from clearmargin.plot import (
    AdviceDisplay,
    CardDisplay,
    CoverageDisplay,
    ExtractorsDisplay,
    LeverageDisplay,
    PointsDisplay,
    RankHistogramsDisplay,
    RankRocDisplay,
    RegionsDisplay,
    RulesDisplay,
    RuleTreesDisplay,
    SVMTreeDisplay,
)
from clearmargin.rule_svm import WeightedRules
from clearmargin.scorecards import CertifiedFeature, CertifiedScorecard
from clearmargin.svm_trees import SVMTreeClassifier

pytestmark = pytest.mark.filterwarnings("ignore:the advice deserves a look")

SIZES = ((10, 12), (40, 3), (40, 12))  # length of names, number of features
STEMS = ("mean glucose", "worst_value", "Resting blood pressure", "serum.chol", "compactness")


def named(length, count, start=0):
    """Names of a length, of several words or of one, that differ at their end."""
    filled = [f"{stem} of the long measurement " * 3 for stem in STEMS]
    chosen = itertools.islice(itertools.cycle(filled), start, start + count)
    return [f"{text[: length - 2]}{k:02d}" for k, text in enumerate(chosen)]


def classes_of(length):
    return named(length, 2, start=3)


def cases(length, count, rows=120):
    """Points of two classes over features with names of a length."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(100.0, 30.0, (rows, count)).round(1), columns=named(length, count))
    is_high = X.iloc[:, 0] + X.iloc[:, 1] > 200.0
    return X, np.where(is_high, *classes_of(length))


@functools.cache
def rules_of(length, count):
    """As many rules as features, half of them for each class."""
    X, _ = cases(length, count)
    rng = np.random.default_rng(1)
    rules = []
    for k in range(count):
        lower, upper = np.sort(rng.uniform(X.min(), X.max(), (2, count)), axis=0)
        stats = RuleStats(rows=120, covered=30 + k, correct=30)
        rules.append(Rule(Box(lower, upper), classes_of(length)[k % 2], stats=stats))
    return RuleSet(rules, FeatureSpace.from_data(X), classes_of(length))


def weighted(length, count):
    """Rules with points for and against the second class."""
    return WeightedRules(rules_of(length, count), np.linspace(-2.0, 1.5, count), 0.3)


def card_of(length, count):
    """A card with proof of many features, the first one with categories."""
    names = list(named(length, count))
    space = FeatureSpace(
        names,
        [-np.inf, *np.linspace(0.0, 9.5, count - 1)],
        [np.inf, *np.linspace(100.0, 912.25, count - 1)],
        categories=[named(length, 3, start=count), *[None] * (count - 1)],
    )
    parts = [CertifiedFeature(0, [0, 120], [0, 121], sets=[[0, 1], [2]])]
    parts += [CertifiedFeature(j, [0, 700], [699, 1500], cuts=[50.5]) for j in range(1, count)]
    return CertifiedScorecard(parts, (900, 1200), space, classes_of(length))


@functools.cache
def advised(length, count):
    X, y = cases(length, count)
    high, low = classes_of(length)
    first, second = X.columns[:2]
    lines = [
        f"R{k}: `{first}` >= {100 + 3 * k} and `{second}` >= {110 - 2 * k} => `{high}`"
        if k % 2
        else f"R{k}: `{first}` <= {100 - 3 * k} and `{second}` <= {80 + 2 * k} => `{low}`"
        for k in range(1, count + 1)
    ]
    return AdviceSVC("\n".join(lines), refine="translate", nu=0.1).fit(X, y), X, y


@functools.cache
def contrasted(length, count):
    X, y = cases(length, count, rows=200)
    X[named(length, count + 1)[-1]] = np.where(X.index % 3, *classes_of(length))
    return RankContrast(max_size=1).fit(X, y)


def compared(length, count):
    rng = np.random.default_rng(0)
    figures = tuple(
        ExtractorFigures(name, "nearest", rng.uniform(0.7, 1.0, (5, len(MEASURES))), (None,) * 5)
        for name in named(length, count)
    )
    return ExtractorComparison(figures, np.linspace(0.8, 0.9, 5))


def draw_regions(length, count):
    X, y = cases(length, count)
    rules, pair = rules_of(length, count), tuple(X.columns[:2])
    return RegionsDisplay.from_rules(rules, X, y, features=pair)


def draw_advice(length, count):
    model, X, y = advised(length, count)
    return AdviceDisplay.from_estimator(model, X, y, features=tuple(X.columns[:2]))


def draw_rule_trees(length, count):
    model, X, _ = advised(length, count)
    return RuleTreesDisplay.from_estimator(model, X)


@functools.cache
def grown(length, count):
    return SVMTreeClassifier(random_state=0).fit(*cases(length, count))


DRAW = {
    "rules": lambda length, count: RulesDisplay.from_rules(rules_of(length, count)),
    "regions": draw_regions,
    "coverage": lambda length, count: CoverageDisplay.from_rules(
        rules_of(length, count), *cases(length, count)
    ),
    "advice": draw_advice,
    "rule trees": draw_rule_trees,
    "leverage": lambda *how: LeverageDisplay.from_estimator(contrasted(*how)),
    "histograms": lambda *how: RankHistogramsDisplay.from_estimator(contrasted(*how)),
    "roc": lambda *how: RankRocDisplay.from_estimator(contrasted(*how)),
    "tree": lambda *how: SVMTreeDisplay.from_estimator(grown(*how)),
    "points": lambda length, count: PointsDisplay.from_rules(weighted(length, count)),
    "card": lambda length, count: CardDisplay.from_card(card_of(length, count)),
    "extractors": lambda *how: ExtractorsDisplay.from_comparison(compared(*how)),
}


@pytest.mark.parametrize(("length", "count"), SIZES)
@pytest.mark.parametrize("kind", DRAW)
def test_nothing_is_cut_off_and_nothing_overlaps(kind, length, count, check_legible):
    check_legible(DRAW[kind](length, count).figure_)


def test_names_that_differ_at_their_end_are_told_apart(texts_of):
    display = DRAW["rules"](40, 3)
    shown = {text.get_text() for text, _ in texts_of(display.figure_)}
    for name in classes_of(40):
        (cut,) = [t for t in shown if t.startswith(name[:5]) and t.endswith(name[-2:])]
        assert "…" in cut or cut == name


@pytest.mark.parametrize("kind", DRAW)
def test_figures_are_vectors_in_print(kind):
    figure = DRAW[kind](10, 3).figure_
    for form, start, image in (("pdf", b"%PDF", b"/Subtype /Image"), ("svg", b"<?xml", b"<image")):
        target = io.BytesIO()
        figure.savefig(target, format=form)
        assert target.getvalue().startswith(start)
        assert image not in target.getvalue()


def test_classes_differ_without_colours():
    curves = [line for line in DRAW["coverage"](10, 3).ax_.lines if line.get_linewidth() == 2]
    assert len({line.get_linestyle() for line in curves}) == len(curves) == 2
    display = DRAW["regions"](10, 3)
    hatches = {
        to_rgb(patch.get_facecolor()): patch.get_hatch()
        for patch in display.ax_.patches
        if isinstance(patch, Rectangle)
    }
    assert len(set(hatches.values())) == len(hatches) == 2
