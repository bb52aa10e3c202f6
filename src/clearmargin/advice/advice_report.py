"""What a check of advice found: findings, each rule on the data, and the vote of the rules alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from clearmargin.exceptions import MissingDependencyError
from clearmargin.language.printer import Phrases, format_label
from clearmargin.language.prose import percent, plain
from clearmargin.rules import RuleSet, RuleStats
from clearmargin.rules.rule import Label

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AdviceReport", "Finding", "FindingKind", "RuleVote", "Severity", "called"]

Severity = Literal["error", "warning", "note"]
FindingKind = Literal[
    "unknown-feature",
    "unknown-class",
    "unknown-category",
    "empty",
    "overlap",
    "touch",
    "outside",
    "uncovered",
    "mostly-wrong",
    "below-base-rate",
    "duplicate",
    "redundant",
]

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
# What people read on a screen; tables and plain data have everything.
_MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check of advice found.

    Parameters
    ----------
    kind : str
        What it is: "unknown-feature", "unknown-class", "unknown-category", "empty", "overlap", "touch", "outside",
        "uncovered", "mostly-wrong", "below-base-rate", "duplicate" or "redundant".
    severity : {"error", "warning", "note"}
        An error is advice that nothing can follow; a warning, advice that the data speak against.
    rules : tuple of int
        Positions of the rules concerned, from 0.
    names : tuple of str or None
        Their names.
    message : str
        A sentence for people.
    region : str, optional
        Where, as a premise in the rule language.
    counts : tuple of (label, int), optional
        How many rows of each class lie there; without labels one pair with None.

    Examples
    --------
    >>> Finding("empty", "error", (0,), (None,), "no case can satisfy rule 1").severity
    'error'
    """

    kind: FindingKind
    severity: Severity
    rules: tuple[int, ...]
    names: tuple[str | None, ...]
    message: str
    region: str | None = None
    counts: tuple[tuple[Label | None, int], ...] | None = None

    @property
    def rows(self) -> int | None:
        """How many rows of the data lie in the region; None where that was not counted."""
        return None if self.counts is None else sum(count for _, count in self.counts)

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """Put the finding into plain data for JSON."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "rules": list(self.rules),
            "names": list(self.names),
            "message": self.message,
            "region": self.region,
            "rows": self.rows,
            "counts": None
            if self.counts is None
            else [{"class": label, "rows": count} for label, count in self.counts],
        }


@dataclass(frozen=True, slots=True)
class RuleVote:
    """What the rules say without any model: each covering rule votes with its weight.

    Parameters
    ----------
    stats : RuleStats
        Rows that some rule covers, and how many of them get their class. A tie goes to the class that most rows have;
        without labels nothing is counted as right.
    overlaps : int
        Number of rows that more than one rule covers.
    clashes : int
        Number of rows for which rules of different classes vote.
    ties : int
        Number of rows for which the vote is a tie.

    Examples
    --------
    >>> vote = RuleVote(RuleStats(10, 8, 6), overlaps=2, clashes=1, ties=0)
    >>> vote.coverage, vote.accuracy
    (0.8, 0.75)
    """

    stats: RuleStats
    overlaps: int
    clashes: int
    ties: int

    @property
    def coverage(self) -> float:
        """Share of the rows that some rule covers."""
        return self.stats.coverage

    @property
    def accuracy(self) -> float:
        """Share of the covered rows that get their class by the vote."""
        return self.stats.accuracy

    def __str__(self) -> str:
        stats = self.stats
        text = f"The rules alone speak of {stats.covered} of {stats.rows} rows"
        if stats.covered and stats.correct is not None:
            text += f", and their vote is right on {percent(stats.correct, stats.covered)} of them"
        return (
            f"{text}. More than one rule: {_number(self.overlaps, 'row')}; "
            f"rules of different classes: {self.clashes}; ties: {self.ties}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Put the vote into plain data for JSON."""
        return {
            **_stats_dict(self.stats),
            "overlaps": self.overlaps,
            "clashes": self.clashes,
            "ties": self.ties,
        }


