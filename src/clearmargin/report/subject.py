"""What a report is about: a fitted model and its rules, what they predict, also for rows they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.models.threshold import find_threshold
from clearmargin.plane_rules import RuleExtractor
from clearmargin.points import RuleSVC, Scorecard
from clearmargin.points.reading import scorecard_of
from clearmargin.rule_base.base import RuleBasedClassifier
from clearmargin.rule_base.rule_auc import class_shares
from clearmargin.rule_base.training import find_trained_part
from clearmargin.rule_base.training import train as train_model
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.figures import Evaluation, UnseenRows, rare_class
from clearmargin.tables.figures import Figure as FoldFigure
from clearmargin.tables.splitting import Folds, Splitting
from clearmargin.tables.table import Table

_TAKEN = (
    "a RuleExtractor, a linear classifier or a pipeline that ends in one, an extractor with rules_ such as "
    "SupportVectorRules, a RuleSVC, a ScoreRules, an AdviceSVC, a RankContrast or a RuleSet"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A fitted model with rules, and what is needed to judge it."""

    given: Any
    model: Any
    rules: RuleSet
    machine: Any
    prototype: Any
    classes: tuple[Label, ...]
    why_fixed: str = ""
    weighted: Scorecard | None = None


def rules_of(model: Any) -> RuleSet | None:
    """Return the rules of a fitted model; None where it has none."""
    weighted = scorecard_of(model)
    if weighted is not None:
        return weighted.rules
    rules = getattr(model, "rules_", None)
    return rules if isinstance(rules, RuleSet) else None


def read_subject(model: Any, X: Any, y: Any) -> Subject:
    """Fit the model if need be, get its rules, and see whether it can be trained again."""
    table = Table.read(X)
    if isinstance(model, Scorecard):
        why = "rules with points are not trained"
        return Subject(model, model, model.rules, model, None, model.classes, why, model)
    if isinstance(model, RuleSet):
        # Rules may speak of one class only, and the cases be of others, too.
        seen = () if y is None else (as_label(label) for label in np.unique(y))
        classes = tuple(dict.fromkeys([*model.classes, *seen]))
        return Subject(model, model, model, None, None, classes, "rules are not trained")
    if isinstance(model, type) or not hasattr(model, "fit"):
        what = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InvalidValueError(f"report takes {_TAKEN}; not {what}")
    fitted = is_fitted(model)
    if not fitted and y is None:
        raise DataError(
            f"{type(model).__name__} is not fitted and there is no y to fit it to; pass y, or fit it first"
        )
    if fitted and (rules := rules_of(model)) is not None:
        return _subject(model, model, rules)
    if _makes_rules(model):
        trained = _untrained(model).fit(table.taken_by(model), y)
        rules = rules_of(trained)
        if rules is None:
            raise InvalidValueError(f"{type(model).__name__} has no rules after fit; see rules_")
        return _subject(model, trained, rules)
    if not is_classifier(model):
        raise InvalidValueError(
            f"{type(model).__name__} has no rules and is no classifier; report takes {_TAKEN}"
        )
    # Without classes, what the model predicts stands in for them: its rules are the same.
    labels = model.predict(table.taken_by(model)) if y is None else y
    extractor = RuleExtractor(model)
    extractor.fit(table.taken_by(extractor), labels)
    return _subject(model, extractor, extractor.rules_)


def threshold_text(machine: Any) -> str | None:
    """Say by which operating threshold a model predicts; None for the usual one."""
    threshold = find_threshold(machine)
    if threshold is not None:
        return str(threshold)
    known: str | None = (getattr(machine, "facts", None) or {}).get("threshold")
    return known


def is_card(model: Any) -> bool:
    """Check whether a model makes a scorecard, without loading what makes them."""
    return bool(getattr(type(model), "_makes_card", False))


def is_contrast(model: Any) -> bool:
    """Check whether a model is a contrast of a ranking, without loading what contrasts rankings."""
    return hasattr(type(model), "fit_ranking")


def read_contrast(contrast: Any, X: Table, y: Any, groups: Any = None, times: Any = None) -> Any:
    """Return a fitted contrast: the one given, or a fitted copy of it."""
    if not is_contrast(contrast):
        raise InvalidValueError(f"contrast must be a RankContrast, not {type(contrast).__name__}")
    if is_fitted(contrast):
        rows = contrast.n_rows_
        if rows != len(X):
            raise DataError(
                f"the contrast was fitted to {rows} rows and X has {len(X)}; pass the same rows"
            )
        return contrast
    if y is None:
        raise DataError("the contrast is not fitted and there is no y; pass y, or fit it first")
    return clone(contrast).fit(X.taken_by(contrast), y, groups=groups, times=times)


