"""The default way: one page of rules for a table, whatever its columns, with every row given a class.

Three methods compete by cross-validation, each under a budget of one page: proved rules of a plane of at most three
features, at most 15 rules with points (`RuleSVC`), and a scorecard of at most 40 lines. Beside them stand the plain
support vector machines that nobody can read, so that what readability costs is said, not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import ClearmarginError, DataError
from clearmargin.language.prose import ratio_text
from clearmargin.recipes.cards_and_trees import Scored, score_table
from clearmargin.recipes.found_points import (
    FoundPoints,
    card_as_points,
    find_points,
    points_as_rules,
)
from clearmargin.recipes.found_rules import (
    ExtractOptions,
    FoundRules,
    find_rules,
    report_splitting,
)
from clearmargin.recipes.method_choice import FoldScores, Method, score_methods
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import PlaneOptions, encoder, train_plane
from clearmargin.rules.file_writing import json_text
from clearmargin.rules.space import nearest_name

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes
    from clearmargin.progress import Progress
    from clearmargin.report import Report
    from clearmargin.rule_svm import WeightedRules
    from clearmargin.rules import RuleSet
    from clearmargin.tables.splitting import Folds
    from clearmargin.tables.table import Table

__all__ = [
    "METHODS",
    "MethodChoice",
    "OnePage",
    "PageBudget",
    "make_one_page",
    "page_report",
    "plane_text",
]

# What the methods are called in options and in sentences. Of equally good ones the first is taken: proved rules first.
METHODS = {
    "plane": "proved rules of a sparse plane",
    "rule-svc": "rules with points",
    "card": "a scorecard",
}
# What is made where methods are not compared.
_UNCOMPARED = "rule-svc"
# A rule of a plane has a condition on each of its features at most.
_PLANE_FEATURES = 3
# More rows are sampled for the comparison: a kernel machine takes the square of their number.
_MOST_COMPARED = 5_000
# Folds by which a plane chooses its features; twice as many take twice as long and changed no choice by much.
_INNER_FOLDS = 5
# Below this share of the rows, a class may be missed by what is right on most of them.
_RARE = 0.2
# Costs that plain machines are tried with; more of them changed nothing by a standard error on the tables of tuning.
_LINEAR_COSTS, _RBF_COSTS = (0.1, 1.0), (1.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class MethodChoice:
    """Which method was chosen by cross-validation, beside plain support vector machines.

    Parameters
    ----------
    readable : FoldScores
        The methods that fit on a page.
    plain : FoldScores
        Plain support vector machines.
    how : str
        How the rows were split.
    constant : tuple of label and float
        The most frequent class, and the share of the tested rows that it has.
    chance_error : float
        Standard error of that share by chance, in as many rows.
    balanced : bool
        Whether all classes weigh the same in the shares.
    rarest : tuple of label and int
        The rarest class, and how many of the tested rows it has.
    """

    readable: FoldScores
    plain: FoldScores
    how: str
    constant: tuple[Any, float]
    chance_error: float
    balanced: bool
    rarest: tuple[Any, int]

    @property
    def price(self) -> tuple[float, float | None]:
        """By how much the best plain machine is right more often on unseen rows, and the standard error of that.

        It is the best in hindsight, so that readability is rather said to cost too much than too little.
        """
        return self.readable.lead_of(self.plain.only([self.plain.chosen]))

    @property
    def is_better_than_constant(self) -> bool:
        """Whether what was chosen is right more often than one class for all rows, by more than chance allows."""
        return self.readable.honest > self.constant[1] + 2.0 * self.chance_error

    def sentences(self, size: str) -> tuple[str, ...]:
        """Say what was chosen, how right it is on unseen rows beside plain machines, and what readability costs.

        Parameters
        ----------
        size : str
            How large what was chosen is, such as "14 rules with points".

        Returns
        -------
        tuple of str
            Two sentences, and a third where one class for all rows is as good, or where a class is rare.
        """
        others = [METHODS[name] for name in self.readable.names if name != self.readable.chosen]
        before = f", before {' and '.join(others)}" if others else ""
        what = "a balanced accuracy of" if self.balanced else "right on"
        share = _with_error(ratio_text(self.readable.honest), self.readable.standard_error)
        best = f"{self.plain.chosen}, the best in hindsight"
        told = [
            f"Chosen by {self.how}: {size}{before}.",
            f"Measured on unseen rows: {what} {share}, where a plain SVM ({best}) has "
            f"{ratio_text(float(self.plain.means.max()))}: readability {_price(*self.price)}.",
        ]
        if not self.is_better_than_constant:
            label, constant = self.constant
            told.append(
                f"Predicting {label} for every row has {ratio_text(constant)}, within two standard errors of that: "
                "these columns may say nothing about the class."
            )
        elif self._is_rare:
            label, rows = self.rarest
            told.append(
                f"Of the {rows:,} rows of {label}, the rarest class, {ratio_text(self._share_found)} are found; where "
                "they matter more than their number, let all classes weigh the same (balanced)."
            )
        return tuple(told)

    @property
    def _is_rare(self) -> bool:
        """Whether being right on most rows may tell little about a class."""
        rows = int(self.readable.rows.sum())
        is_counted = self.readable.found is not None and not self.balanced
        return is_counted and 0 < self.rarest[1] < _RARE * rows

    @property
    def _share_found(self) -> float:
        """The share of the rows of the rarest class that choosing and training gets right."""
        return (self.readable.honest_found or 0) / self.rarest[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data for JSON."""
        lead, error = self.price
        return {
            **self.readable.to_dict(),
            "titles": {name: METHODS[name] for name in self.readable.names},
            "plain": self.plain.to_dict(),
            "price": {
                "points": 100 * lead,
                "standard_error": None if error is None else 100 * error,
            },
            "cross_validation": self.how,
            "scoring": "balanced_accuracy" if self.balanced else "accuracy",
            "most_frequent_class": self.constant[0],
            "most_frequent_class_share": self.constant[1],
            "rarest_class": {
                "class": self.rarest[0],
                "rows": self.rarest[1],
                "found": self.readable.honest_found,
            },
        }


