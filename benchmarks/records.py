"""What was measured, one record for each method on each fold of each table, and differences between methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

N_FOLDS = 5
# Folds share training rows, so that their differences vary less than those of fresh data would. Nadeau and Bengio
# (2003) add the held-out rows by the training rows to one by the number of folds.
_SHARED = 1.0 / (N_FOLDS - 1)


@dataclass(frozen=True)
class Record:
    """Figures of one method on one fold of one table, or the reason why there are none."""

    topic: str
    table: str
    fold: int
    method: str
    figures: dict[str, float] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Difference:
    """A mean over tables of what one method has more than another, and its standard error (NaN below two tables).

    `ahead` and `behind` count tables by the sign of their mean, `sure` those of them that `paired` is sure of.
    """

    mean: float
    error: float
    tables: int = 0
    ahead: int = 0
    behind: int = 0
    sure: tuple[int, int] = (0, 0)

    def in_points(self) -> str:
        """Say it in percentage points."""
        if not self.tables:
            return "not measured"
        error = "" if np.isnan(self.error) else f" ± {100 * self.error:.1f}"
        return f"{100 * self.mean:+.1f}{error}"

    def in_words(self) -> str:
        """Say it with the signs of the tables."""
        if not self.tables:
            return "not measured"
        surely = f", surely {self.sure[0]} : {self.sure[1]}" if any(self.sure) else ""
        return f"{self.in_points()} ({self.ahead} : {self.behind} of {self.tables}{surely})"


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """The mean of some values and its standard error; NaN for fewer than two."""
    known = np.asarray(values, dtype=np.float64)
    if not len(known):
        return np.nan, np.nan
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else np.nan
    return float(known.mean()), float(error)


def paired(differences: Sequence[float]) -> int:
    """The sign of a mean over folds of one table, 0 where it may be chance: a t test that counts the shared rows.

    One fold alone decides nothing.

    >>> paired([0.02, 0.03, 0.02, 0.03, 0.02]), paired([0.0, 0.03, -0.01, 0.03, 0.0])
    (1, 0)
    """
    known = np.asarray(differences, dtype=np.float64)
    folds = len(known)
    if folds < 2:
        return 0
    error = known.std(ddof=1) * np.sqrt(1.0 / folds + _SHARED)
    limit = max(float(student.ppf(0.975, folds - 1)) * error, 1e-12)
    return int(np.sign(known.mean())) if abs(known.mean()) > limit else 0


class Records:
    """All records of a run, by topic, method, table and fold."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._all = tuple(records)
        # Tables of each topic, and folds of each method on each table, in the order in which they were measured.
        self._tables: dict[str, dict[str, None]] = {}
        self._folds: dict[tuple[str, str, str], dict[int, Record]] = {}
        for r in self._all:
            self._tables.setdefault(r.topic, {})[r.table] = None
            self._folds.setdefault((r.topic, r.method, r.table), {})[r.fold] = r

    def __iter__(self) -> Iterator[Record]:
        return iter(self._all)

    def methods(self, topic: str) -> list[str]:
        """Methods of a topic with figures, in the order in which they were measured."""
        return list(dict.fromkeys(r.method for r in self._all if r.topic == topic and r.figures))

    def tables(self, topic: str) -> list[str]:
        """Tables of a topic."""
        return list(self._tables.get(topic, ()))

    def reasons(self, topic: str) -> dict[str, list[str]]:
        """Why methods have no figures on some folds."""
        found: dict[str, list[str]] = {}
        for r in self._all:
            if r.topic == topic and r.reason:
                found.setdefault(r.method, []).append(r.reason)
        return found

    def total(self, topic: str, measure: str) -> float:
        """The sum of a measure over all records of a topic."""
        return sum(r.figures.get(measure, 0.0) for r in self._all if r.topic == topic)

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
        return mean_and_error(list(self.by_table(topic, method, measure).values()))[0]

    def difference(self, topic: str, one: str, other: str, measure: str) -> Difference:
        """Compare two methods on the folds that both have."""
        means, signs = [], []
        for table in self.tables(topic):
            first, second = (self.folds(topic, name, table, measure) for name in (one, other))
            gaps = [first[k] - second[k] for k in first if k in second]
            if gaps:
                means.append(np.mean(gaps))
                signs.append(paired(gaps))
        known = np.array(means)
        ahead, behind = int((known > 0).sum()), int((known < 0).sum())
        sure = signs.count(1), signs.count(-1)
        return Difference(*mean_and_error(known), len(known), ahead, behind, sure)

    def nearest(self, topic: str, one: str, others: Sequence[str], measure: str) -> str:
        """Find the method that is least behind another one, or most ahead of it, each on the folds that both have."""
        leads = {other: self.difference(topic, one, other, measure) for other in others}
        known = {other: lead.mean for other, lead in leads.items() if lead.tables}
        return min(known, key=lambda other: known[other]) if known else ""

    def means(self, topic: str, one: str, other: str, measure: str) -> tuple[float, float]:
        """The means of two methods over the tables and folds that both have; NaN where there are none."""
        values = []
        for table in self.tables(topic):
            first, second = (self.folds(topic, name, table, measure) for name in (one, other))
            common = set(first) & set(second)
            if common:
                values.append([np.mean([name[k] for k in common]) for name in (first, second)])
        own, rest = np.mean(values, axis=0) if values else (np.nan, np.nan)
        return float(own), float(rest)
