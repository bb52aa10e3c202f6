"""Whether printed figures are honest: on tables of pure noise they are those of chance, and their errors cover.

A table of noise has random numbers for features and random classes, half of them each. Whatever is learned from some of
its rows says nothing of the others, so that the accuracy on these is 50 % and the area under the ROC curve 0.5, up to
chance. A figure whose mean over many tables is further from that than three standard errors has seen the rows it is
judged on.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks.page import Section, Table
from benchmarks.records import mean_and_error
from clearmargin import LPSVC, RuleSet, RuleSVC, ScoreRules, explain_many, load_model
from clearmargin.cli.main import main as command_line

CHANCE = 0.5
ROWS, COLUMNS, FOLDS = 80, 10, 5
ADVICE = "a0 >= 0.5 => yes\na1 <= -0.5 => no\n"
FIRST_SEED = 2000


@dataclass(frozen=True, eq=False)
class Noise:
    """A table without anything to learn, in memory and as noise.csv in a folder.

    Each two rows are of the same time and each four of the same group, half of them of each class, so that whatever is
    said of a fold of whole groups or times is right on half of it.
    """

    X: pd.DataFrame
    y: NDArray[Any]
    folder: Path

    @classmethod
    def draw(cls, seed: int, folder: Path) -> Noise:
        """Draw a table and write it."""
        rng = np.random.default_rng(seed)
        names = [f"a{j}" for j in range(COLUMNS)]
        X = pd.DataFrame(rng.normal(size=(ROWS, COLUMNS)), columns=names)
        y = rng.permuted(np.tile(["no", "yes"], (ROWS // 2, 1)), axis=1).ravel()
        table = X.assign(y=y, who=np.arange(ROWS) // 4, when=np.arange(ROWS) // 2)
        folder.mkdir()
        table.to_csv(folder / "noise.csv", index=False)
        (folder / "advice.rules").write_text(ADVICE, encoding="utf-8")
        return cls(X, y, folder)


Figure = Callable[[Noise], float]


def run(*words: str) -> str | None:
    """What a command prints; None where it refuses."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        code = command_line(list(words))
    if code not in (0, 2):
        raise RuntimeError(f"{' '.join(words)}: exit code {code}")
    return said.getvalue() if code == 0 else None


def printed(command: str, *keys: str, words: str = "", drop: str = "who,when") -> Figure:
    """A figure of the JSON that a command prints; NaN where the command refuses the table."""

    def figure(noise: Noise) -> float:
        table, advice = (str(noise.folder / name) for name in ("noise.csv", "advice.rules"))
        line = [command, table, "--target", "y", "--drop", drop, "--cv", str(FOLDS), "--json"]
        said = run(
            *line,
            *words.replace("ADVICE", advice).replace("OUT", str(noise.folder / "m.json")).split(),
        )
        if said is None:
            return float("nan")
        found = json.loads(said)
        for key in keys:
            found = found[key]
        return float(found)

    return figure


def nested(model: Any) -> Figure:
    """A search within each fold."""
    folds = StratifiedKFold(FOLDS)
    return lambda noise: float(cross_val_score(model, noise.X, noise.y, cv=folds).mean())


