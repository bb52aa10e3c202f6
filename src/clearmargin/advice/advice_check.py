"""Advice, looked at before anything is trained: whether it can be followed, and whether the data agree.

`check_advice` reads advice and data; a `Finder` looks for one kind of fault after the other, and puts it into words.
`Evidence` is the table in the terms of the advice: a value or a category for each feature that the rules speak of. What
was found is an `AdviceReport`: findings, each rule on the data, and the vote of the rules alone.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.cases import Cases, read_rules_over, rule_name
from clearmargin.advice.premise_geometry import (
    PremiseGeometry,
    Relation,
    conflict_rows,
    flat,
    has_no_point,
    intersection,
)
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.language import parse_rules
from clearmargin.language.printer import Phrases, format_label
from clearmargin.language.prose import percent, plain
from clearmargin.language.rule_source import RuleSource, read_rules
from clearmargin.language.words import listed
from clearmargin.rules import Box, Domain, FeatureSpace, Polyhedron, Rule, RuleSet, RuleStats
from clearmargin.rules.rule import Label, Region, as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.table import Table, make_frame, name_row

if TYPE_CHECKING:
    import pandas as pd

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
_MAX_POSITIONS = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check of advice found."""

    kind: FindingKind
    severity: Severity
    rules: tuple[int, ...]
    names: tuple[str | None, ...]
    message: str
    region: str | None = None
    counts: tuple[tuple[Label | None, int], ...] | None = None
    bits: bytes | None = field(default=None, repr=False)

    @property
    def rows(self) -> int | None:
        """How many rows of the data lie in the region; None where that was not counted."""
        return None if self.counts is None else sum(count for _, count in self.counts)

    @property
    def positions(self) -> NDArray[np.intp]:
        """The rows concerned, as positions in the table from 0; empty for what is not about rows."""
        bits = np.frombuffer(self.bits or b"", dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(bits))

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
            "positions": self.positions[:_MAX_POSITIONS].tolist(),
        }


@dataclass(frozen=True, slots=True)
class RuleVote:
    """What the rules say without any model: each covering rule votes with its weight."""

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
            **self.stats.to_dict(),
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
    more : int, default 0
        Pairs of rules that are counted, and not listed: of different classes, with rows in common or with premises
        that may meet; or of one class, not compared. It is zero for up to about 40 rules.

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
    more: int = 0

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
        found += [f"{self.more:,} more pairs of rules counted, not listed"] if self.more else []
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
        names = ("kind", "severity", "rules", "names", "message", "region", "rows")
        rows = [finding.to_dict() for finding in self.findings]
        return make_frame({name: [row[name] for row in rows] for name in names})

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
                    **({} if rule.stats is None else rule.stats.to_dict()),
                }
                for rule in self.rules
            ],
            "findings": [finding.to_dict() for finding in self.findings],
            "more": self.more,
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


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


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


# So many pairs of rules are listed, those with most rows first; among pairs without rows, and pairs of which one might
# be inside the other, so many are compared by their premises. Others are counted.
_MOST_PAIRS, _MOST_COMPARED = 500, 2_000
_MAX_WARNINGS = 5


def check_advice(rules: RuleSource, X: Any = None, y: Any = None) -> AdviceReport:
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
    conditions, by linear programs, up to their tolerance. Of very many rules the 500 pairs that clash on most rows are
    listed; `more` counts the others.

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
    return AdviceChecker(X, y).check(rules)