def _makes_rules(model: Any) -> bool:
    """Check whether a model will have rules of its own once it is fitted."""
    return isinstance(model, RuleBasedClassifier | RuleSVC)


def _machine(model: Any, weighted: Scorecard | None) -> Any:
    """Return whose word rules repeat; where points decide, there is nothing behind them."""
    return model if weighted is not None else getattr(model, "estimator_", model)


def _subject(given: Any, model: Any, rules: RuleSet) -> Subject:
    weighted = scorecard_of(model)
    machine = _machine(model, weighted)
    known = getattr(model, "classes_", rules.classes)
    classes = tuple(as_label(label) for label in known)
    part = find_trained_part(model)
    if part:
        why = f"{part} was trained before and cannot be trained again without the cases it is judged on"
        return Subject(given, model, rules, machine, None, classes, why, weighted)
    return Subject(given, model, rules, machine, clone(model), classes, weighted=weighted)


def _untrained(model: Any) -> Any:
    """Return a copy of an extractor to be fitted; what is trained inside it and cannot be otherwise stays as it is."""
    if find_trained_part(model):
        return type(model)(**model.get_params(deep=False))
    return clone(model)


def labels_array(y: Any, rows: int) -> np.ndarray[Any, Any] | None:
    """Return the classes as an array, one for each row."""
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (rows,):
        raise DataError(
            f"X has {rows} rows and y has shape {labels.shape}; each row needs one class"
        )
    return labels


Facts = dict[str, Any]


class Refit(Protocol):
    """Trains a model again on some rows of a table, in the way in which the model of a report was trained."""

    def __call__(self, train: IntArray, test: IntArray) -> tuple[Any, Any]:
        """Give a model with rules trained on rows at some positions, and the rows to test it on as it takes them."""


def validate(
    subject: Subject, X: Table, y: Any, splitting: Splitting | None, refit: Refit | None = None
) -> Facts:
    """Train the model on all folds but one and judge it on that one, for each fold."""
    why = _why_not(subject, y, splitting, refit)
    if why:
        return {"done": False, "why": why}
    assert splitting is not None
    try:
        folds = splitting.folds(X, y)
    except DataError as error:
        return {"done": False, "why": str(error)}
    train_again = Prototype(subject.prototype, X, y) if refit is None else refit
    parts: list[dict[str, NDArray[Any]]] = []
    for k, (train, test) in enumerate(folds.pairs):
        try:
            model, table = train_again(train, test)
        except ClearmarginError as error:
            return {"done": False, "why": f"fold {k + 1} could not be fitted: {error}"}
        parts.append(_judge(model, table, subject.classes, y[test]))
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    tested, covered = UnseenRows.of(folds, splitting.groups), found["covered"]
    known = Evaluation(
        tested,
        found["true"],
        found["answer"],
        subject.classes,
        found["scores"],
        rare_class(y),
    )
    figures = {
        "model_accuracy": tested.share(found["model"] == found["true"]),
        "accuracy": known.accuracy,
        "coverage": tested.share(covered),
        "precision": tested.share(found["rules"] == found["true"], covered),
        "fidelity": tested.share(found["rules"] == found["model"], covered),
    }
    return check_facts(known, folds, figures, splitting.seed)


def check_facts(
    known: Evaluation,
    folds: Folds,
    figures: Mapping[str, FoldFigure] | None = None,
    seed: int | None = None,
) -> Facts:
    """Return what a report says about rows that were not trained on."""
    shown = {"model_accuracy": known.accuracy, "accuracy": known.accuracy, **(figures or {})}
    confusion = np.zeros((len(known.classes), len(known.classes) + 1), dtype=np.intp)
    np.add.at(confusion, (known.true, known.predicted), 1)
    unseen = known.to_dict()
    return {
        "done": True,
        "folds": len(folds),
        "how": folds.how,
        "seed": seed,
        "rows": folds.n_tested,
        # UnseenRows rows with a twin in the training part of their fold, and what to say of them.
        "duplicates": folds.duplicates,
        "note": folds.note,
        "unseen": unseen,
        "figures": {name: figure.to_dict() for name, figure in shown.items()},
        "most_common_class": {
            "class": known.common[0],
            "part": int(known.counts.max()),
            "whole": len(known.true),
        },
        # Rows: the true class. Columns: what is predicted out of fold, last no answer.
        "confusion": confusion.tolist(),
        "auc": unseen["auc"],
    }


