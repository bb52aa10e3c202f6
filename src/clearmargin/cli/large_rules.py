"""Rules of a model over a table too large to be held: extracted on a sample, proved, and counted on all rows."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from clearmargin.cli.console import Console
from clearmargin.cli.kept_rows import KeptRows
from clearmargin.cli.plain_csv import Chunk, NotPlain, PlainCsv, find_plain_csv
from clearmargin.cli.survey import Survey, class_values, survey
from clearmargin.cli.table import Table, names_in, need_pandas
from clearmargin.exceptions import DataError
from clearmargin.plane_rules.extraction import (
    DEFAULT_CRITERION,
    Extraction,
    ExtractionOptions,
    LabelledPoints,
    Trace,
    check_number_of_classes,
    check_plane,
    extract_rules,
)
from clearmargin.progress import Progress
from clearmargin.progress import task as progress_task
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.task import Task, read_classes
from clearmargin.recipes.training import features_used
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet, RuleStats
from clearmargin.rules.rule import Label
from clearmargin.rules.space import seen_ranges
from clearmargin.rules.value import IntArray

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes

__all__ = ["LargeTask", "extract_large", "read_large"]

# Tables up to here are read whole, by the careful reader.
SMALL_ROWS = 100_000
# Values of the features used, in the sample. More rows give rules that cover hardly more of all rows, and the search
# for them takes longer, the more so the more features there are.
SAMPLE_VALUES = 30_000


@dataclass(frozen=True, kw_only=True)
class LargeTask(Task):
    """A table of which only a sample is held, as `X` and `y`.

    Parameters
    ----------
    table, X, y, target, positive, fill
        As for `Task`, of the sample.
    source : PlainCsv
        Where all rows are read from.
    labels : dict from str to label
        The class that each text stands for.
    tally : dict from str to int
        How many rows have each of the texts.
    kept : KeptRows
        The features that the model uses, of all rows.
    """

    source: PlainCsv
    labels: Mapping[str, Label]
    tally: Mapping[str, int]
    kept: KeptRows

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return sum(self.tally.values())

    @property
    def counts(self) -> dict[Label, int]:
        """How many rows each class has, the positive class first, else the smallest."""
        found: dict[Any, int] = {}
        for text, count in self.tally.items():
            label = self.labels[text]
            found[label] = found.get(label, 0) + count
        pairs = sorted((count, label) for label, count in found.items())
        return dict(sorted(((b, a) for a, b in pairs), key=lambda pair: pair[0] != self.positive))

    @property
    def summary(self) -> str:
        """The task in a sentence."""
        said = ", ".join(f"{count} {label}" for label, count in self.counts.items())
        features = number_of(self.X.shape[1], "feature")
        return (
            f"{self.table.name}: {number_of(self.rows, 'row')}, {features}; {self.target}: {said}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The task as plain data for JSON."""
        return {**Task.to_dict(self), "rows": self.rows}


