"""Which categories a region allows, feature by feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import BoolArray, FloatArray, Value


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class CategorySets(Value):
    """For some categorical features, the set of codes that is allowed; the others are free.

    A category is stored as its position in the list of categories of its feature, as
    `FeatureSpace.read` gives it.

    Parameters
    ----------
    allowed : mapping from int to iterable of int
        Feature index to allowed codes.

    Examples
    --------
    >>> sets = CategorySets({2: [0, 1]})
    >>> sets[2]
    frozenset({0, 1})
    >>> sets.intersect(CategorySets({2: [1, 5]}))
    CategorySets({2: [1]})
    """

    allowed: tuple[tuple[int, tuple[int, ...]], ...]
    _codes: dict[int, frozenset[int]] = field(init=False, compare=False)

    def __init__(
        self,
        allowed: Mapping[int, object] | tuple[tuple[int, tuple[int, ...]], ...] = (),
    ):
        pairs = {}
        for feature, codes in dict(allowed).items():
            if isinstance(codes, str) or not isinstance(codes, Iterable):
                raise InvalidValueError(
                    f"feature {feature!r} needs a set of codes, not {codes!r} ({type(codes).__name__})"
                )
            pairs[_position(feature)] = tuple(sorted({_position(code) for code in codes}))
        ordered = tuple(sorted(pairs.items()))
        self._set(allowed=ordered, _codes={f: frozenset(codes) for f, codes in ordered})

    def __getitem__(self, feature: int) -> frozenset[int]:
        return self._codes[feature]

    def __contains__(self, feature: object) -> bool:
        return feature in self._codes

    def __iter__(self) -> Iterator[int]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self.allowed)

    def __repr__(self) -> str:
        return f"CategorySets({ {f: list(codes) for f, codes in self.allowed} })"

    @property
    def is_empty(self) -> bool:
        """Whether some feature is left with no category at all."""
        return any(not codes for _, codes in self.allowed)

    def intersect(self, other: CategorySets) -> CategorySets:
        """Allow what both allow."""
        mine, theirs = dict(self.allowed), dict(other.allowed)
        both = {
            f: set(mine.get(f, theirs.get(f, ()))) & set(theirs.get(f, mine.get(f, ())))
            for f in mine.keys() | theirs.keys()
        }
        return CategorySets(both)

    def contains(self, X: FloatArray) -> BoolArray:
        """Tell for each row of codes whether every named feature has an allowed one."""
        inside = np.ones(len(X), dtype=np.bool_)
        for feature, codes in self.allowed:
            inside &= np.isin(X[:, feature], codes)
        return inside


def feature_tuple(features: Iterable[int], n_features: int, what: str) -> tuple[int, ...]:
    """Take indices of features as a sorted tuple without repetition."""
    chosen = tuple(sorted({_position(feature) for feature in features}))
    if chosen and chosen[-1] >= n_features:
        raise InvalidValueError(
            f"feature {chosen[-1]} among those listed as {what}, but there are {n_features} features"
        )
    return chosen


def _position(value: Any) -> int:
    # Codes read from a table are floats.
    plain = isinstance(value, int | float | np.integer)
    if not plain or value < 0 or not float(value).is_integer():
        raise InvalidValueError(
            f"features and codes of categories are whole numbers from 0, not {value!r}"
        )
    return int(value)
