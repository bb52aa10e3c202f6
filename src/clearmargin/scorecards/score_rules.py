"""A scorecard that imitates a classifier."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import DataError, InvalidValueError, NotLinearError
from clearmargin.lp_svm.lpsvccv import default_machine
from clearmargin.models.surface import read_surface
from clearmargin.models.threshold import operating_scores
from clearmargin.rule_base.base import check_table
from clearmargin.rule_base.cuts import candidate_cuts
from clearmargin.rule_base.distillation import Distillation, distil
from clearmargin.rule_base.options import WholeNumber, check_options
from clearmargin.rule_base.training import (
    class_codes,
    read_labels,
    train,
    train_in_parts,
    train_kernel_machine,
)
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import FloatArray, IntArray, is_point
from clearmargin.scorecards.certification import CardDomain, certify_card, draw_rows
from clearmargin.scorecards.certified_card import CertifiedExplanation, CertifiedScorecard
from clearmargin.scorecards.scorecard import Scorecard, ScoredFeature, ScoreExplanation
from clearmargin.scorecards.stump_selection import (
    Stumps,
    round_points,
    select_stumps,
)
from clearmargin.tables.encoding import Encoding, column_encoding
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.row_order import canonical_order
from clearmargin.tables.table import Table, as_header, case_table, name_row, read_frame
from clearmargin.tables.table_part import TablePart, over_parts
from clearmargin.tables.validation import TwoClasses, naming_columns, plain_labels

__all__ = ["ScoreRules"]

_ONE_CARD_A_CLASS = (
    "a card tells two apart. Make one for each class, ScoreRules().fit(X, y == c), or all of them at once with "
    "sklearn.multiclass.OneVsRestClassifier(ScoreRules())"
)

_OPTIONS = {
    "max_rules": WholeNumber(1),
    "max_features": WholeNumber(1, optional=True),
    "integer_points": WholeNumber(1, optional=True),
    "n_generated": WholeNumber(1),
}

# Cuts that a column offers; twice as many brought nothing on held-out rows (see `candidate_cuts`).
_MOST_CUTS = 20
# Rows by which the cuts of a table in partitions are chosen, and those of a larger one in memory.
SAMPLE_ROWS, _MOST_ROWS = 20_000, 10_000


def _has_scores(rules: ScoreRules) -> bool:
    if rules.certify and rules.max_features is not None:
        raise AttributeError(
            "with max_features, the card is that of a distilled plane and need not agree with the scores of the model; "
            "ask estimator_ for these"
        )
    return True


class ScoreRules(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scorecard of few rules that says what a classifier of two classes says, without asking it again.

    Each rule is a cut of one feature (or one category) with points; the points of a case are summed, and above a
    threshold it is of the second class. Cuts and points are chosen together for the whole sum, such that it is close
    to the decision function where that is close to zero; see `clearmargin.scorecards.stump_selection`. A column may be
    cut at up to 20 places, at its quantiles. The model is asked about the training rows and about rows drawn around
    them. Where features act together, as in a curved model they may, a sum of single features says so only in part.

    With `certify=True`, for linear machines, the card has points *at least* and points *at most* instead: what the
    machine gives in an interval is never less and never more. Where the sums leave no doubt, the class of the machine
    is proved, rounding included; between, the machine is asked, so that `predict` always gives its class. Cuts are
    chosen such that most rows are decided; see `clearmargin.scorecards.certification`.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier of two classes. A fitted one is used as it is, another one is cloned and fitted. By default an
        `SVC` behind a `StandardScaler`, trained on about 3,000 rows where there are more. With `certify=True` a
        linear classifier, bare or at the end of a pipeline of affine steps; by default the sparse support vector
        machine of `RuleExtractor`, or a `LinearSVC` behind a `StandardScaler` where no sparse plane beats a constant
        one.
    max_rules : int, default 15
        Most cuts and categories with points.
    certify : bool, default False
        Whether to make a card with proof, a `CertifiedScorecard`.
    max_features : int, optional
        With `certify=True`: make the card of a plane *distilled* to at most so many features, as `RuleExtractor` does.
        The card then proves what that plane says; `distillation_` and the first line of the card tell how often it
        agrees with the machine.
    bounds : "data", mapping from feature to (low, high), pair (low, high), FeatureSpace or Domain
        With `certify=True`: where features live, and so what the card speaks of; by default the ranges seen in the
        data. A `Domain` may also declare relations between features. Nothing is proved of a row outside.
    integer_points : int or None, default 10
        Largest height of a cut where points are to be whole numbers; None for points as they come out. A card with
        proof has whole points in the coarsest unit that loses at most 1 % of the rows that exact numbers prove.
    n_generated : int, default 2000
        How many rows are drawn. All of them together weigh as much as the training rows; for a card with proof, 0.3
        times as much.
    random_state : int, RandomState or None, default 0
        Where drawn rows come from; with None other ones in each run.

    Attributes
    ----------
    estimator_ : classifier
        The model.
    scorecard_ : Scorecard or CertifiedScorecard
        The card.
    fidelity_ : float
        Share of the training rows for which the card predicts what the model predicts. On other rows it will be less,
        unless the card has the proof of this very model: then it is 1 everywhere.
    proved_ : float
        With `certify=True`: the share of the training rows whose class the card proves.
    n_chosen_on_ : int
        Number of rows by which cuts and points were chosen: of up to 10,000 rows all, of more a sample of so many,
        drawn by their values; of a table in partitions (`clearmargin.scan`) about 20,000, with the smallest and
        largest values and the categories of all rows. A card with proof of a table in memory is chosen
        by all rows. `fidelity_` and `proved_` are counted on all rows, and what is proved holds for all rows in any
        case.
    distillation_ : Distillation or None
        With `certify=True`: the plane that stands in for the model, and how often the two agree; None where the card
        is that of the model itself.
    surface_ : Surface
        With `certify=True`: the plane that the card is proved of, and the encoding of the table.
    rounding_loss_ : float
        By how much whole points lowered the weighted agreement on training rows and drawn rows; 0.0 without them. It
        may be negative, since their threshold is the one with the best agreement. With `certify=True`: the share of
        the rows that whole points do not prove, and exact numbers would.
    space_ : FeatureSpace
        The features; with `certify=True`, with the ranges that the card speaks of.
    classes_ : ndarray
        The classes.
    n_features_in_, feature_names_in_
        As usual.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> card = ScoreRules(max_rules=5, random_state=0).fit(X, y)
    >>> card.scorecard_.n_rules <= 5, card.fidelity_ > 0.95
    (True, True)
    >>> linear = ScoreRules(certify=True, max_rules=10).fit(X, y)
    >>> proved = linear.scorecard_.prove(X)
    >>> sorted({label for label in proved.tolist() if label is not None}), linear.proved_ > 0.5
    (['benign', 'malignant'], True)
    """

    _reads_tables = True  # see `Table.taken_by`
    _makes_card = True  # see `is_card` of reports

    scorecard_: Any  # a Scorecard, with certify=True a CertifiedScorecard

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_rules: int = 15,
        certify: bool = False,
        max_features: int | None = None,
        bounds: Any = "data",
        integer_points: int | None = 10,
        n_generated: int = 2000,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.max_rules = max_rules
        self.certify = certify
        self.max_features = max_features
        self.bounds = bounds
        self.integer_points = integer_points
        self.n_generated = n_generated
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Train the model if need be, and make its scorecard.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The table, as the model takes it. A table in files has its labels with it; its model is trained already, or
            one that takes such tables, by default the sparse support vector machine.
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
        if is_partitions(X):
            return self._fit_parts(X, y, params)
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
        self._make_card(table)
        return self

    def _make_card(self, table: Table) -> None:
        self.n_chosen_on_ = len(table)
        if self.certify:
            self._certify(table)
        else:
            self.space_ = table.space()
            self._imitate_some(table)

    def _imitate_some(self, X: Table) -> None:
        """Choose the card by a sample of very many rows, and count on all rows how often it agrees with the model."""
        if len(X) <= _MOST_ROWS:
            self._imitate(X)
            return
        table = self.space_.read(X)
        known = np.flatnonzero(is_point(table))
        rows = canonical_order(table, known, _MOST_ROWS)
        # With no row of which all is known, the sample is empty, too, and refused.
        self.n_chosen_on_ = len(rows)
        self._imitate(X.take(np.sort(rows)) if len(rows) else X)
        n_rows, n_agree, _ = self._count(X)
        self.fidelity_ = n_agree / n_rows

    def _fit_parts(self, parts: TableParts, y: Any, params: dict[str, Any]) -> Self:
        """Choose the card on a sample with the ranges of all rows, and count on all rows what it gives."""
        survey = parts.survey()
        self.estimator_ = train_in_parts(self.estimator, parts, y, params)
        validate_data(self, parts.header, skip_check_array=True)
        self.classes_ = self.estimator_.classes_
        class_codes(survey.labels, self.classes_)
        if len(self.classes_) != 2:
            raise InvalidValueError(
                f"a scorecard tells two classes apart, and the model has {len(self.classes_)}"
            )
        self._make_card(parts.sample_with_ends(SAMPLE_ROWS).table(parts.names))
        counts = np.sum(parts.map(_card_counts, common=(self, parts.names)), axis=0)
        self.fidelity_ = float(counts[1] / counts[0])
        if self.certify:
            self.proved_ = float(counts[2] / counts[0])
        return self

    def _count(self, X: Table) -> tuple[int, int, int]:
        """Count rows that the card speaks of, those where it agrees with the model, and those that are proved."""
        if self.certify:
            codes = self.scorecard_.prove_codes(X)
            asked = class_codes(self._ask(X), self.classes_)
            agree = np.where(codes >= 0, codes, asked) == asked
            return len(X), int(agree.sum()), int((codes >= 0).sum())
        known = is_point(self.space_.read(X))
        if not known.any():
            return 0, 0, 0
        rows = X.take(known)
        asked = class_codes(self._ask(rows), self.classes_)
        agree = (self.scorecard_.decision_function(rows) > 0) == (asked == 1)
        return len(rows), int(agree.sum()), 0

    def _train(self, X: Table, y: Any, params: dict[str, Any]) -> Any:
        """Train the model, or the default where none is given."""
        model = self.estimator
        if model is None and self.certify:
            model = default_machine(int(np.unique(np.asarray(y), return_counts=True)[1].min()))
            sparse = train(model, X.taken_by(model), y, params)
            if sparse.coef_.any():
                return sparse
            # No plane of few features beats a constant one; a dense one at least says something.
            model = make_pipeline(StandardScaler(), LinearSVC())
            params = {f"linearsvc__{name}": value for name, value in params.items()}
        elif model is None:
            return train_kernel_machine(make_pipeline(StandardScaler(), SVC()), X, y, params)[0]
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
            points = self.surface_.spread(table)
            self.distillation_ = distil(self.surface_, points[is_point(points)], self.max_features)
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
        n_rows, n_agree, n_proved = self._count(X)
        self.fidelity_, self.proved_ = n_agree / n_rows, n_proved / n_rows

    def _ask(self, X: Table) -> NDArray[Any]:
        """Ask the model for the classes of rows."""
        with naming_columns(X, self.estimator_), warnings.catch_warnings():
            # Names that only the table or only the model has change nothing here.
            warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
            return np.asarray(self.estimator_.predict(X.taken_by(self.estimator_)))

    def _imitate(self, X: Table) -> None:
        """Choose cuts and points, and make the card."""
        table = self.space_.read(X)
        known = is_point(table)
        if not known.any():
            raise DataError(
                "every row of X has a missing value; a scorecard needs rows without gaps"
            )
        table, decision = table[known], self._decision(X)[known]
        drawn_table, drawn = self._draw(X, table, np.flatnonzero(known))
        m = len(table)
        encoding = column_encoding(self.space_)
        rows = encoding.spread(np.vstack([table, drawn_table]))
        decision = np.concatenate([decision, self._decision(drawn)])
        weights = np.concatenate([np.ones(m), np.full(len(rows) - m, m / (len(rows) - m))])
        cuts = [candidate_cuts(column, _MOST_CUTS) for column in rows[:m].T]
        found = select_stumps(rows, decision, weights, cuts, self.max_rules)
        positive = decision > 0
        self.rounding_loss_ = 0.0
        if self.integer_points is not None:
            whole = round_points(found, rows, positive, weights, self.integer_points)
            before, after = (
                float(weights @ ((s.score(rows) > 0) == positive)) for s in (found, whole)
            )
            self.rounding_loss_ = (before - after) / float(weights.sum())
            found = whole
        self.fidelity_ = float(((found.score(rows[:m]) > 0) == positive[:m]).mean())
        self.scorecard_ = _card(found, encoding, [as_label(c) for c in self.classes_.tolist()])

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

    def _draw(self, X: Table, table: FloatArray, known: IntArray) -> tuple[FloatArray, Any]:
        """Draw rows around training rows, as numbers and as the model takes them; categories stay as they are."""
        random = check_random_state(self.random_state)
        rows, start = draw_rows(table, self.space_, self.n_generated, random)
        # Categories are written as in the row that each one started from.
        columns = [
            rows[:, j] if self.space_.categories[j] is None else column.values[known[start]]
            for j, column in enumerate(X.all_columns())
        ]
        return rows, X.make_like(columns)

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
        if isinstance(self.scorecard_, CertifiedScorecard):
            return self._decision(X)
        table = self.space_.read(X)
        wrong = ~np.isfinite(table).all(axis=1)
        if wrong.any():
            raise DataError(
                f"{name_row(int(np.argmax(wrong)), X)} holds NaN or infinity; a scorecard needs rows without gaps"
            )
        return np.asarray(self.scorecard_.decision_function(X))

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
        if not isinstance(self.scorecard_, CertifiedScorecard):
            return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.intp)])
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_header(X), skip_check_array=True, reset=False)
        table = self.scorecard_.read(X)
        codes = self.scorecard_.prove_codes(table, is_read=True)
        # A model that takes no missing values refuses them, also where it has no weight and the class is proved.
        asked = np.flatnonzero((codes < 0) | ~np.isfinite(table).all(axis=1))
        if len(asked):
            answers = class_codes(self._ask(Table.read(X).take(asked)), self.classes_)
            codes[asked] = np.where(codes[asked] < 0, answers, codes[asked])
        return np.asarray(self.classes_[codes])

    def explain(self, row: Any) -> ScoreExplanation | CertifiedExplanation:
        """Say which points a case has, and from where; see `Scorecard.explain` and `CertifiedScorecard.explain`."""
        check_is_fitted(self)
        card: Scorecard | CertifiedScorecard = self.scorecard_
        if isinstance(card, Scorecard):
            return card.explain(row)
        names, categories = card.space.names, card.space.categories
        categorical = [
            name for name, known in zip(names, categories, strict=True) if known is not None
        ]
        case = case_table(row, names, categorical=categorical)
        told = card.explain(case)
        return (
            told if told.is_proved else card.explain(case, as_label(self.predict(case).tolist()[0]))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.classifier_tags.multi_class = False
        if self.certify and self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def _card_counts(
    part: TablePart, rules: ScoreRules, names: tuple[str, ...]
) -> tuple[int, int, int]:
    return rules._count(part.table(names)) if len(part.rows) else (0, 0, 0)


def _card(stumps: Stumps, encoding: Encoding, classes: list[Any]) -> Scorecard:
    """Make a card of a sum of steps, with no points below zero: each feature's least points are 0."""
    cuts: dict[int, list[float]] = {}
    steps: dict[int, list[float]] = {}
    categories: dict[int, FloatArray] = {}
    for k, cut, height in zip(
        stumps.column.tolist(), stumps.cut.tolist(), stumps.weights.tolist(), strict=True
    ):
        j, code = encoding.sources[k]
        if code is None:
            cuts.setdefault(j, []).append(cut)
            steps.setdefault(j, []).append(height)
        else:
            named = encoding.space.categories[j] or ()
            categories.setdefault(j, np.zeros(len(named)))[code] += height
    parts, threshold = [], -stumps.intercept
    for j in sorted([*cuts, *categories]):
        points = categories[j] if j in categories else np.cumsum([0.0, *steps[j]])
        threshold -= points.min()
        parts.append(ScoredFeature(j, points - points.min(), cuts.get(j)))
    return Scorecard(parts, float(threshold), encoding.space, classes)
