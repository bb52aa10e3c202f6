"""What may be stored in a project file: texts that UTF-8 can hold, whole and finite numbers, plain data as JSON."""

from __future__ import annotations

import json
import math
import operator
from datetime import UTC, datetime
from typing import Any

from clearmargin.exceptions import InvalidValueError

# What a column of SQLite can hold.
_LARGEST = 2**63 - 1


def now() -> str:
    """Return the time as it is stored: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def as_text(value: str, what: str) -> str:
    r"""Return a text, or say why it cannot be stored."""
    if not isinstance(value, str):
        raise InvalidValueError(f"{what} must be a text, not {value!r}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(value[error.start]).strip("'")
        raise InvalidValueError(
            f"{what} cannot be stored: it holds half of a character ({half}, one of a surrogate pair) at place "
            f"{error.start + 1}"
        ) from None
    return value


def as_whole(value: int, what: str) -> int:
    """Return a whole number that is not negative, or say why it is none."""
    try:
        number = int(operator.index(value))
    except TypeError:
        raise InvalidValueError(f"{what} must be a whole number, not {value!r}") from None
    if not 0 <= number <= _LARGEST:
        raise InvalidValueError(f"{what} must lie between 0 and {_LARGEST}, not be {number}")
    return number


def as_finite(value: float, what: str) -> float:
    """Return a finite number, or say why it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError(f"{what} must be a number, not {value!r}") from None
    if not math.isfinite(number):
        raise InvalidValueError(f"{what} must be a finite number, not {number}")
    return number


def as_json(body: dict[str, Any], what: str) -> str:
    """Return plain data as JSON, always the same text for the same data."""
    if not isinstance(body, dict):
        raise InvalidValueError(f"{what} must be a dict of plain data, not {type(body).__name__}")
    try:
        text = json.dumps(body, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(f"{what} is not plain data that JSON can hold: {error}") from error
    return as_text(text, what)
