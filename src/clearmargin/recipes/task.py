"""What is to be learned: the features and classes of a table, after all that has to be left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.unseen import FOLDS, read_splitting
from clearmargin.rules.rule import Label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, IntArray
from clearmargin.tables.table import Column, Table, find_missing

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.tables.files import FileTable
    from clearmargin.tables.splitting import Folds, Splitting

# Texts that differ in most rows are names of rows, or free text; few rows cannot tell.
_FEW_CATEGORIES = 10
# A row counter needs some rows to be told from a measure.
_FEW_ROWS = 20
_MAX_CLASSES = 20


@dataclass(frozen=True, slots=True)
class Task:
    """A table to learn from."""

    table: FileTable
    X: Table
    y: NDArray[Any]
    target: str | None
    positive: Label | None = None
    fill: Mapping[str, Any] | None = None
    given: Table | None = None
    splitting: Splitting | None = None
    levels: Mapping[str, Sequence[str]] | None = None
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Label, int]:
        """How many rows each class has, the positive class first, else the smallest."""
        labels, counts = np.unique(self.y, return_counts=True)
        pairs = sorted(zip(counts.tolist(), labels.tolist(), strict=True))
        return dict(sorted(((b, a) for a, b in pairs), key=lambda pair: pair[0] != self.positive))

    @property
    def summary(self) -> str:
        """The task in a sentence."""
        rows, columns = self.X.shape
        size = f"{self.table.name}: {number_of(rows, 'row')}, {number_of(columns, 'feature')}"
        if self.target is None:
            return f"{size}."
        classes = ", ".join(f"{count} {label}" for label, count in self.counts.items())
        return f"{size}; {self.target}: {classes}."

    def require_two_classes(self, what: str) -> None:
        """Raise if there are more than two classes, where only two can be told apart."""
        if len(self.counts) > 2:
            first = next(iter(self.counts))
            raise DataError(
                f"{self.target!r} has {len(self.counts)} classes, and {what} is for two; choose one with "
                f"positive={str(first)!r}"
            )

    def part(self, rows: IntArray) -> Task:
        """Give the task of some rows alone: missing values are filled with what is typical of these."""
        X = (self.X if self.given is None else self.given).take(rows)
        fill, given = None, None
        if self.given is not None and self.fill is not None:
            fill = {name: _typical(X.column(name), self.fill[name]) for name in X.names}
            given, X = X, X.filled(fill)
        return replace(
            self,
            X=X,
            y=self.y[rows],
            fill=fill,
            given=given,
            splitting=None
            if self.splitting is None
            else self.splitting.within(rows, self.splitting.cv),
            levels=self.levels or _levels(self.X),
        )

    def value_order(self) -> IntArray | None:
        """Give the rows in an order that depends on what they hold, however the table was sorted."""
        if self.splitting is None or self.splitting.groups is not None:
            return None
        from clearmargin.tables.row_order import value_keys

        rows = self.X if self.given is None else self.given
        space = rows.space()
        codes = np.unique(self.y, return_inverse=True)[1].ravel()
        return np.lexsort([codes, value_keys(space, rows.points(space))])

    def by_values(self) -> Task:
        """Give the task with its rows in the order of `value_order`, where they have one."""
        order = self.value_order()
        if order is None:
            return self
        ordered = self.part(order)
        assert ordered.splitting is not None
        named = replace(ordered.splitting, order="whatever the order of the rows")
        return replace(ordered, splitting=named)

    def folds(self) -> Folds:
        """Split the rows by what they hold, however the table was sorted; rows of groups in their order."""
        order = self.value_order()
        assert self.splitting is not None
        if order is None or not isinstance(self.splitting.cv, int):
            return self.splitting.folds(self.X, self.y)
        ordered = self.by_values()
        assert ordered.splitting is not None
        folds = ordered.splitting.folds(ordered.X, ordered.y)
        pairs = tuple((order[train], order[test]) for train, test in folds.pairs)
        return replace(folds, pairs=pairs)

    def rows_for(self, rows: IntArray, model: PlaneModel) -> Table:
        """Give some rows as a model takes them, missing values filled with what it was trained with."""
        if self.given is None or model.fill is None:
            return self.X.take(rows)
        return self.given.take(rows).filled(model.fill)

    def share_right(self, predicted: NDArray[Any]) -> float | None:
        """Return on which share of the rows predicted classes are right; None where the classes are not known."""
        return None if self.target is None else float((predicted == self.y).mean())

    def true_classes(self, positions: IntArray) -> tuple[Label | None, ...]:
        """Return the classes of some rows, None where they are not known."""
        if self.target is None:
            return (None,) * len(positions)
        return tuple(self.y[positions].tolist())

    def row_number(self, position: int) -> int:
        """Return the number of a row in the table, counted from 1, by its position among the rows of the task."""
        return int(self.X.labels[position]) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data for JSON."""
        counts = {} if self.target is None else self.counts
        return {
            "data": self.table.name,
            "rows": len(self.X),
            "features": list(self.X.names),
            "target": self.target,
            "classes": [{"class": label, "rows": n} for label, n in counts.items()],
        }


