"""What all values of clearmargin have in common: they never change, and they are equal when they say the same.

Also how numbers become canonical arrays, and rows of numbers points of the space.
"""

from __future__ import annotations

import math
from dataclasses import fields
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import DataError, InvalidValueError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
# Bits, 64 to a word.
Words = NDArray[np.uint64]

V = TypeVar("V", bound="Value")


class Value:
    """Base of frozen, slotted dataclasses that may hold arrays."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return tuple(_comparable(getattr(self, f.name)) for f in fields(self) if f.compare)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        state = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        # A read-only view of a mapping does not travel.
        plain = {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in state.items()}
        return _rebuild, (type(self), plain)

    def __copy__(self: V) -> V:
        return self

    def __deepcopy__(self: V, memo: dict[int, object]) -> V:
        return self

    def _set(self, **values: object) -> None:
        """Fill the fields of a frozen value; for constructors only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _rebuild(cls: type[V], state: dict[str, Any]) -> V:
    return cls(**state)


def _comparable(value: object) -> object:
    # Canonical arrays (no -0.0, no NaN) are equal exactly when their bytes are.
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    return tuple(value.items()) if isinstance(value, MappingProxyType) else value


def float_array(
    values: ArrayLike, what: str, *, shape: tuple[int, ...] | None = None
) -> FloatArray:
    """Copy numbers into a read-only float array in canonical form (-0.0 becomes 0.0, NaN refused)."""
    try:
        given = np.asarray(values)
        array = np.array(given, dtype=np.float64) if holds_numbers(given) else None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValueError(f"{what} must be numbers: {error}") from None
    if array is None:
        raise InvalidValueError(f"{what} must be numbers, not {given.dtype} values")
    if np.count_nonzero(np.isnan(array)):
        where = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise InvalidValueError(f"{what} must not be NaN (at position {_place(where)})")
    array += 0.0  # -0.0 + 0.0 is 0.0
    return _read_only(_fit(array, what, shape))


def holds_numbers(array: NDArray[Any]) -> bool:
    """Check whether numpy may turn the array into floats; "3" and a date could be turned, too, but are no numbers."""
    if array.dtype.kind == "O":
        return not any(isinstance(value, str | bytes) for value in array.flat)
    return array.dtype.kind in "biuf"


def number(value: object, what: str) -> float:
    """Take a single number as a float in canonical form."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        x = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError(f"{what} must be a number, not {value!r}") from None
    if math.isnan(x):
        raise InvalidValueError(f"{what} must not be NaN")
    return x + 0.0  # -0.0 + 0.0 is 0.0


def bool_array(values: ArrayLike, what: str, *, shape: tuple[int, ...]) -> BoolArray:
    """Copy flags into a read-only boolean array of the given shape."""
    array = np.array(values)
    if array.dtype.kind != "b":
        raise InvalidValueError(f"{what} must be True or False, not {array.dtype} values")
    return _read_only(_fit(array, what, shape))


def _fit(array: NDArray[Any], what: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
    if shape is None or array.shape == shape:
        return array
    if array.ndim == 0:
        return np.full(shape, array)
    raise InvalidValueError(f"{what} has shape {array.shape}, but {shape} is needed")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array = np.ascontiguousarray(array) if array.ndim else array
    array.setflags(write=False)
    return array


def _place(where: tuple[int, ...]) -> str:
    return str(where[0]) if len(where) == 1 else str(where)


def as_points(X: ArrayLike, n_features: int) -> FloatArray:
    """Read X as an array of n_features columns of floats, or say what is wrong with it."""
    try:
        table = np.asarray(X)
        points = np.asarray(table, dtype=np.float64) if holds_numbers(table) else None
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"X must hold numbers: {error}") from None
    if points is None:
        raise DataError(f"X must hold numbers, not {table.dtype} values")
    if points.ndim != 2:
        raise DataError(
            f"X must be a table (two dimensions), not of shape {points.shape}; "
            "for a single row use [row]"
        )
    if points.shape[1] != n_features:
        raise DataError(f"X has {points.shape[1]} columns, but {n_features} features are expected")
    return points


def is_point(points: FloatArray) -> BoolArray:
    """Tell for each row whether all its values are known, so that a plane or a kernel machine has a score for it."""
    # A sum is NaN when a term is (or when infinities cancel): mostly one number tells that nothing is missing.
    with np.errstate(invalid="ignore", over="ignore"):
        if not np.isnan(points.sum()):
            return np.ones(len(points), dtype=np.bool_)
    known: BoolArray = np.logical_not(np.isnan(points).any(axis=1))
    return known


def pack_bits(table: BoolArray) -> Words:
    """Pack the columns of a boolean table into 64-bit words."""
    packed = np.packbits(table, axis=1, bitorder="little")
    padded = np.zeros((len(table), 8 * -(-table.shape[1] // 64)), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
