"""Pima with the six diabetes rules: which settings of the knowledge-based SVM matter, and what the best could give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.page import Section, Table
from benchmarks.reproduce.advice_cases import Labels, advised, error, mean_and_se, quiet
from clearmargin.advice import AdviceOutcome, AdviceSVC, AdviceSVCCV
from clearmargin.advice.advice_reading import read_case
from clearmargin.advice.train import Settings, train
from clearmargin.rules import Rule, RuleSet

__all__ = [
    "MAX_ITER",
    "CappedCV",
    "PlaneSVC",
    "by_precision",
    "hindsight_at",
    "hindsight_section",
    "settings_at",
    "settings_sections",
]

# Errors of all runs, by what was run and the size of the training part.
Errors = Mapping[tuple[str, int], Sequence[float]]

# More steps of refinement change the objective little and the time a lot.
MAX_ITER = 12
_GRID = (0.1, 1.0, 10.0)
_NUS = (0.1, 1.0)
# A rule that is right no more often than wrong still counts, a little: a weight has to be positive.
_LEAST_WEIGHT = 0.05

DEFAULT = "KBSVM"
TIES = "KBSVM, ties to least advice"
GROUPS: dict[str, list[str]] = {
    "Scale": ["plain SVM", "plain SVM, standard", DEFAULT, "KBSVM, standard"],
    "Advice inside the range of the data, or without bounds": [
        DEFAULT,
        "KBSVM, no bounds",
        "KBSVM, no bounds, standard",
    ],
    "How much to trust the rules: mu": [
        DEFAULT,
        "KBSVM, mu = 0.1",
        "KBSVM, mu = 1",
        "KBSVM, mu = 10",
        TIES,
    ],
    "Weights of the rules": [
        DEFAULT,
        "KBSVM, weights from the training part",
        "KBSVM, weights from all data",
    ],
}
QUESTIONS = {
    "Scale": "Features scaled to [-1, 1] over their range (default), or to unit standard deviation.",
    "Advice inside the range of the data, or without bounds": (
        "A premise counts within the range of the training data (default, `bounds='data'`), or all over space as "
        "in the papers (`bounds=None`)."
    ),
    "How much to trust the rules: mu": (
        "mu by cross-validation with lam (default), or fixed, with lam alone by cross-validation. With few points many "
        "settings tie; by default the one with most weight for the advice wins, in the last row the one with least."
    ),
    "Weights of the rules": (
        "All rules count the same (default), or each by its edge 2p - 1, with its precision p smoothed by one case "
        "either way: counted on the training part, or on all 768 women, which no honest method could know."
    ),
}


class PlaneSVC(AdviceSVC):
    """AdviceSVC that ends with the plane; to tell what became of each rule takes longer than a small plane."""

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane."""
        case = read_case(self, X, y, sample_weight)
        training = train(case, Settings.of(self))
        self._set_plane(training.w, training.b, case.classes)
        self.objective_ = training.objective
        self.advice_ = self.refined_ = case.rules
        self.outcome_ = AdviceOutcome(())
        return self


class CappedCV(AdviceSVCCV):
    """Cross-validation with at most MAX_ITER steps of refinement, for the plane alone."""

    def _model(self, costs: tuple[float, float, float]) -> AdviceSVC:
        return PlaneSVC(**super()._model(costs).set_params(max_iter=MAX_ITER).get_params())


def by_precision(rules: RuleSet, X: pd.DataFrame, y: Labels) -> RuleSet:
    """Rules weighted by how much more often they are right than wrong; the mean weight is 1."""
    covered = rules.covers(X)
    right = np.array([np.sum(covered[:, k] & (y == rule.label)) for k, rule in enumerate(rules)])
    precision = (right + 1.0) / (covered.sum(axis=0) + 2.0)
    weights = np.maximum(2.0 * precision - 1.0, _LEAST_WEIGHT)
    weights /= weights.mean()
    weighted = [
        Rule(rule.region, rule.label, name=rule.name, weight=float(weight))
        for rule, weight in zip(rules, weights, strict=True)
    ]
    return RuleSet(weighted, rules.space, rules.classes)


def settings_at(run: int, size: int) -> dict[str, float]:
    """Test errors of one run under each setting."""
    data = advised("pima")
    drawn = data.draw(run)
    X, y, rules = drawn.X.iloc[:size], drawn.y[:size], data.rules
    everything = pd.concat([drawn.X, drawn.X_test]), np.concatenate([drawn.y, drawn.y_test])
    models: dict[str, Any] = {
        "plain SVM": CappedCV(),
        "plain SVM, standard": CappedCV(scale="standard"),
        DEFAULT: CappedCV(rules),
        "KBSVM, standard": CappedCV(rules, scale="standard"),
        "KBSVM, no bounds": CappedCV(rules, bounds=None),
        "KBSVM, no bounds, standard": CappedCV(rules, bounds=None, scale="standard"),
        **{f"KBSVM, mu = {mu:g}": CappedCV(rules, mus=[mu]) for mu in _GRID},
        "KBSVM, weights from the training part": CappedCV(by_precision(rules, X, y)),
        "KBSVM, weights from all data": CappedCV(by_precision(rules, *everything)),
    }
    with quiet():
        for model in models.values():
            model.set_params(progress=False).fit(X, y)
        lam, mu = _least_advice(models[DEFAULT].cv_results_)
        models[TIES] = PlaneSVC(rules, lam=lam, mu=mu).fit(X, y)
    return {name: error(m.predict(drawn.X_test), drawn.y_test) for name, m in models.items()}