def _with_error(text: str, error: float | None) -> str:
    return text if error is None else f"{text} (standard error {100 * error:.1f})"


def _price(lead: float, error: float | None) -> str:
    points = abs(round(100 * lead, 1))
    if points == 0:
        return _with_error("costs nothing", error)
    return _with_error(f"{'costs' if lead > 0 else 'gains'} {points:.1f} points", error)


@dataclass(frozen=True, slots=True)
class PageBudget:
    """What fits on one page.

    Parameters
    ----------
    max_rules : int, default 15
        Maximum number of rules.
    max_conditions : int, optional
        Maximum number of conditions of a rule: by default 2 of rules with points, and 3 of a plane.
    max_cuts : int, default 20
        Maximum number of cuts and categories with points of a scorecard, which then has at most twice as many lines.

    Examples
    --------
    >>> from clearmargin.recipes import PageBudget
    >>> PageBudget(max_rules=5).max_cuts
    20
    """

    max_rules: int = 15
    max_conditions: int | None = None
    max_cuts: int = 20


@dataclass(frozen=True, slots=True, eq=False)
class OnePage:
    """One page of rules for a table.

    Parameters
    ----------
    task : Task
        The table.
    method : str
        One of `METHODS`.
    result : FoundRules, FoundPoints or Scored
        Proved rules, rules with points, or a scorecard, made of all rows.
    choice : MethodChoice, optional
        How the method was chosen, and how right it is on unseen rows; None where no rows are left for that.
    notes : tuple of str
        What the user should know.
    refit : callable, optional
        Makes the model again from a part of the task, for a report.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PageBudget, make_one_page, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> page = make_one_page(make_task(table, "ill", cv=None), budget=PageBudget(max_rules=1))
    >>> page.size
    '1 rule with points'
    """

    task: Task
    method: str
    result: FoundRules | FoundPoints | Scored
    choice: MethodChoice | None = None
    notes: tuple[str, ...] = ()
    refit: Callable[[Task], Any] | None = None

    @property
    def size(self) -> str:
        """How large the page is, in words."""
        if isinstance(self.result, Scored):
            return f"a scorecard of {number_of(len(self.result.card.lines()), 'line')}"
        count = number_of(len(self.result.rules), "rule")
        if isinstance(self.result, FoundRules):
            return f"{count} of a plane, proved"
        return f"{count} with points"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was chosen, how right it is on unseen rows, and what readability costs."""
        if self.choice is None:
            return (
                f"Made without a comparison: {self.size}; how right it is on unseen rows is not known.",
            )
        return self.choice.sentences(self.size)

    @property
    def model(self) -> Any:
        """What decides, as it is saved and reported on."""
        if isinstance(self.result, Scored):
            assert self.weighted is not None
            return self.weighted
        return self.result.model

    @property
    def weighted(self) -> WeightedRules | None:
        """The rules with points of the page; None for proved rules, of which each decides by itself."""
        if isinstance(self.result, Scored):
            return _points_of_card(self.result, self.task)
        return None if isinstance(self.result, FoundRules) else self.result.weighted

    @property
    def rules(self) -> RuleSet:
        """The rules of the page; of a scorecard, one for each interval or category with points."""
        if isinstance(self.result, FoundRules):
            return self.result.rules
        assert self.weighted is not None
        return self.weighted.rules

    def rules_text(self) -> str:
        """Write the rules in the rule language."""
        if isinstance(self.result, FoundRules):
            return self.result.rules.to_text()
        assert self.weighted is not None
        return points_as_rules(self.weighted)

    def to_json(self) -> str:
        """Write the rules as a JSON document, with points where they have any."""
        decides = self.result.rules if isinstance(self.result, FoundRules) else self.weighted
        assert decides is not None
        return json_text(decides.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return task, choice and result as plain data for JSON."""
        return {
            **self.result.to_dict(),
            "method": self.method,
            "choice": None if self.choice is None else self.choice.to_dict(),
            "sentences": list(self.sentences),
        }


