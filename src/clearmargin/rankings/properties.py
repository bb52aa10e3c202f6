"""The properties of the rows of a table: conditions on single attributes, and who has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.box import Box
from clearmargin.rules.rule import Label, Rule
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, IntArray, Value
from clearmargin.tables.table import make_frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Property:
    """One condition on one attribute.

    Parameters
    ----------
    column : int
        Position of the attribute in the space.
    text : str
        The condition in the rule language, such as ``30 <= age < 45``, ``sex = male`` or ``age is missing`` (and
        ``age is not missing``, where an attribute has no other condition).
    box : Box
        The condition as a region of the space.

    Examples
    --------
    >>> Property(0, "age >= 30", Box([30.0], [float("inf")])).text
    'age >= 30'
    """

    column: int
    text: str
    box: Box


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PropertyTable(Value):
    """Properties, and for each row of a table which of them it has.

    A row has a property when its value of that one attribute fits, whatever else is missing.

    Parameters
    ----------
    space : FeatureSpace
        The attributes.
    properties : sequence of Property
        The properties, those of one attribute side by side.
    masks : ndarray of bool of shape (p, m)
        ``masks[k, i]`` tells whether row i has property k. Not copied.
    attribute : ndarray of int of shape (p,)
        The column of each property.
    constant : tuple of str
        Names of the attributes that gave no property because all rows have the same value.
    skipped : tuple of (str, str)
        Names of other attributes that gave no property, each with the reason.

    Examples
    --------
    >>> from clearmargin.rankings import make_properties
    >>> table = make_properties([[1, 5.5], [0, 6.0], [1, 7.5]])
    >>> [each.text for each in table.properties]
    ['x0 = 0', 'x0 = 1', 'x1 = 5.5', 'x1 = 6', 'x1 = 7.5']
    >>> table.text([1, 2]), table.masks[1]
    ('x0 = 1 and x1 = 5.5', array([ True, False,  True]))
    >>> table
    <PropertyTable of 5 properties of 2 attributes, 3 rows>
    """

    space: FeatureSpace
    properties: tuple[Property, ...]
    masks: BoolArray
    attribute: IntArray
    constant: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        # Views: what the caller holds stays writeable, and large masks are not copied.
        masks, attribute = np.asarray(self.masks).view(), np.array(self.attribute, dtype=np.intp)
        masks.setflags(write=False)
        attribute.setflags(write=False)
        self._set(properties=tuple(self.properties), masks=masks, attribute=attribute)

    def __len__(self) -> int:
        return len(self.properties)

    def __repr__(self) -> str:
        p, m = self.masks.shape
        attributes = len(np.unique(self.attribute))
        return f"<PropertyTable of {p} properties of {attributes} attributes, {m} rows>"

    def rule(self, items: Sequence[int], label: Label) -> Rule:
        """Put a conjunction of properties as a rule.

        Parameters
        ----------
        items : sequence of int
            Which properties; none of them stands for no condition.
        label : str, int, float or bool
            The class that the rule gives.

        Returns
        -------
        Rule
            The rule.

        Examples
        --------
        >>> from clearmargin.rankings import make_properties
        >>> table = make_properties([[1, 5.5], [0, 6.0], [1, 7.5]])
        >>> table.rule([1, 2], "top").region
        Box({0: [1, 1], 1: [5.5, 5.5]}, n_features=2)
        """
        box = Box.unbounded(len(self.space))
        for item in self._chosen(items):
            box = box.intersect(item.box)
        if box.is_empty:
            raise InvalidValueError(
                f"no row can have all of these properties: {self.text(items)}; "
                "two values of one attribute exclude each other"
            )
        return Rule(box, label, origin="extracted")

    def text(self, items: Sequence[int]) -> str:
        """Write a conjunction of properties, in the order given; ``true`` if there is none.

        Examples
        --------
        >>> from clearmargin.rankings import make_properties
        >>> make_properties([[1, 5.5], [0, None]]).text([2, 3, 0])
        'x1 = 5.5 and x1 is missing and x0 = 0'
        """
        return " and ".join(item.text for item in self._chosen(items)) or "true"

    def twin(self) -> IntArray:
        """Give for each property the one of the same attribute that exactly the other rows have.

        The two values of a binary attribute say the same thing, once with a plus and once with a minus.

        Returns
        -------
        ndarray of int of shape (p,)
            The index of the twin, -1 where there is none.

        Examples
        --------
        >>> from clearmargin.rankings import make_properties
        >>> make_properties([[1, 5.5], [0, 6.0], [1, 7.5]]).twin()
        array([ 1,  0, -1, -1, -1])
        """
        columns = self.attribute.tolist()
        packed = np.packbits(self.masks, axis=1)
        others = np.packbits(~self.masks, axis=1)
        found: dict[tuple[int, bytes], int] = {}
        for k, column in enumerate(columns):
            found.setdefault((column, packed[k].tobytes()), k)
        twins = [found.get((c, others[k].tobytes()), -1) for k, c in enumerate(columns)]
        return np.array(twins, dtype=np.intp)

    def _chosen(self, items: Sequence[int]) -> list[Property]:
        for k in items:
            if not 0 <= k < len(self.properties):
                raise InvalidValueError(
                    f"there is no property {k}; the table has {len(self.properties)}, counted from 0"
                )
        return [self.properties[k] for k in items]


class Listing:
    """A list of things with what is known of each."""

    def __init__(self, columns: Mapping[str, Any]):
        self.columns = dict(columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> list[Any]:
        """Give one column, as plain values."""
        values = self.columns[name]
        return list(values) if isinstance(values, list) else list(values.tolist())

    def take(self, positions: NDArray[Any]) -> Listing:
        """Select things by position."""
        return Listing(
            {
                name: [values[k] for k in positions.tolist()]
                if isinstance(values, list)
                else values[positions]
                for name, values in self.columns.items()
            }
        )

    def rows(self) -> list[dict[str, Any]]:
        """Give what is known of each thing, by name."""
        values = zip(*(self[name] for name in self.columns), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in values]

    def to_frame(self) -> pd.DataFrame:
        """Put it into a data frame of pandas, one row a thing."""
        return make_frame(self.columns)
