"""The rows of a table in the terms of the advice: a value or a category for each feature that the rules speak of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.advice_case import AdviceCase
from clearmargin.advice.advice_reading import one_hot_columns
from clearmargin.advice.encoding import Columns
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.table import Column, Table, name_row

__all__ = ["Coverage", "Evidence", "Labels", "case_evidence", "read_evidence"]


class Labels:
    """The classes of the rows.

    Parameters
    ----------
    y : array-like of shape (m,)
        The labels.
    rows : int
        How many there must be.

    Examples
    --------
    >>> labels = Labels(["ill", "well", "ill"], rows=3)
    >>> labels.classes, labels.codes.tolist()
    (('ill', 'well'), [0, 1, 0])
    """

    def __init__(self, y: Any, rows: int):
        values = np.asarray(y)
        if values.shape != (rows,):
            raise DataError(
                f"y has shape {values.shape}, and X {rows} rows; each row needs one label"
            )
        number: dict[Any, int] = {}
        codes = [number.setdefault(value, len(number)) for value in values.tolist()]
        try:
            found = [as_label(value) for value in number]
        except InvalidValueError as error:
            row = next(k for k, code in enumerate(codes) if not _is_label(list(number)[code]))
            raise DataError(f"y, {name_row(row, y)}: {error}") from None
        # In the order in which scikit-learn has them, where they can be compared.
        order = sorted(range(len(found)), key=lambda k: (str(type(found[k])), found[k]))
        place = np.empty(len(found), dtype=np.intp)
        place[order] = np.arange(len(found))
        self.classes: tuple[Label, ...] = tuple(found[k] for k in order)
        self.codes: NDArray[np.intp] = place[np.array(codes, dtype=np.intp)]


def _is_label(value: object) -> bool:
    try:
        as_label(value)
    except InvalidValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows in the terms of the advice.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        For each feature of the advice its value, or the code of its category: -1 for one that no rule names.
    labels : ndarray of int of shape (m,) or None
        The class of each row, as a position in `classes`.
    classes : tuple of labels
        The classes of the rows.
    problems : dict from int to str
        Features that the rows do not have, and why; their columns mean nothing.
    kinds : dict from int to (tuple of str, bool)
        For features with categories those that the data know, and whether they are 0/1 columns.
    lower, upper : ndarray of shape (n,)
        The range of each feature over the rows; of a category, of no meaning.
    """

    points: FloatArray
    labels: NDArray[np.intp] | None
    classes: tuple[Label, ...]
    problems: dict[int, str]
    kinds: dict[int, tuple[tuple[str, ...], bool]]
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls,
        points: FloatArray,
        labels: NDArray[np.intp] | None,
        classes: tuple[Label, ...],
        problems: dict[int, str],
        kinds: dict[int, tuple[tuple[str, ...], bool]],
    ) -> Evidence:
        """Take points, and find their range."""
        known = np.isfinite(points)
        lower = np.where(known, points, np.inf).min(axis=0, initial=np.inf)
        upper = np.where(known, points, -np.inf).max(axis=0, initial=-np.inf)
        unknown = [*problems, *np.flatnonzero(lower > upper)]
        lower[unknown], upper[unknown] = -np.inf, np.inf
        return cls(points, labels, classes, problems, kinds, lower, upper)

    def usable(self, rules: RuleSet) -> BoolArray:
        """Which rules speak of nothing but features that the rows have."""
        return np.array(
            [not self.problems.keys() & set(rule.region.bounded) for rule in rules], dtype=np.bool_
        )

    def covers(self, rules: RuleSet) -> BoolArray:
        """Tell for each row and rule whether the rule covers the row; never for a rule that is not usable."""
        return rules.covers(self.points) & self.usable(rules)


class Coverage:
    """Which rules cover which rows, as bits: quick to count for any number of pairs of rules.

    Parameters
    ----------
    covered : ndarray of bool of shape (m, r)
        Whether each rule covers each row.
    labels : ndarray of int of shape (m,) or None
        The class of each row.
    classes : tuple of labels
        The classes.

    Examples
    --------
    >>> both = np.array([[True, True], [True, False], [True, True]])
    >>> Coverage(both, np.array([0, 0, 1]), ("ill", "well")).shared(0, 1)
    (('ill', 1), ('well', 1))
    """

    def __init__(
        self, covered: BoolArray, labels: NDArray[np.intp] | None, classes: tuple[Label, ...]
    ):
        self._rules = np.packbits(covered.T, axis=1)
        self._classes: tuple[Label | None, ...] = (None,) if labels is None else classes
        of_class = (
            np.ones((1, len(covered)), dtype=np.bool_)
            if labels is None
            else labels == np.arange(len(classes))[:, None]
        )
        self._of_class = np.packbits(of_class, axis=1)

    def shared(self, i: int, j: int) -> tuple[tuple[Label | None, int], ...]:
        """How many rows of each class two rules cover together; without labels, one count with None."""
        both = self._rules[i] & self._rules[j]
        counts = np.bitwise_count(both & self._of_class).sum(axis=1, dtype=np.intp)
        return tuple(zip(self._classes, counts.tolist(), strict=True))

    def is_within(self, i: int, others: NDArray[np.intp]) -> BoolArray:
        """Whether some other rules cover every row that a rule covers."""
        missed: BoolArray = (self._rules[i] & ~self._rules[others]).any(axis=1)
        return ~missed