def make_one_page(
    task: Task,
    method: str = "auto",
    *,
    budget: PageBudget | None = None,
    balanced: bool = False,
    progress: Progress = False,
) -> OnePage:
    """Make one page of rules for a table, by the method that is right most often on unseen rows.

    Parameters
    ----------
    task : Task
        The table. Where it has missing values, made with ``missing="either"``: rules with points take them as they
        are, the other methods fill them.
    method : {"auto", "plane", "rule-svc", "card"}, default "auto"
        The method, where it is not to be chosen.
    budget : PageBudget, optional
        What fits on the page.
    balanced : bool, default False
        Whether all classes weigh the same, in training and in the choice.
    progress : bool or "auto", default False
        Whether bars are shown.

    Returns
    -------
    OnePage
        With every row given a class. It does not depend on the order of the rows of the table, unless `task` has
        groups: folds and samples go by what rows hold.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import make_one_page, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> page = make_one_page(make_task(table, "ill", cv=None), "plane")
    >>> page.method, len(page.result.rules)
    ('plane', 2)
    """
    makers = _makers(budget or PageBudget(), balanced)
    if method not in ("auto", *makers):
        hint = nearest_name(method, ["auto", *METHODS])
        raise DataError(
            f"there is no method {method!r}; there are auto, {', '.join(METHODS)}{hint}"
        )
    names = [name for name in makers if name != "card" or len(task.counts) == 2]
    names = [method] if method != "auto" else names
    ordered = task.by_values()
    compared, notes = _sample(ordered)
    folds, doubts = _folds(compared)
    scores = None
    if folds is not None:
        scores = _score_all(compared, makers, names, folds, balanced, progress)
    failed: list[str] = []
    while names:
        choice = None
        if folds is not None and scores is not None:
            choice = _choice(compared, folds, scores.only(names), scores.without(makers), balanced)
        name = _UNCOMPARED if choice is None and _UNCOMPARED in names else names[0]
        name = name if choice is None else choice.readable.chosen
        try:
            result = makers[name].make(ordered, progress)
        except ClearmarginError as error:
            # What cannot be learned from all rows is no choice, however it did in folds.
            names.remove(name)
            failed.append(f"{METHODS[name]}: {error}")
        else:
            notes = (*notes, *doubts, *failed)
            return OnePage(task, name, result, choice, notes, makers[name].refit)
    raise DataError("; ".join(failed))


def page_report(page: OnePage, *, command: str | None = None) -> Report:
    """Report on a page of rules, with all methods that were compared.

    Parameters
    ----------
    page : OnePage
        The page.
    command : str, optional
        What makes the report again, instead of a call in Python.

    Returns
    -------
    Report
        To be saved as HTML or Markdown; what was chosen and what it costs is said first.
    """
    from clearmargin.report import Report, report

    task = page.task
    # Rules of a plane fill missing values by themselves: they know what these count as.
    given = task.X if task.given is None else task.given
    options: dict[str, Any] = {"cv": None}
    if task.splitting is not None:
        refit = page.refit
        assert refit is not None
        options = {
            **report_splitting(task),
            "refit": lambda train, test: (refit(task.part(train)), given.take(test)),
        }
    summary = report(page.model, given, task.y, **options).to_dict()
    summary["learned"] = [*page.sentences, *summary["learned"]]
    if page.choice is not None:
        summary["choice"] = page.choice.to_dict()
    if command is not None:
        summary["reproduce"]["call"] = command
    return Report(summary)


