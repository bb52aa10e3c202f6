"""The base of values that may fill the memory, and checks of their parts."""

from __future__ import annotations

import operator
from dataclasses import Field, fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "FloatArray",
    "LargeValue",
    "first_index",
    "read_interval",
    "read_name",
    "read_numbers",
    "read_size",
    "read_vector",
    "suggest",
]


def read_name(name: object, what: str) -> str:
    """Return the name of a block, or say why it cannot be one."""
    if not isinstance(name, str) or not name:
        raise InvalidValueError(f"the name of {what} must be a non-empty string, not {name!r}")
    return name


def read_numbers(value: ArrayLike, where: str) -> FloatArray:
    """Return a read-only float view of `value`; the caller's own array keeps its flags."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{where} must hold real numbers: {error}") from error
    frozen = array.view()
    frozen.flags.writeable = False
    return frozen


def read_vector(value: ArrayLike, size: int, where: str) -> FloatArray:
    """Return a read-only vector of `size` entries without NaN; a scalar stands for all of them.

    A vector that could be written to is copied, which is cheap, so that no value changes behind its back.
    """
    array = read_numbers(value, where)
    if array.ndim and isinstance(value, np.ndarray) and value.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    if array.ndim == 0:
        array = np.broadcast_to(array, (size,))
    elif array.shape != (size,):
        raise InvalidValueError(
            f"{where} has shape {array.shape}; give a scalar or a vector of {size} entries"
        )
    missing = np.isnan(array)
    if missing.any():
        index = first_index(missing)
        raise InvalidValueError(f"{where}[{index}] is nan; give a number or leave the entry out")
    return array


def read_size(size: object, where: str) -> int:
    """Return a count, or say why it cannot be one."""
    try:
        number = operator.index(size)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidValueError(f"{where} must be a whole number, not {size!r}") from None
    if number < 0:
        raise InvalidValueError(f"{where} is {number}; it cannot be negative")
    return number


def read_interval(
    lower: ArrayLike, upper: ArrayLike, size: int, what: str
) -> tuple[FloatArray, FloatArray]:
    """Return both limits as vectors, having checked that something lies between them."""
    low = read_vector(lower, size, f"{what}: lower")
    high = read_vector(upper, size, f"{what}: upper")
    for name, limit, wrong in (("lower", low, np.inf), ("upper", high, -np.inf)):
        if (limit == wrong).any():
            raise InvalidValueError(
                f"{what}: {name}[{first_index(limit == wrong)}] is {wrong}, which nothing satisfies; "
                f"use {-wrong} for no limit"
            )
    crossed = low > high
    if crossed.any():
        index = first_index(crossed)
        raise InvalidValueError(
            f"{what}: lower[{index}] = {low[index]} is greater than upper[{index}] = {high[index]}; "
            "swap them or widen the interval"
        )
    return low, high


def first_index(mask: NDArray[np.bool_]) -> int:
    """Return the position of the first true entry of a vector that has one."""
    return int(np.argmax(mask))


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, or all of them."""
    names = list(known)
    close = get_close_matches(str(name), names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there {'is' if len(names) == 1 else 'are'} {', '.join(map(repr, names)) or 'none'}"


# Not the `Value` of `rules`, whose arrays are small copies in canonical form, compared and hashed as bytes. Matrices
# here may fill the memory: they are views of what the caller gave, -0.0 and all, so that a hash would be
# costly and could change, and a deep copy that returned the value itself would not be independent of them.
class LargeValue:
    """Base of the frozen dataclasses: equal by content, rebuilt through the constructor.

    Pickle and deepcopy go through the constructor because a copied array would otherwise come back
    writeable.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, name), getattr(other, name)) for name in _init_names(type(self))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        state = (getattr(self, name) for name in _init_names(type(self)))
        return type(self), tuple(_portable(part) for part in state)

    def _fill(self, **parts: object) -> None:
        """Set the fields of a frozen dataclass, from its constructor."""
        for name, part in parts.items():
            object.__setattr__(self, name, part)


def _init_names(kind: type[LargeValue]) -> list[str]:
    return [field.name for field in fields(kind) if field.init]


def _portable(part: object) -> object:
    return dict(part) if isinstance(part, MappingProxyType) else part


def _same(mine: object, other: object) -> bool:
    if isinstance(mine, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(mine, other)
    return bool(mine == other)