@dataclass(frozen=True, slots=True)
class AdviceReport:
    r"""What `check_advice` found.

    Parameters
    ----------
    rules : RuleSet
        The advice as it was read, each rule with its statistics on the data.
    findings : tuple of Finding
        What there is to say about it, errors first.
    vote : RuleVote, optional
        The vote of the rules on the data.

    Examples
    --------
    >>> from clearmargin.advice import check_advice
    >>> report = check_advice("bmi >= 30 => ill\nbmi <= 32 => well")
    >>> report.ok, report.findings[0].region
    (False, '30 <= bmi <= 32')
    """

    rules: RuleSet
    findings: tuple[Finding, ...]
    vote: RuleVote | None = None

    def __post_init__(self) -> None:
        ranked = sorted(self.findings, key=lambda finding: _ORDER[finding.severity])
        object.__setattr__(self, "findings", tuple(ranked))

    @property
    def ok(self) -> bool:
        """Whether there is no error: all rules can be read, can be satisfied, and none contradicts another."""
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that are warnings."""
        return self._of("warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The findings that are notes."""
        return self._of("note")

    @property
    def stats(self) -> tuple[RuleStats | None, ...]:
        """How each rule does on the data; None without data, or where the data lack a feature of the rule."""
        return tuple(rule.stats for rule in self.rules)

    def _of(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def _summary(self) -> str:
        counts = Counter(finding.severity for finding in self.findings)
        found = [_number(counts[word], word) for word in _ORDER if counts[word]]
        return f"{_number(len(self.rules), 'rule')}: {', '.join(found) or 'nothing to report'}"

    def __str__(self) -> str:
        lines = [self._summary(), *_rule_table(self.rules)]
        lines += [] if self.vote is None else [str(self.vote)]
        lines += [str(finding) for finding in self.findings[:_MAX_SHOWN]]
        more = len(self.findings) - _MAX_SHOWN
        return "\n".join([*lines, *([f"... and {more} more; see to_frame()"] if more > 0 else [])])

    def __repr__(self) -> str:
        return f"<AdviceReport of {self._summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Put the findings into a pandas data frame, one row a finding; `rules.to_frame()` has the rules."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError(
                "a data frame needs pandas: pip install clearmargin[frames]"
            ) from error
        rows = [finding.to_dict() for finding in self.findings]
        columns = {
            field: pd.Series([row[field] for row in rows], dtype="object")
            for field in ("kind", "severity", "rules", "names", "message", "region")
        }
        columns["rows"] = pd.Series([row["rows"] for row in rows], dtype="Int64")
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Put the report into plain data for JSON."""
        phrases = Phrases(self.rules.space)
        return {
            "ok": self.ok,
            "rules": [
                {
                    "name": rule.name,
                    "premise": phrases.premise(rule),
                    "class": rule.label,
                    "weight": rule.weight,
                    **({} if rule.stats is None else _stats_dict(rule.stats)),
                }
                for rule in self.rules
            ],
            "findings": [finding.to_dict() for finding in self.findings],
            "vote": None if self.vote is None else self.vote.to_dict(),
        }

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table, render_macro

        rows = [(f.severity, f.kind, f.message, f.region) for f in self.findings]
        titles = ("severity", "kind", "finding", "where")
        return "".join(
            (
                render_macro("notebook.html", "lines", items=[self._summary()]),
                self.rules._repr_html_(),
                render_macro("notebook.html", "lines", items=[str(self.vote)]) if self.vote else "",
                html_table(titles, rows, codes=(3,)) if rows else "",
            )
        )


def called(rules: RuleSet, index: int) -> str:
    """Name a rule for people.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> called(parse_rules("obese: bmi >= 30 => ill"), 0)
    'rule 1 (obese)'
    """
    name = rules[index].name
    return f"rule {index + 1}" if name is None else f"rule {index + 1} ({plain(name)})"


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _stats_dict(stats: RuleStats) -> dict[str, Any]:
    return {
        "rows": stats.rows,
        "covered": stats.covered,
        "correct": stats.correct,
        "coverage": None if math.isnan(stats.coverage) else stats.coverage,
        "accuracy": None if math.isnan(stats.accuracy) else stats.accuracy,
    }


def _rule_table(rules: RuleSet) -> list[str]:
    """Return the rules as lines of a table; none where there is no data to show beside them."""
    if all(rule.stats is None for rule in rules):
        return []
    phrases = Phrases(rules.space)
    cells = [("rule", "covers", "right", "")]
    for k, rule in enumerate(rules):
        stats, right = rule.stats, ""
        if stats is not None and stats.covered and stats.correct is not None:
            right = percent(stats.correct, stats.covered)
        cells.append(
            (
                plain(rule.name) if rule.name else f"rule {k + 1}",
                "?" if stats is None else f"{stats.covered} of {stats.rows}",
                right,
                f"{phrases.premise(rule)} => {format_label(rule.label)}",
            )
        )
    widths = [max(len(row[j]) for row in cells) for j in range(3)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in cells
    ]
