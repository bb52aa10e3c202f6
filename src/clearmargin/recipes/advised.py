"""Train with an expert's rules, and check rules before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import DataError, RuleSyntaxError
from clearmargin.recipes.applied_rules import load_rules
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import Trained, judge_on_unseen_rows, trained_on

if TYPE_CHECKING:
    from clearmargin.advice import AdviceReport, AdviceSVC
    from clearmargin.models import PlaneModel
    from clearmargin.progress import Progress
    from clearmargin.rules import RuleSet


@dataclass(frozen=True, slots=True)
class AdviceOptions:
    """How a machine is trained with rules; costs that are not set are those of `AdviceSVC`."""

    refine: str | None = None
    everywhere: bool = False
    lam: float | None = None
    mu: float | None = None
    change_cost: float | None = None

    def costs(self) -> dict[str, Any]:
        """Give costs that are set, by their names here."""
        names = ("lam", "mu", "change_cost")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, slots=True, eq=False)
class Advised:
    """A model trained with rules, and what became of them."""

    trained: Trained
    outcome: Any
    refined: RuleSet

    def to_dict(self) -> dict[str, Any]:
        """Model and rules as plain data for JSON."""
        return {
            **self.trained.to_dict(),
            "outcome": self.outcome.to_dict(),
            "refined": self.refined.to_dict(),
        }


def advise(task: Task, advice: str, options: AdviceOptions | None = None) -> Advised:
    """Train a machine on a table and an expert's rules."""
    chosen = options or AdviceOptions()
    task.require_two_classes("advice")
    start = process_time()
    model, fitted = _train(task, advice, chosen)
    trained = trained_on(
        task,
        model,
        lambda part: _train(part, advice, chosen)[0],
        (),
        start,
    )
    return Advised(trained, fitted.outcome_, fitted.refined_)


def judge_advised(advised: Advised, *, progress: Progress = False) -> Advised:
    """Judge a model trained with rules on rows that it was not trained on."""
    trained = judge_on_unseen_rows(advised.trained, progress=progress)
    model = trained.model
    if "cross_validated_accuracy" in (model.facts or {}) and model.advice is not None:
        notes = (*trained.notes, *_learned_advice(model.advice[0]))
        trained = replace(trained, notes=notes)
    return replace(advised, trained=trained)


def _train(task: Task, advice: str, options: AdviceOptions) -> tuple[PlaneModel, AdviceSVC]:
    """Train with the rules; also give the fitted classifier itself."""
    from clearmargin.advice import AdviceSVC

    costs = options.costs()
    if "change_cost" in costs:
        costs["nu"] = costs.pop("change_cost")
    where = "everywhere" if options.everywhere else "cases"
    return fit_with_rules(task, AdviceSVC(advice, refine=options.refine, where=where, **costs))


def fit_with_rules(task: Task, svm: AdviceSVC) -> tuple[PlaneModel, AdviceSVC]:
    """Fit on a task; give the model, and the fitted classifier itself."""
    from clearmargin.advice.train import AUTO_MU
    from clearmargin.models import PlaneModel
    from clearmargin.rules import FeatureSpace, RuleSet
    from clearmargin.tables.encoding import column_encoding

    fitted = svm.fit(task.X, task.y)
    known, levels = fitted.encoding_.space, task.levels or {}
    # A category that only other rows of the table have gets no weight.
    categories = [
        None if each is None else tuple(dict.fromkeys((*each, *levels.get(name, ()))))
        for name, each in zip(known.names, known.categories, strict=True)
    ]
    space = FeatureSpace(known.names, known.lower, known.upper, known.integer, categories)
    place = {source: k for k, source in enumerate(column_encoding(space).sources)}
    weights = np.zeros(len(place))
    weights[[place[source] for source in fitted.encoding_.sources]] = fitted.coef_[0]
    classes, sign = fitted.classes_.tolist(), 1.0
    if task.positive is not None and task.positive != classes[1]:
        classes, sign = classes[::-1], -1.0
    model = PlaneModel(
        RuleSet([], space, classes),
        sign * weights[None],
        sign * fitted.intercept_,
        advice=(fitted.advice_, fitted.refined_),
        fill=task.fill,
        facts={
            "trained_by": type(fitted).__name__,
            "target": str(task.target),
            "rows": len(task.X),
            "lam": fitted.lam,
            "mu": AUTO_MU[fitted.where] if isinstance(fitted.mu, str) else fitted.mu,
            **({} if fitted.refine is None else {"change_cost": fitted.nu}),
        },
    )
    return model, fitted


def _learned_advice(advice: RuleSet) -> tuple[str, ...]:
    """Say that rules which were learned may come from the rows that they are now judged on."""
    learned = sum(rule.origin != "expert" for rule in advice)
    if not learned:
        return ()
    return (
        f"{learned} of {number_of(len(advice), 'rule')} of the advice were learned from data. If that was this "
        "table, the figure on rows not trained on is too high: the folds train the model anew, not the rules",
    )


@dataclass(frozen=True, slots=True, eq=False)
class CheckedRules:
    """Rules as they were understood, and what is wrong with them."""

    file: str
    rules: RuleSet
    report: AdviceReport

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for JSON."""
        return {"file": self.file, **self.report.to_dict()}


def rule_mistakes(
    file: str, table: Any = None, target: str | None = None
) -> tuple[RuleSyntaxError, ...]:
    """Find all mistakes in the text of rules, where reading would stop at the first one."""
    from clearmargin.advice.cases import with_rules
    from clearmargin.language import read_rule_text
    from clearmargin.recipes.task import labelled_rows
    from clearmargin.rules.file_writing import read_text
    from clearmargin.rules.rule import as_label

    if not file.lower().endswith(".rules"):
        return ()
    text = read_text(file)
    written = read_rule_text(text)
    if table is not None and not written.mistakes:
        X, y = (table.table, None) if target is None else labelled_rows(table, target)
        classes = None if y is None else tuple(dict.fromkeys(as_label(v) for v in y.tolist()))
        space = with_rules(X.space(), written.rules.space)
        written = read_rule_text(text, space, classes if classes and len(classes) > 1 else None)
    return tuple(error.in_file(file) for error in written.mistakes)


def check_rules(file: str, table: Any = None, target: str | None = None) -> CheckedRules:
    """Check a file of rules, alone or against a table."""
    from clearmargin.advice import check_advice
    from clearmargin.recipes.task import labelled_rows

    if target is not None and table is None:
        raise DataError("target names a column of a table; name the table, too: data=FILE")
    rules = load_rules(file)
    X = y = None
    if table is not None:
        X = table.table
        if target is not None:
            X, y = labelled_rows(table, target)
    # By its file, a rule that does not fit the table is found with its place in the text.
    is_text = file.lower().endswith(".rules")
    return CheckedRules(file, rules, check_advice(file if is_text else rules, X, y))
