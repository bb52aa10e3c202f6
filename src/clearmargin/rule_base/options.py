"""Options of estimators: declared once with what they may be, and checked when an estimator is fitted.

A class lists its options in `_options`, with those of its base class first, as scikit-learn lists constraints of
parameters; `check_options` compares all of them with the values that the estimator was made with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.space import nearest_name


class Option(Protocol):
    """What an option may be."""

    def check(self, name: str, value: Any) -> None:
        """Raise if the value is not allowed."""


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A whole number from some least one."""

    least: int = 1
    optional: bool = False
    why: str = ""

    def check(self, name: str, value: Any) -> None:
        """Raise if the value is no whole number, or too small."""
        if value is None and self.optional:
            return
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_whole or value < self.least:
            none = " or None" if self.optional else ""
            why = f"; {self.why}" if is_whole and self.why else ""
            raise InvalidValueError(
                f"{name} must be a whole number from {self.least}{none}, not {value!r}{why}"
            )


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several words or numbers."""

    allowed: tuple[str | int, ...]

    def __init__(self, *allowed: str | int):
        object.__setattr__(self, "allowed", allowed)

    def check(self, name: str, value: Any) -> None:
        """Raise if the value is none of them."""
        if not isinstance(value, str | Integral) or value not in self.allowed:
            listed = ", ".join(repr(word) for word in self.allowed)
            hint = nearest_name(
                str(value), [word for word in self.allowed if isinstance(word, str)]
            )
            raise InvalidValueError(f"{name} must be one of {listed}, not {value!r}{hint}")


@dataclass(frozen=True, slots=True)
class PositiveNumber:
    """A finite number above zero."""

    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise if the value is not above zero, or infinite."""
        if value is None and self.optional:
            return
        if not _is_number(value) or not 0 < float(value) < float("inf"):
            none = " or None" if self.optional else ""
            raise InvalidValueError(f"{name} must be a positive number{none}, not {value!r}")


@dataclass(frozen=True, slots=True)
class Share:
    """A number from zero (or above it) up to, but not including, one."""

    zero: bool = True

    def check(self, name: str, value: Any) -> None:
        """Raise if the value is no share."""
        is_share = _is_number(value) and (0 <= value < 1 if self.zero else 0 < value < 1)
        if not is_share:
            allowed = (
                "a number from 0 up to, but not including, 1"
                if self.zero
                else "a share between 0 and 1"
            )
            raise InvalidValueError(f"{name} must be {allowed}, not {value!r}")


@dataclass(frozen=True, slots=True)
class OrAuto:
    """What another option allows, or "auto" for a choice by the data."""

    option: Option

    def check(self, name: str, value: Any) -> None:
        """Raise if the value is not allowed."""
        if isinstance(value, str) and value == "auto":
            return
        try:
            self.option.check(name, value)
        except InvalidValueError as error:
            raise InvalidValueError(f"{error}, or 'auto'") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_options(estimator: Any, options: Mapping[str, Option]) -> None:
    """Check the parameters that an estimator was made with."""
    for name, option in options.items():
        option.check(name, getattr(estimator, name))