def _sample(task: Task) -> tuple[Task, tuple[str, ...]]:
    """Take a part of a large table to compare methods on, with the classes in proportion."""
    if len(task.y) <= _MOST_COMPARED or task.splitting is None:
        return task, ()
    from sklearn.model_selection import train_test_split

    rows, _ = train_test_split(
        np.arange(len(task.y)), train_size=_MOST_COMPARED, stratify=task.y, random_state=0
    )
    note = f"methods are compared on {_MOST_COMPARED:,} of the {len(task.y):,} rows; the one chosen learns from all"
    return task.part(np.sort(rows)), (note,)


def _folds(task: Task) -> tuple[Folds | None, tuple[str, ...]]:
    """Split the rows; None, and a note, where that cannot be."""
    if task.splitting is None:
        return None, ()
    try:
        return task.splitting.folds(task.X, task.y), ()
    except DataError as error:
        return None, (f"methods are not compared, and no figure on unseen rows is known: {error}",)


def _score_all(
    task: Task,
    makers: Mapping[str, _Maker],
    names: Sequence[str],
    folds: Folds,
    balanced: bool,
    progress: Progress,
) -> FoldScores:
    """Measure readable methods and plain machines on the same unseen rows."""
    readable = [Method(name, METHODS[name], makers[name].predictor) for name in names]
    methods = [*readable, *_plain_methods(balanced)]
    return score_methods(task, methods, folds, balanced=balanced, progress=progress)


