"""Extract the rules of a trained model, explain cases by them, and report on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from clearmargin.recipes.task import Task, find_row, find_rows
from clearmargin.recipes.trained_models import Trained, model_facts

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.plane_rules import RuleExtractor
    from clearmargin.progress import Progress
    from clearmargin.report import Report
    from clearmargin.rule_base.budget import RuleBudget
    from clearmargin.rule_base.distillation import Distillation
    from clearmargin.rules import RuleSet
    from clearmargin.rules.rule import Label
    from clearmargin.rules.value import IntArray

# Parameters of `RuleExtractor` that are passed on as they are.
_CHOICES = (
    "criterion",
    "max_rules",
    "max_conditions",
    "min_coverage",
    "max_features",
)


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """Which rules are extracted; what is None is as in `RuleExtractor`.

    Parameters
    ----------
    criterion : str, optional
        What makes a rule good.
    max_rules : int or "all", optional
        Maximum number of rules in all classes together.
    max_conditions, min_coverage : int, optional
        Maximum number of features in a rule, and minimum number of rows under one.
    assume_ranges : bool, default False
        Whether the ranges seen in the data are taken for granted.
    max_features : int, optional
        Extract from a plane distilled to so many features.

    Examples
    --------
    >>> from clearmargin.recipes import ExtractOptions
    >>> ExtractOptions(max_rules=3).chosen()
    {'max_rules': 3}
    """

    criterion: str | None = None
    max_rules: int | Literal["all"] | None = None
    max_conditions: int | None = None
    min_coverage: int | None = None
    assume_ranges: bool = False
    max_features: int | None = None

    def chosen(self) -> dict[str, Any]:
        """Give the parameters of `RuleExtractor` that are chosen."""
        chosen = {name: getattr(self, name) for name in _CHOICES}
        given = {name: value for name, value in chosen.items() if value is not None}
        return {name: None if value == "all" else value for name, value in given.items()}


@dataclass(frozen=True, slots=True, eq=False)
class FoundRules:
    """The rules of a model on a table.

    Parameters
    ----------
    task : Task
        The table.
    rules : RuleSet
        The rules.
    trace : mapping from class to Trace
        What they cover of each class.
    model : RuleExtractor or Planes
        The model with its rules, as it is saved.
    facts : dict
        The model as plain data.
    auc : float, optional
        Area under the ROC curve of the rules, like coverage and recall on the rows that they were made of; on others
        it is in the report.
    budget : RuleBudget, optional
        What the rules cover, and what all that were found would.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, find_rules, make_task, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> found = find_rules(trained)
    >>> found.to_dict()["coverage"][0]
    {'class': 'no', 'coverage': 1.0, 'recall': 1.0}
    """

    task: Task
    rules: RuleSet
    trace: Mapping[Label, Any]
    model: Any
    facts: dict[str, Any] = field(default_factory=dict)
    auc: float | None = None
    budget: RuleBudget | None = None

    @property
    def distillation(self) -> Distillation | None:
        """The plane that stands in for the model, if the rules are of one."""
        return getattr(self.model, "distillation_", None)

    def to_dict(self) -> dict[str, Any]:
        """Return task, model, coverage, area and rules as plain data for JSON."""
        return {
            **self.task.to_dict(),
            "model": self.facts,
            "distillation": None if self.distillation is None else self.distillation.to_dict(),
            "coverage": [
                {"class": label, "coverage": trace.coverage, "recall": trace.recall}
                for label, trace in self.trace.items()
            ],
            "auc": self.auc,
            "budget": None if self.budget is None else self.budget.to_dict(),
            "rules": self.rules.to_dict(),
        }


def find_rules(
    trained: Trained, options: ExtractOptions | None = None, *, progress: Progress = False
) -> FoundRules:
    r"""Extract the rules of a model from the table of its task.

    Parameters
    ----------
    trained : Trained
        The model and its task.
    options : ExtractOptions, optional
        Which rules.
    progress : bool or "auto", default False
        Whether a bar is shown.

    Returns
    -------
    FoundRules
        Each rule is proved: the model, or the plane distilled from it, predicts its class wherever it applies.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, find_rules, make_task, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> found = find_rules(trained)
    >>> print(*found.rules, sep="\n")
    age <= 42 => no
    age >= 44 => yes
    """
    from clearmargin.rule_base.rule_auc import mean_auc
    from clearmargin.rule_base.training import class_codes

    model, task = trained.model, trained.task
    extractor = _extract(task, model, options or ExtractOptions(), progress)
    area = mean_auc(extractor.class_shares(task.X), class_codes(task.y, extractor.classes_))
    facts = model_facts(model, trained.accuracy)
    rules, trace = extractor.rules_, extractor.trace_
    return FoundRules(task, rules, trace, extractor, facts, area, extractor.budget_)


def _extract(
    task: Task, model: PlaneModel, options: ExtractOptions, progress: Progress
) -> RuleExtractor:
    from clearmargin.plane_rules import RuleExtractor

    chosen = options.chosen()
    if options.assume_ranges:
        chosen["bounds"] = {
            name: (float(values.min()), float(values.max()))
            for name, categories in zip(model.space.names, model.space.categories, strict=True)
            if categories is None
            for values in [task.X.column(name).numbers()]
        }
    # What the user does not choose is as in Python.
    extractor = RuleExtractor(model, progress=progress, **chosen)
    return extractor.fit(task.X, task.y)


def rule_lines(rules: RuleSet) -> list[str]:
    """Return the rules in the rule language, without declarations."""
    from clearmargin.language.printer import Phrases, format_label

    phrases = Phrases(rules.space)
    return [f"{phrases.premise(rule)} => {format_label(rule.label)}" for rule in rules]


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedCases:
    """Explanations of rows of a table.

    Parameters
    ----------
    task : Task
        The table.
    rows : tuple of int
        Numbers of the rows in the table, counted from 1.
    labels : tuple of label
        Their true classes.
    explanations : tuple of Explanation
        One for each.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, explain_cases, make_task, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> explain_cases(trained, np.array([12])).to_dict()["explanations"][0]["row"]
    13
    """

    task: Task
    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    explanations: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanations as plain data for JSON."""
        parts = zip(self.explanations, self.rows, self.labels, strict=True)
        told = [
            {"row": row, "true_class": true, **explanation.to_dict()}
            for explanation, row, true in parts
        ]
        return {**self.task.to_dict(), "explanations": told}


