"""Figures on rows not seen, on tables of pure noise: every door that prints one must find chance there.

A table has random numbers for features and random classes, half of them each. Whatever is learned from some of its rows
says nothing of the others, so that the accuracy on these is 50 % and the area under the ROC curve 0.5, up to chance. A
door whose mean over many tables is further from that than three standard errors has seen the rows it is judged on.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import Bunch

from benchmarks.page import Section, Table, write_page
from clearmargin import (
    LPSVC,
    LPSVCCV,
    AdviceSVCCV,
    RankContrast,
    RuleExtractor,
    RuleSVC,
    ScoreRules,
    compare_extractors,
    explain_many,
)
from clearmargin.cli.main import main as command_line
from clearmargin.compare.extractors import ExtractorComparison
from clearmargin.kernel_rules.surrogate_rules import SurrogateRules
from clearmargin.report import report

__all__ = ["BEST_SCORES", "DOORS", "Noise", "main", "make_noise", "measure"]

PAGE = Path(__file__).parent / "NOISE.md"
CHANCE = 0.5
ADVICE = "a0 >= 0.5 => yes\na1 <= -0.5 => no\n"


@dataclass(frozen=True, eq=False)
class Noise:
    """A table without anything to learn, in memory and as a file.

    Each two rows are of the same time and each four of the same group, half of them of each class, so that whatever is
    said of a fold of whole groups or times is right on half of it.
    """

    X: pd.DataFrame
    y: np.ndarray[Any, Any]
    folder: Path
    folds: int = 5

    @property
    def groups(self) -> np.ndarray[Any, Any]:
        """Four rows each."""
        return np.arange(len(self.y)) // 4


def make_noise(seed: int, rows: int, columns: int, folder: Path, folds: int = 5) -> Noise:
    """Draw a table, and write it as noise.csv, with groups and times."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"a{j}" for j in range(columns)])
    pairs = rng.permuted(np.tile(["no", "yes"], (rows // 2, 1)), axis=1)
    noise = Noise(X, pairs.ravel(), folder, folds)
    table = X.assign(y=noise.y, who=noise.groups, when=np.arange(rows) // 2)
    table.to_csv(folder / "noise.csv", index=False)
    (folder / "advice.rules").write_text(ADVICE)
    return noise


def _run(noise: Noise, *words: str) -> dict[str, Any] | None:
    """What a command prints as JSON; None where it refuses."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        table, folds = str(noise.folder / "noise.csv"), str(noise.folds)
        code = command_line([words[0], table, *words[1:], "--cv", folds, "--json"])
    if code not in (0, 2):
        raise RuntimeError(f"{' '.join(words)}: exit code {code}")
    found: dict[str, Any] | None = json.loads(said.getvalue()) if code == 0 else None
    return found


_PLAIN = ("--target", "y", "--drop", "who,when")


def _printed(*words: str) -> Callable[[Noise], float]:
    """The figure that a command prints of its model."""

    def door(noise: Noise) -> float:
        options = (
            words[1:] if "--groups" in words or "--time" in words else (*words[1:], *_PLAIN[2:])
        )
        more = ["--advice", str(noise.folder / "advice.rules")] if words[0] == "advise" else []
        found = _run(noise, words[0], "--target", "y", *options, *more)
        return np.nan if found is None else float(found["model"]["cross_validated_accuracy"])

    return door


def _page(name: str) -> Callable[[Noise], float]:
    """A figure on the page that `clearmargin report` writes."""

    def door(noise: Noise) -> float:
        part, whole = re.findall(rf"{name}.*?(\d+) of (\d+) *cases", _page_text(noise), re.DOTALL)[
            0
        ]
        return int(part) / int(whole)

    return door


@lru_cache
def _page_text(noise: Noise) -> str:
    out = noise.folder / "page.html"
    _run(noise, "report", *_PLAIN, "--nu", "1", "--max-rules", "1", "--out", str(out))
    return re.sub(r"<[^>]*>", " ", out.read_text(encoding="utf-8")).replace("\xa0", " ")


def _default_way(noise: Noise) -> float:
    """The figure that `rules` prints with no option set, where methods compete in folds."""
    said = io.StringIO()
    table, folds = str(noise.folder / "noise.csv"), str(noise.folds)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        code = command_line(["rules", table, *_PLAIN, "--cv", folds])
    return _share_in(said.getvalue(), code)


def _share_in(text: str, code: int) -> float:
    """The figure in what a command prints; it may refuse to go on after that, where there are no rules."""
    found = re.search(r"(?:judged on, it is|unseen rows:) right on ([\d.]+) %", text)
    if found is None or code not in (0, 2):
        raise RuntimeError(f"exit code {code}: {text}")
    return float(found[1]) / 100


def _demo(noise: Noise) -> float:
    """The figure that `make demo` prints, with this table in the place of its data."""
    names = list(noise.X.columns)
    data = Bunch(
        data=noise.X.to_numpy(),
        target=noise.y,
        feature_names=names,
        target_names=["no", "yes"],
        units={},
        DESCR="# noise",
    )
    said = io.StringIO()
    patched = mock.patch("clearmargin.recipes.demonstration.load_dataset", return_value=data)
    with patched, contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        code = command_line(["demo", "wbc", "--no-report", "--cv", str(noise.folds)])
    return _share_in(said.getvalue(), code)


def _in_python(model: Any, figure: str = "accuracy") -> Callable[[Noise], float]:
    """A figure of `report`, in folds of whole groups."""

    def door(noise: Noise) -> float:
        made = report(model, noise.X, noise.y, cases=0, cv=noise.folds, groups=noise.groups)
        check = made.to_dict()["validation"]
        return float(check["figures"][figure]["value"]) if check["done"] else np.nan

    return door


def _nested(model: Any) -> Callable[[Noise], float]:
    """A search within each fold."""

    def door(noise: Noise) -> float:
        return float(
            cross_val_score(model, noise.X, noise.y, cv=StratifiedKFold(noise.folds)).mean()
        )

    return door


def _best_score(model: Any) -> Callable[[Noise], float]:
    """The best score of a search, which nothing prints."""

    def door(noise: Noise) -> float:
        return float(model.fit(noise.X, noise.y).cv_results_["mean_test_score"].max())

    return door


class _Scrambled(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model that nothing explains: the class of a row is a bit of a hash of its values."""

    def fit(self, X: Any, y: Any) -> _Scrambled:
        """Learn nothing."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Scramble each row."""
        hashed = pd.util.hash_pandas_object(pd.DataFrame(np.asarray(X, dtype=float)), index=False)
        found: np.ndarray[Any, Any] = self.classes_[
            (hashed.to_numpy() >> np.uint64(17)) & np.uint64(1)
        ]
        return found


def _explained(noise: Noise) -> float:
    """The precision of measured explanations, counted on rows that were not used to find them.

    It is the model that is noise here: explanations speak of it, not of the classes in the table.
    """
    model = _Scrambled().fit(noise.X, noise.y)
    many = explain_many(model, noise.X.iloc[::4], noise.X, precision=0.7, guarantee="measured")
    stats = [each.rule.stats for each in many if each.rule.stats is not None]
    covered = sum(each.covered for each in stats)
    agreed = sum(each.agreed or 0 for each in stats)
    return agreed / covered if covered else np.nan


def _carded(*words: str) -> Callable[[Noise], float]:
    """The figure that `score` prints of its card."""

    def door(noise: Noise) -> float:
        found = _run(noise, "score", *_PLAIN, *words)
        return np.nan if found is None else float(found["cross_validated_accuracy"])

    return door


def _compared(measure: str) -> Callable[[Noise], float]:
    def door(noise: Noise) -> float:
        found = _comparison(noise)
        return found.model_accuracy if measure == "model" else found["tree"].mean("accuracy")

    return door


@lru_cache
def _comparison(noise: Noise) -> ExtractorComparison:
    rules = {"tree": SurrogateRules(method="train")}
    model = make_pipeline(StandardScaler(), SVC())
    return compare_extractors(
        model,
        noise.X,
        noise.y,
        cv=noise.folds,
        groups=noise.groups,
        extractors=rules,
        random_state=0,
    )


def _area(**columns: str) -> Callable[[Noise], float]:
    def door(noise: Noise) -> float:
        given = {name: getattr(noise, own) for name, own in columns.items()}
        contrast = RankContrast(top=0.2, bottom=0.2, max_size=1)
        return contrast.fit(noise.X, noise.y, **given).held_out_auc_

    return door


def _ranked(noise: Noise) -> float:
    found = _run(noise, "rank", "--target", "y", "--groups", "who", "--drop", "when", "--top", "0.2",
                 "--bottom", "0.2", "--max-size", "1")  # fmt: skip
    return np.nan if found is None else float(found["held_out_auc"])


# Where nothing beats a constant it has no rules to report on; so it may not be one.
_LPSVCCV = LPSVCCV(rule="1se", max_features=6, cv=5, allow_constant=False)
_ADVICE = AdviceSVCCV(ADVICE, lams=[0.1, 1.0, 10.0], mus=[0.1, 1.0])
_RULES = RuleSVC(max_rules=3, cv=3, certify=False)
DOORS: dict[str, Callable[[Noise], float]] = {
    "report: page, accuracy of the model": _page("accuracy of the model"),
    "report: page, accuracy of the rules": _page("accuracy of the rules, with the fallback"),
    "rules --nu 1": _printed("rules", "--nu", "1"),
    "rules --groups": _printed("rules", "--nu", "1", "--groups", "who", "--drop", "when"),
    "rules --time": _printed("rules", "--nu", "1", "--time", "when", "--drop", "who"),
    "rules, the default way": _default_way,
    "demo": _demo,
    "advise": _printed("advise"),
    "advise --refine translate": _printed("advise", "--refine", "translate"),
    "rank --groups: area under the curve": _ranked,
    "RankContrast: area under the curve": _area(),
    "compare_extractors: model": _compared("model"),
    "compare_extractors: rules of a tree": _compared("tree"),
    "report(RuleExtractor(LPSVC()))": _in_python(RuleExtractor(LPSVC(), max_rules=2)),
    "report(RuleExtractor(LPSVCCV())): model": _in_python(
        RuleExtractor(_LPSVCCV, max_rules=2), "model_accuracy"
    ),
    "LPSVCCV, nested": _nested(_LPSVCCV),
    "AdviceSVCCV, nested": _nested(_ADVICE),
    "RuleSVC, nested": _nested(_RULES),
    "RuleSVC with points, nested": _nested(clone(_RULES).set_params(points=True)),
    "ScoreRules with proof, nested": _nested(ScoreRules(LPSVC(), max_rules=6, certify=True)),
    "score --max-cuts 4": _carded("--max-cuts", "4"),
    "explain: precision on rows not used": _explained,
    "ScoreRules, nested": _nested(ScoreRules(LPSVC(), n_generated=200, random_state=0)),
}
# For comparison: what these searches were called by before.
BEST_SCORES: dict[str, Callable[[Noise], float]] = {
    "LPSVCCV, best score of the search": _best_score(LPSVCCV(cv=5)),
    "AdviceSVCCV, best score of the search": _best_score(_ADVICE),
    "RuleSVC, best score of the search": _best_score(_RULES),
}


def measure(door: Callable[[Noise], float], tables: Sequence[Noise]) -> tuple[float, float, int]:
    """The mean of a figure over tables, its standard error, and how many tables have it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = np.array([door(noise) for noise in tables])
    known = figures[np.isfinite(figures)]
    if len(known) < 2:
        return np.nan, np.nan, len(known)
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known))), len(known)


INTRO = (
    "Written by `make noise`. {count} tables of {rows} rows and {columns} columns of random numbers, with random "
    "classes, half of the rows each: on rows not seen in training the accuracy is 0.5 and the area under the ROC curve "
    "0.5, whatever is learned from the others. *Errors* is the distance of the mean from 0.5 in standard errors of the "
    "mean."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all doors, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description=__doc__)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=80)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--no-page", action="store_true")
    given = parser.parse_args(arguments)
    sections = []
    with tempfile.TemporaryDirectory() as name:
        tables = []
        for seed in range(given.first_seed, given.first_seed + given.tables):
            folder = Path(name) / str(seed)
            folder.mkdir()
            tables.append(make_noise(seed, given.rows, given.columns, folder))
        for title, doors in (
            ("Figures on rows not seen", DOORS),
            ("Best scores of searches, which are printed nowhere", BEST_SCORES),
        ):
            rows = []
            for door, figure in doors.items():
                start = time.process_time()
                mean, error, count = measure(figure, tables)
                seconds = time.process_time() - start
                away = abs(mean - CHANCE) / error if error else 0.0
                rows.append([door, f"{mean:.3f}", f"{error:.3f}", f"{away:.1f}", str(count)])
                print(*rows[-1], f"{seconds:.1f} s", sep=" | ", flush=True)
            header = ["door", "mean", "standard error", "errors", "tables"]
            sections.append(Section(title, "", Table(header, rows), ""))
    if not given.no_page:
        intro = INTRO.format(count=given.tables, rows=given.rows, columns=given.columns)
        write_page(sections, PAGE, "Noise", intro)


if __name__ == "__main__":
    main()