def read_large(arguments: argparse.Namespace, console: Console, model: Planes) -> LargeTask | None:
    """Sample a large table of plain numbers for a model that exists.

    Parameters
    ----------
    arguments : Namespace
        Of the command.
    console : Console
        Where to say that there is a sample.
    model : Planes
        The model, which names the columns.

    Returns
    -------
    LargeTask or None
        None where the table is small, or has something in it that the careful reader has to see.
    """
    features = [str(name) for name in model.space.names]
    if any(kinds is not None for kinds in model.space.categories):
        return None
    source = find_plain_csv(arguments, features, SMALL_ROWS)
    if source is None:
        return None
    used = features_used(model)
    kept = KeptRows([features.index(name) for name in used])
    try:
        chunks = kept.passing(source.chunks(need_pandas()))
        found = survey(chunks, SAMPLE_VALUES // max(3, len(used)))
        return _task(source, found, kept, model, arguments, console)
    except BaseException as error:
        kept.close()
        if isinstance(error, NotPlain):
            return None
        raise


def _task(
    source: PlainCsv,
    found: Survey,
    kept: KeptRows,
    model: Planes,
    arguments: argparse.Namespace,
    console: Console,
) -> LargeTask:
    is_category = source.target in names_in(arguments.categories, source.header)
    values = class_values(found.tally, is_category=is_category)
    pandas = need_pandas()
    classes = model.classes_.tolist()
    positive = str(classes[1]) if classes[0] == f"not {classes[1]}" and len(classes) == 2 else None
    distinct = Table(source.name, pandas.DataFrame({source.target: values}))
    every = np.ones(len(values), dtype=np.bool_)
    notes: list[str] = []
    labels, _ = read_classes(distinct, source.target, every, positive, notes)
    if any(label not in classes for label in labels.tolist()):
        raise NotPlain
    console.note_all(notes)
    X = pandas.DataFrame(
        {
            name: found.X[:, j].astype(np.int64) if found.whole[j] else found.X[:, j]
            for j, name in enumerate(source.features)
        }
    )
    if len(X) < found.rows:
        console.note(
            f"the rules are found on {len(X)} rows, drawn from {found.rows} with the ends of all ranges, and counted "
            "on all rows"
        )
    return LargeTask(
        Table(source.name, X),
        X,
        labels[found.texts],
        source.target,
        classes[1] if len(classes) == 2 else None,
        source=source,
        labels=dict(zip(found.tally, labels.tolist(), strict=True)),
        tally=found.tally,
        kept=kept,
    )


def extract_large(
    task: LargeTask, model: Planes, arguments: argparse.Namespace
) -> tuple[RuleSet, dict[Label, Trace], float]:
    """Extract rules on the sample, and count them on all rows.

    Parameters
    ----------
    task : LargeTask
        The table.
    model : Planes
        The model.
    arguments : Namespace
        What rules to extract.

    Returns
    -------
    rules : RuleSet
        Their figures are those of all rows.
    trace : dict from class to Trace
        What they cover of all rows.
    right : float
        The share of all rows on which the model is right.
    """
    least = arguments.min_coverage or max(2, task.rows // 1000)
    with closing(task.kept):
        found = _extract_on_sample(task, model, arguments, least)
        chunks = _chunks(task, {*features_used(model)}, _named_by(found.rules))
        try:
            # Threads of linear algebra would wait in a loop for products too small to share, beside those that read.
            with threadpool_limits(1, "blas"):
                return _count_on_all(found, chunks, task, model, least)
        except (NotPlain, KeyError) as error:
            raise DataError(f"{task.table.name} changed while it was read; try again") from error


def _chunks(task: LargeTask, used: set[str], named: set[str]) -> Iterator[Chunk]:
    """All rows again. Rules of two classes look at no other feature than the plane does; those of three may."""
    if task.kept.is_whole and named <= used:
        return task.kept.chunks()
    return task.source.chunks(need_pandas(), sorted(used | named))


def _extract_on_sample(
    task: LargeTask, model: Planes, arguments: argparse.Namespace, least: int
) -> Extraction:
    X = task.X.to_numpy(dtype=np.float64)
    low, high, integer = seen_ranges(list(X.T))
    seen = FeatureSpace(model.space.names, low, high, integer, units=model.space.units)
    space = seen.with_fill(model.space.fill)
    code = {label: k for k, label in enumerate(model.classes_.tolist())}
    true = np.array([code[label] for label in task.y.tolist()])
    options = ExtractionOptions(
        arguments.criterion or DEFAULT_CRITERION,
        max_depth=20,
        min_coverage=max(1, math.floor(least * len(X) / task.rows)),
        max_rules=arguments.max_rules,
        disjoint=True,
        max_conditions=arguments.max_conditions,
        tighten=True,
        # Several searches find fewer rules among hundreds of rows; a sample has thousands.
        thorough=len(X) == task.rows,
    )
    check_number_of_classes(len(code), options)
    surface = model.surface(space)
    check_plane(surface)
    declared = np.full((2, len(space)), bool(arguments.assume_ranges))
    data = LabelledPoints(X, true, model.predict_codes(X))
    show: Progress = False if arguments.quiet else "auto"
    with progress_task("extraction", len(code), "rules", show=show):
        return extract_rules(surface, space, declared, data, options)


def _count_on_all(
    found: Extraction, chunks: Iterator[Chunk], task: LargeTask, model: Planes, least: int
) -> tuple[RuleSet, dict[Label, Trace], float]:
    """Put the counts of all rows in the place of those of the sample; rules of too few rows are dropped."""
    rules = found.rules
    code = {label: k for k, label in enumerate(model.classes_.tolist())}
    said_by = np.array([code[rule.label] for rule in rules], dtype=np.intp)
    counts, points = _add_up(rules, said_by, chunks, task, model)
    covered, correct, agreed, hit = counts
    kept = np.flatnonzero(covered >= least)
    # Class by class, as they are, and the fullest first, which the sample may have seen in another order.
    order = kept[np.lexsort((-hit[kept], [_first(said_by, said_by[k]) for k in kept]))]
    members = [
        Rule(
            rules[int(k)].region,
            rules[int(k)].label,
            origin="extracted",
            proof=rules[int(k)].proof,
            stats=RuleStats(task.rows, int(covered[k]), int(correct[k]), int(agreed[k])),
        )
        for k in order
    ]
    traces: dict[Label, Trace] = {}
    for label, trace in found.trace.items():
        own = kept[said_by[kept] == code[label]]
        # Rules of a class do not meet, so that no row is counted twice.
        traces[label] = replace(
            trace,
            points=int(points[code[label]]),
            kept=len(own),
            covered=int(hit[own].sum()),
            members=task.counts.get(label, 0),
        )
    right = float(points.sum() / task.rows)
    return RuleSet(members, rules.space, rules.classes), traces, right


def _first(values: IntArray, value: int) -> int:
    return int(np.argmax(values == value))


def _add_up(
    rules: RuleSet, said_by: IntArray, chunks: Iterator[Chunk], task: LargeTask, model: Planes
) -> tuple[IntArray, IntArray]:
    """Count the rows under each rule, and for each class the rows that the model gets right.

    Four counts a rule: rows covered, of these with its class, of these where the model agrees, and where both hold.
    """
    code = {label: k for k, label in enumerate(model.classes_.tolist())}
    counts = np.zeros((4, len(rules)), dtype=np.int64)
    points = np.zeros(len(code), dtype=np.int64)
    met = 0
    for X, places, texts in chunks:
        met += len(X)
        true = np.array([code[task.labels[text]] for text in texts])[places]
        said = model.predict_codes(X)
        points += np.bincount(true[true == said], minlength=len(code))
        # No row is under two rules: those of a class do not meet, those of two lie on different sides.
        which = rules.which(X)
        own = said_by[which] if len(rules) else which
        right, same, under = true == own, said == own, which >= 0
        for j, mask in enumerate((under, under & right, under & same, under & right & same)):
            counts[j] += np.bincount(which[mask], minlength=len(rules))
    if met != task.rows:
        raise NotPlain
    return counts, points


def _named_by(rules: RuleSet) -> set[str]:
    boxes = [rule.region for rule in rules if isinstance(rule.region, Box)]
    return {rules.space.names[j] for box in boxes for j in box.bounded}