def choose_rows(
    task: Task, *, row: int | None = None, where: str | None = None, most: int = 3
) -> tuple[IntArray, tuple[str, ...]]:
    """Choose rows of a task by number or by a premise.

    Parameters
    ----------
    task : Task
        The task.
    row : int, optional
        The number of a row in the table, counted from 1.
    where : str, optional
        A premise in the rule language, if no row is given.
    most : int, default 3
        Maximum number of rows.

    Returns
    -------
    positions : ndarray of int
        Positions among the rows of the task.
    notes : tuple of str
        That there are more of them, if so.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import choose_rows, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> choose_rows(task, where="age >= 64")
    (array([22, 23]), ())
    """
    if row is not None:
        return find_row(task, row), ()
    premise = where or "true"
    usable, _ = find_rows(task, premise)
    notes: tuple[str, ...] = ()
    if len(usable) > most:
        notes = (f"{len(usable)} rows have {premise}; the first {most} are explained",)
    return usable[:most], notes


def explain_cases(
    trained: Trained,
    positions: IntArray,
    *,
    precision: float = 0.95,
    max_conditions: int | None = None,
    guarantee: str = "auto",
) -> ExplainedCases:
    """Explain why rows get their class by a few conditions, proved or measured, without extracting rules.

    Parameters
    ----------
    trained : Trained
        The model, and the table whose ranges and rows the explanations are about.
    positions : ndarray of int
        Rows of its task.
    precision, max_conditions, guarantee
        As for `clearmargin.explain`.

    Returns
    -------
    ExplainedCases
        An explanation for each.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, explain_cases, make_task, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> told = explain_cases(train(task, plane=PlaneOptions(nu=1.0)), np.array([12]))
    >>> told.explanations[0].sentence, told.explanations[0].guarantee
    ('If age is at least 44, then yes.', 'proved')
    """
    from clearmargin.cases import explain_many

    task = trained.task
    told = explain_many(
        trained.model,
        task.X.take(positions),
        task.X,
        precision=precision,
        max_conditions=max_conditions,
        guarantee=guarantee,
    )
    rows = tuple(task.row_number(position) for position in positions.tolist())
    return ExplainedCases(task, rows, task.true_classes(positions), tuple(told))


def make_report(
    trained: Trained,
    found: FoundRules,
    options: ExtractOptions | None = None,
    *,
    command: str | None = None,
) -> Report:
    """Report on a model and its rules, both judged on rows that they were not made from.

    Parameters
    ----------
    trained : Trained
        The model.
    found : FoundRules
        Its rules.
    options : ExtractOptions, optional
        How they were extracted, and are again in every fold.
    command : str, optional
        What makes the report again, instead of a call in Python.

    Returns
    -------
    Report
        To be saved as HTML or Markdown.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, find_rules, make_report, make_task, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> found = find_rules(trained)
    >>> str(make_report(trained, found)).splitlines()[0]
    'Rules for no and yes'
    """
    from clearmargin.report import Report, report

    task, chosen = trained.task, options or ExtractOptions()
    made = report(found.model, task.X, task.y, **_validation(trained, chosen))
    if command is None:
        return made
    summary = made.to_dict()
    summary["reproduce"]["call"] = command
    return Report(summary)


def _validation(trained: Trained, options: ExtractOptions) -> dict[str, Any]:
    """Return how the report judges the model on rows that it was not trained on."""
    task, retraining = trained.task, trained.retraining
    if (
        retraining is None
    ):  # a model that was given; the report says that it cannot be trained again
        return {}
    if task.splitting is None:
        return {"cv": None}
    return {
        **report_splitting(task),
        "refit": retraining.refit(
            lambda rows, model: _extract(task.part(rows), model, options, False)
        ),
    }


def report_splitting(task: Task) -> dict[str, Any]:
    """Return the folds of the task as options of a report, whose rows are in the order of the table."""
    splitting = task.splitting
    assert splitting is not None
    if splitting.groups is not None or not isinstance(splitting.cv, int):
        return {"cv": splitting.cv, "groups": splitting.groups, "times": splitting.times}
    return {"cv": task.folds()}
