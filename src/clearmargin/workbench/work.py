"""What a process of its own does for a project: train, extract, refine, contrast, preview, report.

`run` is called in the process with the kind of work and plain data that name the project and the version; it reads both
from the project file and gives back plain data, which the server keeps. Nothing is written here, so that a process can
be killed at any moment.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from clearmargin import progress
from clearmargin.exceptions import ClearmarginWarning, DataError
from clearmargin.language.printer import format_rule
from clearmargin.language.prose import plain
from clearmargin.recipes.advised import fit_with_rules
from clearmargin.recipes.found_rules import report_splitting
from clearmargin.recipes.ranked import rank_rows
from clearmargin.recipes.unseen import Retraining
from clearmargin.rules import RuleSet
from clearmargin.rules.value import IntArray
from clearmargin.workbench.bench import open_table
from clearmargin.workbench.bound_suggestions import suggest_bounds
from clearmargin.workbench.history import History, Revision
from clearmargin.workbench.project_file import ProjectFile
from clearmargin.workbench.project_table import OpenTask
from clearmargin.workbench.rule_judgement import read_rules
from clearmargin.workbench.settings import MachineSettings, TaskSettings
from clearmargin.workbench.trained_machine import (
    CrossValidated,
    TrainedMachine,
    cross_validate,
    read_machine,
    train_machine,
)

# Features of a plane whose rules are short enough to be read.
_FEW_FEATURES = 3


def run(kind: str, input: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
    """Do a piece of work."""
    if kind not in KINDS:
        raise DataError(f"there is no work called {kind!r}")
    start = time.perf_counter()
    with ProjectFile.open(Path(input["project"]), writing=False) as file:
        work = _Work(file, int(input["revision"]), input)
        with warnings.catch_warnings():
            # What is known of rules is shown beside them.
            warnings.simplefilter("ignore", ClearmarginWarning)
            results = KINDS[kind](work)
    return {"results": results, "seconds": time.perf_counter() - start}


class _Work:
    """A version of a project, as far as a piece of work needs it."""

    def __init__(self, file: ProjectFile, revision: int, given: dict[str, Any]):
        self.file, self.given = file, given
        self.history = History(file)
        self.revision: Revision = self.history.get(revision)

    @cached_property
    def opened(self) -> OpenTask:
        stored = self.file.task(self.revision.task)
        assert stored is not None
        return open_table(self.file).task(TaskSettings.from_dict(stored.body))

    @cached_property
    def settings(self) -> MachineSettings:
        return MachineSettings.from_dict(self.given.get("settings") or self.revision.settings)

    @cached_property
    def rules(self) -> RuleSet:
        text = self.given.get("text", self.revision.text)
        return read_rules(text, self.opened).rules

    @cached_property
    def machine(self) -> TrainedMachine:
        model = self.file.result(self.revision.id, "model")
        if model is None:
            raise DataError("wait until the machine of the newest version is trained")
        return read_machine(model["document"])

    def validated_before(self) -> CrossValidated | None:
        """Return the figures of the version before, whose costs are taken over where nothing else changed."""
        parent = self.revision.parent
        if parent is None or self.history.get(parent).task != self.revision.task:
            return None
        stored = self.file.result(parent, "validated")
        return None if stored is None else CrossValidated.from_dict(stored)

    def machine_before(self) -> TrainedMachine | None:
        parent = self.revision.parent
        model = None if parent is None else self.file.result(parent, "model")
        return None if model is None else read_machine(model["document"])


@dataclass(frozen=True, slots=True)
class _Costs:
    """Costs that were chosen before."""

    all_rows: tuple[float, float] | None = None
    folds: tuple[tuple[float, float], ...] = ()


def _known_costs(work: _Work) -> _Costs:
    before = work.validated_before()
    machine = work.machine_before()
    if work.given.get("choose") or before is None or machine is None:
        return _Costs()
    return _Costs(machine.costs, before.costs)


def _train(work: _Work) -> dict[str, Any]:
    """Train the machine of a version, and judge it on rows that it was not trained on."""
    costs = _known_costs(work)
    with progress.task("machine", 2, show=False):
        machine = train_machine(work.opened, work.rules, work.settings, costs.all_rows)
        progress.advance()
        validated = cross_validate(work.opened, work.rules, work.settings, costs.folds)
        progress.advance()
    return {
        "model": {
            "document": machine.document,
            "outcome": list(machine.outcome),
            "features": _features_used(machine),
        },
        "validated": validated.to_dict(),
    }


def _features_used(machine: TrainedMachine) -> list[str]:
    if machine.planes is not None:
        return machine.planes.features_used
    weighted = machine.weighted
    assert weighted is not None
    used = {j for rule in weighted.rules for j in rule.region.bounded}
    return [name for j, name in enumerate(weighted.space.names) if j in used]


def _preview(work: _Work) -> dict[str, Any]:
    """Predict rows not trained on with another text or machine, where that takes too long to wait for."""
    validated = cross_validate(work.opened, work.rules, work.settings)
    return {
        "preview": {
            **validated.to_dict(),
            "text": work.given.get("text", work.revision.text),
            "settings": work.settings.to_dict(),
            "serial": work.given.get("serial"),
        }
    }


def _extract(work: _Work) -> dict[str, Any]:
    """Extract the rules of the machine, with their proofs."""
    machine, opened = work.machine, work.opened
    if machine.planes is None:
        return {"rules": _weighted_lines(machine)}
    from clearmargin.plane_rules import RuleExtractor

    is_short = bool(work.given.get("short")) and len(machine.planes.features_used) > _FEW_FEATURES
    bounds = _ranges(opened) if work.given.get("assume_ranges") else dict(opened.settings.ranges)
    extractor = RuleExtractor(
        machine.model,
        criterion="coverage",
        max_rules=int(work.given.get("max_rules") or 15),
        max_features=_FEW_FEATURES if is_short else None,
        bounds=bounds or "data",
        progress=False,
    ).fit(opened.task.X, opened.task.y)
    rules = extractor.rules_
    return {
        "rules": {
            "kind": "distilled" if is_short else "proved",
            "words": _how_proved(extractor, is_short, bool(work.given.get("assume_ranges"))),
            "budget": str(extractor.budget_),
            "text": rules.to_text(),
            "lines": [_line(rules, k) for k in range(len(rules))],
        }
    }


def _ranges(opened: OpenTask) -> dict[str, tuple[float, float]]:
    """Return the ranges of all numbers, seen or declared."""
    space = opened.space
    ends = zip(space.names, space.lower.tolist(), space.upper.tolist(), strict=True)
    return {
        name: (low, high)
        for (name, low, high), categories in zip(ends, space.categories, strict=True)
        if categories is None
    }


def _how_proved(extractor: Any, is_short: bool, assumes_ranges: bool) -> str:
    """Say of what the rules are proved."""
    where = "wherever it applies" + (
        ", for cases within the ranges of your table" if assumes_ranges else ""
    )
    if not is_short:
        return f"Each rule is proved: the machine says the same {where}."
    return f"Not of the machine itself, but of {extractor.distillation_}. Each rule is proved of that plane {where}."


def _line(rules: RuleSet, k: int) -> dict[str, Any]:
    rule = rules[k]
    stats = rule.stats
    return {
        "text": format_rule(rule, rules.space),
        "label": plain(rule.label),
        "proof": rule.proof,
        "covered": None if stats is None else stats.covered,
        "right": None if stats is None else stats.correct,
    }


def _weighted_lines(machine: TrainedMachine) -> dict[str, Any]:
    weighted = machine.weighted
    assert weighted is not None
    lines = []
    for points, rule in zip(weighted.weights.ravel().tolist(), weighted.rules, strict=False):
        label = weighted.classes[-1] if points > 0 else weighted.classes[0]
        plain_rule = replace_label(rule, label)
        lines.append(
            {
                "text": format_rule(plain_rule, weighted.space),
                "label": plain(label),
                "points": points,
                "proof": None,
                "covered": None if rule.stats is None else rule.stats.covered,
                "right": None,
            }
        )
    return {
        "kind": "points",
        "words": "The machine adds up the points of the rules that hold.",
        "budget": weighted.summary(),
        "text": str(weighted),
        "lines": lines,
    }


def replace_label(rule: Any, label: Any) -> Any:
    """Give a rule with another class, for reading: as a line of its own."""
    from clearmargin.rules.rule import Rule

    return Rule(rule.region, label, name=rule.name)


def _refine(work: _Work) -> dict[str, Any]:
    """Find what the data make of the expert's rules: bound by bound, and as a plane that has to respect them."""
    if not len(work.rules):
        raise DataError("there is no rule to refine; write one first")
    with progress.task("refinement", 2, show=False):
        bounds = suggest_bounds(work.opened, work.rules)
        progress.advance()
        rules = _refined_rules(work)
        progress.advance()
    text = work.given.get("text", work.revision.text)
    return {"refined": {"text": text, "bounds": [s.to_dict() for s in bounds], "rules": rules}}


