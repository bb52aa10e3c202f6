"""Show on a data set of the package what comes out: one page of rules, an explanation, a report."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.recipes.cards_and_trees import Scored
from clearmargin.rules.space import nearest_name

if TYPE_CHECKING:
    from clearmargin.progress import Progress
    from clearmargin.recipes.one_page import OnePage

DATASETS = {
    "wbc": "load_wbc",
    "ionosphere": "load_ionosphere",
    "cleveland": "load_cleveland",
    "pima": "load_pima",
}


def load_dataset(name: str) -> Any:
    """Load a data set by its short name, as arrays."""
    from clearmargin import datasets

    if name not in DATASETS:
        raise DataError(f"unknown data set {name!r}{nearest_name(name, DATASETS)}")
    return getattr(datasets, DATASETS[name])(as_frame=False)


def dataset_facts(name: str, data: Any) -> dict[str, Any]:
    """Return size, classes and title of a data set, as plain data for JSON."""
    rows, columns = data.data.shape
    return {
        "name": name,
        "rows": rows,
        "features": columns,
        "classes": list(data.target_names),
        "title": data.DESCR.splitlines()[0].lstrip("# "),
    }


def dataset_csv(data: Any) -> str:
    """Return a data set as CSV; its last column is called class."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*data.feature_names, "class"])
    for values, label in zip(data.data.tolist(), data.target.tolist(), strict=True):
        writer.writerow([*(int(v) if v.is_integer() else v for v in values), label])
    return text.getvalue()


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """One page of rules for a data set of the package."""

    name: str
    page: OnePage

    @property
    def explanation(self) -> str:
        """Why the first case got its class."""
        X, result = self.page.task.X, self.page.result
        case = {name: X.values(name)[0] for name in X.names}
        decides = result.card if isinstance(result, Scored) else self.page.model
        return str(decides.explain(case))


def demonstrate(
    name: str, data: Any, cv: int | None, *, progress: Progress = False
) -> Demonstration:
    """Make one page of rules for a data set, by the default way."""
    from clearmargin.recipes.one_page import make_one_page
    from clearmargin.recipes.task import make_task
    from clearmargin.tables.files import FileTable

    columns = dict(zip(data.feature_names, np.asarray(data.data, dtype=np.float64).T, strict=True))
    target = np.asarray(data.target).astype(object)
    task = make_task(FileTable(name, {**columns, "class": target}), "class", cv=cv)
    return Demonstration(name, make_one_page(task, progress=progress))
