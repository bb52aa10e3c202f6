"""What became of each piece of advice: the rule before and after, how far it is trusted, and what is proved of it.

The *verdict* is what became of a rule: unchanged, refined, rejected or empty. It is *proved* where the model gives its
class to every possible case of its premise; otherwise a counterexample is a case that could exist and gets another
class. All this is about what the model predicts, not about the classes that the cases have. A model that gives all
cases one class proves nothing about any rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from clearmargin.advice.train import Verdict
from clearmargin.language import format_rules
from clearmargin.language.lexer import quote
from clearmargin.language.printer import format_label, format_number
from clearmargin.language.words import finite
from clearmargin.rules import FeatureSpace, Rule, RuleSet
from clearmargin.rules.interval import round_down
from clearmargin.tables.table import make_frame

if TYPE_CHECKING:
    import pandas as pd

_WORDS: dict[str, str] = {
    "unchanged": "unchanged",
    "refined": "refined from the data",
    "rejected": "rejected: the cases contradict it",
    "empty": "set aside: no case can satisfy it",
}
# Scores closer to zero are zero up to what solvers leave behind.
_ON_THE_PLANE = 1e-6


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    r"""What became of one rule.

    Parameters
    ----------
    before, after : Rule
        The rule as it was given and as it counts now, each with its statistics on the training data.
    verdict : {"unchanged", "refined", "rejected", "empty"}
        Refined: changed to fit the data. Rejected: the cases contradict it so clearly that it does not count. Empty: no
        case can satisfy it.
    trust : float
        How far the cases bear it out: 2 p - 1, at least 0, for the share p of covered cases on which it is right, with
        8 right ones and 2 wrong ones added.
    proved : bool
        Whether it is proved that the model gives the class of the rule to every possible case of its premise.
    margin : float
        The lowest score on the side of the class over the possible cases of the premise, with ranges and whole numbers
        as in the data.
    counterexample : mapping from str to float or str, optional
        A case that could exist in the premise and gets another class, near a training case where one is covered: the
        values of the columns that premise or model look at, and the categories of features that have them.
    problems : tuple of str
        What the data have against the rule, and why it stays as written where refinement had changed it.
    text_before, text_after : str
        The rule before and after in the rule language.

    Examples
    --------
    >>> from clearmargin import AdviceSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["n", "n", "p", "p"]
    >>> print(AdviceSVC("low: x0 <= 1 => n").fit(X, y).outcome_[0])
    low: unchanged, proved
      before  low: x0 <= 1 => n
      covers  2 (2 right, 2 predicted so), of 4 cases; trust 0.67
      holds   every case in it gets n, with a score of at least ...
    """

    before: Rule
    after: Rule
    verdict: Verdict
    trust: float
    proved: bool
    margin: float
    counterexample: Mapping[str, float | str] | None
    problems: tuple[str, ...]
    text_before: str
    text_after: str

    @property
    def covered(self) -> int:
        """Number of training cases that the rule covers now."""
        return 0 if self.after.stats is None else self.after.stats.covered

    @property
    def guarantee(self) -> str:
        """What the model promises in the premise after training, or where it fails."""
        label = format_label(self.after.label)
        if self.verdict in ("rejected", "empty"):
            return f"nothing: {_WORDS[self.verdict]}"
        if self.proved:
            if self.margin == float("inf"):
                return "no case can be in it"
            return f"every case in it gets {label}, with a score of at least {_lowest(self.margin)}"
        if self.counterexample is None:
            return f"not proved everywhere; the lowest score is {self.margin:.3g}"
        values = [f"{quote(name)} = {_value(value)}" for name, value in self.counterexample.items()]
        case = f"a case with {' and '.join(values)}" if values else "any case"
        return f"not everywhere: {case} does not get {label}; the lowest score is {self.margin:.3g}"

    @property
    def summary(self) -> str:
        """What became of the rule, and whether it is proved, in words."""
        return f"{_WORDS[self.verdict]}{', proved' if self.proved else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Return what became of the rule as plain data for JSON, None for what is not finite or not known."""
        before, after = self.before.stats, self.after.stats
        counts = {
            f"{what}_{when}": None if stats is None else getattr(stats, what)
            for when, stats in (("before", before), ("after", after))
            for what in ("covered", "correct", "agreed")
        }
        return {
            "name": self.before.name,
            "verdict": self.verdict,
            "before": self.text_before,
            "after": self.text_after,
            "trust": self.trust,
            "proved": self.proved,
            "margin": finite(self.margin),
            "counterexample": None if self.counterexample is None else dict(self.counterexample),
            "problems": list(self.problems),
            "guarantee": self.guarantee,
            **counts,
            "text": str(self),
        }

    def __str__(self) -> str:
        name = f"{self.before.name}: " if self.before.name else ""
        lines = [f"{name}{self.summary}", f"  before  {self.text_before}"]
        if self.text_after != self.text_before:
            lines.append(f"  after   {self.text_after}")
        if self.before.stats is not None and self.after.stats is not None:
            now = f", now {_count(self.after)}" if self.text_after != self.text_before else ""
            of = f", of {self.before.stats.rows} cases; trust {self.trust:.2g}"
            lines.append(f"  covers  {_count(self.before)}{now}{of}")
        lines.append(f"  holds   {self.guarantee}")
        return "\n".join([*lines, *(f"  but     {problem}" for problem in self.problems)])


