"""What would change the model's answer or the rank of a case, as a value that says itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.printer import format_number
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.rule import Label

__all__ = ["FeatureChange", "Rank", "Recourse"]

_CAUTION = (
    "This is about the model only: what such a change does in the world is not known from data."
)
# Enough digits for people; a value is rounded away from where it came from, so that it still suffices.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Rank:
    """The target of a case that is to leave the Top `n` of a list.

    A case is in the Top n as long as fewer than n *others* have a higher score. It leaves it if and only if its score
    is below the n-th largest score of the others, which in a list with the case in the Top n is the one at place n + 1.

    Parameters
    ----------
    n : int
        The size of the Top; at least 1 and at most the number of the others.
    listed : bool, optional
        Whether the case itself is a row of the list X: True leaves one row that is equal to it out, False takes all
        rows as others. By default one row is left out if there is one that is equal.

    Examples
    --------
    >>> Rank(27)
    Rank(n=27, listed=None)
    """

    n: int
    listed: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.n, Integral) or isinstance(self.n, bool) or self.n < 1:
            raise InvalidValueError(f"the rank must be a whole number from 1, not {self.n!r}")
        if self.listed not in (None, True, False):
            raise InvalidValueError(f"listed must be True, False or None, not {self.listed!r}")
        object.__setattr__(self, "n", int(self.n))


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """Another value of one feature.

    Parameters
    ----------
    feature : str
        Its name.
    before, after : number, text or bool
        Its values, in the user's units.
    cost : float
        What the change costs.

    Examples
    --------
    >>> print(FeatureChange("bmi", 31.2, 27.0, 0.1))
    bmi were 27 instead of 31.2
    """

    feature: str
    before: Any
    after: Any
    cost: float

    def __str__(self) -> str:
        after = self.after
        if isinstance(after, float) and not after.is_integer():
            after = (round_up if after > self.before else round_down)(after, _DIGITS)
        return f"{self.feature} were {_say(after)} instead of {_say(self.before)}"


@dataclass(frozen=True, slots=True)
class Recourse:
    """The cheapest change that moves a case, or the proof that none does.

    Parameters
    ----------
    changes : tuple of FeatureChange
        What would have to change; empty if nothing has to, or if nothing is enough.
    cost : float or None
        Total cost; None if nothing is enough.
    target : str, int, float, bool or Rank
        The class that was aimed at, or the Top that was to be left.
    score_before, score_after : float, float or None
        The model's score, positive for its second class. With three or more classes, the lead of the class that was
        aimed at over the best other one. None if nothing is enough.
    label_before, label_after : label, label or None
        The model's answers.
    rank_before, rank_after : int or None
        1 + the number of others with a higher score, if a rank was aimed at.
    n_others : int or None
        How many others there are, if a rank was aimed at.
    feasible : bool
        Whether some allowed change is enough.
    verified : bool
        Whether the model itself, given the changed case, answered (and ranked) as it says here. If nothing is enough:
        whether the model confirmed the best score.
    allowed : tuple of str
        The features that were declared actionable.
    best_score : float or None
        If nothing is enough: the score with all actionable features at their best.
    shortfall : float
        If nothing is enough: how much score is missing then. Zero means that the boundary is reached, but not crossed.
    alternatives : tuple of Recourse
        Further ways, by rising cost. Each leaves something alone that each earlier one changes.

    Examples
    --------
    >>> change = FeatureChange("bmi", 31.2, 27.0, 0.1)
    >>> print(Recourse((change,), 0.1, "healthy", 0.5, -0.01, "ill", "healthy"))
    If bmi were 27 instead of 31.2, this would change the model's answer from ill to healthy
    (score 0.5 -> -0.01, cost 0.1).
    This is about the model only: what such a change does in the world is not known from data.
    """

    changes: tuple[FeatureChange, ...]
    cost: float | None
    target: Label | Rank
    score_before: float
    score_after: float | None
    label_before: Label
    label_after: Label | None
    rank_before: int | None = None
    rank_after: int | None = None
    n_others: int | None = None
    feasible: bool = True
    verified: bool = True
    allowed: tuple[str, ...] = ()
    best_score: float | None = None
    shortfall: float = 0.0
    alternatives: tuple[Recourse, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, ready for JSON.

        Returns
        -------
        dict
            One entry a field, and `text` with the sentences.
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(self.target, Rank):
            plain["target"] = {"rank": self.target.n}
        plain["changes"] = [
            {field.name: getattr(change, field.name) for field in fields(change)}
            for change in self.changes
        ]
        plain["allowed"] = list(self.allowed)
        plain["alternatives"] = [other.to_dict() for other in self.alternatives]
        return {**plain, "text": str(self)}

    def __str__(self) -> str:
        if not self.feasible:
            return f"{self._refusal()}\n{_CAUTION}"
        if not self.changes:
            return f"Nothing has to change: {self._place()}."
        lines = [self._sentence()]
        lines += [f"Or: {other._sentence()}" for other in self.alternatives]
        return "\n".join([*lines, _CAUTION])

    def _sentence(self) -> str:
        premise = _listing([str(change) for change in self.changes])
        score = f"score {_short(self.score_before)} -> {_short(self.score_after)}"
        return f"If {premise}, this would change {self._effect()} ({score}, cost {_short(self.cost)}).{self._doubt()}"

    def _doubt(self) -> str:
        return "" if self.verified else " The model itself, given this case, did NOT confirm it."

    def _effect(self) -> str:
        if isinstance(self.target, Rank):
            return (
                f"the rank from {self.rank_before} to {self.rank_after} of {self._listed()}, "
                f"out of the top {self.target.n}"
            )
        return f"the model's answer from {self.label_before} to {self.target}"

    def _listed(self) -> int:
        return 1 + (self.n_others or 0)

    def _place(self) -> str:
        if isinstance(self.target, Rank):
            return f"the rank is {self.rank_before} of {self._listed()}, not in the top {self.target.n}"
        return f"the model's answer is {self.label_before} already"

    def _refusal(self) -> str:
        missing = (
            "which reaches the boundary, but does not cross it"
            if self.shortfall == 0
            else f"and {_short(self.shortfall)} would still be missing"
        )
        wish = (
            f"would move the rank, now {self.rank_before} of {self._listed()}, out of the top {self.target.n}"
            if isinstance(self.target, Rank)
            else f"would change the model's answer from {self.label_before} to {self.target}"
        )
        return (
            f"No allowed change of {_listing(self.allowed)} {wish}: with everything at its best the score would go "
            f"from {_short(self.score_before)} to {_short(self.best_score)}, {missing}.{self._doubt()}"
        )


def _say(value: object) -> str:
    if isinstance(value, float):
        return format_number(value)
    return str(value)


def _short(value: float | None) -> str:
    return f"{value:.4g}"


def _listing(parts: tuple[str, ...] | list[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
