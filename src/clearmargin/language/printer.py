"""Rules to text: the exact inverse of reading them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from clearmargin.language.lexer import quote
from clearmargin.rules.box import Box
from clearmargin.rules.polyhedron import Polyhedron
from clearmargin.rules.rule import Label, Region, Rule
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import FloatArray


def format_rules(rules: RuleSet) -> str:
    """Write rules in the rule language, so that `parse_rules` gives back the same rules, bit for bit.

    Features and classes are declared at the top only where the rules alone would not bring them back.
    Where a rule comes from and how it was checked (origin, proof, stats) is not written: text can
    be edited, and a proof must not outlive an edit.

    Parameters
    ----------
    rules : RuleSet
        The rules.

    Returns
    -------
    str
        One rule a line; the empty text if there is nothing to say.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> rules = parse_rules("`worst area`<880.5 and 3<=age => benign [weight 2.0]  # so far")
    >>> print(format_rules(rules), end="")
    `worst area` < 880.5 and age >= 3 => benign [weight 2]
    """
    check_rules(rules)
    phrases = Phrases(rules.space)
    spelling = {label: format_label(label) for label in rules.classes}
    lines = []
    if tuple(dict.fromkeys(rule.label for rule in rules)) != rules.classes:
        lines.append(f"classes: {', '.join(spelling.values())}")
    if not _implies_space(rules):
        lines += [_declare(rules.space, j, phrases) for j in range(len(rules.space))]
    lines += [_line(rule, phrases, spelling[rule.label]) for rule in rules]
    return "".join(f"{line}\n" for line in lines)


def format_rule(rule: Rule, space: FeatureSpace | None = None) -> str:
    """Write one rule in the rule language, as a line without declarations."""
    if space is None:
        codes = {f"x{j}": range(max(categories) + 1) for j, categories in rule.region.sets.items()}
        names = [f"x{j}" for j in range(rule.n_features)]
        space = FeatureSpace(
            names, categories={j: map(str, categories) for j, categories in codes.items()}
        )
    return _line(rule, Phrases(space), format_label(rule.label))


def _line(rule: Rule, phrases: Phrases, label: str) -> str:
    name = "" if rule.name is None else f"{quote(rule.name)}: "
    weight = "" if rule.weight == 1 else f" [weight {format_number(rule.weight)}]"
    return f"{name}{phrases.premise(rule)} => {label}{weight}"


def check_rules(rules: object) -> None:
    """Make sure that what is to be written is a set of rules."""
    if not isinstance(rules, RuleSet):
        raise TypeError(f"a RuleSet is needed, not {type(rules).__name__}")


def format_number(x: float) -> str:
    """Write a float with the fewest digits that read back as the same float."""
    return repr(float(x)).removesuffix(".0")


def format_label(label: Label) -> str:
    """Write a class so that it reads back as the same value of the same type."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, str):
        return quote(label)
    # Members of an IntEnum have a repr of their own.
    return float.__repr__(label) if isinstance(label, float) else int.__repr__(label)