def make_task(
    table: FileTable,
    target: str | None,
    *,
    positive: str | None = None,
    missing: str = "error",
    categories: Sequence[str] = (),
    cv: int | None = FOLDS,
    groups: str | None = None,
    time: str | None = None,
    model: PlaneModel | None = None,
    features: Sequence[str] | None = None,
) -> Task:
    """Choose features, classes and rows of a table, and how rows are split for figures on unseen rows."""
    notes: list[str] = []
    if target is None:
        return _rows_to_ask_about(table, model, missing, notes)
    require_column(target, table)
    labelled = _known_labels(table, target, missing, notes)
    splitting = read_splitting(table, target, cv, groups, time)
    aside = [name for name in (groups, time) if name is not None]
    names = [name for name in table.columns if name not in (target, *aside)]
    if not names:
        raise DataError(
            f"{table.name} has no column beside {', '.join(map(repr, [target, *aside]))}; is the separator right "
            "(separator=';')?"
        )
    y, positive_label = read_classes(table, target, labelled, positive, notes)
    X = table.table.take(labelled) if len(y) < len(table) else table.table
    if model is not None:
        features = model.space.names
    if features is None:
        X = _without_names_of_rows(X.select(names), categories, notes)
    else:
        X = X.select(_needed(features, names, table))
    filled, given = None, None
    if missing != "keep":
        lacking, filled = _missing_values(X, missing, table, notes, _imputed(model))
        if filled is not None:
            given, X = X, X.filled(filled)
        elif lacking.any():
            X, y = X.take(~lacking), y[~lacking]
        if len(np.unique(y)) < 2:
            raise DataError(f"without the rows that lack a value, only the class {y[0]!r} is left")
    own = None if splitting is None else splitting.within(X.labels, splitting.cv)
    return Task(table, X, y, target, positive_label, filled, given, own, notes=tuple(notes))


def _rows_to_ask_about(
    table: FileTable, model: PlaneModel | None, missing: str, notes: list[str]
) -> Task:
    """Make the task of a model that was given and rows whose classes nobody needs to know."""
    if model is None:
        raise DataError(
            f"target: name the column of {table.name} that holds the classes; only a model that is given does "
            "without it"
        )
    X = table.table.select(_needed(model.space.names, list(table.columns), table))
    filled, given = None, None
    if missing != "keep":
        lacking, filled = _missing_values(X, missing, table, notes, _imputed(model))
        if filled is not None:
            given, X = X, X.filled(filled)
        elif lacking.any():
            X = X.take(~lacking)
    return Task(table, X, model.predict(X), None, None, filled, given, notes=tuple(notes))


def _imputed(model: PlaneModel | None) -> Mapping[str, Any] | None:
    return None if model is None else model.imputed or None


def require_column(name: str, table: FileTable) -> str:
    """Give the name of a column; raise if the table has no such column."""
    if name not in table.columns:
        hint = nearest_name(name, table.columns)
        raise DataError(f"{table.name} has no column {name!r}{hint}")
    return name


