"""Rules over named features as inequalities over the columns of the model, in the user's units.

A feature that is a column takes its conditions over as rows. A categorical feature is there as 0/1 columns, one
for each category; a condition on it sets the columns of all other categories to zero. Such rows belong to the rule but
are never refined: a category cannot be moved a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearmargin.advice.advice_reading import column_of, one_hot_columns
from clearmargin.exceptions import DataError
from clearmargin.rules import Box, FeatureSpace, OneHot, Polyhedron, Rule
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["Columns", "Premise", "column_names", "encode_rule"]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the model each feature of the advice is.

    Parameters
    ----------
    names : tuple of str
        The columns.
    space : FeatureSpace
        The features of the advice.
    numbers : dict from int to int
        Feature to column, for features that are columns.
    groups : dict from int to dict from str to int
        Feature to its 0/1 columns by category.
    declared : tuple of OneHot, default ()
        Further categorical features that the data have as 0/1 columns, as the user declares them.

    Examples
    --------
    >>> space = FeatureSpace(["age", "colour"], categories={"colour": ["red"]})
    >>> columns = Columns.match(space, ["age", "colour_blue", "colour_red"])
    >>> columns.numbers, columns.groups
    ({0: 0}, {1: {'blue': 1, 'red': 2}})
    """

    names: tuple[str, ...]
    space: FeatureSpace
    numbers: dict[int, int]
    groups: dict[int, dict[str, int]]
    declared: tuple[OneHot, ...] = ()

    @property
    def one_hot(self) -> tuple[OneHot, ...]:
        """The groups of columns of which exactly one is 1: those of the advice, and those that are declared."""
        of_advice = [
            OneHot(self.space.names[feature], group.values(), group)
            for feature, group in self.groups.items()
        ]
        taken = {j for group in of_advice for j in group.columns}
        return (*of_advice, *(g for g in self.declared if taken.isdisjoint(g.columns)))

    @classmethod
    def match(
        cls,
        space: FeatureSpace,
        names: Sequence[str],
        binary: BoolArray | None = None,
        by_position: bool = False,
        declared: tuple[OneHot, ...] = (),
    ) -> Columns:
        """Find the columns of each feature, by name.

        Parameters
        ----------
        space : FeatureSpace
            The features of the advice.
        names : sequence of str
            The columns.
        binary : ndarray of bool, optional
            Which columns hold nothing but 0 and 1; only those stand for categories.
        by_position : bool, default False
            Whether the features are the columns in their order, whatever they are called.
        declared : tuple of OneHot, default ()
            Categorical features that are declared beside those of the advice.

        Returns
        -------
        Columns
            The columns of each feature.
        """
        numbers: dict[int, int] = {}
        groups: dict[int, dict[str, int]] = {}
        for j, (name, categories) in enumerate(zip(space.names, space.categories, strict=True)):
            if by_position and categories is None:
                numbers[j] = j
            elif (column := column_of(name, names)) is not None:
                if categories is not None:
                    raise DataError(
                        f"the advice has categories for {name!r}, and the data have numbers there; "
                        f"encode it as 0/1 columns such as '{name}_{categories[0]}' (OneHotEncoder)"
                    )
                numbers[j] = column
            else:
                groups[j] = _group(name, categories, names, binary)
        return cls(tuple(names), space, numbers, groups, declared)


def _group(
    name: str, categories: tuple[str, ...] | None, names: Sequence[str], binary: BoolArray | None
) -> dict[str, int]:
    found = one_hot_columns(name, names)
    if not found:
        raise DataError(
            f"the advice speaks of {name!r}, and the data have no such column{nearest_name(name, names)}"
        )
    if categories is None:
        raise DataError(
            f"the advice takes {name!r} for a number, and the data have it as 0/1 columns; "
            f"write '{name} = {next(iter(found))}' instead"
        )
    # A column such as smoker_years is no category of smoker.
    found = {
        category: j
        for category, j in found.items()
        if category in categories or binary is None or binary[j]
    }
    for category in categories:
        if category not in found:
            raise DataError(
                f"the advice names category {category!r} of {name!r}, and the data have no column "
                f"'{name}_{category}'{nearest_name(category, found)}; "
                "encode every category (OneHotEncoder without drop)"
            )
    return found


def column_names(space: FeatureSpace) -> list[str]:
    """Name the columns that a model of advice alone has: features, and 0/1 columns for categories.

    Examples
    --------
    >>> column_names(FeatureSpace(["age", "colour"], categories={"colour": ["red", "blue"]}))
    ['age', 'colour_red', 'colour_blue']
    """
    names = []
    for name, categories in zip(space.names, space.categories, strict=True):
        names += [name] if categories is None else [f"{name}_{category}" for category in categories]
    return names


@dataclass(frozen=True, slots=True)
class Premise:
    """A premise as rows D x <= d over the columns of the model, in the user's units.

    Parameters
    ----------
    D : ndarray of shape (k, n)
        Left-hand sides.
    d : ndarray of shape (k,)
        Right-hand sides.
    numeric_rows : ndarray of bool of shape (k,)
        Which rows may be refined: those on numbers, which come first.
    strict : ndarray of bool of shape (k,)
        Which rows were written with < or >; the model treats all as <= and >=.
    """

    D: FloatArray
    d: FloatArray
    numeric_rows: BoolArray
    strict: BoolArray

    def covers(self, X: FloatArray) -> BoolArray:
        """Tell for each row of a table whether it satisfies the premise."""
        inside = np.ones(len(X), dtype=np.bool_)
        for row, limit, strict in zip(self.D, self.d, self.strict, strict=True):
            used = np.flatnonzero(row)
            value = X[:, used] @ row[used]
            inside &= value < limit if strict else value <= limit
        return inside


def encode_rule(rule: Rule, columns: Columns) -> Premise:
    """Write the premise of a rule as rows over the columns.

    Parameters
    ----------
    rule : Rule
        The rule.
    columns : Columns
        Where its features are.

    Returns
    -------
    Premise
        First the conditions on numbers, in the order of the rule, then those on categories.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("colour = red and age >= 30 => ill")
    >>> columns = Columns.match(rules.space, ["age", "colour_red", "colour_blue"])
    >>> encode_rule(rules[0], columns).D.tolist()
    [[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    region = rule.region
    flat = Polyhedron.from_box(region) if isinstance(region, Box) else region
    n = len(columns.names)
    numbers = np.zeros((len(flat.b), n))
    for feature, column in columns.numbers.items():
        numbers[:, column] = flat.A[:, feature]
    others = []
    for feature in region.sets:
        categories = columns.space.categories[feature]
        assert categories is not None
        allowed = {categories[code] for code in region.sets[feature]}
        others += [j for category, j in columns.groups[feature].items() if category not in allowed]
    fixed = np.zeros((len(others), n))
    fixed[np.arange(len(others)), others] = 1.0
    return Premise(
        D=np.concatenate([numbers, fixed]),
        d=np.concatenate([flat.b, np.zeros(len(others))]),
        numeric_rows=np.arange(len(flat.b) + len(others)) < len(flat.b),
        strict=np.concatenate([flat.strict, np.zeros(len(others), dtype=np.bool_)]),
    )
