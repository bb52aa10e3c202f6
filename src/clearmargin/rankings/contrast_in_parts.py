"""RankContrast of a table in partitions: ends and bins as in memory, found by counting, and labels asked by counting.

The ranking is trained on a sample, unless its estimator takes partitions or is trained already. Then every row has its
score where it is. The score at the end of each end is an order statistic (`tables/order_statistics.py`), and so are the
cuts of the bins (`part_bins.py`); with them a pass brings the rows of the two ends, in which properties are searched.
Halves that confirm are made by keys of row numbers, as in memory: each half is ranked, its ends are searched, and the
candidates are counted on the other half, all of it. Areas under curves are those of the sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score, roc_curve

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings.discretise import (
    LabelColumn,
    as_edges,
    as_names,
    check_bins,
    choose_columns,
    id_reason,
    make_properties,
)
from clearmargin.rankings.ends import Ends, end_size
from clearmargin.rankings.part_bins import Cutting, few_values, known_numbers, witnesses
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rankings.property_search import list_properties, make_histograms, n_tests
from clearmargin.rankings.ranker import fit_ranker, is_trained, rank_scores
from clearmargin.rankings.significance import Items, fisher, holm
from clearmargin.rule_base.leverage_search import Contrast, Found
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.order_statistics import find_around, order_statistics
from clearmargin.tables.part_survey import MappedTable, TableParts, TableSurvey
from clearmargin.tables.partitions import sampled
from clearmargin.tables.splitting import HALVES, Folds, Splitting, first_half, half_keys, half_seed
from clearmargin.tables.table_part import TablePart, join_parts
from clearmargin.tables.validation import check_whole

__all__ = ["MOST_SAMPLED", "contrast_parts", "whole_table"]

# A table of no more rows is read into memory; of a larger one so many are drawn, to rank by and to draw curves of.
MOST_SAMPLED = 20_000
# A number of fewer different values is not cut; see `make_properties`.
_MAX_VALUES = 10
# All keys are below.
_NO_LIMITS = (2.0, 2.0)
# Rows of a partition that are compared with candidates at a time.
_CHUNK = 4_096


def whole_table(parts: TableParts) -> TablePart | None:
    """Bring a table into memory that has no more rows than are drawn of others; None for a larger one."""
    if parts.survey().n_rows > MOST_SAMPLED:
        return None
    return join_parts(parts.map(_itself))


def contrast_parts(contrast: Any, parts: TableParts) -> None:
    """Rank the rows of a table in partitions by their labels, and contrast the ends.

    Parameters
    ----------
    contrast : RankContrast
        Gets its fitted attributes.
    parts : TableParts
        The table, with its target.
    """
    if contrast.cv not in (HALVES, None):
        raise InvalidValueError(
            f"cv must be 'halves' or None where the table is given in partitions, not {contrast.cv!r}"
        )
    rng, rows = contrast._rng(), _Rows.of(contrast, parts)
    ranking = _rank(contrast, rows, rows.everything())
    top, bottom, sizes = _sizes(contrast, rows, ranking, rng)
    if sizes is not None:
        contrast._sizes = sizes
    ends, edges, few = _find_ends_and_bins(contrast, rows, ranking, (top, bottom))
    table = _properties(contrast, rows, ends, edges, few)
    # The rows of the ends come first, then those of the sample.
    n_top, n_bottom = len(ends.found.top), len(ends.found.bottom)
    placed = Ends(
        np.arange(n_top),
        np.arange(n_top, n_top + n_bottom),
        ends.found.top_ties,
        ends.found.bottom_ties,
    )
    packed = Contrast.of(table.masks, placed.top, placed.bottom, table.attribute)
    contrast.min_leverage_ = contrast._least_leverage(table, placed, rng)
    found = contrast._search(packed, contrast.min_leverage_)
    labels = _confirm(contrast, rows, table, rng)
    contrast._properties = list_properties(
        table,
        packed,
        found,
        placed,
        tests=n_tests(table, int(contrast.max_size), 1 if sizes is None else len(sizes)),
        scores=ranking.sample_scores,
        held_out=labels,
        ranked=n_top + n_bottom + np.arange(len(ranking.sample_scores)),
    )
    contrast._histograms = make_histograms(table, placed, contrast._properties)
    contrast.table_, contrast.scores_, contrast.model_ = table, ranking.sample_scores, ranking.model
    contrast.n_rows_, contrast.n_ranked_on_ = rows.n_rows, ranking.n_trained_on
    contrast.top_index_, contrast.bottom_index_ = ends.found.top, ends.found.bottom
    contrast.top_ties_, contrast.bottom_ties_ = placed.top_ties, placed.bottom_ties
    listed = zip(contrast._properties["items"], contrast._properties["side"], strict=True)
    contrast.rules_ = RuleSet(
        (table.rule(items, side) for items, side in listed), table.space, ["top", "bottom"]
    )
    contrast.auc_ = float(roc_auc_score(rows.is_positive(rows.sample), ranking.sample_scores))
    contrast.roc_ = roc_curve(rows.is_positive(rows.sample), ranking.sample_scores)[:2]


class _Rows(NamedTuple):
    """The table, its classes and columns, and a sample of its rows."""

    parts: TableParts
    positive: Any
    n_of_class: tuple[int, int]
    used: tuple[str, ...]
    ranked: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    edges: Mapping[str, FloatArray]
    sample: TablePart

    @classmethod
    def of(cls, contrast: Any, parts: TableParts) -> _Rows:
        """Read the options of a contrast, and draw the sample."""
        survey = parts.survey()
        classes = survey.two_classes()
        contrast._take_classes(classes)
        check_bins(contrast.bins, ("quantile", "width"))
        check_whole("n_bins", contrast.n_bins, 2)
        bins = {} if isinstance(contrast.bins, str) else contrast.bins
        read = {str(name): as_edges(name, each) for name, each in bins.items()}
        asked = None if contrast.features is None else as_names(contrast.features, "features")
        out = as_names(contrast.exclude, "exclude")
        chosen = choose_columns(list(parts.names), asked, out, read)
        sample = join_parts(parts.sample(MOST_SAMPLED / survey.n_rows).map(_itself))
        requested = {*(asked or ()), *read}
        skipped = _identifiers(survey, sample, [n for n in chosen if n not in requested])
        used = tuple(name for name in chosen if name not in skipped)
        for name in used:
            if survey.columns[name].infinite:
                raise DataError(
                    f"column {name!r} is infinite in {survey.columns[name].infinite}; put a number or a missing value "
                    "there"
                )
        gone = {*out, *skipped}
        counts = survey.class_counts.tolist()
        n_positive = counts[int(np.flatnonzero(classes == contrast.classes_[1])[0])]
        positive = as_label(contrast.classes_[1])
        rows = cls(
            parts,
            positive,
            (survey.n_rows - n_positive, n_positive),
            used,
            tuple(name for name in parts.names if name not in gone),
            tuple(skipped.items()),
            read,
            sample,
        )
        _refuse_labels(rows)
        return rows

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.n_of_class)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The used columns that hold numbers."""
        columns = self.parts.survey().columns
        return tuple(name for name in self.used if columns[name].is_numeric)

    def is_positive(self, part: TablePart) -> BoolArray:
        """Tell which rows of a partition are positive."""
        return _is_positive(part, str(self.parts.target), self.positive)

    def drawn(self, half: _Half, n_rows: int) -> TablePart:
        """Draw rows of a half, by their keys among samples."""
        share = min(1.0, MOST_SAMPLED / n_rows)
        return join_parts(self.parts.map(_drawn_of_half, common=(half, share)))

    def everything(self) -> _Half:
        """Give a half that holds all rows."""
        return _Half(str(self.parts.target), self.positive, 0, _NO_LIMITS, True)


