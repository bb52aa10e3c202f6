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
        With `max_conditions`: points that rules of any length would cover, estimated where points were sampled. The
        difference to `covered` is the price of short rules.
    """

    points: int
    problems: int
    found: int
    kept: int
    covered: int
    seconds: float
    unlimited: int | None = None

    @property
    def coverage(self) -> float:
        """Share of the points that the rules cover."""
        return self.covered / self.points if self.points else float("nan")
