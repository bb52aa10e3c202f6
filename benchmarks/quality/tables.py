"""The table of one data set and machine, with all methods, and the sentence that says what it shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.page import Section, Table
from benchmarks.quality.judge import Figures, mean_and_error
from benchmarks.quality.leads import leads_text
from benchmarks.quality.measure import Panel, Row

__all__ = ["cell", "panel_section", "shown", "values_of"]

HEADER = [
    "method",
    "accuracy %",
    "AUC %",
    "fidelity where a rule fires %",
    "fidelity, rules alone %",
]
HEADER += ["coverage %", "rules", "conditions", "overlap %", "proved %", "seconds"]
SHARES = ("accuracy", "auc", "fired_fidelity", "fidelity", "coverage")


def cell(values: Sequence[float], factor: float = 1.0, digits: int = 1) -> str:
    """Mean and standard error, a dash where nothing is defined."""
    mean, error = mean_and_error(values)
    if np.isnan(mean):
        return "-"
    text = f"{factor * mean:.{digits}f}"
    return text if np.isnan(error) else f"{text} ± {factor * error:.{digits}f}"


def values_of(known: Sequence[Figures], measure: str) -> list[float]:
    """One measure in all folds."""
    return [float(getattr(each, measure)) for each in known]


def shown(row: Row) -> str:
    """The name of a method, and whether its rules are summed instead of one deciding."""
    terms = f", {row.linear_terms:.0f} linear terms" if row.linear_terms >= 0.5 else ""
    return f"{row.name} (weighted{terms})" if row.is_weighted else row.name


def _cells(row: Row) -> list[str]:
    known = row.known
    if not known:
        why = row.reasons[0] if row.reasons else "no answer"
        return [f"{row.name} (absent: {why})", *["-"] * (len(HEADER) - 1)]
    name = shown(row)
    if len(known) < len(row.figures):
        name += f" [{len(known)} of {len(row.figures)} folds]"
    shares = [cell(values_of(known, measure), 100.0) for measure in SHARES]
    # In a fold no rule may fire at all; that takes nothing from the proof.
    if all(f.proved == f.coverage for f in known) and any(f.coverage > 0 for f in known):
        shares[2] = "100 (proof)"
    counts = [cell(values_of(known, measure)) for measure in ("rules", "conditions")]
    rest = [cell(values_of(known, measure), 100.0) for measure in ("overlap", "proved")]
    seconds = f"{mean_and_error(values_of(known, 'seconds'))[0]:.3f}"
    return [name, *shares, *counts, *rest, seconds]


def panel_section(panel: Panel) -> Section:
    """All methods on one data set and kind of machine."""
    accuracy = cell(values_of(panel.machine, "accuracy"), 100.0)
    auc = cell(values_of(panel.machine, "auc"), 100.0)
    known = [row for row in panel.rows if row.known]
    proved = max(known, key=lambda row: mean_and_error(values_of(row.known, "proved"))[0])
    verdict = leads_text(panel)
    if any(each.proved > 0 for each in proved.known):
        share = cell(values_of(proved.known, "proved"), 100.0)
        verdict += f" Most predictions with a proof: {proved.name}, {share} %."
    return Section(
        f"{panel.data}, {panel.teacher} machine",
        f"The machine itself: accuracy {accuracy} %, AUC {auc} %; {len(panel.machine)} folds.",
        Table(HEADER, [_cells(row) for row in panel.rows]),
        verdict,
    )