class _Half(NamedTuple):
    """Some of the rows, by the keys of their numbers: those of each class below a limit, or the others."""

    target: str
    positive: Any
    seed: int
    limits: tuple[float, float]
    is_first: bool

    @property
    def is_whole(self) -> bool:
        """Whether it holds all rows."""
        return self.limits == _NO_LIMITS

    def other(self) -> _Half:
        """Give the other half."""
        return self._replace(is_first=not self.is_first)

    def mask(self, part: TablePart) -> BoolArray:
        """Tell which rows of a partition are in it."""
        limits = np.where(_is_positive(part, self.target, self.positive), *self.limits[::-1])
        return np.asarray((half_keys(part.rows, self.seed) < limits) == self.is_first)


class _Ranking(NamedTuple):
    """A model that ranks some rows, and what it says of those of the sample."""

    model: Any
    names: tuple[str, ...]
    half: _Half
    n_rows: int
    n_trained_on: int
    sample_scores: FloatArray

    def scores(self, part: TablePart) -> FloatArray:
        """Score the rows of a partition."""
        return _scores(self.model, part, self.names)


class _Found(NamedTuple):
    """The ends of a ranking, by row numbers, and their rows, top and bottom one after the other."""

    found: Ends
    rows: TablePart


# What runs where the partitions are.


