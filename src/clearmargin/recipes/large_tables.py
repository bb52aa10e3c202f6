"""Tables too large to be held: a sample is worked on in memory, and what is found is counted on all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.plane_rules.extraction import DEFAULT_CRITERION
from clearmargin.plane_rules.sampled_rules import (
    SampledTable,
    count_right,
    extract_from_parts,
    n_sampled,
    usable_counts,
)
from clearmargin.recipes.found_rules import ExtractOptions, FoundRules
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.task import Task, make_task, read_classes
from clearmargin.recipes.trained_models import (
    PlaneOptions,
    Trained,
    judge_on_unseen_rows,
    model_facts,
)
from clearmargin.rules.rule import Label
from clearmargin.rules.value import IntArray
from clearmargin.tables.files import FileTable, ReadOptions
from clearmargin.tables.scanned import ScannedTable, find_files, has_more_rows, in_files

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes
    from clearmargin.progress import Progress
    from clearmargin.tables.table_part import TablePart

__all__ = [
    "PAGE_ROWS",
    "SAMPLE_ROWS",
    "DrawnTask",
    "SampledFile",
    "SampledTask",
    "find_rules_in_parts",
    "judge_on_other_rows",
    "open_large",
    "rows_for_rules",
    "sample_file",
    "sample_task",
    "train_on_all",
    "train_on_sample",
]

# Tables up to here are read whole.
SMALL_ROWS = 100_000
# Rows drawn to choose costs and features by cross-validation, one in so many: choosing takes about as long as reading.
_ONE_IN, _FEWEST, _MOST = 200, 5_000, 20_000
# Folds by which costs are chosen.
_FOLDS = 5
# Rows drawn for a ranking, and for a page of rules or a report, for which several methods are tried in folds.
SAMPLE_ROWS, PAGE_ROWS = 20_000, 5_000


@dataclass(frozen=True, kw_only=True)
class DrawnTask(Task):
    """The task of rows that were drawn from a large table, of which nothing else is known.

    Parameters
    ----------
    table, X, y, target, positive, fill, given, splitting, levels, notes
        As for `Task`, of these rows.
    drawn : ndarray of int
        Their numbers in the whole table.
    """

    drawn: IntArray

    @classmethod
    def of(cls, task: Task, drawn: IntArray) -> DrawnTask:
        """Make it of a task and the numbers of all rows of its table."""
        return cls(**{each.name: getattr(task, each.name) for each in fields(Task)}, drawn=drawn)

    def row_number(self, position: int) -> int:
        """Return the number of a row in the whole table, counted from 1, by its position among the rows drawn."""
        return int(self.drawn[self.X.labels[position]]) + 1


@dataclass(frozen=True, kw_only=True)
class SampledTask(DrawnTask):
    """A table of which only a sample is held, as `X` and `y`.

    Parameters
    ----------
    table, X, y, target, positive, fill, given, splitting, levels, notes
        As for `Task`, of the sample.
    source : ScannedTable
        Where all rows are read from.
    drawn : ndarray of int
        The numbers of the rows of the sample, in the whole table.
    labels : mapping
        The class that each value of the target stands for.
    """

    source: ScannedTable
    labels: Mapping[Any, Label]

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return self.source.survey().n_rows

    @property
    def counts(self) -> dict[Label, int]:
        """How many rows each class has, the positive class first, else the smallest."""
        found: dict[Any, int] = {}
        for each in self.source.survey().classes:
            label = self.labels[each.label]
            found[label] = found.get(label, 0) + each.n_rows
        pairs = sorted((count, label) for label, count in found.items())
        return dict(sorted(((b, a) for a, b in pairs), key=lambda pair: pair[0] != self.positive))

    @property
    def summary(self) -> str:
        """The task in a sentence."""
        classes = ", ".join(f"{count} {label}" for label, count in self.counts.items())
        rows, features = number_of(self.n_rows, "row"), number_of(self.X.shape[1], "feature")
        return f"{self.table.name}: {rows}, {features}; {self.target}: {classes}."

    def of_sample(self) -> DrawnTask:
        """Return the task of the sample alone."""
        return DrawnTask.of(self, self.drawn)

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data for JSON."""
        return {**Task.to_dict(self), "rows": self.n_rows}


def open_large(
    path: str, target: str | None = None, options: ReadOptions | None = None
) -> ScannedTable | None:
    """Open a table that is too large to be held, or that is in several files.

    Parameters
    ----------
    path : str
        A file, a folder, or a pattern; "-" for standard input.
    target : str, optional
        The column of the classes.
    options : ReadOptions, optional
        How to read the files.

    Returns
    -------
    ScannedTable or None
        None for a single file of at most 100,000 rows, which is read whole.
    """
    if not in_files(path):
        return None
    files = find_files(path)
    if len(files) == 1 and not has_more_rows(files[0], SMALL_ROWS):
        return None
    return ScannedTable(files, target, None, options)


