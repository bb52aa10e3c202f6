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
    """How a machine is trained with rules; costs that are not set are those of `AdviceSVC`.

    Parameters
    ----------
    refine : str, optional
        How the data may correct the rules; not at all by default.
    everywhere : bool, default False
        Whether rules have to hold everywhere in their premises, not on average over cases that could exist.
    lam, mu : float, optional
        Cost of a row on the wrong side, and what rules count for.
    change_cost : float, optional
        Cost of changing a rule (`nu` of `AdviceSVC`).

    Examples
    --------
    >>> from clearmargin.recipes import AdviceOptions
    >>> AdviceOptions(mu=2.0).costs()
    {'mu': 2.0}
    """

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
    """A model trained with rules, and what became of them.

    Parameters
    ----------
    trained : Trained
        The model.
    outcome : AdviceOutcome
        What became of each rule.
    refined : RuleSet
        The rules as they are in the end.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from clearmargin.recipes import advise, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ill.rules")
    ...     _ = file.write_text("age >= 50 => yes")
    ...     advised = advise(task, str(file))
    >>> advised.to_dict()["outcome"][0]["verdict"]
    'unchanged'
    """

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
    """Train a machine on a table and an expert's rules.

    Parameters
    ----------
    task : Task
        The table, of two classes.
    advice : str
        The file with the rules; by it, a rule that does not fit is found with its place in the text.
    options : AdviceOptions, optional
        How it is trained.

    Returns
    -------
    Advised
        The model, and what became of each rule.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from clearmargin.recipes import advise, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ill.rules")
    ...     _ = file.write_text("age >= 50 => yes")
    ...     advised = advise(task, str(file))
    >>> [rule.verdict for rule in advised.outcome]
    ['unchanged']
    """
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
    """Judge a model trained with rules on rows that it was not trained on.

    Parameters
    ----------
    advised : Advised
        The model.
    progress : bool or "auto", default False
        Whether a bar is shown.

    Returns
    -------
    Advised
        With a note where rules were learned from data, perhaps from these.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from clearmargin.recipes import advise, judge_advised, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ill.rules")
    ...     _ = file.write_text("age >= 50 => yes")
    ...     advised = advise(task, str(file))
    >>> judge_advised(advised).to_dict().keys() == advised.to_dict().keys()
    True
    """
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
    """Rules as they were understood, and what is wrong with them.

    Parameters
    ----------
    file : str
        Where they come from.
    rules : RuleSet
        The rules.
    report : AdviceReport
        What is wrong with them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clearmargin.recipes import check_rules
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ill.rules")
    ...     _ = file.write_text("age >= 50 => yes")
    ...     check_rules(str(file)).to_dict()["ok"]
    True
    """

    file: str
    rules: RuleSet
    report: AdviceReport

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for JSON."""
        return {"file": self.file, **self.report.to_dict()}


def rule_mistakes(
    file: str, table: Any = None, target: str | None = None
) -> tuple[RuleSyntaxError, ...]:
    r"""Find all mistakes in the text of rules, where reading would stop at the first one.

    Parameters
    ----------
    file : str
        The rules; those in .json have no text.
    table : FileTable, optional
        A table whose columns the rules may speak of.
    target : str, optional
        Its column of classes.

    Returns
    -------
    tuple of RuleSyntaxError
        In the order of the text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clearmargin.recipes import rule_mistakes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ill.rules")
    ...     _ = file.write_text("age >> 50 => yes\nage -> no")
    ...     [mistake.line for mistake in rule_mistakes(str(file))]
    [1, 2]
    """
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
    """Check a file of rules, alone or against a table.

    Parameters
    ----------
    file : str
        The rules, as .rules text or .json.
    table : FileTable, optional
        A table to check them against.
    target : str, optional
        Its column of classes.

    Returns
    -------
    CheckedRules
        The rules, and what is wrong with them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clearmargin.recipes import check_rules
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ill.rules")
    ...     _ = file.write_text("age >= 50 => yes")
    ...     check_rules(str(file)).rules
    <RuleSet of 1 rules over 1 features, classes ('yes',)>
    """
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
