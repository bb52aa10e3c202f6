"""RankContrast: what sets the top of a ranking apart from its bottom.

Rows are ranked and both ends are taken (`ranking`), the properties of the table (`properties`) are searched for those
in which the ends differ (`rule_base.leverage_search`), tested (`significance`) and listed.

Which rows are the ends? Taking the size with the most properties, as the paper does, favours the smallest ends, where
chance alone makes leverages large. So ``top="auto"`` counts only properties that also pass Holm's test at their size.
``top="cv"`` is what the paper proposes in its outlook. In each fold the rows of the training part are ranked by a model
of their own, their ends at a share q are searched, and what is found is measured at the ends of the test part at the
same share q, ranked by the same model: with a of the top rows and b of the bottom rows having the property, as shares,
``(a - b) / 4`` for a property of the top, ``(b - a) / 4`` for one of the bottom. The figure of a fold is the mean over
the properties found, 0 where none is; that of a size is the mean over folds. Either way several sizes were looked at:
corrections multiply by their number. And what is confirmed on held-out labels has to be chosen without them: each fold
chooses for itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils import ClassifierTags, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.progress import all_or_nothing
from clearmargin.rankings.contrast_text import contrast_html, describe_contrast
from clearmargin.rankings.properties import PropertyTable, make_properties
from clearmargin.rankings.ranking import (
    FEWEST_ROWS,
    Ends,
    end_size,
    find_ends,
    fit_ranker,
    is_trained,
    rank_scores,
)
from clearmargin.rankings.significance import (
    LEVEL,
    add_to_their_parts,
    area_of,
    count_rows,
    first_of_its_cover,
    fisher,
    holm,
    leverage,
    leverage_interval,
    n_tests,
    q_values,
)
from clearmargin.rule_base.leverage_search import Contrast, Found, least_product, search_above
from clearmargin.rule_base.options import Option, WholeNumber, check_options
from clearmargin.rule_base.training import find_trained_part
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.row_order import first_of_equal, must_repeat, value_keys
from clearmargin.tables.sampled_fit import counted_on_all, fits_a_sample
from clearmargin.tables.splitting import HALVES, Splitting
from clearmargin.tables.table import (
    Table,
    as_header,
    check_has_columns,
    make_frame,
    read_frame,
    refuse_collection,
)
from clearmargin.tables.validation import plain_labels

if TYPE_CHECKING:
    import pandas as pd

    from clearmargin.tables.part_survey import TableParts

# Seeds are below.
_SEEDS = np.iinfo(np.int32).max
# Folds in which sizes of the ends are compared.
_SIZE_FOLDS = 5
# Sizes that are compared: up to 27 %, where the difference between the ends is easiest to tell from chance.
_SIZES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.27)
# With fewer rows nothing passes Holm's test.
_SMALLEST_END = 5
# Properties that are found at most; more are an error.
_MOST_FOUND = 1_000_000

# The items of a conjunction, and whether it is one of the top.
Sided = tuple[tuple[int, ...], bool]


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """What is ranked, which rows are positive, and how rows are split to ask their labels."""

    X: Table
    is_positive: BoolArray
    splitting: Splitting


class RankContrast(BaseEstimator):  # type: ignore[misc]
    """Properties in which the top and the bottom of a ranking differ.

    Rows are ranked by a linear SVM whose positive class counts n-/n+ times (or by any classifier, or by given scores),
    and properties *attribute = value*, *attribute in [low, high)* and their conjunctions are searched, exactly, for
    those that are common at one end and rare at the other: their leverage ``P(p, top) - P(p) P(top)`` among the rows of
    both ends is at least `min_leverage`. After YSVM (Salleb-Aouissi, Huang and Waltz, 2009).

    Two questions are kept apart. Columns `p_value`, `holm` and `q_value` ask whether a property separates the ends of
    *this ranking*; on any ranking made from the attributes, even one of pure noise, some do. Column `confirmed` asks
    whether it has to do with the *label*: it was found on one half of the rows and passed a test on the labels of the
    other.

    Parameters
    ----------
    estimator : classifier, optional
        Ranks the rows by its decision function or probabilities.
    top, bottom : float, int, "auto" or "cv", default 0.05
        Size of each end: a share (rounded down) or a number of rows. With "auto" for either, both ends have the size
        with the most properties that also pass Holm's test; with "cv", the size at which what is found on part of the
        rows has the largest mean leverage on the others, in five folds. Corrections then count the sizes that were
        looked at, and each fold for `confirmed` chooses its size on its training rows alone.
    min_leverage : float, default 0.08
        Least leverage, between 0 and 0.25.
    max_size : int, default 2
        Most properties in a conjunction.
    bins : int or mapping, default 5
        How many equally full bins to cut numbers with more than ten different values into, at most. A mapping gives the
        inner edges of attributes by name, taken as they are; the other attributes are cut into five. Edges that were
        chosen by these labels have seen them, and confirm nothing.
    exclude : iterable of str, default ()
        Columns to leave out, of the ranking and of the properties: the target, scores, identifiers. Columns of an array
        are called x0, x1, ... Columns that look like identifiers (texts that all differ; whole numbers that all differ
        and are called id or alike) are left out anyway, unless `bins` names them.
    positive : label, optional
        The class that belongs at the top; by default the second one.
    cv : "halves", int, splitter, iterable of (train, test) or None, default "halves"
        Folds for `confirmed` and `held_out_auc_`: two random halves, each tested after training on the other, or as
        many folds, stratified and shuffled. Equal rows are in one part, and count once where they are tested. With
        None nothing is confirmed. For groups and times, see `fit`.
    random_state : int, RandomState or None, default 0
        For halves and shuffles.

    Attributes
    ----------
    properties_ : DataFrame
        All properties found, the largest leverage first; see `describe` for what its columns mean. Where rows were
        drawn, `rows` and `positive_rows` count all rows with the property, and the positive ones among them.
    rules_ : RuleSet
        Those that a rule can say, for the classes "top" and "bottom", in the same order.
    histograms_ : DataFrame
        For each attribute and value, the share of the top and of the bottom rows.
    top_index_, bottom_index_ : ndarray of int
        The rows at each end, from the outside inwards.
    top_ties_, bottom_ties_ : int
        Rows left out with the same score as the last one taken in.
    scores_ : ndarray of shape (m,)
        The ranking of all rows, or of those drawn.
    n_rows_, n_sampled_rows_, n_ranked_on_ : int
        How many rows the table has, how many of them were taken (all, or of a table in files a sample), and how many
        the ranking was trained on: 0 for one that was trained before.
    min_leverage_ : float
        The least leverage.
    sizes_ : DataFrame
        With ``top="auto"`` or ``top="cv"``, what was found at each size.
    auc_ : float
        Area under the ROC curve of the ranking, where there are labels: on the rows that it was trained on.
    held_out_auc_ : float
        The mean over the folds of the area on rows that the ranking of a fold was not trained on, where there are
        labels and rows enough; an `estimator` that cannot be trained again has none, and confirms nothing.
    folds_ : Folds
        Training and test rows of these folds, and how many rows occur in both parts of one.
    roc_ : tuple of ndarrays
        False and true positive rates, where there are labels.
    model_ : classifier
        The fitted ranker.
    table_ : PropertyTable
        All properties of all rows, or of those drawn: `properties`, each with its `text`, `masks` (a row for each
        property, a column for each row of the table), `attribute` (the column of each property), and `skipped`, the
        attributes that vary and gave no property, each with the reason.
    classes_ : ndarray of shape (2,)
        The classes, the positive one last.

    Examples
    --------
    >>> from clearmargin.datasets import make_votes
    >>> X, y = make_votes(random_state=0, return_X_y=True)
    >>> contrast = RankContrast(max_size=1).fit(X, y)
    >>> sorted(set(contrast.properties_["property"].str.split(" ").str[0]))[:3], len(contrast.properties_)
    (['x0', 'x1', 'x10'], 22)
    """

    _reads_tables = True  # see `Table.taken_by`
    _options: ClassVar[dict[str, Option]] = {
        "max_size": WholeNumber(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        top: Any = 0.05,
        bottom: Any = 0.05,
        min_leverage: Any = 0.08,
        max_size: int = 2,
        bins: Any = 5,
        exclude: Any = (),
        positive: Any = None,
        cv: Any = HALVES,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.top = top
        self.bottom = bottom
        self.min_leverage = min_leverage
        self.max_size = max_size
        self.bins = bins
        self.exclude = exclude
        self.positive = positive
        self.cv = cv
        self.random_state = random_state

    @all_or_nothing
    @fits_a_sample
    def fit(self, X: Any, y: Any = None, *, groups: Any = None, times: Any = None) -> Self:
        """Rank the rows by their labels, and contrast the ends.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The rows. With fewer than 40 nothing can be confirmed, and with fewer than 20 there is a warning: what is
            found describes these rows. A table in files has its labels with it. Of one of more than 100,000 rows that
            many are drawn, spread evenly over it, and contrasted; `properties_` then also counts all rows.
        y : array-like of shape (m,)
            Labels of two classes.
        groups : array-like of shape (m,), optional
            A value for each row; rows with the same value are never in both parts of a fold.
        times : array-like of shape (m,), optional
            A number, date or ISO text for each row; folds are tested on rows later than those they were trained on.

        Returns
        -------
        RankContrast
            Fitted.
        """
        self._begin(X, y)
        whole = Table.read(X)
        is_positive = self._read_labels(y, len(whole))
        table = self._table(whole, is_positive)
        # What was excluded, and columns of identifiers, do not rank either.
        out = {str(name) for name in self.exclude} | {name for name, _ in table.skipped}
        ranked = whole.select([name for name in whole.names if name not in out])
        ranked = ranked if ranked.is_frame else Table.read(ranked.array)
        self.model_ = fit_ranker(self.estimator, ranked, is_positive)
        scores = rank_scores(self.model_, ranked)
        is_free = groups is None and times is None and self.cv is not None
        cv = self.cv if is_free or self.cv not in (HALVES, None) else 2
        splitting = Splitting(cv, groups, times).checked(len(scores))
        self._contrast(table, scores, _Labels(ranked, is_positive, splitting))
        self.n_ranked_on_ = 0 if is_trained(self.estimator) else len(scores)
        self.auc_ = float(roc_auc_score(is_positive, scores))
        *rates, thresholds = roc_curve(is_positive, scores)
        self.roc_ = tuple(rates)
        # How many rows are at each point of the curve or before it.
        self._roc_ranks = len(scores) - np.searchsorted(np.sort(scores), thresholds)
        return self

    @all_or_nothing
    def fit_ranking(self, X: Any, scores: Any) -> Self:
        """Contrast the ends of a given ranking.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows. With fewer than 20 there is a warning: what is found describes these rows, and nothing can be
            concluded about others.
        scores : array-like of shape (m,)
            A score for each row, the highest at the top.

        Returns
        -------
        RankContrast
            Fitted, without labels: nothing is confirmed.
        """
        self._begin(X)
        values = np.asarray(scores, dtype=np.float64)
        whole = Table.read(X)
        if values.ndim == 1 and len(values) != len(whole):
            raise DataError(
                f"X has {len(whole)} rows and scores has {len(values)}; each row needs one"
            )
        table = self._table(whole, None)
        # Attributes whose values are the scores would explain any ranking.
        same = (table.space.read(whole) == values[:, None]).all(axis=0) if values.ndim == 1 else ()
        for j in np.intersect1d(np.flatnonzero(same), table.attribute).tolist():
            name = table.space.names[j]
            raise DataError(
                f"column {name!r} is the ranking itself: its values are the scores; leave it out with "
                f"exclude=[{name!r}]"
            )
        self._contrast(table, values)
        return self

    def _count_on_all(self, parts: TableParts) -> None:
        """Count on all rows of a table what was found on some, and name rows by their numbers in the table."""
        fitted: Any = self
        rows, positive = fitted._drawn_rows, as_label(self.classes_[1])
        for name in ("top_index_", "bottom_index_"):
            setattr(fitted, name, rows[getattr(fitted, name)])
        if hasattr(fitted, "folds_"):
            pairs = tuple((rows[a], rows[b]) for a, b in fitted.folds_.pairs)
            fitted.folds_ = replace(fitted.folds_, pairs=pairs)
        named = [replace(rule, label=positive) for rule in fitted.rules_]
        known = RuleSet(named, self.table_.space, [as_label(label) for label in self.classes_])
        stats: list[Any] = [rule.stats for rule in counted_on_all(known, parts)]
        for name, part in (("rows", "covered"), ("positive_rows", "correct")):
            self._properties[name] = np.array([getattr(each, part) for each in stats])

    def _begin(self, X: Any, y: Any = "no_validation") -> None:
        """Forget an earlier fit, and note the columns."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        if sparse.issparse(X):
            raise DataError(
                "X is a sparse matrix, and properties need a dense table; pass X.toarray()"
            )
        validate_data(self, as_header(read_frame(X, self)), y, skip_check_array=True)
        if not getattr(self, "n_features_in_", 1):
            check_has_columns(np.shape(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = (
            not hasattr(self.estimator, "fit") or get_tags(self.estimator).input_tags.allow_nan
        )
        tags.input_tags.string = True
        # Not a classifier, but it learns from labels like one.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _read_labels(self, y: Any, rows: int) -> BoolArray:
        refuse_collection(y, self, "y")
        y = plain_labels(y)
        check_classification_targets(y)
        labels = np.asarray(y)
        classes = np.unique(labels)
        if len(labels) != rows:
            raise DataError(f"X has {rows} rows but y has {len(labels)} labels; each row needs one")
        if not rows:
            raise DataError("the table is empty: X has no rows to rank")
        if len(classes) != 2:
            raise DataError(
                f"y has {len(classes)} classes; ranking tells two apart, so give it two"
            )
        positive = classes[1] if self.positive is None else self.positive
        if positive not in classes:
            known = ", ".join(repr(as_label(c)) for c in classes)
            raise InvalidValueError(f"positive={positive!r} is no class of y; known are {known}")
        self.classes_ = np.array([classes[classes != positive][0], positive], dtype=classes.dtype)
        return np.asarray(labels == self.classes_[1])

    def _table(self, X: Table, is_positive: BoolArray | None) -> PropertyTable:
        check_options(self, self._options)
        least = self.min_leverage
        if not isinstance(least, int | float | np.floating) or not 0 < least <= 0.25:
            raise InvalidValueError(
                f"min_leverage must be a number above 0 and at most 0.25, not {least!r}"
            )
        self.min_leverage_ = float(least)
        table = make_properties(X, self.bins, self.exclude, is_positive)
        if not len(table):
            raise DataError("no attribute has more than one value: there is nothing to contrast")
        return table

    def _contrast(
        self, table: PropertyTable, scores: FloatArray, labels: _Labels | None = None
    ) -> None:
        """Take the ends of the ranking, search for properties, test and list them."""
        random = check_random_state(self.random_state)
        rng = np.random.default_rng(int(random.randint(_SEEDS)))
        *asked, self._sizes = self._choose_sizes(table, np.arange(len(scores)), scores, labels, rng)
        ends = find_ends(scores, *asked)
        if len(scores) < FEWEST_ROWS:
            warnings.warn(
                f"the ends of a ranking of {len(scores)} rows are {len(ends.top)} and {len(ends.bottom)} cases: what "
                f"is found describes these rows, and nothing can be confirmed from fewer than {FEWEST_ROWS}",
                ClearmarginWarning,
                stacklevel=3,
            )
        found, is_top = self._search(table, ends)
        p = {} if labels is None else self._confirm(table, labels, rng)
        self.table_, self.scores_, self.n_rows_ = table, scores, len(scores)
        self.top_index_, self.bottom_index_ = ends.top, ends.bottom
        self.top_ties_, self.bottom_ties_ = ends.top_ties, ends.bottom_ties
        self._properties = listed = self._list(ends, found, is_top, p)
        pairs = zip(listed["items"], listed["side"], strict=True)
        rules = (table.rule(items, side) for items, side in pairs)
        self.rules_ = RuleSet(rules, table.space, ["top", "bottom"])

    def _search(self, table: PropertyTable, ends: Ends) -> tuple[Found, BoolArray]:
        """Find all properties in which two ends differ enough, and tell which are more common at the top."""
        contrast = Contrast.of(table.masks, ends.top, ends.bottom, table.attribute)
        least = least_product(self.min_leverage_, contrast.n_top, contrast.n_bottom)
        found = search_above(contrast, least, int(self.max_size), limit=_MOST_FOUND)
        return found, np.asarray(contrast.product(found.top, found.bottom) > 0)

    def _confirm(
        self, table: PropertyTable, labels: _Labels, rng: np.random.Generator
    ) -> dict[Sided, float]:
        """Find properties on the training part of each fold, and test them on the labels of the others."""
        X, is_positive, splitting = labels.X, labels.is_positive, labels.splitting
        space = X.space()
        points = X.points(space)
        # For each row the first one that is equal to it.
        first = np.arange(len(points))
        if not must_repeat(points, len(points)):
            first = first_of_equal(value_keys(space, points))
        is_ours = self.cv == HALVES or isinstance(self.cv, int | np.integer)
        is_free = splitting.groups is None and splitting.times is None
        if is_ours and is_free and (first < np.arange(len(first))).any():
            splitting = replace(splitting, groups=first)
            labels = replace(labels, splitting=splitting)
        # A ranking that is not trained anew has seen all labels. Nor can few rows be halved.
        is_trained = self.estimator is not None and find_trained_part(self.estimator)
        if self.cv is None or is_trained or len(is_positive) < 2 * FEWEST_ROWS:
            return {}
        seed = rng if splitting.cv == HALVES else int(rng.integers(_SEEDS))
        folds = replace(splitting, seed=seed).folds(X, is_positive)
        pairs = tuple(pair for pair in folds.pairs if len(pair[0]) >= FEWEST_ROWS)
        self.folds_ = replace(folds, pairs=pairs)
        best: dict[Sided, float] = {}
        areas = []
        for train, tested in pairs:
            # A copy of a training row knows its label, and of equal rows that are tested one counts.
            others = tested[~np.isin(first[tested], first[train])]
            test = others[np.unique(first[others], return_index=True)[1]]
            part, truth = X.take(train), is_positive[test]
            model = fit_ranker(self.estimator, part, is_positive[train])
            scores = rank_scores(model, part)
            try:
                *asked, _ = self._choose_sizes(table, train, scores, labels, rng)
            except DataError:
                # The rows cannot be split again: a class has one row, or one time has all of them.
                asked = [_SIZES[-1], _SIZES[-1]]
            # A count of rows is one of all rows; half of them have half of it.
            share = len(train) / len(is_positive)
            asked = [q if isinstance(q, float) else max(1, int(q * share)) for q in asked]
            found, is_top = self._search(table, find_ends(scores, *asked).among(train))
            if len(np.unique(truth)) == 2:
                areas.append(roc_auc_score(truth, rank_scores(model, X.take(test))))
            if not len(found):
                continue
            # A property of the top should have more positives than the rest, one of the bottom fewer.
            counts = [count_rows(found.items, table.masks[:, test[own]]) for own in (truth, ~truth)]
            sides = np.where(is_top, 1, -1)
            n_rows = np.count_nonzero(truth), np.count_nonzero(~truth)
            p = holm(fisher(counts[0], counts[1], *n_rows, side=sides))
            for key, value in zip(_sided(found, is_top), p.tolist(), strict=True):
                best[key] = min(best.get(key, 1.0), len(pairs) * value)
        self.held_out_auc_ = float(np.mean(areas)) if areas else float("nan")
        return best

    def _choose_sizes(
        self,
        table: PropertyTable,
        rows: IntArray,
        scores: FloatArray,
        labels: _Labels | None,
        rng: np.random.Generator,
    ) -> tuple[Any, Any, list[dict[str, Any]] | None]:
        """Return the sizes of the ends of ranked rows and, where they are chosen here, what was found at each."""
        words = {size for size in (self.top, self.bottom) if size in ("auto", "cv")}
        if not words:
            return self.top, self.bottom, None
        if len(words) == 2:
            raise InvalidValueError(
                f"top={self.top!r} and bottom={self.bottom!r} choose in two ways; both ends get one size, so give "
                "one of them"
            )
        folds = self._ranked_folds(rows, scores, labels, rng) if words == {"cv"} else None
        find_ends(scores, _SIZES[-1], _SIZES[-1])  # says what is wrong with the scores
        n = len(scores)
        usable = [q for q in _SIZES if n * q >= 1 and end_size(q, n, "top") >= _SMALLEST_END]
        sizes = []
        for q in usable or _SIZES[-1:]:
            size = {"share": q, "rows": end_size(q, n, "top")}
            if folds is not None:
                size |= self._held_up(table, folds, q)
            else:
                ends = find_ends(scores, q, q).among(rows)
                found, _ = self._search(table, ends)
                p = fisher(found.top, found.bottom, len(ends.top), len(ends.bottom))
                tests = len(_SIZES) * n_tests(table.attribute, int(self.max_size))
                significant = int((holm(p, tests) <= LEVEL).sum())
                size |= {"above": len(found), "significant": significant}
            sizes.append(size)
        aim = "significant" if folds is None else "score"
        best = max(sizes, key=lambda size: (size[aim], size["share"]))
        return best["share"], best["share"], [{**size, "chosen": size is best} for size in sizes]

    def _ranked_folds(
        self,
        rows: IntArray,
        scores: FloatArray,
        labels: _Labels | None,
        rng: np.random.Generator,
    ) -> list[list[tuple[IntArray, FloatArray]]]:
        """Split some rows into folds, and rank both parts of each by a model of the first, or by the ranking given."""
        seed = int(rng.integers(_SEEDS))
        positions = np.arange(len(rows))
        if labels is None:
            # Each fold gets as much of the upper half of the ranking as of the lower one.
            is_upper = np.argsort(np.argsort(-scores, kind="stable")) < len(rows) / 2
            given = Splitting(_SIZE_FOLDS, seed=seed).folds(positions[:, None], is_upper)
            return [[(part, scores[part]) for part in pair] for pair in given.pairs]
        inner = replace(labels.splitting.within(rows, _SIZE_FOLDS), seed=seed)
        folds = []
        for pair in inner.folds(positions[:, None], labels.is_positive[rows]).pairs:
            train, test = (rows[part] for part in pair)
            model = fit_ranker(self.estimator, labels.X.take(train), labels.is_positive[train])
            folds.append(
                [(part, rank_scores(model, labels.X.take(part))) for part in (train, test)]
            )
        return folds

    def _held_up(
        self, table: PropertyTable, folds: list[list[tuple[IntArray, FloatArray]]], share: float
    ) -> dict[str, float]:
        """Count what is found at the ends of the training parts of folds, and measure it at those of the test parts."""
        counts, scores = [], []
        for fold in folds:
            counts.append(0)
            scores.append(0.0)
            both: list[Ends | None] = []
            for rows, values in fold:
                if len(rows) >= 2 and values.min() < values.max():
                    size = max(1, int(Fraction(repr(share)) * len(rows)))
                    both.append(find_ends(values, size, size).among(rows))
                else:  # scores that rank nothing
                    both.append(None)
            ends, others = both
            if ends is None:
                continue
            found, is_top = self._search(table, ends)
            counts[-1] = len(found)
            if others is not None and len(found):
                at_top, at_bottom = (
                    count_rows(found.items, table.masks[:, end]) / len(end)
                    for end in (others.top, others.bottom)
                )
                scores[-1] = float(
                    (np.where(is_top, 1.0, -1.0) * (at_top - at_bottom) / 4.0).mean()
                )
        return {"found": float(np.mean(counts)), "score": float(np.mean(scores))}

    def _list(
        self, ends: Ends, found: Found, is_top: BoolArray, held_out: Mapping[Sided, float]
    ) -> dict[str, Any]:
        """Put everything that is known about the properties into columns, the largest leverage first."""
        table, n = self.table_, (len(ends.top), len(ends.bottom))
        keys = _sided(found, is_top)
        items = [key[0] for key in keys]
        size = np.array([len(each) for each in items], dtype=np.intp)
        low, high = leverage_interval(found.top, found.bottom, *n)
        p = fisher(found.top, found.bottom, *n)
        tests = n_tests(table.attribute, int(self.max_size)) * (
            1 if self._sizes is None else len(self._sizes)
        )
        in_top, in_bottom = table.masks[:, ends.top], table.masks[:, ends.bottom]
        improves, adds = add_to_their_parts(found, in_top, in_bottom)
        # A single property of the bottom whose complement is one of the top describes the other end.
        complements = table.complements()
        at_top = {own[0] for own, is_upper in keys if is_upper and len(own) == 1}
        is_told = [not upper and complements.get(own[0]) in at_top for own, upper in keys]
        is_first = first_of_its_cover(found, np.hstack([in_top, in_bottom]))
        shown = np.where(size == 1, ~np.array(is_told, dtype=np.bool_), improves & adds & is_first)
        held_out_p = np.array([held_out.get(key, np.nan) for key in keys], dtype=np.float64)
        areas, ranks = np.full(len(items), np.nan), np.asarray(rankdata(self.scores_))
        for k in np.flatnonzero(shown).tolist():
            areas[k] = area_of(np.all(table.masks[list(items[k])], axis=0), ranks)
        return {
            "property": [table.text(each) for each in items],
            "size": size,
            "side": np.where(is_top, "top", "bottom").astype(object),
            "top_count": found.top,
            "bottom_count": found.bottom,
            "leverage": leverage(found.top, found.bottom, *n),
            "low": low,
            "high": high,
            "support": (found.top + found.bottom) / sum(n),
            "p_value": p,
            "holm": holm(p, tests),
            "q_value": q_values(p, tests),
            "improves": improves,
            "productive": adds,
            "held_out_p": held_out_p,
            "confirmed": held_out_p <= LEVEL,
            "auc": areas,
            "shown": shown,
            "items": items,
        }

    @property
    def properties_(self) -> pd.DataFrame:
        """All properties found, the largest leverage first."""
        check_is_fitted(self, "table_")
        return make_frame(self._properties)

    @property
    def histograms_(self) -> pd.DataFrame:
        """For each attribute and value, the share of the top and of the bottom rows."""
        check_is_fitted(self, "table_")
        return make_frame(self._histograms())

    def _histograms(self) -> list[dict[str, Any]]:
        """Count the single properties at both ends, those of the attribute in which the ends differ most first."""
        table, ends = self.table_, (self.top_index_, self.bottom_index_)
        counts = [table.masks[:, end].sum(axis=1) for end in ends]
        shares = [count / len(end) for count, end in zip(counts, ends, strict=True)]
        found = {items[0] for items in self._properties["items"] if len(items) == 1}
        most: dict[int, float] = {}
        for each, gap in zip(table.properties, np.abs(shares[0] - shares[1]).tolist(), strict=True):
            most[each.column] = max(most.get(each.column, 0.0), gap)
        return [
            {
                "attribute": table.space.names[table.properties[k].column],
                "property": table.properties[k].text,
                "top_count": int(counts[0][k]),
                "bottom_count": int(counts[1][k]),
                "top_percent": 100.0 * float(shares[0][k]),
                "bottom_percent": 100.0 * float(shares[1][k]),
                "found": k in found,
            }
            for k in sorted(range(len(table)), key=lambda k: -most[table.properties[k].column])
        ]

    @property
    def sizes_(self) -> pd.DataFrame:
        """With ``top="auto"`` or ``top="cv"``, what was found at each size."""
        if getattr(self, "_sizes", None) is None:
            raise NotFittedError("no sizes were tried; with top='auto' fit tries some")
        return make_frame(self._sizes)

    def describe(self, most: int = 20) -> str:
        """Say what was found, and what the columns mean and do not mean.

        Parameters
        ----------
        most : int, default 20
            Most properties to list.

        Returns
        -------
        str
            Text for people.
        """
        return describe_contrast(self, most)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """The table of properties once fitted; before that, and where it is told to show text, scikit-learn decides."""
        shown: Callable[[], str] = super()._repr_html_
        return partial(contrast_html, self) if hasattr(self, "rules_") else shown

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # Notebooks prefer this to `_repr_html_`.
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] = self._repr_html_()
        return shown


def _sided(found: Found, is_top: BoolArray) -> list[Sided]:
    """Return the items of each conjunction, and whether it is one of the top."""
    pairs = zip(found.items.tolist(), is_top.tolist(), strict=True)
    return [(tuple(i for i in items if i >= 0), upper) for items, upper in pairs]