def _why_not(subject: Subject, y: Any, splitting: Splitting | None, refit: Refit | None) -> str:
    if splitting is None:
        return "it was not asked for"
    if y is None:
        return "the classes of the rows were not given"
    return subject.why_fixed if subject.prototype is None and refit is None else ""


class Prototype:
    """Trains clones of an estimator."""

    def __init__(self, prototype: Any, X: Table, y: Any):
        self.prototype, self.X, self.y = prototype, X, y

    def __call__(self, train: IntArray, test: IntArray) -> tuple[Any, Any]:
        """Give a clone that is fitted to some rows, and the rows to test it on."""
        model = clone(self.prototype)
        rows = self.X.take(train)
        try:
            model.fit(rows.taken_by(model), self.y[train])
        except ClearmarginError:
            # No rules come out of a model that learned nothing, but it has an answer, which counts.
            given = getattr(model, "estimator", None)
            if given is None:
                raise
            model = train_model(given, rows, self.y[train], {})
            if len(np.unique(np.asarray(model.predict(rows.taken_by(model))))) > 1:
                raise
        return model, self.X.take(test)


def _judge(model: Any, X: Any, classes: tuple[Label, ...], y: Any) -> dict[str, NDArray[Any]]:
    """Ask rules and model about unseen rows; rows are scored by the rules."""
    rules, weighted = rules_of(model), scorecard_of(model)
    machine = _machine(model, weighted)
    if rules is None:
        predicted = match_labels(machine.predict(Table.read(X).taken_by(machine)), classes)
        nothing = np.full(len(predicted), -1, dtype=np.intp)
        return {
            "true": match_labels(y, classes),
            "answer": predicted,
            "model": predicted,
            "rules": nothing,
            "covered": nothing >= 0,
            "scores": np.zeros((len(predicted), len(classes))),
        }
    found = measure(model, rules, machine, classes, X, y)
    assert found.model_predicts is not None
    assert found.true is not None
    return {
        "true": found.true,
        "answer": found.answer,
        "model": found.model_predicts,
        "rules": found.rule_predicts,
        "covered": found.covered,
        "scores": class_shares(rules, found.which, classes)
        if weighted is None
        else _class_scores(weighted, found.table),
    }


def _class_scores(weighted: Scorecard, table: FloatArray) -> FloatArray:
    """Return a score for each class, by which rows can be ranked."""
    scores = np.asarray(weighted.decision_function(table))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


@dataclass(frozen=True, slots=True)
class Measured:
    """What rules and model predict for each row, as positions among the classes."""

    table: FloatArray
    covers: BoolArray
    which: IntArray
    rule_predicts: IntArray
    model_predicts: IntArray | None
    answer: IntArray
    true: IntArray | None
    absent: IntArray

    @property
    def covered(self) -> BoolArray:
        """Whether some rule decides the row."""
        return np.asarray(self.which >= 0)

    @property
    def missing(self) -> BoolArray:
        """Whether a feature of the row is not known, and nothing takes its place."""
        return np.asarray(~np.isfinite(self.table).all(axis=1))


def measure(
    model: Any, rules: RuleSet, machine: Any, classes: tuple[Label, ...], X: Any, y: Any
) -> Measured:
    """Ask rules and model about rows."""
    table = Table.read(X)
    which = (model if hasattr(model, "which") else rules).which(table.taken_by(model))
    covers = rules.covers(table)
    # The model may refuse rows that a rule by itself would take, such as those outside of declared bounds.
    covers &= (which >= 0)[:, None]
    number = {label: k for k, label in enumerate(classes)}
    of_rule = np.array([number[rule.label] for rule in rules] + [-1], dtype=np.intp)
    model_predicts = (
        None if machine is None else match_labels(machine.predict(table.taken_by(machine)), classes)
    )
    return Measured(
        table=rules.space.read(table),
        covers=covers,
        which=which,
        rule_predicts=of_rule[which],
        model_predicts=model_predicts,
        answer=model_predicts
        if model is machine and model_predicts is not None
        else match_labels(model.predict(table.taken_by(model)), classes),
        true=None if y is None else match_labels(y, classes),
        absent=np.count_nonzero(~np.isfinite(rules.space.with_fill(None).read(table)), axis=0),
    )


def match_labels(labels: Any, classes: tuple[Label, ...]) -> IntArray:
    """Find the position of each label among the classes, -1 for one that is none of them."""
    given: NDArray[Any] = np.asarray(labels)
    codes = np.full(len(given), -1, dtype=np.intp)
    for k, label in enumerate(classes):
        codes[np.asarray(given == label, dtype=np.bool_)] = k
    return codes
