"""Two ways to find the rule with the largest weighted sum: sums over cells, and branch and bound over conditions.

The first is how `RuleSVC` prices rules, the second how `RankContrast` finds properties. Each is put to the other's
work: to multipliers of a master and to weights drawn at random, and to the two ends of a ranking. Both look at the
same rules, and the best sums are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin import FeatureSpace
from clearmargin.datasets import load_ionosphere, load_pima
from clearmargin.exceptions import InvalidValueError, TimeLimitError
from clearmargin.rule_base.leverage_search import Contrast, WeightedContrast, search_best
from clearmargin.rule_svm.conditions import Conditions, Kind
from clearmargin.rule_svm.pricing import PricedRules, Pricing
from clearmargin.rule_svm.rule_lp import smallest_cost, solve_rule_lp

# Rules that a search for the best gives, as many as enter a master at a time.
BEST = 20
# Rounds of column generation before the multipliers are taken, and times the smallest cost at which a rule enters.
ROUNDS, TIMES_SMALLEST = 5, 10.0
# Bins from which the pairs of features are priced by sums over cells alone.
WIDE = 16
# Wall seconds that a search may take, in a quick run and in a full one.
QUICK_LIMIT, LIMIT = 5.0, 30.0
# Rows, features and bins of drawn tables, and most conditions.
QUICK_DRAWN = ((1_000, 20, 16, 2),)
DRAWN = (
    *((1_000, 20, bins, k) for bins in (16, 32, 256) for k in (1, 2)),
    *((1_000, 20, bins, 3) for bins in (16, 32)),
    *((10_000, 20, bins, k) for bins in (16, 32) for k in (1, 2)),
    *((1_000, 100, bins, 2) for bins in (2, 16, 32)),
    (10_000, 100, 2, 2),
)
# Rows, attributes and categories of rankings, and most properties.
QUICK_RANKED = ((10_000, 25, 2, 2), (10_000, 25, 32, 2))
RANKED = (
    *((100_000, 25, values, 2) for values in (2, 5)),
    *((10_000, 25, values, 2) for values in (2, 5, 10, 16, 32, 64)),
    *((1_000, 25, values, 2) for values in (2, 5, 10, 32)),
    *((10_000, 25, values, 3) for values in (2, 5, 16)),
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Weighted:
    """Rows in cells, and whole numbers as their weights."""

    conditions: Conditions
    table: Floats
    weights: Floats
    max_conditions: int

    def by_cells(self) -> Callable[[], float]:
        """Prepare the sums over cells; the call gives the largest sum."""
        pricing = Pricing(self.conditions, self.conditions.cells(self.table), self.max_conditions)
        return lambda: float(pricing.best(self.weights).highest)

    def _items(self) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Give the rows of each condition, and attributes that let the two ends of an interval be joined."""
        masks = np.ascontiguousarray(self.conditions.masks(self.table).T)
        return masks, 2 * self.conditions.feature + (self.conditions.kind == Kind.ABOVE)

    def by_search(self, limit: float) -> Callable[[], float]:
        """Prepare branch and bound with weights; the call gives the largest sum, or NaN where the limit was met."""
        masks, attribute = self._items()
        active = np.flatnonzero(self.weights)
        contrast = WeightedContrast(masks[:, active], self.weights[active], attribute)
        return lambda: _largest(contrast, self.max_conditions, limit)

    def by_bits(self, limit: float) -> Callable[[], float]:
        """Prepare branch and bound by counts, which two different weights allow."""
        masks, attribute = self._items()
        top, bottom = np.flatnonzero(self.weights > 0), np.flatnonzero(self.weights < 0)
        return lambda: _largest(
            Contrast.of(masks, top, bottom, attribute), self.max_conditions, limit
        )


def _largest(contrast: Contrast | WeightedContrast, max_size: int, limit: float) -> float:
    deadline = time.perf_counter() + limit
    try:
        found = search_best(
            contrast, BEST, max_size, is_over=lambda _: time.perf_counter() > deadline
        )
    except (TimeLimitError, InvalidValueError):
        # It was late, or there were more than 20 million conjunctions that may have a part that is better.
        return float("nan")
    return float(np.abs(contrast.product(found.top, found.bottom)).max(initial=0))


