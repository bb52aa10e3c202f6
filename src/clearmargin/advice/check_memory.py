"""What checks of advice have found out about premises and pairs of them, kept from one check to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from clearmargin.rules.rule import Region

__all__ = ["CheckMemory"]

T = TypeVar("T")


class CheckMemory:
    """Answers to questions about premises, by the premises themselves: those of a rule that did not change stay.

    All answers are about one feature space and one table; with another one, start with an empty memory.

    Examples
    --------
    >>> from clearmargin.rules import Box
    >>> memory = CheckMemory()
    >>> small = memory.number(Box([0.0], [1.0]))
    >>> memory.recall("size", small, lambda: 1.0)
    1.0
    >>> memory.recall("size", memory.number(Box([0.0], [1.0])), lambda: 2.0)
    1.0
    """

    def __init__(self) -> None:
        self._numbers: dict[Region, int] = {}
        self._answers: dict[tuple[int, int], dict[str, Any]] = {}
        self._latest: set[int] = set()
        self._next = 0

    def number(self, premise: Region) -> int:
        """Return the number by which a premise is known here; equal premises have the same one."""
        number = self._numbers.setdefault(premise, self._next)
        self._next += number == self._next
        return number

    def recall(self, question: str, i: int, find: Callable[[], T], j: int = -1) -> T:
        """Return the answer to a question about a premise or, in this order, two; find it where it is not known."""
        known = self._answers.setdefault((i, j), {})
        if question not in known:
            known[question] = find()
        answer: T = known[question]
        return answer

    def knows(self, question: str, i: int) -> bool:
        """Tell whether the answer to a question about a premise is known."""
        return question in self._answers.get((i, -1), ())

    def keep(self, numbers: Iterable[int]) -> None:
        """Forget all premises but these and those of the time before, to which an undo leads back."""
        now = set(numbers)
        kept = now | self._latest | {-1}
        self._answers = {
            key: known for key, known in self._answers.items() if key[0] in kept and key[1] in kept
        }
        self._numbers = {premise: k for premise, k in self._numbers.items() if k in kept}
        self._latest = now
