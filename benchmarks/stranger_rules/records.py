"""What was measured, one record for each method on each fold, and differences between methods over tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

__all__ = ["EARLIER", "Difference", "Record", "Records", "over_tables", "with_earlier"]

# The topic of the record that says what was measured in another run.
EARLIER = "earlier"


@dataclass(frozen=True)
class Record:
    """One method on one fold of one table.

    Parameters
    ----------
    topic : str
        What was measured: "rules", "proof", "explain", ...
    table, method : str
        On what, and by whom.
    fold : int
        The number of the fold.
    figures : dict
        Measures by name.
    reason : str
        Why there are no figures, where there are none.
    """

    topic: str
    table: str
    fold: int
    method: str
    figures: dict[str, float] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Difference:
    """A mean over tables of the differences between two methods on the folds that both have.

    Parameters
    ----------
    mean, error : float
        In the unit of the measure, and its standard error over tables (NaN for fewer than two).
    tables, ahead, behind : int
        How many tables; on how many the first method has more, and less.
    """

    mean: float
    error: float
    tables: int
    ahead: int
    behind: int

    def in_points(self) -> str:
        """Say it in percentage points."""
        if not self.tables:
            return "not measured"
        error = "" if np.isnan(self.error) else f" ± {100 * self.error:.1f}"
        return f"{100 * self.mean:+.1f}{error}"


def over_tables(values: Sequence[float]) -> Difference:
    """Summarise one value of each table.

    Parameters
    ----------
    values : sequence of float
        What the first method has more than the second on each table.

    Returns
    -------
    Difference
        Its mean, standard error and signs.
    """
    known = np.asarray(values, dtype=np.float64)
    if not len(known):
        return Difference(np.nan, np.nan, 0, 0, 0)
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan
    ahead, behind = int((known > 0).sum()), int((known < 0).sum())
    return Difference(float(known.mean()), error, len(known), ahead, behind)


class Records:
    """All records of a run, by topic, method, table and fold."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._all = tuple(records)
        # Tables of each topic, and folds of each method on each table, in the order in which they were measured.
        self._tables: dict[str, dict[str, None]] = {}
        self._folds: dict[tuple[str, str, str], dict[int, Record]] = {}
        for r in self._all:
            self._tables.setdefault(r.topic, {})[r.table] = None
            known = self._folds.setdefault((r.topic, r.method, r.table), {})
            if r.fold in known:
                raise ValueError(f"two records of {r.method} on fold {r.fold} of {r.table}")
            known[r.fold] = r

    def __iter__(self) -> Iterator[Record]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def save(self, path: Path) -> None:
        """Write all records as JSON, a line each, with six digits of what is defined."""
        lines = []
        for record in self._all:
            known = {name: v for name, v in record.figures.items() if not np.isnan(v)}
            figures = {name: float(f"{value:.6g}") for name, value in known.items()}
            lines.append(json.dumps(asdict(record) | {"figures": figures}))
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Records:
        """Read what `save` wrote."""
        return cls(Record(**fields) for fields in json.loads(path.read_text(encoding="utf-8")))

    def methods(self, topic: str) -> list[str]:
        """Methods of a topic with figures, in the order in which they were measured."""
        found = (r.method for r in self._all if r.topic == topic and r.figures)
        return list(dict.fromkeys(found))

    def tables(self, topic: str) -> list[str]:
        """Tables of a topic."""
        return list(self._tables.get(topic, ()))

    def reasons(self, topic: str, method: str) -> list[str]:
        """Why a method has no figures on some folds."""
        return [r.reason for r in self._all if (r.topic, r.method) == (topic, method) and r.reason]

    def folds(self, topic: str, method: str, table: str, measure: str) -> dict[int, float]:
        """The values of a measure by fold, where there is one."""
        found = self._folds.get((topic, method, table), {})
        values = {fold: record.figures.get(measure, np.nan) for fold, record in found.items()}
        return {fold: value for fold, value in values.items() if not np.isnan(value)}

    def by_table(self, topic: str, method: str, measure: str) -> dict[str, float]:
        """The mean over folds of a measure on each table that has it."""
        found = {t: self.folds(topic, method, t, measure) for t in self.tables(topic)}
        return {t: float(np.mean(list(values.values()))) for t, values in found.items() if values}

    def mean(self, topic: str, method: str, measure: str) -> float:
        """The mean over tables of the means over folds; NaN where nothing was measured."""
        values = list(self.by_table(topic, method, measure).values())
        return float(np.mean(values)) if values else np.nan

    def difference(self, topic: str, one: str, other: str, measure: str) -> Difference:
        """Compare two methods on the folds that both have."""
        return self.difference_to_best(topic, one, [other], measure)

    def difference_to_best(
        self, topic: str, one: str, others: Sequence[str], measure: str
    ) -> Difference:
        """Compare a method with the best of others of each table, chosen in hindsight, on the folds that all have.

        Parameters
        ----------
        topic, one, measure : str
            What is compared.
        others : sequence of str
            The other methods; of a table those that have folds of it.

        Returns
        -------
        Difference
            Over tables.
        """
        values = []
        for table in self.tables(topic):
            own = self.folds(topic, one, table, measure)
            rivals = [self.folds(topic, other, table, measure) for other in others]
            rivals = [rival for rival in rivals if set(rival) & set(own)]
            common = set(own).intersection(*map(set, rivals))
            if not rivals or not common:
                continue
            best = max(np.mean([rival[k] for k in common]) for rival in rivals)
            values.append(float(np.mean([own[k] for k in common]) - best))
        return over_tables(values)

    def means(self, topic: str, one: str, other: str, measure: str) -> tuple[float, float]:
        """The means of two methods over the tables and folds that both have; NaN where there are none."""
        values = []
        for table in self.tables(topic):
            first, second = (self.folds(topic, name, table, measure) for name in (one, other))
            common = set(first) & set(second)
            if common:
                values.append([np.mean([name[k] for k in common]) for name in (first, second)])
        if not values:
            return np.nan, np.nan
        own, rest = np.mean(values, axis=0)
        return float(own), float(rest)

    def nearest(self, topic: str, one: str, others: Sequence[str], measure: str) -> str:
        """Find the method that is least behind another one, or most ahead of it, each on the folds that both have."""
        leads = {other: self.difference(topic, one, other, measure) for other in others}
        known = {other: lead.mean for other, lead in leads.items() if lead.tables}
        return min(known, key=lambda other: known[other])


def with_earlier(records: Records, earlier: Iterable[Record]) -> Records:
    """Put records together with those of earlier runs, and say in a record of its own whose these are.

    Parameters
    ----------
    records : Records
        What was measured now.
    earlier : iterable of Record
        What was measured before, on the same folds.

    Returns
    -------
    Records
        All of them.

    Examples
    --------
    >>> now, before = Record("rules", "t", 0, "ours"), Record("rules", "t", 0, "FasterRisk, 15 cuts")
    >>> [record.reason for record in with_earlier(Records([now]), [before]) if record.reason]
    ['Measured in an earlier run on the same folds: FasterRisk.']
    """
    added = [record for record in earlier if record.topic != EARLIER]
    # Who it is, without the size and the machine that is imitated.
    names = list(dict.fromkeys(re.split("[,(]", record.method)[0].strip() for record in added))
    if not names:
        return records
    said = f"Measured in an earlier run on the same folds: {', '.join(names)}."
    return Records([*records, *added, Record(EARLIER, "all", 0, "all", reason=said)])
