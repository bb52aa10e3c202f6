"""RankContrast: what sets the top of a ranking apart from its bottom.

Rows are ranked (`fit_ranker`, `rank_scores`), both ends are taken (`ends`), the properties of the table (`discretise`)
are searched for those in which the ends differ, tested (`significance`) and listed (`property_search`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.rankings.discretise import make_properties
from clearmargin.rankings.ends import AUTO_SIZES, FEWEST_ROWS, Ends, choose_size, find_ends
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rankings.property_listing import Listing
from clearmargin.rankings.property_search import LEVEL, list_properties, make_histograms, n_tests
from clearmargin.rankings.ranker import fit_ranker, is_trained, rank_scores
from clearmargin.rankings.significance import Items, fisher, held_out_p, holm, shuffled_threshold
from clearmargin.rankings.size_choice import SIZE_CRITERIA, RankedFold, hold_up
from clearmargin.rule_base.leverage_search import (
    Contrast,
    Found,
    least_product,
    search_above,
    search_best,
)
from clearmargin.rule_base.training import find_trained_part
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.splitting import HALVES, Splitting
from clearmargin.tables.table import (
    Table,
    as_header,
    check_has_columns,
    read_frame,
    refuse_collection,
)
from clearmargin.tables.validation import check_whole, plain_labels

if TYPE_CHECKING:
    import pandas as pd

    from clearmargin.plot import LeverageDisplay, RankHistogramsDisplay, RankRocDisplay
    from clearmargin.tables.part_survey import TableParts

__all__ = [
    "RankContrast",
    "contrast_html",
    "describe_contrast",
    "refuse_scores",
    "worth_showing",
]


# Folds in which sizes of the ends are compared.
_SIZE_FOLDS = 5
# What an earlier fit may have left.
_OF_ONE_FIT = (
    *("auc_", "roc_", "model_", "classes_", "held_out_auc_", "folds_", "_sizes"),
    *("properties_", "histograms_", "sizes_", "n_ranked_on_"),
)


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
        rows holds up best on the others, see `size_criterion`. Corrections then count the sizes that were looked at,
        and each fold for `confirmed` chooses its size on its training rows alone.
    min_leverage : float or "shuffled", default 0.08
        Least leverage, between 0 and 0.25; "shuffled" takes what only one in twenty rankings at random would exceed.
    max_size : int, default 2
        Most properties in a conjunction.
    bins, n_bins, features, exclude
        How attributes become properties; see `make_properties`. Columns in `exclude`, and those that look like
        identifiers, do not rank either. Bins that are supervised have seen all labels: then nothing is confirmed.
    positive : label, optional
        The class that belongs at the top; by default the second one.
    limit : int, default 1,000,000
        Most properties to find; more are an error.
    size_criterion : {"leverage", "accuracy"}, default "leverage"
        What sizes are compared by in five folds with ``top="cv"``: the mean leverage of the properties found between
        the ends of the test rows, or their mean accuracy on the labels of the test rows, both classes weighing the
        same.
    cv : "halves", int, splitter, iterable of (train, test) or None, default "halves"
        Folds for `confirmed` and `held_out_auc_`: two random halves, each tested after training on the other, or as
        many folds, stratified and shuffled. With None nothing is confirmed. For groups and times, see `fit`.
    random_state : int, RandomState or None, default 0
        For halves and shuffles.

    Attributes
    ----------
    properties_ : DataFrame
        All properties found, the largest leverage first; see `describe` for what its columns mean.
    rules_ : RuleSet
        Those that a rule can say, for the classes "top" and "bottom", in the same order.
    histograms_ : DataFrame
        For each attribute and value, the share of the top and of the bottom rows.
    top_index_, bottom_index_ : ndarray of int
        The rows at each end, from the outside inwards.
    top_ties_, bottom_ties_ : int
        Rows left out with the same score as the last one taken in.
    scores_ : ndarray of shape (m,)
        The ranking; of a table in more partitions than are read, that of the rows drawn.
    n_rows_, n_ranked_on_ : int
        How many rows were ranked, and how many the ranking was trained on: 0 for one that was trained before.
    min_leverage_ : float
        The least leverage that was used.
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
        All properties of all rows; of a table in partitions, of the rows at the ends and some others.
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

    def __init__(
        self,
        estimator: Any = None,
        *,
        top: Any = 0.05,
        bottom: Any = 0.05,
        min_leverage: Any = 0.08,
        max_size: int = 2,
        bins: Any = "quantile",
        n_bins: int = 5,
        features: Any = None,
        exclude: Any = (),
        positive: Any = None,
        limit: int = 1_000_000,
        size_criterion: str = "leverage",
        cv: Any = HALVES,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.top = top
        self.bottom = bottom
        self.min_leverage = min_leverage
        self.max_size = max_size
        self.bins = bins
        self.n_bins = n_bins
        self.features = features
        self.exclude = exclude
        self.positive = positive
        self.limit = limit
        self.size_criterion = size_criterion
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, times: Any = None) -> Self:
        """Rank the rows by their labels, and contrast the ends.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The rows. With fewer than 40 nothing can be confirmed, and with fewer than 20 there is a warning: what is
            found describes these rows. A table in files has its labels with it. Of one of more than 20,000 rows that
            many are drawn by row number, to train the ranking on (unless `estimator` takes partitions, as `LPSVC`
            does) and to draw areas and curves of; ends, bins, counts and tests are those of all rows, found in passes.
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
        if is_partitions(X):
            return self._fit_parts(X, y, groups, times)
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
        self._contrast(table, scores, self._rng(), held_out=(ranked, is_positive, splitting))
        self.n_ranked_on_ = 0 if is_trained(self.estimator) else len(scores)
        self.auc_ = float(roc_auc_score(is_positive, scores))
        self.roc_ = roc_curve(is_positive, scores)[:2]
        return self

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
        refuse_scores(table, whole, values)
        self._contrast(table, values, self._rng(), held_out=None)
        return self

    def _fit_parts(self, parts: TableParts, y: Any, groups: Any, times: Any) -> Self:
        """Contrast the ends of a table in partitions; one that is small is read."""
        from clearmargin.rankings.contrast_in_parts import contrast_parts, whole_table

        for name, given in (("y", y), ("groups", groups), ("times", times)):
            if given is not None:
                raise DataError(
                    f"{name} must be left out where the table is given in partitions: the labels are in its column "
                    "target, and halves are made by row number"
                )
        if parts.weight is not None:
            raise DataError("a ranking counts rows, and has no use for sample_weight; leave it out")
        parts.survey().check_target()
        whole = whole_table(parts)
        if whole is not None:
            # Not that of a subclass, which takes collections.
            return RankContrast.fit(self, whole.table(parts.names), whole.values(str(parts.target)))
        for name in _OF_ONE_FIT:
            self.__dict__.pop(name, None)
        check_whole("max_size", self.max_size, 1)
        check_whole("limit", self.limit, 1)
        validate_data(self, parts.header, skip_check_array=True)
        contrast_parts(self, parts)
        return self

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
        tags.input_tags.allow_nan = True
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
        return np.random.default_rng(int(random.randint(np.iinfo(np.int32).max)))

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
        self._take_classes(classes)
        return np.asarray(labels == self.classes_[1])

    def _take_classes(self, classes: NDArray[Any]) -> None:
        positive = classes[1] if self.positive is None else self.positive
        if positive not in classes:
            known = ", ".join(repr(as_label(c)) for c in classes)
            raise InvalidValueError(f"positive={positive!r} is no class of y; known are {known}")
        self.classes_ = np.array([classes[classes != positive][0], positive], dtype=classes.dtype)

    def _table(self, X: Table, y: Any) -> PropertyTable:
        check_whole("max_size", self.max_size, 1)
        check_whole("limit", self.limit, 1)
        if self.bins == "supervised" and y is None:
            raise InvalidValueError("bins='supervised' needs labels; use fit(X, y) or other bins")
        table = make_properties(
            X,
            bins=self.bins,
            n_bins=self.n_bins,
            features=self.features,
            exclude=self.exclude,
            y=y,
        )
        if not len(table):
            raise DataError(
                "no attribute has more than one value, or one that pays to cut: there is nothing to contrast"
            )
        return table

    def _contrast(
        self,
        table: PropertyTable,
        scores: FloatArray,
        rng: np.random.Generator,
        held_out: tuple[Table, BoolArray, Splitting] | None,
    ) -> None:
        rows = np.arange(len(scores))
        top, bottom, sizes = self._choose_sizes(table, rows, scores, held_out, rng)
        if sizes is not None:
            self._sizes = sizes
        ends = find_ends(scores, top, bottom)
        if len(scores) < FEWEST_ROWS:
            warnings.warn(_too_few(len(scores), ends), ClearmarginWarning, stacklevel=3)
        contrast = _packed(table, ends)
        self.min_leverage_ = self._least_leverage(table, ends, rng)
        found = self._search(contrast, self.min_leverage_)
        labels = None if held_out is None else self._confirm(table, held_out, rng)
        tests = n_tests(table, int(self.max_size), 1 if sizes is None else len(sizes))
        self._properties = list_properties(
            table, contrast, found, ends, tests=tests, scores=scores, held_out=labels
        )
        self.table_, self.scores_, self.n_rows_ = table, scores, len(scores)
        self.top_index_, self.bottom_index_ = ends.top, ends.bottom
        self.top_ties_, self.bottom_ties_ = ends.top_ties, ends.bottom_ties
        self._histograms = make_histograms(table, ends, self._properties)
        rules = (
            table.rule(items, side)
            for items, side in zip(self._properties["items"], self._properties["side"], strict=True)
        )
        self.rules_ = RuleSet(rules, table.space, ["top", "bottom"])

    def _confirm(
        self,
        table: PropertyTable,
        held_out: tuple[Table, BoolArray, Splitting],
        rng: np.random.Generator,
    ) -> dict[tuple[Items, bool], float] | None:
        """Find properties on part of the rows, and ask the labels of the others; None where there is none to ask."""
        X, is_positive, splitting = held_out
        # A ranking that is not trained anew has seen all labels. Nor can few rows be halved.
        is_trained = self.estimator is not None and find_trained_part(self.estimator)
        if self.cv is None or is_trained or len(is_positive) < 2 * FEWEST_ROWS:
            return None
        seed = rng if splitting.cv == HALVES else int(rng.integers(np.iinfo(np.int32).max))
        folds = replace(splitting, seed=seed).folds(X, is_positive)
        usable = tuple(pair for pair in folds.pairs if len(pair[0]) >= FEWEST_ROWS)
        self.folds_ = replace(folds, pairs=usable)

        def explore(train: IntArray, test: IntArray) -> tuple[Found, BoolArray, float]:
            return self._explore(table, held_out, (train, test), rng)

        labels, areas = held_out_p(table, is_positive, explore, self.folds_)
        known = areas[np.isfinite(areas)]
        self.held_out_auc_ = float(known.mean()) if len(known) else float("nan")
        # Supervised bins have seen all labels: none is left that could confirm anything.
        return None if self.bins == "supervised" else labels

    def _least_leverage(self, table: PropertyTable, ends: Ends, rng: np.random.Generator) -> float:
        if self.min_leverage != "shuffled":
            return self._given_leverage()
        rows = np.concatenate([ends.top, ends.bottom])
        masks = table.masks[:, rows]

        def best(in_top: BoolArray) -> float:
            sides = np.flatnonzero(in_top), np.flatnonzero(~in_top)
            contrast = Contrast.of(masks, *sides, table.attribute)
            top = search_best(contrast, 1, int(self.max_size))
            product = np.abs(contrast.product(top.top, top.bottom)).max(initial=0)
            return float(product) / len(rows) ** 2

        return shuffled_threshold(best, len(ends.top), len(ends.bottom), random_state=rng).value

    def _given_leverage(self) -> float:
        """Return the least leverage that sizes are compared at: the one given, or the default one for "shuffled"."""
        given = 0.08 if self.min_leverage == "shuffled" else self.min_leverage
        if not isinstance(given, int | float | np.floating) or not 0 < given <= 0.25:
            raise InvalidValueError(
                f"min_leverage must be a number above 0 and at most 0.25, or 'shuffled', not {given!r}"
            )
        return float(given)

    def _search(self, contrast: Contrast, min_leverage: float) -> Found:
        threshold = least_product(min_leverage, contrast.n_top, contrast.n_bottom)
        return search_above(contrast, threshold, int(self.max_size), limit=int(self.limit))

    def _choose_sizes(
        self,
        table: PropertyTable,
        rows: IntArray,
        scores: FloatArray,
        held_out: tuple[Table, BoolArray, Splitting] | None,
        rng: np.random.Generator,
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
        search = partial(self._search, min_leverage=self._given_leverage())
        if words == {"auto"}:
            share, sizes = choose_size(
                scores, ("above", "significant"), partial(self._count, table, rows, scores, search)
            )
            return share, share, sizes
        if self.size_criterion not in SIZE_CRITERIA:
            raise InvalidValueError(
                f"size_criterion must be 'leverage' or 'accuracy', not {self.size_criterion!r}"
            )
        labels = None
        if self.size_criterion == "accuracy":
            if held_out is None:
                raise InvalidValueError(
                    "size_criterion='accuracy' needs labels; use fit(X, y), or size_criterion='leverage'"
                )
            labels = held_out[1]
        folds = self._ranked_folds(rows, scores, held_out, rng)
        measure = partial(hold_up, table, folds, search, is_positive=labels)
        share, sizes = choose_size(scores, ("found", "score"), measure)
        return share, share, sizes

    def _ranked_folds(
        self,
        rows: IntArray,
        scores: FloatArray,
        held_out: tuple[Table, BoolArray, Splitting] | None,
        rng: np.random.Generator,
    ) -> list[RankedFold]:
        """Split some rows into folds, and rank each by a model of its training rows, or by the ranking given."""
        seed = int(rng.integers(np.iinfo(np.int32).max))
        positions = np.arange(len(rows))[:, None]
        if held_out is None:
            # Each fold gets as much of the upper half of the ranking as of the lower one.
            is_upper = np.argsort(np.argsort(-scores, kind="stable")) < len(rows) / 2
            given = Splitting(_SIZE_FOLDS, seed=seed).folds(positions, is_upper)
            return [RankedFold(a, b, scores[a], scores[b]) for a, b in given.pairs]
        X, is_positive, splitting = held_out
        inner = replace(splitting.within(rows, _SIZE_FOLDS), seed=seed)
        folds = []
        for train, test in inner.folds(positions, is_positive[rows]).pairs:
            a, b = rows[train], rows[test]
            model = fit_ranker(self.estimator, X.take(a), is_positive[a])
            ranked = (rank_scores(model, X.take(part)) for part in (a, b))
            folds.append(RankedFold(a, b, *ranked))
        return folds

    def _count(
        self,
        table: PropertyTable,
        rows: IntArray,
        scores: FloatArray,
        search: Callable[[Contrast], Found],
        share: float,
    ) -> tuple[int, int]:
        """Return how many properties there are at a size, and how many of them pass Holm's test."""
        ends = find_ends(scores, share, share)
        found = search(_packed(table, ends.among(rows)))
        p = fisher(found.top, found.bottom, len(ends.top), len(ends.bottom))
        tests = n_tests(table, int(self.max_size), len(AUTO_SIZES))
        return len(found), int((holm(p, tests) <= LEVEL).sum())

    def _explore(
        self,
        table: PropertyTable,
        held_out: tuple[Table, BoolArray, Splitting],
        split: tuple[IntArray, IntArray],
        rng: np.random.Generator,
    ) -> tuple[Found, BoolArray, float]:
        """Rank some of the rows by themselves, find the properties that set their ends apart, and rank the others."""
        X, is_positive, _ = held_out
        rows, others = split
        part = X.take(rows)
        model = fit_ranker(self.estimator, part, is_positive[rows])
        scores = rank_scores(model, part)
        try:
            *sizes, _ = self._choose_sizes(table, rows, scores, held_out, rng)
        except (
            DataError
        ):  # the rows cannot be split again: a class has one row, or one time has all of them
            sizes = [AUTO_SIZES[-1], AUTO_SIZES[-1]]
        # A count of rows is one of all rows; half of them have half of it.
        share = len(rows) / len(is_positive)
        sizes = [size if isinstance(size, float) else max(1, int(size * share)) for size in sizes]
        contrast = _packed(table, find_ends(scores, *sizes).among(rows))
        found = self._search(contrast, self.min_leverage_)
        auc = float("nan")
        if len(np.unique(is_positive[others])) == 2:
            auc = float(roc_auc_score(is_positive[others], rank_scores(model, X.take(others))))
        return found, np.asarray(contrast.product(found.top, found.bottom) > 0), auc

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

    def plot_leverage(self, *, most: int = 20, ax: Any = None) -> LeverageDisplay:
        """Draw the properties as bars; see `clearmargin.plot.plot_leverage`."""
        from clearmargin.rankings.plot import plot_leverage

        return plot_leverage(self, most=most, ax=ax)

    def plot_histograms(self, *, most: int = 6, axes: Any = None) -> RankHistogramsDisplay:
        """Draw the values of attributes at both ends; see `clearmargin.plot.plot_rank_histograms`."""
        from clearmargin.rankings.plot import plot_rank_histograms

        return plot_rank_histograms(self, most=most, axes=axes)

    def plot_roc(self, *, ax: Any = None) -> RankRocDisplay:
        """Draw the ROC curve with both ends, where there are labels; see `clearmargin.plot.plot_rank_roc`."""
        from clearmargin.rankings.plot import plot_rank_roc

        return plot_rank_roc(self, ax=ax)


def _too_few(rows: int, ends: Ends) -> str:
    return (
        f"the ends of a ranking of {rows} rows are {len(ends.top)} and {len(ends.bottom)} cases: what is found "
        f"describes these rows, and nothing can be confirmed from fewer than {FEWEST_ROWS}"
    )


def _packed(table: PropertyTable, ends: Ends) -> Contrast:
    return Contrast.of(table.masks, ends.top, ends.bottom, table.attribute)


def refuse_scores(table: PropertyTable, X: Any, scores: FloatArray) -> None:
    """Refuse attributes whose values are the scores: they would explain any ranking."""
    same = (table.space.read(X) == scores[:, None]).all(axis=0) if scores.ndim == 1 else ()
    for j in np.flatnonzero(same):
        if j in table.attribute:
            name = table.space.names[j]
            raise DataError(
                f"column {name!r} is the ranking itself: its values are the scores; leave it out with "
                f"exclude=[{name!r}]"
            )


_MEANING = """\
leverage   share of the rows at both ends that have the property and are at the top, less what chance would give; from
           -{most:.3g} (all of the bottom, none of the top) to {most:.3g}. In brackets a 95 % interval.
holm       whether the ends of this ranking differ in it by more than chance, all possible properties counted. It says
           nothing about the label: a ranking of noise has such properties, too.
confirmed  found on {found}, and the labels of the {others} agree. It says that property and label go
           together, not that one brings about the other."""
_NO_FOLDS = "Nothing is confirmed: there are no folds, so that no labels are held out."
_SEEN = "Nothing is confirmed: the ranking was trained before and may have seen all labels."


def describe_contrast(contrast: Any, most: int = 20) -> str:
    """Say what a fitted contrast found.

    Parameters
    ----------
    contrast : RankContrast
        Fitted.
    most : int, default 20
        Most properties to list.

    Returns
    -------
    str
        A head, a table of the properties that are worth showing, and what its columns mean.
    """
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    shown = worth_showing(contrast)[:most]
    lines = []
    width = max((len(row["property"]) for row in shown), default=8)
    for row in shown:
        verdict = "confirmed" if row["confirmed"] else ""
        lines.append(
            f"  {row['property']:<{width}}  {row['top_count']}/{n_top} against {row['bottom_count']}/{n_bottom}  "
            f"{_leverage(row)}  holm {row['holm']:.2g}  {verdict}".rstrip()
        )
    return "\n".join([*_head(contrast, most), *lines, _meaning(contrast)])


def contrast_html(contrast: Any, most: int = 20) -> str:
    """Show in a notebook what a fitted contrast found.

    Parameters
    ----------
    contrast : RankContrast
        Fitted.
    most : int, default 20
        Most properties to list.

    Returns
    -------
    str
        HTML: what `describe_contrast` says, its properties as a table.
    """
    from clearmargin.templates import html_table, render_macro

    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    rows = [
        (
            row["property"],
            f"{row['top_count']}/{n_top}",
            f"{row['bottom_count']}/{n_bottom}",
            _leverage(row),
            f"{row['holm']:.2g}",
            "yes" if row["confirmed"] else "",
        )
        for row in worth_showing(contrast)[:most]
    ]
    titles = ("property", "top", "bottom", "leverage", "holm", "confirmed")
    # A term and its meaning, with the line breaks of text for terminals taken out.
    meaning = re.sub(r"\n +", " ", _meaning(contrast)).split("\n")
    return "".join(
        (
            render_macro("notebook.html", "lines", items=_head(contrast, most)),
            html_table(titles, rows, numbers=(1, 2, 3, 4), named=True) if rows else "",
            render_macro(
                "notebook.html", "lines", items=[re.sub(" {2,}", ": ", m, count=1) for m in meaning]
            ),
        )
    )


def worth_showing(contrast: Any) -> list[dict[str, Any]]:
    """Return the properties that a fitted contrast shows, each with what is known of it."""
    return [row for row in contrast._properties.rows() if row["shown"]]


def _leverage(row: Mapping[str, Any]) -> str:
    return f"{row['leverage']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"


def _head(contrast: Any, most: int) -> list[str]:
    """Return what was compared, how much was found, and what stands in the way of confirming it."""
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    n_shown = len(worth_showing(contrast))
    head = [
        f"The top {n_top} and the bottom {n_bottom} of {contrast.n_rows_} rows differ by at least "
        f"{contrast.min_leverage_:.3g} in leverage in {len(contrast._properties)} properties; {min(most, n_shown)} of "
        f"{n_shown} worth showing are listed."
    ]
    for side, ties in (("top", contrast.top_ties_), ("bottom", contrast.bottom_ties_)):
        if ties:
            head.append(f"{ties} more rows have the same score as the last one of the {side}.")
    if hasattr(contrast, "_sizes"):
        how = f", by the {contrast.size_criterion} in cross-validation" * (
            "score" in contrast._sizes.columns
        )
        head.append(
            f"The size was chosen among {len(contrast._sizes)}{how}; corrections count all of them."
        )
    if contrast.n_rows_ < FEWEST_ROWS:
        head.append("So few rows describe themselves alone: nothing can be confirmed.")
    elif hasattr(contrast, "classes_") and contrast.n_rows_ < 2 * FEWEST_ROWS:
        head.append(
            f"Fewer than {2 * FEWEST_ROWS} rows cannot be halved: nothing can be confirmed."
        )
    if contrast.bins == "supervised":
        head.append("Bins were cut by the labels, so that no labels are left to confirm anything.")
    elif contrast.cv is None and hasattr(contrast, "model_"):
        head.append(_NO_FOLDS)
    elif hasattr(contrast, "model_") and not hasattr(contrast, "folds_"):
        # Of rows too few to be halved it was said above.
        head += [_SEEN] if contrast.n_rows_ >= 2 * FEWEST_ROWS else []
    return head


def _meaning(contrast: Any) -> str:
    """Return what the columns mean and do not mean, a paragraph each."""
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    largest = n_top * n_bottom / (n_top + n_bottom) ** 2
    folds = getattr(contrast, "folds_", None)
    halves = folds is None or folds.how == "random halves"
    words = (
        ("one half of the rows", "other half")
        if halves
        else ("the training rows of a fold", "others")
    )
    return _MEANING.format(most=largest, found=words[0], others=words[1])