def read_evidence(
    space: FeatureSpace, table: Table, labels: Labels | None, by_position: bool
) -> Evidence:
    """Read a table feature by feature; what cannot be read becomes a problem of that feature.

    Parameters
    ----------
    space : FeatureSpace
        The features of the advice.
    table : Table
        The table. A feature with categories is a column, or 0/1 columns ``feature_category``.
    labels : Labels or None
        The classes of its rows.
    by_position : bool
        Whether the features are the columns in their order, whatever they are called.

    Returns
    -------
    Evidence
        The rows.

    Examples
    --------
    >>> space = FeatureSpace(["size", "colour"], categories={"colour": ["red", "blue"]})
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [3, 4], "colour_red": [0, 1], "colour_blue": [1, 0]})
    >>> read_evidence(space, Table.read(X), None, False).points.tolist()
    [[3.0, 1.0], [4.0, 0.0]]
    """
    problems: dict[int, str] = {}
    kinds: dict[int, tuple[tuple[str, ...], bool]] = {}
    if by_position:
        points = np.array(space.read(table.given))
    else:
        points = np.zeros((len(table), len(space)))
        for j, name in enumerate(space.names):
            named = space.categories[j]
            try:
                if named is None:
                    points[:, j] = _numbers(name, table)
                else:
                    points[:, j], kinds[j] = _categories(name, named, table)
            except DataError as error:
                problems[j] = str(error)
    if labels is None:
        return Evidence.of(points, None, (), problems, kinds)
    return Evidence.of(points, labels.codes, labels.classes, problems, kinds)


def _numbers(name: str, table: Table) -> FloatArray:
    """The values of a feature that measures something."""
    if name not in table.names:
        return _no_number(name, table)
    column = table.column(name)
    if not column.is_numeric:
        raise DataError(
            f"the advice takes {name!r} for a number, and the data have categories there: "
            + ", ".join(repr(kind) for kind in column.categories[:5])
        )
    return column.numbers()


def _no_number(name: str, table: Table) -> FloatArray:
    found = one_hot_columns(name, table.names)
    if not found:
        raise DataError(
            f"the advice speaks of {name!r}, and the data have no such column{nearest_name(name, table.names)}"
        )
    raise DataError(
        f"the advice takes {name!r} for a number, and the data have it as 0/1 columns; "
        f"write '{name} = {next(iter(found))}' instead"
    )


def _categories(
    name: str, named: tuple[str, ...], table: Table
) -> tuple[FloatArray, tuple[tuple[str, ...], bool]]:
    """The codes of a feature that names things, the categories that the data know, and whether as 0/1 columns."""
    if name in table.names:
        column = table.column(name)
        return column.codes(named), (column.categories, False)
    found = one_hot_columns(name, table.names)
    binary = np.zeros(len(table.names), dtype=np.bool_)
    for j in found.values():
        binary[j] = _is_binary(table.column(table.names[j]))
    # Categories without a column are a finding of their own, if there is any that has one.
    present = [kind for kind in named if kind in found and binary[found[kind]]] or named
    space = FeatureSpace([name], categories=[present])
    group = Columns.match(space, table.names, binary).groups[0]
    columns = {kind: table.column(table.names[j]).numbers() for kind, j in group.items()}
    return _codes(columns, named), (tuple(columns), True)


def _is_binary(column: Column) -> bool:
    if not column.is_numeric:
        return False
    values = column.numbers()
    return bool((np.isnan(values) | (values == 0) | (values == 1)).all())


def _codes(columns: dict[str, FloatArray], kinds: tuple[str, ...]) -> FloatArray:
    """The category of each row of 0/1 columns: -1 where it is another one, or not exactly one; NaN where missing."""
    values = np.column_stack(list(columns.values()))
    position = {kind: float(code) for code, kind in enumerate(kinds)}
    code = np.array([position.get(kind, -1.0) for kind in columns])
    chosen = values == 1
    codes = np.where(chosen.sum(axis=1) == 1, code[chosen.argmax(axis=1)], -1.0)
    return np.where(np.isnan(values).any(axis=1), np.nan, codes)


def case_evidence(case: AdviceCase) -> Evidence | None:
    """The rows of a case that is being learned from; None where there is advice alone.

    Parameters
    ----------
    case : AdviceCase
        Data and advice.

    Returns
    -------
    Evidence or None
        The rows.
    """
    if case.X is None or not len(case.X):
        return None
    space = case.columns.space
    points = np.zeros((len(case.X), len(space)))
    for feature, column in case.columns.numbers.items():
        points[:, feature] = case.X[:, column]
    for feature, group in case.columns.groups.items():
        kinds = space.categories[feature]
        assert kinds is not None
        points[:, feature] = _codes({kind: case.X[:, j] for kind, j in group.items()}, kinds)
    labels: NDArray[np.intp] = (case.y > 0).astype(np.intp)
    classes = tuple(as_label(label) for label in case.classes.tolist())
    return Evidence.of(points, labels, classes, {}, {})
