"""What the page Data shows of each column: its type, its range, its missing values, a small histogram.

Only open rows are looked at; sealed ones are in no figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.language.printer import format_number
from clearmargin.tables.files import FileTable
from clearmargin.tables.table import find_missing
from clearmargin.workbench.project_table import ProjectTable

_BARS = 20
_MOST_SHOWN = 6
# Columns that may hold classes: more different values look like a number or a name.
_MOST_CLASSES = 20


def column_facts(table: ProjectTable) -> list[dict[str, Any]]:
    """Describe the columns of a project by its open rows."""
    rows = table.open
    return [_column(name, values, name in table.counters) for name, values in rows.columns.items()]


def _column(name: str, values: NDArray[Any], is_counter: bool) -> dict[str, Any]:
    missing = find_missing(values)
    known = values[~missing]
    fact: dict[str, Any] = {
        "name": name,
        "missing": int(missing.sum()),
        "rows": len(values),
        "is_number": values.dtype != object,
        "is_counter": is_counter,
        "distinct": len(np.unique(known.astype(str) if values.dtype == object else known)),
        "low": None,
        "high": None,
        "top": [],
    }
    fact["can_be_target"] = 2 <= fact["distinct"] <= _MOST_CLASSES
    if values.dtype == object:
        labels, counts = np.unique(known.astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MOST_SHOWN]
        fact["top"] = [(str(labels[k]), int(counts[k])) for k in order]
        fact["bars"] = [int(counts[k]) for k in np.argsort(-counts, kind="stable")[:_BARS]]
        fact["is_name"] = fact["distinct"] > max(10, len(values) / 2)
        fact["kind"] = "names" if fact["is_name"] else "categories"
        return fact
    fact["is_name"] = False
    is_whole = bool(len(known)) and bool((known == np.rint(known)).all())
    fact["kind"] = "row numbers" if is_counter else "whole numbers" if is_whole else "numbers"
    if len(known):
        fact["low"], fact["high"] = float(known.min()), float(known.max())
        fact["range"] = f"{format_number(fact['low'])} to {format_number(fact['high'])}"
    fact["bars"] = histogram(known)
    return fact


def histogram(values: NDArray[Any]) -> list[int]:
    """Count values in bars of equal width."""
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return []
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        return [len(finite)]
    bars = int(high - low) + 1 if float(high - low).is_integer() and high - low < _BARS else _BARS
    # Halves, since the width of the widest ranges is no float.
    counts, _ = np.histogram(finite / 2, bins=bars, range=(low / 2, high / 2))
    return [int(count) for count in counts]


def class_counts(table: FileTable, target: str) -> list[tuple[str, int]]:
    """Count the values of a column that may be the target; the rarest first."""
    values = table.columns[target]
    known = values[~find_missing(values)]
    if known.dtype.kind == "f" and bool((known == np.rint(known)).all()):
        known = known.astype(np.int64)
    labels, counts = np.unique(known.astype(str), return_counts=True)
    pairs = zip(counts.tolist(), labels.tolist(), strict=True)
    return [(str(label), int(count)) for count, label in sorted(pairs)]