def labelled_rows(table: FileTable, target: str) -> tuple[Table, NDArray[Any]]:
    """Give the other columns and the classes of the rows that have a class; raise if the table has no such column."""
    known = ~find_missing(table.columns[require_column(target, table)])
    others = table.table.select([name for name in table.columns if name != target])
    return others.take(known), whole_classes(table.columns[target][known])


def _known_labels(table: FileTable, target: str, missing: str, notes: list[str]) -> BoolArray:
    is_missing = find_missing(table.columns[target])
    count = int(is_missing.sum())
    if count == len(is_missing):
        raise DataError(f"the target {target!r} has no value in any row")
    if count and missing == "error":
        raise DataError(
            f"the target {target!r} is missing in {number_of(count, 'row')}, the first of them row "
            f"{int(np.argmax(is_missing)) + 1}; leave such rows out with missing='drop'"
        )
    if count:
        notes.append(f"{number_of(count, 'row')} without a value of {target!r} left out")
    return ~is_missing


def _needed(wanted: Sequence[str], features: Sequence[str], table: FileTable) -> list[str]:
    for name in wanted:
        if name not in features:
            hint = nearest_name(name, features)
            raise DataError(f"the model needs column {name!r}, which {table.name} lacks{hint}")
    return list(wanted)


def _without_names_of_rows(X: Table, categories: Sequence[str], notes: list[str]) -> Table:
    """Leave out columns that cannot mean anything: empty ones, names of rows, and counters of rows."""
    kept, reasons = [], []
    for name, column in zip(X.names, X.all_columns(), strict=True):
        count = column.n_distinct
        reason = None
        if not count:
            reason = "has no value in any row"
        elif not column.has_number_type:
            if count > max(_FEW_CATEGORIES, len(X) / 2) and name not in categories:
                reason = f"holds {count} different texts in {len(X)} rows, like names"
        elif _is_counter(column.values):
            reason = "counts the rows"
        if reason is None:
            kept.append(name)
        else:
            reasons.append(f"column {name!r} {reason}")
            notes.append(f"{reasons[-1]}, and is left out")
    if not kept:
        more = f", and {len(reasons) - 3} more" if len(reasons) > 3 else ""
        raise DataError(f"no column is left to learn from: {'; '.join(reasons[:3])}{more}")
    return X.select(kept)


def _is_counter(values: NDArray[Any]) -> bool:
    if values.dtype.kind != "i" or len(values) < _FEW_ROWS:
        return False
    return bool((np.diff(values) == 1).all())


def read_classes(
    table: FileTable, target: str, rows: BoolArray, positive: str | None, notes: list[str]
) -> tuple[NDArray[Any], Label | None]:
    """Read the classes of the rows, and the positive one if the user names it."""
    values = whole_classes(table.columns[target][rows])
    labels = (
        values if values.dtype.kind == "i" else np.array([as_text(v) for v in values], dtype=object)
    )
    classes = np.unique(labels)
    if len(classes) < 2:
        raise DataError(
            f"the target {target!r} has a single class, {classes.tolist()[0]!r}; there is nothing to tell apart"
        )
    if len(classes) > _MAX_CLASSES:
        raise DataError(
            f"the target {target!r} has {len(classes)} different values, more than {_MAX_CLASSES}; it looks like a "
            "number or a name, not like a class. Name another column, or put it into classes first"
        )
    if positive is None:
        return labels, None
    found = [label for label in classes.tolist() if str(label) == positive]
    if not found:
        hint = nearest_name(positive, [str(label) for label in classes.tolist()])
        raise DataError(f"positive: {positive!r} is no class of {target!r}{hint}")
    if len(classes) == 2:
        return labels, found[0]
    other = f"not {positive}"
    notes.append(
        f"{number_of(len(classes) - 1, 'class')} of {target!r} taken together as {other!r}"
    )
    return np.where(labels == found[0], positive, other).astype(object), positive


def whole_classes(values: NDArray[Any]) -> NDArray[Any]:
    """Give classes that are whole numbers as such: where a class is missing, their column holds floats."""
    is_whole = values.dtype.kind == "f" and bool((values == np.rint(values)).all())
    return values.astype(np.int64) if is_whole else values


