"""What an extraction found and cost, class by class."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Trace"]


@dataclass(frozen=True, slots=True)
class Trace:
    """What the extraction of one class found and cost.

    Parameters
    ----------
    points : int
        Training points of the class that the model classifies correctly, inside the bounds.
    problems : int
        Corners computed.
    found : int
        Boxes that cover at least one of the points.
    kept : int
        Rules that remain.
    covered : int
        Points that the rules cover.
    seconds : float
        Time taken.
    unlimited : int, optional
        With `max_conditions`: points that rules of any length would cover, estimated where points were sampled, and
        before whole numbers between two rules are shared out. The difference to `covered` is the price of short rules.
    members : int, default 0
        Training points of the class, whether the model classifies them correctly or not.
    """

    points: int
    problems: int
    found: int
    kept: int
    covered: int
    seconds: float
    unlimited: int | None = None
    members: int = 0

    @property
    def coverage(self) -> float:
        """Share of the points that the rules cover, of those that the model classifies correctly."""
        return self.covered / self.points if self.points else float("nan")

    @property
    def recall(self) -> float:
        """Share of all points of the class that the rules of the class cover.

        Examples
        --------
        >>> trace = Trace(points=311, problems=9, found=5, kept=4, covered=305, seconds=0.1, members=559)
        >>> round(trace.coverage, 3), round(trace.recall, 3)
        (0.981, 0.546)
        """
        return self.covered / self.members if self.members else float("nan")
