"""What every immutable value of this layer shares: equality by content, pickling, frozen fields."""

from __future__ import annotations

from dataclasses import Field, fields
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from clearmargin.rules.value import FloatArray

__all__ = ["FloatArray", "Value"]


# Not the Value of core, whose arrays are small copies in canonical form, compared and hashed as bytes. Matrices
# here may fill the memory: they are views of what the caller gave, -0.0 and all, so that a hash would be
# costly and could change, and a deep copy that returned the value itself would not be independent of them.
class Value:
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


def _init_names(kind: type[Value]) -> list[str]:
    return [field.name for field in fields(kind) if field.init]


def _portable(part: object) -> object:
    return dict(part) if isinstance(part, MappingProxyType) else part


def _same(mine: object, other: object) -> bool:
    if isinstance(mine, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(mine, other)
    return bool(mine == other)
