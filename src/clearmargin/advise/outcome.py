"""What became of each piece of advice: kept, bent or ignored; before and after; and what holds now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from clearmargin.core import FeatureSpace, Rule, RuleSet
from clearmargin.text import format_rules
from clearmargin.text.lexer import quote
from clearmargin.text.printer import format_label, format_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AdviceOutcome", "ConditionChange", "RuleOutcome", "Verdict", "rule_text"]

Verdict = Literal["kept", "bent", "extended", "ignored", "rejected", "empty"]

_WORDS: dict[str, str] = {
    "kept": "kept as it was",
    "bent": "refined from the data",
    "extended": "extended as far as the model agrees",
    "ignored": "unchanged, and contradicted by the model",
    "rejected": "rejected: fitting it to the data left nothing of it",
    "empty": "set aside: no case can satisfy it",
}
# Scores closer to zero are zero up to what solvers leave behind.
_ON_THE_PLANE = 1e-6


@dataclass(frozen=True, slots=True)
class ConditionChange:
    """How one condition of a rule moved.

    Parameters
    ----------
    feature : str
        The expert's variable.
    before, after : str
        The condition in the rule language; `after` is empty where it was dropped.
    bound_before, bound_after : float
        The bound on the feature; where the condition now has other variables, at their medians. NaN where the feature
        has no bound left.

    Examples
    --------
    >>> print(ConditionChange("age", "age >= 31", "age >= 36", 31.0, 36.0))
    age >= 31 -> age >= 36 (age +5)
    """

    feature: str
    before: str
    after: str
    bound_before: float
    bound_after: float

    @property
    def change(self) -> float:
        """By how much the bound moved, in the unit of the feature."""
        return self.bound_after - self.bound_before

    def __str__(self) -> str:
        if not self.after:
            return f"{self.before}: dropped"
        return f"{self.before} -> {self.after} ({self.feature} {self.change:+.4g})"


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    r"""What became of one rule.

    Parameters
    ----------
    before, after : Rule
        The rule as it was given and as it counts now, each with its statistics on the training data. For a rejected
        rule, `after` is the last form in which it still had points.
    verdict : {"kept", "bent", "extended", "ignored", "rejected", "empty"}
        Kept: unchanged, and the model gives its class everywhere in its premise. Bent: refined. Extended: made wider.
        Ignored: unchanged, and the model contradicts it somewhere.
    holds : bool
        Whether the model gives the class of the rule everywhere in its premise (after), within the domain.
    margin : float
        The lowest score on the side of the class over the premise, within the domain; 1 is what advice asks for.
    slack : float
        The error that the training program paid for, zero where the advice is satisfied.
    witness : mapping from str to float or str, optional
        Where the lowest score is taken: the values of the columns that premise or model look at, and the categories of
        the features that the advice has categories for.
    changes : tuple of ConditionChange
        The conditions that changed.
    intervals : Rule, optional
        For a rule with turned conditions, the tightest intervals around what it covers within the domain.
    text_before, text_after : str
        The rule before and after in the rule language.
    text_intervals : str
        `intervals` in the rule language; empty where there are none.

    Examples
    --------
    >>> from clearmargin import AdviceSVC
    >>> outcome = AdviceSVC("low: a <= 1 => n\nhigh: a >= 3 => p", mu=10.0).fit().outcome_[0]
    >>> print(outcome)
    low: kept as it was
      before  low: a <= 1 => n
      holds   every case in it gets n, with a score of at least 1
    """

    before: Rule
    after: Rule
    verdict: Verdict
    holds: bool
    margin: float
    slack: float
    witness: Mapping[str, float | str] | None
    changes: tuple[ConditionChange, ...]
    intervals: Rule | None
    text_before: str
    text_after: str
    text_intervals: str = ""

    @property
    def guarantee(self) -> str:
        """What the model promises in the premise after training."""
        label = format_label(self.after.label)
        if self.verdict in ("rejected", "empty"):
            return f"nothing: {_WORDS[self.verdict]}"
        if self.holds:
            if self._is_close:
                return f"every case in it gets {label}, the closest ones just on that side of the plane (score 0)"
            return f"every case in it gets {label}, with a score of at least {self.margin:.3g}"
        if self.margin == float("-inf"):
            return f"none: far enough out, cases in it get another class than {label}"
        values = [
            f"{quote(name)} = {_value(value)}" for name, value in (self.witness or {}).items()
        ]
        case = f"a case with {' and '.join(values)}" if values else "any case"
        where, score = "not everywhere", f"{self.margin:.3g}"
        if self._is_close:
            where, score = "everywhere but on the plane itself", "0"
        return f"{where}: {case} has a score of {score} and does not get {label}"

    @property
    def summary(self) -> str:
        """What became of the rule, in words."""
        if self.verdict == "ignored" and self._is_close:
            return f"{_WORDS[self.verdict]} on the plane alone"
        return _WORDS[self.verdict]

    @property
    def _is_close(self) -> bool:
        return abs(self.margin) < _ON_THE_PLANE

    def __str__(self) -> str:
        name = f"{self.before.name}: " if self.before.name else ""
        lines = [f"{name}{self.summary}", f"  before  {self.text_before}"]
        if self.text_after != self.text_before:
            lines.append(f"  after   {self.text_after}")
        lines += [f"          {change}" for change in self.changes]
        if self.text_intervals:
            lines.append(f"  within  {self.text_intervals}")
        if self.before.stats is not None and self.after.stats is not None:
            now = f", now {_count(self.after)}" if self.text_after != self.text_before else ""
            lines.append(f"  covers  {_count(self.before)}{now}, of {self.before.stats.rows} cases")
        return "\n".join([*lines, f"  holds   {self.guarantee}"])


@dataclass(frozen=True, slots=True)
class AdviceOutcome(Sequence[RuleOutcome]):
    r"""What became of all rules, in their order.

    Parameters
    ----------
    rules : tuple of RuleOutcome
        One for each rule of the advice.

    Examples
    --------
    >>> from clearmargin import AdviceSVC
    >>> AdviceSVC("low: a <= 1 => n\nhigh: a >= 3 => p", mu=10.0).fit().outcome_.verdicts
    ('kept', 'kept')
    """

    rules: tuple[RuleOutcome, ...]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[RuleOutcome]:
        return iter(self.rules)

    @overload
    def __getitem__(self, index: int) -> RuleOutcome: ...
    @overload
    def __getitem__(self, index: slice) -> AdviceOutcome: ...
    def __getitem__(self, index: int | slice) -> RuleOutcome | AdviceOutcome:
        if isinstance(index, slice):
            return AdviceOutcome(self.rules[index])
        return self.rules[index]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each rule."""
        return tuple(rule.verdict for rule in self.rules)

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in self.rules) or "no advice was given"

    def to_frame(self) -> pd.DataFrame:
        """Put the outcome into a pandas data frame, one row a rule."""
        import pandas as pd

        return pd.DataFrame(
            {
                "rule": [r.before.name or f"rule {k + 1}" for k, r in enumerate(self.rules)],
                "verdict": self.verdicts,
                "before": [r.text_before for r in self.rules],
                "after": [r.text_after for r in self.rules],
                "holds": [r.holds for r in self.rules],
                "margin": [r.margin for r in self.rules],
                "slack": [r.slack for r in self.rules],
                "covered_before": [_covered(r.before) for r in self.rules],
                "right_before": [_right(r.before) for r in self.rules],
                "covered_after": [_covered(r.after) for r in self.rules],
                "right_after": [_right(r.after) for r in self.rules],
            }
        )

    def _repr_html_(self) -> str:
        from html import escape

        head = ("rule", "verdict", "before", "after", "guarantee")
        rows = [
            (
                r.before.name or f"rule {k + 1}",
                r.summary,
                r.text_before,
                r.text_after,
                r.guarantee,
            )
            for k, r in enumerate(self.rules)
        ]
        cells = "".join(f'<th scope="col">{escape(word)}</th>' for word in head)
        body = "".join(
            f'<tr><th scope="row">{escape(name)}</th>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in row)
            + "</tr>"
            for name, *row in rows
        )
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _value(value: float | str) -> str:
    """A number with the digits that people read, or a category."""
    return quote(value) if isinstance(value, str) else format_number(float(f"{value:.4g}") + 0.0)


def _count(rule: Rule) -> str:
    assert rule.stats is not None
    return f"{rule.stats.covered} ({rule.stats.correct} right)"


def _covered(rule: Rule) -> int | None:
    return None if rule.stats is None else rule.stats.covered


def _right(rule: Rule) -> float:
    return float("nan") if rule.stats is None else rule.stats.accuracy


def rule_text(rule: Rule, space: FeatureSpace) -> str:
    """Write one rule in the rule language, without declarations.

    Parameters
    ----------
    rule : Rule
        The rule.
    space : FeatureSpace
        Its features.

    Returns
    -------
    str
        A line.
    """
    return format_rules(RuleSet([rule], space)).splitlines()[-1]
