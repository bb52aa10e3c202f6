"""The machine of a version: trained on the open rows and the rules, judged on rows not trained on, kept as a document.

Figures are cross-validated, and whatever a training chooses (costs, features, cuts) is chosen anew in each fold, so
that they are at chance on noise. For machines that respect rules, the costs that each fold has chosen are kept: with
them, the figures of a changed text take a training a fold, tens of milliseconds.
"""

from __future__ import annotations

import base64
import os
import warnings
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from clearmargin import progress
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.models import PlaneModel
from clearmargin.models.model_document import is_model_document, read_model, write_model
from clearmargin.models.planes import Planes
from clearmargin.points.document import (
    is_scorecard_document,
    read_scorecard,
)
from clearmargin.points.saving import read_rule_svc, write_rule_svc
from clearmargin.points.scorecard import Scorecard
from clearmargin.recipes.advised import fit_with_rules
from clearmargin.recipes.found_points import find_points
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import PlaneOptions, train_plane
from clearmargin.rules import RuleSet
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.table import Table
from clearmargin.workbench.project_table import OpenTask
from clearmargin.workbench.settings import MachineSettings

# Costs where none are set: those of AdviceSVC.
_COSTS = (1.0, 30.0)
_MAX_RULES = 15
_CARD: dict[str, Any] = {"max_rules": 20, "max_conditions": 1}
_MOST_FOLDS = 5
_THREADS = max(1, min(_MOST_FOLDS, os.cpu_count() or 1))
Costs = tuple[float, float]


