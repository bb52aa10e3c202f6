"""All facts about the rules of a table, as one plain dict: pages put them into words, ``--json`` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.evaluation.cross_validation import cross_validate
from clearmargin.evaluation.forms import (
    Estimated,
    Form,
    FormOptions,
    Forms,
    Majority,
    RuleList,
    extracted_rules,
    rows_of,
)
from clearmargin.exceptions import DataError
from clearmargin.progress import Progress
from clearmargin.recipes.large_tables import labels_of_part
from clearmargin.recipes.task import Task
from clearmargin.report.facts import condition_facts
from clearmargin.rules.rule import Label
from clearmargin.rules.value import IntArray
from clearmargin.tables.figures import Evaluation, UnseenRows, rare_class
from clearmargin.tables.splitting import Folds

if TYPE_CHECKING:
    from clearmargin.tables.scanned import ScannedTable
    from clearmargin.tables.table import Table
    from clearmargin.tables.table_part import TablePart

Facts = dict[str, Any]

# The forms that are compared, those that are easiest to check first.
COMPARED = ("rules", "scorecard", "points")
# Rows that figures are cross-validated on, and that forms beside the one asked for are; all of a smaller table.
EVALUATED_ROWS, COMPARED_ROWS = 10_000, 2_500


@dataclass(frozen=True, eq=False)
class RulesOfTable:
    """What was made of a table: the form that decides, and all facts about it."""

    task: Task
    name: str
    form: Form
    facts: Facts
    notes: tuple[str, ...] = ()

    @property
    def source(self) -> Any:
        """What is saved as a model: an estimator with its rules."""
        return self.form.source if isinstance(self.form, RuleList) else _model(self.form)

    @property
    def decides(self) -> Any:
        """The value that decides: rules, or rules with points."""
        return self.form.rules if isinstance(self.form, RuleList) else _model(self.form).scorecard_


def _model(form: Form) -> Any:
    assert isinstance(form, Estimated)
    return form.model


def rules_of_table(
    task: Task,
    form: str = "rules",
    options: FormOptions | None = None,
    *,
    source: ScannedTable | None = None,
    compare: bool = True,
    progress: Progress = False,
) -> RulesOfTable:
    """Make rules, rules with points, a scorecard or a tree of a table, evaluate them, and collect all facts.

    Parameters
    ----------
    task : Task
        The table, or a sample of it, made with ``missing="either"``.
    form : {"rules", "points", "scorecard", "tree", "auto"}, default "rules"
        What to make. "auto" takes the first of rules, scorecard and rules with points that is within one standard error
        of the best of them.
    options : FormOptions, optional
        How it is made. Classes are balanced where one of them is rare, whatever the options say.
    source : ScannedTable, optional
        The whole table, where the task is a sample; rules are counted on all of its rows.
    compare : bool, default True
        Whether the forms that were not asked for are evaluated, too.
    progress : bool or "auto", default False
        Whether bars are shown.

    Returns
    -------
    RulesOfTable
        With facts as plain data.
    """
    rare = rare_class(task.y)
    options = options or FormOptions()
    balanced = options.balanced or rare is not None
    options = replace(options, balanced=balanced)
    chosen, notes, comparison, beside = None, [], None, None
    names = list(COMPARED) if form == "auto" else [form]
    others = [name for name in COMPARED if name not in names] if compare else []
    evaluated = _thinned(task, EVALUATED_ROWS)
    small = _thinned(evaluated, COMPARED_ROWS)
    if task.splitting is not None:
        try:
            comparison = cross_validate(
                evaluated, [*names, "svm", "majority"], options, balanced, progress=progress
            )
            if others:
                beside = cross_validate(small, others, options, balanced, progress=progress)
        except DataError as error:
            notes.append(f"no figure on rows not seen in training is known: {error}")
    if form == "auto":
        form = "points" if comparison is None else comparison.choose(names)
        chosen = {"form": form, "among": names}
        beside, others, small = comparison, names, evaluated
    made = Forms(task, options, progress).make(form)
    evaluation = None
    if comparison is not None:
        mine = (
            comparison.evaluations[form]
            if chosen is None
            else comparison.of_choice(chosen["among"])
        )
        folds = comparison.folds
        how = f"Cross-validated in {len(folds)} {folds.how}"
        evaluation = _evaluation_facts(
            comparison.evaluations, form, mine, balanced, how, task, folds.note
        )
    known = {} if beside is None else {n: beside.evaluations[n] for n in others if n != form}
    if evaluation is not None:
        evaluation["above_chance"] |= any(map(_is_above_chance, known.values()))
    facts = {
        "data": _data_facts(task, rare, source),
        "model": model_facts(made, form, task, source),
        "evaluation": evaluation,
        "alternatives": [
            {"form": name, "rows": len(small.y), **_figures(each)} for name, each in known.items()
        ],
        "chosen": chosen,
    }
    return RulesOfTable(task, form, made, facts, tuple(notes))


def rules_of_model(
    task: Task,
    model: Any,
    options: FormOptions | None = None,
    *,
    source: ScannedTable | None = None,
    progress: Progress = False,
) -> RulesOfTable:
    """Extract the rules of a model that was trained before, or take its rules with points, and count on a table.

    Parameters
    ----------
    task : Task
        The table, made for this model.
    model : PlaneModel or RuleSVC
        The model.
    options : FormOptions, optional
        How many rules, and whether they may overlap.
    source : ScannedTable, optional
        The whole table, where the task is a sample.
    progress : bool or "auto", default False
        Whether bars are shown.

    Returns
    -------
    RulesOfTable
        With figures on these rows, on which the model may have been trained.
    """
    forms: dict[str, Form] = {}
    form = "points" if hasattr(model, "scorecard_") else "rules"
    if form == "rules":
        svm = forms["svm"] = Estimated(model, task.fill)
        forms[form] = extracted_rules(task, svm, options or FormOptions(), progress)
    else:
        forms[form] = Estimated(model)
    forms["majority"] = Majority.of(task)
    rows, place = rows_of(task), np.arange(len(task.y))
    # Nothing was trained here: errors are those of a sample of rows alone.
    tested = UnseenRows(place, np.zeros(len(place), dtype=np.intp), place, 0.0)
    folds = Folds(((place, place),), "")
    found = {
        name: replace(
            Evaluation.of(folds, task.y, [each.predict(rows)], [(each.classes, each.scores(rows))]),
            tested=tested,
        )
        for name, each in forms.items()
    }
    rare = rare_class(task.y)
    how = "On these rows; the model was trained before"
    facts: Facts = {
        "data": _data_facts(task, rare, source),
        "model": model_facts(forms[form], form, task, source),
        "evaluation": _evaluation_facts(found, form, found[form], rare is not None, how, task),
        "alternatives": [],
        "chosen": None,
    }
    return RulesOfTable(task, form, forms[form], facts)


def _thinned(task: Task, most: int) -> Task:
    """Take at most so many rows at even distances, in the order of what they hold where folds are made so."""
    if len(task.y) <= most:
        return task
    order = task.value_order()
    rows = np.arange(len(task.y)) if order is None else order
    return task.part(np.sort(rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]))


def _is_above_chance(evaluation: Evaluation) -> bool:
    """Tell whether rows are ranked better than by chance, by two standard errors."""
    return bool(evaluation.auc.value - 2 * evaluation.auc.error > 0.5)


def _figures(evaluation: Evaluation) -> Facts:
    names = ("accuracy", "balanced_accuracy", "auc")
    return {name: getattr(evaluation, name).to_dict() for name in names}


def _constant(evaluation: Evaluation) -> Facts:
    """Give the figures of a constant prediction: its mean recall is known, and it ranks nothing."""
    known = {"value": 1 / len(evaluation.classes), "standard_error": 0.0}
    unknown = {"value": None, "standard_error": None}
    return {
        "accuracy": evaluation.accuracy.to_dict(),
        "balanced_accuracy": known,
        "auc": unknown,
    }


def _data_facts(task: Task, rare: Label | None, source: ScannedTable | None) -> Facts:
    rows = len(task.table) if source is None else source.survey().n_rows
    space = rows_of(task).space()
    features: list[Facts] = []
    for j, name in enumerate(space.names):
        categories = space.categories[j]
        if categories is not None:
            features.append({"name": name, "categories": list(categories)})
            continue
        values = rows_of(task).column(name).numbers()
        known = values[np.isfinite(values)]
        ends = [float(known.min()), float(known.max())] if len(known) else [None, None]
        whole = bool((known == np.rint(known)).all())
        features.append({"name": name, "range": ends, "whole": whole})
    counts, total = task.counts, len(task.y)
    return {
        "name": task.table.name,
        "rows": rows,
        "rows_used": total,
        "target": task.target,
        "classes": [
            {"class": label, "rows": count, "share": count / total}
            for label, count in counts.items()
        ],
        "rare": rare,
        "features": features,
        "notes": list(task.notes),
    }


def _evaluation_facts(
    evaluations: Mapping[str, Evaluation],
    form: str,
    mine: Evaluation,
    balanced: bool,
    how: str,
    task: Task,
    duplicates: str = "",
) -> Facts:
    """Give the figures of the form, the SVM and the majority class, and paired differences between them."""
    others = {name: evaluations[name] for name in ("svm", "majority") if name in evaluations}
    figure, first = mine.figure(balanced), list(task.counts)
    classes = [
        {
            "class": label,
            "recall": mine.recall(code).to_dict(),
            "precision": mine.precision(code).to_dict(),
        }
        for code, label in sorted(enumerate(mine.classes), key=lambda pair: first.index(pair[1]))
    ]
    code = mine.rarest
    hits, found = mine.true == code, mine.predicted == code
    return {
        "how": how,
        "duplicates": duplicates or None,
        "rows": len(mine.true),
        "figure": "balanced_accuracy" if balanced else "accuracy",
        "models": [
            {"model": form, **_figures(mine)},
            *(
                {"model": name, **(_constant(each) if name == "majority" else _figures(each))}
                for name, each in others.items()
            ),
        ],
        "classes": classes,
        "beside": {
            name: (figure - each.figure(balanced)).to_dict() for name, each in others.items()
        },
        "majority_class": mine.common[0],
        "above_chance": _is_above_chance(mine)
        or ("svm" in others and _is_above_chance(others["svm"])),
        "rarest": {
            "class": mine.classes[code],
            "found": int((hits & found).sum()),
            "missed": int((hits & ~found).sum()),
            "false_alarms": int((found & ~hits).sum()),
        },
    }


def model_facts(made: Form, form: str, task: Task, source: ScannedTable | None = None) -> Facts:
    """Describe what decides: rules with their counts, or lines with points."""
    if not isinstance(made, RuleList):
        weighted = _model(made).scorecard_
        return {
            "form": form,
            "decision": weighted.summary(),
            "classes": list(weighted.classes),
            "lines": [
                {"points": line.points, "text": line.text, "class": line.label}
                for line in weighted.lines()
            ],
            "document": weighted.to_dict(),
        }
    counts = _count_all(made, task, source)
    if source is not None:
        made.count(counts)
    space = made.rules.space
    conditions = condition_facts(made.rules, space.read(made.read(rows_of(task))))
    listed: list[Facts] = [
        {
            "number": r + 1,
            "class": rule.label,
            "conditions": conditions[r],
            "rows": int(counts[r, 0]),
            "right": int(counts[r, 1]),
            "agreed": int(counts[r, 2]),
            "proved": rule.proof == "proved",
        }
        for r, rule in enumerate(made.rules)
    ]
    used = {c["feature"] for rule in listed for c in rule["conditions"]}
    total = counts.sum(axis=0)
    return {
        "form": form,
        "rules": listed,
        "default": {
            "class": made.default,
            "rows": int(counts[-1, 0]),
            "right": int(counts[-1, 1]),
        },
        "features": [name for name in space.names if name in used],
        "n_features": len(space),
        "rows": int(total[0]),
        "coverage": float(1 - counts[-1, 0] / total[0]) if total[0] else None,
        "fidelity": float(total[2] / total[0]) if total[0] else None,
        "is_constant": isinstance(made.reference, Majority),
        "document": made.rules.to_dict(),
    }


def _count_all(made: RuleList, task: Task, source: ScannedTable | None) -> IntArray:
    """Count on all rows of the table: of a large one block by block."""
    if source is None:
        return count_rows(made, rows_of(task), task.y)
    common = (made, rows_of(task).names, source.target, task.positive)
    names = list(rows_of(task).names)
    parts: Iterable[IntArray] = source.select(names).map(_count_part, common=common)
    total: IntArray = np.sum(list(parts), axis=0, dtype=np.int64)
    return total


def _count_part(
    part: TablePart, made: RuleList, names: Sequence[str], target: str, positive: Label | None
) -> IntArray:
    known = part.take(~part.is_missing(target))
    labels = labels_of_part(known, target, made.classes.tolist(), positive)
    return count_rows(made, known.table(names), labels)


def count_rows(made: RuleList, X: Table, y: NDArray[Any]) -> IntArray:
    """Count for each rule, and last outside of all, the rows, those that are right, and those as the reference says."""
    which, predicted = made.which(X), made.predict(X)
    agreed = predicted == made.reference.predict(X)
    place = np.where(which < 0, len(made.rules), which)
    counts = np.zeros((len(made.rules) + 1, 3), dtype=np.int64)
    np.add.at(
        counts, place, np.column_stack([np.ones(len(y)), predicted == y, agreed]).astype(np.int64)
    )
    return counts
