"""What became of each piece of advice: the rule before and after, and how it stands now.

Two words for each rule. The *verdict* is what became of it: kept, refined, extended, ignored, rejected or empty. The
*standing* is what may be said of it now, of which there are three, and no more is ever claimed:

- *proved*: the model gives its class to every possible case of the premise;
- *uncontradicted*: it does so for all covered cases of the data, but a possible case is known that would get another
  class, or at least no proof;
- *contradicted*: the model gives another class to some covered cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from clearmargin.language import format_rules
from clearmargin.language.lexer import quote
from clearmargin.language.printer import format_label, format_number
from clearmargin.language.words import finite
from clearmargin.rules import FeatureSpace, Rule, RuleSet
from clearmargin.rules.interval import round_down
from clearmargin.tables.table import make_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AdviceOutcome", "ConditionChange", "RuleOutcome", "Standing", "Verdict", "rule_text"]

Verdict = Literal["kept", "refined", "extended", "ignored", "rejected", "empty"]
Standing = Literal["proved", "uncontradicted", "contradicted"]

_WORDS: dict[str, str] = {
    "kept": "kept as it was",
    "refined": "refined from the data",
    "extended": "extended as far as the model agrees",
    "ignored": "unchanged",
    "rejected": "rejected: fitting it to the data left nothing of it",
    "empty": "set aside: no case can satisfy it",
}
_STUCK = (
    "nothing to move: no bound of the rule decides its lowest score, since the model gives the features of the rule no "
    "weight, or one that speaks for the rule; other conditions would be needed"
)
_UNMOVED = (
    "left as it was: changing it costs more than refinement found to gain by it; a smaller cost of changes (now {:g}) "
    "may let it move"
)
_FIXED = "left as it was: it must not change, since its cost of changes is infinite"
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
    verdict : {"kept", "refined", "extended", "ignored", "rejected", "empty"}
        Kept: unchanged, and proved, or contradicted by none of the cases that it covers. Refined: changed to fit the
        data. Extended: made wider. Ignored: unchanged, and neither. Rejected: refined until nothing was left. Empty: no
        case can satisfy it.
    standing : {"proved", "uncontradicted", "contradicted"} or None
        How the rule (after) stands. Proved: the model gives its class to every possible case of the premise.
        Uncontradicted: to all covered cases, but not provably to all possible ones. Contradicted: not to all covered
        cases. None for rules that were rejected or are empty.
    margin : float
        The lowest score on the side of the class over the possible cases of the premise, with ranges and whole numbers
        as in the data; 1 is what advice asks for.
    slack : float
        The error that the training program paid for, zero where the advice is satisfied.
    witness : mapping from str to float or str, optional
        The possible case with the lowest score or, next to a strict bound, one with nearly that score: the values of
        the columns that premise or model look at, and the categories of features that are declared to have them.
    witness_score : float
        Its score on the side of the class.
    near : int or None
        How many training cases are near it: no value differs by more than a tenth of the range, and no category does.
    floor : float or None
        The lowest score beyond the ranges and whole numbers that the data happen to have, with the declared ranges
        alone, where the rule is proved there as well; None where it is not.
    stuck : bool
        Whether refinement was asked for and could not move the rule, because no bound of it decides the lowest score.
    changes : tuple of ConditionChange
        The conditions that changed.
    intervals : Rule, optional
        For a rule with turned conditions, the tightest intervals around what it covers within the domain.
    text_before, text_after : str
        The rule before and after in the rule language.
    text_intervals : str
        `intervals` in the rule language; empty where there are none.
    unmoved : bool, default False
        Whether refinement was asked for and left the rule as it was, for whatever reason.
    change_cost : float or None, default None
        What changing the rule costs relative to its errors (`nu` of `AdviceSVC`), where refinement was asked for.

    Examples
    --------
    >>> from clearmargin import AdviceSVC
    >>> outcome = AdviceSVC("low: a <= 1 => n\nhigh: a >= 3 => p", mu=10.0).fit().outcome_[0]
    >>> print(outcome)
    low: kept as it was, proved
      before  low: a <= 1 => n
      holds   every case in it gets n, with a score of at least 1
    """

    before: Rule
    after: Rule
    verdict: Verdict
    standing: Standing | None
    margin: float
    slack: float
    witness: Mapping[str, float | str] | None
    witness_score: float
    near: int | None
    floor: float | None
    stuck: bool
    changes: tuple[ConditionChange, ...]
    intervals: Rule | None
    text_before: str
    text_after: str
    text_intervals: str = ""
    unmoved: bool = False
    change_cost: float | None = None

    @property
    def holds(self) -> bool:
        """Whether it is proved that the model gives the class of the rule everywhere in its premise."""
        return self.standing == "proved"

    @property
    def covered(self) -> int:
        """Number of training cases that the rule covers now."""
        return 0 if self.after.stats is None else self.after.stats.covered

    @property
    def contradicting(self) -> int:
        """Number of covered training cases to which the model gives another class."""
        stats = self.after.stats
        return 0 if stats is None or stats.agreed is None else stats.covered - stats.agreed

    @property
    def standing_text(self) -> str:
        """How the rule stands, in words; empty where it was set aside."""
        if self.standing == "contradicted":
            return f"contradicted by {self.contradicting:,} of the {self.covered:,} covered cases"
        if self.standing == "uncontradicted":
            if not self.covered:
                return "not proved"
            cases = f"any of the {self.covered:,} covered cases"
            if self.covered == 1:
                cases = "the one covered case"
            return f"not contradicted by {cases}, but not proved"
        return "proved" if self.standing == "proved" else ""

    @property
    def guarantee(self) -> str:
        """What the model promises in the premise after training, and where it fails."""
        if self.verdict in ("rejected", "empty"):
            return f"nothing: {_WORDS[self.verdict]}"
        if self.standing == "proved":
            return self._promise()
        return f"not everywhere: {self._failure()}"

    def _promise(self) -> str:
        label = format_label(self.after.label)
        if self.margin == float("inf"):
            return "no case can be in it"
        words = f"every case in it gets {label}, with a score of at least {_lowest(self.margin)}"
        if self._is_close:
            words = f"every case in it gets {label}, the closest ones just on that side of the plane (score 0)"
        is_far = self.floor is not None and self.floor >= self.margin - _ON_THE_PLANE
        if self.after.stats is None or is_far:
            return words
        beyond = "" if self.floor is None else f"; beyond them, of at least {_lowest(self.floor)}"
        return f"{words} (with ranges and whole numbers as in the data{beyond})"

    def _failure(self) -> str:
        """Return where the class is not given: covered cases first, then the worst possible one."""
        label = format_label(self.after.label)
        counted = ""
        if self.standing == "contradicted":
            of_covered = f"{self.contradicting:,} of the {self.covered:,} covered cases"
            counted = f"the model gives another class than {label} to {of_covered}"
        if self.margin == float("-inf") and self.witness is None:
            far = f"far enough out, cases in it get another class than {label}"
            return f"{counted}, and {far}" if counted else far
        if self.witness is None or self.witness_score > 0:
            return (
                counted
                or f"the lowest score is {self.margin:.3g}, and no possible case with it was found"
            )
        values = [f"{quote(name)} = {_value(value)}" for name, value in self.witness.items()]
        case = f"a case with {' and '.join(values)}" if values else "any case"
        score = (
            "on the plane (score 0)" if self._is_close else f"a score of {self.witness_score:.3g}"
        )
        worst = f"{case} {'lies' if self._is_close else 'has'} {score} and does not get {label}"
        nearby = "" if self.near is None or not values else f"; {_cases_near(self.near)}"
        return f"{counted}; {worst}{nearby}" if counted else f"{worst}{nearby}"

    @property
    def summary(self) -> str:
        """What became of the rule, and how it stands, in words."""
        return ", ".join(filter(None, (_WORDS[self.verdict], self.standing_text)))

    @property
    def _is_close(self) -> bool:
        return abs(self.margin) < _ON_THE_PLANE

    def to_dict(self) -> dict[str, Any]:
        """Return what became of the rule as plain data for JSON, None for what is not finite or not known."""
        before, after = self.before.stats, self.after.stats
        return {
            "name": self.before.name,
            "verdict": self.verdict,
            "before": self.text_before,
            "after": self.text_after,
            "standing": self.standing,
            "standing_text": self.standing_text,
            "holds": self.holds,
            "stuck": self.stuck,
            "unmoved": self.unmoved,
            "change_cost": None if self.change_cost is None else finite(self.change_cost),
            "margin": finite(self.margin),
            "slack": self.slack,
            "guarantee": self.guarantee,
            "covered_before": None if before is None else before.covered,
            "covered_after": None if after is None else after.covered,
            "agreed_after": None if after is None else after.agreed,
            "text": str(self),
        }

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
        lines.append(f"  holds   {self.guarantee}")
        if self.stuck and not self.holds:
            lines.append(f"  refine  {_STUCK}")
        elif self.change_cost is not None and self.unmoved and self.standing == "contradicted":
            words = _FIXED if math.isinf(self.change_cost) else _UNMOVED.format(self.change_cost)
            lines.append(f"  refine  {words}")
        return "\n".join(lines)


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

    @property
    def standings(self) -> tuple[Standing | None, ...]:
        """How each rule stands: proved, uncontradicted or contradicted; None where it was set aside."""
        return tuple(rule.standing for rule in self.rules)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return what became of each rule as plain data for JSON."""
        return [rule.to_dict() for rule in self.rules]

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in self.rules) or "no advice was given"

    def to_frame(self) -> pd.DataFrame:
        """Put the outcome into a pandas data frame, one row a rule."""
        return make_frame(
            {
                "rule": [r.before.name or f"rule {k + 1}" for k, r in enumerate(self.rules)],
                "verdict": self.verdicts,
                "standing": self.standings,
                "before": [r.text_before for r in self.rules],
                "after": [r.text_after for r in self.rules],
                "holds": [r.holds for r in self.rules],
                "margin": [r.margin for r in self.rules],
                "slack": [r.slack for r in self.rules],
                "change_cost": [_change_cost(r) for r in self.rules],
                "covered_before": [_covered(r.before) for r in self.rules],
                "right_before": [_right(r.before) for r in self.rules],
                "covered_after": [_covered(r.after) for r in self.rules],
                "right_after": [_right(r.after) for r in self.rules],
                "agreed_after": [_agreed(r.after) for r in self.rules],
            }
        )

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table, render_macro

        if not self.rules:
            return render_macro("notebook.html", "lines", items=[str(self)])
        rows = [
            (r.before.name or f"rule {k + 1}", r.summary, r.text_before, r.text_after, r.guarantee)
            for k, r in enumerate(self.rules)
        ]
        head = ("rule", "verdict", "before", "after", "guarantee")
        return html_table(head, rows, codes=(2, 3), named=True)


def _lowest(score: float) -> str:
    """Return a lowest score in three digits, never more than is true, up to what solvers leave."""
    short = float(f"{score:.3g}")
    return f"{round_down(score, 3) if short > score + _ON_THE_PLANE else short:.3g}"


def _value(value: float | str) -> str:
    """Return a number or a category, as the rule language writes it."""
    return quote(value) if isinstance(value, str) else format_number(value)


def _cases_near(count: int) -> str:
    if not count:
        return "no case is near it"
    return "1 case is near it" if count == 1 else f"{count:,} cases are near it"


def _count(rule: Rule) -> str:
    stats = rule.stats
    assert stats is not None
    agreed = "" if stats.agreed is None else f", {stats.agreed} predicted so"
    return f"{stats.covered} ({stats.correct} right{agreed})"


def _covered(rule: Rule) -> int | None:
    return None if rule.stats is None else rule.stats.covered


def _change_cost(outcome: RuleOutcome) -> float:
    return math.nan if outcome.change_cost is None else outcome.change_cost


def _agreed(rule: Rule) -> float:
    return float("nan") if rule.stats is None else rule.stats.fidelity


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