@dataclass(frozen=True, eq=False)
class TrainedMachine:
    """A machine that was trained on the open rows of a project."""

    model: Any
    document: dict[str, Any]
    outcome: tuple[dict[str, Any], ...] = ()
    costs: Costs | None = None
    seconds: float = 0.0

    @property
    def planes(self) -> Planes | None:
        """The machine as a plane, if it is one: then rules are proved about it."""
        return self.model if isinstance(self.model, Planes) else None

    @property
    def weighted(self) -> Scorecard | None:
        """The machine as rules with points, if it is one."""
        if isinstance(self.model, Scorecard):
            return self.model
        found: Scorecard | None = getattr(self.model, "scorecard_", None)
        return found

    def table(self, task: Task) -> Table:
        """Give the rows of a task as the machine takes them: rules with points take missing values as they are."""
        return task.X if self.planes is not None or task.given is None else task.given

    def codes(self, opened: OpenTask) -> IntArray:
        """Predict the open rows."""
        return opened.encode(self.model.predict(self.table(opened.task)))

    def scores(self, opened: OpenTask) -> FloatArray:
        """Score the open rows; positive speaks for the second class."""
        return self.score_rows(self.table(opened.task), opened)

    def score_rows(self, table: Table, opened: OpenTask) -> FloatArray:
        """Score rows as the machine takes them; a sum of points counts from its threshold."""
        scores = np.ravel(self.model.decision_function(table))
        if isinstance(self.model, Scorecard):
            scores = scores - self.model.threshold
        return scores if self.model_classes[-1] == opened.classes[1] else -scores

    @cached_property
    def model_classes(self) -> list[Any]:
        """The classes of the model, the one that positive scores speak for last."""
        classes = getattr(self.model, "classes_", None)
        return list(self.model.classes) if classes is None else list(classes.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidated:
    """What a machine predicts for rows that it was not trained on."""

    codes: IntArray
    right: int
    costs: tuple[Costs, ...] = ()

    @property
    def accuracy(self) -> float:
        """The share of the rows that is right."""
        return self.right / max(len(self.codes), 1)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "rows": len(self.codes),
            "right": self.right,
            "accuracy": self.accuracy,
            "codes": pack_codes(self.codes),
            "costs": [list(pair) for pair in self.costs],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CrossValidated:
        """Read plain data."""
        codes = unpack_codes(data["codes"], data["rows"])
        return cls(codes, int(data["right"]), tuple((a, b) for a, b in data["costs"]))


def pack_codes(codes: IntArray) -> str:
    """Write codes of two classes as a short text."""
    bits = np.packbits(codes.astype(np.bool_)).tobytes()
    return base64.b64encode(zlib.compress(bits, 9)).decode("ascii")


def unpack_codes(text: str, rows: int) -> IntArray:
    """Read what `pack_codes` wrote."""
    bits = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return np.unpackbits(bits, count=rows).astype(np.intp)


def train_machine(
    opened: OpenTask, rules: RuleSet, settings: MachineSettings, costs: Costs | None = None
) -> TrainedMachine:
    """Train the machine of a version on all open rows."""
    start = perf_counter()
    with warnings.catch_warnings():
        # What is found about rules is shown beside them; a plane that is no better than a constant has its figure.
        warnings.simplefilter("ignore", ClearmarginWarning)
        made = _MAKERS[settings.machine](opened, opened.task, rules, settings, costs)
    return TrainedMachine(
        made.model, made.document, made.outcome, made.costs, perf_counter() - start
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """A model and what is kept of it."""

    model: Any
    document: dict[str, Any]
    outcome: tuple[dict[str, Any], ...] = ()
    costs: Costs | None = None


def _advised(
    opened: OpenTask, task: Task, rules: RuleSet, settings: MachineSettings, costs: Costs | None
) -> _Made:
    """Train a plane that respects rules."""
    from clearmargin.advice import AdviceSVC

    if settings.balanced:
        raise DataError(
            "a plane that respects rules cannot weigh classes; take rules with points, or leave classes as they are"
        )
    known = _given_costs(settings) or costs
    advice = rules if len(rules) else None
    lam, mu = known or _COSTS
    model, fitted = fit_with_rules(task, AdviceSVC(advice, lam=lam, mu=mu))
    outcome = tuple(fitted.outcome_.to_dict()) if advice is not None else ()
    return _Made(model, write_model(model), outcome, (lam, mu))


def _given_costs(settings: MachineSettings) -> Costs | None:
    if settings.lam is None and settings.mu is None:
        return None
    return settings.lam or _COSTS[0], settings.mu or _COSTS[1]


def _plane(
    opened: OpenTask, task: Task, rules: RuleSet, settings: MachineSettings, costs: Costs | None
) -> _Made:
    """Train a sparse plane."""
    model = train_plane(task, PlaneOptions(balanced=settings.balanced)).model
    return _Made(model, write_model(model))


def _columns(
    opened: OpenTask, task: Task, rules: RuleSet, settings: MachineSettings, costs: Costs | None
) -> _Made:
    """Train rules with points, with those of the expert among the rules to choose from."""
    given: dict[str, Any] = {"rules": rules} if settings.machine == "columns" and len(rules) else {}
    found = find_points(
        task,
        balanced=settings.balanced,
        **(_CARD if settings.machine == "card" else {"max_rules": max(_MAX_RULES, len(rules))}),
        **given,
    )
    outcome: tuple[dict[str, Any], ...] = ()
    if given:
        outcome = tuple(found.model.outcome_.to_dict())
    return _Made(found.model, write_rule_svc(found.model, found.facts), outcome)


_MAKERS: dict[str, Callable[[OpenTask, Task, RuleSet, MachineSettings, Costs | None], _Made]] = {
    "constraints": _advised,
    "columns": _columns,
    "plane": _plane,
    "points": _columns,
    "card": _columns,
}


def read_machine(document: Mapping[str, Any]) -> TrainedMachine:
    """Read a machine from its document; nothing in it is run."""
    data = dict(document)
    if is_model_document(data):
        model: Any = PlaneModel.of_planes(read_model(data))
        facts = model.facts or {}
        costs = (float(facts["lam"]), float(facts["mu"])) if "lam" in facts else None
        return TrainedMachine(model, data, costs=costs)
    if is_scorecard_document(data):
        read = read_rule_svc if "training" in data else read_scorecard
        return TrainedMachine(read(data), data)
    raise InvalidValueError("this document is no machine that the workbench knows")


def cross_validate(
    opened: OpenTask, rules: RuleSet, settings: MachineSettings, costs: tuple[Costs, ...] = ()
) -> CrossValidated:
    """Predict each open row by a machine that was not trained on it."""
    task, folds = opened.task, opened.folds
    codes: IntArray = np.zeros(len(task.y), dtype=np.intp)
    chosen: list[Costs] = []
    with progress.task("folds", len(folds), show=False), warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        for k, (train, test) in enumerate(folds.pairs):
            part = task.part(train)
            known = costs[k] if len(costs) == len(folds) else None
            made = _MAKERS[settings.machine](opened, part, rules, settings, known)
            if made.costs is not None:
                chosen.append(made.costs)
            codes[test] = opened.encode(made.model.predict(_rows_for(made, opened, part, test)))
            progress.advance()
    return CrossValidated(codes, int((codes == opened.codes).sum()), tuple(chosen))


def _rows_for(made: _Made, opened: OpenTask, part: Task, rows: IntArray) -> Table:
    """Give rows as the machine of another part takes them: rules with points take missing values as they are."""
    given = opened.task.given
    if given is None or isinstance(made.model, Planes):
        return opened.rows_beside(part, rows)
    return given.take(rows)


def quick_codes(
    opened: OpenTask, rules: RuleSet, settings: MachineSettings, costs: tuple[Costs, ...]
) -> IntArray:
    """Predict each open row by a plane that respects rules and was not trained on it, with costs chosen before."""
    from clearmargin.advice import AdviceSVC

    codes: IntArray = np.zeros(len(opened.task.y), dtype=np.intp)
    given = _given_costs(settings)

    def predict(k: int, part: Task, rows: Table) -> IntArray:
        lam, mu = given or (costs[k] if k < len(costs) else _COSTS)
        svm = AdviceSVC(rules if len(rules) else None, lam=lam, mu=mu).fit(part.X, part.y)
        return opened.encode(svm.predict(rows))

    parts, tables, positions = zip(*opened.fold_tables, strict=True)
    with warnings.catch_warnings(), ThreadPoolExecutor(_THREADS) as threads:
        warnings.simplefilter("ignore", ClearmarginWarning)
        # The solver lets other threads work meanwhile.
        found = threads.map(predict, range(len(parts)), parts, tables)
        for rows, each in zip(positions, found, strict=True):
            codes[rows] = each
    return codes
