"""A scorecard that imitates a classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from clearmargin.exceptions import DataError, InvalidValueError, NotLinearError
from clearmargin.lp_svm.lpsvc import default_machine
from clearmargin.models.affine_steps import imputed_space
from clearmargin.models.surface import read_surface
from clearmargin.models.threshold import operating_scores
from clearmargin.points.certification import CardDomain, certify_card, draw_rows
from clearmargin.points.engine import Extra, Task
from clearmargin.points.explanation import PointsExplanation, explain_points
from clearmargin.points.fitting import monotone_signs, shortened, weighted_rules, whole_points
from clearmargin.points.logistic import merit
from clearmargin.points.rows import TrainingRows
from clearmargin.points.scorecard import Scorecard
from clearmargin.progress import all_or_nothing
from clearmargin.rule_base.base import check_table
from clearmargin.rule_base.bins import Bins
from clearmargin.rule_base.distillation import Distillation, distil
from clearmargin.rule_base.options import Choice, Option, WholeNumber, check_options
from clearmargin.rule_base.training import (
    class_codes,
    default_kernel_machine,
    read_labels,
    train,
    train_kernel_machine,
)
from clearmargin.rules import FeatureSpace, Rule
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.row_order import canonical_order
from clearmargin.tables.sampled_fit import fits_a_sample
from clearmargin.tables.table import Table, as_header, case_table, read_frame
from clearmargin.tables.table_part import TablePart, over_parts
from clearmargin.tables.validation import TwoClasses, naming_columns, plain_labels

# Found once: looking for the libraries takes as long as the fit of a small card.
_LIBRARIES = ThreadpoolController()
# Stands for a missing value where rows are put in order; no table holds it.
_MISSING = 1.7e308
_ONE_CARD_A_CLASS = (
    "a card tells two apart. Make one for each class, ScoreRules().fit(X, y == c), or all of them at once with "
    "sklearn.multiclass.OneVsRestClassifier(ScoreRules())"
)

_OPTIONS: Mapping[str, Option] = {
    "max_rules": WholeNumber(1),
    "max_features": WholeNumber(1, optional=True),
    "max_conditions": Choice(1, 2, 3),
    "n_generated": WholeNumber(1),
}

# Of very many columns so many may stand in a rule, and so many values are drawn beside the training rows.
_MOST_COLUMNS, _MOST_VALUES = 200, 5_000_000
# Conditions whose pairs are priced, and the cost of an average row in the last fit: a model does not err as labels do.
_MOST_CONDITIONS, _C = 256, 1.0
# How steep the logistic curve is in units of the median |f|.
_STEEPNESS = 2.0
# Rows by which the cuts of a table in partitions are chosen, and those of a larger one in memory.
_MOST_ROWS = 10_000


def _has_scores(rules: ScoreRules) -> bool:
    if rules.certify and rules.max_features is not None:
        raise AttributeError(
            "with max_features, the card is that of a distilled plane and need not agree with the scores of the model; "
            "ask estimator_ for these"
        )
    return True


class ScoreRules(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Few rules with points that say what a classifier of two classes says, without asking it again.

    The model is asked about the training rows and about rows drawn around them, and rules with points are chosen from
    its answers as `RuleSVC` chooses them from labels (`clearmargin.points.engine`): the points of the rules that hold
    for a case are summed, and above a threshold it is of the second class. The answers are soft,
    1 / (1 + exp(-2 f / s)) for a decision function f of median size s, so that scores are ordered as the model orders
    them. With ``max_conditions=1`` each rule is a condition on one feature, and the whole is a scorecard.

    With `certify=True`, for linear machines, the card has points *at least* and points *at most* instead: what the
    machine gives in an interval is never less and never more. Where the sums leave no doubt, the class of the machine
    is proved, rounding included; between, the machine is asked, so that `predict` always gives its class. Cuts are
    chosen such that most rows are decided; see `clearmargin.points.certification`.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier of two classes. A fitted one is used as it is, another one is cloned and fitted. By default an
        `SVC` behind a `StandardScaler`, trained on about 3,000 rows where there are more. With `certify=True` a
        linear classifier, bare or at the end of a pipeline of affine steps; by default the sparse support vector
        machine of `RuleExtractor`, or a `LinearSVC` behind a `StandardScaler` where no sparse plane beats a constant
        one.
    max_rules : int, default 15
        Most rules; with `certify=True` most cuts.
    max_conditions : {1, 2, 3}, default 2
        Most conditions of a rule.
    certify : bool, default False
        Whether the card has proof columns.
    max_features : int, optional
        With `certify=True`: make the card of a plane *distilled* to at most so many features, as `RuleExtractor` does.
        The card then proves what that plane says; `distillation_` and the first line of the card tell how often it
        agrees with the machine.
    bounds : "data", mapping from feature to (low, high), pair (low, high), FeatureSpace or Domain
        With `certify=True`: where features live, and so what the card speaks of; by default the ranges seen in the
        data. Nothing is proved of a row outside.
    points : bool, default True
        Whether points are whole numbers of at most 10; else numbers of three digits. A card with proof has whole points
        in the coarsest unit that loses at most 1 % of the rows that exact numbers prove.
    n_generated : int, default 2000
        How many rows are drawn. All of them together weigh as much as the training rows; for a card with proof, 0.3
        times as much.
    random_state : int, RandomState or None, default 0
        Where drawn rows come from; with None other ones in each run.

    Attributes
    ----------
    estimator_ : classifier
        The model.
    scorecard_ : Scorecard
        Rules with points; print it.
    fidelity_ : float
        Share of the training rows for which the card predicts what the model predicts; with `certify=True` the card
        alone, where it proves nothing with the class that the model predicts most often there. On other rows it will be
        less.
    proved_ : float
        With `certify=True`: the share of the training rows whose class the card proves.
    n_chosen_on_ : int
        Number of rows by which cuts and points were chosen: of up to 10,000 rows all, of more a sample of so many,
        drawn by their values. A card with proof is chosen by all rows.
        `fidelity_` and `proved_` are counted on all rows, and what is proved holds for all rows in any case.
    distillation_ : Distillation or None
        With `certify=True`: the plane that stands in for the model, and how often the two agree; None where the card
        is that of the model itself.
    surface_ : Surface
        With `certify=True`: the margin of the second class, which the card is proved of.
    rounding_loss_ : float
        With `certify=True`: the share of the rows that whole points do not prove, and exact numbers would.
    space_ : FeatureSpace
        The features; with `certify=True`, with the ranges that the card speaks of.
    classes_ : ndarray
        The classes.
    n_rows_, n_sampled_rows_ : int
        How many rows the table has, and how many of them were taken: all, or of a table in files a sample.
    n_features_in_, feature_names_in_
        As usual.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> card = ScoreRules(max_rules=5, random_state=0).fit(X, y)
    >>> len(card.scorecard_.rules) <= 5, card.fidelity_ > 0.95
    (True, True)
    >>> linear = ScoreRules(certify=True, max_rules=10).fit(X, y)
    >>> proved = linear.scorecard_.prove(X)
    >>> sorted({label for label in proved.tolist() if label is not None}), linear.proved_ > 0.5
    (['benign', 'malignant'], True)
    """

    _reads_tables = True  # see `Table.taken_by`
    _most_sampled_rows = 20_000
    _makes_card = True  # see `is_card` of reports
    # What is handed on to the model may be routed here.
    __metadata_request__fit: ClassVar[Mapping[str, Any]] = {"sample_weight": None}

    scorecard_: Scorecard

    def __init__(
        self,
        estimator: Any = None,
        max_rules: int = 15,
        *,
        max_conditions: int = 2,
        certify: bool = False,
        max_features: int | None = None,
        bounds: Any = "data",
        points: bool = True,
        n_generated: int = 2000,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.max_rules = max_rules
        self.max_conditions = max_conditions
        self.certify = certify
        self.max_features = max_features
        self.bounds = bounds
        self.points = points
        self.n_generated = n_generated
        self.random_state = random_state

    @all_or_nothing
    @fits_a_sample
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Train the model if need be, and make its scorecard.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The table, as the model takes it. A table in files has its labels with it; of more than 20,000 rows a sample
            is taken (`n_sampled_rows_`), and what the card gives is counted on all rows.
        y : array-like of shape (m,)
            The classes.
        **params : dict
            More arguments of the model's `fit`, where it is to be trained.

        Returns
        -------
        ScoreRules
            The fitted extractor.
        """
        check_options(self, _OPTIONS)
        self._check_proof_options()
        X = read_frame(X)
        labels = read_labels(X, y)
        TwoClasses(labels, _ONE_CARD_A_CLASS)
        table = Table.read(X)
        given = plain_labels(y) if np.asarray(y).ndim == 1 else labels
        self.estimator_ = self._train(table, given, params)
        validate_data(self, table.given, skip_check_array=True)
        self.classes_ = self.estimator_.classes_
        if len(self.classes_) != 2:
            raise InvalidValueError(
                f"a scorecard tells two classes apart, and the model has {len(self.classes_)}"
            )
        class_codes(labels, self.classes_)
        self.n_chosen_on_ = len(table)
        if self.certify:
            self._certify(table)
            self.fidelity_, self.proved_ = _shares(self._count(table))
        else:
            self.space_ = imputed_space(self.estimator_, table)
            self._imitate(table)
            if self.n_chosen_on_ == _MOST_ROWS:
                self.fidelity_, _ = _shares(self._count(table))
        return self

    def _count_on_all(self, parts: TableParts) -> None:
        """Count on all rows of a table in partitions what the card gives."""
        counts = np.sum(parts.map(_card_counts, common=(self, parts.names)), axis=0)
        self.fidelity_, proved = _shares(counts)
        if self.certify:
            self.proved_ = proved

    def _count(self, X: Table) -> tuple[int, int, int, int]:
        """Count rows that the card speaks of, those it decides as the model does, those it decides, and others."""
        if self.certify:
            codes = self.prove_codes(X)
            asked = class_codes(self._ask(X), self.classes_)
            decided = codes >= 0
            others = int(asked[~decided].sum())
            return len(X), int((codes == asked)[decided].sum()), int(decided.sum()), others
        known = self._answerable(X)
        if not known.any():
            return 0, 0, 0, 0
        rows = X.take(known)
        asked = class_codes(self._ask(rows), self.classes_)
        agree = (self.scorecard_.decision_function(rows) > 0) == (asked == 1)
        return len(rows), int(agree.sum()), len(rows), 0

    def _answerable(self, X: Table) -> BoolArray:
        """Tell about which rows the model can be asked: all, or those without missing values."""
        table = self.space_.read(X)
        whole = np.asarray(np.isfinite(table).all(axis=1))
        gaps = np.flatnonzero(~whole & ~np.isinf(table).any(axis=1))
        if len(gaps):
            try:
                self._ask(X.take(gaps))
            except ValueError:
                return whole
            whole[gaps] = True
        return whole

    def _train(self, X: Table, y: Any, params: dict[str, Any]) -> Any:
        """Train the model, or the default where none is given."""
        model = self.estimator
        if model is None and self.certify:
            model = default_machine(int(np.unique(np.asarray(y), return_counts=True)[1].min()))
            sparse = train(model, X.taken_by(model), y, params)
            if sparse.coef_.any():
                return sparse
            # No plane of few features beats a constant one; a dense one at least says something.
            model = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
            params = {f"linearsvc__{name}": value for name, value in params.items()}
        elif model is None:
            return train_kernel_machine(default_kernel_machine(), X, y, params)[0]
        return train(model, X.taken_by(model), y, params)

    def _check_proof_options(self) -> None:
        """Raise if an option of cards with proof is used without them."""
        if self.certify:
            return
        if self.max_features is not None:
            raise InvalidValueError(
                f"max_features={self.max_features!r} is for cards with proof: ScoreRules(certify=True, "
                f"max_features={self.max_features!r}); other cards use as many features as cuts, max_rules"
            )
        if not (isinstance(self.bounds, str) and self.bounds == "data"):
            raise InvalidValueError(
                "bounds are for cards with proof, which speak of the cases within them: ScoreRules(certify=True, "
                "bounds=...)"
            )

    def _certify(self, X: Table) -> None:
        """Read the plane, distil it if need be, and make the card with proof."""
        try:
            self.surface_ = read_surface(self.estimator_, X.given)
        except NotLinearError as error:
            reason = str(error).split(";")[0]
            raise NotLinearError(
                f"{reason}; certify=True needs a linear machine. ScoreRules(certify=False) imitates any classifier, "
                "and SupportVectorRules(certify=True) gives proved rules of a kernel machine"
            ) from error
        domain = CardDomain.read(self.surface_, X, self.bounds)
        table = self.surface_.read(X)
        self.distillation_: Distillation | None = None
        if self.max_features is not None and self.surface_.count_features() > self.max_features:
            self.distillation_ = distil(self.surface_, table, self.max_features)
            self.surface_ = self.distillation_.surface
        self.space_ = domain.space
        card, self.rounding_loss_ = certify_card(
            self.surface_,
            domain,
            table,
            max_cuts=self.max_rules,
            n_generated=self.n_generated,
            random=check_random_state(self.random_state),
            about=""
            if self.distillation_ is None
            else f"The card is that of {self.distillation_}.",
        )
        self.scorecard_ = card

    def _ask(self, X: Table) -> NDArray[Any]:
        """Ask the model for the classes of rows."""
        with naming_columns(X, self.estimator_), warnings.catch_warnings():
            # Names that only the table or only the model has change nothing here.
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            return np.asarray(self.estimator_.predict(X.taken_by(self.estimator_)))

    def _imitate(self, X: Table) -> None:
        """Choose rules and points by the answers of the model."""
        table = self.space_.read(X)
        known = np.flatnonzero(self._answerable(X))
        if not len(known):
            raise DataError(
                "every row of X has a missing value that the model does not impute; a scorecard needs rows without gaps"
            )
        known = canonical_order(np.where(np.isnan(table), _MISSING, table), known, _MOST_ROWS)
        self.n_chosen_on_, m = len(known), len(known)
        X, table = X.take(known), table[known]
        count = max(1, min(self.n_generated, _MOST_VALUES // table.shape[1]))
        drawn, start = draw_rows(table, self.space_, count, check_random_state(self.random_state))
        # Categories are written as in the row that each one started from.
        columns = [
            drawn[:, j] if self.space_.categories[j] is None else column.values[start]
            for j, column in enumerate(X.all_columns())
        ]
        f = np.concatenate([self._decision(X), self._decision(X.make_like(columns))])
        positive = f > 0
        rows = np.vstack([table, drawn])
        rows[:, ~_telling_columns(self.space_, table, positive[:m])] = np.nan
        weight = np.concatenate([np.ones(m), np.full(count, m / count)])
        weight /= weight.mean()
        target = expit(_STEEPNESS * f / (np.median(np.abs(f)) or 1.0))[None, :]
        bins = Bins.of_table(self.space_, rows)
        task = Task(
            bins,
            bins.codes(rows),
            target,
            weight,
            Extra.join([], len(f)),
            monotone_signs(bins, None),
        )
        with _LIBRARIES.limit(limits=1, user_api="blas"):
            chosen = task.select(self.max_rules, self.max_conditions, _MOST_CONDITIONS)
            design = task.design(chosen)
            fitted = task.fit(design, _C)
        held = design[0][:, 1:] > 0.0
        weights, intercept = shortened(fitted[:, 1:], fitted[:, 0])
        if self.points and weights.any():
            weights, intercept = whole_points(held, weights, intercept, target, weight, merit)
        says = held[:m] @ weights[0] + intercept[0] > 0.0
        self.fidelity_ = float((says == positive[:m]).mean())
        seen = TrainingRows(
            self.space_,
            table,
            positive[:m].astype(np.intp),
            self.classes_,
            np.ones(m),
            np.ones(m),
            np.ones(m, dtype=np.intp),
        )
        label = as_label(self.classes_.tolist()[0])
        rules = [Rule(bins.box(c.items), label, origin="extracted") for c in chosen]
        self.scorecard_ = weighted_rules(rules, weights, intercept, held[:m], seen, self.space_)

    def _decision(self, X: Any) -> FloatArray:
        """Return the decision function of the model, positive where it says the second class."""
        with warnings.catch_warnings():
            # Names that only the table or only the model has change nothing here.
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            X = Table.read(X).taken_by(self.estimator_)
            predicted = class_codes(self.estimator_.predict(X), self.classes_)
            scores = operating_scores(self.estimator_, X)
            if scores is not None:
                size = np.abs(scores.ravel())
            elif hasattr(self.estimator_, "predict_proba"):
                size = np.abs(self.estimator_.predict_proba(X)[:, 1] - 0.5)
            else:
                size = np.ones(len(predicted))
        # What counts is what the model predicts; its values may disagree, as the probabilities of an SVC do.
        return np.where(predicted == 1, np.maximum(size, np.finfo(np.float64).tiny), -size)

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    @over_parts
    def decision_function(self, X: Any) -> FloatArray:
        """Give by how many points each row exceeds the threshold; with `certify=True`, the score of the model.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Positive for the second class.
        """
        check_is_fitted(self)
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_header(X), skip_check_array=True, reset=False)
        if self.certify:
            return self._decision(X)
        return np.asarray(self.scorecard_.decision_function(self.space_.read(X)))

    @over_parts
    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row by its points; with `certify=True` the proved one, and between the model's.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        check_is_fitted(self)
        if not self.certify:
            return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.intp)])
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_header(X), skip_check_array=True, reset=False)
        table = self.read(X)
        codes = self.scorecard_.prove_codes(table)
        # A model that takes no missing values refuses them, also where it has no weight and the class is proved. It is
        # asked about all rows, so that an error names the row by its number.
        if (codes < 0).any() or not np.isfinite(table).all():
            answers = class_codes(self._ask(Table.read(X)), self.classes_)
            codes = np.where(codes < 0, answers, codes)
        return np.asarray(self.classes_[codes])

    def read(self, X: Any) -> FloatArray:
        """Read rows as the model takes them, where a category is given by its name and not by its code.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m, n)
            Numbers and codes of categories, NaN where a value is missing.
        """
        space = self.scorecard_.space
        return Table.read(X).points(space) if any(space.categories) else space.read(X)

    def prove_codes(self, X: Any) -> IntArray:
        """With `certify=True`, give the position of the class proved for each row, -1 where none is.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Positions in `classes_`.
        """
        return self.scorecard_.prove_codes(self.read(X))

    def explain(self, x: Any) -> PointsExplanation:
        """Say what adds up to the points of a case, feature by feature on a card; with `certify=True`, what is proved.

        Parameters
        ----------
        x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.

        Returns
        -------
        PointsExplanation
            It reads as a few lines.
        """
        check_is_fitted(self)
        space = self.scorecard_.space
        categorical = [
            n for n, known in zip(space.names, space.categories, strict=True) if known is not None
        ]
        case = case_table(x, space.names, categorical=categorical)
        if not self.certify:
            return self.scorecard_.explain(x)
        return explain_points(self.scorecard_, case, as_label(self.predict(case).tolist()[0]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.classifier_tags.multi_class = False
        if self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def _card_counts(
    part: TablePart, rules: ScoreRules, names: tuple[str, ...]
) -> tuple[int, int, int, int]:
    return rules._count(part.table(names)) if len(part.rows) else (0, 0, 0, 0)


def _shares(counts: Any) -> tuple[float, float]:
    """Give the shares of rows on which a card agrees with the model, with one class where it is silent, and decides."""
    n_rows, n_agree, n_decided, n_second = (int(count) for count in counts)
    silent = max(n_second, n_rows - n_decided - n_second)
    return (n_agree + silent) / n_rows, n_decided / n_rows


def _telling_columns(space: FeatureSpace, table: FloatArray, positive: BoolArray) -> BoolArray:
    """Tell which columns may stand in a rule: all, of very many those on which the predicted classes differ most."""
    n = len(space)
    if n <= _MOST_COLUMNS or positive.all() or not positive.any():
        return np.arange(n) < _MOST_COLUMNS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without any value
        means = [np.nanmean(table[side], axis=0) for side in (positive, ~positive)]
        spread = np.nanstd(table, axis=0)
    merit = np.abs(means[0] - means[1]) / np.where(spread > 0, spread, np.inf)
    # Codes of categories have no mean.
    merit = np.where([known is None for known in space.categories], np.nan_to_num(merit), np.inf)
    told = np.zeros(n, dtype=np.bool_)
    told[np.argsort(-merit, kind="stable")[:_MOST_COLUMNS]] = True
    return told
