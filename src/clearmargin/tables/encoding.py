"""One-hot encoding of the user's table and back: numbers as they are, each category as a 0/1 column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, Domain, FeatureSpace, OneHot
from clearmargin.rules.space import category_name
from clearmargin.rules.value import BoolArray, FloatArray, Value
from clearmargin.tables.table import Column, Table, column_ranges

if TYPE_CHECKING:
    from clearmargin.models.flow import Sources


class Source(NamedTuple):
    """Where an encoded column comes from."""

    feature: int
    code: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Encoding(Value):
    """How a table is read as columns of numbers."""

    columns: FeatureSpace
    sources: tuple[Source, ...]
    space: FeatureSpace
    asked: tuple[int, ...] = field(default=(), kw_only=True)
    unused: tuple[int, ...] = field(
        default=(), kw_only=True
    )  # features that the model does not take

    @property
    def named(self) -> list[int]:
        """The features whose categories the model takes."""
        taken = {source.feature for source in self.sources} - {*self.unused}
        return sorted(j for j in taken if self.space.categories[j] is not None)

    def read(self, X: Any) -> FloatArray:
        """Read the user's table as numbers and codes of categories, one column for each feature of `space`."""
        if not any(self.space.categories):
            return self.space.read(X)
        return self.space.filled(Table.read(X).points(self.space))

    def is_missing(self, X: Any) -> BoolArray:
        """Tell for each value of the user's table whether it is missing, before anything is put in its place."""
        plain = Encoding(self.columns, self.sources, self.space.with_fill(None))
        return np.isnan(plain.read(X))

    def encode(self, X: Any) -> FloatArray:
        """Encode the user's table."""
        return self.spread(self.read(X))

    def spread(self, table: FloatArray) -> FloatArray:
        """Spread numbers and codes of categories, as `read` gives them, over the encoded columns."""
        if all(source == (k, None) for k, source in enumerate(self.sources)):
            return table[:, : len(self.sources)]
        encoded = np.empty((len(table), len(self.sources)))
        for k, (feature, code) in enumerate(self.sources):
            values = table[:, feature]
            if code is not None:
                values = np.where(np.isnan(values), np.nan, values == code)
            encoded[:, k] = values
        return encoded

    def encoded_box(self, region: Box) -> Box:
        """Return the same box over encoded columns: a category that is not allowed has a column that is 0."""
        feature = [source.feature for source in self.sources]
        lower, upper = region.lower[feature].copy(), region.upper[feature].copy()
        for column, (j, code) in enumerate(self.sources):
            if code is not None:
                allowed = j not in region.sets or code in region.sets[j]
                lower[column], upper[column] = 0.0, float(allowed)
        return Box(lower, upper, region.lower_closed[feature], region.upper_closed[feature])

    def domain(
        self,
        columns: FeatureSpace | None = None,
        declared: BoolArray | None = None,
    ) -> Domain:
        """Return what can be, over the encoded columns: exactly one category of each categorical feature."""
        members: dict[int, list[int]] = {}
        for k, (feature, code) in enumerate(self.sources):
            if code is not None:
                members.setdefault(feature, []).append(k)
        groups = []
        for feature, places in members.items():
            categories = self.space.categories[feature] or ()
            codes = [self.sources[k].code or 0 for k in places]
            groups.append(OneHot(self.space.names[feature], places, [categories[c] for c in codes]))
        features = [source.feature for source in self.sources]
        ends = np.zeros((2, len(self.space)), dtype=np.bool_) if declared is None else declared
        return Domain(columns or self.columns, ends[0, features], ends[1, features], groups)


def build_encoding(
    sources: Sources, columns: Sequence[Column], counted: BoolArray
) -> tuple[Encoding, list[int]]:
    """Make the encoding of a table from the columns and categories that a model uses."""
    space = _user_space(sources, columns, counted)
    kept, origins = [], []
    for j, known in enumerate(space.categories):
        categories = sources.categories(j)
        if categories:
            kept += [sources.indicator(j, category) for category in categories]
            origins += [Source(j, code) for code in range(len(categories))]
        elif known is None:
            kept.append(j)
            origins.append(Source(j, None))
    asked = tuple(j for j in range(len(space)) if sources.has_encoded_missing(j))
    return Encoding(_encoded_columns(space, origins), tuple(origins), space, asked=asked), kept


