"""Which rule covers a row or, where none does, which one is nearest and at which conditions the row fails it.

A region is split into its conditions, one for each feature of a box and each inequality of a polyhedron. The nearest
rule of a row is the one that fails at the fewest conditions, the first of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clearmargin.language.printer import format_number
from clearmargin.language.prose import describe_premise, plain
from clearmargin.rules import Box, Polyhedron, Rule, RuleSet
from clearmargin.rules.rule import Label, Region
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.table import Table


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """A condition that a row does not meet."""

    condition: str
    values: tuple[tuple[str, float | str | None], ...]

    def __str__(self) -> str:
        values = ", ".join(f"{plain(name)} is {_shown(value)}" for name, value in self.values)
        return f"{self.condition} ({values})"


def _shown(value: float | str | None) -> str:
    if value is None:
        return "missing"
    return plain(value) if isinstance(value, str) else format_number(value)


@dataclass(frozen=True, slots=True)
class RowCoverage:
    """Which rule covers a row or, where none does, which one is nearest and what the row fails.

    Parameters
    ----------
    rule : int, optional
        Position of the first rule that covers the row, or else of the nearest one: of those for the class that the
        model predicts, where there is a model, the one with the fewest conditions that fail. None where rules are not
        about the row: it is beyond a declared range, has a category that the model does not know, or no rule is for
        its class.
    label : str, int, float or bool, optional
        The class of that rule.
    failed : tuple of FailedCondition
        The conditions that the row does not meet, with its values: those of the nearest rule, or the declared ranges.
    n_conditions : int, default 0
        How many conditions the nearest rule has.

    Examples
    --------
    >>> failed = (FailedCondition("bmi is at least 30", (("bmi", 29.5),)),)
    >>> print(RowCoverage(1, "a", failed, 2))
    No rule covers the row. The nearest one for a, rule 2, fails at 1 of 2 conditions: bmi is at least 30 (bmi is 29.5).
    """

    rule: int | None = None
    label: Label | None = None
    failed: tuple[FailedCondition, ...] = ()
    n_conditions: int = 0

    @property
    def status(self) -> Literal["covered", "nearest", "outside"]:
        """Whether a rule covers the row, one is the nearest, or rules are not about the row."""
        if self.rule is None:
            return "outside"
        return "nearest" if self.failed else "covered"

    @property
    def is_covered(self) -> bool:
        """Whether a rule covers the row."""
        return self.status == "covered"

    @property
    def text(self) -> str:
        """The answer as sentences."""
        failed = "; ".join(map(str, self.failed))
        if self.rule is None:
            return f"No rule is about the row: {failed or 'there is none for its class'}."
        which = plain(self.label or "")
        if not failed:
            return f"Rule {self.rule + 1} ({which}) covers the row."
        count = f"{len(self.failed)} of {self.n_conditions} condition{'s' if self.n_conditions != 1 else ''}"
        return f"No rule covers the row. The nearest one for {which}, rule {self.rule + 1}, fails at {count}: {failed}."

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data for JSON; rules are counted from 1.

        Examples
        --------
        >>> RowCoverage(0, "ill").to_dict()["rule"]
        1
        """
        return {
            "status": self.status,
            "rule": None if self.rule is None else self.rule + 1,
            "class": self.label,
            "failed": [
                {"condition": part.condition, "values": dict(part.values)} for part in self.failed
            ],
            "conditions": self.n_conditions,
            "text": self.text,
        }


def why_covered(
    rules: RuleSet,
    X: Any,
    table: FloatArray,
    which: IntArray,
    labels: Sequence[Label | None],
    limits: Box | None = None,
) -> list[RowCoverage]:
    """Tell for each row which rule covers it, or the nearest one for its label; rules are about rows within limits."""
    parts = [split_conditions(rule.region) for rule in rules]
    bounds = [] if limits is None else split_conditions(limits)
    missed = np.zeros((len(rules), len(table)), dtype=np.intp)
    bare = np.flatnonzero(which < 0)
    for r, conditions in enumerate(parts):
        missed[r, bare] = sum(~part.contains(table[bare]) for part in conditions)

    def failed(row: int, conditions: Sequence[Region]) -> tuple[FailedCondition, ...]:
        return tuple(
            FailedCondition(
                describe_premise(Rule(part, "rule"), rules.space),
                tuple(_values(rules, X, table, row, part)),
            )
            for part in conditions
            if not part.contains(table[[row]])[0]
        )

    def explained(row: int, k: int) -> RowCoverage:
        if k >= 0:
            return RowCoverage(k, rules[k].label)
        known = [part for part in bounds if not np.isnan(table[row, list(part.bounded)]).any()]
        beyond = failed(row, known)
        own = [r for r, rule in enumerate(rules) if labels[row] in (None, rule.label)]
        if beyond or not own:
            return RowCoverage(failed=beyond)
        nearest = own[int(np.argmin(missed[own, row]))]
        conditions = parts[nearest]
        return RowCoverage(nearest, rules[nearest].label, failed(row, conditions), len(conditions))

    return [explained(row, k) for row, k in enumerate(which.tolist())]


def split_conditions(region: Region) -> list[Region]:
    """Split a region into regions of one condition each, which it is the intersection of."""
    n = region.n_features
    parts: list[Region] = []
    if isinstance(region, Box):
        bounded = [j for j in region.bounded if region.has_bounds(j)]
        parts += [Box.from_intervals({j: region.interval(j)}, n) for j in bounded]
    else:
        rows = zip(region.A, region.b, region.strict, strict=True)
        parts += [Polyhedron([row], [limit], [strict]) for row, limit, strict in rows]
    parts += [Box.from_intervals({}, n, {j: codes}) for j, codes in region.sets.items()]
    parts += [Box.from_intervals({}, n, missing=[j]) for j in region.missing]
    parts += [Box.from_intervals({}, n, known=[j]) for j in region.known]
    return parts


def _values(
    rules: RuleSet, X: Any, table: FloatArray, row: int, condition: Region
) -> Iterator[tuple[str, float | str | None]]:
    space = rules.space
    for j in condition.bounded:
        name, value, categories = space.names[j], float(table[row, j]), space.categories[j]
        if np.isnan(value):
            yield name, None
        elif categories is None:
            yield name, value
        elif value < 0:  # only the user's table has its name
            yield name, str(Table.read(X).columns_of(space.names)[j].values[row])
        else:
            yield name, categories[int(value)]
