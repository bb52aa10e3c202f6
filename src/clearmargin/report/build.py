"""report: everything about a model and its rules, measured and put into one summary."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.fitted import wrapped_layers
from clearmargin.report.facts import (
    case_facts,
    class_facts,
    feature_facts,
    rule_facts,
    uncovered_facts,
)
from clearmargin.report.origin import origin_facts
from clearmargin.report.page import Report
from clearmargin.report.points_sections import points_facts
from clearmargin.report.sections import about, default_title, learned
from clearmargin.report.subject import (
    Measured,
    Refit,
    Subject,
    is_card,
    is_contrast,
    labels_array,
    measure,
    read_contrast,
    read_subject,
    threshold_text,
    validate,
)
from clearmargin.rules.rule import as_label
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table

Summary = dict[str, Any]

_VERSION = 1


def report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    contrast: Any = None,
    advice: Any = None,
    title: str | None = None,
    cases: int = 3,
    cv: Any = 5,
    groups: Any = None,
    times: Any = None,
    refit: Refit | None = None,
    random_state: Any = None,
) -> Report:
    """Report on a model and its rules: what was learned, how good it is, and what it leaves out.

    Parameters
    ----------
    model : estimator or RuleSet
        A RuleExtractor or another extractor with `rules_`, fitted or not; a RuleSVC, or Scorecard, whose points
        decide; a ScoreRules, whose card is shown; a linear classifier or a pipeline that ends in one, whose rules are
        extracted by a RuleExtractor; a model with advice (AdviceSVC), which is shown before and after; a RankContrast;
        or rules by themselves. A model that is not fitted is copied and fitted to X and y.
    X : data frame or array-like of shape (m, n)
        The cases that everything is counted on.
    y : array-like of shape (m,), optional
        Their classes. A fitted model can do without; then nothing is said about right and wrong.
    contrast : RankContrast, optional
        The contrast of a ranking of the same cases; fitted to X and y if it is not yet.
    advice : AdviceSVC, AdviceOutcome, AdviceReport, RuleSet, str or path, optional
        Advice to report on: before and after training for a fitted model or its `outcome_`; else as `check_advice`
        finds it on the cases.
    title : str, optional
        The title.
    cases : int, default 3
        How many cases to explain: one that is right, one that is wrong, one that is close, and so on.
    cv : int, splitter or None, default 5
        Folds of the cross-validation, fewer where a class has fewer cases; None for none. In each fold the whole model
        is trained again. One that cannot be, such as a model read from a file or a frozen one, is not
        cross-validated, and the report says so.
    groups : array-like of shape (m,), optional
        A value for each case, such as the patient; cases with the same value are never in both parts of a fold.
    times : array-like of shape (m,), optional
        A number, date or ISO text for each case; folds are tested on cases later than those they were trained on.
    refit : callable, optional
        How to train again, where more than `model` belongs to it: an imputation that is done before, say, or a choice
        of columns. It is called with the positions of the training cases and of the test cases, and returns a fitted
        model with rules, and the test cases as that model takes them.
    random_state : int, RandomState or None, default None
        Shuffles the cases before they are put into folds; with None they keep their order.

    Returns
    -------
    Report
        The same input gives the same bytes.

    Examples
    --------
    >>> from clearmargin import RuleExtractor
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> made = report(RuleExtractor(max_rules=2), X, y, cv=None)
    >>> made.to_dict()["rules"]["list"][0]["proof"]
    'proved'
    """
    if isinstance(cases, bool) or not isinstance(cases, int | np.integer) or cases < 0:
        raise InvalidValueError(f"cases must be a whole number from 0, not {cases!r}")
    table = Table.read(X)
    rows, features = table.shape
    if not rows:
        raise InvalidValueError("X has no rows; a report needs cases to count on")
    labels = labels_array(y, rows)
    seed = _seed(random_state)
    splitting = _splitting(cv, groups, times, seed, rows)
    options = {"contrast": contrast, "advice": advice, "title": title, "cases": int(cases)}
    options |= {"cv": cv, **_named(groups=groups, times=times, refit=refit), "random_state": seed}
    summary: Summary = {
        "format": "clearmargin-report",
        "version": _VERSION,
        "title": "",
        "about": "",
        "learned": [],
        "data": {"rows": rows, "features": features, "classes": _class_counts(labels)},
    }
    if is_card(model):
        from clearmargin.report.card_report import card_facts

        parts = _no_rules(model)
        parts["card"] = card_facts(model, table, labels, int(cases), splitting, refit)
        parts["model"]["threshold"] = parts["card"].pop("threshold")
    elif is_contrast(model):
        if contrast is not None:
            raise InvalidValueError("the model is a RankContrast already; leave contrast out")
        contrast, parts = model, _no_rules(model)
    else:
        subject = read_subject(model, table, labels)
        parts = _judge(subject, table, labels, int(cases), splitting, refit)
        # The experts' rules of a machine over rules are told of beside its points.
        if advice is None and subject.weighted is None and hasattr(subject.machine, "outcome_"):
            advice = subject.machine
    summary |= parts
    summary["contrast"] = _contrast(contrast, table, labels, groups, times)
    summary["advice"] = _advice(advice, table, labels)
    summary["reproduce"] = origin_facts(model, table, labels, options)
    summary["title"] = default_title(summary) if title is None else str(title)
    summary["about"] = about(summary)
    summary["learned"] = learned(summary)
    return Report(summary)


# Loaded where a report speaks of them: one on a plane needs neither rankings nor advice.
def _contrast(contrast: Any, table: Table, labels: Any, groups: Any, times: Any) -> Summary | None:
    if contrast is None:
        return None
    from clearmargin.rankings.contrast_text import contrast_facts

    return contrast_facts(read_contrast(contrast, table, labels, groups, times))


def _advice(advice: Any, table: Table, labels: Any) -> Summary | None:
    if advice is None:
        return None
    from clearmargin.advice.facts import advice_facts

    return advice_facts(advice, table, labels)


def _seed(random_state: Any) -> int | None:
    """Return a seed that can be written down."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _splitting(cv: Any, groups: Any, times: Any, seed: int | None, rows: int) -> Splitting | None:
    if cv is not None:
        return Splitting(cv, groups, times, seed).checked(rows)
    for name, given in (("groups", groups), ("times", times)):
        if given is not None:
            raise InvalidValueError(
                f"{name} says how cases are put into folds; leave it out with cv=None"
            )
    return None


