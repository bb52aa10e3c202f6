"""What is to be learned: the features and classes of a table, after all that has to be left out."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.cli.console import Console, number_of
from clearmargin.cli.table import Table, add_table_arguments, find_column, read_table
from clearmargin.cli.unseen import read_splitting
from clearmargin.exceptions import DataError
from clearmargin.rules.rule import Label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

    from clearmargin.models import PlaneModel
    from clearmargin.tables.splitting import Splitting

__all__ = ["Task", "add_task_arguments", "position_of", "read_classes", "read_task"]

# Texts that differ in most rows are names of rows, or free text; few rows cannot tell.
_FEW_KINDS = 10
# A row counter needs some rows to be told from a measure.
_FEW_ROWS = 20
_MOST_CLASSES = 20


@dataclass(frozen=True, slots=True)
class Task:
    """A table to learn from.

    Parameters
    ----------
    table : Table
        All of it, as it was read.
    X : DataFrame
        The features: numbers, and texts that name things. Its index is that of the table.
    y : ndarray
        The classes.
    target : str
        The column of the classes.
    positive : label or None
        The class that scores speak for, where the user has one.
    fill : dict, optional
        What was put in the place of missing values, by feature.
    given : DataFrame, optional
        The features with their missing values, where these were filled.
    splitting : Splitting, optional
        How the rows are split for figures on rows not seen in training.
    levels : dict, optional
        The categories of features of texts, where the rows are a part of a table that may have others.
    """

    table: Table
    X: pd.DataFrame
    y: NDArray[Any]
    target: str
    positive: Label | None = None
    fill: Mapping[str, Any] | None = None
    given: pd.DataFrame | None = None
    splitting: Splitting | None = None
    levels: Mapping[str, Sequence[str]] | None = None

    @property
    def counts(self) -> dict[Label, int]:
        """How many rows each class has, the positive class first, else the smallest."""
        labels, counts = np.unique(self.y, return_counts=True)
        pairs = sorted(zip(counts.tolist(), labels.tolist(), strict=True))
        return dict(sorted(((b, a) for a, b in pairs), key=lambda pair: pair[0] != self.positive))

    @property
    def summary(self) -> str:
        """The task in a sentence."""
        said = ", ".join(f"{count} {label}" for label, count in self.counts.items())
        rows, columns = self.X.shape
        return (
            f"{self.table.name}: {number_of(rows, 'row')}, {number_of(columns, 'feature')}; "
            f"{self.target}: {said}."
        )

    def insist_on_two_classes(self, what: str) -> None:
        """Refuse more classes where only two can be told apart."""
        if len(self.counts) > 2:
            raise DataError(
                f"{self.target!r} has {len(self.counts)} classes, and {what} is for two; choose one with --positive"
            )

    def part(self, rows: IntArray) -> Task:
        """Give the task of some rows alone: missing values are filled with what is typical of these."""
        X = (self.X if self.given is None else self.given).iloc[rows]
        fill, given = None, None
        if self.given is not None and self.fill is not None:
            fill, given = {name: _typical(X[name], self.fill[name]) for name in X.columns}, X
            X = X.fillna(fill)
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

    def rows_for(self, rows: IntArray, model: PlaneModel) -> pd.DataFrame:
        """Give some rows as a model takes them, missing values filled with what it was trained with."""
        if self.given is None or model.fill is None:
            return self.X.iloc[rows]
        return self.given.iloc[rows].fillna(dict(model.fill))

    def to_dict(self) -> dict[str, Any]:
        """The task as plain data for JSON."""
        return {
            "data": self.table.name,
            "rows": len(self.X),
            "features": [str(name) for name in self.X.columns],
            "target": self.target,
            "classes": [{"class": label, "rows": n} for label, n in self.counts.items()],
        }


def add_task_arguments(parser: argparse.ArgumentParser, *, missing: bool = True) -> None:
    """Take a table and what is to be learned from it."""
    add_table_arguments(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of classes")
    parser.add_argument(
        "--positive",
        metavar="CLASS",
        help="the class of interest; of more than two classes, it against all others",
    )
    if missing:
        parser.add_argument(
            "--missing",
            choices=["error", "drop", "impute"],
            default="error",
            help="rows with missing values: refuse (default), leave out, or fill with medians and most frequent "
            "categories",
        )


def read_task(
    arguments: argparse.Namespace, console: Console, model: PlaneModel | None = None
) -> Task:
    """Read a table and make it ready to be learned from.

    Parameters
    ----------
    arguments : Namespace
        With what `add_task_arguments` adds.
    console : Console
        Where to say what was left out.
    model : PlaneModel, optional
        A model that says which columns are needed, and what it puts in the place of missing values.

    Returns
    -------
    Task
        Rows without gaps, where the user wants it so.
    """
    table = read_table(arguments, console)
    target = find_column(arguments.target, table)
    missing = getattr(arguments, "missing", "keep")
    labelled = _known_labels(table, target, missing, console)
    splitting = read_splitting(arguments, table)
    aside = [
        name for name in (getattr(arguments, option, None) for option in ("groups", "time")) if name
    ]
    features = table.frame.drop(columns=[target, *aside]).loc[labelled]
    if not features.shape[1]:
        raise DataError(
            f"{table.name} has no column beside {', '.join(map(repr, [target, *aside]))}; is the separator right "
            "(--separator)?"
        )
    y, positive = read_classes(table, target, labelled, arguments.positive, console)
    if model is None:
        X = _without_names_of_rows(features, arguments, console)
    else:
        X = features[_needed(model, features, table)]
    if missing == "keep":
        own = None if splitting is None else splitting.within(X.index.to_numpy(), splitting.cv)
        return Task(table, X, y, target, positive, splitting=own)
    known = None if model is None else model.imputed or None
    rows, filled = _without_gaps(X, missing, table, console, known)
    y = y[X.index.isin(rows.index)]
    own = None if splitting is None else splitting.within(rows.index.to_numpy(), splitting.cv)
    if len(np.unique(y)) < 2:
        raise DataError(f"without the rows that lack a value, only the class {y[0]!r} is left")
    given = X if filled is not None else None
    return Task(table, rows, y, target, positive, filled, given, own)


def _known_labels(table: Table, target: str, missing: str, console: Console) -> BoolArray:
    gaps = table.frame[target].isna().to_numpy()
    count = int(gaps.sum())
    if count == len(gaps):
        raise DataError(f"the target {target!r} has no value in any row")
    if count and missing == "error":
        raise DataError(
            f"the target {target!r} is missing in {number_of(count, 'row')}, the first of them row "
            f"{int(np.argmax(gaps)) + 1}; leave such rows out with --missing drop"
        )
    if count:
        console.note(f"{number_of(count, 'row')} without a value of {target!r} left out")
    return ~np.asarray(gaps, dtype=np.bool_)


def _needed(model: PlaneModel, features: pd.DataFrame, table: Table) -> list[str]:
    for name in model.space.names:
        if name not in features.columns:
            hint = nearest_name(name, features.columns)
            raise DataError(f"the model needs column {name!r}, which {table.name} lacks{hint}")
    return list(model.space.names)


def _without_names_of_rows(
    X: pd.DataFrame, arguments: argparse.Namespace, console: Console
) -> pd.DataFrame:
    """Leave out columns that cannot mean anything: empty ones, names of rows, and counters of rows."""
    kept, asked_for = [], ",".join(arguments.categories).split(",")
    for name in X.columns:
        column = X[name]
        kinds = column.nunique()
        reason = None
        if not kinds:
            reason = "has no value in any row"
        elif column.dtype.kind == "O":
            if kinds > max(_FEW_KINDS, len(X) / 2) and name not in asked_for:
                reason = f"holds {kinds} different texts in {len(X)} rows, like names"
        elif _is_counter(column.to_numpy()):
            reason = "counts the rows"
        if reason is None:
            kept.append(name)
        else:
            console.note(f"column {name!r} {reason}, and is left out")
    if not kept:
        raise DataError("no column is left to learn from")
    return X[kept]


def _is_counter(values: NDArray[Any]) -> bool:
    if values.dtype.kind != "i" or len(values) < _FEW_ROWS:
        return False
    return bool((np.diff(values) == 1).all())


def read_classes(
    table: Table, target: str, rows: BoolArray, positive: str | None, console: Console
) -> tuple[NDArray[Any], Label | None]:
    """Read the classes of the rows, and the positive one if the user names it."""
    values = table.frame[target].to_numpy()[rows]
    labels = (
        values if values.dtype.kind == "i" else np.array([_text(v) for v in values], dtype=object)
    )
    classes = np.unique(labels)
    if len(classes) < 2:
        raise DataError(
            f"the target {target!r} has a single class, {classes.tolist()[0]!r}; there is nothing to tell apart"
        )
    if len(classes) > _MOST_CLASSES:
        raise DataError(
            f"the target {target!r} has {len(classes)} different values, more than {_MOST_CLASSES}; it looks like a "
            "number or a name, not like a class. Name another column, or put it into classes first"
        )
    if positive is None:
        return labels, None
    found = [label for label in classes.tolist() if str(label) == positive]
    if not found:
        hint = nearest_name(positive, [str(label) for label in classes.tolist()])
        raise DataError(f"--positive: {positive!r} is no class of {target!r}{hint}")
    if len(classes) == 2:
        return labels, found[0]
    other = f"not {positive}"
    console.note(
        f"{number_of(len(classes) - 1, 'class')} of {target!r} taken together as {other!r}"
    )
    return np.where(labels == found[0], positive, other).astype(object), positive


def _text(value: object) -> str:
    """A class that is not a whole number, as text."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


