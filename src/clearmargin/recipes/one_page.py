"""The default way: one page of rules for a table, whatever its columns, with every row given a class.

Three methods compete by cross-validation, each under a budget of one page: proved rules of a plane of at most three
features, at most 15 rules with points (`RuleSVC`), and a scorecard of at most 20 lines. Beside them stand the plain
support vector machines that nobody can read, so that what readability costs is said, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import ClearmarginError, DataError
from clearmargin.language.prose import ratio_text
from clearmargin.language.words import error_text, rare_text
from clearmargin.recipes.cards_and_trees import Scored, score_table
from clearmargin.recipes.found_points import (
    FoundPoints,
    card_as_points,
    find_points,
    points_as_rules,
)
from clearmargin.recipes.found_rules import ExtractOptions, FoundRules, find_rules
from clearmargin.recipes.method_choice import FoldScores, Method, score_methods
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import PlaneOptions, encoder, train_plane
from clearmargin.rules.file_writing import json_text
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray
from clearmargin.tables.figures import Evaluation, Figure, rare_class

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes
    from clearmargin.points import Scorecard
    from clearmargin.progress import Progress
    from clearmargin.report import Report
    from clearmargin.rules import RuleSet
    from clearmargin.tables.splitting import Folds
    from clearmargin.tables.table import Table

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
# A class is seldom predicted where fewer rows than this share of its own are said to have it.
_SELDOM = 0.5
# Costs that plain machines are tried with; more of them changed nothing by a standard error on the tables of tuning.
_LINEAR_COSTS, _RBF_COSTS = (0.1, 1.0), (1.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class MethodChoice:
    """Which method was chosen by cross-validation, beside plain support vector machines."""

    readable: FoldScores
    plain: FoldScores
    folds: Folds
    balanced: bool

    @property
    def how(self) -> str:
        """How the rows were split, in words."""
        return f"{len(self.folds)} {self.folds.how}"

    @property
    def unseen(self) -> Evaluation:
        """What choosing and training predicts for rows that it has not seen."""
        return self.readable.honest

    @property
    def price(self) -> Figure:
        """By how much the best plain machine is better on the same unseen rows."""
        return self.plain.figures[self.plain.best] - self.unseen.figure(self.readable.balanced)

    @property
    def ranking(self) -> Figure:
        """The area under the ROC curve of the method or machine that ranks unseen rows best."""
        methods = (*self.readable.evaluations, *self.plain.evaluations)
        return max((each.auc for each in methods), key=lambda figure: figure.value)

    @property
    def is_above_chance(self) -> bool:
        """Whether anything ranks unseen rows better than chance, by more than two standard errors."""
        best = self.ranking
        return best.value > 0.5 + 2.0 * best.error

    def sentences(self, size: str) -> tuple[str, ...]:
        """Say what was chosen, how right it is on unseen rows beside plain machines, and what readability costs."""
        others = [METHODS[name] for name in self.readable.names if name != self.readable.chosen]
        before = f", before {' and '.join(others)}" if others else ""
        weighed = ", all classes weighing the same" if self.balanced else ""
        told = [f"Chosen by {self.how}{weighed}: {size}{before}.", *self._measured()]
        if not self.is_above_chance:
            best = self.ranking
            told.append(
                f"No method ranks unseen rows better than chance by two standard errors (the highest AUC is "
                f"{error_text(f'{best.value:.3f}', best.error, 3)}): these columns may say nothing about the class."
            )
        known = self.unseen
        named, rows = (
            int((codes == known.rarest).sum()) for codes in (known.predicted, known.true)
        )
        if not self.balanced and named < _SELDOM * rows:
            told.append(
                f"{known.classes[known.rarest]} is predicted for {named:,} rows, and {rows:,} have it; where it "
                "matters more than how many rows are right, let all classes weigh the same (balanced)."
            )
        return tuple(told)

    def _measured(self) -> list[str]:
        known, by_balance = self.unseen, self.readable.balanced
        figure, (label, share) = known.figure(by_balance), known.common
        plain = f"a plain SVM ({self.plain.chosen}, the best in hindsight) has"
        cost = f"{_share(self.plain.figures[self.plain.best])}: readability {_price(self.price)}."
        if known.rare is not None:
            text = f"Measured on unseen rows: {rare_text(known.to_dict())}."
            return [text, f"In balanced accuracy {plain} {cost}"]
        what = "a balanced accuracy of" if by_balance else "right on"
        constant = "" if by_balance else f"always saying {label} is right on {ratio_text(share)}, "
        right = error_text(_share(figure), figure.error)
        return [f"Measured on unseen rows: {what} {right}; {constant}{plain} {cost}"]

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data for JSON."""
        label, share = self.unseen.common
        return {
            **self.readable.to_dict(),
            "titles": {name: METHODS[name] for name in self.readable.names},
            "plain": self.plain.to_dict(),
            "price": {
                "points": 100 * self.price.value,
                "standard_error": 100 * self.price.error,
            },
            "cross_validation": self.how,
            "balanced": self.balanced,
            "scoring": "balanced_accuracy" if self.readable.balanced else "accuracy",
            "most_frequent_class": label,
            "most_frequent_class_share": share,
        }


def _share(figure: Figure) -> str:
    return ratio_text(figure.value)