class AdviceChecker:
    r"""Checks advice that is being written, again and again, on one table.

    The table is read once. The report is that of `check_advice`.

    Parameters
    ----------
    X, y
        As for `check_advice`.

    See Also
    --------
    check_advice : Checks advice once.

    Examples
    --------
    >>> checker = AdviceChecker([[22, 90], [31, 100], [36, 150]], ["well", "well", "ill"])
    >>> checker.check("x0 >= 30 => ill\nx1 <= 110 => well").findings[0].positions
    array([1])
    >>> checker.check("x0 >= 35 => ill\nx1 <= 110 => well").ok
    True
    """

    def __init__(self, X: Any = None, y: Any = None):
        if X is None and y is not None:
            raise DataError("y has classes, but there are no rows for them; give X, too")
        self._table = None if X is None else Table.read(X)
        if self._table is not None and not len(self._table):
            raise DataError("the table is empty: X has no rows to check the advice on")
        is_labelled = y is not None and self._table is not None
        self._labels = Labels(y, len(self._table or ())) if is_labelled else None

    def check(self, rules: RuleSource) -> AdviceReport:
        """Look for what is wrong with advice.

        Parameters
        ----------
        rules : RuleSet, str or path
            The advice: rules; their text; or a .rules or .json file.

        Returns
        -------
        AdviceReport
            Print it; `ok` is whether there is no error.
        """
        advice, is_text = _read(rules, self._table, self._labels)
        evidence = self._read_evidence(advice, is_text)
        finder = Finder(advice, evidence)
        findings = tuple(_all_findings(finder, has_labels=self._labels is not None))
        if evidence is None or finder.covered is None:
            return AdviceReport(advice, findings, more=finder.more)
        with_stats = RuleSet(
            _with_stats(advice, finder.covered, evidence), advice.space, advice.classes
        )
        vote = _vote(advice, finder.covered, evidence) if finder.usable.any() else None
        return AdviceReport(with_stats, findings, vote, finder.more)

    def _read_evidence(self, advice: RuleSet, is_text: bool) -> Evidence | None:
        """Return the rows in the terms of the advice."""
        table = self._table
        if table is None:
            return None
        by_position = not (is_text or table.is_frame) and len(advice.space) == len(table.names)
        return read_evidence(advice.space, table, self._labels, by_position)


def _all_findings(finder: Finder, *, has_labels: bool) -> Iterator[Finding]:
    """Look for one kind of fault after the other."""
    if finder.evidence is not None:
        yield from finder.unknown_features()
        yield from finder.unknown_classes() if has_labels else ()
        yield from finder.unknown_categories()
    yield from finder.empty_premises()
    yield from finder.clashes()
    yield from finder.outside_premises()
    yield from finder.poor_rules() if finder.evidence is not None else ()
    yield from finder.repetitions()


def _read(rules: RuleSource, table: Table | None, labels: Labels | None) -> tuple[RuleSet, bool]:
    """Read the advice, and tell whether it is a text, whose errors have a place."""
    is_text = not isinstance(rules, RuleSet) and (
        "=>" in str(rules) or not str(rules).endswith(".json")
    )
    # Of a single class in the data, advice may know the other one.
    classes = labels.classes if is_text and labels is not None and len(labels.classes) > 1 else None
    advice = read_rules(rules, lambda text: parse_rules(text, classes=classes), what="advice")
    if is_text and table is not None:
        read_rules_over(rules, table.space(), classes, has_names=True)  # raises, with the place
    return advice, is_text


def _with_stats(rules: RuleSet, covered: BoolArray, evidence: Evidence) -> Iterable[Rule]:
    for rule, usable, rows in zip(rules, evidence.usable(rules), covered.T, strict=True):
        stats, correct = None, None
        if usable:
            if evidence.labels is not None:
                right = np.array([c == rule.label for c in evidence.classes])
                correct = int(right[evidence.labels[rows]].sum())
            stats = RuleStats(len(rows), int(rows.sum()), correct)
        yield replace(rule, stats=stats)


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
        predicted = np.where(is_most, frequency, -1).argmax(axis=1)
        correct = int((by_any & (predicted == evidence.labels)).sum())
    return RuleVote(
        RuleStats(len(covered), int(by_any.sum()), correct),
        overlaps=int((covered.sum(axis=1) > 1).sum()),
        clashes=int(((votes > 0).sum(axis=1) > 1).sum()),
        ties=int(ties.sum()),
    )


def warn_about(case: Cases, verdicts: Sequence[str], stacklevel: int = 1) -> None:
    """Warn, once, about advice that deserves a look before the model is trusted."""
    if not len(case.rules):
        return
    finder = Finder(
        case.rules,
        case_evidence(case),
        [k for k, verdict in enumerate(verdicts) if verdict == "empty"],
    )
    found = [*finder.empty_premises(), *finder.outside_premises()]
    pairs = [(i, j) for i, j, relation in finder.pairs() if relation == "overlap"]
    count = len(found) + len(pairs) + finder.more
    if not count:
        return
    # There may be many pairs: they come last, and only those that are shown are put into words.
    found += [finder.overlap(i, j) for i, j in pairs[:_MAX_WARNINGS]]
    lines = [f"- {finding.message}" for finding in found[:_MAX_WARNINGS]]
    if count > _MAX_WARNINGS:
        lines.append(f"- and {count - _MAX_WARNINGS} more")
    warnings.warn(
        "\n".join(["the advice deserves a look:", *lines, "check_advice(advice, X, y) tells all"]),
        ClearmarginWarning,
        stacklevel=stacklevel + 1,
    )


