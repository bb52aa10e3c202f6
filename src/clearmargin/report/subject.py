"""What a report is about: a fitted model, its rules, and how to train it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.plane_rules import RuleExtractor
from clearmargin.rankings import RankContrast
from clearmargin.rule_base.base import KernelRules
from clearmargin.rule_base.retraining import find_trained_part
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.svm_trees import SVMTreeClassifier
from clearmargin.tables.table import Table

__all__ = ["Subject", "labels_array", "read_contrast", "read_subject", "rules_of"]

_KINDS = (
    "a RuleExtractor, a linear classifier or a pipeline that ends in one, an extractor with rules_ such as "
    "SupportVectorRules, an AdviceSVC, a RankContrast or a RuleSet"
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


def rules_of(model: Any) -> RuleSet | None:
    """The rules of a fitted model; None where it has none.

    Examples
    --------
    >>> rules_of(object()) is None
    True
    """
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
    if isinstance(model, RuleSet):
        # Rules may speak of one class only, and the cases be of others, too.
        seen = () if y is None else (as_label(label) for label in np.unique(y))
        classes = tuple(dict.fromkeys([*model.classes, *seen]))
        return Subject(model, model, model, None, None, classes, "rules are not trained")
    if isinstance(model, type) or not hasattr(model, "fit"):
        what = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InvalidValueError(f"report takes {_KINDS}; not {what}")
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
            f"{type(model).__name__} has no rules and is no classifier; report takes {_KINDS}"
        )
    # Without classes, what the model says stands in for them: its rules are the same.
    labels = model.predict(table.taken_by(model)) if y is None else y
    extractor = RuleExtractor(model)
    extractor.fit(table.taken_by(extractor), labels)
    return _subject(model, extractor, extractor.rules_)


def read_contrast(
    contrast: Any, X: Table, y: Any, groups: Any = None, times: Any = None
) -> RankContrast:
    """A fitted contrast: the one given, or a fitted copy of it.

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
    if not isinstance(contrast, RankContrast):
        raise InvalidValueError(f"contrast must be a RankContrast, not {type(contrast).__name__}")
    if is_fitted(contrast):
        rows = len(contrast.scores_)
        if rows != len(X):
            raise DataError(
                f"the contrast was fitted to {rows} rows and X has {len(X)}; pass the same rows"
            )
        return contrast
    if y is None:
        raise DataError("the contrast is not fitted and there is no y; pass y, or fit it first")
    fitted: RankContrast = clone(contrast).fit(X.taken_by(contrast), y, groups=groups, times=times)
    return fitted


def _makes_rules(model: Any) -> bool:
    """Whether a model will have rules of its own once it is fitted."""
    return isinstance(model, RuleExtractor | KernelRules | SVMTreeClassifier)


def _subject(given: Any, model: Any, rules: RuleSet) -> Subject:
    machine = getattr(model, "estimator_", model)
    known = getattr(model, "classes_", rules.classes)
    classes = tuple(as_label(label) for label in known)
    part = find_trained_part(model)
    if part:
        why = f"{part} was trained before and cannot be trained again without the cases it is judged on"
        return Subject(given, model, rules, machine, None, classes, why)
    return Subject(given, model, rules, machine, clone(model), classes)


def _untrained(model: Any) -> Any:
    """A copy of an extractor to be fitted; what is trained inside it and cannot be otherwise stays as it is."""
    if find_trained_part(model):
        return type(model)(**model.get_params(deep=False))
    return clone(model)


def labels_array(y: Any, rows: int) -> np.ndarray[Any, Any] | None:
    """The classes as an array, one for each row.

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
