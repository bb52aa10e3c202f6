"""What a report is about: a fitted model and its rules, what they predict, also for rows they have not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.models.threshold import find_threshold
from clearmargin.plane_rules import RuleExtractor
from clearmargin.rule_base.base import RuleBasedClassifier
from clearmargin.rule_base.rule_auc import class_shares, mean_auc
from clearmargin.rule_base.training import find_trained_part
from clearmargin.rule_svm import RuleSVC, WeightedRules
from clearmargin.rule_svm.reading import read_weighted_rules
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.splitting import Folds, Splitting
from clearmargin.tables.table import Table

__all__ = [
    "Measured",
    "Prototype",
    "Refit",
    "Subject",
    "fold_figure",
    "is_card",
    "is_contrast",
    "labels_array",
    "match_labels",
    "measure",
    "read_contrast",
    "read_subject",
    "rules_of",
    "threshold_text",
    "validate",
]


_TAKEN = (
    "a RuleExtractor, a linear classifier or a pipeline that ends in one, an extractor with rules_ such as "
    "SupportVectorRules, a RuleSVC, a ScoreRules, an AdviceSVC, a RankContrast or a RuleSet"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A fitted model with rules, and what is needed to judge it.

    Parameters
    ----------
    given : object
        What was passed.
    model : object
        Decides by the rules, and by something else where none fires.
    rules : RuleSet
        Its rules.
    machine : classifier or None
        Whose word the rules repeat; None where rules stand by themselves.
    prototype : estimator or None
        The unfitted model; None where it cannot be trained again.
    classes : tuple of labels
        The classes, in the order of the model.
    why_fixed : str
        Why there is no prototype.
    weighted : WeightedRules, optional
        Where the points of all rules that hold decide: the rules with their weights. Else one rule decides a row.

    Examples
    --------
    >>> from clearmargin import LPSVC
    >>> subject = read_subject(LPSVC(), [[0.0], [1.0], [4.0], [5.0]], ["no", "no", "yes", "yes"])
    >>> type(subject.machine).__name__, subject.classes
    ('LPSVC', ('no', 'yes'))
    """

    given: Any
    model: Any
    rules: RuleSet
    machine: Any
    prototype: Any
    classes: tuple[Label, ...]
    why_fixed: str = ""
    weighted: WeightedRules | None = None


def rules_of(model: Any) -> RuleSet | None:
    """Return the rules of a fitted model; None where it has none.

    Examples
    --------
    >>> rules_of(object()) is None
    True
    """
    weighted = read_weighted_rules(model)
    if weighted is not None:
        return weighted.rules
    for name in ("rules_", "exact_rules_"):
        rules = getattr(model, name, None)
        if isinstance(rules, RuleSet):
            return rules
    return None


def read_subject(model: Any, X: Any, y: Any) -> Subject:
    """Fit the model if need be, get its rules, and see whether it can be trained again.

    Parameters
    ----------
    model : object
        What was passed to `report`.
    X, y
        The data; y may be None for a fitted model.

    Returns
    -------
    Subject
        Ready to be judged.
    """
    table = Table.read(X)
    if isinstance(model, WeightedRules):
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
    """Check whether a model makes a scorecard, without loading what makes them.

    Examples
    --------
    >>> from clearmargin import LPSVC, ScoreRules
    >>> is_card(ScoreRules()), is_card(LPSVC())
    (True, False)
    """
    return bool(getattr(type(model), "_makes_card", False))


def is_contrast(model: Any) -> bool:
    """Check whether a model is a contrast of a ranking, without loading what contrasts rankings.

    Examples
    --------
    >>> from clearmargin import LPSVC, RankContrast
    >>> is_contrast(RankContrast()), is_contrast(LPSVC())
    (True, False)
    """
    return hasattr(type(model), "fit_ranking")


def read_contrast(contrast: Any, X: Table, y: Any, groups: Any = None, times: Any = None) -> Any:
    """Return a fitted contrast: the one given, or a fitted copy of it.

    Parameters
    ----------
    contrast : RankContrast
        Fitted or not.
    X, y
        The data, for one that is not fitted.
    groups, times
        How its folds are made, for one that is not fitted.

    Returns
    -------
    RankContrast
        Fitted.
    """
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


def _machine(model: Any, weighted: WeightedRules | None) -> Any:
    """Return whose word rules repeat; where points decide, there is nothing behind them."""
    return model if weighted is not None else getattr(model, "estimator_", model)