class Phrases:
    """Writes conditions over the features of a space; every name is spelled once."""

    def __init__(self, space: FeatureSpace):
        self.names = [quote(name) for name in space.names]
        self.categories = [
            None if categories is None else [quote(category) for category in categories]
            for categories in space.categories
        ]

    def premise(self, rule: Rule) -> str:
        """Write all conditions of a rule; ``true`` if there is none."""
        return " and ".join(self.conditions(rule.region)) or "true"

    def conditions(self, region: Region) -> list[str]:
        """Write the conditions one by one."""
        if isinstance(region, Box):
            return [self.bound(region, j) for j in region.bounded]
        return [*self.rows(region), *self.beside_rows(region)]

    def beside_rows(self, region: Polyhedron) -> list[str]:
        """Write the conditions of a polyhedron that are no inequalities."""
        return [
            *(self.chosen(j, codes) for j, codes in region.sets.items()),
            *(self.missing(j) for j in region.missing),
            *(self.known(j) for j in region.known),
        ]

    def missing(self, j: int) -> str:
        """Write that the value of a feature is missing."""
        return f"{self.names[j]} is missing"

    def known(self, j: int) -> str:
        """Write that the value of a feature is not missing."""
        return f"{self.names[j]} is not missing"

    def bound(self, box: Box, j: int) -> str:
        """Write the condition on one feature of a box."""
        if j in box.missing or j in box.known:
            return self.missing(j) if j in box.missing else self.known(j)
        if j in box.sets:
            return self.chosen(j, box.sets[j])
        interval = box.interval(j)
        low = None if interval.low == -np.inf else (interval.low, not interval.low_closed)
        high = None if interval.high == np.inf else (interval.high, not interval.high_closed)
        return _between(self.names[j], low, high)

    def chosen(self, j: int, codes: Iterable[int]) -> str:
        """Write the set of categories of one feature."""
        categories = self.categories[j]
        assert categories is not None
        chosen = [categories[code] for code in sorted(codes)]
        if len(chosen) == 1:
            return f"{self.names[j]} = {chosen[0]}"
        return f"{self.names[j]} in {{{', '.join(chosen)}}}"

    def rows(self, region: Polyhedron) -> Iterator[str]:
        """Write the inequalities of a polyhedron; a lower bound and the upper one after it make a chain."""
        A, limits, strict = region.A, region.b.tolist(), region.strict.tolist()
        turned = (0.0 - region.b).tolist()  # where -b would be -0
        i = 0
        while i < len(limits):
            is_turned = A[i, np.flatnonzero(A[i])[0]] < 0
            if is_turned and i + 1 < len(limits) and np.array_equal(A[i], -A[i + 1]):
                low, high = (turned[i], strict[i]), (limits[i + 1], strict[i + 1])
                yield _between(self.total(A[i + 1]), low, high)
                i += 2
            elif is_turned:
                yield _between(self.total(-A[i]), (turned[i], strict[i]), None)
                i += 1
            else:
                yield _between(self.total(A[i]), None, (limits[i], strict[i]))
                i += 1

    def total(self, row: FloatArray) -> str:
        """Write the left-hand side of an inequality whose first weight is positive."""
        text = ""
        for j in np.flatnonzero(row).tolist():
            weight = float(row[j])
            sign = (" + " if weight > 0 else " - ") if text else ""
            size = "" if abs(weight) == 1 else f"{format_number(abs(weight))}*"
            text += f"{sign}{size}{self.names[j]}"
        return text


def _between(what: str, low: tuple[float, bool] | None, high: tuple[float, bool] | None) -> str:
    """Write bounds, each a number and whether it is strict."""
    if low is None or high is None:
        bound, is_strict = low or high or (0.0, False)
        direction = ">" if low is not None else "<"
        return f"{what} {direction}{'' if is_strict else '='} {format_number(bound)}"
    if low == high and not low[1]:
        return f"{what} = {format_number(low[0])}"
    left, right = ("<" if strict else "<=" for _, strict in (low, high))
    return f"{format_number(low[0])} {left} {what} {right} {format_number(high[0])}"


def _implies_space(rules: RuleSet) -> bool:
    """Check whether reading the rules alone gives their space: each feature is used, in order, and no more is known."""
    space = rules.space
    is_plain = not (np.isfinite(space.lower) | np.isfinite(space.upper) | space.integer).any()
    if not is_plain or any(phrases is not None for phrases in (*space.units, *space.fill)):
        return False
    seen: dict[int, dict[int, None]] = {}
    for rule in rules:
        for j, codes in _mentioned(rule.region):
            seen.setdefault(j, {}).update(dict.fromkeys(codes))
    return list(seen) == list(range(len(space))) and all(
        categories is None or list(seen[j]) == list(range(len(categories)))
        for j, categories in enumerate(space.categories)
    )


def _mentioned(region: Region) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the features in the order in which they are written, each with its categories."""
    sets = {j: tuple(sorted(codes)) for j, codes in region.sets.items()}
    if isinstance(region, Box):
        yield from ((j, sets.get(j, ())) for j in region.bounded)
    else:
        yield from ((int(j), ()) for j in np.nonzero(region.A)[1])
        yield from sets.items()
        yield from ((j, ()) for j in (*region.missing, *region.known))


def _declare(space: FeatureSpace, j: int, phrases: Phrases) -> str:
    low, high = float(space.lower[j]), float(space.upper[j])
    parts = ["integer"] if space.integer[j] else []
    if np.isfinite([low, high]).any():
        parts.append(f"in [{format_number(low)}, {format_number(high)}]")
    if (categories := phrases.categories[j]) is not None:
        parts.append(f"in {{{', '.join(categories)}}}")
    if (unit := space.units[j]) is not None:
        parts.append(f"unit {quote(unit)}")
    if (value := space.fill[j]) is not None:
        text = quote(value) if isinstance(value, str) else format_number(value)
        parts.append(f"fill {text}")
    return f"feature {phrases.names[j]}{': ' if parts else ''}{' '.join(parts)}"