def _choice(
    task: Task, folds: Folds, readable: FoldScores, plain: FoldScores, balanced: bool
) -> MethodChoice:
    tested = task.y[np.concatenate([test for _, test in folds.pairs])]
    labels, counts = np.unique(tested, return_counts=True)
    common = int(counts.argmax())
    share = 1.0 / len(labels) if balanced else float(counts[common] / len(tested))
    # The mean over classes of shares: that of a rare class is known from its few rows alone.
    per_row = float((1.0 / counts).sum()) / len(labels) ** 2 if balanced else 1.0 / len(tested)
    error = math.sqrt(share * (1.0 - share) * per_row)
    how = f"{len(folds)} {folds.how}"
    # The one that was counted in the folds: folds by groups or times may test few of its rows, and others less.
    values, totals = np.unique(task.y, return_counts=True)
    rare = values.tolist()[int(totals.argmin())]
    rarest = (rare, int((tested == rare).sum()))
    most = (labels.tolist()[common], share)
    return MethodChoice(readable, plain, how, most, error, balanced, rarest)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A classifier that is given rows as they are, and fills missing values first where it must."""

    classifier: Any
    fill: Mapping[str, Any] | None = None

    def predict(self, X: Table) -> NDArray[Any]:
        rows = X if self.fill is None else X.filled(self.fill)
        return np.asarray(self.classifier.predict(rows.taken_by(self.classifier)))


@dataclass(frozen=True, slots=True)
class _Maker:
    """How a method makes its page of all rows, what is judged in a fold, and what a report judges there."""

    make: Callable[[Task, Progress], FoundRules | FoundPoints | Scored]
    predictor: Callable[[Task], _Fitted]
    refit: Callable[[Task], Any]


def _makers(budget: PageBudget, balanced: bool) -> dict[str, _Maker]:
    """List the methods in the order of `METHODS`."""
    features = budget.max_conditions or _PLANE_FEATURES
    plane = PlaneOptions(max_features=features, balanced=balanced, folds=_INNER_FOLDS)
    extraction = ExtractOptions(criterion="coverage", max_rules=budget.max_rules)
    points: dict[str, Any] = {"max_rules": budget.max_rules, "balanced": balanced}
    if budget.max_conditions is not None:
        points["max_conditions"] = budget.max_conditions

    def make_rules(task: Task, progress: Progress) -> FoundRules:
        return find_rules(
            train_plane(task, plane, progress=progress), extraction, progress=progress
        )

    def make_card(task: Task, progress: Progress) -> Scored:
        # What it is worth on unseen rows is measured beside the other methods.
        alone = replace(task, splitting=None)
        return score_table(alone, max_cuts=budget.max_cuts, balanced=balanced, progress=progress)

    def points_model(part: Task) -> Any:
        return find_points(part, certify=False, **points).model

    def card_model(part: Task) -> WeightedRules:
        return _points_of_card(make_card(part, False), part)

    return {
        # Rules and plane never disagree, and where no rule covers a row the plane decides: only it is judged.
        "plane": _Maker(
            make_rules,
            lambda part: _Fitted(train_plane(part, plane).model, part.fill),
            lambda part: make_rules(part, False).model,
        ),
        "rule-svc": _Maker(
            lambda task, progress: find_points(task, progress=progress, **points),
            lambda part: _Fitted(points_model(part)),
            points_model,
        ),
        "card": _Maker(make_card, lambda part: _Fitted(card_model(part)), card_model),
    }


def _points_of_card(scored: Scored, task: Task) -> WeightedRules:
    from clearmargin.scorecards import Scorecard

    # A card with proof would ask its machine between; none is made here.
    assert isinstance(scored.card, Scorecard)
    return card_as_points(scored.card, task.fill)


def _plain_methods(balanced: bool) -> list[Method]:
    """List the support vector machines that readable methods are compared with."""
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC, LinearSVC

    weight = "balanced" if balanced else None

    def method(name: str, machine: Any) -> Method:
        def fit(part: Task) -> _Fitted:
            pipeline = make_pipeline(encoder(part, scale=True), machine)
            return _Fitted(pipeline.fit(part.X, part.y), part.fill)

        return Method(name, name, fit)

    linear = [
        method(f"linear, C={C:g}", LinearSVC(C=C, class_weight=weight, random_state=0))
        for C in _LINEAR_COSTS
    ]
    return linear + [method(f"RBF, C={C:g}", SVC(C=C, class_weight=weight)) for C in _RBF_COSTS]


def plane_text(planes: Planes, X: Any = None) -> str:
    """Write how planes decide, feature by feature, in the units of the table.

    Parameters
    ----------
    planes : Planes
        The planes of a linear model.
    X : data frame or array-like of shape (m, n), optional
        Rows whose classes the numbers that are written must give.

    Returns
    -------
    str
        A line for two classes, else one for each class; four significant digits, and more where `X` needs them.

    Examples
    --------
    >>> from clearmargin import FeatureSpace, RuleSet
    >>> from clearmargin.models.planes import Planes
    >>> space = FeatureSpace(["age", "smoker"], categories={"smoker": ["no", "yes"]})
    >>> print(plane_text(Planes(RuleSet([], space, ["well", "ill"]), [[0.1, 0.0, 2.0]], [-6.0])))
    ill where -6 + 0.1 age + 2 (smoker = yes) is above 0, else well
    """
    from clearmargin.language.printer import Phrases, format_label
    from clearmargin.language.words import number_text

    phrases, digits = Phrases(planes.space), _digits_for(planes, X)
    sums = []
    for coef, intercept in zip(planes.coef_, planes.intercept_, strict=True):
        text = number_text(float(intercept), digits)
        for k in np.flatnonzero(coef).tolist():
            feature, code = planes.encoding_.sources[k]
            name = (
                phrases.names[feature] if code is None else f"({phrases.chosen(feature, (code,))})"
            )
            sign = "-" if coef[k] < 0 else "+"
            text += f" {sign} {number_text(abs(float(coef[k])), digits)} {name}"
        sums.append(text)
    labels = [format_label(label) for label in planes.rules.classes]
    if len(labels) == 2:
        return f"{labels[1]} where {sums[0]} is above 0, else {labels[0]}"
    lines = [f"  {label}: {text}" for label, text in zip(labels, sums, strict=True)]
    return "\n".join(["the class with the highest of", *lines])


# A float is read back from so many digits as it was.
_FEWEST_DIGITS, _ALL_DIGITS = 4, 17


def _digits_for(planes: Planes, X: Any) -> int:
    """Return how many digits of weights give the same classes; a column of times in seconds takes nearly all."""
    from clearmargin.language.words import number_text

    if X is None:
        return _FEWEST_DIGITS
    classes = planes.predict_codes(X)
    for digits in range(_FEWEST_DIGITS, _ALL_DIGITS):
        written = [
            np.reshape([float(number_text(value, digits)) for value in numbers.flat], numbers.shape)
            for numbers in (planes.coef_, planes.intercept_)
        ]
        if (type(planes)(planes.rules, *written).predict_codes(X) == classes).all():
            return digits
    return _ALL_DIGITS