def _user_space(sources: Sources, columns: Sequence[Column], counted: BoolArray) -> FeatureSpace:
    categories: list[Sequence[str] | None] = []
    for j, column in enumerate(columns):
        encoded = sources.categories(j)
        if encoded and counted[j]:
            raise InvalidValueError(
                f"the model takes column {column.name!r} both as a number and as a category; "
                "rules can speak of one of them only"
            )
        # A column of categories that are numbers may still be used as numbers. One in which the model met nothing but
        # missing values has to have an encoded column, too, so that no rule holds without its value.
        is_number = not encoded and (
            column.is_numeric or counted[j] or sources.has_encoded_missing(j)
        )
        categories.append(None if is_number else encoded or column.categories)
    low, high, integer = column_ranges(columns, categories)
    names = [column.name for column in columns]
    fill = [_usable_fill(sources.fill(j), known) for j, known in enumerate(categories)]
    return FeatureSpace(names, low, high, integer, categories).with_fill(fill)


def _usable_fill(value: float | str | None, categories: Sequence[str] | None) -> float | str | None:
    """Return what a missing value counts as, if it is a number or a category that the model knows."""
    if value is None:
        return None
    if categories is not None:
        name = category_name(value)
        return name if name in categories else None
    number = float(value)
    return number if np.isfinite(number) else None


def has_unknown_category(encoding: Encoding, table: FloatArray) -> BoolArray:
    """Tell which rows have a category that the model does not know, in a column that it takes."""
    return np.asarray((table[:, encoding.named] < 0).any(axis=1))


def column_encoding(space: FeatureSpace, unused: Sequence[int] = ()) -> Encoding:
    """Encode every numeric feature as a column, and every category of the others as a 0/1 column."""
    sources = [
        Source(j, code)
        for j, categories in enumerate(space.categories)
        if j not in unused
        for code in ([None] if categories is None else range(len(categories)))
    ]
    return Encoding(_encoded_columns(space, sources), tuple(sources), space)


def filling_encoding(table: Table, names: Sequence[str] | None = None) -> Encoding:
    """Encode all columns of a table; if values are missing, they count as medians and most frequent categories."""
    columns, space = table.all_columns(), table.space()
    lower, upper, categories = space.lower, space.upper, space.categories
    own = FeatureSpace(names or space.names, lower, upper, space.integer, categories)
    if not any(column.is_missing.any() for column in columns):
        return column_encoding(own)
    fill: list[float | str] = []
    for column, known in zip(columns, categories, strict=True):
        if known is not None:
            fill.append(category_name(column.most_frequent))
        else:
            numbers = column.numbers()
            present = numbers[~np.isnan(numbers)]
            fill.append(float(np.median(present)) if len(present) else 0.0)
    return column_encoding(own.with_fill(fill))


def _encoded_columns(space: FeatureSpace, sources: Sequence[Source]) -> FeatureSpace:
    """Return the encoded columns as features: numbers with their ranges, 0/1 columns called feature=category."""
    feature = [source.feature for source in sources]
    is_indicator = np.array([source.code is not None for source in sources], dtype=np.bool_)
    return FeatureSpace(
        [_column_name(space, source) for source in sources],
        np.where(is_indicator, 0.0, space.lower[feature]),
        np.where(is_indicator, 1.0, space.upper[feature]),
        is_indicator | space.integer[feature],
    )


def _column_name(space: FeatureSpace, source: Source) -> str:
    name, categories = space.names[source.feature], space.categories[source.feature]
    return name if source.code is None else f"{name}={(categories or ())[source.code]}"


@dataclass(frozen=True, slots=True, eq=False)
class Decoding:
    """Decode encoded rows to a table of the type and with the values that a model was fitted to."""

    encoding: Encoding
    table: Table
    spellings: dict[int, NDArray[Any]]

    @classmethod
    def of(cls, X: Any, encoding: Encoding) -> Decoding:
        """Remember what a table looks like."""
        table, space = Table.read(X), encoding.space
        columns = table.columns_of(space.names)
        spellings = {
            j: np.array([column.written.get(each, each) for each in categories], dtype=object)
            for j, (column, categories) in enumerate(zip(columns, space.categories, strict=True))
            if categories is not None
        }
        model_table = table.select(space.names) if table.is_frame else table
        return cls(encoding, model_table.take(np.arange(0)), spellings)

    def make(self, points: FloatArray) -> Any:
        """Decode rows; a categorical feature gets the category whose column is largest."""
        places: dict[int, list[int]] = {}
        for k, source in enumerate(self.encoding.sources):
            places.setdefault(source.feature, []).append(k)
        columns: list[NDArray[Any]] = []
        for j in range(len(self.encoding.space)):
            if j not in self.spellings:
                columns.append(points[:, places[j][0]])
            elif j in places:
                columns.append(self.spellings[j][np.argmax(points[:, places[j]], axis=1)])
            else:  # a feature that the model drops: any value will do
                columns.append(np.full(len(points), self.spellings[j][0], dtype=object))
        return self.table.make_like(columns)