def _least_advice(results: Mapping[str, NDArray[np.float64]]) -> tuple[float, float]:
    """Lam and mu with the best score; of several that with the smallest mu, then the smallest lam."""
    best = np.flatnonzero(results["mean_test_score"] == results["mean_test_score"].max())
    mu, lam = min((results["mu"][k], results["lam"][k]) for k in best)
    return float(lam), float(mu)


def settings_sections(errors: Errors, sizes: Sequence[int]) -> list[Section]:
    """One small table for each question, with differences to the first row on the same runs."""
    return [_settings_section(title, errors, sizes) for title in GROUPS]


def _settings_section(title: str, errors: Errors, sizes: Sequence[int]) -> Section:
    rows, firm, compared = [], [], 0
    for name in GROUPS[title]:
        base = "plain SVM" if name.startswith("plain") else DEFAULT
        row = [name]
        for size in sizes:
            mean, se = mean_and_se(np.array(errors[name, size]))
            cell = f"{mean:.1f} ± {se:.1f}"
            if name != base:
                change, spread = mean_and_se(np.subtract(errors[name, size], errors[base, size]))
                cell += f" ({change:+.1f} ± {spread:.1f})"
                compared += 1
                if abs(change) > 2 * spread:
                    firm.append(f"{name} at {size} ({change:+.1f} ± {spread:.1f})")
            row.append(cell)
        rows.append(row)
    runs = len(errors[DEFAULT, sizes[0]])
    found = "; ".join(firm) if firm else "none"
    return Section(
        title,
        f"{QUESTIONS[title]} Test error in percent, {runs} runs; in brackets the difference to the default on the same "
        "runs, with its standard error.",
        Table(["points", *map(str, sizes)], rows),
        f"Differences of more than two standard errors, {len(firm)} of {compared}: {found}.",
    )


def hindsight_at(run: int, size: int) -> dict[str, float]:
    """Test errors of one run: every setting of a grid, fitted without any choice, and SLP choosing from that grid."""
    data = advised("pima")
    drawn = data.draw(run)
    X, y, rules = drawn.X.iloc[:size], drawn.y[:size], data.rules
    found: dict[str, float] = {}

    def keep(name: str, model: Any) -> None:
        found[name] = error(model.fit(X, y).predict(drawn.X_test), drawn.y_test)

    with quiet():
        for lam, mu in product(_GRID, _GRID):
            keep(f"KBSVM {lam:g} {mu:g}", PlaneSVC(rules, lam=lam, mu=mu, bounds=None))
            for nu in _NUS:
                costs: dict[str, Any] = {"lam": lam, "mu": mu, "nu": nu, "max_iter": MAX_ITER}
                model = PlaneSVC(rules, refine="slp", published=True, **costs)
                keep(f"slp {lam:g} {mu:g} {nu:g}", model)
        grids: dict[str, Any] = {"lams": _GRID, "mus": _GRID, "nus": _NUS}
        keep("joint", CappedCV(rules, refine="slp", published=True, progress=False, **grids))
    return found


def hindsight_section(
    errors: Errors, main: Errors, sizes: Sequence[int], published: Callable[[str, int], str]
) -> Section:
    """What the best fixed setting of each method would have given, had one known it."""
    rows, best_slp = [], []
    for size in sizes:
        row = [str(size)]
        for kind in ("KBSVM", "slp"):
            settings = [key for key, n in errors if n == size and key.startswith(f"{kind} ")]
            means = {key: mean_and_se(np.array(errors[key, size])) for key in settings}
            key = min(means, key=lambda k: means[k][0])
            row += [_plain(main[kind, size]), "{:.1f} ± {:.1f}".format(*means[key])]
            row += [" ".join(key.split()[1:])]
            if kind == "slp":
                best_slp.append(means[key][0])
        row += [_plain(errors["joint", size]), published("slp", size)]
        row += [_plain(main["rules alone", size])]
        rows.append(row)
    gaps = [
        f"{best:.1f} at {row[0]} points (published {row[-2]}, rules alone {row[-1]})"
        for best, row in zip(best_slp, rows, strict=True)
    ]
    return Section(
        "Would a better choice of parameters have helped?",
        f"The first {len(errors['joint', sizes[0]])} draws, as published, means ± standard errors. Lam and mu from "
        "(0.1, 1, 10), nu from (0.1, 1). *In hindsight*: the setting with the lowest mean test error, which no method "
        "can know; it is the limit of what choosing one setting for all draws could give. *Joint*: SLP choosing lam, "
        "mu and nu together by cross-validation, instead of nu alone at KBSVM's lam and mu.",
        Table(
            [
                "points",
                "KBSVM",
                "KBSVM in hindsight",
                "lam mu",
                "slp",
                "slp in hindsight",
                "lam mu nu",
                "slp, joint",
                "slp published",
                "rules alone",
            ],
            rows,
        ),
        f"In hindsight, the best single setting of SLP gives {'; '.join(gaps)}.",
    )


def _plain(values: Sequence[float]) -> str:
    return "{:.1f} ± {:.1f}".format(*mean_and_se(np.array(values)))
