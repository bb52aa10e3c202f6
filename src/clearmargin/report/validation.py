"""How rules and model do on rows they have not seen."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from clearmargin.exceptions import ClearmarginError, DataError
from clearmargin.report.measured import match_labels, measure
from clearmargin.report.subject import Subject, rules_of
from clearmargin.rules.rule import Label
from clearmargin.rules.value import IntArray
from clearmargin.tables.splitting import Folds, Splitting
from clearmargin.tables.table import Table

__all__ = ["Refit", "validate"]

Facts = dict[str, Any]

# What is counted, and among which rows.
_FIGURES = (
    ("model_accuracy", "model_right", "rows"),
    ("accuracy", "right", "rows"),
    ("coverage", "covered", "rows"),
    ("precision", "rules_right", "covered"),
    ("fidelity", "agreed", "covered"),
)


class Refit(Protocol):
    """Trains a model again on some rows of a table, in the way in which the model of a report was trained."""

    def __call__(self, train: IntArray, test: IntArray) -> tuple[Any, Any]:
        """Give a model with rules trained on rows at some positions, and the rows to test it on as it takes them."""


def validate(
    subject: Subject, X: Table, y: Any, splitting: Splitting | None, refit: Refit | None = None
) -> Facts:
    """Train the model on all folds but one and judge it on that one, for each fold.

    Parameters
    ----------
    subject : Subject
        The model.
    X, y
        All rows; y may be None.
    splitting : Splitting or None
        How rows are split into folds; None for no validation.
    refit : callable, optional
        How to train the model again; by default its prototype is cloned and fitted.

    Returns
    -------
    dict
        `done`, and either `why` not, or how and the figures: each with its counts, its value over all rows, its values
        by fold and the standard error of their mean.
    """
    why = _why_not(subject, y, splitting, refit)
    if why:
        return {"done": False, "why": why}
    assert splitting is not None
    try:
        folds = splitting.folds(X, y)
    except DataError as error:
        return {"done": False, "why": str(error)}
    train_again = _Prototype(subject.prototype, X, y) if refit is None else refit
    counts: list[dict[str, int]] = []
    answers = np.full(len(y), -1, dtype=np.intp)
    for k, (train, test) in enumerate(folds.pairs):
        try:
            model, table = train_again(train, test)
        except ClearmarginError as error:
            return {"done": False, "why": f"fold {k + 1} could not be fitted: {error}"}
        counts.append(_judge(model, table, subject.classes, y[test], answers, test))
    return {
        "done": True,
        "folds": len(folds),
        "how": folds.how,
        "seed": splitting.seed,
        "rows": folds.n_tested,
        # Tested rows with a twin in the training part of their fold, and what to say of them.
        "duplicates": folds.duplicates,
        "note": folds.note,
        **_of_all_folds(counts, answers, folds, match_labels(y, subject.classes), subject.classes),
    }


def _why_not(subject: Subject, y: Any, splitting: Splitting | None, refit: Refit | None) -> str:
    if splitting is None:
        return "it was not asked for"
    if y is None:
        return "the classes of the rows were not given"
    return subject.why_fixed if subject.prototype is None and refit is None else ""


class _Prototype:
    """Trains clones of an estimator."""

    def __init__(self, prototype: Any, X: Table, y: Any):
        self.prototype, self.X, self.y = prototype, X, y

    def __call__(self, train: IntArray, test: IntArray) -> tuple[Any, Any]:
        model = clone(self.prototype)
        rows = self.X.take(train)
        try:
            model.fit(rows.taken_by(model), self.y[train])
        except ClearmarginError:
            # No rules come out of a model that learned nothing, but it has an answer, which counts.
            machine = getattr(model, "estimator_", None)
            if (
                machine is None
                or len(np.unique(np.asarray(machine.predict(rows.taken_by(machine))))) > 1
            ):
                raise
            model = machine
        return model, self.X.take(test)


def _judge(
    model: Any, X: Any, classes: tuple[Label, ...], y: Any, answers: IntArray, test: IntArray
) -> dict[str, int]:
    rules = rules_of(model)
    machine = getattr(model, "estimator_", model)
    if rules is None:
        said = match_labels(machine.predict(Table.read(X).taken_by(machine)), classes)
        true, nothing = match_labels(y, classes), np.full(len(test), -1, dtype=np.intp)
        which, rule_says, answer = nothing, nothing, said
    else:
        found = measure(model, rules, machine, classes, X, y)
        assert found.machine_says is not None
        assert found.true is not None
        said, true = found.machine_says, found.true
        which, rule_says, answer = found.which, found.rule_says, found.answer
    answers[test] = answer
    covered = which >= 0
    return {
        "rows": len(test),
        "covered": int(covered.sum()),
        "rules": 0 if rules is None else len(rules),
        "model_right": int((said == true).sum()),
        "right": int((answer == true).sum()),
        "rules_right": int((covered & (rule_says == true)).sum()),
        "agreed": int((covered & (rule_says == said)).sum()),
    }


def _of_all_folds(
    counts: list[dict[str, int]],
    answers: IntArray,
    folds: Folds,
    true: IntArray,
    classes: tuple[Label, ...],
) -> Facts:
    tested = np.concatenate([test for _, test in folds.pairs])
    confusion = np.zeros((len(classes), len(classes) + 1), dtype=np.intp)
    np.add.at(confusion, (true[tested], answers[tested]), 1)
    return {
        "figures": {name: _figure(counts, part, whole) for name, part, whole in _FIGURES},
        "most_common_class": _most_common(true[tested], classes),
        # Rows: the true class. Columns: what is predicted out of fold, last no answer.
        "confusion": confusion.tolist(),
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
