"""Counts of what rules cover and how often they are right."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import Value

__all__ = ["RuleScores", "RuleStats"]


@dataclass(frozen=True, slots=True, eq=False)
class RuleStats(Value):
    """How a rule, or a set of rules, did on some rows.

    Parameters
    ----------
    rows : int
        Number of rows looked at.
    covered : int
        How many of them are covered.
    correct : int, optional
        How many of the covered ones have the class that was said.
    agreed : int, optional
        For how many of the covered ones the model says the same.

    Examples
    --------
    >>> stats = RuleStats(rows=200, covered=50, correct=49)
    >>> stats.coverage, stats.accuracy, stats.fidelity
    (0.25, 0.98, nan)
    """

    rows: int
    covered: int
    correct: int | None = None
    agreed: int | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "covered", "correct", "agreed"):
            count = getattr(self, name)
            if count is not None or name in ("rows", "covered"):
                self._set(**{name: _whole_number(name, count)})
        counts = [self.covered, *(c for c in (self.correct, self.agreed) if c is not None)]
        if (
            self.rows < 0
            or min(counts) < 0
            or max(counts) > self.covered
            or self.covered > self.rows
        ):
            raise InvalidValueError(
                "counts must satisfy 0 <= correct, agreed <= covered <= rows: "
                f"rows={self.rows}, covered={self.covered}, correct={self.correct}, agreed={self.agreed}"
            )

    @property
    def coverage(self) -> float:
        """Share of the rows that is covered; NaN without rows."""
        return _share(self.covered, self.rows)

    @property
    def accuracy(self) -> float:
        """Share of the covered rows with the right class; NaN if none is covered or classes are unknown."""
        return _share(self.correct, self.covered)

    @property
    def fidelity(self) -> float:
        """Share of the covered rows on which the model agrees; NaN if none is covered or without a model."""
        return _share(self.agreed, self.covered)


@dataclass(frozen=True, slots=True, eq=False)
class RuleScores(Value):
    """How a set of rules did: in all (the first covering rule speaks), and each rule by itself.

    Parameters
    ----------
    total : RuleStats
        The rules as one classifier.
    rules : tuple of RuleStats
        Each rule alone, in their order.
    overlaps : int
        Number of rows that more than one rule covers.

    Examples
    --------
    >>> scores = RuleScores(RuleStats(10, 6, 5), (RuleStats(10, 6, 5),), overlaps=0)
    >>> round(scores.coverage, 2), round(scores.accuracy, 2)
    (0.6, 0.83)
    """

    total: RuleStats
    rules: tuple[RuleStats, ...]
    overlaps: int

    def __post_init__(self) -> None:
        self._set(rules=tuple(self.rules), overlaps=_whole_number("overlaps", self.overlaps))

    @property
    def coverage(self) -> float:
        """Share of the rows that some rule covers."""
        return self.total.coverage

    @property
    def accuracy(self) -> float:
        """Share of the covered rows that get the right class."""
        return self.total.accuracy

    @property
    def fidelity(self) -> float:
        """Share of the covered rows on which rules and model agree."""
        return self.total.fidelity


def _whole_number(name: str, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise InvalidValueError(f"{name} must be a whole number, not {count!r}")
    return int(count)


def _share(part: int | None, whole: int) -> float:
    return part / whole if part is not None and whole else math.nan
