"""Rules with points for a table: a `RuleSVC`, or a scorecard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.recipes.task import Task

if TYPE_CHECKING:
    from clearmargin.points import RuleSVC, Scorecard
    from clearmargin.progress import Progress
    from clearmargin.rules import RuleSet


@dataclass(frozen=True, slots=True, eq=False)
class FoundPoints:
    """Rules with points, learned from a table."""

    task: Task
    model: RuleSVC
    accuracy: float
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def weighted(self) -> Scorecard:
        """The rules with their points."""
        weighted: Scorecard = self.model.scorecard_
        return weighted

    @property
    def rules(self) -> RuleSet:
        """The rules without their points."""
        return self.weighted.rules

    @property
    def text(self) -> str:
        """The rules with their points in lines for people."""
        return str(self.weighted)

    def to_dict(self) -> dict[str, Any]:
        """Return task, model and rules with points as plain data for JSON."""
        return {
            **self.task.to_dict(),
            "model": {"accuracy": self.accuracy, **self.facts},
            "weighted_rules": self.weighted.to_dict(),
        }


def find_points(
    task: Task,
    *,
    balanced: bool = False,
    progress: Progress = False,
    **options: Any,
) -> FoundPoints:
    """Learn a few rules with whole-number points from a table."""
    from clearmargin.points import RuleSVC
    from clearmargin.recipes.unseen import inner_folds

    folds = max(2, min(5, *task.counts.values()))
    model = RuleSVC(
        points=True,
        class_weight="balanced" if balanced else None,
        cv=inner_folds(task, folds),
        progress=progress,
        **options,
    )
    rows = task.X if task.given is None else task.given
    model.fit(rows.taken_by(model), task.y)
    facts = {
        "trained_by": "RuleSVC",
        "target": task.target,
        "rows": len(rows),
        "C": float(model.C_),
    }
    return FoundPoints(task, model, float((model.predict(rows) == task.y).mean()), facts)


def points_as_rules(weighted: Scorecard) -> str:
    """Write rules with points in the rule language, which has no sums: weights are points for the class of a rule."""
    from clearmargin.rules import Rule, RuleSet

    table = np.atleast_2d(weighted.weights)
    row = {label: 0 if weighted.is_binary else k for k, label in enumerate(weighted.classes)}
    rules = [
        Rule(rule.region, rule.label, name=rule.name, weight=float(abs(table[row[rule.label], r])))
        for r, rule in enumerate(weighted.rules)
    ]
    head = f"# {weighted.summary()}\n# Points are weights here, for the class that a rule names.\n"
    return head + RuleSet(rules, weighted.space, weighted.classes).to_text()
