"""The extractors of clearmargin, on a machine that is trained already."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import Answer
from benchmarks.quality.statement import answer_of, shortest, with_default
from clearmargin import RuleExtractor, RuleSet, SupportVectorRules, SurrogateRules
from clearmargin import SVMTreeClassifier as SVMTree
from clearmargin.exceptions import ClearmarginError

__all__ = ["METHODS", "Method", "answers", "machine_answer", "methods", "rules_of", "too_large"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Method:
    """An extractor: from a machine and a seed to an estimator whose `rules_` count.

    With `also_short` the same rules are stated a second time: those of one class only, with the other class by
    default, where that is no worse on training rows.
    """

    name: str
    make: Callable[[Any, int], Any]
    also_short: bool = False


def _exact(name: str, *, also_short: bool = False, **options: Any) -> Method:
    # All rules, as peers give all of theirs; what few of them are worth is asked in `budget`.
    chosen = {"min_coverage": 2, "max_rules": None, **options}
    return Method(name, lambda model, _seed: RuleExtractor(model, **chosen), also_short)


def _surrogate(name: str, *, also_short: bool = False, **options: Any) -> Method:
    return Method(
        name,
        lambda model, seed: SurrogateRules(
            model, max_leaves=16, max_rules=None, random_state=seed, **options
        ),
        also_short,
    )


# Every rule, however few rows it has.
ALL: dict[str, Any] = {"min_coverage": 1, "max_rules": None}
LINEAR = (
    _exact("RuleExtractor, volume", criterion="volume"),
    _exact("RuleExtractor, coverage", criterion="coverage"),
    _exact("RuleExtractor, overlapping", criterion="coverage", disjoint=False, also_short=True),
    _exact(
        "RuleExtractor, overlapping, 16 rules",
        criterion="coverage",
        disjoint=False,
        max_rules=16,
        also_short=True,
    ),
)
KERNEL = (
    Method("SupportVectorRules", lambda model, _seed: SupportVectorRules(model, **ALL)),
    Method(
        "SupportVectorRules, certified",
        lambda model, _seed: SupportVectorRules(model, certify=True, budget=64, **ALL),
    ),
    _surrogate("SurrogateRules, alba", method="alba"),
)
ANY = (
    _surrogate("SurrogateRules, local", method="local", also_short=True),
    _surrogate("SurrogateRules, train", method="train"),
    _surrogate("SurrogateRules, boxes", method="train", learner="boxes"),
    Method("SVMTreeClassifier, intervals", lambda _model, seed: SVMTree(random_state=seed, **ALL)),
)
METHODS = (*LINEAR, *KERNEL, *ANY)
# What takes long waits for a full run; proofs of boxes in many dimensions take minutes even there.
SLOW = frozenset(("RuleExtractor, coverage", "RuleExtractor, overlapping"))
MOST_PROVED_COLUMNS = 10
# The search for coverage takes minutes a fold beyond this, unless it ends after few rules.
MOST_SEARCHED_CELLS = 100_000


def methods(teacher: str, *, full: bool) -> tuple[Method, ...]:
    """The methods for a kind of machine."""
    chosen: tuple[Method, ...] = (*(LINEAR if teacher == "linear" else KERNEL), *ANY)
    return chosen if full else tuple(m for m in chosen if m.name not in SLOW)


def too_large(name: str, X: Array) -> str | None:
    """Why a method is not tried on a table of this size; None where it is."""
    if name == "SupportVectorRules, certified" and X.shape[1] > MOST_PROVED_COLUMNS:
        return f"not tried on more than {MOST_PROVED_COLUMNS} columns"
    is_search = name in ("RuleExtractor, coverage", "RuleExtractor, overlapping")
    if is_search and X.size > MOST_SEARCHED_CELLS:
        return f"not tried on tables of more than {MOST_SEARCHED_CELLS:,} cells"
    return None


def rules_of(method: Method, model: Any, X: Array, predicted: Array, seed: int) -> RuleSet:
    """The rules that a method finds on rows that the machine labelled; none where it finds none."""
    with warnings.catch_warnings():
        # A dense plane is what this asks about.
        warnings.filterwarnings("ignore", "the plane has .* features with a weight")
        extractor = method.make(model, seed).fit(X, predicted)
    rules: RuleSet = extractor.rules_
    return rules


def answers(
    fold: Fold,
    *,
    full: bool,
    skipped: Mapping[str, str] = MappingProxyType({}),
    kept: dict[str, RuleSet] | None = None,
) -> dict[str, Answer | str]:
    """What all methods say on the held-out rows; a text where a method refuses or is skipped, and why.

    Sets of rules are put into `kept`, for whoever needs them again.
    """
    found: dict[str, Answer | str] = {}
    X, predicted = fold.X_train, fold.predicted_train
    for method in methods(fold.teacher, full=full):
        names = [method.name, *([f"{method.name}, one class"] if method.also_short else [])]
        reason = skipped.get(method.name) or too_large(method.name, X)
        start = time.process_time()
        try:
            rules = None if reason else rules_of(method, fold.model, X, predicted, fold.seed)
        except ClearmarginError as error:
            # One fold of one method is not to cost an hour of others; the row says what went wrong.
            rules, reason = None, f"{type(error).__name__}: {error}"
        if rules is None:
            found.update(dict.fromkeys(names, str(reason)))
            continue
        spent = time.process_time() - start
        if kept is not None:
            kept[method.name] = rules
        for name, make in zip(names, (with_default, shortest), strict=False):
            found[name] = answer_of(make(rules, X, predicted), fold, spent)
    return found


def machine_answer(fold: Fold) -> Answer:
    """The machine itself, for its accuracy."""
    return Answer(
        fold.predicted_test,
        np.ones(len(fold.predicted_test), dtype=np.bool_),
        np.nan,
        np.nan,
        np.nan,
        score=fold.model.decision_function(fold.X_test),
    )