class Scrambled(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model that nothing explains: the class of a row is a bit of a hash of its values."""

    def fit(self, X: Any, y: Any) -> Scrambled:
        """Learn nothing."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Scramble each row."""
        hashed = pd.util.hash_pandas_object(pd.DataFrame(np.asarray(X, dtype=float)), index=False)
        found: NDArray[Any] = self.classes_[(hashed.to_numpy() >> np.uint64(17)) & np.uint64(1)]
        return found


def explained(noise: Noise) -> float:
    """The precision of measured explanations, counted on rows that were not used to find them.

    It is the model that is noise here: explanations speak of it, not of the classes in the table.
    """
    model = Scrambled().fit(noise.X, noise.y)
    many = explain_many(model, noise.X.iloc[::4], noise.X, precision=0.7, guarantee="measured")
    stats = [each.rule.stats for each in many if each.rule.stats is not None]
    covered = sum(each.covered for each in stats)
    return sum(each.agreed or 0 for each in stats) / covered if covered else float("nan")


_CROSS = ("model", "cross_validated_accuracy")
_RULES: tuple[Any, ...] = ("evaluation", "models", 0, "accuracy", "value")
FIGURES: dict[str, Figure] = {
    "rules": printed("rules", *_RULES),
    "rules --as points": printed("rules", *_RULES, words="--as points"),
    "rules --as tree": printed("rules", *_RULES, words="--as tree"),
    "rules --as auto": printed("rules", *_RULES, words="--as auto"),
    "rules --groups": printed("rules", *_RULES, words="--groups who", drop="when"),
    "rules --time": printed("rules", *_RULES, words="--time when", drop="who"),
    "train --advice": printed("train", *_CROSS, words="--advice ADVICE --out OUT --force"),
    "rank --groups: area under the curve": printed(
        "rank",
        "held_out_auc",
        words="--groups who --top 0.2 --bottom 0.2 --max-size 1",
        drop="when",
    ),
    "explain: precision on rows not used": explained,
    "RuleSVC, nested": nested(RuleSVC(max_rules=3, cv=3)),
    "ScoreRules with proof, nested": nested(ScoreRules(LPSVC(), max_rules=6, certify=True)),
}


def noise_section(quick: bool) -> Section:
    """The mean of each figure over tables of noise, beside chance."""
    count = 2 if quick else 60
    table = Table(["figure", "mean", "standard error", "errors from 0.5", "tables"])
    away = []
    with tempfile.TemporaryDirectory() as name:
        seeds = range(FIRST_SEED, FIRST_SEED + count)
        tables = [Noise.draw(seed, Path(name) / str(seed)) for seed in seeds]
        for what, figure in FIGURES.items():
            found = np.array([figure(noise) for noise in tables])
            known = found[np.isfinite(found)]
            mean, error = mean_and_error(known)
            away.append(abs(mean - CHANCE) / error if error > 0 else 0.0)
            cells = [f"{mean:.3f}", f"{error:.3f}", f"{away[-1]:.1f}", str(len(known))]
            table.rows.append([what, *cells])
    question = (
        f"{count} tables of {ROWS} rows and {COLUMNS} columns of random numbers, with random classes, half of the rows "
        "each: on rows not seen in training the accuracy is 0.5 and the area under the ROC curve 0.5, whatever is "
        "learned from the others."
    )
    finding = (
        f"{sum(a <= 2 for a in away)} of {len(away)} figures are within two standard errors of chance, the furthest is "
        f"{max(away):.1f} away."
    )
    return Section("Figures on noise", question, table, finding=finding)


# How often a printed figure is within two standard errors of the truth

FRESH, FEATURES = 20_000, 5
Drawn = tuple[NDArray[np.float64], NDArray[Any]]


def _noisy(score: NDArray[np.float64], rng: np.random.Generator, least: float) -> NDArray[Any]:
    """Give the class yes to rows with a high score, noise added."""
    return np.where(score + rng.normal(0, 0.7, len(score)) > least, "yes", "no")


def _linear(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    return _noisy(X[:, 0] - X[:, 1] / 2, rng, 0.0)


def _interaction(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    return _noisy(2 * np.sign(X[:, 0]) * (X[:, 1] > 0.3) + X[:, 2] / 2, rng, 0.5)


def _nothing(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    return np.where(rng.random(len(X)) < 0.4, "yes", "no")


def _rare(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    return _noisy(X[:, 0] + X[:, 1], rng, 2.0)


def _three(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    score = X[:, 0] + X[:, 1] / 2 + rng.normal(0, 0.5, len(X))
    return np.array(["low", "middle", "high"])[np.digitize(score, [-0.5, 0.6])]


DISTRIBUTIONS = {
    "linear": _linear,
    "interaction": _interaction,
    "noise": _nothing,
    "rare class": _rare,
    "three classes": _three,
}


def within(name: str, seed: int, folder: Path) -> Iterator[tuple[str, bool, float]]:
    """Make rules and rules with points; for their figures whether the truth on fresh rows is within two errors."""
    rng = np.random.default_rng([seed, list(DISTRIBUTIONS).index(name)])
    rows = int(rng.integers(100, 401))
    X = rng.normal(size=(rows + FRESH, FEATURES))
    y = DISTRIBUTIONS[name](X, rng)
    table, model = (folder / f"{name}-{seed}-{kind}" for kind in ("t.csv", "m.json"))
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(FEATURES)])
    frame[:rows].assign(**{"class": y[:rows]}).to_csv(table, index=False)
    true, fresh = y[rows:], frame[rows:]
    for form in ("rules", "points"):
        words = ["--target", "class", "--as", form, "--save-model", str(model), "--force", "--json"]
        told = run("rules", str(table), *words)
        if told is None:
            continue
        facts = json.loads(told)
        found = facts["evaluation"]
        truth: dict[str, float] = {}
        if form == "points":
            fitted = load_model(model)
            answers = fitted.predict(fresh)
            scores = np.asarray(fitted.decision_function(fresh))
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            pairs = zip(fitted.classes_, scores.T, strict=True)
            truth["auc"] = float(np.mean([roc_auc_score(true == c, each) for c, each in pairs]))
        else:
            rules, default = (
                RuleSet.from_dict(facts["model"]["document"]),
                facts["model"]["default"],
            )
            answers = rules.predict(fresh, default=default["class"]).astype(str)
        truth["accuracy"] = float((answers == true).mean())
        truth["balanced accuracy"] = float(balanced_accuracy_score(true, answers))
        mine = found["models"][0]
        figures = {key: mine[key.replace(" ", "_")] for key in truth}
        for entry in found["classes"]:
            of_class, named = true == entry["class"], answers == entry["class"]
            for key, whole in (("recall", of_class), ("precision", named)):
                figures[f"{key} {entry['class']}"] = entry[key]
                if whole.any():
                    truth[f"{key} {entry['class']}"] = (of_class & named).sum() / whole.sum()
        for what, known in truth.items():
            value, error = figures[what]["value"], figures[what]["standard_error"]
            if value is not None and error is not None:
                yield what.split()[0], bool(abs(value - known) <= 2 * error), error


def errors_section(quick: bool) -> Section:
    """A line for each figure and for each distribution."""
    count = 1 if quick else 40
    found: dict[str, list[tuple[bool, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in DISTRIBUTIONS:
            for seed in range(count):
                for what, held, error in within(name, seed, Path(folder)):
                    for key in ("all figures", name, what):
                        found.setdefault(key, []).append((held, error))
    header = ["figures", "number", "within two standard errors %", "mean error, points"]
    table = Table(header)
    for key, entries in found.items():
        holds, errors = zip(*entries, strict=True)
        shares = f"{100 * np.mean(holds):.1f}", f"{100 * np.mean(errors):.1f}"
        table.rows.append([key, str(len(holds)), *shares])
    question = (
        f"{count} tables of each of {len(DISTRIBUTIONS)} known distributions, of 100 to 400 rows. The figures are "
        f"those of `clearmargin rules`, with and without points; the truth of a figure is what the same rules have on "
        f"{FRESH:,} fresh rows. A hundred such intervals should hold the truth 95 times; an error that is only the "
        "spread of five folds, or only that over rows, holds it 71 to 83 times."
    )
    top = table.rows[0]
    finding = f"{top[2]} % of {top[1]} printed figures are within two standard errors of the truth."
    return Section("Standard errors", question, table, finding=finding)


def sections(quick: bool) -> list[Section]:
    """Measure and write."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [noise_section(quick), errors_section(quick)]