def _subject(given: Any, model: Any, rules: RuleSet) -> Subject:
    weighted = read_weighted_rules(model)
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
    """Return the classes as an array, one for each row.

    Examples
    --------
    >>> labels_array(["a", "b"], 2).tolist()
    ['a', 'b']
    """
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
        by fold and the standard error of their mean; `auc`, the area under the ROC curve of the rules, as a mean over
        folds.
    """
    why = _why_not(subject, y, splitting, refit)
    if why:
        return {"done": False, "why": why}
    assert splitting is not None
    try:
        folds = splitting.folds(X, y)
    except DataError as error:
        return {"done": False, "why": str(error)}
    train_again = Prototype(subject.prototype, X, y) if refit is None else refit
    counts: list[dict[str, int]] = []
    areas: list[float] = []
    answers = np.full(len(y), -1, dtype=np.intp)
    for k, (train, test) in enumerate(folds.pairs):
        try:
            model, table = train_again(train, test)
        except ClearmarginError as error:
            return {"done": False, "why": f"fold {k + 1} could not be fitted: {error}"}
        count, area = _judge(model, table, subject.classes, y[test], answers, test)
        counts.append(count)
        areas.append(area)
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
        "auc": _mean_area(areas),
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
) -> tuple[dict[str, int], float]:
    """Count what rules and model get right on unseen rows, and measure the area under the ROC curve of the rules."""
    rules, weighted = rules_of(model), read_weighted_rules(model)
    machine = _machine(model, weighted)
    if rules is None:
        predicted = match_labels(machine.predict(Table.read(X).taken_by(machine)), classes)
        true, nothing = match_labels(y, classes), np.full(len(test), -1, dtype=np.intp)
        which, rule_predicts, answer = nothing, nothing, predicted
        shares = np.zeros((len(test), len(classes)))
    else:
        found = measure(model, rules, machine, classes, X, y)
        assert found.model_predicts is not None
        assert found.true is not None
        predicted, true = found.model_predicts, found.true
        which, rule_predicts, answer = found.which, found.rule_predicts, found.answer
        shares = (
            class_shares(rules, which, classes)
            if weighted is None
            else _class_scores(weighted, found.table)
        )
    answers[test] = answer
    covered = which >= 0
    counts = {
        "rows": len(test),
        "covered": int(covered.sum()),
        "rules": 0 if rules is None else len(rules),
        "model_right": int((predicted == true).sum()),
        "right": int((answer == true).sum()),
        "rules_right": int((covered & (rule_predicts == true)).sum()),
        "agreed": int((covered & (rule_predicts == predicted)).sum()),
    }
    return counts, mean_auc(shares, true)


def _class_scores(weighted: WeightedRules, table: FloatArray) -> FloatArray:
    """Return a score for each class, by which rows can be ranked."""
    scores = np.asarray(weighted.decision_function(table))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


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
        "figures": {name: fold_figure(counts, part, whole) for name, part, whole in _FIGURES},
        "most_common_class": _most_common(true[tested], classes),
        # Rows: the true class. Columns: what is predicted out of fold, last no answer.
        "confusion": confusion.tolist(),
    }


def fold_figure(counts: list[dict[str, int]], part: str, whole: str) -> Facts:
    """Return a share over all folds: its counts, its values by fold and the standard error of their mean.

    Examples
    --------
    >>> fold_figure([{"right": 3, "rows": 4}, {"right": 4, "rows": 4}], "right", "rows")["value"]
    0.875
    """
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


def _mean_area(areas: list[float]) -> Facts:
    """Return the mean over the folds in which there is an area: those whose rows are of two classes at least."""
    known = [area for area in areas if not np.isnan(area)]
    error = float(np.std(known, ddof=1) / np.sqrt(len(known))) if len(known) > 1 else None
    return {
        "value": float(np.mean(known)) if known else None,
        "by_fold": known,
        "standard_error": error,
    }


def _most_common(true: IntArray, classes: tuple[Any, ...]) -> Facts:
    counts = np.bincount(true[true >= 0], minlength=len(classes))
    k = int(counts.argmax())
    return {"class": classes[k], "part": int(counts[k]), "whole": len(true)}


@dataclass(frozen=True, slots=True)
class Measured:
    """What rules and model predict for each row, as positions among the classes.

    Parameters
    ----------
    table : ndarray of shape (m, n)
        The features of the rules, categories as codes; NaN where missing.
    covers : ndarray of bool of shape (m, r)
        Which rules cover which rows.
    which : ndarray of int of shape (m,)
        The rule that decides, -1 where none does.
    rule_predicts : ndarray of int of shape (m,)
        Position of the class of that rule; -1 where there is none.
    model_predicts : ndarray of int of shape (m,) or None
        Position of the class that the model underneath gives.
    answer : ndarray of int of shape (m,)
        Position of the class predicted in the end; -1 for no answer.
    true : ndarray of int of shape (m,) or None
        Position of the true class; -1 for one that the model does not know.
    absent : ndarray of int of shape (n,)
        In how many rows the value of each feature is missing or infinite, before anything was put in its place.
    """

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
    """Ask rules and model about rows.

    Parameters
    ----------
    model : object
        Has `predict`, and may have `which`.
    rules : RuleSet
        Its rules.
    machine : classifier or None
        The model underneath.
    classes : tuple of labels
        The classes.
    X : table
        The rows.
    y : array or None
        Their classes.

    Returns
    -------
    Measured
        The predictions, row by row.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("a >= 1 => yes")
    >>> measure(rules, rules, None, ("yes",), [[0.0], [2.0]], None).which
    array([-1,  0])
    """
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
    """Find the position of each label among the classes, -1 for one that is none of them.

    Examples
    --------
    >>> match_labels(["b", None, "a"], ("a", "b"))
    array([ 1, -1,  0])
    """
    given: NDArray[Any] = np.asarray(labels)
    codes = np.full(len(given), -1, dtype=np.intp)
    for k, label in enumerate(classes):
        codes[np.asarray(given == label, dtype=np.bool_)] = k
    return codes