def _refined_rules(work: _Work) -> list[dict[str, Any]]:
    """Refine by programs that shift bounds until a plane can respect the rules, as far as the cases bear it out."""
    from clearmargin.advice import AdviceSVC

    lam, mu = work.machine.costs or (1.0, 30.0)
    svm = AdviceSVC(work.rules, lam=lam, mu=mu, refine="translate")
    _, fitted = fit_with_rules(work.opened.task, svm)
    facts = fitted.outcome_.to_dict()
    return [{"rule": k, **fact} for k, fact in enumerate(facts) if fact["verdict"] == "refined"]


def _contrast(work: _Work) -> dict[str, Any]:
    """Find what sets the top of the ranking apart from its bottom, confirmed on labels that were held out."""
    share = float(work.given.get("share") or 0.1)
    ranked = rank_rows(work.opened.task, top=share, bottom=share)
    facts = ranked.to_dict()
    # The task counts open rows; sealed ones are between them.
    rows = work.opened.table.open_rows
    for end in ("top_rows", "bottom_rows"):
        facts[end] = [int(rows[k - 1]) + 1 for k in facts[end]]
    return {"contrast": {**facts, "share": share}}


def _report(work: _Work) -> dict[str, Any]:
    """Make the report on the machine and its rules, as one page of HTML."""
    from clearmargin.plane_rules import RuleExtractor
    from clearmargin.report import report

    machine, opened = work.machine, work.opened
    if machine.planes is None:
        made = report(machine.model, machine.table(opened.task), opened.task.y, cv=None)
        return {"report": {"html": made.to_html()}}

    def again(part: Any) -> Any:
        alone = replace(work.opened, task=part)
        # Costs are chosen anew without the rows that are judged, as in `cross_validate`.
        return train_machine(alone, work.rules, work.settings).model

    def extract(rows: IntArray, model: Any) -> Any:
        part = opened.task.part(rows)
        return RuleExtractor(model, progress=False).fit(part.X, part.y)

    task = opened.task
    extractor = RuleExtractor(machine.model, progress=False).fit(task.X, task.y)
    refit = Retraining.of_task(task, again).refit(extract)
    made = report(extractor, task.X, task.y, **report_splitting(task), refit=refit)
    return {"report": {"html": made.to_html()}}


KINDS: dict[str, Callable[[_Work], dict[str, Any]]] = {
    "train": _train,
    "preview": _preview,
    "extract": _extract,
    "refine": _refine,
    "contrast": _contrast,
    "report": _report,
}
