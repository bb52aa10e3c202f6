"""How rows are split into training and test parts, wherever a figure on rows that a model has not seen is given.

Rows of one group (a patient, a customer) are never in both parts of a fold; where rows have times, a fold is tested on
rows that are later than those it was trained on. Rows that occur in both parts are counted, since a model that only
remembers is right on them.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.partitions import row_keys
from clearmargin.tables.table import Table, as_given, find_missing, is_missing_value

Pair = tuple[IntArray, IntArray]

HALVES = "halves"

# Values that are equal when their keys are; others are told apart by how they are written.
_HASHED = frozenset({str, bytes, bool, int, float, tuple, dt.date, dt.datetime})


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """Training and test rows of a validation."""

    pairs: tuple[Pair, ...]
    how: str
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def n_tested(self) -> int:
        """Number of tested rows over all folds."""
        return sum(len(test) for _, test in self.pairs)

    @property
    def note(self) -> str:
        """A sentence about duplicate rows; empty if there are none."""
        if not self.duplicates:
            return ""
        verb = "occurs" if self.duplicates == 1 else "occur"
        return (
            f"{self.duplicates:,} of the {self.n_tested:,} rows tested also {verb} in the training part of their fold, "
            "with the same features and class"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Splitting:
    """How rows are split: into how many folds or by which splitter, with which groups and times."""

    cv: Any = 5
    groups: Any = None
    times: Any = None
    seed: Any = None
    params: Mapping[str, Any] | None = None
    order: str = "in the order of the rows"

    def checked(self, rows: int) -> Splitting:
        """Check all that can be checked before the table is looked at."""
        _check_cv(self.cv)
        return replace(
            self, groups=_read_groups(self.groups, rows), times=_read_times(self.times, rows)
        )

    def within(self, rows: IntArray, cv: Any) -> Splitting:
        """Split a subset of the rows in the same way, into another number of folds; for a search inside a fold."""
        parts = {
            name: None if values is None else values[rows]
            for name, values in (("groups", self.groups), ("times", self.times))
        }
        kept: dict[str, Any] = {
            name: values if values is not None and len(np.unique(values)) > 1 else None
            for name, values in parts.items()
        }
        return replace(self, cv=cv, **kept)

    def folds(self, X: Any, y: Any) -> Folds:
        """Split the rows of a table."""
        if isinstance(self.cv, Folds):
            return self.cv
        labels = np.asarray(y)
        checked = self.checked(len(labels))
        is_number = isinstance(checked.cv, int | np.integer)
        if isinstance(checked.cv, str):
            pairs, how = checked._halves(labels)
        elif not is_number:
            pairs, how = checked._by_splitter(X, labels)
        elif checked.times is not None:
            pairs, how = checked._by_time(labels)
        elif checked.groups is not None:
            pairs, how = checked._by_group(labels)
        else:
            pairs, how = checked._stratified(labels)
        if checked.times is not None and checked.groups is not None and is_number:
            pairs, how = (
                checked._without_known_groups(pairs),
                f"{how}, without the groups that are tested",
            )
        pairs = _with_two_classes(pairs, labels)
        return Folds(tuple(pairs), how, count_duplicates(X, labels, pairs))

    def _stratified(self, labels: NDArray[Any]) -> tuple[list[Pair], str]:
        number = self._number(labels)
        splitter = StratifiedKFold(number, **self._shuffle())
        how = f"stratified folds, {self._order()}{self._fewer(number, 'the rarest class has {} rows')}"
        return list(splitter.split(np.zeros(len(labels)), labels)), how

    def _halves(self, labels: NDArray[Any]) -> tuple[list[Pair], str]:
        if self.times is not None:
            raise InvalidValueError("cv='halves' knows no times; pass a number of folds")
        numbers = np.arange(len(labels))
        if self.groups is not None:  # those of a group have the key of its first row
            _, first, group = np.unique(self.groups, return_index=True, return_inverse=True)
            numbers = first[group.ravel()]
        keys = half_keys(numbers, half_seed(self.seed))
        side = np.empty(len(labels), dtype=np.bool_)
        for k, label in enumerate(np.unique(labels)):
            mine = keys[labels == label]
            side[labels == label] = mine < np.append(np.sort(mine), 1.0)[first_half(len(mine), k)]
        first, second = np.flatnonzero(side), np.flatnonzero(~side)
        return [(first, second), (second, first)], "random halves"

    def _by_group(self, labels: NDArray[Any]) -> tuple[list[Pair], str]:
        count = len(np.unique(self.groups))
        number = min(self._number(labels), count)
        splitter = StratifiedGroupKFold(number, **self._shuffle())
        pairs = list(splitter.split(np.zeros(len(labels)), labels, self.groups))
        pairs = [(train, test) for train, test in pairs if len(test)]
        why = "there are {} groups" if number == count else "the rarest class has {} rows"
        return pairs, f"stratified folds of whole groups, {self._order()}{self._fewer(number, why)}"

    def _by_time(self, labels: NDArray[Any]) -> tuple[list[Pair], str]:
        """Cut the rows into parts of about the same size, rows of one time together; each but the first is tested."""
        order = np.argsort(self.times, kind="stable")
        # Where one time ends and the next begins, in the order of time.
        ends = np.flatnonzero(np.diff(self.times[order])) + 1
        ideal = len(order) * np.arange(1, int(self.cv) + 1) / (int(self.cv) + 1)
        cuts = np.unique(ends[np.abs(ends[:, None] - ideal).argmin(axis=0)])
        # Rows that come before any row of another class cannot be trained on alone.
        first = _first_of_second_class(labels[order])
        used = cuts[cuts > first]
        if not len(used):
            raise DataError(
                "no fold can be made by time: all rows but those of the last time are of one class; "
                "use fewer folds, or another column of time"
            )
        parts = np.split(order, used)
        pairs = [
            (np.sort(np.concatenate(parts[: k + 1])), np.sort(part))
            for k, part in enumerate(parts[1:])
        ]
        how = "folds by time, each tested after training on all earlier rows"
        fewer = (
            ""
            if len(pairs) == self.cv
            else f"; {self.cv} were asked for, but times or classes give no more"
        )
        return pairs, f"{how}{fewer}"

    def _without_known_groups(self, pairs: list[Pair]) -> list[Pair]:
        return [
            (train[~np.isin(self.groups[train], self.groups[test])], test) for train, test in pairs
        ]

    def _by_splitter(self, X: Any, labels: NDArray[Any]) -> tuple[list[Pair], str]:
        splitter, X = check_cv(self.cv, labels, classifier=True), as_given(X)
        given = dict(self.params or {})
        if self.groups is not None:
            given["groups"] = self.groups
        if self.times is None:
            pairs = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, labels, **given)]
        else:
            # Splitters of series take the rows to be in the order of time.
            order = np.argsort(self.times, kind="stable")
            given = {name: _safe_indexing(values, order) for name, values in given.items()}
            split = splitter.split(_safe_indexing(X, order), labels[order], **given)
            pairs = [(order[np.asarray(a)], order[np.asarray(b)]) for a, b in split]
        name = repr(self.cv) if hasattr(self.cv, "split") else "the folds given"
        self._check_folds(pairs, name)
        return pairs, f"folds by {name}" if hasattr(self.cv, "split") else "folds as given"

    def _check_folds(self, pairs: list[Pair], name: str) -> None:
        """Raise if a splitter puts a group into both parts of a fold, or trains on rows later than those it tests."""
        if not pairs:
            raise InvalidValueError("cv gives no folds; pass a number of folds from 2")
        for k, (train, test) in enumerate(pairs):
            if self.groups is not None and np.isin(self.groups[test], self.groups[train]).any():
                raise InvalidValueError(
                    f"cv: {name} put rows of one group into both parts of fold {k + 1}; pass a number of folds, "
                    "or a splitter by groups such as GroupKFold()"
                )
            if self.times is not None and self.times[train].max() > self.times[test].min():
                raise InvalidValueError(
                    f"cv: {name} train fold {k + 1} on rows later than some that it is tested on; pass a number "
                    "of folds, or a splitter by time such as TimeSeriesSplit()"
                )

    def _number(self, labels: NDArray[Any]) -> int:
        _, counts = np.unique(labels, return_counts=True)
        number = int(min(self.cv, counts.min()))
        if number < 2:
            raise DataError("a class has one row only, and each fold needs one")
        return number

    def _shuffle(self) -> dict[str, Any]:
        return {"shuffle": self.seed is not None, "random_state": self.seed}

    def _order(self) -> str:
        return self.order if self.seed is None else f"shuffled with seed {self.seed}"

    def _fewer(self, number: int, why: str) -> str:
        if number == self.cv:
            return ""
        return f"; {self.cv} were asked for, but {why.format(number)}"


def count_duplicates(X: Any, y: Any, pairs: Any) -> int:
    """Count tested rows that also occur in the training part of their fold."""
    _, codes = np.unique(np.stack([_row_codes(X), _codes(y)]), axis=1, return_inverse=True)
    codes = codes.ravel()
    count = 0
    for train, test in pairs:
        seen = np.zeros(len(codes), dtype=np.bool_)
        seen[codes[train]] = True
        count += int(seen[codes[test]].sum())
    return count


def _row_codes(X: Any) -> IntArray:
    """Number the rows such that equal rows have the same number."""
    if sparse.issparse(X):
        rows: Any = sparse.csr_array(X, copy=True)  # type: ignore[call-overload]
        rows.sum_duplicates()
        rows.eliminate_zeros()
        spans = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return _factorise(
            [(rows.indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in spans]
        )
    table = Table.read(X)
    # Rows as strings of bytes: sorted once, however many columns there are.
    codes = np.ascontiguousarray(
        np.stack([_column_codes(table, name) for name in table.names], axis=1), dtype=np.int64
    )
    whole = codes.view(np.dtype((np.void, codes.shape[1] * codes.itemsize))).ravel()
    return np.unique(whole, return_inverse=True)[1].ravel()


def _column_codes(table: Table, name: str) -> IntArray:
    try:
        return table.column(name).distinct_codes()
    except DataError:  # dates and the like, which rules cannot speak of
        return _codes(table.values(name))


def _codes(values: Any) -> IntArray:
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return np.unique(array, return_inverse=True)[1].ravel()
    return _factorise(array.tolist())


def half_seed(seed: Any) -> int:
    """Draw what the keys of halves depend on, besides the rows."""
    return int(np.random.default_rng(seed).integers(np.iinfo(np.int64).max))


def half_keys(rows: IntArray, seed: int) -> FloatArray:
    """Give rows, by their numbers in a table, the keys by which halves are made."""
    words = np.asarray(rows).astype(np.uint64) + np.uint64(seed)
    return row_keys(words.view(np.int64))


def first_half(n: int, k: int) -> int:
    """Tell how many of the n rows of the class with number k are in the first half: odd ones here and there."""
    return (n + 1 - k % 2) // 2


def _factorise(values: list[Any]) -> IntArray:
    places: dict[Hashable, int] = {}
    codes = (places.setdefault(_as_key(value), len(places)) for value in values)
    return np.fromiter(codes, dtype=np.intp, count=len(values))


def _as_key(value: Any) -> Hashable:
    if is_missing_value(value):
        return None
    return value if type(value) in _HASHED else repr(value)


def _check_cv(cv: Any) -> None:
    if isinstance(cv, Folds):
        return
    # str has a method split, too.
    if isinstance(cv, str) and cv == HALVES:
        return
    if hasattr(cv, "get_n_splits") or (isinstance(cv, Iterable) and not isinstance(cv, str)):
        return
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise InvalidValueError(
            "cv must be a whole number from 2, a scikit-learn splitter or an iterable of (train, test), "
            f"not {cv!r}"
        )


def _column(name: str, given: Any, rows: int) -> NDArray[Any]:
    """Read one value per row; raise if one is missing."""
    values = np.asarray(given)
    if values.shape != (rows,):
        raise DataError(
            f"{name} has shape {values.shape}, and there are {rows} rows; give one value a row"
        )
    missing = find_missing(values)
    if missing.any():
        raise DataError(
            f"{name} is missing in {int(missing.sum())} of {rows} rows, the first of them row "
            f"{int(np.argmax(missing)) + 1}; fill it in, or leave these rows out"
        )
    return values


def _read_groups(given: Any, rows: int) -> IntArray | None:
    if given is None:
        return None
    groups = _codes(_column("groups", given, rows))
    if len(np.unique(groups)) < 2:
        raise DataError(
            f"groups has the same value in all {rows} rows, and rows of one group are never in both parts of a fold; "
            "at least 2 groups are needed"
        )
    return groups


def _read_times(given: Any, rows: int) -> IntArray | None:
    """Rank the times: equal times have the same number."""
    if given is None:
        return None
    values = _column("times", given, rows)
    if values.dtype.kind not in "biufM":
        listed = values.tolist()
        is_number = [isinstance(value, numbers.Real) for value in listed]
        if any(is_number) and not all(is_number):
            raise DataError("times holds numbers beside dates; give one or the other")
        values = (
            values.astype(np.float64)
            if all(is_number)
            else np.array([_read_time(value, k) for k, value in enumerate(listed)])
        )
    times = np.unique(values, return_inverse=True)[1].ravel()
    if not times.any():
        raise DataError(
            f"times has the same value in all {rows} rows; later rows are tested after training on earlier ones, so at "
            "least 2 times are needed"
        )
    return times


def _read_time(value: Any, row: int) -> Any:
    try:
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        if isinstance(value, dt.date):
            return np.datetime64(value, "us")
        text = value.decode() if isinstance(value, bytes) else value
        moment = dt.datetime.fromisoformat(text)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"times holds {value!r} in row {row + 1}, which is neither a number nor a date; write dates as 2024-03-31, "
            "or give numbers"
        ) from error
    return _read_time(moment, row)


def _first_of_second_class(labels: NDArray[Any]) -> int:
    """Find the first position with another class than the first one."""
    return int(np.argmax(labels != labels[0])) if (labels != labels[0]).any() else len(labels)


def _with_two_classes(pairs: list[Pair], labels: NDArray[Any]) -> list[Pair]:
    for k, (train, test) in enumerate(pairs):
        if not len(test):
            raise DataError(f"fold {k + 1} has no row to be tested on; use fewer folds")
        if len(np.unique(labels[train])) < 2:
            found = f"of the class {as_label(labels[train][0])!r} only" if len(train) else "none"
            raise DataError(
                f"fold {k + 1} has training rows {found}, and a model needs two classes; use fewer folds, or other "
                "groups or times"
            )
    return pairs
