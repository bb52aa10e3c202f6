"""RankContrast: what sets the top of a ranking apart from its bottom.

Rows are ranked (`fit_ranker`, `rank_scores`), both ends are taken (`ends`), the properties of the table (`discretise`)
are searched for those in which the ends differ, tested (`significance`) and listed (`property_search`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils import ClassifierTags, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.progress import all_or_nothing
from clearmargin.rankings.contrast_text import contrast_html, describe_contrast
from clearmargin.rankings.discretise import make_properties
from clearmargin.rankings.ends import (
    AUTO_SIZES,
    FEWEST_ROWS,
    RankedFold,
    choose_size,
    find_ends,
    hold_up,
)
from clearmargin.rankings.properties import Listing, PropertyTable
from clearmargin.rankings.property_search import list_properties, make_histograms
from clearmargin.rankings.ranker import fit_ranker, is_trained, rank_scores
from clearmargin.rankings.significance import (
    LEVEL,
    Items,
    fisher,
    held_out_p,
    holm,
    n_tests,
)
from clearmargin.rule_base.leverage_search import (
    Contrast,
    Found,
    least_product,
    search_above,
)
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
# Properties that are found at most; more are an error.
_MOST_FOUND = 1_000_000
# What an earlier fit may have left.
_OF_ONE_FIT = (
    *("auc_", "roc_", "_roc_ranks", "model_", "classes_", "held_out_auc_", "folds_", "_sizes"),
    *("properties_", "histograms_", "sizes_", "n_ranked_on_", "n_sampled_rows_"),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """The properties of all rows, and what labels are asked on: what ranks, the labels, and how rows are split."""

    table: PropertyTable
    rng: np.random.Generator
    X: Any = None
    is_positive: BoolArray | None = None
    splitting: Any = None


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
    bins, exclude
        How attributes become properties; see `make_properties`. Columns in `exclude`, and those that look like
        identifiers, do not rank either. Edges in `bins` that were chosen by these labels have seen them, and what they
        confirm is worth nothing.
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
        All properties of all rows, or of those drawn.
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
        self._note_columns(X, y)
        whole = Table.read(X)
        is_positive = self._read_labels(y, len(whole))
        table = self._table(whole, y)
        ranked = self._without_excluded(whole, table)
        self.model_ = fit_ranker(self.estimator, ranked, is_positive)
        scores = rank_scores(self.model_, ranked)
        is_free = groups is None and times is None and self.cv is not None
        cv = self.cv if is_free or self.cv not in (HALVES, None) else 2
        splitting = Splitting(cv, groups, times).checked(len(scores))
        self._contrast(_Task(table, self._rng(), ranked, is_positive, splitting), scores)
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
        self._note_columns(X)
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
        self._contrast(_Task(table, self._rng()), values)
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
            self._properties.columns[name] = np.array([getattr(each, part) for each in stats])

    def _note_columns(self, X: Any, y: Any = "no_validation") -> None:
        for name in _OF_ONE_FIT:
            self.__dict__.pop(name, None)
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

    def _without_excluded(self, whole: Table, table: PropertyTable) -> Table:
        """Leave out of the ranking, too, what was excluded, and columns of identifiers."""
        gone = {str(name) for name in self.exclude} | {name for name, _ in table.skipped}
        kept = whole.select([name for name in whole.names if name not in gone])
        return kept if kept.is_frame else Table.read(kept.array)

    def _rng(self) -> np.random.Generator:
        random = check_random_state(self.random_state)
        return np.random.default_rng(int(random.randint(_SEEDS)))

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

    def _table(self, X: Table, y: Any) -> PropertyTable:
        check_options(self, self._options)
        least = self.min_leverage
        if not isinstance(least, int | float | np.floating) or not 0 < least <= 0.25:
            raise InvalidValueError(
                f"min_leverage must be a number above 0 and at most 0.25, not {least!r}"
            )
        self.min_leverage_ = float(least)
        table = make_properties(X, bins=self.bins, exclude=self.exclude, y=y)
        if not len(table):
            raise DataError("no attribute has more than one value: there is nothing to contrast")
        return table

    def _contrast(self, task: _Task, scores: FloatArray) -> None:
        """Take the ends of the ranking, search for properties, test and list them."""
        table = task.table
        top, bottom, sizes = self._choose_sizes(task, np.arange(len(scores)), scores)
        if sizes is not None:
            self._sizes = sizes
        ends = find_ends(scores, top, bottom)
        if len(scores) < FEWEST_ROWS:
            warnings.warn(
                f"the ends of a ranking of {len(scores)} rows are {len(ends.top)} and {len(ends.bottom)} cases: what "
                f"is found describes these rows, and nothing can be confirmed from fewer than {FEWEST_ROWS}",
                ClearmarginWarning,
                stacklevel=3,
            )
        contrast = ends.contrast(table)
        found = self._search(contrast)
        labels = None if task.is_positive is None else self._confirm(task, task.is_positive)
        tests = n_tests(table, int(self.max_size), 1 if sizes is None else len(sizes))
        listed = list_properties(
            table, contrast, found, ends, tests=tests, scores=scores, held_out=labels
        )
        self._properties, self._histograms = listed, make_histograms(table, ends, listed)
        self.table_, self.scores_, self.n_rows_ = table, scores, len(scores)
        self.top_index_, self.bottom_index_ = ends.top, ends.bottom
        self.top_ties_, self.bottom_ties_ = ends.top_ties, ends.bottom_ties
        pairs = zip(listed["items"], listed["side"], strict=True)
        rules = (table.rule(items, side) for items, side in pairs)
        self.rules_ = RuleSet(rules, table.space, ["top", "bottom"])

    def _confirm(
        self, task: _Task, is_positive: BoolArray
    ) -> dict[tuple[Items, bool], float] | None:
        """Find properties on part of the rows, and ask the labels of the others; None where there is none to ask."""
        X, splitting = task.X, task.splitting
        space = X.space()
        points = X.points(space)
        first = np.arange(len(points))
        if not must_repeat(points, len(points)):
            first = first_of_equal(value_keys(space, points))
        is_ours = self.cv == HALVES or isinstance(self.cv, int | np.integer)
        is_free = splitting.groups is None and splitting.times is None
        if is_ours and is_free and (first < np.arange(len(first))).any():
            splitting = replace(splitting, groups=first)
            task = replace(task, splitting=splitting)
        # A ranking that is not trained anew has seen all labels. Nor can few rows be halved.
        is_trained = self.estimator is not None and find_trained_part(self.estimator)
        if self.cv is None or is_trained or len(is_positive) < 2 * FEWEST_ROWS:
            return None
        seed = task.rng if splitting.cv == HALVES else int(task.rng.integers(_SEEDS))
        folds = replace(splitting, seed=seed).folds(X, is_positive)
        usable = tuple(pair for pair in folds.pairs if len(pair[0]) >= FEWEST_ROWS)
        self.folds_ = replace(folds, pairs=usable)

        def explore(rows: IntArray, others: IntArray) -> tuple[Found, BoolArray, float]:
            """Rank some rows by themselves, find the properties that set their ends apart, and rank the others."""
            part = X.take(rows)
            model = fit_ranker(self.estimator, part, is_positive[rows])
            scores = rank_scores(model, part)
            try:
                *sizes, _ = self._choose_sizes(task, rows, scores)
            except DataError:
                # The rows cannot be split again: a class has one row, or one time has all of them.
                sizes = [AUTO_SIZES[-1], AUTO_SIZES[-1]]
            # A count of rows is one of all rows; half of them have half of it.
            share = len(rows) / len(is_positive)
            sizes = [q if isinstance(q, float) else max(1, int(q * share)) for q in sizes]
            contrast = find_ends(scores, *sizes).among(rows).contrast(task.table)
            found = self._search(contrast)
            auc = float("nan")
            if len(np.unique(is_positive[others])) == 2:
                auc = float(roc_auc_score(is_positive[others], rank_scores(model, X.take(others))))
            return found, np.asarray(contrast.product(found.top, found.bottom) > 0), auc

        labels, areas = held_out_p(task.table, is_positive, explore, self.folds_, first)
        known = areas[np.isfinite(areas)]
        self.held_out_auc_ = float(known.mean()) if len(known) else float("nan")
        return labels

    def _search(self, contrast: Contrast) -> Found:
        threshold = least_product(self.min_leverage_, contrast.n_top, contrast.n_bottom)
        return search_above(contrast, threshold, int(self.max_size), limit=_MOST_FOUND)

    def _choose_sizes(
        self, task: _Task, rows: IntArray, scores: FloatArray
    ) -> tuple[Any, Any, Listing | None]:
        """Return the sizes of the ends of ranked rows and, where they are chosen here, what was found at each."""
        words = {size for size in (self.top, self.bottom) if size in ("auto", "cv")}
        if not words:
            return self.top, self.bottom, None
        if len(words) == 2:
            raise InvalidValueError(
                f"top={self.top!r} and bottom={self.bottom!r} choose in two ways; both ends get one size, so give "
                "one of them"
            )

        def count(share: float) -> tuple[int, int]:
            """Return how many properties there are at a size, and how many of them pass Holm's test."""
            contrast = find_ends(scores, share, share).among(rows).contrast(task.table)
            found = self._search(contrast)
            p = fisher(found.top, found.bottom, contrast.n_top, contrast.n_bottom)
            tests = n_tests(task.table, int(self.max_size), len(AUTO_SIZES))
            return len(found), int((holm(p, tests) <= LEVEL).sum())

        if words == {"auto"}:
            share, sizes = choose_size(scores, ("above", "significant"), count)
            return share, share, sizes
        folds = self._ranked_folds(task, rows, scores)
        measure = partial(hold_up, task.table, folds, self._search)
        share, sizes = choose_size(scores, ("found", "score"), measure)
        return share, share, sizes

    def _ranked_folds(self, task: _Task, rows: IntArray, scores: FloatArray) -> list[RankedFold]:
        """Split some rows into folds, and rank each by a model of its training rows, or by the ranking given."""
        seed = int(task.rng.integers(_SEEDS))
        positions, labels = np.arange(len(rows))[:, None], task.is_positive
        if labels is None:
            # Each fold gets as much of the upper half of the ranking as of the lower one.
            is_upper = np.argsort(np.argsort(-scores, kind="stable")) < len(rows) / 2
            given = Splitting(_SIZE_FOLDS, seed=seed).folds(positions, is_upper)
            return [RankedFold(a, b, scores[a], scores[b]) for a, b in given.pairs]
        inner = replace(task.splitting.within(rows, _SIZE_FOLDS), seed=seed)
        folds = []
        for train, test in inner.folds(positions, labels[rows]).pairs:
            a, b = rows[train], rows[test]
            model = fit_ranker(self.estimator, task.X.take(a), labels[a])
            ranked = (rank_scores(model, task.X.take(part)) for part in (a, b))
            folds.append(RankedFold(a, b, *ranked))
        return folds

    @cached_property
    def properties_(self) -> pd.DataFrame:
        """All properties found, the largest leverage first."""
        check_is_fitted(self)
        return self._properties.to_frame()

    @cached_property
    def histograms_(self) -> pd.DataFrame:
        """For each attribute and value, the share of the top and of the bottom rows."""
        check_is_fitted(self)
        return self._histograms.to_frame()

    @cached_property
    def sizes_(self) -> pd.DataFrame:
        """With ``top="auto"``, what was found at each size."""
        check_is_fitted(self, "_sizes", msg="no sizes were tried; with top='auto' fit tries some")
        return self._sizes.to_frame()

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
