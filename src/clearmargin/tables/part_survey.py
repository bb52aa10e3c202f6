"""What one pass over a table in partitions tells: rows, classes, ranges, whole numbers, categories, missing values.

Every partition is looked at where it is, and what it tells is put together here, in the order of the rows. Errors name
the place of a row (its file), its number there, and the column. `TableParts` is the base of all homes of a user's
table: its survey is made once, and it gives the blocks that a classifier of two classes is trained on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.csv_text import Texts
from clearmargin.tables.partitions import (
    Block,
    MappedBlocks,
    Partitions,
    mapped,
    row_keys,
    sampled,
)
from clearmargin.tables.table import Table
from clearmargin.tables.table_part import TablePart, Values, join_parts
from clearmargin.tables.typed_columns import MAX_EXACT_INTEGER

R = TypeVar("R")

# More different texts than any categorical column has, and more classes than anything takes.
MAX_CATEGORIES = 1_000
# Values that tell most columns of other than whole numbers.
_FEW = 256
# So many different texts are categories, however few rows there are.
_FEW_NAMES = 20
# A class is rare below this share of the rows; rows are drawn class by class where there are no more classes.
_RARE, _MOST_CLASSES = 0.2, 100


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of a column."""

    name: str
    n_missing: int = 0
    missing: str = ""
    low: float = np.inf
    high: float = -np.inf
    is_whole: bool = True
    infinite: str = ""
    counts: dict[str, int] | None = None
    text: str = ""
    number: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers."""
        return not self.text

    @property
    def categories(self) -> tuple[str, ...]:
        """The texts that occur, in alphabetical order."""
        return tuple(sorted(self.counts or ()))

    @property
    def has_many_texts(self) -> bool:
        """Whether there are more different texts than a categorical column has."""
        return len(self.counts or ()) > MAX_CATEGORIES

    @property
    def holds_names(self) -> bool:
        """Whether the texts are names, identifiers or times: most stand in one row alone, or there are too many."""
        counts = self.counts or {}
        return self.has_many_texts or len(counts) > max(_FEW_NAMES, sum(counts.values()) / 2)

    def joined(self, other: ColumnFacts) -> ColumnFacts:
        """Put together what is known of some rows and of later ones."""
        counts = dict(self.counts or {})
        for text, count in (other.counts or {}).items():
            if text in counts or len(counts) <= MAX_CATEGORIES:
                counts[text] = counts.get(text, 0) + count
        return ColumnFacts(
            self.name,
            self.n_missing + other.n_missing,
            self.missing or other.missing,
            min(self.low, other.low),
            max(self.high, other.high),
            self.is_whole and other.is_whole,
            self.infinite or other.infinite,
            counts or None,
            self.text or other.text,
            self.number or other.number,
        )

    def check(self) -> None:
        """Raise if the column holds numbers in some rows and texts in others."""
        if self.text and self.number:
            raise DataError(
                f"column {self.name!r} holds numbers ({self.number}) and texts ({self.text}); correct one of them, or "
                f"take all of it for categories: categories=[{self.name!r}]"
            )

    def check_finite_numbers(self) -> None:
        """Raise if the column is not made of finite numbers, as estimators need them that take nothing else."""
        if self.text:
            raise DataError(
                f"column {self.name!r} holds texts ({self.text}), and this estimator takes numbers; leave the column "
                f"out: scan(..., drop=[{self.name!r}])"
            )
        if self.n_missing:
            more = f"; {self.n_missing} such values in all" if self.n_missing > 1 else ""
            raise DataError(
                f"X contains NaN in {self.missing}, column {self.name!r}{more}; fill or drop missing values first"
            )
        if self.infinite:
            raise DataError(
                f"X contains an infinity (inf) in {self.infinite}, column {self.name!r}; replace it by a number"
            )


class ClassFacts(NamedTuple):
    """How many rows a class has, the first of them, and numbers that add up to what the rows weigh."""

    label: Any
    n_rows: int
    first: str
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class TableSurvey:
    """What is known of a table after one pass."""

    n_rows: int
    columns: dict[str, ColumnFacts]
    classes: tuple[ClassFacts, ...] = ()
    target: ColumnFacts | None = None
    weight: ColumnFacts | None = None
    label_type: Any = None

    @property
    def labels(self) -> NDArray[Any]:
        """The classes, as `np.unique` would give them."""
        return np.array([each.label for each in self.classes], dtype=self.label_type)

    @property
    def class_counts(self) -> IntArray:
        """How many rows each class has."""
        return np.array([each.n_rows for each in self.classes], dtype=np.intp)

    @property
    def class_weights(self) -> FloatArray:
        """What the rows of each class weigh, summed without rounding; their number where rows have no weights."""
        if self.weight is None:
            return self.class_counts.astype(np.float64)
        return np.array([math.fsum(each.weights) for each in self.classes])

    def check_weights(self) -> None:
        """Raise if a weight is missing, infinite or negative, or if all rows of a class have none."""
        if self.weight is None:
            return
        if self.weight.n_missing or self.weight.infinite or self.weight.text:
            where = self.weight.missing or self.weight.infinite or self.weight.text
            raise DataError(f"sample_weight is no finite number in {where}; every row needs one")
        if self.weight.low < 0:
            raise DataError(
                f"sample_weight is negative, {self.weight.low:g} in one row; the least weight is 0"
            )
        for each, total in zip(self.classes, self.class_weights.tolist(), strict=True):
            if not total:
                raise DataError(
                    f"sample_weight is zero for all points of class {each.label!r}; a classifier needs two classes"
                )

    def check_target(self) -> None:
        """Raise if there is no target, a row without a class, or only one class."""
        if self.target is None:
            raise DataError(
                "the table has no target; say which column holds the classes: scan(path, target='y')"
            )
        if self.target.n_missing:
            raise DataError(
                f"the target {self.target.name!r} is missing in {self.target.n_missing} row(s), the first of them "
                f"{self.target.missing}; leave such rows out of the files"
            )
        if len(self.classes) == 1:
            raise DataError(
                f"the target {self.target.name!r} holds only one class, {self.classes[0].label!r}; a classifier needs "
                "two classes to tell apart"
            )

    def two_classes(self) -> NDArray[Any]:
        """Return the two classes; any other number of them, or a row without a class, is an error."""
        self.check_target()
        if self.target is not None and len(self.classes) > 2:
            third = sorted(self.classes, key=lambda each: each.n_rows)[0]
            shown = ", ".join(repr(each.label) for each in self.classes[:5])
            more = ", ..." if len(self.classes) > 5 else ""
            raise DataError(
                f"Only binary classification is supported. The target {self.target.name!r} has {len(self.classes)} "
                f"classes ({shown}{more}); {third.label!r} is in {third.n_rows} row(s), the first of them {third.first}"
            )
        return self.labels


class TableParts(ABC):
    """A user's table in partitions, each a `TablePart` with the features and the target; see `Partitions`."""

    target: str | None = None
    # A column of sample weights in each partition.
    weight: str | None = None
    # Whether the columns have names of their own; those of an array are called x0, x1, ...
    has_names = True
    _survey: TableSurvey | None = None

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The features."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the table is called in messages."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each partition, in the order of the rows."""

    @abstractmethod
    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every partition; see `Partitions`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return sum(self.lengths), len(self.names)

    @property
    def header(self) -> Any:
        """A table of another library with the same columns and no rows, for the checks of scikit-learn."""
        if not self.has_names:
            return np.empty((0, len(self.names)))
        return Table.of_columns({name: np.empty(0) for name in self.names}).header

    def survey(self) -> TableSurvey:
        """Look at every row, once for all who ask; a column of numbers and texts is an error."""
        if self._survey is None:
            self._survey = join_facts(
                self.map(look_at, common=(self.names, self.target, self.weight))
            )
        return self._survey

    def sample_with_ends(self, n_rows: int, *, rare: float = 0.5) -> TablePart:
        """Draw rows by their keys, class by class, and add a few that show what the survey found."""
        survey = self.survey()
        sizes = _class_sizes(survey, n_rows, rare)
        # Somewhat more than is wanted, of which those with the smallest keys are kept.
        shares = tuple(
            (label, min(1.0, (size + 5.0 * math.sqrt(size)) / total))
            for label, (size, total) in sizes.items()
        )
        targets = () if survey.target is None else (survey.target,)
        facts = [*(survey.columns[name] for name in self.names), *targets]
        if n_rows >= survey.n_rows:
            return join_parts(self.map(sampled, common=(1.0,)))
        found = self.map(_drawn_with_ends, common=(facts, self.target, shares))
        drawn = join_parts([each[0] for each in found])
        keys = row_keys(drawn.rows)
        kept = [
            members[np.argsort(keys[members])[: sizes[label][0]]]
            for label, _ in shares
            for members in [np.flatnonzero(_of_class(drawn, self.target, label))]
        ]
        drawn = drawn.take(np.concatenate(kept))
        shown = {(k.name, what) for k in facts for _, what in _ends(drawn.column(k.name), k)}
        added: dict[tuple[str, Any], TablePart] = {}
        for _, ends, what in found:
            for k, one in enumerate(what):
                if one not in shown:
                    added.setdefault(one, ends.take(slice(k, k + 1)))
        counts = {(known.name, t): n for known in facts for t, n in (known.counts or {}).items()}
        chosen = sorted(added, key=lambda one: -counts.get(one, survey.n_rows))
        n_ends = sum(one not in counts for one in chosen)
        most = n_ends + max(MAX_CATEGORIES, n_rows // 10)
        whole = join_parts([drawn, *(added[one] for one in chosen[:most])])
        # One row may show several things.
        return whole.take(np.unique(whole.rows, return_index=True)[1])

    def blocks(
        self, classes: NDArray[Any], costs: Sequence[float] = (1.0, 1.0)
    ) -> Partitions[Block]:
        """Give the rows as blocks for a classifier of two classes."""
        return MappedBlocks(self, training_block, self._block_arguments(classes, costs), self.names)

    def _block_arguments(self, classes: NDArray[Any], costs: Sequence[float]) -> tuple[Any, ...]:
        return self.names, self.target, tuple(classes.tolist()), tuple(costs), self.weight


class MappedTable(TableParts):
    """A table in partitions, each changed by a function where it is, whenever it is asked for."""

    def __init__(
        self,
        parts: TableParts,
        change: Callable[..., TablePart],
        arguments: tuple[Any, ...],
        names: Sequence[str],
    ):
        self._parts, self._change, self._arguments = parts, change, arguments
        self._names, self.target = tuple(names), parts.target
        self.weight, self.has_names = parts.weight, parts.has_names
        self._lengths: tuple[int, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        return self._names

    @property
    def name(self) -> str:
        """What the table is called in messages."""
        return self._parts.name

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each partition."""
        if self._lengths is None:
            self._lengths = tuple(self.map(_length))
        return self._lengths

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every partition; see `Partitions`."""
        return mapped(self._parts, self._change, self._arguments, f, own, common)


def _length(part: TablePart) -> int:
    return len(part.rows)


def stored_columns(table: Table) -> dict[str, Values]:
    """Give the columns of a table in memory as a `TablePart` has them: numbers, or texts with codes."""
    columns: dict[str, Values] = {}
    for column in table.all_columns():
        if column.is_numeric:
            columns[column.name] = column.values if column.has_number_type else column.numbers()
        else:
            codes = np.nan_to_num(column.codes(column.categories), nan=-1.0)
            columns[column.name] = Texts(list(column.categories), codes.astype(np.int32))
    return columns


class PartFacts(NamedTuple):
    """What one partition tells."""

    n_rows: int
    columns: list[ColumnFacts]
    classes: list[ClassFacts]
    target: ColumnFacts | None
    weight: ColumnFacts | None


def look_at(
    part: TablePart, names: tuple[str, ...], target: str | None, weight: str | None
) -> PartFacts:
    """Find what a partition tells."""
    facts = [_column_facts(part, name) for name in names]
    of_weight = None if weight is None else _column_facts(part, weight)
    if target is None:
        return PartFacts(len(part.rows), facts, [], None, of_weight)
    of_target = _column_facts(part, target)
    return PartFacts(
        len(part.rows), facts, _class_facts(part, target, weight), of_target, of_weight
    )


def _column_facts(part: TablePart, name: str) -> ColumnFacts:
    values = part.column(name)
    missing = part.is_missing(name) if _may_lack(values) else None
    n_missing = 0 if missing is None else int(missing.sum())
    facts = ColumnFacts(name)
    if missing is not None and n_missing:
        facts = replace(facts, n_missing=n_missing, missing=part.name_row(int(np.argmax(missing))))
    if n_missing == len(part.rows):
        return facts
    row = 0 if missing is None else int(np.argmin(missing))
    if isinstance(values, Texts):
        counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.distinct))
        met = {t: int(n) for t, n in zip(values.distinct, counts.tolist(), strict=True) if n}
        first = f"{part.name_row(row)}: {values.distinct[values.codes[row]]!r}"
        return replace(facts, counts=met, text=first, is_whole=False)
    known = values if missing is None or not n_missing else values[~missing]
    low, high = float(known.min()), float(known.max())
    infinite = ""
    if not np.isfinite([low, high]).all():
        infinite = part.name_row(int(np.argmax(np.isinf(values))))
    return replace(
        facts,
        low=low,
        high=high,
        is_whole=_is_whole(known, low, high),
        infinite=infinite,
        number=f"{part.name_row(row)}: {values[row].item()!r}",
    )


def _may_lack(values: Values) -> bool:
    if isinstance(values, Texts):
        return True
    # A smallest number is NaN if any is.
    return values.dtype.kind == "f" and len(values) > 0 and bool(np.isnan(values.min()))


def _is_whole(values: NDArray[Any], low: float, high: float) -> bool:
    if max(-low, high) > MAX_EXACT_INTEGER:
        return False
    if values.dtype.kind != "f":
        return True
    return all(bool((np.rint(x) == x).all()) for x in (values[:_FEW], values))


def _class_facts(part: TablePart, target: str, weight: str | None) -> list[ClassFacts]:
    values = part.column(target)
    if isinstance(values, Texts):
        codes, labels = values.codes, list[Any](values.distinct)
    else:
        codes, labels = _number_codes(values, part, target)
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    weights = None if weight is None else part.numbers([weight])[:, 0]
    return [
        ClassFacts(
            label,
            int(counts[k]),
            part.name_row(int(np.argmax(codes == k))),
            () if weights is None else exact_terms(weights[codes == k]),
        )
        for k, label in enumerate(labels)
        if counts[k]
    ]


def exact_terms(values: FloatArray) -> tuple[float, ...]:
    """Return few numbers that add up to exactly the sum of many, for a sum over partitions that is rounded once."""
    terms: list[float] = []
    rest = values.tolist()
    while True:
        total = math.fsum([*rest, *(-term for term in terms)])
        if total == 0.0 or not math.isfinite(total):
            return tuple(terms) if total == 0.0 else (*terms, total)
        terms.append(total)


def _number_codes(
    values: NDArray[Any], part: TablePart, target: str
) -> tuple[NDArray[Any], list[Any]]:
    """Number the classes of a column of numbers, -1 where missing."""
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=np.bool_)
    met = values[known]
    if len(met) and met.min() >= 0 and met.max() < MAX_CATEGORIES and (np.rint(met) == met).all():
        codes = np.where(known, values, -1).astype(np.intp)
        return codes, list(range(int(codes.max()) + 1))
    labels, places = np.unique(met, return_inverse=True)
    if len(labels) > MAX_CATEGORIES:
        raise DataError(
            f"the target {target!r} has more than {MAX_CATEGORIES} different values ({part.name_row(0)} and below); it "
            "looks like a number, not like a class. Name another column, or put it into classes first"
        )
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[known] = places.ravel()
    return codes, [int(k) if float(k).is_integer() else k for k in labels.tolist()]


def join_facts(found: Sequence[PartFacts]) -> TableSurvey:
    """Put together what the partitions tell."""
    columns: dict[str, ColumnFacts] = {}
    classes: dict[Any, ClassFacts] = {}
    others: dict[str, ColumnFacts] = {}
    for part in found:
        for each in part.columns:
            columns[each.name] = (
                each if each.name not in columns else columns[each.name].joined(each)
            )
        for label, n_rows, first, weights in part.classes:
            before = classes.get(label, ClassFacts(label, 0, first))
            classes[label] = ClassFacts(
                label, before.n_rows + n_rows, before.first, before.weights + weights
            )
        for role, facts in (("target", part.target), ("weight", part.weight)):
            if facts is not None:
                others[role] = facts if role not in others else others[role].joined(facts)
    for each in (*columns.values(), *others.values()):
        each.check()
    if len(classes) > MAX_CATEGORIES:
        raise DataError(
            f"the target {others['target'].name!r} has more than {MAX_CATEGORIES} different values; it looks like a "
            "number or a name, not like a class. Name another column, or put it into classes first"
        )
    ordered = tuple(classes[label] for label in sorted(classes))
    n_rows = sum(part.n_rows for part in found)
    return TableSurvey(n_rows, columns, ordered, others.get("target"), others.get("weight"))


def _class_sizes(survey: TableSurvey, n_rows: int, rare: float) -> dict[Any, tuple[int, int]]:
    """Say of how many rows of each class how many are drawn; None stands for rows of no known class."""
    total = survey.n_rows
    counts = {each.label: each.n_rows for each in survey.classes}
    # A target with more classes is hardly one; its rows are drawn as those without a class.
    counts = counts if len(counts) <= _MOST_CLASSES else {}
    counts[None] = total - sum(counts.values())
    sizes: dict[Any, tuple[int, int]] = {}
    few = sorted((n, str(k), k) for k, n in counts.items() if k is not None and n < _RARE * total)
    left = rare * n_rows
    for place, (count, _, label) in enumerate(few):
        size = math.ceil(max(min(count, left / (len(few) - place)), n_rows * count / total))
        sizes[label], left = (min(size, count), count), left - size
    rest = total - sum(count for _, count in sizes.values())
    room = max(0, n_rows - sum(size for size, _ in sizes.values()))
    for label, count in counts.items():
        if label not in sizes and count:
            sizes[label] = min(count, round(room * count / rest)), count
    return sizes


def _of_class(part: TablePart, target: str | None, label: Any) -> BoolArray:
    """Tell which rows have a class; with None for the class, all rows that have no known one."""
    if target is None:
        return np.ones(len(part.rows), dtype=np.bool_)
    if label is None:
        return part.is_missing(target)
    values = part.column(target)
    if isinstance(values, Texts):
        return np.array([*(text == label for text in values.distinct), False])[values.codes]
    return np.asarray(values == label)


def _drawn_with_ends(
    part: TablePart,
    facts: Sequence[ColumnFacts],
    target: str | None,
    shares: Sequence[tuple[Any, float]],
) -> tuple[TablePart, TablePart, list[tuple[str, Any]]]:
    """Take the rows that may be drawn, and those that show what the survey found, each with what it shows."""
    keys, limit = row_keys(part.rows), np.zeros(len(part.rows))
    for label, share in shares:
        limit[_of_class(part, target, label)] = share
    shown = [
        (place, (known.name, what))
        for known in facts
        for place, what in _ends(part.column(known.name), known)
    ]
    places = np.array([place for place, _ in shown], dtype=np.intp)
    return part.take(keys < limit), part.take(places), [what for _, what in shown]


def _ends(values: Values, known: ColumnFacts) -> list[tuple[int, Any]]:
    """List the first rows, if there are any, that show the ends, a fraction, or a category of a column."""
    if isinstance(values, Texts):
        codes, first = np.unique(values.codes, return_index=True)
        return [
            (int(place), None if code < 0 else values.distinct[code])
            for code, place in zip(codes, first, strict=True)
            if code < 0 or not known.holds_names
        ]
    masks = {"low": values == known.low, "high": values == known.high}
    if known.number and not known.is_whole:
        masks["fraction"] = np.rint(values) != values
    if known.n_missing:
        masks["missing"] = np.isnan(values)
    return [(int(np.argmax(mask)), what) for what, mask in masks.items() if mask.any()]


def training_block(
    part: TablePart,
    names: tuple[str, ...],
    target: str,
    classes: tuple[Any, Any],
    costs: tuple[float, float],
    weight: str | None = None,
) -> Block:
    """Make the block of a partition."""
    is_second = _of_class(part, target, classes[1])
    y: FloatArray = np.where(is_second, 1.0, -1.0)
    cost = np.where(is_second, costs[1], costs[0])
    if weight is None:
        return Block(part.numbers(names), y, cost, part.rows)
    cost *= part.numbers([weight])[:, 0]
    block = Block(part.numbers(names), y, cost, part.rows)
    return block if cost.all() else block.take(cost > 0)