def _itself(part: TablePart) -> TablePart:
    return part


def _is_positive(part: TablePart, target: str, positive: Any) -> BoolArray:
    return np.asarray(part.values(target) == positive, dtype=np.bool_)


def _scores(model: Any, part: TablePart, names: Sequence[str]) -> FloatArray:
    if not len(part.rows):
        return np.zeros(0)
    scores = rank_scores(model, part.table(names))
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        raise DataError(
            f"the score of {part.name_row(int(wrong[0]))} is {scores[wrong[0]]}; rows without a score cannot be ranked"
        )
    return scores


def _drawn_of_half(part: TablePart, half: _Half, share: float) -> TablePart:
    return sampled(part.take(half.mask(part)), share)


def _labelled(part: TablePart, half: _Half) -> TablePart:
    """Take the rows of a half, with 1 for the positive class and 0 for the other in the target."""
    some = part.take(half.mask(part))
    labels = _is_positive(some, half.target, half.positive).astype(np.int64)
    return some._replace(columns={**some.columns, half.target: labels})


def _values(part: TablePart, names: Sequence[str], ranking: _Ranking) -> list[FloatArray]:
    """Give the numbers of columns, and the scores of the rows of a half last."""
    return [*(known_numbers(part, name) for name in names), _half_scores(part, ranking)[1]]


def _half_scores(part: TablePart, ranking: _Ranking) -> tuple[TablePart, FloatArray]:
    mask = ranking.half.mask(part)
    some = part if mask.all() else part.take(mask)
    return some, ranking.scores(some)


def _class_keys(part: TablePart, half: _Half) -> list[FloatArray]:
    is_positive = _is_positive(part, half.target, half.positive)
    keys = half_keys(part.rows, half.seed)
    return [keys[~is_positive], keys[is_positive]]


def _end_rows(
    part: TablePart, ranking: _Ranking, limits: tuple[float, float], ties: tuple[int, int]
) -> list[tuple[TablePart, FloatArray]]:
    """Take the rows of both ends, of those that are tied with the last one as many as may be needed."""
    some, scores = _half_scores(part, ranking)
    high, low = np.flatnonzero(scores == limits[0]), np.flatnonzero(scores == limits[1])
    last = low[max(0, len(low) - ties[1]) :]
    places = (
        np.sort(np.concatenate([np.flatnonzero(scores > limits[0]), high[: ties[0]]])),
        np.sort(np.concatenate([np.flatnonzero(scores < limits[1]), last])),
    )
    return [(some.take(each), scores[each]) for each in places]


def _counted(
    part: TablePart, properties: RuleSet, names: Sequence[str], items: IntArray, half: _Half
) -> IntArray:
    """Count the rows of a half that have each conjunction, and the positive ones among them."""
    some = part.take(half.mask(part))
    counts = np.zeros((2, len(items)), dtype=np.int64)
    for start in range(0, len(some.rows), _CHUNK):
        chunk = some.take(slice(start, start + _CHUNK))
        masks = _masks(properties, chunk, names)
        covered = masks[items[:, 0]]
        for j in range(1, items.shape[1]):
            covered = covered & masks[items[:, j]]  # -1 is the row of ones
        counts[0] += covered.sum(axis=1)
        counts[1] += covered[:, _is_positive(chunk, half.target, half.positive)].sum(axis=1)
    return counts