def _price(lead: Figure) -> str:
    points = abs(round(100 * lead.value, 1))
    if points == 0:
        return error_text("costs nothing", lead.error)
    return error_text(f"{'costs' if lead.value > 0 else 'gains'} {points:.1f} points", lead.error)


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
        Maximum number of rules with points of a scorecard.

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
    def weighted(self) -> Scorecard | None:
        """The rules with points of the page; None for proved rules, of which each decides by itself."""
        if isinstance(self.result, Scored):
            return card_as_points(self.result.card, self.task.fill)
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
        choice = self.choice
        return {
            "unseen": None if choice is None else choice.unseen.to_dict(),
            **self.result.to_dict(),
            "method": self.method,
            "choice": None if choice is None else choice.to_dict(),
            "sentences": list(self.sentences),
        }


def make_one_page(
    task: Task,
    method: str = "auto",
    *,
    budget: PageBudget | None = None,
    balanced: bool | None = None,
    progress: Progress = False,
) -> OnePage:
    """Make one page of rules for a table, by the method that does best on unseen rows.

    That is the one that is right most often; where a class is rare, or all classes weigh the same, the one with the
    highest balanced accuracy.

    Parameters
    ----------
    task : Task
        The table. Where it has missing values, made with ``missing="either"``: rules with points take them as they
        are, the other methods fill them.
    method : {"auto", "plane", "rule-svc", "card"}, default "auto"
        The method, where it is not to be chosen.
    budget : PageBudget, optional
        What fits on the page.
    balanced : bool, optional
        Whether all classes weigh the same, in training and in the choice; by default where a class is rare: of two,
        where it has fewer than 20 % of the rows.
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
    rare = rare_class(task.y) is not None
    balanced = rare if balanced is None else balanced
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
        readable = [Method(each, METHODS[each], makers[each].predictor) for each in names]
        methods = [*readable, *_plain_methods(balanced)]
        scores = score_methods(
            compared, methods, folds, balanced=balanced or rare, progress=progress
        )
    failed: list[str] = []
    while names:
        choice = None
        if folds is not None and scores is not None:
            choice = MethodChoice(scores.only(names), scores.without(makers), folds, balanced)
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
            return OnePage(task, name, result, choice, notes)
    raise DataError("; ".join(failed))


def page_report(page: OnePage, *, command: str | None = None) -> Report:
    """Report on a page of rules, with all methods that were compared."""
    from clearmargin.report import Report, report
    from clearmargin.report.sections import learned
    from clearmargin.report.subject import check_facts

    task = page.task
    # Rules of a plane fill missing values by themselves: they know what these count as.
    given = task.X if task.given is None else task.given
    summary = report(page.model, given, task.y, cv=None).to_dict()
    if page.choice is not None:
        # One figure on unseen rows: that of choosing and training, in the folds of the choice.
        summary["validation"] = check_facts(page.choice.unseen, page.choice.folds)
        summary["choice"] = page.choice.to_dict()
    elif task.splitting is not None:
        summary["validation"]["why"] = "the rows cannot be split into folds"
    summary["learned"] = [*page.sentences, *learned(summary)]
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


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A classifier that is given rows as they are, and fills missing values first where it must."""

    classifier: Any
    fill: Mapping[str, Any] | None = None

    def predict(self, X: Table) -> NDArray[Any]:
        rows = X if self.fill is None else X.filled(self.fill)
        return np.asarray(self.classifier.predict(rows.taken_by(self.classifier)))

    def scores(self, X: Table) -> tuple[NDArray[Any], FloatArray]:
        rows = X if self.fill is None else X.filled(self.fill)
        values = self.classifier.decision_function(rows.taken_by(self.classifier))
        known = getattr(self.classifier, "classes_", getattr(self.classifier, "classes", None))
        return np.asarray(known), np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Maker:
    """How a method makes its page of all rows, and what is judged in a fold."""

    make: Callable[[Task, Progress], FoundRules | FoundPoints | Scored]
    predictor: Callable[[Task], _Fitted]


def _makers(budget: PageBudget, balanced: bool) -> dict[str, _Maker]:
    """List the methods in the order of `METHODS`."""
    features = budget.max_conditions or _PLANE_FEATURES
    plane = PlaneOptions(max_features=features, balanced=balanced, folds=_INNER_FOLDS)
    extraction = ExtractOptions(criterion="coverage", max_rules=budget.max_rules)
    points: dict[str, Any] = {"max_rules": budget.max_rules, "balanced": balanced}
    if budget.max_conditions is not None:
        points["max_conditions"] = budget.max_conditions

    def make_rules(task: Task, progress: Progress) -> FoundRules:
        return find_rules(train_plane(task, plane), extraction, progress=progress)

    def make_card(task: Task, progress: Progress) -> Scored:
        # What it is worth on unseen rows is measured beside the other methods.
        alone = replace(task, splitting=None)
        return score_table(
            alone,
            max_cuts=budget.max_cuts,
            max_conditions=1,
            balanced=balanced,
            progress=progress,
        )

    return {
        # Rules and plane never disagree, and where no rule covers a row the plane decides: only it is judged.
        "plane": _Maker(
            make_rules, lambda part: _Fitted(train_plane(part, plane).model, part.fill)
        ),
        "rule-svc": _Maker(
            lambda task, progress: find_points(task, progress=progress, **points),
            lambda part: _Fitted(find_points(part, **points).model),
        ),
        "card": _Maker(
            make_card,
            lambda part: _Fitted(card_as_points(make_card(part, False).card, part.fill)),
        ),
    }


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
    """Write how planes decide, feature by feature, in the units of the table."""
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
