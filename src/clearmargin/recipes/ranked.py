"""Rank the rows of a table, and say what sets its top apart from its bottom."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearmargin.recipes.task import Task

if TYPE_CHECKING:
    from clearmargin.rankings import RankContrast


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The properties that set the top of a ranking apart from its bottom."""

    task: Task
    contrast: RankContrast

    @property
    def properties(self) -> list[dict[str, Any]]:
        """The properties as plain data for JSON, which has no word for a number that is not known."""
        from clearmargin.rankings.contrast_text import property_rows

        return [
            {name: _known(value) for name, value in row.items() if name != "items"}
            for row in property_rows(self.contrast)
        ]

    def to_csv(self) -> str:
        """Return the properties as CSV."""
        text = io.StringIO()
        names = [name for name in self.contrast._properties if name != "items"]
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.properties)
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking and its properties as plain data for JSON."""
        contrast = self.contrast
        return {
            **self.task.to_dict(),
            "auc": contrast.auc_,
            "held_out_auc": getattr(contrast, "held_out_auc_", None),
            "sizes": contrast.sizes_.to_dict(orient="records")
            if hasattr(contrast, "sizes_")
            else None,
            "top_rows": [self.task.row_number(k) for k in contrast.top_index_],
            "bottom_rows": [self.task.row_number(k) for k in contrast.bottom_index_],
            "properties": self.properties,
        }


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def rank_rows(
    task: Task,
    *,
    top: float | str = 0.05,
    bottom: float | str = 0.05,
    min_leverage: float = 0.08,
    max_size: int = 2,
    cv: int | str | None = "halves",
) -> Ranked:
    """Rank the rows of a task by a support vector machine, and search for properties of its ends."""
    from clearmargin.rankings import RankContrast

    task.require_two_classes("a ranking")
    columns = {}
    if task.splitting is not None:
        columns = {"groups": task.splitting.groups, "times": task.splitting.times}
    contrast = RankContrast(
        top=_size(top),
        bottom=_size(bottom),
        min_leverage=min_leverage,
        max_size=max_size,
        positive=task.positive,
        cv=cv,
    )
    return Ranked(task, contrast.fit(task.X, task.y, **columns))


def _size(given: float | str) -> float | int | str:
    """Return a share, a number of rows, or how to choose a size."""
    return given if isinstance(given, str) or given < 1 else int(given)
