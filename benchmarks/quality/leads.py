"""Column by column: where the best of the peers is ahead of the best of ours, and the other way round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page import Section, Table
from benchmarks.quality.measure import Panel, Row
from benchmarks.quality.paired import paired

__all__ = ["COLUMNS", "Column", "Lead", "common_folds", "lead", "leads_section", "leads_text"]

# A method that was asked on fewer folds does not keep the others from theirs.
_FEWEST_FOLDS = 3


@dataclass(frozen=True)
class Column:
    """A measure of the tables: its name there, whether more is better, and how it is printed."""

    measure: str
    name: str
    more_is_better: bool = True
    factor: float = 100.0
    digits: int = 1

    def in_words(self, value: float) -> str:
        """A value as the tables print it."""
        return f"{self.factor * value:.{self.digits}f}"


COLUMNS = (
    Column("accuracy", "accuracy %"),
    Column("auc", "AUC %"),
    Column("fired_fidelity", "fidelity where a rule fires %"),
    Column("fidelity", "fidelity, rules alone %"),
    Column("coverage", "coverage %"),
    Column("rules", "rules", more_is_better=False, factor=1.0),
    Column("conditions", "conditions", more_is_better=False, factor=1.0),
    Column("overlap", "overlap %", more_is_better=False),
    Column("proved", "proved %"),
    Column("seconds", "seconds", more_is_better=False, factor=1.0, digits=3),
)


@dataclass(frozen=True)
class Lead:
    """The best of both sides in a column: their values on the same folds, and who is ahead.

    `gap` is positive where ours is better; `sign` is 0 where the difference may be chance.
    """

    panel: Panel
    column: Column
    ours: str
    our_value: float
    peer: str
    peer_value: float
    gap: float
    sign: int

    def in_words(self) -> str:
        """Who is ahead, in words, for a peer that is."""
        # Seconds are not a matter of chance.
        sure = "" if self.sign or self.column.measure == "seconds" else ", within the error"
        theirs, ours = map(self.column.in_words, (self.peer_value, self.our_value))
        values = f"{theirs}, best of ours {self.ours} {ours}"
        return f"{self.column.name}: {self.peer} {values}{sure}"


def common_folds(rows: Sequence[Row]) -> list[int]:
    """The folds on which all methods answered, but for those that were asked on few."""
    asked = [row for row in rows if len(row.known) >= min(_FEWEST_FOLDS, len(row.figures))]
    count = max((len(row.figures) for row in asked), default=0)
    return [k for k in range(count) if all(row.figures[k] is not None for row in asked)]


def _values(row: Row, column: Column, folds: Sequence[int]) -> list[float] | None:
    """A measure on some folds; None where it is not defined on all of them."""
    found = [row.figures[k] for k in folds]
    values = [float(getattr(each, column.measure)) for each in found if each is not None]
    return values if len(values) == len(folds) and not np.isnan(values).any() else None


def lead(panel: Panel, column: Column) -> Lead | None:
    """Compare the best of both sides in a column on the folds that all have; None where a side has no value."""
    folds = common_folds(panel.rows)
    best: dict[bool, tuple[float, str, list[float]]] = {}
    for row in panel.rows:
        values = _values(row, column, folds)
        if not values:
            continue
        worth = float(np.mean(values)) * (1 if column.more_is_better else -1)
        if row.is_ours not in best or worth > best[row.is_ours][0]:
            best[row.is_ours] = (worth, row.name, values)
    if len(best) < 2:
        return None
    (_, name, own), (_, peer, theirs) = best[True], best[False]
    sign = 1 if column.more_is_better else -1
    found = paired([sign * (a - b) for a, b in zip(own, theirs, strict=True)])
    means = float(np.mean(own)), float(np.mean(theirs))
    return Lead(panel, column, name, means[0], peer, means[1], found.mean, found.sign)


def _leads(panel: Panel, columns: Iterable[Column] = COLUMNS) -> list[Lead]:
    found = (lead(panel, column) for column in columns)
    return [each for each in found if each is not None]


def leads_text(panel: Panel) -> str:
    """A sentence that names every column in which a peer is ahead of the best of ours."""
    behind = [each.in_words() for each in _leads(panel) if each.gap < -1e-12]
    if not behind:
        return "No peer is ahead in any column."
    folds = len(common_folds(panel.rows))
    return f"On the {folds} folds that all methods have, a peer is ahead in {'; '.join(behind)}."


_QUESTION = (
    "In each column of the tables below, the best of the peers beside the best of ours, each column by itself, so that "
    "both sides may name another method for each; on the folds that all methods of a table have. *Beyond the error* is "
    "judged as above. The best of many is flattered by being chosen on the rows it is judged by, on both sides alike. "
    "Few rules and few conditions are easy for who says little: read them beside fidelity."
)


def leads_section(panels: Sequence[Panel]) -> Section:
    """For each column, on how many data sets and machines each side is ahead, and where a peer is most."""
    header = ["column", "a peer is ahead", "beyond the error", "ours is ahead", "beyond the error"]
    header += ["equal", "where a peer is most ahead"]
    table, leads = Table(header), []
    for column in COLUMNS:
        met = [each for panel in panels for each in [lead(panel, column)] if each is not None]
        if not met:
            continue
        theirs = [each for each in met if each.gap < -1e-12]
        ours = [each for each in met if each.gap > 1e-12]
        counts = [len(theirs), sum(each.sign < 0 for each in theirs)]
        counts += [
            len(ours),
            sum(each.sign > 0 for each in ours),
            len(met) - len(theirs) - len(ours),
        ]
        worst = min(theirs, key=lambda each: each.gap, default=None)
        place = (
            "-" if worst is None else f"{worst.panel.data}, {worst.panel.teacher}: {_short(worst)}"
        )
        table.rows.append([column.name, *map(str, counts), place])
        if column.measure in ("accuracy", "auc", "fidelity"):
            name = column.name.removesuffix(" %")
            leads.append(
                f"in {name} a peer in {counts[0]} ({counts[1]}), ours in {counts[2]} ({counts[3]})"
            )
    finding = (
        f"of {len(panels)} data sets and machines the best is, with what is beyond the error in brackets, "
        f"{'; '.join(leads)}."
    )
    verdict = "What each peer is ahead in stands below the table of each data set and machine."
    return Section("Column by column", _QUESTION, table, verdict, finding=finding)


def _short(each: Lead) -> str:
    column = each.column
    return f"{each.peer} {column.in_words(each.peer_value)}, {each.ours} {column.in_words(each.our_value)}"
