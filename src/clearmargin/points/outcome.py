"""What became of experts' rules in a machine over rules: how much each is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from clearmargin.language.printer import format_rule
from clearmargin.language.words import number_text
from clearmargin.rules import FeatureSpace, Rule
from clearmargin.tables.table import make_frame

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["kept", "ignored"]


@dataclass(frozen=True, slots=True)
class ExpertRule:
    """What became of one rule.

    Parameters
    ----------
    rule : Rule
        The rule, with its statistics on the training rows.
    points : float
        What it adds to the score of its class where it holds; 0 where it is ignored.
    text : str
        The rule in the rule language.

    Examples
    --------
    >>> from clearmargin import Box, RuleStats
    >>> print(ExpertRule(Rule(Box([30.0], [60.0]), "ill", stats=RuleStats(50, 9, 8)), 1.5, "bmi >= 30 => ill"))
    bmi >= 30 => ill: kept with 1.5 points; right on 8 of the 9 rows that it covers
    """

    rule: Rule
    points: float
    text: str

    @property
    def verdict(self) -> Verdict:
        """Whether the machine uses the rule."""
        return "kept" if self.points > 0.0 else "ignored"

    def to_dict(self) -> dict[str, Any]:
        """Return what became of the rule as plain data for JSON."""
        return {
            "name": self.rule.name,
            "verdict": self.verdict,
            "points": self.points,
            "rule": self.text,
            "text": str(self),
        }

    def __str__(self) -> str:
        stats = self.rule.stats
        what = f"kept with {number_text(self.points)} points" if self.points > 0.0 else "ignored"
        if stats is None:
            return f"{self.text}: {what}"
        if not stats.covered:
            return f"{self.text}: {what}; it covers no training row"
        return f"{self.text}: {what}; right on {stats.correct} of the {stats.covered} rows that it covers"


@dataclass(frozen=True, slots=True)
class RulesOutcome(Sequence[ExpertRule]):
    """What became of each rule, in the order in which they were given; print it.

    Parameters
    ----------
    rules : tuple of ExpertRule
        The rules.

    Examples
    --------
    >>> RulesOutcome(()).verdicts
    ()
    """

    rules: tuple[ExpertRule, ...]

    @classmethod
    def of(
        cls, rules: Sequence[Rule], points: Sequence[float], space: FeatureSpace
    ) -> RulesOutcome:
        """Put rules and their points together."""
        pairs = zip(rules, points, strict=True)
        return cls(tuple(ExpertRule(rule, p, format_rule(rule, space)) for rule, p in pairs))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return what became of each rule as plain data for JSON."""
        return [outcome.to_dict() for outcome in self.rules]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether each rule is kept or ignored."""
        return tuple(outcome.verdict for outcome in self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[ExpertRule]:
        return iter(self.rules)

    @overload
    def __getitem__(self, index: int) -> ExpertRule: ...
    @overload
    def __getitem__(self, index: slice) -> RulesOutcome: ...
    def __getitem__(self, index: int | slice) -> ExpertRule | RulesOutcome:
        return RulesOutcome(self.rules[index]) if isinstance(index, slice) else self.rules[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))

    def to_frame(self) -> pd.DataFrame:
        """Put the outcome into a pandas data frame, one row a rule."""
        rows = [
            (
                outcome.text,
                outcome.verdict,
                outcome.points,
                outcome.rule.stats.covered if outcome.rule.stats else None,
                outcome.rule.stats.correct if outcome.rule.stats else None,
            )
            for outcome in self.rules
        ]
        return make_frame(rows, columns=["rule", "verdict", "points", "covered", "correct"])