def _masks(properties: RuleSet, part: TablePart, names: Sequence[str]) -> BoolArray:
    """Tell which rows have which properties, and put a row of ones below."""
    covered = properties.covers(part.table(names))
    return np.vstack([covered.T, np.ones((1, len(part.rows)), dtype=np.bool_)])


# What the caller does with it.


def _identifiers(survey: TableSurvey, sample: TablePart, names: Sequence[str]) -> dict[str, str]:
    """Find columns of identifiers, each with the reason: by the sample, and by the number of texts."""
    found = {}
    space = sample.table(names).space() if names else None
    for j, name in enumerate(names):
        facts = survey.columns[name]
        if facts.has_many_texts:
            found[name] = (
                "has more than 1,000 different texts; name it in exclude, or put it into groups first"
            )
        elif facts.is_numeric and space is not None:
            reason = id_reason(space, j, sample.numbers([name])[:, 0])
            if reason is not None and facts.is_whole:
                found[name] = reason
    return found


def _refuse_labels(rows: _Rows) -> None:
    """Refuse a column that tells the label in all rows of the sample."""
    table = rows.sample.table(rows.used)
    space = table.space()
    values = space.read(table)
    label = LabelColumn(rows.sample.values(str(rows.parts.target)), len(values))
    for j in range(len(space)):
        label.refuse(space, j, values[:, j])


def _rank(contrast: Any, rows: _Rows, half: _Half) -> _Ranking:
    """Fit the ranker to some rows: to all of them if it takes partitions, else to a sample of them."""
    estimator = contrast.estimator
    first = [first_half(n, k) for k, n in enumerate(rows.n_of_class)]
    n_rows = rows.n_rows
    if not half.is_whole:
        n_rows = sum(first) if half.is_first else n_rows - sum(first)
    if getattr(estimator, "_takes_partitions", False) and not is_trained(estimator):
        table = MappedTable(rows.parts, _labelled, (half,), rows.ranked)
        model, n_trained_on = clone(estimator).fit(table), n_rows
    else:
        part = rows.sample if half.is_whole else rows.drawn(half, n_rows)
        model = fit_ranker(estimator, part.table(rows.ranked), rows.is_positive(part))
        n_trained_on = 0 if is_trained(estimator) else len(part.rows)
    scores = _scores(model, rows.sample, rows.ranked)
    return _Ranking(model, rows.ranked, half, n_rows, n_trained_on, scores)


