"""Every error and warning that clearmargin raises.

Each error is a `ClearmarginError` (catch everything of ours) and also the built-in error that fits, so that code
which knows nothing of clearmargin can still catch a `ValueError` or a `TimeoutError`.
"""

from __future__ import annotations

import re
from typing import Any


class ClearmarginError(Exception):
    """Base of all errors of clearmargin."""


class CancelledError(Exception):
    """Work that was stopped between two steps, because an observer said so; see `clearmargin.progress.observe`.

    Nothing is wrong then, so that it is no `ClearmarginError`: code that goes on after an error must not go on after
    this.
    """


class InvalidValueError(ClearmarginError, ValueError):
    """A value (interval, box, rule, program ...) that cannot exist as described."""


class NotLinearError(InvalidValueError):
    """A model that no hyperplanes can be read from; whoever asked for them knows what to use instead.

    Parameters
    ----------
    problem : str
        What is not linear.
    hint : str, optional
        What to do, as the rest of the sentence.

    Examples
    --------
    >>> str(NotLinearError("SVC with kernel 'rbf' is not linear", "use another one"))
    "SVC with kernel 'rbf' is not linear; use another one"
    """

    def __init__(self, problem: str, hint: str = ""):
        super().__init__(f"{problem}; {hint}" if hint else problem)
        self.problem = problem


class DataError(ClearmarginError, ValueError):
    """A table that does not fit: wrong columns, values that are no numbers, unknown names."""


class DataTypeError(DataError, TypeError):
    """A table that holds things which are neither numbers nor texts, such as lists."""


class RuleSyntaxError(ClearmarginError, ValueError):
    """Rule text that cannot be understood; it says where and, if possible, what was meant.

    Parameters
    ----------
    problem : str
        What is wrong, in one sentence.
    line, column : int
        Where it starts, counted from 1.
    source : str
        The line of text in question.
    length : int
        How many characters the caret underlines.
    file : str, optional
        The file the text came from.
    offset : int, optional
        Where it starts in the whole text, counted from 0.
    fix : str, optional
        What the underlined characters would better be, where that is known.

    Examples
    --------
    >>> print(RuleSyntaxError("unknown feature 'bmy'", line=1, column=1, source="bmy > 30 => ill", length=3))
    line 1, column 1: unknown feature 'bmy'
      bmy > 30 => ill
      ^^^
    """

    def __init__(
        self,
        problem: str,
        *,
        line: int,
        column: int,
        source: str = "",
        length: int = 1,
        file: str | None = None,
        offset: int | None = None,
        fix: str | None = None,
    ):
        self.problem = problem
        self.line = line
        self.column = column
        self.source = source
        self.length = length
        self.file = file
        self.offset = offset
        self.fix = fix
        super().__init__(self._render())

    def in_file(self, file: str) -> RuleSyntaxError:
        """Return the same error, with the name of the file."""
        return RuleSyntaxError(self.problem, **{**self._state(), "file": file})

    def _state(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "column": self.column,
            "source": self.source,
            "length": self.length,
            "file": self.file,
            "offset": self.offset,
            "fix": self.fix,
        }

    def _render(self) -> str:
        place = f"line {self.line}, column {self.column}: {self.problem}"
        head = place if self.file is None else f"{self.file}, {place}"
        if not self.source:
            return head
        source, start = _window(self.source, self.column - 1)
        # A lone surrogate cannot be printed; a replacement keeps the caret below its character.
        source = _SURROGATE.sub("\ufffd", source)
        # Tabs stay tabs in the marker line, so that the caret lands below its character.
        pad = "".join("\t" if ch == "\t" else " " for ch in source[:start])
        return f"{head}\n  {source}\n  {pad}{'^' * max(1, min(self.length, len(source) - start))}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_syntax_error, (self.problem, self._state()))


_WIDEST_SOURCE = 160
_SURROGATE = re.compile("[\ud800-\udfff]")


def _window(source: str, start: int) -> tuple[str, int]:
    """Cut a very long line around the place that matters."""
    if len(source) <= _WIDEST_SOURCE:
        return source, start
    left = max(0, start - _WIDEST_SOURCE // 2)
    return source[left : left + _WIDEST_SOURCE], start - left


def _rebuild_syntax_error(problem: str, state: dict[str, Any]) -> RuleSyntaxError:
    return RuleSyntaxError(problem, **state)


class FileInTheWayError(ClearmarginError, FileExistsError):
    """The file to be written exists already, and nobody said to overwrite it."""


class FileNotWrittenError(ClearmarginError, OSError):
    """A file that the system does not write: the disk is full, or the place is read-only."""


class FileDamagedError(ClearmarginError, ValueError):
    """A file that is not what it should be: cut off, edited badly, or of another kind."""


class FileTooNewError(ClearmarginError, ValueError):
    """A file written by a later version of clearmargin than this one."""


class MissingDependencyError(ClearmarginError, ImportError):
    """An optional package is needed and not installed; the message has the line that installs it."""


class SolverError(ClearmarginError, RuntimeError):
    """A mathematical program could not be solved."""


class BackendError(SolverError, ValueError):
    """A backend that does not exist, or that cannot solve this kind of program."""


class InfeasibleError(SolverError, ValueError):
    """No point satisfies all constraints; `blocks` names rules of an advice that contradict each other.

    Parameters
    ----------
    message : str
        What contradicts what, for people.
    blocks : tuple of str
        Names of the rules.
    """

    def __init__(self, message: str, blocks: tuple[str, ...] = ()):
        super().__init__(message)
        self.blocks = blocks


class UnboundedError(SolverError, ValueError):
    """The objective can be improved without end."""


class TimeLimitError(SolverError, TimeoutError):
    """The solver did not finish within the time or the iterations it was given."""


class NumericalError(SolverError, ArithmeticError):
    """The solver broke down, or its answer does not pass the check of its residuals."""


class ClearmarginWarning(UserWarning):
    """Base of all warnings of clearmargin: a result exists but deserves doubt."""


class DensePlaneWarning(ClearmarginWarning):
    """A plane with so many features that rules of boxes will cover little."""


class UncertifiedWarning(ClearmarginWarning):
    """A result whose certificate is weaker than what was asked for."""