# On ten rows a rule that is right on 70 % looks mostly wrong once in twenty times (binomial); on fewer, more often.
_FEW = 10


class Finder:
    """Looks for what is wrong with advice, one kind of thing after the other."""

    def __init__(self, rules: RuleSet, evidence: Evidence | None = None, empty: Sequence[int] = ()):
        self.rules = rules
        self.evidence = evidence
        self.geometry = PremiseGeometry(rules)
        self.phrases = Phrases(rules.space)
        self._domain = Domain.from_space(rules.space)
        self.covered: BoolArray | None = None
        self.coverage: Coverage | None = None
        self.usable = np.ones(len(rules), dtype=np.bool_)
        self.more = 0
        if evidence is not None:
            self.covered = evidence.covers(rules)
            self.coverage = Coverage(self.covered, evidence.labels, evidence.classes)
            self.usable = evidence.usable(rules)
        self._conflicts = [self._conflict(i) for i in range(len(rules))]
        self.is_empty = np.array([words is not None for words in self._conflicts], np.bool_)
        self.is_empty[list(empty)] = True
        self._reasons = {i: self._beyond(i) for i in np.flatnonzero(~self.is_empty).tolist()}

    def _premise(self, i: int) -> str:
        """Return the premise of a rule in the rule language."""
        return self.phrases.premise(self.rules[i])

    def _finding(
        self,
        kind: FindingKind,
        severity: Severity,
        concerned: Sequence[int],
        message: str,
        region: str | None = None,
        counts: tuple[tuple[Label | None, int], ...] | None = None,
        bits: bytes | None = None,
    ) -> Finding:
        names = tuple(self.rules[i].name for i in concerned)
        return Finding(kind, severity, tuple(concerned), names, message, region, counts, bits)

    def _called(self, i: int) -> str:
        return rule_name(self.rules[i], i)

    def _text(self, region: Region) -> str:
        return " and ".join(self.phrases.conditions(region)) or "true"

    def _row(self, rows: Polyhedron, r: int) -> str:
        one = Polyhedron(rows.A[[r]], rows.b[[r]], rows.strict[[r]])
        return self.phrases.conditions(one)[0]

    # Words

    def unknown_features(self) -> Iterator[Finding]:
        """Find features that the data do not have, or have as something else."""
        assert self.evidence is not None
        for feature, problem in self.evidence.problems.items():
            concerned = [i for i, rule in enumerate(self.rules) if feature in rule.region.bounded]
            who = (
                f" ({listed([self._called(i) for i in concerned], most=None)})" if concerned else ""
            )
            yield self._finding("unknown-feature", "error", concerned, f"{problem}{who}")

    def unknown_classes(self) -> Iterator[Finding]:
        """Find rules for classes that the data do not have."""
        assert self.evidence is not None
        known = self.evidence.classes
        # Advice may know more than data of a single class.
        severity: Severity = "error" if len(known) > 1 else "warning"
        for i, rule in enumerate(self.rules):
            if rule.label not in known:
                same = next((c for c in known if str(c) == str(rule.label)), None)
                hint = (
                    nearest_name(str(rule.label), [str(c) for c in known])
                    if same is None
                    else f"; they have {same!r} ({type(same).__name__})"
                )
                yield self._finding(
                    "unknown-class",
                    severity,
                    [i],
                    f"{self._called(i)} is for class {rule.label!r}, which is no class of the data{hint}",
                )

    def unknown_categories(self) -> Iterator[Finding]:
        """Find categories that rules name and no row has."""
        assert self.evidence is not None
        for feature, categories in enumerate(self.rules.space.categories):
            if categories is None or feature in self.evidence.problems:
                continue
            seen = set(self.evidence.points[:, feature].tolist())
            known = self.evidence.categories.get(feature, categories)
            for code, category in enumerate(categories):
                concerned = [
                    i
                    for i, rule in enumerate(self.rules)
                    if feature in rule.region.sets and code in rule.region.sets[feature]
                ]
                if concerned and code not in seen:
                    ask = "asks" if len(concerned) == 1 else "ask"
                    yield self._finding(
                        "unknown-category",
                        "warning",
                        concerned,
                        f"no row has {self.phrases.chosen(feature, (code,))}, which "
                        f"{listed([self._called(i) for i in concerned], most=None)} {ask} "
                        f"for{'' if category in known else nearest_name(category, known)}",
                        self.phrases.chosen(feature, (code,)),
                    )

    # Premises

    def _conflict(self, i: int) -> str | None:
        """Return why no point satisfies a premise; None if there is one."""
        rows = flat(self.rules[i].region)
        if not isinstance(self.rules[i].region, Box) and (conflict := conflict_rows(rows)):
            conditions = [f"'{self._row(rows, r)}'" for r in conflict]
            return f"{listed(conditions, most=None)} contradict each other"
        left = [plain(self.rules.space.names[j]) for j in self.geometry.without_values(i)]
        if left:
            return f"no whole number is left for {listed(left, most=None)}"
        return None

    def empty_premises(self) -> Iterator[Finding]:
        """Find premises that no case can satisfy."""
        for i in np.flatnonzero(self.is_empty).tolist():
            why = self._conflicts[i] or "its conditions contradict each other"
            yield self._finding(
                "empty",
                "error",
                [i],
                f"no case can satisfy {self._called(i)}: {why}",
                self._premise(i),
            )

    def outside_premises(self) -> Iterator[Finding]:
        """Find premises beyond the range of the data or, without data, beyond the declared ranges."""
        whose = "the declared range" if self.evidence is None else "the range of the data"
        for i, why in self._reasons.items():
            if why is not None:
                yield self._finding(
                    "outside",
                    "warning",
                    [i],
                    f"{self._called(i)} is outside {whose}: {why}",
                    self._premise(i),
                )

    def _beyond(self, i: int) -> str | None:
        """Return why no point within the ranges satisfies a premise; None if there may be one."""
        rule, space = self.rules[i], self.rules.space
        if self.evidence is None:
            lower, upper = space.lower, space.upper
        elif not self.usable[i]:
            return None
        else:
            lower, upper = self.evidence.lower, self.evidence.upper
            for feature, codes in rule.region.sets.items():
                if not np.isin(self.evidence.points[:, feature], list(codes)).any():
                    return f"no row has {self.phrases.chosen(feature, codes)}"
        rows = flat(rule.region)
        with np.errstate(invalid="ignore"):
            least = np.where(rows.A > 0, rows.A * lower, rows.A * upper)
        lowest = np.where(rows.A != 0, least, 0.0).sum(axis=1)
        alone = np.flatnonzero((lowest > rows.b) | ((lowest == rows.b) & rows.strict))
        if len(alone):
            return " and ".join(self._out_of_range(i, rows, int(r), lower, upper) for r in alone)
        if isinstance(rule.region, Box):
            return None
        unused = ~rows.A.any(axis=0)
        low, high = lower.copy(), upper.copy()
        low[unused], high[unused] = -np.inf, np.inf
        around = Polyhedron.from_box(Box(low, high))
        together = (
            np.concatenate([rows.A, around.A]),
            np.concatenate([rows.b, around.b]),
            np.concatenate([rows.strict, around.strict]),
        )
        return "no point of it satisfies all conditions" if has_no_point(*together) else None

    def _out_of_range(
        self,
        i: int,
        rows: Polyhedron,
        r: int,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
    ) -> str:
        ranges = [
            f"{plain(self.rules.space.names[j])} from {lower[j]:.6g} to {upper[j]:.6g}"
            for j in np.flatnonzero(rows.A[r])
        ]
        region = self.rules[i].region
        condition = (
            self.phrases.bound(region, int(np.flatnonzero(rows.A[r])[0]))
            if isinstance(region, Box)
            else self._row(rows, r)
        )
        return f"it asks for {condition}, and there is {listed(ranges, most=None)}"

    # Pairs

    def clashes(self) -> Iterator[Finding]:
        """Find pairs of rules of different classes with points in common."""
        for i, j, relation in self.pairs():
            yield self.overlap(i, j) if relation == "overlap" else self._touch(i, j)

    def pairs(self) -> list[tuple[int, int, Relation]]:
        """Find pairs of rules of different classes that touch or overlap in what can be, without words."""
        kept = np.flatnonzero(~self.is_empty).tolist()
        pairs = [(i, j) for i in kept for j in kept if i < j and self._differ(i, j)]
        rows = {pair: self._shared_rows(*pair) or 0 for pair in pairs}
        found: list[tuple[int, int, Relation]]
        found = [(i, j, "overlap") for n, i, j in sorted((-rows[p], *p) for p in pairs) if n]
        self.more += max(0, len(found) - _MOST_PAIRS)
        del found[_MOST_PAIRS:]
        left = 0 if len(found) >= _MOST_PAIRS else _MOST_COMPARED
        near = [pair for pair in pairs if not rows[pair] and self.geometry.meets(*pair)]
        self.more += max(0, len(near) - left)
        for i, j in near[:left]:
            relation = self.geometry.relation(i, j)
            both = intersection(self.rules[i].region, self.rules[j].region)
            if relation != "apart" and self._is_possible(both):
                found.append((i, j, relation))
        return found

    def _differ(self, i: int, j: int) -> bool:
        return self.rules[i].label != self.rules[j].label

    def _is_possible(self, region: Region) -> bool:
        """Check for a case within the declared ranges; whole numbers of linear premises are not looked at."""
        if isinstance(region, Box):
            return bool(region.missing) or self._domain.is_possible(region)
        around = Polyhedron.from_box(self._domain.box())
        return not has_no_point(
            np.concatenate([region.A, around.A]),
            np.concatenate([region.b, around.b]),
            np.concatenate([region.strict, around.strict]),
        )

    def _shared_rows(self, i: int, j: int) -> int | None:
        """Return how many rows two rules share; None where there are no rows to count."""
        counts = self._shared_counts(i, j)
        return None if counts is None else sum(count for _, count in counts)

    def _shared_counts(self, i: int, j: int) -> tuple[tuple[Label | None, int], ...] | None:
        coverage = self.coverage
        if coverage is None or not (self.usable[i] and self.usable[j]):
            return None
        return coverage.shared(i, j)

    def overlap(self, i: int, j: int) -> Finding:
        """Say where two rules contradict each other: an error on rows, a warning where there may be some one day."""
        region, counts = self._shared(i, j)
        rows = self._shared_rows(i, j)
        message = (
            f"{self._called(i)} says {self._label(i)} and {self._called(j)} says {self._label(j)} "
            f"where {region}{_counted(counts)}"
        )
        return self._finding(
            "overlap",
            "warning" if rows == 0 else "error",
            [i, j],
            f"{message}; a case there would get both classes" if rows == 0 else message,
            region,
            counts,
            None if counts is None or self.coverage is None else self.coverage.both(i, j),
        )

    def _touch(self, i: int, j: int) -> Finding:
        region, counts = self._shared(i, j)
        return self._finding(
            "touch",
            "note",
            [i, j],
            f"{self._called(i)}, for {self._label(i)}, and {self._called(j)}, for {self._label(j)}, "
            f"share the boundary {region}{_counted(counts)}; < or > in one of them would part them",
            region,
            counts,
        )

    def _label(self, i: int) -> str:
        return format_label(self.rules[i].label)

    def _shared(self, i: int, j: int) -> tuple[str, tuple[tuple[Label | None, int], ...] | None]:
        both = intersection(self.rules[i].region, self.rules[j].region)
        return self._text(both), self._shared_counts(i, j)

    def repetitions(self) -> Iterator[Finding]:
        """Find premises that are inside another one of the same class."""
        kept = np.flatnonzero(~self.is_empty).tolist()
        pairs = [(i, j) for i in kept for j in kept if i != j and not self._differ(i, j)]
        # A row that one covers and the other does not is quicker than a proof.
        coverage = self.coverage
        if coverage is not None:
            usable = self.usable
            pairs = [
                (i, j)
                for i, j in pairs
                if not (usable[i] and usable[j]) or coverage.is_within(i, j)
            ]
        self.more += max(0, len(pairs) - _MOST_COMPARED)
        named: set[int] = set()
        for i, j in pairs[:_MOST_COMPARED]:
            if i not in named and self.geometry.is_inside(i, j):
                finding = self._repeated(i, j)
                if finding is not None:
                    named.add(i)
                    yield finding

    def _repeated(self, i: int, j: int) -> Finding | None:
        if not self.geometry.is_inside(j, i):
            return self._finding(
                "redundant",
                "note",
                [i, j],
                f"{self._called(i)} says nothing that {self._called(j)} does not say: its premise is inside",
                self._premise(i),
            )
        if i < j:
            return None  # said once, of the later one
        return self._finding(
            "duplicate",
            "note",
            [i, j],
            f"{self._called(i)} says the same as {self._called(j)}",
            self._premise(i),
        )

    # Rows

    def poor_rules(self) -> Iterator[Finding]:
        """Find rules that cover no row, or are wrong about the rows they cover."""
        assert self.evidence is not None
        assert self.covered is not None
        for i in np.flatnonzero(self.usable & ~self.is_empty).tolist():
            rows = self.covered[:, i]
            if self._reasons[i] is not None:
                continue
            if not rows.any():
                yield self._finding(
                    "uncovered",
                    "note",
                    [i],
                    f"{self._called(i)} covers no row: the data cannot say whether it is right",
                    self._premise(i),
                )
            elif self.evidence.labels is not None and self.rules[i].label in self.evidence.classes:
                yield from self._precision(i, rows, self.evidence.labels)

    def _precision(self, i: int, rows: BoolArray, labels: NDArray[np.intp]) -> Iterator[Finding]:
        assert self.evidence is not None
        is_class = labels == self.evidence.classes.index(self.rules[i].label)
        right, covered = int(is_class[rows].sum()), int(rows.sum())
        of_class, every = int(is_class.sum()), len(rows)
        is_below, is_wrong = right * every < of_class * covered, 2 * right < covered
        if not (is_below or is_wrong):
            return
        message = (
            f"{self._called(i)} is right on {right} of the {covered} rows it covers "
            f"({percent(right, covered)}); {percent(of_class, every)} of all rows are {self._label(i)}"
        )
        if is_below:
            message += ", so that it is right less often than without its premise"
        yield self._finding(
            "mostly-wrong" if is_wrong else "below-base-rate",
            "warning" if covered >= _FEW else "note",
            [i],
            message,
            self._premise(i),
            bits=np.packbits(rows & ~is_class).tobytes(),
        )