@dataclass(frozen=True)
class SampledFile(FileTable):
    """Rows that were drawn from a large table.

    Parameters
    ----------
    name, columns, notes
        As for `FileTable`.
    rows : ndarray of int
        Their numbers in the whole table.
    """

    rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def rows_for_training(n_rows: int) -> int:
    """Return about how many rows to draw for choosing costs and features."""
    return min(_MOST, max(_FEWEST, n_rows // _ONE_IN))


def sample_file(source: ScannedTable, n_rows: int | None = None) -> SampledFile:
    """Draw rows of a large table, with the ends of all ranges, as a table that is read whole.

    Parameters
    ----------
    source : ScannedTable
        All rows.
    n_rows : int, optional
        About how many rows to draw; by default as many as are needed to choose costs and features.

    Returns
    -------
    SampledFile
        Its notes say how many rows were drawn, where they are not all.
    """
    survey = source.survey()
    sample = source.sample_with_ends(n_rows or rows_for_training(survey.n_rows))
    notes = list(source.notes)
    if len(sample.rows) < survey.n_rows:
        notes.append(_drawn(len(sample.rows), survey.n_rows))
    return SampledFile(source.name, _columns(sample, source), tuple(notes), sample.rows)


def _drawn(n_drawn: int, n_rows: int) -> str:
    return f"{n_drawn} rows are drawn from {n_rows}, with the ends of all ranges"


def _columns(sample: TablePart, source: ScannedTable) -> dict[str, Any]:
    """Return the columns of a sample as `read_file` gives them."""
    survey = source.survey()
    columns = {}
    for name in sample.columns:
        known = survey.target if name == source.target else survey.columns[name]
        values = sample.values(name)
        if values.dtype != object:
            is_whole = known is not None and known.is_whole and not known.n_missing
            values = values.astype(np.int64 if is_whole else np.float64)
        columns[name] = values
    return columns


def sample_task(
    source: ScannedTable, table: SampledFile, *, model: Planes | None = None, **options: Any
) -> SampledTask:
    """Make the task of a large table.

    Parameters
    ----------
    source : ScannedTable
        All rows, with a target.
    table : SampledFile
        A sample of them.
    model : Planes, optional
        As for `make_task`.
    **options
        As for `make_task`.

    Returns
    -------
    SampledTask
        The sample, and where all rows are.
    """
    assert source.target is not None
    task = make_task(table, source.target, model=model, **options)  # type: ignore[arg-type]
    raw = [each.label for each in source.survey().classes]
    values = np.array(raw) if all(isinstance(v, int) for v in raw) else np.array(raw, dtype=object)
    every = np.ones(len(values), dtype=np.bool_)
    distinct = FileTable(source.name, {source.target: values})
    labels, _ = read_classes(distinct, source.target, every, options.get("positive"), [])
    kept = {each.name: getattr(task, each.name) for each in fields(Task)}
    of_values = dict(zip(raw, labels.tolist(), strict=True))
    if not set(task.y.tolist()) <= set(labels.tolist()):
        raise DataError(f"{source.name} changed while it was read; try again")
    return SampledTask(**kept, source=source, labels=of_values, drawn=table.rows)


def sampled_table(task: SampledTask, model: Planes) -> SampledTable:
    """Put together what counting the rules of a model on all rows needs.

    Parameters
    ----------
    task : SampledTask
        The sample, and where all rows are.
    model : Planes
        The model.

    Returns
    -------
    SampledTable
        Its rows are those that have a class and all values that the model does not impute.
    """
    position = {label: k for k, label in enumerate(model.classes_.tolist())}
    class_of = {value: position[label] for value, label in task.labels.items()}
    parts = task.source.select(model.space.names)
    counts = usable_counts(parts, model, class_of)
    true = np.array([position[label] for label in task.y.tolist()], dtype=np.intp)
    return SampledTable(parts, int(counts.sum()), task.X, true, class_of, counts)


def rows_for_rules(model: Planes) -> int:
    """Return about how many rows to draw for the rules of a model."""
    return n_sampled(model)


def find_rules_in_parts(
    task: SampledTask,
    model: Planes,
    options: ExtractOptions | None = None,
    *,
    progress: Progress = False,
) -> FoundRules:
    """Extract rules of a model on a sample, and count them on all rows.

    Parameters
    ----------
    task : SampledTask
        The sample, and where all rows are.
    model : Planes
        The model.
    options : ExtractOptions, optional
        Which rules; `min_coverage` counts all rows.
    progress : bool or "auto", default False
        Whether a bar is shown.

    Returns
    -------
    FoundRules
        Each rule is proved, and its figures are those of all rows.
    """
    chosen = options or ExtractOptions()
    if chosen.max_features is not None:
        raise DataError(
            f"{task.source.name} is too large to distil a plane from it (--distil), which needs all rows in memory; "
            "distil it from a part of the rows, or leave it out"
        )
    rules, trace, accuracy, auc, budget = extract_from_parts(
        model,
        sampled_table(task, model),
        assume_ranges=chosen.assume_ranges,
        progress=progress,
        **chosen.chosen(),
    )
    kept = model.with_rules(rules, {"criterion": chosen.criterion or DEFAULT_CRITERION})
    return FoundRules(task, rules, trace, kept, model_facts(model, accuracy), auc, budget)


def train_on_sample(
    task: SampledTask,
    machine: str = "lp-svm",
    *,
    plane: PlaneOptions | None = None,
    progress: Progress = False,
    **options: Any,
) -> Trained:
    """Train a machine on the sample of a large table, as `clearmargin.recipes.train` does.

    Parameters
    ----------
    task : SampledTask
        The sample, and where all rows are.
    machine : str, default "lp-svm"
        Which one.
    plane : PlaneOptions, optional
        How; a cost that is given is that of all rows, and counts for a row of the sample as much more.
    progress : bool or "auto", default False
        Whether bars are shown.
    **options
        More options of `train`.

    Returns
    -------
    Trained
        Of the sample.
    """
    from clearmargin.recipes.machines import train

    chosen = plane or PlaneOptions()
    if chosen.folds is None and chosen.nu is None and machine == "lp-svm":
        chosen = replace(chosen, folds=_FOLDS)
    if chosen.nu is not None or machine == "proximal":
        chosen = replace(chosen, nu=(chosen.nu or 1.0) * task.n_rows / len(task.X))
    return train(task.of_sample(), machine, plane=chosen, progress=progress, **options)


def judge_on_other_rows(
    task: SampledTask, trained: Trained, *, progress: Progress = False
) -> Trained:
    """Judge a model that was trained on a sample on rows that it was not trained on: all that were not drawn.

    Parameters
    ----------
    task : SampledTask
        The sample, and where all rows are.
    trained : Trained
        The model of the sample.
    progress : bool or "auto", default False
        Whether a bar is shown.

    Returns
    -------
    Trained
        The facts of its model hold the figures. Where groups or times split the rows, or all rows were drawn, it is
        trained again in folds of the sample.
    """
    split = task.splitting
    is_whole = len(task.drawn) == task.n_rows
    if split is None or is_whole or split.groups is not None or split.times is not None:
        return judge_on_unseen_rows(trained, progress=progress)
    found = sampled_table(task, trained.model)
    right = count_right(found, trained.model, task.drawn)
    n_judged = int(right[1].sum())
    label = trained.model.classes_.tolist()[int(np.argmax(right[1]))]
    share = float(right[0].sum() / n_judged)
    trained.model.facts = {
        **(trained.model.facts or {}),
        "cross_validated_accuracy": share,
        "cross_validated_error": float(np.sqrt(share * (1 - share) / n_judged)),
        "cross_validation": f"{len(task.X)} rows to train on, {n_judged} others to judge",
        "most_frequent_class": str(label),
        "most_frequent_class_share": float(right[1].max() / n_judged),
    }
    return trained


def train_on_all(
    task: SampledTask,
    trained: Trained,
    machine: str = "lp-svm",
    plane: PlaneOptions | None = None,
) -> Trained:
    """Train the plane again on all rows, with the features and the cost that were chosen on a sample.

    Parameters
    ----------
    task : SampledTask
        The sample, and where all rows are.
    trained : Trained
        The machine, trained on the sample.
    machine : {"lp-svm", "proximal", "advice", "advice-blend"}, default "lp-svm"
        Which one; machines with rules stay those of the sample, and a note says so.
    plane : PlaneOptions, optional
        How it was trained.

    Returns
    -------
    Trained
        The plane is the optimum over all rows, and so is its accuracy.
    """
    from clearmargin.recipes.all_rows import PlaneOfAllRows

    if machine not in ("lp-svm", "proximal"):
        note = f"the machine is that of {len(task.X)} rows: rules are taken in on a sample only"
        return replace(trained, notes=(*trained.notes, note))
    model, accuracy = PlaneOfAllRows(task, trained.model, machine, plane or PlaneOptions()).fit()
    features = number_of(len(model.features_used), "feature")
    note = (
        f"the cost and {features} are chosen on {len(task.X)} rows, whose plane the figures on unseen rows are of; the "
        f"plane that is kept is trained on all {task.n_rows} rows"
    )
    return Trained(task, model, accuracy, None, (*trained.notes, note), trained.seconds)
