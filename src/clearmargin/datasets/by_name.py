"""The data sets of the package by their short names, as the command line and the workbench offer them."""

from __future__ import annotations

import csv
import io
from typing import Any

from clearmargin.exceptions import DataError
from clearmargin.rules.space import nearest_name

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