def multipliers(conditions: Conditions, table: Floats, y: Floats, rounds: int = ROUNDS) -> Floats:
    """Give the multipliers that rules were last priced by, of a master after some rounds of two conditions."""
    costs = np.ones(len(y))
    costs *= TIMES_SMALLEST * smallest_cost(conditions, table, y, costs)
    seen: list[Floats] = []
    whole = Pricing.best

    def noted(self: Pricing, v: Floats, **options: float) -> PricedRules:
        seen.append(v)
        return whole(self, v, **options)  # type: ignore[arg-type]

    with patch.object(Pricing, "best", noted):
        solve_rule_lp(conditions, table, y, costs, max_rounds=rounds)
    return next(v for v in reversed(seen) if len(v) == len(y))


def of_table(table: Floats, y: Floats, bins: int, size: int, *, is_random: bool) -> Weighted:
    """Weigh the rows of a table by multipliers or at random."""
    space = FeatureSpace([f"x{j}" for j in range(table.shape[1])])
    conditions = Conditions.of_table(space, table, bins)
    if is_random:
        v = np.random.default_rng(0).integers(-1_000, 1_001, len(y)).astype(np.float64)
        return Weighted(conditions, table, v, size)
    # Rows that no condition tells apart are one row of the master.
    first = np.unique(conditions.cells(table), axis=1, return_index=True)[1]
    table, y = table[np.sort(first)], y[np.sort(first)]
    return Weighted(conditions, table, multipliers(conditions, table, y), size)


def drawn(rows: int, features: int) -> tuple[Floats, Floats]:
    """Draw a table with signs; one label of ten is flipped."""
    informative = min(10, features - 1)
    table, y = make_classification(
        rows, features, n_informative=informative, n_redundant=0, flip_y=0.1, random_state=0
    )
    return table, np.where(y == 1, 1.0, -1.0)