class _Name:
    """Stands in the call that makes the report again for an argument that is too long for it."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _named(**given: Any) -> dict[str, Any]:
    return {name: None if value is None else _Name(name) for name, value in given.items()}


def _class_counts(labels: Any) -> list[Summary]:
    if labels is None:
        return []
    values, counts = np.unique(labels, return_counts=True)
    return [
        {"class": as_label(value), "rows": int(count)}
        for value, count in zip(values, counts, strict=True)
    ]


def _no_rules(model: Any) -> Summary:
    return {
        "model": {"name": type(model).__name__},
        "distillation": None,
        "budget": None,
        "rules": None,
        "features": [],
        "validation": None,
        "cases": [],
        "uncovered": None,
    }


def _judge(
    subject: Subject,
    table: Table,
    labels: Any,
    cases: int,
    splitting: Splitting | None,
    refit: Refit | None,
) -> Summary:
    """Gather all facts about rules."""
    rules, classes = subject.rules, subject.classes
    measured = measure(subject.model, rules, subject.machine, classes, table, labels)
    if measured.true is not None and (measured.true < 0).any():
        stray = labels[int(np.argmin(measured.true))]
        known = ", ".join(repr(label) for label in classes)
        raise DataError(
            f"y holds {as_label(stray)!r}, which is no class of the model; known are {known}"
        )
    return {
        "model": {"name": _name(subject), "threshold": threshold_text(subject.machine)},
        "distillation": _facts_of(subject.model, "distillation_"),
        "budget": _facts_of(subject.model, "budget_"),
        "rules": {
            "list": rule_facts(rules, classes, measured),
            "classes": class_facts(rules, classes, measured),
            "total": _total(measured),
            "overlaps": int((measured.covers.sum(axis=1) > 1).sum()),
        },
        "features": feature_facts(rules, classes, measured),
        "validation": validate(subject, table, labels, splitting, refit),
        "cases": case_facts(subject, table, measured, cases),
        **_coverage(subject, table, measured),
    }


def _coverage(subject: Subject, table: Table, measured: Measured) -> Summary:
    """Gather what one rule at a time decides, and what none does; where points decide, what they are instead."""
    rules, classes = subject.rules, subject.classes
    if subject.weighted is not None:
        facts = points_facts(subject.weighted, subject.model, measured.covers, measured.true)
        return {"uncovered": None, "points": facts}
    return {"uncovered": uncovered_facts(rules.space, classes, table, measured)}


def _facts_of(model: Any, name: str) -> Summary | None:
    """Return what an attribute of a model says, where it has one."""
    found = getattr(model, name, None)
    return None if found is None else dict(found.to_dict())


def _total(measured: Measured) -> Summary:
    covered, by_rule = measured.covered, measured.rule_predicts

    def matches(other: Any) -> int | None:
        return None if other is None else int((covered & (by_rule == other)).sum())

    return {
        "rows": len(covered),
        "covered": int(covered.sum()),
        "correct": matches(measured.true),
        "agreed": matches(measured.model_predicts),
        "model_right": None
        if measured.true is None or measured.model_predicts is None
        else int((measured.model_predicts == measured.true).sum()),
    }


def _name(subject: Subject) -> str:
    """Return what the model is, from the outside inwards."""
    names = [type(subject.model).__name__]
    if subject.machine is not None and subject.machine is not subject.model:
        names += [_called(layer) for layer in wrapped_layers(subject.machine)]
    return " of ".join(names)


def _called(model: Any) -> str:
    """Name a model; one that was read from a file is called after what was trained."""
    trained_by = (getattr(model, "facts", None) or {}).get("trained_by")
    return f"{trained_by} (read from a file)" if trained_by else type(model).__name__
