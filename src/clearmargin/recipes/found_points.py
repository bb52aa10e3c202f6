"""Rules with points for a table: a `RuleSVC`, or a scorecard."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Rules with points, learned from a table.

    Parameters
    ----------
    task : Task
        The table.
    model : RuleSVC
        The machine over rules.
    accuracy : float
        The share of the rows on which it is right.
    facts : dict
        What is known of its training.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import find_points, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> found = find_points(make_task(table, "ill", cv=None), max_rules=1)
    >>> len(found.rules), found.accuracy
    (1, 1.0)
    """

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
    """Learn a few rules with whole-number points from a table.

    Parameters
    ----------
    task : Task
        The table; missing values are taken as they are, even where the task has filled them for others.
    balanced : bool, default False
        Whether all classes weigh the same.
    progress : bool or "auto", default False
        Whether a bar is shown.
    **options
        Parameters of `RuleSVC`.

    Returns
    -------
    FoundPoints
        Trained on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import find_points, make_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> print(find_points(make_task(table, "ill", cv=None), max_rules=1).weighted)
    yes if the points of what holds sum to 0 or more (else no)
      -1  age <= 43
    """
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


def card_as_points(card: Scorecard, fill: Mapping[str, Any] | None = None) -> Scorecard:
    """Give a scorecard of filled rows with what its missing values count as."""
    from clearmargin.points import Scorecard
    from clearmargin.rules import RuleSet

    known = {name: value for name, value in (fill or {}).items() if name in card.space.names}
    space = card.space.with_fill(known) if known else card.space
    rules = RuleSet(card.rules, space, card.classes)
    return Scorecard(rules, card.weights, card.intercept, card.linear, card.threshold)


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