def ranked(rows: int, attributes: int, values: int, size: int) -> Weighted:
    """Draw the two ends of a ranking; the first attributes have low values more often at the top."""
    rng = np.random.default_rng(0)
    is_top = rng.permutation(rows) < rows // 2
    table = rng.integers(0, values, (rows, attributes)).astype(np.float64)
    lower = rng.integers(0, values, (rows, 10))
    table[:, :10] = np.where(is_top[:, None], np.minimum(table[:, :10], lower), table[:, :10])
    names = [f"x{j}" for j in range(attributes)]
    space = FeatureSpace(
        names, categories={name: [f"{v}" for v in range(values)] for name in names}
    )
    conditions = Conditions.of_table(space, table, values)
    return Weighted(conditions, table, np.where(is_top, rows - rows // 2, -(rows // 2)) * 1.0, size)


@dataclass(frozen=True)
class Compared:
    """Processor seconds of sums over cells and of a search; the search may have met its limit."""

    cells: float
    search: float
    is_late: bool

    @property
    def factor(self) -> float:
        """How many times as long the search took."""
        return self.search / self.cells

    def texts(self) -> list[str]:
        """Write both times and the factor."""
        late = ">" if self.is_late else ""
        return [_text(self.cells), f"{late}{_text(self.search)}", f"**{late}{self.factor:.2g}**"]


def compare(cells: Callable[[], float], search: Callable[[], float]) -> Compared:
    """Run both in turns; what they find must be the same."""
    start = time.process_time()
    found = search()
    late = time.process_time() - start
    if np.isnan(found):
        return Compared(race(cells, repeat=2)[0], late, is_late=True)
    assert found == cells(), "the two ways found other sums"
    times = race(cells, search, repeat=3, enough=10.0)
    return Compared(times[0], times[1], is_late=False)


def _text(seconds: float) -> str:
    return f"{1e3 * seconds:#.3g} ms".replace(". ", " ") if seconds < 1 else f"{seconds:.3g} s"


def pricing_section(full: bool = True) -> Section:
    """Multipliers of a master and weights at random, by sums over cells and by branch and bound with weights."""
    limit = LIMIT if full else QUICK_LIMIT
    tables = {
        f"drawn, {m:,} x {n}": (drawn(m, n), [case for case in DRAWN if case[:2] == (m, n)])
        for m, n, *_ in (DRAWN if full else QUICK_DRAWN)
    }
    if not full:
        tables = {name: (data, list(QUICK_DRAWN)) for name, (data, _) in tables.items()}
    for load in (load_pima, load_ionosphere):
        X, labels = load(return_X_y=True)
        table = np.asarray(X, dtype=np.float64)
        y = np.where(labels == labels.iloc[0], 1.0, -1.0)
        name = f"{load.__name__.removeprefix('load_')}, {len(table)} x {table.shape[1]}"
        tables[name] = (table, y), [(*table.shape, 32, k) for k in (1, 2)]
    lines: list[list[str]] = []
    wide: list[float] = []
    narrow: list[float] = []
    for name, ((table, y), cases) in tables.items():
        for *_, bins, size in cases:
            for kind in ("master", "random"):
                case = of_table(table, y, bins, size, is_random=kind == "random")
                one = compare(case.by_cells(), case.by_search(limit))
                lines.append([name, f"{bins}", f"{size}", kind, *one.texts()])
                print(lines[-1], flush=True)
                if size > 1:
                    kinds = wide if bins >= WIDE else narrow
                    kinds.append(one.factor)
    said = f"From {WIDE} bins on, branch and bound takes {_span(wide)} times as long"
    if narrow:
        said += (
            f"; with two bins, where sums of pairs are a product of matrices, {_span(narrow)} times"
        )
    return Section(
        "The rule that would help most, by sums over cells and by branch and bound",
        "The largest weighted sum over the rows of a rule, over all rules of conditions x <= t and x > t; weights are "
        f"the multipliers of a master after {ROUNDS} rounds, or drawn. Processor seconds; the rows that each condition "
        f"holds for are given to branch and bound beforehand. It finds the {BEST} best rules; the sums over cells give "
        f"six of each pair of features. \\> marks a search that met its limit of {limit:.0f} s by the clock or of "
        "20 million open conjunctions.",
        Table(
            ["table", "bins", "conditions", "weights", "cells", "branch and bound", "ratio"], lines
        ),
        f"{said}.",
        f"to price rules of two or three conditions from {WIDE} bins on, branch and bound takes {_span(wide)} times as "
        "long as sums over cells.",
        {"branch and bound / sums over cells, median": Ratio(float(np.median(wide)))},
    )


def _span(factors: Sequence[float]) -> str:
    return f"{min(factors):.2g} to {max(factors):.2g}"


def ranking_section(full: bool = True) -> Section:
    """Two ends of a ranking, by sums over cells and by branch and bound on bits."""
    limit = LIMIT if full else QUICK_LIMIT
    lines, factors = [], []
    for rows, attributes, values, size in RANKED if full else QUICK_RANKED:
        case = ranked(rows, attributes, values, size)
        one = compare(case.by_cells(), case.by_bits(limit))
        start = [f"{rows:,} x {attributes}", f"{values}", f"{size}"]
        lines.append([*start, *one.texts()])
        print(lines[-1], flush=True)
        factors.append(one.factor)
    return Section(
        "The properties of two ends, by sums over cells and by branch and bound",
        f"The {BEST} properties attribute = value, and conjunctions of them, with the largest leverage, by branch and "
        "bound on bits, with the packing of the bits; the same sums by cells, which give six of each pair of "
        "attributes. Processor seconds.",
        Table(["rows x attributes", "values", "size", "cells", "branch and bound", "ratio"], lines),
        f"Branch and bound takes {_span(factors)} times as long.",
        f"on two ends of a ranking branch and bound takes {_span(factors)} times as long as sums over cells.",
        {"sums over cells / branch and bound, the largest": Ratio(1.0 / min(factors))},
    )


def sections(full: bool = True) -> Sequence[Section]:
    """Each way on its own work and on the other's."""
    return [pricing_section(full), ranking_section(full)]


if __name__ == "__main__":
    for section in sections():
        print(section.to_markdown())
