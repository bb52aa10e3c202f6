"""Advice, looked at before anything is trained: whether it can be followed, and whether the data agree."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from clearmargin.advice.case import AdviceCase
from clearmargin.advice.evidence import Evidence, Labels, case_evidence, read_evidence
from clearmargin.advice.findings import Finder
from clearmargin.advice.problem import FramedAdvice
from clearmargin.advice.reading import Advice, one_hot_columns, read_advice
from clearmargin.advice.report import AdviceReport, Finding, RuleVote
from clearmargin.exceptions import ClearmarginWarning, DataError
from clearmargin.rules import Rule, RuleSet, RuleStats
from clearmargin.rules.value import BoolArray
from clearmargin.tables.table import Table

__all__ = ["advice_warnings", "check_advice", "warn_about"]

# With more rules than this, a fit looks at pairs of boxes alone: each other pair is a linear program.
_MOST_RULES = 50
_MOST_WARNINGS = 5


def check_advice(rules: Advice, X: Any = None, y: Any = None) -> AdviceReport:
    r"""Look for what is wrong with advice: by itself and, where there are data, on the data.

    Errors are rules that nothing can follow: a feature or class that the data do not have, a premise that no case can
    satisfy, two rules that name different classes for the same cases. Where there are data, two rules contradict each
    other on the rows that both cover; if they overlap where no row is, that is a warning. Further warnings are rules
    that the data speak against: premises outside their range, rules that are wrong more often than right, or right less
    often than their class is frequent. Notes are rules that share a boundary with one of another class and no row,
    cover no row, or say what another one says already.

    Parameters
    ----------
    rules : RuleSet, str or path
        The advice: rules; their text; or a .rules or .json file.
    X : data frame or array-like of shape (m, n), optional
        Rows to look at. A feature with categories is a column, or 0/1 columns ``feature_category``. Columns of an array
        are called x0, x1, ...; a RuleSet over as many features reads them by position. A row with a missing value is
        covered by no rule.
    y : array-like of shape (m,), optional
        The classes of the rows, of any number.

    Returns
    -------
    AdviceReport
        Print it; `ok` is whether there is no error.

    Raises
    ------
    RuleSyntaxError
        Where a text cannot be read, or names a feature or class that the data do not have; it says where.
    DataError
        Where the table or the labels cannot be read.

    See Also
    --------
    AdviceSVC : Learns from data and advice, and refines rules that the data contradict.

    Notes
    -----
    Whether premises are empty, touch or overlap is decided in rational arithmetic; for premises of very many linear
    conditions, by linear programs, up to their tolerance. Every pair of rules is looked at, boxes all at once.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"bmi": [22, 24, 31, 36], "glucose": [90, 130, 100, 150]})
    >>> advice = "obese: bmi >= 30 => ill\nnormal: glucose <= 110 => well"
    >>> print(check_advice(advice, X, ["well", "well", "well", "ill"]))
    2 rules: 1 error
      rule    covers  right
      obese   2 of 4   50 %  bmi >= 30 => ill
      normal  2 of 4  100 %  glucose <= 110 => well
    The rules alone speak of 3 of 4 rows, and their vote is right on 100 % of them. More than one rule: 1 row; ...
    error: rule 1 (obese) says ill and rule 2 (normal) says well where ...
    """
    if X is None and y is not None:
        raise DataError("y has classes, but there are no rows for them; give X, too")
    table = None if X is None else Table.read(X)
    if table is not None and not len(table):
        raise DataError("the table is empty: X has no rows to check the advice on")
    labels = None if y is None or table is None else Labels(y, len(table))
    advice, is_text = _read(rules, table, labels)
    evidence = None
    if table is not None:
        is_counted = not (is_text or table.is_frame) and len(advice.space) == len(table.names)
        evidence = read_evidence(advice.space, table, labels, by_position=is_counted)
    finder = Finder(advice, evidence)
    findings: list[Finding] = []
    if evidence is not None:
        findings += finder.unknown_features()
        findings += finder.unknown_classes() if labels is not None else ()
        findings += finder.unknown_categories()
    findings += finder.empty_premises()
    findings += finder.clashes()
    findings += finder.outside_premises()
    findings += finder.poor_rules() if evidence is not None else ()
    findings += finder.repetitions()
    if evidence is None or finder.covered is None:
        return AdviceReport(advice, tuple(findings))
    with_stats = RuleSet(
        _with_stats(advice, finder.covered, evidence), advice.space, advice.classes
    )
    vote = _vote(advice, finder.covered, evidence) if finder.usable.any() else None
    return AdviceReport(with_stats, tuple(findings), vote)


def _read(rules: Advice, table: Table | None, labels: Labels | None) -> tuple[RuleSet, bool]:
    """Read the advice, and tell whether it is a text, whose errors have a place."""
    is_text = not isinstance(rules, RuleSet) and (
        "=>" in str(rules) or not str(rules).endswith(".json")
    )
    # Of a single class in the data, advice may know the other one.
    classes = labels.classes if is_text and labels is not None and len(labels.classes) > 1 else None
    advice = read_advice(rules, None, classes)
    if is_text and table is not None:
        known, spoken_of = table.names, advice.space.names
        if any(name not in known and not one_hot_columns(name, known) for name in spoken_of):
            read_advice(rules, _numeric_names(advice, table), classes)  # raises, with the place
    return advice, is_text


def _numeric_names(advice: RuleSet, table: Table) -> list[str]:
    """The columns as `read_advice` knows them, to which a feature with categories is a number of 0/1 columns."""
    space = advice.space
    kinds = {
        name: kinds
        for name, kinds in zip(space.names, space.categories, strict=True)
        if kinds is not None
    }
    names: list[str] = []
    for name in table.names:
        names += [f"{name}_{kind}" for kind in kinds[name]] if name in kinds else [name]
    return names


def _with_stats(rules: RuleSet, covered: BoolArray, evidence: Evidence) -> Iterable[Rule]:
    usable = evidence.usable(rules)
    for i, rule in enumerate(rules):
        stats = None
        if usable[i]:
            rows, correct = covered[:, i], None
            if evidence.labels is not None:
                right = [c == rule.label for c in evidence.classes]
                correct = int(np.array(right)[evidence.labels[rows]].sum())
            stats = RuleStats(len(rows), int(rows.sum()), correct)
        yield Rule(
            rule.region,
            rule.label,
            name=rule.name,
            weight=rule.weight,
            origin=rule.origin,
            proof=rule.proof,
            stats=stats,
        )


def _vote(rules: RuleSet, covered: BoolArray, evidence: Evidence) -> RuleVote:
    """Let the rules vote, each with its weight."""
    known = list(dict.fromkeys([*evidence.classes, *rules.classes, *(r.label for r in rules)]))
    votes = np.zeros((len(covered), max(len(known), 1)))
    for i, rule in enumerate(rules):
        votes[:, known.index(rule.label)] += rule.weight * covered[:, i]
    by_any = covered.any(axis=1)
    # Sums of the same weights in another order differ in their last digits.
    is_most = votes >= votes.max(axis=1, keepdims=True) * (1 - 1e-12)
    ties = by_any & (is_most.sum(axis=1) > 1)
    correct = None
    if evidence.labels is not None:
        frequency = np.bincount(evidence.labels, minlength=votes.shape[1])
        said = np.where(is_most, frequency, -1).argmax(axis=1)
        correct = int((by_any & (said == evidence.labels)).sum())
    return RuleVote(
        RuleStats(len(covered), int(by_any.sum()), correct),
        overlaps=int((covered.sum(axis=1) > 1).sum()),
        clashes=int(((votes > 0).sum(axis=1) > 1).sum()),
        ties=int(ties.sum()),
    )


def advice_warnings(findings: AdviceReport | Iterable[Finding]) -> tuple[Finding, ...]:
    r"""Choose the findings that somebody who trains on the advice should know.

    Parameters
    ----------
    findings : AdviceReport or iterable of Finding
        What was found.

    Returns
    -------
    tuple of Finding
        Empty premises, rules of different classes that overlap or share rows, and premises outside the data.

    Examples
    --------
    >>> report = check_advice("x <= 3 => a\nx >= 3 => b\nx >= 2 and y > 0 => b")
    >>> [(finding.kind, finding.rules) for finding in advice_warnings(report)]
    [('overlap', (0, 2))]
    """
    found = findings.findings if isinstance(findings, AdviceReport) else findings
    return tuple(finding for finding in found if finding.kind in ("empty", "overlap", "outside"))


def warn_about(case: AdviceCase, framed: FramedAdvice, stacklevel: int = 1) -> None:
    """Warn, once, about advice that deserves a look before the model is trusted.

    Parameters
    ----------
    case : AdviceCase
        Data and advice.
    framed : FramedAdvice
        The premises in their frame; those that it calls empty are.
    stacklevel : int, default 1
        Whose line the warning names, as in `warnings.warn`: 1 is the caller of this function, 2 the caller of that one.
    """
    if not len(case.rules):
        return
    finder = Finder(case.rules, case_evidence(case), np.flatnonzero(framed.empty).tolist())
    found = [*finder.empty_premises(), *finder.outside_premises()]
    pairs = [(i, j) for i, j, relation in finder.pairs(_MOST_RULES) if relation == "overlap"]
    count = len(found) + len(pairs)
    if not count:
        return
    # There may be many pairs: they come last, and only those that are shown are put into words.
    found += [finder.overlap(i, j) for i, j in pairs[:_MOST_WARNINGS]]
    lines = [f"- {finding.message}" for finding in found[:_MOST_WARNINGS]]
    if count > _MOST_WARNINGS:
        lines.append(f"- and {count - _MOST_WARNINGS} more")
    warnings.warn(
        "\n".join(["the advice deserves a look:", *lines, "check_advice(advice, X, y) tells all"]),
        ClearmarginWarning,
        stacklevel=stacklevel + 1,
    )