def _sizes(
    contrast: Any, rows: _Rows, ranking: _Ranking, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Return the sizes of the ends; "auto" and "cv" choose them on rows of the sample."""
    if not {contrast.top, contrast.bottom} & {"auto", "cv"}:
        return contrast.top, contrast.bottom, None
    some = np.flatnonzero(ranking.half.mask(rows.sample))
    part = rows.sample.take(some)
    whole, is_positive = part.table(rows.used), rows.is_positive(part)
    table = make_properties(whole, bins=contrast.bins, n_bins=contrast.n_bins, features=rows.used)
    held_out = (part.table(rows.ranked), is_positive, Splitting(HALVES).checked(len(some)))
    scores = ranking.sample_scores[some]
    found: tuple[Any, Any, Any] = contrast._choose_sizes(
        table, np.arange(len(some)), scores, held_out, rng
    )
    return found


def _find_ends_and_bins(
    contrast: Any, rows: _Rows, ranking: _Ranking, sizes: tuple[Any, Any]
) -> tuple[_Found, dict[str, FloatArray], list[str]]:
    """Find the ends of the ranking and the cuts of all columns in the same passes."""
    survey = rows.parts.survey()
    method = contrast.bins if isinstance(contrast.bins, str) else "quantile"
    open_columns = [name for name in rows.numeric if name not in rows.edges]
    few = _columns_of_few(rows.parts, open_columns)
    cuttings = [
        Cutting(name, method, int(contrast.n_bins), rows.n_rows - facts.n_missing, facts)
        for name, facts in ((n, survey.columns[n]) for n in open_columns if n not in few)
    ]
    names = tuple(each.name for each in cuttings)
    counts = _end_counts(sizes, ranking.n_rows)
    found = order_statistics(
        rows.parts,
        _values,
        (names, ranking),
        [*(each.ranks for each in cuttings), _end_ranks(counts, ranking.n_rows)],
        [*(known_numbers(rows.sample, name) for name in names), ranking.sample_scores],
    )
    points = [each.points(v) for each, v in zip(cuttings, found[:-1], strict=True)]
    around = find_around(rows.parts, _values, (names, ranking), [*points, found[-1]])
    edges = {
        each.name: each.cuts(p, a) for each, p, a in zip(cuttings, points, around[:-1], strict=True)
    }
    ends = _take_ends(rows, ranking, counts, found[-1], around[-1])
    return ends, {**rows.edges, **edges}, few


def _columns_of_few(parts: TableParts, names: Sequence[str]) -> list[str]:
    """Return the columns that have few different numbers in all partitions together."""
    found = parts.map(few_values, common=(tuple(names), _MAX_VALUES))
    few = []
    for name, each in zip(names, zip(*found, strict=True), strict=True):
        if all(values is not None for values in each):
            known = np.unique(np.concatenate([v for v in each if v is not None]))
            few += [name] * (len(known) <= _MAX_VALUES)
    return few


def _end_counts(sizes: tuple[Any, Any], n_rows: int) -> tuple[int, int]:
    counts = end_size(sizes[0], n_rows, "top"), end_size(sizes[1], n_rows, "bottom")
    if sum(counts) > n_rows:
        raise InvalidValueError(
            f"top={sizes[0]!r} and bottom={sizes[1]!r} are {counts[0]} and {counts[1]} of {n_rows} rows: they overlap; "
            "make one of them smaller"
        )
    return counts


def _end_ranks(counts: tuple[int, int], n_rows: int) -> IntArray:
    """Return the places of the last score of each end, from the lowest score on."""
    return np.array([n_rows - counts[0], counts[1] - 1], dtype=np.intp)


def _take_ends(
    rows: _Rows, ranking: _Ranking, counts: tuple[int, int], limits: FloatArray, around: Any
) -> _Found:
    """Bring the rows of both ends here; rows with equal scores stand in the order of the table."""
    above = ranking.n_rows - int(around.at_most[0])
    below = int(around.below[1])
    if not below and not above and limits[0] == limits[1]:
        raise DataError("all rows have the same score: there is no ranking to contrast")
    wanted = counts[0] - above, counts[1] - below
    pair = float(limits[0]), float(limits[1])
    taken = rows.parts.map(_end_rows, common=(ranking, pair, wanted))
    ends, numbers = [], []
    for side, count in enumerate(counts):
        part = join_parts([each[side][0] for each in taken])
        scores = np.concatenate([each[side][1] for each in taken])
        order = np.lexsort((part.rows, -scores) if side == 0 else (-part.rows, scores))[:count]
        ends.append(part.take(order))
        numbers.append(part.rows[order])
    equal = (around.at_most - around.below).tolist()
    found = Ends(numbers[0], numbers[1], equal[0] - wanted[0], equal[1] - wanted[1])
    return _Found(found, join_parts(ends))


def _properties(
    contrast: Any,
    rows: _Rows,
    ends: _Found,
    edges: Mapping[str, FloatArray],
    few: Sequence[str],
) -> PropertyTable:
    """Make the properties of the rows of the ends and of the sample, with a row for each that occurs anywhere."""
    shown: set[tuple[str, float]] = set()
    extra = [rows.parts.sample_with_ends(0)]
    for part, what in rows.parts.map(witnesses, common=(tuple(few), dict(edges))):
        new = [k for k, one in enumerate(what) if one not in shown]
        shown.update(what)
        extra.append(part.take(np.array(new, dtype=np.intp)))
    columns = (*rows.used, str(rows.parts.target))
    whole = join_parts([each.select(columns) for each in (ends.rows, rows.sample, *extra)])
    cut = {name: each for name, each in edges.items() if name in rows.used}
    table = make_properties(whole.table(rows.used), bins=cut, features=rows.used)
    if not len(table):
        raise DataError(
            "no attribute has more than one value, or one that pays to cut: there is nothing to contrast"
        )
    return PropertyTable(
        table.space,
        table.properties,
        table.masks,
        table.attribute,
        table.constant,
        (*rows.skipped, *table.skipped),
    )


def _confirm(
    contrast: Any, rows: _Rows, table: PropertyTable, rng: np.random.Generator
) -> dict[tuple[Items, bool], float] | None:
    """Find properties on one half of the rows, and ask the labels of the other, by counting."""
    if contrast.cv is None or is_trained(contrast.estimator):
        return None
    first = _first_half(rows, half_seed(rng))
    properties = RuleSet(
        (table.rule([k], "top") for k in range(len(table))), table.space, ["top", "bottom"]
    )
    best: dict[tuple[Items, bool], float] = {}
    areas, pairs = [], []
    for half in (first, first.other()):
        ranking = _rank(contrast, rows, half)
        found, is_top = _explore(contrast, rows, table, properties, ranking, rng)
        trained, tested = half.mask(rows.sample), half.other().mask(rows.sample)
        pairs.append((rows.sample.rows[trained], rows.sample.rows[tested]))
        positive = rows.is_positive(rows.sample)[tested]
        both = positive.any() and not positive.all()
        areas.append(
            float(roc_auc_score(positive, ranking.sample_scores[tested])) if both else np.nan
        )
        if len(found):
            p = _held_out_p(rows, properties, found, is_top, half.other())
            for items, side, value in zip(
                found.items.tolist(), is_top.tolist(), p.tolist(), strict=True
            ):
                key = tuple(i for i in items if i >= 0), side
                best[key] = min(best.get(key, 1.0), 2 * value)
    contrast.folds_ = Folds(tuple(pairs), "random halves")
    known = np.array(areas)[np.isfinite(areas)]
    contrast.held_out_auc_ = float(known.mean()) if len(known) else float("nan")
    return best


def _first_half(rows: _Rows, seed: int) -> _Half:
    """Find the keys at which the first half of each class ends."""
    half = rows.everything()._replace(seed=seed)
    sizes = [first_half(n, k) for k, n in enumerate(rows.n_of_class)]
    ranks = [np.array([size], dtype=np.intp) for size in sizes]
    # Keys are spread evenly.
    guesses = [np.linspace(0.0, 1.0, 256)] * 2
    found = order_statistics(rows.parts, _class_keys, (half,), ranks, guesses)
    return half._replace(limits=(float(found[0][0]), float(found[1][0])))


def _explore(
    contrast: Any,
    rows: _Rows,
    table: PropertyTable,
    properties: RuleSet,
    ranking: _Ranking,
    rng: np.random.Generator,
) -> tuple[Found, BoolArray]:
    """Find the properties that set the ends of a half apart, and which end each speaks of."""
    *sizes, _ = _sizes(contrast, rows, ranking, rng)
    share = ranking.n_rows / rows.n_rows
    # A count of rows is one of all rows; half of them have half of it.
    given = [size if isinstance(size, float) else max(1, int(size * share)) for size in sizes]
    counts = _end_counts((given[0], given[1]), ranking.n_rows)
    scores = ranking.sample_scores[ranking.half.mask(rows.sample)]
    ranks = [_end_ranks(counts, ranking.n_rows)]
    limits = order_statistics(rows.parts, _values, ((), ranking), ranks, [scores])
    around = find_around(rows.parts, _values, ((), ranking), limits)
    ends = _take_ends(rows, ranking, counts, limits[0], around[0])
    masks = _masks(properties, ends.rows, rows.used)[:-1]
    top, bottom = np.arange(counts[0]), counts[0] + np.arange(counts[1])
    packed = Contrast.of(np.ascontiguousarray(masks), top, bottom, table.attribute)
    found = contrast._search(packed, contrast.min_leverage_)
    return found, np.asarray(packed.product(found.top, found.bottom) > 0)


def _held_out_p(
    rows: _Rows, properties: RuleSet, found: Found, is_top: BoolArray, half: _Half
) -> FloatArray:
    """Test candidates on the labels of a half, counted on all its rows."""
    common = (properties, rows.used, found.items, half)
    covered, positive = np.sum(rows.parts.map(_counted, common=common), axis=0)
    first = [first_half(n, k) for k, n in enumerate(rows.n_of_class)]
    n = first if half.is_first else [a - b for a, b in zip(rows.n_of_class, first, strict=True)]
    side = np.where(is_top, 1, -1)
    return holm(fisher(positive, covered - positive, n[1], n[0], side))