def as_text(value: object) -> str:
    """Return a class that is not a whole number, as text."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


def _missing_values(
    X: Table,
    missing: str,
    table: FileTable,
    notes: list[str],
    known: Mapping[str, Any] | None,
) -> tuple[BoolArray, dict[str, Any] | None]:
    """Find the rows that lack a value, and what is to be put in the place of missing ones, if anything is."""
    is_missing = {column.name: column.is_missing for column in X.all_columns()}
    lacking = np.any(list(is_missing.values()), axis=0)
    count = int(lacking.sum())
    if not count:
        return lacking, None
    counts = {name: int(gaps.sum()) for name, gaps in is_missing.items() if gaps.any()}
    worst = sorted(counts, key=lambda name: -counts[name])
    where = ", ".join(f"{name!r}: {counts[name]}" for name in worst[:3])
    more = ", ..." if len(worst) > 3 else ""
    finding = f"{count} of {len(X)} rows lack a value ({where}{more})"
    if missing == "error":
        first = int(X.labels[int(np.argmax(lacking))]) + 1
        raise DataError(
            f"{table.name}: {finding}, the first of them row {first}. Say what to do: missing='drop' leaves these "
            "rows out, missing='impute' fills them with medians and most frequent categories"
        )
    if missing == "drop":
        if count == len(X):
            raise DataError(
                f"{table.name}: every row lacks a value ({where}{more}); try missing='impute'"
            )
        notes.append(f"{finding} and are left out")
        return lacking, None
    values = {name: _typical(X.column(name)) for name in X.names} | dict(known or {})
    filled = "filled with medians and most frequent categories"
    by_whom = (
        "taken as they are by rules with points, and by other methods "
        if missing == "either"
        else ""
    )
    notes.append(f"{finding}; {by_whom}{filled}")
    return lacking, {name: values[name] for name in X.names}


def _levels(X: Table) -> dict[str, list[str]]:
    """Return the categories of the features that are no numbers."""
    columns = [column for column in X.all_columns() if not column.has_number_type]
    return {column.name: list(column.categories) for column in columns}


def _typical(column: Column, default: Any = None) -> Any:
    """Return the median or the most frequent category; the default for a column without any value."""
    if not column.n_distinct:
        return default
    if column.has_number_type:
        return float(np.median(column.values[~column.is_missing]))
    return column.most_frequent


def find_row(task: Task, row: int) -> IntArray:
    """Find the position of a row of the table, counted from 1, among the rows of the task."""
    total = len(task.table)
    if row > total:
        raise DataError(f"row={row}: {task.table.name} has {total} rows")
    found = np.flatnonzero(task.X.labels == row - 1)
    if not len(found):
        raise DataError(f"row={row}: this row lacks a value and was left out; try missing='impute'")
    return found


def find_rows(task: Task, premise: str) -> tuple[IntArray, int]:
    """Find the positions of the rows that meet a premise in the rule language."""
    met = np.flatnonzero(_met(task, premise))
    usable = np.flatnonzero(np.isin(task.X.labels, met))
    if not len(usable):
        gone = f" but {len(met)} that were left out" if len(met) else ""
        raise DataError(f"where: no row{gone} has {premise}")
    return usable, len(met) - len(usable)


def _met(task: Task, premise: str) -> Any:
    """Return which rows of the whole table meet a premise."""
    # Names of rows, such as P-07, read as they are: in the rule language they would need quotes.
    name, sign, value = (part.strip() for part in premise.partition("="))
    columns = task.table.columns
    if sign and name in columns and columns[name].dtype.kind == "O":
        same = columns[name] == value
        # A name such as P-07 that no row has is no sum of features either.
        if same.any() or re.fullmatch(r"\w+(-\w+)+", value):
            return same
    from clearmargin.language import parse_rules
    from clearmargin.rules import FeatureSpace

    text = f"{premise} => chosen"
    names = [require_column(name, task.table) for name in parse_rules(text).space.names]
    table = task.table.table.select(names)
    return parse_rules(text, space=FeatureSpace.from_data(table)).covers(table)[:, 0]
