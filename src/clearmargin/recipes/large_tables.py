"""Rules of a model over a table too large to be held: found on a sample, counted on all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.plane_rules.extraction import DEFAULT_CRITERION
from clearmargin.plane_rules.sampled_rules import extract_from_blocks, n_sampled
from clearmargin.recipes.found_rules import ExtractOptions, FoundRules
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.task import Task, read_classes
from clearmargin.recipes.trained_models import model_facts
from clearmargin.rules.rule import Label
from clearmargin.tables.blocks import TableBlocks, WholeTableNeeded, has_more_rows
from clearmargin.tables.files import FileTable, ReadOptions
from clearmargin.tables.survey import Survey, class_values, survey

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes
    from clearmargin.progress import Progress

__all__ = ["SampledTask", "find_rules_in_blocks", "sample_task"]

# Tables up to here are read whole.
SMALL_ROWS = 100_000


@dataclass(frozen=True, kw_only=True)
class SampledTask(Task):
    """A table of which only a sample is held, as `X` and `y`.

    Parameters
    ----------
    table, X, y, target, positive, notes
        As for `Task`, of the sample.
    source : TableBlocks
        Where all rows are read from.
    found : Survey
        What is known of them.
    labels : dict from str to label
        The class that each text of the target stands for.
    """

    source: TableBlocks
    found: Survey
    labels: Mapping[str, Label]

    @property
    def counts(self) -> dict[Label, int]:
        """How many rows each class has, the positive class first, else the smallest."""
        found: dict[Any, int] = {}
        for text, count in self.found.n_rows_of.items():
            label = self.labels[text]
            found[label] = found.get(label, 0) + count
        pairs = sorted((count, label) for label, count in found.items())
        return dict(sorted(((b, a) for a, b in pairs), key=lambda pair: pair[0] != self.positive))

    @property
    def summary(self) -> str:
        """The task in a sentence."""
        classes = ", ".join(f"{count} {label}" for label, count in self.counts.items())
        rows = number_of(self.found.n_rows, "row")
        features = number_of(self.X.shape[1], "feature")
        return f"{self.table.name}: {rows}, {features}; {self.target}: {classes}."

    def to_dict(self) -> dict[str, Any]:
        """Return the task as plain data for JSON."""
        return {**Task.to_dict(self), "rows": self.found.n_rows}


def sample_task(
    path: str, target: str, model: Planes, options: ReadOptions | None = None
) -> SampledTask | None:
    """Sample a large table of numbers for a model that exists.

    Parameters
    ----------
    path : str
        The file.
    target : str
        The column of the classes.
    model : Planes
        The model, which names the features.
    options : ReadOptions, optional
        How to read the file.

    Returns
    -------
    SampledTask or None
        None where the table is small, or has something in it that has to be read whole.
    """
    features = [str(name) for name in model.space.names]
    is_categorical = any(categories is not None for categories in model.space.categories)
    if is_categorical or not has_more_rows(path, SMALL_ROWS):
        return None
    try:
        source = TableBlocks(path, features, target, options)
        return _task(source, survey(source.blocks(), n_sampled(model)), model)
    except WholeTableNeeded:
        return None


def _task(source: TableBlocks, found: Survey, model: Planes) -> SampledTask:
    values = class_values(source, list(found.n_rows_of))
    classes = model.classes_.tolist()
    positive = str(classes[1]) if classes[0] == f"not {classes[1]}" and len(classes) == 2 else None
    distinct = FileTable(source.name, {source.target: values})
    every = np.ones(len(values), dtype=np.bool_)
    notes: list[str] = []
    labels, _ = read_classes(distinct, source.target, every, positive, notes)
    if any(label not in classes for label in labels.tolist()):
        raise WholeTableNeeded
    sample = FileTable(
        source.name,
        {
            name: found.X[:, j].astype(np.int64) if found.whole[j] else found.X[:, j]
            for j, name in enumerate(source.features)
        },
    )
    if len(found.X) < found.n_rows:
        notes.append(
            f"the rules are found on {len(found.X)} rows, drawn from {found.n_rows} with the ends of all ranges, and "
            "counted on all rows"
        )
    return SampledTask(
        sample,
        sample.table,
        labels[found.codes],
        source.target,
        classes[1] if len(classes) == 2 else None,
        notes=tuple(notes),
        source=source,
        found=found,
        labels=dict(zip(found.n_rows_of, labels.tolist(), strict=True)),
    )


def find_rules_in_blocks(
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
    rules, trace, accuracy, auc, budget = extract_from_blocks(
        model,
        task.source,
        task.found,
        task.labels,
        assume_ranges=chosen.assume_ranges,
        progress=progress,
        **chosen.chosen(),
    )
    kept = model.with_rules(rules, {"criterion": chosen.criterion or DEFAULT_CRITERION})
    return FoundRules(task, rules, trace, kept, model_facts(model, accuracy), auc, budget)