@dataclass(frozen=True, slots=True)
class AdviceOutcome(Sequence[RuleOutcome]):
    r"""What became of all rules, in their order.

    Parameters
    ----------
    rules : tuple of RuleOutcome
        One for each rule of the advice.
    problem : str, default ""
        What is wrong with the model as a whole, and what helps: it gives all training cases one class.

    Examples
    --------
    >>> from clearmargin import AdviceSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["n", "n", "p", "p"]
    >>> AdviceSVC("x0 <= 1 => n\nx0 >= 2 => p").fit(X, y).outcome_.verdicts
    ('unchanged', 'unchanged')
    """

    rules: tuple[RuleOutcome, ...]
    problem: str = ""

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
            return AdviceOutcome(self.rules[index], self.problem)
        return self.rules[index]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each rule."""
        return tuple(rule.verdict for rule in self.rules)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return what became of each rule as plain data for JSON."""
        return [rule.to_dict() for rule in self.rules]

    def __str__(self) -> str:
        first = [self.problem] if self.problem else []
        return "\n".join([*first, *map(str, self.rules)]) or "no advice was given"

    def to_frame(self) -> pd.DataFrame:
        """Put the outcome into a pandas data frame, one row a rule."""
        rows = [
            {"rule": fact["name"] or f"rule {k + 1}"}
            | {name: fact[name] for name in _COLUMNS if name not in ("rule", "problems")}
            | {"problems": "; ".join(fact["problems"])}
            for k, fact in enumerate(self.to_dict())
        ]
        return make_frame({name: [row[name] for row in rows] for name in _COLUMNS})

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


_COLUMNS = (
    "rule",
    "verdict",
    "trust",
    "proved",
    "before",
    "after",
    "margin",
    "covered_before",
    "correct_before",
    "covered_after",
    "correct_after",
    "agreed_after",
    "problems",
)


def _lowest(score: float) -> str:
    """Return a lowest score in three digits, never more than is true, up to what solvers leave."""
    short = float(f"{score:.3g}")
    return f"{round_down(score, 3) if short > score + _ON_THE_PLANE else short:.3g}"


def _value(value: float | str) -> str:
    """Return a number or a category, as the rule language writes it."""
    return quote(value) if isinstance(value, str) else format_number(value)


def _count(rule: Rule) -> str:
    stats = rule.stats
    assert stats is not None
    agreed = "" if stats.agreed is None else f", {stats.agreed} predicted so"
    return f"{stats.covered} ({stats.correct} right{agreed})"


def rule_text(rule: Rule, space: FeatureSpace) -> str:
    """Write one rule in the rule language, without declarations."""
    return format_rules(RuleSet([rule], space)).splitlines()[-1]