def _without_gaps(
    X: pd.DataFrame, missing: str, table: Table, console: Console, known: Mapping[str, Any] | None
) -> tuple[pd.DataFrame, dict[str, Any] | None]:
    gaps = X.isna()
    lacking = gaps.any(axis=1).to_numpy()
    count = int(lacking.sum())
    if not count:
        return X, None
    worst = gaps.sum().sort_values(ascending=False)
    where = ", ".join(f"{name!r}: {n}" for name, n in worst[worst > 0][:3].items())
    more = ", ..." if int((worst > 0).sum()) > 3 else ""
    said = f"{count} of {len(X)} rows lack a value ({where}{more})"
    if missing == "error":
        first = int(X.index[int(np.argmax(lacking))]) + 1
        raise DataError(
            f"{table.name}: {said}, the first of them row {first}. Say what to do: --missing drop leaves these rows "
            "out, --missing impute fills them with medians and most frequent categories"
        )
    if missing == "drop":
        if count == len(X):
            raise DataError(
                f"{table.name}: every row lacks a value ({where}{more}); try --missing impute"
            )
        console.note(f"{said} and are left out")
        return X.loc[~lacking], None
    values = {str(name): (known or {}).get(str(name), _typical(X[name])) for name in X.columns}
    console.note(f"{said}; filled with medians and most frequent categories")
    return X.fillna(values), values


def _levels(X: pd.DataFrame) -> dict[str, list[str]]:
    """The categories of the features that are no numbers."""
    return {
        str(name): sorted(X[name].unique()) for name in X.columns if X[name].dtype.kind not in "iuf"
    }


def _typical(column: Any, default: Any = None) -> Any:
    """The median or the most frequent category; the default for a column without any value."""
    known = column.dropna()
    if not len(known) and default is not None:
        return default
    if column.dtype.kind in "iuf":
        return float(known.median())
    return str(known.mode().iloc[0])


def position_of(task: Task, row: int) -> IntArray:
    """Where a row of the table, counted from 1, is among the rows that are learned from."""
    return np.flatnonzero(task.X.index.to_numpy() == row - 1)
