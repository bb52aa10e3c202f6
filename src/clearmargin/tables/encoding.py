"""One-hot encoding of the user's table and back: numbers as they are, each category as a 0/1 column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Domain, FeatureSpace, OneHot, Polyhedron
from clearmargin.rules.space import category_name
from clearmargin.rules.value import BoolArray, FloatArray, Value
from clearmargin.tables.table import Column, Table, column_ranges

if TYPE_CHECKING:
    from clearmargin.models.flow import Sources

__all__ = ["Decoding", "Encoding", "Source", "build_encoding", "column_encoding"]


class Source(NamedTuple):
    """Where an encoded column comes from.

    Parameters
    ----------
    feature : int
        Position of the feature in the user's table.
    code : int or None
        The category for which a 0/1 column stands, None for a column of numbers.

    Examples
    --------
    >>> Source(2, None) == (2, None)
    True
    """

    feature: int
    code: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Encoding(Value):
    """How a table is read as columns of numbers.

    A feature that is a number is one column, unscaled; a categorical feature is one 0/1 column for each of its
    categories. Features that the model drops and that are no numbers have no column.

    Parameters
    ----------
    columns : FeatureSpace
        The encoded columns.
    sources : tuple of Source
        For each encoded column, the feature it comes from and, for a 0/1 column, the code of its category.
    space : FeatureSpace
        The user's features, in the order of the table; what the model imputes is their `fill`.
    asked : tuple of int
        Features whose missing values the model treats as one more category. What was proved for all categories is
        not proved for these, so that rules ask for a value.

    Examples
    --------
    >>> space = FeatureSpace(["age"])
    >>> Encoding(space, (Source(0, None),), space).encode([[50.0]])
    array([[50.]])
    """

    columns: FeatureSpace
    sources: tuple[Source, ...]
    space: FeatureSpace
    asked: tuple[int, ...] = field(default=(), kw_only=True)

    def read(self, X: Any) -> FloatArray:
        """Read the user's table as numbers and codes of categories, one column for each feature of `space`.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table as the model takes it: a category is given by its name or number, not by its code.

        Returns
        -------
        ndarray of shape (m, n_features)
            NaN where a value is missing that the model does not impute, -1 for a category that it does not know.
        """
        if not any(self.space.categories):
            return self.space.read(X)
        return self.space.filled(Table.read(X).points(self.space))

    def is_missing(self, X: Any) -> BoolArray:
        """Tell for each value of the user's table whether it is missing, before anything is put in its place.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table as the model takes it.

        Returns
        -------
        ndarray of bool of shape (m, n_features)
            One column for each feature of `space`.
        """
        plain = Encoding(self.columns, self.sources, self.space.with_fill(None))
        return np.isnan(plain.read(X))

    def encode(self, X: Any) -> FloatArray:
        """Encode the user's table.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table as the model takes it.

        Returns
        -------
        ndarray of shape (m, n_encoded)
            NaN where a value is missing that the model does not impute; all zeros for a category that it does not know.
        """
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

    def domain(
        self,
        columns: FeatureSpace | None = None,
        declared: BoolArray | None = None,
        relations: Polyhedron | None = None,
    ) -> Domain:
        """Return what can be, over the encoded columns: exactly one category of each categorical feature.

        Parameters
        ----------
        columns : FeatureSpace, optional
            The encoded columns with the ranges to use; by default those that were seen.
        declared : ndarray of bool of shape (2, n), optional
            Which of the user's features have a declared lower end, and which an upper one; by default none.
        relations : Polyhedron, optional
            What every case satisfies, over the user's features. A relation of a feature without a column says nothing
            about the columns, and is left out.

        Returns
        -------
        Domain
            Its groups are the 0/1 columns of the categorical features.

        Examples
        --------
        >>> space = FeatureSpace(["colour"], categories=[["red", "blue"]])
        >>> columns = FeatureSpace(["colour=red", "colour=blue"], [0, 0], [1, 1], True)
        >>> Encoding(columns, (Source(0, 0), Source(0, 1)), space).domain().groups
        (OneHot(feature='colour', columns=(0, 1), categories=('red', 'blue')),)
        """
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
        tied = None if relations is None else self._over_columns(relations)
        return Domain(columns or self.columns, ends[0, features], ends[1, features], groups, tied)

    def _over_columns(self, relations: Polyhedron) -> Polyhedron:
        """Write relations between features as relations between columns."""
        place = {feature: k for k, (feature, code) in enumerate(self.sources) if code is None}
        used = relations.A != 0
        has_column = np.array([j in place for j in range(relations.n_features)], dtype=np.bool_)
        kept = np.flatnonzero(~(used & ~has_column).any(axis=1))
        A = np.zeros((len(kept), len(self.sources)))
        for feature, k in place.items():
            A[:, k] = relations.A[kept, feature]
        return Polyhedron(A, relations.b[kept], relations.strict[kept])


def build_encoding(
    sources: Sources, columns: Sequence[Column], counted: BoolArray
) -> tuple[Encoding, list[int]]:
    """Make the encoding of a table from the columns and categories that a model uses.

    Parameters
    ----------
    sources : Sources
        The columns of the table and the categories met.
    columns : sequence of Column
        The columns of the table.
    counted : ndarray of bool of shape (n_sources,)
        Which sources the model takes as numbers.

    Returns
    -------
    encoding : Encoding
        The encoding.
    kept : list of int
        For each encoded column its position among the sources.
    """
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


def column_encoding(space: FeatureSpace) -> Encoding:
    """Encode every numeric feature as a column, and every category of the others as a 0/1 column.

    Parameters
    ----------
    space : FeatureSpace
        The user's features.

    Returns
    -------
    Encoding
        The encoding.

    Examples
    --------
    >>> space = FeatureSpace(["age", "smoker"], categories={"smoker": ["no", "yes"]})
    >>> column_encoding(space).columns.names
    ('age', 'smoker=no', 'smoker=yes')
    """
    sources = [
        Source(j, code)
        for j, categories in enumerate(space.categories)
        for code in ([None] if categories is None else range(len(categories)))
    ]
    return Encoding(_encoded_columns(space, sources), tuple(sources), space)


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
    """Decode encoded rows to a table of the type and with the values that a model was fitted to.

    Parameters
    ----------
    encoding : Encoding
        How the rows were encoded.
    table : Table
        A table of that type, without rows.
    spellings : dict from int to ndarray
        For each categorical feature its categories, as the table writes them.

    Examples
    --------
    >>> X = Table.read([[1, "a"], [2, "b"]])
    >>> encoding = column_encoding(X.space())
    >>> Decoding.of(X, encoding).make(encoding.encode(X))
    array([[1.0, 'a'],
           [2.0, 'b']], dtype=object)
    """

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
        """Decode rows; a categorical feature gets the category whose column is largest.

        Parameters
        ----------
        points : ndarray of shape (m, n_encoded)
            Encoded rows.

        Returns
        -------
        data frame or ndarray of shape (m, n)
            As the model takes it.
        """
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