def _counted(counts: tuple[tuple[Label | None, int], ...] | None) -> str:
    if counts is None:
        return ""
    total = sum(count for _, count in counts)
    if not total:
        return " (no row is there)"
    parts = ", ".join(
        f"{plain(label)}: {count}" for label, count in counts if label is not None and count
    )
    return f" ({total} row{'' if total == 1 else 's'}{f'; {parts}' if parts else ''})"


class Labels:
    """The classes of the rows."""

    def __init__(self, y: Any, rows: int):
        values = np.asarray(y)
        if values.shape != (rows,):
            raise DataError(
                f"y has shape {values.shape}, and X {rows} rows; each row needs one label"
            )
        number: dict[Any, int] = {}
        codes = [number.setdefault(value, len(number)) for value in values.tolist()]
        try:
            found = [as_label(value) for value in number]
        except InvalidValueError as error:
            row = next(k for k, code in enumerate(codes) if not _is_label(list(number)[code]))
            raise DataError(f"y, {name_row(row, y)}: {error}") from None
        # In the order in which scikit-learn has them, where they can be compared.
        order = sorted(range(len(found)), key=lambda k: (str(type(found[k])), found[k]))
        place = np.empty(len(found), dtype=np.intp)
        place[order] = np.arange(len(found))
        self.classes: tuple[Label, ...] = tuple(found[k] for k in order)
        self.codes: NDArray[np.intp] = place[np.array(codes, dtype=np.intp)]


