"""How rules and model do on rows they have not seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from clearmargin.core.value import IntArray
from clearmargin.exceptions import ClearmarginError, InvalidValueError
from clearmargin.report.measured import match_labels, measure
from clearmargin.report.subject import Subject, rules_of

__all__ = ["check_cv", "validate"]

Facts = dict[str, Any]

# What is counted, and among which rows.
_FIGURES = (
    ("model_accuracy", "model_right", "rows"),
    ("accuracy", "right", "rows"),
    ("coverage", "covered", "rows"),
    ("precision", "rules_right", "covered"),
    ("fidelity", "agreed", "covered"),
)


def check_cv(cv: Any) -> None:
    """Insist on a number of folds, a splitter, or None.

    Examples
    --------
    >>> check_cv(1)
    Traceback (most recent call last):
    clearmargin.exceptions.InvalidValueError: cv must be a whole number from 2, ... or None, not 1
    """
    # A text has a split of its own.
    if cv is None or hasattr(cv, "get_n_splits"):
        return
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise InvalidValueError(
            f"cv must be a whole number from 2, a scikit-learn splitter or None, not {cv!r}"
        )


def validate(subject: Subject, X: Any, y: Any, cv: Any, seed: int | None) -> Facts:
    """Train the model on all folds but one and judge it on that one, for each fold.

    Parameters
    ----------
    subject : Subject
        The model.
    X, y
        All rows; y may be None.
    cv : int, splitter or None
        The folds: stratified ones, shuffled if there is a seed and in the order of the rows otherwise.
    seed : int or None
        For shuffling.

    Returns
    -------
    dict
        `done`, and either `why` not, or how and the figures: each with its counts, its value over all rows, its values
        by fold and the standard error of their mean.
    """
    why = _why_not(subject, y, cv)
    if why:
        return {"done": False, "why": why}
    folds, how = _folds(X, y, cv, seed)
    if not folds:
        return {"done": False, "why": how}
    counts: list[dict[str, int]] = []
    answers = np.full(len(y), -1, dtype=np.intp)
    for k, (train, test) in enumerate(folds):
        try:
            counts.append(_judge(subject, X, y, train, test, answers))
        except ClearmarginError as error:
            return {"done": False, "why": f"fold {k + 1} could not be fitted: {error}"}
    classes = subject.classes
    true = match_labels(y, classes)
    tested = np.concatenate([test for _, test in folds])
    confusion = np.zeros((len(classes), len(classes) + 1), dtype=np.intp)
    np.add.at(confusion, (true[tested], answers[tested]), 1)
    return {
        "done": True,
        "folds": len(folds),
        "how": how,
        "seed": seed,
        "rows": int(sum(count["rows"] for count in counts)),
        "figures": {name: _figure(counts, part, whole) for name, part, whole in _FIGURES},
        "most_common_class": _most_common(true, classes),
        # Rows: the true class. Columns: what is predicted out of fold, last no answer.
        "confusion": confusion.tolist(),
    }


def _why_not(subject: Subject, y: Any, cv: Any) -> str:
    if cv is None:
        return "it was not asked for"
    if y is None:
        return "the classes of the rows were not given"
    return subject.why_fixed if subject.prototype is None else ""


def _folds(
    X: Any, y: Any, cv: Any, seed: int | None
) -> tuple[list[tuple[IntArray, IntArray]], str]:
    """The folds and how they were made; none, and why."""
    if hasattr(cv, "get_n_splits"):
        pairs: Iterator[tuple[IntArray, IntArray]] = cv.split(X, y)
        return list(pairs), f"folds by {cv!r}"
    _, counts = np.unique(y, return_counts=True)
    number = int(min(cv, counts.min()))
    if number < 2:
        return [], "a class has one row only, and each fold needs one"
    splitter = StratifiedKFold(number, shuffle=seed is not None, random_state=seed)
    order = "in the order of the rows" if seed is None else f"shuffled with seed {seed}"
    fewer = "" if number == cv else f"; {cv} were asked for, but the rarest class has {number} rows"
    return list(splitter.split(np.zeros(len(y)), y)), f"stratified folds, {order}{fewer}"


def _judge(
    subject: Subject, X: Any, y: Any, train: IntArray, test: IntArray, answers: IntArray
) -> dict[str, int]:
    model = clone(subject.prototype).fit(_safe_indexing(X, train), y[train])
    rules = rules_of(model)
    assert rules is not None
    machine = getattr(model, "estimator_", model)
    found = measure(model, rules, machine, subject.classes, _safe_indexing(X, test), y[test])
    assert found.machine_says is not None
    answers[test] = found.answer
    covered = found.covered
    return {
        "rows": len(test),
        "covered": int(covered.sum()),
        "rules": len(rules),
        "model_right": int((found.machine_says == found.true).sum()),
        "right": int((found.answer == found.true).sum()),
        "rules_right": int((covered & (found.rule_says == found.true)).sum()),
        "agreed": int((covered & (found.rule_says == found.machine_says)).sum()),
    }


def _figure(counts: list[dict[str, int]], part: str, whole: str) -> Facts:
    parts, wholes = ([count[name] for count in counts] for name in (part, whole))
    by_fold = [p / w for p, w in zip(parts, wholes, strict=True) if w]
    total = sum(wholes)
    error = float(np.std(by_fold, ddof=1) / np.sqrt(len(by_fold))) if len(by_fold) > 1 else None
    return {
        "part": sum(parts),
        "whole": total,
        "value": sum(parts) / total if total else None,
        "by_fold": by_fold,
        "standard_error": error,
    }


def _most_common(true: IntArray, classes: tuple[Any, ...]) -> Facts:
    counts = np.bincount(true[true >= 0], minlength=len(classes))
    k = int(counts.argmax())
    return {"class": classes[k], "part": int(counts[k]), "whole": len(true)}