def _is_label(value: object) -> bool:
    try:
        as_label(value)
    except InvalidValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows in the terms of the advice."""

    points: FloatArray
    labels: NDArray[np.intp] | None
    classes: tuple[Label, ...]
    problems: dict[int, str]
    categories: dict[int, tuple[str, ...]]
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls,
        points: FloatArray,
        labels: NDArray[np.intp] | None,
        classes: tuple[Label, ...],
        problems: dict[int, str],
        categories: dict[int, tuple[str, ...]],
    ) -> Evidence:
        """Take points, and find their range."""
        known = np.isfinite(points)
        lower = np.where(known, points, np.inf).min(axis=0, initial=np.inf)
        upper = np.where(known, points, -np.inf).max(axis=0, initial=-np.inf)
        unknown = [*problems, *np.flatnonzero(lower > upper)]
        lower[unknown], upper[unknown] = -np.inf, np.inf
        return cls(points, labels, classes, problems, categories, lower, upper)

    def usable(self, rules: RuleSet) -> BoolArray:
        """Return which rules speak of nothing but features that the rows have."""
        return np.array(
            [not self.problems.keys() & set(rule.region.bounded) for rule in rules], dtype=np.bool_
        )

    def covers(self, rules: RuleSet) -> BoolArray:
        """Tell for each row and rule whether the rule covers the row; never for a rule that is not usable."""
        return rules.covers(self.points) & self.usable(rules)


class Coverage:
    """Which rules cover which rows, as bits: quick to count for any number of pairs of rules."""

    def __init__(
        self, covered: BoolArray, labels: NDArray[np.intp] | None, classes: tuple[Label, ...]
    ):
        self._rules = np.packbits(covered.T, axis=1)
        self._classes: tuple[Label | None, ...] = (None,) if labels is None else classes
        of_class = (
            np.ones((1, len(covered)), dtype=np.bool_)
            if labels is None
            else labels == np.arange(len(classes))[:, None]
        )
        self._of_class = np.packbits(of_class, axis=1)

    def shared(self, i: int, j: int) -> tuple[tuple[Label | None, int], ...]:
        """Return how many rows of each class two rules cover together; without labels, one count with None."""
        both = self._rules[i] & self._rules[j]
        counts = np.bitwise_count(both & self._of_class).sum(axis=1, dtype=np.intp)
        return tuple(zip(self._classes, counts.tolist(), strict=True))

    def both(self, i: int, j: int) -> bytes:
        """Return the rows that two rules cover together, as bits."""
        bits: bytes = (self._rules[i] & self._rules[j]).tobytes()
        return bits

    def is_within(self, i: int, j: int) -> bool:
        """Check whether a rule covers every row that another one covers."""
        return not (self._rules[i] & ~self._rules[j]).any()


def read_evidence(
    space: FeatureSpace, table: Table, labels: Labels | None, by_position: bool
) -> Evidence:
    """Read a table feature by feature; what cannot be read becomes a problem of that feature."""
    problems: dict[int, str] = {}
    categories: dict[int, tuple[str, ...]] = {}
    if by_position:
        points = np.array(space.read(table.given))
    else:
        points = np.zeros((len(table), len(space)))
        for j, name in enumerate(space.names):
            named = space.categories[j]
            try:
                if named is None:
                    points[:, j] = _numbers(name, table)
                else:
                    column = table.column(name)
                    points[:, j], categories[j] = column.codes(named), column.categories
            except DataError as error:
                problems[j] = str(error)
    if labels is None:
        return Evidence.of(points, None, (), problems, categories)
    return Evidence.of(points, labels.codes, labels.classes, problems, categories)


def _numbers(name: str, table: Table) -> FloatArray:
    """Return the values of a feature that measures something."""
    if name not in table.names:
        raise DataError(
            f"the advice speaks of {name!r}, and the data have no such column{nearest_name(name, table.names)}"
        )
    column = table.column(name)
    if not column.is_numeric:
        raise DataError(
            f"the advice takes {name!r} for a number, and the data have categories there: "
            + ", ".join(repr(category) for category in column.categories[:5])
        )
    return column.numbers()


def case_evidence(case: Cases) -> Evidence:
    """Return the rows of cases that are being learned from."""
    labels: NDArray[np.intp] = (case.y > 0).astype(np.intp)
    classes = tuple(as_label(label) for label in case.classes.tolist())
    return Evidence.of(case.values, labels, classes, {}, {})
